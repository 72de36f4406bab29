"""One step of the kernel: take one logged value. Batch is this function in a loop, nothing else.

Order of a finite sample: warm-up buffer, then pending events, then a fall on trial, then either the active
event (everything else is frozen) or the levels and what their evidence opens.
"""

from __future__ import annotations

import math

from chronicle.classify.kernel import layout as at
from chronicle.classify.kernel.events import close_all, emit, follow_active, follow_pending
from chronicle.classify.kernel.falls import judge_drop
from chronicle.classify.kernel.layout import Memory, Row
from chronicle.classify.kernel.warmup import first_noise, leave_log_domain, transform
from chronicle.classify.kernel.watch import last_word, stir, watch


def start(mem: Memory) -> None:
    """Set the memory of a series that has no sample yet; all of it must be zero."""
    state = mem.state
    state[at.BAD_SINCE] = -1.0
    state[at.DROP_ONSET] = -1.0
    state[at.OVER_RATE] = 0.003
    state[at.OVER_MEAN] = 0.4
    state[at.SAME_VALUE] = math.nan
    state[at.BEST] = 1e18


def step(mem: Memory, value: float) -> None:
    """Take one logged value, NaN and Inf included. At most SLOTS + 2 event rows are added to ``mem.out``."""
    state = mem.state
    i = state[at.INDEX]
    state[at.INDEX] = i + 1.0
    if not abs(value) < math.inf:
        not_finite(mem, i)
        return
    if state[at.BAD_COUNT] > 0.0:
        end_not_finite(mem, i - 1.0)
    same_value(mem, value, i)
    if state[at.STARTED] == 0.0:
        slot = mem.warm[int(state[at.WARMED])]
        slot[0] = value
        slot[1] = i
        state[at.WARMED] += 1.0
        if state[at.WARMED] == at.WARM:
            replay(mem)
        return
    if state[at.DOMAIN] == 0.0 and value < 0.0:
        leave_log_domain(mem)
    judge(mem, transform(mem, value), i)


def finish(mem: Memory) -> None:
    """The log is over: judge a short log, apply the end-of-log test, report all that is open."""
    state = mem.state
    if state[at.STARTED] == 0.0 and state[at.WARMED] > 0.0:
        replay(mem)
    nothing_else = state[at.SAME_COUNT] >= 8.0 and state[at.SAME_LONGEST] == 0.0
    if frozen(state) or nothing_else:
        report_run(mem, at.IS_FROZEN, state[at.SAME_SINCE], -1.0, state[at.SAME_COUNT])
    if state[at.BAD_COUNT] > 0.0:
        report_run(mem, at.IS_NONFINITE, state[at.BAD_SINCE], -1.0, state[at.BAD_COUNT])
    elif state[at.STARTED] > 0.0:
        last_word(mem)
        close_all(mem, 0.0)


def run(mem: Memory, values: Row, start_at: int) -> int:
    """Step over values from an index on until the output is half full; returns the index of the next."""
    i = start_at
    while i < len(values) and mem.state[at.EMITTED] < 0.5 * at.ROWS:
        step(mem, values[i])
        i += 1
    return i


def not_finite(mem: Memory, i: float) -> None:
    """A NaN or Inf: what is open ends in it."""
    state = mem.state
    if state[at.BAD_COUNT] == 0.0:
        state[at.BAD_SINCE] = i
        if state[at.STARTED] == 0.0 and state[at.WARMED] >= 8.0:
            replay(mem)
        if state[at.STARTED] > 0.0:
            state[at.INDEX] = i  # the finite part ended one sample ago
            close_all(mem, 1.0)
            state[at.INDEX] = i + 1.0
    state[at.BAD_COUNT] += 1.0


def end_not_finite(mem: Memory, last: float) -> None:
    """The values are finite again."""
    report_run(mem, at.IS_NONFINITE, mem.state[at.BAD_SINCE], last, mem.state[at.BAD_COUNT])
    mem.state[at.BAD_COUNT] = 0.0


def same_value(mem: Memory, value: float, i: float) -> None:
    """Keep count of bit-equal values in a row."""
    state = mem.state
    if value == state[at.SAME_VALUE]:
        state[at.SAME_COUNT] += 1.0
        return
    if frozen(state):
        report_run(mem, at.IS_FROZEN, state[at.SAME_SINCE], i - 1.0, state[at.SAME_COUNT])
    state[at.SAME_LONGEST] = max(state[at.SAME_LONGEST], state[at.SAME_COUNT])
    state[at.SAME_VALUE] = value
    state[at.SAME_SINCE] = i
    state[at.SAME_COUNT] = 1.0


def frozen(state: Row) -> bool:
    """32 equal values in a row, and eight times what this series had shown before (quantised logs repeat)."""
    return state[at.SAME_COUNT] >= 32.0 and state[at.SAME_COUNT] >= 8.0 * state[at.SAME_LONGEST]


def report_run(mem: Memory, kind: float, first: float, last: float, samples: float) -> None:
    """Report a stretch of NaN, Inf or equal values."""
    event = mem.open[0] if mem.state[at.ACTIVE] == 0.0 else mem.open[at.SLOTS - 1]
    row = emit(mem, kind, event, last, 0.0, 0.0)
    row[at.OUT_ONSET] = first
    row[at.OUT_OPENED] = first
    row[at.OUT_PEAK] = first
    row[at.OUT_HEIGHT] = samples
    row[at.OUT_SCORE] = 99.0


def replay(mem: Memory) -> None:
    """Scale the first samples together, then judge them one by one: short logs are judged as well."""
    state, count = mem.state, int(mem.state[at.WARMED])
    positive = True
    for j in range(count):
        positive = positive and mem.warm[j][0] > 0.0
    if not positive:
        sizes = sorted([abs(mem.warm[j][0]) for j in range(count)])
        state[at.DOMAIN] = 1.0
        state[at.UNIT] = max(sizes[count // 2], 1e-12)
    first = [transform(mem, mem.warm[j][0]) for j in range(count)]
    mem.levels[0][at.NOISE] = 1.2 * first_noise(first)
    state[at.STIR] = math.log(0.75 * mem.levels[0][at.NOISE])
    state[at.SHORT] = first[0]
    state[at.LAST] = first[0]
    state[at.STARTED] = 1.0
    for j in range(count):
        judge(mem, first[j], mem.warm[j][1])


def judge(mem: Memory, y: float, i: float) -> None:
    """One finite, transformed sample with index i."""
    state = mem.state
    before = state[at.LAST]
    state[at.SEEN] += 1.0
    state[at.LAST] = y
    mem.ring[int(i) % at.RING] = y
    state[at.SHORT] += (y - state[at.SHORT]) / min(8.0, state[at.SEEN])
    if state[at.DROP_ONSET] < 0.0:
        state[at.BEST] = min(state[at.BEST], state[at.SHORT])
    stir(mem, abs(y - before))
    follow_pending(mem, y, i)
    judge_drop(mem, i)
    if state[at.ACTIVE] > 0.0:
        follow_active(mem, y, i)
    else:
        watch(mem, y, before, i)
