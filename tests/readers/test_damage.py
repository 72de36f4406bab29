"""Damaged logs of every format and kind: never a crash; what stands before the damage is kept."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import pytest
from tests.depth import LONG, few, firsts, turns
from tests.readers.damage import NUMBERS, damaged, is_text
from tests.readers.gold import EXAMPLES, examples

from chronicle.model import Attempt
from chronicle.readers import Reading, read_all

ALL = [EXAMPLES / example for example in examples()]
FIRST = {file.parent: file for file in reversed(ALL)}  # of each format
LONGEST = few(FIRST.values(), 4)  # examples that get the longest lines
TAKEN = firsts(ALL, [file.parent for file in ALL])
EACH = 4 if LONG else 1  # places of each kind of damage
LONG_BYTES, LINE_BYTES = 2_500_000, 100_000  # of a line: in `LONGEST`, in the others
GROWTH_KB = 125_000  # of the memory while copies of a few kilobytes, or with such a line, are read
_STATUS = Path("/proc/self/status")


def reading_of(content: bytes, file: Path) -> Reading:
    """What is read of a file with this content; a file that nobody knows is a problem and no crash."""
    file.write_bytes(content)
    return read_all(file)


def points(attempts: tuple[Attempt, ...]) -> set[tuple[str, int, str]]:
    """Every point that was read, whatever attempt it came to stand in."""
    return {
        (metric, int(step), repr(float(value)))
        for attempt in attempts
        for metric, s in attempt.series.items()
        for step, value in zip(s.steps, s.values, strict=True)
    }


def intact_part(content: bytes, intact: int) -> bytes:
    """What is whole before the damage: in a text to the last line end."""
    return content[: content.rfind(b"\n", 0, intact) + 1] if is_text(content) else content[:intact]


def memory_kb(what: str) -> int:
    """The memory of this process: now (VmRSS), or its peak since `forget_the_peak` (VmHWM)."""
    match = re.search(rf"{what}:\s+(\d+)", _STATUS.read_text())
    assert match
    return int(match[1])


def forget_the_peak() -> None:
    """The peak of the memory counts from here."""
    Path("/proc/self/clear_refs").write_text("5")


@pytest.mark.slow
@pytest.mark.parametrize("example", TAKEN, ids=lambda file: f"{file.parent.name}/{file.name[:24]}")
def test_a_damaged_log_is_read_as_far_as_it_can_be(example: Path, tmp_path: Path) -> None:
    content, file = example.read_bytes(), tmp_path / example.name
    points_of = functools.cache(lambda part: points(reading_of(part, file).attempts))
    few_rows = len({step for _, step, _ in points_of(content)}) < 8
    forget_the_peak()
    before_kb = memory_kb("VmRSS")
    long_bytes = LONG_BYTES if example in LONGEST else LINE_BYTES
    numbers = turns(NUMBERS, TAKEN.index(example))
    for copy in damaged(content, each=EACH, long_bytes=long_bytes, numbers=numbers):
        reading = reading_of(copy.content, file)
        begun = copy.name.startswith("cut")  # an event file without a whole record is a log that has begun
        assert reading.attempts or reading.problems or begun, copy.name
        for problem in reading.problems:
            assert "Remedy: " in str(problem) and str(file) in str(problem), (copy.name, str(problem))
        before = intact_part(content, copy.intact)
        if before and not copy.name.startswith("cut") and not (few_rows and copy.name.startswith("number")):
            assert points_of(before) <= points(reading.attempts), copy.name
    assert memory_kb("VmHWM") - before_kb < GROWTH_KB
