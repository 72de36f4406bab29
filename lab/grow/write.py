"""Writes a grown training as a labelled run: its logs, run.toml where there are several, label.toml."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.grow.clock import logged, timed
from lab.grow.facts import AttemptLog, Case
from lab.grow.label import label
from lab.grow.logs import write
from lab.grow.plan import Recipe
from lab.grow.store import trained

SUFFIXES = {"csv": ".csv", "jsonl": ".jsonl", "megatron": ".log", "events": "", "state": ""}


def grow(recipe: Recipe, out: Path) -> Path:
    """The folder ``out``/develop/NAME or ``out``/hold/NAME with the run; trains what is not trained yet."""
    run, twin = trained(recipe, out)
    folder = out / recipe.half / recipe.name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    several = len(run) > 1
    twin_rows = {int(row["step"]): row for row in twin}
    logs = []
    for number, rows in enumerate(timed(recipe, run)):
        name = f"attempt-{number + 1}" if several else ""
        shown = logged(recipe.log, rows)
        write(recipe.log.format, folder, name, shown)
        logs.append(AttemptLog(name and name + SUFFIXES[recipe.log.format], shown, twin_rows))
    if several:
        (folder / "run.toml").write_text('relation = "attempts"\n', "utf-8")
    case = Case(recipe, logs)
    (folder / "label.toml").write_text(toml({**label(case), "fingerprint": recipe.fingerprint}), "utf-8")
    return folder


def toml(table: Mapping[str, Any]) -> str:
    """A table of plain values, then its sub-tables, then its lists of tables."""
    events = table.get("events", ())
    measured = table.get("measured", {})
    plain = {k: v for k, v in table.items() if k not in ("events", "measured")}
    lines = [f"{k} = {json.dumps(v)}" for k, v in plain.items()]
    lines += ["", "[measured]", *(f"{k} = {json.dumps(v)}" for k, v in measured.items())]
    for event in events:
        lines += ["", "[[events]]", *(f"{k} = {json.dumps(v)}" for k, v in event.items())]
    return "\n".join(lines) + "\n"
