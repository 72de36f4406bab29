"""The data that pages show: events and entries of runs, and the gallery's files about patterns and cases."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import dropwhile
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from chronicle.classify.patterns import BY_ID, PATTERNS
from chronicle.errors import ConfigError
from chronicle.metrics.values import gathered, moment
from chronicle.model import Entry, Event, EventKind, Figure, Verdict
from chronicle.pages.words import hour, place
from chronicle.story import deciding
from chronicle.story.measured import BY_PEOPLE, JOINS, OVERALL
from chronicle.story.signs import Sign
from chronicle.workspace.config import Text, WorkspaceConfig, from_table

DAY_S = 86_400
_YEAR_2100_S = 4_102_444_800.0  # Unix time: a later date is that of a wrong clock
_OF_ATTEMPT = ("axis", "format", "last_step", "started", "ended", "job", "nodes")


@dataclass(frozen=True)
class RunEvent:
    """One event of one run, as lists over many runs show it."""

    entry: Entry
    event: Event

    @property
    def time(self) -> str:
        return self.event.time

    @property
    def title(self) -> str:
        return self.entry.title or self.entry.run_id

    @property
    def href(self) -> str:
        return f"{place(self.entry.run_id)}#{self.event.id}"

    @property
    def day(self) -> str:
        return self.time[:10]

    @property
    def hour(self) -> str:
        """``14:52Z``; ``day only`` or ``no date`` if no more is known."""
        return hour(self.time) or ("day only" if moment(self.time) else "no date")

    @property
    def note_kind(self) -> str:
        """The kind of a note, ``decision``; empty for an event that was logged."""
        if self.event.kind is EventKind.NOTE:
            return self.event.title.lower()
        return self.event.kind.value if self.event.kind in BY_PEOPLE else ""

    @property
    def kind(self) -> str:
        return self.note_kind or self.event.kind.value

    @property
    def is_plain_end(self) -> bool:
        """Whether a log ends here, and nothing was wrong with that."""
        return self.event.kind is EventKind.END and self.event.ending in ("", "finished")

    @property
    def sentence(self) -> str:
        """What happened; at the end of a run also what is to be thought of it."""
        is_judged = self.is_plain_end and self.entry.badge == self.entry.verdict
        return self.event.sentence + (f" The verdict of the run is {self.entry.badge}." if is_judged else "")

    @cached_property
    def notes(self) -> tuple[Event, ...]:
        notes = (note for note in self.entry.events if note.of == self.event.id)
        return tuple(sorted(notes, key=lambda note: moment(note.time)))

    @cached_property
    def content(self) -> str:
        return repr((self.href, self.title, self.event, self.notes, self.after))

    @property
    def zoom(self) -> Figure | None:
        return figure(self.entry, f"finding-{self.event.mark}")

    @property
    def after(self) -> str:
        """The next restart, or the end of the run; the plain end of a log is no consequence of anything."""
        later = dropwhile(lambda other: other.id != self.event.id, self.entry.events)
        next(later)  # the event itself
        plain = ("", "in NaN")
        ends = (e for e in later if e.kind in JOINS or (e.kind is EventKind.END and e.ending not in plain))
        return next((e.sentence for e in ends), "")


def when(time: str) -> float:
    """`moment`, by which events are ordered; 0 for a time after the year 2099, which a wrong clock wrote:
    nothing would be newer for as long."""
    return at if (at := moment(time)) < _YEAR_2100_S else 0.0


def by_wrong_clock(entry: Entry) -> str:
    """The time of an event that such a clock wrote; empty if there is none."""
    return next((event.time for event in entry.events if moment(event.time) and not when(event.time)), "")


def dated_events(entries: Iterable[Entry]) -> list[RunEvent]:
    """The dated events of all runs, newest first; of a run without any date its end. Last are those that a
    wrong clock dated."""
    listed: list[RunEvent] = []
    for entry in entries:
        rows = [RunEvent(entry, event) for event in reversed(entry.events) if not event.shows(OVERALL)]
        ends = [row for row in rows if row.event.kind is EventKind.END]
        ended = {row.day for row in ends}
        # If a run ends on the day of its launch, the launch says nothing more.
        kept = (row for row in rows if row.event.kind is not EventKind.LAUNCH or row.day not in ended)
        listed += [row for row in kept if row.time] or ends
    return sorted(listed, key=lambda row: (bool(row.time), when(row.time)), reverse=True)


def last_time(entry: Entry) -> str:
    """The time of the last event in a run's logs, as logged; empty if they have none."""
    return max((event.time for event in entry.events if event.kind not in BY_PEOPLE), key=when, default="")


def in_training(entries: Sequence[Entry]) -> list[Entry]:
    """Runs whose log states no end and continues to within a day of the newest event of any run, which may be
    a note: whoever writes one has seen that the logs go no further."""
    logs = [e for e in entries if e.about.get("data", "log") == "log" and not e.about.get("synthetic")]
    ends = [(log, event) for log in logs for event in log.events if event.kind is EventKind.END]
    timed = [(log, end.ending, when(end.time)) for log, end in ends if len(end.time) > len("2026-11-18")]
    newest = max((when(event.time) for log in logs for event in log.events if event.time), default=0.0)
    return [log for log, ending, at in timed if ending in ("", "cut off") and newest - at <= DAY_S]


def for_lists(entry: Entry) -> Entry:
    """The part of an entry that other pages show. A build stores it apart, and reads no more than this."""
    findings = [replace(f, evidence={}, criteria=(), runner_up_if="") for f in entry.diagnosis.findings]
    return replace(
        entry,
        story=(),
        costs=(),
        warnings=(),
        faults=(),
        events=tuple(replace(e, numbers=(), signs={}, parts=(), also=()) for e in entry.events),
        diagnosis=replace(entry.diagnosis, findings=tuple(findings), not_assessed=()),
        facts=tuple(fact for fact in entry.facts if fact.how == "run.toml"),
        figures=tuple(f for f in entry.figures if f.name in ("whole", "thumb")),
        attempts=tuple({k: row[k] for k in _OF_ATTEMPT if k in row} for row in entry.attempts),
        metrics=({"points": n_points(entry)},) if entry.metrics else (),
    )


def n_points(entry: Entry) -> int:
    """The number of points that a run logged."""
    return sum(int(row.get("points") or 0) for row in entry.metrics)


def figure(entry: Entry, name: str) -> Figure | None:
    """The figure of this name, if it was drawn."""
    return next((f for f in entry.figures if f.name == name), None)


P = TypeVar("P", "PatternPage", "Case")
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)(.*)", re.S)


@dataclass(frozen=True)
class Page:
    """A generated file: its path below build/docs, and its text or None if the file there is up to date.
    Equal ``made_of`` means equal text; empty if that is not known before the page is rendered."""

    path: str
    text: str | None
    made_of: str = ""


@dataclass(frozen=True)
class Condition:
    """One criterion of a pattern, and the series it needs."""

    criterion: Text
    threshold: Text = ""
    needs: Text = ""


@dataclass(frozen=True)
class Lookalike:
    """What a pattern may be mistaken for, and how it differs; ``pattern`` is None if it has no page."""

    pattern: Text | None
    title: Text
    verdict: Verdict
    how: Text = ""


@dataclass(frozen=True)
class Cause:
    """A likely cause, and how to tell it. The signs in ``when`` speak for it, those in ``unless`` against."""

    cause: Text
    evidence: Literal["proved", "reported", "guess"]
    tell: Text = ""
    when: tuple[Sign, ...] = ()
    unless: tuple[Sign, ...] = ()


@dataclass(frozen=True)
class Source:
    """Something written about a pattern; ``by`` says who wrote it, and when."""

    title: Text
    where: Text = ""
    note: Text = ""
    by: Text = ""


@dataclass(frozen=True)
class PatternPage:
    """gallery/<verdict>/<id>.md: front matter, and ``body``; ``typed`` has more words to find it by, and
    ``now_for_reward`` what to do instead of ``now`` where a reward shows it and not a loss."""

    id: Text
    title: Text
    verdict: Verdict
    lead: Text
    also_called: tuple[Text, ...] = ()
    typed: Text = ""
    criteria: tuple[Condition, ...] = ()
    lookalikes: tuple[Lookalike, ...] = ()
    causes: tuple[Cause, ...] = ()
    now: tuple[Text, ...] = ()
    now_for_reward: tuple[Text, ...] = ()
    prevent: tuple[Text, ...] = ()
    sources: tuple[Source, ...] = ()
    specimens: tuple[Text, ...] = ()
    body: str = ""


@dataclass(frozen=True)
class Datum:
    """One known fact about a case."""

    name: Text
    value: Text


@dataclass(frozen=True)
class Logged:
    """One row of a case: when and where it was, in the words of its source, and what was said or done. A row
    that names a ``run`` is a note on it as well, on ``event`` or at ``step``."""

    said: Text
    kind: Literal["event", "hypothesis", "tried", "decision", "outcome", "lesson"] = "event"
    when: Text = ""
    at: Text = ""
    run: Text = ""
    step: int | None = None
    event: Text = ""


@dataclass(frozen=True)
class Case:
    """gallery/cases/<id>.md: the public logbook of a training by ``who``, and what in it is in doubt."""

    id: Text
    title: Text
    lead: Text
    who: Text
    facts: tuple[Datum, ...] = ()
    log: tuple[Logged, ...] = ()
    doubts: tuple[Text, ...] = ()
    sources: tuple[Source, ...] = ()
    runs: tuple[Text, ...] = ()
    body: str = ""


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
        logged = f" Not logged, but it would help to decide: {', '.join(missing)}." if missing else ""
        check = f"{likely[0].cause.tell}{logged}"
    if event.signs.get(Sign.OBJECTIVE.value) and page.now_for_reward:
        page = replace(page, now=page.now_for_reward)
    return Advice(event, page, causes, check)


def ranked(causes: Sequence[Cause], signs: Mapping[str, bool]) -> tuple[Ranked, ...]:
    """The causes by the signs around an event: first those that most signs speak for, in the order of the
    pattern's page, last those that one speaks against. Those for the other kind of metric are left out."""
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


@dataclass(frozen=True)
class SiteData:
    """All that pages show. ``unreadable`` has pairs of a log or run and its problem, ``unknown`` the names
    of texts that are named as logs and that no reader knows. Entries may have been shortened by `for_lists`;
    ``full_entry`` returns the complete one. ``site_url`` and ``edit_url`` end in a slash, or are empty. Pages
    that are up to date are recognised by ``known`` (a hash of each entry by its run), ``shared`` (a hash of
    everything else), and ``standing`` (the existing pages with their `Page.made_of`)."""

    entries: Sequence[Entry]
    patterns: Sequence[PatternPage]
    unreadable: Sequence[tuple[str, str]]
    title: str
    templates: Sequence[Path]
    cases: Sequence[Case] = ()
    site_url: str = ""
    edit_url: str = ""
    unknown: Sequence[str] = ()
    known: Mapping[str, str] = field(default_factory=dict)
    shared: str = ""
    standing: Mapping[str, str] = field(default_factory=dict)
    full_entry: Callable[[Entry], Entry] = lambda entry: entry

    @cached_property
    def page_of(self) -> Mapping[str, PatternPage]:
        return {page.id: page for page in self.patterns}

    @cached_property
    def entry_of(self) -> Mapping[str, Entry]:
        return {entry.run_id: entry for entry in self.entries}

    @cached_property
    def teaches(self) -> bool:
        """Whether this is a reference gallery: it has no title of its own, and its runs are specimens of the
        patterns. They were chosen by hand, so that their shares estimate nothing."""
        specimens = {run_id for page in self.patterns for run_id in page.specimens}
        return self.title == WorkspaceConfig.title and not specimens.isdisjoint(self.entry_of)

    @cached_property
    def happened(self) -> Sequence[RunEvent]:
        return dated_events(self.entries)

    @cached_property
    def showing(self) -> Mapping[str, Sequence[Entry]]:
        return gathered((pattern, entry) for entry in self.entries for pattern in entry.diagnosis.patterns)

    @cached_property
    def worst_first(self) -> Sequence[Entry]:
        """The entries as Browse and Home order them: by verdict, severity of what decides it, and date."""

        def rank(entry: Entry) -> tuple[int, bool, float, float]:
            severity = max((event.severity for event in deciding(entry.events, entry.verdict)), default=0.0)
            return -entry.verdict.rank, entry.badge != entry.verdict, -severity, -when(last_time(entry))

        return sorted(self.entries, key=rank)

    def page(self, path: str, content: object, text: Callable[[], str]) -> Page:
        """The page at ``path``; its text is made unless the page there was made of the same ``content``."""
        everything = f"{self.shared}{content}".encode("utf-8", "surrogatepass")
        made_of = hashlib.sha256(everything).hexdigest() if self.shared and content else ""
        return Page(path, None if made_of and self.standing.get(path) == made_of else text(), made_of)

    def pattern_title(self, pattern: str) -> str:
        """The title of a pattern, by its page or the fixed list; its id, if it has neither."""
        known = self.page_of.get(pattern) or BY_ID.get(pattern)
        return known.title if known else pattern


def load_gallery(folders: Sequence[Path]) -> list[PatternPage]:
    """The pattern pages of all folders, each from the first folder that has it, in the order of the patterns.
    Raises ConfigError: front matter that is wrong, with its file and key."""
    places = ((folder / verdict, verdict) for folder in reversed(folders) for verdict in Verdict)
    files = {file.stem: (file, verdict) for place, verdict in places for file in place.glob("*.md")}
    texts = ((name, file.read_text("utf-8-sig"), verdict) for name, (file, verdict) in sorted(files.items()))
    pages = [_page(PatternPage, text, name, f"gallery/{v}/{name}.md", verdict=v) for name, text, v in texts]
    order = {pattern.id: i for i, pattern in enumerate(PATTERNS)}
    return sorted(pages, key=lambda page: order.get(page.id, len(order)))


def load_cases(folders: Sequence[Path]) -> list[Case]:
    """The cases of all folders by id, each from the first folder that has it; errors as in `load_gallery`."""
    files = {file.stem: file for folder in reversed(folders) for file in (folder / "cases").glob("*.md")}
    texts = ((name, file.read_text("utf-8-sig")) for name, file in sorted(files.items()))
    return [_page(Case, text, name, f"gallery/cases/{name}.md") for name, text in texts]


def _page(kind: type[P], text: str, name: str, file: str, **known: Any) -> P:
    import yaml

    if (parts := _FRONT_MATTER.match(text.replace("\r\n", "\n"))) is None:
        raise ConfigError(file, "", "must begin with front matter between two lines of ---")
    try:
        table = yaml.load(parts[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # ten times faster in C
    except yaml.YAMLError as err:
        raise ConfigError(file, "", f"front matter is not valid YAML: {err}") from err
    if not isinstance(table, Mapping):
        raise ConfigError(file, "", "front matter must be a table of keys")
    page = from_table(kind, table, file, body=parts[2].strip(), **known)
    if page.id != name:
        raise ConfigError(file, "id", f"is {page.id!r}, but the file is called {name}.md")
    return page
