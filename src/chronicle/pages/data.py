"""What pages are made of and from: plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from chronicle.classify.patterns import BY_ID
from chronicle.model import Entry, Verdict

Render = Callable[[str, Mapping[str, Any]], str]
"""Renders the template of a name with the values given."""


VERDICTS = (Verdict.GOOD, Verdict.WORRYING, Verdict.BAD, Verdict.UNEXPECTED)
"""The verdicts in the order pages show them."""


@dataclass(frozen=True)
class Page:
    """A generated file: its path below build/docs and its text."""

    path: str
    text: str


@dataclass(frozen=True)
class Condition:
    """One criterion of a pattern, and the series it needs."""

    criterion: str
    threshold: str
    needs: str


@dataclass(frozen=True)
class Lookalike:
    """What a pattern is taken for, and how that differs; ``pattern`` is None where it has no page."""

    pattern: str | None
    title: str
    verdict: Verdict
    how: str


@dataclass(frozen=True)
class Cause:
    """A likely cause; ``evidence`` is "proved", "reported" or "guess", ``tell`` how to find out."""

    cause: str
    evidence: str
    tell: str


@dataclass(frozen=True)
class Source:
    """Where something about a pattern is written."""

    title: str
    where: str
    note: str


@dataclass(frozen=True)
class PatternPage:
    """gallery/<verdict>/<id>.md: the front matter, and the Markdown below it as ``body``."""

    id: str
    title: str
    verdict: Verdict
    lead: str
    also_called: tuple[str, ...] = ()
    criteria: tuple[Condition, ...] = ()
    lookalikes: tuple[Lookalike, ...] = ()
    causes: tuple[Cause, ...] = ()
    now: tuple[str, ...] = ()
    prevent: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    specimens: tuple[str, ...] = ()
    body: str = ""


@dataclass(frozen=True)
class SiteData:
    """All that the pages show. ``unreadable`` holds (log or run, what is wrong with it)."""

    entries: Sequence[Entry]
    patterns: Sequence[PatternPage]
    unreadable: Sequence[tuple[str, str]]
    title: str
    templates: Sequence[Path]

    @cached_property
    def page_of(self) -> Mapping[str, PatternPage]:
        """Pattern pages by id."""
        return {page.id: page for page in self.patterns}

    @cached_property
    def entry_of(self) -> Mapping[str, Entry]:
        """Entries by run id."""
        return {entry.run_id: entry for entry in self.entries}

    @cached_property
    def showing(self) -> Mapping[str, Sequence[Entry]]:
        """Entries by the pattern they show, in the order of the entries."""
        shown: dict[str, list[Entry]] = {}
        for entry in self.entries:
            for pattern in entry.diagnosis.patterns:
                shown.setdefault(pattern, []).append(entry)
        return shown

    def pattern_title(self, pattern: str) -> str:
        """The title of a pattern, on its page or in the fixed list; the id of one that is in neither."""
        known = self.page_of.get(pattern) or BY_ID.get(pattern)
        return known.title if known else pattern

    def pattern_verdict(self, pattern: str) -> Verdict:
        """The verdict of a pattern; worrying if nobody says."""
        known = self.page_of.get(pattern) or BY_ID.get(pattern)
        return known.verdict if known else Verdict.WORRYING
