"""What the tests let workers do: a module of little weight, for each worker imports it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from chronicle.workspace.locks import scratch


def double(number: int) -> int:
    return 2 * number


def killed_at_seven(number: int) -> int:
    if number == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * number


def failing(number: int) -> int:
    raise OSError(28, "No space left on device", f"file {number}")


def lost(number: int) -> int:
    return -number


def waiting(folder: str) -> None:
    """Says who it is through a pipe, and then waits for ever."""
    with scratch() as mine, open(Path(folder) / "said", "w") as pipe:
        (mine / "unpacked.csv").write_text("step,loss\n")
        pipe.write(f"{os.getpid()}\n")
        pipe.flush()
        signal.pause()
