"""A workspace (the folder that holds chronicle.toml and runs/), its runs, and how a run is added.

A run is added completely or not at all: its logs are copied into a hidden folder, which is then renamed.
Links are left out, since their targets may be anything and a workspace is kept in git; `follow` copies these.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote

from chronicle.errors import NOT_REGULAR, ChronicleError, ConfigError, UsageError, unreadable
from chronicle.model import Note, Role
from chronicle.workspace.config import Confines, RunConfig, WorkspaceConfig, linear, load, nearest
from chronicle.workspace.locks import scratch
from chronicle.workspace.notes import BESIDE, NOTES, read_notes, write_note

CONFIG = "chronicle.toml"
RUN_CONFIG = "run.toml"
LABEL = "label.toml"
OUR_FILES = (RUN_CONFIG, NOTES, LABEL)
_OF_SITE = "index"
_OF_WINDOWS = frozenset(("con", "prn", "aux", "nul", *(f"{p}{n}" for p in ("com", "lpt") for n in range(10))))


@dataclass(frozen=True)
class RunFolder:
    """One run to read: where its logs are, and what people say about it.

    ``folder`` is None for a bare path outside of any workspace. ``only`` is the name of one run in a store of
    several. ``machine_logs`` are those from elsewhere that concern the run. ``confines`` say what its
    run.toml may point at (None if a person named the logs). ``readings`` are the results for logs that were
    already read without any settings. ``seen`` has the hashes of all inputs, if none has changed since the
    last build. ``name`` is the name of its folder or log, from which the id is made. ``searched_for`` are the
    runs that were found among others in a folder that nobody has described.
    """

    run_id: str
    logs: tuple[Path, ...]
    folder: Path | None = None
    config: RunConfig = field(default_factory=RunConfig)
    problem: ChronicleError | None = None
    only: str = ""
    machine_logs: tuple[Path, ...] = ()
    confines: Confines | None = None
    readings: Mapping[Path, Any] = field(default_factory=dict, compare=False, repr=False)
    seen: Mapping[str, list[Any]] = field(default_factory=dict, compare=False, repr=False)
    name: str = ""
    searched_for: bool = False

    @property
    def title(self) -> str:
        """The title on one line: that of run.toml, else the name if the id was made of it, else the id."""
        title = self.config.title or (self.name if safe_id(self.name) == self.run_id else self.run_id)
        return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in title)

    @property
    def own_files(self) -> list[Path]:
        """The files run.toml, label.toml and notes, as far as they exist."""
        own = [self.folder / name for name in (RUN_CONFIG, LABEL)] if self.folder else []
        return [file for file in (*own, *self._notes_files) if os.path.isfile(file)]

    def published(self, text: str) -> str:
        """A text for publication: paths of the run's logs are relative to the run, not to this machine."""
        places = (log if log.is_dir() else log.parent for log in (*self.logs, *self.machine_logs))
        for root in filter(None, (self.folder, *places)):
            if root.is_absolute() and root.name:
                path = rf"(?<![\w./-]){re.escape(str(root))}(?:(/)|(?![\w-]|\.\w))"
                text = re.sub(path, lambda match: "" if match[1] else self.title, text)
        return text

    @property
    def notes_file(self) -> Path | None:
        """The file of notes on this run, if it has a folder of its own."""
        return self.folder / NOTES if self.folder else None

    @property
    def _notes_files(self) -> list[Path]:
        own = [self.notes_file] if self.notes_file else []
        within = (log if log.is_dir() else log.parent for log in self.logs if log.is_dir() or not own)
        return [*own, *(folder / BESIDE for folder in dict.fromkeys(within))]

    @property
    def notes(self) -> tuple[Note, ...]:
        """What people noted on this run, in its notes.md and in NOTES.log in the folder of a log, without
        what concerns another run of these files. Raises LogError: a file of notes cannot be read."""
        notes = (note for file in self._notes_files for note in read_notes(file))
        return tuple(note for note in notes if note.run in ("", self.run_id))

    def add_note(self, note: Note) -> None:
        """Adds a note to notes.md, which names this run if its folder holds several. Raises UsageError."""
        assert self.notes_file is not None  # runs of a workspace have a folder
        write_note(self.notes_file, replace(note, run=self.run_id if self.only else ""))


@dataclass(frozen=True)
class Workspace:
    """``root`` is the folder of chronicle.toml, to which all paths of the configuration are relative. If it
    is not ``trusted``, only its runs are used: see `untrusted`."""

    root: Path
    config: WorkspaceConfig = field(default_factory=WorkspaceConfig)
    trusted: bool = True

    @classmethod
    def find(cls, start: Path) -> Workspace | None:
        """The workspace around ``start``: the nearest folder upwards with a chronicle.toml."""
        start = start.resolve()
        for folder in [start, *start.parents]:
            if os.path.isfile(folder / CONFIG):
                return cls(folder, load(WorkspaceConfig, folder / CONFIG, CONFIG))
        return None

    @property
    def runs_folder(self) -> Path:
        return self.root / self.config.runs

    @property
    def entries(self) -> Path | None:
        """The store of the last build; None if the workspace is not trusted."""
        return self.root / "build" / "entries" if self.trusted else None

    @property
    def templates(self) -> list[Path]:
        """Template folders, the first one that has a file wins."""
        return self._shared(self.config.templates, "templates")

    @property
    def galleries(self) -> list[Path]:
        """Folders of pattern pages, the first one that has a page wins."""
        return self._shared(self.config.gallery, "gallery")

    def _shared(self, own: str, stock: str) -> list[Path]:
        """The existing folders without duplicates (in this repository both are the same folder)."""
        folders = (self.root / own, shipped_file(stock)) if self.trusted else (shipped_file(stock),)
        return list(dict.fromkeys(folder.resolve() for folder in folders if folder.is_dir()))

    def runs(self) -> list[RunFolder]:
        """All runs, ordered by folder name; an invalid run.toml is the problem of its run."""
        if not self.runs_folder.is_dir():
            return []
        names = sorted(name for name in os.listdir(self.runs_folder) if not name.startswith("."))
        folders, confines = (self.runs_folder / name for name in names), self.confines
        return with_unique_ids(run_in(folder, confines) for folder in folders if folder.is_dir())

    @property
    def confines(self) -> Confines:
        """The places and addresses that the runs may point at."""
        return Confines(self.root, tuple(self.config.allow), self.trusted)

    def untrusted(self) -> Workspace:
        """The workspace as it may be built for a stranger: runs, roles, units and thresholds. No templates,
        pattern pages, site configuration, addresses or links, and nothing that its chronicle.toml allows."""
        names = "title", "x", "roles", "units", "false_alarms", "thresholds", "strict", "fail_on"
        kept = {name: getattr(self.config, name) for name in names}
        patterns = linear(self.config.redact.patterns, CONFIG, "redact.patterns")
        redact = replace(self.config.redact, secrets=True, allow=[], patterns=patterns)
        kept["roles"] = _of_stranger(self.config.roles, CONFIG)
        return Workspace(self.root, WorkspaceConfig(**kept, redact=redact), trusted=False)

    def run(self, run_id: str, among: Iterable[RunFolder] | None = None) -> RunFolder:
        """The run of an id, ``among`` these runs. Raises UsageError with the nearest id if there is none."""
        runs = {r.run_id: r for r in (self.runs() if among is None else among)}
        if run_id not in runs:
            hint = nearest(run_id, runs, "Remedy: name one that `chronicle list` shows")
            raise UsageError(f"no run {run_id!r} in {self.runs_folder}. {hint}")
        return runs[run_id]


def is_run_folder(path: Path) -> bool:
    """Whether a folder holds a run that somebody has described: it has a run.toml, or notes."""
    return any(os.path.isfile(path / name) for name in (RUN_CONFIG, NOTES))  # False where it is not readable


def run_in(folder: Path, confines: Confines | None = None) -> RunFolder:
    """The run of a folder below runs/: its logs, and those that run.toml points at. A path that leads out of
    ``confines`` (by default the folder itself) is the problem of the run."""
    run_id, confines = safe_id(folder.name), confines or Confines(folder)
    name = f"{folder.name}/{RUN_CONFIG}"
    try:
        confines.require_links(folder)
        config = load(RunConfig, folder / RUN_CONFIG, name)
        if not confines.trusted:
            config = replace(config, roles=_of_stranger(config.roles, name))
        elsewhere = [_place_of(path, folder, confines, name) for path in config.paths]
        own = any(name not in OUR_FILES and not name.startswith(".") for name in os.listdir(folder))
    except (ConfigError, OSError) as err:
        problem = unreadable(folder, err) if isinstance(err, OSError) else err
        return RunFolder(run_id, (folder,), folder, problem=problem, name=folder.name)
    logs = ((folder,) if own or not elsewhere else ()) + tuple(elsewhere)
    return RunFolder(run_id, logs, folder, config, confines=confines, name=folder.name)


def _of_stranger(roles: Mapping[str, Role], file: str) -> dict[str, Role]:
    return dict(zip(linear(roles, file, "roles"), roles.values(), strict=True))


def _place_of(path: str, folder: Path, confines: Confines, name: str) -> Path:
    """The mirror of an address, or a place within the confines. Raises ConfigError: neither."""
    try:
        if is_address(path):
            return mirror_of(confines.require_address(path, name))
        place = confines.require_path(folder / Path(path).expanduser(), name)
        place.exists()  # also raises what would end a build later, such as for a name that is too long
    except (OSError, ValueError, RuntimeError) as err:  # also a broken address, or the home of nobody
        problem = f"{path!r} is no path of a log ({err.strerror if isinstance(err, OSError) else err})"
        raise ConfigError(name, "paths", problem, remedy="name a log or a folder of logs") from err
    return place


def safe_id(name: str) -> str:
    """A run id that is safe in file names and addresses: letters, digits, dots, dashes and underscores. In a
    name with other characters these become dashes, and some digits of its hash are added, as to a name that
    Windows reserves. `with_unique_ids` makes ids unique."""
    plain = re.fullmatch(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9_-])?", name)
    if plain and name.lower() != _OF_SITE and name.lower().partition(".")[0] not in _OF_WINDOWS:
        return name
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    dashed = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:80]
    return f"{dashed}-{digest}" if dashed else f"run-{digest}"


def with_unique_ids(runs: Iterable[RunFolder]) -> list[RunFolder]:
    """The runs in their order, with ids that are unique even if case is ignored. The first run of an id keeps
    it; every other one gets the lowest number that makes its id unique."""
    runs = list(runs)
    taken = {run.run_id.lower() for run in runs}
    seen: set[str] = set()
    for i, run in enumerate(runs):
        run_id = run.run_id
        if run_id.lower() in seen:
            run_id = next(new for n in count(2) if (new := f"{run.run_id}-{n}").lower() not in taken)
            runs[i] = replace(run, run_id=run_id)
        seen.add(run_id.lower())
        taken.add(run_id.lower())
    return runs


def init(folder: Path) -> list[Path]:
    """Makes a workspace in ``folder`` and returns the new files. Existing files are left unchanged."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", remedy="name a folder that is to become the workspace")
    try:
        (folder / "runs").mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as err:  # of a file system that makes no folders, such as /proc
        raise UsageError(f"no folder can be made at {folder}", remedy="name another place") from err
    stock = shipped_file("templates") / "workspace"
    sources = stock / CONFIG, shipped_file("mkdocs.yml"), stock / "gitignore", stock / "gitattributes"
    files = {folder / (f.name if f.suffix else f".{f.name}"): f for f in sources}
    created = [target for target in files if not target.exists()]
    for target in created:
        shutil.copyfile(files[target], target)
    return created


def facts_of(pairs: Sequence[str]) -> dict[str, Any]:
    """``["project=demo"]`` as a dict. Raises UsageError: one has no name, or no equals sign."""
    for pair in pairs:
        if not pair.partition("=")[0].strip() or "=" not in pair:
            problem = f"--fact {pair!r} has no {'name' if '=' in pair else 'equals sign'}"
            raise UsageError(problem, remedy="write it as KEY=VALUE")
    return dict(pair.split("=", 1) for pair in pairs)


# Logs behind an address (`s3://bucket/run`) are read from a mirror, a folder of this machine, and reported
# under their address. `chronicle.readers.remote` fetches them.
CACHE = "CHRONICLE_CACHE"  # environment variable: where mirrors are kept
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://(.*)", re.DOTALL)
_UNSAFE = re.compile(r"[%\\\x00-\x1f\x7f]|^\.{1,2}$|^$")


def is_address(text: str) -> bool:
    """Whether a text is an address and not a path."""
    return bool(_ADDRESS.fullmatch(text))


def cache() -> Path:
    """The folder that mirrors are kept in."""
    standard = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "chronicle"
    return Path(os.environ.get(CACHE) or standard).resolve()


def mirror_of(address: str) -> Path:
    """The mirror of an address: always below `cache`, whatever the address contains."""
    match = _ADDRESS.fullmatch(address)
    if not match:
        raise ValueError(f"{address!r} is not an address")
    return cache() / "mirror" / match[1] / safe_path(match[2].rstrip("/"))


def safe_path(name: str) -> Path:
    """The name of an object as a relative path; parts such as `..` are percent-encoded."""

    def coded(match: re.Match[str]) -> str:
        return "".join(f"%{byte:02X}" for byte in match[0].encode()) or "%"

    return Path(*(_UNSAFE.sub(coded, part) for part in name.split("/")))


def address_of(path: Path) -> str:
    """The address that a path mirrors; "" for any other path."""
    root = cache() / "mirror"
    if not path.is_relative_to(root):
        return ""
    scheme, *parts = path.relative_to(root).parts or ("",)
    return f"{scheme}://" + "/".join("" if part == "%" else unquote(part) for part in parts)


def path_words(path: Path) -> str:
    """A path as it is shown to people: as an address if it is a mirror."""
    return address_of(path) or str(path)


def shipped_file(name: str) -> Path:
    """The shipped file or folder ``name``: inside the wheel, or at the top level of a checkout."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "shipped" / name
    return packed if packed.exists() else package.parent.parent / name


_OWN_KEYS = ("title", "project", "description", "source", "licence")


def add(
    workspace: Workspace,
    logs: Sequence[Path],
    name: str,
    facts: Mapping[str, str],
    *,
    link: bool = False,
    follow: bool = False,
) -> tuple[Path, list[Path]]:
    """Makes runs/<name>/ from logs, which are copied, or named in run.toml if ``link`` is true. Returns the
    folder, and the paths that were not copied because they are no files.

    A single folder becomes the folder of the run. Logs with the same name are put into folders named after
    their own folders. ``follow`` also copies the targets of links.

    Raises:
        UsageError: a log does not exist, two logs cannot be distinguished, links form a loop, or a run of
            that name exists.
        ConfigError: the workspace does not allow a log that is to be linked.
        OSError: something cannot be read or written; no run was made.
    """
    _must_be_allowed(workspace, logs, link)
    name = name or logs[0].resolve().stem
    folder = workspace.runs_folder / safe_id(name)
    _must_be_free(folder)
    workspace.runs_folder.mkdir(parents=True, exist_ok=True)
    left_out: list[Path] = []
    with scratch(workspace.runs_folder) as place:
        made = place / "run"
        made.mkdir()
        for log, relative in _places(logs).items() if not link else ():
            left_out += _copy_named(log, made / relative, follow)
        if name != folder.name and not (made / RUN_CONFIG).exists():
            facts = {"title": name, **facts}
        _write_run_toml(made / RUN_CONFIG, [log.resolve() for log in logs] if link else [], facts)
        try:
            made.rename(folder)
        except OSError:
            _must_be_free(folder)  # another process may have made it meanwhile
            raise
    return folder, left_out


def _must_be_allowed(workspace: Workspace, logs: Sequence[Path], link: bool) -> None:
    """Raises UsageError: a log is missing, or contains the workspace. Raises ConfigError: no link may be."""
    missing = [str(log) for log in logs if not log.exists()]
    if missing:
        raise UsageError(f"no such file or folder: {', '.join(missing)}", remedy="check the path")
    for log in logs:
        if not link and workspace.runs_folder.resolve().is_relative_to(log.resolve()):
            problem = f"{log} contains the runs of the workspace"
            raise UsageError(problem, remedy="name a log or folder beside them")
        if link and (address := address_of(log)):
            workspace.confines.require_address(address, "--link")
        elif link:
            workspace.confines.require_path(log, "--link")


def _must_be_free(folder: Path) -> None:
    """Raises UsageError if the folder exists, also in other case: not all file systems distinguish it."""
    for name in os.listdir(folder.parent) if folder.parent.is_dir() else ():
        if name.casefold() == folder.name.casefold():
            remedy = "choose another --name, or put the logs into that folder yourself"
            raise UsageError(f"{folder.with_name(name)} exists", remedy=remedy)


def _places(logs: Sequence[Path]) -> dict[Path, Path]:
    """The place of each log in the folder of its run. Raises UsageError if two logs get the same place."""
    named_logs = list(dict.fromkeys(Path(os.path.abspath(log)) for log in logs))
    if len(named_logs) == 1 and named_logs[0].is_dir():
        return {named_logs[0]: Path()}
    n_parts = dict.fromkeys(named_logs, 1)  # how many of the last parts of its path name a log
    while True:
        # Without the dots that would hide a log from a build.
        places = {log: Path(*(p.lstrip(".") or "_" for p in log.parts[-n:])) for log, n in n_parts.items()}
        times = Counter(str(place).casefold() for place in places.values())
        met = [log for log, place in places.items() if times[str(place).casefold()] > 1]
        if not met:
            return places
        for log in met:
            n_parts[log] += 1
            if n_parts[log] >= len(log.parts):
                named = " and ".join(map(str, met[:2]))
                raise UsageError(f"{named} have the same name", remedy="rename one of them")


def _copy_named(log: Path, to: Path, follow: bool) -> Iterator[Path]:
    """Copies a log that somebody named, even if it is a link; yields the paths that are not copied."""
    to.parent.mkdir(parents=True, exist_ok=True)
    if log.is_file():
        _copy_file(log, to)
        return
    if not log.is_dir():
        raise UsageError(f"{path_words(log)} {NOT_REGULAR}", remedy="name a file")
    for folder, folders, names in os.walk(log, onerror=_reraise, followlinks=follow):
        place = to / Path(folder).relative_to(log)
        place.mkdir(exist_ok=True)
        folders.sort()
        for path in sorted(Path(folder, name) for name in (*folders, *names)):
            if path.is_symlink() and not (follow and path.exists()):
                yield path
            elif path.is_file():
                _copy_file(path, place / path.name)
            elif not path.is_dir():
                yield path
            elif path.is_symlink() and any(map(path.samefile, path.parents)):
                raise UsageError(f"{path} is a link to a folder above it", remedy="remove it")


def _reraise(err: OSError) -> None:
    raise err


def _write_durably(to: Path, content: BinaryIO) -> None:
    """Writes a new file and waits until it is on disk. Raises OSError, also if it exists."""
    with to.open("xb") as out:
        shutil.copyfileobj(content, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())


def _copy_file(source: Path, to: Path) -> None:
    with source.open("rb") as content:
        _write_durably(to, content)
    shutil.copystat(source, to)


def _write_run_toml(file: Path, paths: Sequence[Path], facts: Mapping[str, str]) -> None:
    """Writes the paths and facts of a run, if any. Raises UsageError: a run.toml is among its logs."""
    own = {k: v for k, v in facts.items() if k in _OWN_KEYS}
    lines = [f"{k} = {_quoted(v)}" for k, v in own.items()]
    lines += [f"paths = [{', '.join(_quoted(address_of(p) or str(p)) for p in paths)}]"] if paths else []
    rest = [f"{_quoted(k)} = {_quoted(v)}" for k, v in facts.items() if k not in own]
    if rest:
        lines += ["", "[facts]", *rest] if lines else ["[facts]", *rest]
    if lines and file.exists():
        problem = f"{RUN_CONFIG} is among the logs already, and says what the run is"
        raise UsageError(problem, remedy="write the facts into it, without --fact")
    if lines:
        _write_durably(file, BytesIO("\n".join([*lines, ""]).encode()))


def _quoted(text: str) -> str:
    """A TOML basic string. It is the same as a string of JSON, except for the character DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
