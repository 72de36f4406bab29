"""The fixed list of patterns, one row each with all that is known of a pattern beside its rule.

The ids are a contract: `chronicle classify --json` prints them and gallery/<verdict>/<id>.md explains them.
How a pattern is recognised stands in rules/, how often its findings are right in thresholds.py.
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
    """A kind of behaviour. ``needs``: roles that must all be logged; ``needs_attempts``: fewest attempts;
    ``instead``: a role, or "times", that serves where what is needed was not logged. ``says`` is its sentence
    and ``short`` the same for a card: ``{key:form}`` is a number of the finding's evidence in words,
    ``[this|else this]`` the first of these whose numbers it has (forms: `chronicle.story.sentences`). Without
    them its title is told, or what the method of its name there says. ``noun``: the pattern in a sentence."""

    id: str
    title: str
    verdict: Verdict
    needs: tuple[Role, ...] = (Role.LOSS,)
    needs_attempts: int = 1
    instead: str = ""
    traits: Trait = Trait(0)
    says: str = ""
    short: str = ""
    noun: str = ""


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
    Pattern("lr-decay-drop", "Learning-rate-decay drop", GOOD, (LOSS, LR), traits=ACROSS | LEARNS,
            says="{what} fell {drop_log:fallen} below its course when the learning rate began to decay at "
                 "{start}",
            short="{drop_log:fallen} lower from {start}"),
    Pattern("batch-ramp", "Batch ramp", GOOD, (LOSS, Role.BATCH_SIZE), traits=ACROSS),
    Pattern("spike-slow-recovery", "Slow-recovering spike", WORRYING, traits=SPIKE),
    Pattern("multi-dataset-spike", "Spikes by data set", WORRYING, (Role.DATASET_LOSS,),
            traits=ALARM | ACROSS, noun="data-set spike"),
    Pattern("resume-spike", "Resume spike", WORRYING, needs_attempts=2, traits=ALARM | ACROSS),
    Pattern("resume-ratio-skew", "Ratio skew on resume", WORRYING, (LOSS, RATIO), traits=ALARM | ACROSS,
            noun="ratio skew"),
    Pattern("lr-not-restored", "Learning rate not restored", WORRYING, (LR,), 2, traits=ACROSS,
            noun="wrong learning rate"),
    Pattern("level-shift", "Level shift", WORRYING, traits=SHIFTS),
    Pattern("grad-norm-precursor", "Gradient norm leads", WORRYING, (LOSS, GRAD_NORM),
            noun="gradient-norm rise",
            says="the gradient norm began to rise at {start}, {lead_steps:span} before the loss, and reached "
                 "{rise_factor:times} its level {at_peak}",
            short="gradient norm {lead_steps:span} ahead of the loss at {start}"),
    Pattern("rising-spike-rate", "Rising spike rate", WORRYING, traits=ACROSS),
    Pattern("attention-logit-growth", "Attention-logit growth", WORRYING, (Role.ATTENTION_LOGIT,),
            says="the largest attention logit grew from {start} on[, doubling about every "
                 "{doubling_steps:span}], and stood at {last_logit:plainly} at the end, "
                 "{growth_factor:times} its level halfway through the log"
                 "[; its highest was {highest_logit:plainly}]",
            short="attention logit at {last_logit:plainly} at the end, growing from {start}"),
    Pattern("output-logit-drift", "Output-logit drift", WORRYING, (Role.OUTPUT_LOGIT,),
            says="the mean log Z of the output left its level at {start} and moved from "
                 "{level_before:plainly} to {level_now:plainly}",
            short="log Z {level_before:plainly} → {level_now:plainly} from {start}"),
    Pattern("entropy-collapse", "Entropy collapse", WORRYING, (Role.POLICY_ENTROPY, Role.OBJECTIVE),
            traits=ACROSS | LEARNS,
            says="the entropy of the policy fell below {gone_share:share} of that at the start near {start} "
                 "and to {entropy_left_share:share} at the end, and the objective settled at "
                 "{objective_level:plainly}, where {best_level:plainly} would be the best",
            short="{entropy_left_share:share} of the entropy left at the end, objective at "
                  "{objective_level:plainly}"),
    Pattern("length-explosion", "Length explosion", WORRYING, (Role.ANSWER_LENGTH, Role.OBJECTIVE),
            traits=ACROSS | LEARNS,
            says="the answers grew from a mean length of {length_before:plainly} to {length_now:plainly} "
                 "from {start} on, and the objective gained nothing by it: it stood at "
                 "{objective_level:plainly}",
            short="length {length_before:plainly} → {length_now:plainly} from {start}"),
    Pattern("reward-hacking", "Reward hacking", WORRYING, (Role.OBJECTIVE, Role.VALIDATION_SCORE),
            instead=Role.SCORE, traits=ACROSS | LEARNS,
            says="{what} fell from {best_score:plainly} to {last_score:plainly} after {start}, while the "
                 "objective rose from {objective_then:plainly} to {objective_now:plainly}",
            short="{best_score:plainly} → {last_score:plainly} from {start}, as the objective rose"),
    Pattern("router-collapse", "Router collapse", WORRYING, (Role.EXPERT_LOAD,), traits=ACROSS | LEARNS,
            says="the router sent {busiest_times:times} the mean load to its busiest expert from {start} "
                 "on[, and {idle_share:share} of the experts got almost nothing]",
            short="busiest expert at {busiest_times:times} the mean from {start}"),
    Pattern("plateau", "Plateau", WORRYING, traits=ACROSS | LEARNS),
    Pattern("overfitting", "Overfitting", WORRYING, (LOSS, Role.VALIDATION_LOSS),
            instead=Role.VALIDATION_SCORE, traits=ACROSS | LEARNS),
    Pattern("throughput-drop", "Throughput drop", WORRYING, (Role.THROUGHPUT,), instead=Role.STEP_TIME,
            traits=ACROSS,
            says="the training became {slower_share:hundredths} slower at {start} and stayed so for "
                 "{slow_steps:span}[, which cost the time of about {lost_steps:rough_span}]",
            short="{slower_share:hundredths} slower from {start}"),
    Pattern("hang", "Hang", WORRYING, (Role.STEP_TIME,), instead="times", traits=ACROSS | LEARNS,
            says="nothing was logged for [{gap_s:duration}|{gap_times_median:times} the usual time of a "
                 "step] after {start}",
            short="[{gap_s:duration}|{gap_times_median:times} the usual time of a step] without a step "
                  "after {start}"),
    Pattern("spike-no-full-recovery", "Spike, not fully recovered", BAD, traits=SPIKE, noun="spike"),
    Pattern("divergence-after-spike", "Divergence after a spike", BAD, traits=DIVERGES, noun="divergence"),
    Pattern("divergence-no-spike", "Divergence without a spike", BAD, traits=DIVERGES, noun="divergence"),
    Pattern("kl-blow-up", "KL blow-up", BAD, (Role.POLICY_KL, Role.OBJECTIVE),
            traits=ALARM | ACROSS | UNDOABLE,
            says="{what} was at its best level, {best_level:plainly}, near {start} and fell to "
                 "{last_level:plainly} at the end, while the divergence from the reference grew from "
                 "{divergence_before:plainly} to {divergence_now:plainly}",
            short="{best_level:plainly} → {last_level:plainly} after {start}, as the divergence grew"),
    Pattern("failed-run", "Failed run", BAD, traits=Trait.WHOLE_RUN | ACROSS, noun="failed training"),
    Pattern("nan-inf", "NaN or Inf", BAD, traits=ALARM | ACROSS | UNDOABLE, noun="NaN stretch"),
    Pattern("loss-scale-collapse", "Loss-scale collapse", BAD, (Role.LOSS_SCALE,),
            traits=Trait.COUNTED | ACROSS | UNDOABLE,
            says="the loss scale was [halved {halved:times} {climb}, from {scale_before:stated} to "
                 "{lowest_scale:stated}|{lowest_scale:stated} from {start} on]",
            short="loss scale [{scale_before:stated} → ]{lowest_scale:stated} {climb}"),
    Pattern("frozen-metric", "Frozen metric", BAD, traits=Trait.COUNTED | ACROSS,
            says="{what} was logged as {value_loss:stated}, the same to the last bit, {course} "
                 "({equal_samples:values})",
            short="the same value from {start}"),
    Pattern("grokking", "Sudden improvement (grokking)", UNEXPECTED, traits=ODD, noun="sudden improvement"),
    Pattern("repeat-data", "Repeated data after a resume", UNEXPECTED, needs_attempts=2, traits=REPEATS,
            noun="data repetition",
            says="[after the restart at {low_start_step:place} the run was fed {replayed_steps:span} of "
                 "data that it had seen before: ]{what} [was {low_log:fallen} too low, and ]jumped by "
                 "{jump_log:percent} at {start}, where new data began",
            short="{jump_log:percent} up where new data began, at {start}"),
    Pattern("reinitialised", "Re-initialised", UNEXPECTED, traits=ODD, noun="re-initialisation"),
    Pattern("clip-saturation", "Clipping at every step", UNEXPECTED, (Role.CLIPPED_SHARE,),
            instead=Role.GRAD_NORM, traits=Trait.PROPERTY,
            says="the gradient was clipped at {clipped_share:share} of the steps from {start} on[; its norm "
                 "was {usual_norm:plainly} in the median]",
            short="{clipped_share:share} of the steps clipped"),
    Pattern("quantised-loss", "Quantised loss", UNEXPECTED, traits=Trait.PROPERTY,
            says="{what} was logged in multiples of {grid_loss:stated}: {distinct_values:count} different "
                 "values in all",
            short="logged in multiples of {grid_loss:stated}"),
)
# fmt: on

BY_ID = {p.id: p for p in PATTERNS}


def having(traits: Trait) -> frozenset[str]:
    """The ids of all patterns with any of these traits."""
    return frozenset(p.id for p in PATTERNS if p.traits & traits)


DIVERGENCES, ODD_ONES = having(Trait.DIVERGES), having(Trait.ODD)
