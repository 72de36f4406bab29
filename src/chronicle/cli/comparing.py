"""`chronicle compare`: runs beside each other, in the terminal: facts, courses at the same steps, events."""

from __future__ import annotations

import math
import string
from collections.abc import Iterator, Sequence
from operator import itemgetter

import click
import numpy as np

from chronicle.build.entry import facts
from chronicle.build.produce import Run
from chronicle.cli.terminal import badge, columns, event_lines, filled, printable
from chronicle.metrics.roles import shown_metric
from chronicle.metrics.values import clipped, count, level, with_unit
from chronicle.model import Diagnosis, Event, EventKind, Role, Timeline, Track
from chronicle.story import Story
from chronicle.story.restarts import lettered

MOST = 8  # runs that stand beside each other
_PLACES = 8  # steps at which courses are compared
_FACTS, _EVENTS = 60, 60  # rows that a terminal has room for
_WIDEST = 36  # characters of a cell
_NEAR_SHARE = 1 / 64  # of the steps that all runs have: what lies so near to a place is averaged there


Judged = tuple[Run, Timeline, Diagnosis, Story]


def lines(runs: Sequence[Judged]) -> Iterator[str]:
    """What differs between runs: verdicts, facts, the judged metric and the learning rate, and the events."""
    letters = string.ascii_uppercase[: len(runs)]
    for letter, (run, _, _, story) in zip(letters, runs, strict=True):
        name = click.style(printable(run.run_id), bold=True)
        yield f"{letter}  {name}  {badge(story.verdict, story.badge)}"
        yield from filled(story.headline, "   ", "   ")
    rows = _differing(runs)
    yield from _table("Facts that differ", letters, rows[:_FACTS])
    if len(rows) > _FACTS:
        yield f"  {count(len(rows) - _FACTS)} more"
    timelines = [timeline for _, timeline, _, _ in runs]
    losses = [shown_metric(list(timeline.series.values())) for timeline in timelines]
    if all(losses):
        names = " against ".join(dict.fromkeys(track.metric for track in losses if track))
        yield from _table(f"{names}, at the same steps", letters, _courses([t for t in losses if t]))
    rates = [next(iter(t.by_role(Role.LEARNING_RATE)), None) for t in timelines]
    yield from _table("Learning rate", letters, _schedules(rates))
    yield from _events(letters, runs)


def _table(title: str, letters: str, rows: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    """A title and rows of one cell a run, the columns as wide as what they hold."""
    if not rows:
        return
    cut = ((printable(n), *(clipped(printable(c), _WIDEST) for c in cells)) for n, cells in rows)
    yield f"\n{printable(title)}"
    yield from columns([("", *letters), *cut], "  ")


def _differing(runs: Sequence[Judged]) -> list[tuple[str, list[str]]]:
    """The facts that are not the same in all runs; a dash where a run does not state one."""
    stated = []
    for run, timeline, _, _ in runs:
        of_run = facts(timeline, run.folder.config)
        stated.append({f.quantity: with_unit(f.value, f.unit) for f in of_run if f.value is not None})
    names = dict.fromkeys(name for table in stated for name in table)
    rows = [(name, [table.get(name) or "–" for table in stated]) for name in names]
    return [(name, cells) for name, cells in rows if len(set(cells)) > 1]


def _courses(tracks: Sequence[Track]) -> list[tuple[str, list[str]]]:
    """The median of each course near places that all of them reach; no rows where there are none."""
    live = [(t.steps[t.live], t.values[t.live]) for t in tracks]
    if not all(len(steps) for steps, _ in live):
        return []
    first, last = max(int(s.min()) for s, _ in live), min(int(s.max()) for s, _ in live)
    if last <= first:
        return []
    gaps = [float(np.median(np.diff(steps))) for steps, _ in live if len(steps) > 1]
    reach = max(_NEAR_SHARE * (last - first), *(gap / 2 for gap in gaps))
    rows = []
    for place in np.unique(np.linspace(first, last, _PLACES).round().astype(np.int64)).tolist():
        cells = []
        for steps, values in live:
            near = values[(np.abs(steps - place) <= reach) & np.isfinite(values)]
            cells.append(level(float(np.median(near))) if len(near) else "–")
        rows.append((f"step {count(place)}", cells))
    return rows


def _schedules(rates: Sequence[Track | None]) -> list[tuple[str, list[str]]]:
    """Highest and last learning rate of each run, with the steps; no rows where no run logged one."""
    highest, last = [], []
    for rate in rates:
        known = np.flatnonzero(rate.live & np.isfinite(rate.values)) if rate is not None else np.empty(0, int)
        if rate is None or not len(known):
            places = ["not logged"] * 2
        else:
            ends = known[np.argmax(rate.values[known])], known[-1]
            places = [f"{level(float(rate.values[at]))} at {count(int(rate.steps[at]))}" for at in ends]
        highest.append(places[0])
        last.append(places[1])
    return [("highest", highest), ("last", last)] if any(rates) else []


def _events(letters: str, runs: Sequence[Judged]) -> Iterator[str]:
    """The events of all runs by step, each with the letter of its run.

    Each run keeps its own order: a rollback stands at the step where it happened, behind what led to it, and
    what came after it behind the rollback.
    """
    events: list[tuple[float, str, Event]] = []
    for letter, (*_, diagnosis, story) in zip(letters, runs, strict=True):
        left = {mark: join.from_step for mark, join in lettered(diagnosis)}
        reached = -math.inf
        for event in story.events:
            reached = max(reached, left.get(event.mark, math.inf if event.step is None else event.step))
            if event.kind not in (EventKind.LAUNCH, EventKind.END):
                events.append((reached, letter, event))
    events.sort(key=itemgetter(0))
    if events:
        yield "\nEvents, in the order of steps"
    for _, letter, event in events[:_EVENTS]:
        yield from event_lines(event, f"{letter}  ")
    if len(events) > _EVENTS:
        yield f"  {count(len(events) - _EVENTS)} more"
