"""The judged alarms: their schema, that none is of a log kept apart, the tables, and what is given today."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import alarms
from exam.pointers import half
from exam.pointers import load as load_pointers

from chronicle.classify.patterns import PATTERNS

ALL = alarms.load()
PATTERN_IDS = {pattern.id for pattern in PATTERNS}
FIELDS = {
    "repo": str,
    "commit": str,
    "path": str,
    "sha256": str,
    "axis": str,
    "verdict": str,
    "pattern": str,
    "series": str | None,
    "start_step": int | float | None,
    "judged": str,
    "note": str,
}
OVERFITS = "epoch,train_loss,val_loss\n" + "".join(
    f"{i},{2.0 / i},{1.0 + 0.1 * abs(i - 8)}\n" for i in range(1, 41)
)


def test_an_alarm_says_where_it_was_and_what_a_person_thought() -> None:
    for alarm in ALL:
        assert alarm.keys() == FIELDS.keys(), alarm
        assert all(isinstance(alarm[name], kind) for name, kind in FIELDS.items()), alarm
        assert alarm["judged"] in alarms.JUDGEMENTS, alarm
        assert alarm["pattern"] in PATTERN_IDS | {"fault"} and alarm["note"].endswith("."), alarm
    places = [(alarm["repo"], alarm["path"]) for alarm in ALL]
    assert len(ALL) > 40 and len({*places}) == len(places)


def test_the_alarms_of_a_competition_say_the_same_and_of_which_sample_they_are() -> None:
    judged = alarms.load(alarms.ALARMS.with_name("competition_alarms.jsonl"))
    for alarm in judged:
        assert alarm.keys() == {"sample", *FIELDS} and alarm["judged"] in alarms.JUDGEMENTS, alarm
        assert alarm["pattern"] in PATTERN_IDS and alarm["path"].count("/trial_") == 1, alarm
        assert bool(alarm["note"]) == (alarm["judged"] != "right"), alarm
    rows = {row[0]: row[1:4] for row in alarms.counts(judged, "sample")}
    first = {1: (46, 4, 5), 2: (74, 7, 7), 3: (81, 5, 11), 4: (75, 4, 5)}
    later = {5: (54, 2, 16), 6: (54, 0, 5), 7: (56, 2, 4), 8: (41, 4, 2)}
    assert rows == first | later | {"all": (481, 28, 55)}


def test_no_alarm_is_of_a_repository_that_is_kept_apart() -> None:
    kept = {pointer["repo"].lower() for pointer in load_pointers() if half(pointer) == "apart"}
    assert len(kept) > 50 and kept.isdisjoint(alarm["repo"].lower() for alarm in ALL)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "FILE cannot be read ([Errno 2] No such file or directory: 'FILE'). "),
        ("# A page", "FILE cannot be read (Expecting value: line 1 column 1 (char 0)). "),
        ("", "FILE holds no alarm. "),
    ],
)
def test_a_file_without_alarms_is_refused(
    content: str | None,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "other.jsonl"
    if content is not None:
        file.write_text(content)
    monkeypatch.setattr(sys, "argv", ["alarms", "--alarms", str(file)])
    with pytest.raises(SystemExit):
        alarms.main()
    remedy = "Remedy: name a file of the form of exam/alarms.jsonl"
    message = "error: argument --alarms: " + told.replace("FILE", str(file)) + remedy
    assert capsys.readouterr().err.endswith(message + "\n")


def test_judgements_are_counted() -> None:
    judged = [("bad", "right"), ("bad", "right"), ("bad", "wrong"), ("worrying", "doubtful")]
    rows = alarms.counts([{"verdict": verdict, "judged": how} for verdict, how in judged], "verdict")
    assert rows == [("bad", 2, 0, 1, 2 / 3), ("worrying", 0, 1, 0, None), ("all", 2, 1, 1, 2 / 3)]


def snapshot(at: Path, log: str) -> tuple[str, str]:
    """A repository with a log, as a snapshot; its commit, and the hash of the log."""
    at.mkdir(parents=True)
    (at / "log.csv").write_text(log)
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *name, *command], cwd=at, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=at, check=True, capture_output=True, text=True)
    return head.stdout.strip(), hashlib.sha256(log.encode()).hexdigest()


@pytest.mark.parametrize(
    ("pattern", "judged", "line"),
    [
        ("overfitting", "right", ""),
        ("overfitting", "wrong", "- wrong, still given: overfitting in x/y log.csv: It falls."),
        ("plateau", "right", "- right, no longer given: plateau in x/y log.csv: It falls."),
        ("plateau", "wrong", ""),
    ],
)
def test_what_is_given_today_is_compared_with_the_judgement(
    pattern: str,
    judged: str,
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    commit, sha256 = snapshot(tmp_path / "snapshots" / "x+y", OVERFITS)
    alarm = {
        "repo": "x/y",
        "commit": commit,
        "path": "log.csv",
        "sha256": sha256,
        "axis": "epoch",
        "verdict": "worrying",
    }
    alarm |= {"pattern": pattern, "judged": judged, "note": "It falls."}
    lost = {**alarm, "sha256": "0", "judged": "doubtful"}
    (file := tmp_path / "alarms.jsonl").write_text(json.dumps(alarm) + "\n" + json.dumps(lost) + "\n")
    words = ["alarms", "--from", str(tmp_path / "snapshots"), "--alarms", str(file)]
    monkeypatch.setattr(sys, "argv", words)
    alarms.main()
    printed = capsys.readouterr().out
    given = pattern == "overfitting"
    assert f"| {judged} | {int(given)} | {int(not given)} | 0 |\n" in printed
    assert "| doubtful | 0 | 0 | 1 |\n" in printed
    assert printed.endswith(f"\n\n{line}\n" if line else "\n\n")
