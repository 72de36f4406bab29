"""Text on figures: words out of logs drawn as they are, and numbers short enough for an axis."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from matplotlib import font_manager, ticker
from matplotlib.ft2font import FT2Font

from chronicle.words import count, level

FONT = "DejaVu Sans"  # it comes with matplotlib, so a figure is the same everywhere
_SHORTEST, _WIDEST_PX = 9, 12.0  # of a name in characters; of a character
_LONGEST_TICK = 7  # characters that fit left of a panel


def literal(text: str, longest: int = 80) -> str:
    """A string out of a log on one line, shortened in the middle.

    Control characters become spaces, what changes the direction of writing is dropped, and what the font
    has no shape for becomes a box.
    """
    shapes = _shapes()
    kept = (" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text[:4000])
    shown = (c if ord(c) in shapes else "□" for c in kept if unicodedata.category(c) != "Cf")
    line = " ".join("".join(shown).split())
    if len(line) <= longest:
        return line or "□"
    head = (longest - 1) * 2 // 3
    return f"{line[:head]}…{line[head + 1 - longest :]}"


def label(name: str, unit: str | None, log: bool, width_px: float) -> str:
    """What stands above a panel: ``train/loss · nats/token, log scale``, cut to the width."""
    said = literal(unit, 24) if unit else "unit not declared"
    shown, tail = literal(name), f"  ·  {said}{', log scale' * log}"
    if text_px(shown + tail) > width_px:
        tail = f" · {said}{', log' * log}"
    longest = len(shown)
    while (excess := text_px(shown + tail) - width_px) > 0 and longest > _SHORTEST:
        longest = max(_SHORTEST, longest - max(1, int(excess / _WIDEST_PX)))
        shown = literal(name, longest)
    return shown + tail


def text_px(text: str, size_px: float = 11.5) -> float:
    """The width of a line in CSS pixels."""
    font = _font()
    font.set_size(size_px, 72)
    font.set_text(text, 0.0)
    return float(font.get_width_height()[0]) / 64


def step_labels(ticks: Sequence[float]) -> list[str]:
    """Steps on an axis: ``15 k``, ``1.2 M``; in full where a shorter form would repeat itself."""
    largest = max(map(abs, ticks), default=0)
    for size, unit, least in ((1e6, " M", 1e6), (1e3, " k", 1e4)):
        shown = [f"{tick / size:g}{unit}" if tick else "0" for tick in ticks]
        if largest >= least and len(set(shown)) == len(ticks) and max(map(len, shown)) <= _LONGEST_TICK:
            return shown
    return [count(tick) for tick in ticks]


def value_labels(ticks: Sequence[float]) -> list[str]:
    """Values on an axis, all with as many digits as tell them apart: ``2.05``, ``1.5e−4``."""
    largest = max(map(abs, ticks), default=0)
    if not ticks:
        return []
    for form in (f".{n}f" for n in range(6)) if 1e-3 <= largest < 1e6 or not largest else ():
        texts = [count(tick) if form == ".0f" else f"{tick:{form}}" for tick in ticks]
        if (
            _exact([float(f"{tick:{form}}") for tick in ticks], ticks)
            and max(map(len, texts)) <= _LONGEST_TICK
        ):
            return [text.replace("-", "−") for text in texts]
    for digits in range(5):
        if _exact([float(f"{tick:.{digits}e}") for tick in ticks], ticks):
            break
    return [_power(tick, digits) for tick in ticks]


def log_ticks(low: float, high: float) -> list[float]:
    """At most five ticks of a logarithmic axis: whole decades, and some between where they are few."""
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    if last - first >= 2:
        stride = -(-(last - first + 1) // 5)
        return [10.0**power for power in range(-(-first // stride) * stride, last + 1, stride)]
    leads = (1, 2, 5) if high / low < 50 else (1, 3)
    ticks = [lead * 10.0**power for power in range(first - 1, last + 1) for lead in leads]
    inside = [tick for tick in ticks if low <= tick <= high]
    return inside if inside else [math.sqrt(low * high)]


def log_label(value: float) -> str:
    """A value on a logarithmic axis: ``0.1``, ``100``, ``1e-6``."""
    return f"{value:g}" if 1e-3 <= abs(value) < 1e5 else _power(value, 0)


def true_value(value: float) -> str:
    """The value beside a mark that says that the curve goes on beyond the frame."""
    return level(value) if 1e-3 <= abs(value) < 1e5 or not value else _power(value, 2)


class Labels(ticker.Formatter):
    """A tick formatter that sees all ticks at once."""

    def __init__(self, texts: object) -> None:
        self.texts = texts

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """The labels of all ticks."""
        return self.texts(list(values))  # type: ignore[no-any-return, operator]

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label of one tick."""
        return self.format_ticks([x])[0]


def _exact(said: Sequence[float], ticks: Sequence[float]) -> bool:
    """Whether labels that say ``said`` are off by less than a hundredth of the distance of two ticks."""
    gap = min((b - a for a, b in pairwise(ticks) if b > a), default=max(map(abs, ticks), default=1))
    return all(abs(a - b) <= 0.01 * gap for a, b in zip(said, ticks, strict=True))


def _power(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    if "." in mantissa:
        mantissa = mantissa.rstrip("0").rstrip(".")
    return f"{mantissa}e{int(exponent)}".replace("-", "−")


@cache
def _font() -> FT2Font:
    return font_manager.get_font(font_manager.findfont(FONT))


@cache
def _shapes() -> frozenset[int]:
    return frozenset(_font().get_charmap())
