"""What the command line prints: plain words, a block a run, colour only where a terminal shows it."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
import numpy as np

from chronicle.build.entry import headline
from chronicle.classify.patterns import BY_ID, Trait, having
from chronicle.classify.presets import PRESETS, Preset
from chronicle.classify.restarts import gap, join_words, lettered, restart
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import AttemptView, look
from chronicle.errors import UsageError
from chronicle.metrics.values import count, instant, plural
from chronicle.model import Comparison, Diagnosis, Entry, Finding, Join, Series, Timeline, Verdict
from chronicle.pages import words

if TYPE_CHECKING:
    from chronicle.build import Report
    from chronicle.build.produce import Outcome

# The shape and the colour of each verdict.
LOOKS = {
    Verdict.GOOD: ("●", "green"),
    Verdict.UNEXPECTED: ("◆", "magenta"),
    Verdict.WORRYING: ("▲", "yellow"),
    Verdict.BAD: ("■", "red"),
}
_MOST_JOINS, _MOST_CHANGES, _MOST_FAULTS = 20, 4, 8  # that a terminal has room for
_KEPT = " \n\u202f"


def badge(verdict: Verdict) -> str:
    """The verdict as shape, word and colour."""
    shape, colour = LOOKS[verdict]
    return click.style(f"{shape} {verdict}", fg=colour)


def run_lines(run_id: str, timeline: Timeline, diagnosis: Diagnosis) -> Iterator[str]:
    """The lines of `chronicle classify` for one run."""
    yield f"{click.style(printable(run_id), bold=True)}  {badge(diagnosis.verdict)}"
    yield f"  {printable(headline(timeline, diagnosis))}"
    for finding in diagnosis.findings:
        yield f"  {printable(finding_line(finding))}"
    joins = lettered(diagnosis)
    for letter, join in joins[:_MOST_JOINS]:
        yield f"  {printable(join_line(letter, join))}"
    if len(joins) > _MOST_JOINS:
        yield f"  {plural(len(joins) - _MOST_JOINS, 'more join')}, all with --json"
    for fault in timeline.faults[:_MOST_FAULTS]:
        step = "" if fault.at_step is None else f"step {count(fault.at_step)}"
        times = f"{count(fault.count)} times" if fault.count > 1 else ""
        place = " · ".join(filter(None, (step, instant(fault.at_time), fault.host, times)))
        yield printable(f"  × {fault.what}" + (f"  ({place})" if place else ""))
    if len(timeline.faults) > _MOST_FAULTS:
        yield f"  × {plural(len(timeline.faults) - _MOST_FAULTS, 'more fault')} beside the curves"
    if timeline.series and diagnosis.not_assessed:
        wants = [f"{item.pattern} ({', '.join(item.missing)})" for item in diagnosis.not_assessed]
        text = f"not assessed, for what was not logged: {', '.join(wants)}"
        yield textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    for doubt in timeline.doubts:
        yield f"  in doubt: {printable(doubt)}"


def finding_line(finding: Finding) -> str:
    """One finding: shape, pattern, where, how sure."""
    shape = LOOKS[BY_ID[finding.pattern].verdict][0]
    end = "…" if finding.end_step is None else count(finding.end_step)
    place = " · ".join(filter(None, (finding.metric, finding.attempt)))
    return (
        f"{shape} {finding.pattern:<24} steps {count(finding.start_step)} – {end}  "
        f"severity {finding.severity:.2f}  confidence {finding.confidence:.2f}  {place}"
    )


def join_line(letter: str, join: Join) -> str:
    """One join: letter, kind, steps, gap, and what changed; of very many changes the first."""
    stated = restart(join)
    changes = [*stated.changes[:_MOST_CHANGES]]
    if len(stated.changes) > _MOST_CHANGES:
        changes.append(plural(len(stated.changes) - _MOST_CHANGES, "more change"))
    far = [w for w in stated.why if w.startswith(("did not go back", "went back", "it came again"))]
    where = f"{letter} {join.kind} {join_words(join)}"
    return " · ".join(filter(None, (where, gap(join.gap_s), *far, *changes)))


def list_lines(rows: Iterable[tuple[str, Entry | None, str]]) -> Iterator[str]:
    """The lines of `chronicle list`: id, verdict, patterns, title; or what keeps a run from having them."""
    rows = list(rows)
    width = max((len(run_id) for run_id, _, _ in rows), default=0)
    for run_id, entry, state in rows:
        if entry is None:
            yield f"{run_id:<{width}}  {state}"
        else:
            verdict = badge(entry.verdict) + " " * (12 - len(entry.verdict))
            patterns = ", ".join(entry.diagnosis.patterns)
            yield printable(f"{run_id:<{width}}  ") + verdict + printable(f"{entry.title}  [{patterns}]")


def build_lines(report: Report) -> Iterator[str]:
    """The last lines of `chronicle build`: ``45 runs: 6 good, 7 unexpected, 12 worrying, 20 bad`` …"""
    verdicts = Counter(entry.verdict for entry in report.entries)
    tally = ", ".join(f"{count(verdicts[v])} {v}" for v in Verdict if verdicts[v])
    total = plural(verdicts.total(), "run") + (f": {tally}" if tally else "")
    yield total + (f" ({count(report.reused)} unchanged)" if report.reused else "")
    if report.unreadable:
        yield f"{plural(len(report.unreadable), 'log')} could not be read: see the page Unreadable logs"
    yield f"Open {report.site / 'index.html'}"


def complain(*problems: str) -> bool:
    """Problems on stderr, a line each; whether there is any."""
    for problem in problems:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {printable(problem)}", err=True)
    return bool(problems)


def exit_code(verdicts: Iterable[Verdict], fail_on: str, unreadable: bool) -> int:
    """1 where a verdict is as grave as ``fail_on`` (empty: never) or something was unreadable, else 0."""
    grave = bool(fail_on) and any(v.rank >= Verdict(fail_on).rank for v in verdicts)
    return int(grave or unreadable)


@contextmanager
def progress(total: int, verbose: bool, silent: bool) -> Iterator[Callable[[Outcome, int], None]]:
    """A bar on stderr, on a terminal only; with ``verbose`` a line for every run instead."""

    def say(outcome: Outcome, total: int) -> None:
        state = "unchanged" if outcome.cached else "read" if outcome.entry else "unreadable"
        click.echo(printable(f"{outcome.run_id}: {state}"), err=True)

    if silent or verbose or not sys.stderr.isatty():
        yield say if verbose and not silent else lambda outcome, total: None
        return
    with click.progressbar(length=total, label="runs", file=sys.stderr, show_pos=True) as bar:
        yield lambda outcome, total: bar.update(1)


def printable(text: str) -> str:
    """Text from a log made safe for a terminal: control and direction characters become their escapes."""
    return "".join(c if c.isprintable() or c in _KEPT else repr(c)[1:-1] for c in text)


_MARKS = {"pass": "✓", "fail": "✗", "open": "?"}


def explain(diagnosis: Diagnosis, which: str = "") -> Iterator[str]:
    """The lines that explain a diagnosis, or of it what ``which`` names: a finding's number, or a pattern.

    Raises:
        UsageError: there is no such finding; the message names those there are.
    """
    if which in BY_ID and which not in diagnosis.patterns:
        yield from _not_named(diagnosis, which)
        return
    numbered = list(enumerate(diagnosis.findings, 1))
    chosen = [(n, f) for n, f in numbered if which in ("", str(n), f.pattern)]
    if not chosen and which:
        have = ", ".join(f"{n} {f.pattern}" for n, f in numbered) or "none"
        raise UsageError(f"no finding {which!r}. Findings of this run: {have}")
    for number, finding in chosen:
        yield from _finding(number, finding)
    if not which:
        yield diagnosis.because
        for item in diagnosis.not_assessed:
            needed = ", ".join(words.role_words(role) for role in item.missing)
            yield f"not assessed: {item.pattern}. Not logged: {needed}"


def _finding(number: int, finding: Finding) -> Iterator[str]:
    pattern = BY_ID[finding.pattern]
    where = " · ".join(filter(None, (finding.metric, finding.attempt)))
    head = f"{number}  {finding.pattern} ({pattern.verdict}), {words.span(finding)}"
    yield head + (f", in {where}" if where else "")
    yield f"   severity {finding.severity:.2f}, confidence {finding.confidence:.2f}"
    rows = [
        (_MARKS[words.met_words(c)[0]], c.name, words.criterion_value(c), words.threshold(c))
        for c in finding.criteria
    ]
    names = max((len(name) for _, name, _, _ in rows), default=0)
    values = max((len(value) for _, _, value, _ in rows), default=0)
    for mark, name, value, threshold in rows:
        yield f"   {mark} {name:<{names}}  {value:<{values}}  {threshold}".rstrip()
    evidence = "; ".join(words.evidence(finding))
    if evidence:
        yield f"   evidence: {evidence}"
    if finding.runner_up:
        yield f"   otherwise {finding.runner_up}{words.condition(finding.runner_up_if)}"
    yield ""


def _not_named(diagnosis: Diagnosis, pattern: str) -> Iterator[str]:
    """What is to be said of a pattern that was not found: not assessed and why, or looked for."""
    missing = next((item.missing for item in diagnosis.not_assessed if item.pattern == pattern), ())
    if missing:
        needed = ", ".join(words.role_words(role) for role in missing)
        yield f"{pattern} was not assessed. Not logged: {needed}"
    else:
        yield f"{pattern} was looked for and not found"
        for finding in diagnosis.findings:
            if finding.runner_up == pattern:
                yield f"   nearest: {finding.pattern}, {words.span(finding)}" + (
                    f"; it would be {pattern}{words.condition(finding.runner_up_if)}"
                )


NO_EVENTS = having(Trait.WHOLE_RUN | Trait.PROPERTY)
_SHOWN = 8  # flagged steps that are listed
_BEFORE_SAMPLES = 4  # a rule may see an event this much before its onset is dated


def compare(timeline: Timeline, diagnosis: Diagnosis, presets: Sequence[str]) -> Iterator[Comparison]:
    """Each rule on the judged loss of each attempt, in the order of the log."""
    for name in presets:
        for attempt in look(timeline, DEFAULTS).attempts:
            if attempt.loss is not None:
                yield _compared(PRESETS[name], attempt, attempt.loss, diagnosis.findings)


def comparison_lines(comparison: Comparison, diagnosis: Diagnosis) -> Iterator[str]:
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
    rows = np.flatnonzero(preset.flags(series.values)).tolist()
    spans = []  # id, first and past-the-last row of each finding that speaks of an event in this series
    for f in findings:
        if f.metric == series.metric and f.attempt in (None, attempt.name) and f.pattern not in NO_EVENTS:
            low = int(np.searchsorted(series.steps, f.start_step)) - _BEFORE_SAMPLES
            end = len(series) if f.end_step is None else np.searchsorted(series.steps, f.end_step, "right")
            spans.append((f.id, low, int(end)))
    flagged = [id for id, low, high in spans if any(low <= i < high for i in rows)]
    outside = [i for i in rows if not any(low <= i < high for _, low, high in spans)]
    return Comparison(
        preset.name,
        series.metric,
        attempt.name,
        len(series),
        tuple(series.steps[rows].tolist()),
        tuple(series.steps[outside].tolist()),
        tuple(flagged),
        tuple(id for id, _, _ in spans if id not in flagged),
    )
