"""Healthy logs of many fields of machine learning.

Each field draws the columns that its trainers log, under the names that they give them, with the noise that
real logs of it show: heavy tails, memory, evaluations on few examples, rows by epoch.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.curves.curve import Floats, autocorrelated
from benchmarks.curves.families import Log, Rng, Told, decay, noise, power, share, told


def loud(r: Rng, n: int, low: float, high: float) -> Floats:
    """Factors of a loss, between quiet and loud, with or without memory, of light or heavy tails."""
    scale = float(np.exp(r.uniform(np.log(low), np.log(high))))
    return np.exp(scale * autocorrelated(r, n, r.choice([0.0, 0.2, 0.6]), r.choice([3.0, 5.0, 30.0])))


def rows(r: Rng, low: int, high: int) -> int:
    return int(np.exp(r.uniform(np.log(low), np.log(high))))


def cosine(n: int, peak: float = 3e-4, warm: float = 0.03) -> Floats:
    t = share(n)
    return peak * np.minimum(1.0, (t + 1 / n) / warm) * (0.55 + 0.45 * np.cos(np.pi * t))


def evaluated(values: Floats, n: int, times: int) -> Floats:
    """A column of ``n`` rows with some evaluations in it."""
    held, at = np.full(n, np.nan), np.linspace(n / times, n, times).astype(int) - 1
    held[at] = values
    return held


# ---- healthy ---------------------------------------------------------------------------------------------


def pretraining(r: Rng) -> Log:
    n = rows(r, 200, 4000)
    loss = power(n, 10.8, r.uniform(1.8, 3.2), r.uniform(0.4, 0.9), r.uniform(0.003, 0.03))
    return Log({
        "train/loss": loss * loud(r, n, 0.004, 0.04), "train/lr": cosine(n),
        "train/grad_norm": power(n, 6, 0.3) * noise(r, n, 0.3),
        "throughput": 4e5 * noise(r, n, 0.02, 0.6),
    })  # fmt: skip


def finetuning(r: Rng) -> Log:
    """20 to 100 rows of a few epochs; each repeated epoch begins a step lower."""
    n, epochs = rows(r, 20, 100), int(r.integers(1, 4))
    loss = decay(n, r.uniform(1.2, 3.0), r.uniform(0.6, 1.1), r.uniform(0.05, 0.4))
    loss *= r.uniform(0.8, 0.95) ** np.floor(share(n) * epochs)
    log = {
        "loss": loss * loud(r, n, 0.02, 0.15), "learning_rate": 2e-5 * np.linspace(1, 0, n),
        "grad_norm": 1.5 * noise(r, n, 0.3), "epoch": share(n) * epochs,
    }  # fmt: skip
    return Log(log, allowed=("level-shift", "spike-fast-recovery"))


def preference(r: Rng) -> Log:
    """A loss that starts at the logarithm of two and falls a little, beside margins that grow."""
    n = rows(r, 50, 1000)
    loss = decay(n, np.log(2), r.uniform(0.35, 0.62), r.uniform(0.1, 0.4))
    return Log({
        "loss": loss * loud(r, n, 0.03, 0.2), "rewards/margins": (np.log(2) - loss) * 3 + r.normal(0, 0.1, n),
        "rewards/accuracies": 0.5 + 0.3 * (1 - np.exp(-share(n) / 0.2)) + r.normal(0, 0.06, n),
        "learning_rate": cosine(n, 5e-7),
    })  # fmt: skip


def policy(r: Rng) -> Log:
    """An agent: the reward creeps up in noise; its losses rise and fall as they like."""
    n, late = rows(r, 60, 2000), r.uniform(0.1, 0.5)
    reward = r.uniform(50, 500) / (1 + np.exp(-(share(n) - late) / r.uniform(0.05, 0.2)))
    reward += r.uniform(0.03, 0.12) * np.ptp(reward) * autocorrelated(r, n, 0.6, 6.0)
    return Log(
        {
            "reward": reward,
            "value_loss": (5 + np.abs(reward)) * noise(r, n, 0.8),
            "policy_loss": 0.02 * r.standard_normal(n),
            "entropy": 1.4 - 0.8 * share(n) + 0.02 * r.standard_normal(n),
            "fps": 900 * noise(r, n, 0.1) * (1 - 0.2 * share(n)),
        },
        required=(),
    )


def values(r: Rng) -> Log:
    """A value network: its error grows with what there is to gain."""
    n = rows(r, 100, 2000)
    gain = 1 / (1 + np.exp(-(share(n) - 0.4) / 0.12))
    reward = 200 * gain + 25 * autocorrelated(r, n, 0.5, 6.0)
    return Log(
        {"reward": reward, "loss": (0.05 + gain) * noise(r, n, 0.5), "epsilon": np.linspace(1, 0.05, n)},
        required=(),
    )


def physics(r: Rng) -> Log:
    """Adam over many decades, then a second-order optimizer that falls at once and stands still."""
    n, turn = rows(r, 200, 2000), r.uniform(0.7, 0.9)
    t = share(n)
    fall = -r.uniform(3, 7) * t**0.5 - 2 * (1 - np.exp(-np.maximum(t - turn, 0) / 0.01))
    calm = np.where(t < turn, 1.0, np.exp(-(t - turn) / 0.02))
    loss = np.exp(fall + calm * r.uniform(0.1, 0.5) * autocorrelated(r, n, 0.3, 4.0))
    part = 0.3 * np.exp(0.3 * calm * autocorrelated(r, n, 0.3, 4.0))
    loose = ("grokking", "level-shift", "spike-fast-recovery", "spike-slow-recovery", "plateau")
    return Log({"loss": loss, "loss_pde": loss * (1 - 0.5 * part), "loss_bc": loss * 0.5 * part},
               ("good", "unexpected"), (), loose)  # fmt: skip


def players(r: Rng) -> Log:
    """Two players whose losses swing round their balance, each about the other's mirror."""
    n = rows(r, 100, 3000)
    swing = r.uniform(0.05, 0.3) * np.sin(2 * np.pi * share(n) * r.uniform(2, 12))
    return Log({
        "loss_D": (0.6 + decay(n, 0.8, 0.0, 0.03)) * np.exp(-swing) * loud(r, n, 0.1, 0.4),
        "loss_G": (1.0 + 0.8 * share(n)) * np.exp(swing) * loud(r, n, 0.1, 0.4),
    }, ("good", "unexpected", "worrying"), ())  # fmt: skip


def denoising(r: Rng) -> Log:
    """Falls in the first hundredths and wavers ever after, by the time step that each batch draws."""
    n = rows(r, 200, 4000)
    loss = power(n, 1.0, r.uniform(0.01, 0.15), 1.0, 0.004) * loud(r, n, 0.1, 0.45)
    return Log({"train_loss": loss, "lr": np.full(n, 1e-4)}, required=())


def boxes(r: Rng) -> Log:
    """Detection by epoch: the last ten without mosaics fall by a step; held-out parts creep."""
    n = rows(r, 30, 300)
    last = np.where(np.arange(n) >= n - 10, r.uniform(0.8, 0.95), 1.0)
    log: dict[str, Floats] = {}
    for part, first, floor in (("box", 1.6, 0.7), ("cls", 3.5, 0.4), ("dfl", 1.7, 0.9)):
        log[f"train/{part}_loss"] = power(n, first, floor, 0.6, 0.03) * last * loud(r, n, 0.003, 0.02)
        log[f"val/{part}_loss"] = power(n, first, 1.15 * floor, 0.9, 0.05) * loud(r, n, 0.01, 0.06)
    up = r.uniform(0.4, 0.9) * (1 - decay(n, 1, 0, 0.12))
    log |= {
        "metrics/mAP50(B)": up + r.normal(0, 0.015, n),
        "metrics/mAP50-95(B)": 0.6 * up,
        "lr/pg0": cosine(n),
    }
    return Log(log, required=(), allowed=("level-shift",))


def detector(r: Rng) -> Log:
    """Detection by iteration: the box loss rises at first, since there are no boxes to be wrong about."""
    n = rows(r, 200, 2000)
    t, rate = share(n), 0.02 * 0.1 ** np.searchsorted([0.67, 0.92], share(n), "right")
    steps = 1 - 0.12 * (t > 0.67) - 0.04 * (t > 0.92)
    cls = power(n, 1.2, 0.2, 0.8, 0.02) * steps * loud(r, n, 0.08, 0.2)
    box = (0.05 + 0.3 * (1 - np.exp(-t / 0.03)) * (1 - 0.4 * t)) * steps * loud(r, n, 0.08, 0.2)
    return Log(
        {
            "loss": cls + box,
            "loss_cls": cls,
            "loss_bbox": box,
            "lr": rate,
            "data_time": 0.01 * noise(r, n, 1),
        },
        required=(),
        allowed=("level-shift", "lr-decay-drop"),
    )


def masks(r: Rng) -> Log:
    """One less the Dice score, or its negative, by epoch; held out on a handful of volumes."""
    n, off = rows(r, 20, 400), r.choice([0.0, 1.0])
    dice = r.uniform(0.75, 0.93) * (1 - decay(n, 0.9, 0, r.uniform(0.05, 0.2)))
    held = (
        dice - 0.04 - r.uniform(0, 0.06) * share(n) + r.uniform(0.01, 0.04) * autocorrelated(r, n, 0.2, 4.0)
    )
    return Log(
        {"train_loss": off - dice + 0.008 * r.standard_normal(n), "val_loss": off - held, "val_dice": held},
        ("good", "worrying"),
        (),
        ("overfitting", "plateau"),
    )


def pairs(r: Rng) -> Log:
    """Contrastive: waits at the logarithm of the batch for a warm-up, then falls for long."""
    n = rows(r, 200, 3000)
    first, wait = np.log(r.choice([64, 256, 1024])), r.uniform(0.0, 0.06)
    t = np.maximum(share(n) - wait, 0)
    loss = first * r.uniform(0.1, 0.5) + first * r.uniform(0.5, 0.6) * (1 + t / 0.05) ** -0.7
    return Log({"loss": np.minimum(loss, first) * loud(r, n, 0.01, 0.08), "lr": cosine(n),
                "logit_scale": np.minimum(100, 14 * np.exp(2 * share(n)))}, required=())  # fmt: skip


def tasks(r: Rng) -> Log:
    """Several tasks, one of which is at its floor at once; learned weights take the total below zero."""
    n = rows(r, 100, 2000)
    one, two = (power(n, r.uniform(1, 5), 0.2, 0.7, 0.05) * loud(r, n, 0.03, 0.2) for _ in range(2))
    three = r.uniform(0.3, 1) * loud(r, n, 0.03, 0.1)
    below = r.choice([0.0, 2.0]) * share(n)
    return Log(
        {"loss": one + two + three - below, "loss_seg": one, "loss_depth": two, "loss_normal": three},
        required=(),
    )


def stages(r: Rng) -> Log:
    """A curriculum: each stage is harder, and its loss begins higher."""
    n, k = rows(r, 200, 2000), int(r.integers(2, 4))
    stage = np.floor(share(n) * k)
    loss = power(n, 4, 0.8, 0.5, 0.02) * (1 + r.uniform(0.1, 0.4) * stage) * loud(r, n, 0.01, 0.06)
    return Log(
        {"loss": loss, "stage": stage, "seq_len": 512 * 2**stage},
        ("good", "worrying", "bad"),
        (),
        ("level-shift", "spike-no-full-recovery", "spike-slow-recovery", "divergence-no-spike"),
    )


def cycles(r: Rng) -> Log:
    """Triangles or restarts of the logged learning rate, which the loss follows."""
    n, k = rows(r, 100, 3000), int(r.integers(2, 9))
    phase = (share(n) * k) % 1
    shape = 1 - np.abs(2 * phase - 1) if r.random() < 0.5 else 0.5 + 0.5 * np.cos(np.pi * phase)
    loss = power(n, 3, 0.7, 0.6, 0.03) * np.exp(r.uniform(0.05, 0.3) * shape) * loud(r, n, 0.01, 0.08)
    return Log(
        {"loss": loss, "lr": 1e-3 * (0.02 + shape)},
        required=(),
        allowed=("spike-slow-recovery", "level-shift"),
    )


def few_examples(r: Rng) -> Log:
    """Held-out loss and score on a hundred examples: their noise is most of what they show."""
    n = rows(r, 200, 1500)
    times = int(r.integers(6, 40))
    held = power(times, 2.0, 0.7, 0.8, 0.1) * loud(r, times, 0.03, 0.1)
    right = np.round(100 * (0.85 - 0.4 * decay(times, 1, 0, 0.2) + 0.04 * r.standard_normal(times))) / 100
    return Log(
        {
            "loss": power(n, 2.2, 0.5, 0.7, 0.05) * loud(r, n, 0.03, 0.2),
            "eval_loss": evaluated(held, n, times),
            "eval_accuracy": evaluated(right, n, times),
        }
    )


def epochs(r: Rng) -> Log:
    """A table of 10 to 60 epochs: train and held-out, loss and accuracy."""
    n = int(r.integers(10, 60))
    train = decay(n, r.uniform(0.7, 2.3), r.uniform(0.05, 0.4), r.uniform(0.1, 0.4))
    held = train + r.uniform(0.0, 0.15) * share(n) ** 0.5
    return Log({
        "epoch": np.arange(n) + 1.0, "loss": train * loud(r, n, 0.003, 0.05), "accuracy": 1 - 0.35 * train,
        "val_loss": held * loud(r, n, 0.02, 0.12), "val_accuracy": 1 - 0.35 * held + r.normal(0, 0.01, n),
    }, required=())  # fmt: skip


def dense(r: Rng) -> Log:
    """Rows at log-spaced steps, or dense first: half of the rows in the first hundredth of the steps."""
    n = rows(r, 100, 600)
    steps = np.unique(np.geomspace(1, r.uniform(3e4, 3e5), n).astype(np.int64))
    loss = r.uniform(1.5, 3) + 8 * (1 + steps / r.uniform(20, 200)) ** -r.uniform(0.3, 0.7)
    return Log({"loss": loss * loud(r, len(steps), 0.005, 0.04)}, steps=steps)


def trees(r: Rng) -> Log:
    """Boosting: no noise at all; the held-out curve bends to its floor."""
    n = rows(r, 50, 2000)
    train = power(n, 0.69, 0.1, 0.8, 0.1) * np.exp(1e-4 * r.standard_normal(n))
    held = np.maximum(power(n, 0.69, 0.2, 1.2, 0.1), 0.0) * np.exp(5e-4 * autocorrelated(r, n, 0.8, 30.0))
    return Log({"train-logloss": train, "valid-logloss": held}, required=())


def codes(r: Rng) -> Log:
    """A variational autoencoder: its KL term is switched on while the reconstruction falls."""
    n = rows(r, 100, 2000)
    recon = power(n, 550, 90, 0.8, 0.02) * loud(r, n, 0.01, 0.05)
    kl = 25 * (1 - np.exp(-share(n) / 0.05)) * loud(r, n, 0.02, 0.06)
    return Log({"loss": recon + kl, "recon_loss": recon, "kl_loss": kl}, required=())


def clicks(r: Rng) -> Log:
    """Click rates: most of the loss is the data's, 3 to 8 % are learned, within a tenth of the log."""
    n = rows(r, 200, 3000)
    loss = 0.45 * (1 + r.uniform(0.05, 0.1) * np.exp(-share(n) / 0.05)) * loud(r, n, 0.02, 0.08)
    loss[: max(2, n // 200)] += 0.2
    return Log({"train_loss": loss, "auc": 0.78 - 0.12 * np.exp(-share(n) / 0.1) + r.normal(0, 0.004, n)},
               required=(), allowed=("plateau",), verdicts=("good", "worrying"))  # fmt: skip


def graphs(r: Rng) -> Log:
    """Two hundred epochs on one small graph, the whole of it at once: smooth, with dropout noise."""
    n = int(r.integers(100, 400))
    train = decay(n, 1.95, r.uniform(0.3, 0.7), 0.15) * loud(r, n, 0.005, 0.05)
    held = decay(n, 1.95, 0.75, 0.2) * loud(r, n, 0.002, 0.01)
    return Log({"train_loss": train, "val_loss": held, "val_acc": 0.8 - decay(n, 0.6, 0, 0.1)}, required=())


def moving_mean(r: Rng) -> Log:
    """A log that prints the mean of its last hundred batches."""
    n = rows(r, 200, 2000)
    loss = power(n, 7, 1.5, 0.6, 0.02) * np.exp(r.uniform(0.005, 0.02) * autocorrelated(r, n, 0.97, 30.0))
    return Log(
        {"loss": loss},
        ("good", "worrying"),
        (),
        ("level-shift", "spike-slow-recovery", "spike-fast-recovery"),
    )


def sparse_reward(r: Rng) -> Log:
    """Nothing for long, then now and then a success, then mostly: most rows are 0 or 1."""
    n, late = rows(r, 80, 2000), r.uniform(0.15, 0.5)
    chance = 0.9 / (1 + np.exp(-(share(n) - late) / 0.08))
    wins = (r.random(n) < chance).astype(float) if r.random() < 0.5 else r.binomial(20, chance) / 20
    return Log({"episode_reward": wins, "actor_loss": -chance + r.normal(0, 0.1, n)}, required=())


def swinging_reward(r: Rng) -> Log:
    """A reward that learns, swings by a third of what it gained, and comes back."""
    n = rows(r, 150, 2000)
    gained = 1 - np.exp(-share(n) / 0.15)
    swing = 0.2 * np.sin(2 * np.pi * share(n) * r.uniform(3, 9)) * gained
    return Log(
        {"rollout/ep_rew_mean": 300 * (gained + swing) - 200 + 10 * autocorrelated(r, n, 0.8, 6.0)},
        required=(),
    )


def small_gains(r: Rng) -> Log:
    """Adapting a model that nearly knows: 3 to 8 % are learned, batches differ by more."""
    n = rows(r, 30, 400)
    loss = r.uniform(0.8, 2.5) * (1 - r.uniform(0.06, 0.12) * (1 - np.exp(-share(n) / 0.2)))
    return Log({"loss": loss * loud(r, n, 0.04, 0.15), "learning_rate": cosine(n, 1e-4)}, required=())


def held_out_spikes(r: Rng) -> Log:
    """Convolutions with batch statistics: evaluations are wild until the rate is cut."""
    n = int(r.integers(60, 300))
    cuts = np.searchsorted([0.5, 0.75], share(n), "right")
    train = power(n, 1.9, 0.5, 0.6, 0.03) * np.array([1.0, 0.45, 0.3])[cuts] * loud(r, n, 0.005, 0.02)
    wild = np.exp(np.abs(0.5 * 0.2**cuts * r.standard_t(3, n)))
    held = power(n, 1.7, 0.7, 0.6, 0.03) * np.array([1.0, 0.6, 0.58])[cuts] * wild
    return Log(
        {"train_loss": train, "val_loss": held, "lr": 0.1 * 0.1**cuts},
        required=(),
        allowed=("lr-decay-drop", "level-shift"),
    )


def critics(r: Rng) -> Log:
    """Wasserstein players: neither loss has a sign or a floor."""
    n = rows(r, 150, 2000)
    drift = np.cumsum(r.normal(0, 1, n)) * r.uniform(0.5, 3) / n**0.5
    return Log(
        {
            "d_loss": -8 * np.exp(-share(n) / 0.2) - 1 + 0.4 * autocorrelated(r, n, 0.3, 5.0),
            "g_loss": 3 * drift + 0.6 * autocorrelated(r, n, 0.3, 5.0),
        },
        ("good", "unexpected", "worrying"),
        (),
    )


def nights(r: Rng) -> Log:
    """A laptop: its pace changes with what else runs, and it sleeps."""
    n = rows(r, 200, 2000)
    pace = np.where((share(n) * r.uniform(2, 5)) % 1 < 0.3, 1.6, 1.0) * noise(r, n, 0.15)
    return Log({"loss": power(n, 4, 0.9, 0.5, 0.02) * loud(r, n, 0.02, 0.1), "time_per_step": 0.3 * pace},
               required=(), allowed=("throughput-drop",), seconds=np.cumsum(pace))  # fmt: skip


def warm_up(r: Rng) -> Log:
    """A model trained before: its loss climbs while the rate warms up, and is below in a tenth of the log."""
    n = rows(r, 200, 2000)
    t = share(n)
    lift = r.uniform(0.05, 0.2) * np.minimum(t / 0.02, 1) * np.exp(-np.maximum(t - 0.02, 0) / 0.02)
    loss = 2.2 * (1 - 0.25 * (1 - np.exp(-t / 0.3))) * np.exp(lift) * loud(r, n, 0.01, 0.06)
    return Log(
        {"loss": loss, "lr": cosine(n, 2e-5, 0.02)},
        ("good", "worrying"),
        (),
        ("spike-slow-recovery", "spike-fast-recovery"),
    )


def sums(r: Rng) -> Log:
    """A loss summed over tokens of batches of unequal length, in thousands."""
    n = rows(r, 100, 2000)
    size = r.uniform(0.1, 0.3) * r.standard_normal(n)
    return Log({"train_loss": 3000 * power(n, 5, 1.6, 0.6, 0.05) * np.exp(size)}, required=())


FIELDS: tuple[Callable[[Rng], Log], ...] = (
    pretraining,
    finetuning,
    preference,
    policy,
    values,
    physics,
    players,
    denoising,
    boxes,
    detector,
    masks,
    pairs,
    tasks,
    stages,
    cycles,
    few_examples,
    epochs,
    dense,
    trees,
    codes,
    clicks,
    graphs,
    moving_mean,
    sparse_reward,
    swinging_reward,
    small_gains,
    held_out_spikes,
    critics,
    nights,
    warm_up,
    sums,
)


def in_fields(seeds: Iterable[int]) -> Iterator[Told]:
    """A healthy log of every field for every seed."""
    for seed in seeds:
        for make in FIELDS:
            log = make(rng_of(seed, make.__name__))
            yield as_read(make.__name__, seed, printed(log, seed), seed)


def printed(log: Log, seed: int) -> Log:
    """The log as written: in full, with four decimals, or with three digits."""
    if seed % 3 == 0:
        return log
    rounded = {k: np.round(v, 4) if seed % 3 == 1 else three_digits(v) for k, v in log.columns.items()}
    return replace(log, columns=rounded)


def three_digits(values: Floats) -> Floats:
    size = 10.0 ** (2 - np.floor(np.log10(np.maximum(np.abs(np.nan_to_num(values)), 1e-300))))
    return np.where(np.isfinite(values), np.round(values * size) / size, values)


def rng_of(seed: int, name: str) -> Rng:
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def as_read(kind: str, seed: int, log: Log, every: int) -> Told:
    return told(kind, seed, log, (1, 10, 50)[every % 3])
