"""Where marks stand so that none covers another. Pixels from the left end of a panel; pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from chronicle.classify.patterns import BY_ID
from chronicle.model import Finding, Join, Verdict

BADGE_PX = 24  # from one badge to the next on a row
LETTER_PX = 19  # the same for the letters of joins
MOST_BADGES = 30  # more than this do not fit a phone; further findings have bands without a number
MOST_LETTERS = 24
_NARROWEST_PX = 5
_LONG_PX = 72  # a longer band has its badge at the left end
_FILL_SHARE = 0.8  # a finding about nearly all of the run gets a cap and no fill
_DEEPEST = 2  # tints of one verdict over each other; more are mud
_EVERY_LINE = 40  # of more joins than this only those with a letter have a line


@dataclass(frozen=True)
class Mark:
    """A badge or letter: where it belongs, where it stands, and on which row (0 is next to the panel)."""

    text: str
    wanted_px: float
    at_px: float
    row: int


@dataclass(frozen=True)
class Fill:
    """A tint through all panels: ``depth`` findings of one verdict are over each other here."""

    verdict: Verdict
    left_px: float
    right_px: float
    depth: int


@dataclass(frozen=True)
class Band:
    """A finding over the steps it took: cap on lane ``lane``, fill, arrow where it was not over."""

    number: int
    verdict: Verdict
    left_px: float
    right_px: float
    lane: int
    fill: bool
    open: bool


def bands(
    findings: Sequence[tuple[int, Finding]],
    ends: Mapping[int, float],
    first: float,
    last: float,
    width_px: float,
) -> list[Band]:
    """Bands of the findings that touch [first, last]. ``ends`` has the last step of each, by its number.

    Caps of overlapping bands are on lanes of their own, so two findings never look like one.
    """
    made: list[Band] = []
    free_from: list[float] = []
    for number, finding in findings:
        if ends[number] < first or finding.start_step > last:
            continue
        left, right = (
            (step - first) / (last - first) * width_px for step in (finding.start_step, ends[number])
        )
        left, right = max(left, 0), min(right, width_px)
        if right - left < _NARROWEST_PX:
            middle = min(max((left + right) / 2, _NARROWEST_PX / 2), width_px - _NARROWEST_PX / 2)
            left, right = middle - _NARROWEST_PX / 2, middle + _NARROWEST_PX / 2
        lane = next((i for i, end in enumerate(free_from) if end <= left), len(free_from))
        free_from[lane : lane + 1] = [right + 1]
        fill = right - left < _FILL_SHARE * width_px
        verdict = BY_ID[finding.pattern].verdict
        made.append(Band(number, verdict, left, right, lane, fill, finding.end_step is None))
    return made


def fills(shown: Sequence[Band]) -> list[Fill]:
    """The tints of the bands. Where verdicts overlap the gravest one has it: a blend would be no verdict."""
    tinted = [band for band in shown if band.fill]
    cuts = sorted({edge for band in tinted for edge in (band.left_px, band.right_px)})
    made: list[Fill] = []
    for left, right in pairwise(cuts):
        over = [band.verdict for band in tinted if band.left_px <= left and right <= band.right_px]
        if over:
            gravest = max(over, key=lambda verdict: verdict.rank)
            fill = Fill(gravest, left, right, min(over.count(gravest), _DEEPEST))
            last = made[-1] if made else fill
            if (last.verdict, last.depth, last.right_px) == (fill.verdict, fill.depth, left):
                fill = replace(made.pop(), right_px=right)
            made.append(fill)
    return made


def badges(shown: Sequence[Band], numbers: frozenset[int], width_px: float) -> list[Mark]:
    """Badges of those bands that have one: centred over short bands, at the left end of long ones."""
    wanted = []
    for band in shown:
        if band.number in numbers:
            long = band.right_px - band.left_px > _LONG_PX
            at = band.left_px + BADGE_PX / 2 + 2 if long else (band.left_px + band.right_px) / 2
            wanted.append((at, str(band.number)))
    return spread(wanted, BADGE_PX, width_px)


def letters(
    joins: Sequence[tuple[str, Join]], first: float, last: float, width_px: float
) -> tuple[list[Mark], list[float]]:
    """Letters of the joins in [first, last], and the steps that have a line; of very many the costliest."""
    inside = [(letter, join) for letter, join in joins if first <= join.to_step <= last]
    most = min(MOST_LETTERS, int(width_px / LETTER_PX))
    kept = sorted(inside, key=lambda item: -item[1].discarded_steps)[:most]
    wanted = [((join.to_step - first) / (last - first) * width_px, letter) for letter, join in kept]
    lines = {float(join.to_step) for _, join in (inside if len(inside) <= _EVERY_LINE else kept)}
    return spread(wanted, LETTER_PX, width_px, most_rows=2), sorted(lines)


def spread(
    wanted: Sequence[tuple[float, str]], gap_px: float, width_px: float, most_rows: int = 4
) -> list[Mark]:
    """Marks near where they belong, none closer than ``gap_px`` to another on its row, in order.

    One row if nobody has to go far, else more: marks of a crowd take the rows in turn, and stand
    so that the leader of an upper one passes between two lower ones.
    """
    order = sorted(wanted)
    marks: list[Mark] = []
    for rows in range(1, most_rows + 1):
        places = _apart([at for at, _ in order], gap_px / rows, gap_px / 2, width_px - gap_px / 2)
        marks = [
            Mark(text, at, place, i % rows)
            for i, ((at, text), place) in enumerate(zip(order, places, strict=True))
        ]
        farthest = max((abs(m.at_px - m.wanted_px) for m in marks), default=0)
        if farthest <= 2 * gap_px and (len(order) - 1) * gap_px / rows <= width_px - gap_px:
            break
    return _lowered(marks, gap_px)


def _lowered(marks: list[Mark], gap_px: float) -> list[Mark]:
    """Each mark on the lowest row that has room for it."""
    ends: list[float] = []
    placed = []
    for mark in marks:
        row = next((i for i, end in enumerate(ends) if mark.at_px - end >= gap_px - 1e-6), len(ends))
        ends[row : row + 1] = [mark.at_px]
        placed.append(Mark(mark.text, mark.wanted_px, mark.at_px, row))
    return placed


def _apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places nearest to ``wanted`` (ascending) in least squares that are ``gap`` apart in [low, high].

    With the gaps taken out this is isotonic regression: neighbours in the wrong order are pooled.
    """
    gap = min(gap, (high - low) / max(1, len(wanted) - 1))
    pools: list[tuple[float, int]] = []  # mean, size
    for i, at in enumerate(wanted):
        mean, size = at - i * gap, 1
        while pools and pools[-1][0] > mean:
            other, n = pools.pop()
            mean, size = (mean * size + other * n) / (size + n), size + n
        pools.append((mean, size))
    flat = [mean for mean, size in pools for _ in range(size)]
    highest = high - (len(wanted) - 1) * gap
    return [min(max(q, low), highest) + i * gap for i, q in enumerate(flat)]
