"""Clients that are called from a loop: each logs the launch of that number into the folder it is in.

A client of trackers gets back to its run in a later launch the way its guide says; where it has no such way,
each launch is a run of its own.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

from benchmarks.clients.training import CONFIG, EVERY, GRAD_NORM, LOSS, LR, STEPS, VAL_LOSS, points
from benchmarks.clients.truth import Record

RUN = "kicked-and-resumed"


def _logged(number: int, record: Record) -> Iterator[tuple[int, dict[str, float]]]:
    for step, values in points(number):
        record.add(step, values)
        yield step, values


def _kept(name: str, value: str = "") -> str:
    """What an earlier launch kept under a name beside the log; writes ``value`` where there is none."""
    file = Path("..") / f"{name}.txt"
    if not file.exists() and value:
        file.write_text(value)
    return file.read_text() if file.exists() else ""


_PRINTED = {"loss": LOSS, "lr": LR, "grad_norm": GRAD_NORM, "val_loss": VAL_LOSS}


def plain_prints(log: Path, number: int, record: Record) -> None:
    with (log / "train.log").open("a") as out:
        print(f"args: seed={CONFIG['seed']} lr={CONFIG['peak_lr']} dataset={CONFIG['dataset']}", file=out)
        if number:
            print("=> loaded checkpoint", file=out)
        for step, values in points(number):
            record.add(step, {name: values[key] for name, key in _PRINTED.items() if key in values})
            told = f"[step {step}/{STEPS}] loss: {values[LOSS]:.4f}, lr: {values[LR]:.3e}"
            print(f"{told}, grad_norm: {values[GRAD_NORM]:.3f}", file=out)
            if VAL_LOSS in values:
                print(f"[step {step}/{STEPS}] val_loss: {values[VAL_LOSS]:.4f}", file=out)


def tqdm_postfix(log: Path, number: int, record: Record) -> None:
    from tqdm import tqdm

    steps = list(points(number))
    with (log / "train.log").open("a") as out:
        bar = tqdm(steps, total=STEPS, initial=steps[0][0], file=out, ascii=True, mininterval=0)
        for step, values in bar:
            given = {name: values[key] for name, key in _PRINTED.items() if key in values and key != VAL_LOSS}
            record.add(step, given)
            bar.set_postfix({name: f"{value:.5g}" for name, value in given.items()})
            if step == steps[-1][0]:
                break


def json_lines(log: Path, number: int, record: Record) -> None:
    with (log / "log.jsonl").open("a") as out:
        for step, values in _logged(number, record):
            print(json.dumps({"step": step, **values}), file=out)


def csv_writer(log: Path, number: int, record: Record) -> None:
    file = log / "metrics.csv"
    is_new = not file.exists()
    with file.open("a", newline="") as out:
        writer = csv.DictWriter(out, ["step", LOSS, LR, GRAD_NORM, VAL_LOSS])
        if is_new:
            writer.writeheader()
        for step, values in _logged(number, record):
            writer.writerow({"step": step, **values})


def tensorboard(log: Path, number: int, record: Record) -> None:
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(log / RUN)) as writer:
        writer.add_text("config", json.dumps(CONFIG))
        for step, values in _logged(number, record):
            for name, value in values.items():
                writer.add_scalar(name, value, step)
        writer.add_hparams(CONFIG, {"hparam/final_loss": values[LOSS]})


def tensorboardx(log: Path, number: int, record: Record) -> None:
    from tensorboardX import SummaryWriter

    writer = SummaryWriter(str(log / RUN))
    for step, values in _logged(number, record):
        for name, value in values.items():
            writer.add_scalar(name, value, step)
    writer.close()


def tensorboard_scalars(log: Path, number: int, record: Record) -> None:
    from torch.utils.tensorboard import SummaryWriter

    _scalars(SummaryWriter(str(log / RUN)), number, record)


def tensorboardx_scalars(log: Path, number: int, record: Record) -> None:
    from tensorboardX import SummaryWriter

    _scalars(SummaryWriter(str(log / RUN)), number, record)


def _scalars(writer: Any, number: int, record: Record) -> None:
    """Both losses by `add_scalars`, which keeps each curve in a folder of its own."""
    for step, values in points(number):
        losses = {name: values[key] for name, key in (("train", LOSS), ("val", VAL_LOSS)) if key in values}
        record.add(step, {LR: values[LR]} | {f"Loss/batch/{name}": value for name, value in losses.items()})
        writer.add_scalar(LR, values[LR], step)
        writer.add_scalars("Loss/batch", losses, step)
    writer.close()


def accelerate(log: Path, number: int, record: Record) -> None:
    from accelerate import Accelerator
    from accelerate.utils import ProjectConfiguration

    accelerator = Accelerator(log_with="tensorboard", project_config=ProjectConfiguration(str(log), "logs"))
    accelerator.init_trackers(RUN, config=CONFIG)
    for step, values in _logged(number, record):
        accelerator.log(values, step=step)
    accelerator.end_training()


def wandb(log: Path, number: int, record: Record) -> None:
    import wandb as client

    settings = client.Settings(mode="offline", silent=True)
    run = client.init(
        project="toy", id="kicked01", name=RUN, resume="allow", dir=log, config=CONFIG, settings=settings
    )
    for step, values in _logged(number, record):
        run.log(values, step=step)
    run.finish()


def mlflow_files(log: Path, number: int, record: Record) -> None:
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    _mlflow((log / "mlruns").as_uri(), number, record)


def mlflow_sqlite(log: Path, number: int, record: Record) -> None:
    _mlflow(f"sqlite:///{log / 'mlflow.db'}", number, record)


def _mlflow(uri: str, number: int, record: Record) -> None:
    import mlflow

    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("toy")
    with mlflow.start_run(run_id=_kept("run") or None, run_name=None if number else RUN) as run:
        _kept("run", run.info.run_id)
        if not number:
            mlflow.log_params(CONFIG)
            mlflow.set_tag("dataset", CONFIG["dataset"])
        for step, values in _logged(number, record):
            mlflow.log_metrics(values, step=step)


def trackio(log: Path, number: int, record: Record) -> None:
    os.environ["TRACKIO_DIR"] = str(log)
    import trackio as client

    client.init(project="toy", name=RUN, config=CONFIG, resume="allow", embed=False)
    for step, values in _logged(number, record):
        client.log(values, step=step)
    client.finish()


def aim(log: Path, number: int, record: Record) -> None:
    from aim import Run

    run = Run(run_hash=_kept("run") or None, repo=str(log), experiment="toy")
    _kept("run", run.hash)
    run["hparams"] = CONFIG
    for step, values in _logged(number, record):
        for name, value in values.items():
            run.track(value, name=name, step=step)
    run.close()


def swanlab(log: Path, number: int, record: Record) -> None:
    import swanlab as client

    client.init(
        project="toy",
        experiment_name=RUN,
        config=CONFIG,
        logdir=str(log),
        mode="offline",
        id="kicked01",
        resume="allow",
    )
    for step, values in _logged(number, record):
        client.log(values, step=step)
    client.finish()


def comet(log: Path, number: int, record: Record) -> None:
    import comet_ml

    options: dict[str, Any] = {"offline_directory": str(log), "disabled": False, "log_code": False}
    key = _kept("run")
    experiment = (
        comet_ml.ExistingOfflineExperiment(previous_experiment=key, **options)
        if key
        else comet_ml.OfflineExperiment(project_name="toy", **options)
    )
    _kept("run", experiment.get_key())
    experiment.set_name(RUN)
    experiment.log_parameters(CONFIG)
    for step, values in _logged(number, record):
        experiment.log_metrics(values, step=step)
    experiment.end()


def neptune(log: Path, number: int, record: Record) -> None:
    import neptune as client

    run = client.init_run(mode="offline", project="team/toy", name=RUN, custom_run_id="kicked01")
    run["parameters"] = CONFIG
    for step, values in _logged(number, record):
        for name, value in values.items():
            run[name].append(value, step=step)
    run.stop()


def neptune_scale(log: Path, number: int, record: Record) -> None:
    from neptune_scale import Run

    run = Run(project="team/toy", run_id=RUN, mode="offline", log_directory=str(log), resume=bool(number))
    run.log_configs(CONFIG)
    for step, values in _logged(number, record):
        run.log_metrics(values, step=step)
    run.close()


def clearml(log: Path, number: int, record: Record) -> None:
    os.environ["CLEARML_CACHE_DIR"] = str(log)
    from clearml import Task

    Task.set_offline(True)
    requirements = log.parent / "requirements.txt"
    requirements.write_text("numpy\n")
    Task.force_requirements_env_freeze(True, str(requirements))  # it would analyse all code otherwise
    task = Task.init("toy", RUN, auto_connect_frameworks=False, auto_resource_monitoring=False)
    task.connect(dict(CONFIG))
    logger = task.get_logger()
    for step, values in _logged(number, record):
        for name, value in values.items():
            title, _, series = name.partition("/")
            logger.report_scalar(title, series, value, step)
    closing = Thread(target=task.close, daemon=True)  # it waits for minutes for what it asks of git and pip
    closing.start()
    closing.join(60)


def sacred(log: Path, number: int, record: Record) -> None:
    from sacred import Experiment
    from sacred.observers import FileStorageObserver

    experiment = Experiment("toy", save_git_info=False)
    experiment.add_config(CONFIG)
    experiment.observers.append(FileStorageObserver(str(log)))

    @experiment.main
    def training(_run: Any) -> None:
        for step, values in _logged(number, record):
            for name, value in values.items():
                _run.log_scalar(name, value, step)

    experiment.run()


def dvclive(log: Path, number: int, record: Record) -> None:
    from dvclive import Live

    with Live(str(log / "dvclive"), resume=bool(number), save_dvc_exp=False) as live:
        live.log_params(CONFIG)
        for step, values in _logged(number, record):
            live.step = step
            for name, value in values.items():
                live.log_metric(name, value)
            live.make_summary()


def timm_summary(log: Path, number: int, record: Record) -> None:
    from collections import OrderedDict

    from benchmarks.clients.trainers import vision_without_compiled_parts

    vision_without_compiled_parts()
    from timm.utils.summary import update_summary

    every = dict(points(number))
    for step, values in every.items():
        if VAL_LOSS in values:
            train = {"loss": values[LOSS]}
            told = OrderedDict(loss=values[VAL_LOSS], top1=50 + step / 10)
            record.add(step // EVERY, {"train_loss": values[LOSS], "eval_loss": values[VAL_LOSS]})
            update_summary(
                step // EVERY, train, told, log / "summary.csv", lr=values[LR], write_header=step < EVERY
            )
