"""Measures how well a classifier sees what people saw: `chronicle score FOLDER` over labelled runs.

A labelled run is a folder with its logs and a label.toml (or label.json). A finding matches a labelled event
if its onset lies within the event's tolerance, in the same attempt and on the right kind of series; the type
is counted apart. Matches are one to one; what is left over on healthy stretches are false alarms.

    from chronicle.score import score_folder
    print(score_folder(Path("runs"), predict).table())
"""

from __future__ import annotations

import math
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

from chronicle.classify.patterns import Trait, having
from chronicle.errors import ChronicleError
from chronicle.model import VERDICTS, Verdict
from chronicle.score.labels import LABEL_FILES, Event, Label, labelled, load_label
from chronicle.workspace.locks import scratch
from chronicle.workspace.notes import BESIDE, NOTES

SCHEMA = "chronicle/score/1"

Diagnosis = Mapping[str, Any]  # the object that `chronicle classify --json` prints
Finding = Mapping[str, Any]
Predict = Callable[[Path], Diagnosis]  # a run's folder in, its diagnosis out

ALARMS = having(Trait.ALARM)
COUNTED = having(Trait.ALARM | Trait.COUNTED)  # an unmatched finding of these is a false positive
ACROSS_SERIES = having(Trait.ACROSS)


@dataclass(frozen=True)
class EventResult:
    """The result for one labelled event; ``found_as`` is the pattern it was found as (None: missed)."""

    pattern: str
    start_step: float
    optional: bool
    found_as: str | None
    typed: bool

    @property
    def is_found(self) -> bool:
        return self.found_as is not None


@dataclass(frozen=True)
class FalsePositive:
    """A finding that matches no label, on a healthy stretch of a main series."""

    pattern: str
    start_step: float


@dataclass(frozen=True)
class CaseResult:
    """The result for one case. ``extra`` are patterns that are neither required, allowed nor forbidden."""

    id: str
    want: str
    verdict: str | None
    verdict_ok: bool
    found: tuple[str, ...]
    missing: tuple[str, ...]
    forbidden: tuple[str, ...]
    extra: tuple[str, ...]
    events: tuple[EventResult, ...]
    false_positives: tuple[FalsePositive, ...]
    healthy_points: int
    seed_picture: str | None = None
    error: str = ""

    @property
    def passed(self) -> bool:
        return self.verdict_ok and not self.missing and not self.forbidden

    @property
    def asked(self) -> tuple[EventResult, ...]:
        return tuple(e for e in self.events if not e.optional)


def judge(label: Label, diagnosis: Diagnosis, error: str = "") -> CaseResult:
    """Compares a diagnosis with a label. An empty diagnosis misses everything."""
    steps = ((f, f.get("start_step")) for f in diagnosis.get("findings", ()))
    findings = [f for f, step in steps if isinstance(step, int | float) and not math.isnan(step)]
    named = diagnosis.get("patterns")
    patterns = set(named) if isinstance(named, list | tuple) else {f.get("pattern") for f in findings}
    options = {entry: set(entry.split("|")) for entry in label.required}
    missing = tuple(entry for entry in label.required if not options[entry] & patterns)
    known = set().union(*options.values(), label.allowed, label.forbidden)
    matches = match(label, findings)
    verdict = diagnosis.get("verdict")
    found_as = {i: str(findings[j].get("pattern")) for i, j in matches.items()}
    return CaseResult(
        id=label.id,
        want=label.verdict,
        verdict=verdict,
        verdict_ok=verdict in (label.verdict, *label.verdict_also_ok),
        found=tuple(entry for entry in label.required if entry not in missing),
        missing=missing,
        forbidden=tuple(sorted(patterns & set(label.forbidden))),
        extra=tuple(sorted(p for p in patterns - known if p)),
        events=tuple(
            EventResult(e.pattern, e.start_step, e.optional, found_as.get(i), found_as.get(i) in e.names)
            for i, e in enumerate(label.events)
        ),
        false_positives=tuple(_false_positives(label, findings, set(matches.values()))),
        healthy_points=label.steps_healthy,
        seed_picture=label.seed_picture,
        error=error,
    )


def match(label: Label, findings: Sequence[Finding]) -> dict[int, int]:
    """One finding at most for each event: indices of events to indices of findings. The right type goes
    first, then required before optional events, then the nearer onset."""
    candidates = []
    for (i, event), (j, finding) in product(enumerate(label.events), enumerate(findings)):
        distance, pattern = abs(finding["start_step"] - event.start_step), finding.get("pattern")
        same = _same_attempt(label, event, finding) and _same_series(label, event, finding)
        if same and distance <= event.tolerance_steps:
            tolerances = distance / max(event.tolerance_steps, 1e-9)
            rank = (pattern not in event.names, pattern != event.pattern, event.optional, tolerances)
            candidates.append((rank, i, j))
    matches: dict[int, int] = {}
    for _, i, j in sorted(candidates):
        if i not in matches and j not in matches.values():
            matches[i] = j
    return matches


def _false_positives(label: Label, findings: Sequence[Finding], matched: set[int]) -> Iterator[FalsePositive]:
    for j, finding in enumerate(findings):
        step, judged = finding["start_step"], (None, *label.main_series)
        counted = finding.get("pattern") in COUNTED and (len(judged) == 1 or finding.get("series") in judged)
        windows = (e.window for e in label.masking if _same_attempt(label, e, finding))
        if j not in matched and counted and not any(first <= step <= last for first, last in windows):
            yield FalsePositive(finding["pattern"], step)


def _same_attempt(label: Label, event: Event, finding: Finding) -> bool:
    """Whether both are about the same log; always true if the run has only one."""
    if label.files <= 1:
        return True
    wanted, named = _spellings(event.attempt), _spellings(finding.get("attempt"))
    return not wanted or not named or bool(wanted & named)


def _spellings(attempt: str | None) -> set[str]:
    """The ways to name an attempt: its path, its file, the file without ending, its folder."""
    if attempt is None:
        return set()
    path = PurePosixPath(str(attempt).replace("\\", "/").strip("/"))
    return {str(path), path.name, path.name.rsplit(".", 1)[0]} | ({path.parent.name} - {""})


def _same_series(label: Label, event: Event, finding: Finding) -> bool:
    """Whether both are about the same series; only main series are distinguished from each other."""
    named, pattern = finding.get("series"), finding.get("pattern")
    across = {pattern, event.pattern} & ACROSS_SERIES and pattern in event.names
    either = None in (event.series, named) or event.series == named
    return either or bool(across) or named not in label.main_series


@dataclass(frozen=True)
class Totals:
    """Sums over all cases, under the keys that `chronicle score --json` prints.

    ``verdicts``: ``right`` are accepted ones, ``exact`` those equal to the main verdict of the label,
    ``balanced`` the mean over the verdicts of the share right (most runs are good: a tool that always says so
    gets a quarter). ``names``: required patterns asked for and found, and forbidden ones that were named;
    ``macro`` is the mean over patterns, ``by_pattern`` (found, asked). ``events``: what had to be found;
    ``typing`` is the share of the found ones with a right type, ``typing_strict`` with the main one, and
    ``false_alarms`` are false positives of alarm patterns. ``pictures`` pass if all of their curves do.
    """

    cases: int
    passed: int
    verdicts: Mapping[str, Any]
    names: Mapping[str, Any]
    events: Mapping[str, Any]
    pictures: Mapping[str, bool]


def total(results: Sequence[CaseResult]) -> Totals:
    """The sums over ``results``."""
    pictures = {r.seed_picture for r in results if r.seed_picture}
    failed = {r.seed_picture for r in results if not r.passed}
    return Totals(
        cases=len(results),
        passed=sum(r.passed for r in results),
        verdicts=_verdicts(results),
        names=_names(results),
        events=_events(results),
        pictures={picture: picture not in failed for picture in sorted(pictures)},
    )


def _mean(values: Iterable[float | None]) -> float | None:
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
    hits = Counter(entry.split("|")[0] for r in results for entry in r.found)
    asked = hits + Counter(entry.split("|")[0] for r in results for entry in r.missing)
    forbidden = Counter(p for r in results for p in r.forbidden)
    return {
        "required": asked.total(),
        "found": hits.total(),
        "macro": _mean(hits[p] / asked[p] for p in sorted(asked)),
        "by_pattern": {p: (hits[p], asked[p]) for p in sorted(asked)},
        "forbidden": forbidden.total(),
        "forbidden_by_pattern": dict(forbidden),
    }


def _events(results: Sequence[CaseResult]) -> dict[str, Any]:
    events = [e for r in results for e in r.asked]
    hits = [e for e in events if e.is_found]
    matched = sum(e.is_found for r in results for e in r.events)
    positives = [p.pattern for r in results for p in r.false_positives]
    alarms, healthy = sum(p in ALARMS for p in positives), sum(r.healthy_points for r in results)
    recall = _mean(e.is_found for e in events)
    judged = matched + len(positives)
    precision = matched / judged if judged else (None if events else 1.0)
    by_pattern = _by_pattern(events)
    return {
        "events": len(events),
        "found": len(hits),
        "recall": recall,
        "alarm_recall": _mean(e.is_found for e in events if e.pattern in ALARMS),
        "precision": precision,
        "f1": 2 * precision * recall / (precision + recall) if precision and recall else 0.0,
        "typing": _mean(e.typed for e in hits),
        "typing_strict": _mean(e.found_as == e.pattern for e in hits),
        "by_pattern": by_pattern,
        "macro_recall": _mean(p["recall"] for p in by_pattern.values()),
        "macro_typed_recall": _mean(p["typed_recall"] for p in by_pattern.values()),
        "false_positives": len(positives),
        "false_alarms": alarms,
        "healthy_points": healthy,
        "false_alarms_per_100k": alarms / healthy * 1e5 if healthy else None,
    }


def _by_pattern(events: Sequence[EventResult]) -> dict[str, dict[str, Any]]:
    """The number of events of each pattern, and their recalls."""
    table = {}
    for pattern in sorted({e.pattern for e in events}):
        such = [e for e in events if e.pattern == pattern]
        recalls = {"recall": _mean(e.is_found for e in such), "typed_recall": _mean(e.typed for e in such)}
        table[pattern] = {"events": len(such), **recalls}
    return table


@dataclass(frozen=True)
class Score:
    """The result of every case and the sums over all."""

    cases: tuple[CaseResult, ...]
    totals: Totals

    def table(self) -> str:
        """One line for each case, then the totals. Ends in a newline."""
        return "\n".join((*_cases(self.cases), "", *_summary(self.totals), *_details(self.totals), ""))

    def to_json(self) -> dict[str, Any]:
        cases = [{**asdict(r), "passed": r.passed} for r in self.cases]
        return {"schema": SCHEMA, "totals": asdict(self.totals), "cases": cases}


def _cases(results: Sequence[CaseResult]) -> Iterator[str]:
    width = max([4, *(len(r.id) for r in results)])
    yield f"{'case':{width}}  ok    {'verdict (want)':24} events  fp  missing / FORBIDDEN / (extra)"
    for r in results:
        verdict = str(r.verdict) + ("" if r.verdict_ok else f" (want {r.want})")
        events = f"{sum(e.is_found for e in r.asked)}/{len(r.asked)}"
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
    columns = [*VERDICTS, *sorted({v for row in confusion.values() for v in row} - set(VERDICTS))]
    yield ""
    yield f"{'wanted, given':26}" + "".join(f"{c:>12}" for c in columns)
    for want, row in confusion.items():
        yield f"{want:26}" + "".join(f"{row.get(c, 0):12d}" for c in columns)
    if by_pattern:
        yield ""
        yield f"{'pattern of event':26}{'events':>12}{'found':>12}{'typed':>12}"
    for pattern, p in by_pattern.items():
        hits, typed = round(p["recall"] * p["events"]), round(p["typed_recall"] * p["events"])
        yield f"{pattern:26}{p['events']:12d}{hits:12d}{typed:12d}"
    if t.pictures:
        yield ""
        yield f"pictures passed       {sum(t.pictures.values())}/{len(t.pictures)}"
        yield from (f"  {'pass' if ok else 'FAIL'}  {name}" for name, ok in t.pictures.items())


def _of(part: int, total: int) -> str:
    return f"{part}/{total} = {_share(part / total if total else None)}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def score_folder(cases_folder: Path, predict: Predict) -> Score:
    """Scores ``predict`` on every labelled run below ``cases_folder``.

    ``predict`` takes the folder of a run and returns its diagnosis as `classify --json` prints it. It must
    not look at the label: `unlabelled` makes a copy without one. If it raises a ChronicleError, the case
    counts as not answered, and its result carries the message.

    Raises:
        NothingToRead: there is no labelled run.
        ConfigError: a label is wrong.
    """
    results = []
    for folder, label in [(folder, load_label(folder)) for folder in labelled(cases_folder)]:
        try:
            results.append(judge(label, predict(folder)))
        except ChronicleError as err:
            results.append(judge(label, {}, str(err)))
    return Score(tuple(results), total(results))


@contextmanager
def unlabelled(folder: Path) -> Iterator[Path]:
    """A temporary copy of a run's folder without label and notes. No name tells the label: it is ``run``."""
    with scratch() as place:
        copy = place / "run"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*LABEL_FILES, NOTES, BESIDE))
        yield copy


def one_answer(diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """One diagnosis for a folder that was read as several runs: the gravest verdict, all the rest."""
    if not diagnoses:
        return {}
    gravest = max(diagnoses, key=lambda d: Verdict(d["verdict"]).rank)
    return {
        **gravest,
        "patterns": sorted({p for d in diagnoses for p in d["patterns"]}),
        "findings": [f for d in diagnoses for f in d["findings"]],
    }
