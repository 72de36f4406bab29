"""The lane of faults: what failed beside the curves, at the step the run was at, on a row of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from chronicle.figures.text import literal, text_px
from chronicle.metrics.values import fault_words
from chronicle.model import Fault

HEIGHT_PX = 20.0
_APART_PX = 16.0  # marks nearer than this are one
MARK_PX, WORDS_PX, PAD_PX = 8.0, 11.0, 6.0


@dataclass(frozen=True)
class FaultMark:
    """One or more faults next to each other: the step of the first, where it stands, what it says.

    ``side`` is 1 where the words stand to the right of the mark, -1 to the left, 0 where there is no room.
    """

    step: float
    at_px: float
    words: str
    side: int


def lane(faults: Iterable[Fault], first: float, last: float, width_px: float) -> list[FaultMark]:
    """Marks of the faults with a step in [first, last], from left to right."""
    shown = [(f.at_step, fault_words(f.kind)) for f in faults if f.at_step is not None]
    groups: list[tuple[float, float, list[str]]] = []
    for step, words in sorted(shown, key=lambda item: item[0]):
        if not first <= step <= last:
            continue
        at_px = (step - first) / (last - first) * width_px
        if groups and at_px - groups[-1][1] < _APART_PX:
            groups[-1][2].append(words)
        else:
            groups.append((step, at_px, [words]))
    return _with_words(groups, width_px)


def _with_words(groups: Sequence[tuple[float, float, list[str]]], width_px: float) -> list[FaultMark]:
    marks: list[FaultMark] = []
    free = 0.0  # words to the left may begin here
    for number, (step, at_px, kinds) in enumerate(groups):
        end = groups[number + 1][1] - MARK_PX / 2 if number + 1 < len(groups) else width_px
        words, room, side = "", 0.0, 0
        for most in (2, 1):
            words = _told(kinds, most) if not side else words
            room = text_px(words, WORDS_PX) + MARK_PX / 2 + 2 * PAD_PX
            side = 1 if at_px + room <= end else -1 if at_px - room >= free else 0
        free = at_px + (room if side == 1 else MARK_PX)
        marks.append(FaultMark(step, at_px, words, side))
    return marks


def _told(kinds: list[str], most: int) -> str:
    """``Xid, NCCL +1``: the first kinds, and how many more there are."""
    distinct = list(dict.fromkeys(kinds))
    more = f" +{len(distinct) - most}" if len(distinct) > most else ""
    return literal(", ".join(distinct[:most]) + more, 40)
