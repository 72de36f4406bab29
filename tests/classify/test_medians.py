"""The quick medians against numpy's, their slow and obvious twin."""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.classify.measure import AT_ONCE, SORTED, median, medians

VALUES = (0.0, -0.0, 1.0, 2.5, -7.0, 1e300, np.inf, -np.inf, np.nan)


@pytest.mark.parametrize("n", [*range(1, 40), SORTED, SORTED + 1, 1000])
@pytest.mark.parametrize("kind", ["noise", "ties", "anything", "steps"])
def test_the_same_bits_as_numpy(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(20):
        rows = {
            "noise": rng.standard_normal(n),
            "ties": np.round(rng.standard_normal(n)),
            "anything": rng.choice(VALUES, n),
            "steps": rng.integers(-1000, 1 << 40, n),
        }
        with np.errstate(invalid="ignore", over="ignore"):
            expected = np.float64(np.median(rows[kind]))
            given = np.float64(median(rows[kind]))
        assert np.isnan(expected) == np.isnan(given)
        assert np.isnan(expected) or expected == given


def test_of_nothing_there_is_none() -> None:
    assert np.isnan(median(np.empty(0)))


@pytest.mark.parametrize("window", [1, 2, 3, 8, 63, 64])
@pytest.mark.parametrize("samples", [64, 65, 200, AT_ONCE + 100])
def test_the_median_of_each_window(window: int, samples: int) -> None:
    rng = np.random.default_rng(window)
    for row in (
        rng.standard_normal(samples),
        np.round(rng.standard_normal(samples)),
        rng.choice(VALUES, samples),
    ):
        with np.errstate(invalid="ignore", over="ignore"):
            slow = [np.median(row[i : i + window]) for i in range(samples - window + 1)]
            np.testing.assert_array_equal(medians(row, window), slow)
