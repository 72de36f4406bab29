"""Facts in event files: the session of the HParams plugin, and texts, of which the last one of a tag counts.

Field numbers are those of plugin_data.proto (HParams) and struct.proto.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable
from typing import Any

from chronicle.readers import event_wire
from chronicle.readers.event_wire import BYTES, FIXED64, VARINT, fields
from chronicle.readers.hyperparameters import MAX_ENTRIES, Scalar, config_facts

_SESSION_START, _SESSION_END = 3, 4  # of HParamsPluginData
_ENDED = {1: "finished", 2: "crashed"}  # of Status; 3 is running
_SUFFIX = "/text_summary"  # which writers of PyTorch add to a tag


def facts_of(texts: Iterable[event_wire.Text]) -> dict[str, Scalar]:
    """`config/<name>` of every hyperparameter and text, and how the session ended."""
    config: dict[str, Any] = {}
    facts: dict[str, Scalar] = {}
    for one in texts:
        if len(config) >= MAX_ENTRIES:
            break
        try:
            if one.plugin == "text":
                config[one.tag.removesuffix(_SUFFIX)] = _value(one.content.decode("utf-8", "replace"))
            else:
                _add_session(one.content, config, facts)
        except ValueError:
            continue
    return {**config_facts(config), **facts}


def _value(text: str) -> Any:
    """A number or a JSON object where the text is one (trainers log their arguments so), else the text."""
    try:
        value = json.loads(text) if len(text) < event_wire.MAX_TEXT else text
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, int | float | dict) else text


def _add_session(message: bytes, config: dict[str, Any], facts: dict[str, Scalar]) -> None:
    for number, kind, value in fields(message):
        if (number, kind) == (_SESSION_START, BYTES):
            for n, k, v in fields(value):
                if (n, k) == (1, BYTES):
                    entry = {n: v for n, k, v in fields(v) if k == BYTES}
                    name = entry.get(1, b"").decode("utf-8", "backslashreplace")
                    config[name] = _struct_value(entry.get(2, b""))
                elif (n, k) == (5, FIXED64):
                    facts["started_at"] = float(struct.unpack("<d", v)[0])
        elif (number, kind) == (_SESSION_END, BYTES):
            status = {n: v for n, k, v in fields(value) if (n, k) == (1, VARINT)}.get(1)
            if status in _ENDED:
                facts["ended"] = _ENDED[status]


def _struct_value(message: bytes) -> Scalar | None:
    """A google.protobuf.Value: a number, a text or a truth; None for anything else."""
    for number, kind, value in fields(message):
        if (number, kind) == (2, FIXED64):
            return float(struct.unpack("<d", value)[0])
        if (number, kind) == (3, BYTES):
            return str(value.decode("utf-8", "replace"))
        if (number, kind) == (4, VARINT):
            return bool(value)
    return None
