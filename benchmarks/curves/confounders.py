"""Healthy runs that look like trouble: whatever is named in them as an event is a false alarm.

Each confounder is explained by a series that is logged beside the loss, or is what a healthy loss does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.curves import runs, series
from benchmarks.curves.curve import Curve, Run
from chronicle.model import Role


def _healthy(c: Curve) -> Run:
    """The run with the labels of what is no event taken off: decays and ramps are healthy."""
    run = c.run()
    run.events.clear()
    return run


def _warm_restarts(seed: int) -> Curve:
    """Cosine with restarts (Loshchilov & Hutter 2017): at each the rate jumps up, the loss with it, and both
    come down together."""
    c = Curve(seed, 3000)
    phase = (np.arange(c.n) % 1000) / 1000
    lr = 0.5 * (1 + np.cos(np.pi * phase))
    c.lift += 6 * c.scale * (lr - 0.5)
    return c.log("lr", Role.LEARNING_RATE, 3e-4 * np.maximum(lr, 0.01))


def _warmup_bump(seed: int) -> Curve:
    """The loss rises a little while the learning rate warms up for longer than usual."""
    c = Curve(seed)
    k = np.arange(c.n)
    c.lift += 8 * c.scale * np.exp(-(((k - 150) / 60.0) ** 2))
    return c.log("lr", Role.LEARNING_RATE, 3e-4 * np.minimum(1, (k + 1) / 200))


def _noise_grows(seed: int) -> Curve:
    """The noise doubles towards the end, as the learning rate decays and the batch stays."""
    c = Curve(seed)
    c.spread *= 1 + np.arange(c.n) / c.n
    return c


def _smoothed(seed: int) -> Curve:
    """The logger writes an exponentially weighted mean: neighbours say nearly the same."""
    c = Curve(seed)

    def smooth(
        v: np.ndarray[tuple[int], np.dtype[np.float64]],
    ) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        out = v.copy()
        for i in range(1, len(v)):
            out[i] = 0.9 * out[i - 1] + 0.1 * v[i]
        return out

    c.after.append(smooth)
    return c


CONFOUNDERS: dict[str, Callable[[int], Run]] = {
    "lr steps": lambda s: _healthy(series.learning_rate(Curve(s), drops=(0.4, 0.7), gain=15)),
    "cosine": lambda s: _healthy(series.learning_rate(Curve(s), "cosine")),
    "linear to zero": lambda s: _healthy(series.learning_rate(Curve(s), "wsd")),
    "warm restarts": lambda s: _healthy(_warm_restarts(s)),
    "warm-up bump": lambda s: _healthy(_warmup_bump(s)),
    "batch ramp": lambda s: _healthy(series.batch_size(Curve(s))),
    "epochs": lambda s: _healthy(series.epochs(Curve(s), 4)),
    "growing noise": lambda s: _healthy(_noise_grows(s)),
    "smoothed log": lambda s: _healthy(_smoothed(s)),
    "gradient norm spikes alone": lambda s: _healthy(series.grad_norm(Curve(s), alone=4)),
    "data sets": lambda s: _healthy(series.datasets(Curve(s))),
    "validation": lambda s: _healthy(series.validation(Curve(s))),
    "evaluation pauses": lambda s: _healthy(series.throughput(Curve(s), pauses=100)),
    "loss scale": lambda s: _healthy(series.loss_scale(Curve(s, 4000))),
    "logits": lambda s: _healthy(series.logits(Curve(s))),
    "longer answers that pay": lambda s: _healthy(series.answers(Curve(s), 3.0, 0.4)),
    "gradients that are clipped half of the time": lambda s: _healthy(series.clipped(Curve(s), 0.5)),
    "judge that agrees": lambda s: _healthy(series.judged(Curve(s), 0.5, 0.6)),
    "experts that share": lambda s: _healthy(series.experts(Curve(s), 0)),
    "policy that has learned it all": lambda s: _healthy(series.agent(Curve(s), 0.97)),
    "restarts": runs.clean,
    "rollback": runs.rollback,
    "schedule restored": runs.with_schedule,
    "better after a resume": runs.lower_after_resume,
}
