"""The page that shows one run as three tools keep it: its table is what the script says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from benchmarks import trackers
from benchmarks.trackers import DOCS, as_logged, tensorboard, wandb

import chronicle

RUN = DOCS.parent / "runs" / "lab-repeat-data"


def test_wandb_ignores_what_is_not_beyond_the_highest_step():
    steps, values = wandb(np.array([0, 1, 2, 3, 2, 3, 4]), np.arange(7.0))
    assert (steps.tolist(), values.tolist()) == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 6])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_table_of_the_page_is_what_the_script_says():
    timeline = chronicle.stitch(chronicle.read(RUN))
    files = [Path(source) for attempt in timeline.attempts for source in attempt.sources]
    points = as_logged(timeline, "train/loss")
    kept = {
        "TensorBoard, one folder": tensorboard(files, "train/loss"),
        "TensorBoard, with purge_step": tensorboard(files, "train/loss", [j.to_step for j in timeline.joins]),
        "W&B, resumed run": wandb(*points),
        "chronicle": points,
    }
    part = re.search(r"<!-- trackers -->(.*?)<!-- end -->", (DOCS / "trackers.md").read_text("utf-8"), re.S)
    assert part and trackers.table(timeline, "train/loss", kept) in part[1]
