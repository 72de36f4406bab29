"""The sketch of every pattern: what its curve looks like, and the parts to read in order.

Curves are sums of small functions of x, drawn on a unit square: x runs from 0 to 1 (steps), y from 0 to 1
inside its panel. A sketch is idealised and carries no scale, so it can never be mistaken for a measured run.
Where two patterns are often taken for each other, the sketches differ in just what tells them apart.
`lab.schematic` turns a sketch into SVG.
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

    ``kind`` is how it is drawn: live, val, dead, second, trend. ``rough`` is the height of its noise;
    ``grid`` rounds y to multiples.
    """

    terms: tuple[Term, ...]
    kind: str = "live"
    span: tuple[float, float] = (0.02, 0.98)
    rough: float = 0.012
    grid: float = 0.0

    def points(self, seed: int = 0) -> list[Point]:
        """Samples in order of x; the same for the same seed on every machine."""
        first, last = self.span
        count = max(2, round(SAMPLES * (last - first) / WIDTH))
        noise = random.Random(seed)
        points = []
        for i in range(count):
            x = first + (last - first) * i / (count - 1)
            y = sum(term(x) for term in self.terms) + self.rough * (noise.random() + noise.random() - 1)
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
    x_name: str = "steps"
    y_name: str = "loss"
    strip_name: str = ""


LEARNING = fall(0.82, 0.3)
CALM = line(0.5, 0.4)
CLOSER = (0.2, 0.5, 0.68, 0.78, 0.85, 0.9, 0.935, 0.965)
PLAN = (ramp(0, 0.05, 0.62), ramp(0.05, 1, -0.24))  # of a learning rate

# fmt: off
SHAPES: dict[str, Sketch] = {
    "near-perfect": Sketch(
        "The loss falls smoothly to the planned end with one tiny spike; validation runs in parallel.",
        (Curve((fall(0.9, 0.14, 4.2), spike(0.62, 0.12, 0.004, 0.004)), rough=0.006),
         Curve((fall(1.0, 0.24, 4.2),), "val", (0.05, 0.98), rough=0)),
        (Label(0.2, 0.12, "smooth fall", 1), Label(0.64, 0.36, "at most a rare spike, back at once", 2),
         Label(0.98, 0.05, "same shape to the planned end", 3, "end"), Label(0.34, 0.48, "validation loss")),
    ),
    "noisy-healthy": Sketch(
        "Single steps scatter widely, evenly above and below a trend that falls to the end.",
        (Curve((fall(0.78, 0.34),), rough=0.15), Curve((fall(0.78, 0.34),), "second", rough=0)),
        (Label(0.28, 0.88, "wide scatter, both ways alike", 1), Label(0.42, 0.1, "width does not grow", 2),
         Label(0.98, 0.62, "the trend falls to the end", 3, "end")),
    ),
    "spike-fast-recovery": Sketch(
        "The loss jumps, and a few steps later it is back on the trend it had before.",
        (Curve((LEARNING,), "trend", (0.44, 0.98), rough=0),
         Curve((LEARNING, spike(0.45, 0.46, 0.006, 0.006)))),
        (Label(0.42, 0.66, "trend before", 1, "end"), Label(0.475, 0.88, "jump, peak at once", 2),
         Label(0.5, 0.2, "back on the extrapolated trend in a few steps", 3)),
        band=(0.43, 0.48),
    ),
    "lr-decay-drop": Sketch(
        "The loss bends downwards just where the learning rate begins to fall, and validation with it.",
        (Curve((fall(0.84, 0.5, 4), ramp(0.68, 1.0, -0.34))),
         Curve((fall(0.94, 0.62, 4), ramp(0.68, 1.0, -0.34)), "val", rough=0)),
        (Label(0.3, 0.36, "steady rate, slow gain", 1), Label(0.66, 0.18, "rate falls", 2, "end", strip=True),
         Label(0.72, 0.14, "loss falls with it", 3, "end"), Label(0.34, 0.84, "validation loss")),
        (Curve((ramp(0.0, 0.06, 0.76), ramp(0.68, 0.98, -0.72)), rough=0),),
        band=(0.68, 0.98), strip_name="learning rate",
    ),
    "batch-ramp": Sketch(
        "Each time the batch grows the loss becomes less noisy, with a small kink; the steps are planned.",
        (Curve((fall(0.8, 0.5),), span=(0.02, 0.34), rough=0.16),
         Curve((fall(0.8, 0.5),), span=(0.34, 0.66), rough=0.08),
         Curve((fall(0.8, 0.5),), span=(0.66, 0.98), rough=0.03)),
        (Label(0.1, 0.3, "small batch: wide noise", 1), Label(0.36, 0.56, "batch doubles", 2, strip=True),
         Label(0.7, 0.72, "noise narrows, trend goes on", 3)),
        (Curve((line(0.22, 0.22), step(0.34, 0.22), step(0.66, 0.44)), rough=0),),
        strip_name="batch size",
    ),
    "spike-slow-recovery": Sketch(
        "The loss jumps and comes down along a new learning curve, for hundreds of steps, to its old trend.",
        (Curve((LEARNING,), "trend", (0.3, 0.98), rough=0), Curve((LEARNING, spike(0.32, 0.4, 0.13)))),
        (Label(0.3, 0.86, "jump", 1, "end"), Label(0.47, 0.64, "long way down, monotone", 2),
         Label(0.98, 0.2, "reaches the extrapolated trend", 3, "end")),
        band=(0.32, 0.8),
    ),
    "multi-dataset-spike": Sketch(
        "Two data sets logged apart: one spike is in both, the next in one of them only.",
        (Curve((fall(0.78, 0.6), spike(0.3, 0.24), spike(0.7, 0.24))),
         Curve((fall(0.36, 0.16), spike(0.3, 0.24)), "second")),
        (Label(0.33, 0.88, "in both: shared cause", 1), Label(0.72, 0.92, "in A only: the data of A", 2),
         Label(0.98, 0.52, "data set A", anchor="end"), Label(0.98, 0.27, "data set B", anchor="end")),
    ),
    "resume-spike": Sketch(
        "A bump follows every restart at once and decays; nothing of the kind between restarts.",
        (Curve((fall(0.6, 0.2, 2), *(spike(x, 0.32, 0.025, 0.001) for x in (0.25, 0.5, 0.75)))),),
        (Label(0.24, 0.84, "resume", 1, "end"), Label(0.285, 0.72, "bump from the first step", 2),
         Label(0.98, 0.66, "again at the next resume", 3, "end")),
        joins=(0.25, 0.5, 0.75),
    ),
    "resume-ratio-skew": Sketch(
        "After a resume the share of a source in the batch dips, the loss rises, and both return together.",
        (Curve((line(0.42, 0.3), *(spike(x, 0.4, 0.05, 0.001) for x in (0.3, 0.65)))),),
        (Label(0.29, 0.8, "resume", 1, "end"), Label(0.38, 0.2, "share of a source dips", 2, strip=True),
         Label(0.37, 0.66, "loss follows it, and returns with it", 3)),
        (Curve((line(0.75, 0.75), *(spike(x, -0.62, 0.05, 0.001) for x in (0.3, 0.65))), rough=0.05),),
        joins=(0.3, 0.65), strip_name="image : text ratio",
    ),
    "lr-not-restored": Sketch(
        "At the restart the learning rate warms up anew instead of going on; the loss dips, then climbs.",
        (Curve((fall(0.7, 0.4), ramp(0.45, 0.52, -0.06), bend(0.58, 0.9, 1.6))),),
        (Label(0.44, 0.82, "restart", 1, "end"), Label(0.43, 0.08, "rate starts over", 2, "end", strip=True),
         Label(0.62, 0.22, "dips, then climbs as the rate passes its plan", 3, "middle"),
         Label(0.98, 0.06, "planned rate", anchor="end", strip=True)),
        (Curve(PLAN, "trend", (0.45, 0.98), rough=0), Curve(PLAN, span=(0.02, 0.45), rough=0),
         Curve((ramp(0.45, 0.85, 0.9),), span=(0.45, 0.98), rough=0)),
        joins=(0.45,), strip_name="learning rate",
    ),
    "level-shift": Sketch(
        "The loss steps to another level within a few samples and goes on there with its old slope.",
        (Curve((CALM,), "trend", (0.5, 0.98), rough=0), Curve((CALM, step(0.5, 0.28)))),
        (Label(0.1, 0.3, "trend before", 1), Label(0.49, 0.66, "one step, no peak", 2, "end"),
         Label(0.98, 0.84, "new level, old slope", 3, "end")),
        band=(0.48, 0.52),
    ),
    "grad-norm-precursor": Sketch(
        "The gradient norm jumps first; the spike of the loss follows some steps later.",
        (Curve((line(0.42, 0.34), spike(0.62, 0.52, 0.02))),),
        (Label(0.46, 0.8, "norm jumps first", 1, "end", strip=True), Label(0.55, 0.62, "lead", 2, "middle"),
         Label(0.66, 0.8, "then the loss", 3)),
        (Curve((line(0.15, 0.15), spike(0.48, 0.8, 0.02), spike(0.62, 0.5, 0.01)), rough=0.08),),
        band=(0.48, 0.62), strip_name="gradient norm",
    ),
    "rising-spike-rate": Sketch(
        "Single spikes that all recover, but the distance between them becomes shorter and shorter.",
        (Curve((fall(0.5, 0.22, 1.5), *(spike(x, 0.3 + x / 6, 0.006, 0.005) for x in CLOSER))),),
        (Label(0.22, 0.74, "rare at first", 1), Label(0.45, 0.12, "every one recovers", 2),
         Label(0.74, 0.9, "ever closer together", 3, "end")),
    ),
    "attention-logit-growth": Sketch(
        "The largest attention logit grows without bound through the alarm level; the loss still looks calm.",
        (Curve((fall(0.7, 0.34), spike(0.9, 0.3, 0.02), spike(0.96, 0.4, 0.02))),),
        (Label(0.34, 0.02, "grows steadily (log scale)", 1, strip=True),
         Label(0.56, 0.86, "passes 100", 2, "end", strip=True),
         Label(0.86, 0.74, "loss reacts late", 3, "end")),
        (Curve((line(0.05, 0.98),), rough=0.05),),
        rule=0.64, strip_name="largest attention logit",
    ),
    "output-logit-drift": Sketch(
        "The mean log Z of the output softmax leaves its level and keeps moving; the loss creeps up later.",
        (Curve((fall(0.66, 0.36, 5), bend(0.62, 0.3))),),
        (Label(0.3, 0.42, "settled", 1, strip=True), Label(0.66, 0.1, "leaves it", 2, "end", strip=True),
         Label(0.9, 0.74, "loss creeps up", 3, "end")),
        (Curve((line(0.8, 0.8), bend(0.42, -0.75, 1.4)), rough=0.04),),
        rule=0.8, strip_name="mean log Z",
    ),
    "entropy-collapse": Sketch(
        "The entropy of the policy is gone soon; the reward rises as it falls, then stands below the best.",
        (Curve((line(0.86, 0.86),), "trend", rough=0), Curve((fall(0.04, 0.52, 16),), rough=0.02)),
        (Label(0.2, 0.5, "entropy gone early", 1, strip=True), Label(0.3, 0.36, "reward stands still", 2),
         Label(0.98, 0.64, "below what could be had", 3, "end"), Label(0.04, 0.92, "best reward")),
        (Curve((fall(0.92, 0.05, 18),), rough=0.02),),
        rule=0.05, y_name="reward", strip_name="entropy of the policy",
    ),
    "length-explosion": Sketch(
        "The mean length of the answers grows several times over; the reward rose before and gains nothing.",
        (Curve((fall(0.1, 0.52, 14),), rough=0.02),),
        (Label(0.4, 0.62, "reward gains nothing", 1),
         Label(0.9, 0.84, "answers several times as long", 2, "end", strip=True)),
        (Curve((line(0.12, 0.16), bend(0.25, 0.72, 1.3)), rough=0.02),),
        y_name="reward", strip_name="length of an answer",
    ),
    "kl-blow-up": Sketch(
        "The reward stands, then falls to nothing, as the divergence from the reference grows without end.",
        (Curve((fall(0.1, 0.62, 14), bend(0.56, -0.56, 1.6)), rough=0.02),),
        (Label(0.5, 0.24, "stands for long", 1, "end", strip=True),
         Label(0.84, 0.8, "grows without end", 2, "end", strip=True),
         Label(0.98, 0.36, "reward is lost", 3, "end")),
        (Curve((fall(0.04, 0.14, 10), bend(0.56, 0.8, 1.6)), rough=0.02),),
        y_name="reward", strip_name="divergence from the reference",
    ),
    "clip-saturation": Sketch(
        "The norm of the gradient stays above the limit at every step; the loss falls all the same.",
        (Curve((fall(0.86, 0.3, 4),)),),
        (Label(0.3, 0.56, "falls all the same", 1),
         Label(0.62, 0.82, "always longer than the limit", 2, "middle", strip=True)),
        (Curve((line(0.5, 0.46),), rough=0.2),),
        rule=0.2, strip_name="gradient norm",
    ),
    "reward-hacking": Sketch(
        "The reward goes on rising; a score that is not trained on rises with it, turns and is lost.",
        (Curve((line(0.2, 0.9),), rough=0.02),
         Curve((fall(0.2, 0.5, 8), bend(0.25, -0.42, 1.4)), "val", rough=0.02)),
        (Label(0.62, 0.8, "the reward rises", 1, "end"), Label(0.24, 0.3, "the judge agrees at first", 2),
         Label(0.7, 0.16, "and then no longer", 3, "end")),
        y_name="reward and score",
    ),
    "router-collapse": Sketch(
        "The loss falls as losses do; soon the busiest expert has several times the mean load, and keeps it.",
        (Curve((fall(0.9, 0.34, 6),)), Curve((fall(0.9, 0.16, 5),), "trend", (0.2, 0.98), rough=0)),
        (Label(0.3, 0.44, "one expert does most of the work", 1, strip=True),
         Label(0.5, 0.5, "falls, but less than it could", 2),
         Label(0.98, 0.06, "with all experts in use", 3, "end")),
        (Curve((fall(0.1, 0.8, 16),), rough=0.03),),
        rule=0.2, strip_name="load of the busiest expert",
    ),
    "plateau": Sketch(
        "The loss falls and then stops: it stays level where the earlier slope would have gone on.",
        (Curve((line(0.88, 0.1),), "trend", (0.4, 0.98), rough=0),
         Curve((ramp(0, 0.45, -0.36), line(0.88, 0.88)))),
        (Label(0.26, 0.8, "it was learning", 1), Label(0.98, 0.66, "flat: slope under a tenth", 2, "end"),
         Label(0.68, 0.18, "where the old slope led", 3, "end")),
        band=(0.45, 0.98),
    ),
    "overfitting": Sketch(
        "The training loss goes on falling; the validation loss turns and rises from its minimum.",
        (Curve((fall(0.84, 0.06, 2),)), Curve((fall(0.9, 0.3, 3.4), bend(0.4, 0.5, 1.5)), "val", rough=0)),
        (Label(0.42, 0.62, "validation: minimum", 1, "middle"),
         Label(0.96, 0.88, "then it rises", 2, "end"), Label(0.44, 0.16, "training goes on falling", 3)),
    ),
    "throughput-drop": Sketch(
        "Tokens a second fall by a few per cent at one step and stay low; the loss shows nothing.",
        (Curve((fall(0.8, 0.4),)),),
        (Label(0.5, 0.3, "tokens a second step down", 1, "end", strip=True),
         Label(0.62, 0.02, "and stay there", 2, strip=True), Label(0.56, 0.76, "loss shows nothing", 3)),
        (Curve((line(0.76, 0.76), step(0.52, -0.4)), rough=0.06),),
        band=(0.52, 0.98), strip_name="throughput",
    ),
    "hang": Sketch(
        "On the axis of time: points come evenly, then none for far longer than a step takes, no error.",
        (Curve((fall(0.74, 0.34),), span=(0.02, 0.4)), Curve((fall(0.84, 0.34),), span=(0.76, 0.98))),
        (Label(0.3, 0.82, "steps come evenly", 1, "middle"), Label(0.58, 0.5, "no step at all", 2, "middle"),
         Label(0.98, 0.7, "goes on, if someone acted", 3, "end")),
        band=(0.4, 0.76), x_name="time, not steps",
    ),
    "spike-no-full-recovery": Sketch(
        "The loss jumps, falls back part of the way and settles above its extrapolated trend.",
        (Curve((LEARNING,), "trend", (0.3, 0.98), rough=0),
         Curve((LEARNING, spike(0.35, 0.3, 0.03), step(0.345, 0.17)))),
        (Label(0.33, 0.92, "jump", 1, "end"), Label(0.42, 0.82, "part of the way back", 2),
         Label(0.98, 0.68, "gap that stays", 3, "end"), Label(0.98, 0.22, "old trend", anchor="end")),
        band=(0.35, 0.98),
    ),
    "divergence-after-spike": Sketch(
        "A spike falls back, or half back, and then the loss climbs and does not stop.",
        (Curve((LEARNING,), "trend", (0.4, 0.98), rough=0),
         Curve((LEARNING, spike(0.4, 0.34, 0.03), bend(0.44, 1.6, 1.5)))),
        (Label(0.38, 0.86, "spike", 1, "end"), Label(0.44, 0.14, "false recovery", 2),
         Label(0.79, 0.9, "climbs out of the picture", 3)),
        band=(0.39, 0.86),
    ),
    "divergence-no-spike": Sketch(
        "The loss passes a smooth minimum and turns upwards, with no spike anywhere.",
        (Curve((fall(0.9, 0.1, 3.2), bend(0.4, 0.9, 1.7))),),
        (Label(0.3, 0.6, "falls", 1), Label(0.5, 0.14, "lowest point, no spike near it", 2, "middle"),
         Label(0.76, 0.74, "rises smoothly", 3, "end")),
        band=(0.55, 0.98),
    ),
    "failed-run": Sketch(
        "Attempt after attempt falls a little and then leaves the path; the best loss does not improve.",
        tuple(Curve((fall(0.95, 0.4, 11), bend(0.14 + 0.15 * i, 2.6 + i, 2)), "live" if i == 4 else "dead")
              for i in range(5)),
        (Label(0.1, 0.24, "each attempt falls a little", 1), Label(0.84, 0.86, "and leaves the path", 2),
         Label(0.5, 0.24, "the best loss does not improve", 3)),
    ),
    "nan-inf": Sketch(
        "The curve ends: from one step on the values are no numbers.",
        (Curve((LEARNING, bend(0.54, 1.2, 3)), span=(0.02, 0.6)),),
        (Label(0.58, 0.68, "often no warning", 1, "end"),
         Label(0.64, 0.72, "not a number, every step after", 2)),
        cross=tuple((0.64 + 0.05 * i, 0.56) for i in range(7)), band=(0.61, 0.98),
    ),
    "loss-scale-collapse": Sketch(
        "The loss scale halves again and again; the loss breaks out only afterwards.",
        (Curve((line(0.36, 0.3), bend(0.74, 1.1, 1.4))),),
        (Label(0.14, 0.3, "healthy scale", 1, strip=True),
         Label(0.58, 0.7, "halves again and again", 2, strip=True),
         Label(0.8, 0.78, "then the loss breaks out", 3, "end")),
        (Curve((line(0.82, 0.82), *(step(0.46 + 0.035 * i, -0.11) for i in range(7))), rough=0),),
        band=(0.46, 0.72), strip_name="loss scale (log)",
    ),
    "frozen-metric": Sketch(
        "From one step on the value is the same to the last bit, without any noise.",
        (Curve((LEARNING,), span=(0.02, 0.5), rough=0.05),
         Curve((line(0.42, 0.42),), span=(0.5, 0.98), rough=0)),
        (Label(0.1, 0.94, "ordinary noise", 1), Label(0.54, 0.54, "bit for bit the same value", 2),
         Label(0.54, 0.22, "no noise at all: nothing is computed anew", 3)),
        band=(0.5, 0.98),
    ),
    "grokking": Sketch(
        "After a long slow stretch the loss falls steeply in a short time, validation too, and stays low.",
        (Curve((line(0.8, 0.68), ramp(0.56, 0.62, -0.42))),
         Curve((line(0.9, 0.78), ramp(0.58, 0.65, -0.42)), "val", rough=0)),
        (Label(0.1, 0.58, "long, slow stretch", 1), Label(0.55, 0.36, "sudden fall", 2, "end"),
         Label(0.98, 0.1, "stays low", 3, "end"), Label(0.67, 0.62, "validation loss")),
        band=(0.56, 0.65),
    ),
    "repeat-data": Sketch(
        "The loss falls at a resume, stays low while data are replayed, then steps up to the level it had.",
        (Curve((line(0.86, 0.76),), "val", rough=0), Curve((line(0.7, 0.6),), "dead", (0.3, 0.42)),
         Curve((line(0.7, 0.6),), span=(0.02, 0.3)),
         Curve((line(0.7, 0.6), line(-0.34, -0.34), step(0.62, 0.34)), span=(0.3, 0.98))),
        (Label(0.29, 0.2, "resume", 1, "end"), Label(0.46, 0.14, "too low: replayed data", 2, "middle"),
         Label(0.64, 0.44, "step up to the true level", 3),
         Label(0.98, 0.84, "validation: no edge", anchor="end")),
        band=(0.3, 0.62), joins=(0.3,),
    ),
    "reinitialised": Sketch(
        "The loss jumps back to the value of the very first step and runs down the same curve again.",
        (Curve((fall(0.92, 0.2, 9),), span=(0.02, 0.52)),
         Curve((lambda x: fall(0.92, 0.2, 9)(x - 0.5),), span=(0.52, 0.98))),
        (Label(0.1, 0.8, "first start", 1), Label(0.5, 0.9, "back at the first value", 2, "end"),
         Label(0.64, 0.56, "the same curve a second time", 3)),
    ),
    "quantised-loss": Sketch(
        "The loss takes only a few values on an even grid, so the curve is a ladder.",
        (Curve((fall(0.86, 0.2),), rough=0.1, grid=0.12),),
        (Label(0.3, 0.9, "few values, evenly spaced", 1), Label(0.46, 0.1, "flips between neighbours", 2)),
    ),
}
# fmt: on
