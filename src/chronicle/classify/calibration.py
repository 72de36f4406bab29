"""Numbers that were measured, not chosen: `python -m benchmarks.classifier.calibrate --write` makes them.

How they were measured, on what, and how well they hold elsewhere: docs/classifier-measured.md.
"""

from __future__ import annotations

# False alarms per 100,000 healthy points are ALARM_RATE * caution ** -ALARM_POWER (thresholds.Thresholds.at).
ALARM_RATE = 0.24
ALARM_POWER = 4.65

# By pattern: (confidence that the rule gave, share of such findings that were right), rising in both.
CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {}
