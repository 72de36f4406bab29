"""Files of NumPy: which are logs, what their arrays are called, objects, damage, and data beside logs."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.logs import points

from chronicle.errors import BadLog, UnknownFormat
from chronicle.model import Role
from chronicle.readers import binary_tables, read, read_all
from chronicle.readers.binary_tables import identify_numpy
from chronicle.readers.text import Head

FALLING = [2.5, 2.25, 2.0, 1.75, 1.5]
ROWS = [(row, value) for row, value in enumerate(FALLING)]


def saved(file: Path, array: Any) -> Path:
    np.save(file, np.asarray(array), allow_pickle=True)
    return file


@pytest.mark.parametrize(
    "array",
    [
        np.array(FALLING),
        np.array(FALLING, np.float16),
        np.array(FALLING, ">f4"),
        np.array(FALLING)[:, None],
        np.array(FALLING)[None, :],
        np.asfortranarray(np.array(FALLING)[None, :]),
    ],
    ids=lambda array: f"{array.dtype.str} {array.shape}",
)
def test_one_array_has_the_name_of_its_file(array: Any, tmp_path: Path) -> None:
    (attempt,) = read(saved(tmp_path / "train_loss.npy", array))
    assert (points(attempt), attempt.truncated) == ({"train_loss": ROWS}, False)
    assert attempt.series["train_loss"].role is Role.LOSS


@pytest.mark.parametrize("order", ["C", "F"])
def test_steps_stand_before_a_metric(order: Any, tmp_path: Path) -> None:
    table = np.array([(10 * row, value) for row, value in ROWS], order=order)
    (attempt,) = read(saved(tmp_path / "val_loss.npy", table))
    assert points(attempt) == {"val_loss": [(10 * row, value) for row, value in ROWS]}


@pytest.mark.parametrize("name", ["rewards", "accuracy", "episode_returns"])
def test_rewards_and_scores_name_a_file_too(name: str, tmp_path: Path) -> None:
    (attempt,) = read(saved(tmp_path / f"{name}.npy", np.array([0.25, 0.5, 0.5, 0.75])))
    assert points(attempt) == {name: [(0, 0.25), (1, 0.5), (2, 0.5), (3, 0.75)]}


@pytest.mark.parametrize("other", ["val_loss", "accuracy"])
def test_three_epochs_are_a_column_where_a_loss_stands_beside_its_held_out_loss(
    other: str, tmp_path: Path
) -> None:
    columns = {"loss": [2.5, 2.0, 1.75], other: [2.25, 1.5, 1.25]}
    np.savez(tmp_path / "history.npz", **{name: np.array(values) for name, values in columns.items()})
    (tmp_path / "history.json").write_text(json.dumps(columns))
    for file in (tmp_path / "history.npz", tmp_path / "history.json"):
        if other == "val_loss":
            assert points(read(file)[0]) == {n: [*enumerate(values)] for n, values in columns.items()}
        else:
            with pytest.raises(UnknownFormat):
                read(file)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_archive_stand_side_by_side(save: Any, tmp_path: Path) -> None:
    file = tmp_path / "history.npz"
    step = np.arange(8) * 100
    losses = np.linspace(2, 1.3, 8)
    save(file, step=step, train_loss=losses, lr=np.full(8, 0.5), val_loss=[1.9, 1.5, 1.25, 1.0], w=np.eye(8))
    (attempt,) = read(file)
    assert points(attempt) == {
        "train_loss": list(zip(step.tolist(), losses.tolist(), strict=True)),
        "lr": [(n, 0.5) for n in step.tolist()],
        "val_loss": [(100, 1.9), (300, 1.5), (500, 1.25), (700, 1.0)],
    }


def test_an_archive_of_one_array_without_a_name_is_called_as_its_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "losses.npz", np.array(FALLING))
    assert points(read(tmp_path / "losses.npz")[0]) == {"losses": ROWS}


def test_an_archive_of_one_array_whose_name_says_nothing_is_called_as_its_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "losses.npz", payload=np.array(FALLING))
    assert points(read(tmp_path / "losses.npz")[0]) == {"losses": ROWS}
    np.savez(tmp_path / "weights.npz", payload=np.array(FALLING))
    np.savez(tmp_path / "loss_data.npz", x=np.array(FALLING), y=np.array(FALLING))
    for name in ("weights.npz", "loss_data.npz"):
        with pytest.raises(UnknownFormat):
            read(tmp_path / name)


def test_a_loss_that_begins_with_whole_numbers_is_read_where_later_ones_are_not(tmp_path: Path) -> None:
    """Numbers of 32 bits hold no fraction from 16 million on."""
    loss = np.float32(1e9) * np.exp(-np.arange(60, dtype=np.float32) / 2)
    assert not (loss[:8] % 1).any() and (loss[12:] % 1).any()
    (attempt,) = read(saved(tmp_path / "loss_history.npy", loss.astype(np.float64)))
    assert attempt.series["loss_history"].values.tolist() == loss.tolist()


@pytest.mark.parametrize(
    ("values", "n_read"),
    [
        ([*FALLING, *FALLING, *[0.0] * 20], 10),
        ([*FALLING, *FALLING, *[0.0] * 4], 14),
        ([*FALLING, 0.25, 1e-3, 1e-5, 1e-7, *[0.0] * 20], 29),
        ([*FALLING, 0.0, *FALLING, *[0.0] * 20], 31),
        ([*FALLING, *[0.0] * 20], 25),
    ],
    ids=["allocated for more", "a few zeros", "falls to nothing", "zero before", "few numbers"],
)
def test_zeros_behind_the_last_value_of_an_array_were_never_written(
    values: list[float], n_read: int, tmp_path: Path
) -> None:
    (attempt,) = read(saved(tmp_path / "train_loss.npy", np.array(values)))
    assert attempt.series["train_loss"].values.tolist() == values[:n_read]


@pytest.mark.parametrize("shape", [(4, 2), (4, 2, 1)])
def test_evaluations_of_stable_baselines3_are_the_means_of_their_episodes(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    file = tmp_path / "evaluations.npz"
    results = np.array([[1.0, 3.0], [4.0, 4.0], [6.0, 8.0], [9.0, 10.0]])
    told = {"results": results.reshape(shape), "ep_lengths": results * 2, "successes": results > 5}
    np.savez(file, timesteps=[500, 1000, 1500, 2000], **told)
    (attempt,) = read(file)
    assert points(attempt) == {
        "results": [(500, 2.0), (1000, 4.0), (1500, 7.0), (2000, 9.5)],
        "ep_lengths": [(500, 4.0), (1000, 8.0), (1500, 14.0), (2000, 19.0)],
        "successes": [(500, 0.0), (1000, 0.0), (1500, 1.0), (2000, 1.0)],
    }
    assert attempt.series["results"].role is Role.OBJECTIVE


@pytest.mark.parametrize(
    ("name", "arrays"),
    [
        ("mnist", {"x_train": np.zeros((9, 4)), "y_train": np.arange(9), "x_test": np.ones((5, 4))}),
        ("weights", {"arr_0": np.ones((4, 4)), "arr_1": np.linspace(0, 1, 4)}),
        ("series", {"train": np.linspace(0, 1, 9), "test": np.linspace(1, 2, 9)}),
        ("molecule", {"E": np.linspace(0, 1, 9), "L": np.linspace(0, 1, 9), "R": np.ones((9, 3))}),
        ("curve", {"precision": np.linspace(0, 1, 9), "recall": np.linspace(1, 0, 9)}),
        ("episode", {"reward": np.linspace(0, 1, 9), "obs": np.ones((9, 3)), "done": np.zeros(9)}),
        ("told", {"rewards": np.linspace(0, 1, 9).reshape(1, 9, 1)}),
        ("item", {"loss": np.array(0.5), "embedding": np.linspace(0, 1, 768)}),
        ("classes", {"error": np.arange(9), "cost": np.arange(9)}),
    ],
)
def test_data_are_no_log(name: str, arrays: dict[str, Any], tmp_path: Path) -> None:
    np.savez(tmp_path / f"{name}.npz", **arrays)
    assert not identify_numpy(Head.of(tmp_path / f"{name}.npz"))
    for key in arrays.keys() - {"reward", "recall", "precision"}:
        assert not identify_numpy(Head.of(saved(tmp_path / f"{key}.npy", arrays[key])))
    with pytest.raises(UnknownFormat, match=r"named after a metric\. Remedy: numpy\.savez"):
        read(tmp_path / f"{name}.npz")


def test_rewards_beside_what_was_seen_are_those_of_samples(tmp_path: Path) -> None:
    rewards = saved(tmp_path / "rewards.npy", np.linspace(0, 1, 9))
    assert identify_numpy(Head.of(rewards))
    saved(tmp_path / "observations.npy", np.ones((9, 3)))
    assert not identify_numpy(Head.of(rewards))


def test_arrays_in_files_of_their_own_are_the_columns_of_one_table(tmp_path: Path) -> None:
    """The error of a Q-learner grows with what it is worth: its rewards tell that it is one."""
    for name, values in ("losses", FALLING[::-1]), ("rewards", [-value for value in FALLING]):
        saved(tmp_path / f"{name}.npy", np.array(values))
    (attempt,) = read(tmp_path)
    assert {name: series.role for name, series in attempt.series.items()} == {
        "losses": Role.PART_LOSS,
        "rewards": Role.OBJECTIVE,
    }
    assert [Path(source).name for source in attempt.sources] == ["losses.npy", "rewards.npy"]
    saved(tmp_path / "rewards.npy", np.array(FALLING[1:]))
    assert [[*attempt.series] for attempt in read(tmp_path)] == [["losses"], ["rewards"]]


def test_the_batches_of_each_epoch_are_one_course(tmp_path: Path) -> None:
    losses = 0.25 + 2 / (1 + np.arange(96) / 8)
    (attempt,) = read(saved(tmp_path / "train_losses.npy", losses.reshape(8, 12)))
    assert points(attempt) == {"train_losses": [*enumerate(losses.tolist())]}


@pytest.mark.parametrize(
    "table",
    [
        [[2.5 / (1 + i / 9) + k / 50 for i in range(40)] for k in range(5)],
        [[x * x + y * y + 0.1 for x in range(-9, 10)] for y in range(-9, 10)],
    ],
    ids=["runs", "a landscape"],
)
def test_rows_that_begin_anew_or_rise_are_no_course(table: list[list[float]], tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match=r"named after a metric\. Remedy: numpy\.savez"):
        read(saved(tmp_path / "train_losses.npy", np.array(table)))


def test_large_arrays_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = saved(tmp_path / "loss.npy", np.linspace(0, 1, 2000))
    monkeypatch.setattr(binary_tables, "MOST_CELLS", 1000)
    assert not identify_numpy(Head.of(file))
    np.savez_compressed(tmp_path / "log.npz", loss=np.linspace(0, 1, 2000))
    assert not identify_numpy(Head.of(tmp_path / "log.npz"))


def test_objects_are_refused_in_one_line_where_they_are_named_as_a_log(tmp_path: Path) -> None:
    saved(tmp_path / "losses.npy", np.array([{"loss": 2.5}], object))
    np.savez(tmp_path / "log.npz", loss=np.array([FALLING, "text"], object))
    saved(tmp_path / "history.npy", np.array({"loss": FALLING, "model": Path("x")}, object))
    said = "holds Python objects, which may run any code and are not opened. Remedy: numpy.savez"
    for name in ("losses.npy", "log.npz", "history.npy"):
        with pytest.raises((BadLog, UnknownFormat), match=said):
            read(tmp_path / name)
    saved(tmp_path / "val_loss.npy", FALLING)
    reading = read_all(tmp_path)
    assert [attempt.name for attempt in reading.attempts] == ["val_loss.npy"]
    assert [Path(problem.where).name for problem in reading.problems] == ["log.npz", "losses.npy"]


def test_objects_beside_a_loss_are_left_out(tmp_path: Path) -> None:
    np.savez(tmp_path / "log.npz", loss=FALLING, config=np.array({"lr": 0.5}, object))
    assert points(read(tmp_path / "log.npz")[0]) == {"loss": ROWS}


def test_damage_of_an_array_is_told_and_costs_no_other_one(tmp_path: Path) -> None:
    file = tmp_path / "log.npz"
    np.savez(file, step=np.arange(5) * 10, loss=FALLING, val_loss=FALLING)
    with zipfile.ZipFile(file) as archive:
        at = archive.getinfo("val_loss.npy").header_offset + 200
    content = bytearray(file.read_bytes())
    content[at] ^= 255
    file.write_bytes(content)
    (attempt,) = read(file)
    assert points(attempt)["loss"] == [(10 * row, value) for row, value in ROWS]
    assert [value for _, value in points(attempt)["val_loss"]][:1] == FALLING[:1]
    assert [fault.what.partition(" (")[0] for fault in attempt.faults] == ["the array val_loss is damaged"]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_an_archive_that_is_cut_gives_whole_arrays_and_the_beginning_of_the_last(
    save: Any, tmp_path: Path
) -> None:
    file, losses = tmp_path / "log.npz", np.random.default_rng(0).random(400)
    save(file, step=np.arange(400) * 10, loss=losses)
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) - 1500])
    (attempt,) = read(file)
    n_read = len(attempt.series["loss"])
    assert attempt.truncated
    assert 200 < n_read < 400
    assert points(attempt)["loss"] == [(10 * n, losses[n]) for n in range(n_read)]


@pytest.mark.parametrize("place", [b"\xff\xff\xff\x7f", b"\1\0\0\0"])
def test_an_array_is_read_where_the_list_of_arrays_names_another_place(place: bytes, tmp_path: Path) -> None:
    file = tmp_path / "log.npz"
    np.savez(file, loss=FALLING, val_loss=FALLING)
    content = bytearray(file.read_bytes())
    at = content.rindex(b"PK\1\2") + 42
    content[at : at + 4] = place
    file.write_bytes(content)
    assert points(read(file)[0]) == {"loss": ROWS, "val_loss": ROWS}


def test_a_header_that_claims_more_than_there_is_reads_what_there_is(tmp_path: Path) -> None:
    file = saved(tmp_path / "loss.npy", FALLING)
    file.write_bytes(file.read_bytes().replace(b"(5,), }  ", b"(5000,)} "))
    (attempt,) = read(file)
    assert (points(attempt), attempt.truncated) == ({"loss": ROWS}, True)


def test_an_array_that_python_2_wrote_tells_its_rows_as_a_long_number(tmp_path: Path) -> None:
    file = saved(tmp_path / "loss.npy", FALLING)
    file.write_bytes(file.read_bytes().replace(b"(5,), }  ", b"(5L,), } "))
    assert points(read(file)[0]) == {"loss": ROWS}


@pytest.mark.parametrize(
    "header", [b"{", b"[]", b"{'descr': '|O'}", b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}"]
)
def test_a_header_of_anything_else_is_no_array(header: bytes, tmp_path: Path) -> None:
    file = tmp_path / "loss.npy"
    file.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(64))
    with pytest.raises(UnknownFormat):
        read(file)
