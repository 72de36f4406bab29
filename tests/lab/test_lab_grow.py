"""Grown trainings without PyTorch: recipes, the clock, the logs, and labels from curves that are known."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lab.faults import Fault, Kind
from lab.grow import measure
from lab.grow.__main__ import is_grown
from lab.grow.clock import START, logged, rounded, timed
from lab.grow.facts import AttemptLog, Case, spans
from lab.grow.label import JUDGES, label
from lab.grow.logs import NAMES, name_in, write
from lab.grow.plan import LogStyle, Plan, Recipe, parse, recipes
from lab.grow.summary import measured
from lab.grow.tasks import TASKS, epoch_rows
from lab.grow.write import toml
from tests.fresh import printed_by

from chronicle.classify.patterns import BY_ID
from chronicle.model import Role
from chronicle.readers import read
from chronicle.score import load_label

RECIPES = recipes()
STEPS, NOISE = 1000, 0.02


# ---- recipes


def test_there_are_enough_recipes_of_both_kinds_in_both_halves() -> None:
    healthy = [r for r in RECIPES.values() if r.cause.startswith("none")]
    injected = [r for r in RECIPES.values() if not r.cause.startswith("none")]
    assert len(healthy) >= 30 and len(injected) >= 60
    for group in (healthy, injected):
        assert 0.35 < sum(r.half == "hold" for r in group) / len(group) < 0.65


def test_every_pattern_that_a_training_can_have_is_aimed_at() -> None:
    aims = {r.aim for r in RECIPES.values()} - {""}
    assert aims <= set(BY_ID)
    of_policies = {"entropy-collapse", "length-explosion", "kl-blow-up", "reward-hacking"}  # by hand
    of_policies |= {"router-collapse", "clip-saturation"}
    assert set(BY_ID) - aims <= {"near-perfect", "noisy-healthy"} | of_policies


def test_every_recipe_can_be_trained() -> None:
    of_resumes = {Kind.OPTIMIZER_LOST, Kind.SCHEDULE_LOST, Kind.WEIGHTS_LOST, Kind.REPEAT, Kind.RATIO_SKEW}
    for name, recipe in RECIPES.items():
        plan, last = recipe.run, max(stop for _, stop in recipe.attempts)
        assert plan.task in TASKS and recipe.log.format in NAMES, name
        assert last <= plan.steps and all(a < b for a, b in recipe.attempts), name
        judged = ((f.at < last and f.kind in JUDGES) or f.kind is Kind.ZERO_LOG for f in recipe.faults)
        assert all(judged), name
        caused = recipe.has_twin or recipe.faults or recipe.log.rounding or recipe.aim in COURSES
        assert recipe.cause.startswith("none") or caused, name
        joins = {a for a, _ in recipe.attempts[1:]}
        assert all(f.at in joins for f in recipe.faults if f.kind in of_resumes), name


COURSES = {"grokking", "overfitting"}  # what lies in the task and not in a fault


def test_a_recipe_that_says_what_does_not_exist_is_refused() -> None:
    bases = {"b": {"task": "chars"}}
    with pytest.raises(ValueError, match=r"x: unknown keys \['widht'\]"):
        parse("x", {"base": "b", "aim": "", "cause": "", "widht": 3}, bases)
    with pytest.raises(ValueError, match="'garbag' is not a valid Kind"):
        parse("x", {"base": "b", "aim": "", "cause": "", "faults": [{"kind": "garbag", "at": 3}]}, bases)


def test_the_twin_has_all_that_the_training_has_but_the_cause() -> None:
    table = {"base": "b", "aim": "", "cause": "", "lr": 0.1, "but": {"clip": 0.0}}
    recipe = parse("x", table, {"b": {"task": "vision", "width": 8}})
    assert (recipe.run.task, recipe.run.width, recipe.run.lr, recipe.run.clip) == ("vision", 8, 0.1, 0.0)
    assert replace(recipe.run, clip=1.0) == recipe.twin and recipe.has_twin


def test_a_list_of_places_is_a_fault_at_each() -> None:
    entry = {"kind": "garbage", "at": [5, 9], "steps": 2}
    recipe = parse("x", {"base": "b", "aim": "", "cause": "", "faults": [entry]}, {"b": {}})
    assert [(f.at, f.steps) for f in recipe.faults] == [(5, 2), (9, 2)]
    endless = parse("x", {"base": "b", "aim": "", "cause": "", "faults": [{**entry, "steps": 0}]}, {"b": {}})
    assert [f.at + f.steps for f in endless.faults] == [1000, 1000]


# ---- tasks


@pytest.mark.parametrize("task", TASKS)
def test_a_batch_follows_from_its_position(task: str) -> None:
    made = TASKS[task](Plan(task=task))
    first, again, other = (made.batch(p, 8) for p in (3, 3, 4))
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert len(first[0]) == len(first[1]) == 8
    held = made.held_out()
    assert held[0].shape[1:] == first[0].shape[1:] and len(held[0]) >= 100


def test_every_row_of_a_small_pool_comes_once_an_epoch() -> None:
    plan = Plan(unique_rows=24)
    epochs = [np.concatenate([epoch_rows(plan, e * 3 + i, 8) for i in range(3)]) for e in range(2)]
    assert all(sorted(rows) == list(range(24)) for rows in epochs)
    assert list(epochs[0]) != list(epochs[1])


# ---- clock and logs


def test_evaluations_and_faults_take_time_and_nothing_else_does() -> None:
    faults = (Fault(Kind.SLOW, 50, 50, 2.0), Fault(Kind.HANG, 20, 1, 600.0))
    recipe = Recipe("x", "", "", Plan(), Plan(), faults)
    rows = [{"step": s, "loss": 1.0, **({"val_loss": 1.0} if s == 10 else {})} for s in range(100)]
    (timed_rows,) = timed(recipe, [rows])
    took = np.array([row["step_time"] for row in timed_rows])
    gaps = np.diff([row["time"] for row in timed_rows])
    assert timed_rows[0]["time"] == pytest.approx(START + took[0], abs=1e-5)
    assert took[20] > 600 and np.median(took[50:]) == pytest.approx(2 * np.median(took[:50]), rel=0.02)
    assert gaps[10] - took[11] == pytest.approx(3.0, abs=1e-5)  # the pause comes after the row
    assert np.delete(gaps - took[1:], 10) == pytest.approx(0, abs=1e-5)


def test_a_log_has_the_cadence_and_the_series_that_were_asked_for() -> None:
    rows = [
        {"step": s, "time": float(s), "loss": 1.23, "lr": 1.0, "loss/story": 2.0, "val_loss": 9.0}
        for s in range(9)
    ]
    shown = logged(LogStyle(every=4, series=("val_loss",), rounding="1"), rows)
    assert [row["step"] for row in shown] == [0, 4, 8]
    assert shown[0] == {"step": 0, "time": 0.0, "loss": 1.2, "loss/story": 2.0, "val_loss": 9.0}
    del rows[1]["val_loss"], rows[2]["val_loss"]
    assert [row["step"] for row in logged(LogStyle(only="eval"), rows)] == [0, 3, 4, 5, 6, 7, 8]


@pytest.mark.parametrize("value", [1.0, 1.234567, 3.99, 0.1, 65504.0, -2.7182818])
def test_bf16_keeps_eight_bits_to_the_nearest(value: float) -> None:
    scale = 2.0 ** (math.floor(math.log2(abs(value))) - 7)  # the slow and obvious way
    assert rounded(value, "bf16") == round(value / scale) * scale


@pytest.mark.parametrize("format_", NAMES)
def test_a_written_log_is_read_as_it_was_written(format_: str, tmp_path: Path) -> None:
    rows = [
        {
            "step": s,
            "time": START + s,
            "loss": 3.5 - s / 40,
            "grad_norm": 1.25,
            "lr": 3e-3,
            "loss_scale": 64.0,
        }
        for s in range(0, 60, 2)
    ]
    rows[10]["val_loss"] = 2.5
    for name in ("attempt-1", "attempt-2"):
        write(format_, tmp_path, name, rows)
    attempts = read(tmp_path)
    assert len(attempts) == 2
    for attempt in attempts:
        loss = attempt.series[name_in(format_, "loss")]
        assert loss.steps.tolist() == [row["step"] for row in rows]
        assert loss.values == pytest.approx([row["loss"] for row in rows], rel=1e-5)
        assert [list(s.values) for s in attempt.series.values() if s.role is Role.VALIDATION_LOSS] == [[2.5]]


# ---- labels


def course(lift: np.ndarray, seed: int = 0) -> tuple[list[dict[str, float]], dict[int, dict[str, float]]]:
    """Rows of a training that is above its twin by ``lift``, and those of the twin, with equal noise."""
    steps = np.arange(len(lift))
    noise = NOISE * np.random.default_rng(seed).standard_normal(len(lift))
    twin = (1.5 + 3 / (1 + steps / 30) ** 0.5) * np.exp(noise)
    rows = [{"step": int(s), "loss": float(v * np.exp(u))} for s, v, u in zip(steps, twin, lift, strict=True)]
    return rows, {int(s): {"loss": float(v)} for s, v in zip(steps, twin, strict=True)}


def labelled(faults: tuple[Fault, ...], lift: np.ndarray, aim: str = "") -> dict:
    rows, twin = course(lift)
    recipe = Recipe("x", aim, "", Plan(), Plan(), faults, ((0, STEPS),))
    return label(Case(recipe, [AttemptLog("", rows, twin)]))


def decaying(at: int, height: float, memory: float, left: float = 0.0) -> np.ndarray:
    k = np.arange(STEPS) - at
    return np.where(k >= 0, left + (height - left) * np.exp(-np.maximum(k, 0) / memory), 0.0)


KICK = (Fault(Kind.LR_KICK, 500, 3, 50.0),)


@pytest.mark.parametrize(
    ("memory", "left", "pattern"),
    [
        (5.0, 0.0, "spike-fast-recovery"),
        (30.0, 0.0, "spike-fast-recovery"),
        (150.0, 0.0, "spike-slow-recovery"),
        (20.0, 0.2, "spike-no-full-recovery"),
        (1e9, 0.8, "divergence-after-spike"),
    ],
)
def test_a_spike_is_called_by_how_it_recovers(memory: float, left: float, pattern: str) -> None:
    its_label = labelled(KICK, decaying(500, 0.8, memory, left))
    (event,) = its_label["events"]
    assert event["pattern"] == pattern and event["start_step"] == 500
    assert pattern in its_label["required"][0].split("|")
    assert its_label["measured"]["height_log"] == pytest.approx(0.8)
    assert its_label["measured"]["height_scales"] == pytest.approx(0.8 / NOISE, rel=0.2)
    assert str(BY_ID[pattern].verdict) == its_label["verdict"]


def test_a_slow_rise_is_a_divergence() -> None:
    its_label = labelled(
        (Fault(Kind.GROWTH, 500, 500, 1.01),), np.maximum(np.arange(STEPS) - 500, 0) / 500 * 0.6
    )
    assert its_label["events"][0]["pattern"] == "divergence-no-spike" and its_label["verdict"] == "bad"
    assert its_label["events"][0]["start_step"] == pytest.approx(550, abs=30)


def test_a_fault_that_did_nothing_leaves_a_healthy_label() -> None:
    its_label = labelled(KICK, np.zeros(STEPS))
    assert (its_label["verdict"], its_label["required"], its_label["events"]) == (
        "good",
        ["near-perfect|noisy-healthy"],
        [],
    )
    assert its_label["why"] == "The fault at step 500 left no trace in the loss."
    assert "spike-fast-recovery" in its_label["forbidden"] and its_label["steps_healthy"] == STEPS


@pytest.mark.parametrize("change", [0.1, -0.3, 0.5])
def test_a_change_of_the_data_for_good_is_a_level_shift(change: float) -> None:
    lift = np.where(np.arange(STEPS) >= 600, change, 0.0)
    its_label = labelled((Fault(Kind.HARDER, 600, 400, 2.0),), lift)
    assert [(e["pattern"], e["start_step"]) for e in its_label["events"]] == [("level-shift", 600.0)]
    assert its_label["required"][0].startswith("level-shift")


def test_a_debatable_bump_need_not_be_found() -> None:
    lift = np.where(np.arange(STEPS) == 500, 7 * NOISE, 0.0)
    its_label = labelled(KICK, lift)
    assert its_label["events"][0]["optional"] and its_label["required"] == ["near-perfect|noisy-healthy"]


def test_not_a_number_is_named_where_it_begins() -> None:
    lift = np.zeros(STEPS)
    lift[700:] = np.nan
    its_label = labelled((Fault(Kind.NAN, 700),), lift)
    assert [(e["pattern"], e["start_step"], e.get("end_step")) for e in its_label["events"]] == [
        ("nan-inf", 700.0, None)
    ]
    assert its_label["verdict"] == "bad" and its_label["steps_healthy"] < 700


def test_a_gradient_that_leads_is_measured_in_points() -> None:
    rng = np.random.default_rng(0)
    twin_grad = np.exp(0.05 * rng.standard_normal(STEPS))
    grad = twin_grad * np.where((np.arange(STEPS) >= 494) & (np.arange(STEPS) < 520), 5.0, 1.0)
    up = decaying(500, 0.8, 5.0)
    s = measure.shape(up, 480, STEPS, NOISE)
    assert s is not None and measure.first_lead(grad, twin_grad, up, s) == 6
    assert measure.first_lead(twin_grad, twin_grad, up, s) == 0


def test_a_mean_counts_by_its_own_error() -> None:
    up = np.zeros(200)
    up[100:116] = 0.5
    slow = max(up[i : i + k].mean() * k**0.5 for k in measure.WINDOWS for i in range(200 - k + 1))
    assert measure.score(up, 1.0) == pytest.approx(slow) == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(5))
def test_the_noise_scale_is_the_spread_of_a_point(seed: int) -> None:
    rows, _ = course(np.zeros(STEPS), seed)
    assert measure.noise(np.array([r["loss"] for r in rows])) == pytest.approx(NOISE, rel=0.15)


def test_faults_that_touch_are_one_cause() -> None:
    faults = [Fault(Kind.LABELS, a, 10, x) for a, x in ((20, 0.2), (10, 0.1), (40, 0.1))]
    assert [(s.at, s.end, s.even) for s in spans(faults)] == [(10, 30, False), (40, 50, True)]


def test_a_label_is_a_label_of_the_project(tmp_path: Path) -> None:
    table = labelled(KICK, decaying(500, 0.8, 5.0))
    (tmp_path / "label.toml").write_text(toml({**table, "fingerprint": "x"}), "utf-8")
    (tmp_path / "log.csv").write_text("step,loss\n", "utf-8")
    its_label = load_label(tmp_path)
    assert (
        its_label.events[0].pattern == "spike-fast-recovery"
        and its_label.verdict == "good"
        and its_label.files == 1
    )
    assert measured(tomllib.loads((tmp_path / "label.toml").read_text("utf-8"))).startswith("+0.80 log units")


def test_what_has_grown_is_known_by_its_recipe(tmp_path: Path) -> None:
    recipe = next(iter(RECIPES.values()))
    folder = tmp_path / recipe.half / recipe.name
    assert not is_grown(recipe, tmp_path)
    folder.mkdir(parents=True)
    (folder / "label.toml").write_text(f'fingerprint = "{recipe.fingerprint}"\n', "utf-8")
    assert is_grown(recipe, tmp_path)
    assert not is_grown(replace(recipe, run=replace(recipe.run, lr=1.0)), tmp_path)


def test_the_command_says_what_it_does_without_pytorch() -> None:
    code = "import sys; sys.modules['torch'] = None; from lab.grow.__main__ import main; main(['--help'])"
    printed = printed_by(code)
    assert "usage: python -m lab.grow" in printed and "--workers" in printed
