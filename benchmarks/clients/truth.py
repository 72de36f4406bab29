"""What a client was given to log, as JSON beside its log: the measure of what chronicle reads.

    {"client": "tensorboard", "versions": {"tensorboard": "2.20.0"}, "exact": "float32",
     "launches": [{"train/loss": {"steps": [0, ...], "values": [2.5, ...]}, ...}, ...],
     "roles": {"train/loss": "loss"}, "joins": [{"kind": "rollback", "from": 119, "to": 100}],
     "events": [{"pattern": "spike", "step": 60}], "facts": {"seed": 7}}

``exact`` is "float64" or "float32", in which values must be equal bit for bit, or "printed": equal as far as
the log shows digits. NaN is written as Python writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any


class Record:
    """What one launch logs."""

    def __init__(self) -> None:
        self.series: dict[str, dict[str, list[Any]]] = {}

    def add(self, step: int, values: Mapping[str, Any]) -> None:
        """The values by name that are logged at a step."""
        for name, value in values.items():
            points = self.series.setdefault(name, {"steps": [], "values": []})
            points["steps"].append(int(step))
            points["values"].append(float(value))


def versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of the packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def written(path: Path, **truth: Any) -> None:
    """Writes it as one JSON document."""
    path.write_text(json.dumps(truth) + "\n")
