"""Which finding has which number, and which one a page speaks of first."""

from __future__ import annotations

from chronicle.model import Diagnosis, Finding, Join
from chronicle.patterns import BY_ID


def numbered(diagnosis: Diagnosis) -> list[tuple[int, Finding]]:
    ordered = sorted(diagnosis.findings, key=lambda f: f.start_step)
    return list(enumerate(ordered, 1))


def lettered(diagnosis: Diagnosis) -> list[tuple[str, Join]]:
    return [(chr(65 + i), join) for i, join in enumerate(diagnosis.joins)]


def gravest(diagnosis: Diagnosis) -> list[tuple[int, Finding]]:
    """The numbered findings, those first that make the verdict, then by verdict and severity."""

    def gravity(item: tuple[int, Finding]) -> tuple[bool, int, float, int]:
        number, finding = item
        verdict = BY_ID[finding.pattern].verdict
        return verdict is diagnosis.verdict, verdict.rank, finding.severity, -number

    return sorted(numbered(diagnosis), key=gravity, reverse=True)
