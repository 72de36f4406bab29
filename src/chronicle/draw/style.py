"""How a figure is set up and saved. Lengths are CSS pixels: 96 to the inch, two device pixels each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from chronicle.draw.text import FONT

DPI = 192
WIDE, NARROW = 900, 344  # of a page and of a phone: drawn apart, since scaled text cannot be read

_SNAP = 8  # of 255: a colour of the palette this near to a token is the token

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


def save(figure: Figure, file: Path, tokens: Tokens | None = None) -> None:
    """Writes WebP without metadata, so that equal figures are equal bytes; transparent without tokens.

    Half of the bytes would be shades of smooth edges that nobody can tell apart. 256 colours are enough if
    those of the theme stay what they are: a page must not show where its figures begin.
    """
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = canvas.buffer_rgba()  # type: ignore[no-untyped-call]
    image = Image.frombuffer("RGBA", canvas.get_width_height(), pixels)
    if tokens:
        image = _reduced(image.convert("RGB"), tokens)
    # Method 1 takes a third of the time of the default, for as many bytes within a per cent.
    image.save(file, "WEBP", lossless=True, quality=80, method=1)


def _reduced(image: Image.Image, tokens: Tokens) -> Image.Image:
    small = image.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette = np.array(small.getpalette(), int).reshape(-1, 3)
    for colour in tokens.values():
        wanted = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        distance = np.abs(palette - wanted).max(axis=1)
        if distance.min() <= _SNAP:
            palette[distance.argmin()] = wanted
    small.putpalette(palette.ravel().tolist())
    return small.convert("RGB")


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
