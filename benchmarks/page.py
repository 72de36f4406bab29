"""Puts the table of a benchmark into its place in the guide, with the day and the machine."""

from __future__ import annotations

import os
import platform
import re
import time
from pathlib import Path

SPEED = Path(__file__).parent.parent / "docs" / "speed.md"


def put(part: str, command: str, table: str, page: Path = SPEED) -> None:
    """Replaces what stands between ``<!-- part -->`` and ``<!-- end -->`` of a page."""
    text = page.read_text("utf-8")
    place = re.search(rf"(<!-- {re.escape(part)} -->\n)(.*?)(<!-- end -->)", text, re.S)
    if place is None:
        raise SystemExit(f"{page.name} has no part {part!r}")
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
    made = f"\n`{command}`, {time.strftime('%Y-%m-%d')}, {machine}.\n\n{table}\n\n"
    page.write_text(text[: place.start(2)] + made + text[place.end(2) :], "utf-8")
