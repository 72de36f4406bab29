"""Which metrics a figure shows, as panels of lines: the judged loss, and what the findings speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.classify.patterns import BY_ID
from chronicle.classify.restarts import drawn, gravest, lettered, numbered
from chronicle.figures.annotations import MOST_BADGES, Bar, Occurrence, bars
from chronicle.figures.style import literal
from chronicle.metrics.counters import median_gap
from chronicle.metrics.judged import shown_loss
from chronicle.model import Diagnosis, Finding, Floats, Join, Role, Timeline, Track, Verdict
from chronicle.timeline.axes import OnAxis

MOST_PANELS = 4
# Colour and dash of the lines of one panel: two data sets differ by both, and by a name on the line.
_STYLES: Sequence[tuple[str, tuple[float, ...]]] = (
    ("live", ()),
    ("second", (5, 1.6)),
    ("third", (1.2, 1.4)),
    ("ink2", (5, 1.4, 1, 1.4)),
)
_LOSSES = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
_COUNTERS = (Role.TOKENS, Role.SAMPLES, Role.EPOCH)
_CONTEXT = (Role.GRAD_NORM, Role.LEARNING_RATE, Role.RATIO, Role.VALIDATION_LOSS, Role.THROUGHPUT)
_MOST_CUTS = 8  # an attempt whose points are overtaken one by one is drawn as two curves, not as crumbs
_LARGEST = 1e290  # what is beyond would overflow when a margin is added


@dataclass(frozen=True, eq=False)
class Segment:
    """Points of one attempt that are all live or all dead: ascending steps, both arrays float64[n]."""

    steps: Floats
    values: Floats
    live: bool

    def inside(self, first: float, last: float, reach: int = 0) -> Segment:
        """The points in [first, last], a view and maybe empty.

        With ``reach`` also so many neighbours on each side, so that a curve reaches the frame.
        """
        a, b = np.searchsorted(self.steps, first, "left"), np.searchsorted(self.steps, last, "right")
        if a < b or 0 < a < len(self.steps):  # else all points are on one side of the frame
            rows = slice(max(0, int(a) - reach), int(b) + reach)
            return Segment(self.steps[rows], self.values[rows], self.live)
        return Segment(self.steps[:0], self.values[:0], self.live)

    def finite(self) -> Floats:
        """The values that are numbers."""
        return self.values[np.isfinite(self.values)]


@dataclass(frozen=True, eq=False)
class Line:
    """One metric in a panel: how it is called on the line, and its colour (a token) and dash."""

    name: str
    metric: str
    segments: Sequence[Segment]
    token: str = "live"
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines over one y axis; ``unit`` is None where nobody declared one."""

    name: str
    unit: str | None
    role: Role
    lines: Sequence[Line]

    @property
    def metrics(self) -> set[str]:
        """The metrics that the panel shows."""
        return {line.metric for line in self.lines}

    def segments(self) -> list[Segment]:
        """All segments of all lines."""
        return [segment for line in self.lines for segment in line.segments]

    def points(self, first: float, last: float) -> int:
        """Finite points in [first, last]."""
        return sum(len(s.inside(first, last).finite()) for s in self.segments())


def segments(track: Track, attempt: int | None = None) -> list[Segment]:
    """The track (or one attempt of it) cut where the attempt changes and where a later one overtook it."""
    which = np.unique(track.attempt) if attempt is None else [attempt]
    return [part for k in which for part in _of_attempt(track, track.attempt == k) if len(part.steps)]


def _of_attempt(track: Track, logged: NDArray[np.bool_]) -> Iterator[Segment]:
    rows: Any = slice(None) if logged.all() else logged  # a long log is not copied for nothing
    steps, values, live = track.steps[rows].astype(np.float64), track.values[rows], track.live[rows]
    if (np.diff(steps) < 0).any():
        order = np.argsort(steps, kind="stable")
        steps, values, live = steps[order], values[order], live[order]
    if (too_large := (np.abs(values) > _LARGEST) & np.isfinite(values)).any():
        values = np.where(too_large, np.copysign(_LARGEST, values), values)
    cuts = np.flatnonzero(np.diff(live)) + 1
    if len(cuts) > _MOST_CUTS:
        yield Segment(steps[~live], values[~live], False)
        yield Segment(steps[live], values[live], True)
        return
    for a, b in zip([0, *cuts], [*cuts, len(live)], strict=True):
        # A dead branch starts one sample before the cut: it is seen to leave the live line.
        part = slice(a if live[a] else max(0, a - 1), b)
        yield Segment(steps[part], values[part], bool(live[a]))


def run_panels(timeline: Timeline, diagnosis: Diagnosis) -> list[Panel]:
    """The judged loss, then at most two panels of other metrics that findings speak of or need.

    Without a loss the first panel shows what findings speak of, or the longest track.
    """
    tracks = _drawable(timeline)
    named = [tracks[f.metric] for f in diagnosis.findings if f.metric in tracks]
    main = shown_loss(timeline.series.values())
    if main is None or not len(main):
        rest = sorted((t for t in tracks.values() if t.role not in _COUNTERS), key=lambda t: -len(t))
        main = next(iter([*named, *rest, *tracks.values()]), None)
    if main is None:
        return []
    first = _panel(_family(main, tracks, {track.metric for track in named}))
    more = [track for f in diagnosis.findings for track in _spoken_of(f, tracks)]
    return [first, *_single(more, first.metrics, {})][:3]


def finding_panels(
    timeline: Timeline, first: Panel, finding: Finding, single: dict[str, Panel]
) -> Iterator[Panel]:
    """The first panel, then what the finding speaks of, then its context; as many as there are.

    ``single`` keeps the panels of single metrics from one finding to the next.
    """
    tracks = _drawable(timeline)
    context = [track for role in _CONTEXT for track in _of_role(tracks, role)[:1]]
    yield first
    yield from _single([*_spoken_of(finding, tracks), *context], first.metrics, single)


def _family(main: Track, tracks: dict[str, Track], named: set[str]) -> list[Track]:
    """The main loss, and those losses that share its axis: by data set, named by a finding, validation."""
    if main.role not in _LOSSES:
        return [main]
    others = [t for t in tracks.values() if t is not main and t.role in _LOSSES and _comparable(main, t)]
    spoken = [t for t in others if t.metric in named]
    sets = [t for t in others if t.role is Role.DATASET_LOSS and len(t) >= len(main) / 5]
    validation = [t for t in others if t.role is Role.VALIDATION_LOSS][:1]
    family = {t.metric: t for t in [main, *spoken, *sets, *validation]}
    return list(family.values())[: len(_STYLES)]


def _comparable(one: Track, other: Track) -> bool:
    """Whether the bodies of two losses fit on one axis."""
    known = (track.values[np.isfinite(track.values)] for track in (one, other))
    lows, highs = zip(*(np.quantile(v, [0.25, 0.75]) if len(v) else (0.0, 0.0) for v in known), strict=True)
    return bool(min(lows) > 0 and max(highs) / max(min(lows), 1e-300) < 8)


def _spoken_of(finding: Finding, tracks: dict[str, Track]) -> list[Track]:
    named = [tracks[finding.metric]] if finding.metric in tracks else []
    roles = [role for role in BY_ID[finding.pattern].needs if role is not Role.LOSS]
    return named + [track for role in roles for track in _of_role(tracks, role)[:1]]


def _of_role(tracks: dict[str, Track], role: Role) -> list[Track]:
    """Tracks of a role: most points first, then the shortest name."""
    return sorted((t for t in tracks.values() if t.role is role), key=lambda t: (-len(t), len(t.metric)))


def _single(tracks: Iterable[Track], shown: set[str], single: dict[str, Panel]) -> Iterator[Panel]:
    """A panel for each track, each metric once."""
    for metric, track in {t.metric: t for t in tracks if t.metric not in shown}.items():
        if metric not in single:
            single[metric] = _panel([track])
        yield single[metric]


def _drawable(timeline: Timeline) -> dict[str, Track]:
    return {metric: track for metric, track in timeline.series.items() if len(track)}


def _panel(tracks: Sequence[Track]) -> Panel:
    names = _names(tracks)
    lines = [
        Line(literal(name, 24), t.metric, segments(t), token, dash)
        for t, name, (token, dash) in zip(tracks, names, _STYLES, strict=False)
    ]
    title = " · ".join([tracks[0].metric, *names[1:]])
    return Panel(title, tracks[0].unit, tracks[0].role, lines)


def _names(tracks: Sequence[Track]) -> list[str]:
    """What tells the tracks of a panel apart: what their metrics do not share, else the data set."""
    metrics = [t.metric for t in tracks]
    columns = enumerate(zip(*metrics, strict=False))
    same = next((i for i, letters in columns if len(set(letters)) > 1), 0)
    cut = max((i + 1 for i, c in enumerate(metrics[0][:same]) if c in "/._- "), default=0)
    return [t.metric[cut:] or t.metric if cut else t.dataset or t.metric for t in tracks]


MOST_ZOOMS = 6
PAD = 0.006  # of the run, left and right
_BEFORE, _AFTER, _BEFORE_OPEN = 1.1, 0.9, 0.8  # widths of the finding
_LEAST_SAMPLES = 12  # of the width that the context is measured in: at least 22 samples are seen
_RUN_SHARE = 0.004
_WHOLE_SHARE = 0.9
_FARTHEST_ROLLBACK = 12  # widths; a zoom that goes back further shows nothing


@dataclass(frozen=True, eq=False)
class Scene:
    """A run with at least one panel, from step ``first`` to ``last``; ``axis`` is what the steps count."""

    timeline: Timeline
    diagnosis: Diagnosis
    panels: Sequence[Panel]
    bars: Sequence[Bar]
    first: float
    last: float
    axis: str
    findings: Sequence[Occurrence]
    joins: Sequence[tuple[str, Join]]
    single: dict[str, Panel] = field(default_factory=dict)  # of single metrics, made when first asked for

    @property
    def samples_apart(self) -> float:
        """Median distance in steps of two points of the first panel (1 where there is but one)."""
        longest = max(self.panels[0].segments(), key=lambda s: len(s.steps))
        return median_gap(longest.steps)

    def peaks(self, panel: Panel) -> list[float]:
        """The largest value of each finding on each curve of a panel."""
        return [
            float(known.max())
            for item in self.findings
            for line in panel.lines
            if item.finding.metric in (None, line.metric)
            for segment in line.segments
            if len(known := segment.inside(item.finding.start_step, item.end).finite())
        ]

    def zooms(self) -> list[Occurrence]:
        """The findings that get a zoom, gravest first: not those that the whole run shows just as well."""
        by_number = {item.number: item for item in self.findings}
        ranked = [by_number[number] for number, _ in gravest(self.diagnosis)]
        return [item for item in ranked if self._shows_more(item)][:MOST_ZOOMS]

    def window(self, item: Occurrence) -> tuple[float, float]:
        """First and last step of the zoom: the finding with its context, and the rollback that it led to."""
        finding, start, end = item.finding, float(item.finding.start_step), item.end
        span, whole = end - start, self.last - self.first
        width = max(span, _LEAST_SAMPLES * self.samples_apart, min(_RUN_SHARE * whole, 3 * span))
        over = finding.end_step is not None
        first = start - (_BEFORE if over else _BEFORE_OPEN) * width
        last = end + (_AFTER if over else 0.05) * width
        for _, join in self.joins:
            left = finding.attempt in (None, self.timeline.attempts[join.before].name)
            near = join.from_step - end < 2 * width and end - join.to_step < _FARTHEST_ROLLBACK * width
            if left and near and join.from_step >= end >= join.to_step:
                first = min(first, join.to_step - 0.12 * width)
                last = max(last, join.from_step + 0.25 * width)
        first, last = max(first, self.first - PAD * whole), min(last, self.last + PAD * whole)
        return (first, last) if last > first else (self.first - 2, self.last + 2)

    def zoom_panels(self, item: Occurrence) -> Sequence[Panel]:
        """Panels with something to see in the window; the first one always."""
        first, *others = finding_panels(self.timeline, self.panels[0], item.finding, self.single)
        window = self.window(item)
        return [first, *(p for p in others if p.points(*window) >= 2)][:MOST_PANELS]

    def _shows_more(self, item: Occurrence) -> bool:
        """Whether the zoom is narrower than the run, or has other panels (nobody asks why a run is well)."""
        first, last = self.window(item)
        if last - first < _WHOLE_SHARE * (self.last - self.first):
            return True
        well = BY_ID[item.finding.pattern].verdict is Verdict.GOOD
        return not well and len(self.zoom_panels(item)) > len(self.panels)


def scene(timeline: Timeline, diagnosis: Diagnosis, x: OnAxis | None = None) -> Scene | None:
    """The run to draw; None if no attempt logged a value.

    With ``x`` it is drawn over that axis; findings keep the numbers and joins the letters that they have
    over steps.
    """
    timeline = x.timeline if x is not None else timeline
    panels = run_panels(timeline, diagnosis)
    if not panels:
        return None
    attempts = bars(timeline) if len(timeline.attempts) > 1 else []
    edges = [(s.steps[0], s.steps[-1]) for panel in panels for s in panel.segments()]
    edges += [(first, last) for bar in attempts for first, last, _ in bar.spans]
    first, last = float(min(a for a, _ in edges)), float(max(b for _, b in edges))
    findings = _occurrences(timeline, diagnosis, x, attempts, last)
    if x is not None:
        diagnosis = replace(diagnosis, joins=timeline.joins)
    axes = {attempt.axis for attempt in timeline.attempts}
    axis = literal(axes.pop(), 24) if len(axes) == 1 else "step"
    shown = attempts if len(attempts) > 1 else ()
    return Scene(timeline, diagnosis, panels, shown, first, last, axis, findings, lettered(diagnosis))


def _occurrences(
    timeline: Timeline, diagnosis: Diagnosis, x: OnAxis | None, attempts: Sequence[Bar], last: float
) -> list[Occurrence]:
    """The numbered findings; one that is not over ends with its attempt."""
    end_of = {timeline.attempts[bar.attempt].name: bar.spans[-1][1] for bar in attempts}
    badges = {number for number, _ in gravest(diagnosis)[:MOST_BADGES]}
    occurrences = []
    for number, diagnosed in numbered(diagnosis):
        finding = drawn(diagnosed) if x is None else x.finding(drawn(diagnosed))
        end: float | None = finding.end_step
        if end is None:
            end = max(end_of.get(finding.attempt or "", last), finding.start_step)
        occurrences.append(Occurrence(number, finding, float(end), number in badges))
    return occurrences
