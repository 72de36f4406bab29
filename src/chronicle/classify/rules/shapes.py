"""Every kernel event of a series becomes one finding: measured once, then claimed by the first family it
fits.

The families are nonfinite, frozen, spikes, divergence and level_shift; each is a module beside this one with
``claim(shape) -> Finding | None``. This module judges the losses of every attempt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chronicle.classify.rules import divergence, frozen, level_shift, nonfinite, spikes
from chronicle.classify.rules.shape import Shape
from chronicle.classify.view import View
from chronicle.model import Finding, Series

FAMILIES = (nonfinite, frozen, spikes, divergence, level_shift)
PATTERNS = tuple(p for family in FAMILIES for p in family.PATTERNS)


def find(view: View) -> Iterator[Finding]:
    """Findings of the judged loss and of the losses by data set, attempt by attempt."""
    for attempt in view.attempts:
        for series in ([attempt.loss] if attempt.loss else []) + attempt.dataset_losses:
            yield from view.findings(series)


def typed(view: View, series: Series) -> Iterator[Finding]:
    """The findings of one series, in order of onset."""
    attempt = view.attempt_of(series)
    zeros = nonfinite.hidden(attempt, series)
    if zeros is not None:
        yield zeros
    before = [e for e in view.events(series) if zeros is None or series.steps[e.onset] < zeros.start_step]
    yield from named(Shape(event, series, attempt, view.thresholds) for event in before)


def named(shapes: Iterable[Shape]) -> Iterator[Finding]:
    """The findings of events of one series, each by the first family that claims it; drops need context."""
    pairs = [(shape, claim) for shape in shapes if (claim := first_claim(shape))]
    yield from divergence.climbing_again(pairs)


def first_claim(shape: Shape) -> Finding | None:
    """What the first family that knows this event calls it."""
    return next((claim for family in FAMILIES if (claim := family.claim(shape)) is not None), None)
