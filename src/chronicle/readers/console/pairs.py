"""Stage 3: pairs of a name and a number: ``loss: 2.5``, ``lr=1e-4``, ``step 12/100``, ``acc
91.2%``.

A name is one word, or up to five where a colon or an equals sign follows; a number may have a unit, which is
dropped. ``12/100`` is 12 (of 100); without a name before it, it is called "progress", and so is ``[12]`` at
the beginning of a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from chronicle.metrics.aliases import word_set
from chronicle.readers.columns import WRAPPED, number
from chronicle.readers.console.counters import PROGRESS, Pair
from chronicle.readers.console.wordings import reworded, row_without_names
from chronicle.readers.hyperparameters import Scalar
from chronicle.readers.step_axis import is_counter

_TRUTHS = {"True": True, "False": False, "None": None}


def comma_number(text: str) -> float | None:
    """The number in a text, in which commas may separate thousands; None where it holds none."""
    return number(text.replace(",", ""))


def numbers(
    cells: Iterable[tuple[str, str]], as_number: Callable[[str], float | None] = comma_number
) -> dict[str, float]:
    """The cells whose text is a number; the last of equal names stays."""
    read = ((name.strip(), as_number(text)) for name, text in cells)
    return {name: value for name, value in read if value is not None}


def scalar(text: str) -> Scalar | None:
    """The value of a setting: a number, a truth value, None or a text."""
    text = text.strip()
    value = number(text)
    if value is None:
        return _TRUTHS.get(text, text)
    return int(value) if re.fullmatch(r"[+-]?\d{1,15}", text) else value


_SETTING = re.compile(
    r"""["']?\b([A-Za-z_][\w.-]{0,80})(?:\s?=\s?|["']\s?:\s?)"""
    r"""("[^"]{0,300}"|'[^']{0,300}'|[^\s,;:()"'{}\[\]]{1,300}+(?!\())"""
)


def settings(text: str, *, anywhere: bool = False) -> dict[str, Scalar]:
    """The arguments of a program in a line: ``lr=3e-4 data=c4``, ``Namespace(lr=0.1)`` or ``{'lr': 0.1}``. A
    line that says anything else has none, unless they may stand ``anywhere`` in it."""
    text = text[:_LONGEST_SETTINGS]
    found = _SETTING.findall(text)
    if len(found) < 2 or not (anywhere or not re.search(r"\w", _SETTING.sub("", text))):
        return {}
    read = ((name, scalar(value.strip("'\""))) for name, value in found)
    return {name: value for name, value in read if value is not None}


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
    (?: [ ]?(?:{_UNIT})(?!\||(?<=/s)\ \d|(?<=sec)\ \d) )?
    (?= [\s,;|)\]}}"'>] | ={{2}} | :(?!\d) | $ | \.(?:\s|$) | \({_NUMBER}\) )
    (?! \s+days?\b | \s\d\d:\d\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"\[\s{0,8}(\d{1,15})(?:\]\s| \| )")  # of gradient boosting, gpt-2-simple
# A participant of federated learning: each has curves of its own.
_MEMBER = re.compile(r"(?i)\s{0,8}\[((?:client|party|site|peer|silo|agent)[ _#-]{0,2}\d{1,6})\][\s:|-]*")
_GROUP = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\[(?=[A-Za-z_]\w{0,60}=)([^\[\]]{0,400})\]")
_LONGEST, _LONGEST_SETTINGS = 1000, 20_000  # characters of a line that are read
_LONGEST_DENSE, _DENSE = 3500, 20  # of one that begins with at least so many pairs
_A_PAIR = re.compile(r"[\w\])][:=]\s?(?:\w+\.\w+\()?[-+.\d]")
_COPULA = {"is", "was", "are", "equals"}  # "loss is 2.5" names a loss
# A number behind one of these words belongs to no name.
_PREPOSITIONS = word_set("""
    a about after all and at best by every for from in of on only or over since than the to took until with
""")
_NO_MEASURE = {"eta", "ert", "remaining", "v_num", "pid", "rank"}  # the time left, a version, a process
_SOURCE_FILE = re.compile(r"\.(?:py|pyx|cpp|cc|c|cu|cuh|h|hpp|go|rs|java|scala)$")
_BEST = re.compile(r"(?i)best(?=\s?[:=])")  # "Best = 6.0" is a name, "at best 6.0" is none


def shortened(text: str) -> str:
    """As much of a line as is read: its beginning, and more of a line that is one pair after another
    (verl)."""
    if len(text) > _LONGEST and len(_A_PAIR.findall(text, 0, _LONGEST)) >= _DENSE:
        return text[:_LONGEST_DENSE]
    return text[:_LONGEST]


def pairs(text: str) -> list[Pair]:
    """All pairs of a line, in order."""
    if row := row_without_names(text):
        return row
    if member := _MEMBER.match(text):
        own = pairs(shortened(text)[member.end() :])
        return [p if is_counter(p.name) else p._replace(name=f"{member[1]}/{p.name}") for p in own]
    text = reworded(shortened(text))
    text = WRAPPED.sub(r"\1", text) if "(" in text else text
    text = _GROUP.sub(_ungrouped, text) if "[" in text and "=" in text else text
    found = list[Pair]()
    if list_number := _LIST_NUMBER.match(text):
        found.append(Pair(PROGRESS, float(list_number[1])))
    unit_start = -1  # where the word after a number without a name begins: that is the unit of the number
    for match in _PAIR.finditer(text):
        words, value = match["name"] or "", number(match["value"].replace(",", ""))
        if words.rpartition(" ")[2].lower() in _NO_MEASURE:
            continue
        name = words if words and _BEST.match(text, match.start("name")) else _name(words)
        if words and (not name or match.start() == unit_start):
            sign = text[match.end("name") : match.start("value")]
            unit_start = -1 if ":" in sign or "=" in sign else match.end() + 1
        elif value is not None and (name or match["of"]):
            found.append(Pair(name or PROGRESS, value, int(match["of"] or 0)))
    return [] if list_number and len(found) == 1 else found  # "[3] Training begins" is an item of a list


@lru_cache(maxsize=4096)
def _name(words: str) -> str:
    """The name without the verb that joins it to its number; "" where the words name nothing."""
    while (last := words.rpartition(" ")[2].lower()) in _COPULA:
        words = words[: -len(last)].strip()
    if last in _PREPOSITIONS or _SOURCE_FILE.search(last):
        return ""
    return words


def _ungrouped(match: re.Match[str]) -> str:
    """``tot_loss[loss=0.7, over 9 frames]`` as ``tot_loss=0.7, over 9 frames``: pairs under a common name."""
    group, inner = match[1], match[2]
    name, _, value = inner.partition("=")
    return f"{group if group.endswith(name) else f'{group}/{name}'}={value} "
