"""Failed run: it never learned, or attempt after attempt dies.

Sees: a loss that stays where its first values were; a run of which nearly every attempt ends risen.
Rule: the log starts with the run, no eighth of it has a median 3 % below its first two values (where scores
are logged: the next two), nor has any other loss, and no score moves by 2 % and three times what neighbours
differ by; batches differ by 3 % at most (a model that knows nothing loses as much on every batch; one that
was trained before does not); or a step takes all but 15 % of what was learned, and batches differ as little
after it; or at least three attempts, three quarters of which end in NaN or 3 % (and six errors) above their
own minimum, and not because a replay of data ended.
Blind to: a run that learned a little and stopped (plateau). False alarm: fine-tuning in large batches that
starts at the floor.
Source: BigScience tr8 (104B): attempts that ended alike, and its lessons learned.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from chronicle.classify.measure import positive
from chronicle.classify.report import at_least, at_most, criterion, found
from chronicle.classify.rules import replay, uturn
from chronicle.classify.view import AttemptView, View, step_gap
from chronicle.model import Finding, Floats, Role, Series

FAILED = "failed-run"
PATTERNS = (FAILED,)
FEWEST = 16  # points of an attempt that is long enough to have learned
ATTEMPTS = 3


def find(view: View) -> Iterator[Finding]:
    """At most one finding: of the whole run, or of an attempt that never learned."""
    dying = list(every_attempt_dies(view))
    yield from dying
    if not dying:
        for attempt in view.attempts:
            yield from never_learned(view, attempt) or forgot(view, attempt)


def never_learned(view: View, attempt: AttemptView) -> list[Finding]:
    """The loss of a whole log stays where it began."""
    loss = attempt.loss
    steps, y = positive(loss) if loss is not None else (np.empty(0), np.empty(0))
    if loss is None or len(y) < FEWEST or steps[0] > max(0.02 * steps[-1], step_gap(loss)):
        return []
    least, noise, told = view.thresholds.learned, view.noise(loss), scores(attempt)
    # what is learned before any score moves is the scale of the outputs, by the first samples
    gain = learned(y[2:] if told else y)
    others = [positive(s)[1] for s in attempt.by_role(Role.LOSS, Role.VALIDATION_LOSS) if s is not loss]
    elsewhere = any(learned(part) >= least for part in others if len(part) >= FEWEST)
    if (
        gain >= least
        or noise > view.thresholds.knowing
        or elsewhere
        or not all(stands_still(view, s) for s in told)
    ):
        return []
    tests = [
        criterion("lowest eighth below the start", gain, "log units", f">= {least}", False),
        at_most("one-sample noise", noise, "log units", view.thresholds.knowing),
    ]
    if told:
        tests.append(criterion("scores that moved", 0, "scores", f"1 or more of {len(told)}", False))
    return [
        found(
            FAILED,
            attempt,
            loss,
            (steps[0], None, None),
            severity=0.9,
            confidence=0.6 + 0.3 * min(1.0, len(y) / 200),
            evidence={"gained_log": gain, "points_samples": len(y)},
            criteria=tests,
            runner_up=("plateau", "the loss had fallen first and then stood still"),
        )
    ]


def learned(y: Floats) -> float:
    """How far the lowest eighth of log values lies below the first two."""
    return float(np.mean(y[:2])) - min(float(np.median(part)) for part in np.array_split(y, 8))


def scores(attempt: AttemptView) -> list[Series]:
    """The scores of an attempt that are long enough to say whether they move."""
    return [s for s in attempt.by_role(Role.SCORE, Role.VALIDATION_SCORE) if len(s) >= FEWEST]


def stands_still(view: View, score: Series) -> bool:
    """Whether no eighth of a score has a median off its first ones by three times what neighbours differ
    by, or by a fiftieth of it; a score that began near 1 had learned before."""
    v = score.values[np.isfinite(score.values)]
    if len(v) < FEWEST or 0.9 <= v[0] <= 1.0:
        return False
    eighths = np.array([np.median(part) for part in np.array_split(v, 8)])
    moved = float(np.max(np.abs(eighths - eighths[0])))
    return moved <= max(
        3 * float(np.median(np.abs(np.diff(v)))), view.thresholds.unmoved * float(np.max(np.abs(v)))
    )


def forgot(view: View, attempt: AttemptView) -> Iterator[Finding]:
    """A step up to the first level, after which nothing is learned again."""
    loss = attempt.loss
    for shift in view.findings(loss) if loss is not None else ():
        if shift.pattern != "level-shift" or loss is None:
            continue
        steps, y = positive(loss)
        if not len(y) or steps[0] > 0.02 * steps[-1]:
            return
        first, before, after = (
            float(np.mean(y[:2])),
            y[steps < shift.start_step],
            y[steps >= shift.start_step],
        )
        gained = first - float(np.median(before[-FEWEST:]))
        left = first - float(np.median(after[-FEWEST:]))
        noise = float(np.std(after[-FEWEST:]))
        if gained < view.thresholds.learned or left > view.thresholds.first_level * gained:
            continue
        if len(after) < 2 * FEWEST or noise > view.thresholds.knowing:
            continue
        tests = [
            at_least("learned before the step", gained, "log units", view.thresholds.learned),
            at_most("of that left at the end", left / gained, "share", view.thresholds.first_level),
            at_most("spread at the end", noise, "log units", view.thresholds.knowing),
        ]
        yield found(
            FAILED,
            attempt,
            loss,
            (shift.start_step, None, None),
            severity=0.9,
            confidence=0.8,
            evidence={"learned_log": gained, "left_log": left},
            criteria=tests,
            runner_up=("level-shift", "the new level had been below the first one"),
        )


def every_attempt_dies(view: View) -> Iterator[Finding]:
    """Three attempts and more, nearly all of which end above their own minimum or in NaN."""
    long = [a for a in view.attempts if a.loss is not None and len(a.loss) >= FEWEST]
    if len(long) < ATTEMPTS:
        return
    dead = [a for a in long if dies(view, a)]
    if len(dead) >= view.thresholds.dying * len(long):
        replays = {f.attempt for f in replay.find(view)}  # back on the line of the data that are new: alive
        dead = [a for a in dead if a.name not in replays]
    share = len(dead) / len(long)
    if share < view.thresholds.dying:
        return
    starts = [int(a.loss.steps[0]) for a in dead if a.loss is not None]
    yield found(
        FAILED,
        None,
        dead[0].loss,
        (min(starts), None, None),
        severity=1.0,
        confidence=0.6 + 0.4 * share,
        evidence={"attempts": len(long), "died": len(dead)},
        criteria=[
            criterion("attempts", len(long), "attempts", f">= {ATTEMPTS}", True),
            criterion("of them ending risen or in NaN", share, "share", f">= {view.thresholds.dying}", True),
        ],
        runner_up=("divergence-no-spike", "one attempt had come through"),
    )


def dies(view: View, attempt: AttemptView) -> bool:
    """Whether this attempt ends in NaN, or risen above its trend or its minimum."""
    loss, least = attempt.loss, view.thresholds.learned
    assert loss is not None
    for f in view.findings(loss):
        ends_in_nan = f.pattern == "nan-inf" and f.end_step is None
        if ends_in_nan or (f.end_step is None and float(f.evidence.get("residual_log", 0.0)) >= least):
            return True
    return uturn.risen(view, loss) is not None
