"""The panels of a figure (the judged loss, and the metrics of the findings), their y ranges, ticks and panes.

A range shows most of the curve, without its first steps and without a single point at 1e30. It is logarithmic
where a linear one would show only the start of the curve or the peak of a finding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np
from matplotlib.ticker import MaxNLocator

from chronicle.classify.patterns import BY_ID
from chronicle.figures.sheet import HALF_CAPITAL_PX, Box, Sheet, one_line, text_px
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.by_values import measured_rows
from chronicle.metrics.names import COUNTERS, LOSSES, is_of_opponent, role_of
from chronicle.metrics.roles import SCORES, evaluations, shown_metric
from chronicle.metrics.values import Axis, count, level
from chronicle.model import Diagnosis, Finding, Floats, Mask, Role, Timeline, Track, cached_by_object
from chronicle.story.measured import finite_values

MOST_PANELS = 4
# Colour and dash of the lines of one panel; each line also has its name on it.
_STYLES: dict[str, tuple[float, ...]] = {"live": (), "second": (5, 1.6), "third": (1.2, 1.4)}
_STYLES |= {"ink2": (5, 1.4, 1, 1.4)}
_CONTEXT = (Role.GRAD_NORM, Role.LEARNING_RATE, Role.RATIO, Role.VALIDATION_LOSS, Role.THROUGHPUT)
_LARGEST = 1e290  # larger values would overflow when a margin is added


class Segment(NamedTuple):
    """Points of one attempt (its index), all live or all dead: ascending steps, both arrays float64[n]."""

    steps: Floats
    values: Floats
    live: bool
    attempt: int = 0

    def meets(self, first: float, last: float) -> bool:
        """Whether points may lie in [first, last]: a fast test that rules out most of many attempts."""
        return len(self.steps) > 0 and bool(self.steps[0] <= last and self.steps[-1] >= first)

    def inside(self, first: float, last: float, reach: int = 0) -> Segment:
        """The points in [first, last], as a view; ``reach`` adds so many neighbours on each side."""
        a, b = np.searchsorted(self.steps, first, "left"), np.searchsorted(self.steps, last, "right")
        rows = slice(0)  # none, if all points are on one side of the frame
        if a < b or 0 < a < len(self.steps):
            rows = slice(max(0, int(a) - reach), int(b) + reach)
        return self._replace(steps=self.steps[rows], values=self.values[rows])

    def finite(self) -> Floats:
        return finite_of(self.values)


class Line(NamedTuple):
    """One metric in a panel: the name on its line, its colour (a token) and its dash."""

    name: str
    metric: str
    segments: Sequence[Segment]
    token: str = "live"
    dash: tuple[float, ...] = ()


class Panel(NamedTuple):
    """Lines over one y axis; ``unit`` is None if none was declared."""

    name: str
    unit: str | None
    role: Role
    lines: Sequence[Line]

    def segments(self) -> list[Segment]:
        return [segment for line in self.lines for segment in line.segments]


def segments(track: Track, attempt: int | None = None) -> list[Segment]:
    """The track, or one attempt of it, cut where the attempt changes and where a later one overtook it."""
    parts = []
    for k in np.unique(track.attempt).tolist() if attempt is None else [attempt]:
        logged = track.attempt == k
        rows: Any = slice(None) if logged.all() else logged  # avoids a copy of a long log
        steps, values, live = track.steps[rows].astype(np.float64), track.values[rows], track.live[rows]
        if (too_large := (np.abs(values) > _LARGEST) & np.isfinite(values)).any():
            values = np.where(too_large, np.copysign(_LARGEST, values), values)
        measured = measured_rows(values, track.role)
        steps, values, live = steps[measured], values[measured], live[measured]
        for a, b in pairwise([0, *(np.flatnonzero(np.diff(live)) + 1), len(live)]):
            # A dead branch starts one sample before the cut, so that it visibly leaves the live line.
            part = slice(a if live[a] else max(0, a - 1), b)
            parts.append(Segment(steps[part], values[part], bool(live[a]), k))
    return parts


def run_panels(timeline: Timeline, diagnosis: Diagnosis) -> list[Panel]:
    """The judged metric, then at most two panels of other metrics that findings name or need; if there is
    room, a score of held-out data. Without a judged metric the first panel shows one that a finding names,
    or the longest track."""
    tracks = _drawable(timeline)
    named = [tracks[f.metric] for f in diagnosis.findings if f.metric in tracks]
    main = shown_metric(timeline.series.values())
    if main is None or not len(main):
        main = next(iter([*named, *_longest_first(tracks), *tracks.values()]), None)
    if main is None:
        return []
    first = _panel(_family(main, tracks, {track.metric for track in named}))
    drawn = {line.metric for line in first.lines}
    left = [part for part in _judged_parts(main, tracks) if part.metric not in drawn]
    beside = [[left[0], *(t for t in left[1:] if _fit_on_one_axis(left[0], t))]] if left else []
    shown = [first, *map(_panel, beside)]
    found = sorted(diagnosis.findings, key=lambda f: "explained_by" in f.evidence)
    more = [track for f in found for track in _named_or_needed(f, tracks)]
    more.sort(key=lambda track: track.role in {tracks[name].role for name in drawn})
    shown += islice(_others(more, shown), 3 - len(shown))
    score = (track for track in evaluations(tracks.values()) if track.role in SCORES)
    return [*shown, *islice(_others(islice(score, 1), shown), len(shown) < 3)]


def all_panels(timeline: Timeline, diagnosis: Diagnosis) -> list[Panel]:
    """The panels of the run, then, the longest first, those of all other metrics that count nothing."""
    first, others = run_panels(timeline, diagnosis), _longest_first(_drawable(timeline))
    return [*first, *_others((t for t in others if np.isfinite(t.values).sum() > 1), first)]


def _longest_first(tracks: dict[str, Track]) -> list[Track]:
    return sorted((t for t in tracks.values() if t.role not in COUNTERS), key=lambda t: -len(t))


def finding_panels(
    timeline: Timeline, first: Panel, findings: Sequence[Finding]
) -> tuple[list[Panel], list[Panel]]:
    """The panels beside the first one: the metrics that findings name or need, and their context."""
    tracks = _drawable(timeline)
    context = [track for role in _CONTEXT for track in _of_role(tracks, role)[:1]]
    needed = [*_others([t for f in findings for t in _named_or_needed(f, tracks)], [first])]
    return needed, [*_others(context, [first, *needed])]


def _family(main: Track, tracks: dict[str, Track], named: set[str]) -> list[Track]:
    """The main loss, and losses that fit on its axis: other judged parts, named by a finding, by data set,
    validation."""
    if main.role not in LOSSES:
        return [main]
    parts = [t for t in _judged_parts(main, tracks) if _fit_on_one_axis(main, t)]
    others = [t for t in tracks.values() if t is not main and t.role in LOSSES and _fit_on_one_axis(main, t)]
    spoken = [t for t in others if t.metric in named]
    sets = [t for t in others if t.role is Role.DATASET_LOSS and len(t) >= len(main) / 5]
    validation = [t for t in others if t.role is Role.VALIDATION_LOSS]
    validation = [t for t in validation if not any(map(t.is_curve_of, spoken))][:1]
    return list(dict.fromkeys([main, *parts, *spoken, *sets, *validation]))


def _judged_parts(main: Track, tracks: dict[str, Track]) -> list[Track]:
    """The other parts of a loss that has no total (generator and discriminator), first of the other side."""
    if main.role is not Role.LOSS or role_of(main.metric) is Role.LOSS:
        return []
    parts = [t for t in tracks.values() if t is not main and t.role in (Role.LOSS, Role.PART_LOSS)]
    parts = [t for t in parts if len(t) >= len(main) / 5]
    return sorted(parts, key=lambda t: is_of_opponent(t.metric) is is_of_opponent(main.metric))


def _fit_on_one_axis(*losses: Track) -> bool:
    known = (finite_of(track.values) for track in losses)
    lows, highs = zip(*(np.quantile(v, [0.25, 0.75]) if len(v) else (0.0, 0.0) for v in known), strict=True)
    return bool(min(lows) > 0 and max(highs) / max(min(lows), 1e-300) < 8)


def _named_or_needed(finding: Finding, tracks: dict[str, Track]) -> list[Track]:
    named = [tracks[finding.metric]] if finding.metric in tracks else []
    pattern = BY_ID[finding.pattern]
    needs = (role for role in pattern.needs if role is not Role.LOSS)
    needed = [track for role in needs for track in _of_role(tracks, role)[:1]]
    by_clock = not needed and pattern.instead == "times"
    return [*named, *(filter(len, map(_pace, named)) if by_clock else needed)]


@cached_by_object
def _pace(track: Track) -> Track:
    """The time from each point of a track to the next one of its attempt, for each of the steps between."""
    steps, seconds = np.diff(track.steps), np.diff(track.times)
    rows = np.flatnonzero((np.diff(track.attempt) == 0) & (steps > 0) & (seconds >= 0))
    pace = replace(track.pick(rows + 1), metric="time of a step", role=Role.STEP_TIME, unit="s", dataset="")
    return replace(pace, values=seconds[rows] / steps[rows])


def _of_role(tracks: dict[str, Track], role: Role) -> list[Track]:
    return sorted((t for t in tracks.values() if t.role is role), key=lambda t: (-len(t), len(t.metric)))


def _others(tracks: Iterable[Track], first: Sequence[Panel]) -> Iterator[Panel]:
    """A panel for each of the tracks that is in none of the ``first`` panels."""
    shown = {line.metric for panel in first for line in panel.lines}
    return map(_panel_of, dict.fromkeys(t for t in tracks if t.metric not in shown))


@cached_by_object  # the zooms of a run have panels in common
def _panel_of(track: Track) -> Panel:
    return _panel([track])


def _drawable(timeline: Timeline) -> dict[str, Track]:
    return {metric: track for metric, track in timeline.series.items() if len(track)}


def _panel(tracks: Sequence[Track]) -> Panel:
    names = _names(tracks := tracks[: len(_STYLES)])
    styled = zip(tracks, names, _STYLES.items(), strict=False)
    lines = [Line(one_line(name, 24), t.metric, segments(t), *style) for t, name, style in styled]
    return Panel(" · ".join([tracks[0].metric, *names[1:]]), tracks[0].unit, tracks[0].role, lines)


def _names(tracks: Sequence[Track]) -> list[str]:
    """Short names for the tracks of a panel: metrics without their common beginning, or data sets."""
    metrics = [t.metric for t in tracks]
    same = next((i for i, letters in enumerate(zip(*metrics, strict=False)) if len(set(letters)) > 1), 0)
    cut = max((i + 1 for i, c in enumerate(metrics[0][:same]) if c in "/._- "), default=0)
    return [t.metric[cut:] or t.metric if cut else t.dataset or t.metric for t in tracks]


SECONDS = "second"  # the name of an axis of wall clock, see chronicle.timeline.axes
RIGHT_PX = 22  # margin at the right of a pane
_TICK_PX, _PAD_PX = 4, 5
_START_SHARE = 0.04  # of the samples of an attempt, left out of its body because a loss begins high
_WITH_START = (Role.OBJECTIVE, Role.POLICY_ENTROPY, Role.EXPERT_LOAD)  # their beginning is of interest
_REACH_SPANS = 0.5  # everything is shown if nothing is further from the body, in spans of the body
_PEAK_SPANS, _PEAK_SPANS_LOG = 1.6, 3.0  # the peak of a finding is shown if it is no further above the body
# From this ratio of the largest to the smallest value on, an axis is logarithmic. It is never logarithmic for
# rewards and scores, because on a linear axis one sees that they end near 0.
_LOG_FROM_RATIO = dict.fromkeys((Role.GRAD_NORM, Role.LOSS_SCALE), 8.0)
_LOG_FROM_RATIO |= dict.fromkeys((Role.OBJECTIVE, *SCORES), math.inf)
_LOG_FROM_RATIO_ELSE = 1e3
# The same for the start of a curve, or the upper end of its body, over the middle of its body.
_LOG_FROM_MIDDLE = 10.0
_MOST_SAMPLED = 100_000  # values for a quantile; more do not move it by a pixel
_TICK_STEPS = (1, 2, 2.5, 5, 10)  # the distance between ticks is one of these times a power of ten
_LONGEST_TICK = 7  # characters that fit left of a panel
_LOW_PANEL_PX = 120  # a lower panel has fewer ticks
_CLOCK = (
    (1, "s", (1, 2, 5, 10, 20, 30)),
    (60, "min", (1, 2, 5, 10, 20, 30)),
    (3600, "h", (1, 2, 3, 6, 12)),
    (86_400, "d", (1, 2, 5, 10, 20, 50)),
)
Ticks = Sequence[tuple[float, str]]
Pair = tuple[float, float]
Number = TypeVar("Number", float, Floats)


class Window(NamedTuple):
    """The steps that a figure shows, and how wide in CSS pixels."""

    first: float
    last: float
    width: float

    def px(self, steps: Number) -> Number:
        """The distance of a step, or of each in an array, from the left edge of a panel."""
        return (steps - self.first) * (self.width / (self.last - self.first))

    def holds(self, steps: Floats) -> Mask:
        return (steps >= self.first) & (steps <= self.last)


class Scale(NamedTuple):
    """The ends of a y axis, and whether it is logarithmic (then both are positive)."""

    low: float
    high: float
    log: bool = False

    def share(self, values: Floats) -> Floats:
        """The places of values between the ends: 0 at the lower end, 1 at the upper end."""
        low, high = self.low, self.high
        if self.log:
            low, high, values = math.log(low), math.log(high), np.log(values)
        return np.asarray((values - low) / (high - low), np.float64)

    def beyond(self, share: float) -> float:
        """The value so many heights above the upper end, or below the lower end if negative."""
        end = self.high if share > 0 else self.low
        if self.log:
            return float(end * (self.high / self.low) ** share)
        return end + share * (self.high - self.low)


def y_scale(
    parts: Sequence[Segment],
    role: Role,
    peaks: Sequence[float] = (),
    all_values: bool = False,
    start: float = -math.inf,
) -> Scale:
    """The range of a panel of the whole run: its body, the peaks of findings that are near enough, and the
    ``start`` that a finding tells of, if it is far above. With ``all_values``, as in a zoom, every value
    counts. The axis of a learning rate starts at 0."""
    known = finite_values(segment.values for segment in parts)
    if not len(known):
        return Scale(0, 1)
    lowest, highest = float(known.min()), float(known.max())
    if role is Role.LEARNING_RATE and lowest >= 0:
        return _widened(0, highest * 1.12)
    low, high = lowest, highest
    ratio, middle = _LOG_FROM_RATIO.get(role, _LOG_FROM_RATIO_ELSE), float(np.median(known))
    far = _LOG_FROM_MIDDLE * middle if middle > 0 and ratio < math.inf else math.inf
    if not all_values and role not in _WITH_START:
        later = (s.values[len(s.values) // int(1 / _START_SHARE) :] for s in parts)
        body = finite_values(values[:: 1 + len(values) // _MOST_SAMPLED] for values in later)
        low, high = map(float, np.quantile(body if len(body) else known, (0.002, 0.985)))
        high = max(high, start) if start > far else high
    is_wide = low > 1e-290 and (high > far or max([high, *_on_log_axis(peaks, low, high)]) / low > ratio)
    if log := is_wide and lowest > 0:
        low, high, lowest, highest = (math.log10(value) for value in (low, high, lowest, highest))
        peaks = [math.log10(p) for p in peaks if p > 0]
    span = _span(low, high)
    top, bottom = highest + 0.1 * span, lowest - 0.1 * span
    if highest > high + _REACH_SPANS * span:
        reach = _PEAK_SPANS_LOG if log else _PEAK_SPANS
        near = [p + 0.08 * span for p in peaks if p < high + reach * span]
        top = min(top, max([high + 0.18 * span, *near]))
    if lowest < low - _REACH_SPANS * span:
        bottom = low - 0.18 * span
    return _widened(bottom, max(top, high), log)


def _on_log_axis(peaks: Sequence[float], low: float, high: float) -> list[float]:
    """The peaks that a logarithmic axis of a body from ``low`` to ``high``, both positive, would show."""
    furthest_log = math.log(high) + _PEAK_SPANS_LOG * math.log(high / low)
    return [peak for peak in peaks if peak > 0 and math.log(peak) < furthest_log]


_NOTHING = 1e-12  # values that are all as small as this are zeros, on an axis from -0.5 to 0.5


def _span(low: float, high: float) -> float:
    return max(high - low, 1e-4 * max(abs(low), abs(high)), _NOTHING)


def _widened(low: float, high: float, log: bool = False) -> Scale:
    if log:
        return Scale(float(10 ** max(low, -300)), float(10 ** min(high, 300)), True)
    if high - low >= _span(low, high):
        return Scale(float(low), float(high))
    margin = 0.04 * abs(high) if max(abs(low), abs(high)) > _NOTHING else 0.5
    return Scale(low - margin, high + margin)


def time_ticks(first: float, last: float, most: int) -> Ticks:
    """Ticks at whole minutes, hours or days in [first, last], in seconds: ``12 h``, ``3 d``."""
    strides = [(n, size, unit) for size, unit, numbers in _CLOCK for n in numbers]
    n, size, unit = next((s for s in strides if (last - first) / (s[0] * s[1]) <= most), strides[-1])
    stride = n * size * max(1, math.ceil((last - first) / (n * size * most)))
    places = [k * stride for k in range(math.ceil(first / stride), math.floor(last / stride) + 1)]
    return [(float(at), f"{count(at / size)} {unit}" if at else "0") for at in places]


def value_ticks(scale: Scale, height_px: float) -> Ticks:
    """The ticks of a y axis: ``0.1``, ``100``; ``1e-6`` on a logarithmic one."""
    if scale.log and scale.high >= 10 * scale.low:
        return [(at, _decade(at)) for at in log_ticks(scale.low, scale.high)]
    if scale.log:
        places = log_ticks(scale.low, scale.high)
        return list(zip(places, value_labels(places), strict=True))
    places = round_places(scale.low, scale.high, 5 if height_px > _LOW_PANEL_PX else 3)
    return list(zip(places, value_labels(places), strict=True))


def round_places(first: float, last: float, most: int, integers: bool = False) -> list[float]:
    """About ``most``, but at least three, round values in [first, last]; on request only whole numbers."""
    least = 1 if integers and last - first < 3 else 3
    locator = MaxNLocator(most, steps=_TICK_STEPS, integer=integers, min_n_ticks=least)
    return [float(place) for place in locator.tick_values(first, last) if first <= place <= last]


def _decade(value: float) -> str:
    if not 1e-3 <= value < 1e5:
        return power(value, 0)
    return count(value) if value >= 1e3 else f"{value:g}"


def step_labels(ticks: Sequence[float]) -> list[str]:
    """Labels of steps: ``15 k``, ``1.2 M``, ``250 B``; in full if short labels would not differ."""
    largest = max(map(abs, ticks), default=0)
    for size, unit, least in ((1e9, " B", 1e10), (1e6, " M", 1e6), (1e3, " k", 1e4)):
        shown = [f"{tick / size:g}{unit}" if tick else "0" for tick in ticks]
        if largest >= least and len(set(shown)) == len(ticks) and max(map(len, shown)) <= _LONGEST_TICK:
            return shown
    return [count(tick).replace("-", "−") for tick in ticks]


def value_labels(ticks: Sequence[float]) -> list[str]:
    """Labels of values, with as many digits as are needed to tell them apart: ``2.05``, ``1.5e−4``."""
    largest = max(map(abs, ticks), default=0)
    if not ticks:
        return []
    for form in (f".{n}f" for n in range(6)) if 1e-3 <= largest < 1e6 or not largest else ():
        texts = [count(tick) if form == ".0f" else f"{tick:{form}}" for tick in ticks]
        if max(map(len, texts)) <= _LONGEST_TICK and _exact(form, ticks):
            return [text.replace("-", "−") for text in texts]
    digits = next((n for n in range(4) if _exact(f".{n}e", ticks)), 4)
    return [power(tick, digits) for tick in ticks]


def log_ticks(low: float, high: float) -> list[float]:
    """The ticks of a logarithmic axis: at most five whole decades, or values between them if they are few, or
    round values if even these are."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first >= 2:
        stride = -(-(last - first + 1) // 5)
        return [10.0**power for power in range(-(-first // stride) * stride, last + 1, stride)]
    leads = (1, 2, 5) if high / low < 50 else (1, 3)
    ticks = [lead * 10.0**power for power in range(first - 1, last + 1) for lead in leads]
    shown = [tick for tick in ticks if low <= tick <= high]
    return shown if len(shown) > 1 else round_places(low, high, 4)


def true_value(value: float) -> str:
    """The words for a value that lies beyond the frame."""
    return level(value) if 1e-3 <= abs(value) < 1e5 or not value else power(value, 2)


def power(value: float, digits: int) -> str:
    """A value with its power of ten: ``1.5e−4``."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}".replace("-", "−")


def _exact(form: str, ticks: Sequence[float]) -> bool:
    gap = min((b - a for a, b in pairwise(ticks) if b > a), default=max(map(abs, ticks), default=1))
    return all(abs(float(f"{tick:{form}}") - tick) <= 0.01 * gap for tick in ticks)


class Pane(NamedTuple):
    """A frame on a sheet. Without a y axis (``scale``), values are shares of the height above the foot."""

    sheet: Sheet
    left: float
    top: float
    height: float
    window: Window
    scale: Scale | None = None

    @property
    def foot(self) -> float:
        return self.top + self.height

    @property
    def right(self) -> float:
        return self.left + self.window.width

    @property
    def box(self) -> Box:
        return self.left, self.top, self.window.width, self.height

    def x(self, steps: Number) -> Number:
        return self.left + self.window.px(steps)

    def y(self, values: Floats) -> Floats:
        shares = self.scale.share(values) if self.scale else values
        return np.asarray(self.foot - shares * self.height, np.float64)

    def uprights(self, steps: Sequence[float], px: float, z: float, **style: object) -> None:
        x = self.x(np.asarray(steps, np.float64))[:, None]
        self.sheet.lines(x, np.array([[self.top, self.foot]]), "ink2", z, px, **style)

    def paint_values(self, ticks: Ticks) -> None:
        self.sheet.line([self.left] * 2, [self.top, self.foot], "line", 2.6)
        heights = self.y(np.array([value for value, _ in ticks]))
        self.sheet.lines(np.array([[self.left, self.right]]), heights[:, None], "grid", 0.5)
        for y, (_, label) in zip(heights, ticks, strict=True):
            self.sheet.mark(label, self.left - _PAD_PX, y, anchor="end")

    def paint_steps(self, axis: str = "", most_ticks: int = 0) -> None:
        """The line at the foot; with ``axis``, also ticks with their labels, and what they count."""
        self.sheet.line([self.left, self.right], [self.foot] * 2, "line", 2.6)
        if not axis:
            return
        first, last, _ = self.window
        if axis == SECONDS:
            ticks = time_ticks(first, last, most_ticks)
        else:
            size, axis = Axis(axis).sized(last)
            steps = round_places(first / size, last / size, most_ticks, integers=size == 1)
            ticks = [(step * size, label) for step, label in zip(steps, step_labels(steps), strict=True)]
        places = self.x(np.array([step for step, _ in ticks]))
        self.sheet.lines(places[:, None], np.array([[self.foot, self.foot + _TICK_PX]]), "ink2", 2.7)
        for x, (_, label) in zip(places, ticks, strict=True):
            if self.right + RIGHT_PX - 2 - x >= text_px(label) / 2:  # else the edge would cut it
                place = x, self.foot + _TICK_PX + _PAD_PX + 2 * HALF_CAPITAL_PX
                self.sheet.write(label, *place, anchor="middle")
        words = "wall clock" if axis == SECONDS else axis
        self.sheet.write(words, self.right, self.foot + 24 + 2 * HALF_CAPITAL_PX, anchor="end")
