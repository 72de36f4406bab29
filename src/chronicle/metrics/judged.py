"""Which of several losses a run is judged by: the same one in findings, figures, facts and headlines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from chronicle.model import Role, Series

LOSSES = (Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS)
MIN_POINTS = 8  # fewer points than this are no series to judge
_AS_LONG = 0.9  # share of the longest loss that counts as equally long: a total may begin a little later

AnySeries = TypeVar("AnySeries", bound=Series)


def judged_loss(series: Iterable[AnySeries], fewest: int = MIN_POINTS) -> AnySeries | None:
    """The loss that a run is judged by; None where no loss has ``fewest`` points.

    A training loss comes before losses by data set, and those before a validation loss. Of several of one
    kind that are about equally long, the one with the shortest name is the total.
    """
    losses = [s for s in series if s.role in LOSSES and len(s) >= fewest]
    first = min((LOSSES.index(s.role) for s in losses), default=0)
    of_kind = [s for s in losses if s.role is LOSSES[first]]
    enough = _AS_LONG * max(map(len, of_kind), default=0)
    return min((s for s in of_kind if len(s) >= enough), key=lambda s: len(s.metric), default=None)


def shown_loss(series: Iterable[AnySeries]) -> AnySeries | None:
    """The judged loss; where no loss is long enough to be judged, the one that would be."""
    series = list(series)
    return judged_loss(series) or judged_loss(series, fewest=1)
