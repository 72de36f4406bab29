"""Writes the log of one attempt as trainers do, deterministic to the byte."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, float]

# Names as each kind of log spells them; what is not here keeps its name.
NAMES: dict[str, dict[str, str]] = {
    "csv": {},
    "jsonl": {"loss": "train_loss", "lr": "learning_rate", "time": "timestamp"},
    "events": {
        "loss": "train/loss", "grad_norm": "train/grad_norm", "lr": "train/lr", "val_loss": "val/loss",
        "update_norm": "train/update_norm", "tokens_per_second": "perf/tokens_per_second",
    },
    "state": {"lr": "learning_rate", "val_loss": "eval_loss"},
    "megatron": {
        "loss": "lm loss", "grad_norm": "grad norm", "lr": "learning rate", "loss_scale": "loss scale",
    },
}  # fmt: skip


def name_in(format_: str, metric: str) -> str:
    """How a kind of log spells a metric."""
    return NAMES[format_].get(metric, metric)


def write(format_: str, folder: Path, attempt: str, rows: Sequence[Row]) -> None:
    """Writes the rows into ``folder``; ``attempt`` names the log where there are several, else ""."""
    folder.mkdir(parents=True, exist_ok=True)
    shown = [{k: float(f"{v:.6g}") if k not in ("step", "time") else v for k, v in r.items()} for r in rows]
    WRITERS[format_](folder, attempt, [{name_in(format_, k): v for k, v in row.items()} for row in shown])


def _csv(folder: Path, attempt: str, rows: Sequence[Row]) -> None:
    columns = dict.fromkeys(key for row in rows for key in row)
    with (folder / f"{attempt or 'log'}.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _jsonl(folder: Path, attempt: str, rows: Sequence[Row]) -> None:
    (folder / f"{attempt or 'log'}.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), "utf-8"
    )


def _state(folder: Path, attempt: str, rows: Sequence[Row]) -> None:
    history: list[Row] = []
    for row in rows:
        row = {k: v for k, v in row.items() if k != "time"}
        held_out = {k: row.pop(k) for k in list(row) if k.startswith("eval_")}
        history += [{**part, "step": row["step"]} for part in (row, held_out) if part]
    folder = folder / attempt
    folder.mkdir(exist_ok=True)
    state = {"global_step": history[-1]["step"], "log_history": history}
    (folder / "trainer_state.json").write_text(json.dumps(state, indent=1) + "\n", "utf-8")


def _events(folder: Path, attempt: str, rows: Sequence[Row]) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    folder = folder / attempt
    folder.mkdir(exist_ok=True)
    start = rows[0]["time"]
    with (folder / f"events.out.tfevents.{start:.0f}.lab.0.0").open("wb") as file:
        records = RecordWriter(file)
        records.write(Event(wall_time=start, file_version="brain.Event:2").SerializeToString())
        for row in rows:
            for tag, value in row.items():
                if tag not in ("step", "time"):
                    summary: Any = Summary(value=[Summary.Value(tag=tag, simple_value=value)])
                    event = Event(wall_time=row["time"], step=int(row["step"]), summary=summary)
                    records.write(event.SerializeToString())


def _megatron(folder: Path, attempt: str, rows: Sequence[Row]) -> None:
    last, lines = int(rows[-1]["step"]), []
    previous = rows[0]["time"] - 0.4
    for i, row in enumerate(rows):
        steps = row["step"] - rows[i - 1]["step"] if i else 1
        elapsed = (row["time"] - previous) / max(steps, 1) * 1e3
        previous = row["time"]
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(row["time"]))
        parts = [f"elapsed time per iteration (ms): {elapsed:.1f}"]
        parts += [
            f"{k}: {row[k]:.6E}" for k in ("learning rate", "lm loss", "loss scale", "grad norm") if k in row
        ]
        parts.append(f"number of skipped iterations: {int(row.get('skipped', 0))}")
        lines.append(f" [{stamp}] iteration {int(row['step']):8d}/{last:8d} | {' | '.join(parts)} |")
        if "val_loss" in row:
            lines.append(
                f" validation loss at iteration {int(row['step'])} | lm loss value: {row['val_loss']:.6E} |"
            )
    (folder / f"{attempt or 'train'}.log").write_text("\n".join(lines) + "\n", "utf-8")


WRITERS: dict[str, Callable[[Path, str, Sequence[Row]], None]] = {
    "csv": _csv,
    "jsonl": _jsonl,
    "events": _events,
    "state": _state,
    "megatron": _megatron,
}
