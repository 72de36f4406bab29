"""Sums that are ruled out by a few rows, against the same asked of all rows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.depth import few

from chronicle.metrics import arithmetic
from chronicle.metrics import by_values as values
from chronicle.model import Role, Series


@pytest.mark.parametrize(
    ("values", "zeros"),
    [
        ([0, 0, 3, 2], 2),
        ([3, 2], 0),
        ([0, 0], 0),
        ([0, 3, 0], 0),
        ([0, np.nan, 3], 1),
        ([], 0),
        ([np.nan, 0], 0),
    ],
)
def test_zeros_in_front_are_all_the_zeros_there_are(values: list[float], zeros: int) -> None:
    assert arithmetic.zeros_in_front(np.array(values, float)) == zeros


FILLED = [-1, -1, 7.5, -1, -1, -1, 2.25, -1, -1, -1, 0.5]  # measured in three rows of eleven


@pytest.mark.parametrize(
    ("logged", "role", "rows", "measured"),
    [
        (FILLED, Role.LOSS, [2, 6, 10], [7.5, 2.25, 0.5]),
        (FILLED, Role.VALIDATION_LOSS, [2, 6, 10], [7.5, 2.25, 0.5]),
        (FILLED, Role.OBJECTIVE, [*range(11)], FILLED),  # a reward may be -1
        ([*FILLED, -0.5], Role.LOSS, [*range(12)], [*FILLED, -0.5]),  # and so may a loss that is negative
        ([-1.0] * 8 + [0, 1, 2], Role.LOSS, [*range(11)], [-1.0] * 8 + [0, 1, 2]),  # or a whole number
        (
            [0, 0, *FILLED[1:]],
            Role.LOSS,
            [*range(2, 12)],
            FILLED[1:],
        ),  # seven are too few, and zeros in front
        ([-1, 2.5, 1.5], Role.LOSS, [0, 1, 2], [-1, 2.5, 1.5]),  # a single one may be a value
    ],
)
def test_minus_one_in_many_rows_is_no_loss(
    logged: list[float], role: Role, rows: list[int], measured: list[float]
) -> None:
    kept, values_measured = values.measurements(np.array(logged, float), role)
    assert np.arange(len(logged))[kept].tolist() == rows
    assert values_measured.tolist() == measured


def test_terms_of_sums_are_what_was_added() -> None:
    random = np.random.default_rng(3)
    terms = [*np.split(random.uniform(1.0, 3.0, 96), 4), random.uniform(1.0, 3.0, 5)]
    got = arithmetic.terms_of_sums(np.concatenate([*map(np.cumsum, terms)]))
    assert got is not None
    np.testing.assert_allclose(got, np.concatenate(terms))


@pytest.mark.parametrize(
    "values",
    [
        pytest.param([], id="none"),
        pytest.param(np.linspace(1, 9, 64), id="one that rises"),
        pytest.param(np.tile(np.linspace(5, 9, 32), 4), id="that begin anew from far above what is added"),
        pytest.param(np.tile(np.arange(1.0, 9.0), 9), id="too short"),
        pytest.param(np.random.default_rng(3).uniform(1.0, 3.0, 96), id="noise"),
        pytest.param(np.append(np.tile(np.arange(1.0, 33.0), 3), np.nan), id="with a lost value"),
    ],
)
def test_other_values_are_no_sums(values: list[float]) -> None:
    assert arithmetic.terms_of_sums(np.asarray(values, float)) is None


def log(seed: int) -> dict[str, Series]:
    """A total and other metrics, which may be its parts: rounded, noisy, or of nothing in common."""
    random = np.random.default_rng(seed)
    n_rows, n_terms = int(random.integers(8, 700)), int(random.integers(2, 8))
    terms = random.normal(random.choice([0, 1, 3]), random.choice([0.001, 0.1, 10]), (n_rows, n_terms))
    total = terms @ np.where(random.random(n_terms) < 0.7, random.choice([0.01, 0.5, 1, 100], n_terms), 0)
    total += (
        random.choice([0, 0, 1e-6, 1e-3, 0.1]) * max(float(total.std()), 1e-9) * random.normal(0, 1, n_rows)
    )
    total, terms = np.round(total, random.choice([2, 4, 12])), np.round(terms, random.choice([2, 4, 12]))
    if seed % 3 == 0:
        total, terms = (cells.astype(np.float32).astype(np.float64) for cells in (total, terms))
    steps, times = np.arange(n_rows), np.full(n_rows, np.nan)
    columns = {"loss": total, **{f"part {i}": column.copy() for i, column in enumerate(terms.T)}}
    return {name: Series(name, Role.OTHER, steps, values, times) for name, values in columns.items()}


def test_some_logs_hold_a_sum_and_others_none() -> None:
    logs = [log(seed) for seed in few(range(600), 300)]
    found = [arithmetic.parts_of(series["loss"], series) for series in logs]
    assert 50 < sum(map(bool, found)) < len(logs) - 50


def test_of_many_logs_with_the_same_names_the_longest_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of many launches, of which one alone is long enough to show that the loss is a sum."""
    random, asked = np.random.default_rng(0), list[int]()

    def launch(n_rows: int) -> dict[str, Series]:
        steps, (a, b) = np.arange(n_rows), random.random((2, n_rows))
        columns = {"loss": 0.25 * a + 2 * b, "alpha": a, "beta": b}
        return {n: Series(n, Role.OTHER, steps, v, np.full(n_rows, np.nan)) for n, v in columns.items()}

    def noted(series: dict[str, Series]) -> dict[str, values.ByValues]:
        asked.append(len(series["loss"]))
        return by_values(series)

    by_values = values.by_values
    monkeypatch.setattr(values, "by_values", noted)
    launches = [launch(3 + (200 if k == 70 else k % 2)) for k in range(100)]
    assert values.roles_by_values(launches) == {"alpha": Role.PART_LOSS, "beta": Role.PART_LOSS}
    assert asked == [203, *[4] * 15]
    assert values.roles_by_values(launches[:3]) == {} and len(asked) == 16 + 3


@pytest.mark.parametrize("size", [1e-300, 1e160, 1e300])
def test_numbers_of_any_size_are_looked_at_without_a_warning(size: float) -> None:
    known = log(0)
    scaled = {n: Series(n, s.role, s.steps, s.values * size, s.times) for n, s in known.items()}
    parts = arithmetic.parts_of(known["loss"], known)
    assert len(parts) == 3 and arithmetic.parts_of(scaled["loss"], scaled) == pytest.approx(parts)


@given(st.lists(st.text("aZ09_/. :-é٣", max_size=12), min_size=1))
def test_names_without_a_part_are_what_patterns_find(names: list[str]) -> None:
    """The slow, obvious version of what families of names share."""
    patterns = r"[^/.:]+$", r"(?<=[_\W])[^\W_]+$|\d+$", r"^[^\W_]+(?=[_\W])"
    expected = [[re.sub(pattern, "", name) for name in names] for pattern in patterns]
    assert [*arithmetic._shared_parts(names)] == expected


@pytest.mark.parametrize("n_rows", [40, 60, 100])
@pytest.mark.parametrize("noise", [0.001, 0.003])
def test_a_smooth_course_is_seldom_taken_for_a_running_mean(n_rows: int, noise: float) -> None:
    """One of a hundred at most, whose noise would be multiplied by the number of its rows."""
    random, row = np.random.default_rng(1), np.arange(1, n_rows + 1)
    undone = 0
    for _ in range(200):
        floor, height, power = random.uniform(0.3, 2.5), random.uniform(1, 6), random.uniform(0.2, 1)
        course = (floor + height * row**-power) * np.exp(noise * random.standard_normal(n_rows))
        logged = Series("loss", Role.LOSS, 10 * row, course, np.full(n_rows, np.nan))
        undone += arithmetic.without_mean(logged, is_named=False) is not logged
    assert undone <= 2


def test_a_divergence_at_the_end_of_a_smooth_course_is_no_end_of_a_running_mean() -> None:
    random, row = np.random.default_rng(17), np.arange(1, 61)
    course = (2.4 + 4.0 * row**-0.65) * np.exp(0.004 * random.standard_normal(60))
    course[48:] *= 1 + 0.016 * np.arange(1, 13)
    logged = Series("loss", Role.LOSS, 100 * row, course, np.full(60, np.nan))
    assert arithmetic.without_mean(logged, is_named=False) is logged
