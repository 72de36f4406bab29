"""The rules, one file a family. A rule module has

- ``PATTERNS: tuple[str, ...]``: the ids it may emit;
- ``REPLACES: tuple[str, ...]`` (optional): patterns that a finding of this family takes the place of, where
  both have the same metric, attempt and start_step (the context explains the shape; see report.renamed);
- ``find(view) -> Iterator[Finding]``.

`RULES` is the explicit list, shapes first; the order decides who explains whom: a later family may replace
findings of an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from chronicle.classify.rules import (
    anew,
    averaged,
    datasets,
    epochs,
    failed,
    gradients,
    improvement,
    mixture,
    numerics,
    overfitting,
    plateau,
    quantised,
    replay,
    restored,
    resume,
    schedule,
    shapes,
    speed,
    uturn,
)
from chronicle.classify.view import View
from chronicle.model import Finding


class Rule(Protocol):
    """What a rule module offers."""

    @property
    def PATTERNS(self) -> tuple[str, ...]: ...

    def find(self, view: View) -> Iterator[Finding]: ...


RULES: tuple[Rule, ...] = (
    shapes,
    uturn,
    failed,
    quantised,
    plateau,
    overfitting,
    improvement,
    anew,
    resume,
    datasets,
    mixture,
    replay,
    restored,
    epochs,
    schedule,
    numerics,
    gradients,
    speed,
    averaged,
)
