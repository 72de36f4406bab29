"""chronicle check: what is damaged is found, told, and made again."""

from __future__ import annotations

import json
import os
import subprocess
import time

import pytest
from tests.logs import healthy, plain_engine


@pytest.fixture
def built(chronicle, tmp_path):
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    assert chronicle("build", "-q").code == 0
    return tmp_path


def git(folder, *arguments):
    who = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True)


@pytest.mark.slow
def test_what_is_damaged_is_told_and_made_again(chronicle, built):
    assert chronicle("check").out == f"nothing is damaged in {built}\n"
    entry, site = built / "build" / "entries" / "a", built / "build" / "site"
    figure = entry / "whole-wide.svg"
    whole, times = figure.read_bytes(), (figure.stat().st_atime_ns, figure.stat().st_mtime_ns)
    figure.write_bytes(bytes(len(whole)))
    os.utime(figure, ns=times)  # as a disk does that loses bits
    (entry / "series.csv.gz").unlink()
    (site / "runs" / "a" / "entry.json").write_text("{}")
    (site / "index.html").write_text("")
    (built / "runs" / "a" / "notes.md").write_bytes(b"# Notes\n\nna\xefve\n")
    (built / "runs" / "a" / "more.csv").symlink_to("nowhere")
    ran = chronicle("check")
    assert ran.code == 1
    assert ran.err.splitlines() == [
        f"error: {built}/runs/a/more.csv: is a link to a file that does not exist. "
        "Remedy: correct or remove it",
        f"error: {built}/runs/a/notes.md@11: is not UTF-8, and pages show a replacement character. "
        "Remedy: save it as UTF-8",
        f"error: {figure}: has other content than was written. Remedy: chronicle build, which makes it again",
        f"error: {entry}/series.csv.gz: is missing. Remedy: chronicle build, which makes it again",
        f"error: {site}/index.html: is missing. Remedy: chronicle build, which makes it again",
    ]
    (built / "runs" / "a" / "more.csv").unlink()
    (built / "runs" / "a" / "notes.md").unlink()
    assert chronicle("build", "-q").code == 0
    assert figure.read_bytes() == whole
    assert chronicle("check").code == 0
    (site / "runs" / "a" / "entry.json").write_text("{}")
    assert chronicle("check").err == (
        f"error: {site}/runs/a/entry.json: differs from the stored result of the run. "
        "Remedy: chronicle build, which makes it again\n"
    )


@pytest.mark.slow
def test_a_log_that_changed_unseen_is_told_and_read_again(chronicle, built):
    memory = built / "build" / "entries" / "a" / "inputs.json"
    code, rows = json.loads(memory.read_text())
    memory.write_text(json.dumps([code, {name: [*row[:-1], "0" * 64] for name, row in rows.items()}]))
    os.utime(memory, ns=(time.time_ns() + 3600 * 10**9,) * 2)
    ran = chronicle("check")
    log = built / "runs" / "a" / "a.csv"
    assert ran.code == 1
    assert not memory.exists()
    assert ran.err.splitlines() == [
        f"error: {log}: has changed although its size and times have not: a failing disk, or a tool that "
        "resets them. Remedy: compare it with a copy of your own; the next build reads it again"
    ]


def test_what_git_holds_is_looked_at(chronicle, tmp_path):
    chronicle("init", ".")
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Keep a run")
    assert chronicle("check").out == f"nothing is damaged in {tmp_path}\n"
    with (tmp_path / "runs" / "a" / "a.csv").open("a") as log:
        log.write("401,2.0\n")
    ran = chronicle("check")
    assert (ran.code, ran.out.splitlines()[0]) == (
        0,
        "runs/a/a.csv: differs from the last commit (`git diff` shows how)",
    )
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:runs/a/a.csv"], capture_output=True, text=True, check=True
    ).stdout.strip()
    kept = tmp_path / ".git" / "objects" / blob[:2] / blob[2:]
    kept.chmod(0o600)
    kept.write_bytes(kept.read_bytes()[:-9])
    ran = chronicle("check")
    assert ran.code == 1
    assert ran.err.startswith(f"error: {tmp_path}: the git repository is damaged (")
    assert ran.err.endswith("). Remedy: clone it again\n")
