"""Whether a rollback went back far enough: joins against the findings of what they overtook.

A team rolls back because of what it saw, to a checkpoint before it began. If the step it went back to lies
inside the disturbance, the weights that were restored are disturbed already, and it mostly comes again
(IDEFICS 2023-05-26: back to 15 611, then "we didn't rollback enough").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chronicle.classify.numbering import drawn
from chronicle.classify.pairing import alike, noise
from chronicle.classify.patterns import Trait, having
from chronicle.classify.report import tidy
from chronicle.classify.view import View
from chronicle.model import Finding, Join, JoinKind

# what a rollback is meant to undo; all else is no state of the weights that a checkpoint carries
DISTURBANCES = having(Trait.UNDOABLE)

Told = dict[str | None, list[Finding]]  # disturbances by their attempt


def judged(view: View, findings: Sequence[Finding]) -> tuple[Join, ...]:
    """The joins, each rollback with evidence of what it left behind.

    ``inside_pattern`` and ``inside_start_step``: the disturbance that ``to_step`` lies in (not far enough);
    ``left_pattern`` and ``left_start_step``: the first disturbance that was undone, ``margin_steps`` before
    it; ``again_step``: where the later attempt has one at the same steps once more.
    ``noise_alike_share`` of ``noise_pairs``: the same data were read again at the same steps, as they should.
    """
    joins = view.timeline.joins
    source = {join.after: join for join in joins}
    told: Told = {}
    for finding in findings:
        if finding.pattern in DISTURBANCES:
            told.setdefault(finding.attempt, []).append(drawn(finding))
    return tuple(
        replace(join, evidence={**join.evidence, **_of(view, join, source, told), **_cursor(view, join)})
        if join.kind is JoinKind.ROLLBACK
        else join
        for join in joins
    )


def _of(view: View, join: Join, source: dict[int, Join], told: Told) -> dict[str, Any]:
    """Evidence of one rollback; empty where nothing had been found in what it overtook."""
    overtaken = dict.fromkeys(view.attempts[k].name for k in _way(join, source))
    mine = [f for name in overtaken for f in told.get(name, ()) if _end(view, f) >= join.to_step]
    if not mine:
        return {}
    first = min(mine, key=lambda f: (f.start_step, -f.severity, f.pattern, f.metric or "", f.attempt or ""))
    said: dict[str, Any] = (
        {"inside_pattern": first.pattern, "inside_start_step": first.start_step}
        if first.start_step <= join.to_step
        else {
            "left_pattern": first.pattern,
            "left_start_step": first.start_step,
            "margin_steps": first.start_step - join.to_step,
        }
    )
    after = told.get(view.attempts[join.after].name, ())
    again = [f.start_step for f in after if f.start_step <= _end(view, first)]
    return said | ({"again_step": min(again)} if again else {})


def _cursor(view: View, join: Join) -> dict[str, Any]:
    """Whether the data cursor went back with the step; no proof of anything where the noise is not alike."""
    losses = [view.attempts[k].loss for k in (join.before, join.after)]
    stretches = [noise(loss) if loss is not None else None for loss in losses]
    old, new = stretches
    pairing = alike(old, new, 0, view.thresholds) if old is not None and new is not None else None
    if pairing is None:
        return {}
    return {"noise_alike_share": tidy(pairing.share), "noise_pairs": pairing.pairs}


def _way(join: Join, source: dict[int, Join]) -> list[int]:
    """The attempts back from a join that held its ``to_step`` or what came after it."""
    way = [join.before]
    while way[-1] in source and source[way[-1]].to_step > join.to_step:
        way.append(source[way[-1]].before)
    return way


def _end(view: View, finding: Finding) -> int:
    """Last step of a finding; of one that was not over, the last one of its attempt."""
    if finding.end_step is not None:
        return finding.end_step
    series = view.named(finding.attempt)[0].series
    return max((int(s.steps[-1]) for s in series.values() if len(s)), default=finding.start_step)
