"""Puts measured tables and figures into their places in docs/classifier-measured.md."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from pathlib import Path

from chronicle.classify import VERSION

DOCS = Path(__file__).parent.parent.parent / "docs"
PAGE = DOCS / "classifier-measured.md"
PICTURES = DOCS / "pictures"


def put(parts: Mapping[str, str]) -> None:
    """Replaces what stands between ``<!-- name -->`` and ``<!-- end -->`` of each part, with the day."""
    text = PAGE.read_text("utf-8")
    for name, table in parts.items():
        place = re.search(rf"(<!-- {re.escape(name)} -->\n)(.*?)(<!-- end -->)", text, re.S)
        if place is None:
            raise SystemExit(f"{PAGE.name} has no part {name!r}")
        made = f"\n{time.strftime('%Y-%m-%d')}, classifier {VERSION}.\n\n{table}\n\n"
        text = text[: place.start(2)] + made + text[place.end(2) :]
    PAGE.write_text(text, "utf-8")
