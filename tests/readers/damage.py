"""Damaged copies of a log, of every kind met in the wild: the corpus of tests/readers/test_damage.py.

    python -m tests.readers.damage FOLDER

writes the damaged copies of every example into FOLDER, to be looked at or fed to another program.
"""

from __future__ import annotations

import codecs
import random
import re
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.readers.gold import EXAMPLES, examples

NANS = ("nan", "NaN", "NAN", "-nan", "+nan", "nan(ind)", "-1.#IND", "1.#QNAN", "Not a Number")
NUMBERS = (
    *NANS,
    *(
        "inf",
        "-Infinity",
        "1e999",
        "-1e-999",
        "9223372036854775807",
        "9223372036854775808",
        "-3",
        "0.5",
        "1e3",
    ),
    *("", "0x10", "1_000", "1,5", "١٢", "2999-12-31T23:59:59Z", "null", "true", "[1]", "{}", '"', "\\", "`"),
)
_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
LONG_BYTES = 10_000_000  # of a line
_TEXT = set(range(32, 256)) | {9, 10, 13}


@dataclass(frozen=True)
class Damaged:
    """A damaged copy. Bytes before ``intact`` are as they were: what they hold must still be read."""

    name: str
    content: bytes
    intact: int = 0


def damaged(
    content: bytes,
    seed: int = 0,
    each: int = 12,
    long_bytes: int = LONG_BYTES,
    numbers: Sequence[str] = NUMBERS,
) -> Iterator[Damaged]:
    """All damaged copies of a log: ``each`` of every kind with a place; long lines have ``long_bytes``."""
    random_ = random.Random(seed)
    for kind in (cut, flipped, zeroed, overwritten):
        yield from (kind(content, random_.randrange(len(content))) for _ in range(each))
    yield from lengths(content, random_)
    if is_text(content):
        yield from of_text(content, long_bytes)
        yield from of_numbers(content, random_, each, numbers)


def is_text(content: bytes) -> bool:
    """Whether a log is text."""
    return set(content[:4096]) <= _TEXT


def cut(content: bytes, at: int) -> Damaged:
    """The copy ends at a byte."""
    return Damaged(f"cut-{at}", content[:at], at)


def flipped(content: bytes, at: int) -> Damaged:
    """One byte has its bits inverted."""
    return Damaged(f"flipped-{at}", content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :], at)


def zeroed(content: bytes, at: int) -> Damaged:
    """A sector was never written."""
    return Damaged(f"zeroed-{at}", content[:at] + bytes(512) + content[at + 512 :], at)


def overwritten(content: bytes, at: int) -> Damaged:
    """A sector holds what belongs to another place of the file."""
    return Damaged(f"overwritten-{at}", content[:at] + content[:300] + content[at + 300 :], at)


def lengths(content: bytes, random_: random.Random) -> Iterator[Damaged]:
    """Eight bytes say a length that cannot be; a text has none, to it they are foreign bytes."""
    impossible = (0, 1, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)
    for value in impossible[-1:] if is_text(content) else impossible:
        at = random_.randrange(len(content))
        for where in {0, at}:
            wrong = content[:where] + struct.pack("<Q", value) + content[where + 8 :]
            yield Damaged(f"length-{value}-{where}", wrong, where)


def of_text(content: bytes, long_bytes: int) -> Iterator[Damaged]:
    """Other line ends, encodings and marks; lines that are long, doubled, swapped, blank or foreign."""
    lines = content.splitlines(keepends=True)
    middle, half = len(lines) // 2, len(b"".join(lines[: len(lines) // 2]))
    yield Damaged("crlf", content.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    yield Damaged("cr", content.replace(b"\r\n", b"\n").replace(b"\n", b"\r"))
    yield Damaged("bom", codecs.BOM_UTF8 + content)
    yield Damaged("utf-16", content.decode("utf-8", "replace").encode("utf-16"))
    yield Damaged("no-last-line-end", content.rstrip(b"\r\n"))
    for name, line in (
        ("latin-1", "voilà\n".encode("latin-1")),
        ("blank", b"\n\n \n"),
        ("control", b"\x1b[31m\x07\x08\n"),
        ("foreign", b"Traceback (most recent call last):\n"),
        ("first-line", lines[0]),
        ("long", b"x" * long_bytes + b"\n"),
        ("long-numbers", b"1," * (long_bytes // 2) + b"\n"),
        ("brackets", b"[" * 100_000 + b"\n"),
    ):
        yield Damaged(f"line-{name}", b"".join([*lines[:middle], line, *lines[middle:]]), half)
    yield Damaged("twice", content + content, len(content))
    swapped = [*lines[:middle], *lines[middle : middle + 2][::-1], *lines[middle + 2 :]]
    yield Damaged("swapped", b"".join(swapped), half)


def of_numbers(
    content: bytes, random_: random.Random, most_places: int, numbers: Sequence[str]
) -> Iterator[Damaged]:
    """A number in the second half that is no number, too large, negative, or of another notation."""
    places = [number for number in _NUMBER.finditer(content) if number.start() > len(content) // 2]
    places = random_.sample(places, min(len(places), most_places))
    for text in numbers if places else ():
        number = random_.choice(places)
        wrong = content[: number.start()] + text.encode() + content[number.end() :]
        yield Damaged(f"number-{NUMBERS.index(text)}", wrong, number.start())


def main() -> None:
    """The command."""
    target = Path(sys.argv[1])
    for example in examples():
        for copy in damaged((EXAMPLES / example).read_bytes()):
            folder = target / example.parent / copy.name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / example.name).write_bytes(copy.content)


if __name__ == "__main__":
    main()
