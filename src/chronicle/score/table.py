"""The score as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from chronicle.model import VERDICTS
from chronicle.score.match import CaseResult
from chronicle.score.totals import Totals, share


def table(results: Sequence[CaseResult], totals: Totals, *, cases: bool = True) -> str:
    """One line a case (unless ``cases`` is false), then the totals. Ends in a newline."""
    lines = [*_cases(results), ""] if cases else []
    lines += [*_summary(totals), *_details(totals)]
    return "\n".join(lines) + "\n"


def _cases(results: Sequence[CaseResult]) -> Iterator[str]:
    width = max([4, *(len(r.id) for r in results)])
    yield f"{'case':{width}}  ok    {'verdict (want)':24} events  fp  missing / FORBIDDEN / (extra)"
    for result in results:
        verdict = str(result.verdict) + ("" if result.verdict_ok else f" (want {result.want})")
        events = f"{sum(e.found for e in result.asked)}/{len(result.asked)}"
        ok = "pass" if result.passed else "FAIL"
        yield (
            f"{result.id:{width}}  {ok}  {verdict:24} {events:6}  {len(result.false_positives):<2}  "
            f"{_faults(result)}"
        ).rstrip()


def _faults(result: CaseResult) -> str:
    parts = [
        "; ".join(result.missing),
        " ".join(result.forbidden).upper(),
        f"({' '.join(result.extra)})" if result.extra else "",
        result.error,
    ]
    return " / ".join(p for p in parts if p)


def _summary(t: Totals) -> Iterator[str]:
    verdicts, names, events = t.verdicts, t.names, t.events
    yield f"cases passed          {t.passed}/{t.cases}"
    yield (
        f"verdicts right        {_of(verdicts.right, t.cases)}, "
        f"balanced over verdicts {_share(verdicts.balanced)}, main verdict {verdicts.exact}/{t.cases}"
    )
    yield f"required patterns     {_of(names.found, names.required)}, macro {_share(names.macro)}"
    yield f"forbidden patterns    {names.forbidden}" + _named(names.forbidden_by_pattern)
    yield (
        f"events                recall {_of(events.found, events.events)} "
        f"(alarms {_share(events.alarm_recall)}, macro {_share(events.macro_recall)}), "
        f"precision {_share(events.precision)}, F1 {events.f1:.3f}"
    )
    yield (
        f"type of what is found {_share(events.typing)}, strictly {_share(events.typing_strict)}; "
        f"macro recall with the right type {_share(events.macro_typed_recall)}"
    )
    rate = "-" if events.false_alarms_per_100k is None else f"{events.false_alarms_per_100k:.1f}"
    yield (
        f"false alarms          {events.false_alarms} in {events.healthy_points:,} healthy points = "
        f"{rate} per 100,000"
    )


def _details(t: Totals) -> Iterator[str]:
    given = {v for row in t.verdicts.confusion.values() for v in row}
    columns = [*VERDICTS, *sorted(given - set(VERDICTS))]
    yield ""
    yield f"{'wanted, given':26}" + "".join(f"{c:>12}" for c in columns)
    for want, row in t.verdicts.confusion.items():
        yield f"{want:26}" + "".join(f"{row.get(c, 0):12d}" for c in columns)
    if t.events.by_pattern:
        yield ""
        yield f"{'pattern of event':26}{'events':>12}{'found':>12}{'typed':>12}"
    for pattern, p in t.events.by_pattern.items():
        found, typed = round(p.recall * p.events), round(p.typed_recall * p.events)
        yield f"{pattern:26}{p.events:12d}{found:12d}{typed:12d}"
    if t.pictures:
        yield ""
        yield f"pictures passed       {sum(t.pictures.values())}/{len(t.pictures)}"
        yield from (f"  {'pass' if ok else 'FAIL'}  {name}" for name, ok in t.pictures.items())


def _of(part: int, whole: int) -> str:
    return f"{part}/{whole} = {_share(share(part, whole))}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _named(counts: Mapping[str, int]) -> str:
    text = ", ".join(f"{name} {n}" for name, n in counts.items())
    return f" ({text})" if text else ""
