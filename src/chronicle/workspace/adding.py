"""chronicle add: a run of the workspace from logs that lie anywhere. All of it appears at once, or nothing.

The logs are copied into a folder that nobody sees, which then gets the name of the run. Links are left out,
since what they lead to may be anything, and a workspace is kept in git; `follow` copies what they lead to.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

from chronicle.errors import UsageError
from chronicle.workspace.folders import RUN_CONFIG, Workspace, address_of, safe_id, shown
from chronicle.workspace.locks import scratch

_OWN_KEYS = ("title", "project", "description", "source", "licence")


class Added(NamedTuple):
    """The folder of the run that was made, and what in the logs was no file to copy."""

    folder: Path
    left_out: tuple[Path, ...] = ()


def add(
    workspace: Workspace,
    logs: Sequence[Path],
    name: str,
    facts: Mapping[str, str],
    *,
    link: bool = False,
    follow: bool = False,
) -> Added:
    """Makes runs/<name>/ from logs, copied in, or pointed at by run.toml when ``link`` is true.

    A single folder becomes that of the run. Logs of one name keep it, each in a folder named after its own.
    With ``follow`` what links lead to is copied too.

    Raises:
        UsageError: a log that does not exist, two that cannot be told apart, a loop of links, or a run of
            that name that exists.
        ConfigError: a log that is to be pointed at, and that the workspace does not allow.
        OSError: something cannot be read or written; nothing has been made.
    """
    missing = [str(log) for log in logs if not log.exists()]
    if missing:
        raise UsageError(f"no such file or folder: {', '.join(missing)}")
    for log in logs if link else ():
        if address := address_of(log):
            workspace.confines.require_address(address, "--link")
        else:
            workspace.confines.require_path(log, "--link")
    folder = workspace.runs_folder / safe_id(name or logs[0].resolve().stem)
    _must_be_free(folder)
    workspace.runs_folder.mkdir(parents=True, exist_ok=True)
    left_out: list[Path] = []
    with scratch(workspace.runs_folder) as place:
        made = place / "run"
        made.mkdir()
        for log, relative in _places(logs).items() if not link else ():
            left_out += _copied(log, made / relative, follow)
        if text := _run_toml([log.resolve() for log in logs] if link else [], facts):
            if (made / RUN_CONFIG).exists():
                what = "is among the logs already, and says what the run is"
                raise UsageError(f"{RUN_CONFIG} {what}. Remedy: write the facts into it, without --fact")
            _kept(made / RUN_CONFIG, BytesIO(text.encode()))
        try:
            made.rename(folder)
        except OSError:
            _must_be_free(folder)  # another has made it meanwhile
            raise
    return Added(folder, tuple(left_out))


def _must_be_free(folder: Path) -> None:
    """Whatever the case of its letters: a workspace may be cloned where that makes no difference."""
    for name in os.listdir(folder.parent) if folder.parent.is_dir() else ():
        if name.casefold() == folder.name.casefold():
            remedy = "Choose another --name, or put the logs into that folder yourself"
            raise UsageError(f"{folder.with_name(name)} exists. {remedy}")


def _places(logs: Sequence[Path]) -> dict[Path, Path]:
    """Where each log goes in the folder of its run; each once, however often it is given.

    Raises UsageError where two would go to one place.
    """
    named_logs = list(dict.fromkeys(Path(os.path.abspath(log)) for log in logs))
    if len(named_logs) == 1 and named_logs[0].is_dir():
        return {named_logs[0]: Path()}
    n_parts = dict.fromkeys(named_logs, 1)  # of its path, that name it
    while True:
        places = {log: _placed(log, n) for log, n in n_parts.items()}
        times = Counter(str(place).casefold() for place in places.values())
        met = [log for log, place in places.items() if times[str(place).casefold()] > 1]
        if not met:
            return places
        for log in met:
            n_parts[log] += 1
            if n_parts[log] >= len(log.parts):
                named = " and ".join(map(str, met[:2]))
                raise UsageError(f"{named} have one name. Remedy: give one of them another")


def _placed(log: Path, n_parts: int) -> Path:
    """The last parts of a path, its folders without the dots that would hide them."""
    *folders, name = log.parts[-n_parts:]
    return Path(*(folder.lstrip(".") or "_" for folder in folders), name)


def _copied(log: Path, to: Path, follow: bool) -> Iterator[Path]:
    """Copies what somebody named, also where it is a link; gives what is left out of a folder."""
    to.parent.mkdir(parents=True, exist_ok=True)
    if log.is_file():
        _file(log, to)
        return
    if not log.is_dir():
        raise UsageError(f"{shown(log)} is no regular file (a pipe, socket or device). Name a file")
    for folder, folders, names in os.walk(log, onerror=_raised, followlinks=follow):
        place = to / Path(folder).relative_to(log)
        place.mkdir(exist_ok=True)
        folders.sort()
        for path in sorted(Path(folder, name) for name in (*folders, *names)):
            if path.is_symlink() and not (follow and path.exists()):
                yield path
            elif path.is_file():
                _file(path, place / path.name)
            elif not path.is_dir():
                yield path
            elif path.is_symlink() and any(map(path.samefile, path.parents)):
                raise UsageError(f"{path} is a link that leads back above itself. Remedy: remove it")


def _raised(err: OSError) -> None:
    raise err


def _kept(to: Path, content: BinaryIO) -> None:
    """Writes a file that a power cut does not take back. Raises OSError, also where it exists."""
    with to.open("xb") as out:
        shutil.copyfileobj(content, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())


def _file(source: Path, to: Path) -> None:
    with source.open("rb") as content:
        _kept(to, content)
    shutil.copystat(source, to)


def _run_toml(paths: Sequence[Path], facts: Mapping[str, str]) -> str:
    own = {k: v for k, v in facts.items() if k in _OWN_KEYS}
    lines = [f"{k} = {_quoted(v)}" for k, v in own.items()]
    lines += [f"paths = [{', '.join(_quoted(address_of(p) or str(p)) for p in paths)}]"] if paths else []
    rest = [f"{_quoted(k)} = {_quoted(v)}" for k, v in facts.items() if k not in own]
    lines += ["", "[facts]", *rest] if rest else []
    return "\n".join(lines).lstrip("\n") + "\n" if lines else ""


def _quoted(text: str) -> str:
    """A TOML basic string, which is one of JSON but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
