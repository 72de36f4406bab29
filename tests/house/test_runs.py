"""The specimens in runs/ are complete and honest: source, licence, label, and a label that fits its log."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from chronicle.classify.patterns import BY_ID
from chronicle.model import Attempt
from chronicle.readers import read_all
from chronicle.score import load_label, unlabelled
from chronicle.score.labels import Label
from chronicle.workspace.config import RunConfig, load
from chronicle.workspace.folders import OUR_FILES, safe_id

RUNS = Path(__file__).parents[2] / "runs"
FOLDERS = sorted(f for f in RUNS.iterdir() if f.is_dir())
LAB = [f for f in FOLDERS if f.name.startswith("lab-")]

# The fifteen pictures of the field's own gallery, and the curves that each of them shows.
PICTURES = {
    "104B-en-fail": 1,
    "104B-glitch-1": 1,
    "104B-glitch-5": 2,
    "104B-glitch-7-10": 4,
    "13B-glitch-1-2": 1,
    "bloom-176B-success": 1,
    "idefics-image2text": 1,
    "idefics-losses-2023-06-04": 1,
    "idefics-spike-2023-05-27": 1,
    "idefics-spike-recover-2023-05-30": 2,
    "llama-7b-grokking": 1,
    "llama-7b-grokking-no-zoom": 1,
    "ptl-repeat-data-p1": 1,
    "ptl-repeat-data-p2": 1,
    "ptl-repeat-data-p3": 1,
}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_thousands_are_written_as_on_every_page(folder: Path) -> None:
    table = tomllib.loads((folder / "run.toml").read_text("utf-8"))
    assert re.findall(r"(?<!\d)\d{1,3},\d{3}(?!\d)", f"{table['description']} {table.get('facts', {})}") == []


LABEL_KEYS = {
    *("verdict", "verdict_also_ok", "required", "allowed", "forbidden", "main_series", "steps_healthy"),
    *("events", "why", "reliability", "seed_picture", "group"),
}
EVENT_KEYS = {
    *("pattern", "also_ok", "series", "attempt", "start_step", "peak_step", "end_step"),
    *("tolerance_steps", "optional"),
}

each_run = pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)


def logs(folder: Path) -> list[Path]:
    return [f for f in sorted(folder.rglob("*")) if f.is_file() and f.name not in OUR_FILES]


def attempts(folder: Path) -> Sequence[Attempt]:
    with unlabelled(folder) as copy:
        return read_all(copy).attempts


@each_run
def test_run_toml_says_what_it_is_and_whose(folder: Path) -> None:
    config = load(RunConfig, folder / "run.toml")
    assert config.title and config.project and config.tags and len(config.description) > 80
    assert config.title != folder.name and "\n" not in config.description
    if config.data == "digitised picture":
        assert config.licence == "CC-BY-SA-4.0" and (not config.quote or 20 < len(config.quote) < 160)
        assert "https://github.com/stas00/ml-engineering/blob/744d01e/" in config.source
        assert config.source.split()[1].rstrip(",").endswith(".png")
    elif config.data == "log":
        assert config.licence in ("Apache-2.0", "MIT")
        assert config.source.startswith("https://github.com/") and "/tree/" in config.source
    else:
        assert (config.data, config.licence) == ("tiny training", "MIT")
        commands = ("lab.train", "lab.grow --only")
        made = [f"made by lab/ of this repository: python -m {c} {folder.name[4:]}" for c in commands]
        assert config.source in made
        assert {"injected cause", "seed", "parameters", "training, seconds"} <= config.facts.keys()
        assert config.facts["training, seconds"] <= 180, "everyone should be able to repeat it"
    assert not config.synthetic


@each_run
def test_label_toml_says_why_and_names_only_what_there_is(folder: Path) -> None:
    table = tomllib.loads((folder / "label.toml").read_text("utf-8"))
    label = load_label(folder)
    assert table.keys() <= LABEL_KEYS and len(table["why"]) > 20
    assert all(event.keys() <= EVENT_KEYS for event in table.get("events", []))
    assert label.required and label.main_series and label.steps_healthy >= 0
    needed = {p for entry in label.required for p in entry.split("|")}
    assert not needed & set(label.forbidden)
    names = {f.relative_to(folder).as_posix() for f in logs(folder)}
    names |= {f.relative_to(folder).parts[0] for f in logs(folder)}
    for event in label.events:
        assert event.attempt is None or event.attempt in names
        assert event.tolerance_steps > 0
        assert (event.peak_step or event.start_step) >= event.start_step <= (event.end_step or np.inf)
        assert not {event.pattern} & set(label.forbidden)


@each_run
def test_a_label_fits_its_log(folder: Path) -> None:
    """Series and attempts are there, events lie where something is logged, and healthy points are counted."""
    label, logged = load_label(folder), attempts(folder)
    metrics = {metric for attempt in logged for metric in attempt.series}
    assert set(label.main_series) <= metrics
    points = [
        (step, attempt.name)
        for attempt in logged
        for metric in label.main_series
        for step, value in zip(*_column(attempt, metric), strict=True)
        if np.isfinite(value)
    ]
    first, last = min(points)[0], max(points)[0]
    for event in label.events:
        assert event.series is None or event.series in metrics
        assert first <= event.start_step <= max(last, event.start_step if "nan" in event.pattern else 0)
    if folder in LAB:
        assert label.steps_healthy == sum(not _in_event(label, step, name) for step, name in points)


def _column(attempt: Attempt, metric: str) -> tuple[np.ndarray, np.ndarray]:
    series = attempt.series.get(metric)
    return (series.steps, series.values) if series else (np.empty(0), np.empty(0))


def _in_event(label: Label, step: int, attempt: str) -> bool:
    return any(
        event.window[0] <= step <= event.window[1]
        and (event.attempt is None or Path(attempt).parts[0] == event.attempt)
        for event in label.masking
    )


def test_the_gallery_of_the_field_is_whole() -> None:
    curves: dict[str, int] = {}
    for folder in FOLDERS:
        picture = load_label(folder).seed_picture
        if picture:
            curves[picture] = curves.get(picture, 0) + 1
            assert load(RunConfig, folder / "run.toml").data == "digitised picture"
    assert curves == PICTURES


def test_specimens_are_small_and_speak_of_no_machine() -> None:
    files = [f for folder in FOLDERS for f in logs(folder)]
    assert all(logs(folder) for folder in FOLDERS)
    assert max(f.stat().st_size for f in files) < 350_000
    assert sum(f.stat().st_size for f in files) < 6_000_000
    for file in files:
        content = file.read_bytes()
        assert not any(word in content for word in (b"/home/", b"/root/", b"/Users/", b"C:\\"))


@each_run
def test_the_name_of_a_run_is_its_address(folder: Path) -> None:
    assert safe_id(folder.name) == folder.name


def test_most_patterns_have_a_specimen() -> None:
    shown = {
        p for f in FOLDERS for entry in load_label(f).required for p in entry.split("|")[:1]
    }  # the first name is the best one
    assert len(shown) >= 20 and shown <= set(BY_ID)


def test_the_page_of_the_lab_says_what_its_runs_say() -> None:
    page = (RUNS.parent / "docs" / "lab-runs.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `lab-")]
    assert rows == [_row(folder) for folder in LAB]


def _row(folder: Path) -> str:
    facts = load(RunConfig, folder / "run.toml").facts
    named = [entry.split("|")[0] for entry in load_label(folder).required[:1]]
    shown = "".join(f"[{pattern}](../patterns/{pattern}.md)" for pattern in named) or "none"
    return (
        f"| `{folder.name}` | {shown} | {facts['injected cause']} "
        f"| {facts['seed']} | {facts['training, seconds']} |"
    )


def test_a_faultless_resume_repeats_itself_to_the_last_digit() -> None:
    first, second, third = sorted(attempts(RUNS / "lab-clean-resumes"), key=lambda attempt: attempt.name)
    for before, after, steps in ((first, second, 40), (second, third, 60)):
        for metric in ("train/loss", "train/grad_norm", "train/lr"):
            assert np.array_equal(
                before.series[metric].values[-steps:], after.series[metric].values[:steps]
            ), metric
