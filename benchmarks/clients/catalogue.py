"""The clients: in which environment each runs, what writes its log, and what its log can show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchmarks.clients.training import CONFIG, EVENTS, JOINS, LAUNCHES, LR, ROLES

# Packages of each environment, in the order of their installation.
ENVIRONMENTS = {
    "torch": (
        "torch==2.13.0 numpy",
        "tensorboard tensorboardX",
        "lightning",
        "stable-baselines3",
        "mmengine",
        "ray[tune]",
    ),
    # fastai itself would fetch spaCy and another torch
    "vision": (
        "torch==2.13.0 numpy",
        "--no-deps torchvision timm fastai",
        "pandas matplotlib pillow requests pyyaml scipy scikit-learn huggingface_hub safetensors",
        "fastcore fastprogress fasttransform fastdownload plum-dispatch",
        "--no-deps ultralytics ultralytics-thop ultralytics-platform",
        "opencv-python-headless psutil polars",
    ),
    "hf": (
        "torch==2.13.0 numpy",
        "tensorboard",
        "transformers accelerate",
        "torch==2.13.0 trl datasets sentence-transformers pytorch-ignite skorch setfit",
    ),
    "calls": ("torch==2.13.0 numpy", "pytorch-tabnet pykan pandas matplotlib scikit-learn sympy tqdm pyyaml"),
    "frames": ("numpy", "paddlepaddle", "mindspore"),
    "boost": ("numpy", "xgboost-cpu lightgbm scikit-learn", "catboost", "spacy"),
    "track": ("numpy", "wandb mlflow", "trackio", "swanlab", "sacred setuptools", "dvclive"),
    "comet": ("numpy", "comet_ml"),
    "neptune": ("numpy", "neptune neptune-scale"),
    "clearml": ("numpy", "clearml"),
    "aim": ("numpy", "aim"),
    "styles": ("numpy rich tqdm loguru",),
    "keras": ("numpy", "tensorflow-cpu", "tensorboard", "jax clu"),
    "searches": ("numpy deap pygad pymoo scikit-learn gensim",),
    "sciences": (
        "torch==2.13.0 numpy tensorboard",
        "gpytorch deepxde neuraloperator d3rlpy ctgan poutyne",
    ),
}


@dataclass(frozen=True)
class Client:
    """A client. ``exact`` says how its log keeps values: "float64", "float32" or "printed".

    ``module`` and ``function`` log a launch. ``logs`` are the parts of its folder that are read one by one
    where they repeat each other ("" for the whole folder).
    """

    environment: str
    function: str
    packages: tuple[str, ...]
    exact: str = "float64"
    module: str = "loops"
    launches: int = len(LAUNCHES)
    facts: dict[str, Any] = field(default_factory=lambda: dict(CONFIG))
    roles: dict[str, str] = field(default_factory=lambda: dict(ROLES))
    joins: tuple[dict[str, Any], ...] = JOINS
    events: tuple[dict[str, Any], ...] = EVENTS
    keeps_live_only: bool = False  # a later launch writes over what it overtakes
    opens: bool = False  # what it keeps is read by its own package alone
    ends_hard: bool = False  # its threads outlive all that they had to do


def _loop(environment: str, function: str, *packages: str, **more: Any) -> Client:
    return Client(environment, function, packages, **more)


# One launch, which ends before the NaN; a file without a clock, in which a resume that goes on exactly where
# the training stopped cannot be seen.
_ALONE: dict[str, Any] = {"launches": 1, "joins": (), "events": EVENTS[:1]}
_ONE_FILE: dict[str, Any] = {"joins": JOINS[:1]}
_PRINTED = {"loss": "loss", "lr": "learning-rate", "grad_norm": "grad-norm", "val_loss": "validation-loss"}
_SCALARS: dict[str, Any] = {
    "roles": {LR: "learning-rate", "Loss/batch/train": "loss", "Loss/batch/val": "validation-loss"}
}
_FEW = {key: CONFIG[key] for key in ("seed", "dataset")}


def _own(environment: str, function: str, *packages: str, **more: Any) -> Client:
    return Client(environment, function, packages, module="trainers", **more)


def _tree(function: str, *packages: str, **more: Any) -> Client:
    overfitting = {
        **_ALONE,
        "events": ({"pattern": "overfitting", "step": 0, "anywhere": True},),
        "facts": {},
    }
    return Client("boost", function, packages, module="boosters", **{**overfitting, **more})


_LIGHTNING = {
    "train_loss": "loss",
    "grad_norm": "grad-norm",
    "val_loss": "validation-loss",
    "lr-SGD": "learning-rate",
}
_HF = {
    "loss": "loss",
    "grad_norm": "grad-norm",
    "learning_rate": "learning-rate",
    "eval_loss": "validation-loss",
}
_HF_JOINS = tuple(
    {**join, "from": join["from"] + 1, "to": join["to"] + 1} for join in JOINS
)  # they count from 1
_MMENGINE = {"loss": "loss", "lr": "learning-rate"}
_BASELINES: dict[str, Any] = {  # 30 rollouts of 128 steps a launch
    "facts": {},
    "roles": {"rollout/ep_rew_mean": "objective", "train/loss": "part-loss"},
    "joins": ({"kind": "resume", "from": 3840, "to": 3968}, {"kind": "resume", "from": 7680, "to": 7808}),
    "events": (),
}
_KERAS: dict[str, Any] = {
    "facts": {},
    "roles": {"loss": "loss", "val_loss": "validation-loss"},
    "joins": ({"kind": "rollback", "from": 23, "to": 20}, {"kind": "resume", "from": 35, "to": 36}),
    "events": ({"pattern": "spike", "step": 12}, {"pattern": "nan-inf", "step": 45}),
}
_KERAS_CSV = {**_KERAS, "joins": _KERAS["joins"][:1]}
_KERAS_ALONE = {**_KERAS, **_ALONE, "events": _KERAS["events"][:1]}
_KERAS_CONSOLE = {**_KERAS_CSV, "exact": "printed", "joins": ({"kind": "rollback", "from": 24, "to": 21},)}
_KERAS_EVENTS = {
    **_KERAS,
    "exact": "float32",
    "roles": {"train/epoch_loss": "loss", "validation/epoch_loss": "validation-loss"},
}
_EPOCHS: dict[str, Any] = {
    "roles": {"train_loss": "loss", "valid_loss": "validation-loss", "eval_loss": "validation-loss"},
    "facts": {},
    **_ALONE,
    "events": (),
}


_PRINTS_WITH = {
    "bars": "tqdm",
    "no_trainer": "tqdm",
    "rich_log": "rich",
    "rich_table": "rich",
    "loguru": "loguru",
}


def _style(function: str, roles: dict[str, str], **more: Any) -> Client:
    """A console log that begins each launch with its configuration, by which a resume is seen."""
    packages = (_PRINTS_WITH.get(function, "numpy"),)
    return Client("styles", function, packages, "printed", "styles", roles=roles, **more)


_LOSSES = {"Train Loss": "loss", "Val Loss": "validation-loss"}
_LOSS_LR = {"loss": "loss", "lr": "learning-rate"}
_THREE = {**_LOSS_LR, "grad_norm": "grad-norm"}
_IN_EPOCHS: dict[str, Any] = {
    "joins": ({"kind": "rollback", "from": 12, "to": 11}, {"kind": "resume", "from": 18, "to": 19}),
    "events": EVENTS[:0],
}
_ONE_FILE_FROM_1: dict[str, Any] = {"joins": _HF_JOINS[:1]}
_IN_SAMPLES: dict[str, Any] = {
    "joins": ({"kind": "rollback", "from": 3808, "to": 3200}, {"kind": "resume", "from": 5728, "to": 5760}),
    "events": ({"pattern": "spike", "step": 1920}, {"pattern": "nan-inf", "step": 7520}),
}
_NO_FACTS: dict[str, Any] = {"facts": {}}


def _library(environment: str, function: str, *packages: str, **more: Any) -> Client:
    """A library whose logs have no facts of ours."""
    return Client(environment, function, packages, module="libraries", **{"facts": {}, "events": (), **more})


_ONE_LAUNCH: dict[str, Any] = {"launches": 1, "joins": (), "exact": "printed"}
_TRL: dict[str, Any] = {
    "launches": 2,
    "joins": ({"kind": "rollback", "from": 24, "to": 17},),
    "exact": "float32",
}


def _other(environment: str, function: str, *packages: str, **more: Any) -> Client:
    """One launch of a library that prints, as one call starts it."""
    given = {"module": "others", **_ONE_LAUNCH, "facts": {}, "events": (), **more}
    return Client(environment, function, packages, **given)


def _search(environment: str, function: str, package: str, **more: Any) -> Client:
    """One launch of a library of `searches`."""
    return _other(environment, function, package, **{"module": "searches", **more})


CLIENTS = {
    "plain-prints": _loop("torch", "plain_prints", "numpy", exact="printed", facts=_FEW, roles=_PRINTED),
    "tqdm": _loop("torch", "tqdm_postfix", "tqdm", exact="printed", facts={}, roles=_PRINTED, **_ONE_FILE),
    "plain-jsonl": _loop("torch", "json_lines", "numpy", facts={}, **_ONE_FILE),
    "plain-csv": _loop("torch", "csv_writer", "numpy", facts={}, **_ONE_FILE),
    "tensorboard": _loop("torch", "tensorboard", "torch", "tensorboard", exact="float32"),
    "tensorboardX": _loop("torch", "tensorboardx", "tensorboardX", exact="float32", facts={}),
    "tensorboard-scalars": _loop(
        "torch", "tensorboard_scalars", "torch", "tensorboard", exact="float32", facts={}, **_SCALARS
    ),
    "tensorboardX-scalars": _loop(
        "torch", "tensorboardx_scalars", "tensorboardX", exact="float32", facts={}, **_SCALARS
    ),
    "accelerate": _loop("hf", "accelerate", "accelerate", exact="float32"),
    "wandb": _loop("track", "wandb", "wandb"),
    "mlflow-files": _loop("track", "mlflow_files", "mlflow", "mlflow-skinny"),
    "mlflow-sqlite": _loop("track", "mlflow_sqlite", "mlflow", "mlflow-skinny"),
    "trackio": _loop("track", "trackio", "trackio"),
    "aim": _loop("aim", "aim", "aim", opens=True, keeps_live_only=True, joins=()),
    "swanlab": _loop("track", "swanlab", "swanlab"),
    "comet": _loop("comet", "comet", "comet_ml"),
    "neptune": _loop("neptune", "neptune", "neptune", **_ALONE),
    "neptune-scale": _loop("neptune", "neptune_scale", "neptune-scale"),
    "clearml": _loop("clearml", "clearml", "clearml", ends_hard=True),
    "sacred": _loop("track", "sacred", "sacred", **_ALONE),
    "dvclive": _loop("track", "dvclive", "dvclive", **_ONE_FILE),
    "timm": _loop("vision", "timm_summary", "timm", **_EPOCHS),
    "lightning-csv": _own("torch", "lightning_csv", "lightning", exact="float32", roles=_LIGHTNING),
    "lightning-tensorboard": _own(
        "torch", "lightning_tensorboard", "lightning", exact="float32", roles=_LIGHTNING
    ),
    "lightning-both": _own("torch", "lightning_both", "lightning", exact="float32", roles=_LIGHTNING),
    "hf-state": _own("hf", "hf_state", "transformers", roles=_HF, facts={}, joins=(), keeps_live_only=True),
    "hf-events": _own(
        "hf", "hf_events", "transformers", exact="float32", roles=_HF, facts={"seed": 7}, joins=_HF_JOINS
    ),
    "hf-console": _own(
        "hf", "hf_console", "transformers", exact="printed", roles=_HF, facts={}, joins=_HF_JOINS
    ),
    "keras-csv": _own("keras", "keras_csv", "keras", "tensorflow-cpu", **_KERAS_CSV),
    "keras-tensorboard": _own("keras", "keras_tensorboard", "keras", **_KERAS_EVENTS),
    "keras-history": _own("keras", "keras_history", "keras", **_KERAS_ALONE),
    "keras-console": _own("keras", "keras_console", "keras", **_KERAS_CONSOLE),
    "keras-bars": _own("keras", "keras_bars", "keras", **_KERAS_CONSOLE),
    "fastai": _own("vision", "fastai_csv", "fastai", exact="float32", **_EPOCHS),
    "ray-tune": _own("torch", "ray_tune", "ray", **_ALONE),
    "mmengine": _own("torch", "mmengine", "mmengine", facts={}, roles=_MMENGINE, joins=_HF_JOINS),
    "stable-baselines3": _own("torch", "baselines", "stable-baselines3", **_BASELINES),
    "xgboost": _tree(
        "xgboost", "xgboost-cpu", roles={"train/rmse": "loss", "validation/rmse": "validation-loss"}
    ),
    "xgboost-console": _tree(
        "xgboost_console",
        "xgboost-cpu",
        exact="printed",
        roles={"train-rmse": "loss", "eval-rmse": "validation-loss"},
    ),
    "xgboost-sklearn": _tree(
        "xgboost_sklearn",
        "xgboost-cpu",
        exact="printed",
        roles={"validation_0-rmse": "loss", "validation_1-rmse": "validation-loss"},
    ),
    "lightgbm": _tree("lightgbm", "lightgbm", roles={"training/l2": "loss", "valid_0/l2": "validation-loss"}),
    "lightgbm-console": _tree(
        "lightgbm_console",
        "lightgbm",
        exact="printed",
        roles={"training's l2": "loss", "valid_0's l2": "validation-loss"},
    ),
    "catboost": _tree(
        "catboost", "catboost", exact="printed", roles={"learn/RMSE": "loss", "test/RMSE": "validation-loss"}
    ),
    "catboost-console": _tree(
        "catboost_console",
        "catboost",
        exact="printed",
        roles={"learn loss": "loss", "test loss": "validation-loss"},
    ),
    "spacy": _tree("spacy", "spacy", events=(), roles={}),
    "style-pipes": _style(
        "pipes",
        {"loss": "loss", "norm": "grad-norm", "lr": "learning-rate", "val loss": "validation-loss"},
        **_ONE_FILE,
    ),
    "style-iters": _style("iters", {"loss": "loss"}),
    "style-epochs-of-steps": _style("epochs_of_steps", {"Loss": "loss"}, **_NO_FACTS, **_ONE_FILE_FROM_1),
    "style-examples": _style("examples", {"Loss": "loss"}, **_IN_SAMPLES),
    "style-meters": _style("meters", {"Loss": "loss"}, **_NO_FACTS, **_ONE_FILE_FROM_1),
    "style-epoch-lines": _style("epoch_lines", {**_LOSSES}, **_IN_EPOCHS),
    "style-epoch-blocks": _style(
        "epoch_blocks", {**_LOSSES}, **_NO_FACTS, **{**_IN_EPOCHS, "joins": _IN_EPOCHS["joins"][:1]}
    ),
    "style-logging": _style("with_logging", {**_THREE, "val_loss": "validation-loss"}),
    "style-dicts": _style("dicts", {**_THREE, "val_loss": "validation-loss"}),
    "style-structured": _style("json_lines", {**_THREE, "val_loss": "validation-loss"}),
    "style-loguru": _style("loguru", {**_LOSS_LR, "val_loss": "validation-loss"}),
    "style-rich-log": _style("rich_log", _THREE),
    "style-rich-table": _style("rich_table", _LOSSES, **_NO_FACTS, **_IN_EPOCHS),
    "style-columns": _style(
        "columns",
        {"Loss": "loss", "LR": "learning-rate", "GradNorm": "grad-norm"},
        **_NO_FACTS,
        **_ONE_FILE,
    ),
    "style-bars": _style("bars", _LOSS_LR, **_NO_FACTS, joins=_HF_JOINS),
    "style-no-trainer": _style(
        "no_trainer", {"step_loss": "loss", "lr": "learning-rate"}, **_NO_FACTS, joins=_HF_JOINS
    ),
    "style-absl": _style(
        "absl",
        {
            "loss": "loss",
            "learning_rate": "learning-rate",
            "grad_norm": "grad-norm",
            "eval/loss": "validation-loss",
        },
    ),
    "style-boxes": _style("boxes", {"loss": "loss", "grad": "grad-norm", "lr": "learning-rate"}, **_ONE_FILE),
    "style-curly": _style(
        "curly",
        {"train_loss": "loss", "val_loss": "validation-loss"},
        **{
            **_IN_EPOCHS,
            "joins": ({"kind": "rollback", "from": 11, "to": 10},),
        },
    ),
    "style-f-equals": _style(
        "f_equals",
        {"loss": "loss", "lr": "learning-rate", "norm": "grad-norm", "val_loss": "validation-loss"},
    ),
    "trl-sft": _library("hf", "trl_sft", "trl", "transformers", roles=_HF, **_TRL),
    "trl-dpo": _library("hf", "trl_dpo", "trl", roles={"loss": "loss", "grad_norm": "grad-norm"}, **_TRL),
    "trl-grpo": _library("hf", "trl_grpo", "trl", roles={"reward": "objective"}, **_TRL),
    "sentence-transformers": _library(
        "hf",
        "sentence_transformers",
        "sentence-transformers",
        roles={"loss": "loss", "eval_loss": "validation-loss"},
        **_ONE_LAUNCH,
    ),
    "ignite": _library("hf", "ignite", "pytorch-ignite", roles={}, **_ONE_LAUNCH),
    "skorch": _library(
        "hf",
        "skorch",
        "skorch",
        roles={"train_loss": "loss", "valid_loss": "validation-loss"},
        **_ONE_LAUNCH,
    ),
    "lightning-bar": _library(
        "torch", "lightning_bar", "lightning", roles={"val_loss": "validation-loss"}, **_ONE_LAUNCH
    ),
    "stable-baselines3-console": _library(
        "torch",
        "baselines_console",
        "stable-baselines3",
        roles={"rollout/ep_rew_mean": "objective"},
        **_ONE_LAUNCH,
    ),
    "clu": _library("keras", "clu", "clu", exact="float32", roles=ROLES, events=EVENTS),
    "ultralytics": _library(
        "vision",
        "ultralytics",
        "ultralytics",
        roles={"train/box_loss": "loss", "val/box_loss": "validation-loss"},
        **{**_ONE_LAUNCH, "exact": "float64"},
    ),
    "lightning-default": _other(
        "torch", "lightning_default", "lightning", roles={"val_loss": "validation-loss"}, events=EVENTS[:1]
    ),
    "setfit": _other(
        "hf",
        "setfit",
        "setfit",
        exact="float32",
        roles={"embedding_loss": "loss", "grad_norm": "grad-norm", "learning_rate": "learning-rate"},
    ),
    "tabnet": _other(
        "calls", "tabnet", "pytorch-tabnet", roles={"loss": "loss", "valid_rmse": "validation-loss"}
    ),
    "pykan": _other("calls", "pykan", "pykan", roles={"train_loss": "loss", "test_loss": "validation-loss"}),
    "paddle": _other(
        "frames", "paddle", "paddlepaddle", roles={"loss": "loss", "eval/loss": "validation-loss"}
    ),
    "mindspore": _other("frames", "mindspore", "mindspore", roles={"loss": "loss"}),
    "deap": _search("searches", "deap", "deap", roles={"avg": "objective", "max": "objective"}),
    "deap-minimised": _search("searches", "deap_minimised", "deap", roles={"avg": "loss"}),
    "pygad": _search("searches", "pygad", "pygad", roles={"Fitness": "objective"}),
    "pymoo": _search("searches", "pymoo", "pymoo", roles={"f_avg": "loss"}),
    "sklearn-network": _search(
        "searches",
        "sklearn_network",
        "scikit-learn",
        roles={"loss": "loss", "Validation score": "validation-score"},
    ),
    "sklearn-boosting": _search("searches", "sklearn_boosting", "scikit-learn", roles={"Train Loss": "loss"}),
    "gensim": _search("searches", "gensim", "gensim", roles={"Perplexity estimate": "loss"}),
    "gpytorch": _search("sciences", "gpytorch", "gpytorch", roles={"Loss": "loss"}),
    "deepxde": _search(
        "sciences", "deepxde", "deepxde", roles={"Train loss": "loss", "Test loss": "validation-loss"}
    ),
    "neuraloperator": _search("sciences", "neuraloperator", "neuraloperator", roles={"avg_loss": "loss"}),
    "d3rlpy": _search("sciences", "d3rlpy", "d3rlpy", exact="float64", roles={"loss": "loss"}),
    "ctgan": _search(
        "sciences",
        "ctgan",
        "ctgan",
        exact="float64",
        roles={"Generator Loss": "loss", "Discriminator Loss": "part-loss"},
    ),
    "poutyne": _search(
        "sciences",
        "poutyne",
        "poutyne",
        exact="float32",
        roles={"loss": "loss", "val_loss": "validation-loss"},
        joins=({"kind": "resume", "from": 8, "to": 9},),
    ),
}
