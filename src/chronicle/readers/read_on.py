"""A log that grew is read on from where it was left.

    with kept_in(folder, version):        # around all reading of a build
        read_all(path)

What a reader knows after the last whole record (`state_of`) is kept in a file of its own, beside the length
and the SHA-256 of all that stands before that place. A log that was replaced, cut or changed anywhere is read
from its beginning. Nothing is kept of a log that was not written to for a day.
"""

from __future__ import annotations

import json
import os
import sys
import time
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from chronicle.readers.text import blocks

WORTH_BYTES = 1 << 20  # of a log: so few are read again sooner than they are kept
MOST_BYTES = 1 << 30  # that are kept in one folder; the oldest go
LIVE_S = 86_400.0  # since a log was last written to
_PIECE_BYTES = 1 << 20  # hashed at a time
_SHA256, _HEAD = 64, 80  # characters of a hash, and of that and the size of the JSON
_ALIGNED = 8  # bytes of a number


def _sha256(data: Any = b"") -> Any:
    import hashlib  # which takes 4 MB, and of most logs nothing is kept

    return hashlib.sha256(data)


Arrays = list[NDArray[Any]]
_STORE: ContextVar[tuple[Path, str] | None] = ContextVar("store", default=None)


@contextmanager
def kept_in(folder: Path, version: str) -> Iterator[None]:
    """While this context is open, logs are read on from where they were left. What that needs is kept in
    ``folder``, and ignored if another ``version`` of the program has written it."""
    token = _STORE.set((folder, version))
    try:
        yield
    finally:
        _STORE.reset(token)


class Mark(NamedTuple):
    """A place in a log [bytes], and the hash of all that stands before it."""

    offset: int = 0
    sha256: Any = None


class Source:
    """An open log at the place where it was left, or at its beginning if ``state`` is None. ``state`` and
    ``arrays`` are what its reader knew at that place; ``mark`` is the last mark that was passed."""

    def __init__(self, path: Path, file: BinaryIO, form: str) -> None:
        self.path, self.file = path, file
        self.state: Any = None
        self.arrays = Arrays()
        self._kept: Path | None = None
        self._hash: Any = None
        self._n_read, store = 0, _STORE.get()
        if form and store and time.time() - os.fstat(file.fileno()).st_mtime < LIVE_S:
            folder, version = store
            named = f"{form}\0{version}\0{path.absolute()}".encode("utf-8", "surrogateescape")
            self._hash, self._kept = _sha256(), folder / _sha256(named).hexdigest()
            with suppress(OSError, ValueError, TypeError, RecursionError):
                self._recall(self._kept)
            file.seek(self._n_read)
        self.begun = self._n_read
        self.mark = Mark(self._n_read, self._hash)

    def _recall(self, kept: Path) -> None:
        """Takes up what was kept, if the log still begins with what was read then. Raises OSError if nothing
        was kept, and ValueError, TypeError or RecursionError if the file holds something else."""
        data = np.fromfile(kept, np.uint8)  # which, unlike bytes, may be written to
        head, body = data[:_HEAD].tobytes(), data[_HEAD:]
        if _sha256(body.data).hexdigest().encode() != head[:_SHA256]:
            return
        at = int(head[_SHA256:])
        offset, digest, state, columns = json.loads(body[:at].tobytes())
        before, left = _sha256(), offset
        while left and (piece := self.file.read(min(left, _PIECE_BYTES))):
            before.update(piece)
            left -= len(piece)
        if left or before.hexdigest() != digest:
            return
        for dtype, length in columns:
            self.arrays.append(body[at : at + length * _ALIGNED].view(dtype))
            at += length * _ALIGNED
        self.state, self._hash, self._n_read = state, before, offset

    def tell(self) -> int:
        return self.file.tell()

    def read(self, size: int) -> bytes:
        return self._lines(self.file.read(size))

    def readline(self, size: int) -> bytes:
        return self._lines(self.file.readline(size))

    def _lines(self, data: bytes) -> bytes:
        self.passed(data, data.rfind(b"\n") + 1)
        return data

    def passed(self, data: Any, whole: int) -> None:
        """Notes bytes that were read. ``whole`` is the place in them, if any, from which one could go on."""
        if self._kept is None:
            return
        view = memoryview(data)
        if whole:
            self._hash.update(view[:whole])
            self.mark = Mark(self._n_read + whole, self._hash.copy())
        self._hash.update(view[whole:])
        self._n_read += len(view)

    def is_last(self, mark: Mark, size: int) -> bool:
        """Whether fewer than ``size`` bytes are left to be read behind a mark that was just passed."""
        return mark.offset > 0 and os.fstat(self.file.fileno()).st_size - self.file.tell() < size

    def restore(self, reader: Any) -> None:
        """Gives a reader what it knew at this place, if the log was left there."""
        if self.state is not None:
            restored(self.state, iter(self.arrays), reader)

    def keep(self, mark: Mark, reader: Any) -> None:
        """Keeps what a reader knows at a mark, if that spares much work later."""
        if self._kept is None or mark.offset - self.begun <= WORTH_BYTES:
            return
        arrays = Arrays()
        state = state_of(reader, arrays)
        rows = [[array.dtype.str, len(array)] for array in arrays]
        text = json.dumps([mark.offset, mark.sha256.hexdigest(), state, rows]).encode()
        padded = text + b" " * (-(_HEAD + len(text)) % _ALIGNED)
        parts: list[Any] = [padded, *map(np.ascontiguousarray, arrays)]
        if sum(memoryview(part).nbytes for part in parts) <= MOST_BYTES:
            with suppress(OSError):  # the next look takes longer, that is all
                _write(self._kept, parts)


def _write(kept: Path, parts: list[Any]) -> None:
    """Writes a file together with its hash, completely or not at all. If the folder holds too many bytes, the
    oldest files are removed."""
    total = _sha256()
    for part in parts:
        total.update(part)
    kept.parent.mkdir(parents=True, exist_ok=True)
    new = kept.with_name(f"{kept.name}.{os.getpid()}.part")
    with new.open("wb") as out:
        out.write(f"{total.hexdigest()}{len(parts[0]):{_HEAD - _SHA256}}".encode())
        for part in parts:
            out.write(part)
    new.replace(kept)
    room = MOST_BYTES
    files = ((file.stat(), file) for file in kept.parent.iterdir())
    for info, old in sorted(files, key=lambda entry: -entry[0].st_mtime_ns):
        room -= info.st_size
        if room < 0:
            old.unlink(missing_ok=True)


@contextmanager
def opened(path: Path, form: str) -> Iterator[Source]:
    """Opens a log for the reader of that name. Raises OSError."""
    with path.open("rb") as file:
        yield Source(path, file, form)


def read_lines(path: Path, form: str, reader: Any, size: int) -> None:
    """Hands a log of lines, or what is new in it, to a reader in blocks of about ``size`` bytes. The reader's
    ``take`` reads whole lines, or a last line without its end; its ``can_be_left`` says whether it could go
    on from there. Raises OSError."""
    with opened(path, form) as source:
        source.restore(reader)
        tail = b""
        for block in blocks(path, size, source):
            if block.endswith(b"\n"):
                reader.take(block)
            else:
                tail = block
        if reader.can_be_left:
            source.keep(source.mark, reader)
        if tail:
            reader.take(tail)


_SEQUENCES = {kind.__name__: kind for kind in (list, tuple, set, frozenset)}


def state_of(value: Any, arrays: Arrays) -> Any:
    """Converts anything that a reader knows to JSON: numbers and texts as they are, everything else with its
    kind, without the attributes that its class lists in FRESH. Numbers of arrays are put into ``arrays``."""
    kind = type(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if kind in (array, np.ndarray):
        numbers = np.array(value)
        arrays.append(numbers.astype(np.float64 if numbers.dtype.kind == "f" else np.int64, copy=False))
        return ["array", value.typecode if kind is array else ""]
    if kind is range:
        return ["range", [value.start, value.stop]]
    if kind is dict:
        return ["dict", [[state_of(key, arrays), state_of(held, arrays)] for key, held in value.items()]]
    items = [state_of(item, arrays) for item in value] if isinstance(value, Iterable) else []
    if kind is deque or kind.__name__ in _SEQUENCES:
        return [kind.__name__, items, getattr(value, "maxlen", None)]
    attributes = (value.__getstate__() or {}).items()
    kept = {n: state_of(held, arrays) for n, held in attributes if n not in getattr(kind, "FRESH", ())}
    return [f"{kind.__module__}:{kind.__name__}", items, kept]


def restored(state: Any, arrays: Iterator[NDArray[Any]], into: Any = None) -> Any:
    """What `state_of` returned. An object or a mapping is put into the one that is there already, if that is
    of the same kind, so that all who hold it hold what is restored. No code of what is kept is run."""
    if not isinstance(state, list):
        return state
    kind, content, *more = state
    if kind == "array":
        numbers = next(arrays)
        return array(content, np.ascontiguousarray(numbers, content).tobytes()) if content else numbers
    if kind == "range":
        return range(*content)
    if kind == "dict":
        into = into if isinstance(into, dict) else {}
        before = dict(into)
        into.clear()
        for key, held in content:
            name = restored(key, arrays)
            into[name] = restored(held, arrays, before.get(name))
        return into
    items = [restored(item, arrays) for item in content]
    if kind == "deque":
        return deque(items, more[0])
    return _SEQUENCES[kind](items) if kind in _SEQUENCES else _object(kind, items, more[0], arrays, into)


def _object(
    kind: str, items: list[Any], attributes: Mapping[str, Any], arrays: Iterator[NDArray[Any]], into: Any
) -> Any:
    """An object of a class of chronicle (``module:name``), with its items if it is a list or a tuple."""
    module, _, name = kind.partition(":")
    made_of: Any = vars(sys.modules[module])[name] if module.startswith("chronicle.") else object
    if issubclass(made_of, tuple):
        return made_of(*items)
    made = into if type(into) is made_of else made_of.__new__(made_of)
    known = {n: restored(held, arrays, vars(made).get(n)) for n, held in attributes.items()}
    (made.__setstate__ if hasattr(made_of, "__setstate__") else vars(made).update)(known)
    if isinstance(made, list):
        made[:] = items
    return made
