"""Lines that are read as lines before them say: rows under the header of a table, and lines of one shape.

A trainer prints one shape of line again and again, with other digits. The slow way (`chunks.split`,
`pairs.pairs`) reads the first one, and again with each run of digits changed. A run that changes a number is
part of it, one that changes nothing (a clock, the time that is left) is free, and one that changes anything
else (``top5``) has to stay. The numbers of further lines are then cut out, clocks and ranks too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import isfinite
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from chronicle.model import Floats, Steps
from chronicle.readers.columns import number
from chronicle.readers.console.chunks import NAN, begin, seconds_in, time_in
from chronicle.readers.console.pairs import Pair, counts
from chronicle.readers.step_axis import step_rank

LOOKED_AT = 1000  # bytes of a line that the slow way looks at
LONGEST = 900  # bytes of a line that is learned, for numbers may grow
FEWEST = 16  # lines of a shape before it is learned
_PROBES = 8  # lines of many that are asked for their shape
_MOST_SHAPES, _MOST_FORMS = 1 << 14, 8  # shapes that are kept at once; forms that differ in literal digits
_MOST_WHOLE, _MOST_DECIMALS = 9, 17  # digits that a part of a number may have
_LIKE = bytes(48 if 48 <= byte < 58 else byte for byte in range(256))
# Digits of their own for each digit, none of them 0, in two ways.
_OTHERS = tuple(bytes.maketrans(b"0123456789", others) for others in (b"1234567891", b"3456789215"))
_RUN = re.compile(rb"\d+")
_NUMBER = re.compile(rb"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)")
_FIVE = ord("5")
_DECIMAL_COMMA = re.compile(rb"(?<!\d)0,\d")  # among numbers whose commas part thousands

_VALUE, _OF = "value", "of"  # of a pair

Span = tuple[int, int]
_Owner = tuple[str, int] | None | bytes  # the number of a pair; what changes nothing; digits that stay


class Words(NamedTuple):
    """What a line says beside its numbers: the word of an evaluation; "saved" or "loaded" of a checkpoint,
    or what begins with it; of which training it is, as ``fold 3``."""

    evaluation: str = ""
    event: str = ""
    trial: str = ""


class Form:
    """What records with the same names have in common. ``words`` are that of an evaluation and that of an
    event ("saved", "loaded", "launch"). ``epoch`` is where epochs are counted (-1: nowhere), ``ranked`` what
    counts steps: rank, place and name, the best first. ``kept``: by counter, where the others stand."""

    Ranked = Sequence[tuple[int, int, str]]

    def __init__(self, names: tuple[str, ...], words: Words, epoch: int, ranked: Ranked) -> None:
        self.names, self.words, self.epoch, self.ranked = names, words, epoch, ranked
        self.evaluation, self.event, self.trial = words
        self.n_counters = len(ranked) + (epoch >= 0)
        self.kept: dict[str, dict[str, int]] = {}


class Reading(NamedTuple):
    """The numbers of a line, by the names of the form; ``ends`` are what some of them count up to, by place.
    ``who`` is the rank that printed the line, ``at`` where its words begin."""

    form: Form
    values: Sequence[float]
    ends: Mapping[int, int]
    who: str = ""
    at: int = 0
    time: float = NAN

    @property
    def kind(self) -> tuple[object, ...]:
        """All but the numbers."""
        return self.form.names, self.form.words, self.ends.keys(), self.who, self.at


class _Token(NamedTuple):
    """A number: of which pair, its first and last run of digits, and where it stands."""

    pair: int
    first: int
    last: int
    span: Span


@dataclass(frozen=True, eq=False)
class Learned:
    """What the slow way says of the first line of a shape, and how others of it are read. ``clock`` is where
    the seconds stand, see `chunks.seconds_in`. ``pattern`` has a group for each number: the value of a pair,
    or what it counts up to, as ``groups`` tell. ``commas`` keep thousands apart."""

    reading: Reading
    clock: tuple[int, ...] | None
    pattern: re.Pattern[bytes]
    groups: tuple[tuple[str, int], ...]
    commas: bool

    def match(self, raw: bytes) -> re.Match[bytes] | None:
        """The numbers of a line of this shape; None for any other line."""
        match = self.pattern.fullmatch(raw)
        return None if match and self.commas and _DECIMAL_COMMA.search(raw) else match

    def reading_of(self, match: re.Match[bytes]) -> Reading:
        """The numbers of a matched line, as the full parser would read them."""
        form, values, _, who, at, _ = self.reading
        values, ends = list(values), {}  # what stands in no digits, as NaN, stays
        for (kind, pair), text in zip(self.groups, match.groups(), strict=True):
            if kind == _OF:
                ends[pair] = int(text)
            else:
                values[pair] = float(text.replace(b",", b"_") if self.commas else text)
        return Reading(form, values, ends, who, at, self.time(match.string))

    def time(self, raw: bytes) -> float:
        """The time that a line of this shape tells; NaN unknown."""
        at = self.reading.at
        return _time(raw[:at], self.clock) if at and self.clock != () else NAN

    def columns(self, matches: Sequence[re.Match[bytes]]) -> tuple[dict[int, Floats], dict[int, Steps]]:
        """The values of many lines, and what they count up to, by place, but for what has no digits."""
        values, ends = dict[int, Floats](), dict[int, Steps]()
        texts = zip(*(match.groups() for match in matches), strict=True)
        for (kind, pair), column in zip(self.groups, texts, strict=True):
            if kind == _OF:
                ends[pair] = np.array(list(map(int, column)))
            else:
                parted = (text.replace(b",", b"_") for text in column) if self.commas else column
                values[pair] = np.array(list(map(float, parted)))
        return values, ends


class Shapes:
    """The shapes of the lines of one log. ``read`` is the slow way: None for what it cannot say alone."""

    def __init__(self, read: Callable[[str], Reading | None]) -> None:
        self._read = read
        self._of_shape: dict[bytes, list[Learned | None]] = {}
        self._learned: dict[bytes, list[Learned | None]] = {}
        self._seen = Counter[bytes]()

    def reading(self, raw: bytes) -> Reading | None:
        """The numbers of a line; None where the slow way has to read it."""
        alike = self._alike(raw)
        for learned in alike or ():
            if learned and (match := learned.match(raw)):
                return learned.reading_of(match)
        if alike is None or len(alike) >= _MOST_FORMS:
            return None
        alike.append(new := _learn(raw, [match.span() for match in _RUN.finditer(raw)], self._read))
        match = new.match(raw) if new else None
        return new.reading_of(match) if new and match else None

    def common(self, lines: Sequence[bytes]) -> Learned | None:
        """A shape that many of these lines have."""
        probes = (self._of_shape.get(raw.translate(_LIKE)) for raw in lines[:: len(lines) // _PROBES + 1])
        some = Counter(alike[0] for alike in probes if alike)
        learned, n = max(some.items(), key=itemgetter(1), default=(None, 0))
        return learned if n > 1 else None

    def _alike(self, raw: bytes) -> list[Learned | None] | None:
        """How lines with other digits than this one are read; None until a few of them have come."""
        shape = raw.translate(_LIKE)
        if (alike := self._of_shape.get(shape)) is not None or len(raw) > LOOKED_AT:
            return alike
        if max(len(self._of_shape), len(self._seen)) >= _MOST_SHAPES:
            for kept in (self._of_shape, self._learned, self._seen):
                kept.clear()
        collapsed = shape
        while b"00" in collapsed:
            collapsed = collapsed.replace(b"00", b"0")
        alike = self._learned.get(collapsed)
        if alike is not None:
            self._of_shape[shape] = alike
        elif len(raw) <= LONGEST:
            self._seen[collapsed] += 1
            if self._seen[collapsed] >= FEWEST:
                self._learned[collapsed] = []
        return alike


def _time(prefix: bytes, clock: tuple[int, ...] | None) -> float:
    """The time that a prefix tells. That of a minute is kept for all its seconds, which are below 60."""
    if clock is None or prefix[clock[0]] > _FIVE:
        return time_in(prefix.decode())
    start, end, begin, fraction = clock
    minute = _minute(prefix[:start], prefix[fraction:])
    return minute + int(prefix[start:end]) + float(b"0." + prefix[begin:fraction] + b"0")


@lru_cache(maxsize=1 << 10)
def _minute(before: bytes, behind: bytes) -> float:
    return time_in((before + b"00" + behind).decode())


def _learn(raw: bytes, runs: Sequence[Span], read: Callable[[str], Reading | None]) -> Learned | None:
    """What the runs of digits of a line are; None where they cannot be told apart."""
    reading = read(raw.decode())
    owners = [_owner(raw, span, reading, read) for span in runs] if reading else []
    if reading is None or not raw[: reading.at].isascii() or any(isinstance(owner, set) for owner in owners):
        return None
    tokens = [_token(raw, runs, i, owners, reading) for i, v in enumerate(reading.values) if isfinite(v)]
    ends = {run: owner for run, owner in enumerate(owners) if isinstance(owner, tuple) and owner[0] == _OF}
    as_long = [rb"\d{%d}" % (end - start) for start, end in runs]
    limits = [own if isinstance(own, bytes) else n for own, n in zip(owners, as_long, strict=True)]
    groups, parted = {runs[run]: owner for run, owner in ends.items()}, False
    for token in tokens:
        if token is None:
            return None
        groups[token.span] = _VALUE, token.pair
        commas = b"," in raw[slice(*token.span)]
        parted |= commas
        for run in range(token.first, token.last + 1):
            if owners[run] not in (None, (_VALUE, token.pair)):
                return None
            decimals = raw[runs[run][0] - 1 : runs[run][0]] == b"."
            if not commas and (decimals or run == token.first):  # it is no exponent
                limits[run] = rb"\d{1,%d}" % (_MOST_DECIMALS if decimals else _MOST_WHOLE)
    if {pair for _, pair in ends.values()} != reading.ends.keys():
        return None
    in_order = dict(sorted(groups.items()))
    pattern = re.compile(_written(raw, dict(zip(runs, limits, strict=True)), in_order))
    clock = seconds_in(raw[: reading.at].decode())
    return Learned(reading, clock, pattern, tuple(in_order.values()), parted)


def _written(raw: bytes, limits: Mapping[Span, bytes], groups: Iterable[Span]) -> bytes:
    """The pattern of a line: its own bytes, but for its runs of digits, with groups around its numbers."""
    parts = [re.escape(raw[at : at + 1]) for at in range(len(raw))]
    for (start, end), limit in limits.items():
        parts[start:end] = [limit, *[b""] * (end - start - 1)]
    for start, end in groups:
        parts[start] = b"(" + parts[start]
        parts[end - 1] += b")"
    return b"".join(parts)


def _owner(
    raw: bytes, span: Span, reading: Reading, read: Callable[[str], Reading | None]
) -> _Owner | set[tuple[str, int]]:
    """What a run of digits is, by what the line says with others in its place; a set for several things."""
    start, end = span
    changed = set[tuple[str, int]]()
    for table in _OTHERS:
        text = (raw[:start] + raw[start:end].translate(table) + raw[end:]).decode()
        if end <= reading.at and begin(text) == (reading.who, reading.at):  # the words are the same
            continue
        other = read(text)
        if other is None or other.kind != reading.kind:
            return raw[start:end]
        both = enumerate(zip(reading.values, other.values, strict=True))
        changed |= {(_VALUE, i) for i, (value, two) in both if repr(value) != repr(two)}
        changed |= {(_OF, i) for i, of in reading.ends.items() if of != other.ends[i]}
    return changed if len(changed) > 1 else next(iter(changed), None)


def _token(raw: bytes, runs: Sequence[Span], pair: int, owners: list[Any], reading: Reading) -> _Token | None:
    """The number of a pair; None where the runs that change it are not all of it, or it may count or not."""
    own = [run for run, owner in enumerate(owners) if owner == (_VALUE, pair)]
    first = runs[own[0]][0] if own else 0
    lowest = first - 1 if raw[first - 1 : first] == b"." else first
    for start in (lowest, lowest - 1) if own else ():
        match = _NUMBER.match(raw, start) if start >= 0 else None
        if match and repr(float(match[0].replace(b",", b""))) == repr(reading.values[pair]):
            inside = [run for run, (low, high) in enumerate(runs) if start <= low and high <= match.end()]
            counter = pair in reading.ends or reading.form.names[pair] in (n for *_, n in reading.form.ranked)
            if not set(own) <= set(inside) or (counter and not match[0].isdigit()):
                return None
            return _Token(pair, inside[0], inside[-1], match.span())
    return None


# --- tables ---

_BORDERS = re.compile(r"[|│┃║]")
_BAR = re.compile(r":\s+(\d{1,3})%\|?.*$")  # a bar behind the last cell of a row
_CUT_BAR = re.compile(r":(?:\s+(\d{1,3}))?$")  # the same, of which a narrow terminal left the beginning
_HEAD = re.compile(r"[^\w\n]{0,24}(?:epochs?|steps?|iter(?:ation)?s?|e|class|loss +last)\b", re.IGNORECASE)
_COLUMN = re.compile(r"#|[^\W\d](?:[^|:=]|:(?=\.)){0,40}")
_GAP, _UNIT_APART = re.compile(r"\s{2,}|\t"), re.compile(r"(?<=\d)\s+(?=[s%](?:\s|$))")
_HEADS = {"#": "step", "e": "epoch"}  # of spaCy
_PHASES = re.compile(r"(train(?:ing)?)\s+\|\s+(val(?:id(?:ation)?)?|dev|test)", re.IGNORECASE)
_OF_DEEPXDE = ("step", "loss_train", "loss_test", "metrics_test")
# Vowpal Wabbit's header has two lines, of which this is the second.
_OF_VOWPAL_WABBIT: dict[tuple[str, ...], tuple[str, ...]] = {
    ("loss", "last", "counter", "weight", "label", "predict", "features"): (
        "average loss", "loss since last", "samples", "example weight", "label", "predict", "features",
    ),
}  # fmt: skip
_MOST_COLUMNS = 64


class Table:
    """A table that may be under way: the names of its columns, and the row that was read last; or its columns
    are the training and the validation, and each row is one metric (AllenNLP)."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._phases: tuple[str, ...] = ()
        self._words: tuple[str, ...] = ()  # the names, if a single blank parts two of them
        self._other: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())  # of the table before, if another
        self._last: list[str] = []
        self._open: tuple[str, list[Pair]] = ("", [])  # the row whose bar is cut, and its first cell
        self._groups = Groups()

    @property
    def layout(self) -> tuple[object, ...]:
        """All that says how a row is to be read."""
        return self.names, self._phases, self._words, self._groups

    def read(self, text: str) -> list[Pair] | None:
        """The pairs of a row, [] for a header or a row that says nothing new; None for any other line."""
        names = (self.names, self._words)
        row = self._read_row(text)
        if row is None and self._other[0]:  # two tables that alternate, and a terminal has lost a header
            (self.names, self._words), self._other = self._other, names
            if (row := self._read_row(text)) is None:
                (self.names, self._words), self._other = names, (self.names, self._words)
        elif names[0] and self.names != names[0]:
            self._other = names
        return row

    def _read_row(self, text: str) -> list[Pair] | None:
        bar = _BAR.search(text) if "%" in text else None
        under_way = bar is not None and bar[1] != "100"
        text = text[: bar.start()] if bar else text
        if "|" in text and (in_groups := self._groups.read(text)):
            self._groups = in_groups[0]
            self.names = tuple(name for group in self._groups.names for name in group)
            return in_groups[1]
        if names := header(text):
            words = tuple(text.split())
            self.names, self._words = names, words if len(words) > len(names) else names
            return []
        if (row := self._of_phases(text)) is not None or not self.names:
            return row
        cut = _CUT_BAR.search(text)
        if cut and len(text[: cut.start()].split()) == len(self.names):
            under_way, text = not "100".startswith(cut[1] or "-"), text[: cut.start()]
        cells = _bordered(text) or text.split()
        cells = cells if len(cells) <= len(self.names) else _UNIT_APART.sub("", text).split()
        cells = cells[len(cells) > len(self.names) and cells[0] == "#" :]
        if self.names == _OF_DEEPXDE and len(cells) > len(self.names):
            self.names = _spread(cells)
        if len(cells) == len(self._words) and not _BORDERS.search(text):
            self.names = self._words
        if len(cells) != len(self.names):
            return None
        row = [pair for name, cell in zip(self.names, cells, strict=True) if (pair := cell_of(name, cell))]
        of_class = self.names[0].lower() == "class"
        counts_first = bool(row) and row[0].name == self.names[0]
        if len(row) < max(2, len(cells) / 2) or counts_first == of_class:
            return None
        is_cut = cut is not None and not cut[1]
        return self._told(cells, row, counts_first and is_cut) if under_way else self._told(cells, row)

    def _told(self, cells: list[str], row: list[Pair], is_cut: bool | None = None) -> list[Pair]:
        """What a row tells: itself, if its bar is full or it has none; nothing, if that is not new. If its
        bar ``is_cut``, nobody knows whether it was full: the last such row of what was counted before."""
        of_class = self.names[0].lower() == "class"
        if is_cut:
            (key, before), self._open = self._open, (cells[0], row)
            return before if key != cells[0] else []
        if is_cut is not None or cells == self._last or (of_class and cells[0] != "all"):
            return []
        self._last, self._open = cells, self._open if of_class else ("", [])
        return row

    def _of_phases(self, text: str) -> list[Pair] | None:
        """The pairs of a row whose columns are phases, [] for their header; None for any other line."""
        if phases := _PHASES.fullmatch(text.strip()):
            self._phases = phases.groups()
            return []
        cells = _bordered(text) if self._phases else []
        if len(cells) != 1 + len(self._phases):
            return None
        named = zip(self._phases, cells[1:], strict=True)
        return [pair for phase, cell in named if (pair := cell_of(f"{phase} {cells[0]}", cell))]


def _bordered(text: str) -> list[str]:
    """The cells of a line between borders; [] where it has none."""
    return [cell.strip() for cell in _BORDERS.split(text.strip("|│┃║ "))] if _BORDERS.search(text) else []


def header(text: str) -> tuple[str, ...]:
    """The names of the columns in a header, one of the first two of which counts; () for any other line."""
    if not _HEAD.match(text) or ": " in text or "=" in text:
        return ()
    cells = _bordered(text) or _GAP.split(text.strip())
    names = cells if len(cells) > 1 else text.split()
    if text.startswith("# ") and "," in text:  # of numpy's `savetxt`, above rows that blanks part
        names = [name.strip() for name in text[2:].split(",")]
    names = names[len(names) > 2 and names[0] == "#" and names_what_counts(names[1]) :]
    names = [_HEADS.get(name.lower(), name) for name in names] if "#" in names else names
    if columns := _OF_VOWPAL_WABBIT.get(tuple(text.split())):
        return columns
    named = all(_COLUMN.fullmatch(name) and number(name) is None for name in names)
    if not named or not 2 <= len(names) <= _MOST_COLUMNS:
        return ()
    return tuple(names) if any(map(names_what_counts, names[:2])) or names[0].lower() == "class" else ()


def _spread(cells: Sequence[str]) -> tuple[str, ...]:
    """The names of the cells of DeepXDE's `loss.dat`, whose header names groups alone: losses of the
    training, as many of the test, then metrics. The number of losses is the one at which both are nearest."""
    values = [abs(number(cell) or 0.0) or 1.0 for cell in cells[1:]]

    def apart(n: int) -> float:
        both = zip(values[:n], values[n : 2 * n], strict=True)
        return sum(abs(math.log(one / two)) for one, two in both) / n

    n_losses = min(range(1, len(values) // 2 + 1), key=apart)
    sizes = (n_losses, n_losses, len(values) - 2 * n_losses)
    groups = zip(_OF_DEEPXDE[1:], sizes, strict=True)
    return (_OF_DEEPXDE[0], *(f"{name}/{i + 1}" if n > 1 else name for name, n in groups for i in range(n)))


# --- rows under two lines of names ---

_OUTSIDE = {"rate": "learning rate"}  # of all groups, beside what counts
_OF_GROUP = re.compile(r"\s*(?:-{3,}\s*([A-Za-z]\w*)(?:/\w+)?\s*-{3,})?\s*")


class Groups(NamedTuple):
    """A table with bars between groups of columns, as ``|---- VALID ----|`` calls them in a line of its own.
    ``names`` are those of the columns, by group, from the line below it."""

    group_names: Sequence[str] = ()
    names: Sequence[Sequence[str]] = ()

    def read(self, text: str) -> tuple[Groups, list[Pair]] | None:
        """The table behind a line with bars, and the pairs of a row, [] for a header; None for any other."""
        pieces = text.split("|")
        if "---" in text:
            names = [match[1] or "" for piece in pieces if (match := _OF_GROUP.fullmatch(piece))]
            return (Groups(names), []) if any(names) and len(names) == len(pieces) else None
        if self.group_names:
            groups = [*self.group_names, *[""] * len(pieces)][: len(pieces)]
            named = list[list[str]]()
            for group, piece in zip(groups, map(str.split, pieces), strict=True):
                named.append([f"{group} {name}" if group else _OUTSIDE.get(name, name) for name in piece])
            return (Groups((), named), []) if any(map(names_what_counts, chain(*named))) else None
        return (self, row) if len(pieces) == len(self.names) and (row := self._row(pieces)) else None

    def _row(self, pieces: Sequence[str]) -> list[Pair]:
        """The pairs of a row, without zeros before the first step. One name may stand above several cells."""
        row = list[Pair]()
        for names, piece in zip(self.names, pieces, strict=True):
            cells = piece.split()
            further = [f"{names[0]} ({i})" for i in range(2, len(cells) + 1)] if len(names) == 1 else []
            read = [cell_of(*pair) for pair in zip([*names, *further], cells, strict=False)]
            own = [pair for pair in read if pair] if None not in read else []
            begun = not row or any(pair.value for pair in row if counts(pair))
            row += own if begun or any(pair.value for pair in own) else []
        return row if any(map(counts, row)) else []


def names_what_counts(name: str) -> bool:
    """Whether a column of this name counts steps or epochs."""
    return name.lower() in ("epoch", "epochs", "#", "e") or step_rank(name.lower()) is not None


def cell_of(name: str, cell: str) -> Pair | None:
    """A cell under a name; None where it is no number. A star behind it marks a step that was saved."""
    match = re.fullmatch(r"(\S+?)(?:/(\d{1,18}))?(?:%|s|[KMG]i?B?|\*)?", cell)
    value = number(match[1].replace(",", "")) if match else None
    return Pair(name, value, int((match and match[2]) or 0)) if value is not None else None
