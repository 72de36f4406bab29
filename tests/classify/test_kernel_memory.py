"""What the kernel learns of a series while it is quiet, and what it keeps of events, one part at a time."""

from __future__ import annotations

import numpy as np
import pytest
from tests.curves import Curve

from chronicle.classify import kernel
from chronicle.classify.kernel import Detector, Event, Kind
from chronicle.classify.kernel import levels as at
from chronicle.classify.kernel.events import baseline, track_last_high
from chronicle.classify.kernel.levels import correlation_penalty
from chronicle.classify.thresholds import DEFAULTS
from chronicle.model import Floats


def after(values: Floats) -> Detector:
    """A detector that has seen these values."""
    detector = Detector(DEFAULTS, engine=kernel.compiled())
    detector.extend(values)
    return detector


def judged(values: Floats) -> list[Event]:
    detector = Detector(DEFAULTS, engine=kernel.compiled())
    return detector.extend(values) + detector.finish()


@pytest.mark.parametrize("samples", [5, 20, 80])
@pytest.mark.parametrize("height", [1.0, 3.0])
@pytest.mark.parametrize("noise", [0.01, 0.03, 0.06])
def test_an_event_ends_where_the_samples_came_down(noise: float, height: float, samples: int) -> None:
    """To the sample, also where a mean over the event takes as long again to follow."""
    late = []
    for seed in range(8):
        i = np.arange(2000)
        log = np.log(2 + 6 / np.sqrt(1 + i / 30)) + noise * np.random.default_rng(seed).standard_normal(2000)
        log[1500 : 1500 + samples] += height
        (tall,) = (e for e in judged(np.exp(log)) if e.height > height / 2)
        assert tall.end is not None
        late.append(abs(tall.end - 1500 - samples))
    assert np.median(late) <= 1 and max(late) <= 6


def test_the_end_is_the_maximum_of_a_sum() -> None:
    """Sample by sample as over the whole event at once."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        above = np.r_[rng.normal(0.5, 1, 30), rng.normal(-0.5, 1, 30)]
        row = [0.0] * at.EVENT
        for i, x in enumerate(above):
            track_last_high(row, x, 1.0, float(i))
        total = np.cumsum(np.clip(above, -3, 3))
        assert row[at.LAST_HIGH] == max(np.flatnonzero(np.r_[0.0, total] == max(0.0, total.max()))) - 1


def test_neighbours_that_say_the_same_thing_count_for_less() -> None:
    worth = [correlation_penalty(after(Curve(1, rho=rho).loss).memory, 0) for rho in (0.0, 0.6, 0.9)]
    assert worth[0] == pytest.approx(1.0, abs=0.1) and worth == sorted(worth) and worth[2] > 1.5


def test_the_tail_is_that_of_the_series() -> None:
    rng = np.random.default_rng(0)
    noise = {
        "none": rng.uniform(-1, 1, 5000),
        "normal": rng.standard_normal(5000),
        "heavy": rng.standard_t(2, 5000),
    }
    rates = [after(2 * np.exp(0.01 * y)).memory.state[at.OVER_RATE] for y in noise.values()]
    assert rates[0] < 1e-4 < rates[1] < 0.003 < 0.01 < rates[2]


def test_small_rises_that_come_again_and_again_are_noise() -> None:
    """Ten batches in a hundred, eight in a row, are 6 % harder: told a few times, not every time."""
    n_rises = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        hard = np.repeat(rng.random(376) < 0.1, 8)[:3000]
        values = 2.0 * np.where(hard, 1.06, 1.0) * np.exp(0.01 * rng.standard_normal(3000))
        n_rises += sum(e.kind is not Kind.DROP for e in judged(values))
    assert n_rises <= 6 * 5


def test_a_level_that_goes_up_and_down_in_slow_waves_does_not_improve() -> None:
    for seed in range(6):
        waves = 0.2 * np.sin(np.arange(3000) / 150)
        assert Kind.DROP not in {e.kind for e in judged(Curve(seed, 3000).loss * np.exp(waves))}


@pytest.mark.parametrize(
    ("earlier", "later", "frozen"), [(1, 31, False), (1, 32, True), (10, 79, False), (10, 80, True)]
)
def test_frozen_is_longer_than_anything_before(earlier: int, later: int, frozen: bool) -> None:
    values = Curve(1, 500).loss
    values[100 : 100 + earlier], values[300 : 300 + later] = 2.0, 2.1
    assert [e.onset for e in judged(values) if e.kind is Kind.FROZEN] == [300] * frozen


def test_of_more_rises_than_can_be_kept_the_first_one_stays() -> None:
    stairs = np.exp(0.4 * np.searchsorted(400 + 100 * np.arange(9), np.arange(1500), side="right"))
    still_open = [e.onset for e in judged(Curve(2, 1500).loss * stairs) if e.kind is Kind.OPEN]
    assert len(still_open) == at.SLOTS - 1 and still_open[0] == 400 and still_open[-1] == 1200


def test_a_trend_is_not_drawn_out_further_than_it_was_seen() -> None:
    event = [0.0] * at.EVENT
    event[at.ONSET], event[at.BASE], event[at.SLOPE], event[at.SPAN] = 100.0, 1.0, -0.5, 50.0
    course = [baseline(event, i) for i in (100.0, 125.0, 150.0, 151.0, 10_000.0)]
    assert course[0] == 1.0 > course[1] > course[2] == course[3] == course[4]


def test_few_short_logs_of_noise_end_in_a_rise() -> None:
    """Of few values the noise is hardly known: more evidence is needed at the end as well."""
    short = (np.exp(0.05 * np.random.default_rng(seed).standard_normal(10)) for seed in range(1000))
    risen = [event.opened for log in short for event in judged(log) if event.kind is Kind.OPEN]
    assert risen.count(9) == 4
