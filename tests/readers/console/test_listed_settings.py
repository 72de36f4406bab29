"""The settings with which a log begins, one a line, in the forms in which programs list them."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronicle.readers import read
from chronicle.readers.console.text_tables import listed_settings

SETTINGS = {"seed": 7, "peak_lr": 0.05, "batch_size": 32, "dataset": "two-moons", "amp": True}
FORMS = {
    "with colons": "\n".join(f"  {name}: {value}" for name, value in SETTINGS.items()),
    "aligned": "\n".join(f"  {name:<20}: {value}" for name, value in SETTINGS.items()),
    "command line": "\n".join(f"--{name} = {value}" for name, value in SETTINGS.items()),
    "with a heading each": "\n".join(f"Overriding: {name} = {value}" for name, value in SETTINGS.items()),
    "json": "args: {\n"
    + ",\n".join(f'  "{n}": "{v}"' if isinstance(v, str) else f'  "{n}": {v}' for n, v in SETTINGS.items())
    + "\n}",
    "pprint": "{" + ",\n ".join(f"{name!r}: {value!r}" for name, value in SETTINGS.items()) + "}",
    "yaml": "train:\n" + "\n".join(f"  {name}: {value}  # a comment" for name, value in SETTINGS.items()),
    "between bars": "\n".join(f"| {name:<20} | {value!s:<20} |" for name, value in SETTINGS.items()),
    "in a box": "╔═══╗\n" + "\n".join(f"║ {n:<20}{v!s:>20} ║" for n, v in SETTINGS.items()) + "\n╚═══╝",
    "of a table": "┏━━━┳━━━┓\n┃ Parameter ┃ Value ┃\n┡━━━╇━━━┩\n"
    + "\n".join(f"│ {name:<20} │ {value!s:<20} │" for name, value in SETTINGS.items()),
    "several a line": "seed: 7, peak_lr: 0.05\nbatch_size: 32, dataset: two-moons\namp: True",
    "logged": "\n".join(
        f"2026-01-02 10:00:00,123 - train - INFO -   {name}: {value}" for name, value in SETTINGS.items()
    ),
}
STEPS = "".join(f"step {n} | loss {3 - n / 50:.4f} | lr 1e-3\n" for n in range(40))


@pytest.mark.parametrize("form", FORMS)
def test_settings_are_facts_in_whatever_form_they_are_listed(form: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(f"Starting the training\n{FORMS[form]}\n{'=' * 40}\n{STEPS}")
    (attempt,) = read(tmp_path / "train.log")
    facts = {name: attempt.facts.get(f"config/{name}") for name in SETTINGS}
    assert facts == SETTINGS
    assert [type(value) for value in facts.values()] == [type(value) for value in SETTINGS.values()]
    assert (attempt.facts["seed"], attempt.facts["dataset"]) == (7, "two-moons")
    assert "trial" not in attempt.facts


@pytest.mark.parametrize(
    "text",
    [
        "seed: 7\nlr: 0.1\nStarting",  # two lines are no list
        "time: 3\nfps: 300\nmean reward: 20\ntime: 4",  # a block of measurements
        "time: 3\nfps: 300\nn_updates: 20\n\nnow\n\ntime: 4\nfps: 310\nn_updates: 30\nagain",
        "step 1: loss=3.1, time=2\nstep 2: loss=3.0, time=2\nstep 3: loss=2.9, time=2",
        "x = load(path)\ny = model.forward(x)\nself.rank = rank\nz = f(y)",  # source code
        "log: runs/2026-01-02_10-00.log\nstarted: 10:00:00\nSLURM_JOB_ID=4711",  # other in each launch
        "Warning: this may take a long time to do\nWarning: it will take a longer time\nWarning: wait",
    ],
)
def test_other_lines_list_no_settings(text: str) -> None:
    assert listed_settings(text.splitlines()) == {}


def test_what_follows_the_first_measurement_is_no_setting() -> None:
    lines = ["seed: 7", "width: 16", "depth: 2", "step 1 loss 3.1", "a: 1", "b: 2", "c: 3"]
    assert listed_settings(lines) == {"seed": 7, "width": 16, "depth": 2}
