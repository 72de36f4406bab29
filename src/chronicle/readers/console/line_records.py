"""From the lines of any text log to its records: pairs that were told together, and what counts among them.

step 5 | loss: 2.5 | lr 1e-4            one line
Mean reward: 0.67                       a block: each line is one pair, no name comes twice in it
| train/          |        |            a box of two columns; names have their group in front
|    loss         | -0.205 |
epoch  train_loss  valid_loss  time     a table: rows under a header that names a counter
0      1.2005      1.1001      00:32
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from chronicle.metrics.aliases import in_english
from chronicle.metrics.roles import LOSSES, role_of
from chronicle.model import Role
from chronicle.readers.columns import number
from chronicle.readers.console.chunks import begin, time_in
from chronicle.readers.console.line_shapes import Form, Reading, Shapes
from chronicle.readers.console.log import Line
from chronicle.readers.console.pairs import (
    EPOCHS,
    Groups,
    Pair,
    cell_of,
    counts,
    last_word,
    names_what_counts,
    pairs,
    rank_of_name,
)
from chronicle.readers.runs_in_table import OF_BOTH, names_an_evaluation

_EVALUATION = re.compile(
    r"(?<![\w/.\\-])(?:(val|valid|validation|eval|evaluation|test|dev)|(?P<ing>valid|evalu|test)(?:at)?ing)(?![\w/\\-]|\.\w)",
    re.IGNORECASE,
)
_CHECKPOINT = re.compile(
    r"[^\w\n]{0,8}(?:(?:[a-z]+ ){0,3}(?:checkpoint|ckpt|snapshot|model|weights|state)(?: \w+){0,2}? )?"
    r"(?:(?P<saved>saved|saving|written|writing|stored|storing|dumped)"
    r"|(?P<loaded>loaded|loading|restored|restoring|resumed|resuming))\b"
    r"(?=.{0,80}(?:\b|_)(?:checkpoint|ckpt|snapshot|model|weights|state|step|epoch|iter))",
    re.IGNORECASE,
)
# What tells when a training began, by a date in its words: `= Training Loss (Fri Jun  7 09:31:50 2019) =`.
_LAUNCH = re.compile(
    r"[^\w\n]{0,40}(?:(?:start\w*|begin\w*|new|of|the) ){0,3}"
    r"(?:train|(?:fine)?-?tun|run|experiment|job)(?:ing)?\b"
    r"(?!.{0,60}\b(?:end|finish|complet|stop|done|took))[^\d\n]{0,60}"
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4}|\d{1,2})(?:[ ,T]{1,2}\d\d:\d\d:\d\d|[_-]\d\d-\d\d-\d\d)",
    re.IGNORECASE,
)
_TRAINING = re.compile(r"(?<![\w/.\\-])train(?:ing)?(?![\w/.\\-])", re.IGNORECASE)
_SCORES = frozenset({Role.SCORE, Role.VALIDATION_SCORE, Role.OBJECTIVE})
_JUDGED = {*LOSSES} | _SCORES | {Role.GRAD_NORM, Role.LEARNING_RATE}


class Source(NamedTuple):
    """Where a number stands: the line, who printed it ("" unknown), Unix seconds (NaN unknown), its words."""

    line: Line
    who: str
    time: float
    at: int = 0

    @classmethod
    def of(cls, line: Line) -> Source:
        who, at = begin(line.text)
        return cls(line, who, time_in(line.text[:at]), at)

    @property
    def words(self) -> str:
        return self.line.text[self.at :].strip()


class Record:
    """Numbers that were told together, in one line or in a block of lines, each from its source.

    ``shape`` is what records of one kind have in common, ``counters`` is what counts steps in it, from the
    best, ``epoch`` what counts epochs. ``open``: the log ended in the block, of which more may come.
    """

    def __init__(self, reading: Reading, sources: Sequence[Source], *, open: bool = False) -> None:
        form, values, ends, *_ = reading
        self.form, self.values, self.ends, self.sources, self.open = form, values, ends, sources, open
        self.shape, self.evaluation, self.is_block = form.names, form.evaluation, len(sources) > 1
        epoch = form.epoch
        self.epoch = Pair(form.names[epoch], values[epoch], ends.get(epoch, 0)) if epoch >= 0 else None
        self.counters = [
            (rank, Pair(name, value, ends.get(i, 0)))
            for rank, i, name in form.ranked
            if 0 <= (value := values[i]) < 2.0**63 and value == value // 1
        ]

    @property
    def pairs(self) -> list[Pair]:
        """All pairs, in their order."""
        named = zip(self.shape, self.values, strict=True)
        return [Pair(name, value, self.ends.get(i, 0)) for i, (name, value) in enumerate(named)]

    def places(self, counter: str, phases: bool) -> Mapping[str, int]:
        """The places of what it tells but the counter, by name; of equal names the first is meant.

        Where ``phases`` are told apart, what was measured in an evaluation says so in its name.
        """
        named = self.form.kept.get(counter)
        if named is None:
            names = (name for name in dict.fromkeys(self.shape) if name not in (counter, "progress"))
            named = self.form.kept[counter] = {name: self.shape.index(name) for name in names}
        word = self.evaluation if phases else ""
        if not word:
            return named
        # Where one name says that it is of an evaluation, what else is told with it may be of another kind.
        by_name = any(map(names_an_evaluation, named))
        return {
            name if own or role_of(name) in OF_BOTH else f"{word}/{name}": at
            for name, at in named.items()
            if not counts(Pair(name, self.values[at]))
            for own in [
                names_an_evaluation(name) or _TRAINING.search(name) or (by_name and not is_judged(name))
            ]
        }

    def numbers(self, counter: str, phases: bool) -> dict[str, float]:
        """The numbers of `places`."""
        self._places = self.places(counter, phases)
        return {name: self.values[at] for name, at in self._places.items()}

    def by_line(self, numbers: Mapping[str, float]) -> Sequence[tuple[Source, Mapping[str, float]]]:
        """Each source, and what of these ``numbers`` stands in its line."""
        if not self.is_block:
            return ((self.sources[0], numbers),)
        return [(self.sources[self._places[name]], {name: value}) for name, value in numbers.items()]

    @property
    def tells_training(self) -> bool:
        """Whether it holds a metric that trainings are judged by, and of the training itself."""
        return not self.evaluation and any(is_judged(n) and not names_an_evaluation(n) for n in self.shape)

    @property
    def _is_named(self) -> bool:
        return any(pair.name != "progress" for _, pair in self.counters)

    @property
    def measures(self) -> bool:
        """Whether it tells numbers that are no whole ones beside a counter that has a name."""
        return self._is_named and any(value != value // 1 for value in self.values)

    @property
    def is_training(self) -> bool:
        """Whether a trainer tells such things: a known metric, or batches of an epoch.

        A score alone behind a bar is that of a picture after the other.
        """
        if self.epoch is not None and self._is_named:
            return True
        only_a_bar = bool(self.counters) and not self._is_named and self.epoch is None
        return any(is_judged(name) and not (only_a_bar and role_of(name) in _SCORES) for name in self.shape)


@lru_cache(maxsize=4096)
def _form(names: tuple[str, ...], words: tuple[str, str]) -> Form:
    ranks = ((rank_of_name(name), i, name) for i, name in enumerate(names))
    ranked = [(rank, i, name) for rank, i, name in ranks if rank is not None]
    lasts = ["epoch" if last_word(name) in EPOCHS else last_word(name) for name in names]
    outer = ("epoch", "episode")[: 1 + (len(ranked) > 1)]  # of episodes, in which other names count steps
    epoch = next((lasts.index(word) for word in outer if word in lasts), -1)
    return Form(names, words, epoch, sorted(ranked, key=itemgetter(0)))


def _reading(named: Sequence[Pair], text: str = "") -> Reading:
    """Pairs that were told together, in a line of this text."""
    names = tuple(pair.name for pair in named)
    metric = next((pair.name for pair in named if not counts(pair)), "")
    places = (text.find(name) for name in (metric, metric.rpartition("/")[2]) if name)
    before = next((at for at in places if at >= 0), -1)  # what stands behind a metric is said of another one
    evaluation = _evaluation(text[:before] if before > 0 else text) if named else ""
    if not evaluation and _tells_the_best(names):
        evaluation = "val"
    ends = {i: pair.of for i, pair in enumerate(named) if pair.of}
    checkpoint = _CHECKPOINT.match(text) if "progress" not in names else None
    event = checkpoint.lastgroup if checkpoint else "launch" if not named and _LAUNCH.match(text) else ""
    return Reading(_form(names, (evaluation, event or "")), [pair.value for pair in named], ends)


@lru_cache(maxsize=4096)
def _tells_the_best(names: tuple[str, ...]) -> bool:
    """Whether a loss is told beside the best score so far, and nothing counts: that was an evaluation.

    The training tells its losses at its steps: `Loss: 0.9, MeanIU: 0.7, Best_mIoU: 0.7` stands between them.
    """
    words_of = {name: re.split(r"[\s/._]", name.lower()) for name in names}
    best = any("best" in words and role_of(name) in _SCORES for name, words in words_of.items())
    ours = any("train" in words or counts(Pair(name, 0.0)) for name, words in words_of.items())
    return best and not ours and any(role_of(name) in LOSSES for name in names)


def _evaluation(text: str) -> str:
    """The word of an evaluation in a line, where no training is spoken of beside it; else ""."""
    match = _EVALUATION.search(text)
    if not match or _TRAINING.search(text):
        return ""
    ing = (match["ing"] or "").lower()
    return {"evalu": "eval"}.get(ing, ing) or match[0].lower()


@lru_cache(maxsize=4096)
def is_judged(name: str) -> bool:
    """Whether trainings are judged by a metric of this name."""
    return "loss" in name.lower() or role_of(name) in _JUDGED


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Whether a value of this name belongs to a training wherever it stands."""
    return "loss" in name.lower() or role_of(name) is not Role.OTHER


def as_bar(pair: Pair) -> Pair:
    """``Training: 12/100`` as progress: the name is that of a bar. ``Accuracy: 90/100`` stays a metric."""
    is_bar = pair.of and not counts(pair) and not is_known(pair.name)
    return pair._replace(name="progress") if is_bar else pair


# What a line of interest holds: a number after a name, or a rule or header that says how to read others.
MAYBE = re.compile(
    rb"[A-Za-z_)%\]|\x80-\xff][^\w\n]{0,24}[-+.]?\d|\d/\d|\b(?:nan|inf)\b|^\W{0,24}\d|^[-=#*_+|\s]{6,}$"
    rb"|best iteration|^[^\w\n]{0,24}(?:epochs?|steps?|iter(?:ation)?s?|e|class|loss +last)\b"
    rb"|^\| [\w/]+ *\| *\|$"
    rb"|\|-{3,}\s{0,8}[a-z]|^\s{0,8}[a-z]+\s+(?:iter|step|epoch)\b[^\n]{1,200}\|",
    re.IGNORECASE,
)
_RULE = re.compile(r"[-=#*_+|\s]{6,}")
_BOX = re.compile(r"\|\s*([^|]{1,120}?)\s*\|\s*([^|]{0,60}?)\s*\|")
_BULLET = " \t|>*#•▶:-{'\""
_SUMMARY = re.compile(r"\bbest iteration(?: is)?:?$|^best (?:iteration|epoch|step)\b", re.IGNORECASE)
_BORDERS = re.compile(r"[|│┃║]")
_BAR = re.compile(r":\s+(\d{1,3})%\|?.*$")  # a bar behind the last cell of a row
_CUT_BAR = re.compile(r":(?:\s+(\d{1,3}))?$")  # the same, of which a narrow terminal left the beginning
_HEAD = re.compile(r"[^\w\n]{0,24}(?:epochs?|steps?|iter(?:ation)?s?|e|class|loss +last)\b", re.IGNORECASE)
_COLUMN = re.compile(r"#|[^\W\d](?:[^|:=]|:(?=\.)){0,40}")
_GAP = re.compile(r"\s{2,}|\t")
_HEADS = {"#": "step", "e": "epoch"}  # of spaCy
_PHASES = re.compile(r"(train(?:ing)?)\s+\|\s+(val(?:id(?:ation)?)?|dev|test)", re.IGNORECASE)
_OF_DEEPXDE = ("step", "loss_train", "loss_test", "metrics_test")
# Vowpal Wabbit's header has two lines, of which this is the second.
_OF_VOWPAL_WABBIT: dict[tuple[str, ...], tuple[str, ...]] = {
    ("loss", "last", "counter", "weight", "label", "predict", "features"): (
        "average loss", "loss since last", "samples", "example weight", "label", "predict", "features",
    ),
}  # fmt: skip
_MOST_COLUMNS, _LONGEST = 64, 1000  # characters of a line that are looked at


class Table:
    """A table that may be under way: the names of its columns, and the row that was read last; or its columns
    are the training and the validation, and each row is one metric (AllenNLP)."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._phases: tuple[str, ...] = ()
        self._words: tuple[str, ...] = ()  # the names, if a single blank parts two of them
        self._last: list[str] = []
        self._groups = Groups()

    def state(self) -> Any:
        """What is known of the table under way, as JSON."""
        return self.names, self._phases, self._words, self._last, *self._groups

    def restore(self, state: Any) -> None:
        """Goes on from a state."""
        names, phases, words, self._last, *groups = state
        self.names, self._phases, self._words = tuple(names), tuple(phases), tuple(words)
        self._groups = Groups(*groups)

    def read(self, text: str) -> list[Pair] | None:
        """The pairs of a row, [] for a header or a row that says nothing new; None for any other line."""
        bar = _BAR.search(text) if "%" in text else None
        under_way = bar is not None and bar[1] != "100"
        text = text[: bar.start()] if bar else text
        if "|" in text and (in_groups := self._groups.read(text)):
            self._groups = in_groups[0]
            self.names = tuple(name for group in self._groups.names for name in group)
            return in_groups[1]
        if names := _header(text):
            words = tuple(text.split())
            self.names, self._words = names, words if len(words) > len(names) else names
            return []
        if (row := self._of_phases(text)) is not None or not self.names:
            return row
        cut = _CUT_BAR.search(text)
        if cut and len(text[: cut.start()].split()) == len(self.names):
            under_way, text = not "100".startswith(cut[1] or "-"), text[: cut.start()]
        cells = _bordered(text) or text.split()
        cells = cells[len(cells) > len(self.names) and cells[0] == "#" :]
        if self.names == _OF_DEEPXDE and len(cells) > len(self.names):
            self.names = _spread(cells)
        if len(cells) == len(self._words) and not _BORDERS.search(text):
            self.names = self._words
        if len(cells) != len(self.names):
            return None
        row = [pair for name, cell in zip(self.names, cells, strict=True) if (pair := cell_of(name, cell))]
        of_class = self.names[0].lower() == "class"
        if len(row) < max(2, len(cells) / 2) or (not of_class and row[0].name != self.names[0]):
            return None
        if under_way or cells == self._last or (of_class and cells[0] != "all"):
            return []
        self._last = cells
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


def _header(text: str) -> tuple[str, ...]:
    """The names of the columns that a line names; () where it is no header.

    One of the first two counts steps or epochs.
    """
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
    """The names of the cells of DeepXDE's `loss.dat`, of which the header names groups alone.

    A loss of the test stands for each of the training, and metrics behind them: how many losses there are is
    what brings the ones nearest to the others in the first row, where those of boundaries are the same.
    """
    values = [abs(number(cell) or 0.0) or 1.0 for cell in cells[1:]]

    def apart(n: int) -> float:
        return (
            sum(abs(math.log(value / two)) for value, two in zip(values[:n], values[n : 2 * n], strict=True))
            / n
        )

    n_losses = min(range(1, len(values) // 2 + 1), key=apart)
    sizes = (n_losses, n_losses, len(values) - 2 * n_losses)
    groups = zip(_OF_DEEPXDE[1:], sizes, strict=True)
    return (_OF_DEEPXDE[0], *(f"{name}/{i + 1}" if n > 1 else name for name, n in groups for i in range(n)))


def may_tell(text: str) -> bool:
    """Whether a line has a place in the log of a training: a known name, a counter or a part of a table."""
    text = in_english(text[:_LONGEST])
    if _header(text) or _BOX.fullmatch(text) or "loss" in text.lower():
        return True
    return any(is_judged(pair.name) or (counts(pair) and pair.name != "progress") for pair in pairs(text))


class Gatherer:
    """Gathers the lines of a log, one after the other, into records."""

    def __init__(self) -> None:
        self.block: dict[str, tuple[Pair, Source]] = {}
        self._group, self._table, self._skip = "", Table(), False
        self._first: dict[str, bool] = {}  # counters, and whether they come before what they count
        self._judged = False
        self._shapes = Shapes(self._whole)

    def state(self) -> Any:
        """What the lines so far leave open, as JSON."""
        table = self._table.state()
        return list(self.block.items()), self._group, table, self._skip, self._first, self._judged

    def restore(self, state: Any) -> None:
        """Goes on from a state."""
        block, self._group, table, self._skip, self._first, self._judged = state
        self._table.restore(table)
        for name, (pair, (line, *place)) in block:
            self.block[name] = Pair(*pair), Source(Line(*line), *place)

    def alone(self, line: Line) -> Record | None:
        """A line as a record of its own; None where its meaning depends on those before it."""
        reading = None if self._skip else self._shapes.reading(line.text.encode()) or self._whole(line.text)
        if reading is None:
            return None
        if not self._judged:
            self._judged = any(map(is_judged, reading.form.names))
        return Record(reading, (Source(line, reading.who, reading.time, reading.at),))

    def _whole(self, text: str) -> Reading | None:
        """What a line tells that is a record of its own wherever it stands; None for any other."""
        who, at = begin(text)
        words = in_english(text[at:].strip()[:_LONGEST])
        if _RULE.fullmatch(words) or ("est " in words and _SUMMARY.search(words)) or _BOX.fullmatch(words):
            return None
        named = list(map(as_bar, pairs(words)))
        if _is_alone(named, words) or copy(self._table).read(words) is not None:
            return None
        return _reading(named, words)._replace(who=who, at=at, time=time_in(text[:at]))

    def take(self, source: Source) -> Iterator[Record]:
        """The records that are complete with a line whose meaning depends on those before it."""
        text = in_english(source.words[:_LONGEST])
        if _RULE.fullmatch(text):
            self._group = ""
            yield from self.end()
        elif self._skip or ("est " in text and _SUMMARY.search(text)):  # what was said before, said again
            self._skip = not self._skip and text.endswith(":")
        elif (box := _BOX.fullmatch(text)) and (not box[2] or number(box[2]) is not None):
            value = number(box[2])
            if value is None:
                self._group = box[1] if box[1].endswith("/") else ""
            else:
                yield from self._alone(Pair(self._group + box[1], value), source, boxed=True)
        else:
            names, row = self._table.names, self._table.read(text)
            if names != self._table.names:
                self._shapes = Shapes(self._whole)
            named = list(map(as_bar, pairs(text))) if row is None else row
            if row is None and _is_alone(named, text):
                yield from self._alone(named[0], source)
            elif named:
                yield from self.end()
                self._judged |= any(is_judged(pair.name) for pair in named)
                yield Record(_reading(named, text if row is None else ""), (source,))

    def end(self, *, of_log: bool = False) -> Iterator[Record]:
        if self.block:
            named, sources = zip(*self.block.values(), strict=True)
            yield Record(_reading(named), sources, open=of_log)
            self.block = {}

    def _begins(self, pair: Pair) -> bool:
        """Whether a counter begins a block, as it did when it was first seen: before any loss or score."""
        if not counts(pair):
            self._judged |= is_judged(pair.name) and role_of(pair.name) is not Role.LEARNING_RATE
            return False
        return self._first.setdefault(pair.name, not self._judged)

    def _alone(self, pair: Pair, source: Source, *, boxed: bool = False) -> Iterator[Record]:
        if pair.name in self.block or (self._begins(pair) and not boxed):
            yield from self.end()
        self.block[pair.name] = pair, source


def _is_alone(named: Sequence[Pair], text: str) -> bool:
    """Whether a line is one pair, which then is part of a block of such lines."""
    alone = len(named) == 1 and text.lstrip(_BULLET).startswith(named[0].name)
    return alone and not _CHECKPOINT.match(text)


def records(lines: Iterable[Line], gatherer: Gatherer | None = None) -> Iterator[Record]:
    """The records of all lines, in their order; ``gatherer`` knows what those before them left open."""
    gatherer = gatherer or Gatherer()
    for line in lines:
        if line.unfinished:  # its number may go on
            continue
        record = gatherer.alone(line)
        if record is None:
            yield from gatherer.take(Source.of(line))
        elif record.shape or record.form.event == "launch":
            yield from gatherer.end() if gatherer.block else ()
            yield record
    yield from gatherer.end(of_log=True)
