"""What `draw` writes: the files, their sizes, their bytes, and what a look at the pixels finds."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from tests.figures.runs import diagnosis, falling, finding, rolled_back, run

from chronicle.figures import draw
from chronicle.figures.layout import THUMB_HEIGHT, THUMB_WIDTH
from chronicle.figures.style import TOKENS
from chronicle.model import Role, Timeline
from chronicle.story import tell

VARIANTS = {"light": 900, "light-narrow": 344, "dark": 900, "dark-narrow": 344}


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


@pytest.fixture(scope="session")
def rollback(tmp_path_factory):
    """A run with a rollback and two findings, drawn twice into two folders."""
    timeline = rolled_back()
    told = diagnosis(
        finding("spike-fast-recovery", 100, 110),
        finding("divergence-after-spike", 350, None, severity=0.9),
        joins=timeline.joins,
    )
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    figures = [draw(timeline, told, folder, tell(timeline, told).events, title="A run") for folder in folders]
    assert figures[0] == figures[1]
    return figures[0], *folders


def test_every_figure_has_its_files_in_two_themes_and_two_widths(rollback):
    figures, folder, _ = rollback
    assert [figure.name for figure in figures] == ["whole", "finding-2", "finding-1", "thumb"]
    for figure in figures[:-1]:
        assert {variant: width for variant, (_, width, _) in figure.files.items()} == VARIANTS
        assert all(file == f"{figure.name}-{variant}.webp" for variant, (file, _, _) in figure.files.items())
    assert figures[-1].files == {"any": ("thumb.webp", 320, 160)} and figures[-1].alt == ""
    told = {file for figure in figures for file, _, _ in figure.files.values()}
    assert {path.name for path in folder.iterdir()} == told


def test_pixels_are_twice_the_size_that_is_told(rollback):
    figures, folder, _ = rollback
    for figure in figures[:-1]:
        for file, width, height in figure.files.values():
            with Image.open(folder / file) as image:
                assert (image.format, image.size) == ("WEBP", (2 * width, 2 * height))
    with Image.open(folder / "thumb.webp") as image:
        assert image.size == (480, 240) == (1.5 * THUMB_WIDTH, 1.5 * THUMB_HEIGHT)


def test_the_same_run_gives_the_same_bytes_and_no_metadata(rollback):
    _, one, two = rollback
    for path in one.iterdir():
        assert path.read_bytes() == (two / path.name).read_bytes()
        with Image.open(path) as image:
            assert not image.getexif() and {"exif", "xmp", "icc_profile"}.isdisjoint(image.info)


@pytest.mark.parametrize("theme", TOKENS)
def test_grounds_strokes_and_verdicts_have_the_exact_colours_of_the_theme(rollback, theme):
    _, folder, _ = rollback
    with Image.open(folder / f"whole-{theme}.webp") as image:
        pixels = image.convert("RGB")
    counts = {colour: number for number, colour in pixels.getcolors(1 << 24)}
    t = TOKENS[theme]
    assert pixels.getpixel((0, 0)) == rgb(t["page"]) == max(counts, key=counts.get)
    assert all(counts.get(rgb(t[name]), 0) > 100 for name in ("live", "dead", "good", "bad", "ink2"))


def test_a_thumbnail_is_shape_alone_on_nothing(rollback):
    _, folder, _ = rollback
    with Image.open(folder / "thumb.webp") as image:
        alpha = np.asarray(image.convert("RGBA"))[..., 3]
    assert (alpha == 0).mean() > 0.9 and (alpha == 255).any()


def test_words_say_what_the_picture_says(rollback):
    whole, zoom, *_ = rollback[0]
    assert whole.alt == (
        "A run: loss over steps 0 to 599. 1 Fast-recovering spike: 2.86 → 2.88 nats/token at step 100; "
        "2 Divergence after a spike: 2.11 → 2.13 nats/token at step 350 · discarded. 1 restart."
    )
    assert whole.caption == "loss, whole run. Every logged point. Grey and dashed: overtaken after a restart."
    assert zoom.alt == (
        "Finding 2, Divergence after a spike: 2.11 → 2.13 nats/token at step 350 · discarded. "
        "loss, grad_norm, lr over steps 294 to 411."
    )
    assert zoom.caption.startswith("Same step axis on every panel. Bands and numbers as in the figure of")


@pytest.mark.slow
def test_at_most_six_zooms_the_gravest_first(tmp_path, unsaved):
    many = [finding("spike-fast-recovery", 100 * n, 100 * n + 9, severity=n / 10) for n in range(1, 8)]
    figures = draw(run(np.arange(900), falling(900)), diagnosis(*many), tmp_path, (), title="x")
    assert [f.name for f in figures] == ["whole", *(f"finding-{n}" for n in (7, 6, 5, 4, 3, 2)), "thumb"]


def test_a_finding_about_all_of_a_run_needs_no_zoom(tmp_path, unsaved):
    figures = draw(
        run(np.arange(300), falling(300)),
        diagnosis(finding("near-perfect", 0, 299)),
        tmp_path,
        (),
        title="x",
    )
    assert [f.name for f in figures] == ["whole", "thumb"]


def test_a_run_without_a_value_has_a_small_figure_that_says_so(tmp_path, unsaved):
    (whole,) = draw(Timeline("r", (), (), {}), diagnosis(), tmp_path, (), title="Empty")
    assert whole.alt == "Empty: No metric to draw: the log holds no values."
    assert {size[1:] for size in whole.files.values()} == {(900, 80), (344, 80)}


def test_without_a_loss_the_metric_of_a_finding_is_drawn(tmp_path, unsaved):
    timeline = run(np.arange(300), falling(300), "tokens/s", role=Role.THROUGHPUT, unit="tokens/s")
    told = diagnosis(finding("throughput-drop", 100, 150, "tokens/s"))
    figures = draw(timeline, told, tmp_path, tell(timeline, told).events, title="x")
    assert figures[0].alt.startswith("x: tokens/s over steps 0 to 299. 1 Throughput drop: ")
