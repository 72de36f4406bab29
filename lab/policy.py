"""A policy that learns from rewards, with and without an entropy bonus. NumPy alone.

Questions have one right answer among twenty, worth 1; to every question one polite answer is worth 0.6. The
policy is a table, with one row that all questions share. Each step asks 32 questions, takes 8 answers to
each, and follows the advantage over the mean of the 8 (as GRPO does).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lab.numpy_training import NumpyTraining, softmax

QUESTIONS, ANSWERS = 64, 20
ASKED, GROUP, STEPS = 32, 8, 1500
RATE, BONUS, POLITE = 8.0, 0.12, 0.6
SEED = 7
TAGS = ("reinforcement learning", "simulated clock")


def _rows(rng: np.random.Generator, bonus: float) -> Iterator[dict[str, float]]:
    codes = np.hstack([np.eye(QUESTIONS), np.ones((QUESTIONS, 1))])  # the last feature is that of them all
    right = rng.integers(1, ANSWERS, QUESTIONS)
    weights = np.zeros((QUESTIONS + 1, ANSWERS))
    for _ in range(STEPS):
        asked = rng.choice(QUESTIONS, ASKED, replace=False)
        shares = softmax(codes[asked] @ weights)
        drawn = (shares.cumsum(1)[:, None] < rng.random((ASKED, GROUP, 1))).sum(2).clip(max=ANSWERS - 1)
        reward = np.where(drawn == right[asked][:, None], 1.0, np.where(drawn == 0, POLITE, 0.0))
        logs = np.log(shares + 1e-12)
        entropy = -(shares * logs).sum(1)
        gain = reward - reward.mean(1, keepdims=True)
        taken = np.eye(ANSWERS)[drawn]
        slope = (gain[..., None] * (taken - shares[:, None])).mean(1)
        slope -= bonus * shares * (logs + entropy[:, None])
        gradient = codes[asked].T @ slope / ASKED
        # In single precision: the last bits, in which processors differ, must not grow from step to step.
        weights = (weights + RATE * gradient).astype(np.float32).astype(np.float64)
        yield {
            "reward/mean": reward.mean(),
            "policy/entropy": entropy.mean(),
            "policy/kl_to_start": np.log(ANSWERS) - entropy.mean(),
            "grad_norm": np.linalg.norm(gradient),
        }


TRAININGS = (
    NumpyTraining(
        "entropy-collapse",
        "A policy that stops looking",
        "no term that keeps the entropy: the policy settles on the answer worth 0.6",
        "Reinforcement learning in small. Right answers are worth 1, a polite one 0.6 whatever the question. "
        "The policy soon gives the polite answer alone: its entropy falls to almost nothing, and with it "
        "every chance to find better. The reward stands still, and looks converged. The clock is simulated.",
        TAGS,
        SEED,
        (QUESTIONS + 1) * ANSWERS,
        partial(_rows, bonus=0.0),
        "Nothing rewards exploration",
    ),
    NumpyTraining(
        "entropy-kept",
        "The same policy, kept curious",
        "none: as entropy-collapse, with a bonus of 0.12 times the entropy",
        "The control of lab-entropy-collapse: the same questions, seed and rate, and a bonus for the "
        "entropy of the answers. It is the worse of the two for hundreds of steps, and then finds the right "
        "answers. The clock is simulated.",
        TAGS,
        SEED,
        (QUESTIONS + 1) * ANSWERS,
        partial(_rows, bonus=BONUS),
    ),
)
