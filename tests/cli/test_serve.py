"""chronicle serve: on this machine alone, and built again when something changed."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest
from tests.cli.test_cli import healthy, plain_engine

from chronicle.cli.serve import rebuild_if_changed, state
from chronicle.workspace.folders import Workspace


@pytest.mark.slow
def test_a_site_is_served_on_the_loopback_address(chronicle, tmp_path):
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    command = [sys.executable, "-u", "-m", "chronicle", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            said = server.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert address, said
            with urllib.request.urlopen(address[0] + "runs/a/index.html", timeout=10) as page:
                assert page.status == 200
        finally:
            server.terminate()  # an interrupt is ignored by the children of a shell's background job
        assert server.wait(timeout=20) == -signal.SIGTERM


@pytest.mark.slow
def test_a_port_that_is_taken(chronicle, tmp_path):
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = chronicle("serve", "--port", str(port))
    assert ran.code == 2
    assert ran.err == (
        f"error: --port {port}: Address already in use. Remedy: name another, or 0 for any free one\n"
    )


@pytest.mark.slow
def test_a_new_note_builds_again_and_an_error_does_not_end_it(chronicle, tmp_path):
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    workspace = Workspace.find(tmp_path)
    said: list[str] = []
    before = rebuild_if_changed(workspace, None, {}, said.append)
    assert rebuild_if_changed(workspace, None, before, said.append) == before
    assert said == ["built again: 1 runs"]
    chronicle("note", "a", "seen")
    assert state(workspace) != before
    (tmp_path / "mkdocs.yml").unlink()
    rebuild_if_changed(workspace, None, before, said.append)
    assert said[1:] == [f"error: mkdocs.yml: is missing in {tmp_path}. Remedy: chronicle init ."]
