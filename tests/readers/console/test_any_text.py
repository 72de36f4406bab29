"""Whatever stands in a text log, each console reader answers with attempts or with a LogError, and soon."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.depth import examples as deep
from tests.readers.gold import EXAMPLES, examples

from chronicle.errors import LogError
from chronicle.readers.console import FORMATS, machine
from chronicle.readers.text import Head

READERS = {reader.NAME: reader for reader in FORMATS} | {"machine-log": machine}
FOLDERS = {example.parts[0] for example in examples()}
NUMBERS = st.sampled_from(
    ["nan", "-inf", "1e400", "-0", "9" * 30, "1.5.2", "1,2,3", "٣", "0x1p3", "1e-5", "", "None"]
)


@functools.cache
def lines_of(name: str) -> list[str]:
    """All lines of a reader's examples."""
    folder = name if name in FOLDERS else "key-value"
    files = [EXAMPLES / e for e in examples() if e.parts[0] == folder]
    return [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@settings(max_examples=deep(30, 8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_lines_with_other_numbers_and_words(name: str, data, tmp_path: Path) -> None:
    random_ = data.draw(st.randoms(use_true_random=False))
    words = [w for line in random_.choices(lines_of(name), k=6) for w in line.split(" ")]
    for _ in range(4):
        words[random_.randrange(len(words))] = data.draw(st.one_of(NUMBERS, st.text(max_size=5)))
    log = tmp_path / "log.txt"
    log.write_text(" ".join(words).replace("\x00", "") + "\n", "utf-8", errors="replace", newline="")
    READERS[name].identify(Head.of(log))
    try:
        attempts = READERS[name].read(log)
    except LogError:
        return
    for attempt in attempts:
        assert all(len(s.steps) == len(s.values) == len(s.times) for s in attempt.series.values())
