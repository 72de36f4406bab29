"""The figures of docs/classifier-measured.md, in the colours of the product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from benchmarks.classifier import confidences, page, tables
from benchmarks.classifier.judging import Judged
from benchmarks.pictures import pt, save, sheet, theme
from chronicle.figures.sheet import LIGHT

COLUMNS = 4


def recall(rows: Sequence[Judged]) -> None:
    """One panel for each kind of event: the share that was found, and the share found under a right name, by
    height."""
    kinds = tables.grouped(rows, lambda r: r.kind)
    down = -(-len(kinds) // COLUMNS)
    with theme():
        figure = sheet(900, 40 + 165 * down)
        axes = figure.subplots(down, COLUMNS, sharex=True, sharey=True, squeeze=False).ravel()
        for ax, (kind, group) in zip(axes, kinds.items(), strict=False):
            _panel(ax, kind, group)
        for ax in axes[len(kinds) :]:
            ax.set_visible(False)
        axes[0].text(8, 0.24, "found", color=LIGHT["live"], fontsize=pt(11))
        axes[0].text(8, 0.1, "under the right name", color=LIGHT["third"], fontsize=pt(11))
        figure.supxlabel("share of events by their height, noise scales of one logged point", fontsize=pt(12))
        figure.tight_layout(pad=0.6)
        save(figure, page.PICTURES / "recall.webp")


def _panel(ax: Axes, kind: str, group: Sequence[Judged]) -> None:
    by_height = tables.grouped(group, lambda r: r.height)
    heights = sorted(by_height)
    for share, colour, style in (
        (lambda r: r.found, LIGHT["live"], "-"),
        (lambda r: r.strict, LIGHT["third"], "--"),
    ):
        shares = [tables.mean(share(r) for r in by_height[h]) for h in heights]
        ax.plot(heights, shares, style, color=colour, marker="o", markersize=pt(4), clip_on=False)
    ax.set_xscale("log")
    ax.set_xlim(2.8, 54)
    ax.set_xticks([3, 5, 8, 12, 20, 50], labels=["3", "5", "8", "12", "20", "50"], minor=False)
    ax.set_xticks([], minor=True)
    ax.set_ylim(0, 1.02)
    ax.set_yticks([0, 0.5, 1], labels=["0", "½", "1"])
    ax.set_title(kind, fontsize=pt(12), loc="left", color=LIGHT["ink"])
    _plain(ax)


def _plain(ax: Axes) -> None:
    ax.grid(True, color=LIGHT["grid"], linewidth=pt(1))
    ax.tick_params(length=0, labelsize=pt(10.5), colors=LIGHT["ink2"])
    for spine in ax.spines.values():
        spine.set_color(LIGHT["line"])
        spine.set_linewidth(pt(1))


def reliability(said: Sequence[confidences.Said]) -> None:
    """Share of right findings by confidence: as the rules state it, and after a calibration without the
    source of the finding."""
    raw = np.array([s.evidence for s in said])
    with theme():
        figure = sheet(560, 460)
        ax = figure.subplots()
        ax.plot([0, 1], [0, 1], color=LIGHT["dead"], linewidth=pt(1))
        ax.text(0.06, 0.1, "as sure as right", rotation=38, color=LIGHT["ink2"], fontsize=pt(11))
        _dots(ax, confidences.reliability(said, raw), LIGHT["third"], "s", "as the rules say")
        out = confidences.cross_validated(said)
        _dots(ax, confidences.reliability(said, out), LIGHT["live"], "o", "calibrated without its source")
        ax.set_xlim(0, 1.02)
        ax.set_ylim(0, 1.02)
        ax.set_xlabel("confidence", fontsize=pt(12))
        ax.set_ylabel("share of findings that were right", fontsize=pt(12))
        ax.legend(loc="lower right", frameon=False, fontsize=pt(11))
        _plain(ax)
        figure.tight_layout(pad=0.8)
        save(figure, page.PICTURES / "reliability.webp")


def _dots(ax: Axes, points: Sequence[tuple[float, float, int]], colour: str, mark: str, label: str) -> None:
    """Bins as dots whose area grows with their number of findings; the bars are two standard errors."""
    given, right, many = (np.array(x, float) for x in zip(*points, strict=True))
    error = 2 * np.sqrt(np.maximum(right * (1 - right), 0.01) / many)
    style: dict[str, Any] = {"color": colour, "linewidth": pt(1), "capsize": 0, "fmt": "none", "alpha": 0.6}
    ax.errorbar(given, right, yerr=np.clip(error, 0, np.stack([right, 1 - right])), **style)
    ax.scatter(given, right, s=12 + 2.5 * np.sqrt(many), color=colour, marker=mark, label=label, zorder=3)
