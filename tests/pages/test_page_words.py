"""What findings, joins, facts and criteria say in a few words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pages.samples import DIP, SPIKE

from chronicle.model import Criterion, Fact, Join, JoinKind
from chronicle.pages import words


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ({"before_loss": 2.26, "peak_loss": 4.17}, ["2.26 → 4.17 nats/token"]),
        ({"before_loss": 2.26, "peak_loss": None}, ["before 2.26 nats/token"]),
        ({"height_log": 0.2572, "rise_samples": 4}, ["height 0.257 log units", "rise 4 samples"]),
        ({"recovery_steps": 1081, "gap_s": 7.5}, ["recovery 1\u202f081 steps", "gap 7.50 s"]),
        ({"slower_share": 0.25, "lr_factor": 0.75}, ["slower 25 %", "learning rate × 0.75"]),
        ({"nan_samples": 12, "attempts": 8}, ["NaN 12 samples", "8 attempts"]),
        ({"how": "one jump", "level_now": 3.5}, ["how one jump", "level now 3.50"]),
        ({"data_sets": ["a", "b"], "dead": True, "lost_steps": None}, ["data sets a, b", "dead yes"]),
        ({"peak_loss": float("inf"), "before_loss": 1.0}, ["1.00 → ∞ nats/token"]),
    ],
)
def test_evidence_is_said_with_its_units(evidence: dict[str, object], said: list[str]) -> None:
    assert list(words.evidence(replace(DIP, evidence=evidence), "nats/token")) == said


@pytest.mark.parametrize(
    ("start", "end", "span", "measure"),
    [
        (10, None, "from step 10, not over when the log ends", "2.26 → 4.17 at step 10 · not over"),
        (10, 10, "step 10", "2.26 → 4.17 at step 10"),
        (1000, 2081, "step 1\u202f000 to 2\u202f081", "2.26 → 4.17 at step 1\u202f000 · 1\u202f081 steps"),
    ],
)
def test_when_it_was(start: int, end: int | None, span: str, measure: str) -> None:
    finding = replace(
        SPIKE, start_step=start, end_step=end, evidence={"before_loss": 2.26, "peak_loss": 4.17}
    )
    assert (words.span(finding), words.measure(finding)) == (span, measure)
    assert words.measure(replace(finding, evidence={})).startswith(f"step {words.count(start)}")


@pytest.mark.parametrize(
    ("kind", "ends", "lost", "said"),
    [
        (JoinKind.RESUME, (99, 100), 0, "at step 100"),
        (JoinKind.ROLLBACK, (61_400, 56_000), 5_400, "61\u202f400 → 56\u202f000, 5\u202f400 steps discarded"),
        (JoinKind.ROLLBACK, (501, 500), 1, "501 → 500, 1 step discarded"),
        (JoinKind.RESUME, (500, 510), 190, "at step 510, a branch of 190 steps given up"),
        (JoinKind.RELAUNCH, (500, 0), 500, "500 → 0, 500 steps discarded"),
    ],
)
def test_joins(kind: JoinKind, ends: tuple[int, int], lost: int, said: str) -> None:
    assert words.join_words(Join(kind, 0, 1, *ends, lost)) == said


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
        (Fact("Loss", 2.141, None, ""), "2.14", "unit not declared"),
        (Fact("Tokens", None, "tokens", ""), "not logged", ""),
        (Fact("Tokens", 2e9, "tokens", ""), "2\u202f000\u202f000\u202f000", "tokens"),
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
        (Criterion("ends in NaN", 1.0, "", "yes", True), ("yes", "yes", "met")),
        (Criterion("ends in NaN", 0.0, "", "yes", False), ("no", "yes", "not met")),
    ],
)
def test_criteria(criterion: Criterion, said: tuple[str, str, str]) -> None:
    value, limit, met = (
        words.criterion_value(criterion),
        words.threshold(criterion),
        words.met_words(criterion),
    )
    assert (value, limit, met[1]) == said
