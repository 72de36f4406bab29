"""Data for stage 3: lines that only knowledge of their trainer makes readable.

`reworded` rewrites a line so that each of its numbers stands behind a name; `row_without_names` names the
numbers of a row in which no name stands. A row of these tables is for a trainer in wide use whose lines no
general rule of `pairs` can read; it names metrics as the trainer does wherever a line has a name for them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from chronicle.readers.columns import number
from chronicle.readers.console.counters import Pair

NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity)"
_FLOAT = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf"

# --- rows of numbers without names ---

_CELL = re.compile(
    r"(?P<p>\d{1,9}/\d{1,9})|(?P<g>[\d.]{1,9}[MG])|(?P<d>\d{4}-\d\d-\d\d)|(?P<t>\d\d:\d\d:\d\d(?:\.\d+)?)"
    r"|(?P<i>\d{1,15})|(?P<f>[-+]?(?:\d+\.\d*|\.\d+|\d+(?=e))(?:e[-+]?\d{1,3})?|-?nan|-?inf)",
    re.IGNORECASE,
)
_VITS = "loss_disc loss_gen loss_fm loss_mel"
# The columns that trainers in wide use print without names, as published in their source: the kinds of all
# cells ("n" is a whole or a decimal number), and the names; "-" is left out.
# fmt: off
_COLUMN_ORDERS = tuple((re.compile(kinds.replace("n", "[if]")), names.split()) for kinds, names in (
    (r"\[if", "step lr"),  # RVC, which names its losses in the line below
    (r"\[n{5}if", f"{_VITS} loss_kl step lr"),  # so-vits-svc
    (r"\[n{6}if", f"{_VITS} loss_dur loss_kl step lr"),  # VITS
    (r"ifffdti", "epoch loss ppl lr - - -"),  # RWKV-LM
    # results.txt of YOLOv5 to v7, named as in results.csv of its successors
    (r"pgn{4}iin{7}", "epoch - train/box_loss train/obj_loss train/cls_loss train/loss - - metrics/precision"
     " metrics/recall metrics/mAP_0.5 metrics/mAP_0.5-0.95 val/box_loss val/obj_loss val/cls_loss"),
))
# fmt: on
_HIGHEST_RATE, _ROUNDING = 2e-3, 0.01  # of these trainers; of sums


def row_without_names(text: str) -> list[Pair]:
    """The pairs of a line that is a row of cells, in a list or separated by blanks. [] where no published
    order fits, the learning rate is not small, or the perplexity is not the exponential of the loss."""
    text = text.strip()
    if not text[:1].isdecimal() and text[:1] != "[":
        return []
    is_list = text[0] == "[" and text[-1] == "]"
    cells = text.strip("[]").replace(",", " " if is_list else ",").split()
    matches = [_CELL.fullmatch(cell) for cell in cells]
    if len(cells) < 2 or None in matches:
        return []
    kinds = "[" * is_list + "".join(match.lastgroup or "" for match in matches if match)
    values = [number(re.sub(r"/\d+$|[MG]$", "", cell)) or 0.0 for cell in cells]
    names = next((names for order, names in _COLUMN_ORDERS if order.fullmatch(kinds)), None)
    names = names or _names_of_yolo(kinds, values)
    ends = [int(cell.rpartition("/")[2]) if "/" in cell else 0 for cell in cells]
    row = [Pair(*pair) for pair in zip(names, values, ends, strict=True) if pair[0] != "-"] if names else []
    cell_values = {pair.name: pair.value for pair in row}
    if not 0 <= cell_values.get("lr", 0.0) <= _HIGHEST_RATE:
        return []
    perplexity = cell_values.get("ppl", math.nan)
    difference = abs(math.exp(min(cell_values.get("loss", 0.0), 700.0)) - perplexity)
    return [] if difference > _ROUNDING * perplexity else row


def _names_of_yolo(kinds: str, values: Sequence[float]) -> list[str]:
    """The names in a row of YOLO with other columns than the published ones, [] for any other row: the total
    is the sum of the cells before it, and two whole numbers (boxes and pixels) follow it."""
    for at in reversed(range(4, len(values) - 4) if kinds.startswith("pg") else ()):
        total = sum(values[2:at])
        if kinds[at + 1 : at + 3] == "ii" and not abs(total - values[at]) > _ROUNDING * abs(total):
            parts = [f"train/loss_{i}" for i in range(1, at - 1)]
            others = [f"column {i + 1}" for i in range(at + 3, len(values))]
            return ["epoch", "-", *parts, "train/loss", "-", "-", *others]
    return []


# --- lines in words of their own ---

_THOUSANDS = {"": 1, "k": 1000, "M": 1_000_000}


def _with_names_of_vits(match: re.Match[str]) -> str:
    cells = match[1].strip("[]").split(",")
    orders = (names for _, names in _COLUMN_ORDERS if names[-2:] == ["step", "lr"])
    names = next((names[:-2] for names in orders if len(names) == len(cells) + 2), ())
    return "".join(f"{name} = {cell}, " for name, cell in zip(names, cells, strict=False)) or match[0]


def _of_levanter(match: re.Match[str]) -> str:
    phase = "" if match["what"] == "train" else f"{match['what']}: "
    return f"{phase}step {round(float(match['n']) * _THOUSANDS[match['unit']])} "


# A text that such a line holds, a pattern, and what replaces its first match.
# fmt: off
_WORDINGS = tuple((literal, re.compile(pattern), new) for literal, pattern, new in (
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
    # "Epoch and iter 0 10 Loss 39.08"
    (" and ", r"^([A-Za-z]\w{0,20}) and ([A-Za-z]\w{0,20})[ :]{1,3}(\d{1,12})[ ,/]{1,2}(\d{1,12})(?=[\s,:])",
     r"\1 \3 \2 \4"),
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
    # "Losses: [2.6, 2.4, 10.7, 15.3, 0.5], step: 400" of later so-vits-svc, with the names of VITS
    ("osses: [", r"\b[Ll]osses: (\[[^][]{5,300}\]),?(?= steps?: \d)", _with_names_of_vits),
    # "Progress on:train 1.20kit/10.0kit rate:... postfix:loss=2.5" of Levanter
    ("postfix:", r"^.*?Progress on:(?P<what>\w+) (?P<n>\d{1,11}\.?\d{0,11})(?P<unit>[kM]?)it/\S+ .*postfix:",
     _of_levanter),
))
# fmt: on

# A number without a blank before the next name: `tf=0.00lr=0.001`, `idx: 0loss: 0.693`.
_GLUED = re.compile(r"(?<=[:=])(\s?[-+]?\d[\d.]{0,20})(?=[A-Za-z_]{2,40}(?:=|: )\s?[-+\dtnT])")
# A number that has its cell to itself and a unit for a name: "| 12 ms | 5000 tok/s".
_UNIT_ALONE = re.compile(
    rf"(?<=[|,;])(\s{{0,8}})({NUMBER})\s?(ms|(?:tok|tokens|samples|img|images)/s(?:ec)?)(?=\s{{0,8}}(?:[|,;]|$))"
)
# A decimal comma: 0,523 and 12,5 and 3,1416, but not 1,000.
_DECIMAL_COMMA = re.compile(r"[:=]\s{0,8}[-+]?(?:0,\d+|\d{1,15},(?:\d\d?|\d{4,}))(?![\d.]|,\d)")


def units_as_names(text: str) -> str:
    """The line, in which a number that has only a unit is named by it.

    >>> units_as_names("step 5 | loss 2.5 | 12.5 ms | 5,000 tok/s")
    'step 5 | loss 2.5 | ms: 12.5 | tok/s: 5,000'
    """
    return _UNIT_ALONE.sub(r"\1\3: \2", text) if "ms" in text or "/s" in text else text


def reworded(text: str) -> str:
    """The line in pairs of a name and a number; most lines need no change. If a number has a decimal comma
    and none a point, all commas of the line are decimal ones.

    >>> reworded("Ep. 1 : Up. 1000 : Sen. 70,000 : Cost 7.95 : L.r. 1.0e-05")
    'epoch 1 update 1000 : sentences 70,000 : Cost 7.95 : L.r = 1.0e-05'
    >>> reworded("Epoch 1 - loss: 2,982 - acc: 0,5025")
    'Epoch 1 - loss: 2.982 - acc: 0.5025'
    """
    if "," in text and _DECIMAL_COMMA.search(text) and not re.search(r"\d\.\d", text):
        text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    text = units_as_names(_GLUED.sub(r"\1 ", text))
    for literal, pattern, new in _WORDINGS:
        if literal in text:
            text = pattern.sub(new, text, count=1)
    return text
