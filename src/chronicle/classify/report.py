"""How a rule says what it found: criteria, confidence and the runner-up, in one place."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from chronicle.classify.view import AttemptView
from chronicle.model import Criterion, Facts, Finding, Series


def criterion(name: str, value: float | None, unit: str, threshold: str, met: bool | None) -> Criterion:
    """One test, its value rounded to what a reader can use; ``met`` None means not assessed."""
    return Criterion(name, tidy(value), unit, threshold, tidy(met))


def at_least(name: str, value: float, unit: str, least: float) -> Criterion:
    """The test that a value is not below a limit."""
    return criterion(name, value, unit, f">= {least:.3g}", value >= least)


def at_most(name: str, value: float, unit: str, most: float) -> Criterion:
    """The test that a value is not above a limit."""
    return criterion(name, value, unit, f"<= {most:.3g}", value <= most)


def found(
    pattern: str,
    where: AttemptView | None,
    series: Series | None,
    steps: tuple[float, float | None, float | None],
    *,
    severity: float,
    confidence: float,
    evidence: Facts,
    criteria: Iterable[Criterion] = (),
    runner_up: tuple[str, str] | None = None,
    seen_at: str = "",
) -> Finding:
    """A finding; ``steps``: start, peak, end; ``runner_up``: pattern, and what would change the answer;
    ``seen_at``: what identifies its event in the series, where it is one."""
    start, peak, end = (None if s is None else int(s) for s in steps)
    assert start is not None
    other, why = runner_up or (None, "")
    return Finding(
        pattern=pattern,
        metric=series.metric if series is not None else None,
        attempt=where.name if where is not None else None,
        start_step=start,
        peak_step=peak,
        end_step=end,
        severity=unit_share(severity),
        confidence=unit_share(confidence),
        evidence={k: tidy(v) for k, v in evidence.items()},
        criteria=tuple(criteria),
        runner_up=other,
        runner_up_if=why,
        id=identity(seen_at or f"{pattern}@{start}", where, series),
    )


def identity(seen_at: str, where: AttemptView | None, series: Series | None) -> str:
    """``loss:rise@600``, in a later attempt ``loss:rise@600#2``."""
    metric = f"{series.metric}:" if series is not None else ""
    return f"{metric}{seen_at}" + (f"#{where.index + 1}" if where is not None and where.index else "")


def renamed(
    finding: Finding, pattern: str, *, why: str, evidence: Facts, criteria: Iterable[Criterion]
) -> Finding:
    """The same event under the name that its context gives it; the shape stays as the runner-up.

    It keeps metric, attempt and start_step, by which a family's REPLACES recognises the shape it explains.
    """
    return replace(
        finding,
        pattern=pattern,
        evidence={**finding.evidence, **{k: tidy(v) for k, v in evidence.items()}},
        criteria=(*finding.criteria, *criteria),
        runner_up=finding.pattern,
        runner_up_if=why,
    )


def unit_share(x: float) -> float:
    """Clipped to 0..1, two decimals; NaN is 0."""
    return round(min(max(x, 0.0), 1.0), 2) if math.isfinite(x) else float(x == math.inf)


def tidy(value: Any) -> Any:
    """Five significant digits for a float, plain values for numpy scalars, all else as it is."""
    if hasattr(value, "item"):
        value = value.item()
    return float(f"{value:.5g}") if isinstance(value, float) and math.isfinite(value) else value
