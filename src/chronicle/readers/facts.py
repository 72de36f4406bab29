"""The facts of a run: its settings, and what files next to a log say about the machine and the code.

Configurations become facts: nested objects are flattened, and common settings get canonical names. YAML is
read here as well.

The table `SIDE_FILES` lists files without a curve that say what was run: their names and what they contain.
Such a file is never taken for a log. What it says becomes facts of the attempts in the same folder, above it
or below it, unless their logs already state these facts.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase, translate
from itertools import islice
from pathlib import Path
from typing import Any

from chronicle.metrics.values import moment, short_node_list
from chronicle.readers.text import clean

MAX_ENTRIES, MAX_DEPTH, MAX_TEXT, MAX_LIST = 1000, 8, 1000, 16

Scalar = float | int | str | bool
Facts = dict[str, Scalar]

# Keys whose objects hold hyperparameters.
_CONFIG = re.compile(r"config|hyper|hparams|^(training_)?args$|^arguments$|params$|^_meta$", re.IGNORECASE)
# Hyperparameters that also become facts under a name that does not depend on the framework.
_CANONICAL = {"seed": "seed", "random_seed": "seed", "dataset": "dataset", "dataset_name": "dataset"}
_CANONICAL |= {"world_size": "world_size", "num_processes": "world_size"}  # the latter of accelerate

_NOT_IN_YAML = re.compile(r"[^\t\n\r -~\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_NUMBER = re.compile(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WORDS = {"null": None, "~": None, "": None, "true": True, "false": False, ".nan": "nan", ".inf": "inf"}


def leaves(name: str, value: Any, joint: str, depth: int = 0) -> Iterator[tuple[str, Scalar]]:
    """The scalars in a value, at any depth, each with its name: the keys that lead to it, joined by
    ``joint``. Null and a tracker's media (objects with `_type`) are left out; a short list becomes a text."""
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


def values_in(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """What an object holds, at any depth, with the keys that lead to it."""
    if not isinstance(value, dict):
        yield path, value
        return
    for key, inner in value.items():
        yield from values_in(inner, f"{path}/{clean(key)}".lstrip("/"))


def config_facts(config: Mapping[str, Any]) -> dict[str, Scalar]:
    """The first 1,000 hyperparameters as facts `config/<name>`, where a name is the keys joined with "/"."""
    flat = dict(islice(leaves("", config, "/"), MAX_ENTRIES))
    plain = {key.lower().replace(" ", "_"): value for key, value in flat.items()}
    named = {_CANONICAL[key]: value for key, value in plain.items() if key in _CANONICAL}
    return named | {f"config/{key}": value for key, value in flat.items()}


def named_facts(flat: Iterable[tuple[str, Scalar]]) -> dict[str, Scalar]:
    """The first 1,000 of these facts. Those below a key that names a configuration become `config/<name>`."""
    facts = dict[str, Scalar]()
    for name, value in islice(flat, MAX_ENTRIES):
        inner = below_config(name)
        facts.setdefault(f"config/{inner}" if inner else name, value)
    return {_CANONICAL[key]: facts[f"config/{key}"] for key in _CANONICAL if f"config/{key}" in facts} | facts


def below_config(name: str) -> str:
    """The rest of a name (joined with "/") after a key that names a configuration; "" for any other name."""
    parts = name.split("/")
    at = next((i for i, part in enumerate(parts[:-1]) if _CONFIG.search(part)), len(parts))
    return "/".join(parts[at + 1 :])


def from_yaml(text: str) -> Any:
    """The mapping or list in a YAML document, as far as it can be read (`yaml_prefix`)."""
    return yaml_prefix(text)[0]


def yaml_prefix(text: str) -> tuple[Any, bool]:
    """The mapping or list in a YAML document ({} if it contains neither), and whether that is all of it. No
    document is refused: a tag (`!!python/object:...`) is dropped, an alias stays as written, all lines before
    a syntax error or a control character are kept, and of values of one name the first."""
    import yaml  # here, because the import takes longer than reading most logs

    if damage := _NOT_IN_YAML.search(text):
        return yaml_prefix(text[: damage.start()].rpartition("\n")[0])[0], False
    begun, is_whole = [(False, list[Any]())], False  # is it a mapping; its items, or keys and values in turn
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
        is_whole = True
    while len(begun) > 1:
        _end_last(begun)
    value: Any = next(iter(begun[0][1]), {})
    return (value if isinstance(value, dict | list) else {}), is_whole


def _end_last(begun: list[tuple[bool, list[Any]]]) -> None:
    is_mapping, items = begun.pop()
    mapping = dict[str, Any]()
    for name, value in zip(items[::2], items[1::2], strict=False) if is_mapping else ():
        mapping.setdefault(str(name), value)
    begun[-1][1].append(mapping if is_mapping else items)


def scalar(text: str) -> Any:
    """Reads a value on one line: a number, bool, None, list or mapping, else the text itself."""
    if text[:1] in ("[", "{"):
        return from_yaml(text)
    text = _COMMENT.sub("", text).strip()
    if text == "None" or text.lower() in _WORDS:  # as Python writes it; `none` is a text
        return _WORDS.get(text.lower())
    if _NUMBER.fullmatch(text):
        is_whole = text.lstrip("+-").replace("_", "").isdigit()
        return int(text) if is_whole and len(text) < 19 else float(text)
    return text


# --- files beside a log ---
MAX_BYTES = 1 << 22  # a larger file is no description of a run
MAX_FILES = 200  # of one run
MAX_FOLDERS = 2000

# Folders in the folder of a run that hold only what is said of it.
ASIDE = (".hydra", "files")
BY_TIME = re.compile(r"[0-9]{10}\.[0-9]+")  # `add_hparams` makes a folder named by Unix seconds

_LISTED = re.compile(
    r"""["']?(?!nohup:|self\.|SLURM_)(?P<name>[A-Za-z_][\w./-]{0,60}(?:\ [\w./-]{1,30}){0,4}?)["']?
    (?: \s*(?:[:=]|=>|\||\ \.{3,})\s* | (?P<gap>\s{2,}) )
    ["']?(?P<value>(?![A-Za-z_][\w.]*\()[^\s|"'<:=\[{][^|]*?)?["']?""",
    re.VERBOSE,
)  # a value that calls a function is a line of source code
_FRAMES = " \t|,;•*>-"
_OPEN, _CLOSED = re.compile(r"[(\[{]"), re.compile(r"[)\]}]")
_NEXT_SETTING = re.compile(r",\s+(?=[A-Za-z_][\w. -]{0,40}?\s*[:=])")
_HEADED = re.compile(r"[\w.]+(?:\s?=\s?|:\s)\S+")  # the setting in `Overriding: seed = 7`
# No setting: each launch has another.
_MOMENT = re.compile(r"\d\d:\d\d:\d\d|\b20\d\d[-_/]?[01]\d[-_/]?[0-3]\d(?!\d)")
_MOST_WORDS = 5  # of a value


def settings_in(words: str, *, framed: bool) -> list[tuple[str, str]] | None:
    """The names and values in a line that holds nothing else; None where it does."""
    named = list[tuple[str, str]]()
    for match in map(_LISTED.fullmatch, _NEXT_SETTING.split(words)):
        if match and _HEADED.fullmatch(match["value"] or ""):
            match = _LISTED.fullmatch(match["value"])
        if match is None or (match["gap"] and not framed):
            return None
        value = match["value"] or ""
        if "=" in value or len(value.split()) > _MOST_WORDS:
            return None
        if value and _without_brackets(value) == value and not _MOMENT.search(value):
            named.append((match["name"], value))
    return named


def without_frames(text: str) -> str:
    """The words of a line without what frames them, and without a bracket that belongs to another line."""
    return _without_brackets(text.strip(_FRAMES))


def _without_brackets(words: str) -> str:
    """The words without a bracket at either end that belongs to one in another line."""
    excess = len(_CLOSED.findall(words)) - len(_OPEN.findall(words))
    while excess > 0 and _CLOSED.match(words[-1:]):
        words, excess = words[:-1].rstrip(_FRAMES), excess - 1
    while excess < 0 and _OPEN.match(words[:1]):
        words, excess = words[1:].lstrip(_FRAMES), excess + 1
    return words


_LONGEST_LINE = 20_000  # characters of arguments that are read
_ARGUMENT = re.compile(
    r"""["']?\b([A-Za-z_][\w.-]{0,80})(?:\s?=\s?|["']\s?:\s?)"""
    r"""("[^"]{0,300}"|'[^']{0,300}'|[^\s,;:()"'{}\[\]]{1,300}+(?!\())"""
)


def arguments_in(text: str, *, anywhere: bool = False, fewest: int = 2) -> dict[str, Scalar]:
    """The arguments of a program in a line: ``lr=3e-4 data=c4``, ``Namespace(lr=0.1)`` or ``{'lr': 0.1}``. A
    line that says anything else has none, unless they may stand ``anywhere`` in it."""
    text = text[:_LONGEST_LINE]
    assigned = _ARGUMENT.findall(text)
    if len(assigned) < fewest or not (anywhere or not re.search(r"\w", _ARGUMENT.sub("", text))):
        return {}
    return {n: value for n, text in assigned if (value := scalar(text.strip("'\""))) is not None}


_PARSERS: Mapping[str, Callable[[str], Any]] = {".json": json.loads, ".yaml": from_yaml, ".yml": from_yaml}


@dataclass(frozen=True)
class SideFile:
    """A kind of file: patterns of its name (or of its folder and name), the programs that write it, what it
    contains in words (``tells``), and a function from its content to facts (None: it has none)."""

    names: tuple[str, ...]
    writer: str
    tells: str
    holds: Callable[[Any], Facts] | None = None


@dataclass(frozen=True)
class SideFacts:
    """The facts in one file. ``folder`` is the folder they belong to, relative to what was read; ``at_time``
    is when it was written [Unix s] (NaN: not known), ``process`` by which process ("": not known)."""

    folder: str
    at_time: float
    facts: Mapping[str, Any]
    process: str = ""


def is_side_file(path: Path) -> bool:
    """Whether the name of a file is in the table `SIDE_FILES`."""
    name = path.name
    return _row(path.parent.name if name.lower() in _IN_FOLDERS else "", name) is not None


def side_facts(path: Path, base: Path) -> list[SideFacts]:
    """The facts in the side files below a folder, or next to a file; their paths are relative to ``base``."""
    read = ((file, _read(file, row.holds)) for file, row in side_files(path))
    return [SideFacts(*home_of(file.relative_to(base).as_posix()), facts) for file, facts in read if facts]


def home_of(name: str) -> tuple[str, float]:
    """The folder to which a side file belongs, and when it was written [Unix s]; NaN if no folder says so."""
    *folders, _ = name.split("/")
    times = [float(folder) for folder in folders if BY_TIME.fullmatch(folder)]
    while folders and (folders[-1] in ASIDE or BY_TIME.fullmatch(folders[-1])):
        folders.pop()
    return "/".join(folders), times[-1] if times else math.nan


def _row(folder: str, name: str) -> SideFile | None:
    name = name.lower()
    exact = _BY_NAME.get(name) or _BY_NAME.get(f"{folder.lower()}/{name}")
    if exact or not _PATTERNED.match(name):
        return exact
    return next((row for pattern, row in _BY_PATTERN if fnmatchcase(name, pattern)), None)


def side_files(path: Path) -> Iterator[tuple[Path, SideFile]]:
    """The side files below a folder, or next to a file, each with its kind; outer folders come first."""
    named = ((folder, name) for folder, names in _folders(path) for name in sorted(names))
    rows = ((folder, name, _row(os.path.basename(folder), name)) for folder, name in named)
    files = ((Path(folder, name), row) for folder, name, row in rows if row)
    return islice((known for known in files if known[0].is_file()), MAX_FILES)


def _folders(path: Path) -> Iterator[tuple[str, list[str]]]:
    """The folders below a path, each with the names of its files. Hidden folders other than those in `ASIDE`
    are left out, and links are not followed."""
    if path.is_dir():
        for folder, below, files in islice(os.walk(path), MAX_FOLDERS):
            below[:] = sorted(name for name in below if name in ASIDE or not name.startswith("."))
            yield folder, files
        return
    for place in (path.parent, *(path.parent / name for name in ASIDE)):
        with suppress(OSError):
            yield str(place), os.listdir(place)


def _read(file: Path, holds: Callable[[Any], Facts] | None) -> Facts:
    """Reads the facts in a file; {} if it is damaged, too large or unreadable, since facts are no reason to
    fail."""
    parsed = _PARSERS.get(file.suffix.lower(), str)
    with suppress(OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        if holds and file.stat().st_size <= MAX_BYTES:
            facts = holds(parsed(file.read_text("utf-8", "replace")))
            return {name: value for name, value in facts.items() if value != ""}
    return {}


def settings(document: Any) -> Facts:
    """All settings in a document as facts `config/<name>`; {} if it is no mapping. Where a client stores each
    value together with a description, only the value is kept."""
    return config_facts(_unwrapped(document)) if isinstance(document, Mapping) else {}


_WRAPPING = {"desc", "value", "sort", "description", "name", "section", "type"}


def _unwrapped(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "value" in value and value.keys() <= _WRAPPING:
        inner = value["value"]
        return scalar(inner) if "type" in value and isinstance(inner, str) else inner
    own = (key for key in value if not str(key).startswith(("_wandb", "wandb_v")))
    return {key: _unwrapped(value[key]) for key in own}


# Each fact, and the places where a document may state it, as keys joined with "/"; the first counts.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "name": ("experiment/name", "name"),
    "project": ("project_name",),
    "host": ("host/hostname", "runtime/hostname", "hostname", "host"),
    "user": ("runtime/user", "username", "user", "email"),
    "os": ("host/os/1", "runtime/os", "os"),
    "python": ("host/python_version", "runtime/python_version", "python_version", "python"),
    "program": ("experiment/mainfile", "program", "codePath"),
    "command": ("runtime/command", "script/entry_point", "meta/command", "command"),
    "git_commit": ("experiment/repositories/0/commit", "git/commit", "script/version_num", "git_commit"),
    "git_remote": ("experiment/repositories/0/url", "git/remote", "git/remote_url", "script/repository"),
    "git_branch": ("git/branch", "script/branch"),
    "cpu": ("host/cpu", "hardware/cpu/brand"),
    "gpu_type": ("host/gpus/gpus/0/model", "hardware/accelerators/0/name", "gpu"),
    "gpu_count": ("gpu_count",),
    "cuda": ("host/gpus/driver_version", "cudaVersion", "cuda"),
    "job": ("slurm/job_id",),
    "nodes": ("slurm/job_nodelist", "slurm/nodelist"),
    "started_at": ("startedAt", "start_time"),
    "ended": ("status",),
}
_ENDED = {"completed": "finished", "failed": "crashed", "interrupted": "killed", "timeout": "killed"}


def surroundings(document: Any) -> Facts:
    """The facts on where and how a run was started: host, user, program, command, code, accelerators,
    packages."""
    facts: Facts = {}
    for fact, places in _PLACES.items():
        values = (_at(document, place) for place in places)
        value = next((v for v in values if isinstance(v, str | int | float) and v != ""), None)
        if value is not None:
            facts[fact] = clean(value)[:MAX_TEXT] if isinstance(value, str) else value
    if isinstance(arguments := _at(document, "args"), list) and "command" not in facts:
        facts["command"] = " ".join(map(str, [facts.get("program", ""), *arguments])).strip()[:MAX_TEXT]
    if "nodes" in facts:
        facts["nodes"] = short_node_list(str(facts["nodes"]))
    started, ended = facts.pop("started_at", None), facts.pop("ended", None)
    if begun := moment(str(started)):
        facts["started_at"] = begun
    if how := _ENDED.get(str(ended).lower()):
        facts["ended"] = how
    hyperparameters = _at(document, "hyperparams")
    if isinstance(hyperparameters, Mapping):  # by section; "General" is what a training connects
        general = hyperparameters.get("General", {})
        facts |= settings({**{k: v for k, v in hyperparameters.items() if k != "General"}, **general})
    packages = _at(document, "experiment/dependencies") or _at(document, "script/requirements/pip")
    return facts | listed_packages("\n".join(packages) if isinstance(packages, list) else str(packages or ""))


def _at(document: Any, place: str) -> Any:
    for key in place.split("/"):
        if isinstance(document, Mapping):
            document = document.get(key)
        elif isinstance(document, list) and key.isdigit() and int(key) < len(document):
            document = document[int(key)]
        else:
            return None
    return document


_FRAMEWORKS = (
    *("torch", "lightning", "pytorch-lightning", "transformers", "accelerate", "deepspeed", "jax", "flax"),
    *("tensorflow", "keras", "numpy", "nvidia-nccl-cu12", "flash-attn", "triton"),
)
_PACKAGE = re.compile(r"^[ \t]*([A-Za-z0-9][\w.-]*)[ \t]*==[ \t]*([\w.+!-]+)[ \t\r]*$", re.MULTILINE)


def listed_packages(text: str) -> Facts:
    """The fact "packages": each as `name==version`, frameworks first; {} if a text pins none."""
    pinned = dict(_PACKAGE.findall(text))
    first = [name for name in _FRAMEWORKS if name in pinned]
    names = [*first, *sorted(pinned.keys() - set(first), key=str.lower)]
    listed = ", ".join(f"{name}=={pinned[name]}" for name in names)
    return {"packages": clean(listed)[:MAX_TEXT]} if listed else {}


def overrides(document: Any) -> Facts:
    """The fact "overrides": the settings that a launcher changed on the command line; {} if it lists none."""
    return {"overrides": clean(" ".join(map(str, document)))[:MAX_TEXT]} if isinstance(document, list) else {}


_SETTINGS, _START = "settings", "machine, code, command, packages"
_OF_RAY = ("experiment_state*.json", "basic-variant-state*.json", "searcher-state*.json")
SIDE_FILES: Sequence[SideFile] = (
    SideFile(("hparams.yaml", "hparams.yml"), "Lightning, accelerate", _SETTINGS, settings),
    SideFile(("args.yaml", "opt.yaml", "hyp.yaml"), "ultralytics, timm, YOLOv5", _SETTINGS, settings),
    SideFile(("config.yaml", "config.yml"), "W&B, SwanLab, LightningCLI, others", _SETTINGS, settings),
    SideFile(("default_config.yaml", "accelerate_config.yaml"), "accelerate", _SETTINGS, settings),
    SideFile((".hydra/config.yaml",), "Hydra", _SETTINGS, settings),
    SideFile((".hydra/overrides.yaml",), "Hydra", "overrides of the command line", overrides),
    SideFile((".hydra/hydra.yaml",), "Hydra", "nothing"),
    SideFile(("params.yaml",), "DVC", _SETTINGS, settings),
    SideFile(("params.json", "config.json"), "Ray, Sacred, others", _SETTINGS, settings),
    SideFile(("args.json", "hparams.json", "training_args.json"), "people", _SETTINGS, settings),
    SideFile(("wandb-metadata.json",), "W&B", _START, surroundings),
    SideFile(("swanlab-metadata.json",), "SwanLab", _START, surroundings),
    SideFile(("run.json",), "Sacred", f"name, end, {_START}", surroundings),
    SideFile(("task.json",), "ClearML", f"{_SETTINGS}, {_START}", surroundings),
    SideFile(("requirements.txt",), "W&B, SwanLab, people", "packages with a version", listed_packages),
    SideFile(_OF_RAY, "Ray", "nothing"),
    SideFile(("wandb-summary.json", "_summary.json"), "W&B, SwanLab", "nothing"),
    SideFile(("debug-internal.log", "debug-core.log", "logs/debug.log"), "W&B", "nothing"),
)
_BY_NAME = {name: row for row in SIDE_FILES for name in row.names if "*" not in name}
_IN_FOLDERS = {
    name.rpartition("/")[2] for name in _BY_NAME if "/" in name
}  # names that count only in certain folders
_BY_PATTERN = [(name, row) for row in SIDE_FILES for name in row.names if "*" in name]
# All patterns in one: a folder of a thousand logs is looked through for each of them.
_PATTERNED = re.compile("|".join(translate(name) for name, _ in _BY_PATTERN))
