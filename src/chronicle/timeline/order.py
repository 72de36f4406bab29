"""The order in which attempts ran: what run.toml says, else wall clock, else steps and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from chronicle.errors import UsageError
from chronicle.model import Attempt
from chronicle.timeline.clock import PART, course, natural, ran

Log = list[Attempt]  # the attempts of one file, in the order of its rows


def in_order(
    attempts: Sequence[Attempt], copies: Sequence[Attempt], order: Sequence[str]
) -> tuple[list[Attempt], list[str]]:
    """Attempts in the order they ran, and the doubts about it. ``order`` may name copies, to no effect."""
    found, doubts = _found_out(attempts)
    return (_as_told(found, copies, order), []) if order else (found, doubts)


def _as_told(attempts: Sequence[Attempt], copies: Sequence[Attempt], order: Sequence[str]) -> list[Attempt]:
    names = [a.name for a in (*attempts, *copies)]
    place: dict[str, int] = {}
    for k, word in enumerate(order):
        meant = [n for n in names if word in (n, PART.sub("", n))]
        if not meant:
            raise UsageError(f"order names {word!r}, which is no attempt. Attempts: {', '.join(names)}")
        place |= {n: k for n in meant if n not in place}
    return sorted(attempts, key=lambda a: place.get(a.name, len(order)))


def _found_out(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[str]]:
    by_name = sorted(attempts, key=lambda a: natural(a.name))
    filled = [a for a in by_name if course(a)]
    empty = [a for a in by_name if not course(a)]
    times = {a.name: t for a in filled if (t := ran(a))}
    if len(times) == len(filled):
        return sorted(filled, key=lambda a: times[a.name]) + empty, []
    logs = _by_log(filled)
    by_step = sorted(logs, key=_first_step)
    if len(logs) == 1 or _nothing_twice(by_step):
        return _flat(by_step) + empty, []
    numbered = _numbered(logs)
    doubts = [] if numbered and logs == by_step else [_doubt(numbered)]
    return _flat(logs if numbered else by_step) + empty, doubts


def _by_log(attempts: Sequence[Attempt]) -> list[Log]:
    logs: dict[tuple[tuple[str, ...], str], Log] = {}
    for attempt in attempts:
        logs.setdefault((attempt.sources, PART.sub("", attempt.name)), []).append(attempt)
    return list(logs.values())


def _first_step(log: Log) -> int:
    return min(c.first for a in log if (c := course(a)))


def _nothing_twice(logs: Sequence[Log]) -> bool:
    """Whether no step was trained twice in this order: a chain of resumes needs no other evidence."""
    courses = [c for a in _flat(logs) if (c := course(a))]
    return all(a.last <= b.first for a, b in pairwise(courses))


def _numbered(logs: Sequence[Log]) -> bool:
    """Whether what sets the names apart is a number: run-5-blue, run-6. People count what they launch."""
    words = [re.split(r"(\d+)", log[0].name) for log in logs]
    apart = next((k for k in range(min(map(len, words))) if len({w[k] for w in words}) > 1), None)
    return apart is not None and apart % 2 == 1 and len({int(w[apart]) for w in words}) == len(logs)


def _flat(logs: Sequence[Log]) -> list[Attempt]:
    return [attempt for log in logs for attempt in log]


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
