"""The figures of a run (whole run, zooms into findings, thumbnail) and the data of its interactive view.

A run becomes a `Scene`, a `Plan` places its parts for one width, and a `Sheet` is the file, for both themes.
The data of the interactive view are a script, because a page that is opened from disk may not fetch. Its
numbers are one block of binary columns, compressed and in base64.
"""

from __future__ import annotations

import base64
import io
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from chronicle.errors import UsageError
from chronicle.figures.layout import Plan, Scene, preview_plan, thumbnail, whole_plan, zoom_plan
from chronicle.figures.scales import Panel, Segment, all_panels
from chronicle.figures.sheet import DARK, LIGHT, NARROW, THUMBNAIL, WIDE, Sheet, one_line
from chronicle.metrics.values import Axis, plural, with_unit
from chronicle.model import Diagnosis, Entry, Event, EventKind, Figure, Floats, Join, Timeline
from chronicle.story.restarts import lettered
from chronicle.timeline.axes import OnAxis, axis_of, on_axis
from chronicle.timeline.courses import step_ends

_WIDTHS = {"wide": WIDE, "narrow": NARROW}
_MOST_FINDINGS = 6  # findings in an alt text; the key below the figure has all of them
_MISSING_SHARE = 0.05  # of the log: if the drawn series end earlier than that, the caption says so
_NO_METRIC = "No metric to draw: the log holds no values."
Marked = Mapping[str, Event]  # the events of findings, by their marks
Axes = Mapping[str, OnAxis]


def draw(
    timeline: Timeline,
    diagnosis: Diagnosis,
    folder: Path,
    events: Sequence[Event],
    *,
    title: str,
    x: OnAxis | None = None,
    edge: float = math.inf,
) -> tuple[Figure, ...]:
    """Draws a run into ``folder`` as SVG; the texts of the figures use the words of its ``events``. With
    ``x``, the result of `chronicle.timeline.on_axis`, the whole run is drawn over that axis. Returns "whole",
    "finding-N" for the gravest findings (N is the mark of their event), "thumb", and "share", a PNG for link
    previews; for a run without any value only a "whole" that says so."""
    run = Scene(timeline, diagnosis, edge=edge)
    if not run.panels:
        blank = {variant: Sheet(width, 80) for variant, width in _WIDTHS.items()}
        for sheet in blank.values():
            sheet.write(_NO_METRIC, sheet.width / 2, 44, anchor="middle")
        return (Figure("whole", _written("whole", blank, folder), f"{one_line(title)}: {_NO_METRIC}"),)
    over = run if x is None else Scene(timeline, diagnosis, x, edge)
    over = over if over.panels else run
    marked = {event.mark: event for event in events if event.patterns}
    plans = {variant: whole_plan(over, width) for variant, width in _WIDTHS.items()}
    alt, caption = whole_alt(title, over, plans["wide"], marked), whole_caption(over, *plans.values())
    if x is not None and x.axis != "step":
        caption += f" The x axis counts {x.axis}s ({one_line(x.how)})."
    figures = [Figure("whole", _written("whole", plans, folder), alt, caption), *_zooms(run, folder, marked)]
    small, shared = thumbnail(run), preview_plan(over).paint()
    (folder / "thumb.svg").write_bytes(small.svg(THUMBNAIL, THUMBNAIL))
    (folder / "share.png").write_bytes(shared.png(2))
    width, height = shared.size
    figures.append(Figure("thumb", {"any": ("thumb.svg", *small.size)}, ""))
    figures.append(Figure("share", {"any": ("share.png", 2 * width, 2 * height)}, figures[0].alt))
    return tuple(figures)


def picture(
    timeline: Timeline, diagnosis: Diagnosis, mark: str = "", dark: bool = False, edge: float = math.inf
) -> bytes:
    """The figure of a run, or of the finding with this mark, as a PNG with two pixels per CSS pixel.
    Raises UsageError: there is nothing to draw, or no finding has this mark."""
    run = Scene(timeline, diagnosis, edge=edge)
    if not run.panels:
        raise UsageError(_NO_METRIC)
    numbered = {str(item.number): item for item in run.findings}
    if mark and mark not in numbered:
        remedy = f"name one of this run: {', '.join(numbered) or 'none'}"
        raise UsageError(f"no finding {mark!r}", remedy=remedy)
    plan = zoom_plan(run, numbered[mark], WIDE) if mark else whole_plan(run, WIDE)
    return plan.paint().png(2, DARK if dark else LIGHT)


def _zooms(run: Scene, folder: Path, marked: Marked) -> Iterator[Figure]:
    for item in run.zooms():
        name = f"finding-{item.number}"
        plans = {variant: zoom_plan(run, item, width) for variant, width in _WIDTHS.items()}
        plan = plans["wide"]
        shared = f"All panels have the same {plan.axis} axis. " if len(plan.curves) > 1 else ""
        as_whole = "Bands and numbers are those of the figure of the whole run."
        caption = shared + " ".join([as_whole, *_how_to_read(*plans.values())])
        yield Figure(name, _written(name, plans, folder), zoom_alt(item.number, marked, plan), caption)


def _written(name: str, plans: Mapping[str, Plan | Sheet], folder: Path) -> dict[str, tuple[str, int, int]]:
    files = {}
    for variant, plan in plans.items():
        file, sheet = f"{name}-{variant}.svg", plan.paint() if isinstance(plan, Plan) else plan
        (folder / file).write_bytes(sheet.svg())
        files[variant] = (file, *sheet.size)
    return files


def whole_alt(title: str, run: Scene, plan: Plan, marked: Marked) -> str:
    """``TITLE: loss over steps 0 to 100 000. 1 Fast-recovering spike: 2.52 → 3.88 at step 22 308; …``"""
    shown = [marked[str(item.number)] for item in run.findings[:_MOST_FINDINGS] if str(item.number) in marked]
    parts = [f"{event.mark} {event.title}: {event.short}" for event in shown]
    if more := len(run.findings) - len(parts):
        parts.append(plural(more, "more finding"))
    findings = f"{'; '.join(parts)}." if parts else "No findings."
    restarts = f" {plural(len(run.joins), 'restart')}." if run.joins else ""
    axis, marks = Axis(plan.axis), plan.faults.marks[:_MOST_FINDINGS]
    failed = "; ".join(f"{mark.words} at {axis.place(round(mark.step))}" for mark in marks)
    faults = f" Faults beside the curves: {failed}." if failed else ""
    return f"{one_line(title)}: {_shown(plan)}. {findings}{restarts}{faults}"


def whole_caption(run: Scene, *plans: Plan) -> str:
    """How to read the figure of the whole run; ``plans`` are those of its widths, the widest first."""
    over, axis, logged = "the whole run", Axis(plans[0].axis), step_ends(run.timeline.series.values())
    if logged is not None and logged[1] - run.last > _MISSING_SHARE * (logged[1] - logged[0]):
        seen, last = axis.place(round(run.first), round(run.last)), axis.place(logged[1])
        over = f"{seen}; other series go on to {last}"
    caption = " ".join([f"{_metrics(plans[0])} over {over}.", *_how_to_read(*plans)])
    if lesser := sum(not item.badge for item in run.findings):
        caption += f" {plural(lesser, 'lesser finding')} {'has' if lesser == 1 else 'have'} no number."
    return caption


def zoom_alt(number: int, marked: Marked, plan: Plan) -> str:
    """``Finding 2, Spike, not fully recovered: 2.26 → 4.17 at step 58 897. train/loss over steps …``"""
    event = marked.get(str(number))
    return f"Finding {number}, {f'{event.title}: {event.short}. ' if event else ''}{_shown(plan)}."


def _how_to_read(*plans: Plan) -> Iterator[str]:
    """Sentences about a figure, which has a plan for each of its widths, the widest first."""
    strokes = [[stroke for curves in plan.curves for stroke in curves.strokes] for plan in plans]
    is_shaded = [any(stroke.low is not None for stroke in drawn) for drawn in strokes]
    if is_shaded[0]:
        yield "Each pixel column shows its median, shaded from minimum to maximum."
    elif not any(is_shaded):
        yield "Every logged point is drawn."
    if any(curves.clips for curves in plans[0].curves):
        yield "A triangle marks where a curve leaves the panel, and the value that it reaches."
    if plans[0].faults.marks:
        yield "Crosses mark faults of machines and jobs, which are listed below."
    if any(not stroke.live for stroke in strokes[0]):
        yield "Grey dashed lines were discarded at a restart."


def _metrics(plan: Plan) -> str:
    names = [one_line(line.metric, 40) for curves in plan.curves for line in curves.panel.lines]
    return ", ".join(dict.fromkeys(names))


def _shown(plan: Plan) -> str:
    """``train/loss, train/lr over steps 0 to 100 000``"""
    parts = [segment for curves in plan.curves for segment in curves.panel.segments()]
    first = max(min(s.steps[0] for s in parts), plan.window[0])
    last = min(max(s.steps[-1] for s in parts), plan.window[1])
    return f"{_metrics(plan)} over {Axis(plan.axis).place(round(first), round(last))}"


MOST_POINTS = 200_000  # of all curves of a run together: about 1 MB
MOST_PANELS = 12
_FEWEST_POINTS = 2_000  # of a curve, however many curves there are
_SCRIPT_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def view_script(timeline: Timeline, entry: Entry, tokens_per_step: float = 0.0) -> str:
    """The script of a run, ``chronicleView({...})``, safe in any page, over every axis on which all attempts
    can be placed. Headline, facts and costs serve comparisons with other runs."""
    panels = all_panels(timeline, entry.diagnosis)[:MOST_PANELS]
    axes: dict[str, OnAxis] = {}
    for name in ("time", "tokens", "samples"):
        with suppress(UsageError):
            axes[name] = on_axis(timeline, name, tokens_per_step=tokens_per_step)
    block, names = _Block(), [attempt.name for attempt in timeline.attempts]
    joins = dict(lettered(entry.diagnosis))
    role_of = {track.metric: track.role.value for track in timeline.series.values()}
    most = max(_FEWEST_POINTS, MOST_POINTS // max(sum(len(panel.segments()) for panel in panels), 1))
    facts, events = (*entry.facts, *entry.costs), [event for event in entry.events if event.step is not None]
    view = {
        "title": entry.title,
        "verdict": entry.diagnosis.verdict.value,
        "headline": entry.headline,
        "facts": [[f.quantity, with_unit(f.value, f.unit)] for f in facts if f.value is not None],
        "axes": [{"name": "step", "unit": axis_of(timeline).noun}]
        + [{"name": name, "unit": f"{over.axis}s", "how": over.how} for name, over in axes.items()],
        "attempts": names,
        "panels": [_panel(panel, block, most, axes, role_of) for panel in panels],
        "events": [_event(event, joins.get(event.mark), names, axes) for event in events],
        "block": base64.b64encode(zlib.compress(block.getvalue(), 6)).decode(),
    }
    data = json.dumps(view, ensure_ascii=False, allow_nan=False)
    return f"chronicleView({data.translate(_SCRIPT_ESCAPES)});\n"


class _Block(io.BytesIO):
    """Columns of float64 and float32, one behind the other, each found by its place and length."""

    def add(self, column: Floats, kind: str) -> list[Any]:
        with np.errstate(over="ignore"):
            data = np.ascontiguousarray(column, dtype=np.dtype(f"<{kind}")).tobytes()
        place = self.tell()
        self.write(data + bytes(-len(data) % 8))
        return [kind, place, len(column)]


def _panel(panel: Panel, block: _Block, most: int, axes: Axes, role_of: Mapping[str, str]) -> dict[str, Any]:
    lines = []
    for line in panel.lines:
        parts = [_part(segment, block, most, axes) for segment in line.segments if len(segment.steps)]
        style = {"token": line.token, "dash": list(line.dash), "role": role_of.get(line.metric, "")}
        lines.append({"name": line.name, **style, "parts": parts})
    return {"name": panel.name, "unit": panel.unit or "", "role": panel.role.value, "lines": lines}


def _part(segment: Segment, block: _Block, most: int, axes: Axes) -> dict[str, Any]:
    rows = kept_rows(segment.values, most)
    sizes = np.abs(segment.finite())  # very large and very small numbers do not fit into float32
    fine = sizes.max(initial=0.0) > 1e30 or sizes[sizes > 0].min(initial=1.0) < 1e-30
    steps = segment.steps[rows]
    tables = {name: over.tables[segment.attempt] for name, over in axes.items()}
    places = {name: steps if table is None else table.at(steps) for name, table in tables.items()}
    return {
        "attempt": segment.attempt,
        "live": segment.live,
        "points": len(segment.steps),
        "x": {name: block.add(column, "d") for name, column in {"step": steps, **places}.items()},
        "y": block.add(segment.values[rows], "d" if fine else "f"),
    }


def kept_rows(values: Floats, most: int) -> Any:
    """Ascending indices (int64) of at most ``most`` + 3 samples: of each bucket the extremes and a NaN."""
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


def _event(event: Event, join: Join | None, names: Sequence[str], axes: Axes) -> dict[str, Any]:
    """``x`` is where the event begins and ends on each axis; ``left`` is where a run was before a restart."""
    attempt = names.index(event.attempt) if event.attempt in names else None
    begin = event.step or 0
    end = begin if event.end_step is None and event.kind is not EventKind.FINDING else event.end_step

    def place(name: str, of: int | None, at: int) -> float:
        return float(axes[name].place(of, at) if name in axes else at)

    fields = ("id", "kind", "mark", "title", "sentence", "verdict", "live")
    shown: dict[str, Any] = {name: getattr(event, name) for name in fields}
    every = ("step", *axes)
    # The end of a finding that is not over is None.
    x = {name: [at if at is None else place(name, attempt, at) for at in (begin, end)] for name in every}
    left = {"left": {name: place(name, join.before, join.from_step) for name in every}} if join else {}
    return {**shown, "verdict": event.verdict or "", "x": x, **left}
