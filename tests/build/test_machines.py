"""Machine logs in a folder of their own: given to the run they tell of, or listed with what to do."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from chronicle.build import make_entries, with_machines
from chronicle.build.entry import make_entry
from chronicle.build.produce import Outcome
from chronicle.build.sources import expand, only_machines, runs_concerned
from chronicle.classify import classify
from chronicle.model import Attempt, Entry, Fault, Place, Role, Series
from chronicle.story import tell
from chronicle.timeline import stitch
from chronicle.workspace.config import RunConfig, WorkspaceConfig

START = 1_700_471_000.0  # 2023-11-20T09:03:20Z
SYSLOG = (
    "Nov 20 09:06:28 nid003 kernel: br0: port 1 entered forwarding state\n"
    "Nov 20 09:06:29 nid003 kernel: br0: port 2 entered forwarding state\n"
    "Nov 20 09:06:30 nid003 kernel: NVRM: Xid (PCI:0000:41:00): 79, pid=2171, GPU has fallen off the bus.\n"
)
LOST = "Xid 79: GPU has fallen off the bus: the host cannot reach it any more (0000:41:00)"


def training(run_id: str, started: float = START, **facts: str) -> Entry:
    """A run of 400 steps, one step a second."""
    steps = np.arange(400)
    loss = Series("loss", Role.LOSS, steps, 3.0 - 0.001 * steps, started + steps)
    timeline = stitch([Attempt(f"{run_id}.csv", (), {"loss": loss}, facts)], run_id=run_id)
    judged = classify(timeline)
    return make_entry(run_id, timeline, judged, RunConfig(), story=tell(timeline, judged))


def machine(*faults: Fault, **facts: str) -> Attempt:
    return Attempt("dmesg", ("dmesg",), {}, {"format": "machine-log", **facts}, faults)


def fault(seconds: float, host: str = "") -> Fault:
    return Fault(Place("dmesg", 1), "Xid 79", at_time=START + seconds, kind="xid", host=host)


@pytest.mark.parametrize(
    ("seconds", "told_of"),
    [
        (200, ["early"]),  # "late" began more than an hour later
        (-3601, []),
        (4400, ["early", "late"]),
        (8600, ["late"]),
        (90_000, []),
        (math.nan, []),
    ],
)
def test_a_fault_tells_of_the_run_that_was_there(seconds: float, told_of: list[str]) -> None:
    runs = [training("early"), training("late", START + 8000)]
    both = machine(fault(seconds)) if seconds != 4400 else machine(fault(200), fault(4400 + 4000))
    assert runs_concerned([both], runs)[0] == told_of


def test_of_several_runs_at_one_time_job_or_node_decide() -> None:
    a, b = training("a", job="7", nodes="n[1-2]"), training("b", job="8", nodes="n[3-4]")
    assert runs_concerned([machine(fault(100))], [a, b])[0] == []
    assert runs_concerned([machine(fault(100), job="8")], [a, b])[0] == ["b"]
    assert runs_concerned([machine(fault(9e6), job="8")], [a, b])[0] == ["b"]
    assert runs_concerned([machine(fault(100, "n2.cluster.local"))], [a, b])[0] == ["a"]
    assert runs_concerned([machine(fault(100, "n9"))], [a, b])[0] == []
    assert runs_concerned([machine(job="9")], [a, training("c")])[0] == []


def test_a_run_without_times_is_told_of_by_its_job_alone() -> None:
    timeless = training("a", math.nan, job="7")
    assert runs_concerned([machine(fault(100))], [timeless])[0] == []
    assert runs_concerned([machine(fault(100), job="7")], [timeless])[0] == ["a"]


def test_between_distant_attempts_a_run_was_not_there() -> None:
    steps = np.arange(400)
    attempts = [
        Attempt(name, (), {"loss": Series("loss", Role.LOSS, steps + first, 3.0 - 0.001 * steps, at + steps)})
        for name, first, at in (("1.csv", 0, START), ("2.csv", 400, START + 1e6))
    ]
    timeline = stitch(attempts, run_id="a")
    judged = classify(timeline)
    run = make_entry("a", timeline, judged, RunConfig(), story=tell(timeline, judged))
    assert runs_concerned([machine(fault(5e5))], [run])[0] == []
    assert runs_concerned([machine(fault(1e6))], [run])[0] == ["a"]


def test_what_is_said_of_logs_that_tell_of_no_run() -> None:
    what = "Remedy: put it into the folder of its run, or name it among the paths of its run.toml"
    logs = [machine(fault(100, "n1"), fault(200, "n1"))]
    assert runs_concerned(logs, [training("a", START + 1e6)]) == (
        [],
        "the log of a machine, not of a training (2 faults, first: Xid 79 (2023-11-20T09:05:00Z, n1)); "
        f"no run here names the same job or ran at that time. {what}",
    )
    assert runs_concerned(logs, [training(name) for name in "dcba"]) == (
        [],
        "the log of a machine, not of a training (2 faults, first: Xid 79 (2023-11-20T09:05:00Z, n1)); "
        f"it may belong to a, b, c, …, which ran at the same time. {what}",
    )
    job = machine(fault(100, "n1"), log_of="job")
    assert runs_concerned([job], [])[1].startswith(
        "the output of a job that logged no values (1 fault, first: Xid 79 (2023-11-20T09:05:00Z, n1)); no"
    )
    assert runs_concerned([machine()], [])[1].startswith(
        "the log of a machine, not of a training (0 faults); no run"
    )


def logs(folder: Path, **started: float) -> Path:
    """A folder of runs, and of one that holds the log of a host."""
    for name, start in started.items():
        (folder / name).mkdir(parents=True)
        rows = (f"{i},{start + i},{3 - math.log(i + 1) / 5 + 0.01 * math.sin(i * 7)}\n" for i in range(400))
        (folder / name / "m.csv").write_text("step,time,loss\n" + "".join(rows))
    (folder / "dmesg").mkdir(parents=True)
    (folder / "dmesg" / "nid003.log").write_text(SYSLOG)
    return folder


def made(folder: Path, store: Path) -> dict[str, Outcome]:
    runs = expand([folder])
    outcomes = make_entries(runs, WorkspaceConfig(), store, 1, lambda outcome, total: None)
    return {o.run_id: o for o in with_machines(runs, outcomes, WorkspaceConfig(), store)}


@pytest.mark.slow
def test_a_folder_of_machine_logs_belongs_to_the_run_of_its_time(tmp_path: Path) -> None:
    folder, store = logs(tmp_path / "exp", a=START, b=START + 9e5), tmp_path / "store"
    first, again = made(folder, store), made(folder, store)
    assert list(first) == list(again) == ["a", "b"]
    (lost,) = first["a"].full_entry().faults
    assert (lost.what, lost.step, lost.time, lost.host) == (LOST, 190, "2023-11-20T09:06:30Z", "nid003")
    assert first["b"].full_entry().faults == ()
    assert [row["name"] for row in first["a"].full_entry().attempts] == ["m.csv"]
    assert (first["a"].folder.name, first["b"].folder.name) == ("a+machines", "b")
    assert all((first["a"].folder / file).is_file() for file in first["a"].files)
    assert [outcome.cached for outcome in again.values()] == [True, True]
    (folder / "dmesg" / "nid003.log").write_text(SYSLOG.replace("09:06:30", "09:07:30"))
    assert made(folder, store)["a"].full_entry().faults[0].step == 250


def test_one_that_tells_of_no_run_is_a_problem(tmp_path: Path) -> None:
    outcomes = made(logs(tmp_path / "exp", a=START + 9e5), tmp_path / "store")
    assert outcomes["a"].full_entry().faults == ()
    assert outcomes["dmesg"].entry is None
    assert outcomes["dmesg"].problems == (
        f"the log of a machine, not of a training (1 fault, first: {LOST} (nid003)); no run here names "
        "the same job or ran at that time. Remedy: put it into the folder of its run, or name it among the "
        "paths of its run.toml",
    )


def test_one_that_goes_away_meanwhile_is_a_problem_of_its_own(tmp_path: Path) -> None:
    runs, store = expand([logs(tmp_path / "exp", a=START)]), tmp_path / "store"
    outcomes = make_entries(runs, WorkspaceConfig(), store, 1, lambda outcome, total: None)
    (tmp_path / "exp" / "dmesg" / "nid003.log").unlink()
    left = {o.run_id: o for o in with_machines(runs, outcomes, WorkspaceConfig(), store)}
    assert left["a"].entry and left["a"].problems == ()
    assert left["dmesg"].entry is None
    assert left["dmesg"].problems == (
        "dmesg: no series of numbers is in it. Remedy: `chronicle doctor` shows what is in it",
    )


def test_the_entry_tells_how_the_log_of_the_run_says_that_it_ended(tmp_path: Path) -> None:
    """What stopped it was looked for in a file of another name, once places were relative to the run."""
    (tmp_path / "exp").mkdir()
    lines = [f"step {i} loss {3 - math.log(i + 1) / 5 + 0.01 * math.sin(i * 7):.4f}\n" for i in range(400)]
    stopped = (
        'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nKeyboardInterrupt\n'
    )
    (tmp_path / "exp" / "train.log").write_text("".join(lines) + stopped)
    (outcome,) = made(tmp_path / "exp", tmp_path / "store").values()
    assert outcome.entry.headline.endswith("The job was cancelled after step 399.")


def test_machine_logs_alone_are_shown_as_they_are(tmp_path: Path) -> None:
    (outcome,) = made(logs(tmp_path / "exp"), tmp_path / "store").values()
    assert only_machines(outcome.entry)
    assert [fault.what for fault in outcome.full_entry().faults] == [LOST]


def test_classify_says_of_machine_logs_what_they_tell(chronicle, tmp_path: Path) -> None:
    ran = chronicle("classify", logs(tmp_path / "exp") / "dmesg")
    assert ran.out.splitlines() == [
        "dmesg  ? cannot tell",
        "  Cannot tell: no loss, reward or score was logged with enough points to be judged.",
        "     fault: A fault was logged on nid003: “Xid 79: GPU has fallen off the bus: the host cannot"
        " reach",
        "     it any more (0000:41:00)”.",
    ]


def test_list_says_which_folders_hold_machine_logs_alone(chronicle, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "chronicle.toml").touch()
    made(logs(tmp_path / "runs", a=START), tmp_path / "build" / "entries")
    monkeypatch.chdir(tmp_path)
    a, dmesg = chronicle("list").out.splitlines()
    assert a.startswith("a      ● good")
    assert dmesg == "dmesg  machine logs"
