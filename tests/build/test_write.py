import os

import pytest
from tests.logs import files_of

from chronicle.build.site import stamps, write_bytes, write_tree
from chronicle.errors import UsageError


def test_the_folder_holds_just_what_was_given(tmp_path):
    source = tmp_path / "figure.webp"
    source.write_bytes(b"picture")
    out = tmp_path / "out"
    made = write_tree(out, [("a/b.md", "text"), ("c", b"bytes"), ("d/f.webp", source)])
    assert files_of(out) == {"a/b.md": b"text", "c": b"bytes", "d/f.webp": b"picture"}
    assert made == stamps(out)
    (out / "a" / ".b.md.123.part").write_text("of a build that was killed")
    assert write_tree(out, [("a//b.md", "text")]) == stamps(out, hidden=True)
    assert files_of(out) == {"a/b.md": b"text"}
    assert not (out / "d").exists()


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "mine").write_text("text")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").symlink_to(tmp_path / "theirs" / "mine")
    (tmp_path / "out" / "b").symlink_to(tmp_path / "theirs")
    write_tree(tmp_path / "out", [("a", "text"), ("b/mine", "new")])
    assert files_of(tmp_path / "out") == {"a": b"text", "b/mine": b"new"}
    assert not (tmp_path / "out" / "a").is_symlink()
    assert files_of(tmp_path / "theirs") == {"mine": b"text"}


def test_what_did_not_change_is_not_written(tmp_path):
    write_tree(tmp_path, [("page.md", "text")])
    before = (tmp_path / "page.md").stat().st_mtime_ns
    os.utime(tmp_path / "page.md", ns=(before - 10**9, before - 10**9))
    write_tree(tmp_path, [("page.md", "text")])
    assert (tmp_path / "page.md").stat().st_mtime_ns == before - 10**9


def test_a_figure_that_changed_is_copied_again(tmp_path):
    source, out = tmp_path / "f.webp", tmp_path / "out"
    source.write_bytes(b"one")
    write_tree(out, [("f.webp", source)])
    source.unlink()
    source.write_bytes(b"three")
    write_tree(out, [("f.webp", source)])
    assert files_of(out) == {"f.webp": b"three"}


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/x", "a\0b"])
def test_nothing_leaves_the_folder(tmp_path, name):
    with pytest.raises(UsageError, match="leads out of"):
        write_tree(tmp_path / "out", [(name, "x")])
    assert list(tmp_path.rglob("x")) == []


def test_a_file_appears_at_once(tmp_path):
    assert write_bytes(tmp_path / "new" / "f", b"x")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["f"]


def test_a_file_that_people_write_is_copied_and_one_that_a_build_made_is_linked(tmp_path):
    theirs, ours = tmp_path / "templates" / "own.css", tmp_path / "build" / "entries" / "whole.svg"
    for file in (theirs, ours):
        file.parent.mkdir(parents=True)
        file.write_text("kept")
    write_tree(tmp_path / "build" / "docs", [("own.css", theirs), ("whole.svg", ours)])
    assert (tmp_path / "build" / "docs" / "whole.svg").samefile(ours)
    (tmp_path / "build" / "docs" / "own.css").write_text("edited")
    assert theirs.read_text() == "kept"
