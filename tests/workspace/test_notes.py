import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronicle.errors import UsageError
from chronicle.model import Note
from chronicle.workspace.notes import NOTE_KINDS, REVIEWS, iso_time, line_of, read_notes, write_note

PAGE = """\
# Notes on run 7

Started on the new cluster.
Two nodes were replaced.

- 2026-11-18T22:41+01:00 · ada · decision · step 58900: Back to 56 000, rate × 0.75.
  Not 58 500: too near the onset.
- 2026-11-20T09:30+01:00: plain
- a list item of somebody's own
"""


def test_reads_lines_and_free_text(tmp_path):
    (tmp_path / "notes.md").write_text(PAGE, "utf-8")
    assert read_notes(tmp_path / "notes.md") == (
        Note("Started on the new cluster.\nTwo nodes were replaced."),
        Note(
            "Back to 56 000, rate × 0.75.\nNot 58 500: too near the onset.",
            "2026-11-18T22:41+01:00",
            "decision",
            58900,
            "ada",
        ),
        Note("plain", "2026-11-20T09:30+01:00"),
        Note("- a list item of somebody's own"),
    )


def test_no_file_no_notes(tmp_path):
    assert read_notes(tmp_path / "notes.md") == ()


def test_adding_leaves_what_stands_there(tmp_path):
    file = tmp_path / "notes.md"
    file.write_bytes(b"by hand, no line end")
    write_note(file, Note("kept", "2026-11-20T09:30+01:00", "lesson"))
    assert file.read_text("utf-8") == "by hand, no line end\n- 2026-11-20T09:30+01:00 · lesson: kept\n"


words = st.text(st.characters(blacklist_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1).filter(
    lambda t: t == t.strip() and t.isprintable()
)


@given(
    text=words,
    kind=st.sampled_from(["", *NOTE_KINDS, *REVIEWS]),
    step=st.none() | st.integers(-9, 10**18 - 1),
    event=st.sampled_from(["", "rise-a1-59000", "rise-a2-1.2", "end"]),
    author=st.sampled_from(["", "ada", "event horizon"]),
    run=st.sampled_from(["", "sweep-lr-3"]),
)
def test_a_note_comes_back_as_it_was(tmp_path_factory, text, kind, step, event, author, run):
    file = tmp_path_factory.mktemp("notes") / "notes.md"
    note = Note(text, "2026-11-20T09:30+01:00", kind, step, author, event, run)
    write_note(file, note)
    assert read_notes(file) == (note,)


def test_several_lines_come_back():
    assert line_of(Note("one\ntwo", "2026-11-20T09:30Z")) == "- 2026-11-20T09:30Z: one\n  two"


@pytest.mark.parametrize("given_time", ["2026-11-20T09:30", "2026-11-20T09:30+01:00"])
def test_times_get_a_zone(given_time):
    assert iso_time(given_time)[16:] != ""


def test_a_time_that_is_none():
    with pytest.raises(UsageError) as err:
        iso_time("yesterday")
    assert str(err.value) == "--at 'yesterday' is not ISO 8601. Remedy: write it as 2026-11-18T22:41+01:00"


def test_bytes_that_are_no_text_do_not_raise(tmp_path):
    (tmp_path / "notes.md").write_bytes(b"\xff\xfe- 2026\n")
    assert len(read_notes(tmp_path / "notes.md")) == 1
    file = tmp_path / "more.md"
    name = "J\udcf6rg"  # as a Latin-1 shell gives it
    write_note(file, Note(f"seen by {name}", "2026-11-20", author=name))
    assert file.read_text("utf-8") == "- 2026-11-20 · J?rg: seen by J?rg\n"


def test_a_day_alone_stays_a_day(tmp_path):
    file = tmp_path / "notes.md"
    note = Note("The run was stopped.", iso_time("2023-06-14"), "decision", 39036, "M4 team")
    write_note(file, note)
    assert file.read_text("utf-8") == "- 2023-06-14 · M4 team · decision · step 39036: The run was stopped.\n"
    assert read_notes(file) == (note,)


def test_a_step_that_would_not_be_read_back_is_refused(tmp_path):
    with pytest.raises(UsageError) as err:
        write_note(tmp_path / "notes.md", Note("x", "2026-11-20", "", 10**18))
    assert str(err.value) == (
        "step 1000000000000000000 is none: it has too many digits. Remedy: check the step"
    )


@pytest.mark.parametrize(
    "note",
    [
        Note("x", "2026-11-20", "decision", None, "ada · step 5"),
        Note("x", "2026-11-20", "", None, "ada: jo"),
        Note("x", "2026-11-20", "", None, "ada\njo"),
        Note("x", "2026-11-20", "", None, "decision"),
    ],
)
def test_what_would_be_read_as_something_else_is_refused(tmp_path, note):
    with pytest.raises(UsageError, match=r"cannot be written to notes\.md\. Remedy: leave out ·"):
        write_note(tmp_path / "notes.md", note)
    for event in ("foo", "no id: of ours"):  # the message blamed the author as well
        with pytest.raises(
            UsageError, match=f"'{event}' is not the id of an event. Remedy: `chronicle explain`"
        ):
            write_note(tmp_path / "notes.md", Note("x", "2026-11-20", "", None, "ada", event))
    assert not (tmp_path / "notes.md").exists()


def test_a_step_of_thousands_of_digits_is_text(tmp_path):
    line = f"- 2026-11-18 · step {'9' * 5000}: far"
    (tmp_path / "notes.md").write_text(line + "\n", "utf-8")
    assert read_notes(tmp_path / "notes.md") == (Note(line),)
