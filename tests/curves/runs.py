"""The trainings of the labelled generator (benchmarks/curves), by the name that the tests know."""

from benchmarks.curves.runs import *  # noqa: F403
