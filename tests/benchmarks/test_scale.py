"""The benchmark of a whole build runs: its stages are those of the code that it measures."""

import pytest
from benchmarks.scale import HEAD, measure


@pytest.mark.slow
def test_a_run_is_built_and_measured_stage_by_stage() -> None:
    ((what, points, *cells),) = measure(40, runs=[1], files=[])
    assert (what, points, len(cells)) == ("runs of one file: 1", "40", len(HEAD) - 2)
