"""All cases together: shares, means and rates over case results, and the score as text for people.

A share is None where nothing was asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronicle.model import VERDICTS
from chronicle.score.match import ALARMS, CaseResult, EventResult


@dataclass(frozen=True)
class Totals:
    """Sums over all cases, under the keys that `chronicle score --json` prints.

    ``verdicts``: ``right`` are accepted ones, ``exact`` those equal to the main verdict of the label.
    ``balanced`` is the mean over the verdicts of the share right, since most runs are good: a tool that
    always says good gets a quarter. ``confusion`` counts wanted verdict, given verdict.

    ``names``: required patterns, asked for and found, and forbidden ones that were named. ``macro`` is the
    mean over patterns of the share found, so that a rare pattern weighs as much as a common one.
    ``by_pattern`` is (found, asked).

    ``events``: events that had to be found, and the findings that were none. ``typing`` is the share of the
    found ones with a right type, ``typing_strict`` with the main one. ``false_alarms`` are the false
    positives of alarm patterns.

    ``pictures`` that pass are those all of whose curves pass.
    """

    cases: int
    passed: int
    verdicts: Mapping[str, Any]
    names: Mapping[str, Any]
    events: Mapping[str, Any]
    pictures: Mapping[str, bool]


def total(results: Sequence[CaseResult]) -> Totals:
    """The sums over ``results``."""
    pictures: dict[str, bool] = {}
    for result in results:
        if result.seed_picture:
            pictures[result.seed_picture] = pictures.get(result.seed_picture, True) and result.passed
    return Totals(
        cases=len(results),
        passed=sum(r.passed for r in results),
        verdicts=_verdicts(results),
        names=_names(results),
        events=_events(results),
        pictures=dict(sorted(pictures.items())),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of what is known, None of nothing."""
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else None


def _verdicts(results: Sequence[CaseResult]) -> dict[str, Any]:
    by_verdict = {v: [r for r in results if r.want == v] for v in VERDICTS}
    return {
        "right": sum(r.verdict_ok for r in results),
        "exact": sum(r.verdict == r.want for r in results),
        "balanced": _mean(_mean(r.verdict_ok for r in group) for group in by_verdict.values()),
        "confusion": {v: dict(Counter(str(r.verdict) for r in group)) for v, group in by_verdict.items()},
    }


def _names(results: Sequence[CaseResult]) -> dict[str, Any]:
    # Alternatives ("a|b") count for the first one named.
    found = Counter(entry.split("|")[0] for r in results for entry in r.found)
    asked = found + Counter(entry.split("|")[0] for r in results for entry in r.missing)
    forbidden = Counter(p for r in results for p in r.forbidden)
    return {
        "required": asked.total(),
        "found": found.total(),
        "macro": _mean(found[p] / asked[p] for p in sorted(asked)),
        "by_pattern": {p: (found[p], asked[p]) for p in sorted(asked)},
        "forbidden": forbidden.total(),
        "forbidden_by_pattern": dict(forbidden),
    }


def _events(results: Sequence[CaseResult]) -> dict[str, Any]:
    events = [e for r in results for e in r.asked]
    found = [e for e in events if e.found]
    matched = sum(e.found for r in results for e in r.events)
    positives = [p for r in results for p in r.false_positives]
    alarms, healthy = sum(p.alarm for p in positives), sum(r.healthy_points for r in results)
    recall = _mean(e.found for e in events)
    precision = _mean([*[1] * matched, *[0] * len(positives)])
    if precision is None and not events:
        precision = 1.0
    patterns = sorted({e.pattern for e in events})
    by_pattern = {p: _recalls([e for e in events if e.pattern == p]) for p in patterns}
    return {
        "events": len(events),
        "found": len(found),
        "recall": recall,
        "alarm_recall": _mean(e.found for e in events if e.pattern in ALARMS),
        "precision": precision,
        "f1": 2 * precision * recall / (precision + recall) if precision and recall else 0.0,
        "typing": _mean(e.typed for e in found),
        "typing_strict": _mean(e.strict for e in found),
        "by_pattern": by_pattern,
        "macro_recall": _mean(p["recall"] for p in by_pattern.values()),
        "macro_typed_recall": _mean(p["typed_recall"] for p in by_pattern.values()),
        "false_positives": len(positives),
        "false_alarms": alarms,
        "healthy_points": healthy,
        "false_alarms_per_100k": alarms / healthy * 1e5 if healthy else None,
    }


def _recalls(events: Sequence[EventResult]) -> dict[str, Any]:
    recall, typed = _mean(e.found for e in events), _mean(e.typed for e in events)
    return {"events": len(events), "recall": recall, "typed_recall": typed}


# ---- as text -----------------------------------------------------------------------------------------


def table(results: Sequence[CaseResult], totals: Totals, *, cases: bool = True) -> str:
    """One line a case (unless ``cases`` is false), then the totals. Ends in a newline."""
    lines = [*_cases(results), ""] if cases else []
    return "\n".join([*lines, *_summary(totals), *_details(totals)]) + "\n"


def _cases(results: Sequence[CaseResult]) -> Iterator[str]:
    width = max([4, *(len(r.id) for r in results)])
    yield f"{'case':{width}}  ok    {'verdict (want)':24} events  fp  missing / FORBIDDEN / (extra)"
    for r in results:
        verdict = str(r.verdict) + ("" if r.verdict_ok else f" (want {r.want})")
        events = f"{sum(e.found for e in r.asked)}/{len(r.asked)}"
        extra = f"({' '.join(r.extra)})" if r.extra else ""
        faults = ["; ".join(r.missing), " ".join(r.forbidden).upper(), extra, r.error]
        yield (
            f"{r.id:{width}}  {'pass' if r.passed else 'FAIL'}  {verdict:24} {events:6}  "
            f"{len(r.false_positives):<2}  {' / '.join(filter(None, faults))}"
        ).rstrip()


def _summary(t: Totals) -> Iterator[str]:
    verdicts, names, events = t.verdicts, t.names, t.events
    forbidden = ", ".join(f"{name} {n}" for name, n in names["forbidden_by_pattern"].items())
    rate = events["false_alarms_per_100k"]
    yield f"cases passed          {t.passed}/{t.cases}"
    yield (
        f"verdicts right        {_of(verdicts['right'], t.cases)}, "
        f"balanced over verdicts {_share(verdicts['balanced'])}, main verdict {verdicts['exact']}/{t.cases}"
    )
    yield f"required patterns     {_of(names['found'], names['required'])}, macro {_share(names['macro'])}"
    yield f"forbidden patterns    {names['forbidden']}" + (f" ({forbidden})" if forbidden else "")
    yield (
        f"events                recall {_of(events['found'], events['events'])} "
        f"(alarms {_share(events['alarm_recall'])}, macro {_share(events['macro_recall'])}), "
        f"precision {_share(events['precision'])}, F1 {events['f1']:.3f}"
    )
    yield (
        f"type of what is found {_share(events['typing'])}, strictly {_share(events['typing_strict'])}; "
        f"macro recall with the right type {_share(events['macro_typed_recall'])}"
    )
    yield (
        f"false alarms          {events['false_alarms']} in {events['healthy_points']:,} healthy points = "
        f"{'-' if rate is None else f'{rate:.1f}'} per 100,000"
    )


def _details(t: Totals) -> Iterator[str]:
    confusion, by_pattern = t.verdicts["confusion"], t.events["by_pattern"]
    given = {v for row in confusion.values() for v in row}
    columns = [*VERDICTS, *sorted(given - set(VERDICTS))]
    yield ""
    yield f"{'wanted, given':26}" + "".join(f"{c:>12}" for c in columns)
    for want, row in confusion.items():
        yield f"{want:26}" + "".join(f"{row.get(c, 0):12d}" for c in columns)
    if by_pattern:
        yield ""
        yield f"{'pattern of event':26}{'events':>12}{'found':>12}{'typed':>12}"
    for pattern, p in by_pattern.items():
        found, typed = round(p["recall"] * p["events"]), round(p["typed_recall"] * p["events"])
        yield f"{pattern:26}{p['events']:12d}{found:12d}{typed:12d}"
    if t.pictures:
        yield ""
        yield f"pictures passed       {sum(t.pictures.values())}/{len(t.pictures)}"
        yield from (f"  {'pass' if ok else 'FAIL'}  {name}" for name, ok in t.pictures.items())


def _of(part: int, whole: int) -> str:
    return f"{part}/{whole} = {_share(part / whole if whole else None)}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
