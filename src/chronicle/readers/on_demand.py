"""A reader as one row of a table: what lists need to know of it. Its module is imported when it is asked.

Importing all readers takes longer than reading most logs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

from chronicle.model import Attempt
from chronicle.readers.text import Head


@dataclass(frozen=True)
class OnDemand:
    """A module below `chronicle.readers`, or a row of its table BY_NAME, with what it says of itself.

    Tests hold the one to the other.

    ``hooks`` are the optional functions that it has. ``folder_has`` are patterns of names of which a folder
    that is one log holds at least one, and ``starts`` are the bytes that each file begins with (``binary``:
    there are zeros among the first, as in no text), so that the module need not be asked of any other.
    """

    module: str
    NAME: str
    SUFFIXES: tuple[str, ...] = ()
    FALLBACK: int = 0
    hooks: tuple[str, ...] = ()
    folder_has: tuple[str, ...] = ()
    starts: bytes = b""
    binary: bool = False

    def identify(self, head: Head) -> bool:
        """As the module's."""
        possible = head.start.startswith(self.starts) and (not self.binary or b"\0" in head.start)
        return possible and bool(self._module().identify(head))

    def read(self, path: Path) -> list[Attempt]:
        """As the module's."""
        return list(self._module().read(path))

    def __getattr__(self, name: str) -> Any:
        if name not in self.hooks:
            raise AttributeError(name)
        return self._identify_folder if name == "identify_folder" else getattr(self._module(), name)

    def _module(self) -> Any:
        module = import_module(f"chronicle.readers.{self.module}")
        return getattr(module, "BY_NAME", {}).get(self.NAME, module)

    def _identify_folder(self, path: Path) -> bool:
        has = any(fnmatchcase(name, pattern) for name in _names(path) for pattern in self.folder_has)
        return has and bool(self._module().identify_folder(path))


def _names(folder: Path) -> Iterator[str]:
    """What lies in a folder; nothing where that cannot be told."""
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries)
    except OSError:
        return
