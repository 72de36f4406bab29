"""From a timeline and its diagnosis to the entry, with the sentence that stands on top of its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import Any

import numpy as np

from chronicle.build.schema import ENTRY
from chronicle.classify.numbering import gravest
from chronicle.classify.patterns import BY_ID
from chronicle.classify.restarts import outcome, step_back_words
from chronicle.metrics.judged import shown_loss
from chronicle.metrics.values import clipped, count, instant, level, plural
from chronicle.model import (
    Attempt,
    Diagnosis,
    Entry,
    Fact,
    Fault,
    Figure,
    Finding,
    JoinKind,
    MachineFault,
    Note,
    Role,
    Timeline,
    Track,
)
from chronicle.timeline import discarded
from chronicle.timeline.endings import endings
from chronicle.workspace.config import RunConfig

_BEFORE_SAMPLES = 20  # what "before" means in "went from … to …": the median of so many samples


def make_entry(
    run_id: str,
    timeline: Timeline,
    diagnosis: Diagnosis,
    config: RunConfig,
    *,
    notes: Sequence[Note] = (),
    figures: Sequence[Figure] = (),
    warnings: Sequence[str] = (),
    inputs_sha256: str = "",
    classifier_version: str = "",
) -> Entry:
    """The entry of a run. Pure: the same arguments give the same entry."""
    return Entry(
        schema=ENTRY,
        run_id=run_id,
        title=config.title or run_id,
        verdict=diagnosis.verdict,
        headline=headline(timeline, diagnosis),
        diagnosis=diagnosis,
        facts=tuple(facts(timeline, config)),
        costs=tuple(costs(timeline, config)),
        notes=tuple(notes),
        figures=tuple(figures),
        warnings=(*warnings, *timeline.doubts, *faults_told(timeline)),
        about=_about(config),
        attempts=_attempts(replace(timeline, joins=diagnosis.joins)),
        metrics=tuple(metric_row(t) for t in timeline.series.values()),
        inputs_sha256=inputs_sha256,
        classifier_version=classifier_version,
        faults=machine_faults(timeline),
    )


def _attempts(timeline: Timeline) -> tuple[Mapping[str, Any], ...]:
    """The attempts table; of several attempts also what became of each."""
    rows = [attempt_row(a) for a in timeline.attempts]
    if len(rows) == 1:
        return tuple(rows)
    return tuple({**row, "outcome": outcome(end)} for row, end in zip(rows, endings(timeline), strict=True))


def headline(timeline: Timeline, diagnosis: Diagnosis) -> str:
    """One or two sentences with numbers, units and steps: what happened, and what the restarts cost."""
    ranked = gravest(diagnosis)
    said = f"{told(timeline, ranked[0][1])}." if ranked else f"{diagnosis.because.rstrip('.')}."
    joins = _joins_told(timeline)
    return f"{said} {joins}".strip()


def told(timeline: Timeline, finding: Finding) -> str:
    """A finding in half a sentence: ``train/loss went 2.26 → 4.17 nats/token at step 58 897, …``."""
    title = BY_ID[finding.pattern].title
    start = f"step {count(finding.start_step)}"
    measured = _before_and_peak(timeline, finding)
    if BY_ID[finding.pattern].id in ("near-perfect", "noisy-healthy"):
        return _course_told(timeline, finding, title)
    if measured is None:
        return f"{title} from {start}" + _end_told(finding)
    before, peak, unit = measured
    went = f"{finding.metric} went {level(before)} → {level(peak)} {unit} at {start}"
    return f"{title}: {went}{_end_told(finding)}"


def _before_and_peak(timeline: Timeline, finding: Finding) -> tuple[float, float, str] | None:
    track = timeline.series.get(finding.metric or "")
    if track is None or finding.peak_step is None:
        return None
    mine = np.isfinite(track.values)
    names = [a.name for a in timeline.attempts]
    if finding.attempt in names:
        mine &= track.attempt == names.index(finding.attempt)
    steps, values = track.steps[mine], track.values[mine]
    before = values[steps < finding.start_step][-_BEFORE_SAMPLES:]
    at = values[steps == finding.peak_step]
    if not len(before) or not len(at):
        return None
    return float(np.median(before)), float(at.max()), track.unit or "(unit not declared)"


def _end_told(finding: Finding) -> str:
    if finding.end_step is None:
        return ", not over when the log ends"
    if finding.end_step <= finding.start_step:
        return ""
    return f", over after {count(finding.end_step - finding.start_step)} steps"


def _course_told(timeline: Timeline, finding: Finding, title: str) -> str:
    track = timeline.series.get(finding.metric or "") or shown_loss(timeline.series.values())
    if track is None or not len(track):
        return title
    span = f"steps {count(track.steps.min())} to {count(track.steps.max())}"
    points = f"{count(int(track.live.sum()))} points of {track.metric}"
    return f"{title}: {points}, {span}, without a lasting disturbance"


def _joins_told(timeline: Timeline) -> str:
    joins = timeline.joins
    if not joins:
        return ""
    kinds = [
        plural(sum(j.kind is k for j in joins), k.value) for k in JoinKind if any(j.kind is k for j in joins)
    ]
    lost = sum(j.discarded_steps for j in joins)
    told = f"{plural(len(timeline.attempts), 'attempt')}, {', '.join(kinds)}"
    return told + (f", {count(lost)} steps discarded." if lost else ".")


def _about(config: RunConfig) -> Mapping[str, Any]:
    """What run.toml says in words; keys left at their default are left out."""
    told = {k: v for k, v in asdict(config).items() if k not in ("facts", "roles", "units")}
    return {k: v for k, v in told.items() if v not in ("", [], 0, False)}


_BACKS = {
    "disorder": ("Rows out of order", "row"),
    "repeats": ("Repeated steps", "row"),
    "seeds": ("Separate trainings", "training"),
}
_MOST_BACKS = 3
_MOST_FACTS = 200  # of those that logs state; a page folds what was configured
_UNITS = {"world_size": "processes", "gpu_count": "accelerators"}
_YEAR_2000_S, _YEAR_2100_S = 946_684_800, 4_102_444_800
MOST_FAULTS = 1000  # that are published; a log with more says nothing new with them


def facts(timeline: Timeline, config: RunConfig) -> Iterator[Fact]:
    """The facts table: what was logged, then what the logs and run.toml say of themselves."""
    tracks = list(timeline.series.values())
    yield Fact(
        "Points logged", sum(len(t) for t in tracks), "points", f"counted, {plural(len(tracks), 'metric')}"
    )
    axis = timeline.attempts[0].axis if timeline.attempts else "step"
    ends = [(int(t.steps.min()), int(t.steps.max())) for t in tracks if len(t)]
    first_last = f"{count(min(a for a, _ in ends))} – {count(max(b for _, b in ends))}" if ends else None
    yield Fact(f"First and last {axis}", first_last, f"{axis}s", "as logged")
    yield Fact(
        "Attempts",
        len(timeline.attempts),
        "attempts",
        clipped(", ".join(a.name for a in timeline.attempts), 200),
    )
    yield from _step_backs(timeline)
    loss = shown_loss(timeline.series.values())
    if loss is not None:
        yield from _loss_facts(loss)
    seconds = _wall_seconds(timeline)
    yield _wall_clock(seconds)
    yield Fact("Tokens", _tokens(timeline, config), "tokens", _tokens_how(timeline, config))
    yield Fact("Accelerators", config.gpus or None, "accelerators", "run.toml" if config.gpus else "")
    for name, value in config.facts.items():
        yield Fact(name, value, "", "run.toml")
    yield from _logged_facts(timeline.attempts)


def _step_backs(timeline: Timeline) -> Iterator[Fact]:
    """Where the step goes back or stays without a restart; of many of one cause the first, and the others in
    one row."""
    for cause, (quantity, noun) in _BACKS.items():
        backs = [back for back in timeline.step_backs if back.cause == cause]
        told = [(back.count, step_back_words(back)) for back in backs[:_MOST_BACKS]]
        if rest := backs[_MOST_BACKS:]:
            names = ", ".join(back.attempts[-1] for back in rest)
            told.append((sum(back.count for back in rest), f"likewise: {names}"))
        for number, words in told:
            yield Fact(quantity, number, noun if number == 1 else f"{noun}s", clipped(words, 300))


def costs(timeline: Timeline, config: RunConfig) -> Iterator[Fact]:
    """What was trained and thrown away, in steps, hours, tokens and accelerator hours where derivable."""
    lost = discarded(timeline)
    steps, seconds = lost["discarded_steps"], lost["discarded_s"]
    yield Fact("Steps discarded", steps, "steps", f"of {count(lost['total_steps'])} trained, sum over joins")
    if not steps:
        return
    yield Fact("Hours discarded", _hours(seconds), "h", "wall clock of the discarded steps")
    yield _tokens_discarded(timeline, steps, config)
    gpus, how = _accelerators(timeline, config)
    gpu_hours = _hours(seconds * gpus) if seconds is not None and gpus else None
    yield Fact("GPU hours discarded", gpu_hours, "GPU h", f"hours × {how}" if gpu_hours else "")


def _tokens_discarded(timeline: Timeline, steps: int, config: RunConfig) -> Fact:
    """What the logs counted, where every join that discarded steps has it; else by tokens_per_step."""
    counted = [j.evidence.get("discarded_tokens") for j in timeline.joins if j.discarded_steps]
    known = [tokens for tokens in counted if tokens is not None]
    if known and len(known) == len(counted):
        return Fact("Tokens discarded", sum(known), "tokens", "counted by the logs")
    tokens = steps * config.tokens_per_step or None
    how = "steps × tokens_per_step of run.toml" if tokens else ""
    return Fact("Tokens discarded", tokens, "tokens", how)


def _accelerators(timeline: Timeline, config: RunConfig) -> tuple[float, str]:
    """How many there were and who says so: run.toml, else the largest number that an attempt states."""
    if config.gpus:
        return config.gpus, "gpus of run.toml"
    for name in ("gpu_count", "world_size"):
        stated = [a.facts.get(name) for a in timeline.attempts]
        numbers = [n for n in stated if isinstance(n, int | float) and 0 < n < 1e7]
        if numbers:
            return max(numbers), f"{name} of the log"
    return 0, ""


def _loss_facts(loss: Track) -> Iterator[Fact]:
    live = loss.values[loss.live & np.isfinite(loss.values)]
    steps = loss.steps[loss.live & np.isfinite(loss.values)]
    if not len(live):
        yield Fact(f"{loss.metric}, finite values", 0, "points", "counted")
        return
    low = int(np.argmin(live))
    yield Fact(
        f"{loss.metric}, first and last", f"{level(live[0])}, {level(live[-1])}", loss.unit, "live points"
    )
    yield Fact(f"{loss.metric}, lowest", level(live[low]), loss.unit, f"at step {count(steps[low])}")


def _logged_facts(attempts: Sequence[Attempt]) -> Iterator[Fact]:
    """What the logs state of themselves, each value once, those of one name together, configurations last."""
    stated: dict[tuple[str, str], Fact] = {}
    for attempt in attempts:
        for name, value in attempt.facts.items():
            key = (name, str(value))
            if isinstance(value, str | int | float | bool) and value != "" and key not in stated:
                unit = _UNITS.get(name, "")
                stated[key] = Fact(_quantity(name), _stated(name, value), unit, attempt.name)
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in stated))}
    ordered = sorted(stated.items(), key=lambda item: ("/" in item[0][0], places[item[0][0]]))
    yield from (fact for _, fact in islice(ordered, _MOST_FACTS))


def _quantity(name: str) -> str:
    """The name of a fact; one that no configuration has spelled is written as words: ``World size``."""
    return clipped(name if "/" in name else (name[:1].upper() + name[1:]).replace("_", " "), 80)


def _stated(name: str, value: str | int | float | bool) -> str | int | float | bool:
    """The value of a fact; a moment in Unix seconds or milliseconds as ISO 8601 in UTC."""
    if isinstance(value, str):
        return clipped(value, 200)
    if name.endswith(("_at", "timestamp")) and not isinstance(value, bool):
        seconds = value / 1000 if value > _YEAR_2100_S else value
        return instant(seconds) if _YEAR_2000_S < seconds < _YEAR_2100_S else value
    return value


def _wall_seconds(timeline: Timeline) -> float | None:
    times = [t.times[np.isfinite(t.times)] for t in timeline.series.values()]
    every = np.concatenate(times) if times else np.empty(0)
    return float(every.max() - every.min()) if len(every) > 1 else None


def _wall_clock(seconds: float | None) -> Fact:
    if seconds is None:
        return Fact("Wall clock", None, "h", "")
    size_s, unit = next((one for one in ((3600, "h"), (60, "min")) if seconds >= one[0]), (1, "s"))
    value = float(f"{seconds / size_s:.3g}")
    return Fact("Wall clock", value, unit, "first to last time in the log, gaps included")


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds / 3600:.3g}")


def _tokens(timeline: Timeline, config: RunConfig) -> float | None:
    logged = [t.values[np.isfinite(t.values)] for t in timeline.by_role(Role.TOKENS)]
    highest = [float(v.max()) for v in logged if len(v)]
    if highest:
        return max(highest)
    steps = [int(t.steps.max()) for t in timeline.series.values() if len(t)]
    return max(steps) * config.tokens_per_step if steps and config.tokens_per_step else None


def _tokens_how(timeline: Timeline, config: RunConfig) -> str:
    if timeline.by_role(Role.TOKENS):
        return "highest logged"
    return "last step × tokens_per_step of run.toml" if config.tokens_per_step else ""


def attempt_row(attempt: Attempt) -> Mapping[str, Any]:
    """One row of the attempts table; times are ISO 8601 in UTC, empty where the log has none."""
    steps = [s.steps for s in attempt.series.values() if len(s)]
    times = [s.times[np.isfinite(s.times)] for s in attempt.series.values()]
    seconds = np.concatenate([t for t in times if len(t)]) if any(len(t) for t in times) else None
    return {
        "name": attempt.name,
        "first_step": min((int(s.min()) for s in steps), default=None),
        "last_step": max((int(s.max()) for s in steps), default=None),
        "points": sum(len(s) for s in attempt.series.values()),
        "started": instant(float(seconds.min())) if seconds is not None else "",
        "ended": instant(float(seconds.max())) if seconds is not None else "",
        "truncated": attempt.truncated,
        "axis": attempt.axis,
        **{name: str(attempt.facts.get(name, "")) for name in ("format", "job", "nodes")},
        "faults": [f"{f.where}: {f.what}" for f in _of_reading(attempt)[:20]],
    }


def machine_faults(timeline: Timeline) -> tuple[MachineFault, ...]:
    """The faults beside the curves as they are published, in their order; of very many the first."""
    return tuple(
        MachineFault(f.kind, f.what, f.host, f.at_step, instant(f.at_time), f.count, f.where)
        for f in timeline.faults[:MOST_FAULTS]
    )


def metric_row(track: Track) -> Mapping[str, Any]:
    """One row of the metrics table."""
    return {
        "metric": track.metric,
        "role": track.role.value,
        "unit": track.unit,
        "points": len(track),
        "first_step": int(track.steps.min()) if len(track) else None,
        "last_step": int(track.steps.max()) if len(track) else None,
    }


def _of_reading(attempt: Attempt) -> list[Fault]:
    """What could not be used; the faults beside the curves have a table of their own."""
    return [fault for fault in attempt.faults if fault.kind == "read"]


def faults_told(timeline: Timeline) -> Iterator[str]:
    """What the readers could not use, a sentence each."""
    for attempt in timeline.attempts:
        for fault in _of_reading(attempt)[:10]:
            yield f"{fault.where}: {fault.what}" + (
                f" ({count(fault.count)} times)" if fault.count > 1 else ""
            )
        if attempt.truncated:
            yield f"{attempt.name}: the last record is cut (a live log, or a process that was killed)"
