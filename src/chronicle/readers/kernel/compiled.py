"""The scanners, compiled by numba at their first call or read from its cache on disk.

All modules share one namespace: a name means the same in each of them.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from chronicle.readers.kernel import csv_block, decimals, json_block

MODULES: tuple[ModuleType, ...] = (decimals, csv_block, json_block)
ENTRIES = {"csv_scan": csv_block.scan, "json_scan": json_block.scan, "csv_group": csv_block.group}


def available() -> bool:
    """Whether numba is installed (without importing it)."""
    return importlib.util.find_spec("numba") is not None


@functools.cache
def compiled() -> SimpleNamespace:
    """`csv_scan`, `json_scan` and `csv_group`; they let other threads run."""
    import numba

    # nothing is allocated here, so arrays need no counting of references: it would cost a third of the time
    njit: Any = partial(numba.njit, error_model="numpy", _nrt=False)
    scope: dict[str, Any] = {}
    for module in MODULES:
        scope.update({k: v for k, v in vars(module).items() if not k.startswith("__")})
    for module in MODULES:
        for name, function in vars(module).items():
            own = isinstance(function, FunctionType) and function.__module__ == module.__name__
            if own and function not in ENTRIES.values():
                scope[name] = njit(FunctionType(function.__code__, scope, name), forceinline=True)
    for name, function in ENTRIES.items():
        scope["at_" + name] = njit(FunctionType(function.__code__, scope, name))
    source = b"".join(Path(str(module.__file__)).read_bytes() for module in MODULES)
    seal = int(hashlib.sha256(source).hexdigest()[:12], 16)
    return SimpleNamespace(**{f.__name__: _on_disk(numba, f, scope) for f in _sealed(seal)})


def _sealed(seal: int) -> tuple[Any, ...]:
    """The entry points, closed over a seal of the source: numba's cache does not see changes of callees."""

    def csv_scan(*args: Any) -> Any:
        return at_csv_scan(seal, *args)  # type: ignore[name-defined]  # noqa: F821

    def json_scan(*args: Any) -> Any:
        return at_json_scan(seal, *args)  # type: ignore[name-defined]  # noqa: F821

    def csv_group(*args: Any) -> Any:
        return at_csv_group(seal, *args)  # type: ignore[name-defined]  # noqa: F821

    return csv_scan, json_scan, csv_group


def _on_disk(numba: Any, function: FunctionType, scope: dict[str, Any]) -> Callable[..., Any]:
    """An entry point, cached where numba finds a place that it may write to."""
    made = FunctionType(function.__code__, scope, function.__name__, closure=function.__closure__)
    made.__module__, made.__qualname__ = __name__, function.__name__
    try:
        return numba.njit(made, cache=True, nogil=True)  # type: ignore[no-any-return]
    except RuntimeError:
        return numba.njit(made, nogil=True)  # type: ignore[no-any-return]
