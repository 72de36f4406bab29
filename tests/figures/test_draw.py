"""What `draw` writes: the files, their sizes, their bytes, and what a look at the pixels finds."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from tests.figures.runs import attempt, diagnosis, falling, finding, rolled_back, run, series

from chronicle.figures import draw
from chronicle.figures.choose import run_panels
from chronicle.figures.subject import subject
from chronicle.figures.thumb import HEIGHT, WIDTH
from chronicle.figures.tokens import TOKENS
from chronicle.figures.zoom import window
from chronicle.model import JoinKind, Role, Timeline
from chronicle.timeline import stitch

VARIANTS = {"light": 900, "light-narrow": 344, "dark": 900, "dark-narrow": 344}


def rgb(colour):
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


@pytest.fixture(scope="module")
def rollback(tmp_path_factory):
    """A run with a rollback and two findings, drawn twice into two folders."""
    timeline = rolled_back()
    told = diagnosis(
        finding("spike-fast-recovery", 100, 110),
        finding("divergence-after-spike", 350, None, severity=0.9),
        joins=timeline.joins,
    )
    folders = [tmp_path_factory.mktemp(name) for name in ("one", "two")]
    figures = [draw(timeline, told, folder, title="A run") for folder in folders]
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
        assert image.size == (480, 240) == (1.5 * WIDTH, 1.5 * HEIGHT)


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
        "A run: loss over step 0 to 599. 1 Fast-recovering spike at step 100; "
        "2 Divergence after a spike from step 350. 1 restart."
    )
    assert whole.caption == "loss, whole run. Every logged point. Grey and dashed: overtaken after a restart."
    assert zoom.alt == (
        "Finding 2, Divergence after a spike from step 350: loss, grad_norm, lr over step 294 to 411."
    )
    assert zoom.caption.startswith("Same step axis on every panel. Bands and numbers as in the figure of")


def test_the_zoom_of_a_finding_that_led_to_a_rollback_reaches_the_step_resumed_from():
    timeline = rolled_back()
    (join,) = timeline.joins
    assert (join.kind, join.from_step, join.to_step) == (JoinKind.ROLLBACK, 399, 300)
    told = finding("divergence-after-spike", 380, None)
    first, last = window(subject(timeline, diagnosis(told, joins=timeline.joins)), 1, told)
    assert first < join.to_step and last > join.from_step


def test_a_zoom_shows_at_least_22_samples():
    told = finding("spike-fast-recovery", 3000, 3000)
    timeline = run(np.arange(0, 6000, 10), falling(600))
    first, last = window(subject(timeline, diagnosis(told)), 1, told)
    assert last - first >= 22 * 10


def test_at_most_six_zooms_the_gravest_first(tmp_path):
    many = [finding("spike-fast-recovery", 100 * n, 100 * n + 9, severity=n / 10) for n in range(1, 8)]
    figures = draw(run(np.arange(900), falling(900)), diagnosis(*many), tmp_path, title="x")
    assert [f.name for f in figures] == ["whole", *(f"finding-{n}" for n in (7, 6, 5, 4, 3, 2)), "thumb"]


def test_a_finding_about_all_of_a_run_needs_no_zoom(tmp_path):
    figures = draw(
        run(np.arange(300), falling(300)),
        diagnosis(finding("near-perfect", 0, 299)),
        tmp_path,
        title="x",
    )
    assert [f.name for f in figures] == ["whole", "thumb"]


def test_a_run_without_a_value_has_a_small_figure_that_says_so(tmp_path):
    (whole,) = draw(Timeline("r", (), (), {}), diagnosis(), tmp_path, title="Empty")
    assert whole.alt == "Empty: No metric to draw: the log holds no values."
    assert {size[1:] for size in whole.files.values()} == {(900, 80), (344, 80)}


def test_without_a_loss_the_metric_of_a_finding_is_drawn(tmp_path):
    timeline = run(np.arange(300), falling(300), "tokens/s", role=Role.THROUGHPUT, unit="tokens/s")
    told = diagnosis(finding("throughput-drop", 100, 150, "tokens/s"))
    assert draw(timeline, told, tmp_path, title="x")[0].alt.startswith(
        "x: tokens/s over step 0 to 299. 1 Thr"
    )


def test_data_sets_share_a_panel_with_their_loss_and_other_metrics_get_their_own(tmp_path):
    steps = np.arange(200)
    logged = [
        series("loss/all", steps, falling(200)),
        series("loss/code", steps, falling(200) * 0.7, Role.DATASET_LOSS, dataset="code"),
        series("loss/web", steps, falling(200) * 1.1, Role.DATASET_LOSS, dataset="web"),
        series("loss/other-scale", steps, falling(200) * 1e4, Role.DATASET_LOSS, dataset="other"),
        series("ratio", steps, falling(200), Role.RATIO),
        series("lr", steps, falling(200), Role.LEARNING_RATE),
    ]
    timeline = stitch([attempt("a.csv", *logged)])
    panels = run_panels(timeline, diagnosis(finding("resume-ratio-skew", 50, 60, "loss/all")))
    assert [[line.name for line in panel.lines] for panel in panels] == [["all", "code", "web"], ["ratio"]]
    assert len({line.token for line in panels[0].lines} | {line.dash for line in panels[0].lines}) == 6
