"""Several counters in one log: one is the axis, every row is kept, and the log says which one it is."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.depth import few
from tests.logs import attempt_of
from tests.readers.writers import event_log

from chronicle.errors import LogError, NothingToRead
from chronicle.model import Attempt
from chronicle.readers import read
from chronicle.readers.step_axis import MANY, Column, axis_of
from chronicle.timeline import stitch


def log(tmp_path: Path, rows: list[dict[str, Any]]) -> Attempt:
    return attempt_of(tmp_path, "".join(json.dumps(row) + "\n" for row in rows), "log.jsonl")


def steps(attempt: Attempt, metric: str = "loss") -> list[int]:
    return attempt.series[metric].steps.tolist()  # type: ignore[no-any-return]


def test_calls_of_a_tracker_tell_the_rows_in_which_the_step_is_blank(tmp_path: Path) -> None:
    rows = [{"_step": i, "loss": 9.0 - i, **({"iter": 10 * i} if i % 6 == 0 else {})} for i in range(24)]
    attempt = log(tmp_path, rows)
    assert steps(attempt) == [10 * i for i in range(24)]
    assert attempt.facts["step_counter"] == "iter; 20 rows by _step"


@pytest.mark.parametrize("name", ["num of updates", "Number of updates", "num_updates", "NumIters"])
def test_a_counter_may_say_that_it_is_a_number_of_what(tmp_path: Path, name: str) -> None:
    rows = [{"time": 2.5 * i, name: 1000 * i, "ret loss": 3.5 / i} for i in range(1, 7)]
    assert steps(log(tmp_path, rows), "ret loss") == [1000 * i for i in range(1, 7)]


def test_rows_without_a_trackers_calls_before_all_others_are_of_the_training(tmp_path: Path) -> None:
    """Those of an evaluation, where `iter` is blank beside the epoch, stand behind rows of the training."""
    rows = [{"step": 10 * i, "reward": 0.5 + i} for i in range(4)]
    rows += [{"step": 40 + i, "_step": 40 + i, "reward": 0.1 * i} for i in range(12)]
    attempt = log(tmp_path, rows)
    assert steps(attempt, "reward") == [0, 10, 20, 30, *range(40, 52)]
    assert "val/reward" not in attempt.series


def test_a_column_without_a_name_is_no_axis(tmp_path: Path) -> None:
    attempt = log(tmp_path, [{"": 0.5, "loss": 3.0}, {"": 1.5, "loss": 2.0}, {"": 2.5, "loss": 1.0}])
    assert (attempt.axis, steps(attempt)) == ("row", [0, 1, 2])


def test_a_counter_of_few_rows_is_no_axis(tmp_path: Path) -> None:
    rows = [{"_step": i, "loss": 9.0 - i, **({"iter": 7 * i * i} if i % 3 == 0 else {})} for i in range(24)]
    attempt = log(tmp_path, rows)
    assert (steps(attempt), steps(attempt, "iter")) == ([*range(24)], [*range(0, 24, 3)])
    assert attempt.facts["step_counter"] == "_step"


def test_an_evaluation_between_two_rows_stands_at_the_row_before(tmp_path: Path) -> None:
    pairs = (
        ({"_step": 2 * i, "iter": 10 * i, "loss": 1.5}, {"_step": 2 * i + 1, "val_loss": 2.5})
        for i in (1, 2, 3)
    )
    attempt = log(tmp_path, [row for pair in pairs for row in pair])
    assert (steps(attempt), steps(attempt, "val_loss")) == ([10, 20, 30], [10, 20, 30])


def test_evaluations_that_were_written_at_the_end_stand_at_the_ends_of_their_epochs(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"epoch": e, "step": 10 * e + i, "loss": 1.5} for e in range(6) for i in (1, 2, 3)
    ]
    rows += [{"epoch": e, "val_loss": 2.5 - e} for e in range(6)]
    attempt = log(tmp_path, rows)
    assert steps(attempt, "val_loss") == [3, 13, 23, 33, 43, 53]
    assert attempt.facts["step_counter"] == "step; 6 rows by epoch"


def test_an_evaluation_before_the_training_is_kept(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"epoch": 0, "val_loss": 9.5}]
    rows += [{"epoch": e, "step": 10 * e + i, "loss": 1.5} for e in range(3) for i in (1, 2, 3)]
    assert steps(log(tmp_path, rows), "val_loss") == [1]


def test_one_count_under_two_names(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"step": i, "loss": 1.5} for i in range(0, 100, 10)]
    rows += [{"iteration": i, "val_loss": 2.5} for i in range(0, 100, 20)]
    assert steps(log(tmp_path, rows), "val_loss") == [0, 20, 40, 60, 80]


@pytest.mark.parametrize("counter", ["batch", "step"])
def test_rows_that_tell_the_epoch_alone_end_it(counter: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    for epoch in range(4):
        rows += [{counter: batch, "loss": 1.5} for batch in (10, 20, 30)]
        rows.append({"epoch": epoch, "val_loss": 2.5})
    attempt = log(tmp_path, rows)
    assert (steps(attempt), steps(attempt, "val_loss")) == ([*range(10, 130, 10)], [30, 60, 90, 120])
    assert attempt.facts["steps_per_epoch"] == 30


@pytest.mark.parametrize("counter", ["i", "idx"])
def test_a_short_name_counts_where_its_values_grow(counter: str, tmp_path: Path) -> None:
    rows = [{counter: 100 * row, "loss": 2.0 - row / 8} for row in range(8)]
    assert steps(log(tmp_path, rows)) == [*range(0, 800, 100)]


def test_how_long_episodes_were_is_no_axis(tmp_path: Path) -> None:
    lengths = [74, 73, 118, 180, 532, 1027, 890, 622, 937, 179]
    rows = [{"episode": i + 1, "steps": n, "score": float(n % 7)} for i, n in enumerate(lengths)]
    assert steps(log(tmp_path, rows), "score") == [*range(1, 11)]


def test_samples_trained_on_are_an_axis(tmp_path: Path) -> None:
    attempt = log(tmp_path, [{"samples trained on": 64 * i, "avg_reward": float(i % 3)} for i in (1, 2, 3)])
    assert (attempt.axis, steps(attempt, "avg_reward")) == ("sample", [64, 128, 192])


@pytest.mark.parametrize("name", ["tokens_processed", "effective_batch_number"])
def test_what_a_row_was_trained_on_goes_before_its_epoch(name: str, tmp_path: Path) -> None:
    attempt = log(tmp_path, [{"epoch": n // 8, name: 4 * n, "loss": 9.0 - n / 4} for n in range(24)])
    assert steps(attempt) == [4 * n for n in range(24)]


def test_steps_that_begin_anew_are_an_axis_however_often(tmp_path: Path) -> None:
    rows = [{"step": step, "loss": 1.5} for _ in range(4) for step in (100, 200)]
    assert steps(log(tmp_path, rows)) == [100, 200] * 4


def test_two_writers_of_one_log_count_steps(tmp_path: Path) -> None:
    rows = [{"current_steps": step, "loss": 1.5} for n in range(1, 90) for step in (10 * n, 10 * n - 20)]
    assert steps(log(tmp_path, rows)) == [row["current_steps"] for row in rows]


@pytest.mark.parametrize("counter", ["episode", "generation", "Game", "episode_id", "game_number"])
def test_episodes_begin_anew_with_a_launch(counter: str, tmp_path: Path) -> None:
    rows = [{counter: i, "reward": i / 8} for i in (1, 2, 3, 4, 1, 2)]
    assert steps(log(tmp_path, rows), "reward") == [1, 2, 3, 4, 1, 2]


def test_a_counter_says_how_far_it_is_of_all(tmp_path: Path) -> None:
    records = [
        {"loss": 2.5, "global_step/max_steps": f"{n}/438", "percentage": f"{n / 4.38:.2f}%"}
        for n in (1, 10, 20)
    ]
    assert steps(log(tmp_path, records)) == [1, 10, 20]


def test_a_table_stands_on_the_axis_of_its_event_file(tmp_path: Path) -> None:
    lines = [f"{i},{2048 * i},{-80.5 + i}\n" for i in range(1, 9)]
    (tmp_path / "progress.csv").write_text(
        "time/iterations,time/total_timesteps,rollout/ep_rew_mean\n" + "".join(lines)
    )
    points = {"rollout/ep_rew_mean": [(2048 * i, -80.5 + i) for i in range(1, 9)]}
    event_log(tmp_path / "events.out.tfevents.1.host", points)
    events, table = read(tmp_path)
    assert (
        steps(table, "rollout/ep_rew_mean")
        == steps(events, "rollout/ep_rew_mean")
        == [*range(2048, 16385, 2048)]
    )
    assert table.series["time/iterations"].values.tolist() == [*range(1, 9)]
    assert table.facts["step_counter"] == "time/total_timesteps"
    (tmp_path / "events.out.tfevents.1.host").unlink()
    (alone,) = read(tmp_path)
    assert steps(alone, "rollout/ep_rew_mean") == [*range(2048, 16385, 2048)]


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_placed_as_by_looking_up_one_after_the_other(seed: int) -> None:
    random_ = random.Random(seed)
    n_rows, per_step, often = 40, random_.randint(1, 5), random_.choice([0.05, 0.2, 0.5])
    rows = range(n_rows)
    axis = {row: row // per_step for row in rows if random_.random() < often or row in (0, 1, n_rows - 1)}
    other = {row: row // 3 for row in rows if random_.random() < 0.8}
    columns = {
        name: Column(np.array([*cells.values()]), np.array([*cells]))
        for name, cells in (("step", axis), ("epoch", other))
    }
    made = axis_of(columns)
    assert made.column is not None
    placed = dict(zip(made.column.rows.tolist(), made.column.values.tolist(), strict=True))
    assert placed == (obvious(axis, other) if len(set(other.values())) > 1 else axis)


def obvious(axis: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    both = sorted((other[row], axis[row]) for row in axis if row in other)
    placed = dict(axis)
    for row in sorted(set(other) - set(axis)):
        before, after = (
            max((r for r in axis if r < row), default=-1),
            min((r for r in axis if r > row), default=99),
        )
        others = [other[r] for r in sorted(other) if before < r < after]
        changes = 1 + sum(a != b for a, b in pairwise(others))
        if changes >= MANY and len({b for b, _ in both}) > 1:
            ends = [step for epoch, step in both if epoch <= other[row]]
            placed[row] = ends[-1] if ends else both[0][1]
    return placed


@pytest.mark.parametrize("name", ["steps", "step"])
def test_what_stands_still_is_an_amount_and_counts_nothing(name: str) -> None:
    """The length of each episode of an evaluation, all of which ran to their end."""
    columns = {
        "episode": Column(np.arange(1, 9), np.arange(8)),
        name: Column(np.full(8, 200), np.arange(8)),
    }
    assert axis_of(columns).name == "episode"
    assert axis_of({name: Column(np.full(2, 200), np.arange(2))}).name == name


def test_steps_that_begin_anew_with_each_episode_do_not_count() -> None:
    """A row for each move in a world: its rows follow each other through all episodes, in one training."""
    lengths = [3, 5, 4, 9, 3, 6]
    moves = np.concatenate([np.arange(n) for n in lengths])
    rows = np.arange(len(moves))
    episodes = np.repeat(np.arange(len(lengths)), lengths)
    columns = {"episode": Column(episodes, rows), "step": Column(moves, rows)}
    assert (axis_of(columns).name, axis_of(columns).counts) == ("", "row")
    on = {**columns, "step": Column(moves + 9 * episodes, rows)}
    assert axis_of(on).name == "step"


def test_steps_that_fall_while_episodes_are_counted_on_are_those_of_an_episode() -> None:
    """An agent that is cut off after 25 steps, or solves its task earlier: also where most are cut off."""
    rows = np.arange(10)
    lengths = np.array([25, 1, 25, 3, 25, 25, 2, 25, 4, 25])
    of_launches = np.array([1, 2, 3, 4, 5, 1, 2, 3, 4, 5])
    assert axis_of({"episode": Column(rows, rows), "steps": Column(lengths, rows)}).name == "episode"
    assert axis_of({"episode": Column(of_launches, rows), "steps": Column(of_launches, rows)}).name == "steps"


NAMES = (
    "step steps iter episode epoch batch mode loss train_loss val_loss total box_loss cls_loss reward time"
)
NUMBERS = ["nan", "inf", "-inf", "1e308", "-1e308", "9223372036854775807", "-9223372036854775808", "1e-320"]


@pytest.mark.parametrize("part", range(2))
def test_numbers_of_any_size_are_data_in_every_column_and_worth_no_warning(tmp_path: Path, part: int) -> None:
    """Of whole and other numbers, from a row on to infinity and back: warnings are errors in all tests."""
    for seed in few(range(part * 200, part * 200 + 200), 4):
        random_ = random.Random(seed)
        names = random_.sample(NAMES.split(), random_.randint(2, 7))
        share = random_.choice([0.02, 0.1, 0.5])
        lines = [",".join(names)]
        for row in range(random_.randint(1, 60)):
            usual = [f"{row % 7}", f"{row}", f"{random_.gauss(0, 1)!r}", ""]
            kinds = [usual[(len(name) + seed) % 4] for name in names]
            cells = [random_.choice(NUMBERS) if random_.random() < share else cell for cell in kinds]
            lines.append(
                ",".join(
                    random_.choice(["train", "val"]) if name == "mode" else cell
                    for name, cell in zip(names, cells, strict=True)
                )
            )
        file = tmp_path / f"{seed}.csv"
        file.write_text("\n".join(lines) + "\n")
        with suppress(LogError, NothingToRead):
            assert stitch(read(file)).attempts


def test_a_second_counter_without_a_whole_number_tells_nothing(tmp_path: Path) -> None:
    attempt = log(tmp_path, [{"iter": None, "step": 4, "loss": 2.5}, {"step": 5, "loss": 2.0}])
    assert steps(attempt) == [4, 5]


def test_infinite_and_huge_counters_are_compared_without_a_warning() -> None:
    """Warnings are errors in the tests; a column of steps may hold any number that a log can hold."""
    draw = random.Random(0)
    for n_rows in range(1, 300):
        whole = [float(draw.randrange(1000)) for _ in range(n_rows)]
        odd = [draw.choice([np.inf, -np.inf, np.nan, 1e308, -1e308]) for _ in range(n_rows)]
        values = np.array([o if draw.random() < 0.2 else w for w, o in zip(whole, odd, strict=True)])
        rows = np.arange(n_rows)
        axis = axis_of({"episode": Column(np.arange(n_rows), rows), "steps": Column(values, rows)})
        assert axis.name in ("episode", "steps")


def test_an_amount_that_falls_from_epoch_to_epoch_counts_nothing() -> None:
    """The samples of a batch and, in a row of its own, of its epoch; but not what each epoch counts."""
    rows = np.arange(40)
    epochs, amounts = rows // 2, np.array([3, 3, 32, 32, 2, 2, 1561, 1561] * 5)
    named = {"epoch": Column(epochs, rows), "samples": Column(amounts, rows)}
    assert axis_of(named).name == "epoch"
    assert axis_of({**named, "samples": Column(1 + rows % 2, rows)}).name == "samples"
