"""The simulated clock of a grown training, and which of its rows the log gets. NumPy alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from lab.faults import Kind, active
from lab.grow.plan import LogStyle, Recipe

Row = dict[str, float]
START = 1_790_000_000.0  # [s] Unix time of every first step
BETWEEN_ATTEMPTS_S, JITTER = 900.0, 0.015
ALWAYS = ("step", "time", "loss")


def timed(recipe: Recipe, attempts: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """The rows with ``time``, ``step_time`` and ``tokens_per_second``; evaluations pause the training."""
    plan, now, out = recipe.run, START, []
    rng = np.random.default_rng([plan.seed, 99])
    for attempt in attempts:
        rows = []
        for row in attempt:
            step = int(row["step"])
            slow, hang = (active(recipe.faults, k, step) for k in (Kind.SLOW, Kind.HANG))
            took = plan.seconds * (slow.amount if slow else 1.0) * (1 + JITTER * rng.standard_normal())
            took += hang.amount if hang else 0.0
            now += took
            tokens = row.get("batch_size", plan.batch) * plan.context
            rows.append(row | {"time": now, "step_time": took, "tokens_per_second": tokens / took})
            now += plan.pause_s if "val_loss" in row else 0.0  # the evaluation comes after the row
        out.append(rows)
        now += BETWEEN_ATTEMPTS_S
    return out


def logged(style: LogStyle, rows: Sequence[Row]) -> list[Row]:
    """The rows of an attempt as its log has them: cadence, chosen series, rounding."""
    if style.only == "eval":
        rows = [row for row in rows if "val_loss" in row]
    else:
        rows = [row for row in rows if int(row["step"]) % style.every == 0]
    return [
        {k: rounded(v, style.rounding) if k == "loss" else v for k, v in row.items() if wanted(style, k)}
        for row in rows
    ]


def wanted(style: LogStyle, name: str) -> bool:
    """Whether a series goes into the log: those that were asked for, and every loss by source."""
    return name in ALWAYS or name in style.series or name.startswith(("loss/", "ratio/"))


def rounded(value: float, how: str) -> float:
    """A value as a log keeps it: "" all of it, "bf16" eight bits of mantissa, else so many decimals."""
    if how == "bf16":
        bits = struct.unpack("<I", struct.pack("<f", value))[0]
        bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000  # to the nearest, ties to even
        return float(struct.unpack("<f", struct.pack("<I", bits))[0])
    return round(value, int(how)) if how else value
