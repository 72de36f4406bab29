"""Measured contrast, verdicts that stay apart for readers without one kind of cone, words out of logs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chronicle.figures.sheet import DARK, LIGHT, THUMBNAIL, Sheet, label, on, one_line, text_px
from chronicle.model import Verdict

TEXT = ("ink", "ink2", "accent")
STROKES = ("live", "second", "third", "dead", "good", "worrying", "bad", "unexpected")
VERDICTS = ("good", "worrying", "bad", "unexpected")
THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])

# Machado, Oliveira, Fernandes (2009), severity 1.0, on linear RGB.
NO_CONE = {
    "normal": np.eye(3),
    "protan": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deutan": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritan": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE_D65 = np.array([0.95047, 1, 1.08883])


def linear(colour: str) -> np.ndarray:
    channel = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channel <= 0.04045, channel / 12.92, ((channel + 0.055) / 1.055) ** 2.4)


def contrast(text: str, other: str) -> float:
    """WCAG 2 contrast ratio."""
    bright, dark = sorted((float(TO_XYZ[1] @ linear(c)) for c in (text, other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def lab(colour: str, eye: str) -> np.ndarray:
    """CIELAB as an eye without that cone sees the colour."""
    xyz = TO_XYZ @ np.clip(NO_CONE[eye] @ linear(colour), 0, 1) / WHITE_D65
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def closest_pair(theme, eye) -> float:
    """Smallest ΔE76 between two verdicts."""
    pairs = itertools.combinations([lab(theme[v], eye) for v in VERDICTS], 2)
    return min(float(np.linalg.norm(a - b)) for a, b in pairs)


@THEMES
def test_text_has_4_5_to_1_on_both_grounds(theme):
    measured = {(t, g): contrast(theme[t], theme[g]) for t in TEXT for g in ("page", "panel")}
    assert {key: value for key, value in measured.items() if value < 4.5} == {}


@THEMES
def test_strokes_that_mean_something_have_3_to_1_on_both_grounds(theme):
    measured = {(s, g): contrast(theme[s], theme[g]) for s in STROKES for g in ("page", "panel")}
    assert {key: value for key, value in measured.items() if value < 3} == {}


@THEMES
def test_the_number_on_a_badge_is_text(theme):
    measured = {v: contrast(theme[on(v)], theme[v]) for v in Verdict}
    assert {verdict: value for verdict, value in measured.items() if value < 4.45} == {}


def test_a_thumbnail_serves_all_four_grounds():
    grounds = [theme[g] for theme in (LIGHT, DARK) for g in ("page", "panel")]
    assert min(contrast(stroke, ground) for stroke in THUMBNAIL.values() for ground in grounds) >= 3


@pytest.mark.parametrize(
    ("theme", "eye", "measured"),
    [
        (LIGHT, "normal", 47),
        (LIGHT, "protan", 35),
        (LIGHT, "deutan", 28),
        (LIGHT, "tritan", 35),
        (DARK, "normal", 49),
        (DARK, "protan", 20),
        (DARK, "deutan", 26),
        (DARK, "tritan", 27),
    ],
)
def test_verdicts_stay_apart_for_every_eye(theme, eye, measured):
    assert round(closest_pair(theme, eye)) == measured >= 20


def test_both_themes_name_the_same_tokens():
    assert LIGHT.keys() == DARK.keys()


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("train/loss", "train/loss"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("$x_{1$", "$x_{1$"),
        ("a\nb\tc\x00d", "a b c d"),
        ("a\u202eb\u200bc", "abc"),
        ("漢", "漢"),
        ("\ud800", "□"),
        ("", "□"),
        ("a" * 30 + "b" * 90, "a" * 30 + "b" * 22 + "…" + "b" * 27),
    ],
)
def test_words_out_of_a_log_are_one_line_that_a_reader_can_see(raw, shown):
    assert one_line(raw) == shown


def test_what_our_font_lacks_has_the_width_of_a_box_and_is_a_box_in_pixels_alone(recwarn):
    assert text_px("損失") == text_px("□□") > 0
    sheets = [Sheet(60, 20), Sheet(60, 20)]
    for sheet, words in zip(sheets, ("損失", "□□"), strict=True):
        sheet.write(words, 5, 15)
    assert sheets[0].png(1) == sheets[1].png(1) and ">損失</text>" in sheets[0].svg().decode()
    assert not recwarn.list


@given(st.text(max_size=200), st.integers(9, 80))
def test_no_word_is_longer_than_allowed(text, longest):
    assert 1 <= len(one_line(text, longest)) <= longest


@given(name=st.text(max_size=100), unit=st.none() | st.text(max_size=40), log=st.booleans())
@example(name="000©ȸШѠ", unit="000000000000000000¼¼Ɯʣٮ", log=True)  # a short name beside a wide unit
def test_a_label_fits_its_panel_on_a_phone(name, unit, log):
    text = label(name, unit, log, 286)
    assert text_px(text) <= 286 or len(text.split(" · ")[0]) == 9


@pytest.mark.parametrize(
    ("unit", "log", "text"),
    [
        ("nats/token", False, "loss  ·  nats/token"),
        ("nats/token", True, "loss  ·  nats/token, log scale"),
        (None, False, "loss"),
        (None, True, "loss  ·  log scale"),
    ],
)
def test_a_label_says_metric_unit_and_scale(unit, log, text):
    assert label("loss", unit, log, 800) == text
