"""chronicle.toml and run.toml: every key with its type, default, unit and meaning, in one place.

The field metadata below are the documentation, against which `docs/configuration.md` is tested.

A run.toml, a link and an address may come from a stranger, and what they lead to is published. They are
followed only within the workspace, to what `allow` names, or to stores that require credentials (`s3://`,
`gs://`, `hf://`). Paths on the command line are not confined.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
import re
import socket
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints
from urllib.parse import urlsplit

from chronicle.errors import ConfigError, UsageError, only_regular, remedy_of
from chronicle.model import Role, Verdict

Engine = Literal["mkdocs", "properdocs", "zensical"]
Axis = Literal["step", "samples", "tokens", "time"]
Relation = Literal["", "attempts", "seeds"]
Data = Literal["log", "digitised picture", "tiny training", "synthetic"]
ENGINES, AXES, RELATIONS = map(get_args, (Engine, Axis, Relation))

T = TypeVar("T")
_hints_of = cache(partial(get_type_hints, include_extras=True))
Text = Annotated[str, "text"]
"""Free text in a table: never empty; a number is taken as its digits."""
Expression = Annotated[str, "expression"]
"""A regular expression of Python."""
Place = Annotated[str, "place"]
"""A path, which holds no zero byte."""

_SCALARS: dict[Any, tuple[str, tuple[type, ...]]] = {
    str: ("a string", (str,)),
    Text: ("a text", (str, int, float)),
    Expression: ("a regular expression", (str,)),
    Place: ("a path", (str,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    bool: ("true or false", (bool,)),
}


def key(default: Any, doc: str, unit: str = "") -> Any:
    """A configuration key: its default, meaning and unit. Its annotation says which values are accepted."""
    metadata = {"doc": doc, "unit": unit}
    if isinstance(default, list | dict):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Redact:
    """The table [redact] of chronicle.toml: what is withheld before a run is published."""

    secrets: bool = key(True, "Whether anything that looks like a key, token or password is withheld.")
    identities: bool = key(
        False,
        "Whether hosts and users are numbered, and e-mail and network addresses and home folders withheld.",
    )
    patterns: list[Expression] = key([], "Regular expressions of further text to withhold.")
    allow: list[Expression] = key(
        [], "Regular expressions of text to publish although it looks like a secret."
    )


@dataclass(frozen=True)
class WorkspaceConfig:
    """The settings of a workspace, from chronicle.toml."""

    title: str = key("chronicle", "Title of the site.")
    runs: Place = key("runs", "Folder with one subfolder for each run.")
    gallery: Place = key(
        "gallery", "Folder of pattern pages and of `cases/`; a page here replaces the shipped one."
    )
    templates: Place = key("templates", "Page templates; each replaces the shipped one of the same name.")
    out: Place = key("build/site", "Folder the site is written to.")
    engine: Engine = key("mkdocs", "Site engine.")
    site_url: str = key(
        "", "Address that the site is published at, `https://…/`: feeds and link previews use it."
    )
    edit_url: str = key(
        "",
        "Where the folder of the runs is edited, `https://github.com/team/log/edit/main/runs/`: "
        "each run then links to its run.toml and notes.md.",
    )
    jobs: int = key(0, "Worker processes; 0 means one per CPU core.", "processes")
    strict: bool = key(False, "Whether a warning of the site engine fails the build.")
    fail_on: Verdict | Literal[""] = key(
        "", "Exit with 1 when a run has this verdict or a graver one; empty means never."
    )
    x: Axis = key("step", "Horizontal axis of the figure of a whole run; zooms always use steps.")
    roles: Mapping[Expression, Role] = key(
        {}, "Roles that names do not show: regular expression of a name = role."
    )
    units: Mapping[str, str] = key({}, "Units of metrics: name as logged = unit.")
    false_alarms: float = key(
        0.0,
        "False alarms that the classifier may raise, set by its thresholds; 0 leaves them as they are.",
        "per 100,000 healthy points",
    )
    thresholds: Mapping[str, float] = key(
        {}, "Thresholds of the classifier by name; units and defaults are in the guide's list of thresholds."
    )
    allow: list[Place] = key(
        [],
        "Folders outside of the workspace, and addresses (`https://logs.example.org/`), that runs may "
        "point at.",
    )
    redact: Redact = key(Redact(), "What is withheld before a run is published: a table of its own, below.")

    def __post_init__(self) -> None:
        for name in ("site_url", "edit_url"):
            url = getattr(self, name)
            if url and not re.fullmatch(r"https?://[^\s\"'<>]+/", url):
                what = f"must be `https://…/` with a slash at its end, not {url!r}"
                raise ConfigError("chronicle.toml", name, what)


@dataclass(frozen=True)
class RunConfig:
    """The settings and facts of one run that its logs do not contain, from run.toml."""

    title: str = key("", "Title of the run's page; by default the name of its folder.")
    project: str = key("", "Project or model the run belongs to; a facet of the gallery.")
    description: str = key("", "Description of the run in a few sentences; shown as text.")
    source: str = key("", "Where the log comes from.")
    licence: str = key("", "Licence of the log.")
    quote: str = key("", "What its authors wrote about it, quoted.")
    tags: list[str] = key([], "Words to find the run by.")
    data: Data = key("log", "Kind of data.")
    synthetic: bool = key(False, "Whether a generator made the numbers; the page then says so.")
    paths: list[str] = key(
        [], "Logs that lie elsewhere: relative to this file, absolute, or an address (`s3://bucket/run`)."
    )
    order: list[str] = key([], "Names of the attempts in their order, if clock and steps do not show it.")
    relation: Relation = key("", "What logs of the same steps are: attempts of one training, or seeds.")
    x: Axis | Literal[""] = key("", "As in chronicle.toml, for this run; empty means the value there.")
    axis: str = key("", "What its logs count, if it is not steps: `million tokens`.")
    resolution: float = key(
        0.0, "Steps between two places that the source can tell apart: one pixel.", "steps"
    )
    date: str = key("", "Day it ran, ISO 8601, where its logs have no times.")
    roles: Mapping[Expression, Role] = key(
        {}, "As in chronicle.toml, for this run; takes precedence over it."
    )
    units: Mapping[str, str] = key({}, "As in chronicle.toml, for this run; takes precedence over it.")
    gpus: int = key(0, "Accelerators the run used, from which GPU hours are derived.", "accelerators")
    tokens_per_step: float = key(0.0, "Tokens of one step, from which the total is derived.", "tokens/step")
    facts: Mapping[str, Any] = key({}, "Any other facts, shown in the facts table: name = value.")

    def __post_init__(self) -> None:
        try:
            datetime.fromisoformat(self.date or "2026-11-18")
        except ValueError:
            what = f"must be a day as 2026-11-18, not {self.date!r}"
            raise ConfigError("run.toml", "date", what) from None


def load(kind: type[T], file: Path, name: str = "") -> T:
    """Reads a TOML file into ``kind``; a missing file gives the defaults. Raises ConfigError with file, key
    and the nearest valid key: an unreadable file, no TOML, an unknown key, or a value of a wrong type."""
    name = name or file.name
    try:
        with open(file, encoding="utf-8-sig", opener=only_regular) as text:
            table = tomllib.loads(text.read())
        if not all(-(2**63) <= number < 2**63 for number in _integers(table)):
            raise ValueError("an integer in it has more than 64 bits")
    except FileNotFoundError:
        return kind()
    except OSError as err:
        problem = f"cannot be read ({err.strerror})"
        raise ConfigError(name, "", problem, remedy=remedy_of(err)) from err
    except (ValueError, RecursionError) as err:  # also an integer of thousands of digits
        raise ConfigError(name, "", f"is not valid TOML: {err}") from err
    return from_table(kind, table, name)


def _integers(value: Any) -> Iterator[int]:
    """All integers in a table of TOML."""
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _integers(item)


def from_table(kind: type[T], table: Any, file: str, at: str = "", **known: Any) -> T:
    """A dataclass from a table of TOML, YAML or JSON; keys and types are checked, a null is absent. Fields
    in ``known`` may not be in it. Errors (as in `load`) name ``file`` and the key below ``at``."""
    if not isinstance(table, Mapping):
        raise ConfigError(file, at, f"must be a table, not {table!r}")
    specs = {spec.name: spec for spec in fields(kind) if spec.name not in known}  # type: ignore[arg-type]
    hints, within = _hints_of(kind), f"{at}." if at else ""  # type: ignore[arg-type]
    for word in table:
        if word not in specs:
            raise ConfigError(file, f"{within}{word}", unknown(str(word), specs))
    for word, spec in specs.items():
        value = table.get(word)
        if value is not None or spec.default is spec.default_factory is MISSING:
            known[word] = _checked(hints[word], value, file, within + word)
    return kind(**known)


def unknown(word: str, valid: Iterable[str]) -> str:
    """The message about an unknown key, with the nearest valid one."""
    valid = sorted(valid)
    own = " A fact of your own goes into the table `facts`." if "facts" in valid else ""
    return "unknown key. " + nearest(word, valid, f"Remedy: use one of {', '.join(valid)}") + own


def nearest(word: str, valid: Iterable[str], otherwise: str) -> str:
    """``Did you mean 'kick'?``, or ``otherwise`` if no valid word is similar."""
    near = difflib.get_close_matches(word, list(valid), 1, 0.5)
    return f"Did you mean {near[0]!r}?" if near else otherwise


def _checked(hint: Any, value: Any, file: str, key: str) -> Any:
    """A plain value, converted to the type that ``hint`` names."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return value
    if hint in _SCALARS:
        return _scalar(hint, value, file, key)
    if is_dataclass(hint):
        return from_table(hint, value, file, key)  # type: ignore[arg-type]
    if NoneType in args:
        return None if value is None else _checked(args[0], value, file, key)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise ConfigError(file, key, f"must be a table, not {value!r}")
        names = [_checked(args[0], name, file, key) for name in value]
        return {name: _checked(args[1], value[name], file, f"{key}.{name}") for name in names}
    if origin in (list, tuple):
        return origin(_items(args[0], value, file, key))
    words = accepted(hint)
    if value not in words:
        listed = f"{value or ''!r} is none of {', '.join(repr(str(w)) for w in words)}"
        raise ConfigError(
            file, key, ". ".join(filter(None, (listed, nearest(str(value), map(str, words), ""))))
        )
    return words[words.index(value)]


def _scalar(hint: Any, value: Any, file: str, key: str) -> Any:
    noun, types = _SCALARS[hint]
    if str in types and isinstance(value, date):  # TOML and YAML know dates that are not in quotes
        value = value.isoformat()
    is_none = (hint is Text and not str(value).strip()) or (hint is float and value != value)
    if type(value) not in types or is_none:
        raise ConfigError(file, key, f"must be {noun}, not {value!r}")
    if hint is Place and "\0" in value:
        raise ConfigError(file, key, f"{value!r} is no path: a zero byte is in it")
    if hint is Expression:
        _require(re.compile, value, file, key)
    return str(value).strip() if hint is Text else value


def _require(compile: Callable[[str], object], pattern: str, file: str, key: str) -> None:
    """Raises ConfigError for what is no regular expression, or too large to be one."""
    try:
        compile(pattern)
    except (re.error, ValueError, OverflowError, RecursionError) as err:
        raise ConfigError(file, key, f"{pattern!r} is not a regular expression: {err}") from err


def linear(patterns: Iterable[str], file: str, key: str) -> list[str]:
    """Expressions that a stranger wrote, to be matched in linear time. Raises ConfigError for one of which
    only Python's own way is known, such as what looks ahead."""
    from chronicle.metrics.names import Linear  # here, because few commands need what names mean

    found = [*map(Linear, patterns)]
    for pattern in found:
        _require(partial(pattern.sub, ""), pattern, file, key)
    return [*found]


def accepted(hint: Any) -> tuple[str, ...]:
    """The words that an Enum, a Literal or a union of these accepts; none for any other type."""
    if isinstance(hint, type):
        return tuple(hint) if issubclass(hint, StrEnum) else ()
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(word for part in reversed(get_args(hint)) for word in accepted(part))


def _items(hint: Any, value: Any, file: str, key: str) -> Iterator[Any]:
    if not isinstance(value, list):
        of = f" of {_SCALARS[hint][0][2:]}s" if hint in _SCALARS else ""
        raise ConfigError(file, key, f"must be a list{of}, not {value!r}")
    yield from (_checked(hint, item, file, f"{key}[{i}]") for i, item in enumerate(value))


STORES = ("s3", "s3a", "gs", "gcs", "hf")
_LOCAL = ("file", "local")


@dataclass(frozen=True)
class Confines:
    """Where the logs of a workspace may lie: below ``root``, and in the places of ``allow``. If it is not
    ``trusted``, no address is fetched and no link is followed."""

    root: Path
    allow: tuple[str, ...] = ()
    trusted: bool = True

    def require_path(self, path: Path, source: str) -> Path:
        """The path, which ``source`` names, with links resolved. Raises ConfigError: it lies outside."""
        resolved = path.resolve()
        allowed = ((self.root / place).expanduser() for place in self.allow if "://" not in place)
        if any(resolved.is_relative_to(folder.resolve()) for folder in (self.root, *allowed)):
            return resolved
        remedy = "add its folder to `allow` of chronicle.toml, or `chronicle add` the log"
        raise ConfigError(source, "", f"leads out of the workspace, to {path.name}", remedy=remedy)

    def require_address(self, address: str, source: str) -> str:
        """The address. Raises ConfigError: it may not be fetched."""
        scheme = address.partition("://")[0]
        if scheme in _LOCAL:
            raise ConfigError(source, "paths", f"{address}: write the path itself, without {scheme}://")
        if self.trusted and (scheme in STORES or self.allows(address)):
            return address
        remedy = "add it, or the beginning of it, to `allow` of chronicle.toml"
        raise ConfigError(source, "paths", f"{address} may not be fetched", remedy=remedy)

    def allows(self, address: str) -> bool:
        """Whether `allow` names the address, or a folder or host above it. A scheme alone (`https://`) names
        every host outside of private networks. An address with parts that lead upwards (`..`) is refused."""
        if any(re.fullmatch(r"(?i)(?:\.|%(?:25)*2e){1,2}", part) for part in _parts(address)):
            return False
        around = [place for place in self.allow if _parts(address)[: len(_parts(place))] == _parts(place)]
        has_host = any(urlsplit(place).netloc for place in around)
        return has_host or (bool(around) and not is_private(urlsplit(address).hostname or ""))

    def require_links(self, folder: Path) -> None:
        """Raises ConfigError for the first link below ``folder``, or above it, that may not be followed."""
        above, root, place = list[Path](), str(self.root), os.path.dirname(folder)
        while place != root and place.startswith(os.path.join(root, "")):  # text: there are thousands
            if os.path.islink(place):
                above.append(Path(place))
            place = os.path.dirname(place)
        for link in (*above, *links_below(folder)):
            below = link != folder and link.is_relative_to(folder)
            name = f"{folder.name}/{link.relative_to(folder)}" if below else link.name
            if not self.trusted:
                raise ConfigError(name, "", "is a link, and links are not followed in an untrusted workspace")
            if link.exists():  # what leads nowhere is a log that cannot be read
                self.require_path(link, name)


def links_below(folder: Path) -> Iterator[Path]:
    """Every symbolic link at or below ``folder``, without following any."""
    if folder.is_symlink():
        yield folder
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # not to be listed: the readers say so
        return
    for entry in entries:
        if entry.is_symlink():
            yield Path(entry.path)
        elif entry.is_dir():
            yield from links_below(Path(entry.path))


def is_private(host: str) -> bool:
    """Whether a host is, or may be reached as, an address that the public network does not have."""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False  # no such host: nothing is reached
    return any(not ipaddress.ip_address(str(number).partition("%")[0]).is_global for number in addresses)


def may_redirect(origin: str, target: str, confines: Confines | None) -> bool:
    """Whether a server that was asked for ``origin`` may send the fetch on to ``target``. Within the same
    host, or to what the workspace allows; without a workspace, to any public host."""
    if urlsplit(target).scheme not in ("http", "https"):
        return False
    if urlsplit(origin).netloc == urlsplit(target).netloc:
        return True
    return confines.allows(target) if confines else not is_private(urlsplit(target).hostname or "")


def require_no_link(root: Path, *folders: Path) -> None:
    """Raises UsageError if one of the folders, or a folder between it and ``root``, is a link, because a
    build removes unknown files from its folders, and must not do so elsewhere."""
    for place in (place for folder in folders for place in (folder, *folder.parents)):
        if place != root and place.is_relative_to(root) and place.is_symlink():
            problem = f"{place} is a link, and chronicle removes unknown files from that folder"
            raise UsageError(problem, remedy="put a folder in its place, or name another --out")


def _parts(address: str) -> list[str]:
    """Scheme, host and folders of an address, to compare them one by one."""
    scheme, _, rest = address.partition("://")
    host, *folders = rest.rstrip("/").split("/")
    return [scheme.lower(), *([host.lower(), *folders] if host else [])]
