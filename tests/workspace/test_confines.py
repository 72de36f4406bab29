"""Where a workspace may read: paths, links and addresses that lead out of it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from chronicle.errors import UsageError
from chronicle.workspace.config import Confines, is_private, links_below, may_redirect, require_no_link
from chronicle.workspace.folders import Workspace, run_in

REMEDY = "Remedy: add its folder to `allow` of chronicle.toml, or `chronicle add` the log"


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "team"
    (root / "runs" / "a").mkdir(parents=True)
    (root / "shared").mkdir()
    (root / "chronicle.toml").touch()
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "passwd.csv").write_text("step,loss\n1,2\n")
    return Workspace.find(root)


def pointed(workspace: Workspace, path: str, confines: Confines | None = None):
    folder = workspace.runs_folder / "a"
    (folder / "run.toml").write_text(f"paths = ['{path}']\n")
    return run_in(folder, confines or workspace.confines)


@pytest.mark.parametrize(
    "path", ["../../../secret/passwd.csv", "{}/secret/passwd.csv", "../../shared/../../secret"]
)
def test_paths_lead_nowhere_else(workspace, path):
    run = pointed(workspace, path.format(workspace.root.parent))
    name = Path(path).name
    assert str(run.problem) == f"a/run.toml: leads out of the workspace, to {name}. {REMEDY}"
    assert run.logs == (workspace.runs_folder / "a",)


def test_paths_within_and_allowed_ones_are_followed(workspace):
    assert pointed(workspace, "../../shared").logs == (workspace.root / "shared",)
    secret = workspace.root.parent / "secret"
    for allow in (str(secret), "../secret"):
        open_to_it = replace(workspace.confines, allow=(allow,))
        assert pointed(workspace, f"{secret}/passwd.csv", open_to_it).logs == (secret / "passwd.csv",)


@pytest.mark.parametrize("link", ["passwd.csv", "deep/log", "."])
def test_links_lead_nowhere_else(workspace, link):
    folder, secret = workspace.runs_folder / "a", workspace.root.parent / "secret"
    if link == ".":
        folder.rmdir()
        folder.symlink_to(secret)
    else:
        (folder / link).parent.mkdir(exist_ok=True)
        (folder / link).symlink_to(secret / "passwd.csv" if link.endswith("csv") else secret)
    [run] = workspace.runs()
    assert "leads out of the workspace" in str(run.problem)
    assert str(secret) not in str(run.problem)


def test_links_within_are_followed_unless_nothing_is_trusted(workspace):
    folder = workspace.runs_folder / "a"
    (workspace.root / "shared" / "m.csv").write_text("step,loss\n1,2\n")
    (folder / "m.csv").symlink_to(workspace.root / "shared" / "m.csv")
    (folder / "broken.csv").symlink_to(workspace.root / "nothing")
    assert run_in(folder, workspace.confines).problem is None
    strict = replace(workspace.confines, trusted=False)
    assert str(run_in(folder, strict).problem) == (
        "a/broken.csv: is a link, and links are not followed in an untrusted workspace"
    )


def test_a_loop_of_links_ends(workspace):
    folder = workspace.runs_folder / "a"
    (folder / "up").symlink_to(workspace.runs_folder)
    assert list(links_below(workspace.runs_folder)) == [folder / "up"]


@pytest.mark.parametrize(
    ("address", "allow", "fetched"),
    [
        ("s3://bucket/run", (), True),
        ("hf://datasets/x/y", (), True),
        ("http://169.254.169.254/latest", (), False),
        ("http://169.254.169.254/latest", ("http://",), False),
        ("http://127.0.0.1:8000/run", ("http://127.0.0.1:8000",), True),
        ("https://logs.example.org/a/run", ("https://logs.example.org/a",), True),
        ("https://logs.example.org/ab/run", ("https://logs.example.org/a",), False),
        ("https://logs.example.org.evil.net/a", ("https://logs.example.org",), False),
        ("http://logs.example.org/a", ("https://logs.example.org",), False),
        ("https://logs.example.org/a", ("https://",), True),
        ("ftp://logs.example.org/a", (), False),
        ("file:///etc/passwd", ("file://",), False),
        ("local:///etc/passwd", (), False),
    ],
)
def test_addresses(workspace, address, allow, fetched):
    run = pointed(workspace, address, replace(workspace.confines, allow=allow))
    assert (run.problem is None) is fetched
    assert pointed(workspace, address, Confines(workspace.root, allow, trusted=False)).problem is not None


def test_what_is_said_of_an_address(workspace):
    assert str(pointed(workspace, "http://10.0.0.1/x").problem) == (
        "a/run.toml: paths: http://10.0.0.1/x may not be fetched. "
        "Remedy: add it, or the beginning of it, to `allow` of chronicle.toml"
    )
    assert str(pointed(workspace, "file:///etc/passwd").problem) == (
        "a/run.toml: paths: file:///etc/passwd: write the path itself, without file://"
    )


@pytest.mark.parametrize(
    ("target", "allow", "sent_on"),
    [
        ("https://logs.example.org/b", (), True),
        ("http://127.0.0.1/b", (), False),
        ("http://[::1]/b", (), False),
        ("file:///etc/passwd", ("file://",), False),
        ("https://other.example.org/b", (), False),
        ("https://other.example.org/b", ("https://other.example.org",), True),
    ],
)
def test_redirects_obey_the_same_rule(tmp_path, target, allow, sent_on):
    assert may_redirect("https://logs.example.org/a", target, Confines(tmp_path, allow)) is sent_on


def test_without_a_workspace_a_server_sends_on_to_public_hosts_only():
    assert may_redirect("https://logs.example.org/a", "https://8.8.8.8/b", None)
    assert not may_redirect("https://logs.example.org/a", "http://192.168.1.1/b", None)
    assert may_redirect("http://192.168.1.1/a", "http://192.168.1.1/b", None)
    assert is_private("169.254.169.254")


def test_no_build_removes_anything_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "w").mkdir()
    os.symlink(tmp_path / "elsewhere", tmp_path / "w" / "build")
    with pytest.raises(UsageError) as refused:
        require_no_link(tmp_path / "w", tmp_path / "w" / "build" / "docs")
    assert str(refused.value) == (
        f"{tmp_path}/w/build is a link, and chronicle removes unknown files from that folder. "
        "Remedy: put a folder in its place, or name another --out"
    )
    require_no_link(tmp_path / "w", tmp_path / "w" / "other")
