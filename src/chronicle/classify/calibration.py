"""Numbers that were measured, not chosen: `python -m benchmarks.classifier.calibrate --write` makes them.

How they were measured, on what, and how well they hold elsewhere: docs/classifier-measured.md.
"""

from __future__ import annotations

# False alarms per 100,000 healthy points are ALARM_RATE * caution ** -ALARM_POWER (thresholds.Thresholds.at).
ALARM_RATE = 3.13
ALARM_POWER = 2.12

# By pattern: (confidence that the rule gave, share of such findings that were right), rising in both.
CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {
    "divergence-after-spike": ((0.640, 0.856), (0.897, 0.940)),
    "divergence-no-spike": ((0.500, 0.869), (0.770, 0.925), (0.773, 0.932), (0.806, 0.936)),
    "failed-run": ((0.900, 0.985),),
    "grad-norm-precursor": ((0.970, 0.994),),
    "grokking": ((0.700, 0.994),),
    "level-shift": ((0.630, 0.402), (0.722, 0.676), (0.780, 0.797), (0.908, 0.937)),
    "lr-decay-drop": ((0.900, 0.984),),
    "multi-dataset-spike": ((0.700, 0.986),),
    "nan-inf": ((0.900, 0.998),),
    "repeat-data": ((0.700, 0.992),),
    "resume-ratio-skew": ((0.700, 0.985),),
    "resume-spike": ((0.700, 0.842), (0.998, 0.980)),
    "spike-fast-recovery": ((0.610, 0.904), (0.767, 0.918), (0.816, 0.984), (0.887, 0.998)),
    "spike-no-full-recovery": ((0.640, 0.698), (0.849, 0.906), (0.958, 0.938), (0.970, 0.969)),
    "spike-slow-recovery": (
        (0.640, 0.500),
        (0.737, 0.636),
        (0.773, 0.667),
        (0.818, 0.800),
        (0.927, 0.923),
    ),
}
