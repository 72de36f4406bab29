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
    ("spike-fast-recovery", "rise", "≥ {} %"),
    ("spike-fast-recovery", "cusum", "over {} noise scales"),
    ("spike-fast-recovery", "back", "≤ {} %, at most"),
    ("spike-fast-recovery", "back_cap", "at most {} %,"),
    ("spike-fast-recovery", "back_noise", "within {} noise scales"),
    ("spike-fast-recovery", "fast_steps", "≤ {} steps, or"),
    ("spike-fast-recovery", "fast_samples", "steps, or {} samples"),
    ("level-shift", "step_t", "≥ {} standard errors, ≥"),
    ("level-shift", "step_noise", "≥ {} noise scales and"),
    ("level-shift", "step_least", "and ≥ {} % over 64"),
    ("failed-run", "knowing", "samples differ by ≤ {} %, in 16"),
    ("spike-slow-recovery", "fast_steps", "over {} steps,"),
    ("spike-no-full-recovery", "back", "more than {} % of the height"),
    ("spike-no-full-recovery", "lost", "< {} % of the height"),
    ("spike-no-full-recovery", "grown", "≤ {} % of the height"),
    ("divergence-after-spike", "spike_rise", "within {} samples"),
    ("divergence-after-spike", "spike_height", "≥ {} in log loss"),
    ("divergence-after-spike", "dip", "by ≥ {} % of the height"),
    ("divergence-after-spike", "lost", "≥ {} % of it, or twice"),
    ("divergence-after-spike", "grown", "more than {} % of the height"),
    ("divergence-no-spike", "jump", "< {} % of the height"),
    ("divergence-no-spike", "lost", "≥ {} % of the height left"),
    ("level-shift", "jump", "≥ {} % of it within"),
    ("level-shift", "twice", "≤ {} in log loss"),
    ("near-perfect", "spike_share", "≤ {} % of the steps"),
    ("near-perfect", "noisy", "≤ {} % (above"),
    ("noisy-healthy", "noisy", "> {} %"),
    ("failed-run", "dying", "≥ {} % of them"),
    ("failed-run", "learned", "not {} % below"),
    ("quantised-loss", "quantised", "< {} %"),
    ("quantised-loss", "numerics.BITS", "≤ {} bits"),
    ("quantised-loss", "numerics.GRID_LEAST", "bits, in {} samples"),
    ("grokking", "drop", "≥ {} % below"),
    ("multi-dataset-spike", "same_time", "within {} samples"),
    ("multi-dataset-spike", "other_t", "≥ {} standard errors off"),
    ("resume-ratio-skew", "known_t", "≥ {} standard errors"),
    ("resume-ratio-skew", "ratio_bump", "≥ {} %"),
    ("grad-norm-precursor", "lead_most", "1 to {} samples"),
    ("grad-norm-precursor", "lead_chance", "probability < {}"),
    ("rising-spike-rate", "rate_events", "≥ {}"),
    ("rising-spike-rate", "rate_p", "second half, p < {}"),
    ("rising-spike-rate", "rate_p", "twice as tall, p < {}"),
    ("loss-scale-collapse", "halvings", "≥ {}"),
    ("attention-logit-growth", "logit_high", "> {}"),
    ("attention-logit-growth", "logit_growth", "factor of {} or more"),
    ("output-logit-drift", "drift", "≥ {} nats"),
    ("resume-spike", "join_t", "≥ {} standard errors and"),
    ("resume-spike", "joint_t", "each of them over {} standard errors"),
    ("resume-spike", "joint_t", '≥ {} standard errors", needs: "training loss, learning rate'),
    ("resume-spike", "moved", "≥ {} %"),
    ("repeat-data", "moved", "≥ {} %, half"),
    ("repeat-data", "known_t", "≥ {} standard errors and half"),
    ("spike-no-full-recovery", "bad_end", "≥ {} in log loss"),
    ("lr-not-restored", "lr_differs", "more than {} %"),
    ("lr-decay-drop", "lr_falls", "factor of {}"),
    ("lr-decay-drop", "known_t", "≥ {} standard errors"),
    ("overfitting", "moved", "≥ {} % and"),
    ("overfitting", "overfit_few", "≥ {} % in all"),
    ("overfitting", "overfit_few", "≥ {} % where a held-out"),
    ("grokking", "lag", "≥ {} times the steps"),
    ("throughput-drop", "slower", "≥ {} %"),
    ("throughput-drop", "slow_steps", "≥ {} steps"),
    ("throughput-drop", "slow_samples", "≥ {} samples"),
    ("hang", "hang_times", "≥ {} times"),
    ("hang", "slow_samples", "after its first {} points"),
    ("hang", "hang_s", "≥ {} s"),
    ("hang", "hang_short", "{} s at least"),
    ("hang", "hang_unknown", "not known, {} times the usual"),
    ("resume-spike", "same_time", "within {} samples"),
    ("repeat-data", "alike_share", "a correlation ≥ {}"),
    ("lr-not-restored", "lr_falls", "{} times the first value"),
    ("plateau", "lasting", "≥ {} % of the log"),
    ("plateau", "lr_falls", "by a factor of {} around the place"),
    ("plateau", "idle", "≤ {} % of its highest value"),
    ("plateau", "moved", "loss falls < {} %"),
    ("lr-decay-drop", "moved", "and ≥ {} %"),
    ("batch-ramp", "single_t", "≥ {} standard errors and a third"),
    ("batch-ramp", "known_t", "≥ {} standard errors and ≥"),
    ("batch-ramp", "moved", "standard errors and ≥ {} %"),
    ("loss-scale-collapse", "halvings_within", "within {} samples"),
    ("output-logit-drift", "drift_noise", "≥ {} noise scales"),
    ("output-logit-drift", "drift_late", "≥ {} % of the way"),
    ("overfitting", "join_t", "≥ {} standard errors"),
    ("overfitting", "learning.LEAST_FALL", "gain, {} % of its size"),
    ("overfitting", "whole_run.FAR", "its size and {} errors"),
    ("overfitting", "whole_run.FEWEST", "of {} values or more"),
    ("spike-slow-recovery", "rise", 'ramp", threshold: "≥ {} %"'),
    ("spike-slow-recovery", "back", "within {} % of the height"),
    ("spike-slow-recovery", "back_cap", "at most {} %"),
    ("spike-slow-recovery", "fast_samples", "and over {} samples"),
    ("spike-no-full-recovery", "rise", 'level shift", threshold: "≥ {} %"'),
    ("spike-no-full-recovery", "back_cap", "(or {} % of the loss)"),
    ("divergence-no-spike", "rise", "≥ {} %, cumulated"),
    ("multi-dataset-spike", "other_t", "< {} standard errors"),
    ("resume-ratio-skew", "join_t", "at a join {} standard errors"),
    ("resume-ratio-skew", "ratio_off", "and {} % off the level"),
    ("resume-ratio-skew", "other_t", "< {} standard errors, or less"),
    ("level-shift", "known_t", "≥ {} standard errors and ≥"),
    ("level-shift", "moved", "standard errors and ≥ {} %, and two"),
    ("rising-spike-rate", "rate_p", "as the last, p < {}"),
    ("repeat-data", "join_t", "half of it at one place, ≥ {} standard errors"),
    ("repeat-data", "join_t", "≥ {} standard errors and a correlation"),
    ("grokking", "lr_falls", "rate within a factor of {}"),
    ("near-perfect", "whole_run.FEWEST", "≥ {} samples"),
    ("plateau", "learning.LEAD", "by {} nats; where"),
    ("plateau", "learning.EARLY", "in the first {} %"),
    ("plateau", "learning.CONVERGED", "a fall of < {} in log loss"),
    ("plateau", "learning.WAITED", "a wait of {} % of the log"),
    ("plateau", "learning.NONE", "≤ {} % of the fall"),
    ("plateau", "learning.LEAD", "of the fall, by {} nats"),
    ("entropy-collapse", "rewards.GONE", "≤ {} % of its start"),
    ("entropy-collapse", "rewards.EARLY", "first {} % of the log"),
    ("entropy-collapse", "rewards.SHORT", "by ≥ {} % of the scale"),
    ("entropy-collapse", "rewards.CLOSED", "< {} % of that distance"),
    ("length-explosion", "rewards.GROWN", "≥ {} times"),
    ("length-explosion", "rewards.CLOSED", "< {} % of the distance"),
    ("kl-blow-up", "whole_run.LOST", "≥ {} % of its rise"),
    ("kl-blow-up", "whole_run.FAR", "≥ {} errors"),
    ("kl-blow-up", "rewards.AWAY", "≥ {} times"),
    ("clip-saturation", "numerics.SATURATED", "≥ {} % of the second half"),
    ("reward-hacking", "whole_run.LOST", "≥ {} % of its rise"),
    ("reward-hacking", "whole_run.RISES", "≥ {} errors"),
    ("router-collapse", "numerics.BUSIEST", "≥ {} times the mean"),
    ("router-collapse", "numerics.IDLE", "less than {} % of the mean load"),
    ("router-collapse", "numerics.IDLE_EXPERTS", "≥ {} % of the experts"),
    ("router-collapse", "numerics.GROWN", "≥ {} times its first"),
    ("failed-run", "step_least", "nats, and {} %), and samples"),
    ("level-shift", "loss_shapes.BEFORE", "within the first {} samples"),
    ("level-shift", "bad_end", "≥ {} % and ≥"),
    ("level-shift", "turn_t", "% and ≥ {} noise scales; the"),
    ("failed-run", "course.LEAD", "(by {} nats"),
    ("failed-run", "whole_run.TREND", "rise with time by < {} errors"),
    ("plateau", "whole_run.STILL", "trend by ≤ {} errors"),
    ("plateau", "whole_run.FLUKE", "a fall of ≤ {} noise scales"),
    ("plateau", "whole_run.ALIKE", "chi-squared of ≤ {}"),
    ("plateau", "whole_run.DOUBT", "rise with time by < {} error"),
    ("failed-run", "whole_run.ATTEMPTS", "≥ {} attempts"),
    ("failed-run", "whole_run.CHANCE", "within {} % of its logarithm"),
    ("failed-run", "learning.EARLY", "from {} % of the log on"),
    ("nan-inf", "loss_shapes.ZEROS", "≥ {} samples, gradient"),
    ("nan-inf", "loss_shapes.ZEROS", '≥ {} samples"'),
    ("nan-inf", "trifle", "above {} % of its first value"),
    ("nan-inf", "loss_shapes.FEW_ZEROS", "or ≥ {} where it is NaN"),
    ("reinitialised", "resume.LEARNED", "≥ {} in log loss"),
    ("reinitialised", "resume.SAME_PACE", "within a factor of {}"),
    ("quantised-loss", "numerics.GRID_LEAST", "of which there are {} or more"),
    ("quantised-loss", "grid", "≥ {} % of the loss"),
    ("noisy-healthy", "spike_share", "≤ {} % of the steps"),
    ("spike-fast-recovery", "lone_dense", "single one by {} noise scales"),
    ("spike-fast-recovery", "lone_sparse", "by {} where few steps"),
    ("spike-fast-recovery", "spike_share", "> {} % of the steps"),
    ("batch-ramp", "batch_grows", "≥ {} times in all"),
    ("attention-logit-growth", "logit_fast", "factor of {}, and ends"),
    ("overfitting", "overfit_late", "≥ {} % of the run before its end"),
    ("overfitting", "moved", '≥ {} %", needs: "training loss, validation loss"'),
    ("divergence-no-spike", "whole_run.LOST", "≥ {} % of it, which worries"),
    ("divergence-no-spike", "lost", "from {} % on is bad"),
    ("divergence-no-spike", "whole_run.FAR", "{} errors up and down"),
    ("divergence-no-spike", "turn_rise", "≥ {} %, one noise scale"),
    ("divergence-no-spike", "turn_usual", "and {} times any rise"),
    ("divergence-no-spike", "turn_clear", "if it rose by {} %"),
    ("divergence-no-spike", "turn_t", "≥ {} standard errors"),
    ("failed-run", "first_level", "≤ {} % of it left at the end"),
    ("failed-run", "knowing", "samples differ by ≤ {} % there"),
    ("resume-spike", "resume.LEAST", "median of {} samples"),
    ("grokking", "sudden", "within {} % of the steps so far"),
    ("divergence-no-spike", "turn_joint_t", "or ≥ {} for six blocks"),
    ("divergence-no-spike", "dip", "never down by {} %"),
    ("divergence-no-spike", "course.SURE", "forecast by {} standard deviations"),
    ("spike-no-full-recovery", "back_noise", "than {} noise scales"),
    ("failed-run", "learned", "of them by {} % and"),
    ("failed-run", "turn_t", "and {} standard errors, or in NaN"),
    ("failed-run", "learned", "no other loss falls by {} %"),
    ("failed-run", "knowing", 'samples differ by ≤ {} %", needs'),
    ("failed-run", "whole_run.RISES", "of the log {} errors above"),
    ("plateau", "whole_run.RISES", "of the log {} errors above"),
    ("grokking", "settling", "and {} % of the log after it"),
    ("grokking", "sudden_gain", '≥ {} times", needs: training loss'),
]

# Page, file, words of that file, and the criterion whose numbers they are: limits that stand in one place.
WRITTEN = [
    (
        "reinitialised",
        "rules/resume",
        "1.5 * view.thresholds.first_level * to_learn",
        "within 22.5 % of what",
    ),
    ("divergence-no-spike", "rules/slow_changes", "8 << k for k", "blocks of 8, 16, 32"),
    ("divergence-after-spike", "rules/loss_shapes", "2.0 * self.event.noise", "and 2 noise scales"),
    ("spike-no-full-recovery", "rules/loss_shapes", "2.0 * self.event.noise", "or 2 noise scales"),
    ("resume-spike", "resumed", "FIRST = (4, 8, 16, 32)", "First 4, 8, 16 or 32 samples"),
    ("level-shift", "rules/slow_changes", "WINDOWS = (64, 128, 256, 512)", "to 512 samples on either side"),
    ("entropy-collapse", "rules/rewards", "way, whole, 1.0, 2.0", "1 where all rewards lie within 1"),
    ("length-explosion", "rules/rewards", "way, whole, 1.0, 2.0", "1 where all rewards lie within 1"),
    ("hang", "rules/speed", '"pauses", "<= 1"', "at most 1 other a tenth as long, not at twice the step"),
    ("frozen-metric", "rules/loss_shapes", "32 and 8 times the longest", "≥ 32 samples in a row"),
    ("frozen-metric", "rules/loss_shapes", "8 times the longest before", "≥ 8 times the longest"),
    ("frozen-metric", "rules/loss_shapes", "or all of 8 and more", "≥ 8 samples"),
    ("loss-scale-collapse", "rules/numerics", '("< 1", ">= 1")', "< 1"),
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
    within = "chronicle.classify" if file == "course" else "chronicle.classify.rules"
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
