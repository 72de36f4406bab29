"""The events of all runs by month and day, newest first, and the table of experiments.

The events are a page, its data, Markdown, and feeds: Atom (RFC 4287) and JSON Feed 1.1. Ids in the feeds are
UUIDs of title, run and event, so that they outlive a move of the site. Without ``site_url``, links are
relative in Atom, which allows that, and left out in JSON.

An experiment is an act with its reasons and its outcome. An act is a restart at which something changed, or
for which findings or people give a reason; consecutive changes of schedule or batch; what somebody decided or
tried about a finding; or the run as a whole, if notes on no event say what it was to try. The findings and
faults that led to the act, and plain notes before it, are its reasons, the findings that followed it its
outcome.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from itertools import groupby, takewhile
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from chronicle.metrics.values import clipped, grouped, instant, level, moment
from chronicle.model import Entry, Event, EventKind, Join, Verdict
from chronicle.pages.gallery import Page, RunEvent, SiteData, dated_events, when
from chronicle.pages.words import Render, as_json, plain
from chronicle.story import WARM_UP, deciding, gravity
from chronicle.story.measured import BY_PEOPLE, CHANGES, COURSE, ENDS, JOINS, OVERALL
from chronicle.story.restarts import event_id, undone_pattern
from chronicle.story.signs import event_name
from chronicle.timeline.axes import axis_of_entry
from chronicle.workspace.notes import NOTE_KINDS

LISTED_ROWS = 150  # rows of a plain list, which stays far below 100 KB even with long titles
MOST = 100  # events in a feed; a feed reader has fetched the older ones before
ATOM, JSON = "feed.xml", "feed.json"
_LONGEST_SENTENCE = 400  # characters of a sentence in the data of the page
TRIED_ROWS = 200  # rows in the table of experiments
_MOST_FOLLOWED = 2  # findings in an outcome: the gravest ones
_PLANS = ("hypothesis", "tried")  # kinds of notes that say what a whole run is to try
_KINDS_OF_ACTS = ("tried", "decision")
_PLAIN = "note"  # the kind of a note that names none
_REASONS = ("hypothesis", _PLAIN)


def chronology(site: SiteData, render: Render) -> Iterator[Page]:
    """chronicle.md: the newest events as a list, which a script replaces by a filter over all events."""
    newest = site.happened[:LISTED_ROWS]
    values = {"site": site, "months": by_month(newest), "shown": len(newest), "all": len(site.happened)}
    yield Page("chronicle.md", render("chronicle.md.j2", values))


def by_month(listed: Iterable[RunEvent]) -> list[tuple[str, list[tuple[str, list[RunEvent]]]]]:
    """The rows grouped by month and day, in the given order."""
    months = []
    for month, in_month in groupby(listed, lambda row: row.day[:7]):
        days = [(day_words(day), list(same)) for day, same in groupby(in_month, lambda row: row.day)]
        months.append((day_words(f"{month}-01", "{0:%B %Y}") or "No date", days))
    return months


def day_words(day: str, form: str = "{0.day} {0:%B}") -> str:
    """``2026-11-05`` as ``5 November``; empty if it is no day."""
    try:
        return form.format(datetime.fromisoformat(day))
    except ValueError:
        return ""


def events_js(site: SiteData) -> str:
    """The data of chronicle.js, as a script because pages from disk may not fetch. Each row has time, kind,
    verdict, mark, title, sentence, who, run, title of the run, href, project."""
    lines = []
    for row in site.happened:
        event, sentence = row.event, clipped(plain(row.sentence), _LONGEST_SENTENCE)
        about = event.verdict or "", event.mark, event.title, sentence, event.who
        run = row.entry.run_id, row.title, row.href, row.entry.about.get("project", "")
        lines.append(as_json([plain(text) for text in (row.time, row.kind, *about, *run)]))
    return "window.chronicleEvents = [\n{}\n];\n".format(",\n".join(lines))


def markdown(entries: Iterable[Entry], first: str = "", last: str = "") -> str:
    """The dated events from day ``first`` to day ``last`` as Markdown, for the appendix of a paper."""
    kept = [r for r in dated_events(entries) if r.time and first <= r.day and (not last or r.day <= last)]
    lines = ["# Chronicle", ""]
    for month, days in by_month(kept):
        lines += [f"## {month}", ""]
        for day, same in days:
            lines += [f"### {day}", ""]
            for row in same:
                who = f", {row.event.who}" if row.event.who else ""
                title, where, sentence = map(_escaped, (row.event.title, row.title + who, row.sentence))
                lines.append(f"- {row.hour} **{title}** ({where}): {sentence}")
            lines.append("")
    return "\n".join(lines) if kept else "# Chronicle\n\nNo dated event.\n"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", plain(text))


def atom(site: SiteData) -> str:
    """The Atom feed of the newest events that have a time."""
    items, title = list(_items(site)), escape(plain(site.title))
    newest = items[0]["date_published"] if items else instant(0.0)
    address = escape(site.site_url or "./")
    home = f'<link rel="alternate" href="{address}"/>'
    own = f'<link rel="self" href="{address}{ATOM}"/>' if site.site_url else ""
    head = f"""<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>{_id(site, "")}</id><title>{title}</title><updated>{newest}</updated>
{home}{own}<author><name>{title}</name></author><generator>chronicle</generator>"""
    return "\n".join([head, *map(_atom_entry, items), "</feed>\n"])


def _atom_entry(item: Mapping[str, Any]) -> str:
    names = "".join(f"<author><name>{escape(who['name'])}</name></author>" for who in item.get("authors", ()))
    title, text, url = (escape(item[name]) for name in ("title", "content_text", "url"))
    head = f"<id>{item['id']}</id><title>{title}</title><updated>{item['date_published']}</updated>"
    tag = f'<category term="{escape(item["tags"][0])}"/>'
    return f'<entry>{head}<link href="{url}"/>{names}{tag}<content>{text}</content></entry>'


def json_feed(site: SiteData) -> str:
    """The JSON feed of the same events."""
    addresses = {"home_page_url": site.site_url, "feed_url": site.site_url + JSON} if site.site_url else {}
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": plain(site.title),
        **addresses,
        "items": [{k: v for k, v in item.items() if k != "url" or addresses} for item in _items(site)],
    }
    return json.dumps(feed, ensure_ascii=False, indent=1) + "\n"


def news(rows: Sequence[RunEvent]) -> list[RunEvent]:
    """The rows without the plain end of a run in which something else happened on the same day."""
    with_news = {(row.entry.run_id, row.day) for row in rows if not row.is_plain_end}
    return [row for row in rows if not (row.is_plain_end and (row.entry.run_id, row.day) in with_news)]


def _items(site: SiteData) -> Iterator[dict[str, Any]]:
    for row in [row for row in news(site.happened) if when(row.time)][:MOST]:
        yield {
            "id": _id(site, row.href),
            "url": site.site_url + row.href,
            "title": plain(f"{row.event.title}: {row.title}"),
            "content_text": plain(row.sentence),
            "date_published": instant(moment(row.time)),
            **({"authors": [{"name": plain(row.event.who)}]} if row.event.who else {}),
            "tags": [plain(row.kind)],
        }


def _id(site: SiteData, href: str) -> str:
    return f"urn:uuid:{uuid5(NAMESPACE_URL, f'{plain(site.title)} {href}')}"


@dataclass(frozen=True)
class Experiment(RunEvent):
    """Sentences about what was changed, why, and what came of it; ``hours`` lost are empty if unknown. ``at``
    is the time of what was done."""

    at: str
    changed: tuple[str, ...]
    why: tuple[str, ...]
    outcome: tuple[str, ...]
    hours: str

    @property
    def time(self) -> str:
        return self.at


@dataclass
class _Act:
    """An act: the events that were ``done``, that ``led`` to it and that ``followed``; ``notes`` are those on
    the first two, ``replies`` those on the last. The launch and a plain resume are no experiment; ``is_plan``
    says that the act is the run as a whole."""

    done: list[Event] = field(default_factory=list)
    led: list[Event] = field(default_factory=list)
    followed: list[Event] = field(default_factory=list)
    joins: list[Join] = field(default_factory=list)
    notes: list[RunEvent] = field(default_factory=list)
    replies: list[RunEvent] = field(default_factory=list)
    is_experiment: bool = True
    is_plan: bool = False

    @property
    def finding(self) -> Event | None:
        return next((event for event in self.done if event.kind is EventKind.FINDING), None)


def experiments_page(site: SiteData, render: Render) -> Iterator[Page]:
    """experiments.md: the experiments of all runs, the newest first."""
    rows = [row for entry in site.entries for row in reversed([*experiments(entry)])]
    rows.sort(key=lambda row: -when(row.time))
    values = {"rows": rows[:TRIED_ROWS], "more": len(rows[TRIED_ROWS:])}
    yield Page("experiments.md", render("experiments.md.j2", values))


def experiments(entry: Entry) -> Iterator[Experiment]:
    """The experiments of a run: those of the run as a whole, then the others in the order of its events."""
    on_run = {"", *(event.id for event in entry.events if event.kind in ENDS or event.shows(COURSE))}
    by_people = (RunEvent(entry, event) for event in entry.events if event.kind in BY_PEOPLE)
    notes = grouped(by_people, lambda row: "" if row.event.of in on_run else row.event.of)
    of_run = notes.pop("", [])
    plan = _plan(of_run)
    acts = _acts(entry, notes, is_planned=plan is not None)
    if plan is not None:  # it takes over what belongs to no other experiment
        for act in [act for act in acts if not act.is_experiment]:
            plan.followed += act.followed
            plan.joins += act.joins
        plan.followed = plan.followed or deciding(entry.events, entry.verdict)[:1]
    acts = [*([plan] if plan else _in_turn(of_run)), *(act for act in acts if act.is_experiment)]
    for act in acts:
        act.notes += [note for e in (*act.done, *act.led) for note in notes.pop(e.id, ())]
    for act in acts:
        act.replies = [note for e in act.followed for note in notes.pop(e.id, ())]
        yield _experiment(entry, act)


def _plan(notes: Sequence[RunEvent]) -> _Act | None:
    """The run as one experiment, if its notes first say what it was to try, and then only what came of it."""
    kept = [note for note in notes if note.note_kind in NOTE_KINDS]
    begun = len([*takewhile(lambda note: note.note_kind in _PLANS, kept)])
    kinds = [note.note_kind for note in kept]
    is_one = begun and kinds[:begun].count("tried") < 2 and not {*kinds[begun:]} & {*_PLANS}
    return _Act(notes=kept, is_plan=True) if is_one else None


def _in_turn(notes: Sequence[RunEvent]) -> list[_Act]:
    """The acts that notes on a run as a whole tell of. A plain note at the step of an act led to it."""
    acts: list[_Act] = []
    plain_notes: list[RunEvent] = []
    for note in notes:
        is_done = bool(acts) and any(earlier.note_kind not in _REASONS for earlier in acts[-1].notes)
        if note.note_kind == _PLAIN:
            plain_notes.append(note)
        elif note.note_kind in ("hypothesis", *_KINDS_OF_ACTS) and (is_done or not acts):
            here = [n for n in plain_notes if n.event.step == note.event.step is not None]
            acts.append(_Act(notes=[*here, note]))
            plain_notes = []
        elif acts and note.note_kind in NOTE_KINDS:
            acts[-1].notes.append(note)
    return [act for act in acts if any(note.note_kind in _KINDS_OF_ACTS for note in act.notes)]


def _acts(entry: Entry, notes: Mapping[str, list[RunEvent]], is_planned: bool) -> list[_Act]:
    """The launch and the acts after it, in order; ``is_planned`` if the run as a whole is an experiment."""
    joins = {event_id(join): join for join in entry.diagnosis.joins}
    acts, earlier = [_Act(is_experiment=False)], list[Event]()
    for event in entry.events:
        last = acts[-1]
        if event.kind in JOINS:
            act = _restart(event, joins.get(event.id), earlier, notes)
            if last.finding in act.led:  # this restart carries out what was decided about the finding
                acts.pop()
            acts.append(act)
        elif event.kind in CHANGES and event.title != WARM_UP:
            if last.done and last.done[0].kind in CHANGES and last.done[0].attempt == event.attempt:
                last.done.append(event)
            else:
                acts.append(_Act([event]))
        elif event.kind is EventKind.FINDING and not event.shows(OVERALL):
            last.followed.append(event)
            is_decided = any(note.note_kind in _KINDS_OF_ACTS for note in notes.get(event.id, ()))
            names = [f"the {event_name(done)}" for done in last.done] if last.is_experiment else []
            is_consequence = any(name in cause for name in names for cause in event.causes)
            if is_decided and not is_planned and not is_consequence:
                acts.append(_Act([event]))
        earlier.append(event)
    return acts


def _restart(
    event: Event, join: Join | None, earlier: Sequence[Event], notes: Mapping[str, list[RunEvent]]
) -> _Act:
    """The act of a restart. It is an experiment if somebody wrote about it or about what led to it, if it
    changed something, or if it undid a finding."""
    led = _causes_of(earlier, join)
    is_noted = any(cause.id in notes for cause in (event, *led))
    changed = join is not None and bool(join.changes or undone_pattern(join))
    return _Act([event], led, joins=[join] if join else [], is_experiment=is_noted or changed)


def _causes_of(earlier: Sequence[Event], join: Join | None) -> list[Event]:
    """What led to a restart: the finding that it undid, else the first of the faults just before it."""
    evidence = join.evidence if join is not None else {}
    for side in ("left", "inside"):
        if pattern := evidence.get(f"{side}_pattern"):
            start = evidence[f"{side}_start_step"]
            same = [event for event in earlier if pattern in event.patterns]
            return sorted(same, key=lambda event: abs((event.step or 0) - start))[:1]
    since = takewhile(lambda event: event.kind not in JOINS, reversed(earlier))
    faults = [event for event in since if event.kind is EventKind.FAULT]  # the last one first
    return [fault for fault in faults if (fault.step or 0) >= (faults[0].step or 0) - 1][-1:]


def _experiment(entry: Entry, act: _Act) -> Experiment:
    """The row of an act. A decision about a planned run is its outcome; any other decision is an act."""
    act.notes.sort(key=lambda note: moment(note.time))
    doing = ("tried",) if act.is_plan else _KINDS_OF_ACTS
    changed = [event.sentence for event in act.done if event is not act.finding]
    why = [event.sentence for event in (act.finding, *act.led) if event is not None]
    came: list[RunEvent] = []
    first = next((place for place, note in enumerate(act.notes) if note.note_kind in doing), 0)
    for place, note in enumerate(act.notes):
        if note.note_kind in doing:
            changed.append(note.event.sentence)
        elif (
            note.note_kind == "hypothesis"
            or (note.note_kind == "outcome" and act.finding and not changed)
            or (note.note_kind == _PLAIN and place < first)
        ):
            why.append(note.event.sentence)
        elif note.note_kind in ("outcome", "lesson", "decision"):
            came.append(note)
    outcome = _consequences(entry, act, bool(came))
    for note in sorted((*act.replies, *came), key=lambda note: note.note_kind == "lesson"):
        kind = "" if note.note_kind == "outcome" else f"{note.event.title}: "
        outcome.append(f"{kind}{note.event.sentence}")
    what = tuple(changed or ["The run as a whole."]), tuple(why), tuple(outcome)
    event = act.done[0] if act.done else act.notes[0].event
    return Experiment(entry, event, _time_of(act, doing), *what, _hours(entry, act))


def _time_of(act: _Act, doing: Sequence[str]) -> str:
    """When something was done: as logged, or as the first note on it says; a finding is not done."""
    noted = [note.time for note in act.notes if note.note_kind in doing]
    any_note, logged = [note.time for note in act.notes], [event.time for event in act.done]
    first = noted if act.finding is not None or not act.done else [*logged, *noted]
    return next(filter(None, (*first, *any_note, *logged)), "")


def _consequences(entry: Entry, act: _Act, is_noted: bool) -> list[str]:
    gravest_ones = sorted(act.followed, key=gravity)[-_MOST_FOLLOWED:]
    if shown := {*(event.id for event in gravest_ones), *(note.event.of for note in act.replies)}:
        return [event.sentence for event in act.followed if event.id in shown]
    if not act.done or is_noted or (act.finding is not None and act.finding.end_step is None):
        return []
    later = entry.events[entry.events.index(act.done[-1]) + 1 :]
    left = {event_id(join): join.from_step for join in entry.diagnosis.joins}
    ends = (left.get(event.id, event.step) for event in later if event.kind in (*JOINS, EventKind.END))
    last = next(ends, None) or act.done[-1].step or 0
    place = axis_of_entry(entry).place(last)
    return [f"No finding followed up to {place}."]


def _hours(entry: Entry, act: _Act) -> str:
    """Hours that were discarded, passed until the run went on, or were trained after a lasting failure."""
    lost = [span for join in act.joins for span in (join.evidence.get("discarded_s"), join.gap_s)]
    failures = (event for event in (*act.done, *act.followed) if event.live and event.verdict is Verdict.BAD)
    if (failure := next((event for event in failures if event.end_step is None), None)) is not None:
        end = next((e.elapsed_s for e in entry.events if e.kind is EventKind.END), None)
        lost.append(None if end is None or failure.elapsed_s is None else end - failure.elapsed_s)
    if (lost and not any(lost)) or all(event.elapsed_s is None for event in entry.events):
        return ""
    hours = sum(span for span in lost if span) / 3600
    few = "< 0.01" if hours else "0"
    return level(hours) if hours >= 0.01 else few
