"""Pairs of a name and a number in a line of text: ``loss: 2.5``, ``lr=1e-4``, ``step 12/100``, ``acc 91.2%``.

A name is one word, or up to five where a colon or an equals sign follows; a number may carry a unit, which is
left aside. ``12/100`` is 12 (of 100); where no name stands before it, it is called "progress", and so is
``[12]`` at the beginning of a line.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from chronicle.readers.cells import number

_NUMBER = (
    r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?|nan\b|inf(?:inity)?\b)"
)
_UNIT = r"%|ms|us|µs|s|sec|secs|min|h|it/s|s/it|[kMG]?(?:i?B|tok|tokens)(?:/s(?:ec)?)?|samples/s(?:ec)?|x"
_WORD = r"(?:[A-Za-z_](?:[\w./@-]|'s\b){0,60}+(?<=\w)(?:\([\w/%. -]{1,30}\))?|\([\w/%. -]{1,30}\))"
_PAIR = re.compile(
    rf"""(?<![\w.])(?:
      (?P<name> (?!\() {_WORD} (?:[ ]{_WORD}){{0,4}}? )
      (?:\s*(?:=>|[:=])\s* | [ ]?\[?\s?(?=\d) | \s+(?=[-+.\d]|(?:nan|inf)\b) )
    )? ["'(\[]?
    (?P<value> {_NUMBER} ) (?: (?:\s?/\s?|\ of\ )(?P<of>\d{{1,18}}) )?
    (?: [ ]?(?:{_UNIT})(?!\|) )? (?= [\s,;|)\]}}"'>:] | $ | \.(?:\s|$) )""",
    re.VERBOSE | re.IGNORECASE,
)
_ROUND = re.compile(r"\[(\d{1,15})\]\s")  # of gradient boosting
_LONGEST = 1000  # characters of a line


class Pair(NamedTuple):
    """A number, its name, and what it counts up to (0 where it does not say)."""

    name: str
    value: float
    of: int = 0


def pairs(text: str) -> list[Pair]:
    """All pairs of a line in their order; numbers without a name are left out, but for progress."""
    found = []
    if round_ := _ROUND.match(text):
        found.append(Pair("progress", float(round_[1])))
    for match in _PAIR.finditer(text[:_LONGEST]):
        name, value = match["name"], number(match["value"].replace(",", ""))
        if value is not None and (name or match["of"]):
            found.append(Pair(name or "progress", value, int(match["of"] or 0)))
    return found
