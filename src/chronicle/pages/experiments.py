"""What was tried: each change of a run with why it was made, what came of it and what it cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chronicle.metrics.values import level, moment
from chronicle.model import Entry, Event, EventKind, Join, JoinKind, Verdict
from chronicle.pages.chronology import said
from chronicle.pages.gallery import Page, Render, SiteData
from chronicle.pages.words import address

LISTED = 200  # rows of the page, the newest first
_JOINS = tuple(EventKind(kind.value) for kind in JoinKind)
_SET = (EventKind.SCHEDULE, EventKind.BATCH)
_DONE, _WHY, _OUTCOME = ("tried", "decision"), ("hypothesis",), ("outcome", "lesson")


@dataclass(frozen=True)
class Experiment:
    """One row: what was done about ``event``, why, and what came of it; ``hours`` is empty where unknown."""

    entry: Entry
    event: Event
    done: tuple[str, ...]
    why: tuple[str, ...]
    outcome: tuple[str, ...]
    hours: str

    @property
    def href(self) -> str:
        return f"runs/{address(self.entry.run_id)}/index.html#{self.event.id}"


def page(site: SiteData, render: Render) -> Iterator[Page]:
    """experiments.md: the table over all runs, the newest first."""
    rows = [row for entry in site.entries for row in experiments(entry)]
    rows.sort(key=lambda row: -moment(row.event.time))
    values = {"base": "", "rows": rows[:LISTED], "more": len(rows[LISTED:])}
    yield Page("experiments.md", render("experiments.md.j2", values))


def experiments(entry: Entry) -> list[Experiment]:
    """The experiments of a run in the order of its events.

    They are restarts that went back or at which something changed, changes of schedule and batch, and what
    somebody noted as tried, decided, supposed or come out; each with the notes that speak of it.
    """
    joins = {f"{join.kind.value}-a{join.after + 1}": join for join in entry.diagnosis.joins}
    rows = []
    for place, event in enumerate(entry.events):
        notes = spoken(entry, event)
        told = [note for note in (event, *notes) if said(note) in (*_DONE, *_WHY, *_OUTCOME)]
        join = joins.get(event.id)
        changed = event.kind in _SET or (
            join is not None and (join.changes or join.kind is not JoinKind.RESUME)
        )
        if event.of or not (told or changed):
            continue
        done = (*((event.sentence,) if changed else ()), *_texts(told, _DONE))
        why = _texts(told, _WHY)
        if event.kind is EventKind.FINDING:
            why = (event.sentence, *why)
        outcome = _texts(told, _OUTCOME) or tuple(filter(None, [sequel(entry.events[place + 1 :], event)]))
        rows.append(Experiment(entry, event, done, why, outcome, _hours(join)))
    return rows


def spoken(entry: Entry, event: Event) -> list[Event]:
    """What people said of an event."""
    return [note for note in entry.events if note.of == event.id]


def sequel(later: Sequence[Event], event: Event) -> str:
    """What came after an event: the next restart after a finding, else the next finding, else the end."""
    after_finding = event.kind is EventKind.FINDING
    for other in later:
        is_bad = other.kind is EventKind.FINDING and other.verdict is not Verdict.GOOD
        if other.kind is EventKind.END or other.kind in _JOINS or (is_bad and not after_finding):
            return f"{other.title}: {other.short}" if other.short else other.title
    return ""


def _texts(notes: Sequence[Event], kinds: Sequence[str]) -> tuple[str, ...]:
    return tuple(note.sentence for note in notes if said(note) in kinds)


def _hours(join: Join | None) -> str:
    """Hours that a restart cost: those trained and discarded, and those until it went on."""
    seconds = (join.evidence.get("discarded_s") or 0.0) + (join.gap_s or 0.0) if join else 0.0
    return "" if not seconds else level(seconds / 3600) if seconds >= 36 else "< 0.01"
