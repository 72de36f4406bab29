"""Alarms in real logs that nobody had labelled: how many were right, and which are still given today?

    python -m benchmarks.alarms [--from SNAPSHOTS] [--alarms FILE]

`exam/alarms.jsonl` holds one alarm a line: a run of a public log that got a verdict worse than good when the
log was read for the first time, and what a person thought of it who looked at the curves and the log. The
first table counts these judgements. With the snapshots of the repositories (`exam/README.md`) the logs are
read once more: a right alarm should still be given, a wrong one not. `exam/competition_alarms.jsonl` holds
the findings in trials of one competition, in eight samples.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from exam.materialise import Missing, checked, folder

import chronicle
from benchmarks.page import markdown
from chronicle.errors import ChronicleError
from chronicle.model import Verdict

ALARMS = Path(__file__).parent.parent / "exam" / "alarms.jsonl"
JUDGEMENTS = ("right", "doubtful", "wrong")
Alarm = Mapping[str, Any]


def load(file: Path = ALARMS) -> list[dict[str, Any]]:
    """All alarms, in the order of the file."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def alarms_in(text: str) -> list[dict[str, Any]]:
    """The alarms of a file, as an option."""
    remedy = "name a file of the form of exam/alarms.jsonl"
    try:
        if alarms := load(Path(text)):
            return alarms
    except (OSError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{text} cannot be read ({error}). Remedy: {remedy}") from None
    raise argparse.ArgumentTypeError(f"{text} holds no alarm. Remedy: {remedy}")


def precision(judged: Counter[str]) -> float | None:
    """The share of right alarms, without the doubtful ones; None if there are none."""
    clear = judged["right"] + judged["wrong"]
    return judged["right"] / clear if clear else None


def counts(alarms: Sequence[Alarm], key: str) -> list[tuple[object, ...]]:
    """A row for each value of ``key``, the most frequent first: judgements, and the share of right ones."""
    frequent = [value for value, _ in Counter(alarm[key] for alarm in alarms).most_common()]
    rows = {value: Counter(a["judged"] for a in alarms if a[key] == value) for value in frequent}
    rows["all"] = Counter(alarm["judged"] for alarm in alarms)
    return [(value, *(judged[j] for j in JUDGEMENTS), precision(judged)) for value, judged in rows.items()]


def is_given(alarm: Alarm, log: Path) -> bool:
    """Whether a run of the log gets a verdict worse than good today, with the pattern of the alarm."""
    try:
        diagnoses = [run.diagnose()[1] for run in chronicle.runs(log)]
    except ChronicleError:
        return False
    worse = (d for d in diagnoses if d.verdict is not Verdict.GOOD)
    return any(alarm["pattern"] in (*d.patterns, "fault") for d in worse)


def read_again(alarms: Sequence[Alarm], snapshots: Path) -> Iterator[tuple[Alarm, bool | None]]:
    """Each alarm with whether it is still given; None where the snapshots lack its log."""
    for alarm in alarms:
        try:
            ((name, log),) = checked(snapshots, {**alarm, "files": [alarm]})
        except Missing:
            yield alarm, None
            continue
        with tempfile.TemporaryDirectory() as made:
            (file := Path(made) / name).write_bytes(log)
            yield alarm, is_given(alarm, file)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--from", dest="snapshots", type=folder, metavar="SNAPSHOTS")
    parser.add_argument("--alarms", type=alarms_in, default=str(ALARMS), metavar="FILE", help="other alarms")
    options = parser.parse_args()
    snapshots, alarms = options.snapshots, options.alarms
    for key in (key for key in ("sample", "axis", "verdict", "pattern") if key in alarms[0]):
        print(markdown([key, *JUDGEMENTS, "right, without doubtful"], counts(alarms, key)), end="\n\n")
    if snapshots is None:
        return
    again = list(read_again(alarms, snapshots))
    table = Counter((alarm["judged"], given) for alarm, given in again)
    rows = [(judged, *(table[judged, given] for given in (True, False, None))) for judged in JUDGEMENTS]
    print(markdown(["judged", "given today", "not given", "no snapshot"], rows), end="\n\n")
    for alarm, given in again:
        if given is not None and given != (alarm["judged"] == "right") and alarm["judged"] != "doubtful":
            print(f"- {alarm['judged']}, {'still' if given else 'no longer'} given: {alarm['pattern']} in "
                  f"{alarm['repo']} {alarm['path']}: {alarm['note']}")  # fmt: skip


if __name__ == "__main__":
    main()
