"""A policy that learns from rewards, with and without an entropy bonus. NumPy alone.

Questions have one right answer among twenty, worth 1; to every question one polite answer is worth 0.6. The
policy is a table, with one row that all questions share. Each step asks 32 questions, takes 8 answers to
each, and follows the advantage over the mean of the 8 (as GRPO does).
"""

from __future__ import annotations

import numpy as np

from lab.logs import Log

QUESTIONS, ANSWERS = 64, 20
ASKED, GROUP, STEPS = 32, 8, 1500
RATE, BONUS, POLITE = 8.0, 0.12, 0.6
SEED = 7
CLOCK_START, STEP_S = 1_790_000_000.0, 2.0
TAGS = ("reinforcement learning", "simulated clock")
TITLES = {
    "entropy-collapse": "A policy that stops looking",
    "entropy-kept": "The same policy, kept curious",
}
CAUSES = {
    "entropy-collapse": "no term that keeps the entropy: the policy settles on the answer worth 0.6",
    "entropy-kept": "none: as entropy-collapse, with a bonus of 0.12 times the entropy",
}
KNOWN = {"entropy-collapse": "Nothing rewards exploration"}
DESCRIPTIONS = {
    "entropy-collapse": (
        "Reinforcement learning in small. Right answers are worth 1, a polite one 0.6 whatever the question. "
        "The policy soon gives the polite answer alone: its entropy falls to almost nothing, and with it "
        "every chance to find better. The reward stands still, and looks converged. The clock is simulated."
    ),
    "entropy-kept": (
        "The control of lab-entropy-collapse: the same questions, seed and rate, and a bonus for the "
        "entropy of the answers. It is the worse of the two for hundreds of steps, and then finds the right "
        "answers. The clock is simulated."
    ),
}


def train(name: str, log: Log) -> int:
    """Trains one of the two into a log; returns the number of parameters."""
    rng = np.random.default_rng(SEED)
    codes = np.hstack([np.eye(QUESTIONS), np.ones((QUESTIONS, 1))])  # the last feature is that of them all
    right = rng.integers(1, ANSWERS, QUESTIONS)
    weights = np.zeros((QUESTIONS + 1, ANSWERS))
    bonus = BONUS if name == "entropy-kept" else 0.0
    for step in range(STEPS):
        asked = rng.choice(QUESTIONS, ASKED, replace=False)
        shares = _softmax(codes[asked] @ weights)
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
        values = {
            "reward/mean": reward.mean(),
            "policy/entropy": entropy.mean(),
            "policy/kl_to_start": np.log(ANSWERS) - entropy.mean(),
            "grad_norm": np.linalg.norm(gradient),
            "time": CLOCK_START + STEP_S * (step + 1),
        }
        log.write(step, {k: float(v) for k, v in values.items()})
    log.close()
    return weights.size


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    shares: np.ndarray = powers / powers.sum(1, keepdims=True)
    return shares
