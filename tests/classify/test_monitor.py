"""The classifier inside a training loop: same words at the end, first words early, cheap to import."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from tests.curves import Curve
from tests.curves.series import datasets, grad_norm, learning_rate

from chronicle.classify import DEFAULTS, Monitor, classify
from chronicle.classify.detect import detect
from chronicle.model import Diagnosis, Finding, Series
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
    monitor, said = Monitor(), []
    for step in sorted(rows):
        said += [(step, f) for f in monitor.update(step, rows[step])]
    return monitor.finish(), said, dict(attempt.series)


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
    detector = monitor._columns["loss"].detector
    assert detector is not None
    detector.finish()
    assert detector.noise.hex() == detect(loss, DEFAULTS)[1].hex()


def test_a_spike_is_told_while_it_lasts_and_again_when_it_is_over() -> None:
    _, said, _ = watched(Curve(2).spike(0.5, 40, rise=2, fall=30))
    assert [f.end_step is None for _, f in said] == [True, True, False]
    assert said[0][0] <= 1003 and said[0][1].start_step == 1000
    assert said[-1][1].pattern in ("spike-fast-recovery", "spike-slow-recovery")


def test_a_nan_is_told_at_once() -> None:
    _, said, _ = watched(Curve(5).nan(0.5, 50))
    assert (said[0][0], said[0][1].pattern) == (1000, "nan-inf")


def test_a_metric_may_appear_late_and_have_any_name() -> None:
    monitor = Monitor()
    for step in range(300):
        row = {"loss": 2.0 - step / 1000} | ({"<b>loss/../x</b>": 1.0} if step > 100 else {})
        assert monitor.update(step, row, time=1.7e9 + step) == []
    assert "nan-inf" not in monitor.finish().patterns


def test_nothing_logged_is_no_error() -> None:
    assert Monitor().finish().verdict == "unexpected"


def test_importing_it_costs_a_trainer_numpy_and_little_else() -> None:
    code = """
import sys, time, json, numpy
had, start = set(sys.modules), time.process_time()
import chronicle.classify
spent = time.process_time() - start
new = {m.split('.')[0] for m in set(sys.modules) - had}
print(json.dumps([spent, sorted(new - set(sys.stdlib_module_names))]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    spent, new = json.loads(done.stdout)
    assert set(new) <= {"chronicle", "numpy"}
    assert spent <= 0.2


def test_the_package_is_its_one_function() -> None:
    import chronicle

    loss = {"loss": Curve(1).loss}
    assert chronicle.classify(loss) == chronicle.classify.classify(loss)
    assert chronicle.classify(stitch(loss)).verdict == "good"
    assert chronicle.classify.Monitor is Monitor
    assert np.isfinite(DEFAULTS.rise)
