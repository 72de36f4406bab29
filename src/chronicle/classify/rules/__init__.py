"""The rules, one file a family of patterns, each with one `Rule` or more (see chronicle/classify/report.py).

`RULES` is the explicit list, shapes first; the order decides who explains whom: a later rule may replace
findings of an earlier one.
"""

from __future__ import annotations

from chronicle.classify.report import Rule
from chronicle.classify.rules import (
    datasets,
    late_rise,
    learning,
    loss_shapes,
    numerics,
    precursors,
    reinitialised,
    repeated_data,
    resume,
    schedule,
    small_shifts,
    speed,
    whole_run,
)

RULES: tuple[Rule, ...] = (
    loss_shapes.RULE,
    late_rise.RULE,
    whole_run.RULE,
    numerics.QUANTISED,
    learning.RULE,
    reinitialised.RULE,
    resume.RESUME,
    datasets.BY_DATASET,
    datasets.MIXTURE,
    repeated_data.RULE,
    resume.RESTORED,
    schedule.EPOCHS,
    schedule.SCHEDULE,
    numerics.RULE,
    precursors.PRECURSORS,
    precursors.SPIKE_RATE,
    speed.RULE,
    small_shifts.RULE,
)
