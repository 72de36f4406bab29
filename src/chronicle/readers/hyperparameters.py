"""Configurations as facts: flattens nested objects, gives common settings canonical names, and reads YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from chronicle.readers.text import clean

MAX_ENTRIES, MAX_DEPTH, MAX_TEXT, MAX_LIST = 1000, 8, 1000, 16

Scalar = float | int | str | bool

# Keys whose objects hold hyperparameters.
_CONFIG = re.compile(r"config|hyper|hparams|^(training_)?args$|^arguments$|params$|^_meta$", re.IGNORECASE)
# Hyperparameters that also become facts under a name that does not depend on the framework.
_CANONICAL = {"seed": "seed", "random_seed": "seed", "dataset": "dataset", "dataset_name": "dataset"}
_CANONICAL |= {"world_size": "world_size", "num_processes": "world_size"}  # the latter of accelerate

_COMMENT = re.compile(r"(?:^|\s)#.*$")
_NUMBER = re.compile(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False, ".nan": "nan", ".inf": "inf"}


def leaves(name: str, value: Any, joint: str, depth: int = 0) -> Iterator[tuple[str, Scalar]]:
    """The names (joined by ``joint``) and the scalars of a value and of all values in it. Null and a
    tracker's media (objects with `_type`) are left out; a short list becomes a text."""
    if isinstance(value, dict):
        for key, inner in value.items() if "_type" not in value and depth < MAX_DEPTH else ():
            yield from leaves(f"{name}{joint}{clean(str(key))}".removeprefix(joint), inner, joint, depth + 1)
    elif isinstance(value, str):
        yield name, clean(value)[:MAX_TEXT]
    elif isinstance(value, int | float):
        yield name, value
    elif isinstance(value, list) and 0 < len(value) <= MAX_LIST and all(isinstance(v, Scalar) for v in value):
        text = ", ".join(item if isinstance(item, str) else json.dumps(item) for item in value)
        yield name, clean(text)[:MAX_TEXT]


def config_facts(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """`config/<name>` of every hyperparameter, names joined with "/"; the first 1,000."""
    flat = dict(islice(leaves("", config, "/"), MAX_ENTRIES))
    plain = {key.lower().replace(" ", "_"): value for key, value in flat.items()}
    named = {_CANONICAL[key]: value for key, value in plain.items() if key in _CANONICAL}
    return named | {f"config/{key}": value for key, value in flat.items()}


def named_facts(flat: Iterable[tuple[str, Scalar]]) -> dict[str, Scalar]:
    """The first 1,000 facts; those below a key that names a configuration become `config/...`."""
    facts = dict[str, Scalar]()
    for name, value in islice(flat, MAX_ENTRIES):
        inner = below_config(name)
        facts.setdefault(f"config/{inner}" if inner else name, value)
    named = {_CANONICAL[key]: facts[f"config/{key}"] for key in _CANONICAL if f"config/{key}" in facts}
    return named | facts


def below_config(name: str) -> str:
    """The rest of a name (joined with "/") after a key that names a configuration; "" for any other name."""
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
    """The mapping or list in a YAML document; {} if it holds neither. No document is refused: a tag
    (`!!python/object:...`) is dropped, an alias stays as written, all before a syntax error is kept."""
    import yaml  # here, because the import takes longer than reading most logs

    begun = [(False, list[Any]())]  # is it a mapping; its items, or keys and values in turn
    with suppress(yaml.YAMLError):
        for event in yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, yaml.CollectionStartEvent):
                begun.append((isinstance(event, yaml.MappingStartEvent), []))
            elif isinstance(event, yaml.CollectionEndEvent):
                _end_last(begun)
            elif isinstance(event, yaml.AliasEvent):
                begun[-1][1].append(f"*{event.anchor}")
            elif isinstance(event, yaml.ScalarEvent):
                plain = event.value if event.style else scalar(event.value)
                begun[-1][1].append(plain.rstrip("\n") if event.style in ("|", ">") else plain)
    while len(begun) > 1:
        _end_last(begun)
    value: Any = next(iter(begun[0][1]), {})
    return value if isinstance(value, dict | list) else {}


def _end_last(begun: list[tuple[bool, list[Any]]]) -> None:
    is_mapping, items = begun.pop()
    pairs = zip(map(str, items[::2]), items[1::2], strict=False)
    begun[-1][1].append(dict(pairs) if is_mapping else items)


def scalar(text: str) -> Any:
    """The value of a text on one line: a number, bool, None, list or mapping, else the text."""
    if text[:1] in ("[", "{"):
        return from_yaml(text)
    text = _COMMENT.sub("", text).strip()
    if text == "None" or text.lower() in _WORDS:  # as Python writes it; `none` is a text
        return _WORDS.get(text.lower())
    if _NUMBER.fullmatch(text):
        whole = text.lstrip("+-").replace("_", "").isdigit()
        return int(text) if whole and len(text) < 19 else float(text)
    return text
