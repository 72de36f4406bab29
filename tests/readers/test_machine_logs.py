"""Machine and job logs beside the logs of a training: one folder, one run, faults on its timeline."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import from_regex, lists
from tests.pages.samples import site
from tests.readers.gold import EXAMPLES

from chronicle.build.entry import to_json
from chronicle.build.produce import Product, produce
from chronicle.metrics.values import MOST_HOSTS, hosts_of, node_list, short_node_list
from chronicle.pages import pages
from chronicle.readers import read, read_all, runs_below
from chronicle.readers.console.chunks import stamp
from chronicle.readers.console.machine import KINDS, MOST_FAULTS, MachineFaults, identify
from chronicle.readers.text import Head
from chronicle.timeline import stitch
from chronicle.workspace.config import WorkspaceConfig
from chronicle.workspace.folders import run_in

START = 1700467200.0  # 2023-11-20T08:00:00Z, as in the examples


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Metrics of 4 000 s from 08:00, a system log of the host, and what Slurm wrote."""
    rows = [f"{step},{3 - step / 1000:.3f},{START + 2 * step}" for step in range(0, 2000, 5)]
    (tmp_path / "metrics.csv").write_text("step,loss,timestamp\n" + "\n".join(rows) + "\n")
    for source, name in (("syslog.log", "dmesg.log"), ("slurm-123.out", "slurm-123.out")):
        (tmp_path / name).write_bytes((EXAMPLES / "machine-log" / source).read_bytes())
    return tmp_path


def test_a_folder_of_metrics_and_machine_logs_is_one_run(folder: Path) -> None:
    assert [run.paths for run in runs_below(folder)] == [(folder,)]
    assert [attempt.name for attempt in read(folder)] == ["dmesg.log", "metrics.csv", "slurm-123.out"]
    assert read_all(folder).problems == ()


def test_its_faults_are_on_the_timeline(folder: Path) -> None:
    timeline = stitch(read(folder))
    assert [attempt.name for attempt in timeline.attempts] == ["metrics.csv"]
    assert timeline.attempts[0].facts["nodes"] == "nid[001-004]"
    assert [(f.at_time - START, f.at_step, f.kind, f.host, f.count) for f in timeline.faults] == [
        (1700.0, 850, "xid", "nid003", 1),
        (3990.0, 1995, "xid", "nid003", 1),
        (3990.0, 1995, "xid", "nid003", 1),
        (pytest.approx(4600.9, abs=0.1), 1995, "nccl", "", 4),
        (pytest.approx(4600.9, abs=0.1), 1995, "nccl", "", 1),
        (4700.0, 1995, "node", "nid001", 1),
    ]


@pytest.mark.slow
def test_classify_and_the_entry_tell_of_them(folder: Path, chronicle) -> None:
    ran = chronicle("classify", str(folder))
    xid = "Xid 63: memory page retired or row remapped; it takes effect after a reset (0000:41:00)"
    sentence = f"At step 850 a fault was logged on nid003: “{xid}”."
    line = f"fault: {sentence} (2023-11-20T08:28:20Z)"
    assert line in " ".join(ran.out.replace("\u202f", "").split())
    entry = produce(Product(run_in(folder), WorkspaceConfig(), folder.parent / "entry")).full_entry()
    assert to_json(entry)["faults"][0] == {
        "kind": "xid", "what": xid, "host": "nid003", "step": 850, "time": "2023-11-20T08:28:20Z",
        "count": 1, "where": entry.faults[0].where,
    }  # fmt: skip
    (page,) = [page.text for page in pages(site([entry])) if page.path.startswith("runs/")]
    assert sentence in page.replace("\u202f", "") and "08:28" in page
    assert "Slurm job 123 cancelled: node failure" in page


def test_a_log_without_fault_or_curve_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("Loss looked odd today.\nAsk Ada about the killed run.\n")
    assert not identify(Head.of(tmp_path / "notes.txt"))


@pytest.mark.slow
def test_a_fault_at_the_end_of_a_long_log_is_found(tmp_path: Path) -> None:
    log = tmp_path / "job.out"
    log.write_text("loading shard\n" * 30_000 + "srun: error: Node failure on nid002\n")
    assert identify(Head.of(log))
    (fault,) = read(log)[0].faults
    assert (fault.where[-6:], fault.kind, fault.host) == (":30001", "node", "nid002")


def test_what_ranks_repeat_is_counted_and_a_flood_is_bounded() -> None:
    faults = MachineFaults(Path("log"))
    for number in range(1, 5001):
        faults.look(number, f"[rank{number % 8}]: RuntimeError: CUDA error: device-side assert triggered")
    assert [(f.count, f.kind) for f in faults.faults()] == [(5000, "cuda")]
    flood = MachineFaults(Path("log"))
    for number in range(1, 3001):
        flood.look(number, f"NVRM: Xid (PCI:0000:41:00): {number}, pid=1")
    assert len(flood.faults()) == MOST_FAULTS + 1
    assert (flood.faults()[-1].kind, flood.faults()[-1].count) == ("read", 2000)


def test_the_last_line_of_a_traceback_is_told_for_each_rank() -> None:
    faults = MachineFaults(Path("log"))
    text = """\
[rank0]: Traceback (most recent call last):
[rank1]: Traceback (most recent call last):
[rank0]:   File "train.py", line 3, in <module>
[rank1]:   File "train.py", line 9, in <module>
[rank1]: vocab.json: 138kB [00:00, 2.85MB/s]
[rank1]: ValueError: bad batch
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
step 5
Traceback (most recent call last):
  File "train.py", line 3, in <module>
KeyboardInterrupt
"""
    for number, line in enumerate(text.splitlines(), 1):
        faults.look(number, line, step=4)
    assert [(f.where, f.kind, f.what, f.at_step) for f in faults.faults()] == [
        ("log:6", "exception", "ValueError: bad batch", 4),
        ("log:7", "out-of-memory", "GPU out of memory", 4),
        ("log:11", "cancelled", "stopped by hand (KeyboardInterrupt)", 4),
    ]


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("nid[001-004]", ["nid001", "nid002", "nid003", "nid004"]),
        ("nid[008-010,100],login1", ["nid008", "nid009", "nid010", "nid100", "login1"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("gpu7", ["gpu7"]),
        ("n[3-1]", []),
        ("n[1-999999999]", [f"n{i}" for i in range(1, MOST_HOSTS + 1)]),
        ("n[1-999999999][1-999999999][3-1],m", ["m"]),
        ("n" + "[1]" * 2000, ["n" + "1" * 8, *["1" * 8] * 249]),
        ("n[", ["n"]),
        ("", []),
    ],
)
def test_node_lists(text: str, hosts: list[str]) -> None:
    assert hosts_of(text) == hosts


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("nid001,nid002,nid[003-004]", "nid[001-004]"),
        ("n8,n9,n10,n12,login", "n[8-10,12],login"),
        ("n08,n09,n10", "n[08-10]"),
        ("n1,n01", "n[1,01]"),
        ("n2,n1,m,n3", "n[2,1],m,n3"),
        ("r[1-2]n[1-2]", "r1n[1-2],r2n[1-2]"),
        ("gpu7", "gpu7"),
        ("101,102", "[101-102]"),
        ("", ""),
    ],
)
def test_one_spelling_of_a_node_list(text: str, short: str) -> None:
    assert short_node_list(text) == short


@given(lists(from_regex(r"[a-c]{0,1}-?[0-9]{0,2}[a-c]?[0-9]{0,3}", fullmatch=True).filter(bool), max_size=30))
def test_a_folded_list_names_the_same_hosts_in_the_same_order(hosts: list[str]) -> None:
    assert hosts_of(node_list(hosts)) == hosts


@pytest.mark.parametrize(
    ("line", "time", "host"),
    [
        ("Nov 20 08:00:01 nid003 kernel: NVRM", 91_094_401.0, "nid003"),
        ("<4>Nov  2 08:00:01 nid003 kernel: NVRM", 89_539_201.0, "nid003"),
        ("[Mon Nov 20 08:00:01 2023] NVRM: Xid", START + 1, ""),
        ("2023-11-20T08:00:01+0000 nid003 kernel: NVRM", START + 1, "nid003"),
        ("2023-11-20T09:00:01.5+01:00 nid003 systemd[1]: x", START + 1.5, "nid003"),
        ("[2023-11-20 08:00:01,500] [ERROR] x", START + 1.5, ""),
        ("[nid003:3]: [2023-11-20 08:00:01] x", START + 1, "nid003"),
        ("11/20/2023 08:00:01 [INFO|DP=0] x", START + 1, ""),
        ("[rank1]:[E1120 08:00:01.903881913 ProcessGroupNCCL.cpp:616] x", 91_094_401.903881913, ""),
        ("nid003:534:1763 [3] NCCL WARN x", math.nan, "nid003"),
        ("nid003: [  12.5] x", math.nan, "nid003"),
        ("2023-13-45 08:00:01 x", math.nan, ""),
        ("step 5 | loss 2.5", math.nan, ""),
        ("/tmp/a/b/c/job-14: line 3:  3904 Aborted (core dumped) python train.py", math.nan, ""),
    ],
)
def test_stamps(line: str, time: float, host: str) -> None:
    written = stamp(line)
    assert repr(written.time) == repr(time)
    assert written.host == host


def test_the_guide_describes_every_kind_and_every_xid() -> None:
    from chronicle.readers.console.machine import XIDS

    page = (Path(__file__).parents[2] / "docs" / "formats" / "machine-log.md").read_text("utf-8")
    assert [kind for kind, what in KINDS.items() if f"| `{kind}` | {what} |" not in page] == []
    assert [number for number, what in XIDS.items() if f"| {number} | {what} |" not in page] == []
