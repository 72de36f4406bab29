"""What this archive knows of a pattern: its events, those that somebody spoke of first, and how often."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from chronicle.classify.patterns import Trait, having
from chronicle.metrics.values import count, moment
from chronicle.model import EventKind
from chronicle.pages.gallery import SiteData
from chronicle.pages.happened import Happened

FEWEST = 5  # of fewer nothing is counted: an interval over them says nothing
_WHOLE = having(Trait.WHOLE_RUN | Trait.CALM | Trait.PROPERTY)  # these have no end of their own
_Z = 1.96  # of a normal distribution, for an interval of 95 %


def precedents(site: SiteData, pattern: str) -> list[Happened]:
    """The events that a pattern names: those that somebody spoke of first, then the newest."""
    found = [
        Happened(entry, event)
        for entry in site.showing.get(pattern, ())
        for event in entry.events
        if event.kind is EventKind.FINDING and event.patterns[:1] == (pattern,)
    ]
    return sorted(found, key=lambda one: (not one.notes, -moment(one.time)))


def statistics(site: SiteData, pattern: str, found: Sequence[Happened]) -> Iterator[str]:
    """Sentences about a pattern in this archive, each with its n and an interval of 95 %."""
    runs, shown = len(site.entries), len(site.showing.get(pattern, ()))
    if shown and runs >= FEWEST:
        yield f"{_share(shown, runs)} of the {count(runs)} runs here show it."
    if pattern in _WHOLE:
        return
    closed = [one.event for one in found if one.event.step is not None and one.event.end_step is not None]
    if len(found) >= FEWEST:
        over = _share(len(closed), len(found))
        yield f"{over} of its {count(len(found))} events were over when the log ended."
    of_steps = [one.event for one in found if all(row.get("axis") == "step" for row in one.entry.attempts)]
    taken = sorted(e.end_step - e.step for e in of_steps if e.end_step is not None and e.step is not None)
    if len(taken) > FEWEST:
        low, high = median_interval(len(taken))
        middle = taken[len(taken) // 2]
        ends = f"{count(taken[low])} to {count(taken[high])}"
        yield f"Half of {count(len(taken))} took {count(middle)} steps or fewer (95 % interval {ends})."


def _share(part: int, n: int) -> str:
    low, high = wilson(part, n)
    return f"{count(100 * part / n)} % (95 % interval {count(100 * low)} to {count(100 * high)} %)"


def wilson(part: int, n: int) -> tuple[float, float]:
    """The interval of Wilson (1927) for a share of ``n`` > 0, 95 %: it never leaves 0 to 1."""
    share, z2 = part / n, _Z**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def median_interval(n: int) -> tuple[int, int]:
    """Ranks, from 0, of the sorted values between which the median of what ``n`` values are from lies.

    They leave out at most 2.5 % on each side, by the binomial distribution; of few values it is all of them.
    """
    below, rank = 0.0, 0
    while rank < n // 2 and (below := below + math.comb(n, rank) / 2**n) <= 0.025:
        rank += 1
    rank = max(rank - 1, 0)
    return rank, n - 1 - rank
