"""chronicle serve: on this machine alone, and built again when something changed."""

import re
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from functools import partial
from http.client import HTTPConnection
from http.server import ThreadingHTTPServer

import pytest
from tests.logs import healthy, plain_engine

from chronicle.cli.serve import Site, rebuild_if_changed, state
from chronicle.workspace.folders import Workspace


@pytest.mark.slow
def test_a_site_is_served_on_the_loopback_address(chronicle, tmp_path):
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    command = [sys.executable, "-u", "-m", "chronicle", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            first_line = server.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/", first_line)
            assert address, first_line
            with urllib.request.urlopen(address[0] + "runs/a/index.html") as page:
                assert page.status == 200
        finally:
            server.terminate()  # an interrupt is ignored by the children of a shell's background job
        assert server.wait() == -signal.SIGTERM


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
        f"error: --port {port}: Address already in use. Remedy: name another port, or 0 for any free one\n"
    )


@pytest.mark.slow
def test_a_new_note_builds_again_and_an_error_does_not_end_it(chronicle, tmp_path):
    chronicle("init", ".")
    plain_engine(tmp_path)
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "a")
    workspace = Workspace.find(tmp_path)
    messages: list[str] = []
    before = rebuild_if_changed(workspace, None, {}, messages.append)
    assert rebuild_if_changed(workspace, None, before, messages.append) == before
    assert messages == ["rebuilt: 1 run"]
    chronicle("note", "a", "seen")
    assert state(workspace) != before
    (tmp_path / "mkdocs.yml").unlink()
    rebuild_if_changed(workspace, None, before, messages.append)
    assert messages[1:] == [f"error: mkdocs.yml: is missing in {tmp_path}. Remedy: chronicle init ."]


@pytest.fixture
def served(tmp_path):
    """Asks a server of a small site: ``served(path, host)`` gives status, headers and body."""
    site = tmp_path / "site"
    (site / "runs").mkdir(parents=True)
    (site / "index.html").write_text("home")
    (site / ".chronicle-site").write_text("hidden")
    (tmp_path / "secret.txt").write_text("secret")
    (site / "link.txt").symlink_to(tmp_path / "secret.txt")
    (site / "folder").symlink_to(tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Site, directory=str(site))) as server:
        threading.Thread(target=partial(server.serve_forever, 0.01), daemon=True).start()

        def ask(path, host=f"127.0.0.1:{server.server_port}"):
            connection = HTTPConnection("127.0.0.1", server.server_port)
            connection.putrequest("GET", path, skip_host=True)
            connection.putheader("Host", host)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()

        yield ask
        server.shutdown()


def test_a_page_comes_with_a_policy(served):
    status, headers, body = served("/")
    assert (status, body) == (200, "home")
    assert headers["Content-Security-Policy"] == (
        "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; "
        "base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
    )
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/runs/",
        "/runs",
        "/.chronicle-site",
        "/link.txt",
        "/folder/secret.txt",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/%00",
        "/index.html%00.txt",
    ],
)
def test_only_what_the_site_holds_is_served(served, path):
    status, headers, body = served(path)
    while status in (301, 302):
        status, headers, body = served(headers["Location"])
    assert status == 404
    assert "secret" not in body.replace(path, "")
    assert "hidden" not in body


@pytest.mark.parametrize(
    "host",
    [
        "evil.example.org",
        "evil.example.org:8000",
        "",
        "127.0.0.1.evil.example.org:80",
        "localhost:80@evil.example.org",
    ],
)
def test_a_foreign_name_is_refused(served, host):
    status, _, body = served("/", host)
    assert status == 421
    assert "home" not in body


def test_the_name_of_this_machine_is_served(served):
    assert served("/index.html", "localhost:8000")[0] == 200
