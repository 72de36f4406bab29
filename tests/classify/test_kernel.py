"""Laws of the kernel whatever it is fed: batch is stream, compiled is plain, nothing raises."""

from __future__ import annotations

import functools
import math
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.curves import Curve
from tests.depth import examples, few

from chronicle.classify import kernel
from chronicle.classify.kernel import Detector, Event, Kind
from chronicle.classify.kernel import levels as at
from chronicle.classify.kernel import step as plain
from chronicle.classify.thresholds import DEFAULTS
from chronicle.model import Floats


def curves() -> dict[str, Floats]:
    """Series of every kind that a log has shown, and some that none has."""
    rng = np.random.default_rng(0)
    ramp = np.arange(600.0)
    made = {
        "fast spikes": Curve(1).spike(0.3, 20).spike(0.6, 8, fall=4),
        "slow spike": Curve(2).spike(0.4, 30, fall=150),
        "not fully": Curve(3).spike(0.4, 40, fall=20, residue=0.5),
        "shift": Curve(4).shift(0.5, 8),
        "diverges": Curve(5).diverge(0.6, 60),
        "diverges after a spike": Curve(6).diverge(0.6, 60, spike=40),
        "improves": Curve(7).improve(0.5, 60),
        "nan tail": Curve(8).spike(0.85, 30).nan(0.9, 300),
        "nan blips": Curve(9).nan(0.2).nan(0.5, 3, math.inf),
        "frozen": Curve(10).freeze(0.5, 200),
        "quantised": Curve(11).quantise(),
        "heavy tails": Curve(12, df=3, noise=0.05),
        "autocorrelated": Curve(13, rho=0.95, noise=0.03),
        "short": Curve(14, points=20).spike(0.6, 20),
    }
    return {name: curve.loss for name, curve in made.items()} | {
        "empty": np.empty(0),
        "one sample": np.array([2.0]),
        "constant": np.full(300, 2.0),
        "zeros": np.zeros(300),
        "crosses zero": rng.standard_normal(600),
        "turns negative": 3.0 - ramp / 100 + 0.01 * rng.standard_normal(600),
        "huge": 1e300 * np.exp(0.01 * rng.standard_normal(300)),
        "tiny": 1e-300 * np.exp(0.01 * rng.standard_normal(300)),
        "extremes": np.array([1e308, -1e308, 5e-324, 0.0, -0.0, math.nan, math.inf, -math.inf] * 40),
        "nan only": np.full(50, math.nan),
        "nan in the warm-up": np.r_[2.0, 1.9, math.nan, np.linspace(1.9, 1.5, 100)],
        "spiky": np.where(np.arange(5200) % 40 == 20, 9.0, 2.0 + 0.01 * rng.standard_normal(5200)),
        "bimodal": np.where(rng.random(1500) < 0.3, 3.0, 2.0) * np.exp(0.01 * rng.standard_normal(1500)),
    }


CURVES = curves()


def judged(values: Floats, engine: object = plain, sign: float = 1.0) -> list[Event]:
    detector = Detector(DEFAULTS, sign=sign, engine=engine)
    return detector.extend(values) + detector.finish()


@functools.cache
def expected(name: str, sign: float = 1.0) -> list[tuple[str, ...]]:
    """What the plain kernel says of a curve at once."""
    return bits(judged(CURVES[name], plain, sign))


def bits(events: Iterable[Event]) -> list[tuple[str, ...]]:
    """Events as text that shows every bit of every float."""
    return [tuple(x.hex() if isinstance(x, float) else str(x) for x in vars(e).values()) for e in events]


@pytest.mark.parametrize("name", few(CURVES, 9))
def test_batch_is_stream(name: str) -> None:
    detector = Detector(DEFAULTS)
    streamed = [e for v in CURVES[name] for e in detector.update(v)] + detector.finish()
    assert bits(streamed) == expected(name)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", CURVES)
def test_compiled_is_plain(name: str, sign: float) -> None:
    assert bits(judged(CURVES[name], kernel.compiled(), sign)) == expected(name, sign)


@pytest.mark.slow
@pytest.mark.parametrize("name", few(CURVES, 9))
def test_a_copy_taken_anywhere_goes_on_the_same(name: str) -> None:
    values = CURVES[name]
    for cut in (len(values) // 3, len(values) * 2 // 3):
        first = Detector(DEFAULTS)
        before = first.extend(values[:cut])
        twin = Detector(DEFAULTS)
        twin.load(first.save())
        first.extend(values[:cut])
        assert bits(before + twin.extend(values[cut:]) + twin.finish()) == expected(name)


BACK_BEFORE_THE_PEAK = [
    *(-6.024409789452199e16, 0.0, 0.0, 0.0, 0.0, 5.15403249174576e220, 111823616802221.0, -4628.0),
    *(-5.759298404799518e16, -2.5848453619051196e37, 4628.0, -5.96749024279045e16, 4.242423639435949e16),
    *(0.0, 0.0, -3.226287023385201e18, 0.0, 0.0, 0.0, -3.216372101526424e18, 5.0),
]


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=120))
@example(BACK_BEFORE_THE_PEAK)
@settings(max_examples=examples(150))
def test_nothing_raises_and_every_event_lies_in_the_series(values: list[float]) -> None:
    for e in judged(np.array(values)):
        assert 0 <= e.onset < len(values)
        assert e.end is None or e.onset <= e.end < len(values)
        assert all(not isinstance(x, float) or math.isfinite(x) for x in vars(e).values())


@pytest.mark.parametrize("factor", few([1e-6, 0.37, 42.0, 1e9], 2))
@pytest.mark.parametrize("name", ["fast spikes", "slow spike", "shift", "diverges", "improves", "bimodal"])
def test_the_unit_of_a_positive_loss_does_not_matter(name: str, factor: float) -> None:
    plain, other = judged(CURVES[name]), judged(CURVES[name] * factor)
    assert [(e.kind, e.onset, e.peak, e.end) for e in plain] == [
        (e.kind, e.onset, e.peak, e.end) for e in other
    ]
    np.testing.assert_allclose([e.height for e in plain], [e.height for e in other], rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [0.004, 0.02])
def test_what_is_seen_at_a_height_is_seen_at_any_greater_one(seed: int, noise: float) -> None:
    seen = []
    for height in (2, 4, 6, 8, 12, 20, 50, 200):
        loss = Curve(seed, noise=noise).spike(0.5, height, rise=2, fall=10).loss
        events = judged(loss, kernel.compiled())
        seen.append(any(abs(e.onset - 1000) <= 5 for e in events))
    assert seen == sorted(seen) and seen[-1]


@pytest.mark.slow
def test_memory_does_not_grow_and_no_event_is_lost() -> None:
    detector = Detector(DEFAULTS)
    sizes = [len(np.ravel(part)) for part in detector.memory]
    values = np.where(np.arange(20_000) % 50 == 25, math.nan, 2.0 + 0.01 * np.sin(np.arange(20_000)))
    events = detector.extend(values) + detector.finish()
    assert sizes == [len(np.ravel(part)) for part in detector.memory]
    assert sum(e.kind is Kind.NONFINITE for e in events) == 400 > at.ROWS
    assert sum(sizes) * 8 < 64_000


def test_two_rises_at_once_are_two_events() -> None:
    values = Curve(3).spike(0.4, 60, rise=2, fall=200).spike(0.45, 25, rise=1, fall=3).loss
    onsets = [round(e.onset, -1) for e in judged(values) if e.kind is not Kind.DROP]
    assert sorted(onsets) == [800, 900]


@pytest.mark.parametrize("seed", range(6))
def test_the_return_of_a_spike_is_no_improvement(seed: int) -> None:
    kinds = {e.kind for e in judged(Curve(seed).spike(0.4, 60, fall=100).spike(0.7, 80, fall=60).loss)}
    assert Kind.DROP not in kinds


@pytest.mark.parametrize("dwell", [1, 3])
def test_a_loss_of_two_modes_is_noise_after_a_while(dwell: int) -> None:
    rng = np.random.default_rng(dwell)
    mode = np.repeat(rng.random(3000 // dwell + 1) < 0.4, dwell)[:3000]
    values = np.where(mode, 2.6, 2.0) * np.exp(0.01 * rng.standard_normal(3000))
    assert [e.onset for e in judged(values) if e.onset > 100] == []


def test_the_memory_is_named_without_gaps() -> None:
    for last, size in (
        (at.EMITTED, at.STATE),
        (at.COLLECTED, at.LEVEL),
        (at.ABRUPT, at.EVENT),
        (at.LAST_OVER, at.OUT),
    ):
        assert last + 1 == size
    assert len(DEFAULTS.kernel()) == at.SIGN


def test_short_spikes_are_found_before_their_own_samples_raise_the_edge() -> None:
    """Half, whole, half of twelve scales: three samples that no pair of them and no sum could open alone."""
    shape = 12 * np.array([0.5, 1.0, 0.53, 0.28, 0.15])
    n_found = 0
    for seed in range(20):
        curve = Curve(seed)
        curve.lift[1000:1005] += curve.scale * shape
        n_found += any(abs(e.onset - 1000) <= 2 for e in judged(curve.loss, kernel.compiled()))
    assert n_found >= 15


@pytest.mark.slow
def test_a_fresh_machine_compiles_only_what_would_take_longer_without(tmp_path: Path) -> None:
    asked = (
        "from chronicle.classify.kernel import COMPILE_FROM, READ_FROM, engine_for, plain\n"
        "print(*(engine_for(n) is plain for n in (READ_FROM - 1, READ_FROM, COMPILE_FROM - 1, COMPILE_FROM)))"
    )
    fresh = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    process = subprocess.run(
        [sys.executable, "-c", asked], env=fresh, check=True, capture_output=True, text=True
    )
    assert process.stdout == "True True True False\n"


@pytest.mark.parametrize(("told", "compiles"), [("1", False), ("0", True), ("", True)])
def test_numba_that_is_told_to_compile_nothing_is_left_alone(
    told: str, compiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its functions are plain ones then, which know no signatures: each run of many points was a defect."""
    monkeypatch.setenv("NUMBA_DISABLE_JIT", told)
    assert kernel.available.__wrapped__() is compiles


def test_the_compiled_kernel_is_known_by_the_code_of_all_of_it() -> None:
    name = kernel.compiled().run.py_func.__qualname__
    assert kernel.in_process()
    assert kernel.on_disk() == any(Path(kernel.compiled().run.stats.cache_path).glob(f"*{name}*.nbi"))


def test_numba_is_not_imported_to_tell_that_the_source_has_no_kernel_beside_it() -> None:
    asked = (
        "import sys\nfrom chronicle.classify import kernel\nkernel._seal = lambda: 'of other code'\n"
        "print(kernel.engine_for(kernel.READ_FROM) is kernel.plain, 'numba' in sys.modules)"
    )
    set_apart = ("NUMBA_CACHE_DIR", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
    process = subprocess.run(
        [sys.executable, "-c", asked],
        env={name: value for name, value in os.environ.items() if name not in set_apart},
        check=True,
        capture_output=True,
        text=True,
    )
    assert process.stdout == "True False\n"
