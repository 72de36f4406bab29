"""Throughput and hangs against the pauses of every run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.classify.asking import findings, patterns
from tests.curves import Curve
from tests.curves.series import batch_size, throughput

from chronicle.classify import classify
from chronicle.model import Attempt, Role, Series
from chronicle.readers import read
from chronicle.timeline import stitch


@pytest.mark.parametrize("drop", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("every", [1, 20])
@pytest.mark.parametrize("pauses", [0, 50])
def test_a_lasting_fall_of_the_throughput(drop: float, every: int, pauses: int) -> None:
    run = throughput(Curve(1, every=every), (0.4, 0.2, drop), pauses=pauses).run()
    (finding,) = findings(run, "throughput-drop")
    assert abs(finding.start_step - 800 * every) <= 8 * every
    assert finding.evidence["slower_share"] == pytest.approx(drop, abs=0.03)
    assert finding.end_step is not None and abs(finding.end_step - 1200 * every) <= 40 * every


@pytest.mark.parametrize("pauses", [20, 50, 333])
@pytest.mark.parametrize("noise", [0.005, 0.05])
def test_evaluations_and_checkpoints_are_neither_drops_nor_hangs(pauses: int, noise: float) -> None:
    for seed in range(2):
        assert patterns(throughput(Curve(seed), pauses=pauses, noise=noise).run()) == set()


def test_step_time_alone_tells_it_as_well() -> None:
    curve = throughput(Curve(2), (0.5, 0.6, 0.1))
    del curve.extra["tokens_per_second"]
    (finding,) = findings(curve.run(), "throughput-drop")
    assert finding.metric == "step_time" and finding.end_step is None


@pytest.mark.parametrize("noise", [0.0, 0.01])
def test_a_step_time_that_grows_until_the_log_ends_worries_nobody(noise: float) -> None:
    """The window of the attention is widened as the training goes on. One that jumps half way does."""
    steps, z = np.arange(1480), np.random.default_rng(4).standard_normal(1480)
    grown, jumps = 142 + 42 * steps / 1480, np.where(steps < 740, 142.0, 184.0)
    verdicts = []
    for seconds in (grown, grown.cumsum() / (steps + 1), jumps):
        times = (steps, seconds * np.exp(noise * z))
        verdicts.append(classify({"loss": (steps, Curve(3).loss[:1480]), "step_time": times}).verdict)
    assert verdicts == ["good", "good", "worrying"]


@pytest.mark.parametrize(
    ("usual_s", "slow_s", "decimals", "is_found"),
    [(0.0032, 0.0041, 3, False), (0.0032, 0.0049, 3, True), (0.62, 0.64, 2, False), (0.62, 0.66, 2, True)],
)
def test_seconds_that_only_rounding_moves_are_no_drop(
    usual_s: float, slow_s: float, decimals: int, is_found: bool
) -> None:
    """Two units of the last decimal may be 1 % or 5 % of 0.62 s."""
    curve, at = Curve(5), np.arange(2000)
    seconds = np.round(np.where(at < 1000, usual_s, slow_s), decimals)
    series = {"loss": Series("loss", Role.LOSS, at, curve.loss, 1.0 * at)}
    series["time"] = Series("time", Role.STEP_TIME, at, seconds, 1.0 * at)
    found = classify(stitch([Attempt("a", ("a",), series)])).patterns
    assert ("throughput-drop" in found) is is_found


@pytest.mark.parametrize(("first", "n_found"), [(250, 0), (230, 6)])
def test_slow_stretches_that_come_evenly_are_evaluations(first: int, n_found: int) -> None:
    """A mean of the last steps is lower for a while after each. One that comes early is none of them."""
    curve, at = Curve(5), np.arange(2000)
    speed = 50 + 0.1 * np.sin(at)
    for start in (first, 500, 750, 1000, 1500, 1750):
        speed[start : start + 60] *= 0.9
    series = {"loss": Series("loss", Role.LOSS, at, curve.loss, 1.0 * at)}
    series["mfu"] = Series("mfu", Role.THROUGHPUT, at, speed, 1.0 * at)
    found = classify(stitch([Attempt("a", ("a",), series)])).findings
    assert sum(f.pattern == "throughput-drop" for f in found) == n_found


@pytest.mark.parametrize("timed", [True, False])
def test_a_mean_of_the_speed_that_evaluations_pull_down_is_no_drop_if_steps_take_as_long(timed: bool) -> None:
    """A mean of nine tenths and a tenth, as nanoGPT prints it. In every tenth row from the second hundred on,
    an evaluation makes a step take eight times as long."""
    curve, at = Curve(6, 1000), np.arange(1000)
    seconds = 3.0 + 0.01 * np.sin(at)
    seconds[100::10] *= 8
    speed = 60 / seconds
    for row in at[1:]:
        speed[row] = 0.9 * speed[row - 1] + 0.1 * speed[row]
    series = {"loss": Series("loss", Role.LOSS, at, curve.loss, 1.0 * at)}
    series["mfu"] = Series("mfu", Role.THROUGHPUT, at, speed, 1.0 * at)
    if timed:
        series["time"] = Series("time", Role.STEP_TIME, at, seconds, 1.0 * at)
    found = classify(stitch([Attempt("a", ("a",), series)])).patterns
    assert ("throughput-drop" in found) is not timed


def test_a_step_time_that_becomes_calmer_is_no_mean_since_the_start() -> None:
    """If it were, a step between calm rows at the end would have taken less than no time, and the last one,
    which is slow, half an hour."""
    z = np.random.default_rng(1).standard_normal(200)
    seconds = 8 + 3 * z / (1 + np.arange(200))
    seconds[-1] = 17.5
    curve, at = Curve(6, 200), np.arange(200)
    series = {"loss": Series("loss", Role.LOSS, at, curve.loss, np.full(200, np.nan))}
    series["dt"] = Series("dt", Role.STEP_TIME, at, seconds, np.full(200, np.nan), unit="s")
    assert "hang" not in classify(stitch([Attempt("a", ("a",), series)])).patterns


def test_a_larger_batch_explains_longer_steps() -> None:
    curve = batch_size(throughput(Curve(3)), ramp=(0.5,), gain=0)
    role, seconds, dataset = curve.extra["step_time"]
    seconds[1000:] *= 1.9
    curve.extra = {"step_time": (role, seconds, dataset), "batch_size": curve.extra["batch_size"]}
    assert patterns(curve.run()) == {"batch-ramp"}


@pytest.mark.parametrize(
    ("setting", "why", "verdict"),
    [
        ("seq_len", "seq_len was set anew", "good"),
        ("num_gpus", None, "worrying"),  # a machine that is gone slows the others down
    ],
)
@pytest.mark.parametrize("metric", ["tokens_per_sec", "step_time"])
def test_a_setting_that_changes_where_steps_become_slower_explains_it(
    metric: str, setting: str, why: str | None, verdict: str
) -> None:
    late, z = np.arange(1200) >= 800, np.random.default_rng(2).standard_normal(1200)
    seconds = np.where(late, 1.7, 1.0) * np.exp(0.01 * z)
    speed = seconds if metric == "step_time" else 4e5 / seconds
    judged = classify({"loss": Curve(3).loss[:1200], metric: speed, setting: np.where(late, 32.0, 4.0)})
    (drop,) = [f for f in judged.findings if f.pattern == "throughput-drop"]
    assert (drop.start_step, drop.evidence.get("explained_by"), judged.verdict) == (800, why, verdict)


@pytest.mark.parametrize("hang_s", [1000.0, 60000.0])
@pytest.mark.parametrize("every", [1, 10])
def test_a_run_that_stands_still_and_goes_on(hang_s: float, every: int) -> None:
    run = throughput(Curve(4, every=every), pauses=50, hang_s=hang_s).run()
    (finding,) = findings(run, "hang")
    assert finding.end_step == 1000 * every
    assert finding.evidence["gap_s"] == pytest.approx(hang_s * every, rel=0.1)


def test_half_a_minute_is_no_hang_and_neither_is_a_pause_that_comes_again() -> None:
    assert "hang" not in patterns(throughput(Curve(5), hang_s=30.0).run())
    curve = throughput(Curve(5))
    curve.seconds = curve.seconds + 3600.0 * (curve.steps // 400)
    assert "hang" not in patterns(curve.run())


@pytest.mark.parametrize(("second", "hang_steps"), [(1400, []), (1100, [700, 1100])])
def test_what_happens_again_is_counted_from_where_a_process_began(second: int, hang_steps: list[int]) -> None:
    curve = Curve(5)
    late = sum(5200.0 * (curve.steps > at) for at in (700, second))
    curve.seconds = curve.steps * 6.0 + late
    (attempt,) = curve.run().attempts
    later = {name: replace(s, steps=s.steps + 50_000) for name, s in attempt.series.items()}
    run = classify(stitch([replace(attempt, series=later)]))
    assert [f.start_step - 50_000 for f in run.findings if f.pattern == "hang"] == hang_steps


@pytest.mark.parametrize(
    ("pauses_s", "hang_steps"),
    [
        ({700: 5200.0, 1400: 5240.0}, []),  # the end of an epoch, and of the next one
        ({700: 5200.0, 1100: 5240.0}, [700, 1100]),
        ({300: 33000.0, 600: 119000.0, 1100: 23000.0, 1200: 4000.0}, []),  # a machine that sleeps
        ({300: 400.0, 600: 64800.0, 900: 400.0, 1500: 400.0}, [600]),  # evaluations, and one that hung
    ],
)
def test_what_happens_again_is_a_habit_of_the_run(pauses_s: dict[int, float], hang_steps: list[int]) -> None:
    curve = Curve(5)
    late = sum(pause_s * (curve.steps > at) for at, pause_s in pauses_s.items())
    curve.seconds = curve.steps * 6.0 + late
    assert [f.start_step for f in findings(curve.run(), "hang")] == hang_steps


@pytest.mark.parametrize(("epoch_ends", "hangs"), [([700], False), ([700, 1400], True), ([900], True)])
def test_the_only_epoch_that_ends_may_be_evaluated_for_long(epoch_ends: list[int], hangs: bool) -> None:
    curve, at = Curve(5), np.arange(2000)
    logged = {"loss": (Role.LOSS, curve.loss), "epoch": (Role.EPOCH, 1.0 + np.searchsorted(epoch_ends, at))}
    times = at * 6.0 + 5200.0 * (at > 700)
    series = {name: Series(name, role, at, values, times) for name, (role, values) in logged.items()}
    assert ("hang" in classify(stitch([Attempt("a", ("a",), series)])).patterns) is hangs


@pytest.mark.parametrize(
    ("evaluated", "hangs"),
    [([0, 700, 1999], False), ([701], False), ([0, 700, 1400], True), ([0, 900], True), ([0, 1999], True)],
)
def test_the_only_evaluation_on_the_way_may_take_long(evaluated: list[int], hangs: bool) -> None:
    curve, at = Curve(5), np.arange(2000)
    times = at * 6.0 + 5200.0 * (at > 700)
    series = {
        "loss": Series("loss", Role.LOSS, at, curve.loss, times),
        "val_loss": Series(
            "val_loss", Role.VALIDATION_LOSS, at[evaluated], curve.loss[evaluated], times[evaluated]
        ),
    }
    assert ("hang" in classify(stitch([Attempt("a", ("a",), series)])).patterns) is hangs


@pytest.mark.parametrize(("pause_s", "is_found"), [(12.0, True), (9.0, False), (4.0, False)])
def test_a_pause_that_took_longer_than_all_the_rest_of_a_short_run(pause_s: float, is_found: bool) -> None:
    curve = Curve(5)
    curve.seconds = curve.steps * 0.003 + pause_s * (curve.steps > 1000)
    assert ("hang" in patterns(curve.run())) is is_found


def test_without_times_a_step_time_of_unknown_unit_must_be_far_out() -> None:
    curve = throughput(Curve(6))
    curve.extra = {"step_time": (Role.STEP_TIME, curve.extra["step_time"][1].copy(), "")}
    curve.extra["step_time"][1][1200] *= 400
    curve.seconds = curve.seconds * float("nan")
    assert "gap_times_median" in findings(curve.run(), "hang")[0].evidence
    curve.extra["step_time"][1][1200] /= 10
    assert "hang" not in patterns(curve.run())


@pytest.mark.parametrize(("launches", "hangs"), [(1, 1), (2, 2), (3, 0)])
def test_what_each_process_does_once_is_a_habit_of_the_run(launches: int, hangs: int) -> None:
    """Half way through each launch the run is evaluated for twenty minutes."""
    curve, attempts = Curve(5), []
    for k in range(launches):
        at = np.arange(100 * k, 100 * (k + 1))
        times = 1e6 * k + 6.0 * at + 1200.0 * (at >= 100 * k + 50)
        attempts.append(
            Attempt(f"{k}", (f"{k}",), {"loss": Series("loss", Role.LOSS, at, curve.loss[at], times)})
        )
    found = classify(stitch(attempts, order=[a.name for a in attempts])).findings
    assert sum(f.pattern == "hang" for f in found) == hangs


def test_a_pause_between_rows_of_data_is_no_hang(tmp_path: Path) -> None:
    """Prices by the minute, over a night in which no market is open; and the same rows with a loss."""
    times = np.r_[np.arange(0, 6000, 60), np.arange(60_000, 66_000, 60)] + 1.7e9
    for metric, hangs in (("price", False), ("loss", True)):
        file = tmp_path / f"{metric}.csv"
        rows = (f"{t},{100 - k / 9}" for k, t in enumerate(times))
        file.write_text("\n".join([f"time,{metric}", *rows]) + "\n")
        assert ("hang" in classify(stitch(read(file))).patterns) is hangs


def test_how_long_the_rows_of_a_table_took_is_no_speed_of_a_training(tmp_path: Path) -> None:
    """Results of problems of three sizes, each with the time of its solution; and of epochs with a loss."""
    seconds = np.repeat([2.0, 40.0, 3.0], 100) * np.exp(0.05 * np.random.default_rng(1).standard_normal(300))
    for metric, drops in (("makespan", False), ("loss", True)):
        file = tmp_path / f"{metric}.csv"
        rows = (f"{1 + 9 / (k + 9)},{time}" for k, time in enumerate(seconds))
        file.write_text("\n".join([f"{metric},time", *rows]) + "\n")
        assert ("throughput-drop" in classify(stitch(read(file))).patterns) is drops
