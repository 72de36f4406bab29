"""Lines that speak of a fault of a machine, a job or a program: a table, and the fault of a line.

The table is `chronicle.readers.console.fault_lines`; docs/formats/machine-log.md prints its kinds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from chronicle.model import Fault, Place
from chronicle.readers.text import clean

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


@dataclass(frozen=True)
class Row:
    """One row of the table; a line must hold one of ``words`` before ``pattern`` is searched in it."""

    kind: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    what: str


def _row(kind: str, words: str, patterns: str | tuple[str, ...], what: str = "{line}") -> Row:
    joined = patterns if isinstance(patterns, str) else "|".join(patterns)
    return Row(kind, tuple(words.split("|")), re.compile(joined, re.IGNORECASE), what)


_DEVICE = r"(?:PCI:)?(?P<device>[0-9a-f:.]{4,20})"
_DIED = "Segmentation fault|Bus error|Killed|Terminated|Aborted|Floating point exception|Illegal instruction"
_TOLD = (
    r"\b(?:received|caught|got|by|with|sent|sending|sends|signal|exitcode\s*:\s*-?\d+)[:\s(]+"
    r"(?:signal\s+\d*[\s:(]*|\d+ \(|a\s+)?"
)

ROWS: tuple[Row, ...] = (
    # The GPU and its driver.
    _row(
        "xid",
        "xid",
        r"\bNVRM: Xid \(" + _DEVICE + r"[^)]{0,60}\): (?P<number>\d{1,6})\b",
        "Xid {number}: {meaning} ({device})",
    ),
    _row("xid", "xid", r"\bXid (?P<number>\d{1,6}) ?[-:]", "Xid {number}: {meaning}"),
    _row("xid", "sxid", r"\bnvidia-nvswitch.{0,40}\bSXid \(" + _DEVICE + r"\): \d+"),
    _row("gpu", "fallen off the bus", ".", "GPU has fallen off the bus"),
    _row(
        "gpu",
        "rminitadapter failed|the nvidia driver|device handle for gpu|amdgpu|access fault by gpu",
        (
            r"RmInitAdapter failed|couldn't communicate with the NVIDIA driver|device handle for GPU",
            r"\bamdgpu\b.{0,120}\b(?:GPU reset (?:begin|failed)|uncorrectable hardware error)",
            r"\bamdgpu\b.{0,120}\b(?:ring|job) \S* ?timeout",
            r"Memory access fault by GPU",
        ),
    ),
    _row("pcie", "aer:", r"\bAER: .{0,40}\b(?:Uncorrect\w+|Fatal)\b"),
    _row(
        "ecc",
        "ecc|edac|machine check|hardware error|row remap|row-remap|remapped rows",
        (
            r"row[- ]remap\w* (?:failure|error|pending|failed)|failed row[- ]remap",
            r"\b(?:uncorrect\w+|double[- ]bit|unrecover\w+|uncontained|fatal)\b.{0,40}\becc\b",
            r"\becc\b.{0,40}\b(?:uncorrect\w+|double[- ]bit|unrecover\w+)",
            r"\bEDAC \S+: \d+ [CU]E\b",
            r"machine check (?:events|exception)",
            r"\[Hardware Error\]: .{0,80}(?:uncorrected|fatal|machine check)",
        ),
    ),
    _row(
        "nvlink",
        "nvlink|nvswitch|fabric manager|fabricmanager",
        r"(?:nvlink|nvswitch|fabric ?manager)\b.{0,120}\b(?:errors?|fail\w*|fatal|down|inactive)\b",
    ),
    # Communication.
    _row(
        "nccl",
        "watchdog caught",
        r"Watchdog caught collective operation timeout: \w{1,40}\(.{0,60}?OpType=(?P<op>\w{1,40})"
        r".{0,160}?Timeout\(ms\)=(?P<ms>\d{1,15})",
        "NCCL watchdog: {op} timed out after {ms} ms",
    ),
    _row(
        "nccl",
        "nccl|processgroup|collective|gloo|watchdog|monitoredbarrier|socket has timed out|before timing out|"
        "heartbeat monitor|socket timeout|c10d",
        (
            r"watchdog caught|watchdog thread terminated|ncclCommAbort|communicator was aborted",
            r"NCCL operations have failed|\bNCCL error in: ",
            r"nccl(?:Internal|System|UnhandledCuda|Remote|InvalidUsage)Error",
            r"unhandled (?:system|cuda) error",
            r"NCCL WARN .{0,200}(?:fail|error|timed? ?out|abort|connection closed|reset by peer)",
            r"\b(?:nccl|gloo)\b.{0,80}\btimed out\b",
            r"failed to pass monitoredBarrier|client socket has timed out|milliseconds before timing out",
            r"heartbeat monitor timed out|socket timeout\b",
            r"c10d.{0,60}(?:timed out|timeout after|connection reset)",
        ),
    ),
    # Memory.
    _row(
        "out-of-memory",
        "out of memory|outofmemory|resource_exhausted",
        (
            r"\b(?:cuda|hip|xla|gpu)\b.{0,20}out of memory\b",
            r"\bOutOfMemoryError: \S",
            r"RESOURCE_EXHAUSTED.{0,40}memory",
        ),
        "GPU out of memory",
    ),
    _row(
        "out-of-memory",
        "out of memory",
        r"\bout of memory: Kill(?:ed)? process \d+ \((?P<name>[^)]{1,64})\)",
        "host out of memory: the kernel killed {name}",
    ),
    _row(
        "out-of-memory",
        "oom",
        r"invoked oom-killer|oom[-_ ]kill(?:ed|er)?\b|Detected \d+ oom[-_]kill|\bOUT_OF_ME(?:MORY)?\b",
        "host out of memory: the kernel or the scheduler killed a process",
    ),
    _row(
        "out-of-memory",
        "out of memory|oomkilled|term_memlimit",
        r"error: (?P<host>[\w.-]{1,80}): tasks? [\d,\-]+: Out Of Memory|\bOOMKilled\b|\bTERM_MEMLIMIT\b",
        "host out of memory: the scheduler ended the job",
    ),
    _row("out-of-memory", "cannot allocate memory|bad_alloc", r".", "host out of memory"),
    # CUDA.
    _row("cuda", "illegal memory access", ".", "CUDA: illegal memory access"),
    _row("cuda", "device-side assert", ".", "CUDA: device-side assert"),
    _row("cuda", "launch fail", r"launch fail(?:ure|ed)", "CUDA: launch failure"),
    _row(
        "cuda",
        "misaligned address|cublas_|cudnn_|cuda error|cudaerror|hip error",
        (
            r"misaligned address",
            r"\bCU(?:BLAS|DNN|SPARSE|FFT)_STATUS_(?!SUCCESS)\w+",
            r"\b(?:CUDA|HIP) error\b(?: \d+)?: ?\S",
            r"\bcudaError(?!_t\b)[A-Z]\w+",
        ),
    ),
    _row(
        "loss-scale",
        "already at minimum|minimum loss scale",
        r"loss scale already at minimum|minimum loss scale reached",
        "loss scale is at its minimum: the run is given up",
    ),
    # The scheduler.
    _row(
        "cancelled",
        "cancelled at",
        r"\*\*\* (?:JOB|STEP|EXTERN STEP) (?P<job>\w{1,40})[\w.+]{0,20} (?:ON (?P<host>\S{1,80}) )?"
        r"CANCELLED AT [\dT:.-]+"
        r"(?: DUE TO (?P<reason>[A-Z ]{1,40}?))?(?:,[^*]{0,80})? \*\*\*",
        "Slurm job {job} cancelled{reason}",
    ),
    _row(
        "preemption",
        "preempt|spot interruption",
        (
            r"\bTERM_PREEMPT\b",
            r"\b(?:job|instance|node|vm|is|was|been|being) (?:\w+ ){0,2}preempted\b",
            r"preemption (?:notice|signal)|due to preemption|spot interruption",
        ),
    ),
    _row(
        "time-limit",
        "time limit|job killed: walltime|term_runlimit",
        (
            r"(?:reached|exceeded|due to) (?:\w+ ){0,2}time limit|time limit (?:reached|exceeded)",
            r"PBS: job killed: walltime|\bTERM_RUNLIMIT\b",
        ),
    ),
    _row(
        "node",
        "node fail|node_fail|not responding|not ending with signals",
        (
            r"STEPD TERMINATED ON (?P<host3>[\w.-]{1,80}) AT \S+ DUE TO JOB NOT ENDING WITH SIGNALS",
            r"node failure on (?P<host>[\w.-]{1,80})",
            r"\bNODE_FAIL\b|node failure",
            r"nodes? (?P<host2>[\w.-]{1,80}) (?:is |are )?not responding",
        ),
    ),
    # Processes.
    _row("signal", "segfault", r"(?P<name>[^\s\[]{1,64})\[\d{1,10}\]: segfault at", "SIGSEGV of {name}"),
    _row(
        "signal",
        "error:",
        r"error: (?P<host>[\w.-]{1,80}): tasks? [\d,\-]+: (?P<signal>" + _DIED + ")",
        "{signal} ended tasks of the job",
    ),
    _row(
        "exit",
        "exited with exit code",
        r"error: (?P<host>[\w.-]{1,80}): tasks? [\d,\-]+: Exited with exit code (?P<code>\d{1,5})",
        "tasks of the job ended with exit code {code}",
    ),
    _row(
        "signal",
        "sigterm|sigkill|sigsegv|sigbus|sigabrt|sigusr|sighup|sigint|sigfpe|sigill|"
        "by signal|with signal|from signal",
        (
            r"killed by signal: (?P<signal3>Killed|Terminated|Aborted|Segmentation fault|Bus error)",
            _TOLD + r"(?P<signal>SIG(?:TERM|KILL|SEGV|BUS|ABRT|HUP|INT|FPE|ILL|USR[12]))\b",
            r"(?:terminated|killed|ended) (?:by|with|from) signal:? (?P<number>\d{1,3})\b",
        ),
        "{signal}",
    ),
    _row(
        "signal",
        "segmentation fault|bus error|core dumped",
        r"\b(?P<signal>Segmentation fault|Bus error)\b|\b(?P<signal2>" + _DIED + r")\b.{0,20}core dumped",
        "{signal}",
    ),
    _row(
        "signal",
        "killed|terminated",
        r"^(?:\S{1,80}: line \d+: +\d+ )?(?P<signal>Killed|Terminated)(?:\s*$|\s{3,}\S)",
        "{signal}",
    ),
    _row("exception", "terminate called after", r"terminate called after throwing an instance of"),
    _row(
        "hang",
        "blocked for more than|soft lockup|hard lockup|detected stall|detected expedited",
        (
            r"\btask \S{1,80} blocked for more than \d+ seconds",
            r"\b(?:soft|hard) lockup\b",
            r"\brcu\w*:? .{0,40}detected (?:expedited )?stall",
        ),
    ),
    # The network, and storage.
    _row(
        "network",
        "link down|link is down|link_down|lost carrier|port_inactive|link flap|ibv_|mlx5|retry count|"
        "completion with|completion from",
        (
            r"\blink (?:is )?down\b|link_down|lost carrier|port_inactive|link flap",
            r"\bretry count(?:er)? exceeded|IBV_WC_\w*ERR|\bibv_\w+\b.{0,80}(?:failed|error)",
            r"got completion (?:from peer .{0,60})?with (?:status|error)",
            r"\bmlx5\w*\b.{0,120}\b(?:health compromised|fatal|error)",
        ),
    ),
    _row(
        "disk",
        "no space left|disk quota|stale file|i/o error|input/output error|lustreerror|nfs: server|ext4-fs",
        r"no space left on device|disk quota exceeded|stale file handle|\b(?:I|input)/(?:O|output) error\b"
        r"|LustreError|\bnfs: server \S+ not responding|\bEXT4-fs error",
    ),
)


XIDS: Mapping[int, str] = {
    8: "GPU stopped processing (time-out)",
    13: "graphics engine exception, mostly an access out of bounds by the program",
    31: "memory page fault: the program touched an address that is not mapped",
    32: "command stream to the GPU is corrupt (driver, bus or memory)",
    38: "driver firmware error",
    43: "GPU stopped processing for one program, which faulted",
    44: "graphics engine fault while switching contexts",
    45: "work of a program was torn down, after an earlier error or because the program was killed",
    48: "double-bit ECC error: memory is corrupt beyond correction",
    54: "auxiliary power cable not connected",
    56: "display engine error",
    61: "internal micro-controller warning",
    62: "internal micro-controller halted",
    63: "memory page retired or row remapped; it takes effect after a reset",
    64: "a memory page could not be retired, or a row not remapped",
    66: "illegal access by the driver",
    68: "video decoder exception",
    69: "graphics engine class error",
    74: "NVLink error: a link to another GPU or switch failed",
    79: "GPU has fallen off the bus: the host cannot reach it any more",
    92: "high rate of single-bit ECC errors",
    93: "non-fatal violation of the wear limit of the configuration memory",
    94: "ECC error that could be contained: one program is ended",
    95: "ECC error that could not be contained: every program on the GPU is ended",
    109: "context switch timed out",
    110: "security fault",
    119: "GPU system processor (GSP) did not answer the driver in time",
    120: "GPU system processor (GSP) failed",
    121: "corrected error on the chip-to-chip link",
    136: "NVLink training failed",
    137: "NVLink: illegal access by a peer",
    140: "ECC error that was not recovered",
    143: "GPU could not be initialised",
    144: "NVLink error (SAW unit)",
    145: "NVLink error (RLW unit)",
    146: "NVLink error (TLW unit)",
    147: "NVLink error (TREX unit)",
    148: "NVLink error (control unit)",
    149: "NVLink error (NETIR unit)",
    150: "NVLink error (MSE unit)",
    154: "the driver changed which recovery it asks for (reset, drain or reboot)",
    155: "NVLink error found by software",
    156: "a part of the GPU was retired",
    157: "a part of the GPU could not be retired",
    158: "fatal time-out of the GPU",
}


LONGEST = 200  # characters of a line that a fault quotes
_LOOKED_AT = 4000  # characters of a line that are looked at

_SIGNALS = {
    "1": "SIGHUP", "2": "SIGINT", "4": "SIGILL", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE",
    "9": "SIGKILL", "10": "SIGUSR1", "11": "SIGSEGV", "12": "SIGUSR2", "15": "SIGTERM",
}  # fmt: skip
_SPELLED = {
    "segmentation fault": "SIGSEGV", "bus error": "SIGBUS", "killed": "SIGKILL", "terminated": "SIGTERM",
    "aborted": "SIGABRT", "floating point exception": "SIGFPE", "illegal instruction": "SIGILL",
}  # fmt: skip
_REASONS = {"time limit": "time-limit", "node failure": "node", "preemption": "preemption"}
_REASONS |= {"job requeue": "preemption", "job requeued": "preemption"}

# A line holds none of these in all but a few cases; `in` is some ten times as fast as an alternation.
_EVERY = {word for row in ROWS for word in row.words}
WORDS = tuple(word for word in _EVERY if not any(other in word for other in _EVERY - {word}))

# What launchers put before the words of a rank, and what kernel and system logs begin with.
_PROCESS = r"[A-Za-z][\w.-]{0,79}:\d+:\d+ \[\d+\] "  # host, process, thread and GPU, as NCCL writes them
RANK = re.compile(
    r"^(?:\[(?:rank|default|\w[\w.-]*:)\d+\]:? ?|\d{1,6}: |\([\w ]{1,40}pid=\d+[^)]{0,60}\) "
    rf"|{_PROCESS}(?:[\w/.-]{{1,80}}:\d+ )?)+"
)
_HOST_OF_PROCESS = re.compile(rf"(?:^|[]: ])(?={_PROCESS})([^:]+)")
_LEAD = re.compile(
    r"^(?:<\d+>)?(?:(?:[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) \S+ (?:kernel: )?)?"
    r"(?:\[(?:\s*\d+\.\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:]+ \d{4})\] )?"
)


def fault_in(line: str) -> Fault | None:
    """The fault that a line tells of, without place and time; None for every other line.

    ``host`` is filled where the message itself names it. A line of 4,000 characters is looked at.
    """
    line = line[:_LOOKED_AT]
    lower = line.lower()
    if not any(map(lower.__contains__, WORDS)):
        return None
    for row in ROWS:
        if any(word in lower for word in row.words) and (found := row.pattern.search(line)):
            return _fault(row, found, line)
    return None


def _fault(row: Row, found: re.Match[str], line: str) -> Fault:
    groups = {name.rstrip("23"): value for name, value in found.groupdict().items() if value}
    kind, words = row.kind, {"name": "a process", **groups}
    if kind == "cancelled":
        reason = groups.get("reason", "").strip().lower()
        kind, words["reason"] = _REASONS.get(reason, kind), f": {reason}" if reason else ""
    if kind == "xid" and "number" in groups:
        words["meaning"] = XIDS.get(int(groups["number"][:6]), "meaning not known")
    if kind == "signal":
        words["signal"] = _signal(groups)
    words["line"] = quoted(line)
    what = row.what.format(**words)
    process = _HOST_OF_PROCESS.search(line[:LONGEST])
    host = groups.get("host") or (process[1] if process else "")
    return Fault(Place(""), clean(what), kind=kind, host=clean(host.rstrip(":,")))


def _signal(groups: dict[str, str]) -> str:
    if "number" in groups:
        return _SIGNALS.get(groups["number"], f"signal {groups['number']}")
    spelled = groups.get("signal", "")
    return _SPELLED.get(spelled.lower(), spelled.upper())


def quoted(line: str) -> str:
    """A line as a fault quotes it: without clock, host and rank, one blank between words, at most `LONGEST`
    characters."""
    text = " ".join(RANK.sub("", _LEAD.sub("", line[:_LOOKED_AT])).split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
