"""A mixture of experts with and without an auxiliary loss that balances its router. NumPy alone.

Points of sixteen clusters have ten classes, each cluster its own. Eight linear experts share them; the router
sends each point to the one expert it likes best, whose answer counts by the router's confidence (Switch).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lab.numpy_training import NumpyTraining, softmax

EXPERTS, CLUSTERS, FEATURES, CLASSES = 8, 16, 16, 10
BATCH, STEPS = 256, 1500
RATE, ROUTER_RATE = 0.4, 1.0
ALIKE, SPREAD = 0.4, 0.5  # what all points have in common, and how far those of a cluster are apart
BALANCE = 0.6  # weight of the auxiliary loss
SEED = 3
TAGS = ("mixture of experts", "simulated clock")


def _rows(rng: np.random.Generator, balance: float) -> Iterator[dict[str, float]]:
    centres = rng.normal(size=(CLUSTERS, FEATURES)) + ALIKE
    labels = rng.integers(0, CLASSES, size=(CLUSTERS, 4))  # by the side of two planes
    experts = 0.05 * rng.normal(size=(EXPERTS, FEATURES + 1, CLASSES))
    router = 0.02 * rng.normal(size=(FEATURES, EXPERTS))
    planes = rng.normal(size=(2, FEATURES))
    every = np.arange(BATCH)
    for _ in range(STEPS):
        cluster = rng.integers(0, CLUSTERS, BATCH)
        points = centres[cluster] + SPREAD * rng.normal(size=(BATCH, FEATURES))
        label = labels[cluster, (points @ planes.T > 0) @ np.array([1, 2])]
        shares = softmax(points @ router)
        chosen = shares.argmax(1)
        gate, inputs = shares[every, chosen], np.hstack([points, np.ones((BATCH, 1))])
        answers = np.einsum("nd,ndk->nk", inputs, experts[chosen])
        error = softmax(gate[:, None] * answers)
        loss = -np.log(error[every, label]).mean()
        error[every, label] -= 1
        by_expert = chosen == np.arange(EXPERTS)[:, None]
        load = by_expert.mean(1)
        slope = balance * EXPERTS * load * shares
        slope[every, chosen] += (error * answers).sum(1) * gate
        slope -= shares * slope.sum(1, keepdims=True)
        for expert, mine in zip(experts, by_expert, strict=True):
            expert -= RATE * inputs[mine].T @ (error[mine] * gate[mine, None]) / BATCH
        router -= ROUTER_RATE * points.T @ slope / BATCH
        values = {"loss": loss, "moe/load_imbalance": load.max() * EXPERTS}
        yield values | {f"moe/expert_{k}/load": share for k, share in enumerate(load)}


TRAININGS = (
    NumpyTraining(
        "router-collapse",
        "A router that uses two of eight experts",
        "no term that keeps the loads of the experts alike",
        "A mixture of experts in small. The expert that is a little better at the start gets more points, "
        "learns from more of them, and is better still: after a few dozen steps two of eight experts "
        "do all the work. The loss falls as losses do. The clock is simulated.",
        TAGS,
        SEED,
        EXPERTS * (FEATURES + 1) * CLASSES + FEATURES * EXPERTS,
        partial(_rows, balance=0.0),
        "Nothing balances the loads",
    ),
    NumpyTraining(
        "router-balanced",
        "The same router, kept fair",
        "none: as router-collapse, with an auxiliary loss of weight 0.6",
        "The control of lab-router-collapse: the same points, seed and rates, and an auxiliary loss that "
        "rises with the load of the busiest. All eight experts are used. The clock is simulated.",
        TAGS,
        SEED,
        EXPERTS * (FEATURES + 1) * CLASSES + FEATURES * EXPERTS,
        partial(_rows, balance=BALANCE),
    ),
)
