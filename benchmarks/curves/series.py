"""The series that a log holds beside the loss: each function adds one to a `Curve` and returns the curve.

What the series implies for the loss (a learning-rate step, an epoch edge, a skewed mixture) is put into the
loss as well; what happened in the loss before (``curve.lift``) shows in the series where it would in life.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.curves.curve import Curve
from chronicle.model import Role


def learning_rate(
    c: Curve,
    kind: str = "constant",
    peak: float = 3e-4,
    warmup: float = 0.02,
    drops: Sequence[float] = (),
    factor: float = 0.1,
    gain: float = 10.0,
) -> Curve:
    """``kind``: constant, cosine or wsd (linear from 80 %). ``drops``: places where it is multiplied by
    ``factor`` and the loss falls by ``gain`` noise scales within some ten samples (label: lr-decay-drop)."""
    x = np.arange(c.n) / c.n
    lr = peak * np.minimum(1.0, (x + 1 / c.n) / max(warmup, 1 / c.n))
    if kind == "cosine":
        lr *= 0.1 + 0.45 * (1 + np.cos(np.pi * x))
    if kind == "wsd":
        lr *= np.clip((1 - x) / 0.2, 0.0, 1.0)
    for at in drops:
        a = c.i(at)
        k = np.arange(c.n) - a
        lr[a:] *= factor
        c.lift -= gain * c.scale * np.where(k < 0, 0.0, 1 - np.exp(-np.maximum(k, 0) / 6.0))
        c.label("lr-decay-drop", a, None, a + 24, height_scales=-gain)
    return c.log("lr", Role.LEARNING_RATE, lr)


def epochs(c: Curve, count: int = 3, gain: float = 0.0) -> Curve:
    """The epoch as a fraction; at each whole epoch the loss steps down by ``gain`` noise scales."""
    x = np.arange(c.n) / c.n * count
    c.lift -= gain * c.scale * np.floor(x)
    return c.log("epoch", Role.EPOCH, x)


def batch_size(c: Curve, ramp: Sequence[float] = (0.2, 0.4, 0.6), gain: float = 3.0) -> Curve:
    """The batch doubles at each place: noise falls as 1/sqrt(batch), loss by ``gain``."""
    size = np.full(c.n, 64.0)
    for at in ramp:
        a = c.i(at)
        size[a:] *= 2
        c.spread[a:] /= np.sqrt(2)
        c.lift[a:] -= gain * c.scale
        c.label("batch-ramp", a, None, None, optional=at != ramp[0])
    return c.log("batch_size", Role.BATCH_SIZE, size)


def grad_norm(c: Curve, lead: int = 0, times: float = 6.0, alone: int = 0, noise: float = 0.12) -> Curve:
    """Rises ``times`` fold ``lead`` samples before every upward event of the loss so far; ``alone`` more rise
    without any event, late in the log (a base rate)."""
    y = np.log(0.6 + 2.0 * np.exp(-np.arange(c.n) / 60.0)) + c.own_noise(noise)
    starts = [int(np.searchsorted(c.steps, e.start_step)) - lead for e in c.events if e.height_scales > 0]
    for a in [*starts, *(c.i(0.85 + 0.12 * k / max(alone, 1)) for k in range(alone))]:
        y += np.log(times) * c.pulse(max(a, 0), 2, lead + 4)
    if lead:
        for e in [e for e in c.events if e.height_scales > 0]:
            a = int(np.searchsorted(c.steps, e.start_step))
            c.label("grad-norm-precursor", a - lead, a, a + 8, metric="grad_norm", height_scales=times)
    return c.log("grad_norm", Role.GRAD_NORM, np.exp(y))


def datasets(
    c: Curve, names: Sequence[str] = ("web", "code", "books"), spiking: Sequence[str] | None = None
) -> Curve:
    """One loss a data set. What was injected so far reaches the data sets in ``spiking`` (None: all); the
    total keeps their share of it. Each has half as much noise again as the total."""
    hit = list(names) if spiking is None else list(spiking)
    for k, name in enumerate(names):
        own = c.trend + (0.12 * k - 0.1) + (c.lift if name in hit else 0.0) + c.own_noise(1.5 * c.scale)
        c.log(f"loss/{name}", Role.DATASET_LOSS, np.exp(own), dataset=name)
    for e in [e for e in c.events if e.pattern.startswith("spike")]:
        c.events.append(
            type(e)("multi-dataset-spike", e.start_step, e.peak_step, e.end_step, "loss", e.height_scales)
        )
    c.lift = c.lift * (len(hit) / len(names))
    return c


def ratio(
    c: Curve, at: Sequence[float] = (0.4, 0.7), depth: float = 0.3, hold: int = 40, height: float = 10.0
) -> Curve:
    """The share of a source in the batch dips by ``depth`` at each place for about ``hold`` samples, and the
    total loss is up by ``height`` noise scales meanwhile (label: resume-ratio-skew)."""
    dip = np.zeros(c.n)
    for place in at:
        a = c.i(place)
        dip += c.pulse(a, 2, hold / 3.0)
        c.label("resume-ratio-skew", a, a + 1, a + hold, height_scales=height)
    c.lift += height * c.scale * dip
    return c.log("mix/images", Role.RATIO, 0.4 * (1 - depth * dip) * np.exp(c.own_noise(0.03)))


def validation(
    c: Curve, every: int = 50, overfit_at: float | None = None, height: float = 20.0, noise: float = 0.004
) -> Curve:
    """Validation loss at every n-th point; from ``overfit_at`` on it rises, by ``height`` noise scales of the
    training loss at the end, while the training loss falls on. Replayed data do not reach it."""
    y = c.trend + 0.05 + c.own_noise(noise)
    if overfit_at is not None:
        a = c.i(overfit_at)
        k = np.maximum(np.arange(c.n) - a, 0) / max(c.n - a, 1)
        y = np.where(np.arange(c.n) < a, y, y - c.trend + c.trend[a]) + height * c.scale * k
        c.lift -= 1.5 * height * c.scale * k
        wide = c.n // 8
        c.label("overfitting", a, None, None, metric="val_loss", height_scales=height, tolerance_samples=wide)
    return c.log("val_loss", Role.VALIDATION_LOSS, np.exp(y), every=every)


def throughput(
    c: Curve,
    drop: tuple[float, float, float] | None = None,
    pauses: int = 0,
    hang_s: float = 0.0,
    noise: float = 0.008,
) -> Curve:
    """Tokens a second and seconds a step. ``drop``: (at, length, size) as shares; ``pauses``: a slow sample
    at every n-th (evaluation, checkpoint); ``hang_s``: one step in the middle that takes so long."""
    speed = 1e5 * np.exp(c.own_noise(noise))
    if pauses:
        speed[pauses::pauses] *= 0.4
    if drop is not None:
        a, b = c.i(drop[0]), c.i(drop[0] + drop[1])
        speed[a : b + 1] *= 1 - drop[2]
        c.label("throughput-drop", a, a, b, metric="tokens_per_second", height_scales=drop[2] / noise)
    seconds = 1e5 / speed
    if hang_s:
        a = c.i(0.5)
        seconds[a] += hang_s
        c.label("hang", a - 1, a, a, metric="step_time")
    c.seconds = np.cumsum(seconds * c.every)
    c.log("tokens_per_second", Role.THROUGHPUT, 1e5 / seconds)
    return c.log("step_time", Role.STEP_TIME, seconds)


def loss_scale(c: Curve, collapse_at: float | None = None, warmup: int = 12, period: int = 1000) -> Curve:
    """A dynamic loss scale: halves fast in the first samples, then doubles every ``period`` samples and
    halves once soon after; at ``collapse_at`` it halves at every second sample down to 1."""
    power = 32.0 - np.minimum(np.arange(c.n), warmup)
    for a in range(period, c.n, period):
        power[a : a + 30] += 1
    if collapse_at is not None:
        a = c.i(collapse_at)
        power[a:] = np.maximum(power[a:] - (np.arange(c.n - a) // 2 + 1), 0)
        c.label("loss-scale-collapse", a, None, None, metric="loss_scale")
    return c.log("loss_scale", Role.LOSS_SCALE, 2.0**power)


def logits(c: Curve, attention_end: float = 40.0, output_drift: float = 0.0) -> Curve:
    """Largest attention logit, growing exponentially from 30 at 0.3 of the log to ``attention_end``; and
    the mean log-normaliser of the output softmax, which leaves its level by ``output_drift``."""
    start = c.i(0.3)
    k = np.clip((np.arange(c.n) - start) / max(c.n - start, 1), 0, 1)
    c.log(
        "max_attention_logit",
        Role.ATTENTION_LOGIT,
        np.exp(np.log(30) + np.log(attention_end / 30) * k + c.own_noise(0.03)),
    )
    c.log(
        "log_z",
        Role.OUTPUT_LOGIT,
        6.0 + 4.0 * np.exp(-np.arange(c.n) / 80.0) + output_drift * k + c.own_noise(0.1),
    )
    at = (start, None, None)
    if attention_end > 100:
        c.label("attention-logit-growth", *at, metric="max_attention_logit", tolerance_samples=c.n // 5)
    if output_drift > 5:
        c.label("output-logit-drift", *at, metric="log_z", tolerance_samples=c.n // 5)
    return c


def agent(c: Curve, level: float = 0.6, gone_at: float = 0.05, left: float = 0.005, sign: int = 1) -> Curve:
    """A reward that rises to ``level`` of 1, and the entropy of the policy, of which ``left`` is left at
    ``gone_at``, logged with this sign."""
    t = np.arange(c.n) / max(c.i(gone_at), 1)
    falling = np.exp(np.maximum(np.log(left) * t, np.log(left)))
    c.log("reward", Role.OBJECTIVE, level * (1 - falling) + c.own_noise(0.01))
    c.log("entropy", Role.POLICY_ENTROPY, sign * 3.0 * falling * np.exp(c.own_noise(0.05)))
    if left <= 0.05 and gone_at <= 0.5 and level <= 0.9:
        c.label("entropy-collapse", c.i(gone_at), None, None, metric="entropy", tolerance_samples=c.n // 10)
    return c


def answers(c: Curve, longer: float = 3.0, rise: float = 0.0) -> Curve:
    """A reward that is learned to half of 1 within a tenth of the log and then rises by ``rise``, and answers
    that end ``longer`` times as long as they began."""
    t = np.arange(c.n) / c.n
    c.log("reward", Role.OBJECTIVE, 0.5 - 0.3 * np.exp(-t / 0.03) + rise * t + c.own_noise(0.01))
    c.log("completions/mean_length", Role.ANSWER_LENGTH, 100 * longer**t * np.exp(c.own_noise(0.02)))
    if longer > 2 and rise < 0.05:
        start = c.i(1 - np.log(2) / np.log(longer))
        metric = "completions/mean_length"
        c.label("length-explosion", start, None, None, metric=metric, tolerance_samples=c.n // 8)
    return c


def judged(c: Curve, turn: float = 0.25, left: float = 0.1) -> Curve:
    """A reward that goes on rising, and a judge's score that turns, and ends at ``left``."""
    t = np.arange(c.n) / c.n
    c.log("reward", Role.OBJECTIVE, 0.2 + t + c.own_noise(0.01))
    score = np.interp(t, [0, turn, 1], [0.3, 0.6, left])
    c.log("eval/judge_score", Role.VALIDATION_SCORE, score + c.own_noise(0.01))
    if left < 0.4:
        metric = "eval/judge_score"
        c.label("reward-hacking", c.i(turn), None, None, metric=metric, tolerance_samples=c.n // 8)
    return c


def fled(c: Curve, turn: float = 0.6, times: float = 50.0) -> Curve:
    """A reward that is learned and lost, and a divergence that ends ``times`` as large as it was then."""
    t = np.arange(c.n) / c.n
    reward = np.interp(t, [0, 0.1, turn, min(turn + 0.1, 1)], [0.2, 0.6, 0.6, 0.0])
    c.log("reward", Role.OBJECTIVE, reward + c.own_noise(0.01))
    grown = np.interp(t, [0, 0.1, turn, 1], [0.0, 1.0, 1.0, times])
    c.log("objective/kl", Role.POLICY_KL, 0.05 * grown * np.exp(c.own_noise(0.05)))
    if times >= 20:
        c.label("kl-blow-up", c.i(turn), None, None, metric="reward", tolerance_samples=c.n // 8)
    return c


def clipped(c: Curve, share: float = 1.0) -> Curve:
    """Gradients that are clipped at a share of the steps, and a log of that."""
    hits = np.random.default_rng(c.n).random(c.n) < share
    c.log("grad_clip_fraction", Role.CLIPPED_SHARE, hits.astype(float))
    if share > 0.95:
        c.label("clip-saturation", 0, None, None, metric="grad_clip_fraction", tolerance_samples=c.n // 8)
    return c


def experts(c: Curve, idle: int = 5, at: float = 0.1, of: int = 8) -> Curve:
    """Loads of a layer's experts, alike until the first gets what the last ``idle`` had."""
    shares = np.exp(np.array([c.own_noise(0.05) for _ in range(of)]))
    shares /= shares.sum(0)
    shares[0, c.i(at) :] += shares[of - idle :, c.i(at) :].sum(0)
    shares[of - idle :, c.i(at) :] = 0.0
    for k, load in enumerate(shares):
        c.log(f"moe/layer_0/expert_{k}/load", Role.EXPERT_LOAD, load)
    if idle >= max(of // 4, 2):
        metric = "moe/layer_0/expert_0/load"
        c.label("router-collapse", c.i(at), None, None, metric=metric, tolerance_samples=c.n // 20)
    return c
