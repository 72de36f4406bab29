"""The pointers to real logs: their schema, the rule that splits them, the logs they give, the report."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from benchmarks import pointers as report
from exam import view
from exam.materialise import materialise
from exam.pointers import HALVES, POINTERS, chosen, half, label_of, load, save

from chronicle.classify.patterns import PATTERNS
from chronicle.score.labels import load_label

ALL = load()
IDS = {pattern.id for pattern in PATTERNS}
TRUTH = {
    "rows": int,
    "series": int | None,
    "attempts": int | None,
    "step_column": str | None,
    "loss": list,
    "points": int,
    "counters": dict,
    "validation": str | None,
    "learning_rate": str | None,
}
POINTER = {
    "id": str,
    "repo": str,
    "commit": str,
    "files": list,
    "licence": str | None,
    "format": str,
    "field": str,
    "objective": str,
    "round": int,
    "truth": dict,
    "note": str,
    "label": dict | None,
}
CSV = "step,loss,val_loss,lr\n" + "".join(
    f"{i},{3 / (1 + i) + 0.01 * (i % 3)},{3.2 / (1 + i)},0.001\n" for i in range(60)
)


def pointer(commit: str, log: str = CSV, **changes: Any) -> dict[str, Any]:
    files = [{"path": "logs/a.csv", "bytes": len(log), "sha256": hashlib.sha256(log.encode()).hexdigest()}]
    truth = {"rows": 60, "series": 3, "attempts": 1, "step_column": "step", "loss": ["loss"], "points": 60}
    truth |= {"counters": {"step": [0.0, 59.0]}, "validation": "val_loss", "learning_rate": "lr"}
    label = {"verdict": "good", "verdict_also_ok": [], "required": ["near-perfect|noisy-healthy"]}
    label |= {"allowed": [], "forbidden": ["nan-inf"], "main_series": ["loss"], "events": []}
    label |= {"steps_healthy": 60, "points_main": 60, "reliability": "high", "why": "Falls."}
    entry = {"id": "tiny", "repo": "someone/tiny", "commit": commit, "files": files, "licence": "MIT"}
    entry |= {"format": "csv", "field": "toy", "objective": "falls", "round": 1, "truth": truth}
    entry |= {"note": "", "label": label}
    return entry | changes


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def snapshot(tmp_path: Path) -> tuple[Path, str]:
    """A folder of snapshots with one tiny repository, and the commit of its log; the log changed since."""
    home = tmp_path / "snapshots" / "someone+tiny" / "repo"
    (home / "logs").mkdir(parents=True)
    git(home, "init", "-q")
    (home / "logs" / "a.csv").write_text(CSV)
    git(home, "add", ".")
    git(home, "commit", "-q", "-m", "Log")
    commit = git(home, "rev-parse", "HEAD")
    (home / "logs" / "a.csv").write_text("step,loss\n0,1\n")
    git(home, "commit", "-q", "-a", "-m", "Change")
    return tmp_path / "snapshots", commit


def listed(tmp_path: Path, *pointers: dict[str, Any]) -> Path:
    file = tmp_path / "pointers.json"
    save(pointers, file)
    return file


# ---- the file


def keeps_to(row: dict[str, Any], schema: dict[str, Any], may: set[str]) -> bool:
    return row.keys() - may == schema.keys() and all(isinstance(row[k], kind) for k, kind in schema.items())


def test_each_pointer_keeps_to_the_schema() -> None:
    assert not [entry["id"] for entry in ALL if not keeps_to(entry, POINTER, {"same_run"})]
    assert not [entry["id"] for entry in ALL if not keeps_to(entry["truth"], TRUTH, {"line"})]
    assert {entry["objective"] for entry in ALL} == {"falls", "rises"} and {
        len(entry["commit"]) for entry in ALL
    } == {40}
    files = [file for entry in ALL for file in entry["files"]]
    assert {len(file["sha256"]) for file in files} == {64} and min(file["bytes"] for file in files) > 0


def test_the_file_leaves_out_what_most_pointers_say_and_nothing_is_lost(tmp_path: Path) -> None:
    entry = pointer("0" * 40)
    label = entry["label"] | {
        "events": [{"series": "loss", "start_step": 3, "pattern": "level-shift"}],
        "why": "",
    }
    file = listed(
        tmp_path, entry, pointer("1" * 40, id="bare", licence=None, label=None), entry | {"label": label}
    )
    bare, first, second = load(file)
    assert (bare["label"], bare["licence"], bare["commit"]) == (None, None, "1" * 40)
    assert first == entry | {"label": entry["label"]}
    assert second["label"]["why"] == "" and second["label"]["events"][0].items() >= label["events"][0].items()
    assert '"forbidden":["nan-inf"]' in file.read_text() and '"objective"' not in file.read_text()


def test_the_file_is_as_it_is_saved(tmp_path: Path) -> None:
    assert listed(tmp_path, *ALL).read_bytes() == POINTERS.read_bytes()


@pytest.mark.slow
def test_each_label_is_one_that_the_scorer_reads(tmp_path: Path) -> None:
    for labelled in [labelled for labelled in ALL if labelled["label"]]:
        (tmp_path / "label.json").write_text(json.dumps(label_of(labelled)))
        label = load_label(tmp_path)
        named = {p for entry in label.required for p in entry.split("|")}
        events = {event.pattern for event in label.events}
        assert named | {*label.allowed, *label.forbidden} | events <= IDS, labelled["id"]
        assert not (named | {*label.allowed}) & {*label.forbidden} and labelled["label"]["why"], labelled[
            "id"
        ]


def test_no_pointer_stands_twice_and_no_repository_has_more_than_four() -> None:
    addresses = [(entry["repo"], file["path"]) for entry in ALL for file in entry["files"]]
    hashes = [file["sha256"] for entry in ALL for file in entry["files"]]
    assert max(Counter(entry["id"] for entry in ALL).values()) == 1
    assert max(Counter(addresses).values()) == max(Counter(hashes).values()) == 1
    assert max(Counter(entry["repo"] for entry in ALL).values()) <= 4
    assert [entry["id"] for entry in ALL] == sorted(entry["id"] for entry in ALL)


def test_the_half_of_a_pointer_is_the_first_digit_of_the_hash_of_its_address() -> None:
    entry = pointer("0" * 40, round=14)
    first = hashlib.sha256(b"someone/tiny:logs/a.csv").hexdigest()[0]
    assert half(entry) == ("apart" if first in "01234567" else "open")
    assert {half(entry) for entry in ALL} == {*HALVES}
    together = {entry["same_run"]: half(entry) for entry in ALL if "same_run" in entry}
    first_of = {f"{entry['repo']}:{entry['files'][0]['path']}": half(entry) for entry in ALL}
    assert together.items() <= first_of.items()


def test_a_round_that_was_opened_is_open_as_a_whole() -> None:
    assert {half({**entry, "round": number}) for entry in ALL for number in range(1, 14)} == {"open"}
    for number in (14, 15):
        assert {half(entry) for entry in ALL if entry["round"] == number} == {*HALVES}


def test_every_pointer_is_in_one_half() -> None:
    halves = [entry["id"] for part in HALVES for entry in chosen(part)]
    assert sorted(halves) == [entry["id"] for entry in ALL] == [entry["id"] for entry in chosen("all")]


# ---- the logs


def test_materialise_writes_the_log_of_the_commit_and_its_label(
    snapshot: tuple[Path, str], tmp_path: Path
) -> None:
    snapshots, commit = snapshot
    written = materialise(snapshots, tmp_path / "out", "all", listed(tmp_path, pointer(commit)))
    assert written == (1, [])
    assert (tmp_path / "out" / "tiny" / "a.csv").read_text() == CSV
    assert json.loads((tmp_path / "out" / "tiny" / "label.json").read_text()) == label_of(pointer(commit))


def test_materialise_leaves_out_a_log_that_is_not_the_one_that_was_labelled(
    snapshot: tuple[Path, str], tmp_path: Path
) -> None:
    snapshots, _ = snapshot
    other = git(snapshots / "someone+tiny" / "repo", "rev-parse", "HEAD")
    none, far = "f" * 40, pointer("0" * 40, id="far", repo="someone/far")
    file = listed(tmp_path, pointer(other), pointer(none, id="gone"), far)
    assert materialise(snapshots, tmp_path / "out", "all", file) == (
        0,
        [
            f"far: no snapshot of someone/far. Remedy: put one below {snapshots}",
            "gone: the snapshot of someone/tiny has no logs/a.csv at ffffffffffff",
            "tiny: someone/tiny: logs/a.csv is not the log that was labelled",
        ],
    )
    assert not (tmp_path / "out").exists()


def test_materialise_reads_a_checkout_without_git_and_writes_one_half(tmp_path: Path) -> None:
    home = tmp_path / "snapshots" / "someone" / "tiny" / "logs"
    home.mkdir(parents=True)
    (home / "a.csv").write_text(CSV)
    entry = pointer("0" * 40, label=None)
    file, out = listed(tmp_path, entry), tmp_path / "out"
    other = next(part for part in HALVES if part != half(entry))
    assert materialise(tmp_path / "snapshots", out, other, file) == (0, [])
    assert materialise(tmp_path / "snapshots", out, half(entry), file) == (1, [])
    assert [path.name for path in (out / "tiny").iterdir()] == ["a.csv"]


# ---- the report


@pytest.mark.slow
def test_the_report_says_what_was_read_right_and_what_was_not(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    right = report.reading_of(pointer("0" * 40), tmp_path)
    assert right.outcomes == dict.fromkeys(report.CHECKS, True) and not right.wrong
    truth = pointer("0" * 40)["truth"] | {"points": 61, "attempts": 2, "loss": ["Loss"]}
    truth |= {"counters": {"step": [0.0, 60.0], "batch": [1.0, 60.0]}}
    wrong = report.reading_of(pointer("0" * 40, truth=truth | {"learning_rate": "eta"}), tmp_path)
    assert wrong.wrong == (
        "no series eta",
        "60 points of the loss, not 61",
        "steps 0..59, not 0..60 (step) or 1..60 (batch)",
        "eta is lost",
        "1 attempts, not 2",
    )


def test_a_log_that_no_reader_knows_is_one_line_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("nothing here\n")
    reading = report.reading_of(pointer("0" * 40), tmp_path)
    assert reading.outcomes == {"read": False}
    assert reading.wrong == ("not read: a.csv: no reader knows this format",)
    assert report.by_format([reading]).splitlines()[-1] == "| **all** | 1 | 0/1 |  |  |  |  |  |  |  | 0 |"


@pytest.mark.slow
def test_of_a_log_without_a_training_nothing_may_be_judged(tmp_path: Path) -> None:
    truth = pointer("0" * 40)["truth"] | {"attempts": 0, "loss": [], "points": 0}
    log = tmp_path / "a.csv"
    log.write_text("nothing here\n")
    assert report.reading_of(pointer("0" * 40, truth=truth), tmp_path).outcomes == {"judged": True}
    log.write_text(CSV)
    reading = report.reading_of(pointer("0" * 40, truth=truth), tmp_path)
    assert (reading.outcomes, reading.wrong) == (
        {"judged": False},
        ("judged loss, though there is no training",),
    )


# ---- the viewer


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.csv", "epoch,loss\n1,0.5\n2,nan\n", None),
        ("a.tsv", "EPOCH\tloss\n1\t0.5\n2\tnan\n", None),
        ("lcurve.out", "# step loss\n1 0.5\n2 nan\n", None),
        ("a.jsonl", '{"epoch": 1, "loss": 0.5}\n{"epoch": 2, "loss": NaN}\n{"epo', None),
        ("trainer_state.json", '{"log_history": [{"step": 1, "loss": 0.5}, {"step": 2, "loss": NaN}]}', None),
        ("a.log", "x\nepoch 1: loss 0.5\nepoch 2: loss nan\n", r"epoch (?P<epoch>\d+): loss (?P<loss>\S+)"),
    ],
)
def test_the_viewer_lists_the_points_of_a_log(name: str, text: str, line: str | None, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    series, _, rows = view.load(tmp_path / name, line)
    (series_, half_), (two, nothing) = series["loss"]
    assert (series_, half_, two, rows) == (1.0, 0.5, 2.0, 2) and nothing != nothing


def test_the_viewer_lists_the_scalars_of_an_event_file(tmp_path: Path) -> None:
    value = b"\x0a\x04loss\x15" + struct.pack("<f", 0.5)
    event = b"\x10\x07\x2a" + bytes([len(value) + 2]) + b"\x0a" + bytes([len(value)]) + value
    (tmp_path / "events.out.tfevents.1").write_bytes(
        struct.pack("<Q", len(event)) + b"0000" + event + b"0000"
    )
    assert view.load(tmp_path / "events.out.tfevents.1") == ({"loss": [(7.0, 0.5)]}, "step", 1)


def test_an_optional_event_of_any_kind_is_no_occurrence_of_the_kind_it_names_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    any_kind = {"pattern": "rising-spike-rate", "also_ok": ["level-shift"], "optional": True}
    of_a_kind = {"pattern": "level-shift", "also_ok": ["plateau"]}
    label = {"events": [any_kind, of_a_kind], "required": [], "verdict": "worrying"}
    monkeypatch.setattr(report, "chosen", lambda part: [{"label": label}])
    names = [line.split("|")[1].strip() for line in report.base_rates("all").splitlines()[2:]]
    assert sorted(names) == ["events of an open kind", "level-shift", "verdict worrying"]
