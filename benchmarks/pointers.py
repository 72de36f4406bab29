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
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from exam.materialise import folder, materialise
from exam.pointers import Pointer, chosen

from benchmarks.exam import HEAD, row
from benchmarks.page import arguments, markdown, replace
from chronicle.build.produce import Run
from chronicle.build.sources import expand
from chronicle.classify import VERSION
from chronicle.cli.commands import predict
from chronicle.errors import ChronicleError
from chronicle.metrics.arithmetic import wilson
from chronicle.metrics.roles import shown_metric
from chronicle.model import Role, Timeline, Track
from chronicle.score import score_folder, unlabelled

PAGE = Path(__file__).parent.parent / "exam" / "README.md"
CHECKS = ("read", "series", "points", "steps", "judged", "validation", "rate", "attempts")
HEALTHY = {"near-perfect", "noisy-healthy"}


@dataclass(frozen=True)
class Reading:
    """What chronicle read of one pointer: the outcome of each check that applies, and what was wrong."""

    pointer: Pointer
    outcomes: dict[str, bool]
    wrong: tuple[str, ...]


class Check(NamedTuple):
    """One comparison with what was seen by eye; ``wrong`` describes the difference if there is one."""

    name: str
    is_right: bool
    wrong: str


# ---- the readers


def letters_and_digits(name: str) -> str:
    """A name without case and punctuation, because readers may tidy names."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


def tracks_of(timelines: Iterable[Timeline], name: str) -> list[Track]:
    """The tracks of a metric in all runs that were found."""
    tracks = [track for timeline in timelines for track in timeline.series.values()]
    tidied = letters_and_digits(name)
    return [t for t in tracks if t.metric == name] or [
        t for t in tracks if letters_and_digits(t.metric) == tidied
    ]


def reading_of(pointer: Pointer, folder: Path) -> Reading:
    """Reads the logs of a pointer and compares the result with its truth.

    Of a log without a training only one thing is asked: nothing of it may be judged. No reader needs to know
    such a log.
    """
    has_training = pointer["truth"]["attempts"] != 0
    with unlabelled(folder) as copy:
        try:
            timelines = [Run(run).diagnose()[0] for run in expand([copy])]
        except ChronicleError as err:
            wrong = f"not read: {_short(str(err).replace(str(copy), ''))}"
            checks = [Check("read", False, wrong) if has_training else Check("judged", True, "")]
        else:
            checks = [*(_checks(pointer, timelines) if has_training else _nothing_judged(timelines))]
    outcomes = {check.name: check.is_right for check in checks}
    return Reading(pointer, outcomes, tuple(check.wrong for check in checks if not check.is_right))


def _short(error: str) -> str:
    """The first sentence of an error, without the folder of the copy."""
    first = error.splitlines()[0].removeprefix("no log in . ").lstrip("/")
    return first.partition(". Remedy")[0]


def _nothing_judged(timelines: Sequence[Timeline]) -> Iterator[Check]:
    names = _judged(timelines)
    yield Check("judged", not names, f"judged {', '.join(sorted(names))}, though there is no training")


def _checks(pointer: Pointer, timelines: Sequence[Timeline]) -> Iterator[Check]:
    truth = pointer["truth"]
    yield Check("read", bool(timelines), "no run")
    if names := [*truth["loss"], *filter(None, (truth["validation"], truth["learning_rate"]))]:
        lost = [name for name in names if not tracks_of(timelines, name)]
        yield Check("series", not lost, f"no series {', '.join(lost)}")
    if truth["loss"]:
        yield from _points_and_steps(truth, timelines)
        judged = _judged(timelines)
        accepted = {*map(letters_and_digits, truth["loss"])}
        is_right = bool(judged) and {*map(letters_and_digits, judged)} <= accepted
        wrong = f"judged {', '.join(sorted(judged)) or 'nothing'}, not {truth['loss'][0]}"
        yield Check("judged", is_right, wrong)
    for check, name, role in (
        ("validation", truth["validation"], Role.VALIDATION_LOSS),
        ("rate", truth["learning_rate"], Role.LEARNING_RATE),
    ):
        if name:
            roles = {track.role.value for track in tracks_of(timelines, name)}
            yield Check(check, roles == {role.value}, f"{name} is {', '.join(sorted(roles)) or 'lost'}")
    if truth["attempts"] is not None:  # null: several processes wrote at once, and nobody can count them
        attempts = sum(len(timeline.attempts) for timeline in timelines)
        yield Check(
            "attempts", attempts == truth["attempts"], f"{attempts} attempts, not {truth['attempts']}"
        )


def _points_and_steps(truth: dict[str, Any], timelines: Sequence[Timeline]) -> Iterator[Check]:
    """The points of the loss and its first and last step; those of all series are accepted as well."""
    tracks = [track for track in tracks_of(timelines, truth["loss"][0]) if len(track)]
    if not tracks:
        yield Check("points", False, "")
        yield Check("steps", False, "")
        return
    points = sum(map(len, tracks))
    yield Check("points", points == truth["points"], f"{points} points of the loss, not {truth['points']}")
    if truth["counters"]:
        every = [track for timeline in timelines for track in timeline.series.values() if len(track)]
        ends, ends_of_all = (
            [min(t.steps.min() for t in some), max(t.steps.max() for t in some)] for some in (tracks, every)
        )
        wanted = {name: [int(first), int(last)] for name, (first, last) in truth["counters"].items()}
        text = " or ".join(f"{first}..{last} ({name})" for name, (first, last) in wanted.items())
        is_right = ends in wanted.values() or ends_of_all in wanted.values()
        yield Check("steps", is_right, f"steps {ends[0]}..{ends[1]}, not {text}")


def _judged(timelines: Iterable[Timeline]) -> set[str]:
    shown = (shown_metric(timeline.series.values()) for timeline in timelines)
    return {track.metric for track in shown if track is not None}


def by_format(results: Sequence[Reading]) -> str:
    """What was read right, by format, objective and round: right / pointers to which the check applies."""
    rows = [*_shares_by("format", "{}", results), *_shares_by("objective", "**objective {}**", results)]
    return markdown(["format", "pointers", *CHECKS, "all right"], [*rows, *_by_round(results)])


def _shares_by(key: str, title: str, results: Sequence[Reading]) -> list[list[object]]:
    """One row for each value that a key of the pointers has."""
    values = sorted({result.pointer[key] for result in results})
    return [
        _shares(title.format(value), [result for result in results if result.pointer[key] == value])
        for value in values
    ]


def _shares(name: str, results: Sequence[Reading]) -> list[object]:
    cells: list[object] = [name, len(results)]
    for check in CHECKS:
        having = [result.outcomes[check] for result in results if check in result.outcomes]
        cells.append(f"{sum(having)}/{len(having)}" if having else "")
    return [*cells, sum(not result.wrong for result in results)]


def _by_round(results: Sequence[Reading]) -> list[list[object]]:
    return [*_shares_by("round", "round {}", results), _shares("**all**", results)]


# ---- the classifier


def base_rates(part: str) -> str:
    """How often each pattern was seen by eye: a label requires it, or has it as an event.

    An optional event that accepts several patterns says that something happened whose kind is not known; such
    events have a row of their own.
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
        results = [reading_of(pointer, selected / pointer["id"]) for pointer in there]
        return report_text(results, selected, part, lost=len(wanted) - len(there))


def report_text(results: Sequence[Reading], folder: Path, part: str, lost: int) -> str:
    """The report as text; for the half kept apart the totals alone. ``lost`` logs are not in the folder."""
    score = score_folder(folder, predict).cases
    head = f"{time.strftime('%Y-%m-%d')}, classifier {VERSION}, half: {part}."
    if lost:
        head += f" {len(results)} logs were at hand; the snapshots of {lost} others could not be had."
    rounds = {result.pointer["id"]: result.pointer["round"] for result in results}
    parts = {
        f"{part}, round {n}": [r for r in score if rounds[r.id] == n] for n in sorted({*rounds.values()})
    }
    scores = markdown(HEAD, [row(name, some) for name, some in ({part: score} | parts).items()])
    if part == "apart":
        shares = markdown(["", "pointers", *CHECKS, "all right"], _by_round(results))
        return f"{head}\n\n{shares}\n\n{scores}\n"
    failed = [
        f"- `{result.pointer['id']}`: {'; '.join(filter(None, result.wrong))}"
        for result in results
        if result.wrong
    ]
    missed = [f"- `{r.id}`: {_why(r)}" for r in score if not r.passed]
    return "\n\n".join(
        [
            head,
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
        print(f"{len(missing)} logs are missing:\n" + "\n".join(missing))
    if given.write and given.part == "open" and given.round is None:
        replace("results", f"\n{text}\n\n", PAGE)


if __name__ == "__main__":
    main()
