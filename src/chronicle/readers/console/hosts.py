"""Slurm's short form of a list of hosts: ``nid[001-003,010],login1``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, product

MOST_HOSTS = 4096

_PART = re.compile(r"[^\s,\[\]]*(?:\[[\d,\-]+\][^\s,\[\]]*){0,8}")
_BRACKET = re.compile(r"\[([\d,\-]+)\]")


def expand(text: str) -> list[str]:
    """The hosts that a node list names, at most `MOST_HOSTS`; leading zeros are kept."""
    parts = (found[0] for found in _PART.finditer(text) if found[0])
    return list(islice(chain.from_iterable(map(_expanded, parts)), MOST_HOSTS))


def _expanded(part: str) -> Iterator[str]:
    """The hosts of one part: every number of a bracket with every one of the others."""
    pieces = _BRACKET.split(part)
    choices = [list(islice(_numbers(one), MOST_HOSTS)) if i % 2 else [one] for i, one in enumerate(pieces)]
    return map("".join, product(*choices))


def _numbers(text: str) -> Iterator[str]:
    for item in filter(None, text.split(",")):
        first, _, last = item.partition("-")
        if not first.isdecimal() or len(item) > 40:
            continue
        for number in range(int(first), int(last if last.isdecimal() else first) + 1):
            yield str(number).zfill(len(first))
