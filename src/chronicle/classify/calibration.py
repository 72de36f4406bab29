"""Numbers that were measured, not chosen: `python -m benchmarks.classifier.calibrate --write` makes them.

How they were measured, on what, and how well they hold elsewhere: docs/classifier-measured.md.
"""

from __future__ import annotations

# False alarms per 100,000 healthy points are ALARM_RATE * caution ** -ALARM_POWER (thresholds.Thresholds.at).
ALARM_RATE = 3.13
ALARM_POWER = 2.12

# By pattern: (confidence that the rule gave, share of such findings that were right), rising in both.
CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {
    "divergence-after-spike": ((0.620, 0.866), (0.819, 0.900), (0.938, 0.949)),
    "divergence-no-spike": ((0.500, 0.972), (0.770, 0.978), (0.816, 0.986)),
    "failed-run": ((0.900, 0.985),),
    "grad-norm-precursor": ((0.970, 0.994),),
    "grokking": ((0.700, 0.994),),
    "level-shift": (
        (0.630, 0.472),
        (0.724, 0.707),
        (0.765, 0.841),
        (0.800, 0.864),
        (0.911, 0.938),
    ),
    "lr-decay-drop": ((0.900, 0.984),),
    "multi-dataset-spike": ((0.700, 0.986),),
    "nan-inf": ((0.900, 0.998),),
    "repeat-data": ((0.700, 0.992),),
    "resume-ratio-skew": ((0.700, 0.986),),
    "resume-spike": ((0.700, 0.842), (0.998, 0.980)),
    "spike-fast-recovery": ((0.610, 0.864), (0.814, 0.969), (0.886, 0.997)),
    "spike-no-full-recovery": (
        (0.640, 0.716),
        (0.797, 0.727),
        (0.851, 0.887),
        (0.958, 0.938),
        (0.970, 0.969),
    ),
    "spike-slow-recovery": (
        (0.640, 0.517),
        (0.736, 0.650),
        (0.774, 0.662),
        (0.822, 0.800),
        (0.933, 0.917),
    ),
}
