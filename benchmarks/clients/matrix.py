"""The matrix as text and as a page of the guide."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.clients.compare import Row
from benchmarks.page import markdown, put, replace

PAGE = Path(__file__).parents[2] / "docs" / "clients.md"
MOST_TOLD = 200  # characters of what is wrong in a cell
COLUMNS = ("recognised", "values", "roles", "joins", "events", "facts")
ALL = "**all**"


def told(rows: Sequence[Row]) -> str:
    """The matrix for a terminal, with what is wrong below each row."""
    lines = [f"{'client':22}" + "".join(f"{name:>12}" for name in COLUMNS)]
    for row in rows:
        cells = [getattr(row, name) for name in COLUMNS]
        lines.append(f"{row.client:22}" + "".join(f"{cell!s:>12}" for cell in cells))
        lines += [f"    {n}: {cell.told}" for n, cell in zip(COLUMNS, cells, strict=True) if cell.told]
    return "\n".join(lines)


def written_page(rows: Sequence[Row]) -> None:
    """Writes the matrix, and what is wrong in it, into docs/clients.md. Clients that were not run keep their
    rows."""
    head = ("client", "version", *COLUMNS)
    told = {
        row.client: (row.client, _versions(row), *(str(getattr(row, c)) for c in COLUMNS)) for row in rows
    }
    all_rows = [*(_kept() | told).values()]
    table = markdown(head, [_total(all_rows), *all_rows])
    wrong = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("- `")]
    wrong = [line for line in wrong if line.split("`")[1] not in told]
    wrong += [f"- `{row.client}`: {'; '.join(faults)}." for row in rows if (faults := _faults(row))]
    put("clients", "python -m benchmarks.clients table", table, PAGE)
    replace("wrong", f"\n{chr(10).join(wrong) or 'Nothing.'}\n\n", PAGE)


def _kept() -> dict[str, tuple[str, ...]]:
    """The rows of the page by client."""
    lines = (line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| "))
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return {
        row[0]: row for row in rows if len(row) == len(COLUMNS) + 2 and row[0] not in ("client", "---", ALL)
    }


def _total(rows: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """How many clients are right in each column, of those for which there was something to find."""
    columns = [*zip(*rows, strict=True)][2:]
    right = (f"{column.count('yes')} of {len(column) - column.count('–')}" for column in columns)
    return (ALL, f"{len(rows)} clients", *right)


def _versions(row: Row) -> str:
    return ", ".join(f"{package} {version}" for package, version in row.versions.items())


def _faults(row: Row) -> list[str]:
    """What is not right in a row, column by column."""
    cells = [(name, getattr(row, name)) for name in COLUMNS]
    return [
        f"{name}: {_plain(cell.told) or f'{cell}'}" for name, cell in cells if str(cell) not in ("yes", "–")
    ]


def _plain(told: str) -> str:
    """What is told, on one line of Markdown, without the folder of the log."""
    words = (word for word in told.replace("|", "/").split() if "/logs/" not in word)
    return " ".join(words)[:MOST_TOLD].rstrip(".")
