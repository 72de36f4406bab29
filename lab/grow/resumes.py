"""Judges of resumes: what was lost, what was served twice, and mixtures that are off."""

from __future__ import annotations

from typing import Any

import numpy as np

from lab.faults import Kind
from lab.grow.facts import AttemptLog, Case, step_of
from lab.grow.measure import LEAST, SURE, lift, score, spike_names
from lab.grow.shapes import told


def restored(case: Case) -> None:
    """Resumes that lost something: the optimizer, the schedule, the weights."""
    for span in case.spans:
        log = next(
            (a for a in case.logs if a.name and a.steps[0] >= span.at and a.steps[0] - span.at < case.gap),
            None,
        )
        if log is None or span.kind not in (Kind.OPTIMIZER_LOST, Kind.SCHEDULE_LOST, Kind.WEIGHTS_LOST):
            continue
        s = case.shape(log, span.at)
        spikes = spike_names(s, log.steps) if s is not None and s.likely else ()
        at = float(log.steps[0])
        more: dict[str, Any] = {"tolerance_steps": 16 * case.gap}
        if s is not None and spikes:
            more |= {"peak_step": float(log.steps[s.peak]), "end_step": step_of(log, s.back)}
            case.said.append(told(log, s, spikes[0]))
            case.measured |= {"height_scales": s.scales, "height_log": s.height, "left_log": s.left}
        if span.kind is Kind.WEIGHTS_LOST:
            new_weights(case, log, spikes, at, more)
        elif span.kind is Kind.SCHEDULE_LOST:
            new_schedule(case, log, spikes, at, more)
        elif s is not None and spikes:
            case.event(log, "resume-spike", at, *spikes, "level-shift", sure=s.sure, **more)
            case.allowed.add("resume-spike")
            if s.sure:
                case.require("resume-spike", *spikes)
        else:
            case.said.append(f"The resume at {span.at} shows nothing in the loss.")
            case.allowed.add("resume-spike")


def new_weights(
    case: Case, log: AttemptLog, spikes: tuple[str, ...], at: float, more: dict[str, Any]
) -> None:
    """The loss is back at its very first level."""
    first, again = case.logs[0].series("loss")[:2].mean(), log.series("loss")[:2].mean()
    case.said.append(f"The loss begins at {again:.2f} again; the first attempt began at {first:.2f}.")
    if abs(np.log(again / first)) < 0.1:
        case.event(log, "reinitialised", at, "resume-spike", *spikes, **more)
        case.require("reinitialised")


def new_schedule(
    case: Case, log: AttemptLog, spikes: tuple[str, ...], at: float, more: dict[str, Any]
) -> None:
    """The learning rate does not go on where it was."""
    before = next(r["lr"] for r in reversed(case.logs[0].rows) if r["step"] <= at)
    peak = max(row["lr"] for row in log.rows)
    case.said.append(
        f"The learning rate was {before:.2g} before the resume, and rises to {peak:.2g} after it."
    )
    case.event(log, "lr-not-restored", at, "resume-spike", *spikes, **(more | {"tolerance_steps": 100.0}))
    case.require("lr-not-restored")
    case.allowed |= {"resume-spike", "level-shift", *spikes, "divergence-no-spike", "spike-slow-recovery"}


def replays(case: Case) -> None:
    """Data that were served again and again after a resume: the loss sinks, and jumps when new data come."""
    for span in (s for s in case.spans if s.kind is Kind.REPEAT):
        log = next(a for a in case.logs if a.steps[0] == span.at)
        i, j = log.index(span.at), log.index(span.end)
        low = -float(np.mean(log.up[j - 16 : j]))
        jump = float(np.mean(log.up[j : j + 8]) - np.mean(log.up[j - 16 : j]))
        clear = score(-log.up[i:j], case.noise)
        case.measured |= {"height_log": jump, "height_scales": jump / case.noise}
        case.said.append(
            f"Replays from {span.at} on: the loss is {low:.3f} log units too low in the end, "
            f"and jumps by {jump:.3f} at {span.end}."
        )
        sure = clear >= SURE and jump >= LEAST
        names = ("level-shift", "spike-no-full-recovery", "spike-slow-recovery", "spike-fast-recovery")
        case.event(log, "repeat-data", log.steps[j], *names, sure=sure, tolerance_steps=12 * case.gap)
        more = {"tolerance_steps": 20 * case.gap, "end_step": float(log.steps[j - 1])}
        case.event(log, "repeat-data", span.at, "level-shift", "resume-spike", sure=False, **more)
        if sure:
            case.require("repeat-data")
        case.allowed |= {"overfitting", "repeat-data"}


def skews(case: Case) -> None:
    """A mixture that is off after a resume: the total rises, the sources go on."""
    for span in (s for s in case.spans if s.kind is Kind.RATIO_SKEW):
        log = next(a for a in case.logs if a.steps[0] == span.at)
        end = min(float(log.steps[-1]), span.at + 4 * (span.end - span.at))
        s = case.shape(log, span.at, end)
        if s is None or not s.likely:
            continue
        flat = [
            float(np.nanmedian(lift(log.series(f"loss/{x}"), log.twin(f"loss/{x}"))[: log.index(end)]))
            for x in ("story", "sums")
        ]
        case.measured |= {"height_scales": s.scales, "height_log": s.height}
        case.said.append(f"{told(log, s, 'skew')} Story {flat[0]:+.3f} and sums {flat[1]:+.3f} hardly move.")
        names = (
            "resume-spike",
            "spike-fast-recovery",
            "spike-slow-recovery",
            "multi-dataset-spike",
            "level-shift",
        )
        more = {"peak_step": float(log.steps[s.peak]), "end_step": end, "tolerance_steps": 16 * case.gap}
        case.event(log, "resume-ratio-skew", log.steps[0], *names, sure=s.sure, **more)
        if s.sure:
            case.require("resume-ratio-skew")
