"""A line of any kind, however long, costs work in proportion to its length, whichever reader looks at it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from tests.depth import few
from tests.work import in_proportion

from chronicle.errors import BadLog
from chronicle.readers.console import FORMATS, Format
from chronicle.readers.text import Head

# Beginnings of records that never come to their end.
PIECES = (
    "iteration 1/ 2 |a:x", "iteration 1/ 2 | lm loss: 1 |", ":x", "successfully saved checkpoint ",
    "world size: 1-size: 2", "a", "a ", "a.", "a-", "a=", "1", "1/1", "1 2.5 ", "x .... ", "....",
    "overflow ", "step=1, skipped=1, lr=[", "loss: 1 ", "epoch: 0|step: 0|", "|E2E latency=1 ",
    "iteration: 1 / 2 | a: 1K | ",
    "s:0 trl:1 ", "step:1/2 train_loss:1 ", "DLL ", ':::MLLOG {"key": ', "{'loss': 1, ", "| train_inner | {",
    "num_updates=1, ", "iter 1: loss 1, ", "10/10 [==", "Iter 1: Train loss ", "step: 1 loss: 1 ", "\x1b[",
    "\x1b]0;", "[2025-01-01 10:00:00] ", "[default0]:", "(a pid=1", " \t",
)  # fmt: skip
LENGTH = 60_000


@pytest.mark.slow
@pytest.mark.parametrize("piece", few(PIECES, 8))
def test_a_line_of_one_piece_again_and_again_costs_no_square_of_its_length(
    piece: str, tmp_path: Path
) -> None:
    log = tmp_path / "log.txt"

    def look(length: int) -> None:
        log.write_text(piece * (length // len(piece)) + "\nend\n")
        for reader in FORMATS:
            reader.identify(Head.of(log))
            with contextlib.suppress(BadLog):
                reader.read(log)

    assert in_proportion(look, LENGTH)


def test_every_format_but_the_last_has_marks() -> None:
    names = [reader.NAME for reader in FORMATS]
    assert {reader.NAME for reader in FORMATS if isinstance(reader, Format) and reader.marks} < set(names)
    assert len(set(names)) == len(names)
