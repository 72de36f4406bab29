"""chronicle reads the logs of training runs and tells what happened.

    import chronicle

    for run in chronicle.runs("logs/"):               # the runs there, as the command line tells them apart
        timeline = run.timeline()                     # restarts and rollbacks joined
        diagnosis = chronicle.classify(timeline)      # verdict, findings, what could not be judged
        timeline.frame()                              # pandas, long form

    attempts = chronicle.read("logs/run-7")           # list[Attempt], columns of numpy
    timeline = chronicle.stitch(attempts)             # as one run, whatever they are

Names are loaded when they are first used, so that ``import chronicle.classify`` in a trainer costs
numpy and nothing else.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # not imported from typing: no import may delay the handling of an interrupt
if TYPE_CHECKING:
    from typing import Any

    from chronicle.build.produce import runs as runs
    from chronicle.classify import Monitor as Monitor
    from chronicle.classify import classify as classify
    from chronicle.readers import read as read
    from chronicle.timeline import stitch as stitch

__version__ = "0.1.0"
__all__ = ["Monitor", "__version__", "classify", "read", "runs", "stitch"]

_MODULE_OF = {"read": "readers", "runs": "build.produce", "stitch": "timeline", "Monitor": "classify"}


def __getattr__(name: str) -> Any:
    if name == "classify":  # the package itself: it is callable, see chronicle/classify/__init__.py
        return importlib.import_module("chronicle.classify")
    if name in _MODULE_OF:
        return getattr(importlib.import_module(f"chronicle.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'chronicle' has no attribute {name!r}")
