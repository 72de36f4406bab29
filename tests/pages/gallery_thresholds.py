"""Thresholds that pages of the gallery state.

`python -m tests.pages.gallery_thresholds` brings them up to date.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from chronicle.classify.patterns import BY_ID
from chronicle.classify.thresholds import DEFAULTS

GALLERY = Path(__file__).resolve().parents[2] / "gallery"

# Page, name in Thresholds (or constant of a rule's file), and how the criteria say it; {} is the number.
SAID = [
    ("spike-fast-recovery", "rise", "at least {} %"),
    ("spike-fast-recovery", "cusum", "over {} noise scales"),
    ("spike-fast-recovery", "back", "at most {} %, at most"),
    ("spike-fast-recovery", "back_cap", "at most {} %, or within"),
    ("spike-fast-recovery", "back_noise", "within {} noise scales"),
    ("spike-fast-recovery", "fast_steps", "at most {} steps, or"),
    ("spike-fast-recovery", "fast_samples", "steps, or {} samples"),
    ("level-shift", "step_t", "at least {} standard errors, at least"),
    ("level-shift", "step_noise", "at least {} noise scales and"),
    ("level-shift", "step_least", "and at least {} % over 64"),
    ("failed-run", "knowing", "samples differ by at most {} %, in 16"),
    ("spike-slow-recovery", "fast_steps", "over {} steps,"),
    ("spike-no-full-recovery", "back", "more than {} % of the height"),
    ("spike-no-full-recovery", "lost", "less than {} % of the height"),
    ("spike-no-full-recovery", "grown", "at most {} % of the height"),
    ("divergence-after-spike", "spike_rise", "within {} samples"),
    ("divergence-after-spike", "spike_height", "at least {} in log loss"),
    ("divergence-after-spike", "dip", "by at least {} % of the height"),
    ("divergence-after-spike", "lost", "at least {} % of it, or twice"),
    ("divergence-after-spike", "grown", "more than {} % of the height"),
    ("frozen-metric", "moved", "below {} % of the value"),
    ("divergence-no-spike", "jump", "less than {} % of the height"),
    ("divergence-no-spike", "lost", "at least {} % of the height left"),
    ("level-shift", "jump", "at least {} % of it within"),
    ("level-shift", "twice", "at most {} in log loss"),
    ("near-perfect", "spike_share", "at most {} % of the steps"),
    ("near-perfect", "noisy", "at most {} % (above"),
    ("noisy-healthy", "noisy", "more than {} %"),
    ("failed-run", "dying", "at least {} % of them"),
    ("failed-run", "learned", "not {} % below"),
    ("quantised-loss", "quantised", "less than {} %"),
    ("quantised-loss", "numerics.BFLOAT16_BITS", "at most {} bits"),
    ("quantised-loss", "numerics.GRID_SAMPLES", "bits, in {} samples"),
    ("grokking", "drop", "at least {} % below"),
    ("multi-dataset-spike", "same_time", "within {} samples"),
    ("multi-dataset-spike", "other_t", "at least {} standard errors off"),
    ("resume-ratio-skew", "same_time", "begins within {} samples"),
    ("grad-norm-precursor", "lead_most", "1 to {} samples"),
    ("grad-norm-precursor", "lead_chance", "probability less than {}"),
    ("rising-spike-rate", "rate_events", "at least {}"),
    ("rising-spike-rate", "rate_p", "second half, p less than {}"),
    ("rising-spike-rate", "rate_p", "twice as tall, p less than {}"),
    ("loss-scale-collapse", "halvings", "at least {}"),
    ("loss-scale-collapse", "halvings", "first stays for {} samples"),
    ("attention-logit-growth", "logit_high", "more than {}"),
    ("attention-logit-growth", "logit_growth", "factor of {} or more"),
    ("output-logit-drift", "drift", "at least {} nats"),
    ("resume-spike", "join_t", "at least {} standard errors and"),
    ("resume-spike", "joint_t", "each of them over {} standard errors"),
    ("resume-spike", "joint_t", 'at least {} standard errors", needs: "training loss, learning rate'),
    ("resume-spike", "moved", "at least {} %"),
    ("repeat-data", "moved", "at least {} %, half"),
    ("repeat-data", "known_t", "at least {} standard errors and half"),
    ("spike-no-full-recovery", "bad_end", "at least {} in log loss"),
    ("lr-not-restored", "lr_differs", "more than {} %"),
    ("lr-decay-drop", "lr_falls", "factor of {}"),
    ("lr-decay-drop", "known_t", "at least {} standard errors"),
    ("overfitting", "moved", "at least {} % and at least"),
    ("overfitting", "overfit_few", "at least {} % above the best"),
    ("overfitting", "overfit_few", "errors fell, or {} %"),
    ("overfitting", "generalisation.LEAST_RISE", "score improved, at least {} % and"),
    ("overfitting", "moved", "training loss at least {} % lower"),
    ("overfitting", "overfit_few", "the one before, at least {} %"),
    ("overfitting", "joint_t", "with {} standard errors"),
    ("grokking", "lag", "at least {} times the steps"),
    ("throughput-drop", "slower", "at least {} %"),
    ("throughput-drop", "slow_steps", "at least {} steps"),
    ("throughput-drop", "slow_samples", "at least {} samples"),
    ("hang", "hang_times", "at least {} times"),
    ("hang", "slow_samples", "after its first {} points"),
    ("hang", "hang_s", "at least {} s"),
    ("hang", "hang_short", "{} s at least"),
    ("hang", "hang_unknown", "not known, {} times the usual"),
    ("resume-spike", "same_time", "within {} samples"),
    ("lr-not-restored", "lr_falls", "{} times the first value"),
    ("plateau", "lasting", "at least {} % of the log"),
    ("plateau", "lr_falls", "by a factor of {} around the place"),
    ("plateau", "idle", "at most {} % of its highest value"),
    ("plateau", "idle", "a learning rate of less than {} % of its highest value"),
    ("plateau", "moved", "loss falls less than {} %"),
    ("lr-decay-drop", "moved", "and at least {} %"),
    ("batch-ramp", "single_t", "at least {} standard errors and a third"),
    ("batch-ramp", "known_t", "at least {} standard errors and at least"),
    ("batch-ramp", "moved", "standard errors and at least {} %"),
    ("loss-scale-collapse", "halvings_within", "within {} sample"),
    ("output-logit-drift", "drift_noise", "at least {} noise scales"),
    ("output-logit-drift", "drift_late", "at least {} % of the way"),
    ("overfitting", "join_t", "at least {} standard errors"),
    ("overfitting", "generalisation.LEAST_SCORE_FALL", "gain, {} % of its size"),
    ("overfitting", "objectives.FALL_FOR_ALARM_ERRORS", "its size and {} errors"),
    ("overfitting", "measure.FEWEST_POINTS", "in at least {} values"),
    ("spike-slow-recovery", "rise", 'ramp.", threshold: "at least {} %"'),
    ("spike-slow-recovery", "back", "within {} % of the height"),
    ("spike-slow-recovery", "back_cap", "at most {} %"),
    ("spike-slow-recovery", "fast_samples", "and over {} samples"),
    ("spike-no-full-recovery", "rise", 'level shift.)", threshold: "at least {} %"'),
    ("spike-no-full-recovery", "back_cap", "(or {} % of the loss)"),
    ("divergence-no-spike", "rise", "at least {} %, cumulated"),
    ("multi-dataset-spike", "other_t", "less than {} standard errors"),
    ("resume-ratio-skew", "join_t", "at a join {} standard errors"),
    ("resume-ratio-skew", "ratio_off", "and {} % off the level"),
    ("resume-ratio-skew", "other_t", "less than {} standard errors, or less"),
    ("level-shift", "known_t", "at least {} standard errors and at least"),
    ("level-shift", "moved", "standard errors and at least {} %, and two"),
    ("rising-spike-rate", "rate_p", "as the last, p less than {}"),
    ("repeat-data", "join_t", "half of it at one place, at least {} standard errors"),
    ("grokking", "lr_falls", "rate within a factor of {}"),
    ("near-perfect", "measure.FEWEST_POINTS", "at least {} samples"),
    ("plateau", "course.LEAD_NATS", "by {} nats; where"),
    ("plateau", "standstill.START_SHARE", "in the first {} %"),
    ("plateau", "standstill.CONVERGED_LOG", "a fall of less than {} in log loss"),
    ("plateau", "standstill.WARM_UP_SHARE", "a wait of {} % of the log"),
    ("plateau", "standstill.NO_FALL_SHARE", "at most {} % of the fall"),
    ("plateau", "course.LEAD_NATS", "of the fall, by {} nats"),
    ("entropy-collapse", "objectives.GONE_SHARE", "at most {} % of its start"),
    ("entropy-collapse", "objectives.EARLY_SHARE", "first {} % of the log"),
    ("entropy-collapse", "objectives.SHORT_SHARE", "by at least {} % of the scale"),
    ("entropy-collapse", "objectives.CLOSED_SHARE", "less than {} % of that distance"),
    ("length-explosion", "objectives.GROWN_TIMES", "at least {} times"),
    ("length-explosion", "objectives.CLOSED_SHARE", "less than {} % of the distance"),
    ("kl-blow-up", "objectives.LOST_SHARE", "at least {} % of its rise"),
    ("kl-blow-up", "objectives.FALL_FOR_ALARM_ERRORS", "at least {} errors"),
    ("kl-blow-up", "objectives.AWAY_TIMES", "at least {} times"),
    ("clip-saturation", "numerics.SATURATED_SHARE", "at least {} % of the second half"),
    ("reward-hacking", "objectives.LOST_SHARE", "at least {} % of its rise"),
    ("reward-hacking", "measure.RISE_BEYOND_CHANCE_ERRORS", "at least {} errors"),
    ("router-collapse", "numerics.BUSIEST_TIMES", "at least {} times the mean"),
    ("router-collapse", "numerics.IDLE_LOAD", "less than {} % of the mean"),
    ("router-collapse", "numerics.IDLE_EXPERTS_SHARE", "at least {} % of the experts"),
    ("router-collapse", "numerics.GROWN_TIMES", "at least {} times its first"),
    ("failed-run", "step_least", "nats, and {} %); samples"),
    ("level-shift", "loss_shapes.LEVEL_SAMPLES", "within the first {} sample"),
    ("level-shift", "bad_end", "at least {} % and at least"),
    ("level-shift", "turn_t", "% and at least {} noise scales; the"),
    ("failed-run", "course.LEAD_NATS", "(by {} nats"),
    ("failed-run", "measure.TREND_ERRORS", "rise with time by less than {} errors"),
    ("plateau", "whole_run.STILL_ERRORS", "trend by at most {} errors"),
    ("plateau", "whole_run.CHANCE_FALL_SCALES", "a fall of at most {} noise scales"),
    ("plateau", "whole_run.EQUAL_LEVELS_CHI2", "chi-squared of at most {}"),
    ("plateau", "objectives.TREND_IN_DOUBT_ERRORS", "rise with time by less than {} error"),
    ("failed-run", "whole_run.FEWEST_ATTEMPTS", "at least {} attempts"),
    ("failed-run", "whole_run.OFF_GUESSING", "within {} % of its logarithm"),
    ("failed-run", "standstill.START_SHARE", "from {} % of the log on"),
    ("nan-inf", "loss_shapes.MANY_ZEROS", "at least {} samples, gradient"),
    ("nan-inf", "loss_shapes.MANY_ZEROS", 'at least {} samples"'),
    ("nan-inf", "trifle", "above {} % of its first"),
    ("nan-inf", "loss_shapes.FEW_ZEROS", "or at least {} where it is NaN"),
    ("reinitialised", "resume.LEAST_LEARNED_LOG", "at least {} in log loss"),
    ("reinitialised", "resume.SAME_PACE_TIMES", "within a factor of {}"),
    ("reinitialised", "resume.NEW_PACE_TIMES", "or of {} within"),
    ("reinitialised", "resume.SAME_LEVEL_SHARE", "within {} % of the first level"),
    ("quantised-loss", "numerics.GRID_SAMPLES", "of which there are {} or more"),
    ("quantised-loss", "grid", "at least {} % of the loss"),
    ("noisy-healthy", "spike_share", "at most {} % of the steps"),
    ("spike-fast-recovery", "lone_dense", "single one by {} noise scales"),
    ("spike-fast-recovery", "lone_sparse", "by {} where few steps"),
    ("spike-fast-recovery", "spike_share", "more than {} % of the steps"),
    ("batch-ramp", "batch_grows", "at least {} times in all"),
    ("attention-logit-growth", "logit_fast", "factor of {}, and ends"),
    ("overfitting", "overfit_late", "at least {} % of the run before its end"),
    ("overfitting", "moved", 'at least {} %", needs: "training loss, validation loss"'),
    ("divergence-no-spike", "objectives.LOST_SHARE", "at least {} % of it, which worries"),
    ("divergence-no-spike", "lost", "from {} % on is bad"),
    ("divergence-no-spike", "objectives.FALL_FOR_ALARM_ERRORS", "{} errors up and down"),
    ("divergence-no-spike", "turn_rise", "at least {} %, one noise scale"),
    ("divergence-no-spike", "turn_usual", "and {} times any rise"),
    ("divergence-no-spike", "turn_clear", "if it rose by {} %"),
    ("divergence-no-spike", "turn_clear", "both by at least {} %"),
    ("divergence-no-spike", "other_t", "the latter by {} standard errors"),
    ("divergence-no-spike", "turn_t", "at least {} standard errors"),
    ("failed-run", "first_level", "at most {} % of it left at the end"),
    ("failed-run", "knowing", "samples differ by at most {} % there"),
    ("resume-spike", "resume.JOIN_SAMPLES", "median of {} samples"),
    ("grokking", "sudden", "within {} % of the steps so far"),
    ("divergence-no-spike", "turn_joint_t", "or at least {} for six blocks"),
    ("divergence-no-spike", "dip", "never down by {} %"),
    ("divergence-no-spike", "course.SURE_DEVIATIONS", "forecast by {} standard deviations"),
    ("spike-no-full-recovery", "back_noise", "than {} noise scales"),
    ("failed-run", "learned", "of them by {} % and"),
    ("failed-run", "turn_t", "and {} standard errors, or in NaN"),
    ("failed-run", "learned", "no other loss falls by {} %"),
    ("failed-run", "knowing", 'samples differ by at most {} %", needs'),
    ("failed-run", "measure.RISE_BEYOND_CHANCE_ERRORS", "sixteenth of it is {} errors above"),
    ("plateau", "measure.RISE_BEYOND_CHANCE_ERRORS", "of the log {} errors above"),
    ("grokking", "settling", "and {} % of the log after it"),
    ("multi-dataset-spike", "trifle", "above {} % of its first"),
    ("divergence-no-spike", "objectives.TIMES_ANY_OTHER", "at least {} times any other fall"),
    ("divergence-no-spike", "objectives.LAST_VALUES", "within the last {} values"),
    ("divergence-no-spike", "objectives.LOST_SHARE", "at least {} % of its rise"),
    ("divergence-no-spike", "measure.FEWEST_POINTS", "objective of {} points or more"),
    ("divergence-no-spike", "objectives.LOST_SHARE", "at least {} % of its first"),
    ("grokking", "sudden_gain", 'at least {} times", needs: training loss'),
]

# Page, file, words of that file, and the criterion whose numbers they are: limits that stand in one place.
WRITTEN = [
    (
        "reinitialised",
        "rules/resume",
        "1.5 * view.thresholds.first_level * (to_learn",
        "within 22.5 % of what",
    ),
    ("divergence-no-spike", "rules/slow_changes", "8 << k for k", "blocks of 8, 16, 32"),
    ("divergence-after-spike", "rules/loss_shapes", "2.0 * self.event.noise", "and 2 noise scales"),
    ("spike-no-full-recovery", "rules/loss_shapes", "2.0 * self.event.noise", "or 2 noise scales"),
    ("resume-spike", "resumed", "FIRST_SAMPLES = (4, 8, 16, 32)", "The first 4, 8, 16 or 32 samples"),
    ("level-shift", "rules/slow_changes", "WINDOWS = (64, 128, 256, 512)", "to 512 samples on either side"),
    ("entropy-collapse", "rules/objectives", "way, whole, 1.0, 2.0", "1 where all rewards lie within 1"),
    ("length-explosion", "rules/objectives", "way, whole, 1.0, 2.0", "1 where all rewards lie within 1"),
    ("hang", "rules/speed", '"pauses", "<= 1"', "at most 1 other a tenth as long, not at twice the step"),
    ("frozen-metric", "rules/loss_shapes", "32 and 8 times the longest", "at least 32 samples in a row"),
    ("frozen-metric", "rules/loss_shapes", "8 times the longest before", "at least 8 times the longest"),
    ("frozen-metric", "rules/loss_shapes", "or all of 8 and more", "at least 8 samples"),
    ("loss-scale-collapse", "rules/numerics", '("< 1", ">= 1")', "less than 1"),
    ("attention-logit-growth", "rules/numerics", "last > high / 2", "and ends above 50"),
    ("clip-saturation", "rules/numerics", "1 - 1e-3", "within 0.1 % of it"),
]


def path_of(pattern_id: str) -> Path:
    return GALLERY / BY_ID[pattern_id].verdict.value / f"{pattern_id}.md"


def criteria_of(text: str) -> str:
    """The lines of a page's front matter that hold its criteria."""
    return text.split("\ncriteria:\n", 1)[1].split("\nlookalikes:\n", 1)[0]


def pattern(words: str) -> str:
    """``words`` as a regular expression, any number in the place of {}."""
    return re.escape(words).replace(r"\{\}", r"(\d[\d.]*)") + r"(?![\d.]\d*)"


def restated(text: str, threshold: str, words: str) -> str:
    """A page with the value that the classifier uses."""
    file, _, name = threshold.rpartition(".")
    within = "chronicle.classify" if file in ("course", "measure") else "chronicle.classify.rules"
    value = getattr(import_module(f"{within}.{file}") if file else DEFAULTS, name)
    shown = f"{100 * value:.3g}" if "{} %" in words else f"{value:g}"
    old = criteria_of(text)
    return text.replace(old, re.sub(pattern(words), words.format(shown), old))


def main() -> None:
    for pattern_id, threshold, words in SAID:
        path = path_of(pattern_id)
        path.write_text(restated(path.read_text("utf-8"), threshold, words), "utf-8")


if __name__ == "__main__":
    main()
