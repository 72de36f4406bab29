"""Figures of a run: the whole of it, its lineage, one zoom a finding, and a thumbnail.

A run becomes a `Scene`, a `Plan` says what stands where at one width, and is painted by matplotlib in each
theme. The bytes depend on the run and on the versions of the libraries alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from chronicle.classify.numbering import numbered
from chronicle.figures import captions
from chronicle.figures.layout import THUMB_HEIGHT, THUMB_WIDTH, Empty, Plan, thumb, whole, zoom
from chronicle.figures.lineage import LEAST, Lineage, lineage
from chronicle.figures.scene import Scene, scene
from chronicle.figures.style import LIGHT, NARROW, TOKENS, WIDE, literal, save, theme
from chronicle.model import Diagnosis, Figure, Timeline
from chronicle.timeline.axes import OnAxis

__all__ = ["draw"]

_WIDTHS = {"": WIDE, "-narrow": NARROW}
_EMPTY = "No metric to draw: the log holds no values."

Files = dict[str, tuple[str, int, int]]


def draw(
    timeline: Timeline, diagnosis: Diagnosis, folder: Path, *, title: str, x: OnAxis | None = None
) -> tuple[Figure, ...]:
    """Draws a run into ``folder`` as lossless WebP and says what was drawn.

    With ``x`` (what `chronicle.timeline.on_axis` gives) the whole run is drawn over that axis; a zoom shows
    single steps, and the lineage shows checkpoints, so these stay over steps.

    Returns:
        "whole", "lineage" of three attempts or more, "finding-N" for the gravest findings (N as
        `chronicle.classify.numbering.numbered` counts), "thumb".
        A run without any value has only a "whole", which says so.
    """
    run = scene(timeline, diagnosis)
    if run is None:
        return (_nothing(folder, title),)
    over = scene(timeline, diagnosis, x) if x is not None else None
    return (
        _whole(over or run, folder, title, x),
        *_lineage(run, folder, title),
        *_zooms(run, folder),
        _thumb(run, folder),
    )


def _whole(run: Scene, folder: Path, title: str, x: OnAxis | None) -> Figure:
    plans = {suffix: whole(run, width) for suffix, width in _WIDTHS.items()}
    alt, caption = captions.whole_alt(title, run, plans[""]), captions.whole_caption(run, plans[""])
    if x is not None and x.axis != "step":
        caption += f" x axis: {x.axis}s ({literal(x.how)})."
    return Figure("whole", _painted("whole", plans, folder), alt, caption)


def _lineage(run: Scene, folder: Path, title: str) -> Iterator[Figure]:
    if len(run.bars) < LEAST:
        return
    timeline = replace(run.timeline, joins=run.diagnosis.joins)  # with what the classifier says of each
    found = ((suffix, lineage(timeline, run.axis, width)) for suffix, width in _WIDTHS.items())
    plans = {suffix: plan for suffix, plan in found if plan is not None}
    yield Figure("lineage", _painted("lineage", plans, folder), *plans[""].words(title))


def _zooms(run: Scene, folder: Path) -> Iterator[Figure]:
    diagnosed = dict(numbered(run.diagnosis))
    for item in run.zooms():
        name = f"finding-{item.number}"
        plans = {suffix: zoom(run, item, width) for suffix, width in _WIDTHS.items()}
        alt = captions.zoom_alt(item.number, diagnosed[item.number], plans[""])
        yield Figure(name, _painted(name, plans, folder), alt, captions.zoom_caption(plans[""]))


def _thumb(run: Scene, folder: Path) -> Figure:
    with theme(LIGHT):
        save(thumb(run), folder / "thumb.webp", transparent=True)
    return Figure("thumb", {"any": ("thumb.webp", THUMB_WIDTH, THUMB_HEIGHT)}, alt="")


def _nothing(folder: Path, title: str) -> Figure:
    plans = {suffix: Empty(width, _EMPTY) for suffix, width in _WIDTHS.items()}
    return Figure("whole", _painted("whole", plans, folder), f"{literal(title)}: {_EMPTY}")


def _painted(name: str, plans: Mapping[str, Plan | Lineage | Empty], folder: Path) -> Files:
    """The files of a figure: light, light-narrow, dark, dark-narrow, each with its width and height."""
    files = {}
    for theme_name, tokens in TOKENS.items():
        for suffix, plan in plans.items():
            variant = theme_name + suffix
            file = f"{name}-{variant}.webp"
            with theme(tokens):
                save(plan.paint(tokens), folder / file)
            files[variant] = (file, int(plan.width), int(plan.height))
    return files
