"""Numbers that were measured, not chosen: `python -m benchmarks.classifier.calibrate --write` makes them.

How they were measured, on what, and how well they hold elsewhere: docs/classifier-measured.md.
"""

from __future__ import annotations

# False alarms per 100,000 healthy points are ALARM_RATE * caution ** -ALARM_POWER (thresholds.Thresholds.at).
ALARM_RATE = 3.13
ALARM_POWER = 1.78

# By pattern: (confidence that the rule gave, share of such findings that were right), rising in both.
CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {
    "divergence-after-spike": ((0.700, 0.864), (0.811, 0.884), (0.929, 0.931)),
    "divergence-no-spike": ((0.500, 0.874), (0.793, 0.929)),
    "failed-run": ((0.900, 0.688), (0.920, 0.824), (1.000, 0.969)),
    "grad-norm-precursor": ((0.970, 0.994),),
    "grokking": ((0.700, 0.994),),
    "level-shift": ((0.630, 0.357), (0.767, 0.581), (0.859, 0.699), (0.974, 0.878)),
    "lr-decay-drop": ((0.900, 0.984),),
    "multi-dataset-spike": ((0.700, 0.986),),
    "nan-inf": ((0.900, 0.998),),
    "repeat-data": ((0.700, 0.992),),
    "resume-ratio-skew": ((0.700, 0.985),),
    "resume-spike": ((0.700, 0.842), (0.998, 0.980)),
    "spike-fast-recovery": ((0.610, 0.893), (0.812, 0.983), (0.875, 0.999)),
    "spike-no-full-recovery": (
        (0.660, 0.656),
        (0.789, 0.688),
        (0.814, 0.839),
        (0.914, 0.968),
        (0.970, 0.969),
    ),
    "spike-slow-recovery": ((0.640, 0.617), (0.806, 0.652), (0.822, 0.779), (0.923, 0.882)),
}
