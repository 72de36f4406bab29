"""Pickles: plain values are read as a JSON document of them, and nothing in a file runs."""

from __future__ import annotations

import json
import os
import pickle
import pickletools
import resource
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.readers.gold import EXAMPLES

import chronicle
from chronicle.errors import LogError
from chronicle.readers import read, runs_below
from chronicle.readers.binary_tables import identify_pickle
from chronicle.readers.text import Head

LOSS = [2.3026, 1.9871, 1.6412, float("nan"), 1.2215, 1.1034]
HISTORY = {
    "loss": LOSS,
    "val_loss": [2.5, 2.1, 1.9, 1.8, 1.75, 1.74],
    "lr": [0.5, 0.5, 0.5, 0.25, 0.25, 0.25],
}
NUMPY = {
    "scalars of 64 bits": lambda values: [np.float64(value) for value in values],
    "scalars of 32 bits": lambda values: [np.float32(value) for value in values],
    "an array": np.array,
    "a big-endian array": lambda values: np.array(values, ">f8"),
    "a tuple": tuple,
}


def saved(file: Path, value: Any, protocol: int = 4) -> Path:
    file.write_bytes(pickle.dumps(value, protocol))
    return file


def columns(file: Path) -> dict[str, tuple[list[int], list[float]]]:
    (attempt,) = read(file)
    assert attempt.facts["format"] in ("pickle", "json")
    return {name: (s.steps.tolist(), s.values.tolist()) for name, s in attempt.series.items()}


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda items: defaultdict(list, items)])
def test_a_history_is_read_as_the_json_document_of_it(tmp_path: Path, kind: Any, protocol: int) -> None:
    (tmp_path / "history.json").write_text(json.dumps(HISTORY))
    as_pickle = columns(saved(tmp_path / "trainHistoryDict", kind(HISTORY), protocol))
    assert repr(as_pickle) == repr(columns(tmp_path / "history.json"))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", NUMPY)
def test_numbers_of_numpy_are_numbers(tmp_path: Path, name: str, protocol: int) -> None:
    history = {column: NUMPY[name](values) for column, values in HISTORY.items()}
    series = columns(saved(tmp_path / "history.pkl", history, protocol))
    for column, values in HISTORY.items():
        expected = np.float32(values) if "32" in name else np.array(values)
        np.testing.assert_array_equal(series[column][1], expected)


def test_a_list_has_its_name_from_the_file(tmp_path: Path) -> None:
    assert [*columns(saved(tmp_path / "train_loss.txt", LOSS, 2))] == ["train_loss"]
    (run,) = runs_below(tmp_path)
    assert run.run_id == tmp_path.name


@pytest.mark.parametrize("as_array", [lambda of: of, lambda of: np.array(of)])
def test_what_numpy_saves_of_a_history_is_the_pickle_behind_a_header(tmp_path: Path, as_array: Any) -> None:
    """`numpy.save("history.npy", history.history)`, whose columns may be arrays."""
    history: Any = {column: as_array(values) for column, values in HISTORY.items()}
    np.save(tmp_path / "history.npy", history)
    (tmp_path / "history.json").write_text(json.dumps(HISTORY))
    assert repr(columns(tmp_path / "history.npy")) == repr(columns(tmp_path / "history.json"))
    np.save(tmp_path / "train_loss.npy", np.array([*LOSS, None], object)[:-1])
    np.testing.assert_array_equal(columns(tmp_path / "train_loss.npy")["train_loss"][1], LOSS)
    np.save(tmp_path / "numbers.npy", np.array(LOSS))
    assert not identify_pickle(Head.of(tmp_path / "numbers.npy"))


def test_nothing_behind_the_header_of_numpy_runs(tmp_path: Path) -> None:
    np.save(tmp_path / "history.npy", np.array({**HISTORY, "config": Runs(tmp_path / "ran")}, object))
    with pytest.raises(LogError, match="holds Python objects, which may run any code and are not opened"):
        read(tmp_path / "history.npy")
    assert not (tmp_path / "ran").exists()


def test_several_runs_are_told_apart(tmp_path: Path) -> None:
    other = {**HISTORY, "loss": [2 * value for value in LOSS]}
    file = saved(tmp_path / "history.pkl", {"adam": HISTORY, "sgd": other})
    assert [run.only for run in runs_below(file)] == ["adam", "sgd"]
    adam, sgd = chronicle.runs(file)
    np.testing.assert_array_equal(adam.timeline().series["loss"].values, LOSS)
    np.testing.assert_array_equal(sgd.timeline().series["loss"].values, other["loss"])


class Runs:
    """An object that runs a command when it is unpickled."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.proof),)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_in_a_pickle_runs(tmp_path: Path, protocol: int) -> None:
    file = saved(tmp_path / "history.pkl", {**HISTORY, "config": Runs(tmp_path / "ran")}, protocol)
    assert not identify_pickle(Head.of(file))
    with pytest.raises(LogError) as err:
        read(file)
    assert not (tmp_path / "ran").exists()
    assert str(err.value) == (
        f"{file}: is a pickle, and holds objects, which may run any code, or no plain lists that are named "
        "after metrics. Remedy: load it where it was made, and save its history with json.dump"
    )


NAMES = {
    "a method of what is known": b"\x80\x04\x8c\x08builtins\x8c\x0dlist.__class__\x93.",
    "a builtin": b"\x80\x04cbuiltins\neval\n(X\x03\x00\x00\x001+1tR.",
    "a class of numpy": b"\x80\x02cnumpy\nmemmap\n)R.",
    "an object outside": b"\x80\x04\x8c\x02idQ.",
    "an extension": b"\x80\x04\x82\x01.",
}


@pytest.mark.parametrize("name", NAMES)
def test_other_names_end_the_reading(tmp_path: Path, name: str) -> None:
    file = tmp_path / "loss.pkl"
    file.write_bytes(NAMES[name])
    assert not identify_pickle(Head.of(file))


def test_what_one_file_does_to_our_functions_is_gone_with_it(tmp_path: Path) -> None:
    spoiled = tmp_path / "loss.pkl"  # sets an attribute of the class that stands for a type of numbers
    state = b"N}X\x0c\x00\x00\x00__setstate__K\x01s\x86b"
    spoiled.write_bytes(b"\x80\x02cnumpy\ndtype\n" + state + b".")
    assert not identify_pickle(Head.of(spoiled))
    assert columns(saved(tmp_path / "history.pkl", {k: np.array(v) for k, v in HISTORY.items()}))


def test_values_that_are_shared_to_make_a_small_file_large_are_refused(tmp_path: Path) -> None:
    value: list[Any] = [0.5] * 10
    for _ in range(30):
        value = [value] * 10
    assert not identify_pickle(Head.of(saved(tmp_path / "loss.pkl", {"loss": LOSS, "more": value})))
    endless: list[Any] = []
    endless.append(endless)
    assert not identify_pickle(Head.of(saved(tmp_path / "loss.pkl", {"loss": LOSS, "more": endless})))


def test_any_memory_that_a_file_asks_for_is_not_taken(tmp_path: Path) -> None:
    file = tmp_path / "loss.pkl"
    file.write_bytes(b"\x80\x04]r\xff\xff\xff\xff0N.")  # numbers a value 4294967295
    assert not identify_pickle(Head.of(file))
    for size in (1 << 34, 1 << 62):  # of an array of bytes
        file.write_bytes(b"\x80\x05\x96" + size.to_bytes(8, "little") + b".")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert not identify_pickle(Head.of(file))
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


def test_a_pickle_is_whole_or_not_read(tmp_path: Path) -> None:
    whole = (EXAMPLES / "pickle" / "history.pkl").read_bytes()
    *_, (last, _, stop) = pickletools.genops(whole)
    assert (last.name, stop) == ("STOP", len(whole) - 1)
    for cut in range(2, len(whole)):
        (tmp_path / "history.pkl").write_bytes(whole[:cut])
        assert not identify_pickle(Head.of(tmp_path / "history.pkl"))


def test_what_is_no_training_is_passed_over(tmp_path: Path) -> None:
    saved(tmp_path / "word_index.pkl", {f"word {n}": n for n in range(100)})
    saved(tmp_path / "data.pkl", [[1.0, 2.0, 3.0, 4.0]] * 9)
    saved(tmp_path / "large_loss.pkl", LOSS * 100_000)
    assert not any(identify_pickle(Head.of(file)) for file in tmp_path.iterdir())
