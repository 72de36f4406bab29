"""The table of experiments: what was changed in a run, why, what came of it, and the hours that were lost.

An experiment is one act and all that belongs to it. An act is a restart at which something changed, or for
which findings or people give a reason; changes of schedule or batch that follow each other; what somebody
decided or tried about a finding; or the run as a whole, where notes on no event say what it was to try. The
findings and faults that led to an act say why, the findings that followed it say what came of it, and the
notes on all of these stand with them. A restart that merely went on and a run that was merely launched are
no experiments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile, islice, takewhile

from chronicle.classify.patterns import Trait, having
from chronicle.metrics.values import level, moment
from chronicle.model import Entry, Event, EventKind, Join, Verdict
from chronicle.pages.gallery import Page, RunEvent, SiteData
from chronicle.pages.words import Render
from chronicle.story import BY_PEOPLE, CHANGES, JOINS, deciding
from chronicle.story.measured import OVERALL, axis_named
from chronicle.story.signs import named

LISTED = 200  # rows of the table, the newest first
_TOLD = 2  # findings that an outcome tells: the gravest
_PLANS = ("hypothesis", "tried")  # kinds of notes that say what a whole run is to try
_DONE = ("tried", "decision")
_CAME = ("outcome", "lesson", "decision")
_KINDS = ("hypothesis", "tried", "decision", "outcome", "lesson")
_ENDS = (EventKind.LAUNCH, EventKind.END)
_COURSE = having(Trait.WHOLE_RUN) - having(
    Trait.ODD
)  # of the course of a run: a note on it is one on the run

Notes = Mapping[str, list[RunEvent]]


@dataclass(frozen=True)
class Experiment(RunEvent):
    """What was changed, why, and what came of it, a sentence an item; ``hours`` is empty where unknown."""

    changed: tuple[str, ...]
    why: tuple[str, ...]
    outcome: tuple[str, ...]
    hours: str


@dataclass
class _Act:
    """What was done, what led to it and what followed: events, and the notes that people wrote on them.

    ``notes`` are those on what was done and on what led to it, ``replies`` those on what followed.
    ``is_experiment`` is False for the launch, and for a restart that merely went on; ``is_plan`` is True
    for the run as a whole, of which somebody said what it was to try.
    """

    done: list[Event] = field(default_factory=list)
    led: list[Event] = field(default_factory=list)
    followed: list[Event] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    notes: list[RunEvent] = field(default_factory=list)
    replies: list[RunEvent] = field(default_factory=list)
    is_experiment: bool = True
    is_plan: bool = False

    @property
    def finding(self) -> Event | None:
        """The finding about which somebody decided or tried something, if that is the act."""
        return next((event for event in self.done if event.kind is EventKind.FINDING), None)

    def is_cause_of(self, finding: Event) -> bool:
        """Whether a finding came shortly after what was done, as its own record has it."""
        words = [f"the {named(event)}" for event in self.done]
        return self.is_experiment and any(word in cause for word in words for cause in finding.causes)


def experiments_page(site: SiteData, render: Render) -> Iterator[Page]:
    """experiments.md: the table over all runs, the newest first."""
    rows = [row for entry in site.entries for row in experiments(entry)]
    rows.sort(key=lambda row: -moment(row.time))
    values = {"rows": rows[:LISTED], "more": len(rows[LISTED:])}
    yield Page("experiments.md", render("experiments.md.j2", values))


def experiments(entry: Entry) -> Iterator[Experiment]:
    """The experiments of a run: those of the run as a whole, then the others in the order of its events."""
    notes: dict[str, list[RunEvent]] = {}
    on_run = {"", *(event.id for event in entry.events if event.kind in _ENDS or {*event.patterns} & _COURSE)}
    for event in entry.events:
        if event.kind in BY_PEOPLE:
            notes.setdefault("" if event.of in on_run else event.of, []).append(RunEvent(entry, event))
    of_run = notes.pop("", [])
    plan = _plan(of_run)
    acts = _acts(entry, notes, is_planned=plan is not None)
    if plan is not None:  # what belongs to no other experiment belongs to the one that the run is
        for act in [act for act in acts if not act.is_experiment]:
            plan.followed += act.followed
            plan.joins += act.joins
        plan.followed = plan.followed or deciding(entry.events, entry.verdict)[:1]
    acts = [*([plan] if plan else _told_in_turn(of_run)), *(act for act in acts if act.is_experiment)]
    for act in acts:
        act.notes += [note for e in (*act.done, *act.led) for note in notes.pop(e.id, ())]
    for act in acts:
        act.replies = [note for e in act.followed for note in notes.pop(e.id, ())]
    yield from (_row(entry, act) for act in acts)


def _plan(notes: Sequence[RunEvent]) -> _Act | None:
    """The run as one experiment: notes on it begin with what it was to try, and then say what came of it."""
    kept = [note for note in notes if note.note_kind in _KINDS]
    begun = len([*takewhile(lambda note: note.note_kind in _PLANS, kept)])
    kinds = [note.note_kind for note in kept]
    is_one = begun and kinds[:begun].count("tried") < 2 and not {*kinds[begun:]} & {*_PLANS}
    return _Act(notes=kept, is_plan=True) if is_one else None


def _told_in_turn(notes: Sequence[RunEvent]) -> list[_Act]:
    """Notes on a run of several experiments, one after another: what was supposed, done, and came of it."""
    acts: list[_Act] = []
    for note in notes:
        is_done = bool(acts) and any(earlier.note_kind != "hypothesis" for earlier in acts[-1].notes)
        if note.note_kind in ("hypothesis", *_DONE) and (is_done or not acts):
            acts.append(_Act(notes=[note]))
        elif acts and note.note_kind in _KINDS:
            acts[-1].notes.append(note)
    return [act for act in acts if any(note.note_kind in _DONE for note in act.notes)]


def _acts(entry: Entry, notes: Notes, is_planned: bool) -> list[_Act]:
    """What was done in a run, in order, after its launch; ``is_planned`` where the run is an experiment."""
    joins = {f"{join.kind.value}-a{join.after + 1}": join for join in entry.diagnosis.joins}
    acts, earlier = [_Act(is_experiment=False)], list[Event]()
    for event in entry.events:
        last = acts[-1]
        if event.kind in JOINS:
            join = joins.get(event.id)
            led = _led(earlier, join)
            if last.finding in led:  # what was decided about it was this restart
                acts.pop()
            has_reason = _has_reason(join) or any(e.id in notes for e in (event, *led))
            acts.append(_Act([event], led, joins=[join] if join else [], is_experiment=has_reason))
        elif event.kind in CHANGES:
            if last.done and last.done[0].kind in CHANGES and last.done[0].attempt == event.attempt:
                last.done.append(event)
            else:
                acts.append(_Act([event]))
        elif event.kind is EventKind.FINDING and not set(event.patterns) & OVERALL:
            last.followed.append(event)
            decided = any(note.note_kind in _DONE for note in notes.get(event.id, ()))
            if decided and not is_planned and not last.is_cause_of(event):
                acts.append(_Act([event]))
        earlier.append(event)
    return acts


def _led(earlier: Sequence[Event], join: Join | None) -> list[Event]:
    """What led to a restart: the finding that it undid, else the first of the last faults before it."""
    seen = join.evidence if join is not None else {}
    for side in ("left", "inside"):
        if pattern := seen.get(f"{side}_pattern"):
            start = seen[f"{side}_start_step"]
            same = [event for event in earlier if pattern in event.patterns]
            return sorted(same, key=lambda event: abs((event.step or 0) - start))[:1]
    since = takewhile(lambda event: event.kind not in JOINS, reversed(earlier))
    faults = [event for event in since if event.kind is EventKind.FAULT]  # the last one first
    return [fault for fault in faults if (fault.step or 0) >= (faults[0].step or 0) - 1][-1:]


def _has_reason(join: Join | None) -> bool:
    """Whether something changed at a restart, or it undid a finding."""
    undid = join is not None and ("left_pattern" in join.evidence or "inside_pattern" in join.evidence)
    return undid or bool(join and join.changes)


def _row(entry: Entry, act: _Act) -> Experiment:
    """The row of an act. Of a planned run a decision is what came of it; else it is what was done."""
    act.notes.sort(key=lambda note: moment(note.time))
    doing = ("tried",) if act.is_plan else _DONE
    changed = [event.sentence for event in act.done if event is not act.finding]
    why = [event.sentence for event in (act.finding, *act.led) if event is not None]
    came: list[RunEvent] = []
    for note in act.notes:
        if note.note_kind in doing:
            changed.append(note.event.sentence)
        elif note.note_kind == "hypothesis" or (note.note_kind == "outcome" and act.finding and not changed):
            why.append(note.event.sentence)
        elif note.note_kind in _CAME:
            came.append(note)
    return Experiment(
        entry,
        act.done[0] if act.done else act.notes[0].event,
        tuple(changed or ["The run as a whole."]),
        tuple(why),
        (*_followed(entry, act, bool(came)), *map(_labelled, [*act.replies, *came])),
        _hours(entry, act),
    )


def _labelled(note: RunEvent) -> str:
    """A note in the column of outcomes, with its kind where it is another one: ``Lesson: …``."""
    kind = "" if note.note_kind == "outcome" else f"{note.event.title}: "
    return f"{kind}{note.event.sentence}"


def _followed(entry: Entry, act: _Act, is_noted: bool) -> list[str]:
    """What the record itself says came of an act: the gravest findings after it, or that there were none."""
    gravest = sorted(act.followed, key=lambda e: (e.live, e.verdict.rank if e.verdict else 0, e.severity))
    told = {event.id for event in gravest[-_TOLD:]} | {note.event.of for note in act.replies}
    if told:
        return [event.sentence for event in act.followed if event.id in told]
    is_over = act.finding is None or act.finding.end_step is not None
    if not act.done or is_noted or not is_over:
        return []
    return [f"No finding followed up to {_last_place(entry, act.done[-1])}."]


def _last_place(entry: Entry, event: Event) -> str:
    """The last step before the next restart after an event, or that of the log."""
    later = islice(dropwhile(lambda other: other is not event, entry.events), 1, None)
    restart = next((other for other in later if other.kind in JOINS), None)
    joins = {f"{join.kind.value}-a{join.after + 1}": join.from_step for join in entry.diagnosis.joins}
    ends = (e.step for e in entry.events if e.kind is EventKind.END)
    last = joins.get(restart.id) if restart else next(ends, None)
    return axis_named({row["axis"] for row in entry.attempts}).place(last or event.step or 0)


def _hours(entry: Entry, act: _Act) -> str:
    """Hours discarded, hours until it went on, and hours trained after what the run did not recover from."""
    lost = [span for join in act.joins for span in (join.evidence.get("discarded_s"), join.gap_s)]
    for event in (*act.done, *act.followed):
        if event.live and event.verdict is Verdict.BAD and event.end_step is None:
            end = next((e.elapsed_s for e in entry.events if e.kind is EventKind.END), None)
            lost.append(None if end is None or event.elapsed_s is None else end - event.elapsed_s)
            break
    if (lost and not any(lost)) or all(event.elapsed_s is None for event in entry.events):
        return ""
    hours = sum(span for span in lost if span) / 3600
    return level(hours) if hours >= 0.01 else "< 0.01" if hours else "0"
