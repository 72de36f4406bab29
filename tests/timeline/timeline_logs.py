"""Logs for the tests of the timeline: small, and with the five reasons why a step goes back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Role, Series, Timeline

HOUR = 3600.0


def course(steps: Sequence[int], seed: int = 0) -> np.ndarray:
    """A loss that falls from 9 towards 2 with the step, with noise of its own for every seed."""
    t = np.asarray(steps, float)
    return 2 + 7 / np.sqrt(1 + t / 20) + 0.05 * np.random.default_rng(seed).standard_normal(len(t))


def series(metric: str, steps: Sequence[int], values: Sequence[float], start: float | None = None) -> Series:
    """One second a row from ``start`` on; no wall clock without it."""
    times = np.full(len(steps), np.nan) if start is None else start + np.arange(len(steps), dtype=float)
    return Series(
        metric,
        Role.OTHER,
        np.asarray(steps, np.int64).reshape(-1),
        np.asarray(values, float).reshape(-1),
        times,
    )


def log(
    name: str, steps: Sequence[int], seed: int = 0, start: float | None = None, **more: Series
) -> Attempt:
    """An attempt with a loss over ``steps``, and other series beside it."""
    columns = {"loss": series("loss", steps, course(steps, seed), start), **more}
    return Attempt(name=name, sources=(name,), series=assign({s.metric: s for s in columns.values()}))


def names(timeline: Timeline) -> list[str]:
    return [a.name for a in timeline.attempts]


def joins(timeline: Timeline) -> list[tuple[str, str, str, int, int, int]]:
    """Kind, names of both attempts, from step, to step, discarded steps."""
    who = names(timeline)
    return [
        (j.kind.value, who[j.before], who[j.after], j.from_step, j.to_step, j.discarded_steps)
        for j in timeline.joins
    ]


def alive(timeline: Timeline, metric: str = "loss") -> list[tuple[str, int, int]]:
    """Of every attempt with live points of a metric: name, first and last live step."""
    track = timeline.series[metric]
    spans = []
    for k, name in enumerate(names(timeline)):
        steps = track.steps[track.live & (track.attempt == k)]
        if len(steps):
            spans.append((name, int(steps.min()), int(steps.max())))
    return spans
