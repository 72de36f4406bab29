"""Logs that today's clients wrote, beside what each was given to log (see `benchmarks.clients`).

    CHRONICLE_CLIENTS_STEPS=48 python -m benchmarks.clients run CLIENT

writes such a log: one tiny training in three launches, the second a rollback, the third a resume.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.clients.compare import Cell, as_read, truth_of

import chronicle

CLIENTS = Path(__file__).parent / "clients"


@pytest.mark.parametrize("client", sorted(folder.name for folder in CLIENTS.iterdir()))
def test_what_a_client_logged_is_what_is_read(client: str) -> None:
    truth = truth_of(CLIENTS / client)
    names = {name for launch in truth["launches"] for name in launch}
    assert as_read(CLIENTS / client) == (
        Cell(len(names), len(names)),
        Cell(len(names & truth["roles"].keys()), len(names & truth["roles"].keys())),
        Cell(len(truth["joins"]), len(truth["joins"])),
    )
    assert len(chronicle.runs(CLIENTS / client / "log")) == 1
