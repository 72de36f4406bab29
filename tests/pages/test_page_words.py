"""What times, facts and criteria say in a few words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pages.samples import EVENTS, rollback

from chronicle.metrics.values import IN_STEPS, Axis
from chronicle.model import Criterion, EventKind, Fact
from chronicle.pages import words
from chronicle.pages.gallery import RunEvent


@pytest.mark.parametrize(
    ("time", "elapsed_s", "said"),
    [
        ("2026-03-02T14:52:45Z", 21_120.0, "2026-03-02 14:52Z, 5.9 h after the start"),
        ("2026-11-18T22:41+01:00", None, "2026-11-18 22:41+01:00"),
        ("2023-05-27", None, "2023-05-27"),
        ("", 0.0, ""),
        ("", 90.0, "90 s after the start"),
    ],
)
def test_when_an_event_was(time: str, elapsed_s: float | None, said: str) -> None:
    assert words.when(replace(EVENTS[0], time=time, elapsed_s=elapsed_s), IN_STEPS) == said


def test_a_note_was_written_at_one_time_and_is_on_a_step_of_another() -> None:
    """A note of November on a run of July was shown as written 4.4 hours after its start."""
    note = replace(
        EVENTS[0], kind=EventKind.DECISION, time="2026-11-29T13:53:00Z", step=500, elapsed_s=15_840.0
    )
    assert words.when(note, Axis("epoch")) == "2026-11-29 13:53Z, on epoch 500"
    assert words.when(replace(note, step=None), IN_STEPS) == "2026-11-29 13:53Z"


@pytest.mark.parametrize(
    ("time", "said"),
    [
        ("2026-03-02T14:52:45.75Z", "14:52Z"),
        ("2026-11-18 22:41+01:00", "22:41+01:00"),
        ("2026-11-18T22:41", "22:41"),
        ("2026-11-18", "day only"),
        ("", "no date"),
        ("some time in the night of the second fire alarm of that week", "no date"),
    ],
)
def test_the_clock_of_an_event_is_a_clock(time: str, said: str) -> None:
    assert RunEvent(rollback(), replace(EVENTS[0], time=time)).hour == said


def test_an_attempt_is_known_by_the_end_of_its_path() -> None:
    assert words.short_name("logs/attempt-3/events.out.tfevents.1795255593.lab.0.0") == (
        "events.out.tfevents.1795255593.…"
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, ""),
        (float("nan"), ""),
        (0.2, ""),
        (42.0, "after 42 s"),
        (600.0, "after 10 min"),
        (27_000.0, "after 7.5 h"),
        (3 * 86_400.0, "after 3 days"),
    ],
)
def test_gaps(seconds: float | None, said: str) -> None:
    assert words.gap(seconds) == said


@pytest.mark.parametrize(
    ("fact", "value", "unit"),
    [
        (Fact("Points", 106_080, "points", ""), "106\u202f080", "points"),
        (Fact("Loss", 2.141, None, ""), "2.14", ""),
        (Fact("Tokens", None, "tokens", ""), "not logged", ""),
        (Fact("Tokens", 2.5e11, "tokens", ""), "250 billion", "tokens"),
        (Fact("bf16", True, "", ""), "yes", ""),
        (Fact("config/adam_eps", 1e-08, "", ""), "1e-08", ""),
        (Fact("config/warmup", 7578.9473684210525, "", ""), "7578.95", ""),
        (Fact("config/offset", -0.5, "", ""), "−0.5", ""),
        (Fact("num_total_params", 3_231_103_544, "", ""), "3\u202f231\u202f103\u202f544", ""),
        (Fact("config/hidden_size", 8192, "", ""), "8192", ""),
        (Fact("data_seed", 1_234_567, "", ""), "1234567", ""),
        (Fact("Git commit", "2f1e6cda4b1f0e9d8c7b6a5f4e3d2c1b0a998877", "", ""), "2f1e6cda4b1f…", ""),
        (Fact("World size", 16_384, "processes", ""), "16\u202f384", "processes"),
    ],
)
def test_facts(fact: Fact, value: str, unit: str) -> None:
    assert (words.fact_value(fact), words.fact_unit(fact)) == (value, unit)


@pytest.mark.parametrize(
    ("criterion", "said"),
    [
        (Criterion("rise", 1.91, "nats", ">= 6 scales", True), ("1.91 nats", "≥ 6 scales", "met")),
        (Criterion("back", None, "steps", "<= 9", False), ("never", "≤ 9", "not met")),
        (Criterion("agrees", None, "", "<= 9", None), ("not logged", "≤ 9", "not assessed")),
        (Criterion("clipped", 1.0, "share", ">= 0.9", True), ("100 %", "≥ 90 %", "met")),
        (Criterion("idle", 0.02, "share of them", ">= 0.25", False), ("2 % of them", "≥ 25 %", "not met")),
        (Criterion("height", 0.188, "log units", ">= 0.025", True), ("21 %", "≥ 2.5 %", "met")),
        (
            Criterion("height", 34.6, "log units", ">= 0.025", True),
            ("a factor of 1.1 × 10¹⁵", "≥ 2.5 %", "met"),
        ),
        (
            Criterion("fall", 0.4, "log units", "< 0.6 of the height", True),
            ("33 %", "< 60 % of the height", "met"),
        ),
        (
            Criterion("left", 0.953, "of the height", "> 0.15 or 0.03 log units; and 0.8 noise scales", True),
            ("95 % of the height", "> 15 % or 3 %; and 0.8 noise scales", "met"),
        ),
        (Criterion("ends in NaN", 1.0, "", "yes", True), ("yes", "yes", "met")),
        (Criterion("ends in NaN", 0.0, "", "yes", False), ("no", "yes", "not met")),
    ],
)
def test_criteria(criterion: Criterion, said: tuple[str, str, str]) -> None:
    value, limit, met = (
        words.criterion_value(criterion, IN_STEPS),
        words.threshold(criterion, IN_STEPS),
        words.OUTCOMES[criterion.met],
    )
    assert (value, limit, met[1]) == said


def test_no_line_ends_between_a_number_and_its_sign() -> None:
    assert words.as_html("It fell by 24 % at 0.3 M samples") == "It fell by 24\u202f% at 0.3\u202fM samples"
    assert words.as_html("100 Models, % and M") == "100 Models, % and M"
