"""One kernel for batch and stream: a pyramid of CUSUM detectors with the memory of open events.

This source as it stands is the oracle, and what numba compiles: results are bitwise the same. For numba the
functions are cloned into one namespace, so that the originals stay plain Python and numba, which takes a
third of a second to import, is imported only for a long log. The kernel in a page: docs/classifier-kernel.md.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import CodeType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from chronicle.classify.kernel import events
from chronicle.classify.kernel import levels as at
from chronicle.classify.kernel import step as plain
from chronicle.classify.kernel.levels import Memory
from chronicle.classify.measure import median
from chronicle.classify.thresholds import Thresholds
from chronicle.model import Floats, Series

MODULES: tuple[ModuleType, ...] = (at, events, plain)
EVERY_SAMPLE = ("transform", "same_value", "judge", "step")  # inlined, as all of levels is: a tenth faster


@functools.cache
def available() -> bool:
    """Whether numba is installed (without importing it), and not told to compile nothing."""
    is_off = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return not is_off and importlib.util.find_spec("numba") is not None


@functools.cache
def compiled() -> SimpleNamespace:
    """`run` and `finish`, compiled at their first call, or read from numba's cache on disk."""
    # Of each overload that does not fit it makes a message, and asks the terminal whether it shows colours: a
    # sixth of the time of compiling.
    os.environ.setdefault("NUMBA_DISABLE_ERROR_MESSAGE_HIGHLIGHTING", "1")
    import numba

    njit: Any = numba.njit  # its stubs do not know the two options that spare wrappers nobody calls
    inner = functools.partial(njit, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)
    scope = {k: v for module in MODULES for k, v in vars(module).items() if not k.startswith("__")}
    for f in (f for module in MODULES for f in _functions(module)):
        inlined = f.__module__ == at.__name__ or f.__name__ in EVERY_SAMPLE
        scope[f.__name__] = inner(forceinline=inlined)(FunctionType(f.__code__, scope, f.__name__))
    entries = {f.__name__: _entry(njit, f, scope) for f in (plain.run, plain.finish)}
    return SimpleNamespace(**entries, start=plain.start)


def in_process() -> bool:
    """Whether the compiled kernel is in this process, ready to be called."""
    return compiled.cache_info().currsize > 0 and bool(compiled().finish.signatures)


@functools.cache
def on_disk() -> bool:
    """Whether numba has this kernel on disk. It is imported to tell, which takes a third of a second, only if
    it would not keep it beside the source."""
    folder = Path(plain.__file__).parent / "__pycache__"
    if os.environ.get("NUMBA_CACHE_DIR") or not os.access(folder, os.W_OK):
        folder = Path(compiled().finish.stats.cache_path or os.devnull)
    # `finish` is the last of the two that is written
    return any(folder.glob(f"*{plain.finish.__name__}_{_seal()}*.nbi"))


@functools.cache
def _seal() -> str:
    return hashlib.sha256(repr([*map(_content, MODULES)]).encode()).hexdigest()[:12]


def _functions(module: ModuleType) -> list[FunctionType]:
    functions = (f for f in vars(module).values() if isinstance(f, FunctionType))
    return [f for f in functions if f.__module__ == module.__name__]


def _content(module: ModuleType) -> list[object]:
    """What numba compiles of a module, as it is in memory, since the file may have been replaced."""
    constants = [(k, v) for k, v in vars(module).items() if isinstance(v, float | int | tuple)]
    return [*constants, *(_code(f.__code__) for f in _functions(module))]


def _code(code: CodeType) -> tuple[object, ...]:
    parts = (_code(c) if isinstance(c, CodeType) else c for c in code.co_consts)
    return code.co_name, code.co_code, code.co_names, code.co_varnames, *parts


def _entry(njit: Any, function: Any, scope: dict[str, Any]) -> Any:
    """A compiled entry point, cached where numba may write, under a name that tells the code of the whole
    kernel: numba's own key knows nothing of changes in the functions it calls."""
    entry = FunctionType(function.__code__, scope, function.__name__)
    entry.__module__, entry.__qualname__ = __name__, f"{function.__name__}_{_seal()}"
    try:
        return njit(cache=True)(entry)
    except RuntimeError:
        return njit(entry)


READ_FROM = 120_000  # samples: below, plain Python is done before numba is imported
COMPILE_FROM = 1_500_000  # samples that plain Python judges in the time of compiling
_judged_plainly = 0  # samples, in this process


class Kind(StrEnum):
    """The kinds of events, in the order of the numbers IS_BACK to IS_FROZEN in `levels`."""

    BACK = "back"  # a rise that came back to its extrapolated baseline
    OPEN = "open"  # a rise that had not come back when the log (or its finite part) ended
    LONE = "lone"  # a rise of one sample
    DROP = "drop"  # a sustained fall to a new best level
    NONFINITE = "nonfinite"  # a stretch of NaN or Inf
    FROZEN = "frozen"  # a stretch of values that are equal in single precision


KINDS = tuple(Kind)
# What an event holds as the kernel measured it, in the order of its fields.
MEASURED = at.HEIGHT, at.RESIDUAL, at.NOISE_SCALE, at.SCORE, at.ABRUPT, at.GROWTH, at.FALLING, at.LAST_OVER
RISING_KINDS = (Kind.BACK, Kind.OPEN, Kind.LONE)
SHAPES: tuple[tuple[int, ...], ...] = (
    *((at.STATE,), (at.LEVELS, at.LEVEL), (at.RING,), (at.SLOTS, at.EVENT), (at.WARM, 2), (at.CONFIG,)),
    (at.ROWS, at.OUT),
)


@dataclass(frozen=True)
class Event:
    """One event of one series. Indices count its samples; heights are in log units, sign applied."""

    kind: Kind
    onset: int
    peak: int
    end: int | None  # the first sample that was back at the baseline, None while it is not over
    opened: int  # the sample that first showed it: the one index that no later sample revises
    level_samples: int  # samples that the level of the pyramid averages that saw it
    into_nan: bool  # it was open when the values turned NaN or Inf
    height: float  # peak over baseline; of NONFINITE and FROZEN the samples
    residual: float  # what was left of the height at the end
    noise: float  # one-sample noise scale
    score: float  # evidence in noise scales
    abruptness: float  # share of the height that was gained in one jump: 1 jump, 0 ramp
    growth: float  # what was added to the rest since it was first left open
    falling: float  # how much the level still comes down at the end, as a share of the height
    last: float  # the last sample over the baseline


class Detector:
    """The kernel with its memory, for one series; memory does not grow with the series. ``sign`` -1 turns the
    series over (throughput, score, dips of a ratio). ``engine`` is the plain kernel or the compiled one."""

    def __init__(self, thresholds: Thresholds, *, sign: float = 1.0, engine: Any = plain) -> None:
        self.engine = engine
        self._one: Any = [0.0] if engine is plain else np.zeros(1)
        self._keep(map(np.zeros, SHAPES))
        self.memory.config[:] = [*thresholds.kernel(), sign, 0.0]
        engine.start(self.memory)

    def sparse(self, steps: Any) -> None:
        """Decides by the first steps whether at most one in five is logged, so that a spike is one point."""
        first = np.array(steps[: at.WARM])
        gaps = first[1:] - first[:-1]
        gaps = gaps[gaps > 0]
        self.memory.config[at.SPARSE] = float(median(gaps) >= 5.0)

    def opened(self) -> tuple[float, ...]:
        """A number that changes when an event opens, becomes pending, is over, or turns into NaN."""
        state = self._state
        return state[at.ACTIVE], state[at.PENDING], float(state[at.BAD_COUNT] > 0.0)

    def update(self, value: float) -> list[Event]:
        """Takes one logged value; returns the events that it closed."""
        self._one[0] = float(value)
        self.engine.run(self.memory, self._one, 0)
        return self._drain() if self._state[at.EMITTED] else []

    def extend(self, values: Floats) -> list[Event]:
        """Takes many logged values; returns the events that they closed."""
        # other layouts would be other types to numba, and compiled for half a minute
        samples = values.tolist() if self.engine is plain else np.require(values, np.float64, ("C", "W"))
        events, i = [], 0
        while i < len(samples):
            i = self.engine.run(self.memory, samples, i)
            events += self._drain()
        return events

    def finish(self) -> list[Event]:
        """Ends the log: returns what was open."""
        self.engine.finish(self.memory)
        return self._drain()

    def save(self) -> bytes:
        """The memory as float64, to be given to `load`; without the output, in which nothing waits now."""
        return b"".join(np.asarray(part, np.float64).tobytes() for part in self.memory[:-1])

    def load(self, saved: bytes) -> None:
        """Goes on from what `save` gave, with either engine."""
        parts = np.split(np.frombuffer(saved), np.cumsum([math.prod(shape) for shape in SHAPES[:-1]]))
        parts[-1] = np.zeros(math.prod(SHAPES[-1]))
        self._keep(part.reshape(shape).copy() for part, shape in zip(parts, SHAPES, strict=True))

    def _keep(self, parts: Iterable[Any]) -> None:
        """Takes a memory: arrays for compiled code, lists for plain Python, which reads them faster."""
        is_plain = self.engine is plain
        self.memory = Memory._make(part.tolist() if is_plain else part for part in parts)
        state: Any = self.memory.state
        self._state: Any = state if is_plain else memoryview(state)

    @property
    def noise(self) -> float:
        """One-sample noise scale now, in log units."""
        return float(self.memory.levels[0][at.NOISE])

    def _drain(self) -> list[Event]:
        rows = int(self.memory.state[at.EMITTED])
        self.memory.state[at.EMITTED] = 0.0
        return [event(self.memory.out[j]) for j in range(rows)]


def event(row: Any) -> Event:
    """Converts a row of kernel output to an Event."""
    onset, peak, opened = (int(row[place]) for place in (at.ONSET, at.PEAK, at.OPENED))
    end = None if row[at.END] < 0 else int(row[at.END])
    kind, level_samples = KINDS[int(row[at.KIND])], 4 ** int(row[at.SEEN_BY])
    measured = (float(row[place]) for place in MEASURED)
    return Event(kind, onset, peak, end, opened, level_samples, bool(row[at.INTO_NAN] > 0), *measured)


def engine_for(samples: int) -> Any:
    """The compiled kernel, if numba is installed and using it is faster than plain Python: it is in this
    process already, or enough samples make up for reading it from disk or for compiling it. Those processed
    in plain Python count as well: then the total time is at most twice the least."""
    if available() and in_process():
        return compiled()
    samples = max(samples, _judged_plainly)
    if not available() or samples < READ_FROM:
        return plain
    return compiled() if samples >= COMPILE_FROM or on_disk() else plain


def detect(
    series: Series, thresholds: Thresholds, sign: float = 1.0, samples: int = 0
) -> tuple[tuple[Event, ...], float]:
    """All events of a series in order of their onset, and its noise scale at the end. The number of
    ``samples`` of its run, if that is larger, decides whether compiled code is faster."""
    global _judged_plainly
    engine = engine_for(max(samples, len(series)))
    detector = Detector(thresholds, sign=sign, engine=engine)
    detector.sparse(series.steps)
    events = detector.extend(series.values) + detector.finish()
    _judged_plainly += len(series) if engine is plain else 0
    return in_order(events), detector.noise


def in_order(events: Iterable[Event]) -> tuple[Event, ...]:
    """Events in order of their onset."""
    return tuple(sorted(events, key=lambda e: (e.onset, e.peak)))
