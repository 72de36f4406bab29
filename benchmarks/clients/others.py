"""Libraries that a user starts with one call, and what is on the console and in the folder after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.clients.libraries import WORDS
from benchmarks.clients.trainers import console_of, data_of_network, loss_of_network, small_network
from benchmarks.clients.training import CONFIG
from benchmarks.clients.truth import Record


def lightning_default(log: Path, number: int, record: Record) -> None:
    """The bar in a file beside the event file that Lightning writes if it is told nothing. The bar does not
    show whether a loss is that of the batch before or equal to it, so that not each can be compared."""
    import lightning as L
    import torch
    from lightning.pytorch.callbacks import TQDMProgressBar

    class Network(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = small_network()

        def training_step(self, batch: Any, _: int) -> Any:
            loss = loss_of_network(self.network(batch[0]), batch[1], self.global_step)
            self.log("train_loss", loss, prog_bar=True)
            return loss

        def validation_step(self, batch: Any, _: int) -> None:
            self.log("val_loss", loss_of_network(self.network(batch[0]), batch[1], 0), prog_bar=True)

        def on_train_epoch_end(self) -> None:
            record.add(self.global_step, {"val_loss": float(self.trainer.callback_metrics["val_loss"])})

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    L.seed_everything(CONFIG["seed"], verbose=False)
    data = torch.utils.data.TensorDataset(*data_of_network())
    loaders = [torch.utils.data.DataLoader(data, batch_size=size) for size in (32, 256)]
    options: dict[str, Any] = {"max_epochs": 7, "num_sanity_val_steps": 0, "log_every_n_steps": 10}
    with console_of(log / "train.log"):
        trainer = L.Trainer(accelerator="cpu", callbacks=[TQDMProgressBar()], **options)
        trainer.fit(Network(), *loaders)


def tabnet(log: Path, number: int, record: Record) -> None:
    """A line an epoch."""
    from pytorch_tabnet.tab_model import TabNetRegressor

    inputs, targets = (part.numpy() for part in data_of_network())
    given = {"train": slice(700), "valid": slice(700, None)}
    with console_of(log / "train.log"):
        model = TabNetRegressor(seed=CONFIG["seed"], verbose=1)
        model.fit(
            inputs[:700],
            targets[:700],
            eval_set=[(inputs[part], targets[part]) for part in given.values()],
            eval_name=[*given],
            eval_metric=["rmse"],
            max_epochs=20,
            batch_size=128,
            virtual_batch_size=64,
        )
    for name in ("loss", "train_rmse", "valid_rmse"):
        for epoch, value in enumerate(model.history[name]):
            record.add(epoch, {name: value})


def pykan(log: Path, number: int, record: Record) -> None:
    """A bar that is given new numbers at each step, and counts on ten times a second."""
    from kan import KAN

    inputs, targets = data_of_network()
    parts = {"train": slice(700), "test": slice(700, None)}
    data = {f"{name}_input": inputs[part] for name, part in parts.items()}
    data |= {f"{name}_label": targets[part] for name, part in parts.items()}
    with console_of(log / "train.log"):
        model = KAN(width=[8, 3, 1], grid=3, k=3, seed=CONFIG["seed"], ckpt_path=str(log.parent / "model"))
        results = model.fit(data, opt="Adam", steps=40, lr=0.02)
    for name in ("train_loss", "test_loss"):
        for step, value in enumerate(results[name]):
            record.add(step, {name: value})


def setfit(log: Path, number: int, record: Record) -> None:
    """The Trainer of sentence-transformers with a loss of another name."""
    import transformers
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    from benchmarks.clients.libraries import small_encoder, texts

    model = SetFitModel(model_body=small_encoder(log.parent / "model"), model_head=_head())
    given = texts(48)
    data = Dataset.from_dict({"text": given, "label": [int(WORDS[2] in text) for text in given]})

    class Witness(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            told = ("embedding_loss", "grad_norm", "learning_rate")
            record.add(state.global_step, {name: logs[name] for name in told if name in logs})

    options: dict[str, Any] = {"batch_size": 8, "num_iterations": 10, "logging_steps": 10}
    arguments = TrainingArguments(output_dir=str(log / "out"), report_to="tensorboard", **options)
    with console_of(log / "train.log"):
        trainer = Trainer(model=model, args=arguments, train_dataset=data, eval_dataset=data)
        trainer.add_callback(Witness())
        trainer.train()


def _head() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression()


def paddle(log: Path, number: int, record: Record) -> None:
    """A line every fifth batch, of the training and of an evaluation that has as many."""
    import numpy as np
    import paddle
    from paddle.io import Dataset

    rng = np.random.default_rng(CONFIG["seed"])
    inputs = rng.standard_normal((960, 8)).astype("float32")
    targets = np.sin(inputs[:, :1]) + 1.5

    class Data(Dataset):
        def __getitem__(self, at: int) -> Any:
            return inputs[at], targets[at]

        def __len__(self) -> int:
            return len(inputs)

    class Witness(paddle.callbacks.Callback):
        epoch = 0

        def on_epoch_begin(self, epoch: Any = None, logs: Any = None) -> None:
            self.epoch = epoch

        def on_train_batch_end(self, step: int, logs: Any = None) -> None:
            if step % 5 == 4:
                record.add(30 * self.epoch + step + 1, {"loss": logs["loss"][0]})

        def on_eval_batch_end(self, step: int, logs: Any = None) -> None:
            if step % 5 == 4:
                record.add(30 * self.epoch + 30, {"eval/loss": logs["loss"][0]})

    paddle.seed(CONFIG["seed"])
    network = paddle.nn.Sequential(paddle.nn.Linear(8, 16), paddle.nn.Tanh(), paddle.nn.Linear(16, 1))
    with console_of(log / "train.log"):
        model = paddle.Model(network)
        model.prepare(paddle.optimizer.SGD(0.05, parameters=network.parameters()), paddle.nn.MSELoss())
        model.fit(Data(), Data(), epochs=6, batch_size=32, verbose=2, log_freq=5, callbacks=[Witness()])


def mindspore(log: Path, number: int, record: Record) -> None:
    """A line a step, and the times of an epoch."""
    import mindspore as ms
    import numpy as np
    from mindspore import nn
    from mindspore.train import Callback, LossMonitor, TimeMonitor

    ms.set_seed(CONFIG["seed"])
    rng = np.random.default_rng(CONFIG["seed"])
    inputs = rng.standard_normal((960, 8)).astype("float32")
    data = ms.dataset.NumpySlicesDataset((inputs, np.sin(inputs[:, :1]) + 1.5)).batch(32)
    network = nn.SequentialCell(nn.Dense(8, 16), nn.Tanh(), nn.Dense(16, 1))

    class Witness(Callback):
        def on_train_step_end(self, run_context: Any) -> None:
            at = run_context.original_args()
            record.add(at.cur_step_num, {"loss": float(at.net_outputs.asnumpy())})

    with console_of(log / "train.log"):
        model = ms.Model(network, nn.MSELoss(), nn.SGD(network.trainable_params(), 0.05))
        model.train(4, data, callbacks=[LossMonitor(1), TimeMonitor(), Witness()])
