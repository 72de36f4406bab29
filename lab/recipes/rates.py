"""Trainings whose learning rate or arithmetic is at fault."""

from __future__ import annotations

from lab.faults import Fault, Kind, Schedule
from lab.recipe import Recipe, one_attempt

RATES: tuple[Recipe, ...] = (
    Recipe(
        "lr-kick",
        "A kick by the learning rate",
        "learning rate times 100 for 3 steps from step 500",
        "Three steps with a hundredfold learning rate throw the model out of its valley. It comes back far, "
        "but not to the course it was on.",
        "csv",
        one_attempt(900),
        Schedule(3e-3, 900, "constant"),
        (Fault(Kind.LR_KICK, 500, 3, 100),),
        ("learning rate",),
        known="The learning rate was raised: by hand, by a schedule that ended, by a resume",
    ),
    Recipe(
        "qk-norm",
        "Attention logits under normalisation",
        "none: as attention-logits, with queries and keys normalised",
        "The same high learning rate as in the run whose attention logits grow, and one change: queries and "
        "keys are normalised before they meet. The largest logit stays below a hundred.",
        "events",
        one_attempt(700),
        Schedule(3e-2, 700, "constant"),
        tags=("attention", "learning rate", "control"),
        qk_norm=True,
        logs_attention=True,
    ),
    Recipe(
        "lr-too-high",
        "Divergence under a rising learning rate",
        "no layer normalisation; learning rate 1 % higher each step from step 400",
        "A network without layer normalisation under a learning rate that keeps rising, as in a range test "
        "that nobody stopped: the loss turns round and never comes back.",
        "state",
        one_attempt(900),
        Schedule(1e-3, 900, "ramp", turn=400),
        tags=("learning rate",),
        layer_norm=False,
        clip=1e9,
        known="Learning rate too high",
    ),
    Recipe(
        "loss-scale",
        "A loss scale that collapses",
        "no layer normalisation; learning rate 1 % higher each step from step 350, under fp16 loss scaling",
        "The divergence of a rising learning rate, under the dynamic loss scaling of fp16 (the overflow is "
        "tested on gradients that are really fp32). Gradients overflow step after step, each of these steps "
        "is skipped and halves the scale, until nothing that is left of it can be trained with.",
        "jsonl",
        one_attempt(760),
        Schedule(1e-3, 760, "ramp", turn=350),
        tags=("fp16", "learning rate"),
        layer_norm=False,
        clip=1e9,
        fp16=True,
        known="Learning rate too high",
    ),
    Recipe(
        "attention-logits",
        "Attention logits that grow without bound",
        "learning rate 0.03 without normalisation of queries and keys",
        "A high learning rate and nothing that bounds queries and keys: the largest attention logit grows "
        "from 0.1 to more than a thousand. No divergence and no NaN, so the loss alone shows nothing.",
        "events",
        one_attempt(700),
        Schedule(3e-2, 700, "constant"),
        tags=("attention", "learning rate"),
        logs_attention=True,
        known="Learning rate too high for attention without normalised queries and keys",
    ),
    Recipe(
        "nan",
        "One NaN",
        "the loss is NaN at step 420, as after a division of zero by zero in a mask",
        "One batch gives NaN, the optimizer writes it into every weight, and all that follows is NaN.",
        "jsonl",
        one_attempt(600),
        Schedule(3e-3, 600, "constant"),
        (Fault(Kind.NAN, 420),),
        ("NaN",),
        known="Mean over nothing: every label of the batch is masked",
    ),
    Recipe(
        "decay-drop",
        "The drop of a decaying learning rate",
        "none: constant learning rate, then linearly to zero from step 800",
        "A constant learning rate that falls to zero over the last fifth of the steps. The loss drops with "
        "it, and the validation loss as well.",
        "csv",
        one_attempt(1000),
        Schedule(1.5e-2, 1000, "decay"),
        tags=("learning rate",),
        known="The schedule",
    ),
    Recipe(
        "schedule-too-short",
        "A schedule that ends before the training does",
        "the learning rate is zero from step 450 on: the schedule was given half of the steps there are",
        "The schedule counts to half of the steps that are trained, as when it counts samples of one node "
        "and the trainer those of two. The learning rate falls to zero half way, and with it all progress.",
        "csv",
        one_attempt(900),
        Schedule(6e-3, 450, "decay"),
        tags=("learning rate",),
        known="The schedule ended before the training did: the rate is zero, or almost zero",
    ),
)
