"""Where the templates, the gallery, the guide and mkdocs.yml that come with chronicle are."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def shipped(name: str) -> Path:
    """The shipped file or folder ``name``: inside the wheel, or at the top level of a checkout."""
    packed = _PACKAGE / "shipped" / name
    return packed if packed.exists() else _PACKAGE.parent.parent / name
