"""What the numbers of NVIDIA Xid messages mean, in a few words each.

The driver writes an Xid to the kernel log for every error it reports. Facts: NVIDIA, "Xid Errors", Xid
catalog. A number that is not listed is still a fault; only its meaning is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

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
