"""Writes the logs that the pointers name into a folder, from snapshots of their repositories on this disk.

    python -m exam.materialise --from SNAPSHOTS OUT [--part open|apart|all]

Nothing is downloaded. SNAPSHOTS holds one folder a repository, `owner+name` or `owner/name`: a checkout, a
bare git folder, or a folder with one of them as `repo` or `repo/.git` in it. Each log is written to
OUT/<id>/, with label.json where the pointer has a label. A log whose bytes differ from the labelled ones is
left out, and a message says so.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from exam.pointers import POINTERS, Pointer, chosen, label_of


class Missing(Exception):
    """A log cannot be had from the snapshots; the message says why."""


def candidate_folders(snapshots: Path, repo: str) -> Iterator[Path]:
    """The folders that may hold the snapshot of a repository."""
    for name in (repo.replace("/", "+", 1), repo):
        for below in ("", "repo"):
            yield snapshots / name / below


def git_folder(snapshot: Path) -> Path | None:
    """The git folder of a snapshot: the snapshot itself, or the one of a checkout; None if it has none."""
    for folder in (snapshot, snapshot / ".git"):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir():
            return folder
    return None


def content(snapshots: Path, pointer: Pointer, path: str) -> bytes:
    """The bytes of a log at the commit of its pointer, or as a checkout without a git folder has it.

    Raises:
        Missing: there is no snapshot, or it has no such log.
    """
    candidates = [folder for folder in candidate_folders(snapshots, pointer["repo"]) if folder.is_dir()]
    if not candidates:
        raise Missing(f"no snapshot of {pointer['repo']}. Remedy: put one below {snapshots}")
    for candidate in reversed(candidates):
        git = git_folder(candidate)
        if git is not None:
            return _blob(git, pointer, path)
        if (candidate / path).is_file():
            return (candidate / path).read_bytes()
    raise Missing(f"the snapshot of {pointer['repo']} has no {path}")


def _blob(git: Path, pointer: Pointer, path: str) -> bytes:
    command = ["git", "--git-dir", str(git), "cat-file", "blob", f"{pointer['commit']}:{path}"]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise Missing(f"the snapshot of {pointer['repo']} has no {path} at {pointer['commit'][:12]}")
    return done.stdout


def checked(snapshots: Path, pointer: Pointer) -> list[tuple[str, bytes]]:
    """The logs of a pointer: name and bytes.

    Raises:
        Missing: one is not there, or is not the one that was labelled.
    """
    logs = []
    for file in pointer["files"]:
        log = content(snapshots, pointer, file["path"])
        if hashlib.sha256(log).hexdigest() != file["sha256"]:
            raise Missing(f"{pointer['repo']}: {file['path']} is not the log that was labelled")
        logs.append((PurePosixPath(file["path"]).name, log))
    return logs


def materialise(snapshots: Path, out: Path, part: str, file: Path = POINTERS) -> tuple[int, list[str]]:
    """Writes the logs of one half; how many pointers were written, and what is missing."""
    written, missing = 0, []
    for pointer in chosen(part, file):
        try:
            logs = checked(snapshots, pointer)
        except Missing as err:
            missing.append(f"{pointer['id']}: {err}")
            continue
        folder = out / pointer["id"]
        folder.mkdir(parents=True, exist_ok=True)
        for name, log in logs:
            (folder / name).write_bytes(log)
        if pointer["label"]:
            text = json.dumps(label_of(pointer), indent=1, ensure_ascii=False)
            (folder / "label.json").write_text(text + "\n", "utf-8")
        written += 1
    return written, missing


def folder(text: str) -> Path:
    """An existing folder, as an option of a command."""
    if Path(text).is_dir():
        return Path(text)
    raise argparse.ArgumentTypeError(f"{text} is no folder. Remedy: name the one that holds the snapshots")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="snapshots", type=folder, required=True, metavar="SNAPSHOTS")
    parser.add_argument("--part", choices=["open", "apart", "all"], default="open")
    parser.add_argument("out", type=Path, metavar="OUT")
    given = parser.parse_args()
    try:
        given.out.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        parser.error(f"{given.out}: {err.strerror}. Remedy: name a folder for the logs that you may write")
    written, missing = materialise(given.snapshots, given.out, given.part)
    print(f"{written} pointers written to {given.out}, {len(missing)} missing")
    print("\n".join(f"  {line}" for line in missing))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
