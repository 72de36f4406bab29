"""From logs to a site, end to end, and what a second build does."""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys

import jsonschema
import pytest
from tests.depth import LONG, few
from tests.logs import files_of, healthy, plain_engine

from chronicle.build.entry import json_schema

COMMAND = [sys.executable, "-m", "chronicle", "build", "logs", "--jobs", "1"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A site of three runs, one of them unreadable, made by the real command."""
    work = tmp_path_factory.mktemp("a folder with spaces")
    logs = work / "logs"
    for number, name in enumerate(["one", "two & <b>three</b>"]):
        (logs / name).mkdir(parents=True)
        healthy(logs / name / "log.csv", seed=number)
    (logs / "broken+2").mkdir()
    (logs / "broken+2" / "log.csv").write_bytes(b"")
    (logs / "no run").mkdir()
    (logs / "no run" / "train.log").write_text("no training here: 1\n")
    ran = subprocess.run(COMMAND, cwd=work, capture_output=True, text=True)
    return work, ran


def test_the_last_lines_of_a_build_count_runs_as_the_site_does(chronicle, tmp_path):
    """A run that cannot be judged was counted as unexpected here, and as "cannot tell" on Home."""
    chronicle("init", ".")
    plain_engine(tmp_path)
    (tmp_path / "few.csv").write_text("step,loss\n1,2.5\n2,2.25\n")
    chronicle("add", "few.csv")
    ran = chronicle("build")
    assert ran.out.splitlines()[0] == "1 run: 1 cannot tell"


@pytest.mark.slow
def test_bare_paths_make_a_site(built):
    work, ran = built
    assert ran.returncode == 1, ran.stderr  # one log could not be read
    assert ran.stdout.splitlines()[0] == "2 runs: 2 good"
    assert ran.stdout.splitlines()[-1] == f"Open {work.resolve() / 'chronicle-site' / 'index.html'}"
    unknown, error = ran.stderr.splitlines()
    assert unknown.startswith("No reader knows logs/no run/train.log. Remedy: ")
    assert error.startswith("error: broken+2: ")  # by its name: the id of a run without a page is of no use
    site = work / "chronicle-site"
    for page in ["index.html", "browse.html", "runs/one/index.html", "unreadable.html", "guide/index.html"]:
        assert (site / page).is_file(), page
    unreadable = (site / "unreadable.html").read_text("utf-8")
    assert ">broken+2<" in unreadable and "<li>logs/no run/train.log</li>" in unreadable


def test_every_entry_fits_the_published_schema(built):
    work, _ = built
    entries = list((work / "chronicle-site" / "runs").glob("*/entry.json"))
    assert len(entries) == 2
    for file in entries:
        jsonschema.validate(json.loads(file.read_text("utf-8")), json_schema("entry"))


def test_no_markup_comes_out_of_a_name(built):
    work, _ = built
    pages = [page.read_text("utf-8") for page in (work / "chronicle-site").rglob("*.html")]
    assert sum("three" in page for page in pages) > 3
    assert not any("<b>three</b>" in page for page in pages)


def test_logs_and_notes_are_only_read(built):
    work, _ = built
    assert sorted(p.name for p in work.iterdir()) == [".chronicle-site-cache", "chronicle-site", "logs"]
    assert sorted(p.name for p in (work / "logs" / "one").iterdir()) == ["log.csv"]


def products(work):
    """All files but the memory of the last site, which learns whether parts of it can be made, and the site
    before it.
    """
    files = files_of(work).items()
    return {p: content for p, content in files if not p.endswith("made.json") and "/build/next/" not in p}


@pytest.mark.slow
def test_a_second_build_changes_no_byte(built, chronicle, monkeypatch):
    work, _ = built
    before = products(work)
    monkeypatch.chdir(work)
    assert "one: unchanged" in chronicle("build", "logs", "--jobs", "1", "-v").err
    assert products(work) == before


@pytest.mark.slow
def test_what_changed_is_read_again_and_nothing_else(chronicle, tmp_path):
    """A new run, a changed note, a spoiled cache, a template of the workspace, a run that was removed."""
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    assert chronicle("build", "-v").code == 0
    before = files_of(tmp_path / "build")
    chronicle("add", healthy(tmp_path / "b.csv", seed=9), "--name", "b")
    assert chronicle("build", "-v").err.splitlines()[:2] == ["a: unchanged", "b: read"]
    drawn = {k: v for k, v in files_of(tmp_path / "build").items() if k.startswith("entries/a/")}
    assert drawn == {k: v for k, v in before.items() if k.startswith("entries/a/")}

    chronicle("note", "a", "seen <i>it</i> before")
    (tmp_path / "build" / "entries" / "b" / "entry.json").write_text("{")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "home.md.j2").write_text("# Ours\n")
    ran = chronicle("build", "-v")
    assert ran.code == 0
    assert sorted(ran.err.splitlines()[:2]) == ["a: read", "b: read"]
    page = (tmp_path / "build" / "site" / "runs" / "a" / "index.html").read_text("utf-8")
    assert "<i>it</i>" not in page
    assert "seen <i>it</i> before" in html.unescape(page)
    assert "Ours" in (tmp_path / "build" / "site" / "index.html").read_text("utf-8")

    (tmp_path / "runs" / "b" / "b.csv").unlink()
    (tmp_path / "runs" / "b").rmdir()
    chronicle("build")
    assert not (tmp_path / "build" / "site" / "runs" / "b").exists()


def test_an_out_folder_that_is_not_ours_is_left_alone(chronicle, tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    ran = chronicle("build", healthy(tmp_path / "a.csv"), "--out", "home")
    assert ran.code == 2
    assert "is not empty and was not made by chronicle" in ran.err
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "option"), few([("properdocs", "--json"), ("zensical", "-q")], 1))
def test_other_engines_build_the_same_folder(chronicle, tmp_path, engine, option):
    ran = chronicle("build", healthy(tmp_path / "a.csv"), "--engine", engine, "--out", "site", option)
    assert ran.code == 0, ran.err
    assert (tmp_path / "site" / "index.html").is_file()
    assert (tmp_path / "site" / "runs" / "a.csv" / "index.html").is_file()
    if option == "-q":
        assert (ran.out, ran.err) == ("", "")
    else:
        report = json.loads(ran.out)
        assert report["schema"] == "chronicle/build/1"
        assert report["runs"] == [{"run": "a.csv", "verdict": "good", "patterns": ["near-perfect"]}]
        assert report["unreadable"] == []


@pytest.mark.slow
def test_no_page_tells_a_place_on_this_machine(chronicle, tmp_path, monkeypatch):
    chronicle("init", "team")
    if not LONG:
        plain_engine(tmp_path / "team")
    monkeypatch.chdir(tmp_path / "team")
    folder = tmp_path / "team" / "runs" / "r"
    folder.mkdir()
    healthy(folder / "a.csv")
    with (folder / "a.csv").open("a") as log:
        log.write("7,x,y,z,9,9,9\n8\n")
    (folder / "slurm.out").write_text("2026-03-02T09:00:00 slurmstepd: error: Detected 1 oom_kill event\n")
    (folder / "b.csv").write_bytes(b"")
    ran = chronicle("build", "--json")
    assert ran.code == 1 and json.loads(ran.out)["unreadable"][0]["problem"].startswith("b.csv: is empty")
    entry = json.loads(
        (tmp_path / "team" / "build" / "site" / "runs" / "r" / "entry.json").read_text("utf-8")
    )
    assert [fault["where"] for fault in entry["faults"]] == ["slurm.out:1"]
    assert any(warning.startswith("a.csv:") for warning in entry["warnings"])
    site = files_of(tmp_path / "team" / "build" / "site") | files_of(tmp_path / "team" / "build" / "docs")
    assert [name for name, content in site.items() if str(tmp_path).encode() in content] == []


def test_texts_that_are_named_as_logs_and_that_no_reader_knows_are_named(chronicle, tmp_path):
    """Beside logs that are read; a user would miss them."""
    (tmp_path / "logs").mkdir()
    healthy(tmp_path / "logs" / "a.csv")
    for name in ("b/train.log", "c/train_log.txt", "c/requirements.txt"):
        file = tmp_path / "logs" / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("loaded 3 shards\n")
    ran = chronicle("classify", "logs")
    assert (ran.code, ran.err) == (
        0,
        "No reader knows logs/b/train.log, logs/c/train_log.txt. "
        "Remedy: `chronicle doctor` on one of them says what it lacks\n",
    )


@pytest.mark.slow
def test_side_files_of_a_tracker_alone_are_said_once_and_no_failure(chronicle, tmp_path):
    """Whatever the command, whether they are named or lie in a folder; beside a log they are read with it."""
    message = "no log, only files that are read together with a log beside them"
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "swanlab-metadata.json").write_text('{"a": 1}')
    (alone / "experiment_state-1.json").write_text("{}")
    for path in (alone, alone / "swanlab-metadata.json"):
        for command in (["classify"], ["doctor"], ["build", "--out", tmp_path / "site"]):
            ran = chronicle(*command, path)
            assert (ran.code, ran.out, ran.err) == (0, "", f"{path}: {message}\n")
    chronicle("init", tmp_path / "archive")
    os.chdir(tmp_path / "archive")
    plain_engine(tmp_path / "archive")
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    added = chronicle("add", alone)
    assert (added.code, added.err) == (0, f"{tmp_path}/archive/runs/alone: {message}\n")
    built = chronicle("build", "-q")
    assert (built.code, built.out, built.err) == (0, "", f"alone: {message}\n")
    assert not (tmp_path / "archive" / "build" / "site" / "unreadable.html").exists()


@pytest.mark.slow
def test_a_build_with_nothing_to_unpack_removes_what_a_killed_one_unpacked(chronicle, tmp_path, monkeypatch):
    (tmp_path / "temporary" / ".chronicle-scratch-0123456789abcdef").mkdir(parents=True, mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    assert chronicle("build", "-q").code == 0
    assert list((tmp_path / "temporary").iterdir()) == []
