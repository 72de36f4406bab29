"""Histories that teams really have, and how each is drawn.

A row: the logs; the trainings, each with what followed (kind, step that it went on from, attempt); causes of
steps that go back without a restart; and the keys of run.toml that doubts name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.timeline.test_split import one_file
from tests.timeline.timeline_logs import HOUR, course, log, series

from chronicle.metrics.roles import assign
from chronicle.metrics.values import Axis
from chronicle.model import Attempt, Timeline
from chronicle.story.restarts import outcome, step_back_words
from chronicle.timeline import stitch
from chronicle.timeline.joins import endings

UP = range(1000)
NAN = float("nan")


def at(
    name: str, steps: range, hours: float | None = 0.0, noise: int = 0, shift: int = 0, **facts: Any
) -> Attempt:
    """A log launched at an hour; its loss is that of ``shift`` steps further on."""
    attempt = log(name, steps, noise, None if hours is None else hours * HOUR)
    attempt.series["loss"].values[:] = course([step + shift for step in steps], noise)
    return replace(attempt, facts=facts)


def of(name: str, steps: Sequence[int], hours: float, values: Sequence[float], metric: str) -> Attempt:
    return Attempt(name, (name,), assign({metric: series(metric, steps, values, hours * HOUR)}))


def evaluation(name: str, steps: Sequence[int], hours: float) -> Attempt:
    return of(name, steps, hours, course(steps), "eval_loss")


def evaluated(name: str, steps: range, hours: float) -> Attempt:
    """A training that logs a validation loss too, every hundredth step."""
    some = steps[::100]
    return log(name, steps, 0, hours * HOUR, v=series("eval_loss", some, course(some), hours * HOUR))


def counting(name: str, steps: range, hours: float, metric: str, first: float, each: float) -> Attempt:
    start = hours * HOUR
    return log(name, steps, 0, start, c=series(metric, steps, first + each * np.arange(len(steps)), start))


def epochs_of_steps() -> Attempt:
    """Ten epochs, in each of which the steps are counted from 0."""
    attempt = one_file(
        *[range(100)] * 10, e=series("epoch", [*range(100)] * 10, np.repeat(np.arange(10.0), 100))
    )
    attempt.series["loss"].values[:] = course(UP)
    return attempt


def fit_again() -> Attempt:
    attempt = one_file(range(10), range(10))
    attempt.series["loss"].values[:] = course(range(20))
    return attempt


def sweep(ends: Sequence[int], hours: Callable[[int], float | None], **facts: Any) -> list[Attempt]:
    return [at(f"t{k}", range(end), hours(k), k, **facts) for k, end in enumerate(ends)]


def rank(number: int, seed: int = 0) -> Attempt:
    return at(f"rank{number}", UP, 0, seed, host=f"node{number}", pid=1)


def whole(cut: int, **more: Any) -> Attempt:
    """A trainer's state of `in_parts`: the first attempt up to a step, then the other; no wall clock."""
    part = log("state", range(0, 1000, 10), **more)
    part.series["loss"].values[:] = np.append(
        course(range(0, 430, 10), 1)[: cut // 10], course(range(400, 1000, 10), 2)[(cut - 400) // 10 :]
    )
    return replace(part, facts={"format": "state"})


def in_parts() -> list[Attempt]:
    spans = range(0, 430, 10), range(400, 1000, 10)
    return [at("ab"[k], span, k, k + 1, format="events") for k, span in enumerate(spans)]


def with_seeds(steps: Sequence[int], seeds: Sequence[int]) -> Attempt:
    return log("f", steps, s=series("seed", steps, seeds))


EARLY = [300, 100, 900, 100, 100, 300]
SIX = "t0 | t1 | t2 | t3 | t4 | t5"
ROUNDED = {"train_loss": series("train_loss", UP[::10], np.round(course(UP[::10]), 3))}

HISTORIES: dict[str, tuple[Any, ...]] = {
    # Restarts from a checkpoint
    "requeued by Slurm, a log a job": (
        [at("1", range(0, 1150, 10)), at("2", range(1000, 2210, 10), 1), at("3", range(2000, 3000, 10), 2)],
        "1, rollback 1000 2, rollback 2000 3"),
    "requeued by Slurm, one log": (
        one_file(range(0, 1150, 10), range(1000, 2210, 10), range(2000, 3000, 10)),
        "f#1, rollback 1000 f#2, rollback 2000 f#3"),
    "resumed with twice the batch, steps are samples": (
        [at("a", range(0, 32000, 320)), at("b", range(32000, 96000, 640), 9, 1)], "a, resume 32000 b"),
    "back to a step that was never logged": (
        [at("a", range(0, 1041, 50)), at("b", range(1005, 2000, 50), 1, 1)], "a, resume 1005 b"),
    "resumed between two logged steps": (
        [at("a", range(0, 1041, 10)), at("b", range(1005, 2000, 10), 1, 1)], "a, rollback 1005 b"),
    "one tracker's run, resumed by its id": (
        [at("w1", UP, 0, run="x"), at("w2", range(950, 2000), 1, 1, run="x")], "w1, rollback 950 w2"),
    "epochs, resumed from the one before the last": (
        one_file(range(32), range(30, 90)), "f#1, rollback 30 f#2"),
    "a crash loop after a checkpoint, a log each": (
        [at("a", UP), *(at(n, range(1000, 1000 + k), k, k) for n, k in (("b", 2), ("c", 3), ("d", 500)))],
        "a, resume 1000 b, rollback 1000 c, rollback 1000 d"),
    "a crash loop after a checkpoint, one log": (
        one_file(UP, range(980, 983), range(980, 982), range(980, 2000)),
        "f#1, rollback 980 f#2, rollback 980 f#3, rollback 980 f#4"),
    "the earliest log was lost": (
        [at("a", range(5000, 6000)), at("b", range(5800, 7000), 1, 1)], "a, rollback 5800 b"),
    "a log between two was lost": (
        [at("a", UP), at("b", range(3000, 4000), 1, 1)], "a, resume 3000 b", "", "paths"),
    "from then on steps count samples": (
        [at("a", UP), at("b", range(256_000, 512_000, 256), 1, 1)], "a, resume 256000 b", "", "paths"),
    # Starts from nothing
    "a crash loop at the start": (
        one_file(range(2), range(1), range(3), UP),
        "f#1, relaunch 0 f#2, relaunch 0 f#3, relaunch 0 f#4", "", "relation"),
    "a short test, then the run": (
        [at("a", range(50)), at("b", UP, 1, 1)], "a, relaunch 0 b", "", "relation"),
    "NaN, then begun again": (
        [of("a", range(300), 0, [*course(range(290)), *[NAN] * 10], "loss"), at("b", UP, 1, 1)],
        "a, relaunch 0 b", "", "relation"),
    "six epochs, then ten from nothing": (
        one_file(range(6), range(10)), "f#1 | f#2", "appended", "relation"),
    # Several trainings
    "three seeds in a table, one below the other": (
        one_file(UP, UP, UP), "f#1 | f#2 | f#3", "same end, same end", "relation"),
    "three seeds in a table, row by row": (one_file(np.repeat(UP, 3)), "f", "repeats"),
    "three seeds in a table, row by row, with a column that says so": (
        with_seeds(np.repeat(UP, 3), [1, 2, 3] * 1000),
        "f, seed 1 | f, seed 2 | f, seed 3", "seed, seed", ""),
    "resumed with another seed, in one table": (
        with_seeds([*UP, *range(800, 1500)], [1] * 1000 + [2] * 700),
        "f, seed 1, rollback 800 f, seed 2"),
    "seeds that are stated, of different lengths": (
        [at("a", range(700), 0, 1, seed=1), at("b", UP, 1, 2, seed=2)], "a | b", "seed"),
    "a second fit of ten epochs from nothing": (
        one_file(range(10), range(10)), "f#1 | f#2", "same end", "relation"),
    "a sweep to one end": (sweep([1000] * 6, lambda k: k), SIX, ", ".join(["same end"] * 5), "relation"),
    "a sweep at a time": (sweep(EARLY, lambda k: k / HOUR), SIX, ", ".join(["together"] * 5), "relation"),
    "a sweep of trials stopped early that finished": (
        sweep(EARLY, lambda k: k, ended="finished"), SIX, ", ".join(["finished"] * 5), ""),
    "a sweep that says so": (sweep(EARLY, lambda k: k, sweep="s"), SIX, ", ".join(["sweep"] * 5), ""),
    "a sweep without times": (
        sweep(EARLY, lambda k: None), SIX,
        "undecided, undecided, undecided, same end, undecided", "relation, relation"),
    "another model after one that finished": (
        [at("a", UP, 0, ended="finished"), at("b", range(2000), 1, 1)], "a | b", "finished"),
    "seeds at a time, one dies and resumes": (
        [at("a", UP, 0, 1), at("b", range(300), 0, 2), at("c", UP, 0, 3), at("d", range(250, 1000), 0.11, 4)],
        "a | b, rollback 250 d | c", "together, together", "relation"),
    "seeds at a time, one dies and begins again": (
        [at("a", UP, 0, 1), at("b", range(300), 0, 2), at("c", UP, 0, 3), at("d", UP, 0.11, 4)],
        "a | b, relaunch 0 d | c", "together, together", "relation, relation"),
    # The weights go on, the counter of steps does not
    "pretraining, then fine-tuning from step 0": (
        [at("pre", UP), at("sft", range(300), 1, 1, 1500)], "pre | sft", "goes on", "relation"),
    "fine-tuning with a metric of its own": (
        [of("pre", UP, 0, course(UP), "lm loss"), of("sft", range(300), 1, course(range(300)), "sft/loss")],
        "pre | sft"),
    "a second fit of the same weights": (fit_again(), "f#1 | f#2", "goes on", "relation"),
    "steps counted in each epoch": (
        epochs_of_steps(),
        " | ".join(f"f#{k}" for k in range(1, 11)), ", ".join(["goes on"] * 9), "relation"),
    "tokens go on, steps do not": (
        [counting("a", UP, 0, "tokens_seen", 0, 1e3), counting("b", range(500), 1, "tokens_seen", 1e6, 1e3)],
        "a | b", "goes on", "relation"),
    # Forks
    "two branches of one checkpoint, one after the other": (
        [at("a", UP), at("b", range(1000, 1500), 1, 1), at("c", range(1000, 1500), 2, 2)],
        "a, resume 1000 b, rollback 1000 c"),
    "two branches of one checkpoint at a time, both resumed": (
        [at("a", UP), at("b/1", range(1000, 1500), 1, 1), at("c/1", range(1000, 1500), 1.001, 2),
         at("b/2", range(1500, 1800), 2, 3), at("c/2", range(1500, 1800), 2.001, 4)],
        "a, resume 1000 b/1, resume 1500 b/2 | c/1, resume 1500 c/2", "together", "relation"),
    # Evaluations
    "one checkpoint was evaluated later": (
        [evaluated("t", UP, 0), evaluation("e", [500], 2)], "t | e", "evaluation"),
    "all checkpoints were evaluated, then it was resumed": (
        [evaluated("t", UP, 0), evaluation("e", UP[500::100], 2), evaluated("t2", range(1000, 2000), 4)],
        "t, resume 1000 t2 | e", "evaluation"),
    "begun again, then evaluated": (
        [evaluated("a", UP[:300], 0), evaluated("b", UP, 1), evaluation("e", UP[::100], 2)],
        "a, relaunch 0 b | e", "evaluation", "relation"),
    "begun again, then fine-tuned from step 0": (
        [at("a", range(300)), at("b", UP, 1, 1), at("sft", range(200), 2, 2, 1500)],
        "a, relaunch 0 b | sft", "goes on", "relation, relation"),
    "an evaluation beside the training": (
        [at("train/a", UP), of("eval/a", UP[::100], 0, course(UP[::100]), "eval_loss")], "train/a"),
    # One training told twice
    "two trackers, one of them rounds and thins": (
        [at("events", UP), Attempt("t.csv", ("t.csv",), assign(ROUNDED))], "events"),
    "a trainer's state of the live course, and event files of both attempts": (
        [whole(400), *in_parts()], "a, rollback 400 b"),
    "a tracker that dropped the repeated steps, and logs of both attempts": (
        [whole(430), *in_parts()], "a, rollback 400 b"),
    "three logs of one attempt": (
        [at(f"t.{kind}", UP, None, format=kind) for kind in ("csv", "json", "log")], "t.csv"),
    "two trackers, one counts from 0 and one from 1": (
        [at("csv", UP), at("events", range(1, 1001), 0, 0, -1)], "csv"),
    "two seeds, one counts from 0 and one from 1": (
        [at("a", UP), at("b", range(1, 1001), 0, 1, -1)], "a | b", "together", "relation"),
    "ranks that log the loss of all": ([rank(0), rank(1)], "rank0"),
    "ranks that log losses of their own": ([rank(0), rank(1, 1)], "rank0"),
    # Clocks
    "resumed on a host whose clock is two hours behind": (
        [at("a", UP, 10), at("b", range(1000, 2000), 8, 1), at("c", range(2000, 2500), 12, 2)],
        "a, resume 1000 b, resume 2000 c", "", "order"),
    "rolled back on a host whose clock is two hours behind": (
        [at("a", UP, 10), at("b", range(900, 2000), 8, 1)], "b, relaunch 0 a", "", "order, relation"),
    "the hour that comes twice in autumn": (
        [at("a", range(7200)), at("b", range(7200, 9000), 1, 1)], "a, resume 7200 b"),
    "one log of three without times": (
        [at("a", UP), at("b", range(1000, 2000), None, 1), at("c", range(2000, 2500), 2, 2)],
        "a, resume 1000 b, resume 2000 c"),
    "one log of three without times, with rollbacks": (
        [at("a", UP), at("b", range(800, 2000), None, 1), at("c", range(1900, 2500), 2, 2)],
        "a, rollback 800 b, rollback 1900 c", "", "order"),
    # Rows
    "two processes that write one log": (
        one_file([s for k in range(500) for s in (k, max(k - 1, 0))]), "f", "disorder, repeats", "paths"),
}  # fmt: skip


def drawn(timeline: Timeline) -> str:
    names = [a.name for a in timeline.attempts]
    source = {j.after: j for j in timeline.joins}
    home: dict[int, str] = {}
    for k, name in enumerate(names):
        if k in source:
            join, root = source[k], source[k].before
            while root in source:
                root = source[root].before
            home[root] += f", {join.kind.value} {join.to_step} {name}"
        else:
            home[k] = name
    return " | ".join(home.values())


@pytest.mark.parametrize("history", HISTORIES)
def test_it_is_drawn_as_it_happened(history):
    logs, trainings, causes, keys = (*HISTORIES[history], "", "")[:4]
    timeline = stitch(logs)
    assert drawn(timeline) == trainings
    assert ", ".join(b.evidence.get("because", b.cause) for b in timeline.step_backs) == causes
    asked_for = sorted(re.findall(r"`(\w+)[^`]*` (?:in|of) run\.toml", " ".join(timeline.doubts)))
    assert ", ".join(asked_for) == keys
    assert all(step_back_words(back) for back in timeline.step_backs)


def test_only_the_last_attempt_of_a_log_has_its_end():
    whole = replace(one_file(UP, range(800, 1600)), facts={"seed": 1, "ended": "finished", "exit_code": 0})
    assert [dict(a.facts) for a in stitch(whole).attempts] == [
        {"seed": 1},
        {"seed": 1, "ended": "finished", "exit_code": 0},
    ]


def test_what_the_log_of_the_whole_alone_has_goes_to_its_attempts_by_step():
    steps = range(0, 1000, 100)
    timeline = stitch([whole(400, v=series("eval_loss", steps, course(steps))), *in_parts()])
    assert [copy.name for copy in timeline.copies] == ["state"]
    assert timeline.series["eval_loss"].attempt.tolist() == [0] * 4 + [1] * 6
    assert timeline.series["eval_loss"].live.all()
    assert len(timeline.series["loss"]) == 43 + 60


@pytest.mark.parametrize("strange", [NAN, np.inf, 1e300, 0.5])
def test_a_column_of_seeds_without_a_seed_in_every_row_says_nothing(strange):
    timeline = stitch(with_seeds([*UP, *UP], [1] * 1999 + [strange]))
    assert [a.name for a in timeline.attempts] == ["f#1", "f#2"]
    assert "seed" in timeline.series


def test_an_evaluation_is_called_one():
    timeline = stitch(
        [evaluated("t", UP, 0), evaluation("e", [500], 2), evaluated("t2", range(1000, 2000), 4)]
    )
    assert {timeline.attempts[e.attempt].name: outcome(e, Axis()) for e in endings(timeline)} == {
        "t": "resumed, after 3.7 h",
        "e": "an evaluation",
        "t2": "latest",
    }
    alone = stitch([evaluated("t", UP, 0), evaluation("e", [500], 2)])
    assert [outcome(e, Axis()) for e in endings(alone)] == ["latest", "an evaluation"]


def test_what_another_count_of_steps_adds_is_counted_as_the_rest():
    """A loss of another name is the same loss, and what only the other log has is moved by a step."""
    more = log("events", range(1, 1001), 0, 0.0, v=series("eval_loss", [1, 501], [3.0, 2.0], 0.0))
    renamed = assign({"train/loss": replace(more.series["loss"], metric="train/loss", values=course(UP))})
    other = replace(more, series={**renamed, "eval_loss": more.series["eval_loss"]})
    rate = series("lr", UP, np.linspace(1, 0, 1000), 0.0)
    timeline = stitch([log("csv", UP, 0, 0.0, lr=rate), other])
    assert {m: t.steps[:2].tolist() for m, t in timeline.series.items()} == {
        "loss": [0, 1],
        "lr": [0, 1],
        "eval_loss": [0, 500],
    }
