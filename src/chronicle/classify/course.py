"""The course of a loss: what a run that goes on learning would have done next, and what a whole run was.

A healthy loss falls like ``E + A * shape(t)``, where t is the share of the steps and the shape is a power
law or an exponential (`shapes`). E and A are fitted in the unit of the loss with weights 1/L^2, because in
log units the floor would not be additive. All shapes are fitted at once to at most 96 medians, robustly
(Student-t weights), and weighted by their likelihood; where they disagree, the forecast is uncertain.

Five explanations of the course of a whole run compete, over at most 256 medians of its loss:

    never     c
    healthy   E + A phi(t); or cooled towards the end: E + A phi(t) - D t^3; or as fast as a learning rate
              that follows a cosine: E + A (1 - t - sin(pi t) / pi)
    stopped   E + A phi(min(t, T))
    waits     E + A phi(max(t - T, 0))
    climbs    E + A exp(-t / a) - B exp(-t / b), a at least three times b

phi are the same laws; A, B, D > 0. The score of each, in nats, is the log likelihood of its best member
under Student-t errors, minus half the logarithm of the effective number of medians for every free parameter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from chronicle.classify import measure
from chronicle.classify.kernel import RISING_KINDS, Event, Kind
from chronicle.classify.measure import MEDIAN_ERROR, difference_noise, fit, inflation, median, running
from chronicle.classify.thresholds import Thresholds
from chronicle.model import Floats, Mask, Series

MEDIANS_OF_FIT = 96  # at most: more cost time and do not determine five parameters better
FEWEST_SAMPLES = 32  # of a loss that has a course
MEDIANS_OF_SCREENING = 64  # that decide whether the competition is worth its time
WARM_UP_SHARE = 0.15  # of the log: a loss that waits no longer is only warming up
STOP_SHARE = 0.7  # of the log: a loss that stops later has not stopped for long enough
MEDIANS_OF_CONTEST = 256  # at most: more change no winner
FEWEST_MEDIANS = 12  # of a course: five parameters would follow fewer exactly
STUDENT_DEGREES = 4.0  # of freedom, of the Student-t weights
REWEIGHTINGS = 4  # of a fit; the weights hardly change afterwards
FORECAST_PLACES = 48  # at most, at which a forecast is computed; it is linear between them
LAW_GRID_ERROR_LOG = 0.005  # [log units] of a forecast where the true law lies between two of `FINE`
LAW_MISFIT_LOG = 0.002  # [log units] added to the error of each median: no law is exact
LOWEST_LOG = -34.0  # [log units] a loss of 1e-15 of its highest value
SURE_DEVIATIONS = 2.0  # standard deviations: one-sided, 1 in 40 by chance
END_SAMPLES = 64  # at most, whose median is the level at the end
LEVEL_SAMPLES = 8  # before an event, whose median is the level there
FEWEST_TURNS, MOST_APART = 4, 16  # times that a rise is gone and there again; samples from one to the next
TALL_SHARE = 0.9  # of the samples of a rise: higher ones are spikes in it
HALF = 0.5  # of a height, or of the progress that was expected
FEWEST_BELOW = 3  # samples at the end of a short log below all before a rise: it was over
SMOOTHED_SAMPLES = 5  # whose median decides when a rise was over


class Laws(NamedTuple):
    """Power laws (1 + t / t0) ** -b, every t0 with every b, and exponentials exp(-t / tau)."""

    t0: Sequence[float]
    powers: Sequence[float]
    taus: Sequence[float]


# A forecast over twice the observed span is 0.8 % off with all of these laws, 3 % with a third of them.
FINE = Laws(
    np.geomspace(0.001, 1.0, 10).tolist(),
    (0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0),
    np.geomspace(0.02, 1.5, 16).tolist(),
)

TIMES = (0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.25, 0.33, 0.42, 0.5, 0.6, 0.7, 0.8)  # places of T
TAUS = (0.004, 0.012, 0.04, 0.12, 0.4, 1.2)
# Some thousand curves are tried; a third of the laws distinguishes the families, in 20 ms.
COARSE = Laws((0.001, 0.01, 0.1, 1.0), (0.15, 0.4, 0.8, 1.6), TAUS)
CLIMB_FASTER_TIMES = 3.0  # than what it comes back by; otherwise the two are one process
LEAD_NATS = 10.0  # 1 in 20,000 for equal beliefs; fits of real losses differ by 5 without a cause
EXPLANATIONS = NEVER, HEALTHY, STOPPED, WAITS, CLIMBS = "never", "healthy", "stopped", "waits", "climbs"


@dataclass(frozen=True, eq=False)
class Course:
    """Laws fitted to a stretch of a loss, with the ``share`` of belief in each."""

    first: float  # [steps] where t is 0, and the steps until t is 1
    span: float
    floor: Floats  # E and A of each law, in the unit of the loss
    gain: Floats
    unsure: Floats  # standard error of A
    share: Floats

    def fall(self, start: float, steps: Floats) -> tuple[Floats, Floats]:
        """How far the loss should fall from one step to others, and its standard deviation, log units."""
        asked = steps[np.unique(np.linspace(0, len(steps) - 1, FORECAST_PLACES).astype(int))]
        phi = shapes((np.r_[start, asked] - self.first) / self.span)
        levels = np.maximum(self.floor[:, None] + self.gain[:, None] * phi, 1e-300)
        falls = np.log(levels[:, :1] / levels[:, 1:])
        own = np.minimum(self.unsure[:, None] * (phi[:, :1] - phi[:, 1:]) / levels[:, 1:], 1e3)
        mean = self.share @ falls
        sure = np.sqrt(self.share @ ((falls - mean) ** 2 + own**2) + LAW_GRID_ERROR_LOG**2)
        return np.interp(steps, asked, mean), np.interp(steps, asked, sure)


def shapes(t: Floats, laws: Laws = FINE) -> Floats:
    """The shapes as rows: descents from 1 at t = 0. A power that is twice another one is its square."""
    t = np.maximum(t, 0.0)
    decades = np.log1p(t / np.reshape(laws.t0, (-1, 1)))
    made: dict[float, Floats] = {}
    for power in sorted(laws.powers):
        made[power] = made[power / 2] ** 2 if power / 2 in made else np.exp(-power * decades)
    by_power = np.stack([made[power] for power in laws.powers], axis=1)
    return np.concatenate([by_power.reshape(-1, len(t)), np.exp(-t / np.reshape(laws.taus, (-1, 1)))])


def medians_of(steps: Floats, y: Floats, most: int = MEDIANS_OF_FIT) -> tuple[Floats, Floats, Floats]:
    """Steps, medians and sizes of at most ``most`` bins, half even in steps, half in log steps."""
    n, x = len(y), steps - steps[0]
    if n <= most or x[-1] <= 0:
        return steps, y, np.ones(n)
    even = np.linspace(0, x[-1], most // 2, endpoint=False)
    later = np.geomspace(max(x[1], 1.0), x[-1], most // 2, endpoint=False)
    edges = np.unique(np.r_[np.searchsorted(x, np.r_[even, later]), n])
    sizes = np.diff(edges)
    middle = edges[:-1] + (sizes - 1) // 2
    return steps[middle], np.array([median(y[a:b]) for a, b in pairwise(edges)]), sizes.astype(float)


def may_deviate(steps: Floats, y: Floats, limits: Thresholds) -> bool:
    """Whether a course may be no steady descent: it is flat at either end, or rises at first."""
    if len(y) < MEDIANS_OF_SCREENING:
        return len(y) >= FEWEST_SAMPLES
    x, level, samples = medians_of(steps, y, MEDIANS_OF_SCREENING)
    t, noise = (x - x[0]) / max(x[-1] - x[0], 1.0), difference_noise(y)

    def falls(first: Mask, last: Mask, share: float) -> bool:
        error = MEDIAN_ERROR * noise * (1 / samples[first].sum() + 1 / samples[last].sum()) ** 0.5
        fall = median(level[first]) - median(level[last])
        return bool(fall >= max(limits.moved, limits.single_t * error, share * (level[0] - level[-1])))

    parts = (
        t < WARM_UP_SHARE / 3,
        (t >= WARM_UP_SHARE * 2 / 3) & (t < WARM_UP_SHARE),
        (t >= STOP_SHARE) & (t < (1 + 2 * STOP_SHARE) / 3),
        t >= (2 + STOP_SHARE) / 3,
    )
    if not all(part.any() for part in parts) or not falls(*parts[2:], 0.0) or not falls(*parts[:2], 0.1):
        return True
    calm = running(level, SMOOTHED_SAMPLES)
    return bool(calm.max() - calm[0] >= SURE_DEVIATIONS * noise / 2)


def in_units(level: Floats) -> Floats:
    """Log levels as shares of the highest; all that lies below its rounding error becomes one value."""
    return np.asarray(np.exp(np.maximum(level - level.max(), LOWEST_LOG)))


def fitted(steps: Floats, y: Floats) -> Course | None:
    """The course of log values; None for too few of them."""
    x, level, samples = medians_of(steps, y)
    if len(level) < FEWEST_MEDIANS or x[-1] <= x[0]:
        return None
    noise = max(difference_noise(y), 1e-6)
    variance = noise**2 * MEDIAN_ERROR**2 / samples + LAW_MISFIT_LOG**2
    value, t = in_units(level), (x - x[0]) / (x[-1] - x[0])
    phi, weight = shapes(t), 1 / variance
    square = phi * phi
    for _ in range(REWEIGHTINGS):
        floor, gain = solved(phi, square, value, weight / value**2)
        off = 1 - (floor[:, None] + gain[:, None] * phi) / value  # of the loss: log units while small
        left = off**2 @ weight / weight.sum()
        best = int(np.argmin(left))
        z = off[best] / np.sqrt(variance)
        usual = max(measure.MAD_SCALE * median(np.abs(z)), 1e-9)
        weight = (STUDENT_DEGREES + 1) / (STUDENT_DEGREES + (z / usual) ** 2) / variance
    alike = inflation(z, usual) ** 2
    degrees = max(0.5 * len(level) / alike, 6.0)
    belief = np.exp(-degrees * np.log(np.maximum(left, 1e-300) / max(left[best], 1e-300)))
    w = weight / value**2
    known = w.sum() * (square @ w) - (phi @ w) ** 2
    unsure = usual * np.sqrt(alike * w.sum() / np.maximum(known, 1e-12 * w.sum() * (square @ w)))
    top = float(np.exp(level.max()))
    return Course(x[0], x[-1] - x[0], floor * top, gain * top, unsure * top, belief / belief.sum())


def solved(phi: Floats, square: Floats, y: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Floor and gain of each shape (and its ``square``) by weighted least squares, neither below zero."""
    w, wy = weight.sum(), float(weight @ y)
    p, pp, py = phi @ weight, square @ weight, phi @ (weight * y)
    apart = np.maximum(w * pp - p * p, 1e-12 * w * pp)
    gain = np.maximum((w * py - p * wy) / apart, 0.0)
    floor = (wy - gain * p) / w
    return np.where(floor < 0, 0.0, floor), np.where(floor < 0, py / pp, gain)


@dataclass(frozen=True, eq=False)
class Baseline:
    """What the samples after a place would be if nothing had happened there, in log units."""

    old: float  # the level before the place
    samples: int  # whose median it is
    expected: Floats
    sure: Floats  # standard deviations of what is expected
    height: float  # of the rise that is tested


def retest_rises(series: Series, events: Iterable[Event], limits: Thresholds) -> Iterator[Event]:
    """The events of a loss; open rises are tested again against level *and* trend, with their uncertainty.
    The kernel extrapolates what it remembers of the last samples, so a rise in the steep start of a run, or
    one that only undoes a dip, seems to stay for ever. A ramp that lasted longer than what was before it is
    tested again, too, as if the log ended where it was over. What turns out to be no rise is left out."""
    steps, y = measure.positive(series)
    place = np.flatnonzero(np.isfinite(series.values) & (series.values > 0)) if len(y) else np.empty(0, int)
    for event in events:
        if event.kind not in RISING_KINDS or event.into_nan or not len(y):
            yield event
            continue
        a, peak = np.searchsorted(place, (event.onset, event.peak)).tolist()
        end = len(y) if event.end is None else int(np.searchsorted(place, event.end))
        first, last = (peak, peak + 1) if end <= a + 1 or peak == len(y) - 1 else (a, end)
        if measure.is_usual(y, first, last, HALF * event.height, limits.other_t) or alternates(y, a, end):
            continue
        long = event.abruptness < limits.jump and event.end is not None and event.end > 2 * event.onset
        stop = end + 1 if long else None
        tested = event.kind is (Kind.BACK if long else Kind.OPEN)
        back = came_back(steps[:stop], y[:stop], a, event.height, limits) if tested else None
        if back is None or (long and back != a):
            yield event
        elif back > a:
            end = int(place[min(back, len(place) - 1)])
            peak = event.onset + int(np.nanargmax(series.values[event.onset : end + 1]))
            yield replace(event, kind=Kind.BACK, end=end, peak=peak, residual=0.0, last=0.0)


def alternates(y: Floats, a: int, end: int) -> bool:
    """Whether a rise is one of single samples that comes and goes in full: batches of two kinds (mixup). Half
    of it is low; or a quarter of each third, and the rest of the log goes up and down by half of it, from one
    sample to the next, so often that any stretch as long does so."""
    if end <= a or not a:  # it has no level before it
        return False
    rise = y[a:end] - median(y[max(a - LEVEL_SAMPLES, 0) : a])
    high = float(np.quantile(rise, TALL_SHARE))
    is_high, is_low = rise > 0.75 * high, rise < 0.25 * high
    outer = is_high[is_high | is_low]
    turns = int(np.count_nonzero(outer[1:] & ~outer[:-1]))
    if not FEWEST_BELOW <= len(rise) <= MOST_APART * turns:
        return False
    if turns >= FEWEST_TURNS and is_low.mean() >= HALF:
        return True
    moves = np.delete(np.diff(y), slice(a - 1, end))
    often = min(np.count_nonzero(moves > HALF * high), np.count_nonzero(moves < -HALF * high))
    spread = min(part.mean() for part in np.array_split(is_low, 3)) >= HALF / 2
    return bool(spread and often >= FEWEST_TURNS and often * len(rise) >= len(moves))


def came_back(steps: Floats, y: Floats, a: int, height: float, limits: Thresholds) -> int | None:
    """The sample from which on a rise from sample ``a`` was over: ``a`` if it is no rise at all, None
    if it is not over or cannot be judged. The log must end at the old level and at the forecast."""
    rest = len(y) - a
    if rest < FEWEST_MEDIANS:  # too few for a trend: the loss itself must lie below all that it had been
        above = np.flatnonzero(y[a:] > y[:a].min(initial=np.inf))
        back = int(above[-1]) + 1 if len(above) else 0
        return a + back if a and rest - back >= FEWEST_BELOW else None
    width = min(max(rest // 8, 4), END_SAMPLES) | 1
    first = int(np.searchsorted(steps, steps[0] + limits.settling * (steps[a - 1] - steps[0]))) if a else 0
    first = first if a - first >= FEWEST_MEDIANS else 0  # huge first values would distort the fit
    usual, young = MEDIAN_ERROR * difference_noise(y[first:]), a - first < FEWEST_MEDIANS
    noise = usual
    if young and (line := fit(steps[a:], y[a:])) is not None:  # a loss that wanders may have begun anywhere
        noise = max(noise, line.noise * min(line.inflation, (a - first) ** 0.5))
    error, base = SURE_DEVIATIONS * noise, baseline(steps, y, (first, a), width, height, limits)
    if base is None:
        return None
    if is_back(y[a:], base, width, error):
        if young and height < limits.twice:
            return a
        if not any(stands_out(y[a:], base, usual, k, limits) for k in (1, SMOOTHED_SAMPLES)):
            return a
        over = running(y[a:], SMOOTHED_SAMPLES) > ceiling(base, error, SMOOTHED_SAMPLES)
        return a + (int(np.flatnonzero(over)[-1]) + 1 if over.any() else 0)
    return a if undoes_a_dip(steps, y, (first, a), width, error, limits) else None


def baseline(
    steps: Floats, y: Floats, known: tuple[int, int], width: int, height: float, limits: Thresholds
) -> Baseline | None:
    """The level before sample ``known[1]``, moved on as the laws of the course before it fall from there. No
    law is known in the first steps of a log, even if each of them is logged: then the level stays."""
    first, at = known
    if at - first < 3:
        return None
    before = y[max(at - width, first) : at]
    old = median(before)
    settled = steps[at - 1] - steps[0] >= limits.settling * (steps[-1] - steps[0])
    course = fitted(steps[first:at], y[first:at]) if settled and at - first >= FEWEST_MEDIANS else None
    if course is None:  # too short for a trend: the level alone
        return Baseline(old, len(before), np.full(len(y) - at, old), np.zeros(len(y) - at), height)
    far = 2 * steps[at - 1] - steps[first]  # beyond twice the observed span no fall is expected
    fall, sure = course.fall(steps[at - 1], np.minimum(steps[at:], far))
    return Baseline(old, len(before), old - fall, sure, height)


def ceiling(base: Baseline, error: float, samples: int) -> Floats:
    """The highest level that is no rise, at each sample: the old one and the forecast, with their errors."""
    progress = np.maximum(base.old - base.expected, 0.0)
    over = np.maximum(SURE_DEVIATIONS * base.sure, HALF * np.minimum(progress, base.height))
    unsure = error * (1 / samples + 1 / base.samples) ** 0.5
    return np.asarray(np.minimum(base.old, base.expected + over) + unsure)


def is_back(after: Floats, base: Baseline, width: int, error: float) -> bool:
    """Whether the end of the log, and its last three samples, are back at the old level and the trend."""
    return all(median(after[-k:]) <= ceiling(base, error, k)[-1] for k in (width, 3))


def stands_out(after: Floats, base: Baseline, error: float, samples: int, limits: Thresholds) -> bool:
    """Whether any median of so many samples lies above what is expected as clearly as a step does."""
    unsure = error * (1 / samples + 1 / base.samples) ** 0.5
    return bool((running(after, samples) - base.expected > limits.known_t * unsure).any())


def undoes_a_dip(
    steps: Floats, y: Floats, known: tuple[int, int], width: int, error: float, limits: Thresholds
) -> bool:
    """Whether a rise only undoes a step down, about as deep, at most a quarter of the log before it."""
    (first, a), length = known, FEWEST_MEDIANS
    while length <= limits.lasting * len(y) and a - length - first >= max(FEWEST_MEDIANS, length):
        d, near = a - length, SMOOTHED_SAMPLES + length // 8
        levels = [median(y[d + k * near : d + (k + 1) * near]) for k in (-2, -1, 0, 1)]
        fell = levels[1] - levels[2] - max(levels[0] - levels[1], levels[2] - levels[3], 0.0)  # no mere slope
        is_step = fell > HALF * max(limits.rise, error / length**0.5)
        if is_step and (base := baseline(steps, y, (first, d), width, 0.0, limits)) is not None:
            soon = y[a + SMOOTHED_SAMPLES :][:width]
            there = slice(length + SMOOTHED_SAMPLES, length + SMOOTHED_SAMPLES + width)
            depth = float(base.expected[length // 2]) - median(y[d:a])
            unsure = SURE_DEVIATIONS * float(base.sure[there][-1]) + error / width**0.5
            alike = depth > 2 * unsure and HALF * depth < max(limits.rise, fell) < depth / HALF
            after = Baseline(base.old, base.samples, base.expected[length:], base.sure[length:], depth)
            back_at_once = alike and abs(median(soon) - base.expected[there][-1]) <= unsure
            if back_at_once and is_back(y[a:], after, width, error):
                return True
        length += 1 + length // 16
    return False


@dataclass(frozen=True, eq=False)
class Explanation:
    """The best member of one family: ``score`` in nats, ``at`` the share of the log where T is (0: none)."""

    score: float
    at: float
    curve: Floats  # at the medians, log units


@dataclass(frozen=True, eq=False)
class Contest:
    """The medians of a loss (steps, log units) and the best explanation of each family."""

    steps: Floats
    level: Floats
    explanations: Mapping[str, Explanation]

    @property
    def winner(self) -> str:
        return max(self.explanations, key=lambda name: self.explanations[name].score)

    def lead(self, name: str) -> float:
        """By how many nats an explanation leads the best of those that are listed before it."""
        scores = {n: explanation.score for n, explanation in self.explanations.items()}
        simpler = EXPLANATIONS[: EXPLANATIONS.index(name)]
        return scores.get(name, -np.inf) - max(scores[n] for n in simpler if n in scores)

    def change_after(self, share: float) -> float:
        """By how much the best course of learning changes after a share of the log, log units."""
        courses = (self.explanations[n] for n in (NEVER, HEALTHY, STOPPED) if n in self.explanations)
        best = max(courses, key=lambda course: course.score)
        first = self.steps[0] + share * (self.steps[-1] - self.steps[0])
        return float(np.ptp(best.curve[self.steps >= first]))

    def step(self, name: str) -> float:
        return float(self.steps[0] + self.explanations[name].at * (self.steps[-1] - self.steps[0]))


def compete(steps: Floats, y: Floats) -> Contest | None:
    """The competition over log values; None where there is too little."""
    x, level, samples = medians_of(steps, y, MEDIANS_OF_CONTEST)
    if len(level) < 2 * FEWEST_MEDIANS or x[-1] <= x[0]:
        return None
    noise = max(difference_noise(y), 1e-6)
    if len(y) <= MEDIANS_OF_CONTEST:  # single samples: outliers are clipped towards their neighbours
        base = running(level, 5)
        level = base + np.clip(level - base, -4 * noise, 4 * noise)
    error = np.sqrt(noise**2 * MEDIAN_ERROR**2 / samples + LAW_MISFIT_LOG**2)
    value, t = in_units(level), (x - x[0]) / (x[-1] - x[0])
    weight = 1 / (error * value) ** 2
    fits = [(family, fit) for family in families(t.tobytes()) if (fit := best_member(value, weight, family))]
    curves = np.stack([curve for _, (_, curve) in fits])
    likely = student((value - curves) / (value * error))
    left = (value - curves[int(np.argmax(likely))]) / value / error
    count = max(len(left) / inflation(left, float(np.std(left))) ** 2, 8.0)  # effective number of medians
    explanations: dict[str, Explanation] = {}
    for (family, (at, curve)), mean in zip(fits, likely.tolist(), strict=True):
        score = count * mean - 0.5 * family.parameters * math.log(count)
        if family.name not in explanations or score > explanations[family.name].score:
            explanations[family.name] = Explanation(score, at, np.log(curve) + level.max())
    return Contest(x, level, explanations)


class Family(NamedTuple):
    """The members of one explanation: ``columns`` (member, place) with positive weights, ``places`` of T, the
    free ``parameters`` and the scale, and ``products`` of all pairs of columns for the normal equations."""

    name: str
    columns: tuple[Floats, ...]
    places: Floats
    parameters: int
    products: tuple[tuple[int, int, Floats], ...]


@functools.lru_cache(maxsize=1)  # attempts of one run are mostly logged alike
def families(places: bytes) -> tuple[Family, ...]:
    """All explanations at these shares of the steps (float64, as bytes, so that they can be cached)."""
    t, times = np.frombuffer(places), np.array(TIMES)
    phi = shapes(t, COARSE)
    laws, n = phi.shape
    stopped = np.where(t < times[:, None], phi[:, None], shapes(times, COARSE)[:, :, None])
    waits = shapes((t - times[:, None]).ravel(), COARSE)
    pairs = np.array([(a, b) for a in TAUS for b in TAUS if a >= CLIMB_FASTER_TIMES * b])
    slow, fast = np.exp(-t / pairs[:, :1]), np.exp(-t / pairs[:, 1:])

    def family(name: str, *columns: Floats, at: Floats | None = None) -> Family:
        every = (np.ones((1, n)), *columns)
        products = tuple((p, q, c * every[q] if q else c) for p, c in enumerate(every) for q in range(p + 1))
        n_free = 6
        if len(columns) < 2 and at is None:
            n_free = 5 if columns else 2
        return Family(name, every, np.zeros(len(every[-1])) if at is None else at, n_free, products)

    return (
        family(NEVER),
        family(HEALTHY, phi),
        family(HEALTHY, phi, np.tile(-(t**3), (laws, 1))),
        family(HEALTHY, (1 - t - np.sin(np.pi * t) / np.pi)[None]),
        family(STOPPED, stopped.reshape(-1, n), at=np.tile(times, laws)),
        family(WAITS, waits.reshape(-1, n), at=np.tile(times, laws)),
        family(CLIMBS, slow, -fast),
    )


def best_member(value: Floats, weight: Floats, family: Family) -> tuple[float, Floats] | None:
    """T and the curve of the member with the least squares; None if none has positive weights."""
    columns, members, size = family.columns, len(family.places), len(family.columns)
    normal, right = np.empty((members, size, size)), np.empty((members, size, 1))
    for p, q, product in family.products:
        normal[:, p, q] = normal[:, q, p] = product @ weight
    for p, column in enumerate(columns):
        right[:, p, 0] = column @ (weight * value)
    weights = np.linalg.solve(normal * (1 + 1e-10 * np.eye(size)), right)
    # the squared residuals without a constant term, for which the curves need not be computed
    cost = (weights * (normal @ weights - 2 * right)).sum(axis=(1, 2))
    cost[~(weights[:, 1:, 0] > 0).all(axis=1)] = np.inf
    while cost[m := int(np.argmin(cost))] < np.inf:
        curve: Floats = sum(weights[m, p] * column[m if p else 0] for p, column in enumerate(columns))
        if (curve > 0).all():
            return float(family.places[m]), curve
        cost[m] = np.inf
    return None


def student(z: Floats) -> Floats:
    """The mean log likelihood of each row of residuals under Student-t errors of its own scale."""
    square = z * z
    spread = np.maximum(square.mean(axis=1, keepdims=True), 1e-18)
    for _ in range(REWEIGHTINGS):
        weight = (STUDENT_DEGREES + 1) / (STUDENT_DEGREES + square / spread)
        spread = np.maximum((weight * square).mean(axis=1, keepdims=True), 1e-18)
    far = np.log1p(square / (STUDENT_DEGREES * spread)).mean(axis=1)
    return np.asarray(-0.5 * (np.log(spread[:, 0]) + (STUDENT_DEGREES + 1) * far))
