"""A build of what changed, against one of everything: the same site, byte for byte."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.depth import LONG, few
from tests.logs import files_of, healthy

from chronicle.build import site as made
from chronicle.cli import cli
from chronicle.workspace.folders import shipped_file


def whole(chronicle, work: Path, site: dict[str, bytes]) -> None:
    """The site is the one that a build makes which knows of none before."""
    (work / "build" / "made.json").unlink()
    shutil.rmtree(work / "build" / "docs")
    shutil.rmtree(work / "build" / "site")
    assert chronicle("build").code == 0
    anew = files_of(work / "build" / "site")
    assert {path for path in site.keys() | anew.keys() if site.get(path) != anew.get(path)} == set()


def add(chronicle, work: Path) -> None:
    chronicle("add", healthy(work / "new.csv", seed=9), "--name", "new")


def edit_log(chronicle, work: Path) -> None:
    with (work / "runs" / "b" / "b.csv").open("a") as log:
        log.write("99990,9.5\n99991,9.6\n")


def edit_run_toml(chronicle, work: Path) -> None:
    (work / "runs" / "b" / "run.toml").write_text('title = "Second of three"\n')


def edit_template(chronicle, work: Path) -> None:
    (work / "templates").mkdir()
    text = (shipped_file("templates") / "run.md.j2").read_text("utf-8")
    (work / "templates" / "run.md.j2").write_text(f"{text}\nAt the end of every run.\n")


def edit_gallery(chronicle, work: Path) -> None:
    page = shipped_file("gallery") / "good" / "near-perfect.md"
    (work / "gallery" / "good").mkdir(parents=True)
    text = re.sub("(?m)^title: .*", "title: Without a fault", page.read_text("utf-8"))
    (work / "gallery" / "good" / page.name).write_text(f"{text}\n[A run](../runs/a/index.md) of ours.\n")


def edit_title(chronicle, work: Path) -> None:
    (work / "chronicle.toml").write_text('title = "Another archive"\n')


def edit_site_name(chronicle, work: Path) -> None:
    config = work / "mkdocs.yml"
    config.write_text(config.read_text("utf-8").replace("site_name: chronicle", "site_name: annals"))


CHANGES = {
    "edit a gallery page": edit_gallery,
    "add a run": add,
    "edit its note": lambda chronicle, work: chronicle("note", "new", "seen it before"),
    "edit a log": edit_log,
    "edit run.toml": edit_run_toml,
    "remove a run that a page names": lambda chronicle, work: shutil.rmtree(work / "runs" / "a"),
    "edit a template": edit_template,
    "edit chronicle.toml": edit_title,
    "edit mkdocs.yml": edit_site_name,
    "change nothing": lambda chronicle, work: None,
}


@pytest.fixture(scope="module")
def three_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A built workspace of three runs, and of the guide nothing but its first page."""
    work = tmp_path_factory.mktemp("archive")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        CliRunner().invoke(cli, ["init", "."])
        config = (work / "mkdocs.yml").read_text("utf-8")
        config = re.sub(r"(?m)^      - [^/\n]+: guide/.*\n", "", config)
        (work / "mkdocs.yml").write_text(f"{config}exclude_docs: |\n  guide/\n  !guide/index.md\n")
        for number, name in enumerate("abc"):
            CliRunner().invoke(cli, ["add", str(healthy(work / f"{name}.csv", seed=number)), "--name", name])
        assert CliRunner().invoke(cli, ["build"]).exit_code == 0
    return work


@pytest.fixture
def archive(three_runs: Path, tmp_path: Path) -> Path:
    """A copy of it, for one test."""
    shutil.copytree(three_runs, tmp_path, symlinks=True, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.slow
def test_a_build_of_what_changed_makes_the_site_of_a_whole_build(chronicle, archive: Path) -> None:
    """After each change; in a short run after all of them, for what one leaves behind stays."""
    changes = [*few(CHANGES.items(), 3)]
    for what, change in changes:
        change(chronicle, archive)
        assert chronicle("build").code == 0, what
        if LONG or what == changes[-1][0]:
            whole(chronicle, archive, files_of(archive / "build" / "site"))


@pytest.mark.slow
def test_what_did_not_change_is_not_rendered_again_and_what_somebody_edited_is(
    chronicle, archive: Path
) -> None:
    site = archive / "build" / "site"
    pages = ["runs/c/index.html", "runs/c/entry.json", "patterns/hang.html", "guide/index.html"]
    files = {page: (site / page).stat().st_ino for page in pages}
    chronicle("note", "a", "seen it before")
    assert "Documentation built" in chronicle("build", "-v").err
    again = {page: (site / page).stat().st_ino for page in pages}
    assert again.pop("guide/index.html") != files.pop("guide/index.html")  # its title is in its text
    assert again == files
    assert "Documentation built" not in chronicle("build", "-v").err
    page, before = site / "runs" / "c" / "index.html", (site / "runs" / "c" / "index.html").read_bytes()
    page.write_bytes(b"Nothing to see here.")
    chronicle("note", "a", "seen it again")
    assert chronicle("build").code == 0
    assert page.read_bytes() == before


@pytest.mark.slow
def test_after_a_change_that_concerns_all_pages_single_ones_are_made_again(chronicle, archive: Path) -> None:
    before = made.last_record(archive)
    config = archive / "mkdocs.yml"
    config.write_text(config.read_text("utf-8").replace("  - Browse: browse.md\n", "  - browse.md\n"))
    chronicle("build")
    add(chronicle, archive)  # it is on Browse, whose title is in its text now
    chronicle("build")
    assert (before.in_parts, made.last_record(archive).in_parts) == (None, None)
    chronicle("note", "a", "seen it before")
    chronicle("build")
    assert made.last_record(archive).in_parts
    (archive / "templates" / "theme").mkdir(parents=True)
    laid_over = (shipped_file("templates") / "theme" / "main.html").read_text("utf-8")
    laid_over = laid_over.replace("{% block extrahead %}", "{% block extrahead %}<!-- ours -->")
    (archive / "templates" / "theme" / "main.html").write_text(laid_over)
    chronicle("build")
    assert made.last_record(archive).in_parts is None
    assert "<!-- ours -->" in (archive / "build" / "site" / "runs" / "c" / "index.html").read_text("utf-8")
    chronicle("note", "a", "seen it again")
    chronicle("build")
    assert made.last_record(archive).in_parts


@pytest.mark.slow
def test_templates_that_were_compiled_for_another_build_make_the_same_pages(
    chronicle, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the compiled ones are damaged, or are of another text of that name."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(archive / "compiled"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    page = archive / "build" / "site" / "runs" / "a" / "index.html"
    pages = []
    for spoil in (b"", None, b"junk"):
        files = [*(archive / "compiled").rglob("jinja2-*.cache")]
        assert bool(files) is bool(pages)
        for file in files if spoil else ():
            file.write_bytes(spoil)
        chronicle("note", "a", "seen it before", "--at", "2026-11-20")
        assert chronicle("build").code == 0
        pages.append(page.read_text("utf-8"))
        (archive / "runs" / "a" / "notes.md").unlink()
    assert pages[1:] == pages[:1] * 2


@pytest.mark.parametrize(
    "junk",
    [b"", b"[]x", b'["mkdocs"]', json.dumps(["", "", 0, 0, "", True, {"../x": [1, 2]}, {}, {}]).encode()],
)
def test_a_memory_that_cannot_be_used_counts_as_none(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / made.MEMORY).write_bytes(junk)
    assert made.last_record(tmp_path).docs == {}
