"""Measures the classifier with one command.

    python -m benchmarks.classifier [--quick] [--parts events,context,…] [--seed 0] [--write]

It uses generated curves, the specimens in runs/, and the trainings of the lab if they were grown. Other
labelled runs are used only if --exam NAME=DIR names them. Each look at a public set is recorded by hand in
docs/classifier.md, because a rule that was changed after a look can no longer be judged by that set.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator

from benchmarks.classifier import figures, folders, page, tables
from benchmarks.classifier.judging import Judged, judged
from benchmarks.curves.cases import (
    LONGEST,
    SOME_GROUNDS,
    USUAL,
    confounded,
    contexts,
    healthy,
    injected,
    scaled,
)
from benchmarks.curves.faults import at_fault
from benchmarks.curves.fields import in_fields
from benchmarks.page import arguments
from chronicle.classify import kernel
from chronicle.score import CaseResult

PARTS = ("events", "context", "healthy", "fields", "folders")
Section = tuple[str, str]


def events(seed: int, quick: bool) -> list[Judged]:
    """Judged events of every kind, height and course."""
    grounds = SOME_GROUNDS if quick else USUAL
    return list(judged(injected(range(seed, seed + (1 if quick else 3)), grounds=grounds)))


def quiet(seed: int, quick: bool) -> list[Judged]:
    """Judged healthy courses: about a million points in each, a tenth with ``quick``."""
    usual = list(judged(healthy(range(seed, seed + (10 if quick else 60)))))
    return usual if quick else usual + list(judged(healthy([seed, seed + 1], [LONGEST])))


def event_sections(rows: list[Judged], calm: list[Judged]) -> Iterator[Section]:
    """The tables of generated events."""
    yield "recall", tables.by_height(rows, lambda r: r.found)
    yield "strict", tables.by_height(rows, lambda r: r.strict)
    yield "confusion", tables.confusion(rows)
    yield "placing", tables.placing(rows)
    yield "courses", tables.by_ground(rows, calm)


def missed(result: CaseResult) -> str:
    """One line about a case that was not passed."""
    lacks, wrong = ", ".join(result.missing), ", ".join(result.forbidden)
    return f"- `{result.id}`: {result.verdict} for {result.want}; missing: {lacks}; wrong: {wrong}"


def folder_section(exam: list[str]) -> str:
    """The tables of labelled runs on disk by source; for specimens and ``exam`` also without each source. Of
    trainings that are held back only totals are shown, because rules would otherwise be fitted to the
    failures."""
    parts = []
    for name, folder in folders.known(exam).items():
        groups = folders.scored(folder)
        everything = [r for results in groups.values() for r in results]
        held, grown = name == "lab, hold", name.startswith("lab, ")
        rows = {name: everything} | ({} if held else groups)
        parts.append(tables.scores(rows if grown else rows | folders.leave_one_out(groups)))
        if not held:
            parts.append("\n".join(["Not passed:", "", *failed(everything)]))
    return "\n\n".join(parts)


def failed(results: Iterable[CaseResult]) -> list[str]:
    """One line for each case that was not passed."""
    return [missed(r) for r in results if not r.passed] or ["- none"]


def sections(options: argparse.Namespace) -> Iterator[Section]:
    """Every requested table, as soon as it is ready. The figure of events is written into the guide."""
    parts, seed, quick = options.parts.split(","), options.seed, options.quick
    seeds = range(seed, seed + (3 if quick else 20))
    if "events" in parts:
        rows = events(seed, quick)
        yield from event_sections(rows, quiet(seed, quick))
        if options.write:
            figures.recall(rows)
    if "context" in parts:
        yield "context", tables.contexts(judged(contexts(seeds)))
        by_height = list(judged(scaled(seeds)))
        yield "context-strict", tables.by_height(by_height, lambda r: r.strict)
    if "healthy" in parts:
        yield "look-alikes", tables.healthy_kinds(judged(confounded(seeds)))
    if "fields" in parts:
        yield "fields", tables.by_field([*in_fields(seeds), *at_fault(seeds[: len(seeds) // 2])])
    if "folders" in parts:
        yield "folders", folder_section(options.exam)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="only some courses and seeds")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=0, help="first seed; another gives other curves")
    parser.add_argument(
        "--exam", action="append", default=[], metavar="NAME=DIR", help="labelled runs elsewhere"
    )
    options = parser.parse_args()
    kernel.compiled()
    start = time.monotonic()
    made = {}
    for title, text in sections(options):
        made[title] = text
        print(f"## {title}\n\n{text}\n", flush=True)
    if options.write:
        page.put(made)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
