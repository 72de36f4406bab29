"""Small runs to draw: timelines of arrays, and diagnoses that say what a test needs."""

from __future__ import annotations

import numpy as np

from chronicle.figures import view_script
from chronicle.model import Attempt, Diagnosis, Entry, Finding, Join, Role, Series, Timeline, Verdict
from chronicle.timeline import stitch


def series(metric, steps, values, role=Role.LOSS, unit=None, dataset=""):
    steps = np.asarray(steps, np.int64)
    values = np.asarray(values, np.float64)
    return Series(metric, role, steps, values, np.full(len(steps), np.nan), unit, dataset)


def attempt(name, *logged, axis="step"):
    return Attempt(name, (name,), {s.metric: s for s in logged}, axis=axis)


def run(steps, values, metric="loss", **keys) -> Timeline:
    """One attempt with one metric."""
    return stitch([attempt("a.csv", series(metric, steps, values, **keys))])


def finding(pattern, start, end, metric="loss", name="a.csv", severity=0.5) -> Finding:
    return Finding(pattern, metric, name, start, start, end, severity, 0.9)


def diagnosis(*findings: Finding, joins: tuple[Join, ...] = (), verdict=Verdict.BAD) -> Diagnosis:
    patterns = tuple(sorted({f.pattern for f in findings}))
    return Diagnosis(verdict, patterns, findings, joins, ())


def view(timeline, diagnosis, events, *, title, headline="", facts=(), tokens_per_step=0.0) -> str:
    """The script of the interactive view of an entry that says this much."""
    words = title, diagnosis.verdict, diagnosis.verdict.value, headline, ()
    entry = Entry("", "r", *words, events, diagnosis, facts, *[()] * 4, {}, (), (), "", "")
    return view_script(timeline, entry, tokens_per_step)


def falling(points, seed=0, noise=0.02):
    """A loss that falls and levels off."""
    noise = noise * np.random.default_rng(seed).normal(size=points)
    return 2 + 2 * np.exp(-np.arange(points) / (points / 5)) + noise


def rolled_back() -> Timeline:
    """Two attempts: the second goes back from step 399 to 300, with gradient norm and learning rate."""

    def part(name, first, last, seed):
        steps = np.arange(first, last)
        loss = falling(600, seed)[first:last]
        norm = series("grad_norm", steps, np.full(len(steps), 0.5), Role.GRAD_NORM)
        rate = series("lr", steps, np.linspace(1e-3, 1e-4, len(steps)), Role.LEARNING_RATE)
        return attempt(name, series("loss", steps, loss, unit="nats/token"), norm, rate)

    return stitch([part("a.csv", 0, 400, 1), part("b.csv", 300, 600, 2)])
