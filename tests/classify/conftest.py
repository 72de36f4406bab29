"""The compiled kernel for all tests of the classifier: with it a run is judged ten times faster.

test_kernel.py holds it to the plain one, bit by bit. It is compiled once on a machine, by the first of the
processes that share the tests; the others, and later sessions, read it from numba's cache on disk.
A `Monitor` takes the plain one unless it is told otherwise.
"""

from __future__ import annotations

import fcntl

import numpy as np
import pytest

from chronicle.classify import kernel
from chronicle.classify.kernel import Detector
from chronicle.classify.thresholds import DEFAULTS


@pytest.fixture(scope="session", autouse=True)
def compiled_kernel(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Have it in this process: then `classify` takes it for short logs as well."""
    shared = tmp_path_factory.getbasetemp().parent  # by all processes of this session
    with (shared / "compiling").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        detector = Detector(DEFAULTS, engine=kernel.compiled())
        detector.extend(np.ones(1))
        detector.finish()
