"""The classifier inside a training loop: same words at the end, first words early, cheap to import."""

from __future__ import annotations

import functools
import pickle
import sys
import tempfile
import tracemalloc
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.curves import Curve
from tests.curves.series import datasets, grad_norm, learning_rate
from tests.depth import few
from tests.fresh import printed_by

from chronicle.classify import DEFAULTS, Monitor, classify
from chronicle.classify.kernel import Detector, detect
from chronicle.classify.monitor import ROWS_IN_MEMORY
from chronicle.errors import UsageError
from chronicle.metrics.roles import assign
from chronicle.model import Attempt, Diagnosis, Finding, Role, Series
from chronicle.timeline import stitch

RUNS = {
    "healthy": Curve(1),
    "spikes": Curve(2).spike(0.3, 20).spike(0.7, 40, fall=100),
    "shift": Curve(3).shift(0.5, 10),
    "diverges": Curve(4).diverge(0.6, 60, spike=30),
    "ends in nan": Curve(5).spike(0.85, 40).nan(0.9, 300),
    "many series": learning_rate(grad_norm(datasets(Curve(6).spike(0.5, 30)))),
    "sparse": Curve(7, 200, every=100).spike(0.5, 20, rise=1, fall=1),
    "short": Curve(8, 20).spike(0.6, 30, rise=1, fall=1),
}


def watched(curve: Curve) -> tuple[Diagnosis, list[tuple[int, Finding]], dict[str, Series]]:
    """What the monitor says at the end and on the way (with the step at which it said so), and the series."""
    (attempt,) = curve.run().attempts
    rows: dict[int, dict[str, float]] = {}
    for name, series in attempt.series.items():
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            rows.setdefault(step, {})[name] = value
    monitor, reported = Monitor(compile=True), []
    for step in sorted(rows):
        reported += [(step, f) for f in monitor.update(step, rows[step])]
    return monitor.finish(), reported, dict(attempt.series)


def comparable(d: Diagnosis) -> tuple[object, ...]:
    """A diagnosis without the name of the attempt."""
    words = [{k: v for k, v in vars(f).items() if k != "attempt"} for f in d.findings]
    return d.verdict, d.patterns, words, d.not_assessed, d.because


@pytest.mark.parametrize("name", RUNS)
def test_finish_says_what_classify_says(name: str) -> None:
    streamed, _, series = watched(RUNS[name])
    whole = classify({k: (s.steps, s.values) for k, s in series.items()})
    assert comparable(streamed) == comparable(whole)


@pytest.mark.parametrize("name", RUNS)
def test_the_stream_of_a_loss_has_the_bits_of_the_batch(name: str) -> None:
    (attempt,) = RUNS[name].run().attempts
    loss, monitor = attempt.series["loss"], Monitor()
    for step, value in zip(loss.steps, loss.values, strict=True):
        monitor.update(int(step), {"loss": float(value)})
    detector = Detector(DEFAULTS)
    detector.load(monitor.state_dict()["attempts"][-1]["loss"]["detector"])
    detector.finish()
    assert detector.noise.hex() == detect(loss, DEFAULTS)[1].hex()


def test_a_spike_is_told_while_it_lasts_and_again_when_it_is_over() -> None:
    _, reported, _ = watched(Curve(2).spike(0.5, 40, rise=2, fall=30))
    assert [f.end_step is None for _, f in reported] == [True, True, False]
    assert reported[0][0] <= 1003 and reported[0][1].start_step == 1000
    patterns = ["level-shift", "spike-slow-recovery", "spike-fast-recovery"]
    assert [f.pattern for _, f in reported] == patterns


@pytest.mark.parametrize(("every", "is_told"), [(1, False), (100, True)])
def test_one_high_sample_is_told_where_few_steps_are_logged(every: int, is_told: bool) -> None:
    curve = Curve(7, 300, every=every)
    curve.lift[200] += 14 * curve.scale
    assert bool(watched(curve)[1]) is is_told


def test_a_nan_is_told_at_once() -> None:
    _, reported, _ = watched(Curve(5).nan(0.5, 50))
    assert (reported[0][0], reported[0][1].pattern) == (1000, "nan-inf")


@pytest.mark.parametrize("zeros", [1, 5, 30])
def test_zeros_before_the_first_loss_are_no_level_to_rise_from(zeros: int) -> None:
    t = np.arange(600)
    loss = 3 * np.exp(-t / 60) + 0.01 * np.random.default_rng(0).normal(size=600) + 2
    loss[400:403] += 2
    monitor, reported = Monitor(), list[Finding]()
    for step, value in enumerate((*np.zeros(zeros), *loss)):
        if step == 300:
            monitor, state = Monitor(), monitor.state_dict()
            monitor.load_state_dict(state)
        reported += monitor.update(step, {"loss": value})
    seen = [(f.pattern, f.start_step - zeros, f.end_step and f.end_step - zeros) for f in reported]
    assert seen == [("level-shift", 400, None), ("spike-fast-recovery", 400, 403)]


def test_a_metric_that_turns_out_to_be_a_data_set_is_judged_from_its_first_value() -> None:
    """One strange name beside a total is a part of the loss, two are data sets."""
    values, monitor, reported = Curve(2).spike(0.5, 40).loss.tolist(), Monitor(), []
    for step, value in enumerate(values):
        row = {"loss": 2.0 - step / 2000, "loss_blob": value} | (
            {"loss_zork": 2.5 - step / 2000} if step > 500 else {}
        )
        reported += [f for f in monitor.update(step, row) if f.metric == "loss_blob"]
    assert reported and {f.start_step for f in reported} == {1000}


def test_a_metric_may_appear_late_and_have_any_name() -> None:
    monitor = Monitor()
    for step in range(300):
        row = {"loss": 2.0 - step / 1000} | ({"<b>loss/../x</b>": 1.0} if step > 100 else {})
        assert monitor.update(step, row, time=1.7e9 + step) == []
    assert "nan-inf" not in monitor.finish().patterns


def test_nothing_logged_is_no_error() -> None:
    assert Monitor().finish().verdict == "unexpected"


def in_a_new_process(code: str) -> str:
    """What code prints after numpy has been imported."""
    return printed_by(f"import sys, numpy\n{code}")


def test_importing_it_costs_a_trainer_numpy_and_little_else() -> None:
    use = "import chronicle.classify as c; c.Monitor().update(0, {'loss': 1.0})"
    loaded = in_a_new_process(f"had = set(sys.modules); {use}; print(*set(sys.modules) - had)").split()
    ours = [m.removeprefix("chronicle.") for m in loaded if m.startswith("chronicle")]
    assert {m.split(".")[0] for m in loaded} - set(sys.stdlib_module_names) == {"chronicle", "numpy"}
    assert [m for m in ours if m.startswith(("classify.rules", "classify.view", "timeline", "readers"))] == []
    assert len(ours) <= 28 and len(loaded) <= 60  # each costs up to some milliseconds


def test_the_package_is_its_one_function() -> None:
    import chronicle

    loss = {"loss": Curve(1).loss}
    assert chronicle.classify(loss) == chronicle.classify.classify(loss)
    assert chronicle.classify(stitch(loss)).verdict == "good"
    assert chronicle.classify.Monitor is Monitor
    assert np.isfinite(DEFAULTS.rise)


def said_by(monitor: Monitor, loss: Series, first: int, last: int) -> list[Finding]:
    """What the monitor says over some samples of a loss."""
    rows = zip(loss.steps[first:last].tolist(), loss.values[first:last].tolist(), strict=True)
    return [f for step, value in rows for f in monitor.update(step, {"loss": value})]


@functools.cache
def watched_alone(name: str) -> tuple[Series, list[Finding], Monitor]:
    """The loss of a run, what a monitor that is never interrupted says of it, and that monitor."""
    loss, monitor = RUNS[name].run().attempts[0].series["loss"], Monitor(compile=True)
    return loss, said_by(monitor, loss, 0, len(loss)), monitor


@pytest.mark.parametrize("name", few(RUNS, 3))
@pytest.mark.parametrize("share", few([0.0, 0.01, 0.505, 0.72, 1.0], 3))
def test_a_checkpoint_in_the_middle_changes_nothing(name: str, share: float) -> None:
    loss, reported, straight = watched_alone(name)
    cut = int(share * len(loss))
    first, second = Monitor(compile=True), Monitor(compile=True)
    before = said_by(first, loss, 0, cut)
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    assert before + said_by(second, loss, cut, len(loss)) == reported
    assert second.finish() == straight.finish()
    assert second.state_dict() == straight.state_dict()


def test_a_state_says_what_it_is_not() -> None:
    with pytest.raises(UsageError) as err:
        Monitor().load_state_dict({"loss_history": []})
    assert str(err.value) == "this is not a state of a Monitor: schema is None, not 'chronicle/monitor/3'"
    with pytest.raises(UsageError) as err:
        Monitor(replace(DEFAULTS, rise=0.1)).load_state_dict(Monitor().state_dict())
    assert str(err.value) == "the state was made with other thresholds. Remedy: pass them to Monitor()"


@pytest.mark.parametrize("name", few(["healthy", "spikes", "diverges", "ends in nan"], 2))
@pytest.mark.parametrize("kept", [False, True])
def test_a_rewind_is_what_two_logs_of_two_processes_say(name: str, kept: bool) -> None:
    """The run goes to sample 1,500, back to the checkpoint of step 1,000, and on with other noise."""
    before = RUNS[name].run().attempts[0].series["loss"]
    after = Curve(11).run().attempts[0].series["loss"]
    monitor = Monitor(compile=True)
    said_by(monitor, before, 0, 1500)
    monitor.rewind(1000)
    if kept:
        state, monitor = monitor.state_dict(), Monitor(compile=True)
        monitor.load_state_dict(state)
    said_by(monitor, after, 1001, 2000)
    logs = [log_of("monitor", before, 0, 1500), log_of("monitor#2", after, 1001, 2000)]
    assert monitor.finish() == classify(stitch(logs, order=["monitor", "monitor#2"], relation="attempts"))
    (join,) = monitor.finish().joins
    assert (join.kind, join.to_step, join.discarded_steps) == ("rollback", 1001, 499)


def log_of(name: str, loss: Series, first: int, last: int) -> Attempt:
    """Some samples of a loss as the log of one process, without times."""
    times = np.full(last - first, np.nan)
    part = Series("loss", Role.OTHER, loss.steps[first:last], loss.values[first:last], times)
    return Attempt(name, ("monitor",), assign({"loss": part}))


def test_a_rewind_goes_back() -> None:
    monitor = Monitor()
    with pytest.raises(UsageError) as err:
        monitor.rewind(10)
    assert str(err.value) == "rewind(10): the last logged step is None; a rewind goes back"
    monitor.update(5, {"loss": 1.0})
    with pytest.raises(UsageError):
        monitor.rewind(6)


@pytest.mark.parametrize("name", few(RUNS, 4))
def test_a_finding_keeps_its_id_from_the_first_word_to_the_last(name: str) -> None:
    diagnosis, reported, _ = watched(RUNS[name])
    ids = [f.id for f in diagnosis.findings]
    assert all(ids) and len(set(ids)) == len(ids)
    shapes = {f.id for f in diagnosis.findings if ":rise@" in f.id and f.metric == "loss"}
    on_the_way = {f.id for _, f in reported}
    late = {f.id for f in diagnosis.findings if f.start_step > max((s for s, _ in reported), default=0)}
    assert shapes <= on_the_way | late


def test_a_spike_that_becomes_a_divergence_is_one_finding() -> None:
    _, reported, _ = watched(Curve(4).diverge(0.6, 60, spike=30))
    by_id: dict[str, list[str]] = {}
    for _, finding in reported:
        by_id.setdefault(finding.id, []).append(finding.pattern)
    revised = [patterns for patterns in by_id.values() if len(patterns) > 1]
    assert any(patterns[-1].startswith("divergence") for patterns in revised), by_id


def test_columns_stand_on_disk_and_are_gone_with_the_monitor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monitor = Monitor()
    for step in range(3 * ROWS_IN_MEMORY):
        monitor.update(step, {"norm": 1.0})
    (folder,) = tmp_path.iterdir()
    assert [f.stat().st_size for f in folder.iterdir()] == [2 * ROWS_IN_MEMORY * 24]
    del monitor
    assert not folder.exists()
    kept = Monitor(folder=tmp_path / "here")
    for step in range(ROWS_IN_MEMORY + 1):
        kept.update(step, {"../../norm": 1.0})
    assert [f.name for f in (tmp_path / "here").iterdir()] == ["column-1.bin"]


@pytest.mark.slow
def test_memory_does_not_grow_with_the_run() -> None:
    """After what it keeps of a column is full, more steps take no more memory."""
    monitor, held = Monitor(compile=True), {}
    noise = np.exp(0.01 * np.random.default_rng(0).standard_normal(5 * ROWS_IN_MEMORY)).tolist()
    tracemalloc.start()
    try:
        for step, value in enumerate(noise):
            monitor.update(step, {"loss": 2.0 * value, "learning_rate": 1e-3})
            if step + 1 in (2 * ROWS_IN_MEMORY, len(noise)):
                held[step] = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    first, last = held.values()
    assert last - first < 8_192, "a byte a value would be 24,576"
