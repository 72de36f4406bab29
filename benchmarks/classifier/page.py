"""Writes measured tables and figures into the two appendices of docs/ about the classifier."""

from __future__ import annotations

import time
from collections.abc import Mapping

from benchmarks.page import SPEED, replace
from chronicle.classify import VERSION

PAGE = SPEED.with_name("classifier-measured.md")
CONFIDENCE = SPEED.with_name("classifier-confidence.md")
PICTURES = SPEED.with_name("pictures")


def put(parts: Mapping[str, str]) -> None:
    """Writes each table into the part of the page with its name, with the date and the version that was
    measured."""
    for name, table in parts.items():
        page = CONFIDENCE if f"<!-- {name} -->" in CONFIDENCE.read_text("utf-8") else PAGE
        replace(name, f"\n{time.strftime('%Y-%m-%d')}, classifier {VERSION}.\n\n{table}\n\n", page)
