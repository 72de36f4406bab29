import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.errors import ConfigError, UsageError
from chronicle.workspace.folders import RunFolder, Workspace, add, facts_of, init, run_in, safe_id


@pytest.fixture
def workspace(tmp_path):
    init(tmp_path / "w")
    found = Workspace.find(tmp_path / "w" / "runs")
    assert found is not None
    return found


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "run 7.csv"
    file.write_text("step,loss\n1,2.0\n")
    return file


def test_init_makes_little_and_overwrites_nothing(tmp_path):
    (tmp_path / "chronicle.toml").write_text('title = "mine"\n')
    made = init(tmp_path)
    assert sorted(p.name for p in made) == [".gitignore", "mkdocs.yml"]
    assert (tmp_path / "chronicle.toml").read_text() == 'title = "mine"\n'
    assert init(tmp_path) == []
    assert Workspace.find(tmp_path).config.title == "mine"


def test_a_fresh_workspace_has_the_defaults(workspace):
    assert workspace.config.title == "chronicle"
    assert workspace.runs() == []


def test_init_into_a_file(log):
    with pytest.raises(UsageError, match="is a file"):
        init(log)


def test_add_copies_and_names(workspace, log):
    folder = add(workspace, [log], "", {"project": "Atlas", 'odd "key"': "a\\b\n"}, link=False)
    assert folder.name == safe_id("run 7")
    assert (folder / "run 7.csv").read_bytes() == log.read_bytes()
    assert tomllib.loads((folder / "run.toml").read_text("utf-8")) == {
        "project": "Atlas",
        "facts": {'odd "key"': "a\\b\n"},
    }
    assert run_in(folder).config.facts == {'odd "key"': "a\\b\n"}


def test_add_can_leave_the_log_where_it_is(workspace, log):
    with pytest.raises(ConfigError) as refused:
        add(workspace, [log], "seven", {}, link=True)
    assert str(refused.value) == (
        "--link: leads out of the workspace, to run 7.csv. "
        "Remedy: add its folder to `allow` of chronicle.toml, or `chronicle add` the log"
    )
    assert not (workspace.runs_folder / "seven").exists()
    workspace = replace(workspace, config=replace(workspace.config, allow=[str(log.parent)]))
    folder = add(workspace, [log], "seven", {}, link=True)
    assert [f.name for f in folder.iterdir()] == ["run.toml"]
    assert workspace.run("seven").logs == (log.resolve(),)


def test_add_never_overwrites(workspace, log):
    add(workspace, [log], "seven", {}, link=False)
    with pytest.raises(UsageError, match=r"exists\. Choose another --name"):
        add(workspace, [log], "seven", {}, link=False)


def test_add_of_what_is_not_there(workspace, tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        add(workspace, [tmp_path / "nothing"], "", {}, link=False)


def test_a_bad_run_toml_is_the_problem_of_that_run(workspace):
    (workspace.runs_folder / "a").mkdir()
    (workspace.runs_folder / "a" / "run.toml").write_text("titel = 'x'\n")
    (workspace.runs_folder / "b").mkdir()
    a, b = workspace.runs()
    assert isinstance(a.problem, ConfigError)
    assert str(a.problem) == "a/run.toml: titel: unknown key. Did you mean 'title'?"
    assert b.problem is None


def test_a_run_that_is_not_there(workspace, log):
    add(workspace, [log], "seven", {}, link=False)
    with pytest.raises(UsageError, match=r"no run 'sevn' in .*\. Did you mean 'seven'\?"):
        workspace.run("sevn")


def test_facts_need_an_equals_sign():
    assert facts_of(["a=b=c"]) == {"a": "b=c"}
    with pytest.raises(UsageError, match="--fact 'a' must look like key=value"):
        facts_of(["a"])


@given(st.text(), st.text())
def test_ids_are_safe_and_distinct(one, other):
    made = safe_id(one)
    assert made and "/" not in made and not made.startswith(".") and made.isascii() and len(made) <= 100
    assert (safe_id(other) == made) == (other == one)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{0}/a.csv:7: no number", "a.csv:7: no number"),
        ("no log in {0}. Remedy: x", "no log in r. Remedy: x"),
        ("cannot be read: {1}/deep/b.log, {0}/a.csv", "cannot be read: deep/b.log, a.csv"),
        ("{0}-2/a.csv, /x{0}/a.csv, a.csv", "{0}-2/a.csv, /x{0}/a.csv, a.csv"),
    ],
)
def test_what_is_published_tells_no_place_on_this_machine(tmp_path, text, told):
    own, elsewhere = tmp_path / "runs" / "r", tmp_path / "data"
    own.mkdir(parents=True)
    elsewhere.mkdir()
    run = RunFolder("r", (own, elsewhere), own)
    assert run.published(text.format(own, elsewhere)) == told.format(own, elsewhere)
    assert RunFolder("r", (Path("logs"),)).published("logs/a.csv: x") == "logs/a.csv: x"
