"""How a figure is set up and saved. Lengths are CSS pixels: 96 to the inch, two device pixels each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from chronicle.draw.text import FONT

DPI = 192
WIDE, NARROW = 900, 344  # of a page and of a phone: drawn apart, since scaled text cannot be read

_COLOURS = 128

Tokens = Mapping[str, str]


def pt(css_px: float) -> float:
    """CSS pixels in points."""
    return css_px * 0.75


def sheet(width: float, height: float, dpi: float = DPI) -> Figure:
    """An empty figure of a size in CSS pixels, without pyplot: nothing of it outlives its caller."""
    figure = Figure(figsize=(width / 96, height / 96), dpi=dpi)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def theme(tokens: Tokens) -> Iterator[None]:
    """The style of a theme, whatever matplotlibrc the user has."""
    with matplotlib.style.context(["default", _rc(tokens)]):
        yield


def save(figure: Figure, file: Path, *, transparent: bool = False) -> None:
    """Writes lossless WebP without metadata, so that equal figures are equal bytes."""
    figure.patch.set_visible(not transparent)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    image = Image.frombuffer("RGBA", canvas.get_width_height(), pixels)
    if not transparent:
        image = _reduced(image.convert("RGB"))
    # Method 1 takes a third of the time of the default, for as many bytes within a per cent.
    image.save(file, "WEBP", lossless=True, quality=80, method=1)


def _reduced(image: Image.Image) -> Image.Image:
    """The 128 most frequent colours as they are, the others as the nearest of these.

    Grounds, bands and strokes keep their exact colour (a median cut would merge verdicts); what goes are
    shades on smooth edges that nobody can tell apart, and with them half of the bytes.
    """
    counts: Any = image.getcolors(image.width * image.height)
    frequent = sorted(counts, key=lambda item: (-item[0], item[1]))[:_COLOURS]
    palette = Image.new("P", (1, 1))
    palette.putpalette([channel for _, colour in frequent for channel in colour])
    return image.quantize(palette=palette, dither=Image.Dither.NONE).convert("RGB")


def _rc(t: Tokens) -> dict[str, object]:
    return {
        "axes.axisbelow": True,
        "axes.edgecolor": t["line"],
        "axes.facecolor": t["page"],
        "axes.formatter.useoffset": False,
        "axes.grid": True,
        "axes.grid.axis": "y",
        "axes.linewidth": pt(1),
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.xmargin": 0,
        "figure.facecolor": t["page"],
        "font.family": FONT,
        "font.size": pt(11.5),
        "grid.color": t["grid"],
        "grid.linewidth": pt(1),
        "hatch.linewidth": pt(1),
        "lines.dash_capstyle": "butt",
        "lines.linewidth": pt(1.6),
        "lines.scale_dashes": True,
        "lines.solid_capstyle": "round",
        "lines.solid_joinstyle": "round",
        "path.simplify": False,  # curves come as one point a column already
        "text.color": t["ink"],
        "text.parse_math": False,  # a metric may be called $x_1$
        "text.usetex": False,
        "xtick.color": t["ink2"],
        "xtick.labelsize": pt(11),
        "xtick.major.size": pt(4),
        "xtick.major.width": pt(1),
        "ytick.color": t["ink2"],
        "ytick.labelsize": pt(11),
        "ytick.major.size": 0,
        "ytick.minor.size": 0,
    }
