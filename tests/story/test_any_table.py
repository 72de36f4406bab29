"""Tables of columns as trainers log them, thrown together by chance: none is too odd to be read and told.

What a column may hold is listed in COURSES, what it may be called in NAMES. A table of two or more launches,
epochs, odd numbers and texts is written in one of five formats and goes through all stages up to the story.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.depth import few

from chronicle import runs
from chronicle.errors import ChronicleError
from chronicle.metrics.aliases import word_set
from chronicle.story import tell

NAMES = sorted(
    word_set(
        "step epoch iter global_step batch loss train_loss val_loss total_loss kl_loss acc val_acc lr"
        " id fold learning_rate grad_norm time timestamp elapsed reward mean_reward entropy seed run"
        " phase model tokens samples loss_scale throughput step_time perplexity f1 d_loss g_loss"
        " critic_loss weight dataset metric value index generation fitness episode length kl"
        " success_rate date"
    )
)
COUNTERS = ("step", "epoch", "iter", "global_step")
WORDS = {
    "phase": ("train", "val", "test"), "date": ("2024-01-01 00:00:00", "2024-01-02 00:00:00"),
    "model": ("a", "b"), "dataset": ("pile", "c4"), "metric": ("loss", "acc"), "run": ("first", "second"),
}  # fmt: skip
ODD_CELLS = ("", "nan", "inf", "-inf", "None", "n/a", "foo", "1,5", "True")
# The values of a column in ``n`` rows of ``launches`` launches; ``k`` is a row somewhere among them.
Course = Callable[[int, int, int], NDArray[np.float64]]
COURSES: dict[str, Course] = {
    "grows": lambda n, launches, k: np.arange(n) + k % 2,
    "grows by tens": lambda n, launches, k: 10 * np.arange(n),
    "begins again with each launch": lambda n, launches, k: np.arange(n) % max(n // launches, 1),
    "goes back once": lambda n, launches, k: np.r_[np.arange(k), k // 2 + np.arange(n - k)],
    "counts epochs": lambda n, launches, k: np.arange(n) // 10,
    "comes again": lambda n, launches, k: np.arange(n) % 7,
    "is the same": lambda n, launches, k: np.full(n, k % 3 - 1),
    "falls": lambda n, launches, k: 3 * (np.arange(n) + 1.0) ** -0.3,
    "is learned in noise": lambda n, launches, k: 2 + (np.arange(n) + 1.0) ** -0.3 + 0.1 * NOISE[:n],
    "rises": lambda n, launches, k: (np.arange(n) + 1.0) ** 0.5,
    "scatters around zero": lambda n, launches, k: NOISE[:n],
    "is a share": lambda n, launches, k: np.abs(NOISE[:n]) % 1,
    "jumps and comes back": lambda n, launches, k: np.where(abs(np.arange(n) - k) < 3, 90.0, 3.0),
    "jumps for good": lambda n, launches, k: np.where(np.arange(n) < k, 3.0, 3e6),
    "turns NaN": lambda n, launches, k: np.where(np.arange(n) < k, 3.0 - np.arange(n) / n, np.nan),
    "turns infinite": lambda n, launches, k: np.where(np.arange(n) < k, 3.0, np.inf),
    "is a clock": lambda n, launches, k: 1.7e9 + 30.0 * np.arange(n) + 3600 * (np.arange(n) > k),
    "is huge": lambda n, launches, k: np.full(n, 1e300),
}
NOISE = np.random.default_rng(0).standard_normal(300)
SEEDS = few(range(4000), 150)


def columns(chance: random.Random) -> dict[str, list[str]]:
    """The cells of a table by the names of its columns."""
    n, launches = chance.choice((1, 2, 3, 8, 20, 64, 100, 300)), chance.choice((1, 2, 5))
    names = chance.sample(NAMES, chance.randint(1, 7))
    if not {*COUNTERS} & {*names}:
        names[0] = chance.choice(COUNTERS)
    return {name: cells(name, n, launches, chance) for name in names}


def cells(name: str, n: int, launches: int, chance: random.Random) -> list[str]:
    if name in WORDS and chance.random() < 0.8:
        return [chance.choice(WORDS[name]) for _ in range(n)]
    counts = list(COURSES)[:6]
    course = COURSES[chance.choice(counts if name in COUNTERS else list(COURSES))]
    spelling, odd = chance.choice(("{:g}", "{:.4f}", "{!r}")), chance.choice((0.0, 0.0, 0.02, 0.5))
    values = np.asarray(course(n, launches, chance.randrange(n)), float).tolist()
    return [chance.choice(ODD_CELLS) if chance.random() < odd else spelling.format(v) for v in values]


def write(folder: Path, table: dict[str, list[str]], chance: random.Random) -> Path:
    """The table as a file of one of five formats."""
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    ending = chance.choice(("csv", "tsv", "jsonl", "json", "log"))
    file = folder / f"{chance.choice(('metrics', 'train_loss', 'log', 'history'))}.{ending}"
    if ending in ("csv", "tsv"):
        mark = "," if ending == "csv" else "\t"
        lines = [mark.join(table), *(mark.join(c.replace(",", ".") for c in row.values()) for row in rows)]
    elif ending == "log":
        sign, between = chance.choice((": ", "=", " ")), chance.choice((", ", " | ", " "))
        lines = [between.join(f"{n}{sign}{c}" for n, c in row.items() if c) for row in rows]
    elif ending == "jsonl":
        lines = [json.dumps({n: number_or_text(c) for n, c in row.items() if c}) for row in rows]
    else:
        lines = [json.dumps({n: list(map(number_or_text, own)) for n, own in table.items()})]
    file.write_text("\n".join(lines) + "\n")
    return file


def number_or_text(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return cell


def told(file: Path) -> Sequence[str]:
    """The headlines of the runs of a log; that it cannot be read is said as an error with a remedy."""
    try:
        diagnosed = [run.diagnose()[:2] for run in runs(file)]
    except ChronicleError as err:
        assert "defect" not in str(err) and "Remedy: " in str(err), err
        return ["not read"]
    return [tell(timeline, diagnosis).headline for timeline, diagnosis in diagnosed]


@pytest.mark.slow
def test_no_table_is_too_odd(tmp_path: Path) -> None:
    headlines = list[str]()
    for seed in SEEDS:
        chance = random.Random(seed)
        file = write(tmp_path, columns(chance), chance)
        headlines += told(file)
        file.unlink()
    assert all(headlines) and 2 * headlines.count("not read") < len(headlines)
