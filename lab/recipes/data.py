"""Trainings whose data or log is at fault, or nothing is."""

from __future__ import annotations

from lab.faults import Fault, Kind, Schedule
from lab.recipe import Recipe, one_attempt

DATA: tuple[Recipe, ...] = (
    Recipe(
        "healthy",
        "A healthy tiny training",
        "none",
        "Nothing is wrong: warm-up, cosine schedule, clipping. The control of every other run of the lab.",
        "events",
        one_attempt(1000),
        Schedule(2e-3, 1000),
        tags=("control",),
    ),
    Recipe(
        "garbage-spike",
        "Ten batches of garbage",
        "random bytes instead of text for 10 steps from step 600",
        "Ten batches of random bytes. Loss and gradient norm jump in the same step, since the cause is the "
        "data and not the model, and are back within some tens of steps; the validation loss is unharmed.",
        "events",
        one_attempt(1000),
        Schedule(3e-3, 1000, "constant"),
        (Fault(Kind.GARBAGE, 600, 10),),
        ("bad data",),
        known="A pocket of bad data, such as a short sequence repeated over and over",
    ),
    Recipe(
        "one-source-garbage",
        "Garbage in one of two sources",
        "random bytes instead of the story, not of the sums, for 12 steps from step 550",
        "Half of every batch is story, half sums. For twelve steps the story is random bytes: its loss and "
        "the total jump; the loss of the sums rises far less, by what the bad updates spill over.",
        "jsonl",
        one_attempt(900),
        Schedule(3e-3, 900, "constant"),
        (Fault(Kind.GARBAGE, 550, 12, source="story"),),
        ("bad data", "per-source losses"),
        sums_share=0.5,
        batch=32,
        known="If one source spikes alone: a pocket of bad samples in it",
    ),
    Recipe(
        "overfitting",
        "Too little text",
        "400 rows of text in all, served 40 times",
        "All the text there is are 26 000 bytes. The training loss falls on and on; the validation loss "
        "turns round after a few epochs.",
        "state",
        one_attempt(1000),
        Schedule(3e-3, 1000, "constant"),
        tags=("small data",),
        unique_rows=400,
        width=128,
        known="Too many epochs over too few samples",
    ),
    Recipe(
        "batch-ramp",
        "A batch that grows",
        "none: 4, 8, 16, 32 rows a batch from steps 0, 250, 500 and 750",
        "The batch doubles three times. The noise of the loss shrinks with each step of the ramp, from 0.05 "
        "to 0.025 nats, and its level goes on.",
        "events",
        one_attempt(1000),
        Schedule(2e-3, 1000, "constant"),
        tags=("batch size",),
        batch_ramp=((0, 4), (250, 8), (500, 16), (750, 32)),
        known="The plan: begin with a small batch and grow to the full one",
    ),
    Recipe(
        "rounded-log",
        "A loss logged with one decimal",
        "the loss is rounded to one decimal before it is logged",
        "A healthy training whose log keeps one decimal of each loss, as the postfix of a progress bar does: "
        "the curve is a staircase, and its noise is gone with its detail.",
        "csv",
        one_attempt(1200),
        Schedule(3e-3, 1200),
        tags=("logging",),
        logs_decimals=1,
        known="The loss is rounded when it is printed",
    ),
    Recipe(
        "stale-log",
        "A logged loss that stands still",
        "the loss of step 499 is logged again at steps 500 to 639; the training goes on",
        "A fault of logging: for 140 steps the log repeats one loss to the last digit, while gradient norm "
        "and validation loss go on. The model is healthy; its log is not.",
        "events",
        one_attempt(900),
        Schedule(2e-3, 900),
        (Fault(Kind.STALE_LOG, 500, 140),),
        ("logging",),
        known="The metric is not updated: wrong variable, cached value, evaluation that no longer runs",
    ),
    Recipe(
        "slow-node",
        "Throughput that drops and stays down",
        "two more forward passes a step than needed, from step 500 on",
        "From step 500 each step does more work than it has to, as beside a bad neighbour on the machine: "
        "fewer tokens a second of processor time, the same loss.",
        "jsonl",
        one_attempt(900),
        Schedule(2e-3, 900),
        (Fault(Kind.SLOW, 500, 400, 2),),
        ("throughput",),
        logs_throughput=True,
        known="One GPU or node became slower",
    ),
    Recipe(
        "stalled-loader",
        "A loader that stands still for forty minutes",
        "the loader does not answer for 2 400 s before step 420, by the simulated clock of the log",
        "A real training whose log has a simulated clock, 6 s a step, so that it can be made again to the "
        "last digit. Before step 420 the loader does not answer for forty minutes. Loss, gradient norm and "
        "rate know nothing of it: over steps the curve is whole, and only the time stamps tell.",
        "jsonl",
        one_attempt(800),
        Schedule(2e-3, 800),
        (Fault(Kind.HANG, 420, 1, 2400),),
        ("hang", "data loader", "simulated clock"),
        step_seconds=6.0,
        known="Deadlock in the data loader's workers",
    ),
)
