"""The memory of the kernel: plain arrays of floats, and the names of their places.

The kernel is plain scalar Python that numba can compile as it stands. Its memory is therefore no object but
six arrays; without numba they are lists of floats, which scalar Python reads faster than numpy arrays.
A name like HEIGHT is a place in a row; the comment behind it says what stands there and in which unit.
"log" is short for log units of the transformed value, "index" counts logged samples from 0.
"""

from __future__ import annotations

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
    STIR,  # mean of log |difference of neighbours|, exponentially weighted over 20 samples
    EMITTED,  # event rows written to `out` and not read yet
) = range(25)
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

# ---- kinds of output, in the order of detect.Kind; the HEIGHT of the last two is samples
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
