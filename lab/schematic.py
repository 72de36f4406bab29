"""Schematics of the patterns as SVG on CSS variables: `python -m lab.schematic` draws gallery/sketches/ anew,
and writes the variables, the tokens of all figures, into templates/assets/tokens.css.

One drawing serves both themes and print. Of a wide one and one for phones the style sheet shows one by
width; a small one is for look-alike cards. Class names (``ch-sch``, ``s-live``, ...) are those of the style
sheet; what it does not know is styled in place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

from chronicle.classify.patterns import BY_ID
from chronicle.figures.sheet import DARK, LIGHT, Tokens, on
from chronicle.model import VERDICTS
from lab.sketches import SHAPES, Curve, Point, Sketch

STYLES = {
    "second": "stroke:var(--c-second);stroke-width:1.8;stroke-dasharray:7 2.5",
    "trend": "stroke:var(--c-ink2);stroke-width:1.2;stroke-dasharray:3 4",
}
STRIP_TOP, PANEL_FOOT = 0.27, 0.36  # shares of the height that the strip and the upper panel begin at
KEY_PX = 20


@dataclass(frozen=True)
class Canvas:
    """Where a sketch is drawn, in CSS pixels. ``foot`` and ``head`` are kept free of curves."""

    width: int
    height: int
    head: int
    foot: int
    kind: str
    key: bool = False  # numbers in the drawing, their words in a key below it

    def at(self, point: Point, *, strip: bool, split: bool) -> Point:
        """Pixels of a point of the sketch; ``split`` says that a strip takes the lower part."""
        x, y = point
        if split:
            y = y * STRIP_TOP if strip else PANEL_FOOT + y * (1 - PANEL_FOOT)
        return x * self.width, self.height - self.foot - y * (self.height - self.foot - self.head)


WIDE = Canvas(900, 260, head=22, foot=24, kind="wide")
NARROW = Canvas(344, 230, head=22, foot=22, kind="narrow", key=True)
SMALL = Canvas(220, 96, head=6, foot=8, kind="small")


def drawings() -> Iterator[tuple[str, str]]:
    """Name and text of each file: a wide and a narrow drawing with labels, and the shape alone."""
    for pattern_id in SHAPES:
        for canvas in (WIDE, NARROW, SMALL):
            yield f"{pattern_id}-{canvas.kind}.svg", _svg(pattern_id, canvas)


def css() -> str:
    """The tokens as custom properties ``--c-…``, the dark ones only on screens, as paper is always light.
    In an element with a verdict, ``--v`` is its colour and ``--on`` that of text on it."""

    def block(selector: str, tokens: Tokens) -> str:
        lines = (f"  --c-{name.replace('_', '-')}: {colour};" for name, colour in tokens.items())
        return "\n".join([f"{selector} {{", *lines, "}"])

    dark = block('[data-md-color-scheme="slate"]', DARK)
    verdicts = (
        f'[data-v="{v}"] {{ --v: var(--c-{v}); --on: var(--c-{on(v).replace("_", "-")}); }}' for v in VERDICTS
    )
    return "\n".join([block("[data-md-color-scheme]", LIGHT), f"@media screen {{\n{dark}\n}}", *verdicts, ""])


def _svg(pattern_id: str, canvas: Canvas) -> str:
    sketch, pattern = SHAPES[pattern_id], BY_ID[pattern_id]
    key = [label for label in sketch.labels if label.number] if canvas.key else []
    height = canvas.height + KEY_PX * len(key)
    parts = [
        f'<svg class="ch-sch {canvas.kind}" viewBox="0 0 {canvas.width} {height}" role="img"'
        f' data-v="{pattern.verdict}">',
        f"<title>{escape(pattern.title)}</title><desc>{escape(sketch.says)}</desc>",
        *_ground(sketch, canvas),
        *_lines(sketch, canvas),
    ]
    if canvas is not SMALL:
        parts += _words(sketch, canvas)
    parts += [_text(6, canvas.height + KEY_PX * i + 10, f"{k.number}  {k.text}") for i, k in enumerate(key)]
    return "".join(parts) + "</svg>"


def _ground(sketch: Sketch, canvas: Canvas) -> list[str]:
    """Axis, band, joins and the level that a rule draws: everything under the curves."""
    base = canvas.height - canvas.foot + 4
    parts = []
    if sketch.band and canvas is not SMALL:
        left, right = (share * canvas.width for share in sketch.band)
        parts.append(
            f'<rect class="s-band" x="{left:.1f}" y="{canvas.head - 6}" width="{right - left:.1f}"'
            f' height="{base - canvas.head + 6}"/>'
        )
    feet: list[float] = [base]
    if sketch.strip:
        feet.append(canvas.at((0, -0.04), strip=False, split=True)[1])
    parts += [f'<line class="s-axis" x1="0" x2="{canvas.width}" y1="{y:.1f}" y2="{y:.1f}"/>' for y in feet]
    for x in sketch.joins:
        px = x * canvas.width
        parts.append(f'<line class="s-join" x1="{px:.1f}" x2="{px:.1f}" y1="{canvas.head - 6}" y2="{base}"/>')
    if sketch.rule is not None:
        level = Curve((lambda _: sketch.rule or 0.0,), "trend", (0.0, 1.0), rough=0)
        parts.append(_path(level, canvas, strip=bool(sketch.strip), split=bool(sketch.strip), seed=0))
    return parts


def _lines(sketch: Sketch, canvas: Canvas) -> list[str]:
    split = bool(sketch.strip)
    parts = [_path(c, canvas, strip=False, split=split, seed=i) for i, c in enumerate(sketch.curves)]
    parts += [_path(c, canvas, strip=True, split=split, seed=i + 9) for i, c in enumerate(sketch.strip)]
    arm = 3 if canvas is SMALL else 5
    for point in sketch.cross:
        x, y = canvas.at(point, strip=False, split=split)
        d = f"M{x - arm:.1f} {y - arm:.1f}l{2 * arm} {2 * arm}m0 {-2 * arm}l{-2 * arm} {2 * arm}"
        parts.append(f'<path style="stroke:var(--v);stroke-width:2" d="{d}"/>')
    return parts


def _path(curve: Curve, canvas: Canvas, *, strip: bool, split: bool, seed: int) -> str:
    pixels = [canvas.at(point, strip=strip, split=split) for point in curve.points(seed)]
    d = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in _seen(pixels, 2 if canvas is SMALL else 1))
    look = f'style="{STYLES[curve.kind]}"' if curve.kind in STYLES else f'class="s-{curve.kind}"'
    return f'<path {look} d="{d}"/>'


def _seen(pixels: list[Point], apart: float) -> Iterator[Point]:
    """Without the points that nobody could tell from the one before them; a page holds many drawings, and the
    index of patterns a small one of each."""
    last = pixels[0]
    yield last
    for x, y in pixels[1:]:
        if x - last[0] >= 2 * apart or abs(y - last[1]) >= apart or (x, y) == pixels[-1]:
            last = (x, y)
            yield last


def _words(sketch: Sketch, canvas: Canvas) -> list[str]:
    """Names of the axes, then the labels: whole, or as bare numbers where a key follows."""
    parts = [_text(2, 11, sketch.y_name, bold=False)]
    if sketch.strip_name:
        y = canvas.at((0, -0.04), strip=False, split=True)[1]
        parts.append(_text(2, y + 14, sketch.strip_name, bold=False))
    parts += [_text(canvas.width - 2, canvas.height - 4, sketch.x_name, bold=False, anchor="end")]
    for label in sketch.labels:
        x, y = canvas.at((label.x, label.y), strip=label.strip, split=bool(sketch.strip))
        numbered = str(label.number) if canvas.key else f"{label.number}  {label.text}"
        words = numbered if label.number else label.text
        parts.append(_text(x, y, words, bold=bool(label.number), anchor=label.anchor))
    return parts


def _text(x: float, y: float, words: str, *, bold: bool = True, anchor: str = "start") -> str:
    look = ' class="b"' if bold else ""
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{look} x="{x:.1f}" y="{y:.1f}"{end}>{escape(words)}</text>'


if __name__ == "__main__":
    folder = Path(__file__).parent.parent / "gallery" / "sketches"
    folder.mkdir(exist_ok=True)
    for name, text in drawings():
        (folder / name).write_text(text, "utf-8")
    (folder.parent.parent / "templates" / "assets" / "tokens.css").write_text(css(), "utf-8")
