"""Folders side by side that are attempts of one training: `train/`, `train_resume1/`; `PPO_1/`, `PPO_2/`.

A name alone proves nothing: `lr0.1/` and `lr0.2/` are two runs, and so is what was restarted from nothing.
Those whose names differ by a word of restarts, a number at the end, the time of day or an id that a tracker
gave are read and stitched, and the logs decide: the steps of the later one go on from those of the earlier,
by the same metrics, under one name where a tracker keeps it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from chronicle.errors import ChronicleError
from chronicle.metrics.values import natural
from chronicle.model import Attempt, Join, Timeline
from chronicle.readers import read_all
from chronicle.readers.find import RunSource
from chronicle.timeline import stitch
from chronicle.timeline.courses import course, wall_clock
from chronicle.timeline.relation import Pair, Relation, reached

_AGAIN = re.compile(
    r"[-_. ]?((re(sum|start|launch|run|try|tri)\w*|cont(inu\w*|d)?)([-_. ]?\d+[kM]?)?|(?<=[-_. ])\d{1,3})$",
    re.IGNORECASE,
)
_WHEN = re.compile(  # 20261122_073444, 2026-11-22-07-34, May04_12-00-00
    r"(?<!\d)(20\d\d[-_.]?[01]\d[-_.]?[0-3]\d|[A-Z][a-z]{2}[0-3]\d)[-_T]?[0-2]\d([-_.:]?[0-5]\d){1,2}(?!\d)"
)
_RANDOM = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{16,}(?![0-9A-Za-z])")  # the id that a tracker gave a launch
_MOST = 32  # folders of like names: of more, one would have to read too many
_ALIKE = 0.5  # share of the metrics of the one with fewer that the other has too


_Member = tuple[RunSource, tuple[Attempt, ...]]  # a run, and its attempts under names that tell them apart


def joined(sources: Sequence[RunSource]) -> list[RunSource]:
    """The runs, those that go on from one beside them as one with it: under its id, with the logs of all."""
    groups: dict[tuple[str, str], list[RunSource]] = {}
    for source in sources:
        groups.setdefault((source.run_id, "") if source.only else _stem(source.run_id), []).append(source)
    return [run for group in groups.values() for run in _trainings(group)]


def _stem(run_id: str) -> tuple[str, str]:
    """The folder around a run and its name, without what says that it was launched again."""
    around, _, name = run_id.rpartition("/")
    name = _RANDOM.sub("*", _WHEN.sub("*", name))
    while (shorter := _AGAIN.sub("", name)) not in ("", name):
        name = shorter
    return around, name


def _trainings(group: Sequence[RunSource]) -> Iterator[RunSource]:
    """The trainings in runs of one name, each launch with the one that it goes on from."""
    if not 1 < len(group) <= _MOST:
        yield from group
        return
    found: list[_Member] = []
    for source, attempts in sorted(map(_read, group), key=_begun):
        for k, (known, earlier) in enumerate(found):
            if _goes_on(earlier, attempts):
                found[k] = replace(known, paths=(*known.paths, *source.paths)), (*earlier, *attempts)
                break
        else:
            found.append((source, attempts))
    yield from (source for source, _ in found)


def _read(source: RunSource) -> _Member:
    """The run with its attempts; none where a log of it cannot be read."""
    try:
        read = [(path, one) for path in source.paths for one in read_all(path).attempts]
    except (ChronicleError, OSError):
        read = []
    return source, tuple(replace(one, name=f"{path}/{one.name}") for path, one in read)


def _begun(member: _Member) -> tuple[float, tuple[Any, ...]]:
    """When the first attempt of a run began, the last of all where that is not known; then by name."""
    source, attempts = member
    first = min((wall_clock(one)[0] for one in attempts), default=math.nan)
    return math.inf if math.isnan(first) else first, natural(source.run_id)


def _goes_on(before: Sequence[Attempt], after: Sequence[Attempt]) -> bool:
    """Whether the attempts of two runs are those of one training, none of which begins it anew."""
    names, others = ({m for one in attempts for m in one.series} for attempts in (before, after))
    if len(names & others) < max(1, _ALIKE * min(len(names), len(others))):
        return False
    called = [{one.facts["name"] for one in attempts if "name" in one.facts} for attempts in (before, after)]
    if all(called) and called[0].isdisjoint(called[1]):
        return False
    timeline = stitch((*before, *after))
    first = {source for one in before for source in one.sources}
    known = [first.issuperset(one.sources) for one in timeline.attempts]
    over = [join for join in timeline.joins if known[join.before] != known[join.after]]
    apart = [back.evidence["because"] for back in timeline.step_backs if back.cause == "seeds"]
    one_training = all(because == "evaluation" for because in apart)
    return bool(over) and one_training and all(_resumes(timeline, join) for join in over)


def _resumes(timeline: Timeline, join: Join) -> bool:
    """Whether a join leads on from steps that were logged, in a process of the same seed."""
    before, after = (course(timeline.attempts[k]) for k in (join.before, join.after))
    assert before is not None and after is not None  # what is joined has points
    two = Pair(before, after, before)
    goes_on = two.relation() in (Relation.CONTINUES, Relation.OVERTAKES) and not two.begins_alike
    return goes_on and two.state("seed") is not False and bool(reached(before, after))
