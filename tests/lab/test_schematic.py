"""The schematics: well formed, told apart, and legible at both widths."""

from __future__ import annotations

import re
from functools import cache
from itertools import combinations
from xml.etree import ElementTree

import pytest
from lab import schematic
from lab.sketches import SHAPES

from chronicle.classify.patterns import BY_ID, PATTERNS
from chronicle.figures.sheet import LIGHT
from chronicle.workspace.folders import shipped_file

IDS = [p.id for p in PATTERNS]
REGULAR_PX, BOLD_PX, LINE_PX = 5.8, 6.3, 12  # width of a character and height of a line of 12 px text


@cache
def files() -> dict[str, str]:
    return dict(schematic.drawings())


def drawings(pattern_id: str) -> list[ElementTree.Element]:
    """Wide, narrow and small drawing of a pattern."""
    texts = [files()[f"{pattern_id}-{kind}.svg"] for kind in ("wide", "narrow", "small")]
    return list(ElementTree.fromstring(f"<div>{''.join(texts)}</div>"))


def box(text: ElementTree.Element) -> tuple[float, float, float, float]:
    """Left, top, right, bottom of a text as a browser would set it, near enough."""
    words = text.text or ""
    width = len(words) * (BOLD_PX if text.get("class") == "b" else REGULAR_PX)
    x, y = float(text.get("x", "nan")), float(text.get("y", "nan"))
    left = x - width * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor", "start")]
    return left, y - LINE_PX + 3, left + width, y + 2


def curve_points(svg: ElementTree.Element) -> list[tuple[float, float]]:
    paths = [p.get("d", "") for p in svg.findall("path") if "l" not in p.get("d", "")]
    return [(float(x), float(y)) for d in paths for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", d)]


def test_every_pattern_has_a_sketch_of_its_own() -> None:
    assert set(SHAPES) == set(IDS)


@pytest.mark.parametrize("pattern_id", IDS)
def test_a_drawing_is_an_image_with_a_title_and_a_description(pattern_id: str) -> None:
    wide, narrow, small = drawings(pattern_id)
    assert [svg.get("class") for svg in (wide, narrow, small)] == [
        "ch-sch wide",
        "ch-sch narrow",
        "ch-sch small",
    ]
    for svg in (wide, narrow, small):
        assert svg.get("role") == "img"
        assert svg[0].tag == "title" and svg[0].text == BY_ID[pattern_id].title
        assert svg[1].tag == "desc" and (svg[1].text or "").endswith(".")


@pytest.mark.parametrize("pattern_id", IDS)
def test_parts_are_numbered_in_reading_order(pattern_id: str) -> None:
    numbers = [label.number for label in SHAPES[pattern_id].labels if label.number]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 2
    key = [t.text for t in drawings(pattern_id)[1].findall("text[@class='b']")][len(numbers) :]
    assert key == [
        f"{n}  {label.text}" for n, label in enumerate(SHAPES[pattern_id].labels, 1) if label.number
    ]


@pytest.mark.parametrize("pattern_id", IDS)
def test_words_overlap_neither_each_other_nor_a_curve(pattern_id: str) -> None:
    for svg in drawings(pattern_id)[:2]:
        _, _, width, height = map(float, svg.get("viewBox", "").split())
        boxes = {t.text: box(t) for t in svg.findall("text")}
        for text, (left, top, right, bottom) in boxes.items():
            assert left >= 0 and right <= width and top >= -1 and bottom <= height, (svg.get("class"), text)
            hits = [(x, y) for x, y in curve_points(svg) if left < x < right and top < y < bottom]
            assert not hits, (svg.get("class"), text, hits[:3])
        for (a, p), (b, q) in combinations(boxes.items(), 2):
            apart = p[2] <= q[0] or q[2] <= p[0] or p[3] <= q[1] or q[3] <= p[1]
            assert apart, (svg.get("class"), a, b)


def test_no_two_sketches_are_alike_even_as_thumbnails() -> None:
    """Curves of any two thumbnails, as filled cells of a 44 x 16 grid, differ in a tenth of the cells."""

    def cells(pattern_id: str) -> set[tuple[int, int]]:
        return {(int(x // 5), int(y // 6)) for x, y in curve_points(drawings(pattern_id)[2])}

    drawn = {i: cells(i) for i in IDS}
    for a, b in combinations(IDS, 2):
        assert len(drawn[a] ^ drawn[b]) >= 0.1 * len(drawn[a] | drawn[b]), (a, b)


def test_what_is_shipped_is_what_is_drawn() -> None:
    folder = shipped_file("gallery") / "sketches"
    assert {file.name: file.read_text("utf-8") for file in folder.iterdir()} == files()


def test_colours_come_from_variables_of_the_page_alone() -> None:
    assert not re.search(r"#[0-9a-fA-F]{3}|rgb\(|<style|<script|href", "".join(files().values()))


def test_the_style_sheet_of_tokens_has_all_of_both_palettes_prints_light_and_is_the_shipped_one() -> None:
    text = schematic.css()
    light, dark = text.split('@media screen {\n[data-md-color-scheme="slate"]')
    assert light.startswith("[data-md-color-scheme] {")
    assert all(f"  --c-{k.replace('_', '-')}: {v};\n" in light for k, v in LIGHT.items())
    assert "  --c-on-worrying: #11161D;\n" in dark
    assert dark.endswith('[data-v="unexpected"] { --v: var(--c-unexpected); --on: var(--c-on-badge); }\n')
    assert (shipped_file("templates") / "assets" / "tokens.css").read_text("utf-8") == text
