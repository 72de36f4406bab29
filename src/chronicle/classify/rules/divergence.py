"""Divergence: the loss leaves its trend for good, after a spike or without one.

Sees: rises that were not over when the log ended, or when its values turned NaN.
Rule: most of the height is left (60 %, or twice the trend) or the level has grown since; after a spike if
most of the height was gained in one jump that peaked within 8 samples or is taller than 0.25 log units, and
a quarter of it was lost again, else without one. A spike that was not back when the loss turned upwards for
good is one as well.
Blind to: rises of less than 2.5 %, and a turn so recent that fewer than a handful of samples show it.
False alarm: a healthy run is stopped: the most expensive of all. Source: OPT 2.5; BigScience tr8 (104B) logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from chronicle.classify.report import criterion, renamed
from chronicle.classify.rules.shape import Shape
from chronicle.classify.rules.spikes import NOT_FULLY
from chronicle.model import Finding

AFTER, NO_SPIKE = "divergence-after-spike", "divergence-no-spike"
PATTERNS = (AFTER, NO_SPIKE)
LEFT_OVER = (NOT_FULLY, "level-shift")  # what a spike is called that is not back


def claim(shape: Shape) -> Finding | None:
    """The finding, if this event is a divergence."""
    if not shape.is_open:
        return None
    if not (shape.event.into_nan or shape.grows or (shape.lost and not (shape.is_jump and shape.is_step))):
        return None
    e, limits = shape.event, shape.limits
    rise = e.peak - e.onset
    tests = [
        criterion(
            "grown since it left the trend",
            e.growth,
            "log units",
            f"> {limits.grown} of the height",
            shape.grows,
        ),
        criterion("left at the end", e.residual, "log units", f">= {limits.lost} of the height", shape.lost),
        criterion(
            "rise", rise, "samples", f"<= {limits.spike_rise:g} for a spike", rise <= limits.spike_rise
        ),
        criterion("ends in NaN or Inf", float(e.into_nan), "", "yes", e.into_nan),
    ]
    spike = shape.is_spike and shape.dips
    why = "the rise had been a ramp" if spike else "it had begun with a jump and come down from its peak"
    names = (AFTER, NO_SPIKE) if spike else (NO_SPIKE, AFTER)
    return shape.finding(names[0], 0.8 + 0.2 * min(e.residual, 1.0), (names[1], why), tests)


def climbing_again(pairs: Sequence[tuple[Shape, Finding]]) -> Iterator[Finding]:
    """The findings of one series; a spike that was not back before a divergence began is its beginning."""
    climbs = [f for _, f in pairs if f.pattern == NO_SPIKE and f.end_step is None]
    for shape, f in pairs:
        climb = next((c for c in climbs if c.start_step > f.start_step), None)
        if climb is None or f.pattern not in LEFT_OVER or not (shape.is_spike and shape.dips):
            yield f
            continue
        after = climb.start_step - f.start_step
        test = criterion("climbs again after", after, "steps", "before it was back", True)
        why = "the loss had come back before it climbed again"
        name = renamed(f, AFTER, why=why, evidence={"climb_after_steps": after}, criteria=[test])
        yield replace(name, severity=max(f.severity, climb.severity))
