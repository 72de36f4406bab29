"""TensorBoard event files: scalars as simple_value or tensor, any number of tags and of values a record;
hyperparameters and texts as facts.

A damaged record costs itself and is counted; a cut end is the state ``truncated``; steps that go back keep
both branches, equal steps all their values. Files without a scalar (a job that died, a rank with nothing to
write, a text log) give no attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from chronicle.errors import BadLog, LogError
from chronicle.model import Attempt, Fault, Place, Role, Series
from chronicle.readers.event_batches import logs
from chronicle.readers.event_facts import facts_of
from chronicle.readers.event_frames import is_event_log
from chronicle.readers.event_log import Log
from chronicle.readers.text import Head

NAME = "event file"
SUFFIXES = (".tfevents",)
FALLBACK = -1  # a checksum is beyond doubt: no other reader need be asked

MOST_FAULTS = 100  # listed one by one; the rest is one line with a count


def identify(head: Head) -> bool:
    """How the file begins: see `is_event_log`."""
    return is_event_log(np.frombuffer(head.start, np.uint8))


def read(path: Path) -> list[Attempt]:
    """One attempt; none where the file holds no scalar and is not damaged.

    Raises:
        BadLog: no record could be read.
    """
    (log,) = logs([path])
    if log.problem:
        raise log.problem
    return _attempts(log)


def read_many(paths: Sequence[Path]) -> Iterator[list[Attempt] | LogError | OSError | None]:
    """As `read` of each of the files, in their order, but faster for many; what it raises is given.

    None for a file that is no event file.
    """
    for log in logs(paths):
        try:
            yield log.problem or (None if log.is_other else _attempts(log))
        except LogError as err:
            yield err


def _attempts(log: Log) -> list[Attempt]:
    if not log.columns:
        if log.damage:
            at, what = min(log.damage)
            raise BadLog(f"{log.path}@{at}", f"{what}; and no scalar is left")
        return []
    series = {tag: Series(tag, Role.OTHER, *column) for tag, column in log.columns.items()}
    facts, faults = facts_of(log.texts.values()) if log.texts else {}, _faults(log.path, log.damage)
    return [Attempt(log.path.name, (str(log.path),), series, facts, faults, log.truncated)]


def _faults(path: Path, damage: list[tuple[int, str]]) -> tuple[Fault, ...]:
    listed = [Fault(Place(str(path), byte=at), what) for at, what in sorted(damage)[:MOST_FAULTS]]
    if len(damage) > MOST_FAULTS:
        listed.append(Fault(Place(str(path)), "more records are damaged; skipped", len(damage) - MOST_FAULTS))
    return tuple(listed)
