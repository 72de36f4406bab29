"""The lab without PyTorch: its text, its schedule of faults, its logs and its command line."""

from __future__ import annotations

import csv
import json
import math
import tomllib
from pathlib import Path

import numpy as np
import pytest
from lab import policy
from lab.faults import (
    Fault,
    Kind,
    Schedule,
    corrupted,
    learning_rate,
    lost,
    of_attempt,
    replayed,
    second_share,
)
from lab.jobs import JobLog
from lab.logs import CsvLog, JsonLog, StateLog
from lab.recipe import Recipe
from lab.recipes import RECIPES
from lab.scale import LossScale
from lab.text import Stream, story, sums
from lab.train import IN_NUMPY, NAMES, RUNS, Made, run_toml
from tests.fresh import printed_by

from chronicle.workspace.config import RunConfig, from_table


@pytest.mark.parametrize("text", [story, sums])
@pytest.mark.parametrize("size", [1, 1000, 12345])
def test_text_has_the_size_asked_for_and_depends_on_the_seed_alone(text, size: int) -> None:
    made = text(size, 1)
    assert len(made) == size and made.max() < 128
    assert np.array_equal(made, text(size, 1))
    assert not np.array_equal(text(size + 99, 1), text(size + 99, 2))


def test_sums_are_right() -> None:
    for line in bytes(sums(4000, 3)).decode().split(";")[:-1]:
        terms, total = line.split("=")
        assert sum(map(int, terms.split("+"))) == int(total)


def test_a_stream_serves_every_row_once_an_epoch_in_another_order() -> None:
    stream = Stream(np.arange(12, dtype=np.uint8), 1, seed=5)
    first, second = stream.take(12)[:, 0], stream.take(12)[:, 0]
    assert sorted(first) == sorted(second) == list(range(12))
    assert list(first) != list(second)
    assert stream.take(0).shape == (0, 1)


def test_a_resumed_stream_goes_on_where_its_cursor_was() -> None:
    text = story(20_000, 1)
    whole, resumed = Stream(text, 65, 1), Stream(text, 65, 1)
    rows = whole.take(700)  # more than two epochs
    resumed.cursor = 300
    assert np.array_equal(resumed.take(400), rows[300:])


@pytest.mark.parametrize("kind", ["constant", "cosine", "decay", "ramp"])
def test_every_schedule_warms_up_from_nothing_to_its_peak(kind: str) -> None:
    schedule = Schedule(3e-3, 1000, kind, warmup=100, turn=500)
    assert schedule.at(0) == pytest.approx(3e-5)
    assert schedule.at(99) == pytest.approx(3e-3, rel=0.03)


def test_how_schedules_end() -> None:
    end = {k: Schedule(1.0, 1000, k, 100, 500).at(999) for k in ("constant", "cosine", "decay", "ramp")}
    assert end["constant"] == 1.0
    assert end["cosine"] == pytest.approx(0.1, rel=0.01)
    assert end["decay"] == pytest.approx(0.005)
    assert end["ramp"] == pytest.approx(1.01**499)


def test_a_kick_multiplies_the_rate_while_it_lasts() -> None:
    faults = [Fault(Kind.LR_KICK, 500, 3, 100)]
    rates = [learning_rate(Schedule(2.0, 900, "constant"), faults, step) for step in (499, 500, 502, 503)]
    assert rates == [2.0, 200.0, 200.0, 2.0]


def test_a_lost_schedule_begins_anew_at_the_resume() -> None:
    schedule = Schedule(1.0, 1000)
    faults = [Fault(Kind.SCHEDULE_LOST, 600)]
    assert learning_rate(schedule, faults, 599) == schedule.at(599)
    assert learning_rate(schedule, faults, 600) == schedule.at(0)
    assert learning_rate(schedule, faults, 750) == schedule.at(150)


def test_a_skew_is_whole_at_the_resume_and_fades() -> None:
    faults = [Fault(Kind.RATIO_SKEW, 450, 30, 0.1)]
    assert second_share(0.5, faults, 449) == 0.5
    assert second_share(0.5, faults, 450) == pytest.approx(0.05)
    assert second_share(0.5, faults, 480) == pytest.approx(0.5 * (1 - 0.9 / math.e))
    assert second_share(0.5, faults, 900) == pytest.approx(0.5, rel=1e-5)


def test_a_repeating_loader_serves_the_last_segment_again_and_again() -> None:
    faults = [Fault(Kind.REPEAT, 300, 160, 40)]
    rows = 16
    cursor = 300 * rows
    read = [replayed(faults, step, cursor, rows) for step in range(300, 460)]
    segment = [step * rows for step in range(260, 300)]
    assert read == segment * 4
    assert replayed(faults, 299, cursor, rows) is None is replayed(faults, 460, cursor, rows)


def test_a_loader_repeats_itself_only_in_the_attempt_that_resumed() -> None:
    faults = [Fault(Kind.REPEAT, 300, 160, 40), Fault(Kind.REPEAT, 460, 160, 40), Fault(Kind.NAN, 480)]
    assert of_attempt(faults, 300) == (faults[0], faults[2])


def test_garbage_hits_its_source_and_its_steps() -> None:
    rows, rng = np.zeros((4, 65), np.uint8), np.random.default_rng(0)
    faults = [Fault(Kind.GARBAGE, 550, 12, source="story")]
    hit = [
        (source, step)
        for source in ("story", "sums")
        for step in (549, 550, 561, 562)
        if corrupted(rows, source, faults, step, rng).any()
    ]
    assert hit == [("story", 550), ("story", 561)]


def test_what_a_resume_loses() -> None:
    faults = [Fault(Kind.OPTIMIZER_LOST, 480), Fault(Kind.GARBAGE, 480), Fault(Kind.WEIGHTS_LOST, 500)]
    assert lost(faults, 480) == {Kind.OPTIMIZER_LOST}
    assert lost(faults, 499) == set()


def test_the_loss_scale_halves_on_overflow_and_doubles_after_good_steps() -> None:
    scale = LossScale(scale=1024.0, good_steps=3)
    assert [scale.fits(g) for g in (1.0, 64.0, math.inf, math.nan)] == [True, False, False, False]
    assert scale.scale == 128.0
    assert all(scale.fits(1.0) for _ in range(3)) and scale.scale == 256.0


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda r: r.name)
def test_faults_lie_inside_the_training_and_on_its_resumes(recipe: Recipe) -> None:
    starts = {attempt.start for attempt in recipe.attempts[1:]}
    of_resume = {Kind.OPTIMIZER_LOST, Kind.SCHEDULE_LOST, Kind.WEIGHTS_LOST, Kind.RATIO_SKEW, Kind.REPEAT}
    for fault in recipe.faults:
        assert 100 < fault.at < fault.at + fault.steps <= recipe.steps
        assert fault.kind not in of_resume or fault.at in starts
    for before, after in zip(recipe.attempts, recipe.attempts[1:], strict=False):
        assert before.start < after.start <= before.stop < after.stop


VALUES = [{"loss": 5.5, "lr": 1e-3, "val_loss": 5.25}, {"loss": math.nan, "lr": 2e-3}]


def test_csv_log(tmp_path: Path) -> None:
    log = CsvLog(tmp_path, "")
    for step, values in enumerate(VALUES):
        log.write(step, values)
    log.close()
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text("utf-8").splitlines()))
    assert [{k: v for k, v in row.items() if k != "time"} for row in rows] == [
        {"step": "0", "loss": "5.5", "lr": "0.001", "val_loss": "5.25"},
        {"step": "1", "loss": "nan", "lr": "0.002", "val_loss": ""},
    ]


def test_json_log(tmp_path: Path) -> None:
    log = JsonLog(tmp_path, "attempt-2")
    for step, values in enumerate(VALUES):
        log.write(step, values)
    log.close()
    rows = [json.loads(line) for line in (tmp_path / "attempt-2.jsonl").read_text("utf-8").splitlines()]
    assert rows[0].keys() == {"step", "timestamp", "train_loss", "learning_rate", "val_loss"}
    assert math.isnan(rows[1]["train_loss"])


def test_state_log(tmp_path: Path) -> None:
    log = StateLog(tmp_path, "")
    log.write(7, {**VALUES[0], "epoch": 0.5})
    log.close()
    assert json.loads((tmp_path / "trainer_state.json").read_text("utf-8")) == {
        "epoch": 0.5,
        "global_step": 7,
        "log_history": [
            {"loss": 5.5, "learning_rate": 0.001, "epoch": 0.5, "step": 7},
            {"eval_loss": 5.25, "epoch": 0.5, "step": 7},
        ],
    }


def test_job_log(tmp_path: Path) -> None:
    for name in ("attempt-1", "attempt-3"):
        log = JobLog(tmp_path, name)
        log.write(360, {"loss": 5.5, "lr": 1e-3, "grad_norm": 1.25, "val_loss": 0.0})
        log.close()
    assert (tmp_path / "slurm-4713.out").read_text("utf-8") == (
        "SLURM_JOB_ID=4713\n"
        "SLURM_JOB_NODELIST=nid[001-002,004,006]\n"
        "using world size: 4, data-parallel-size: 4, tensor-model-parallel size: 1\n"
        " [2026-03-02 18:40:45] iteration      361/    1000 | consumed samples:         5776 | "
        "learning rate: 1.000E-03 | global batch size:    16 | lm loss: 5.500000E+00 | grad norm: 1.250 |\n"
        " validation loss at iteration 361 | lm loss value: 0.000000E+00 | lm loss PPL: 1.000000E+00 | \n"
        "[2026-03-02T18:40:50] exiting program after receiving SIGTERM.\n"
        "slurmstepd: error: *** JOB 4713 ON nid001 CANCELLED AT 2026-03-02T18:41:49 DUE TO PREEMPTION ***\n"
    )
    kernel = (tmp_path / "kernel.log").read_text("utf-8").splitlines()
    assert kernel[-1].startswith("Mar  2 09:00:53 nid003 kernel: NVRM: Xid (PCI:0000:41:00): 79")


def test_run_toml_is_one_that_chronicle_reads() -> None:
    made = Made("x", 'a "title"', "none", "words " * 40 + "end.", ("a", "b"), 1, 9, 2, 3.6, (5,), 1024)
    config = from_table(RunConfig, tomllib.loads(run_toml(made)), "run.toml")
    assert (config.title, config.data, config.relation) == ('a "title"', "tiny training", "attempts")
    assert "\n" not in config.description and config.tokens_per_step == 1024
    assert config.facts["training, seconds"] == 4 and config.facts["injected at step"] == [5]


def test_the_command_says_what_it_does_without_pytorch() -> None:
    code = "import sys; sys.modules['torch'] = None; from lab.train import main; main(['--help'])"
    printed = printed_by(code)
    assert "usage: python -m lab.train" in printed
    shown = "".join(printed.split())  # wherever lines are broken
    assert all(name in shown for name in NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_NUMPY)
def test_what_is_trained_in_numpy_is_made_again_bit_for_bit(name: str, tmp_path: Path) -> None:
    IN_NUMPY[name].train(CsvLog(tmp_path, ""))
    trained = (tmp_path / "log.csv").read_bytes().splitlines()
    kept = (RUNS / f"lab-{name}" / "log.csv").read_bytes().splitlines()
    assert [(row, other) for row, other in zip(trained, kept, strict=True) if row != other][:1] == []


def test_a_policy_without_a_bonus_stops_looking() -> None:
    """The numbers that docs/lab.md and docs/beyond-the-loss.md give."""
    curves = {}
    for name in (training.name for training in policy.TRAININGS):
        with (RUNS / f"lab-{name}" / "log.csv").open() as file:
            rows = [*csv.DictReader(file)]
        curves[name] = [np.array([float(r[k]) for r in rows]) for k in ("reward/mean", "policy/entropy")]
    (low, gone), (high, kept) = curves["entropy-collapse"], curves["entropy-kept"]
    assert len(low) == len(high) == 1500
    assert gone[40] < 0.1 < 0.4 < kept.min()
    assert round(float(low[-100:].mean()), 1) == 0.6 and round(float(high[-100:].mean()), 1) == 0.9
    assert high[400:500].mean() < low[400:500].mean() and high[600:].mean() > low[600:].mean()
