"""What the events of a training that still runs would be called if its log ended now.

This loads the rules, so `Monitor` imports it at the first event: a training without one never pays for them.
"""

from __future__ import annotations

from collections.abc import Iterable

from chronicle.classify.confidence import calibrated
from chronicle.classify.detect import Event
from chronicle.classify.rules.shape import Shape
from chronicle.classify.rules.shapes import named
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView
from chronicle.model import Attempt, Finding, Series


def provisional(
    events: Iterable[Event], series: Series, index: int, name: str, thresholds: Thresholds
) -> list[Finding]:
    """Events of a series of attempt ``index`` as findings, by shape alone: context needs the whole log."""
    where = AttemptView(index, name, Attempt(name, (), {}), {series.metric: series}, None)
    return [calibrated(f) for f in named(Shape(e, series, where, thresholds) for e in events)]
