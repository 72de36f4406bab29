"""Searches that evolve a population, and libraries of other sciences that print in ways of their own."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.clients.trainers import console_of, data_of_network, small_network
from benchmarks.clients.training import CONFIG
from benchmarks.clients.truth import Record

GENERATIONS = 40


# --- evolution ---


def deap(log: Path, number: int, record: Record) -> None:
    """The table of a fitness that is made large."""
    _evolved(log, record, 1.0)


def deap_minimised(log: Path, number: int, record: Record) -> None:
    """The same of a fitness that is made small, which only the values tell."""
    _evolved(log, record, -1.0)


def _evolved(log: Path, record: Record, sign: float) -> None:
    import random

    import numpy as np
    from deap import algorithms, base, creator, tools

    random.seed(CONFIG["seed"])
    creator.create("Fitness", base.Fitness, weights=(sign,))
    creator.create("Individual", list, fitness=creator.Fitness)
    box = base.Toolbox()
    box.register("gene", random.gauss, 1.0, 1.0)
    box.register("individual", tools.initRepeat, creator.Individual, box.gene, 8)
    box.register("evaluate", lambda own: (-sign * sum(gene**2 for gene in own),))
    box.register("mate", tools.cxTwoPoint)
    box.register("mutate", tools.mutGaussian, mu=0.0, sigma=0.2, indpb=0.2)
    box.register("select", tools.selTournament, tournsize=3)
    statistics = tools.Statistics(lambda own: own.fitness.values)
    for name, of in {"avg": np.mean, "std": np.std, "min": np.min, "max": np.max}.items():
        statistics.register(name, of)
    population = tools.initRepeat(list, box.individual, 60)
    with console_of(log / "run.log"):
        _, book = algorithms.eaSimple(population, box, 0.5, 0.2, GENERATIONS, statistics)
    for row in book:
        record.add(row["gen"], {name: row[name] for name in ("nevals", "avg", "std", "min", "max")})


def pygad(log: Path, number: int, record: Record) -> None:
    """Lines that a callback prints, as in the package's guide; the best fitness so far often stands still."""
    import numpy as np
    import pygad

    def shows(search: Any) -> None:
        _, fitness, _ = search.best_solution(search.last_generation_fitness)
        print(f"Generation = {search.generations_completed}")
        print(f"Fitness    = {fitness}")
        record.add(search.generations_completed, {"Fitness": fitness})

    weights = np.array([4, -2, 3.5, 5, -11, -4.7])
    with console_of(log / "train.log"):
        pygad.GA(
            num_generations=GENERATIONS,
            num_parents_mating=4,
            fitness_func=lambda search, own, at: 1.0 / (abs(float(own @ weights) - 44) + 0.01),
            sol_per_pop=8,
            num_genes=6,
            on_generation=shows,
            random_seed=CONFIG["seed"],
        ).run()


def pymoo(log: Path, number: int, record: Record) -> None:
    """A table between bars; this package only ever makes small."""
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.callback import Callback
    from pymoo.optimize import minimize
    from pymoo.problems import get_problem

    class Witness(Callback):
        def notify(self, algorithm: Any) -> None:
            found = algorithm.pop.get("F")
            record.add(algorithm.n_iter, {"f_avg": found.mean(), "f_min": found.min()})

    problem = get_problem("rastrigin", n_var=5)
    with console_of(log / "train.log"):
        search = GA(pop_size=50)
        minimize(problem, search, ("n_gen", 50), seed=CONFIG["seed"], callback=Witness(), verbose=True)


# --- statistics ---


def sklearn_network(log: Path, number: int, record: Record) -> None:
    """A line of the loss and a line of the score an epoch."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import MLPClassifier

    inputs, labels = load_digits(return_X_y=True)
    model = MLPClassifier(verbose=True, early_stopping=True, random_state=CONFIG["seed"])
    with console_of(log / "train.log"):
        model.fit(inputs / 16, labels)
    names = {"loss": model.loss_curve_, "Validation score": model.validation_scores_}
    _add(record, names, 1)


def sklearn_boosting(log: Path, number: int, record: Record) -> None:
    """A table whose later rows are ten trees apart."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import GradientBoostingClassifier

    inputs, labels = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(verbose=1, n_estimators=150, random_state=CONFIG["seed"])
    with console_of(log / "train.log"):
        model.fit(inputs, labels)
    for tree, loss in enumerate(model.train_score_, 1):
        if tree <= 10 or (tree <= 100 and not tree % 10) or not tree % 100:
            record.add(tree, {"Train Loss": loss})


def gensim(log: Path, number: int, record: Record) -> None:
    """Lines of a log, among which one of an epoch tells how good it is."""
    import logging
    import random

    from gensim.corpora import Dictionary
    from gensim.models import LdaModel
    from gensim.models.callbacks import PerplexityMetric

    made = random.Random(CONFIG["seed"])
    texts = [[f"w{(7 * k + 13 * n + made.randint(0, 9)) % 100}" for k in range(20)] for n in range(100)]
    words = Dictionary(texts)
    corpus = [words.doc2bow(text) for text in texts]
    told = PerplexityMetric(corpus=corpus, logger="shell", title="Perplexity")
    with console_of(log / "train.log"):
        logging.basicConfig(format="%(asctime)s : %(levelname)s : %(message)s", level=logging.INFO)
        seed = CONFIG["seed"]
        model = LdaModel(corpus, 2, words, passes=12, eval_every=None, callbacks=[told], random_state=seed)
    _add(record, {"Perplexity estimate": next(iter(model.metrics.values()), ())}, 0)


# --- networks ---


def gpytorch(log: Path, number: int, record: Record) -> None:
    """The loop of the package's first example."""
    import gpytorch
    import torch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, inputs: Any, targets: Any, likelihood: Any) -> None:
            super().__init__(inputs, targets, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, inputs: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(inputs), self.covar_module(inputs)
            )

    torch.manual_seed(CONFIG["seed"])
    inputs = torch.linspace(0, 1, 60)
    targets = torch.sin(6.28 * inputs) + 0.2 * torch.randn(60)
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(inputs, targets, likelihood)
    optimiser = torch.optim.Adam(model.parameters(), 0.1)
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    with console_of(log / "train.log"):
        for step in range(1, 51):
            optimiser.zero_grad()
            loss = -evidence(model(inputs), targets)
            loss.backward()
            told = {"Loss": loss.item(), "lengthscale": model.covar_module.base_kernel.lengthscale.item()}
            words = "   ".join(f"{name}: {value:.3f}" for name, value in told.items())
            print(f"Iter {step}/50 - {words}   noise: {likelihood.noise.item():.3f}")
            record.add(step, told)
            optimiser.step()


def deepxde(log: Path, number: int, record: Record) -> None:
    """A table on the console, and the same numbers in a file."""
    os.environ["DDE_BACKEND"] = "pytorch"
    import deepxde as dde
    import numpy as np

    dde.config.set_random_seed(CONFIG["seed"])
    data = dde.data.Function(dde.geometry.Interval(-1, 1), lambda x: x * np.sin(5 * x), 16, 60)
    with console_of(log / "train.log"):
        model = dde.Model(data, dde.nn.FNN([1, 16, 16, 1], "tanh", "Glorot uniform"))
        model.compile("adam", lr=1e-3, metrics=["l2 relative error"])
        history, state = model.train(iterations=600, display_every=20)
        dde.saveplot(history, state, isplot=False, output_dir=str(log))
    for name in ("test.dat", "train.dat"):
        (log / name).unlink()
    for name in ("train", "test"):
        for step, losses in zip(history.steps, getattr(history, f"loss_{name}"), strict=True):
            record.add(step, {f"{name.title()} loss": sum(losses)})


def neuraloperator(log: Path, number: int, record: Record) -> None:
    """A line an evaluation, whose names begin with the resolution."""
    import torch
    from neuralop import H1Loss, LpLoss, Trainer
    from neuralop.models import FNO

    class Witness(Trainer):
        def log_training(self, epoch: int, *arguments: Any, **told: Any) -> None:
            _witnessed(record, epoch, told)
            super().log_training(epoch, *arguments, **told)

        def log_eval(self, epoch: int, eval_metrics: Any) -> None:
            record.add(epoch, {name: float(value) for name, value in eval_metrics.items() if "_" in name})
            super().log_eval(epoch, eval_metrics)

    torch.manual_seed(CONFIG["seed"])
    data = [{"x": one, "y": 2 * one} for one in torch.randn(32, 1, 16, 16)]
    loader = torch.utils.data.DataLoader(data, 8)
    model = FNO(n_modes=(4, 4), in_channels=1, out_channels=1, hidden_channels=8)
    optimiser, loss = torch.optim.Adam(model.parameters(), 8e-3), LpLoss(d=2, p=2)
    with console_of(log / "train.log"):
        Witness(model=model, n_epochs=12, device="cpu", eval_interval=1, verbose=True).train(
            train_loader=loader,
            test_loaders={16: loader},
            optimizer=optimiser,
            scheduler=torch.optim.lr_scheduler.StepLR(optimiser, 10),
            training_loss=loss,
            eval_losses={"l2": loss, "h1": H1Loss(d=2)},
        )


def _witnessed(record: Record, epoch: int, told: dict[str, Any]) -> None:
    record.add(epoch, {name: float(told[name]) for name in ("avg_loss", "train_err") if name in told})


def d3rlpy(log: Path, number: int, record: Record) -> None:
    """A file without a line of names for each metric."""
    import d3rlpy
    import numpy as np

    made = np.random.default_rng(CONFIG["seed"])
    ends = (np.arange(1000) % 50 == 49).astype("float32")
    told = made.normal(size=(1000, 4)).astype("float32"), made.integers(0, 2, (1000, 1))
    data = d3rlpy.dataset.MDPDataset(*told, made.normal(size=(1000, 1)).astype("float32"), ends)
    adapter = d3rlpy.logging.FileAdapterFactory(str(log))
    model = d3rlpy.algos.DQNConfig(batch_size=32).create(device="cpu:0")
    judge = d3rlpy.metrics.TDErrorEvaluator(episodes=data.episodes[:4])
    with console_of(log.parent / "console.txt"):
        rows = model.fit(data, 500, 50, evaluators={"td_error": judge}, logger_adapter=adapter)
    for epoch, values in rows:
        record.add(50 * epoch, {name: values[name] for name in ("loss", "td_error", "time_step")})
    for weights in log.rglob("*.d3"):
        weights.unlink()


def ctgan(log: Path, number: int, record: Record) -> None:
    """The losses as a table that pandas writes."""
    import numpy as np
    import pandas as pd
    from ctgan import CTGAN

    made = np.random.default_rng(CONFIG["seed"])
    data = pd.DataFrame({"a": made.normal(size=400), "b": made.choice(list("xyz"), 400)})
    model = CTGAN(epochs=15, batch_size=100)
    model.set_random_state(CONFIG["seed"])
    model.fit(data, ["b"])
    model.loss_values.to_csv(log / "loss_values.csv")
    for row in model.loss_values.to_dict("records"):
        record.add(row["Epoch"], {name: row[name] for name in ("Generator Loss", "Discriminator Loss")})


def poutyne(log: Path, number: int, record: Record) -> None:
    """The table of an experiment, which a second call continues."""
    import torch
    from poutyne import Experiment

    data = torch.utils.data.TensorDataset(*data_of_network())
    loader = torch.utils.data.DataLoader(data, 64)
    given = {"device": "cpu", "optimizer": "sgd", "loss_function": "mse", "logging": True}
    rows: list[dict[str, Any]] = []
    with console_of(log.parent / "console.txt"):
        for epochs in (8, 14):
            made = Experiment(str(log / "experiment"), small_network(), **given)
            rows += made.train(loader, loader, epochs=epochs, keep_only_last_best=True)
    for kept in (
        *log.rglob("*.ckpt"),
        *log.rglob("checkpoint.*"),
        *log.rglob("*.png"),
        *log.rglob("last.epoch"),
    ):
        kept.unlink(missing_ok=True)
    for row in rows:
        record.add(row["epoch"], {name: row[name] for name in ("loss", "val_loss")})


def _add(record: Record, values: dict[str, Iterable[float]], first: int) -> None:
    for name, course in values.items():
        for step, value in enumerate(course, first):
            record.add(step, {name: value})
