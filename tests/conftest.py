"""What several test files share."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tests import depth

from chronicle.__main__ import main

# As in the Makefile: the tests start Python some hundred times, and compile it and themselves only once.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# No test depends on how busy the machine is: an example may take as long as it takes.
settings.register_profile("chronicle", deadline=None, max_examples=depth.EXAMPLES)
settings.load_profile("chronicle")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is imported and collected stays till the end: it is not searched for garbage, then or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Dear modules first: a slow test that is begun last would leave the other cores idle.

    Each process of pytest-xdist works through a share of this list from its front, and then takes from the
    ends of the others. The first share begins with all that needs a browser, for it has one site and one
    Chromium in common; the others begin with the modules that hold a slow test, dealt out in turn.
    """
    n_shares = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    dear: list[list[pytest.Item]] = [[] for _ in range(n_shares)]
    cheap: list[pytest.Item] = []
    turn = cycle(range(1, n_shares) or [0])
    for _, group in groupby(items, key=lambda item: item.path):
        module = list(group)
        marks = {mark.name for item in module for mark in item.iter_markers()}
        share = dear[0] if "browser" in marks else dear[next(turn)] if "slow" in marks else cheap
        share += module
    n_left = len(items)
    items.clear()
    for number, share in enumerate(dear):
        size = n_left // (n_shares - number)  # as worksteal cuts the list
        n_cheap = max(0, size - len(share))
        items += share + cheap[:n_cheap]
        del cheap[:n_cheap]
        n_left -= size
    items += cheap


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
