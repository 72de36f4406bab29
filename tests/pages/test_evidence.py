"""Where the numbers of a pattern's page come from: a limit of the code, a source, a run, a sum."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from tests.pages.test_gallery import IDS, ROOT, page

RUNS = {folder.name for folder in (ROOT / "runs").iterdir()}
NUMBER = re.compile(r"(?<![\w.\-/:^])(\d{1,3}(?:[ \u202f]\d{3})+|\d+(?:\.\d+)?)(?![.\d]*\d|[\w\-]*\w)")
COMMON = {
    "the", "and", "training", "language", "model", "models", "learning", "neural", "networks", "deep",
    "with",
}  # fmt: skip

# Numbers that follow from others: what a page says, and the sum that gives it.
SUMS = {
    "10.8": math.log(50_000),
    "50 000": math.exp(10.82),
    "65 504": float(np.finfo(np.float16).max),
    "0.0078": 2.0**-7,
    "1 000": 1 / (1 - 0.999),  # steps that a second moment remembers
    "0.999": 1 - 1 / 1000,
    "0.95": 1 - 1 / 20,
    "0.01": 10.0**-2,  # decimal grids
    "0.001": 10.0**-3,
    "20": 1 / (1 - 0.95),
    "2.2": (1 / (1 - 0.9)) / (1 / (1 - 0.95)) ** 0.5,  # moments that are kept, corrected as if they were new
    "833": 1 / (3 * 0.02**2),
    "0.0059": (2 / (5 * 11_600)) ** 0.5,
}


def value(number: str) -> float:
    return float("".join(number.split()))


@pytest.mark.parametrize("number", SUMS)
def test_a_sum_gives_the_number(number: str) -> None:
    digits = len("".join(number.split()).replace(".", "").strip("0"))
    assert SUMS[number] == pytest.approx(value(number), rel=0.5 * 10.0 ** (1 - digits))


def facts(pattern_id: str) -> list[str]:
    """The sentences of a page that state facts. What to do now, and how to prevent it, is advice."""
    head, body = page(pattern_id)
    rows = [*(a["how"] for a in head["lookalikes"]), *(c["tell"] for c in head["causes"])]
    return [" ".join(text.split()) for text in (head["lead"], *re.split(r"\n\s*\n", body), *rows)]


def sources(pattern_id: str) -> set[str]:
    """Words by which a text names a source of its page: names, and what is told by digits (13B, SmolLM3)."""
    words_of_all = " ".join(f"{s['title']} {s['by']} {s['note']}" for s in page(pattern_id)[0]["sources"])
    words = set(re.findall(r"[A-Za-z0-9]\w{2,}", words_of_all))
    return {
        w
        for w in words
        if (w[0].isupper() or re.search(r"\d[A-Z]|[A-Z]\w*\d", w)) and w.lower() not in COMMON
    }


def unexplained(pattern_id: str, text: str) -> list[str]:
    """The numbers of a text that nothing tells the origin of. Counts up to twelve are words, in digits."""
    head, _ = page(pattern_id)
    held = " ".join([*(f"{c['criterion']} {c['threshold']}" for c in head["criteria"]),
                     *(s["note"] for s in head["sources"])])  # fmt: skip
    known = {value(n) for n in NUMBER.findall(held)} | {value(n) for n in SUMS}
    open_ = [
        n
        for n in NUMBER.findall(text)
        if value(n) not in known and not (value(n) <= 12 and value(n) % 1 == 0)
    ]
    linked = re.search(r"\]\(https://", text) or any(f"`{run}`" in text for run in RUNS)
    named = any(re.search(rf"(?<![\w]){re.escape(word)}(?!\w)", text) for word in sources(pattern_id))
    return [] if linked or named else open_


@pytest.mark.parametrize("pattern_id", IDS)
def test_every_number_has_a_limit_a_source_a_run_or_a_sum(pattern_id: str) -> None:
    assert {t: reason for t in facts(pattern_id) if (reason := unexplained(pattern_id, t))} == {}


def test_a_number_from_nowhere_is_seen() -> None:
    said = "The loss rose by 37 % after 4 711 steps."
    assert unexplained("hang", said) == ["37", "4 711"]
    assert unexplained("hang", said + " See `lab-stalled-loader`.") == []
    assert unexplained("hang", said + " See `lab-nothing`, as Everybody says.") == ["37", "4 711"]
    assert unexplained("hang", "It took two of 7 tries, 20 times.") == []  # a count, and a limit
