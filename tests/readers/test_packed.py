"""Compressed logs of every format: whole, joined, cut, damaged, hostile."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from tests.readers.gold import EXAMPLES, as_json, examples
from tests.readers.writers import csv_log

from chronicle.errors import LogError, UnknownFormat
from chronicle.model import Attempt
from chronicle.readers import packed, read, read_all, runs_below
from chronicle.readers.packed import unpacked

PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}
FIRST = {example.parts[0]: EXAMPLES / example for example in reversed(examples())}
LOSS = {"loss": [(step, 2.5 + step / 7) for step in range(2000)]}


def values(attempts: list[Attempt], name: str) -> list[dict[str, object]]:
    """All that was read, with one name for the log."""
    return [
        {
            **attempt,
            "name": "",
            "sources": [],
            "faults": [str(f).replace(name, "LOG") for f in attempt["faults"]],
        }
        for attempt in as_json(attempts)
    ]


@pytest.mark.parametrize("suffix", PACK)
@pytest.mark.parametrize("example", FIRST.values(), ids=list(FIRST))
def test_a_packed_log_is_the_log(example: Path, suffix: str, tmp_path: Path) -> None:
    plain, packed = tmp_path / example.name, tmp_path / (example.name + suffix)
    plain.write_bytes(example.read_bytes())
    packed.write_bytes(PACK[suffix](example.read_bytes()))
    attempts = read(packed)
    assert str(values(attempts, str(packed))) == str(values(read(plain), str(plain)))
    assert all(
        attempt.name.startswith(packed.name) and attempt.sources == (str(packed),) for attempt in attempts
    )


@pytest.mark.parametrize("suffix", PACK)
def test_a_folder_of_packed_logs_is_a_run_whatever_their_names(suffix: str, tmp_path: Path) -> None:
    csv_log(tmp_path / "a.csv", LOSS)
    content = PACK[suffix]((tmp_path / "a.csv").read_bytes())
    (tmp_path / "a.csv").unlink()
    for name in ("run-1.csv" + suffix, "run-2", "run-<b>;$(x).CSV" + suffix.upper()):
        (tmp_path / name).write_bytes(content)
    reading = read_all(tmp_path)
    assert reading.problems == ()
    assert [len(attempt.series["loss"]) for attempt in reading.attempts] == [2000] * 3
    assert len(runs_below(tmp_path)) == 1


@pytest.mark.parametrize("suffix", PACK)
def test_joined_archives_are_one_log(suffix: str, tmp_path: Path) -> None:
    csv_log(tmp_path / "a.csv", LOSS)
    content, file = (tmp_path / "a.csv").read_bytes(), tmp_path / f"b.csv{suffix}"
    file.write_bytes(PACK[suffix](content[:9999]) + PACK[suffix](content[9999:]) + bytes(512))
    (attempt,) = read(file)
    assert (len(attempt.series["loss"]), attempt.truncated) == (2000, False)


@pytest.mark.parametrize("suffix", PACK)
def test_a_cut_archive_gives_what_stands_before_and_says_so(suffix: str, tmp_path: Path) -> None:
    csv_log(tmp_path / "a.csv", LOSS)
    content = (tmp_path / "a.csv").read_bytes()
    packed, file = (
        PACK[suffix](content[:20_000]) + PACK[suffix](content[20_000:]),
        tmp_path / f"b.csv{suffix}",
    )
    for size in range(1, len(packed), 499):
        file.write_bytes(packed[:size])
        reading = read_all(file)
        for attempt in reading.attempts:
            assert attempt.truncated or size == len(PACK[suffix](content[:20_000]))
            loss = attempt.series["loss"]
            assert (
                list(zip(loss.steps.tolist(), loss.values.tolist(), strict=True)) == LOSS["loss"][: len(loss)]
            )
        assert reading.attempts or reading.problems
        assert all(str(file) in str(problem) for problem in reading.problems)
    assert len(read(file)[0].series["loss"]) > 500


@pytest.mark.parametrize("suffix", PACK)
def test_a_damaged_archive_gives_what_stands_before_and_a_fault(suffix: str, tmp_path: Path) -> None:
    csv_log(tmp_path / "a.csv", LOSS)
    content = (tmp_path / "a.csv").read_bytes()
    first, second = PACK[suffix](content[:20_000]), bytearray(PACK[suffix](content[20_000:]))
    second[len(second) // 2] ^= 0xFF
    second[len(second) // 2 + 5] ^= 0xFF
    file = tmp_path / f"b.csv{suffix}"
    file.write_bytes(first + second)
    (attempt,) = read(file)
    assert attempt.truncated
    assert attempt.faults[-1].where == str(file)
    assert attempt.faults[-1].what == "the archive is damaged; it was read up to the damage"
    assert attempt.series["loss"].values[:500].tolist() == [value for _, value in LOSS["loss"][:500]]


@pytest.mark.slow
@pytest.mark.parametrize("suffix", PACK)
def test_an_archive_that_fills_the_disk_is_stopped(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHRONICLE_UNPACK_LIMIT_GB", "0.002")
    file = tmp_path / f"bomb.csv{suffix}"
    file.write_bytes(PACK[suffix](b"step,loss\n" + b"1,2.0\n" * 360_000))
    with pytest.raises(LogError) as caught:
        read(file)
    assert re.fullmatch(
        re.escape(f"{file}: unpacks from ") + r"[\d.]+ MB to more than 2 MB"
        r"\. Remedy: if you trust it, set CHRONICLE_UNPACK_LIMIT_GB to the number of GB that it may take, "
        r"or unpack it yourself",
        str(caught.value),
    )


def test_an_archive_of_a_version_to_come_is_no_log_of_today(tmp_path: Path) -> None:
    (example,) = (EXAMPLES / "comet").glob("*.zip")
    content = example.read_bytes()
    version_at = content.index(b"PK\1\2") + 6  # of what a reader of its first member must know
    file = tmp_path / example.name
    file.write_bytes(content[:version_at] + b"\xff" + content[version_at + 1 :])
    with pytest.raises(UnknownFormat):
        read(file)


@pytest.mark.slow
@pytest.mark.parametrize("member", ["experiment.json", "messages.json"])
def test_an_archive_of_a_tracker_is_bounded_in_the_same_way(
    member: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 1 << 20)
    file = tmp_path / "bomb.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("experiment.json", "messages.json"):
            archive.writestr(name, b"{}\n" + b" " * (2_000_000 if name == member else 0))
    with pytest.raises(LogError) as caught:
        read(file)
    assert str(caught.value) == (
        f"{file}: unpacks from {file.stat().st_size / 1e6:.3g} MB to more than 1.05 MB. Remedy: if you "
        "trust it, set CHRONICLE_UNPACK_LIMIT_GB to the number of GB that it may take, or unpack it yourself"
    )


@pytest.mark.slow
def test_the_ratio_is_bounded_too_but_where_a_limit_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 1 << 20)
    file = tmp_path / "bomb.csv.gz"
    file.write_bytes(gzip.compress(b"step,loss\n" + b"1,2.0\n" * 300_000))
    with pytest.raises(LogError) as caught:
        read(file)
    assert str(caught.value) == (
        f"{file}: unpacks from {file.stat().st_size / 1e6:.3g} MB to more than 1.05 MB. Remedy: if you "
        "trust it, set CHRONICLE_UNPACK_LIMIT_GB to the number of GB that it may take, or unpack it yourself"
    )
    monkeypatch.setenv("CHRONICLE_UNPACK_LIMIT_GB", "1")
    with unpacked(file) as plain:
        assert plain.path.stat().st_size == 1_800_010


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"", b"junk " * 1000], ids=["nothing", "junk"])
@pytest.mark.parametrize("suffix", PACK)
def test_an_archive_without_a_log_is_told_by_its_own_name(
    suffix: str, content: bytes, tmp_path: Path
) -> None:
    file = tmp_path / f"a.csv{suffix}"
    file.write_bytes(PACK[suffix](content))
    with pytest.raises(LogError, match="Remedy: ") as caught:
        read(file)
    assert caught.value.where == str(file)
    assert "chronicle-" not in str(caught.value)


def test_only_the_beginning_is_unpacked_to_know_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = []
    real = zlib.decompressobj

    class Counting:
        def __init__(self, bits: int) -> None:
            self.inner = real(bits)

        def decompress(self, piece: bytes) -> bytes:
            content = self.inner.decompress(piece)
            unpacked.append(len(content))
            return content

        def __getattr__(self, name: str) -> object:
            return getattr(self.inner, name)

    (tmp_path / "weights").write_bytes(gzip.compress(bytes(50_000_000)))
    monkeypatch.setattr(zlib, "decompressobj", Counting)
    assert runs_below(tmp_path) == []
    assert sum(unpacked) < 10_000_000


def test_without_zstandard_it_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    file = tmp_path / "a.csv.zst"
    file.write_bytes(PACK[".zst"](b"step,loss\n1,2.0\n"))
    with pytest.raises(LogError) as caught:
        read(file)
    assert str(caught.value) == (
        f"{file}: reading a log packed by Zstandard needs the package 'zstandard', which is not installed. "
        "Remedy: pip install zstandard"
    )
    csv_log(tmp_path / "b.csv", LOSS)
    assert [attempt.name for attempt in read_all(tmp_path).attempts] == ["b.csv"]


def test_no_temporary_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = tmp_path / "temporary"
    places.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(places))
    file = tmp_path / "a.csv.gz"
    for content in (b"step,loss\n1,2.0\n", b"junk"):
        file.write_bytes(gzip.compress(content))
        read_all(file)
    assert list(places.iterdir()) == []


TIME = "2026-11-01T10:00:{:02}.5Z"


@pytest.mark.parametrize(
    "record",
    [
        '{{"log": "step {0} loss {1}\\n", "stream": "stdout", "time": "{2}"}}',
        '{{"message": "step {0} loss {1}", "level": 30, "timestamp": "{2}"}}',
        '{{"severity": "INFO", "textPayload": "step {0} loss {1}", "timestamp": "{2}", "insertId": "{0}"}}',
        '{{"insertId": "{0}", "jsonPayload": {{"message": "step {0} loss {1}", "levelname": "INFO"}}, '
        '"timestamp": "{2}", "resource": {{"type": "k8s_container"}}}}',
        '{{"time": "{2}", "log": "step {0} loss {1}\\n", "kubernetes": {{"pod": "a", "labels": ["b"]}}}}',
    ],
    ids=["Docker", "a collector", "a cloud", "a payload", "Kubernetes"],
)
def test_lines_of_text_in_json_records_are_the_log_of_those_lines(record: str, tmp_path: Path) -> None:
    rows = [(step, 4.0 - step / 20, TIME.format(step)) for step in range(40)]
    log = tmp_path / "train.log"
    log.write_text("".join(record.format(*row) + "\n" for row in rows))
    [attempt] = read(log)
    loss = attempt.series["loss"]
    assert (attempt.name, attempt.truncated) == ("train.log", False)
    assert list(zip(loss.steps.tolist(), loss.values.tolist(), strict=True)) == [row[:2] for row in rows]
    assert loss.times[1] - loss.times[0] == 1.0
    log.write_bytes(log.read_bytes()[:-9])  # the last record is still being written
    [cut] = read(log)
    assert (len(cut.series["loss"]), cut.truncated) == (39, True)


@pytest.mark.parametrize(
    "beside", ['"loss": {}', '"loss": "{}"', '"metrics": {{"loss": {}}}'], ids=["number", "text", "nested"]
)
def test_json_records_that_measure_something_are_read_as_records(beside: str, tmp_path: Path) -> None:
    log = tmp_path / "train.jsonl"
    rows = (f'{{"message": "step {step} done", {beside.format(4.0 - step / 20)}}}\n' for step in range(40))
    log.write_text("".join(rows))
    [attempt] = read(log)
    assert attempt.facts["format"] == "jsonl"
    assert [len(series) for name, series in attempt.series.items() if name.endswith("loss")] == [40]
