"""The table of `chronicle.readers.console.fault_lines`: which lines tell of a fault, and what a page says.

A row says which kind of fault it is, one word at least that the line holds (in lower case, a quick test),
the expression, and what is said; words in braces are groups of the expression. Rows are tried in order and
the first that fits decides, so that "CUDA out of memory" is no other CUDA error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


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
