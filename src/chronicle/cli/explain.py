"""Why a diagnosis says what it says: each finding with its criteria, evidence and the runner-up, as text.

The lines of `chronicle explain RUN [FINDING]`. FINDING is the number of a finding in this list, or a pattern.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from chronicle.classify.patterns import BY_ID
from chronicle.errors import UsageError
from chronicle.model import Criterion, Diagnosis, Finding
from chronicle.pages import words

Numbered = tuple[int, Finding]

_MARKS = {"pass": "✓", "fail": "✗", "open": "?"}


def explain(diagnosis: Diagnosis, which: str = "") -> Iterator[str]:
    """The lines that explain a diagnosis, or one finding or pattern of it.

    Raises:
        UsageError: there is no such finding; the message names those there are.
    """
    if which in BY_ID and which not in diagnosis.patterns:
        yield from _not_named(diagnosis, which)
        return
    for number, finding in chosen(diagnosis, which):
        yield from _finding(number, finding)
    if not which:
        yield diagnosis.because
        for item in diagnosis.not_assessed:
            needed = ", ".join(words.role_words(role) for role in item.missing)
            yield f"not assessed: {item.pattern}. Not logged: {needed}"


def chosen(diagnosis: Diagnosis, which: str) -> Sequence[Numbered]:
    """The findings that ``which`` (a number from 1, a pattern's id, or nothing for all) speaks of."""
    numbered = list(enumerate(diagnosis.findings, 1))
    matching = [(n, f) for n, f in numbered if which in ("", str(n), f.pattern)]
    if not matching and which:
        have = ", ".join(f"{n} {f.pattern}" for n, f in numbered) or "none"
        raise UsageError(f"no finding {which!r}. Findings of this run: {have}")
    return matching


def _finding(number: int, finding: Finding) -> Iterator[str]:
    pattern = BY_ID[finding.pattern]
    where = " · ".join(filter(None, (finding.metric, finding.attempt)))
    head = f"{number}  {finding.pattern} ({pattern.verdict}), {words.span(finding)}"
    yield head + (f", in {where}" if where else "")
    yield f"   severity {finding.severity:.2f}, confidence {finding.confidence:.2f}"
    yield from _table(finding.criteria)
    evidence = "; ".join(words.evidence(finding))
    if evidence:
        yield f"   evidence: {evidence}"
    if finding.runner_up:
        yield f"   otherwise {finding.runner_up}{words.condition(finding.runner_up_if)}"
    yield ""


def _table(criteria: Sequence[Criterion]) -> Iterator[str]:
    rows = [
        (_MARKS[words.met_words(c)[0]], c.name, words.criterion_value(c), words.threshold(c))
        for c in criteria
    ]
    names = max((len(name) for _, name, _, _ in rows), default=0)
    values = max((len(value) for _, _, value, _ in rows), default=0)
    for mark, name, value, threshold in rows:
        yield f"   {mark} {name:<{names}}  {value:<{values}}  {threshold}".rstrip()


def _not_named(diagnosis: Diagnosis, pattern: str) -> Iterator[str]:
    """What is to be said of a pattern that was not found: not assessed and why, or looked for."""
    missing = next((item.missing for item in diagnosis.not_assessed if item.pattern == pattern), ())
    if missing:
        needed = ", ".join(words.role_words(role) for role in missing)
        yield f"{pattern} was not assessed. Not logged: {needed}"
    else:
        yield f"{pattern} was looked for and not found"
        for finding in diagnosis.findings:
            if finding.runner_up == pattern:
                yield f"   nearest: {finding.pattern}, {words.span(finding)}" + (
                    f"; it would be {pattern}{words.condition(finding.runner_up_if)}"
                )
