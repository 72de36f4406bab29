"""Every example beside its gold file, and who claims it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.readers.gold import EXAMPLES, examples, gold_of, text

from chronicle.readers import READERS, read
from chronicle.readers.catalogue import Reader
from chronicle.readers.find import claims
from chronicle.readers.runs_in_table import loss_of

# The folder of a format's examples, where it is not called as the format.
FOLDER_OF = {"event file": "event_files", "trainer_state.json": "trainer_state", "megatron-golden": "golden"}


def folder_of(reader: Reader) -> str:
    return FOLDER_OF.get(reader.NAME, reader.NAME)


@pytest.fixture(autouse=True)
def in_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(EXAMPLES)


@pytest.mark.parametrize("example", examples(), ids=str)
def test_example_is_read_as_its_gold_file_says(example: Path) -> None:
    assert text(read(example)) == gold_of(example).read_text(), (
        "if this is right: python -m tests.readers.gold --force"
    )


@pytest.mark.parametrize("example", examples(), ids=str)
def test_exactly_its_own_reader_claims_an_example(example: Path) -> None:
    claimed = [folder_of(reader) for reader in claims(example)]
    assert claimed == [example.parts[0]]


@pytest.mark.parametrize("example", examples(), ids=str)
def test_content_decides_not_the_name(example: Path, tmp_path: Path) -> None:
    renamed = tmp_path / (f"{example.stem}.txt" if loss_of(example) else "log.txt")
    renamed.write_bytes(example.read_bytes())
    single_object = example.suffix == ".jsonl" and len(example.read_text().splitlines()) == 1
    assert claims(renamed) == ([] if single_object else claims(example))


def test_every_reader_has_an_example_and_every_gold_file_a_log() -> None:
    assert {example.parts[0] for example in examples()} == set(map(folder_of, READERS))
    golds = {gold.relative_to(EXAMPLES) for gold in EXAMPLES.rglob("*.gold.json")}
    assert golds == {gold_of(example).relative_to(EXAMPLES) for example in examples()}
