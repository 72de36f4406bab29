"""Pairs of a name and a number in a line of text: ``loss: 2.5``, ``lr=1e-4``, ``step 12/100``, ``acc 91.2%``.

A name is one word, or up to five where a colon or an equals sign follows; a number may carry a unit, which is
left aside. ``12/100`` is 12 (of 100); where no name stands before it, it is called "progress", and so is
``[12]`` at the beginning of a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from chronicle.readers.columns import number
from chronicle.readers.hyperparameters import Scalar

NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity)"
_TRUTHS = {"True": True, "False": False, "None": None}


def comma_number(text: str) -> float | None:
    """The number in a text, in which commas may keep thousands apart; None where it holds none."""
    return number(text.replace(",", ""))


def numbers(
    cells: Iterable[tuple[str, str]], as_number: Callable[[str], float | None] = comma_number
) -> dict[str, float]:
    """The cells whose text is a number; the last of equal names stays."""
    read = ((name.strip(), as_number(text)) for name, text in cells)
    return {name: value for name, value in read if value is not None}


def scalar(text: str) -> Scalar | None:
    """The number, the truth or the text of a setting; None for what is none."""
    text = text.strip()
    value = number(text)
    if value is None:
        return _TRUTHS.get(text, text)
    return int(value) if re.fullmatch(r"[+-]?\d{1,15}", text) else value


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
    named, nobody = list[Pair](), -1
    text = reworded(text[:_LONGEST])
    if round_ := _ROUND.match(text):
        named.append(Pair("progress", float(round_[1])))
    for match in _PAIR.finditer(_GROUP.sub(_ungrouped, text) if "[" in text and "=" in text else text):
        name, value = _name(match["name"] or ""), number(match["value"].replace(",", ""))
        if match["name"] and (not name or match.start() == nobody):
            nobody = match.end() + 1  # the word that follows is the unit of a number without a name
        elif value is not None and (name or match["of"]):
            named.append(Pair(name or "progress", value, int(match["of"] or 0)))
    return named


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


_FLOAT = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf"
# Lines that name their numbers in a way of their own: a text that they hold, a pattern, and what it becomes,
# named as the trainer names it wherever the line has a name for it. A row stands here only where a trainer in
# wide use writes so, and no general rule of `pairs` can know it.
_WORDINGS = tuple(
    (literal, re.compile(pattern), into)
    for literal, pattern, into in (
        # Marian
        ("Ep. ", r"\bEp\. ([\d.]+) : Up\. (\d+) : ", r"epoch \1 update \2 : "),
        ("Sen. ", r"\bSen\. (?=\d)", "sentences "),
        ("L.r. ", r"\bL\.r\. ", "L.r = "),
        # ESPnet: the first and the last batch that a line is a mean of
        ("epoch:train:", r"\b(\d+)epoch:train:\d+-(\d+)batch:", r"epoch \1 batch \2 "),
        ("epoch results:", r"\b(\d+)epoch results: \[train\].*?(?=\[valid\])", r"epoch \1 "),
        # darknet
        (
            " avg loss, ",
            rf"^\s*(\d+): ({_FLOAT}), ({_FLOAT}) avg(?: loss)?, ({_FLOAT}) rate, ",
            r"iteration \1 loss = \2, avg loss = \3, rate = \4, time = ",
        ),
        # Caffe: the outputs of the net beside the smoothed loss
        ("net output #", r"\b(Train|Test) net output #\d{1,3}: (\S+) = ", r"\1 \2 = "),
        # CatBoost
        ("\tlearn: ", r"^(\d+):\tlearn: ", r"iteration \1 learn: "),
        # NCRF++: a share and its value
        ("=0.", r"\b\d{1,15}/\d{1,15}=(?=0\.\d)", ""),
        # Deeplearning4j, whose score is the value of the loss
        ("Score at iteration ", r"\bScore at iteration (\d+) is ", r"iteration \1 score (loss) = "),
        # Tacotron 2
        (
            "Grad Norm ",
            rf"\bTrain loss (\d+) ({_FLOAT}) Grad Norm ",
            r"iteration \1 Train loss = \2 Grad Norm ",
        ),
        # "Train: [0/300][50/1251]" of Swin, "Epoch(train) [1][50/858]" of OpenMMLab: epochs, then batches
        (
            "][",
            r"\b(?!Epoch[:\s])([A-Z]\w+(?:\(\w+\))?):?\s*\[\s*(\d{1,9})(?:/\d{1,9})?\]\[\s*(\d{1,12}(?:/\d{1,12})?)\]",
            r"\1, epoch \2 batch \3 ",
        ),
        # "[0/5][50/1583]" of PyTorch's DCGAN, "[1,  2000] loss" of its tutorial: epochs, then batches
        (
            "/",
            r"^\s{0,8}[\[(]\s{0,8}(\d{1,9})/\d{1,9}[\])]\s{0,2}[\[(]\s{0,8}(\d{1,12}/\d{1,12})[\])]",
            r"epoch \1 batch \2 ",
        ),
        (", ", r"^\s{0,8}\[\s{0,8}(\d{1,9}),\s{1,8}(\d{1,12})\](?=:?\s[A-Za-z])", r"epoch \1 batch \2 "),
        # "Train: 0 [ 50/1251 (4%)]" of timm
        ("Train", r"\b(Train|Training): (\d{1,9}) \[\s*(\d{1,12}/\d{1,12})(?= )", r"\1, epoch \2 batch \3 ["),
        (":  [", r"\b(Test|Valid|Validation|Eval):  \[\s*(\d{1,12}/\d{1,12})\]", r"\1, batch \2 "),
        (": [", r"\b(Test|Valid|Validation|Eval): \[\s*(\d{1,12}/\d{1,12})\]", r"\1, batch \2 "),
    )
)
_THOUSANDS = {"": 1, "k": 1000, "M": 1_000_000}
_LEVANTER = re.compile(r"Progress on:(?P<what>\w+) (?P<n>[\d.]{1,12})(?P<unit>[kM]?)it/\S+ .*postfix:")


def reworded(text: str) -> str:
    """The line in pairs; one that needs no other words is given as it is.

    >>> reworded("Ep. 1 : Up. 1000 : Sen. 70,000 : Cost 7.95 : L.r. 1.0e-05")
    'epoch 1 update 1000 : sentences 70,000 : Cost 7.95 : L.r = 1.0e-05'
    """
    for literal, pattern, into in _WORDINGS:
        if literal in text:
            text = pattern.sub(into, text, count=1)
    if "postfix:" in text and (match := _LEVANTER.search(text)):
        what = "" if match["what"] == "train" else f"{match['what']}: "
        try:
            step = round(float(match["n"]) * _THOUSANDS[match["unit"]])
        except ValueError:
            return text
        text = f"{what}step {step} {text[match.end() :]}"
    return text
