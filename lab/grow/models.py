"""The models and optimizers of the grown trainings."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from lab.grow.plan import Plan
from lab.grow.tasks import Task
from lab.model import Adder, TinyGPT

LOOKS_BACK = 6  # bytes that the small language model sees


class MlpLm(nn.Module):
    """The next symbol from the last six, by one hidden layer: [batch, time] to [batch, time, symbols]."""

    def __init__(self, symbols: int, width: int, *, layer_norm: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(symbols, 16)
        self.hidden = nn.Linear(16 * LOOKS_BACK, 4 * width)
        self.norm = nn.LayerNorm(4 * width) if layer_norm else nn.Identity()
        self.head = nn.Linear(4 * width, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        x = F.pad(self.embedding(tokens), (0, 0, LOOKS_BACK - 1, 0))
        x = x.unfold(1, LOOKS_BACK, 1).flatten(2)
        return self.head(self.norm(F.gelu(self.hidden(x))))


class Mlp(nn.Module):
    """A stack of layers over numbers: [batch, inputs] to [batch, outputs]."""

    def __init__(self, inputs: int, outputs: int, width: int, layers: int, *, layer_norm: bool) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for size in [inputs] + [width] * (layers - 1):
            parts += [nn.Linear(size, width), nn.LayerNorm(width) if layer_norm else nn.Identity(), nn.ReLU()]
        self.body = nn.Sequential(*parts)
        self.head = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


class Lion(torch.optim.Optimizer):
    """The sign of an averaged gradient (Chen et al. 2023, arXiv:2302.06675)."""

    def __init__(self, parameters: Iterable[Tensor], lr: float, weight_decay: float) -> None:
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self) -> None:
        for group in self.param_groups:
            for p in (p for p in group["params"] if p.grad is not None):
                mean = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                p.mul_(1 - group["lr"] * group["weight_decay"])
                p.add_(torch.sign(0.9 * mean + 0.1 * p.grad), alpha=-group["lr"])
                mean.mul_(0.99).add_(p.grad, alpha=0.01)


class Muon(torch.optim.Optimizer):
    """Orthogonal updates for matrices, Adam for the rest, as Muon is used (Jordan et al. 2024)."""

    def __init__(self, parameters: Iterable[nn.Parameter], lr: float, weight_decay: float) -> None:
        parameters = list(parameters)
        super().__init__(parameters, {"lr": lr})
        matrices = [p for p in parameters if p.dim() == 2]
        others = [p for p in parameters if p.dim() != 2]
        self.parts = [
            torch.optim.Muon(matrices, lr=lr, weight_decay=weight_decay),
            torch.optim.AdamW(others, lr=lr, weight_decay=0.0),
        ]

    def step(self) -> None:
        for part, factor in zip(self.parts, (1.0, 0.1), strict=True):
            part.param_groups[0]["lr"] = self.param_groups[0]["lr"] * factor
            part.step()

    def state_dict(self) -> dict[str, list[dict[str, object]]]:
        return {"parts": [part.state_dict() for part in self.parts]}

    def load_state_dict(self, state: dict[str, list[dict[str, object]]]) -> None:
        for part, saved in zip(self.parts, state["parts"], strict=True):
            part.load_state_dict(saved)


def build(plan: Plan, task: Task, inputs: int) -> nn.Module:
    """The model of a plan; ``inputs`` is the width of one row of data."""
    outputs = max(task.symbols, 1)
    if plan.model == "gpt":
        model: nn.Module = TinyGPT(
            plan.width, plan.layers, context=plan.context, qk_norm=plan.qk_norm, layer_norm=plan.layer_norm
        )
    elif plan.model == "mlp-lm":
        model = MlpLm(outputs, plan.width, layer_norm=plan.layer_norm)
    elif plan.model == "adder":
        model = Adder(outputs, plan.width)
    else:
        model = Mlp(inputs, outputs, plan.width, plan.layers, layer_norm=plan.layer_norm)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(plan.init if parameter.dim() > 1 else 1.0)
    return model


def optimizer(plan: Plan, model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of a plan, new."""
    parameters, decay = list(model.parameters()), plan.weight_decay
    if plan.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=plan.lr, momentum=0.9, weight_decay=decay)
    if plan.optimizer == "adafactor":
        return torch.optim.Adafactor(parameters, lr=plan.lr, weight_decay=decay)
    if plan.optimizer == "lion":
        return Lion(parameters, plan.lr, decay)
    if plan.optimizer == "muon":
        return Muon(parameters, plan.lr, decay)
    betas = (0.9, plan.beta2)
    return torch.optim.AdamW(parameters, lr=plan.lr, betas=betas, eps=plan.eps, weight_decay=decay)
