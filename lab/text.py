"""Text to train on, made from a seed: sentences of an invented language, and sums. NumPy alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

CONSONANTS, VOWELS = list("bdfgklmnprstvz"), list("aeiou")
# Parts of speech with the number of words each has; a sentence is one of the templates.
PARTS = {"D": 4, "A": 120, "N": 500, "V": 200, "P": 12, "C": 5}
TEMPLATES = ("DNVDN", "DANVDN", "DNVPDN", "DANVPDAN", "DNPDNVDAN", "DNVDNCDNV")
TOPIC_SHIFT = 53  # nouns by which two neighbouring topics differ in what they speak of
SENTENCES_PER_TOPIC = 8


def words(rng: np.random.Generator, count: int) -> list[str]:
    """``count`` different invented words of one to three syllables."""
    found: dict[str, None] = {}
    while len(found) < count:
        syllables = rng.integers(1, 4)
        word = "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(syllables))
        found[word] = None
    return list(found)


def zipf(rng: np.random.Generator, ranks: int, size: int) -> NDArray[np.int64]:
    """``size`` ranks below ``ranks``, the n-th as likely as 1/n: some words are common, most are rare."""
    weights = 1 / np.arange(1, ranks + 1)
    return rng.choice(ranks, size, p=weights / weights.sum())


def story(n_bytes: int, seed: int) -> Bytes:
    """At least ``n_bytes`` of sentences whose nouns change from topic to topic, cut to ``n_bytes``.

    Grammar, spelling and topic can all be learned, one after the other, and single words never wholly: the
    loss of a language model on it falls fast, then slowly, as on real text.
    """
    rng = np.random.default_rng(seed)
    lexicon = {part: words(rng, count) for part, count in PARTS.items()}
    sentences = n_bytes // 20 + 1  # on average a sentence is longer than that
    templates = rng.integers(0, len(TEMPLATES), sentences)
    drawn = {part: iter(zipf(rng, count, sentences * 4)) for part, count in PARTS.items()}
    parts: list[str] = []
    size = 0
    for i, template in enumerate(templates):
        shift = i // SENTENCES_PER_TOPIC * TOPIC_SHIFT
        chosen = [(p, next(drawn[p]) + (shift if p == "N" else 0)) for p in TEMPLATES[template]]
        parts.append(" ".join(lexicon[p][n % PARTS[p]] for p, n in chosen) + ". ")
        size += len(parts[-1])
        if size >= n_bytes:
            break
    return np.frombuffer("".join(parts).encode("ascii")[:n_bytes], dtype=np.uint8)


def sums(n_bytes: int, seed: int) -> Bytes:
    """``n_bytes`` of sums such as ``3+4=7;``: another source of data, easier than the story."""
    a, b = np.random.default_rng(seed).integers(0, 10, (2, n_bytes // 6 + 1))
    text = "".join(f"{x}+{y}={x + y};" for x, y in zip(a, b, strict=True))
    return np.frombuffer(text.encode("ascii")[:n_bytes], dtype=np.uint8)


class Stream:
    """Rows of ``length`` bytes of a text in an order fixed by the seed, each served once an epoch."""

    def __init__(self, text: Bytes, length: int, seed: int) -> None:
        self.rows = text[: len(text) // length * length].reshape(-1, length)
        self.seed = seed
        self.cursor = 0  # rows served so far: all that a loader must save to be resumed

    def take(self, count: int) -> Bytes:
        """The next ``count`` rows, uint8[count, length]."""
        rows = self.at(self.cursor, count)
        self.cursor += count
        return rows

    def at(self, start: int, count: int) -> Bytes:
        """``count`` rows from position ``start`` on; the cursor stays where it is."""
        size = len(self.rows)
        chosen = [self._order(i // size)[i % size] for i in range(start, start + count)]
        return self.rows[np.array(chosen, dtype=np.int64)]

    def _order(self, epoch: int) -> NDArray[np.int64]:
        if getattr(self, "_shuffled", (None,))[0] != epoch:
            self._shuffled = epoch, np.random.default_rng([self.seed, epoch]).permutation(len(self.rows))
        return self._shuffled[1]
