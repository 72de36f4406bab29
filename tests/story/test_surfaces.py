"""Any two surfaces tell a run with the same numbers: each has them from its events, over all specimens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import pytest
from click import unstyle
from tests.depth import few
from tests.pages.samples import site
from tests.story.told_specimens import NAMES, Specimen, specimen

from chronicle.build.entry import entry_from_json, to_json
from chronicle.cli.terminal import explain, list_lines, run_lines
from chronicle.figures import whole_alt, zoom_alt
from chronicle.figures.layout import Scene, whole_plan, zoom_plan
from chronicle.pages import PAGE_KINDS, assets, lists
from chronicle.pages.chronology import markdown
from chronicle.pages.gallery import dated_events
from chronicle.pages.lists import card, runs
from chronicle.pages.words import renderer
from chronicle.story import deciding, picture_edge
from chronicle.timeline.axes import axis_of

pytestmark = pytest.mark.slow
each = pytest.mark.parametrize("name", few(NAMES, 14))


def numbers(text: str) -> set[str]:
    """Every number in a text, as it is written; of thousands apart by any space."""
    plain = re.sub(r"(?<=\d)[\u202f ](?=\d{3}\b)", "", text)
    return set(re.findall(r"\d+(?:\.\d+)?", plain))


def recorded(specimen: Specimen) -> set[str]:
    """All numbers that the events of a run have, and the counts that are made of the events themselves."""
    said = numbers(" ".join(f"{e.sentence} {e.mark} {e.title} {e.time}" for e in specimen.story.events))
    joins = specimen.diagnosis.joins
    lost = sum(join.discarded_steps for join in joins)
    few = {str(k) for k in range(max(100, len(specimen.story.events)))}
    return (
        said
        | few
        | numbers(axis_of(specimen.timeline).span(lost))
        | numbers(" ".join(specimen.timeline.doubts))
    )


@cache
def made(name: str, kinds: tuple[Any, ...] = (lists.browse, runs)) -> dict[str, str]:
    """Pages of these kinds, and the data, of a site of one specimen."""
    data = site([specimen(name).entry])
    render = renderer(data.templates)
    texts = {page.path: page.text for kind in kinds for page in kind(data, render)}
    return texts | {path: text for path, text in assets(data) if isinstance(text, str)}


@each
def test_headline_and_story_have_no_number_of_their_own(name: str) -> None:
    run = specimen(name)
    for words in (run.story.headline, *run.story.paragraphs[:-1]):
        assert numbers(words) <= recorded(run), words


@each
def test_the_deciding_sentence_is_the_headlines(name: str) -> None:
    run = specimen(name)
    for event in deciding(run.story.events, run.diagnosis.verdict)[:1]:
        assert event.sentence in run.story.headline


@each
def test_card_browse_list_and_terminal_say_the_same(name: str) -> None:
    run = specimen(name)
    first = next(iter(deciding(run.story.events, run.diagnosis.verdict)))
    short, shown = first.short, card(run.entry).measure
    assert shown == short
    row = json.loads(
        made(name)["assets/entries.js"].split("window.chronicleEntries = ")[1].removesuffix(";\n")
    )[0]
    assert row[8] == short
    assert first.sentence in unstyle(next(iter(list_lines([(name, run.entry, "built")]))))
    assert short in unescaped(made(name)["browse.md"])


@each
def test_the_terminal_tells_every_event_by_its_sentence(name: str) -> None:
    run = specimen(name)
    shown = one_line(map(unstyle, run_lines(name, run.timeline, run.diagnosis, run.story)))
    for event in [e for e in run.story.events if e.mark][:30]:
        assert one_line([event.sentence]) in shown
    explained = "\n".join(explain(run.diagnosis, run.story))
    for event in run.story.events:
        assert not event.patterns or f"{event.mark}  {event.sentence}" in explained


@each
def test_the_page_tells_every_event_by_its_sentence_and_its_key_by_the_short_form(name: str) -> None:
    run = specimen(name)
    page = unescaped(made(name)[f"runs/{name}/index.md"])
    assert run.story.headline in page
    for event in run.story.events:
        # a reason why events do not count is given once
        assert event.sentence.split("\n")[0].partition(" It does not count")[0] in page
    for event in [e for e in run.story.events if e.mark][:24]:
        assert f'<a href="#{event.id}">{event.title}</a> {event.short}' in page


@each
def test_every_id_is_an_anchor_once(name: str) -> None:
    run = specimen(name)
    anchors = re.findall(r' id="([^"]+)"', made(name)[f"runs/{name}/index.md"])
    assert len(anchors) == len(set(anchors))
    assert {i for e in run.story.events for i in (e.id, *e.also)} <= set(anchors)


@each
def test_the_words_of_figures_are_those_of_the_events(name: str) -> None:
    run = specimen(name)
    by_mark = {event.mark: event for event in run.story.events if event.patterns}
    drawn = Scene(run.timeline, run.diagnosis)
    assert drawn.panels
    assert [str(item.number) for item in drawn.findings] == sorted(by_mark, key=int)
    alt = whole_alt(name, drawn, whole_plan(drawn, 900), by_mark)
    for item in drawn.findings[:6]:
        assert f"{item.number} {by_mark[str(item.number)].title}: {by_mark[str(item.number)].short}" in alt
    for item in drawn.zooms()[:1]:
        assert by_mark[str(item.number)].short in zoom_alt(item.number, by_mark, zoom_plan(drawn, item, 900))


@each
def test_a_peak_beyond_the_frame_is_a_lower_bound_in_figure_and_sentence_alike(name: str) -> None:
    run = specimen(name)
    peaks = {n.value: n.words for event in run.story.events for n in event.numbers if n.name == "peak"}
    drawn = Scene(run.timeline, run.diagnosis, edge=picture_edge(run.timeline, run.config))
    assert drawn.panels
    for plan in (whole_plan(drawn, 900), *(zoom_plan(drawn, item, 900) for item in drawn.zooms())):
        for clip in [clip for curves in plan.curves for clip in curves.clips if clip.value in peaks]:
            assert clip.words.startswith("≥ ") is peaks[clip.value].startswith("at least ")


@each
def test_the_chronicle_tells_events_by_their_sentences(name: str) -> None:
    run = specimen(name)
    sentences = {one_line([event.sentence]) for event in run.story.events}
    data = json.loads(
        made(name)["assets/events.js"].removeprefix("window.chronicleEvents = ").removesuffix(";\n")
    )
    # Behind the sentence of a plain end stands what is to be thought of the run.
    ends = {f"{sentence} The verdict of the run is {run.entry.verdict}." for sentence in sentences}
    for row in data:
        assert row[5] in (sentences | ends if row[1] == "end" else sentences) or row[5].endswith("…"), row
    written = markdown([run.entry]).replace("\\", "")
    for row in dated_events([run.entry]):
        assert not row.time or one_line([row.event.sentence]) in written


@each
def test_the_entry_on_disk_is_the_entry(name: str) -> None:
    run = specimen(name)
    again = entry_from_json(json.loads(json.dumps(to_json(run.entry), allow_nan=False)))
    assert (again.events, again.story, again.headline) == (
        run.entry.events,
        run.entry.story,
        run.entry.headline,
    )


def one_line(parts: Iterable[str]) -> str:
    return " ".join(" ".join(parts).replace("\u202f", "~").split()).replace("~", "\u202f")


def unescaped(page: str) -> str:
    """A page with its characters, and with the spaces at which a line may not end."""
    text = re.sub(r"&#(\d+);", lambda match: chr(int(match[1])), page)
    return re.sub(r"(?<=\d)\u202f(?=%|M\b)", " ", text)


def surfaces(name: str) -> dict[str, str]:
    """Every text that tells a run's events, without markup."""
    run = specimen(name)
    by_mark = {event.mark: event for event in run.story.events if event.patterns}
    drawn = Scene(run.timeline, run.diagnosis)
    shown = {
        "headline and story": " ".join([run.story.headline, *run.story.paragraphs]),
        "terminal": unstyle("\n".join(run_lines(name, run.timeline, run.diagnosis, run.story))),
        "explain": unstyle("\n".join(explain(run.diagnosis, run.story))),
        "list": unstyle("\n".join(list_lines([(name, run.entry, "built")]))),
        "export": markdown([run.entry]).replace("\\", ""),
        "figure": whole_alt(name, drawn, whole_plan(drawn, 900), by_mark) if drawn.panels else "",
    }
    return {place: one_line([unescaped(text)]) for place, text in {**made(name, PAGE_KINDS), **shown}.items()}


def agreeing(name: str) -> tuple[int, int]:
    """How often surfaces tell an event of a run in its own words, and how many numbers stand in these."""
    events = [event for event in specimen(name).story.events if event.patterns]
    words = [w for event in events for w in (one_line([event.sentence]), one_line([event.short])) if w]
    tellings = [(w, text.count(w)) for text in surfaces(name).values() for w in words]
    return sum(often for _, often in tellings), sum(often * len(numbers(w)) for w, often in tellings)


def test_the_surfaces_are_counted() -> None:
    """`python -m tests.story.test_surfaces` prints the counts over all specimens."""
    tellings, n_numbers = agreeing("104B-glitch-1")
    assert tellings >= 20 and n_numbers >= 60


if __name__ == "__main__":
    counted = [agreeing(name) for name in NAMES]
    print(f"{len(NAMES)} runs, {sum(a for a, _ in counted)} tellings, {sum(b for _, b in counted)} numbers")
