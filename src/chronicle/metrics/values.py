"""Numbers, steps and times as pages and the command line write them, natural order of names, groups, and node
lists as schedulers write them (``nid[001-003,007]``)."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import chain, islice, product
from typing import Any, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
NARROW_SPACE = "\u202f"  # no line break can separate the thousands of "58 897"
MOST_HOSTS = 4096
FACTOR_LOG = math.log(3.0)  # a larger difference of logarithms is written as a factor, not as a percentage
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_WHOLE_NUMBER = re.compile(r"\d+")
_NUMBERED = re.compile(r"(.*?)(\d{1,18})", re.DOTALL)
_PART = re.compile(r"[^\s,\[\]]*(?:\[[\d,\-]+\][^\s,\[\]]*){0,8}")
_BRACKET = re.compile(r"\[([\d,\-]+)\]")


def gathered(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Groups the second items of pairs by the first; both keep the order in which they come."""
    groups = defaultdict[K, list[T]](list)
    for key, item in pairs:
        groups[key].append(item)
    return dict(groups)


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Groups items by their keys; both keep the order in which they come."""
    items = list(items)
    return gathered(zip(map(key, items), items, strict=True))


def count(number: float) -> str:
    """A whole number with separated thousands: ``58 897``."""
    return f"{number:,.0f}".replace(",", NARROW_SPACE)


def times_over(number: int) -> str:
    """``once``, ``twice``, ``12 times``."""
    return {1: "once", 2: "twice"}.get(number) or f"{count(number)} times"


def level(value: float | None) -> str:
    """A measured value with three or four significant digits: ``2.26``, ``0.0131``, ``1.2e-05``, ``NaN``."""
    if value is None or math.isnan(value):
        return "NaN"
    size = abs(value)
    if math.isinf(size):
        text = "∞"
    elif size >= 1e6 or 0 < size < 1e-3:
        text = f"{size:.2e}"
    elif size >= 1000:
        text = count(size)
    elif 1 <= size < 100:
        text = f"{size:.2f}"
    else:
        text = f"{size:.4g}" if size >= 100 else f"{size:.3g}"
    return f"−{text}" if value < 0 else text


_FAULTS = {word.lower(): word for word in ("Xid", "ECC", "NVLink", "NCCL", "CUDA", "GPU", "PCIe")}


def fault_words(kind: str) -> str:
    """The kind of a fault in words: ``Xid``, ``out of memory``."""
    return _FAULTS.get(kind, kind.replace("-", " "))


def value_words(value: Any) -> str:
    """A value of a log, a rule or a configuration: ``58 897``, ``2.26``, ``252 billion``, ``yes``, ``a, b``;
    "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return count(value) if float(value).is_integer() and abs(value) < 1e9 else _short(value)
    return ", ".join(map(value_words, value)) if isinstance(value, list | tuple) else str(value)


def unit_words(value: Any, unit: str | None) -> str:
    """The unit of a value, in the singular for 1: ``attempts``, ``attempt``; empty if none was declared."""
    unit = unit or ""
    return unit[:-1] if value == 1 and re.fullmatch("[a-z ]{3,}s", unit) else unit


def with_unit(value: Any, unit: str | None) -> str:
    """A value and its unit: ``30.60 s``, ``8 attempts``, ``1 attempt``."""
    return f"{value_words(value)} {unit_words(value, unit)}".strip()


def listed(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def first_few(words: Sequence[str], most: int) -> str:
    """At most so many of the words, and an ellipsis if there are more: ``a, b, …``."""
    return ", ".join([*words[:most], *["…"] * (len(words) > most)])


def clipped(text: str, longest: int) -> str:
    """The text, cut to ``longest`` characters with an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1].rstrip(" ,") + "…"


def shortened(text: str, longest: int) -> str:
    """The text, cut in its middle to ``longest`` characters: the end of a name or a path says what it is."""
    head = (longest - 1) * 2 // 3
    return text if len(text) <= longest else f"{text[:head]}…{text[head + 1 - longest :]}"


_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
)  # fmt: skip
_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def ordinal(number: int) -> str:
    """``third``; from the thirteenth on in digits: ``21st``."""
    if 0 < number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    return f"{number}{'th' if number % 100 in (11, 12, 13) else _ENDINGS.get(number % 10, 'th')}"


def plural(number: float, noun: str) -> str:
    """``1 attempt``, ``3 attempts``, ``2 relaunches``."""
    ending = "es" if noun.endswith("ch") else "s"
    return f"{count(number)} {noun}{ending * (number != 1)}"


def rounded(number: float) -> float:
    """Two significant digits, upwards."""
    if number <= 0:
        return 0.0
    size = 10.0 ** (math.floor(math.log10(number)) - 1)
    return math.ceil(round(number / size, 6)) * size


def plainly(value: float) -> str:
    """A value without a power of ten where possible: ``2.26``, ``234 million``, ``3.00 × 10⁻⁷``."""
    for size, word in ((1e9, "billion"), (1e6, "million")):
        if size <= abs(value) < 1000 * size:
            return f"{value / size:.3g} {word}".replace("-", "−")
    if 1e-4 <= abs(value) < 1:
        return f"{value:#.3g}".replace("-", "−")
    digits, _, power = level(value).partition("e")
    return f"{digits} × 10{str(int(power)).translate(_RAISED)}" if power else digits


def stated(value: Any) -> str:
    """A value of a log or a configuration for use in a sentence: numbers without trailing zeros."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        words = value_words(value)
        return shortened(words, 40) if "/" in words and " " not in words else clipped(words, 60)
    return count(value) if float(value).is_integer() and abs(value) < 1e15 else _short(value)


def _short(value: float) -> str:
    """A value without trailing zeros: ``0.0003``."""
    digits, space, power = plainly(float(value)).partition(" ")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}{space}{power}"


def percent(log_units: float) -> str:
    """A difference of logarithms as a share, ``16 %``, or if it is large as ``a factor of 4.1``."""
    if abs(log_units) > FACTOR_LOG:
        return f"a factor of {_factor(math.exp(abs(log_units)))}"
    return share(abs(math.expm1(log_units)))


def fallen(log_units: float) -> str:
    """A fall, given as a difference of logarithms: ``16 %``."""
    return percent(-log_units)


def share(part: float) -> str:
    """A part of one: ``16 %``, ``0.07 %``."""
    hundredths = 100 * part
    return f"{count(hundredths) if hundredths >= 9.5 else f'{hundredths:.1g}'} %"


def times(factor: float) -> str:
    """A factor: ``4.5 times``, ``1 300 times``."""
    return f"{_factor(factor)} times"


def _factor(factor: float) -> str:
    two_digits = float(f"{factor:.2g}")
    return f"{factor:.2g}" if factor < 9.95 else count(two_digits) if factor < 1e6 else _short(two_digits)


def duration(seconds: float) -> str:
    """``42 s``, ``7.5 h``, ``3 days``."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if abs(seconds) >= 2 * size:
            number = seconds / size
            return f"{f'{number:.1f}'.removesuffix('.0') if number < 99.95 else count(number)} {unit}"
    return f"{count(seconds)} s"


class Axis(NamedTuple):
    """What the steps of a log count: ``step``, ``epoch``, or in the plural ``million tokens``."""

    noun: str = "step"

    @property
    def unit(self) -> str:
        """The plural: ``steps``."""
        return self.noun if self.noun.endswith("s") else f"{self.noun}s"

    def sized(self, largest: float) -> tuple[float, str]:
        """By what numbers up to ``largest`` are divided, and what they then count: for thousands of ``million
        tokens`` 1000 and ``billion tokens``. What is counted one by one stays as it is."""
        word, _, counted = self.noun.partition(" ")
        is_large = word == "million" and counted and largest >= 1000
        return (1000.0, f"billion {counted}") if is_large else (1.0, self.noun)

    def _written(self, *numbers: float) -> tuple[list[str], str]:
        size, noun = self.sized(max(map(abs, numbers)))
        return [count(number) if size == 1 else f"{number / size:.2f}" for number in numbers], noun

    def place(self, *at: float) -> str:
        """``step 7 005``, ``steps 7 005 to 8 960``; ``15.69 to 16.00 billion tokens``."""
        numbers, noun = self._written(*at)
        ends = " to ".join(numbers)
        return f"{ends} {noun}" if noun.endswith("s") else f"{noun}{'s' * (len(at) > 1)} {ends}"

    def way(self, first: int, last: int) -> str:
        """``step 400 to step 361``; ``6.59 to 3.48 billion tokens``."""
        if self.noun.endswith("s"):
            return self.place(first, last)
        return f"{self.place(first)} to {self.place(last)}"

    def span(self, number: float) -> str:
        """``240 steps``, ``1 step``, ``145 million tokens``."""
        (digits,), noun = self._written(number)
        return f"{digits} {noun}" + ("" if noun.endswith("s") or digits == "1" else "s")

    def rough_span(self, number: float) -> str:
        """A span to two digits: ``170 steps``."""
        return self.span(float(f"{number:.2g}"))

    def lost(self, number: float) -> str:
        """``39 steps were discarded``, ``1 epoch was discarded``."""
        return f"{self.span(number)} {'was' if number == 1 else 'were'} discarded"


IN_STEPS = Axis()


def axis_named(nouns: Collection[str]) -> Axis:
    """The axis of attempts that count these nouns; ``step`` if there is more than one noun."""
    return Axis(*nouns) if len(nouns) == 1 else Axis()


def instant(seconds: float | None) -> str:
    """Unix seconds as ISO 8601 in UTC to the second; empty if they are unknown or out of range."""
    if seconds is None or not math.isfinite(seconds):
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return ""


def moment(time: str, otherwise: float = 0.0) -> float:
    """ISO 8601 (UTC if no zone is named) as Unix seconds; ``otherwise`` for any other text, and for what is
    not within the years 1 to 9999 in UTC."""
    try:
        instant = datetime.fromisoformat(time.strip())
        return (instant.astimezone(UTC) if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return otherwise


def distinct_names(runs: Iterable[tuple[Any, Any]]) -> dict[tuple[Any, Any], str]:
    """A distinct name for each (id, name): the name, with a part of the id if several share it."""
    distinct = list(dict.fromkeys(runs))
    shared = Counter(name for _, name in distinct)
    return {(i, name): str(name) if shared[name] == 1 else f"{name} {str(i)[:8]}" for i, name in distinct}


def natural(name: str) -> tuple[str, str]:
    """A sort key that puts run-2 before run-10: the longer of two numbers is the larger one. A number comes
    after a point and before letters, as a digit does, so that run.csv is before run2.csv."""
    return _WHOLE_NUMBER.sub(_with_length, name), name


def _with_length(number: re.Match[str]) -> str:
    digits = number[0].lstrip("0")
    return f"0{chr(len(digits))}{digits}"


def hosts_of(text: str) -> list[str]:
    """The hosts that a node list names, at most `MOST_HOSTS`; leading zeros are kept."""

    def hosts(part: str) -> Iterator[str]:  # all combinations of the numbers in its brackets
        pieces = _BRACKET.split(part)
        choices = [list(islice(_numbers(p), MOST_HOSTS)) if i % 2 else [p] for i, p in enumerate(pieces)]
        return map("".join, product(*choices))

    return list(islice(chain.from_iterable(map(hosts, filter(None, _PART.findall(text)))), MOST_HOSTS))


def short_node_list(text: str) -> str:
    """The shortest spelling of a node list that keeps the order."""
    return node_list(hosts_of(text))


def node_list(hosts: Iterable[str]) -> str:
    """The node list of these hosts, in their order: the inverse of `hosts_of`."""
    groups: list[tuple[str, list[list[str]]]] = []  # a name without its number, and its ranges of numbers
    for host in hosts:
        match = _NUMBERED.fullmatch(host)
        name, number = match.groups() if match else (host, "")
        ranges = groups[-1][1] if groups and groups[-1][0] == name and number and groups[-1][1] else []
        if not ranges:
            groups.append((name, [[number]] if number else []))
        elif number == str(int(ranges[-1][-1]) + 1).zfill(len(ranges[-1][0])):
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    folded = []
    for name, ranges in groups:
        inner = ",".join("-".join(ends) for ends in ranges)
        folded.append(f"{name}[{inner}]" if "," in inner or "-" in inner else name + inner)
    return ",".join(folded)


def _numbers(text: str) -> Iterator[str]:
    for item in filter(None, text.split(",")):
        first, _, last = item.partition("-")
        if not first.isdecimal() or len(item) > 40:
            continue
        for number in range(int(first), int(last if last.isdecimal() else first) + 1):
            yield str(number).zfill(len(first))
