"""`chronicle doctor`: what it shows of a log, in full; and that it works for every format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.readers.gold import EXAMPLES, examples
from tests.readers.writers import event_log

from chronicle.build.entry import to_json
from chronicle.cli.doctor import examine
from chronicle.readers import read

LOG = """using world size: 8, data-parallel-size: 8
building
 [2025-04-13 23:41:12] iteration       10/     100 | lm loss: 4.5E+00 | grad norm: 1.5 |
 [2025-04-13 23:41:13] iteration       20/     100 | lm loss: 3.5E+00 | grad norm: 1.0 |
  successfully saved checkpoint at iteration      20 to checkpoints

node7: NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.
 [2025-04-13 23:41:14] iteration       30/     100 | lm loss: 3.0E+00 | grad norm: 0.9 |
 [2025-04-13 23:41:15] iteration       40/     100 | lm lo"""

SHOWN = """\
train.out
  523 bytes, ASCII, LF
  format: megatron, known by its content; none of the other {others} readers claims it
  lines: 3 records, 1 event, 1 fault, 1 cut, 1 known otherwise, 1 not understood, 1 blank
  records, 3 lines: lm loss, grad norm
          3  [2025-04-13 23:41:12] iteration       10/     100 | lm loss: 4.5E+00 | grad norm: 1.5 |
          4  [2025-04-13 23:41:13] iteration       20/     100 | lm loss: 3.5E+00 | grad norm: 1.0 |
          8  [2025-04-13 23:41:14] iteration       30/     100 | lm loss: 3.0E+00 | grad norm: 0.9 |
  events, 1 line: checkpoint-saved
          5  successfully saved checkpoint at iteration      20 to checkpoints
  faults, 1 line
          7  node7: NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.
  cut, 1 line
          9  [2025-04-13 23:41:15] iteration       40/     100 | lm lo
  known otherwise, 1 line
          1  using world size: 8, data-parallel-size: 8
  not understood, 1 line
          2  building
  attempt train.out: steps 10 – 30, 2 metrics, 4 facts, its end is cut off or not yet written
    metric     role       unit             points  first … last
    lm loss    loss       not declared          3  4.50 … 3.00
    grad norm  grad-norm  not declared          3  1.50 … 0.9
  train.out:7: Xid 79: {xid} (step 20)
"""


@pytest.mark.parametrize(
    ("end", "written_as", "encoding"),
    [
        ("", "utf-8", "ASCII"),
        ("\xe9log", "utf-8", "UTF-8"),  # four bytes before the end a character is not over
        ("\xe9", "utf-8-sig", "UTF-8 with a byte order mark"),
        ("\xe9", "utf-16", "UTF-16"),
        ("\xe9log", "latin-1", "not UTF-8 (byte 1000); other bytes are shown as U+FFFD"),
    ],
)
def test_it_names_the_encoding(end, written_as, encoding, tmp_path):
    lines = "".join(f"step {step} loss: {2.5 - step / 100:.2f} {'#' * (step < 10)}\n" for step in range(50))
    (tmp_path / "a.log").write_bytes((lines + end).encode(written_as))
    assert examine(tmp_path / "a.log")["encoding"] == encoding


def test_what_it_shows_of_a_log(chronicle, tmp_path):
    (tmp_path / "train.out").write_text(LOG)
    report = examine(Path("train.out"))
    ran = chronicle("doctor", "train.out")
    xid = report["faults"][0]["what"].partition(": ")[2]
    assert ran.out == SHOWN.format(others=report["n_readers"] - 1, xid=xid)
    assert (ran.code, ran.err) == (0, "")


def test_a_packed_log_shows_the_same_lines(chronicle, tmp_path):
    (tmp_path / "train.out").write_text(LOG)
    plain = json.loads(chronicle("doctor", "--json", "train.out").out)
    (tmp_path / "train.out.gz").write_bytes(gzip.compress(LOG.encode()))
    packed = json.loads(chronicle("doctor", "--json", "train.out.gz").out)
    assert packed["path"] == "train.out.gz"
    assert [packed[key] for key in ("kinds", "lines", "format")] == [
        plain[key] for key in ("kinds", "lines", "format")
    ]


def test_a_damaged_archive_is_told(chronicle, tmp_path):
    (tmp_path / "train.out.gz").write_bytes(b"\x1f\x8b\x08\x00 no archive at all")
    ran = chronicle("doctor", "train.out.gz")
    assert ran.code == 1
    assert "train.out.gz" in ran.out


def test_json_says_the_same(chronicle, tmp_path):
    (tmp_path / "train.out").write_text(LOG)
    report = json.loads(chronicle("doctor", "--json", "train.out").out)
    assert report["lines"]["records"] == 3
    assert report["kinds"][0]["fields"] == ["lm loss", "grad norm"]
    assert report["kinds"][0]["first"][0][0] == 3
    assert report["claimed_by"] == ["megatron"]
    assert [metric["role"] for metric in report["attempts"][0]["metrics"]] == ["loss", "grad-norm"]
    assert report["faults"][0]["step"] == 20


def test_a_text_that_is_no_log_is_shown_by_the_pairs_in_its_lines(chronicle, tmp_path):
    (tmp_path / "notes.txt").write_text("the rate was 3\nloss: 2.5\nloss: 2.4\n")
    ran = chronicle("doctor", "notes.txt")
    assert ran.code == 1
    assert "nothing was read" in ran.out
    assert "no reader knows this format. Remedy: write a counter and values by name into its lines" in ran.out
    assert "chronicle doctor" not in ran.out
    assert "  not understood, 2 lines: loss\n          2  loss: 2.5\n          3  loss: 2.4\n" in ran.out


def test_a_table_of_other_data_is_shown_with_a_doubt(chronicle, tmp_path):
    rows = "".join(f"5.{i},3.{i},1.{i},setosa\n" for i in range(9))
    (tmp_path / "iris.csv").write_text("sepal_length,sepal_width,petal_length,species\n" + rows)
    ran = chronicle("doctor", "iris.csv")
    assert (
        "  In doubt: no metric is recognised as a loss, a score, a norm or a learning rate: is this the log "
        "of a training? If it is, say so with `roles` in run.toml.\n"
        "  In doubt: no column counts the steps, so its rows are counted.\n"
    ) in ran.out
    (tmp_path / "log.csv").write_text("step,loss\n1,2.5\n2,2.25\n")
    assert "In doubt" not in chronicle("doctor", "log.csv").out
    assert json.loads(chronicle("doctor", "--json", "log.csv").out)["doubts"] == []


def test_what_is_assumed_of_columns_without_names_is_shown(chronicle, tmp_path):
    (tmp_path / "val_loss.csv").write_text("10,2.5\n20,2.25\n30,2.125\n")
    (tmp_path / "loss.txt").write_text("2.5\n2.25\n2.125\n")
    assert (
        "  In doubt: no line names the columns: the last one was taken for val_loss, and what stands before"
        " it for the steps.\n"
    ) in chronicle("doctor", "val_loss.csv").out
    assert (
        "  In doubt: no column counts the steps, so its rows are counted.\n"
        "  In doubt: no line names the columns: the last one was taken for loss.\n"
    ) in chronicle("doctor", "loss.txt").out


def test_what_the_values_of_columns_without_names_tell_is_shown(chronicle, tmp_path):
    rows = (f"{n},{1 - 1 / (n + 2):.4f},{2 / (n + 2):.4f}" for n in range(20))
    (tmp_path / "kt_log.csv").write_text("\n".join(rows) + "\n")
    assert (
        "  In doubt: no line names the columns: score (column 2), loss (column 3) is a guess by values, and"
        " what stands before it for the steps. If it is wrong, write their names into a first line.\n"
    ) in chronicle("doctor", "kt_log.csv").out


def test_what_values_tell_of_a_role_is_shown(chronicle, tmp_path):
    rows = [(i, 3.0 - i / 10 + i % 3, 0.5 + i % 2) for i in range(20)]
    text = "".join(f"{i},{a + 2 * b:.4f},{a:.4f},{b:.4f}\n" for i, a, b in rows)
    (tmp_path / "log.csv").write_text("step,loss,smooth,warp\n" + text)
    assert (
        "    smooth  part-loss  not declared         20  3.00 … 2.10  "
        " (by its values: loss = 1 × smooth + 2 × warp)\n"
    ) in chronicle("doctor", "log.csv").out


def test_nothing_to_read_ends_with_three(chronicle, tmp_path):
    (tmp_path / "empty").mkdir()
    assert chronicle("doctor", "empty").code == 3


@pytest.mark.parametrize("command", ["doctor", "classify", "explain"])
def test_every_command_says_the_same_of_a_path_that_leads_nowhere(chronicle, command):
    ran = chronicle(command, "nowhere")
    assert (ran.code, ran.out, ran.err) == (
        2,
        "",
        "error: no such file or folder: nowhere. Remedy: check the path\n",
    )
    ran = chronicle(command, "s3://")
    assert (ran.code, ran.err) == (
        2,
        "error: s3://: names no place. Remedy: write the whole address, as in s3://bucket/run\n",
    )


@pytest.mark.parametrize("command", ["doctor", "classify", "explain", "build"])
def test_a_path_with_a_line_end_is_told_in_one_line(chronicle, command):
    ran = chronicle(command, "no\nwhere")
    assert ran.err == "error: no such file or folder: no\\nwhere. Remedy: check the path\n"


def test_the_headings_that_tell_the_epoch_are_understood(chronicle, tmp_path):
    path = tmp_path / "train.log"
    epochs = (
        f"Epoch {k}/9\n  train loss: {1 + 1 / k:.3f}\n  validation loss: {1 + 2 / k:.3f}\n"
        for k in range(1, 10)
    )
    path.write_text("".join(epochs))
    ran = chronicle("doctor", path)
    assert "  lines: 18 records, 9 known otherwise\n" in ran.out
    assert "  known otherwise, 9 lines\n          1  Epoch 1/9\n          4  Epoch 2/9\n" in ran.out
    assert "  attempt train.log: epochs 1 – 9, 2 metrics, 1 fact\n" in ran.out


def test_a_bar_that_begins_with_a_return_is_shown(chronicle, tmp_path):
    path = tmp_path / "bar.log"
    path.write_text("".join(f"\r{k:3d}/300 [00:01, loss={2 + 1 / k:.3f}]" for k in range(1, 301)) + "\n")
    ran = chronicle("doctor", path)
    assert "  lines: 1 record\n  records, 1 line: loss\n          1  300/300 [00:01, loss=2.003]\n" in ran.out


def test_of_a_bar_with_a_record_drawn_over_it_the_record_is_shown(chronicle, tmp_path):
    """As Hugging Face draws them: the bar is blanked and the record takes its line."""
    drawn = [f"\r  {n}/4 [00:0{n}<?]\r    \r{{'loss': {4 - n}.5, 'epoch': 0.{n}}}" for n in range(1, 5)]
    (tmp_path / "train.out").write_text("\n".join(drawn) + "\n")
    kind = next(kind for kind in examine(Path("train.out"))["kinds"] if kind["taken_for"] == "records")
    assert kind["first"][0] == (1, "{'loss': 3.5, 'epoch': 0.1}")


def test_hostile_text_is_printed_harmlessly(chronicle, tmp_path):
    lines = "".join(f"step {i} loss\x07: {10 - i} \x1b[2Jevil: 1\n" for i in range(9))
    (tmp_path / "log.txt").write_text(lines)
    assert not {"\x07", "\x1b"} & set(chronicle("doctor", "log.txt").out)


@pytest.mark.slow
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name[:30])
def test_it_works_for_every_format(example, tmp_path):
    path = EXAMPLES / example
    report, attempts = examine(path), read(path)
    assert not report["problem"]
    assert [attempt["name"] for attempt in report["attempts"]] == [attempt.name for attempt in attempts]
    assert [len(attempt["metrics"]) for attempt in report["attempts"]] == [
        len(attempt.series) for attempt in attempts
    ]
    json.dumps(to_json(report), allow_nan=False)
    if report["lines"]:
        assert sum(report["lines"].values()) >= path.read_bytes().count(b"\n")
    for printed, attempt in zip(report["attempts"], attempts, strict=True):
        for metric, series in zip(printed["metrics"], attempt.series.values(), strict=True):
            assert metric["points"] == len(series)
            assert metric["first"] == pytest.approx(series.values[0], rel=0, abs=0, nan_ok=True)


def test_a_folder_in_which_nothing_is_read(chronicle, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "notes.txt").write_text("3 things\n")
    report = examine(Path("runs"))
    assert report["n_bytes"] == 9
    assert report["doubts"] == [
        "no file is a log. No reader knows notes.txt. Remedy: `chronicle doctor` on it says what it lacks"
    ]


def test_which_of_several_counters_is_the_axis(chronicle, tmp_path):
    rows = [{"_step": 2 * i, "iter": 10 * i, "loss": 2.5 - i} for i in range(3)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (attempt,) = examine(Path("a.jsonl"))["attempts"]
    assert (attempt["axis"], attempt["counter"]) == ("step", "iter")
    assert "    steps are counted by iter\n" in chronicle("doctor", "a.jsonl").out
    (printed,) = json.loads(chronicle("doctor", "--json", "a.jsonl").out.splitlines()[0])["attempts"]
    assert printed["counter"] == "iter"


def test_a_log_of_one_step_has_no_plural(chronicle, tmp_path):
    (tmp_path / "a.csv").write_text("step,loss\n1,2.5\n")
    assert "  attempt a.csv: step 1, 1 metric, 1 fact\n" in chronicle("doctor", "a.csv").out


def test_a_log_of_a_known_format_without_numbers_is_named_by_it(chronicle, tmp_path):
    """The remedy was to name a log of a known format, or the log itself, which had been named."""
    event_log(tmp_path / "events.out.tfevents.1.host", {})
    ran = chronicle("doctor", "events.out.tfevents.1.host")
    assert ran.code == 3
    assert "In doubt: its format is event file, and no series of numbers is in it" in ran.out
    assert ran.err.endswith("Remedy: name the log of a training\n")
