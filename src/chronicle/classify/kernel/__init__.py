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
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, cast

from chronicle.classify.kernel import events, levels, memory, step
from chronicle.classify.kernel.memory import Memory, Row
from chronicle.classify.kernel.step import finish as kernel_finish
from chronicle.classify.kernel.step import run as kernel_run

MODULES: tuple[ModuleType, ...] = (memory, levels, events, step)
EVERY_SAMPLE = ("transform", "same_value", "judge", "step")  # inlined, as all of levels is: a tenth faster


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
    seal = int(hashlib.sha256(repr([*map(_content, MODULES)]).encode()).hexdigest()[:12], 16)
    return SimpleNamespace(**{f.__name__: _on_disk(njit, f, scope) for f in _sealed(seal)}, start=step.start)


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


def _sealed(seal: int) -> tuple[FunctionType, ...]:
    """The entry points with a seal over the code of the whole kernel.

    Numba keeps compiled code under a key made of one function and what it closes over, and knows nothing of
    changes in the functions it calls: closing over the seal tells it.
    """

    def run(mem: Memory, values: Row, start_at: int) -> int:
        return kernel_run(mem, values, start_at) + 0 * seal

    def finish(mem: Memory) -> int:
        kernel_finish(mem)
        return seal

    return cast(tuple[FunctionType, ...], (run, finish))


def _on_disk(njit: Any, function: FunctionType, scope: dict[str, Any]) -> Callable[..., Any]:
    """A compiled entry point, cached where numba finds a place it may write to."""
    scope = {**scope, "kernel_run": scope["run"], "kernel_finish": scope["finish"]}
    entry = FunctionType(function.__code__, scope, function.__name__, closure=function.__closure__)
    entry.__module__ = __name__
    entry.__qualname__ = function.__qualname__
    try:
        return cast(Callable[..., Any], njit(cache=True)(entry))
    except RuntimeError:
        return cast(Callable[..., Any], njit(entry))
