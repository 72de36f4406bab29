"""Scores the classifier on folders of labelled runs, and writes the totals into docs/exam.md.

    python -m benchmarks.exam NAME=DIR … [--write]

Cases in a format that no reader knows yet count as failed in the first table and are left out of the second.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from pathlib import Path

from chronicle.classify import VERSION
from chronicle.produce import predict
from chronicle.score import CaseResult, score_folder, total

PAGE = Path(__file__).parent.parent / "docs" / "exam.md"
HEAD = [
    "cases passed", "verdict, balanced", "required patterns, macro", "forbidden named", "event recall",
    "precision", "typing, strict", "false alarms /100k healthy points", "pictures",
]  # fmt: skip


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def row(name: str, results: Sequence[CaseResult]) -> str:
    """One line of the table."""
    t = total(results)
    pictures = {r.seed_picture: True for r in results if r.seed_picture}
    for result in results:
        if result.seed_picture and not result.passed:
            pictures[result.seed_picture] = False
    alarms = t.events.false_alarms_per_100k
    cells = [
        name,
        f"{t.passed} of {t.cases}",
        share(t.verdicts.balanced),
        share(t.names.macro),
        str(t.names.forbidden),
        share(t.events.found / t.events.events if t.events.events else None),
        share(t.events.precision),
        share(t.events.typing_strict),
        "–" if alarms is None else f"{alarms:.1f}",
        f"{sum(pictures.values())} of {len(pictures)}" if pictures else "–",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", metavar="NAME=DIR")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/exam.md")
    options = parser.parse_args()
    lines = [f"| set | {' | '.join(HEAD)} |", "| --- " * (len(HEAD) + 1) + "|"]
    failed = []
    for item in options.sets:
        name, folder = item.split("=", 1)
        results = score_folder(Path(folder), predict).cases
        readable = [r for r in results if not r.error]
        lines.append(row(name, results))
        if len(readable) < len(results):
            lines.append(row(f"{name}, formats that are read", readable))
        failed += [f"- {name}: `{r.id}`" for r in readable if not r.passed]
    table = "\n".join(lines)
    text = f"{time.strftime('%Y-%m-%d')}, classifier {VERSION}.\n\n{table}\n"
    text += "\nRead and not passed:\n\n" + "\n".join(failed) + "\n" if failed else ""
    print(text)
    if options.write:
        page = PAGE.read_text("utf-8")
        place = re.search(r"(<!-- results -->\n)(.*?)(<!-- end -->)", page, re.S)
        assert place
        PAGE.write_text(f"{page[: place.start(2)]}\n{text}\n{page[place.end(2) :]}", "utf-8")


if __name__ == "__main__":
    main()
