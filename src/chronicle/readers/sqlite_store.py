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
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import quote

from chronicle.model import Fault, Place
from chronicle.readers.text import head

MAGIC = b"SQLite format 3\0"
MAX_CELL = 1 << 24  # bytes
MAX_WAIT_S = 60.0  # for a batch of rows
BATCH_ROWS, MAX_TABLES = 10_000, 1000

_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
_INSTRUCTIONS = 100_000  # of SQLite's machine between two looks at the clock


@dataclass
class Store:
    """An open database. ``faults`` tells what could not be read; ``tables`` are columns by plain table."""

    path: Path
    connection: sqlite3.Connection
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)

    @property
    def truncated(self) -> bool:
        """Whether a table could not be read to its end."""
        return bool(self.faults)

    def rows(self, table: str, wanted: Sequence[str], *, strict: bool = False) -> Iterator[tuple[Any, ...]]:
        """The ``wanted`` columns of all rows, in the order of the table; None for a column that it lacks.

        Where the database is damaged the rows end, and a fault says so.

        Raises:
            sqlite3.Error: as that, if ``strict``.
        """
        has = self.tables.get(table, ())
        select = ", ".join(_quoted(column) if column in has else "NULL" for column in wanted)
        room = 2 * self.path.stat().st_size + 4096  # bytes that rows can take, if no page is read twice
        try:
            if has:
                yield from self._fetched(f"SELECT {select} FROM {_quoted(table)} NOT INDEXED", room)
        except sqlite3.Error as err:
            if strict:
                raise
            what = f"table {table!r} is damaged ({err}); the rows before that are kept"
            self.faults.append(Fault(Place(str(self.path)), what))

    def _fetched(self, query: str, room: int) -> Iterator[tuple[Any, ...]]:
        with _limited(self.connection) as renew:
            for n_rows, row in enumerate(self.connection.execute(query)):
                room -= 1
                for cell in row:
                    if type(cell) is str or type(cell) is bytes:
                        room -= len(cell)
                if room < 0:
                    raise sqlite3.DatabaseError("more rows than the file can hold")
                if not n_rows % BATCH_ROWS:
                    renew()
                yield row


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """The database, read-only; a copy of it where a log of writes (`-wal`) has to be taken in first.

    Raises:
        sqlite3.Error: it is damaged from the beginning.
    """
    wal = path.with_name(path.name + "-wal")
    if not wal.is_file() or not wal.stat().st_size:
        with closing(_connected(path, "mode=ro&immutable=1")) as connection:
            yield _store(path, connection)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copyfile(path, copy)
        shutil.copyfile(wal, copy.with_name("copy-wal"))
        with closing(_connected(copy, "mode=rw")) as connection:
            yield _store(path, connection)


def tables_of(path: Path) -> dict[str, tuple[str, ...]]:
    """Columns by plain table of an SQLite file; {} where it is none, or is damaged."""
    if not head(path).startswith(MAGIC):
        return {}
    try:
        with opened(path) as store:
            return store.tables
    except sqlite3.Error:
        return {}


def _connected(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path.resolve()))}?{mode}", uri=True)
    connection.text_factory = partial(str, encoding="utf-8", errors="replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_CELL)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _store(path: Path, connection: sqlite3.Connection) -> Store:
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
    with _limited(connection):
        listed = connection.execute(query).fetchmany(MAX_TABLES)
        tables = {
            name: _columns(connection, name)
            for name, sql in listed
            if isinstance(sql, str) and _PLAIN_TABLE.match(sql)
        }
    faults = (
        [Fault(Place(str(path)), "is shorter than its header says; the end is missing")] if _cut(path) else []
    )
    return Store(path, connection, tables, faults)


def _cut(path: Path) -> bool:
    """Whether the file has fewer pages than its header says; SQLite reads what is missing as zeros."""
    start = head(path)
    page_size, n_pages = int.from_bytes(start[16:18], "big"), int.from_bytes(start[28:32], "big")
    dated = start[24:28] == start[92:96]  # else an old version wrote the header, and did not count
    return dated and path.stat().st_size < n_pages * (65536 if page_size == 1 else page_size)


def _columns(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """The columns of a table that hold what was stored; one that is generated computes."""
    listed = connection.execute(f"PRAGMA table_xinfo({_quoted(table)})")
    return tuple(name for _, name, _, _, _, _, hidden in listed if not hidden)


@contextmanager
def _limited(connection: sqlite3.Connection) -> Iterator[Callable[[], None]]:
    """Within, work on a database that takes longer than MAX_WAIT_S is a sqlite3.Error; what is yielded gives
    it that time again. What Python makes of SQLite's complaints about damage is a sqlite3.Error too."""
    ends = [monotonic() + MAX_WAIT_S]

    def renew() -> None:
        ends[0] = monotonic() + MAX_WAIT_S

    connection.set_progress_handler(lambda: int(monotonic() > ends[0]), _INSTRUCTIONS)
    try:
        yield renew
    except UnicodeDecodeError as err:  # Python decodes SQLite's own messages, which quote the database
        raise sqlite3.DatabaseError("malformed schema") from err
    except MemoryError as err:  # SQLite's word for a page that asks for more than it may have
        raise sqlite3.DatabaseError("a damaged page asks for too much memory") from err


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
