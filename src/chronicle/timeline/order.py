"""The order in which attempts ran: what run.toml says, else wall clock, else steps and names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from chronicle.errors import UsageError
from chronicle.model import Attempt
from chronicle.timeline.clock import PART, natural, ran, span

Log = list[Attempt]  # the attempts of one file, in the order of its rows


def in_order(attempts: Sequence[Attempt], order: Sequence[str]) -> tuple[list[Attempt], list[str]]:
    """Attempts in the order they ran, and the doubts about it."""
    found, doubts = _found_out(attempts)
    if not order:
        return found, doubts
    return _as_told(found, order), []


def _as_told(attempts: Sequence[Attempt], order: Sequence[str]) -> list[Attempt]:
    names = [a.name for a in attempts]
    place: dict[str, int] = {}
    for k, word in enumerate(order):
        meant = [n for n in names if word in (n, PART.sub("", n))]
        if not meant:
            raise UsageError(f"order names {word!r}, which is no attempt. Attempts: {', '.join(names)}")
        place |= {n: k for n in meant if n not in place}
    return sorted(attempts, key=lambda a: place.get(a.name, len(order)))


def _found_out(attempts: Sequence[Attempt]) -> tuple[list[Attempt], list[str]]:
    filled = sorted((a for a in attempts if span(a)), key=lambda a: natural(a.name))
    empty = sorted((a for a in attempts if not span(a)), key=lambda a: natural(a.name))
    if len(filled) > 1 and all(ran(a) for a in filled):
        return sorted(filled, key=_started) + empty, []
    logs = _by_log(filled)
    by_step = sorted(logs, key=_first_step)
    if _nothing_twice(by_step):
        return _flat(by_step) + empty, []
    numbered = _numbered(logs)
    doubts = [_doubt(numbered, numbered and logs != by_step)] if len(logs) > 1 else []
    return _flat(logs if numbered else by_step) + empty, doubts


def _started(attempt: Attempt) -> float:
    times = ran(attempt)
    return times[0] if times else 0.0


def _by_log(attempts: Sequence[Attempt]) -> list[Log]:
    logs: dict[tuple[tuple[str, ...], str], Log] = {}
    for attempt in attempts:
        logs.setdefault((attempt.sources, PART.sub("", attempt.name)), []).append(attempt)
    return list(logs.values())


def _first_step(log: Log) -> int:
    return min(s[0] for a in log if (s := span(a)))


def _nothing_twice(logs: Sequence[Log]) -> bool:
    """Whether no step was trained twice in this order: a chain of resumes needs no other evidence."""
    spans = [s for a in _flat(logs) if (s := span(a))]
    return all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


def _numbered(logs: Sequence[Log]) -> bool:
    """Whether the names differ first in a number: run-5-blue, run-6."""
    split_names = [re.split(r"(\d+)", log[0].name) for log in logs]
    differ = next(
        (k for k in range(min(map(len, split_names))) if len({s[k] for s in split_names}) > 1), None
    )
    return differ is not None and differ % 2 == 1 and len({s[differ] for s in split_names}) == len(logs)


def _flat(logs: Sequence[Log]) -> list[Attempt]:
    return [attempt for log in logs for attempt in log]


def _doubt(numbered: bool, against_steps: bool) -> str:
    by = "the numbers in their names" if numbered else "their first step"
    but = ", which is not the order of their first steps" if against_steps else ""
    return (
        f"The logs overlap in steps and at least one has no wall clock: the order of the attempts is taken "
        f"from {by}{but}. `order` in run.toml decides."
    )
