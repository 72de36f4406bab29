"""The series of the labelled generator (benchmarks/curves), by the name that the tests know."""

from benchmarks.curves.series import *  # noqa: F403
