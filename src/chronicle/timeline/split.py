"""Cuts a log that holds several attempts where its step goes back for good.

A step goes back for five reasons. Rows out of order and repeated steps are sorted and reported here. A
rollback, a relaunch and another seed begin a new attempt; `trainings` decides which of the three it is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from chronicle.metrics.arithmetic import equal, median, terms_of_sums
from chronicle.metrics.names import LOSSES
from chronicle.model import Attempt, Floats, Role, Series, StepBack, Steps
from chronicle.timeline.courses import Index, clock, distinct_in
from chronicle.timeline.joins import JUMP_SAMPLES, planned

_SHORT_SAMPLES = 3  # a row no farther than this from its place is out of order, not trained again
_SHUFFLED_SHARE = 0.25  # a log whose step goes back in a larger share of its rows has no order at all
_RARE_SHARE = 0.02  # a larger share of short returns comes from ranks that share one log, not from restarts
_FEW_CUTS = 8  # any log may hold this many attempts; more are limited by the three constants below
_MOST_CUTS, _MOST_SHORT_RETURNS = 1000, 50
_ROWS_BETWEEN_CUTS = 10  # shorter attempts on average are ranks that write by turns
_NEAR_SAMPLES = 256  # how far back the steps that a short return logs again are looked for
_BATCH_FALLS = 4096  # falls that are compared in one array, to limit its memory
_LEAST_PAUSE_S = 2.0  # of a launch; shorter pauses tell nothing
_PAUSE_SHARE = 0.5  # share of a launch's pause that the pause of a resume must have
_FAR_ABOVE = 10.0  # a pause or a leap of a clock stands out if it is this many times larger than all others
_RESUMES_PER_LAUNCH = 2  # pauses that are more frequent are evaluations or checkpoints
_JUMP_LOG = math.log(1.3)  # [log units] schedules move by less at any step, unless they jump
_CLOCK_SHARE = 0.5  # share of the points of the longest loss that a clock must have
_ELAPSED = re.compile(r"(?:.*/)?(?:time_elapsed|elapsed(?:[_ ]time|_s| \(s\))?|_?runtime|(?:wall_)?time)")
_BLOCKS = (
    "Blocks of rows of {name} are out of order, and no step is in two of them, so they were sorted as one "
    'attempt. `relation = "attempts"` in run.toml cuts the log where the step goes back.'
)
_SORTED = (
    "The step of {name} goes back in {down} of {rows} rows, which were taken to be out of order and sorted. "
    "If several processes wrote this log, name the log of one of them in `paths` of run.toml."
)
_PAUSED = (
    "{name} continues at step {steps} after a pause as long as that of a launch, with a clock that starts "
    "again, or off the schedule of its learning rate, which was taken for a resume. It may have been a hang."
)
_SUMMED = (
    "{metric} of {name} rises at every row and begins again with one term, so it was taken for a sum since "
    "the beginning of each epoch: figures show the sums, the text and the verdict are about what rows add. "
    "If it is no sum, give it another role with `roles` in run.toml."
)


def split(
    attempts: Sequence[Attempt], *, relation_given: bool
) -> tuple[list[Attempt], list[str], list[StepBack]]:
    """All attempts in the logs, with their rows sorted by step; the doubts; and where rows were out of order
    or a step was logged again. Several attempts of one log are named ``name#1``, ``name#2`` in its order.
    With ``relation_given`` (by run.toml) a log is also cut where blocks of rows may be out of order."""
    parts: list[Attempt] = []
    doubts: list[str] = []
    backs: list[StepBack | None] = []
    for attempt in attempts:
        losses = [s for s in attempt.series.values() if s.role in LOSSES]
        summed = (s.metric for s in losses if terms_of_sums(s.values) is not None)
        doubts += [_SUMMED.format(metric=metric, name=attempt.name) for metric in summed]
        by_time = _in_order(attempt, _by_wall_clock)
        logged, ticks = _ticks(attempt), _ticks(by_time)
        if logged is None or ticks is None:
            parts.append(attempt)
            continue
        cuts, doubt = _cuts(by_time, ticks, relation_given=relation_given)
        doubts += [doubt] if doubt else []
        pieces = _cut(by_time, ticks, cuts)
        parts += pieces
        backs += [_disorder(attempt.name, logged, ticks, len(cuts)), *map(_repeats, pieces)]
    return parts, doubts, [back for back in backs if back is not None]


def _cuts(log: Attempt, ticks: Series, *, relation_given: bool) -> tuple[list[int], str]:
    """The rows of its clock at which further attempts of a log begin, and the doubt about them, or ""."""
    cuts = counter_restarts(log, ticks) or attempt_starts(ticks)
    resumed = process_starts(log, ticks, cuts)
    if cuts and not relation_given and _are_blocks(ticks, cuts):
        return [], _BLOCKS.format(name=log.name)
    if not cuts and (down := len(steps_back(ticks.steps))) > _rare_returns(ticks):
        return [], _SORTED.format(name=log.name, down=down, rows=len(ticks))
    if resumed:
        at_steps = ", ".join(map(str, ticks.steps[resumed]))
        return sorted({*cuts, *resumed}), _PAUSED.format(name=log.name, steps=at_steps)
    return cuts, ""


def _ticks(attempt: Attempt) -> Series | None:
    """The clock of an attempt, or a loss that is logged more than twice as often: a clock with few points,
    such as a score of evaluations, would miss launches between them."""
    ticks = clock(attempt)
    longest = max((*attempt.by_role(Role.LOSS), *attempt.by_role(Role.PART_LOSS)), key=len, default=ticks)
    ticks = longest if ticks and longest and len(ticks) < _CLOCK_SHARE * len(longest) else ticks
    return ticks and _with_later_stages(attempt, ticks)


def _with_later_stages(attempt: Attempt, ticks: Series) -> Series:
    """The clock, and behind its end the losses of later stages of the training, if these have other names and
    begin at steps before that end: the `Training loss` of a fine-tuning behind the `loss` of all before."""
    ends = -1 if ticks.rows is None or len(attempt.sources) > 1 else int(ticks.rows[-1])

    def is_later(loss: Series) -> bool:
        begins_again = len(loss) >= _ROWS_BETWEEN_CUTS and loss.steps[0] < ticks.steps[-1]
        return begins_again and loss.rows is not None and loss.rows[0] > ends >= 0

    stage = max(filter(is_later, attempt.by_role(Role.LOSS)), key=len, default=None)
    if stage is None or ticks.rows is None or stage.rows is None:
        return ticks
    steps, rows = np.append(ticks.steps, stage.steps), np.append(ticks.rows, stage.rows)
    values, times = np.append(ticks.values, stage.values), np.append(ticks.times, stage.times)
    return _with_later_stages(attempt, replace(ticks, steps=steps, values=values, times=times, rows=rows))


def _cut(attempt: Attempt, ticks: Series, cuts: list[int]) -> list[Attempt]:
    if not cuts:
        return [_in_order(attempt, _by_step)]
    series: list[dict[str, Series]] = [{} for _ in range(len(cuts) + 1)]
    one_file = len(attempt.sources) == 1
    for metric, points in attempt.series.items():
        piece = _piece_of_rows(points, ticks, cuts, one_file=one_file)
        order = np.argsort(piece, kind="stable")
        for k, rows in enumerate(np.split(order, np.searchsorted(piece[order], np.arange(1, len(series))))):
            if len(rows):
                series[k][metric] = _by_step(points.pick(rows))
    facts = {name: value for name, value in attempt.facts.items() if name not in ("ended", "exit_code")}
    early = replace(attempt, facts=facts, faults=(), truncated=False)
    pieces = zip([early] * len(cuts) + [attempt], series, strict=True)
    return [replace(log, name=f"{log.name}#{n}", series=own) for n, (log, own) in enumerate(pieces, 1)]


def _in_order(attempt: Attempt, order: Callable[[Series], Series]) -> Attempt:
    """The attempt with all its series sorted by ``order``, if the step goes back in any of them."""
    if not any((s.steps[1:] < s.steps[:-1]).any() for s in distinct_in(attempt)):
        return attempt
    return replace(attempt, series={m: order(s) for m, s in attempt.series.items()})


def _by_step(series: Series) -> Series:
    return series.pick(np.argsort(series.steps, kind="stable")) if len(steps_back(series.steps)) else series


def steps_back(steps: Steps) -> Index:
    """Rows whose step is lower than the row before. A difference could overflow: steps may be 2**63 - 1."""
    return np.flatnonzero(steps[1:] < steps[:-1]) + 1


def _by_wall_clock(series: Series) -> Series:
    """The rows sorted by time, if steps then grow at more rows than in the order of the file."""
    if not len(steps_back(series.steps)) or not np.isfinite(series.times).all():
        return series
    by_time = series.pick(np.argsort(series.times, kind="stable"))
    # Sorting would interleave two trainings that ran at the same time, and repeat their steps.
    return by_time if _count_not_growing(by_time.steps) < _count_not_growing(series.steps) else series


def _count_not_growing(steps: Steps) -> int:
    return int(np.count_nonzero(steps[1:] <= steps[:-1]))


def counter_restarts(attempt: Attempt, ticks: Series) -> list[int]:
    """Rows of the clock at which another counter that is logged with it starts again, if the step goes back
    at no other row: a relaunched program counts an agent's episodes from the first (or the 100th) again."""
    down = steps_back(ticks.steps)
    for series in attempt.series.values() if len(down) else ():
        values = series.values
        if series is ticks or not series.has_steps_of(ticks):
            continue
        begins = np.flatnonzero(values[1:] <= values[:-1]) + 1
        again = len(begins) > 0 and (values[begins] == values[0]).all() and np.isin(down, begins).all()
        are_whole = np.isfinite(values).all() and (values == np.floor(values)).all()
        if not again or not are_whole or len(values) <= _SHORT_SAMPLES * len(begins):
            continue
        # A counter of batches starts again with each epoch, and one that is logged every 50th at 50.
        is_of_process = values[0] in (0, 1) and not _with_epochs(attempt, ticks, begins, down)
        if is_of_process or len(begins) == len(down):
            return begins.tolist()
    return []


def attempt_starts(series: Series) -> list[int]:
    """Rows of the clock at which a new attempt begins (never row 0)."""
    down = _begins_again(series)
    if _all_from_first(series.steps, down):
        return [*down.tolist()]
    if not len(down) or len(down) > max(2, _SHUFFLED_SHARE * len(series)):
        return []
    returns, short = _returns(series, down)
    cuts = sorted(returns + short) if len(short) <= _rare_returns(series) else returns
    return cuts if len(cuts) <= _most_cuts(series.steps) else []


def _all_from_first(steps: Steps, down: Index) -> bool:
    """Whether steps fall to the first one alone, as where every launch appends to the log, and some launches
    logged only a few rows. Where rows are out of order, or ranks write by turns, they fall to others too."""
    if (steps[down] != steps[0]).any() or _count_not_growing(steps) != len(down):
        return False
    few = len(down) <= max(_FEW_CUTS, len(steps) / (_SHORT_SAMPLES + 1))
    return few or len({*np.diff(down).tolist()}) > _SHORT_SAMPLES  # ranks write equally often


def _returns(series: Series, down: Index) -> tuple[list[int], list[int]]:
    """Rows at which training went back and on from there, and those at which it went back over a few points,
    which are starts if they are rare."""
    steps = series.steps
    cuts, short = list[int](), list[int]()
    begin, highest = 0, int(steps[: down[0]].max())
    ends = np.append(down[1:], len(series))
    for row, end, is_disorder in zip(down.tolist(), ends.tolist(), _are_disorder(series, down), strict=True):
        if not is_disorder:
            near = slice(max(begin, row - _NEAR_SAMPLES), row)
            n_again = int(np.searchsorted(steps[row:end], highest, side="right"))
            if len(np.unique(steps[near][steps[near] >= steps[row]])) <= _SHORT_SAMPLES:
                many = len(short) > _rare_returns(series)  # then none is a start
                if not many and _trained_again(series, near, slice(row, row + n_again)):
                    short.append(row)
            # Otherwise a few rows were late, and the log goes on from its highest step.
            elif n_again == end - row or n_again > _SHORT_SAMPLES:
                cuts.append(row)
                begin, highest = row, int(steps[end - 1])
        highest = max(highest, int(steps[end - 1]))  # between two falls the steps only grow
    return cuts, short


def _begins_again(series: Series) -> Index:
    """Rows whose step is lower than the row before, and in a log that has such rows also those that repeat
    its first step, after a launch of one row. If others repeat as well, or at once, it is one step."""
    steps, times = series.steps, series.times
    down, repeats = steps_back(steps), np.flatnonzero(steps[1:] == steps[:-1]) + 1
    if not 0 < len(repeats) <= len(down) or (steps[repeats] != steps[0]).any():
        return down
    pauses = times[repeats] - times[repeats - 1]
    at_once = _FAR_ABOVE * pauses < median(np.diff(times))  # false where a time is unknown
    return down if at_once.any() else np.union1d(down, repeats)


def _most_cuts(steps: Steps) -> float:
    return max(_FEW_CUTS, min(_MOST_CUTS, len(steps) / _ROWS_BETWEEN_CUTS))


def process_starts(attempt: Attempt, ticks: Series, cuts: Sequence[int]) -> list[int]:
    """Rows of the clock, other than the ``cuts``, at which a new process continued where one had ended: a
    clock of the process starts again, or leaps at a step that is logged again; or there is a pause after
    which the learning rate leaves its schedule; or a pause half as long as that of a launch and ten times
    longer than any other, which may also be a hang."""
    clocks = (s for m, s in attempt.series.items() if s is not ticks and _ELAPSED.fullmatch(m.lower()))
    elapsed = next((s.values for s in clocks if s.has_steps_of(ticks)), np.empty(0))
    restarts = _clock_restarts(attempt, ticks, elapsed, cuts) + _clock_leaps(ticks, elapsed)
    return sorted({*_pauses(ticks.times, cuts), *restarts, *_leaves_schedule(attempt, ticks)} - {*cuts})


def _pauses(times: Floats, cuts: Sequence[int]) -> list[int]:
    if not cuts:
        return []
    pause = np.diff(times, prepend=times[0])
    launch = float(pause[list(cuts)].min())
    pause[list(cuts)] = 0.0
    long = np.flatnonzero(pause >= max(_LEAST_PAUSE_S, _PAUSE_SHARE * launch))
    if launch < _LEAST_PAUSE_S or not 0 < len(long) <= _RESUMES_PER_LAUNCH * len(cuts):
        return []
    return long.tolist() if pause[long].min() >= _FAR_ABOVE * np.delete(pause, long).max() else []


def _leaves_schedule(attempt: Attempt, ticks: Series) -> list[int]:
    """Rows of the clock at which the learning rate jumps by a factor of 1.3 or more, neither beside a similar
    jump nor as `joins.planned`, after a pause ten times the usual and twice as long as all others."""
    rate = next((s for s in attempt.by_role(Role.LEARNING_RATE) if s.has_steps_of(ticks)), None)
    if rate is None or len(rate) < 4 * JUMP_SAMPLES or not np.isfinite(ticks.times).all():
        return []
    rates = np.where((rate.values > 0) & np.isfinite(rate.values), rate.values, np.nan)
    jump, pause = np.abs(np.diff(np.log(rates))), np.diff(ticks.times)
    tick = min(pause[pause > 0], default=0.0)  # of a clock with whole seconds
    long = pause >= max(_FAR_ABOVE * max(median(pause), tick), _LEAST_PAUSE_S)
    inner = np.flatnonzero((long & (jump >= _JUMP_LOG))[JUMP_SAMPLES:-JUMP_SAMPLES]) + JUMP_SAMPLES
    alone = [i for i in inner.tolist() if max(jump[i - 1], jump[i + 1]) < _JUMP_LOG / 4]
    usual = max(np.delete(pause, alone), default=0.0)
    return [i + 1 for i in alone if usual < _PAUSE_SHARE * pause[i] and not planned(rates, i)]


def _clock_leaps(ticks: Series, elapsed: Floats) -> list[int]:
    """Rows that repeat a step where the elapsed seconds leap: a new process counts from another moment."""
    again = np.flatnonzero(ticks.steps[1:] == ticks.steps[:-1]) if len(elapsed) else np.empty(0, np.intp)
    if not 0 < len(again) <= _rare_returns(ticks):
        return []
    moves = np.abs(np.diff(elapsed))
    leaps = moves[again].min() > _FAR_ABOVE * np.delete(moves, again).max(initial=0.0)
    return (again + 1).tolist() if leaps else []


def _clock_restarts(attempt: Attempt, ticks: Series, elapsed: Floats, cuts: Sequence[int]) -> list[int]:
    """Rows of the clock at which the elapsed seconds of a process, and not those of an epoch, start again."""
    if not len(down := np.flatnonzero(elapsed[1:] < elapsed[:-1]) + 1):
        return []
    moves = np.abs(np.diff(elapsed))
    begin = elapsed[0] + _SHORT_SAMPLES * median(moves[moves > 0])  # the time of a step often stands still
    restarts = (elapsed[down] <= begin) & (elapsed[down - 1] > begin)
    back = np.setdiff1d(down, cuts)
    of_epochs = _with_epochs(attempt, ticks, down, cuts)
    return back.tolist() if restarts.all() and not of_epochs and len(back) <= _most_cuts(ticks.steps) else []


def _with_epochs(attempt: Attempt, ticks: Series, begins: Index, cuts: Sequence[int] | Index) -> bool:
    """Whether what starts again at these rows of the clock does so with each epoch, the ``cuts`` apart."""
    if attempt.axis == "epoch":
        return False
    back = np.setdiff1d(begins, cuts)
    epoch = next((s for s in attempt.by_role(Role.EPOCH) if s.has_steps_of(ticks)), None)
    if epoch is not None:
        return bool((np.floor(epoch.values[back]) != np.floor(epoch.values[back - 1])).any())
    # without a logged epoch: what starts again at equal distances, at the ends sooner
    lengths = np.diff([0, *begins, len(ticks)])
    whole = lengths[1:-1] if len(lengths) > 3 else lengths[:-1]
    return bool(np.ptp(whole) <= 1 and max(lengths[0], lengths[-1]) <= whole[0] + 1)


def _are_disorder(series: Series, down: Index) -> list[bool]:
    """Which falls are disorder: few rows nearby have higher steps, and no step after has two values."""
    steps = series.steps
    padded = np.concatenate([np.full(_NEAR_SAMPLES, np.iinfo(np.int64).min), steps])
    windows = np.lib.stride_tricks.sliding_window_view(padded, _NEAR_SAMPLES)  # windows[i] ends before row i
    parts = np.array_split(down, len(down) // _BATCH_FALLS + 1)
    few = [np.count_nonzero(windows[at] >= steps[at, None], axis=1) <= _SHORT_SAMPLES for at in parts]
    _, first, step = np.unique(steps, return_index=True, return_inverse=True)
    twice = (np.bincount(step, ~equal(series.values, series.values[first][step])) > 0)[step]
    return [*(np.concatenate(few) & ~np.logical_or.reduceat(twice, down)).tolist()]


def _rare_returns(series: Series) -> float:
    return max(3.0, min(_MOST_SHORT_RETURNS, _RARE_SHARE * len(series)))


def _trained_again(series: Series, old: slice, new: slice) -> bool:
    _, i, j = np.intersect1d(series.steps[old], series.steps[new], return_indices=True)
    return not equal(series.values[old][i], series.values[new][j]).all()


def _are_blocks(ticks: Series, cuts: list[int]) -> bool:
    """Whether the pieces are blocks in a wrong order: none overlap, each begins where another ends, and no
    clock says that they were written in this order."""
    ranges = sorted(_ranges(ticks.steps, cuts))
    longest = max(high - low for low, high in ranges)
    goes_on = (ticks.times[cuts] > ticks.times[np.array(cuts) - 1]).all()
    return not goes_on and all(0 < b[0] - a[1] <= longest for a, b in pairwise(ranges))


def _ranges(steps: Steps, cuts: list[int]) -> list[tuple[int, int]]:
    return [(int(piece.min()), int(piece.max())) for piece in np.split(steps, cuts)]


def _piece_of_rows(series: Series, ticks: Series, cuts: list[int], *, one_file: bool) -> Index:
    """For each row of a series the number of the piece it belongs to, given the cuts of the clock: by the
    lines of the log, else by the times, else by the steps alone."""
    if series.has_steps_of(ticks):
        return np.searchsorted(cuts, np.arange(len(series)), side="right")
    rows, of_ticks = series.rows, ticks.rows
    if one_file and rows is not None and of_ticks is not None and (np.diff(of_ticks) >= 0).all():
        piece = np.searchsorted(of_ticks[cuts], rows, side="right")
        end = np.array([*cuts, len(ticks)])[piece] - 1
        last, first = ticks.steps[end], ticks.steps[np.minimum(end + 1, len(ticks) - 1)]
        # An evaluation between two pieces is of that whose end is nearer, if the step goes back there.
        early = (first < last) & (series.steps < first / 2 + last / 2)
        return np.asarray(piece + ((rows > of_ticks[end]) & early))
    if np.isfinite(series.times).all() and np.isfinite(ticks.times).all():
        # The middle of the pause: an attempt may log a metric before the first step of its clock.
        seams = [(ticks.times[c - 1] + ticks.times[c]) / 2 for c in cuts]
        if all(a < b for a, b in pairwise(seams)):
            return np.searchsorted(seams, series.times, side="right")
    return _piece_by_steps(series.steps, ticks.steps, cuts)


def _piece_by_steps(steps: Steps, of_ticks: Steps, cuts: list[int]) -> Index:
    """Like `_piece_of_rows`, but by steps alone: the next piece begins where the steps go back, or are beyond
    the piece before."""
    are_repeated = _count_not_growing(steps) > 2 * len(cuts)
    goes_back = steps[1:] < steps[:-1] if are_repeated else steps[1:] <= steps[:-1]
    n_back = np.searchsorted(np.flatnonzero(goes_back) + 1, np.arange(len(steps)), side="right")
    ends = np.maximum.accumulate([end for _, end in _ranges(of_ticks, cuts)[:-1]])
    return np.minimum(np.maximum(n_back, np.searchsorted(ends, steps)), len(cuts))


def _disorder(name: str, logged: Series, by_time: Series, cuts: int) -> StepBack | None:
    """Rows out of order, given the clock in the order of the log and of time, and the number of cuts."""
    down = len(steps_back(logged.steps))
    if down <= cuts:
        return None
    mended = down - len(steps_back(by_time.steps))
    evidence: dict[str, Any] = {"rows": len(logged), "falls": down, "cuts": cuts}
    if mended > 0:
        evidence["mended_by_wall_clock"] = mended
    else:
        moves = np.argsort(logged.steps, kind="stable") - np.arange(len(logged))
        evidence["farthest_rows"] = int(np.abs(moves).max()) if not cuts else None
    return StepBack("disorder", (name,), down - cuts, evidence)


def _repeats(attempt: Attempt) -> StepBack | None:
    if (ticks := clock(attempt)) is None or not (again := ticks.steps[1:] == ticks.steps[:-1]).any():
        return None
    a, b = ticks.values[1:][again], ticks.values[:-1][again]
    n_equal = int(np.count_nonzero(equal(a, b)))
    return StepBack("repeats", (attempt.name,), len(a), {"rows": len(ticks), "equal_values": n_equal})
