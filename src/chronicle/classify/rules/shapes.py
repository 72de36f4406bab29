"""Events of the kernel as findings of loss shapes: dispatches each event to its family."""

from __future__ import annotations

from collections.abc import Iterator

from chronicle.classify.view import View
from chronicle.model import Finding, Series


def typed(view: View, series: Series, sign: float = 1.0) -> Iterator[Finding]:
    """The findings of one series, in order of onset."""
    yield from ()
