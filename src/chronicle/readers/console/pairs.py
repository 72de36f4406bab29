"""Pairs of a name and a number in a line of text: ``loss: 2.5``, ``lr=1e-4``, ``step 12/100``, ``acc 91.2%``.

A name is one word, or up to five where a colon or an equals sign follows; a number may carry a unit, which is
left aside. ``12/100`` is 12 (of 100); where no name stands before it, it is called "progress", and so is
``[12]`` at the beginning of a line.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from chronicle.readers.columns import number
from chronicle.readers.console.wordings import plain

_NUMBER = (
    r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?|nan\b|inf(?:inity)?\b)"
)
_UNIT = (
    r"%|ms|us|µs|s|sec|secs|min|h|it/s|s/it|[kMG]?(?:i?B|tok|tokens)(?:/s(?:ec)?)?|samples/s(?:ec)?|x"
    r"|st|nd|rd|th"
)
_NOTE = r"\([\w/%. -]{1,30}\)"
_WORD = rf"(?:top[ -]\d{{1,3}}(?=[ ][A-Za-z])|[A-Za-z_](?:[\w./@-]|'s\b){{0,60}}+(?<=\w)(?:{_NOTE})?|{_NOTE})"
_PAIR = re.compile(
    rf"""(?<![\w./\\])(?:
      (?P<name> (?!\() {_WORD} (?:[ ](?:/[ ])?{_WORD}){{0,4}}? )
      (?:["']?\s*(?:=>|[:=])\s* | [ ]{{0,2}}\[\s{{0,8}}(?=\d) | [ ]?(?=\d) | [ ]+\|[ ]+(?=[-+.\d])
        | (?<=epoch)[ ]\#(?=\d) | \s+(?=[-+.\d]|(?:nan|inf)\b) )
    )? (?:["'] | [(\[][ ]{{0,8}} )?
    (?P<value> {_NUMBER} ) (?: (?:\s?/\s?|\ of\ )(?P<of>\d{{1,18}}) )?
    (?: [ ]?(?:{_UNIT})(?!\|) )?
    (?= [\s,;|)\]}}"'>] | ={{2}} | :(?!\d) | $ | \.(?:\s|$) ) (?! \s+days?\b | \s\d\d:\d\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_ROUND = re.compile(r"\[(\d{1,15})(?:\]\s| \| )")  # of gradient boosting; of gpt-2-simple with a clock
_GROUP = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\[(?=[A-Za-z_]\w{0,60}=)([^\[\]]{0,400})\]")
_LONGEST = 1000  # characters of a line
# "loss is 2.5" names a loss; a number behind one of the others belongs to no name.
_COPULA = {"is", "was", "are", "equals"}
_PREPOSITIONS = frozenset(
    re.findall(
        r"\w+",
        """a about after all and at best by every for from in of on only or over since than the to took until
        with""",
    )
)
_SOURCE = re.compile(r"\.(?:py|pyx|cpp|cc|c|cu|cuh|h|hpp|go|rs|java|scala)$")
# What stands beside measurements and is none: time that is left, a version, who told it.
_NO_MEASURE = {"eta", "ert", "remaining", "v_num", "pid", "rank"}


class Pair(NamedTuple):
    """A number, its name, and what it counts up to (0 where it does not say)."""

    name: str
    value: float
    of: int = 0


def pairs(text: str) -> list[Pair]:
    """All pairs of a line in their order; numbers without a name are left out, but for progress."""
    found, nobody = list[Pair](), -1
    text = plain(text[:_LONGEST])
    if round_ := _ROUND.match(text):
        found.append(Pair("progress", float(round_[1])))
    for match in _PAIR.finditer(_GROUP.sub(_ungrouped, text) if "[" in text and "=" in text else text):
        name, value = _name(match["name"] or ""), number(match["value"].replace(",", ""))
        if match["name"] and (not name or match.start() == nobody):
            nobody = match.end() + 1  # the word that follows is the unit of a number without a name
        elif value is not None and (name or match["of"]):
            found.append(Pair(name or "progress", value, int(match["of"] or 0)))
    return found


@lru_cache(maxsize=4096)
def _name(words: str) -> str:
    """The name without what only joins it to its number; "" where the words name nothing."""
    while (last := words.rpartition(" ")[2].lower()) in _COPULA:
        words = words[: -len(last)].strip()
    if last in _PREPOSITIONS or last in _NO_MEASURE or _SOURCE.search(last):
        return ""
    return words


def _ungrouped(match: re.Match[str]) -> str:
    """``tot_loss[loss=0.7, over 9 frames]`` as ``tot_loss=0.7, over 9 frames``: pairs under a common name."""
    group, inner = match[1], match[2]
    name, _, value = inner.partition("=")
    return f"{group if group.endswith(name) else f'{group}/{name}'}={value} "
