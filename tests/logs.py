"""Logs and workspaces that tests of several packages make, and what is read of such a log."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from chronicle.model import Attempt
from chronicle.readers import read

Points = dict[str, list[tuple[int, float]]]


def attempt_of(folder: Path, content: str | bytes, name: str = "log.csv") -> Attempt:
    """The one attempt of a file of this content."""
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    (attempt,) = read(file)
    return attempt


def read_text(folder: Path, text: str, name: str = "log.txt") -> Attempt:
    """The one attempt of what a program printed."""
    return attempt_of(folder, text, name)


def log_of(folder: Path, text: str) -> Path:
    """The log `train.log` of this text."""
    (folder / "train.log").write_text(text, "utf-8")
    return folder / "train.log"


def attempts_of(folder: Path, text: str) -> list[Attempt]:
    """All attempts of such a log."""
    return read(log_of(folder, text))


def spans(attempts: list[Attempt], metric: str) -> dict[str, tuple[int, int, int]]:
    """Number of points, first and last step of a metric, by attempt."""
    steps = {attempt.name: attempt.series[metric].steps.tolist() for attempt in attempts}
    return {name: (len(own), own[0], own[-1]) for name, own in steps.items()}


def points(attempt: Attempt) -> Points:
    """Step and value of each point of every metric."""
    return {metric: points_of(attempt, metric) for metric in attempt.series}


def points_of(attempt: Attempt, metric: str = "loss") -> list[tuple[int, float]]:
    """Step and value of each point of one metric."""
    series = attempt.series[metric]
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def healthy(file: Path, points: int = 400, seed: int = 1, nan_from: int | None = None) -> Path:
    """The log of a calm training, whose loss is NaN from one row on if that is named."""
    steps = np.arange(1, points + 1)
    noise = np.random.default_rng(seed).normal(0, 0.01, points)
    loss = 2 + 3 * steps**-0.4 + noise
    loss[slice(nan_from, None) if nan_from else slice(0)] = np.nan
    file.write_text("step,loss\n" + "".join(f"{s},{v:.5f}\n" for s, v in zip(steps, loss, strict=True)))
    return file


def plain_engine(workspace: Path) -> None:
    """An engine without theme and search, and only the pages of runs: for what does not depend on those."""
    pages = "index.md\n  !browse.md\n  !runs/**\n  !assets/**"
    (workspace / "mkdocs.yml").write_text(
        "site_name: x\ntheme: {name: null, custom_dir: theme}\nplugins: []\nuse_directory_urls: false\n"
        f"docs_dir: build/docs\nsite_dir: build/site\nexclude_docs: |\n  *.md\n  !{pages}\n"
    )
    (workspace / "theme").mkdir()
    (workspace / "theme" / "main.html").write_text("{{ page.content }}")


def files_of(folder: Path) -> dict[str, bytes]:
    """The content of every file below a folder, by its path from there."""
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


def texts_of(folder: Path) -> dict[str, str]:
    """The same as text."""
    return {path: content.decode() for path, content in files_of(folder).items()}
