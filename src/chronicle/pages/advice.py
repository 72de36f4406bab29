"""From a run's evidence to advice: the causes on a pattern's page, ranked by the signs around an event.

A cause that a sign speaks against goes to the end, whatever else speaks for it. Of the others those come
first that most signs speak for; the order of the page, the likeliest cause first, decides between equals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chronicle.model import Event
from chronicle.pages.gallery import Cause, PatternPage


@dataclass(frozen=True)
class Ranked:
    """A cause with what this run says of it: phrases for it and against it, and what nobody logged."""

    cause: Cause
    speaks_for: tuple[str, ...]
    against: tuple[str, ...]
    not_logged: tuple[str, ...]


@dataclass(frozen=True)
class Advice:
    """Of one event: the page its causes are from, the causes in order, what decides between the first two."""

    event: Event
    page: PatternPage
    causes: tuple[Ranked, ...]
    check: str


def advice(event: Event, page: PatternPage) -> Advice:
    """What a page says of the causes of an event, in the order that this run's evidence gives them."""
    causes = ranked(page.causes, event.signs)
    return Advice(event, page, causes, _check(causes))


def ranked(causes: Sequence[Cause], signs: Mapping[str, bool]) -> tuple[Ranked, ...]:
    """The causes, those first that the signs speak for, those last that they speak against."""
    told = [_told(cause, signs) for cause in causes]
    return tuple(sorted(told, key=lambda one: (bool(one.against), -len(one.speaks_for))))


def _told(cause: Cause, signs: Mapping[str, bool]) -> Ranked:
    seen = {sign: signs.get(sign.value) for sign in (*cause.when, *cause.unless)}
    against = [sign for sign in cause.when if seen[sign] is False]
    against += [sign for sign in cause.unless if seen[sign]]
    return Ranked(
        cause,
        tuple(sign.holds for sign in cause.when if seen[sign]),
        tuple(sign.holds if seen[sign] else sign.fails for sign in against),
        tuple(dict.fromkeys(sign.needs for sign in seen if seen[sign] is None and sign.needs)),
    )


def _check(causes: Sequence[Ranked]) -> str:
    """How to tell the first cause from the second: what was not logged and would say it, else by a look."""
    open_ = [one for one in causes[:2] if not one.against]
    if len(open_) < 2:
        return ""
    missing = dict.fromkeys(word for one in open_ for word in one.not_logged)
    logged = f" Not logged, and it would tell: {', '.join(missing)}." if missing else ""
    return f"{open_[0].cause.tell}{logged}"
