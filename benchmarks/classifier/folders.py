"""Labelled runs on disk, scored and grouped by their source."""

from __future__ import annotations

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from chronicle.cli.commands import predict
from chronicle.score import CaseResult, labelled, score_folder

ROOT = Path(__file__).parent.parent.parent
SPECIMENS = ROOT / "runs"
LAB = ROOT / "lab" / "out"  # develop/ and hold/


def known(also: Iterable[str] = ()) -> dict[str, Path]:
    """Folders of labelled runs by name: the specimens, the lab's trainings, and others as NAME=DIR."""
    grown = {f"lab, {part}": at for part in ("develop", "hold") if (at := lab(part))}
    return {"specimens": SPECIMENS, **grown, **elsewhere(also)}


def elsewhere(named: Iterable[str]) -> dict[str, Path]:
    """Folders that were given as NAME=DIR."""
    return {name: Path(folder) for name, _, folder in (item.partition("=") for item in named)}


def scored(folder: Path) -> dict[str, list[CaseResult]]:
    """Results of the labelled runs below a folder, by source; unreadable formats left out."""
    groups: dict[str, list[CaseResult]] = defaultdict(list)
    for result in score_folder(folder, predict).cases:
        if not result.error:
            groups[source(folder / result.id)].append(result)
    return dict(sorted(groups.items()))


def source(run: Path) -> str:
    """The source of a training: the project in run.toml, or the source that the label names; for a training
    of the lab the pattern that it was made to show."""
    if (run / "run.toml").is_file():
        return str(tomllib.loads((run / "run.toml").read_text("utf-8")).get("project") or run.name)
    if (run / "label.toml").is_file():
        table = tomllib.loads((run / "label.toml").read_text("utf-8"))
        return str(table.get("aim") or f"verdict {table['verdict']}")
    label = run / "label.json"
    if label.is_file():
        named = json.loads(label.read_text("utf-8")).get("source")
        first = named[0] if isinstance(named, list) and named else named
        return str(first.get("repo", run.name) if isinstance(first, dict) else first or run.name)
    return run.name


def leave_one_out(groups: Mapping[str, Sequence[CaseResult]]) -> dict[str, list[CaseResult]]:
    """For every source the results of all other sources."""
    return {
        f"without {name}": [r for other, results in groups.items() if other != name for r in results]
        for name in groups
    }


def lab(part: str) -> Path | None:
    """The grown trainings of ``develop`` or ``hold``, if there are any."""
    folder = LAB / part
    return folder if folder.is_dir() and any(folder.iterdir()) and labelled(folder) else None
