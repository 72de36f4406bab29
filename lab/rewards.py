"""Rewards that favour something other than what was intended. NumPy alone.

A linear reward: an answer is a point, drawn around the policy's mean, and is good near one place. The reward
is a straight line fitted to 24 answers that a judge rated near the start; the judge itself is used only for
the log. The policy follows the advantage over the mean of 64 answers.

Answers with a length: half of the questions can be learned, half are too hard for the policy. It learns when
to stop, separately for questions it can and cannot answer. Advantages are computed within groups of 8 (as in
GRPO), and divided among the tokens of an answer, or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from lab.numpy_training import NumpyTraining

SEED = 5
TAGS = ("reinforcement learning", "simulated clock")
FEATURES, DRAWN, JUDGED, DISTANCE = 8, 64, 24, 2.0
HACKING_STEPS, HACKING_RATE, PENALTY = 1200, 0.05, 0.08
QUESTIONS, GROUP, LIMIT = 32, 8, 512
LENGTH_STEPS, LENGTH_RATE, MEAN_LENGTH = 1500, 0.3, 50.0
BEYOND, RIGHT = 0.12, (0.7, 0.15)  # sure of a hard question; right where it is sure, and at a loss
LEARNED = 1.0  # rate at which the easy questions are learned


def _judged(rng: np.random.Generator, penalty: float) -> Iterator[dict[str, float]]:
    target = rng.normal(size=FEATURES)
    target *= DISTANCE / np.linalg.norm(target)
    seen = rng.normal(size=(JUDGED, FEATURES))
    with_one = np.hstack([seen, np.ones((JUDGED, 1))])
    *line, level = np.linalg.lstsq(with_one, _judge(seen, target), rcond=None)[0]
    mean = np.zeros(FEATURES)
    for _ in range(HACKING_STEPS):
        drawn = mean + rng.normal(size=(DRAWN, FEATURES))
        reward = drawn @ line + level
        gradient = ((reward - reward.mean())[:, None] * (drawn - mean)).mean(0) - penalty * mean
        score = _judge(drawn, target).mean()
        yield {
            "objective/reward": reward.mean(),
            "eval/judge_score": score,
            "objective/kl": mean @ mean / 2,
            "grad_norm": np.linalg.norm(gradient),
        }
        mean += HACKING_RATE * gradient


def _judge(answers: np.ndarray, target: np.ndarray) -> np.ndarray:
    worth: np.ndarray = np.exp(-((answers - target) ** 2).sum(-1) / (2 * FEATURES))
    return worth


def _lengths(rng: np.random.Generator, by_length: bool) -> Iterator[dict[str, float]]:
    stop = np.array([-3.0, -3.0])  # logit of stopping after a token: sure, and at a loss
    easy = np.arange(QUESTIONS) < QUESTIONS / 2
    known = np.zeros(QUESTIONS)  # logit of being sure of a question
    for _ in range(LENGTH_STEPS):
        sure = np.where(easy, 1 / (1 + np.exp(-known)), BEYOND)[:, None]
        lost = (rng.random((QUESTIONS, GROUP)) >= sure).astype(int)
        stops = 1 / (1 + np.exp(-stop))[lost]
        length = rng.geometric(stops)
        ended = length <= LIMIT
        length = np.minimum(length, LIMIT)
        right = ended & (rng.random(lost.shape) < np.array(RIGHT)[lost])
        gain = right - right.mean(1, keepdims=True)
        gain /= right.std(1, keepdims=True) + 1e-4
        share = gain / (length if by_length else MEAN_LENGTH)
        slope = share * (ended * (1 - stops) - (length - ended) * stops)
        gradient = np.bincount(lost.ravel(), slope.ravel(), minlength=2) / lost.size
        stop += LENGTH_RATE * gradient
        known += LEARNED * (share * (1 - lost - sure)).mean(1)
        yield {
            "reward": right.mean(),
            "completions/mean_length": length.mean(),
            "completions/clipped_ratio": 1 - ended.mean(),
            "grad_norm": np.linalg.norm(gradient),
        }


TRAININGS = (
    NumpyTraining(
        "reward-hacked",
        "A reward that is beaten, and not earned",
        "the reward is a line fitted to answers near the start; nothing holds the policy there",
        "Reinforcement learning in small, against a reward model that is right near the start alone. The "
        "reward rises without end, past 1, which is the most an answer can be worth; the judge's score "
        "rises at first, and then falls to nothing. The clock is simulated.",
        TAGS,
        SEED,
        FEATURES,
        partial(_judged, penalty=0.0),
        "The policy has left the answers that the reward was made from",
    ),
    NumpyTraining(
        "reward-anchored",
        "The same reward, with a leash",
        "none: as reward-hacked, with a penalty of 0.08 times the divergence from the start",
        "The control of lab-reward-hacked: the same reward, judge and seed, and a penalty for the divergence "
        "from the start. The reward stays lower; the judge's score stays. The clock is simulated.",
        TAGS,
        SEED,
        FEATURES,
        partial(_judged, penalty=PENALTY),
    ),
    NumpyTraining(
        "length-explosion",
        "Answers that get longer and no better",
        "the advantage of an answer is divided by its length: long wrong answers cost little",
        "Reinforcement learning in small. An answer's advantage is shared out over its tokens, so that a "
        "wrong answer costs each of its tokens less the longer it is. Where the policy does not know the "
        "answer, its answers get longer without end, and the reward stays as it was. The clock is simulated.",
        TAGS,
        SEED,
        2 + QUESTIONS,
        partial(_lengths, by_length=True),
        "The loss of an answer is divided by its length",
    ),
    NumpyTraining(
        "length-kept",
        "The same answers, each token counted alike",
        "none: as length-explosion, divided by one length for all answers",
        "The control of lab-length-explosion: the same questions and seed, and every token counted alike. "
        "The answers keep their length. The clock is simulated.",
        TAGS,
        SEED,
        2 + QUESTIONS,
        partial(_lengths, by_length=False),
    ),
)
