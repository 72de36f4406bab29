"""Lines that name their numbers in a way of their own, put into pairs of a name and a number.

    >>> plain("Ep. 1 : Up. 1000 : Sen. 70,000 : Cost 7.95 : L.r. 1.0e-05")
    'epoch 1 update 1000 : sentences 70,000 : Cost 7.95 : L.r = 1.0e-05'

One row a wording; what it says is named as the trainer names it wherever the line has a name for it. A row
stands here only where a trainer in wide use writes so, and no general rule of `pairs` can know it.
"""

from __future__ import annotations

import re

_NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf"
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
            rf"^\s*(\d+): ({_NUMBER}), ({_NUMBER}) avg(?: loss)?, ({_NUMBER}) rate, ",
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
            rf"\bTrain loss (\d+) ({_NUMBER}) Grad Norm ",
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
        (
            "Train",
            r"\b(Train|Training): (\d{1,9}) \[\s*(\d{1,12}/\d{1,12})(?= )",
            r"\1, epoch \2 batch \3 [",
        ),
        (":  [", r"\b(Test|Valid|Validation|Eval):  \[\s*(\d{1,12}/\d{1,12})\]", r"\1, batch \2 "),
        (": [", r"\b(Test|Valid|Validation|Eval): \[\s*(\d{1,12}/\d{1,12})\]", r"\1, batch \2 "),
    )
)
_THOUSANDS = {"": 1, "k": 1000, "M": 1_000_000}
_LEVANTER = re.compile(r"Progress on:(?P<what>\w+) (?P<n>[\d.]{1,12})(?P<unit>[kM]?)it/\S+ .*postfix:")


def plain(text: str) -> str:
    """The line in pairs; one that needs no other words is given as it is."""
    for literal, pattern, into in _WORDINGS:
        if literal in text:
            text = pattern.sub(into, text, count=1)
    if "postfix:" in text and (found := _LEVANTER.search(text)):
        what = "" if found["what"] == "train" else f"{found['what']}: "
        try:
            step = round(float(found["n"]) * _THOUSANDS[found["unit"]])
        except ValueError:
            return text
        text = f"{what}step {step} {text[found.end() :]}"
    return text
