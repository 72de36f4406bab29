"""`chronicle triage`: shows each finding that nobody has reviewed, with its curve, and asks for an answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
import pandas as pd

from chronicle.build.produce import POINTS, last_entries
from chronicle.build.sources import named
from chronicle.cli.terminal import badge, event_lines, printable
from chronicle.metrics.values import count, level, plural
from chronicle.model import Entry, Event, EventKind, Floats, Note, Steps, Verdict
from chronicle.story import gravest
from chronicle.workspace.folders import RunFolder, Workspace
from chronicle.workspace.notes import STANCES, iso_time, last_review

WIDTH, HEIGHT = 72, 6  # of a drawing in characters, each of which has two by four dots
_CONTEXT_SAMPLES = 60  # samples that are shown before and after a finding, at least
_LOG_RATIO = 30.0  # from this ratio of the highest to the lowest value on, the axis is logarithmic
_KEYS = {"c": STANCES[0], "d": STANCES[1]}
_NONE_LEFT = "No finding is left to review."
_VERDICT_KEYS = {verdict.value[0]: verdict for verdict in Verdict}
# The bits of the dots of a braille character, from top to bottom, in its left and in its right column.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))


@dataclass
class _Session:
    """The folders of the runs by id, the author of the answers, and the number of findings judged so far."""

    folder_of: Mapping[str, RunFolder]
    author: str
    judged: int = 0

    def unjudged(self, entry: Entry) -> list[Event]:
        return unjudged(entry, self.folder_of[entry.run_id].notes)

    def write(self, entry: Entry, text: str, kind: str, event: str = "") -> None:
        self.folder_of[entry.run_id].add_note(Note(text, iso_time(None), kind, None, self.author, event))


def go_through(workspace: Workspace, run_ids: Sequence[str], author: str) -> None:
    """Asks about every finding that `unjudged` lists, and writes the answers to the notes of its run.

    Keys are read from the terminal. Of any other input each line is a key, and its end is the key q.

    Raises:
        UsageError: the workspace does not have one of the runs.
        NothingToRead: none of the runs was built.
    """
    chosen = named(workspace, run_ids)
    worst_first = sorted(last_entries(workspace.root, chosen), key=lambda entry: -entry.verdict.rank)
    session = _Session({run.run_id: run for run in chosen}, author)
    waiting = [(entry, events) for entry in worst_first if (events := session.unjudged(entry))]
    for entry, events in waiting:
        if not _ask_about_run(session, entry, events, workspace.root / "build" / "entries" / entry.run_id):
            break
    left = sum(len(session.unjudged(entry)) for entry, _ in waiting)
    summary = f"{plural(session.judged, 'finding')} judged, {count(left)} left." if waiting else _NONE_LEFT
    click.echo(f"{summary} Next: chronicle build" if session.judged else summary)


def unjudged(entry: Entry, notes: Sequence[Note]) -> list[Event]:
    """The findings that make a run worse than good and that nobody has confirmed or disputed, the gravest
    first; none if a person has given a verdict on the run."""
    if last_review(notes) is not None:
        return []
    answered = {note.event for note in notes if note.kind in STANCES}
    findings = [e for e in gravest(entry.events, entry.verdict) if e.kind is EventKind.FINDING and e.live]
    return [e for e in findings if e.verdict is not Verdict.GOOD and answered.isdisjoint((e.id, *e.also))]


def _ask_about_run(session: _Session, entry: Entry, events: Sequence[Event], stored: Path) -> bool:
    """Asks about the findings of a run, whose entry is in ``stored``, then for its verdict; false to quit."""
    click.echo(f"\n{click.style(printable(entry.run_id), bold=True)}  {badge(entry.verdict, entry.badge)}")
    judged_before = session.judged
    for event in events:
        click.echo("\n".join([*event_lines(event), *_drawing(entry, event, stored / POINTS)]))
        if not _ask_about_event(session, entry, event):
            return False
    if session.judged > judged_before:
        key = _key("Verdict of the run? g good, u unexpected, w worrying, b bad, any other key gives none: ")
        if key in _VERDICT_KEYS:
            session.write(entry, "", f"review {_VERDICT_KEYS[key]}")
        return key not in ("q", "")
    return True


def _ask_about_event(session: _Session, entry: Entry, event: Event) -> bool:
    """Asks until the finding is judged or skipped. Returns whether to continue."""
    while True:
        key = _key("c confirm, d dispute, n note, s skip, q quit: ")
        if key in ("q", ""):
            return False
        if key in _KEYS:
            session.write(entry, _line("Why? (may be empty) "), _KEYS[key], event.id)
            session.judged += 1
            return True
        if key == "n" and (text := _line("Note: ")):
            session.write(entry, text, "", event.id)
        elif key == "s":
            return True


def _key(prompt: str) -> str:
    """A key in lower case; empty at the end of the input."""
    click.echo(prompt, nl=False)
    key = click.getchar() if sys.stdin.isatty() else sys.stdin.readline().strip()[:1]
    click.echo(printable(key))
    return key.lower()


def _line(prompt: str) -> str:
    click.echo(prompt, nl=False)
    text = sys.stdin.readline().strip()
    if not sys.stdin.isatty():
        click.echo(printable(text))
    return text


def _drawing(entry: Entry, event: Event, file: Path) -> Iterator[str]:
    """Lines that draw the metric of a finding (without one, the loss), from the points of the last build."""
    parts = [f for f in entry.diagnosis.findings if f.id in event.parts]
    finding = next((f for f in parts if f.start_step == event.step), next(iter(parts), None))
    losses = [str(row["metric"]) for row in entry.metrics if row["role"] == "loss"]
    metric = finding.metric if finding and finding.metric else next(iter(losses), "")
    points = pd.read_csv(file, keep_default_na=False, na_values=[""])  # a metric may be called NA
    points = points[points["metric"] == metric]
    if event.attempt in set(points["attempt"]):
        points = points[points["attempt"] == event.attempt]
    steps, values = points["step"].to_numpy(np.int64), points["value"].to_numpy(float)
    if event.step is None or not len(steps):
        return
    first = int(np.searchsorted(steps, event.step))
    last = int(np.searchsorted(steps, event.end_step if event.end_step is not None else steps[-1], "right"))
    margin = max(_CONTEXT_SAMPLES, last - first)
    part = slice(max(first - margin, 0), last + margin)
    yield from (f"     {line}" for line in sketch(steps[part], values[part], event.step))


def sketch(steps: Steps, values: Floats, onset_step: int) -> list[str]:
    """Lines that draw a curve in braille; each column reaches from its lowest to its highest sample.

    The line below the curve marks the onset with ▲, and columns with a value that is not finite with ×. The
    last line has the steps at both ends. If the values span more than a factor of 30, their logarithm is
    drawn. There are no lines if no value is finite.
    """
    finite = np.isfinite(values)
    if not finite.any() or steps[-1] <= steps[0]:
        return []
    low, high = float(values[finite].min()), float(values[finite].max())
    shown = np.where(finite, values, low)
    if low > 0 and high / low > _LOG_RATIO:
        shown = np.log(shown)
    dots = np.rint((shown - shown.min()) / (np.ptp(shown) or 1.0) * (4 * HEIGHT - 1)).astype(int)
    columns = ((steps - steps[0]) * (2 * WIDTH - 1) // (steps[-1] - steps[0])).astype(int)
    below = [" "] * WIDTH
    for column in columns[~finite]:
        below[column // 2] = "×"
    below[columns[min(int(np.searchsorted(steps, onset_step)), len(steps) - 1)] // 2] = "▲"
    labels = [level(high), *[""] * (HEIGHT - 2), level(low)]
    margin = max(map(len, labels))
    first, last = count(int(steps[0])), count(int(steps[-1]))
    rows = zip(labels, _cells(columns[finite], dots[finite]).tolist(), strict=True)
    return [
        *(f"{label:>{margin}} {''.join(chr(0x2800 + cell) for cell in cells)}" for label, cells in rows),
        f"{'':>{margin}} {''.join(below).rstrip()}",
        f"{'':>{margin}} {first}{last:>{WIDTH - len(first)}}",
    ]


def _cells(columns: Steps, dots: Steps) -> Steps:
    """The dots of each character, as offsets from the empty braille character. Neighbouring columns are
    connected, so that a steep rise is one line."""
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    column_of, low, high = columns[starts], *(f.reduceat(dots, starts) for f in (np.minimum, np.maximum))
    joined = np.flatnonzero(np.diff(column_of) == 1) + 1  # with a column directly to the left
    lowest, highest = low.copy(), high.copy()
    lowest[joined] = np.minimum(low[joined], high[joined - 1])
    highest[joined] = np.maximum(high[joined], low[joined - 1])
    cells = np.zeros((HEIGHT, WIDTH), dtype=np.int64)
    for column, first, last in zip(*(of.tolist() for of in (column_of, lowest, highest)), strict=True):
        for row in range(4 * HEIGHT - 1 - last, 4 * HEIGHT - first):
            cells[row // 4, column // 2] |= _DOTS[column % 2][row % 4]
    return cells
