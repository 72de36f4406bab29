"""One table of several seeds, told apart by its column of seeds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chronicle.model import Attempt, Series
from chronicle.timeline.split import pick

_COLUMNS = ("seed", "random_seed")
_MOST = 1000  # of them in a table; a random number a row is no seed of a training


def by_seed(attempt: Attempt) -> list[Attempt]:
    """An attempt a seed, called ``table.csv, seed 3``, if a column says which row is of which.

    Only where every metric was logged in every row, and not where the seed is another one from row to row.
    """
    column = next((attempt.series[name] for name in _COLUMNS if name in attempt.series), None)
    if column is None or len(attempt.series) < 2 or not _in_every_row(attempt, column):
        return [attempt]
    seeds, which = np.unique(column.values, return_inverse=True)
    if not 1 < len(seeds) <= min(_MOST, len(column) // 2) or not all(map(_is_seed, seeds.tolist())):
        return [attempt]
    rest = {m: s for m, s in attempt.series.items() if s is not column}
    return [
        replace(
            attempt,
            name=f"{attempt.name}, seed {int(seed)}",
            series={m: pick(s, which == k) for m, s in rest.items()},
            facts={**attempt.facts, "seed": int(seed)},
        )
        for k, seed in enumerate(seeds)
    ]


def _in_every_row(attempt: Attempt, column: Series) -> bool:
    return all(np.array_equal(one.steps, column.steps) for one in attempt.series.values())


def _is_seed(value: float) -> bool:
    return abs(value) < 2**63 and value.is_integer()
