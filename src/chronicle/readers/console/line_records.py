"""From the lines of any text log to its records: pairs that were told together, and what counts among them.

step 5 | loss: 2.5 | lr 1e-4            one line
Mean reward: 0.67                       a block: each line is one pair, no name comes twice in it
| train/          |        |            a box of two columns; names have their group in front
|    loss         | -0.205 |
epoch  train_loss  valid_loss  time     a table: rows under a header that names a counter
0      1.2005      1.1001      00:32
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from typing import Any

from chronicle.metrics.aliases import in_english
from chronicle.metrics.names import role_of
from chronicle.model import Role
from chronicle.readers.columns import number
from chronicle.readers.console import pairs
from chronicle.readers.console.chunks import MAYBE, begin, time_in
from chronicle.readers.console.line_shapes import Form, Reading, Shapes, Table, Words, header
from chronicle.readers.console.log import Line, Source, text_of
from chronicle.readers.console.pairs import Pair, counts, is_judged, key_of, last_word
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
# `=> Resuming training from step 500`; what resumes without a place was paused, as for an evaluation.
_RESUMED = re.compile(r"[^\w\n]{0,8}resum(?:ed|ing)\b(?: \w+){0,3}? (?:from|at)\b(?! \d\d?:)", re.IGNORECASE)
RESUMED = "resumed"
# What tells when a training began, by a date in its words: `= Training Loss (Fri Jun  7 09:31:50 2019) =`.
_LAUNCH = re.compile(
    r"[^\w\n]{0,40}(?:(?:start\w*|begin\w*|new|of|the) ){0,3}"
    r"(?:train|(?:fine)?-?tun|run|experiment|job)(?:ing)?\b"
    r"(?!.{0,60}\b(?:end|finish|complet|stop|done|took))[^\d\n]{0,60}"
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4}|\d{1,2})(?:[ ,T]{1,2}\d\d:\d\d:\d\d|[_-]\d\d-\d\d-\d\d)",
    re.IGNORECASE,
)
_HEAD_OF_LAUNCH = re.compile(
    r"(?i)(?:\W{0,3}\d{1,3}\W{1,3})?(?:\w+ ){0,3}"
    r"(?:start|begin|began|train|runn|launch|execut)\w*\b(?! (?:epoch|step|phase))"
)
_MOST_HEADS = 64
_PICTURE = re.compile(r"%\|[ \u2580-\u259f]*\|")  # of a bar, which is another one in each line
_PART = "part"  # of a block: a line that is one pair
TRIALS = frozenset(("fold", "run", "seed", "trial", "experiment", "repeat", "repetition", "replicate"))
# A heading, `==== FOLD 0 - val: c3`, `[Run 1/50] begins`, or what stands before the words of each line of it.
_TRIAL = re.compile(
    r"[^\w\n]{0,40}(?:(?:start|begin|train|runn|process|cross|cv|k|outer|current|new|random|now|using|with|for)"
    rf"\w{{0,9}}[^\w\n]{{1,3}}){{0,3}}(?P<kind>{'|'.join(sorted(TRIALS))})(?:[ _]?(?:no|number|id|index))?"
    r"[\W_]{0,4}?(?P<number>\d{1,10})(?![.,]?\d|\w)(?P<rest>.*)",
    re.IGNORECASE,
)
_IS_OVER = re.compile(r"(?i)\b(?:results?|best|scores?|finish|complet|done|end|took|mean|average|fail)")
_OF_ALL = re.compile(r"\s?(?:/|of)\s?\d")
_GIVEN = re.compile(r"(?i)[^\w\n]{0,4}(?:with |the |its ){0,2}(?:hyper[ _-]?)?(?:param|config|setting|arg)")
_A_SETTING = re.compile(r"\W*(?:\w+[ _])?\w+\s*[:=]\s*\d+\W*")  # of a program: `seed: 42`
TRIAL = "trial"
# Of a line that tells when it was, and of one that stood at the head of the log.
BEGINNINGS = ("launch", "again")
_TRAINING = re.compile(r"(?<![\w/.\\-])train(?:ing)?(?![\w/.\\-])", re.IGNORECASE)


class Record:
    """Numbers that were told together, in one line or in a block of lines, each from its source. ``shape`` is
    what records of one kind have in common, ``counters`` is what counts steps in it, from the best, ``epoch``
    what counts epochs. ``open``: the log ended in the block, of which more may come."""

    def __init__(self, reading: Reading, sources: Sequence[Source], *, open: bool = False) -> None:
        form, values, ends, *_ = reading
        self.form, self.values, self.ends, self.sources, self.open = form, values, ends, sources, open
        self.shape, self.evaluation, self.is_block = form.names, form.evaluation, len(sources) > 1
        epoch = form.epoch
        self.epoch = Pair(form.names[epoch], values[epoch], ends.get(epoch, 0)) if epoch >= 0 else None
        ranked = ((rank, Pair(name, values[i], ends.get(i, 0))) for rank, i, name in form.ranked)
        self.counters = [(n, p) for n, p in ranked if 0 <= p.value < 2.0**63 and p.value == p.value // 1]

    @property
    def pairs(self) -> list[Pair]:
        named = zip(self.shape, self.values, strict=True)
        return [Pair(name, value, self.ends.get(i, 0)) for i, (name, value) in enumerate(named)]

    def places(self, counter: str, phases: bool) -> Mapping[str, int]:
        """The places of what it tells but the counter, by name; of equal names the first is meant. Where
        ``phases`` are told apart, what was measured in an evaluation says so in its name."""
        named = self.form.kept.get(counter)
        if named is None:
            names = (name for name in dict.fromkeys(self.shape) if name not in (counter, "progress"))
            named = self.form.kept[counter] = {name: self.shape.index(name) for name in names}
        word = self.evaluation if phases else ""
        if not word:
            return named
        # Where one name says that it is of an evaluation, what else is told with it may be of another kind.
        by_name = any(map(names_an_evaluation, named))

        def placed(name: str) -> str:
            own = names_an_evaluation(name) or _TRAINING.search(name) or (by_name and not is_judged(name))
            return name if own or role_of(name) in OF_BOTH else f"{word}/{name}"

        return {placed(name): at for name, at in named.items() if not counts(Pair(name, self.values[at]))}

    def numbers(self, counter: str, phases: bool) -> dict[str, float]:
        self._places = self.places(counter, phases)
        return {name: self.values[at] for name, at in self._places.items()}

    def by_line(self, numbers: Mapping[str, float]) -> Sequence[tuple[Source, Mapping[str, float]]]:
        """Each source, and what of these ``numbers`` stands in its line."""
        if not self.is_block:
            return ((self.sources[0], numbers),)
        return [(self.sources[self._places[name]], {name: value}) for name, value in numbers.items()]

    @property
    def _is_named(self) -> bool:
        return any(pair.name != "progress" for _, pair in self.counters)

    @property
    def measures(self) -> bool:
        """Whether it tells numbers that are no whole ones beside what counts."""
        return bool(self.counters) and any(value != value // 1 for value in self.values)

    @property
    def is_training(self) -> bool:
        """Whether a trainer tells such things: batches, or a known metric (no score alone behind a bar)."""
        if self.epoch is not None and self._is_named:
            return True
        only_a_bar = bool(self.counters) and not self._is_named and self.epoch is None
        return any(is_judged(n) and not (only_a_bar and role_of(n) in pairs.MEASURES) for n in self.shape)


@lru_cache(maxsize=4096)
def _form(names: tuple[str, ...], words: Words) -> Form:
    ranks = ((pairs.rank_of_name(name), i, name) for i, name in enumerate(names))
    ranked = [(rank, i, name) for rank, i, name in ranks if rank is not None]
    lasts = ["epoch" if pairs.names_epoch(name) else last_word(name).replace("epoch", "") for name in names]
    outer = ("epoch", "episode")[: 1 + (len(ranked) > 1)]  # of episodes, in which other names count steps
    epoch = next((lasts.index(word) for word in outer if word in lasts), -1)
    return Form(names, words, epoch, sorted(ranked, key=itemgetter(0)))


def _reading(named: Sequence[Pair], text: str = "") -> Reading:
    """Pairs that were told together, in a line of this text."""
    names = tuple(pair.name for pair in named)
    text = pairs.reworded(text)
    metric = next((pair.name for pair in named if not counts(pair)), "")
    places = (text.find(name) for name in (metric, metric.rpartition("/")[2]) if name)
    before = next((at for at in places if at >= 0), -1)  # what stands behind a metric is said of another one
    evaluation = _evaluation(text[:before] if before > 0 else text) if named else ""
    if not evaluation and pairs.names_best_and_loss(names):
        evaluation = "val"
    ends = {i: pair.of for i, pair in enumerate(named) if pair.of}
    checkpoint = _CHECKPOINT.match(text) if "progress" not in names else None
    event = checkpoint.lastgroup if checkpoint else "launch" if not named and _LAUNCH.match(text) else ""
    event = RESUMED if "esum" in text and "progress" not in names and _RESUMED.match(text) else event
    trial, heads = _trial(named, text)
    words = Words(evaluation, event or TRIAL * heads, trial)
    return Reading(_form(names, words), [pair.value for pair in named], ends)


def _trial(named: Sequence[Pair], text: str) -> tuple[str, bool]:
    """The training of several that a line names, ``fold 3``, or "", and whether it is a heading."""
    if not any(map(text.lower().__contains__, TRIALS)):
        return "", False
    match = _TRIAL.match(text)
    if match is None:  # or a number among the others: `Epoch: 5 Fold: 3 Loss: 0.33`
        own = next((pair for pair in named if pair.name.lower() in TRIALS), None)
        return (f"{own.name.lower()} {own.value:.0f}" if own and any(map(counts, named)) else "", False)
    kind, number, rest = match["kind"].lower(), int(match["number"]), match["rest"]
    others = [pair for pair in named if last_word(pair.name) != kind]
    if _OF_ALL.match(rest):  # `Fold 1/5`, which is read as a bar
        others = [pair for pair in others if not (pair.of and pair.value == number)]
    if _GIVEN.match(rest):
        return f"{kind} {number}", True
    if any(counts(pair) or pair.name == "progress" for pair in others):  # it stands before each line
        return f"{kind} {number}", False
    is_over = _IS_OVER.search(rest) or any(is_judged(pair.name) for pair in others)
    is_setting = kind != "fold" and _A_SETTING.fullmatch(text)
    return ("", False) if is_over or is_setting else (f"{kind} {number}", True)


def _evaluation(text: str) -> str:
    """The word of an evaluation in a line, where no training is spoken of beside it; else ""."""
    match = _EVALUATION.search(text)
    if not match or _TRAINING.search(text):
        return ""
    ing = (match["ing"] or "").lower()
    return {"evalu": "eval"}.get(ing, ing) or match[0].lower()


def is_resumed(line: str) -> bool:
    """Whether a line says from where a training is resumed."""
    return "esum" in line and _RESUMED.match(line[begin(line)[1] :].strip()) is not None


@lru_cache(maxsize=2)  # a line that is no record of its own is asked twice
def _named(text: str) -> Sequence[Pair]:
    return tuple(map(pairs.as_bar, pairs.pairs(text)))


_RULES = " \t-=#*_+|>"
_RULE = re.compile(r"[-=#*_+|\s]{6,}")
_BOX = re.compile(r"\|\s*([^|]{1,120}?)\s*\|\s*([^|]{0,60}?)\s*\|")
_BULLET = " \t|>*#•▶:-{'\""
_SUMMARY = re.compile(r"\bbest iteration(?: is)?:?$|^best (?:iteration|epoch|step)\b", re.IGNORECASE)
_RUNS = re.compile(rb"\d+")
FEWEST_EPOCHS = 5  # lines of a log that tells each epoch in one line, with its loss
_MOST_SHAPES = 500  # of lines, the most frequent first


def may_be_record(text: str, *, bars: bool) -> bool:
    """Whether a line has a place in the log of a training: a known name, a counter or a part of a table. What
    ``bars`` count will do where something else says that they are of a training."""
    text = in_english(pairs.looked_at(text))
    if "loss" in text.lower() or header(text) or _BOX.fullmatch(text):
        return True
    return any(is_judged(p.name) or (counts(p) and (bars or p.name != "progress")) for p in pairs.pairs(text))


def may_train(lines: Sequence[bytes], *, bars: bool) -> bool:
    """Whether lines of any shape have a place in the log of a training, as `may_be_record`."""
    if len(lines) < FEWEST_EPOCHS:
        return False
    shapes = _RUNS.sub(b"0", b"\n".join(lines)).split(b"\n")
    first = dict(zip(reversed(shapes), reversed(lines), strict=True))
    often = Counter(shapes).most_common(_MOST_SHAPES)  # what tells of a training comes again and again
    texts = (text_of(first[shape]) for shape, _ in often if MAYBE.search(shape))
    return any(may_be_record(text[begin(text)[1] :].strip(), bars=bars) for text in texts)


class Gatherer:
    """Gathers the lines of a log into records. ``shapes`` are those that another one has learned."""

    FRESH = ("shapes",)

    def __init__(self, shapes: Shapes | None = None) -> None:
        self.block: dict[str, tuple[Pair, Source]] = {}
        self._group, self._table, self._skip = "", Table(), False
        self._first: dict[str, bool] = {}  # counters, and whether they come before what they count
        self._judged = False
        self._heads: dict[str, None] = {}  # lines that told of a beginning, before anything was measured
        self.shapes = shapes or Shapes(self._whole)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, shapes=Shapes(self._whole))  # what was learned may not hold in a table

    def reading(self, line: Line) -> Reading | None:
        """What a line tells of itself; None where that depends on those before it."""
        text = _PICTURE.sub("%| |", line.text) if "%|" in line.text else line.text
        reading = None if self._skip else self.shapes.reading(text.encode()) or self._whole(text)
        if reading is None or reading.form.event == _PART:
            return reading
        if not (reading.form.names or reading.form.event) and self._begins_anew(
            line.text[reading.at :].strip(_RULES)
        ):
            reading = reading._replace(form=_form((), Words(event="again")))
        if not self._judged:
            self._judged = any(map(is_judged, reading.form.names))
        return reading

    @property
    def is_open(self) -> bool:
        """Whether what the next line tells depends on those before it."""
        return self._skip or bool(self.block)

    def _begins_anew(self, words: str) -> bool:
        """Whether these words stood at the head of the log, and come again behind what was measured."""
        if not _HEAD_OF_LAUNCH.match(words):
            return False
        words = re.sub(r"\d+", "0", words)
        if not self._judged and len(self._heads) < _MOST_HEADS:
            self._heads[words] = None
        return self._judged and words in self._heads

    def _whole(self, text: str) -> Reading | None:
        """What a line tells that is a record or a part of a block wherever it stands; None for any other."""
        who, at = begin(text)
        words = in_english(pairs.looked_at(text[at:].strip()))
        if _RULE.fullmatch(words) or ("est " in words and _SUMMARY.search(words)) or _BOX.fullmatch(words):
            return None
        vars(table := Table()).update(vars(self._table))
        if table.read(words) is not None or vars(table) != vars(self._table):
            return None
        reading = _reading(named := _named(words), words)
        if _is_single_pair(named, words):
            reading = reading._replace(form=_form(reading.form.names, Words(event=_PART)))
        return reading._replace(who=who, at=at, time=time_in(text[:at]))

    def take(self, source: Source) -> Iterator[Record]:
        """The records that are complete with a line whose meaning depends on those before it."""
        text = in_english(pairs.looked_at(source.words))
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
                yield from self.part(Pair(self._group + box[1], value), source, boxed=True)
        else:
            layout, row = self._table.layout, self._table.read(text)
            if layout != self._table.layout:
                self.shapes = Shapes(self._whole)
            named = _named(text) if row is None else row
            if row is None and _is_single_pair(named, text):
                yield from self.part(named[0], source)
            elif named:
                yield from self.end()
                self._judged |= any(is_judged(pair.name) for pair in named)
                yield Record(_reading(named, text if row is None else ""), (source,))

    def end(self, *, of_log: bool = False) -> Iterator[Record]:
        if self.block:
            named, sources = zip(*self.block.values(), strict=True)
            heading = sources[0].words if counts(named[0]) else ""
            yield Record(_reading(named, heading), sources, open=of_log)
            self.block = {}

    def _begins(self, pair: Pair) -> bool:
        """Whether a counter begins a block, as it did when it was first seen: before any loss or score."""
        if not counts(pair):
            self._judged |= is_judged(pair.name) and role_of(pair.name) is not Role.LEARNING_RATE
            return False
        return self._first.setdefault(last_word(pair.name), not self._judged)

    def part(self, pair: Pair, source: Source, *, boxed: bool = False) -> Iterator[Record]:
        """The block before a pair that begins another one; the pair is kept."""
        if pair.name in self.block or (self._begins(pair) and not boxed):
            yield from self.end()
        self.block[pair.name] = pair, source


def _is_single_pair(named: Sequence[Pair], text: str) -> bool:
    """Whether a line is one pair, which then is part of a block of such lines."""
    alone = len(named) == 1 and text.lstrip(_BULLET).startswith(named[0].name)
    return alone and not (_CHECKPOINT.match(text) or _RESUMED.match(text) or _trial(named, text)[1])


def records(lines: Iterable[Line], gatherer: Gatherer) -> Iterator[Record]:
    """The records of all lines, in their order; ``gatherer`` knows what those before them left open."""
    for line in lines:
        if line.unfinished:  # its number may go on
            continue
        if (reading := gatherer.reading(line)) is None:
            yield from gatherer.take(Source.of(line))
            continue
        source = Source(line, reading.who, reading.time, reading.at)
        if reading.form.event == _PART:
            pair = Pair(reading.form.names[0], reading.values[0], reading.ends.get(0, 0))
            yield from gatherer.part(pair, source)
        elif reading.form.names or reading.form.event in (*BEGINNINGS, RESUMED, TRIAL):
            yield from gatherer.end() if gatherer.block else ()
            yield Record(reading, (source,))
    yield from gatherer.end(of_log=True)


_OF_A_STAGE = 8  # records on average


def bars_of(all_records: Iterable[Record]) -> set[str]:
    """The bars that a training draws: those beside which, or after which, it is told how it learns. That of
    a search (`Best trial: 3`) counts trainings."""
    bars, latest, of_searches = set[str](), "", set[str]()
    for record in all_records:
        own = [key_of(pair) for pair in record.pairs if pair.name == "progress"]
        of_searches.update(own if "best trial" in map(str.lower, record.shape) else ())
        latest = own[-1] if own else latest
        judged = any(is_judged(name) and not names_an_evaluation(name) for name in record.shape)
        if record.is_training and latest and (own or (judged and not record.evaluation)):
            bars.update(own or [latest])
    return bars - of_searches


def is_stage(key: str, others: Collection[str], all_records: Iterable[Record]) -> bool:
    """Whether a counter is that of another stage: never told with the others, and in few stretches, as `step
    25/405` of the fine-tuning that follows a pre-training by `iter 25`."""
    keys = ({key_of(pair) for _, pair in record.counters} for record in all_records if record.is_training)
    counted = [(key in own, not own.isdisjoint(others)) for own in keys]
    alone = [ours for ours, theirs in counted if ours or theirs]
    begins = sum(later and not before for before, later in pairwise([False, *alone]))
    return not any(map(all, counted)) and sum(alone) >= _OF_A_STAGE * max(1, begins)
