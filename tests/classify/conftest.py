"""The compiled kernel for all tests of the classifier: with it a run is judged ten times faster.

test_kernel.py holds it to the plain one, bit by bit. It is compiled once on a machine; later sessions read it
from numba's cache on disk. A `Monitor` takes the plain one unless it is told otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

from chronicle.classify import kernel
from chronicle.classify.detect import Detector
from chronicle.classify.thresholds import DEFAULTS


@pytest.fixture(scope="session", autouse=True)
def compiled_kernel() -> None:
    """Have it in this process: then `classify` takes it for short logs as well."""
    detector = Detector(DEFAULTS, engine=kernel.compiled())
    detector.extend(np.ones(1))
    detector.finish()
