"""The published spike rules of training frameworks, so that a team can see what its callback would have said.

Each rule is written from its published source, with the defaults found there, and judges one series of one
attempt in the order of the log. `chronicle classify RUN --preset NAME` counts what a rule flags inside and
outside of chronicle's own findings.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.model import Floats, Mask

_ROWS = 4096  # windows of values that are held in memory at once


@dataclass(frozen=True)
class Preset:
    """A published rule: its name, the rule in one sentence, where it comes from, and the rule itself.
    ``window_samples`` must be logged before the rule judges one. ``flags`` takes the values of a series
    (float64[n]) and returns which of them the rule flags (bool[n])."""

    name: str
    rule: str
    source: str
    window_samples: int
    flags: Callable[[Floats], Mask]


@dataclass(frozen=True)
class Comparison:
    """What one published rule (a preset) flags in one series of ``samples`` points, compared with the
    findings: ``outside_steps`` are flagged outside every finding; ``seen`` and ``missed`` are the ids of the
    findings with and without a flagged sample."""

    preset: str
    metric: str
    attempt: str
    samples: int
    flagged_steps: tuple[int, ...]
    outside_steps: tuple[int, ...]
    seen: tuple[str, ...]
    missed: tuple[str, ...]


def beyond_sigma(values: Floats, *, window_samples: int, sigmas: float, two_sided: bool = False) -> Mask:
    """Which values lie more than ``sigmas`` standard deviations from the mean of the window before them. Only
    full windows judge, a window without spread judges nothing, and a NaN in a window silences it, as it does
    in the frameworks. ``two_sided`` counts values below the mean as well, and the limit itself."""
    flags = np.zeros(len(values), bool)
    if len(values) <= window_samples:
        return flags
    windows = np.lib.stride_tricks.sliding_window_view(values[:-1], window_samples)
    for begin in range(0, len(windows), _ROWS):
        before = windows[begin : begin + _ROWS]
        now = values[begin + window_samples : begin + window_samples + len(before)]
        with np.errstate(invalid="ignore", over="ignore"):
            mean, spread = before.mean(axis=1), before.std(axis=1)
            out = np.abs(now - mean) >= sigmas * spread if two_sided else now > mean + sigmas * spread
            flags[begin + window_samples : begin + window_samples + len(before)] = out & (spread >= 1e-10)
    return flags


def kill_loss_spike(values: Floats) -> Mask:
    """Which values would be the fifth or later in a row at twice the running mean, or end a window half of
    which is above the cap. The window is a twentieth of the training, 100 samples at least; the cap is the
    highest loss of the first window, 10 at most (as the callback documents it), and counts from the end of
    the second window on."""
    window = max(100, round(0.05 * len(values)))
    flags = np.zeros(len(values), bool)
    if len(values) <= window:
        return flags
    cap = min(float(np.max(values[:window])), 10.0)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = _sums_before(np.where(np.isfinite(values), values, 0.0), window) / window
        mean[_sums_before(~np.isfinite(values), window) > 0] = np.nan
        hit = values[window:] >= 2.0 * mean
    place = np.arange(1, len(hit) + 1)
    row = place - np.maximum.accumulate(np.where(hit, 0, place))  # hits in a row that end at each place
    high = _sums_before(values > cap, window) >= window / 2
    high[: window - 1] = False
    flags[window:] = (row > 4) | high
    return flags


def lightning(values: Floats) -> Mask:
    """Which values rise and lie at least twice the mean of the last ten away from it, or are not finite. A
    flagged value does not enter the mean: the callback stops the training there and skips the batch; here the
    log goes on as if it had not."""
    flags = np.zeros(len(values), bool)
    last, window = 0.0, deque[float](maxlen=10)
    for i, value in enumerate(values.tolist()):
        mean, finite = sum(window) / len(window) if window else 0.0, math.isfinite(value)
        far = value > last and abs(value - mean) >= abs(2.0 * mean)
        flags[i] = i >= 1 and (not finite or far)
        if finite and not flags[i]:
            window.append(value)
            last = value
    return flags


def _sums_before(values: NDArray[Any], window_samples: int) -> Floats:
    """For each value after the first window the sum of the window before it."""
    sums = np.concatenate([[0.0], np.cumsum(values, dtype=np.float64)])
    return np.asarray(sums[window_samples:-1] - sums[: -window_samples - 1])


# fmt: off
PRESETS = {preset.name: preset for preset in (
    Preset("olmo-128-6", "a value more than 6 standard deviations above the mean of the 128 before it",
           "OLMo-core, StabilityMonitorCallback (defaults)", 128,
           partial(beyond_sigma, window_samples=128, sigmas=6.0)),
    Preset("olmo2-spike-score",
           "a value at least 7 standard deviations away from the mean of the 1,000 before it; "
           "the share of such values is the spike score",
           "OLMo 2, arXiv 2501.00656 (as quoted by others; the paper gives no code)", 1000,
           partial(beyond_sigma, window_samples=1000, sigmas=7.0, two_sided=True)),
    Preset("kill-loss-spike",
           "more than 4 values in a row at twice the running mean, or half of a window above the cap",
           "llm-foundry, KillLossSpike (defaults)", 100, kill_loss_spike),
    Preset("lightning-spike",
           "a rising value at least twice the mean of the last 10 away from that mean, or not finite",
           "Lightning Fabric, SpikeDetection (defaults)", 1, lightning),
)}
# fmt: on
