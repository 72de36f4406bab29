"""Figures of a run: the whole of it, one zoom a finding, and a thumbnail.

A run becomes a `Subject`, a `Plan` says what stands where at one width, and `paint` turns a plan into a
matplotlib figure in one theme. The bytes depend on the run and on the versions of the libraries alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from chronicle.figures import captions
from chronicle.figures.lineage import LEAST, lineage, lineage_words, paint_lineage
from chronicle.figures.paint import empty, paint
from chronicle.figures.plan import Plan
from chronicle.figures.style import NARROW, WIDE, Tokens, save, theme
from chronicle.figures.subject import Subject, subject
from chronicle.figures.text import literal
from chronicle.figures.thumb import HEIGHT, WIDTH, thumb
from chronicle.figures.tokens import LIGHT, TOKENS
from chronicle.figures.whole import whole
from chronicle.figures.zoom import zoom, zooms
from chronicle.model import Diagnosis, Figure, Finding, Timeline
from chronicle.timeline.axes import OnAxis

__all__ = ["draw"]


_WIDTHS = {"": WIDE, "-narrow": NARROW}
_EMPTY = "No metric to draw: the log holds no values."


def draw(
    timeline: Timeline, diagnosis: Diagnosis, folder: Path, *, title: str, x: OnAxis | None = None
) -> tuple[Figure, ...]:
    """Draws a run into ``folder`` as lossless WebP and says what was drawn.

    With ``x`` (what `chronicle.timeline.on_axis` gives) the whole run is drawn over that axis; a zoom shows
    single steps, and the lineage shows checkpoints, so these stay over steps.

    Returns:
        "whole", "lineage" of three attempts or more, "finding-N" for the gravest findings (N as
        `chronicle.classify.restarts.numbered` counts), "thumb".
        A run without any value has only a "whole", which says so.
    """
    run = subject(timeline, diagnosis)
    if run is None:
        return (_nothing(folder, title),)
    over = subject(timeline, diagnosis, x) if x is not None else None
    over = over or run
    return (
        _whole(over, folder, title, x),
        *_lineage(run, folder, title),
        *(_zoom(run, folder, *item) for item in zooms(run)),
        _thumb(run, folder),
    )


def _whole(run: Subject, folder: Path, title: str, x: OnAxis | None) -> Figure:
    plans = {suffix: whole(run, width) for suffix, width in _WIDTHS.items()}
    findings = list(run.marks.findings)
    alt = captions.whole_alt(title, plans[""], findings, len(run.marks.joins))
    caption = captions.whole_caption(plans[""], len(findings) - len(run.marks.badges))
    if x is not None and x.axis != "step":
        caption += f" x axis: {x.axis}s ({literal(x.how)})."
    return Figure("whole", _paint_all("whole", plans, folder), alt, caption)


def _lineage(run: Subject, folder: Path, title: str) -> Iterator[Figure]:
    if len(run.bars) < LEAST:
        return
    files = {}
    timeline = replace(run.timeline, joins=run.diagnosis.joins)  # with what the classifier says of each
    for variant, suffix, tokens in _variants():
        plan, file = lineage(timeline, run.axis, _WIDTHS[suffix]), f"lineage-{variant}.webp"
        assert plan is not None  # there are bars enough
        with theme(tokens):
            save(paint_lineage(plan, tokens), folder / file)
        files[variant] = (file, int(plan.width), int(plan.height))
        alt, caption = lineage_words(plan, title)
    yield Figure("lineage", files, alt, caption)


def _zoom(run: Subject, folder: Path, number: int, finding: Finding) -> Figure:
    plans = {suffix: zoom(run, number, finding, width) for suffix, width in _WIDTHS.items()}
    name, alt = f"finding-{number}", captions.zoom_alt(number, finding, plans[""])
    return Figure(name, _paint_all(name, plans, folder), alt, captions.zoom_caption(plans[""]))


def _thumb(run: Subject, folder: Path) -> Figure:
    with theme(LIGHT):
        save(thumb(run), folder / "thumb.webp", transparent=True)
    return Figure("thumb", {"any": ("thumb.webp", WIDTH, HEIGHT)}, alt="")


def _nothing(folder: Path, title: str) -> Figure:
    files = {}
    for variant, suffix, tokens in _variants():
        width = _WIDTHS[suffix]
        with theme(tokens):
            save(empty(width, _EMPTY, tokens), folder / f"whole-{variant}.webp")
        files[variant] = (f"whole-{variant}.webp", width, 80)
    return Figure("whole", files, f"{literal(title)}: {_EMPTY}")


def _paint_all(name: str, plans: dict[str, Plan], folder: Path) -> dict[str, tuple[str, int, int]]:
    files = {}
    for variant, suffix, tokens in _variants():
        plan, file = plans[suffix], f"{name}-{variant}.webp"
        with theme(tokens):
            save(paint(plan, tokens), folder / file)
        files[variant] = (file, int(plan.width), int(plan.height))
    return files


def _variants() -> Iterator[tuple[str, str, Tokens]]:
    """light, light-narrow, dark, dark-narrow: the key of a file, its width's suffix, its tokens."""
    for name, tokens in TOKENS.items():
        for suffix in _WIDTHS:
            yield name + suffix, suffix, tokens
