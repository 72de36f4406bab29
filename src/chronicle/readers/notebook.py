"""Jupyter notebooks: what their cells printed and the tables they showed, read by the readers of such texts.

A notebook is a container of texts, and nothing of its source is run. The text of a cell is what stands below
it: the lines of its streams in their order, and the plain text of what it displays. Tables of HTML (of
Hugging Face's Trainer, of fastai) become rows in bars. Cells that continue a training of the cell before make
a run with it; all others are runs of their own.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog, LogError
from chronicle.metrics.roles import assign
from chronicle.metrics.values import gathered
from chronicle.model import Attempt
from chronicle.readers.catalogue import is_notebook
from chronicle.readers.console.log import watched
from chronicle.readers.facts import from_yaml
from chronicle.readers.find import claims
from chronicle.readers.items import names_an_evaluation
from chronicle.readers.json_lines import tells_of_training
from chronicle.readers.packed import CUT, DAMAGED, Unpacked, named_back
from chronicle.readers.text import Head, from_json
from chronicle.timeline import goes_on, stitch
from chronicle.workspace.locks import scratch

MAX_BYTES = 1 << 28
FEWEST_POINTS = 2  # of a loss or a score that make a training
_TAG, _CELL = re.compile(r"<[^>]*>"), re.compile(r"<t[hd]\b[^>]*>")
_NO_OUTPUTS = "is a notebook that was saved without outputs. Remedy: run it, and save it with its outputs"
_NO_TRAINING = (
    "is a notebook, and no output of its cells holds a training. "
    "Remedy: print the loss with its step or epoch, or let the training write a log and name that"
)
_NOT_WHOLE = "is not a complete notebook. Remedy: fetch it again"


def identify(head: Head) -> bool:
    """Whether a notebook shows the output of a training; any other is no log."""
    with watched():  # by no one else: what is read here is read again
        return is_notebook(head) and next(_trainings(head), None) is not None


def lacks(path: Path) -> str:
    """What is missing from a notebook so that it can be read; "" for any other file."""
    head = Head.of(path)
    if not is_notebook(head):
        return ""
    cells, state = _cells(head)
    why_empty = _NOT_WHOLE if state else _NO_OUTPUTS
    return _NO_TRAINING if cells else why_empty


def runs(path: Path) -> list[str]:
    """The runs of a notebook with several, by the first cell of each."""
    return [str(run) for run in dict.fromkeys(a.facts.get("run", "") for a in read(path)) if run]


def read(path: Path) -> list[Attempt]:
    """The attempts of all cells, with the fact "run" if they are of several runs. Raises BadLog."""
    run, so_far, read = "", list[Attempt](), list[tuple[str, Attempt]]()
    for name, attempts in _trainings(Head.of(path)):
        judged = [replace(attempt, series=assign(attempt.series)) for attempt in attempts]
        before = {name for attempt in so_far for name in attempt.series}
        copies = stitch((*so_far, *judged)).copies  # such as those of a history that is shown again
        if all(before.isdisjoint(copy.series) for copy in copies):
            run, so_far = (run, so_far) if goes_on(so_far, judged) else (name, [])
            so_far += judged
            read += [(run, replace(attempt, sources=(str(path),))) for attempt in attempts]
    if not read:
        raise BadLog(str(path), lacks(path))
    several = len({run for run, _ in read}) > 1
    return [replace(a, facts={**a.facts, "run": run}) if several else a for run, a in read]


def _trainings(head: Head) -> Iterator[tuple[str, list[Attempt]]]:
    """The name of each training in a cell, and its attempts (`run.ipynb#7` of cell 7). They are read from its
    text or from its tables, whichever has more points of the loss. A table that a tracker exported may hold
    several."""
    cells, state = _cells(head)
    with scratch() as folder:
        for cell, texts in cells:
            attempts = max(map(_read, [folder / f"{cell}.log", folder / f"{cell}.md"], texts), key=_n_points)
            if _n_points(attempts) >= FEWEST_POINTS:
                file, place = Unpacked(Path(attempts[0].sources[0]), state), f"{head.path.name}#{cell}"
                named = (named_back(attempt, file, head.path.with_name(place)) for attempt in attempts)
                for run, own in gathered(map(_without_run, named)).items():
                    yield f"cell {cell}{f', {run}' if run else ''}", own


def _without_run(attempt: Attempt) -> tuple[str, Attempt]:
    """The name of a run within a cell ("" if the cell holds only one), and its attempt."""
    facts = dict(attempt.facts)
    return str(facts.pop("run", "")), replace(attempt, facts=facts)


def _read(file: Path, text: str) -> list[Attempt]:
    """Reads a text with the reader that knows it; [] if none does."""
    file.write_text(text, encoding="utf-8", errors="replace", newline="")
    try:
        readers = claims(file)
        return readers[0].read(file) if len(readers) == 1 else []
    except LogError:
        return []


def _n_points(attempts: Sequence[Attempt]) -> int:
    """How many points the longest loss or score has; rows of results, or of an evaluation alone, are none."""
    named = ((a.axis, name, s) for a in attempts for name, s in a.series.items() if tells_of_training(name))
    apart = ("item", "row")  # the latter of an evaluation
    judged = (len(s) for axis, name, s in named if axis not in apart[: 1 + names_an_evaluation(name)])
    return max(judged, default=0)


@lru_cache(maxsize=1)
def _cells(head: Head) -> tuple[list[tuple[int, tuple[str, str]]], str]:
    """The number and the texts of each cell with output, and the state of the notebook. The number is the one
    that Jupyter shows, else the place among the cells with code."""
    with head.opened() as file:
        text = file.read() if head.size <= MAX_BYTES else ""
    try:
        document, state = from_json(text), ""
    except (ValueError, RecursionError) as err:  # what stands before the damage is YAML, which may be cut
        state = DAMAGED if text.rstrip().endswith("}") else CUT
        document = from_yaml(text[: getattr(err, "pos", 0)])
    sheets = _objects([document])
    sheets += [sheet for whole in sheets for sheet in _objects(whole.get("worksheets"))]  # format 3
    cells = [cell for sheet in sheets for cell in _objects(sheet.get("cells")) if "outputs" in cell]
    numbered = dict[int, tuple[str, str]]()
    for place, cell in enumerate(cells, 1):
        shown = (cell.get("execution_count"), cell.get("prompt_number"))
        number = next(n for n in chain(shown, count(place)) if isinstance(n, int) and n not in numbered)
        if outputs := _objects(cell["outputs"]):
            numbered[number] = _texts(outputs)
    return [*numbered.items()], state


def _texts(outputs: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The lines that a cell printed, and its tables. Each stream begins on a line of its own."""
    text, tables, last = "", "", None
    for output in outputs:
        shown, stream = output.get("data", output), output.get("name") or output.get("stream")
        if not isinstance(shown, dict) or any(str(kind).endswith("widget-view+json") for kind in shown):
            continue
        if "ename" in output:
            line = f"{output['ename']}: {output.get('evalue', '')}\n"
        elif page := _joined(shown, "text/html", "html"):
            tables += _rows_in_bars(page)
            continue
        else:
            line = _joined(shown, "text/plain", "text")
        text += "\n" * (bool(text) and text[-1] != "\n" and not (stream and stream == last)) + line
        last = stream
    return text + "\n" * bool(text), tables


def _rows_in_bars(page: str) -> str:
    """The tables of a page of HTML as Markdown."""
    rows = list[str]()
    for table in page.split("</table")[:-1]:
        for place, row in enumerate(table.rpartition("<table")[2].split("<tr")[1:]):
            cells = [" ".join(html.unescape(_TAG.sub(" ", cell)).split()) for cell in _CELL.split(row)[1:]]
            rows += [f"| {' | '.join(cells)} |"] + ["|---" * len(cells) + "|"] * (place == 0)
        rows.append("")
    return "\n".join(rows) + "\n" * bool(rows)


def _joined(shown: Mapping[str, Any], *kinds: str) -> str:
    """The text of the first of these kinds, which may be in pieces."""
    content = next((shown[kind] for kind in kinds if kind in shown), "")
    pieces = content if isinstance(content, list) else [content]
    return "".join(piece for piece in pieces if isinstance(piece, str))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
