"""One step of the kernel: it takes one logged value. Batch processing is this function in a loop.

Order of a finite sample: warm-up buffer, then pending events, then a fall on trial, then either the active
event (everything else is frozen) or the levels and what their evidence opens.
"""

from __future__ import annotations

import math

from chronicle.classify.kernel import levels as at
from chronicle.classify.kernel.events import (
    clear_event,
    close_all,
    emit,
    follow_active,
    follow_pending,
    judge_drop,
    lowest,
    oldest,
    open_event,
    place,
    restart_levels,
)
from chronicle.classify.kernel.levels import Memory, Row, observe, warming

SINGLE_PRECISION = 2.0**-23  # relative distance of neighbours
ASINH_OF_ONE = math.asinh(1.0)


def start(mem: Memory) -> None:
    """Set the memory of a series that has no sample yet; all of it must be zero."""
    state = mem.state
    state[at.BAD_SINCE] = state[at.DROP_ONSET] = -1.0
    state[at.OVER_RATE] = 0.003
    state[at.OVER_MEAN] = 0.4
    state[at.SAME_VALUE] = math.nan
    state[at.BEST] = 1e18


def step(mem: Memory, value: float) -> None:
    """Take one logged value, which may be NaN or Inf. It adds at most SLOTS + 2 event rows to ``mem.out``."""
    state = mem.state
    i = state[at.INDEX]
    state[at.INDEX] = i + 1.0
    if not abs(value) < math.inf:
        not_finite(mem, i)
        return
    if state[at.BAD_COUNT] > 0.0:
        emit_stretch(mem, at.IS_NONFINITE, state[at.BAD_SINCE], i - 1.0, state[at.BAD_COUNT])
        state[at.BAD_COUNT] = 0.0
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
    """The log is over: process a short log, apply the test at the end, and report all open events."""
    state = mem.state
    if state[at.STARTED] == 0.0 and state[at.WARMED] > 0.0:
        replay(mem)
    if frozen(state) or (state[at.SAME_COUNT] >= 8.0 and state[at.SAME_LONGEST] == 0.0):
        emit_stretch(mem, at.IS_FROZEN, state[at.SAME_SINCE], -1.0, state[at.SAME_COUNT])
    if state[at.BAD_COUNT] > 0.0:
        emit_stretch(mem, at.IS_NONFINITE, state[at.BAD_SINCE], -1.0, state[at.BAD_COUNT])
    elif state[at.STARTED] > 0.0:
        judge_end(mem)
        close_all(mem, 0.0)


def run(mem: Memory, values: Row, start_at: int) -> int:
    """Step over values from an index on until the output is half full; returns the index of the next."""
    i = start_at
    while i < len(values) and mem.state[at.EMITTED] < 0.5 * at.ROWS:
        step(mem, values[i])
        i += 1
    return i


def not_finite(mem: Memory, i: float) -> None:
    """A NaN or Inf, in which all open events end."""
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


def same_value(mem: Memory, value: float, i: float) -> None:
    """Keep count of values in a row that are equal in single precision, in which losses are computed."""
    state = mem.state
    if abs(value - state[at.SAME_VALUE]) <= SINGLE_PRECISION * abs(value):
        state[at.SAME_COUNT] += 1.0
        return
    if frozen(state):
        emit_stretch(mem, at.IS_FROZEN, state[at.SAME_SINCE], i - 1.0, state[at.SAME_COUNT])
    if state[at.SAME_COUNT] > state[at.SAME_LONGEST]:
        state[at.SAME_LONGEST] = state[at.SAME_COUNT]
    state[at.SAME_VALUE] = value
    state[at.SAME_SINCE] = i
    state[at.SAME_COUNT] = 1.0


def frozen(state: Row) -> bool:
    """Whether 32 values in a row are equal, and eight times as many as before (quantised logs repeat)."""
    return state[at.SAME_COUNT] >= 32.0 and state[at.SAME_COUNT] >= 8.0 * state[at.SAME_LONGEST]


def emit_stretch(mem: Memory, kind: float, first: float, last: float, samples: float) -> None:
    """Report a stretch of NaN, Inf or equal values."""
    event = mem.open[0] if mem.state[at.ACTIVE] == 0.0 else mem.open[at.SLOTS - 1]
    place(emit(mem, kind, event, last, 0.0, 0.0), first, first, samples, 99.0)


def replay(mem: Memory) -> None:
    """Scale the first samples together, then process them one by one."""
    state, count = mem.state, int(mem.state[at.WARMED])
    if min([mem.warm[j][0] for j in range(count)]) <= 0.0:
        sizes = sorted([abs(mem.warm[j][0]) for j in range(count)])
        state[at.DOMAIN] = 1.0
        state[at.UNIT] = max(sizes[count // 2], 1e-12)
    first = [transform(mem, mem.warm[j][0]) for j in range(count)]
    mem.levels[0][at.NOISE] = 1.2 * first_noise(first)
    state[at.MOVE_LOG] = math.log(0.75 * mem.levels[0][at.NOISE])
    state[at.SHORT] = state[at.LAST] = first[0]
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
    state[at.SHORT] += (y - state[at.SHORT]) / (state[at.SEEN] if state[at.SEEN] < 8.0 else 8.0)
    if state[at.DROP_ONSET] < 0.0 and state[at.SHORT] < state[at.BEST]:
        state[at.BEST] = state[at.SHORT]
    raise_noise(mem, abs(y - before))
    if state[at.PENDING] > 0.0:
        follow_pending(mem, y, i)
    if state[at.DROP_ONSET] >= 0.0:
        judge_drop(mem, i)
    if state[at.ACTIVE] > 0.0:
        follow_active(mem, y, i)
    else:
        observe_quiet(mem, y, before, i)


def raise_noise(mem: Memory, jump: float) -> None:
    """Raise the noise scale where most neighbours differ by more than that: the series has become noisier.
    The scale itself adapts slowly, and not during an event. But an event jumps once, a noisier series always:
    the mean log difference of neighbours (0.75 scales for white noise) tells them apart in 20 samples."""
    state, noise = mem.state, mem.levels[0][at.NOISE]
    moved = math.log(jump if jump > 1e-12 else 1e-12) - state[at.MOVE_LOG]
    state[at.MOVE_LOG] += 0.05 * (-2.0 if moved < -2.0 else 3.0 if moved > 3.0 else moved)
    least = math.exp(state[at.MOVE_LOG]) / (0.75 * 1.5)
    if least > noise:
        for k in range(at.LEVELS):
            mem.levels[k][at.NOISE] *= least / noise


def observe_quiet(mem: Memory, y: float, before: float, i: float) -> None:
    """A sample outside of events: feed the pyramid, test the tail, open an event if there is evidence."""
    state, q = mem.state, mem.levels[0]
    reference = q[at.MEAN]
    z, k, value, fall = feed_pyramid(mem, y, i)
    # if none of three samples is near the tail, no test against its edge can succeed
    calm = z <= 2.0 and state[at.Z] <= 2.0 and state[at.Z_BEFORE] <= 2.0
    edge = 0.0 if calm else max(mem.config[at.CLIP], tail_edge(mem, mem.config[at.TAIL])) * warming(q)
    onset = -1.0
    if k < 0 and not calm and state[at.SEEN] > 8.0:
        onset = two_of_three(mem, y, reference, z, edge, i)
        if onset >= 0.0:
            k, value = 0, y
        else:
            lone_spike(mem, before, y, reference, z, edge, i)
    learn_tail(mem, z, edge, k >= 0)
    if fall >= 0 and state[at.DROP_ONSET] < 0.0:
        state[at.DROP_ONSET] = mem.levels[fall][at.DOWN_ONSET]
        state[at.DROP_BEST] = state[at.BEST]
        for j in range(3):
            mem.levels[j][at.DOWN] = 0.0
    if k >= 0:
        open_event(mem, k, value, max(mem.levels[k][at.UP], z), onset, i)


def feed_pyramid(mem: Memory, y: float, i: float) -> tuple[float, int, float, int]:
    """Feed a sample to level 0 and, when groups are full, their means to the levels above. Returns (excess at
    level 0, lowest level with an alarm upwards or -1, its sample, lowest downwards or -1)."""
    q, clip = mem.levels[0], mem.config[at.CLIP] * mem.levels[0][at.NOISE]
    ref = 2.0 * q[at.MEAN] - q[at.MEAN2]
    ref = ref if ref > q[at.MEAN] else q[at.MEAN]
    low, high = ref - clip, ref + clip
    clipped = y if q[at.COUNT] == 0.0 else low if y < low else high if y > high else y
    z0, up, value, down = 0.0, -1, y, -1
    sample = y
    quiet = mem.state[at.PENDING] == 0.0
    for k in range(at.LEVELS):
        z, is_up, is_down = observe(mem, k, sample, i, quiet)
        if k == 0:
            z0 = z
        if is_up and up < 0:
            up, value = k, sample
        if is_down and down < 0:
            down = k
        q = mem.levels[k]
        q[at.SUM] += clipped if k == 0 else sample
        q[at.COLLECTED] += 1.0
        if q[at.COLLECTED] < at.GROUP:
            break
        sample = q[at.SUM] / at.GROUP
        q[at.SUM] = q[at.COLLECTED] = 0.0
    return z0, up, value, down


def tail_edge(mem: Memory, probability: float) -> float:
    """The excess that a healthy sample exceeds with this probability, by its exponential tail."""
    state = mem.state
    return at.TAIL_FROM + 1.35 * state[at.OVER_MEAN] * math.log(max(state[at.OVER_RATE], 1e-5) / probability)


def two_of_three(mem: Memory, y: float, reference: float, z: float, edge: float, i: float) -> float:
    """Onset of an abrupt event, or -1: two or three of the last three samples are jointly beyond the tail.
    Excesses add up like logarithms of probabilities; a single outlier is not enough."""
    state = mem.state
    if y - reference <= mem.config[at.RISE]:
        return -1.0
    if two_beyond(z, state[at.Z], edge):
        return i - 1.0
    if two_beyond(z, state[at.Z_BEFORE], edge) or three_beyond(z, state[at.Z], state[at.Z_BEFORE], edge):
        return i - 2.0
    return -1.0


def two_beyond(z: float, other: float, edge: float) -> bool:
    """Whether two samples [noise scales] are jointly as unlikely as two at the edge."""
    share = edge - at.TAIL_FROM
    a, b = z - at.TAIL_FROM, other - at.TAIL_FROM
    return min(a, b) >= 0.5 * share and min(a, 1.5 * share) + min(b, 1.5 * share) >= 2.0 * share


def three_beyond(a: float, b: float, c: float, edge: float) -> bool:
    """Whether three samples [noise scales] add up to two at the edge, each at a third of it at least."""
    most = 1.25 * edge
    return min(a, b, c) >= edge / 3.0 and min(a, most) + min(b, most) + min(c, most) >= 2.0 * edge


def lone_spike(
    mem: Memory, before: float, y: float, reference: float, z: float, edge: float, i: float
) -> None:
    """Report the sample before this one if it alone was far beyond the tail."""
    state, cfg = mem.state, mem.config
    need = (cfg[at.LONE_SPARSE] if cfg[at.SPARSE] > 0.0 else cfg[at.LONE_DENSE]) * warming(mem.levels[0])
    least = cfg[at.RISE] * (3.0 if cfg[at.SPARSE] > 0.0 else 10.0)
    alone = z < max(3.0, 0.25 * state[at.Z]) and state[at.Z_BEFORE] < 3.0
    if alone and state[at.Z] > max(edge, need) and before - reference > least:
        event = mem.open[0]
        clear_event(event)
        place(event, i - 1.0, i - 1.0, before - reference, state[at.Z])
        event[at.ABRUPT] = 1.0
        emit(mem, at.IS_LONE, event, i, y - reference, reference)


def learn_tail(mem: Memory, z: float, edge: float, opens: bool) -> None:
    """Update the rate and the mean excess of samples beyond TAIL_FROM. The last three are added after
    their test against it, even if they open an event: a series with many events has heavy tails."""
    state = mem.state
    learn_one(state, state[at.Z_BEFORE], edge)
    if opens:
        learn_one(state, state[at.Z], edge)
        learn_one(state, z, edge)
    state[at.Z_BEFORE] = state[at.Z]
    state[at.Z] = z


def learn_one(state: Row, z: float, edge: float) -> None:
    """Update the tail with a sample that is no longer under test."""
    over = z > at.TAIL_FROM
    if over and z < 2.0 * edge:
        state[at.OVER_MEAN] += (min(z - at.TAIL_FROM, 8.0) - state[at.OVER_MEAN]) * 0.03
    state[at.OVER_RATE] += ((1.0 if over else 0.0) - state[at.OVER_RATE]) / 1000.0


def judge_end(mem: Memory) -> None:
    """The test at the end of the log. It is a single test, not one a sample, so less evidence is enough. A
    turn: the last sample is beyond what one log in a thousand ends with, and the level was off its best by a
    noise scale. A jump: the last sample is twice as far out as the edge of the tail, and 28 % up."""
    state, q, cfg = mem.state, mem.levels[0], mem.config
    rise = state[at.LAST] - q[at.MEAN]
    if state[at.ACTIVE] > 0.0 or state[at.PENDING] > 0.0 or rise <= cfg[at.RISE]:
        return
    i = state[at.INDEX] - 1.0
    turned = state[at.SHORT] - state[at.BEST] > q[at.NOISE]
    alone = 2.0 * max(cfg[at.CLIP], tail_edge(mem, cfg[at.TAIL])) * warming(q)
    if turned and state[at.Z] > max(4.0, tail_edge(mem, cfg[at.END_TAIL])) * warming(q):
        onset = lowest(mem.ring, max(i - cfg[at.MEMORY], oldest(i)), i)
        open_event(mem, 0, state[at.LAST], state[at.Z], onset, i)
    elif state[at.Z] > alone and rise > 10.0 * cfg[at.RISE]:
        open_event(mem, 0, state[at.LAST], state[at.Z], i, i)


def transform(mem: Memory, value: float) -> float:
    """The value in log units, or asinh units of a typical size where it crosses zero; sign applied."""
    if mem.state[at.DOMAIN] == 0.0:
        return mem.config[at.SIGN] * math.log(max(value, 1e-12))
    x = min(abs(value) / mem.state[at.UNIT], 1e150)
    size = math.log(x + math.sqrt(x * x + 1.0))
    return mem.config[at.SIGN] * (size if value >= 0.0 else -size)


def leave_log_domain(mem: Memory) -> None:
    """A series that was positive turns negative: continue in asinh units, at the same level."""
    state = mem.state
    state[at.DOMAIN] = 1.0
    state[at.UNIT] = math.exp(min(max(mem.config[at.SIGN] * mem.levels[0][at.MEAN], -300.0), 300.0))
    restart_levels(mem, mem.config[at.SIGN] * ASINH_OF_ONE, 6.0)
    state[at.PENDING] = state[at.ACTIVE] = 0.0
    for k in range(at.LEVELS):
        mem.levels[k][at.NOISE] *= 0.7  # d asinh(x) = 0.7 d log(x) at x = 1


def first_noise(values: list[float]) -> float:
    """Noise of a few samples: median deviation from the median of five neighbours, or its clipped mean."""
    count = len(values)
    off = [0.0] * count
    for j in range(count):
        near = sorted(values[max(j - 2, 0) : min(j + 3, count)])
        half = len(near) // 2
        middle = near[half] if len(near) % 2 == 1 else 0.5 * (near[half - 1] + near[half])
        off[j] = abs(values[j] - middle)
    ranked = sorted(off)
    median = 0.5 * (ranked[(count - 1) // 2] + ranked[count // 2])
    total = 0.0
    for j in range(count):
        total += min(off[j], 4.0 * median + 1e-3)
    return max(1.4826 * median, 0.6 * total / count, at.FLOOR)
