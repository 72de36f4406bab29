"""Pictures of the guide, drawn by plain matplotlib in the colours of the product. Lengths are CSS pixels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from chronicle.figures.sheet import FONT, LIGHT

DPI = 192


def pt(css_px: float) -> float:
    """CSS pixels in points."""
    return css_px * 0.75


def sheet(width: float, height: float) -> Figure:
    """An empty figure, without pyplot, which would keep it."""
    figure = Figure(figsize=(width / 96, height / 96), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


@contextmanager
def theme() -> Iterator[None]:
    """The style of a picture, independent of the matplotlibrc of the user."""
    settings: dict[str, object] = {
        "figure.facecolor": LIGHT["page"],
        "font.family": FONT,
        "font.size": pt(11.5),
        "lines.linewidth": pt(1.6),
        "text.color": LIGHT["ink"],
        "text.parse_math": False,
    }
    with matplotlib.style.context(["default", settings]):
        yield


def save(figure: Figure, file: Path) -> None:
    """Writes lossless WebP without metadata, so that equal figures are equal bytes."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.array(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    Image.fromarray(pixels).convert("RGB").save(file, "WEBP", lossless=True, quality=100, method=6)
