"""Makes the events of a run from its timeline, diagnosis and notes, ordered by attempt, then by step.

A change of schedule or batch inside an attempt is an event; one at a restart belongs to its event.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain
from operator import attrgetter, itemgetter
from typing import NamedTuple

import numpy as np

from chronicle.classify.measure import last_decimal
from chronicle.classify.patterns import BY_ID, DIVERGENCES
from chronicle.classify.report import numbered
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.roles import evaluations
from chronicle.metrics.values import (
    clipped,
    count,
    fault_words,
    grouped,
    instant,
    listed,
    moment,
    plainly,
    plural,
    stated,
    times_over,
)
from chronicle.model import Event, EventKind, Fault, Floats, Note, Quantity, Role, Steps, Track
from chronicle.story.measured import (
    JOINS,
    OVERALL,
    RISES,
    FindingGroup,
    RunView,
    course_of,
    family,
    finding_groups,
    named_patterns,
    owners,
)
from chronicle.story.restarts import join_event, lettered
from chronicle.story.sentences import Phrases, finding_words, noun
from chronicle.story.signs import around
from chronicle.timeline.courses import distinct_in, step_ends, wall_clock
from chronicle.timeline.joins import STOPS, last_ending
from chronicle.workspace.notes import REVIEWS

_MOST_FAULTS = 200  # events of faults; if there are more, the last event is about all others
_CRASH_S = 60.0  # within which what is logged at one step is of one crash
_LATE_SHARE = 0.1  # of the time of a log, after which its first step is none at its beginning
_NEAR_SHARE = 0.1  # of its step: so far an event may have moved since a note named it by its id
_EVENT_ID = re.compile(r"(?P<family>[a-z-]+?)(?:-a(?P<attempt>\d+))?-(?P<place>\d{1,18})(?:\.\d+)?")
_END_SENTENCES = {
    "finished": "The training finished at {}.",
    "crashed": "The process crashed after {}.",
    "killed": "The process was killed after {}.",
    "aborted": "The process was aborted after {}.",
    "preempted": "The job was preempted after {}.",
    "cancelled": "The job was cancelled after {}.",
    "time limit": "The job reached its time limit after {}.",
    "out of memory": "The process ran out of memory after {}.",
    "loss scale gave up": "The trainer gave up after {}: the loss scale could fall no further.",
    "node failure": "A node failed after {}, and the training ended.",
    "GPU failed": "A GPU failed after {}, and the training ended.",
    "memory error": "A memory error ended the training after {}.",
    "no storage": "A fault of the storage ended the training after {}.",
    "CUDA error": "A CUDA error ended the training after {}.",
    "NCCL error": "An NCCL error ended the training after {}.",
    "cut off": "The last record, at {}, is incomplete: the training is still running, or it was killed.",
    "": "The log ends at {}.",
    "in NaN": "The log ends at {}.",
}
_KIND_OF_NOTE = {"decision": EventKind.DECISION, **dict.fromkeys(REVIEWS, EventKind.REVIEW)}
_LEAST_RATE_LOG, _LEAST_BATCH_LOG = math.log(1.2), math.log(1.01)  # smaller jumps are part of a schedule
_STANDS_OUT_FACTOR = 8.0  # a jump is so many times the moves around it; a warm-up or a decay has no jumps
_NEAR_SAMPLES = 10  # how many moves on each side are compared with a jump; the most of a ramp that is told
_SAME_SLOPE = 0.15  # relative difference of the moves of one ramp, which are logged with two or three digits
WARM_UP = "Warm-up"
_MOST_CHANGES = 12  # changes of one series that are events of their own; more of them are one event


def events(run: RunView, notes: Sequence[Note] = ()) -> tuple[Event, ...]:
    """All events of a run, in the order in which they happened."""
    clock = _Clock(run)
    joined = [join_event(run, letter, join) for letter, join in lettered(run.diagnosis)]
    plain = [*_launch_event(run), *joined, *changes(run), *_fault_events(run), *_end_event(run)]
    findings = [_finding_event(run, group) for group in finding_groups(run.timeline, run.diagnosis)]
    logged = [*map(clock.placed, _with_ids([*plain, *findings]))]
    logged, noted = _with_notes(run, [around(run, event, logged) for event in logged], notes)
    return tuple(sorted([*logged, *map(clock.placed, noted)], key=partial(_order, owners(run.timeline))))


def _launch_event(run: RunView) -> Iterator[Event]:
    first = next(iter(run.timeline.attempts), None)
    if first is not None and (ends := step_ends(distinct_in(first))):
        where = first.facts.get("nodes") or first.facts.get("host") or ""
        on = f" on {clipped(str(where), 60)}" if where else ""
        words = f"The log begins at {run.axis.place(ends[0])}{on}."
        yield Event("launch", EventKind.LAUNCH, "Launch", words, step=ends[0], attempt=first.name)


def _fault_events(run: RunView) -> Iterator[Event]:
    in_order = list(grouped(run.timeline.faults, attrgetter("kind", "what", "at_step")).values())
    crashes = list[list[list[Fault]]]()
    for faults in in_order[: _MOST_FAULTS - 1]:
        if crashes and _are_one_crash(crashes[-1][-1][0], faults[0]):
            crashes[-1].append(faults)
        else:
            crashes.append([faults])
    yield from (_fault_event(run, crash) for crash in crashes)
    if rest := [*chain.from_iterable(in_order[_MOST_FAULTS - 1 :])]:
        yield replace(_fault_event(run, [rest]), sentence=f"{plural(len(rest), 'more fault')} followed.")


def _are_one_crash(first: Fault, later: Fault) -> bool:
    """Whether two faults are of one crash: at one step within a minute, or in one log without times."""
    if not math.isfinite(first.at_time + later.at_time):
        timeless = math.isnan(first.at_time) and math.isnan(later.at_time) and first.at_step is not None
        return timeless and (first.at_step, first.place.source) == (later.at_step, later.place.source)
    return first.at_step == later.at_step and abs(later.at_time - first.at_time) <= _CRASH_S


def _fault_event(run: RunView, crash: Sequence[Sequence[Fault]]) -> Event:
    """The event of the faults of one crash; ``crash`` holds those of one kind and message together."""
    first, hosts = crash[0][0], (fault.host for fault in chain.from_iterable(crash) if fault.host)
    who = clipped(", ".join(dict.fromkeys(hosts)), 80)
    kinds = [*dict.fromkeys(faults[0].kind for faults in crash)]
    noun, on = "stop" if {*kinds} <= STOPS else "fault", f" on {who}" if who else ""
    numbers = [sum(fault.count for fault in faults) for faults in crash]
    often = [f" {times_over(number)}" if number > 1 else "" for number in numbers]
    quotes = [f"“{clipped(faults[0].what, 300).rstrip('.: ')}”" for faults in crash]
    logged = f"a {noun} was logged{often[0]}{on}: {quotes[0]}."
    if len(crash) > 1:
        logged = f"{noun}s were logged{on}: {listed([*map(''.join, zip(quotes, often, strict=True))])}."
    begins = ((wall_clock(attempt)[0], attempt.name) for attempt in run.timeline.attempts)
    # The last attempt that had begun; empty if there are no times.
    _, attempt = max((begin for begin in begins if begin[0] <= first.at_time), default=(0, ""))
    where = "" if first.at_step is None else f"at {run.axis.place(first.at_step)}"
    sentence, kind = f"{where} {logged}".lstrip(), ", ".join(map(fault_words, kinds))
    event_id, *also = (f"fault-{kind}-{coarse(first.at_step or 0)}" for kind in kinds)
    return Event(
        event_id,
        EventKind.FAULT,
        f"{noun.capitalize()}: {kind}",
        sentence[:1].upper() + sentence[1:],
        f"{kind} {where}".rstrip(),
        step=first.at_step,
        time=instant(first.at_time),
        attempt=attempt,
        who=who,
        also=tuple(also),
    )


def _end_event(run: RunView) -> Iterator[Event]:
    if (ending := last_ending(run.timeline)) is None:
        return
    attempt = run.timeline.attempts[ending.attempt]
    if ends := step_ends(distinct_in(attempt)):
        last, how, place = ends[1], ending.how, run.axis.place(ends[1])
        place += f" of {where}" if (where := run.training(attempt.name)) else ""
        words = _END_SENTENCES[how].format(place)
        short = f"{run.course()}{how or 'ends'} at {place}"
        good, numbers = _evaluation(run)
        event = Event("end", EventKind.END, "End", f"{words}{good}", short, step=last, numbers=numbers)
        yield replace(event, attempt=attempt.name, ending=how)


def _evaluation(run: RunView) -> tuple[str, tuple[Quantity, ...]]:
    """How good the model of a single training became: the best and the last value of the first metric of
    held-out data that no finding is about, and these numbers."""
    told = {finding.metric for finding in run.diagnosis.findings}
    track = next((t for t in evaluations(run.timeline.series.values()) if t.metric not in told), None)
    if track is None or run.n_trainings > 1 or (course := course_of(track)) is None:
        return "", ()
    best = Quantity("best", course.best, plainly(course.best))
    last = Quantity("last", course.last, plainly(course.last))
    name = clipped(track.metric, 60)
    if best.words == last.words:
        return f" {name} ended at its {course.extreme} value, {best.words}.", (best,)
    at = Quantity("best_step", course.best_step, run.axis.place(course.best_step))
    said = f" {name} was {course.extreme} at {at.words} ({best.words}) and ended at {last.words}."
    return said, (best, at, last)


def _finding_event(run: RunView, group: FindingGroup) -> Event:
    """The event of a group of findings, named by the gravest one; its text tells all, in order of step."""
    lead = group.lead
    words, sentences, numbers = _group_words(run, group)
    short = words.short
    if explained := lead.evidence.get("explained_by"):
        sentences.append(f"It does not count against the run ({explained}).")
    is_live = lead.pattern == "failed-run" or run.is_live(lead.attempt, lead.start_step)
    if not is_live:
        sentences.append("This branch was discarded later.")
        short += " · discarded"
    patterns = tuple(dict.fromkeys([lead.pattern, *(part.pattern for part in group.parts)]))
    beside = listed([noun(pattern) for pattern in named_patterns(patterns)[1:]])
    attempt = run.index(lead.attempt)
    of_attempt = "" if attempt is None else f"-a{attempt + 1}"
    return Event(
        f"{family(lead.pattern)}{of_attempt}-{coarse(lead.start_step)}",
        EventKind.FINDING,
        BY_ID[lead.pattern].title + (f", with {beside}" if beside else ""),
        " ".join(sentences),
        short,
        mark=str(group.number),
        step=lead.start_step,
        end_step=lead.end_step,
        attempt=lead.attempt or "",
        live=is_live,
        verdict=group.verdict,
        severity=lead.severity,
        numbers=numbers,
        ending=words.ending,
        patterns=patterns,
        parts=tuple(part.id for part in group.parts),
    )


def _group_words(run: RunView, group: FindingGroup) -> tuple[Phrases, list[str], tuple[Quantity, ...]]:
    """The words for the gravest finding of a group; the sentences about it and about the gravest of each
    other family, in order of step; and the numbers in them."""
    lead, (words, numbers) = group.lead, finding_words(run, group.lead)
    often = sum(part.pattern == lead.pattern and part.metric == lead.metric for part in group.parts)
    peaks = lead.pattern in RISES - DIVERGENCES - {"level-shift"}
    stages = f"peaked {times_over(often)}" if peaks else f"came in {count(often)} stages"
    placed = [(lead.start_step, f"{words.sentence} It {stages}." if often > 1 else words.sentence)]
    for part in group.representatives[1:]:
        part_words, part_numbers = finding_words(run, part)
        placed.append((part.start_step, part_words.sentence))
        numbers += part_numbers
    return words, [sentence for _, sentence in sorted(placed, key=itemgetter(0))], numbers


def _with_ids(events: Iterable[Event]) -> list[Event]:
    """Events with unique ids; a finding also has the neighbouring ids, for notes from before it moved."""
    named = [*numbered(events, ".")]
    taken = {event.id for event in named}
    for place, event in enumerate(named):
        if event.also:
            named[place] = replace(event, also=tuple(name for name in event.also if name not in taken))
            taken.update(named[place].also)
        if event.kind is EventKind.FINDING and (match := _EVENT_ID.fullmatch(event.id)):
            stem, step = event.id[: match.start("place")], int(match["place"])
            neighbours = (f"{stem}{at}" for at in (step - _size(step), step + _size(step)) if at > 0)
            named[place] = replace(event, also=tuple(name for name in neighbours if name not in taken))
            taken.update(named[place].also)
    return named


def coarse(step: int) -> int:
    """A step to two significant digits, so that a finding which moves a little keeps its id."""
    return max(round(step / _size(step)), 0) * _size(step)


def _size(step: int) -> int:
    """The power of ten of the second digit of a step."""
    return int(10 ** max(len(str(abs(step))) - 2, 0))


def _with_notes(
    run: RunView, happened: Sequence[Event], notes: Sequence[Note]
) -> tuple[list[Event], list[Event]]:
    """The events, with the ids that notes use for them, and the notes as events of their own."""
    known, noted = list(happened), []
    for note in notes:
        event_id = f"note-{re.sub('[^0-9]', '', note.at_time)[:12] or 'undated'}"
        kind = _KIND_OF_NOTE.get(note.kind, EventKind.NOTE)
        title = (note.kind or "note").replace("review ", "review: ").capitalize()
        words = title, note.text, clipped(note.text.split("\n")[0], 120)
        event = Event(event_id, kind, *words, step=note.step, time=note.at_time, who=note.author)
        if (place := _event_of_note(run, note, known)) is not None:
            about = known[place]
            if note.event and note.event not in (about.id, *about.also):
                known[place] = replace(about, also=(*about.also, note.event))
            step = about.step if note.step is None else note.step
            event = replace(event, step=step, attempt=about.attempt, of=about.id)
        noted.append(event)
    return known, [*numbered(noted, ".")]


def _event_of_note(run: RunView, note: Note, events: Sequence[Event]) -> int | None:
    """The index of the event of a note: the one that it names, else the finding or join at its step
    that had begun when the note was written."""
    for place, event in enumerate(events) if note.event else ():
        if note.event in (event.id, *event.also):
            return place
    if match := _EVENT_ID.fullmatch(note.event):  # when the note was written, it had another step or pattern
        step = int(match["place"])
        family = f"{match['family']}-a{match['attempt']}-" if match["attempt"] else f"{match['family']}-"
        of_family = ((place, e.step) for place, e in enumerate(events) if e.id.startswith(family))
        near = [(abs(at - step), place) for place, at in of_family if at is not None]
        return min(near)[1] if near and min(near)[0] <= _NEAR_SHARE * max(step, 1) else None
    if note.step is None or note.event:
        return None
    begun = ((place, e) for place, e in enumerate(events) if not (note.at_time and _is_later(e, note)))
    around = ((place, e) for place, e in begun if _covers(run, e, note.step) and not e.shows(OVERALL))
    ranked = ((e.kind is not EventKind.FINDING, abs((e.step or 0) - note.step), place) for place, e in around)
    return min(ranked, default=(True, 0, None))[2]


def _is_later(event: Event, note: Note) -> bool:
    """Whether an event began after a note was written; a date without a time means the whole day."""
    if len(note.at_time) <= len("2026-11-18"):
        return event.time[:10] > note.at_time
    return moment(event.time) > moment(note.at_time)


def _covers(run: RunView, event: Event, step: int) -> bool:
    """Whether a step lies in a finding, which ends with a branch that was discarded, or at one end of a
    restart. It may miss either by one logged sample: a checkpoint is named by the step before."""
    if event.step is None or not (event.kind is EventKind.FINDING or event.kind in JOINS):
        return False
    at = run.index(event.attempt)
    if event.kind in JOINS:
        left = (join.from_step for join in run.timeline.joins if join.after == at)
        return any(abs(end - step) <= run.gap for end in (event.step, *left))
    ends = None if event.live or at is None else step_ends(distinct_in(run.timeline.attempts[at]))
    last = (ends[1] if ends else math.inf) if event.end_step is None else event.end_step
    return event.step - run.gap <= step <= last


class _Clock:
    """The time and the number of tokens at which a run was at a step of an attempt."""

    def __init__(self, run: RunView) -> None:
        self.run = run
        times = [finite_of(t.times) for t in distinct_in(run.timeline)]
        self.begun = min((float(t.min()) for t in times if len(t)), default=math.nan)
        self.at = lru_cache(maxsize=None)(self._at)
        # The first of rows that were sorted by step may not be the earliest: then none tells a time since.
        took = max((float(t.max()) for t in times if len(t)), default=math.nan) - self.begun
        launch = next(_launch_event(run), None)
        if launch and self.at(launch.attempt, launch.step or 0, False) - self.begun > _LATE_SHARE * took:
            self.begun = math.nan

    def placed(self, event: Event) -> Event:
        config = self.run.config
        if event.step is None:
            return event if event.time else replace(event, time=config.date)
        start = self.at(event.attempt, event.step, False)
        end = self.at(event.attempt, event.end_step, False) if event.end_step is not None else math.nan
        tokens = self.at(event.attempt, event.step, True)
        if math.isnan(tokens) and config.tokens_per_step and self.run.axis.noun == "step":
            tokens = event.step * config.tokens_per_step
        return replace(
            event,
            time=event.time or instant(start) or config.date,
            elapsed_s=round(start - self.begun, 3) if math.isfinite(start - self.begun) else None,
            duration_s=round(end - start, 3) if math.isfinite(end - start) else event.duration_s,
            tokens=tokens if math.isfinite(tokens) else None,
        )

    def _at(self, attempt: str, step: int, tokens: bool) -> float:
        """Unix seconds (or the tokens) of the last point at or before a step; NaN if unknown."""
        index, run = self.run.index(attempt), self.run.timeline
        points = [(-math.inf, math.nan)]
        for track in run.by_role(Role.TOKENS) if tokens else distinct_in(run):
            own = slice(None) if index is None else track.rows_of(index)
            values = (track.values if tokens else track.times)[own]
            known = np.isfinite(values) & (index is not None or track.live)
            steps, values = track.steps[own][known], values[known]
            row = int(np.searchsorted(steps, step, side="right")) - 1
            if len(steps):  # if all points are later, the first one
                points.append((float(steps[row]) if row >= 0 else -1e300, float(values[max(row, 0)])))
        return max(points, key=lambda point: point[0])[1]


def _order(owner: Callable[[str | None, float], int], event: Event) -> tuple[bool, int, float, int, str]:
    """Sorts events by attempt and step; at one step, possible causes come first."""
    step = math.inf if event.step is None else float(event.step)
    kind = EventKind.NOTE if event.kind is EventKind.DECISION else event.kind  # these two by time alone
    is_last = event.kind is EventKind.END or event.step is None
    return is_last, owner(event.attempt, step), step, list(EventKind).index(kind), event.time


class _Jumps(NamedTuple):
    """The first rows of new values that are told as one change: several stages, or an even ramp."""

    rows: list[int]
    is_ramp: bool = False


def changes(run: RunView) -> Iterator[Event]:
    """The jumps of the learning rate and of the batch size; many jumps of one series are one event."""
    rate = Role.LEARNING_RATE, EventKind.SCHEDULE, _LEAST_RATE_LOG
    for role, kind, least in (rate, (Role.BATCH_SIZE, EventKind.BATCH, _LEAST_BATCH_LOG)):
        if (track := max(run.timeline.by_role(role), key=len, default=None)) is not None:
            groups = [g for k in np.unique(track.attempt).tolist() for g in _jumps(track, k, least)]
            if len(groups) > _MOST_CHANGES:
                groups = [_Jumps([row for group in groups for row in group.rows])]
            yield from (_change_event(run, track, kind, group) for group in groups)


def _jumps(track: Track, attempt: int, least: float) -> list[_Jumps]:
    """Where the track moved by far more than around. Jumps in one direction form one group if they are
    neighbours or of one size: a warm-up of few samples. Those of a ramp of few samples are the whole ramp."""
    rows = np.flatnonzero((track.attempt == attempt) & np.isfinite(track.values) & (track.values > 0))
    moves = np.diff(np.log(track.values[rows]))
    # A linear ramp moves evenly by amount, an exponential one by ratio: a jump does neither.
    amounts = np.diff(track.values[rows])
    scales = np.abs(moves), np.abs(amounts)

    def stands_out(i: int) -> bool:
        near = slice(max(i - _NEAR_SAMPLES, 0), i + _NEAR_SAMPLES + 1)
        others = ((s[i], np.median(np.delete(s[near], min(i, _NEAR_SAMPLES)))) for s in scales)
        return all(move >= _STANDS_OUT_FACTOR * usual for move, usual in others)

    large = np.flatnonzero(scales[0] >= least).tolist() if len(moves) > 1 else []
    jumps = np.array([i for i in large if stands_out(i)], np.int64)
    ramps = [ramp for ramp in _ramps(track, rows) if np.isin(ramp, jumps).any()] if len(jumps) else []
    jumps = np.setdiff1d(jumps, [i for ramp in ramps for i in ramp])
    alike = np.isclose(amounts[jumps[1:]], amounts[jumps[:-1]], atol=0)
    apart = (np.diff(jumps) > 1) & ~alike | (np.diff(np.sign(moves[jumps])) != 0)
    stages = np.split(jumps, np.flatnonzero(apart) + 1)
    groups = [_Jumps(rows[group + 1].tolist()) for group in stages if len(group)]
    groups += [_Jumps(rows[ramp + 1].tolist(), True) for ramp in ramps if len(ramp) <= _NEAR_SAMPLES]
    return sorted(groups)


def _ramps(track: Track, rows: Steps) -> list[Steps]:
    """The moves between these rows that are one straight line: neighbours with the same slope, the last of
    which may end between two rows, and, of a rate, moves by the last decimal with which it is written."""
    amounts, steps = np.diff(track.values[rows]), np.diff(track.steps[rows])
    changed = np.flatnonzero(amounts)
    slopes = np.abs(amounts / np.maximum(steps, 1))[changed]
    beside, sizes, slower = np.diff(changed) == 1, np.abs(amounts[changed]), slopes[1:] <= slopes[:-1]
    even = np.isclose(slopes[1:], slopes[:-1], rtol=_SAME_SLOPE, atol=0)
    even |= slower & ~np.append(beside[1:], False)
    unit = last_decimal(track.values[rows]) if track.role is Role.LEARNING_RATE else 0.0
    by_unit = np.isclose(sizes, unit, rtol=0.01, atol=0)
    goes_on = (beside & even) | (by_unit[1:] & by_unit[:-1])
    goes_on &= np.diff(np.sign(amounts[changed])) == 0
    return [ramp for ramp in np.split(changed, np.flatnonzero(~goes_on) + 1) if len(ramp) > 1]


def _change_event(run: RunView, track: Track, kind: EventKind, group: _Jumps) -> Event:
    """The event of the jumps of a scheduled quantity at these rows of a track."""
    jumps, first, last = group.rows, group.rows[0], group.rows[-1]
    attempt, begin, end = int(track.attempt[first]), int(track.steps[first]), int(track.steps[last])
    owner = run.timeline.attempts[attempt].name
    earlier = track.values[:first][track.attempt[:first] == attempt]
    before, after, names = earlier[-1], track.values[last], ("before", "after")
    verb, title, at = "rose" if after > before else "fell", kind.value.capitalize(), "at"
    if kind is EventKind.SCHEDULE and after > before and _warms_up(run, attempt, earlier, len(jumps)):
        verb, title, at = "warmed up", WARM_UP, "by"
    where = f"{at} {run.axis.place(begin)}"
    short, form = f"{{}} → {{}} {where}", f"{verb} from {{}} to {{}} {where}"
    if len(jumps) > 1:
        number, over = count(len(jumps)), f"over {run.axis.place(begin, end)}"
        stages = "" if group.is_ramp else f" in {number} stages"
        short, form = f"{{}} → {{}}{stages or f' {over}'}", f"{verb} from {{}} to {{}}{stages} {over}"
        levels = [before, *track.values[jumps]]
        if len(set(np.sign(np.diff(levels)).tolist())) > 1:  # it went both ways: its range says more
            before, after, names = min(levels), max(levels), ("lowest", "highest")
            short = f"between {{}} and {{}}, {number} changes"
            form = f"changed {number} times {over}, between {{}} and {{}}"
    name, words = track.role.value.replace("-", " "), (stated(before), stated(after))
    return Event(
        f"{kind.value.replace(' ', '-')}-a{attempt + 1}-{begin}",
        kind,
        title,
        run.in_training(owner, f"The {name} {form.format(*words)}."),
        f"{name} {short.format(*words)}",
        step=begin,
        end_step=end if len(jumps) > 1 else None,
        attempt=owner,
        live=bool(track.live[first]),
        numbers=tuple(map(Quantity, names, (before, after), words)),
    )


def _warms_up(run: RunView, attempt: int, earlier: Floats, n_jumps: int) -> bool:
    """Whether a learning rate rises from the first value, or in stages from the first level, of its training
    on. ``earlier`` are its values in the attempt before it rises."""
    levels = earlier[earlier > 0]
    from_start = len(levels) == 1 or (n_jumps > 1 and np.ptp(levels) == 0)
    return bool(from_start) and not any(join.after == attempt for join in run.timeline.joins)
