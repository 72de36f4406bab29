"""Numbers that were measured, not chosen: `python -m benchmarks.classifier.calibrate --write` makes them.

How they were measured, on what, and how well they hold elsewhere: docs/classifier-measured.md.
"""

from __future__ import annotations

# False alarms per 100,000 healthy points are ALARM_RATE * caution ** -ALARM_POWER (thresholds.Thresholds.at).
ALARM_RATE = 1.68
ALARM_POWER = 2.95

# By pattern: (confidence that the rule gave, share of such findings that were right), rising in both.
CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {
    "divergence-after-spike": ((0.700, 0.860), (0.811, 0.885), (0.928, 0.932)),
    "divergence-no-spike": ((0.500, 0.873), (0.793, 0.929)),
    "failed-run": ((0.780, 0.053), (0.900, 0.615), (1.000, 0.971)),
    "grad-norm-precursor": ((1.000, 0.993),),
    "grokking": ((0.700, 0.994),),
    "level-shift": ((0.700, 0.737), (0.812, 0.843), (0.836, 0.960), (0.956, 0.990)),
    "lr-decay-drop": ((0.900, 0.984),),
    "multi-dataset-spike": ((0.700, 0.986),),
    "nan-inf": ((0.900, 0.998),),
    "repeat-data": ((0.700, 0.992),),
    "resume-ratio-skew": ((0.700, 0.971),),
    "resume-spike": ((0.700, 0.833), (0.998, 0.980)),
    "spike-fast-recovery": ((0.610, 0.888), (0.791, 0.888), (0.811, 0.982), (0.874, 0.999)),
    "spike-no-full-recovery": (
        (0.660, 0.645),
        (0.791, 0.750),
        (0.808, 0.812),
        (0.822, 0.844),
        (0.934, 0.978),
    ),
    "spike-slow-recovery": ((0.640, 0.614), (0.806, 0.647), (0.823, 0.765), (0.925, 0.896)),
}
