"""From how sure a rule is to how often it is right.

A rule gives evidence on a scale of its own. On labelled runs it was counted how often findings of that
pattern with about that evidence were right (the event is there, and has this name); the table of those shares
is `calibration.CONFIDENCE`, made isotonic (Zadrozny & Elkan 2002), so that more evidence never means less
confidence. A pattern that was too rare to be counted keeps what its rule said. Severity is another matter,
and untouched.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from chronicle.classify.calibration import CONFIDENCE
from chronicle.classify.report import unit_share
from chronicle.model import Finding


def share_right(pattern: str, evidence: float) -> float:
    """The share of findings of a pattern that were right, at this evidence (both 0..1)."""
    knots = CONFIDENCE.get(pattern)
    return looked_up(knots, evidence) if knots else evidence


def looked_up(knots: tuple[tuple[float, float], ...], evidence: float) -> float:
    """The share between the knots; weaker evidence than any that was counted gets no more than it says."""
    given, right = zip(*knots, strict=True)
    if evidence < given[0]:
        return float(min(evidence, right[0]))
    return float(np.interp(evidence, given, right))


def calibrated(finding: Finding) -> Finding:
    """The finding with the confidence that such findings deserved."""
    return replace(finding, confidence=unit_share(share_right(finding.pattern, finding.confidence)))
