"""The record of what happened in a run: its events, and the sentences about them.

`tell` makes it from a timeline, its diagnosis and the notes of people. Pages, figures, cards and the command
line take their words and numbers from this record and measure nothing themselves.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from chronicle.classify.patterns import BY_ID, ODD_ONES, Trait, having
from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.values import clipped, count, grouped, listed, moment, ordinal, plainly, plural
from chronicle.model import Attempt, Diagnosis, Event, EventKind, JoinKind, Note, Role, Timeline, Verdict
from chronicle.story.measured import (
    BY_PEOPLE,
    CALM,
    CHANGES,
    COURSE,
    JOINS,
    OVERALL,
    RISES,
    RunView,
    final_level,
)
from chronicle.story.measured import picture_edge as picture_edge
from chronicle.story.restarts import event_id, undone_pattern
from chronicle.story.sentences import noun
from chronicle.story.signs import CAUSE_SAMPLES, event_name
from chronicle.story.telling import WARM_UP as WARM_UP
from chronicle.story.telling import events
from chronicle.timeline.joins import Ending, endings
from chronicle.workspace.config import RunConfig
from chronicle.workspace.notes import last_review, verdict_of

CANNOT_TELL = "cannot tell"
_MOST_FINDINGS = 6  # findings that the first paragraph describes one by one
_MOST_JOINS = 4  # if there are more restarts, or more that undid something grave, the story describes none
_MOST_DECISIONS = 2  # decisions of people that the story quotes: the latest ones
_UNCOUNTED = re.compile(r"It does not count against the run \(.*?\)\.")
_ENDS = {"in NaN": "in NaN", "cut off": "in an incomplete record"}
_SETTLING = ("decision", "outcome", "lesson")  # kinds of notes after which a hypothesis is no longer open
# What a rollback undoes, but for spikes that are gone by themselves.
_GRAVE = frozenset(p for p in having(Trait.UNDOABLE) if BY_ID[p].verdict is not Verdict.GOOD)
_LONG_PARAGRAPH = 3  # sentences, after which a restart ends it
_MOST_ALIKE = 2  # events of one name that are described one by one; the others are counted


class Story(NamedTuple):
    """Verdict, badge, headline, paragraphs and events of a run. ``verdict`` is that of the last review by a
    person, or, without a review, that of the classifier. ``badge`` is the verdict or ``CANNOT_TELL``."""

    verdict: Verdict
    badge: str
    headline: str
    paragraphs: tuple[str, ...]
    events: tuple[Event, ...]


@any_numbers
def tell(
    timeline: Timeline, diagnosis: Diagnosis, config: RunConfig | None = None, notes: Sequence[Note] = ()
) -> Story:
    """The story of a run. The same arguments give the same words."""
    run = RunView(timeline, diagnosis, config)
    happened = events(run, notes)
    review = last_review(notes)
    verdict = (review and verdict_of(review)) or diagnosis.verdict
    chosen = _headline_events(diagnosis, happened)
    decisive = [event.sentence for event in chosen] or [diagnosis.because]
    ends = [e for e in happened if e.kind is EventKind.END and (e.ending or run.n_trainings < 2)]
    parts = *decisive, _trainings_sentence(run), _restarts_sentence(run), *(end.sentence for end in ends)
    headline = " ".join(filter(None, parts))
    shown = _described_events(run, happened, chosen)
    said = _quoted_notes(happened, notes)
    told_of = {e.id for e in shown} - {e.id for e in chosen}
    along = {place: words for place, words in said if happened[place].of in told_of}
    paragraphs = _sequence_paragraphs(run, happened, chosen, shown, along)
    paragraphs.append(" ".join(words for place, words in said if place not in along))
    paragraphs += [_review_sentence(review, diagnosis)] if review else []
    paragraphs.append(_verdict_paragraph(run, happened, chosen, verdict is diagnosis.verdict))
    paragraphs.append(_open_paragraph(run, happened, shown, " ".join([headline, *paragraphs])))
    odd = diagnosis.verdict is Verdict.UNEXPECTED
    is_open = review is None and odd and not deciding(happened, diagnosis.verdict)
    new = (paragraph for paragraph in paragraphs if paragraph and paragraph not in headline)
    return Story(verdict, CANNOT_TELL if is_open else verdict.value, headline, tuple(new), happened)


def _quoted_notes(happened: Sequence[Event], notes: Sequence[Note]) -> list[tuple[int, str]]:
    """Quotes the latest decisions, lesson and outcome, and a hypothesis that is still open, each with its
    place among the events."""
    notes = sorted(notes, key=lambda note: moment(note.at_time))
    place_of = {(e.sentence, e.time): place for place, e in enumerate(happened) if e.kind in BY_PEOPLE}

    def places(*kinds: str) -> list[int]:
        return [place for place, note in enumerate(notes) if note.kind in kinds]

    hypotheses, outcomes = places("hypothesis"), places("outcome")[-1:]
    quoted = [*places("decision")[-_MOST_DECISIONS:], *outcomes, *places("lesson")[-1:]]
    for outcome in outcomes:
        quoted += [k for k in hypotheses if k < outcome and notes[k].event == notes[outcome].event][-1:]
    open_ones = [k for k in hypotheses[-1:] if k > max(places(*_SETTLING), default=-1)]
    said = [(k, f"The {notes[k].kind}{_by_whom(notes[k])} was: {_quoted(notes[k])}") for k in sorted(quoted)]
    said += [(k, f"Still open is the hypothesis{_by_whom(notes[k])}: {_quoted(notes[k])}") for k in open_ones]
    return [(place_of[notes[k].text, notes[k].at_time], words) for k, words in said]


def _by_whom(note: Note) -> str:
    """When and by whom a note was written: `` of 2026-10-14 (ada)``."""
    day = f" of {note.at_time[:10]}" if note.at_time else ""
    return day + (f" ({note.author})" if note.author else "")


def _quoted(note: Note) -> str:
    text = clipped(" ".join(note.text.split()), 300)
    return f"“{text}”{'' if text[-1:] in tuple('.!?…') else '.'}"


def _review_sentence(review: Note, diagnosis: Diagnosis) -> str:
    who, day = review.author or "A person", f" on {review.at_time[:10]}" if review.at_time else ""
    verdict, classifier = verdict_of(review), diagnosis.verdict
    stance = "as the classifier does" if verdict is classifier else f"where the classifier says {classifier}"
    words = f": {_quoted(review)}" if review.text.strip() else "."
    return f"{who} judged this run {verdict}{day}, {stance}{words}"


def deciding(happened: Sequence[Event], verdict: Verdict) -> list[Event]:
    """The findings that decide the verdict, the gravest first: those of this verdict that lie on the course
    which the run kept. For a good run these are its calm course, then what it recovered from."""
    findings = [event for event in happened if event.kind is EventKind.FINDING and event.live]
    if verdict is Verdict.UNEXPECTED:
        findings = [event for event in findings if event.shows(ODD_ONES)]
    elif verdict is not Verdict.GOOD:
        single = [event for event in findings if not event.shows(OVERALL)]
        findings = [event for event in findings if event.verdict is verdict] or single
    return sorted(findings, key=lambda e: (not e.shows(CALM), -e.severity, happened.index(e)))


def gravity(event: Event) -> tuple[bool, int, float]:
    """A sort key of findings by their own verdict and severity; one on a discarded branch is the least."""
    return event.live, event.verdict.rank if event.verdict else 0, event.severity


def gravest(happened: Sequence[Event], verdict: Verdict) -> list[Event]:
    """All findings: those that decide the verdict, then the others by their own verdict and severity."""
    first = deciding(happened, verdict)
    rest = [e for e in happened if e.kind is EventKind.FINDING and e not in first]
    rest.sort(key=gravity, reverse=True)
    return [*first, *rest]


def card(happened: Sequence[Event], verdict: Verdict) -> str:
    """The few words of a card: about the event that decides the verdict, else about the end of the run."""
    shorts = [event.short for event in gravest(happened, verdict)[:1]]
    shorts += (event.short for event in happened if event.kind is EventKind.END)
    return [*shorts, "nothing found"][0]


def _headline_events(diagnosis: Diagnosis, happened: Sequence[Event]) -> list[Event]:
    """The earliest and the gravest of the first three deciding events."""
    decide = deciding(happened, diagnosis.verdict)
    if diagnosis.verdict is Verdict.GOOD:
        return decide[:2]
    in_order = sorted(decide[:3], key=happened.index)
    return in_order[:2] if decide[:1] == in_order[:1] else [in_order[0], decide[0]]


def _trainings_sentence(run: RunView) -> str:
    if run.n_trainings < 2:
        return ""
    latest = dict[int, Ending]()  # of each training
    for end in endings(run.timeline):
        if (number := run.training_of[end.attempt]) and (number not in latest or end.then != "given up"):
            latest[number] = end
    attempts = {number: run.timeline.attempts[end.attempt] for number, end in latest.items()}
    last = {max(int(s.steps.max()) for s in a.series.values() if len(s)) for a in attempts.values()}
    hows = Counter(end.how for end in latest.values() if end.how not in ("", "finished"))
    others = ", ".join(f"{count(often)} {_ENDS.get(how, how)}" for how, often in hows.items())
    others = f" ({others})" if others else ""
    together = "both end" if run.n_trainings == 2 else "all end"
    ends = "end" if len(last) > 1 else together
    holds = "The log holds" if len({a.sources for a in attempts.values()}) == 1 else "The logs hold"
    where = run.axis.place(*sorted({min(last), max(last)}))
    trainings = f"{count(run.n_trainings)} trainings, which {ends} at {where}{others}."
    return f"{holds} {trainings}{_best_and_worst(run, attempts)}"


def _best_and_worst(run: RunView, attempts: Mapping[int, Attempt]) -> str:
    """Between which levels the judged metric ends; ``attempts`` are the last ones, by training."""
    metric = run.loss.metric if run.loss is not None else ""
    levels = ((final_level(a.series[metric].values), k) for k, a in attempts.items() if metric in a.series)
    ends = sorted((level, number) for level, number in levels if math.isfinite(level))
    if len(ends) < 2 or plainly(ends[0][0]) == plainly(ends[-1][0]):
        return ""
    names = {k: attempt.facts.get("trial") for k, attempt in attempts.items()}
    if None in names.values() or len({*names.values()}) < len(names):
        names = {k: f"the {ordinal(k)}" for k in attempts}
    low, high = (f"{plainly(level)} ({names[k]})" for level, k in (ends[0], ends[-1]))
    name = run.name(None)
    return f" {name[:1].upper()}{name[1:]} ends at a level between {low} and {high}."


def _restarts_sentence(run: RunView) -> str:
    if not (joins := run.diagnosis.joins):
        return ""
    number = Counter(join.kind for join in joins)
    kinds = listed([plural(number[kind], kind.value) for kind in JoinKind if number[kind]])
    lost = sum(join.discarded_steps for join in joins)
    undone = Counter(noun(p) for join in joins if (p := undone_pattern(join)) in _GRAVE)
    if what := listed([plural(often, name) if often > 1 else f"a {name}" for name, often in undone.items()]):
        kinds += f", which undid {what}"
    discarded = f", and {run.axis.lost(lost)}" if lost else ""
    have = "The trainings have" if run.n_trainings > 1 else "The run has"
    return f"{have} {plural(len(run.timeline.attempts), 'attempt')} ({kinds}){discarded}."


def _described_events(run: RunView, happened: Sequence[Event], chosen: Sequence[Event]) -> list[Event]:
    """The events described one by one: the gravest findings that count, a few restarts, possible causes."""
    grave = [*chosen, *(e for e in gravest(happened, run.diagnosis.verdict) if e not in chosen)]
    by_noun = grouped(filter(_is_live_finding, grave), event_name)
    first_ones = chain.from_iterable(same[:_MOST_ALIKE] for same in by_noun.values())
    shown = sorted(first_ones, key=grave.index)[:_MOST_FINDINGS]
    joins = [e for e in happened if e.kind in JOINS]
    gone = [e for e in happened if e.kind is EventKind.FINDING and not e.live and not e.shows(OVERALL)]
    if len(joins) > _MOST_JOINS:  # of many restarts those that undid something grave, with what they undid
        undid = {event_id(join) for join in run.diagnosis.joins if undone_pattern(join) in _GRAVE}
        joins = [e for e in joins if e.id in undid]
        before = {run.timeline.attempts[j.before].name for j in run.diagnosis.joins if event_id(j) in undid}
        gone = [e for e in gone if e.attempt in before and e.shows(_GRAVE)]
    if len(joins) <= _MOST_JOINS:
        shown += [*joins, *gone]
    return [*shown, *_possible_causes(run, happened, shown)]


def _is_live_finding(event: Event) -> bool:
    return event.kind is EventKind.FINDING and event.live and not event.shows(OVERALL)


def _sequence_paragraphs(
    run: RunView,
    happened: Sequence[Event],
    chosen: Sequence[Event],
    shown: Sequence[Event],
    along: Mapping[int, str],
) -> list[str]:
    """What happened apart from the events of the headline (``chosen``), in the order of time, and what people
    said of it (``along``). A restart ends a paragraph of some length."""
    faults = [event for event in happened if event.kind is EventKind.FAULT]
    unshown = [fault for fault in faults if fault not in shown]
    are_many = len(unshown) > _MOST_ALIKE
    # A finding that begins with a restart mentions the restart itself.
    begins = {event.step for event in shown if event.patterns}
    known = {f"The run went on at {run.axis.place(step or 0)}." for step in begins}
    described = (*shown, *(() if are_many else unshown))
    events = [event for event in described if event not in chosen and event.sentence not in known]
    parts = [(happened.index(event), event.sentence) for event in events]
    parts += [*_counted_findings(run, happened, shown), *along.items()]
    if are_many:
        more = "more " if len(unshown) < len(faults) else ""
        counted = f"{plural(len(unshown), f'{more}fault')} of machines or jobs were logged."
        parts.append((len(happened), counted))
    parts.sort(key=itemgetter(0))
    sentences = without_repeated_reasons([sentence for _, sentence in parts])
    first = min(events, key=happened.index, default=None)
    if lead := _time_lead(happened, chosen, first) if first and first.sentence == sentences[0] else "":
        sentences[0] = f"{lead}{sentences[0][:1].lower()}{sentences[0][1:]}"
    paragraphs: list[list[str]] = [[]]
    for (place, _), sentence in zip(parts, sentences, strict=True):
        paragraphs[-1].append(sentence)
        if len(paragraphs[-1]) >= _LONG_PARAGRAPH and happened[min(place, len(happened) - 1)].kind in JOINS:
            paragraphs.append([])
    return [" ".join(words) for words in paragraphs]


def _counted_findings(
    run: RunView, happened: Sequence[Event], shown: Sequence[Event]
) -> Iterator[tuple[int, str]]:
    """The findings that are not described one by one: how many of each name, and their place in the order."""
    for name, same in grouped(filter(_is_live_finding, happened), event_name).items():
        if rest := [event for event in same if event not in shown]:
            are_first = rest == same[: len(rest)]
            more = "" if are_first else "more "
            number = f"was one {more}{name}" if len(rest) == 1 else f"were {plural(len(rest), more + name)}"
            place = happened.index(rest[-1] if are_first else same[-1])
            yield place, f"There {number} {_where(run, rest)}."


def without_repeated_reasons(sentences: Sequence[str]) -> list[str]:
    """The sentences, in which a reason why a finding does not count is given only the first time."""
    given: set[str] = set()

    def once(reason: re.Match[str]) -> str:
        words = "It does not count either." if reason[0] in given else reason[0]
        given.add(reason[0])
        return words

    return [_UNCOUNTED.sub(once, sentence) for sentence in sentences]


def _time_lead(happened: Sequence[Event], chosen: Sequence[Event], first: Event) -> str:
    """How the paragraph begins if its first event lies before the only one of the headline."""
    single = [e for e in chosen if _is_live_finding(e) and not e.shows(COURSE)]
    steps = [e.step for e in single if e.step is not None]
    if first.kind not in (EventKind.FINDING, *CHANGES) or first.step is None or not steps:
        return ""
    names = {event_name(e) for e in single if e.step == min(steps)}
    alone = len(names) == 1 and sum(event_name(e) in names for e in happened) == 1
    return f"Before the {names.pop()}, " if first.step < min(steps) and alone else ""


def _possible_causes(run: RunView, happened: Sequence[Event], shown: Sequence[Event]) -> list[Event]:
    """Events shortly before those in ``shown`` that may have caused them: before a rise the last change of
    schedule or batch, and before a restart the first of the faults in which the last attempt ended."""
    causes: dict[str, Event] = {}
    for event in shown:
        earlier = [e for e in happened[: happened.index(event)] if e.step is not None]
        nearby: list[Event] = []
        if event.kind in JOINS:
            faults = [e for e in earlier if e.kind is EventKind.FAULT and e.attempt != event.attempt]
            for last in faults[-1:]:
                least = (last.step or 0) - 2 * run.gap
                nearby = [e for e in faults if e.attempt == last.attempt and (e.step or 0) >= least][:1]
        elif event.shows(RISES):
            least = (event.step or 0) - run.as_steps(CAUSE_SAMPLES)
            changed = [e for e in earlier if e.kind in CHANGES and e.attempt == event.attempt]
            nearby = [e for e in changed[-1:] if (e.step or 0) >= least]
        causes |= {e.id: e for e in nearby if e not in shown}
    return list(causes.values())


def _where(run: RunView, findings: Sequence[Event]) -> str:
    """``at step 7 005``; for several ``over steps 7 005 to 8 960``; for the whole run nothing."""
    steps = [*{e.step for e in findings if e.step is not None and not e.shows(COURSE)}]
    if len(steps) < 2:
        return f"at {run.axis.place(steps[0])}" if steps else ""
    return f"over {run.axis.place(min(steps), max(steps))}"


def _verdict_paragraph(run: RunView, happened: Sequence[Event], chosen: Sequence[Event], stands: bool) -> str:
    """Why the classifier gave its verdict; empty if that verdict ``stands`` and the headline explains it."""
    diagnosis, decide = run.diagnosis, deciding(happened, run.diagnosis.verdict)
    in_headline = chosen if stands else []
    if diagnosis.verdict is Verdict.GOOD or not decide:
        return "" if any(e.shows(CALM) for e in in_headline) else diagnosis.because
    whose = "The verdict" if stands else "The classifier's verdict"
    begin = f"{whose} is {diagnosis.verdict}"
    named = (BY_ID[event.patterns[0]].title in diagnosis.because for event in decide)
    if not any(named) and all(event.verdict is not diagnosis.verdict for event in decide):
        return f"{begin}:{diagnosis.because.partition(':')[2].rstrip('.')}."
    if all(event in in_headline for event in decide):
        return ""
    words = []
    for name, same in grouped(sorted(decide, key=happened.index), event_name).items():
        several = plural(len(same), name) if len(same) > 1 else f"the {name}"
        words.append(f"{several} {_where(run, same)}".rstrip())
    return f"{begin} because of {listed(words)}."


def _open_paragraph(run: RunView, happened: Sequence[Event], shown: Sequence[Event], before: str) -> str:
    """Discarded findings, a loss that was not logged, a doubt; ``before`` is the text so far."""
    parts = []
    if gone := sum(e.kind is EventKind.FINDING and not e.live and e not in shown for e in happened):
        lie, do = ("lie on branches that were", "do") if gone > 1 else ("lies on a branch that was", "does")
        parts.append(f"{plural(gone, 'finding')} {lie} discarded and {do} not count.")
    no_loss = any(Role.LOSS in item.missing for item in run.diagnosis.not_assessed)
    if no_loss and "no loss" not in before and not run.timeline.by_role(Role.OBJECTIVE):
        rests = ": the verdict rests on other series" if deciding(happened, run.diagnosis.verdict) else ""
        parts.append(f"No loss was logged that could be judged{rests}.")
    return " ".join([*parts, *(clipped(doubt, 400) for doubt in run.timeline.doubts[:1])])
