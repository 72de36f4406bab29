"""The published JSON: a diagnosis (`chronicle classify --json`) and an entry (entry.json), and their schemas.

Both are derived from the dataclasses of `chronicle.model`, so that types, JSON and JSON Schema cannot part.
NaN and infinity, which JSON does not have, are written as null.

Versions:
    chronicle/diagnosis/1   the first; "faults", "presets" and "events" came later, and are always there
    chronicle-entry/1       the first
    chronicle-entry/2       the record of what happened: "events", "story", "badge"; notes may name an event;
                            the "signs" of an event came later, and are always there
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from chronicle.model import Comparison, Diagnosis, Entry, Event, Finding, MachineFault

DIAGNOSIS = "chronicle/diagnosis/1"
ENTRY = "chronicle-entry/2"

# The published names of fields.
_RENAMED: dict[tuple[type, str], str] = {(Finding, "metric"): "series", (Comparison, "metric"): "series"}
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def diagnosis_json(
    run_id: str,
    diagnosis: Diagnosis,
    faults: Sequence[MachineFault] = (),
    presets: Sequence[Comparison] = (),
    events: Sequence[Event] = (),
) -> dict[str, Any]:
    """The object that `chronicle classify --json` prints for one run."""
    lists = {"faults": to_json(faults), "presets": to_json(presets), "events": to_json(events)}
    return {"schema": DIAGNOSIS, "run": run_id, **to_json(diagnosis), **lists}


def entry_from_json(data: Mapping[str, Any]) -> Entry:
    """The entry that `to_json` wrote: who kept it knows by its hash that it is as it was written.

    Raises ValueError: another schema version, or not an entry at all.
    """
    if data.get("schema") != ENTRY:
        raise ValueError(f"schema is {data.get('schema')!r}, not {ENTRY!r}")
    try:
        entry: Entry = _reader(Entry)(data)
    except (KeyError, TypeError, AttributeError) as err:
        raise ValueError(f"not an entry: {err!r}") from err
    return entry


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """What reads the values of a type that `to_json` wrote. A null is the default of a field that has one."""
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _object_reader(kind)
    if origin in (Union, types.UnionType):
        read = _reader(args[0])
        return lambda value: None if value is None else read(value)
    if origin is tuple:
        read = _reader(args[0])
        return tuple if read is _as_it_is else lambda values: tuple(map(read, values))
    if origin is not None and args and (read := _reader(args[1])) is not _as_it_is:
        return lambda table: {name: read(value) for name, value in table.items()}
    return kind if isinstance(kind, type) and issubclass(kind, Enum) else _as_it_is


def _object_reader(kind: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    reads = {_name(kind, f.name): (f.name, _reader(hints[f.name])) for f in fields(kind)}
    needed = {f.name for f in fields(kind) if f.default is f.default_factory is MISSING}

    def read_object(table: Mapping[str, Any]) -> Any:
        values = {}
        for published, value in table.items():
            name, read = reads[published]
            if value is not None or name in needed:
                values[name] = value if read is _as_it_is else read(value)
        return kind(**values)

    return read_object


def _as_it_is(value: Any) -> Any:
    return value


def to_json(value: Any) -> Any:
    """Plain JSON values: dataclasses as objects, tuples as lists, numpy scalars as numbers, NaN as null."""
    if is_dataclass(value) and not isinstance(value, type):
        return {_name(type(value), f.name): to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(k): to_json(v) for k, v in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, np.ndarray | np.generic):
        return to_json(value.tolist())
    if isinstance(value, list | tuple):
        return [to_json(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def json_schema(what: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of "diagnosis" or "entry"."""
    schema = _object_schema({"diagnosis": Diagnosis, "entry": Entry}[what])
    properties = schema["properties"]
    if what == "diagnosis":
        kinds = {"faults": MachineFault, "presets": Comparison, "events": Event}
        lists = {name: {"type": "array", "items": _object_schema(kind)} for name, kind in kinds.items()}
        properties = {"schema": {"const": DIAGNOSIS}, "run": {"type": "string"}, **properties, **lists}
    else:
        properties["schema"] = {"const": ENTRY}
    schema |= {"properties": properties, "required": list(properties)}
    return {"title": f"chronicle {what}", "$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _name(kind: type, field: str) -> str:
    return _RENAMED.get((kind, field), field)


def _object_schema(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    of_fields = {_name(kind, f.name): _schema_of(hints[f.name]) for f in fields(kind)}
    closed = {"required": list(of_fields), "additionalProperties": False}
    return {"type": "object", "properties": of_fields, **closed}


def _schema_of(kind: Any) -> dict[str, Any]:
    origin, args = get_origin(kind), get_args(kind)
    if kind is Any:
        return {}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema_of(a) for a in args]}
    if is_dataclass(kind):
        return _object_schema(kind)
    if origin is tuple:
        if args[-1] is Ellipsis:
            return {"type": "array", "items": _schema_of(args[0])}
        return {"type": "array", "prefixItems": [_schema_of(a) for a in args], "minItems": len(args)}
    if origin is not None and args:
        return {"type": "object", "additionalProperties": _schema_of(args[1])}
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    return {"type": [_PLAIN[kind], "null"] if kind is float else _PLAIN[kind]}
