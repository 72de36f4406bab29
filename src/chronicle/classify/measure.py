"""The measures of the rules: straight lines of log values over log steps, noise, and robust levels.

A loss falls about like a power of the step, so a short stretch of log(loss) is a straight line over
log(step). Distances from it are in log units (0.05 is 5 %), or as ``t`` in standard errors, which are widened
by the autocorrelation of the residuals. A reward or a score has no unit, and no law: its `Ascent` is
measured in the standard error of the level of one block of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chronicle.metrics import arithmetic, names
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.roles import direction
from chronicle.model import Floats, Mask, Role, Series, Steps, cached_by_object

HUBER_SCALES = 2.5  # noise scales at which the weight of a residual in a fit is limited
MEDIAN_ERROR = 1.25  # standard error of a median over that of a mean, for Gaussian noise
MAD_SCALE = 1.4826  # standard deviation over the median absolute deviation, for Gaussian noise
LINE_SAMPLES = 64  # of the line that a departure is measured from
NOISE_FLOOR_LOG = 1e-4  # [log units] no series is judged more finely than 0.01 %
ROUNDING = 1e-20  # share of a sum of squares below which what is left over is rounding
TREND_MEANS = 64  # block means by which the trend of a course is tested
SORTED_WINDOWS = 1 << 14  # that are sorted together, for the sake of memory
FEWEST_POINTS = 16  # of a series whose course can be told
OBJECTIVE_POINTS = 50  # of an objective that never rises: three values in each block
BLOCKS = 16  # of a log; its first and its last level are those of two blocks, an eighth
RISE_BEYOND_CHANCE_ERRORS = 4.0  # of the best of sixteen blocks over the first
FALL_FOR_ALARM_ERRORS = 6.0  # more than is needed to be real, for a false alarm stops a run
TREND_ERRORS = 3.0  # of the rank correlation with time: reached by one in fifty random walks
LOST_SHARE = 1 / 3  # of what was gained: a smaller loss is a dip
NEARLY_ALL = 0.9  # share of a gain, or of a reward within 1, beyond which nothing is left to learn
RARE_SHARE = 0.05  # of the values: crashes or successes so rare are not what an agent does
FEW_LEVELS = 8  # different values, of which the median is one of them: wins and losses
FIRST_VALUES = 3  # the fewest whose level is known
LEAST_RISE = 0.01  # of a score's size: a smaller rise is none
FIRST_RISE = 0.1  # the same within its first values, which may be those of a mean of few samples
OUTLIER_SHARE = 0.5  # of a rise must be there without its last value
LATE_SHARE = 0.02  # of the last step: a log whose first step is later does not begin with the run
TAIL_SAMPLES = 40  # at most, by which the tail of single samples is known
FEWEST_OF_TAIL = 10
RARE_OUTLIERS = 0.2  # expected in a log, of its height or higher
PEERS_AT_END = 4  # of the last sample of a log: as many others as high were gone at the next one
FEWEST_STRETCHES = 12  # whose scale is known, of four samples or more
median = arithmetic.median


@dataclass(frozen=True)
class Line:
    """``y = level + slope * (x - centre)`` over x = log(step), from ``n`` samples spread ``width`` in x."""

    level: float
    slope: float
    centre: float
    width: float
    n: int
    noise: float  # one-sample noise scale, log units
    inflation: float  # factor on standard errors by autocorrelation

    def at(self, steps: Floats) -> Floats:
        """The line at these steps, log units."""
        return self.level + self.slope * (log_step(steps) - self.centre)

    def error(self, steps: Floats) -> float:
        """Standard error of the line in the middle of these steps, log units."""
        off = mean(log_step(steps)) - self.centre
        spread = float(np.sqrt(1 / self.n + (off / max(self.width, 1e-9)) ** 2 / self.n))
        return self.noise * self.inflation * spread


@dataclass(frozen=True)
class Excess:
    """How far samples lie over (under: negative) a line: ``height`` in log units, ``t`` in its errors."""

    height: float
    t: float


def finite(series: Series) -> Series:
    """The series without NaN and Inf."""
    return series.pick(np.isfinite(series.values))


@cached_by_object
def positive(series: Series) -> tuple[Floats, Floats]:
    """Steps and log values of the finite positive samples; both empty if a fiftieth is not positive."""
    known = np.isfinite(series.values)
    ok = known & (series.values > 0)
    ok &= ok.sum() >= 0.98 * known.sum()
    steps, y = series.steps[ok].astype(float), np.log(series.values[ok])
    steps.flags.writeable = y.flags.writeable = False  # all who ask share them
    return steps, y


def log_step(steps: Floats) -> Floats:
    """Natural log of the step, 0 below one."""
    return np.log(np.maximum(steps, 1.0))


def begins_late(steps: Sequence[float] | Floats | Steps, gap: float = 0.0) -> bool:
    """Whether a log does not begin with the run; ``gap`` is how far its first step may be in any case."""
    return bool(steps[0] > max(LATE_SHARE * steps[-1], gap))


def scale(residuals: Floats) -> float:
    """Robust spread: the median absolute deviation from the median as a standard deviation, at least
    NOISE_FLOOR_LOG."""
    if not len(residuals):
        return NOISE_FLOOR_LOG
    return max(MAD_SCALE * median(np.abs(residuals - median(residuals))), NOISE_FLOOR_LOG)


def difference_noise(y: Floats) -> float:
    """One-sample noise from differences of neighbours, on which trends and single steps have no effect."""
    return scale(y[1:] - y[:-1]) / 2**0.5


def clipped_difference_noise(y: Floats) -> float:
    """One-sample noise from all differences, clipped at 3 scales: half the variance, a little less robust."""
    rough = difference_noise(y) * 2**0.5
    return float(np.sqrt(np.mean(np.clip(np.diff(y), -3 * rough, 3 * rough) ** 2))) / 2**0.5


def inflation(residuals: Floats, noise: float) -> float:
    """Factor by which autocorrelated samples widen the error of their mean, 1 to 4.4 (AR(1), rho to 0.9)."""
    r = np.clip(residuals, -3 * noise, 3 * noise)
    square = float(np.dot(r, r))
    rho = float(np.dot(r[1:], r[:-1])) / square if square > 0 else 0.0
    rho = min(max(rho, 0.0), 0.9)
    return float(np.sqrt((1 + rho) / (1 - rho)))


def fit(steps: Floats, y: Floats) -> Line | None:
    """The robust line through samples, or None below 4 of them; level only below 8."""
    n = len(y)
    if n < 4:
        return None
    x, total = log_step(steps), np.add.reduce  # a third of the time of np.sum, on short rows
    centre = float(total(x) / n)
    off = x - centre
    width = math.sqrt(total(off * off) / n)
    level, slope = median(y), 0.0
    r, weight = y - level, np.ones(n)
    for _ in range(6 if n >= 8 and width > 1e-9 else 0):
        whole = total(weight)
        mean_x, mean_y = total(x * weight) / whole, total(y * weight) / whole
        dx = x - mean_x
        slope = float(total(weight * dx * (y - mean_y)) / total(weight * (dx * dx)))
        level = float(mean_y + slope * (centre - mean_x))
        r = y - level - slope * off
        before, weight = weight, np.minimum(1.0, HUBER_SCALES * scale(r) / np.maximum(np.abs(r), 1e-12))
        if (weight == before).all():  # as without outliers: every further line would be the same
            break
    noise = scale(r)
    return Line(level, slope, centre, width, n, noise, inflation(r, noise))


def excess(line: Line, steps: Floats, y: Floats) -> Excess:
    """The height of samples over a line, and its t (0, 0 where there are none)."""
    if not len(y):
        return Excess(0.0, 0.0)
    height = nearer_to_zero(y - line.at(steps))
    own = MEDIAN_ERROR * line.noise * line.inflation / np.sqrt(len(y))
    return Excess(height, height / float(np.hypot(own, line.error(steps))))


def nearer_to_zero(values: Floats) -> float:
    """The mean or the median, whichever is nearer to zero; zero if they differ in sign."""
    whole, half = mean(values), median(values)
    return 0.0 if whole * half <= 0 else min(whole, half, key=abs)


def mean(values: Floats) -> float:
    """Computes what `numpy.mean` does, to the bit, in a third of its time for short rows."""
    return float(np.add.reduce(values)) / len(values)


def over_line(steps: Floats, y: Floats, before: slice, after: slice | Mask) -> Excess:
    """How far some samples lie over the line through others; 0, 0 if there is no line."""
    line = fit(steps[before], y[before])
    return excess(line, steps[after], y[after]) if line else Excess(0.0, 0.0)


def departure(series: Series, start: float, stop: float) -> Excess:
    """How far a series lies, from ``start`` up to ``stop``, off the line through the 64 samples before."""
    steps, y = positive(series)
    a, b = np.searchsorted(steps, (start, stop)).tolist()
    return over_line(steps, y, slice(max(a - LINE_SAMPLES, 0), a), slice(a, max(b, a + 1)))


def is_usual(y: Floats, first: int, end: int, least: float, least_t: float) -> bool:
    """Whether a stretch of ``y`` is no rarity in its log. Its mean lies over those beside it by less than
    ``least_t`` robust scales of that elsewhere; a single sample, if it does so by ``least``, is judged by the
    tail of all others: a power law (Hill 1975) of the highest but a quarter, which may be spikes, or their
    number, where nobody knows what comes after it."""
    length, before, at = end - first, first % (end - first), first // (end - first)
    means = y[before : before + (len(y) - before) // length * length].reshape(-1, length).mean(1)
    beside: Any = np.max if length == 1 else np.mean
    rise = float(means[at] - beside(means[max(at - 1, 0) : at + 2 : 2]))
    over = means[1:-1] - beside([means[:-2], means[2:]], axis=0)
    others = np.delete(over, slice(max(at - 2, 0), at + 1))
    if length > 1:
        known = at > 0 and length >= 4 and len(others) >= FEWEST_STRETCHES
        return known and rise < least_t * MAD_SCALE * median(np.abs(others[len(others) // 20 :]))
    count, ranked = min(TAIL_SAMPLES, len(others) // 16), np.sort(others)[::-1]
    if rise < least or count < FEWEST_OF_TAIL or ranked[count] <= 0.0:
        return False
    if end == len(y):
        return bool(ranked[PEERS_AT_END - 1] >= rise)
    tail = np.log(np.minimum(ranked[:count], ranked[count // 4]) / ranked[count]).sum()
    power = (count - count // 4) / max(float(tail), ROUNDING)
    return bool(count * (ranked[count] / rise) ** power >= RARE_OUTLIERS)


def last_decimal(values: Floats) -> float:
    """The unit of the last decimal with which the finite values are written: 0.01 for 2.31 and 2.4."""
    decimals = (k for k in range(16) if np.allclose(values, np.round(values, k), rtol=1e-6, atol=0.0))
    return float(10.0 ** -next(decimals, 16))


def can_resolve(values: Floats, share: float) -> bool:
    """Whether values are logged with enough decimals to tell what is below a share of the highest."""
    known = finite_of(values)
    return len(known) > 0 and bool(0.5 * last_decimal(known) <= share * known.max())


def step_at(steps: Floats, y: Floats, i: int, window_samples: int, skip_samples: int) -> Excess:
    """How far ``window_samples``, so many after sample ``i``, lie over the line through as many before it."""
    first = i + skip_samples
    return over_line(steps, y, slice(max(i - window_samples, 0), i), slice(first, first + window_samples))


def row_medians(rows: Floats) -> Floats:
    """The median of each row (numpy's own takes three to five times as long)."""
    ranked, half = np.sort(rows, axis=-1), rows.shape[-1] // 2
    high = ranked[:, half]
    middle = high if rows.shape[-1] % 2 else (ranked[:, half - 1] + high) / 2
    return np.where(np.isnan(ranked[:, -1]), np.nan, middle)


def medians(values: Floats, window: int) -> Floats:
    """The median of each ``window`` samples in a row."""
    windows = np.lib.stride_tricks.sliding_window_view(values, window)
    blocks = np.split(windows, range(SORTED_WINDOWS, len(windows), SORTED_WINDOWS))
    return np.concatenate([row_medians(block) for block in blocks])


def running(y: Floats, width: int) -> Floats:
    """Centred running median of odd ``width``, shorter at both ends."""
    if len(y) < width or width < 3:
        return y.copy()
    head = [median(y[:n]) for n in range(width // 2 + 1, width)]
    tail = [median(y[-n:]) for n in range(width - 1, width // 2, -1)]
    return np.concatenate([head, medians(y, width), tail])


def rises_by(values: Floats) -> float:
    """The rank correlation of values with time (Spearman), over its standard error for independent values."""
    place, order = np.arange(len(values)), ranks(values)
    same = order.min() == order.max()
    return 0.0 if same else float(np.corrcoef(place, order)[0, 1] * (len(values) - 1) ** 0.5)


def trend(values: Floats) -> float:
    """The evidence of `rises_by` for the means of 64 blocks, which count less if autocorrelated."""
    means = np.array([part.mean() for part in np.array_split(values, min(TREND_MEANS, len(values)))])
    places = np.arange(len(means))
    off = means - np.polyval(np.polyfit(places, means, 1), places)
    spread = float(np.linalg.norm(off[1:]) * np.linalg.norm(off[:-1]))
    is_straight = spread <= ROUNDING * float(means @ means)  # what is left over is rounding
    alike = 0.0 if is_straight else min(max(float(off[1:] @ off[:-1]) / spread, 0.0), 1.0)
    return rises_by(means) * math.sqrt((1 - alike) / (1 + alike))


def levels_apart(values: Floats) -> float:
    """How much the mean ranks of eighths differ (Kruskal-Wallis): chi-squared with 7 degrees of freedom."""
    n = len(values)
    off = sum(len(part) * (part.mean() - (n + 1) / 2) ** 2 for part in np.array_split(ranks(values), 8))
    return float(12 * off / (n * (n + 1)))


def ranks(values: Floats) -> Floats:
    """The rank of each value from 1; equal values share their mean rank."""
    order = np.argsort(values)
    ordered = values[order]
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])  # of those that are equal
    sizes = np.diff(np.r_[first, len(values)])
    rank = np.empty(len(values))
    rank[order] = np.repeat(first + (sizes + 1) / 2, sizes)
    return rank


def confidence_of(t: float, limit: float) -> float:
    """The confidence that evidence ``t`` gives: 0.63 at its limit, 0.86 at twice the limit."""
    return 1.0 - float(np.exp(-abs(t) / limit))


@dataclass(frozen=True, eq=False)
class Ascent:
    """Levels of an objective in its own unit: of the first and last two blocks and the best one, at a step.
    In the standard ``error`` of a block: ``gained`` is what it rose by at best, ``lost`` what the end lies
    below the best before it, ``swung`` the deepest fall that it had come back from."""

    first: float
    best: float
    last: float
    best_step: float
    gained: float
    lost: float
    swung: float
    trend: float
    error: float
    levels: Floats  # of all blocks

    @property
    def collapsed(self) -> bool:
        """Whether a good part of what it had gained is lost, or of what it had from the first values on."""
        least = max(LOST_SHARE * self.gained, self.swung, FALL_FOR_ALARM_ERRORS)
        gain = FALL_FOR_ALARM_ERRORS if self.lost < self.gained else RISE_BEYOND_CHANCE_ERRORS
        return self.lost > least and (self.gained >= gain or self.lost - self.gained >= FALL_FOR_ALARM_ERRORS)

    @property
    def lost_share(self) -> float:
        return self.lost / max(self.gained, RISE_BEYOND_CHANCE_ERRORS)

    @property
    def learned(self) -> bool:
        """Whether it ends above its start by more than chance, and most of what it gained is there."""
        kept = self.gained - self.lost >= RISE_BEYOND_CHANCE_ERRORS or self.trend >= TREND_ERRORS
        return kept and not self.collapsed


@np.errstate(over="ignore", invalid="ignore")  # logged values may be as large as floats get
def ascent(series: Series, fewest: int = OBJECTIVE_POINTS) -> Ascent | None:
    """The way of an objective, or of a score, turned over if less is better; None for fewer points. A median
    ignores rare successes and steps of its values, a mean follows a few crashes: the one that rose counts.
    The best so far, which never falls and whose later half lies above its first value, has no noise."""
    known = finite(series)
    steps, v = known.steps.astype(float), direction(series) * known.values
    if len(v) < fewest:
        return None
    unit = min(float(np.abs(v).max()), 1.0) or 1.0  # of rewards of 1e-4 the floor of the noise hid all
    v = v / unit
    count, course = min(BLOCKS, len(v) // 3), trend(v)
    size = (len(v) // count) ** 0.5
    within = max(MEDIAN_ERROR * difference_noise(v) / size, 1e-9 * float(np.abs(v).max()))
    if len(v) < OBJECTIVE_POINTS:  # of which a robust scale may see too few of the large ones
        within = max(within, MEDIAN_ERROR * float(np.std(np.diff(v))) / (2**0.5 * size))
    if not median(np.abs(np.diff(v))):  # most values repeat, so medians do not know what the others may do
        within = max(within, MEDIAN_ERROR * float(np.std(v)) / size)
    if (np.diff(v) >= 0).all() and median(v[len(v) // 2 :]) > v[0]:
        return _way(steps, unit * v, np.mean, 1e-9 * unit * float(np.abs(v).max()), course)
    # neighbours within a block may be alike: the levels of its quarters tell how much levels differ
    quarters = np.array_split(v, min(4 * count, len(v)))
    means = np.diff([np.mean(part) for part in quarters]) / 2**1.5
    ways, kinds = list[Ascent](), np.unique(v)
    spacing = median(np.diff(kinds)) / 2 if len(kinds) > 1 else 0.0  # nearer than that no median is known
    if len(v) < OBJECTIVE_POINTS or len(kinds) > FEW_LEVELS:
        levels = np.diff([median(part) for part in quarters]) / 2**1.5
        ways.append(_way(steps, v, median, max(within, spacing, min(scale(means), scale(levels))), course))
    if len(v) >= OBJECTIVE_POINTS and (not ways or spacing > within or series.role is Role.OBJECTIVE):
        ways.append(_way(steps, v, np.mean, max(within, float(np.std(means))), course))
    way = max(ways, key=lambda way: (way.learned, way.gained))
    return replace(way, **{n: getattr(way, n) * unit for n in ("first", "best", "last", "error", "levels")})


def _way(steps: Floats, v: Floats, level: Callable[[Floats], Any], error: float, course: float) -> Ascent:
    """The way by one kind of block level, whose standard error is ``error``."""
    parts = np.array_split(v, min(BLOCKS, len(v) // 3))
    levels, eighth = np.array([*map(level, parts)]), max(len(parts) // 8, 1)
    first, last = float(levels[:eighth].mean()), float(levels[-eighth:].mean())
    before = levels[:-eighth]  # what is reached as the log ends is not lost
    best, highest, chance = float(levels.max()), float(before.max()), RISE_BEYOND_CHANCE_ERRORS * error
    at = int(np.flatnonzero(~(before < highest - chance))[-1])
    sag = float(np.max((np.maximum.accumulate(levels) - levels)[:at], initial=0.0))
    peers = int(np.sum(before >= highest - chance))  # one of so many like blocks is the highest by chance
    lost = max((highest - last) / error - math.sqrt(2 * math.log(max(peers, 1))), 0.0)
    # an agent may learn within its first block: of fewer values the first level is known less well
    size = len(parts[0])
    counts = (FIRST_VALUES << k for k in range(16) if FIRST_VALUES << k <= size)
    lowest = min(first, *(level(v[:k]) + chance * (size / k) ** 0.5 for k in counts))
    start = np.array_split(steps, len(parts))[at][0]
    return Ascent(first, best, last, start, (best - lowest) / error, lost, sag / error, course, error, levels)


@np.errstate(over="ignore", invalid="ignore")  # logged values may be as large as floats get
def improves(series: Series) -> bool:
    """Whether a score or a reward ends better than it began, by its `ascent` or, of few values, `rises`."""
    if (way := ascent(series, FEWEST_POINTS)) is None:
        return rises(direction(series) * series.values)
    values = finite(series).values
    v, is_reward = direction(series) * values, series.role is Role.OBJECTIVE
    # where a task is solved within the first points, their block holds the whole rise, and seems noisy
    least = 0.0 if is_reward else FIRST_RISE * float(np.abs(v).max())
    if rises(v) and median(v[len(v) // 2 :]) - v[0] >= max(NEARLY_ALL * (v.max() - v[0]), least):
        return True
    if is_reward:
        return way.learned or is_perfect(series, way)
    is_nothing = 0 <= way.last < RARE_SHARE * values.max()  # but for a few values
    least = LEAST_RISE * max(abs(way.best), abs(way.first))
    return way.learned and not is_nothing and way.best - way.first >= least


def is_perfect(series: Series, way: Ascent) -> bool:
    """Whether a reward within 1 has nine tenths at its first and its last level: nothing is left to learn."""
    values = finite(series).values
    return bool(0.0 <= values.min() < values.max() <= 1.0 and min(way.first, way.last) >= NEARLY_ALL)


def rises(values: Floats) -> bool:
    """Whether four values or more end near the best, which is above the first by three times what neighbours
    differ by (median), and by a hundredth of the largest; of eight, not the last one alone."""
    v = finite_of(values)
    if len(v) < 4:
        return False
    gain, last = float(v.max() - v[0]), float(v[-1] - v[0])
    alone = len(v) >= names.MIN_POINTS and median(v[-3:]) - v[0] < OUTLIER_SHARE * gain
    usual = 3 * median(np.abs(np.diff(v[len(v) // 2 :])))
    least = max(usual, LEAST_RISE * float(np.abs(v).max()))
    return last >= NEARLY_ALL * gain > 0 and not alone and gain >= least
