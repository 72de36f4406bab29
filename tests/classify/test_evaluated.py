"""What evaluations show that the batches of the training do not."""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.classify import classify
from chronicle.model import Diagnosis

EVALUATIONS = np.arange(0, 4000, 50)


def run(held_out: float, trained: float, shape: str, batches: float = 0.0) -> Diagnosis:
    """A run of 4,000 steps whose evaluations leave the course by so many log units from step 2,000 on."""
    random, steps = np.random.default_rng(7), np.arange(0, 4000, 20)
    beyond = np.maximum(EVALUATIONS - 2000, 0.0)
    away = {
        "stays": (beyond > 0) * 1.0,
        "comes back": (beyond > 0) * np.exp(-beyond / 400),
        "grows": beyond / 2000,
        "is gone at once": (beyond > 0) * (beyond < 100) * 1.0,
    }[shape]

    def course(at: np.ndarray, noise: float) -> np.ndarray:
        return (1 + 4 * (1 + at / 100) ** -0.7) * np.exp(noise * random.standard_normal(len(at)))

    rise = batches * (steps > 2000)
    return classify(
        {
            "loss": (steps, course(steps, 0.05 if batches else 0.25) * np.exp(rise)),
            "train/loss": (EVALUATIONS, course(EVALUATIONS, 0.01) * np.exp(trained * away)),
            "validation/loss": (EVALUATIONS, 1.1 * course(EVALUATIONS, 0.01) * np.exp(held_out * away)),
        }
    )


@pytest.mark.parametrize(
    ("shape", "pattern", "verdict"),
    [
        ("stays", "level-shift", "worrying"),
        ("comes back", "spike-slow-recovery", "worrying"),
        ("grows", "divergence-no-spike", "bad"),
        ("is gone at once", None, "good"),
    ],
)
def test_a_lasting_rise_of_all_evaluations_counts(shape: str, pattern: str | None, verdict: str) -> None:
    judged = run(0.4, 0.4, shape)
    rises = [f.pattern for f in judged.findings if f.metric == "validation/loss"]
    assert (rises, judged.verdict) == ([pattern] if pattern else [], verdict)


@pytest.mark.parametrize(
    ("held_out", "trained"), [(0.4, 0.0), (0.0, 0.4), (0.06, 0.06)], ids=["held out", "trained", "slight"]
)
def test_one_evaluation_alone_is_no_rise_of_the_loss(held_out: float, trained: float) -> None:
    """A held-out loss that rises alone may be overfitting; one of the training alone is of other samples."""
    judged = run(held_out, trained, "comes back")
    assert judged.verdict == "good"


def test_what_the_batches_show_as_well_is_told_once() -> None:
    judged = run(0.6, 0.6, "stays", batches=0.6)
    assert [f.metric for f in judged.findings if f.severity > 0.2] == ["loss"]


def test_a_loss_of_the_first_steps_alone_is_not_that_of_the_run() -> None:
    """AlgoPerf logs each of the first 100 steps, and then evaluates 60 times in 10,000 steps."""
    first, later = np.arange(100), np.arange(1, 10_000, 165)
    noise = np.exp(0.01 * np.random.default_rng(1).standard_normal(len(later)))
    evaluated = np.where(later < 3000, 0.13 + 0.2 * np.exp(-later / 200), 0.2) * noise
    judged = classify({"loss": (first, 0.7 * np.exp(-first / 30) + 0.14), "train/loss": (later, evaluated)})
    assert judged.verdict == "bad"
    assert {f.metric for f in judged.findings if f.severity > 0.2} == {"train/loss"}


@pytest.mark.parametrize(
    ("held_out", "is_over"),
    [(1.0, True), (1.1, False), (None, False)],
    ids=["back", "still up", "not logged"],
)
def test_a_rise_is_over_where_the_loss_and_all_held_out_ones_are_at_their_old_level(
    held_out: float | None, is_over: bool
) -> None:
    """The loss is back at its old level at step 1,600, and not at the trend that it was on."""
    steps, random = np.arange(2400), np.random.default_rng(3)
    course = 1 + 4 * np.exp(-np.minimum(steps, 1200) / 400)
    course[1200:] = course[1200] * (1 + 0.2 * np.exp(-(steps[1200:] - 1200) / 120))
    series = {"loss": (steps, course * np.exp(0.005 * random.standard_normal(2400)))}
    if held_out is not None:
        later = np.where(steps > 1200, held_out, 1.0)
        series["val_loss"] = (steps[::50], (1.1 * course * later)[::50])
    rises = {f.pattern for f in classify(series).findings if f.metric == "loss"}
    assert rises and rises <= (
        {"spike-slow-recovery"} if is_over else {"spike-no-full-recovery", "divergence-after-spike"}
    )


@pytest.mark.parametrize("trained", [0.0, -0.3], ids=["stands still", "falls"])
def test_evaluations_repeat_themselves_where_the_weights_no_longer_change(trained: float) -> None:
    """The learning rate came to zero at step 3,000: each evaluation of the same data has the same result."""
    steps, random = np.arange(0, 4000, 20), np.random.default_rng(5)

    def course(at: np.ndarray, noise: float) -> np.ndarray:
        return (1 + 4 * (1 + at / 100) ** -0.7) * np.exp(noise * random.standard_normal(len(at)))

    loss = course(np.minimum(steps, 3000), 0.02) * np.exp(trained * np.maximum(steps - 3000, 0) / 1000)
    held_out = 1.1 * course(steps, 0.01)
    held_out[steps > 3000] = held_out[steps == 3000]
    judged = classify({"loss": (steps, loss), "validation/loss": (steps, held_out)})
    assert ("frozen-metric" in judged.patterns) is (trained < 0)


@pytest.mark.parametrize("later", [0.13, 3.0])
def test_evaluations_tell_of_the_rest_of_a_run_whose_first_steps_alone_are_logged(later: float) -> None:
    """The loss goes up and down in its first 100 steps, and is high after the last of them."""
    n, noise = np.arange(100), np.exp(0.03 * np.random.default_rng(2).standard_normal(100))
    swings = np.where(n < 25, 0.35 - 0.008 * n, 0.4 + 0.9 * np.sin(n / 4) ** 2) * noise
    evaluated = np.array([1, 175, 350, 525, 700]), np.r_[0.37, later * np.linspace(1, 0.96, 4)]
    judged = classify({"loss": (n, swings), "train/loss": evaluated, "validation/loss": evaluated})
    assert judged.verdict == ("good" if later < 1 else "bad")


def test_a_spike_at_the_end_of_all_evaluations_is_no_overfitting() -> None:
    """When the log ends, the held-out loss is at twice its minimum, the training at three times its own."""
    n, random = np.arange(60), np.random.default_rng(6)
    spike = np.interp(n, [50, 52, 54, 59], [0, 3, 3, 1])
    held_out, trained = np.exp(0.4 + 2 * np.exp(-n / 6) + [[0.7], [1.0]] * spike) * [[2.0], [1.0]]
    held_out, trained = (s * np.exp(0.003 * random.standard_normal(60)) for s in (held_out, trained))
    batches = np.exp(1 + 2 * np.exp(-n / 6) + 0.01 * random.standard_normal(60))
    series = {"loss": batches, "train/ctc_loss": trained, "validation/ctc_loss": held_out}
    assert "overfitting" not in classify({name: (1000 * n, s) for name, s in series.items()}).patterns


def test_losses_that_are_a_part_by_name_are_evaluated_together_as_well() -> None:
    """The batches of a speech model show one sample, and the evaluations end at ten times their level."""
    n, random = np.arange(160), np.random.default_rng(7)
    loss = (1.3 + 4 * np.exp(-n / 12)) * np.exp(0.03 * random.standard_normal(160))
    loss[150] *= 4
    level = (0.3 + np.exp(-n[::4] / 12)) * np.where(n[::4] >= 150, 12, 1)
    logged = {"train/ctc_loss": level, "validation/ctc_loss": 2 * level}
    evaluated = {name: (500 * n[::4], values) for name, values in logged.items()}
    judged = classify({"loss": (500 * n, loss), **evaluated})
    assert judged.verdict == "bad"
    assert [f.metric for f in judged.findings if f.severity > 0.5] == ["validation/ctc_loss"]
