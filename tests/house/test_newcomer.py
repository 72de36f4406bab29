"""What it costs to add a format or a pattern: toys, added to a copy of the source as CONTRIBUTING.md says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "chronicle"

CONSOLE_FORMAT = '''"""A toy: ``toy 3 has 2.5``."""

from __future__ import annotations

import re
from pathlib import Path

from chronicle.model import Attempt
from chronicle.readers.console.log import Log

MARKS = (rb"toy \\d+ has [-\\d]",)
SHAPE = re.compile(r"toy (\\d+) has (\\S+)")


def read(path: Path) -> list[Attempt]:
    """One attempt."""
    log = Log(path)
    for line in log.lines(re.compile(MARKS[0])):
        if match := SHAPE.search(line.text):
            log.add(line, int(match[1]), {"loss": float(match[2])})
    return [log.attempt()]
'''
BINARY_READER = '''"""A toy: TOY, then a double a step."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from chronicle.model import Attempt, Role, Series
from chronicle.readers.text import Head


def identify(head: Head) -> bool:
    """By its first bytes."""
    return head.start.startswith(b"TOY")


def read(path: Path) -> list[Attempt]:
    """One attempt."""
    values = np.frombuffer(path.read_bytes()[3:], "<f8")
    series = Series("loss", Role.OTHER, np.arange(len(values)), values, np.full(len(values), np.nan))
    return [Attempt(path.name, (str(path),), {"loss": series})]
'''
RULE = '''"""toy

Sees: a loss that is exactly 7.
"""

from __future__ import annotations

from collections.abc import Iterator

from chronicle.classify.report import At, Rule, at_least, finding
from chronicle.classify.view import AttemptView, View
from chronicle.model import Finding, Series

SEVEN = 7.0


def find(view: View, attempt: AttemptView, loss: Series) -> Iterator[Finding]:
    for step in loss.steps[loss.values == SEVEN]:
        check = at_least("the loss", SEVEN, "nats", SEVEN, "loss_nats")
        yield finding("toy", At(attempt, loss, step), [check], severity=1.0, confidence=1.0)


RULE = Rule("toy", ("toy",), Rule.by_loss(find))
'''
PRINT_SERIES = (
    "import sys, chronicle; (a,) = chronicle.read(sys.argv[1]); "
    "print(a.facts['format'], a.series['loss'].steps.tolist(), a.series['loss'].values.tolist())"
)


ROW = """        LineFormat("toy",
            MARKS=(rb"toy \\d+ has [-\\d]",),
            record=re.compile(r"toy (?P<step>\\d+) has (?P<rest>.*)"),
            pair=re.compile(r"(loss)=(\\S+)()")),
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the source that a newcomer may change."""
    copy = tmp_path / "src" / "chronicle"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def insert(file: Path, before: str, line: str) -> None:
    """One line in a list, before another one."""
    text = file.read_text("utf-8")
    assert text.count(before) == 1
    file.write_text(text.replace(before, line + before), "utf-8")


def run(package: Path, *arguments: str) -> str:
    """What Python prints with the changed source."""
    command = [sys.executable, *arguments]
    environment = {"PYTHONPATH": str(package.parent), "PATH": ""}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("kind", ["module", "row"])
def test_a_console_format_is_a_module_or_a_row_and_a_line(kind: str, package: Path, tmp_path: Path) -> None:
    console, log = package / "readers" / "console", tmp_path / "run.log"
    if kind == "module":
        (console / "toy.py").write_text(CONSOLE_FORMAT)
        log.write_text("starting\ntoy 1 has 2.5\nnoise\ntoy 2 has 2.25\n")
    else:
        insert(console / "line_formats.py", '        LineFormat("llm.c",\n', ROW)
        log.write_text("starting\ntoy 1 has 2.5 loss=2.5\nnoise\ntoy 2 has 2.5 loss=2.25\n")
    place = "console.toy" if kind == "module" else "console.line_formats"
    insert(
        console / "__init__.py",
        '    Format("console.dictionaries", "mlperf"),\n',
        f'    Format("{place}", "toy"),\n',
    )
    assert run(package, "-c", PRINT_SERIES, str(log)) == "toy [1, 2] [2.5, 2.25]\n"


def test_a_binary_reader_is_a_module_and_a_line(package: Path, tmp_path: Path) -> None:
    (package / "readers" / "toy.py").write_text(BINARY_READER)
    insert(
        package / "readers" / "catalogue.py",
        "        *FORMATS,\n",
        '        OnDemand("toy", "toy", (".toy",)),\n',
    )
    log = tmp_path / "run.toy"
    log.write_bytes(b"TOY" + bytes(8) * 3)
    assert run(package, "-c", PRINT_SERIES, str(log)) == "toy [0, 1, 2] [0.0, 0.0, 0.0]\n"


@pytest.mark.slow
def test_a_pattern_is_a_row_a_rule_and_a_line(package: Path, tmp_path: Path) -> None:
    (package / "classify" / "rules" / "toy.py").write_text(RULE)
    rules = package / "classify" / "rules" / "__init__.py"
    insert(rules, "    whole_run,\n)", "    toy,\n")
    insert(rules, "    slow_changes.STEPS,\n", "    toy.RULE,\n")
    insert(
        package / "classify" / "patterns.py",
        '    Pattern("plateau", ',
        '    Pattern("toy", "Toy", BAD, says="the loss was {loss_nats:stated} at {start}", short="7"),\n',
    )
    log = tmp_path / "run.csv"
    rows = (f"{step},{7.0 if step == 300 else 2.0 + 0.001 * (step % 7)}" for step in range(600))
    log.write_text("step,loss\n" + "\n".join(rows) + "\n")
    diagnosis = json.loads(run(package, "-m", "chronicle", "classify", str(log), "--json"))
    assert "toy" in diagnosis["patterns"]
    assert [f["start_step"] for f in diagnosis["findings"] if f["pattern"] == "toy"] == [300]
    assert "The loss was 7 at step 300. " in run(package, "-m", "chronicle", "explain", str(log))
