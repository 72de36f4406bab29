"""Judged cases as tables in Markdown."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from benchmarks.classifier.judging import Judged
from benchmarks.curves.families import Told
from benchmarks.curves.faults import FAULTS
from benchmarks.page import markdown
from chronicle.build.entry import diagnosis_json
from chronicle.classify import classify
from chronicle.score import CaseResult, judge, total

Row = TypeVar("Row")
EXPECTED = {"near-perfect", "noisy-healthy", "spike-fast-recovery", "lr-decay-drop", "quantised-loss"}
CLEAR = 8.0  # noise scales from which on everybody sees an event


def grouped(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    """Rows by a key, in the order in which the keys occur."""
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def mean(values: Iterable[float]) -> float:
    """The mean; NaN if there is no value."""
    numbers = list(values)
    return float(np.mean(numbers)) if numbers else float("nan")


def rate(rows: Iterable[Judged]) -> float:
    """False alarms per 100,000 healthy points."""
    alarms = total([row.result for row in rows]).events["false_alarms_per_100k"]
    return float("nan") if alarms is None else alarms


def by_height(rows: Iterable[Judged], share: Callable[[Judged], bool]) -> str:
    """One row for each kind, one column for each height."""
    rows = list(rows)
    heights = sorted({r.height for r in rows})
    table = []
    for kind, group in grouped(rows, lambda r: r.kind).items():
        at = grouped(group, lambda r: r.height)
        table.append([kind, *(mean(map(share, at.get(h, ()))) for h in heights), len(group)])
    table.append(["all", *(mean(share(r) for r in rows if r.height == h) for h in heights), len(rows)])
    return markdown(["event", *(f"{h:g}" for h in heights), "events"], table)


def by_ground(rows: Iterable[Judged], quiet: Iterable[Judged]) -> str:
    """One row for each course: events of at least 8 scales, and false alarms in healthy runs (``quiet``)."""
    clear = grouped((r for r in rows if r.height >= CLEAR), lambda r: r.ground)
    healthy = grouped(quiet, lambda r: r.ground)
    table = []
    for ground in dict.fromkeys([*clear, *healthy]):
        group, calm = clear.get(ground, []), healthy.get(ground, [])
        table.append(
            [
                ground,
                mean(r.found for r in group),
                mean(r.strict for r in group if r.found),
                mean(r.result.verdict_ok for r in group),
                mean(bool(r.result.forbidden) for r in group),
                rate(calm),
                f"{sum(r.result.healthy_points for r in calm):,}",
            ]
        )
    head = [
        "course",
        "recall",
        "right name",
        "verdict",
        "forbidden named",
        "false alarms /100k",
        "points",
    ]
    return markdown(head, table)


def healthy_kinds(rows: Iterable[Judged]) -> str:
    """One row for each confounder."""
    table = []
    for kind, group in grouped(rows, lambda r: r.kind).items():
        named = sorted({p.pattern for r in group for p in r.result.false_positives})
        table.append(
            [
                kind,
                mean(r.result.verdict_ok for r in group),
                rate(group),
                f"{sum(r.result.healthy_points for r in group):,}",
                ", ".join(named),
            ]
        )
    return markdown(["healthy", "called good", "false alarms /100k", "points", "called"], table)


def by_field(told: Iterable[Told]) -> str:
    """One row for each field: healthy logs whose verdict is accepted, which other patterns are found in them
    and how often, and for each fault the share of logs in which it is found."""
    rows: dict[str, list[object]] = {}
    shares: dict[str, dict[str, float]] = defaultdict(dict)
    for kind, group in grouped(map(_answered, told), lambda r: r[0].kind).items():
        field, _, fault = kind.partition(": ")
        results = [judge(one.label, said) for one, said in group]
        if fault:
            shares[field][fault] = mean(not r.missing for r in results)
            continue
        names = Counter(name for _, said in group for name in set(said["patterns"]) - EXPECTED)
        beside = ", ".join(f"{name} {n}" for name, n in names.most_common())
        rows[field] = [field.replace("_", " "), len(group), mean(r.verdict_ok for r in results), beside]
    faults = [fault.__name__ for fault in FAULTS]
    cells = [[*row, *(shares[field].get(fault, "") for fault in faults)] for field, row in rows.items()]
    columns = ["field", "healthy", "accepted", "named beside"]
    return markdown([*columns, *(fault.replace("_", " ") for fault in faults)], cells)


def _answered(told: Told) -> tuple[Told, dict[str, Any]]:
    return told, diagnosis_json(told.kind, classify(told.attempts))


def contexts(rows: Iterable[Judged]) -> str:
    """One row for each kind that needs context: cases passed, events found and named, other patterns."""
    table = []
    for kind, group in grouped(rows, lambda r: r.kind).items():
        missing = sorted({m for r in group for m in (*r.result.missing, *r.result.forbidden)})
        table.append(
            [
                kind,
                mean(r.result.passed for r in group),
                mean(r.found for r in group),
                mean(r.strict for r in group),
                len(group),
                ", ".join(missing),
            ]
        )
    return markdown(["kind", "passed", "found", "named", "runs", "missing, or wrongly named"], table)


def placing(rows: Iterable[Judged]) -> str:
    """One row for each kind: the error of the onset, of events of at least 8 scales."""
    table = []
    for kind, group in grouped((r for r in rows if r.height >= CLEAR), lambda r: r.kind).items():
        found = [p for r in group for p in r.placed]
        off = np.array([p.off_samples for p in found], float)
        late = np.array([p.late_scales for p in found], float)
        if len(off):
            table.append(
                [
                    kind,
                    float(np.median(off)),
                    float(np.median(np.abs(off))),
                    float(np.quantile(np.abs(off), 0.9)),
                    float(np.median(late)),
                    len(off),
                ]
            )
    head = ["event", "median, samples", "median size", "90 % within", "late, noise scales", "found"]
    return markdown(head, table)


def confusion(rows: Iterable[Judged]) -> str:
    """The names that clear events were given: the most frequent wrong names of each kind."""
    table = []
    for kind, group in grouped((r for r in rows if r.height >= CLEAR), lambda r: r.kind).items():
        names = [e.found_as or lost(r) for r in group for e in r.result.asked if e.found_as != e.pattern]
        common = sorted(set(names), key=lambda n: (-names.count(n), n))[:4]
        events = sum(len(r.result.asked) for r in group)
        said = ", ".join(f"{n} {names.count(n) / events:.0%}" for n in common)
        table.append([kind, 1 - len(names) / events, said])
    return markdown(["event", "right name", "called instead"], table)


def lost(row: Judged) -> str:
    """For missed events, whether there was no alarm at all, or one elsewhere in the run."""
    return "(elsewhere)" if row.result.false_positives else "(missed)"


def scores(groups: Mapping[str, Sequence[CaseResult]]) -> str:
    """One row for each group of scored cases."""
    table = []
    for name, results in groups.items():
        t = total(results)
        table.append(
            [
                name,
                f"{t.passed} of {t.cases}",
                t.verdicts["right"] / t.cases,
                t.names["macro"],
                t.names["forbidden"],
                t.events["recall"],
                t.events["precision"],
                t.events["typing_strict"],
                t.events["false_alarms_per_100k"],
            ]
        )
    head = [
        "set",
        "passed",
        "verdict",
        "patterns, macro",
        "forbidden",
        "recall",
        "precision",
        "strict",
        "FA/100k",
    ]
    return markdown(head, table)
