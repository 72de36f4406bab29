"""The matrix as text and as a page of the guide."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.clients.compare import Row

COLUMNS = ("recognised", "values", "roles", "joins", "events", "facts")


def told(rows: Sequence[Row]) -> str:
    """The matrix for a terminal, with what is wrong below each row."""
    lines = [f"{'client':22}" + "".join(f"{name:>12}" for name in COLUMNS)]
    for row in rows:
        cells = [getattr(row, name) for name in COLUMNS]
        lines.append(f"{row.client:22}" + "".join(f"{cell!s:>12}" for cell in cells))
        lines += [f"    {n}: {cell.told}" for n, cell in zip(COLUMNS, cells, strict=True) if cell.told]
    return "\n".join(lines)


def written_page(rows: Sequence[Row]) -> None:
    """Writes the matrix into docs/clients.md."""
