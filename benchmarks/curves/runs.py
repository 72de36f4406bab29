"""Whole trainings of several attempts, with the labels of what happened where one attempt follows another.

All attempts of a training share one truth: the power law is a function of the step, so two attempts agree at
equal steps up to noise, unless something was lost on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.curves.curve import START_TIME, Curve, Event, Run
from benchmarks.curves.series import learning_rate, validation
from chronicle.model import Attempt, Role

Bounds = Sequence[tuple[int, int]]  # first and last sample of each attempt
Change = Callable[[Curve, int], object]  # what happens in attempt k (1, 2, ...)
THREE: Bounds = ((0, 800), (800, 1500), (1500, 2200))
GAP_S = 600.0


def training(
    seed: int, bounds: Bounds = THREE, change: Change | None = None, every: int = 1, **kind: float
) -> Run:
    """Attempts over the sample ranges ``bounds``; ``change(curve, k)`` injects into attempt k (0, 1, ...)."""
    attempts: list[Attempt] = []
    events: list[Event] = []
    time = START_TIME
    for k, (first, last) in enumerate(bounds):
        c = Curve(1000 * seed + k, last - first, every=every, first_step=first * every, **kind)  # type: ignore[arg-type]
        c.name = f"attempt-{k + 1}"
        if change is not None:
            change(c, k)
        attempts.append(c.attempt(time=time))
        events += c.events
        time += float(c.seconds[-1]) + GAP_S
    return Run(attempts, events)


def clean(seed: int, **kind: float) -> Run:
    """Three attempts with exact resumes."""
    return training(seed, **kind)


def rollback(seed: int, **kind: float) -> Run:
    """The second attempt goes back 200 samples and reads on; nothing is lost."""
    return training(seed, ((0, 1000), (800, 1600)), **kind)


def resume_spikes(seed: int, height: float = 12.0, fall: float = 15.0, **kind: float) -> Run:
    """The loss jumps at each resume and comes back: something of the state was not restored."""

    def change(c: Curve, k: int) -> None:
        if k:
            c.lift += height * c.scale * c.pulse(0, 1, fall)
            c.label("resume-spike", 0, 0, int(3 * fall), height_scales=height)

    return training(seed, change=change, **kind)


def lr_not_restored(seed: int, how: str = "warmup", **kind: float) -> Run:
    """The second attempt's learning rate starts a warm-up again, or goes on at half, or ("cosine") jumps back
    up to the peak of a schedule that had come down."""

    def change(c: Curve, k: int) -> None:
        share = c.steps / (2200.0 * c.every)
        lr = 3e-4 * (0.1 + 0.45 * (1 + np.cos(np.pi * share)))
        if k == 0:
            lr *= np.minimum(1, (np.arange(c.n) + 1) / 40)
        if k == 1:
            ramp = np.minimum(1, (np.arange(c.n) + 1) / 40)
            lr = {"warmup": lr * ramp, "half": lr * 0.5, "cosine": lr * 0 + 3e-4}[how]
            c.label("lr-not-restored", 0, None, None, metric="lr")
        c.log("lr", Role.LEARNING_RATE, lr)

    return training(seed, change=change, **kind)


def repeat_data(
    seed: int, replays: int = 2, height: float = 10.0, length: int = 300, overlap: bool = True, **kind: float
) -> Run:
    """Every resume reads the data of the attempt before once more: the training loss is too low by ``height``
    noise scales (more at each pass) for ``length`` samples, then steps back, where the label is; validation
    does not move."""
    bounds = [(0, 900)] + [
        (900 + (600 - 200 * overlap) * k, 1500 + (600 - 200 * overlap) * k) for k in range(replays)
    ]

    def change(c: Curve, k: int) -> None:
        validation(c, every=40)
        if k:
            c.lift[:length] -= height * (1 + 0.5 * (k - 1)) * c.scale
            c.label("repeat-data", length, length, length, height_scales=height)

    return training(seed, bounds, change, **kind)


def lower_after_resume(seed: int, **kind: float) -> Run:
    """A resume after which the loss is lower for good, and so is validation: better, not old data."""

    def change(c: Curve, k: int) -> None:
        if k:
            c.lift -= 10 * c.scale
        validation(c, every=40)
        if k:
            role, values, dataset = c.extra["val_loss"]
            c.extra["val_loss"] = (role, values * np.exp(-10 * c.scale), dataset)

    return training(seed, ((0, 800), (800, 1600)), change, **kind)


def reinitialised(seed: int, in_one_file: bool = True, **kind: float) -> Run:
    """The weights are new in the middle: the loss is back at its first level and learns along that curve."""
    if in_one_file:
        c = Curve(seed, 2000, **kind)  # type: ignore[arg-type]
        c.trend[1000:] = c.trend[:1000]
        c.spread[1000:] = c.spread[:1000]
        return c.label("reinitialised", 1000, 1000, None).run()

    def change(c: Curve, k: int) -> None:
        if k:
            c.trend = Curve(0, c.n, every=c.every).trend
            c.label("reinitialised", 0, 0, None)

    return training(seed, ((0, 1000), (1000, 2000)), change, **kind)


def all_fail(seed: int, height: float = 120.0, **kind: float) -> Run:
    """Four attempts: each starts at the same place and diverges; the best loss does not improve."""

    def change(c: Curve, k: int) -> None:
        c.diverge(0.5, height=height, grow=0.4)

    run = training(seed, ((0, 900),) + ((500, 1200),) * 3, change, **kind)
    run.events.append(Event("failed-run", 0, tolerance_samples=10_000))
    return run


def with_schedule(seed: int, **kind: float) -> Run:
    """Three clean attempts along one cosine schedule, the learning rate restored at each."""

    def change(c: Curve, k: int) -> None:
        share = c.steps / (2200.0 * c.every)
        warm = np.minimum(1, (c.steps / c.every + 1) / 40)
        c.log("lr", Role.LEARNING_RATE, 3e-4 * warm * (0.1 + 0.45 * (1 + np.cos(np.pi * share))))

    return training(seed, change=change, **kind)


HEALTHY: dict[str, Callable[[int], Run]] = {
    "plain": lambda s: Curve(s).run(),
    "noisy": lambda s: Curve(s, noise=0.08, df=6).run(),
    "autocorrelated": lambda s: Curve(s, rho=0.6).run(),
    "sparse": lambda s: Curve(s, 120, every=100).run(),
    "uneven": lambda s: Curve(s, 800, every=20, uneven=0.6).run(),
    "steep": lambda s: Curve(s, decay=0.7, gain=12).run(),
    "cosine": lambda s: learning_rate(Curve(s), "cosine").run(),
    "restarts": clean,
    "rollback": rollback,
    "schedule": with_schedule,
}
