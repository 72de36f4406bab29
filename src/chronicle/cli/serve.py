"""chronicle serve: the site on this machine alone, built again when a log, a note or a page changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from chronicle.build import Report, build, places
from chronicle.build.engines import stamp_of
from chronicle.build.sources import spread
from chronicle.build.store import inputs
from chronicle.errors import ChronicleError, UsageError
from chronicle.workspace.folders import Workspace

POLL_S = 2.0
Say = Callable[[str], None]
State = dict[Path, tuple[int, int]]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and does not print a line for each."""

    def log_message(self, format: str, *args: object) -> None:
        pass


def serve(workspace: Workspace, port: int, engine: str | None, say: Say) -> None:
    """Builds, serves on the loopback address, and polls for changes until interrupted.

    Raises:
        UsageError: the port is taken, or this user may not open it.
    """
    report = _build(workspace, engine)
    handler = partial(Quiet, directory=str(report.site))
    try:
        listening = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as err:
        raise UsageError(
            f"--port {port}: {err.strerror}. Remedy: name another, or 0 for any free one"
        ) from err
    with listening as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        say(f"Serving {report.site} at http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)")
        before = state(workspace)
        try:
            while True:
                time.sleep(POLL_S)
                before = rebuild_if_changed(workspace, engine, before, say)
        except KeyboardInterrupt:
            server.shutdown()


def rebuild_if_changed(workspace: Workspace, engine: str | None, before: State, say: Say) -> State:
    """Builds again if any input differs from ``before``; an error is said, and serving goes on."""
    now = state(workspace)
    if now != before:
        try:
            say(f"built again: {len(_build(workspace, engine).entries)} runs")
        except ChronicleError as err:
            say(f"error: {err}")
    return now


def state(workspace: Workspace) -> State:
    """Size and time of every file that the site is made from."""
    files = [file for run in workspace.runs() for file in inputs(run)]
    files += [f for folder in (*workspace.templates, *workspace.galleries) for f in folder.rglob("*")]
    return {file: stamp for file in files if (stamp := stamp_of(file))}


def _build(workspace: Workspace, engine: str | None) -> Report:
    return build(workspace, list(spread(workspace.runs())), places(workspace, None), engine=engine)
