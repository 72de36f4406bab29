import os

import pytest

from chronicle.build.produce import fingerprint, newest
from chronicle.workspace.folders import run_in


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "runs" / "a"
    folder.mkdir(parents=True)
    (folder / "log.csv").write_text("step,loss\n1,2\n")
    return run_in(folder)


def test_equal_inputs_equal_hash_wherever_they_lie(run, tmp_path):
    one = fingerprint(run, "settings", tmp_path / "m")
    moved = tmp_path / "elsewhere" / "a"
    moved.parent.mkdir()
    (tmp_path / "runs" / "a").rename(moved)
    assert fingerprint(run_in(moved), "settings", tmp_path / "m2") == one
    assert fingerprint(run_in(moved), "other settings", tmp_path / "m2") != one


@pytest.mark.parametrize("name", ["log.csv", "run.toml", "notes.md", "label.toml", "sub/new.csv"])
def test_every_input_counts(run, tmp_path, name):
    before = fingerprint(run, "", tmp_path / "m")
    file = run.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("# changed\n")
    assert fingerprint(run_in(run.folder), "", tmp_path / "m") != before


def test_an_unusable_memory_is_no_matter(run, tmp_path):
    before = fingerprint(run, "", tmp_path / "m")
    (tmp_path / "m" / "inputs.json").write_text("[1, 2")
    assert fingerprint(run, "", tmp_path / "m") == before


def test_a_pipe_is_not_opened(run, tmp_path):
    os.mkfifo(run.folder / "pipe")
    assert fingerprint(run, "", tmp_path / "m")


def test_a_loop_of_links_ends(run, tmp_path):
    (run.folder / "again").symlink_to(run.folder)
    assert fingerprint(run, "", tmp_path / "m")


def test_newest_is_the_time_of_the_youngest_log(run):
    os.utime(run.folder / "log.csv", (1000, 1000))
    assert newest([run]) == 1000
    assert newest([]) == 0
