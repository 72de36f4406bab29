"""From text to pages: templates, and the one place where strings from logs and notes become HTML.

Every value that a template prints passes through `as_html` (it is Jinja's ``finalize``), so nothing a log
says can become markup: neither HTML, nor Markdown, nor a template, nor an attribute list. What cannot be
shown (control characters, lone surrogates, marks that reorder text) is shown as U+FFFD, and what is too
long is cut with a word about how much.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any
from urllib.parse import quote

from chronicle.errors import ConfigError
from chronicle.metrics.values import count, plural
from chronicle.model import VERDICTS
from chronicle.pages.gallery import Render

LONGEST = 2_000  # characters; a page is for reading, the whole text stays in entry.json

_BREAKS = re.compile("(?:\r\n|[\t\n\x0b\x0c\r\x85\u2028\u2029])+")
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_ADDRESS = re.compile(r"(https?://[^\s<>\"'`{}|\\^]*[^\s<>\"'`{}|\\^.,;:!?)\]])")
_MARKUP = str.maketrans({c: f"&#{ord(c)};" for c in "&<>\"'`*_[]{}\\#|~!^"})


class Html(str):
    """Text that is HTML already. Only this module and templates make it."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def plain(text: Any) -> str:
    """One line of text that every program can show."""
    return _cut(_UNSEEN.sub("\ufffd", _BREAKS.sub(" ", str(text))))


def as_html(value: Any) -> Html:
    """A value as HTML that Markdown leaves alone as well; `Html` and rendered templates stay as they are."""
    if hasattr(value, "__html__"):
        return Html(value.__html__())
    return Html(plain(value).translate(_MARKUP))


def lines(text: str) -> Html:
    """Text of several lines, each on its own."""
    return Html("<br>".join(as_html(line) for line in _cut(text.strip()).splitlines()))


def linked(text: Any) -> Html:
    """Text with its web addresses as links; nothing else becomes one."""
    parts = _ADDRESS.split(plain(text))  # text, address, text, ...
    shown = [as_html(part) for part in parts]
    links = (f'<a href="{part}" rel="noopener noreferrer">{part}</a>' for part in shown[1::2])
    return Html("".join(f"{words}{link}" for words, link in zip_longest(shown[::2], links, fillvalue="")))


def yaml_string(text: str) -> Html:
    """A quoted YAML value for the front matter. Themes print it unescaped, so it is escaped here."""
    return Html(json.dumps(as_html(text), ensure_ascii=False))


def slug(run_id: str) -> str:
    """The folder of a run's page. A valid run id stays as it is; no other one leads anywhere else."""
    name = quote(run_id.encode("utf-8", "surrogatepass"), safe="")
    return f"%2E{name[1:]}" if name.startswith(".") else name


def address(run_id: str) -> str:
    """The same folder as part of a link."""
    return quote(slug(run_id))


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text) - LONGEST} more characters)"


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
