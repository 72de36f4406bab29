"""What the benchmarks share: their options, their tables, and how a table is written into the guide."""

from __future__ import annotations

import argparse
import math
import os
import platform
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

SPEED = Path(__file__).parent.parent / "docs" / "speed-measured.md"


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """The parser of a benchmark, with the first line of its docstring and `--write`."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the results into the guide")
    return parser


def count(text: str) -> int:
    """A whole number of at least 1, as an option of a command."""
    if text.isdecimal() and int(text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")


def of_runs(part: str, doc: str | None, measure: Callable[[int, Path], Iterable[Sequence[object]]]) -> None:
    """Runs a whole benchmark that measures a gallery of `--runs` runs, in a folder of its own."""
    parser = arguments(doc)
    parser.add_argument("--runs", type=count, default=3000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(given.runs, Path(folder))
    show(part, markdown([f"{given.runs} runs", "measured", "goal"], rows), given.write)


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]], text_columns: int = 1) -> str:
    """A table. The first columns are text, the others numbers; None, NaN and infinity are empty cells."""
    rules = ["---"] * text_columns + ["---:"] * (len(head) - text_columns)
    return "\n".join(f"| {' | '.join(map(_cell, row))} |" for row in (head, rules, *rows))


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def show(part: str, table: str, write: bool, page: Path = SPEED, given: str = "") -> None:
    """Prints a table of `python -m benchmarks.PART GIVEN`, and writes it into the guide if asked to."""
    print(table)
    if write:
        put(part, f"python -m benchmarks.{part} {given}".strip(), table, page)


def put(part: str, command: str, table: str, page: Path = SPEED) -> None:
    """Replaces the text between ``<!-- part -->`` and ``<!-- end -->`` of a page, and adds the date and the
    machine."""
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
    replace(part, f"\n`{command}`, {time.strftime('%Y-%m-%d')}, {machine}.\n\n{table}\n\n", page)


def replace(part: str, text: str, page: Path) -> None:
    """Replaces the text between ``<!-- part -->`` and ``<!-- end -->`` of a page."""
    old = page.read_text("utf-8")
    place = re.search(rf"(<!-- {re.escape(part)} -->\n)(.*?)(<!-- end -->)", old, re.S)
    if place is None:
        raise SystemExit(f"{page.name} has no part {part!r}")
    page.write_text(old[: place.start(2)] + text + old[place.end(2) :], "utf-8")
