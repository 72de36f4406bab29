"""chronicle.toml and run.toml: every key with its type, default, unit and meaning, in one place.

The field metadata below are the documentation: `docs/configuration.md` is tested against them, and an
unknown key is an error that names the nearest valid one.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from chronicle.errors import ConfigError
from chronicle.model import Role, Verdict

ENGINES = ("mkdocs", "properdocs", "zensical")
AXES = ("step", "samples", "tokens", "time")
RELATIONS = ("", "attempts", "seeds")

T = TypeVar("T")


def key(default: Any, doc: str, unit: str = "", choices: Iterable[str] = ()) -> Any:
    """A configuration key: its default, what it means, the unit of its value, the words it accepts."""
    metadata = {"doc": doc, "unit": unit, "choices": tuple(choices)}
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class WorkspaceConfig:
    """chronicle.toml: what holds for a whole workspace."""

    title: str = key("chronicle", "Title of the site.")
    runs: str = key("runs", "Folder that holds one folder a run.")
    gallery: str = key(
        "gallery", "Folder of pattern pages; a page here replaces the shipped one of the same id."
    )
    templates: str = key(
        "templates", "Folder of page templates; one here replaces the shipped one of the same name."
    )
    out: str = key("build/site", "Folder the site is written to.")
    engine: str = key("mkdocs", "Site engine.", choices=ENGINES)
    jobs: int = key(0, "Worker processes; 0 means one a core.", "processes")
    strict: bool = key(False, "Whether a warning of the site engine fails the build.")
    fail_on: str = key(
        "", "Exit with 1 when a run has this verdict or a graver one; empty means never.",
        choices=("", *Verdict),
    )  # fmt: skip
    x: str = key(
        "step", "What the figure of a whole run is drawn over; zooms stay over steps.", choices=AXES
    )  # fmt: skip
    roles: Mapping[str, str] = key(
        {}, "What a metric is, where its name does not tell: regular expression of the name = role.",
        choices=tuple(Role),
    )  # fmt: skip
    units: Mapping[str, str] = key({}, "Units of metrics: name as logged = unit.")
    false_alarms: float = key(
        0.0, "False alarms that the classifier may raise, set by its thresholds; 0 leaves them as they are.",
        "per 100,000 healthy points",
    )  # fmt: skip
    thresholds: Mapping[str, float] = key(
        {}, "Thresholds of the classifier by name; units and defaults stand in the classifier's page."
    )


@dataclass(frozen=True)
class RunConfig:
    """run.toml: what is known of one run and cannot be read from its logs."""

    title: str = key("", "Title of the run's page; by default the name of its folder.")
    project: str = key("", "Project or model the run belongs to; a facet of the gallery.")
    description: str = key("", "What the run was, in a few sentences; shown as text.")
    source: str = key("", "Where the log comes from.")
    licence: str = key("", "Licence of the log.")
    quote: str = key("", "What its authors said of it, in their words.")
    tags: list[str] = key([], "Words to find the run by.")
    data: str = key(
        "log", "What kind of data it is.", choices=("log", "digitised picture", "tiny training", "synthetic")
    )
    synthetic: bool = key(False, "Whether a generator made the numbers; the page then says so.")
    paths: list[str] = key(
        [], "Logs that lie elsewhere: relative to this file, absolute, or an address (`s3://bucket/run`)."
    )
    order: list[str] = key(
        [], "Names of the attempts in the order they ran, where wall clock and steps do not tell."
    )
    relation: str = key(
        "", "What several attempts over the same steps are: attempts of one training, or seeds.",
        choices=RELATIONS,
    )  # fmt: skip
    x: str = key("", "As in chronicle.toml, for this run; empty: as there.", choices=("", *AXES))
    roles: Mapping[str, str] = key(
        {}, "As in chronicle.toml, for this run; wins over it.", choices=tuple(Role)
    )
    units: Mapping[str, str] = key({}, "As in chronicle.toml, for this run; wins over it.")
    gpus: int = key(0, "Accelerators the run used; makes GPU hours derivable.", "accelerators")
    tokens_per_step: float = key(0.0, "Tokens of one step; makes tokens derivable.", "tokens/step")
    facts: Mapping[str, Any] = key({}, "Any other facts, shown in the facts table: name = value.")


def load(kind: type[T], file: Path, name: str = "") -> T:
    """Reads a TOML file into ``kind``; a missing file gives the defaults.

    Raises:
        ConfigError: unreadable, no TOML, an unknown key, a value of the wrong type. It names the file,
            the key and the nearest valid one.
    """
    name = name or file.name
    try:
        table = tomllib.loads(file.read_text("utf-8-sig"))
    except FileNotFoundError:
        return kind()
    except OSError as err:
        raise ConfigError(name, "", f"cannot be read ({err.strerror})") from err
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as err:
        raise ConfigError(name, "", f"is not valid TOML: {err}") from err
    return from_table(kind, table, name)


def from_table(kind: type[T], table: Mapping[str, Any], name: str) -> T:
    """A configuration from a parsed table, every key and value checked (errors as in `load`)."""
    known: dict[str, Field[Any]] = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    hints = get_type_hints(kind)
    for word, value in table.items():
        if word not in known:
            raise ConfigError(name, word, unknown(word, known))
        _check(name, known[word], hints[word], value)
    return kind(**table)


def unknown(word: str, valid: Iterable[str]) -> str:
    """The words of an unknown-key error, with the nearest valid key."""
    valid = sorted(valid)
    near = difflib.get_close_matches(word, valid, 1, 0.5)
    return (
        f"unknown key. Did you mean {near[0]!r}?" if near else f"unknown key. Valid keys: {', '.join(valid)}"
    )


def default_of(spec: Field[Any]) -> Any:
    """The default value of a key."""
    factory = spec.default_factory
    return spec.default if factory is MISSING else factory()


def _check(file: str, spec: Field[Any], hint: Any, value: Any) -> None:
    default = default_of(spec)
    expected = type(default)
    if expected is float and type(value) is int:
        value = float(value)
    if type(value) is not expected:
        raise ConfigError(file, spec.name, f"must be {_kind_of(default)}, not {value!r}")
    if isinstance(value, list) and not all(isinstance(v, str) for v in value):
        raise ConfigError(file, spec.name, "must be a list of strings")
    for word in value.values() if isinstance(value, dict) else [value]:
        choices = spec.metadata["choices"]
        if choices and word not in choices:
            words = ", ".join(repr(str(c)) for c in choices)
            raise ConfigError(file, spec.name, f"{word!r} is none of {words}")
    if isinstance(value, dict) and "Any" not in str(hint):
        _check_items(file, spec.name, "float" in str(hint), value)


def _check_items(file: str, name: str, numbers: bool, table: Mapping[str, Any]) -> None:
    for word, value in table.items():
        ok = (
            isinstance(value, int | float) and not isinstance(value, bool)
            if numbers
            else isinstance(value, str)
        )
        if not ok:
            kind = "a number" if numbers else "a string"
            raise ConfigError(file, f"{name}.{word}", f"must be {kind}, not {value!r}")


def _kind_of(default: Any) -> str:
    names = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(type(default), "a list of strings" if isinstance(default, list) else "a table")
