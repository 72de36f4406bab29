"""The trainings of the lab: what each is, which fault is injected, and when. NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass

from lab.faults import Fault, Kind, Schedule


@dataclass(frozen=True)
class Attempt:
    """One process of a training: steps from ``start`` to before ``stop``."""

    start: int
    stop: int


@dataclass(frozen=True)
class Recipe:
    """One training. ``cause`` says what is wrong with it, if anything.

    ``batch`` counts rows of 64 bytes; ``batch_ramp`` is ((from step, rows), ...). ``unique_rows`` are all
    the rows there are to train on, 0: enough for every row to be served once. ``sums_share`` is the share of
    rows that are sums, not story.
    """

    name: str
    title: str
    cause: str
    description: str
    format: str
    attempts: tuple[Attempt, ...]
    schedule: Schedule
    faults: tuple[Fault, ...] = ()
    tags: tuple[str, ...] = ()
    seed: int = 1
    width: int = 64
    layers: int = 2
    batch: int = 16
    batch_ramp: tuple[tuple[int, int], ...] = ()
    unique_rows: int = 0
    sums_share: float = 0.0
    clip: float = 1.0
    beta2: float = 0.95
    weight_decay: float = 0.0
    fp16: bool = False
    qk_norm: bool = False
    layer_norm: bool = True
    logs_attention: bool = False
    logs_throughput: bool = False
    logs_bfloat16: bool = False

    @property
    def steps(self) -> int:
        """Steps from the first to the last."""
        return max(attempt.stop for attempt in self.attempts)

    @property
    def rows(self) -> int:
        """Rows of text that the training reads at most."""
        return sum(self.batch_at(step) for step in range(self.steps))

    def batch_at(self, step: int) -> int:
        """Rows in the batch of a step."""
        return next((rows for start, rows in reversed(self.batch_ramp) if step >= start), self.batch)


def _one(steps: int) -> tuple[Attempt, ...]:
    return (Attempt(0, steps),)


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        "healthy",
        "A healthy tiny training",
        "none",
        "Nothing is wrong: warm-up, cosine schedule, clipping. The control of every other run of the lab.",
        "events",
        _one(1000),
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
        _one(1000),
        Schedule(3e-3, 1000, "constant"),
        (Fault(Kind.GARBAGE, 600, 10),),
        ("bad data",),
    ),
    Recipe(
        "lr-kick",
        "A kick by the learning rate",
        "learning rate times 100 for 3 steps from step 500",
        "Three steps with a hundredfold learning rate throw the model out of its valley. It comes back far, "
        "but not to the course it was on.",
        "csv",
        _one(900),
        Schedule(3e-3, 900, "constant"),
        (Fault(Kind.LR_KICK, 500, 3, 100),),
        ("learning rate",),
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
    ),
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
        "one-source-garbage",
        "Garbage in one source only",
        "random bytes instead of the story, not of the sums, for 12 steps from step 550",
        "Half of every batch is story, half sums. For twelve steps the story is random bytes: its loss and "
        "the total jump, the loss of the sums moves only by what the bad updates spill over.",
        "jsonl",
        _one(900),
        Schedule(3e-3, 900, "constant"),
        (Fault(Kind.GARBAGE, 550, 12, source="story"),),
        ("bad data", "per-source losses"),
        sums_share=0.5,
        batch=32,
    ),
    Recipe(
        "loss-scale",
        "A loss scale that collapses",
        "no layer normalisation; learning rate 1 % higher each step from step 350, under fp16 loss scaling",
        "The divergence of a rising learning rate, under the dynamic loss scaling of fp16 (the overflow is "
        "tested on gradients that are really fp32). Gradients overflow step after step, each of these steps "
        "is skipped and halves the scale, until nothing that is left of it can be trained with.",
        "jsonl",
        _one(900),
        Schedule(1e-3, 900, "ramp", turn=350),
        tags=("fp16", "learning rate"),
        layer_norm=False,
        clip=1e9,
        fp16=True,
    ),
    Recipe(
        "attention-logits",
        "Attention logits that grow without bound",
        "learning rate 0.03 without normalisation of queries and keys",
        "A high learning rate and nothing that bounds queries and keys: the largest attention logit grows "
        "from 0.1 to more than a thousand. No divergence and no NaN, so the loss alone shows nothing.",
        "events",
        _one(700),
        Schedule(3e-2, 700, "constant"),
        tags=("attention", "learning rate"),
        logs_attention=True,
    ),
    Recipe(
        "lr-too-high",
        "Divergence under a rising learning rate",
        "no layer normalisation; learning rate 1 % higher each step from step 400",
        "A network without layer normalisation under a learning rate that keeps rising, as in a range test "
        "that nobody stopped: the loss turns round and never comes back.",
        "state",
        _one(900),
        Schedule(1e-3, 900, "ramp", turn=400),
        tags=("learning rate",),
        layer_norm=False,
        clip=1e9,
    ),
    Recipe(
        "nan",
        "One NaN",
        "the loss is NaN at step 420, as after a division of zero by zero in a mask",
        "One batch gives NaN, the optimizer writes it into every weight, and all that follows is NaN.",
        "jsonl",
        _one(600),
        Schedule(3e-3, 600, "constant"),
        (Fault(Kind.NAN, 420),),
        ("NaN",),
    ),
    Recipe(
        "overfitting",
        "Too little text",
        "400 rows of text in all, served 40 times",
        "All the text there is are 26,000 bytes. The training loss falls on and on; the validation loss "
        "turns round after a few epochs.",
        "state",
        _one(1000),
        Schedule(3e-3, 1000, "constant"),
        tags=("small data",),
        unique_rows=400,
        width=128,
    ),
    Recipe(
        "decay-drop",
        "The drop of a decaying learning rate",
        "none: constant learning rate, then linearly to zero from step 800",
        "A constant learning rate that falls to zero over the last fifth of the steps. The loss drops with "
        "it, and the validation loss as well.",
        "csv",
        _one(1000),
        Schedule(1.5e-2, 1000, "decay"),
        tags=("learning rate",),
    ),
    Recipe(
        "batch-ramp",
        "A batch that grows",
        "none: 4, 8, 16, 32 rows a batch from steps 0, 250, 500 and 750",
        "The batch doubles three times. The noise of the loss shrinks with each step of the ramp, from 0.05 "
        "to 0.025 nats, and its level goes on.",
        "events",
        _one(1000),
        Schedule(2e-3, 1000, "constant"),
        tags=("batch size",),
        batch_ramp=((0, 4), (250, 8), (500, 16), (750, 32)),
    ),
    Recipe(
        "quantised-log",
        "A loss logged in bfloat16",
        "the loss is rounded to bfloat16 before it is logged",
        "A healthy training whose log keeps 8 bits of each loss: above 2 nats neighbouring values are 1/64 "
        "apart.",
        "csv",
        _one(1000),
        Schedule(3e-3, 1000),
        tags=("logging",),
        batch=32,
        logs_bfloat16=True,
    ),
    Recipe(
        "slow-node",
        "Throughput that drops and stays down",
        "two more forward passes a step than needed, from step 500 on",
        "From step 500 each step does more work than it has to, as beside a bad neighbour on the machine: "
        "fewer tokens a second, the same loss.",
        "jsonl",
        _one(900),
        Schedule(2e-3, 900),
        (Fault(Kind.SLOW, 500, 400, 2),),
        ("throughput",),
        logs_throughput=True,
    ),
)

BY_NAME = {recipe.name: recipe for recipe in RECIPES}
