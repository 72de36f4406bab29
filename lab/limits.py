"""Two limits, and what happens if one is missing or always reached. NumPy alone.

The length of a gradient: a tanh layer learns a function of 16 numbers by gradient descent. Gradients longer
than the limit are shortened to it; the log holds their length before that, and the share that was shortened.

The step of a policy: an answer is a point, drawn around the policy's mean, and its reward is highest near one
place. The policy follows the advantage over the mean of 64 answers, in units of their spread (as GRPO does).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lab.numpy_training import NumpyTraining

SEED = 11
TAGS = ("simulated clock",)
INPUTS, HIDDEN, BATCH, NOISE = 16, 32, 64, 0.05
CLIPPED_STEPS, RATE, INTERVAL = 1500, 0.1, 10
FEATURES, DRAWN, DISTANCE = 8, 64, 2.0
POLICY_STEPS, POLICY_RATE, RISES_FROM, RISE = 1200, 0.05, 800, 1.015


def _clipped(rng: np.random.Generator, limit: float) -> Iterator[dict[str, float]]:
    teacher, student = (rng.normal(size=(INPUTS, HIDDEN)) / INPUTS**0.5 for _ in range(2))
    answer, weights = rng.normal(size=HIDDEN) / HIDDEN**0.5, np.zeros(HIDDEN)
    clipped: list[bool] = []
    for _ in range(CLIPPED_STEPS):
        inputs = rng.normal(size=(BATCH, INPUTS))
        wanted = np.tanh(inputs @ teacher) @ answer + NOISE * rng.normal(size=BATCH)
        hidden = np.tanh(inputs @ student)
        error = hidden @ weights - wanted
        slopes = [2 * hidden.T @ error / BATCH]
        slopes.append(2 * inputs.T @ (error[:, None] * weights * (1 - hidden**2)) / BATCH)
        norm = sum(float((slope**2).sum()) for slope in slopes) ** 0.5
        clipped = [*clipped, norm > limit][-INTERVAL:]
        yield {
            "loss": (error**2).mean(),
            "grad_norm": norm,
            "grad_clip_fraction": sum(clipped) / len(clipped),
        }
        for values, slope in zip((weights, student), slopes, strict=True):
            values -= RATE * slope * min(1.0, limit / norm)


def _policy(rng: np.random.Generator, rises: bool) -> Iterator[dict[str, float]]:
    target = rng.normal(size=FEATURES)
    target *= DISTANCE / np.linalg.norm(target)
    mean, rate = np.zeros(FEATURES), POLICY_RATE
    for step in range(POLICY_STEPS):
        drawn = mean + rng.normal(size=(DRAWN, FEATURES))
        reward = np.exp(-((drawn - target) ** 2).sum(1) / (2 * FEATURES))
        gain = (reward - reward.mean()) / (reward.std() + 1e-4)
        gradient = (gain[:, None] * (drawn - mean)).mean(0)
        yield {
            "reward": reward.mean(),
            "objective/kl": mean @ mean / 2,
            "grad_norm": np.linalg.norm(gradient),
            "lr": rate,
        }
        rate *= RISE if rises and step >= RISES_FROM else 1.0
        mean += rate * gradient


TRAININGS = (
    NumpyTraining(
        "clip-saturation",
        "A gradient that is clipped at every step",
        "gradients are clipped at a norm of 0.02, a ninth of what is usual",
        "A small network trained by plain descent, its gradients clipped at a norm that nearly all of them "
        "exceed. Every step then has the same length, whatever the gradient says: the learning rate has "
        "become another one. The loss falls all the same, and later. The clock is simulated.",
        TAGS,
        SEED,
        INPUTS * HIDDEN + HIDDEN,
        partial(_clipped, limit=0.02),
        "The limit lies below the usual norm",
    ),
    NumpyTraining(
        "clip-seldom",
        "The same gradient, seldom clipped",
        "none: as clip-saturation, clipped at a norm of 0.5",
        "The control of lab-clip-saturation: the same network, data and seed, clipped at a norm that few "
        "gradients reach. The clock is simulated.",
        TAGS,
        SEED,
        INPUTS * HIDDEN + HIDDEN,
        partial(_clipped, limit=0.5),
    ),
    NumpyTraining(
        "kl-blow-up",
        "A policy that runs away from its reference",
        f"the learning rate rises by 1.5 % with each step from step {RISES_FROM} on",
        "Reinforcement learning in small. The policy finds the rewarded place; then the learning rate grows, "
        "the policy oversteps it by more and more, and its divergence from the start grows without end while "
        "the reward is lost. The clock is simulated.",
        TAGS,
        SEED,
        FEATURES,
        partial(_policy, rises=True),
        "The learning rate is too high",
    ),
    NumpyTraining(
        "kl-kept",
        "The same policy at a constant rate",
        "none: as kl-blow-up, at a constant rate",
        "The control of lab-kl-blow-up: the same reward and seed at a constant rate. The divergence settles "
        "where the reward is best. The clock is simulated.",
        TAGS,
        SEED,
        FEATURES,
        partial(_policy, rises=False),
    ),
)
