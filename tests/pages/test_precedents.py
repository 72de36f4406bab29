"""What an archive knows of a pattern: its events in order, and numbers with their intervals."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
from tests.pages.samples import EVENTS, LOST, healthy, rollback, site, small

from chronicle.metrics.arithmetic import median_interval, wilson
from chronicle.model import Entry
from chronicle.pages.lists import FEWEST, patterns, precedents, statistics
from chronicle.pages.words import renderer

LEFT = EVENTS[2]
PATTERN = "spike-no-full-recovery"


def run(number: int, *, steps: int | None, day: int = 1, noted: bool = False) -> Entry:
    end = None if steps is None else 1000 + steps
    event = replace(LEFT, step=1000, end_step=end, time=f"2026-11-{day:02}")
    return replace(
        rollback(), run_id=f"run-{number}", events=(event, *(EVENTS[4:5] if noted else ()), EVENTS[-1])
    )


def sentences_of(*entries: Entry) -> list[str]:
    data = small(*entries)
    return list(statistics(data, PATTERN, precedents(data, PATTERN)))


def test_those_that_somebody_spoke_of_first_then_the_newest() -> None:
    runs = [run(1, steps=3, day=1), run(2, steps=3, day=2), run(3, steps=3, day=1, noted=True)]
    precedents_found = precedents(small(*runs, healthy()), PATTERN)
    assert [
        (precedent.entry.run_id, len(precedent.notes), precedent.after) for precedent in precedents_found
    ] == [
        ("run-3", 1, ""),
        ("run-2", 0, ""),
        ("run-1", 0, ""),
    ]
    assert precedents(small(*runs), "nan-inf") == []


def test_an_event_is_listed_for_each_pattern_that_it_shows() -> None:
    """A loss scale that collapsed within a divergence was on no list, while its page counted the run."""
    both = "loss-scale-collapse", PATTERN
    alone, merged = run(1, steps=3), run(2, steps=3, day=2)
    diagnosis = replace(merged.diagnosis, patterns=both)
    merged = replace(
        merged, diagnosis=diagnosis, events=(replace(LEFT, patterns=both, time="2026-11-02"), EVENTS[-1])
    )
    data = small(alone, merged)
    assert [row.entry.run_id for row in precedents(data, both[0])] == ["run-2"]
    assert [row.entry.run_id for row in precedents(data, PATTERN)] == ["run-1", "run-2"]


def test_runs_that_were_chosen_by_hand_have_no_interval() -> None:
    runs = [run(k, steps=k * 10) for k in range(1, 8)] + [run(8, steps=None), healthy(), healthy("b")]
    page = replace(LOST, specimens=("run-1",))
    data = site(runs, patterns=(page,))
    assert list(statistics(data, PATTERN, precedents(data, PATTERN))) == [
        "8 of the 10 runs here show it.",
        "7 of the 8 events were over when the log ended.",
        "Half of these 7 took 40 steps or fewer.",
    ]


def test_a_specimen_that_is_called_otherwise_says_so() -> None:
    data = site(
        [rollback(), healthy("known")],
        patterns=(replace(LOST, id="repeat-data", specimens=("known", "demo-rollback")),),
    )
    text = {page.path: page.text for page in patterns(data, renderer(data.templates))}[
        "patterns/repeat-data.md"
    ]
    said = re.findall(r'<span class="ch-measure">(Known[^<]*)', text or "")
    assert said == [
        "Known to be this pattern. From its log alone chronicle calls it: Near-perfect run.",
        "Known to be this pattern. From its log alone chronicle calls it: Spike, not fully recovered.",
    ]


def test_numbers_in_full() -> None:
    runs = [run(k, steps=k * 10) for k in range(1, 8)] + [run(8, steps=None), healthy(), healthy("b")]
    assert sentences_of(*runs) == [
        "8 of the 10 runs here show it (80 %; 95 % interval 49 to 94 %).",
        "7 of the 8 events were over when the log ended (88 %; 95 % interval 53 to 98 %).",
        "Half of these 7 took 40 steps or fewer (95 % interval 10 to 70).",
    ]


def test_of_fewer_than_five_nothing_is_counted() -> None:
    assert sentences_of(*(run(k, steps=9) for k in range(FEWEST - 1))) == []
    assert len(sentences_of(*(run(k, steps=9) for k in range(FEWEST)))) == 2


def test_steps_are_counted_where_the_log_counts_steps() -> None:
    epochs = [replace(run(k, steps=9), attempts=({"axis": "epoch"},)) for k in range(9)]
    assert not any("steps" in sentence for sentence in sentences_of(*epochs))


@pytest.mark.parametrize("n", range(6, 60))
def test_the_interval_of_the_median_holds_it_by_counting(n: int) -> None:
    """The slow twin: of all 2ⁿ ways in which values lie below or above the median, those that it holds."""

    def holds(low: int, high: int) -> float:
        return sum(math.comb(n, below) for below in range(low + 1, high + 1)) / 2**n

    low, high = median_interval(n)
    assert holds(low, high) >= 0.95
    assert holds(low + 1, high - 1) < 0.95


@pytest.mark.parametrize(("part", "n"), [(0, 5), (5, 5), (1, 7), (50, 100)])
def test_the_interval_of_a_share_solves_its_equation(part: int, n: int) -> None:
    """Wilson's bounds are the shares from which what was seen lies 1.96 standard errors away."""
    for bound in wilson(part, n):
        assert 0 <= bound <= 1
        if 0 < bound < 1:
            error = math.sqrt(bound * (1 - bound) / n)
            assert abs(part / n - bound) == pytest.approx(1.96 * error, rel=1e-9)


def test_what_speaks_of_a_whole_run_is_never_over() -> None:
    data = small(*(healthy(f"calm-{k}") for k in range(9)))
    sentences = list(statistics(data, "near-perfect", precedents(data, "near-perfect")))
    assert sentences == ["9 of the 9 runs here show it (100 %; 95 % interval 70 to 100 %)."]
