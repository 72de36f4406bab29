"""The canvas of a figure: lines, shapes and words in CSS pixels, as one SVG for both themes, or as PNG.

A file opened as ``whole.svg#only-dark`` or ``#only-light`` shows that theme; else it follows the system.
matplotlib simplifies the paths and renders the PNG; its own SVG backend takes nine times the CPU time. Blue
is live data, grey is dead data, and four hues are verdicts, which also have a shape and a word.
"""

from __future__ import annotations

import io
import unicodedata
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from html import escape
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from matplotlib import font_manager
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties
from matplotlib.ft2font import FT2Font
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D, Bbox
from PIL import Image

from chronicle.metrics.values import shortened
from chronicle.model import Floats, Verdict

WIDE, NARROW = 720, 328  # the least room on a page and on a phone: a figure never has to be made smaller
FONT = "DejaVu Sans"  # in which texts are measured: it comes with matplotlib and is wider than usual fonts
_SHOWN_AS = {"Cc": " ", "Zl": " ", "Zp": " ", "Cf": "", "Cn": "□", "Co": "□", "Cs": "□"}  # by category
_SHORTEST, _WIDEST_PX = 9, 12.0  # the characters that a name keeps, and the width of the widest character
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
# A thumbnail is transparent and serves both themes: its colours stand out on all four backgrounds.
THUMBNAIL: Tokens = {"live": "#3B7DBF", "dead": "#808080"}


def on(verdict: Verdict) -> str:
    """The token for text on a badge of this verdict."""
    return "on_worrying" if verdict is Verdict.WORRYING else "on_badge"


def one_line(text: str, longest: int = 80) -> str:
    """A string from a log on one line, shortened in the middle. Control characters become spaces, characters
    that change the direction of writing are dropped, and those that no font has become boxes."""
    shown = (_SHOWN_AS.get(unicodedata.category(c), c) for c in text[:4000])
    return shortened(" ".join("".join(shown).split()), longest) or "□"


def label(name: str, unit: str | None, log: bool, width_px: float) -> str:
    """The label above a panel, ``train/loss · nats/token, log scale``, cut to the width."""
    words = ", ".join(filter(None, (unit and one_line(unit, 24), "log scale" if log else "")))
    shown, tail = one_line(name), f"  ·  {words}" if words else ""
    if text_px(shown + tail) > width_px:
        tail = tail.replace("  ·  ", " · ").replace("log scale", "log")
    longest = len(shown)
    while (excess := text_px(shown + tail) - width_px) > 0 and longest > _SHORTEST:
        longest = max(_SHORTEST, longest - max(1, int(excess / _WIDEST_PX)))
        shown = one_line(name, longest)
    if excess > 0 and unit and len(unit) > _SHORTEST:  # a short name beside a unit of wide characters
        return label(name, one_line(unit, _SHORTEST), log, width_px)
    return shown + tail


def text_px(text: str) -> float:
    """The width of a line in CSS pixels."""
    font = _font()
    font.set_size(TEXT_PX, 72)
    font.set_text(_boxed(text), 0.0)
    return float(font.get_width_height()[0]) / 64


def _boxed(text: str) -> str:
    """Text with boxes for characters that our font lacks; in a reader's font they are about as wide."""
    font = _font()
    return "".join(c if font.get_char_index(ord(c)) else "□" for c in text)


@cache
def _font() -> FT2Font:
    return font_manager.get_font(font_manager.findfont(FONT))


TEXT_PX = 11  # smaller text cannot be read
_ENLARGED_PX, _ENLARGED_TEXT_PX = 860, 9.5  # a figure that is enlarged to this width needs no larger text
HALF_CAPITAL_PX = 0.36 * TEXT_PX  # half the height of a capital letter
_BOLD = 1.09  # the width of bold letters, as a multiple of the normal width
_SIMPLER_PX = 0.1  # by so little a simplified path may differ
_HALO_PX = 4
_SHORTEST_PX = 0.01  # the length of a dot, which is a line with round ends
_PALETTE = 64  # colours of a PNG
_depth = attrgetter("z")
_FONTS = "-apple-system,'Segoe UI',Roboto,'Noto Sans','Liberation Sans',Arial,sans-serif"
Places = Sequence[float] | Floats
Box = tuple[float, float, float, float]  # left, top, width and height
Outline = tuple[Path, str, float]  # the token of its colour, and the width of the line; 0 fills the area


class Ink(NamedTuple):
    """A line through points, ``px`` wide and interrupted at NaN; with ``px`` 0, the area inside."""

    z: float
    token: str
    x: Floats
    y: Floats
    px: float
    dash: tuple[float, ...] = ()
    alpha: float = 1
    within: Box | None = None
    dots: bool = False  # a dot at each point instead of a line

    def path(self) -> Path:
        if self.dots:
            vertices = np.repeat(np.column_stack([self.x, self.y]), 2, axis=0)
            vertices[1::2] += _SHORTEST_PX  # a PNG does not show a line of no length
            return Path(vertices, [Path.MOVETO, Path.LINETO] * len(self.x))
        path = Path(np.column_stack([self.x, self.y]))
        path.simplify_threshold = _SIMPLER_PX
        return path.cleaned(remove_nans=True, simplify=True)

    def svg(self, clips: Mapping[Box, int]) -> str:
        place = f' clip-path="url(#c{clips[self.within]})"' if self.within else ""
        style = f' opacity="{self.alpha:g}"' if self.alpha < 1 else ""
        drawn = " d" if self.dots else " s"
        kind = drawn if self.px else ""
        style += f' stroke-width="{self.px:g}"' if self.px not in (0, 1) else ""
        style += f' stroke-dasharray="{_listed(d * self.px for d in self.dash)}"' if self.dash else ""
        return f'<path class="{self.token}{kind}"{style}{place} d="{_path_data(self.path(), self.dots)}"/>\n'

    def outlines(self) -> Iterator[Outline]:
        yield self.path(), self.token, self.px


class Text(NamedTuple):
    """A line of text, whose baseline begins, is centred or ends at a point."""

    z: float
    token: str
    words: str
    x: float
    y: float
    anchor: str = "start"  # or middle, or end
    bold: bool = False
    halo: bool = False  # in the colour of the page, so that the text can be read over a curve
    within: Box | None = None
    alpha: float = 1
    dash: tuple[float, ...] = ()
    dots: bool = True  # round ends

    def svg(self, clips: Mapping[Box, int]) -> str:
        anchor = f' text-anchor="{self.anchor}"' if self.anchor != "start" else ""
        weight = ' font-weight="700"' if self.bold else ""
        name, words = self.token + " h" * self.halo, escape(self.words, quote=False)
        place = f'x="{_tenths(round(10 * self.x))}" y="{_tenths(round(10 * self.y))}"'
        return f'<text class="{name}" {place}{anchor}{weight}>{words}</text>\n'

    def outlines(self) -> Iterator[Outline]:
        font = FontProperties(family=FONT, weight="bold" if self.bold else "normal")
        outline = TextPath((0, 0), _boxed(self.words), size=TEXT_PX, prop=font)
        width = text_px(self.words) * (_BOLD if self.bold else 1)
        left = self.x - width * {"start": 0, "middle": 0.5, "end": 1}[self.anchor]
        path = outline.transformed(Affine2D().scale(1, -1).translate(left, self.y))
        if self.halo:
            yield path, "page", _HALO_PX
        yield path, self.token, 0


def bold_px(words: str) -> float:
    """The width of a line of bold text in CSS pixels."""
    return text_px(words) * _BOLD


class Sheet:
    """A figure of this size in CSS pixels; items with a higher ``z`` cover the others."""

    def __init__(self, width: float, height: float, ground: bool = True) -> None:
        self.width, self.height = width, height
        self._items: list[Ink | Text] = []
        if ground:
            self.box((0, 0, width, height), "page", -1)

    @property
    def size(self) -> tuple[int, int]:
        return int(self.width), int(self.height)

    def line(self, x: Places, y: Places, token: str, z: float, px: float = 1, **style: Any) -> None:
        """A line through points; ``style`` are further fields of `Ink`."""
        across, down = (np.asarray(places, np.float64) for places in (x, y))
        if len(across):
            insort(self._items, Ink(z, token, across, down, px, **style), key=_depth)

    def lines(self, x: Floats, y: Floats, token: str, z: float, px: float = 1, **style: Any) -> None:
        rows = np.broadcast_arrays(x, y)
        gap = np.full((len(rows[0]), 1), np.nan)
        across, down = (np.hstack([places, gap]).ravel() for places in rows)
        self.line(across, down, token, z, px, **style)

    def crosses(self, x: Floats, y: float, half: float, px: float, token: str, **style: Any) -> None:
        """Diagonal crosses at one height, which reach ``half`` to every side."""
        across = np.array([-half, half])
        for down in (across, -across):
            self.lines(x[:, None] + across, y + down[None], token, 8, px, **style)

    def area(self, x: Places, y: Places, token: str, z: float, **style: Any) -> None:
        self.line(x, y, token, z, 0, **style)

    def box(self, box: Box, token: str, z: float, alpha: float = 1) -> None:
        left, top, width, height = box
        across, down = [left, left + width, left + width, left], [top, top, top + height, top + height]
        self.area(across, down, token, z, alpha=alpha)

    def write(self, words: str, x: float, y: float, token: str = "ink2", **style: Any) -> None:
        insort(self._items, Text(10, token, words, x, y, **style), key=_depth)

    def mark(self, words: str, x: float, y: float, token: str = "ink2", **style: Any) -> None:
        """Writes words whose capitals have their middle at ``y``."""
        self.write(words, x, y + HALF_CAPITAL_PX, token, **style)

    def svg(self, light: Tokens = LIGHT, dark: Tokens = DARK) -> bytes:
        """The SVG file with both themes; light is the default."""
        items = self._items
        size = f'width="{self.width:g}" height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        boxes = {box: i for i, box in enumerate(dict.fromkeys(item.within for item in items if item.within))}
        frames = ((f"M{_listed((x, y))}h{w:g}v{h:g}h{-w:g}z", i) for (x, y, w, h), i in boxes.items())
        clips = "".join(f'<clipPath id="c{i}"><path d="{frame}"/></clipPath>\n' for frame, i in frames)
        tokens = sorted({item.token for item in items})
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="only-dark" {size} fill="currentColor" '
            f'font-family="{_FONTS}" font-size="{TEXT_PX}">\n'
            f"<style>\n{_rules(tokens, light, dark)}</style>\n"
            f'{clips}<g id="only-light">\n{"".join(item.svg(boxes) for item in items)}</g>\n</svg>\n'
        ).encode()

    def png(self, scale: float, tokens: Tokens = LIGHT) -> bytes:
        """A PNG in one theme, with ``scale`` pixels per CSS pixel."""
        height = round(self.height * scale)
        renderer = RendererAgg(round(self.width * scale), height, 72)  # type: ignore[no-untyped-call]
        place = Affine2D().scale(scale, -scale).translate(0, height)
        for ink, (path, token, px) in ((item, each) for item in self._items for each in item.outlines()):
            gc = renderer.new_gc()
            gc.set_foreground(tokens[token])
            gc.set_linewidth(px * scale)
            gc.set_joinstyle("round")
            gc.set_capstyle("round" if ink.dots else "butt")
            gc.set_alpha(ink.alpha)
            gc.set_dashes(0, [length * px * scale for length in ink.dash] or None)
            if ink.within:
                left, top, across, down = (scale * length for length in ink.within)
                gc.set_clip_rectangle(Bbox.from_bounds(left, height - top - down, across, down))
            renderer.draw_path(gc, path, place, None if px else gc.get_rgb())  # type: ignore[no-untyped-call]
        image = Image.fromarray(np.asarray(renderer.buffer_rgba())).convert("RGB")  # type: ignore[no-untyped-call]
        data = io.BytesIO()
        # With a palette the file has a third of the bytes.
        image = image.quantize(_PALETTE, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        image.save(data, "png", compress_level=6)
        return data.getvalue()


def _rules(tokens: Sequence[str], light: Tokens, dark: Tokens) -> str:

    def colours(where: str, theme: Tokens) -> str:
        halo = f"{where}.h{{stroke:{theme['page']}}}" if "page" in tokens else ""
        return "".join(f"{where}.{t}{{color:{theme[t]}}}" for t in tokens) + f"{halo}\n"

    forms = (
        ".s,.d{fill:none;stroke:currentColor;stroke-linejoin:round}.d{stroke-linecap:round}"
        f".h{{paint-order:stroke;stroke-width:{_HALO_PX}px;stroke-linejoin:round}}\n"
        f"@media(min-width:{_ENLARGED_PX}px){{text{{font-size:{_ENLARGED_TEXT_PX}px}}}}\n"
    )
    if light == dark:
        return forms + colours("", light)
    alone = f"@media(prefers-color-scheme:dark){{{colours(':root:not(:has(:target)) ', dark)}}}\n"
    return forms + colours("", light) + alone + colours("#only-dark:target ", dark)


def _listed(numbers: Iterable[float]) -> str:
    return " ".join(_tenths(round(10 * number)) for number in numbers)


@lru_cache(maxsize=1 << 14)
def _tenths(number: int) -> str:
    if not number % 10:
        return str(number // 10)
    return f"{number / 10:.1f}".replace("-0.", "-.").removeprefix("0")


def _path_data(path: Path, dots: bool) -> str:
    """The ``d`` of an SVG path in tenths of a pixel, each point relative to the one before."""
    points = np.rint(10 * np.asarray(path.vertices, np.float64)).astype(np.int64)
    ways = np.diff(points, axis=0, prepend=0)
    parts, letter = [], "l"
    for code, at, way in zip(np.asarray(path.codes).tolist(), points.tolist(), ways.tolist(), strict=True):
        if code == Path.MOVETO:
            parts.append(f"M{_tenths(at[0])}{_separated(at[1])}")
            letter = "l"
        elif code == Path.LINETO:
            across = letter + _tenths(way[0]) if letter else _separated(way[0])
            parts.append("h0" if dots else f"{across}{_separated(way[1])}")
            letter = ""
    return "".join(parts)


def _separated(number: int) -> str:
    return _tenths(number) if number < 0 else f" {_tenths(number)}"
