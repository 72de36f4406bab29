"""How figures look: design tokens and lettering.

The tokens are the one place where colours are written, for style sheet and figures alike. Colour has three
jobs: blue is live data, grey is dead data, four hues are verdicts. A verdict is always a shape and a word
too. Contrast, and how far verdicts are apart for every eye, are measured in the tests.

Lengths are CSS pixels, 96 to the inch.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from chronicle.model import Verdict

WIDE, NARROW = 900, 344  # of a page and of a phone: drawn apart, since scaled text cannot be read
FONT = "DejaVu Sans"  # words are measured in it: it comes with matplotlib and is wider than what readers have
_SHORTEST, _WIDEST_PX = 9, 12.0  # of a name in characters; of a character

Tokens = Mapping[str, str]

_COLOURS: Mapping[str, tuple[str, str]] = {  # light, dark
    "page": ("#FFFFFF", "#11161D"), "panel": ("#F5F6F8", "#1A212B"), "ink": ("#18212D", "#E7EBF1"),
    "ink2": ("#4A5666", "#A9B4C2"), "line": ("#D5DAE1", "#313B48"), "grid": ("#E9ECF0", "#222A35"),
    "accent": ("#1C5CA8", "#7FB9F7"), "live": ("#1C5CA8", "#7FB9F7"), "second": ("#18212D", "#E7EBF1"),
    "third": ("#A4480F", "#F0A071"), "dead": ("#767D87", "#8A94A2"), "good": ("#00806B", "#2FBFA5"),
    "worrying": ("#B57B00", "#E3AC35"), "bad": ("#96190B", "#FF7F6B"), "unexpected": ("#6A45C4", "#BBA2FF"),
    "on_badge": ("#FFFFFF", "#11161D"), "on_worrying": ("#18212D", "#11161D"),
}  # fmt: skip
LIGHT: Tokens = {name: light for name, (light, _) in _COLOURS.items()}
DARK: Tokens = {name: dark for name, (_, dark) in _COLOURS.items()}
TOKENS: Mapping[str, Tokens] = {"light": LIGHT, "dark": DARK}

# One transparent thumbnail serves both themes: strokes that stand out on all four grounds.
THUMBNAIL: Tokens = {"live": "#3B7DBF", "dead": "#808080"}


def on(verdict: Verdict) -> str:
    """The token that text on a badge of this verdict is written in."""
    return "on_worrying" if verdict is Verdict.WORRYING else "on_badge"


def literal(text: str, longest: int = 80) -> str:
    """A string out of a log on one line, shortened in the middle.

    Control characters become spaces, what changes the direction of writing is dropped, and what the font
    has no shape for becomes a box.
    """
    glyphs = _glyphs()
    visible = (" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in text[:4000])
    shown = (c if ord(c) in glyphs else "□" for c in visible if unicodedata.category(c) != "Cf")
    line = " ".join("".join(shown).split())
    if len(line) <= longest:
        return line or "□"
    head = (longest - 1) * 2 // 3
    return f"{line[:head]}…{line[head + 1 - longest :]}"


def label(name: str, unit: str | None, log: bool, width_px: float) -> str:
    """What stands above a panel: ``train/loss · nats/token, log scale``, cut to the width.

    A unit that nobody declared is left out; the table of metrics says so once.
    """
    words = [*([literal(unit, 24)] if unit else []), *["log scale"] * log]
    shown, tail = literal(name), "  ·  " * bool(words) + ", ".join(words)
    if text_px(shown + tail) > width_px:
        tail = tail.replace("  ·  ", " · ").replace("log scale", "log")
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


@cache
def _font() -> FT2Font:
    return font_manager.get_font(font_manager.findfont(FONT))


@cache
def _glyphs() -> frozenset[int]:
    return frozenset(_font().get_charmap())
