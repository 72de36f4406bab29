"""The shared classifier: what happened in a training run, from its metrics alone.

    import chronicle.classify

    diagnosis = chronicle.classify(timeline)            # after the run
    monitor = chronicle.classify.Monitor()              # in the training loop
    for finding in monitor.update(step, {"loss": loss}):
        print(finding.pattern, finding.start_step)

It imports numpy and the standard library, and the rules when there is something to judge, so a trainer can
afford it. How it works, and every threshold: docs/classifier.md.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from chronicle.classify.monitor import Monitor
from chronicle.classify.thresholds import DEFAULTS, Thresholds
from chronicle.model import Diagnosis, Timeline

__all__ = ["DEFAULTS", "VERSION", "Monitor", "Thresholds", "classify"]

VERSION = "1"  # goes into every entry: a new one makes `chronicle build` classify again


def classify(what: Any, thresholds: Thresholds = DEFAULTS) -> Diagnosis:
    """The diagnosis of a run.

    Args:
        what: a Timeline, or anything `chronicle.stitch` takes (attempts, a DataFrame, arrays by name).
        thresholds: `dataclasses.replace(DEFAULTS, ...)` changes some.

    Raises:
        chronicle.errors.UsageError: if ``what`` cannot be stitched.
    """
    from chronicle.classify.verdict import diagnose
    from chronicle.classify.view import look
    from chronicle.timeline import stitch

    return diagnose(look(what if isinstance(what, Timeline) else stitch(what), thresholds))


class _Callable(ModuleType):
    """`chronicle.classify(timeline)` and `from chronicle.classify import Monitor` both have to work: the
    package carries the name of its one function, so the module itself can be called."""

    __call__ = staticmethod(classify)


sys.modules[__name__].__class__ = _Callable
