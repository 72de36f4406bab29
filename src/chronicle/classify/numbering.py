"""Numbers of findings and letters of joins: the same on every figure and in every list of a run."""

from __future__ import annotations

from dataclasses import replace

from chronicle.classify.patterns import BY_ID
from chronicle.model import Diagnosis, Finding, Join


def numbered(diagnosis: Diagnosis) -> list[tuple[int, Finding]]:
    """Findings in the order they begin, counted from 1."""
    ordered = sorted(diagnosis.findings, key=lambda f: (f.start_step, f.pattern, f.metric or ""))
    return list(enumerate(ordered, 1))


def drawn(finding: Finding) -> Finding:
    """The finding over the steps that a figure marks: of a replay all that was read twice, not its end."""
    low = finding.evidence.get("low_start_step")
    return finding if low is None else replace(finding, start_step=min(int(low), finding.start_step))


def lettered(diagnosis: Diagnosis) -> list[tuple[str, Join]]:
    """Joins in the order of the attempts: A … Z, AA, AB …"""
    return [(_letters(i), join) for i, join in enumerate(diagnosis.joins)]


def gravest(diagnosis: Diagnosis) -> list[tuple[int, Finding]]:
    """The numbered findings: those first that make the verdict, then by verdict and severity."""

    def gravity(item: tuple[int, Finding]) -> tuple[bool, int, float, int]:
        number, finding = item
        verdict = BY_ID[finding.pattern].verdict
        return verdict is diagnosis.verdict, verdict.rank, finding.severity, -number

    return sorted(numbered(diagnosis), key=gravity, reverse=True)


def _letters(index: int) -> str:
    return (_letters(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)
