"""The generator of labelled curves keeps its word: seeded, finite, right heights, labels inside the log."""

from __future__ import annotations

import numpy as np
import pytest
from tests.curves import Curve
from tests.curves.runs import HEALTHY, reinitialised, repeat_data, resume_spikes
from tests.curves.series import datasets, grad_norm, learning_rate, loss_scale, throughput, validation


@pytest.mark.parametrize("kind", HEALTHY)
def test_healthy_runs_are_finite_labelled_healthy_and_the_same_for_the_same_seed(kind: str) -> None:
    first, again, other = HEALTHY[kind](1), HEALTHY[kind](1), HEALTHY[kind](2)
    assert not first.events
    for a, b, c in zip(first.attempts, again.attempts, other.attempts, strict=True):
        assert np.isfinite(a.series["loss"].values).all() and (np.diff(a.series["loss"].steps) > 0).all()
        assert (a.series["loss"].values == b.series["loss"].values).all()
        assert (a.series["loss"].values != c.series["loss"].values).any()


def test_a_spike_has_the_height_that_was_asked_for_and_is_labelled_where_it_is() -> None:
    plain, spiked = Curve(7), Curve(7).spike(0.5, height=20, rise=3)
    gain = np.log(spiked.loss / plain.loss) / plain.scale
    (event,) = spiked.events
    assert np.argmax(gain) == event.peak_step and gain.max() == pytest.approx(20)
    assert gain[: event.start_step].max() == pytest.approx(0) and event.pattern == "spike-fast-recovery"


def test_series_beside_the_loss_are_logged_at_the_same_steps() -> None:
    c = throughput(loss_scale(validation(grad_norm(datasets(learning_rate(Curve(1)).spike(0.5))))))
    attempt = c.attempt()
    assert [len(s) for s in attempt.series.values()] == [2000] * 6 + [40] + [2000] * 3
    assert set(attempt.series["val_loss"].steps) <= set(attempt.series["loss"].steps)


def test_labels_of_attempts_lie_inside_their_attempt() -> None:
    for run in (resume_spikes(1), repeat_data(1), reinitialised(1), reinitialised(1, in_one_file=False)):
        steps = np.concatenate([a.series["loss"].steps for a in run.attempts])
        assert run.events and all(e.start_step in steps for e in run.events)
