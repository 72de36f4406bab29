"""Puts measured tables and figures into their places in docs/classifier-measured.md."""

from __future__ import annotations

import time
from collections.abc import Mapping

from benchmarks.page import SPEED, replace
from chronicle.classify import VERSION

PAGE = SPEED.with_name("classifier-measured.md")
PICTURES = SPEED.with_name("pictures")


def put(parts: Mapping[str, str]) -> None:
    """Puts each table into the part of its name, with the day and the version that was measured."""
    for name, table in parts.items():
        replace(name, f"\n{time.strftime('%Y-%m-%d')}, classifier {VERSION}.\n\n{table}\n\n", PAGE)
