"""A team's archive of thirty runs over three months: `python -m lab.archive FOLDER`.

The curves are those of the lab's trainings in runs/; the team, its dates, its machines and
its notes are made up (lab/archive.toml), and every page of the archive says so. It shows what chronicle is
after a quarter of use: resumes, faults, decisions, reviews, two people.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

import chronicle
from chronicle.model import Attempt
from chronicle.workspace.config import RunConfig, load
from chronicle.workspace.folders import init

HERE = Path(__file__).parent
RUNS = HERE.parent / "runs"
SAYS = "The curve is that of a tiny training of chronicle's lab; team, dates, machines and notes are made up."
_GAP_S = 5400.0  # from the end of an attempt to the next, where the table does not say


def make(folder: Path, table: Path = HERE / "archive.toml") -> list[str]:
    """Makes the workspace in ``folder``, which is empty or not there; returns the ids of its runs.

    Raises:
        FileExistsError: there is a run already.
    """
    plan = tomllib.loads(table.read_text("utf-8"))
    init(folder)
    (folder / "chronicle.toml").write_text(f"title = {json.dumps(plan['title'])}\n", "utf-8")
    engine = folder / "mkdocs.yml"
    named = engine.read_text("utf-8").replace("site_name: chronicle", f"site_name: {plan['title']}")
    engine.write_text(named, "utf-8")
    for row in plan["run"]:
        _write_run(folder / "runs" / row["id"], row)
    return [row["id"] for row in plan["run"]]


def _write_run(folder: Path, row: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True)
    specimen = RUNS / row["from"]
    attempts = chronicle.runs(specimen)[0].timeline().attempts
    starts_s = _write_attempts(folder, attempts, row)
    faults = [_fault_line(starts_s, *fault) for fault in row.get("faults", ())]
    if faults:
        (folder / "kernel.log").write_text("".join(faults), "utf-8")
    (folder / "run.toml").write_text(_run_toml(load(RunConfig, specimen / "run.toml"), row), "utf-8")
    if row.get("notes"):
        (folder / "notes.md").write_text(row["notes"], "utf-8")


def _write_attempts(folder: Path, attempts: Sequence[Attempt], row: Mapping[str, Any]) -> list[float]:
    """One CSV an attempt, with the clock of the table; returns the ends of the attempts in Unix seconds."""
    start_s = datetime.fromisoformat(row["start"]).replace(tzinfo=UTC).timestamp()
    ends_s = []
    for number, attempt in enumerate(attempts, 1):
        # A NaN that was logged is written as one; what was not logged stays empty.
        series = {
            name: pd.Series(s.values, s.steps).map("{:.6g}".format) for name, s in attempt.series.items()
        }
        columns = {name: values[~values.index.duplicated(keep="last")] for name, values in series.items()}
        rows = pd.DataFrame(columns).sort_index()
        rows = rows[rows.index <= row.get("until_step", rows.index.max())]
        clock = start_s + (rows.index - rows.index.min()) * row["step_s"]
        rows.insert(0, "timestamp", clock.astype("int64"))
        rows.to_csv(folder / f"attempt-{number}.csv", index_label="step")
        ends_s.append(float(clock.max()))
        start_s = ends_s[-1] + row.get("gap_s", _GAP_S)
    return ends_s


def _fault_line(ends_s: Sequence[float], attempt: int, text: str) -> str:
    """A line of a kernel's log, ten seconds before an attempt ended."""
    at = datetime.fromtimestamp(ends_s[attempt - 1] - 10, UTC).isoformat(timespec="seconds")
    return f"{at} {text}\n"


def _run_toml(specimen: RunConfig, row: Mapping[str, Any]) -> str:
    """The specimen's own settings, and the table's words."""
    values: dict[str, Any] = {
        "title": row["title"],
        "project": row["project"],
        "description": SAYS,
        "source": f"python -m lab.archive, from {row['from']}",
        "licence": "MIT",
        "data": row.get("data", "tiny training"),
        "gpus": row["gpus"],
        "tags": row.get("tags", []),
        "relation": specimen.relation,
        "tokens_per_step": specimen.tokens_per_step * row.get("times_tokens", 1),
    }
    lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items() if value]
    tables = {"roles": specimen.roles, "units": specimen.units}
    tables["facts"] = {"owner": row["owner"], "model": row["model"], "cluster": row["cluster"]}
    for name, table in tables.items():
        if table:
            lines += ["", f"[{name}]"]
            lines += [f"{json.dumps(k)} = {json.dumps(v, ensure_ascii=False)}" for k, v in table.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, help="Where the workspace is made.")
    folder = parser.parse_args().folder
    print(f"made {len(make(folder))} runs in {folder}. Next: chronicle build, in {folder}")


if __name__ == "__main__":
    main()
