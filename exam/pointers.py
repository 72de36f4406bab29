"""The pointers: which logs of which public repositories are labelled, and which half each belongs to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

POINTERS = Path(__file__).parent / "pointers.json"
HALVES = ("open", "apart")
OPENED = (1, 2, 3)  # rounds whose half kept apart was opened, once it had been looked at often; see LOOKS.md
# Whose records were seen singly, by mistake, while rules or readers were mended; see LOOKS.md.
SEEN = {
    "falsomoralista-fgdcc-nohup-out",
    "gardenia22-sr-project-train-cost-csv",
    "jiazhe868-nanogpt-seis-train-mix-log",
}

Pointer = Mapping[str, Any]


def load(file: Path = POINTERS) -> list[dict[str, Any]]:
    """All pointers, in the order of their ids."""
    pointers: list[dict[str, Any]] = json.loads(file.read_text("utf-8"))
    return pointers


def half(pointer: Pointer) -> str:
    """Which half a pointer belongs to; nobody chooses, the hash of its address does.

    "apart" if the first hexadecimal digit of the SHA-256 of "owner/name:path" is below 8, else "open". Two
    logs of one run carry the address of the first of them as ``same_run``, so that they stay together. A
    round that was opened is open as a whole, and so is a pointer whose record was seen singly.
    """
    if pointer["round"] in OPENED or pointer["id"] in SEEN:
        return "open"
    address = pointer.get("same_run") or f"{pointer['repo']}:{pointer['files'][0]['path']}"
    return "apart" if int(hashlib.sha256(address.encode()).hexdigest()[0], 16) < 8 else "open"


def chosen(part: str, file: Path = POINTERS) -> Iterator[dict[str, Any]]:
    """The pointers of one half, or of both for "all"."""
    return (pointer for pointer in load(file) if part in ("all", half(pointer)))


def label_of(pointer: Pointer) -> dict[str, Any]:
    """The label of a pointer as `chronicle score` reads it from label.json.

    Raises:
        KeyError: the pointer has no label.
    """
    if not pointer["label"]:
        raise KeyError(f"{pointer['id']} has no label")
    place = {"repo": pointer["repo"], "commit": pointer["commit"]}
    return {
        "id": pointer["id"],
        "source": [{**place, "path": file["path"]} for file in pointer["files"]],
        "licence": pointer["licence"],
        "kind": "real",
        "format": pointer["format"],
        "picture": None,
        "seed_picture": None,
        "group": pointer.get("same_run", pointer["id"]),
        **pointer["label"],
    }
