"""Slurm's short form of a list of hosts: ``nid[001-003,010],login1``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

MOST_HOSTS = 4096

_PART = re.compile(r"[^\s,\[\]]+(?:\[[\d,\-]+\][^\s,\[\]]*)*|\[[\d,\-]+\][^\s,\[\]]*")
_BRACKET = re.compile(r"\[([\d,\-]+)\]")


def expand(text: str) -> list[str]:
    """The hosts that a node list names, at most `MOST_HOSTS`; leading zeros are kept."""
    hosts = (host for part in _PART.findall(text) for host in _expanded(part))
    return list(islice(hosts, MOST_HOSTS))


def _expanded(part: str) -> Iterator[str]:
    bracket = _BRACKET.search(part)
    if bracket is None:
        yield part
        return
    for number in _numbers(bracket[1]):
        for rest in _expanded(part[bracket.end() :]) if part[bracket.end() :] else ("",):
            yield part[: bracket.start()] + number + rest


def _numbers(text: str) -> Iterator[str]:
    for item in filter(None, text.split(",")):
        first, _, last = item.partition("-")
        if not first.isdecimal() or len(item) > 40:
            continue
        for number in range(int(first), int(last if last.isdecimal() else first) + 1):
            yield str(number).zfill(len(first))
