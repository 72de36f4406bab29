"""The headline of a run, the facts and the costs, from a timeline whose numbers are known."""

from dataclasses import replace

import numpy as np
import pytest

from chronicle.build.entry import costs, facts, make_entry
from chronicle.classify import classify
from chronicle.model import Attempt, Diagnosis, Fact, Fault, Finding, Place, Role, Series, Verdict
from chronicle.story import tell
from chronicle.timeline import stitch
from chronicle.workspace.config import RunConfig


def attempt(name, first, last, level, start_s):
    steps = np.arange(first, last + 1, 10)
    values = np.full(len(steps), level)
    times = start_s + (steps - first) * 1.0
    return Attempt(name, (name,), {"loss": Series("loss", Role.LOSS, steps, values, times, "nats/token")})


def rolled_back():
    first = attempt("a.csv", 0, 1000, 2.0, 0.0)
    first.series["loss"].values[80:] = 3.0
    return stitch([first, attempt("b.csv", 500, 2000, 1.9, 5000.0)], run_id="r")


def diagnosis(timeline, *findings, verdict=Verdict.BAD):
    patterns = tuple(sorted({f.pattern for f in findings}))
    return Diagnosis(verdict, patterns, findings, timeline.joins, (), "No loss was logged.")


def headline(timeline, judged):
    return tell(timeline, judged).headline


def test_headline_of_a_rollback():
    timeline = rolled_back()
    spike = Finding("spike-no-full-recovery", "loss", "b.csv", 800, 800, None, 0.8, 0.9)
    timeline.attempts[1].series["loss"].values[30:] = 3.0
    timeline.series["loss"].values[timeline.series["loss"].steps >= 800] = 3.0
    assert headline(timeline, diagnosis(timeline, spike)) == (
        "The loss jumped from 1.90 to 3.00 nats/token at step 800 and did not come down again. "
        "The run has 2 attempts (1 rollback), and 510 steps were discarded. The log ends at step 2\u202f000."
    )


def test_headline_begins_with_what_came_first_and_has_the_gravest():
    timeline = stitch([attempt("a.csv", 0, 1000, 2.0, 0.0)])
    mild = Finding("spike-fast-recovery", "loss", "a.csv", 100, 110, 130, 0.9, 0.9)
    first = Finding("divergence-no-spike", "loss", "a.csv", 700, None, None, 0.1, 0.9)
    grave = Finding("nan-inf", "loss", "a.csv", 900, None, None, 0.9, 0.9, {"nan_samples": 11})
    assert headline(timeline, diagnosis(timeline, mild, first, grave)) == (
        "The loss turned upwards at step 700, without a spike. "
        "The loss was NaN from step 900 to the end (11 logged values). The log ends at step 1\u202f000."
    )


def test_headline_without_findings():
    timeline = stitch([attempt("a.csv", 0, 1000, 2.0, 0.0)])
    sentence = headline(timeline, diagnosis(timeline))
    assert sentence == "No loss was logged. The log ends at step 1\u202f000."


def test_headline_of_a_good_run():
    timeline = stitch([attempt("a.csv", 0, 1000, 2.0, 0.0)])
    timeline.series["loss"].values[0] = 4.0
    near_perfect = Finding("near-perfect", "loss", "a.csv", 0, None, 1000, 0.0, 0.9)
    assert headline(timeline, diagnosis(timeline, near_perfect, verdict=Verdict.GOOD)) == (
        "The loss fell from 4.00 to 2.00 nats/token over steps 0 to 1\u202f000, and nothing disturbed it for "
        "long. The log ends at step 1\u202f000."
    )


def test_facts_in_full():
    config = RunConfig(gpus=8, tokens_per_step=1000.0, facts={"corpus": "web"})
    assert list(facts(rolled_back(), config)) == [
        Fact("Points logged", 252, "points", "counted, 1 metric"),
        Fact("First and last step", "0 – 2\u202f000", "steps", "as logged"),
        Fact("Attempts", 2, "attempts", "a.csv, b.csv"),
        Fact("loss, first and last", "2.00, 1.90", "nats/token", "live points"),
        Fact("loss, lowest", "1.90", "nats/token", "at step 500"),
        Fact("Wall clock", 1.81, "h", "first to last time in the log, gaps included"),
        Fact("Tokens", 2_000_000.0, "tokens", "last step × tokens_per_step of run.toml"),
        Fact("Accelerators", 8, "accelerators", "run.toml"),
        Fact("corpus", "web", "", "run.toml"),
    ]


def test_the_facts_hold_the_best_and_the_last_of_what_was_held_out():
    logged = attempt("a.csv", 0, 1000, 2.0, 0.0)
    steps = np.array([250, 500, 750])
    held_out = Series(
        "eval_loss", Role.VALIDATION_LOSS, steps, np.array([0.87, 0.84, 0.91]), np.full(3, np.nan)
    )
    timeline = stitch([replace(logged, series={**logged.series, "eval_loss": held_out})])
    assert Fact("eval_loss, lowest and last", "0.840, 0.910", None, "lowest at step 500") in facts(
        timeline, RunConfig()
    )


def test_zeros_before_the_first_loss_are_not_its_lowest_values():
    log = attempt("a.csv", 0, 1000, 2.0, 0.0)
    log.series["loss"].values[:3] = 0.0
    of_loss = [fact.value for fact in facts(stitch([log]), RunConfig()) if fact.quantity.startswith("loss, ")]
    assert of_loss == ["2.00, 2.00", "2.00"]


def test_a_copy_is_named_in_the_facts():
    log = attempt("a.csv", 0, 1000, 2.0, 0.0)
    log.series["loss"].values[:] = 2.0 + 1.0 / (1.0 + np.arange(101))
    timeline = stitch([log, replace(log, name="b.json", sources=("b.json",))])
    assert Fact("Copies", 1, "logs", "the same run, judged once: b.json") in list(
        facts(timeline, RunConfig())
    )


@pytest.mark.parametrize(
    ("step_s", "value", "unit"), [(36.0, 1.0, "h"), (3.0, 5.0, "min"), (0.25, 25.0, "s"), (np.nan, None, "h")]
)
def test_the_wall_clock_has_a_unit_of_its_size(step_s, value, unit):
    steps = np.arange(101)
    series = Series("loss", Role.LOSS, steps, 2.0 + 0.001 * steps, 1.7e9 + step_s * steps)
    by_quantity = {
        f.quantity: f for f in facts(stitch([Attempt("a.csv", (), {"loss": series})]), RunConfig())
    }
    how = "" if value is None else "first to last time in the log, gaps included"
    assert by_quantity["Wall clock"] == Fact("Wall clock", value, unit, how)


def test_what_logs_state_is_readable_and_said_once():
    stated = {
        "config/lr": 0.0006,
        "config/nothing": "",
        "started_at": 1_700_000_000.25,
        "finished_at": 1_700_003_600_000,
        "git_commit": "2f1e6cda4b1f0e9d8c7b6a5f4e3d2c1b0a998877",
        "world_size": 8,
        "summary": {"loss": 1.0},
        "argv": "x" * 300,
    }
    first = replace(attempt("a.csv", 0, 1000, 2.0, 0.0), facts={**stated, "job": "1"})
    second = replace(attempt("b.csv", 1010, 2000, 2.0, 9000.0), facts={**stated, "job": "2"})
    of_logs = [f for f in facts(stitch([first, second]), RunConfig()) if f.how in ("a.csv", "b.csv")]
    assert of_logs == [
        Fact("Started at", "2023-11-14T22:13:20Z", "", "a.csv"),
        Fact("Finished at", "2023-11-14T23:13:20Z", "", "a.csv"),
        Fact("Git commit", "2f1e6cda4b1f0e9d8c7b6a5f4e3d2c1b0a998877", "", "a.csv"),
        Fact("World size", 8, "processes", "a.csv"),
        Fact("Argv", "x" * 199 + "…", "", "a.csv"),
        Fact("Job", "1", "", "a.csv"),
        Fact("Job", "2", "", "b.csv"),
        Fact("config/lr", 0.0006, "", "a.csv"),
    ]


def test_costs_in_full():
    config = RunConfig(gpus=8, tokens_per_step=1000.0)
    cost = {fact.quantity: (fact.value, fact.unit) for fact in costs(rolled_back(), config)}
    assert cost["Steps discarded"] == (510, "steps")
    assert cost["Tokens discarded"] == (510_000.0, "tokens")
    assert cost["GPU hours discarded"] == (1.13, "GPU h")


def test_what_a_log_counts_is_the_unit_of_facts_and_costs():
    timeline = rolled_back()
    attempts = tuple(replace(a, axis="million tokens") for a in timeline.attempts)
    timeline = replace(timeline, attempts=attempts)
    by_quantity = {f.quantity: f for f in (*facts(timeline, RunConfig()), *costs(timeline, RunConfig()))}
    assert by_quantity["First and last million tokens"].unit == "million tokens"
    assert by_quantity["Million tokens discarded"].unit == "million tokens"
    assert by_quantity["loss, lowest"].how == "at 500 million tokens"


def test_nothing_derivable_is_not_guessed():
    cost = {fact.quantity: fact.value for fact in costs(rolled_back(), RunConfig())}
    assert (cost["Tokens discarded"], cost["GPU hours discarded"]) == (None, None)


def test_an_entry_says_what_could_not_be_used():
    first = attempt("a.csv", 0, 1000, 2.0, 0.0)
    faulty = Attempt(
        first.name,
        first.sources,
        first.series,
        faults=(Fault(Place("a.csv", 7), "no number", 3),),
        truncated=True,
    )
    timeline = stitch([faulty], run_id="r")
    judged = diagnosis(timeline)
    entry = make_entry("r", timeline, judged, RunConfig(title="T"), story=tell(timeline, judged))
    assert entry.title == "T"
    assert entry.warnings == (
        "a.csv:7: no number (3 times)",
        "a.csv: the last record is cut (a live log, or a process that was killed)",
    )


def test_a_run_that_is_called_by_a_number_has_the_name_of_its_tracker_for_title() -> None:
    facts = {"run": "98905c66b0ee", "name": "kicked and resumed"}
    (attempt,) = stitch({"loss": [3.0, 2.0, 1.0]}).attempts
    timeline = stitch(replace(attempt, facts=facts), run_id="mlruns-98905c66b0ee")
    judged = classify(timeline)
    story_of = {"story": tell(timeline, judged)}
    called = make_entry("mlruns-98905c66b0ee", timeline, judged, RunConfig(), **story_of)
    assert called.title == facts["name"]
    named = stitch(replace(attempt, facts=facts), run_id="mine")
    assert make_entry("mine", named, judged, RunConfig(), **story_of).title == "mine"
    task = "offline-03bd607bc9684ca1bb938c728799c9de"  # ClearML's, of which the log states the name alone
    unnumbered = stitch(replace(attempt, facts={"name": facts["name"]}), run_id=task)
    assert make_entry(task, unnumbered, judged, RunConfig(), **story_of).title == facts["name"]
    ours = make_entry("mlruns-98905c66b0ee", timeline, judged, RunConfig(title="Ours"), **story_of)
    assert ours.title == "Ours"
