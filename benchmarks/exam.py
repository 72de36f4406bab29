"""Scores the classifier on folders of labelled runs, and writes the totals into docs/exam.md.

    python -m benchmarks.exam NAME=DIR … [--write]

Cases in a format without a reader count as failed in the first table, and are left out of the second one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.page import arguments, markdown, replace
from chronicle.classify import VERSION
from chronicle.cli.commands import predict
from chronicle.errors import ChronicleError
from chronicle.score import CaseResult, score_folder, total

PAGE = Path(__file__).parent.parent / "docs" / "exam.md"
HEAD = [
    "set", "cases passed", "verdict, balanced", "required patterns, macro", "forbidden named", "event recall",
    "precision", "typing, strict", "false alarms /100k healthy points", "pictures",
]  # fmt: skip


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def row(name: str, results: Sequence[CaseResult]) -> tuple[str, ...]:
    """One line of the table."""
    t = total(results)
    alarms = t.events["false_alarms_per_100k"]
    return (
        name,
        f"{t.passed} of {t.cases}",
        share(t.verdicts["balanced"]),
        share(t.names["macro"]),
        str(t.names["forbidden"]),
        share(t.events["found"] / t.events["events"] if t.events["events"] else None),
        share(t.events["precision"]),
        share(t.events["typing_strict"]),
        "–" if alarms is None else f"{alarms:.1f}",
        f"{sum(t.pictures.values())} of {len(t.pictures)}" if t.pictures else "–",
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("sets", nargs="+", metavar="NAME=DIR")
    given = parser.parse_args()
    rows, failed = [], []
    for item in given.sets:
        name, _, folder = item.partition("=")
        if not folder:
            parser.error(f"{item} is not of the form NAME=DIR")
        try:
            results = score_folder(Path(folder), predict).cases
        except ChronicleError as err:
            parser.error(str(err))
        readable = [r for r in results if not r.error]
        rows.append(row(name, results))
        if len(readable) < len(results):
            rows.append(row(f"{name}, formats that are read", readable))
        failed += [f"- {name}: `{r.id}`" for r in readable if not r.passed]
    text = f"{time.strftime('%Y-%m-%d')}, classifier {VERSION}.\n\n{markdown(HEAD, rows)}\n"
    text += "\nRead and not passed:\n\n" + "\n".join(failed) + "\n" if failed else ""
    print(text)
    if given.write:
        replace("results", f"\n{text}\n", PAGE)


if __name__ == "__main__":
    main()
