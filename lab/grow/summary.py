"""What has grown, and what the classifier says of it: two tables, all numbers measured."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chronicle.classify import VERSION
from chronicle.cli.commands import predict
from chronicle.score import Score, score_folder
from lab.grow.plan import Recipe, recipes

MEASURED = {
    "height_log": "{:+.2f} log units",
    "height_scales": "{:.0f} noise scales",
    "left_log": "{:.3f} left",
    "lead_points": "gradient norm {:.0f} points ahead",
    "spikes": "{:.0f} spikes",
    "attention_logit": "logits of {:.0f}",
    "log_z_moved": "log Z moved by {:.0f}",
    "distinct_share": "{:.1%} distinct values",
    "noise_ratio": "noise times {:.2f}",
}


def summary(out: Path) -> str:
    """Both tables as Markdown."""
    known = {name: labelled(recipe, out) for name, recipe in recipes().items()}
    grown = {name: label for name, label in known.items() if label}
    scores = {half: score_folder(out / half, predict) for half in ("develop", "hold")}
    return "\n".join((table(grown), totals(scores)))


def labelled(recipe: Recipe, out: Path) -> dict[str, Any]:
    """The label of a grown run; empty where it has not grown."""
    file = out / recipe.half / recipe.name / "label.toml"
    return tomllib.loads(file.read_text("utf-8")) if file.is_file() else {}


def table(grown: dict[str, dict[str, Any]]) -> str:
    """One row a run: cause, what it did to the loss, what is right to say."""
    lines = ["| run | cause | what came out | right | half |", "|---|---|---|---|---|"]
    for name, label in grown.items():
        required = "; ".join(
            " or ".join(f"`{p}`" for p in entry.split("|")[:2]) for entry in label["required"][:3]
        )
        cells = [
            f"`{name}`",
            label["cause"],
            measured(label),
            f"{label['verdict']}: {required}",
            label["half"],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def measured(label: dict[str, Any]) -> str:
    """The measured facts of a label in words."""
    facts = label["measured"]
    return ", ".join(text.format(facts[key]) for key, text in MEASURED.items() if key in facts) or "–"


def totals(scores: dict[str, Score]) -> str:
    """What the classifier says, both halves side by side; which runs fail is said of the first alone."""
    names = (
        "half", "runs passed", "verdict, balanced", "required patterns, macro", "forbidden named",
        "event recall", "precision", "typing, strict", "false alarms /100k healthy points",
    )  # fmt: skip
    lines = [f"Classifier {VERSION}.", "", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]
    for half, score in scores.items():
        t = score.totals
        e = t.events
        shares = [t.verdicts["balanced"], t.names["macro"], None]
        shares += [e["recall"], e["precision"], e["typing_strict"]]
        cells = ["–" if s is None else f"{s:.2f}" for s in shares]
        cells[2] = str(t.names["forbidden"])
        rate = e["false_alarms_per_100k"]
        alarms = "–" if rate is None else f"{rate:.1f}"
        lines.append(f"| {half} | {t.passed} of {t.cases} | {' | '.join(cells)} | {alarms} |")
    return "\n".join([*lines, "", f"Not passed of the first half: {failed(scores['develop'])}.", ""])


def failed(score: Score) -> str:
    """The runs that did not pass, by name."""
    cases: Sequence[Any] = [c for c in score.cases if not c.passed]
    return ", ".join(f"`{c.id}`" for c in cases) or "none"
