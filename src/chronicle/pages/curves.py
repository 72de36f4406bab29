"""Curves of the schematics: sums of small functions of x, drawn on a unit square.

A sketch is idealised and carries no scale, so it can never be mistaken for a measured run. x runs from
0 to 1 (steps), y from 0 to 1 inside its panel. ``shapes`` holds one sketch a pattern, ``schematic``
turns a sketch into SVG.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

Term = Callable[[float], float]
Point = tuple[float, float]

SAMPLES = 300
WIDTH = 0.96  # default span of a curve; a shorter one gets fewer samples


def fall(top: float, bottom: float, rate: float = 3.0) -> Term:
    """The ordinary learning curve: from ``top`` towards ``bottom``, ever more slowly."""
    return lambda x: bottom + (top - bottom) * math.exp(-rate * x)


def line(at_0: float, at_1: float) -> Term:
    """A straight line from its value at 0 to its value at 1."""
    return lambda x: at_0 + (at_1 - at_0) * x


def spike(at: float, height: float, decay: float = 0.012, rise: float = 0.008) -> Term:
    """Up within ``rise``, then back exponentially with scale ``decay``."""

    def y(x: float) -> float:
        if x >= at:
            return height * math.exp((at - x) / decay)
        return height * max(0.0, 1 - (at - x) / rise)

    return y


def step(at: float, by: float) -> Term:
    """A step ``by`` from ``at`` on."""
    return lambda x: by if x >= at else 0.0


def ramp(start: float, end: float, by: float) -> Term:
    """0 before ``start``, ``by`` after ``end``, straight in between."""
    return lambda x: by * min(1.0, max(0.0, (x - start) / (end - start)))


def bend(start: float, by: float, power: float = 2.0) -> Term:
    """0 before ``start``, then ever steeper; ``by`` at x = 1."""
    return lambda x: by * max(0.0, (x - start) / (1 - start)) ** power


@dataclass(frozen=True)
class Curve:
    """One line of a sketch: y(x) is the sum of ``terms`` over ``span``, and ends where it leaves the panel.

    ``kind`` is how it is drawn: live, val, dead, second, trend. ``rough`` is the height of its noise and
    ``rough_until`` the x after which there is none; ``grid`` rounds y to multiples.
    """

    terms: tuple[Term, ...]
    kind: str = "live"
    span: tuple[float, float] = (0.02, 0.98)
    rough: float = 0.012
    rough_until: float = 1.0
    grid: float = 0.0

    def points(self, seed: int = 0) -> list[Point]:
        """Samples in order of x; the same for the same seed on every machine."""
        first, last = self.span
        count = max(2, round(SAMPLES * (last - first) / WIDTH))
        noise = random.Random(seed)
        points = []
        for i in range(count):
            x = first + (last - first) * i / (count - 1)
            wobble = self.rough * (noise.random() + noise.random() - 1) if x < self.rough_until else 0.0
            y = sum(term(x) for term in self.terms) + wobble
            if y > 1:
                break
            points.append((x, round(y / self.grid) * self.grid if self.grid else y))
        return points


@dataclass(frozen=True)
class Label:
    """A word at a place. A numbered one is a part to read, in order; phones show it in a key below."""

    x: float
    y: float
    text: str
    number: int = 0
    anchor: str = "start"
    strip: bool = False


@dataclass(frozen=True)
class Sketch:
    """One schematic: ``curves`` in the upper panel, ``strip`` in a lower one that shares x.

    ``says`` is its text version. ``band`` marks where to look, ``joins`` are restarts, ``cross`` marks
    values that are no numbers, ``rule`` is a level drawn across the panel (the strip if there is one).
    """

    says: str
    curves: tuple[Curve, ...]
    labels: tuple[Label, ...] = ()
    strip: tuple[Curve, ...] = ()
    band: tuple[float, float] | None = None
    joins: tuple[float, ...] = ()
    cross: tuple[Point, ...] = ()
    rule: float | None = None
    y_name: str = "loss"
    x_name: str = "steps"
    strip_name: str = ""
