"""A log that is read on gives, bit for bit, what a fresh read of all of it gives; its twin is that read."""

from __future__ import annotations

import gzip
import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.depth import LONG, few
from tests.readers import tables as generated
from tests.readers.gold import EXAMPLES, examples
from tests.readers.test_tables_in_blocks import attempts
from tests.work import n_calls

from chronicle.readers import events, read_all, read_file, read_on, text
from chronicle.readers.console import chunks, log
from chronicle.readers.console.chunks import Line
from chronicle.readers.console.dictionaries import Bars, Row
from chronicle.readers.console.log import Log
from chronicle.readers.read_on import restored, state_of

CONSOLES = (
    "megatron", "nanotron", "torchtitan", "nanogpt", "mlx", "llm.c", "modded-nanogpt", "fairseq",
    "hf-console", "keras-console", "deepspeed", "mlperf", "dllogger",
)  # fmt: skip
KINDS = ("csv", "jsonl", "event_files", *CONSOLES)
KEY_VALUE = "key-value"  # the family of most logs by far
LOGS = [EXAMPLES / example for example in examples() if example.parts[0] in KINDS]
LOGS += few([EXAMPLES / example for example in examples() if example.parts[0] == KEY_VALUE], 6)
ENOUGH = (9 if LONG else 3) * text.HEAD_BYTES  # bytes of a log that is left several times


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all that is worth while with a large log, as much with a small one."""
    monkeypatch.setattr(read_on, "WORTH_BYTES", text.HEAD_BYTES)
    monkeypatch.setattr(events, "BATCH_BYTES", 4096)
    for module in (chunks, log):
        monkeypatch.setattr(module, "CHUNK_BYTES", 4000)


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The places from which logs were read."""
    places = list[int]()
    real = read_on.Source.__init__

    def noting(self: read_on.Source, *args: Any) -> None:
        real(self, *args)
        places.append(self.begun)

    monkeypatch.setattr(read_on.Source, "__init__", noting)
    yield places


def long(content: bytes) -> bytes:
    """A log, written again and again until it is long enough."""
    return content * (1 + ENOUGH // max(len(content), 1)) or b"{}\n" * ENOUGH


def cuts(content: bytes, seed: int, n: int) -> list[int]:
    """Lengths of a growing log: at any place, behind a line and right beside that."""
    random_ = random.Random(seed)
    places = [random_.randrange(text.HEAD_BYTES, len(content)) for _ in range(n)]
    lines = [content.find(b"\n", at) + random_.choice((-1, 0, 1, 2)) for at in places[::2]]
    return [*sorted({min(max(at, 1), len(content)) for at in (*places[1::2], *lines)}), len(content)]


def grows(file: Path, store: Path, content: bytes, sizes: list[int]) -> None:
    """Holds what a log gives each time it is read on against a fresh read."""
    for size in sizes:
        file.write_bytes(content[:size])
        with read_on.kept_in(store, "1"):
            read_again = attempts(read_file, file)
        assert read_again == attempts(read_file, file), size


@pytest.mark.slow
@pytest.mark.parametrize("example", LOGS, ids=lambda file: f"{file.parent.name}/{file.name[:24]}")
def test_what_is_read_on_is_what_is_read_at_once(example: Path, tmp_path: Path, begun: list[int]) -> None:
    content = long(example.read_bytes())
    for seed in few(range(8), 1):
        store = tmp_path / f"kept {seed}"
        grows(tmp_path / example.name, store, content, few(cuts(content, seed, 8), 3))
    utf_16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    assert any(begun) is not utf_16


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("log.csv", generated.csv_bytes),
        ("log.csv", generated.plain_csv_bytes),
        ("log.jsonl", generated.json_bytes),
    ],
    ids=["csv", "plain csv", "jsonl"],
)
def test_odd_tables_are_read_on(
    name: str, content: Callable[[int], bytes], part: int, tmp_path: Path
) -> None:
    for seed in few(range(part * 50, part * 50 + 50), 1):
        table = long(content(seed))
        grows(tmp_path / name, tmp_path / f"kept {seed}", table, cuts(table, seed, 4))


@pytest.mark.slow
def test_damaged_event_files_are_read_on(tmp_path: Path) -> None:
    """Where a length is damaged, what comes later may show that it was none: such a file is read anew."""
    (example, *_) = [file for file in LOGS if file.parent.name == "event_files"]
    for seed in few(range(60), 6):
        random_ = random.Random(seed)
        content = bytearray(long(example.read_bytes()))
        for _ in range(random_.choice((1, 3))):
            content[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
        if seed % 3 == 0:
            content[len(content) // 2 : len(content) // 2 + 3000] = bytes(3000)
        grows(tmp_path / example.name, tmp_path / f"kept {seed}", bytes(content), cuts(content, seed, 5))


def rows(first: int, n: int) -> bytes:
    steps_and_losses = [(step, 2 + step / 7) for step in range(first, first + n)]
    return b"".join(b'{"step": %d, "loss": %.3f}\n' % row for row in steps_and_losses)


def test_only_what_is_new_is_read(tmp_path: Path, begun: list[int]) -> None:
    file = tmp_path / "log.jsonl"
    before = rows(0, 1000)
    for content in (before, before + rows(1000, 10), before + rows(1000, 10)[:-5]):
        file.write_bytes(content)
        with read_on.kept_in(tmp_path / "kept", "1"):
            read_all(file)
    assert begun == [0, len(before), len(before)]


CHANGED = {
    "another log": lambda log: rows(5, 2000),
    "cut": lambda log: log[:9000],
    "rotated": lambda log: rows(1000, 3),
    "one byte at the beginning": lambda log: log[:10] + b"9" + log[11:],
    "one byte in the middle": lambda log: log[: len(log) // 2].replace(b"7", b"8", 1) + log[len(log) // 2 :],
    "one byte at the end": lambda log: log.replace(b'"step": 999', b'"step": 998'),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_log_that_is_another_is_read_anew(what: str, tmp_path: Path, begun: list[int]) -> None:
    """Also where its size and its time are those of the log before."""
    file = tmp_path / "log.jsonl"
    file.write_bytes(rows(0, 1000))
    info = file.stat()
    with read_on.kept_in(tmp_path / "kept", "1"):
        read_all(file)
        file.write_bytes(CHANGED[what](rows(0, 1000)))
        os.utime(file, ns=(info.st_atime_ns, info.st_mtime_ns))
        read_again = attempts(read_file, file)
    assert read_again == attempts(read_file, file)
    assert begun == [0, 0, 0]


def test_what_another_version_kept_is_not_looked_at(tmp_path: Path, begun: list[int]) -> None:
    (tmp_path / "log.jsonl").write_bytes(rows(0, 1000))
    for version in ("1", "2"):
        with read_on.kept_in(tmp_path / "kept", version):
            read_all(tmp_path / "log.jsonl")
    assert begun == [0, 0]


@pytest.mark.parametrize("at", [0, 70, 100, 2000, -1])
def test_what_is_kept_and_damaged_counts_as_nothing(at: int, tmp_path: Path, begun: list[int]) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(rows(0, 1000))
    fresh = attempts(read_file, file)
    with read_on.kept_in(tmp_path / "kept", "1"):
        read_all(file)
        (kept,) = (tmp_path / "kept").iterdir()
        data = bytearray(kept.read_bytes())
        data[at] ^= 1
        for content in (bytes(data), bytes(data[:at]), b""):
            kept.write_bytes(content)
            assert attempts(read_file, file) == fresh
    assert begun == [0] * 5


def test_what_is_kept_takes_no_more_than_its_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest go; a folder that cannot be written costs nothing but time."""
    store, names = tmp_path / "kept", [f"{n}.jsonl" for n in range(5)]
    monkeypatch.setattr(read_on, "MOST_BYTES", 40_000)
    with read_on.kept_in(store, "1"):
        for name in names:
            (tmp_path / name).write_bytes(rows(0, 1000))
            read_all(tmp_path / name)
    sizes = [file.stat().st_size for file in store.iterdir()]
    assert len(sizes) == 2 and 16_000 < min(sizes) <= max(sizes) < 20_000
    (tmp_path / "file").write_text("")
    with read_on.kept_in(tmp_path / "file", "1"):
        assert read_all(tmp_path / names[0]).attempts


class Growing:
    """A log to whose last line its writer adds while it is read: nothing more comes in the first look."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = [*parts]

    def tell(self) -> int:
        return 0

    def read(self, size: int) -> bytes:
        return self.parts.pop(0) if self.parts else b""

    def readline(self, size: int) -> bytes:
        return b""


def test_the_rest_of_a_line_that_is_written_meanwhile_is_no_line(tmp_path: Path) -> None:
    log = tmp_path / "a.csv"
    log.write_bytes(b"step,loss\n")
    grown = Growing(b"step,loss\n1,2.5\n", b"2,2.25\n32", b"723,2.0\n32724,2.0\n")
    assert list(text.blocks(log, 64, grown)) == [b"step,loss\n1,2.5\n", b"2,2.25\n", b"32"]


@pytest.mark.parametrize(
    ("encoding", "blocks"),
    [("utf-8", [b"step,loss\n1,2.5\n", b"32"]), ("utf-16", [b"step,loss\n", b"1,2.5\n", b"32"])],
)
def test_a_last_line_without_an_end_is_a_block_of_its_own(
    encoding: str, blocks: list[bytes], tmp_path: Path
) -> None:
    log = tmp_path / "a.csv"
    log.write_bytes("step,loss\n1,2.5\n32".encode(encoding))
    with log.open("rb") as file:
        assert list(text.blocks(log, 4, file)) == blocks


def test_nothing_is_kept_of_a_log_that_is_at_rest(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_bytes(rows(0, 1000))
    os.utime(file, (1.7e9, 1.7e9))
    with read_on.kept_in(tmp_path / "kept", "1"):
        assert read_all(file).attempts
    assert not (tmp_path / "kept").exists()


def test_a_packed_log_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl.gz"
    for n in (1000, 1100):
        file.write_bytes(gzip.compress(rows(0, n)))
        with read_on.kept_in(tmp_path / "kept", "1"):
            (attempt,) = read_all(file).attempts
        np.testing.assert_array_equal(attempt.series["loss"].steps, np.arange(n))


def test_what_is_kept_of_bars_takes_as_many_steps_whatever_they_tell(tmp_path: Path) -> None:
    """A live log of the Hugging Face Trainer has a bar and a line a step; both are kept in columns."""

    def bars(n_lines: int) -> tuple[Bars, Log]:
        bars, read = Bars(loss="loss"), Log(file)
        for step in range(1, n_lines):
            line = Line(step, f"{{'loss': 2.5, 'epoch': {step / 100}}}")
            bars.waiting.append(Row(line, {"loss": 2.5, "epoch": step / 100}, "1000"))
            bars.draw(step, "1000", read)
        return bars, read

    file = tmp_path / "log.txt"
    file.write_text("")
    _, few, many = (
        n_calls(partial(state_of, bars(n)[0], [])) for n in (9, 100, 800)
    )  # the first one learns types
    assert few == many
    arrays: list[Any] = []
    known, read = bars(800)
    restored(state_of(known, arrays), iter(arrays)).end(read)
    assert list(read.rows.steps) == list(range(1, 800))
