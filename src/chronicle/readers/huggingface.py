"""Hugging Face ``trainer_state.json``: the ``log_history`` of a Trainer, evaluations among it.

The last entry (train_runtime, train_loss, ...) sums the training up: it is a fact, not a point of a curve.
The Trainer replaces a NaN loss by 0.0 before it logs it; where the gradient norm is not finite at a loss
of exactly 0.0 the values are kept as logged, and a fault says what they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.model import Attempt, Fault, Place
from chronicle.readers.columns import attempt_of
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.json_lines import Row, columns_of, flat, whole_entries
from chronicle.readers.text import Head, encoding_of, from_json, head

NAME = "trainer_state.json"
SUFFIXES = (".json",)

# Keys of the state that hold arguments of the training.
CONFIG = ("max_steps", "num_train_epochs", "train_batch_size", "logging_steps", "eval_steps", "save_steps")

_FILTERED = "loss is logged as 0.0 where grad_norm is not finite: the Trainer filtered a NaN loss"
_HISTORY = '"log_history"'


def identify(head: Head) -> bool:
    """A JSON object whose head names a log_history."""
    start = "\n".join(head.lines).lstrip()
    return start.startswith("{") and _HISTORY in start


def read(path: Path) -> list[Attempt]:
    """One attempt.

    Raises:
        BadLog: no entry of the log_history holds a number.
    """
    text = path.read_text(encoding_of(head(path)), errors="replace")
    state, truncated = _parsed(text)
    history = state.pop("log_history", None)
    rows: list[Row] = []
    facts = _facts(state)
    for entry in history if isinstance(history, list) else []:
        row = dict(flat(entry)) if isinstance(entry, dict) else {}
        if "train_runtime" in row:
            facts |= {"summary": row, "ended": "finished"}
        elif row:
            facts.pop("ended", None)  # a training that went on after its end
            rows.append(row)
    if not rows:
        raise BadLog(str(path), "has an empty log_history. Remedy: check logging_steps of the Trainer")
    norms = [row.get("grad_norm") for row in rows if row.get("loss") == 0.0]
    filtered = sum(isinstance(norm, int | float) and not math.isfinite(norm) for norm in norms)
    faults = [Fault(Place(str(path)), _FILTERED, filtered)] if filtered else []
    return [attempt_of(path, len(rows), columns_of(rows), facts=facts, faults=faults, truncated=truncated)]


def _facts(state: Mapping[str, Any]) -> dict[str, Any]:
    """What the state says beside the log; what the training was started with is `config/...`."""
    said = {key: value for key, value in state.items() if isinstance(value, str | int | float)}
    config: dict[str, Any] = {key: said.pop(key) for key in CONFIG if key in said}
    trial = state.get("trial_params")
    return said | config_facts(config | (trial if isinstance(trial, dict) else {}))


def _parsed(text: str) -> tuple[dict[str, Any], bool]:
    """The object, and whether its end is missing; of a cut one only the whole entries of the log."""
    try:
        state = from_json(text)
        return (state if isinstance(state, dict) else {}), False
    except (ValueError, RecursionError):
        return {"log_history": list(whole_entries(text, text.find("[", text.find(_HISTORY))))}, True
