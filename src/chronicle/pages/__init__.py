"""The Markdown pages of the site, made from entries and pattern pages, and the index of the search.

A page kind is a function ``kind(site, render) -> Iterator[Page]``. A template comes from the first folder of
``SiteData.templates`` that has it. A run has at most `A_RUN` bytes in the index of the search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from chronicle.metrics.values import clipped
from chronicle.model import Entry
from chronicle.pages import chronology, lists
from chronicle.pages.gallery import Page, SiteData
from chronicle.pages.words import as_json, plain, renderer, slug
from chronicle.story.measured import BY_PEOPLE, ENDS
from chronicle.workspace.folders import shipped_file

PAGE_KINDS = (
    lists.home,
    lists.browse,
    chronology.chronology,
    chronology.experiments_page,
    lists.runs,
    lists.patterns,
    lists.cases,
    lists.reviews,
    lists.unreadable,
    lists.missing,
)


def pages(site: SiteData) -> Iterator[Page]:
    """Every generated page. Raises ConfigError: a template that fails, with its name and line."""
    render = renderer(site.templates)
    for kind in PAGE_KINDS:
        yield from kind(site, render)


def assets(site: SiteData) -> Iterator[tuple[str, str | bytes | Path]]:
    """Style sheets, scripts and data of the pages: the path below build/docs, and the content or a file."""
    yield "assets/entries.js", lists.entries_js(site)
    yield "assets/events.js", chronology.events_js(site)
    yield chronology.ATOM, chronology.atom(site)
    yield chronology.JSON, chronology.json_feed(site)
    yield "assets/search-runs.js", search_js(site)
    yield "assets/search-guide.js", guide_js(site, shipped_file("docs"))
    files: dict[str, Path] = {}
    for folder in reversed(site.templates):
        paths = [path for kind in ("assets", "theme") for path in (folder / kind).glob("*") if path.is_file()]
        files |= {f"{path.parent.name}/{path.name}": path for path in paths}
    yield from sorted(files.items())


A_RUN = 500  # bytes of a run in the index: words of its notes first, then of its events
_A_SECTION = 100  # bytes of a section of the guide: its first sentence, then the names that it explains
_TITLE = 100  # characters of a title or project
_STOP = re.compile(
    "an?|and|are|as|at|be|but|by|for|from|had|has|have|in|is|its?|no|not|of|on|or|so|than|that|the|their|then"
    "|there|these|they|this|to|was|were|what|when|where|which|who|will|with|you"
)
_WORD = re.compile(r"[^\W_]+(?:[-.'][^\W_]+)*")
_SECTION = re.compile(r"^## (.+)$", re.M)
_APPENDIX = "---\nsearch:\n  exclude: true\n---\n"  # how a page begins that the search leaves out
_FENCE = re.compile(r"^```.*?^```", re.M | re.S)
_CODE_WORD = re.compile("`([^`\n]+)`")
_MARKUP = re.compile(r"\]\([^)]*\)|<[^>]*>", re.S)


def search_js(site: SiteData) -> str:
    """The script ``chronicleSearch``. A pattern has id, title, verdict, and other names · words that people
    type; a run has id, title, badge, project, indices of patterns, and words of notes, tags and events."""
    pages = []
    for page in site.patterns:
        names = f"{', '.join(map(plain, page.also_called))} · {plain(page.typed)}"
        pages.append([page.id, plain(page.title), page.verdict.value, names])
    place = {page.id: number for number, page in enumerate(site.patterns)}
    runs = ",\n".join(_run(entry, place) for entry in site.entries)
    return f'window.chronicleSearch = {{"patterns":{as_json(pages)},"runs":[\n{runs}\n]}};\n'


def guide_js(site: SiteData, guide: Path) -> str:
    """The script ``chronicleGuide``: address, title and words of guide sections, patterns and cases."""
    rows: list[list[str]] = []
    for file in sorted(guide.rglob("*.md")):
        if not (text := file.read_text("utf-8")).startswith(_APPENDIX):
            rows += _sections(file.relative_to(guide), text)
    for page in site.patterns:
        text = _distinct_words([page.lead, *(cause.cause for cause in page.causes)], 2 * _A_SECTION)
        rows.append([f"patterns/{page.id}.html", f"{plain(page.title)}: causes and remedies", text])
    for case in site.cases:
        text = _distinct_words([case.lead, *(row.said for row in case.log)], 3 * _A_SECTION)
        rows.append([f"cases/{case.id}.html", plain(case.title), text])
    return "window.chronicleGuide = [\n{}\n];\n".format(",\n".join(map(as_json, rows)))


def _run(entry: Entry, place: Mapping[str, int]) -> str:
    shown = [plain(entry.run_id), clipped(plain(entry.title), _TITLE), entry.badge]
    known = [place[pattern] for pattern in entry.diagnosis.patterns if pattern in place]
    head = [*shown, clipped(plain(entry.about.get("project", "")), _TITLE), known]
    if slug(entry.run_id) != entry.run_id:
        head.append(slug(entry.run_id))
    head.insert(5, _distinct_words(_texts(entry), A_RUN - len(as_json(head).encode()) - 4))
    return as_json(head)


def _texts(entry: Entry) -> Iterator[str]:
    """The texts of a run, those first that its title does not suggest."""
    yield from (f"{note.kind} {note.author} {note.text}" for note in entry.notes)
    yield from map(str, entry.about.get("tags", ()))
    yield from (f"{e.title} {e.who} {e.short}" for e in entry.events if e.kind not in (*ENDS, *BY_PEOPLE))
    yield from (str(fact.value) for fact in entry.facts if fact.how == "run.toml")
    yield str(entry.about.get("description", ""))


def _distinct_words(texts: Iterable[str], most: int) -> str:
    """The words of the texts, each once, in at most ``most`` bytes; numbers without spaces in them."""
    seen: set[str] = set()
    kept: list[str] = []
    for text in texts:
        for word in _WORD.findall(re.sub(r"(?<=\d)\u202f(?=\d)", "", plain(text))):
            known = word.lower()
            if known in seen or _STOP.fullmatch(known) or len(known) < 2:
                continue
            if (most := most - len(word.encode()) - 1) < 0:
                return " ".join(kept)
            seen.add(known)
            kept.append(word)
    return " ".join(kept)


def _sections(file: Path, text: str) -> Iterator[list[str]]:
    """The sections of a page of the guide, with the anchors that the site engine gives to their headings. An
    example of a format has no words that its page does not have."""
    from markdown.extensions.toc import slugify, unique  # comes with the site engine

    text = _MARKUP.sub(" ", _FENCE.sub("", text))
    address = f"guide/{file.with_suffix('.html').as_posix()}"
    before, *parts = _SECTION.split(text)
    title = before.strip().partition("\n")[0].lstrip("# ")
    used: set[str] = set()
    yield [address, title, _plain_text(before)]
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        name = re.sub(r"[*`\[\]]", "", heading).strip()
        anchor = unique(slugify(name, "-"), used)
        if name != "Example":
            yield [f"{address}#{anchor}", f"{title}: {name}", _plain_text(body)]


def _plain_text(text: str) -> str:
    sentence = re.split(r"(?<=[.!?:])\s", text.strip(), maxsplit=1)[0]
    return _distinct_words([sentence, *_CODE_WORD.findall(text)], _A_SECTION)
