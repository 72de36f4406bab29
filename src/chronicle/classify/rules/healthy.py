"""Healthy runs: a finding of their own, with the evidence that makes them so.

Sees: runs in which nothing worrying was found on the live course.
Rule: at least 16 points of a loss, and no live finding but fast spikes (at most one in 10,000 steps), drops
that the schedule explains, and properties of the log; one-sample noise above 5 % is noisy-healthy, else
near-perfect.
Blind to: a model that is worse than its loss: evaluations are needed (see not_assessed).
False alarm: a bad run is called good: so every doubt of another rule comes first.
Source: BLOOM-176B and Llama 3 logs (near-perfect); RL and small-batch logs (noisy).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from chronicle.classify.report import criterion, found
from chronicle.classify.view import View
from chronicle.model import Finding

PERFECT, NOISY = "near-perfect", "noisy-healthy"
PATTERNS = (PERFECT, NOISY)
FEWEST = 16


def judge(view: View, live: Sequence[Finding]) -> Iterator[Finding]:
    """One finding for a run without live trouble; ``live`` are the findings on the run's course."""
    judged = [(a, a.loss) for a in view.attempts if a.loss is not None and a.live_until is not None]
    points = sum(len(loss) for _, loss in judged)
    if points < FEWEST:
        return
    attempt, loss = max(judged, key=lambda pair: len(pair[1]))
    noise, spikes = float(np.median([view.noise(s) for _, s in judged])), len(live)
    limit = view.thresholds.noisy
    pattern = NOISY if noise > limit else PERFECT
    start, end = min(int(s.steps.min()) for _, s in judged), max(int(s.steps.max()) for _, s in judged)
    yield found(
        pattern,
        attempt if len(judged) == 1 else None,
        loss,
        (start, None, end),
        severity=0.0,
        confidence=0.5 + 0.5 * min(1.0, points / 1000),
        evidence={"noise_log": noise, "points_samples": points, "harmless_findings": spikes},
        criteria=[
            criterion("live findings that worry", 0, "findings", "0", True),
            criterion("one-sample noise", noise, "log units", f"> {limit} is noisy", noise > limit),
            criterion("points of the loss", points, "samples", f">= {FEWEST}", True),
        ],
        runner_up=(
            PERFECT if pattern is NOISY else NOISY,
            f"the noise were {'below' if noise > limit else 'above'} {limit}",
        ),
    )
