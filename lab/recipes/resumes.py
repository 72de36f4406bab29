"""Trainings of several attempts: what a resume brings back, and what it does not."""

from __future__ import annotations

from lab.faults import Fault, Kind, Schedule
from lab.recipe import Attempt, Recipe

RESUMES: tuple[Recipe, ...] = (
    Recipe(
        "clean-resumes",
        "Crashes, rollbacks, and nothing lost",
        "none: two crashes, each resumed from a checkpoint 40 and 60 steps back with everything restored",
        "Two crashes cost 40 and 60 steps. Everything comes back, so the overtaken points and their "
        "repetition agree, and the curve shows no trace of a resume.",
        "events",
        (Attempt(0, 400), Attempt(360, 700), Attempt(640, 1000)),
        Schedule(2e-3, 1000),
        tags=("control", "resume", "rollback"),
    ),
    Recipe(
        "lost-nodes",
        "A GPU lost, a link down, a preemption: four jobs for one training",
        "none in the training: four jobs, resumed 40 and 60 steps back and where the third one was "
        "preempted, with everything restored",
        "A real training in four Slurm jobs. A GPU falls off the bus and takes 40 steps with it, a link goes "
        "down and takes 60, a preemption takes none. The losses are those of the training; the clock, the "
        "hosts, and what driver, NCCL and Slurm write around the end of each job are staged.",
        "jobs",
        (Attempt(0, 400), Attempt(360, 620), Attempt(560, 800), Attempt(800, 1000)),
        Schedule(2e-3, 1000),
        tags=("control", "faults of machines", "resume", "rollback"),
        seed=5,
    ),
    Recipe(
        "repeat-data",
        "A loader that starts its shard again on every resume",
        "after the resumes at 400 and 560 the loader serves the same 16 steps of data ten times",
        "Three attempts. After each resume the loader gives the same 16 steps of data again, ten times: "
        "the loss sinks below what it honestly is, and jumps back when new data arrives. The first resume "
        "was after a crash; the second was a rollback to just before the jump, and shows it once more.",
        "events",
        (Attempt(0, 420), Attempt(400, 660), Attempt(560, 860)),
        Schedule(3e-3, 860, "constant"),
        (Fault(Kind.REPEAT, 400, 160, 16), Fault(Kind.REPEAT, 560, 160, 16)),
        ("data loader", "resume", "rollback"),
        width=128,
        known="The sampler starts at the beginning again: the seed was restored, but not the data position",
    ),
    Recipe(
        "ratio-skew",
        "A mixture that is off after every resume",
        "share of sums 0.5 times 0.1 at the resumes at steps 450 and 700, drifting back over 30 steps",
        "Two sources, story and sums, half each. The loader comes back from a resume with far too few of the "
        "easy sums, and its shuffle buffer needs some time to mix again: the total loss rises and settles, "
        "while the loss of each source goes on as if nothing had been.",
        "jsonl",
        (Attempt(0, 450), Attempt(450, 700), Attempt(700, 950)),
        Schedule(3e-3, 950, "constant"),
        (Fault(Kind.RATIO_SKEW, 450, 30, 0.1), Fault(Kind.RATIO_SKEW, 700, 30, 0.1)),
        ("data loader", "resume", "per-source losses"),
        sums_share=0.5,
        batch=32,
        known="A shuffle buffer that starts empty or in shard order and needs a while to mix",
    ),
    Recipe(
        "optimizer-lost",
        "An optimizer lost in a resume",
        "resumes at steps 480 and 740 begin with zero Adam moments",
        "Weights and schedule come back, the moments of Adam do not. With a high learning rate and a slow "
        "second moment the first updates are several times too large.",
        "csv",
        (Attempt(0, 480), Attempt(480, 740), Attempt(740, 1000)),
        Schedule(1.5e-2, 1000, "constant"),
        (Fault(Kind.OPTIMIZER_LOST, 480), Fault(Kind.OPTIMIZER_LOST, 740)),
        ("resume", "optimizer"),
        batch=32,
        beta2=0.999,
        known="Adam's moments were not loaded, or not all",
    ),
    Recipe(
        "schedule-lost",
        "A schedule that starts again",
        "the resume at step 600 begins the learning-rate schedule from its first step",
        "A resume that does not restore the scheduler: the learning rate warms up again to its peak instead "
        "of going on along its cosine. The loss stops falling; the learning rate is the proof.",
        "csv",
        (Attempt(0, 600), Attempt(600, 1000)),
        Schedule(6e-3, 1000, warmup=60),
        (Fault(Kind.SCHEDULE_LOST, 600),),
        ("resume", "learning rate"),
        known="The state of the scheduler was not loaded, and only a warning said so",
    ),
    Recipe(
        "weights-lost",
        "A resume from nothing",
        "the resume at step 500 begins with new weights and a new optimizer",
        "The checkpoint was not found and nobody noticed: the step count goes on, the model is new.",
        "jsonl",
        (Attempt(0, 500), Attempt(500, 900)),
        Schedule(3e-3, 900, "constant"),
        (Fault(Kind.WEIGHTS_LOST, 500),),
        ("resume",),
        known="The checkpoint was not found or not loaded, and the run began with new weights",
    ),
)
