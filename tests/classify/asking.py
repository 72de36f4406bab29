"""How the tests of the rules ask: a generated run in, the findings or the names of patterns out."""

from __future__ import annotations

from tests.curves import Run

from chronicle.classify import classify
from chronicle.model import Diagnosis, Finding
from chronicle.timeline import stitch

HEALTHY = {"near-perfect", "noisy-healthy"}

# Trainings of one course that rules have to read alike.
KINDS = {
    "plain": {},
    "noisy": {"noise": 0.05},
    "sparse": {"points": 400, "every": 50},
    "short": {"points": 250},
}


def diagnosis(run: Run) -> Diagnosis:
    return classify(stitch(run.attempts))


def findings(run: Run, pattern: str) -> list[Finding]:
    """Findings of one pattern, in order of their start."""
    return sorted((f for f in diagnosis(run).findings if f.pattern == pattern), key=lambda f: f.start_step)


def patterns(run: Run) -> set[str]:
    """What was named, but for "this run is healthy"."""
    return set(diagnosis(run).patterns) - HEALTHY


def near(run: Run, pattern: str, within_steps: int) -> bool:
    """Whether every label of this pattern has a finding of it that starts within so many steps."""
    starts = [f.start_step for f in findings(run, pattern)]
    labels = [e.start_step for e in run.events if e.pattern == pattern]
    return bool(labels) and all(any(abs(s - label) <= within_steps for s in starts) for label in labels)
