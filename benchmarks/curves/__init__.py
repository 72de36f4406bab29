"""Training curves with known causes: a seeded, labelled generator for tests, development and calibration.

A `Curve` is the log of one attempt: a power law that decays to a floor, with noise that is autocorrelated,
heavy-tailed and larger at the start, logged at even or uneven steps. Its methods inject events and
confounders and write the label of what they did; `series` adds the other series. Heights are in noise scales
(one scale = the spread of one logged point), so that "how tall must it be to be seen" can be asked of every
pattern.

    run = grad_norm(Curve(seed=3).spike(0.5, height=12), lead=4).run()
    run.attempts, run.events          # what a reader would give, and the labels

`runs` builds whole trainings of several attempts. `grounds` are the healthy courses that an event can be put
into (kinds of noise, of sampling and of values), `kinds` the events by name, `residuals` the noise of real
healthy runs, and `cases` puts them together, with the label that `chronicle score` judges by.
"""

from __future__ import annotations

from benchmarks.curves.curve import Curve, Event, Run, scaled

__all__ = ["Curve", "Event", "Run", "scaled"]
