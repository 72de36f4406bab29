"""Faults beside the curves: dated, placed at a step, and only those of the run."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from chronicle.model import Attempt, Fault, Place, Role, Series
from chronicle.timeline import stitch
from chronicle.timeline.joins import endings, last_ending

START = 1_700_000_000.0  # 2023-11-14T22:13:20Z
NAN = math.nan


def run(
    name: str = "a.csv", first: int = 0, started: float = START, faults: tuple[Fault, ...] = ()
) -> Attempt:
    """An attempt of 101 steps, ten steps a logged point, one second a step."""
    steps = np.arange(first, first + 101, 10)
    times = started + np.arange(0.0, 101.0, 10.0)
    loss = Series("loss", Role.LOSS, steps, 3.0 - 0.001 * steps + 0.01 * np.sin(steps), times)
    return Attempt(name, (name,), {"loss": loss}, {}, faults)


def machine(*faults: Fault, log_of: str = "host", **facts: str) -> Attempt:
    return Attempt("dmesg", ("dmesg",), {}, {"format": "machine-log", "log_of": log_of, **facts}, faults)


def fault(at_time: float = NAN, at_step: int | None = None, kind: str = "xid") -> Fault:
    return Fault(Place("dmesg", 1), "Xid 79", at_time=at_time, kind=kind, at_step=at_step)


@pytest.mark.parametrize(
    ("seconds", "step"), [(-5, None), (0, 0), (9.9, 0), (10, 10), (55, 50), (100, 100), (900, 100)]
)
def test_a_fault_stands_at_the_last_step_before_it(seconds: float, step: int | None) -> None:
    timeline = stitch([run(), machine(fault(START + seconds))])
    assert [f.at_step for f in timeline.faults] == [step]
    assert [attempt.name for attempt in timeline.attempts] == ["a.csv"]


@pytest.mark.parametrize("seconds", [-3601, 3701, 86400 * 30])
def test_the_log_of_a_host_tells_of_other_jobs_too(seconds: float) -> None:
    assert stitch([run(), machine(fault(START + seconds))]).faults == ()


def test_the_log_of_a_job_is_of_the_run_whenever_it_says_so() -> None:
    timeline = stitch([run(), machine(fault(START + 86400), log_of="job")])
    assert [f.at_step for f in timeline.faults] == [100]


def test_a_step_that_the_log_tells_is_kept() -> None:
    timeline = stitch([run(faults=(fault(START + 50, at_step=7), fault(kind="read")))])
    assert [(f.at_step, f.kind) for f in timeline.faults] == [(7, "xid")]


def test_a_clock_without_a_year_gets_the_year_of_the_run() -> None:
    yearless = datetime(1972, 11, 14, 22, 13, 40, tzinfo=UTC).timestamp()
    (placed,) = stitch([run(), machine(fault(yearless))]).faults
    assert (placed.at_time, placed.at_step) == (START + 20, 20)


def test_without_a_time_of_the_run_there_is_no_year_and_no_step() -> None:
    attempt = run(started=NAN)
    yearless = datetime(1972, 11, 14, 22, 13, 40, tzinfo=UTC).timestamp()
    (placed,) = stitch([attempt, machine(fault(yearless))]).faults
    assert math.isnan(placed.at_time)
    assert placed.at_step is None


def test_faults_are_in_order_of_their_time_whatever_the_order_of_the_logs() -> None:
    logs = [run(faults=(fault(at_step=30), fault(START + 70))), machine(fault(START + 20), fault(START + 5))]
    timelines = [stitch(order) for order in (logs, logs[::-1])]
    assert [f.at_step for f in timelines[0].faults] == [0, 20, 70, 30]
    assert repr(timelines[0].faults) == repr(timelines[1].faults)  # NaN is no number of itself


def test_after_a_rollback_the_step_is_that_of_the_attempt_that_ran() -> None:
    logs = [run("a.csv"), run("b.csv", first=50, started=START + 1000), machine(fault(START + 1020))]
    assert [f.at_step for f in stitch(logs).faults] == [70]


def test_nodes_of_a_job_are_facts_of_the_attempt_that_ran_then() -> None:
    job = machine(fault(START + 1090), log_of="job", nodes="n1,n2", job="7")
    timeline = stitch([run("a.csv"), run("b.csv", first=110, started=START + 1000), job])
    assert [attempt.facts for attempt in timeline.attempts] == [{}, {"nodes": "n1,n2", "job": "7"}]


@pytest.mark.parametrize(
    ("faults", "ended"),
    [
        ((), ""),
        ((fault(START + 50, kind="xid"),), "GPU failed"),
        ((fault(START + 700, kind="nccl"), fault(START + 720, kind="node")), "node failure"),
        ((fault(START + 1001, kind="node"),), ""),  # the next attempt has begun
        ((fault(START - 700, kind="node"),), ""),
    ],
)
def test_what_ended_an_attempt_is_told_by_the_faults_around_its_last_record(faults, ended: str) -> None:
    logs = [run("a.csv"), run("b.csv", first=50, started=START + 1000), machine(*faults, log_of="job")]
    timeline = stitch(logs)
    assert endings(timeline)[0].how == ended


def test_without_times_a_fault_after_the_last_record_of_the_log_ended_it() -> None:
    here = Fault(Place("a.csv", 99), "Xid 79", kind="preemption", at_step=100)
    timeline = stitch([run(started=NAN, faults=(here, fault(at_step=50, kind="node")))])
    assert [ending.how for ending in endings(timeline)] == ["preempted"]


@pytest.mark.parametrize(("n_faults", "ended"), [(1, ["", ""]), (2, ["crashed", "crashed"])])
def test_without_times_a_fault_ended_none_of_several_there(n_faults: int, ended: list[str]) -> None:
    here = Fault(Place("a.csv", 99), "BrokenPipeError: [Errno 32]", n_faults, kind="exception", at_step=100)
    first, second = run(started=NAN), run(started=NAN, faults=(here,))
    loss = second.series["loss"]
    second = replace(second, name="a.csv#2", series={"loss": replace(loss, values=loss.values + 0.125)})
    timeline = stitch([replace(first, name="a.csv#1"), second])
    assert [ending.how for ending in endings(timeline)] == ended


@pytest.mark.parametrize(("signal", "ended"), [("SIGSEGV of python", "crashed"), ("SIGKILL", "killed")])
def test_a_process_that_brings_a_signal_upon_itself_crashed(signal: str, ended: str) -> None:
    received = Fault(Place("a.csv", 99), signal, kind="signal", at_step=100)
    assert last_ending(stitch([run(started=NAN, faults=(received,))])).how == ended


def test_the_run_ended_as_its_latest_attempt_did() -> None:
    logs = [
        run("a.csv"),
        run("b.csv", first=50, started=START + 1000),
        machine(fault(START + 101, kind="node")),
    ]
    assert [ending.how for ending in endings(stitch(logs))] == ["node failure", ""]
    assert last_ending(stitch(logs)).how == ""
    assert last_ending(stitch([Attempt("a.csv", ("a.csv",), {})])) is None


def test_machine_logs_alone_are_attempts() -> None:
    timeline = stitch([machine(fault(START))])
    assert [attempt.name for attempt in timeline.attempts] == ["dmesg"]
    assert len(timeline.faults) == 1
