"""An attempt compared with the earlier one that it continues: the loss that was expected, and its loss.

Also whether a rollback went back far enough: weights of a checkpoint inside of a disturbance bring it mostly
back (IDEFICS 2023-05-26: back to 15 611, then "we didn't rollback enough").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from chronicle.classify.measure import LINE_SAMPLES, Excess, Line, excess, fit, log_step, median, positive
from chronicle.classify.patterns import Trait, having
from chronicle.classify.report import drawn
from chronicle.classify.view import AttemptView, View, kept
from chronicle.metrics.aliases import step_gap
from chronicle.metrics.roles import direction
from chronicle.metrics.values import grouped
from chronicle.model import Finding, Floats, Join, JoinKind, Role, Series

JOIN_SAMPLES = 8  # the fewest on either side of a join
FIRST_SAMPLES = (4, 8, 16, 32)  # of a later attempt that are compared with an earlier one
MOST_PARENTS = 24  # earlier attempts that are compared; nobody resumes from further back
AS_SURE_TIMES = 2.0  # the errors of the best line: lines within this are equally good


@dataclass(frozen=True, eq=False)
class Resume:
    """An attempt that continues an earlier one, and the line that its loss should follow: ``off`` is its
    log loss minus that line, ``reach`` the number of samples for which the line is trusted."""

    attempt: AttemptView
    parent: AttemptView
    loss: Series
    line: Line
    steps: Floats
    off: Floats
    reach: int

    def beginnings(self) -> list[Excess]:
        """How far its first 4, 8, 16 and 32 samples (or all, if fewer) lie over the line."""
        return [self.over(0, n) for n in sorted({min(m, len(self.off)) for m in FIRST_SAMPLES})]

    def over(self, a: int, b: int) -> Excess:
        return excess(self.line, self.steps[a:b], self.off[a:b] + self.line.at(self.steps[a:b]))

    def over_the_parent(self) -> float | None:
        """How far its first 4, 8, 16 or 32 samples lie over those that the earlier attempt logged at the same
        steps [log units], whichever lie highest: no line has to predict these. None below 8 of them."""
        assert self.parent.loss is not None
        steps, y = positive(self.parent.loss)
        _, ours, theirs = np.intersect1d(self.steps, steps, return_indices=True)  # steps may repeat
        over = self.off[ours] + self.line.at(self.steps[ours]) - y[theirs]
        return max(median(over[:n]) for n in FIRST_SAMPLES) if len(over) >= JOIN_SAMPLES else None


@kept
def resumes(view: View, attempt: AttemptView) -> list[Resume]:
    """The attempt with each earlier one that it may have resumed, by equally certain lines, nearest first."""
    loss, limits = attempt.loss, view.thresholds
    steps, y = positive(loss) if loss is not None and attempt.index else (np.empty(0), np.empty(0))
    if loss is None or len(y) < JOIN_SAMPLES:
        return []
    trusted = max(int(np.searchsorted(log_step(steps), log_step(steps)[0] + limits.horizon)), JOIN_SAMPLES)
    head, earlier = steps[:trusted], possible_parents(view, attempt, loss)
    lines = [(p, line, line.error(head)) for p in earlier for line in best_line(view, p, loss, head)]
    least = min((error for _, _, error in lines), default=0.0)
    sure = ((parent, line) for parent, line, error in lines if error <= AS_SURE_TIMES * least)
    fits = [Resume(attempt, p, loss, line, steps, y - line.at(steps), trusted) for p, line in sure]
    return sorted(fits, key=lambda r: abs(r.over(0, JOIN_SAMPLES).height)) if len(fits) > 1 else fits


def possible_parents(view: View, attempt: AttemptView, loss: Series) -> list[AttemptView]:
    """Earlier attempts that began before a loss and nearly reached its first step (exact in `best_line`)."""
    first, last, gap = _extents(view)
    start, earlier = loss.steps[0], slice(attempt.index)
    # a median gap is at most twice the mean
    reach = 2 * view.thresholds.join_gap * np.maximum(gap[earlier], extent(loss)[2])
    near = (first[earlier] < start) & (last[earlier] + reach >= start)
    return [view.attempts[k] for k in np.flatnonzero(near)[-MOST_PARENTS:]]


@kept
def _extents(view: View) -> Floats:
    """The `extent` of the loss of each attempt, a column each."""
    return np.array([extent(a.loss) for a in view.attempts]).T


def extent(loss: Series | None) -> tuple[float, float, float]:
    """First and last step of a loss, and the mean distance of its points; values out of reach if None."""
    if loss is None:
        return float("inf"), 0.0, 0.0
    first, last = float(loss.steps[0]), float(loss.steps[-1])
    return first, last, (last - first) / max(len(loss) - 1, 1)


def best_line(view: View, parent: AttemptView, loss: Series, needed: Floats) -> Iterator[Line]:
    """The line of an earlier attempt that predicts the loss at the steps ``needed`` best. It ends at the join
    or a few samples later, and is fitted to stretches of several lengths, not those of twice the noise."""
    assert parent.loss is not None
    (steps, _), (old_steps, old), limits = positive(loss), positive(parent.loss), view.thresholds
    gap = limits.join_gap * max(step_gap(loss), step_gap(parent.loss))
    if len(old) < JOIN_SAMPLES or not old_steps[0] + gap < steps[0] <= old_steps[-1] + gap:
        return
    lines: list[Line] = []
    for b in dict.fromkeys(np.searchsorted(old_steps, (steps[0], steps[JOIN_SAMPLES - 1])).tolist()):
        long = b - int(np.searchsorted(log_step(old_steps[:b]), log_step(steps[:1])[0] - limits.horizon))
        shorter = (LINE_SAMPLES << k for k in range(6) if LINE_SAMPLES << k < long)
        for n in {min(b, max(long, LINE_SAMPLES)), *shorter}:
            line = view.once((fit, parent, b, n), partial(fit, old_steps[b - n : b], old[b - n : b]))
            lines += [line] if line is not None and line.n >= JOIN_SAMPLES else []
    calm = AS_SURE_TIMES * min((line.noise for line in lines), default=0.0)
    calmest = [line for line in lines if line.noise <= calm]
    if calmest:
        yield min(calmest, key=lambda line: line.error(needed)) if len(calmest) > 1 else calmest[0]


def validation_stays(attempt: AttemptView, step: float, least: float) -> bool | None:
    """Whether a validation loss rises by less than ``least`` at a step, and no score falls by half; None if
    no validation loss was logged on both sides of the step."""
    validation = attempt.validation_loss
    if validation is None or validation is attempt.loss:
        return None
    steps, y = positive(validation)
    before, after = y[steps < step][-4:], y[steps >= step][:4]
    scores = (s for s in attempt.by_role(Role.VALIDATION_SCORE) if direction(s) > 0)
    levels = ((s.values[s.steps < step][-4:], s.values[s.steps >= step][:4]) for s in scores)
    lost = any(median(now) < 0.5 * median(then) for then, now in levels)
    return not lost and median(after) - median(before) < least if len(before) and len(after) else None


@kept
def learned_before(view: View) -> Floats:
    """For each attempt the lowest level [log units] at which an earlier one ended; infinite for the first."""
    ends = (positive(a.loss)[1][-JOIN_SAMPLES:] if a.loss is not None else () for a in view.attempts)
    levels = (median(np.array(end)) if len(end) else np.inf for end in ends)
    return np.minimum.accumulate([np.inf, *levels])


DISTURBANCES = having(Trait.UNDOABLE)  # states of the weights, which a rollback is meant to undo
Disturbances = dict[str | None, list[Finding]]  # by the name of their attempt


def judged(view: View, findings: Sequence[Finding]) -> tuple[Join, ...]:
    """The joins, each rollback with evidence of what it left behind. ``inside_pattern`` and
    ``inside_start_step``: the disturbance that ``to_step`` lies in (not far enough); ``left_pattern`` and
    ``left_start_step``: the first disturbance that was undone, ``margin_steps`` before it; ``again_step``:
    where the later attempt has one at the same steps once more."""
    undoable = (drawn(finding) for finding in findings if finding.pattern in DISTURBANCES)
    disturbances: Disturbances = grouped(undoable, attrgetter("attempt"))
    joins = ((join, _left_behind(view, join, disturbances)) for join in view.timeline.joins)
    return tuple(replace(join, evidence={**join.evidence, **left}) if left else join for join, left in joins)


def _left_behind(view: View, join: Join, disturbances: Disturbances) -> dict[str, Any]:
    if join.kind is not JoinKind.ROLLBACK:
        return {}
    way = [join.before]  # the attempts back from the join that held its `to_step` or what came after it
    while (came_by := view.join_into.get(way[-1])) and came_by.to_step > join.to_step:
        way.append(came_by.before)
    names = dict.fromkeys(view.attempts[k].name for k in way)
    undone = [f for name in names for f in disturbances.get(name, ()) if _end(view, f) >= join.to_step]
    if not undone:
        return {}
    first = min(undone, key=lambda f: (f.start_step, -f.severity, f.pattern, f.metric or "", f.attempt or ""))
    evidence: dict[str, Any] = {"left_pattern": first.pattern, "left_start_step": first.start_step}
    if first.start_step <= join.to_step:
        evidence = {"inside_pattern": first.pattern, "inside_start_step": first.start_step}
    else:
        evidence["margin_steps"] = first.start_step - join.to_step
    after = disturbances.get(view.attempts[join.after].name, ())
    again = [f.start_step for f in after if f.start_step <= _end(view, first)]
    return evidence | ({"again_step": min(again)} if again else {})


def _end(view: View, finding: Finding) -> int:
    """Last step of a finding; of one that was not over, the last one of its attempt."""
    if finding.end_step is not None:
        return finding.end_step
    series = view.named(finding.attempt)[0].series
    return max((int(s.steps[-1]) for s in series.values() if len(s)), default=finding.start_step)
