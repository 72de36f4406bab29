"""Compares what chronicle reads from the log of a client with what the client was given to log."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import chronicle
from chronicle.errors import ChronicleError
from chronicle.model import Attempt, Timeline, Track

NEAR_STEPS = 3  # an event may be told so far from where it was made
HALF = 0.5001  # of the last digit that is printed


@dataclass(frozen=True)
class Cell:
    """How many of how many things are right; ``told`` describes what is wrong."""

    right: int
    of: int
    told: str = ""

    def __str__(self) -> str:
        if not self.of:
            return "–"
        right = "yes" if self.right == self.of else f"{self.right} of {self.of}"
        return f"{right}, but" if self.told and self.right == self.of else right


@dataclass(frozen=True)
class Row:
    """A client: what is recognised, equal, known by role, and found as join, as event and as fact."""

    client: str
    versions: dict[str, str]
    recognised: Cell
    values: Cell
    roles: Cell
    joins: Cell
    events: Cell
    facts: Cell


def compared(folder: Path) -> Row:
    """The row of the client whose log and truth are in a folder: by the command and by what is read."""
    truth = truth_of(folder)
    recognised, diagnosis = _classified(folder / "log")
    values, roles, _ = as_read(folder)
    joins = [(one["kind"], one["from_step"], one["to_step"]) for one in diagnosis.get("joins", [])]
    return Row(
        truth["client"],
        truth["versions"],
        recognised,
        values,
        roles,
        _joins(truth, joins),
        _events(truth, diagnosis),
        _facts(truth, _read(folder / "log")[0]),
    )


def truth_of(folder: Path) -> dict[str, Any]:
    """What the client was given to log."""
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text("utf-8"))
    return truth


def as_read(folder: Path) -> tuple[Cell, Cell, Cell]:
    """How many series have their values, and metrics their roles, and how many joins are found."""
    truth = truth_of(folder)
    _, timeline = _read(folder / "log")
    found = {name: _track(name, timeline) for name in _names(truth)}
    joins = [(join.kind.value, join.from_step, join.to_step) for join in timeline.joins] if timeline else []
    return _values(truth, found), _roles(truth, found), _joins(truth, joins)


def _classified(log: Path) -> tuple[Cell, dict[str, Any]]:
    """Whether the command takes the folder for one run, and what it says of that run."""
    command = [sys.executable, "-m", "chronicle", "classify", "--json", str(log)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    runs = [json.loads(line) for line in made.stdout.splitlines()]
    told = made.stderr.strip().splitlines()[-1:] if made.stderr.strip() else []
    if len(runs) != 1:
        return Cell(0, 1, f"{len(runs)} runs. " + " ".join(told)), runs[0] if runs else {}
    return Cell(1, 1, " ".join(told)), runs[0]


def _read(log: Path) -> tuple[list[Attempt], Timeline | None]:
    try:
        attempts = chronicle.read(log)
        return attempts, chronicle.stitch(attempts)
    except ChronicleError:
        return [], None


def _names(truth: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(name for launch in truth["launches"] for name in launch))


def _track(name: str, timeline: Timeline | None) -> Track | None:
    """The track of a name as the client was given it; clients join its words by signs of their own."""
    tracks = timeline.series if timeline else {}
    words = _words(name)
    equal = [track for own, track in tracks.items() if _words(own) == words]
    longer = [track for own, track in tracks.items() if _words(own)[-len(words) :] == words]
    return next(iter(equal + longer), None)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^A-Za-z0-9]+", name.lower()) if word]


def _values(truth: dict[str, Any], found: dict[str, Track | None]) -> Cell:
    wrong = [name for name, track in found.items() if not _equal(truth, name, track)]
    return Cell(len(found) - len(wrong), len(found), ", ".join(wrong))


def _equal(truth: dict[str, Any], name: str, track: Track | None) -> bool:
    """Whether a track has the points that were logged, each as often, and no other."""
    if track is None:
        return False
    parts = [launch[name] for launch in truth["launches"] if name in launch]
    steps = np.concatenate([np.array(part["steps"], np.int64) for part in parts])
    values = np.concatenate([np.array(part["values"], np.float64) for part in parts])
    if len(steps) != len(track):
        return False
    ours, theirs = np.lexsort((track.values, track.steps)), np.lexsort((values, steps))
    if not np.array_equal(track.steps[ours], steps[theirs]):
        return False
    found, logged = track.values[ours], values[theirs]
    if truth["exact"] == "printed":
        return _equal_as_printed(found, logged)
    if truth["exact"] == "float32" and np.array_equal(found, logged.astype(np.float32), equal_nan=True):
        return True
    return np.array_equal(found, logged, equal_nan=True)


def _equal_as_printed(ours: np.ndarray, theirs: np.ndarray) -> bool:
    both = np.isnan(ours) == np.isnan(theirs)
    unit = np.array([_last_digit(value) for value in ours])
    return bool(np.all(both & ~(np.abs(ours - theirs) > HALF * unit)))


def _last_digit(value: float) -> float:
    """The unit of the last digit of a number as it was printed, as far as the number tells."""
    if not np.isfinite(value):
        return 0.0
    mantissa, _, exponent = repr(float(value)).partition("e")
    decimals = len(mantissa.partition(".")[2].rstrip("0"))
    return 10.0 ** (int(exponent or 0) - decimals)


def _roles(truth: dict[str, Any], found: dict[str, Track | None]) -> Cell:
    wrong = []
    roles = {name: role for name, role in truth["roles"].items() if name in found}
    for name, role in roles.items():
        track = found[name]
        if track is None or track.role != role:
            wrong.append(f"{name}: {track.role if track else 'missing'}")
    return Cell(len(roles) - len(wrong), len(roles), ", ".join(wrong))


def _joins(truth: dict[str, Any], told: list[tuple[str, int, int]]) -> Cell:
    """Joins told with their kind and steps; ``told`` of the cell has those that never were."""
    wanted = [(one["kind"], one["from"], one["to"]) for one in truth["joins"]]
    invented = [f"{kind} {begin} → {end}" for kind, begin, end in told if (kind, begin, end) not in wanted]
    return Cell(sum(one in told for one in wanted), max(len(wanted), len(invented)), ", ".join(invented))


def _events(truth: dict[str, Any], diagnosis: dict[str, Any]) -> Cell:
    findings = [(one["pattern"], one["start_step"]) for one in diagnosis.get("findings", [])]

    def told(event: dict[str, Any]) -> bool:
        return any(
            pattern.startswith(event["pattern"])
            and (abs(step - event["step"]) <= NEAR_STEPS or event.get("anywhere"))
            for pattern, step in findings
        )

    right = [told(event) for event in truth["events"]]
    missed = [event["pattern"] for event, found in zip(truth["events"], right, strict=True) if not found]
    return Cell(sum(right), len(right), ", ".join(missed))


def _facts(truth: dict[str, Any], attempts: list[Attempt]) -> Cell:
    """Facts found under a name that ends as theirs does, with the value."""
    known = {
        (tuple(_words(name)[-1:]), str(value))
        for attempt in attempts
        for name, value in attempt.facts.items()
    }
    missing = [
        name for name, value in truth["facts"].items() if (tuple(_words(name)[-1:]), str(value)) not in known
    ]
    return Cell(len(truth["facts"]) - len(missing), len(truth["facts"]), ", ".join(missing))
