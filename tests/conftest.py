"""What several test files share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests import depth

from chronicle.__main__ import main

# No test depends on how busy the machine is: an example may take as long as it takes.
settings.register_profile("chronicle", deadline=None, max_examples=depth.EXAMPLES)
settings.load_profile("chronicle")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(depth.summary())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """One of several processes tells the first what it left out."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["left"] = depth.left


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    depth.left.update(node.workeroutput.get("left", {}))


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
