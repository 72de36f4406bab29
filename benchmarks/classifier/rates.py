"""The rate of false alarms by the evidence that is demanded, fitted and verified on healthy points.

The fit uses generated courses, and block-bootstrapped residuals of every second real run of this repository.
The verification uses other seeds, the residuals of the other runs, healthy runs that resemble unhealthy ones,
and runs elsewhere (``--also NAME=DIR``), whose labels only say where they are healthy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.classifier import tables
from benchmarks.classifier.judging import judged
from benchmarks.curves.cases import USUAL, Case, confounded, healthy, injected
from benchmarks.curves.curve import Curve
from benchmarks.curves.residuals import RUNS, Residuals, of_folder
from benchmarks.page import markdown
from chronicle.classify import DEFAULTS, Thresholds
from chronicle.score import total

CAUTION = (0.35, 0.45, 0.6, 0.75, 1.0, 1.3, 1.7, 2.5)
TARGETS = (10.0, 1.0, 0.1)  # false alarms per 100,000 points
SETTING, VERIFYING = 20_000, 50_000  # first seeds
LONG = "20,000 points"


@dataclass(frozen=True)
class Fit:
    """Rate = ``rate * caution ** -power``, per 100,000 points."""

    rate: float
    power: float

    def at(self, caution: float) -> float:
        return float(self.rate * caution**-self.power)


@dataclass(frozen=True)
class Count:
    """The number of false alarms and of healthy points."""

    alarms: int
    points: int

    def __str__(self) -> str:
        return f"{self.alarms / self.points * 1e5:.2f} ({self.alarms})" if self.points else ""


def generated(first: int, seeds: int) -> list[Case]:
    """Courses of every kind, with about the same number of points each."""
    short = [g for g in USUAL if g != LONG]
    return [*healthy(range(first, first + seeds), short), *healthy(range(first, first + seeds // 10), [LONG])]


def bootstrapped(sources: Sequence[Residuals], first: int, courses: int) -> list[Case]:
    """Plain courses whose noise is drawn from the residuals of real runs, with their amplitude, but at most 5
    %."""
    cases = []
    for k in range(courses):
        source = sources[k % len(sources)]
        c = Curve(first + k, noise=min(source.noise_log, 0.05))
        c.noise = source.draw(c.rng, c.n)
        cases.append(Case("healthy", source.source, 0.0, first + k, c.run()))
    return cases


def count(cases: Iterable[Case], thresholds: Thresholds = DEFAULTS) -> Count:
    """False alarms of a set of healthy cases."""
    events = total([row.result for row in judged(cases, thresholds)]).events
    return Count(events["false_alarms"], events["healthy_points"])


def fit(counts: Mapping[float, Count]) -> Fit:
    """Poisson regression of the alarms on log caution: weighted least squares, iterated."""
    x = np.log(np.array(list(counts)))
    alarms = np.array([c.alarms for c in counts.values()], float)
    points = np.array([c.points for c in counts.values()], float) / 1e5
    design = np.stack([np.ones_like(x), -x], axis=1)
    beta = np.array([np.log((alarms.sum() + 0.5) / points.sum()), 3.0])
    for _ in range(50):
        mean = points * np.exp(design @ beta)
        step = np.linalg.solve(design.T @ (mean[:, None] * design), design.T @ (alarms - mean))
        beta = beta + np.clip(step, -1, 1)
    return Fit(float(np.exp(beta[0])), float(beta[1]))


def halves() -> tuple[list[Residuals], list[Residuals]]:
    """The residuals of this repository's real runs: every second one for the fit, the others for the
    verification."""
    sources = list(of_folder(RUNS))
    return sources[::2], sources[1::2]


def setting(quick: bool) -> Fit:
    """The fit that `Thresholds.at` uses."""
    many = 6 if quick else 40
    cases = generated(SETTING, many) + bootstrapped(halves()[0], SETTING, 20 * many)
    return fit({c: count(cases, DEFAULTS.cautious(c)) for c in CAUTION})


def verified(found: Fit, quick: bool, also: Mapping[str, Path]) -> str:
    """Rates and recall at the offered thresholds, on data that were not used to set them."""
    many = 6 if quick else 40
    sets = {
        "generated, other seeds": generated(VERIFYING, many),
        "residuals of other runs": bootstrapped(halves()[1], VERIFYING, 20 * many),
        "look-alikes": list(confounded(range(VERIFYING, VERIFYING + many // 2))),
    }
    for name, folder in also.items():
        sets[f"residuals of {name}"] = bootstrapped(list(of_folder(folder)), VERIFYING, 20 * many)
    offered = {f"{t:g}": DEFAULTS.cautious((t / found.rate) ** (-1 / found.power)) for t in TARGETS}
    offered |= {"default": DEFAULTS}
    rows: list[list[object]] = []
    for name, cases in sets.items():
        counts = {k: count(cases, t) for k, t in offered.items()}
        rows.append([name, f"{counts['default'].points:,}", *(str(c) for c in counts.values())])
    events = list(injected([VERIFYING], heights=(5.0, 8.0, 12.0)))
    seen = {k: list(judged(events, t)) for k, t in offered.items()}
    for height in (5.0, 8.0, 12.0):
        shares = [tables.mean(r.found for r in s if r.height == height) for s in seen.values()]
        rows.append([f"recall at {height:g} noise scales", "", *shares])
    return markdown(["healthy points of", "points", *(f"at {k}" for k in offered)], rows)
