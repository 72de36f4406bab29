"""Runs a training of the lab: `python -m lab.train NAME` writes logs and run.toml into runs/lab-NAME/."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lab import limits, policy, rewards, routing
from lab.logs import FORMATS, Log
from lab.numpy_training import NumpyTraining
from lab.recipe import Recipe
from lab.recipes import BY_NAME

RUNS = Path(__file__).parents[1] / "runs"
KEPT = ("label.toml", "notes.md")  # what people wrote about a run
GROKKING = "grokking"
IN_NUMPY = {made.name: made for module in (policy, rewards, routing, limits) for made in module.TRAININGS}
NAMES = (*BY_NAME, GROKKING, *IN_NUMPY)


@dataclass(frozen=True)
class Made:
    """What is known of a training once it is done; ``injected_at`` are the steps of its faults."""

    name: str
    title: str
    cause: str
    description: str
    tags: tuple[str, ...]
    seed: int
    parameters: int
    attempts: int
    seconds: float
    injected_at: tuple[int, ...] = ()
    tokens_per_step: int = 0
    known: str = ""  # how the gallery calls the cause


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m lab.train", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", choices=[*NAMES, "all"], help=", ".join(NAMES))
    parser.add_argument("--out", type=Path, default=RUNS, help="folder to write lab-NAME/ into (runs/)")
    options = parser.parse_args(arguments)
    for name in NAMES if "all" in options.names else options.names:
        print(f"{name}: {make(name, options.out):.0f} s", flush=True)


def make(name: str, out: Path) -> float:
    """Trains one recipe into ``out``/lab-NAME/, replacing an earlier log; returns the seconds it took."""
    folder = out / f"lab-{name}"
    _clear(folder)
    if name in IN_NUMPY:
        made = _in_numpy(IN_NUMPY[name], folder)
    else:
        import torch

        torch.set_num_threads(1)  # the same sums in the same order, whatever the machine
        made = _grok(folder) if name == GROKKING else _train(BY_NAME[name], folder)
    (folder / "run.toml").write_text(run_toml(made), "utf-8")
    return made.seconds


def _clear(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name not in KEPT:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _train(recipe: Recipe, folder: Path) -> Made:
    from lab.loop import CONTEXT, train

    several = len(recipe.attempts) > 1

    def open_log(number: int) -> Log:
        return FORMATS[recipe.format](folder, f"attempt-{number + 1}" if several else "")

    started = time.perf_counter()
    parameters = train(recipe, open_log)
    return Made(
        name=recipe.name,
        title=recipe.title,
        cause=recipe.cause,
        description=recipe.description,
        tags=recipe.tags,
        seed=recipe.seed,
        parameters=parameters,
        attempts=len(recipe.attempts),
        seconds=time.perf_counter() - started,
        injected_at=tuple(sorted(f.at for f in recipe.faults)),
        tokens_per_step=0 if recipe.batch_ramp else recipe.batch * CONTEXT,
        known=recipe.known,
    )


def _in_numpy(of: NumpyTraining, folder: Path) -> Made:
    started = time.perf_counter()
    of.train(FORMATS["csv"](folder, ""))
    seconds, words = time.perf_counter() - started, (of.name, of.title, of.cause, of.description, of.tags)
    return Made(*words, of.seed, of.parameters, 1, seconds, known=of.known)


def _grok(folder: Path) -> Made:
    from lab import grok

    started = time.perf_counter()
    parameters = grok.train(FORMATS["csv"](folder, ""))
    seconds = time.perf_counter() - started
    tags = ("algorithmic", "grokking")
    return Made(GROKKING, grok.TITLE, grok.CAUSE, grok.DESCRIPTION, tags, grok.SEED, parameters, 1, seconds)


def run_toml(made: Made) -> str:
    """The run.toml of a training: what chronicle needs, then the facts of its making."""
    lines = [
        f"title = {_quoted(made.title)}",
        'project = "Lab"',
        f"description = {_folded(made.description)}",
        f'source = "made by lab/ of this repository: python -m lab.train {made.name}"',
        'licence = "MIT"',
        f"tags = {_list(map(_quoted, made.tags))}",
        'data = "tiny training"',
        *(['relation = "attempts"'] if made.attempts > 1 else []),
        *([f"tokens_per_step = {made.tokens_per_step}.0"] if made.tokens_per_step else []),
        "",
        "[facts]",
        f'"injected cause" = {_quoted(made.cause)}',
        *([f'"known cause" = {_quoted(made.known)}'] if made.known else []),
        *([f'"injected at step" = {_list(map(str, made.injected_at))}'] if made.injected_at else []),
        f"seed = {made.seed}",
        f"parameters = {made.parameters}",
        f'"training, seconds" = {made.seconds:.0f}',
    ]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _folded(text: str) -> str:
    lines = textwrap.wrap(text, 98, break_on_hyphens=False)
    return '"""\\\n' + " \\\n".join(lines) + '"""'


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(items)}]"


if __name__ == "__main__":
    main()
