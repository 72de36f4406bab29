"""The order in which attempts ran: what run.toml says, else wall clock, else steps and names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from chronicle.errors import UsageError
from chronicle.model import Attempt
from chronicle.timeline.clock import PART, Course, natural

Log = list[Course]  # the attempts of one file, in the order of its rows


def in_order(
    courses: Sequence[Course], others: Sequence[Attempt], order: Sequence[str]
) -> tuple[list[Course], list[str]]:
    """Attempts in the order they ran, and the doubts about it.

    ``order`` may also name ``others``, copies and attempts without points, which have no place in it.
    """
    found, doubts = _found_out(sorted(courses, key=lambda c: natural(c.name)))
    return (_as_told(found, others, order), []) if order else (found, doubts)


def _as_told(courses: Sequence[Course], others: Sequence[Attempt], order: Sequence[str]) -> list[Course]:
    names = [c.name for c in courses] + [a.name for a in others]
    place: dict[str, int] = {}
    for k, word in enumerate(order):
        meant = [n for n in names if word in (n, PART.sub("", n))]
        if not meant:
            raise UsageError(f"order names {word!r}, which is no attempt. Attempts: {', '.join(names)}")
        place |= {n: k for n in meant if n not in place}
    return sorted(courses, key=lambda c: place.get(c.name, len(order)))


def _found_out(by_name: Sequence[Course]) -> tuple[list[Course], list[str]]:
    logs = _by_log(by_name)
    by_step = sorted(logs, key=lambda log: min(c.first for c in log))
    if not any(math.isnan(c.started) for c in by_name):
        by_clock = sorted(by_name, key=lambda c: c.started)
        chain = _flat(by_step)
        late = [(a, b) for a, b in pairwise(chain) if a.started > b.started]
        if not late or _nothing_twice(by_clock) or not _abut(chain):
            return by_clock, []
        return chain, [_clock_doubt(*late[0])]
    if len(logs) == 1 or _nothing_twice(_flat(by_step)):
        return _flat(by_step), []
    numbered = _numbered(logs)
    doubts = [] if numbered and logs == by_step else [_doubt(numbered)]
    return _flat(logs if numbered else by_step), doubts


def _by_log(courses: Sequence[Course]) -> list[Log]:
    logs: dict[tuple[tuple[str, ...], str], Log] = {}
    for one in courses:
        logs.setdefault((one.attempt.sources, PART.sub("", one.name)), []).append(one)
    return list(logs.values())


def _nothing_twice(courses: Sequence[Course]) -> bool:
    """Whether no step was trained twice in this order: a chain of resumes needs no other evidence."""
    return all(a.last <= b.first for a, b in pairwise(courses))


def _abut(courses: Sequence[Course]) -> bool:
    """Whether each begins where the one before ended."""
    return all(0 <= b.first - a.last <= 2 * max(a.gap, b.gap) for a, b in pairwise(courses))


def _numbered(logs: Sequence[Log]) -> bool:
    """Whether what sets the names apart is a number: run-5-blue, run-6. People count what they launch."""
    words = [re.split(r"(\d+)", log[0].name) for log in logs]
    apart = next((k for k in range(min(map(len, words))) if len({w[k] for w in words}) > 1), None)
    return apart is not None and apart % 2 == 1 and len({w[apart].lstrip("0") for w in words}) == len(logs)


def _flat(logs: Sequence[Log]) -> list[Course]:
    return [one for log in logs for one in log]


def _clock_doubt(one: Course, other: Course) -> str:
    return (
        f"By wall clock {one.name} ran after {other.name}, which begins where it ends: a clock was off, and "
        f"the steps give the order. `order` in run.toml decides."
    )


def _doubt(numbered: bool) -> str:
    by = (
        "the numbers in their names, against the order of their first steps"
        if numbered
        else "their first steps"
    )
    return (
        f"Logs overlap in steps and not all have wall clock times: the order of the attempts is taken from "
        f"{by}. `order` in run.toml decides."
    )
