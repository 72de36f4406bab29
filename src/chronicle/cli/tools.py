"""Commands around the rest: score, schema, completion."""

from __future__ import annotations

import json
from pathlib import Path

import click

from chronicle.cli.common import line

SHELLS = click.Choice(["bash", "zsh", "fish"])


@click.command(short_help="Score the classifier on labelled runs.")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--json", "as_json", is_flag=True, help="The score as one JSON object.")
def score(folder: Path, as_json: bool) -> None:
    """Score the classifier on labelled runs: FOLDER holds one folder a run, each with a label."""
    from chronicle.build.produce import predict
    from chronicle.score import score_folder

    result = score_folder(folder, predict)
    click.echo(line(result.to_json()) if as_json else result.table())


@click.command(short_help="Print the JSON Schema of a diagnosis or an entry.")
@click.argument("what", type=click.Choice(["diagnosis", "entry"]), default="diagnosis")
def schema(what: str) -> None:
    """Print the JSON Schema of a diagnosis (classify --json) or of an entry (entry.json)."""
    from chronicle.build.schema import json_schema

    click.echo(json.dumps(json_schema(what), indent=2))


@click.command(short_help="Print the completion script of a shell.")
@click.argument("shell", type=SHELLS)
def completion(shell: str) -> None:
    """Print the completion script of a shell: chronicle completion bash >> ~/.bashrc"""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None  # the choices above are those that click has
    click.echo(
        kind(click.get_current_context().find_root().command, {}, "chronicle", "_CHRONICLE_COMPLETE").source()
    )
