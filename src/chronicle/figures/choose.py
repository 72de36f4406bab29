"""Which metrics a figure shows: the judged loss with its data sets, and what the findings speak of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from chronicle.classify.patterns import BY_ID
from chronicle.figures.curves import Line, Panel, segments
from chronicle.figures.text import literal
from chronicle.metrics.judged import shown_loss
from chronicle.model import Diagnosis, Finding, Role, Timeline, Track

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
MOST_PANELS = 4


def run_panels(timeline: Timeline, diagnosis: Diagnosis) -> list[Panel]:
    """The judged loss, then at most two panels of other metrics that findings speak of or need."""
    tracks = _drawable(timeline)
    first = first_panel(timeline, diagnosis)
    if first is None:
        return []
    more = [t for f in diagnosis.findings for t in _spoken_of(f, tracks)]
    return [first, *_single(more, first.metrics, {})][:3]


def finding_panels(
    timeline: Timeline, first: Panel, finding: Finding, made: dict[str, Panel]
) -> Iterator[Panel]:
    """The first panel, then what the finding speaks of, then its context; as many as there are.

    ``made`` keeps the panels of single metrics from one finding to the next.
    """
    tracks = _drawable(timeline)
    context = [track for role in _CONTEXT for track in _of_role(tracks, role)[:1]]
    yield first
    yield from _single([*_spoken_of(finding, tracks), *context], first.metrics, made)


def first_panel(timeline: Timeline, diagnosis: Diagnosis) -> Panel | None:
    """The judged loss with losses by data set; without one what findings speak of, or the longest track."""
    tracks = _drawable(timeline)
    main = shown_loss(timeline.series.values())
    if main is None or not len(main):
        named = [tracks[f.metric] for f in diagnosis.findings if f.metric in tracks]
        rest = sorted((t for t in tracks.values() if t.role not in _COUNTERS), key=lambda t: -len(t))
        main = next(iter([*named, *rest, *tracks.values()]), None)
    if main is None:
        return None
    family = _family(main, tracks, [f.metric for f in diagnosis.findings if f.metric])
    return _panel(family)


def _family(main: Track, tracks: dict[str, Track], named: Sequence[str]) -> list[Track]:
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
    (a, b), (c, d) = _quartiles(one), _quartiles(other)
    return bool(min(a, c) > 0 and max(b, d) / max(min(a, c), 1e-300) < 8)


def _quartiles(track: Track) -> tuple[float, float]:
    known = track.values[np.isfinite(track.values)]
    low, high = np.quantile(known, [0.25, 0.75]) if len(known) else (0.0, 0.0)
    return float(low), float(high)


def _spoken_of(finding: Finding, tracks: dict[str, Track]) -> list[Track]:
    named = [tracks[finding.metric]] if finding.metric in tracks else []
    roles = [role for role in BY_ID[finding.pattern].needs if role is not Role.LOSS]
    return named + [track for role in roles for track in _of_role(tracks, role)[:1]]


def _of_role(tracks: dict[str, Track], role: Role) -> list[Track]:
    """Tracks of a role: most points first, then the shortest name."""
    return sorted((t for t in tracks.values() if t.role is role), key=lambda t: (-len(t), len(t.metric)))


def _single(tracks: Iterable[Track], shown: set[str], made: dict[str, Panel]) -> Iterator[Panel]:
    """A panel for each track, each metric once."""
    for metric, track in {t.metric: t for t in tracks if t.metric not in shown}.items():
        if metric not in made:
            made[metric] = _panel([track])
        yield made[metric]


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
