"""Trainers that have their own loop: each trains the same tiny network by its own means.

Three batches of wrong targets from step KICK on are the spike, and from step NAN on the loss is NaN. What is
true is taken from the trainer itself, where it hands its values to its loggers.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from benchmarks.clients.training import CONFIG, EVERY, KICK, LAUNCHES, NAN, STEPS, learning_rate
from benchmarks.clients.truth import Record

N_SAMPLES = 960  # thirty batches: an epoch


def data_of_network() -> tuple[Any, Any]:
    import torch

    made = torch.Generator().manual_seed(CONFIG["seed"])
    inputs = torch.randn(N_SAMPLES, 8, generator=made)
    targets = torch.sin(inputs[:, :1]) + 0.5 * inputs[:, 1:2] * inputs[:, 2:3] + 1.5
    return inputs, targets + 0.3 * torch.randn(N_SAMPLES, 1, generator=made)


def small_network() -> Any:
    import torch

    torch.manual_seed(CONFIG["seed"])
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def loss_of_network(predicted: Any, targets: Any, step: int) -> Any:
    """The mean squared error of a batch, with what happens at this step."""
    wrong = 4.0 if KICK <= step < KICK + 3 else float("nan") if step >= NAN else 1.0
    return ((predicted - wrong * targets) ** 2).mean()


@contextlib.contextmanager
def console_of(file: Path) -> Any:
    """What is printed goes to the end of a file."""
    with file.open("a") as out, contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        yield


def vision_without_compiled_parts() -> None:
    """Lets torchvision be imported beside a PyTorch for which there is no build of it."""
    import torch

    _KEPT.append(torch.library.Library("torchvision", "DEF"))
    for name in ("nms", "qnms"):
        _KEPT[-1].define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


_KEPT: list[Any] = []


# --- Lightning ---


def lightning_csv(log: Path, number: int, record: Record) -> None:
    from lightning.pytorch.loggers import CSVLogger

    _lightning(log, number, record, [CSVLogger(log, name="lightning_logs")])


def lightning_tensorboard(log: Path, number: int, record: Record) -> None:
    from lightning.pytorch.loggers import TensorBoardLogger

    _lightning(log, number, record, [TensorBoardLogger(log, name="lightning_logs")])


def lightning_both(log: Path, number: int, record: Record) -> None:
    from lightning.pytorch.loggers import CSVLogger, TensorBoardLogger

    both = [CSVLogger(log, name="csv_logs"), TensorBoardLogger(log, name="tb_logs")]
    _lightning(log, number, record, both)


def _lightning(log: Path, number: int, record: Record, loggers: list[Any]) -> None:
    import lightning as L
    import torch
    from lightning.pytorch.callbacks import LearningRateMonitor, ModelCheckpoint
    from lightning.pytorch.loggers import CSVLogger

    class Network(L.LightningModule):
        def __init__(self, **config: Any) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.network = small_network()

        def training_step(self, batch: Any, _: int) -> Any:
            loss = loss_of_network(self.network(batch[0]), batch[1], self.global_step)
            self.log("train_loss", loss)
            return loss

        def on_before_optimizer_step(self, optimizer: Any) -> None:
            norms = [p.grad.norm() for p in self.network.parameters()]
            self.log("grad_norm", torch.stack(norms).norm())

        def validation_step(self, batch: Any, _: int) -> None:
            self.log("val_loss", loss_of_network(self.network(batch[0]), batch[1], 0))

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.SGD(self.parameters(), lr=CONFIG["peak_lr"])
            schedule = torch.optim.lr_scheduler.LambdaLR(
                optimizer, lambda step: learning_rate(step) / CONFIG["peak_lr"]
            )
            return [optimizer], [{"scheduler": schedule, "interval": "step"}]

    class Recorder(CSVLogger):
        def log_metrics(self, metrics: Any, step: int | None = None) -> None:
            record.add(step or 0, {name: value for name, value in metrics.items() if name != "epoch"})

        def save(self) -> None:
            pass

    L.seed_everything(CONFIG["seed"] + number, verbose=False)
    data = torch.utils.data.TensorDataset(*data_of_network())
    loader = torch.utils.data.DataLoader(data, batch_size=CONFIG["batch_size"], shuffle=True)
    checkpoints = log.parent / "checkpoints"
    keeping = ModelCheckpoint(checkpoints, "{step}", every_n_train_steps=2 * EVERY, save_top_k=-1)
    trainer = L.Trainer(
        max_steps=LAUNCHES[number].end,
        logger=[*loggers, Recorder(log.parent / "recorder")],
        callbacks=[keeping, LearningRateMonitor("step")],
        log_every_n_steps=1,
        val_check_interval=EVERY,
        limit_val_batches=2,
        enable_progress_bar=False,
        accelerator="cpu",
        gradient_clip_val=1.0,
    )
    begin = checkpoints / f"step={LAUNCHES[number].begin}.ckpt"
    checked = torch.utils.data.DataLoader(data, batch_size=256)
    trainer.fit(Network(**CONFIG), loader, checked, ckpt_path=begin if number else None, weights_only=False)


# --- Hugging Face ---


def hf_state(log: Path, number: int, record: Record) -> None:
    _hugging_face(log, number, record, report_to=[])


def hf_events(log: Path, number: int, record: Record) -> None:
    _hugging_face(log.parent / "output", number, record, report_to=["tensorboard"], logging_dir=log / "runs")


def hf_console(log: Path, number: int, record: Record) -> None:
    with console_of(log / f"train-{number}.log"):
        _hugging_face(log.parent / "output", number, record, report_to=[])


def _hugging_face(output: Path, number: int, record: Record, **options: Any) -> None:
    import os

    import torch
    import transformers

    if "logging_dir" in options:
        os.environ["TENSORBOARD_LOGGING_DIR"] = str(options.pop("logging_dir"))
    inputs, targets = data_of_network()
    data = [
        {"x": x, "labels": y} for x, y in zip(inputs[:900], targets[:900], strict=True)
    ]  # no whole epochs
    renamed = {"loss", "grad_norm", "learning_rate", "eval_loss"}

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = small_network()

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            predicted = self.network(x)
            return {"loss": loss_of_network(predicted, labels, 0), "logits": predicted}

    class Trainer(transformers.Trainer):
        def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **_: Any) -> Any:
            predicted = model(**inputs)
            loss = loss_of_network(predicted["logits"], inputs["labels"], self.state.global_step)
            loss = loss if model.training else predicted["loss"]
            return (loss, predicted) if return_outputs else loss

    class Recorder(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            record.add(state.global_step, {name: v for name, v in logs.items() if name in renamed})

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step >= LAUNCHES[number].end:  # all of the step before is logged and kept
                raise KeyboardInterrupt

    arguments = transformers.TrainingArguments(
        str(output),
        max_steps=LAUNCHES[-1].end,
        per_device_train_batch_size=CONFIG["batch_size"],
        learning_rate=CONFIG["peak_lr"],
        seed=CONFIG["seed"],
        warmup_steps=2 * EVERY,
        logging_steps=1,
        eval_strategy="steps",
        eval_steps=EVERY,
        save_steps=2 * EVERY,
        save_total_limit=3,
        use_cpu=True,
        optim="sgd",
        **options,
    )
    trainer = Trainer(
        Network(), arguments, train_dataset=data, eval_dataset=data[:64], callbacks=[Recorder()]
    )
    begin = output / f"checkpoint-{LAUNCHES[number].begin}"
    with contextlib.suppress(KeyboardInterrupt):
        trainer.train(resume_from_checkpoint=str(begin) if number else None)


# --- Keras ---

EPOCHS = ((0, 24), (20, 36), (36, 48))  # of each launch


def keras_csv(log: Path, number: int, record: Record) -> None:
    import keras

    _keras(number, record, [keras.callbacks.CSVLogger(str(log / "training.csv"), append=bool(number))])


def keras_tensorboard(log: Path, number: int, record: Record) -> None:
    import keras

    logged = Record()
    _keras(number, logged, [keras.callbacks.TensorBoard(str(log), write_graph=False)])
    for name, points in logged.series.items():
        folder = "validation" if name.startswith("val_") else "train"
        record.series[f"{folder}/epoch_{name.removeprefix('val_')}"] = points


def keras_history(log: Path, number: int, record: Record) -> None:
    history = _keras(number, record, [])
    told = {name: list(map(float, values)) for name, values in history.history.items()}
    (log / "history.json").write_text(json.dumps(told))


def keras_console(log: Path, number: int, record: Record) -> None:
    _keras_printed(log, number, record, verbose=2)


def keras_bars(log: Path, number: int, record: Record) -> None:
    _keras_printed(log, number, record, verbose=1)


def _keras_printed(log: Path, number: int, record: Record, verbose: int) -> None:
    """Keras prints epochs from 1 on."""
    logged = Record()
    with console_of(log / "train.log"):
        _keras(number, logged, [], verbose)
    for name, points in logged.series.items():
        record.series[name] = {**points, "steps": [epoch + 1 for epoch in points["steps"]]}


def _keras(number: int, record: Record, callbacks: list[Any], verbose: int = 0) -> Any:
    import keras
    import numpy as np

    rng = np.random.default_rng(CONFIG["seed"])
    inputs = rng.standard_normal((320, 8))
    targets = np.sin(inputs[:, :1]) + 0.5 * inputs[:, 1:2] * inputs[:, 2:3] + 1.5
    keras.utils.set_random_seed(CONFIG["seed"] + number)
    layers = [keras.layers.Input((8,)), keras.layers.Dense(16, "tanh"), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(keras.optimizers.SGD(0.05, clipnorm=1.0), "mse", metrics=["mae"])
    kept = Path("../keras")
    kept.mkdir(exist_ok=True)
    begin, end = EPOCHS[number]
    if number:
        model.load_weights(str(kept / f"{begin}.weights.h5"))

    class Happenings(keras.callbacks.Callback):
        """Wrong weights after one epoch, NaN from another on, and what is logged."""

        def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
            if epoch in (12, 45):
                wrong = 3.0 if epoch == 12 else float("nan")
                model.set_weights([wrong * weights for weights in model.get_weights()])

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            record.add(epoch, logs)
            if (epoch + 1) % 4 == 0:
                model.save_weights(str(kept / f"{epoch + 1}.weights.h5"))

    return model.fit(
        inputs[:256],
        targets[:256],
        validation_data=(inputs[256:], targets[256:]),
        batch_size=32,
        initial_epoch=begin,
        epochs=end,
        verbose=verbose,
        callbacks=[Happenings(), *callbacks],
    )


# --- fastai, Ray, mmengine, stable-baselines3 ---


def fastai_csv(log: Path, number: int, record: Record) -> None:
    import torch

    vision_without_compiled_parts()
    from fastai.callback.core import Callback
    from fastai.callback.progress import CSVLogger
    from fastai.data.core import DataLoaders
    from fastai.learner import Learner

    class Witness(Callback):
        order = 70  # after fastai's own recorder

        def after_epoch(self) -> None:
            names, values = self.recorder.metric_names, self.recorder.log
            told = dict(zip(names, values, strict=False))
            record.add(told.pop("epoch"), {name: v for name, v in told.items() if name != "time"})

    torch.manual_seed(CONFIG["seed"])
    data = torch.utils.data.TensorDataset(*data_of_network())
    loaders = [torch.utils.data.DataLoader(data, batch_size=size) for size in (32, 256)]
    learner = Learner(
        DataLoaders(*loaders),
        small_network(),
        loss_func=lambda predicted, targets: loss_of_network(predicted, targets, 0),
        cbs=[CSVLogger(str(log / "history.csv")), Witness()],
        path=log,
    )
    with learner.no_bar():
        learner.fit(12, 0.01)


def ray_tune(log: Path, number: int, record: Record) -> None:
    import os

    os.environ["RAY_AIR_NEW_OUTPUT"] = "0"
    import ray
    from ray import tune

    from benchmarks.clients.training import GRAD_NORM, LOSS, LR, VAL_LOSS, points

    def training(config: dict[str, Any]) -> None:
        last = float("nan")
        for _, values in points(0):
            last = values.get(VAL_LOSS, last)
            told = {"loss": values[LOSS], "lr": values[LR], "grad_norm": values[GRAD_NORM], "val_loss": last}
            tune.report(told)

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir="/tmp/ray-clients")
    tuner = tune.Tuner(
        training, param_space=dict(CONFIG), run_config=tune.RunConfig("toy", storage_path=str(log), verbose=0)
    )
    tuner.fit()
    last = float("nan")
    for step, values in points(0):
        last = values.get(VAL_LOSS, last)
        told = {"loss": values[LOSS], "lr": values[LR], "grad_norm": values[GRAD_NORM], "val_loss": last}
        record.add(step + 1, told)


def mmengine(log: Path, number: int, record: Record) -> None:
    import torch
    from mmengine.hooks import Hook
    from mmengine.model import BaseModel
    from mmengine.runner import Runner

    class Network(BaseModel):
        def __init__(self) -> None:
            super().__init__()
            self.network, self.seen = small_network(), LAUNCHES[number].begin

        def forward(self, inputs: Any, targets: Any, mode: str = "loss") -> dict[str, Any]:
            self.seen += 1
            return {"loss": loss_of_network(self.network(inputs), targets, self.seen - 1)}

    class Recorder(Hook):
        priority = "VERY_LOW"

        def after_train_iter(self, runner: Any, batch_idx: int, data_batch: Any, outputs: Any) -> None:
            scalars = runner.message_hub.log_scalars
            told = {"loss": float(outputs["loss"]), "lr": scalars["train/lr"].current()}
            record.add(runner.iter + 1, told)

    data = torch.utils.data.TensorDataset(*data_of_network())
    runner = Runner(
        Network(),
        work_dir=str(log),
        train_dataloader=torch.utils.data.DataLoader(data, batch_size=CONFIG["batch_size"], shuffle=True),
        train_cfg={"by_epoch": False, "max_iters": LAUNCHES[number].end, "val_interval": 10 * STEPS},
        optim_wrapper={"optimizer": {"type": "SGD", "lr": CONFIG["peak_lr"]}, "clip_grad": {"max_norm": 1.0}},
        param_scheduler=[{"type": "LinearLR", "start_factor": 0.05, "by_epoch": False, "end": 2 * EVERY}],
        default_hooks={
            "logger": {"type": "LoggerHook", "interval": 1},
            "checkpoint": {"type": "CheckpointHook", "interval": 2 * EVERY, "by_epoch": False},
        },
        custom_hooks=[Recorder()],
        visualizer={"type": "Visualizer", "vis_backends": [{"type": "LocalVisBackend"}]},
        log_processor={"by_epoch": False, "window_size": 1},
        load_from=str(log / f"iter_{LAUNCHES[number].begin}.pth") if number else None,
        resume=bool(number),
        randomness={"seed": CONFIG["seed"]},
        experiment_name="toy",
    )
    runner.train()


def baselines(log: Path, number: int, record: Record) -> None:
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import KVWriter, configure

    class Recorder(KVWriter):
        def write(self, key_values: Any, key_excluded: Any, step: int = 0) -> None:
            told = {name: v for name, v in key_values.items() if isinstance(v, int | float)}
            told.pop("time/total_timesteps", None)  # the step at which the others are told
            record.add(step, told)

        def close(self) -> None:
            pass

    folder = log / f"PPO_{number + 1}"
    games = make_vec_env("CartPole-v1", 2, seed=CONFIG["seed"] + number, monitor_dir=str(folder))
    model = PPO("MlpPolicy", games, n_steps=64, batch_size=64, seed=CONFIG["seed"], device="cpu")
    kept = log.parent / "model.zip"
    if number:
        model = PPO.load(kept, games, device="cpu")
    logger = configure(str(folder), ["csv", "tensorboard"])
    logger.output_formats.append(Recorder())
    model.set_logger(logger)
    model.learn(128 * 30, reset_num_timesteps=not number)
    model.save(kept)
