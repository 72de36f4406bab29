"""What a `Monitor` has seen: columns of step, value and time on disk; a training pays no memory for them.

A column keeps its last few thousand rows in memory and the rest in a file of its own, 24 bytes a row. Reading
it maps the file: nothing is copied until somebody asks for the values.
"""

from __future__ import annotations

import shutil
import struct
import tempfile
import weakref
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROW = np.dtype([("step", "<i8"), ("value", "<f8"), ("time", "<f8")])
KEPT = 4096  # rows of a column that are in memory
_PACKED = struct.Struct("<qdd")  # the same row; packing one costs a quarter of assigning it to an array

Rows = NDArray[np.void]


class Spool:
    """A folder of columns. Without ``folder`` it is a temporary one, gone with the last reference to it."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="chronicle-monitor-"))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._made = 0
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)

    def column(self) -> Column:
        """A new, empty column. Its file is named by number: names of metrics never reach the disk."""
        self._made += 1
        file = self.folder / f"column-{self._made}.bin"
        file.unlink(missing_ok=True)
        return Column(file)


class Column:
    """Rows of (step, value, time) that only grow."""

    def __init__(self, file: Path) -> None:
        self._file, self._spilled = file, 0
        self._kept, self._used = bytearray(KEPT * ROW.itemsize), 0

    def __len__(self) -> int:
        return self._spilled + self._used

    def append(self, step: int, value: float, time: float) -> None:
        """Add one row."""
        if self._used == KEPT:
            self._spill()
        _PACKED.pack_into(self._kept, self._used * ROW.itemsize, step, value, time)
        self._used += 1

    def extend(self, rows: Rows) -> None:
        """Add many rows, straight to the file."""
        self._spill()
        with self._file.open("ab") as file:
            file.write(rows.astype(ROW).tobytes())
        self._spilled += len(rows)

    def rows(self) -> Rows:
        """All rows, mapped from the file (ROW[n])."""
        if not self._spilled:
            return np.frombuffer(bytes(self._kept), ROW, self._used)
        self._spill()
        return np.memmap(self._file, ROW, "r", shape=(self._spilled,))

    def _spill(self) -> None:
        if self._used:
            with self._file.open("ab") as file:
                file.write(self._kept[: self._used * ROW.itemsize])
            self._spilled, self._used = self._spilled + self._used, 0
