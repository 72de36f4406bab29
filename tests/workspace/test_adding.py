"""chronicle add: nothing is lost or half there, and no link leads out of a workspace."""

from __future__ import annotations

import os
import shutil
import tomllib
from dataclasses import replace

import pytest
from tests.logs import texts_of

from chronicle.errors import ConfigError, UsageError
from chronicle.workspace import folders
from chronicle.workspace.folders import Workspace, add, init, run_in, safe_id


@pytest.fixture
def workspace(tmp_path):
    init(tmp_path / "w")
    return Workspace.find(tmp_path / "w" / "runs")


@pytest.fixture
def log(tmp_path):
    return written(tmp_path / "run 7.csv", "1,2.0")


def written(file, row):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"step,loss\n{row}\n")
    return file


def test_add_copies_and_names(workspace, log):
    folder = add(workspace, [log], "", {"project": "Atlas", 'odd "key"': "a\\b\n"})[0]
    assert folder.name == safe_id("run 7")
    assert (folder / "run 7.csv").read_bytes() == log.read_bytes()
    assert tomllib.loads((folder / "run.toml").read_text("utf-8")) == {
        "title": "run 7",
        "project": "Atlas",
        "facts": {'odd "key"': "a\\b\n"},
    }
    assert run_in(folder).config.facts == {'odd "key"': "a\\b\n"}


def test_a_hidden_log_is_added_where_a_build_sees_it(workspace, tmp_path):
    folder = add(workspace, [written(tmp_path / ".train.csv", "1,2.0")], "hidden", {})[0]
    assert [file.name for file in folder.iterdir()] == ["train.csv"]


def test_add_can_leave_the_log_where_it_is(workspace, log):
    with pytest.raises(ConfigError) as refused:
        add(workspace, [log], "seven", {}, link=True)
    assert str(refused.value) == (
        "--link: leads out of the workspace, to run 7.csv. "
        "Remedy: add its folder to `allow` of chronicle.toml, or `chronicle add` the log"
    )
    assert not (workspace.runs_folder / "seven").exists()
    workspace = replace(workspace, config=replace(workspace.config, allow=[str(log.parent)]))
    folder = add(workspace, [log], "seven", {}, link=True)[0]
    assert [f.name for f in folder.iterdir()] == ["run.toml"]
    assert workspace.run("seven").logs == (log.resolve(),)


@pytest.mark.parametrize("name", ["seven", "Seven"])
def test_add_never_overwrites_whatever_the_case_of_a_name(workspace, log, name):
    add(workspace, [log], name, {})
    with pytest.raises(UsageError, match=rf"{name} exists\. Remedy: choose another --name"):
        add(workspace, [log], "seven", {})


def test_add_of_what_is_not_there(workspace, tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        add(workspace, [tmp_path / "nothing"], "", {})


def test_logs_of_one_name_are_told_apart_by_their_folders(workspace, tmp_path):
    logs = [
        written(tmp_path / place / "train.csv", f"{n},1")
        for n, place in enumerate(["x/a", "x/b", "y/a", "y/.hidden", "z/hidden"])
    ]
    other = written(tmp_path / "x" / "other.csv", "9,9")
    upper = written(tmp_path / "y" / "c" / "TRAIN.csv", "8,8")
    folder, left_out = add(workspace, [*logs, other, upper, logs[0]], "run", {})
    assert {name: text.split()[1] for name, text in texts_of(folder).items()} == {
        "x/a/train.csv": "0,1",
        "b/train.csv": "1,1",
        "y/a/train.csv": "2,1",
        "y/hidden/train.csv": "3,1",
        "z/hidden/train.csv": "4,1",
        "other.csv": "9,9",
        "c/TRAIN.csv": "8,8",
    }
    assert left_out == []


def test_a_folder_and_a_log_in_it_of_one_name(workspace, tmp_path):
    """The folder keeps its name, so what is in it cannot meet what is beside it."""
    inner = written(tmp_path / "d" / "a.csv", "1,1").parent
    folder, _ = add(workspace, [inner, written(tmp_path / "a.csv", "2,2")], "run", {})
    assert {name: text.split()[1] for name, text in texts_of(folder).items()} == {
        "d/a.csv": "1,1",
        "a.csv": "2,2",
    }
    assert sorted(texts_of(add(workspace, [inner], "alone", {})[0])) == ["a.csv"]


def test_logs_that_nothing_tells_apart_are_refused(workspace, tmp_path):
    hidden, plain = (written(tmp_path / place / "t.csv", "1,1") for place in (".a", "a"))
    with pytest.raises(UsageError) as err:
        add(workspace, [hidden, plain], "run", {})
    assert str(err.value) == f"{hidden} and {plain} have the same name. Remedy: rename one of them"
    assert list(workspace.runs_folder.iterdir()) == []


def test_a_full_disk_leaves_nothing_and_the_retry_works(workspace, tmp_path, monkeypatch):
    logs = [written(tmp_path / name, "1,1") for name in ("a.csv", "b.csv")]
    real = shutil.copyfileobj

    def full(source, to, length):
        if source.name.endswith("b.csv"):
            to.write(source.read(5))
            raise OSError(28, "No space left on device")
        real(source, to, length)

    monkeypatch.setattr(folders.shutil, "copyfileobj", full)
    with pytest.raises(OSError, match="No space left on device"):
        add(workspace, logs, "run", {})
    assert list(workspace.runs_folder.iterdir()) == []
    monkeypatch.setattr(folders.shutil, "copyfileobj", real)
    assert sorted(texts_of(add(workspace, logs, "run", {})[0])) == ["a.csv", "b.csv"]


def test_links_stay_out_unless_asked(workspace, tmp_path):
    secret = written(tmp_path / "secret" / "key.csv", "secret,1")
    source = written(tmp_path / "logs" / "a.csv", "1,1").parent
    (source / "out").symlink_to(secret.parent)
    (source / "key.csv").symlink_to(secret)
    (source / "broken").symlink_to("nowhere")
    os.mkfifo(source / "pipe")
    folder, left_out = add(workspace, [source], "plain", {})
    assert sorted(texts_of(folder)) == ["a.csv"]
    assert [path.name for path in left_out] == ["broken", "key.csv", "out", "pipe"]
    folder, left_out = add(workspace, [source], "followed", {}, follow=True)
    assert sorted(texts_of(folder)) == ["a.csv", "key.csv", "out/key.csv"]
    assert not any(path.is_symlink() for path in folder.rglob("*"))
    assert [path.name for path in left_out] == ["broken", "pipe"]


def test_a_loop_of_links_is_refused(workspace, tmp_path):
    source = written(tmp_path / "logs" / "a.csv", "1,1").parent
    (source / "deep").mkdir()
    (source / "deep" / "again").symlink_to(source)
    assert [path.name for path in add(workspace, [source], "plain", {})[1]] == ["again"]
    with pytest.raises(UsageError) as err:
        add(workspace, [source], "followed", {}, follow=True)
    assert str(err.value) == (
        f"{source / 'deep' / 'again'} is a link to a folder above it. Remedy: remove it"
    )
    assert [path.name for path in workspace.runs_folder.iterdir()] == ["plain"]


def test_a_link_that_is_named_itself_is_copied(workspace, tmp_path, log):
    (tmp_path / "latest.csv").symlink_to(log)
    folder, _ = add(workspace, [tmp_path / "latest.csv"], "run", {})
    assert texts_of(folder) == {"latest.csv": log.read_text()}
    assert not (folder / "latest.csv").is_symlink()


def test_facts_do_not_overwrite_a_run_toml_that_comes_along(workspace, tmp_path):
    source = written(tmp_path / "logs" / "a.csv", "1,1").parent
    (source / "run.toml").write_text('title = "theirs"\n')
    assert add(workspace, [source], "one", {})[0].joinpath("run.toml").read_text() == 'title = "theirs"\n'
    with pytest.raises(UsageError) as err:
        add(workspace, [source], "two", {"title": "ours"})
    assert str(err.value) == (
        "run.toml is among the logs already, and says what the run is. "
        "Remedy: write the facts into it, without --fact"
    )


def test_the_command_says_what_it_left_out(chronicle, tmp_path):
    chronicle("init", ".")
    source = written(tmp_path / "logs" / "a.csv", "1,1").parent
    (source / "link").symlink_to(source / "a.csv")
    ran = chronicle("add", "logs", "--name", "r")
    assert (ran.code, ran.err) == (0, f"left out {source / 'link'}: a link\n")
    assert ran.out == f"added {tmp_path / 'runs' / 'r'}\nNext: chronicle build\n"
