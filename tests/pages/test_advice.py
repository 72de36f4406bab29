"""Causes by a run's own evidence: how they are ranked, and how often the first one is the true one."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest
from tests.story.told_specimens import NAMES, RUNS, specimen

from chronicle.cli.terminal import explain
from chronicle.model import Event, EventKind, Verdict
from chronicle.pages.gallery import Advice, Cause, PatternPage, advice, load_gallery, ranked
from chronicle.story.signs import Sign
from chronicle.workspace.folders import run_in

PAGES = {page.id: page for page in load_gallery([RUNS.parent / "gallery"])}
KNOWN = {name: cause for name in NAMES if (cause := run_in(RUNS / name).config.facts.get("known cause"))}
SURE = 0.85  # of the runs whose cause is known

LED, RESUMED, ROSE = Sign.GRADIENT_LED, Sign.RESUMED, Sign.RATE_ROSE
HASTE = Cause("Haste", "proved", "Look at the clock.", (LED,))
LOSS = Cause("Loss of state", "proved", "Compare the tensors.", (RESUMED, ROSE))
CHANCE = Cause("Chance", "guess", "Do it again.")
AGE = Cause("Age", "guess", "Look at the date.", (), (RESUMED,))


def names(signs: dict[Sign, bool]) -> list[str]:
    return [ranked_cause.cause.cause for ranked_cause in ranked([HASTE, LOSS, CHANCE, AGE], signs)]


def test_signs_for_come_first_and_signs_against_last() -> None:
    assert names({}) == ["Haste", "Loss of state", "Chance", "Age"]
    assert names({LED: False}) == ["Loss of state", "Chance", "Age", "Haste"]
    assert names({LED: True, RESUMED: True, ROSE: True}) == ["Loss of state", "Haste", "Chance", "Age"]
    assert names({LED: True, RESUMED: True, ROSE: False}) == ["Haste", "Chance", "Loss of state", "Age"]


def test_a_cause_says_what_speaks_for_it_against_it_and_was_not_logged() -> None:
    cause = ranked([LOSS], {RESUMED: True})[0]
    assert (cause.speaks_for, cause.against, cause.not_logged) == (
        ("it begins at a restart",), (), ("learning rate",),
    )  # fmt: skip
    assert ranked([LOSS], {RESUMED: False})[0].against == ("it begins at no restart",)
    assert ranked([AGE], {RESUMED: True})[0].against == ("it begins at a restart",)
    assert ranked([AGE], {RESUMED: False})[0] == ranked([AGE], {})[0]


def advised(signs: dict[str, bool]) -> Advice:
    event = Event("e", EventKind.FINDING, "E", "It rose.", signs=signs)
    return advice(event, PatternPage("p", "P", Verdict.BAD, "Lead.", causes=(HASTE, LOSS, AGE)))


def test_what_decides_between_the_first_two() -> None:
    said = "Look at the clock. Not logged, but it would help to decide: gradient norm, learning rate."
    assert advised({}).check == said
    assert advised({"gradient-led": True, "rate-rose": False, "resumed": True}).check == ""


def test_every_sign_has_words_and_speaks_on_some_page() -> None:
    causes = [cause for page in PAGES.values() for cause in page.causes]
    assert {sign for cause in causes for sign in (*cause.when, *cause.unless)} == set(Sign)


@cache
def first(name: str) -> list[str]:
    """The first-ranked causes of a specimen's events, by the page that has the known one."""
    run = specimen(name)
    pages = [(event, PAGES[p]) for event in run.story.events for p in event.patterns]
    return [
        given.causes[0].cause.cause
        for event, page in pages
        if KNOWN[name] in {cause.cause for cause in page.causes} and (given := advice(event, page)).causes
    ]


@pytest.mark.slow
def test_known_causes_are_those_of_pages() -> None:
    assert len(KNOWN) >= 27
    assert {name for name in KNOWN if not first(name)} == set()


@pytest.mark.slow
def test_the_first_cause_is_mostly_the_true_one() -> None:
    right = {name for name in KNOWN if set(first(name)) == {KNOWN[name]}}
    assert len(right) >= SURE * len(KNOWN), set(KNOWN) - right


def test_a_training_on_frozen_weights_far_from_its_start_is_not_told_of_initial_weights() -> None:
    events = specimen("idefics-spike-2023-05-27").story.events
    (event,) = (e for e in events if e.step == 14524 and "divergence-no-spike" in e.patterns)
    last = advice(event, PAGES["divergence-no-spike"]).causes[-1]
    assert last.cause.cause == "Initial weights too large for the width"
    assert last.against == ("far from the start of the run",)


def test_after_a_resume_replay_comes_first() -> None:
    for name in ("ptl-repeat-data-p1", "ptl-repeat-data-p2"):
        (event,) = (e for e in specimen(name).story.events if "level-shift" in e.patterns)
        first = advice(event, PAGES["level-shift"]).causes[0]
        assert first.cause.cause.startswith("New data begin")
        assert first.speaks_for == ("a restart shortly before",)


@pytest.mark.parametrize("pattern", ["plateau", "failed-run", "divergence-no-spike"])
def test_what_to_do_about_a_reward_is_not_told_by_the_loss(pattern: str) -> None:
    event = Event("e", EventKind.FINDING, "t", "s", patterns=(pattern,), signs={"objective": True})
    of_reward = advice(event, PAGES[pattern])
    of_loss = advice(replace(event, signs={"objective": False}), PAGES[pattern])
    assert of_loss.page.now == PAGES[pattern].now and of_reward.page.now != of_loss.page.now
    said = " ".join(of_reward.page.now)
    assert "reward" in said and not re.search(r"\bloss(es)?\b", said)


def test_explain_prints_what_the_page_of_the_run_ranks() -> None:
    run = specimen("lab-lr-kick")
    lines = list(explain(run.diagnosis, run.story, "1", PAGES))
    at = lines.index("   Likely causes, the likeliest first by what this run shows:")
    assert lines[at + 1 : at + 7] == [
        "     1 The learning rate was raised: by hand, by a schedule that ended, by a resume (proved). For",
        "       it: the learning rate rose.",
        "     2 The parameters landed in a worse region, with saturated attention or dead units (reported).",
        "     3 Numbers outside the range of fp16 together with dirty data (guess). Not logged: loss scale.",
        "     4 The rollback before it did not go back far enough (reported). Against it: no restart shortly",
        "       before.",
    ]
    advised = " ".join(line.strip() for line in lines[lines.index("   What to do now:") + 1 :])
    assert advised.strip() == " ".join(f"- {step}" for step in PAGES["spike-no-full-recovery"].now[:3])
