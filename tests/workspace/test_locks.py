"""Locks that end with their holder, and scratch folders that nobody leaves behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chronicle.workspace.locks import appending, leave_nothing, locked, remove, scratch, sweep

HOLDER = (
    "import sys; from pathlib import Path; from chronicle.workspace.locks import {0}\n"
    "with {0}({1}) as got:\n    print(got, flush=True)\n    sys.stdin.read()\n"
)


def holding(what: str, arguments: str) -> subprocess.Popen[str]:
    """A process that holds something until its input ends, and has said so."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER.format(what, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout
    holder.said = holder.stdout.readline().strip()  # type: ignore[attr-defined]
    return holder


def test_a_lock_says_who_is_waited_for_and_waits(tmp_path: Path) -> None:
    file, messages = tmp_path / "build" / "lock", []
    holder = holding("locked", f"Path({str(file)!r}), 'the workspace', print")

    def say(text: str) -> None:
        messages.append(text)
        holder.communicate()  # lets it end; until now it held the lock

    with locked(file, "the workspace", say):
        assert holder.returncode == 0
    (text,) = messages
    assert re.fullmatch(
        rf"waiting for the workspace: process {holder.pid} on \S+ \(for \d+ s\) is using it", text
    )
    assert file.read_bytes() == b""


def test_what_a_killed_holder_left_is_taken_over(tmp_path: Path) -> None:
    file, messages = tmp_path / "lock", []
    with holding("locked", f"Path({str(file)!r}), 'the workspace', print") as holder:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        with locked(file, "the workspace", messages.append):
            pass
    (text,) = messages
    assert re.fullmatch(
        rf"the workspace was left locked by process {holder.pid} on \S+ \(for \d+ s\), "
        "which was killed; continuing after it",
        text,
    )


@pytest.mark.parametrize("junk", [b"{", b"[1]", b'{"process": "x", "since": 1, "host": 2}', b"\xff\0"])
def test_a_lock_that_holds_junk_is_no_matter(junk: bytes, tmp_path: Path) -> None:
    messages: list[str] = []
    (tmp_path / "lock").write_bytes(junk)
    with locked(tmp_path / "lock", "the workspace", messages.append):
        pass
    assert messages == [
        "the workspace was left locked by another process, which was killed; continuing after it"
    ]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    (tmp_path / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="Too many levels"), locked(tmp_path / "lock", "x", print):
        pass
    assert (tmp_path / "mine").read_text() == "kept"


def test_scratch_is_gone_afterwards_whatever_happens(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch(tmp_path) as folder:
        (folder / "file").write_text("x")
        1 / 0  # noqa: B018
    with scratch(tmp_path) as folder:
        leave_nothing()
        assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_swept_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".chronicle-scratch-of-mine").mkdir()
    (tmp_path / "chronicle-site").mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / ".chronicle-scratch-0123456789abcdef").symlink_to(kept)
    alive = holding("scratch", f"Path({str(tmp_path)!r})")
    with holding("scratch", f"Path({str(tmp_path)!r})") as killed, alive:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        left = Path(killed.said)  # type: ignore[attr-defined]
        assert left.is_dir()
        assert sweep(tmp_path) == 1
        assert not left.exists()
        left.mkdir(0o700)  # a new scratch folder sweeps as well, the first time
        with scratch(tmp_path) as mine:
            assert not left.exists()
            assert sweep(tmp_path) == 0
            assert mine.is_dir()
        assert Path(alive.said).is_dir()  # type: ignore[attr-defined]
        alive.communicate()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".chronicle-scratch-0123456789abcdef",
        ".chronicle-scratch-of-mine",
        "chronicle-site",
        "kept",
    ]
    assert (kept / "file").exists()


def test_what_is_added_is_added_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, real = tmp_path / "notes.md", os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) < 9:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:4])

    with appending(file) as add:
        add(b"one\n")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"), appending(file) as add:
        add(b"half a line\n")
    assert file.read_bytes() == b"one\n"
    with pytest.raises(OSError, match="No space left"), appending(tmp_path / "new.md") as add:
        add(b"half a line\n")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_nothing_is_added_to_a_file_that_was_removed_while_it_was_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, real = tmp_path / "notes.md", os.path.samefile
    asked = []

    def samefile(path: Path, descriptor: int) -> bool:
        if not asked:
            path.unlink()
            path.touch()
        asked.append(real(path, descriptor))
        return asked[-1]

    monkeypatch.setattr(os.path, "samefile", samefile)
    with appending(file) as add:
        add(b"one\n")
    assert (file.read_bytes(), asked) == (b"one\n", [False, True])


def test_removing_never_goes_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    for name in ("link", "tree"):
        place = tmp_path / name
        place.symlink_to(tmp_path / "kept") if name == "link" else place.mkdir()
    (tmp_path / "tree" / "below").symlink_to(tmp_path / "kept")
    for name in ("link", "tree", "nothing"):
        remove(tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["kept"]
    assert (tmp_path / "kept" / "file").exists()
