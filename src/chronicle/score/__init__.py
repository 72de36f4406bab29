"""How well a classifier sees what people saw: `chronicle score DIR` over labelled runs.

A labelled run is a folder with its logs and a label.toml (or label.json). A case passes if the verdict is
accepted, every required pattern is named and no forbidden one. Findings are matched to labelled events by
onset; what is left over on healthy stretches are false alarms, given per 100,000 healthy logged points.

    from chronicle.score import score_folder
    print(score_folder(Path("runs"), predict).table())
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chronicle.errors import ChronicleError
from chronicle.model import Verdict
from chronicle.score.labels import LABEL_FILES, labelled, load_label
from chronicle.score.match import CaseResult as CaseResult
from chronicle.score.match import Score, judge, total
from chronicle.score.match import Totals as Totals
from chronicle.workspace.locks import scratch
from chronicle.workspace.notes import BESIDE, NOTES

Predict = Callable[[Path], Mapping[str, Any]]  # a run's folder in, its diagnosis out


def score_folder(cases_folder: Path, predict: Predict) -> Score:
    """Scores ``predict`` on every labelled run below ``cases_folder``.

    ``predict`` takes the folder of a run and returns its diagnosis as `classify --json` prints it. It must
    not look at the label: `unlabelled` makes a copy without one. If it raises a ChronicleError, the case
    counts as not answered, and its result carries the message.

    Raises:
        NothingToRead: there is no labelled run.
        ConfigError: a label is wrong.
    """
    labels = [(folder, load_label(folder)) for folder in labelled(cases_folder)]
    results = tuple(judge(label, *_answer(folder, predict)) for folder, label in labels)
    return Score(results, total(results))


def _answer(folder: Path, predict: Predict) -> tuple[Mapping[str, Any], str]:
    try:
        return predict(folder), ""
    except ChronicleError as err:
        return {}, str(err)


@contextmanager
def unlabelled(folder: Path) -> Iterator[Path]:
    """A passing copy of a run's folder, called ``run``, without its label and its notes.

    Neither the label nor a telling name can help whoever reads the copy.
    """
    with scratch() as place:
        copy = place / "run"
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(*LABEL_FILES, NOTES, BESIDE))
        yield copy


def one_answer(diagnoses: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One diagnosis for a folder that was read as several runs: the gravest verdict, all the rest."""
    if not diagnoses:
        return {}
    gravest = max(diagnoses, key=lambda d: Verdict(d["verdict"]).rank)
    return {
        **gravest,
        "patterns": sorted({p for d in diagnoses for p in d["patterns"]}),
        "findings": [f for d in diagnoses for f in d["findings"]],
    }
