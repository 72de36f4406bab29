"""Stage 4: makes records of lines, which are the pairs that were printed together, in a line or in a block.

    step 5 | loss: 2.5 | lr 1e-4            one line
    Mean reward: 0.67                       a block: each line is one pair, no name occurs twice in it
    | train/          |        |            a box of two columns; names have their group in front
    |    loss         | -0.205 |
    epoch  train_loss  valid_loss  time     a table: rows under a header that names a counter
    0      1.2005      1.1001      00:32

Most lines are read by a learned pattern (`line_shapes`), the others by the full parser. Beside its numbers a
line may tell an event: an evaluation ("val loss: ..."), a checkpoint that is saved or loaded, a launch
("Training started 2024-..."), a resume ("Resuming from step 500"), or one of several trainings ("Fold 3").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from typing import Any

from chronicle.metrics.aliases import in_english, word_set
from chronicle.metrics.names import LOSSES, MEASURES, name_words, role_of
from chronicle.readers.columns import number
from chronicle.readers.console import pairs
from chronicle.readers.console.chunks import NAN, Line, as_read, time_in, words_start
from chronicle.readers.console.line_shapes import Beside, Event, Reading, Shapes, Words, form_of
from chronicle.readers.console.pairs import PROGRESS, Pair, counts, is_judged, is_known, is_result, key_of
from chronicle.readers.console.text_tables import Table, pairs_in
from chronicle.readers.items import names_an_evaluation
from chronicle.readers.runs_in_table import OF_BOTH
from chronicle.readers.step_axis import last_word

_EVALUATION = re.compile(
    r"(?<![\w/.\\-])(?:(val|valid|validat(?:e|ion)|eval|evaluat(?:e|ion)|test|dev|cv)|(?P<ing>valid|evalu|test)(?:at)?ing)(?![\w/\\-]|\.\w)",
    re.IGNORECASE,
)
OF_TRAINING = re.compile(rf"(?<![\w/.\\-]){pairs.A_TRAINING}(?![\w/.\\-])", re.IGNORECASE)
_CHECKPOINT = re.compile(
    r"[^\w\n]{0,8}(?:(?:[a-z]+ ){0,3}(?:checkpoint|ckpt|snapshot|model|weights|state)(?: \w+){0,2}?:? "
    r"|[a-z]+ly )?"
    r"(?:(?P<saved>saved|saving|written|writing|stored|storing|dumped)"
    r"|(?P<loaded>loaded|loading|restored|restoring|resumed|resuming))\b"
    r"(?=.{0,80}(?:\b|_)(?:checkpoint|ckpt|snapshot|model|weights|state|step|epoch|iter))",
    re.IGNORECASE,
)
# Its number: `exp/3.pt`, `checkpoint-40`, `(epoch 40)`; not those of settings in a name, as in `lr1e-4_h8`.
_OF_CHECKPOINT = re.compile(
    r"(?i)(?:[\s/(]|(?:epoch|step|iter\w{0,6}|checkpoint|ckpt)[_=-]?)(\d{1,15})(?=[\s),;:]|\.[a-z]{2,5}\b|$)"
)
# `=> Resuming training from step 500`; OpenMMLab's `resumed epoch 12, iter 3600`; Lightning, which for a test
# restores weights alone. What resumes without a place was only paused, as for an evaluation; other sentences,
# `The training was resumed using a.pth`, `Continuing from step 9`, name a checkpoint, a path or a count.
_RESUMED = re.compile(
    r"[^\w\n]{0,40}(?:resum(?:ed|ing)\b(?: [\w./\\-]+){0,3}? (?:from|form|at)\b(?! \d\d?:)"
    r"|resumed (?:epoch|iter|step)\b:? \d|restored all states from "
    r"|(?:(?:the|training|run|model|was|is|has|been) ){0,4}(?:resum|continu|restart)(?:e|ed|ing)\b"
    r"(?: [^\s:=]+){0,3}?(?: from| using|(?= checkpoint ))\b"
    r"(?=.{0,80}(?:\b(?:checkpoint|ckpt|snapshot)\b|[\w.]/\w|\w\.[a-z]{2,5}\b"
    r"|\b(?:epoch|step|iter\w*) ?\d)))"
    r"(?!.{0,60}\b(?:scratch|none|false)\b)",
    re.IGNORECASE,
)
# `= Training Loss (Fri Jun  7 09:31:50 2019) =`: the date among its words is when the training began.
_LAUNCH = re.compile(
    r"[^\w\n]{0,40}(?:(?:start\w*|begin\w*|new|of|the) ){0,3}"
    r"(?:train|(?:fine)?-?tun|run|experiment|job)(?:ing)?\b"
    r"(?!.{0,60}\b(?:end|finish|complet|stop|done|took))[^\d\n]{0,60}"
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4}|\d{1,2})(?:[ ,T]{1,2}\d\d:\d\d:\d\d|[_-]\d\d-\d\d-\d\d)",
    re.IGNORECASE,
)
# "Test Error: ", as of PyTorch's first tutorial.
_OF_EVALUATION = re.compile(
    rf"[^\w\n]{{0,8}}(?P<phase>{pairs.AN_EVALUATION})"
    r"(?:(?: (?:errors?|results?|metrics|performance|set))?:| (?:begins?|start(?:s|ed)?)(?:\.\.\.|:))\s*",
    re.IGNORECASE,
)
# `[valid]`, `=== Evaluation ===`, `Validating...`; or the same of the training, after which that is over.
_PHASE_ALONE = re.compile(
    r"(?P<mark>[\[(<]|[=*#-]{2,80})?\s?(?:train(?:ing)?|(?P<phase>dev|test(?:ing)?|val(?:id(?:ation|ating)?)?"
    r"|eval(?:uation|uating)?))(?: (?:phase|set|results?))?\s?(?(mark)(?:[\])>]:?|[=*#-]{2,80})|\.{2,3})",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"(?i)(?:\W{0,3}\d{1,3}\W{1,3})?(?:\w+ ){0,3}"
    r"(?:start|begin|began|train|runn|launch|execut)\w*\b(?! (?:epoch|step|phase))"
)
_TRIALS = frozenset(("fold", "run", "seed", "trial", "experiment", "repeat", "repetition", "replicate"))
# A heading, `==== FOLD 0 - val: c3`, `[Run 1/50] begins`, or what stands before the words of each line of it.
_TRIAL = re.compile(
    r"[^\w\n]{0,40}(?:(?:start|begin|train|runn|process|cross|cv|k|outer|current|new|random|now|using|with|for)"
    rf"\w{{0,9}}[^\w\n]{{1,3}}){{0,3}}(?P<kind>{'|'.join(sorted(_TRIALS))})(?:[ _]?(?:no|number|id|index))?"
    r"[\W_]{0,4}?(?P<number>\d{1,10})(?![.,]?\d|\w)(?P<rest>.*)",
    re.IGNORECASE,
)
IS_OVER = re.compile(r"(?i)\b(?:results?|best|scores?|finish|complet|done|end|took|mean|average|fail)")
_OF_ALL = re.compile(r"\s?(?:/|of)\s?\d")
_WITH_SETTINGS = re.compile(
    r"(?i)[^\w\n]{0,4}(?:with |the |its ){0,2}(?:hyper[ _-]?)?(?:param|config|setting|arg)"
)
_ASSIGNED = r"(?:[a-z_][\w.-]{0,40} ?= ?[^\s=,;]{1,60}(?:[,;] ?| (?=\w)|(?=[^\w\n]{0,40}$)))+[^\w\n]{0,40}"
_ALL_ASSIGNED = re.compile(rf"(?i)[^\w\n]{{0,8}}{_ASSIGNED}")
# `### Training with lr=0.01, batch_size=64`, `==== lr=0.01 ====`
_SETTINGS = re.compile(
    r"(?i)[^\w\n]{0,40}(?:(?:\w+ ){0,3}(?:train|run|fit|launch|start|experiment|config|setting)\w*:?"
    rf"(?: \w+){{0,3}}? |(?<=[=*#-]{{3}}) )[\[({{]?{_ASSIGNED}"
)
# `'cuda': True`, `model='resnet'`
_TEXT_AS_VALUE = re.compile(r"[:=] ?(?:(?:True|False|None)\b|[\"'](?!-?(?:nan|inf)\b)[A-Za-z_./])")
_FEWEST_TEXTS = 2
_A_SETTING = re.compile(r"\W*(?:\w+[ _])?\w+[\"']?\s*[:=]\s*\d+\W*")  # `seed: 42`, `"seed": 42,`


def _words_of(named: Sequence[Pair], text: str) -> Words:
    is_bar = any(pair.name == PROGRESS for pair in named)
    checkpoint = None if is_bar else _CHECKPOINT.match(text)
    event = Event(checkpoint.lastgroup or "") if checkpoint else Event.NONE
    if not checkpoint and not named and _LAUNCH.match(text):
        event = Event.LAUNCH
    if not named and (heading := _OF_EVALUATION.fullmatch(text) or _PHASE_ALONE.fullmatch(text)):
        return Words((heading["phase"] or "").lower(), Event.EVALUATES)
    if not is_bar and _RESUMED.match(text):
        event = Event.RESUMED
    trial, is_heading = _trial(named, text)
    if not is_heading and _is_heading_of_settings(named, text):
        event = Event.SETTINGS
    is_object = text[:1] == "{" or "Namespace(" in text
    are_settings = is_object and len(_TEXT_AS_VALUE.findall(text)) >= _FEWEST_TEXTS
    are_settings = are_settings and not any(is_result(pair.name) for pair in named)
    event = Event.TRIAL if is_heading and not event else event
    return Words(_evaluation_of(named, text), event, trial, are_settings)


def _evaluation_of(named: Sequence[Pair], text: str) -> str:
    """The word of the evaluation of which the first metric of a line is said; else ""."""
    metric, *others = [pair.name for pair in named if not counts(pair)] or [""]
    places = (text.find(name) for name in (metric, metric.rpartition("/")[2]) if name)
    before = next((at for at in places if at >= 0), -1)  # a word behind a metric is said of another one
    own = len(metric) if others else 0  # "Validation phase loss: 0.3, accuracy: 0.9" is said of both
    text = text[: before + own] if before > 0 else text
    if named and (match := _EVALUATION.search(text)) and not OF_TRAINING.search(text):
        return (match["ing"] or "").lower().replace("evalu", "eval") or match[0].lower()
    return "val" if _best_beside_loss(tuple(pair.name for pair in named)) else ""


@lru_cache(maxsize=4096)
def _best_beside_loss(names: tuple[str, ...]) -> bool:
    """Whether a loss stands beside the best score so far, and nothing counts: that is an evaluation. A
    training logs its losses at its steps: `Loss: 0.9, MeanIU: 0.7, Best_mIoU: 0.7` stands between them."""
    has_best = any("best" in name_words(name) and role_of(name) in MEASURES for name in names)
    is_training = any("train" in name_words(name) or counts(Pair(name, 0.0)) for name in names)
    return has_best and not is_training and any(role_of(name) in LOSSES for name in names)


def _trial(named: Sequence[Pair], text: str) -> tuple[str, bool]:
    """Which of several trainings a line names, ``fold 3``, or "", and whether it is their heading."""
    if not any(map(text.lower().__contains__, _TRIALS)):
        return "", False
    match = _TRIAL.match(text)
    if match is None:  # or a number among others: `Epoch: 5 Fold: 3 Loss: 0.33`
        own = next((pair for pair in named if pair.name.lower() in _TRIALS), None)
        return (f"{own.name.lower()} {own.value:.0f}" if own and any(map(counts, named)) else "", False)
    kind, number, rest = match["kind"].lower(), int(match["number"]), match["rest"]
    others = [pair for pair in named if last_word(pair.name) != kind]
    if _OF_ALL.match(rest):  # `Fold 1/5`, which is also read as a bar
        others = [pair for pair in others if not (pair.of and pair.value == number)]
    if _WITH_SETTINGS.match(rest):
        return f"{kind} {number}", True
    if any(counts(pair) or pair.name == PROGRESS for pair in others):  # it stands before each of its lines
        return f"{kind} {number}", False
    is_result_of = is_result if _ALL_ASSIGNED.fullmatch(rest) else is_judged
    is_over = IS_OVER.search(rest) or any(is_result_of(pair.name) for pair in others)
    is_setting = kind != "fold" and _A_SETTING.fullmatch(text)
    return ("", False) if is_over or is_setting else (f"{kind} {number}", True)


def _is_heading_of_settings(named: Sequence[Pair], text: str) -> bool:
    """Whether a line says with which settings a training begins, and nothing of how one goes."""
    said = any(counts(pair) or pair.name == PROGRESS or is_result(pair.name) for pair in named)
    return "=" in text and bool(named) and not said and _SETTINGS.fullmatch(text) is not None


_BULLETS = " \t|>*#•▶:-{'\""


def is_resumed(line: str) -> bool:
    """Whether a line says from where a training is resumed."""
    may_be = any(map(line.__contains__, ("esum", "ontinu", "estart", "estored all")))
    return may_be and _RESUMED.match(line[words_start(line)[1] :].strip()) is not None


_BAR_PICTURE = re.compile(r"%\|[ \u2580-\u259f]*\|")  # differs in each line
_RULE = re.compile(r"[-=#*_+|\s\u2500-\u257f]{6,}")
_RULES_AND_BLANKS = " \t-=#*_+|>"
BOX = re.compile(r"\|\s*([^|]{1,120}?)\s*\|\s*([^|]{0,60}?)\s*\|")
_SUMMARY = re.compile(
    r"\bbest iteration(?: is)?:?$|^best (?:iteration|epoch|step)\b"
    r"|^best (?:record|model|result|checkpoint)s?\s?[:@-].{0,200}\b(?:epoch|step|iter)",
    re.IGNORECASE,
)
_MOST_HEADINGS = 64
_DECIMAL = r"[-+]?\d{1,12}\.\d{1,12}(?:[eE][-+]?\d{1,3})?"
_METER = re.compile(rf"(?<=[\s:=]){_DECIMAL} {{1,3}}\(\s?({_DECIMAL})\)")  # `loss: 0.5 (0.4)`


class Record:
    """Numbers that were printed together, in one line or in a block of lines, each in its own. ``shape`` are
    their names, ``counters`` what counts steps, the best first. ``is_open``: the log ended in it."""

    def __init__(self, reading: Reading, lines: Sequence[Line], *, is_open: bool = False) -> None:
        form, values, ends, units = reading.form, reading.values, reading.ends, reading.units
        self.form, self.values, self.ends, self.lines, self.is_open = form, values, ends, lines, is_open
        self.shape, self.evaluation, self.is_block = form.names, form.evaluation, len(lines) > 1
        epoch = form.epoch
        self.epoch = Pair(form.names[epoch], values[epoch], ends.get(epoch, 0)) if epoch >= 0 else None
        ranked = (Pair(name, values[i], ends.get(i, 0), units.get(i, 0)) for _, i, name in form.ranked)
        self.counters = [pair for pair in ranked if 0 <= pair.value < 2.0**63 and not pair.value % 1]

    @property
    def line(self) -> Line:
        """The first of its lines."""
        return self.lines[0]

    @property
    def words(self) -> str:
        return self.line.words

    @property
    def time(self) -> float:
        return NAN if self.line.time is None else self.line.time

    @property
    def pairs(self) -> list[Pair]:
        named = zip(self.shape, self.values, strict=True)
        return [Pair(name, value, self.ends.get(i, 0)) for i, (name, value) in enumerate(named)]

    @property
    def measures_evaluations(self) -> bool:
        """Whether all that it judges by are evaluations, as their names say: `Step 3/4 val_loss: 1`."""
        judged = [name for name in self.shape if is_judged(name)]
        return bool(judged) and all(map(names_an_evaluation, judged))

    def goes_on_from(self, words: str) -> bool:
        """Whether it counts what follows a number in words: epoch 3 or 4 behind `loading epoch_3.pt`."""
        numbers = {float(digits) for digits in _OF_CHECKPOINT.findall(words)} - {0.0}
        pairs = [self.epoch] if self.epoch else self.counters
        return any({pair.value, pair.value - 1} & numbers for pair in pairs)

    def numbers(self, counter: str, phases: bool) -> dict[str, float]:
        """All values but that of the counter, by name; the first of equal names counts. Where ``phases`` are
        told apart, what was measured in an evaluation says so in its name."""
        self._places = self._metric_places(counter, phases)
        values = self.values if self.running is None else self.means
        return {name: values[at] for name, at in self._places.items()}

    @property
    def running(self) -> Pair | None:
        """The batch of an evaluation of which a line gives the means so far behind the values of its last
        batches: `Test: [3/9] loss: 0.5 (0.4)`. None for any other line."""
        own = self.counters[0] if self.evaluation and self.counters and not self.is_block else None
        return own if own and own.of and self.means else None

    @cached_property
    def means(self) -> Sequence[float]:
        """The values, of which those of the last batches are replaced by the means so far; [] without any."""
        text, n_means = _METER.subn(r"\1", self.words)
        means = [pair.value for pair in _named(text)] if n_means else []
        return means if len(means) == len(self.values) else []

    def _metric_places(self, counter: str, phases: bool) -> Mapping[str, int]:
        places = self.form.kept.get(counter)
        if places is None:
            names = (name for name in dict.fromkeys(self.shape) if name not in (counter, PROGRESS))
            places = self.form.kept[counter] = {name: self.shape.index(name) for name in names}
        word = self.evaluation if phases else ""
        if not word:
            return places
        # If one name says that it is of an evaluation, unknown names beside it may be anything.
        any_by_name = any(map(names_an_evaluation, places))
        with_phase = dict[str, int]()
        for name, at in places.items():
            tells_phase = names_an_evaluation(name) or OF_TRAINING.search(name)
            keeps_name = tells_phase or (any_by_name and not is_judged(name)) or role_of(name) in OF_BOTH
            if not counts(Pair(name, self.values[at])):
                with_phase[name if keeps_name else f"{word}/{name}"] = at
        return with_phase

    def by_line(self, numbers: Mapping[str, float]) -> Sequence[tuple[Line, Mapping[str, float]]]:
        """Each line, and those of these ``numbers`` that stand in it, or for the first above it."""
        if not self.is_block:
            return ((self.line, numbers),)
        return [(self.lines[self._places.get(name, 0)], {name: value}) for name, value in numbers.items()]

    @property
    def is_training(self) -> bool:
        """Whether a training prints such records. A score beside a bar alone may be of anything."""
        has_named_counter = any(pair.name != PROGRESS for pair in self.counters)
        if self.epoch is not None and has_named_counter:
            return True
        only_a_bar = bool(self.counters) and not has_named_counter and self.epoch is None
        judged = any(is_judged(n) and not (only_a_bar and role_of(n) in MEASURES) for n in self.shape)
        return judged or self.form.is_judged_together


_FEWEST_BELOW = 4  # different numbers under a name that stands below each count, at as many counts


def beside_counts(records: Iterable[Record]) -> Beside:
    """Which lines without a count stand above or below each count, one of each kind. Those below must differ
    and have decimals, and those of evaluations are not taken for lines above: one may come before all."""
    n_counts, last = 0, set[tuple[str, float]]()
    places, values = dict[tuple[str, ...], list[int]](), dict[str, list[float]]()
    for record in records:
        counters = [*record.counters, *([record.epoch] if record.epoch else [])]
        own = {(key_of(pair), pair.value) for pair in counters}
        if not own <= last:
            n_counts, last = n_counts + 1, own
        if not own:
            evaluates = bool(record.evaluation) or record.measures_evaluations
            places.setdefault(record.shape, [-1] * evaluates).append(n_counts)
            for name, value in zip(record.shape, record.values, strict=True):
                values.setdefault(name, []).append(value)
    above = [shape for shape, at in places.items() if at == [*range(n_counts)]]
    often = (shape for shape, at in places.items() if len({*at}) == len(at) and 2 * len(at) >= n_counts)
    names = dict.fromkeys(name for shape in often if shape not in above for name in shape)
    are_measured = (name for name in names if any(value % 1 for value in values[name]))
    below = [name for name in are_measured if len({*values[name]}) >= _FEWEST_BELOW]
    return Beside(tuple(above), tuple(below)) if n_counts >= _FEWEST_BELOW else Beside()


def _reading(named: Sequence[Pair], text: str = "") -> Reading:
    ends = {i: pair.of for i, pair in enumerate(named) if pair.of}
    form = form_of(tuple(pair.name for pair in named), _words_of(named, pairs.reworded(text)))
    units = {i: pair.unit for i, pair in enumerate(named) if pair.unit}
    return Reading(form, [pair.value for pair in named], ends, units=units)


# The first line of a dictionary of a phase that is printed over several lines: ` 'valid': {'loss': 0.5,`
_OF_PHASE = re.compile(
    r"""[\s{]{0,8}["'](?P<name>(?:train|val|test|dev|eval)\w{0,30})["']: \{(?=["']\w)(?!.*\})"""
)
_VARIABLE = re.compile(r"[|│\s]*└ ")  # its value, below a line of a traceback of loguru
_NO_BAR = word_set("counter improve improved improvement patience stopping buffer mem memory size")
_IN_DICTIONARY = re.compile(r"""\s{2,}["'](?=\w)""")


def _as_bar(pair: Pair) -> Pair:
    """``Training: 12/100`` as progress, by the name of its bar; not ``Accuracy: 90/100``, ``Buffer: 3/9``."""
    if not pair.of or counts(pair) or not _NO_BAR.isdisjoint(name_words(pair.name)):
        return pair
    return pair if is_known(pair.name) and role_of(pair.name) not in LOSSES else pair._replace(name=PROGRESS)


@lru_cache(maxsize=2)  # a line that depends on those before it is asked for twice
def _named(text: str) -> Sequence[Pair]:
    return () if _VARIABLE.match(text) else tuple(map(_as_bar, pairs_in(text)))


class Gatherer:
    """Gathers the lines of a log into records. ``shapes`` are those that another one has learned."""

    FRESH = ("shapes",)

    def __init__(self, shapes: Shapes | None = None) -> None:
        self._block: dict[str, tuple[Pair, Line]] = {}
        self._group, self._table, self._in_summary = "", Table(), False
        self._begins_block: dict[str, bool] = {}  # by counter: whether it comes before what it counts
        self._phase = ""  # of the dictionary whose lines follow
        self._has_metric = False  # so far, of those by which trainings are judged
        self._headings: dict[str, None] = {}  # before the first metric
        self.shapes = shapes or Shapes(self._parse)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, shapes=Shapes(self._parse))  # other ones may be learned in a table

    @property
    def is_open(self) -> bool:
        """Whether what the next line says depends on those before it."""
        return self._in_summary or bool(self._block)

    def records(self, lines: Iterable[Line]) -> Iterator[Record]:
        """The records of all lines, in order."""
        for line in lines:
            if line.unfinished:  # its last number may continue
                continue
            if self._phase or "{" in line.text:
                line = line._replace(text=self._named_by_phase(line.text))
            if (reading := self._reading(line)) is None:
                yield from self._records_in_context(line.apart)
                continue
            line = Line(line.number, line.text, False, reading.who, reading.time, reading.start)
            form = reading.form
            if form.event == Event.PART:
                pair = Pair(form.names[0], reading.values[0], reading.ends.get(0, 0))
                yield from self._add_to_block(pair, line)
            elif form.event == Event.LOADED and not form.names:  # which ends no block
                yield Record(reading, (line,))
            elif form.names or form.event not in (Event.NONE, Event.SAVED):
                yield from self._end_block()
                yield Record(reading, (line,))
        yield from self._end_block(of_log=True)

    def _named_by_phase(self, text: str) -> str:
        """A line of a dictionary with the phase in front of its name: `'valid/loss': 0.5,`."""
        if opens := _OF_PHASE.match(text):
            self._phase, text = opens["name"], " " * opens.end() + text[opens.end() :]
        if not self._phase or not (inner := _IN_DICTIONARY.match(text)):
            self._phase = ""
            return text
        phase, self._phase = self._phase, "" if "}" in text else self._phase
        return f"{text[: inner.end()]}{phase}/{text[inner.end() :]}"

    def _reading(self, line: Line) -> Reading | None:
        """What a line says by itself; None where that depends on the lines before it."""
        text = _BAR_PICTURE.sub("%| |", line.text) if "%|" in line.text else line.text
        reading = None if self._in_summary else self.shapes.reading(text.encode()) or self._parse(text)
        if reading is None or reading.form.event == Event.PART:
            return reading
        words = line.text[reading.start :].strip(_RULES_AND_BLANKS)
        if not (reading.form.names or reading.form.event) and HEADING.match(words):
            words = re.sub(r"\d+", "0", words)
            if not self._has_metric and len(self._headings) < _MOST_HEADINGS:
                self._headings[words] = None
            elif self._has_metric and words in self._headings:
                reading = reading._replace(form=form_of((), Words(event=Event.REPEATED)))
        self._has_metric = self._has_metric or any(map(is_result, reading.form.names))
        return reading

    def _parse(self, text: str) -> Reading | None:
        """What a line says that means the same wherever it stands; None for any other line."""
        who, start = words_start(text)
        words = in_english(as_read(text[start:].strip()))
        if _RULE.fullmatch(words) or ("est " in words and _SUMMARY.search(words)) or BOX.fullmatch(words):
            return None
        table = copy(self._table)
        if table.read(words) is not None or vars(table) != vars(self._table):
            return None
        named = _named(words)
        if len(named) == 1 and pairs.STATEMENT.search(text):  # the words have lost their indentation
            named = ()
        reading = _reading(named, words)
        is_alone = len(named) == 1 and words.lstrip(_BULLETS).startswith(named[0].name)
        is_event = reading.form.event == Event.SETTINGS or _CHECKPOINT.match(words) or _RESUMED.match(words)
        if is_alone and not (is_event or _trial(named, words)[1]):
            reading = reading._replace(form=form_of(reading.form.names, Words(event=Event.PART)))
        return reading._replace(who=who, start=start, time=time_in(text[:start]))

    def _records_in_context(self, line: Line) -> Iterator[Record]:
        """The records that are complete with a line whose meaning depends on those before it."""
        text = in_english(as_read(line.words))
        if _RULE.fullmatch(text):
            self._group = ""
            yield from self._end_block()
        elif self._in_summary or ("est " in text and _SUMMARY.search(text)):  # repeats what was said before
            self._in_summary = not self._in_summary and text.endswith(":")
        elif (box := BOX.fullmatch(text)) and (not box[2] or number(box[2]) is not None):
            value = number(box[2])
            if value is None:
                self._group = box[1] if box[1].endswith("/") else ""
            else:
                yield from self._add_to_block(Pair(self._group + box[1], value), line, boxed=True)
        else:
            layout = self._table.layout
            row = self._table.read(text)
            if layout != self._table.layout:
                self.shapes = Shapes(self._parse)
            named = _named(text) if row is None else row
            if named:
                yield from self._end_block()
                self._has_metric |= any(is_result(pair.name) for pair in named)
                yield Record(_reading(named, text if row is None else ""), (line,))

    def _add_to_block(self, pair: Pair, line: Line, *, boxed: bool = False) -> Iterator[Record]:
        """Adds a pair to the block; the block before it, if this begins another one."""
        if pair.name in self._block or (self._begins_another(pair, line.words) and not boxed):
            yield from self._end_block()
        self._block[pair.name] = pair, line

    def _begins_another(self, pair: Pair, text: str) -> bool:
        """Whether a counter begins a block, as at first: before a loss or score, or with a colon behind."""
        if not counts(pair):
            self._has_metric |= is_result(pair.name)
            return False
        begins = not self._has_metric or text.rstrip().endswith(":")
        return self._begins_block.setdefault(last_word(pair.name), begins)

    def _end_block(self, *, of_log: bool = False) -> Iterator[Record]:
        if self._block:
            named, lines = zip(*self._block.values(), strict=True)
            heading = lines[0].words if counts(named[0]) else ""
            yield Record(_reading(named, heading), lines, is_open=of_log)
            self._block = {}
