"""The one record of what happened in a run: its events, and the words that every surface shows of them.

`tell` makes it from a timeline, its diagnosis and what people noted. Headline, story, keys of figures, cards,
pages and the command line speak from it and measure nothing themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from chronicle.classify.patterns import Trait, having
from chronicle.metrics.values import clipped, plural, times_over
from chronicle.model import Diagnosis, Event, EventKind, JoinKind, Note, Timeline, Verdict
from chronicle.story.measured import RunView
from chronicle.story.measured import picture_edge as picture_edge
from chronicle.story.telling import events
from chronicle.workspace.config import RunConfig
from chronicle.workspace.notes import last_review, verdict_of

CANNOT_TELL = "cannot tell"
BY_PEOPLE = (EventKind.NOTE, EventKind.DECISION, EventKind.REVIEW)  # by people, not by a log
_ODD, _CALM = having(Trait.ODD), having(Trait.CALM)
_OVERALL = having(Trait.CALM | Trait.PROPERTY)
_RUN = having(Trait.WHOLE_RUN) - _ODD  # has no place in it
_MOST_FINDINGS = 6  # findings in the first paragraph
_MOST_JOINS = 4
_LIES = "lies on a branch that was discarded and does"
_NO_CONFIG = RunConfig()
_CHANGES = (EventKind.SCHEDULE, EventKind.BATCH)
_ALIKE = 2  # events of one title told one by one
_JOINS = tuple(EventKind(kind.value) for kind in JoinKind)


@dataclass(frozen=True)
class Story:
    """What a run's record says: its verdict and the badge of it, its headline, its paragraphs and all events.

    ``verdict`` is that of the last review by a person; without one it is the diagnosis'.
    """

    verdict: Verdict
    badge: str
    headline: str
    paragraphs: tuple[str, ...]
    events: tuple[Event, ...]


def tell(
    timeline: Timeline, diagnosis: Diagnosis, config: RunConfig = _NO_CONFIG, notes: Sequence[Note] = ()
) -> Story:
    """The story of a run. Pure: the same arguments give the same words."""
    run = RunView(timeline, diagnosis, config)
    happened = events(run, notes)
    review = last_review(notes)
    verdict = (review and verdict_of(review)) or diagnosis.verdict
    odd = diagnosis.verdict is Verdict.UNEXPECTED
    is_open = review is None and odd and not deciding(happened, diagnosis.verdict)
    chosen = _chosen(diagnosis, happened)
    decisive = [event.sentence for event in chosen] or [diagnosis.because]
    ending = [event.sentence for event in happened if event.kind is EventKind.END]
    headline = " ".join(filter(None, [*decisive, _restarts(run), *ending]))
    sequence = _sequence(run, happened, chosen)
    paragraphs = (
        "" if all(part in headline for part in sequence) else " ".join([*sequence, *ending]),
        _reviewed(review, diagnosis) if review else "",
        _decides(run, happened, "The classifier's verdict" if review else "The verdict"),
        _open(run, happened),
    )
    badge = CANNOT_TELL if is_open else verdict.value
    shown = (paragraph for paragraph in paragraphs if paragraph and paragraph not in headline)
    return Story(verdict, badge, headline, tuple(shown), happened)


def _reviewed(review: Note, diagnosis: Diagnosis) -> str:
    """Who judged the run, and whether the classifier says the same."""
    who, day = review.author or "A person", f" on {review.at_time[:10]}" if review.at_time else ""
    verdict, classifier = verdict_of(review), diagnosis.verdict
    stance = "as the classifier does" if verdict is classifier else f"against the classifier's {classifier}"
    words = f": “{clipped(' '.join(review.text.split()), 300)}”" if review.text.strip() else "."
    return f"{who} judged this run {verdict}{day}, {stance}{words}"


def deciding(happened: Sequence[Event], verdict: Verdict) -> list[Event]:
    """The findings that make a verdict, the gravest first: on the course that the run kept, of this verdict.

    Of a good run these are its calm course, then what it survived.
    """
    findings = [event for event in happened if event.kind is EventKind.FINDING and event.live]
    if verdict is Verdict.UNEXPECTED:
        findings = [event for event in findings if set(event.patterns) & _ODD]
    elif verdict is not Verdict.GOOD:
        single = [event for event in findings if not set(event.patterns) & _OVERALL]
        findings = [event for event in findings if event.verdict is verdict] or single
    return sorted(findings, key=lambda e: (not set(e.patterns) & _CALM, -e.severity, happened.index(e)))


def gravest(happened: Sequence[Event], verdict: Verdict) -> list[Event]:
    """All findings: those first that make the verdict, then the others by their own verdict and severity."""
    first = deciding(happened, verdict)
    rest = [e for e in happened if e.kind is EventKind.FINDING and e not in first]
    rest.sort(key=lambda e: (e.live, e.verdict.rank if e.verdict else 0, e.severity), reverse=True)
    return [*first, *rest]


def card(happened: Sequence[Event], verdict: Verdict) -> str:
    """The words a card has room for: of the event that decides, else of the end."""
    first = next(iter(deciding(happened, verdict)), None) or next(iter(gravest(happened, verdict)), None)
    if first is not None:
        return first.short
    end = next((event for event in happened if event.kind is EventKind.END), None)
    return f"nothing found, {end.short}" if end is not None else "nothing found"


def _chosen(diagnosis: Diagnosis, happened: Sequence[Event]) -> list[Event]:
    """What the headline tells of what decides: the earliest and the gravest such event."""
    decide = deciding(happened, diagnosis.verdict)
    if diagnosis.verdict is Verdict.GOOD:
        return decide[:2]
    first = sorted(decide[:3], key=happened.index)
    return [first[0], *([decide[0]] if decide[0] is not first[0] else first[1:2])] if decide else []


def _restarts(run: RunView) -> str:
    """How often the run was taken up again, and what that discarded."""
    if not (joins := run.diagnosis.joins):
        return ""
    number = Counter(join.kind for join in joins)
    kinds = _listed([plural(number[kind], kind.value) for kind in JoinKind if number[kind]])
    lost = sum(join.discarded_steps for join in joins)
    discarded = f", and {run.axis.lost(lost)}" if lost else ""
    return f"The run has {plural(len(run.timeline.attempts), 'attempt')} ({kinds}){discarded}."


def _listed(words: Sequence[str]) -> str:
    """``1``, ``1 and 2``, ``1, 2 and 3``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _sequence(run: RunView, happened: Sequence[Event], chosen: Sequence[Event]) -> list[str]:
    """What happened, in sequence: the findings that count, those of the headline above all, and restarts."""
    calm = [e for e in happened if set(e.patterns) & _CALM]
    grave = [*chosen, *(e for e in gravest(happened, run.diagnosis.verdict) if e not in chosen)]
    alike: dict[str, list[Event]] = {}
    for event in grave:
        if event.live and not set(event.patterns) & _OVERALL:
            alike.setdefault(event.title, []).append(event)
    shown = [event for same in alike.values() for event in same[:_ALIKE]][:_MOST_FINDINGS]
    joins = [e for e in happened if e.kind in _JOINS]
    if len(joins) <= _MOST_JOINS:
        gone = (e for e in happened if e.kind is EventKind.FINDING and not e.live)
        shown += [*joins, *(e for e in gone if not set(e.patterns) & _OVERALL)]
    shown += _before(run, happened, shown)
    parts = [(happened.index(e), e.sentence) for e in shown]
    for title, same in alike.items():
        if rest := [event for event in same if event not in shown]:
            steps = [event.step or 0 for event in rest]
            last = max(map(happened.index, rest))
            is_first = all(last < happened.index(event) for event in same if event not in rest)
            often = times_over(len(rest), "" if is_first else " more")
            parts.append((last, f"“{title}” occurred {often}, {_where(run, steps)}."))
    sentences = [*(e.sentence for e in calm), *(sentence for _, sentence in sorted(parts, key=itemgetter(0)))]
    if len(joins) > _MOST_JOINS:
        sentences.append(_restarts(run))
    faults = [e for e in happened if e.kind is EventKind.FAULT]
    if left := len(faults) - sum(e in shown for e in faults):
        more = "more " if left < len(faults) else ""
        sentences.append(f"{plural(left, f'{more}fault')} of machines or jobs {_were(left)} logged.")
    return sentences


def _before(run: RunView, happened: Sequence[Event], shown: Sequence[Event]) -> list[Event]:
    """What came shortly before what is told, and may be its cause: the last change of schedule or batch
    before a finding, and the first of the faults in which an attempt ended before a restart."""
    causes = []
    for event in shown:
        earlier = [e for e in happened[: happened.index(event)] if e.step is not None]
        if event.kind in _JOINS:
            faults = [e for e in earlier if e.kind is EventKind.FAULT and e.attempt != event.attempt]
            last = (faults[-1].attempt, faults[-1].step or 0) if faults else ("", 0)
            near = (e for e in faults if e.attempt == last[0] and (e.step or 0) >= last[1] - 2 * run.gap)
            causes += [*near][:1]
        else:
            titles = tuple(f"{e.title}, " for e in earlier if e.kind in _CHANGES)
            named = any(cause.startswith(titles) for cause in event.causes)
            causes += [e for e in earlier if named and e.kind in _CHANGES and e.attempt == event.attempt][-1:]
    return [e for k, e in enumerate(causes) if e not in shown and e not in causes[:k]]


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def _where(run: RunView, steps: Sequence[int]) -> str:
    """``at step 7 005``; of several ``over steps 7 005 to 8 960``."""
    ends = min(steps), max(steps)
    return f"over {run.axis.places(*ends)}" if len(steps) > 1 else f"at {run.axis.place(ends[0])}"


def _titled(run: RunView, happened: Sequence[Event]) -> str:
    """Events by title, each with its place: ``“Plateau” at step 450 and “Level shift”, twice, over …``."""
    alike: dict[str, list[Event]] = {}
    for event in happened:
        alike.setdefault(event.title, []).append(event)
    words = []
    for title, same in alike.items():
        steps = [event.step for event in same if event.step is not None and not set(event.patterns) & _RUN]
        where = _where(run, steps) if steps else ""
        often = f"({times_over(len(same))} {where})" if len(same) > 1 else where
        words.append(f"“{title}” {often}".rstrip())
    return _listed(words)


def _goes_on(events: Sequence[Event]) -> bool:
    """Whether no event of a course that counts was over when the log ended."""
    return bool(events) and all(e.live and e.end_step is None and e.ending for e in events)


def _decides(run: RunView, happened: Sequence[Event], verdict: str) -> str:
    """Which events make the verdict, and whether they were over; else the classifier's own reason."""
    diagnosis, decide = run.diagnosis, deciding(happened, run.diagnosis.verdict)
    if not decide:
        return diagnosis.because
    if diagnosis.verdict is Verdict.GOOD:
        return f"{verdict} is {diagnosis.because[:1].lower()}{diagnosis.because[1:]}"
    if not any(e.verdict is diagnosis.verdict or e.title in diagnosis.because for e in decide):
        return f"{verdict} is {diagnosis.verdict}:{diagnosis.because.partition(':')[2].rstrip('.')}."
    titled = _titled(run, sorted(decide, key=happened.index))
    over = f", which {_were(len(decide))} not over when the log ended" if _goes_on(decide) else ""
    return f"{verdict} is {diagnosis.verdict} because of {titled}{over}."


def _open(run: RunView, happened: Sequence[Event]) -> str:
    """What is still open: what was not over, was discarded, could not be judged or is in doubt."""
    parts = []
    findings = [event for event in happened if event.kind is EventKind.FINDING]
    decide = deciding(happened, run.diagnosis.verdict)
    told = decide if _goes_on(decide) else []
    if going := [e for e in findings if _goes_on([e]) and e not in told]:
        parts.append(f"{_titled(run, going)} {_were(len(going))} not over when the log ended.")
    if gone := sum(not event.live for event in findings):
        lie = "lie on branches that were discarded and do" if gone > 1 else _LIES
        parts.append(f"{plural(gone, 'finding')} {lie} not count.")
    if unjudged := len(run.diagnosis.not_assessed):
        why = f"because what {'it needs' if unjudged == 1 else 'they need'} was not logged"
        parts.append(f"{plural(unjudged, 'pattern')} could not be judged, {why}.")
    return " ".join([*parts, *(clipped(doubt, 400) for doubt in run.timeline.doubts[:1])])
