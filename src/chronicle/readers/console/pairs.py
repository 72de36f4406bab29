"""Pairs of a name and a number in a line of text: ``loss: 2.5``, ``lr=1e-4``, ``step 12/100``, ``acc 91.2%``.

A name is one word, or up to five where a colon or an equals sign follows; a number may carry a unit, which is
left aside. ``12/100`` is 12 (of 100); where no name stands before it, it is called "progress", and so is
``[12]`` at the beginning of a line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from chronicle.metrics.aliases import CONSOLE_IN_EPOCH_NAMES, STEP_NAMES
from chronicle.readers.columns import WRAPPED, is_counter, number, step_rank
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


_SETTING = re.compile(
    r"""["']?\b([A-Za-z_][\w.-]{0,80})(?:\s?=\s?|["']\s?:\s?)"""
    r"""("[^"]{0,300}"|'[^']{0,300}'|[^\s,;:()"'{}\[\]]{1,300}+(?!\())"""
)


def settings(text: str, *, anywhere: bool = False) -> dict[str, Scalar]:
    """What a program says of its arguments, as ``lr=3e-4 data=c4``, ``Namespace(lr=0.1)`` or ``{'lr': 0.1}``.

    A line of which this is not all holds none, unless they may stand ``anywhere`` in it.
    """
    text = text[:_LONGEST_SETTINGS]
    pairs_of = _SETTING.findall(text)
    if len(pairs_of) < 2 or not (anywhere or not re.search(r"\w", _SETTING.sub("", text))):
        return {}
    read = ((name, scalar(value.strip("'\""))) for name, value in pairs_of)
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
    (?= [\s,;|)\]}}"'>] | ={{2}} | :(?!\d) | $ | \.(?:\s|$) ) (?! \s+days?\b | \s\d\d:\d\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_ROUND = re.compile(r"\[\s{0,8}(\d{1,15})(?:\]\s| \| )")  # of gradient boosting; of gpt-2-simple with a clock
# Who of many that learn apart tells it, as in federated learning: each has curves of its own.
_MEMBER = re.compile(r"(?i)\s{0,8}\[((?:client|party|site|peer|silo|agent)[ _#-]{0,2}\d{1,6})\][\s:|-]*")
_GROUP = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\[(?=[A-Za-z_]\w{0,60}=)([^\[\]]{0,400})\]")
_LONGEST, _LONGEST_SETTINGS = 1000, 20_000  # characters of a line
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
    if member := _MEMBER.match(text):
        own = pairs(text[member.end() : _LONGEST])
        return [
            pair if is_counter(pair.name) else pair._replace(name=f"{member[1]}/{pair.name}") for pair in own
        ]
    text = reworded(text[:_LONGEST])
    text = WRAPPED.sub(r"\1", text) if "(" in text else text
    if round_ := _ROUND.match(text):
        named.append(Pair("progress", float(round_[1])))
    for match in _PAIR.finditer(_GROUP.sub(_ungrouped, text) if "[" in text and "=" in text else text):
        name, value = _name(match["name"] or ""), number(match["value"].replace(",", ""))
        if match["name"] and (not name or match.start() == nobody):
            sign = text[match.end("name") : match.start("value")]  # if no sign parts them, the word that
            nobody = -1 if ":" in sign or "=" in sign else match.end() + 1  # follows is the number's unit
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


# --- what counts ---

_N_NAMED = 2 * len(STEP_NAMES)
EPOCHS = ("epoch", "ep")
# Words that make of a counter's name something that does not count: "best step", "save every 100 steps".
_NO_COUNT = set(
    re.findall(
        r"\w+",
        "accum accumulation best checkpoint every final first grad gradient inner last log max min n next num"
        " patience per ppo save saved total until warmup",
    )
)


@lru_cache(maxsize=4096)
def rank_of_name(name: str) -> int | None:
    """How well a name counts steps (0 is best); None where it does not. Epochs are not asked here."""
    name = re.sub(r"\(\w*\)$", "", name)
    rank, words = step_rank(name), re.split(r"[\s/.]", name.lower().replace("-", "_"))
    if words[-1] in EPOCHS:
        return None
    if rank is None and not _NO_COUNT & set(re.split(r"[\s/._]", name.lower())):
        rank = step_rank(words[-1]) if " " in name else None
        if rank is None and words[-1] in CONSOLE_IN_EPOCH_NAMES:
            rank = _N_NAMED + CONSOLE_IN_EPOCH_NAMES.index(words[-1])
    return rank


def axis_of(rank: int) -> str:
    """What a counter of this rank counts."""
    return STEP_NAMES[rank % len(STEP_NAMES)][1] if rank < _N_NAMED else "step"


def counts(pair: Pair) -> bool:
    """Whether a pair counts steps or epochs."""
    whole = pair.value == pair.value // 1 and 0 <= pair.value < 2.0**63
    return (whole and rank_of_name(pair.name) is not None) or last_word(pair.name) in EPOCHS


def key_of(pair: Pair) -> str:
    """The name of a counter without its case; bars without a name are told apart by what they count up to."""
    return f"progress/{pair.of}" if pair.name == "progress" else pair.name.lower()


@lru_cache(maxsize=4096)
def last_word(name: str) -> str:
    """The last word of a name in lower case, without what stands in brackets behind it."""
    return re.split(r"[\s/.]", re.sub(r"\(\w*\)$", "", name.lower()))[-1]


# --- words of trainers ---

_FLOAT = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf"
_CELL = rf"\s+({_FLOAT})"
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
        # results.txt of YOLOv5 to v7, whose rows have no header; named as in results.csv of its successors
        (
            "G ",
            rf"^\s*(\d{{1,9}})/\d{{1,9}}\s+[\d.]+G{4 * _CELL}\s+\d+\s+\d+{7 * _CELL}\s*$",
            r"epoch \1 train/box_loss \2, train/obj_loss \3, train/cls_loss \4, train/loss \5,"
            r" metrics/precision \6, metrics/recall \7, metrics/mAP_0.5 \8, metrics/mAP_0.5-0.95 \9,"
            r" val/box_loss \10, val/obj_loss \11, val/cls_loss \12",
        ),
        # fastText, which counts in tenths of a per cent
        ("words/sec/thread", r"\bProgress:\s{1,4}(\d{1,3})\.(\d)%", r"progress \1\2/1000"),
        # "D(G(z)): 0.4 / 0.1" of PyTorch's DCGAN: as it names them, around the generator's step
        ("D(G(z)): ", rf"\bD\(G\(z\)\): ({_FLOAT}) ?/ ?(?=[\d.])", r"D_G_z1: \1 D_G_z2: "),
        # CatBoost
        ("\tlearn: ", r"^(\d+):\tlearn: ", r"iteration \1 learn loss = "),
        ("\ttest: ", r"\ttest: ", "\ttest loss = "),
        # cuda-convnet
        ("... ", r"^(\d+)\.(\d+)\.\.\. (?=[a-z])", r"epoch \1 batch \2 "),
        ("logprob: ", r"^logprob: ", "test logprob: "),
        # "Training average loss at step 100: 1.62"
        (
            " at ",
            r"^([A-Za-z][\w@ /.-]{0,60}) at (step|iter(?:ation)?|epoch) (\d{1,15}) ?[:=] ?(?=[-+.\dn])",
            r"\2 \3 \1: ",
        ),
        # counters that are cut short: "Iter.   5;"
        (". ", r"\b(Iter|Ep|It|Gen)\.\s+(?=\d)", r"\1 "),
        # Flax's language models
        ("... (", r"^(Step|Epoch)\.\.\. \((\d+(?:/\d+)?) \| ", r"\1 \2 | "),
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
        (" [", r"\b(Test|Valid|Validation|Eval): {1,2}\[\s*(\d{1,12}/\d{1,12})\]", r"\1, batch \2 "),
    )
)
_THOUSANDS = {"": 1, "k": 1000, "M": 1_000_000}
_LEVANTER = re.compile(
    r"Progress on:(?P<what>\w+) (?P<n>\d{1,11}\.?\d{0,11})(?P<unit>[kM]?)it/\S+ .*postfix:"
)


# A number without a blank behind it, but the next name: `tf=0.00lr=0.001`, `idx: 0loss: 0.693`.
_GLUED = re.compile(r"(?<=[:=])(\s?[-+]?\d[\d.]{0,20})(?=[A-Za-z_]{2,40}(?:=|: )\s?[-+\dtnT])")
# A number that has its cell to itself and a unit for a name: "| 12 ms | 5000 tok/s".
_UNIT_ALONE = re.compile(
    rf"(?<=[|,;])(\s{{0,8}})({_NUMBER})\s?(ms|(?:tok|tokens|samples|img|images)/s(?:ec)?)(?=\s{{0,8}}(?:[|,;]|$))"
)
# A number whose comma parts no thousands, behind a sign of its name: 0,523 and 12,5 and 3,1416.
_DECIMAL_COMMA = re.compile(r"[:=]\s{0,8}[-+]?(?:0,\d+|\d{1,15},(?:\d\d?|\d{4,}))(?![\d.]|,\d)")


def units_as_names(text: str) -> str:
    """The line, in which a number that has a unit alone is named by it.

    >>> units_as_names("step 5 | loss 2.5 | 12.5 ms | 5,000 tok/s")
    'step 5 | loss 2.5 | ms: 12.5 | tok/s: 5,000'
    """
    return _UNIT_ALONE.sub(r"\1\3: \2", text) if "ms" in text or "/s" in text else text


def reworded(text: str) -> str:
    """The line in pairs; one that needs no other words is given as it is.

    Where one number has a decimal comma and none a point, all of the line have such commas.

    >>> reworded("Ep. 1 : Up. 1000 : Sen. 70,000 : Cost 7.95 : L.r. 1.0e-05")
    'epoch 1 update 1000 : sentences 70,000 : Cost 7.95 : L.r = 1.0e-05'
    >>> reworded("Epoch 1 - loss: 2,982 - acc: 0,5025")
    'Epoch 1 - loss: 2.982 - acc: 0.5025'
    """
    if "," in text and _DECIMAL_COMMA.search(text) and not re.search(r"\d\.\d", text):
        text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    text = units_as_names(_GLUED.sub(r"\1 ", text))
    for literal, pattern, into in _WORDINGS:
        if literal in text:
            text = pattern.sub(into, text, count=1)
    if "postfix:" in text and (match := _LEVANTER.search(text)):
        what = "" if match["what"] == "train" else f"{match['what']}: "
        step = round(float(match["n"]) * _THOUSANDS[match["unit"]])
        text = f"{what}step {step} {text[match.end() :]}"
    return text


# --- tables ---

_BORDERS = re.compile(r"[|│┃║]")
_BAR = re.compile(r":\s+(\d{1,3})%\|?.*$")  # a bar behind the last cell of a row
_CUT_BAR = re.compile(r":(?:\s+(\d{1,3}))?$")  # the same, of which a narrow terminal left the beginning
_HEAD = re.compile(r"[^\w\n]{0,24}(?:epochs?|steps?|iter(?:ation)?s?|e|class|loss +last)\b", re.IGNORECASE)
_COLUMN = re.compile(r"#|[^\W\d](?:[^|:=]|:(?=\.)){0,40}")
_GAP = re.compile(r"\s{2,}|\t")
_HEADS = {"#": "step", "e": "epoch"}  # of spaCy
_PHASES = re.compile(r"(train(?:ing)?)\s+\|\s+(val(?:id(?:ation)?)?|dev|test)", re.IGNORECASE)
_OF_DEEPXDE = ("step", "loss_train", "loss_test", "metrics_test")
# Vowpal Wabbit's header has two lines, of which this is the second.
_OF_VOWPAL_WABBIT: dict[tuple[str, ...], tuple[str, ...]] = {
    ("loss", "last", "counter", "weight", "label", "predict", "features"): (
        "average loss", "loss since last", "samples", "example weight", "label", "predict", "features",
    ),
}  # fmt: skip
_MOST_COLUMNS = 64


class Table:
    """A table that may be under way: the names of its columns, and the row that was read last; or its columns
    are the training and the validation, and each row is one metric (AllenNLP)."""

    def __init__(self) -> None:
        self.names: tuple[str, ...] = ()
        self._phases: tuple[str, ...] = ()
        self._words: tuple[str, ...] = ()  # the names, if a single blank parts two of them
        self._last: list[str] = []

    def read(self, text: str) -> list[Pair] | None:
        """The pairs of a row, [] for a header or a row that says nothing new; None for any other line."""
        bar = _BAR.search(text) if "%" in text else None
        under_way = bar is not None and bar[1] != "100"
        text = text[: bar.start()] if bar else text
        if names := header(text):
            words = tuple(text.split())
            self.names, self._words = names, words if len(words) > len(names) else names
            return []
        if (row := self._of_phases(text)) is not None or not self.names:
            return row
        cut = _CUT_BAR.search(text)
        if cut and len(text[: cut.start()].split()) == len(self.names):
            under_way, text = not "100".startswith(cut[1] or "-"), text[: cut.start()]
        cells = _bordered(text) or text.split()
        cells = cells[len(cells) > len(self.names) and cells[0] == "#" :]
        if self.names == _OF_DEEPXDE and len(cells) > len(self.names):
            self.names = _spread(cells)
        if len(cells) == len(self._words) and not _BORDERS.search(text):
            self.names = self._words
        if len(cells) != len(self.names):
            return None
        row = [pair for name, cell in zip(self.names, cells, strict=True) if (pair := _cell(name, cell))]
        of_class = self.names[0].lower() == "class"
        if len(row) < max(2, len(cells) / 2) or (not of_class and row[0].name != self.names[0]):
            return None
        if under_way or cells == self._last or (of_class and cells[0] != "all"):
            return []
        self._last = cells
        return row

    def _of_phases(self, text: str) -> list[Pair] | None:
        """The pairs of a row whose columns are phases, [] for their header; None for any other line."""
        if phases := _PHASES.fullmatch(text.strip()):
            self._phases = phases.groups()
            return []
        cells = _bordered(text) if self._phases else []
        if len(cells) != 1 + len(self._phases):
            return None
        named = zip(self._phases, cells[1:], strict=True)
        return [pair for phase, cell in named if (pair := _cell(f"{phase} {cells[0]}", cell))]


def _bordered(text: str) -> list[str]:
    """The cells of a line between borders; [] where it has none."""
    return [cell.strip() for cell in _BORDERS.split(text.strip("|│┃║ "))] if _BORDERS.search(text) else []


def header(text: str) -> tuple[str, ...]:
    """The names of the columns that a line names; () where it is no header.

    One of the first two counts steps or epochs.
    """
    if not _HEAD.match(text) or ": " in text or "=" in text:
        return ()
    cells = _bordered(text) or _GAP.split(text.strip())
    names = cells if len(cells) > 1 else text.split()
    if text.startswith("# ") and "," in text:  # of numpy's `savetxt`, above rows that blanks part
        names = [name.strip() for name in text[2:].split(",")]
    names = names[len(names) > 2 and names[0] == "#" and _counts(names[1]) :]
    names = [_HEADS.get(name.lower(), name) for name in names] if "#" in names else names
    if columns := _OF_VOWPAL_WABBIT.get(tuple(text.split())):
        return columns
    named = all(_COLUMN.fullmatch(name) and number(name) is None for name in names)
    if not named or not 2 <= len(names) <= _MOST_COLUMNS:
        return ()
    return tuple(names) if any(map(_counts, names[:2])) or names[0].lower() == "class" else ()


def _spread(cells: Sequence[str]) -> tuple[str, ...]:
    """The names of the cells of DeepXDE's `loss.dat`, of which the header names groups alone.

    A loss of the test stands for each of the training, and metrics behind them: how many losses there are is
    what brings the ones nearest to the others in the first row, where those of boundaries are the same.
    """
    values = [abs(number(cell) or 0.0) or 1.0 for cell in cells[1:]]

    def apart(n: int) -> float:
        return (
            sum(abs(math.log(value / two)) for value, two in zip(values[:n], values[n : 2 * n], strict=True))
            / n
        )

    n_losses = min(range(1, len(values) // 2 + 1), key=apart)
    sizes = (n_losses, n_losses, len(values) - 2 * n_losses)
    groups = zip(_OF_DEEPXDE[1:], sizes, strict=True)
    return (_OF_DEEPXDE[0], *(f"{name}/{i + 1}" if n > 1 else name for name, n in groups for i in range(n)))


def _counts(name: str) -> bool:
    return name.lower() in ("epoch", "epochs", "#", "e") or step_rank(name.lower()) is not None


def _cell(name: str, cell: str) -> Pair | None:
    match = re.fullmatch(r"(\S+?)(?:/(\d{1,18}))?(?:%|s|[KMG]i?B?)?", cell)
    value = number(match[1].replace(",", "")) if match else None
    return Pair(name, value, int((match and match[2]) or 0)) if value is not None else None
