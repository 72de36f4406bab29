"""All cases together: shares, means and rates over case results. A share is None where nothing was asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from chronicle.model import VERDICTS
from chronicle.score.match import ALARMS, CaseResult, EventResult


@dataclass(frozen=True)
class VerdictTotals:
    """``right``: accepted ones; ``exact``: equal to the main verdict of the label.

    ``balanced`` is the mean over the verdicts of the share right, since most runs are good: a tool that
    always says good gets a quarter. ``confusion`` counts wanted verdict, given verdict.
    """

    right: int
    exact: int
    balanced: float | None
    confusion: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class NameTotals:
    """Required patterns, asked for and found, and forbidden ones that were named.

    ``macro`` is the mean over patterns of the share found, so that a rare pattern weighs as much as a
    common one. ``by_pattern`` is (found, asked).
    """

    required: int
    found: int
    macro: float | None
    by_pattern: Mapping[str, tuple[int, int]]
    forbidden: int
    forbidden_by_pattern: Mapping[str, int]


@dataclass(frozen=True)
class PatternTotals:
    """Events of one pattern: how many, and the shares found, and found with a right type."""

    events: int
    recall: float
    typed_recall: float


@dataclass(frozen=True)
class EventTotals:
    """Events that had to be found, and the findings that were none.

    ``typing`` is the share of the found ones with a right type, ``typing_strict`` with the main one.
    ``false_alarms`` are the false positives of alarm patterns.
    """

    events: int
    found: int
    recall: float | None
    alarm_recall: float | None
    precision: float | None
    f1: float
    typing: float | None
    typing_strict: float | None
    by_pattern: Mapping[str, PatternTotals]
    macro_recall: float | None
    macro_typed_recall: float | None
    false_positives: int
    false_alarms: int
    healthy_points: int
    false_alarms_per_100k: float | None


@dataclass(frozen=True)
class Totals:
    """Sums over all cases; ``pictures`` that pass are those all of whose curves pass."""

    cases: int
    passed: int
    verdicts: VerdictTotals
    names: NameTotals
    events: EventTotals
    pictures: Mapping[str, bool]


def total(results: Sequence[CaseResult]) -> Totals:
    """The sums over ``results``."""
    return Totals(
        cases=len(results),
        passed=sum(r.passed for r in results),
        verdicts=_verdicts(results),
        names=_names(results),
        events=_events(results),
        pictures=_pictures(results),
    )


def share(part: int, whole: int) -> float | None:
    """``part / whole``, None of nothing."""
    return part / whole if whole else None


def mean(values: Iterable[float]) -> float | None:
    """The arithmetic mean, None of nothing."""
    values = list(values)
    return sum(values) / len(values) if values else None


def _verdicts(results: Sequence[CaseResult]) -> VerdictTotals:
    by_verdict = {v: [r for r in results if r.want == v] for v in VERDICTS}
    return VerdictTotals(
        right=sum(r.verdict_ok for r in results),
        exact=sum(r.verdict == r.want for r in results),
        balanced=mean(
            sum(r.verdict_ok for r in group) / len(group) for group in by_verdict.values() if group
        ),
        confusion={v: dict(Counter(str(r.verdict) for r in group)) for v, group in by_verdict.items()},
    )


def _names(results: Sequence[CaseResult]) -> NameTotals:
    # Alternatives ("a|b") count for the first one named.
    found = Counter(entry.split("|")[0] for r in results for entry in r.found)
    asked = found + Counter(entry.split("|")[0] for r in results for entry in r.missing)
    forbidden = Counter(p for r in results for p in r.forbidden)
    return NameTotals(
        required=asked.total(),
        found=found.total(),
        macro=mean(found[p] / asked[p] for p in sorted(asked)),
        by_pattern={p: (found[p], asked[p]) for p in sorted(asked)},
        forbidden=forbidden.total(),
        forbidden_by_pattern=dict(forbidden),
    )


def _events(results: Sequence[CaseResult]) -> EventTotals:
    events = [e for r in results for e in r.asked]
    found = [e for e in events if e.found]
    optional = sum(e.found for r in results for e in r.events if e.optional)
    positives = [p for r in results for p in r.false_positives]
    alarms, healthy = sum(p.alarm for p in positives), sum(r.healthy_points for r in results)
    recall = share(len(found), len(events))
    precision = _precision(len(found) + optional, len(positives), bool(events))
    by_pattern = _by_pattern(events)
    return EventTotals(
        events=len(events),
        found=len(found),
        recall=recall,
        alarm_recall=mean(e.found for e in events if e.pattern in ALARMS),
        precision=precision,
        f1=2 * precision * recall / (precision + recall) if precision and recall else 0.0,
        typing=mean(e.typed for e in found),
        typing_strict=mean(e.strict for e in found),
        by_pattern=by_pattern,
        macro_recall=mean(p.recall for p in by_pattern.values()),
        macro_typed_recall=mean(p.typed_recall for p in by_pattern.values()),
        false_positives=len(positives),
        false_alarms=alarms,
        healthy_points=healthy,
        false_alarms_per_100k=alarms / healthy * 1e5 if healthy else None,
    )


def _precision(matched: int, false_positives: int, asked: bool) -> float | None:
    if matched or false_positives:
        return matched / (matched + false_positives)
    return None if asked else 1.0


def _by_pattern(events: Sequence[EventResult]) -> dict[str, PatternTotals]:
    groups = defaultdict(list)
    for event in events:
        groups[event.pattern].append(event)
    return {
        pattern: PatternTotals(
            len(group), sum(e.found for e in group) / len(group), sum(e.typed for e in group) / len(group)
        )
        for pattern, group in sorted(groups.items())
    }


def _pictures(results: Sequence[CaseResult]) -> dict[str, bool]:
    pictures: dict[str, bool] = {}
    for result in results:
        if result.seed_picture:
            pictures[result.seed_picture] = pictures.get(result.seed_picture, True) and result.passed
    return dict(sorted(pictures.items()))
