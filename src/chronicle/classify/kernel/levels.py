"""One level of the pyramid: references without lag, a noise scale, a CUSUM upwards and one downwards.

Every level is the same detector on means of 4**k samples: what is slow, small or long for one level is an
ordinary shift on a coarser one, so there is no special rule for gradual divergence or small level shifts.

What is clipped at every sample is clipped by conditions: calls of `min` and `max` are a third of the time
of plain Python.
"""

from __future__ import annotations

import math

from chronicle.classify.kernel import memory as at
from chronicle.classify.kernel.memory import Memory, Row


def observe(mem: Memory, k: int, y: float, i: float, watch_down: bool) -> tuple[float, bool, bool]:
    """Take one sample of level k. Returns (excess in noise scales, alarm up, alarm down)."""
    q = mem.levels[k]
    if q[at.COUNT] == 0.0:
        set_level(q, y)
        if k > 0:  # a little more than averaging white noise would leave
            q[at.NOISE] = 0.6 * mem.levels[k - 1][at.NOISE]
        q[at.COUNT] = 1.0
        q[at.FRESH] = 1.0
        return 0.0, False, False
    noise = q[at.NOISE]
    mean = q[at.MEAN]
    ahead = 2.0 * mean - q[at.MEAN2]  # the reference moved on along its own trend
    # on a falling curve the reference lags above it, so convexity raises no alarm
    z_up = (y - (ahead if ahead > mean else mean)) / noise
    z_down = ((ahead if ahead < mean else mean) - y) / noise
    up, down = False, False
    if q[at.FRESH] >= 6.0 or (k == 0 and q[at.COUNT] >= 8.0):
        up = (
            rise_evidence(mem, q, z_up / kinship(mem, k), i - at.BLOCK[k] + 1.0)
            and y - mean > mem.config[at.RISE]
        )
        down = watch_down and k <= 2 and fall_evidence(mem, q, z_down, i - at.BLOCK[k] + 1.0)
        down = down and mean - y > 0.5 * mem.config[at.DROP]
    follow(mem.config, q, y, 32.0 if k == 0 else 12.0)
    return z_up, up, down


def set_level(q: Row, y: float) -> None:
    """Put all references of a level on y."""
    q[at.MEAN] = y
    q[at.MEAN2] = y
    q[at.TREND] = y
    q[at.TREND2] = y


def warming(q: Row) -> float:
    """Thresholds are doubled at the start of a level and single from its 24th sample on."""
    return 1.0 + (1.0 - q[at.FRESH] / 24.0 if q[at.FRESH] < 24.0 else 0.0)


def kinship(mem: Memory, k: int) -> float:
    """How much less than independent samples in a row are worth, 1 (white noise) to 2: where means of four
    are nearly as noisy as single samples, neighbours say the same thing."""
    if k > 0 or mem.levels[k + 1][at.COUNT] < 24.0:
        return 1.0
    worth = mem.levels[k + 1][at.NOISE] / (0.8 * mem.levels[k][at.NOISE])
    return 1.0 if worth < 1.0 else 2.0 if worth > 2.0 else worth


def rise_evidence(mem: Memory, q: Row, z: float, since: float) -> bool:
    """Winsorised CUSUM upwards: True when its sum passes the threshold.

    The threshold is never below what this series' own excursions ask for (bimodal batches, autocorrelated
    noise): their exponential tail is extrapolated to the height that is passed once in 1 / CALM_TAIL samples.
    """
    cfg = mem.config
    if q[at.UP] <= 0.0:
        q[at.UP_ONSET] = since
        q[at.UP_TOP] = 0.0
    q[at.UP] = added(q[at.UP], z, cfg)
    if q[at.UP] > q[at.UP_TOP]:
        q[at.UP_TOP] = q[at.UP]
    ended = q[at.UP] <= 0.0 and q[at.UP_TOP] > at.CALM_FROM
    if ended:
        calm_excursion(q, q[at.UP_TOP])
    q[at.CALM_RATE] += ((1.0 if ended else 0.0) - q[at.CALM_RATE]) / 1000.0
    if q[at.UP] <= cfg[at.CUSUM]:
        return False
    often = math.log(max(q[at.CALM_RATE], cfg[at.CALM_TAIL]) / cfg[at.CALM_TAIL])
    return q[at.UP] > max(cfg[at.CUSUM], at.CALM_FROM + q[at.CALM_MEAN] * often) * warming(q)


def added(total: float, z: float, cfg: Row) -> float:
    """A CUSUM with one more sample, which counts from -3 noise scales up to CLIP."""
    total += -3.0 if z < -3.0 else cfg[at.CLIP] if z > cfg[at.CLIP] else z
    return total - cfg[at.ALLOWANCE] if total > cfg[at.ALLOWANCE] else 0.0


def calm_excursion(q: Row, top: float) -> None:
    """The CUSUM rose to ``top`` and came back with no event: that is what this series does when healthy."""
    q[at.CALM_MEAN] += (min(top - at.CALM_FROM, 60.0) - q[at.CALM_MEAN]) * 0.25


def fall_evidence(mem: Memory, q: Row, z: float, since: float) -> bool:
    """Winsorised CUSUM downwards: True when it passes the threshold."""
    cfg = mem.config
    if q[at.DOWN] <= 0.0:
        q[at.DOWN_ONSET] = since
    if q[at.FRESH] >= 24.0:
        q[at.DOWN] = added(q[at.DOWN], z, cfg)
    return q[at.DOWN] > cfg[at.CUSUM] and q[at.DOWN] > cfg[at.CUSUM] * warming(q)


def follow(cfg: Row, q: Row, y: float, settled: float) -> None:
    """Move the references and the noise scale of a level towards one sample."""
    fresh, noise = q[at.FRESH] / 4.0, q[at.NOISE]
    memory = 2.0 if fresh < 2.0 else cfg[at.MEMORY] if fresh > cfg[at.MEMORY] else fresh
    mean, ahead, gain = q[at.MEAN], 2.0 * q[at.TREND] - q[at.TREND2], 1.0 / memory
    # The long reference follows a fall as fast as the short one, a rise slowly, or it would swallow it.
    lower, upper = (mean if mean < ahead else ahead) - 4.0 * noise, mean + cfg[at.SWALLOW] * noise
    q[at.MEAN] += gain * ((lower if y < lower else upper if y > upper else y) - mean)
    q[at.MEAN2] += gain * (q[at.MEAN] - q[at.MEAN2])
    left = q[at.TREND] + 4.0 * noise
    above = q[at.MEAN] - (left if left > y else y)
    if above > 0.0:  # left behind by a steep fall: a spike would start below it
        q[at.MEAN] -= above
        q[at.MEAN2] -= above
    # The short one is clipped at four noise scales; three samples far below it re-acquire the level.
    gain = 1.0 / (memory if memory < cfg[at.TREND_MEMORY] else cfg[at.TREND_MEMORY])
    lower, upper = ahead - 4.0 * noise, ahead + 4.0 * noise
    q[at.BELOW] = q[at.BELOW] + 1.0 if y < lower else 0.0
    taken = upper if y > upper else lower if y < lower and q[at.BELOW] < 3.0 else y
    q[at.TREND] += gain * (taken - q[at.TREND])
    q[at.TREND2] += gain * (q[at.TREND] - q[at.TREND2])
    # Noise is measured against the short trend (a trend is not noise), in bounded multiplicative steps.
    z, half = (y - ahead) / (1.1 * noise), q[at.COUNT] / 2.0
    square = z * z if z * z < 4.0 else 4.0
    steady = settled if half < settled else half if half < 400.0 else 400.0
    noise *= math.exp(0.5 * (square / 0.9205 - 1.0) / steady)
    q[at.NOISE] = noise if noise > at.FLOOR else at.FLOOR
    q[at.COUNT] += 1.0
    q[at.FRESH] += 1.0
