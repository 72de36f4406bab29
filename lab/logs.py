"""Writers of logs as trainers write them: event files, CSV, JSON lines, trainer_state.json."""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from lab.jobs import JobLog

Values = Mapping[str, float]

# Names as each kind of log usually spells them; what is not here keeps its name.
EVENT_TAGS = {"loss": "train/loss", "grad_norm": "train/grad_norm", "lr": "train/lr", "val_loss": "val/loss"}
JSON_KEYS = {"loss": "train_loss", "lr": "learning_rate"}
STATE_KEYS = {"lr": "learning_rate", "val_loss": "eval_loss"}


class Log(Protocol):
    """Takes the metrics of one step at a time; ``time`` among them is a simulated clock [s, Unix]."""

    def write(self, step: int, values: Values) -> None: ...

    def close(self) -> None: ...


def clocked(values: Values) -> tuple[float, Values]:
    """The time of a row [s, Unix], simulated or that of the machine, and what else it holds."""
    return values.get("time", time.time()), {k: v for k, v in values.items() if k != "time"}


class EventLog:
    """A TensorBoard event file, by TensorBoard's own writer."""

    def __init__(self, folder: Path, name: str) -> None:
        from torch.utils.tensorboard import SummaryWriter

        self.folder = folder / name if name else folder
        self.writer = SummaryWriter(str(self.folder))

    def write(self, step: int, values: Values) -> None:
        for metric, value in values.items():
            self.writer.add_scalar(EVENT_TAGS.get(metric, metric), value, step)

    def close(self) -> None:
        self.writer.close()
        for file in self.folder.glob("events.out.tfevents.*"):
            start = file.name.split(".")[3]  # the rest of the name is the host and the process
            file.rename(self.folder / f"events.out.tfevents.{start}.lab.0.0")


class CsvLog:
    """A wide CSV file; a metric that was not measured at a step is left blank."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = folder / f"{name or 'log'}.csv"
        self.rows: list[dict[str, Any]] = []

    def write(self, step: int, values: Values) -> None:
        now, measured = clocked(values)
        shown = {k: f"{v:.6g}" for k, v in measured.items()}
        self.rows.append({"step": step, "time": f"{now:.2f}", **shown})

    def close(self) -> None:
        columns = dict.fromkeys(key for row in self.rows for key in row)
        with self.path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(columns), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)


class JsonLog:
    """One JSON object a step, NaN spelled as Python's json spells it."""

    def __init__(self, folder: Path, name: str) -> None:
        self.file = (folder / f"{name or 'log'}.jsonl").open("w", encoding="utf-8")

    def write(self, step: int, values: Values) -> None:
        now, measured = clocked(values)
        shown = {JSON_KEYS.get(k, k): float(f"{v:.6g}") for k, v in measured.items()}
        self.file.write(json.dumps({"step": step, "timestamp": round(now, 2), **shown}) + "\n")

    def close(self) -> None:
        self.file.close()


class StateLog:
    """trainer_state.json as the Hugging Face Trainer keeps it: training and evaluation entries apart."""

    def __init__(self, folder: Path, name: str) -> None:
        self.path = (folder / name if name else folder) / "trainer_state.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.history: list[dict[str, float]] = []

    def write(self, step: int, values: Values) -> None:
        shown = {STATE_KEYS.get(k, k): float(f"{v:.6g}") for k, v in values.items()}
        evaluation = {k: shown.pop(k) for k in list(shown) if k.startswith("eval_")}
        epoch = {"epoch": shown["epoch"]} if "epoch" in shown else {}
        self.history += [{**part, **epoch, "step": step} for part in (shown, evaluation) if part]

    def close(self) -> None:
        last = self.history[-1]
        state = {"epoch": last.get("epoch"), "global_step": last["step"], "log_history": self.history}
        self.path.write_text(json.dumps(state, indent=1) + "\n", "utf-8")


FORMATS: dict[str, type[Log]] = {
    "events": EventLog,
    "csv": CsvLog,
    "jsonl": JsonLog,
    "state": StateLog,
    "jobs": JobLog,
}
