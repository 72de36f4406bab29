"""What the command line prints: plain words, a block a run, colour only where a terminal shows it."""

from __future__ import annotations

import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from chronicle.build.entry import headline
from chronicle.classify.numbering import lettered
from chronicle.classify.patterns import BY_ID
from chronicle.classify.restarts import gap, join_words, restart
from chronicle.metrics.values import count, instant, plural
from chronicle.model import Diagnosis, Entry, Finding, Join, Timeline, Verdict

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
    yield from _fault_lines(timeline)
    if timeline.series and diagnosis.not_assessed:
        wants = [f"{item.pattern} ({', '.join(item.missing)})" for item in diagnosis.not_assessed]
        text = f"not assessed, for what was not logged: {', '.join(wants)}"
        yield textwrap.fill(text, 100, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    for doubt in timeline.doubts:
        yield f"  in doubt: {printable(doubt)}"


def _fault_lines(timeline: Timeline) -> Iterator[str]:
    """The first faults beside the curves, a line each, and how many more there are."""
    for fault in timeline.faults[:_MOST_FAULTS]:
        step = "" if fault.at_step is None else f"step {count(fault.at_step)}"
        times = f"{count(fault.count)} times" if fault.count > 1 else ""
        place = " · ".join(filter(None, (step, instant(fault.at_time), fault.host, times)))
        yield printable(f"  × {fault.what}" + (f"  ({place})" if place else ""))
    if len(timeline.faults) > _MOST_FAULTS:
        yield f"  × {plural(len(timeline.faults) - _MOST_FAULTS, 'more fault')} beside the curves"


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
    words = restart(join)
    changes = [*words.changes[:_MOST_CHANGES]]
    if len(words.changes) > _MOST_CHANGES:
        changes.append(plural(len(words.changes) - _MOST_CHANGES, "more change"))
    far = [w for w in words.why if w.startswith(("did not go back", "went back", "it came again"))]
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


def tally(entries: Iterable[Entry]) -> str:
    """``45 runs: 6 good, 7 unexpected, 12 worrying, 20 bad``."""
    verdicts = Counter(e.verdict for e in entries)
    parts = [f"{count(verdicts[v])} {v}" for v in Verdict if verdicts[v]]
    total = plural(sum(verdicts.values()), "run")
    return f"{total}: {', '.join(parts)}" if parts else total


def build_lines(report: Report) -> Iterator[str]:
    """The last lines of `chronicle build`."""
    yield tally(report.entries) + (f" ({count(report.reused)} unchanged)" if report.reused else "")
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
    if silent or verbose or not sys.stderr.isatty():
        yield _say_outcome if verbose and not silent else lambda outcome, total: None
        return
    with click.progressbar(length=total, label="runs", file=sys.stderr, show_pos=True) as bar:
        yield lambda outcome, total: bar.update(1)


def _say_outcome(outcome: Outcome, total: int) -> None:
    state = "unchanged" if outcome.cached else "read" if outcome.entry else "unreadable"
    click.echo(printable(f"{outcome.run_id}: {state}"), err=True)


def printable(text: str) -> str:
    """Text from a log made safe for a terminal: control and direction characters become their escapes."""
    return "".join(c if c.isprintable() or c in _KEPT else repr(c)[1:-1] for c in text)
