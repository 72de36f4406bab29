"""The page of a run: its figure, its story and its events, then the facts and the evidence.

Causes of an event are ranked by the signs around it: one that a sign speaks against goes to the end, the
others are ordered by how many speak for them, then as on the pattern's page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from chronicle.classify.patterns import PATTERNS
from chronicle.metrics.values import clipped
from chronicle.model import Entry, Event, Verdict
from chronicle.pages import words
from chronicle.pages.gallery import Cause, Page, PatternPage, RunEvent, SiteData, figure
from chronicle.pages.lists import precedents
from chronicle.pages.words import Render, slug
from chronicle.story import deciding, gravest
from chronicle.story.measured import CALM, axis_named
from chronicle.story.restarts import lettered, restart
from chronicle.story.sentences import listed as enumerated
from chronicle.story.signs import Sign
from chronicle.workspace.notes import last_review

# Whatever the run, its page stays below 100 KB: the rest is in entry.json, and the page says so.
KEY, EVENTS, TABLES, ROWS, CAUSES = 24, 40, 6, 60, 3
ALIKE_EVENTS = 3  # events of other runs for each pattern, and for how many patterns
ABOUT_FIELDS = ("project", "data", "synthetic", "description", "quote", "source", "licence", "tags")
DESCRIPTION_CHARACTERS = 200  # that the preview of a link shows


def runs(site: SiteData, render: Render) -> Iterator[Page]:
    """A page for each run, made of its entry and of similar events in other runs."""
    of = cache(partial(precedents, site))
    for entry in site.entries:
        leads = (e.patterns[0] for e in deciding(entry.events, entry.verdict) if e.patterns)
        alike: list[RunEvent] = []
        for pattern in [p for p in dict.fromkeys(leads) if p not in CALM][:ALIKE_EVENTS]:
            alike += islice((row for row in of(pattern) if row.entry.run_id != entry.run_id), ALIKE_EVENTS)
        known = site.known.get(entry.run_id)
        text = partial(_run_page, site, render, entry, alike)
        path = f"runs/{slug(entry.run_id)}/index.md"
        yield site.page(path, known and [known, *(row.content for row in alike)], text)


def _run_page(site: SiteData, render: Render, entry: Entry, alike: list[RunEvent]) -> str:
    entry = site.full_entry(entry)
    facts, config = words.configured(entry.facts)
    stated = entry.about.get("gpus", 0), entry.about.get("tokens_per_step", 0.0)
    axis = axis_named({row["axis"] for row in entry.attempts})
    away = {*entry.diagnosis.patterns, *(n.pattern for n in entry.diagnosis.not_assessed)}
    absent = [site.page_of[p.id] for p in PATTERNS if p.id not in away and p.id in site.page_of]
    joins = lettered(entry.diagnosis)
    marked = [event for event in entry.events if event.mark]
    listed = [RunEvent(entry, event) for event in entry.events if not event.of]  # notes stand beside theirs
    findings = {finding.id: finding for finding in entry.diagnosis.findings if finding.criteria}
    grave = gravest(entry.events, entry.verdict)
    reasons = ((event, [findings[part] for part in event.parts if part in findings]) for event in grave)
    values = {
        "base": "../../", "site": site, "entry": entry, "facts": facts, "config": config, "words": words,
        "enumerated": enumerated, "axis": axis, "similar": alike, "rows": ROWS,
        "about": dict.fromkeys(ABOUT_FIELDS, "") | dict(entry.about),
        "reviewer": (review.author or "a person") if (review := last_review(entry.notes)) else "",
        "address": words.address(entry.run_id), "whole": figure(entry, "whole"),
        "key": marked[:KEY], "marked": len(marked),
        "listed": listed[:EVENTS], "unlisted": len(listed[EVENTS:]),
        "restarts": [(letter, join, restart(join, axis, *stated)) for letter, join in joins[:KEY]],
        "unlisted_joins": len(joins[KEY:]),
        "reasons": [reason for reason in reasons if reason[1]][:TABLES],
        "absent": [page for page in absent if page.verdict is not Verdict.GOOD],
        "unassessed": words.unassessed(entry.diagnosis, site.pattern_title),
        "costs": [fact for fact in entry.costs if fact.value != 0],
        "helpful": _advice_for_run(site, entry),
        "description": clipped(words.plain(entry.headline), DESCRIPTION_CHARACTERS),
        "preview": preview.files["any"][0] if (preview := figure(entry, "share")) else "",
    }  # fmt: skip
    return render("run.md.j2", values)


def _advice_for_run(site: SiteData, entry: Entry) -> list[Advice]:
    """Advice on the gravest events that are not good, one event of each pattern."""
    first: dict[str, Event] = {}
    for event in gravest(entry.events, entry.verdict):
        for pattern in event.patterns:
            first.setdefault(pattern, event)
    pages = ((event, site.page_of[p]) for p, event in first.items() if p in site.page_of)
    bad = (advice(event, page) for event, page in pages if page.verdict is not Verdict.GOOD and page.causes)
    return list(islice(bad, CAUSES))


class Ranked(NamedTuple):
    """A cause with the evidence of this run: phrases for it, against it, and what was not logged."""

    cause: Cause
    speaks_for: tuple[str, ...]
    against: tuple[str, ...]
    not_logged: tuple[str, ...]

    @property
    def is_assessed(self) -> bool:
        return bool(self.speaks_for or self.against or self.not_logged)


class Advice(NamedTuple):
    """On one event: the page of its pattern, the ranked causes, and what decides between the first two."""

    event: Event
    page: PatternPage
    causes: tuple[Ranked, ...]
    check: str


def advice(event: Event, page: PatternPage) -> Advice:
    """The ranked causes of an event; ``check`` says how to tell the first one from the second."""
    causes, check = ranked(page.causes, event.signs), ""
    likely = [row for row in causes[:2] if not row.against]
    if len(likely) == 2:
        missing = dict.fromkeys(word for row in likely for word in row.not_logged)
        logged = f" Not logged, and it would tell: {', '.join(missing)}." if missing else ""
        check = f"{likely[0].cause.tell}{logged}"
    return Advice(event, page, causes, check)


def ranked(causes: Sequence[Cause], signs: Mapping[str, bool]) -> tuple[Ranked, ...]:
    """The causes ranked by the signs (see the module); those for the other kind of metric are left out."""
    reward, rows = signs.get(Sign.OBJECTIVE.value), []
    for cause in causes:
        holds = {sign: signs.get(sign.value) for sign in (*cause.when, *cause.unless)}
        against = [sign for sign in cause.when if holds[sign] is False]
        against += [sign for sign in cause.unless if holds[sign]]
        speaks_for = tuple(sign.holds for sign in cause.when if holds[sign])
        phrases = tuple(sign.holds if holds[sign] else sign.fails for sign in against)
        unknown = dict.fromkeys(sign.needs for sign in holds if holds[sign] is None and sign.needs)
        if reward is None or Sign.OBJECTIVE not in (cause.unless if reward else cause.when):
            rows.append(Ranked(cause, speaks_for, phrases, tuple(unknown)))
    return tuple(sorted(rows, key=lambda row: (bool(row.against), -len(row.speaks_for))))
