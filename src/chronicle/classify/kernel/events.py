"""The life of an event: opened, ACTIVE (all references frozen), PENDING (judged beside new ones), over.

An event is active until the loss is back, or until 16 samples (or twice the rise time) after its peak. Then
it is pending: its baseline is extrapolated, the references are set to the new level, and detection continues.
A sustained fall is tested in parallel, during which nothing is frozen.
"""

from __future__ import annotations

import math

from chronicle.classify.kernel import levels as at
from chronicle.classify.kernel.levels import Memory, Row, learn_excursion, set_level


def clear_event(event: Row) -> None:
    """Begin a new event in this row."""
    for field in range(at.EVENT):
        event[field] = 0.0


def place(event: Row, onset: float, peak: float, height: float, score: float) -> None:
    """Write where an event is that was seen at its onset, how tall it is, and by what evidence."""
    event[at.ONSET] = event[at.OPENED] = onset
    event[at.PEAK] = peak
    event[at.HEIGHT] = height
    event[at.SCORE] = score


def emit(mem: Memory, kind: float, event: Row, end: float, residual: float, base: float) -> Row:
    """Write an event row to the output and return it, so that the caller can add to it."""
    row = mem.out[int(mem.state[at.EMITTED])]
    mem.state[at.EMITTED] += 1.0
    row[: at.EVENT] = event
    row[at.KIND] = kind
    row[at.END] = end
    row[at.RESIDUAL] = residual
    row[at.NOISE_SCALE] = mem.levels[0][at.NOISE]
    row[at.INTO_NAN] = row[at.FALLING] = 0.0
    row[at.GROWTH] = residual - event[at.EARLY]
    row[at.LAST_OVER] = mem.state[at.LAST] - base
    return row


def emit_back(mem: Memory, event: Row, residual: float, base: float, i: float) -> None:
    """Report an event that is over by sample i: it ended at the first sample that was not high any more."""
    end = min(max(event[at.LAST_HIGH], event[at.PEAK]) + 1.0, i)
    mem.state[at.QUIET_SINCE] = max(mem.state[at.QUIET_SINCE], end)
    emit(mem, at.IS_BACK, event, end, residual, base)


def baseline(event: Row, i: float) -> float:
    """The level before the event, moved on along its trend in log samples, twice as far as it was seen."""
    until = min(i, event[at.ONSET] + event[at.SPAN])
    return event[at.BASE] + event[at.SLOPE] * math.log((until + 8.0) / (event[at.ONSET] + 8.0))


def set_baseline_slope(mem: Memory, event: Row, finest: int, i: float) -> None:
    """Slope of the baseline in log samples, from the coarsest level where it stands out of the noise. (A mean
    with a memory that grows as n/4 lags 0.8 of it, hence 1.25.)"""
    for k in range(finest, at.LEVELS):
        q = mem.levels[k]
        if k > finest and q[at.FRESH] < 12.0:
            return
        memory = min(max(q[at.FRESH] / 4.0, 2.0), mem.config[at.MEMORY]) * at.BLOCK[k]
        fall = q[at.MEAN2] - q[at.MEAN]
        if fall > 2.0 * q[at.NOISE]:
            event[at.SLOPE] = -1.25 * fall / memory * max(i + 8.0 - memory, 8.0)
            event[at.SPAN] = 8.0 * memory


def open_event(mem: Memory, k: int, y: float, seen: float, onset: float, i: float) -> None:
    """Open an event that level k saw; y is its sample of that level, seen the evidence."""
    event, noise = mem.open[0], mem.levels[0][at.NOISE]
    clear_event(event)
    base_level = max(k, 1) if mem.levels[1][at.COUNT] >= 6.0 else 0  # means of four samples know it better,
    if mem.levels[base_level][at.MEAN] > mem.levels[k][at.MEAN]:  # unless they lag above
        base_level = k
    q = mem.levels[base_level]
    event[at.BASE] = q[at.MEAN]
    if q[at.FRESH] >= mem.config[at.MEMORY]:  # before, the trend is that of two or three samples
        event[at.BASE] = min(q[at.MEAN], 2.0 * q[at.TREND] - q[at.TREND2])
    set_baseline_slope(mem, event, base_level, i)
    event[at.SCORE] = seen
    event[at.SEEN_BY] = float(k)
    event[at.SMOOTH] = y
    event[at.PEAK] = event[at.OPENED] = i
    event[at.EARLY] = y - event[at.BASE]
    if onset < 0.0:
        onset = locate(mem, k, event[at.BASE] + 1.5 * noise, i)
    event[at.ONSET] = max(onset, 0.0)
    if k > 0:
        event[at.HEIGHT] = y - event[at.BASE]
    else:
        event[at.LAST_HIGH] = i
        highest(mem, event, i)
    mem.state[at.ACTIVE] = 1.0
    mem.state[at.Z] = mem.state[at.Z_BEFORE] = 0.0
    clear_evidence(mem)


def locate(mem: Memory, k: int, edge: float, i: float) -> float:
    """Onset: where the CUSUM last left zero; on a coarse level, the first of three clear ones after it."""
    onset, run = mem.levels[k][at.UP_ONSET], 0
    if k > 0:
        for j in range(int(max(onset - at.BLOCK[k], oldest(i))), int(i) + 1):
            run = run + 1 if mem.ring[j % at.RING] > edge else 0
            if run >= 3:
                return j - 2.0
    return onset


def highest(mem: Memory, event: Row, i: float) -> None:
    """Height and peak over the single samples since the onset."""
    for j in range(int(max(event[at.ONSET], oldest(i))), int(i) + 1):
        if mem.ring[j % at.RING] - event[at.BASE] > event[at.HEIGHT]:
            event[at.HEIGHT] = mem.ring[j % at.RING] - event[at.BASE]
            event[at.PEAK] = float(j)


def clear_evidence(mem: Memory) -> None:
    """Reset the evidence of all levels, which now belongs to the event."""
    for k in range(at.LEVELS):
        q = mem.levels[k]
        q[at.UP] = q[at.DOWN] = q[at.SUM] = q[at.COLLECTED] = 0.0


def restart_levels(mem: Memory, level: float, fresh: float) -> None:
    """Set the references of every level on a new level, known as well as after ``fresh`` samples; noise
    scales stay."""
    clear_evidence(mem)
    for k in range(at.LEVELS):
        q = mem.levels[k]
        if q[at.COUNT] > 0.0:
            set_level(q, level)
            q[at.FRESH] = fresh


def follow_active(mem: Memory, y: float, i: float) -> None:
    """One sample of an active event: it is higher, or back, or the event becomes pending."""
    event = mem.open[0]
    base = baseline(event, i)
    event[at.SMOOTH] += (y - event[at.SMOOTH]) / 3.0
    top = (y if event[at.SEEN_BY] == 0.0 else event[at.SMOOTH]) - base
    if top > event[at.HEIGHT]:
        event[at.HEIGHT] = top
        event[at.PEAK] = i
        event[at.BACK_COUNT] = event[at.SUNK] = 0.0  # nothing is back before it peaks
    over = event[at.SMOOTH] - base
    if not is_back(mem, event, y, base, i):
        event[at.BACK_COUNT] = 0.0
    else:
        if event[at.BACK_COUNT] == 0.0:
            event[at.BACK_SINCE] = i
        event[at.BACK_COUNT] += 1.0
        if event[at.BACK_COUNT] >= max(2.0, 0.25 * (event[at.BACK_SINCE] - event[at.PEAK])):
            close_active(mem, over, base, i)
            return
    if i - event[at.PEAK] >= max(mem.config[at.HOLD], 2.0 * (event[at.PEAK] - event[at.ONSET])):
        make_pending(mem, i)


def is_back(mem: Memory, event: Row, y: float, base: float, i: float) -> bool:
    """Whether the smoothed level is back at the baseline, within a capped share of the height or the noise.
    The level 32 samples after the opening is kept, since growth is measured from there."""
    cfg, noise, over = mem.config, mem.levels[0][at.NOISE], event[at.SMOOTH] - base
    within = max(min(cfg[at.BACK] * event[at.HEIGHT], cfg[at.BACK_CAP]), cfg[at.BACK_NOISE] * noise)
    if i - event[at.OPENED] <= 2.0 * cfg[at.HOLD]:
        event[at.EARLY] = over
    track_last_high(event, y - base - within, noise, i)
    return over <= within


def track_last_high(event: Row, above: float, noise: float, i: float) -> None:
    """Update the last high sample: the highest sum of clipped excess is the likeliest end."""
    event[at.SUNK] += min(max(above, -3.0 * noise), 3.0 * noise)
    if event[at.SUNK] >= 0.0:
        event[at.SUNK] = 0.0
        event[at.LAST_HIGH] = i


def close_active(mem: Memory, over: float, base: float, i: float) -> None:
    """The active event is back: report it and go on with the references as they were."""
    event, noise = mem.open[0], mem.levels[0][at.NOISE]
    event[at.ABRUPT] = abruptness(mem.ring, event[at.ONSET], i, event[at.BASE], noise)
    if event[at.HEIGHT] < mem.config[at.CLIP] * noise:  # as single samples: part of the healthy tail
        q = mem.levels[int(event[at.SEEN_BY])]
        learn_excursion(q, event[at.SCORE])
        q[at.CALM_RATE] += 0.001
    event[at.ONSET] = rise_start(mem.ring, event, i, noise, True)
    emit_back(mem, event, over, base, i)
    mem.state[at.ACTIVE] = 0.0
    clear_evidence(mem)


def make_pending(mem: Memory, i: float) -> None:
    """The active event takes long: keep it as pending, and continue at the new level."""
    if mem.state[at.PENDING] >= at.SLOTS - 1.0:
        remove_pending(mem, 2)  # all slots are taken: drop the second oldest, as the oldest matters most
    mem.state[at.PENDING] += 1.0
    event, noise = mem.open[0], mem.levels[0][at.NOISE]
    event[at.ABRUPT] = abruptness(mem.ring, event[at.ONSET], i, event[at.BASE], noise)
    event[at.ONSET] = rise_start(mem.ring, event, i, noise, event[at.ABRUPT] >= 0.6)
    mem.open[int(mem.state[at.PENDING])][:] = event
    mem.state[at.ACTIVE] = 0.0
    restart_levels(mem, event[at.SMOOTH], 6.0)


def remove_pending(mem: Memory, slot: int) -> None:
    """Take a pending event out of its slot and close the gap."""
    for j in range(slot, int(mem.state[at.PENDING])):
        mem.open[j][:] = mem.open[j + 1]
    mem.state[at.PENDING] -= 1.0


def follow_pending(mem: Memory, y: float, i: float) -> None:
    """One sample for every pending event, which may have come back to its extrapolated baseline."""
    slot = 1
    while slot <= int(mem.state[at.PENDING]):
        event = mem.open[slot]
        event[at.SMOOTH] += (y - event[at.SMOOTH]) / min(max((i - event[at.ONSET]) / 4.0, 8.0), 256.0)
        base = baseline(event, i)
        if is_back(mem, event, y, base, i):
            emit_back(mem, event, event[at.SMOOTH] - base, base, i)
            remove_pending(mem, slot)
        else:
            slot += 1


def close_all(mem: Memory, into_nan: float) -> None:
    """The log, or the finite part of it, is over: report all open events as they are."""
    i, noise, state = mem.state[at.INDEX] - 1.0, mem.levels[0][at.NOISE], mem.state
    for slot in range(1, int(state[at.PENDING]) + 1):
        event = mem.open[slot]
        event[at.SMOOTH] = state[at.SHORT]
        newer = slot + 1 if slot < int(state[at.PENDING]) else 0
        if newer or state[at.ACTIVE] > 0.0:  # what rose since a newer event began belongs to that
            base = baseline(event, mem.open[newer][at.ONSET])
            left = mem.open[newer][at.BASE] - base
            emit(mem, at.IS_OPEN, event, -1.0, left, base)[at.LAST_OVER] = left
        else:
            close_open(mem, event, into_nan, i)
    state[at.PENDING] = 0.0
    if state[at.ACTIVE] > 0.0:
        event = mem.open[0]
        event[at.ABRUPT] = abruptness(mem.ring, event[at.ONSET], i, event[at.BASE], noise)
        if i - event[at.PEAK] < 2.0 and event[at.HEIGHT] < 12.0 * noise:  # still rising: perhaps no jump
            event[at.ABRUPT] = min(event[at.ABRUPT], 0.5)
        event[at.ONSET] = rise_start(mem.ring, event, i, noise, event[at.ABRUPT] >= 0.6)
        close_open(mem, event, into_nan, i)
        state[at.ACTIVE] = 0.0
    clear_evidence(mem)


def close_open(mem: Memory, event: Row, into_nan: float, i: float) -> None:
    """Report one event that is not over."""
    base = baseline(event, i)
    row = emit(mem, at.IS_OPEN, event, -1.0, event[at.SMOOTH] - base, base)
    row[at.INTO_NAN] = into_nan
    start = max(event[at.PEAK], oldest(i))
    trend = baseline(event, start + (i - start) / 2.0) - baseline(event, start + (i - start) * 5.0 / 6.0)
    row[at.FALLING] = (still_falling(mem.ring, start, i) - trend) / max(event[at.HEIGHT], 1e-9)


def judge_drop(mem: Memory, i: float) -> None:
    """After 32 samples, or 5 % of the log, decide whether a fall is large, lasting and a new best level; not
    while a rise may be beginning, since new levels would clear its evidence."""
    state, onset = mem.state, mem.state[at.DROP_ONSET]
    if i - onset < max(2.0 * mem.config[at.HOLD], 0.05 * onset) or mem.levels[0][at.UP] > at.CALM_FROM:
        return
    state[at.DROP_ONSET] = -1.0
    first = max(onset - 16.0, oldest(i), state[at.QUIET_SINCE])  # the return from a rise is no fall
    if onset - first < 4.0 or state[at.PENDING] > 0.0 or state[at.ACTIVE] > 0.0:
        return
    before = mean_of(mem.ring, first, onset)
    drop = before - state[at.SHORT]
    if drop >= mem.config[at.DROP] and state[at.SHORT] < state[at.DROP_BEST] - 0.5 * mem.config[at.DROP]:
        done = onset + drop_samples(mem.ring, onset, i, before, drop)
        row = emit(mem, at.IS_DROP, mem.open[0], done, drop, before)
        place(row, onset, done, drop, drop / mem.levels[0][at.NOISE])
        row[at.SEEN_BY] = 0.0
        # a fresher level would follow a rise that begins now
        restart_levels(mem, state[at.SHORT], mem.config[at.MEMORY])


# ---- questions about the last samples: `ring` holds RING of them, i is the index of the newest


def oldest(i: float) -> float:
    """Index of the oldest sample in the ring that is safe to read."""
    return max(i - at.RING + 1.0, 0.0)


def mean_of(ring: Row, start: float, stop: float) -> float:
    """Mean of samples start..stop-1; there must be at least one."""
    total = 0.0
    for j in range(int(start), int(stop)):
        total += ring[j % at.RING]
    return total / max(int(stop) - int(start), 1)


def abruptness(ring: Row, onset: float, i: float, base: float, noise: float) -> float:
    """Share of the height of the first 32 samples that was gained in one jump: 1 is a jump, 0 a ramp. A jump
    is the difference of two three-sample means side by side, less one noise scale; or of two neighbours,
    where that is far above the noise."""
    height, jump3, jump1 = 1e-9, 0.0, 0.0
    for j in range(int(max(onset - 2.0, oldest(i) + 3.0, 3.0)), int(min(onset + 32.0, i)) + 1):
        height = max(height, mean_of(ring, j - 2, j + 1) - base)
        if j <= onset + 16.0:
            jump1 = max(jump1, ring[j % at.RING] - ring[(j - 1) % at.RING])
            if j + 2 <= i:
                jump3 = max(jump3, mean_of(ring, j, j + 3) - mean_of(ring, j - 3, j))
    share = max(jump3 - noise, 0.0) / height
    return max(share, (jump1 - 2.0 * noise) / max(height, jump1)) if jump1 > 8.0 * noise else share


def rise_start(ring: Row, event: Row, i: float, noise: float, is_jump: bool) -> float:
    """Onset once the height is known: first of three samples above a tenth of it (a ramp: a twentieth). For
    tall events the edge is the geometric mean of that share and of the noise. A jump cannot begin before its
    evidence did; a ramp may, as long as means of four stay above the baseline."""
    onset, peak, height = event[at.ONSET], event[at.PEAK], max(event[at.HEIGHT], 0.0)
    share = 0.1 if is_jump else 0.05
    edge = event[at.BASE] + max(min(share * height, math.sqrt(3.0 * share * height * noise)), 1.5 * noise)
    start = onset
    if not is_jump:
        first = max(onset - max(8.0, 0.5 * (event[at.OPENED] - onset)), oldest(i) + 3.0)
        while start > first and mean_of(ring, start - 3, start + 1) > event[at.BASE] + 0.5 * noise:
            start -= 1.0
    run = 0
    for j in range(int(max(start, oldest(i))), int(peak) + 1):
        run = run + 1 if ring[j % at.RING] > edge else 0
        if run >= 3 or (is_jump and run > 0 and j == int(peak)):
            return float(j - run + 1)
    return onset


def lowest(ring: Row, start: float, i: float) -> float:
    """Index of the last of the lowest samples from start to i."""
    best = float(int(start))
    for j in range(int(start), int(i) + 1):
        if ring[j % at.RING] <= ring[int(best) % at.RING]:
            best = float(j)
    return best


def still_falling(ring: Row, start: float, i: float) -> float:
    """Mean of the middle third of the samples from start to i, less that of their last third."""
    third = int((i - start) / 3.0)
    if third < 1:
        return 0.0
    return mean_of(ring, i - 2 * third + 1, i - third + 1) - mean_of(ring, i - third + 1, i + 1)


def drop_samples(ring: Row, onset: float, i: float, before: float, drop: float) -> float:
    """Samples from the onset of a fall until four fifths of it were reached and kept for three samples."""
    run = 0
    for j in range(int(max(onset, oldest(i))), int(i) + 1):
        run = run + 1 if before - ring[j % at.RING] >= 0.8 * drop else 0
        if run >= 3:
            return j - 2.0 - onset
    return i - onset
