"""The noise of real healthy runs: residuals of their losses, drawn again in blocks.

A generator's noise is what its author thought of. Residuals of logs hold what he did not: tails, volatility,
and the memory from sample to sample. Blocks are drawn with replacement (Künsch 1989), long enough to keep
that memory; what is slower than a block, and what the smooth trend took away, is lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chronicle.errors import ChronicleError
from chronicle.model import Role, Series
from chronicle.readers import read_all
from chronicle.score import labelled, load_label
from chronicle.score.labels import Label

Floats = NDArray[np.float64]
RUNS = Path(__file__).parent.parent.parent / "runs"
WINDOW = 65  # samples of the running median that is taken for the trend
BLOCK = 64  # samples
FEWEST = 200  # healthy samples: fewer are no source


@dataclass(frozen=True, eq=False)
class Residuals:
    """Healthy residuals of one run in noise scales, in the order of the log. ``source`` names the run."""

    source: str
    values: Floats
    noise_log: float

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """``n`` samples: circular blocks from random places."""
        starts = rng.integers(0, len(self.values), -(-n // BLOCK))
        places = (starts[:, None] + np.arange(BLOCK)).ravel()[:n]
        drawn: Floats = np.take(self.values, places, mode="wrap")
        return drawn


def residuals(source: str, steps: Floats, values: Floats, label: Label) -> Residuals | None:
    """The residuals of a loss outside its labelled events; None where too little is left or it is not
    positive. The first tenth is left out: a running median follows no steep start."""
    bad = ~np.isfinite(values) | (np.arange(len(values)) < len(values) // 10)
    for event in label.masking:
        first, last = event.window
        bad |= (steps >= first) & (steps <= last)
    if (values[~bad] <= 0).any() or (~bad).sum() < FEWEST:
        return None
    y = np.log(values[~bad])
    edge = WINDOW // 2
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(y, edge, mode="edge"), WINDOW)
    off = (y - np.median(windows, axis=1))[edge:-edge]
    noise = 1.4826 * float(np.median(np.abs(off)))
    return Residuals(source, off / noise, noise) if noise > 1e-4 else None


def of_folder(folder: Path, *, digitised: bool = False) -> Iterator[Residuals]:
    """Residuals of the labelled runs below a folder, one log each; pictures' pens are no noise."""
    for run in labelled(folder):
        if not digitised and any(run.glob("digitised*")):
            continue
        label = load_label(run)
        for series in losses(run, label):
            found = residuals(run.name, series.steps.astype(float), series.values, label)
            if found is not None:
                yield found
                break


def losses(run: Path, label: Label) -> Iterator[Series]:
    """The main series of a labelled run, from those of its logs that can be read."""
    for log in sorted(p for p in run.rglob("*") if p.is_file() and not p.name.startswith("label.")):
        if log.suffix in (".toml", ".md"):
            continue
        try:
            attempts = read_all(log).attempts
        except ChronicleError:
            continue  # a file that is no log
        for attempt in attempts:
            named = [s for s in attempt.series.values() if s.metric in label.main_series]
            yield from named or attempt.by_role(Role.LOSS)


@cache
def _shipped() -> tuple[Residuals, ...]:
    return tuple(of_folder(RUNS))


def shipped(seed: int) -> Residuals:
    """Residuals of one of the real runs of this repository."""
    sources = _shipped()
    return sources[seed % len(sources)]
