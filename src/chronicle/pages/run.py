"""runs/<id>/index.md: what is known of one run, the sentence first, then the picture, then the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chronicle.classify.numbering import gravest, lettered, numbered
from chronicle.classify.patterns import PATTERNS
from chronicle.classify.restarts import restart
from chronicle.model import Criterion, Entry, Figure, Finding, MachineFault, Verdict
from chronicle.pages import words
from chronicle.pages.gallery import Page, PatternPage, Render, SiteData
from chronicle.pages.lists import card, figure, similar
from chronicle.pages.markup import slug

# A page stays below 100 KB whatever the run: the rest is in entry.json, and the page says so.
KEY, TABLES, ROWS, NOTES, CAUSES = 40, 6, 60, 20, 3

ABOUT = ("project", "data", "synthetic", "description", "quote", "source", "licence", "tags")


@dataclass(frozen=True)
class FindingRow:
    """A finding as the page shows it."""

    number: int
    title: str
    verdict: Verdict
    where: str
    measured: Sequence[str]
    criteria: Sequence[Criterion]
    runner_up: str
    runner_up_if: str
    figure: Figure | None


def runs(site: SiteData, render: Render) -> Iterator[Page]:
    """One page a run."""
    for entry in site.entries:
        yield Page(f"runs/{slug(entry.run_id)}/index.md", render("run.md.j2", _values(site, entry)))


def _values(site: SiteData, entry: Entry) -> dict[str, object]:
    findings = [_row(site, entry, number, finding) for number, finding in numbered(entry.diagnosis)]
    ranked = [findings[number - 1] for number, _ in gravest(entry.diagnosis)]
    joins = lettered(entry.diagnosis)
    facts, config = words.configured(entry.facts)
    stated = entry.about.get("gpus", 0), entry.about.get("tokens_per_step", 0.0)
    return {
        "base": "../../",
        "site": site,
        "entry": entry,
        "facts": facts,
        "config": config,
        "about": dict.fromkeys(ABOUT, "") | dict(entry.about),
        "words": words,
        "whole": figure(entry, "whole"),
        "lineage": figure(entry, "lineage"),
        "key": findings[:KEY],
        "joins": joins[:KEY],
        "restarts": [(letter, join, restart(join, *stated)) for letter, join in joins[:KEY]],
        "unlisted_joins": len(joins[KEY:]),
        "unlisted": len(findings[KEY:]) + len(joins[KEY:]),
        "zooms": [finding for finding in ranked if finding.figure],
        "reasons": [finding for finding in ranked if finding.criteria][:TABLES],
        "absent": _absent(site, entry),
        "unassessed": _unassessed(site, entry),
        "costs": [fact for fact in entry.costs if fact.value != 0],
        "helpful": helpful(site, entry),
        "faults": _distinct_faults(entry),
        "similar": [card(other) for other in similar(site, entry)],
        "rows": ROWS,
        "notes": NOTES,
    }


def _row(site: SiteData, entry: Entry, number: int, finding: Finding) -> FindingRow:
    units = {row["metric"]: row["unit"] or "" for row in entry.metrics}
    measured = list(words.evidence(finding, units.get(finding.metric, "")))
    where = [finding.metric, finding.attempt if len(entry.attempts) > 1 else None, words.span(finding)]
    return FindingRow(
        number=number,
        title=site.pattern_title(finding.pattern),
        verdict=site.pattern_verdict(finding.pattern),
        where=": ".join([", ".join(filter(None, where)), *measured[:1]]),
        measured=measured,
        criteria=finding.criteria,
        runner_up=finding.runner_up or "",
        runner_up_if=finding.runner_up_if,
        figure=figure(entry, f"finding-{number}"),
    )


def _distinct_faults(entry: Entry) -> list[MachineFault]:
    """Rows of the table of faults: those that say the same of one step and host are one row."""
    rows: dict[tuple[object, ...], MachineFault] = {}
    for fault in entry.faults:
        key = (fault.kind, fault.what, fault.host, fault.step)
        seen = rows.get(key)
        rows[key] = replace(seen, count=seen.count + fault.count) if seen else fault
    return list(rows.values())


def _absent(site: SiteData, entry: Entry) -> list[PatternPage]:
    """Patterns that ask for attention, were judged and were not found."""
    away = {*entry.diagnosis.patterns, *(n.pattern for n in entry.diagnosis.not_assessed)}
    pages = [site.page_of[p.id] for p in PATTERNS if p.id not in away and p.id in site.page_of]
    return [page for page in pages if page.verdict is not Verdict.GOOD]


def _unassessed(site: SiteData, entry: Entry) -> list[tuple[str, str]]:
    """What was not logged, and the patterns that nobody can judge without it."""
    by_missing: dict[tuple[str, ...], list[str]] = {}
    for item in entry.diagnosis.not_assessed:
        by_missing.setdefault(item.missing, []).append(site.pattern_title(item.pattern))
    return [
        (" and ".join(words.role_words(role) for role in missing), ", ".join(titles))
        for missing, titles in by_missing.items()
    ]


def helpful(site: SiteData, entry: Entry) -> list[PatternPage]:
    """The pattern pages whose causes and remedies a run's page quotes: those of its gravest findings."""
    order = [*(finding.pattern for _, finding in gravest(entry.diagnosis)), *entry.diagnosis.patterns]
    pages = [site.page_of[pattern] for pattern in dict.fromkeys(order) if pattern in site.page_of]
    return [page for page in pages if page.verdict is not Verdict.GOOD and page.causes][:CAUSES]
