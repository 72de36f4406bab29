"""Columns on disk: what was added comes back, in order, whatever of it is still in memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chronicle.classify.monitor import ROW, ROWS_IN_MEMORY, Column


@pytest.mark.parametrize(
    "sizes",
    [
        [],
        [1],
        [ROWS_IN_MEMORY - 1, 1, 1],
        [ROWS_IN_MEMORY, 0, ROWS_IN_MEMORY + 7],
        [3, 2 * ROWS_IN_MEMORY, 5],
    ],
)
def test_rows_come_back_in_the_order_they_were_added(sizes: list[int], tmp_path: Path) -> None:
    """Rows are appended one by one and as a whole in turns, and read in between."""
    column, added = Column(tmp_path / "column.bin"), 0
    for number, size in enumerate(sizes):
        if number % 2:
            steps = np.arange(added, added + size)
            column.extend(np.rec.fromarrays([steps, steps / 3, -steps], dtype=ROW))
        else:
            for step in range(added, added + size):
                column.append(step, step / 3, -step)
        added += size
        assert column.rows()["step"].tolist() == list(range(added))
    rows = column.rows()
    assert len(column) == len(rows) == added
    assert rows["value"].tolist() == (np.arange(added) / 3).tolist() and (rows["time"] == -rows["step"]).all()
