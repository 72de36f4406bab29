"""Small logs written for tests, in each format, from the same points."""

from __future__ import annotations

import csv
import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

Points = Mapping[str, Sequence[tuple[int, float]]]


def rows(points: Points) -> list[dict[str, float]]:
    """One dict a step, in the order in which the steps first come."""
    by_step: dict[int, dict[str, float]] = {}
    for metric, values in points.items():
        for step, value in values:
            by_step.setdefault(step, {"step": step})[metric] = value
    return list(by_step.values())


def csv_log(file: Path, points: Points) -> None:
    """Wide, blank where a metric has no value."""
    with file.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, ["step", *points])
        writer.writeheader()
        writer.writerows(rows(points))


def json_log(file: Path, points: Points) -> None:
    """One object a step."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows(points)), "utf-8")


def trainer_log(file: Path, points: Points) -> None:
    """A state of the Trainer."""
    state = {"global_step": 0, "log_history": rows(points)}
    file.write_text(json.dumps(state, indent=2), "utf-8")


def event_log(file: Path, points: Points, *, wall_time: float = 1.7e9) -> None:
    """An event file, one record a value, as simple_value."""
    payloads = [event(wall_time, 0, b"\x1a\x0dbrain.Event:2")]
    for row in rows(points):
        for metric, value in row.items():
            if metric != "step":
                content = summary([(metric, simple(value))])
                payloads.append(event(wall_time + row["step"], int(row["step"]), content))
    file.write_bytes(b"".join(map(frame, payloads)))


def masked_crc(data: bytes) -> int:
    """Masked CRC-32C, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (crc & 1) * 0x82F63B78
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def frame(payload: bytes) -> bytes:
    """A TFRecord."""
    length = struct.pack("<Q", len(payload))
    checks = [struct.pack("<I", masked_crc(part)) for part in (length, payload)]
    return length + checks[0] + payload + checks[1]


def event(wall_time: float, step: int, rest: bytes) -> bytes:
    """An Event with something in it."""
    return struct.pack("<Bd", 0x09, wall_time) + (b"\x10" + varint(step) if step else b"") + rest


def summary(values: Sequence[tuple[str, bytes]]) -> bytes:
    """The summary field of an event: (tag, the bytes that hold the number)."""
    made = b"".join(field(0x0A, field(0x0A, tag.encode()) + number) for tag, number in values)
    return field(0x2A, made)


def simple(value: float) -> bytes:
    """A number as simple_value."""
    return b"\x15" + struct.pack("<f", value)


def field(key: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return bytes([key]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    """Seven bits a byte; negative numbers in two's complement of 64 bits."""
    number &= (1 << 64) - 1
    digits = b""
    while number >= 128:
        digits, number = digits + bytes([number & 127 | 128]), number >> 7
    return digits + bytes([number])
