"""What people add: runs/<id>/notes.md, read by build and written only by `chronicle note`.

A line that `chronicle note` adds looks like this, and may be edited by hand:

    - 2026-11-18T22:41+01:00 · ada · decision · step 58900: Back to 56 000, learning rate × 0.75.

Everything else in the file is a note too, one a paragraph, without a date. Notes are plain text: nothing in
them is ever interpreted, neither as Markdown nor as HTML.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from chronicle.errors import UsageError
from chronicle.model import Note

KINDS = ("hypothesis", "tried", "decision", "lesson")

_LINE = re.compile(
    r"- (?P<at>\d{4}-\d\d-\d\dT\S+)(?: · (?!step \d)(?P<author>[^·:\n]+?))??"
    rf"(?: · (?P<kind>{'|'.join(KINDS)}))?(?: · step (?P<step>-?\d+))?: (?P<text>.*)"
)


def read_notes(file: Path) -> tuple[Note, ...]:
    """The notes of a file in its order; none where there is no file. Bytes that are no UTF-8 are replaced."""
    if not file.is_file():
        return ()
    text = file.read_text("utf-8-sig", errors="replace")
    found: list[Note] = []
    free: list[str] = []
    for line in [*text.splitlines(), ""]:
        match = _LINE.fullmatch(line)
        if (match or not line.strip()) and free:
            found.append(Note("\n".join(free)))
            free = []
        if match:
            found.append(_note(match))
        elif line.startswith("  ") and found and not free:
            found[-1] = _continued(found[-1], line)
        elif line.strip() and not line.startswith("# "):
            free.append(line)
    return tuple(found)


def write_note(file: Path, note: Note) -> None:
    """Adds one note at the end of the file; what stands there is not touched."""
    before = file.read_bytes() if file.is_file() else b""
    gap = b"" if not before or before.endswith(b"\n") else b"\n"
    with file.open("ab") as out:
        out.write(gap + line_of(note).encode() + b"\n")


def line_of(note: Note) -> str:
    """The line of notes.md that holds a note; `read_notes` gives it back unchanged."""
    head = [note.at_time or iso_time(None)]
    head += [word for word in (note.author, note.kind) if word]
    head += [f"step {note.step}"] if note.step is not None else []
    first, *rest = note.text.strip().splitlines() or [""]
    return "\n".join([f"- {' · '.join(head)}: {first}", *(f"  {line}" for line in rest)])


def iso_time(at: str | None) -> str:
    """``at`` as ISO 8601 to the minute, with the zone of this machine if it names none; now if None.

    Raises:
        UsageError: not ISO 8601.
    """
    try:
        moment = datetime.fromisoformat(at) if at else datetime.now()
    except ValueError:
        raise UsageError(f"--at {at!r} is not ISO 8601. Example: 2026-11-18T22:41+01:00") from None
    return (moment if moment.tzinfo else moment.astimezone()).isoformat(timespec="minutes")


def _note(match: re.Match[str]) -> Note:
    step = match["step"]
    return Note(
        text=match["text"],
        at_time=match["at"],
        kind=match["kind"] or "",
        step=int(step) if step else None,
        author=(match["author"] or "").strip(),
    )


def _continued(note: Note, line: str) -> Note:
    return Note(f"{note.text}\n{line[2:]}", note.at_time, note.kind, note.step, note.author)
