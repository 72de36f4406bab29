"""Parts of one model's loss by their names, and which of them stands for the loss where no total is logged.

Names are plain (`chronicle.roles.plain`): lower case, words parted by one blank.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from chronicle.aliases import (
    A_LOSS,
    BESIDE_PLAYERS,
    COMPONENTS,
    DISTANCES,
    EVALUATED,
    GENERATORS,
    OPPONENTS,
    TOTALS,
)

_OF_PLAYERS = COMPONENTS | BESIDE_PLAYERS
_TOLD_APART = GENERATORS | OPPONENTS | DISTANCES | {"idt", "identity"}


def words_of(name: str) -> list[str]:
    """The words beside "loss" that are not merely another way to say the whole loss."""
    words = re.sub(r"\b(loss|objective) values?\b", "loss", name.replace("cross entropy", "loss")).split()
    return [w for w in words if w not in TOTALS and not w.isdigit() and not re.fullmatch(A_LOSS, w)]


def is_part(name: str) -> bool:
    """Whether a name is that of a part of a training's loss: `box loss`, `g loss`."""
    is_loss = re.search(A_LOSS, name) and not re.search(EVALUATED, name)
    return bool(is_loss) and not COMPONENTS.isdisjoint(words_of(name))


def players(names: Collection[str]) -> set[str]:
    """Those of a log's names that tell parts by who plays: `g gan`, `g l1`, `d real` (pix2pix), `cycle a`.

    None where either side is missing; letters alone are none among other letters.
    """
    told = {name: set(name.split()) for name in names}
    found = {name for name, words in told.items() if words <= _OF_PLAYERS and words & _TOLD_APART}
    if any(len(name) == 1 and name not in found for name in names):
        found = {name for name in found if len(name) > 1}
    both = all(any(told[name] & side for name in found) for side in (GENERATORS, OPPONENTS))
    return found if both else set()


def rank(name: str) -> int:
    """How well a part stands for the whole loss, 0 best: a distance from the target has a direction, the loss
    of an opponent has none."""
    words = set(words_of(name))
    return 2 if words & OPPONENTS else 0 if words & DISTANCES else 1
