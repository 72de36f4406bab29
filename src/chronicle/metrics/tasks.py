"""What the metrics of an agent tell of its task: games against itself, a curriculum, actions by chance."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

import numpy as np

from chronicle.metrics import aliases
from chronicle.metrics.names import plain
from chronicle.model import Series

_OF_A_LEVEL = re.compile(aliases.A_LEVEL)
_OF_A_TASK = re.compile(r"(current |cur )?(task|experience|domain)( (id|idx|index|num|number|no))?")
FEWEST_ROWS = 4  # of a task
HARDER = 0.1  # of the range of a level
RANDOM_SHARE = 0.5  # of the actions: an agent that does more by chance hardly shows what it learned


def is_of_games(metric: str | None, logged: Collection[str]) -> bool:
    """Whether a metric is an Elo, or the share of games won where a pool, a league or an Elo is logged."""
    words = {word for name in logged for word in plain(name).split()}
    return bool(re.search(aliases.A_WIN, plain(metric or "")) and words & aliases.OF_SELF_PLAY)


def made_harder(logged: Mapping[str, Series], since: float) -> bool:
    """Whether a curriculum ends higher than it was at a step, by a tenth of the range of its level."""
    for level in (s for name, s in logged.items() if _OF_A_LEVEL.search(plain(name))):
        known = np.isfinite(level.values)
        steps, values = level.steps[known], level.values[known]
        if len(values) and values[-1] - np.interp(since, steps, values) > HARDER * np.ptp(values):
            return True
    return False


def begins_anew(logged: Mapping[str, Series], since: float) -> bool:
    """Whether another of several tasks, which are learned one after the other, begins at a step."""
    for task in (s for name, s in logged.items() if _OF_A_TASK.fullmatch(plain(name))):
        begins = task.steps[np.flatnonzero(np.diff(task.values)) + 1]
        if since in begins and len(begins) * FEWEST_ROWS <= len(task):
            return True
    return False


def hides_learning(logged: Mapping[str, Series], since: float) -> bool:
    """Whether a reward need not rise: the share of random actions came down and is still most of them at the
    end, or the task was made harder since a step."""
    of_chance = (s for name, s in logged.items() if aliases.OF_RANDOM_ACTIONS & set(plain(name).split()))
    shares = (s.values[np.isfinite(s.values)] for s in of_chance)
    return any(len(v) and 1.0 >= v[0] > v[-1] >= RANDOM_SHARE for v in shares) or made_harder(logged, since)
