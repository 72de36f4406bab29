"""Gold files: what a reader makes of an example, whole, beside the example.

    python -m tests.readers.gold [--force]

writes those that are missing (with --force also those that differ: read the difference before you commit it).
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chronicle.model import Attempt, Fault
from chronicle.readers import read

EXAMPLES = Path(__file__).parent / "examples"


def examples() -> list[Path]:
    """All example logs, relative to their folder."""
    files = [f for f in sorted(EXAMPLES.rglob("*")) if f.is_file() and not f.name.endswith(".gold.json")]
    return [file.relative_to(EXAMPLES) for file in files]


def gold_of(example: Path) -> Path:
    """The gold file of an example."""
    return EXAMPLES / example.with_name(example.name + ".gold.json")


def as_json(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Attempts as plain values."""
    return [
        {
            "name": attempt.name,
            "sources": list(attempt.sources),
            "axis": attempt.axis,
            "truncated": attempt.truncated,
            "facts": dict(attempt.facts),
            "faults": list(map(_fault, attempt.faults)),
            "series": {
                name: {
                    **{key: value for key, value in asdict(s).items() if key in ("role", "unit", "dataset")},
                    **{key: getattr(s, key).tolist() for key in ("steps", "values", "times")},
                }
                for name, s in attempt.series.items()
            },
        }
        for attempt in attempts
    ]


def _fault(fault: Fault) -> str:
    """A fault in a line; one beside the curves with its kind, step, time and host."""
    sentence = f"{fault.where}: {fault.what} ({fault.count})"
    return (
        sentence
        if fault.kind == "read"
        else f"{fault.kind} {fault.at_step} {fault.at_time} {fault.host!r} {sentence}"
    )


def text(attempts: Sequence[Attempt]) -> str:
    """As it stands in the gold file: indented, each list of plain values on one line."""
    lines = json.dumps(as_json(attempts), indent=1)
    return re.sub(r"\[\n\s+([^][{}]*?)\n\s+\]", lambda match: f"[{' '.join(match[1].split())}]", lines) + "\n"


def main() -> None:
    """The command."""
    os.chdir(EXAMPLES)
    for example in examples():
        gold, made = gold_of(example), text(read(example))
        if not gold.exists() or ("--force" in sys.argv and gold.read_text() != made):
            gold.write_text(made)
            print(gold.name)


if __name__ == "__main__":
    main()
