"""The rules, one file a family of patterns; a later rule may replace findings of an earlier one."""

from __future__ import annotations

from chronicle.classify.report import Rule
from chronicle.classify.rules import (
    datasets,
    generalisation,
    loss_shapes,
    numerics,
    objectives,
    resume,
    schedule,
    slow_changes,
    speed,
    standstill,
    whole_run,
)

RULES: tuple[Rule, ...] = (
    loss_shapes.RULE,
    generalisation.EVALUATED,
    slow_changes.TURN,
    whole_run.RULE,
    objectives.RULE,
    numerics.QUANTISED,
    standstill.STANDSTILL,
    standstill.CLIMB,
    generalisation.RULE,
    resume.REINITIALISED,
    resume.RESUME,
    datasets.BY_DATASET,
    datasets.MIXTURE,
    resume.REPEATED,
    resume.RESTORED,
    schedule.EPOCHS,
    schedule.DECAY,
    schedule.BATCH,
    numerics.RULE,
    numerics.CLIPPING,
    numerics.PRECURSORS,
    numerics.SPIKE_RATE,
    *objectives.REWARDS,
    numerics.ROUTING,
    speed.RULE,
    slow_changes.STEPS,
)
