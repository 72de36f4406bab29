"""The fixed list of patterns: id, title, verdict, and the series that must be logged to judge it.

The ids are a contract: `chronicle classify --json` prints them, gallery/<verdict>/<id>.md explains them,
and tests hold the three together. How a pattern is recognised stands in chronicle/classify/.
"""

from __future__ import annotations

from dataclasses import dataclass

from chronicle.model import Role, Verdict

GOOD, WORRYING, BAD, UNEXPECTED = (
    Verdict.GOOD,
    Verdict.WORRYING,
    Verdict.BAD,
    Verdict.UNEXPECTED,
)


@dataclass(frozen=True)
class Pattern:
    """A kind of behaviour. ``needs``: roles that must all be logged; ``needs_attempts``: fewest attempts.

    ``instead``: a role, or "times", that serves where what is needed was not logged.
    """

    id: str
    title: str
    verdict: Verdict
    needs: tuple[Role, ...] = (Role.LOSS,)
    needs_attempts: int = 1
    instead: str = ""


PATTERNS: tuple[Pattern, ...] = (
    Pattern("near-perfect", "Near-perfect run", GOOD),
    Pattern("noisy-healthy", "Noisy but healthy", GOOD),
    Pattern("spike-fast-recovery", "Fast-recovering spike", GOOD),
    Pattern("lr-decay-drop", "Learning-rate-decay drop", GOOD, (Role.LOSS, Role.LEARNING_RATE)),
    Pattern("batch-ramp", "Batch ramp", GOOD, (Role.LOSS, Role.BATCH_SIZE)),
    Pattern("spike-slow-recovery", "Slow-recovering spike", WORRYING),
    Pattern("multi-dataset-spike", "Spikes by data set", WORRYING, (Role.DATASET_LOSS,)),
    Pattern("resume-spike", "Resume spike", WORRYING, needs_attempts=2),
    Pattern("resume-ratio-skew", "Ratio skew on resume", WORRYING, (Role.LOSS, Role.RATIO)),
    Pattern("lr-not-restored", "Learning rate not restored", WORRYING, (Role.LEARNING_RATE,), 2),
    Pattern("level-shift", "Level shift", WORRYING),
    Pattern("grad-norm-precursor", "Gradient norm leads", WORRYING, (Role.LOSS, Role.GRAD_NORM)),
    Pattern("rising-spike-rate", "Rising spike rate", WORRYING),
    Pattern("attention-logit-growth", "Attention-logit growth", WORRYING, (Role.ATTENTION_LOGIT,)),
    Pattern("output-logit-drift", "Output-logit drift", WORRYING, (Role.OUTPUT_LOGIT,)),
    Pattern("plateau", "Plateau", WORRYING),
    Pattern("overfitting", "Overfitting", WORRYING, (Role.LOSS, Role.VALIDATION_LOSS)),
    Pattern("throughput-drop", "Throughput drop", WORRYING, (Role.THROUGHPUT,), instead=Role.STEP_TIME),
    Pattern("hang", "Hang", WORRYING, (Role.STEP_TIME,), instead="times"),
    Pattern("spike-no-full-recovery", "Spike, not fully recovered", BAD),
    Pattern("divergence-after-spike", "Divergence after a spike", BAD),
    Pattern("divergence-no-spike", "Divergence without a spike", BAD),
    Pattern("failed-run", "Failed run", BAD),
    Pattern("nan-inf", "NaN or Inf", BAD),
    Pattern("loss-scale-collapse", "Loss-scale collapse", BAD, (Role.LOSS_SCALE,)),
    Pattern("frozen-metric", "Frozen metric", BAD),
    Pattern("grokking", "Sudden improvement (grokking)", UNEXPECTED),
    Pattern("repeat-data", "Repeated data after a resume", UNEXPECTED, needs_attempts=2),
    Pattern("reinitialised", "Re-initialised", UNEXPECTED),
    Pattern("quantised-loss", "Quantised loss", UNEXPECTED),
)

BY_ID = {p.id: p for p in PATTERNS}
