"""Judges of faults that show elsewhere than in the course of the loss: logs, numbers, clocks."""

from __future__ import annotations

import numpy as np

from lab.faults import Kind
from lab.grow.facts import Case

FROZEN_SAMPLES = 32


def frozen(case: Case) -> None:
    """A loss that is logged again and again."""
    log = case.logs[0]
    loss = log.series("loss")
    for span in (s for s in case.spans if s.kind is Kind.STALE_LOG):
        i, j = log.index(span.at), log.index(span.end)
        same = int(np.sum(loss[i:j] == loss[i]))
        case.said.append(f"{same} logged points from step {log.steps[i]:.0f} on have one value.")
        sure = same >= FROZEN_SAMPLES
        case.event(log, "frozen-metric", log.steps[i], sure=sure, end_step=float(log.steps[j - 1]))
        if sure:
            case.require("frozen-metric")


def nonfinite(case: Case) -> None:
    """NaN or infinity in the log, or zeros that hide it."""
    log = case.logs[0]
    loss = log.series("loss")
    zero = any(s.kind is Kind.ZERO_LOG for s in case.spans)
    broken = np.flatnonzero((loss == 0.0) if zero else ~np.isfinite(loss))
    first = int(broken[0])
    lasts = broken[-1] == len(loss) - 1 and len(broken) > 1
    case.said.append(
        f"{'A loss of 0.0' if zero else 'No number'} at {len(broken)} points from {log.steps[first]:.0f} on."
    )
    also = ("frozen-metric", "level-shift", "grokking") if zero else ()
    end = None if lasts else float(log.steps[broken[-1]])
    case.event(log, "nan-inf", log.steps[first], *also, end_step=end)
    case.require("nan-inf")
    case.allowed |= {"frozen-metric"}


def stopped(case: Case) -> None:
    """A learning rate of nothing: the loss stands still where the twin goes on."""
    log = case.logs[0]
    for span in (s for s in case.spans if s.kind is Kind.LR_KICK and s.amount == 0):
        loss, i = log.series("loss"), log.index(span.at)
        k = max((len(loss) - i) // 4, 8)
        fall = float(np.log(np.median(loss[i : i + k]) / np.median(loss[-k:])))
        missed = float(np.median(log.up[-k:]))
        case.measured |= {"height_log": missed}
        case.said.append(
            f"From step {span.at} on the loss falls by {fall:+.3f} log units; the twin is {missed:.3f} below."
        )
        sure = fall < 0.015 and missed >= 0.03
        case.event(log, "plateau", log.steps[i], sure=sure, tolerance_steps=0.3 * span.at)
        if sure:
            case.require("plateau")


def clocks(case: Case) -> None:
    """Steps that take longer, and a step that does not end."""
    log = case.logs[0]
    name = next((n for n in ("tokens_per_second", "step_time") if n in case.recipe.log.series), "")
    for span in (s for s in case.spans if s.kind in (Kind.SLOW, Kind.HANG)):
        at = log.steps[log.index(span.at)]
        if span.kind is Kind.SLOW:
            end = None if span.lasts(case.recipe.run.steps) else float(span.end)
            case.event(log, "throughput-drop", at, metric=name, end_step=end, tolerance_steps=30.0)
            case.require("throughput-drop")
            case.said.append(f"Every step takes {span.amount - 1:.0%} longer from step {span.at} on.")
        else:
            case.event(log, "hang", at, metric=name, tolerance_steps=max(5.0, 2 * case.gap))
            case.require("hang")
            case.said.append(f"Step {span.at} takes {span.amount:.0f} s more than the others.")
