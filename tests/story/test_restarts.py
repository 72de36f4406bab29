"""What a join says in words, and what the overtaken steps of a run cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.timeline.timeline_logs import HOUR, log, series

from chronicle.build.entry import costs
from chronicle.metrics.values import Axis, duration
from chronicle.model import Change, Join, JoinKind
from chronicle.story.restarts import Restart, gap, outcome, restart
from chronicle.timeline import stitch
from chronicle.timeline.joins import Ending
from chronicle.workspace.config import RunConfig


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (Change("learning rate", 3e-4, 1.5e-4, None, 800), "the learning rate fell from 0.0003 to 0.00015"),
        (Change("rate", 1e-4, 3e-4, None, 900), "the rate rose from 0.0001 to 0.0003 at step 900"),
        (Change("schedule", "cosine", "linear", None, 9), "the schedule changed from cosine to linear"),
        (Change("samples read", 512_000.0, 0.0, "samples", 1000), "512\u202f000 samples were read again"),
        (Change("epochs read", 1.0, 2.5, "epochs", 10), "1.5 epochs were left out"),
        (Change("config/warm", None, True), "the setting warm was stated as yes"),
        (
            Change("config/data", "a/b.csv", "shared/of/all/projects/of/this/year/with/data/train.csv"),
            "the setting data changed from a/b.csv to shared/of/all/projects/of/…ata/train.csv",
        ),
        (Change("world size", 64, 32, "processes"), "the world size changed from 64 to 32 processes"),
        (Change("config/prompt", "x" * 200, "y"), f"the setting prompt changed from {'x' * 59}… to y"),
    ],
)
def test_changes_are_told_in_a_table_as_in_the_sentence_of_the_restart(change, words):
    join = Join(JoinKind.ROLLBACK, 0, 1, 2000, 800, 1200, 60.0, changes=(change,))
    assert restart(join, Axis()).changes == (words,)


def test_a_join_in_full():
    evidence = {
        "metric": "loss", "loss_before": 2.31, "loss_after": 2.33, "common_samples": 200,
        "lr_before": 3e-4, "lr_after": 3e-4, "lr_ratio": 1.0,
        "same_process": False, "same_host": True, "same_run": True, "same_seed": False,
        "inside_pattern": "divergence-no-spike", "inside_start_step": 900, "again_step": 1200,
        "discarded_s": 7200.0,
    }  # fmt: skip
    join = Join(
        JoinKind.ROLLBACK, 0, 1, 2000, 1000, 1000, 60.0, evidence=evidence, changes=(Change("seed", 1, 2),)
    )
    assert restart(join, Axis(), gpus=64, tokens_per_step=1e6) == Restart(
        ("the seed changed from 1 to 2",),
        ("1\u202f000 steps", "1 billion tokens", "2 h", "128 GPU hours"),
        (
            "the run did not go back far enough: the divergence had begun at step 900, "
            "and it came again at step 1\u202f200",
            "loss 2.31 → 2.33 at 200 equal steps",
            "learning rate as before",
            "another process on the same host",
            "the same run",
        ),
    )


def test_a_join_of_a_log_that_counts_tokens_says_so():
    """Tokens in millions were printed as steps in the tables of attempts and restarts."""
    evidence = {"inside_pattern": "divergence-no-spike", "inside_start_step": 900, "again_step": 1200}
    moved = (Change("learning rate", 3e-4, 1.5e-4, None, 800),)
    join = Join(JoinKind.ROLLBACK, 0, 1, 2000, 1000, 1000, 60.0, evidence=evidence, changes=moved)
    assert restart(join, Axis("million tokens")) == Restart(
        ("the learning rate fell from 0.0003 to 0.00015 at 800 million tokens",),
        ("1.00 billion tokens",),
        (
            "the run did not go back far enough: the divergence had begun at 900 million tokens, "
            "and it came again at 1.20 billion tokens",
        ),
    )
    assert outcome(Ending(0, "crashed", "rolled back", join), Axis("million tokens")) == (
        "crashed, back to 1.00 billion tokens, 1.00 billion tokens discarded, after 60 s"
    )


def test_durations_and_gaps():
    assert [duration(s) for s in (59, 600, 6708, 7200, 3 * 86_400)] == [
        "59 s",
        "10 min",
        "112 min",
        "2 h",
        "3 days",
    ]
    assert [gap(s) for s in (None, float("nan"), 0.5, 42, -7200)] == [
        "",
        "",
        "",
        "after 42 s",
        "2 h before that one ended",
    ]


def costs_of_a_rollback(config=None, **facts):
    steps = range(1000), range(800, 1600)
    attempts = [
        replace(log(n, s, 0, t, tokens=series("tokens_seen", s, [1e3 * k for k in s], t)), facts=facts)
        for n, s, t in zip("ab", steps, (0, HOUR), strict=True)
    ]
    return {f.quantity: (f.value, f.how) for f in costs(stitch(attempts), config or RunConfig())}


def test_costs_come_from_the_logs_where_they_count():
    assert costs_of_a_rollback(world_size=36) == {
        "Steps discarded": (200, "of 1\u202f800 trained, sum over joins"),
        "Hours discarded": (0.0556, "wall clock of the discarded steps"),
        "Tokens discarded": (200_000.0, "counted by the logs"),
        "GPU hours discarded": (2.0, "hours × world_size of the log"),
    }


def test_run_toml_says_how_many_accelerators_there_were():
    assert costs_of_a_rollback(RunConfig(gpus=72), world_size=36)["GPU hours discarded"] == (
        4.0,
        "hours × gpus of run.toml",
    )
    assert costs_of_a_rollback()["GPU hours discarded"] == (None, "")
