"""Lines that differ in their digits alone are read alike: how, is learned from the first of them.

A trainer prints one shape of line again and again. The slow way (`prefixes.split`, `pairs.pairs`) reads the
first one, and again with each run of digits changed. A run that changes a number is part of it, one that
changes nothing (a clock, the time that is left) is free, and one that changes anything else (``top5``) has to
stay as it is. The numbers of further lines are then cut out where they stand, clocks and ranks too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import isfinite
from typing import NamedTuple

from chronicle.readers.console.pairs import Pair
from chronicle.readers.console.prefixes import NAN, seconds_in, time_in

LONGEST = 900  # bytes of a line: the slow way looks at 1000 characters, and numbers may grow
FEWEST = 8  # lines of a shape before it is learned
_MOST_SHAPES, _MOST_FORMS = 1 << 14, 8  # shapes that are kept at once; forms that differ in literal digits
_MOST_WHOLE, _MOST_DECIMALS = 9, 17  # digits that a part of a number may have
_LIKE = bytes(48 if 48 <= byte < 58 else byte for byte in range(256))
# Digits of their own for each digit, none of them 0, in two ways.
_OTHERS = tuple(bytes.maketrans(b"0123456789", others) for others in (b"1234567891", b"3456789215"))
_RUN = re.compile(rb"\d+")
_NUMBER = re.compile(rb"[-+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?)")
_FREE, _FIVE = -1, ord("5")

_VALUE, _OF = "value", "of"  # of a pair

Span = tuple[int, int]
_Owner = tuple[str, int] | int | bytes  # the number of a pair; _FREE; digits that stay


class Told(NamedTuple):
    """What the slow way says of a line that is a record of its own.

    ``evaluation`` is the word of one, ``who`` the rank that printed the line, ``at`` where its words begin.
    ``epoch`` is the place of the pair that counts epochs (-1 for none), ``ranked`` are those that count steps
    where they are whole: rank, place and name, from the best.
    """

    pairs: Sequence[Pair]
    evaluation: str
    who: str
    at: int
    epoch: int
    ranked: Sequence[tuple[int, int, str]]

    @property
    def kind(self) -> tuple[object, ...]:
        """All but the numbers."""
        names = tuple((pair.name, bool(pair.of)) for pair in self.pairs)
        return names, self.evaluation, self.who, self.at


class Form:
    """What lines of one shape have in common: all that the slow way says of the first, but for its numbers.

    ``clock`` is where the seconds stand, see `prefixes.seconds_in`, and ``kept`` is for what its records find
    out: by what counts, the names and places of the pairs that are told.
    """

    def __init__(self, told: Told, begin: str) -> None:
        self.told = told
        self.names = tuple(pair.name for pair in told.pairs)
        self.clock = seconds_in(begin)
        self.kept: dict[str, list[tuple[str, int]]] = {}


class Reading(NamedTuple):
    """The numbers of a line: ``values`` by the names of the form, and what some of them count up to."""

    form: Form
    values: list[float]
    ends: dict[int, int]
    time: float


class _Token(NamedTuple):
    """A number: of which pair, its first and last run of digits, and how far it goes beyond these."""

    pair: int
    first: int
    last: int
    before: int
    behind: int


class _Learned(NamedTuple):
    """A form, and what its runs of digits are: literal digits, or `_FREE`, which those of numbers are too."""

    form: Form
    runs: tuple[int | bytes, ...]
    widths: tuple[int, ...]
    varying: frozenset[int]  # runs that may be longer or shorter in other lines
    values: tuple[_Token, ...]
    ends: tuple[tuple[int, int], ...]  # pair and run
    commas: bool


class _Cut(NamedTuple):
    """Where all this stands in lines with as many digits in each run."""

    form: Form
    values: tuple[Span | float, ...]
    ends: tuple[tuple[int, Span], ...]
    literals: tuple[tuple[int, int, bytes], ...]
    commas: bool


class Shapes:
    """The shapes of the lines of one log. ``read`` is the slow way: None for what is no record of its own."""

    def __init__(self, read: Callable[[str], Told | None]) -> None:
        self._read = read
        self._cuts: dict[bytes, list[_Cut]] = {}
        self._learned: dict[bytes, list[_Learned | None]] = {}
        self._seen = Counter[bytes]()

    def reading(self, raw: bytes) -> Reading | None:
        """The numbers of a line; None where the slow way has to read it."""
        shape = raw.translate(_LIKE)
        cuts = self._cuts.get(shape)
        if cuts is None:
            cuts = self._cuts_of(raw, shape)
        cut = next((one for one in cuts if not one.literals or _has(raw, one.literals)), None)
        if cut is None:
            return self._anew(raw, shape) if 0 < len(cuts) < _MOST_FORMS else None
        form, places, ends, _, commas = cut
        plain = raw.replace(b",", b"_") if commas else raw  # as Python parts thousands
        values = [
            place if type(place) is float else float(plain[place[0] : place[1]])  # type: ignore[index]
            for place in places
        ]
        at = form.told.at
        return Reading(
            form,
            values,
            {pair: int(raw[start:end]) for pair, (start, end) in ends} if ends else {},
            _time(raw[:at], form.clock) if at else NAN,
        )

    def _anew(self, raw: bytes, shape: bytes) -> Reading | None:
        """The reading of a line with other literal digits than those of its shape so far."""
        known = self._cuts[shape]
        more = self._cuts_of(raw, shape)
        self._cuts[shape] = known + more
        return self.reading(raw) if more else None

    def _cuts_of(self, raw: bytes, shape: bytes) -> list[_Cut]:
        """How a line of this shape is cut, also kept for others; [] where it is not."""
        if max(len(self._cuts), len(self._seen)) >= _MOST_SHAPES:
            for kept in (self._cuts, self._learned, self._seen):
                kept.clear()
        self._cuts[shape] = []
        if not raw.isascii() or len(raw) > LONGEST:
            return []
        runs = [match.span() for match in _RUN.finditer(raw)]
        collapsed = _RUN.sub(b"0", raw)
        alike = self._learned.get(collapsed)
        if alike is None:  # what comes a few times alone is not worth it
            del self._cuts[shape]
            self._seen[collapsed] += 1
            if self._seen[collapsed] >= FEWEST:
                self._learned[collapsed] = []
            return []
        learned = next((one for one in alike if one and _fits(one, raw, runs)), None)
        if learned is None and len(alike) < _MOST_FORMS:
            learned = _learn(raw, runs, self._read)
            alike.append(learned)
        self._cuts[shape] = [_cut(learned, runs)] if learned else []
        return self._cuts[shape]


def _has(raw: bytes, literals: Sequence[tuple[int, int, bytes]]) -> bool:
    return all(raw[start:end] == digits for start, end, digits in literals)


def _time(prefix: bytes, clock: tuple[int, ...] | None) -> float:
    """The time that a prefix tells. That of a minute is kept for all its seconds, which are below 60."""
    if clock == ():
        return NAN
    if clock is None or prefix[clock[0]] > _FIVE:
        return time_in(prefix.decode())
    start, end, begin, fraction = clock
    minute = _minute(prefix[:start], prefix[fraction:])
    return minute + int(prefix[start:end]) + float(b"0." + prefix[begin:fraction] + b"0")


@lru_cache(maxsize=1 << 10)
def _minute(before: bytes, behind: bytes) -> float:
    return time_in((before + b"00" + behind).decode())


def _learn(raw: bytes, runs: Sequence[Span], read: Callable[[str], Told | None]) -> _Learned | None:
    """What the runs of digits of a line are; None where they cannot be told apart."""
    told = read(raw.decode())
    if told is None:
        return None
    owners = [_owner(raw, span, told, read) for span in runs]
    tokens = [_token(raw, runs, i, owners, told) for i, pair in enumerate(told.pairs) if isfinite(pair.value)]
    ends = tuple(
        (owner[1], run) for run, owner in enumerate(owners) if isinstance(owner, tuple) and owner[0] == _OF
    )
    whole = [token for token in tokens if token is not None]
    inside = {run: token.pair for token in whole for run in range(token.first, token.last + 1)}
    if (
        None in owners
        or len(whole) < len(tokens)
        or any(owners[run] not in (_FREE, (_VALUE, pair)) for run, pair in inside.items())
        or len({pair for pair, _ in ends}) < sum(bool(pair.of) for pair in told.pairs)
    ):
        return None
    parted = [token for token in whole if b"," in _text(raw, runs, token)]
    varying = frozenset(
        run
        for t in whole
        if t not in parted
        for run in range(t.first, t.last + 1)
        if _varies(raw, runs, t, run)
    )
    kinds = tuple(owner if isinstance(owner, bytes) else _FREE for owner in owners)
    widths = tuple(end - start for start, end in runs)
    form = Form(told, raw[: told.at].decode())
    return _Learned(form, kinds, widths, varying, tuple(whole), ends, bool(parted))


def _owner(raw: bytes, span: Span, told: Told, read: Callable[[str], Told | None]) -> _Owner | None:
    """What a run of digits is, by what the line says with others in its place; None for several things."""
    start, end = span
    changed = set[tuple[str, int]]()
    for table in _OTHERS:
        other = read((raw[:start] + raw[start:end].translate(table) + raw[end:]).decode())
        if other is None or other.kind != told.kind:
            return raw[start:end]
        changed |= _changed(told, other)
    if len(changed) > 1:
        return None
    return changed.pop() if changed else _FREE


def _changed(told: Told, other: Told) -> set[tuple[str, int]]:
    """Which numbers are others."""
    both = list(enumerate(zip(told.pairs, other.pairs, strict=True)))
    values = {(_VALUE, i) for i, (one, two) in both if repr(one.value) != repr(two.value)}
    return values | {(_OF, i) for i, (one, two) in both if one.of != two.of}


def _token(
    raw: bytes, runs: Sequence[Span], pair: int, owners: Sequence[_Owner | None], told: Told
) -> _Token | None:
    """The number of a pair; None where the runs that change it are not all of it, or it may count or not."""
    own = [run for run, owner in enumerate(owners) if owner == (_VALUE, pair)]
    name, value, of = told.pairs[pair]
    first = runs[own[0]][0] if own else 0
    lowest = first - 1 if raw[first - 1 : first] == b"." else first
    for start in (lowest, lowest - 1) if own else ():
        match = _NUMBER.match(raw, start) if start >= 0 else None
        if match and repr(float(match[0].replace(b",", b""))) == repr(value):
            inside = [run for run, (low, high) in enumerate(runs) if start <= low and high <= match.end()]
            if not set(own) <= set(inside) or (
                (of or any(name == counting for _, _, counting in told.ranked)) and not match[0].isdigit()
            ):
                return None
            low, high = runs[inside[0]][0], runs[inside[-1]][1]
            return _Token(pair, inside[0], inside[-1], low - start, match.end() - high)
    return None


def _text(raw: bytes, runs: Sequence[Span], token: _Token) -> bytes:
    return raw[runs[token.first][0] - token.before : runs[token.last][1] + token.behind]


def _varies(raw: bytes, runs: Sequence[Span], token: _Token, run: int) -> bool:
    """Whether a run within a number is no exponent."""
    return run == token.first or raw[runs[run][0] - 1 : runs[run][0]] == b"."


def _fits(learned: _Learned, raw: bytes, runs: Sequence[Span]) -> bool:
    """Whether the runs of another line may be what those of the learned one are."""
    for run, (start, end) in enumerate(runs):
        kind, width = learned.runs[run], end - start
        if isinstance(kind, bytes):
            if raw[start:end] != kind:
                return False
        elif run not in learned.varying:
            if width != learned.widths[run]:
                return False
        elif width > (_MOST_DECIMALS if raw[start - 1 : start] == b"." else _MOST_WHOLE):
            return False
    return True


def _cut(learned: _Learned, runs: Sequence[Span]) -> _Cut:
    spans = {
        pair: (runs[first][0] - before, runs[last][1] + behind)
        for pair, first, last, before, behind in learned.values
    }
    told = learned.form.told
    return _Cut(
        learned.form,
        tuple(spans.get(i, pair.value) for i, pair in enumerate(told.pairs)),
        tuple((pair, runs[run]) for pair, run in learned.ends),
        tuple((*runs[run], kind) for run, kind in enumerate(learned.runs) if isinstance(kind, bytes)),
        learned.commas,
    )
