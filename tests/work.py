"""How much a function does, counted and not timed: the same number on an idle machine and on a busy one."""

from __future__ import annotations

import gc
from collections.abc import Callable
from cProfile import Profile
from typing import Any


def in_proportion(work: Callable[[int], Any], length: int) -> bool:
    """Whether work on an input of this length takes about twice the calls of work on half of it.

    Matching an expression is one call, whatever it costs: ``length`` is chosen so large that as many steps as
    its square would not come to an end.
    """
    work(length // 16)  # what is imported and compiled once
    return n_calls(lambda: work(length)) < 2.5 * n_calls(lambda: work(length // 2))


def n_calls(function: Callable[[], Any]) -> int:
    """Calls of Python and of C functions while ``function`` runs: what grows with the square shows in it.

    The collector of garbage waits: hypothesis listens to it, which would count wherever it happens to run.
    """
    profile = Profile(subcalls=False)
    gc.disable()
    try:
        profile.runcall(function)
    finally:
        gc.enable()
    return sum(entry.callcount for entry in profile.getstats())
