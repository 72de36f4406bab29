"""Run the kernel over a series: values in, events out; whole or one value at a time."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

import numpy as np

from chronicle.classify import kernel as fast
from chronicle.classify.kernel import memory as at
from chronicle.classify.kernel import step as plain
from chronicle.classify.kernel.memory import Memory
from chronicle.classify.thresholds import Thresholds
from chronicle.model import Floats, Series

COMPILE_FROM = 100_000  # samples: below, plain Python is done before numba is imported


class Kind(StrEnum):
    """What the kernel saw, in the order of layout.IS_BACK ..."""

    BACK = "back"  # a rise that came back to its extrapolated baseline
    OPEN = "open"  # a rise that had not come back when the log (or its finite part) ended
    LONE = "lone"  # a rise of one sample
    DROP = "drop"  # a sustained fall to a new best level
    NONFINITE = "nonfinite"  # a stretch of NaN or Inf
    FROZEN = "frozen"  # a stretch of bit-equal values


KINDS = tuple(Kind)


@dataclass(frozen=True)
class Event:
    """One event of one series. Indices count its samples; heights are in log units, sign applied.

    ``end`` is the first sample that was back at the baseline, None while it is not over. ``height`` is
    peak over baseline (NONFINITE, FROZEN: samples), ``residual`` what was left of it at the end,
    ``noise`` the one-sample noise scale, ``score`` the evidence in noise scales, ``level_samples`` how
    many samples the level of the pyramid averages that saw it, ``abruptness`` the share of the height
    that was gained in one jump (1 jump, 0 ramp), ``into_nan`` whether it was open when the values turned
    NaN or Inf, ``growth`` what was added to the rest since it was first left open, ``falling`` how much
    the level still comes down at the end as a share of the height, ``last`` the last sample over the
    baseline. ``opened`` is the sample that first showed the event: the one index that no later sample
    revises, so it identifies the event.
    """

    kind: Kind
    onset: int
    peak: int
    end: int | None
    height: float
    residual: float
    noise: float
    score: float
    level_samples: int
    into_nan: bool
    abruptness: float
    growth: float
    falling: float
    last: float
    opened: int


class Detector:
    """The kernel with its memory, for one series; memory does not grow with the series.

    ``sign`` -1 turns the series over (throughput, score, dips of a ratio). ``engine`` is the plain kernel
    or the compiled one.
    """

    def __init__(self, thresholds: Thresholds, *, sign: float = 1.0, engine: Any = plain) -> None:
        self.engine = engine
        self._keep(blank((*thresholds.kernel(), sign, 0.0), arrays=engine is not plain))
        self._one: Any = [0.0] if engine is plain else np.zeros(1)
        engine.start(self.memory)

    def sparse(self, steps: Any) -> None:
        """Tell by the first steps whether fewer than one in five is logged: then a spike is one point."""
        gaps = np.diff(np.array(steps[: at.WARM]))
        gaps = gaps[gaps > 0]
        self.memory.config[at.SPARSE] = float(len(gaps) > 0 and float(np.median(gaps)) >= 5.0)

    def opened(self) -> tuple[float, ...]:
        """Changes when an event opens, becomes pending, is over, or turns into NaN."""
        state = self._state
        return state[at.ACTIVE], state[at.PENDING], float(state[at.BAD_COUNT] > 0.0)

    def __deepcopy__(self, memo: Any) -> Detector:
        twin = object.__new__(Detector)
        twin.engine, twin._one = self.engine, copy.copy(self._one)
        twin._keep(Memory._make(copy.deepcopy(part) for part in self.memory))
        return twin

    def update(self, value: float) -> list[Event]:
        """Take one logged value; returns the events that it closed."""
        self._one[0] = float(value)
        self.engine.run(self.memory, self._one, 0)
        return self._drain() if self._state[at.EMITTED] else []

    def extend(self, values: Floats) -> list[Event]:
        """Take many logged values."""
        # other layouts would be other types to numba, and compiled for half a minute
        given = np.require(values, np.float64, ("C", "W")) if self.engine is not plain else values.tolist()
        found, i = [], 0
        while i < len(given):
            i = self.engine.run(self.memory, given, i)
            found += self._drain()
        return found

    def finish(self) -> list[Event]:
        """The log is over: returns what was open."""
        self.engine.finish(self.memory)
        return self._drain()

    def save(self) -> bytes:
        """The whole memory as float64, to be given to `load`."""
        return b"".join(np.asarray(part, np.float64).tobytes() for part in self.memory)

    def load(self, saved: bytes) -> None:
        """Go on from what `save` gave, with either engine."""
        flat, parts = np.frombuffer(saved), []
        for part in self.memory:
            shape = np.asarray(part).shape
            size = int(np.prod(shape))
            parts.append(flat[:size].reshape(shape).copy())
            flat = flat[size:]
        arrays = self.engine is not plain
        self._keep(Memory._make(parts if arrays else [p.tolist() for p in parts]))

    def _keep(self, memory: Memory) -> None:
        """Take a memory; a view of its state spares a numpy scalar for each number that is looked at."""
        self.memory = memory
        state: Any = memory.state
        self._state: Any = state if isinstance(state, list) else memoryview(state)

    @property
    def noise(self) -> float:
        """One-sample noise scale now, in log units."""
        return float(self.memory.levels[0][at.NOISE])

    def _drain(self) -> list[Event]:
        rows = int(self.memory.state[at.EMITTED])
        self.memory.state[at.EMITTED] = 0.0
        return [event(self.memory.out[j]) for j in range(rows)]


def blank(config: Iterable[float], *, arrays: bool) -> Memory:
    """Zeroed memory: lists of floats for plain Python, arrays for compiled code."""
    shapes = (at.STATE, (at.LEVELS, at.LEVEL), at.RING, (at.SLOTS, at.EVENT), (at.WARM, 2))
    parts: list[Any] = [np.zeros(s) for s in shapes]
    parts += [np.array(list(config)), np.zeros((at.ROWS, at.OUT))]
    return Memory._make(parts if arrays else [p.tolist() for p in parts])


def event(row: Any) -> Event:
    """A row of kernel output as an Event."""
    f = [float(x) for x in row]
    end = int(f[at.END])
    return Event(
        kind=KINDS[int(f[at.KIND])],
        onset=int(f[at.ONSET]),
        peak=int(f[at.PEAK]),
        end=None if end < 0 else end,
        height=f[at.HEIGHT],
        residual=f[at.RESIDUAL],
        noise=f[at.NOISE_SCALE],
        score=f[at.SCORE],
        level_samples=4 ** int(f[at.SEEN_BY]),
        into_nan=f[at.INTO_NAN] > 0,
        abruptness=f[at.ABRUPT],
        growth=f[at.GROWTH],
        falling=f[at.FALLING],
        last=f[at.LAST_OVER],
        opened=int(f[at.OPENED]),
    )


def engine_for(samples: int) -> SimpleNamespace | Any:
    """The compiled kernel where numba is installed and either loaded already or worth its start-up time."""
    ready = "numba" in sys.modules and fast.compiled.cache_info().currsize
    return fast.compiled() if fast.available() and (ready or samples >= COMPILE_FROM) else plain


def detect(
    series: Series, thresholds: Thresholds, sign: float = 1.0, engine: Any = None
) -> tuple[tuple[Event, ...], float]:
    """All events of a series in order of onset, and its noise scale at the end."""
    detector = Detector(thresholds, sign=sign, engine=engine or engine_for(len(series)))
    detector.sparse(series.steps)
    found = detector.extend(series.values) + detector.finish()
    return tuple(sorted(found, key=lambda e: (e.onset, e.peak))), detector.noise
