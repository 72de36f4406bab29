"""The Markdown pages of the site, made from entries and pattern pages, and the index of the search.

A page kind is a function ``kind(site, render) -> Iterator[Page]``. A template comes from the first folder of
``SiteData.templates`` that has it. In the index of the search all runs share `_ALL_RUNS` bytes, but each has
`A_RUN`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path

from chronicle.metrics.values import clipped
from chronicle.model import Entry, EventKind
from chronicle.pages import chronology, lists
from chronicle.pages.gallery import Case, Page, PatternPage, SiteData, Source
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


A_RUN = 500  # bytes of a run in the index, at least, however many runs there are
_MOST_OF_A_RUN = 4_000  # bytes, if the runs are few
_ALL_RUNS = 300_000  # bytes that the runs share
_A_SECTION = 2_000  # bytes of a section of the guide, of a pattern or of a case
_FAULTS = 12  # faults of a run whose lines are in the index; the others mostly repeat their words
_TITLE = 100  # characters of a title or project
STOP = (  # words that the index leaves out, and a question too
    "a am an and are as at be been but by can did do does for from go goes had has have he her his how i "
    "if in into is it its me my no not of on or our she should so than that the their them then there these "
    "they this to us was we were what when where which who will with would you your"
)
_STOPPED = frozenset(STOP.split())
_WORD = re.compile(r"[^\W_]+(?:[-.'&][^\W_]+)*")
_IN_A_NUMBER = re.compile(r"(?<=\d)[\u202f\u00a0 ,](?=\d{3}(?!\d))")
_SECTION = re.compile(r"^## (.+)$", re.M)
_APPENDIX = "---\nsearch:\n  exclude: true\n---\n"  # how a page begins that the search leaves out
_FENCE = re.compile(r"^```.*?^```", re.M | re.S)
_MARKUP = re.compile(r"\]\([^)]*\)|<[^>]*>", re.S)


def search_js(site: SiteData) -> str:
    """The script ``chronicleSearch``. A pattern has id, title, verdict, and other names · words that people
    type; a run has id, title, badge, project, indices of patterns, and words of notes, tags and events.
    ``stop`` is `STOP`."""
    pages = []
    for page in site.patterns:
        names = f"{', '.join(map(plain, page.also_called))} · {plain(page.typed)}"
        pages.append([page.id, plain(page.title), page.verdict.value, names])
    place = {page.id: number for number, page in enumerate(site.patterns)}
    most = max(A_RUN, min(_MOST_OF_A_RUN, _ALL_RUNS // max(len(site.entries), 1)))
    runs = ",\n".join(_run(entry, place, most) for entry in site.entries)
    head = f'"stop":{as_json(STOP)},"patterns":{as_json(pages)}'
    return f'window.chronicleSearch = {{{head},"runs":[\n{runs}\n]}};\n'


def guide_js(site: SiteData, guide: Path) -> str:
    """The script ``chronicleGuide``: address, title and words of guide sections, patterns and cases."""
    rows: list[list[str]] = []
    for file in sorted(guide.rglob("*.md")):
        if not (text := file.read_text("utf-8")).startswith(_APPENDIX):
            rows += _sections(file.relative_to(guide), text)
    for page in site.patterns:
        text = _distinct_words(_of_pattern(page), _A_SECTION)
        rows.append([f"patterns/{page.id}.html", f"{plain(page.title)}: causes and remedies", text])
    for case in site.cases:
        text = _distinct_words(_of_case(case), _A_SECTION)
        rows.append([f"cases/{case.id}.html", plain(case.title), text])
    return "window.chronicleGuide = [\n{}\n];\n".format(",\n".join(map(as_json, rows)))


def _of_pattern(page: PatternPage) -> Iterator[str]:
    """The texts of a pattern's page, its gist first."""
    yield from (page.lead, *(f"{cause.cause} {cause.tell}" for cause in page.causes))
    yield from (*page.now, *page.now_for_reward, *page.prevent, *(alike.how for alike in page.lookalikes))
    yield from (f"{criterion.criterion} {criterion.threshold}" for criterion in page.criteria)
    yield from (*map(_of_source, page.sources), _MARKUP.sub(" ", page.body))


def _of_case(case: Case) -> Iterator[str]:
    yield from (case.lead, *(row.said for row in case.log))
    yield from (f"{fact.name} {fact.value}" for fact in case.facts)
    yield from (*case.doubts, *map(_of_source, case.sources), _MARKUP.sub(" ", case.body))


def _of_source(source: Source) -> str:
    return f"{source.title} {source.by} {source.note}"


def _run(entry: Entry, place: Mapping[str, int], most: int) -> str:
    shown = [plain(entry.run_id), clipped(plain(entry.title), _TITLE), entry.badge]
    known = [place[pattern] for pattern in entry.diagnosis.patterns if pattern in place]
    head = [*shown, clipped(plain(entry.about.get("project", "")), _TITLE), known]
    if slug(entry.run_id) != entry.run_id:
        head.append(slug(entry.run_id))
    head.insert(5, _distinct_words(_texts(entry), most - len(as_json(head).encode()) - 4))
    return as_json(head)


def _texts(entry: Entry) -> Iterator[str]:
    """The texts of a run, those first that its title does not suggest. A fault is in the words of its log."""
    yield from map(str, entry.about.get("tags", ()))
    faults = (event for event in entry.events if event.kind is EventKind.FAULT)
    yield from (f"{fault.title} {fault.sentence}" for fault in islice(faults, _FAULTS))
    yield from (f"{note.kind} {note.author} {note.step or ''} {note.text}" for note in entry.notes)
    known = (*ENDS, *BY_PEOPLE, EventKind.FAULT)
    yield from (f"{e.title} {e.who} {e.short}" for e in entry.events if e.kind not in known)
    yield from (f"{fact.quantity} {fact.value}" for fact in entry.facts if fact.how == "run.toml")
    yield from (str(entry.about.get(name, "")) for name in ("description", "quote", "source"))


def _distinct_words(texts: Iterable[str], most: int) -> str:
    """The words of the texts, each once, in at most ``most`` bytes; numbers without spaces in them."""
    seen: set[str] = set()
    kept: list[str] = []
    for text in texts:
        for word in _WORD.findall(_IN_A_NUMBER.sub("", plain(text))):
            known = word.lower()
            if known in seen or known in _STOPPED or len(known) < 2:
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
    yield [address, title, _distinct_words([before], _A_SECTION)]
    for heading, body in zip(parts[::2], parts[1::2], strict=True):
        name = re.sub(r"[*`\[\]]", "", heading).strip()
        anchor = unique(slugify(name, "-"), used)
        if name != "Example":
            yield [f"{address}#{anchor}", f"{title}: {name}", _distinct_words([body], _A_SECTION)]
