"""The pointers: which logs of which public repositories are labelled, and which half each belongs to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from typing import Any

POINTERS = Path(__file__).parent / "pointers.json"
HALVES = ("open", "apart")
# Rounds that are open as a whole: their half kept apart was looked at often, or log by log; see LOOKS.md.
OPENED = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
# Pointers that were looked at one by one, by mistake, while rules or readers were mended; see LOOKS.md.
LOOKED_AT_SINGLY = {
    "anirudhiitj-rl4vlm-run-j5pm5zai-wandb",
    "anirudhiitj-rl4vlm-sft_numberline-log",
    "batteryphil-prime-revisited-training_mamba3_native-l",
    "ceciliaguo331-nano-gpt-train-log",
    "falsomoralista-fgdcc-nohup-out",
    "gardenia22-sr-project-train-cost-csv",
    "hsinhaoyu-sentence_transformer-finetune-log",
    "jiazhe868-nanogpt-seis-train-mix-log",
    "kangkang-wky-gaussian-splatting-train-log",
    "mirmix-continuous-thought-m-training-log",
    "qidian213-stereonet-training-log",
    "satishparaddi-fine-tuning-llama-for-medical--run-0bbap5k6-wandb",
    "tiennguyenkha-cs331_r-cipt-train_transformer-log",
    "wen2720-02456_painn_project-training_log-tsv",
    "yasar-17-handwriting-generati-log-json",
    "yejing97-clf_stroke-feautures_fg_emb5_lr_0-0",
    "yzhien-shake_re_flower-log-json",
    "zkcpku-contrastive_chinese_-pinyin_and_chaizi_no_pretrain-log",
}

# Values that most pointers share, and that the file leaves out. The usual reason of a label is the note.
# fmt: off
FORBIDDEN = [
    "divergence-after-spike", "divergence-no-spike", "failed-run", "frozen-metric", "grokking", "hang",
    "level-shift", "loss-scale-collapse", "lr-not-restored", "multi-dataset-spike", "nan-inf", "overfitting",
    "reinitialised", "repeat-data", "resume-ratio-skew", "resume-spike", "rising-spike-rate",
    "spike-no-full-recovery", "spike-slow-recovery",
]
ANY_KIND = [
    "spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery", "divergence-after-spike",
    "divergence-no-spike", "level-shift", "grokking", "multi-dataset-spike",
]
# fmt: on
USUAL_POINTER: dict[str, Any] = {"licence": None, "objective": "falls", "note": "", "label": None}
USUAL_TRUTH: dict[str, Any] = {"attempts": 1, "counters": {}, "validation": None, "learning_rate": None}
USUAL_LABEL: dict[str, Any] = {
    "verdict": "good",
    "verdict_also_ok": [],
    "required": [],
    "allowed": [],
    "forbidden": FORBIDDEN,
    "events": [],
    "reliability": "high",
}
USUAL_EVENT: dict[str, Any] = {
    "pattern": "rising-spike-rate",
    "also_ok": ANY_KIND,
    "attempt": None,
    "end_step": None,
    "tolerance_steps": 0,
    "optional": True,
}

Pointer = Mapping[str, Any]


def load(file: Path = POINTERS) -> list[dict[str, Any]]:
    """All pointers in the order of their ids, completed with the values that the file leaves out."""
    return [_whole(pointer) for pointer in json.loads(file.read_text("utf-8"))]


def save(pointers: Iterable[Pointer], file: Path = POINTERS) -> None:
    """Writes the pointers in the order of their ids, one per line, without the usual values."""
    every = sorted(pointers, key=lambda pointer: str(pointer["id"]))
    lines = (json.dumps(_brief(pointer), separators=(",", ":")) for pointer in every)
    file.write_text("[\n" + ",\n".join(lines) + "\n]\n", "utf-8")


def _whole(brief: Pointer) -> dict[str, Any]:
    pointer = _with(USUAL_POINTER, brief)
    pointer["truth"] = _with(USUAL_TRUTH, brief["truth"])
    if pointer["label"] is not None:
        pointer["label"] = _with(USUAL_LABEL | {"why": pointer["note"]}, brief["label"])
        pointer["label"]["events"] = [_with(USUAL_EVENT, event) for event in pointer["label"]["events"]]
    return pointer


def _brief(pointer: Pointer) -> dict[str, Any]:
    brief = _without(USUAL_POINTER, pointer) | {"truth": _without(USUAL_TRUTH, pointer["truth"])}
    if pointer["label"] is not None:
        events = [_without(USUAL_EVENT, event) for event in pointer["label"]["events"]]
        label = pointer["label"] | {"events": events}
        brief["label"] = _without(USUAL_LABEL | {"why": pointer["note"]}, label)
    return brief


def _with(usual: dict[str, Any], brief: dict[str, Any]) -> dict[str, Any]:
    """Adds the usual values behind those of the file, so that saving the file again does not change it."""
    return brief | {name: copy(value) for name, value in usual.items()} | brief


def _without(usual: dict[str, Any], some: Pointer) -> dict[str, Any]:
    return {name: value for name, value in some.items() if name not in usual or value != usual[name]}


def half(pointer: Pointer) -> str:
    """Which half a pointer belongs to, decided by the hash of its address.

    "apart" if the first hexadecimal digit of the SHA-256 of "owner/name:path" is below 8, else "open". A
    second log of the same run has the address of the first as ``same_run``, so that both are in one half.
    Rounds that were opened are open as a whole, and so are the pointers that were looked at one by one.
    """
    if pointer["round"] in OPENED or pointer["id"] in LOOKED_AT_SINGLY:
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
