"""What the published rules of training frameworks would have flagged in a run, beside chronicle's findings.

The lines of `chronicle classify RUN --preset NAME`: a team sees in one command what its own callback says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from chronicle.classify.patterns import Trait, having
from chronicle.classify.presets import PRESETS, Preset
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import AttemptView, look
from chronicle.metrics.values import count, plural
from chronicle.model import Comparison, Diagnosis, Finding, Series, Timeline

NO_EVENTS = having(Trait.WHOLE_RUN | Trait.PROPERTY)
_SHOWN = 8  # flagged steps that are listed
_BEFORE_SAMPLES = 4  # a rule may see an event this much before its onset is dated


def compare(timeline: Timeline, diagnosis: Diagnosis, presets: Sequence[str]) -> Iterator[Comparison]:
    """Each rule on the judged loss of each attempt, in the order of the log."""
    for name in presets:
        for attempt in look(timeline, DEFAULTS).attempts:
            if attempt.loss is not None:
                yield _compared(PRESETS[name], attempt, attempt.loss, diagnosis.findings)


def told(comparison: Comparison, diagnosis: Diagnosis) -> Iterator[str]:
    """The lines for one comparison with a diagnosis."""
    c, n = comparison, len(comparison.flagged_steps)
    share = f" ({100 * n / c.samples:.2g} %)" if n else ""
    flagged = f"{count(n)} of {plural(c.samples, 'sample')} flagged{share}"
    yield f"{c.preset} on {c.metric} · {c.attempt}: {flagged}"
    if c.samples <= PRESETS[c.preset].window_samples:
        yield f"  the rule judges nothing before {count(PRESETS[c.preset].window_samples)} samples are logged"
    if c.outside_steps:
        shown = [*map(count, c.outside_steps[:_SHOWN])]
        listed = ", ".join(shown) + (" …" if len(c.outside_steps) > _SHOWN else "")
        yield f"  outside chronicle's findings: {count(len(c.outside_steps))}, at {listed}"
    for finding in diagnosis.findings:
        if finding.id in c.missed:
            yield f"  no sample of {finding.pattern} from step {count(finding.start_step)}"


def _compared(
    preset: Preset, attempt: AttemptView, series: Series, findings: Sequence[Finding]
) -> Comparison:
    flagged = np.flatnonzero(preset.flags(series.values))
    mine = [
        f
        for f in findings
        if f.metric == series.metric and f.attempt in (None, attempt.name) and f.pattern not in NO_EVENTS
    ]
    places = flagged.tolist()
    within = [[i for i in places if low <= i < high] for low, high in (_reach(series, f) for f in mine)]
    known = {i for inside in within for i in inside}
    return Comparison(
        preset.name,
        series.metric,
        attempt.name,
        len(series),
        tuple(series.steps[flagged].tolist()),
        tuple(int(series.steps[i]) for i in places if i not in known),
        tuple(f.id for f, inside in zip(mine, within, strict=True) if inside),
        tuple(f.id for f, inside in zip(mine, within, strict=True) if not inside),
    )


def _reach(series: Series, finding: Finding) -> tuple[int, int]:
    """First and past-the-last row of a finding in its series."""
    low = int(np.searchsorted(series.steps, finding.start_step)) - _BEFORE_SAMPLES
    end = finding.end_step
    return low, len(series) if end is None else int(np.searchsorted(series.steps, end, side="right"))
