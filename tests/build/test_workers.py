"""Workers: all that they do comes back, a killed one costs what it did, and none outlives its parent."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.build.tasks import failing, killed_at_seven, lost
from tests.depth import few

from chronicle import errors
from chronicle.build.workers import held, in_processes, run_module


@pytest.mark.slow
def test_every_result_comes_back_once_but_what_killed_its_worker() -> None:
    results = sorted(in_processes(killed_at_seven, range(9), 2, lost))
    assert results == sorted(-7 if n == 7 else 2 * n for n in range(9))


@pytest.mark.slow
def test_what_the_system_refuses_a_worker_is_raised() -> None:
    with pytest.raises(OSError, match="No space left on device") as err:
        list(in_processes(failing, range(9), 2, lost))
    assert err.value.errno == 28


@pytest.mark.parametrize(
    ("err", "text"),
    [
        (errors.ConfigError("run.toml", "gpus", "must be a number"), "run.toml: gpus: must be a number"),
        (errors.ConfigError("mkdocs.yml", "", "is missing"), "mkdocs.yml: is missing"),
        (errors.BadLog("a.csv:7", "no number"), "a.csv:7: no number"),
        (errors.UsageError("no such file"), "no such file"),
        (
            errors.MissingExtra("--dask", "dask", "distributed"),
            "--dask needs the package 'distributed', which is not installed. Remedy: pip install distributed",
        ),
        (
            errors.MissingExtra("reading https://a.org", "http", "fsspec"),
            "reading https://a.org needs the package 'fsspec', which is not installed. "
            "Remedy: pip install 'fsspec[http]'",
        ),
        (
            errors.Defect("a.csv", "chronicle failed on it", remedy="report it"),
            "a.csv: chronicle failed on it. Remedy: report it",
        ),
    ],
)
def test_what_is_wrong_with_a_run_goes_to_a_worker_and_back(err: Exception, text: str) -> None:
    there = pickle.loads(pickle.dumps(err))
    assert (type(there), str(there), vars(there)) == (type(err), text, vars(err))


# A build in small: two workers that have unpacked something and then wait for ever, and the id of each.
PARENT = """
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
sys.path[:0] = {path!r}
from tests.build.tasks import waiting, lost
from chronicle.build.workers import in_processes
if __name__ == "__main__":
    list(in_processes(waiting, [sys.argv[1]] * 2, 2, lost))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "number", few([signal.SIGKILL, signal.SIGTERM, signal.SIGINT], 2), ids=lambda n: n.name
)
def test_workers_end_with_their_parent_and_leave_nothing(tmp_path: Path, number: signal.Signals) -> None:
    file, pipe, temporary = tmp_path / "parent.py", tmp_path / "said", tmp_path / "temporary"
    file.write_text(PARENT.format(path=[p for p in sys.path if p]))
    temporary.mkdir()
    os.mkfifo(pipe)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen([sys.executable, str(file), str(tmp_path)], env=environment, **pipes) as parent:
        with pipe.open() as output:
            workers = {int(output.readline()) for _ in range(2)}
            assert parent.pid not in workers
            parent.send_signal(number)
            assert output.read() == ""  # ends when the last worker has ended
        assert parent.stdout
        parent.stdout.read()  # ends when nobody holds it open: what a scheduler waits for
    assert list(temporary.iterdir()) == []


def test_a_module_runs_as_by_name_and_what_it_prints_comes_back(tmp_path: Path) -> None:
    code, printed = run_module("json.tool", ["--no-such-option"], dict(os.environ), tmp_path)
    assert code == 2
    assert "unrecognized arguments: --no-such-option" in printed


def test_nothing_is_imported_from_the_folder_that_an_engine_works_in(tmp_path: Path) -> None:
    (tmp_path / "this.py").write_text("print('planted')\n")
    assert run_module("this", [], dict(os.environ), tmp_path)[1].startswith("The Zen of Python")


ENGINE = """
import os, sys
from pathlib import Path
from chronicle.build.workers import run_module
run_module(sys.argv[1] + "/waits.py", [sys.argv[1]], dict(os.environ), Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_the_engine_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(
        "import signal, sys\nwith open(sys.argv[1] + '/said', 'w') as said:\n"
        "    said.write('here\\n')\n    said.flush()\n    signal.pause()\n"
    )
    os.mkfifo(tmp_path / "said")
    engine = subprocess.Popen([sys.executable, "-c", ENGINE, str(tmp_path)])
    with engine as parent, (tmp_path / "said").open() as output:
        assert output.readline() == "here\n"
        parent.kill()
        assert output.read() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_another_thread_takes_waits_until_workers_have_begun(number: signal.Signals) -> None:
    """A worker whose parent ends while it is told what to do prints a traceback."""
    events, may_end = [], threading.Event()
    other = threading.Thread(target=may_end.wait)  # takes the signal when it wakes up, as one of BLAS would
    other.start()
    before = signal.signal(number, lambda *_: events.append("ended"))
    try:
        with held():
            signal.pthread_kill(other.ident or 0, number)
            may_end.set()
            other.join()
            events.append("begun")
    finally:
        signal.signal(number, before)
    assert events == ["begun", "ended"]


def test_an_error_of_a_log_that_gets_another_name_says_the_same():
    first = errors.Defect("a.csv", "chronicle failed on it", remedy="report it")
    again = type(first)("b.csv", first.problem)
    assert str(again) == "b.csv: chronicle failed on it. Remedy: report it"
