"""JSON documents: golden values of Megatron, and rows or columns somewhere in any document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.logs import attempt_of, points

from chronicle.classify import classify
from chronicle.errors import BadLog, UnknownFormat
from chronicle.metrics.roles import shown_metric
from chronicle.model import Role
from chronicle.readers import json_documents, read
from chronicle.readers.text import Head
from chronicle.timeline import stitch


def document(tmp_path: Path, content: Any) -> Path:
    file = tmp_path / "document.json"
    file.write_text(json.dumps(content))
    return file


def metric(points: Any, start: int = 1, interval: int = 5) -> dict[str, Any]:
    return {"start_step": start, "end_step": 99, "step_interval": interval, "values": points}


def test_golden_values_by_step_and_as_a_list(tmp_path: Path) -> None:
    content = {
        "lm loss": metric({"1": 3.5, "5": 3.0, "10": "nan", "15": None, "x": 1.0, "-5": 2}),
        "num-zeros": metric([7, 8.5, "nan", 9], start=0, interval=5),
        "empty": metric({"1": "nan"}),
        "none": None,
    }
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt) == {
        "lm loss": [(1, 3.5), (5, 3.0), (-5, 2.0)],
        "num-zeros": [(0, 7.0), (5, 8.5), (15, 9.0)],
    }


def test_a_literal_nan_of_golden_values_is_data(tmp_path: Path) -> None:
    (attempt,) = read(document(tmp_path, {"lm loss": metric({"1": float("nan"), "5": "nan"})}))
    np.testing.assert_array_equal(attempt.series["lm loss"].values, [np.nan])


@pytest.mark.parametrize("content", [{"lm loss": metric({"1": "nan"})}, {"lm loss": metric(7)}], ids=str)
def test_golden_values_without_a_number(content: Any, tmp_path: Path) -> None:
    with pytest.raises(BadLog, match="no run logged a metric"):
        read(document(tmp_path, content))


ROWS = [{"step": 10 * i, "loss": 3.0 - i / 4} for i in range(8)]
LOSS = [(10 * i, 3.0 - i / 4) for i in range(8)]


@pytest.mark.parametrize(
    "content",
    [ROWS, {"metrics": ROWS}, {"a": {"b": {"c": ROWS}}, "other": [1, 2, 3]}, {"a": [{"x": 1}], "log": ROWS}],
    ids=["list", "in an object", "deep", "beside others"],
)
def test_rows_are_found_where_they_are(content: Any, tmp_path: Path) -> None:
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt) == {"loss": LOSS}


def test_tables_of_a_document_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    other = [{"step": 20 * i, "loss": 4.0} for i in range(8)]
    (attempt,) = read(document(tmp_path, {"train": ROWS, "eval": other}))
    assert points(attempt) == {"train/loss": LOSS, "eval/loss": [(20 * i, 4.0) for i in range(8)]}


def test_rows_of_several_runs_are_several_runs(tmp_path: Path) -> None:
    rows = [{"run_name": "ab"[i % 2], "step": i // 2, "loss": 3.0 - i} for i in range(8)]
    file = document(tmp_path, {"config": {"lr": 0.1}, "rows": rows})
    attempts = json_documents.BY_NAME["json"].read(file)
    assert [points(attempt) for attempt in attempts] == [
        {"loss": [(0, 3.0), (1, 1.0), (2, -1.0), (3, -3.0)]},
        {"loss": [(0, 2.0), (1, 0.0), (2, -2.0), (3, -4.0)]},
    ]
    assert [attempt.facts for attempt in attempts] == [{"run": run, "config/lr": 0.1} for run in "ab"]
    assert json_documents.BY_NAME["json"].runs(file) == ["a", "b"]


def test_columns_are_rows_written_the_other_way(tmp_path: Path) -> None:
    content = {"loss": [3.0, float("nan"), None, 2], "acc": [0.1, 0.2, 0.3, 0.4], "name": "keras"}
    (attempt,) = read(document(tmp_path, {"history": content}))
    assert attempt.axis == "row"
    np.testing.assert_array_equal(attempt.series["loss"].values, [3.0, np.nan, 2.0])
    assert attempt.series["loss"].steps.tolist() == [0, 1, 3]
    assert attempt.facts["history/name"] == "keras"


def test_texts_that_spell_numbers_are_cells(tmp_path: Path) -> None:
    losses = [f"tensor({3 - i / 4}, device='cuda:0')" for i in range(4)]
    (attempt,) = read(document(tmp_path, {"loss": losses, "step": ["10", "20", "30", "40"]}))
    assert points(attempt) == {"loss": [(10, 3.0), (20, 2.75), (30, 2.5), (40, 2.25)]}


LOSSES = [5.0, 4.0, 3.5, 3.25, 3.0, 2.75]


@pytest.mark.parametrize(
    ("training", "validation", "metric"),
    [
        ("training", "valid_0", "l2"),  # LightGBM
        ("validation_0", "validation_1", "rmse"),  # XGBoost
        ("train", "eval", "mlogloss"),
        ("learn", "validation", "RMSE"),  # CatBoost
        ("train", "valid", "quux"),  # of a metric of our own
    ],
)
def test_tables_that_count_nothing_are_of_the_same_iterations(
    training: str, validation: str, metric: str, tmp_path: Path
) -> None:
    content = {training: {metric: LOSSES}, validation: {metric: [*reversed(LOSSES)], "auc": LOSSES}}
    (attempt,) = read(document(tmp_path, content))
    assert attempt.axis == "row"
    assert points(attempt) == {
        f"{training}/{metric}": [*enumerate(LOSSES)],
        f"{validation}/{metric}": [*enumerate(reversed(LOSSES))],
        f"{validation}/auc": [*enumerate(LOSSES)],
    }
    (alone,) = read(document(tmp_path, {"evals": {validation: {metric: LOSSES}}}))
    assert points(alone) == {f"evals/{validation}/{metric}": [*enumerate(LOSSES)]}


def test_boosting_that_overfits_is_found(tmp_path: Path) -> None:
    fitted = [5.0 * 0.97**i + 0.01 * (i % 3) for i in range(200)]
    held_out = [5.0 * 0.97 ** min(i, 60) + 0.02 * max(i - 60, 0) + 0.01 * (i % 3) for i in range(200)]
    content = {"training": {"l2": fitted}, "valid_0": {"l2": held_out}}
    timeline = stitch(read(document(tmp_path, content)), run_id="boosting")
    assert "overfitting" in classify(timeline).patterns


def test_shorter_lists_of_a_table(tmp_path: Path) -> None:
    (attempt,) = read(document(tmp_path, {"loss": [float(9 - i) for i in range(8)], "val_loss": LOSSES[:4]}))
    assert attempt.series["val_loss"].steps.tolist() == [1, 3, 5, 7]  # once in two rows, at their end
    (attempt,) = read(document(tmp_path, {"loss": LOSSES, "val_loss": LOSSES[:5], "note": [1, 2]}))
    assert attempt.series["val_loss"].steps.tolist() == [0, 1, 2, 3, 4]
    (attempt,) = read(document(tmp_path, {"train": {"loss": [2.5] * 8}, "val": {"loss": [2.5] * 4}}))
    assert attempt.series["val/loss"].steps.tolist() == [1, 3, 5, 7]
    # each third epoch, of a training that ended in the middle
    losses = [2.5 - i / 16 for i in range(14)]
    (attempt,) = read(document(tmp_path, {"loss": losses, "val_loss": LOSSES[:4]}))
    assert attempt.series["val_loss"].steps.tolist() == [2, 5, 8, 11]


def test_lists_of_pairs_are_columns_at_the_steps_that_they_tell(tmp_path: Path) -> None:
    train = [[20 * (i + 1), 2.5 - i / 16] for i in range(9)]
    held_out = [[60, 2.25], [100, 2.0], [120, 1.75], [180, 1.5]]
    by_epoch = [[i + 1, 0.5 + i / 8] for i in range(4)]
    (attempt,) = read(document(tmp_path, {"loss": train, "val_loss": held_out, "acc": by_epoch}))
    assert points(attempt) == {
        "loss": [(20 * (i + 1), 2.5 - i / 16) for i in range(9)],
        "val_loss": [(60, 2.25), (100, 2.0), (120, 1.75), (180, 1.5)],
        "acc": [(40, 0.5), (80, 0.625), (120, 0.75), (160, 0.875)],
    }
    file = document(tmp_path, train).rename(tmp_path / "train_loss.json")
    (attempt,) = read(file)
    assert points(attempt) == {"train_loss": [(20 * (i + 1), 2.5 - i / 16) for i in range(9)]}


def test_lists_of_pairs_of_different_steps_keep_their_own(tmp_path: Path) -> None:
    """The last evaluation comes one step after the last loss."""
    train, held_out = [[10 * i, 2.5 - i / 16] for i in range(9)], [[n, 2.5 - n / 64] for n in (0, 27, 54, 81)]
    (attempt,) = read(document(tmp_path, {"loss": train, "val_loss": held_out}))
    assert points(attempt) == {
        "loss": [(10 * i, 2.5 - i / 16) for i in range(9)],
        "val_loss": [(n, 2.5 - n / 64) for n in (0, 27, 54, 81)],
    }


def test_a_table_without_a_step_beside_one_as_long_that_has_it(tmp_path: Path) -> None:
    (attempt,) = read(document(tmp_path, {"train": ROWS, "eval": {"loss": [4.5] * 8}}))
    assert points(attempt) == {"train/loss": LOSS, "eval/loss": [(10 * i, 4.5) for i in range(8)]}


def test_a_table_without_a_step_beside_one_of_another_length_that_has_it(tmp_path: Path) -> None:
    """Rewards of all episodes beside the rows of the updates; and a loss of each second row."""
    rows = [{"update": n, "value_loss": 1 / n} for n in range(1, 9)]

    def steps_of(**lists: list[float]) -> list[int]:
        (tmp_path / "h.json").write_text(json.dumps({"log": rows, **lists}))
        series = json_documents.BY_NAME["json"].read(tmp_path / "h.json")[0].series
        assert series["log/value_loss"].steps.tolist() == list(range(1, 9))
        return next(series[name].steps.tolist() for name in lists)

    assert steps_of(rewards=[float(n) for n in range(20)]) == list(range(20))
    assert steps_of(val_loss=[0.4, 0.3, 0.25, 0.2]) == [2, 4, 6, 8]


def test_evaluations_say_after_which_of_the_episodes_in_a_list_they_were(tmp_path: Path) -> None:
    history = [{"episode": 5 * n, "mean_reward": float(n)} for n in range(4)]
    rewards = [0.5 * n for n in range(16)]
    (attempt,) = read(document(tmp_path, {"training_rewards": rewards, "evaluation_history": history}))
    assert points(attempt) == {
        "training_rewards": [*enumerate(rewards)],
        "evaluation_history/mean_reward": [(5 * n, float(n)) for n in range(4)],
    }


def test_a_column_may_count_the_steps(tmp_path: Path) -> None:
    (attempt,) = read(document(tmp_path, {"step": [5, 10, 15, 20], "loss": [4.0, 3.0, 2.0, 1.0]}))
    assert points(attempt) == {"loss": [(5, 4.0), (10, 3.0), (15, 2.0), (20, 1.0)]}


def test_columns_as_pandas_writes_them_and_rows_by_step(tmp_path: Path) -> None:
    columns = {"loss": {str(i): 2.5 - i / 8 for i in range(12)}, "note": {str(i): "a" for i in range(12)}}
    (attempt,) = read(document(tmp_path, columns))
    assert points(attempt) == {"loss": [(i, 2.5 - i / 8) for i in range(12)]}
    assert attempt.facts == {"format": "json"}
    by_step = {"loss": {str(10 * i): 2.5 - i / 8 for i in range(5)}}
    (attempt,) = read(document(tmp_path, by_step))
    assert points(attempt) == {"loss": [(10 * i, 2.5 - i / 8) for i in range(5)]}
    (attempt,) = read(document(tmp_path, {str(i): {"loss": 2.5 - i / 8} for i in (30, 4, 200)}))
    assert points(attempt) == {"loss": [(4, 2.0), (30, -1.25), (200, -22.5)]}


def test_what_tensorboard_gives_as_json(tmp_path: Path) -> None:
    rows = [[1700000000.5 + i, 10 * i, 2.5 - i / 8] for i in range(5)]
    file = document(tmp_path, rows).rename(tmp_path / "run-a-tag-train_loss.json")
    (attempt,) = read(file)
    assert points(attempt) == {"train_loss": [(10 * i, 2.5 - i / 8) for i in range(5)]}
    assert attempt.series["train_loss"].times.tolist() == [1700000000.5 + i for i in range(5)]


@pytest.mark.parametrize("other", [2.625, 0.001])
def test_a_step_and_two_losses_are_those_of_training_and_held_out(other: float, tmp_path: Path) -> None:
    """Only where both begin at one level: a learning rate may stand beside a loss as well."""
    rows = [[200 * i, 2.5 - i / 8, other - i / 16_000] for i in (1, 2, 3, 4)]
    file = document(tmp_path, rows).rename(tmp_path / "loss_history.json")
    if other < 1.0:
        with pytest.raises(UnknownFormat):
            read(file)
        return
    (attempt,) = read(file)
    roles = {name: series.role for name, series in attempt.series.items()}
    assert roles == {"loss_history": Role.LOSS, "val_loss_history": Role.VALIDATION_LOSS}
    assert points(attempt)["val_loss_history"] == [(step, held_out) for step, _, held_out in rows]


@pytest.mark.parametrize("below", [lambda losses: losses, lambda losses: {"7": losses, "8": losses}])
def test_lists_of_any_name_in_a_file_of_losses_are_a_run_each(below: Any, tmp_path: Path) -> None:
    """The names say nothing, so the file does: of models, and of the seeds around them."""
    losses = {"large": [3.5, 2.5, 1.5, 1.25, 1.0], "small": [3.75, 3.25, 2.75, 2.5]}
    (file := tmp_path / "training_losses.json").write_text(json.dumps(below(losses)))
    runs = {attempt.facts["run"]: points(attempt)["training_losses"] for attempt in read(file)}
    seeds = ("",) if "large" in below(losses) else ("7/", "8/")
    assert runs == {f"{seed}{n}": [*enumerate(values)] for seed in seeds for n, values in losses.items()}
    assert json_documents.BY_NAME["json"].runs(file) == [*runs]
    file.rename(other := tmp_path / "coordinates.json")
    assert not json_documents.identify(Head.of(other))


@pytest.mark.parametrize("n_evaluations", [4, 3])
def test_as_many_values_as_there_are_steps_stand_at_one_each(n_evaluations: int, tmp_path: Path) -> None:
    """An evaluation told the steps of the training again, each time or but for one."""
    steps = sorted([*range(10, 90, 10), *range(20, 100, 20)])
    losses, held_out = [2.5 - i / 16 for i in range(8)], [2.25 - i / 8 for i in range(n_evaluations)]
    (attempt,) = read(document(tmp_path, {"step": steps, "loss": losses, "eval_score": held_out}))
    assert points(attempt)["loss"] == [*zip(range(10, 90, 10), losses, strict=True)]
    if n_evaluations == 4:
        assert points(attempt)["eval_score"] == [*zip(range(20, 100, 20), held_out, strict=True)]


@pytest.mark.parametrize(("first", "is_whole"), [(0, False), (1, False), (0, True)])
def test_rows_of_epochs_stand_behind_the_steps_of_theirs(first: int, is_whole: bool, tmp_path: Path) -> None:
    steps = [
        {"step": n, "epoch": (n - 1) // 4 if is_whole else n / 4, "loss": 2.5 - n / 16} for n in range(1, 13)
    ]
    epochs = [{"epoch": first + n, "val_loss": 2.25 - n / 8} for n in range(3)]
    (attempt,) = read(document(tmp_path, {"history": steps, "epochs": epochs}))
    assert points(attempt)["epochs/val_loss"] == [(4, 2.25), (8, 2.125), (12, 2.0)]
    assert [step for step, _ in points(attempt)["history/loss"]] == [*range(1, 13)]


@pytest.mark.parametrize("n_told", [0, 5])
def test_a_loss_that_is_null_to_the_end_is_nan(n_told: int, tmp_path: Path) -> None:
    """JSON has no NaN: JavaScript writes null. Beside another value, null is what was not measured."""
    losses = [2.5 - n / 8 if n < n_told else None for n in range(9)]
    rows = [{"epoch": n, "loss": loss} for n, loss in enumerate(losses)]
    (attempt,) = read(document(tmp_path, rows))
    assert attempt.series["loss"].steps.tolist() == [*range(9)]
    assert np.isnan(attempt.series["loss"].values).tolist() == [False] * n_told + [True] * (9 - n_told)
    assert classify([attempt]).verdict == "bad"
    (attempt,) = read(document(tmp_path, [row | {"val_loss": 2.5} for row in rows]))
    assert len(attempt.series.get("loss", ())) == n_told


def test_a_history_of_few_epochs_is_read(tmp_path: Path) -> None:
    history = [{"epoch": i, "train_loss": 2.5 - i / 4, "lr": 0.001} for i in (1, 2, 3)]
    (attempt,) = read(document(tmp_path, {"args": {"seed": 7}, "history": history}))
    assert (attempt.axis, attempt.facts["seed"]) == ("epoch", 7)
    assert points(attempt)["train_loss"] == [(1, 2.25), (2, 2.0), (3, 1.75)]


def test_rows_that_count_epochs_or_nothing_are_read_in_their_order(tmp_path: Path) -> None:
    """Names without the word "loss" beside an epoch; and losses beside nothing that counts."""
    rows = [{"total": 9.5 - i, "bc": 0.5, "ic": 4.5 - i / 2} for i in range(8)]
    (attempt,) = read(document(tmp_path, [{"epoch": i} | row for i, row in enumerate(rows)]))
    assert (attempt.axis, points(attempt)["total"][:2]) == ("epoch", [(0, 9.5), (1, 8.5)])
    bare = [{"q1_loss": row["total"], "alpha": None if i < 3 else 0.5} for i, row in enumerate(rows)]
    (attempt,) = read(document(tmp_path, bare))
    assert (attempt.axis, points(attempt)["q1_loss"][:2]) == ("row", [(0, 9.5), (1, 8.5)])


@pytest.mark.parametrize(
    "content",
    [
        {"lr": 0.1, "layers": [1, 2, 3, 4, 5, 6, 7, 8, 9]},
        {"loss": [1.0, 2.0, 3.0]},
        {"train": {"ids": [1, 2, 3, 4, 5]}, "test": {"ids": [6, 7, 8, 9]}},
        {"a": {"x": [1.5, 2.5, 3.5, 4.5]}},
        {"rows": ROWS[:2]},
        {str(i): {"pages": i} for i in range(9)},
        [[i, 2 * i, 0.5] for i in range(9)],
        {"rows": [{"step": i, "x": 1.0} for i in range(7)]},
        {"rows": [{"id": i, "tokens": 7 * i, "text": "a"} for i in range(20)]},
        {"rows": [{"epoch": i, "pages": 2} for i in range(20)]},
        {"rows": [{"id": i, "loss": 1.0} for i in range(20)]},
        {"rows": [*ROWS, 7]},
        [1, 2, 3],
        {},
        "text",
    ],
    ids=str,
)
def test_other_documents_are_left_alone(content: Any, tmp_path: Path) -> None:
    file = document(tmp_path, content)
    assert not json_documents.identify(Head.of(file))
    with pytest.raises(UnknownFormat):
        read(file)


def test_configuration_and_results_are_facts(tmp_path: Path) -> None:
    content = {
        "train_config": {"optimizer": {"lr": 0.1}, "seed": 3, "sizes": [1, 2], "long": list(range(40))},
        "args": {"batch": 4, "seed": 5},
        "status": "success",
        "metrics": ROWS,
    }
    (attempt,) = read(document(tmp_path, content))
    assert attempt.facts == {
        "format": "json",
        "seed": 3,
        "config/optimizer/lr": 0.1,
        "config/seed": 3,
        "config/sizes": "1, 2",
        "config/batch": 4,
        "status": "success",
    }


def test_nesting_without_end_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text('{"a": ' * 100_000 + "1" + "}" * 100_000)
    assert not json_documents.identify(Head.of(file))
    content: Any = {"metrics": ROWS}
    for _ in range(20):
        content = {"a": content}
    assert not json_documents.identify(Head.of(document(tmp_path, content)))


def test_a_list_of_numbers_is_the_loss_that_its_file_is_named_after(tmp_path: Path) -> None:
    for name, claimed in (("losses.json", True), ("values.json", False), ("glossary.json", False)):
        (tmp_path / name).write_text("[2.5, 2.25, NaN, null, 2, 1.5, 1.25]")
        assert json_documents.identify(Head.of(tmp_path / name)) is claimed
    (attempt,) = read(tmp_path / "losses.json")
    series = attempt.series["losses"]
    assert (attempt.axis, series.steps.tolist()) == ("row", [0, 1, 2, 4, 5, 6])
    assert series.values[[0, 1, 3, 4, 5]].tolist() == [2.5, 2.25, 2.0, 1.5, 1.25]
    (tmp_path / "losses.json").write_text("[1, 2, 3, 4, 5]")
    assert not json_documents.identify(Head.of(tmp_path / "losses.json"))


@pytest.mark.parametrize(
    "text", ['["2.5", "2.25", "2", "1.5", "1.25"]', "['2.5', '2.25', '2', '1.5', '1.25']\n"]
)
def test_numbers_of_a_list_may_stand_in_quotes(text: str, tmp_path: Path) -> None:
    (tmp_path / "train_loss.txt").write_text(text)
    assert json_documents.identify(Head.of(tmp_path / "train_loss.txt"))
    (attempt,) = read(tmp_path / "train_loss.txt")
    assert points(attempt) == {"train_loss": [(0, 2.5), (1, 2.25), (2, 2.0), (3, 1.5), (4, 1.25)]}
    (tmp_path / "train_loss.txt").write_text("['a.png', 'b.png', 'c.png', '1.5', 'd.png']")
    assert not json_documents.identify(Head.of(tmp_path / "train_loss.txt"))


def test_a_list_of_numbers_is_the_reward_that_its_file_is_named_after(tmp_path: Path) -> None:
    file = document(tmp_path, [-3, -2, 0, 4, 4.5]).rename(tmp_path / "episode_rewards.json")
    (attempt,) = read(file)
    assert points(attempt) == {"episode_rewards": [(0, -3.0), (1, -2.0), (2, 0.0), (3, 4.0), (4, 4.5)]}


def test_a_list_that_is_a_column_is_no_fact(tmp_path: Path) -> None:
    columns = {"step": [1, 2, 3, 4], "loss": [2.5, 2.0, 1.5, 1.0]}
    attempt = attempt_of(tmp_path, json.dumps({"log": columns, "lrs": [0.1, 0.2], "seed": 3}), "a.json")
    assert attempt.facts == {"format": "json", "lrs": "0.1, 0.2", "seed": 3}
    assert attempt.series["loss"].steps.tolist() == [1, 2, 3, 4]


def test_rows_by_the_name_and_number_of_an_epoch(tmp_path: Path) -> None:
    content = {f"epoch_{n}": {"train_loss": 4 - n / 4, "val_loss": 4.5 - n / 4} for n in range(1, 11)}
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt)["val_loss"] == [(n, 4.5 - n / 4) for n in range(1, 11)]
    assert attempt.axis == "epoch"


def test_objects_with_the_same_lists_are_runs_that_their_keys_name(tmp_path: Path) -> None:
    lists = {"train_loss": [2.0, 1.5, 1.25, 1.0], "val_loss": [2.5, 2.0, 1.75, 1.5]}
    file = document(tmp_path, {"sgd": lists, "adam": {**lists, "train_loss": [1.0, 0.5, 0.25, 0.125]}})
    assert [(a.facts["run"], a.series["train_loss"].values[0]) for a in read(file)] == [
        ("adam", 1.0),
        ("sgd", 2.0),
    ]
    parts = document(
        tmp_path, {"actor": {"loss": [2.0, 1.5, 1.25, 1.0]}, "critic": {"loss": [2.5, 2.0, 1.75, 1.5]}}
    )
    assert {*read(parts)[0].series} == {"actor/loss", "critic/loss"}


def test_objects_that_number_seeds_are_runs_whatever_they_log(tmp_path: Path) -> None:
    lists = {"loss": [2.0, 1.5, 1.25, 1.0], "scores": [0.1, 0.2, 0.3, 0.4]}
    attempts = read(document(tmp_path, {"link_seed13": lists, "link_seed3": lists, "split_seed3": lists}))
    runs = [(attempt.facts["run"], sorted(attempt.series)) for attempt in attempts]
    assert runs == [(name, ["loss", "scores"]) for name in ("link_seed3", "link_seed13", "split_seed3")]


def of_agents(*names: str) -> dict[str, Any]:
    """What each has logged: rewards by episode, and losses by update."""
    rewards, updates = [0.0, 1.5, 2.0, 1.0, 3.5, 3.0], [{"update": k, "policy_loss": 0.5} for k in range(9)]
    return {name: {"rewards": rewards, "metrics": updates, "lr": 0.1} for name in names}


def test_objects_with_the_same_tables_are_runs_that_their_keys_name(tmp_path: Path) -> None:
    file = document(tmp_path, {"done": True, "results": of_agents("CartPole", "Acrobot")})
    assert [(a.facts["run"], sorted(a.series), len(a.series["rewards"])) for a in read(file)] == [
        ("results/Acrobot", ["metrics/policy_loss", "rewards"], 6),
        ("results/CartPole", ["metrics/policy_loss", "rewards"], 6),
    ]
    listed = [{"seed": seed, **run} for seed, run in zip((7, 8), of_agents("a", "b").values(), strict=True)]
    file = document(tmp_path, {"label": "baseline", "runs": listed})
    assert [a.facts["run"] for a in read(file)] == ["runs/7", "runs/8"]
    episodes = document(tmp_path, [{"episode": n, **of_agents("a")["a"]} for n in (1, 2)])
    with pytest.raises(UnknownFormat):
        read(episodes)
    for parts in (of_agents("agent_0", "agent_1"), of_agents("stage 1", "stage 2")):
        assert len(read(document(tmp_path, parts))) == 1


def test_a_dictionary_as_python_prints_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "history.txt"
    file.write_text(
        "{'train': {'loss': [np.float64(2.5), 2.25, nan, 1.75]}, "
        "'val': {'loss': [2.5, 2.25, 2.0, inf]}, 'done': True}"
    )
    (attempt,) = read(file)
    assert points(attempt) == {
        "train/loss": [(0, 2.5), (1, 2.25), (3, 1.75)],
        "val/loss": [(0, 2.5), (1, 2.25), (2, 2.0), (3, np.inf)],
    }
    for broken in ("__import__('os').getcwd(), 1.75]}}", "2.0, 1.75", "[" * 5000):
        file.write_text("{'train': {'loss': [2.5, 2.25, " + broken)
        with pytest.raises(UnknownFormat):
            read(file)


def test_columns_stand_at_the_steps_of_their_own(tmp_path: Path) -> None:
    content = {
        "train_steps": [10, 20, 30, 40, 50],
        "train_losses": [3.0, 2.75, 2.5, 2.25, 2.0],
        "valid_steps": [20, 40, 50, 50],
        "valid_losses": [3.5, 3.25, 3.125, 3.0],
        "valid_ppl": [33.0, 25.5, 22.5, 20.0],
    }
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt) == {
        "train_losses": [(10, 3.0), (20, 2.75), (30, 2.5), (40, 2.25), (50, 2.0)],
        "valid_losses": [(20, 3.5), (40, 3.25), (50, 3.0)],
        "valid_ppl": [(20, 33.0), (40, 25.5), (50, 20.0)],
    }
    content |= {"steps": content.pop("train_steps")}
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt)["train_losses"] == [(10, 3.0), (20, 2.75), (30, 2.5), (40, 2.25), (50, 2.0)]


def test_columns_of_pymarl_stand_at_the_steps_that_sacred_keeps_beside_them(tmp_path: Path) -> None:
    returns = [{"dtype": "float64", "py/object": "numpy.float64", "value": v} for v in (0.5, 1.25, 1.75, 2.0)]
    content = {
        "return_mean": returns,
        "return_mean_T": [50, 2050, 4050, 6050],
        "q_loss": [0.75, 0.5, 0.375, 0.25],
        "q_loss_T": [2050, 4050, 6050, 8050],
    }
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt) == {
        "return_mean": [(50, 0.5), (2050, 1.25), (4050, 1.75), (6050, 2.0)],
        "q_loss": [(2050, 0.75), (4050, 0.5), (6050, 0.375), (8050, 0.25)],
    }
    assert attempt.series["return_mean"].role is Role.OBJECTIVE


def test_where_a_column_has_no_steps_of_its_own_all_stand_in_rows(tmp_path: Path) -> None:
    content = {"train_steps": [10, 20, 30, 40], "loss": [3.0, 2.75, 2.5, 2.25]}
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt)["loss"] == [(0, 3.0), (1, 2.75), (2, 2.5), (3, 2.25)]


@pytest.mark.parametrize("counter", ["steps", "epochs"])
def test_steps_above_the_columns_count_for_all_of_the_same_length(counter: str, tmp_path: Path) -> None:
    content = {
        counter: [10, 20, 30, 40],
        "train": {"loss": [3.0, 2.75, 2.5, 2.25], "grad_norm": [1.0, 0.5, 0.5, 0.25]},
        "eval": {"loss": [3.5, 3.25, 3.0, 2.875]},
    }
    (attempt,) = read(document(tmp_path, content))
    assert points(attempt) == {
        "train/loss": [(10, 3.0), (20, 2.75), (30, 2.5), (40, 2.25)],
        "train/grad_norm": [(10, 1.0), (20, 0.5), (30, 0.5), (40, 0.25)],
        "eval/loss": [(10, 3.5), (20, 3.25), (30, 3.0), (40, 2.875)],
    }


RETURNS = [310.5, 298.25, 305.0, 312.75, 301.5, 299.0, 308.25, 304.75]
EPISODES = [{"episode": n, "return": value, "length": 500} for n, value in enumerate(RETURNS, 1)]


@pytest.mark.parametrize(
    ("content", "axis"),
    [
        ({"model": "runs/walker/best_model.zip", "seed": 7, "episodes": EPISODES}, "item"),
        ({"checkpoint_path": "walker.pt", "courses": {"hill": {"results": EPISODES}}}, "item"),
        ({"eval_rewards": RETURNS, "eval_mean_reward": 305.0, "train_seconds": 12.5}, "item"),
        ({"model": "PPO", "seed": 7, "episodes": EPISODES}, "step"),  # the name of no file
        ({"model": "runs/walker/best_model.zip", "learning_rate": 1e-3, "episodes": EPISODES}, "step"),
        ({"eval_rewards": RETURNS, "eval_mean_reward": 312.75}, "row"),  # of the last evaluation
        ({"episode_rewards": RETURNS, "mean_reward": 305.0}, "row"),  # what a training came to
    ],
    ids=lambda content: "-".join(content) if isinstance(content, dict) else content,
)
def test_episodes_of_one_evaluation_are_no_course(content: Any, axis: str, tmp_path: Path) -> None:
    """A document that names a saved model and nothing of a training, or the mean of what was evaluated."""
    (attempt,) = read(document(tmp_path, content))
    assert attempt.axis == axis
    judged = shown_metric(stitch([attempt]).series.values())
    assert (judged is None) is (axis == "item")


@pytest.mark.parametrize(("fact", "axis"), [("model", "item"), ("learning_rate", "step")])
def test_episodes_of_one_evaluation_are_no_course_in_lines_either(
    fact: str, axis: str, tmp_path: Path
) -> None:
    """Settings above the rows of any table are facts, as those beside the rows of a document are."""
    settings = {"model": "runs/walker/best_model.zip", fact: "runs/walker/best_model.zip"}
    lines = "".join(json.dumps(row) + "\n" for row in (settings, *EPISODES))
    assert attempt_of(tmp_path, lines, "walker.jsonl").axis == axis


def test_rows_of_two_phases_without_a_counter_run_side_by_side(tmp_path: Path) -> None:
    rows = [{"loss": 3.0 - i / 8, "f1": i / 20} for i in range(16)]
    content = {"train_history": rows, "eval_history": rows[::2], "best_epoch": 7, "early_stopped": False}
    assert points(attempt_of(tmp_path, json.dumps(content).encode(), "h.json"))["eval_history/loss"] == [
        (2 * i + 1, 3.0 - i / 4) for i in range(8)
    ]


def test_numbered_folds_are_runs_and_no_steps(tmp_path: Path) -> None:
    course = [3.0 - i / 4 for i in range(8)]
    folds = {str(k): {"history": {"loss": course, "val_loss": course}, "accuracy": 0.9} for k in range(5)}
    attempts = read(document(tmp_path, folds))
    assert [attempt.facts["run"] for attempt in attempts] == ["0", "1", "2", "3", "4"]
    assert {len(attempt.series["loss"]) for attempt in attempts} == {8}


def test_what_each_client_came_to_in_a_round_is_read_once(tmp_path: Path) -> None:
    rounds = {str(r): {str(c): {"loss": 3.0 - r / 4 + c} for c in range(4)} for r in range(8)}
    (attempt,) = read(document(tmp_path, rounds))
    assert points(attempt) == {f"{c}/loss": [(r, 3.0 - r / 4 + c) for r in range(8)] for c in range(4)}


def test_the_curves_of_a_chart(tmp_path: Path) -> None:
    """As ClearML reports its scalars, by title and series."""
    curve = {"x": [10, 20, 30, 40], "y": [3.0, 2.5, 2.25, 2.0]}
    content = {"loss": {"train": {"name": "train", **curve}, "val": curve}, "gpu": {"0": curve}}
    (attempt,) = read(document(tmp_path, content))
    expected = [*zip(curve["x"], curve["y"], strict=True)]
    assert points(attempt) == {"loss/train": expected, "loss/val": expected}


def test_the_curves_of_a_figure(tmp_path: Path) -> None:
    """As Plotly writes it."""
    curves = [
        {"name": f"{phase} loss", "x": [1, 2, 3, 4], "y": [3.0, 2.5, 2.25, 2.0]} for phase in ("train", "val")
    ]
    (attempt,) = read(document(tmp_path, {"data": curves, "layout": {"title": {"text": "Loss"}}}))
    assert {name: curve.steps.tolist() for name, curve in attempt.series.items()} == {
        "data/train loss": [1, 2, 3, 4],
        "data/val loss": [1, 2, 3, 4],
    }


def test_a_history_in_yaml(tmp_path: Path) -> None:
    text = "train:\n  loss:\n" + "".join(f"  - {3 - i / 4}\n" for i in range(8)) + "best: 1.25\n"
    (tmp_path / "history.yaml").write_text(text)
    (attempt,) = read(tmp_path / "history.yaml")
    assert points(attempt) == {"train/loss": [(i, 3 - i / 4) for i in range(8)]}
    (tmp_path / "config.yml").write_text("steps:\n- 10\n- 20\n- 30\nloss_weights:\n- 0.5\n- 0.25\n- 0.25\n")
    with pytest.raises(UnknownFormat):
        read(tmp_path / "config.yml")
