"""How soon does a `Monitor` report an event? The delay from its onset to the first report, by pattern.

    python -m benchmarks.delays [--seeds 3] [--first-seed 50] [--write]

Generated curves (`benchmarks.curves`) are given to a Monitor step by step. An event is found if the diagnosis
of `finish` has a finding at its place. The first report is the first provisional finding with the id of this
finding or at the place of the event. The event is named by the first report with a right name, if the final
finding has this name too. Delays are counted in logged samples. `--write` puts the table into
docs/classifier-measured.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np

from benchmarks.classifier.page import PAGE
from benchmarks.curves.cases import Case, contexts, injected
from benchmarks.page import arguments, count, markdown, show
from chronicle.classify import Monitor
from chronicle.model import Attempt, Finding, Steps
from chronicle.score.labels import Event

HEIGHTS = (8.0, 12.0, 20.0, 50.0)
HEAD = (
    *("pattern", "events", "found", "first report", "median", "90 % within"),
    *("named", "median", "90 % within", "revised", "by `finish()` alone"),
)
COURSES = ("plain", "autocorrelated", "heavy tails", "real residuals", "every 100th", "uneven")

Said = list[tuple[int, Finding]]  # the step at which something was said, and what


@dataclass(frozen=True)
class Word:
    """The reports of one labelled event: samples from its onset to the first report, and to its name (None:
    only `finish` reported it). ``found``: `finish` has it, under any name; ``revised``: its name differs from
    that of the first report."""

    pattern: str
    found: bool
    first_samples: int | None = None
    named_samples: int | None = None
    revised: bool = False


@dataclass(frozen=True)
class Heard:
    """One run: the reports of its events, and the number of reported findings that remained and that were
    withdrawn."""

    words: list[Word]
    said: int
    dropped: int


def watch(attempts: Iterable[Attempt]) -> tuple[Said, list[Finding]]:
    """What a Monitor reports on the way, and at the end. If a later attempt goes back, the Monitor is
    rewound."""
    monitor, said, last = Monitor(), Said(), None
    for attempt in attempts:
        rows: dict[int, dict[str, float]] = {}
        for name, series in attempt.series.items():
            for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
                rows.setdefault(step, {})[name] = value
        if last is not None and min(rows) <= last:
            monitor.rewind(min(rows))
        for last in sorted(rows):
            said += [(last, f) for f in monitor.update(last, rows[last])]
    return said, list(monitor.finish().findings)


def word(event: Event, said: Said, final: list[Finding], steps: Steps) -> Word:
    """The first report of an event, and its name; ``steps`` are the logged steps in order."""
    far = event.tolerance_steps
    here = [f for f in final if abs(f.start_step - event.start_step) <= far]
    if not here:
        return Word(event.pattern, False)
    last = min(here, key=lambda f: (f.pattern not in event.names, abs(f.start_step - event.start_step)))
    anywhere = far > (steps[-1] - steps[0]) / 2  # what the whole run shows has no place
    of_it = [
        (int(np.searchsorted(steps, step) - np.searchsorted(steps, event.start_step)), f.pattern)
        for step, f in said
        if step >= event.start_step
        and (f.id == last.id or (abs(f.start_step - event.start_step) <= far and not anywhere))
    ]
    if not of_it:
        return Word(event.pattern, True)
    first, guess = of_it[0]
    named = (delay for delay, name in of_it if name == event.pattern == last.pattern)
    return Word(event.pattern, True, first, next(named, None), guess != last.pattern)


def heard(case: Case) -> Heard:
    """What a Monitor reports of one case."""
    said, final = watch(case.attempts)
    steps = np.unique(np.concatenate([a.series["loss"].steps for a in case.attempts]))
    ids, kept = {f.id for _, f in said}, {f.id for f in final}
    words = [word(e, said, final, steps) for e in case.label.events if not e.optional]
    return Heard(words, len(ids), len(ids - kept))


def table(runs: list[Heard]) -> str:
    """One row for each pattern, and the false reports."""
    rows, by_pattern = [], defaultdict[str, list[Word]](list)
    for one in (w for run in runs for w in run.words):
        by_pattern[one.pattern].append(one)
    for pattern, words in sorted(by_pattern.items(), key=lambda item: (not _named(item[1]), item[0])):
        first = [w for w in words if w.first_samples is not None]
        found = sum(w.found for w in words)
        revised = float(np.mean([w.revised for w in first])) if first else None
        heard_of = (len(words), found, *_spread([w.first_samples for w in first]))
        rows.append((pattern, *heard_of, *_spread(_named(words)), revised, found - len(first)))
    said, dropped = sum(run.said for run in runs), sum(run.dropped for run in runs)
    end = f"Events reported before the end: {said:,}. Of these without a finding at the end: {dropped:,}."
    return f"{markdown(HEAD, rows)}\n\n{end}"


def _named(words: list[Word]) -> list[int | None]:
    return [w.named_samples for w in words if w.named_samples is not None]


def _spread(delays: list[int | None]) -> list[str]:
    """The number of delays, their median, and their 90th percentile."""
    at = np.quantile(np.array(delays, float), (0.5, 0.9)) if delays else ()
    return [str(len(delays)), *(f"{q:.0f}" for q in at)] if delays else ["0", "", ""]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=count, default=3)
    parser.add_argument("--first-seed", type=int, default=50)
    given = parser.parse_args()
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    runs = [heard(c) for c in chain(injected(seeds, HEIGHTS, COURSES), contexts(seeds))]
    show("delays", table(runs), given.write, PAGE)


if __name__ == "__main__":
    main()
