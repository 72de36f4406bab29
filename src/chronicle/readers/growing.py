"""Arrays that grow, for logs that are read in parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Growing:
    """An array that grows at its end; there is room for ``expected`` values, which by itself costs none."""

    def __init__(self, expected: int = 0) -> None:
        self.size, self.expected = 0, expected
        self._room = np.empty(0)

    @property
    def values(self) -> NDArray[Any]:
        """What it holds."""
        return self._room[: self.size]

    def takes(self, values: NDArray[Any]) -> bool:
        """Whether these are of its kind."""
        return not self.size or values.dtype == self._room.dtype

    def extend(self, values: NDArray[Any]) -> None:
        """Adds values at the end."""
        size = self.size + len(values)
        if size > len(self._room) or not self.size:
            room = np.empty(max(size, self.expected, 2 * self.size), values.dtype)
            room[: self.size] = self.values
            self._room = room
        self._room[self.size : size] = values
        self.size = size
