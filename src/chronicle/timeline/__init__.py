"""Stitching: from what single logs say to the one training they are parts of.

`stitch` takes attempts in any order and answers with a `Timeline`: logs that hold several attempts cut
apart, copies of one log in two formats set aside, attempts in the order they ran, joins between them, and
every point marked live or dead. Each stage is a module of its own; docs/timeline.md has the rules in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chronicle.errors import UsageError
from chronicle.model import Timeline
from chronicle.timeline.axes import OnAxis, discarded, live, on_axis, tracks, within
from chronicle.timeline.copies import attempts_from, without_copies, without_logs_of_the_whole
from chronicle.timeline.courses import by_name, course, in_order
from chronicle.timeline.joins import happened, without_machines
from chronicle.timeline.split import split
from chronicle.timeline.trainings import relate

__all__ = ["OnAxis", "discarded", "live", "on_axis", "stitch"]

_RELATIONS = ("attempts", "seeds")


def stitch(
    what: Any, *, run_id: str = "run", order: Sequence[str] | None = None, relation: str | None = None
) -> Timeline:
    """The timeline of one run. Pure, and independent of the order in which attempts are given.

    Args:
        what: attempts (what `chronicle.read` gives), one attempt, a pandas DataFrame (one column a metric
            and the step in a column or the index; or long, as `Timeline.frame` makes it), or a mapping of
            metric to values or to (steps, values).
        run_id: what the run is called.
        order: names of attempts in the order they ran; those not named follow in the order found out.
        relation: "attempts" (parts of one training) or "seeds" (trainings of their own) says what logs over
            the same steps are; None or "" finds it out.

    Raises:
        UsageError: ``what`` is none of these, ``order`` names no attempt, or ``relation`` is another word.
    """
    if relation and relation not in _RELATIONS:
        raise UsageError(f"relation must be one of {', '.join(map(repr, _RELATIONS))}, not {relation!r}")
    logs, machines = without_machines(attempts_from(what))
    parts, split_doubts, backs = split(logs, relation_given=bool(relation))
    kept, wholes = without_logs_of_the_whole([c for part in parts if (c := course(part))])
    kept, copies = without_copies(kept)
    copies += wholes
    empty = sorted((part for part in parts if not course(part)), key=lambda part: by_name(part.name))
    courses, order_doubts = in_order(kept, [*copies, *empty], order or ())
    trainings, join_doubts = relate(courses, relation or "", order_given=bool(order))
    attempts = [*(c.attempt for c in courses), *empty]
    series = tracks(attempts, trainings)
    return Timeline(
        run_id=run_id,
        attempts=within(series, attempts),
        joins=tuple(sorted((j for t in trainings for j in t.joins.values()), key=lambda j: j.after)),
        series=series,
        copies=tuple(copies),
        doubts=(*split_doubts, *order_doubts, *join_doubts),
        step_backs=(
            *sorted(backs, key=lambda back: (by_name(back.attempts[0]), back.cause)),
            *(t.departure for t in trainings if t.departure is not None),
        ),
        faults=happened([*attempts, *copies, *machines], series),
    )
