"""One level of the pyramid: references without lag, a noise scale, a CUSUM upwards and one downwards.

Every level is the same detector on means of 4**k samples. A change that is slow, small or long for one level
is an ordinary shift on a coarser one. Code that runs for every sample clips by conditions, since calls of
`min` and `max` would take a third of the time of plain Python.

The memory of the kernel comes first: arrays of floats, so that numba can compile the kernel as it is; without
numba they are lists, which scalar Python reads faster. A name like HEIGHT is an index into a row. "log"
stands for log units of the transformed value, "index" for the number of a logged sample, from 0.
"""

from __future__ import annotations

import math
from typing import NamedTuple

LEVELS = 11  # levels of the pyramid: the coarsest sees means of 4**10 samples
GROUP = 4  # samples of a level in one sample of the next
BLOCK = (1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0)  # samples
WARM = 32  # samples that are scaled together before the first is judged
RING = 1024  # samples of look-back
SLOTS = 7  # events that may be open at once: row 0 is the active one, the others are pending
ROWS = 128  # event rows that may wait to be read

# ---- state: one row for the whole series
(
    INDEX,  # samples so far, all
    SEEN,  # samples so far, finite and judged
    STARTED,  # 1 once the warm-up was replayed
    WARMED,  # samples waiting in the warm-up buffer
    DOMAIN,  # 0: log; 1: asinh(value / UNIT), for series that cross zero
    UNIT,  # median of |value| over the warm-up
    ACTIVE,  # 1 while row 0 of the open events is active and everything else is frozen
    PENDING,  # pending events, in rows 1..PENDING
    SHORT,  # mean of the last 8 samples, exponentially weighted [log]
    BEST,  # smallest SHORT so far [log]
    LAST,  # last sample [log]
    Z,  # last sample over the reference [noise scales]
    Z_BEFORE,  # the one before it [noise scales]
    OVER_RATE,  # share of samples beyond TAIL_FROM noise scales
    OVER_MEAN,  # mean excess of those [noise scales]
    DROP_ONSET,  # where a fall that may be sudden began, or -1 [index]
    DROP_BEST,  # best level before it [log]
    BAD_SINCE,  # where the present stretch of NaN or Inf began [index]
    BAD_COUNT,  # its samples
    SAME_VALUE,  # value that may be frozen
    SAME_SINCE,  # [index]
    SAME_COUNT,  # samples it has stood
    SAME_LONGEST,  # longest stretch of equal values before [samples]
    MOVE_LOG,  # mean of log |difference of neighbours|, exponentially weighted over 20 samples
    QUIET_SINCE,  # first sample after the last rise that is over [index]
    EMITTED,  # event rows written to `out` and not read yet
) = range(26)
STATE = EMITTED + 1

# ---- one row a level
(
    COUNT,  # samples of this level, ever
    FRESH,  # samples since it was last set to a new level
    MEAN,  # long reference: exponentially weighted mean [log]
    MEAN2,  # exponentially weighted mean of MEAN [log]
    TREND,  # short reference, memory of half as many samples [log]
    TREND2,  # exponentially weighted mean of TREND [log]
    NOISE,  # noise scale of this level's samples [log]
    BELOW,  # samples in a row far below the short reference
    UP,  # CUSUM upwards [noise scales]
    UP_ONSET,  # where it last left zero [index]
    UP_TOP,  # its highest value since then [noise scales]
    CALM_RATE,  # share of samples that end an excursion of UP above CALM_FROM without an alarm
    CALM_MEAN,  # mean excess of those excursions [noise scales]
    DOWN,  # CUSUM downwards [noise scales]
    DOWN_ONSET,  # [index]
    SUM,  # of the samples collected for the next level [log]
    COLLECTED,  # how many they are
) = range(17)
LEVEL = COLLECTED + 1

# ---- one row an open event
(
    ONSET,  # [index]
    PEAK,  # [index]
    HEIGHT,  # peak over the baseline [log]
    BASE,  # level before it [log]
    SLOPE,  # of that level in log samples [log]
    SPAN,  # samples that it is extrapolated over: twice those it was seen over
    SCORE,  # evidence that opened it [noise scales]
    SEEN_BY,  # level of the pyramid that opened it
    SMOOTH,  # smoothed level now [log]
    OPENED,  # where it was first seen: stays while onset, peak and end are revised [index]
    EARLY,  # over the baseline, 32 samples after it was opened [log]
    BACK_SINCE,  # first sample of the present stretch within tolerance [index]
    BACK_COUNT,  # samples of that stretch
    LAST_HIGH,  # last sample with more than `back` of the height [index]
    SUNK,  # clipped sum of what samples had above `back`, less its maximum [log]
    ABRUPT,  # share of the height gained in one jump
) = range(16)
EVENT = ABRUPT + 1

# ---- one row of output: the row of an event as it was, and behind it
(
    KIND,  # one of the kinds below
    END,  # first sample with less than `back` of the height left [index], -1 while not over
    RESIDUAL,  # what was left of the height at the end [log]
    NOISE_SCALE,  # of single samples [log]
    INTO_NAN,  # 1: ended by NaN or Inf
    GROWTH,  # of what is left, since 32 samples after it was opened [log]
    FALLING,  # share of the height by which the level still comes down at the end
    LAST_OVER,  # last sample over the baseline [log]
) = range(EVENT, EVENT + 8)
OUT = EVENT + 8

# ---- kinds of output, in the order of kernel.Kind; the HEIGHT of the last two is samples
IS_BACK, IS_OPEN, IS_LONE, IS_DROP, IS_NONFINITE, IS_FROZEN = 0.0, 1.0, 2.0, 3.0, 4.0, 5.0

# ---- configuration: thresholds (see thresholds.py), then what is known of the series
CUSUM, ALLOWANCE, CLIP, TAIL, RISE, MEMORY, TREND_MEMORY, SWALLOW, HOLD = range(9)
BACK, BACK_CAP, BACK_NOISE, DROP, LONE_SPARSE, LONE_DENSE, END_TAIL, CALM_TAIL = range(9, 17)
SIGN = 17  # +1: up is bad; -1: down is bad
SPARSE = 18  # 1 if fewer than one step in five was logged
CONFIG = SPARSE + 1

FLOOR = 2e-4  # smallest noise scale [log]: float32 losses have no finer grain worth judging
TAIL_FROM = 3.0  # where the tail of the one-sample residual begins [noise scales]
CALM_FROM = 4.0  # where the tail of CUSUM excursions begins [noise scales]
MOST_CALM = 80.0  # and the highest that can be usual, 16 samples at the clip [noise scales]


Row = list[float]  # or a numpy array, where the kernel is compiled
Rows = list[Row]


class Memory(NamedTuple):
    """Everything the kernel knows of one series; about 30 KB, whatever its length."""

    state: Row  # [STATE]
    levels: Rows  # [LEVELS][LEVEL]
    ring: Row  # [RING], the last samples [log]
    open: Rows  # [SLOTS][EVENT]
    warm: Rows  # [WARM][2], value and index of the first samples
    config: Row  # the thresholds above
    out: Rows  # [ROWS][OUT]


def observe(mem: Memory, k: int, y: float, i: float, watch_down: bool) -> tuple[float, bool, bool]:
    """Take one sample of level k. Returns (excess in noise scales, alarm up, alarm down)."""
    q = mem.levels[k]
    if q[COUNT] == 0.0:
        set_level(q, y)
        if k > 0:  # a little more than averaging white noise would leave
            q[NOISE] = 0.6 * mem.levels[k - 1][NOISE]
        q[COUNT] = q[FRESH] = 1.0
        return 0.0, False, False
    noise = q[NOISE]
    mean = q[MEAN]
    ahead = 2.0 * mean - q[MEAN2]  # the reference moved on along its own trend
    # on a falling curve the reference lags above it, so convexity raises no alarm
    z_up = (y - (ahead if ahead > mean else mean)) / noise
    z_down = ((ahead if ahead < mean else mean) - y) / noise
    up, down = False, False
    if q[FRESH] >= 6.0 or (k == 0 and q[COUNT] >= 8.0):
        since = i - BLOCK[k] + 1.0
        up = rise_evidence(mem, q, z_up / correlation_penalty(mem, k), since) and y - mean > mem.config[RISE]
        down = watch_down and k <= 2 and fall_evidence(mem, q, z_down, since)
        down = down and mean - y > 0.5 * mem.config[DROP]
    follow(mem.config, q, y, 32.0 if k == 0 else 12.0)
    return z_up, up, down


def set_level(q: Row, y: float) -> None:
    """Put all references of a level on y."""
    q[MEAN] = q[MEAN2] = q[TREND] = q[TREND2] = y


def warming(q: Row) -> float:
    """Thresholds are doubled at the start of a level and single from its 24th sample on."""
    return 1.0 + (1.0 - q[FRESH] / 24.0 if q[FRESH] < 24.0 else 0.0)


def correlation_penalty(mem: Memory, k: int) -> float:
    """By how much autocorrelated samples in a row count less, from 1 (white noise) to 2."""
    if k > 0 or mem.levels[k + 1][COUNT] < 24.0:
        return 1.0
    worth = mem.levels[k + 1][NOISE] / (0.8 * mem.levels[k][NOISE])
    return 1.0 if worth < 1.0 else 2.0 if worth > 2.0 else worth


def rise_evidence(mem: Memory, q: Row, z: float, since: float) -> bool:
    """Winsorised CUSUM upwards: whether its sum exceeds the threshold. The threshold is at least what the
    excursions of this series require (bimodal batches, autocorrelated noise): their exponential tail is
    extrapolated to the height exceeded once in 1 / CALM_TAIL samples."""
    cfg = mem.config
    if q[UP] <= 0.0:
        q[UP_ONSET] = since
        q[UP_TOP] = 0.0
    q[UP] = added(q[UP], z, cfg)
    if q[UP] > q[UP_TOP]:
        q[UP_TOP] = q[UP]
    ended = q[UP] <= 0.0 and q[UP_TOP] > CALM_FROM
    if ended:
        learn_excursion(q, q[UP_TOP])
    q[CALM_RATE] += ((1.0 if ended else 0.0) - q[CALM_RATE]) / 1000.0
    if q[UP] <= cfg[CUSUM]:
        return False
    often = math.log(max(q[CALM_RATE], cfg[CALM_TAIL]) / cfg[CALM_TAIL])
    usual = CALM_FROM + q[CALM_MEAN] * often
    return q[UP] > max(cfg[CUSUM], usual if usual < MOST_CALM else MOST_CALM) * warming(q)


def added(total: float, z: float, cfg: Row) -> float:
    """A CUSUM with one more sample, which counts from -3 noise scales up to CLIP."""
    total += -3.0 if z < -3.0 else cfg[CLIP] if z > cfg[CLIP] else z
    return total - cfg[ALLOWANCE] if total > cfg[ALLOWANCE] else 0.0


def learn_excursion(q: Row, top: float) -> None:
    """Update the tail of excursions: the CUSUM rose to ``top`` and came back without an event."""
    q[CALM_MEAN] += (min(top - CALM_FROM, 60.0) - q[CALM_MEAN]) * 0.25


def fall_evidence(mem: Memory, q: Row, z: float, since: float) -> bool:
    """Winsorised CUSUM downwards: True when it passes the threshold."""
    cfg = mem.config
    if q[DOWN] <= 0.0:
        q[DOWN_ONSET] = since
    if q[FRESH] >= 24.0:
        q[DOWN] = added(q[DOWN], z, cfg)
    return q[DOWN] > cfg[CUSUM] and q[DOWN] > cfg[CUSUM] * warming(q)


def follow(cfg: Row, q: Row, y: float, settled: float) -> None:
    """Move the references and the noise scale of a level towards one sample."""
    fresh, noise = q[FRESH] / 4.0, q[NOISE]
    memory = 2.0 if fresh < 2.0 else cfg[MEMORY] if fresh > cfg[MEMORY] else fresh
    mean, ahead, gain = q[MEAN], 2.0 * q[TREND] - q[TREND2], 1.0 / memory
    # The long reference follows a fall as fast as the short one, but a rise slowly, or it would absorb it.
    lower, upper = (mean if mean < ahead else ahead) - 4.0 * noise, mean + cfg[SWALLOW] * noise
    q[MEAN] += gain * ((lower if y < lower else upper if y > upper else y) - mean)
    q[MEAN2] += gain * (q[MEAN] - q[MEAN2])
    left = q[TREND] + 4.0 * noise
    above = q[MEAN] - (left if left > y else y)
    if above > 0.0:  # left behind by a steep fall: a spike would start below it
        q[MEAN] -= above
        q[MEAN2] -= above
    # The short one is clipped at four noise scales; three samples far below it re-acquire the level.
    gain = 1.0 / (memory if memory < cfg[TREND_MEMORY] else cfg[TREND_MEMORY])
    lower, upper = ahead - 4.0 * noise, ahead + 4.0 * noise
    q[BELOW] = q[BELOW] + 1.0 if y < lower else 0.0
    taken = upper if y > upper else lower if y < lower and q[BELOW] < 3.0 else y
    q[TREND] += gain * (taken - q[TREND])
    q[TREND2] += gain * (q[TREND] - q[TREND2])
    # Noise is measured against the short trend (a trend is not noise), in bounded multiplicative steps.
    z, half = (y - ahead) / (1.1 * noise), q[COUNT] / 2.0
    square = z * z if z * z < 4.0 else 4.0
    steady = settled if half < settled else half if half < 400.0 else 400.0
    noise *= math.exp(0.5 * (square / 0.9205 - 1.0) / steady)
    q[NOISE] = noise if noise > FLOOR else FLOOR
    q[COUNT] += 1.0
    q[FRESH] += 1.0
