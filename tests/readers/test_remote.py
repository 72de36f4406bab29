"""Logs behind an address: a real S3 server on this machine over HTTP, and the memory of the process."""

from __future__ import annotations

import gc
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import fsspec
import pytest
from click.testing import CliRunner
from moto.server import ThreadedMotoServer
from tests.readers.gold import EXAMPLES, as_json
from tests.readers.tracker_writers import wandb_log
from tests.readers.writers import csv_log, event_log, json_log

from chronicle.build.produce import Product, Run
from chronicle.build.sources import expand, spread
from chronicle.cli import cli
from chronicle.errors import LogError, MissingExtra, NothingToRead, UsageError
from chronicle.readers import local, read, read_all, runs_below
from chronicle.workspace.config import Confines
from chronicle.workspace.folders import Workspace, address_of, is_address, mirror_of, path_words

LOSS = {"loss": [(step, 2.5 - step / 1000) for step in range(200)]}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server."""
    running = ThreadedMotoServer(port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for every test."""
    monkeypatch.setenv("CHRONICLE_CACHE", str(tmp_path / "cache"))
    fsspec.filesystem("memory").store.clear()
    return tmp_path


@pytest.fixture
def s3(server: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client of the server, with an empty bucket "logs"."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()  # a kept one may belong to an earlier server
    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="logs")
    for item in client.list_objects_v2(Bucket="logs").get("Contents", []):
        client.delete_object(Bucket="logs", Key=item["Key"])
    return client


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was fetched from S3, whole or in part."""
    import s3fs

    made: list[str] = []
    real = s3fs.S3FileSystem._call_s3

    async def counted(self: Any, method: str, *rest: Any, **more: Any) -> Any:
        if method == "get_object":
            made.append(more["Key"])
        return await real(self, method, *rest, **more)

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", counted)
    return made


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves a folder and says nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def put(s3: Any, name: str, content: bytes | Path) -> None:
    s3.put_object(
        Bucket="logs", Key=name, Body=content.read_bytes() if isinstance(content, Path) else content
    )


def log(place: Path, name: str = "log.csv", points: Any = LOSS) -> Path:
    writers = {".csv": csv_log, ".jsonl": json_log, ".tfevents": event_log, ".wandb": wandb_log}
    writers[Path(name).suffix](place / name, points)
    return place / name


def memory(name: str, content: bytes | Path) -> None:
    fsspec.filesystem("memory").pipe_file(
        f"/{name}", content.read_bytes() if isinstance(content, Path) else content
    )


@pytest.mark.slow
def test_a_folder_behind_an_address_is_a_run(s3: Any, place: Path) -> None:
    put(s3, "run/train.csv", log(place))
    put(s3, "run/deep/er/events.out.tfevents.1", log(place, "x.tfevents"))
    assert [attempt.name for attempt in read("s3://logs/run/train.csv")] == ["train.csv"]
    whole, attempt = read("s3://logs/run/"), read("s3://logs/run/train.csv")
    assert {a.sources[0] for a in whole} == {
        "s3://logs/run/train.csv",
        "s3://logs/run/deep/er/events.out.tfevents.1",
    }
    local = str(as_json(read(place / "log.csv"))[0]["series"])
    assert str(as_json(attempt)[0]["series"]) == local
    assert local in map(str, (made["series"] for made in as_json(whole)))


def test_classify_takes_addresses(s3: Any, place: Path) -> None:
    put(s3, "team/a/train.csv", log(place))
    put(s3, "team/b/train.jsonl", log(place, "x.jsonl", {"loss": [(k, 2.4 - k / 900) for k in range(200)]}))
    result = CliRunner().invoke(cli, ["classify", "--json", "s3://logs/team/"])
    assert result.exit_code == 0, result.output
    assert '"run": "a"' in result.stdout and '"run": "b"' in result.stdout


def test_a_second_look_fetches_nothing_and_a_change_only_what_changed(
    s3: Any, place: Path, requests: list[str]
) -> None:
    put(s3, "run/a.csv", log(place))
    put(s3, "run/b.csv", log(place))
    put(s3, "run/weights.bin", b"\0\1" * 100_000)
    assert len(read("s3://logs/run")) == 2
    assert sorted(requests) == ["run/a.csv", "run/b.csv", "run/weights.bin"]
    assert not (mirror_of("s3://logs/run") / "weights.bin").exists()
    requests.clear()
    assert len(read("s3://logs/run")) == 2
    assert requests == []
    put(s3, "run/b.csv", log(place, points={"loss": [(1, 9.0)]}))
    assert read("s3://logs/run")[1].series["loss"].values.tolist() == [9.0]
    assert requests == ["run/b.csv"]
    s3.delete_object(Bucket="logs", Key="run/b.csv")
    assert [attempt.name for attempt in read("s3://logs/run")] == ["a.csv"]


def test_a_build_of_a_workspace_reads_nothing_twice(s3: Any, place: Path, requests: list[str]) -> None:
    put(s3, "run/a.csv", log(place))
    folder = place / "work" / "runs" / "far"
    folder.mkdir(parents=True)
    (place / "work" / "chronicle.toml").touch()
    (folder / "run.toml").write_text('paths = ["s3://logs/run"]\n')
    workspace = Workspace.find(place / "work")
    assert workspace

    def look() -> str:
        (run,) = spread(workspace.runs())
        timeline, _, problems = Run(run, workspace.config).diagnose()
        assert (len(timeline.attempts), problems) == (1, [])
        return Product(run, workspace.config, place / "entry").key()

    before = look()
    requests.clear()
    assert look() == before
    assert requests == []
    put(s3, "run/a.csv", log(place, points={"loss": [(1, 9.0)]}))
    assert look() != before


def test_what_cannot_be_fetched_is_the_problem_of_the_one_run(s3: Any, place: Path) -> None:
    (place / "chronicle.toml").touch()
    for name, where in (("gone", "s3://nowhere/run"), ("there", "../../log.csv")):
        (place / "runs" / name).mkdir(parents=True)
        (place / "runs" / name / "run.toml").write_text(f'paths = ["{where}"]\n')
    log(place)
    gone, there = expand([place])
    assert str(gone.problem) == "s3://nowhere/run: no such file or folder. Remedy: check address and access"
    assert there.problem is None
    assert Product(gone, Workspace.find(place).config, place / "entry").cached() is None


def test_folders_that_are_one_log_and_their_parts_are_fetched(s3: Any, place: Path) -> None:
    for number in (1, 2):
        name = f"wandb/run-2026010{number}_000000-abc"
        put(s3, f"{name}/run-abc.wandb", log(place, "x.wandb"))
        put(s3, f"{name}/files/wandb-metadata.json", b'{"host": "node7"}')
        put(s3, f"{name}/files/media/image.png", b"\x89PNG\r\n\0" + bytes(5000))
    put(s3, "mlruns/0/4f/meta.yaml", b"run_id: 4f\nrun_name: big\nstatus: 3\nlifecycle_stage: active\n")
    put(s3, "mlruns/0/4f/metrics/loss", b"1700000000000 2.5 1\n1700000001000 2.25 2\n")
    (run,) = runs_below("s3://logs/wandb")
    assert (run.run_id, len(read("s3://logs/wandb"))) == ("abc", 2)
    assert read("s3://logs/wandb")[0].facts["host"] == "node7"
    assert not list(mirror_of("s3://logs/wandb").rglob("*.png"))
    (attempt,) = read("s3://logs/mlruns")
    assert attempt.series["loss"].values.tolist() == [2.5, 2.25]


def test_stores_and_packed_logs_are_known_by_their_first_bytes(place: Path) -> None:
    import gzip

    memory("store/project", next(EXAMPLES.glob("trackio/*.db")))
    memory("store/packed", gzip.compress(log(place).read_bytes()))
    memory("store/junk", gzip.compress(bytes(100_000)))
    assert {attempt.facts["format"] for attempt in read("memory://store")} == {"trackio", "csv"}
    assert not (mirror_of("memory://store") / "junk").exists()


HOSTILE = (
    "../../../escape.csv", "/abs.csv", "a/../b.csv", "x\\..\\y.csv", "%2e%2e/z.csv", "new\nline.csv",
    "..csv",
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_names_lead_nowhere_and_come_back(name: str, place: Path) -> None:
    address = f"memory://bucket/{name}"
    mirror = mirror_of(address)
    assert mirror.resolve().is_relative_to(place / "cache" / "mirror" / "memory" / "bucket")
    assert address_of(mirror) == address
    assert path_words(Path("plain")) == "plain"


def test_objects_of_hostile_names_stay_in_the_mirror(place: Path) -> None:
    for name in HOSTILE:
        memory(f"bad/{name}", log(place))
    outside = {p for p in place.rglob("*") if not p.is_relative_to(place / "cache")}
    with suppress(LogError):
        read_all("memory://bad")
    assert {p for p in place.rglob("*") if not p.is_relative_to(place / "cache")} == outside
    assert not (place.parent / "escape.csv").exists()


def test_an_object_named_as_a_folder_is_kept_beside_it(s3: Any, place: Path) -> None:
    put(s3, "both/train.csv", log(place))
    put(s3, "both/train.csv/part.csv", log(place))
    put(s3, "both/marker/", b"")
    assert [len(attempt.series["loss"]) for attempt in read("s3://logs/both")] == [200, 200]


def test_problems_and_faults_are_told_under_the_address(place: Path) -> None:
    memory("run/good.csv", log(place).read_bytes() + b"5,1,2,3\n7,2.0\n")
    memory("run/bad.csv", b"\x00\x01junk")
    reading = read_all("memory://run")
    assert [problem.where for problem in reading.problems] == ["memory://run/bad.csv"]
    (attempt,) = reading.attempts
    assert attempt.faults[0].where.startswith("memory://run/good.csv:")
    assert str(place) not in str(reading.problems) + str(attempt.sources) + str(attempt.faults)


def test_more_than_may_be_fetched_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory("run/a.csv", log(place))
    monkeypatch.setenv("CHRONICLE_FETCH_LIMIT_GB", "1e-9")
    with pytest.raises(LogError, match=r"holds 0\.0 GB of new logs\. Remedy: name a folder further"):
        read("memory://run")
    monkeypatch.setattr("chronicle.readers.remote.MOST_OBJECTS", 0)
    with pytest.raises(LogError, match=r"holds more than 0 objects\. Remedy: name a folder further down"):
        read("memory://run")


@pytest.mark.parametrize(
    ("address", "packages"),
    [("s3://b/run", "s3fs"), ("gs://b/run", "gcsfs"), ("https://host/run.csv", "'fsspec[http]'")],
)
def test_without_the_package_it_names_what_to_install(
    address: str, packages: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingExtra, match=rf"reading {address} needs .* pip install {re.escape(packages)}$"):
        read(address)


def test_without_its_file_system_it_names_what_to_install() -> None:
    with pytest.raises(MissingExtra, match=r"pip install gcsfs$"):
        read("gs://bucket/run")


@pytest.mark.parametrize("scheme", ["ftp", "ssh"])  # fsspec knows them, and an address is not enough
def test_an_address_of_a_client_that_needs_more_is_told_in_a_line(
    scheme: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=rf"{scheme}://host/x: nothing reads {scheme}://. Remedy: download "):
        read(f"{scheme}://host/x")
    gc.collect()
    assert capfd.readouterr() == ("", "")


def test_an_address_that_nothing_reads_is_told() -> None:
    with pytest.raises(UsageError) as caught:
        read("gopher://host/run")
    assert str(caught.value) == (
        "gopher://host/run: nothing reads gopher://. Remedy: download it and name the files, or give an "
        "address of s3://, s3a://, gs://, gcs://, http://, https://, hf://, mlflow+http://, mlflow+https://, "
        "wandb://, trackio://, trackio+http://, trackio+https://, aim://"
    )


def test_nothing_behind_an_address_is_told() -> None:
    with pytest.raises(NothingToRead, match=r"memory://nothing: no such file or folder"):
        read("memory://nothing/")


def test_a_server_that_is_not_there_is_told(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import s3fs

    async def broken(*_: Any, **__: Any) -> Any:
        raise ConnectionError("refused")

    monkeypatch.setattr(s3fs.S3FileSystem, "_call_s3", broken)
    with pytest.raises(LogError) as caught:
        read("s3://logs/run")
    assert str(caught.value) == (
        "s3://logs/run: cannot be fetched (ConnectionError: refused). Remedy: check address and access"
    )


class Ranged(fsspec.AbstractFileSystem):
    """One megabyte that is no log, in files that read ahead, as those of the Hub do; counts what is read."""

    protocol, cachable, read = "ranged", False, list[int]()

    def info(self, path: str, **kwargs: Any) -> dict[str, Any]:
        name = self._strip_protocol(path)
        folder = {"name": name, "type": "directory", "size": 0}
        return folder if name == "run" else {"name": name, "type": "file", "size": 1 << 20}

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        return [self.info("run/model.bin")]

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        return RangedFile(self, path, mode, **{k: v for k, v in kwargs.items() if k == "cache_type"})


class RangedFile(fsspec.spec.AbstractBufferedFile):
    def _fetch_range(self, start: int, end: int) -> bytes:
        Ranged.read.append(end - start)
        return bytes(end - start)


def test_of_what_is_no_log_only_the_beginning_is_looked_at(place: Path) -> None:
    fsspec.register_implementation("ranged", Ranged, clobber=True)
    with pytest.raises(NothingToRead):
        read("ranged://run")
    assert Ranged.read == [1 << 16]


def test_a_file_over_http(place: Path) -> None:
    log(place)
    handler = partial(QuietHandler, directory=str(place))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=partial(running.serve_forever, 0.01), daemon=True).start()
        address = f"http://127.0.0.1:{running.server_port}/log.csv"
        (attempt,) = read(address)
        running.shutdown()
    assert (len(attempt.series["loss"]), attempt.sources) == (200, (address,))


def test_an_address_may_be_a_page_and_a_folder(place: Path) -> None:
    (place / "run").mkdir()
    log(place).rename(place / "run" / "log.csv")
    handler = partial(QuietHandler, directory=str(place))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=partial(running.serve_forever, 0.01), daemon=True).start()
        address = f"http://127.0.0.1:{running.server_port}/run"
        for _ in range(2):  # the list of the folder is a page of its own
            assert local(address).is_file()
            assert local(f"{address}/log.csv").read_text() == (place / "run" / "log.csv").read_text()
        running.shutdown()


def test_a_server_sends_on_to_no_private_host(place: Path) -> None:
    log(place)
    asked: list[str] = []

    class Inner(QuietHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            super().do_GET()

    class Outer(QuietHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            self.send_response(302)
            self.send_header("Location", f"http://127.0.0.1:{inner.server_port}/log.csv")
            self.end_headers()

    inside = partial(Inner, directory=str(place))
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), inside) as inner,
        ThreadingHTTPServer(("127.0.0.1", 0), Outer) as outer,
    ):
        for running in (inner, outer):
            threading.Thread(target=partial(running.serve_forever, 0.01), daemon=True).start()
        address = f"http://127.0.0.1:{outer.server_port}/log.csv"
        target = f"http://127.0.0.1:{inner.server_port}"
        with pytest.raises(LogError) as refused:
            local(address)
        assert str(refused.value) == (
            f"{address}: the server redirects to {target}/log.csv, which is not allowed. "
            "Remedy: name that address itself, or allow it in chronicle.toml"
        )
        assert asked == []
        assert local(address, Confines(place, (target,))).read_text() == (place / "log.csv").read_text()
        for running in (inner, outer):
            running.shutdown()


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("s3://b/x", True), ("s3://", True), ("s3:/b", False), ("C://x", False), ("://x", False)],
)
def test_what_an_address_is(text: str, is_one: bool) -> None:
    assert is_address(text) == is_one


def test_link_keeps_the_address(s3: Any, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(s3, "run/a.csv", log(place))
    monkeypatch.chdir(place)
    (place / "chronicle.toml").touch()
    result = CliRunner().invoke(cli, ["add", "--link", "--name", "far", "s3://logs/run"])
    assert result.exit_code == 0, result.output
    assert (place / "runs" / "far" / "run.toml").read_text() == 'paths = ["s3://logs/run"]\n'
