import json
import os
import time
from dataclasses import replace

import pytest

from chronicle.build.produce import Product, produce
from chronicle.build.store import changed_unseen, fingerprint, inputs, last_seen, newest
from chronicle.workspace.config import WorkspaceConfig
from chronicle.workspace.folders import RunFolder, run_in


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "runs" / "a"
    folder.mkdir(parents=True)
    (folder / "log.csv").write_text("step,loss\n1,2\n")
    return run_in(folder)


def test_equal_inputs_equal_hash_wherever_they_lie(run, tmp_path):
    known = fingerprint(run, "settings", tmp_path / "m")
    moved = tmp_path / "elsewhere" / "a"
    moved.parent.mkdir()
    (tmp_path / "runs" / "a").rename(moved)
    assert fingerprint(run_in(moved), "settings", tmp_path / "m2") == known
    assert fingerprint(run_in(moved), "other settings", tmp_path / "m2") != known


@pytest.mark.parametrize("name", ["log.csv", "run.toml", "notes.md", "label.toml", "sub/new.csv"])
def test_every_input_counts(run, tmp_path, name):
    before = fingerprint(run, "", tmp_path / "m")
    file = run.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("# changed\n")
    assert fingerprint(run_in(run.folder), "", tmp_path / "m") != before


def test_folders_that_link_to_each_other_are_entered_once(run, tmp_path):
    for name, other in (("one", "two"), ("two", "one")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("step,loss\n1,2\n")
        (tmp_path / name / "other").symlink_to(tmp_path / other)
    (run.folder / "linked").symlink_to(tmp_path / "one")
    logs = {"log.csv", "linked/log.csv", "linked/other/log.csv"}
    assert {file.removeprefix(f"{run.folder}/") for file in inputs(run) if file.endswith("log.csv")} == logs


@pytest.mark.parametrize(
    "name", ["hparams.yaml", "files/wandb-metadata.json", ".hydra/config.yaml", "config.json"]
)
def test_what_is_read_beside_a_log_counts(run, tmp_path, name):
    alone = RunFolder("a", (run.folder / "log.csv",))
    before = fingerprint(alone, "", tmp_path / "m")
    file = run.folder / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("lr: 1\n")
    with_it = fingerprint(alone, "", tmp_path / "m")
    file.write_text("lr: 2\n")
    assert len({before, with_it, fingerprint(alone, "", tmp_path / "m")}) == 3
    (run.folder / "other.csv").write_text("step,loss\n1,2\n")
    assert fingerprint(alone, "", tmp_path / "m") == fingerprint(alone, "", tmp_path / "m2")


def test_an_unusable_memory_is_no_matter(run, tmp_path):
    before = fingerprint(run, "", tmp_path / "m")
    (tmp_path / "m" / "inputs.json").write_text("[1, 2")
    assert fingerprint(run, "", tmp_path / "m") == before


def test_a_pipe_is_not_opened(run, tmp_path):
    os.mkfifo(run.folder / "pipe")
    assert fingerprint(run, "", tmp_path / "m")


def test_a_loop_of_links_ends(run, tmp_path):
    (run.folder / "again").symlink_to(run.folder)
    (run.folder / "self").symlink_to(run.folder / "self")
    assert fingerprint(run, "", tmp_path / "m")


def test_a_link_to_a_folder_around_the_run_is_not_entered(run, tmp_path):
    (run.folder / "up").symlink_to(tmp_path)
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "big.csv").write_text("step,loss\n")
    assert [file for file in inputs(run) if "big.csv" in file] == []


def test_no_log_of_a_run_with_a_problem_is_hashed(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret.csv").write_text("step,loss\n")
    (run.folder / "out").symlink_to(tmp_path / "elsewhere")
    refused = run_in(run.folder)
    assert str(refused.problem).startswith(f"{run.folder.name}/out: leads out of the workspace")
    assert list(inputs(refused)) == [str(file) for file in sorted(refused.own_files)]


def test_newest_is_the_time_of_the_youngest_log(run):
    os.utime(run.folder / "log.csv", (1000, 1000))
    assert newest([run]) == 1000
    assert newest([]) == 0


def remembered_later(memory):
    """As if the hashes had been taken an hour after they were: long after anything changed."""
    os.utime(memory / "inputs.json", ns=(time.time_ns() + 3600 * 10**9,) * 2)


def test_a_file_that_looks_as_before_is_not_read_again(run, tmp_path, monkeypatch):
    before = fingerprint(run, "", tmp_path / "m")
    remembered_later(tmp_path / "m")
    hashed = []
    monkeypatch.setattr("chronicle.build.store.sha256_of", lambda file: hashed.append(file))
    assert fingerprint(run, "", tmp_path / "m") == before
    assert hashed == []


def test_a_file_as_young_as_its_hash_is_read_again(run, tmp_path):
    """It may have changed within one tick of the clock (what git calls racy)."""
    log = run.folder / "log.csv"
    before = fingerprint(run, "", tmp_path / "m")
    looks = json.loads((tmp_path / "m" / "inputs.json").read_text())
    looks[1][str(log)][-1] = "0" * 64  # what stood there when it was hashed, in the same tick
    (tmp_path / "m" / "inputs.json").write_text(json.dumps(looks))
    os.utime(tmp_path / "m" / "inputs.json", ns=(log.stat().st_ctime_ns + 1,) * 2)
    assert fingerprint(run, "", tmp_path / "m") == before


def test_other_content_of_the_same_size_and_time_is_seen(run, tmp_path):
    log = run.folder / "log.csv"
    before = fingerprint(run, "", tmp_path / "m")
    remembered_later(tmp_path / "m")
    times = log.stat().st_atime_ns, log.stat().st_mtime_ns
    log.write_text("step,loss\n1,9\n")
    os.utime(log, ns=times)
    assert fingerprint(run, "", tmp_path / "m") != before


def test_what_lies_behind_a_link_counts(run, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (run.folder / "linked").symlink_to(tmp_path / "elsewhere")
    before = fingerprint(run, "", tmp_path / "m")
    (tmp_path / "elsewhere" / "more.csv").write_text("step,loss\n1,2\n")
    assert fingerprint(run, "", tmp_path / "m") != before


def test_the_write_ahead_log_of_a_database_counts(tmp_path):
    (tmp_path / "runs.db").write_bytes(b"SQLite format 3\0")
    run = RunFolder("r", (tmp_path / "runs.db",))
    before = fingerprint(run, "", tmp_path / "m")
    (tmp_path / "runs.db-wal").write_bytes(b"rows that are not in the file yet")
    assert fingerprint(run, "", tmp_path / "m") != before


def test_a_log_that_changes_unseen_is_found_by_reading_it(run, tmp_path):
    fingerprint(run, "", tmp_path / "m")
    remembered_later(tmp_path / "m")
    assert changed_unseen(tmp_path / "m") == []
    memory = tmp_path / "m" / "inputs.json"
    looks = json.loads(memory.read_text())
    looks[1][str(run.folder / "log.csv")][-1] = "0" * 64  # what it held before the disk lost a bit of it
    memory.write_text(json.dumps(looks))
    remembered_later(tmp_path / "m")
    assert changed_unseen(tmp_path / "m") == [run.folder / "log.csv"]


def test_a_folder_that_looks_as_it_did_is_known_until_anything_in_it_changes(run, tmp_path):
    assert not last_seen(run, tmp_path / "m")
    fingerprint(run, "", tmp_path / "m")
    assert not last_seen(run, tmp_path / "m")  # as young as its hash: it may have changed since
    remembered_later(tmp_path / "m")
    assert last_seen(run, tmp_path / "m")
    (run.folder / "runs.db").write_bytes(b"SQLite format 3\0")
    assert not last_seen(run, tmp_path / "m")


def test_what_was_seen_of_a_run_is_not_looked_at_again(run, tmp_path):
    known = fingerprint(run, "", tmp_path / "m")
    remembered_later(tmp_path / "m")
    seen = replace(run, seen=last_seen(run, tmp_path / "m"))
    (run.folder / "log.csv").write_text("step,loss\n1,9\n")
    assert fingerprint(seen, "", tmp_path / "m") == known  # of the moment at which it was seen
    assert fingerprint(run, "", tmp_path / "m") != known
    now, then = (Product(one, WorkspaceConfig(), tmp_path / "entry") for one in (run, seen))
    assert produce(then).full_entry().inputs_sha256 == now.key() != then.key()  # what is read is of now


def test_another_chronicle_may_find_other_runs_in_a_folder(run, tmp_path, monkeypatch):
    before = fingerprint(run, "", tmp_path / "m")
    remembered_later(tmp_path / "m")
    monkeypatch.setattr("chronicle.build.store.code_sha256", lambda: "another")
    assert not last_seen(run, tmp_path / "m")
    assert fingerprint(run, "", tmp_path / "m") == before
    remembered_later(tmp_path / "m")
    assert last_seen(run, tmp_path / "m")
