"""One kernel for batch and stream: a pyramid of CUSUM detectors with the memory of open events.

This source as it stands is the oracle, and what numba compiles: results are bitwise the same. For numba the
functions are cloned into one namespace of their own, so that the originals stay plain Python and numba, which
takes a third of a second to import, is imported only when a long log needs it. docs/classifier.md explains
the kernel in a page.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

from chronicle.classify.kernel import events, levels, memory, step

MODULES: tuple[ModuleType, ...] = (memory, levels, events, step)
EVERY_SAMPLE = ("transform", "same_value", "judge", "step")  # inlined, as all of levels is: a tenth faster


@functools.cache
def available() -> bool:
    """Whether numba is installed (without importing it)."""
    return importlib.util.find_spec("numba") is not None


@functools.cache
def compiled() -> SimpleNamespace:
    """`run` and `finish`, compiled at their first call, or read from numba's cache on disk."""
    import numba

    njit: Any = numba.njit  # its stubs do not know the two options that spare wrappers nobody calls
    inner = functools.partial(njit, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
    scope = {k: v for module in MODULES for k, v in vars(module).items() if not k.startswith("__")}
    for module in MODULES:
        for name, function in _functions(module):
            inlined = module is levels or name in EVERY_SAMPLE
            scope[name] = inner(forceinline=inlined)(FunctionType(function.__code__, scope, name))
    seal = hashlib.sha256(repr([*map(_content, MODULES)]).encode()).hexdigest()[:12]
    entries = {f.__name__: _entry(njit, f, scope, seal) for f in (step.run, step.finish)}
    return SimpleNamespace(**entries, start=step.start)


def in_process() -> bool:
    """Whether the compiled kernel is in this process, ready to be called."""
    return compiled.cache_info().currsize > 0 and bool(compiled().finish.signatures)


@functools.cache
def on_disk() -> bool:
    """Whether numba has this kernel on disk. It is imported to tell: a third of a second."""
    finish = compiled().finish  # the last of the two that is written
    folder = finish.stats.cache_path
    return bool(folder) and any(Path(folder).glob(f"*{finish.py_func.__qualname__}*.nbi"))


def _functions(module: ModuleType) -> list[tuple[str, FunctionType]]:
    own = ((name, f) for name, f in vars(module).items() if isinstance(f, FunctionType))
    return [(name, f) for name, f in own if f.__module__ == module.__name__]


def _content(module: ModuleType) -> list[object]:
    """What numba compiles of a module, as it is in memory: the file may have been replaced since."""
    constants = [(k, v) for k, v in vars(module).items() if isinstance(v, float | int | tuple)]
    return [*constants, *((name, _code(f.__code__)) for name, f in _functions(module))]


def _code(code: CodeType) -> tuple[object, ...]:
    parts = (_code(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, *parts


def _entry(njit: Any, function: Any, scope: dict[str, Any], seal: str) -> Any:
    """A compiled entry point, cached where numba finds a place it may write to.

    Its name there tells the code of the whole kernel: numba's own key is made of one function alone, and
    knows nothing of changes in the functions it calls.
    """
    entry = FunctionType(function.__code__, scope, function.__name__)
    entry.__module__, entry.__qualname__ = __name__, f"{function.__name__}_{seal}"
    try:
        return njit(cache=True)(entry)
    except RuntimeError:
        return njit(entry)
