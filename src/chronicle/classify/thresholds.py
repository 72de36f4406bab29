"""Every number that a rule or the kernel compares with, in one table: unit, default, reason.

All are in noise scales (of log loss), samples, steps, or log units; none depends on the unit of a loss. The
first were measured, by `python -m benchmarks.classifier.calibrate --write` (docs/classifier-confidence.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

# False alarms per 100,000 healthy points are ALARM_RATE * caution ** -ALARM_POWER (thresholds.Thresholds.at).
ALARM_RATE = 2.13
ALARM_POWER = 1.81

# By pattern: (confidence that the rule gave, share of such findings that were right), rising in both.
CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {
    "divergence-after-spike": ((0.620, 0.869), (0.820, 0.898), (0.943, 0.958)),
    "divergence-no-spike": ((0.500, 0.974), (0.770, 0.983), (0.817, 0.987)),
    "failed-run": ((0.900, 0.984),),
    "grad-norm-precursor": ((0.970, 0.993),),
    "grokking": ((0.700, 0.994),),
    "level-shift": (
        (0.630, 0.580),
        (0.714, 0.765),
        (0.747, 0.790),
        (0.771, 0.825),
        (0.834, 0.905),
        (0.926, 0.950),
        (0.969, 0.975),
    ),
    "lr-decay-drop": ((0.900, 0.984),),
    "multi-dataset-spike": ((0.700, 0.986),),
    "nan-inf": ((0.900, 0.998),),
    "plateau": ((0.700, 0.314), (0.712, 0.944)),
    "repeat-data": ((0.700, 0.992),),
    "resume-ratio-skew": ((0.700, 0.985),),
    "resume-spike": ((0.480, 0.550), (0.999, 0.981)),
    "spike-fast-recovery": ((0.610, 0.856), (0.766, 0.857), (0.814, 0.957), (0.885, 0.998)),
    "spike-no-full-recovery": ((0.660, 0.757), (0.812, 0.885), (0.928, 0.989)),
    "spike-slow-recovery": ((0.640, 0.553), (0.779, 0.595), (0.820, 0.727), (0.930, 0.894)),
}

LIMITS = ("cusum", "rise", "lone_sparse", "lone_dense")
TAILS = ("tail", "end_tail", "calm_tail")
LEAST_RATE, MOST_RATE = 0.1, 30.0  # false alarms per 100,000 points that `Thresholds.at` was measured for


def limit(default: float, unit: str, why: str) -> Any:
    """A threshold: its default, its unit, and the reason for (or source of) the default."""
    return field(default=default, metadata={"unit": unit, "why": why})


@dataclass(frozen=True)
class Thresholds:
    """Thresholds of the classifier. Change some with `dataclasses.replace(DEFAULTS, rise=0.05)`."""

    # fmt: off
    # ---- evidence
    known_t: float = limit(4.5, "standard errors", "a step where one is expected: 1 in 300,000 by chance")
    other_t: float = limit(4.0, "standard errors", "whether another series moved too (z >= 4 in the field)")
    single_t: float = limit(3.0, "standard errors", "for a single test: 1 in 700 by chance")
    moved: float = limit(0.015, "log units", "a smaller change of the loss does not count: 0.03 nats at 2")
    midway: float = limit(0.5, "share of the height", "a value nearer to one of two levels counts as at it")
    settling: float = limit(0.05, "share of the log", "its first steps, before the loss has a level")
    same_time: float = limit(8.0, "samples", "onsets of one event differ by the kernel's error")
    same_share: float = limit(0.2, "share of the longer event", "slow events start less sharply")
    # ---- joins of attempts, and what a resume lost
    join_t: float = limit(5.0, "standard errors", "a few windows are tried at each join")
    joint_t: float = limit(3.0, "standard errors", "of joins that reach join_t together, or at a raised rate")
    join_gap: float = limit(12.0, "samples", "a longer gap means the attempt was not resumed")
    horizon: float = limit(0.5, "log steps", "over so many, and as far beyond, a loss is a straight line")
    first_level: float = limit(0.15, "share of what was learned", "as near to the first level is back at it")
    # ---- what was planned: learning rate, batch size
    lr_differs: float = limit(0.05, "share", "a schedule moves less than this between two logged points")
    lr_falls: float = limit(1.3, "factor", "schedules change the rate by less at any step")
    lr_low: float = limit(0.1, "share of the highest rate", "where a cosine ends: little is learned below it")
    lr_decayed: float = limit(0.333, "share of the highest rate", "a decay that ends higher is a phase")
    idle: float = limit(0.01, "share of the highest rate", "a cosine is below it for its last 6 % only")
    batch_grows: float = limit(1.5, "factor", "batches of packed text differ by less")
    batch_root: float = limit(0.333, "share, in log units", "of what the root of the batch predicts of noise")
    # ---- data sets and their mixture
    ratio_off: float = limit(0.05, "share", "of a ratio from its level at a join; a steady one wanders less")
    # ---- what comes before spikes
    lead_most: float = limit(64.0, "samples", "published leads are 1 to 40 steps; later ones may be chance")
    lead_chance: float = limit(0.1, "probability", "that a rise of the gradient norm falls there by chance")
    onset_noise: float = limit(3.0, "noise scales", "above its line: there a rise has begun")
    rate_p: float = limit(0.025, "probability", "that a constant spike rate shows such a trend")
    rate_events: float = limit(6.0, "spikes", "fewer have no trend that a test could see")
    rate_factor: float = limit(2.0, "times", "more frequent or taller; less is no trend to act on")
    # ---- numbers inside the network, and how they are logged
    halvings: float = limit(4.0, "halvings, net", "of the loss scale; one per 1,000 is normal")
    halvings_within: float = limit(50.0, "samples", "a collapse halves it at every step or two")
    logit_high: float = limit(100.0, "logit", "where attention logits are clipped by those who clip them")
    logit_growth: float = limit(1.5, "factor over the second half", "a constant level is not growth")
    logit_fast: float = limit(4.0, "factor over the second half", "it doubles in every quarter of the log")
    drift: float = limit(5.0, "nats of log Z", "a factor of 150 in the normaliser of the output softmax")
    drift_share: float = limit(0.5, "share of the level", "of log Z: large levels wander more")
    drift_noise: float = limit(6.0, "noise scales", "of log Z: a noisy level wanders more")
    drift_late: float = limit(0.2, "share of the drift", "in the second half: what settled early is no drift")
    grid: float = limit(0.001, "share of the loss", "finer steps are narrower than any noise, and harmless")
    # ---- steps and turns that averaging shows
    step_t: float = limit(6.5, "standard errors", "of a step at an unknown place, sought on four scales")
    step_noise: float = limit(0.7, "noise scales", "the least that averages show; less is data order")
    step_least: float = limit(0.005, "log units", "0.01 nats at 2: a smaller step has no practical use")
    turn_rise: float = limit(0.01, "log units", "of the last blocks over the lowest: 0.02 nats at 2")
    turn_clear: float = limit(0.03, "log units", "such a turn needs turn_t alone; a smaller one many blocks")
    turn_t: float = limit(6.0, "standard errors", "of the last block over the lowest, on all scales")
    turn_joint_t: float = limit(4.0, "standard errors", "of six blocks and more since the turn, together")
    turn_usual: float = limit(1.5, "times", "the largest rise from which the loss had come back")
    # ---- the course of learning
    lasting: float = limit(0.25, "share of the log", "of loss or learning rate; less is temporary")
    overfit_late: float = limit(0.1, "share of the log", "a minimum in its last tenth is the end of learning")
    overfit_few: float = limit(0.15, "log units", "of a few evaluations, each worse than the one before")
    lag: float = limit(5.0, "times the steps that training took", "delay of generalisation (Power et al.)")
    sudden: float = limit(0.03, "share of the steps so far", "learning that takes longer is no surprise")
    sudden_gain: float = limit(5.0, "times the gain before", "in as many steps; what was steep stays steep")
    # ---- speed
    slower: float = limit(0.03, "share", "3 %: the alarm band of published logs")
    slow_steps: float = limit(50.0, "steps", "a shorter one is a pause")
    slow_samples: float = limit(8.0, "samples", "a median of fewer may be chance")
    hang_times: float = limit(20.0, "times the median", "an evaluation takes less")
    hang_s: float = limit(300.0, "seconds", "shorter is a pause, however long the steps")
    hang_short: float = limit(10.0, "seconds", "a hang of a short run: longer than all its rest")
    hang_unknown: float = limit(100.0, "times the median", "where the unit of the step time is not declared")
    # ---- the kernel: what opens and closes an event
    cusum: float = limit(15.0, "noise scales, summed", "three clipped samples stay below, so no pair opens")
    allowance: float = limit(1.0, "noise scales", "half of the smallest shift that a level should see itself")
    clip: float = limit(6.0, "noise scales", "one sample counts at most this much: outliers are no evidence")
    tail: float = limit(1e-7, "probability a sample", "two of three samples beyond it: 1 in ten million")
    rise: float = limit(0.025, "log units", "0.05 nats at a loss of 2: less has no practical use")
    memory: float = limit(16.0, "samples of a level", "four blocks of the next coarser level")
    trend_memory: float = limit(8.0, "samples of a level", "half the memory: noise is measured against it")
    swallow: float = limit(2.5, "noise scales", "a reference needs more than 16 samples to follow a step")
    active: float = limit(16.0, "samples", "as long as the memory: then the event is pending")
    back: float = limit(0.15, "share of the height", "a small event is over when no more than this is left")
    back_cap: float = limit(0.03, "log units", "of a tall event this much at most may be left")
    back_noise: float = limit(0.8, "noise scales", "of a small event in noise this much may be left")
    drop: float = limit(0.12, "log units", "a sustained fall below this is ordinary learning")
    lone_sparse: float = limit(8.0, "noise scales", "a spike of one sample, logged every 5 steps or rarer")
    lone_dense: float = limit(20.0, "noise scales", "a spike of one sample, logged at every step")
    end_tail: float = limit(1e-3, "probability a log", "at the end there is one test, not one a sample")
    calm_tail: float = limit(1e-5, "probability a sample", "of the run's own excursions: 1 in 100,000")
    # ---- shapes of events
    jump: float = limit(0.6, "share of the height", "gained at once; a ramp of 16 samples gives 0.3")
    spike_rise: float = limit(8.0, "samples", "a spike peaks within this; what goes on rising is a ramp")
    dip: float = limit(0.25, "share of the height", "a jump that never comes down so far is no spike")
    spike_height: float = limit(0.25, "log units", "a jump as tall as this is a spike however long it rises")
    fast_steps: float = limit(150.0, "steps", "back within it is fast (published: 30 to 150)")
    fast_samples: float = limit(10.0, "samples", "where few steps are logged: too few to call it slow")
    lost: float = limit(0.6, "share of the height", "if more is left at the end, it diverged")
    grown: float = limit(0.25, "share of the height", "gained since it was pending: it is still growing")
    twice: float = limit(0.693, "log units", "at twice the trend a run is lost, however high the peak")
    trifle: float = limit(0.05, "share of the first value", "a loss below it has been learned")
    # ---- the whole run
    quantised: float = limit(0.05, "share of the samples", "fewer distinct values: quantised")
    noisy: float = limit(0.05, "log units", "one-sample noise above which a healthy run is called noisy")
    wild: float = limit(0.6, "log units", "samples differ by a factor of two: not classified")
    bad_end: float = limit(0.1, "log units", "a run that ends this far above its trend is bad")
    for_good: float = limit(0.5, "share of the run", "a higher level that lasts as long will not come down")
    spike_share: float = limit(0.01, "share of the steps", "in fast spikes: 100 steps in 10,000 (Qwen)")
    knowing: float = limit(0.03, "log units", "noise above which a model knows some batches better")
    learned: float = limit(0.03, "log units", "less than this below the start: it never learned")
    dying: float = limit(0.75, "share of the attempts", "if so many end above their minimum, it failed")

    # fmt: on
    @classmethod
    def at(cls, false_alarms_per_100k: float) -> Thresholds:
        """Thresholds that give so many false alarms per 100,000 healthy points, 0.1 to 30.

        More of them buy recall of small events. How the rate was measured: docs/classifier-confidence.md.

        Raises:
            ValueError: outside of what was measured.
        """
        if not LEAST_RATE <= false_alarms_per_100k <= MOST_RATE:
            raise ValueError(f"must be {LEAST_RATE:g} to {MOST_RATE:g}, not {false_alarms_per_100k:g}")
        return cls().cautious((false_alarms_per_100k / ALARM_RATE) ** (-1.0 / ALARM_POWER))

    def cautious(self, factor: float) -> Thresholds:
        """The kernel asks for ``factor`` times the evidence: limits times it, probabilities to its power."""
        limits = {name: getattr(self, name) * factor for name in LIMITS}
        return replace(self, **limits, **{name: getattr(self, name) ** factor for name in TAILS})

    def kernel(self) -> tuple[float, ...]:
        return tuple(float(getattr(self, name)) for name in KERNEL)


_NAMES = [f.name for f in fields(Thresholds)]
KERNEL = tuple(_NAMES[_NAMES.index("cusum") : _NAMES.index("calm_tail") + 1])
DEFAULTS = Thresholds()
