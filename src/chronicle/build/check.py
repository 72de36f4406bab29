"""chronicle check: is all that a workspace holds as it was written? It is read, and nothing is believed.

A build looks at sizes and times, which a failing disk does not change. What is found damaged here loses its
mark of being kept, so that the next build makes it again.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from chronicle.build.engines import stamps
from chronicle.build.site import MARKER, lacking
from chronicle.build.store import changed_unseen, damaged, forget, kept_files, sha256_of
from chronicle.errors import os_message
from chronicle.workspace.folders import RunFolder, Workspace
from chronicle.workspace.locks import Say, locked

_AGAIN = "Remedy: chronicle build, which makes it again"


class Found(NamedTuple):
    """What is not as it was written, and what to do; not ``is_damage`` if that is only worth knowing."""

    where: str
    what: str
    is_damage: bool = True

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def check(workspace: Workspace, say: Say) -> list[Found]:
    """What is damaged in a workspace: its runs, the entries that are kept, the site, and what git holds.

    Waits for a build that is at work; ``say`` is told so.

    Raises:
        OSError: the mark of a damaged entry cannot be removed.
    """
    build = workspace.root / "build"
    entries = sorted(f for f in (build / "entries").glob("*") if f.is_dir() and not f.is_symlink())
    with locked(build / "lock", f"the build in {workspace.root}", say):
        found = [one for run in workspace.runs() for one in _of_run(run)]
        found += [one for folder in entries for one in _of_entry(folder)]
        found += _of_site((workspace.root / workspace.config.out).resolve(), build / "docs", entries)
    return [*found, *_of_git(workspace)]


def _of_run(run: RunFolder) -> Iterator[Found]:
    if run.problem:
        yield Found(run.run_id, str(run.problem))
    for root, folders, names in os.walk(run.folder or "", onerror=None):
        for path in (Path(root) / name for name in (*folders, *names)):
            if path.is_symlink() and not path.exists():
                yield Found(str(path), "is a link to what does not exist. Remedy: mend the link or remove it")
            elif path.is_file() and not os.access(path, os.R_OK):
                yield Found(str(path), "cannot be read. Remedy: check its permissions")
    try:
        if run.notes_file and run.notes_file.is_file():
            run.notes_file.read_text("utf-8-sig")
    except UnicodeDecodeError as err:
        where = f"{run.notes_file}@{err.start}"
        yield Found(where, "is no UTF-8; a page shows a sign in its place. Remedy: save it as UTF-8")
    except OSError as err:
        yield Found(run.run_id, os_message(err))


def _of_entry(folder: Path) -> Iterator[Found]:
    spoiled, unseen = damaged(folder), changed_unseen(folder)
    for name in spoiled:
        what = "holds something else than what was written" if (folder / name).exists() else "is missing"
        yield Found(str(folder / name), f"{what}. {_AGAIN}")
    for log in unseen:
        what = "changed, and its size and times did not: a disk that fails, or a tool that hides what it does"
        yield Found(
            str(log), f"{what}. Remedy: compare it with a copy of yours; the next build reads it again"
        )
    if spoiled or unseen:
        forget(folder)


def _of_site(site: Path, docs: Path, entries: list[Path]) -> Iterator[Found]:
    if not (site / MARKER).exists():
        return
    for page in lacking(stamps(site), stamps(docs)):
        yield Found(str(site / page), f"is missing. {_AGAIN}")
    for folder in entries:
        for name, sha256 in kept_files(folder).items():
            file = site / "runs" / folder.name / name
            published = file.is_file() and (docs / file.relative_to(site)).is_file()
            if published and sha256_of(file) != sha256:
                yield Found(str(file), f"is not what was kept of the run. {_AGAIN}")


def _of_git(workspace: Workspace) -> Iterator[Found]:
    """What git says of its own objects, and which files of runs are not as it holds them."""
    fsck = _git(workspace.root, "fsck", "--no-progress", "--no-dangling")
    if fsck is None or fsck.returncode == 128:  # no git, or no repository
        return
    if fsck.returncode:
        said = (fsck.stderr or fsck.stdout).strip().splitlines() or ["git fsck failed"]
        yield Found(str(workspace.root), f"what git holds is damaged ({said[0]}). Remedy: clone it anew")
    names = ["--no-ext-diff", "--name-only", "-z", "--relative", "HEAD", "--"]
    status = _git(workspace.root, "diff", *names, workspace.config.runs)
    for name in status.stdout.split("\0") if status and not status.returncode else []:
        if name:
            yield Found(name, "differs from what git holds (`git diff` shows how)", is_damage=False)


def _git(root: Path, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Runs git on a repository of strangers: no program that its configuration names is started."""
    command = ["git", "-C", str(root), "-c", "core.fsmonitor=false", "-c", "core.pager=cat", *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment)
    except OSError:
        return None
