"""Pairs of a name and a number in a line of text: ``loss: 2.5``, ``lr=1e-4``, ``step 12/100``, ``acc 91.2%``.

A name is one word, or up to five where a colon or an equals sign follows; a number may carry a unit, which is
left aside. ``12/100`` is 12 (of 100); where no name stands before it, it is called "progress", and so is
``[12]`` at the beginning of a line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from chronicle.metrics.aliases import CONSOLE_IN_EPOCH_NAMES, STEP_NAMES, word_set
from chronicle.metrics.names import LOSSES, role_of
from chronicle.model import Role, Steps
from chronicle.readers.columns import WRAPPED, number
from chronicle.readers.hyperparameters import Scalar
from chronicle.readers.step_axis import is_counter, step_rank

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
    A line of which this is not all holds none, unless they may stand ``anywhere`` in it."""
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
    (?= [\s,;|)\]}}"'>] | ={{2}} | :(?!\d) | $ | \.(?:\s|$) | \({_NUMBER}\) )
    (?! \s+days?\b | \s\d\d:\d\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_ROUND = re.compile(r"\[\s{0,8}(\d{1,15})(?:\]\s| \| )")  # of gradient boosting; of gpt-2-simple with a clock
# Who of many that learn apart tells it, as in federated learning: each has curves of its own.
_MEMBER = re.compile(r"(?i)\s{0,8}\[((?:client|party|site|peer|silo|agent)[ _#-]{0,2}\d{1,6})\][\s:|-]*")
_GROUP = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\[(?=[A-Za-z_]\w{0,60}=)([^\[\]]{0,400})\]")
_LONGEST, _LONGEST_SETTINGS = 1000, 20_000  # characters of a line
_LONGEST_DENSE, _DENSE = 3500, 20  # of one that begins with so many pairs
_A_PAIR = re.compile(r"[\w\])][:=]\s?(?:\w+\.\w+\()?[-+.\d]")
# "loss is 2.5" names a loss; a number behind one of the others belongs to no name.
_COPULA = {"is", "was", "are", "equals"}
_PREPOSITIONS = word_set("""
    a about after all and at best by every for from in of on only or over since than the to took until with
""")
_BEST = re.compile(r"(?i)best(?=\s?[:=])")
_SOURCE = re.compile(r"\.(?:py|pyx|cpp|cc|c|cu|cuh|h|hpp|go|rs|java|scala)$")
# What stands beside measurements and is none: time that is left, a version, who told it.
_NO_MEASURE = {"eta", "ert", "remaining", "v_num", "pid", "rank"}


class Pair(NamedTuple):
    """A number, its name, and what it counts up to (0 where it does not say)."""

    name: str
    value: float
    of: int = 0


def looked_at(text: str) -> str:
    """As much of a line as is looked at: its beginning, and more of one with pair behind pair (verl)."""
    if len(text) > _LONGEST and len(_A_PAIR.findall(text, 0, _LONGEST)) >= _DENSE:
        return text[:_LONGEST_DENSE]
    return text[:_LONGEST]


def pairs(text: str) -> list[Pair]:
    """All pairs of a line in their order; numbers without a name as progress, or in rows of known order."""
    named, nobody = _without_names(text) or list[Pair](), -1
    if named:
        return named
    if member := _MEMBER.match(text):
        own = pairs(looked_at(text)[member.end() :])
        return [p if is_counter(p.name) else p._replace(name=f"{member[1]}/{p.name}") for p in own]
    text = reworded(looked_at(text))
    text = WRAPPED.sub(r"\1", text) if "(" in text else text
    if round_ := _ROUND.match(text):
        named.append(Pair("progress", float(round_[1])))
    for match in _PAIR.finditer(_GROUP.sub(_ungrouped, text) if "[" in text and "=" in text else text):
        name, value = _name(match["name"] or ""), number(match["value"].replace(",", ""))
        if match["name"] and _BEST.match(text, match.start("name")):  # "Best = 6.0", not "at best 6.0"
            name = match["name"]
        if match["name"] and (not name or match.start() == nobody):
            sign = text[match.end("name") : match.start("value")]  # if no sign parts them, the word that
            nobody = -1 if ":" in sign or "=" in sign else match.end() + 1  # follows is the number's unit
        elif value is not None and (name or match["of"]):
            named.append(Pair(name or "progress", value, int(match["of"] or 0)))
    return [] if round_ and len(named) == 1 else named  # "[3] Training begins" is an item of a list


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


# --- rows of numbers without names ---

_KINDS = re.compile(
    r"(?P<p>\d{1,9}/\d{1,9})|(?P<g>[\d.]{1,9}[MG])|(?P<d>\d{4}-\d\d-\d\d)|(?P<t>\d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?P<i>\d{1,15})|(?P<f>[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[-+]?\d{1,3})?|-?nan|-?inf)",
    re.IGNORECASE,
)
_VITS = "loss_disc loss_gen loss_fm loss_mel"
# Orders of columns that trainers in wide use publish in their source: the kinds of all cells, of which "n" is
# a whole or a decimal number, and the names; "-" is left out.
# fmt: off
_ORDERS = tuple((re.compile(kinds.replace("n", "[if]")), names.split()) for kinds, names in (
    (r"\[if", "step lr"),  # RVC, which names its losses in the line below
    (r"\[n{5}if", f"{_VITS} loss_kl step lr"),  # so-vits-svc
    (r"\[n{6}if", f"{_VITS} loss_dur loss_kl step lr"),  # VITS
    (r"ifffdti", "epoch loss ppl lr - - -"),  # RWKV-LM
    # results.txt of YOLOv5 to v7, named as in results.csv of its successors
    (r"pgn{4}iin{7}", "epoch - train/box_loss train/obj_loss train/cls_loss train/loss - - metrics/precision"
     " metrics/recall metrics/mAP_0.5 metrics/mAP_0.5-0.95 val/box_loss val/obj_loss val/cls_loss"),
))
# fmt: on
_LISTED = re.compile(r"\bLosses: (\[[^][]{5,300})\],?(?= steps?: \d)", re.IGNORECASE)
_HIGHEST_RATE, _ROUNDING = 2e-3, 0.01  # of these trainers; of sums


def _without_names(text: str) -> list[Pair]:
    """The pairs of a row of cells alone, in a list or parted by blanks. [] where no published order fits its
    kinds, the learning rate is not small, or the perplexity is not the exponential of the loss."""
    text = text.strip()
    if not text[:1].isdecimal() and text[:1] != "[":
        return []
    listed = text[0] == "[" and text[-1] == "]"
    cells = text.strip("[]").replace(",", " " if listed else ",").split()
    matches = [_KINDS.fullmatch(cell) for cell in cells]
    if len(cells) < 2 or None in matches:
        return []
    kinds = "[" * listed + "".join(match.lastgroup or "" for match in matches if match)
    values = [number(re.sub(r"/\d+$|[MG]$", "", cell)) or 0.0 for cell in cells]
    names = next((names for order, names in _ORDERS if order.fullmatch(kinds)), None)
    names = names or _of_parts(kinds, values)
    ends = [int(cell.rpartition("/")[2]) if "/" in cell else 0 for cell in cells]
    row = [Pair(*pair) for pair in zip(names, values, ends, strict=True) if pair[0] != "-"] if names else []
    cell_values = {pair.name: pair.value for pair in row}
    if not 0 <= cell_values.get("lr", 0.0) <= _HIGHEST_RATE:
        return []
    ppl = cell_values.get("ppl", math.nan)
    return [] if abs(math.exp(min(cell_values.get("loss", 0.0), 700.0)) - ppl) > _ROUNDING * ppl else row


def _of_parts(kinds: str, values: Sequence[float]) -> list[str]:
    """The names in a row of YOLO with other columns than are published, [] for any other row: the total is
    the sum of the cells before it, and boxes and pixels, two whole numbers, follow it."""
    for at in reversed(range(4, len(values) - 4) if kinds.startswith("pg") else ()):
        total = sum(values[2:at])
        if kinds[at + 1 : at + 3] == "ii" and not abs(total - values[at]) > _ROUNDING * abs(total):
            parts = [f"train/loss_{i}" for i in range(1, at - 1)]
            others = [f"column {i + 1}" for i in range(at + 3, len(values))]
            return ["epoch", "-", *parts, "train/loss", "-", "-", *others]
    return []


# --- what counts ---

_N_NAMED = 2 * len(STEP_NAMES)
EPOCHS = ("epoch", "ep")
# Words that make of a counter's name something that does not count: "best step", "save every 100 steps".
_NO_COUNT = word_set("""
    accum accumulation best checkpoint every final first grad gradient inner last log max min n next num
    patience per ppo save saved total until warmup
""")


_PATIENCE = {"counter", "improvement", "patience", "stopping"}


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
    return (whole and rank_of_name(pair.name) is not None) or names_epoch(pair.name)


@lru_cache(maxsize=4096)
def names_epoch(name: str) -> bool:
    """Whether a name counts epochs, which "best results observed at epoch" does not."""
    return last_word(name) in EPOCHS and not _NO_COUNT & set(re.split(r"[\s/._]", name.lower()))


def key_of(pair: Pair) -> str:
    """The name of a counter without its case; bars without a name are told apart by what they count up to."""
    return f"progress/{pair.of}" if pair.name == "progress" else pair.name.lower()


@lru_cache(maxsize=4096)
def last_word(name: str) -> str:
    """The last word of a name in lower case, without what stands in brackets behind it."""
    return re.split(r"[\s/.]", re.sub(r"\(\w*\)$", "", name.lower()))[-1]


MEASURES = frozenset({Role.SCORE, Role.VALIDATION_SCORE, Role.OBJECTIVE})
_JUDGED = {*LOSSES} | MEASURES | {Role.GRAD_NORM, Role.LEARNING_RATE}


@lru_cache(maxsize=4096)
def is_judged(name: str) -> bool:
    """Whether trainings are judged by a metric of this name."""
    return "loss" in name.lower() or role_of(name) in _JUDGED


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Whether a value of this name belongs to a training wherever it stands."""
    return "loss" in name.lower() or role_of(name) is not Role.OTHER


def as_bar(pair: Pair) -> Pair:
    """``Training: 12/100`` as progress: the name is that of a bar. ``Accuracy: 90/100`` stays a metric."""
    patience = _PATIENCE & set(re.split(r"[\s/._]", pair.name.lower()))  # which grows while nothing does
    is_metric = is_known(pair.name) and role_of(pair.name) not in LOSSES
    is_bar = pair.of and not (counts(pair) or patience or is_metric)
    return pair._replace(name="progress") if is_bar else pair


@lru_cache(maxsize=4096)
def names_best_and_loss(names: tuple[str, ...]) -> bool:
    """Whether a loss is told beside the best score so far, and nothing counts: that was an evaluation. The
    training tells its losses at its steps: `Loss: 0.9, MeanIU: 0.7, Best_mIoU: 0.7` stands between them."""
    words_of = {name: re.split(r"[\s/._]", name.lower()) for name in names}
    best = any("best" in words and role_of(name) in MEASURES for name, words in words_of.items())
    ours = any("train" in words or counts(Pair(name, 0.0)) for name, words in words_of.items())
    return best and not ours and any(role_of(name) in LOSSES for name in names)


class Epochs:
    """Steps that are counted anew in each epoch, as one count. An epoch is as long as its last step says, and
    one distance of two steps longer where the next counts from 0, as in `step_axis.steps_per_epoch`. One that
    was there before counts from where it began; what that means is decided when attempts are stitched. The
    first of a launch that goes on in a later epoch than the log began with does so, too."""

    def __init__(self, earlier: Mapping[float, int] | None = None) -> None:
        self._epoch: float | None = None
        self._earlier = earlier or {}  # where epochs began in the launches before
        self._step = self._before = 0
        self._distance, self._repeats = 1, False  # whether a step comes several times, as of small batches
        self._begun: dict[float, int] = {}

    @property
    def begun(self) -> dict[float, int]:
        """The step at which each epoch began, in this launch and in those before."""
        return {**self._earlier, **self._begun}

    def is_at(self, epoch: float) -> bool:
        return self._epoch == epoch

    def go_on(self, steps: Steps) -> Steps:
        """As `step` of each of these, which only grow, in the epoch of the last one."""
        before = int(steps[-2]) if len(steps) > 1 else self._step
        self._step = int(steps[-1])
        self._distance = self._step - before
        return self._before + steps

    def step(self, epoch: float, step: int, of: int = 0) -> int:
        """The step over all epochs; ``of`` is how many an epoch has, if that is known. A bar that is full is
        drawn empty under the name of its epoch before it is given that of the next one (Lightning)."""
        if step == 0 and epoch == self._epoch and self._step == of > 0:
            return self._before + of
        if self._epoch is not None and epoch != self._epoch:
            falls = step < self._step or (step == self._step and not self._repeats)
            starts_over = falls and epoch > self._epoch
            length = of or self._step + (self._distance if step <= 0 else 0)
            next_begin = self._before + length * starts_over
            # where it was before, unless its length is known, which may be another one than it was
            self._before = next_begin if of and starts_over else self._begun.get(epoch, next_begin)
        elif self._epoch is None and epoch > (first := min(self._earlier, default=math.inf)):
            self._before = of * int(epoch - first) or self._earlier.get(epoch, 0)
        elif step > self._step:
            self._distance = step - self._step
        elif step == self._step and epoch == self._epoch:
            self._repeats = True
        self._begun[epoch] = self._before
        self._epoch, self._step = epoch, step
        return self._before + step


# --- words of trainers ---

_FLOAT = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf"
# Lines that name their numbers in a way of their own: a text that they hold, a pattern, and what it becomes,
# named as the trainer names it wherever the line has a name for it. A row stands here only where a trainer in
# wide use writes so, and no general rule of `pairs` can know it.
# fmt: off
_WORDINGS = tuple((literal, re.compile(pattern), into) for literal, pattern, into in (
    # Marian
    ("Ep. ", r"\bEp\. ([\d.]+) : Up\. (\d+) : ", r"epoch \1 update \2 : "),
    ("Sen. ", r"\bSen\. (?=\d)", "sentences "),
    ("L.r. ", r"\bL\.r\. ", "L.r = "),
    # ESPnet: the first and the last batch that a line is a mean of
    ("epoch:train:", r"\b(\d+)epoch:train:\d+-(\d+)batch:", r"epoch \1 batch \2 "),
    ("epoch results:", r"\b(\d+)epoch results: \[train\].*?(?=\[valid\])", r"epoch \1 "),
    # darknet
    (" avg loss, ", rf"^\s*(\d+): ({_FLOAT}), ({_FLOAT}) avg(?: loss)?, ({_FLOAT}) rate, ",
     r"iteration \1 loss = \2, avg loss = \3, rate = \4, time = "),
    # Caffe: the outputs of the net beside the smoothed loss
    ("net output #", r"\b(Train|Test) net output #\d{1,3}: (\S+) = ", r"\1 \2 = "),
    # fastText, which counts in tenths of a per cent
    ("words/sec/thread", r"\bProgress:\s{1,4}(\d{1,3})\.(\d)%", r"progress \1\2/1000"),
    # "D(G(z)): 0.4 / 0.1" of PyTorch's DCGAN: as it names them, around the generator's step
    ("D(G(z)): ", rf"\bD\(G\(z\)\): ({_FLOAT}) ?/ ?(?=[\d.])", r"D_G_z1: \1 D_G_z2: "),
    # CatBoost
    ("\tlearn: ", r"^(\d+):\tlearn: ", r"iteration \1 learn loss = "),
    ("\ttest: ", r"\ttest: ", "\ttest loss = "),
    ("\tbest: ", r"\tbest: \S+ \(\d+\)", ""),
    # pycocotools, of which the first line of twelve is the one that is compared
    ("maxDets=100 ] = ", r"\bAverage Precision\s+\(AP\) @\[ IoU=0\.50:0\.95 \| area=\s+all \| .*\] = ",
     "val/mAP = "),
    # cuda-convnet
    ("... ", r"^(\d+)\.(\d+)\.\.\. (?=[a-z])", r"epoch \1 batch \2 "),
    ("logprob: ", r"^logprob: ", "test logprob: "),
    # "Training average loss at step 100: 1.62"
    (" at ", r"^([A-Za-z][\w@ /.-]{0,60}) at (step|iter(?:ation)?|epoch) (\d{1,15}) ?[:=] ?(?=[-+.\dn])",
     r"\2 \3 \1: "),
    # counters that are cut short: "Iter.   5;"
    (". ", r"\b(Iter|Ep|It|Gen)\.\s+(?=\d)", r"\1 "),
    # Flax's language models
    ("... (", r"^(Step|Epoch)\.\.\. \((\d+(?:/\d+)?) \| ", r"\1 \2 | "),
    # Optuna, without the best trial so far
    (" and parameters: {", r"\bfinished with value: (\S+) and parameters: (\{[^}]*\}).*", r"value: \1, \2"),
    # NCRF++: a share and its value
    ("=0.", r"\b\d{1,15}/\d{1,15}=(?=0\.\d)", ""),
    # Deeplearning4j, whose score is the value of the loss
    ("Score at iteration ", r"\bScore at iteration (\d+) is ", r"iteration \1 score (loss) = "),
    # Tacotron 2
    ("Grad Norm ", rf"\bTrain loss (\d+) ({_FLOAT}) Grad Norm ", r"iteration \1 Train loss = \2 Grad Norm "),
    # "Train: [0/300][50/1251]" of Swin, "Epoch(train) [1][50/858]" of OpenMMLab: epochs, then batches
    ("][", r"\b(?!Epoch[:\s])([A-Z]\w+(?:\(\w+\))?):?\s*"
     r"\[\s*(\d{1,9})(?:/\d{1,9})?\]\[\s*(\d{1,12}(?:/\d{1,12})?)\]", r"\1, epoch \2 batch \3 "),
    # "[0/5][50/1583]" of PyTorch's DCGAN, "[1,  2000] loss" of its tutorial: epochs, then batches
    ("/", r"^\s{0,8}[\[(]\s{0,8}(\d{1,9})/\d{1,9}[\])]\s{0,2}[\[(]\s{0,8}(\d{1,12}/\d{1,12})[\])]",
     r"epoch \1 batch \2 "),
    (", ", r"^\s{0,8}\[\s{0,8}(\d{1,9}),\s{1,8}(\d{1,12})\](?=:?\s[A-Za-z])", r"epoch \1 batch \2 "),
    # "Train: 0 [ 50/1251 (4%)]" of timm
    ("Train", r"\b(Train|Training): (\d{1,9}) \[\s*(\d{1,12}/\d{1,12})(?= )", r"\1, epoch \2 batch \3 ["),
    (" [", r"\b(Test|Valid|Validation|Eval): {1,2}\[\s*(\d{1,12}/\d{1,12})\]", r"\1, batch \2 "),
))
# fmt: on
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


def _unlisted(match: re.Match[str]) -> str:
    """``Losses: [2.6, 2.4, 10.7, 15.3, 0.5], step: 400`` of later so-vits-svc, with the names of VITS."""
    cells = match[1].strip("[]").split(",")
    orders = (names for _, names in _ORDERS if names[-2:] == ["step", "lr"])
    names = next((names[:-2] for names in orders if len(names) == len(cells) + 2), ())
    return "".join(f"{name} = {cell}, " for name, cell in zip(names, cells, strict=False)) or match[0]


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
    text = _LISTED.sub(_unlisted, text) if "osses: [" in text else text
    if "postfix:" in text and (match := _LEVANTER.search(text)):
        what = "" if match["what"] == "train" else f"{match['what']}: "
        step = round(float(match["n"]) * _THOUSANDS[match["unit"]])
        text = f"{what}step {step} {text[match.end() :]}"
    return text
