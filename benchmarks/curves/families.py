"""Logs as users have them, each of a family that a rule over single events reads wrongly, with its label.

A family is named after what happened. Its series are named as trainers name them, so that their roles are
found, not given. Some families are healthy and look like trouble; others are in trouble and look healthy.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from benchmarks.curves.curve import START_TIME, Floats, Steps, autocorrelated
from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Role, Series
from chronicle.score.labels import Event, Label

Rng = np.random.Generator
HEALTHY = "near-perfect|noisy-healthy"
RISEN = "spike-slow-recovery|divergence-no-spike|level-shift|spike-no-full-recovery|divergence-after-spike"
# Nobody may say these of a run in which they did not happen.
STRONG = (
    "failed-run", "frozen-metric", "grokking", "hang", "loss-scale-collapse", "nan-inf", "overfitting",
    "reinitialised", "repeat-data", "divergence-no-spike", "divergence-after-spike", "plateau",
    "spike-no-full-recovery",
)  # fmt: skip


@dataclass
class Log:
    """The columns of one log by name (NaN: not logged at that row) and what is known about the run.

    ``verdicts``: those that are right, the best first. ``required`` as in `Label`; what is required or
    ``allowed`` is not forbidden. ``onset``: the sample of the one event, and the samples it may be off.
    """

    columns: dict[str, Floats]
    verdicts: tuple[str, ...] = ("good",)
    required: tuple[str, ...] = (HEALTHY,)
    allowed: tuple[str, ...] = ()
    onset: tuple[int, int] | None = None
    steps: Steps | None = None
    seconds: Floats | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Told:
    """One generated log as a reader would give it, with its label."""

    kind: str
    seed: int
    attempts: tuple[Attempt, ...]
    label: Label


# ---- courses -------------------------------------------------------------------------------------------


def size(r: Rng, low: int = 200, high: int = 4000) -> int:
    return int(np.exp(r.uniform(np.log(low), np.log(high))))


def share(n: int) -> Floats:
    return np.arange(n) / n


def noise(r: Rng, n: int, scale: float, rho: float = 0.2) -> Floats:
    """Factors of a loss: log-normal with heavy tails."""
    return np.exp(scale * autocorrelated(r, n, rho, 6.0))


def power(n: int, first: float, floor: float, b: float = 0.5, t0: float = 0.01) -> Floats:
    return floor + (first - floor) * (1 + share(n) / t0) ** -b


def decay(n: int, first: float, floor: float, tau: float) -> Floats:
    return floor + (first - floor) * np.exp(-share(n) / tau)


def dense_first(n: int, every: int) -> Steps:
    """The first hundred steps one by one, then each ``every``-th: 0 to 99, 100, 200, ..."""
    return np.r_[np.arange(100), np.arange(1, n - 99) * every].astype(np.int64)


def by_step(steps: Steps, first: float, floor: float, b: float = 0.4, t0: float = 40.0) -> Floats:
    return floor + (first - floor) * (1 + steps / t0) ** -b


# ---- healthy, and looks like trouble -------------------------------------------------------------------


def plain(r: Rng) -> Log:
    n = size(r, 60)
    return Log({"train/loss": power(n, 10, r.uniform(1.5, 3), r.uniform(0.3, 0.8)) * noise(r, n, 0.03)})


def noisy(r: Rng) -> Log:
    n = size(r)
    return Log({"train_loss": power(n, 3.5, 1.1) * noise(r, n, r.uniform(0.1, 0.3))})


def dense_rows(r: Rng) -> Log:
    """The first descent falls in rows of one step, and compiling takes ten minutes before step 1."""
    steps = dense_first(size(r, 300, 2000), int(r.choice([50, 100, 500])))
    n = len(steps)
    loss = by_step(steps, 10, r.uniform(1.5, 3), r.uniform(0.3, 0.7), r.uniform(10, 60))
    seconds = np.cumsum(np.diff(steps, prepend=0) * 0.5 * noise(r, n, 0.05)) + np.where(steps > 0, 640.0, 0)
    return Log({"loss": loss * noise(r, n, 0.02)}, steps=steps, seconds=seconds)


def dense_bump(r: Rng) -> Log:
    """The loss rises in its first steps, which are logged one by one, and falls ever after."""
    steps = dense_first(size(r, 300, 1500), 100)
    n, at = len(steps), r.uniform(12, 40)
    bump = 1 + r.uniform(0.1, 0.6) * np.exp(-(((steps - at) / (0.3 * at)) ** 2))
    loss = by_step(steps, 8, 2.0) * bump * noise(r, n, 0.02)
    return Log({"loss": loss}, allowed=("spike-fast-recovery", "spike-slow-recovery"), steps=steps)


def dense_scores(r: Rng) -> Log:
    """Train and held-out scores come up together, in the first rows of a log of a thousand times as many."""
    n = size(r, 300, 1500)
    steps = dense_first(n, 100)
    up = 1 / (1 + (30 / np.maximum(steps, 1)) ** 2)
    held = 1 / (1 + (r.uniform(90, 160) / np.maximum(steps, 1)) ** 3)
    return Log({
        "loss": decay(n, 4, 0.3, 0.02) * noise(r, n, 0.05),
        "train/accuracy": 0.96 * up, "validation/accuracy": 0.1 + 0.75 * held,
    }, steps=steps)  # fmt: skip


def cycles(r: Rng) -> Log:
    """Restarts of a schedule that nobody logged: the loss climbs, and is below its old level in the end."""
    n, k = size(r, 300, 2000), int(r.integers(2, 4))
    phase = (np.arange(n) * k / n) % 1
    lift = r.uniform(0.2, 0.6) * 0.5 * (1 + np.cos(np.pi * phase)) * np.minimum(phase / 0.05, 1)
    loss = power(n, 7, 0.6, 0.8, 0.05) * np.exp(lift) * noise(r, n, 0.01)
    return Log({"loss": loss}, ("good", "worrying"), (), ("spike-slow-recovery", "level-shift"))


def restarts(r: Rng) -> Log:
    n, k = size(r, 600, 3000), int(r.integers(3, 6))
    lr = 5e-4 * (1 + np.cos(np.pi * ((np.arange(n) * k / n) % 1)))
    loss = power(n, 4, 1.0) * np.exp(r.uniform(100, 400) * lr) * noise(r, n, 0.02)
    return Log({"loss": loss, "lr": lr}, allowed=("spike-slow-recovery",))


def dips(r: Rng) -> Log:
    """The loss falls for a while and returns to its course."""
    n = size(r, 400, 3000)
    loss, a = power(n, 8, 2.4), int(n * r.uniform(0.4, 0.6))
    loss[a : a + n // 12] *= r.uniform(0.8, 0.9)
    verdicts, names = ("good", "worrying", "unexpected"), ("level-shift", "grokking")
    return Log({"loss": loss * noise(r, n, 0.02)}, verdicts, (), names)


def tall_start(r: Rng) -> Log:
    n = size(r, 300, 2000)
    loss = power(n, 3, 1.0, 0.6, 0.02) * noise(r, n, 0.05)
    loss[:3], a = [900, 120, 18], int(n * r.uniform(0.4, 0.7))
    loss[a : a + 3] *= [3, 2, 1.4]
    return Log({"loss": loss}, allowed=("spike-slow-recovery",))


def two_decades(r: Rng) -> Log:
    """A loss that falls by four decades, fast on a linear axis, steadily on a logarithmic one."""
    n = size(r, 300, 3000)
    return Log({"loss": np.exp(np.linspace(0, -9, n)) * noise(r, n, 0.25)})


def finetune(r: Rng) -> Log:
    n = int(r.uniform(20, 100))
    loss = decay(n, r.uniform(1.3, 1.8), r.uniform(0.9, 1.15), 0.15) * noise(r, n, r.uniform(0.02, 0.09))
    return Log({"loss": loss, "learning_rate": 2e-5 * np.linspace(1, 0, n)})


def converges(r: Rng) -> Log:
    """Learned to a twentieth of the first value in a tenth of the log, and stays there."""
    n = size(r, 300, 3000)
    loss = decay(n, 2.3, r.uniform(0.02, 0.08), 0.02) * noise(r, n, 0.2)
    return Log({"loss": loss, "accuracy": 1 - decay(n, 0.9, 0.01, 0.02)})


def keras(r: Rng) -> Log:
    n = int(r.uniform(20, 100))
    train = decay(n, 1.6, 0.35, 0.2) * noise(r, n, 0.01)
    held = decay(n, 1.5, 0.42, 0.2) * noise(r, n, 0.06)
    return Log({"loss": train, "val_loss": held, "accuracy": 1 - 0.3 * train, "val_accuracy": 1 - 0.3 * held})


def jittery_speed(r: Rng) -> Log:
    """Evaluations, a slow first step and a slow tenth: no run learns worse for it."""
    n = size(r, 300, 3000)
    step_time = 0.5 * noise(r, n, 0.2)
    step_time[:: n // 10] *= 30
    step_time[0], a = 400, int(n * r.uniform(0.3, 0.7))
    step_time[a : a + n // 20] *= 1.5
    loss = power(n, 9, 2.2) * noise(r, n, 0.02)
    return Log({"loss": loss, "step_time": step_time}, allowed=("throughput-drop",))


def scale_settles(r: Rng) -> Log:
    """A loss scale that looks for its level: some halvings at once, a few more later."""
    n = size(r, 600, 3000)
    power_of_two = np.full(n, 16.0)
    for at in (*range(0, 24, 4), *(int(n * s) for s in (0.03, 0.034, 0.038, 0.042, 0.06))):
        power_of_two[at:] -= 1
    return Log({"loss": power(n, 9, 2.2) * noise(r, n, 0.02), "loss_scale": 2.0**power_of_two})


def steps_of_rate(r: Rng) -> Log:
    n = size(r, 400, 3000)
    loss, lr = power(n, 4, 1.2), np.full(n, 0.1)
    for at in (0.5, 0.75):
        a = int(n * at)
        lr[a:] /= 10
        loss[a:] -= 0.25 * (1 - np.exp(-np.arange(n - a) / (0.01 * n)))
    return Log({"loss": loss * noise(r, n, 0.04), "lr": lr}, allowed=("level-shift",))


def late_score(r: Rng) -> Log:
    n = size(r, 300, 1500)
    t, clean = share(n), r.normal(0, 0.02, (2, n))
    return Log({
        "train_loss": power(n, 5, 0.8, 1.0, 0.1) * noise(r, n, 0.05),
        "train_acc": t**0.7 * 0.9 + clean[0], "val_acc": np.clip(t - 0.3, 0, 1) * 0.9 + clean[1],
    })  # fmt: skip


def training_rises_too(r: Rng) -> Log:
    """Held-out and training evaluation rise together: no overfitting, whatever the batches say."""
    n, m = 600, int(r.integers(24, 60))
    rows, held = np.linspace(n // m, n - 1, m).astype(int), np.full((2, n), np.nan)
    rise = 0.4 + decay(m, 1.0, 0.0, 0.1) + 0.8 * np.maximum(share(m) - r.uniform(0.3, 0.5), 0)
    held[:, rows] = rise * noise(r, m, 0.01)
    loss = power(n, 2.5, 0.35, 0.7, 0.05) * noise(r, n, 0.05)
    columns = {"loss": loss, "train/loss": held[0], "validation/loss": 1.05 * held[1]}
    return Log(columns, ("good", "bad", "worrying"), (), ("divergence-no-spike",))


# ---- parts, players, agents ----------------------------------------------------------------------------


def pinn(r: Rng) -> Log:
    n = size(r, 300, 3000)
    base, a = np.exp(np.linspace(0, -6, n)), int(n * r.uniform(0.4, 0.7))
    pde, border = base * noise(r, n, 0.3), 0.05 * base * noise(r, n, 0.6)
    border[a:] += 0.1 * base[a:] * (1 + np.arange(n - a) / n)
    return Log({"loss": pde + border, "loss_pde": pde, "loss_bc": border})


def detection(r: Rng) -> Log:
    n = size(r, 200, 1500)
    t, a = share(n), int(n * r.uniform(0.3, 0.8))
    cls = power(n, 2.0, 0.25) * noise(r, n, 0.1)
    box = (0.05 + 3.2 * t * np.exp(-4 * t)) * noise(r, n, 0.12)
    rpn = power(n, 0.6, 0.03) * noise(r, n, 0.3)
    rpn[a] *= 6
    return Log({
        "loss": cls + box + rpn, "loss_cls": cls, "loss_bbox": box, "loss_rpn_cls": rpn,
        "time": 0.4 * noise(r, n, 0.15), "data_time": 0.02 * noise(r, n, 0.9),
    })  # fmt: skip


def diffusion(r: Rng) -> Log:
    n = size(r, 300, 3000)
    parts = [power(n, 0.6 / 4**i, 0.05 / 4**i) * noise(r, n, 0.15 + 0.1 * i) for i in range(4)]
    parts[3][int(n * 0.6) :] *= 1.6
    return Log({"loss": sum(parts) / 4, **{f"loss_q{i}": part for i, part in enumerate(parts)}})


def agent(r: Rng, reward: Floats, scale: float, name: str = "rollout/ep_rew_mean") -> dict[str, Floats]:
    n = len(reward)
    return {
        name: reward + scale * autocorrelated(r, n, 0.6, 8.0),
        "time/fps": 900 * np.exp(-0.3 * share(n)) + 40 * r.standard_normal(n),
        "train/value_loss": 20 * (1 + np.sin(5 * share(n)) ** 2) * noise(r, n, 0.7),
        "train/policy_gradient_loss": -0.01 + 0.01 * r.standard_normal(n),
    }


def agent_learns(r: Rng) -> Log:
    n = size(r, 100, 1500)
    reward = 200 / (1 + np.exp(-(share(n) - r.uniform(0.2, 0.5)) / 0.08)) - 150
    return Log(agent(r, reward, 12), required=())


def agent_never(r: Rng) -> Log:
    n = size(r, 100, 1500)
    return Log(agent(r, np.full(n, -200.0), 10), ("bad", "worrying"), ("failed-run|plateau",))


def agent_collapses(r: Rng) -> Log:
    n = size(r, 150, 1500)
    t, a = share(n), r.uniform(0.5, 0.75)
    reward = 200 / (1 + np.exp(-(t - 0.25) / 0.06)) - 180 / (1 + np.exp(-(t - a) / 0.02))
    names = ("divergence-no-spike|divergence-after-spike|spike-no-full-recovery|level-shift",)
    return Log(agent(r, reward, 8, "episode_reward"), ("bad", "worrying"), names)


def agent_crashes(r: Rng) -> Log:
    """It learns, and one episode in twelve costs a hundred times what all others bring."""
    n = size(r, 300, 2000)
    reward = 900 / (1 + np.exp(-(share(n) - 0.2) / 0.05)) - 400 + r.normal(0, 60, n)
    return Log({"reward": reward - np.where(r.random(n) < 0.08, r.exponential(3e4, n), 0)}, required=())


def agent_skewed(r: Rng) -> Log:
    """It learns; few episodes bring most of the reward."""
    n = size(r, 300, 3000)
    tall = 8 * np.exp(r.normal(1, 1, n)) / (1 + np.exp(-(share(n) - 0.3) / 0.05))
    return Log({"reward": tall - 9 + r.normal(0, 0.3, n)}, required=())


def cut_unlogged(r: Rng) -> Log:
    """A cut of a learning rate that nobody logged: the loss steps down, and stays there."""
    n = size(r, 2000, 8000)
    loss = power(n, 30, 0.1, 0.9, 0.003) * noise(r, n, 0.2, 0)
    loss[int(n * r.uniform(0.4, 0.7)) :] *= r.uniform(0.75, 0.9)
    return Log({"loss": loss}, allowed=("level-shift",))


# ---- in trouble, and looks healthy ---------------------------------------------------------------------


def chance(r: Rng) -> Log:
    n, k = size(r, 150), r.choice([2, 10, 100])
    columns = {"loss": np.log(k) * noise(r, n, r.uniform(0.002, 0.025), 0)}
    return Log(columns, ("bad",), ("failed-run|plateau",))


def chance_in_noise(r: Rng) -> Log:
    """Batches differ by more than a model that knows nothing does; a score on a hundred examples is noise."""
    n, k = size(r, 150), r.choice([2, 10, 100])
    right = r.binomial(100, 1 / k, n) / 100
    loss = np.log(k) * noise(r, n, r.uniform(0.03, 0.1), 0)
    return Log({"loss": loss, "accuracy": right}, ("bad",), ("failed-run|plateau",))


def falls_to_chance(r: Rng) -> Log:
    """The outputs find their scale in the first steps, and nothing is learned to the end."""
    n, k = size(r, 300), r.choice([2, 10, 100])
    loss = decay(n, np.log(k) * r.uniform(1.2, 3), np.log(k), 0.004) * noise(r, n, r.uniform(0.002, 0.025), 0)
    return Log({"loss": loss}, ("bad", "worrying"), ("failed-run|plateau",))


def stops_early(r: Rng) -> Log:
    n = size(r, 400)
    loss, a = power(n, 10, 1.0, 0.5, 0.01), int(n * r.uniform(0.03, 0.06))
    loss[a:] = loss[a]
    log = {"loss": loss * noise(r, n, r.uniform(0.01, 0.04)), "lr": np.full(n, 3e-4)}
    return Log(log, ("worrying", "bad"), ("plateau|failed-run",))


def warm_start_climbs(r: Rng) -> Log:
    """A pretrained model whose loss climbs at once and needs most of the log to come back."""
    n = size(r, 500, 3000)
    t, back = share(n), r.uniform(0.2, 0.4)
    loss = 2.0 - 0.02 * t + 0.5 * (1 - np.exp(-t / 0.015)) * np.exp(-t / back)
    return Log({"loss": loss * noise(r, n, 0.015)}, ("worrying", "bad", "unexpected"), (RISEN,))


def waits_for_cut(r: Rng) -> Log:
    n, lr = size(r, 400, 2000), 1e-2
    a = int(n * r.uniform(0.4, 0.6))
    loss, rate = np.full(n, 6.9), np.full(n, lr)
    loss[a:], rate[a:] = power(n - a, 6.9, 3.0), lr / 10
    columns = {"loss": loss * noise(r, n, 0.01), "lr": rate}
    return Log(columns, ("worrying", "bad", "unexpected"), ("plateau|failed-run",), ("grokking",))


def late_rise(r: Rng) -> Log:
    n = size(r, 300, 3000)
    loss, a = power(n, 6, 2.0), int(n * r.uniform(0.5, 0.75))
    loss[a:] = loss[a] * (1 + r.uniform(0.08, 0.4) * np.linspace(0, 1, n - a) ** 1.3)
    names = ("divergence-no-spike",)
    return Log({"loss": loss * noise(r, n, 0.02)}, ("bad",), names, onset=(a, n // 5))


def overfits(r: Rng) -> Log:
    n, m = 600, int(r.integers(10, 30))
    rows, held, t = np.linspace(n // m, n - 1, m).astype(int), np.full(n, np.nan), share(n)
    turn = 1.0 + 0.9 * np.exp(-t / 0.1) + r.uniform(0.25, 0.6) * np.maximum(t - r.uniform(0.3, 0.55), 0)
    held[rows] = (turn * noise(r, n, 0.02))[rows]
    train = power(n, 2.5, 0.3, 1.0, 0.1) * noise(r, n, 0.05)
    return Log({"loss": train, "val_loss": held}, ("worrying", "bad"), ("overfitting",))


def stops_in_epochs(r: Rng) -> Log:
    """Trained on for two thirds of its epochs and more, in which nothing is learned."""
    n = int(r.uniform(50, 120))
    loss, a = power(n, 2.3, 0.5, 0.6, 0.1), int(n * r.uniform(0.2, 0.3))
    loss[a:] = loss[a]
    columns = {"loss": loss * noise(r, n, 0.01), "val_loss": 1.05 * loss * noise(r, n, 0.02)}
    return Log(columns, ("worrying",), ("plateau",))


def scores_lost(r: Rng) -> Log:
    """A held-out score that falls for most of the run, beside a training loss that falls as well."""
    n = int(r.uniform(30, 150))
    t = share(n)
    score = 0.8 - 0.5 * np.exp(-t / 0.06) - r.uniform(0.25, 0.5) * np.maximum(t - r.uniform(0.2, 0.4), 0)
    columns = {"train_loss": power(n, 2.0, 0.02, 1, 0.2) * noise(r, n, 0.02)}
    return Log({**columns, "val_accuracy": score + r.normal(0, 0.008, n)}, ("worrying",), ("overfitting",))


def held_out_alone(r: Rng) -> Log:
    """Only the evaluation is logged: its loss turns, and its score goes on."""
    n = int(r.uniform(100, 300))
    t = share(n)
    loss = 0.28 + decay(n, 0.6, 0.0, 0.03) + 0.08 * np.maximum(t - 0.2, 0)
    score = 0.92 - 0.2 * np.exp(-t / 0.05) + r.normal(0, 0.003, n)
    columns = {"eval loss": loss * noise(r, n, 0.02), "eval accuracy": score}
    return Log(columns, ("worrying",), ("divergence-no-spike|overfitting",))


def held_out_nan(r: Rng) -> Log:
    """The loss of validation is NaN from some evaluation on; that of training is not."""
    n, m = 600, int(r.integers(12, 40))
    rows, held = np.linspace(n // m, n - 1, m).astype(int), np.full(n, np.nan)
    loss = power(n, 2.5, 0.4, 0.7, 0.05) * noise(r, n, 0.03)
    held[rows], at = 1.1 * loss[rows], rows[int(m * r.uniform(0.3, 0.8))]
    held[rows[rows >= at]] = np.inf
    return Log({"loss": loss, "val_loss": held}, ("bad", "worrying"), ("nan-inf",))


def explodes_at_once(r: Rng) -> Log:
    """Many times its first value within the first steps, and a third of the log until it is back."""
    n = size(r, 200, 1500)
    lift = r.uniform(4, 30) * np.exp(-(((share(n) - 0.15) / 0.06) ** 2))
    loss = np.where(share(n) > 0.4, 2.7, 3.0) * np.exp(lift) * noise(r, n, r.uniform(0.05, 0.3))
    return Log({"loss": loss}, ("worrying", "bad"), (RISEN,))


def new_weights(r: Rng) -> Log:
    n = size(r, 500, 3000)
    loss, a = power(n, 9, 2.0, 0.6, 0.02), int(n * r.uniform(0.5, 0.8))
    loss[a:] = loss[: n - a] * r.uniform(0.97, 1.03)
    verdicts = ("unexpected", "bad", "worrying")
    columns = {"loss": loss * noise(r, n, 0.03)}
    return Log(columns, verdicts, ("reinitialised",), onset=(a, max(5, n // 50)))


def groks(r: Rng) -> Log:
    n = size(r, 300, 2000)
    t, held = share(n), 0.02 + 0.97 / (1 + np.exp(-(share(n) - r.uniform(0.45, 0.7)) / 0.03))
    columns = {
        "train_loss": decay(n, 4, 0.002, 0.02) * noise(r, n, 0.1),
        "train_acc": np.clip(t / 0.05, 0.02, 1),
        "val_acc": np.clip(held + r.normal(0, 0.01, n), 0, 1),
    }
    return Log(columns, ("unexpected",), ("grokking",))


def falls_late(r: Rng) -> Log:
    n, a = size(r, 400, 3000), r.uniform(0.4, 0.7)
    loss = 3.2 - 0.1 * share(n) - 1.4 / (1 + np.exp(-(share(n) - a) / 0.004))
    names = ("grokking|level-shift",)
    columns = {"loss": loss * noise(r, n, 0.02)}
    return Log(columns, ("unexpected",), names, onset=(int(a * n), max(8, n // 25)))


def spike_stays(r: Rng) -> Log:
    n = size(r, 400, 3000)
    loss, a = power(n, 8, 2.2), int(n * r.uniform(0.4, 0.6))
    loss[a:] *= 1.08 + 0.6 * np.exp(-np.arange(n - a) / 6)
    names = ("spike-no-full-recovery|level-shift|divergence-after-spike",)
    return Log({"loss": loss * noise(r, n, 0.015)}, ("worrying", "bad"), names, onset=(a, 8))


def stands_still_a_while(r: Rng) -> Log:
    """A hang in the middle: the clock says so."""
    n = size(r, 300, 2000)
    seconds = np.cumsum(2.0 * noise(r, n, 0.1))
    seconds[int(n * r.uniform(0.2, 0.8)) :] += 7200
    log = {"loss": power(n, 9, 2.2) * noise(r, n, 0.02)}
    return Log(log, ("worrying",), ("hang",), seconds=seconds)


FAMILIES: tuple[Callable[[Rng], Log], ...] = (
    plain, noisy, dense_rows, dense_bump, dense_scores, cycles, restarts, dips, tall_start, two_decades,
    finetune, converges, keras, jittery_speed, scale_settles, steps_of_rate, late_score, training_rises_too,
    pinn, detection, diffusion, agent_learns, agent_never, agent_collapses, agent_crashes, agent_skewed,
    cut_unlogged, chance, chance_in_noise, falls_to_chance, stops_early, stops_in_epochs, warm_start_climbs,
    explodes_at_once, waits_for_cut, late_rise, overfits, scores_lost, held_out_alone, held_out_nan,
    new_weights, groks, falls_late, spike_stays, stands_still_a_while,
)  # fmt: skip


def in_families(seeds: Iterable[int]) -> Iterator[Told]:
    """A log of every family for every seed."""
    for seed in seeds:
        for make in FAMILIES:
            r = np.random.default_rng([seed, zlib.crc32(make.__name__.encode())])
            yield told(make.__name__, seed, make(r), int(r.choice([1, 10, 50])))


def told(kind: str, seed: int, log: Log, every: int) -> Told:
    """The log as a reader gives it, with its label; rows are ``every`` steps apart unless it says where."""
    n = len(next(iter(log.columns.values())))
    steps = (np.arange(n) + 1) * (every if n > 120 else 1) if log.steps is None else log.steps
    times = START_TIME + log.seconds if log.seconds is not None else np.full(n, np.nan)
    ok = {name: ~np.isnan(values) for name, values in log.columns.items()}
    series = assign({
        name: Series(name, Role.OTHER, steps[ok[name]], values[ok[name]], times[ok[name]])
        for name, values in log.columns.items()
    })  # fmt: skip
    named = {name for entry in log.required for name in entry.split("|")} | set(log.allowed)
    healthy, first = log.verdicts[0] == "good", next(iter(log.columns))
    events = []
    if log.onset is not None:
        a, off = log.onset
        gap = float(np.median(np.diff(steps)))
        pattern, *others = log.required[0].split("|")
        events = [Event(pattern, float(steps[a]), off * gap, also_ok=tuple(others), series=first)]
    elif log.allowed:  # there is something to be seen, which need not be found
        events = [Event(log.allowed[0], float(steps[0]), np.inf, also_ok=log.allowed, optional=True)]
    label = Label(
        id=f"{kind}, {seed}",
        verdict=log.verdicts[0],
        verdict_also_ok=log.verdicts[1:],
        required=log.required,
        allowed=log.allowed,
        forbidden=tuple(p for p in (*STRONG, *(() if healthy else HEALTHY.split("|"))) if p not in named),
        main_series=(first,) if healthy or events else (),
        events=tuple(events),
        steps_healthy=n if healthy else 0,
    )
    return Told(kind, seed, (Attempt("attempt-1", ("attempt-1",), series),), label)
