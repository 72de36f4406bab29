"""A reader as one row of a table: what lists need to know of it. Its module is imported when it is asked.

Importing all readers takes longer than reading most logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import filter as matching
from functools import cache
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

    def may_hold(self, names: list[str]) -> bool:
        """Whether a folder with these ``names`` may be one log."""
        return any(matching(names, pattern) for pattern in self.folder_has)

    def __getattr__(self, name: str) -> Any:
        if name not in self.hooks:
            raise AttributeError(name)
        return lambda *given: getattr(self._module(), name)(*given)

    def _module(self) -> Any:
        return _imported(self.module, self.NAME)


@cache
def _imported(name: str, row: str) -> Any:
    module = import_module(f"chronicle.readers.{name}")
    return getattr(module, "BY_NAME", {}).get(row, module)
