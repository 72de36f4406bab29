"""Libraries with a trainer of their own, in whose logs a user sees how a fine-tuning or an agent does.

Models, data and games are made here; nothing is fetched. Where a later launch exists it goes on from the
library's own checkpoint.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.clients.trainers import (
    console_of,
    data_of_network,
    loss_of_network,
    small_network,
    vision_without_compiled_parts,
)
from benchmarks.clients.training import CONFIG, points
from benchmarks.clients.truth import Record

WORDS = ("the", "a", "cat", "dog", "sat", "ran", "on", "under", "mat", "tree", "and", "then", "home", "away")
N_TRL = ((0, 24), (16, 48))  # steps of each launch; a checkpoint every 8


# --- TRL ---


def _language_model() -> tuple[Any, Any]:
    """A model of two layers that knows nothing, and the words that it knows."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    known = {word: n for n, word in enumerate(["<pad>", "<eos>", "<unk>", ":", ".", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    transformers.set_seed(CONFIG["seed"])
    config = transformers.LlamaConfig(
        vocab_size=len(known),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
    )
    return transformers.LlamaForCausalLM(config), fast


def texts(n: int, key: int = 0) -> list[str]:
    import random

    rng = random.Random(CONFIG["seed"] + key)
    return [" ".join(rng.choices(WORDS, k=8)) + " ." for _ in range(n)]


def trl_sft(log: Path, number: int, record: Record) -> None:
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    data = Dataset.from_dict({"text": texts(256)})
    _trl(
        log, number, record, SFTTrainer, SFTConfig, {"max_length": 32}, data, eval_data=data.select(range(32))
    )


def trl_dpo(log: Path, number: int, record: Record) -> None:
    from datasets import Dataset
    from trl import DPOConfig, DPOTrainer

    columns = {"prompt": texts(128), "chosen": texts(128, 1), "rejected": texts(128, 2)}
    data, reference = Dataset.from_dict(columns), _language_model()[0]
    _trl(log, number, record, DPOTrainer, DPOConfig, {"max_length": 64}, data, ref_model=reference)


def trl_grpo(log: Path, number: int, record: Record) -> None:
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    def reward(completions: Sequence[str], **_: Any) -> list[float]:
        return [float(text.count("cat") - 0.1 * len(text.split())) for text in completions]

    options = {"num_generations": 4, "max_completion_length": 8}
    data = Dataset.from_dict({"prompt": texts(64)})
    _trl(log, number, record, GRPOTrainer, GRPOConfig, options, data, reward_funcs=reward)


def _trl(
    log: Path,
    number: int,
    record: Record,
    trainer_type: Any,
    config_type: Any,
    options: dict[str, Any],
    data: Any,
    eval_data: Any = None,
    **more: Any,
) -> None:
    """One launch of a trainer of TRL, which prints a dictionary a step below the bar of all steps."""
    import transformers

    begin, end = N_TRL[number]

    class Witness(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            told = {k: v for k, v in logs.items() if isinstance(v, int | float) and k not in _SUMMARY}
            if "train_runtime" not in logs:
                record.add(state.global_step, {k: v for k, v in told.items() if not k.endswith(_UNTOLD)})

        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step >= end:
                raise KeyboardInterrupt

    model, tokenizer = _language_model()
    config = config_type(
        output_dir=str(log / "output"),
        max_steps=N_TRL[-1][1],
        per_device_train_batch_size=8,
        per_device_eval_batch_size=8,
        learning_rate=1e-3,
        logging_steps=1,
        save_steps=8,
        eval_strategy="steps" if eval_data else "no",
        eval_steps=8,
        seed=CONFIG["seed"],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to=["tensorboard"],
        **options,
    )
    with console_of(log / f"train-{number}.log"), contextlib.suppress(KeyboardInterrupt):
        trainer = trainer_type(
            model=model,
            args=config,
            train_dataset=data,
            eval_dataset=eval_data,
            processing_class=tokenizer,
            callbacks=[Witness()],
            **more,
        )
        trainer.train(resume_from_checkpoint=str(log / f"output/checkpoint-{begin}") if number else None)


_SUMMARY = {"epoch", "total_flos", "train_loss"}
_UNTOLD = ("runtime", "per_second")


def small_encoder(folder: Path) -> Any:
    """An encoder of sentences that knows nothing, kept in a folder."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer, models

    _, tokenizer = _language_model()
    config = transformers.BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        pad_token_id=0,
    )
    transformers.BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(CONFIG["seed"])
    encoder = models.Transformer(str(folder), max_seq_length=32)
    return SentenceTransformer(modules=[encoder, models.Pooling(32)], device="cpu")


def sentence_transformers(log: Path, number: int, record: Record) -> None:
    import transformers
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
        losses,
    )

    model = small_encoder(log.parent / "model")
    data = Dataset.from_dict({"anchor": texts(256), "positive": [text[4:] for text in texts(256)]})

    class Witness(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if "train_runtime" not in logs:
                told = {k: v for k, v in logs.items() if k != "epoch" and not k.endswith(_UNTOLD)}
                record.add(state.global_step, told)

    arguments = SentenceTransformerTrainingArguments(
        output_dir=str(log / "output"),
        num_train_epochs=2,
        per_device_train_batch_size=8,
        logging_steps=4,
        eval_strategy="steps",
        eval_steps=16,
        save_strategy="no",
        seed=CONFIG["seed"],
        use_cpu=True,
        report_to=[],
    )
    with console_of(log / "train.log"):
        SentenceTransformerTrainer(
            model=model,
            args=arguments,
            train_dataset=data,
            eval_dataset=data.select(range(64)),
            loss=losses.MultipleNegativesRankingLoss(model),
            callbacks=[Witness()],
        ).train()


# --- ignite, skorch ---


def ignite(log: Path, number: int, record: Record) -> None:
    """The engine's bar, its own lines, and a line of the user's after each epoch."""
    import logging

    import torch
    from ignite.contrib.handlers import ProgressBar
    from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
    from ignite.metrics import Loss
    from ignite.utils import setup_logger

    inputs, targets = data_of_network()
    data = torch.utils.data.TensorDataset(inputs, targets)
    loader = torch.utils.data.DataLoader(data, batch_size=CONFIG["batch_size"])
    network = small_network()
    optimizer = torch.optim.SGD(network.parameters(), lr=CONFIG["peak_lr"])
    trainer = create_supervised_trainer(network, optimizer, torch.nn.functional.mse_loss)
    evaluator = create_supervised_evaluator(network, {"loss": Loss(torch.nn.functional.mse_loss)})
    with console_of(log / "train.log"):
        trainer.logger = setup_logger("trainer", stream=__import__("sys").stderr, level=logging.INFO)
        bar = ProgressBar(persist=True)
        bar.attach(trainer, output_transform=lambda loss: {"batch loss": loss})

        @trainer.on(Events.EPOCH_COMPLETED)
        def told(engine: Any) -> None:
            evaluator.run(loader)
            loss = evaluator.state.metrics["loss"]
            record.add(engine.state.iteration - 1, {"Avg loss": loss})  # the bar moves after it
            bar.log_message(f"Validation Results - Epoch: {engine.state.epoch} Avg loss: {loss:.4f}")

        trainer.run(loader, max_epochs=8)


def skorch(log: Path, number: int, record: Record) -> None:
    """A table of the epochs."""
    import torch
    from skorch import NeuralNetRegressor

    torch.manual_seed(CONFIG["seed"])
    inputs, targets = data_of_network()
    with console_of(log / "train.log"):
        net = NeuralNetRegressor(small_network(), max_epochs=20, lr=0.05, batch_size=32, device="cpu")
        net.fit(inputs.numpy(), targets.numpy())
    for row in net.history:
        record.add(row["epoch"], {name: row[name] for name in ("train_loss", "valid_loss")})


# --- Lightning's bars, stable-baselines3's console ---


def lightning_bar(log: Path, number: int, record: Record) -> None:
    """What a user keeps who only redirects the output: the bar of each epoch."""
    import lightning as L
    import torch
    from lightning.pytorch.callbacks import TQDMProgressBar

    class Network(L.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = small_network()

        def training_step(self, batch: Any, _: int) -> Any:
            loss = loss_of_network(self.network(batch[0]), batch[1], 0)
            self.log("train_loss", loss, prog_bar=True, on_step=False, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, _: int) -> None:
            self.log("val_loss", loss_of_network(self.network(batch[0]), batch[1], 0), prog_bar=True)

        def on_train_epoch_end(self) -> None:
            metrics = self.trainer.callback_metrics
            record.add(self.global_step, {"val_loss": float(metrics["val_loss"])})

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    L.seed_everything(CONFIG["seed"])
    data = torch.utils.data.TensorDataset(*data_of_network())
    loaders = [torch.utils.data.DataLoader(data, batch_size=size) for size in (32, 256)]
    with console_of(log / "train.log"):
        L.Trainer(
            max_epochs=8,
            logger=False,
            accelerator="cpu",
            enable_checkpointing=False,
            num_sanity_val_steps=0,
            callbacks=[TQDMProgressBar()],
            default_root_dir=log.parent / "root",
        ).fit(Network(), *loaders)


def baselines_console(log: Path, number: int, record: Record) -> None:
    """The boxes that `verbose=1` prints."""
    from stable_baselines3 import DQN, PPO
    from stable_baselines3.common.logger import HumanOutputFormat, KVWriter, Logger

    class Recorder(KVWriter):
        def write(self, key_values: Any, key_excluded: Any, step: int = 0) -> None:
            told = {name: v for name, v in key_values.items() if isinstance(v, int | float)}
            record.add(told.pop("time/total_timesteps"), told)

        def close(self) -> None:
            pass

    algorithm, options = (DQN, {"learning_starts": 100}) if "dqn" in str(log) else (PPO, {"n_steps": 128})
    with console_of(log / "train.log"):
        import sys

        model = algorithm("MlpPolicy", "CartPole-v1", seed=CONFIG["seed"], device="cpu", verbose=1, **options)
        model.set_logger(Logger(None, [HumanOutputFormat(sys.stdout), Recorder()]))
        model.learn(128 * 20)


# --- JAX, Ultralytics ---


def clu(log: Path, number: int, record: Record) -> None:
    """The metric writers of Google's examples: event files, and the same as lines of absl's logging."""
    import logging
    import sys

    from absl import logging as absl_logging
    from clu import metric_writers

    with console_of(log / "train.log"):
        handler = absl_logging.get_absl_handler()
        handler.python_handler.stream = sys.stderr
        absl_logging.use_absl_handler()
        logging.getLogger().setLevel(logging.INFO)
        writer = metric_writers.create_default_writer(str(log / "workdir"), asynchronous=False)
        writer.write_hparams(dict(CONFIG))
        for step, values in points(number):
            record.add(step, values)
            writer.write_scalars(step, values)
        writer.close()


def ultralytics(log: Path, number: int, record: Record) -> None:
    """A detector of squares, five epochs."""
    import csv
    import os

    import cv2
    import numpy as np

    vision_without_compiled_parts()
    os.environ["YOLO_CONFIG_DIR"] = str(log.parent / "settings")
    import torchvision
    from ultralytics import YOLO
    from ultralytics.utils.nms import TorchNMS

    torchvision.ops.nms = TorchNMS.nms
    data = log.parent / "squares"
    rng = np.random.default_rng(CONFIG["seed"])
    for part, n_images in (("train", 16), ("val", 8)):
        for kind in ("images", "labels"):
            (data / kind / part).mkdir(parents=True, exist_ok=True)
        for n in range(n_images):
            image, (x, y) = np.zeros((64, 64, 3), np.uint8), rng.integers(16, 48, 2)
            image[y - 8 : y + 8, x - 8 : x + 8] = 255
            cv2.imwrite(str(data / f"images/{part}/{n}.png"), image)
            label = f"0 {x / 64} {y / 64} 0.25 0.25\n"
            (data / f"labels/{part}/{n}.txt").write_text(label)
    (data / "data.yaml").write_text(f"path: {data}\ntrain: images/train\nval: images/val\nnames: [square]\n")
    YOLO("yolo11n.yaml").train(
        data=str(data / "data.yaml"),
        epochs=5,
        imgsz=64,
        batch=8,
        device="cpu",
        workers=0,
        project=str(log / "runs"),
        name="train",
        plots=False,
        amp=False,
        seed=CONFIG["seed"],
    )
    with (log / "runs/train/results.csv").open() as file:
        for row in csv.DictReader(file):
            told = {name.strip(): float(cell) for name, cell in row.items() if cell}
            record.add(int(told.pop("epoch")), {n: v for n, v in told.items() if n != "time"})
