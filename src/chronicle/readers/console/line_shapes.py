"""Stage 4 made fast: reads lines that differ from earlier ones in their digits alone by a learned pattern.

The full parser (`chunks` and `pairs`) reads the first line of a shape, and again with each run of digits
changed. A run that changes one number belongs to it; one that changes nothing (a clock, the time left) may be
anything; one that changes something else (the name ``top5``) must stay as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from math import isfinite
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from chronicle.metrics.names import LOSSES, is_total
from chronicle.metrics.roles import by_names
from chronicle.model import Floats, Role
from chronicle.readers.console.chunks import NAN, time_in, with_zeros, words_start
from chronicle.readers.console.pairs import names_epoch
from chronicle.readers.step_axis import last_word, rank_of_name

_MAX_SHAPE_BYTES = 1000  # of a line whose shape may be known
_FEWEST_LINES = 16  # of a shape, before it is learned
_PROBES = 8  # lines of a block whose shape is looked up
_MOST_SHAPES = 1 << 14  # kept at the same time
_MOST_VARIANTS = 8  # of a shape, which differ in digits that must stay
_MOST_WHOLE, _MOST_DECIMALS = 9, 17  # digits of a number before and after its point
# Two ways to change every digit into another one that is not 0.
_CHANGES = tuple(bytes.maketrans(b"0123456789", others) for others in (b"1234567891", b"3456789215"))
_RUN = re.compile(rb"\d+")
_NUMBER = re.compile(rb"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)")
_DECIMAL_COMMA = re.compile(rb"(?<!\d)0,\d")  # among numbers whose commas separate thousands

Span = tuple[int, int]


def is_round(name: str) -> bool:
    """Whether rounds of federated learning are counted, which contain epochs."""
    return name.lower().endswith("round")


class Beside(NamedTuple):
    """Lines that count nothing, and belong to a count: the names of those of which one stands ``above`` each
    count, and all names in those of which one stands ``below`` it, whatever they are called."""

    above: Sequence[tuple[str, ...]] = ()
    below: Sequence[str] = ()


@dataclass(frozen=True)
class Plan:
    """How a log is to be read. If no name counts, its rows are counted (``by_row``).

    ``counters`` are the keys of what counts. ``row_counter`` names what only grows where rows are counted
    (LABEL: the number in front); ``of_items``: rows are results of trials. ``phases``: words beside the names
    tell evaluations apart. ``outer`` names what counts the restarts of the counter in the same lines, as
    epochs do. ``twofold``: counters that give an epoch and, by what they count up to, a batch in it.
    ``stages``: counters of another stage of the training. ``beside_metrics``: those in lines with a metric
    that is judged; a heading (`Step 2: Training`) has none. ``moving``: the names of lines that come again
    with other counts, as no setting does. ``alike``: counters that repeat the count of another one, whose
    name they have. ``ends``: how many steps a training has, as a line says, so that no count towards them is
    of an epoch. ``beside``: which lines without a count belong to one.
    """

    is_log: bool = False
    counters: frozenset[str] = frozenset()
    by_row: bool = False
    row_counter: str = ""
    of_items: bool = False
    phases: bool = False
    outer: str = ""
    twofold: frozenset[str] = frozenset()
    stages: frozenset[str] = frozenset()
    beside_metrics: frozenset[str] = frozenset()
    moving: frozenset[tuple[str, ...]] = frozenset()
    alike: Mapping[str, str] = field(default_factory=dict)
    ends: frozenset[int] = frozenset()
    beside: Beside = Beside()


class Event(StrEnum):
    """What a line tells beside its numbers."""

    NONE = ""
    PART = "part"  # it is one pair of a block
    SAVED, LOADED, RESUMED = "saved", "loaded", "resumed"  # of a checkpoint
    LAUNCH = "launch"  # when a training began
    REPEATED = "repeated"  # it is a heading of the log's beginning that comes again
    TRIAL = "trial"  # it is the heading of one of several trainings
    SETTINGS = "settings"  # the same, by what is set for it
    EVALUATES = "evaluates"  # it is the heading of the results of an evaluation, or of the training again


class Words(NamedTuple):
    """The word of an evaluation in a line, its event, of which training it is (``fold 3``), and whether it is
    all arguments of a program, of which none counts."""

    evaluation: str = ""
    event: Event = Event.NONE
    trial: str = ""
    are_settings: bool = False


class Form:
    """What records with the same names have in common. ``epoch`` is the place of the pair that counts epochs
    (-1: none), ``ranked`` are rank, place and name of those that count steps; ``kept`` caches others."""

    def __init__(self, names: tuple[str, ...], words: Words) -> None:
        self.names, self.words = names, words
        self.evaluation, self.event, self.trial, are_settings = words
        ranks = ((rank_of_name(name), i, name) for i, name in enumerate(names) if not are_settings)
        self.ranked = sorted((rank, i, name) for rank, i, name in ranks if rank is not None)
        lasts = ["epoch" if names_epoch(name) else last_word(name).replace("epoch", "") for name in names]
        outer = ("epoch", "episode")[: 1 + (len(self.ranked) > 1)]  # of episodes, where steps count, too
        outer = () if are_settings else outer
        self.epoch = next((lasts.index(word) for word in outer if word in lasts), -1)
        self.n_counters = len(self.ranked) + (self.epoch >= 0)
        self.kept = dict[str, dict[str, int]]()

    @cached_property
    def is_judged_together(self) -> bool:
        """Whether only names beside each other tell what is judged: `total` and its parts, `rec` and `kl`,
        `train` and `test`, or a bare `score` beside what an agent explores with."""
        roles = [*by_names(self.names, ()).values()]
        several = sum(map(roles.count, (*LOSSES, Role.PART_LOSS))) > 1
        return Role.OBJECTIVE in roles or (Role.LOSS in roles and (several or any(map(is_total, self.names))))


form_of = lru_cache(maxsize=4096)(Form)


class Reading(NamedTuple):
    """The numbers of a line, by the names of its form. ``ends`` are what some of them count up to, by place,
    ``units`` those in which they are logged. ``who`` printed the line; its words begin at ``start``."""

    form: Form
    values: Sequence[float]
    ends: Mapping[int, int]
    who: str = ""
    start: int = 0
    time: float = NAN
    units: Mapping[int, int] = {}

    @property
    def kind(self) -> tuple[object, ...]:
        """What the reading says apart from its values and its time."""
        return self.form.names, self.form.words, self.ends, self.who, self.start


Parser = Callable[[str], Reading | None]  # None for a line that cannot be read without those before it


@dataclass(frozen=True, eq=False)
class Learned:
    """How the lines of a shape are read. ``reading`` is what the parser says of the first one. Each group of
    ``pattern`` is the number that ``parts`` names. ``commas`` separate thousands in some of them."""

    reading: Reading
    pattern: re.Pattern[bytes]
    places: tuple[int, ...]
    commas: bool

    def match(self, raw: bytes) -> re.Match[bytes] | None:
        """The numbers of a line of this shape; None for any other line."""
        match = self.pattern.fullmatch(raw)
        return None if match and self.commas and _DECIMAL_COMMA.search(raw) else match

    def reading_of(self, match: re.Match[bytes]) -> Reading:
        """A matched line as the full parser would read it."""
        values = list(self.reading.values)  # those without digits, as NaN, are those of the first line
        for place, text in zip(self.places, match.groups(), strict=True):
            values[place] = float(text.replace(b",", b"_") if self.commas else text)
        return self.reading._replace(values=values, time=self.time(match.string))

    def time(self, raw: bytes) -> float:
        """The time of a line of this shape; NaN unknown."""
        return time_in(raw[: self.reading.start].decode()) if self.reading.start else NAN

    def columns(self, matches: Sequence[re.Match[bytes]]) -> dict[int, Floats]:
        """The values of many lines, by place; only those that have digits."""
        values, texts = dict[int, Floats](), zip(*(match.groups() for match in matches), strict=True)
        for place, column in zip(self.places, texts, strict=True):
            cells = (text.replace(b",", b"_") for text in column) if self.commas else column
            values[place] = np.array(list(map(float, cells)))
        return values


class Shapes:
    """The shapes of the lines of one log, learned with the help of a ``parser``."""

    def __init__(self, parser: Parser) -> None:
        self._parser = parser
        self._learned = dict[bytes, list[Learned | None]]()  # by the line with a 0 for each run of digits
        self._n_seen = Counter[bytes]()

    def reading(self, raw: bytes) -> Reading | None:
        """The numbers of a line; None where the parser must read it."""
        variants = self._variants(raw)
        for learned in variants or ():
            if learned and (match := learned.match(raw)):
                return learned.reading_of(match)
        if variants is None or len(variants) >= _MOST_VARIANTS:
            return None
        variants.append(new := _learn(raw, self._parser))
        match = new.match(raw) if new else None
        return new.reading_of(match) if new and match else None

    def common(self, lines: Sequence[bytes]) -> Learned | None:
        """A shape that many of these lines have."""
        some = lines[:: len(lines) // _PROBES + 1]
        variants = ((raw, shape) for raw in some for shape in self._learned.get(with_zeros(raw), ()))
        matches = Counter(shape for raw, shape in variants if shape and shape.match(raw))
        learned, n = max(matches.items(), key=itemgetter(1), default=(None, 0))
        return learned if n > 1 else None

    def _variants(self, raw: bytes) -> list[Learned | None] | None:
        """The known variants of the shape of a line; None until it has been seen a few times."""
        if len(raw) > _MAX_SHAPE_BYTES:
            return None
        shape = with_zeros(raw)
        if (variants := self._learned.get(shape)) is None:
            if len(self._n_seen) >= _MOST_SHAPES:
                self._learned.clear()
                self._n_seen.clear()
            self._n_seen[shape] += 1
            if self._n_seen[shape] >= _FEWEST_LINES:
                self._learned[shape] = []
        return variants


class _Unclear(Exception):
    """What the digits of a line mean cannot be told."""


def _learn(raw: bytes, parser: Parser) -> Learned | None:
    """How lines like this one are read; None where it is not clear what their digits mean."""
    reading = parser(raw.decode())
    if reading is None or not raw[: reading.start].isascii():
        return None
    runs = [match.span() for match in _RUN.finditer(raw)]
    try:
        owners = [_owner(raw, span, reading, parser) for span in runs]
        numbers = {
            pair: _number_of(raw, runs, owners, reading, pair)
            for pair, value in enumerate(reading.values)
            if isfinite(value)
        }
    except _Unclear:
        return None
    if any(owners[i] not in (None, pair) for pair, (own_runs, _) in numbers.items() for i in own_runs):
        return None
    # What stands in the place of each run: the same digits, or as many others.
    written = [
        owner if isinstance(owner, bytes) else rb"\d{%d}" % (end - start)
        for owner, (start, end) in zip(owners, runs, strict=True)
    ]
    for own_runs, (start, end) in numbers.values():
        for i in own_runs if b"," not in raw[start:end] else ():
            are_decimals = raw[runs[i][0] - 1 : runs[i][0]] == b"."
            if are_decimals or i == own_runs[0]:  # it is no exponent: others may be longer
                written[i] = rb"\d{1,%d}" % (_MOST_DECIMALS if are_decimals else _MOST_WHOLE)
    pair_at = {span: pair for pair, (_, span) in numbers.items()}
    spans = sorted(pair_at)
    pattern = re.compile(_pattern(raw, dict(zip(runs, written, strict=True)), spans))
    with_commas = any(b"," in raw[start:end] for start, end in spans)
    return Learned(reading, pattern, tuple(pair_at[span] for span in spans), with_commas)


def _pattern(raw: bytes, runs: Mapping[Span, bytes], groups: Iterable[Span]) -> bytes:
    """The pattern of a line: its own bytes except for the runs of digits, with groups around the numbers."""
    parts = [re.escape(raw[at : at + 1]) for at in range(len(raw))]
    for (start, end), written in runs.items():
        parts[start:end] = [written, *[b""] * (end - start - 1)]
    for start, end in groups:
        parts[start] = b"(" + parts[start]
        parts[end - 1] += b")"
    return b"".join(parts)


def _owner(raw: bytes, span: Span, reading: Reading, parser: Parser) -> int | bytes | None:
    """To which number a run of digits belongs, found out by changing them: None if they change nothing, the
    digits themselves if they must stay. Raises _Unclear if they change several numbers."""
    start, end = span
    changed = set[int]()
    for change in _CHANGES:
        text = (raw[:start] + raw[start:end].translate(change) + raw[end:]).decode()
        if end <= reading.start and words_start(text) == (reading.who, reading.start):
            continue  # the words are the same
        other = parser(text)
        if other is None or other.kind != reading.kind:
            return raw[start:end]
        values = enumerate(zip(reading.values, other.values, strict=True))
        changed |= {i for i, (before, after) in values if repr(before) != repr(after)}
    if len(changed) > 1:
        raise _Unclear
    return next(iter(changed), None)


def _number_of(
    raw: bytes, runs: Sequence[Span], owners: Sequence[int | bytes | None], reading: Reading, pair: int
) -> tuple[list[int], Span]:
    """The runs of digits of the number of a pair, where it stands. Raises _Unclear if the runs that change
    it are not all of it, or if it is a counter that may be written in another way."""
    own = [i for i, owner in enumerate(owners) if owner == pair]
    first = runs[own[0]][0] if own else 0
    lowest = first - 1 if raw[first - 1 : first] == b"." else first
    for start in (lowest, lowest - 1) if own else ():
        match = _NUMBER.match(raw, start) if start >= 0 else None
        if match and repr(float(match[0].replace(b",", b""))) == repr(reading.values[pair]):
            inside = [i for i, (low, high) in enumerate(runs) if start <= low and high <= match.end()]
            form = reading.form
            counter = pair in reading.ends or form.names[pair] in (name for *_, name in form.ranked)
            if set(own) <= set(inside) and (not counter or match[0].isdigit()):
                return inside, match.span()
            break
    raise _Unclear
