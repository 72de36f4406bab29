"""Blocks of JSON lines."""


def scan() -> None:
    """Blocks of JSON lines."""
