"""The models: a decoder over bytes as large language models have, and a network that adds two numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

VOCABULARY = 256


class Block(nn.Module):
    """Attention and feed-forward, each with normalisation before and a residual around.

    ``max_logit`` is the largest attention logit of the last pass.
    """

    def __init__(self, width: int, heads: int, *, qk_norm: bool, layer_norm: bool) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention = nn.LayerNorm(width) if layer_norm else nn.Identity()
        self.norm_feed_forward = nn.LayerNorm(width) if layer_norm else nn.Identity()
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)
        self.norm_q = nn.LayerNorm(width // heads) if qk_norm else nn.Identity()
        self.norm_k = nn.LayerNorm(width // heads) if qk_norm else nn.Identity()
        self.max_logit = 0.0

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        """``x`` [batch, time, width]; ``hidden`` [time, time] is true where a position may not look."""
        batch, time, width = x.shape
        split = self.qkv(self.norm_attention(x)).view(batch, time, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        logits = self.norm_q(q) @ self.norm_k(k).transpose(-1, -2) / math.sqrt(width // self.heads)
        self.max_logit = float(logits.detach().abs().max())
        attention = logits.masked_fill(hidden, float("-inf")).softmax(-1)
        x = x + self.out((attention @ v).transpose(1, 2).reshape(batch, time, width))
        return x + self.down(F.gelu(self.up(self.norm_feed_forward(x))))


class TinyGPT(nn.Module):
    """Bytes in, logits of the next byte out: [batch, time] to [batch, time, 256]."""

    def __init__(
        self,
        width: int = 64,
        layers: int = 2,
        heads: int = 4,
        context: int = 64,
        *,
        qk_norm: bool = False,
        layer_norm: bool = True,
    ) -> None:
        super().__init__()
        self.bytes = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            Block(width, heads, qk_norm=qk_norm, layer_norm=layer_norm) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width) if layer_norm else nn.Identity()
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        self.register_buffer("hidden", torch.triu(torch.ones(context, context, dtype=torch.bool), 1))
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, 0, 0.02)
        for block in self.blocks:
            for weight in (block.out.weight, block.down.weight):
                weight.data /= math.sqrt(2 * layers)

    def forward(self, tokens: Tensor) -> Tensor:
        time = tokens.shape[1]
        x = self.bytes(tokens) + self.positions.weight[:time]
        for block in self.blocks:
            x = block(x, self.hidden[:time, :time])
        return self.head(self.norm(x))

    @property
    def max_attention_logit(self) -> float:
        return max(block.max_logit for block in self.blocks)


class Adder(nn.Module):
    """Two numbers in, logits of their sum out: int64[batch, 2] to [batch, symbols]."""

    def __init__(self, symbols: int, width: int) -> None:
        super().__init__()
        self.numbers = nn.Embedding(symbols, width // 2)
        self.hidden = nn.Linear(width // 2 * 2, width)
        self.head = nn.Linear(width, symbols)

    def forward(self, pairs: Tensor) -> Tensor:
        return self.head(F.relu(self.hidden(self.numbers(pairs).flatten(1))))


def losses(model: TinyGPT, rows: Tensor) -> Tensor:
    """Cross entropy of each row in nats a byte: [batch, time + 1] to [batch]."""
    logits = model(rows[:, :-1])
    return F.cross_entropy(logits.transpose(1, 2), rows[:, 1:], reduction="none").mean(1)
