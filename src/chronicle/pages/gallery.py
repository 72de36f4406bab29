"""gallery/<verdict>/<id>.md: pattern pages as people write them, front matter and prose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from chronicle.classify.patterns import PATTERNS
from chronicle.errors import ConfigError
from chronicle.model import Verdict
from chronicle.pages.data import Cause, Condition, Lookalike, PatternPage, Source
from chronicle.workspace.config import unknown

EVIDENCE = ("proved", "reported", "guess")

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)(.*)", re.S)
_ROWS: Mapping[str, type] = {
    "criteria": Condition,
    "lookalikes": Lookalike,
    "causes": Cause,
    "sources": Source,
}
_TEXTS = ("id", "title", "lead")
_LISTS = ("also_called", "now", "prevent", "specimens")

T = TypeVar("T")


def load_gallery(folders: Sequence[Path]) -> list[PatternPage]:
    """The pages of all folders, the first one that has an id wins; known patterns in their fixed order.

    Raises:
        ConfigError: front matter that is wrong, with its file and key.
    """
    pages: dict[str, PatternPage] = {}
    for folder in folders:
        pages = {page.id: page for page in load(folder)} | pages
    order = {pattern.id: i for i, pattern in enumerate(PATTERNS)}
    return sorted(pages.values(), key=lambda page: (order.get(page.id, len(order)), page.id))


def load(folder: Path) -> list[PatternPage]:
    """The pages of one gallery folder by path (errors as in `load_gallery`)."""
    files = [file for verdict in Verdict for file in sorted((folder / verdict).glob("*.md"))]
    return [parse(file.read_text("utf-8-sig"), file.stem, Verdict(file.parent.name)) for file in files]


def parse(text: str, name: str, verdict: Verdict) -> PatternPage:
    """The page in ``text``; ``name`` is what the file is called (errors as in `load_gallery`)."""
    file = f"gallery/{verdict}/{name}.md"
    found = _FRONT_MATTER.match(text.replace("\r\n", "\n"))
    if found is None:
        raise ConfigError(file, "", "must begin with front matter between two lines of ---")
    table = _yaml(file, found[1])
    valid = {f.name for f in fields(PatternPage)} - {"verdict", "body"}
    for key in table:
        if key not in valid:
            raise ConfigError(file, str(key), unknown(str(key), valid))
    values: dict[str, Any] = {key: _text(file, key, table.get(key), required=True) for key in _TEXTS}
    values |= {key: tuple(_texts(file, key, table.get(key))) for key in _LISTS}
    values |= {key: tuple(_rows(file, key, table.get(key), kind)) for key, kind in _ROWS.items()}
    if values["id"] != name:
        raise ConfigError(file, "id", f"is {values['id']!r}, but the file is called {name}.md")
    return PatternPage(verdict=verdict, body=found[2].strip(), **values)


def _yaml(file: str, text: str) -> Mapping[str, Any]:
    import yaml

    try:
        table = yaml.safe_load(text)
    except yaml.YAMLError as err:
        raise ConfigError(file, "", f"front matter is not valid YAML: {err}") from err
    if not isinstance(table, Mapping):
        raise ConfigError(file, "", "front matter must be a table of keys")
    return table


def _text(file: str, key: str, value: Any, *, required: bool = False) -> str:
    if value is None and not required:
        return ""
    if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
        raise ConfigError(file, key, f"must be a text, not {value!r}")
    return str(value).strip()


def _texts(file: str, key: str, value: Any) -> list[str]:
    if not isinstance(value or [], list):
        raise ConfigError(file, key, f"must be a list of texts, not {value!r}")
    return [_text(file, f"{key}[{i}]", item, required=True) for i, item in enumerate(value or [])]


def _rows(file: str, key: str, value: Any, kind: type[T]) -> list[T]:
    if not isinstance(value or [], list):
        raise ConfigError(file, key, f"must be a list, not {value!r}")
    return [_row(file, f"{key}[{i}]", item, kind) for i, item in enumerate(value or [])]


def _row(file: str, key: str, value: Any, kind: type[T]) -> T:
    if not isinstance(value, Mapping):
        raise ConfigError(file, key, f"must be a table, not {value!r}")
    valid = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    for word in value:
        if word not in valid:
            raise ConfigError(file, f"{key}.{word}", unknown(str(word), valid))
    first = valid[1] if kind is Lookalike else valid[0]  # what a row cannot do without
    texts = {w: _text(file, f"{key}.{w}", value.get(w), required=w == first) for w in valid}
    return kind(**{w: _word(file, f"{key}.{w}", w, text) for w, text in texts.items()})


def _word(file: str, key: str, name: str, text: str) -> Any:
    """A text of a row as the type its field has."""
    if name == "pattern":
        return text or None
    if name == "verdict":
        return Verdict(_one_of(file, key, text, tuple(Verdict)))
    return _one_of(file, key, text, EVIDENCE) if name == "evidence" else text


def _one_of(file: str, key: str, text: str, words: Sequence[str]) -> str:
    if text not in words:
        raise ConfigError(file, key, f"{text!r} is none of {', '.join(words)}")
    return text
