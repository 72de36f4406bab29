"""Megatron logs: the fast way gives what the slow way gives, bit for bit; and the traps of the format."""

from __future__ import annotations

import math
import random

import pytest
from tests.depth import few
from tests.logs import points, read_text

from chronicle.model import Attempt, Role
from chronicle.readers import read
from chronicle.readers.console import FORMATS, megatron
from chronicle.readers.text import Head

NAN = math.nan
KEYS = (
    "consumed samples", "learning rate", "lm loss", "grad norm", "loss scale", "TFLOPs",
    "number of skipped iterations",
)  # fmt: skip
FORMS = ("%.6E", "%.1f", "%12.0f", "%.3f", "%r", "%.17g", "%g")


def log_of(random_: random.Random, n_lines: int) -> str:
    """A log as several versions of Megatron could have written it, with all sorts of lines in between."""
    lines, forms = [], {key: random_.choice(FORMS) for key in KEYS}
    keys, step, width = list(KEYS), random_.choice([0, 95, 9990]), random_.choice(["%d", "%8d"])
    before = random_.choice(
        ["", " ", "[default7]: [2025-02-06 06:12:%02d] ", "[n1:3]: ", "[2025-02-06T06:12:%02d.123] "]
    )
    for number in range(n_lines):
        step += 1
        if random_.random() < 0.03:
            random_.shuffle(keys)
        if random_.random() < 0.05:
            step -= random_.randint(1, 20)
        clock = before % (number % 70) if "%" in before else before
        cells = {key: forms[key] % (random_.gauss(0, 1) * 10.0 ** random_.randint(-3, 3)) for key in keys}
        if random_.random() < 0.1:
            cells[random_.choice(keys)] = random_.choice(["nan", "inf", "-inf", "x", "", "1e400"])
        if random_.random() < 0.1:
            del cells["lm loss"]
        fields = "".join(f" {key}: {cell} |" for key, cell in cells.items())
        line = f"{clock}iteration {width % step}/    9999 |{fields}"
        odd = random_.random()
        if odd < 0.04:
            line = line[: random_.randrange(len(line))]
        elif odd < 0.08:
            line += random_.choice(["  ", " tail", line, "\r", " Xid 79: x"])
        elif odd < 0.14:
            lines.append(
                random_.choice(
                    [
                        f" validation loss at iteration {step} | lm loss value: {step / 7:.6E} | ",
                        "  successfully saved checkpoint at iteration      20 to x",
                        "time (ms) | forward-compute: 12.5",
                        "RuntimeError: CUDA error: an illegal memory access was encountered",
                        "",
                    ]
                )
            )
        lines.append(line)
    return random_.choice(["\n", "\r\n"]).join(lines) + random_.choice(["\n", ""])


def same(attempt: Attempt, other: Attempt) -> bool:
    return (
        sorted(attempt.series) == sorted(other.series)
        and all(
            getattr(series, part).tobytes() == getattr(other.series[name], part).tobytes()
            for name, series in attempt.series.items()
            for part in ("steps", "values", "times")
        )
        and repr((attempt.faults, attempt.facts, attempt.truncated))
        == repr((other.faults, other.facts, other.truncated))
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(60), 20))
def test_the_fast_way_gives_what_the_slow_way_gives(seed, tmp_path, monkeypatch):
    random_ = random.Random(seed)
    log = tmp_path / "train.out"
    log.write_text(log_of(random_, random_.choice([8, 40, 300])), newline="")
    (fast,) = megatron.read(log)
    monkeypatch.setattr(megatron, "learn", lambda line: None)
    (slow,) = megatron.read(log)
    assert same(fast, slow)


def test_most_lines_take_the_fast_way(tmp_path, monkeypatch):
    lines = [
        f"iteration {step:8d}/    9999 | lm loss: {step / 7:.6E} | grad norm: 1.5 |" for step in range(1000)
    ]
    log = tmp_path / "train.out"
    log.write_text("\n".join(lines) + "\n")
    slow = []
    monkeypatch.setattr(megatron, "_record", lambda log, line: slow.append(line.number))
    (attempt,) = megatron.read(log)
    assert len(attempt.series["lm loss"]) == 1000
    assert slow == []


def test_a_loss_that_is_left_out_is_nan_where_steps_were_skipped_or_the_norm_is_none(tmp_path):
    attempt = read_text(
        tmp_path,
        " iteration 1/ 9 | loss scale: 4294967296.0 | number of skipped iterations:   1 |\n"
        " iteration 2/ 9 | lm loss: 5.000000E+00 | grad norm: 2.000 | number of skipped iterations:   0 |\n"
        " iteration 3/ 9 | grad norm: nan | number of skipped iterations:   0 |\n"
        " iteration 4/ 9 | learning rate: 1.0E-04 | grad norm: 1.0 | number of skipped iterations:   0 |\n",
    )
    assert repr(points(attempt)["lm loss"]) == "[(1, nan), (2, 5.0), (3, nan)]"
    assert points(attempt)["number of skipped iterations"] == [(1, 1), (2, 0), (3, 0), (4, 0)]


def test_blanks_around_the_slash_and_names_of_other_versions_are_understood(tmp_path):
    line = "[2024-02-27 15:45:08] iteration {} / 118 | elapsed time(ms): 9.5 |{}total grad norm: {} |\n"
    text = line.format(13, " lm loss: 6.2E-01 |", 2.773) + line.format(14, "", "nan")
    assert repr(points(read_text(tmp_path, text * 5))["lm loss"][:2]) == "[(13, 0.62), (14, nan)]"


def test_a_log_that_never_had_a_loss_says_so_where_steps_were_skipped(tmp_path):
    attempt = read_text(tmp_path, "iteration 1/ 9 | loss scale: 2.0 | number of skipped iterations: 1 |\n")
    assert repr(points(attempt)["lm loss"]) == "[(1, nan)]"


def test_a_fault_between_records_stands_at_the_step_before_it(tmp_path):
    lines = [
        f" [2025-02-06 06:12:{step:02d}] iteration {step}/ 99 | lm loss: {step}.5 |" for step in range(1, 20)
    ]
    lines.insert(7, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
    lines.append(
        "slurmstepd: error: *** JOB 4711 ON r6i4n5 CANCELLED AT 2025-02-06T06:30:00 DUE TO TIME LIMIT ***"
    )
    attempt = read_text(tmp_path, "\n".join(lines) + "\n", "slurm.out")
    assert [
        (fault.kind, fault.at_step, fault.at_time, fault.where.rpartition("/")[2]) for fault in attempt.faults
    ] == [("out-of-memory", 7, 1738822327.0, "slurm.out:8"), ("time-limit", 19, 1738823400.0, "slurm.out:21")]


def test_a_step_that_no_64_bits_hold_is_a_fault_and_no_point(tmp_path):
    lines = [f" iteration {step}/ 9 | lm loss: 2.5 |\n" for step in (1, 2, 10**19)]
    attempt = read_text(tmp_path, "".join(lines), "train.out")
    assert points(attempt) == {"lm loss": [(1, 2.5), (2, 2.5)]}
    assert [(fault.place.line, fault.what) for fault in attempt.faults] == [
        (3, "the step does not fit into 64 bits; the line was skipped")
    ]


def test_the_results_of_a_task_stand_at_the_step_before_them(tmp_path):
    log = tmp_path / "job.out"
    lines = ""
    for step in (10, 20):
        lines += f" iteration {step:8}/   900 | consumed samples: {64 * step} | lm loss: {90 / step:.6E} |\n"
        lines += f"{'-' * 80}\n validation results on SQUARES | number correct: {step / 10:.4E} | "
        lines += f"total examples: 4.0000E+00 | avg accuracy: {step / 40:.4E}\n{'-' * 80}\n"
    lines += " test results on PRIMES | avg loss: 2.5000E+00 | ppl: 1.2182E+01 | token ratio: 1.5\n"
    log.write_text(lines)
    (attempt,) = read(log)
    held_out = {name: s for name, s in attempt.series.items() if name.startswith(("validation/", "test/"))}
    assert {name: [*zip(s.steps, s.values, strict=True)] for name, s in held_out.items()} == {
        "validation/SQUARES/number correct": [(10, 1.0), (20, 2.0)],
        "validation/SQUARES/total examples": [(10, 4.0), (20, 4.0)],
        "validation/SQUARES/avg accuracy": [(10, 0.25), (20, 0.5)],
        "test/PRIMES/avg loss": [(20, 2.5)],
        "test/PRIMES/ppl": [(20, 12.182)],
        "test/PRIMES/token ratio": [(20, 1.5)],
    }
    roles = [Role.OTHER, Role.OTHER, Role.VALIDATION_SCORE, Role.VALIDATION_LOSS]
    assert [s.role for s in held_out.values()][:4] == roles


def test_a_log_is_known_behind_pages_of_other_text(tmp_path):
    pages = "".join(f"warning {number}: nothing of use\n" for number in range(30_000))
    attempt = read_text(tmp_path, pages + " iteration 1/ 9 | lm loss: 5.0E+00 |\n")
    assert points(attempt) == {"lm loss": [(1, 5.0)]}


@pytest.mark.parametrize("name", ["README.md", "train.py", "notes.rst"])
def test_a_document_that_quotes_a_log_is_none_and_a_log_of_its_name_is_one(name, tmp_path):
    lines = [f" iteration {step}/ 20 | lm loss: 5.{step}E+00 |\n" for step in range(20)]
    prose = [f"{'so ' * number}it goes on\n" for number in range(20)]
    (tmp_path / name).write_text("".join(prose + lines))
    assert not FORMATS[0].identify(Head.of(tmp_path / name))
    (tmp_path / name).write_text("".join(prose[:19] + lines))
    assert FORMATS[0].identify(Head.of(tmp_path / name))


def test_utf_16_colours_and_windows_line_ends_change_nothing(tmp_path):
    lines = [f" iteration {step}/ 99 | lm loss: {step}.5 | grad norm: 1.0 |" for step in range(1, 30)]
    plain, odd = tmp_path / "a.out", tmp_path / "b.out"
    plain.write_text("\n".join(lines) + "\n")
    odd.write_bytes(
        "\ufeff".encode("utf-16-le")
        + "\r\n".join(f"\x1b[32m{line}\x1b[0m" for line in lines).encode("utf-16-le")
        + "\r\n".encode("utf-16-le")
    )
    assert points(read(odd)[0]) == points(read(plain)[0]) != {}
