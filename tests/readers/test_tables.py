"""CSV, JSON lines and the Trainer's state: columns, steps, clocks, and cells that are no numbers."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.depth import examples
from tests.docs.docs_text import DOCS, between
from tests.logs import attempt_of, points, points_of
from tests.readers.writers import csv_log, json_log, trainer_log
from tests.work import n_calls

from chronicle.errors import BadLog, LogError, UnknownFormat
from chronicle.metrics.aliases import EPOCH_NAMES, IN_EPOCH_NAMES, LAUNCH_NAMES, STEP_NAMES, TIME_NAMES
from chronicle.model import Attempt, Role
from chronicle.readers import csv_tables, read
from chronicle.readers.columns import iso_seconds, number, unix
from chronicle.readers.csv_cells import looks_whole
from chronicle.readers.step_axis import Column, column_key, step_rank

# --- separators, and what nothing counts ---

ODD_TABLES = {
    "bars": ("step|loss|lr\n0|2.5|1e-3\n1|2.25|1e-3\n", [(0, 2.5), (1, 2.25)], "step"),
    "clock alone": (
        '"Time","loss"\n2026-11-20 09:00:00,2.5\n2026-11-20 09:00:15,2.25\n2026-11-20 09:00:30,2.0\n',
        [(0, 2.5), (1, 2.25), (2, 2.0)],
        "row",
    ),
    "German Excel": ("\ufeffEpoche;loss\r\n3;2,5\r\n5;2,25\r\n", [(3, 2.5), (5, 2.25)], "epoch"),
}


@pytest.mark.parametrize("kind", ODD_TABLES)
def test_tables_as_other_tools_save_them(tmp_path: Path, kind: str) -> None:
    text, expected, axis = ODD_TABLES[kind]
    attempt = attempt_of(tmp_path, text)
    assert (points_of(attempt), attempt.axis) == (expected, axis)


def test_prices_by_date_are_no_training(tmp_path: Path) -> None:
    with pytest.raises(LogError):
        attempt_of(tmp_path, "date,close\n2026-11-20,2.5\n2026-11-21,2.25\n2026-11-22,2.0\n")


# --- cells ---


def test_numbers_as_tensorflow_and_pytorch_print_their_own(tmp_path: Path) -> None:
    rows = (
        ',epoch,loss\n0,0,"tf.Tensor(2.5, shape=(), dtype=float32)"\n1,1,tensor(2.25)\n'
        "2,2,\"tensor(2., device='cuda:0', grad_fn=<A>)\"\n"
    )
    assert points_of(attempt_of(tmp_path, rows)) == [(0, 2.5), (1, 2.25), (2, 2.0)]
    rows = 'epoch,loss,betas\n0,[2.5],"[0.9, 0.99]"\n1,[[2.25]],"[0.9, 0.99]"\n2, [2.] ,"[0.9, 0.99]"\n'
    assert points_of(attempt_of(tmp_path, rows)) == [(0, 2.5), (1, 2.25), (2, 2.0)]


# --- the step ---


@pytest.mark.parametrize(("name", "axis"), STEP_NAMES)
def test_step_column_is_found_by_name(name: str, axis: str, tmp_path: Path) -> None:
    for spelled in (name, f"  {name.upper()} ", name.replace("_", " ").title() if name[0] != "_" else name):
        attempt = attempt_of(tmp_path, f"loss,{spelled}\n2.5,10\n2.25,20\n")
        assert (points_of(attempt), attempt.axis) == ([(10, 2.5), (20, 2.25)], axis)
    attempt = attempt_of(
        tmp_path, f'{{"{name}": 10, "loss": 2.5}}\n{{"{name}": 20, "loss": 2.25}}\n', "log.jsonl"
    )
    assert (points_of(attempt), attempt.axis) == ([(10, 2.5), (20, 2.25)], axis)


@pytest.mark.parametrize(
    ("part", "names"),
    [("step names", [name for name, _ in STEP_NAMES]), ("in-epoch names", IN_EPOCH_NAMES + EPOCH_NAMES[1:])],
)
def test_the_page_lists_the_names_in_their_order(part: str, names: list[str]) -> None:
    listed = between(part, (DOCS / "metrics.md").read_text("utf-8").replace(": <!--", ":\n<!--"))[2]
    assert " ".join(listed.split()) == ", ".join(f"`{name}`" for name in names)


@pytest.mark.parametrize(
    ("header", "row", "wins"),
    [
        ("_step,global_step,loss", "{4},{1},2.0", "global_step"),
        ("_step,train/global_step,loss", "{4},{1},2.0", "train/global_step"),
        ("epoch,train/global_step,loss", "{4},{1},2.0", "train/global_step"),
        ("epoch,step,loss", "0,{1},2.0", "step"),
        ("step,epoch,loss", "7,{1},2.0", "epoch"),  # a step that never moves counts nothing
        ("train/global_step,epoch,loss", "{1},0,2.0", "train/global_step"),
        ("iteration-time,iteration,loss", "0.5,{1},2.0", "iteration"),
        ("batch,global_step,loss", "{4},{1},2.0", "global_step"),
        ("batch,train/global_step,loss", "{4},{1},2.0", "train/global_step"),
        ("epoch,batch,loss", "{1},64,2.0", "epoch"),  # a size
        ("epoch,batch,loss", "0,{1},2.0", "batch"),
    ],
)
def test_the_best_of_several_step_columns(header: str, row: str, wins: str, tmp_path: Path) -> None:
    rows = [row.replace("{1}", str(i)).replace("{4}", str(4 * i)) for i in (1, 2, 3)]
    attempt = attempt_of(tmp_path, "\n".join([header, *rows, ""]))
    assert wins not in attempt.series
    assert [step for step, _ in points_of(attempt)] == [1, 2, 3]


def test_a_share_in_per_cent_is_a_number(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "episode,loss,win_rate\n10,0.5,\n20,0.5,94.0%\n30,0.25,95 %\n")
    assert attempt.series["win_rate"].values.tolist() == [94.0, 95.0]


def test_without_a_step_the_rows_are_counted(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "loss,lr\n2.5,0.1\n2.25,0.1\n")
    assert (points_of(attempt), attempt.axis) == ([(0, 2.5), (1, 2.25)], "row")


@pytest.mark.parametrize(
    ("name", "epochs"),  # without epochs what LAUNCH_NAMES name begins anew with a launch
    [(name, "epoch") for name in IN_EPOCH_NAMES]
    + [(name, "note") for name in IN_EPOCH_NAMES if name not in LAUNCH_NAMES],
)
def test_a_counter_within_epochs_counts_on(name: str, epochs: str, tmp_path: Path) -> None:
    rows = [(epoch, batch) for epoch in (1, 2, 3) for batch in (10, 20, 30)]
    text = f"{epochs},{name.title()},loss\n" + "".join(f"{e},{b},{9 - e}.{b}\n" for e, b in rows)
    attempt = attempt_of(tmp_path, text)
    assert ([step for step, _ in points_of(attempt)], attempt.axis) == ([*range(10, 100, 10)], "step")
    assert (attempt.facts["steps_per_epoch"], set(attempt.series)) == (30, {epochs, "loss"})
    lines = "".join(f'{{"{epochs}": {e}, "{name}": {b}, "loss": {9 - e}.{b}}}\n' for e, b in rows)
    for document, file in ((lines, "a.jsonl"), (f"[{lines.strip().replace(chr(10), ', ')}]", "a.json")):
        assert points_of(attempt_of(tmp_path, document, file)) == points_of(attempt)


@pytest.mark.parametrize(
    "sizes", [(64, 64, 64), (64, 64, 17, 64), (32, 32, 64, 64), (30, 10, 40, 20), (64, 32)]
)
def test_sizes_of_batches_count_nothing(sizes: tuple[int, ...], tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "batch,loss\n" + "".join(f"{size},2.5\n" for size in sizes * 3))
    assert (attempt.axis, list(attempt.series)) == ("row", ["batch", "loss"])


def test_a_counter_is_never_the_loss_that_the_file_is_named_after(tmp_path: Path) -> None:
    rows = "".join(f"{epoch}, {it}, 1.{epoch}, 30.{it}\n" for epoch in (1, 2) for it in (100, 200, 150))
    attempt = attempt_of(
        tmp_path, "epoch, iters, adam, sgd_loss\n" + rows, "loss.csv"
    )  # iters counts nothing here
    assert {name: series_.role for name, series_ in attempt.series.items()} == {
        "iters": Role.OTHER,
        "adam": Role.OTHER,
        "sgd_loss": Role.LOSS,
    }


def test_steps_that_are_no_whole_numbers_stay_a_metric(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "epoch,loss\n0.5,2.5\n1.0,2.25\n")
    assert (points_of(attempt), attempt.axis) == ([(0, 2.5), (1, 2.25)], "row")
    assert points_of(attempt, "epoch") == [(0, 0.5), (1, 1.0)]


@pytest.mark.parametrize("text", ["{0},2.5\n{1},2.25\n", "{0}.0,2.5\n{1}e0,2.25\n"])
def test_negative_and_fractional_spelling_of_steps(text: str, tmp_path: Path) -> None:
    assert points_of(attempt_of(tmp_path, "step,loss\n" + text.format(-5, 7))) == [(-5, 2.5), (7, 2.25)]


@pytest.mark.parametrize("step", [2**53 + 1, 2**63 - 1, -(2**63)])
def test_huge_steps_are_exact(step: int, tmp_path: Path) -> None:
    assert points_of(attempt_of(tmp_path, f"step,loss\n0,1.0\n{step},2.5\n"))[1] == (step, 2.5)
    lines = f'{{"step": 0, "loss": 1}}\n{{"step": {step}, "loss": 2.5}}\n'
    assert points_of(attempt_of(tmp_path, lines, "a.jsonl"))[1] == (step, 2.5)


def test_steps_beyond_64_bits_count_nothing(tmp_path: Path) -> None:
    assert attempt_of(tmp_path, f"step,loss\n0,1.0\n{10**30},2.5\n").axis == "row"
    assert (
        attempt_of(tmp_path, f'{{"step": 0, "loss": 1}}\n{{"step": {10**400}, "loss": 2}}\n', "a.jsonl").axis
        == "row"
    )


def test_a_row_without_a_step_stands_at_the_one_before(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "step,loss\n,9.0\n1,2.5\n,2.25\n3,2.0\nnan,1.5\n")
    assert points_of(attempt) == [(1, 9.0), (1, 2.5), (1, 2.25), (3, 2.0), (3, 1.5)]
    (fault,) = attempt.faults
    assert fault.what == "step is not a whole number; taken from the row before"


def test_step_names_inside_others_are_no_steps() -> None:
    assert step_rank("time_per_step") is None
    assert step_rank("val/epoch") is None


# --- cells ---


@pytest.mark.parametrize(
    "cell", ["nan", "NaN", "NAN", "-nan", "+nan", " nan ", "nan(ind)", "-nan(ind)", "1.#QNAN", "-1.#IND"]
)
def test_a_spelled_nan_is_data(cell: str, tmp_path: Path) -> None:
    (first, second) = points_of(attempt_of(tmp_path, f"step,loss\n1,{cell}\n2,2.0\n"))
    assert first[0] == 1 and math.isnan(first[1]) and second == (2, 2.0)


@pytest.mark.parametrize("cell", ["", " ", "NA", "N/A", "null", "None", "-"])
def test_a_blank_is_not_measured(cell: str, tmp_path: Path) -> None:
    assert points_of(attempt_of(tmp_path, f"step,loss,lr\n1,{cell},1\n2,2.0,1\n")) == [(2, 2.0)]


@pytest.mark.parametrize(
    ("cell", "value"), [("inf", math.inf), ("-Infinity", -math.inf), ("1e400", math.inf)]
)
def test_infinities_are_data(cell: str, value: float, tmp_path: Path) -> None:
    assert points_of(attempt_of(tmp_path, f"step,loss\n1,{cell}\n2,2.0\n"))[0] == (1, value)


def test_flags_are_numbers_as_in_json(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "step,loss,success\n1,2.5,True\n2,2.25,False\n3,2.0,\n")
    assert points(attempt)["success"] == [(1, 1.0), (2, 0.0)]


def test_text_is_left_out_and_told(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "step,loss,stage,host\n1,2.5,a,n1\n2,oops,b,n1\n3,2.0,c,n1\n")
    assert points_of(attempt) == [(1, 2.5), (3, 2.0)]
    assert attempt.facts == {"format": "csv", "host": "n1"}
    assert [(f.what, f.count) for f in attempt.faults] == [("text in column 'loss'; left out", 1)]


def test_lines_that_do_not_fit_are_counted_with_their_number(tmp_path: Path) -> None:
    attempt = attempt_of(
        tmp_path, 'step,loss\n1,2.5\n2\n3,"2.4\n4,2.3,9\n5,2.2,\n\n6,2.1\nstep,loss\n7,2.0\n'
    )
    assert points_of(attempt) == [(1, 2.5), (5, 2.2), (6, 2.1), (7, 2.0)]
    assert [(Path(f.where).name, f.what) for f in attempt.faults] == [
        ("log.csv:3", "line has 1 cells where the header has 2; skipped"),
        ("log.csv:4", "line has an open quote; skipped"),
        ("log.csv:5", "line has 3 cells where the header has 2; skipped"),
    ]


def test_a_row_that_lost_a_mark_before_a_column_without_a_name_is_whole(tmp_path: Path) -> None:
    text = "Epoch\tLoss\tAcc\t\n1\t2.5\t0.5\t\n2\t2.25\t0.75\n"
    attempt = attempt_of(tmp_path, text)
    assert (points(attempt)["Loss"], attempt.faults) == ([(1, 2.5), (2, 2.25)], ())
    assert points(attempt_of(tmp_path, text[:-1]))["Loss"] == [(1, 2.5)]  # its last cell may be cut


def test_a_field_beyond_the_limit_of_csv_costs_its_line(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, f"step,loss\n1,2.5\n2,{'9' * 200_000}\n3,2.0\n")
    assert points_of(attempt) == [(1, 2.5), (3, 2.0)]
    assert [f.what[:26] for f in attempt.faults] == ["line cannot be read (field"]
    with pytest.raises(LogError, match="has a header that cannot be read"):
        attempt_of(tmp_path, f"step,{'x' * 200_000}\n1,2.5\n")


def test_columns_of_one_name_are_told_apart(tmp_path: Path) -> None:
    assert list(attempt_of(tmp_path, "step,loss,loss,,loss\n1,2,3,4,5\n2,2,3,4,5\n").series) == [
        "loss",
        "loss (2)",
        "loss (3)",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_encodings_line_ends_and_separators(encoding: str, end: str, delimiter: str, tmp_path: Path) -> None:
    text = end.join(["Step,Löss", "1,2.5", "2,2.25", ""]).replace(",", delimiter)
    assert points_of(attempt_of(tmp_path, text.encode(encoding)), "Löss") == [(1, 2.5), (2, 2.25)]


def test_a_table_with_a_chinese_head_is_read_in_its_encoding(tmp_path: Path) -> None:
    text = "step,训练损失,备注\n1,2.5,开始\n2,2.25,结束\n"
    for encoding in ("utf-8", "gb18030"):
        assert points_of(attempt_of(tmp_path, text.encode(encoding)), "训练损失") == [(1, 2.5), (2, 2.25)]


def test_long_tables_of_several_runs(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_text(
        "run,tag,step,value,wall_time\na,loss,1,2.5,1700000000\nb,loss,1,3.5,1700000001\na,loss,2,2.25,1700000002\n"
    )
    first, second = read(file)
    assert [first.name, second.name] == ["long.csv: a", "long.csv: b"]
    assert [points_of(first), points_of(second)] == [[(1, 2.5), (2, 2.25)], [(1, 3.5)]]
    assert first.series["loss"].times.tolist() == [1.7e9, 1.7e9 + 2]


@pytest.mark.parametrize(
    "text",
    [
        "a note, with commas,\nand, more,\n",
        "# Title\n\nText\n",
        "x\n1\n2\n",
        "import os, sys\nx = 1, 2\n",
        "Counted {3: 7215, 4: 4965, 5: 4830, 2: 4097, 1: 9}\nWeights [1.5, 9.5, 1.0, 2.0, 0.5]\n" * 4,
    ],
    ids=["prose", "markdown", "one column", "source", "dictionaries of numbers"],
)
def test_what_is_no_table(text: str, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no reader knows this format"):
        attempt_of(tmp_path, text, "file.txt")


def test_a_program_that_quotes_a_table_is_no_document(tmp_path: Path) -> None:
    table = "| Step | Loss |\n|------|------|\n| 10 | 2.5 |\n| 20 | 2.25 |\n| 30 | 2.125 |\n"
    text = f'# What it gave\n\n"""The course of one run.\n\n{table}"""\n\nimport sys\n\nprint(sys.argv)\n'
    assert points_of(attempt_of(tmp_path, text, "notes.md"), "Loss") == [(10, 2.5), (20, 2.25), (30, 2.125)]
    with pytest.raises(LogError, match="no reader knows this format"):
        attempt_of(tmp_path, text, "train.py")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("step,loss\n", "has a header and no rows"),
        ("step,loss\n1,\n2,\n", "holds no numbers"),
        ("step\tloss\n", "no rows"),
    ],
)
def test_a_table_without_numbers_is_told(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadLog, match=reason):
        attempt_of(tmp_path, text)


def test_a_chunk_has_no_seam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.readers.text.FIRST_BYTES", 40)
    monkeypatch.setattr("chronicle.readers.csv_cells.SMALL_BYTES", 20)
    rows = [f"{i},{i / 4 if i % 5 else ''},{'x' if i > 7 else i}\n" for i in range(20)]
    attempt = attempt_of(tmp_path, "step,loss,odd\n" + "".join(rows))
    assert points_of(attempt) == [(i, i / 4) for i in range(20) if i % 5]
    assert "odd" not in attempt.series


@pytest.mark.parametrize(
    ("cell", "above", "whole"),
    [
        ("2.345", ["2.350", "2.348"], True),
        ("2.34", ["2.350", "2.348"], False),
        ("2.", ["2.350", "2.348"], False),
        ("1.5e-0", ["1.5e-05", "1.4e-05"], False),
        ("1.5", ["1.5e-05", "1.4e-05"], False),
        ("12", ["120", "130"], False),
        ("140", ["120", "130"], True),
        ("2.3", ["2.35"], False),
        ("0.803408170128014", ["0.8028316012697249", "0.804140995297490"], True),
        ("0.80340817012801", ["0.8028316012697249", "0.804140995297490"], False),
        ("9.03408170128014", ["0.8028316012697249", "0.804140995297490"], False),  # of 9.03e-05
        ("34.038888", ["34.34688", "34.136169"], True),  # zeros at the end are left out
        ("34.03888", ["34.34688", "34.136169"], False),
        ("nan", [], True),
        ("na", ["1.0", "2.0"], False),
        ("yes", ["yes", "no"], True),
        ("ye", ["yes", "no"], False),
        ("no", ["yes", "no", "none"], False),
        ("", ["", ""], False),
    ],
)
def test_a_last_cell_is_whole_when_written_as_those_above(cell: str, above: list[str], whole: bool) -> None:
    assert looks_whole(cell, above) is whole


def test_a_table_without_a_last_line_end(tmp_path: Path) -> None:
    whole = attempt_of(tmp_path, "step,loss\n1,2.50\n2,2.40\n3,2.30")
    cut = attempt_of(tmp_path, "step,loss\n1,2.50\n2,2.40\n3,2.3")
    assert (points_of(whole)[-1], whole.truncated) == ((3, 2.3), False)
    assert (points_of(cut)[-1], cut.truncated) == ((2, 2.4), True)


@pytest.mark.parametrize(
    ("last", "truncated"),
    [("3,2.5,yes", False), ("3,2.5,y", True), ("3,2.5,maybe", True), ("3,2.5,", True), ("3,2.5", True)],
)
def test_a_last_row_is_read_as_far_as_a_separator_ends_its_cells(
    last: str, truncated: bool, tmp_path: Path
) -> None:
    attempt = attempt_of(tmp_path, f"step,loss,best\n1,2.50,yes\n2,2.40,no\n{last}")
    read = [(1, 2.5), (2, 2.4), (3, 2.5)]
    assert (points_of(attempt), attempt.truncated) == (read[: 2 + (last.count(",") == 2)], truncated)


@pytest.mark.parametrize("placing", ["step", "timestamp", "run", "phase", "metric", "series"])
def test_a_last_row_whose_last_cell_says_where_it_belongs_waits_for_it(placing: str, tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, f"epoch,loss,{placing}\n1,2.50,100\n2,2.40,200\n3,2.30,30")
    assert (attempt.series["loss"].values.tolist(), attempt.truncated) == ([2.5, 2.4], True)


# --- clocks ---


@pytest.mark.parametrize(
    "clock",
    ["1700000000", "1700000000000", "1700000000000000", "2023-11-14T22:13:20Z", "2023-11-14 22:13:20"],
)
@pytest.mark.parametrize("name", ["timestamp", "_timestamp", "wall_time", "Time", "datetime"])
def test_clocks(name: str, clock: str, tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, f"step,loss,{name}\n1,2.5,{clock}\n2,2.0,{clock}\n")
    assert attempt.series["loss"].times.tolist() == [1.7e9, 1.7e9]
    assert list(attempt.series) == ["loss"]


@pytest.mark.parametrize("metric", ["Reward", "Loss"])
def test_a_date_and_a_word_in_each_row_leave_a_table_with_an_objective_one_of_numbers(
    metric: str, tmp_path: Path
) -> None:
    rows = (f"2026-01-18 17:15:{k:02},{k},{'cartpole' if k % 2 else 'pendulum'},{k / 4}" for k in range(1, 9))
    attempt = attempt_of(tmp_path, "\n".join([f"Timestamp,Episode,Task,{metric}", *rows, ""]))
    assert attempt.series[metric].values.tolist() == [k / 4 for k in range(1, 9)]


def test_a_time_that_is_no_date_is_a_metric(tmp_path: Path) -> None:
    assert points_of(attempt_of(tmp_path, "step,loss,time\n1,2.5,0.5\n2,2.0,0.75\n"), "time") == [
        (1, 0.5),
        (2, 0.75),
    ]


def test_clock_units() -> None:
    assert unix(np.array([1.0, 2.0])) is None
    assert unix(np.array([])) is None
    assert iso_seconds(["2026-01-01", "x", "y"]) is None
    assert iso_seconds(["1970-01-01T01:00:00+01:00"]).tolist() == [0.0]
    assert Column(np.zeros(1), np.zeros(1, np.int64)).rows.tolist() == [0]


# --- JSON ---


def test_json_values(tmp_path: Path) -> None:
    lines = (
        '{"step": 1, "loss": "2.5", "ok": true, "tags": ["a"], "lrs": [0.1, 0.2], "none": null, "s": "x"}\n'
    )
    attempt = attempt_of(tmp_path, lines * 2, "a.jsonl")
    assert {name: s.values.tolist()[0] for name, s in attempt.series.items()} == {
        "loss": 2.5,
        "ok": 1.0,
        "lrs/0": 0.1,
        "lrs/1": 0.2,
    }
    assert attempt.facts == {"format": "jsonl", "tags": "a", "s": "x"}


def test_lone_surrogates_are_written_out(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, '{"step": 1, "loss\\ud800": 2, "host": "n\\udfff"}\n' * 2, "a.jsonl")
    assert list(attempt.series) == ["loss\\ud800"]
    assert attempt.facts["host"] == "n\\udfff"


def test_json_lines_that_are_bad_or_cut(tmp_path: Path) -> None:
    attempt = attempt_of(
        tmp_path,
        '{"step": 1, "loss": 2}\n[1, 2]\n{"a":\n\n{"step": 2, "loss": 1}\n{"step": 3, "lo',
        "a.jsonl",
    )
    assert points_of(attempt) == [(1, 2.0), (2, 1.0)]
    assert [(Path(f.where).name, f.what) for f in attempt.faults] == [
        ("a.jsonl:2", "line is not a JSON object; skipped"),
        ("a.jsonl:3", "line is not JSON; skipped"),
    ]
    assert attempt.truncated


def test_json_without_a_step_or_a_known_metric_is_rows(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, '{"odd": 1}\n{"odd": 2}\n', "a.jsonl")
    assert (points_of(attempt, "odd"), attempt.axis) == ([(0, 1.0), (1, 2.0)], "row")


def test_a_json_document_of_one_line_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no reader knows"):
        attempt_of(tmp_path, '{"hidden_size": 64}\n', "config.json")
    assert points_of(attempt_of(tmp_path, '{"step": 1, "loss": 2}\n', "a.jsonl")) == [(1, 2.0)]


@pytest.mark.parametrize(
    "before", ["{}\n{}\n", "\n{ }\n", '{"config": "' + 50_000 * "x" + '"}\n', "{ }\n" * 90]
)
@pytest.mark.parametrize("space", ["", " "])
def test_empty_and_long_records_before_the_rows_do_not_hide_them(
    before: str, space: str, tmp_path: Path
) -> None:
    rows = "".join(f'{{{space}"step": {step}, "loss": {9 - step}.5}}\n{{}}\n' for step in (1, 2, 3))
    attempt = attempt_of(tmp_path, before + rows, "None.log.json")
    assert points_of(attempt) == [(1, 8.5), (2, 7.5), (3, 6.5)]
    assert (attempt.faults, set(attempt.facts) - {"format", "config"}) == ((), set())


@pytest.mark.parametrize(
    "text", ["{}\n", "{}\n{}\n", '{}\n{"hidden_size": 64}\n', "{\n}\n", "{}\nloss 2.5\n"]
)
def test_empty_records_alone_are_no_log(text: str, tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no reader knows"):
        attempt_of(tmp_path, text, "config.json")


# --- written and read again ---

RESERVED = (*TIME_NAMES, "train_runtime", "log_history")
metric = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=20).filter(
    lambda name: (
        step_rank(name) is None and column_key(name) not in RESERVED and not name.endswith(("__MIN", "__MAX"))
    )
)
floats = st.floats(allow_nan=True, allow_infinity=True)
course = st.lists(
    st.tuples(st.integers(-(2**40), 2**40), floats), min_size=1, max_size=8, unique_by=lambda p: p[0]
)


@pytest.mark.slow
@settings(max_examples=examples(120))
@given(st.dictionaries(metric, course, min_size=1, max_size=4))
@example({";;": [(0, 0.0)]})  # more semicolons than commas, which part nothing
@example({"NULL": [(0, 0.0)]})  # a name of a cell in which nothing was measured
@pytest.mark.parametrize(
    ("write", "name"),
    [(csv_log, "a.csv"), (json_log, "a.jsonl"), (trainer_log, "trainer_state.json")],
    ids=["csv", "jsonl", "trainer_state"],
)
def test_what_is_written_is_read_again(
    write, name: str, tmp_path_factory: pytest.TempPathFactory, logged
) -> None:
    file = tmp_path_factory.mktemp("law") / name
    write(file, logged)
    (attempt,) = read(file)
    order = {step: i for i, step in enumerate(dict.fromkeys(s for p in logged.values() for s, _ in p))}
    assert set(attempt.series) == set(logged)
    for series_, series in attempt.series.items():
        expected = sorted(logged[series_], key=lambda point: order[point[0]])
        assert series.steps.tolist() == [step for step, _ in expected]
        assert np.array_equal(series.values, [value for _, value in expected], equal_nan=True)


@given(st.floats())
def test_a_number_is_read_as_it_was_written(value: float) -> None:
    read_back = number(repr(value))
    assert read_back is not None and np.array_equal(read_back, value, equal_nan=True)


def test_plain_rows_are_not_looked_at_one_by_one(tmp_path: Path) -> None:
    rows = "".join(f"{i},{i / 7},{i / 3},,{i}\n" for i in range(50_000))
    table = "step,loss,grad_norm,val_loss,lr\n" + rows
    attempts: list[Attempt] = []
    calls = n_calls(lambda: attempts.append(attempt_of(tmp_path, table)))
    assert len(attempts[0].series) == 3 and calls < 50_000


def test_lines_that_hold_lists_of_objects(tmp_path: Path) -> None:
    rows = [{"step": i, "loss": 9.0 - i} for i in range(6)]
    lists = f"{json.dumps(rows[:2])}\n{json.dumps(rows[2:])}\n"
    assert points_of(attempt_of(tmp_path, lists, "log.jsonl")) == [(i, 9.0 - i) for i in range(6)]
    assert points_of(attempt_of(tmp_path, lists, "log.txt")) == [(i, 9.0 - i) for i in range(6)]
    cut = attempt_of(tmp_path, lists[:-12], "cut.jsonl")
    assert (points_of(cut), cut.truncated) == ([(i, 9.0 - i) for i in range(5)], True)
    damaged = attempt_of(tmp_path, lists.replace('"loss": 8.0}', '"loss": 8.0]'), "damaged.jsonl")
    assert points_of(damaged) == [(i, 9.0 - i) for i in (0, 2, 3, 4, 5)]
    assert [(fault.where.rpartition(":")[2], fault.what) for fault in damaged.faults] == [
        ("1", "list is damaged; what follows in the line is left out")
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.jsonl", '{"step": 1, "loss": 2.5, "x": %s}\n{"step": 2, "loss": 2.25, "x": 1}\n'),
        ("log.json", '{"a": %s, "rows": [' + ", ".join(['{"step": 1, "loss": 2.5}'] * 3) + "]}"),
        (
            "trainer_state.json",
            '{"x": %s, "log_history": [{"step": 1, "loss": 2.5}, {"step": 2, "loss": 2}]}',
        ),
        ("golden.json", '{"loss": {"start_step": 1, "step_interval": 1, "values": {"1": 2.5, "2": %s}}}'),
        ("log.csv", "step,loss,x\n1,2.5,%s\n2,2.25,1\n"),
    ],
)
def test_a_number_of_thousands_of_digits_costs_nothing_else(name: str, text: str, tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, text.replace("%s", "7" * 5000), name)
    assert points_of(attempt)[0] == (1, 2.5)
    assert attempt.faults == ()
    cells = [
        *attempt.facts.values(),
        *(value for series_ in attempt.series.values() for value in series_.values),
    ]
    assert float("inf") in cells


@pytest.mark.parametrize(
    ("before", "header"),
    [
        ("# made by a script\n", "step,loss"),
        ("# a, b\n# c, d\n\n", "step,loss"),
        ("# lr,0.001\n# total,5000\n\n", "step,loss"),
        ('#{"seed": 7, "env": "x"}\n', "step,loss"),
        ("", "#step,loss"),
        ("# what follows,\n", "# step,loss"),
    ],
)
def test_comments_before_a_header(before: str, header: str, tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, f"{before}{header}\n1,2.5\n2,2.25\n")
    assert points_of(attempt) == [(1, 2.5), (2, 2.25)]
    assert (attempt.facts.get("seed"), attempt.faults) == (7 if "seed" in before else None, ())


def test_the_monitor_of_an_environment_counts_its_steps(tmp_path: Path) -> None:
    comment = '#{"t_start": 1700000000.5, "env_id": "CartPole-v1"}\n'
    attempt = attempt_of(tmp_path, comment + "r,l,t\n20.0,20,0.5\n31.0,31,1.25\n", "monitor.csv")
    assert points_of(attempt, "episode reward") == [(20, 20.0), (51, 31.0)]
    assert points_of(attempt, "episode length") == [(20, 20.0), (51, 31.0)]
    assert attempt.facts["env_id"] == "CartPole-v1"


def test_a_single_zero_byte_costs_no_row_of_a_monitor(tmp_path: Path) -> None:
    comment = '#{"t_start": 1700000000.5, "env_id": "CartPole-v1"}\n'
    rows = "\x0020.0,20,0.5\n31.0,31,1.25\n12.5,12,2.0\n"
    attempt = attempt_of(tmp_path, comment + "r,l,t\n" + rows, "monitor.csv")
    assert points_of(attempt, "episode reward") == [(20, 20.0), (51, 31.0), (63, 12.5)]


def test_names_and_dates_beside_a_counter_are_no_reason_to_refuse_a_table(tmp_path: Path) -> None:
    rows = "".join(f"{i},{3 - i}.5,train,2024-05-01T12:00:0{i}Z,a\n" for i in range(3))
    attempt = attempt_of(tmp_path, "epoch,loss,mode,date,run\n" + rows)
    assert points_of(attempt) == [(0, 3.5), (1, 2.5), (2, 1.5)]


def test_a_later_launch_with_more_columns_goes_on_under_the_old_header(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "iter,loss\n1,2.5\n2,2.4\n1,2.6,0.5,7\n2,2.3,0.6,\n3,2.2,0.7,9\n")
    assert points_of(attempt) == [(1, 2.5), (2, 2.4), (1, 2.6), (2, 2.3), (3, 2.2)]
    assert [(fault.what, fault.count) for fault in attempt.faults] == [
        ("row has more cells than the header; those without a name are left out", 3)
    ]


def test_a_later_launch_may_log_a_column_before_the_date_at_the_end(tmp_path: Path) -> None:
    rows = "1,2.5,2026-04-22 17:11:09\n2,2.4,2026-04-22 17:12:59\n"
    rows += "".join(f"{i},{3 - i / 10},1e-4,2026-05-18 11:0{i}:22\n" for i in (1, 2, 3))
    attempt = attempt_of(tmp_path, "iter,loss,timestamp\n" + rows)
    assert points_of(attempt) == [(1, 2.5), (2, 2.4), (1, 2.9), (2, 2.8), (3, 2.7)]
    assert [(fault.what, fault.count) for fault in attempt.faults] == [
        ("row has more cells than the header; those without a name are left out", 3)
    ]
    assert np.isfinite(attempt.series["loss"].times).all()


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ("1,2.5\n2,2.43,2.3\n4,2.2\n", [(1, 2.5), (4, 2.2)]),  # two rows ran into each other
        ("1,2.5\n2,a,2.4\n3,b,2.3\n", [(1, 2.5)]),  # a text with a comma moves the cells
    ],
)
def test_other_rows_with_more_cells_than_the_header_are_damage(
    tmp_path: Path, rows: str, kept: list[tuple[int, float]]
) -> None:
    attempt = attempt_of(tmp_path, "iter,loss\n" + rows)
    assert points_of(attempt) == kept
    assert {fault.what for fault in attempt.faults} == {"line has 3 cells where the header has 2; skipped"}


def test_rows_that_all_have_more_cells_than_the_header_are_not_read(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no reader knows"):
        attempt_of(tmp_path, "iter,loss\n1,9,2.5\n2,9,2.4\n")


def test_a_separator_that_every_row_has_twice_parts_two_names(tmp_path: Path) -> None:
    text = "EPOCH\tTRAIN_LOSS\tDEV_LOSS\tDEV_F1\n"
    attempt = attempt_of(tmp_path, text + "".join(f"{n}\t{3 - n / 8}\t\t2.5\t_\n" for n in range(4)))
    assert points_of(attempt, "TRAIN_LOSS") == [(n, 3 - n / 8) for n in range(4)]
    assert points_of(attempt, "DEV_LOSS") == [(n, 2.5) for n in range(4)]
    assert not attempt.faults


def test_blanks_around_quoted_names_are_no_part_of_them(tmp_path: Path) -> None:
    attempt = attempt_of(
        tmp_path, '"step"  ,   "loss"   ,  "Res, x"\n  1 ,  2.5 ,  1.0\n  2 ,  2.25 ,  0.5\n'
    )
    assert {*attempt.series} == {"loss", "Res, x"}
    assert points_of(attempt) == [(1, 2.5), (2, 2.25)]


def test_a_comma_behind_a_tab_belongs_to_it(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "Step\t,loss\t,epsilon\n39\t,2.5\t0.9\n42\t,2.25\t,0.8\n")
    assert points_of(attempt) == [(39, 2.5), (42, 2.25)]
    assert attempt.series["epsilon"].values.tolist() == [0.9, 0.8]


def test_how_far_a_training_is_to_go_is_no_row(tmp_path: Path) -> None:
    settings = '{"type": "config", "args": {"steps": 400, "lr": 1e-05}}'
    attempt = attempt_of(
        tmp_path, f'{settings}\n{{"step": 0, "loss": 2.5}}\n{{"step": 20, "loss": 2.25}}\n', "log.jsonl"
    )
    assert list(attempt.series) == ["loss"]
    assert attempt.facts["config/steps"] == 400


# --- tables in documents ---

GRID = """
+-------+--------+
| epoch |  loss  |
+=======+========+
|   1   |  2.5   |
+-------+--------+
|   2   | `2.25` |
+-------+--------+
|   3   | **2**  |
+-------+--------+
"""


FOLDS = 'Fold,Train Loss\n1,"[2.5, 1.25, nan, 0.5]"\n2,"[3.5, 1.5, 0.75]"\n'
LISTS = {
    "folds, as pandas writes them": (FOLDS, {"Fold 1": ["Train Loss"], "Fold 2": ["Train Loss"]}, False),
    "the last one cut": (FOLDS + '3,"[2.5, 1.5', {"Fold 1": ["Train Loss"], "Fold 2": ["Train Loss"]}, True),
    "settings that come again, behind an index": (
        ",lr,loss,acc\n0,0.1,[2.5 1.25 0.5 0.25],[0.1 0.2 0.3 0.4]\n1,0.1,[2.5 1.5 1.0],[0.1 0.2 0.3]\n",
        {"1": ["loss", "acc"], "2": ["loss", "acc"]},
        False,
    ),
    "a single training": ('model\tlosses\nmlp\t"[2.5, 1.25, 1, 0.5]"\n', {None: ["losses"]}, False),
}


@pytest.mark.parametrize("table", LISTS)
def test_a_list_in_a_cell_is_the_course_of_a_training(table: str, tmp_path: Path) -> None:
    text, names, is_cut = LISTS[table]
    (tmp_path / "results.csv").write_text(text)
    attempts = read(tmp_path / "results.csv")
    assert {attempt.facts.get("run"): [*attempt.series] for attempt in attempts} == names
    assert attempts[0].truncated == is_cut
    series = next(iter(attempts[0].series.values()))
    assert (series.steps.tolist(), series.values[:2].tolist()) == ([0, 1, 2, 3], [2.5, 1.25])


def test_a_list_in_a_cell_may_be_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, losses = tmp_path / "results.csv", [3.0 - step / 16384 for step in range(16384)]
    file.write_text(f'Fold,loss\n1,"{losses}"\n2,"{losses[:8]}"\n')
    assert [points_of(attempt) for attempt in read(file)] == [[*enumerate(losses)], [*enumerate(losses[:8])]]
    monkeypatch.setattr(csv_tables, "_LONGEST_LIST", 1000)
    with pytest.raises(BadLog) as raised:
        read(file)
    assert str(raised.value) == f"{file}: cannot be read (field larger than field limit (1000))"


def test_lists_of_other_things_are_no_training(tmp_path: Path) -> None:
    table = 'epoch,loss,losses of heads\n1,2.5,"[1.5, 0.5, 0.5]"\n2,1.25,"[0.5, 0.5, 0.25]"\n'
    assert points(attempt_of(tmp_path, table, "heads.csv")) == {"loss": [(1, 2.5), (2, 1.25)]}
    (tmp_path / "texts.csv").write_text('text,embedding\nhello,"[0.5, 0.25, 0.125, 0.75]"\n')
    with pytest.raises(UnknownFormat):
        read(tmp_path / "texts.csv")


def test_a_grid_of_restructured_text(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, f"Notes\n=====\n{GRID}\nIt went on.\n", "notes.rst")
    assert points_of(attempt) == [(1, 2.5), (2, 2.25), (3, 2.0)]
    assert points_of(attempt_of(tmp_path, GRID, "log.txt")) == points_of(attempt)


def test_a_row_of_a_document_that_is_cut_is_left_out(tmp_path: Path) -> None:
    rows = "| step | loss |\n|---|---|\n| 1 | 2.5 |\n| 2 | 2.25 |\n| 3 | 2.0 |\n| 4 | 1.7"
    for end, n_points, truncated in (("", 3, True), (" |", 4, False), ("5 |\n", 4, False)):
        attempt = attempt_of(tmp_path, rows + end, "notes.md")
        assert (len(attempt.series["loss"]), attempt.truncated) == (n_points, truncated)


@pytest.mark.parametrize(
    "text",
    [
        "| model | step | loss |\n|---|---|---|\n| a | 100 | 2.5 |\n| b | 100 | 2.25 |\n| c | 200 | 2.0 |\n",
        "| size | price |\n|---|---|\n| 1 | 2.5 |\n| 2 | 2.25 |\n| 3 | 2.0 |\n",
        "| step | loss |\n|---|---|\n| 1 | 2.5 |\n| 2 | 2.25 |\n",
    ],
    ids=["trainings compared", "no training", "two rows"],
)
def test_other_tables_of_a_document_are_no_logs(tmp_path: Path, text: str) -> None:
    with pytest.raises(LogError):
        attempt_of(tmp_path, text, "README.md")


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("history.xlsx", "Remedy: save the sheet as CSV"),
        (
            "last.pt",
            "Remedy: loading it can run any code; load it where it was made, and save its history",
        ),
    ],
)
def test_what_is_no_text_is_told_how_to_become_one(tmp_path: Path, name: str, remedy: str) -> None:
    with pytest.raises(LogError, match=re.escape(remedy)):
        attempt_of(tmp_path, b"PK\3\4\0\0", name)


def test_what_each_process_writes_is_read_once(tmp_path: Path) -> None:
    rows = [f"{step},{3 - step / 10},0.5,{rank}" for step in range(20) for rank in range(4)]
    (tmp_path / "log.csv").write_text("\n".join(["step,loss,lr,rank", *rows]) + "\n")
    (attempt,) = read(tmp_path / "log.csv")
    assert [len(attempt.series[name]) for name in ("loss", "lr", "rank")] == [20, 20, 80]


@pytest.mark.parametrize(("every", "n_losses"), [(1, 20), (3, 27)])
def test_what_two_loggers_tell_of_each_step_is_read_once(every: int, n_losses: int, tmp_path: Path) -> None:
    """Their speeds differ. Where only some steps are told twice, each row is a sample."""
    rows = [
        f"{step},{3 - step / 10},{step + again / 2}"
        for step in range(20)
        for again in range(1 + (step % every == 0))
    ]
    (tmp_path / "log.csv").write_text("\n".join(["step,loss,speed", *rows]) + "\n")
    (attempt,) = read(tmp_path / "log.csv")
    assert len(attempt.series["loss"]) == n_losses
    assert len(attempt.series["speed"]) == len(rows)


def test_a_number_in_very_many_brackets_is_a_number() -> None:
    assert number("[" * 5000 + "2.5" + "]" * 5000) == 2.5 and number("[2.5, 2.25]") is None


VALIDATION = "validation loss (column "


def _fall(n: int) -> list[float]:
    return [round(0.5 + 2 / (1 + i / 4), 4) for i in range(n)]


@pytest.mark.parametrize(
    ("above", "rows_begin"),
    [
        ('dataset,cifar10\r\nbatch_size,128\r\nlr,0.1\r\n""\r\n', "epoch,train_loss,val_loss"),
        ("seed: 42\nargs: {'lr': 0.1, 'n': 3}\ndevice: cuda:0\n", "epoch,train_loss,val_loss"),
    ],
)
def test_the_settings_above_a_header_are_none(above: str, rows_begin: str, tmp_path: Path) -> None:
    rows = "".join(f"{i},{loss},{loss + 0.1:.4f}\n" for i, loss in enumerate(_fall(10)))
    (tmp_path / "train.log").write_text(f"{above}{rows_begin}\n{rows}")
    (attempt,) = read(tmp_path / "train.log")
    assert {name: len(series) for name, series in attempt.series.items()} == {
        "train_loss": 10,
        "val_loss": 10,
    }


def test_what_comes_last_may_be_told_in_the_first_row_alone(tmp_path: Path) -> None:
    rows = "".join(f"{i},{loss}\n" for i, loss in enumerate(_fall(10)) if i)
    (tmp_path / "results.csv").write_text(f"epoch,loss,model,parameters\n0,2.5,unet,12345\n{rows}")
    (attempt,) = read(tmp_path / "results.csv")
    assert attempt.series["loss"].values.tolist() == _fall(10)
    assert not attempt.faults


def test_a_single_short_row_is_damage(tmp_path: Path) -> None:
    rows = [f"{i},{loss},0.5,7" for i, loss in enumerate(_fall(10))]
    rows[4] = "4,1.5"
    (tmp_path / "results.csv").write_text("epoch,loss,lr,n\n" + "\n".join(rows) + "\n")
    (attempt,) = read(tmp_path / "results.csv")
    assert len(attempt.series["loss"]) == 9
    assert [fault.what for fault in attempt.faults] == ["line has 2 cells where the header has 4; skipped"]


@pytest.mark.parametrize(
    ("name", "row", "series"),
    [
        ("kt_log.csv", "{i},{score},{loss}", {"score (column 2)": "score", "loss (column 3)": "loss"}),
        ("train.log", "{i},{loss},,{score}", {"loss (column 2)": "loss", "score (column 4)": "score"}),
        ("training_log.txt", "{i}\t{loss}\t{flag}", {"loss (column 2)": "loss", "column 3": "other"}),
        (
            "loss.txt",
            "{i}000.0 {loss} {other}",
            {"loss (column 2)": "loss", VALIDATION + "3)": "validation-loss"},
        ),
        (
            "scores.csv",
            "{i},{rate},{flag}",
            {"epsilon (column 2)": "other", "reward (column 3)": "objective"},
        ),
        ("losses_3.txt", "{loss} {other}", {"loss (column 1)": "loss", VALIDATION + "2)": "validation-loss"}),
        ("losses_3.txt", "{loss} {far}", {"loss (column 1)": "loss", "loss (column 2)": "part-loss"}),
    ],
)
def test_columns_without_names_are_named_by_their_values(
    name: str, row: str, series: dict[str, str], tmp_path: Path
) -> None:
    rows = [
        row.format(
            i=i,
            loss=loss,
            score=round(1 - loss / 3, 4),
            flag=i % 3 == 0,
            other=loss * 1.25,
            far=2 * loss,
            rate=max(0.9**i, 0.2),
        )
        for i, loss in enumerate(_fall(20))
    ]
    (tmp_path / name).write_text("\n".join(rows) + "\n")
    (attempt,) = read(tmp_path / name)
    assert {metric: str(curve.role) for metric, curve in attempt.series.items()} == series
    assert {len(curve) for curve in attempt.series.values()} == {20}


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("train.csv", "{i},{loss},{score}"),  # a set of data
        ("power_log.csv", "{i},{loss},{noise}"),  # one column falls, the other tells nothing
        ("kt_log.csv", "{noise},{score},{loss}"),  # nothing counts
        ("kt_log.csv", "{i},{score},{noise}"),  # nothing falls
    ],
)
def test_columns_without_names_that_may_be_anything(name: str, row: str, tmp_path: Path) -> None:
    rows = [
        row.format(i=i, loss=loss, score=round(1 - loss / 3, 4), noise=i * 37 % 11 + 0.5)
        for i, loss in enumerate(_fall(20))
    ]
    (tmp_path / name).write_text("\n".join(rows) + "\n")
    with pytest.raises(UnknownFormat, match="holds numbers without names"):
        read(tmp_path / name)


def test_each_row_may_name_what_it_counts(tmp_path: Path) -> None:
    (tmp_path / "training_log.txt").write_text(
        "".join(f"Epoch {i},{loss}\n" for i, loss in enumerate(_fall(10)))
    )
    (attempt,) = read(tmp_path / "training_log.txt")
    assert attempt.series["train"].values.tolist() == _fall(10)
    assert attempt.axis == "epoch"
