"""What `draw` writes: the files, their sizes and their bytes, and that every theme shows all of it."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from tests.figures.runs import diagnosis, falling, finding, rolled_back, run
from tests.figures.test_style import contrast

from chronicle.figures import draw
from chronicle.figures.layout import Scene, whole_plan
from chronicle.figures.sheet import DARK, LIGHT, Sheet
from chronicle.model import Role, Timeline
from chronicle.story import tell
from chronicle.timeline import stitch
from chronicle.timeline.axes import on_axis

SHAPES = {"svg", "style", "clipPath", "g", "path", "text"}
SIZES = {"wide": 720, "narrow": 328}
SVG = "{http://www.w3.org/2000/svg}"
GROUNDS = {"light": "#FFFFFF", "dark": "#11161D"}


@pytest.fixture(scope="session")
def rollback(tmp_path_factory):
    """A run with a rollback and two findings, drawn twice into two folders."""
    timeline = rolled_back()
    judged = diagnosis(
        finding("spike-fast-recovery", 100, 110),
        finding("divergence-after-spike", 350, None, severity=0.9),
        joins=timeline.joins,
    )
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    figures = [
        draw(timeline, judged, folder, tell(timeline, judged).events, title="A run") for folder in folders
    ]
    assert figures[0] == figures[1]
    return figures[0], *folders


def test_every_figure_has_a_file_for_a_page_and_one_for_a_phone(rollback):
    figures, folder, _ = rollback
    assert [figure.name for figure in figures] == ["whole", "finding-2", "finding-1", "thumb", "share"]
    for figure in figures[:-2]:
        assert {variant: width for variant, (_, width, _) in figure.files.items()} == SIZES
        assert all(file == f"{figure.name}-{variant}.svg" for variant, (file, _, _) in figure.files.items())
    assert figures[-2].files == {"any": ("thumb.svg", 320, 160)} and figures[-2].alt == ""
    assert figures[-1].files == {"any": ("share.png", 1200, 630)} and figures[-1].alt == figures[0].alt
    named = {file for figure in figures for file, _, _ in figure.files.values()}
    assert {path.name for path in folder.iterdir()} == named


def test_the_wall_clock_may_be_the_axis(tmp_path):
    (alone,) = run(range(50), falling(50)).attempts
    clocked = {name: replace(s, times=1.7e9 + 3600.0 * s.steps) for name, s in alone.series.items()}
    timeline = stitch([replace(alone, series=clocked)])
    whole, *_ = draw(timeline, diagnosis(), tmp_path, (), title="A run", x=on_axis(timeline, "time"))
    assert whole.caption.endswith(" The x axis counts seconds (wall clock).")
    for file, ticks in (("wide", ["0", "12 h", "24 h", "36 h", "48 h"]), ("narrow", ["0", "1 d", "2 d"])):
        drawn = ElementTree.parse(tmp_path / f"whole-{file}.svg").iter(f"{SVG}text")
        assert [text.text for text in drawn][6:] == [*ticks, "wall clock"]


def test_a_file_has_the_size_that_is_told_and_nothing_but_shapes(rollback):
    figures, folder, _ = rollback
    for figure in figures[:-1]:
        for file, width, height in figure.files.values():
            drawn = ElementTree.parse(folder / file).getroot()
            assert (drawn.get("width"), drawn.get("height")) == (str(width), str(height))
            assert drawn.get("viewBox") == f"0 0 {width} {height}"
            assert {element.tag.removeprefix(SVG) for element in drawn.iter()} <= SHAPES


def test_the_same_run_gives_the_same_bytes(rollback):
    _, first, two = rollback
    for path in first.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes()


def colours(drawn, theme):
    """The colour of each class in a theme, by the rules of the file."""
    rules = drawn.find(f"{SVG}style").text
    where = {"light": "", "dark": "#only-dark:target "}[theme]
    return dict(re.findall(rf"(?:^|(?<=}})){where}\.(\w+){{color:(#\w+)}}", rules, re.M))


@pytest.mark.parametrize("theme", GROUNDS)
def test_all_that_is_drawn_can_be_seen_on_the_ground_of_each_theme(rollback, theme):
    _, folder, _ = rollback
    low = {}
    for file in folder.glob("*-*.svg"):
        drawn = ElementTree.parse(file).getroot()
        colour = colours(drawn, theme)
        assert colour["page"] == GROUNDS[theme]
        for element in drawn.iter():
            token, is_text = element.get("class", "page").split()[0], element.tag == f"{SVG}text"
            if token in ("page", "line", "grid") or (is_text and token.startswith("on_")):
                continue  # ground, decoration; what stands on a badge is measured with the tokens
            if (seen := contrast(colour[token], GROUNDS[theme])) < (4.5 if is_text else 3):
                low[token, element.tag] = seen
    assert low == {}


def test_a_file_opened_alone_follows_the_system_and_a_page_decides_for_it(rollback):
    _, folder, _ = rollback
    drawn = ElementTree.parse(folder / "whole-wide.svg").getroot()
    rules = drawn.find(f"{SVG}style").text
    alone = re.search(r"@media\(prefers-color-scheme:dark\){(.*?)\n}", rules, re.S)[1]
    there = dict(re.findall(r":root:not\(:has\(:target\)\) \.(\w+){color:(#\w+)}", alone))
    assert there == colours(drawn, "dark") == {token: DARK[token] for token in there}
    assert colours(drawn, "light") == {token: LIGHT[token] for token in there}
    assert drawn.get("id") == "only-dark" and drawn.find(f"{SVG}g").get("id") == "only-light"


def test_a_thumbnail_is_shape_alone_on_nothing(rollback):
    _, folder, _ = rollback
    drawn = ElementTree.parse(folder / "thumb.svg").getroot()
    classes = (path.get("class") for path in drawn.iter(f"{SVG}path"))
    assert {name.split()[0] for name in classes if name} == {"live", "dead"}
    assert drawn.find(f".//{SVG}text") is None


def heights(sheet, token="live"):
    """The vertical places that curves of a token reach, in CSS pixels."""
    drawn = ElementTree.fromstring(sheet.svg())
    reached = []
    for path in drawn.iter(f"{SVG}path"):
        if path.get("class", "").startswith(token):
            y = 0.0
            for step, data in re.findall(r"([Ml])([^Mlhvz]*)", path.get("d")):
                numbers = [float(n) for n in re.findall(r"-?(?:\d+\.\d+|\.\d+|\d+)", data)]
                for dy in numbers[1::2]:
                    y = dy if step == "M" else y + dy
                    reached.append(y)
    return reached


@pytest.mark.parametrize("width", SIZES.values())
@pytest.mark.parametrize("at", [0, 123_456, 999_999])
def test_a_spike_of_one_sample_among_a_million_is_seen(width, at):
    values = np.full(1_000_000, 2.0)
    values[at] = 3.0
    reached = heights(whole_plan(Scene(run(np.arange(1_000_000), values), diagnosis()), width).paint())
    assert max(reached) - min(reached) > 90


def test_the_picture_for_other_sites_shows_the_same_as_pixels(rollback):
    _, folder, _ = rollback
    with Image.open(folder / "share.png") as image:
        assert (image.format, image.size) == ("PNG", (1200, 630))
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3).astype(int)
    assert (pixels > 250).all(axis=1).mean() > 0.6
    for token in ("live", "dead", "good", "bad", "ink2"):
        colour = np.array(list(bytes.fromhex(LIGHT[token][1:])))
        assert (np.abs(pixels - colour).max(axis=1) < 12).sum() > 100, token


def test_words_say_what_the_picture_says(rollback):
    whole, zoom, *_ = rollback[0]
    assert whole.alt == (
        "A run: loss over steps 0 to 599. 1 Fast-recovering spike: 2.86 → 2.88 nats/token over steps "
        "100 to 101; 2 Divergence after a spike: 2.11 → 2.13 nats/token over steps 350 to 370 · discarded. "
        "1 restart."
    )
    assert whole.caption == ("loss over the whole run. Grey dashed lines were discarded at a restart.")
    assert zoom.alt == (
        "Finding 2, Divergence after a spike: 2.11 → 2.13 nats/token over steps 350 to 370 · discarded. "
        "loss, grad_norm, lr over steps 294 to 411."
    )
    assert zoom.caption.startswith(
        "All panels have the same step axis. Bands and numbers are those of the figure of"
    )


@pytest.mark.slow
def test_at_most_six_zooms_the_gravest_first(tmp_path):
    many = [finding("spike-fast-recovery", 100 * n, 100 * n + 9, severity=n / 10) for n in range(1, 8)]
    figures = draw(run(np.arange(900), falling(900)), diagnosis(*many), tmp_path, (), title="x")
    assert [f.name for f in figures] == [
        "whole",
        *(f"finding-{n}" for n in (7, 6, 5, 4, 3, 2)),
        "thumb",
        "share",
    ]


def test_a_finding_about_all_of_a_run_needs_no_zoom(tmp_path):
    figures = draw(
        run(np.arange(300), falling(300)), diagnosis(finding("near-perfect", 0, 299)), tmp_path, (), title="x"
    )
    assert [f.name for f in figures] == ["whole", "thumb", "share"]


def test_a_run_without_a_value_has_a_small_figure_that_says_so(tmp_path):
    (whole,) = draw(Timeline("r", (), (), {}), diagnosis(), tmp_path, (), title="Empty")
    assert whole.alt == "Empty: No metric to draw: the log holds no values."
    assert {size[1:] for size in whole.files.values()} == {(720, 80), (328, 80)}


def test_without_a_loss_the_metric_of_a_finding_is_drawn(tmp_path):
    timeline = run(np.arange(300), falling(300), "tokens/s", role=Role.THROUGHPUT, unit="tokens/s")
    judged = diagnosis(finding("throughput-drop", 100, 150, "tokens/s"))
    figures = draw(timeline, judged, tmp_path, tell(timeline, judged).events, title="x")
    assert figures[0].alt.startswith("x: tokens/s over steps 0 to 299. 1 Throughput drop: ")


def test_a_dot_is_seen_in_pixels_too():
    sheet = Sheet(20, 20)
    sheet.line([10], [10], "good", 1, 12, dots=True)
    with Image.open(io.BytesIO(sheet.png(1))) as image:
        shown = np.asarray(image.convert("RGB"))
    assert tuple(shown[10, 10]) == (0x00, 0x80, 0x6B) and shown[1, 1].min() > 250


def test_a_caption_says_that_every_point_is_drawn_where_every_width_does(tmp_path):
    """It said that every logged point was drawn also where a phone shows a median and a range."""
    made = run(range(2000), falling(2000))
    whole = draw(made, diagnosis(), tmp_path, (), title="A run")[0]
    assert whole.caption == (
        "loss over the whole run. Each pixel column shows its median, shaded from minimum to maximum."
    )
    made = run(range(900), falling(900))
    assert draw(made, diagnosis(), tmp_path, (), title="A run")[0].caption == ("loss over the whole run.")
    made = run(range(200), falling(200))
    assert draw(made, diagnosis(), tmp_path, (), title="A run")[0].caption == (
        "loss over the whole run. Every logged point is drawn."
    )
