"""What a fault did, measured against the twin: the same training, same seed, without the fault. NumPy alone.

All heights are log units of the loss (0.1 is 10 %); a noise scale is the spread of one logged point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
WINDOWS = (1, 2, 4, 8, 16, 32, 64)  # samples that are averaged to look for a lift
FAST_STEPS, FAST_SAMPLES = 150.0, 10  # a spike that is back within either is fast
LEFT, LEFT_CAP, LEFT_NOISE = 0.15, 0.03, 0.8  # back, by the definition of the spikes' pages
SURE, LIKELY, LEAST = 8.0, 5.0, 0.025  # noise scales; log units


@dataclass(frozen=True)
class Shape:
    """A departure from the twin. Indices are of logged points; ``back`` None: not before the log ends.

    ``score``: the clearest mean over 1 to 64 samples, in its own standard errors; ``left``: what remains of
    the height at the end; ``falling``: whether that end still comes down.
    """

    start: int
    peak: int
    back: int | None
    height: float
    noise: float
    score: float
    left: float
    falling: bool
    width: int

    @property
    def sure(self) -> bool:
        """Nobody could miss it: and it is no single hard batch."""
        return self.score >= SURE and self.height >= LEAST and (self.width > 1 or self.scales >= 20)

    @property
    def likely(self) -> bool:
        """There, but debatable."""
        return self.score >= LIKELY

    @property
    def scales(self) -> float:
        """The height in noise scales."""
        return self.height / self.noise


def noise(loss: Floats) -> float:
    """The spread of one logged point of a course without events, from neighbours past the first fifth."""
    y = np.log(np.maximum(np.abs(loss[np.isfinite(loss)]), 1e-12))
    step = np.diff(y[len(y) // 5 :])
    return max(1.4826 * float(np.median(np.abs(step - np.median(step)))) / 2**0.5, 1e-4) if len(step) else 1.0


def lift(run: Floats, twin: Floats) -> Floats:
    """How far the run is above its twin, log units; NaN where either has no finite positive value."""
    fine = np.isfinite(run) & np.isfinite(twin) & (run > 0) & (twin > 0)
    out = np.full(len(run), np.nan)
    out[fine] = np.log(run[fine] / twin[fine])
    return out


def shape(up: Floats, first: int, stop: int, scale: float) -> Shape | None:
    """The departure between two indices of a lift; None where nothing finite is there."""
    part = up[first:stop]
    if not np.isfinite(part).any():
        return None
    lost = np.flatnonzero(~np.isfinite(part))
    into_nan = len(lost) > 0 and lost[-1] == len(part) - 1
    part = part[: lost[0]] if into_nan and lost[0] > 0 else np.where(np.isfinite(part), part, 0.0)
    peak = int(np.argmax(part))
    height = float(part[peak])
    over = part >= max(3 * scale, 0.1 * height)
    start = int(np.argmax(over)) if over.any() else 0
    target = max(min(LEFT * height, LEFT_CAP), LEFT_NOISE * scale)
    three = np.convolve(part, np.ones(3) / 3, "same")
    calm = np.flatnonzero(three[peak:] <= target)
    end = part[-max(16, len(part) // 10) :]
    halves = np.median(end[: len(end) // 2]), np.median(end[len(end) // 2 :])
    left = float(np.median(end))
    left = max(left, height) if into_nan else left
    settled = len(calm) > 0 and left <= 2 * target
    return Shape(
        start=first + start,
        peak=first + peak,
        back=first + peak + int(calm[0]) if settled else None,
        height=height,
        noise=scale,
        score=score(part, scale),
        left=left,
        falling=bool(halves[0] - halves[1] > 0.05 * max(height, 1e-9)),
        width=int(over.sum()),
    )


def score(up: Floats, scale: float) -> float:
    """The clearest mean over a window of `WINDOWS`, in standard errors of a mean of independent points."""
    best = 0.0
    total = np.concatenate([[0.0], np.cumsum(np.where(np.isfinite(up), up, 0.0))])
    for k in (k for k in WINDOWS if k <= len(up)):
        best = max(best, float((total[k:] - total[:-k]).max()) / k * k**0.5 / scale)
    return best


def spike_names(s: Shape, steps: Floats) -> tuple[str, ...]:
    """What the shape is called, the best name first, by the definitions of the gallery's pages."""
    jump = s.peak - s.start <= 8
    if s.back is None:
        return _not_back(s, jump=jump)
    took, samples = float(steps[s.back] - steps[s.start]), s.back - s.start
    fast = took <= FAST_STEPS or samples <= FAST_SAMPLES
    names = ("spike-fast-recovery",) if fast else ("spike-slow-recovery",)
    if 0.5 * FAST_STEPS <= took <= 2 * FAST_STEPS or 5 <= samples <= 15:
        names += ("spike-slow-recovery",) if fast else ("spike-fast-recovery",)
    if s.left > LEFT_NOISE * s.noise:  # an end that is near, not at, its twin
        names += ("spike-no-full-recovery",)
    return names


def _not_back(s: Shape, *, jump: bool) -> tuple[str, ...]:
    share = s.left / max(s.height, 1e-9)
    if jump and share < 0.6:
        more = ("spike-slow-recovery",) if s.falling or share < 0.25 else ()
        return ("spike-no-full-recovery", *more, *(("level-shift",) if s.left <= 0.3 else ()))
    if jump and s.left <= 0.25:
        return ("level-shift", "spike-no-full-recovery", "divergence-after-spike")
    if jump:
        return ("divergence-after-spike", "spike-no-full-recovery", "divergence-no-spike")
    if share < 0.6 and s.left <= 0.25:
        return ("spike-slow-recovery", "spike-no-full-recovery", "divergence-no-spike")
    if s.left <= 0.25:
        return ("divergence-no-spike", "level-shift", "spike-no-full-recovery", "divergence-after-spike")
    more = ("spike-slow-recovery",) if s.falling or share < 0.6 else ()
    return ("divergence-no-spike", "divergence-after-spike", "spike-no-full-recovery", *more)


def first_lead(grad: Floats, twin_grad: Floats, up: Floats, spike: Shape) -> int:
    """Logged points by which the gradient norm rises before the loss does; 0: it does not.

    In each of them the norm is up by two of its noise scales and the loss by less than three; taken together
    the norm is up by six standard errors.
    """
    scale = noise(twin_grad)
    higher = lift(grad, twin_grad)
    risen = up >= 3 * spike.noise
    onset = spike.start
    while onset > 0 and risen[onset - 1]:
        onset -= 1
    at = onset
    while at > 0 and higher[at - 1] >= 2 * scale and not risen[at - 1]:
        at -= 1
    together = float(np.sum(higher[at:onset])) / max(onset - at, 1) ** 0.5
    return onset - at if together >= 6 * scale else 0


def overfits(steps: Floats, val: Floats) -> int | None:
    """The index from which the validation loss rises for good; None where it does not."""
    if len(val) < 6 or not np.isfinite(val).all():
        return None
    low = int(np.argmin(val))
    risen = bool((val[-3:] > 1.02 * val[low]).all()) and np.median(val[-3:]) > val[low] * 1.03
    return low if risen and steps[low] < 0.9 * steps[-1] else None


def halvings(scale: Floats, window: int = 50) -> int | None:
    """The index at which a loss scale begins to halve four times in so many points; None: it does not."""
    y = np.log2(np.maximum(scale, 1e-30))
    for i in range(20, len(y)):
        if y[i] - y[i : i + window].min() >= 4:
            return i
    return None
