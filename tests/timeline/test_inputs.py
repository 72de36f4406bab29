"""What stitch takes: attempts, tables, arrays; and what it says of everything else."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.fresh import printed_by
from tests.timeline.timeline_logs import HOUR, joins, log, names

from chronicle.errors import UsageError
from chronicle.model import Role
from chronicle.timeline import stitch

NAN = float("nan")
TAKES = (
    "stitch takes attempts (chronicle.read gives them), a pandas DataFrame, or a mapping of metric to values "
    "or (steps, values)"
)


def columns(timeline) -> dict[str, tuple[list[int], list[float]]]:
    return {m: (t.steps.tolist(), t.values.tolist()) for m, t in timeline.series.items()}


def test_bare_values_are_counted_from_zero():
    timeline = stitch({"loss": [3.0, 2.0], "lr": np.array([1, 2, 3])})
    assert columns(timeline) == {"loss": ([0, 1], [3.0, 2.0]), "lr": ([0, 1, 2], [1.0, 2.0, 3.0])}
    assert [t.role for t in timeline.series.values()] == [Role.LOSS, Role.LEARNING_RATE]
    assert (names(timeline), timeline.run_id) == (["data"], "run")


def test_pairs_carry_their_steps():
    assert columns(stitch({"loss": ([10, 20], [3, 2])})) == {"loss": ([10, 20], [3.0, 2.0])}
    assert columns(stitch({"loss": (np.array([10.0, 20.0]), [3, 2])})) == {"loss": ([10, 20], [3.0, 2.0])}


@pytest.mark.parametrize("empty", [[], {}, {"loss": []}, log("a", [])])
def test_nothing_is_a_timeline_without_points(empty):
    timeline = stitch(empty)
    assert (timeline.joins, sum(map(len, timeline.series.values()))) == ((), 0)
    assert len(timeline.frame()) == 0


@pytest.mark.parametrize(
    "what, message",
    [
        ("loss", TAKES + "; not str"),
        (3, TAKES + "; not int"),
        ([1.0], TAKES + "; not float"),
        ({"loss": ([1, 2, 3], [1, 2])}, "metric 'loss': 3 steps and 2 values"),
        ({"loss": ([1], [1], [1])}, "metric 'loss': a tuple must be (steps, values), not 3 items"),
        ({"loss": [[1, 2]]}, "metric 'loss': values must have one dimension, not 2"),
        ({"loss": ([NAN], [1])}, "metric 'loss': steps must be one dimension of finite whole numbers"),
        ({"loss": ([1e300], [1])}, "metric 'loss': steps must be one dimension of finite whole numbers"),
        (pd.DataFrame({"step": [1], "note": "x"}),
         "the DataFrame has no column of numbers other than the step"),
        (pd.DataFrame({"run": ["a", "b"], "metric": "loss", "step": [1, 2], "value": [1, 2]}),
         "the DataFrame holds several runs: stitch one at a time, table[table.run == ...]"),
    ],
)  # fmt: skip
def test_what_cannot_be_stitched_is_said(what, message):
    with pytest.raises(UsageError) as caught:
        stitch(what)
    assert str(caught.value) == message


@pytest.mark.parametrize("bad", [{"loss": ["x"]}, {"loss": (["x"], [1])}])
def test_words_are_no_numbers(bad):
    with pytest.raises(UsageError, match=r"^metric 'loss': (values|steps) must be (whole )?numbers "):
        stitch(bad)


def test_a_wide_table_has_its_step_in_a_column_or_the_index():
    table = pd.DataFrame({"loss": [3.0, 2.0, 1.0], "note": ["a", "b", "c"]}, index=[10, 20, 30])
    expected = {"loss": ([10, 20, 30], [3.0, 2.0, 1.0])}
    assert columns(stitch(table)) == expected
    assert columns(stitch(table.rename_axis("Step").reset_index())) == expected


def test_blank_cells_of_a_wide_table_were_not_measured():
    table = pd.DataFrame({"step": range(4), "loss": [3, 2, NAN, 1], "val_loss": [NAN, 4, NAN, 3]})
    assert columns(stitch(table)) == {"loss": ([0, 1, 3], [3.0, 2.0, 1.0]), "val_loss": ([1, 3], [4.0, 3.0])}


def test_a_loss_that_ends_in_nan_is_data():
    table = pd.DataFrame(
        {"loss": [3.0] * 10 + [NAN] * 10, "lr": 1e-3, "val_loss": [NAN] * 8 + [2.0] + [NAN] * 11}
    )
    counts = {m: len(t) for m, t in stitch(table).series.items()}
    assert counts == {"loss": 20, "lr": 20, "val_loss": 1}
    assert len(stitch(table[["loss"]]).series["loss"]) == 20


def test_a_long_table_gives_back_the_timeline_it_was_made_of():
    timeline = stitch([log("a", range(100), start=0), log("b", range(80, 200), seed=1, start=HOUR)])
    again = stitch(timeline.frame())
    assert (names(again), joins(again)) == (names(timeline), joins(timeline))
    assert columns(again) == columns(timeline)
    assert again.series["loss"].times.tolist() == timeline.series["loss"].times.tolist()
    assert again.series["loss"].role is Role.LOSS


def test_a_long_table_may_have_three_columns():
    table = pd.DataFrame({"metric": ["loss", "loss", "x"], "step": [2, 1, 1], "value": [1.0, NAN, 2.0]})
    timeline = stitch(table)
    assert {m: t.steps.tolist() for m, t in timeline.series.items()} == {"loss": [1, 2], "x": [1]}


def test_roles_of_a_long_table_win_over_names():
    table = pd.DataFrame({"metric": "q", "step": [1, 2], "value": [1.0, 2.0], "role": "grad-norm"})
    assert stitch(table).series["q"].role is Role.GRAD_NORM


def test_stitching_needs_numpy_alone():
    code = "import sys, chronicle.timeline as t; t.stitch({'loss': [1.0]}); print('pandas' in sys.modules)"
    assert printed_by(code) == "False\n"
