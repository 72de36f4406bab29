"""What the command line prints: plain sentences, a block of lines for each run, and colours on a terminal."""

from __future__ import annotations

import math
import re
import string
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import click
import numpy as np

from chronicle import model
from chronicle.build import Report
from chronicle.build.entry import facts
from chronicle.build.produce import Outcome, Run
from chronicle.build.sources import no_logs, passed_over
from chronicle.classify.patterns import BY_ID, Trait, having
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import look
from chronicle.errors import UsageError
from chronicle.metrics.roles import shown_metric
from chronicle.metrics.values import (
    IN_STEPS,
    Axis,
    axis_named,
    clipped,
    count,
    first_few,
    level,
    listed,
    plural,
    value_words,
    with_unit,
)
from chronicle.model import Diagnosis, Entry, Event, EventKind, Finding, Role, Timeline, Track, Verdict
from chronicle.pages import words
from chronicle.pages.gallery import Advice, PatternPage, advice
from chronicle.readers import nobody_reads
from chronicle.readers.find import unknown_logs
from chronicle.score.presets import PRESETS, Comparison, Preset
from chronicle.story import CANNOT_TELL, Story, gravest
from chronicle.story.measured import BY_PEOPLE, COURSE, ENDS
from chronicle.story.restarts import lettered
from chronicle.timeline.axes import axis_of as axis_of
from chronicle.workspace.config import nearest
from chronicle.workspace.folders import path_words

# The shape and the colour of each verdict.
LOOKS = {
    Verdict.GOOD: ("●", "green"),
    Verdict.UNEXPECTED: ("◆", "magenta"),
    Verdict.WORRYING: ("▲", "yellow"),
    Verdict.BAD: ("■", "red"),
}
_MOST_NEEDS = 3  # series that a log lacks, named one by one
_MOST_LISTED = 40  # events that a terminal has room for
MOST_COMPARED = 8  # runs in one comparison
_MOST_PLACES = 8  # steps at which courses are compared
_MOST_FACTS, _MOST_EVENTS = 60, 60  # rows of a comparison
_ENDS = "First and last"  # begins the name of that fact, which ends with what the run counts
_WIDEST = 36  # characters of a cell of it
_NEAR_SHARE = 1 / 64  # of the steps that all runs have: what lies so near to a place is averaged there
_TO_BUILD = ("not built", "damaged")  # states of a run that a build mends
_NO_NUMBER = re.compile(r"is not a valid integer(?: range)?(?=\.)")
_KEPT_BLANKS = " \u202f"

Judged = tuple[Run, Timeline, Diagnosis, Story]


def badge(verdict: Verdict, word: str) -> str:
    """The verdict as shape, word and colour; ``word`` is the badge of an entry or story."""
    shape, colour = ("?", "white") if word == CANNOT_TELL else LOOKS[verdict]
    return click.style(f"{shape} {word}", fg=colour)


def run_lines(run_id: str, timeline: Timeline, diagnosis: Diagnosis, story: Story) -> Iterator[str]:
    """The lines of `chronicle classify` for one run: its headline, then its events in their order. An event
    that the headline tells has its place alone."""
    yield f"{click.style(printable(run_id), bold=True)}  {badge(story.verdict, story.badge)}"
    yield from filled(story.headline, "  ", "  ")
    events = [event for event in story.events if event.kind not in ENDS]
    for event in events[:_MOST_LISTED]:
        told = event.sentence in story.headline
        yield from event_lines(event, place=_place(event, axis_of(timeline)) if told else None)
    if len(events) > _MOST_LISTED:
        yield f"  {plural(len(events) - _MOST_LISTED, 'more event')}: chronicle build shows them all"
    if timeline.series and (needs := words.unassessed(diagnosis)):
        named = [f"{need} ({len(patterns)})" for need, patterns in [*needs.items()][:_MOST_NEEDS]]
        named += [f"{len(needs) - _MOST_NEEDS} more"] if len(needs) > _MOST_NEEDS else []
        lacking = f"The log lacks what {plural(sum(map(len, needs.values())), 'pattern')} would need"
        yield from filled(f"{lacking}: {listed(named)}. `chronicle explain` names them.", "  ", "    ")
    if timeline.copies:
        names = ", ".join(copy.name for copy in timeline.copies)
        yield from filled(f"Left out, because another log of the same run is judged: {names}.", "  ", "    ")
    for doubt in timeline.doubts:
        yield f"  In doubt: {printable(doubt)}"


def _place(event: Event, axis: Axis) -> str:
    """The steps of an event behind its name: ``, steps 614 to 645``, ``, from step 420 on``; empty for what
    is of the whole run."""
    if event.step is None or event.shows(COURSE):
        return ""
    if event.end_step is None and event.ending:
        return f", from {axis.place(event.step)} on"
    return f", {axis.place(*dict.fromkeys((event.step, event.end_step or event.step)))}"


def event_lines(event: Event, before: str = "", place: str | None = None) -> Iterator[str]:
    """The lines of an event: ``before``, its number or letter, its pattern or kind, and its sentence, or
    instead of that its ``place``."""
    shape = LOOKS[event.verdict][0] if event.verdict is not None else ""
    kind = event.title.lower() if event.kind in BY_PEOPLE else event.kind.value
    name = f"{shape} {event.patterns[0]}" if event.patterns else kind
    aside = f"{event.who}: " if event.kind in BY_PEOPLE and event.who else ""
    when = f" ({event.time})" if event.kind is EventKind.FAULT and event.time else ""
    said = f": {aside}{event.sentence}{when}" if place is None else place
    text = f"{before}{event.mark:>2} {name}{said}"
    yield from filled(text, "  ", " " * (5 + len(before)))


def filled(text: str, first: str, rest: str) -> list[str]:
    """Text in lines of a terminal's width."""
    whole_words: Any = {"break_on_hyphens": False, "break_long_words": False}
    text = printable(" ".join(text.split("\n")))
    return textwrap.wrap(text, 100, initial_indent=first, subsequent_indent=rest, **whole_words)


def columns(rows: Iterable[Sequence[str]], before: str) -> Iterator[str]:
    """A table: ``before``, then each column as wide as the widest of its cells, colours not counted."""
    rows = list(rows)
    widths = [max(len(click.unstyle(cell)) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell + " " * (w - len(click.unstyle(cell))) for cell, w in zip(row, widths, strict=True))
        yield f"{before}{'  '.join(cells)}".rstrip()


def list_lines(rows: Iterable[tuple[str, Entry | None, str]]) -> Iterator[str]:
    """The lines of `chronicle list`: id, verdict, title and decisive event, or why a run has none."""
    lines = []
    for run_id, entry, state in rows:
        if entry is None:
            advice = "run `chronicle build`" if state in _TO_BUILD else ""
            lines.append((printable(run_id), state, advice))
            continue
        decisive = next(iter(gravest(entry.events, entry.verdict)), None)
        title = f"{entry.title.removesuffix('.')}. " if entry.title != run_id else ""
        summary = title + (decisive.sentence if decisive else entry.headline)
        lines.append((printable(run_id), badge(entry.verdict, entry.badge), printable(summary, "")))
    return columns(lines, "")


def outside(note: model.Note, entry: Entry | None) -> str:
    """What is wrong with a note, compared with the last build of its run: a step outside of the run;
    otherwise empty. Raises UsageError: the run has no such event; the message names its events."""
    if entry is None:
        return ""
    known = {name for event in entry.events for name in (event.id, *event.also)}
    if note.event and note.event not in known:
        ids = [event.id for event in entry.events]
        hint = nearest(note.event, ids, f"Remedy: name one of {', '.join(ids)}")
        raise UsageError(f"{entry.run_id} has no event {note.event!r}. {hint}")
    steps = [row[name] for row in entry.attempts for name in ("first_step", "last_step")]
    ends = [step for step in steps if step is not None]
    if note.step is not None and ends and not min(ends) <= note.step <= max(ends):
        reach = f"{count(min(ends))} to {count(max(ends))}"
        place = f"step {count(note.step)} is outside of the run, whose steps are {reach}"
        return f"{place}. Remedy: the note was added; if the step is wrong, correct its line"
    return ""


def build_lines(report: Report) -> Iterator[str]:
    """The last lines of `chronicle build`: ``45 runs: 6 good, 7 unexpected, 12 worrying, 20 bad`` …"""
    badges = Counter(entry.badge for entry in report.entries)
    tally = ", ".join(f"{count(badges[b])} {b}" for b in (*Verdict, CANNOT_TELL) if badges[b])
    total = plural(badges.total(), "run") + (f": {tally}" if tally else "")
    unchanged = sum(outcome.cached for outcome in report.outcomes)
    yield total + (f" ({count(unchanged)} unchanged)" if unchanged else "")
    if report.unreadable:
        yield f"{plural(len(report.unreadable), 'log')} could not be read: see the page Unreadable logs"
    yield f"Open {report.site / 'index.html'}"


def complain(*problems: str, kept: str = "") -> bool:
    """Prints problems on stderr, on one line each but for characters in ``kept``; true if there are any."""
    for problem in problems:
        click.echo(f"{click.style('error:', fg='red', bold=True)} {printable(problem, kept)}", err=True)
    return bool(problems)


def usage_message(err: click.ClickException) -> str:
    """The message of click about a command that was called wrongly, in the form of all other errors."""
    context = getattr(err, "ctx", None)
    problem = " ".join(err.format_message().split())
    problem = _NO_NUMBER.sub("is not a whole number", problem)
    problem = problem[:1].lower() + problem[1:].removesuffix(".")
    remedy = f"see `{context.command_path if context else 'chronicle'} --help`"
    return f"{problem}{'' if problem.endswith('?') else '.'} Remedy: {remedy}"


def say(*lines: str) -> None:
    """Lines on stderr that are worth knowing, and no errors."""
    for line in lines:
        click.echo(printable(line), err=True)


def say_passed_over(paths: Sequence[Path]) -> tuple[list[Path], list[str]]:
    """Prints and returns which of the paths hold only files that are read together with a log, and which
    files in them are named as logs and are not read."""
    aside = passed_over(paths)
    unknown = [path_words(file) for path in paths if path not in aside for file in unknown_logs(path)]
    say(*([no_logs(aside)] if aside else ()), *([nobody_reads(unknown)] if unknown else ()))
    return aside, unknown


def exit_code(verdicts: Iterable[Verdict], fail_on: str, unreadable: bool) -> int:
    """1 if a verdict is at least as grave as ``fail_on`` (empty: never) or something was unreadable, or 0."""
    grave = bool(fail_on) and any(v.rank >= Verdict(fail_on).rank for v in verdicts)
    return int(grave or unreadable)


@contextmanager
def progress(total: int, verbose: bool, silent: bool) -> Iterator[Callable[[Outcome, int], None]]:
    """A bar on stderr, on a terminal only; with ``verbose`` a line for every run instead."""

    def say(outcome: Outcome, total: int) -> None:
        state = "read" if outcome.entry else "unreadable"
        state = "unchanged" if outcome.cached else state
        click.echo(printable(f"{outcome.run_id}: {state}"), err=True)

    if silent or verbose or not sys.stderr.isatty():
        yield say if verbose and not silent else lambda outcome, total: None
        return
    with click.progressbar(length=total, label="runs", file=sys.stderr, show_pos=True) as bar:
        yield lambda outcome, total: bar.update(1)


def printable(text: str, kept: str = "\n") -> str:
    """Text from a log made safe for a terminal: control and direction characters become their escapes."""
    return "".join(c if c.isprintable() or c in _KEPT_BLANKS + kept else repr(c)[1:-1] for c in text)


_MARKS = {"pass": "✓", "fail": "✗", "open": "?"}
_LEVELS = ("before_loss", "peak_loss")  # evidence that is in the sentence of the event


def explain(
    diagnosis: Diagnosis,
    story: Story,
    which: str = "",
    pages: Mapping[str, PatternPage] | None = None,
    axis: Axis = IN_STEPS,
) -> Iterator[str]:
    """The lines that explain a diagnosis, or the part of it that ``which`` names: an event by its number or
    id, or a pattern. ``pages`` are the pages of the gallery by id, which name the causes. Raises UsageError:
    there is no such event; the message names those that exist."""
    if which in BY_ID and which not in diagnosis.patterns:
        yield from _not_named(diagnosis, story, which, axis)
        return
    findings = sorted((event for event in story.events if event.patterns), key=lambda event: int(event.mark))
    chosen = [e for e in findings if which in ("", e.mark, e.id, *e.also, *e.patterns)]
    if not chosen and which:
        have = ", ".join(f"{e.mark} {e.patterns[0]}" for e in findings) or "none"
        remedy = f"name one of this run ({have}), or the id of any pattern"
        raise UsageError(f"no finding {which!r}", remedy=remedy)
    by_id = {finding.id: finding for finding in diagnosis.findings}
    for event in chosen:
        yield f"{event.mark}  {event.sentence}"
        yield f"   Its verdict is {event.verdict}, and its id is {event.id}."
        if event.causes:
            yield f"   It came {listed(event.causes)}."
        for part in event.parts:
            yield from _finding(by_id[part], axis)
        page = (pages or {}).get(event.patterns[0])
        if page is not None and page.verdict is not Verdict.GOOD:
            yield from _advised(advice(event, page))
        yield ""
    if not which:
        yield from (*story.paragraphs, diagnosis.because)
        if diagnosis.not_assessed:
            needs = words.unassessed(diagnosis).items()
            lacking = (f"Without {need}: {', '.join(patterns)}." for need, patterns in needs)
            yield from filled(" ".join(("Some patterns could not be assessed.", *lacking)), "", "  ")


def _advised(given: Advice) -> Iterator[str]:
    """The causes of an event as this run's evidence ranks them, what decides, and what to do now."""
    yield "   Likely causes, the likeliest first by what this run shows:"
    for number, ranked in enumerate(given.causes, 1):
        signs = {"For it": ranked.speaks_for, "Against it": ranked.against, "Not logged": ranked.not_logged}
        shown = "".join(f" {word}: {', '.join(phrases)}." for word, phrases in signs.items() if phrases)
        cause = f"{number} {ranked.cause.cause} ({ranked.cause.evidence}).{shown}"
        yield from filled(cause, "     ", "       ")
    if given.check:
        yield from filled(f"To tell cause 1 from cause 2: {given.check}", "   ", "     ")
    if given.page.now:
        yield "   What to do now:"
    for step in given.page.now[:3]:
        yield from filled(f"- {step}", "     ", "       ")


def _finding(finding: Finding, axis: Axis) -> Iterator[str]:
    where = " · ".join(filter(None, (finding.metric, finding.attempt)))
    sure = f"severity {finding.severity:.2f}, confidence {finding.confidence:.2f}"
    yield f"   {finding.pattern}{f' in {where}' if where else ''}: {sure}"
    marks = ((f"{_MARKS[words.OUTCOMES[c.met][0]]} {c.name}", c) for c in finding.criteria)
    rows = [(name, words.criterion_value(c, axis), words.threshold(c, axis)) for name, c in marks]
    yield from columns(rows, "     ")
    measured = {key: value_words(v) for key, v in finding.evidence.items() if key not in _LEVELS}
    if evidence := "; ".join(f"{key} {value}" for key, value in measured.items() if value):
        yield from filled(f"Evidence: {evidence}", "     ", "       ")
    if finding.runner_up:
        yield f"     It would be {finding.runner_up}{words.condition(finding.runner_up_if, axis)}."


def _not_named(diagnosis: Diagnosis, story: Story, pattern: str, axis: Axis) -> Iterator[str]:
    """The lines about a pattern that was not found: why it was not assessed, or what came nearest to it."""
    missing = next((item.missing for item in diagnosis.not_assessed if item.pattern == pattern), ())
    if missing:
        roles = ", ".join(map(words.role_words, missing))
        yield f"{pattern} could not be assessed, because the log does not have: {roles}."
        return
    yield f"{pattern} was looked for and not found."
    event_of = {part: event for event in story.events for part in event.parts}
    for finding in diagnosis.findings:
        if finding.runner_up == pattern:
            near, if_what = event_of[finding.id], words.condition(finding.runner_up_if, axis)
            nearest_words = f"The nearest is finding {near.mark}: {near.sentence}"
            yield from filled(f"{nearest_words} It would be {pattern}{if_what}.", "   ", "   ")


NO_EVENTS = having(Trait.WHOLE_RUN | Trait.PROPERTY)
_MOST_FLAGGED = 8  # flagged steps that are listed
_BEFORE_SAMPLES = 4  # a rule may see an event this much before its onset is dated


def flagged_by(timeline: Timeline, diagnosis: Diagnosis, rules: Sequence[str]) -> Iterator[Comparison]:
    """The comparison of each rule with the diagnosis, on the judged loss of each attempt."""
    for name, attempt in product(rules, look(timeline, DEFAULTS).attempts):
        if attempt.loss is not None:
            yield _compared(PRESETS[name], attempt.name, attempt.loss, diagnosis.findings)


def comparison_lines(comparison: Comparison, diagnosis: Diagnosis) -> Iterator[str]:
    """The lines for one comparison with a diagnosis."""
    c, n = comparison, len(comparison.flagged_steps)
    share = f" ({100 * n / c.samples:.2g} %)" if n else ""
    flagged = f"{count(n)} of {plural(c.samples, 'sample')} flagged{share}"
    yield f"{c.preset} on {c.metric} · {c.attempt}: {flagged}"
    if c.samples <= (window := PRESETS[c.preset].window_samples):
        yield f"  The rule judges nothing before {count(window)} samples are logged."
    if c.outside_steps:
        steps = first_few([*map(count, c.outside_steps)], _MOST_FLAGGED)
        yield f"  Outside of chronicle's findings it flagged {count(len(c.outside_steps))}, at {steps}."
    for finding in diagnosis.findings:
        if finding.id in c.missed:
            yield f"  It flagged no sample of {finding.pattern} from step {count(finding.start_step)}."


def _compared(preset: Preset, name: str, series: model.Series, findings: Sequence[Finding]) -> Comparison:
    rows = np.flatnonzero(preset.flags(series.values)).tolist()
    spans = {}  # rows of each finding that is an event in this series, of the attempt of this name
    for f in findings:
        if f.metric == series.metric and f.attempt in (None, name) and f.pattern not in NO_EVENTS:
            low = int(np.searchsorted(series.steps, f.start_step)) - _BEFORE_SAMPLES
            end = len(series) if f.end_step is None else np.searchsorted(series.steps, f.end_step, "right")
            spans[f.id] = range(low, int(end))
    flagged = tuple(id for id, span in spans.items() if any(row in span for row in rows))
    outside = [row for row in rows if not any(row in span for span in spans.values())]
    steps, others = (tuple(series.steps[at].tolist()) for at in (rows, outside))
    missed = tuple(id for id in spans if id not in flagged)
    judged = preset.name, series.metric, name, len(series)
    return Comparison(*judged, steps, others, flagged, missed)


def compared_lines(runs: Sequence[Judged]) -> Iterator[str]:
    """What differs between runs: verdicts, facts, the judged metric and the learning rate, and the events."""
    letters = string.ascii_uppercase[: len(runs)]
    for letter, (run, _, _, story) in zip(letters, runs, strict=True):
        name = click.style(printable(run.run_id), bold=True)
        yield f"{letter}  {name}  {badge(story.verdict, story.badge)}"
        yield from filled(story.headline, "   ", "   ")
    rows = _differing(runs)
    yield from _table("Facts that differ", letters, rows[:_MOST_FACTS])
    if len(rows) > _MOST_FACTS:
        yield f"  {count(len(rows) - _MOST_FACTS)} more"
    timelines = [timeline for _, timeline, _, _ in runs]
    losses = [shown_metric(list(timeline.series.values())) for timeline in timelines]
    if all(losses):
        names = " against ".join(dict.fromkeys(track.metric for track in losses if track))
        axis = axis_named({attempt.noun for timeline in timelines for attempt in timeline.attempts})
        rows = _courses([t for t in losses if t], axis)
        yield from _table(f"{names}, median near the same {axis.unit}", letters, rows)
    rates = [next(iter(t.by_role(Role.LEARNING_RATE)), None) for t in timelines]
    yield from _table("Learning rate", letters, _schedules(rates))
    yield from _events(letters, runs)


def _table(title: str, letters: str, rows: Sequence[tuple[str, list[str]]]) -> Iterator[str]:
    """A title, and rows with one cell for each run. A column is as wide as its widest cell."""
    if not rows:
        return
    cut = ((printable(n), *(clipped(printable(c), _WIDEST) for c in cells)) for n, cells in rows)
    yield f"\n{printable(title)}"
    yield from columns([("", *letters), *cut], "  ")


def _differing(runs: Sequence[Judged]) -> list[tuple[str, list[str]]]:
    """The facts that differ between runs, with a dash for a run that does not state one."""
    stated = []
    for run, timeline, _, _ in runs:
        of_run = facts(timeline, run.folder.config)
        stated.append({f.quantity: with_unit(f.value, f.unit) for f in of_run if f.value is not None})
    if len(ends := {name for table in stated for name in table if name.startswith(_ENDS)}) > 1:
        stated = [{_ENDS if name in ends else name: cell for name, cell in table.items()} for table in stated]
    names = dict.fromkeys(name for table in stated for name in table)
    rows = [(name, [table.get(name) or "–" for table in stated]) for name in names]
    return [(name, cells) for name, cells in rows if len(set(cells)) > 1]


def _courses(tracks: Sequence[Track], axis: Axis) -> list[tuple[str, list[str]]]:
    """The median of each course near places that all of them reach; no rows if there are no such places."""
    live = [(t.steps[t.live], t.values[t.live]) for t in tracks]
    if not all(len(steps) for steps, _ in live):
        return []
    first, last = max(int(s.min()) for s, _ in live), min(int(s.max()) for s, _ in live)
    if last <= first:
        return []
    gaps = [float(np.median(np.diff(steps))) for steps, _ in live if len(steps) > 1]
    reach = max(_NEAR_SHARE * (last - first), *(gap / 2 for gap in gaps))
    rows = []
    for place in np.unique(np.linspace(first, last, _MOST_PLACES).round().astype(np.int64)).tolist():
        cells = []
        for steps, values in live:
            near = values[(np.abs(steps - place) <= reach) & np.isfinite(values)]
            cells.append(level(float(np.median(near))) if len(near) else "–")
        rows.append((axis.place(place), cells))
    return rows


def _schedules(rates: Sequence[Track | None]) -> list[tuple[str, list[str]]]:
    """The highest and the last learning rate of each run, with their steps; no rows if no run logged one."""

    def ends(rate: Track | None) -> list[str]:
        known = np.flatnonzero(rate.live & np.isfinite(rate.values)) if rate else np.empty(0, int)
        if rate is None or not len(known):
            return ["not logged"] * 2
        rows = known[np.argmax(rate.values[known])], known[-1]
        return [f"{level(float(rate.values[row]))} at {count(int(rate.steps[row]))}" for row in rows]

    cells = [ends(rate) for rate in rates] if any(rates) else []
    return [(name, [of[k] for of in cells]) for k, name in enumerate(("highest", "last")) if cells]


def _events(letters: str, runs: Sequence[Judged]) -> Iterator[str]:
    """The events of all runs by step, each with the letter of its run. Each run keeps its own order: a
    rollback is placed at the step at which it happened, between what led to it and what followed it."""
    events: list[tuple[float, str, Event]] = []
    for letter, (*_, diagnosis, story) in zip(letters, runs, strict=True):
        left = {mark: join.from_step for mark, join in lettered(diagnosis)}
        reached = -math.inf
        for event in story.events:
            reached = max(reached, left.get(event.mark, math.inf if event.step is None else event.step))
            if event.kind not in ENDS:
                events.append((reached, letter, event))
    events.sort(key=itemgetter(0))
    if events:
        yield "\nEvents, in the order of steps"
    for _, letter, event in events[:_MOST_EVENTS]:
        yield from event_lines(event, f"{letter}  ")
    if len(events) > _MOST_EVENTS:
        yield f"  {count(len(events) - _MOST_EVENTS)} more"
