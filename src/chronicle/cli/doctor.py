"""`chronicle doctor`: what chronicle understood in a log, for console text line by line, and what it did not.

`examine` reads the log as every command does, and records what the reader used each line for.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8, getincrementaldecoder
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import click
import numpy as np

from chronicle.build.site import stamp_of
from chronicle.cli.terminal import columns, printable
from chronicle.errors import LogError
from chronicle.metrics.by_values import by_values
from chronicle.metrics.values import count, first_few, grouped, level, plural
from chronicle.model import Attempt, Fault, Role, Steps
from chronicle.readers import ASK_DOCTOR, read_all, what_to_do
from chronicle.readers.catalogue import all_readers, is_notebook
from chronicle.readers.console.chunks import Line, chunks, sample, text_of
from chronicle.readers.console.log import Log, Rows, watched
from chronicle.readers.console.text_tables import pairs_in
from chronicle.readers.find import claims, files_below
from chronicle.readers.packed import unpacked
from chronicle.readers.text import Head, encoding_of

_OF_TRAINING = {Role.LOSS, Role.DATASET_LOSS, Role.VALIDATION_LOSS, Role.SCORE, Role.VALIDATION_SCORE}
_OF_TRAINING |= {Role.PART_LOSS, Role.OBJECTIVE, Role.GRAD_NORM, Role.LEARNING_RATE}
_ROW_OF_NUMBERS = re.compile(r"(?i)(?:[\s\d.,;:+e-]|nan|inf)*")
# What the lines of a console log were used for.
RECORD, EVENT, FAULT, UNUSABLE = "records", "events", "faults", "unusable"
CUT, ASIDE, NOT, BLANK = "cut", "known otherwise", "not understood", "blank"
MOST_KINDS, MOST_SHOWN, MOST_UNREAD, MOST_CHARACTERS, MOST_LINES = 12, 3, 10, 200, 20_000
MOST_METRICS, MOST_FAULTS, MOST_NAMES = 40, 20, 12
Numbered = Sequence[tuple[int, str]]
_NEEDS = "write a counter and values by name into its lines, as in `step 100 loss 2.5`"


def examine(path: Path) -> dict[str, Any]:
    """The report on one log (a file, packed or not, or a folder, read as one run) that ``--json`` prints.

    ``problem`` says why nothing was read, and ``doubts`` why this may not be the log of a training. ``kinds``
    are the kinds of lines of console text, the most frequent first; ``lines`` is the number of lines by what
    they were used for. The ``counter`` of an attempt is the counter that was used as its steps, if it logs
    several. The ``why`` of a metric is the evidence in its values for its role, if its name does not show
    the role. Raises NothingToRead: the file does not exist.
    """
    with watched() as logs:
        reading = read_all(path)
    files = list(files_below(path))
    try:
        content = _content(path, logs)
    except (OSError, LogError):  # the reason is among the problems already
        content = {"lines": {}, "kinds": []}
    attempts, problems = reading.attempts, reading.problems
    nothing = [] if attempts or problems else [f"no file is a log. {what_to_do(path, files)}"]
    if nothing and (names := content.get("claimed_by")):
        nothing = [f"its format is {' or '.join(names)}, and no series of numbers is in it"]
    return {
        "path": str(path),
        "n_bytes": sum(stamp[0] for stamp in map(stamp_of, files) if stamp),
        "encoding": "",
        "line_ends": "",
        "format": ", ".join(dict.fromkeys(str(a.facts.get("format", "")) for a in attempts)),
        "claimed_by": [],
        "n_readers": len(all_readers()),
        "problem": "\n".join(printable(str(p).replace(ASK_DOCTOR, _NEEDS), "") for p in problems),
        "doubts": [*_doubts(attempts), *_named_by_file(path, attempts)] or nothing,
        **content,
        "attempts": [*map(_summary, attempts)],
        "faults": [
            {"where": f.where, "what": f.what, "kind": f.kind, "count": f.count, "step": f.at_step}
            for attempt in attempts
            for f in attempt.faults
        ],
    }


def _content(path: Path, logs: Sequence[Log]) -> dict[str, Any]:
    """What the bytes of the file show: encoding, readers that claim it, and kinds of lines."""
    if not path.is_file():
        return _kinds_of(logs)
    with unpacked(path) as file:
        start, claimed_by = Head.of(file.path).start, tuple(reader.NAME for reader in claims(file.path))
        content = {**_kinds_of(logs, file.path), **_encoding(start), "claimed_by": claimed_by}
        is_text = not claimed_by and not is_notebook(Head.of(file.path))
        return {**content, "kinds": _unread_kinds(file.path)} if is_text else content


def _doubts(attempts: Sequence[Attempt]) -> Iterator[str]:
    """Reasons to doubt that this is the log of a training, because tables of other data are read as well."""
    filled = [attempt for attempt in attempts if attempt.series]
    for attempt in (attempt for attempt in filled if attempt.axis == "item"):
        what = f"its rows are {attempt.facts['rows']} of a training, and nothing of it is judged"
        yield f"{what}. If they are steps, name the loss with `roles` in run.toml"
    filled = [attempt for attempt in filled if attempt.axis != "item"]
    if filled and not any(s.role in _OF_TRAINING for attempt in filled for s in attempt.series.values()):
        what = "no metric is recognised as a loss, a score, a norm or a learning rate"
        yield f"{what}: is this the log of a training? If it is, say so with `roles` in run.toml"
    if any(attempt.axis == "row" for attempt in filled):
        yield "no column counts the steps, so its rows are counted"


def _named_by_file(path: Path, attempts: Sequence[Attempt]) -> Iterator[str]:
    """What was assumed of a table whose columns have no names."""
    tables = (attempt for attempt in attempts if attempt.facts.get("format") == "csv")
    series = [s for table in tables for s in table.series.values()]
    if series and path.is_file() and _ROW_OF_NUMBERS.fullmatch("".join(Head.of(path).lines[:1])):
        counted = "" if attempts[0].axis == "row" else ", and what stands before it for the steps"
        if by_values := [s.metric for s in series if "(column " in s.metric]:
            what = f"{', '.join(by_values)} is a guess by values{counted}"
            yield f"no line names the columns: {what}. If it is wrong, write their names into a first line"
            return
        yield f"no line names the columns: the last one was taken for {series[-1].metric}{counted}"


def _summary(attempt: Attempt) -> dict[str, Any]:
    metrics, inferred = [], by_values(attempt.series)
    for name, s in attempt.series.items():
        if len(s):
            steps = {"first_step": s.steps[0], "last_step": s.steps[-1]}
            values = {"first": s.values[0], "last": s.values[-1]}
            why = inferred[name].why if name in inferred and inferred[name].role is s.role else ""
            metric = {"metric": name, "role": str(s.role), "unit": s.unit, "points": len(s)}
            metrics.append(metric | steps | values | {"why": why})
    counter, n_facts = str(attempt.facts.get("step_counter", "")), len(attempt.facts)
    named = {"name": attempt.name, "axis": attempt.noun, "counter": counter, "truncated": attempt.truncated}
    return {**named, "n_facts": n_facts, "metrics": metrics}


def _encoding(start: bytes) -> dict[str, str]:
    """Encoding and line ends by the start of a file; the latter are given only for text of single bytes."""
    if (known_as := encoding_of(start)) != "utf-8-sig":
        return {"encoding": {"gb18030": "GB 18030", "cp1252": "Windows-1252"}.get(known_as, "UTF-16")}
    if b"\0" in start:
        return {"encoding": "binary"}
    ends = (("CRLF", b"\r\n"), ("LF", b"\n"), ("CR", b"\r"))
    line_ends = next((name for name, end in ends if end in start), "")
    if start.startswith(BOM_UTF8):
        return {"encoding": "UTF-8 with a byte order mark", "line_ends": line_ends}
    encoding = "ASCII" if start.isascii() else "UTF-8"
    try:
        getincrementaldecoder("utf-8")().decode(start)  # whose end may cut a character
    except UnicodeDecodeError as err:
        encoding = f"not UTF-8 (byte {err.start}); other bytes are shown as U+FFFD"
    return {"encoding": encoding, "line_ends": line_ends}


def _kinds_of(logs: Sequence[Log], file: Path | None = None) -> dict[str, Any]:
    """The kinds of lines of the logs that were read, and the number of lines by use. If ``file`` is given,
    only logs of its name are this file, which may have been elsewhere when it was read."""
    its_own = (log for log in logs if file is None or log.path.name == file.name)
    of_file = grouped(its_own, lambda log: file or log.path)
    kinds = [kind for path, its_logs in of_file.items() for kind in _kinds_of_file(path, its_logs)]
    by_use = grouped(kinds, itemgetter("taken_for")).items()
    return {"lines": {use: sum(kind["n_lines"] for kind in same) for use, same in by_use}, "kinds": kinds}


def _kind(taken_for: str, n_lines: int, fields: Sequence[str] = (), first: Numbered = ()) -> dict[str, Any]:
    """One kind of lines: its use, the metrics in it (``fields``), and its ``first`` lines (number, text)."""
    return {"taken_for": taken_for, "n_lines": n_lines, "fields": fields, "first": first}


def _kinds_of_file(path: Path, logs: Sequence[Log]) -> Iterator[dict[str, Any]]:
    taken = _taken(logs)
    known = np.unique(_joined(lines for _, _, lines in taken))
    wanted = {int(line) for _, _, lines in taken[:MOST_KINDS] for line in lines[:MOST_SHOWN]}
    texts, unread, n_unread, n_blank = _texts(path, wanted, known)
    for what, fields, lines in taken[:MOST_KINDS]:
        first = [(int(line), texts[int(line)]) for line in lines[:MOST_SHOWN] if int(line) in texts]
        yield _kind(what, len(lines), fields, first)
    rest = sum(len(lines) for _, _, lines in taken[MOST_KINDS:])
    for kind in (_kind(RECORD, rest), _kind(NOT, n_unread, first=unread), _kind(BLANK, n_blank)):
        if kind["n_lines"]:
            yield kind


def _taken(logs: Sequence[Log]) -> list[tuple[str, tuple[str, ...], Steps]]:
    """The kinds of lines that were used: their use, fields and line numbers; the most frequent first."""
    taken = [(RECORD, fields, lines) for log in logs for fields, lines in _records(log.rows)]
    for log in logs:
        events = grouped(log.events, lambda event: str(event["event"])).items()
        taken += [(EVENT, (what,), np.array([event["line"] for event in same])) for what, same in events]
    faults = [fault for log in logs for fault in log.faults()]
    taken.append((FAULT, (), _lines_of(fault for fault in faults if fault.kind != "read")))
    taken.append((UNUSABLE, (), _lines_of(fault for fault in faults if fault.kind == "read")))
    other = _joined([*(np.array(log.looked_at) for log in logs), *(lines for _, _, lines in taken)])
    aside = np.setdiff1d(_joined(np.array(log.record_lines) for log in logs), other)
    last = [log.n_lines for log in logs if log.truncated]
    taken += [(CUT, (), np.intersect1d(aside, last)), (ASIDE, (), np.setdiff1d(aside, last))]
    return sorted((kind for kind in taken if len(kind[2])), key=lambda kind: -len(kind[2]))


def _records(rows: Rows) -> Iterator[tuple[tuple[str, ...], Steps]]:
    """The lines of records, by the names of their metrics."""
    code_of = np.random.default_rng(0).integers(1, 2**63, len(rows.columns))
    codes = np.zeros(len(rows), np.int64)  # of each row, one for each set of metrics
    for code, (_, at) in zip(code_of, rows.columns.values(), strict=True):
        codes[np.array(at, np.int64)] ^= code
    _, firsts, kind_of = np.unique(codes, return_index=True, return_inverse=True)
    has = {name: np.isin(firsts, np.array(at, np.int64)) for name, (_, at) in rows.columns.items()}
    by_kind = np.split(np.argsort(kind_of, kind="stable"), np.cumsum(np.bincount(kind_of))[:-1])
    lines = np.array(rows.lines, np.int64)
    for kind in np.argsort(firsts) if len(rows) else ():
        yield tuple(name for name, of_kind in has.items() if of_kind[kind]), np.unique(lines[by_kind[kind]])


def _lines_of(faults: Iterable[Fault]) -> Steps:
    return np.array([f.place.line for f in faults if f.place.line is not None], np.int64)


def _joined(parts: Iterable[Steps]) -> Steps:
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def _texts(path: Path, wanted: set[int], known: Steps) -> tuple[dict[int, str], Numbered, int, int]:
    """Texts of ``wanted`` lines, the first lines not ``known``, their number, the number of blank ones."""
    texts, unread, n_unread, n_blank = dict[int, str](), list[tuple[int, str]](), 0, 0
    with suppress(OSError):  # a copy that was made for reading and was removed
        for chunk in chunks(path):
            is_known = np.isin(np.asarray(chunk.numbers), known).tolist()
            for number, line, known_line in zip(chunk.numbers, chunk.lines, is_known, strict=True):
                is_blank = not line.strip()  # a progress bar begins by going back to the start of its line
                if known_line:
                    if number in wanted and not is_blank:
                        texts[number] = _excerpt(line)  # the last drawing is what stands there
                elif is_blank:
                    n_blank += 1
                else:
                    n_unread += 1
                    if len(unread) < MOST_UNREAD:
                        unread.append((number, _excerpt(line)))
    return texts, unread, n_unread, n_blank


def _excerpt(line: bytes) -> str:
    return text_of(line[: 4 * MOST_CHARACTERS]).strip()[:MOST_CHARACTERS]


def _unread_kinds(path: Path) -> list[dict[str, Any]]:
    """The kinds of lines of a text that no reader claims, by the names in them; none of a binary file."""
    shapes: dict[tuple[str, ...], list[tuple[int, str]]] = {}
    counts: Counter[tuple[str, ...]] = Counter()
    read = (zip(c.numbers, c.lines, strict=True) for c in (chunks(path) if sample(Head.of(path)) else ()))
    filled = (numbered for numbered in chain.from_iterable(read) if numbered[1].strip())
    for number, line in islice(filled, MOST_LINES):
        shape = tuple(pair.name for pair in pairs_in(Line(number, text_of(line[:4000])).apart.words))
        counts[shape] += 1
        if len(first := shapes.setdefault(shape, [])) < MOST_SHOWN:
            first.append((number, _excerpt(line)))
    return [_kind(NOT, n, shape, shapes[shape]) for shape, n in counts.most_common(MOST_KINDS)]


def report_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The lines that the command prints for one log."""
    yield click.style(printable(report["path"], ""), bold=True)
    about = plural(report["n_bytes"], "byte"), report["encoding"], report["line_ends"]
    yield "  " + ", ".join(filter(None, about))
    reader = f"format: {printable(report['format'])}" if report["format"] else "nothing was read"
    if report["format"] and len(report["claimed_by"]) == 1:
        reader += f", known by its content; none of the other {report['n_readers'] - 1} readers claims it"
    yield f"  {reader}"
    yield from (f"  {printable(line)}" for line in report["problem"].splitlines())
    yield from (f"  In doubt: {doubt}." for doubt in report["doubts"])
    if report["lines"]:
        kinds = ((n, what.removesuffix("s") if n == 1 else what) for what, n in report["lines"].items())
        yield "  lines: " + ", ".join(f"{count(n)} {what}" for n, what in kinds)
    for kind in (kind for kind in report["kinds"] if kind["first"]):
        names = first_few(kind["fields"], MOST_NAMES)
        line = f"  {kind['taken_for']}, {plural(kind['n_lines'], 'line')}"
        yield printable(line + (f": {names}" if names else ""))
        yield from (printable(f"    {number:>7}  {text}") for number, text in kind["first"])
    for attempt in report["attempts"]:
        yield from _attempt_lines(attempt)
    faults = report["faults"]
    for fault in faults[:MOST_FAULTS]:
        at = "" if fault["step"] is None else f" (step {count(fault['step'])})"
        times = f" × {count(fault['count'])}" if fault["count"] > 1 else ""
        yield printable(f"  {fault['where']}: {fault['what']}") + at + times
    if len(faults) > MOST_FAULTS:
        yield f"  and {plural(len(faults) - MOST_FAULTS, 'further fault')}"


def _attempt_lines(attempt: Mapping[str, Any]) -> Iterator[str]:
    metrics = attempt["metrics"]
    cut = ", its end is cut off or not yet written" if attempt["truncated"] else ""
    steps = [metric[end] for metric in metrics for end in ("first_step", "last_step")]
    ends = [count(step) for step in dict.fromkeys((min(steps), max(steps)))] if steps else []
    axis = attempt["axis"] if len(ends) == 1 else f"{attempt['axis']}s"
    reach = f"{axis} {' – '.join(ends)}, " if ends else ""
    numbers = f"{plural(len(metrics), 'metric')}, {plural(attempt['n_facts'], 'fact')}"
    yield printable(f"  attempt {attempt['name']}: {reach}{numbers}{cut}")
    if attempt["counter"]:
        yield printable(f"    steps are counted by {attempt['counter']}")
    rows = [("metric", "role", "unit", f"{'points':>9}", "first … last", "")] if metrics else []
    for m in metrics[:MOST_METRICS]:
        name, unit = printable(m["metric"]), printable(m["unit"] or "not declared")
        points, values = f"{count(m['points']):>9}", f"{level(m['first'])} … {level(m['last'])}"
        why = f"(by its values: {printable(m['why'])})" if m["why"] else ""
        rows.append((name, m["role"], unit, points, values, why))
    yield from columns(rows, "    ")
    if len(metrics) > MOST_METRICS:
        yield f"    and {plural(len(metrics) - MOST_METRICS, 'further metric')}"
