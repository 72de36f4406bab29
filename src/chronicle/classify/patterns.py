"""The fixed list of patterns, one row each with all that is known of a pattern beside its rule.

The ids are a contract: `chronicle classify --json` prints them, gallery/<verdict>/<id>.md explains them,
and tests hold the three together. How a pattern is recognised stands in chronicle/classify/rules/, how often
its findings are right in chronicle/classify/thresholds.py, which a benchmark writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto

from chronicle.model import Role, Verdict

GOOD, WORRYING, BAD, UNEXPECTED = Verdict.GOOD, Verdict.WORRYING, Verdict.BAD, Verdict.UNEXPECTED


class Trait(Flag):
    """What is true of a pattern beside its verdict."""

    SPIKE = auto()  # the loss rises and comes down again, not always all the way
    DIVERGES = auto()  # the loss rises and does not come down
    WHOLE_RUN = auto()  # speaks of the run, not of an event in it
    CALM = auto()  # a run in which nothing happened
    PROPERTY = auto()  # of the log, not of the run: it leaves a good run good
    ODD = auto()  # the event that explains what else is seen
    ALARM = auto()  # somebody would be called for it
    COUNTED = auto()  # no alarm, but a false positive all the same where no label knows it
    ACROSS = auto()  # speaks of several series or of the run: with the right type, any series matches a label
    STEP = auto()  # shows in the loss as a step: what follows it is judged on its own
    LEARNS = auto()  # the loss is healthy through it: it hides no false alarm
    UNDOABLE = auto()  # a state of the weights, which a rollback is meant to undo


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
    traits: Trait = Trait(0)


ALARM, ACROSS, LEARNS, UNDOABLE = Trait.ALARM, Trait.ACROSS, Trait.LEARNS, Trait.UNDOABLE
LOSS, LR, RATIO, GRAD_NORM = Role.LOSS, Role.LEARNING_RATE, Role.RATIO, Role.GRAD_NORM
SPIKE = Trait.SPIKE | ALARM | UNDOABLE
DIVERGES = Trait.DIVERGES | ALARM | UNDOABLE
NOTHING = Trait.WHOLE_RUN | Trait.CALM
ODD = Trait.ODD | Trait.COUNTED | ACROSS
REPEATS = Trait.ODD | ALARM | ACROSS | Trait.STEP | Trait.WHOLE_RUN | UNDOABLE
SHIFTS = ALARM | Trait.STEP | UNDOABLE

# fmt: off
PATTERNS: tuple[Pattern, ...] = (
    Pattern("near-perfect", "Near-perfect run", GOOD, traits=NOTHING),
    Pattern("noisy-healthy", "Noisy but healthy", GOOD, traits=NOTHING),
    Pattern("spike-fast-recovery", "Fast-recovering spike", GOOD, traits=SPIKE),
    Pattern("lr-decay-drop", "Learning-rate-decay drop", GOOD, (LOSS, LR), traits=ACROSS | LEARNS),
    Pattern("batch-ramp", "Batch ramp", GOOD, (LOSS, Role.BATCH_SIZE), traits=ACROSS),
    Pattern("spike-slow-recovery", "Slow-recovering spike", WORRYING, traits=SPIKE),
    Pattern("multi-dataset-spike", "Spikes by data set", WORRYING, (Role.DATASET_LOSS,),
            traits=ALARM | ACROSS),
    Pattern("resume-spike", "Resume spike", WORRYING, needs_attempts=2, traits=ALARM | ACROSS),
    Pattern("resume-ratio-skew", "Ratio skew on resume", WORRYING, (LOSS, RATIO), traits=ALARM | ACROSS),
    Pattern("lr-not-restored", "Learning rate not restored", WORRYING, (LR,), 2, traits=ACROSS),
    Pattern("level-shift", "Level shift", WORRYING, traits=SHIFTS),
    Pattern("grad-norm-precursor", "Gradient norm leads", WORRYING, (LOSS, GRAD_NORM)),
    Pattern("rising-spike-rate", "Rising spike rate", WORRYING, traits=ACROSS),
    Pattern("attention-logit-growth", "Attention-logit growth", WORRYING, (Role.ATTENTION_LOGIT,)),
    Pattern("output-logit-drift", "Output-logit drift", WORRYING, (Role.OUTPUT_LOGIT,)),
    Pattern("entropy-collapse", "Entropy collapse", WORRYING, (Role.POLICY_ENTROPY, Role.OBJECTIVE),
            traits=ACROSS | LEARNS),
    Pattern("length-explosion", "Length explosion", WORRYING, (Role.ANSWER_LENGTH, Role.OBJECTIVE),
            traits=ACROSS | LEARNS),
    Pattern("reward-hacking", "Reward hacking", WORRYING, (Role.OBJECTIVE, Role.VALIDATION_SCORE),
            instead=Role.SCORE, traits=ACROSS | LEARNS),
    Pattern("router-collapse", "Router collapse", WORRYING, (Role.EXPERT_LOAD,), traits=ACROSS | LEARNS),
    Pattern("plateau", "Plateau", WORRYING, traits=ACROSS | LEARNS),
    Pattern("overfitting", "Overfitting", WORRYING, (LOSS, Role.VALIDATION_LOSS),
            instead=Role.VALIDATION_SCORE, traits=ACROSS | LEARNS),
    Pattern("throughput-drop", "Throughput drop", WORRYING, (Role.THROUGHPUT,), instead=Role.STEP_TIME,
            traits=ACROSS),
    Pattern("hang", "Hang", WORRYING, (Role.STEP_TIME,), instead="times", traits=ACROSS | LEARNS),
    Pattern("spike-no-full-recovery", "Spike, not fully recovered", BAD, traits=SPIKE),
    Pattern("divergence-after-spike", "Divergence after a spike", BAD, traits=DIVERGES),
    Pattern("divergence-no-spike", "Divergence without a spike", BAD, traits=DIVERGES),
    Pattern("kl-blow-up", "KL blow-up", BAD, (Role.POLICY_KL, Role.OBJECTIVE),
            traits=ALARM | ACROSS | UNDOABLE),
    Pattern("failed-run", "Failed run", BAD, traits=Trait.WHOLE_RUN | ACROSS),
    Pattern("nan-inf", "NaN or Inf", BAD, traits=ALARM | ACROSS | UNDOABLE),
    Pattern("loss-scale-collapse", "Loss-scale collapse", BAD, (Role.LOSS_SCALE,),
            traits=Trait.COUNTED | ACROSS | UNDOABLE),
    Pattern("frozen-metric", "Frozen metric", BAD, traits=Trait.COUNTED | ACROSS),
    Pattern("grokking", "Sudden improvement (grokking)", UNEXPECTED, traits=ODD),
    Pattern("repeat-data", "Repeated data after a resume", UNEXPECTED, needs_attempts=2, traits=REPEATS),
    Pattern("reinitialised", "Re-initialised", UNEXPECTED, traits=ODD),
    Pattern("clip-saturation", "Clipping at every step", UNEXPECTED, (Role.CLIPPED_SHARE,),
            instead=Role.GRAD_NORM, traits=Trait.PROPERTY),
    Pattern("quantised-loss", "Quantised loss", UNEXPECTED, traits=Trait.PROPERTY),
)
# fmt: on

BY_ID = {p.id: p for p in PATTERNS}


def having(traits: Trait) -> frozenset[str]:
    """The ids of all patterns with any of these traits."""
    return frozenset(p.id for p in PATTERNS if p.traits & traits)
