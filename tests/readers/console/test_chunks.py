"""Lines of a text log, however it was written: the same lines and numbers for every size of a chunk."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from chronicle.readers import read
from chronicle.readers.console import chunks as module
from chronicle.readers.console import plan
from chronicle.readers.console.chunks import MAX_LINE_BYTES, Line, chunks
from chronicle.readers.text import Head, encoding_of


def lines_of(path: Path, size: int = 1 << 21) -> tuple[list[tuple[int, bytes]], bool]:
    given, unfinished = [], False
    for chunk in chunks(path, size):
        given += list(zip(chunk.numbers, chunk.lines, strict=True))
        unfinished = chunk.unfinished
    return given, unfinished


def slow_lines(content: bytes) -> tuple[list[tuple[int, bytes]], bool]:
    """The same the obvious way: the whole file in memory."""
    text = re.sub(rb"\x1b\[[0-9;]*m", b"", content.removeprefix(b"\xef\xbb\xbf")).replace(b"\r\n", b"\n")
    given, ends = [], text.split(b"\n")
    for number, line in enumerate(ends[:-1] if ends[-1] == b"" else ends, 1):
        given += [(number, part) for part in line.split(b"\r")]
    return given, not text.endswith(b"\n")


@pytest.mark.parametrize("seed", range(20))
def test_lines_are_those_of_the_whole_file_for_every_size_of_a_chunk(seed, tmp_path):
    random_ = random.Random(seed)
    pieces = [
        b"a",
        b"bc ",
        b"\n",
        b"\r\n",
        b"\r 10%",
        b"\x1b[31mred\x1b[0m",
        b"loss: 2.5",
        "µ".encode(),
        b"\n\n",
    ]
    content = b"\xef\xbb\xbf" * (seed % 2) + b"".join(random_.choices(pieces, k=60)).rstrip(b"\r")
    log = tmp_path / "log.txt"
    log.write_bytes(content)
    wanted = slow_lines(content)
    assert lines_of(log) == wanted
    for size in (4, 7, 16, 50):
        given, unfinished = lines_of(log, size)
        assert [line for line in given if line[1]] == [line for line in wanted[0] if line[1]], size
        assert unfinished == wanted[1]


BAR = [
    "Epoch 3/9 ━━━━━━ 20/20 0:00:01 18.45it/s train_loss: 0.512    ",
    "                                         val_loss:            ",
    "                                         0.611                ",
]
MESSAGE = [
    "[12:30:01] INFO     Epoch 3/9 | train_loss 0.512 | val_loss fit.py:42",
    "                    0.611 | lr 1.0e-03                               ",
]
UNFOLDED = [
    ("bar", BAR, "Epoch 3/9 ━━━━━━ 20/20 0:00:01 18.45it/s train_loss: 0.512     val_loss: 0.611"),
    ("message", MESSAGE, "[12:30:01] INFO     Epoch 3/9 | train_loss 0.512 | val_loss 0.611 | lr 1.0e-03"),
    ("colours", [f"\x1b[2m{line}\x1b[0m" for line in BAR[:1]] + BAR[1:], BAR[0] + " val_loss: 0.611"),
    ("another column", [BAR[0], " " * 39 + "val_loss: 0.611"], None),
    ("not of rich", ["Epoch 3/9 20/20 0:00:01 18.45it/s        train_loss: 0.512", BAR[1], BAR[2]], None),
    ("a next message", ["[11/30/26 04:51:28] INFO     a", "                    INFO     b"], None),
]


@pytest.mark.parametrize(("lines", "whole"), [row[1:] for row in UNFOLDED], ids=[row[0] for row in UNFOLDED])
def test_what_rich_folds_in_a_narrow_console_is_a_line_again(lines, whole, tmp_path):
    log = tmp_path / "log.txt"
    for end in ("\n", "\r\n"):
        log.write_bytes("".join(line + end for line in ["begin", *lines, "end"]).encode())
        wanted = [whole] if whole else [line.rstrip() for line in lines]
        for size in (16, 100, 1 << 21):
            given = [(n, line.decode().rstrip()) for n, line in lines_of(log, size)[0]]
            assert [line for _, line in given if line] == ["begin", *wanted, "end"], size
            assert given[-1] == (len(lines) + 2, "end")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_known_by_its_mark(encoding, tmp_path):
    log = tmp_path / "log.txt"
    log.write_bytes("\ufeffstep 1\r\nµ 2\n".encode(encoding))
    assert lines_of(log) == ([(1, b"step 1"), (2, "µ 2".encode())], False)


def test_what_stands_before_and_after_zeros_is_no_line(tmp_path):
    """A sector that was never written: a value after it does not belong to the step before it."""
    log = tmp_path / "train.log"
    lines = [f"update {n}/90 loss={9 - n / 10:.1f}" for n in range(10, 90, 10)]
    lines.insert(3, "evaluation: val_loss: 2.5")
    lines[5] += bytes(512).decode() + "evaluation: val_loss: 1.9"
    lines[0] = bytes(512).decode() + lines[0]  # of a log that was emptied while its writer went on
    log.write_text("\n".join(lines) + "\n")
    assert lines_of(log)[0][4:7] == [(5, b"update 40/90 loss=5.0"), (6, b""), (7, b"update 60/90 loss=3.0")]
    (attempt,) = read(log)
    assert attempt.series["loss"].steps.tolist() == [10, 20, 30, 40, 60, 70, 80]
    assert attempt.series["val_loss"].steps.tolist() == [30]
    assert [(fault.what, fault.count) for fault in attempt.faults] == [
        ("the line has zeros inside, where the file was never written; it was left out", 1)
    ]


CHINESE = "模型训练开始\n" + "".join(
    f"当前Batch：{n}/600 | 当前损失值：{1 + 9 / n:.4f} | 当前准确率：{n / 10:.2f}%\n"
    for n in range(10, 400, 10)
)


@pytest.mark.parametrize("encoding", ["utf-8", "gb18030", "utf-16-le", "utf-16-be"])
def test_the_log_of_a_chinese_windows_is_read_as_any_other(encoding, tmp_path):
    log = tmp_path / "train_log.txt"
    log.write_bytes(CHINESE.encode(encoding))
    assert lines_of(log, 50) == lines_of(log)
    (attempt,) = read(log)
    loss = attempt.series["current loss"]
    assert (loss.role, loss.steps.tolist()) == ("loss", list(range(10, 400, 10)))
    assert loss.values.tolist() == [round(1 + 9 / n, 4) for n in range(10, 400, 10)]


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16-le", "utf-16-be"])
def test_the_log_of_a_western_windows_is_read_as_any_other(encoding, tmp_path):
    rows = [f"Époque {n}/9 - perte : {1 + 9 / n:.4f} - précision : {n / 10}\r\n" for n in range(1, 10)]
    log = tmp_path / "train.log"
    log.write_bytes("".join(rows).encode(encoding))
    assert lines_of(log, 200) == lines_of(log)
    (attempt,) = read(log)
    assert {name: series.role for name, series in attempt.series.items()} == {
        "loss": "loss",
        "accuracy": "score",
    }
    assert attempt.series["accuracy"].values.tolist() == [n / 10 for n in range(1, 10)]


def test_numbers_of_two_bytes_are_no_text():
    assert encoding_of(np.arange(500, dtype="<i2").tobytes()) == "utf-8-sig"
    assert encoding_of(np.arange(0, 80, dtype="<i2").tobytes()) == "utf-8-sig"


def test_bytes_of_western_europe_are_not_taken_for_chinese(tmp_path):
    assert encoding_of("Genauigkeit für Prüfmengen: größer\n".encode("latin-1")) == "cp1252"
    assert encoding_of(b"loss 0.5 l\xefss 0.25 \xc4\n") == "utf-8-sig"  # damage
    assert encoding_of("当前损失值".encode()[:-1]) == "utf-8-sig"  # a last character that was cut
    assert encoding_of("当前损失值：1.5\n".encode("gb18030")) == "gb18030"


def test_a_line_without_an_end_costs_no_more_memory_than_a_megabyte(tmp_path, monkeypatch):
    log = tmp_path / "log.txt"
    log.write_bytes(b"first\n" + b"x" * (3 * MAX_LINE_BYTES) + b"end\nlast\n")
    longest = []
    plain = module.plain
    monkeypatch.setattr(module, "plain", lambda data: longest.append(len(data)) or plain(data))
    pieces = list(chunks(log, 1 << 18))
    assert max(longest) <= MAX_LINE_BYTES + 2 * (1 << 18)
    assert sum(chunk.n_cut for chunk in pieces) == 1
    assert [line for chunk in pieces for line in chunk.lines] == [b"first", b"x" * MAX_LINE_BYTES, b"last"]
    assert pieces[-1].numbers[-1] == 3


def test_a_line_of_ten_megabytes_costs_its_end_and_is_told(tmp_path):
    log = tmp_path / "log.txt"
    lines = [f" iteration {step}/ 9 | lm loss: {step}.5 |" for step in (1, 2)]
    log.write_text(lines[0] + "\n" + "x" * 10_000_000 + "\n" + lines[1] + "\n")
    (attempt,) = read(log)
    assert attempt.series["lm loss"].values.tolist() == [1.5, 2.5]
    assert [(fault.where, fault.what) for fault in attempt.faults] == [
        (f"{log}:2", "the line is longer than 1 MB; what follows its first MB was ignored")
    ]


class Prefix(NamedTuple):
    """The words of a line, who printed it, and Unix seconds."""

    words: str
    who: str = ""
    time: float = math.nan


PREFIXES = {
    "01 Mar 10:05    INFO  epoch 3 training": Prefix("epoch 3 training"),
    "[default3]:[2025-03-31 05:54:07] iteration 5 |": Prefix("iteration 5 |", "default3", 1743400447.0),
    "[lrdn3321:3]: [2025-03-31 05:54:07] iteration 5": Prefix("iteration 5", "lrdn3321:3", 1743400447.0),
    "10/17/2025 16:31:56 [INFO|DP=0|PP=0|TP=0]: loss: 2": Prefix("loss: 2", "DP=0|PP=0|TP=0", 1760718716.0),
    "[2023-04-18 01:53:27,831] [INFO] [logging.py:96:log_dist] [Rank 0] step=520": Prefix(
        "step=520", "Rank 0", 1681782807.831
    ),
    "0: :::MLLOG {": Prefix(":::MLLOG {", "0"),
    "2021-03-08 12:31:36 | INFO | train_inner | {": Prefix("train_inner | {", "", 1615206696.0),
    "[rank0]:[titan] 2025-01-01 10:00:00,123 - root - INFO - step:  1": Prefix(
        "step:  1", "rank0", 1735725600.123
    ),
    "worker-1: [2023-04-18T01:53:27+02:00] x": Prefix("x", "worker-1", 1681775607.0),
    "(RayTrainWorker pid=123, ip=1.2.3.4) step=3": Prefix("step=3", "RayTrainWorker pid=123, ip=1.2.3.4"),
    "(head, rank=0, pid=2233, ip=10.0.0.2) step=3": Prefix("step=3", "head, rank=0, pid=2233, ip=10.0.0.2"),
    "(sky-cmd, pid=2233) step=3": Prefix("step=3", "sky-cmd, pid=2233"),
    "INFO:root:step 3": Prefix("step 3"),
    "Mon 30 Nov 2026 00:07:52 INFO  epoch 0": Prefix("epoch 0", "", 1795997272.0),
    "Mon Nov 30 00:07:52 2026 epoch 0": Prefix("epoch 0", "", 1795997272.0),
    "[Tue Nov  3 00:07:52 2026] - epoch 0": Prefix("epoch 0", "", 1793664472.0),
    "[default0]:08/31/2024 14:37:31 [INFO|DP=0|PP=0|TP=0|nid001]: iteration: 1 / 15": Prefix(
        "iteration: 1 / 15", "default0", 1725115051.0
    ),
    "2023-08-02 00:41:17.936 | INFO     | __main__:log_dist:54 - [Rank 0] Loss: 10.8766": Prefix(
        "Loss: 10.8766", "Rank 0", 1690936877.936
    ),
    "2025-01-02 03:00:10 | INFO     | yolox.core.trainer:261 - epoch: 1/300, loss: 3": Prefix(
        "epoch: 1/300, loss: 3", "", 1735786810.0
    ),
    "> 2025-01-02 03:00:10,500 INFO Epoch[1]": Prefix("Epoch[1]", "", 1735786810.5),
    "> > step 5 loss: 3": Prefix("step 5 loss: 3"),
    "34:     learn: 0.5": Prefix("34:     learn: 0.5"),
    "[I 2025-01-02 03:00:10,500] Trial 5 finished": Prefix("Trial 5 finished", "", 1735786810.5),
}
NONE = [
    "01 Mar 10:05 loss 3",
    "step 1 | loss: 3",
    "loss: 3.2",
    "Epoch: [0][10/50] loss 1",
    "train.loss: 3",
    "12: ",
    "[0.5, 0.7]",
]


@pytest.mark.parametrize("line", PREFIXES)
def test_what_launchers_put_before_a_line_is_taken_off(line):
    apart = Line(1, line).apart
    assert (apart.words, apart.who) == PREFIXES[line][:2]
    assert apart.time == pytest.approx(PREFIXES[line].time, rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize("line", NONE[:5] + NONE[6:])
def test_what_is_no_prefix_stays(line):
    assert Line(1, line).apart.words == line


def begin_in_turn(line: str) -> tuple[str, int]:
    """As `words_start`, each form tried by itself."""
    forms = [re.compile(rf"[\s|-]*(?:{form})\s*", re.ASCII) for form in module.PREFIXES]
    who, at = "", 0
    for _ in range(8):
        match = next(filter(None, (form.match(line, at) for form in forms)), None)
        if match is None or match.end() == at:
            break
        who, at = who or next(filter(None, match.groups()), ""), match.end()
    return who, at


def test_prefixes_are_those_that_each_form_finds_by_itself():
    parts = [
        *PREFIXES,
        *NONE,
        "- INFO - x",
        "INFO|A=1|x] ",
        "a.b - ",
        "root: | 12:00:01 ",
        "|[rank 3]: ",
        "7: 1, ",
    ]
    for seed in range(300):
        line = "".join(random.Random(seed).choices(parts, k=3))
        assert module.words_start(line) == begin_in_turn(line), line


def test_a_program_is_known_by_its_lines_without_a_search_for_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "train.py"
    program.write_text("".join(f"{'so ' * n}it goes on\nwait({n})\n" for n in range(50)))
    monkeypatch.setattr(module, "_NUMBERS", None)
    assert not module.may_be_log(Head.of(program))


def test_of_a_text_of_very_many_shapes_the_most_frequent_are_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def letters(n: int) -> str:
        return "".join(chr(97 + int(digit)) for digit in str(n))

    hashes = [f"{letters(n)}.py,sha={letters(n * n)},17".encode() for n in range(3000)]
    epochs = [f"epoch {n} loss 2.{n}".encode() for n in range(9)]
    looked_at = list[str]()

    def may_be_of_training(text: str) -> bool:
        looked_at.append(text)
        return False

    monkeypatch.setattr(plan, "_may_be_of_training", may_be_of_training)
    assert not plan._may_train([*hashes, *epochs])
    assert looked_at[0] == "epoch 0 loss 2.0"
    assert len(looked_at) == 500


def test_a_logged_line_behind_the_blanks_of_a_bar_is_a_line_of_its_own(tmp_path: Path) -> None:
    """A bar wipes out a longer one with blanks; a logger that writes to the same file goes on behind them."""
    bars = "".join(
        f"\rSteps:  {n}%|#  | {n}/100 [00:01<00:02, 9.00it/s{before}]"
        f"\rSteps:  {n}%|#  | {n}/100 [00:01<00:02, 9.00it/s, loss={loss}]  "
        + (f"01/02/2026 10:00:0{n % 10} - INFO - eval_loss: {loss}5\n" if n % 5 == 0 else "")
        for n, before, loss in (
            (n, f", loss={(101 - n) / 50:.3g}" if n > 1 else "", f"{(100 - n) / 50:.3g}")
            for n in range(1, 41)
        )
    )
    (tmp_path / "train.log").write_text(bars)
    (attempt,) = read(tmp_path / "train.log")
    loss = attempt.series["loss"]
    assert loss.steps.tolist() == [*range(1, 41)]
    assert loss.values.tolist() == [float(f"{(100 - n) / 50:.3g}") for n in range(1, 41)]
