"""A build of what a stranger committed: nothing of it acts, and nothing is touched through a link."""

import os

import pytest
from click.testing import CliRunner
from tests.logs import plain_engine

from chronicle.build import build, places
from chronicle.build.produce import Run
from chronicle.cli import cli
from chronicle.errors import ConfigError, UsageError
from chronicle.pages.words import renderer
from chronicle.workspace.config import Confines
from chronicle.workspace.folders import Workspace

ROWS = "step,loss\n" + "".join(f"{i},{2 - i / 100}\n" for i in range(60))


@pytest.fixture
def hostile(tmp_path):
    """A workspace with everything that a pull request could bring along, and a folder that is not its own."""
    outside, root = tmp_path / "outside", tmp_path / "fork"
    (outside / "kept").mkdir(parents=True)
    (outside / "kept" / "mine.txt").write_text("mine")
    (outside / "secret.csv").write_text(ROWS)
    for name in ("good", "linked", "pointed", "fetched", "absolute"):
        (root / "runs" / name).mkdir(parents=True)
    (root / "runs" / "good" / "m.csv").write_text(ROWS)
    os.symlink(outside / "secret.csv", root / "runs" / "linked" / "m.csv")
    (root / "runs" / "pointed" / "run.toml").write_text("paths = ['../../../outside/secret.csv']\n")
    (root / "runs" / "fetched" / "run.toml").write_text("paths = ['s3://bucket/x']\n")
    (root / "runs" / "absolute" / "run.toml").write_text(f"paths = ['{outside}/secret.csv']\n")
    (root / "templates").mkdir()
    (root / "templates" / "home.md.j2").write_text("TAKEN OVER")
    (root / "gallery" / "good").mkdir(parents=True)
    (root / "gallery" / "good" / "near-perfect.md").write_text("---\nbroken")
    (root / "hook.py").write_text(f"open({str(outside / 'ran')!r}, 'w')\n")
    (root / "mkdocs.yml").write_text("site_name: x\ndocs_dir: build/docs\nhooks: [hook.py]\n")
    (root / "chronicle.toml").write_text(f"allow = ['{outside}', 'http://']\nout = '../outside/kept'\n")
    return root


@pytest.mark.slow
def test_nothing_of_a_fork_acts(hostile, monkeypatch):
    monkeypatch.chdir(hostile)
    result = CliRunner().invoke(cli, ["build", "--untrusted", "--jobs", "1"])
    site, outside = hostile / "build" / "site", hostile.parent / "outside"
    assert result.exit_code == 1, result.output  # runs that were refused
    assert sorted(path.name for path in outside.rglob("*")) == ["kept", "mine.txt", "secret.csv"]
    assert (site / "runs" / "good" / "index.html").is_file()
    assert "TAKEN OVER" not in (site / "index.html").read_text("utf-8")
    for name, words in {
        "linked": "linked/m.csv: is a link, and links are not followed in an untrusted workspace",
        "pointed": "pointed/run.toml: leads out of the workspace, to secret.csv",
        "fetched": "fetched/run.toml: paths: s3://bucket/x may not be fetched",
        "absolute": "absolute/run.toml: leads out of the workspace, to secret.csv",
    }.items():
        assert f"{name}: {words}" in result.output


@pytest.mark.parametrize("trusted", [True, False])
def test_the_folder_of_the_runs_may_be_no_link_out_of_the_workspace(hostile, trusted):
    (hostile / "runs").rename(hostile / "unused")
    os.symlink(hostile.parent / "outside", hostile / "runs")
    (hostile / "chronicle.toml").write_text("")
    workspace = Workspace.find(hostile)
    (run,) = (workspace if trusted else workspace.untrusted()).runs()
    assert str(run.problem) == (
        "runs: leads out of the workspace, to runs. Remedy: "
        "add its folder to `allow` of chronicle.toml, or `chronicle add` the log"
        if trusted
        else "runs: is a link, and links are not followed in an untrusted workspace"
    )


def test_an_allowed_folder_of_a_server_is_not_left_upwards(tmp_path):
    confines = Confines(tmp_path, ("https://logs.example.org/team/",))
    assert confines.allows("https://logs.example.org/team/run/..1/log.csv")
    for way in ("..", "%2e%2E", ".", "%252e%252e", "run/../.."):
        assert not confines.allows(f"https://logs.example.org/team/{way}/secret/log.csv")


@pytest.mark.parametrize("place", ["build", "build/entries", "build/docs", "build/read-on", "build/site"])
def test_a_committed_link_is_refused_in_any_mode(hostile, place):
    outside = hostile.parent / "outside" / "kept"
    (hostile / place).parent.mkdir(exist_ok=True)
    os.symlink(outside, hostile / place)
    (hostile / "chronicle.toml").write_text("")
    workspace = Workspace.find(hostile)
    with pytest.raises(UsageError, match="is a link, and chronicle removes unknown files"):
        build(workspace, workspace.runs(), places(workspace, None))
    assert (outside / "mine.txt").read_text() == "mine"


@pytest.mark.slow
def test_a_link_below_a_folder_of_the_build_is_removed_and_its_target_stays(hostile):
    outside = hostile.parent / "outside" / "kept"
    for name in ("entries", "docs"):
        (hostile / "build" / name).mkdir(parents=True)
    os.symlink(outside, hostile / "build" / "entries" / "good")
    os.symlink(outside, hostile / "build" / "docs" / "runs")
    (hostile / "chronicle.toml").write_text("")
    plain_engine(hostile)
    for folder in ("gallery", "templates"):
        (hostile / folder).rename(hostile / f"unused-{folder}")
    workspace = Workspace.find(hostile)
    good = [run for run in workspace.runs() if run.run_id == "good"]
    assert build(workspace, good, places(workspace, None)).entries
    assert [path.name for path in outside.iterdir()] == ["mine.txt"]
    assert (hostile / "build" / "entries" / "good" / "entry.json").is_file()


def test_templates_run_in_a_sandbox(tmp_path):
    (tmp_path / "page.md.j2").write_text("{{ ''.__class__.__mro__[1].__subclasses__() }}")
    with pytest.raises(ConfigError) as refused:
        renderer([tmp_path])("page.md.j2", {})
    assert str(refused.value) == (
        "page.md.j2: template error: access to attribute '__class__' of 'str' object is unsafe."
    )


def test_an_expression_of_a_stranger_takes_linear_time(tmp_path):
    """Python's own `re` would not come to an end with it, and cannot be stopped."""
    (tmp_path / "chronicle.toml").write_text('[roles]\n"(b+)+c" = "score"\n')
    place = tmp_path / "runs" / "a"
    place.mkdir(parents=True)
    (place / "m.csv").write_text(f"{'a' * 50},{'b' * 50},{ROWS}".replace("\n", "\n1,1,").removesuffix("1,1,"))
    (place / "run.toml").write_text('[roles]\n"(a+)+b" = "score"\n"lo.s" = "grad-norm"\n')
    (run,) = (workspace := Workspace.find(tmp_path).untrusted()).runs()
    (attempt,), problems = Run(run, workspace.config).read()
    roles = {name[:1]: series.role.value for name, series in attempt.series.items()}
    assert (roles, problems) == ({"a": "other", "b": "other", "l": "grad-norm"}, [])


@pytest.mark.parametrize("file", ["chronicle.toml", "runs/a/run.toml"])
def test_an_expression_that_only_python_knows_is_refused_from_a_stranger(tmp_path, file):
    (tmp_path / "runs" / "a").mkdir(parents=True)
    (tmp_path / "chronicle.toml").write_text("")
    (tmp_path / file).write_text('[roles]\n"(?!val).*" = "loss"\n')
    assert Workspace.find(tmp_path).runs()[0].problem is None
    with pytest.raises(ConfigError) as refused:
        (run,) = Workspace.find(tmp_path).untrusted().runs()
        raise run.problem
    assert str(refused.value) == (
        f"{file.removeprefix('runs/')}: roles: '(?!val).*' is not a regular expression: "
        "Invalid regular expression: invalid perl operator: (?!"
    )
