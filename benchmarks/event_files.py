"""Reads event files with chronicle, TensorBoard's EventAccumulator and tensorboard-data-server.

    python -m benchmarks.event_files [--events 1000000] [--files 1000] [--write]

Writes a file of ten tags in each of the two encodings, and a folder of many small files, and reads them in a
new interpreter with each reader. The time includes start, reading and columns; for the server, loading and
fetching with checksums. All values are compared with those of EventAccumulator bit for bit, also those of
every event file below runs/ and in the folders of --also. `--runs 1000` instead measures that many run
folders of 1 to 5 files each, read in one process. `--write` puts the table into docs/speed-measured.md.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.page import arguments, count, put
from chronicle.readers import read
from chronicle.readers.events.tfrecord import masked_crcs, masked_crcs_of_words

RUNS = Path(__file__).parent.parent / "runs"
JUDGED = [b"train/loss", b"train/grad_norm", b"train/learning_rate", b"train/tokens_per_sec"]
TAGS = [*JUDGED, *(f"train/metric_{number}".encode() for number in range(6))]
GOAL = (
    "30 times EventAccumulator and 2.5 times the server on a file, 40 times EventAccumulator on the folder, "
    "0.6 of the server's memory"
)
GOAL_OF_RUNS = "1.3 times the server a core, 0.3 of its memory"
HEAD = (
    "| what | reader | wall | CPU | peak memory | times faster | memory |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
)
EVENTS_A_FILE = 2000
MARK = 0.123456789  # stands for the number of a value
# ru_maxrss of a child also counts what this process had when it started the child; VmHWM does not.
PEAK = """
with open("/proc/self/status") as status:
    print(next(int(line.split()[1]) >> 10 for line in status if line.startswith("VmHWM")))
"""
OURS = "import chronicle; print(sum(len(s) for a in chronicle.read({!r}) for s in a.series.values()))" + PEAK
THEIRS = (
    """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
log = EventAccumulator({!r}, size_guidance=dict(scalars=0, tensors=0)).Reload()
points = [log.Scalars(t) for t in log.Tags()["scalars"]] + [log.Tensors(t) for t in log.Tags()["tensors"]]
print(sum(map(len, points)))
"""
    + PEAK
)


def message(key: int, content: bytes) -> bytes:
    """A length-delimited field of less than 128 bytes."""
    return bytes([key, len(content)]) + content


def value(tag: bytes, number: float, encoding: str) -> bytes:
    """A summary with one value."""
    cell = struct.pack("<f", number)
    if encoding == "tensor":
        tensor = message(0x42, b"\x08\x01\x12\x00" + message(0x22, cell))
        return message(0x2A, message(0x0A, message(0x0A, tag) + tensor + b"\x4a\x0b\x0a\x09\x0a\x07scalars"))
    return message(0x2A, message(0x0A, message(0x0A, tag) + b"\x15" + cell))


def write(file: Path, n_events: int, encoding: str, first_step: int = 0) -> None:
    """An event file as a SummaryWriter writes it: ten scalars a step."""
    n_steps = n_events // len(TAGS)
    cells = np.random.default_rng(0).normal(2, 0.1, n_steps * len(TAGS)).astype("<f4").tobytes()
    around = [value(tag, MARK, encoding).split(struct.pack("<f", MARK)) for tag in TAGS]
    payloads = [struct.pack("<Bd", 9, 1.7e9) + message(0x1A, b"brain.Event:2")]
    for step in range(n_steps):
        at = first_step + step
        start = struct.pack("<Bd", 9, 1.7e9 + at / 3) + (b"\x10" + leb128(at) if at else b"")
        for i, (before, after) in enumerate(around, step * len(TAGS)):
            payloads.append(b"".join((start, before, cells[4 * i : 4 * i + 4], after)))
    file.write_bytes(b"".join(frames(payloads)))


def frames(payloads: Sequence[bytes]) -> Iterator[bytes]:
    """Payloads with their lengths and checksums, in pieces."""
    length = np.array([len(payload) for payload in payloads], np.int64)
    end = np.cumsum(length)
    check = masked_crcs(np.frombuffer(b"".join(payloads), np.uint8), end - length, end)
    head = np.rec.fromarrays([length.astype("<u8"), masked_crcs_of_words(length.view(np.uint64))]).tobytes()
    foot = check.astype("<u4").tobytes()
    for i, payload in enumerate(payloads):
        yield from (head[12 * i : 12 * i + 12], payload, foot[4 * i : 4 * i + 4])


def leb128(number: int) -> bytes:
    """A number as a varint."""
    digits = b""
    while number >= 128:
        digits, number = digits + bytes([number & 127 | 128]), number >> 7
    return digits + bytes([number])


class Cost(NamedTuple):
    """The time and memory of a process, and the number of points that it read."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    points: int
    printed: list[int]


def measured(*command: str) -> Cost:
    """Runs Python with these arguments. It prints the number of points and its peak memory in MiB (for a
    client, of both sides), or other numbers."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE)
    assert process.stdout
    with process.stdout as words:
        points, *printed = map(int, words.read().split())
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {command}")
    wall_s = time.perf_counter() - start
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, sum(printed), points, printed)


def best(*command: str) -> Cost:
    """The fastest of three runs, because any of them may be disturbed."""
    return min(measured(*command) for _ in range(3))


def equal(file: Path) -> bool:
    """Whether EventAccumulator and chronicle give the same columns, bit for bit."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    log = EventAccumulator(str(file), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    points = {t: [(e.wall_time, e.step, e.value) for e in log.Scalars(t)] for t in log.Tags()["scalars"]}
    for tag in log.Tags()["tensors"]:
        points[tag] = [(e.wall_time, e.step, make_ndarray(e.tensor_proto).item()) for e in log.Tensors(tag)]
    expected = {t: np.array(p).tobytes() for t, p in points.items()}
    series = read(file)[0].series
    ours = {t: np.stack([s.times, s.steps, s.values], axis=1).tobytes() for t, s in series.items()}
    return ours == expected


def folder_of(root: Path, n_files: int) -> Path:
    """A folder of small files that continue each other, as of a job that is often restarted."""
    folder = root / "many"
    folder.mkdir()
    for number in range(n_files):
        name = f"events.out.tfevents.{1_700_000_000 + number}.host.1.0"
        write(folder / name, EVENTS_A_FILE, "simple_value", number * EVENTS_A_FILE // len(TAGS))
    return folder


def run_folders(root: Path, n_runs: int) -> Path:
    """Folders of short runs, each of which was restarted up to four times."""
    random, folder = np.random.default_rng(0), root / "runs"
    for number in range(n_runs):
        run = folder / f"run{number:04d}"
        run.mkdir(parents=True)
        for k in range(int(random.integers(1, 6))):
            name = f"events.out.tfevents.{1_700_000_000 + 1000 * number + k}.host.1.0"
            encoding = ("simple_value", "tensor")[number % 2]
            write(run / name, len(TAGS) * int(random.integers(5, 60)), encoding, 60 * k)
    return folder


def measured_runs(n_runs: int, root: Path) -> Iterator[str]:
    """The table of many small files in folders of their own."""
    folder = run_folders(root, n_runs)
    yield from HEAD
    server = ("-m", "benchmarks.data_server", str(folder), "--checksum")
    costs = {"tensorboard-data-server": best(*server), "chronicle": best("-c", OURS.format(str(folder)))}
    yield from rows(f"{n_runs:,} run folders, {len(list(folder.rglob('events*'))):,} files", costs)


def measure(n_events: int, n_files: int, root: Path) -> Iterator[str]:
    """The rows of the table."""
    yield from HEAD
    logs = {}
    for encoding in ("simple_value", "tensor"):
        folder = root / encoding
        folder.mkdir()
        small, file = folder / "small.tfevents", folder / "events.out.tfevents.1"
        write(small, max(n_events // 20, 1000), encoding)
        assert equal(small), f"values of {encoding} differ"
        small.unlink()
        write(file, n_events, encoding)
        logs[f"{n_events:,} events, {encoding}"] = folder
    logs[f"{n_files:,} files of {EVENTS_A_FILE:,}"] = folder_of(root, n_files)
    for what, folder in logs.items():
        costs = {
            "EventAccumulator": measured("-c", THEIRS.format(str(folder))),
            "tensorboard-data-server": measured("-m", "benchmarks.data_server", str(folder), "--checksum"),
            "chronicle": best("-c", OURS.format(str(folder))),
        }
        yield from rows(what, costs)


def rows(what: str, costs: dict[str, Cost]) -> Iterator[str]:
    """A row for each reader, with the factor by which chronicle is better."""
    ours = costs["chronicle"]
    for name, cost in costs.items():
        assert cost.points == ours.points, f"{name} reads {cost.points} points, chronicle {ours.points}"
        times = f"{cost.wall_s / ours.wall_s:.1f} (CPU {cost.cpu_s / ours.cpu_s:.1f})"
        better = f"{times} | {ours.peak_mib / cost.peak_mib:.2f}"
        yield (
            f"| {what} | {name} | {cost.wall_s:.2f} s | {cost.cpu_s:.2f} s | {cost.peak_mib:.0f} MiB "
            f"| {better if cost is not ours else '|'} |"
        )


def main() -> None:
    """The command."""
    parser = arguments(__doc__)
    parser.add_argument("--events", type=count, default=1_000_000)
    parser.add_argument("--files", type=count, default=1000)
    parser.add_argument(
        "--also", type=Path, nargs="*", default=[], help="folders with more event files to compare"
    )
    parser.add_argument("--runs", type=count, default=0, help="measure only this number of run folders")
    options = parser.parse_args()
    if options.runs:
        with tempfile.TemporaryDirectory() as folder:
            table = "\n".join(measured_runs(options.runs, Path(folder)))
        text = f"{table}\n\nGoal: {GOAL_OF_RUNS}."
        print(text)
        if options.write:
            put("run folders", f"python -m benchmarks.event_files --runs {options.runs}", text)
        return
    real = [file for folder in (RUNS, *options.also) for file in sorted(folder.rglob("*tfevents*"))]
    different = [file for file in real if not equal(file)]
    assert not different, f"values differ: {different}"
    with tempfile.TemporaryDirectory() as folder:
        table = list(measure(options.events, options.files, Path(folder)))
    end = (
        f"Values equal EventAccumulator's bit for bit, also of {len(real)} files of real runs. Goals: {GOAL}."
    )
    text = "\n".join([*table, "", end])
    print(text)
    if options.write:
        put("event files", "python -m benchmarks.event_files", text)


if __name__ == "__main__":
    main()
