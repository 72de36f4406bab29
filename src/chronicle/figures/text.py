"""Text on figures: words out of logs drawn as they are, cut to the width there is."""

from __future__ import annotations

import unicodedata
from functools import cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from chronicle.metrics.values import level

FONT = "DejaVu Sans"  # it comes with matplotlib, so a figure is the same everywhere
_SHORTEST, _WIDEST_PX = 9, 12.0  # of a name in characters; of a character


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


def true_value(value: float) -> str:
    """The value beside a mark that says that the curve goes on beyond the frame."""
    return level(value) if 1e-3 <= abs(value) < 1e5 or not value else power(value, 2)


def power(value: float, digits: int) -> str:
    """A value with its power of ten: ``1.5e−4``."""
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
