"""Faults that a training of any field may have: one event in the loss (or objective, or validation loss) of
a healthy log of `benchmarks.curves.fields`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.curves.curve import Floats
from benchmarks.curves.families import Log, Rng, Told, noise, share
from benchmarks.curves.fields import FIELDS, as_read, printed, rng_of

REWARDS = ("reward", "ep_rew_mean")
SPIKES = "spike-fast-recovery|spike-slow-recovery|spike-no-full-recovery|resume-spike|multi-dataset-spike"
UP = "divergence-no-spike|divergence-after-spike|spike-no-full-recovery|level-shift|spike-slow-recovery"


def judged_column(log: Log) -> str:
    """The column that a fault is put into: the objective of an agent, else the total or first loss."""
    names = [n for n in log.columns if n.endswith(REWARDS)] + [n for n in log.columns if n == "loss"]
    names += [n for n in log.columns if "loss" in n and not n.startswith("val")]
    return names[0]


def risen(log: Log, lift: Floats, **label: object) -> Log:
    """The log with its loss (all of its training losses) lifted by log factors."""
    main = judged_column(log)
    parts = {
        name: v * np.exp(lift)
        for name, v in log.columns.items()
        if "loss" in name and (name == main or name.startswith(("loss_", "train/")))
    }
    return replace(log, columns=log.columns | parts, **label)


def loss_of(log: Log) -> int:
    """Rows of its loss, 0 where it is no positive loss that could rise by a factor."""
    values = log.columns[judged_column(log)]
    return 0 if judged_column(log).endswith(REWARDS) or (values <= 0).any() else len(values)


def spikes(r: Rng, log: Log) -> Log | None:
    n = loss_of(log)
    if not n:
        return None
    at, wide = int(n * r.uniform(0.4, 0.8)), max(2, int(r.uniform(0.003, 0.02) * n))
    up = np.zeros(n)
    up[at:] = r.uniform(1.2, 2) * np.exp(-np.arange(n - at) / wide)
    return risen(log, up, verdicts=("good", "worrying"), required=(SPIKES,), allowed=tuple(UP.split("|")))


def diverges(r: Rng, log: Log) -> Log | None:
    n = loss_of(log)
    if not n:
        return None
    at = int(n * r.uniform(0.5, 0.75))
    up = np.r_[np.zeros(at), np.linspace(0, r.uniform(1.5, 3), n - at)]
    return risen(log, up, verdicts=("bad",), required=(UP,))


def turns_nan(r: Rng, log: Log) -> Log | None:
    name = judged_column(log)
    values = log.columns[name].copy()
    values[int(len(values) * r.uniform(0.4, 0.9)) :] = np.inf  # a value that is NaN would not be logged
    columns = {k: v for k, v in log.columns.items() if not k.startswith(("loss_", "train/")) or k == name}
    return replace(log, columns=columns | {name: values}, verdicts=("bad",), required=("nan-inf",))


def collapses(r: Rng, log: Log) -> Log | None:
    name = judged_column(log)
    if not name.endswith(REWARDS):
        return None
    reward = log.columns[name].copy()
    at = int(len(reward) * r.uniform(0.6, 0.8))
    reward[at:] = reward[0] + 0.1 * (reward[at:] - reward[0])
    return replace(log, columns=log.columns | {name: reward}, verdicts=("bad", "worrying"), required=(UP,))


def overfits(r: Rng, log: Log) -> Log | None:
    held = next((name for name in ("val_loss", "eval_loss", "valid-logloss") if name in log.columns), None)
    if held is None or (log.columns[held] <= 0).any():
        return None
    values = log.columns[held]
    up = np.exp(r.uniform(0.6, 1.2) * np.maximum(share(len(values)) - r.uniform(0.25, 0.5), 0))
    return replace(
        log,
        columns={k: v for k, v in log.columns.items() if "acc" not in k} | {held: values * up},
        verdicts=("worrying", "bad"),
        required=("overfitting",),
    )


def stops(r: Rng, log: Log) -> Log | None:
    name = judged_column(log)
    values = log.columns[name]
    n, at = len(values), max(int(0.06 * len(values)), 3)
    if n < 200 or not loss_of(log) or np.log(np.median(values[at : at + 9]) / np.median(values[-9:])) < 0.2:
        return None  # too short, or nothing was left to be learned
    still = np.median(values[at - 2 : at + 2]) * noise(r, n - at, 0.03)
    columns = {name: np.r_[values[:at], still]}
    return replace(log, columns=columns, verdicts=("worrying", "bad"), required=("plateau|failed-run",))


FAULTS = (spikes, diverges, turns_nan, collapses, overfits, stops)


def at_fault(seeds: Iterable[int]) -> Iterator[Told]:
    """Every fault that a field can have, for every seed."""
    for seed in seeds:
        for make in FIELDS:
            for put in FAULTS:
                r = rng_of(seed, make.__name__)
                log = put(rng_of(seed, put.__name__), make(r))
                if log is not None:
                    yield as_read(f"{make.__name__}: {put.__name__}", seed, printed(log, seed), seed)
