"""Lines read by their shape are those read with care: over all examples, and over generated lines."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.depth import few
from tests.readers.gold import EXAMPLES, examples
from tests.readers.test_tables_in_blocks import attempts

from chronicle.readers.console import generic
from chronicle.readers.console.chunks import Line, sample, text_of
from chronicle.readers.console.line_records import Gatherer, Record
from chronicle.readers.console.line_shapes import Shapes
from chronicle.readers.text import Head

TEXTS = [example for example in examples() if sample(Head.of(EXAMPLES / example))]

SHAPES = (
    "step {i} | loss: {f4} | lr {e3} | grad_norm {f3}",
    "2025-04-13 12:{d2}:{s2},{d3} - INFO - Epoch: {i}, step: {i}/40000, train_loss: {f6}, tokens/s: {f1}",
    "[2025-04-13T12:{d2}:{s2}+05:30] epoch {i} loss={r} val_acc={f2}% top5 {f1} acc@1: {f4}",
    "Epoch [{i}/40] Batch [{i}/1000] Loss: {f4} Acc: {f2}% Time 0.{d2}s",
    "[04/13 12:{d2}:{s2}] d2.utils INFO:  eta: {d}:{d2}:{s2}  iter: {i}  total_loss: {f4}  max_mem: {i}M",
    "Train: {d} [ {i}/1251 ({d}%)]  Loss: {f3} ({f3})  LR: {e3}",
    "layer{d}.weight loss{d}: {f2} step {i}",
    "[{d},  {i}] loss: {r}",
    "Test:  [{i}/100] loss {f3} ({f3}) acc1 {f2}",
    "step {i} of {i}: loss 1,{d3}.{d} tokens {d},{d3},{d3}",
    "Epoch {i}: loss: {d},{d3}, acc: {d},{d2}",
    "Epoch {i}: loss: {d},{d3} - tokens: {d},{d3}",
    "iteration {r}: loss {f2}",
    "Ep. {d} : Up. {i} : Sen. {d},{d3} : Cost {f4} : L.r. {e1}",
    "I0413 12:{d2}:{s2}.{d6} 1234 solver.cpp:{d3}] Iteration {i}, loss = {r}",
    "step {i} loss nan grad inf",
    "loss: {r}",
    "| loss | {f3} |",
    "epoch  train_loss  valid_loss  time",
    "{d}      {f4}      {f4}      00:{d2}",
    "best iteration is:",
    "[{d}]\tvalid_0's l2: {r}\tvalid_1's l1: -{f3}",
    "rank{d}: step {i} loss {f2}",
    "{d}/{d}=0.{d3} step {i} loss {f2}",
    "step {i} loss {f2} é",
    "(worker pid={i}) step {i} loss 0.0e+0{d} delta -0.{d3}",
)


def filled(shape: str, random_: random.Random) -> str:
    """A line of a shape with numbers of all lengths in it."""
    value = random_.choice([0.0, random_.random(), random_.expovariate(0.1), random_.gauss(0, 1e4)])
    kinds = {
        "i": lambda: str(random_.randrange(10 ** random_.randint(1, 6))),
        "r": lambda: repr(value),
        **{f"f{n}": lambda n=n: f"{abs(value):.{n}f}" for n in (1, 2, 3, 4, 6)},
        **{f"e{n}": lambda n=n: f"{abs(value):.{n}e}" for n in (1, 3, 4)},
        **{f"d{n or ''}": lambda n=n: "".join(random_.choices("0123456789", k=n or 1)) for n in (0, 2, 3, 6)},
        "s2": lambda: f"{random_.randrange(62):02d}",
    }
    for name, made in kinds.items():
        while "{" + name + "}" in shape:
            shape = shape.replace("{" + name + "}", made(), 1)
    return shape


def contents(parsed: Iterable[Record]) -> list[tuple[object, ...]]:
    """All that is read of records which tell something."""
    return [
        (
            record.shape,
            repr(record.pairs),
            repr(record.counters),
            repr(record.epoch),
            record.evaluation,
            record.is_block,
            record.is_training,
            record.is_open,
            [repr(line) for line in record.lines],
            [repr([*record.by_line(record.numbers("step", phases))]) for phases in (False, True)],
        )
        for record in parsed
    ]


def both(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """Compares the two ways; how many records were read by their shape."""
    numbered = [Line(number, text, number == len(lines)) for number, text in enumerate(lines, 1)]
    by_shape, reading = [], Shapes.reading
    with monkeypatch.context() as patch:
        patch.setattr(
            Shapes, "reading", lambda self, raw: by_shape.append(reading(self, raw)) or by_shape[-1]
        )
        fast = contents(Gatherer().records(numbered))
        patch.setattr(Shapes, "reading", lambda self, raw: None)
        assert fast == contents(Gatherer().records(numbered))
    return sum(record is not None for record in by_shape)


@pytest.mark.parametrize("example", TEXTS, ids=str)
def test_examples_are_read_alike(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both([text_of(raw) for raw in sample(Head.of(EXAMPLES / example)).split(b"\n")], monkeypatch)


@pytest.mark.parametrize("shape", SHAPES)
def test_lines_of_one_shape_are_read_alike(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(shape)
    both([filled(shape, random_) for _ in range(120)], monkeypatch)


@pytest.mark.parametrize("seed", few(range(12), 4))
def test_lines_of_many_shapes_are_read_alike(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(seed)
    shapes = random_.sample(SHAPES, 5)
    both([filled(random_.choice(shapes), random_) for _ in range(200)], monkeypatch)


@pytest.mark.slow
def test_most_lines_of_a_trainer_are_read_by_their_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(0)
    for shape in few(SHAPES[:6], 2):
        assert both([filled(shape, random_) for _ in range(800)], monkeypatch) > 600


# What may happen between the steps of a training, each a line or several.
HAPPENINGS = (
    "step {step} | loss nan | lr 1.0e-03",
    "step {step} | loss 2.5000 | lr 1.0e-03\nstep {step} | loss 2.5000 | lr 1.0e-03",
    "validation at step {step}: val_loss {loss}",
    "Epoch {epoch} begins",
    "RuntimeError: CUDA error: out of memory",
    "rank1: step {step} | loss {loss} | lr 1.0e-03",
    "epoch  train_loss  valid_loss\n{epoch}      2.5      2.25",
    "args: seed=7 lr=0.05 dataset=moons",
    "saved checkpoint at step {step}",
    "loss: {loss}",
)


def training(seed: int, prefix: str) -> str:
    """The log of a training in which now and then something else happens, and steps go back."""
    random_, lines, step = random.Random(seed), [], 0
    for n in range(900):
        step += 1 if random_.random() < 0.995 else -random_.randrange(min(step + 1, 30))
        row = f"step {step} | loss {2 + random_.random():.4f} | lr {random_.random():.1e}"
        clock = f"{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}"
        lines.append(prefix.format(clock=clock, epoch=step // 100) + row)
        if random_.random() < 0.02:
            told = {"step": step, "loss": f"{random_.random():.4f}", "epoch": step // 100}
            lines += random_.choice(HAPPENINGS).format(**told).split("\n")
    return "\n".join(lines)


@pytest.mark.parametrize("prefix", ["", "[2025-04-13 {clock},123] ", "rank0: ", "epoch {epoch}, "])
@pytest.mark.parametrize("seed", few(range(20), 2))
def test_lines_read_at_once_are_those_read_one_by_one(
    prefix: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, n_at_once, read = tmp_path / "train.log", list[int](), generic.LogReader.read
    log.write_text(training(seed, prefix))

    def counting(self: generic.LogReader, *given: Any) -> int:
        n_at_once.append(read(self, *given))
        return n_at_once[-1]

    monkeypatch.setattr(generic.LogReader, "read", counting)
    fast = attempts(generic.read, log)
    monkeypatch.setattr(generic.LogReader, "matches", lambda self, lines: [None] * len(lines))
    assert fast == attempts(generic.read, log)
    assert sum(n_at_once) > 100


def test_what_comes_seldom_is_not_learned() -> None:
    read: list[str] = []
    shapes = Shapes(lambda text: read.append(text))  # type: ignore[func-returns-value]
    for word in "abcdefgh":
        assert shapes.reading(f"{word}: 1.5".encode()) is None
    assert read == []
