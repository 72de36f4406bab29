"""The labelled generator of benchmarks/curves, by the name that the tests know."""

from benchmarks.curves import Curve, Event, Run, scaled

__all__ = ["Curve", "Event", "Run", "scaled"]
