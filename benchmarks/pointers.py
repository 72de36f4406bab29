"""Reads and judges the real logs that exam/pointers.json names, and compares with what was seen by eye.

    python -m benchmarks.pointers --from SNAPSHOTS [--part open|apart] [--round N] [--write]
    python -m benchmarks.pointers --logs FOLDER [--part open|apart] [--round N]

Four tables: what the readers got right, by format; the failures, one line each; the score of the classifier;
how often each pattern occurs. Of the half kept apart only totals are shown, and the look must be written
into exam/LOOKS.md. --write puts the tables of the open half into exam/README.md. --logs takes a folder that
`python -m exam.materialise` wrote, instead of the snapshots.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam.materialise import folder, materialise
from exam.pointers import Pointer, chosen

from benchmarks.exam import HEAD, row
from benchmarks.page import arguments, markdown, replace
from chronicle.build.produce import Run
from chronicle.build.sources import expand
from chronicle.classify import VERSION
from chronicle.cli.commands import predict
from chronicle.errors import ChronicleError
from chronicle.metrics.roles import shown_metric
from chronicle.model import Role, Timeline, Track
from chronicle.pages.lists import wilson
from chronicle.score import score_folder, unlabelled

PAGE = Path(__file__).parent.parent / "exam" / "README.md"
CHECKS = ("read", "series", "points", "steps", "judged", "validation", "rate", "attempts")
HEALTHY = {"near-perfect", "noisy-healthy"}


@dataclass(frozen=True)
class Seen:
    """One pointer read: each check that applies with its outcome, and what was wrong in words."""

    pointer: Pointer
    outcomes: dict[str, bool]
    wrong: tuple[str, ...]


# ---- the readers


def plain(name: str) -> str:
    """A name without case and punctuation: readers may tidy names."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


def tracks_of(timelines: Iterable[Timeline], name: str) -> list[Track]:
    """The tracks of a metric in all runs that were found."""
    tracks = [track for timeline in timelines for track in timeline.series.values()]
    return [t for t in tracks if t.metric == name] or [t for t in tracks if plain(t.metric) == plain(name)]


def seen(pointer: Pointer, folder: Path) -> Seen:
    """What chronicle reads of a pointer, against its truth. Of a log without a training nothing is asked but
    that nothing of it is judged; it may well be that no reader knows it."""
    training = pointer["truth"]["attempts"] != 0
    with unlabelled(folder) as copy:
        try:
            timelines = [Run(run).diagnose()[0] for run in expand([copy])]
        except ChronicleError as err:
            wrong = (f"not read: {_short(str(err).replace(str(copy), ''))}",)
            return Seen(pointer, {"read": False}, wrong) if training else Seen(pointer, {"judged": True}, ())
    if not training:
        names = _judged(timelines)
        wrong = (f"judged {', '.join(sorted(names))}, though there is no training",) if names else ()
        return Seen(pointer, {"judged": not names}, wrong)
    found = {"read": (bool(timelines), "no run")}
    found |= _columns(pointer["truth"], timelines) | _steps(pointer["truth"], timelines)
    found |= _roles(pointer, timelines)
    attempts = sum(len(timeline.attempts) for timeline in timelines)
    wanted = pointer["truth"]["attempts"]
    if wanted is not None:  # nobody can count what several processes wrote into one file at once
        found["attempts"] = (attempts == wanted, f"{attempts} attempts, not {wanted}")
    outcomes = {check: right for check, (right, _) in found.items()}
    return Seen(pointer, outcomes, tuple(text for right, text in found.values() if not right))


def _short(error: str) -> str:
    """What was wrong, without the place of the copy and without the list of formats."""
    first = error.splitlines()[0].removeprefix("no log in . ").lstrip("/")
    return re.split(r"\. (?:Known formats|Remedy)", first)[0]


def _columns(truth: dict[str, Any], timelines: Sequence[Timeline]) -> dict[str, tuple[bool, str]]:
    names = [*truth["loss"], *filter(None, (truth["validation"], truth["learning_rate"]))]
    lost = [name for name in names if not tracks_of(timelines, name)]
    return {"series": (not lost, f"no series {', '.join(lost)}")} if names else {}


def _steps(truth: dict[str, Any], timelines: Sequence[Timeline]) -> dict[str, tuple[bool, str]]:
    tracks = [track for name in truth["loss"][:1] for track in tracks_of(timelines, name) if len(track)]
    if not tracks:
        return dict.fromkeys(("points", "steps"), (False, "")) if truth["loss"] else {}
    points = sum(map(len, tracks))
    found = {"points": (points == truth["points"], f"{points} points of the loss, not {truth['points']}")}
    if truth["counters"]:
        whole = [track for timeline in timelines for track in timeline.series.values() if len(track)]
        ends, of_rows = (
            [min(t.steps.min() for t in some), max(t.steps.max() for t in some)] for some in (tracks, whole)
        )
        wanted = {name: [int(first), int(last)] for name, (first, last) in truth["counters"].items()}
        text = " or ".join(f"{first}..{last} ({name})" for name, (first, last) in wanted.items())
        right = ends in wanted.values() or of_rows in wanted.values()
        found["steps"] = (right, f"steps {ends[0]}..{ends[1]}, not {text}")
    return found


def _roles(pointer: Pointer, timelines: Sequence[Timeline]) -> dict[str, tuple[bool, str]]:
    truth, found = pointer["truth"], {}
    if truth["loss"]:
        names = _judged(timelines)
        right = bool(names) and {plain(name) for name in names} <= {plain(name) for name in truth["loss"]}
        found["judged"] = (right, f"judged {', '.join(sorted(names)) or 'nothing'}, not {truth['loss'][0]}")
    for check, name, role in (
        ("validation", truth["validation"], Role.VALIDATION_LOSS),
        ("rate", truth["learning_rate"], Role.LEARNING_RATE),
    ):
        if name:
            roles = {track.role.value for track in tracks_of(timelines, name)}
            found[check] = (roles == {role.value}, f"{name} is {', '.join(sorted(roles)) or 'lost'}")
    return found


def _judged(timelines: Iterable[Timeline]) -> set[str]:
    shown = (shown_metric(timeline.series.values()) for timeline in timelines)
    return {track.metric for track in shown if track is not None}


def by_format(results: Sequence[Seen]) -> str:
    """Share read right, one row a format: right / of those to which the check applies."""
    formats = sorted({(result.pointer["format"]) for result in results})
    rows = [
        _shares(name, [result for result in results if result.pointer["format"] == name]) for name in formats
    ]
    for kind in ("falls", "rises"):
        some = [result for result in results if result.pointer["objective"] == kind]
        rows.append(_shares(f"**objective {kind}**", some))
    rows += _by_round(results)
    return markdown(["format", "pointers", *CHECKS, "all right"], rows)


def _shares(name: str, results: Sequence[Seen]) -> list[object]:
    cells: list[object] = [name, len(results)]
    for check in CHECKS:
        having = [result.outcomes[check] for result in results if check in result.outcomes]
        cells.append(f"{sum(having)}/{len(having)}" if having else "")
    return [*cells, sum(not result.wrong for result in results)]


def _by_round(results: Sequence[Seen]) -> list[list[object]]:
    """The shares of each round, and of all."""
    rounds = sorted({result.pointer["round"] for result in results})
    rows = [
        _shares(f"round {n}", [result for result in results if result.pointer["round"] == n]) for n in rounds
    ]
    return [*rows, _shares("**all**", results)]


# ---- the classifier


def base_rates(part: str) -> str:
    """How often each pattern was seen by eye: required in a label, or one of its events.

    An optional event that accepts several kinds says that something happened whose kind is open; those are a
    row of their own.
    """
    labels = [pointer["label"] for pointer in chosen(part) if pointer["label"]]
    names: Counter[str] = Counter()
    for label in labels:
        required = {pattern for entry in label["required"] for pattern in entry.split("|")[:1]}
        names.update({"healthy" if name in HEALTHY else name for name in required | _patterns(label)})
    rows = [(name, n, n / len(labels), *wilson(n, len(labels))) for name, n in names.most_common()]
    verdicts = Counter(label["verdict"] for label in labels)
    rows += [
        (f"verdict {name}", n, n / len(labels), *wilson(n, len(labels))) for name, n in verdicts.most_common()
    ]
    return markdown(["pattern", f"of {len(labels)} labels", "share", "from", "to"], rows)


def _patterns(label: dict[str, Any]) -> set[str]:
    return {
        "events of an open kind" if event.get("optional") and event.get("also_ok") else event["pattern"]
        for event in label["events"]
    }


def report(logs: Path, part: str, of_round: int | None = None) -> str:
    """The report on the pointers of one half, or of one round of it, whose logs are below ``logs``."""
    wanted = [pointer for pointer in chosen(part) if of_round in (None, pointer["round"])]
    there = [pointer for pointer in wanted if (logs / pointer["id"]).is_dir()]
    with tempfile.TemporaryDirectory() as temporary:
        selected = Path(temporary)
        for pointer in there:
            (selected / pointer["id"]).symlink_to((logs / pointer["id"]).resolve())
        results = [seen(pointer, selected / pointer["id"]) for pointer in there]
        return told(results, selected, part, lost=len(wanted) - len(there))


def told(results: Sequence[Seen], folder: Path, part: str, lost: int) -> str:
    """The report as text; of the half kept apart the totals alone. ``lost`` logs are not in the folder."""
    score = score_folder(folder, predict).cases
    day = f"{time.strftime('%Y-%m-%d')}, classifier {VERSION}, half: {part}."
    if lost:
        day += f" {len(results)} logs were at hand; the snapshots of {lost} others could not be had."
    rounds = {result.pointer["id"]: result.pointer["round"] for result in results}
    parts = {
        f"{part}, round {n}": [r for r in score if rounds[r.id] == n] for n in sorted({*rounds.values()})
    }
    scores = markdown(HEAD, [row(name, some) for name, some in ({part: score} | parts).items()])
    if part == "apart":
        shares = markdown(["", "pointers", *CHECKS, "all right"], _by_round(results))
        return f"{day}\n\n{shares}\n\n{scores}\n"
    failed = [
        f"- `{result.pointer['id']}`: {'; '.join(filter(None, result.wrong))}"
        for result in results
        if result.wrong
    ]
    missed = [f"- `{r.id}`: {_why(r)}" for r in score if not r.passed]
    return "\n\n".join(
        [
            day,
            by_format(results),
            "Not read right:\n\n" + "\n".join(failed),
            scores,
            "Read and not passed:\n\n" + "\n".join(missed),
            f"Base rates, both halves:\n\n{base_rates('all')}\n",
        ]
    )


def _why(result: Any) -> str:
    if result.error:
        return "no answer"
    verdict = f"{result.verdict} for {result.want}" if not result.verdict_ok else ""
    missing = f"misses {', '.join(result.missing)}" if result.missing else ""
    named = f"names {', '.join(result.forbidden)}" if result.forbidden else ""
    return "; ".join(filter(None, (verdict, missing, named)))


def main() -> None:
    parser = arguments(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--from", dest="snapshots", type=folder, metavar="SNAPSHOTS")
    source.add_argument("--logs", type=folder, metavar="FOLDER")
    parser.add_argument("--part", choices=["open", "apart"], default="open")
    parser.add_argument("--round", type=int, metavar="N")
    given = parser.parse_args()
    missing: list[str] = []
    with tempfile.TemporaryDirectory() as temporary:
        logs = given.logs or Path(temporary)
        if given.snapshots:
            _, missing = materialise(given.snapshots, logs, given.part)
        text = report(logs, given.part, given.round)
    print(text)
    if missing:
        print(f"{len(missing)} logs could not be had:\n" + "\n".join(missing))
    if given.write and given.part == "open" and given.round is None:
        replace("results", f"\n{text}\n\n", PAGE)


if __name__ == "__main__":
    main()
