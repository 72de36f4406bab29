"""What counts the steps of a log, by name, how far apart they are, and clocks that tell no year."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np

from chronicle.model import Floats, Series, Steps

# Names of the step column of a table by rank, with what they count; compared without case, blanks and dots.
_COUNTED = {
    "step": "global_step update_step optimizer_step num_updates current_steps train_step training_step step"
    " steps time/total_timesteps iteration iterations training_iteration iter update updates _step"
    " total_timesteps timesteps_total timesteps timestepssofar",
    "sample": "samples_count consumed_samples samples",
    "token": "consumed_tokens tokens_seen tokens",
    "epoch": "epoch",
}
STEP_NAMES = tuple((name, counted) for counted, names in _COUNTED.items() for name in names.split())
# Names of counters that begin anew in each epoch, and may mean other things too: in tables, on a console.
_IN_EPOCH = (
    "iters batch batches minibatch mini_batch batch_idx batch_id batch_num episode episodes generation"
    " generations gen round i idx"
)
IN_EPOCH_NAMES = tuple(_IN_EPOCH.split())
_ON_CONSOLE = (
    "batch minibatch mini_batch batches batch_id batch_idx iters itr it i idx env_step env_steps episode"
    " generation generations gen instance round progress t"
)
CONSOLE_IN_EPOCH_NAMES = tuple(_ON_CONSOLE.split())
EPOCH_NAMES = ("epoch", "epochs", "ep", "epoch_num", "epoch_idx")  # all but the first may be a setting
TIME_NAMES = ("timestamp", "_timestamp", "wall_time", "datetime", "date_time", "date", "time", "ts")
# A DataFrame is made by hand and may have a metric of any other name: only plain words are its step.
FRAME_STEP_NAMES = ("step", "steps", "global_step", "_step", "iteration", "iter", "epoch")


def step_gap(series: Series) -> float:
    """Median distance of two logged points in steps (1 where there is nothing to measure)."""
    return median_gap(series.steps)


def median_gap(steps: Steps | Floats) -> float:
    """Median of the distances by which steps rise (1 where they never do)."""
    gaps = np.diff(np.asarray(steps, np.float64))
    gaps = np.sort(gaps[gaps > 0])  # sorting a short row takes a fraction of the time of numpy's median
    n = len(gaps)
    return float((gaps[(n - 1) // 2] + gaps[n // 2]) / 2) if n else 1.0


# Syslog and glog write no year. Such a time is given as seconds within 1972.
UNNAMED_YEAR = 1972  # it has a 29 February, and no training ran in it
_FIRST_S, _END_S = 63_072_000.0, 94_694_400.0  # its first second, and the first of 1973


def has_year(time: float) -> bool:
    """Whether a time is a date, and not one of an unnamed year. NaN counts as a date."""
    return not _FIRST_S <= time < _END_S


def in_year_of(time: float, near: float) -> float:
    """A time of an unnamed year in the year that brings it next to ``near``; NaN where that is unknown."""
    if has_year(time) or math.isnan(time):
        return time
    if not math.isfinite(near):
        return math.nan
    day = datetime.fromtimestamp(time, UTC)
    year = datetime.fromtimestamp(near, UTC).year
    years = (year - 1, year, year + 1)
    return min((_dated(day, year).timestamp() for year in years), key=lambda dated: abs(dated - near))


def _dated(day: datetime, year: int) -> datetime:
    try:
        return day.replace(year=year)
    except ValueError:  # 29 February of a year that has none
        return day.replace(year=year, month=3, day=1)
