"""Numbers that were measured, not chosen: `python -m benchmarks.classifier.calibrate --write` makes them.

How they were measured, on what, and how well they hold elsewhere: docs/classifier-measured.md.
"""

from __future__ import annotations

# False alarms per 100,000 healthy points are ALARM_RATE * caution ** -ALARM_POWER (thresholds.Thresholds.at).
ALARM_RATE = 1.68
ALARM_POWER = 2.95

# By pattern: (confidence that the rule gave, share of such findings that were right), rising in both.
CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {
    "divergence-after-spike": ((0.774, 0.864), (0.812, 0.878), (0.927, 0.932)),
    "divergence-no-spike": ((0.658, 0.908), (0.793, 0.925)),
    "failed-run": ((0.872, 0.053), (0.900, 0.600), (0.997, 0.971)),
    "grad-norm-precursor": ((1.000, 0.993),),
    "grokking": ((0.703, 0.994),),
    "level-shift": ((0.759, 0.740), (0.814, 0.843), (0.836, 0.960), (0.956, 0.990)),
    "lr-decay-drop": ((0.993, 0.984),),
    "multi-dataset-spike": ((0.815, 0.986),),
    "nan-inf": ((0.986, 0.998),),
    "repeat-data": ((0.786, 0.992),),
    "resume-ratio-skew": ((0.809, 0.985),),
    "resume-spike": ((0.945, 0.833), (0.998, 0.980)),
    "spike-fast-recovery": ((0.762, 0.885), (0.795, 0.944), (0.814, 0.975), (0.875, 0.997)),
    "spike-no-full-recovery": (
        (0.750, 0.606),
        (0.775, 0.636),
        (0.801, 0.703),
        (0.821, 0.758),
        (0.909, 0.969),
        (0.970, 0.970),
    ),
    "spike-slow-recovery": (
        (0.746, 0.419),
        (0.785, 0.574),
        (0.810, 0.589),
        (0.823, 0.712),
        (0.920, 0.890),
    ),
}
