"""Which reader reads a file: by its content, and exactly one. Other packages add readers as entry points."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, repeat
from operator import itemgetter
from pathlib import Path
from typing import Any, cast

from chronicle.errors import AmbiguousFormat, BadLog, LogError, NothingToRead, UnknownFormat
from chronicle.model import Attempt
from chronicle.readers.console import FORMATS
from chronicle.readers.console.marks import may_be_log
from chronicle.readers.on_demand import OnDemand
from chronicle.readers.packed import is_packed, named_back, plain_name, told_back, unpacked
from chronicle.readers.protocol import Reader, plugins
from chronicle.readers.text import Head, head

_UNKNOWN = (
    "no reader knows this format. Known formats: {}. "
    "Remedy: convert it to CSV with a column `step`, or write a reader (docs/formats.md)"
)
_LINK = "Remedy: mend the link or remove it"

_FOLDER, _SAYS = ("identify_folder", "read_folder"), ("runs", "lacks")
_MLFLOW, _DVCLIVE = ("meta.yaml",), ("plots", "scalars")  # what the folder of a run holds
READERS = cast(
    tuple[Reader, ...],
    (
        OnDemand("events", "event file", (".tfevents",), FALLBACK=-1, hooks=("read_many",)),
        OnDemand(
            "csv_tables", "csv", (".csv", ".tsv"), hooks=(*_FOLDER, "runs", "lacks"), folder_has=_DVCLIVE
        ),
        OnDemand("json_lines", "jsonl", (".jsonl", ".ndjson", ".json"), hooks=("runs",)),
        OnDemand("trainer_state", "trainer_state.json", (".json",)),
        OnDemand("json_document", "json", hooks=("runs",)),
        OnDemand("golden", "megatron-golden"),
        OnDemand(
            "trackers.wandb", "wandb", (".wandb",), hooks=(*_FOLDER, "run_key"), folder_has=("*.wandb",)
        ),
        OnDemand("trackers.mlflow", "mlflow", hooks=(*_FOLDER, "runs"), folder_has=_MLFLOW),
        OnDemand("trackers.trackio", "trackio", hooks=("runs",)),
        OnDemand("parquet", "parquet", hooks=("runs",)),
        *FORMATS,
        OnDemand("console.machine", "machine-log", FALLBACK=2),
    ),
)


def all_readers() -> tuple[Reader, ...]:
    """Those of chronicle, then those of other packages."""
    return READERS + plugins()[0]


def claims(path: Path) -> list[Reader]:
    """The readers that recognise the file: a FALLBACK is asked only where no other does. Raises OSError."""
    start, ranked = Head.of(path), sorted(all_readers(), key=_rank)
    for _, readers in groupby(ranked, key=_rank):
        if found := [reader for reader in readers if reader.identify(start)]:
            return found
    return []


def _rank(reader: Reader) -> int:
    """0 for a reader of one format, 1 and more for those that take what is left."""
    return int(getattr(reader, "FALLBACK", 0))


def log_like(path: Path) -> bool:
    """Whether the name of a file says that it is a log; if it cannot be read then, that is a problem."""
    suffixes = {suffix for reader in all_readers() for suffix in reader.SUFFIXES}
    return Path(plain_name(path)).suffix.lower() in suffixes or "tfevents" in path.name


def is_log(path: Path) -> bool:
    """Whether something in a folder is to be read: its name says that it is a log, or a reader knows it.

    An event file or a run file of W&B of no bytes (a job that died at once) is none.
    """
    try:
        info = path.stat()
        if stat.S_ISDIR(info.st_mode):
            return bool(folder_claims(path))
        if stat.S_ISREG(info.st_mode) and ("tfevents" in path.name or path.suffix == ".wandb"):
            return info.st_size > 0
        return log_like(path) or (stat.S_ISREG(info.st_mode) and _claimed(path))
    except (LogError, OSError):
        return log_like(path)


def _claimed(path: Path) -> bool:
    with unpacked(path, begin_only=True) as file:
        return bool(claims(file.path))


def is_text(path: Path) -> bool:
    """Whether a file is a text with a number in it, as a log would be, and no program by its name."""
    try:
        start = head(path) if path.is_file() and may_be_log(path) else b""
    except OSError:
        return False
    return b"\0" not in start and any(byte in start for byte in b"0123456789")


def folder_claims(path: Path) -> list[Reader]:
    """The readers to which the folder as a whole is one log. Raises OSError."""
    return [reader for reader in all_readers() if _hook(reader, "identify_folder", bool)(path)]


def runs_of(path: Path) -> list[str]:
    """The runs in a file that may hold several, as the fact "run" of their attempts calls them; else []."""
    stores = [reader for reader in all_readers() if hasattr(reader, "runs")]
    try:
        if not path.is_file():
            return []
        with unpacked(path, begin_only=True) as begin:  # of a store that is no text, the rest is needed too
            start = Head.of(begin.path)
            if b"\0" not in start.start and not any(reader.identify(start) for reader in stores):
                return []
        with unpacked(path) as file:
            whole = Head.of(file.path)
            found = [reader for reader in stores if reader.identify(whole)]
            return list(_hook(found[0], "runs", list)(file.path)) if len(found) == 1 else []
    except (LogError, OSError):
        return []


def run_key(path: Path) -> str:
    """What logs side by side have in common that are attempts of one run; "" for a log that tells nothing."""
    try:
        return next((key for reader in all_readers() if (key := _hook(reader, "run_key", str)(path))), "")
    except OSError:
        return ""


def _hook(reader: Reader, name: str, otherwise: type) -> Callable[..., Any]:
    """What a reader may have beside its four names; without it, the empty value of a type."""
    return getattr(reader, name, lambda path: otherwise())


def read_file(path: Path) -> list[Attempt]:
    """All attempts of one file, or of a folder that is one log; the fact "format" names the reader.

    Raises:
        LogError: no reader or two readers know it, it is no regular file, it is empty, or cannot be opened.
        NothingToRead: there is no such file.
    """
    try:
        if path.is_dir() and (found := folder_claims(path)):
            reader = _only(found, path)
            return _by(reader, _hook(reader, "read_folder", list)(path))
        _require_regular(path)
        return _unpacked(path) if is_packed(path) else _plain(path)
    except OSError as err:
        raise _unreadable(path, err) from err


def read_files(paths: Sequence[Path]) -> Iterator[list[Attempt] | LogError]:
    """As `read_file` of each of the files, in their order; what it raises is given. Raises NothingToRead.

    Files named as those of a reader that is faster with many (`read_many`) are handed to it together;
    one that it does not know is read as any other.
    """
    faster = [reader for reader in all_readers() if hasattr(reader, "read_many")]
    readers = [_of_many(path, faster) for path in paths]
    for reader, group in groupby(zip(paths, readers, strict=True), key=itemgetter(1)):
        files = [path for path, _ in group]
        many: Iterable[Any] = _hook(reader, "read_many", list)(files) if reader else repeat(None)
        for path, found in zip(files, many, strict=bool(reader)):
            if isinstance(found, OSError):
                yield _unreadable(path, found)
            elif found is None:
                yield _read_or_told(path)
            else:
                yield found if isinstance(found, LogError) or not reader else _by(reader, found)


def _of_many(path: Path, readers: Sequence[Reader]) -> Reader | None:
    """The one of the readers of many that a file is named after, if it is a regular one."""
    named = [one for one in readers if any(suffix in path.name for suffix in one.SUFFIXES)]
    try:
        return named[0] if named and stat.S_ISREG(path.stat().st_mode) else None
    except OSError:
        return None


def _read_or_told(path: Path) -> list[Attempt] | LogError:
    try:
        return read_file(path)
    except LogError as err:
        return err


def _unreadable(path: Path, err: OSError) -> LogError:
    return LogError(str(path), f"cannot be read ({err.strerror}). Remedy: check its permissions")


def _plain(path: Path) -> list[Attempt]:
    reader = _only(claims(path), path)
    return _by(reader, reader.read(path))


def _unpacked(path: Path) -> list[Attempt]:
    with unpacked(path) as file:
        try:
            _require_regular(file.path)
            return [named_back(one, file, path) for one in _plain(file.path)]
        except LogError as err:
            raise told_back(err, file, path) from err


def _by(reader: Reader, attempts: list[Attempt]) -> list[Attempt]:
    return [replace(one, facts={"format": reader.NAME, **one.facts}) for one in attempts]


def _only(found: list[Reader], path: Path) -> Reader:
    """The one reader among those that claim a log. Raises UnknownFormat and AmbiguousFormat."""
    if not found:
        for reader in all_readers():
            if lacks := _hook(reader, "lacks", str)(path):
                raise UnknownFormat(str(path), lacks)
        known = ", ".join(reader.NAME for reader in all_readers())
        raise UnknownFormat(str(path), _UNKNOWN.format(known))
    if len(found) > 1:
        names = " and ".join(repr(reader.NAME) for reader in found)
        raise AmbiguousFormat(str(path), f"readers {names} both claim it. Remedy: uninstall one of them")
    return found[0]


def _require_regular(path: Path) -> None:
    """Raises where opening the file would fail or wait for ever."""
    try:
        info = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            what = f"is a link to {path.readlink()}, which does not exist. {_LINK}"
            raise LogError(str(path), what) from None
        raise NothingToRead(f"{path}: no such file or folder") from None
    except OSError as err:
        if err.errno == errno.ELOOP:
            raise LogError(str(path), f"is a link that leads to itself. {_LINK}") from None
        raise
    if stat.S_ISDIR(info.st_mode):  # only a folder that could not be listed comes here
        os.scandir(path).close()
    if not stat.S_ISREG(info.st_mode):
        raise LogError(str(path), "is no regular file (a pipe, socket or device). Remedy: name a file")
    if not info.st_size:
        raise BadLog(str(path), "is empty. Remedy: remove it, or wait until it is written to")
