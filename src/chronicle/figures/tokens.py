"""Design tokens: the one place where colours are written, for style sheet and figures alike.

Colour has three jobs: blue is live data, grey is dead data, four hues are verdicts. A verdict is always a
shape and a word too. Contrast, and how far verdicts are apart for every eye, are measured in the tests.
"""

from __future__ import annotations

from collections.abc import Mapping

from chronicle.model import Verdict

Theme = Mapping[str, str]

LIGHT: Theme = {
    "page": "#FFFFFF", "panel": "#F5F6F8", "ink": "#18212D", "ink2": "#4A5666", "line": "#D5DAE1",
    "grid": "#E9ECF0", "accent": "#1C5CA8", "live": "#1C5CA8", "second": "#18212D", "third": "#A4480F",
    "dead": "#767D87", "good": "#00806B", "worrying": "#B57B00", "bad": "#96190B", "unexpected": "#6A45C4",
    "on_badge": "#FFFFFF", "on_worrying": "#18212D",
}  # fmt: skip
DARK: Theme = {
    "page": "#11161D", "panel": "#1A212B", "ink": "#E7EBF1", "ink2": "#A9B4C2", "line": "#313B48",
    "grid": "#222A35", "accent": "#7FB9F7", "live": "#7FB9F7", "second": "#E7EBF1", "third": "#F0A071",
    "dead": "#8A94A2", "good": "#2FBFA5", "worrying": "#E3AC35", "bad": "#FF7F6B", "unexpected": "#BBA2FF",
    "on_badge": "#11161D", "on_worrying": "#11161D",
}  # fmt: skip
TOKENS: Mapping[str, Theme] = {"light": LIGHT, "dark": DARK}

# One transparent thumbnail serves both themes: strokes that stand out on all four grounds.
THUMBNAIL: Theme = {"live": "#3B7DBF", "dead": "#808080"}

# matplotlib's names of the verdict shapes: circle, triangle, square, diamond.
SHAPES: Mapping[Verdict, str] = {
    Verdict.GOOD: "o",
    Verdict.WORRYING: "^",
    Verdict.BAD: "s",
    Verdict.UNEXPECTED: "D",
}


def on(verdict: Verdict) -> str:
    """The token that text on a badge of this verdict is written in."""
    return "on_worrying" if verdict is Verdict.WORRYING else "on_badge"


def css() -> str:
    """The tokens as custom properties ``--c-…`` for both schemes; a dark reader prints the light ones."""
    default, slate = (f'[data-md-color-scheme="{name}"]' for name in ("default", "slate"))
    blocks = [_block(default, LIGHT), _block(slate, DARK)]
    printed = _block("[data-md-color-scheme]", LIGHT)
    return "\n".join([*blocks, f"@media print {{\n{printed}\n}}\n"])


def _block(selector: str, theme: Theme) -> str:
    lines = (f"  --c-{name.replace('_', '-')}: {colour};" for name, colour in theme.items())
    return "\n".join([f"{selector} {{", *lines, "}"])
