"""Data read twice after a resume.

repeat-data
    Sees: a loss that is falsely low after a resume, until new data come.
    Rule: before a jump up within a resumed attempt the loss lies under the earlier attempt's line by half of
    the jump and 4.5 standard errors, after the jump it is on that line (half of the jump away at most);
    validation, where logged, does not jump. Where the earlier attempt was itself replaying at the join, the
    line is the one that it should have been on.
    Proof: the noise of the loss is, pair by pair, that of data which were read before (see `batch_noise`); it
    needs neither line nor validation, and tells how far back the data lie and where the replay ends.
    Blind to: replays in another order, which make no jump, and a jump in a log that begins after the resume
    (that is a level shift). False alarm: a data cursor is checked for nothing.
    Source: Lightning #18780 (Llama-2 run: 0.13 and 0.25 nats too low for 250 steps each).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from chronicle.classify.batch_noise import Reread, rereads
from chronicle.classify.measure import MEDIAN_ERROR, median, medians, positive, row_medians, wiggle
from chronicle.classify.report import At, Check, Rule, at_least, at_most, finding, noted, renamed, with_more
from chronicle.classify.resumed import LEAST, Resume, resumes, validation_stays
from chronicle.classify.rules import slow_changes
from chronicle.classify.rules.loss_shapes import RISES, SHIFT, typed_findings
from chronicle.classify.thresholds import Thresholds
from chronicle.classify.view import AttemptView, View
from chronicle.metrics.counters import step_gap
from chronicle.model import Finding

REPEAT = "repeat-data"
REPLACED = RISES | {"resume-spike"}
WINDOWS = (8, 16, 32, 64)  # [samples] on either side of the jump
MOST_PLACES = 4096  # places that are tried; of a longer attempt, medians of blocks
PROVED = 0.98  # confidence where the noise proves it: five standard errors and a foretold lag


def find(view: View) -> Iterator[Finding]:
    honest: dict[str, tuple[Resume, float]] = {}  # of attempts with a replay: its line, the step of its end
    proofs = view.once(("rereads",), lambda: rereads(view))
    for attempt in view.attempts:
        joins, proof = resumes(view, attempt), proofs.get(attempt.index)
        jumps = ((join, jump(join, view.thresholds)) for join in (*joins, *further(joins, honest)))
        ends = ((f, join, at[0]) for join, at in jumps if at for f in new_data(view, join, *at))
        replay, join, last = next(ends, (None, None, 0))
        if join is not None:
            honest[attempt.name] = join, float(join.steps[last])
        elif proof is not None:
            replay = read_again(view, attempt, joins, proof)
        if replay is not None and proof is not None:
            replay = replace(with_more(replay, proof.checks(view.thresholds)), confidence=PROVED)
        yield from filter(None, [replay])


def read_again(view: View, attempt: AttemptView, joins: list[Resume], proof: Reread) -> Finding:
    """A replay that its noise proves: at the jump where new data begin, or over what is replayed if there
    is no jump."""
    loss, last_step, limits = attempt.loss, proof.pairing.last_step, view.thresholds
    assert loss is not None
    steps, y = positive(loss)
    end = int(np.searchsorted(steps, last_step, side="right"))
    before, after = y[max(end - WINDOWS[-1], 0) : end], y[end : end + WINDOWS[-1]]
    height = median(after) - median(before) if min(len(before), len(after)) >= LEAST else 0.0
    error = MEDIAN_ERROR * wiggle(y) * (1 / max(len(before), 1) + 1 / max(len(after), 1)) ** 0.5
    jumps = height >= max(limits.moved, limits.known_t * error)
    evidence = [
        *(noted(jump_log=height) if jumps else ()),
        *noted(low_start_step=int(steps[0]), replayed_steps=int(last_step - steps[0])),
        *noted(after=joins[0].parent.name if joins else proof.of),
    ]
    why = "the noise had not been that of data read before"
    shape = shape_near(view, joins[0], end, WINDOWS[1]) if joins and jumps else None
    if shape is not None:
        return ended_by(shape, why, evidence)
    new_at = int(steps[min(end, len(steps) - 1)])
    at = At(attempt, loss, new_at, new_at, new_at) if jumps else At(attempt, loss, steps[0], None, last_step)
    return finding(REPEAT, at, evidence, 0.5 + max(height, 0.0), PROVED, (SHIFT, why))


def further(joins: list[Resume], honest: dict[str, tuple[Resume, float]]) -> Iterator[Resume]:
    """Joins after which the earlier attempt was still replaying, against the line of the one before it."""
    for join in joins:
        earlier, end = honest.get(join.parent.name, (None, 0.0))
        if earlier is not None and join.steps[0] <= end + LEAST * step_gap(join.loss):
            y = join.off + join.line.at(join.steps)
            yield replace(join, parent=earlier.parent, line=earlier.line, off=y - earlier.line.at(join.steps))


def jump(join: Resume, limits: Thresholds) -> tuple[int, int] | None:
    """The sample at which the surest step up is, and the samples of its window; None if there is no step."""
    n = min(len(join.off), join.reach)
    block = max(n // MOST_PLACES, 1)
    level = row_medians(join.off[: n // block * block].reshape(-1, block))
    error = MEDIAN_ERROR * join.line.noise * join.line.inflation / block**0.5
    best, near, window = 0.0, 0, 0
    for w in WINDOWS:
        if len(level) >= 2 * w:
            middle = medians(level, w)
            sure = (middle[w:] - middle[:-w]) / (error * (2 / w) ** 0.5)
            if sure.max() > best:
                best, near, window = float(sure.max()), (int(np.argmax(sure)) + w) * block, w * block
    if best < limits.join_t:
        return None
    around = range(max(near - window // 2, LEAST), min(near + window // 2, n - LEAST) + 1)
    at = max(around, key=lambda i: _rise(join, i, LEAST), default=near)
    clear = _rise(join, at, LEAST) >= limits.midway * _rise(join, near, window) > 0
    return (at, window) if clear else None


def _rise(join: Resume, i: int, window_samples: int) -> float:
    after, before = join.off[i : i + window_samples], join.off[max(i - window_samples, 0) : i]
    return median(after) - median(before)


def new_data(view: View, join: Resume, at: int, window: int) -> Iterator[Finding]:
    """The jump at which a replay ends, if the loss was too low before it and is right after it."""
    limits, height = view.thresholds, _rise(join, at, window)
    half = limits.midway * height
    stays = validation_stays(join.attempt, join.steps[at], half)
    before, after = join.over(max(at - window, 0), at), join.over(at + 1, min(at + 1 + window, join.reach))
    surest = -min(before.t, join.over(0, min(window, at)).t)  # a line is vague far from the join
    checks = [
        at_least("jump", height, "log units", limits.moved, "jump_log"),
        at_least("under the line before it", -before.height, "log units", half, "low_log"),
        at_least("under the line, then or at the join", surest, "standard errors", limits.known_t),
        at_most("off the line after it", abs(after.height), "log units", half),
        Check("validation loss", None, "", "does not jump", stays),
        *noted(low_start_step=int(join.steps[0]), replayed_steps=int(join.steps[at] - join.steps[0])),
        *noted(after=join.parent.name),
    ]
    if any(c.met is False for c in checks):
        return
    why, shape = "the loss had not been too low since the join", shape_near(view, join, at, window)
    place = At(join.attempt, join.loss, join.steps[at], join.steps[at], join.steps[at])
    alone = finding(REPEAT, place, checks, 0.5 + height, 0.9, (SHIFT, why))
    yield alone if shape is None else ended_by(shape, why, checks)


def shape_near(view: View, join: Resume, at: int, window: int) -> Finding | None:
    """What the loss alone looks like at the jump, for want of its context: a spike, a shift, a divergence."""
    all_turns = view.once(("late rises",), lambda: tuple(slow_changes.TURN.find(view)))
    turns = (f for f in all_turns if f.attempt == join.attempt.name)
    shapes = [f for f in (*typed_findings(view, join.loss), *turns) if f.pattern in REPLACED]
    away = {f.start_step: abs(int(np.searchsorted(join.steps, f.start_step)) - at) for f in shapes}
    near = [f for f in shapes if away[f.start_step] <= max(window // 2, LEAST)]
    return min(near, key=lambda f: away[f.start_step], default=None)


def ended_by(shape: Finding, why: str, checks: Sequence[Check]) -> Finding:
    """A replay in the place of the shape that the jump to new data looks like."""
    start = shape.start_step
    return replace(renamed(shape, REPEAT, checks, why=why), peak_step=start, end_step=start)


RULE = Rule("repeated-data", (REPEAT,), find, replaces=REPLACED)
