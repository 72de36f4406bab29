"""What the name of a file says of numbers that the file itself does not name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logs import points

from chronicle.errors import UnknownFormat
from chronicle.model import Attempt, Role
from chronicle.readers import read, runs_below
from chronicle.readers.find import claims, is_log
from chronicle.readers.runs_in_table import loss_of
from chronicle.timeline import stitch

NUMBERS = "2.5\n2.25\n2.125\n"


def written(tmp_path: Path, name: str, text: str) -> Path:
    file = tmp_path / name
    file.write_text(text)
    return file


def only(file: Path) -> dict[str, tuple[str, list[tuple[int, float]]]]:
    """Role and points of each series of the one attempt of a file."""
    (attempt,) = read(file)
    return {
        name: (s.role.value, list(zip(s.steps.tolist(), s.values.tolist(), strict=True)))
        for name, s in attempt.series.items()
    }


ROWS = [(0, 2.5), (1, 2.25), (2, 2.125)]


@pytest.mark.parametrize(
    ("name", "role"),
    {
        "loss.csv": "loss",
        "losses.txt": "loss",
        "train_loss.csv": "loss",
        "trainLosses.dat": "loss",
        "loss_history.csv": "loss",
        "resnet50_loss.log": "loss",
        "val_loss.csv": "validation-loss",
        "test-losses.txt": "validation-loss",
        "d_loss.csv": "part-loss",
        "kl_loss": "loss",
    }.items(),
)
def test_numbers_without_a_name_are_the_loss_that_the_file_is_named_after(
    name: str, role: str, tmp_path: Path
) -> None:
    file = written(tmp_path, name, NUMBERS)
    assert only(file) == {file.stem: (role, ROWS)}
    assert read(file)[0].axis == "row"
    assert is_log(file)


@pytest.mark.parametrize("text", ["2.5,\n2.25,\n2.125,\n", "2.5,\n2.25,\n2.125\n"])
def test_numbers_may_each_be_followed_by_a_comma(text: str, tmp_path: Path) -> None:
    assert only(written(tmp_path, "loss_curve.csv", text)) == {"loss_curve": ("loss", ROWS)}


def test_dates_before_such_numbers_are_their_clock(tmp_path: Path) -> None:
    file = written(tmp_path, "val_loss.csv", "2026-11-20 09:00:00,2.5\n2026-11-20 09:00:15,2.25\n")
    (attempt,) = read(file)
    (loss,) = attempt.series.values()
    assert (loss.role, loss.values.tolist(), np.diff(loss.times).tolist()) == (
        "validation-loss",
        [2.5, 2.25],
        [15.0],
    )


@given(st.lists(st.floats(), max_size=30), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_numbers_are_read_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], end: str, counted: bool
) -> None:
    values = [2.5, *values]  # one that is no whole number
    lines = [f"{10 * i},{v!r}" if counted else repr(v) for i, v in enumerate(values)]
    file = tmp_path_factory.mktemp("law") / "loss.txt"
    file.write_bytes("".join(line + end for line in lines).encode())
    if counted and len(values) < 2:
        assert claims(file) == []
        return
    (attempt,) = read(file)
    series = attempt.series["loss"]
    assert series.steps.tolist() == [10 * i if counted else i for i in range(len(values))]
    assert np.array_equal(series.values, values, equal_nan=True)


def test_steps_and_values_are_what_the_file_is_named_after_if_it_is_a_known_metric(tmp_path: Path) -> None:
    """TorchRL's CSVLogger keeps each metric in a file of its own, without a header."""
    for name, rate in (("lr", 1e-3), ("grad_norm", 0.5), ("numbers", 0.25)):
        written(tmp_path, f"{name}.csv", "".join(f"{k},{rate / (k + 1)}\n" for k in range(9)))
    assert [read(tmp_path / f"{name}.csv")[0].series[name].role for name in ("lr", "grad_norm")] == [
        "learning-rate",
        "grad-norm",
    ]
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read(tmp_path / "numbers.csv")


@pytest.mark.parametrize(
    ("name", "text", "role", "values"),
    [
        ("rewards.csv", "-2.0e+01\n-2.1e+01\n2.0e+01\n", "objective", [-20, -21, 20]),  # of numpy.savetxt
        ("episode_returns.txt", "0,10\n1,12\n2,11\n", "objective", [10, 12, 11]),
        ("test_acc.txt", "0.5\n0.75\n0.8\n", "validation-score", [0.5, 0.75, 0.8]),
        ("rewards2.csv", "Wall time,Step,Value\n1.6e9,0,10\n1.6e9,1,12\n", "objective", [10, 12]),
        ("rewards.csv", "Walltime,Step,Value\n1.6e9,0,10\n1.6e9,1,12\n", "objective", [10, 12]),  # by hand
    ],
)
def test_the_only_column_of_a_file_named_after_a_score_is_that_score(
    name: str, text: str, role: str, values: list[float], tmp_path: Path
) -> None:
    """Rewards may all be whole numbers; scores may not, which would be a list of hits."""
    assert only(written(tmp_path, name, text)) == {Path(name).stem: (role, list(enumerate(values)))}
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read(written(tmp_path, "accuracy.txt", "1\n0\n1\n1\n"))


def test_the_steps_of_a_file_named_after_a_reward_begin_anew_with_a_further_launch(tmp_path: Path) -> None:
    """The first of two launches ended at once. Numbers that go to and fro are no steps."""
    rows = [(9, 650), (0, 865), (1, 1945), (2, 1257), (3, 1132), (4, 405), (5, 595)]
    text = "".join(f"{step},{reward}.0\n" for step, reward in rows)
    (log,) = read(written(tmp_path, "reward.csv", text))
    assert [*zip(log.series["reward"].steps, log.series["reward"].values, strict=True)] == rows
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read(written(tmp_path, "reward_2.csv", "0,5\n1,4\n0,5\n1,3\n0,2\n"))


@pytest.mark.parametrize("separator", [" ", ",", "\t"])
def test_two_columns_of_a_fitness_are_the_best_and_the_mean_of_a_population(
    separator: str, tmp_path: Path
) -> None:
    """As NEAT-Python saves them; the mean of equal numbers may be rounded above them."""
    rows = ("-9.5", "-9.499999999999"), ("-1.75", "-7.5"), ("-2", "-6.25"), ("3", "-6.5")
    text = "".join(f"{separator.join(row)}\r\n" for row in rows)
    assert only(written(tmp_path, "fitness_history.csv", text)) == {
        "best fitness_history": ("score", [(0, -9.5), (1, -1.75), (2, -2.0), (3, 3.0)]),
        "mean fitness_history": ("objective", [(0, -9.499999999999), (1, -7.5), (2, -6.25), (3, -6.5)]),
    }


@pytest.mark.parametrize(
    "name", ["numbers.csv", "lossless.csv", "loss_scale.txt", "lr.csv", "scores.txt", "glossary.txt", "a"]
)
def test_a_file_named_after_anything_else_says_nothing(name: str, tmp_path: Path) -> None:
    file = written(tmp_path, name, NUMBERS)
    assert loss_of(file) == ""
    with pytest.raises(UnknownFormat) as caught:
        read(file)
    assert str(caught.value) == (
        f"{file}: holds numbers without names. Remedy: write their names into a first line, such as `loss`, "
        "or name the file after it (`val_loss.csv`)"
    )


@pytest.mark.parametrize(
    ("text", "remedy"),
    {
        "0,2.5\n1,2.25\n": "write their names into a first line, such as `step,loss`",
        # two that may be the loss, and one that counts: nothing says which is judged
        "0,2.5,3.5\n1,2.25,3.25\n": "write their names into a first line, such as `step,loss`"
        " and so on for all 3 columns",
        "\n 0.0e+00  2.5\n 1.0e+00  2.25\n": "separate them by commas, and write their names into a first "
        "line, such as `step,loss`",
        "2014-01,1,2.5\n2014-02,2,2.25\n": "write their names into a first line, such as `step,loss`"
        " and so on for all 3 columns",
        "2.5 3.5 1\n2.25 3 1\n": "separate them by commas, and write their names into a first "
        "line, such as `step,loss` and so on for all 3 columns",
    }.items(),
)
def test_a_table_without_names_is_told_what_it_lacks(text: str, remedy: str, tmp_path: Path) -> None:
    file = written(tmp_path, "file.txt", text)
    with pytest.raises(UnknownFormat) as caught:
        read(file)
    assert str(caught.value) == f"{file}: holds numbers without names. Remedy: {remedy}"


@pytest.mark.parametrize(
    ("text", "series"),
    {
        "2.181e+01\n3.13e+01\nnan\n": {"loss": "loss"},  # as numpy.savetxt writes
        "0\n2.5\n2.25\n": {"loss": "loss"},  # as pandas writes a list: its column is called 0
        ",0\n0,2.5\n1,2.25\n": {"loss": "loss"},  # and with its index
        "value\n2.5\n2.25\n": {"loss": "loss"},
        "epoch,value\n0,2.5\n1,2.25\n": {"loss": "loss"},
        "index,data\n0,2.5\n1,2.25\n": {"index": "other", "loss": "loss"},
        "0: 2.5\n10: 2.25\n": {"loss": "loss"},
        "0:2.5\n10:2.25\n": {"loss": "loss"},
        "epoch 0:2.5\nepoch 1:2.25\n": {"loss": "loss"},
        "0,2.5\n1,2.25\n": {"loss": "loss"},
        "  0  2.5\n 10 -2.25\n": {"loss": "loss"},  # with blanks, as numpy.savetxt writes columns
        "0.00e+00 2.50e+00\n1.00e+00 2.25e+00\n2.00e+00 nan\n": {"loss": "loss"},
        "epoch,adam\n0,2.5\n1,2.25\n": {"loss/adam": "loss"},
        "epoch,train,valid\n0,2.5,2.6\n1,2.25,2.5\n": {"train": "loss", "valid": "validation-loss"},
        "epoch,recon,kl\n0,2.5,0.5\n1,2.25,0.25\n": {"loss/recon": "loss", "loss/kl": "part-loss"},
        "epoch,code,wiki\n0,2.5,0.5\n1,2.25,0.25\n": {
            "loss/code": "dataset-loss",
            "loss/wiki": "dataset-loss",
        },
        "epoch,loss,adam\n0,2.5,0.5\n1,2.25,0.25\n": {"loss": "loss", "adam": "other"},
        "epoch,adam,seconds\n0,2.5,0.5\n1,2.25,0.25\n": {"loss/adam": "loss", "seconds": "step-time"},
        "epoch,adam,n\n0,2.5,5\n1,2.25,4\n": {"loss/adam": "loss", "n": "other"},
    }.items(),
)
def test_columns_without_a_name_of_a_metric(text: str, series: dict[str, str], tmp_path: Path) -> None:
    assert {name: role for name, (role, _) in only(written(tmp_path, "loss.csv", text)).items()} == series


@pytest.mark.parametrize("name", ["train_log.txt", "metrics.csv"])
@pytest.mark.parametrize("mark", [", ", ",", "\t"])
def test_each_row_may_name_its_own_numbers(mark: str, name: str, tmp_path: Path) -> None:
    """As `print("Step", n, "Loss", loss, sep=", ")` does: the first row is no header."""
    rows = [mark.join(["Step", str(n), "Loss", f"{20 - n}.25", "PSNR", f"{n}.5"]) for n in range(12)]
    (attempt,) = read(written(tmp_path, name, "\n".join(rows) + "\n"))
    assert (attempt.axis, [*attempt.series]) == ("step", ["Loss", "PSNR"])
    assert attempt.series["Loss"].steps.tolist() == [*range(12)]
    assert attempt.series["Loss"].values.tolist() == [20.25 - n for n in range(12)]


@pytest.mark.parametrize("mark", [" ", ",", ", "])
def test_each_row_without_a_name_may_be_the_course_of_a_loss(mark: str, tmp_path: Path) -> None:
    curves = [[4.5 / (1 + n * rate) for n in range(40)] for rate in (1, 2)]
    text = "".join(mark.join(map(str, curve)) + "\n" for curve in curves)
    attempts = read(written(tmp_path, "train_loss.txt", text))
    assert [attempt.series["train_loss"].values.tolist() for attempt in attempts] == curves
    assert [attempt.facts["run"] for attempt in attempts] == ["1", "2"]
    *_, cut = read(written(tmp_path, "train_loss.txt", text[:-3]))
    assert (cut.series["train_loss"].values.tolist(), cut.truncated) == (curves[1][:-1], True)


def test_the_only_row_without_a_name_may_be_the_course_of_a_reward(tmp_path: Path) -> None:
    """Which may be whole. Of several rows each may be one episode, with the reward of each of its steps."""
    rewards = [float(n % 7 - 21) for n in range(40)]
    row = ",".join(map(str, rewards)) + "\n"
    (attempt,) = read(written(tmp_path, "returns.csv", row))
    assert attempt.series["returns"].values.tolist() == rewards
    assert attempt.series["returns"].role == "objective"
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read(written(tmp_path, "rewards.csv", row * 2))


@pytest.mark.parametrize(
    ("labels", "runs"), [(("GRU", "LSTM"), ["GRU", "LSTM"]), (("RNN", "RNN"), ["RNN 1", "RNN 2"])]
)
def test_a_list_behind_a_name_in_each_row_is_the_course_of_a_loss(
    labels: tuple[str, str], runs: list[str], tmp_path: Path
) -> None:
    curves = [[0.75, 0.625, 0.5, 0.4375], [0.75, 0.5, 0.25]]
    text = "".join(f"{label}:{curve}\n" for label, curve in zip(labels, curves, strict=True))
    attempts = read(written(tmp_path, "loss_log.txt", text))
    assert [attempt.series["loss_log"].values.tolist() for attempt in attempts] == curves
    assert [attempt.facts["run"] for attempt in attempts] == runs
    *_, cut = read(written(tmp_path, "loss_log.txt", text[:-4]))
    assert (cut.series["loss_log"].values.tolist(), cut.truncated) == (curves[1][:-1], True)


def values_of(attempt: Attempt) -> dict[str, list[float]]:
    return {name: series.values.tolist() for name, series in attempt.series.items()}


@pytest.mark.parametrize("form", ["{} = {}\n", "{}: {};\n", "{}:\n{}\n\n"])
def test_lists_behind_the_names_of_metrics_are_columns(form: str, tmp_path: Path) -> None:
    """As `print` leaves them, one of them of the numbers of PyTorch and wrapped."""
    losses, scores = [2.5, 2.25, 1.75, 1.5, 1.25], [0.125, 0.25, 0.5, 0.625]
    tensors = [f"tensor({loss}, grad_fn=<MeanBackward0>)" for loss in losses]
    listed = {
        "train_losses": f"[{', '.join(tensors[:3])},\n {', '.join(tensors[3:])}]",
        "val acc": str(scores),
    }
    text = "".join(form.format(name, cells) for name, cells in listed.items())
    (attempt,) = read(written(tmp_path, "output.txt", text))
    assert values_of(attempt) == {"train_losses": losses, "val acc": scores}
    assert (attempt.series["train_losses"].role, attempt.truncated) == (Role.LOSS, False)
    (cut,) = read(written(tmp_path, "output.txt", text[: text.index("0.625") + 3]))
    assert (values_of(cut), cut.truncated) == ({"train_losses": losses, "val acc": scores[:-1]}, True)
    (first,) = read(written(tmp_path, "output.txt", text[: text.index("tensor(1.5") + 9]))
    assert (values_of(first), first.truncated) == ({"train_losses": losses[:3]}, True)


def test_each_list_below_its_name_is_a_column(tmp_path: Path) -> None:
    text = "Train losses:\n[2.5, 2.25, 1.75]\nTest losses:\n[2.5, 2.0, 1.5]\n"
    (attempt,) = read(written(tmp_path, "output.txt", text))
    assert values_of(attempt) == {"Train losses": [2.5, 2.25, 1.75], "Test losses": [2.5, 2.0, 1.5]}


@pytest.mark.parametrize("more", ["Done.\n", "betas = [[0.5, 0.25], [1, 2]]\n", "x" * 100])
def test_lists_beside_other_words_are_no_columns(more: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat):
        read(written(tmp_path, "output.txt", "loss = [2.5, 2.25, 1.75, 1.5]\n" + more))
    with pytest.raises(UnknownFormat):
        read(written(tmp_path, "output.txt", "weights = [2.5, 2.25, 1.75, 1.5]\n"))


def test_a_single_row_in_a_file_of_another_name_is_no_course(tmp_path: Path) -> None:
    row = ",".join(str(1 / (1 + n)) for n in range(40)) + "\n"
    (attempt,) = read(written(tmp_path, "val_loss.csv", row))
    assert len(attempt.series["val_loss"]) == 40
    with pytest.raises(UnknownFormat):
        read(written(tmp_path, "weights.csv", row))


def test_numbers_between_blanks_are_padded_as_one_likes(tmp_path: Path) -> None:
    text = "  0      0 4.5\n  1 100000 2.25\n\n  2 200000   x\n  3 300000 10.5\n  4 40"
    (attempt,) = read(written(tmp_path, "rewards.txt", text))
    reward = attempt.series["rewards"]
    assert (reward.role, reward.steps.tolist()) == (Role.OBJECTIVE, [0, 100000, 300000])
    assert reward.values.tolist() == [4.5, 2.25, 10.5]
    assert (attempt.axis, attempt.truncated) == ("step", True)
    assert attempt.series["epoch"].values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("counter", "axis"), [("epoch ", "epoch"), ("Epoch", "epoch"), ("Iteration ", "step")]
)
def test_what_counts_may_be_named_before_each_count(counter: str, axis: str, tmp_path: Path) -> None:
    """As `write(f"epoch {n}:{loss}")` does; the name of the file alone says what the numbers are."""
    text = "".join(f"{counter}{n}:{9 - n}.25\n" for n in range(8)) + f"{counter}8:1"
    (attempt,) = read(written(tmp_path, "val_loss.txt", text))
    assert (attempt.axis, [*attempt.series]) == (axis, ["val_loss"])
    assert attempt.series["val_loss"].steps.tolist()[:8] == [*range(8)]
    assert attempt.series["val_loss"].values.tolist()[:8] == [9.25 - n for n in range(8)]


def test_a_step_may_have_a_loss_for_each_of_its_batches(tmp_path: Path) -> None:
    text = "".join(f"{n // 8}\t{9 - n / 8}\n" for n in range(20))
    assert only(written(tmp_path, "train_losses.csv", text)) == {
        "train_losses": ("loss", [(n // 8, 9 - n / 8) for n in range(20)])
    }
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read(written(tmp_path, "lr.csv", text))


def test_train_and_val_in_a_file_of_scores_are_no_losses(tmp_path: Path) -> None:
    file = written(tmp_path, "accuracy.csv", "epoch,train,val\n0,0.5,0.25\n1,0.625,0.5\n")
    assert {name: role for name, (role, _) in only(file).items()} == {
        "accuracy/train": "score",
        "accuracy/val": "validation-score",
    }


@pytest.mark.parametrize("text", ["5\n7\n9\n", "1\n2\n", "3,2.5\n2,2.25\n", "1,2,3.5\n4,5,6.5\n", "2.5\nx\n"])
def test_numbers_that_are_hardly_a_loss_are_left_alone(text: str, tmp_path: Path) -> None:
    assert claims(written(tmp_path, "loss.txt", text)) == []


@pytest.mark.parametrize(
    ("header", "role"),
    {"loss": "loss", "val_loss": "validation-loss", "Training Loss": "loss", "acc": "score"}.items(),
)
@pytest.mark.parametrize("name", ["numbers.csv", "out.txt", "log"])
def test_a_single_column_with_the_name_of_a_metric(header: str, role: str, name: str, tmp_path: Path) -> None:
    assert only(written(tmp_path, name, f"{header}\n{NUMBERS}")) == {header: (role, ROWS)}


@pytest.mark.parametrize(
    "text", ["train\n1\n2\n", "time\n0.5\n0.25\n", "epoch\n0.5\n1.5\n", "x\n2.5\n2.25\n", "loss\nis\nlow\n"]
)
def test_a_single_column_of_anything_else_is_no_log(text: str, tmp_path: Path) -> None:
    assert claims(written(tmp_path, "notes.txt", text)) == []


def test_columns_of_unknown_names_in_a_file_of_losses_are_a_run_each(tmp_path: Path) -> None:
    file = written(tmp_path, "losses.csv", "epoch,Adam,Sigmoid0.5\n0,2.5,3.5\n1,2.25,3.0\n2,2.125,3.25\n")
    assert [(attempt.facts["run"], list(attempt.series), attempt.axis) for attempt in read(file)] == [
        ("Adam", ["losses"], "epoch"),
        ("Sigmoid0.5", ["losses"], "epoch"),
    ]
    assert [s.role for attempt in read(file) for s in attempt.series.values()] == [Role.LOSS] * 2
    assert [(attempt.run_id, attempt.only) for attempt in runs_below(file)] == [
        ("losses/Adam", "Adam"),
        ("losses/Sigmoid0.5", "Sigmoid0.5"),
    ]


def test_the_same_columns_in_a_file_of_another_name_are_nothing(tmp_path: Path) -> None:
    file = written(tmp_path, "table.csv", "epoch,adam,sgd\n0,2.5,3.5\n1,2.25,3.0\n")
    assert {name: role for name, (role, _) in only(file).items()} == {"adam": "other", "sgd": "other"}
    assert len(runs_below(file)) == 1


def test_a_file_for_each_of_the_losses_of_one_run(tmp_path: Path) -> None:
    for name, floor in (("train_loss.csv", 2), ("val_loss.csv", 2.5)):
        written(tmp_path, name, "".join(f"{floor + 1 / row}\n" for row in range(1, 20)))
    timeline = stitch(read(tmp_path))
    assert (list(timeline.series), timeline.joins, len(runs_below(tmp_path))) == (
        ["train_loss", "val_loss"],
        (),
        1,
    )


def test_epochs_and_steps_before_a_loss_without_names(tmp_path: Path) -> None:
    """As d3rlpy writes them, whichever of both comes first."""
    rows = [(n, 1000 * n, 3 / n) for n in range(1, 6)]
    points = [(1000 * n, 3 / n) for n in range(1, 6)]
    for order in ((0, 1, 2), (1, 0, 2)):
        text = "".join(",".join(str(row[k]) for k in order) + "\n" for row in rows)
        series = only(written(tmp_path, "loss.csv", text))
        assert series["loss"] == ("loss", points)
        assert series["epoch"][1] == [(1000 * n, n) for n in range(1, 6)]


@pytest.mark.parametrize(
    ("name", "text", "read_as"),
    [
        ("train_logs.txt", "4.5\n3.5\n3.75\n2.5\n", [(0, 4.5), (1, 3.5), (2, 3.75), (3, 2.5)]),
        ("training_log_2.csv", "0.75\n0.5\n0.625\n0.25\n", [(0, 0.75), (1, 0.5), (2, 0.625), (3, 0.25)]),
        ("train_history.txt", "1 900.5\n2 950.25\n3 700.5\n", [(1, 900.5), (2, 950.25), (3, 700.5)]),
    ],
)
def test_the_numbers_of_a_log_of_a_training_are_its_loss(
    name: str, text: str, read_as: list[tuple[int, float]], tmp_path: Path
) -> None:
    (attempt,) = read(written(tmp_path, name, text))
    assert points(attempt) == {"train": read_as}
    assert attempt.series["train"].role is Role.LOSS


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train_logs.txt", "0.125\n0.5\n0.625\n0.75\n"),
        ("train_logs.txt", "7\n5\n6\n2\n"),
        ("data_log.txt", "4.5\n3.5\n3.75\n2.5\n"),
        ("log.txt", "4.5\n3.5\n3.75\n2.5\n"),
    ],
    ids=["may be a score", "whole numbers", "of data", "of anything"],
)
def test_other_numbers_of_a_log_are_told_to_lack_a_name(name: str, text: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read(written(tmp_path, name, text))


CONSOLE = "epoch: {n} iter: {n}00 loss: {loss:.4f} accuracy: 0.5{n}\n"
TABLE = "{n},{loss:.4f},0.5{n}\n"
OBJECT = '{{"epoch": {n}, "loss": {loss:.4f}, "accuracy": 0.5{n}}}\n'


def course(form: str, first: float) -> str:
    header = "epoch,loss,accuracy\n" if form == TABLE else ""
    return header + "".join(form.format(n=n, loss=first - n / 16) for n in range(1, 10))


@pytest.mark.parametrize(("form", "suffix"), [(CONSOLE, "txt"), (TABLE, "csv"), (OBJECT, "jsonl")])
@pytest.mark.parametrize(
    "names", ["train_log val_log", "loss_train_big loss_val_big", "Train Val", "trainLog valLog"]
)
def test_logs_of_training_and_evaluation_that_are_named_alike_are_one_training(
    names: str, form: str, suffix: str, tmp_path: Path
) -> None:
    for name, first in zip(names.split(), (2.5, 3.5), strict=True):
        written(tmp_path, f"{name}.{suffix}", course(form, first))
    timeline = stitch(read(tmp_path))
    roles = {
        "loss": "loss",
        "accuracy": "score",
        "val/loss": "validation-loss",
        "val/accuracy": "validation-score",
    }
    assert {name: timeline.series[name].role.value for name in roles} == roles
    assert [len(timeline.series[name]) for name in roles] == [9, 9, 9, 9]
    assert len(timeline.attempts) == 1


@pytest.mark.parametrize(("form", "suffix"), [(CONSOLE, "txt"), (TABLE, "csv"), (OBJECT, "jsonl")])
def test_what_a_file_of_a_held_out_loss_calls_a_loss_is_held_out(
    form: str, suffix: str, tmp_path: Path
) -> None:
    held_out = only(written(tmp_path, f"val_loss_deeper.{suffix}", course(form, 3.5)))
    assert {"val/loss", "val/accuracy"} <= set(held_out)
    of_training = only(written(tmp_path, f"train_val_loss.{suffix}", course(form, 3.5)))
    assert {"loss", "accuracy"} <= set(of_training)
    alone = only(written(tmp_path, f"test_run.{suffix}", course(form, 3.5)))
    assert {"loss", "accuracy"} <= set(alone)
    written(tmp_path, "train_log.csv", course(TABLE, 2.5))
    beside = only(written(tmp_path, "val_log.csv", course(TABLE, 3.5).replace("accuracy", "train_loss")))
    assert {"val/loss", "train_loss"} <= set(beside)
    of_both = course(TABLE, 3.5).replace("accuracy", "val_loss")
    assert {"loss", "val_loss"} <= set(only(written(tmp_path, "loss_and_val_loss.csv", of_both)))


@pytest.mark.parametrize(
    ("counter", "noun"),
    [
        ("episode", "episode"),
        ("n_epi", "episode"),
        ("Game", "game"),
        ("gen", "generation"),
        ("step", "step"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_steps_are_called_what_the_log_calls_them(
    counter: str, noun: str, suffix: str, tmp_path: Path
) -> None:
    """They stay steps for everything that reckons with them."""
    values = [(k, 2 + 1 / (k + 1)) for k in range(20)]
    table = "".join([f"{counter},loss\n", *(f"{k},{value:.4f}\n" for k, value in values)])
    console = "".join(f"{counter}: {k} loss: {value:.4f}\n" for k, value in values)
    (tmp_path / f"log.{suffix}").write_text(table if suffix == "csv" else console, "utf-8")
    (attempt,) = read(tmp_path)
    assert (attempt.axis, attempt.noun, [*attempt.series]) == ("step", noun, ["loss"])
