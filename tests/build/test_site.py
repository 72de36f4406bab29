"""The folder of a site: replaced in one step, whole before and after, and nothing of others is touched."""

from __future__ import annotations

import ctypes
import errno
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.logs import texts_of

from chronicle.build.site import (
    MARKER,
    check_claim,
    make_room,
    missing_pages,
    put_in_place,
    stamps,
    write_bytes,
)
from chronicle.errors import SiteError, UsageError


def a_site(folder: Path, text: str, *more: str) -> Path:
    for name in ("index.html", "runs/a/index.html", *more):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_claim(tmp_path: Path) -> None:
    check_claim(tmp_path / "new")
    (tmp_path / "empty").mkdir()
    check_claim(tmp_path / "empty")
    a_site(tmp_path / "ours", "old", MARKER)
    check_claim(tmp_path / "ours")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").touch()
    with pytest.raises(UsageError) as err:
        check_claim(tmp_path / "full")
    assert str(err.value) == (
        f"{tmp_path / 'full'} is not empty and was not made by chronicle, and a build replaces its folder. "
        "Remedy: name another --out, or remove the folder yourself"
    )
    with pytest.raises(UsageError, match="is a file"):
        check_claim(tmp_path / "full" / "x")


REFUSALS = {
    "one step": None,
    "no exchange of names": errno.EINVAL,  # a file system without it
    "no rename": errno.EBUSY,  # a mount point
}


@pytest.mark.parametrize("way", REFUSALS)
def test_a_site_takes_the_place_of_the_one_before(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> int:
        ctypes.set_errno(REFUSALS[way])
        return -1

    if REFUSALS[way]:
        libc = SimpleNamespace(renameat2=refused, renamex_np=refused)
        monkeypatch.setattr(ctypes, "CDLL", lambda *_, **__: libc)
    out = a_site(tmp_path / "site", "old", MARKER, "gone.html", ".git/config")
    made = a_site(tmp_path / "build" / "next", "new")
    put_in_place(made, out, [])
    new = {"index.html": "new", "runs/a/index.html": "new", ".git/config": "old"}
    assert {name: text for name, text in texts_of(out).items() if name != MARKER} == new
    assert (out / MARKER).exists()
    before = {"index.html": "old", "runs/a/index.html": "old", "gone.html": "old", MARKER: "old"}
    assert texts_of(tmp_path / "build") == {
        f"next/{path}": text for path, text in before.items() if way == "one step"
    }


def test_what_a_person_took_away_does_not_come_back(tmp_path: Path) -> None:
    out, made = a_site(tmp_path / "site", "old", MARKER, ".nojekyll"), a_site(tmp_path / "next", "new")
    put_in_place(made, out, [])
    (out / ".nojekyll").unlink()
    make_room(made, out)
    put_in_place(made, out, [])
    assert not (out / ".nojekyll").exists() and not (made / ".nojekyll").exists()


def test_the_first_site_is_put_where_none_was(tmp_path: Path) -> None:
    for out in (tmp_path / "deep" / "site", tmp_path / "empty"):
        put_in_place(a_site(tmp_path / "next", "new"), out, [])
        assert texts_of(out) == {"index.html": "new", "runs/a/index.html": "new", MARKER: ""}
        (tmp_path / "empty").mkdir(exist_ok=True)


def test_a_site_without_all_its_pages_is_not_published(tmp_path: Path) -> None:
    docs = a_site(tmp_path / "docs", "", "index.md", "runs/a/index.md", "about.md")
    out = a_site(tmp_path / "site", "old", MARKER)
    made = a_site(tmp_path / "next", "new")
    (made / "runs" / "a" / "index.html").write_text("")
    missing = missing_pages(stamps(made), stamps(docs))
    with pytest.raises(SiteError) as err:
        put_in_place(made, out, missing)
    assert str(err.value) == (
        "the site engine did not make runs/a/index.html; the last site was left unchanged"
    )
    assert texts_of(out)["index.html"] == "old"


@pytest.mark.parametrize("killed", ["while it was made", "after the exchange"])
def test_what_a_killed_build_left_is_cleared_and_nothing_is_lost(killed: str, tmp_path: Path) -> None:
    out, made = tmp_path / "site", tmp_path / "next"
    if killed == "while it was made":
        a_site(out, "yesterday", MARKER, ".git/config")
        (made / "runs").mkdir(parents=True)
    else:
        a_site(out, "yesterday", MARKER)
        a_site(made, "older", MARKER, ".git/config")
        (made / ".git" / "config").write_text("yesterday")
    make_room(made, out)
    assert {path.name for path in tmp_path.iterdir()} == {"site", "next"}
    assert not [name for name in texts_of(made) if name.startswith(".git")]
    now = texts_of(out)
    assert now[".git/config"] == now["index.html"] == now["runs/a/index.html"] == "yesterday"


def test_what_a_kill_cut_off_is_no_file_of_people(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out, made = a_site(tmp_path / "site", "old", MARKER), a_site(tmp_path / "next", "new")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        write_bytes(made / "index.html", b"newer")
    assert len(texts_of(made)) == 3
    make_room(made, out)
    assert {name: text for name, text in texts_of(out).items() if name != MARKER} == {
        "index.html": "old",
        "runs/a/index.html": "old",
    }
    assert texts_of(made) == {"index.html": "new", "runs/a/index.html": "new"}


def test_a_link_is_removed_and_never_followed(tmp_path: Path) -> None:
    kept = a_site(tmp_path / "kept", "mine")
    (tmp_path / "next").symlink_to(kept)
    make_room(tmp_path / "next", tmp_path / "site")
    assert not os.path.lexists(tmp_path / "next")
    assert texts_of(kept) == {"index.html": "mine", "runs/a/index.html": "mine"}
