"""Thresholds of the rules that look across series, attempts and the whole run.

They are fields of a base class of `Thresholds` (thresholds.py), so that there is one table of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


def limit(default: float, unit: str, why: str) -> Any:
    """A threshold: its default, its unit, and the reason for (or source of) the default."""
    return field(default=default, metadata={"unit": unit, "why": why})


@dataclass(frozen=True)
class ContextThresholds:
    """Thresholds across series, attempts and the whole run; see the table in docs/classifier.md."""
