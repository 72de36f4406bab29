"""The entry of a run, made from its timeline, diagnosis and story; and the published JSON.

The JSON of a diagnosis and of an entry (entry.json), and the schemas of both, are derived from the
dataclasses of `chronicle.model`, so that they cannot disagree. NaN and infinity are written as null.

Versions:
    chronicle/diagnosis/1   the first; "faults", "presets", "events", "copies" came later and are always there
    chronicle-entry/1       the first
    chronicle-entry/2       the record of what happened: "events", "story", "badge"; notes may name an event;
                            the "signs" of an event came later, and are always there
"""

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from chronicle import model
from chronicle.classify import VERSION
from chronicle.metrics.roles import evaluations, shown_metric
from chronicle.metrics.values import Axis, clipped, count, instant, plainly, plural
from chronicle.model import Attempt, Diagnosis, Entry, Event, Fact, Floats, Role, Timeline, Track
from chronicle.score.presets import Comparison
from chronicle.story import Story
from chronicle.story.measured import course_of, finite_values
from chronicle.story.restarts import outcome, step_back_words
from chronicle.timeline import discarded
from chronicle.timeline.axes import axis_of
from chronicle.timeline.courses import step_ends, wall_clock
from chronicle.timeline.joins import endings
from chronicle.workspace.config import RunConfig

DIAGNOSIS = "chronicle/diagnosis/1"
ENTRY = "chronicle-entry/2"
# What the lists of a diagnosis hold.
_LISTS = {"faults": model.MachineFault, "presets": Comparison, "events": Event, "copies": str}

_UUID = re.compile(r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}")
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def diagnosis_json(
    run_id: str,
    diagnosis: Diagnosis,
    faults: Sequence[model.MachineFault] = (),
    presets: Sequence[Comparison] = (),
    events: Sequence[Event] = (),
    copies: Sequence[str] = (),
) -> dict[str, Any]:
    """The object that `chronicle classify --json` prints for one run."""
    lists = {"faults": faults, "presets": presets, "events": events, "copies": copies}
    return {"schema": DIAGNOSIS, "run": run_id, **to_json(diagnosis), **to_json(lists)}


def entry_from_json(data: Mapping[str, Any]) -> Entry:
    """The entry that `to_json` wrote; its hash was compared. Raises ValueError: no entry of this schema."""
    if data.get("schema") != ENTRY:
        raise ValueError(f"schema is {data.get('schema')!r}, not {ENTRY!r}")
    try:
        entry: Entry = _object_reader(Entry)(data)
    except (KeyError, TypeError, AttributeError) as err:
        raise ValueError(f"not an entry: {err!r}") from err
    return entry


def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """A function that reads a type from what `to_json` wrote; None if that is the value itself."""
    origin, args = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _object_reader(kind)  # type: ignore[arg-type]
    if origin in (Union, types.UnionType):  # with None
        return _reader(args[0])
    if origin is tuple:
        read_item = _reader(args[0])
        return tuple if read_item is None else lambda values: tuple(map(read_item, values))
    if origin is not None and args and (read := _reader(args[1])):
        return lambda table: {name: read(value) for name, value in table.items()}
    return kind if isinstance(kind, type) and issubclass(kind, Enum) else None


@cache
def _object_reader(kind: Any) -> Callable[[Any], Any]:
    """A function that reads a dataclass. For a null a field has its default."""
    reads = {_name(kind, name): (name, _reader(hint)) for name, hint in get_type_hints(kind).items()}
    needed = {f.name for f in fields(kind) if f.default is f.default_factory is MISSING}

    def read_object(table: Mapping[str, Any]) -> Any:
        values = {}
        for published, value in table.items():
            name, read = reads[published]
            if value is not None or name in needed:
                values[name] = value if read is None else read(value)
        return kind(**values)

    return read_object


def to_json(value: Any) -> Any:
    """Plain JSON values: dataclasses as objects, tuples as lists, numpy scalars as numbers, NaN as null."""
    if type(value) in _PLAIN and type(value) is not float:  # nearly all of an entry
        return value
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
        lists = {name: {"type": "array", "items": _schema_of(kind)} for name, kind in _LISTS.items()}
        properties = {"schema": {"const": DIAGNOSIS}, "run": {"type": "string"}, **properties, **lists}
    else:
        properties["schema"] = {"const": ENTRY}
    schema |= {"properties": properties, "required": list(properties)}
    return {"title": f"chronicle {what}", "$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _name(kind: type, field: str) -> str:
    """The published name of a field."""
    return "series" if field == "metric" and kind in (model.Finding, Comparison) else field


def _object_schema(kind: Any) -> dict[str, Any]:
    of_fields = {_name(kind, name): _schema_of(hint) for name, hint in get_type_hints(kind).items()}
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


MOST_FAULTS = 1000  # published faults of a run
_MOST_BACKS = 3  # rows of one cause in the facts table
_MOST_EVALUATIONS = 4  # metrics of held-out data in the facts table
_MOST_FACTS = 200  # facts that logs state; a page folds configured values
_BACKS = {
    "disorder": ("Rows out of order", "row"),
    "repeats": ("Repeated steps", "row"),
    "seeds": ("Separate trainings", "training"),
}
_UNITS = {"world_size": "processes", "gpu_count": "accelerators"}
_YEAR_2000_S, _YEAR_2100_S = 946_684_800, 4_102_444_800


def make_entry(
    run_id: str,
    timeline: Timeline,
    diagnosis: Diagnosis,
    config: RunConfig,
    *,
    story: Story,
    title: str = "",
    notes: Sequence[model.Note] = (),
    figures: Sequence[model.Figure] = (),
    warnings: Sequence[str] = (),
    inputs_sha256: str = "",
) -> Entry:
    """The entry of a run. Pure: the same arguments give the same entry."""
    stated = {k: v for k, v in asdict(config).items() if k not in ("facts", "roles", "units")}
    return Entry(
        schema=ENTRY,
        run_id=run_id,
        title=config.title or _title(timeline) or title or run_id,
        verdict=story.verdict,
        badge=story.badge,
        headline=story.headline,
        story=story.paragraphs,
        events=story.events,
        diagnosis=diagnosis,
        facts=tuple(facts(timeline, config)),
        costs=tuple(costs(timeline, config)),
        notes=tuple(notes),
        figures=tuple(figures),
        warnings=(*warnings, *timeline.doubts, *_unused(timeline)),
        about={name: value for name, value in stated.items() if value not in ("", [], 0, False)},
        attempts=tuple(_attempt_rows(replace(timeline, joins=diagnosis.joins))),
        metrics=tuple(map(_metric_row, timeline.series.values())),
        inputs_sha256=inputs_sha256,
        classifier_version=VERSION,
        faults=machine_faults(timeline),
    )


def _title(timeline: Timeline) -> str:
    """The tracker's name for the run, if the id of the run is a number of the tracker or, as that of a task
    which a tracker gives each launch, has a number that no one chose; else ""."""
    stated = {(str(a.facts.get("name", "")), str(a.facts.get("run", ""))) for a in timeline.attempts}
    name, number = next(iter(stated)) if len(stated) == 1 else ("", "")
    is_numbered = number in timeline.run_id if number else _UUID.search(timeline.run_id)
    return clipped(name, 80) if is_numbered and number != name else ""


def facts(timeline: Timeline, config: RunConfig) -> Iterator[Fact]:
    """The facts table: what was logged, then what run.toml and the logs state."""
    tracks = list(timeline.series.values())
    how = f"counted, {plural(len(tracks), 'metric')}"
    yield Fact("Points logged", sum(map(len, tracks)), "points", how)
    axis = axis_of(timeline)
    reach = " – ".join(map(count, step_ends(tracks) or ())) or None
    yield Fact(f"First and last {axis.noun}", reach, axis.unit, "as logged")
    names = clipped(", ".join(a.name for a in timeline.attempts), 200)
    yield Fact("Attempts", len(timeline.attempts), "attempts", names)
    if timeline.copies:
        names = clipped(", ".join(a.name for a in timeline.copies), 200)
        yield Fact("Copies", len(timeline.copies), "logs", f"the same run, judged once: {names}")
    yield from _step_backs(timeline)
    loss = shown_metric(tracks)
    if loss is not None:
        yield from _course_facts(loss, axis, begins=True)
    for track in evaluations(tracks)[:_MOST_EVALUATIONS]:
        yield from _course_facts(track, axis, begins=False)
    yield _wall_clock(finite_values(t.times for t in tracks))
    yield _tokens(timeline, config)
    gpus, how = _accelerators(timeline, config)
    yield Fact("Accelerators", gpus or None, "accelerators", "run.toml" if config.gpus else how)
    yield from (Fact(name, value, "", "run.toml") for name, value in config.facts.items())
    yield from _logged_facts(timeline.attempts)


def _step_backs(timeline: Timeline) -> Iterator[Fact]:
    """Where steps go back or repeat without a restart: the first places of each cause, then the rest."""
    for cause, (quantity, noun) in _BACKS.items():
        backs = [back for back in timeline.step_backs if back.cause == cause]
        rows = [(back.count, step_back_words(back)) for back in backs[:_MOST_BACKS]]
        if rest := backs[_MOST_BACKS:]:
            names = ", ".join(back.attempts[-1] for back in rest)
            rows.append((sum(back.count for back in rest), f"likewise: {names}"))
        for number, words in rows:
            yield Fact(quantity, number, noun if number == 1 else f"{noun}s", clipped(words, 300))


def _course_facts(track: Track, axis: Axis, *, begins: bool) -> Iterator[Fact]:
    """First and last value of a metric, and its best; without its beginning the last one and the best."""
    if (course := course_of(track)) is None:
        yield Fact(f"{track.metric}, finite values", 0, "points", "counted")
        return
    first, last, best = map(plainly, course[:3])
    at, where = f"at {axis.place(course.best_step)}", "live points"
    if begins:
        yield Fact(f"{track.metric}, first and last", f"{first}, {last}", track.unit, where)
        yield Fact(f"{track.metric}, {course.extreme}", best, track.unit, at)
    else:
        name = f"{clipped(track.metric, 60)}, {course.extreme} and last"
        yield Fact(name, f"{best}, {last}", track.unit, f"{course.extreme} {at}")


_LONG = ((3600, "h"), (60, "min"))  # units of a time, in seconds


def _wall_clock(times: Floats) -> Fact:
    if len(times) < 2:
        return Fact("Wall clock", None, "h", "")
    seconds = float(times.max() - times.min())
    size_s, unit = next(((size, unit) for size, unit in _LONG if seconds >= size), (1, "s"))
    value = float(f"{seconds / size_s:.3g}")
    return Fact("Wall clock", value, unit, "first to last time in the log, gaps included")


def _tokens(timeline: Timeline, config: RunConfig) -> Fact:
    logged = finite_values(t.values for t in timeline.by_role(Role.TOKENS))
    if len(logged):
        return Fact("Tokens", float(logged.max()), "tokens", "highest logged")
    _, last = step_ends(timeline.series.values()) or (0, 0)
    how = "last step × tokens_per_step of run.toml" if config.tokens_per_step else ""
    return Fact("Tokens", last * config.tokens_per_step or None, "tokens", how)


def _logged_facts(attempts: Sequence[Attempt]) -> Iterator[Fact]:
    """What the logs state of themselves, each value once, those of one name together, configurations last."""
    stated: dict[tuple[str, str], Fact] = {}
    for attempt in attempts:
        for name, value in attempt.facts.items():
            key = (name, str(value))
            if isinstance(value, str | int | float | bool) and value != "" and key not in stated:
                unit = _UNITS.get(name, "")
                # A name that no configuration has spelled is written as words: ``World size``.
                quantity = name if "/" in name else (name[:1].upper() + name[1:]).replace("_", " ")
                stated[key] = Fact(clipped(quantity, 80), _stated(name, value), unit, attempt.name)
    places = {name: place for place, name in enumerate(dict.fromkeys(name for name, _ in stated))}
    ordered = sorted(stated.items(), key=lambda item: ("/" in item[0][0], places[item[0][0]]))
    yield from (fact for _, fact in islice(ordered, _MOST_FACTS))


def _stated(name: str, value: str | int | float | bool) -> str | int | float | bool:
    """The value of a fact; a moment in Unix seconds or milliseconds as ISO 8601 in UTC."""
    if isinstance(value, str):
        return clipped(value, 200)
    if name.endswith(("_at", "timestamp")) and not isinstance(value, bool):
        seconds = value / 1000 if value > _YEAR_2100_S else value
        return instant(seconds) if _YEAR_2000_S < seconds < _YEAR_2100_S else value
    return value


def costs(timeline: Timeline, config: RunConfig) -> Iterator[Fact]:
    """What was trained and then discarded, in steps, hours, tokens and GPU hours as far as derivable."""
    lost = discarded(timeline)
    steps, seconds = lost["discarded_steps"], lost["discarded_s"]
    unit = axis_of(timeline).unit
    what = f"{unit[:1].upper()}{unit[1:]} discarded"
    yield Fact(what, steps, unit, f"of {count(lost['total_steps'])} trained, sum over joins")
    if not steps:
        return
    yield Fact("Hours discarded", _hours(seconds), "h", "wall clock of the discarded steps")
    tokens, how = lost["discarded_tokens"], "counted by the logs"
    if tokens is None:
        tokens = steps * config.tokens_per_step or None
        how = "steps × tokens_per_step of run.toml" if tokens else ""
    yield Fact("Tokens discarded", tokens, "tokens", how)
    gpus, how = _accelerators(timeline, config)
    gpu_hours = _hours(seconds * gpus) if seconds is not None and gpus else None
    yield Fact("GPU hours discarded", gpu_hours, "GPU h", f"hours × {how}" if gpu_hours else "")


def _accelerators(timeline: Timeline, config: RunConfig) -> tuple[float, str]:
    """The number of accelerators and its source: run.toml, else the largest number of an attempt."""
    if config.gpus:
        return config.gpus, "gpus of run.toml"
    for name in ("gpu_count", "world_size"):
        stated = [a.facts.get(name) for a in timeline.attempts]
        if numbers := [n for n in stated if isinstance(n, int | float) and 0 < n < 1e7]:
            return max(numbers), f"{name} of the log"
    return 0, ""


def _hours(seconds: float | None) -> float | None:
    return None if seconds is None else float(f"{seconds / 3600:.3g}")


def _attempt_rows(timeline: Timeline) -> list[dict[str, Any]]:
    """The attempts table, with the outcome of each attempt if there are several."""
    rows = [_attempt_row(attempt) for attempt in timeline.attempts]
    if len(rows) > 1:
        for row, ending in zip(rows, endings(timeline), strict=True):
            row["outcome"] = outcome(ending, axis_of(timeline))
    return rows


def _attempt_row(attempt: Attempt) -> dict[str, Any]:
    """One row of the attempts table; times are ISO 8601 in UTC, empty where the log has none."""
    series = attempt.series.values()
    (first, last), (begun, ended) = step_ends(series) or (None, None), wall_clock(attempt)
    return {
        "name": attempt.name,
        "first_step": first,
        "last_step": last,
        "points": sum(map(len, series)),
        "started": instant(begun),
        "ended": instant(ended),
        "truncated": attempt.truncated,
        "axis": attempt.noun,
        **{name: str(attempt.facts.get(name, "")) for name in ("format", "job", "nodes")},
        "faults": [f"{f.where}: {f.what}" for f in _reading_faults(attempt)[:20]],
    }


def _metric_row(track: Track) -> dict[str, Any]:
    first, last = step_ends([track]) or (None, None)
    known = {"metric": track.metric, "role": track.role.value, "unit": track.unit, "points": len(track)}
    return {**known, "first_step": first, "last_step": last}


def machine_faults(timeline: Timeline) -> tuple[model.MachineFault, ...]:
    """The published machine faults in their order, up to `MOST_FAULTS`."""
    return tuple(
        model.MachineFault(f.kind, f.what, f.host, f.at_step, instant(f.at_time), f.count, f.where)
        for f in timeline.faults[:MOST_FAULTS]
    )


def _reading_faults(attempt: Attempt) -> list[model.Fault]:
    return [fault for fault in attempt.faults if fault.kind == "read"]


def _unused(timeline: Timeline) -> Iterator[str]:
    for attempt in timeline.attempts:
        for fault in _reading_faults(attempt)[:10]:
            times = f" ({count(fault.count)} times)" if fault.count > 1 else ""
            yield f"{fault.where}: {fault.what}{times}"
        if attempt.truncated:
            yield f"{attempt.name}: the last record is cut (a live log, or a process that was killed)"
