"""What was wrong in a log, listed up to a limit: a file of nothing but damage fills no memory."""

from __future__ import annotations

from pathlib import Path

from chronicle.model import Fault, Place

MOST_FAULTS = 100  # that are listed one by one; the rest is one fault with a count


class Faults(list[Fault]):
    """The faults of one log, in order; those beyond ``limit`` are counted, and `all` sums them up."""

    def __init__(self, path: Path, limit: int = MOST_FAULTS) -> None:
        super().__init__()
        self.path, self.limit, self.n_more = path, limit, 0

    def add(self, what: str, *, line: int | None = None, byte: int | None = None) -> None:
        """Lists one more fault, or counts it where enough are listed."""
        if len(self) < self.limit:
            self.append(Fault(Place(str(self.path), line=line, byte=byte), what))
        else:
            self.n_more += 1

    def all(self, rest: str = "more lines are damaged; skipped") -> list[Fault]:
        """All that are listed, and one for the ``rest`` where there are more."""
        return [*self, *([Fault(Place(str(self.path)), rest, self.n_more)] if self.n_more else [])]
