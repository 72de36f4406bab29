"""Stitching by example: copies of one log, parts of one log, and what is made of a timeline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.timeline.timeline_logs import HOUR, course, joins, log, names, series
from tests.work import in_proportion

from chronicle.metrics.roles import assign
from chronicle.model import Attempt
from chronicle.timeline import copies, stitch
from chronicle.timeline.courses import Course, by_name
from chronicle.timeline.courses import course as course_of
from chronicle.timeline.relation import Pair, Relation, with_steps_moved

UP = range(1000)


def test_one_run_in_two_formats_is_judged_once():
    events = log("events", UP, start=0, norm=series("grad_norm", UP, np.arange(1000.0), 0))
    half = range(0, 1000, 2)
    rounded = np.round(events.series["loss"].values[::2], 4)
    more = {"m": series("train_loss", half, rounded), "v": series("val_loss", [0, 500], [9.0, 3.0])}
    table = log("table.csv", half, **more)
    table.series["loss"].values[:] = rounded
    timeline = stitch([table, events])
    assert (names(timeline), [c.name for c in timeline.copies]) == (["events"], ["table.csv"])
    assert list(timeline.series) == ["loss", "grad_norm", "val_loss"]
    assert timeline.attempts[0].sources == ("events", "table.csv")


def test_a_metric_that_both_formats_call_alike_is_told_once_however_rarely_it_was_logged():
    """As of the Trainer of Hugging Face: `eval/loss` in its events, `eval_loss` in its state and console."""
    evaluated = np.array([2.34567, 2.23456, 2.12345])
    more = {"v": series("eval/loss", [250, 500, 750], evaluated, 0)}
    events = log("events", UP, start=0, **more)
    more = {"v": series("eval_loss", [250, 500, 750], np.round(evaluated, 3))}
    console = log("train.log", range(0, 1000, 2), **more)
    console.series["loss"].values[:] = np.round(events.series["loss"].values[::2], 4)
    assert list(stitch([events, console]).series) == ["loss", "eval/loss"]
    console.series["eval_loss"].values[:] = [1.1, 1.2, 1.3]
    assert list(stitch([events, console]).series) == ["loss", "eval/loss", "eval_loss"]


def test_a_log_without_times_has_those_of_its_copy():
    """A table of every digit is kept before the event file that tells when its rows were written."""
    more = {"m": series("grad_norm", UP, np.arange(1000.0), None)}
    table, events = log("table.csv", UP, start=None, **more), log("events", UP, start=0)
    timeline = stitch([table, events])
    assert [c.name for c in timeline.copies] == ["events"]
    np.testing.assert_array_equal(timeline.series["loss"].times, events.series["loss"].times)
    assert np.isnan(timeline.series["grad_norm"].times).all()


def test_seeds_and_frozen_losses_are_no_copies():
    smooth = [log(n, UP, start=None) for n in "ab"]
    for seed, attempt in enumerate(smooth):
        noise = 1 + 5e-4 * np.random.default_rng(seed).standard_normal(1000)
        attempt.series["loss"].values[:] = 3 * noise
    assert stitch(smooth).copies == ()
    for attempt in smooth:
        attempt.series["loss"].values[:] = 4.085
    assert stitch(smooth).copies == ()


def test_logs_of_other_times_are_not_compared_one_by_one():
    """Here values rule nothing out: all are equal."""

    def work(logs: int) -> None:
        courses = [course_of(log(f"run-{k}", UP, start=k * HOUR)) for k in range(logs)]
        assert copies.without_copies([c for c in courses if c])[1] == []

    assert in_proportion(work, 64)


def test_the_same_values_an_hour_apart_are_another_process():
    timeline = stitch([log("a", UP, start=0), log("b", UP, start=HOUR)])
    assert (names(timeline), timeline.copies) == (["a", "b"], ())


def test_a_training_of_five_epochs_in_two_formats_is_judged_once():
    rng = np.random.default_rng(3)
    values = {name: rng.random(5) + 1 for name in ("train_loss", "val_loss", "val_acc")}
    table = assign({name: series(name, range(5), v) for name, v in values.items()})
    events = assign({name: series(name, range(5), np.float32(v)) for name, v in values.items()})
    both = [Attempt(name, (name,), those) for name, those in (("metrics.csv", table), ("events", events))]
    assert [c.name for c in stitch(both).copies] == ["metrics.csv"]
    values["val_acc"][3] += 0.01
    other = assign({name: series(name, range(5), v) for name, v in values.items()})
    assert stitch([both[1], Attempt("other", ("other",), other)]).copies == ()


def test_a_short_log_that_ends_in_nan_is_a_copy_however_it_was_rounded():
    """Twelve steps of which the loss of five is NaN: every digit in a file, four decimals on a console."""
    rng = np.random.default_rng(4)
    values = {name: rng.random(12) / 50 for name in ("loss", "grad_norm", "data_time")}
    values["loss"][7:] = values["grad_norm"][7:] = np.nan
    whole = assign({name: series(name, range(12), v) for name, v in values.items()})
    printed = assign({name: series(name, range(12), np.round(v, 4)) for name, v in values.items()})
    both = [Attempt(name, (name,), those) for name, those in (("scalars.json", whole), ("log", printed))]
    assert [c.name for c in stitch(both).copies] == ["scalars.json"]
    values["grad_norm"][3] += 0.001
    other = assign({name: series(name, range(12), v) for name, v in values.items()})
    assert stitch([both[1], Attempt("other", ("other",), other)]).copies == ()


def test_four_digits_of_each_number_are_a_copy_of_all_of_them():
    """As `results.txt` of YOLOv5 beside its events, whose first loss is another one: the sum of the parts."""
    rng = np.random.default_rng(6)
    values = {name: rng.random(30) ** 4 / 9 for name in ("train/box_loss", "val/box_loss", "val/cls_loss")}
    events = assign({name: series(name, range(30), np.float32(v)) for name, v in values.items()})
    printed = {n: np.array([float(f"{value:.4g}") for value in v]) for n, v in values.items()}
    printed["train/loss"] = rng.random(30) + 1
    table = assign({name: series(name, range(30), v) for name, v in printed.items()})
    both = [Attempt(name, (name,), those) for name, those in (("events", events), ("results.txt", table))]
    timeline = stitch(both)
    assert len(timeline.attempts) == 1 and {*timeline.series} == {*printed}
    printed["val/cls_loss"][4] *= 1.01
    assert len(stitch(both).copies) == 0


def test_three_rows_that_two_loggers_write_are_one_attempt_whatever_their_windows():
    """As of detectron2: the file tells the time of a step by a median, and the console by a mean."""
    values = {"total_loss": [1.8493, 1.0886, 0.8102], "loss_mask": [0.6926, 0.6871, 0.6314]}
    rows = {name: series(name, [19, 39, 59], np.array(v)) for name, v in values.items()}
    shown = {name: series(name, [19, 39, 59], np.round(v, 3)) for name, v in values.items()}
    rows["loss_cls"] = series("loss_cls", [19, 39, 59], np.array([0.27091, 0.10204, 0.03262]))
    shown["loss_cls"] = series("loss_cls", [19, 39, 59], np.array([0.2709, 0.102, 0.03262]))
    rows["time"] = series("time", [19, 39, 59], np.array([0.21, 0.18, 0.16]))
    shown["time"] = series("time", [19, 39, 59], np.array([0.52, 0.41, 0.42]))
    both = [Attempt(n, (n,), assign(those)) for n, those in (("metrics.json", rows), ("log.txt", shown))]
    assert len(stitch(both).copies) == 1


def test_a_table_of_epochs_is_a_copy_of_events_that_hold_their_batches():
    """As of ultralytics, whose table counts epochs from 0 and its events from 1."""
    rng = np.random.default_rng(7)
    held_out = {name: rng.random(12) + 1 for name in ("val/box_loss", "val/cls_loss", "metrics/mAP50(B)")}
    batches = rng.random(120) + 1
    events = {name: series(name, range(1, 13), v) for name, v in held_out.items()}
    events["train/box_loss"] = series("train/box_loss", np.repeat(np.arange(1, 13), 10), batches)
    table = {name: series(name, range(12), np.round(v, 4)) for name, v in held_out.items()}
    table["train/box_loss"] = series("train/box_loss", range(12), batches.reshape(12, 10).mean(axis=1))
    both = [Attempt(n, (n,), assign(those)) for n, those in (("events", events), ("results.csv", table))]
    assert [c.name for c in stitch(both).copies] == ["results.csv"]


@pytest.mark.parametrize("every", [1, 50])
def test_a_bar_and_the_events_of_its_trainer_are_one_training(every):
    """A bar counts batches from 1 and shows three digits; the events count from 0, not every step of them."""
    rng = np.random.default_rng(5)
    batches, ends = range(240), range(29, 240, 30)
    loss, held_out = rng.random(240) / 9 + 0.03, rng.random(8) / 9 + 0.03
    logged = np.arange(every - 1, 240, every)
    events = assign(
        {
            "train_loss": series("train_loss", logged, loss[logged]),
            "val_loss": series("val_loss", ends, held_out),
        }
    )
    shown = [np.array([float(f"{value:.3g}") for value in values]) for values in (loss, held_out)]
    bar = assign(
        {
            "train_loss": series("train_loss", [n + 1 for n in batches], shown[0]),
            "val_loss": series("val_loss", [n + 1 for n in ends], shown[1]),
        }
    )
    both = [Attempt(name, (name,), those) for name, those in (("events", events), ("train.log", bar))]
    assert len(stitch(both).copies) == 1
    shown[0][:] = rng.random(240) / 9 + 0.03
    assert stitch(both).copies == ()


def test_metrics_in_files_of_their_own_are_one_attempt():
    logs = [
        Attempt(n, (n,), stitch({n: (UP, course(UP, k))}).attempts[0].series)
        for k, n in enumerate(("loss", "grad_norm"))
    ]
    timeline = stitch(logs)
    assert (names(timeline), timeline.copies) == (["grad_norm"], ())
    assert timeline.attempts[0].sources == ("grad_norm", "loss")


EVENTS = "events.out.tfevents.{}.node-{}.{}.0"


@pytest.mark.parametrize(
    ("named", "start", "kept"),
    [
        ("rank_{}.log", 0, ["rank_0.log"]),
        ("loss-rank{}.csv", None, ["loss-rank0.csv"]),
        ("gpu{}.log", 0, ["gpu0.log", "gpu1.log"]),  # seeds are run on several, one on each
        ("rank_{}.log", HOUR, ["rank_0.log", "rank_1.log"]),  # an hour later
        ("prank_{}.log", 0, ["prank_0.log", "prank_1.log"]),
    ],
)
def test_the_ranks_of_a_job_are_one_training_though_their_losses_differ(named, start, kept):
    logs = [log(named.format(k), UP, start=start if k or start is None else 0) for k in (0, 1)]
    logs[1].series["loss"].values[:] *= 1 + 0.05 * np.random.default_rng(0).standard_normal(1000)
    timeline = stitch(logs)
    assert names(timeline) == kept
    assert [c.name for c in timeline.copies] == [n for n in map(named.format, (0, 1)) if n not in kept]


def test_two_processes_are_no_copies_however_alike():
    logs = [log(EVENTS.format(1700000000, k, 41), UP) for k in (1, 2)]
    assert stitch(logs).copies == ()
    one_process = [log(EVENTS.format(1700000000, 1, 41) + end, UP) for end in ("", ".v2")]
    assert [c.name for c in stitch(one_process).copies] == [EVENTS.format(1700000000, 1, 41) + ".v2"]


def test_a_log_with_other_metrics_over_part_of_the_steps_stands_beside():
    logs = [
        log("train", UP),
        Attempt("gpu", ("gpu",), {"temperature": series("temperature", range(300), [60.0] * 300)}),
    ]
    timeline = stitch([*logs, log("train-2", range(900, 1500), seed=1)], order=["train", "gpu", "train-2"])
    assert joins(timeline) == [("rollback", "train", "train-2", 999, 900, 100)]
    assert timeline.series["temperature"].live.all()


def some(rng, *options):
    return options[rng.integers(len(options))]


def log_of_two(rng, number: int) -> Attempt:
    """A log of one of two processes as several loggers write it: some of its steps, rounded, cut, with wrong
    values here and there and steps logged again, with a clock of its own."""
    steps = np.arange(rng.integers(30), rng.integers(50, 90), some(rng, 1, 1, 2, 5))
    values = np.round(course(range(90), rng.integers(2)), some(rng, 3, 16))[steps]
    values[rng.integers(len(steps), size=rng.integers(5))] = some(rng, 7.0, np.nan, np.inf)
    rows = np.sort(np.append(np.arange(len(steps)), rng.integers(len(steps), size=rng.integers(3))))
    metric = some(rng, "loss", "loss", "loss", "loss", "train_loss", "val_loss", "lr")
    loss = series(metric, steps[rows], values[rows], some(rng, None, None, 0.0, 30.0, 300.0))
    facts = some(rng, {}, {}, {}, {"host": "a", "pid": 1}, {"host": "a", "pid": 2})
    return Attempt(some(rng, "a/", "b/") + str(number), (str(number),), assign({metric: loss}), facts=facts)


def worth(log: Course) -> tuple[int, bool, object]:
    """The longest first, then those with a clock, then by name."""
    return -sum(len(s) for s in log.attempt.series.values()), log.started != log.started, by_name(log.name)


def slow_one_of_each(courses: list[Course]) -> tuple[list[str], list[str]]:
    """Each log against each of those kept."""
    kept: list[Course] = []
    dropped: list[str] = []
    for candidate in sorted(courses, key=worth):
        pairs = [Pair(other, candidate, other) for other in kept]
        twins = [i for i, pair in enumerate(pairs) if pair.copied is Relation.SAME]
        parts = [i for i, pair in enumerate(pairs) if pair.copied is Relation.PART]
        if twins:
            dropped.append(candidate.name)
        for home in (twins or parts)[:1]:
            by = pairs[home].shift or 0
            other = {m: with_steps_moved(s, by) for m, s in candidate.attempt.series.items()}
            kept[home] = course_of(
                copies.with_series_of(kept[home].attempt, replace(candidate.attempt, series=other))
            )
        if not twins and not parts:
            kept.append(candidate)
    return [candidate.name for candidate in kept], dropped


def test_noisy_seeds_are_ruled_out_as_copies_by_a_few_of_their_values(monkeypatch):
    """Of two seeds one value in seven is the same: of 4,900 pairs next to none is worth a closer look."""
    rng = np.random.default_rng(0)
    loss = (2 + 8 * (np.arange(50) + 50.0) ** -0.4) + 0.02 * rng.standard_normal((100, 50))
    logs = [log(f"s{k}", range(50)) for k in range(100)]
    for seed_log, values in zip(logs, loss, strict=True):
        seed_log.series["loss"].values[:] = values
    looked_at = []

    def noted(*two):
        looked_at.append(two)
        return Pair(*two)

    monkeypatch.setattr(copies, "Pair", noted)
    kept, dropped = copies.without_copies([course_of(seed_log) for seed_log in logs])
    assert (len(kept), dropped) == (100, [])
    assert len(looked_at) < 36 + 10  # the first nine are looked at pair by pair


@pytest.mark.slow
@given(st.integers(0, 2**32), st.integers(2, 30))
def test_copies_are_those_that_a_look_at_each_pair_finds(seed, number):
    rng = np.random.default_rng(seed)
    courses = [course_of(log_of_two(rng, k)) for k in range(number)]
    kept, dropped = copies.without_copies(courses)
    assert ([course.name for course in kept], [course.name for course in dropped]) == slow_one_of_each(
        courses
    )
