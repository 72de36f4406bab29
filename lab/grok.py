"""Grokking: addition modulo a prime from half of all pairs, by a small network with weight decay."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from lab.logs import Log
from lab.model import Adder

PRIME, WIDTH, STEPS, SEED = 59, 256, 2000, 0
LOG_EVERY = 10

TITLE = "Addition modulo 59: memorised first, understood later"
KNOWN = "Weight decay slowly removes the memorising solution"
CAUSE = "none: half of all pairs to learn from, and a strong weight decay"
DESCRIPTION = (
    "A small network learns to add modulo 59. It knows the half of the pairs it trains on by heart within "
    "some tens of steps, and is as good as guessing on the other half for hundreds more; then it "
    "finds the rule, and the accuracy on unseen pairs rises to 1. One point in ten steps."
)


def train(log: Log) -> int:
    """Trains on the full batch; returns the number of parameters."""
    torch.manual_seed(SEED)
    pairs = torch.cartesian_prod(torch.arange(PRIME), torch.arange(PRIME))
    sums = pairs.sum(1) % PRIME
    seen, unseen = torch.randperm(len(pairs)).chunk(2)
    model = Adder(PRIME, WIDTH)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.98), weight_decay=1.0)
    for step in range(STEPS):
        logits = model(pairs[seen])
        loss = F.cross_entropy(logits, sums[seen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % LOG_EVERY == 0:
            with torch.no_grad():
                guess = model(pairs[unseen])
            values = {"loss": float(loss.detach()), "train_accuracy": _accuracy(logits, sums[seen])}
            values |= {
                "val_loss": float(F.cross_entropy(guess, sums[unseen])),
                "val_accuracy": _accuracy(guess, sums[unseen]),
            }
            log.write(step, values)
    log.close()
    return sum(p.numel() for p in model.parameters())


def _accuracy(logits: Tensor, right: Tensor) -> float:
    return float((logits.argmax(1) == right).float().mean())
