from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.errors import ConfigError, UsageError
from chronicle.workspace.folders import (
    RunFolder,
    Workspace,
    add,
    facts_of,
    init,
    run_in,
    safe_id,
    with_unique_ids,
)


@pytest.fixture
def workspace(tmp_path):
    init(tmp_path / "w")
    above = Workspace.find(tmp_path / "w" / "runs")
    assert above is not None
    return above


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "run 7.csv"
    file.write_text("step,loss\n1,2.0\n")
    return file


def test_init_makes_little_and_overwrites_nothing(tmp_path):
    (tmp_path / "chronicle.toml").write_text('title = "mine"\n')
    made = init(tmp_path)
    assert sorted(p.name for p in made) == [".gitattributes", ".gitignore", "mkdocs.yml"]
    assert (tmp_path / "chronicle.toml").read_text() == 'title = "mine"\n'
    assert init(tmp_path) == []
    assert Workspace.find(tmp_path).config.title == "mine"


def test_a_fresh_workspace_has_the_defaults(workspace):
    assert workspace.config.title == "chronicle"
    assert workspace.runs() == []


def test_init_into_a_file(log):
    with pytest.raises(UsageError, match="is a file"):
        init(log)


def test_a_bad_run_toml_is_the_problem_of_that_run(workspace):
    (workspace.runs_folder / "a").mkdir()
    (workspace.runs_folder / "a" / "run.toml").write_text("titel = 'x'\n")
    (workspace.runs_folder / "b").mkdir()
    a, b = workspace.runs()
    assert isinstance(a.problem, ConfigError)
    assert str(a.problem) == (
        "a/run.toml: titel: unknown key. Did you mean 'title'? "
        "A fact of your own goes into the table `facts`."
    )
    assert b.problem is None


def test_a_run_that_is_not_there(workspace, log):
    add(workspace, [log], "seven", {})
    with pytest.raises(UsageError, match=r"no run 'sevn' in .*\. Did you mean 'seven'\?"):
        workspace.run("sevn")


@pytest.mark.parametrize(("pair", "lacks"), [("=x", "name"), (" =x", "name"), ("a", "equals sign")])
def test_facts_need_a_name_and_an_equals_sign(pair, lacks):
    assert facts_of(["a=b=c"]) == {"a": "b=c"}
    with pytest.raises(UsageError) as refused:
        facts_of([pair])
    assert str(refused.value) == f"--fact {pair!r} has no {lacks}. Remedy: write it as KEY=VALUE"


@pytest.mark.parametrize(
    ("name", "title"),
    [("実験-学習率", "実験-学習率"), ("a\nb \x1b[31m", "a�b �[31m"), ("seed", "seed"), ("index", "index")],
)
def test_a_run_is_called_as_its_folder_on_one_line(tmp_path, name, title):
    (tmp_path / name).mkdir()
    assert run_in(tmp_path / name).title == title
    (tmp_path / name / "run.toml").write_text('title = "Ours"\n')
    assert run_in(tmp_path / name).title == "Ours"


def test_of_two_runs_of_one_name_the_second_is_called_by_its_id():
    runs = with_unique_ids([RunFolder("seed", (), name="seed")] * 2)
    assert [run.title for run in runs] == ["seed", "seed-2"]


@given(st.text(), st.text())
def test_ids_are_safe_and_distinct(name, other):
    made = safe_id(name)
    assert made and "/" not in made and not made.startswith(".") and made.isascii() and len(made) <= 100
    assert (safe_id(other) == made) == (other == name)


@pytest.mark.parametrize(
    ("text", "published"),
    [
        ("{0}/a.csv:7: no number", "a.csv:7: no number"),
        ("no log in {0}. Remedy: x", "no log in r. Remedy: x"),
        ("cannot be read: {1}/deep/b.log, {0}/a.csv", "cannot be read: deep/b.log, a.csv"),
        ("{0}-2/a.csv, /x{0}/a.csv, a.csv", "{0}-2/a.csv, /x{0}/a.csv, a.csv"),
    ],
)
def test_what_is_published_tells_no_place_on_this_machine(tmp_path, text, published):
    own, elsewhere = tmp_path / "runs" / "r", tmp_path / "data"
    own.mkdir(parents=True)
    elsewhere.mkdir()
    run = RunFolder("r", (own, elsewhere), own)
    assert run.published(text.format(own, elsewhere)) == published.format(own, elsewhere)
    assert RunFolder("r", (Path("logs"),)).published("logs/a.csv: x") == "logs/a.csv: x"


def test_ids_that_windows_would_not_keep_are_spelled_out():
    for name in ("con", "NUL.csv", "aux.tar.gz", "com1", "LPT9.log", "run.", "a..", "index", "Index"):
        made = safe_id(name)
        assert made != name
        assert not made.endswith(".") and "." not in made
    for name in ("console", "nullable.csv", "com", "com10", "a.b", "index.csv"):
        assert safe_id(name) == name


ids = st.sampled_from(["seed", "Seed", "seed-2", "SEED-2", "seed-2-2", "seed-3", "a", "A-2"])


@given(st.lists(ids, max_size=12))
def test_no_two_runs_have_one_id_whatever_the_case(names):
    runs = with_unique_ids(RunFolder(name, (Path(f"{i}.csv"),)) for i, name in enumerate(names))
    assert [run.logs for run in runs] == [(Path(f"{i}.csv"),) for i in range(len(names))]
    assert len({run.run_id.lower() for run in runs}) == len(names)
    first = {name.lower(): i for i, name in reversed(list(enumerate(names)))}
    assert all(runs[i].run_id == names[i] for i in first.values())


def test_four_logs_of_two_names_are_four_runs():
    names = ["seed", "seed-2", "seed", "seed-2"]
    runs = with_unique_ids(RunFolder(name, ()) for name in names)
    assert [run.run_id for run in runs] == ["seed", "seed-2", "seed-3", "seed-2-2"]


@pytest.mark.parametrize(
    "path",
    ["a\\u0000b", "a" * 5000, "~nobody-of-this-name/x", "https://[::1"],
    ids=["zero", "long", "home", "host"],
)
def test_what_can_be_no_path_is_the_problem_of_its_run_alone(workspace, path):
    for name, settings in (("a", f'paths = ["{path}"]'), ("b", 'title = "x"')):
        (workspace.runs_folder / name).mkdir(parents=True)
        (workspace.runs_folder / name / "run.toml").write_text(settings)
    first, second = workspace.runs()
    assert str(first.problem).startswith("a/run.toml: paths: ")
    assert second.problem is None


def test_a_bad_expression_is_told_with_its_file(workspace):
    (workspace.runs_folder / "a").mkdir(parents=True)
    (workspace.runs_folder / "a" / "run.toml").write_text('[roles]\n"(" = "loss"\n')
    (run,) = workspace.runs()
    assert str(run.problem) == (
        "a/run.toml: roles: '(' is not a regular expression: missing ), unterminated subpattern at position 0"
    )


def test_a_folder_that_cannot_be_listed_is_the_problem_of_its_run_alone(workspace, monkeypatch):
    def refuse(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    (workspace.runs_folder / "a").mkdir(parents=True)
    monkeypatch.setattr("chronicle.workspace.folders.os.listdir", refuse)
    assert str(run_in(workspace.runs_folder / "a").problem).endswith(
        "a: cannot be read (Permission denied). Remedy: check its permissions"
    )
