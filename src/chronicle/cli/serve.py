"""chronicle serve: serves the site on this machine only, and builds it again when a file of it changes."""

from __future__ import annotations

import os
import re
import threading
import time
from functools import partial
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from chronicle.build import Report, build, places
from chronicle.build.site import stamp_of
from chronicle.build.sources import spread
from chronicle.build.store import inputs
from chronicle.errors import ChronicleError, UsageError, message_of
from chronicle.metrics.values import plural
from chronicle.workspace.folders import Workspace
from chronicle.workspace.locks import Say

POLL_S = 2.0
State = dict[str, object]

# The pages of Material contain scripts and styles. Nothing is loaded from another machine or sent to one.
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; "
    "base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_OWN_NAME = re.compile(r"(?:127\.0\.0\.1|localhost):\d+")


class Site(SimpleHTTPRequestHandler):
    """Serves the files of one site, but no lists of folders, no hidden files, and nothing behind a link. It
    refuses requests for any other host name than that of this machine. Otherwise a page from elsewhere whose
    host name was redirected to this machine (DNS rebinding) could read the site."""

    def send_head(self) -> Any:  # for GET and HEAD
        if not _OWN_NAME.fullmatch(self.headers.get("Host") or ""):
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST, "only 127.0.0.1 and localhost are served")
            return None
        path, root = Path(self.translate_path(self.path)), Path(self.directory).resolve()
        within = path.relative_to(self.directory)
        is_hidden = any(part.startswith(".") for part in within.parts)
        if is_hidden or "\0" in unquote(self.path) or path.resolve() != root / within:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        self.send_error(HTTPStatus.NOT_FOUND)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing for a request."""


def serve(workspace: Workspace, port: int, engine: str | None, say: Say) -> None:
    """Builds the site, serves it on the loopback address, and checks for changes until it is interrupted.
    Raises UsageError: the port is in use, or this user may not open it."""
    report = _build(workspace, engine, say)
    handler = partial(Site, directory=str(report.site))
    try:
        listening = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as err:
        remedy = "name another port, or 0 for any free one"
        raise UsageError(f"--port {port}: {err.strerror}", remedy=remedy) from err
    with listening as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        say(f"Serving {report.site} at http://127.0.0.1:{server.server_port}/ (Ctrl-C stops it)")
        before = state(workspace)
        try:
            while True:
                time.sleep(POLL_S)
                before = rebuild_if_changed(workspace, engine, before, say)
        except KeyboardInterrupt:
            server.shutdown()


def rebuild_if_changed(workspace: Workspace, engine: str | None, before: State, say: Say) -> State:
    """Builds again if any input differs from ``before``. An error is printed, and serving continues."""
    now = state(workspace)
    if now != before:
        try:
            say(f"rebuilt: {plural(len(_build(workspace, engine, say).entries), 'run')}")
        except (ChronicleError, OSError) as err:
            say(f"error: {message_of(err)}")
    return now


def state(workspace: Workspace) -> State:
    """The state (size, times) of every file that the site is made from."""
    states: State = {file: state for run in workspace.runs() for file, state in inputs(run).items()}
    pages = (file for folder in (*workspace.templates, *workspace.galleries) for file in folder.rglob("*"))
    return states | {str(file): stamp_of(file) for file in pages}


def _build(workspace: Workspace, engine: str | None, say: Say) -> Report:
    runs = spread(workspace.runs(), workspace.entries)
    return build(workspace, runs, places(workspace, None), engine=engine, say=say)
