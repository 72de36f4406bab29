"""What several test files share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from chronicle.__main__ import main

# No test depends on how busy the machine is: an example may take as long as it takes.
settings.register_profile("chronicle", deadline=None)
settings.load_profile("chronicle")


@dataclass(frozen=True)
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def chronicle(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Ran]:
    """Runs a command in an empty folder, as a shell would, and gives what it printed."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr("sys.argv", ["chronicle", *map(str, arguments)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(bool(end.code))
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return run
