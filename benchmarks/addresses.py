"""Logs behind gs:// and hf://, served by this machine: is every log read completely, and fetched once?

    python -m benchmarks.addresses

Needs `pip install '.[gs,hf]' gcp-storage-emulator`. This emulator stands in for Google's store, and a small
server of our own for the HTTP interface of the Hub. The tests of the suite cover s3:// and https://.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

REPOSITORY, COMMIT = "/api/datasets/me/logs", "a" * 40
CHECKPOINT_BYTES = 1 << 20
Check = tuple[str, bool]


def logs() -> dict[str, bytes]:
    """A run of two logs, and a checkpoint beside them, which is no log."""
    train = "step,loss\n" + "".join(f"{step},{3 - step / 400}\n" for step in range(300))
    valid = "".join(
        json.dumps({"step": step, "val_loss": 3 - step / 400}) + "\n" for step in range(0, 300, 10)
    )
    checkpoint = bytes(range(256)) * (CHECKPOINT_BYTES // 256)
    return {"train.csv": train.encode(), "deep/valid.jsonl": valid.encode(), "model.bin": checkpoint}


class Hub(BaseHTTPRequestHandler):
    """Answers requests about the data set me/logs of the Hub: its description, its tree, and its files, whole
    or in part."""

    files: dict[str, bytes] = {}
    sent: dict[str, int] = {}  # bytes of each file that went out

    def do_GET(self) -> None:
        path = unquote(urlparse(self.path).path)
        if path == REPOSITORY:
            self._say({"id": "me/logs", "sha": COMMIT, "siblings": []})
        elif path.startswith(f"{REPOSITORY}/tree/main"):
            self._tree(path.removeprefix(f"{REPOSITORY}/tree/main").strip("/"))
        elif path.removeprefix("/datasets/me/logs/resolve/main/") in self.files:
            self._file(path.removeprefix("/datasets/me/logs/resolve/main/"))
        else:
            self._say({"error": "not found"}, 404, {"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    def _tree(self, folder: str) -> None:
        below = {name.removeprefix(f"{folder}/" if folder else ""): name for name in self.files}
        here = {rest.partition("/")[0]: name for rest, name in below.items() if rest != name or not folder}
        found = [
            {"type": "file", "oid": _oid(self.files[name]), "size": len(self.files[name]), "path": name}
            if name == f"{folder}/{first}".lstrip("/")
            else {"type": "directory", "oid": COMMIT, "size": 0, "path": f"{folder}/{first}".lstrip("/")}
            for first, name in here.items()
        ]
        self._say(found) if found else self._say({}, 404, {"X-Error-Code": "EntryNotFound"})

    def _file(self, name: str) -> None:
        content, asked = self.files[name], self.headers.get("Range", "")
        about = {"X-Repo-Commit": COMMIT, "ETag": f'"{_oid(content)}"'}
        if asked:
            first, last = (int(end) for end in asked.removeprefix("bytes=").split("-"))
            about["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            content = content[first : last + 1]
        if self.command == "GET":
            self.sent[name] = self.sent.get(name, 0) + len(content)
        self._say(content, 206 if asked else 200, about)

    def _say(self, body: object, code: int = 200, about: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        for name, value in {"Content-Length": str(len(content)), **(about or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        pass


def _oid(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


def hub(put: dict[str, bytes]) -> Callable[[str, bytes], None]:
    """Starts the stand-in for the Hub. Yields a function that puts a file there."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.environ |= {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HUB_DISABLE_TELEMETRY": "1"}
    Hub.files = {f"run/{name}": content for name, content in put.items()}
    return lambda name, content: Hub.files.update({f"run/{name}": content})


def store(put: dict[str, bytes]) -> Callable[[str, bytes], None]:
    """Starts the emulator of Google's store. Yields a function that puts an object there."""
    from gcp_storage_emulator.server import create_server

    server = create_server("127.0.0.1", 9023, in_memory=True, default_bucket="logs")
    server.start()
    os.environ |= {"STORAGE_EMULATOR_HOST": "http://127.0.0.1:9023", "GOOGLE_CLOUD_PROJECT": "chronicle"}
    os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"  # asks by gRPC, which the emulator has not
    import gcsfs

    files = gcsfs.GCSFileSystem(token="anon")
    for name, content in put.items():
        files.pipe_file(f"logs/run/{name}", content)
    return lambda name, content: files.pipe_file(f"logs/run/{name}", content)


def checks(address: str, put: Callable[[str, bytes], None], content: dict[str, bytes]) -> list[Check]:
    """What is true of a run behind an address."""
    from chronicle.errors import NothingToRead
    from chronicle.readers import read
    from chronicle.workspace.folders import mirror_of

    def points() -> list[tuple[str, int]]:
        return [(attempt.sources[0], sum(map(len, attempt.series.values()))) for attempt in read(address)]

    def times() -> dict[str, int]:
        return {file.name: file.stat().st_ctime_ns for file in mirror_of(address).rglob("*.*")}

    valid, train = f"{address}/deep/valid.jsonl", f"{address}/train.csv"
    first, fetched = points(), times()
    second, kept = points(), times()
    put("train.csv", content["train.csv"] + b"300,2.25\n")
    third, grown = points(), times()
    try:
        nothing = bool(read(f"{address}/nothing"))
    except NothingToRead as err:
        nothing = str(err) == f"{address}/nothing: no such file or folder"
    return [
        ("all logs are read, each point of them", first == [(valid, 30), (train, 300)]),
        ("what is no log is not fetched", sorted(fetched) == ["train.csv", "valid.jsonl"]),
        ("what did not change is not fetched again", second == first and kept == fetched),
        (
            "what changed is, alone, and read anew",
            third == [(valid, 30), (train, 301)] and _changed(kept, grown) == ["train.csv"],
        ),
        ("where there is nothing it is said so", nothing),
    ]


def _changed(before: dict[str, int], after: dict[str, int]) -> list[str]:
    return [name for name, time in after.items() if before.get(name) != time]


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        os.environ |= {"CHRONICLE_CACHE": cache, "HF_HOME": str(Path(cache) / "hub")}
        content = logs()
        told = {"gs://logs/run": checks("gs://logs/run", store(content), content)}
        told |= {"hf://datasets/me/logs/run": checks("hf://datasets/me/logs/run", hub(content), content)}
        looked_at = Hub.sent["run/model.bin"]
    told["hf://datasets/me/logs/run"] += [("of what is no log 64 KB are looked at", looked_at == 1 << 16)]
    for address, held in told.items():
        print(address, *(f"  {'holds' if ok else 'FAILS'}: {what}" for what, ok in held), sep="\n")
    sys.stdout.flush()
    os._exit(int(not all(ok for held in told.values() for _, ok in held)))  # the emulator's thread goes on


if __name__ == "__main__":
    main()
