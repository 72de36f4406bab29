"""Several runs in one table, as CSV and JSON lines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from chronicle.classify import classify
from chronicle.cli.doctor import examine
from chronicle.model import Attempt, Role
from chronicle.readers import csv_tables, json_lines, read, runs_below, runs_in_table
from chronicle.readers.columns import Table
from chronicle.timeline import stitch

WIDE = "run_id,run_name,step,loss\nx1,a,1,3.0\nx2,b,1,4.0\nx1,a,2,2.0\nx2,b,2,\n,,3,9.0\n"
LONG = "run,metric,value,step\na,loss,3.0,1\na,lr,0.1,1\nb,loss,4.0,1\na,loss,2.0,2\n"
SEEDS = "run,step,loss\n0,1,3.0\n1,1,4.0\n0,2,2.0\n"
EXPORT = '"Step","a - loss","a - loss__MIN","a - loss__MAX","b - loss","b - loss__MIN","b - loss__MAX"\n'
EXPORT += "1,3.0,3.0,3.0,4.0,4.0,4.0\n2,2.0,2.0,2.0,,,\n"
ALONE = "run,step,loss\na,1,3.0\na,2,2.0\n"
COURSES = [(model, data, seed) for model in ("gcn", "gat") for data in ("cora", "pubmed") for seed in (1, 2)]
BOTH = ("train", "valid")
NAMELESS = "step,loss\n1,3.0\n2,2.0\n"


@pytest.mark.parametrize(
    ("text", "losses_by_run"),
    [
        (WIDE, {"a": [3.0, 2.0], "b": [4.0], "": [9.0]}),
        (LONG, {"a": [3.0, 2.0], "b": [4.0]}),
        (SEEDS, {"0": [3.0, 2.0], "1": [4.0]}),
        (EXPORT, {"a": [3.0, 2.0], "b": [4.0]}),
        (ALONE, {"a": [3.0, 2.0]}),
        (NAMELESS, {"": [3.0, 2.0]}),
    ],
    ids=["wide", "long", "numbers", "export", "one run", "no run"],
)
def test_runs_of_a_table(text: str, losses_by_run: dict[str, list[float]], tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(text)
    attempts = csv_tables.read(file)
    assert {
        attempt.facts.get("run", ""): attempt.series["loss"].values.tolist() for attempt in attempts
    } == losses_by_run
    assert csv_tables.runs(file) == [run for run in losses_by_run if run]
    assert [attempt.name for attempt in attempts] == [
        f"t.csv: {run}" if len(losses_by_run) > 1 else "t.csv" for run in losses_by_run
    ]


@pytest.mark.parametrize(
    ("axis", "steps"),
    [("info/num_sampled", [50, 100]), ("Relative Time (Process)", [3, 4]), ("Step", [50, 100])],
)
def test_the_axis_of_an_exported_chart_counts_the_steps(axis: str, steps: list[int], tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    names = [f"a - {name}{end}" for name in ("_step", "loss") for end in ("", "__MIN", "__MAX")]
    file.write_text(f"{axis},{','.join(names)}\n50,3,3,3,2.5,2.5,2.5\n100,4,4,4,2,2,2\n")
    (attempt,) = csv_tables.read(file)
    assert attempt.series["loss"].steps.tolist() == steps


def test_each_is_a_run_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(SEEDS)
    (tmp_path / "t.tsv").write_text(NAMELESS.replace(",", "\t"))
    assert [(run.run_id, run.only) for run in runs_below(tmp_path / "t.csv")] == [("t/0", "0"), ("t/1", "1")]
    assert [(run.run_id, run.only) for run in runs_below(tmp_path / "t.tsv")] == [("t.tsv", "")]
    assert len(read(tmp_path / "t.csv")) == 2


def test_runs_of_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    rows = [{"run": "ab"[i % 2], "step": i // 2, "loss": 3.0 - i} for i in range(6)]
    file.write_text('{"config": {"lr": 0.1}}\n' + "".join(json.dumps(row) + "\n" for row in rows))
    attempts = json_lines.read(file)
    assert [attempt.series["loss"].values.tolist() for attempt in attempts] == [
        [3.0, 1.0, -1.0],
        [2.0, 0.0, -2.0],
    ]
    assert [attempt.facts for attempt in attempts] == [{"run": run, "config/lr": 0.1} for run in "ab"]
    assert json_lines.runs(file) == ["a", "b"]
    file.write_text(file.read_text().replace('"run"', '"name"'))
    assert json_lines.runs(file) == []
    assert len(json_lines.read(file)) == 1


@pytest.mark.parametrize("header", ["", "run\n", '"run,step\n', "run,step,loss\n"])
def test_a_table_without_rows_has_no_runs(header: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(header)
    assert csv_tables.runs(tmp_path / "t.csv") == []


@pytest.mark.parametrize(
    ("header", "rows", "metrics"),
    [
        ("metric,variant", ("loss,train", "loss,val"), ["loss/train", "loss/val"]),
        ("metric,variant", ("train,loss", "val,loss"), ["train/loss", "val/loss"]),
        ("title,series", ("loss,train", "loss,val"), ["loss/train", "loss/val"]),
        ("tag,name", ("loss,exp", "lr,exp"), ["loss", "lr"]),  # a name that is always the same
        ("key,name", ("train,loss", "val,lr"), ["train/loss", "val/lr"]),
        ("variable,note", ("loss,a", "lr,b"), ["loss", "lr"]),
        ("series,note", ("loss,a", "lr,b"), ["loss", "lr"]),
    ],
)
def test_whatever_names_the_series_of_a_long_table(
    header: str, rows: tuple[str, str], metrics: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "t.csv"
    lines = [f"{step},{row},{step}.{place}\n" for step in (1, 2, 3) for place, row in enumerate(rows)]
    file.write_text(f"step,{header},value\n" + "".join(lines))
    (attempt,) = csv_tables.read(file)
    assert {name: series_.values.tolist() for name, series_ in attempt.series.items()} == {
        metrics[0]: [1.0, 2.0, 3.0],
        metrics[1]: [1.1, 2.1, 3.1],
    }
    names = header.split(",")
    records = [dict(zip(["step", *names, "value"], line.strip().split(","), strict=True)) for line in lines]
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    (same,) = json_lines.read(file)
    assert {n: s.values.tolist() for n, s in same.series.items()} == {
        n: s.values.tolist() for n, s in attempt.series.items()
    }


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_where_nothing_counts_the_rows_of_each_run_are_counted(name: str, tmp_path: Path) -> None:
    rows = [("a", 3.0), ("a", 2.0), ("b", 4.0), ("a", 1.0), ("b", 2.5)]
    text = "".join(f"{run},{loss},0.1\n" for run, loss in rows)
    lines = "".join(json.dumps({"run": run, "loss": loss}) + "\n" for run, loss in rows)
    (tmp_path / name).write_text(lines if name == "t.jsonl" else "run,loss,lr\n" + text)
    losses = [attempt.series["loss"] for attempt in read(tmp_path / name)]
    assert [attempt.steps.tolist() for attempt in losses] == [[0, 1, 2], [0, 1]]
    assert [attempt.values.tolist() for attempt in losses] == [[3.0, 2.0, 1.0], [4.0, 2.5]]


def test_a_table_of_many_runs_is_read_in_proportion_to_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_read: list[int] = []
    real = runs_in_table.attempt_of

    def counted(table: Table) -> Attempt:
        n_read.append(table.n_rows)
        return real(table)

    monkeypatch.setattr(runs_in_table, "attempt_of", counted)
    rows = [{"run": f"r{run}", "step": step, "loss": 3.0 - step} for run in range(300) for step in range(4)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(json_lines.read(tmp_path / "t.jsonl")) == 300
    assert n_read == [4] * 300


NAMES = [f"image{k}.png,{k % 2},{k * 7 % 10 / 10}" for k in range(8)]
SWEEP = ["method,width,final_loss", *(f"{m},{w},{1 + w / 64}" for w in (8, 16, 32) for m in ("adam", "lion"))]
OF_RUNS = ["run_name,lr,val_loss", *(f"{m},0.1,{2 + k / 9}" for k, m in enumerate(("base", "big", "odd")))]
LONG = ["run_id,metric_name,value", *(f"{k % 3},{('val_loss', 'acc')[k // 3]},{k / 7}" for k in range(6))]
GRID = ["width,depth,test_loss", *(f"{w},{d},{w / d}" for d in (1, 2, 4) for w in (8, 16, 32))]
ITEMS = ["filename,label,score", *NAMES]
WORDS = ("day", "way", "cat", "dog", "cow", "ant")
SENTENCES = [f"The {w} of step {k} was long.,{-k * 7 % 10 / 10},{k % 3}" for k, w in enumerate(WORDS)]
SENTENCES += [f"Nobody heard of the {w} before.,-{k}.5,{k % 2}" for k, w in enumerate((*WORDS, "bee"))]
TRANSLATED = ["reference,score,label", *SENTENCES]
DRAWN = ["idx,mse", *(f"{i},0.{i}" for i in (57, 12, 93, 40, 8, 71, 26, 64))]
ROWS = ["idx,mse", *(f"{k},0.{k}" for k in range(3, 11))]
NUMBERED = ["sample_id,reward", *(f"{k},{k * 7 % 10 / 10}" for k in range(8))]
GRID_OF_TWO = [(k * 3 % 4 * 500, k % 3 * 100) for k in range(12)]
RANKED = ["n_in,n_out,test_loss", *(f"{a},{b},{0.1 + k / 50}" for k, (a, b) in enumerate(GRID_OF_TWO))]
FALLING = ["n_in,n_out,test_loss", *(f"{a},{b},{1 - k / 50}" for k, (a, b) in enumerate(GRID_OF_TWO))]
RISING = ["test_loss,norm", *(f"{0.1 + k / 50},{k % 3 + 0.5}" for k in range(12))]
CHECKPOINTS = ["checkpoint,nodes,score", *(f"model_epoch{k}.pt,{k},{k / 10}" for k in range(8))]
SIZES = ["units,parameters,train_loss", *(f"{n},{790 * n + 10},{1 / n:.4f}" for n in range(4, 16))]
SHARES = [
    "train_ratio,num_train_samples,train,val",
    *(f"{k / 8},{510 * k},0.9{9 - k},0.9{k}" for k in range(1, 9)),
]
HISTORY = ["loss,accuracy,improved", *(f"{3 - k / 4},{k / 10},{k % 3 > 0}" for k in range(8))]
PHASES = ["optimizer,loss,val_loss", *(f"{'adam' if k < 20 else 'lion'},{3 - k / 16},3.5" for k in range(40))]
COUNTED = ["filename,step,loss", *(f"shard{k}.bin,{k},{3 - k / 4}" for k in range(8))]
OF_TOTAL = ["timestep,total_timesteps,clips,reward", *(f"{k}00,5000,{k // 4},{k}.5" for k in range(1, 9))]
FOLDS = ["fold,loss,val_acc", *(f"{k},{1 - k / 40},{0.8 + k % 3 / 50}" for k in range(1, 11))]
LAST = [",Fold,Epoch,Loss", *(f"{k},{k},200,0.3{k}" for k in range(9))]
OF_SWEEP = ["name,_step,epoch,width,val_loss"]
OF_SWEEP += [f"{w}-sweep-{k},{90 - k * 37 % 50},{9 - k % 3},{2**k},0.{k}" for k, w in enumerate(WORDS * 2)]
OF_IMAGES = ["image id,epoch,mse"]  # each after as many epochs as the one before, or others
OF_IMAGES += [f"{WORDS[k % 4]}{k},{(100, 500, 300, 200)[k // 3 % 4]},0.{k * 7 % 10}5" for k in range(24)]
PREDICTED = ["batch,loss,Predicted Class,Ground Truth"]
PREDICTED += [f"{k % 3},0.{k * 7 % 10}1,[1],[{k % 2}]" for k in range(30)]
FOLLOWED = ["epoch,loss,prediction,target", *(f"{k},{3 - k / 9},{1 - 1 / (k + 2):.4f},1" for k in range(12))]
SIMULATED = ["timestep,reward,load"]
SIMULATED += [f"2021-03-0{1 + k // 24} {k % 24:02}:00:00,{k % 5 - 2.5},0.{k}" for k in range(48)]
LOGGED = [SIMULATED[0], *(row.replace(":00:", f":{k * 7 % 10}0:") for k, row in enumerate(SIMULATED[1:]))]
CROSSED = ["quad,points,rate,error"]
CROSSED += [f"{n},{d},{r},{1 / (n + d * r):.4f}" for n in (2, 4, 8) for d in (1, 2) for r in (1, 3, 5)]
NO_COURSE = "configurations or items ({}), no steps"


@pytest.mark.parametrize(
    ("lines", "axis", "rows", "role"),
    [
        (SWEEP, "item", NO_COURSE.format("method"), Role.OTHER),
        (OF_RUNS, "item", NO_COURSE.format("results of runs"), Role.OTHER),
        (LONG, "item", NO_COURSE.format("results of runs"), Role.OTHER),
        (GRID, "item", NO_COURSE.format("width"), Role.OTHER),
        (ITEMS, "item", NO_COURSE.format("filename"), Role.OTHER),
        (NUMBERED, "item", NO_COURSE.format("sample_id"), Role.OTHER),
        (TRANSLATED, "item", NO_COURSE.format("reference"), Role.OTHER),
        (DRAWN, "item", NO_COURSE.format("idx"), Role.OTHER),
        (ROWS, "step", None, Role.LOSS),
        (RANKED, "item", NO_COURSE.format("n_in, n_out"), Role.OTHER),
        (FALLING, "row", None, Role.VALIDATION_LOSS),
        (RISING, "row", None, Role.VALIDATION_LOSS),
        (CHECKPOINTS, "row", None, Role.OBJECTIVE),
        (HISTORY, "row", None, Role.LOSS),
        (SIZES, "item", NO_COURSE.format("parameters"), Role.OTHER),
        (SHARES, "item", NO_COURSE.format("num_train_samples"), Role.OTHER),
        (PHASES, "row", None, Role.LOSS),
        (OF_TOTAL, "step", None, Role.OBJECTIVE),
        (COUNTED, "step", None, Role.LOSS),
        (FOLDS, "item", NO_COURSE.format("fold"), Role.OTHER),
        (LAST, "item", NO_COURSE.format("Fold"), Role.OTHER),
        (OF_SWEEP, "item", NO_COURSE.format("name"), Role.OTHER),
        (OF_IMAGES, "item", NO_COURSE.format("image id"), Role.OTHER),
        (SIMULATED, "item", NO_COURSE.format("timestep"), Role.OTHER),
        (LOGGED, "row", None, Role.OBJECTIVE),
        (CROSSED, "item", NO_COURSE.format("quad, points, rate"), Role.OTHER),
        (PREDICTED, "item", NO_COURSE.format("Predicted Class, Ground Truth"), Role.OTHER),
        (FOLLOWED, "epoch", None, Role.LOSS),
    ],
    ids=[
        "sweep",
        "a row for each run",
        "a value for each run and metric",
        "grid",
        "items",
        "numbered",
        "sentences",
        "drawn",
        "rows of an index",
        "ranked",
        "falling",
        "rising",
        "checkpoints",
        "flags",
        "models of several sizes",
        "training sets of several sizes",
        "phases",
        "beside a total",
        "counted",
        "folds",
        "last epochs of folds",
        "runs of a sweep",
        "results at equal epochs",
        "moments of a simulation",
        "times of a training",
        "a full grid",
        "predictions",
        "prediction of each epoch",
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_that_are_configurations_or_items_are_no_course(
    lines: list[str], axis: str, rows: str | None, role: Role, ending: str, tmp_path: Path
) -> None:
    names, *cells = (line.split(",") for line in lines)
    records = [json.dumps(dict(zip(names, row, strict=True))) for row in cells]
    file = tmp_path / f"results.{ending}"
    file.write_text("\n".join(lines if ending == "csv" else records) + "\n")
    (attempt,) = read(file)
    assert (attempt.axis, attempt.facts.get("rows")) == (axis, rows)
    assert role in {series.role for series in attempt.series.values()}
    assert (axis == "item") is all(series.role is Role.OTHER for series in attempt.series.values())


@pytest.mark.parametrize(
    ("name", "counted", "axis"),
    [
        ("eval_results.csv", "episode", "item"),
        ("run7-evaluation.csv", "Episode", "item"),
        ("training_rewards.csv", "episode", "step"),
        ("eval_results.csv", "step", "step"),
        ("eval_results.csv", "timesteps,episode", "step"),
    ],
)
def test_each_episode_of_an_evaluation_is_an_item(name: str, counted: str, axis: str, tmp_path: Path) -> None:
    rows = (f"{','.join([str(k)] * (1 + counted.count(',')))},{20 - k % 7}.5" for k in range(1, 60))
    (tmp_path / name).write_text("\n".join([f"{counted},reward", *rows]) + "\n")
    (attempt,) = read(tmp_path / name)
    assert attempt.axis == axis


@pytest.mark.parametrize(
    ("name", "names", "axis"),
    [
        ("evaluation_metrics.csv", "episode_reward,episode_length", "item"),
        ("training_metrics.csv", "episode_reward,episode_length", "row"),
        ("evaluation_metrics.csv", "mean_reward,mean_length", "row"),
        ("evaluation_metrics.csv", "episode_reward,coverage", "row"),
    ],
)
def test_what_each_episode_of_an_evaluation_came_to_is_an_item(
    name: str, names: str, axis: str, tmp_path: Path
) -> None:
    """Of a single evaluation, whose episodes nothing numbers. Means may be those of many."""
    (tmp_path / name).write_text(
        "\n".join([names, *(f"{20 - k % 7}.5,{90 + k % 9}" for k in range(40))]) + "\n"
    )
    (attempt,) = read(tmp_path / name)
    assert attempt.axis == axis


def test_evaluations_after_every_tenth_episode_are_a_course(tmp_path: Path) -> None:
    rows = "".join(f"{10 * k},{k % 7}.5\n" for k in range(1, 60))
    (tmp_path / "eval_rewards.csv").write_text("episode,reward\n" + rows)
    (attempt,) = read(tmp_path / "eval_rewards.csv")
    assert attempt.axis == "step"


def test_the_steps_of_one_episode_are_no_training(tmp_path: Path) -> None:
    """Its last row alone says that it is over. Where many episodes end, the rows may be a training."""
    for name, length in (("one", 40), ("many", 5)):
        rows = (f"{k // length},{k},{0.1 - k // 30},{(k + 1) % length == 0}" for k in range(40))
        (tmp_path / f"{name}.csv").write_text("\n".join(["episode,step,reward,done", *rows]) + "\n")
    assert classify(read(tmp_path / "one.csv")).because == (
        "Cannot tell: the rows of the log are the steps of one episode, no steps of a training."
        " If they are steps, name the loss with `roles` in run.toml."
    )
    (many,) = read(tmp_path / "many.csv")
    assert many.axis == "step"


def test_of_results_nothing_is_judged_unless_somebody_says_what(tmp_path: Path) -> None:
    file = tmp_path / "results.csv"
    file.write_text("\n".join(SWEEP) + "\n")
    assert classify(read(file)).because == (
        "Cannot tell: the rows of the log are configurations or items (method), no steps of a training."
        " If they are steps, name the loss with `roles` in run.toml."
    )
    (attempt,) = read(file, aliases=[("final_loss", Role.LOSS)])
    assert [series.role for series in attempt.series.values()] == [Role.OTHER, Role.LOSS]
    doubt = (
        "its rows are configurations or items (method), no steps of a training, and nothing of it is judged."
        " If they are steps, name the loss with `roles` in run.toml"
    )
    assert examine(file)["doubts"] == [doubt]


def test_when_results_were_written_is_no_hang(tmp_path: Path) -> None:
    days = [f"2025-02-0{1 if k < 20 else 9}T10:{k:02}:00" for k in range(40)]
    rows = [f"svm{k % 4},{day},{0.9 + k % 7 / 100},831.4,{k % 5}" for k, day in enumerate(days)]
    table = "\n".join(["model,timestamp,accuracy,memory,threads", *rows])
    (tmp_path / "results.csv").write_text(table + "\n")
    attempts = read(tmp_path)
    assert attempts[0].axis == "item" and np.isfinite(attempts[0].series["accuracy"].times).all()
    assert classify(attempts).findings == ()


def test_results_beside_a_training_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("\n".join(SWEEP) + "\n")
    (tmp_path / "train.csv").write_text(NAMELESS)
    (attempt,) = read(tmp_path)
    assert attempt.name == "train.csv"
    assert [(fault.where, fault.what) for fault in attempt.faults] == [
        (str(tmp_path / "results.csv"), "its rows are configurations or items (method), no steps; left out")
    ]


IN_FOLDS = ["fold,epoch,train_loss", *(f"{k // 5},{k % 5},{3 - k % 5 / 4 + k // 5}" for k in range(20))]
OF_AGENTS = ["Simulation,Agent,Episode,Reward"]  # the agents of each simulation take turns
OF_AGENTS += [f"{k // 12},{k % 3},{k // 3 % 4},{k // 3 % 4 + k % 3 / 4 + k // 12}" for k in range(24)]
OF_METHODS = ["method,epoch,loss", *(f"{('ours', 'base')[k % 2]},{k // 2},{9 - k / 4}" for k in range(12))]
OF_CLIENTS = [
    "Client_ID,Round,Loss,lr",
    *(f"{k % 3 + 1},{k // 3},{9 - k / 4},0.{k // 3 + 1}" for k in range(15)),
]
SAMPLED = ["agent,episode,reward"]  # another one is missing in each episode
SAMPLED += [f"v_{k},{e},{e - k / 4}" for e in range(9) for k in range(3) if k != e % 3]


@pytest.mark.parametrize(
    ("lines", "kind", "expected"),
    [
        (IN_FOLDS, "trial", {f"fold {k}": [3 - e / 4 + k for e in range(5)] for k in range(4)}),
        (
            OF_AGENTS,
            "trial",
            {
                f"simulation {s}/agent {a}": [e + a / 4 + s for e in range(4)]
                for s in range(2)
                for a in range(3)
            },
        ),
        (
            OF_METHODS,
            "run",
            {"ours": [9 - e / 2 for e in range(6)], "base": [8.75 - e / 2 for e in range(6)]},
        ),
    ],
    ids=["folds", "agents", "methods"],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_several_trainings_are_told_apart_by_what_makes_their_steps_go_on(
    lines: list[str], kind: str, expected: dict[str, list[float]], ending: str, tmp_path: Path
) -> None:
    """One after the other, or in turns. Texts name runs; numbers are those of trainings of one run."""
    file = tmp_path / f"t.{ending}"
    file.write_text(_written(lines, ending))
    attempts = read(file)
    own = [next(s for s in a.series.values() if s.role in (Role.LOSS, Role.OBJECTIVE)) for a in attempts]
    values = [series.values.tolist() for series in own]
    assert dict(zip([attempt.facts[kind] for attempt in attempts], values, strict=True)) == expected
    assert {attempt.name for attempt in attempts} == {f"t.{ending}: {name}" for name in expected}
    assert len(runs_below(file)) == (len(expected) if kind == "run" else 1)
    if kind == "trial":
        timeline = stitch(attempts)
        assert len(timeline.attempts) == len(expected) and not timeline.joins


def _written(lines: list[str], ending: str) -> str:
    names, *rows = (line.split(",") for line in lines)
    cells = ([json.loads(c) if c[0].isdigit() or c[0] == "-" else c for c in row] for row in rows)
    records = [json.dumps(dict(zip(names, row, strict=True))) for row in cells]
    return "\n".join(lines if ending == "csv" else records) + "\n"


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_of_participants_that_take_turns_are_series_of_one_training(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{ending}").write_text(_written(OF_CLIENTS, ending))
    (tmp_path / f"b.{ending}").write_text(_written(SAMPLED, ending))
    clients, agents = (read(tmp_path / f"{name}.{ending}")[0].series for name in "ab")
    assert [*clients] == ["client 1/Loss", "client 2/Loss", "client 3/Loss", "lr"]
    assert all(series.steps.tolist() == [0, 1, 2, 3, 4] for series in clients.values())
    assert clients["client 2/Loss"].values.tolist() == [9 - (3 * r + 1) / 4 for r in range(5)]
    assert clients["lr"].values.tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert {name: series.steps.tolist() for name, series in agents.items()} == {
        f"v_{k}/reward": [e for e in range(9) if e % 3 != k] for k in (1, 2, 0)
    }
    assert agents["v_1/reward"].values.tolist() == [e - 0.25 for e in range(9) if e % 3 != 1]


@pytest.mark.parametrize(
    "rows",
    [
        [f"{k},{3 - k / 9},ok" for k in (*range(9), *range(6, 18))],
        [f"{k // 2},{3 - k / 9},{('ok', 'slow')[k * 7 % 5 > 2]}" for k in range(24)],
        [f"{k - k % 9 // 8},{3 - k / 9},env_{k % 4}" for k in range(27)],
    ],
    ids=["a resume", "a text that tells nothing", "steps that rarely stay"],
)
def test_a_text_that_makes_no_steps_go_on_parts_no_training(rows: list[str], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("\n".join(["step,loss,note", *rows]) + "\n")
    (attempt,) = read(tmp_path / "t.csv")
    assert len(attempt.series["loss"]) == len(rows)


def _grid(settings: str, steps: str) -> str:
    """A table of the results of six settings, each at all of the steps."""
    rows = [f"{k},{s},{1 / (k + 1) + 10 / int(s):.3f}\n" for k in range(6) for s in steps.split()]
    return f"{settings},epochs,loss\n" + "".join(rows)


REPETITIONS = "model,horizon,iteration,mse\n" + "".join(
    f"{model},{horizon},{n},{horizon / 40 + (7 * n) % 5 / 10}\n"
    for model in ("linear", "patch", "tree")
    for horizon in (24, 48, 96, 192)
    for n in (1, 2, 3)
)
BATCHES = [(4, 1), (4, 1), (4, 2), *((2, n) for n in range(1, 40))]  # sizes of a batch and steps
# A learning rate, the tokens of a batch, and steps: four launches, the last three of which go on from none.
LAUNCHES = [(1e-4, 53864, 0), (1e-4, 54965, 0), (1e-5, 53102, 0), (1e-5, 52996, 0)]
LAUNCHES += [(1e-5, 50000 + (7919 * n) % 4999, n) for n in range(1, 30)]
DRAWN_SEEDS = (5345, 7445, 12, 991, 4895, 77, 310, 2048, 5, 1234)


@pytest.mark.parametrize(
    ("text", "rows", "axis"),
    [
        (_grid("batch_size", "10 20 50 100"), "configurations or items (batch_size), no steps", "item"),
        (_grid("seed", "1000 5000 10000"), "configurations or items (seed), no steps", "item"),
        (_grid("lr", "1 2 3 4 5 6 7 8 9 10 20"), None, "epoch"),
        (REPETITIONS, "configurations or items (model, horizon), no steps", "item"),
        (
            REPETITIONS.rpartition("tree,192,2")[0],
            "configurations or items (model, horizon), no steps",
            "item",
        ),
        (
            "trial,epoch,val_acc\n" + "".join(f"{k},{(7 * k) % 11 + 3},{k / 40}\n" for k in range(24)),
            "configurations or items (trial), no steps",
            "item",
        ),
        (
            "batch_size,loss,step,tokens\n" + "".join(f"{b},{9 / n},{n},{512 * b}\n" for b, n in BATCHES),
            None,
            "step",
        ),
        (
            "learning_rate,loss,num_tokens,step\n"
            + "".join(f"{rate},{n % 7},{tokens},{n}\n" for rate, tokens, n in LAUNCHES),
            None,
            "step",
        ),
        (
            "seed,test_loss,train_loss\n" + "".join(f"{s},5.{s % 7},3.{s % 5}\n" for s in DRAWN_SEEDS),
            "configurations or items (seed), no steps",
            "item",
        ),
    ],
    ids=[
        "grid",
        "seeds",
        "curves",
        "repetitions",
        "repetitions of which some lack",
        "trials",
        "sizes of batches",
        "tokens of batches",
        "a seed each",
    ],
)
def test_a_grid_of_results_is_one_table_of_them(
    text: str, rows: str | None, axis: str, tmp_path: Path
) -> None:
    (tmp_path / "results.csv").write_text(text)
    (attempt,) = read(tmp_path / "results.csv")
    assert (attempt.facts.get("rows"), attempt.axis) == (rows, axis)
    if axis == "item":
        assert len(stitch([attempt]).attempts) == 1


def test_a_course_of_each_configuration_is_a_run(tmp_path: Path) -> None:
    """Model, data set and seed change only where the epochs begin anew, one or several at once."""
    header = "model,dataset,seed,epoch,loss,note\n"
    rows = [(*c, n, 3 / (n + 1), "x") for c in COURSES for n in range(6)]
    (tmp_path / "curves.csv").write_text(header + "".join(",".join(map(str, row)) + "\n" for row in rows))
    objects = [dict(zip(header.strip().split(","), row, strict=True)) for row in rows]
    (tmp_path / "curves.jsonl").write_text("".join(json.dumps(row) + "\n" for row in objects))
    names = [f"{model}/{data}/seed {seed}" for model, data, seed in COURSES]
    for file in (tmp_path / "curves.csv", tmp_path / "curves.jsonl"):
        attempts = read(file)
        assert sorted(attempt.facts["run"] for attempt in attempts) == sorted(names)
        assert {len(attempt.series["loss"]) for attempt in attempts} == {6}
        assert sorted(run.only for run in runs_below(file)) == sorted(names)


def test_a_text_that_changes_within_a_course_tells_no_runs_apart(tmp_path: Path) -> None:
    rows = [f"{'warm' if n < 3 else 'main'},{n},{3 / (n + 1)}\n" for _ in range(2) for n in range(6)]
    (tmp_path / "train.csv").write_text("schedule,epoch,loss\n" + "".join(rows))
    (attempt,) = read(tmp_path / "train.csv")
    assert len(attempt.series["loss"]) == 12


def test_episodes_with_a_reward_are_no_items_whatever_world_they_name(tmp_path: Path) -> None:
    rows = [f"{n % 3 + 1},world_{n * 7 % 5}.json,{n / 4 - 3}\n" for n in range(20)]
    (tmp_path / "episode_log.csv").write_text("episode,world_file,reward\n" + "".join(rows))
    (attempt,) = read(tmp_path / "episode_log.csv")
    assert attempt.axis != "item" and len(attempt.series["reward"]) == 20


def test_a_long_table_with_a_metric_after_the_other(tmp_path: Path) -> None:
    """As the data frame of a history in R: neither the metric nor the phase tells runs apart."""
    rows = [
        f'{epoch},{epoch + 0.25 * len(phase)},"{metric}","{phase}"\n'
        for metric in ("loss", "accuracy")
        for phase in ("training", "validation")
        for epoch in range(1, 11)
    ]
    (tmp_path / "history.csv").write_text('"epoch","value","metric","data"\n' + "".join(rows))
    (attempt,) = read(tmp_path / "history.csv")
    assert [*attempt.series] == ["loss", "validation/loss", "accuracy", "validation/accuracy"]
    assert [curve.steps.tolist() for curve in attempt.series.values()] == 4 * [[*range(1, 11)]]


def test_a_count_with_a_row_for_each_phase_counts(tmp_path: Path) -> None:
    rows = [
        f'"{2 * n + k}","{n}","{3 / n + k}","{phase}"' for n in range(1, 9) for k, phase in enumerate(BOTH)
    ]
    (tmp_path / "records.csv").write_text('"","epochs","loss","type"\n' + "\n".join(rows) + "\n")
    (attempt,) = read(tmp_path / "records.csv")
    assert {name: curve.steps.tolist() for name, curve in attempt.series.items()} == {
        "loss": [*range(1, 9)],
        "valid/loss": [*range(1, 9)],
    }


def test_a_long_table_of_mostly_texts(tmp_path: Path) -> None:
    """As Aim exports a chart."""
    rows = [
        f"ab,run 1,loss,{phase},{step},{3 / (step + 1)}\n" for phase in ("train", "val") for step in range(8)
    ]
    header = "run.hash,run.name,metric.name,context.subset,step,value\n"
    (tmp_path / "metrics.csv").write_text(header + "".join(rows))
    (attempt,) = read(tmp_path / "metrics.csv")
    assert {name: len(curve) for name, curve in attempt.series.items()} == {"loss": 8, "val/loss": 8}


def test_whatever_begins_again_with_each_model_counts(tmp_path: Path) -> None:
    rows = [f"{model},{n},{3 / n}\n" for model in ("unet", "diffusion") for n in range(1, 11)]
    (tmp_path / "curve.csv").write_text("model,effective_pass,train_loss\n" + "".join(rows))
    lengths = {run.facts["run"]: len(run.series["train_loss"]) for run in read(tmp_path / "curve.csv")}
    assert lengths == {"unet": 10, "diffusion": 10}
