"""The numbers that a pattern's page quotes of a specimen are those of the specimen's log."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from chronicle.metrics.values import count
from chronicle.model import Series
from chronicle.readers import read

ROOT = Path(__file__).parents[2]


@cache
def logged(run: str) -> list[dict[str, Series]]:
    """The series of each attempt of a specimen, in the order of the log."""
    return [dict(attempt.series) for attempt in read(ROOT / "runs" / run)]


def series(run: str, metric: str, attempt: int = 0) -> Series:
    return logged(run)[attempt][metric]


def at(run: str, metric: str, step: int) -> float:
    curve = series(run, metric)
    return float(curve.values[np.searchsorted(curve.steps, step)])


def first_step(run: str, metric: str, least: float) -> str:
    curve = series(run, metric)
    return count(int(curve.steps[np.flatnonzero(curve.values >= least)[0]]))


def falls(run: str, metric: str) -> list[int]:
    curve = series(run, metric)
    return [int(step) for step in curve.steps[1:][np.diff(curve.values) < 0]]


def start(metric: str, attempt: int) -> float:
    """How far the second resume of the ratio run begins from the level before it: medians of 8 samples."""
    before, after = (series("lab-ratio-skew", metric, k).values for k in (attempt - 1, attempt))
    return float(np.median(after[:8]) - np.median(before[-30:]))


def test_loss_scale() -> None:
    run = "lab-loss-scale"
    before, after = (at(run, "train_loss", step) for step in (653, 654))
    assert_said("bad/loss-scale-collapse", "halves at step 654", f"from {before:.2f} to {after:.2f}")
    assert {438, 603, 654} <= set(falls(run, "loss_scale"))
    assert_said("bad/loss-scale-collapse", "halvings at 438 and 603")


def test_attention_logits() -> None:
    tall, low = (
        series(run, "max_attention_logit").values.max() for run in ("lab-attention-logits", "lab-qk-norm")
    )
    assert_said("worrying/attention-logit-growth", f"{count(int(tall))} in `lab-attention-logits`")
    assert_said("worrying/attention-logit-growth", f"{int(low)} in `lab-qk-norm`")
    ends = [logged(run)[0]["train/loss"].values[-1] for run in ("lab-attention-logits", "lab-qk-norm")]
    assert 45 < tall / low < 55 and [round(float(end), 1) for end in ends] == [1.4, 1.4]


def test_entropy_collapse() -> None:
    """Within 30 steps nothing else is tried; the rest is mostly without a gradient."""
    entropy, gradient = (series("lab-entropy-collapse", m).values for m in ("policy/entropy", "grad_norm"))
    assert entropy[30:].max() < 0.05 * entropy[0] and np.mean(gradient[30:] == 0) > 0.8
    assert_said("worrying/entropy-collapse", f"Within 30 steps of {count(len(entropy))} nothing else")
    assert series("lab-entropy-kept", "policy/entropy").values.min() > 0.4


def test_length_explosion() -> None:
    run, metric = "lab-length-explosion", "completions/mean_length"
    length, reward = series(run, metric).values, series(run, "reward").values
    first, last = np.median(length[:100]), np.median(length[-100:])
    kept = series("lab-length-kept", metric).values
    assert all(20.5 < np.median(part) < 21.7 for part in np.array_split(kept, 10))
    assert 0.44 <= reward[200:300].mean() <= 0.46 and reward[200:].std() < 0.03
    assert_said("worrying/length-explosion", f"from {first:.0f} tokens to {last:.0f}", "stays near 21")


def test_reward_hacking() -> None:
    metrics = ("objective/reward", "eval/judge_score")
    reward, score = (series("lab-reward-hacked", m).values for m in metrics)
    ends = [float(v[-20:].mean()) for v in (reward, score)]
    said = f"score rises with it, from {score[:20].mean():.2f} to {score[140:160].mean():.2f}"
    assert_said(
        "worrying/reward-hacking", said, f"ends at {ends[0]:.1f}, while the judge gives {ends[1]:.2f}"
    )
    held = [float(series("lab-reward-anchored", m).values[-20:].mean()) for m in metrics]
    said = f"the reward ends at {held[0]:.2f}, and the judge's score stays at {held[1]:.2f}"
    assert_said("worrying/reward-hacking", said)


def test_kl_blow_up() -> None:
    reward, divergence = (series("lab-kl-blow-up", m).values for m in ("reward", "objective/kl"))
    stood = divergence[200:900]
    assert stood.min() > 1.75 and stood.max() < 2.2 and round(float(reward[200:900].mean()), 2) == 0.63
    far, lost = (np.median(values[-37:]) for values in (divergence, reward))  # as the sentence of the run
    assert_said("bad/kl-blow-up", f"a median of {far:.0f}, and the reward one of {lost:.2f}")
    assert round(float(series("lab-kl-kept", "objective/kl").values[200:].mean())) == 2
    assert_said("bad/kl-blow-up", f"near\n{series('lab-kl-kept', 'reward').values[200:].mean():.2f}")


def test_clip_saturation() -> None:
    always, seldom = ("lab-clip-saturation", "lab-clip-seldom")
    usual = np.median(series(always, "grad_norm").values)
    assert (series(always, "grad_norm").values > 0.02).all()
    assert (series(seldom, "grad_norm").values > 0.5).sum() == 5
    first, soon = (int(np.argmax(series(run, "loss").values < 0.05)) for run in (always, seldom))
    said = f"the usual norm is {usual:.2f}", f"below 0.05 at step {first}", f"cut at 0.5, at step {soon}"
    assert_said("unexpected/clip-saturation", *said)


def test_router_collapse() -> None:
    """After 50 steps two experts get everything; with an auxiliary loss the loss ends lower."""
    loads = np.array([series("lab-router-collapse", f"moe/expert_{k}/load").values[50:] for k in range(8)])
    assert (loads.mean(1) > 0.001).sum() == 2 and f"{8 * np.median(loads.max(0)):.0f}" == "6"
    fair = np.array([series("lab-router-balanced", f"moe/expert_{k}/load").values[200:] for k in range(8)])
    assert (8 * fair.mean(1)).min() > 0.5
    ends = [float(series(f"lab-router-{n}", "loss").values[-100:].mean()) for n in ("collapse", "balanced")]
    assert_said("worrying/router-collapse", f"ends at {ends[0]:.2f}", f"the loss ends at {ends[1]:.2f}")


def test_grokking() -> None:
    assert_said(
        "unexpected/grokking",
        f"right at step {first_step('lab-grokking', 'train_accuracy', 1)}",
        f"passes 50 % at step {first_step('lab-grokking', 'val_accuracy', 0.5)} and 95 % at step "
        f"{first_step('lab-grokking', 'val_accuracy', 0.95)}",
    )


def test_ratio_skew() -> None:
    ratio = [series("lab-ratio-skew", "ratio/sums", k).values for k in (0, 2)]
    assert_said(
        "worrying/resume-ratio-skew",
        f"from {np.median(ratio[0][-30:]):.1f} to {np.median(ratio[1][:8]):.2f}",
        f"begins {start('train_loss', 2):.2f} above",
    )
    largest = max(abs(start(f"loss/{source}", 2)) for source in ("story", "sums"))
    assert largest <= 0.11


def test_repeat_data() -> None:
    loss, kept = (series("lab-repeat-data", f"{kind}/loss", 1) for kind in ("train", "val"))
    passes = [loss.values[16 * k : 16 * k + 16] for k in range(11)]
    gone, step = passes[0].mean() - passes[9].mean(), passes[10].mean() - passes[9].mean()
    said = f"took {gone:.2f} nats off their loss, and the step up at the end was {step:.2f}"
    rose = kept.values[kept.steps == 550][0] - kept.values[kept.steps == 400][0]
    assert_said("unexpected/repeat-data", said, f"it rose by {rose:.2f} meanwhile")
    noise = [
        np.concatenate([values - values.mean() for values in part]) for part in (passes[:9], passes[1:10])
    ]
    assert_said("unexpected/repeat-data", f"to {100 * np.corrcoef(*noise)[0, 1]:.0f} %")


def test_schedule_lost() -> None:
    loss = series("lab-schedule-lost", "loss", 1).values
    assert np.median(loss[200:220]) >= np.median(loss[:20])
    assert_said("worrying/lr-not-restored", "200 steps after the resume the loss is no lower than at it")


def test_optimizer_lost() -> None:
    first, second = (series("lab-optimizer-lost", "loss", k).values for k in (1, 2))
    before = [float(np.median(series("lab-optimizer-lost", "loss", k).values[-12:])) for k in (0, 1)]
    said = f"from {before[0]:.2f} to {first.max():.2f}, and later from {before[1]:.2f} to {second.max():.2f}"
    assert_said("worrying/resume-spike", said)


def test_garbage_spike() -> None:
    run = "lab-garbage-spike"
    loss = f"from {at(run, 'train/loss', 599):.2f} to {at(run, 'train/loss', 600):.1f}"
    norm = f"from {at(run, 'train/grad_norm', 599):.2f} to {at(run, 'train/grad_norm', 600):.0f}"
    assert_said("worrying/grad-norm-precursor", loss, norm)


def test_stalled_loader() -> None:
    times = series("lab-stalled-loader", "train_loss").times
    gaps = np.diff(times)
    longest = int(np.argmax(gaps))
    said = f"Between steps {longest} and {longest + 1} lie {count(float(gaps[longest]))} s"
    assert_said("worrying/hang", f"simulated clock of {np.median(gaps):.0f} s a step", said)


def assert_said(page: str, *words: str) -> None:
    text = " ".join((ROOT / "gallery" / f"{page}.md").read_text("utf-8").split())
    assert [word for word in words if " ".join(word.split()) not in text] == []


def test_no_page_quotes_a_training_of_ours_without_its_name() -> None:
    pages = sorted((ROOT / "gallery").glob("*/*.md"))
    assert len(pages) >= 30
    nameless = (
        *("our small run", "our own small run", "our simulated run", "our small model", "model of ours"),
        *("we trained", "we kicked"),
    )
    bad = [p.name for p in pages for words in nameless if words in p.read_text("utf-8").lower()]
    assert bad == []
