"""How much a function does, counted and not timed: the same number on an idle machine and on a busy one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def n_calls(function: Callable[[], Any]) -> int:
    """Calls of Python and of C functions while ``function`` runs: what grows with the square shows in it."""
    count = 0

    def on_event(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count
