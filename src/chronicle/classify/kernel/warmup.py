"""The scale of a series: its transform to log units, and the noise of its first samples."""

from __future__ import annotations

import math

from chronicle.classify.kernel import layout as at
from chronicle.classify.kernel.events import restart_levels
from chronicle.classify.kernel.layout import Memory


def transform(mem: Memory, value: float) -> float:
    """The value in log units, or asinh units of a typical size where it crosses zero; sign applied."""
    if mem.state[at.DOMAIN] == 0.0:
        return mem.config[at.SIGN] * math.log(max(value, 1e-12))
    x = min(abs(value) / mem.state[at.UNIT], 1e150)
    size = math.log(x + math.sqrt(x * x + 1.0))
    return mem.config[at.SIGN] * (size if value >= 0.0 else -size)


def leave_log_domain(mem: Memory) -> None:
    """A series that was positive turns negative: go on in asinh units, at the same place."""
    state = mem.state
    state[at.DOMAIN] = 1.0
    state[at.UNIT] = math.exp(min(max(mem.config[at.SIGN] * mem.levels[0][at.MEAN], -300.0), 300.0))
    restart_levels(mem, mem.config[at.SIGN] * 0.881373587019543)  # asinh(1)
    mem.state[at.PENDING] = 0.0
    mem.state[at.ACTIVE] = 0.0
    for k in range(at.LEVELS):
        mem.levels[k][at.NOISE] *= 0.7  # d asinh(x) = 0.7 d log(x) at x = 1


def first_noise(values: list[float]) -> float:
    """Noise of a few samples: median deviation from the median of five neighbours, or its clipped mean."""
    count = len(values)
    off = [0.0] * count
    for j in range(count):
        near = sorted(values[max(j - 2, 0) : min(j + 3, count)])
        half = len(near) // 2
        middle = near[half] if len(near) % 2 == 1 else 0.5 * (near[half - 1] + near[half])
        off[j] = abs(values[j] - middle)
    ranked = sorted(off)
    median = 0.5 * (ranked[(count - 1) // 2] + ranked[count // 2])
    total = 0.0
    for j in range(count):
        total += min(off[j], 4.0 * median + 1e-3)
    return max(1.4826 * median, 0.6 * total / count, at.FLOOR)
