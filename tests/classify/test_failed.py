"""What has failed and what only looks like it."""

from __future__ import annotations

import pytest
from tests.classify.asking import patterns
from tests.curves.runs import all_fail, repeat_data


@pytest.mark.parametrize("seed", range(8))
def test_replays_that_end_are_no_deaths(seed: int) -> None:
    """Each attempt ends above its own minimum, which was a falsely low one."""
    said = patterns(repeat_data(seed, 3, 12))
    assert "repeat-data" in said and "failed-run" not in said


@pytest.mark.parametrize("seed", range(4))
def test_attempts_that_all_diverge_have_failed(seed: int) -> None:
    assert "failed-run" in patterns(all_fail(seed))
