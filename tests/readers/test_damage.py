"""Damaged logs of every format and kind: never a crash; what stands before the damage is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.readers.damage import damaged, is_text
from tests.readers.gold import EXAMPLES, examples

from chronicle.model import Attempt
from chronicle.readers import Reading, read_all

ALL = [EXAMPLES / example for example in examples()]
NAMES = [f"{example.parts[0]}/{example.name[:24]}" for example in examples()]
PEAK_KB = 600_000  # numpy and pandas take a fifth of it


def reading_of(content: bytes, file: Path) -> Reading:
    """What is read of a file with this content; a file that nobody knows is a problem and no crash."""
    file.write_bytes(content)
    return read_all(file)


def points(attempts: tuple[Attempt, ...]) -> set[tuple[str, int, str]]:
    """Every point that was read, whatever attempt it came to stand in."""
    return {
        (metric, int(step), repr(float(value)))
        for one in attempts
        for metric, s in one.series.items()
        for step, value in zip(s.steps, s.values, strict=True)
    }


def intact_part(content: bytes, intact: int) -> bytes:
    """What is whole before the damage: in a text to the last line end."""
    return content[: content.rfind(b"\n", 0, intact) + 1] if is_text(content) else content[:intact]


@pytest.mark.slow
@pytest.mark.parametrize("example", ALL, ids=NAMES)
def test_a_damaged_log_is_read_as_far_as_it_can_be(example: Path, tmp_path: Path) -> None:
    content, file = example.read_bytes(), tmp_path / example.name
    few_rows = len({step for _, step, _ in points(reading_of(content, file).attempts)}) < 8
    for one in damaged(content, each=4):
        reading = reading_of(one.content, file)
        begun = one.name.startswith("cut")  # an event file without a whole record is a log that has begun
        assert reading.attempts or reading.problems or begun, one.name
        for problem in reading.problems:
            assert "Remedy: " in str(problem) and str(file) in str(problem), (one.name, str(problem))
        before = intact_part(content, one.intact)
        if before and not one.name.startswith("cut") and not (few_rows and one.name.startswith("number")):
            kept = points(reading_of(before, file).attempts)
            assert kept <= points(reading.attempts), one.name


# Reads all copies of one example after the other, and prints the peak of the memory [KB] for each example.
MEASURED = """
import gc, pathlib, re, sys
from chronicle.readers import read_all
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    gc.collect()
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            read_all(file)
    print(folder.name, re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.slow
def test_memory_is_bounded_whatever_a_log_says(tmp_path: Path) -> None:
    """In one process of its own, which reads every damaged copy of every example."""
    for number, example in enumerate(ALL):
        for copy in damaged(example.read_bytes(), seed=1, each=2):
            file = tmp_path / f"{number:03}" / copy.name / example.name
            file.parent.mkdir(parents=True)
            file.write_bytes(copy.content)
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    peaks_kb = {ALL[int(number)]: int(peak) for number, peak in map(str.split, ran.stdout.splitlines())}
    assert len(peaks_kb) == len(ALL)
    assert {example: peak for example, peak in peaks_kb.items() if peak >= PEAK_KB} == {}
