"""Rates of false alarms and confidences: what a measured table promises, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.build.produce import thresholds
from chronicle.classify import DEFAULTS, Thresholds, report
from chronicle.classify.report import calibrated, looked_up
from chronicle.classify.thresholds import ALARM_RATE, CONFIDENCE, LIMITS, TAILS
from chronicle.errors import ConfigError
from chronicle.model import Finding
from chronicle.workspace.config import WorkspaceConfig


@pytest.mark.parametrize("name", (*LIMITS, *TAILS))
def test_fewer_false_alarms_ask_for_more_evidence(name: str) -> None:
    values = [getattr(Thresholds.at(rate), name) for rate in (10.0, 1.0, 0.1)]
    assert values == sorted(values, reverse=name in TAILS)


def test_the_rate_of_the_defaults_gives_the_defaults() -> None:
    same = Thresholds.at(ALARM_RATE)
    assert [*same.kernel()] == pytest.approx([*DEFAULTS.kernel()])


def test_only_the_kernel_becomes_more_cautious() -> None:
    changed = {n for n in vars(DEFAULTS) if getattr(Thresholds.at(10), n) != getattr(DEFAULTS, n)}
    assert changed == {*LIMITS, *TAILS}


@pytest.mark.parametrize("rate", [0.0, -1.0, 0.01, 100.0, float("nan")])
def test_a_rate_that_was_not_measured_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match=r"must be 0\.1 to 30, not"):
        Thresholds.at(rate)


def test_chronicle_toml_sets_the_rate_and_single_thresholds_win_over_it() -> None:
    assert thresholds(WorkspaceConfig()) == DEFAULTS
    set_ = thresholds(WorkspaceConfig(false_alarms=1, thresholds={"rise": 0.5}))
    assert set_.rise == 0.5 and set_.cusum == Thresholds.at(1).cusum
    with pytest.raises(ConfigError, match=r"chronicle\.toml: false_alarms: must be 0\.1 to 30, not 500"):
        thresholds(WorkspaceConfig(false_alarms=500))


@pytest.mark.parametrize("pattern", CONFIDENCE)
def test_more_evidence_is_never_less_confidence(pattern: str) -> None:
    given, right = zip(*CONFIDENCE[pattern], strict=True)
    assert (np.diff(given) > 0).all() and (np.diff(right) >= 0).all()
    assert min(*given, *right) >= 0 and max(*given, *right) <= 1


def test_a_confidence_is_looked_up_between_the_counted_ones() -> None:
    knots = ((0.5, 0.2), (0.9, 0.8))
    assert looked_up(knots, 0.7) == pytest.approx(0.5)
    assert looked_up(knots, 0.3) == 0.2 and looked_up(knots, 1.0) == 0.8
    assert looked_up(knots, 0.1) == 0.1  # weaker than any that was counted


def test_severity_is_another_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "CONFIDENCE", {"level-shift": ((0.5, 0.2), (0.9, 0.8))})
    finding = Finding("level-shift", "loss", "a", 5, 5, None, severity=0.4, confidence=0.9)
    assert calibrated(finding).confidence == 0.8 and calibrated(finding).severity == 0.4
    never_counted = Finding("plateau", "loss", "a", 5, 5, None, severity=0.4, confidence=0.9)
    assert calibrated(never_counted) == never_counted
