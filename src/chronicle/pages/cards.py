"""A run as a card, and which other runs are like it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from chronicle.classify.numbering import gravest
from chronicle.classify.patterns import Trait, having
from chronicle.metrics.values import count, plural
from chronicle.model import Entry, Figure, Verdict
from chronicle.pages.data import SiteData
from chronicle.pages.escape import address, plain
from chronicle.pages.words import measure

CALM = having(Trait.CALM)
ALIKE = 4  # cards of similar runs on a page
LOOKED = 60
_CAPTION = 160  # characters of a title or a measure on a card


@dataclass(frozen=True)
class Card:
    """What a card shows. ``href`` and ``thumb`` are relative to the site's root; ``thumb`` may be empty."""

    href: str
    title: str
    verdict: Verdict
    measure: str
    meta: str
    thumb: str


def card(entry: Entry) -> Card:
    """The card of a run."""
    thumb = figure(entry, "thumb")
    path = next(iter(thumb.files.values()))[0] if thumb else ""
    project = str(entry.about.get("project", ""))
    return Card(
        href=f"runs/{address(entry.run_id)}/index.html",
        title=_short(entry.title or entry.run_id),
        verdict=entry.verdict,
        measure=_short(measured(entry)),
        meta=" · ".join(word for word in (_short(project), plural(points(entry), "point")) if word),
        thumb=f"runs/{address(entry.run_id)}/{path}" if path else "",
    )


def measured(entry: Entry) -> str:
    """The one number of a run: of its gravest finding, or how far it went."""
    ranked = gravest(entry.diagnosis)
    if ranked and ranked[0][1].pattern not in CALM:
        return measure(ranked[0][1])
    last = [row.get("last_step") for row in entry.attempts]
    steps = [step for step in last if isinstance(step, int)]
    return f"no event up to step {count(max(steps))}" if steps else "no event"


def points(entry: Entry) -> int:
    """Points logged, over all metrics and attempts."""
    return sum(int(row.get("points") or 0) for row in entry.metrics)


def figure(entry: Entry, name: str) -> Figure | None:
    """The figure of a name, if it was drawn."""
    return next((f for f in entry.figures if f.name == name), None)


def similar(site: SiteData, entry: Entry) -> list[Entry]:
    """Up to `ALIKE` other runs that share patterns; a rare pattern counts for more, another project too.

    Of a pattern that very many runs show, `LOOKED` are compared: what all have makes none alike.
    """
    score: Counter[str] = Counter()
    for pattern in entry.diagnosis.patterns:
        showing = site.showing[pattern]
        for other in showing[:LOOKED]:
            score[other.run_id] += 1000 // len(showing)
    score.pop(entry.run_id, None)

    def likeness(run_id: str) -> tuple[int, bool, bool]:
        other = site.entry_of[run_id]
        elsewhere = other.about.get("project") != entry.about.get("project")
        return score[run_id], other.verdict is entry.verdict, elsewhere

    return [site.entry_of[run_id] for run_id in sorted(score, key=likeness, reverse=True)[:ALIKE]]


def _short(text: str) -> str:
    line = plain(text)
    return line if len(line) <= _CAPTION else line[: _CAPTION - 1] + "…"
