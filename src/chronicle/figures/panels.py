"""The panels of a figure: the judged loss, and the metrics that the findings are about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from chronicle.classify.patterns import BY_ID
from chronicle.figures.sheet import one_line
from chronicle.metrics.roles import shown_metric
from chronicle.model import Diagnosis, Finding, Floats, Role, Timeline, Track

MOST_PANELS = 4
# Colour and dash of the lines of one panel; each line also has its name on it.
_STYLES: Sequence[tuple[str, tuple[float, ...]]] = (
    ("live", ()),
    ("second", (5, 1.6)),
    ("third", (1.2, 1.4)),
    ("ink2", (5, 1.4, 1, 1.4)),
)
_LOSSES = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
_COUNTERS = (Role.TOKENS, Role.SAMPLES, Role.EPOCH)
_CONTEXT = (Role.GRAD_NORM, Role.LEARNING_RATE, Role.RATIO, Role.VALIDATION_LOSS, Role.THROUGHPUT)
_MOST_CUTS = 8  # an attempt that is cut more often is drawn as one live and one dead curve
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
        return self.values[np.isfinite(self.values)]


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

    @property
    def metrics(self) -> set[str]:
        return {line.metric for line in self.lines}

    def segments(self) -> list[Segment]:
        return [segment for line in self.lines for segment in line.segments]


Panels = dict[str, Panel]


def segments(track: Track, attempt: int | None = None) -> list[Segment]:
    """The track, or one attempt of it, cut where the attempt changes and where a later one overtook it."""
    which = np.unique(track.attempt).tolist() if attempt is None else [attempt]
    return [part for k in which for part in _of_attempt(track, k) if len(part.steps)]


def _of_attempt(track: Track, attempt: int) -> Iterator[Segment]:
    logged = track.attempt == attempt
    rows: Any = slice(None) if logged.all() else logged  # avoids a copy of a long log
    steps, values, live = track.steps[rows].astype(np.float64), track.values[rows], track.live[rows]
    if (np.diff(steps) < 0).any():
        order = np.argsort(steps, kind="stable")
        steps, values, live = steps[order], values[order], live[order]
    if (too_large := (np.abs(values) > _LARGEST) & np.isfinite(values)).any():
        values = np.where(too_large, np.copysign(_LARGEST, values), values)
    cuts = np.flatnonzero(np.diff(live)) + 1
    if len(cuts) > _MOST_CUTS:
        yield Segment(steps[~live], values[~live], False, attempt)
        yield Segment(steps[live], values[live], True, attempt)
        return
    for a, b in pairwise([0, *cuts, len(live)]):
        # A dead branch starts one sample before the cut, so that it visibly leaves the live line.
        part = slice(a if live[a] else max(0, a - 1), b)
        yield Segment(steps[part], values[part], bool(live[a]), attempt)


def run_panels(timeline: Timeline, diagnosis: Diagnosis) -> list[Panel]:
    """The judged metric, then at most two panels of other metrics that findings name or need. Without a
    judged metric the first panel shows one that a finding names, or the longest track."""
    tracks = _drawable(timeline)
    named = [tracks[f.metric] for f in diagnosis.findings if f.metric in tracks]
    main = shown_metric(timeline.series.values())
    if main is None or not len(main):
        main = next(iter([*named, *_longest_first(tracks), *tracks.values()]), None)
    if main is None:
        return []
    first = _panel(_family(main, tracks, {track.metric for track in named}))
    more = [track for f in diagnosis.findings for track in _named_or_needed(f, tracks)]
    return [first, *_single(more, first.metrics, {})][:3]


def all_panels(timeline: Timeline, diagnosis: Diagnosis) -> list[Panel]:
    """The panels of the run, then one for each other metric that is no counter, the longest first."""
    first = run_panels(timeline, diagnosis)
    shown = {metric for panel in first for metric in panel.metrics}
    return [*first, *_single(_longest_first(_drawable(timeline)), shown, {})]


def _longest_first(tracks: dict[str, Track]) -> list[Track]:
    return sorted((t for t in tracks.values() if t.role not in _COUNTERS), key=lambda t: -len(t))


def finding_panels(timeline: Timeline, first: Panel, finding: Finding, single: Panels) -> Iterator[Panel]:
    """The first panel, then the metrics that the finding names or needs, then its context. ``single`` keeps
    panels of single metrics from one finding to the next."""
    tracks = _drawable(timeline)
    context = [track for role in _CONTEXT for track in _of_role(tracks, role)[:1]]
    yield first
    yield from _single([*_named_or_needed(finding, tracks), *context], first.metrics, single)


def _family(main: Track, tracks: dict[str, Track], named: set[str]) -> list[Track]:
    """The main loss, and losses that fit on its axis: named by a finding, by data set, validation."""
    if main.role not in _LOSSES:
        return [main]
    others = [t for t in tracks.values() if t is not main and t.role in _LOSSES and _fit_on_one_axis(main, t)]
    spoken = [t for t in others if t.metric in named]
    sets = [t for t in others if t.role is Role.DATASET_LOSS and len(t) >= len(main) / 5]
    validation = [t for t in others if t.role is Role.VALIDATION_LOSS][:1]
    return list({t.metric: t for t in [main, *spoken, *sets, *validation]}.values())[: len(_STYLES)]


def _fit_on_one_axis(*losses: Track) -> bool:
    known = (track.values[np.isfinite(track.values)] for track in losses)
    lows, highs = zip(*(np.quantile(v, [0.25, 0.75]) if len(v) else (0.0, 0.0) for v in known), strict=True)
    return bool(min(lows) > 0 and max(highs) / max(min(lows), 1e-300) < 8)


def _named_or_needed(finding: Finding, tracks: dict[str, Track]) -> list[Track]:
    named = [tracks[finding.metric]] if finding.metric in tracks else []
    needs = (role for role in BY_ID[finding.pattern].needs if role is not Role.LOSS)
    return named + [track for role in needs for track in _of_role(tracks, role)[:1]]


def _of_role(tracks: dict[str, Track], role: Role) -> list[Track]:
    return sorted((t for t in tracks.values() if t.role is role), key=lambda t: (-len(t), len(t.metric)))


def _single(tracks: Iterable[Track], shown: set[str], single: Panels) -> Iterator[Panel]:
    for metric, track in {t.metric: t for t in tracks if t.metric not in shown}.items():
        if metric not in single:
            single[metric] = _panel([track])
        yield single[metric]


def _drawable(timeline: Timeline) -> dict[str, Track]:
    return {metric: track for metric, track in timeline.series.items() if len(track)}


def _panel(tracks: Sequence[Track]) -> Panel:
    names = _names(tracks)
    styled = zip(tracks, names, _STYLES, strict=False)
    lines = [Line(one_line(name, 24), t.metric, segments(t), *style) for t, name, style in styled]
    return Panel(" · ".join([tracks[0].metric, *names[1:]]), tracks[0].unit, tracks[0].role, lines)


def _names(tracks: Sequence[Track]) -> list[str]:
    """Short names for the tracks of a panel: metrics without their common beginning, or data sets."""
    metrics = [t.metric for t in tracks]
    columns = enumerate(zip(*metrics, strict=False))
    same = next((i for i, letters in columns if len(set(letters)) > 1), 0)
    cut = max((i + 1 for i, c in enumerate(metrics[0][:same]) if c in "/._- "), default=0)
    return [t.metric[cut:] or t.metric if cut else t.dataset or t.metric for t in tracks]
