"""Rules and their findings: each number is stated once, as a criterion, as evidence, or as both."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from chronicle.classify.thresholds import CONFIDENCE
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.values import grouped
from chronicle.model import Criterion, Event, Finding, Series

Search = Callable[[View], Iterable[Finding]]
Named = TypeVar("Named", Finding, Event)


@dataclass(frozen=True)
class Rule:
    """The ``patterns`` that it may find, and how it searches for them in a run. A finding takes the place of
    earlier ones on the same metric and attempt: of patterns in ``replaces`` with the same start_step (the
    context explains the shape), and of patterns in ``covers`` that start between its start and its end."""

    name: str
    patterns: tuple[str, ...]
    search: Search
    replaces: frozenset[str] = frozenset()
    covers: frozenset[str] = frozenset()

    def unexplained(self, known: Iterable[Finding], new: Iterable[Finding]) -> Iterator[Finding]:
        """The known findings that no new finding of this rule replaces."""
        place = attrgetter("metric", "attempt")
        new_at = grouped(new, place)
        return (f for f in known if not any(self.explains(n, f) for n in new_at.get(place(f), ())))

    def explains(self, new: Finding, known: Finding) -> bool:
        end = math.inf if new.end_step is None else new.end_step
        covered = known.pattern in self.covers and new.start_step <= known.start_step <= end
        return covered or (known.pattern in self.replaces and new.start_step == known.start_step)

    def find(self, view: View) -> Iterator[Finding]:
        """The findings in a run all of whose criteria hold."""
        return filter(stands, self.search(view))

    @staticmethod
    def by_attempt(search: Callable[[View, AttemptView], Iterable[Finding]]) -> Search:
        """What searches one attempt, applied to all of them in the order of the log."""
        return lambda view: (f for attempt in view.attempts for f in search(view, attempt))

    @staticmethod
    def by_loss(search: Callable[[View, AttemptView, Series], Iterable[Finding]]) -> Search:
        """What searches the judged loss of one attempt, applied to all of them."""
        return lambda view: (f for a in view.attempts if a.loss is not None for f in search(view, a, a.loss))


@dataclass(frozen=True)
class Check:
    """A number that a rule compared with a limit, or measured. With a ``name`` it is a necessary criterion:
    ``limit`` states in words what it was compared with, and ``met`` whether it holds (None: not assessed); a
    finding with one that fails is dropped. With a ``key`` it is part of the evidence."""

    name: str
    value: Any
    unit: str
    limit: str
    met: bool | None = True
    key: str = ""


def at_least(name: str, value: float, unit: str, least: float, key: str = "") -> Check:
    """The check that a value is not below a limit."""
    return Check(name, value, unit, f">= {least:.3g}", value >= least, key)


def at_most(name: str, value: float, unit: str, most: float, key: str = "") -> Check:
    """The check that a value is not above a limit."""
    return Check(name, value, unit, f"<= {most:.3g}", value <= most, key)


def below(name: str, value: float, unit: str, limit: float, key: str = "") -> Check:
    """The check that a value is below a limit."""
    return Check(name, value, unit, f"< {limit:.3g}", value < limit, key)


def side(name: str, value: Any, unit: str, holds: bool, limits: tuple[str, str], key: str = "") -> Check:
    """The check that states on which side of a limit a value lies: the first of ``limits`` if it holds."""
    return Check(name, value, unit, limits[0] if holds else limits[1], key=key)


def noted(**evidence: Any) -> tuple[Check, ...]:
    """Evidence that was compared with no limit."""
    return tuple(Check("", value, "", "", key=key) for key, value in evidence.items())


@dataclass(frozen=True, eq=False)
class At:
    """Where a finding lies: its attempt and series (None: of several), the steps of its start, peak, end."""

    attempt: AttemptView | None
    series: Series | None
    start: float
    peak: float | None = None
    end: float | None = None


def finding(
    pattern: str,
    at: At,
    checks: Sequence[Check],
    severity: float,
    confidence: float,
    runner_up: tuple[str | None, str] = (None, ""),
    seen_at: str = "",
) -> Finding:
    """A finding. ``runner_up``: the second pattern and what would have led to it; ``seen_at``: its event."""
    metric = at.series.metric if at.series is not None else None
    place = seen_at or f"{pattern}@{int(at.start)}"
    if at.attempt is not None and at.attempt.index:
        place += f"#{at.attempt.index + 1}"
    return Finding(
        pattern,
        metric,
        at.attempt.name if at.attempt is not None else None,
        int(at.start),
        None if at.peak is None else int(at.peak),
        None if at.end is None else int(at.end),
        severity=unit_share(severity),
        confidence=unit_share(confidence),
        evidence=_evidence(checks),
        criteria=_criteria(checks),
        runner_up=runner_up[0],
        runner_up_if=runner_up[1],
        id=place if metric is None else f"{metric}:{place}",
    )


def renamed(shape: Finding, pattern: str, checks: Sequence[Check], *, why: str) -> Finding:
    """The same event under the name that its context gives it. ``why`` says when it would keep its old
    name."""
    evidence, criteria = {**shape.evidence, **_evidence(checks)}, shape.criteria + _criteria(checks)
    named = replace(shape, pattern=pattern, runner_up=shape.pattern, runner_up_if=why)
    return replace(named, evidence=evidence, criteria=criteria)


def numbered(named: Iterable[Named], mark: str) -> Iterator[Named]:
    """Gives findings or events unique ids: the second of an id has ``mark`` and 2 behind it, the third 3."""
    often = Counter[str]()
    for item in named:
        often[item.id] += 1
        yield replace(item, id=f"{item.id}{mark}{often[item.id]}") if often[item.id] > 1 else item


def overlap(a: Finding, b: Finding) -> bool:
    """Whether two findings share steps, such as those of throughput and step time."""
    end_a, end_b = (np.inf if f.end_step is None else f.end_step for f in (a, b))
    return a.start_step <= end_b and b.start_step <= end_a


def stands(known: Finding) -> bool:
    """Whether no criterion of a finding fails."""
    return all(c.met is not False for c in known.criteria)


def _evidence(checks: Sequence[Check]) -> dict[str, Any]:
    return {c.key: tidy(c.value) for c in checks if c.key}


def _criteria(checks: Sequence[Check]) -> tuple[Criterion, ...]:
    return tuple(Criterion(c.name, tidy(c.value), c.unit, c.limit, tidy(c.met)) for c in checks if c.name)


def unit_share(x: float) -> float:
    """A share clipped to 0..1, with two decimals; 0 for NaN."""
    return round(min(max(x, 0.0), 1.0), 2) if math.isfinite(x) else float(x == math.inf)


def tidy(value: Any) -> Any:
    """A float with five significant digits, a numpy scalar as a plain value, and all else as it is."""
    if hasattr(value, "item"):
        value = value.item()
    return float(f"{value:.5g}") if isinstance(value, float) and math.isfinite(value) else value


def calibrated(known: Finding) -> Finding:
    """The finding with the share of findings of its pattern and confidence that were right on labelled runs
    (`thresholds.CONFIDENCE`, isotonic: Zadrozny & Elkan 2002); patterns too rare to be counted stay."""
    knots = CONFIDENCE.get(known.pattern)
    return replace(known, confidence=unit_share(looked_up(knots, known.confidence))) if knots else known


def looked_up(knots: tuple[tuple[float, float], ...], evidence: float) -> float:
    """The share, interpolated between the knots; below the first knot it is at most the given confidence."""
    given, right = zip(*knots, strict=True)
    return float(min(evidence, right[0]) if evidence < given[0] else np.interp(evidence, given, right))


def drawn(finding: Finding) -> Finding:
    """The finding with the steps that a figure marks: of a replay all data that were read twice."""
    low = finding.evidence.get("low_start_step")
    return finding if low is None else replace(finding, start_step=int(low))
