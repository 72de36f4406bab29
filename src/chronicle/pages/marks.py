"""Which finding a page speaks of first."""

from __future__ import annotations

from chronicle.model import Diagnosis, Finding
from chronicle.numbering import numbered
from chronicle.patterns import BY_ID


def gravest(diagnosis: Diagnosis) -> list[tuple[int, Finding]]:
    """The numbered findings, those first that make the verdict, then by verdict and severity."""

    def gravity(item: tuple[int, Finding]) -> tuple[bool, int, float, int]:
        number, finding = item
        verdict = BY_ID[finding.pattern].verdict
        return verdict is diagnosis.verdict, verdict.rank, finding.severity, -number

    return sorted(numbered(diagnosis), key=gravity, reverse=True)
