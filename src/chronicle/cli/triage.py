"""`chronicle triage`: the findings that nobody has reviewed, each described, drawn and answered by a key."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click
import numpy as np
import pandas as pd

from chronicle.build.produce import POINTS, last_entries
from chronicle.cli.terminal import badge, event_lines, printable
from chronicle.metrics.values import count, level, plural
from chronicle.model import Entry, Event, EventKind, Floats, Note, Steps, Verdict
from chronicle.story import gravest
from chronicle.workspace.folders import Workspace
from chronicle.workspace.notes import STANCES, iso_time, last_review, write_note

WIDTH, HEIGHT = 72, 6  # of a drawing, in characters: two by four dots each
_AROUND_SAMPLES = 60  # shown before and after a finding, at least
_LOG_RATIO = 30.0  # values that span more than this are drawn over their logarithm
_KEYS = {"c": STANCES[0], "d": STANCES[1]}
_VERDICT_KEYS = {verdict.value[0]: verdict for verdict in Verdict}
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # of a braille character, left and right


@dataclass
class _Answers:
    workspace: Workspace
    author: str
    judged: int = 0

    def write(self, entry: Entry, text: str, kind: str, event: str = "") -> None:
        file = self.workspace.run(entry.run_id).notes_file
        assert file is not None  # runs of a workspace have a folder
        write_note(file, Note(text, iso_time(None), kind, None, self.author, event))


def go_through(workspace: Workspace, run_ids: Sequence[str], author: str) -> None:
    """Asks for every finding that `unjudged` lists, and writes the answers to the notes of its run.

    Keys come from the terminal, or one by one from standard input where that is none; its end quits.

    Raises:
        UsageError: a run that the workspace does not have.
        NothingToRead: none of the runs was built.
    """
    chosen = [workspace.run(run_id) for run_id in run_ids] or workspace.runs()
    worst_first = sorted(last_entries(workspace.root, chosen), key=lambda entry: -entry.verdict.rank)
    waiting = [(entry, unjudged(entry, workspace.run(entry.run_id).notes)) for entry in worst_first]
    waiting = [(entry, events) for entry, events in waiting if events]
    answers = _Answers(workspace, author)
    for entry, events in waiting:
        if not _ask_run(answers, entry, events):
            break
    left = sum(len(unjudged(entry, workspace.run(entry.run_id).notes)) for entry, _ in waiting)
    summary = f"{plural(answers.judged, 'finding')} judged, {count(left)} left."
    if not waiting:
        summary = "Nothing is left to judge."
    click.echo(f"{summary} Next: chronicle build" if answers.judged else summary)


def unjudged(entry: Entry, notes: Sequence[Note]) -> list[Event]:
    """The findings that make a run worse than good and that nobody confirmed or disputed, the gravest first.
    A run that a person has reviewed as a whole has none."""
    if last_review(notes) is not None:
        return []
    answered = {note.event for note in notes if note.kind in STANCES}
    findings = [e for e in gravest(entry.events, entry.verdict) if e.kind is EventKind.FINDING and e.live]
    return [e for e in findings if e.verdict is not Verdict.GOOD and answered.isdisjoint((e.id, *e.also))]


def _ask_run(answers: _Answers, entry: Entry, events: Sequence[Event]) -> bool:
    """Asks for the findings of one run, then for its verdict; whether to go on with the next run."""
    click.echo(f"\n{click.style(printable(entry.run_id), bold=True)}  {badge(entry.verdict, entry.badge)}")
    judged_before = answers.judged
    for event in events:
        click.echo("\n".join([*event_lines(event), *_drawn(answers.workspace, entry, event)]))
        if not _ask_event(answers, entry, event):
            return False
    if answers.judged > judged_before:
        key = _key("Verdict of the run? g good, u unexpected, w worrying, b bad, any other key leaves it: ")
        if key in _VERDICT_KEYS:
            answers.write(entry, "", f"review {_VERDICT_KEYS[key]}")
        return key not in ("q", "")
    return True


def _ask_event(answers: _Answers, entry: Entry, event: Event) -> bool:
    while True:
        key = _key("c confirm, d dispute, n note, s skip, q quit: ")
        if key in ("q", ""):
            return False
        if key in _KEYS:
            answers.write(entry, _line("Why? (may be empty) "), _KEYS[key], event.id)
            answers.judged += 1
            return True
        if key == "n" and (text := _line("Note: ")):
            answers.write(entry, text, "", event.id)
        elif key == "s":
            return True


def _key(prompt: str) -> str:
    """One key; empty at the end of the input."""
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


def _drawn(workspace: Workspace, entry: Entry, event: Event) -> Iterator[str]:
    """The loss around a finding, or the series that it speaks of, as far as the last build kept it."""
    parts = [f for f in entry.diagnosis.findings if f.id in event.parts]
    finding = next((f for f in parts if f.start_step == event.step), next(iter(parts), None))
    losses = [str(row["metric"]) for row in entry.metrics if row["role"] == "loss"]
    metric = finding.metric if finding and finding.metric else next(iter(losses), "")
    points = pd.read_csv(workspace.root / "build" / "entries" / entry.run_id / POINTS)
    points = points[points["metric"] == metric]
    if event.attempt in set(points["attempt"]):
        points = points[points["attempt"] == event.attempt]
    steps, values = points["step"].to_numpy(np.int64), points["value"].to_numpy(float)
    if event.step is None or not len(steps):
        return
    first = int(np.searchsorted(steps, event.step))
    last = int(np.searchsorted(steps, event.end_step if event.end_step is not None else steps[-1], "right"))
    margin = max(_AROUND_SAMPLES, last - first)
    part = slice(max(first - margin, 0), last + margin)
    yield from (f"     {line}" for line in sketch(steps[part], values[part], event.step))


def sketch(steps: Steps, values: Floats, onset_step: int) -> list[str]:
    """A curve in braille characters: each column spans from the lowest to the highest of its samples.

    The line below marks the onset with ▲ and columns that hold a value that is not finite with ×; the last
    line has the steps at both ends. Values that span more than a factor of 30 are drawn over their
    logarithm. No lines where there is nothing finite to draw.
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
    marks = [" "] * WIDTH
    for column in columns[~finite]:
        marks[column // 2] = "×"
    marks[columns[min(int(np.searchsorted(steps, onset_step)), len(steps) - 1)] // 2] = "▲"
    names = [level(high), *[""] * (HEIGHT - 2), level(low)]
    margin = max(map(len, names))
    first, last = count(int(steps[0])), count(int(steps[-1]))
    rows = zip(names, _cells(columns[finite], dots[finite]).tolist(), strict=True)
    return [
        *(f"{name:>{margin}} {''.join(chr(0x2800 + cell) for cell in cells)}" for name, cells in rows),
        f"{'':>{margin}} {''.join(marks).rstrip()}",
        f"{'':>{margin}} {first}{last:>{WIDTH - len(first)}}",
    ]


def _cells(columns: Steps, dots: Steps) -> Steps:
    """The dots of each character, as offsets from the empty one; a steep rise is one line."""
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    column_of, low, high = columns[starts], *(f.reduceat(dots, starts) for f in (np.minimum, np.maximum))
    joined = (
        np.flatnonzero(np.diff(column_of) == 1) + 1
    )  # columns right of another one reach up or down to it
    lowest, highest = low.copy(), high.copy()
    lowest[joined] = np.minimum(low[joined], high[joined - 1])
    highest[joined] = np.maximum(high[joined], low[joined - 1])
    cells = np.zeros((HEIGHT, WIDTH), dtype=np.int64)
    for column, first, last in zip(*(of.tolist() for of in (column_of, lowest, highest)), strict=True):
        for row in range(4 * HEIGHT - 1 - last, 4 * HEIGHT - first):
            cells[row // 4, column // 2] |= _DOTS[column % 2][row % 4]
    return cells
