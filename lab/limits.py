"""Two limits, and what happens if one is missing or always reached. NumPy alone.

The length of a gradient: a tanh layer learns a function of 16 numbers by gradient descent. Gradients longer
than the limit are shortened to it; the log holds their length before that, and the share that was shortened.

The step of a policy: an answer is a point, drawn around the policy's mean, and its reward is highest near one
place. The policy follows the advantage over the mean of 64 answers, in units of their spread (as GRPO does).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lab.logs import Log

SEED = 11
CLOCK_START, STEP_S = 1_790_000_000.0, 2.0
INPUTS, HIDDEN, BATCH, NOISE = 16, 32, 64, 0.05
CLIPPED_STEPS, RATE, INTERVAL = 1500, 0.1, 10
LIMITS = {"clip-saturation": 0.02, "clip-seldom": 0.5}
FEATURES, DRAWN, DISTANCE = 8, 64, 2.0
POLICY_STEPS, POLICY_RATE, RISES_FROM, RISE = 1200, 0.05, 800, 1.015
TAGS = ("simulated clock",)
TITLES = {
    "clip-saturation": "A gradient that is clipped at every step",
    "clip-seldom": "The same gradient, seldom clipped",
    "kl-blow-up": "A policy that runs away from its reference",
    "kl-kept": "The same policy at a constant rate",
}
CAUSES = {
    "clip-saturation": "gradients are clipped at a norm of 0.02, a ninth of what is usual",
    "clip-seldom": "none: as clip-saturation, clipped at a norm of 0.5",
    "kl-blow-up": f"the learning rate rises by 1.5 % with each step from step {RISES_FROM} on",
    "kl-kept": "none: as kl-blow-up, at a constant rate",
}
KNOWN = {
    "clip-saturation": "The limit lies below the usual norm",
    "kl-blow-up": "The learning rate is too high",
}
DESCRIPTIONS = {
    "clip-saturation": (
        "A small network trained by plain descent, its gradients clipped at a norm that nearly all of them "
        "exceed. Every step then has the same length, whatever the gradient says: the learning rate has "
        "become another one. The loss falls all the same, and later. The clock is simulated."
    ),
    "clip-seldom": (
        "The control of lab-clip-saturation: the same network, data and seed, clipped at a norm that few "
        "gradients reach. The clock is simulated."
    ),
    "kl-blow-up": (
        "Reinforcement learning in small. The policy finds the rewarded place; then the learning rate grows, "
        "the policy oversteps it by more and more, and its divergence from the start grows without end while "
        "the reward is lost. The clock is simulated."
    ),
    "kl-kept": (
        "The control of lab-kl-blow-up: the same reward and seed at a constant rate. The divergence settles "
        "where the reward is best. The clock is simulated."
    ),
}


def train(name: str, log: Log) -> int:
    """Trains one of the four into a log; returns the number of parameters."""
    rng = np.random.default_rng(SEED)
    rows = _clipped(rng, LIMITS[name]) if name in LIMITS else _policy(rng, name == "kl-blow-up")
    for step, values in enumerate(rows):
        now = {"time": CLOCK_START + STEP_S * (step + 1)}
        log.write(step, {k: float(v) for k, v in values.items()} | now)
    log.close()
    return INPUTS * HIDDEN + HIDDEN if name in LIMITS else FEATURES


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
