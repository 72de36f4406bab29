"""Judges of what a fault did to the loss from its step on, against the twin: spikes, divergences, levels."""

from __future__ import annotations

import numpy as np

from lab.faults import Kind
from lab.grow.facts import AttemptLog, Case, Span, step_of
from lab.grow.measure import LEAST, SURE, Floats, Shape, first_lead, spike_names

SHAPED = (
    Kind.GARBAGE,
    Kind.LABELS,
    Kind.TOKEN,
    Kind.LR_KICK,
    Kind.WEIGHT_NOISE,
    Kind.GROWTH,
    Kind.MOMENTS,
    Kind.Z_LOSS,
)
LASTING = (Kind.LABELS, Kind.HARDER, Kind.MIX)
FAILED = 0.97
OPEN = ("spike-slow-recovery", "spike-no-full-recovery", "divergence-after-spike", "level-shift")


def shapes(case: Case) -> None:
    """Spikes, divergences and level shifts that a fault made in the loss."""
    mine = [
        span
        for span in case.spans
        if span.kind in SHAPED and not (span.kind is Kind.LR_KICK and not span.amount)
    ]
    if failed(case):
        return
    seen = 0
    for log in case.logs:
        for i, span in enumerate(mine):
            until = mine[i + 1].at if i + 1 < len(mine) else np.inf
            inside = log.steps[0] <= span.at <= log.steps[-1]
            if inside and not _lasting(case, span):
                seen += one_shape(case, log, span, until)
            elif not inside and span.at < log.steps[0] < min(until, span.end + 200):
                carried(case, log)
    rising(case, seen)


def _lasting(case: Case, span: Span) -> bool:
    """A change of the data for good: for `levels` to judge."""
    whole = sum(s.kind is span.kind for s in case.spans) == 1
    return (
        span.kind is Kind.LABELS
        and whole
        and span.even
        and (span.lasts(case.recipe.run.steps) or span.at == 0)
    )


def one_shape(case: Case, log: AttemptLog, span: Span, until: float) -> int:
    """The event of one fault; 1 if it is beyond doubt."""
    s = case.shape(log, span.at, until)
    if s is None or not s.likely:
        case.said.append(f"The fault at step {span.at} left no trace in the loss.")
        return 0
    names = spike_names(s, log.steps)
    if s.back is None and span.end > log.steps[-1] and log.name:  # nobody knows how it would have gone on
        names = tuple(dict.fromkeys((*names, *OPEN)))
    joins = [a for a, _ in case.recipe.attempts[1:]]
    if span.at in joins:
        names = ("resume-spike", *names)
    if case.recipe.run.share:
        names = ("multi-dataset-spike", *names)
    long = s.peak - s.start > 8  # a slow rise has no sharp beginning
    case.event(
        log, names[0], log.steps[s.start], *names[1:], sure=s.sure,
        peak_step=float(log.steps[s.peak]), end_step=step_of(log, s.back),
        tolerance_steps=max(8.0, 0.5 * (s.peak - s.start) if long else 0.0) * case.gap,
    )  # fmt: skip
    case.said.append(told(log, s, names[0]))
    case.measured |= {"height_scales": s.scales, "height_log": s.height, "left_log": s.left}
    lead(case, log, s)
    if s.sure:
        case.require(*names)
    return int(s.sure)


def told(log: AttemptLog, s: Shape, name: str) -> str:
    """One event in words."""
    where = f" in {log.name}" if log.name else ""
    text = (
        f"From step {log.steps[s.start]:.0f}{where} the loss is above its twin, by {s.height:.2f} log units "
    )
    text += f"({s.scales:.0f} noise scales) at {log.steps[s.peak]:.0f}"
    if s.back is not None:
        return f"{text}; back at {log.steps[s.back]:.0f}."
    return f"{text}; {s.left:.3f} are left at the end ({name})."


def carried(case: Case, log: AttemptLog) -> None:
    """An attempt that begins with the damage of an earlier one: its beginning may be named."""
    s = case.shape(log, log.steps[0])
    if s is not None and s.likely:
        names = spike_names(s, log.steps)
        also, more = (*names[1:], "resume-spike", "level-shift"), {"peak_step": float(log.steps[s.peak])}
        case.event(log, names[0], log.steps[0], *also, sure=False, end_step=step_of(log, s.back), **more)
        case.said.append(f"{log.name} begins {s.height:.2f} log units above the twin: after the damage.")


def lead(case: Case, log: AttemptLog, s: Shape) -> None:
    """Whether the gradient norm rose before the loss did."""
    if "grad_norm" not in case.recipe.log.series:
        return
    points = first_lead(log.series("grad_norm"), log.twin("grad_norm"), log.up, s)
    if points:
        case.measured["lead_points"] = max(points, case.measured.get("lead_points", 0))
        case.said.append(f"The gradient norm was up {points * case.gap:.0f} steps before the loss.")
        case.allowed.add("grad-norm-precursor")
        if points >= 2 and s.sure and case.recipe.aim == "grad-norm-precursor":
            case.require("grad-norm-precursor")


def rising(case: Case, seen: int) -> None:
    """Whether sure spikes come twice as often, or twice as tall, in the end."""
    sure = [e for e in case.events if not e.get("optional")]
    if len(sure) != seen or seen < 6:
        return
    case.measured["spikes"] = seen
    case.allowed.add("rising-spike-rate")
    if case.recipe.aim == "rising-spike-rate":
        case.require("rising-spike-rate")


def failed(case: Case) -> bool:
    """Whether nothing was learned at all, or every one of three attempts died."""
    logs = case.logs
    flat = [
        min(np.median(part) for part in np.array_split(loss, 10)) >= FAILED * np.median(loss[:2])
        for loss in (log.series("loss") for log in logs)
        if np.isfinite(loss).all()
    ]
    died = [not np.isfinite(log.series("loss")[-1]) or _died(log.series("loss")) for log in logs]
    if (len(flat) == len(logs) and all(flat)) or (len(logs) >= 3 and all(died)):
        case.require("failed-run")
        case.allowed |= {
            "nan-inf",
            "plateau",
            "divergence-no-spike",
            "divergence-after-spike",
            "spike-no-full-recovery",
        }
        case.allowed |= {"spike-slow-recovery", "level-shift", "spike-fast-recovery"}
        case.said.append(
            "Nothing was learned." if all(flat) and flat else "Every attempt ends above its own minimum."
        )
        if len(logs) >= 3:
            for log in logs:
                at = case.recipe.run.turn or (case.spans[0].at if case.spans else 0)
                names = ("divergence-after-spike", "nan-inf", "spike-no-full-recovery", "spike-slow-recovery")
                wide = float(log.steps[-1] - at)
                case.event(log, "divergence-no-spike", at, *names, sure=False, tolerance_steps=wide)
        return True
    return False


def _died(loss: Floats) -> bool:
    y = np.log(np.maximum(loss, 1e-12))
    k = max(len(y) // 30, 5)
    means = np.convolve(y, np.ones(k) / k, "valid")
    return bool(means[-1] > means.min() + 0.1)


def configuration(case: Case) -> None:
    """A training that differs from its twin from the start: rates that are too high, or rise."""
    if failed(case):
        return
    run, twin = case.recipe.run, case.recipe.twin
    if run.schedule == "ramp":
        one_shape(case, case.logs[0], Span(Kind.LR_KICK, run.turn, run.steps, 1.0), np.inf)
        return
    log = case.logs[0]
    up = log.up[-max(16, len(log.up) // 10) :]
    left = float(np.median(up))
    case.measured["left_log"] = left
    case.said.append(f"It differs from its twin from the start, and ends {left:.2f} log units above it.")
    hard = (
        "plateau",
        "failed-run",
        "divergence-no-spike",
        "spike-slow-recovery",
        "level-shift",
        "spike-fast-recovery",
    )
    case.allowed |= {*hard, "spike-no-full-recovery", "divergence-after-spike"}
    if left > 0.5 and run.lr > 10 * twin.lr:
        case.require(
            "failed-run", "plateau", "divergence-no-spike", "divergence-after-spike", "spike-no-full-recovery"
        )


def levels(case: Case) -> None:
    """A change of the data for good: another level from one step to the next."""
    log = case.logs[0]
    for span in (s for s in case.spans if s.kind in LASTING):
        if span.kind is Kind.LABELS and not _lasting(case, span):
            continue
        if span.at == 0 and span.lasts(case.recipe.run.steps):
            continue
        mended = span.at == 0
        at = span.end if mended else span.at
        i = log.index(at)
        before, after = log.up[max(i - 64, 0) : i], log.up[i : i + 64]
        change = float(np.nanmean(after) - np.nanmean(before))
        spread = float(np.hypot(*(np.nanstd(x) / len(x) ** 0.5 for x in (before, after))))
        spread = max(spread, case.noise / min(len(before), len(after)) ** 0.5)
        sure = abs(change) >= max(SURE * spread, LEAST)
        case.measured |= {"height_log": abs(change), "height_scales": abs(change) / case.noise}
        case.said.append(
            f"The level changes by {change:+.3f} log units ({change / case.noise:+.1f} noise scales) at {at}."
        )
        names: tuple[str, ...] = ("spike-no-full-recovery", "divergence-after-spike", "divergence-no-spike")
        names += () if change > 0 else ("grokking",)
        if case.recipe.run.share:
            case.allowed |= {"multi-dataset-spike", "resume-ratio-skew"}
        case.event(log, "level-shift", log.steps[i], *names, sure=sure, tolerance_steps=16 * case.gap)
        if sure:
            up = ("spike-no-full-recovery", "divergence-after-spike") if change > 0.25 else ()
            case.require("level-shift", *up, *(("grokking",) if change < -0.12 else ()))
