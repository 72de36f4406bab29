"""Rises that a steep course hides: in short logs, and in rows at log-spaced steps.

The kernel compares a sample with a mean of the samples before it, which lags above a falling loss. Where the
loss falls by a good part of its noise from sample to sample, as in the first hundred samples of a log and in
all rows of a log-spaced evaluation, a rise of ten noise scales drowns in that lag. But a loss falls about
like a power of the step, so over log(step) the next samples lie on the line through those before them. A
short log, which is judged again when it is over, is read once more against that line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from chronicle.classify.detect import Event, Kind
from chronicle.classify.kernel import memory as at
from chronicle.classify.kernel.events import abruptness, still_falling
from chronicle.classify.measure import MEDIAN_ERROR, Line, fit, log_step, median, positive, wiggle
from chronicle.classify.thresholds import Thresholds
from chronicle.model import Floats, Series

BEFORE = 32  # [samples] that make the line
LEAST = 12  # [samples] of a line
HORIZON = 0.5  # [log steps] a line is trusted beyond its end, or as far as it is wide
WINDOWS = (3, 8)  # [samples] whose median is held against the line
SPARSE = 5  # [steps] between two samples from which on a spike is one sample
RISES = (Kind.BACK, Kind.OPEN, Kind.LONE)
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, eq=False)
class Course:
    """The finite samples of a log from ``onset`` on, over the line before; ``t`` is the evidence."""

    line: Line
    steps: Floats
    y: Floats
    onset: int
    t: float

    @property
    def off(self) -> Floats:
        """Distance from the line, log units."""
        return self.y - self.line.at(self.steps)

    @property
    def far(self) -> int:
        """The sample from which on the line is not trusted."""
        x = log_step(self.steps)
        return max(int(np.searchsorted(x, x[self.onset] + max(HORIZON, self.line.width))), self.onset + 4)


def hidden(series: Series, limits: Thresholds, seen: tuple[Event, ...]) -> Iterator[Event]:
    """Rises of a short log over the line before them, where the kernel has ``seen`` none."""
    steps, y = positive(series)
    if len(series) > limits.short or len(y) < LEAST + WINDOWS[0]:
        return
    place = np.flatnonzero(np.isfinite(series.values) & (series.values > 0))
    calm = np.ones(len(series), bool)  # where the kernel saw no rise
    for e in seen:
        if e.kind in RISES:
            calm[e.onset : len(series) if e.end is None else e.end + 1] = False
    calm = calm[place]
    i = LEAST
    while i < len(y) - 1:
        event = rise_at(steps, y, calm, i, limits) if calm[i] else None
        last = i if event is None else len(y) - 1 if event.end is None else event.end
        if event is not None:
            calm[event.onset : last + 1] = False
            # Some samples of the series are not finite: indices of the event are those of the series.
            onset, peak = int(place[event.onset]), int(place[event.peak])
            end = None if event.end is None else int(place[event.end])
            into_nan = end is None and int(place[-1]) < len(series) - 1
            yield replace(event, onset=onset, opened=onset, peak=peak, end=end, into_nan=into_nan)
        i = last + 1


def rise_at(steps: Floats, y: Floats, calm: Mask, i: int, limits: Thresholds) -> Event | None:
    """The rise that begins at sample ``i``, if one does."""
    known = np.flatnonzero(calm[:i])[-BEFORE:]
    line = fit(steps[known], y[known]) if len(known) >= LEAST else None
    if line is None:
        return None
    line = replace(line, noise=restless(line, steps, y, known, i))
    off = y - line.at(steps)
    if steps[i] - steps[i - 1] >= SPARSE and (lone := stands_alone(Course(line, steps, y, i, 0.0), limits)):
        return lone
    for m in WINDOWS:
        part = slice(i, i + m)
        if len(off[part]) < m or not calm[part].all():
            return None
        own = MEDIAN_ERROR * line.noise * line.inflation / m**0.5
        t = median(off[part]) / float(np.hypot(own, line.error(steps[part])))
        if t >= limits.step_t:
            least = max(0.3 * float(np.max(off[part])), 1.5 * line.noise)
            return measured(Course(line, steps, y, i + int(np.argmax(off[i:] > least)), t), limits)
    return None


def restless(
    line: Line, steps: Floats, y: Floats, known: np.ndarray[tuple[int], np.dtype[np.intp]], i: int
) -> float:
    """One-sample noise around a place: all that is off the line before it, and neighbours after it.

    A series that is rounded, or has turned restless, differs from a rise in that the next samples differ too.
    """
    before = float(np.std(y[known] - line.at(steps[known])))
    return max(line.noise, before, wiggle(y[i : i + BEFORE]) if i + LEAST <= len(y) else 0.0)


def stands_alone(c: Course, limits: Thresholds) -> Event | None:
    """A spike of one sample: far out, and the next one is not."""
    off, i = c.off, c.onset
    z = off[i : i + 2] / float(np.hypot(c.line.noise, c.line.error(c.steps[i : i + 1])))
    rise = c.y[i] - max(c.y[i - 1], c.y[i + 1])
    if z[0] < limits.lone_sparse or z[1] >= max(3.0, 0.25 * z[0]) or rise < 3 * limits.rise:
        return None
    return event_of(c, Kind.LONE, i, i + 1, float(off[i]), float(off[i + 1]), float(z[0]))


def measured(c: Course, limits: Thresholds) -> Event | None:
    """The rise over the line, as far as that is trusted; None if the log itself does not rise."""
    off, noise, n = c.off, c.line.noise, len(c.y)
    end = back_at(c, limits)
    last = min(c.far, n) - 1 if end is None else end
    peak = c.onset + int(np.argmax(off[c.onset : last + 1]))
    before = median(c.y[max(c.onset - 3, 0) : c.onset])
    soon = slice(c.onset, min(c.onset + WINDOWS[1], last + 1))
    rise, jump = float(np.max(c.y[soon])) - before, float(np.max(off[soon]))
    if end is None and median(c.y[-3:]) - before > rise:
        rise, jump = median(c.y[-3:]) - before, float(off[peak])
    if off[peak] < limits.rise or rise < max(limits.rise, 3 * noise, limits.risen * jump):
        return None
    kind = Kind.OPEN if end is None else Kind.BACK
    left = median(off[max(last - 7, c.onset) : last + 1])
    if end is None:  # beyond the line only what rises is growth
        left += max(median(c.y[-8:]) - median(c.y[max(last - 7, c.onset) : last + 1]), 0.0)
    return event_of(c, kind, peak, last, max(float(off[peak]), left), left, c.t)


def back_at(c: Course, limits: Thresholds) -> int | None:
    """The first of three samples whose mean is back, or None."""
    off, top = c.off, 0.0
    for j in range(c.onset, len(off) - 2):
        top = max(top, float(off[j])) if j < c.far else top
        within = max(min(limits.back * top, limits.back_cap), limits.back_noise * c.line.noise)
        within += c.line.error(c.steps[j : j + 1]) if j < c.far else 0.0
        if float(np.mean(off[j : j + 3])) <= within:
            return j
    return None


def event_of(c: Course, kind: Kind, peak: int, last: int, height: float, left: float, score: float) -> Event:
    """The event as the kernel would tell it."""
    ring = [*c.off[: last + 1].tolist(), *([0.0] * (at.RING - last - 1))]
    early = c.off[min(c.onset + 2, last) : last + 1][: at.WARM]
    return Event(
        kind=kind,
        onset=c.onset,
        peak=peak,
        end=None if kind is Kind.OPEN else last,
        height=height,
        residual=left,
        noise=c.line.noise,
        score=score,
        level_samples=1,
        into_nan=False,
        abruptness=1.0 if kind is Kind.LONE else abruptness(ring, c.onset, last, 0.0, c.line.noise),
        growth=left - median(early),
        falling=still_falling(ring, peak, last) / height,
        last=float(c.off[last]),
        opened=c.onset,
    )
