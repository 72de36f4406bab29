"""What a grown training is made of: a plan (the healthy training), what is done to it, and how it is logged.

The recipes are data: `recipes/bases.toml` holds plans that several recipes share, the other files one table
a recipe. NumPy is not needed, PyTorch neither.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

from lab.faults import Fault, Kind

FOLDER = Path(__file__).parent / "recipes"
BASES = "bases.toml"
# Faults that show by themselves: nothing has to be measured against a twin.
PLAIN = frozenset({Kind.NAN, Kind.INF, Kind.ZERO_LOG, Kind.STALE_LOG, Kind.SLOW, Kind.HANG})
VERSION = 1  # raised when trainings come out otherwise than before: what was grown is grown again


@dataclass(frozen=True)
class Plan:
    """A healthy training. Lengths are in optimizer steps, ``batch`` in rows, ``unique_rows`` 0: endless data.

    ``difficulty`` is the task's own noise (see tasks.py), ``share`` the part of a batch that is the second
    source, ``validate_every`` 0: never. ``seconds`` a step and ``pause_s`` an evaluation are of a simulated
    clock, so that the machine leaves no trace.
    """

    task: str = "chars"
    model: str = "mlp-lm"
    steps: int = 1000
    seed: int = 1
    width: int = 32
    layers: int = 1
    context: int = 32
    batch: int = 16
    batch_ramp: tuple[tuple[int, int], ...] = ()
    unique_rows: int = 0
    difficulty: float = 1.0
    share: float = 0.0
    optimizer: str = "adamw"
    lr: float = 3e-3
    schedule: str = "constant"
    warmup: int = 50
    turn: int = 0
    clip: float = 1.0
    beta2: float = 0.95
    eps: float = 1e-8
    weight_decay: float = 0.0
    fp16: bool = False
    layer_norm: bool = True
    qk_norm: bool = False
    init: float = 1.0
    validate_every: int = 50
    seconds: float = 0.4
    pause_s: float = 3.0


@dataclass(frozen=True)
class LogStyle:
    """How a training writes: one row in ``every`` steps, in a format of `lab.logs`.

    ``series`` are those logged beside the loss. ``rounding``: "", "bf16", or a number of decimals. ``only``:
    "eval" logs rows of evaluation and nothing between.
    """

    format: str = "csv"
    every: int = 1
    series: tuple[str, ...] = ("grad_norm", "lr", "val_loss")
    rounding: str = ""
    only: str = ""


@dataclass(frozen=True)
class Recipe:
    """One training to grow. ``run`` is what is trained, ``twin`` the same without its cause.

    ``aim`` is the pattern that the cause is known to make ("" for a healthy run); whether it did is measured.
    ``attempts`` are (first step, step after the last). ``joins`` may be named by what they lose.
    """

    name: str
    aim: str
    cause: str
    run: Plan
    twin: Plan
    faults: tuple[Fault, ...] = ()
    attempts: tuple[tuple[int, int], ...] = ()
    log: LogStyle = LogStyle()

    @property
    def half(self) -> str:
        """ "develop" or "hold", by a hash of the name: rules are tuned on the first half alone."""
        return "hold" if hashlib.sha256(self.name.encode()).digest()[0] % 2 else "develop"

    @property
    def fingerprint(self) -> str:
        """Changes with anything that the grown run depends on."""
        return digest([VERSION, asdict(self)])

    @property
    def has_twin(self) -> bool:
        """Whether anything was done to the training, so that one without it tells what that did."""
        return self.run != self.twin or any(f.kind not in PLAIN for f in self.faults)

    @property
    def twin_key(self) -> str:
        """Equal for recipes that share a twin."""
        return digest([VERSION, asdict(self.twin)])


def digest(value: Any) -> str:
    """A short hash of plain values."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


@cache
def recipes() -> dict[str, Recipe]:
    """All recipes by name, in the order of their files."""
    bases = tomllib.loads((FOLDER / BASES).read_text("utf-8"))
    found: dict[str, Recipe] = {}
    for file in sorted(FOLDER.glob("*.toml")):
        for name, table in tomllib.loads(file.read_text("utf-8")).items() if file.name != BASES else ():
            if name in found:
                raise ValueError(f"{file.name}: {name} is there twice")
            found[name] = parse(name, table, bases)
    return found


def parse(name: str, table: Mapping[str, Any], bases: Mapping[str, Any]) -> Recipe:
    """A recipe from its table: a base, what differs from it, and the cause.

    Keys of `Plan` change the training and its twin, those below ``but`` the training alone.

    Raises:
        ValueError: a key or a fault that does not exist.
    """
    own = {"base", "aim", "cause", "but", "faults", "attempts", "log", *(f.name for f in fields(Plan))}
    if unknown := set(table) - own:
        raise ValueError(f"{name}: unknown keys {sorted(unknown)}")
    changes = {f.name: table[f.name] for f in fields(Plan) if f.name in table}
    twin = _plan({**bases[table["base"]], **changes})
    run = _plan({**asdict(twin), **table.get("but", {})})
    log = dict(table.get("log", {}))
    log["series"] = tuple(log.get("series", LogStyle().series))
    attempts = tuple((a, b) for a, b in table.get("attempts", ())) or ((0, run.steps),)
    faults = tuple(f for entry in table.get("faults", ()) for f in _faults(entry, run.steps))
    return Recipe(name, table["aim"], table["cause"], run, twin, faults, attempts, replace(LogStyle(), **log))


def _plan(table: Mapping[str, Any]) -> Plan:
    ramp = tuple((a, b) for a, b in table.get("batch_ramp", ()))
    return Plan(**{**table, "batch_ramp": ramp})


def _faults(entry: Mapping[str, Any], steps: int) -> list[Fault]:
    """One fault, or several of a kind where ``at`` is a list; without ``steps`` it lasts to the end."""
    at = entry["at"] if isinstance(entry["at"], list) else [entry["at"]]
    length = entry.get("steps", 1)
    rest = {k: v for k, v in entry.items() if k not in ("kind", "at", "steps")}
    return [Fault(Kind(entry["kind"]), a, length or steps - a, **rest) for a in at]
