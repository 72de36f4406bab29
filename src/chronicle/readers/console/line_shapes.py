"""Lines that differ in their digits alone are read alike: how, is learned from the first of them.

A trainer prints one shape of line again and again. The slow way (`prefixes.split`, `pairs.pairs`) reads the
first one, and again with each run of digits changed. A run that changes a number is part of it, one that
changes nothing (a clock, the time that is left) is free, and one that changes anything else (``top5``) has to
stay as it is. The numbers of further lines are then cut out where they stand, clocks and ranks too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from chronicle.readers.console.chunks import NAN, seconds_in, time_in

LOOKED_AT = 1000  # bytes of a line that the slow way looks at
LONGEST = 900  # bytes of a line that is learned, for numbers may grow
FEWEST = 8  # lines of a shape before it is learned
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


class Form:
    """What records have in common whose numbers have the same names: all but what depends on the numbers.

    ``words`` are that of an evaluation, and "saved" or "loaded" where a checkpoint was, "launch" where a
    training began. ``epoch`` is where
    epochs are counted (-1 for none), ``ranked`` are those that count steps where they are whole: rank, place
    and name, from the best. ``kept`` is for what records find out: by what counts, where the others stand.
    """

    Ranked = Sequence[tuple[int, int, str]]

    def __init__(self, names: tuple[str, ...], words: tuple[str, str], epoch: int, ranked: Ranked) -> None:
        self.names, self.words, self.epoch, self.ranked = names, words, epoch, ranked
        self.evaluation, self.event = words
        self.kept: dict[str, dict[str, int]] = {}


class Reading(NamedTuple):
    """The numbers of a line, by the names of the form; ``ends`` are what some of them count up to, by place.

    ``who`` is the rank that printed the line, ``at`` where its words begin.
    """

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
    """A number: of which pair, its first and last run of digits, and how far it goes beyond these."""

    pair: int
    first: int
    last: int
    before: int
    behind: int


class _Learned(NamedTuple):
    """What the slow way says of the first line of a shape, and what the runs of digits of others have to be.

    ``clock`` is where the seconds stand, see `prefixes.seconds_in`. ``runs`` are literal digits, or how many
    there may be. ``values`` and ``ends`` (a pair and a run) are cut out; ``commas`` keep thousands apart.
    """

    reading: Reading
    clock: tuple[int, ...] | None
    runs: tuple[bytes | range, ...]
    values: Sequence[_Token]
    ends: Sequence[tuple[int, int]]
    commas: bool

    def fits(self, raw: bytes, runs: Sequence[Span]) -> bool:
        """Whether the runs of another line may be what those of the learned one are."""
        return all(
            raw[start:end] == run if isinstance(run, bytes) else end - start in run
            for run, (start, end) in zip(self.runs, runs, strict=True)
        )


class _Cut(NamedTuple):
    """Where all this stands in lines with as many digits in each run."""

    learned: _Learned
    values: tuple[tuple[int, int, int], ...]
    ends: tuple[tuple[int, Span], ...]
    literals: tuple[tuple[int, int, bytes], ...]

    @classmethod
    def of(cls, learned: _Learned, runs: Sequence[Span]) -> _Cut:
        tokens, spans = learned.values, zip(runs, learned.runs, strict=True)
        values = (
            (token.pair, runs[token.first][0] - token.before, runs[token.last][1] + token.behind)
            for token in tokens
        )
        ends = ((pair, runs[run]) for pair, run in learned.ends)
        literals = ((*span, run) for span, run in spans if isinstance(run, bytes))
        return cls(learned, tuple(values), tuple(ends), tuple(literals))


class Shapes:
    """The shapes of the lines of one log. ``read`` is the slow way: None for what is no record of its own."""

    def __init__(self, read: Callable[[str], Reading | None]) -> None:
        self._read = read
        self._cuts: dict[bytes, list[_Cut]] = {}
        self._learned: dict[bytes, list[_Learned | None]] = {}
        self._seen = Counter[bytes]()

    def reading(self, raw: bytes) -> Reading | None:
        """The numbers of a line; None where the slow way has to read it."""
        shape = raw.translate(_LIKE)
        cuts, cut = self._cuts.get(shape), None
        for candidate in cuts or ():
            if not candidate.literals or all(
                raw[start:end] == digits for start, end, digits in candidate.literals
            ):
                cut = candidate
                break
        if cut is None and (cuts is None or 0 < len(cuts) < _MOST_FORMS):
            cut = self._new_cut(raw, shape)
        if cut is None:
            return None
        learned, places, ends, _ = cut
        if learned.commas and _DECIMAL_COMMA.search(raw):
            return None
        form, _, _, who, at, _ = learned.reading
        plain = raw.replace(b",", b"_") if learned.commas else raw  # as Python parts thousands
        values = list(learned.reading.values)  # what stands in no digits, as NaN, stays
        for pair, start, end in places:
            values[pair] = float(plain[start:end])
        ends_of = {pair: int(raw[start:end]) for pair, (start, end) in ends} if ends else {}
        time = _time(raw[:at], learned.clock) if at and learned.clock != () else NAN
        return Reading(form, values, ends_of, who, at, time)

    def _new_cut(self, raw: bytes, shape: bytes) -> _Cut | None:
        """How a line of this shape, or with other literal digits than so far, is cut: kept for others."""
        if len(raw) > LOOKED_AT or not raw.isascii():
            return None
        if max(len(self._cuts), len(self._seen)) >= _MOST_SHAPES:
            for kept in (self._cuts, self._learned, self._seen):
                kept.clear()
        runs = [match.span() for match in _RUN.finditer(raw)]
        collapsed = _RUN.sub(b"0", raw)
        alike = self._learned.get(collapsed)
        if alike is None and len(raw) <= LONGEST:
            self._seen[collapsed] += 1  # what comes a few times alone is not worth it
            if self._seen[collapsed] >= FEWEST:
                self._learned[collapsed] = []
            return None
        cuts = self._cuts.setdefault(shape, [])
        if alike is None:
            return None
        learned = next((known for known in alike if known and known.fits(raw, runs)), None)
        if learned is None and len(alike) < _MOST_FORMS:
            learned = _learn(raw, runs, self._read)
            alike.append(learned)
        if learned is None:
            return None
        cuts.append(_Cut.of(learned, runs))
        return cuts[-1]


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


def _learn(raw: bytes, runs: Sequence[Span], read: Callable[[str], Reading | None]) -> _Learned | None:
    """What the runs of digits of a line are; None where they cannot be told apart."""
    reading = read(raw.decode())
    owners = [_owner(raw, span, reading, read) for span in runs] if reading else []
    if reading is None or any(isinstance(owner, set) for owner in owners):
        return None
    tokens = [
        _token(raw, runs, i, owners, reading) for i, value in enumerate(reading.values) if isfinite(value)
    ]
    counted = [(run, owner) for run, owner in enumerate(owners) if isinstance(owner, tuple)]
    ends = [(owner[1], run) for run, owner in counted if owner[0] == _OF]
    limits: list[bytes | range] = [
        owner if isinstance(owner, bytes) else range(end - start, end - start + 1)
        for owner, (start, end) in zip(owners, runs, strict=True)
    ]
    parted = False
    for token in tokens:
        if token is None:
            return None
        commas = b"," in raw[runs[token.first][0] : runs[token.last][1]]
        parted |= commas
        for run in range(token.first, token.last + 1):
            if owners[run] not in (None, (_VALUE, token.pair)):
                return None
            decimals = raw[runs[run][0] - 1 : runs[run][0]] == b"."
            if not commas and (decimals or run == token.first):  # it is no exponent
                limits[run] = range(1, (_MOST_DECIMALS if decimals else _MOST_WHOLE) + 1)
    if {pair for pair, _ in ends} != reading.ends.keys():
        return None
    whole = [token for token in tokens if token]
    return _Learned(reading, seconds_in(raw[: reading.at].decode()), tuple(limits), whole, ends, parted)


def _owner(
    raw: bytes, span: Span, reading: Reading, read: Callable[[str], Reading | None]
) -> _Owner | set[tuple[str, int]]:
    """What a run of digits is, by what the line says with others in its place; a set for several things."""
    start, end = span
    changed = set[tuple[str, int]]()
    for table in _OTHERS:
        other = read((raw[:start] + raw[start:end].translate(table) + raw[end:]).decode())
        if other is None or other.kind != reading.kind:
            return raw[start:end]
        both = enumerate(zip(reading.values, other.values, strict=True))
        changed |= {(_VALUE, i) for i, (value, two) in both if repr(value) != repr(two)}
        changed |= {(_OF, i) for i, of in reading.ends.items() if of != other.ends[i]}
    return changed if len(changed) > 1 else next(iter(changed), None)


def _token(
    raw: bytes, runs: Sequence[Span], pair: int, owners: Sequence[object], reading: Reading
) -> _Token | None:
    """The number of a pair; None where the runs that change it are not all of it, or it may count or not."""
    own = [run for run, owner in enumerate(owners) if owner == (_VALUE, pair)]
    first = runs[own[0]][0] if own else 0
    lowest = first - 1 if raw[first - 1 : first] == b"." else first
    for start in (lowest, lowest - 1) if own else ():
        match = _NUMBER.match(raw, start) if start >= 0 else None
        if match and repr(float(match[0].replace(b",", b""))) == repr(reading.values[pair]):
            inside = [run for run, (low, high) in enumerate(runs) if start <= low and high <= match.end()]
            counting = pair in reading.ends or any(
                name == reading.form.names[pair] for _, _, name in reading.form.ranked
            )
            if not set(own) <= set(inside) or (counting and not match[0].isdigit()):
                return None
            low, high = runs[inside[0]][0], runs[inside[-1]][1]
            return _Token(pair, inside[0], inside[-1], low - start, match.end() - high)
    return None
