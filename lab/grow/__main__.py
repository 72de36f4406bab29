"""Grows many small trainings with a known cause: `python -m lab.grow` writes labelled runs into lab/out/.

Existing runs are left alone, so an interrupted command continues where it stopped. `--summary` measures the
classifier on what has grown.
"""

from __future__ import annotations

import argparse
import time
import tomllib
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatch
from pathlib import Path

from lab.grow.plan import Recipe, recipes
from lab.grow.store import OUT

SLOW = ("gpt", "adder")


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m lab.grow", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="these alone; * and ? work")
    parser.add_argument("--workers", type=int, default=1, help="trainings at once (1)")
    parser.add_argument("--out", type=Path, default=OUT, help="folder to grow into (lab/out/)")
    parser.add_argument(
        "--label", action="store_true", help="write logs and labels of all again, train nothing twice"
    )
    parser.add_argument("--summary", action="store_true", help="score the classifier on what has grown")
    options = parser.parse_args(arguments)
    if options.summary:
        from lab.grow.summary import summary

        print(summary(options.out))
        return
    chosen = [r for r in recipes().values() if any(fnmatch(r.name, only) for only in options.only)]
    todo = [r for r in chosen if options.label or not is_grown(r, options.out)]
    todo.sort(key=lambda r: r.run.model in SLOW)  # a night that ends early has most of them
    with ProcessPoolExecutor(options.workers) as pool:
        for recipe, seconds in zip(todo, pool.map(_grow, todo, [options.out] * len(todo)), strict=True):
            print(f"{recipe.half}/{recipe.name}: {seconds:.0f} s", flush=True)


def is_grown(recipe: Recipe, out: Path) -> bool:
    """Whether the run is there, made by this very recipe."""
    try:
        table = tomllib.loads((out / recipe.half / recipe.name / "label.toml").read_text("utf-8"))
    except OSError:
        return False
    return bool(table.get("fingerprint") == recipe.fingerprint)


def _grow(recipe: Recipe, out: Path) -> float:
    from lab.grow.write import grow

    started = time.perf_counter()
    grow(recipe, out)
    return time.perf_counter() - started


if __name__ == "__main__":
    main()
