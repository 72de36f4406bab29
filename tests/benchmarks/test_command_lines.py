"""Wrong input to a command of the benchmarks or of the exam is one line that says what is wrong."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

NO_FOLDER = "argument --from: none is no folder. Remedy: name the one that holds the snapshots"
NO_RUNS = "none: no labelled runs. Remedy: put a label.toml beside the logs in the folder of each run"
NO_NUMBER = "argument {}: {!r} is no whole number of at least 1"


@pytest.mark.parametrize(
    ("module", "words", "error"),
    [
        ("exam.materialise", "--from none out", NO_FOLDER),
        ("exam.materialise", "out", "the following arguments are required: --from"),
        (
            "exam.materialise",
            "--from . a.csv/out",
            "a.csv/out: Not a directory. Remedy: name a folder for the logs that you may write",
        ),
        ("exam.view", "none", "none is no file. Remedy: name one log"),
        (
            "exam.view",
            "--line ( a.csv",
            "argument --line: ( is not a regular expression: missing ), "
            "unterminated subpattern at position 0",
        ),
        ("exam.view", "a.csv --draw a.png acc", "no series acc. It has: loss"),
        ("benchmarks.pointers", "--from none", NO_FOLDER),
        ("benchmarks.exam", "a=none", NO_RUNS),
        ("benchmarks.exam", "none", "none is not of the form NAME=DIR"),
        ("benchmarks.torture", "--kills many", NO_NUMBER.format("--kills", "many")),
        ("benchmarks.torture", "--kills 0", NO_NUMBER.format("--kills", "0")),
        ("benchmarks.torture", "--seed one", "argument --seed: invalid int value: 'one'"),
        ("benchmarks.scale", "--points -1", NO_NUMBER.format("--points", "-1")),
        ("benchmarks.stitch", "--attempts 100 1.5", NO_NUMBER.format("--attempts", "1.5")),
    ],
)  # fmt: skip
def test_wrong_input_is_told_in_one_line(
    module: str,
    words: str,
    error: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.csv").write_text("step,loss\n1,0.5\n2,0.4\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["command", *words.split()])
    with pytest.raises(SystemExit) as end:
        importlib.import_module(module).main()
    printed = capsys.readouterr()
    assert (end.value.code, printed.out) == (2, "")
    assert printed.err.splitlines()[-1] == f"command: error: {error}"
