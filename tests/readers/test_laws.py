"""Laws of every reader, over every example: cut anywhere, filled with junk, named after anything."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.depth import few, firsts
from tests.readers.gold import EXAMPLES, examples
from tests.work import in_proportion, n_calls

from chronicle.errors import Defect, LogError, NothingToRead
from chronicle.model import Attempt
from chronicle.readers import READERS, read, read_all
from chronicle.readers.find import is_log
from chronicle.readers.text import Head

ALL = [EXAMPLES / example for example in examples()]
FIRST = firsts(ALL, [file.parent for file in ALL])  # of each format
HOSTILE = (
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "loss\u202eevil",
    "a\u0301\u0301\u0301",
    "{{ 7*7 }}",
    "%s%n",
    "'; DROP TABLE runs; --",
    "x" * 5000,
)


def is_prefix(part: Attempt, whole: Attempt) -> bool:
    """Whether each series of ``part`` is the beginning of the same series of ``whole``."""
    return all(
        metric in whole.series
        and np.array_equal(s.steps, whole.series[metric].steps[: len(s)])
        and np.array_equal(s.values, whole.series[metric].values[: len(s)], equal_nan=True)
        and np.array_equal(s.times, whole.series[metric].times[: len(s)], equal_nan=True)
        for metric, s in part.series.items()
    )


def n_points(attempts: list[Attempt]) -> int:
    return sum(len(s) for attempt in attempts for s in attempt.series.values())


@pytest.mark.slow
@pytest.mark.parametrize("example", FIRST, ids=lambda file: f"{file.parent.name}/{file.name[:24]}")
def test_a_copy_cut_at_any_byte_gives_a_prefix_and_says_so(example: Path, tmp_path: Path) -> None:
    content, whole = example.read_bytes(), {attempt.name: attempt for attempt in read(example)}
    cut = tmp_path / example.name
    sizes = range(0, len(content), 1 if len(content) < 300 else 7)  # 7 meets every place of a record
    for size in few(sizes, 20):
        cut.write_bytes(content[:size])
        try:
            attempts = read(cut)
        except (LogError, NothingToRead) as err:
            assert not isinstance(err, Defect), size
            continue
        assert all(
            attempt.name in whole and is_prefix(attempt, whole[attempt.name]) for attempt in attempts
        ), size
        last = (
            content[:size].replace(b"\r", b"\n").rpartition(b"\n")[2]
        )  # a bar is redrawn, or wiped, after "\r"
        beside_end = not last.strip() or content[size : size + 1] in (b"\r", b"\n")
        in_a_record = example.parent.name == "event_files" or not beside_end
        if n_points(attempts) < n_points(list(whole.values())) and in_a_record:
            at_end = example.parent.name == "event_files" and not attempts[0].truncated
            assert at_end or all(attempt.truncated for attempt in attempts), size


@pytest.mark.slow
@pytest.mark.parametrize("example", FIRST, ids=lambda file: f"{file.parent.name}/{file.name[:24]}")
def test_bytes_flipped_anywhere_raise_nothing_but_log_errors(example: Path, tmp_path: Path) -> None:
    content, random_ = example.read_bytes(), random.Random(0)
    flipped = tmp_path / example.name
    for _ in few(range(50), 12):
        damaged = bytearray(content)
        for _ in range(random_.choice((1, 1, 1, 20))):
            damaged[random_.randrange(len(damaged))] = random_.choice(
                (0, 255, 34, 44, 10, random_.randrange(256))
            )
        flipped.write_bytes(damaged)
        reading = read_all(flipped)
        assert not any(isinstance(problem, Defect) for problem in reading.problems)
        assert reading.attempts or reading.problems or example.parent.name == "event_files"


@pytest.mark.parametrize("example", ALL, ids=lambda file: f"{file.parent.name}/{file.name[:24]}")
def test_a_log_whose_first_lines_are_lost_is_read_or_refused(example: Path, tmp_path: Path) -> None:
    """A log that was rotated, or whose beginning was overwritten: no heading has said yet what follows."""
    lines, late = example.read_bytes().splitlines(keepends=True), tmp_path / example.name
    for n_lost in {1, 2, 3, len(lines) // 4, len(lines) // 2} - {0}:
        late.write_bytes(b"".join(lines[n_lost:]))
        assert not any(isinstance(problem, Defect) for problem in read_all(late).problems), n_lost


@pytest.mark.parametrize("reader", READERS, ids=lambda r: r.NAME)
def test_binary_junk_is_claimed_by_nobody(reader, tmp_path: Path) -> None:
    random_ = random.Random(1)
    for number, head in enumerate((b"", b"{", b"step,loss\n", b"\x00" * 12, b"\x89PNG\r\n", b"PK\x03\x04")):
        junk = tmp_path / f"{number}.bin"
        junk.write_bytes(head[:1] + random_.randbytes(20_000))
        assert not reader.identify(Head.of(junk))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.txt", "It was trained in 2024.\nThe network has 4 layers.\n" * 5),
        ("model.py", "def loss(x):\n    return x * 2\n"),
        ("config.yaml", "lr: 0.1\nsteps: 100\n"),
        ("data.json", json.dumps([{"question": "a", "answer": "b"}] * 9)),
        ("options.json", json.dumps({"lr": 0.1, "layers": [{"size": 3}] * 9}, indent=1)),
        ("texts.csv", "id,text\n" + "a1,some words\n" * 9),
        ("picture.png", "\x89PNG\r\n\0\0\0\rIHDR"),
    ],
    ids=lambda value: value[:12],
)
def test_a_small_file_that_is_no_log_is_read_once(name: str, content: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="latin-1")
    begin = Head.of(file)
    file.unlink()  # whoever reads it again fails
    assert not any(reader.identify(begin) for reader in READERS)


def test_prose_is_refused_by_few_calls(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("".join(f"In {1900 + n} it was trained with {n} layers.\n" for n in range(100)))
    assert not is_log(notes)  # what is imported and compiled once
    begin = Head.of(notes)
    begin = replace(begin, changed_ns=begin.changed_ns + 1)  # as of another version: nothing is known of it
    assert n_calls(lambda: [reader.identify(begin) for reader in READERS]) < 1000


@pytest.mark.parametrize("suffix", [suffix for reader in READERS for suffix in reader.SUFFIXES])
def test_junk_behind_the_suffix_of_a_log_is_told_with_a_remedy(suffix: str, tmp_path: Path) -> None:
    junk = tmp_path / f"log{suffix}"
    junk.write_bytes(random.Random(2).randbytes(5000))
    with pytest.raises(LogError, match="Remedy: "):
        read(junk)


@pytest.mark.parametrize("suffix", [suffix for reader in READERS for suffix in reader.SUFFIXES])
def test_an_empty_file_is_told_as_empty(suffix: str, tmp_path: Path) -> None:
    empty = tmp_path / f"log{suffix}"
    empty.touch()
    with pytest.raises(LogError, match=r"is empty\. Remedy: remove it, or wait until it is written to"):
        read(empty)


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: name[:12])
def test_hostile_metric_names_come_through_unchanged(name: str, tmp_path: Path) -> None:
    from tests.readers.writers import csv_log, event_log, json_log, trainer_log

    for write, file in (
        (csv_log, "a.csv"),
        (json_log, "a.jsonl"),
        (trainer_log, "trainer_state.json"),
        (event_log, "a.tfevents"),
    ):
        write(tmp_path / file, {name: [(0, 2.5), (7, 1.5)], "loss": [(0, 1.0), (7, 0.5)]})
        series = read(tmp_path / file)[0].series
        assert series[name].steps.tolist() == [0, 7]
        assert series[name].values.tolist() == [2.5, 1.5]
        assert sorted(series) == sorted([name, "loss"])


@pytest.mark.slow
def test_the_work_for_a_column_does_not_grow_with_their_number(tmp_path: Path) -> None:
    """Columns beyond all that is remembered of names: a hundred thousand of them are read in seconds."""

    def work(n_columns: int) -> int:
        names = [f"loss_of_{n_columns}/{number}" for number in range(n_columns)]
        wide = tmp_path / f"{n_columns}.csv"
        wide.write_text("step," + ",".join(names) + "\n" + ",".join(["0"] + ["1.5"] * len(names)) + "\n")
        attempts: list[Attempt] = []
        calls = n_calls(lambda: attempts.extend(read(wide)))
        assert len(attempts[0].series) == n_columns
        return calls

    work(10)  # what is imported and compiled once
    assert work(5000) < 4.5 * work(1250)


@pytest.mark.slow
def test_a_new_name_on_every_line_costs_no_square(tmp_path: Path) -> None:
    def work(n_lines: int) -> None:
        log = tmp_path / f"{n_lines}.jsonl"
        log.write_text("".join(f'{{"step": {i}, "loss_{i}": 1.0}}\n' for i in range(n_lines)))
        assert len(read(log)[0].series) == n_lines

    assert in_proportion(work, 1000)


def test_deep_nesting_is_bounded(tmp_path: Path) -> None:
    log = tmp_path / "deep.jsonl"
    deep = '{"a": ' * 5000 + "1" + "}" * 5000
    log.write_text(f'{{"step": 1, "loss": 2.0}}\n{deep}\n{{"step": 2, "loss": 1.0}}\n')
    attempt = read(log)[0]
    assert attempt.series["loss"].values.tolist() == [2.0, 1.0]


@pytest.mark.slow
def test_reading_leaves_the_file_as_it_is(tmp_path: Path) -> None:
    for example in ALL:
        copy = tmp_path / example.name
        shutil.copy(example, copy)
        read(copy)
        assert copy.read_bytes() == example.read_bytes()
    assert {p.name for p in tmp_path.iterdir()} == {example.name for example in ALL}
