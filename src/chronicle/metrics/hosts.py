"""Node lists as schedulers write them: ``nid[001-003,007]`` and the hosts that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice, product

MOST_HOSTS = 4096

_NUMBERED = re.compile(r"(.*?)(\d{1,18})", re.DOTALL)
_PART = re.compile(r"[^\s,\[\]]*(?:\[[\d,\-]+\][^\s,\[\]]*){0,8}")
_BRACKET = re.compile(r"\[([\d,\-]+)\]")


def expand(text: str) -> list[str]:
    """The hosts that a node list names, at most `MOST_HOSTS`; leading zeros are kept."""
    parts = filter(None, _PART.findall(text))
    return list(islice(chain.from_iterable(map(_expanded, parts)), MOST_HOSTS))


def _expanded(part: str) -> Iterator[str]:
    """The hosts of one part: every number of a bracket with every one of the others."""
    pieces = _BRACKET.split(part)
    choices = [list(islice(_numbers(p), MOST_HOSTS)) if i % 2 else [p] for i, p in enumerate(pieces)]
    return map("".join, product(*choices))


def canonical(text: str) -> str:
    """A node list in one spelling, however it was spelled: the shortest that keeps the order."""
    return fold(expand(text))


def fold(hosts: Iterable[str]) -> str:
    """The short form of hosts, in their order: what `expand` gives back."""
    groups: list[tuple[str, list[list[str]]]] = []  # a name without its number, and ranges of such numbers
    for host in hosts:
        match = _NUMBERED.fullmatch(host)
        name, number = match.groups() if match else (host, "")
        ranges = groups[-1][1] if groups and groups[-1][0] == name and number and groups[-1][1] else []
        if not ranges:
            groups.append((name, [[number]] if number else []))
        elif number == str(int(ranges[-1][-1]) + 1).zfill(len(ranges[-1][0])):
            ranges[-1][1:] = [number]
        else:
            ranges.append([number])
    folded = []
    for name, ranges in groups:
        inner = ",".join("-".join(ends) for ends in ranges)
        folded.append(f"{name}[{inner}]" if "," in inner or "-" in inner else name + inner)
    return ",".join(folded)


def _numbers(text: str) -> Iterator[str]:
    for item in filter(None, text.split(",")):
        first, _, last = item.partition("-")
        if not first.isdecimal() or len(item) > 40:
            continue
        for number in range(int(first), int(last if last.isdecimal() else first) + 1):
            yield str(number).zfill(len(first))
