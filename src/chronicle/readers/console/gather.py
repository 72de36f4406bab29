"""From lines to records: pairs of one line, blocks of lines with a pair each, boxes, tables with a header.

step 5 | loss: 2.5 | lr 1e-4            one line
Mean reward: 0.67                       a block: each line is one pair, no name comes twice in it
| train/          |        |            a box of two columns; names have their group in front
|    loss         | -0.205 |
epoch  train_loss  valid_loss  time     a table: rows under a header that names a counter
0      1.2005      1.1001      00:32
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chronicle.metrics.roles import role_of
from chronicle.model import Role
from chronicle.readers.columns import number, step_rank
from chronicle.readers.console.log import Line
from chronicle.readers.console.pairs import Pair, pairs
from chronicle.readers.console.prefix import Prefix
from chronicle.readers.console.records import Record, Told, as_bar, counts, is_judged

# What a line of interest holds: a number after a name, or a rule or header that says how to read others.
MAYBE = re.compile(
    rb"[A-Za-z_)%\]|][^\w\n]{0,24}[-+.]?\d|\d/\d|\b(?:nan|inf)\b|^\W{0,24}\d|^[-=#*_+|\s]{6,}$|best iteration"
    rb"|^[^\w\n]{0,24}(?:epochs?|steps?|iter(?:ation)?s?|e|class)\b|^\| [\w/]+ *\| *\|$",
    re.IGNORECASE,
)
_RULE = re.compile(r"[-=#*_+|\s]{6,}")
_BOX = re.compile(r"\|\s*([^|]{1,120}?)\s*\|\s*([^|]{0,60}?)\s*\|")
_BULLET = " \t|>*#•▶:-{'\""
_SUMMARY = re.compile(r"\bbest iteration is:?$|^best (?:iteration|epoch|step)\b", re.IGNORECASE)
_BORDERS = re.compile(r"[|│┃║]")
_BAR = re.compile(r":\s+(\d{1,3})%\|?.*$")  # a bar behind the last cell of a row
_HEAD = re.compile(r"[^\w\n]{0,24}(?:epochs?|steps?|iter(?:ation)?s?|e|class)\b", re.IGNORECASE)
_GAP = re.compile(r"\s{2,}|\t")
_HEADS = {"#": "step", "e": "epoch"}  # of spaCy
_MOST_COLUMNS, _LONGEST = 64, 1000  # characters of a line that are looked at


class Table:
    """A table that may be under way: the names of its columns, and the row that was read last."""

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._last: list[str] = []

    def read(self, text: str) -> list[Pair] | None:
        """The pairs of a row, [] for a header or a row that says nothing new; None for any other line."""
        bar = _BAR.search(text) if "%" in text else None
        text = text[: bar.start()] if bar else text
        if names := _header(text):
            self._names = names
            return []
        if not self._names:
            return None
        cells = (
            [c.strip() for c in _BORDERS.split(text.strip("|│┃║ "))]
            if _BORDERS.search(text)
            else text.split()
        )
        cells = cells[len(cells) > len(self._names) and cells[0] == "#" :]
        if len(cells) != len(self._names):
            return None
        found = [pair for name, cell in zip(self._names, cells, strict=True) if (pair := _cell(name, cell))]
        of_class = self._names[0].lower() == "class"
        if len(found) < max(2, len(cells) / 2) or (not of_class and found[0].name != self._names[0]):
            return None
        if (bar and bar[1] != "100") or cells == self._last or (of_class and cells[0] != "all"):
            return []
        self._last = cells
        return found


def _header(text: str) -> tuple[str, ...]:
    """The names of the columns that a line names; () where it is no header.

    One of the first two counts steps or epochs.
    """
    if not _HEAD.match(text) or ": " in text or "=" in text:
        return ()
    cells = _BORDERS.split(text.strip("|│┃║ ")) if _BORDERS.search(text) else _GAP.split(text.strip())
    names = [cell.strip() for cell in (cells if len(cells) > 1 else text.split())]
    names = names[len(names) > 2 and names[0] == "#" and _counts(names[1]) :]
    names = [_HEADS.get(name.lower(), name) for name in names] if "#" in names else names
    if not 2 <= len(names) <= _MOST_COLUMNS or not all(map(_is_name, names)):
        return ()
    return tuple(names) if any(map(_counts, names[:2])) or names[0].lower() == "class" else ()


def _is_name(cell: str) -> bool:
    return bool(re.fullmatch(r"#|[^\W\d](?:[^|:=]|:(?=\.)){0,40}", cell)) and number(cell) is None


def _counts(name: str) -> bool:
    plain = name.lower()
    return plain in ("epoch", "epochs", "#", "e") or step_rank(plain) is not None


def _cell(name: str, cell: str) -> Pair | None:
    """A cell with its name; None for one that is no number."""
    found = re.fullmatch(r"(\S+?)(?:/(\d{1,18}))?(?:%|s|[KMG]i?B?)?", cell)
    value = number(found[1].replace(",", "")) if found else None
    return Pair(name, value, int((found and found[2]) or 0)) if value is not None else None


class Gatherer:
    """Gathers the lines of a log, one after the other, into records."""

    def __init__(self) -> None:
        self._block: dict[str, Told] = {}
        self._group, self._table, self._skip = "", Table(), False
        self._first: dict[str, bool] = {}  # counters, and whether they come before what they count
        self._judged = False

    def take(self, line: Line, prefix: Prefix) -> Iterator[Record]:
        """The records that are complete with this line; one without pairs for a line that says nothing."""
        text = prefix.text[:_LONGEST]
        if _RULE.fullmatch(text):
            self._group = ""
            yield from self.end()
        elif line.unfinished:  # its number may go on
            yield Record((), text)
        elif self._skip or ("est " in text and _SUMMARY.search(text)):  # what was said before, said again
            self._skip = not self._skip and text.endswith(":")
            yield Record((), text)
        elif (
            text.startswith("|")
            and (box := _BOX.fullmatch(text))
            and (not box[2] or number(box[2]) is not None)
        ):
            yield from self._boxed(box[1], box[2], line, prefix)
        else:
            row = self._table.read(text)
            found = [as_bar(pair) for pair in pairs(text)] if row is None else row
            if len(found) == 1 and row is None and text.lstrip(_BULLET).startswith(found[0].name):
                yield from self._one(Told(found[0], line, prefix))
            else:
                if found:
                    yield from self.end()
                    self._judged |= any(is_judged(pair.name) for pair in found)
                yield Record(tuple(Told(pair, line, prefix) for pair in found), text if row is None else "")

    def end(self, *, of_log: bool = False) -> Iterator[Record]:
        """The block that was under way, if there is one."""
        if self._block:
            yield Record(tuple(self._block.values()), open=of_log)
            self._block = {}

    def _boxed(self, name: str, cell: str, line: Line, prefix: Prefix) -> Iterator[Record]:
        value = number(cell)
        if value is None:
            self._group = name if name.endswith("/") else ""
        else:
            yield from self._one(Told(Pair(self._group + name, value), line, prefix), boxed=True)

    def _begins(self, pair: Pair) -> bool:
        """Whether a counter begins a block, as it did when it was first seen: before any loss or score."""
        if not counts(pair):
            self._judged |= is_judged(pair.name) and role_of(pair.name) is not Role.LEARNING_RATE
            return False
        return self._first.setdefault(pair.name, not self._judged)

    def _one(self, told: Told, *, boxed: bool = False) -> Iterator[Record]:
        if told.pair.name in self._block or (self._begins(told.pair) and not boxed):
            yield from self.end()
        self._block[told.pair.name] = told


def records(lines: Iterable[tuple[Line, Prefix]]) -> Iterator[Record]:
    """The records of all lines, in their order."""
    gatherer = Gatherer()
    for line, prefix in lines:
        yield from gatherer.take(line, prefix)
    yield from gatherer.end(of_log=True)
