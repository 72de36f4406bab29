"""Rows that stand for readers: they say what the modules say, and import no more of them than is asked."""

from __future__ import annotations

import math
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from tests.fresh import printed_by

from chronicle.readers import READERS
from chronicle.readers.console import format_of, plan
from chronicle.readers.csv_tables import METRIC_FOLDERS
from chronicle.readers.find import claims, folder_claims
from chronicle.readers.text import HEAD_BYTES, Head

EXAMPLES = Path(__file__).parent / "examples"
HOOKS = ("identify_folder", "read_folder", "foreign", "read_many", "runs", "run_key", "lacks")
WANDB = b":W&B\xe1\xbe\0"  # how a run file begins


def stands_for(reader):
    """The module that a row stands for, or the row of its table of formats."""
    module = import_module(f"chronicle.readers.{reader.module}")
    return getattr(module, "BY_NAME", {}).get(reader.NAME, module)


@pytest.mark.parametrize("reader", READERS, ids=lambda r: r.NAME)
def test_row_has_the_hooks_of_its_module(reader) -> None:
    has = [name for name in HOOKS if hasattr(stands_for(reader), name)]
    assert [name for name in HOOKS if hasattr(reader, name)] == has
    assert bool(reader.folder_has) == ("identify_folder" in has)
    assert not hasattr(reader, "no_such_hook")


def modules_of_readers() -> list[str]:
    """The modules below `chronicle.readers` that read files of their own."""
    folder = Path(import_module("chronicle.readers").__file__ or "").parent
    files = (file for file in folder.rglob("*.py") if file.parent != folder or file.stem != "__init__")
    return sorted(
        file.relative_to(folder).with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")
        for file in files
        if re.search(r"^(?:def read\(|BY_NAME\b.* = )", file.read_text("utf-8"), re.MULTILINE)
    )


def test_every_reader_has_a_row_of_its_own() -> None:
    names = list[tuple[str, str]]()
    for module in modules_of_readers():
        made = vars(import_module(f"chronicle.readers.{module}"))
        names += [(module, name) for name in made.get("BY_NAME", ())]
        of_module = [r.NAME for r in READERS if r.module == module and r.NAME not in made.get("BY_NAME", ())]
        assert len(of_module) == ("read" in made), module
        names += [(module, name) for name in of_module]
    assert sorted(names) == sorted((reader.module, reader.NAME) for reader in READERS)


@pytest.mark.parametrize(
    ("files", "claimed"),
    [
        ({"run-a.wandb": WANDB}, ["wandb"]),
        ({".wandb": WANDB}, ["wandb"]),
        ({"run-a.wandb": WANDB, "run-b.wandb": WANDB}, []),
        ({"run-a.wandb": b"text"}, []),
        ({"meta.yaml": b"run_id: a\n", "metrics/loss": b""}, ["mlflow"]),
        ({"meta.yaml": b"experiment_id: a\n", "metrics/loss": b""}, []),
        *(({f"{place}/loss.tsv": b"step\tloss\n"}, ["csv"]) for place in METRIC_FOLDERS),
        ({"scalars/notes.txt": b"step\n"}, []),
        ({"loss.csv": b"step,loss\n1,2\n"}, []),
        ({}, []),
    ],
)
def test_folder_is_claimed_by_the_modules_that_claim_it(
    files: dict[str, bytes], claimed: list[str], tmp_path: Path
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert [reader.NAME for reader in folder_claims(tmp_path)] == claimed
    modules = list(map(stands_for, READERS))
    asked = [(r.NAME, m) for r, m in zip(READERS, modules, strict=True) if hasattr(m, "identify_folder")]
    assert [name for name, module in asked if module.identify_folder(tmp_path)] == claimed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "imported"),
    [("chronicle.readers.all_readers()", []), ("chronicle.readers.read({!r})", ["chronicle.readers.events"])],
)
def test_only_what_is_asked_is_imported(what: str, imported: list[str]) -> None:
    log = str(EXAMPLES / "event_files" / "events.out.tfevents.1700000000.host.1.0")
    code = f"import sys, chronicle.readers; {what.format(log)}; print(*sys.modules, sep='\\n')"
    of_readers = {f"chronicle.readers.{module}" for module in modules_of_readers()}
    assert sorted(of_readers & set(printed_by(code).split())) == imported


OF_BYTES = [reader for reader in READERS if hasattr(stands_for(reader), "identify")]  # else by its mark


@pytest.mark.parametrize("reader", OF_BYTES, ids=lambda r: r.NAME)
def test_a_head_that_is_not_shown_to_a_reader_is_none_that_it_knows(reader, tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(4096)
    made = {
        "noise.log": noise,
        "zeros.csv": bytes(4096),
        "half.json": b'{"a": 1}\n' + noise,
        "empty.txt": b"",
    }
    for name, content in made.items():
        (tmp_path / name).write_bytes(content)
    files = [tmp_path / name for name in made] + [f for f in EXAMPLES.rglob("*") if f.is_file()][::5]
    for head in map(Head.of, files):
        assert reader.identify(head) == bool(stands_for(reader).identify(head)), head.path


@pytest.mark.parametrize(
    ("content", "n"),
    [
        (b"", 0),
        (b"Nothing to see here.\n", 0),
        (b"note 12 of 3\n", 2),
        (b"loss nan, then INF\n", 2),
        (b"1" + bytes(9), math.inf),
        (b"x" * HEAD_BYTES, math.inf),
    ],
)
def test_the_numbers_of_a_short_text_are_counted(content: bytes, n: float, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    assert Head.of(tmp_path / "a.txt").n_numbers == n


def test_no_console_format_is_sought_in_a_short_text_with_hardly_a_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at = list[Path]()
    monkeypatch.setattr(plan, "sample", lambda head: looked_at.append(head.path) or b"")
    monkeypatch.setattr(import_module(format_of.__module__), "sample", plan.sample)
    for n in range(4):
        (tmp_path / f"{n}.txt").write_text("".join(f"of {i}\n" for i in range(n)))
        assert claims(tmp_path / f"{n}.txt") == []
    assert [path.stem for path in looked_at] == ["1", "2", "3", "3"]  # of formats, and of any text
