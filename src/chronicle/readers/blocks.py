"""A file in blocks of whole lines, scanned by compiled code on a few threads, in order."""

from __future__ import annotations

import io
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chronicle.readers.kernel import compiled as fast
from chronicle.readers.text import encoding_of, head

BLOCK_BYTES = 1 << 22
MOST_THREADS = 4
_SEEK_BYTES = 1 << 16
_thread = threading.local()


@dataclass(frozen=True)
class Cells:
    """What a kernel found in a block: cells by bin (see `kernel.csv_block`), and the odd lines.

    ``odd`` holds begin, end, line and row of each line that is left to Python; its row is kept free.
    """

    block: bytes
    n_rows: int
    n_lines: int
    stops: NDArray[np.int64]
    rows: NDArray[np.int32]
    bits: NDArray[np.uint64]
    odd: list[list[int]]

    def numbers(self) -> Iterator[tuple[int, NDArray[np.int32], NDArray[np.uint64]]]:
        """Each bin that is not empty, with its rows and bits."""
        starts = np.concatenate([[0], self.stops[:-1]])
        for i in np.flatnonzero(self.stops > starts).tolist():
            yield i, self.rows[starts[i] : self.stops[i]], self.bits[starts[i] : self.stops[i]]

    def places(self, rows: NDArray[np.int32], refused: list[int], first: int) -> range | NDArray[np.int64]:
        """Where rows come to stand in a table of ``first`` rows, without those refused; all: a range."""
        n_kept = self.n_rows - len(refused)
        if len(rows) == n_kept:
            return range(first, first + n_kept)
        return rows + (first - np.searchsorted(refused, rows))

    def text(self, bits: int) -> str:
        """The text that stands at the place told by the bits of a text cell."""
        begin, length = bits & 0xFFFFFFFF, bits >> 32
        return self.block[begin : begin + length].decode("utf-8", "replace")


Scan = Callable[[bytes], Cells]


def engine_for(path: Path) -> SimpleNamespace | None:
    """The compiled kernels where they are loaded already or worth their start-up time; else None."""
    return None if encoding_of(head(path)) == "utf-16" else fast.engine("tables", path.stat().st_size)


def room(block: bytes) -> tuple[Any, Any, Any, Any, Any]:
    """Room for what a block can hold: bins, rows and bits (also as doubles) of its cells, and its odd lines.

    It is that of the thread, and is used again: a cell has a byte at least, and one behind it.
    """
    size = len(block) // 2 + 1
    if len(getattr(_thread, "bins", ())) < size:
        _thread.bins, _thread.rows = np.empty(size, np.int32), np.empty(size, np.int32)
        _thread.bits, _thread.odd = np.empty(size, np.uint64), np.empty((size, 4), np.int64)
    return _thread.bins, _thread.rows, _thread.bits, _thread.bits.view(np.float64), _thread.odd


def sort(engine: SimpleNamespace, n_bins: int, bins: Any, rows: Any, bits: Any) -> tuple[Any, Any, Any]:
    """Ends of the bins, rows and bits, in order of the bins."""
    stops, sorted_rows, sorted_bits = np.empty(n_bins, np.int64), np.empty_like(rows), np.empty_like(bits)
    engine.csv_group(bins, rows, bits, stops, np.empty_like(stops), sorted_rows, sorted_bits)
    return stops, sorted_rows, sorted_bits


def scanned(path: Path, start: int, scanner: Callable[[], Scan]) -> Iterator[Cells | bytes]:
    """The file from byte ``start`` on: what a scan makes of its blocks, in order; a last line as it is.

    ``scanner`` is asked for the scan of each block in turn: it may have learned from those before.
    """
    workers = min(os.cpu_count() or 1, MOST_THREADS)
    waiting = deque[Future[Cells | bytes]]()

    def job(scan: Scan, begin: int, end: int) -> Cells | bytes:
        block = _piece(path, begin, end - begin)
        return scan(block) if block.endswith(b"\n") else block

    with ThreadPoolExecutor(workers) as pool:
        for span in spans(path, start):
            waiting.append(pool.submit(job, scanner(), *span))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def spans(path: Path, begin: int) -> Iterator[tuple[int, int]]:
    """Begin and end of blocks that end at a line end, and of what comes after the last line end."""
    while True:
        end = begin + BLOCK_BYTES
        while piece := _piece(path, end - 1, _SEEK_BYTES):
            if (cut := piece.find(b"\n")) >= 0:
                break
            end += len(piece)
        if not piece:
            rest = _piece(path, begin, end - begin)
            cut = begin + rest.rfind(b"\n") + 1
            yield from ((low, high) for low, high in ((begin, cut), (cut, begin + len(rest))) if high > low)
            return
        yield begin, end + cut
        begin = end + cut


def split(text: bytes, n_before: int) -> Iterator[tuple[int, str, bool]]:
    """The lines of a text: number (after ``n_before`` others), without its end, and whether it had none."""
    lines = io.StringIO(text.decode("utf-8", "replace"), newline=None)
    for number, line in enumerate(lines, n_before + 1):
        yield number, line.removesuffix("\n"), not line.endswith("\n")


def last_lines(block: bytes, n: int) -> list[str]:
    """The last lines of a block, ``n`` or more of them."""
    near = block[-_SEEK_BYTES:]
    tail = b"\n".join((near if near.count(b"\n") > n else block).rsplit(b"\n", n + 1)[-n - 1 :])
    return [line for _, line, _ in split(tail, 0)]


def _piece(path: Path, begin: int, size: int) -> bytes:
    with path.open("rb", buffering=0) as file:
        file.seek(begin)
        return file.read(size)
