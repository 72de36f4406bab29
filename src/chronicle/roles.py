"""What a metric is, by its name: an ordered alias table, first match wins."""

from __future__ import annotations

from chronicle.model import Role


def role_of(metric: str) -> Role:
    """Placeholder until the alias table lands."""
    return Role.LOSS if "loss" in metric.lower() else Role.OTHER
