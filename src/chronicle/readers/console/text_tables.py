"""Stage 4 for tables: rows of cells under a header, a line of names, one of the first two of which counts.

epoch  train_loss  valid_loss  time        |           |    loss  ||    acc  |
0      1.2005      1.1001      00:32       |     12/40 |  0.6931  ||  0.503  |

`row_without_names` reads rows without a header, whose columns are known by their trainer. `listed_settings`
reads the names and values with which many logs begin.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple

from chronicle.metrics.values import gathered
from chronicle.readers.columns import number
from chronicle.readers.console.pairs import LOSSES_OF_VITS, Pair, is_result, pairs
from chronicle.readers.facts import scalar, settings_in, without_frames
from chronicle.readers.step_axis import step_rank

_BAR = re.compile(r":\s+(\d{1,3})%\|?.*$")  # a progress bar behind the last cell of a row
_CUT_BAR = re.compile(r":(?:\s+(\d{1,3}))?$")  # what a narrow terminal left of such a bar
_HEADER = re.compile(
    r"(?i)[^\w\n]{0,24}(?:ep(?:ochs?|isodes?)?|steps?|iter(?:ation)?s?|(?:n_)?gen(?:eration)?|e|class"
    r"|loss +last)\b"
)
_COLUMN = re.compile(r"#|[^\W\d](?:[^|:=]|:(?=\.)){0,40}")
_TUPLE = re.compile(r"(?<!\S)\(([^()]{1,400})\)(?!\S)")  # cells of a row that Python prints as `(0.5, 0.75)`
_GAP, _BLANK_BEFORE_UNIT = re.compile(r"\s{2,}|\t"), re.compile(r"(?<=\d)\s+(?=[s%](?:\s|$))")
_COMMENT_MARK = re.compile(r"\s*#\s*(\S+)")
_CELL = re.compile(r"(\S+?)(?:/(\d{1,18}))?(?:%|s|[KMG]i?B?|\*)?")  # the star of a step that was saved
_BELOW = re.compile(r"[A-Za-z][\w .-]{0,40}|\([^()]{1,20}\)")  # of a second line of names, or their unit
_CELL_OR_LIST = re.compile(r"\[[^\[\]]*\]|\S+")
_LONG_NAMES = {"#": "step", "e": "epoch"}  # of spaCy
_COUNTERS = {"epoch", "epochs", "ep", "episode", "#", "e", "gen", "generation"}
_PHASES = re.compile(r"(train(?:ing)?)\s+\|\s+(val(?:id(?:ation)?)?|dev|test)", re.IGNORECASE)
_OF_DEEPXDE = ("step", "loss_train", "loss_test", "metrics_test")
# The second line of Vowpal Wabbit's header, and what it means.
_VOWPAL_WABBIT = ["loss", "last", "counter", "weight", "label", "predict", "features"]
_OF_VOWPAL_WABBIT = ("average loss", "loss since last", "samples", "example weight", *_VOWPAL_WABBIT[4:])
_MOST_COLUMNS = 64
_NOTES = {"note", "notes", "comment", "comments", "remarks"}  # the last column, of no word or of several
# The results of an evaluation by detectron2: `copypaste: AP,AP50` above `copypaste: 21.5,41.3`.
_TO_COPY = re.compile(r"\bcopypaste: (?:(?P<task>Task: .*)|(?P<cells>.*,.*))")


class Header(NamedTuple):
    """The names of the columns; ``words`` are all words of the line, if one blank separates two names.
    ``are_in_tuples``: some stand in tuples of Python, as the cells below them do."""

    names: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    are_in_tuples: bool = False

    @property
    def is_of_classes(self) -> bool:
        """Whether each row is of a class of things, and the one called "all" of their mean (Ultralytics)."""
        return self.names[0].lower() == "class"

    def cells(self, text: str) -> list[str]:
        """The cells of a line, as many as there are names if it can be taken apart so; some may be blank."""
        n_names = len(self.names)
        cells = _bordered(text) or text.split()
        if len(cells) < n_names:  # blanks separate cells within borders, too
            framed = _within_borders(text)
            cells = framed if len(framed) == n_names else text.replace("|", " ").split()
        if len(cells) > n_names:
            cells = _BLANK_BEFORE_UNIT.sub("", text).split()
        if len(cells) > n_names and cells[0] == "#":
            cells = cells[1:]
        if self.words and self.words[-1].lower() in _NOTES:
            cells = cells[:n_names]
        if len(cells) == n_names + 1 and all(map(str.isdecimal, cells[:2])):
            return cells[1:]  # the index that pandas prints before each row, which begins with a count
        return cells

    def joined(self, text: str) -> Header | None:
        """The header with the second line of its names, which has borders and says no more of what counts;
        None for any other line. What stands in brackets is a unit."""
        below = _within_borders(text) if len(self.names) > 2 else []
        are_words = any(below) and all(_BELOW.fullmatch(cell) for cell in below if cell)
        if not are_words or len(below) != len(self.names) or below[0]:
            return None
        both = zip(self.names, below, strict=True)
        names = tuple(name if cell[:1] in ("(", "") else f"{name} {cell}" for name, cell in both)
        return self._replace(names=names, words=names)

    def of_row(self, cells: Sequence[str], text: str) -> Header:
        """The header with a name for each cell of a row, if it may be read so, else as it is."""
        if self.names == _OF_DEEPXDE and len(cells) > len(self.names):
            return Header(_names_of_deepxde(cells))
        return self._replace(names=self.words) if len(cells) == len(self.words) and "|" not in text else self


class Table:
    """The table that may be under way. If its columns are phases, each row is one metric (AllenNLP)."""

    def __init__(self) -> None:
        self._header = Header()
        self._other_header = Header()  # of the table before, if two of them alternate
        self._phases: tuple[str, ...] = ()
        self._has_rows = False  # under this header
        self._last_cells: list[str] = []
        self._unfinished = "", list[Pair]()  # the first cell of a row whose bar is cut, and it
        self._task, self._to_copy = "", list[str]()  # of an evaluation by detectron2, and its names

    @property
    def layout(self) -> tuple[object, ...]:
        """All that decides how a row is read."""
        return self._header, self._phases

    def read(self, text: str) -> list[Pair] | None:
        """The pairs of a row, [] for a header or a row that says nothing new; None for any other line."""
        if "copypaste: " in text and (match := _TO_COPY.search(text)):
            return self._row_to_copy(match)
        if not self._has_rows and (joined := self._header.joined(text)):
            self._header = joined
            return []
        header = self._header
        row = self._read_row(text)
        if row is None and self._other_header.names:  # the other table goes on, its header was lost
            self._header, self._other_header = self._other_header, header
            row = self._read_row(text)
            if row is None:
                self._header, self._other_header = header, self._header
        elif header.names and self._header.names != header.names:
            self._other_header = header
        return row

    def _row_to_copy(self, match: re.Match[str]) -> list[Pair]:
        """The results of an evaluation under the names in the line before; [] for that of the names."""
        if match["task"]:
            self._task = match["task"].removeprefix("Task: ").strip()
            return []
        cells = match["cells"].split(",")
        values = [value for value in map(number, cells) if value is not None]
        if not values:
            self._to_copy = cells
        named = zip(self._to_copy, values, strict=True) if len(values) == len(self._to_copy) else ()
        return [Pair(f"val/{self._task}/{name}", value) for name, value in named]

    def _read_row(self, text: str) -> list[Pair] | None:
        bar = _BAR.search(text) if "%" in text else None
        under_way = bar is not None and bar[1] != "100"
        text = text[: bar.start()] if bar else text
        if self._header.are_in_tuples:
            text = _out_of_tuples(text)
        if names := header(text):
            words = tuple(text.split())
            names = names[:-1] if names[-1].lower() in _NOTES and len(names) > 2 else names
            in_tuples = _out_of_tuples(text) != text
            self._header = Header(names, words if len(words) > len(names) else names, in_tuples)
            self._has_rows = False
            return []
        if (row := self._row_of_phases(text)) is not None or not self._header.names:
            return row
        return self._row_under_header(text, under_way=under_way)

    def _row_under_header(self, text: str, *, under_way: bool) -> list[Pair] | None:
        """The pairs of a row of as many cells as the header has names, [] if it says nothing new or its bar
        is still ``under_way``; None for any other line."""
        cut = _CUT_BAR.search(text)
        if cut and len(text[: cut.start()].split()) == len(self._header.names):
            under_way, text = not "100".startswith(cut[1] or "-"), text[: cut.start()]
        cells = self._header.cells(text)
        self._header = self._header.of_row(cells, text)
        names = self._header.names
        if len(cells) != len(names) and "[" in text:
            names, cells = _without_lists(names, text)
        if len(cells) != len(names):
            return None
        row = [pair for name, cell in zip(names, cells, strict=True) if (pair := pair_of(name, cell))]
        counts_first = bool(row) and row[0].name == names[0]
        n_cells = len([cell for cell in cells if cell])
        if len(row) < max(2, n_cells / 2) or counts_first == self._header.is_of_classes:
            return None
        self._has_rows = True
        row[1:1] = _sums(row, self._header.words)
        if not under_way:
            return self._finished(cells, row)
        if not counts_first or cut is None or cut[1]:
            return []
        # A row whose bar is cut may be redrawn; the last row of the count before is finished now.
        (first_cell, before), self._unfinished = self._unfinished, (cells[0], row)
        return before if first_cell != cells[0] else []

    def _finished(self, cells: list[str], row: list[Pair]) -> list[Pair]:
        """The pairs of a row; nothing if it is printed again, or of one class of many."""
        of_classes = self._header.is_of_classes
        if cells == self._last_cells or (of_classes and cells[0] != "all"):
            return []
        self._last_cells, self._unfinished = cells, self._unfinished if of_classes else ("", [])
        return row

    def _row_of_phases(self, text: str) -> list[Pair] | None:
        """The pairs of a row whose columns are phases, [] for their header; None for any other line."""
        if phases := _PHASES.fullmatch(text.strip()):
            self._phases = phases.groups()
            return []
        cells = _bordered(text) if self._phases else []
        if len(cells) != 1 + len(self._phases):
            return None
        named = zip(self._phases, cells[1:], strict=True)
        return [pair for phase, cell in named if (pair := pair_of(f"{phase} {cells[0]}", cell))]


def _bordered(text: str) -> list[str]:
    """The cells of a line between borders; [] where it has none."""
    return [cell.strip() for cell in text.strip("| ").split("|")] if "|" in text else []


def _within_borders(text: str) -> list[str]:
    """The cells of a line that borders begin and end, also blank ones; [] for any other line."""
    is_framed = len(text) > 1 and text[0] == text[-1] == "|"
    return [cell.strip() for cell in text[1:-1].split("|")] if is_framed else []


def header(text: str) -> tuple[str, ...]:
    """The names of the columns, if a line is a header; else ()."""
    if not _HEADER.match(text) or ": " in text or "=" in text:
        return ()
    if text.split() == _VOWPAL_WABBIT:
        return _OF_VOWPAL_WABBIT
    text = _out_of_tuples(text)
    if (mark := _COMMENT_MARK.match(text)) and ("," in text or names_counter(mark[1])):
        text = text[mark.start(1) :]
    cells = [name for cell in _bordered(text) or [text.strip()] for name in _GAP.split(cell)]
    names = cells if len(cells) > 1 else text.split()
    if mark and "," in text:  # of numpy's `savetxt`, above rows of blanks
        names = [name.strip() for name in text.split(",")]
    names = [_LONG_NAMES.get(name.lower(), name) for name in names] if "#" in names else names
    names = _out_of_brackets(names)
    are_names = all(_COLUMN.fullmatch(name) and number(name) is None for name in names)
    if not are_names or not 2 <= len(names) <= _MOST_COLUMNS:
        return ()
    return tuple(names) if any(map(names_counter, names[:2])) or names[0].lower() == "class" else ()


def _out_of_tuples(text: str) -> str:
    """The line without the brackets and commas of tuples in it: `1 (a, b) (c, d)` gives `1 a b c d`."""
    return _TUPLE.sub(lambda match: re.sub(r",\s*", " ", match[1]), text) if "(" in text else text


def _out_of_brackets(names: list[str]) -> list[str]:
    """The names of columns that stand in brackets behind that of their group, as in `Box(P  R  mAP50)` of
    Ultralytics; with its name where there are several groups."""
    opening = [name.count("(") > name.count(")") for name in names]
    group, within = "", list[str]()
    for name, begins in zip(names, opening, strict=True):
        group, name = name.split("(", 1) if begins else (group, name)
        is_last = bool(group) and name.count(")") > name.count("(")
        within.append(f"{group} " * (sum(opening) > 1 and bool(group)) + name.removesuffix(")" * is_last))
        group = "" if is_last else group
    return within


def names_counter(name: str) -> bool:
    """Whether a column of this name counts steps or epochs."""
    name = name.lower()
    return name in _COUNTERS or step_rank(name) is not None


def pair_of(name: str, cell: str) -> Pair | None:
    """A cell under a name; None where it is no number, and of a count where it has the unit of a time: the
    nine of spades (`9s`) is a class of cards."""
    match = _CELL.fullmatch(cell) if not (cell.endswith("s") and names_counter(name)) else None
    value = number(match[1].replace(",", "")) if match else None
    return Pair(name, value, int((match and match[2]) or 0)) if value is not None else None


def _without_lists(names: Sequence[str], text: str) -> tuple[tuple[str, ...], list[str]]:
    """The names and cells of a row in which some cells are lists: each number of them is a column."""
    lists = [match.strip("[]").replace(",", " ").split() for match in _CELL_OR_LIST.findall(text)]
    if len(lists) != len(names):
        return tuple(names), []
    spread = [
        (f"{name}/{i}" if len(cells) > 1 else name, cell)
        for name, cells in zip(names, lists, strict=True)
        for i, cell in enumerate(cells, 1)
    ]
    return tuple(name for name, _ in spread), [cell for _, cell in spread]


def _sums(row: Sequence[Pair], words: Sequence[str]) -> list[Pair]:
    """The losses of a row that gives each as a list of its weighted parts, as DeepXDE does: what is minimised
    is their sum. ``words``: those of the header, whose own columns are no parts of such a list."""
    spread = [pair for pair in row if "loss" in pair.name.lower() and pair.name not in words]
    parts = gathered((name, pair.value) for pair in spread if (name := pair.name.rpartition("/")[0]))
    return [Pair(name, sum(values)) for name, values in parts.items()]


def _names_of_deepxde(cells: Sequence[str]) -> tuple[str, ...]:
    """The names of the cells of DeepXDE's `loss.dat`, whose header only names groups of them: losses of the
    training, as many of the test (so many that both are most similar), then metrics. A test is 0 of what only
    the training measures, as conditions at the boundary are."""
    values = [abs(number(cell) or 0.0) for cell in cells[1:]]

    def distance(n: int) -> float:
        both = zip(values[:n], values[n : 2 * n], strict=True)
        ratios = [(train or 1.0) / test for train, test in both if test]
        return sum(abs(math.log(ratio)) for ratio in ratios) / len(ratios) if ratios else math.inf

    n_losses = min(range(1, len(values) // 2 + 1), key=distance)
    groups = zip(_OF_DEEPXDE[1:], (n_losses, n_losses, len(values) - 2 * n_losses), strict=True)
    return (_OF_DEEPXDE[0], *(f"{name}/{i + 1}" if n > 1 else name for name, n in groups for i in range(n)))


_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_NO_VALUES = (None, "None", "Value")
_FEWEST_LISTED, _MOST_LISTED, _LONGEST = 3, 500, 1000


def listed_settings(lines: Iterable[str]) -> dict[str, Any]:
    """The settings that a log lists before its first measurement, three or more on end, mostly one a line
    (``seed: 7``, ``| seed | 7 |``, ``"seed": 7,``), with rules, blank lines and headings between them. What
    is logged again with another value is none."""
    settings, again, run = dict[str, Any](), set[str](), list[tuple[str, str]]()
    for line in (*islice(lines, _MOST_LISTED), "the end"):
        text = line[:_LONGEST].strip()
        words = without_frames(text)
        listed = settings_in(words, framed=text.startswith("|"))
        names = [pair.name for pair in pairs_in(words)]
        is_measured = any(map(is_result, names))
        if listed is not None and not is_measured:
            run += listed
        elif is_measured or re.search(r"\w", words):
            in_block = is_measured and len(names) == 1  # of measurements, each in a line of its own
            for name, text in run if len(run) >= _FEWEST_LISTED and not in_block else ():
                value = scalar(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
                if value not in _NO_VALUES and settings.setdefault(name, value) != value:
                    again.add(name)
            run = []
            if is_measured:
                break
    return {name: value for name, value in settings.items() if name not in again}


# --- rows without names ---
_BARE_CELL = re.compile(
    r"(?P<p>\d{1,9}/\d{1,9})|(?P<g>[\d.]{1,9}[MG])|(?P<d>\d{4}-\d\d-\d\d)|(?P<t>\d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?P<i>\d{1,15})|(?P<f>[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[-+]?\d{1,3})?|-?nan|-?inf)",
    re.IGNORECASE,
)
# The columns that trainers in wide use print without names, as published in their source: the kinds of all
# cells ("n" is a whole or a decimal number), and the names; "-" is left out.
# fmt: off
_COLUMN_ORDERS = tuple((re.compile(kinds.replace("n", "[if]")), names) for kinds, names in (
    (r"\[if", ("step", "lr")),  # RVC, which names its losses in the line below
    *((rf"\[n{{{n}}}if", (*names, "step", "lr")) for n, names in LOSSES_OF_VITS.items()),
    (r"ifffdti", ("epoch", "loss", "ppl", "lr", "-", "-", "-")),  # RWKV-LM
    # results.txt of YOLOv5 to v7, named as in results.csv of its successors
    (r"pgn{4}iin{7}", ("epoch", "-", "train/box_loss", "train/obj_loss", "train/cls_loss", "train/loss", "-",
     "-", "metrics/precision", "metrics/recall", "metrics/mAP_0.5", "metrics/mAP_0.5-0.95", "val/box_loss",
     "val/obj_loss", "val/cls_loss")),
))
# fmt: on
_HIGHEST_RATE, _ROUNDING = 2e-3, 0.01  # of these trainers; of sums


def row_without_names(text: str) -> list[Pair]:
    """The pairs of a line that is a row of cells, in a list or separated by blanks. [] where no published
    order fits, the learning rate is not small, or the perplexity is not the exponential of the loss."""
    text = text.strip()
    if not text[:1].isdecimal() and text[:1] != "[":
        return []
    is_list = text[0] == "[" and text[-1] == "]"
    cells = text.strip("[]").replace(",", " " if is_list else ",").split()
    matches = [_BARE_CELL.fullmatch(cell) for cell in cells]
    if len(cells) < 2 or None in matches:
        return []
    kinds = "[" * is_list + "".join(match.lastgroup or "" for match in matches if match)
    values = [number(re.sub(r"/\d+$|[MG]$", "", cell)) or 0.0 for cell in cells]
    published = next((names for order, names in _COLUMN_ORDERS if order.fullmatch(kinds)), ())
    if not (names := published or _names_of_yolo(kinds, values)):
        return []
    ends = [int(cell.rpartition("/")[2]) if "/" in cell else 0 for cell in cells]
    row = [Pair(*cell) for cell in zip(names, values, ends, strict=True) if cell[0] != "-"]
    by_name = {pair.name: pair.value for pair in row}
    perplexity = by_name.get("ppl", math.nan)
    difference = abs(math.exp(min(by_name.get("loss", 0.0), 700.0)) - perplexity)
    is_wrong = difference > _ROUNDING * perplexity or not 0 <= by_name.get("lr", 0.0) <= _HIGHEST_RATE
    return [] if is_wrong else row


def _names_of_yolo(kinds: str, values: Sequence[float]) -> Sequence[str]:
    """The names in a row of YOLO with other columns than the published ones, [] for any other row: the total
    is the sum of the cells before it, and two whole numbers (boxes and pixels) follow it."""
    for at in reversed(range(4, len(values) - 4) if kinds.startswith("pg") else ()):
        total = sum(values[2:at])
        if kinds[at + 1 : at + 3] == "ii" and not abs(total - values[at]) > _ROUNDING * abs(total):
            parts = [f"train/loss_{i}" for i in range(1, at - 1)]
            others = [f"column {i + 1}" for i in range(at + 3, len(values))]
            return ["epoch", "-", *parts, "train/loss", "-", "-", *others]
    return []


def pairs_in(text: str) -> list[Pair]:
    """All pairs of a line, in order; also those of a row without names."""
    return row_without_names(text) or pairs(text)
