"""Questions about the last samples, asked when an event opens or closes: onset, jump or ramp, fall.

All read the ring of the last RING samples; i is the index of the newest one.
"""

from __future__ import annotations

import math

from chronicle.classify.kernel import layout as at
from chronicle.classify.kernel.layout import Row


def oldest(i: float) -> float:
    """Index of the oldest sample in the ring that is safe to read."""
    return max(i - at.RING + 1.0, 0.0)


def mean_of(ring: Row, start: float, stop: float) -> float:
    """Mean of samples start..stop-1; there must be at least one."""
    total = 0.0
    for j in range(int(start), int(stop)):
        total += ring[j % at.RING]
    return total / max(int(stop) - int(start), 1)


def first_above(ring: Row, start: float, i: float, threshold: float) -> float:
    """First of three samples in a row above the threshold, or -1."""
    run = 0
    for j in range(int(start), int(i) + 1):
        run = run + 1 if ring[j % at.RING] > threshold else 0
        if run >= 3:
            return j - 2.0
    return -1.0


def abruptness(ring: Row, onset: float, i: float, base: float, noise: float) -> float:
    """Share of the height of the first 32 samples that was gained in one jump: 1 is a jump, 0 a ramp.

    A jump is the difference of two three-sample means side by side, less one noise scale; or of two
    neighbours, where that is far above the noise.
    """
    height, jump3, jump1 = 1e-9, 0.0, 0.0
    for j in range(int(max(onset - 2.0, oldest(i) + 3.0, 3.0)), int(min(onset + 32.0, i)) + 1):
        height = max(height, mean_of(ring, j - 2, j + 1) - base)
        if j <= onset + 16.0:
            jump1 = max(jump1, ring[j % at.RING] - ring[(j - 1) % at.RING])
            if j + 2 <= i:
                jump3 = max(jump3, mean_of(ring, j, j + 3) - mean_of(ring, j - 3, j))
    share = max(jump3 - noise, 0.0) / height
    if jump1 > 8.0 * noise:
        return max(share, (jump1 - 2.0 * noise) / max(height, jump1))
    return share


def rise_start(ring: Row, event: Row, i: float, noise: float, is_jump: bool) -> float:
    """Onset once the height is known: first of three samples above a tenth of it (a ramp: a twentieth).

    For tall events the edge is the geometric mean of that share and of the noise. A jump cannot begin before
    its evidence did; a ramp may, as long as means of four stay above the baseline.
    """
    onset, peak, height = event[at.ONSET], event[at.PEAK], max(event[at.HEIGHT], 0.0)
    share = 0.1 if is_jump else 0.05
    edge = event[at.BASE] + max(min(share * height, math.sqrt(3.0 * share * height * noise)), 1.5 * noise)
    start = onset
    if not is_jump:
        first = max(onset - max(8.0, 0.5 * (event[at.OPENED] - onset)), oldest(i) + 3.0)
        while start > first and mean_of(ring, start - 3, start + 1) > event[at.BASE] + 0.5 * noise:
            start -= 1.0
    run = 0
    for j in range(int(max(start, oldest(i))), int(peak) + 1):
        run = run + 1 if ring[j % at.RING] > edge else 0
        if run >= 3 or (is_jump and run > 0 and j == int(peak)):
            return float(j - run + 1)
    return onset


def lowest(ring: Row, start: float, i: float) -> float:
    """Index of the last of the lowest samples from start to i."""
    best = float(int(start))
    for j in range(int(start), int(i) + 1):
        if ring[j % at.RING] <= ring[int(best) % at.RING]:
            best = float(j)
    return best


def still_falling(ring: Row, start: float, i: float) -> float:
    """Mean of the middle third of the samples from start to i, less that of their last third."""
    third = int((i - start) / 3.0)
    if third < 1:
        return 0.0
    middle = mean_of(ring, i - 2 * third + 1, i - third + 1)
    return middle - mean_of(ring, i - third + 1, i + 1)


def drop_samples(ring: Row, onset: float, i: float, before: float, drop: float) -> float:
    """Samples from the onset of a fall until four fifths of it were reached and kept for three samples."""
    run = 0
    for j in range(int(max(onset, oldest(i))), int(i) + 1):
        run = run + 1 if before - ring[j % at.RING] >= 0.8 * drop else 0
        if run >= 3:
            return j - 2.0 - onset
    return i - onset
