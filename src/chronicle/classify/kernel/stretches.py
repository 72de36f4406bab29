"""The plain kernel over stretches in which nothing happens, a level at a time instead of a sample at a time.

What a level remembers depends on its own samples alone while no event is open. So a stretch goes through one
loop a question (readings, references, evidence, tail), each with its numbers in local variables: three times
as fast as `step`, and the same operations in the same order. Where anything could happen the stretch ends,
and `step` judges that sample: it says what these loops have to give, to the bit.
"""

from __future__ import annotations

import math
from itertools import repeat
from typing import NamedTuple

from chronicle.classify.kernel import memory as at
from chronicle.classify.kernel.events import follow_pending
from chronicle.classify.kernel.levels import added, calm_excursion, set_level, warming
from chronicle.classify.kernel.memory import Memory, Row
from chronicle.classify.kernel.step import learn_tail, scale, step, tail_edge, two_of_three

SINGLY = 4  # samples that are judged one by one where a stretch ended
SHORTEST, LONGEST = 64, 4096  # samples of a stretch that is tried
UNFROZEN = 32.0  # equal values in a row that may be frozen

# of each sample: over the reference, under it [noise scales], over the mean [log]
Seen = list[tuple[float, float, float]]


def run(mem: Memory, values: Row, start_at: int) -> int:
    """What `step.run` does, faster where nothing happens."""
    i, length = start_at, SHORTEST
    if mem.state[at.INDEX] == 0.0 and len(values) - i >= at.WARM:
        warm_up(mem, values[i : i + at.WARM])
    while i < len(values) and mem.state[at.EMITTED] < 0.5 * at.ROWS:
        passed = pass_over(mem, values[i : i + length]) if is_calm(mem.state) else 0
        i += passed
        if passed < length:
            for value in values[i : i + SINGLY]:
                step(mem, value)
            i = min(i + SINGLY, len(values))
        length = min(max(2 * passed, SHORTEST), LONGEST)
    return i


def warm_up(mem: Memory, values: Row) -> None:
    """Scale the first samples together, before any is judged, if all are positive."""
    if all(0.0 < value < math.inf for value in values):
        mem.warm[:] = [[value, float(j)] for j, value in enumerate(values)]
        mem.state[at.WARMED] = float(len(values))
        scale(mem)


def is_calm(state: Row) -> bool:
    """Whether no event is active and no fall on trial, in a series of positive values."""
    is_open = state[at.ACTIVE] + state[at.BAD_COUNT] + state[at.DOMAIN]
    settled = state[at.STARTED] > 0.0 and state[at.DROP_ONSET] < 0.0
    return settled and is_open == 0.0 and state[at.SAME_COUNT] < UNFROZEN


def pass_over(mem: Memory, values: Row) -> int:
    """Take values as long as nothing can happen; returns how many."""
    ys, stirs, leasts = readings(mem, values)
    calm, passed = len(ys), -1
    while 0 < calm != passed:
        passed, copies = calm, ([list(row) for row in rows] for rows in (mem.levels, mem.open))
        trial = mem._replace(state=list(mem.state), levels=next(copies), open=next(copies))
        fed = pyramid(trial, ys[:passed], leasts)
        passed = len(fed[0].seen)
        calm = min(passed, first_alarm(trial, ys, fed)) if passed else 0
    if calm:
        follow(trial, values[:calm], ys[:calm], stirs[calm - 1])
        mem.state[:] = trial.state
        for row, later in zip(mem.levels + mem.open, trial.levels + trial.open, strict=True):
            row[:] = later
    return calm


def readings(mem: Memory, values: Row) -> tuple[Row, Row, Row]:
    """The values in log units, up to one that is not positive or may be frozen; at each of them how restless
    they are, and the least noise for that (see `step.stir`)."""
    sign, same, count = mem.config[at.SIGN], mem.state[at.SAME_VALUE], mem.state[at.SAME_COUNT]
    stir, before, log, exp, highest = mem.state[at.STIR], mem.state[at.LAST], math.log, math.exp, math.inf
    ys, stirs, leasts = [], [], []
    for value in values:
        count = count + 1.0 if value == same else 1.0
        if not 1e-12 < value < highest or count >= UNFROZEN:
            break
        same, y = value, sign * log(value)
        jump = abs(y - before)
        moved = log(jump if jump > 1e-12 else 1e-12) - stir
        stir += 0.05 * (-2.0 if moved < -2.0 else 3.0 if moved > 3.0 else moved)
        ys.append(y)
        stirs.append(stir)
        leasts.append(exp(stir) / (0.75 * 1.5))
        before = y
    return ys, stirs, leasts


def follow(mem: Memory, values: Row, ys: Row, stir: float) -> None:
    """Keep what `step` keeps of single samples, but for the tail."""
    state, i, seen = mem.state, mem.state[at.INDEX], mem.state[at.SEEN]
    short, best, same, count = state[at.SHORT], state[at.BEST], state[at.SAME_VALUE], state[at.SAME_COUNT]
    for value, y in zip(values, ys, strict=True):
        if value != same:
            if count > state[at.SAME_LONGEST]:
                state[at.SAME_LONGEST] = count
            same, count, state[at.SAME_SINCE] = value, 0.0, i
        mem.ring[int(i) % at.RING] = y
        count, i, seen = count + 1.0, i + 1.0, seen + 1.0
        short += (y - short) / (seen if seen < 8.0 else 8.0)
        best = short if short < best else best
    state[at.SHORT], state[at.BEST], state[at.SAME_VALUE], state[at.SAME_COUNT] = short, best, same, count
    state[at.INDEX], state[at.SEEN], state[at.LAST], state[at.STIR] = i, seen, y, stir


class Fed(NamedTuple):
    """What a level was fed in a stretch: ``every`` so many samples of the log, from the ``offset``-th on."""

    q: Row
    every: int
    offset: int
    ready: int  # samples until its evidence counts
    fresh: float  # samples before the first, since it was last set to a new level, and ever
    known: float
    collected: int
    seen: Seen
    noises: Row  # before each sample, and after the last


def pyramid(mem: Memory, ys: Row, leasts: Row) -> list[Fed]:
    """Feed the levels, up to a sample that would raise the noise of all of them."""
    fed: list[Fed] = []
    samples, every, offset = ys, 1, 0
    for k, q in enumerate(mem.levels):
        if samples:
            fresh, count, collected = q[at.FRESH], q[at.COUNT], int(q[at.COLLECTED])
            if count == 0.0 and k > 0:
                q[at.NOISE] = 0.6 * fed[-1].noises[at.GROUP - fed[-1].collected]
            seen, noises, clipped = references(q, mem.config, k, samples, leasts)
            ready = int(max(6.0 - fresh, 0.0) if k > 0 or count < 8.0 else 0.0)
            fed.append(Fed(q, every, offset, ready, fresh, count, collected, seen, noises))
            samples = groups(q, clipped)
            offset, every = offset + (at.GROUP - 1 - collected) * every, every * at.GROUP
    return fed


def first_alarm(mem: Memory, ys: Row, fed: list[Fed]) -> int:
    """The first sample at which anything could happen (or one after the stretch)."""
    start, quiet = mem.state[at.INDEX], mem.state[at.PENDING] == 0.0
    calm = min(tail(mem, fed[0]), len(ys) if quiet else pending(mem, ys, fed[0]))
    for k, level in enumerate(fed):
        ups = weighed(mem, fed) if k == 0 else [up for up, _, _ in level.seen]
        first = start + level.offset - at.BLOCK[k] + 1.0
        alarms = [
            rises(level, mem.config, ups, first),
            falls(level, mem.config, first) if quiet and k <= 2 else None,
        ]
        calm = min([calm, *(level.offset + j * level.every for j in alarms if j is not None)])
    return calm


def references(q: Row, cfg: Row, k: int, samples: Row, leasts: Row) -> tuple[Seen, Row, Row]:
    """Move the references and the noise of level k along its samples, as `levels.follow` does with one."""
    begins = int(q[at.COUNT] == 0.0)
    if begins:
        set_level(q, samples[0])
        q[at.COUNT], q[at.FRESH] = 1.0, 1.0
    count, fresh, mean, mean2, trend, trend2, noise, below = q[: at.UP]
    seen, noises, clipped = [(0.0, 0.0, 0.0)] * begins, [noise] * (1 + begins), samples[:begins]
    most, most_trend, swallow = cfg[at.MEMORY], cfg[at.TREND_MEMORY], cfg[at.SWALLOW]
    settled, clip, exp = 12.0 if k else 32.0, math.inf if k else cfg[at.CLIP], math.exp
    for y, least in zip(samples[begins:], repeat(0.0) if k else leasts[begins:], strict=False):
        if least > noise:
            break
        ahead = 2.0 * mean - mean2
        over, under = (ahead, mean) if ahead > mean else (mean, ahead)
        seen.append(((y - over) / noise, (under - y) / noise, y - mean))
        low, high = over - clip * noise, over + clip * noise
        clipped.append(low if y < low else high if y > high else y)
        memory = 2.0 if fresh < 8.0 else most if fresh > 4.0 * most else fresh / 4.0
        gain, ahead = 1.0 / memory, 2.0 * trend - trend2
        low, high = (mean if mean < ahead else ahead) - 4.0 * noise, mean + swallow * noise
        mean += gain * ((low if y < low else high if y > high else y) - mean)
        mean2 += gain * (mean - mean2)
        left = trend + 4.0 * noise
        above = mean - (left if left > y else y)
        if above > 0.0:
            mean, mean2 = mean - above, mean2 - above
        gain = 1.0 / (memory if memory < most_trend else most_trend)
        low, high = ahead - 4.0 * noise, ahead + 4.0 * noise
        below = below + 1.0 if y < low else 0.0
        trend += gain * ((high if y > high else low if y < low and below < 3.0 else y) - trend)
        trend2 += gain * (trend - trend2)
        z, half = (y - ahead) / (1.1 * noise), count / 2.0
        square = z * z if z * z < 4.0 else 4.0
        steady = settled if half < settled else half if half < 400.0 else 400.0
        noise *= exp(0.5 * (square / 0.9205 - 1.0) / steady)
        noise = noise if noise > at.FLOOR else at.FLOOR
        noises.append(noise)
        count, fresh = count + 1.0, fresh + 1.0
    q[: at.UP] = count, fresh, mean, mean2, trend, trend2, noise, below
    return seen, noises, clipped


def groups(q: Row, samples: Row) -> Row:
    """The means of groups of samples, for the next level."""
    means, total, collected = [], q[at.SUM], q[at.COLLECTED]
    for y in samples:
        total, collected = total + y, collected + 1.0
        if collected == at.GROUP:
            means.append(total / at.GROUP)
            total, collected = 0.0, 0.0
    q[at.SUM], q[at.COLLECTED] = total, collected
    return means


def weighed(mem: Memory, fed: list[Fed]) -> Row:
    """How far the samples of level 0 lie over the reference, each as `levels.kinship` weighs it."""
    finest, coarser = fed[0], mem.levels[1]
    noises, known = [coarser[at.NOISE]], coarser[at.COUNT]
    if len(fed) > 1:
        noises, known = fed[1].noises, fed[1].known
    ups = []
    for j, (up, _, _) in enumerate(finest.seen):
        more = (finest.collected + j) // at.GROUP
        worth = noises[more] / (0.8 * finest.noises[j]) if known + more >= 24.0 else 1.0
        ups.append(up / (1.0 if worth < 1.0 else 2.0 if worth > 2.0 else worth))
    return ups


def rises(level: Fed, cfg: Row, ups: Row, first: float) -> int | None:
    """Add up the evidence of a rise; returns the sample that raises an alarm. See `levels.rise_evidence`."""
    q, limit, every = level.q, cfg[at.CUSUM], level.every
    total, top, rate = q[at.UP], q[at.UP_TOP], q[at.CALM_RATE]
    allowance, clip = cfg[at.ALLOWANCE], cfg[at.CLIP]
    for j in range(level.ready, len(ups)):
        if total <= 0.0:
            q[at.UP_ONSET], top = first + j * every, 0.0
        z = ups[j]
        total += -3.0 if z < -3.0 else clip if z > clip else z
        total = total - allowance if total > allowance else 0.0
        if total > top:
            top = total
        ended = total <= 0.0 and top > at.CALM_FROM
        if ended:
            calm_excursion(q, top)
        rate += ((1.0 if ended else 0.0) - rate) / 1000.0
        if total > limit and level.seen[j][2] > cfg[at.RISE]:
            often = math.log(max(rate, cfg[at.CALM_TAIL]) / cfg[at.CALM_TAIL])
            if total > max(limit, at.CALM_FROM + q[at.CALM_MEAN] * often) * warming(level.fresh + j):
                return j
    q[at.UP], q[at.UP_TOP], q[at.CALM_RATE] = total, top, rate
    return None


def falls(level: Fed, cfg: Row, first: float) -> int | None:
    """The same of a fall, see `levels.fall_evidence`."""
    q, total, least = level.q, level.q[at.DOWN], 0.5 * cfg[at.DROP]
    for j in range(level.ready, len(level.seen)):
        if total <= 0.0:
            q[at.DOWN_ONSET] = first + j * level.every
        _, z, over = level.seen[j]
        if level.fresh + j >= 24.0:
            total = added(total, z, cfg)
        if total > cfg[at.CUSUM] and -over > least:
            return j
    q[at.DOWN] = total
    return None


def tail(mem: Memory, finest: Fed) -> int:
    """Learn the tail of single samples; returns those before one that could open an event."""
    state, cfg = mem.state, mem.config
    for j, (z, _, over) in enumerate(finest.seen):
        if z <= 2.0 and state[at.Z] <= 2.0 and state[at.Z_BEFORE] <= 2.0:
            state[at.OVER_RATE] += (0.0 - state[at.OVER_RATE]) / 1000.0
            state[at.Z_BEFORE], state[at.Z] = state[at.Z], z
        else:
            edge = max(cfg[at.CLIP], tail_edge(mem, cfg[at.TAIL])) * warming(finest.fresh + j + 1.0)
            if state[at.Z] > edge or two_of_three(mem, over, 0.0, z, edge, 2.0) >= 0.0:
                return j
            learn_tail(mem, z, edge, False)
    return len(finest.seen)


def pending(mem: Memory, ys: Row, finest: Fed) -> int:
    """Follow the events that are pending; returns the samples before one at which one of them is over."""
    start, events = mem.state[at.INDEX], mem.state[at.PENDING]
    for j in range(len(finest.seen)):
        finest.q[at.NOISE] = finest.noises[j]
        follow_pending(mem, ys[j], start + j)
        if mem.state[at.PENDING] < events:
            return j
    finest.q[at.NOISE] = finest.noises[-1]
    return len(finest.seen)
