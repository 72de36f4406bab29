"""`chronicle explain` and `--preset`: the words, in full."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from chronicle.classify import classify
from chronicle.cli.commands import PRESETS as CHOICES
from chronicle.cli.terminal import comparison_lines, explain, flagged_by
from chronicle.errors import UsageError
from chronicle.metrics.values import Axis
from chronicle.score.presets import PRESETS
from chronicle.story import tell
from chronicle.timeline import stitch

STEPS = np.arange(400)
SPIKED = 1.5 + 2 * (STEPS + 1.0) ** -0.4 + 0.01 * np.random.default_rng(1).standard_normal(400)
SPIKED[200:204] = [7.0, 5.0, 4.0, 3.0]
TIMELINE = stitch({"loss": (STEPS, SPIKED)})
DIAGNOSIS = classify(TIMELINE)
STORY = tell(TIMELINE, DIAGNOSIS)


def spiked(folder: Path) -> Path:
    rows = "".join(f"{s},{v}\n" for s, v in zip(STEPS, SPIKED, strict=True))
    (folder / "a.csv").write_text(f"step,loss\n{rows}")
    return folder / "a.csv"


def test_a_finding_is_explained_by_its_criteria() -> None:
    expected = [
        "2  The loss jumped from 1.74 to 7.00 at step 200 and was back after 4 steps.",
        "   Its verdict is good, and its id is rise-a1-200.",
        "   spike-fast-recovery in loss · data: severity 0.24, confidence 1.00",
        "     ✓ height over the trend  a factor of 4         ≥ 2.5 %",
        "     ✓ evidence               154.9 noise scales    ≥ 15 or two samples beyond the tail",
        "     ✓ gained in one jump     100 % of the height   ≥ 60 %",
        "     ✓ left of the height     0.59 % of the height  ≤ 15 %, at most 3 %; or 0.8 noise scales",
        "     ✓ recovery               4 steps               ≤ 150, or 10 samples",
        "     Evidence: height_log 1.39; residual_log 0.00812; noise_log 0.0106; score_noise_scales 154.9;",
        "       scale_samples 1; rise_samples 0; recovery_steps 4",
        "     It would be spike-slow-recovery if it had taken more than 150 steps.",
        "",
    ]
    for name in ("2", "rise-a1-200", "rise-a1-190", "spike-fast-recovery"):
        assert list(explain(DIAGNOSIS, STORY, name)) == expected


def test_durations_are_in_the_unit_that_the_log_counts() -> None:
    lines = "\n".join(explain(DIAGNOSIS, STORY, "2", axis=Axis("epoch")))
    assert "recovery               4 epochs " in lines
    assert "if it had taken more than 150 epochs." in lines


def test_a_pattern_that_was_not_named_says_why() -> None:
    assert list(explain(DIAGNOSIS, STORY, "overfitting")) == [
        "overfitting could not be assessed, because the log does not have: validation loss."
    ]
    assert list(explain(DIAGNOSIS, STORY, "spike-slow-recovery")) == [
        "spike-slow-recovery was looked for and not found.",
        "   The nearest is finding 2: The loss jumped from 1.74 to 7.00 at step 200 and was back after 4",
        "   steps. It would be spike-slow-recovery if it had taken more than 150 steps.",
    ]


def test_no_such_finding() -> None:
    with pytest.raises(UsageError) as err:
        list(explain(DIAGNOSIS, STORY, "9"))
    assert (
        str(err.value)
        == "no finding '9'. Remedy: name one of this run (1 near-perfect, 2 spike-fast-recovery), "
        "or the id of any pattern"
    )


def test_without_a_choice_everything_is_told() -> None:
    lines = list(explain(DIAGNOSIS, STORY))
    assert "Good: 1 spike came back fast, and nothing worrying was found on the live course." in lines
    assert lines[-9:] == [
        "Some patterns could not be assessed. Without objective: entropy-collapse (also policy entropy),",
        "  length-explosion (also answer length), reward-hacking (also validation score), kl-blow-up (also",
        "  divergence from the reference). Without a second attempt: resume-spike, lr-not-restored (also",
        "  learning rate), repeat-data. Without learning rate: lr-decay-drop. Without batch size: "
        "batch-ramp.",
        "  Without loss by data set: multi-dataset-spike. Without ratio: resume-ratio-skew. Without gradient",
        "  norm: grad-norm-precursor. Without attention logit: attention-logit-growth. Without output logit:",
        "  output-logit-drift. Without expert load: router-collapse. Without validation loss: overfitting.",
        "  Without throughput: throughput-drop. Without step time: hang. Without loss scale:",
        "  loss-scale-collapse. Without clipped share: clip-saturation.",
    ]
    assert sum(bool(re.match(r"\d+  ", line)) for line in lines) == len(DIAGNOSIS.findings)


def test_a_preset_is_compared_with_the_findings() -> None:
    lines = [
        line
        for c in flagged_by(TIMELINE, DIAGNOSIS, ["olmo-128-6", "olmo2-spike-score"])
        for line in comparison_lines(c, DIAGNOSIS)
    ]
    assert lines == [
        "olmo-128-6 on loss · data: 2 of 400 samples flagged (0.5 %)",
        "olmo2-spike-score on loss · data: 0 of 400 samples flagged",
        "  The rule judges nothing before 1 000 samples are logged.",
        "  It flagged no sample of spike-fast-recovery from step 200.",
    ]


def test_flags_outside_the_findings_are_listed() -> None:
    hard = np.delete(SPIKED, slice(200, 204))
    hard[296] = 1.9  # a hard batch, sixteen noise scales high: no event where every step is logged
    timeline = stitch({"loss": (STEPS[:396], hard)})
    diagnosis = classify(timeline)
    (comparison,) = flagged_by(timeline, diagnosis, ["olmo-128-6"])
    assert (comparison.flagged_steps, comparison.outside_steps) == ((296,), (296,))
    assert (
        list(comparison_lines(comparison, diagnosis))[1]
        == "  Outside of chronicle's findings it flagged 1, at 296."
    )


def test_the_command_explains_a_log_a_finding_and_a_run(chronicle, tmp_path, monkeypatch) -> None:
    log = spiked(tmp_path)
    ran = chronicle("explain", log, "2")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[:2] == [
        "a.csv",
        "2  The loss jumped from 1.74 to 7.00 at step 200 and was back after 4 steps.",
    ]
    assert chronicle("explain", log, "hang").out == (
        "a.csv\nhang could not be assessed, because the log does not have: step time.\n"
    )
    wrong = chronicle("explain", log, "7")
    assert (
        wrong.code == 2
        and "Remedy: name one of this run (1 near-perfect, 2 spike-fast-recovery)" in wrong.err
    )
    (tmp_path / "team" / "runs" / "one").mkdir(parents=True)
    (tmp_path / "team" / "chronicle.toml").touch()
    log.rename(tmp_path / "team" / "runs" / "one" / "a.csv")
    monkeypatch.chdir(tmp_path / "team")
    assert chronicle("explain", "one").out.startswith("one\n1  The loss fell from 3.5")


def test_a_run_of_the_workspace_is_one_run_for_every_command(chronicle, tmp_path, monkeypatch) -> None:
    """Also where nobody has described it: the build makes one page of all logs in its folder."""
    monkeypatch.chdir(tmp_path)
    chronicle("init", ".")
    (tmp_path / "logs" / "deep").mkdir(parents=True)
    spiked(tmp_path / "logs").rename(tmp_path / "logs" / "deep" / "other.csv")
    spiked(tmp_path / "logs")
    chronicle("add", "logs", "--name", "both")
    for named in ("both", "runs/both"):
        ran = chronicle("explain", named)
        assert (ran.code, ran.out.splitlines()[0]) == (0, "both")
        assert not {"a.csv", "deep", "deep/other.csv"} & set(ran.out.splitlines())
    for place in (".", "runs"):
        ran = chronicle("classify", "--json", place)
        assert [json.loads(line)["run"] for line in ran.out.splitlines()] == ["both"]


def test_the_command_compares_presets(chronicle, tmp_path) -> None:
    log = spiked(tmp_path)
    ran = chronicle("classify", log, "--preset", "olmo-128-6", "--preset", "lightning-spike")
    assert ran.out.splitlines()[-2:] == [
        "  olmo-128-6 on loss · a.csv: 2 of 400 samples flagged (0.5 %)",
        "  lightning-spike on loss · a.csv: 1 of 400 samples flagged (0.25 %)",
    ]
    assert "olmo2-spike-score" in chronicle("classify", log, "--preset", "none").err


def test_presets_are_printed_as_json_too(chronicle, tmp_path) -> None:
    log = spiked(tmp_path)
    document = json.loads(chronicle("classify", "--json", log, "--preset", "lightning-spike").out)
    spike = document["findings"][0]
    assert (spike["pattern"], spike["id"]) == ("spike-fast-recovery", "loss:rise@201")
    assert document["presets"] == [
        {
            "preset": "lightning-spike",
            "series": "loss",
            "attempt": "a.csv",
            "samples": 400,
            "flagged_steps": [200],
            "outside_steps": [],
            "seen": ["loss:rise@201"],
            "missed": [],
        }
    ]
    assert json.loads(chronicle("classify", "--json", log).out) == {**document, "presets": []}


def test_every_preset_is_a_choice_and_in_the_guide() -> None:
    assert list(PRESETS) == list(CHOICES.choices)
    guide = (Path(__file__).parents[2] / "docs" / "classifier.md").read_text("utf-8")
    for preset in PRESETS.values():
        assert f"`{preset.name}`" in guide and preset.source in guide and preset.rule in guide
