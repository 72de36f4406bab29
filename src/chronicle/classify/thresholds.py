"""Every number that a rule or the kernel compares with, in one table: unit, default, reason.

All are in noise scales (of log loss), samples, steps, or log units; none depends on the unit of a loss.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from chronicle.classify.calibration import ALARM_POWER, ALARM_RATE
from chronicle.classify.context_thresholds import ContextThresholds, limit


@dataclass(frozen=True)
class Thresholds(ContextThresholds):
    """Thresholds of the classifier. Change some with `dataclasses.replace(DEFAULTS, rise=0.05)`."""

    cusum: float = limit(15.0, "noise scales, summed", "three clipped samples stay below it: no pair opens")
    allowance: float = limit(1.0, "noise scales", "half of the smallest shift one level should see itself")
    clip: float = limit(6.0, "noise scales", "one sample counts at most this much: outliers are no evidence")
    tail: float = limit(1e-7, "probability a sample", "two of three samples beyond it: 1 in ten million")
    rise: float = limit(0.025, "log units", "0.05 nats at a loss of 2: less is of no use to anybody")
    memory: float = limit(16.0, "samples of a level", "four blocks of the next coarser level")
    trend_memory: float = limit(8.0, "samples of a level", "half the memory: noise is measured against it")
    swallow: float = limit(2.5, "noise scales", "a reference needs more than 16 samples to follow a step")
    active: float = limit(16.0, "samples", "as long as the memory: then the event is pending")
    back: float = limit(0.15, "share of the height", "back when this much of a small event is left")
    back_cap: float = limit(0.03, "log units", "of a tall event this much at most may be left")
    back_noise: float = limit(0.8, "noise scales", "of a small event in noise this much may be left")
    drop: float = limit(0.12, "log units", "a sustained fall below this is ordinary learning")
    lone_sparse: float = limit(8.0, "noise scales", "a spike of one sample, logged every 5 steps or rarer")
    lone_dense: float = limit(20.0, "noise scales", "a spike of one sample, logged at every step")
    end_tail: float = limit(1e-3, "probability a log", "at the end there is one test, not one a sample")
    calm_tail: float = limit(
        1e-5, "probability a sample", "the series' own excursions: one in 100,000 passes"
    )

    # ---- shapes of events
    jump: float = limit(0.6, "share of the height", "gained at once; a ramp of 16 samples gives 0.3")
    spike_rise: float = limit(8.0, "samples", "a spike peaks within this; what goes on rising is a ramp")
    dip: float = limit(0.25, "share of the height", "a jump that never comes down so far is no spike")
    spike_height: float = limit(0.25, "log units", "a jump as tall as this is a spike however long it rises")
    fast_steps: float = limit(150.0, "steps", "back within it is fast (published: 30 to 150)")
    fast_samples: float = limit(10.0, "samples", "where few steps are logged: too few to call it slow")
    lost: float = limit(0.6, "share of the height", "more is left at the end: it diverged")
    grown: float = limit(0.25, "share of the height", "gained since it was pending: still growing")
    twice: float = limit(0.693, "log units", "twice the trend is lost, however high the peak was")
    trifle: float = limit(0.05, "share of the first value", "whatever a loss does below it, it is learned")
    # ---- the whole run
    quantised: float = limit(0.05, "share of the samples", "fewer distinct values: quantised")
    noisy: float = limit(0.05, "log units", "one-sample noise above which a healthy run is called noisy")
    wild: float = limit(
        0.6, "log units", "samples differ by a factor of two: nobody can say how such a run does"
    )
    bad_end: float = limit(0.1, "log units", "a run that ends this far above its trend is bad")
    for_good: float = limit(0.5, "share of the run", "a higher level that lasts as long will not come down")
    spike_rate: float = limit(1.0, "fast spikes in 10k steps", "more worry (Qwen: 0.2 good, 4.3 bad)")
    knowing: float = limit(
        0.03, "log units", "one-sample noise above which a model knows some batches better"
    )
    learned: float = limit(0.03, "log units", "less than this below the start: it never learned")
    unmoved: float = limit(0.02, "share of a score", "a score that moves by less tells of no learning")
    longer: float = limit(
        2.0, "times the first step", "a power law of a tenth falls by 7 % while steps double"
    )
    dying: float = limit(0.75, "share of the attempts", "this many end above their own minimum: failed")

    @classmethod
    def at(cls, false_alarms_per_100k: float) -> Thresholds:
        """Thresholds that give so many false alarms per 100,000 healthy points, 0.1 to 30.

        More of them buy recall of small events. How the rate was measured: docs/classifier-measured.md.

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
        """The kernel's part, in the order of kernel/layout.py."""
        return tuple(float(getattr(self, name)) for name in KERNEL)


_OWN = tuple(Thresholds.__annotations__)
LIMITS = ("cusum", "rise", "lone_sparse", "lone_dense")
TAILS = ("tail", "end_tail", "calm_tail")
LEAST_RATE, MOST_RATE = 0.1, 30.0  # false alarms per 100,000 points that `at` was measured for
KERNEL = _OWN[: _OWN.index("calm_tail") + 1]
DEFAULTS = Thresholds()


def table() -> list[tuple[str, float, str, str]]:
    """(name, default, unit, reason) of every threshold, in the order of definition."""
    return [
        (f.name, getattr(DEFAULTS, f.name), f.metadata["unit"], f.metadata["why"]) for f in fields(Thresholds)
    ]
