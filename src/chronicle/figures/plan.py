"""A figure before it has a colour: what stands where, in CSS pixels. One plan serves both themes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chronicle.figures import layout
from chronicle.figures.curves import Panel
from chronicle.figures.lane import HEIGHT_PX, FaultMark, lane
from chronicle.figures.layout import Band, Fill, Mark
from chronicle.figures.scale import Scale, with_headroom
from chronicle.figures.strip import Bar
from chronicle.figures.strokes import Clip, Missing, Stroke, clips, missing, strokes
from chronicle.figures.style import WIDE
from chronicle.model import Fault, Finding, Join

LEFT, RIGHT, BOTTOM, GAP = 54, 22, 46, 34
ROW_PX, LANE_PX = 22, 4.5
_LABEL_PX = 24  # room for the words above a panel


@dataclass(frozen=True, eq=False)
class Drawn:
    """One panel: what it draws in data units, and its height."""

    panel: Panel
    scale: Scale
    strokes: Sequence[Stroke]
    clips: Sequence[Clip]
    missing: Missing | None
    height: float


@dataclass(frozen=True)
class Marks:
    """What is marked: numbered findings with their last steps, which numbers have badges, lettered joins,
    and faults beside the curves."""

    findings: Sequence[tuple[int, Finding]] = ()
    ends: Mapping[int, float] | None = None
    badges: frozenset[int] = frozenset()
    joins: Sequence[tuple[str, Join]] = ()
    faults: Sequence[Fault] = ()


@dataclass(frozen=True, eq=False)
class Plan:
    """A whole figure. ``first`` and ``last`` are the ends of the step axis, called ``axis``.

    ``lines`` are the steps of those ``joins`` that are marked by a line.
    """

    width: float
    first: float
    last: float
    axis: str
    drawn: Sequence[Drawn]
    bands: Sequence[Band]
    fills: Sequence[Fill]
    badges: Sequence[Mark]
    letters: Sequence[Mark]
    lines: Sequence[float]
    joins: Sequence[Join]
    faults: Sequence[FaultMark] = ()
    bars: Sequence[Bar] = ()
    strip_height: float = 0

    @property
    def narrow(self) -> bool:
        """Whether this is the figure for a phone."""
        return self.width < WIDE / 2

    @property
    def inner(self) -> float:
        """Width of a panel."""
        return self.width - LEFT - RIGHT

    @property
    def badge_base(self) -> float:
        """From the frame to the middle of the lowest badges; more where leaders or lanes need room."""
        moved = any(abs(b.at_px - b.wanted_px) > 2 for b in self.badges)
        lanes = min(3, max((b.lane for b in self.bands), default=0))
        return 14 + 6 * moved + LANE_PX * lanes

    @property
    def lift(self) -> float:
        """How far the first panel's label stands above its frame to leave room for the badges."""
        if not self.badges:
            return 4 + LANE_PX * min(3, max((b.lane + 1 for b in self.bands), default=0))
        return self.badge_base + 13 + ROW_PX * max(b.row for b in self.badges)

    @property
    def top(self) -> float:
        """Height above the first panel."""
        return self.lift + _LABEL_PX

    @property
    def height(self) -> float:
        """Height of the figure."""
        panels = sum(d.height for d in self.drawn) + GAP * (len(self.drawn) - 1)
        strip = self.strip_height + GAP - 4 if self.bars else 0
        return round(self.top + panels + self.lane_height + strip + BOTTOM)

    @property
    def lane_height(self) -> float:
        """Height of the lane of faults with the gap above it; 0 without a fault."""
        return HEIGHT_PX + GAP - 4 if self.faults else 0


def plan(
    width: float,
    window: tuple[float, float],
    axis: str,
    panels: Sequence[tuple[Panel, Scale, float]],
    marks: Marks,
    bars: Sequence[Bar] = (),
    strip_height: float = 0,
) -> Plan:
    """The figure of ``panels`` (each with scale and height) over a window of steps, with its marks."""
    first, last = window
    inner = width - LEFT - RIGHT
    drawn = [_drawn(panel, scale, height, first, last, inner) for panel, scale, height in panels]
    letters, lines = layout.letters(marks.joins, first, last, inner)
    bands = layout.bands(marks.findings, marks.ends or {}, first, last, inner)
    return Plan(
        width,
        first,
        last,
        axis,
        drawn,
        bands,
        layout.fills(bands),
        layout.badges(bands, marks.badges, inner),
        letters,
        lines,
        [join for _, join in marks.joins],
        lane(marks.faults, first, last, inner),
        bars,
        strip_height,
    )


def _drawn(panel: Panel, scale: Scale, height: float, first: float, last: float, inner: float) -> Drawn:
    gone = missing(panel, first, last, int(inner / 6))
    if gone:
        scale = with_headroom(scale)
    made = strokes(panel, scale, first, last, int(inner))
    return Drawn(panel, scale, made, clips(panel, scale, first, last, inner), gone, height)
