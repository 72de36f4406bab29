"""The scanners as machine code: compiled once by numba, from then on linked from a file by llvmlite alone.

That saves the import of numba in each process, a third of a second. All modules share one namespace: a name
means the same in each of them.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from chronicle.readers.kernel import csv_block, decimals, json_block
from chronicle.readers.kernel.stored import kept

MODULES: tuple[ModuleType, ...] = (decimals, csv_block, json_block)
_BYTES, _FLAGS, _INTS, _PLACES = ("uint8", 1), ("bool", 1), ("int32", 1), ("int64", 1)
_WORDS, _DOUBLES, _TABLE = ("uint64", 1), ("float64", 1), ("int64", 2)
_CELLS = (_INTS, _INTS, _WORDS, _DOUBLES)
_LEARNED = (_BYTES, _TABLE, _PLACES, _PLACES, _PLACES, _FLAGS, _FLAGS)
# entry points: what they take (int, or element type and dimensions of an array), number of integers returned
ENTRIES: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "csv_scan": (csv_block.scan, (_BYTES, int, _FLAGS, _BYTES, *_CELLS, _TABLE), 4),
    "json_scan": (json_block.scan, (_BYTES, _LEARNED, _CELLS, _TABLE), 4),
    "csv_group": (csv_block.group, (_INTS, _INTS, _WORDS, _PLACES, _PLACES, _INTS, _WORDS), 0),
}


def available() -> bool:
    """Whether numba is installed (without importing it)."""
    return importlib.util.find_spec("numba") is not None


@functools.cache
def compiled() -> SimpleNamespace:
    """`csv_scan`, `json_scan` and `csv_group`; they let other threads run."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        codemodel="jitdefault",
        jit=True,
    )
    seal = _seal(f"{machine.triple} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}")
    linker = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    for name in ENTRIES:
        code = kept(f"{name}-{seal}", partial(_machine_code, llvm, machine, name))
        linker.add_object_file(llvm.ObjectFileRef.from_data(code))
    linker.finalize_object()
    return SimpleNamespace(
        linker=linker, **{name: _callable(name, linker.get_function_address(name)) for name in ENTRIES}
    )


def _seal(host: str) -> str:
    """What tells machine code from that of another source, compiler or machine."""
    sources = [Path(str(module.__file__)).read_bytes() for module in MODULES] + [Path(__file__).read_bytes()]
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    return sha256(repr((sources, versions, host)).encode()).hexdigest()[:16]


def _machine_code(llvm: Any, machine: Any, name: str) -> bytes:
    """An entry point with all that it calls, compiled under its plain name."""
    import numba

    # nothing is allocated here, so arrays need no counting of references: it would cost a third of the time
    options = {"error_model": "numpy", "_nrt": False}
    njit: Any = partial(numba.njit, **options)
    scope: dict[str, Any] = {}
    for module in MODULES:
        scope.update({k: v for k, v in vars(module).items() if not k.startswith("__")})
    entries = [function for function, _, _ in ENTRIES.values()]
    for module in MODULES:
        for key, function in vars(module).items():
            own = isinstance(function, FunctionType) and function.__module__ == module.__name__
            if own and function not in entries:
                scope[key] = njit(FunctionType(function.__code__, scope, key), forceinline=True)
    any_types: Any = numba.types
    function, takes, n_returned = ENTRIES[name]
    types = tuple(_type(numba, one) for one in takes)
    returned = any_types.UniTuple(numba.int64, n_returned) if n_returned else any_types.void
    made = njit(returned(*types), no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        FunctionType(function.__code__, scope, name)
    )
    symbol = made.overloads[types].fndesc.llvm_func_name
    return bytes(machine.emit_object(llvm.parse_assembly(made.inspect_llvm(types).replace(symbol, name))))


def _type(numba: Any, takes: Any) -> Any:
    """The type of numba that an entry of ``ENTRIES`` stands for."""
    if takes is int:
        return numba.int64
    if isinstance(takes[0], tuple):
        return numba.types.Tuple(tuple(_type(numba, one) for one in takes))
    return numba.types.Array(numba.from_dtype(np.dtype(takes[0])), takes[1], "C", readonly=takes == _BYTES)


def _callable(name: str, address: int) -> Callable[..., Any]:
    """A function of Python that calls machine code, arguments laid out as numba does, without the lock."""
    _, takes, n_returned = ENTRIES[name]
    entry = ctypes.CFUNCTYPE(ctypes.c_int32)(address)

    def call(*args: Any) -> tuple[int, ...]:
        returned, error = (ctypes.c_int64 * max(n_returned, 1))(), ctypes.c_void_p()
        flat = [word for one, kind in zip(args, takes, strict=True) for word in _words(one, kind)]
        if entry(ctypes.byref(returned), ctypes.byref(error), *flat):
            raise RuntimeError(f"{name} failed")
        return tuple(returned[:n_returned])

    return call


def _words(value: Any, kind: Any) -> Iterator[Any]:
    """The words of an argument. Raises TypeError for an array of another kind: machine code cannot tell."""
    if kind is int:
        yield ctypes.c_int64(value)
    elif isinstance(value, tuple):
        for one, its in zip(value, kind, strict=True):
            yield from _words(one, its)
    else:
        if (value.dtype, value.ndim) != (np.dtype(kind[0]), kind[1]) or not value.flags.c_contiguous:
            raise TypeError(f"array of {value.dtype}, {value.ndim} dimensions, where {kind} is wanted")
        yield from (ctypes.c_void_p(), ctypes.c_void_p())
        for word in (value.size, value.itemsize, value.ctypes.data, *value.shape, *value.strides):
            yield ctypes.c_int64(word)
