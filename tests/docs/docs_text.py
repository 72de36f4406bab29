"""The parts of the guide that are made from the code.

`python -m tests.docs.docs_text` writes them into docs/.

Each part stands between two comment lines of its page; test_docs.py fails when page and code part.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args, get_origin, get_type_hints

import click

from chronicle import errors
from chronicle.classify.patterns import PATTERNS
from chronicle.cli import cli
from chronicle.cli.commands import CONTEXT
from chronicle.metrics.aliases import ALIASES
from chronicle.readers.facts import SIDE_FILES
from chronicle.workspace.config import Redact, RunConfig, WorkspaceConfig, accepted

DOCS = Path(__file__).parents[2] / "docs"


def commands() -> str:
    """The help text of every command, as the program prints it."""
    parts = []
    for name, command in sorted(cli.commands.items()):
        parent = click.Context(
            cli, info_name="chronicle", terminal_width=96, help_option_names=CONTEXT["help_option_names"]
        )
        context = click.Context(command, parent, info_name=name)
        parts.append(f"## {name}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def keys(kind: type) -> str:
    """The keys of a configuration file as a table."""
    rows = ["| key | default | unit | meaning |", "| --- | --- | --- | --- |"]
    hints = get_type_hints(kind)
    for field in dataclasses.fields(kind):
        meta, hint = field.metadata, hints[field.name]
        of_values = get_args(hint)[1] if get_origin(hint) is Mapping else hint
        words = [f"`{choice}`" for choice in map(str, accepted(of_values)) if choice]
        meaning = meta["doc"] + (f" One of {', '.join(words)}." if words else "")
        value = getattr(kind(), field.name)
        default = "–" if dataclasses.is_dataclass(value) else f"`{json.dumps(value, ensure_ascii=False)}`"
        rows.append(f"| `{field.name}` | {default} | {meta['unit'] or '–'} | {meaning} |")
    return "\n".join(rows) + "\n"


def error_table() -> str:
    """Every error, what it means and the exit code it ends with."""
    rows = ["| error | meaning | exit code |", "| --- | --- | --- |"]
    for name, kind in vars(errors).items():
        if isinstance(kind, type) and issubclass(kind, errors.ChronicleError):
            rows.append(f"| `{name}` | {' '.join(kind.__doc__.split())} | {kind.exit_code} |")
    return "\n".join(rows) + "\n"


def pattern_table() -> str:
    """Every pattern with its verdict and the series it needs."""
    rows = ["| pattern | title | verdict | needs |", "| --- | --- | --- | --- |"]
    for pattern in PATTERNS:
        needs = [role.value for role in pattern.needs]
        needs += [f"or {pattern.instead}"] if pattern.instead else []
        needs += [f"{pattern.needs_attempts} attempts"] if pattern.needs_attempts > 1 else []
        rows.append(
            f"| [`{pattern.id}`](../patterns/{pattern.id}.md) | {pattern.title} "
            f"| {pattern.verdict} | {', '.join(needs)} |"
        )
    return "\n".join(rows) + "\n"


def role_table() -> str:
    """What a metric is taken for, by its name: the alias table in its order."""
    rows = ["| role | names like |", "| --- | --- |"]
    for alias in ALIASES:
        rows.append(f"| {alias.role} | {', '.join(f'`{name}`' for name in alias.seen.split(', '))} |")
    return "\n".join(rows) + "\n"


def side_file_table() -> str:
    """The files beside a log that hold facts, by what they hold."""
    rows = ["| file | written by | holds |", "| --- | --- | --- |"]
    for row in SIDE_FILES:
        rows.append(f"| {', '.join(f'`{name}`' for name in row.names)} | {row.writer} | {row.tells} |")
    return "\n".join(rows) + "\n"


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "commands": ("commands.md", commands),
    "chronicle.toml": ("configuration.md", lambda: keys(WorkspaceConfig)),
    "redact": ("configuration.md", lambda: keys(Redact)),
    "run.toml": ("configuration.md", lambda: keys(RunConfig)),
    "errors": ("errors.md", error_table),
    "patterns": ("design.md", pattern_table),
    "roles": ("metrics.md", role_table),
    "side files": ("folders.md", side_file_table),
}


def between(name: str, text: str) -> re.Match[str]:
    """Where the part ``name`` stands in a page."""
    part = re.search(rf"(<!-- {re.escape(name)} -->\n)(.*?)(<!-- end -->)", text, re.S)
    assert part, f"no part {name!r}"
    return part


def main() -> None:
    for name, (page, make) in PARTS.items():
        text = (DOCS / page).read_text("utf-8")
        place = between(name, text)
        (DOCS / page).write_text(
            text[: place.start(2)] + "\n" + make() + "\n" + text[place.end(2) :], "utf-8"
        )


if __name__ == "__main__":
    main()
