"""Logs behind an address, fetched by fsspec, or by the client of a tracker, into a mirror that readers read.

An object is fetched if it may be a log: by its name, or by its first bytes. What was fetched is remembered
with its etag, size and time; while those stay, it is not asked for again, and neither is what was no log.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from chronicle.errors import ChronicleError, LogError, MissingExtra, NothingToRead, UsageError
from chronicle.readers.catalogue import PARQUET_STARTS, SQLITE_STARTS
from chronicle.readers.servers import CLIENTS
from chronicle.readers.servers import fetch as of_tracker
from chronicle.readers.text import head
from chronicle.workspace.confines import Confines, may_redirect
from chronicle.workspace.folders import cache, mirror_of, spelled
from chronicle.workspace.locks import scratch

LIMIT = "CHRONICLE_FETCH_LIMIT_GB"  # environment variable: the most that is fetched from one address
LIMIT_GB = 32.0
MOST_OBJECTS = 200_000
BEGIN_BYTES, TEXT_BYTES = 1 << 16, 1 << 24  # bytes looked at; the largest text that may belong to a log
THREADS = 8

# scheme: (extra, package)
EXTRAS = {
    **dict.fromkeys(("s3", "s3a"), ("s3", "s3fs")),
    **dict.fromkeys(("gs", "gcs"), ("gs", "gcsfs")),
    **dict.fromkeys(("http", "https"), ("http", "aiohttp")),
    "hf": ("hf", "huggingface_hub"),
}
_STORES = (SQLITE_STARTS, PARQUET_STARTS)  # known as a whole only
_TIMES = ("LastModified", "mtime", "last_modified", "updated", "created")
_TAGS = ("ETag", "etag", "md5Hash", "oid", "blob_id", "xet_hash")

IsLog = Callable[[Path], bool]
Info = Mapping[str, Any]  # what a file system tells of an object
Index = dict[str, list[Any]]  # name: [etag, size, time, whether it was fetched]


def fetch(address: str, *, log_like: IsLog, is_log: IsLog, confines: Confines | None = None) -> Path:
    """The mirror of an address, up to date: a file or a folder.

    ``log_like`` judges by a name, ``is_log`` by the beginning of a file; ``confines`` by where a server sends
    the fetch on to.

    Raises:
        LogError: it cannot be listed or fetched, or is more than may be fetched.
        NothingToRead: there is nothing behind it.
        MissingExtra: the package that reads such addresses is not installed.
        UsageError: nothing reads such addresses, or this one names a scheme and no place.
    """
    if not address.partition("://")[2].strip("/"):
        raise UsageError(f"{address}: names no place. Remedy: go on, as in s3://bucket/run")
    address = address.rstrip("/")
    refused: list[str] = []
    try:
        if address.partition("://")[0] in CLIENTS:
            return of_tracker(address, mirror_of(address))
        return _synchronised(_file_system(address, confines, refused), address, log_like, is_log)
    except ChronicleError:
        raise
    except Exception as err:  # of every library its own
        raise _failed(address, err, refused) from None


def _synchronised(files: Any, address: str, log_like: IsLog, is_log: IsLog) -> Path:
    """The mirror of an address with what has changed behind it fetched, and without what is gone."""
    mirror = mirror_of(address)
    memory = cache() / "index" / f"{hashlib.sha256(address.encode()).hexdigest()}.json"
    files.invalidate_cache()
    objects = dict(_objects(files, address))
    old, new = _recall(memory), {name: _mark(info) for name, info in objects.items()}
    places = _places(mirror, old.keys() | new.keys())
    changed = {name for name, mark in new.items() if old.get(name, [])[:3] != mark}
    looked_at = [name for name in new if name in changed or (old[name][3] and not places[name].is_file())]
    with ThreadPoolExecutor(THREADS) as threads:
        judged = threads.map(lambda name: _wanted(files, name, objects[name], log_like, is_log), looked_at)
        wanted = dict(zip(looked_at, judged, strict=True))
        taken = [name for name, take in wanted.items() if take]
        _bounded(address, sum(new[name][1] for name in taken))
        for name in old.keys() - new.keys():
            places[name].unlink(missing_ok=True)
        list(threads.map(lambda name: _get(files, objects[name], places[name]), taken))
    index = {name: [*mark, wanted.get(name, (old.get(name) or [0])[-1])] for name, mark in new.items()}
    memory.parent.mkdir(parents=True, exist_ok=True)
    memory.write_text(json.dumps(index), "utf-8")
    return mirror


def _failed(address: str, err: Exception, refused: list[str]) -> LogError | NothingToRead:
    """What is said of a fetch that failed; libraries call one that was ``refused`` many things."""
    if refused:
        return LogError(address, refused[0])
    if isinstance(err, FileNotFoundError):
        return NothingToRead(f"{address}: no such file or folder")
    what = f"cannot be fetched ({type(err).__name__}: {str(err)[:200]}). Remedy: check address and access"
    return LogError(address, what)


def _file_system(address: str, confines: Confines | None, refused: list[str]) -> Any:
    scheme = address.partition("://")[0]
    extra, package = EXTRAS.get(scheme, ("s3", "fsspec"))
    try:
        import fsspec
    except ImportError:
        raise MissingExtra(f"reading {address}", extra, package) from None
    try:
        if scheme in ("http", "https"):
            watched = {"trace_configs": [_watched(address, confines, refused)]}
            return fsspec.filesystem(scheme, client_kwargs=watched, skip_instance_cache=True)
        return fsspec.filesystem(scheme)
    except ImportError:
        raise MissingExtra(f"reading {address}", extra, package) from None
    except ValueError:
        known = ", ".join(f"{name}://" for name in (*EXTRAS, *CLIENTS))
        raise UsageError(f"{address}: nothing reads {scheme}://. Known: {known}") from None


def _watched(address: str, confines: Confines | None, refused: list[str]) -> Any:
    """What ends a fetch whose server sends it where it may not go, before anything is asked for there.

    ``refused`` gets the reason, since fsspec hides it.
    """
    from aiohttp import TraceConfig

    async def redirected(session: Any, context: Any, params: Any) -> None:
        target = urljoin(str(params.url), params.response.headers.get("Location", ""))
        if not may_redirect(address, target, confines):
            refused.append(
                f"the server sends on to {target}, which is not allowed. "
                "Remedy: name that address itself, or allow it in chronicle.toml"
            )
            raise PermissionError(refused[0])

    trace = TraceConfig()
    trace.on_request_redirect.append(redirected)
    return trace


def _objects(files: Any, address: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name below the address ("" for the address itself, if it is an object) and what is told of it."""
    root = files._strip_protocol(address)
    info = files.info(root)
    if info["type"] != "directory":
        yield "", info
        return
    count = 0
    for folder, folders, objects in files.walk(root, detail=True):
        for name in [name for name in folders if name.startswith(".")]:
            del folders[name]
        for name, info in objects.items():
            count += 1
            if count > MOST_OBJECTS:
                what = f"holds more than {MOST_OBJECTS:,} objects. Remedy: name a folder further down"
                raise LogError(address, what)
            if name and not name.startswith("."):
                yield f"{folder.removeprefix(root).strip('/')}/{name}".lstrip("/"), info
    if not count:
        raise FileNotFoundError


def _mark(info: Info) -> list[Any]:
    tag, time = (next((info[key] for key in keys if info.get(key)), "") for keys in (_TAGS, _TIMES))
    return [str(tag), int(info.get("size") or 0), str(time)]


def _wanted(files: Any, name: str, info: Info, log_like: IsLog, is_log: IsLog) -> bool:
    """Whether an object may be a log, or part of a folder that is one."""
    if not name or log_like(Path(spelled(name).name)):
        return True
    with scratch() as folder:
        begin = folder / spelled(name).name
        begin.write_bytes(_begin(files, info["name"]) if info.get("size") else b"")
        start = head(begin)
        text = b"\0" not in start and int(info.get("size") or 0) <= TEXT_BYTES
        return text or start.startswith(_STORES) or is_log(begin)


def _begin(files: Any, name: str) -> bytes:
    """The first bytes of an object, and no more: what is no log may be a checkpoint of gigabytes."""
    if files.async_impl:
        return bytes(files.cat_file(name, start=0, end=BEGIN_BYTES))
    with files.open(name, "rb", cache_type="none") as file:  # where cat_file reads ahead by megabytes
        return bytes(file.read(BEGIN_BYTES))


def _bounded(address: str, total: int) -> None:
    if total > float(os.environ.get(LIMIT) or LIMIT_GB) * 1e9:
        what = f"holds {total / 1e9:.1f} GB of new logs. Remedy: name a folder further down, or set {LIMIT}"
        raise LogError(address, what)


def _get(files: Any, info: Info, place: Path) -> None:
    """Fetches an object, beside its place first: a mirror holds whole objects only."""
    _make_room(place)
    with scratch(place.parent) as folder:
        part = folder / "part"
        files.get_file(info["name"], str(part))
        time = next((info[key] for key in _TIMES if isinstance(info.get(key), datetime)), None)
        if time:  # as it was there: a mirror that is made anew looks the same
            os.utime(part, (time.timestamp(), time.timestamp()))
        part.replace(place)


def _make_room(place: Path) -> None:
    """Makes the folder of an object. One address may name a file and then a folder: what was fetched for the
    other is removed, and fetched again when it is asked for."""
    for folder in reversed(place.parents):
        if folder.is_file():
            folder.unlink()
    if place.is_dir():
        shutil.rmtree(place)
    place.parent.mkdir(parents=True, exist_ok=True)


def _places(mirror: Path, names: Iterable[str]) -> dict[str, Path]:
    """Where objects are kept. One that is also the name of a folder gets another: no disk holds both."""
    names = list(names)
    folders = {name[:at] for name in names for at, sign in enumerate(name) if sign == "/"}
    return {
        name: mirror / spelled(f"{name}:object" if name in folders else name) if name else mirror
        for name in names
    }


def _recall(memory: Path) -> Index:
    try:
        known = json.loads(memory.read_text("utf-8"))
        return {k: v for k, v in known.items() if isinstance(v, list) and len(v) == 4}
    except (OSError, ValueError, AttributeError):
        return {}
