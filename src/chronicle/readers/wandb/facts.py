"""What a W&B run says of itself, under chronicle's names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from chronicle.readers.console.machine import canonical
from chronicle.readers.hyperparameters import config_facts
from chronicle.readers.wandb import records
from chronicle.readers.wandb.records import messages, numbers, seconds, texts, updates

_RUN = {1: "run", 2: "entity", 3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes", 12: "sweep"}
_RUN |= {13: "host"}
_ENVIRONMENT = {2: "python", 6: "program", 12: "host", 18: "gpu_type", 25: "cuda"}
# The records that `About` takes.
ABOUT = (records.RUN, records.CONFIG, records.METRIC, records.ENVIRONMENT, records.EXIT)
_ENDED = {0: "finished", 255: "killed"}  # every other exit code: crashed


@dataclass
class About:
    """Gathers the records that are no history; ``step_metrics`` were declared as x axis of others."""

    step_metrics: set[str] = field(default_factory=set)
    _facts: dict[str, Any] = field(default_factory=dict)
    _config: dict[str, Any] = field(default_factory=dict)

    def add(self, kind: int, message: bytes) -> None:
        """Takes one record. Raises ValueError where the bytes are no protobuf message."""
        if kind == records.RUN:
            self._run(message)
        elif kind == records.CONFIG:
            updates(message, self._config)
        elif kind == records.METRIC:
            self.step_metrics |= set(texts(message, {4: "step_metric"}).values())
        elif kind == records.ENVIRONMENT:
            slurm = [texts(entry, {1: "key", 2: "value"}) for entry in messages(message, 27)]
            self._facts |= texts(message, _ENVIRONMENT) | numbers(message, {19: "gpu_count"})
            self._facts |= slurm_facts({one.get("key", ""): one.get("value") for one in slurm})
        elif kind == records.EXIT:
            code = numbers(message, {1: "exit_code"}).get("exit_code", 0)
            self._facts |= {"exit_code": code, "ended": _ENDED.get(code, "crashed")}

    def facts(self) -> dict[str, Any]:
        """All facts; those of the configuration last."""
        config = {key: value for key, value in self._config.items() if key != "_wandb"}
        return self._facts | config_facts(config)

    def _run(self, message: bytes) -> None:
        found: dict[str, Any] = texts(message, _RUN)
        for config in messages(message, 4):
            updates(config, self._config)
        for started in messages(message, 17):
            found["started_at"] = seconds(started)
        for git in messages(message, 21):
            found |= texts(git, {1: "git_remote", 2: "git_commit"})
        tags = [tag.decode("utf-8", "replace") for tag in messages(message, 10)]
        if tags:
            found["tags"] = ", ".join(tags)
        if numbers(message, {18: "resumed"}).get("resumed"):
            found["resumed"] = True
        self._facts |= found


def metadata_facts(metadata: dict[str, Any]) -> dict[str, Any]:
    """Facts of `wandb-metadata.json`, which older clients wrote instead of an environment record."""
    git = metadata.get("git")
    found: dict[str, Any] = {
        "program": metadata.get("program"),
        "host": metadata.get("host"),
        "python": metadata.get("python"),
        "cuda": metadata.get("cudaVersion") or metadata.get("cuda"),
        "gpu_type": metadata.get("gpu"),
        "gpu_count": metadata.get("gpu_count"),
        "git_remote": git.get("remote") if isinstance(git, dict) else None,
        "git_commit": git.get("commit") if isinstance(git, dict) else None,
        "started_at": _instant(metadata.get("startedAt")),
    }
    slurm = metadata.get("slurm")
    said = {key: value for key, value in found.items() if isinstance(value, str | int | float)}
    return said | slurm_facts(slurm if isinstance(slurm, dict) else {})


def slurm_facts(slurm: Mapping[str, Any]) -> dict[str, Any]:
    """Job and nodes, from Slurm's environment as W&B keeps it: names in lower case, without `SLURM_`."""
    nodes = next((slurm[key] for key in ("job_nodelist", "nodelist") if isinstance(slurm.get(key), str)), "")
    found = {"job": slurm.get("job_id"), "nodes": canonical(nodes)}
    return {key: str(value) for key, value in found.items() if value}


def _instant(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except (ValueError, OverflowError):
        return None
