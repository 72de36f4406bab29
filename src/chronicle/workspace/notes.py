"""Notes and reviews of people about a run, a line each, in files that only people and two commands write.

`chronicle note` and `chronicle review` add such lines to runs/<id>/notes.md, which may be edited by hand:

    - 2026-11-18T22:41+01:00 · ada · decision · step 58900 · event rise-a1-59000: Back to 56 000.
    - 2026-11-19T09:05+01:00 · jonas · review bad: The level shift never went away.
    - 2026-11-20T10:15+01:00 · ada · review good · run sweep-lr-3: The best of the runs in this log.

Every other paragraph of the file is a note without a date. A build reads notes and never writes them. They
are plain text, never interpreted as Markdown or HTML. `NOTES.log` in the folder of a log is read alike."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from chronicle.errors import UsageError, unreadable
from chronicle.metrics.values import moment
from chronicle.model import Note, Verdict
from chronicle.workspace.locks import appending

NOTES = "notes.md"
BESIDE = "NOTES.log"  # notes in the folder of a log
NOTE_KINDS = ("hypothesis", "tried", "decision", "outcome", "lesson")
STANCES = ("confirmed", "disputed")  # the words of a review of one event
JUDGEMENTS = (*map(str, Verdict), *STANCES)
REVIEWS = (*(f"review {verdict}" for verdict in Verdict), *STANCES)
_EVENT = r"launch|end|[\w.]+(?:-[\w.]+)+"
_RUN = r"[A-Za-z0-9._-]+"
_MOST_DIGITS = 18  # of a step, so that it fits into 64 bits
_NOTE = re.compile(
    r"- (?P<at>\d{4}-\d\d-\d\d(?:T\S+)?)(?: · (?!step \d|event \S+-|run \S+: )(?P<author>[^·:\n]+?))??"
    rf"(?: · (?P<kind>{'|'.join((*NOTE_KINDS, *REVIEWS))}))?(?: · step (?P<step>-?\d{{1,{_MOST_DIGITS}}}))?"
    rf"(?: · event (?P<event>{_EVENT}))?(?: · run (?P<run>{_RUN}))?: (?P<text>.*)"
)


def read_notes(file: Path | None) -> tuple[Note, ...]:
    """The notes of a file in its order; none if there is no file. Bytes that are not UTF-8 are replaced.
    Raises LogError: the file cannot be read."""
    if file is None or not os.path.isfile(file):
        return ()
    try:
        text = file.read_text("utf-8-sig", errors="replace")
    except OSError as err:
        raise unreadable(file, err) from err
    notes: list[Note] = []
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        match = _NOTE.fullmatch(line)
        if (match or not line.strip()) and paragraph:
            notes.append(Note("\n".join(paragraph)))
            paragraph = []
        if match:
            step, author = match["step"], (match["author"] or "").strip()
            kind, *of = (match[name] or "" for name in ("kind", "event", "run"))
            notes.append(Note(match["text"], match["at"], kind, int(step) if step else None, author, *of))
        elif line.startswith("  ") and notes and not paragraph:
            notes[-1] = replace(notes[-1], text=f"{notes[-1].text}\n{line[2:]}")
        elif line.strip() and not line.startswith("# "):
            paragraph.append(line)
    return tuple(notes)


def verdict_of(note: Note) -> Verdict | None:
    """The verdict of a review of the whole run; None for every other note."""
    word, _, verdict = note.kind.partition(" ")
    return Verdict(verdict) if word == "review" else None


def last_review(notes: Iterable[Note]) -> Note | None:
    """The latest review of the whole run; of reviews with the same time, the last one in the file."""
    reviews = (note for note in notes if verdict_of(note) is not None)
    return max(reversed([*reviews]), key=lambda note: moment(note.at_time), default=None)


def write_note(file: Path, note: Note) -> None:
    """Appends one note to the file, completely or not at all. Raises UsageError: the author, event or
    step would not be read back unchanged."""
    if note.event and not re.fullmatch(_EVENT, note.event):
        remedy = "`chronicle explain` shows the ids"
        raise UsageError(f"{note.event!r} is not the id of an event", remedy=remedy)
    if abs(note.step or 0) >= 10**_MOST_DIGITS:
        raise UsageError(f"step {note.step} is none: it has too many digits", remedy="check the step")
    match = _NOTE.fullmatch(line_of(note).split("\n")[0])
    if not match or ((match["author"] or "").strip(), match["event"] or "") != (note.author, note.event):
        named = f"author {note.author!r}" + (f" or event {note.event!r}" if note.event else "")
        problem = f"{named} cannot be written to {file.name}"
        raise UsageError(problem, remedy="leave out ·, colons and line ends")
    with appending(file) as add:
        ends_a_line = file.read_bytes()[-1:] in (b"", b"\n")
        add((b"" if ends_a_line else b"\n") + line_of(note).encode("utf-8", "replace") + b"\n")


def line_of(note: Note) -> str:
    """The line of notes.md that holds a note; `read_notes` gives it back unchanged."""
    step = f"step {note.step}" if note.step is not None else ""
    event = f"event {note.event}" if note.event else ""
    run = f"run {note.run}" if note.run else ""
    head = filter(None, (note.at_time or iso_time(None), note.author, note.kind, step, event, run))
    first, *rest = note.text.strip().splitlines() or [""]
    return "\n".join([f"- {' · '.join(head)}: {first}", *(f"  {line}" for line in rest)])


def author_in(folder: Path) -> str:
    """The author of notes: user.name of git in ``folder``, else the user of this machine, else empty."""
    name = ""
    with suppress(OSError):  # git is not installed
        command = ["git", "-C", str(folder), "config", "user.name"]
        name = subprocess.run(command, capture_output=True, text=True).stdout
    name = name.strip() or os.environ.get("USER") or os.environ.get("USERNAME") or ""
    return re.sub(r"[·:\n]+", " ", name).strip()


def iso_time(at: str | None) -> str:
    """``at`` (default: now) as ISO 8601 to the minute, with the time zone of this machine if it has none. A
    date stays a date. Raises UsageError: not ISO 8601."""
    try:
        moment = datetime.fromisoformat(at) if at else datetime.now()
    except ValueError:
        remedy = "write it as 2026-11-18T22:41+01:00"
        raise UsageError(f"--at {at!r} is not ISO 8601", remedy=remedy) from None
    if at and len(at) <= len("2026-11-18"):
        return moment.date().isoformat()
    return (moment if moment.tzinfo else moment.astimezone()).isoformat(timespec="minutes")
