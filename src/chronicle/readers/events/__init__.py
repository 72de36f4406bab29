"""TensorBoard event files: scalars as simple_value or tensor, any number of tags and of values a record;
hyperparameters and texts as facts.

A damaged record costs itself and is counted; a cut end is the state ``truncated``; steps that go back keep
both branches, equal steps all their values. Files without a scalar (a job that died, a rank with nothing to
write, a text log) give no attempt, or one without a series, which is facts of the others.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog, LogError
from chronicle.model import Attempt, Role, Series
from chronicle.readers.events.batches import Log, logs
from chronicle.readers.events.scalars import MAX_TEXT, Text
from chronicle.readers.events.tfrecord import is_event_log
from chronicle.readers.hyperparameters import MAX_ENTRIES, Scalar, config_facts
from chronicle.readers.protobuf import BYTES, FIXED64, VARINT, fields, last_of, messages
from chronicle.readers.text import Faults, Head, from_json

NAME = "event file"
SUFFIXES = (".tfevents",)
FALLBACK = -1  # a checksum is beyond doubt: no other reader need be asked


# Field numbers are those of plugin_data.proto (HParams) and struct.proto.
_SESSION_START, _SESSION_END = 3, 4  # of HParamsPluginData
_ENDED = {1: "finished", 2: "crashed"}  # of Status; 3 is running
_EXACT = 2.0**53  # whole numbers up to here are kept as such, though the format knows floats alone
_WHOLE = re.compile(r"(?i)config|configuration|cfg|hparams|hyper_?param(eter)?s")  # tags of all there is
_SUFFIX = "/text_summary"  # which writers of PyTorch add to a tag


def identify(head: Head) -> bool:
    """How the file begins: see `is_event_log`."""
    return is_event_log(head.start)


def read(path: Path) -> list[Attempt]:
    """One attempt, without series where the file holds hyperparameters alone; none where it holds no scalar
    either and is not damaged.

    Raises BadLog where no record could be read.
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
    series = {tag: Series(tag, Role.OTHER, *column) for tag, column in log.columns().items()}
    if not series and log.damage:
        at, what = min(log.damage)
        raise BadLog(f"{log.path}@{at}", f"{what}; and no scalar is left")
    if not series and not log.texts:
        return []
    facts, faults = facts_of(log.texts.values()) if log.texts else {}, Faults(log.path)
    for at, what in sorted(log.damage):
        faults.add(what, byte=at)
    listed = tuple(faults.all("more records are damaged; skipped"))
    return [Attempt(log.path.name, (str(log.path),), series, facts, listed, log.truncated)]


def facts_of(texts: Iterable[Text]) -> dict[str, Scalar]:
    """`config/<name>` of every hyperparameter and text, and how the session ended."""
    config: dict[str, Any] = {}
    facts: dict[str, Scalar] = {}
    for text in texts:
        if len(config) >= MAX_ENTRIES:
            break
        try:
            if text.plugin == "text":
                tag, value = text.tag.removesuffix(_SUFFIX), _value(text.content.decode("utf-8", "replace"))
                config |= value if isinstance(value, dict) and _WHOLE.fullmatch(tag) else {tag: value}
            else:
                _add_session(text.content, config, facts)
        except ValueError:
            continue
    return {**config_facts(config), **facts}


def _value(text: str) -> Any:
    """A number or a JSON object where the text is one (trainers log their arguments so), else the text."""
    try:
        value = from_json(text) if len(text) < MAX_TEXT else text
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | dict) else text


def _add_session(message: bytes, config: dict[str, Any], facts: dict[str, Scalar]) -> None:
    for start in messages(message, _SESSION_START):
        for entry in (last_of(parameter, BYTES) for parameter in messages(start, 1)):
            name = entry.get(1, b"").decode("utf-8", "backslashreplace")
            config[name] = _struct_value(entry.get(2, b""))
        if begun := last_of(start, FIXED64).get(5):
            facts["started_at"] = float(struct.unpack("<d", begun)[0])
    for end in messages(message, _SESSION_END):
        ended = last_of(end, VARINT).get(1)
        if ended in _ENDED and 2 in last_of(end, FIXED64):  # `add_hparams` says "finished" at the begin
            facts["ended"] = _ENDED[ended]


def _struct_value(message: bytes) -> Scalar | None:
    """A google.protobuf.Value: a number, a text or a truth; None for anything else."""
    for number, kind, value in fields(message):
        if (number, kind) == (2, FIXED64):
            (real,) = struct.unpack("<d", value)
            return int(real) if abs(real) < _EXACT and real.is_integer() else float(real)
        if (number, kind) == (3, BYTES):
            return str(value.decode("utf-8", "replace"))
        if (number, kind) == (4, VARINT):
            return bool(value)
    return None
