"""SQLite databases of trackers, read without a chance for their content to do anything.

A database is a stranger's file: its schema may hold views, triggers, virtual tables and generated columns
that compute, and its pages may point at each other in circles. Only plain columns of plain tables are read,
each table once, in the order of its rows, and never more than the file can hold.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

from chronicle.errors import BadLog
from chronicle.model import Fault, Place
from chronicle.readers.text import head
from chronicle.workspace.locks import scratch

MAGIC = b"SQLite format 3\0"
MAX_CELL = 1 << 24  # bytes
MAX_WAIT_S = 60.0  # for a batch of rows
BATCH_ROWS, MAX_TABLES = 10_000, 1000

_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
_INSTRUCTIONS = 100_000  # of SQLite's machine between two looks at the clock
_DAMAGE = (sqlite3.Error, UnicodeDecodeError, MemoryError)


@dataclass
class Store:
    """An open database; ``tables`` are columns by plain table.

    ``faults`` tells what could not be read: where there are any, a table lacks its end.
    """

    path: Path
    connection: sqlite3.Connection
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    deadline: float = 0.0

    def rows(self, table: str, wanted: Sequence[str], *, strict: bool = False) -> Iterator[tuple[Any, ...]]:
        """The ``wanted`` columns of all rows, in the order of the table; None for a column that it lacks.

        Where the database is damaged the rows end, and a fault says so; if ``strict``, BadLog is raised.
        """
        has = self.tables.get(table)
        if not has:
            return
        select = ", ".join(_quoted(column) if column in has else "NULL" for column in wanted)
        room = 2 * self.path.stat().st_size + 4096  # bytes that rows can take, if no page is read twice
        try:
            yield from self._fetched(f"SELECT {select} FROM {_quoted(table)} NOT INDEXED", room)
        except _DAMAGE as err:
            if strict:
                raise _bad(self.path, err) from err
            what = f"table {table!r} is damaged ({_reason(err)}); the rows before that are kept"
            self.faults.append(Fault(Place(str(self.path)), what))

    def _fetched(self, query: str, room: int) -> Iterator[tuple[Any, ...]]:
        self.renew_deadline()
        for n_rows, row in enumerate(self.connection.execute(query)):
            room -= 1 + sum(len(cell) for cell in row if type(cell) is str or type(cell) is bytes)
            if room < 0:
                raise sqlite3.DatabaseError("more rows than the file can hold")
            if not n_rows % BATCH_ROWS:
                self.renew_deadline()
            yield row

    def renew_deadline(self) -> None:
        """From here on a query may take MAX_WAIT_S before it is a sqlite3.Error."""
        self.deadline = monotonic() + MAX_WAIT_S


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The database, read-only; a copy of it where a log of writes (`-wal`) has to be taken in first.

    Raises BadLog where it is damaged from the beginning.
    """
    wal = path.with_name(path.name + "-wal")
    with ExitStack() as stack:
        file, mode = path, "mode=ro&immutable=1"
        if wal.is_file() and wal.stat().st_size:
            file, mode = stack.enter_context(scratch()) / "copy", "mode=rw"
            shutil.copyfile(path, file)
            shutil.copyfile(wal, file.with_name("copy-wal"))
        elif cut := _is_cut(path):  # what is missing of a page would be read as zeros, which are values
            file = stack.enter_context(scratch()) / "copy"
            shutil.copyfile(path, file)
            os.truncate(file, path.stat().st_size // cut * cut)
        try:
            connection = stack.enter_context(closing(_connected(file, mode)))
            store = _store(path, connection)
        except _DAMAGE as err:
            raise _bad(path, err) from err
        yield store


def tables_of(path: Path) -> dict[str, tuple[str, ...]]:
    """Columns by plain table of an SQLite file; {} where it is none, or is damaged."""
    if not head(path).startswith(MAGIC):
        return {}
    try:
        with opened(path) as store:
            return store.tables
    except BadLog:
        return {}


def _bad(path: Path, err: Exception) -> BadLog:
    return BadLog(str(path), f"is a damaged database ({_reason(err)}). Remedy: restore it from a copy")


def _reason(err: Exception) -> str:
    if isinstance(err, UnicodeDecodeError):  # Python decodes SQLite's own messages, which quote the database
        return "malformed schema"
    # MemoryError is SQLite's word for a page that asks for more than it may have
    return "a damaged page asks for too much memory" if isinstance(err, MemoryError) else str(err)


def _connected(file: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(os.fsencode(file.resolve()))}?{mode}", uri=True)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _store(path: Path, connection: sqlite3.Connection) -> Store:
    store = Store(path, connection)
    connection.set_progress_handler(lambda: int(monotonic() > store.deadline), _INSTRUCTIONS)
    store.renew_deadline()
    listed = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    for name, sql in listed.fetchmany(MAX_TABLES):
        if isinstance(sql, str) and _PLAIN_TABLE.match(sql):
            columns = connection.execute(f"PRAGMA table_xinfo({_quoted(name)})")
            # a hidden column is generated: it computes
            store.tables[name] = tuple(column for _, column, _, _, _, _, hidden in columns if not hidden)
    if _is_cut(path):
        store.faults.append(Fault(Place(str(path)), "is shorter than its header says; the end is missing"))
    return store


def _is_cut(path: Path) -> int:
    """The bytes of a page, where the file has fewer pages than its header says; 0 for a whole file."""
    start = head(path)
    page_size, n_pages = int.from_bytes(start[16:18], "big"), int.from_bytes(start[28:32], "big")
    dated = start[24:28] == start[92:96]  # else an old version wrote the header, and did not count
    page_bytes = 65536 if page_size == 1 else page_size
    return page_bytes if dated and path.stat().st_size < n_pages * page_bytes else 0


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
