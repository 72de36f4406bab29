"""Judges of whole courses and of other series: every grown training is asked by them, healthy or not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lab.faults import Kind
from lab.grow.facts import Case, finite
from lab.grow.measure import halvings, overfits

QUANTISED, KNOWN_BY_HEART, UNDERSTOOD = 0.05, 0.99, 0.9
LOGIT_LIMIT, DRIFT = 100.0, 5.0


def broken(case: Case) -> None:
    """A loss that runs into NaN or infinity though nothing wrote it there."""
    if any(span.kind in (Kind.NAN, Kind.INF, Kind.ZERO_LOG) for span in case.spans):
        return
    for log in case.logs:
        lost = np.flatnonzero(~np.isfinite(log.series("loss")))
        if len(lost):
            first, last = float(log.steps[lost[0]]), float(log.steps[lost[-1]])
            names = ("divergence-no-spike", "divergence-after-spike", "spike-no-full-recovery")
            end = None if last == log.steps[-1] else last
            case.event(log, "nan-inf", first, *names, end_step=end, tolerance_steps=4 * case.gap)
            case.said.append(f"No number from step {first:.0f} on.")
            if "failed-run" not in case.required:
                case.require("nan-inf")


def overfitting(case: Case) -> None:
    """The validation loss turned while the training loss went on falling."""
    steps, val = case.logs[-1].where("val_loss")
    low = overfits(steps, val)
    if low is None:
        return
    case.allowed.add("overfitting")
    loss = finite(case.logs[-1].series("loss"))
    fell = np.log(np.median(loss[len(loss) // 2 :][:32]) / np.median(loss[-32:]))
    if case.recipe.aim != "overfitting" or fell < 0.02:
        return
    case.measured["height_log"] = float(np.log(val[-1] / val[low]))
    case.said.append(
        f"The validation loss is lowest, {val[low]:.3f}, at step {steps[low]:.0f} and ends at {val[-1]:.3f}."
    )
    wide = max(0.5 * steps[low], 0.1 * steps[-1])
    case.event(case.logs[-1], "overfitting", steps[low], metric="val_loss", tolerance_steps=float(wide))
    case.require("overfitting")


def quantised(case: Case) -> None:
    """Fewer distinct values than one in twenty points."""
    loss = finite(case.logs[0].series("loss"))
    share = len(np.unique(loss)) / max(len(loss), 1)
    if case.recipe.aim == "quantised-loss":
        case.measured["distinct_share"] = share
        case.said.append(f"{len(np.unique(loss))} values in {len(loss)} points.")
        if share < QUANTISED:
            case.require("quantised-loss")


def attention(case: Case) -> None:
    """The largest attention logit, if it was logged."""
    _, logit = case.logs[0].where("max_attention_logit")
    if len(logit) < 40:
        return
    middle, end = np.median(logit[len(logit) // 2 :][:20]), np.median(logit[-20:])
    case.measured["attention_logit"] = float(end)
    case.said.append(f"The largest attention logit is {middle:.0f} half way and {end:.0f} at the end.")
    if end > LOGIT_LIMIT / 2:
        case.allowed.add("attention-logit-growth")
    if end > 1.2 * LOGIT_LIMIT and end > 1.8 * middle:
        case.require("attention-logit-growth")


def output(case: Case) -> None:
    """log Z of the output, if it was logged: away from its level after the start, and still going."""
    _, log_z = case.logs[0].where("log_z")
    if len(log_z) < 40:
        return
    early, end = np.median(log_z[len(log_z) // 5 :][:20]), np.median(log_z[-20:])
    middle = np.median(log_z[len(log_z) // 2 :][:20])
    case.measured["log_z_moved"] = float(end - early)
    case.said.append(f"log Z moves from {early:.2f} to {end:.2f}.")
    if abs(end - early) >= DRIFT / 2:
        case.allowed.add("output-logit-drift")
    if (
        abs(end - early) >= 1.2 * DRIFT
        and abs(end - middle) >= 0.25 * abs(end - early)
        and abs(end - early) > 0.6 * abs(early)
    ):
        case.require("output-logit-drift")


def understood(case: Case) -> None:
    """Sudden improvement: of the held-out score long after the training score, or of the training loss."""
    if case.recipe.aim != "grokking":
        return
    log = case.logs[0]
    steps, train = log.where("train_accuracy")
    if len(steps):
        held, val = log.where("val_accuracy")
        known = steps[train >= KNOWN_BY_HEART]
        found = held[val >= UNDERSTOOD]
        if len(known) and len(found) and found[0] >= 5 * known[0]:
            start = float(held[np.flatnonzero(val < 0.5)[-1]])
            case.said.append(f"Known by heart at step {known[0]:.0f}, understood at {found[0]:.0f}.")
            begin = float(held[np.flatnonzero(val < 0.2)[-1]])
            wide = max(0.3 * start, 2.0 * float(found[0] - begin))
            case.event(log, "grokking", start, metric="val_accuracy", tolerance_steps=wide)
            case.require("grokking")
            case.allowed |= {"overfitting", "plateau"}
        return
    loss = log.series("loss")
    smooth = np.convolve(loss, np.ones(9) / 9, "same")[4:-4]
    top, low = np.median(smooth[10:60]), np.median(smooth[-50:])
    left, half = (int(np.argmax(smooth < low + f * (top - low))) for f in (0.95, 0.5))
    at, width = log.steps[left + 4], log.steps[half + 4] - log.steps[left + 4]
    fall = max(
        np.log(smooth[i] / smooth[i + max(1, int(0.03 * i))])
        for i in range(left, len(smooth) // 2 + left // 2)
    )
    case.measured["height_log"] = float(np.log(top / max(low, 1e-6)))
    case.said.append(
        f"The loss leaves {top:.2f} at step {at:.0f} and is half way to {low:.2f} after {width:.0f} steps."
    )
    case.measured["fall_in_3_percent_of_the_steps"] = float(fall)
    sudden = fall >= 0.12 and left > 0.08 * len(loss)
    wide = float(max(3 * width, 0.15 * at))
    case.event(log, "grokking", at, "level-shift", sure=sudden, tolerance_steps=wide)
    if sudden:
        case.require("grokking")


def decays(case: Case) -> None:
    """A drop of the loss that a falling learning rate explains."""
    plan = case.recipe.run
    if case.recipe.aim != "lr-decay-drop":
        return
    turn = plan.turn if plan.schedule == "stairs" else 0.8 * plan.steps
    log = case.logs[0]
    loss, i = log.series("loss"), log.index(turn)
    k = min(64, i // 3, (len(loss) - i) // 2)
    before, earlier, end = loss[i - k : i], loss[i - 2 * k : i - k], loss[-k:]
    drop = float(np.log(before.mean() / end.mean()))
    usual = float(np.log(earlier.mean() / before.mean())) * (len(loss) - i) / k
    clear = drop / (case.noise * (2 / k) ** 0.5)
    case.measured |= {"height_log": drop, "height_scales": drop / case.noise}
    case.said.append(
        f"The rate falls at step {turn:.0f}, and the loss by {drop:.3f} log units; {usual:.3f} were usual."
    )
    if clear >= 8 and drop >= 0.03 and drop > 2 * usual:
        case.require("lr-decay-drop")
        case.require("near-perfect", "noisy-healthy")


def ramps(case: Case) -> None:
    """A batch that grows, and a noise that falls with it."""
    _, batch = case.logs[0].where("batch_size")
    if not len(batch) or batch[-1] < 1.5 * batch[0]:
        return
    y = np.log(case.logs[0].series("loss"))
    first, last = y[batch == batch[0]], y[batch == batch[-1]]
    fall = np.median(np.abs(np.diff(last))) / np.median(np.abs(np.diff(first[len(first) // 3 :])))
    case.measured["noise_ratio"] = float(fall)
    case.said.append(f"The noise at the largest batch is {fall:.2f} of that at the smallest.")
    if fall < 0.75:
        case.require("batch-ramp")
        case.require("near-perfect", "noisy-healthy")


def loss_scale(case: Case) -> None:
    """Whether the loss scale halved four times in fifty points; every fp16 training is asked."""
    steps, values = case.logs[0].where("loss_scale")
    at = halvings(values) if len(values) else None
    if at is not None:
        case.require("loss-scale-collapse")
        case.allowed |= {"grad-norm-precursor", "plateau", "nan-inf", "failed-run", "rising-spike-rate"}
        case.said.append(f"The loss scale halves four times within 50 points from step {steps[at]:.0f}.")
        wide = 25 * case.gap
        case.event(case.logs[0], "loss-scale-collapse", steps[at], metric="loss_scale", tolerance_steps=wide)


JUDGES: tuple[Callable[[Case], None], ...] = (
    broken,
    overfitting,
    quantised,
    attention,
    output,
    understood,
    decays,
    ramps,
    loss_scale,
)
