"""The scanners as machine code: compiled once by numba, from then on linked from a file by llvmlite alone.

That saves the import of numba in each process, a third of a second. The modules of a family share one
namespace: a name means the same in each of them.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from chronicle.readers.kernel.stored import kept

COMPILE_FROM = 16_000_000  # bytes: smaller files are read before numba is imported


class Entry(NamedTuple):
    """A function that is called from Python: where it stands, what it takes (int, or element type and
    dimensions of an array, or a tuple of such), and the number of integers it returns.
    """

    module: str
    function: str
    takes: tuple[Any, ...]
    n_returned: int


class Family(NamedTuple):
    """Modules that are compiled together, and their entries."""

    modules: tuple[str, ...]
    entries: dict[str, Entry]


_BYTES, _FLAGS, _INTS, _PLACES = ("uint8", 1), ("bool", 1), ("int32", 1), ("int64", 1)
_WORDS, _SINGLES, _DOUBLES = ("uint64", 1), ("float32", 1), ("float64", 1)
_RECORDS, _TAGS = (_WORDS, _PLACES, _FLAGS), (_INTS, _PLACES, _PLACES)
_VALUES = (_PLACES, _PLACES, _WORDS, _DOUBLES, _SINGLES)
FAMILIES = {
    "events": Family(
        ("words", "event_block"),
        {
            "chains": Entry("event_block", "chains", (_BYTES, *[_PLACES] * 5), 1),
            "checked": Entry("event_block", "checked", (_BYTES, _PLACES, _PLACES, _FLAGS), 0),
            "events": Entry("event_block", "events", (_BYTES, _PLACES, _PLACES, _RECORDS, _VALUES, _TAGS), 2),
        },
    ),
}
_loaded = set[str]()


def available() -> bool:
    """Whether numba is installed (without importing it)."""
    return importlib.util.find_spec("numba") is not None


def engine(family: str, n_bytes: int) -> SimpleNamespace | None:
    """The scanners of a family where they are loaded already or worth their start-up time; else None."""
    worth = family in _loaded or n_bytes >= COMPILE_FROM
    return compiled(family) if worth and available() else None


@functools.cache
def compiled(family: str) -> SimpleNamespace:
    """The entries of a family; they let other threads run."""
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
    modules = [import_module(f"chronicle.readers.kernel.{name}") for name in FAMILIES[family].modules]
    entries = FAMILIES[family].entries
    host = f"{machine.triple} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    seal = _seal(modules, host)
    linker = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    for name, entry in entries.items():
        code = kept(f"{name}-{seal}", partial(_machine_code, llvm, machine, modules, name, entry))
        linker.add_object_file(llvm.ObjectFileRef.from_data(code))
    linker.finalize_object()
    _loaded.add(family)
    calls = {name: _callable(name, one, linker.get_function_address(name)) for name, one in entries.items()}
    return SimpleNamespace(linker=linker, **calls)


def _seal(modules: list[ModuleType], host: str) -> str:
    """What tells machine code from that of another source, constant, compiler or machine."""
    sources = [Path(file).read_bytes() for file in (*(str(one.__file__) for one in modules), __file__)]
    values = [item for module in modules for item in vars(module).items()]  # imported ones too
    numbers = int | np.generic | np.ndarray
    constants = [(name, np.asarray(value).tobytes()) for name, value in values if isinstance(value, numbers)]
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    return sha256(repr((sources, constants, versions, host)).encode()).hexdigest()[:16]


def _machine_code(llvm: Any, machine: Any, modules: list[ModuleType], name: str, entry: Entry) -> bytes:
    """An entry point with all that it calls, compiled under its plain name."""
    import numba

    # nothing is allocated here, so arrays need no counting of references: it would cost a third of the time
    options = {"error_model": "numpy", "_nrt": False}
    njit: Any = partial(numba.njit, **options)
    scope: dict[str, Any] = {}
    for module in modules:
        scope.update({k: v for k, v in vars(module).items() if not k.startswith("__")})
    function = getattr(import_module(f"chronicle.readers.kernel.{entry.module}"), entry.function)
    for key, one in list(scope.items()):
        own = isinstance(one, FunctionType) and one.__module__ in {module.__name__ for module in modules}
        if own and one is not function:
            scope[key] = njit(FunctionType(one.__code__, scope, key), forceinline=True)
    any_types: Any = numba.types
    types = tuple(_type(numba, one) for one in entry.takes)
    returned = any_types.UniTuple(numba.int64, entry.n_returned) if entry.n_returned else any_types.void
    made = njit(returned(*types), no_cpython_wrapper=True, no_cfunc_wrapper=True)(
        FunctionType(function.__code__, scope, name)
    )
    symbol = made.overloads[types].fndesc.llvm_func_name
    return bytes(machine.emit_object(llvm.parse_assembly(made.inspect_llvm(types).replace(symbol, name))))


def _type(numba: Any, takes: Any) -> Any:
    """The type of numba that a type of an `Entry` stands for."""
    if takes is int:
        return numba.int64
    if isinstance(takes[0], tuple):
        return numba.types.Tuple(tuple(_type(numba, one) for one in takes))
    return numba.types.Array(numba.from_dtype(np.dtype(takes[0])), takes[1], "C", readonly=takes == _BYTES)


def _callable(name: str, its: Entry, address: int) -> Callable[..., Any]:
    """A function of Python that calls machine code, arguments laid out as numba does, without the lock."""
    takes, n_returned = its.takes, its.n_returned
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
