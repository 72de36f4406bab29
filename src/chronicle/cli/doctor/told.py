"""A report of `chronicle doctor` as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

import click

from chronicle.cli.doctor import Read, Report
from chronicle.cli.doctor.shapes import Kind
from chronicle.cli.terminal import printable
from chronicle.metrics.values import count, level, plural

MOST_METRICS, MOST_FAULTS, MOST_NAMES = 40, 20, 12


def told(report: Report) -> Iterator[str]:
    """The lines of the command for one log."""
    yield click.style(printable(report.path), bold=True)
    yield "  " + ", ".join(filter(None, (plural(report.n_bytes, "byte"), report.encoding, report.line_ends)))
    yield f"  {_reader(report)}"
    yield from (f"  {printable(line)}" for line in report.problem.splitlines())
    yield from (f"  doubt: {doubt}" for doubt in report.doubts)
    if report.lines:
        yield "  lines: " + ", ".join(f"{count(n)} {what}" for what, n in report.lines.items())
    for kind in report.kinds:
        yield from _kind(kind)
    for attempt in report.attempts:
        yield from _attempt(attempt)
    for fault in report.faults[:MOST_FAULTS]:
        at = "" if fault.at_step is None else f" (step {count(fault.at_step)})"
        yield f"  {printable(f'{fault.where}: {fault.what}')}{at}" + (
            f" × {count(fault.count)}" if fault.count > 1 else ""
        )
    if len(report.faults) > MOST_FAULTS:
        yield f"  and {plural(len(report.faults) - MOST_FAULTS, 'further fault')}"


def _reader(report: Report) -> str:
    if not report.format:
        return "nothing was read"
    if len(report.claimed_by) == 1:
        others = f"none of the other {report.n_readers - 1} readers claims it"
        return f"format: {printable(report.format)}, known by its content; {others}"
    return f"format: {printable(report.format)}"


def _kind(kind: Kind) -> Iterator[str]:
    names = ", ".join(kind.fields[:MOST_NAMES]) + (", …" if len(kind.fields) > MOST_NAMES else "")
    if kind.first:
        yield printable(
            f"  {kind.taken_for}, {plural(kind.n_lines, 'line')}" + (f": {names}" if names else "")
        )
    for number, text in kind.first:
        yield printable(f"    {number:>7}  {text}")


def _attempt(attempt: Read) -> Iterator[str]:
    cut = ", its end is cut or still to come" if attempt.truncated else ""
    facts = plural(attempt.n_facts, "fact")
    steps = [step for metric in attempt.metrics for step in (metric.first_step, metric.last_step)]
    reach = f"{attempt.axis}s {count(min(steps))} – {count(max(steps))}, " if steps else ""
    yield printable(
        f"  attempt {attempt.name}: {reach}{plural(len(attempt.metrics), 'metric')}, {facts}{cut}"
    )
    shown = attempt.metrics[:MOST_METRICS]
    width = max((len(printable(one.metric)) for one in shown), default=0)
    for one in shown:
        name, unit = printable(one.metric), printable(one.unit or "unit not declared")
        yield (
            f"    {name:<{width}}  {one.role:<16}  {unit:<17}  {count(one.points):>9} points  "
            f"{level(one.first)} … {level(one.last)}"
        )
    if len(attempt.metrics) > MOST_METRICS:
        yield f"    and {plural(len(attempt.metrics) - MOST_METRICS, 'further metric')}"
