"""Templates: where they are found and what they can use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chronicle.errors import ConfigError
from chronicle.metrics.values import count, plural
from chronicle.pages.data import VERDICTS, Render
from chronicle.pages.escape import as_html, lines, linked, plain, yaml_string


def renderer(folders: Sequence[Path]) -> Render:
    """Renders templates from the first folder that has them, every value escaped.

    A template that fails raises ConfigError with its name and line, for it may be a workspace's own.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(folder) for folder in folders]),
        autoescape=True,
        finalize=as_html,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        count=count, lines=lines, linked=linked, plain=plain, plural=plural, yaml=yaml_string
    )
    environment.globals.update(verdicts=VERDICTS)

    def render(name: str, values: Mapping[str, Any]) -> str:
        try:
            return environment.get_template(name).render(values)
        except jinja2.TemplateSyntaxError as err:
            raise ConfigError(err.name or name, f"line {err.lineno}", f"template error: {err}") from err
        except Exception as err:  # a template is code, and it may be the workspace's own
            raise ConfigError(name, "", f"template error: {err}") from err

    return render
