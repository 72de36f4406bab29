"""What several commands need: kinds of arguments, the workspace around, one line of JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chronicle.errors import UsageError

if TYPE_CHECKING:
    from chronicle.workspace.folders import Workspace


class _Path(click.Path):
    """A path, or an address (`s3://bucket/run`), which is fetched."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from chronicle.workspace.locations import is_address

        if isinstance(value, str) and is_address(value):
            from chronicle.readers import local

            return local(value)
        return super().convert(value, param, ctx)


PATH = _Path(path_type=Path)
VERDICTS = click.Choice(["good", "unexpected", "worrying", "bad"])
ENGINES = click.Choice(["mkdocs", "properdocs", "zensical"])


def here() -> Workspace:
    """The workspace around the current folder. Raises UsageError."""
    from chronicle.workspace.folders import Workspace

    workspace = Workspace.find(Path.cwd())
    if workspace is None:
        raise UsageError("no chronicle.toml here or above. Remedy: chronicle init DIR")
    return workspace


def line(value: Any) -> str:
    """A value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
