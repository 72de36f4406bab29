"""Trainers of trees and of spaCy: each iteration or epoch is a step."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clients.trainers import console_of
from benchmarks.clients.training import CONFIG, STEPS
from benchmarks.clients.truth import Record

ROUNDS = STEPS // 3


def _data() -> tuple[Any, Any, Any, Any]:
    """So few rows, and so much noise, that the trees overfit."""
    rng = np.random.default_rng(CONFIG["seed"])
    inputs = rng.standard_normal((400, 8))
    targets = np.sin(inputs[:, 0]) + 0.5 * inputs[:, 1] * inputs[:, 2] + 0.8 * rng.standard_normal(400)
    return inputs[:200], targets[:200], inputs[200:], targets[200:]


def _record(record: Record, results: dict[str, dict[str, list[float]]]) -> None:
    for part, metrics in results.items():
        for metric, values in metrics.items():
            for step, value in enumerate(values):
                record.add(step, {f"{part}/{metric}": value})


def xgboost(log: Path, number: int, record: Record) -> None:
    import xgboost as xgb

    x, y, valid_x, valid_y = _data()
    train, valid = xgb.DMatrix(x, y), xgb.DMatrix(valid_x, valid_y)
    results: dict[str, Any] = {}
    parameters = {"max_depth": 4, "eta": 0.3, "seed": CONFIG["seed"], "eval_metric": ["rmse", "mae"]}
    watched = [(train, "train"), (valid, "validation")]
    xgb.train(parameters, train, ROUNDS, watched, evals_result=results, verbose_eval=False)
    (log / "evals_result.json").write_text(json.dumps(results))
    _record(record, results)


def xgboost_console(log: Path, number: int, record: Record) -> None:
    import contextlib

    import xgboost as xgb

    x, y, valid_x, valid_y = _data()
    train, valid = xgb.DMatrix(x, y), xgb.DMatrix(valid_x, valid_y)
    results: dict[str, Any] = {}
    watched = [(train, "train"), (valid, "eval")]
    with (log / "train.log").open("w") as out, contextlib.redirect_stdout(out):
        xgb.train({"max_depth": 4}, train, ROUNDS, watched, evals_result=results)
    for part, metrics in results.items():
        for metric, values in metrics.items():
            for step, value in enumerate(values):
                record.add(step, {f"{part}-{metric}": value})


def xgboost_sklearn(log: Path, number: int, record: Record) -> None:
    """What the interface for scikit-learn prints, which numbers the sets."""
    import xgboost as xgb

    x, y, valid_x, valid_y = _data()
    model = xgb.XGBRegressor(n_estimators=ROUNDS, max_depth=4, random_state=CONFIG["seed"])
    with console_of(log / "train.log"):
        model.fit(x, y, eval_set=[(x, y), (valid_x, valid_y)], verbose=True)
    for part, losses in model.evals_result().items():
        for step, loss in enumerate(losses["rmse"]):
            record.add(step, {f"{part}-rmse": loss})


def lightgbm(log: Path, number: int, record: Record) -> None:
    results, _ = _lightgbm()
    (log / "evals_result.json").write_text(json.dumps(results))
    _record(record, results)


def lightgbm_console(log: Path, number: int, record: Record) -> None:
    import contextlib

    with (log / "train.log").open("w") as out, contextlib.redirect_stdout(out):
        results, _ = _lightgbm(printed=True)
    for part, metrics in results.items():
        for metric, values in metrics.items():
            for step, value in enumerate(values, 1):
                record.add(step, {f"{part}'s {metric}": value})


def _lightgbm(printed: bool = False) -> tuple[dict[str, Any], Any]:
    import lightgbm as lgb

    x, y, valid_x, valid_y = _data()
    train = lgb.Dataset(x, y)
    results: dict[str, Any] = {}
    callbacks = [lgb.record_evaluation(results)] + ([lgb.log_evaluation(1)] if printed else [])
    parameters = {"objective": "regression", "metric": ["l2", "l1"], "verbose": -1, "num_leaves": 15}
    sets = [train, lgb.Dataset(valid_x, valid_y, reference=train)]
    model = lgb.train(
        {**parameters, "seed": CONFIG["seed"]},
        train,
        ROUNDS,
        valid_sets=sets,
        valid_names=["training", "valid_0"],
        callbacks=callbacks,
    )
    return results, model


def catboost(log: Path, number: int, record: Record) -> None:
    results = _catboost(train_dir=str(log / "catboost_info"), verbose=False)
    _record(record, results)


def catboost_console(log: Path, number: int, record: Record) -> None:
    with console_of(log / "train.log"):
        results = _catboost(allow_writing_files=False, verbose=1)
    for part, losses in results.items():
        for step, loss in enumerate(losses["RMSE"]):
            record.add(step, {f"{part} loss": loss})


def _catboost(**options: Any) -> dict[str, dict[str, list[float]]]:
    """The losses of both parts, at a learning rate that overfits: the default hardly does."""
    import catboost as cb

    x, y, valid_x, valid_y = _data()
    model = cb.CatBoostRegressor(iterations=ROUNDS, random_seed=CONFIG["seed"], learning_rate=0.8, **options)
    model.fit(x, y, eval_set=(valid_x, valid_y))
    results = model.get_evals_result()
    return {"learn": results["learn"], "test": results["validation"]}


def spacy(log: Path, number: int, record: Record) -> None:
    import random

    import spacy as library
    from spacy.cli._util import setup_gpu  # noqa: F401  (makes the registry known)
    from spacy.cli.init_config import init_config
    from spacy.cli.train import train
    from spacy.tokens import DocBin

    language = library.blank("en")
    words = {"POS": ["good", "fine", "great", "warm"], "NEG": ["bad", "poor", "cold", "grim"]}
    rng = random.Random(CONFIG["seed"])
    for part, size in (("train", 200), ("dev", 60)):
        docs = DocBin()
        for _ in range(size):
            label = rng.choice(["POS", "NEG"])
            doc = language.make_doc(" ".join(rng.choices(words[label] + ["the", "and", "a"], k=8)))
            doc.cats = {"POS": float(label == "POS"), "NEG": float(label == "NEG")}
            docs.add(doc)
        docs.to_disk(log.parent / f"{part}.spacy")
    config = init_config(lang="en", pipeline=["textcat"], optimize="efficiency")
    config["training"]["logger"] = {
        "@loggers": "spacy.ConsoleLogger.v3",
        "progress_bar": None,
        "console_output": True,
        "output_file": str(log / "training_log.jsonl"),
    }
    config["training"] |= {"max_steps": 200, "eval_frequency": 10}
    config.to_disk(log.parent / "config.cfg")
    paths = {"paths.train": str(log.parent / "train.spacy"), "paths.dev": str(log.parent / "dev.spacy")}
    train(log.parent / "config.cfg", log.parent / "model", overrides=paths)
    for line in (log / "training_log.jsonl").read_text().splitlines():
        told = json.loads(line)
        record.add(told["step"], {"score": told["score"]})
