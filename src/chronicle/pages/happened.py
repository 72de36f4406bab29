"""An event of a run as every page but the run's own shows it, and the log over all runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile

from chronicle.classify.patterns import Trait, having
from chronicle.metrics.values import moment
from chronicle.model import Entry, Event, EventKind, Figure, JoinKind, Verdict
from chronicle.pages.words import hour, place
from chronicle.story import BY_PEOPLE

_QUIET = having(Trait.CALM | Trait.PROPERTY)
_JOINS = tuple(EventKind(kind.value) for kind in JoinKind)
_OF_ATTEMPT = ("axis", "format", "last_step", "started", "ended", "job", "nodes")


@dataclass(frozen=True)
class Happened:
    """One event of one run. ``href`` leads to it from the root of the site."""

    entry: Entry
    event: Event

    @property
    def time(self) -> str:
        """As logged; empty where nobody knows."""
        return self.event.time

    @property
    def run(self) -> str:
        return self.entry.run_id

    @property
    def title(self) -> str:
        return self.entry.title or self.entry.run_id

    @property
    def href(self) -> str:
        return f"{place(self.run)}#{self.event.id}"

    @property
    def day(self) -> str:
        return self.time[:10]

    @property
    def hour(self) -> str:
        """``14:52Z``; ``day only`` where no more is known."""
        return hour(self.time) or ("day only" if moment(self.time) else "no date")

    @property
    def note_kind(self) -> str:
        """What kind of note it is, ``decision``; empty where nobody said it."""
        if self.event.kind is EventKind.NOTE:
            return self.event.title.lower()
        return self.event.kind.value if self.event.kind in BY_PEOPLE else ""

    @property
    def kind(self) -> str:
        """What the filter calls it: a note by what it is, everything else by its kind."""
        return self.note_kind or self.event.kind.value

    @cached_property
    def notes(self) -> tuple[Event, ...]:
        """What people said of it."""
        return tuple(note for note in self.entry.events if note.of == self.event.id)

    @cached_property
    def content(self) -> str:
        """All that other pages show of it: where this is equal, they are."""
        return repr((self.href, self.title, self.event, self.notes, self.after))

    @property
    def zoom(self) -> Figure | None:
        """Its figure, if one was drawn."""
        return figure(self.entry, f"finding-{self.event.mark}")

    @property
    def after(self) -> str:
        """What came then: the next restart after a finding, else the next finding, else the end."""
        is_finding = self.event.kind is EventKind.FINDING
        later = dropwhile(lambda other: other.id != self.event.id, self.entry.events)
        next(later)  # itself: whole events are slow to compare, and a run may have thousands
        for other in later:
            is_bad = other.kind is EventKind.FINDING and other.verdict is not Verdict.GOOD
            if other.kind is EventKind.END or other.kind in _JOINS or (is_bad and not is_finding):
                return other.sentence
        return ""


def rows(entries: Iterable[Entry]) -> list[Happened]:
    """All events that have a date, newest first, whatever run they are of; of a run without dates its end."""
    logged = [row for entry in entries for row in _logged(entry)]
    return sorted(logged, key=lambda row: (bool(row.time), moment(row.time)), reverse=True)


def _logged(entry: Entry) -> Iterator[Happened]:
    events = [event for event in entry.events if not set(event.patterns) & _QUIET]
    dated = [event for event in events if event.time]
    ended = {event.time[:10] for event in dated if event.kind is EventKind.END}
    # A run of one day is told by its end: where it began says nothing more.
    dated = [event for event in dated if event.kind is not EventKind.LAUNCH or event.time[:10] not in ended]
    if not dated:
        dated = [event for event in events if event.kind is EventKind.END]
    yield from (Happened(entry, event) for event in reversed(dated))


def last_time(entry: Entry) -> str:
    """The time of the last thing that a run's logs tell, as it stands there; empty where they have none."""
    logged = (event.time for event in entry.events if event.kind not in BY_PEOPLE)
    return max(logged, key=moment, default="")


def listed(entry: Entry) -> Entry:
    """What other pages than its own show of an entry: a build keeps it apart, and reads no more."""
    of_run = [{k: row[k] for k in _OF_ATTEMPT if k in row} for row in entry.attempts]
    points = sum(int(row.get("points") or 0) for row in entry.metrics)
    seen = [replace(f, evidence={}, criteria=(), runner_up_if="") for f in entry.diagnosis.findings]
    return replace(
        entry,
        story=(),
        events=tuple(replace(e, numbers=(), causes=(), signs={}, parts=(), also=()) for e in entry.events),
        diagnosis=replace(entry.diagnosis, findings=tuple(seen), not_assessed=()),
        facts=tuple(fact for fact in entry.facts if fact.how == "run.toml"),
        costs=(),
        figures=tuple(f for f in entry.figures if f.name in ("whole", "thumb")),
        warnings=(),
        attempts=tuple(of_run),
        metrics=({"points": points},) if entry.metrics else (),
        faults=(),
    )


def figure(entry: Entry, name: str) -> Figure | None:
    """The figure of a name, if it was drawn."""
    return next((f for f in entry.figures if f.name == name), None)
