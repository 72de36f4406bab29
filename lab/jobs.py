"""The output of Slurm jobs on a cluster that fails: what Megatron-LM prints, and what ends each job.

The values are those of a real training. Clock, hosts, and the words of driver, NCCL and Slurm are staged.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

STEP_S = 45.0
ROWS = 16  # samples of a step
KERNEL_LOG = "kernel.log"  # of all hosts, as a log server collects it


@dataclass(frozen=True)
class Line:
    """What is written so many seconds after a job's last step, into its output or by the kernel of a host.

    ``{iso}``, ``{glog}`` and ``{job}`` in the text are the moment, as logs write it, and the job.
    """

    after_s: float
    text: str
    host: str = ""


@dataclass(frozen=True)
class Job:
    """One job: its number, when it began, its nodes, and what was written around its end."""

    number: int
    started: datetime
    nodes: str
    end: tuple[Line, ...]


def _at(day: int, hour: int, minute: int) -> datetime:
    return datetime(2026, 3, day, hour, minute, tzinfo=UTC)


def _watchdog(after_s: float, rank: int, operation: str) -> Line:
    what = f"WorkNCCL(SeqNum=51840, OpType={operation}, NumelIn=135808, NumelOut=135808, Timeout(ms)=600000)"
    return Line(
        after_s,
        f"[rank{rank}]:[E{{glog}} ProcessGroupNCCL.cpp:616] [Rank {rank}] Watchdog caught collective "
        f"operation timeout: {what} ran for 600021 milliseconds before timing out.",
    )


_REMAPPED = "NVRM: Xid (PCI:0000:41:00): 63, pid=1896, Row Remapper: New row marked for remapping"
_OFF_THE_BUS = "NVRM: Xid (PCI:0000:41:00): 79, pid=2171, name=python, GPU has fallen off the bus."
_PEER_LOST = (
    "nid005:2211:2290 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
    "10.1.0.4<41234> with status=12 opcode=0 len=0 vendor err 129 (retry count exceeded)"
)
JOBS = (
    Job(
        4711,
        _at(2, 9, 0),
        "nid[001-004]",
        (
            Line(-17_990, "mlx5_core 0000:0c:00.0: firmware version: 20.31.2006", "nid003"),
            Line(-17_960, "nvidia 0000:41:00.0: enabling device (0140 -> 0142)", "nid003"),
            Line(-17_950, "mlx5_core 0000:0c:00.0: firmware version: 20.31.2006", "nid005"),
            Line(-5400, _REMAPPED, "nid003"),
            Line(8, _OFF_THE_BUS, "nid003"),
            *(_watchdog(609, rank, "ALLREDUCE") for rank in (0, 1, 2, 3)),
            Line(
                652,
                "slurmstepd: error: *** JOB {job} ON nid001 CANCELLED AT {iso} DUE TO NODE FAILURE, "
                "SEE SLURMCTLD LOG FOR DETAILS ***",
            ),
        ),
    ),
    Job(
        4712,
        _at(2, 14, 52),
        "nid[001-002,004-005]",
        (
            Line(-1, "mlx5_core 0000:0c:00.0 ib0: Link down", "nid005"),
            Line(12, _PEER_LOST),
            *(_watchdog(603, rank, "REDUCE_SCATTER") for rank in (0, 2)),
            Line(609, "srun: error: nid005: task 3: Aborted (core dumped)"),
        ),
    ),
    Job(
        4713,
        _at(2, 18, 40),
        "nid[001-002,004,006]",
        (
            Line(5, "[{iso}] exiting program after receiving SIGTERM."),
            Line(64, "slurmstepd: error: *** JOB {job} ON nid001 CANCELLED AT {iso} DUE TO PREEMPTION ***"),
        ),
    ),
    Job(
        4714,
        _at(3, 1, 15),
        "nid[011-014]",
        (Line(4, "[after training is done] datetime: {iso} "),),
    ),
)


class JobLog:
    """The output of one job, and what the kernels of its hosts wrote meanwhile."""

    def __init__(self, folder: Path, name: str) -> None:
        self.job = JOBS[int(name.rpartition("-")[2]) - 1 if name else 0]
        self.folder, self.at = folder, self.job.started
        self.lines = [
            f"SLURM_JOB_ID={self.job.number}",
            f"SLURM_JOB_NODELIST={self.job.nodes}",
            "using world size: 4, data-parallel-size: 4, tensor-model-parallel size: 1",
        ]

    def write(self, step: int, values: Mapping[str, float]) -> None:
        self.at += timedelta(seconds=STEP_S)
        shown = {
            "consumed samples": f"{(step + 1) * ROWS:12d}",
            "learning rate": f"{values['lr']:.3E}",
            "global batch size": f"{ROWS:5d}",
            "lm loss": f"{values['loss']:.6E}",
            "grad norm": f"{values['grad_norm']:.3f}",
        }
        told = " | ".join(f"{name}: {value}" for name, value in shown.items())
        self.lines.append(f" [{self.at:%Y-%m-%d %H:%M:%S}] iteration {step + 1:8d}/    1000 | {told} |")
        if "val_loss" in values:
            loss = values["val_loss"]
            perplexity = f"lm loss PPL: {math.exp(loss):.6E}"
            self.lines.append(
                f" validation loss at iteration {step + 1} | lm loss value: {loss:.6E} | {perplexity} | "
            )

    def close(self) -> None:
        kernel = []
        for line in sorted(self.job.end, key=lambda line: line.after_s):
            at = self.at + timedelta(seconds=line.after_s)
            if line.host:
                kernel.append(f"{at:%b} {at.day:2d} {at:%H:%M:%S} {line.host} kernel: {line.text}\n")
            else:
                told = {"iso": f"{at:%Y-%m-%dT%H:%M:%S}", "glog": f"{at:%m%d %H:%M:%S.%f}000"}
                self.lines.append(line.text.format(job=self.job.number, **told))
        (self.folder / f"slurm-{self.job.number}.out").write_text("\n".join(self.lines) + "\n", "utf-8")
        with (self.folder / KERNEL_LOG).open("a", encoding="utf-8") as file:
            file.writelines(kernel)
