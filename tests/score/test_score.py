"""The scorer: what counts as found, as typed, as a false alarm and as passed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chronicle.errors import ConfigError, NothingToRead, UnknownFormat
from chronicle.score import Totals, judge, labelled, load_label, one_answer, score_folder, total, unlabelled
from chronicle.score.labels import Event, Label

RUNS = Path(__file__).parents[2] / "runs"

SPIKY = Label(
    id="spiky",
    verdict="worrying",
    verdict_also_ok=("bad",),
    required=("spike-slow-recovery|spike-fast-recovery",),
    allowed=("near-perfect",),
    forbidden=("grokking",),
    main_series=("loss",),
    events=(Event("spike-slow-recovery", 500, 20, 510, 700, ("spike-fast-recovery",), "loss"),),
    steps_healthy=800,
)


def finding(pattern: str, start: float, series: str | None = "loss", attempt: str | None = None) -> Any:
    return {"pattern": pattern, "series": series, "attempt": attempt, "start_step": start}


def perfect(label: Label) -> dict[str, Any]:
    """The diagnosis that says what the label says."""
    return {
        "verdict": label.verdict,
        "patterns": [entry.split("|")[0] for entry in label.required],
        "findings": [finding(e.pattern, e.start_step, e.series, e.attempt) for e in label.events],
    }


def own_labels() -> list[Label]:
    return [load_label(folder) for folder in labelled(RUNS)]


def totals(labels: list[Label], diagnoses: Mapping[str, Mapping[str, Any]]) -> Totals:
    return total([judge(label, diagnoses.get(label.id, {})) for label in labels])


# laws over every labelled run of the repository


def test_the_label_itself_scores_everything() -> None:
    labels = own_labels()
    t = totals(labels, {label.id: perfect(label) for label in labels})
    e = t.events
    assert t.passed == t.cases == t.verdicts["right"] == t.verdicts["exact"] == len(labels)
    assert t.names["found"] == t.names["required"] and t.names["forbidden"] == 0
    assert {e["recall"], e["precision"], e["f1"], e["typing"], e["typing_strict"], e["macro_recall"]} == {1.0}
    assert e["false_alarms"] == 0 and all(t.pictures.values())


def test_no_answer_scores_nothing() -> None:
    t = totals(own_labels(), {})
    assert t.passed == 0 == t.verdicts["right"] == t.events["recall"] == t.events["false_alarms"]
    assert not any(t.pictures.values())


@pytest.mark.parametrize("side", [-1, 1])
def test_an_onset_at_the_edge_of_its_tolerance_is_found(side: int) -> None:
    for label in own_labels():
        for event in label.events:
            required = replace(label, events=(replace(event, optional=False),))
            moved = finding(event.pattern, event.start_step + side * event.tolerance_steps, event.series)
            assert judge(required, {"findings": [moved]}).events[0].is_found
            beyond = {**moved, "start_step": moved["start_step"] + side}
            assert not judge(required, {"findings": [beyond]}).events[0].is_found


def test_the_wrong_type_is_found_and_not_typed() -> None:
    labels = own_labels()
    for_all = {label.id: perfect(label) for label in labels}
    for diagnosis in for_all.values():
        for f in diagnosis["findings"]:
            f["pattern"] = "output-logit-drift"
    t = totals(labels, for_all)
    assert t.events["typing"] == 0 and t.events["recall"] is not None and t.events["recall"] > 0.9


def test_the_order_of_findings_changes_nothing() -> None:
    for label in own_labels():
        diagnosis = perfect(label)
        backwards = {**diagnosis, "findings": diagnosis["findings"][::-1]}
        assert judge(label, diagnosis) == judge(label, backwards)


# one rule each


@pytest.mark.parametrize("verdict, ok", [("worrying", True), ("bad", True), ("good", False), (None, False)])
def test_accepted_verdicts(verdict: str | None, ok: bool) -> None:
    result = judge(SPIKY, {**perfect(SPIKY), "verdict": verdict})
    assert result.verdict_ok is ok is result.passed


@pytest.mark.parametrize(
    "patterns, missing, forbidden, extra, passed",
    [
        (["spike-slow-recovery"], 0, (), (), True),
        (["spike-fast-recovery", "near-perfect"], 0, (), (), True),
        (["near-perfect"], 1, (), (), False),
        (["spike-slow-recovery", "grokking"], 0, ("grokking",), (), False),
        (["spike-slow-recovery", "hang"], 0, (), ("hang",), True),
    ],
)
def test_required_forbidden_and_extra_patterns(
    patterns: list[str], missing: int, forbidden: tuple[str, ...], extra: tuple[str, ...], passed: bool
) -> None:
    result = judge(SPIKY, {"verdict": "bad", "patterns": patterns})
    assert (len(result.missing), result.forbidden, result.extra) == (missing, forbidden, extra)
    assert result.passed is passed


def test_without_a_list_of_patterns_those_of_the_findings_count() -> None:
    assert judge(SPIKY, {"verdict": "bad", "findings": [finding("spike-fast-recovery", 500)]}).passed


@pytest.mark.parametrize(
    "f, counted",
    [
        (finding("spike-fast-recovery", 100), True),
        (finding("spike-fast-recovery", 100, None), True),
        (finding("spike-fast-recovery", 100, "grad_norm"), False),  # a side series is not judged
        (finding("rising-spike-rate", 100), False),  # speaks of the run, not of a moment
        (finding("spike-fast-recovery", 481), False),  # inside the window of the event
        (finding("spike-fast-recovery", 720), False),
        (finding("spike-fast-recovery", 721), True),
    ],
)
def test_what_is_a_false_alarm(f: Any, counted: bool) -> None:
    result = judge(SPIKY, {"findings": [finding("spike-slow-recovery", 500), f]})
    assert bool(result.false_positives) is counted


def test_a_finding_beside_an_event_that_leaves_the_loss_healthy_is_a_false_alarm() -> None:
    event = Event("overfitting", 500, 50, series="loss")
    label = Label("overfit", "worrying", main_series=("loss",), events=(event,), steps_healthy=100)
    spike = finding("spike-fast-recovery", 900)
    assert judge(label, {"findings": [finding("overfitting", 500), spike]}).false_positives
    diverging = replace(label, events=(replace(event, pattern="divergence-no-spike"),))
    assert not judge(diverging, {"findings": [finding("divergence-no-spike", 500), spike]}).false_positives


def test_after_a_level_shift_the_run_is_healthy_again() -> None:
    shifted = replace(SPIKY, events=(Event("level-shift", 500, 20, 510, None, (), "loss"),))
    late = finding("spike-fast-recovery", 900)
    assert judge(shifted, {"findings": [finding("level-shift", 500), late]}).false_positives


def test_one_finding_is_not_two_events() -> None:
    twice = replace(SPIKY, events=(SPIKY.events[0], replace(SPIKY.events[0], start_step=510)))
    result = judge(twice, {"findings": [finding("spike-slow-recovery", 508)]})
    assert [e.is_found for e in result.events] == [False, True]


def test_the_right_type_wins_over_the_nearer_onset() -> None:
    findings = [finding("nan-inf", 500), finding("spike-slow-recovery", 515)]
    assert judge(SPIKY, {"findings": findings}).events[0].found_as == "spike-slow-recovery"


@pytest.mark.parametrize("attempt", ["logs/b.csv", "b.csv", "b", "logs", "logs\\b.csv", None])
def test_spellings_of_an_attempt(attempt: str | None) -> None:
    two = replace(SPIKY, files=2, events=(replace(SPIKY.events[0], attempt="logs/b.csv"),))
    assert judge(two, {"findings": [finding("spike-slow-recovery", 500, attempt=attempt)]}).events[0].is_found


def test_another_attempt_is_another_event_where_there_are_several() -> None:
    event = replace(SPIKY.events[0], attempt="b.csv")
    elsewhere = {"findings": [finding("spike-slow-recovery", 500, attempt="a.csv")]}
    assert not judge(replace(SPIKY, files=2, events=(event,)), elsewhere).events[0].is_found
    assert judge(replace(SPIKY, files=1, events=(event,)), elsewhere).events[0].is_found


@pytest.mark.parametrize(
    "pattern, series, matches",
    [
        ("spike-slow-recovery", "loss.b", False),  # another of the series that are judged
        ("multi-dataset-spike", "loss.b", False),  # speaks of several series, but is not the right type
        ("spike-slow-recovery", "grad_norm", True),
        ("spike-slow-recovery", None, True),
    ],
)
def test_series_of_a_finding(pattern: str, series: str | None, matches: bool) -> None:
    label = replace(SPIKY, main_series=("loss", "loss.b"))
    assert judge(label, {"findings": [finding(pattern, 500, series)]}).events[0].is_found is matches


def test_a_pattern_across_series_matches_on_any_of_them() -> None:
    event = replace(SPIKY.events[0], also_ok=("multi-dataset-spike",))
    label = replace(SPIKY, main_series=("loss", "loss.b"), events=(event,))
    assert judge(label, {"findings": [finding("multi-dataset-spike", 500, "loss.b")]}).events[0].typed


@pytest.mark.parametrize("start", [None, float("nan"), "500"])
def test_a_finding_without_an_onset_is_passed_over(start: Any) -> None:
    assert not judge(SPIKY, {"findings": [finding("spike-slow-recovery", start)]}).events[0].is_found


def test_always_good_is_right_in_one_verdict_of_four() -> None:
    labels = [Label(v, v) for v in ("good", "good", "good", "worrying", "bad", "unexpected")]
    assert total([judge(label, {"verdict": "good"}) for label in labels]).verdicts["balanced"] == 0.25


# folders


LABEL = """\
verdict = "worrying"
required = ["level-shift"]
main_series = ["loss"]
steps_healthy = 1000
why = "steps up by 0.2 at 500 and stays"
seed_picture = "a picture"

[[events]]
pattern = "level-shift"
series = "loss"
start_step = 500
tolerance_steps = 10
"""


@pytest.fixture
def cases(tmp_path: Path) -> Iterator[Path]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "log.csv").write_text("step,loss\n1,2\n", "utf-8")
    (tmp_path / "one" / "label.toml").write_text(LABEL, "utf-8")
    good = {"verdict": "good", "required": ["near-perfect"], "main_series": ["loss"], "steps_healthy": 99_000}
    (tmp_path / "two" / "label.json").write_text(json.dumps({**good, "kind": "any other key"}), "utf-8")
    (tmp_path / "no label").mkdir()
    yield tmp_path


def spike_everywhere(folder: Path) -> dict[str, Any]:
    if folder.name == "two":
        raise UnknownFormat("log.csv", "no reader")
    return {"verdict": "bad", "patterns": ["level-shift"], "findings": [finding("spike-fast-recovery", 40)]}


def test_the_table(cases: Path) -> None:
    assert score_folder(cases, spike_everywhere).table() == (
        "case  ok    verdict (want)           events  fp  missing / FORBIDDEN / (extra)\n"
        "one   FAIL  bad (want worrying)      0/1     1\n"
        "two   FAIL  None (want good)         0/0     0   near-perfect / log.csv: no reader\n"
        "\n"
        "cases passed          0/2\n"
        "verdicts right        0/2 = 0.000, balanced over verdicts 0.000, main verdict 0/2\n"
        "required patterns     1/2 = 0.500, macro 0.500\n"
        "forbidden patterns    0\n"
        "events                recall 0/1 = 0.000 (alarms 0.000, macro 0.000), precision 0.000, F1 0.000\n"
        "type of what is found -, strictly -; macro recall with the right type 0.000\n"
        "false alarms          1 in 100,000 healthy points = 1.0 per 100,000\n"
        "\n"
        "wanted, given                     good    worrying         bad  unexpected        None\n"
        "good                                 0           0           0           0           1\n"
        "worrying                             0           0           1           0           0\n"
        "bad                                  0           0           0           0           0\n"
        "unexpected                           0           0           0           0           0\n"
        "\n"
        "pattern of event                events       found       typed\n"
        "level-shift                          1           0           0\n"
        "\n"
        "pictures passed       0/1\n"
        "  FAIL  a picture\n"
    )


def test_json_holds_what_the_table_shows(cases: Path) -> None:
    values = json.loads(json.dumps(score_folder(cases, spike_everywhere).to_json(), allow_nan=False))
    assert values["schema"] == "chronicle/score/1"
    assert [(c["id"], c["passed"], c["error"]) for c in values["cases"]] == [
        ("one", False, ""),
        ("two", False, "log.csv: no reader"),
    ]
    assert values["totals"]["events"]["false_alarms_per_100k"] == 1.0


def test_the_copy_to_judge_has_neither_label_nor_name(cases: Path) -> None:
    (cases / "one" / "notes.md").write_text("it is a level shift", "utf-8")
    with unlabelled(cases / "one") as copy:
        assert copy.name == "run" and [f.name for f in copy.iterdir()] == ["log.csv"]
    assert not copy.exists()
    assert (cases / "one" / "label.toml").exists()


def test_a_folder_without_labels_is_nothing_to_score(tmp_path: Path) -> None:
    with pytest.raises(NothingToRead, match=r"no labelled runs\. Remedy: put a label.toml"):
        score_folder(tmp_path, spike_everywhere)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "verdict = 'god'",
            "one/label.toml: verdict: 'god' is none of 'good', 'unexpected', 'worrying', 'bad'",
        ),
        ("required = []", "one/label.toml: verdict: '' is none of 'good', 'unexpected', 'worrying', 'bad'"),
        (
            "verdict = 'bad'\n[[events]]\npattern = 'hang'",
            "one/label.toml: events[0].start_step: must be a number, not None",
        ),
        (
            "verdict = 'bad'\nrequired = ['nan-inff']",
            "one/label.toml: required: 'nan-inff' is not a pattern. Did you mean 'nan-inf'?",
        ),
        ("verdict = ", "one/label.toml: is not a label: "),
        ("verdict = 'bad'\nevents = 3", "one/label.toml: events: must be a list, not 3"),
    ],
)
def test_a_wrong_label_is_an_error_that_names_it(cases: Path, text: str, message: str) -> None:
    (cases / "one" / "label.toml").write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        score_folder(cases, spike_everywhere)
    assert str(caught.value).startswith(message)


def test_several_diagnoses_of_one_folder_are_one_answer() -> None:
    good = {"run": "a", "verdict": "good", "patterns": ["near-perfect"], "findings": [finding("plateau", 1)]}
    bad = {"run": "b", "verdict": "bad", "patterns": ["nan-inf"], "findings": [finding("nan-inf", 9)]}
    both = one_answer([good, bad])
    assert (both["run"], both["verdict"], both["patterns"]) == ("b", "bad", ["nan-inf", "near-perfect"])
    assert [f["start_step"] for f in both["findings"]] == [1, 9]
    assert one_answer([]) == {}
