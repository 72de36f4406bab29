"""Every kernel event of a series becomes one finding: measured once, then claimed by the first family it
fits.

The families are nonfinite, frozen, spikes, divergence and level_shift; each is a module beside this one with
``claim(shape) -> Finding | None``. This module judges the losses of every attempt.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    for event in view.events(series):
        if zeros is None or int(series.steps[event.onset]) < zeros.start_step:
            yield from named(Shape(event, series, attempt, view.thresholds))


def named(shape: Shape) -> Iterator[Finding]:
    """The finding of the first family that claims an event; none for drops, which need their context."""
    claims = (family.claim(shape) for family in FAMILIES)
    first = next((claim for claim in claims if claim is not None), None)
    if first is not None:
        yield first
