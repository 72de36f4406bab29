"""Lines of real kernels, schedulers and frameworks, and the fault that each of them tells of."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.logs import read_text
from tests.work import in_proportion

from chronicle.readers.console.machine import KINDS, LONGEST, RANK, ROWS, XIDS, Row, fault_in

# line -> kind, host, what
FAULTS = {
    "NVRM: Xid (PCI:0000:41:00): 79, pid=2171, GPU has fallen off the bus.": (
        "xid", "", "Xid 79: GPU has fallen off the bus: the host cannot reach it any more (0000:41:00)",
    ),
    "[Mon Nov 20 12:00:00 2023] NVRM: Xid (PCI:0000:01:00 GPU-I:02): 94, pid=1, name=python, Contained": (
        "xid", "", "Xid 94: ECC error that could be contained: one program is ended (0000:01:00)",
    ),
    "NVRM: Xid (0000:03:00): 31, Ch 00000010, engmask 00000101, intr 10000000": (
        "xid", "",
        "Xid 31: memory page fault: the program touched an address that is not mapped (0000:03:00)",
    ),
    "NVRM: Xid (PCI:0000:9b:00): 999, something new": (
        "xid", "", "Xid 999: meaning not known (0000:9b:00)",
    ),
    "NVRM: GPU 0000:41:00.0: GPU has fallen off the bus.": ("gpu", "", "GPU has fallen off the bus"),
    "nvidia-nvswitch3: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up": (
        "xid", "", "nvidia-nvswitch3: SXid (PCI:0000:85:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
    ),
    "EDAC MC0: 1 UE memory read error on CPU_SrcID#0": (
        "ecc", "", "EDAC MC0: 1 UE memory read error on CPU_SrcID#0",
    ),
    "RuntimeError: CUDA error: uncorrectable ECC error encountered": (
        "ecc", "", "RuntimeError: CUDA error: uncorrectable ECC error encountered",
    ),
    "mce: [Hardware Error]: Machine check events logged": (
        "ecc", "", "mce: [Hardware Error]: Machine check events logged",
    ),
    "nvidia-fabricmanager: detected NVLink fatal error on GPU 3 port 7": (
        "nvlink", "", "nvidia-fabricmanager: detected NVLink fatal error on GPU 3 port 7",
    ),
    "[rank1]:[E626 06:24:44.903881913 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=808, OpType=ALLREDUCE, NumelIn=9, NumelOut=9, Timeout(ms)=600000) ran for"
    " 600020 milliseconds before timing out.": (
        "nccl", "", "NCCL watchdog: ALLREDUCE timed out after 600000 ms",
    ),
    "n1:534:1763 [3] NCCL WARN Net : Connection closed by remote peer n2<41234>": (
        "nccl", "n1", "NCCL WARN Net : Connection closed by remote peer n2<41234>",
    ),
    "[default3]:nid05.cluster:22:23 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer "
    "10.1.0.4<41234> with status=12 opcode=0": (
        "network", "nid05.cluster",
        "NCCL WARN NET/IB : Got completion from peer 10.1.0.4<41234> with status=12 opcode=0",
    ),
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroup.cpp:13, unhandled system error": (
        "nccl", "",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroup.cpp:13, unhandled system error",
    ),
    "[rank3]: torch.distributed.DistBackendError: NCCL error in: NCCL.cpp:70, remote process exited": (
        "nccl", "",
        "torch.distributed.DistBackendError: NCCL error in: NCCL.cpp:70, remote process exited",
    ),
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has ...": (
        "out-of-memory", "", "GPU out of memory",
    ),
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB": (
        "out-of-memory", "", "GPU out of memory",
    ),
    "kernel: Out of memory: Killed process 4242 (python) total-vm:1kB": (
        "out-of-memory", "", "host out of memory: the kernel killed python",
    ),
    "Memory cgroup out of memory: Killed process 77 (pt_data_worker) total-vm:1kB": (
        "out-of-memory", "", "host out of memory: the kernel killed pt_data_worker",
    ),
    "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.": (
        "out-of-memory", "", "host out of memory: the kernel or the scheduler killed a process",
    ),
    "OSError: [Errno 12] Cannot allocate memory": ("out-of-memory", "", "host out of memory"),
    "RuntimeError: CUDA error: an illegal memory access was encountered": (
        "cuda", "", "CUDA: illegal memory access",
    ),
    "RuntimeError: CUDA error: device-side assert triggered": ("cuda", "", "CUDA: device-side assert"),
    "RuntimeError: CUDA error: unspecified launch failure": ("cuda", "", "CUDA: launch failure"),
    "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasGemmEx": (
        "cuda", "", "RuntimeError: CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling cublasGemmEx",
    ),
    "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.": (
        "loss-scale", "", "loss scale is at its minimum: the run is given up",
    ),
    "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding.": (
        "loss-scale", "", "loss scale is at its minimum: the run is given up",
    ),
    "slurmstepd: error: *** JOB 32391783 ON cn119 CANCELLED AT 2021-06-18T13:05:36 DUE TO PREEMPTION ***": (
        "preemption", "cn119", "Slurm job 32391783 cancelled: preemption",
    ),
    "slurmstepd: error: *** STEP 494583.0 ON nid01 CANCELLED AT 2024-04-20T09:09:37 DUE TO TIME LIMIT ***": (
        "time-limit", "nid01", "Slurm job 494583 cancelled: time limit",
    ),
    "slurmstepd: error: *** JOB 608 ON n7 CANCELLED AT 2022-08-12T02:06:12 DUE TO NODE FAILURE, SEE SLURMCTLD"
    " LOG FOR DETAILS ***": ("node", "n7", "Slurm job 608 cancelled: node failure"),
    "slurmstepd: error: *** STEP 63532.0 ON cn106 CANCELLED AT 2020-12-14T09:43:55 ***": (
        "cancelled", "cn106", "Slurm job 63532 cancelled",
    ),
    "KeyboardInterrupt": ("cancelled", "", "stopped by hand (KeyboardInterrupt)"),
    "submitit WARNING (2022-08-12 02:06:11,453) - Caught signal SIGUSR2 on n7: this job is preempted.": (
        "preemption", "",
        "submitit WARNING (2022-08-12 02:06:11,453) - Caught signal SIGUSR2 on n7: this job is preempted.",
    ),
    "srun: error: Node failure on nid002": ("node", "nid002", "srun: error: Node failure on nid002"),
    "srun: error: nid01934: tasks 2,4-5,7: Terminated": (
        "signal", "nid01934", "SIGTERM ended tasks of the job",
    ),
    "srun: error: g12: task 3: Segmentation fault (core dumped)": (
        "signal", "g12", "SIGSEGV ended tasks of the job",
    ),
    "srun: error: g12: tasks 0-7: Exited with exit code 1": (
        "exit", "g12", "tasks of the job ended with exit code 1",
    ),
    "python[4242]: segfault at 0 ip 00007f sp 00007f error 4 in libtorch.so": (
        "signal", "", "SIGSEGV of python",
    ),
    "  traceback : Signal 9 (SIGKILL) received by PID 4242": ("signal", "", "SIGKILL"),
    "nvsm: Xid 48: reported on GPU3": (
        "xid", "", "Xid 48: double-bit ECC error: memory is corrupt beyond correction",
    ),
    "NVRM: GPU 0000:41:00.0: row remapping failure, contact support": (
        "ecc", "", "NVRM: GPU 0000:41:00.0: row remapping failure, contact support",
    ),
    "[rank2]: [PG 0 Rank 2] Heartbeat monitor timed out! Process will go": (
        "nccl", "", "[PG 0 Rank 2] Heartbeat monitor timed out! Process will go",
    ),
    "[rank1]:[E614 02:07:51.574986987 ProcessGroupNCCL.cpp:681] [Rank 1] Some NCCL operations have failed or"
    " timed out": (
        "nccl", "", "[Rank 1] Some NCCL operations have failed or timed out",
    ),
    "JOB 77 reached its time limit, exiting": ("time-limit", "", "JOB 77 reached its time limit, exiting"),
    "train.sh: line 9:  4242 Bus error               (core dumped) python train.py": (
        "signal", "", "SIGBUS",
    ),
    "Received SIGTERM, saving a checkpoint": ("signal", "", "SIGTERM"),
    "INFO: task python:4242 blocked for more than 120 seconds.": (
        "hang", "", "INFO: task python:4242 blocked for more than 120 seconds.",
    ),
    "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:4242]": (
        "hang", "", "watchdog: BUG: soft lockup - CPU#3 stuck for 22s! [python:4242]",
    ),
    "srun: error: cn5: task 0: Out Of Memory": (
        "out-of-memory", "cn5", "host out of memory: the scheduler ended the job",
    ),
    "TERM_RUNLIMIT: job killed after reaching LSF run time limit.": (
        "time-limit", "", "TERM_RUNLIMIT: job killed after reaching LSF run time limit.",
    ),
    "=>> PBS: job killed: walltime 3604 exceeded limit 3600": (
        "time-limit", "", "=>> PBS: job killed: walltime 3604 exceeded limit 3600",
    ),
    "TERM_PREEMPT: job killed after preemption.": (
        "preemption", "", "TERM_PREEMPT: job killed after preemption.",
    ),
    "slurmstepd: error: *** STEP 6.0 STEPD TERMINATED ON cn106 AT 2020-12-14T09:44:56 DUE TO JOB NOT ENDING"
    " WITH SIGNALS ***": (
        "node", "cn106",
        "slurmstepd: error: *** STEP 6.0 STEPD TERMINATED ON cn106 AT 2020-12-14T09:44:56 DUE TO JOB NOT"
        " ENDING WITH SIGNALS ***",
    ),
    "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!": (
        "gpu", "", "amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!",
    ),
    "pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received": (
        "pcie", "", "pcieport 0000:40:01.1: AER: Uncorrected (Fatal) error received",
    ),
    "RuntimeError: [Rank 3]: Ranks 1 failed to pass monitoredBarrier in 1800000 ms": (
        "nccl", "", "RuntimeError: [Rank 3]: Ranks 1 failed to pass monitoredBarrier in 1800000 ms",
    ),
    "RuntimeError: DataLoader worker (pid 4242) is killed by signal: Killed.": ("signal", "", "SIGKILL"),
    "train.sh: line 9:  4242 Killed                  python train.py": ("signal", "", "SIGKILL"),
    "Killed": ("signal", "", "SIGKILL"),
    "Received signal 15: SIGTERM": ("signal", "", "SIGTERM"),
    "torch.distributed.elastic.multiprocessing.api.SignalException: Process 16074 got signal: 2": (
        "cancelled", "", "stopped by hand (KeyboardInterrupt)",
    ),
    "[rank0]: KeyboardInterrupt": ("cancelled", "", "stopped by hand (KeyboardInterrupt)"),
    "[rank1]: Killed": ("signal", "", "SIGKILL"),
    "terminate called after throwing an instance of 'c10::Error'": (
        "exception", "", "terminate called after throwing an instance of 'c10::Error'",
    ),
    "nfs: server lustre7 not responding, still trying": (
        "disk", "", "nfs: server lustre7 not responding, still trying",
    ),
    "mlx5_core 0000:0c:00.0 ib0: Link down": ("network", "", "mlx5_core 0000:0c:00.0 ib0: Link down"),
    "OSError: [Errno 28] No space left on device": (
        "disk", "", "OSError: [Errno 28] No space left on device",
    ),
}  # fmt: skip

WELL = (
    "iteration 10/ 100 | lm loss: 6.25E+00 | loss scale: 32768.0 | grad norm: 1.5 | nan iterations: 0 |",
    "n1:534:1763 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB ; OOB eth0:10.0.0.1<0>",
    "n1:534:1763 [3] NCCL INFO comm 0x7f19 rank 3 nranks 8 cudaDev 3 nvmlDev 3 busId 9b000 - Init COMPLETE",
    "  nccl_timeout ................................... 1800",
    "NCCL_TIMEOUT=1800 NCCL_ASYNC_ERROR_HANDLING=1 TORCH_NCCL_BLOCKING_WAIT=0",
    "initializing torch distributed with the nccl backend, timeout 0:30:00",
    "    except torch.cuda.OutOfMemoryError:",
    "    if 'out of memory' in str(error):",
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 16.0",
    "node count: 64, preemptible: false, exit_signal_handler ..... False",
    "signal_handler = dist_signal_handler.DistributedSignalHandler().__enter__()",
    "step 911 | loss: 4.988997 | lr 5.9697e-04 | norm: 0.5693 | dt: 405.63ms | tok/sec: 1292520.48",
    ":::MLLOG {\"key\": \"eval_error\", \"value\": 0.25, \"metadata\": {\"step\": 3}}",
    "[    0.000000] Linux version 5.15.0 (gcc) #1 SMP",
    "[    1.000000] mlx5_core 0000:0c:00.0: firmware version: 20.31.1014",
    "[    2.000000] EDAC MC: Ver: 3.0.0",
    "[    3.000000] nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
    "[    4.000000] NVRM: loading NVIDIA UNIX x86_64 Kernel Module 535.104.12",
    "mce: CPU supports 32 MCE banks",
    "[    5.000000] [drm] amdgpu kernel modesetting enabled.",
    "[    6.000000] pcieport 0000:40:01.1: AER: enabled with IRQ 41",
    "Killed mutants: 5 of 7", "The job was terminated by the user's wish", "nfs: server lustre7 OK",
    "sinfo: NODELIST STATE idle, TIMELIMIT 2-00:00:00",
    "",
)  # fmt: skip


@pytest.mark.parametrize("line", FAULTS)
def test_a_fault_is_told(line: str) -> None:
    fault = fault_in(line)
    assert fault is not None
    assert (fault.kind, fault.host, fault.what) == FAULTS[line]


@pytest.mark.parametrize("line", WELL)
def test_what_healthy_logs_hold_is_no_fault(line: str) -> None:
    assert fault_in(line) is None


def test_every_kind_of_the_table_is_described_and_every_row_has_a_line() -> None:
    kinds = {row.kind for row in ROWS}
    assert kinds == set(KINDS)
    used = {id(next(row for row in ROWS if fits(row, line))) for line in FAULTS}
    assert [(row.kind, row.words) for row in ROWS if id(row) not in used] == []


def fits(row: Row, line: str) -> bool:
    text = RANK.sub("", line)
    return any(word in line.lower() for word in row.words) and row.pattern.search(text) is not None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.kind} {row.words[0]}")
def test_the_words_of_a_row_are_in_lower_case(row) -> None:
    assert all(word == word.lower() for word in row.words)


@pytest.mark.parametrize("number", [13, 31, 43, 45, 48, 61, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120])
def test_well_known_xids_have_a_meaning(number: int) -> None:
    fault = fault_in(f"NVRM: Xid (PCI:0000:41:00): {number}, pid=1")
    assert fault is not None
    assert fault.what == f"Xid {number}: {XIDS[number]} (0000:41:00)"


@pytest.mark.parametrize(
    "text",
    [*(" ".join(row.words) + " " for row in ROWS), "Watchdog caught collective operation timeout: a(OpType="],
)
def test_no_line_costs_a_square_of_its_length(text: str) -> None:
    assert in_proportion(lambda length: fault_in(text * (length // len(text))), 200_000)


def test_a_quoted_line_is_short_and_in_one_piece() -> None:
    fault = fault_in("x\t" * 50 + "ib0: Link down " + "y" * 5000)
    assert fault is not None
    assert len(fault.what) == LONGEST
    assert fault.what.startswith("x x x ")
    assert fault.what.endswith("…")


def test_a_fault_without_a_clock_has_the_time_of_what_was_logged_right_before_it(tmp_path: Path) -> None:
    """The clock of a checkpoint that was loaded an hour earlier is no clock of the fault."""
    times = [f"2026-03-01 {7 + k // 60:02}:{k % 60:02}:00" for k in range(180)]
    steps = [*range(60), *range(40, 160)]
    form = "[{}] [INFO] [trainer.py:233] step {:>6}/10000 | loss {:.4f} | lr 1e-4".format
    lines = [form(time, step, 3 - step / 100) for time, step in zip(times, steps, strict=True)]
    lines.insert(60, "[2026-03-01 08:00:00] [INFO] [checkpoint.py:41] Loading checkpoint from /ckpt/step_40")
    lines += ["torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"]
    attempt = read_text(tmp_path, "\n".join(lines) + "\n")
    (fault,) = attempt.faults
    assert (fault.at_step, fault.at_time) == (159, attempt.series["loss"].times[-1])
