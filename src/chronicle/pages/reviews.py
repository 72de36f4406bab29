"""What people said of runs and findings, beside what the classifier says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from chronicle.metrics.values import moment
from chronicle.model import Entry, Event, EventKind, Note, Verdict
from chronicle.pages.gallery import Page, Render, SiteData
from chronicle.pages.words import address
from chronicle.workspace.notes import STANCES, last_review, verdict_of

LISTED = 150  # rows of each table


@dataclass(frozen=True)
class Reviewed:
    """A run that a person has judged; ``agrees`` is whether the classifier says the same."""

    href: str
    title: str
    review: Note
    said: Verdict
    classifier: Verdict

    @property
    def agrees(self) -> bool:
        return self.said is self.classifier


@dataclass(frozen=True)
class Stance:
    """A finding that a person has confirmed or disputed."""

    href: str
    run: str
    finding: Event
    said: Event

    @property
    def confirms(self) -> bool:
        return self.said.title.lower() == STANCES[0]


def has_reviews(site: SiteData) -> bool:
    """Whether anybody has reviewed anything."""
    return any(e.kind is EventKind.REVIEW for entry in site.entries for e in entry.events)


def reviews(site: SiteData, render: Render) -> Iterator[Page]:
    """reviews.md: what people have judged, disagreements first; only where there is some."""
    if not has_reviews(site):
        return
    runs = [row for entry in site.entries if (row := _reviewed(entry))]
    runs.sort(key=lambda row: moment(row.review.at_time), reverse=True)
    stances = [stance for entry in site.entries for stance in _stances(entry)]
    stances.sort(key=lambda stance: moment(stance.said.time), reverse=True)
    tally = Counter((stance.finding.patterns[0], stance.confirms) for stance in stances)
    patterns = sorted({pattern for pattern, _ in tally}, key=site.pattern_title)
    values = {
        "base": "",
        "runs": sorted(runs, key=lambda row: row.agrees)[:LISTED],
        "reviewed": len(runs),
        "disagreements": sum(not row.agrees for row in runs),
        "stances": sorted(stances, key=lambda stance: stance.confirms)[:LISTED],
        "judged": len(stances),
        "confirmed": sum(stance.confirms for stance in stances),
        "patterns": [(p, site.pattern_title(p), tally[p, True], tally[p, False]) for p in patterns],
    }
    yield Page("reviews.md", render("reviews.md.j2", values))


def _reviewed(entry: Entry) -> Reviewed | None:
    review = last_review(entry.notes)
    verdict = verdict_of(review) if review else None
    if review is None or verdict is None:
        return None
    title, href = entry.title or entry.run_id, f"runs/{address(entry.run_id)}/index.html"
    return Reviewed(href, title, review, verdict, entry.diagnosis.verdict)


def _stances(entry: Entry) -> Iterator[Stance]:
    """The last word on each finding."""
    findings = {event.id: event for event in entry.events if event.patterns}
    last: dict[str, Event] = {}
    for event in sorted(entry.events, key=lambda event: moment(event.time)):
        if event.kind is EventKind.REVIEW and event.of in findings:
            last[event.of] = event
    folder = f"runs/{address(entry.run_id)}/index.html"
    for of, said in last.items():
        yield Stance(f"{folder}#{of}", entry.title or entry.run_id, findings[of], said)
