"""Bytes that are dear to make, kept in files beside the bytecode of Python, or in the user's cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

_SEAL_BYTES = 32


def folders() -> Iterator[Path]:
    """Where files may be kept, best first: the cache of numba, beside the bytecode, the cache of the user."""
    if told := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(told)
    yield Path(__file__).parent / "__pycache__"
    with suppress(RuntimeError):
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "chronicle"


def kept(name: str, make: Callable[[], bytes]) -> bytes:
    """What ``make`` made when it was last asked under this name; a file that is not whole is made anew."""
    for folder in folders():
        with suppress(OSError):
            content = (folder / name).read_bytes()
            if sha256(content[_SEAL_BYTES:]).digest() == content[:_SEAL_BYTES]:
                return content[_SEAL_BYTES:]
    made = make()
    for folder in folders():
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            part = folder / f"{name}.{os.getpid()}"
            part.write_bytes(sha256(made).digest() + made)
            part.replace(folder / name)
            break
    return made
