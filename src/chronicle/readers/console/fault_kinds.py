"""Kinds of faults beside the curves, each with what it stands for (docs/formats/machine-log.md has them)."""

from __future__ import annotations

KINDS = {
    "xid": "NVIDIA Xid: an error that the GPU driver reports",
    "gpu": "a GPU or its driver failed, told without an Xid (NVIDIA, AMD)",
    "pcie": "errors of the bus between host and GPU (AER)",
    "ecc": "memory errors: ECC, row remapping, machine checks",
    "nvlink": "links between GPUs, and their fabric manager",
    "nccl": "collective operations: time-outs, aborts, errors of NCCL",
    "network": "InfiniBand and Ethernet links that go down, or time out",
    "out-of-memory": "memory ran out, of the GPU or of the host",
    "cuda": "CUDA and cuBLAS errors",
    "preemption": "the scheduler took the job's nodes away, or requeued it",
    "time-limit": "the job reached its time limit",
    "cancelled": "the job or a step of it was cancelled",
    "node": "a node failed, or stopped answering",
    "signal": "a process died by a signal",
    "hang": "something did not answer for long: blocked tasks, stuck processors",
    "disk": "storage: no space, quota, stale handles, input/output errors",
    "loss-scale": "dynamic loss scaling gave up",
    "exception": "a Python traceback, told by its last line",
    "exit": "a process of the job ended with an error",
}
