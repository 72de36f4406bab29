"""One command that measures the classifier.

    python -m benchmarks.classifier [--quick] [--parts events,context,healthy,folders] [--seed 0] [--write]

Generated curves, the specimens in runs/, and the trainings of the lab where they were grown. Other labelled
runs only where they are asked for with --exam NAME=DIR: each look at a public set is logged by hand in
docs/classifier.md, because a rule that is changed after a look is no longer judged by it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.classifier import folders, tables
from benchmarks.classifier.judging import Judged, judged
from benchmarks.curves.cases import SOME_GROUNDS, confounded, contexts, healthy, injected
from benchmarks.curves.grounds import GROUNDS
from chronicle.classify.kernel import compiled
from chronicle.score import CaseResult

PARTS = ("events", "context", "healthy", "folders")
Section = tuple[str, str]


def events(seed: int, quick: bool) -> list[Judged]:
    """Judged events of every kind, height and course."""
    grounds = SOME_GROUNDS if quick else tuple(GROUNDS)
    return list(judged(injected(range(seed, seed + (1 if quick else 3)), grounds=grounds)))


def quiet(seed: int, quick: bool) -> list[Judged]:
    """Judged healthy courses: about a million points in each, a tenth with ``quick``."""
    return list(judged(healthy(range(seed, seed + (10 if quick else 60)))))


def event_sections(rows: list[Judged], calm: list[Judged]) -> Iterator[Section]:
    """The tables of generated events."""
    yield "Recall by height [noise scales]", tables.by_height(rows, lambda r: r.found)
    yield "Found under the right name, by height", tables.by_height(rows, lambda r: r.strict)
    yield "By course (events of 8 noise scales and more)", tables.by_ground(rows, calm)
    yield "What clear events are called", tables.confusion(rows)
    yield "Place of the onset (8 noise scales and more)", tables.placing(rows)


def missed(result: CaseResult) -> str:
    """One line on a case that was not passed."""
    lacks, wrong = ", ".join(result.missing), ", ".join(result.forbidden)
    return f"- `{result.id}`: {result.verdict} for {result.want}; missing: {lacks}; wrong: {wrong}"


def folder_sections(exam: list[str]) -> Iterator[Section]:
    """The tables of labelled runs on disk, by source and without each source."""
    sets = {"specimens": folders.SPECIMENS}
    sets |= {f"lab, {part}": at for part in ("develop", "hold") if (at := folders.lab(part))}
    sets |= {name: Path(folder) for name, folder in (item.split("=", 1) for item in exam)}
    for name, folder in sets.items():
        groups = folders.scored(folder)
        everything = {name: [r for results in groups.values() for r in results]}
        yield f"{name}, by source", tables.scores(everything | groups)
        if len(groups) > 1:
            yield f"{name}, without each source", tables.scores(folders.leave_one_out(groups))
        failed = [missed(r) for r in everything[name] if not r.passed]
        if failed:
            yield f"{name}, not passed", "\n".join(failed)


def sections(parts: list[str], seed: int, quick: bool, exam: list[str]) -> Iterator[Section]:
    """Every table that was asked for, as it is ready."""
    seeds = range(seed, seed + (3 if quick else 20))
    if "events" in parts:
        yield from event_sections(events(seed, quick), quiet(seed, quick))
    if "context" in parts:
        yield "Context: other series, other attempts, the whole run", tables.contexts(judged(contexts(seeds)))
    if "healthy" in parts:
        yield "Healthy runs that look like trouble", tables.healthy_kinds(judged(confounded(seeds)))
    if "folders" in parts:
        yield from folder_sections(exam)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.classifier", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="some courses and seeds: half a minute")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--seed", type=int, default=0, help="first seed; another gives other curves")
    parser.add_argument(
        "--exam", action="append", default=[], metavar="NAME=DIR", help="labelled runs elsewhere"
    )
    options = parser.parse_args()
    compiled.compiled()
    start = time.monotonic()
    for title, text in sections(options.parts.split(","), options.seed, options.quick, options.exam):
        print(f"## {title}\n\n{text}\n", flush=True)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
