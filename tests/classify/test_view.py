"""Which series of an attempt the rules look at, and how they look a step up."""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import AttemptView, index_at, look, value_at
from chronicle.metrics.aliases import step_gap
from chronicle.model import Attempt, Role, Series
from chronicle.timeline import stitch


def series(metric: str, role: Role, points: int) -> Series:
    return Series(metric, role, np.arange(points), np.linspace(3, 2, points), np.full(points, np.nan))


def viewed(*logged: Series) -> AttemptView:
    (attempt,) = look(stitch([Attempt("a", ("a",), {s.metric: s for s in logged})]), DEFAULTS).attempts
    return attempt


@pytest.mark.parametrize(
    ("logged", "judged"),
    [
        ([("train/loss_smooth", Role.LOSS, 100), ("loss", Role.LOSS, 91)], "loss"),
        ([("train/loss", Role.LOSS, 100), ("loss", Role.LOSS, 89)], "train/loss"),
        (
            [("val", Role.VALIDATION_LOSS, 500), ("web", Role.DATASET_LOSS, 50), ("loss", Role.LOSS, 8)],
            "loss",
        ),
        ([("val", Role.VALIDATION_LOSS, 500), ("web", Role.DATASET_LOSS, 50), ("loss", Role.LOSS, 7)], "web"),
        ([("val", Role.VALIDATION_LOSS, 50), ("lr", Role.LEARNING_RATE, 500)], "val"),
        ([("lr", Role.LEARNING_RATE, 500)], None),
    ],
)
def test_the_judged_loss_is_the_best_logged_one_of_the_first_kind_there_is(
    logged: list[tuple[str, Role, int]], judged: str | None
) -> None:
    loss = viewed(*(series(*s) for s in logged)).loss
    assert (loss.metric if loss else None) == judged


def test_data_sets_count_that_are_logged_a_fifth_as_often() -> None:
    sets = [series(f"loss/{n}", Role.DATASET_LOSS, n) for n in (7, 19, 20, 100)]
    assert [len(s) for s in viewed(series("loss", Role.LOSS, 100), *sets).dataset_losses] == [20, 100]
    assert [len(s) for s in viewed(series("loss", Role.LOSS, 20), *sets).dataset_losses] == [19, 20, 100]


def test_a_step_is_looked_up_at_the_sample_that_was_there() -> None:
    s = Series("loss", Role.LOSS, np.array([0, 10, 20]), np.array([3.0, np.nan, 1.0]), np.full(3, np.nan))
    assert [index_at(s, step) for step in (-5, 0, 9, 10, 19.5, 20, 99)] == [0, 0, 0, 1, 1, 2, 2]
    assert [value_at(s, step) for step in (-5, 0, 10, 20, 99)] == [3.0, 3.0, 2.0, 1.0, 1.0]
    assert step_gap(s) == 10.0 and step_gap(series("loss", Role.LOSS, 1)) == 1.0
