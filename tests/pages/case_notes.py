"""Notes of runs whose story a case tells: the rows of the case that name the run.

`python -m tests.pages.case_notes` writes them into runs/<run>/notes.md.
"""

from __future__ import annotations

from pathlib import Path

from chronicle.model import Note
from chronicle.pages.gallery import load_cases
from chronicle.workspace.notes import line_of

ROOT = Path(__file__).resolve().parents[2]
CASES = load_cases([ROOT / "gallery"])


def notes() -> dict[str, str]:
    """The text of notes.md by run."""
    texts: dict[str, list[str]] = {}
    for case in CASES:
        for row in (row for row in case.log if row.run):
            kind = "" if row.kind == "event" else row.kind
            note = Note(row.said, row.when, kind, row.step, f"{case.who}, in our words", row.event)
            head = f"# From gallery/cases/{case.id}.md, by python -m tests.pages.case_notes"
            texts.setdefault(row.run, [head]).append(line_of(note))
    return {run: "\n".join(lines) + "\n" for run, lines in texts.items()}


def main() -> None:
    for run, text in notes().items():
        (ROOT / "runs" / run / "notes.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
