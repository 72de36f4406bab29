"""What a metric is, by its name: an ordered alias table, first match wins."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from chronicle.model import Role, Series


def role_of(metric: str) -> Role:
    """First version; the alias table follows."""
    name = metric.lower()
    for pattern, role in (
        (r"grad.?norm|gnorm", Role.GRAD_NORM),
        (r"(^|/)(lr|learning.rate)", Role.LEARNING_RATE),
        (r"(val|eval|test).*loss", Role.VALIDATION_LOSS),
        (r"loss", Role.LOSS),
        (r"ratio", Role.RATIO),
        (r"flops", Role.THROUGHPUT),
    ):
        if re.search(pattern, name):
            return role
    return Role.OTHER


def assign(series: Mapping[str, Series], overrides: Sequence[tuple[str, Role]] = ()) -> dict[str, Series]:
    """The series with role, data set and unit set; an override (regular expression, role) wins."""
    return {
        name: replace(s, role=next((r for p, r in overrides if re.fullmatch(p, name)), role_of(name)))
        for name, s in series.items()
    }
