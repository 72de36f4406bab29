"""Tables as loggers write them: appended restarts, several runs in one file, folders of one metric a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.logs import attempt_of, points_of

from chronicle.model import Role
from chronicle.readers import read, runs_below
from chronicle.timeline import stitch

# --- one table, several launches ---


def test_keras_appends_a_restart_whose_epochs_begin_at_0(tmp_path: Path) -> None:
    rows = "0,0.51,2.1\n1,0.62,1.7\n2,0.66,1.5\n0,0.64,1.6\n1,0.69,1.4\n"
    attempt = attempt_of(tmp_path, "epoch,accuracy,loss\n" + rows)
    assert attempt.axis == "epoch"
    assert points_of(attempt, "loss") == [(0, 2.1), (1, 1.7), (2, 1.5), (0, 1.6), (1, 1.4)]


@pytest.mark.parametrize("header", ["step,loss\n", " step , loss\n", '"step","loss"\n'])
def test_an_appended_header_is_no_row_and_no_fault(header: str, tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, f"step,loss\n10,2.5\n20,2.25\n{header}10,2.5\n20,2.125\n")
    assert points_of(attempt, "loss") == [(10, 2.5), (20, 2.25), (10, 2.5), (20, 2.125)]
    assert attempt.faults == ()


def test_lightning_writes_the_last_validation_a_step_back(tmp_path: Path) -> None:
    text = "epoch,lr,step,train_loss,val_loss\n0,,49,2.43,\n0,,99,2.1,\n0,,98,,2.2\n0,0.001,98,,\n"
    attempt = attempt_of(tmp_path, text, "metrics.csv")
    assert points_of(attempt, "train_loss") == [(49, 2.43), (99, 2.1)]
    assert points_of(attempt, "val_loss") == [(98, 2.2)]
    assert stitch([attempt]).joins == ()


def test_lightning_versions_are_attempts_of_one_run(tmp_path: Path) -> None:
    for version, first in (("version_0", 0), ("version_1", 200), ("version_10", 400)):
        folder = tmp_path / "lightning_logs" / version
        folder.mkdir(parents=True)
        (folder / "hparams.yaml").write_text("lr: 0.001\n")
        (folder / "metrics.csv").write_text(
            f"epoch,step,train_loss\n0,{first + 49},2.5\n0,{first + 99},2.25\n"
        )
    assert len(runs_below(tmp_path)) == 1
    assert [attempt.series["train_loss"].steps[0] for attempt in read(tmp_path)] == [49, 249, 449]


# --- one table, several runs ---


def test_a_wandb_export_names_runs_with_dates_and_dashes(tmp_path: Path) -> None:
    runs = ("2025-04-17 22:06:37 - tp-0", "17/04/2025_22:06:37_elie-48n-part1", "sft - v2 - final")
    names = [f"{run} - train/loss{end}" for run in runs for end in ("", "__MIN", "__MAX")]
    rows = ['"1","2.5","2.5","2.5","","","","2.75","2.75","2.75"', '"2","","","","3.5","3.5","3.5","","",""']
    file = tmp_path / "export.csv"
    file.write_text("\n".join([",".join(f'"{name}"' for name in ("Step", *names)), *rows, ""]))
    by_run = {attempt.facts["run"]: points_of(attempt, "train/loss") for attempt in read(file)}
    assert by_run == dict(zip(runs, [[(1, 2.5)], [(2, 3.5)], [(1, 2.75)]], strict=True))
    assert {source.only for source in runs_below(file)} == set(runs)


def test_an_mlflow_export_is_long_and_names_its_runs(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    head = "run_uuid,key,value,timestamp,step,is_nan\n"
    file.write_text(
        head + "a1,loss,2.5,1700000000000,1,False\nb2,loss,3.5,1700000000500,1,False\n"
        "a1,loss,2.25,1700000001000,2,False\nb2,loss,3.25,1700000001500,2,False\n"
    )
    first, second = read(file)
    assert [points_of(first, "loss"), points_of(second, "loss")] == [
        [(1, 2.5), (2, 2.25)],
        [(1, 3.5), (2, 3.25)],
    ]
    assert first.series["loss"].times.tolist() == [1.7e9, 1.7e9 + 1]


# --- spellings ---


def test_baselines_count_timesteps_in_columns_of_any_order(tmp_path: Path) -> None:
    text = "loss_vf_loss,EpRewMean,TimestepsSoFar,TimeElapsed\n0.5,12.5,2048,1.5\n0.4,14.5,4096,3.0\n"
    attempt = attempt_of(tmp_path, text, "progress.csv")
    assert (attempt.axis, points_of(attempt, "EpRewMean")) == ("step", [(2048, 12.5), (4096, 14.5)])
    text = "rollout/ep_rew_mean,time/total_timesteps,train/loss\n12.5,2048,\n14.5,4096,0.5\n"
    attempt = attempt_of(tmp_path, text, "progress.csv")
    assert points_of(attempt, "rollout/ep_rew_mean") == [(2048, 12.5), (4096, 14.5)]
    assert attempt.series["rollout/ep_rew_mean"].role is Role.OBJECTIVE


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas(delimiter: str, tmp_path: Path) -> None:
    text = "step;train, loss;lr\n10;2,5;1,0e-4\n20;-2,25;5,0E-5\n30;nan;\n".replace(";", delimiter)
    attempt = attempt_of(tmp_path, text)
    assert points_of(attempt, "train, loss")[:2] == [(10, 2.5), (20, -2.25)]
    assert points_of(attempt, "lr") == [(10, 1e-4), (20, 5e-5)]
    assert attempt.faults == ()


def test_a_comma_beside_points_is_no_decimal_comma(tmp_path: Path) -> None:
    attempt = attempt_of(tmp_path, "step;loss;odd\n1;2.5;1,000\n2;2.25;2,000\n")
    assert list(attempt.series) == ["loss"]
    assert points_of(attempt, "loss") == [(1, 2.5), (2, 2.25)]


@pytest.mark.slow
def test_ten_thousand_metrics_and_columns_without_a_value(tmp_path: Path) -> None:
    names = [f"layer_{i}/grad_norm" for i in range(10_000)]
    rows = [",".join([str(step), *("" if i % 2 else f"{i}.5" for i in range(10_000))]) for step in range(5)]
    attempt = attempt_of(tmp_path, "\n".join([",".join(["step", *names]), *rows, ""]))
    assert list(attempt.series) == names[::2]
    assert attempt.series["layer_9998/grad_norm"].values.tolist() == [9998.5] * 5


# --- DVCLive ---


def dvclive(folder: Path, place: str, *, clock: bool) -> None:
    for metric, values in {"train/loss": (2.5, 2.25), "val/loss": (2.75, 2.5), "lr": (0.1, 0.1)}.items():
        file = folder / place / f"{metric}.tsv"
        file.parent.mkdir(parents=True, exist_ok=True)
        head = [*(["timestamp"] if clock else []), "step", file.stem]
        rows = [
            [*([str(1_700_000_000_000 + step)] if clock else []), str(step), str(value)]
            for step, value in enumerate(values)
        ]
        file.write_text("".join("\t".join(row) + "\n" for row in [head, *rows]))
    (folder / "metrics.json").write_text('{"step": 1, "lr": 0.1, "train": {"loss": 2.25}}')
    (folder / "params.yaml").write_text("lr: 0.1\noptimizer: adamw\nlayers:\n- 1\nmodel:\n  width: 8\n")


@pytest.mark.parametrize(
    ("place", "clock"), [("plots/metrics", False), ("plots/scalars", True), ("scalars", True)]
)
def test_a_folder_of_dvclive_is_one_attempt(place: str, clock: bool, tmp_path: Path) -> None:
    dvclive(tmp_path / "dvclive", place, clock=clock)
    (attempt,) = read(tmp_path)
    assert list(attempt.series) == ["lr", "train/loss", "val/loss"]
    assert points_of(attempt, "val/loss") == [(0, 2.75), (1, 2.5)]
    assert attempt.series["val/loss"].role is Role.VALIDATION_LOSS
    assert np.isnan(attempt.series["lr"].times).all() != clock
    assert attempt.facts == {
        "format": "csv",
        "framework": "dvclive",
        "config/lr": 0.1,
        "config/optimizer": "adamw",
        "config/layers": "1",
        "config/model/width": 8,
    }
    assert len(runs_below(tmp_path)) == 1


def test_a_bad_metric_of_dvclive_costs_itself(tmp_path: Path) -> None:
    dvclive(tmp_path, "plots/metrics", clock=False)
    (tmp_path / "plots/metrics/train/loss.tsv").write_text("step\tloss\n")
    (attempt,) = read(tmp_path)
    assert list(attempt.series) == ["lr", "val/loss"]
    assert [Path(fault.where).name for fault in attempt.faults] == ["loss.tsv"]


def test_a_folder_of_other_tables_is_no_dvclive(tmp_path: Path) -> None:
    (tmp_path / "scalars").mkdir()
    (tmp_path / "scalars" / "a.tsv").write_text("step\tloss\n1\t2.5\n")
    assert [attempt.name for attempt in read(tmp_path)] == ["scalars/a.tsv"]
