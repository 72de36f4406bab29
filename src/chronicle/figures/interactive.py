"""The data of a run's interactive view: a script that hands numbers, axes and events to assets/view.js.

A page that is opened from disk may not fetch, so the data are a script. Numbers are one block of binary
columns, compressed and in base64; a browser unpacks it with what it has. Of a long run each bucket of samples
keeps its lowest and its highest one, and its first that is no number: no spike of one sample is lost.
"""

from __future__ import annotations

import base64
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chronicle.classify.restarts import lettered
from chronicle.errors import UsageError
from chronicle.figures.panels import Panel, Segment, all_panels
from chronicle.metrics.values import with_unit
from chronicle.model import Diagnosis, Event, EventKind, Fact, Floats, Join, Timeline
from chronicle.timeline.axes import OnAxis, on_axis

MOST_POINTS = 200_000  # of a run, over all of its curves: about 1 MB
MOST_PANELS = 12
_FEWEST = 2_000  # points that a curve keeps, however many there are
_OTHER_AXES = ("time", "tokens", "samples")
_SAFE = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def view_script(
    timeline: Timeline,
    diagnosis: Diagnosis,
    events: Sequence[Event],
    *,
    title: str,
    headline: str = "",
    facts: Sequence[Fact] = (),
    tokens_per_step: float = 0.0,
) -> str:
    """The script of a run: ``chronicleView({...})``, safe inside of any page and the same for the same run.

    Panels are those of the figure of the run first, then the other metrics; an axis is there if every attempt
    can be put on it. ``headline`` and ``facts`` are for a comparison with other runs.
    """
    panels = all_panels(timeline, diagnosis)[:MOST_PANELS]
    axes = dict(_axes(timeline, tokens_per_step))
    block = _Block()
    parts = sum(len(line.segments) for panel in panels for line in panel.lines)
    most = max(_FEWEST, MOST_POINTS // max(parts, 1))
    names = [attempt.name for attempt in timeline.attempts]
    joins = dict(lettered(diagnosis))
    view = {
        "title": title,
        "verdict": diagnosis.verdict.value,
        "headline": headline,
        "facts": [[f.quantity, with_unit(f.value, f.unit)] for f in facts if f.value is not None],
        "axes": [{"name": "step", "unit": timeline.attempts[0].axis if timeline.attempts else "step"}]
        + [{"name": name, "unit": f"{over.axis}s", "how": over.how} for name, over in axes.items()],
        "attempts": names,
        "panels": [_panel(panel, block, most, axes) for panel in panels],
        "events": [
            _event(event, joins.get(event.mark), names, axes) for event in events if event.step is not None
        ],
        "block": base64.b64encode(zlib.compress(block.getvalue(), 6)).decode(),
    }
    return f"chronicleView({json.dumps(view, ensure_ascii=False, allow_nan=False).translate(_SAFE)});\n"


class _Block(io.BytesIO):
    """Columns of float64 and float32, one behind the other; each is told by its place and length."""

    def add(self, column: Floats, kind: str) -> list[Any]:
        """``[kind, first byte, length]`` of a column that was added; "d" is float64, "f" float32."""
        with np.errstate(over="ignore"):
            data = np.ascontiguousarray(column, dtype=np.dtype(f"<{kind}")).tobytes()
        place = self.tell()
        self.write(data + bytes(-len(data) % 8))
        return [kind, place, len(column)]


def _axes(timeline: Timeline, tokens_per_step: float) -> Iterator[tuple[str, OnAxis]]:
    for name in _OTHER_AXES:
        try:
            yield name, on_axis(timeline, name, tokens_per_step=tokens_per_step)
        except UsageError:
            continue


def _panel(panel: Panel, block: _Block, most: int, axes: Mapping[str, OnAxis]) -> dict[str, Any]:
    lines = [
        {
            "name": line.name,
            "token": line.token,
            "dash": list(line.dash),
            "parts": [_part(segment, block, most, axes) for segment in line.segments if len(segment.steps)],
        }
        for line in panel.lines
    ]
    return {"name": panel.name, "unit": panel.unit or "", "role": panel.role.value, "lines": lines}


def _part(segment: Segment, block: _Block, most: int, axes: Mapping[str, OnAxis]) -> dict[str, Any]:
    rows = kept_rows(segment.values, most)
    sizes = np.abs(segment.finite())  # of which float32 would lose more than what a figure shows
    fine = bool(len(sizes)) and (sizes.max() > 1e30 or 0 < sizes[sizes > 0].min(initial=1.0) < 1e-30)
    steps, attempt = segment.steps[rows], segment.attempt
    places = {"step": steps}
    for name, over in axes.items():
        table = over.tables[attempt]
        places[name] = steps if table is None else table.at(steps)
    return {
        "attempt": attempt,
        "live": segment.live,
        "points": len(segment.steps),
        "x": {name: block.add(column, "d") for name, column in places.items()},
        "y": block.add(segment.values[rows], "d" if fine else "f"),
    }


def kept_rows(values: Floats, most: int) -> Any:
    """The rows that are kept of n samples: all, or of each bucket the lowest, the highest, the first NaN.

    Ascending indices (int64), at most ``most`` and three more; the first and the last sample are among them.
    """
    n = len(values)
    if n <= most:
        return np.arange(n)
    size = -(-3 * n // most)
    padded = np.full(-(-n // size) * size, np.nan)
    padded[:n] = values
    buckets = padded.reshape(-1, size)
    finite = np.isfinite(buckets)
    low = np.where(finite, buckets, np.inf).argmin(axis=1)
    high = np.where(finite, buckets, -np.inf).argmax(axis=1)
    bad = np.where(finite.all(axis=1), low, (~finite).argmax(axis=1))
    first = np.arange(len(buckets)) * size
    rows = np.concatenate([first + low, first + high, first + bad, [0, n - 1]])
    return np.unique(rows[rows < n])


def _event(
    event: Event, join: Join | None, names: Sequence[str], axes: Mapping[str, OnAxis]
) -> dict[str, Any]:
    """``left`` is where a restart happened, on each axis; ``x`` is where the run then went on."""
    attempt = names.index(event.attempt) if event.attempt in names else None
    begin = event.step or 0
    ends = begin, begin if event.end_step is None else event.end_step
    is_open = event.kind is EventKind.FINDING and event.end_step is None

    def place(name: str, of: int | None, at: int) -> float:
        return float(axes[name].place(of, at) if name in axes else at)

    def places(name: str) -> list[float | None]:
        first, last = (place(name, attempt, at) for at in ends)
        return [first, None if is_open else last]

    every = ("step", *axes)
    left = {name: place(name, join.before, join.from_step) for name in every} if join else None
    return {
        "id": event.id,
        "kind": event.kind.value,
        "mark": event.mark,
        "title": event.title,
        "sentence": event.sentence,
        "verdict": event.verdict.value if event.verdict else "",
        "live": event.live,
        "x": {name: places(name) for name in every},
    } | ({"left": left} if left else {})
