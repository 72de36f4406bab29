"""Notebooks: cells as runs and resumes, texts and tables, what holds no training, and damage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.readers.writers import csv_log

import chronicle
from chronicle.errors import LogError
from chronicle.readers import read, read_all, runs_below
from chronicle.readers.find import is_log

PICTURE = {"output_type": "display_data", "data": {"image/png": "A" * 999, "text/plain": "<Figure>"}}
EPOCHS = "<table><tr><th>epoch</th><th>train_loss</th><th>valid_loss</th><th>time</th></tr>{}</table><p>"


def notebook(path: Path, *cells: list[dict[str, Any]], counts: tuple[int | None, ...] = ()) -> Path:
    """Writes a notebook of cells with these outputs, numbered by ``counts`` or from 1 on."""
    numbers = counts or range(1, len(cells) + 1)
    code = [
        {"cell_type": "code", "execution_count": n, "metadata": {}, "outputs": outputs, "source": ["train()"]}
        for n, outputs in zip(numbers, cells, strict=True)
    ]
    title = {"cell_type": "markdown", "metadata": {}, "source": ["# Title"]}
    path.write_text(json.dumps({"cells": [title, *code], "nbformat": 4, "nbformat_minor": 5}, indent=1))
    return path


def printed(text: str, stream: str = "stdout") -> dict[str, Any]:
    return {"output_type": "stream", "name": stream, "text": text.splitlines(keepends=True)}


def shown(html: str) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"text/html": [html], "text/plain": ["<HTML>"]}}


def epochs(first: int, last: int, level: float = 2.0) -> str:
    return "".join(f"Epoch {n}/20 - loss: {level - 0.05 * n:.4f}\n" for n in range(first, last + 1))


def losses(path: Path) -> dict[str, list[float]]:
    return {a.name: a.series["loss"].values.tolist() for a in read(path)}


def test_cells_with_trainings_of_their_own_are_runs(tmp_path: Path) -> None:
    nb = notebook(
        tmp_path / "a.ipynb",
        [printed("numpy 2.1\n")],
        [printed(epochs(1, 4)), PICTURE],
        [printed("accuracy: 0.91\n")],
        [printed(epochs(1, 5, level=9.0))],
    )
    assert losses(nb) == {"a.ipynb#2": [1.95, 1.9, 1.85, 1.8], "a.ipynb#4": [8.95, 8.9, 8.85, 8.8, 8.75]}
    assert [(a.axis, dict(a.facts)) for a in read(nb)] == [
        ("epoch", {"format": "notebook", "run": "cell 2"}),
        ("epoch", {"format": "notebook", "run": "cell 4"}),
    ]
    assert [(run.run_id, run.only) for run in runs_below(nb)] == [
        ("a/cell 2", "cell 2"),
        ("a/cell 4", "cell 4"),
    ]
    assert [len(run.timeline().attempts) for run in chronicle.runs(nb)] == [1, 1]


def test_a_cell_that_continues_the_one_before_is_a_resume(tmp_path: Path) -> None:
    stop = {"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": ["\x1b[31m..."]}
    nb = notebook(tmp_path / "a.ipynb", [printed(epochs(1, 4)), stop], [printed(epochs(5, 9))], counts=(3, 8))
    (run,) = chronicle.runs(nb)
    (join,) = run.timeline().joins
    assert (str(join.kind), [a.name for a in run.timeline().attempts]) == (
        "resume",
        ["a.ipynb#3", "a.ipynb#8"],
    )
    (fault,) = run.timeline().attempts[0].faults
    assert (fault.where, fault.what) == (f"{nb}#3:5", "stopped by hand (KeyboardInterrupt)")


def test_a_history_that_is_shown_after_the_training_is_no_run(tmp_path: Path) -> None:
    history = {"loss": [round(2.0 - 0.05 * n, 4) + 1e-5 for n in range(1, 10)]}
    shown_again = {"output_type": "execute_result", "data": {"text/plain": [str(history)]}}
    nb = notebook(tmp_path / "a.ipynb", [printed(epochs(1, 9))], [shown_again])
    (run,) = chronicle.runs(nb)
    assert [a.name for a in run.timeline().attempts] == ["a.ipynb#1"]


def test_tables_of_html(tmp_path: Path) -> None:
    rows = "".join(
        f"<tr><td>{n}</td><td>{2 - n / 8}</td><td><b>{3 - n / 8}</b></td><td>00:05</td>" for n in range(4)
    )
    head = (
        "<tr style='text-align: left;'>\n<th>Step</th>\n<th>Training Loss</th>\n<th>Validation Loss</th></tr>"
    )
    steps = "".join(f"<tr>\n<td>{n}0</td>\n<td>{4 / n}</td><td>No log</td></tr>" for n in (1, 2, 4))
    progress = f"<div><progress value='40'></progress>[40/40]</div><table>{head}{steps}</table><p>"
    data = "<table><tr><th></th><th>price</th></tr><tr><td>0</td><td>2.5</td></tr></table>"
    nb = notebook(
        tmp_path / "a.ipynb",
        [shown(data)],
        [printed("***** Running training *****\n", "stderr"), shown(progress)],
        [shown(EPOCHS.format(rows))],
    )
    trainer, learner = read(nb)
    assert trainer.series["Training Loss"].steps.tolist() == [10, 20, 40]
    assert trainer.series["Training Loss"].values.tolist() == [4.0, 2.0, 1.0]
    assert learner.series["train_loss"].steps.tolist() == [0, 1, 2, 3]
    assert learner.series["valid_loss"].values.tolist() == [3.0, 2.875, 2.75, 2.625]


def test_a_table_of_several_runs(tmp_path: Path) -> None:
    """As W&B exports one, and pandas shows it."""
    names = "".join(f"<th>{run} - train/loss{end}</th>" for run in "ab" for end in ("", "__MIN", "__MAX"))
    rows = "".join(
        f"<tr><td>{n}</td>{f'<td>{2 - n / 8}</td>' * 3}{f'<td>{4 - n / 8}</td>' * 3}" for n in range(5)
    )
    nb = notebook(tmp_path / "t.ipynb", [shown(f"<table><tr><th>Step</th>{names}</tr>{rows}</table>")])
    ours, theirs = read(nb)
    assert [attempt.facts["run"] for attempt in (ours, theirs)] == ["cell 1, a", "cell 1, b"]
    assert theirs.series["train/loss"].values.tolist() == [4 - n / 8 for n in range(5)]
    assert [len(run.timeline().attempts) for run in chronicle.runs(nb)] == [1, 1]


def test_streams_are_read_in_their_order_and_bars_as_a_terminal_shows_them(tmp_path: Path) -> None:
    outputs = []
    for n in range(1, 6):
        outputs += [printed(f"\r{20 * n}%|##  | {n}/5 [00:01<00:02]", "stderr"), printed(epochs(n, n))]
    widget = {
        "application/vnd.jupyter.widget-view+json": {},
        "text/plain": ["HBox(value=0, max=9)"],
    }
    outputs.insert(3, {"output_type": "display_data", "data": widget})
    assert losses(notebook(tmp_path / "a.ipynb", outputs)) == {"a.ipynb#1": [1.95, 1.9, 1.85, 1.8, 1.75]}


def test_the_third_format(tmp_path: Path) -> None:
    stream = {"output_type": "stream", "stream": "stdout", "text": epochs(1, 4)}
    shown_plain = {"output_type": "pyout", "text": ["<History>"], "metadata": {}}
    cell = {"cell_type": "code", "prompt_number": 5, "outputs": [stream, shown_plain], "input": []}
    nb = tmp_path / "a.ipynb"
    nb.write_text(json.dumps({"worksheets": [{"cells": [cell]}], "nbformat": 3}))
    assert losses(nb) == {"a.ipynb#5": [1.95, 1.9, 1.85, 1.8]}


@pytest.mark.parametrize(
    ("counts", "names"),
    [((None, None), ["a.ipynb#1", "a.ipynb#2"]), ((7, 7), ["a.ipynb#2", "a.ipynb#7"])],
    ids=["no numbers", "one twice"],
)
def test_cells_without_a_number_of_their_own_are_counted(
    counts: Any, names: list[str], tmp_path: Path
) -> None:
    nb = notebook(tmp_path / "a.ipynb", [printed(epochs(1, 4))], [printed(epochs(1, 4, 9.0))], counts=counts)
    assert [a.name for a in read(nb)] == names


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        ([], "is a notebook that was saved without outputs. Remedy: run it, and save it with its outputs"),
        (
            [PICTURE, printed("accuracy: 0.91\n")],
            "is a notebook, and no output of its cells holds a training. "
            "Remedy: print the loss with its step or epoch, or let the training write a log and name that",
        ),
    ],
    ids=["no outputs", "no training"],
)
def test_without_a_training_it_is_an_error_alone_and_nothing_in_a_folder(
    outputs: list[dict[str, Any]], message: str, tmp_path: Path
) -> None:
    nb = notebook(tmp_path / "a.ipynb", outputs)
    with pytest.raises(LogError) as caught:
        read(nb)
    assert str(caught.value) == f"{nb}: {message}"
    assert not is_log(nb)
    csv_log(tmp_path / "b.csv", {"loss": [(1, 2.0), (2, 1.5)]})
    reading = read_all(tmp_path)
    assert ([a.name for a in reading.attempts], reading.problems) == (["b.csv"], ())


def test_a_document_that_is_printed_is_read_as_a_document_alone(tmp_path: Path) -> None:
    """Results of methods on two sets: no line of them follows another one. A configuration above is none."""
    results = {f"CNN_{k}": {on: {"auc": 0.9, "loss": 0.1 + k / 50} for on in ("a", "b")} for k in range(8)}
    document = json.dumps(results, indent=4) + "\n"
    assert not is_log(notebook(tmp_path / "a.ipynb", [printed(document)]))
    text = json.dumps({"lr": 0.001, "layers": {"depth": 4}}, indent=4) + "\n" + epochs(1, 4)
    assert losses(notebook(tmp_path / "b.ipynb", [printed(text)])) == {"b.ipynb#1": [1.95, 1.9, 1.85, 1.8]}


def test_no_other_reader_takes_what_a_notebook_quotes(tmp_path: Path) -> None:
    plot = {
        "output_type": "display_data",
        "data": {"application/x+json": {"loss": [4.0, 3.0, 2.0, 1.0, 0.5]}},
    }
    nb = notebook(tmp_path / "a.ipynb", [plot])
    with pytest.raises(LogError, match="no output of its cells holds a training"):
        read(nb)


@pytest.mark.slow
def test_a_cut_notebook_is_read_up_to_the_cut(tmp_path: Path) -> None:
    content = notebook(tmp_path / "a.ipynb", [printed(epochs(1, 9)), PICTURE]).read_bytes()
    nb, n_read = tmp_path / "cut.ipynb", set()
    for size in range(1, len(content), 11):
        nb.write_bytes(content[:size])
        attempts = read_all(nb).attempts
        assert all(a.truncated for a in attempts) or size >= len(content) - 1
        n_read |= {len(a.series["loss"]) for a in attempts}
    assert n_read == set(range(2, 10))


def test_a_damaged_notebook_is_read_up_to_the_damage(tmp_path: Path) -> None:
    nb = notebook(tmp_path / "a.ipynb", [printed(epochs(1, 9))], [printed(epochs(1, 4, 9.0))])
    head, last = nb.read_text().split('   "Epoch 6/20')
    nb.write_text(f'{head}<<<<<<< HEAD\n   "Epoch 6/20{last}')
    (attempt,) = read(nb)
    assert (len(attempt.series["loss"]), attempt.truncated) == (5, True)
    assert [(f.where, f.what) for f in attempt.faults] == [
        (f"{nb}#1", "the archive is damaged; it was read up to the damage")
    ]


def test_a_packed_notebook_under_any_name(tmp_path: Path) -> None:
    content = notebook(tmp_path / "a.ipynb", [printed(epochs(1, 4))]).read_bytes()
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(content))
    (attempt,) = read(tmp_path / "b.json.gz")
    assert (attempt.name, attempt.sources) == ("b.json.gz#1", (str(tmp_path / "b.json.gz"),))
