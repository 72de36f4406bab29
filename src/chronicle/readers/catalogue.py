"""The readers: those of chronicle, a row each, and those of other packages, whose failures stop nothing.

docs/own-reader.md lists the optional names of a reader beside the four of `Reader`. A reader of chronicle may
have ``FALLBACK = -1``, for beginnings that are of one format beyond doubt, and ``read_many(paths)``, which is
faster: attempts, the error, or None for a file that it does not know (they are chosen by SUFFIXES).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, cast

from chronicle.errors import BadLog, LogError, contained
from chronicle.metrics.values import grouped
from chronicle.model import Attempt
from chronicle.readers.console import FORMATS, Format, format_of
from chronicle.readers.text import NPY_STARTS, PARQUET_STARTS, SQLITE_STARTS, ZIP_STARTS, Head, Kind, OnDemand

GROUP = "chronicle.readers"  # of entry points

# What it means where a reader lacks one of these, or where it fails.
_LOOKS: dict[str, Any] = {"identify_folder": False, "foreign": [], "runs": [], "run_key": "", "lacks": ""}
_READS: dict[str, Any] = {"read": [], "read_folder": []}


class Reader(Protocol):
    """What a reader is: any object with these four names. A row of `READERS` has the first two of its
    module."""

    NAME: str
    SUFFIXES: tuple[str, ...]

    def identify(self, head: Head) -> bool:
        """Whether the content of the file (a few KB of it) is of this format. Raises nothing but OSError."""

    def read(self, path: Path) -> list[Attempt]:
        """Reads all attempts; roles are given later. Raises a LogError if nothing can be used."""


_JSON = b"{["
_KEPT = ("identify_folder", "read_folder", "run_key")
_FOLDER = ("identify_folder", "read_folder")
_LAUNCH, _TABLES = (*_FOLDER, "foreign", "run_key"), (*_FOLDER, "runs", "lacks")
_STORED = (SQLITE_STARTS, b"1")  # the time of a point [ms]
# An array of objects is a pickle, too.
_PICKLED = (NPY_STARTS, *(b"\x80" + bytes([protocol]) for protocol in range(2, 6)))
_MLFLOW, _DVCLIVE = ("meta.yaml",), ("plots", "scalars")  # what the folder of a run holds
_NOTEBOOK: Any = OnDemand("notebook", "notebook", hooks=("runs", "lacks"), opens=b"{")
READERS = cast(
    tuple[Reader, ...],
    (
        OnDemand("events", "event file", (".tfevents",), -1, hooks=("read_many",), binary=True),
        OnDemand("csv_tables", "csv", (".csv", ".tsv"), hooks=_TABLES, folder_has=_DVCLIVE),
        OnDemand("csv_tables", "markdown", FALLBACK=-1, hooks=("runs",)),
        OnDemand("json_lines", "jsonl", (".jsonl", ".ndjson", ".json"), hooks=("runs",), opens=_JSON),
        OnDemand("json_lines", "trainer_state.json", (".json",), opens=b"{"),
        OnDemand("json_documents", "json", hooks=("runs",), opens=_JSON),
        OnDemand("json_documents", "yaml", hooks=("runs",)),
        OnDemand("trackers.offline", "megatron-golden", (), -1, ("run_key",), opens=b"{"),
        OnDemand("trackers.wandb", "wandb", (".wandb",), 0, _LAUNCH, ("*.wandb",), starts=b":W&B"),
        OnDemand("trackers.mlflow", "mlflow", (), 0, _TABLES, _MLFLOW, starts=_STORED),
        OnDemand("trackers.offline", "trackio", hooks=("runs",), starts=SQLITE_STARTS),
        OnDemand("trackers.offline", "swanlab", (".swanlab",), -1, _KEPT, ("*.swanlab",), starts=b":SWL"),
        OnDemand("trackers.offline", "neptune", (), -1, _KEPT, ("data-1.log",), starts=b'{"obj"'),
        OnDemand("trackers.offline", "neptune-scale", (), -1, _KEPT, ("*.sqlite3",), starts=SQLITE_STARTS),
        OnDemand("trackers.offline", "comet", (), -1, ("run_key",), starts=b"PK"),
        OnDemand("trackers.offline", "clearml", (), -1, _KEPT, ("metrics.jsonl",), starts=b"[{"),
        OnDemand("trackers.offline", "sacred", (), -1, _KEPT, ("metrics.json",), starts=b"{"),
        OnDemand("trackers.offline", "catboost", (), -1, _KEPT, ("catboost_training.json",), starts=b"{"),
        OnDemand("binary_tables", "parquet", hooks=("runs", "lacks"), starts=PARQUET_STARTS),
        OnDemand("binary_tables", "numpy", hooks=("lacks",), starts=(NPY_STARTS, ZIP_STARTS)),
        OnDemand("binary_tables", "pickle", hooks=("lacks", "runs"), starts=_PICKLED),
        _NOTEBOOK,
        *FORMATS,
        OnDemand("console.machine", "machine-log", FALLBACK=2),
    ),
)
_SUFFIXES = frozenset(suffix for reader in READERS for suffix in reader.SUFFIXES)


def is_notebook(head: Head) -> bool:
    """Whether a file is a Jupyter notebook, by its name or by a cell at its beginning."""
    return head.opens == b"{" and (head.path.suffix == ".ipynb" or b'"cell_type":' in head.start)


def all_readers() -> tuple[Reader, ...]:
    """The readers of chronicle, then those of other packages."""
    return READERS + plugins()[0]


def is_of_logs(suffix: str) -> bool:
    """Whether a name that ends so says that the file is a log."""
    return suffix in _SUFFIXES or any(suffix in reader.SUFFIXES for reader in plugins()[0])


def having(name: str) -> list[Any]:
    """The readers with an optional function of this name."""
    return [*_own_having(name), *(reader for reader in plugins()[0] if hasattr(reader, name))]


@lru_cache
def _own_having(name: str) -> list[Any]:
    return [reader for reader in READERS if hasattr(reader, name)]


def hook(reader: Reader, name: str, path: Path) -> Any:
    """Calls an optional function of a reader; returns an empty value if the reader has no such function.
    Raises Defect if it fails."""
    function = getattr(reader, name, None)
    with contained(str(path)):
        return function(path) if function else (_LOOKS | _READS)[name]


@lru_cache(maxsize=1)
def plugins() -> tuple[tuple[Reader, ...], tuple[LogError, ...]]:
    """Readers of other packages, and an error for each that cannot be loaded."""
    readers: list[Reader] = []
    problems: list[LogError] = []
    for point in _entry_points():
        try:
            readers.append(guarded(point.load()))
        except Exception as err:
            problems.append(LogError(f"reader {point.name!r} ({point.value})", f"cannot be loaded: {err!r}"))
    return tuple(readers), tuple(problems)


def _entry_points() -> Sequence[Any]:
    """The readers that installed packages offer. Their lists are searched for the name of the group first,
    since importing importlib.metadata takes as long as reading a usual log."""
    lists = (file for folder in sys.path for file in Path(folder).glob("*-[iI][nN][fF][oO]/entry_points.txt"))
    if not any(GROUP.encode() in file.read_bytes() for file in lists):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP))


def by_rank(head: Head) -> list[list[Reader]]:
    """The groups of readers that may know a file, in the order in which they are asked; readers with one
    FALLBACK are one group. Raises OSError."""
    if is_notebook(head):  # whose cells quote logs
        return [[_NOTEBOOK, *plugins()[0]]]
    own, others = _of_kind(head.kind, format_of(head) if head.is_text else ""), plugins()[0]
    return _ranked((*chain(*own), *others)) if others else own


@lru_cache(maxsize=1024)
def _of_kind(kind: Kind, format_name: str) -> list[list[Reader]]:
    """The readers of chronicle that may know a file of this kind, by rank. A text is of one format at most,
    whose name is given."""

    def may_be(reader: Any) -> bool:
        return format_name == reader.NAME if isinstance(reader, Format) else reader.may_be(kind)

    return _ranked(filter(may_be, READERS))


def _ranked(readers: Iterable[Reader]) -> list[list[Reader]]:
    ranks = grouped(readers, lambda reader: int(getattr(reader, "FALLBACK", 0)))
    return [ranks[number] for number in sorted(ranks)]


def guarded(reader: Reader) -> Reader:
    """Wraps a reader of another package, so that its failures become problems of the file. Raises
    AttributeError if a name is missing."""
    made = SimpleNamespace(NAME=str(reader.NAME), SUFFIXES=tuple(reader.SUFFIXES))
    made.FALLBACK = getattr(reader, "FALLBACK", 0)
    for name, otherwise in (_LOOKS | _READS).items():
        if hasattr(reader, name):
            setattr(made, name, _safe(getattr(reader, name), otherwise, "" if name in _LOOKS else made.NAME))
    looks = _safe(cast(Any, reader.identify), False)
    made.identify = lambda head: looks(head.path)  # readers of other packages are shown the file itself
    return cast(Reader, made)


def _safe(call: Callable[[Path], Any], otherwise: Any, reads_as: str = "") -> Callable[[Path], Any]:
    """Wraps a function of a reader: if it fails, the result is ``otherwise``, or BadLog is raised if
    ``reads_as`` names the reader."""

    def called(path: Path) -> Any:
        try:
            return type(otherwise)(call(path))
        except Exception as err:
            if isinstance(err, OSError) or (reads_as and isinstance(err, LogError)):
                raise
            if not reads_as:
                return otherwise
            raise BadLog(
                str(path), f"reader {reads_as!r} failed: {err!r}", remedy="tell its authors"
            ) from err

    return called
