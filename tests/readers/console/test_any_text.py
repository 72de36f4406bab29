"""Whatever stands in a text log, each console reader answers with attempts or with a LogError, and soon."""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.depth import examples as deep
from tests.depth import few
from tests.readers.gold import EXAMPLES, examples
from tests.work import in_proportion

from chronicle.errors import LogError
from chronicle.readers.console import FORMATS, machine
from chronicle.readers.text import Head

READERS = (*FORMATS, machine)
NAMES = [reader.NAME for reader in READERS]
FOLDERS = {example.parts[0] for example in examples()}
NUMBERS = st.sampled_from(
    ["nan", "-inf", "1e400", "-0", "9" * 30, "1.5.2", "1,2,3", "٣", "0x1p3", "1e-5", "", "None"]
)


@functools.cache
def lines_of(reader) -> list[str]:
    """All lines of a reader's examples."""
    folder = reader.NAME if reader.NAME in FOLDERS else "key-value"
    files = [EXAMPLES / e for e in examples() if e.parts[0] == folder]
    return [line for file in files for line in file.read_text("utf-8", "replace").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=NAMES)
@settings(max_examples=deep(30, 8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_lines_with_other_numbers_and_words(reader, data, tmp_path: Path) -> None:
    random_ = data.draw(st.randoms(use_true_random=False))
    words = [w for line in random_.choices(lines_of(reader), k=6) for w in line.split(" ")]
    for _ in range(4):
        words[random_.randrange(len(words))] = data.draw(st.one_of(NUMBERS, st.text(max_size=5)))
    log = tmp_path / "log.txt"
    log.write_text(" ".join(words).replace("\x00", "") + "\n", "utf-8", errors="replace", newline="")
    reader.identify(Head.of(log))
    try:
        attempts = reader.read(log)
    except LogError:
        return
    for attempt in attempts:
        assert all(len(s.steps) == len(s.values) == len(s.times) for s in attempt.series.values())


# The beginning of a record of each format, behind which a line goes wrong.
BEGINNINGS = {
    "nanogpt": "step 5 | loss: 1.0 | ",
    "dllogger": "DLL 2020-06-03 16:10:00.000 - Epoch: 0 Iteration: 5  loss : 1.0  ",
    "mlx": "Iter 20: Train loss 1.0, ",
    "keras-console": "5/5 [=====] - 1s - loss: 1.0 - ",
    "hf-console": "{'loss': 1.0, 'epoch': 1.0} {'",
    "torchtitan": "step: 1  loss:  1.0 ",
    "fairseq": "| train | epoch 1 | loss 1.0 | num_updates 5 | ",
    "mlperf": ':::MLLOG {"key": "train_loss", "value": 1, "metadata": {"step": 1}} ',
    "llm.c": "s:1 trl:1.0 ",
    "modded-nanogpt": "step:1/2 train_loss:1.0 train_time:1ms ",
}


JUNK = ("a", "A ", "1", "1,", "=", "'a': ", "{'", "| a ", "[", "epoch': ")


@pytest.mark.slow
@pytest.mark.parametrize("name", BEGINNINGS)
def test_work_grows_with_the_length_of_a_line_and_not_with_its_square(name: str, tmp_path: Path) -> None:
    (reader,) = [reader for reader in FORMATS if name == reader.NAME]
    for junk in few(JUNK, 3):
        assert in_proportion(of_line(reader, tmp_path, BEGINNINGS[name], junk), 100_000), junk


def of_line(reader, folder: Path, beginning: str, junk: str) -> Callable[[int], None]:
    """Asks a reader for a line of any length."""

    def look(length: int) -> None:
        log = folder / "log.txt"
        log.write_text(beginning + junk * (length // len(junk)) + "\n", "utf-8")
        reader.identify(Head.of(log))
        with contextlib.suppress(LogError):
            reader.read(log)

    return look


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS, ids=NAMES)
def test_one_long_line_costs_no_square_of_its_length(reader, tmp_path: Path) -> None:
    lines = lines_of(reader)
    for line in few(random.Random(0).sample(lines, min(4, len(lines))), 1):
        assert in_proportion(of_line(reader, tmp_path, "", line + " "), 100_000), line
