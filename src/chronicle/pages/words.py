"""What a finding, a join or a fact says in a few words. Plain text: templates escape it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from chronicle.model import Criterion, Fact, Finding, Join, Role
from chronicle.words import count, level

_UNITS = {
    "nats": "nats",
    "steps": "steps",
    "samples": "samples",
    "s": "s",
    "h": "h",
    "scales": "scales",
    "tokens": "tokens",
    "points": "points",
    "step": "",
    "ratio": "",
    "share": "",
    "count": "",
}

_ROLES = {
    Role.LOSS: "training loss",
    Role.DATASET_LOSS: "loss by data set",
    Role.GRAD_NORM: "gradient norm",
    Role.OTHER: "other",
}


def span(finding: Finding) -> str:
    """When: ``step 22 308 to 22 402``, ``from step 58 897, not over when the log ends``."""
    start = count(finding.start_step)
    if finding.end_step is None:
        return f"from step {start}, not over when the log ends"
    return f"step {start}" + (
        f" to {count(finding.end_step)}" if finding.end_step > finding.start_step else ""
    )


def measure(finding: Finding) -> str:
    """The one number a card has room for: ``2.26 → 4.17 at step 58 897 · not over``."""
    change = _change(finding.evidence)
    lead = change or next(iter(evidence(finding)), "")
    over = "" if finding.end_step is not None else " · not over"
    return f"{lead} at step {count(finding.start_step)}{over}".strip().replace("at step", "step", not lead)


def evidence(finding: Finding) -> Iterator[str]:
    """All that was measured: ``height 1.91 nats``, ``recovery 1 081 steps``."""
    for key, value in finding.evidence.items():
        said = _value(value)
        if said:
            name, unit = _named(key)
            yield " ".join(word for word in (name, said, unit) if word)


def join_words(join: Join) -> str:
    """Where a restart took over: ``61 400 → 56 000, 5 400 steps discarded``."""
    if not join.discarded_steps and join.to_step >= join.from_step:
        return f"at step {count(join.to_step)}"
    lost = f", {count(join.discarded_steps)} steps discarded" if join.discarded_steps else ""
    return f"{count(join.from_step)} → {count(join.to_step)}{lost}"


def gap(seconds: float | None) -> str:
    """A wall-clock gap: ``after 42 s``, ``after 7.5 h``; empty where the log has no times."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if abs(seconds) >= 2 * size:
            return f"after {level(seconds / size)} {unit}"
    return f"after {count(seconds)} s"


def fact_value(fact: Fact) -> str:
    """A fact's value; what nobody logged is said to be so."""
    return _value(fact.value) or "not logged"


def fact_unit(fact: Fact) -> str:
    """A fact's unit; empty for a fact that was not logged."""
    if fact.value is None:
        return ""
    return "unit not declared" if fact.unit is None else fact.unit


def criterion_value(criterion: Criterion) -> str:
    """What was measured, with its unit; ``not logged`` where there was nothing to measure."""
    if criterion.value is None:
        return "not logged" if criterion.met is None else "never"
    return f"{_value(criterion.value)} {criterion.unit}".strip()


def met_words(criterion: Criterion) -> tuple[str, str]:
    """The mark's name and the word of a criterion's outcome."""
    if criterion.met is None:
        return "open", "not assessed"
    return ("pass", "met") if criterion.met else ("fail", "not met")


def role_words(role: str) -> str:
    """A role in words: ``gradient norm``."""
    return _ROLES.get(role, str(role).replace("-", " "))  # type: ignore[call-overload, no-any-return]


def steps(row: Mapping[str, Any]) -> str:
    """First and last step of a row of an attempts or metrics table: ``0 – 61 400``."""
    first, last = row.get("first_step"), row.get("last_step")
    return "none" if first is None or last is None else f"{count(first)} – {count(last)}"


def _change(facts: Mapping[str, Any]) -> str:
    before = next((v for k, v in facts.items() if k.startswith("before_") and _is_number(v)), None)
    peak = next(
        (v for k, v in facts.items() if k.startswith("peak_") and k != "peak_step" and _is_number(v)), None
    )
    return f"{level(before)} → {level(peak)}" if before is not None and peak is not None else ""


def _named(key: str) -> tuple[str, str]:
    words = key.split("_")
    unit = _UNITS.get(words[-1])
    return (" ".join(words), "") if unit is None or len(words) == 1 else (" ".join(words[:-1]), unit)


def _value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return count(value) if value.is_integer() and abs(value) < 1e15 else level(value)
    return ", ".join(_value(v) for v in value) if isinstance(value, list | tuple) else str(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
