"""Configurations as facts: nested objects made flat, what of them has a name of its own, and plain YAML,
which is read without a package."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from chronicle.readers.text import clean

MAX_ENTRIES, MAX_DEPTH, MAX_TEXT, MAX_LIST = 1000, 8, 1000, 16

Scalar = float | int | str | bool

# Keys of an object that holds hyperparameters.
_CONFIG = re.compile(r"config|hyper|hparams|^(training_)?args$|^arguments$|params$|^_meta$", re.IGNORECASE)
# Hyperparameters that are facts of a run under a name that does not depend on the framework.
_CANONICAL = {"seed": "seed", "random_seed": "seed", "world_size": "world_size"}
_CANONICAL |= {"num_processes": "world_size"}  # of accelerate
_CANONICAL |= {"dataset": "dataset", "dataset_name": "dataset"}

# Of YAML.
_DEEPEST = 16  # levels; what lies below is passed over
_TAG = re.compile(r"^!\S*\s*")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_QUOTED_KEY = re.compile(r"""("(?:[^"\\]|\\.)*"|'[^']*') *:(?: (.*))?$""")
_NUMBER = re.compile(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False, ".nan": "nan", ".inf": "inf"}
_Line = tuple[int, str]  # indentation, and what follows it


def leaves(name: str, value: Any, joint: str, depth: int = 0) -> Iterator[tuple[str, Scalar]]:
    """(name, number, text or truth) of a value and of all that is in it, names joined by ``joint``.

    Null is left out, and media of a tracker (an object with `_type`); a list is a text, if it is short.
    """
    if isinstance(value, dict):
        for key, inner in value.items() if "_type" not in value and depth < MAX_DEPTH else ():
            yield from leaves(f"{name}{joint}{clean(str(key))}".removeprefix(joint), inner, joint, depth + 1)
    elif isinstance(value, str):
        yield name, clean(value)[:MAX_TEXT]
    elif isinstance(value, int | float):
        yield name, value
    elif (
        isinstance(value, list)
        and 0 < len(value) <= MAX_LIST
        and all(isinstance(item, str | int | float) for item in value)
    ):
        text = ", ".join(item if isinstance(item, str) else json.dumps(item) for item in value)
        yield name, clean(text)[:MAX_TEXT]


def config_facts(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """`config/<name>` of every hyperparameter, names joined with "/"; the first 1,000."""
    flat = dict(islice(leaves("", config, "/"), MAX_ENTRIES))
    named = {_CANONICAL[key]: value for key, value in flat.items() if key in _CANONICAL}
    return named | {f"config/{key}": value for key, value in flat.items()}


def named_facts(flat: Iterable[tuple[str, Scalar]]) -> dict[str, Scalar]:
    """Facts under their names, those below a key that speaks of a configuration as `config/...`.

    The first 1,000 are kept, and of equal names the first.
    """
    facts: dict[str, Scalar] = {}
    for name, value in islice(flat, MAX_ENTRIES):
        inner = below_config(name)
        facts.setdefault(f"config/{inner}" if inner else name, value)
    named = {_CANONICAL[key]: facts[f"config/{key}"] for key in _CANONICAL if f"config/{key}" in facts}
    return named | facts


def below_config(name: str) -> str:
    """What follows in a name joined with "/" after a key that speaks of a configuration; "" for any other."""
    parts = name.split("/")
    at = next((i for i, part in enumerate(parts[:-1]) if _CONFIG.search(part)), len(parts))
    return "/".join(parts[at + 1 :])


def as_float(value: float | int) -> float:
    """The number; a whole number too large for a float is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def from_yaml(text: str) -> Any:
    """The mapping or list that a document in YAML is; {} where it is neither.

    Known is what trainers write: nested mappings, lists, plain values. What is beyond that is text: a tag
    (`!!python/object:...`) is dropped, an anchor stays as it is written, and a line that fits nowhere is
    passed over. Settings are facts beside a log, so a file is never refused.
    """
    lines = [(len(line) - len(line.lstrip(" ")), line.strip()) for line in text.splitlines()]
    lines = [line for line in lines if line[1] and not line[1].startswith(("#", "---", "...", "%"))]
    value = _block(lines, 0, lines[0][0], 0)[0] if lines else {}
    return value if isinstance(value, dict | list) else {}


def _block(lines: Sequence[_Line], at: int, indent: int, depth: int) -> tuple[Any, int]:
    """The mapping or list whose entries stand at an indentation, and the line after it."""
    if _is_item(lines[at][1]):
        return _items(lines, at, indent, depth)
    mapping: dict[str, Any] = {}
    while at < len(lines) and lines[at][0] >= indent:
        entry = _entry(lines[at][1])
        if lines[at][0] > indent or entry is None or _is_item(lines[at][1]):
            at += 1  # the rest of a value, or nothing that is known
            continue
        rest = _TAG.sub("", entry[1])
        mapping[str(scalar(entry[0]))], at = _value(lines, at + 1, indent, rest, depth)
    return mapping, at


def _items(lines: Sequence[_Line], at: int, indent: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while at < len(lines) and (lines[at][0] > indent or (lines[at][0] == indent and _is_item(lines[at][1]))):
        item = _TAG.sub("", lines[at][1][1:].strip())
        if lines[at][0] > indent:
            at += 1
        elif (_entry(item) or _is_item(item)) and depth < _DEEPEST:
            inner, end = indent + 2, _end(lines, at + 1, indent)
            items.append(_block([(inner, item), *lines[at + 1 : end]], 0, inner, depth + 1)[0])
            at = end
        else:
            value, at = _value(lines, at + 1, indent, item, depth)
            items.append(value)
    return items, at


def _end(lines: Sequence[_Line], at: int, indent: int) -> int:
    return next((end for end in range(at, len(lines)) if lines[end][0] <= indent), len(lines))


def _value(lines: Sequence[_Line], at: int, indent: int, rest: str, depth: int) -> tuple[Any, int]:
    """What a key or a dash is followed by, on its line or below it."""
    below = at < len(lines) and (lines[at][0] > indent or (lines[at][0] == indent and _is_item(lines[at][1])))
    if re.fullmatch(r"[|>][-+\d]*", rest):
        end = _end(lines, at, indent)
        return ("\n" if rest[0] == "|" else " ").join(text for _, text in lines[at:end]), end
    if rest and not rest.startswith("#"):
        return scalar(rest), at
    if below and depth < _DEEPEST:
        return _block(lines, at, lines[at][0], depth + 1)
    return None, at


def _entry(text: str) -> tuple[str, str] | None:
    if text[:1] in ('"', "'"):
        match = _QUOTED_KEY.match(text)
        return (match[1], (match[2] or "").strip()) if match else None
    key, colon, rest = text.partition(": ")
    if not colon:
        key, colon, rest = (text[:-1], ":", "") if text.endswith(":") else (text, "", "")
    return (key.strip(), rest.strip()) if colon and key.strip() and key[0] not in "#[{" else None


def _is_item(text: str) -> bool:
    return text == "-" or text.startswith("- ")


def scalar(text: str) -> Any:
    """The value that a text on one line is: number, truth, None, list, mapping in JSON, else the text."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    if text[:1] in ('"', "[", "{"):
        return _flow(text)
    text = _COMMENT.sub("", text).strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _NUMBER.fullmatch(text):
        whole = text.lstrip("+-").replace("_", "").isdigit()
        return int(text) if whole and len(text) < 19 else float(text)
    return text


def _flow(text: str) -> Any:
    """A quoted text, or a list on one line; a mapping where it is JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if text[0] != "[" or text[-1] != "]":
            return text
    return [scalar(item.strip()) for item in text[1:-1].split(",") if item.strip()]
