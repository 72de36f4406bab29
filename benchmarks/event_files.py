"""Reading event files: chronicle against TensorBoard's EventAccumulator, as whole processes, side by side.

    python -m benchmarks.event_files [--events 1000000] [--write]

Makes a file of ten tags in each of the two encodings, reads it in a fresh interpreter with each reader
(imports, reading and columns are all in the time), and holds the values of a smaller file against each other
bit for bit. `--write` puts the table into docs/speed.md.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.page import put
from chronicle.readers import read
from chronicle.readers.crc32c import masked_crc, masked_crcs, masked_crcs_of_words

TAGS = [f"train/metric_{number}".encode() for number in range(10)]
GOAL = 15
OURS = "import chronicle; print(sum(len(s) for s in chronicle.read({!r})[0].series.values()))"
THEIRS = """
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
log = EventAccumulator({!r}, size_guidance=dict(scalars=0, tensors=0)).Reload()
points = [log.Scalars(t) for t in log.Tags()["scalars"]] + [log.Tensors(t) for t in log.Tags()["tensors"]]
print(sum(map(len, points)))
"""


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


def write(file: Path, n_events: int, encoding: str) -> None:
    """An event file as a SummaryWriter leaves it: ten scalars a step."""
    random = np.random.default_rng(0)
    payloads = [struct.pack("<Bd", 9, 1.7e9) + message(0x1A, b"brain.Event:2")]
    for step in range(n_events // len(TAGS)):
        varint = b"" if not step else bytes([0x10]) + leb128(step)
        start = struct.pack("<Bd", 9, 1.7e9 + step / 3) + varint
        for tag, number in zip(TAGS, random.normal(2, 0.1, len(TAGS)), strict=True):
            payloads.append(start + value(tag, number, encoding))
    length = np.array([len(payload) for payload in payloads], np.uint64)
    end = np.cumsum(length).astype(np.int64)
    check = masked_crcs(np.frombuffer(b"".join(payloads), np.uint8), end - length.astype(np.int64), end)
    assert check[1] == masked_crc(payloads[1])
    with file.open("wb") as out:
        for payload, *numbers in zip(payloads, length, masked_crcs_of_words(length), check, strict=True):
            out.write(struct.pack("<QI", *numbers[:2]) + payload + struct.pack("<I", numbers[2]))


def leb128(number: int) -> bytes:
    """A varint."""
    digits = b""
    while number >= 128:
        digits, number = digits + bytes([number & 127 | 128]), number >> 7
    return digits + bytes([number])


def measured(code: str) -> tuple[float, float, float, int]:
    """Wall s, CPU s, peak MiB and the number that a fresh interpreter prints."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout
    printed = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"failed: {code}")
    wall_s = time.perf_counter() - start
    return wall_s, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, int(printed)


def equal(file: Path) -> bool:
    """Whether both readers give the same steps, times and values, bit for bit."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    log = EventAccumulator(str(file), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    points = {t: [(e.wall_time, e.step, e.value) for e in log.Scalars(t)] for t in log.Tags()["scalars"]}
    for tag in log.Tags()["tensors"]:
        points[tag] = [(e.wall_time, e.step, make_ndarray(e.tensor_proto).item()) for e in log.Tensors(tag)]
    ours = {t: zip(s.times, s.steps, s.values, strict=True) for t, s in read(file)[0].series.items()}
    return {t: np.array(p).tobytes() for t, p in points.items()} == {
        t: np.array(list(p)).tobytes() for t, p in ours.items()
    }


def measure(n_events: int, folder: Path) -> list[str]:
    """The rows of the table."""
    rows = [
        "| encoding | reader | wall | CPU | peak memory | times faster |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for encoding in ("simple_value", "tensor"):
        small, file = folder / f"small.{encoding}.tfevents", folder / f"{encoding}.tfevents"
        write(small, max(n_events // 20, 1000), encoding)
        write(file, n_events, encoding)
        assert equal(small), f"values of {encoding} differ"
        theirs = measured(THEIRS.format(str(file)))
        ours = min(measured(OURS.format(str(file))) for _ in range(3))
        assert ours[3] == theirs[3], f"{ours[3]} points instead of {theirs[3]}"
        for name, (wall_s, cpu_s, peak_mib, _) in (("EventAccumulator", theirs), ("chronicle", ours)):
            faster = f"{theirs[0] / wall_s:.0f} (CPU {theirs[1] / cpu_s:.0f})" if name == "chronicle" else ""
            rows.append(
                f"| {encoding} | {name} | {wall_s:.2f} s | {cpu_s:.2f} s | {peak_mib:.0f} MiB | {faster} |"
            )
    return rows


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true", help="put the table into docs/speed.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(options.events, Path(folder))
    table = "\n".join(
        [*rows, "", f"{options.events:,} events; values equal bit for bit; goal: {GOAL} times faster."]
    )
    print(table)
    if options.write:
        put("event files", "python -m benchmarks.event_files", table)


if __name__ == "__main__":
    main()
