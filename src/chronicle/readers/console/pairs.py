"""Stage 3: finds the names and numbers of a line: ``loss: 2.5``, ``lr=1e-4``, ``step 12/100``, ``acc 91.2%``.

A name is one word, or up to five if a colon or an equals sign follows; a number may have a unit, or a part
that is imaginary, which is dropped. ``12/100`` is 12 (of 100); without a name before it, it is called
"progress", and so is ``[12]`` at the beginning of a line.

`reworded` names the numbers of lines that only knowledge of their trainer makes readable. A row of its table
is for a trainer in wide use.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from chronicle.metrics.aliases import OF_PHASES, word_set
from chronicle.metrics.names import JUDGED, MEASURES, compiled, role_of
from chronicle.model import Role
from chronicle.readers.columns import WRAPPED, number
from chronicle.readers.console.chunks import as_read, units_as_names
from chronicle.readers.step_axis import EPOCH_WORDS, is_counter, last_word, may_count, rank_of_name

PROGRESS = "progress"  # the name of "12/100" and of bars
A_TRAINING, AN_EVALUATION = r"train(?:ing)?", r"val(?:id(?:ation)?)?|eval(?:uation)?|test|dev"  # patterns
IMPROVED = "improved "  # begins the name of a loss that is logged only when it is the best so far, or again
_JUDGED = {*JUDGED, Role.GRAD_NORM, Role.LEARNING_RATE}


class Pair(NamedTuple):
    """A number, its name, what it counts up to (0 where it does not say), and the unit in which it is logged:
    1000 of ``12K``, 100 of ``1.2K``, 0 of a number that is logged in full."""

    name: str
    value: float
    of: int = 0
    unit: int = 0


@lru_cache(maxsize=4096)
def names_epoch(name: str) -> bool:
    """Whether a name counts epochs, which "best results observed at epoch" and "loss epoch" do not."""
    return last_word(name) in EPOCH_WORDS and may_count(name) and not is_judged(name)


def counts(pair: Pair) -> bool:
    """Whether a pair counts steps or epochs."""
    is_whole = pair.value == pair.value // 1 and 0 <= pair.value < 2.0**63
    return (is_whole and rank_of_name(pair.name) is not None) or names_epoch(pair.name)


def key_of(pair: Pair) -> str:
    """What identifies a counter: its name in lower case, or of a bar what it counts up to."""
    return f"{PROGRESS}/{pair.of}" if pair.name == PROGRESS else pair.name.lower()


@lru_cache(maxsize=4096)
def is_judged(name: str) -> bool:
    """Whether trainings are judged by a metric of this name."""
    return "loss" in name.lower() or role_of(name) in _JUDGED


def is_result(name: str) -> bool:
    """Whether a metric of this name says how a training went. A learning rate, a setting too, does not."""
    return is_judged(name) and role_of(name) is not Role.LEARNING_RATE


@lru_cache(maxsize=4096)
def is_known(name: str) -> bool:
    """Whether a value of this name belongs to a training wherever it stands."""
    is_named = "loss" in (lower := name.lower()) or lower.startswith("advantage")
    return is_named or role_of(name) is not Role.OTHER


def _without_settings(text: str) -> str:
    """A name without the settings of the training behind it, if the learning rate is one of them."""
    name, *settings = re.split(r" (?:for|with|at) \(?(?=\S+ ?=)|(?:, ?| )(?=\S+ ?=)", text)
    return name if any(role_of(each.split("=")[0]) is Role.LEARNING_RATE for each in settings) else text


_FLOAT = r"(?:[-+]?[\d.]+(?:[eE][-+]?\d+)?|-?nan|-?inf)"

POWERS_OF_TEN = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "B": 9, "T": 12, "P": 15}  # of 12K, 1.2B


# The names of the losses that so-vits-svc and VITS print as a list, by their number.
LOSSES_OF_VITS = {
    5: ("loss_disc", "loss_gen", "loss_fm", "loss_mel", "loss_kl"),
    6: ("loss_disc", "loss_gen", "loss_fm", "loss_mel", "loss_dur", "loss_kl"),
}


def _with_names_of_vits(match: re.Match[str]) -> str:
    cells = match[1].strip("[]").split(",")
    named = zip(LOSSES_OF_VITS.get(len(cells), ()), cells, strict=False)
    return "".join(f"{name} = {cell}, " for name, cell in named) or match[0]


def _of_levanter(match: re.Match[str]) -> str:
    phase = "" if match["what"] == "train" else f"{match['what']}: "
    return f"{phase}step {round(float(match['n']) * 10 ** POWERS_OF_TEN[match['unit']])} "


_STATISTIC = re.compile(r"(?i)\b(avg|average|mean|median|min|max|std)(?= ?[:=])")
_OF_LOSSES = re.compile(r"\b[A-Za-z]\w{0,20}(?==[-\d.])")
_NAME_AND_NUMBER = rf"([A-Za-z][\w ./()-]{{0,40}})[,;\t](?= ?{_FLOAT}(?:[,;\t]|$))"
_SET = r"[A-Za-z_][\w.-]{0,40} ?= ?[^\s=,:;()]{1,40}"
_COUNT = r"(\d{1,9}(?:/\d{1,9})?)(?=[\s:,|\])])"
# A text that such a line holds, a pattern, and what replaces its first match.
# fmt: off
_WORDINGS: tuple[tuple[str, str, Any], ...] = (
    ("Ep. ", r"\bEp\. ([\d.]+) : Up\. (\d+) : ", r"epoch \1 update \2 : "),  # Marian, as the next two
    ("Sen. ", r"\bSen\. (?=\d)", "sentences "),
    ("L.r. ", r"\bL\.r\. ", "L.r = "),
    # ESPnet: the first and the last batch that a line is a mean of
    ("epoch:train:", r"\b(\d+)epoch:train:\d+-(\d+)batch:", r"epoch \1 batch \2 "),
    ("epoch results:", r"\b(\d+)epoch results: \[train\].*?(?=\[valid\])", r"epoch \1 "),
    (" rate, ", rf"^\s*(\d+): ({_FLOAT}), ({_FLOAT}) avg(?: loss)?, ({_FLOAT}) rate, ",
     r"iteration \1 loss = \2, avg loss = \3, rate = \4, time = "),  # darknet
    # Caffe: the outputs of the net beside the smoothed loss
    ("net output #", r"\b(Train|Test) (net output) #\d{1,3}: (\S+) = ", r"\1 \2 \3 = "),
    ("words/sec/thread", r"\bProgress:\s{1,4}(\d{1,3})\.(\d)%", r"progress \1\2/1000"),  # fastText
    # DARTS and what was made of it: batch, loss, and two accuracies
    ("e", rf"^(train|valid|test) (\d{{3,9}}) ([\d.]+e[-+]\d+) ({_FLOAT}) ({_FLOAT})$",
     r"\1 loss = \3, \1 top1 = \4, \1 top5 = \5"),
    ("@0.5", r"(?<=@0\.50):(?=0\.95)|(?<=@0\.5):(?=0\.95)", "-"),  # a mean of thresholds, of YOLOv6
    # "loss ------: 0.5", "accuracy ......: 0.75"
    ("", r"(?<=\w) ?[-=*.]{3,40} ?(?=[:=]\s)", ""),
    # "epoch/iter: 49/12899"
    ("/it", r"\b(epoch)/(iter(?:ation)?)s?[:=]? (\d{1,9})/(?=\d{1,12}\b)", r"\1 \3 \2 "),
    # "Train 26, loss: 0.5", "Test 26, loss: 0.75"
    (", ", r"(?i)^(train|test|val(?:id(?:ation)?)?|eval) (\d{1,9}), (?=[a-z][a-z ]{0,20}: \d)",
     r"\1 epoch \2, "),
    # "D(G(z)): 0.4 / 0.1" of PyTorch's DCGAN: as it names them, around the generator's step
    ("D(G(z)): ", rf"\bD\(G\(z\)\): ({_FLOAT}) ?/ ?(?=[\d.])", r"D_G_z1: \1 D_G_z2: "),
    # NGCF and what was made of it: the loss, and the terms that it is the sum of
    ("==[", rf"\b(train|valid|test)==\[({_FLOAT})=[^\]]*\]", r"\1 loss = \2"),
    # CatBoost, as the next one: with blanks for its tabs where it was copied from a terminal
    ("learn: ", r"^(\d{1,9}):\s{1,8}learn: ", r"iteration \1 learn = "),
    ("best: ", r"(?<=\d)\s{1,8}best: \S+ \(\d+\)", ""),
    ("ms", r"\btotal: ([\d.]{1,9})ms(?=\s{1,8}remaining: )", r"total: \1e-3s"),  # seconds in later lines
    # pycocotools, of which the first line of twelve is the one that is compared
    ("maxDets=100 ] = ", r"\bAverage Precision\s+\(AP\) @\[ IoU=0\.50:0\.95 \| area=\s+all \| .*\] = ",
     "val/mAP = "),
    ("maxDets=", r"\bAverage (?:Precision|Recall)\b.*", ""),
    ("[E ", r"\[E (?=\d{1,9} \| it \d)", "[epoch "),  # Glue Factory
    ("ounter ", r"(?<=\d)\.(?=[A-Z]\w{4,12} \d)", ". "),  # "loss 0.25.Counter 1/10"
    # "Training average loss at step 100: 1.62", "eval @ 4000 steps: cost=2.5"
    (" steps", r"(?:@|\bat) (\d{1,15}) (step|iteration|update|episode)s?\b", r", \2 \1"),
    ("nd of epoch ", r"(?i) at (?:the )?end of (?=epoch \d{1,9}(?!\.?\d))", ", "),  # a counter behind "loss"
    # "Average loss for last 200 batches is 20.6": of which rows a mean is
    ("ast ", r"(?i)\s?\(?\b(?:(?:for|over|of|in|from) )?(?:the )?[lp]ast \d{1,6}"
     r" (?:batch|step|iteration|episode|game|epoch|update|sample|run|trial)(?:e?s)?\b\)?", ""),
    # "('cost: ', 0.5)", as Python 2 prints names and numbers in brackets
    ("('", rf"^\((?:'[\w .:=-]{{1,40}}', {_FLOAT}(?:, )?){{1,9}}\)$",
     lambda match: re.sub(r"'([^']*?)[ :=]*', ", r"\1: ", match[0][1:-1])),
    # Tesseract: how many iterations taught it something, how many it made, and of how many samples
    ("/", r"\b(iteration) \d{1,12}/(\d{1,12})/\d{1,12}\b", r"\1 \2"),
    ("Score at iteration ", r"\bScore at iteration (\d+) is ", r"iteration \1 score (loss) = "),  # DL4J
    # "Loss at step 100: 1.62", "Loss at epoch 1 and iteration 5 is 1", "Cost after 100 iterations: 0.64"
    ("e", r"^(?:The )?([A-Za-z][\w@ /.()-]{0,60}) (?:at|after|of|in|for) (?:(?:(?:global|time|train(?:ing)?)"
     r"[ _]?)?(step|iter(?:ation)?|epoch|episode) {0,8}(\d{1,15}(?:/\d{1,15})?)(?:(?:,|,? and) "
     r"(step|iter(?:ation)?|batch) (\d{1,15}))?|(\d{1,15}) (step|iteration|epoch)s)(?: ?(?:is\b ?:?|[:=])"
     r" {0,2}(?=[-+.\dnt])| +(?=\d+\.\d+(?:e[-+]\d+)?$))", r"\2\7 \3\6 \4 \5 \1: "),
    # "Epoch 1: Cost on iteration 12 is 0.5" of Stanford's course, "1 train loss: 0.5" of candle
    ("ost on ", r"\b(Cost) on (iteration) (\d{1,12}) is (?=[-+.\dnN])", r"\2 \3 \1: "),
    ("oss", r"^\s{0,8}(\d{1,9}) (?=(?:train(?:ing)? )?loss ?[:=])", r"iteration \1 "),
    # "Epoch 3: 9016 / 10000" of Nielsen's book: right answers, of all; "loss(x, y) = 0.5" of Julia
    (" / ", r"^(Epoch \d{1,9}) ?: (\d{1,9}) / (?=\d{3,9}$)", r"\1 correct: \2/"),
    ("oss(", r"^(\w{0,20}loss)\([\w, .:\[\]]{1,60}\) = (?=[-+.\dN])", r"\1 = "),
    # "Accuracy of the network on the 10000 test images: 83 %" of PyTorch's tutorials
    ("mages: ", r"(?i)\b(?:test )?(accuracy) of (?:\w+ ){1,3}on (?:the )?\d+ (\w+) images(?=: )", r"\2 \1"),
    ("per ", r" per \d{1,6} (?:\w{5,10} )?(?:step|iteration|batch)(?:e?s)\b(?=[:=])", ""),  # of means
    # "1m 5s (- 20m 3s) (5000 5%) 2.85" of PyTorch's tutorials
    ("%) ", r"\[?\b\d{1,5}m \d{1,2}s (?:\(- \d{1,5}m \d{1,2}s\) )?\((\d{1,12}) \d{1,3}%\) (?=\d)",
     r"iteration \1 loss = "),
    (" [D loss: ", r"^(\d{1,12}):? (?=\[D loss: )", r"iteration \1 "),  # of Keras-GAN
    # "'val_loss' reached 2.28 (best 2.28), saving model to" of Lightning, as the next three: the best values
    # of a loss say how it went on, and those of a score, which only rise, would look like an improvement
    (" reached ", r"'?\b(\w{0,30}loss\w{0,30})'? reached (\S{1,30}) \(best .*", r"best \1: \2"),
    ("ew best score: ", r"\bMetric (\w{0,30}loss\w{0,30}) improved.* New best score: ", r"best \1: "),
    # "Validation loss decreased (0.5 --> 0.4).  Saving model", "val loss improved from 0.5 to 0.4"
    ("loss ", r"(?i)^[^\w\n]{0,8}((?:\w+ )?\w{0,30}loss) (?:has )?(?:decreased?|improved|reduced|dropped):? "
     r"(?:\(?\S+ ?-{1,3}> ?|from \S+ to )([-+]?\d+(?:\.\d+)?(?:e[-+]\d+)?)\b.*", rf"{IMPROVED}\1: \2"),
    # "-> Saved best (loss: 0.5)", "New best! Loss: 0.5"
    ("est", r"(?i)^[^\w\n]{0,8}(?:sav(?:ed|ing) |new )(?:\w+ )?best(?: \w+){0,2} ?[!:(.,-]{1,2} ?"
     r"((?:\w+ )?\w{0,30}loss) ?[:=] ?(?=[-+.\d])", rf"{IMPROVED}\1: "),
    # "Saved model at epoch 3 with loss: 0.5"
    (" with ", r"(?i)^[^\w\n]{0,8}sav(?:ed|ing) (?:\w+ ){1,3}(?:at|after|of|from) (epoch|step|iteration) "
     r"(\d{1,15}),? with ((?:\w+ ){0,2}loss) ?[:=]? ?(?=[-+.\d])", rf"\1 \2, {IMPROVED}\3: "),
    (" reached ", r"'?\b[\w/.-]{1,60}'? reached \S{1,30} \(best .*", ""),
    (" was not in top ", r"'?\b[\w/.-]{1,60}'? was not in top \d.*", ""),
    # "Epoch 00027: reducing learning rate of group 0 to 5.0000e-04." of PyTorch
    (" learning rate of group ", r"\b[A-Za-z]{1,10}ing (learning rate) of group \d{1,4} to ", r"\1: "),
    (".:", r"(?<=[A-Za-z])\.(?=:\s)", ""),  # "Acc.: 95%"
    (". ", r"\b(Iter|Ep|It|Gen)\.\s+(?=\d)", r"\1 "),  # counters that are cut short: "Iter.   5;"
    # "After 100 training step(s), loss on training batch is 2.5"
    ("fter ", r"\b[Aa]fter (\d{1,15}) (?:train(?:ing)? )?(step|iteration|epoch|episode)(?:s|\(s\))?[,:]? ",
     r"\2 \1, "),
    # "[   1000 steps] reward=0.5", "5000 episodes: reward 2.5"
    ("s", r"(?i)^[^\w\n]{0,16}(\d{1,15}) (step|iter(?:ation)?|update|epoch|ep(?:isode)?)s(?:\]:?|:) "
     r"(?=[a-z])", r"\2 \1, "),
    # "Epoch and iter 0 10 Loss 39.08"
    (" and ", r"^([A-Za-z]\w{0,20}) and ([A-Za-z]\w{0,20})[ :]{1,3}(\d{1,12})[ ,/]{1,2}(\d{1,12})(?=[\s,:])",
     r"\1 \3 \2 \4"),
    # "Rewards => Avg: 0.5, Max: 1.5", "Loss: mean=2.5, std=0.5": statistics of what stands before them
    ("", r"(?i)^[^\w\n]{0,8}([a-z][a-z ]{2,30}?) {0,20}(?:[=-]>|[:|]) {0,8}"
     r"((?:avg|average|mean|median) ?[:=].*)", lambda match: _STATISTIC.sub(rf"{match[1]} \1", match[2])),
    # "Loss: policy=1.5, value=0.5, total=2.0": losses, but for names that are known as something else
    ("oss", r"(?i)^[^\w\n]{0,8}loss(?:es)?: {1,4}([a-z]\w{0,20}=[-\d.].*)", lambda match: _OF_LOSSES.sub(
        lambda name: name[0] if is_known(name[0]) else f"{name[0]} loss", match[1])),
    # "Final accuracy for lr=0.01: 0.9": with which settings something was reached
    ("=", rf"^[A-Za-z][\w ]{{0,40}} (?:for|with|at) \(?{_SET}(?:(?:, ?| ){_SET}){{0,8}}\)?"
     rf"(?=\s?:\s*{_FLOAT}\b)",
     lambda match: _without_settings(match[0])),
    # "Epoch12: loss 0.5", "[Step#100] loss 0.5", "Ep3/9 Iter20: loss 0.5", "step#: 100  loss: 0.5"
    ("", r"(?i)^([^\w\n]{0,8}(?:\w+ )??)(ep(?:och)?|step|iter(?:ation)?|episode)(?:[_#-]|#: {1,8})?"
     rf"{_COUNT}(?:([\s,|]{{1,3}})(step|iter(?:ation)?|batch)[_#-]?{_COUNT})?", r"\1\2 \3\4\5 \6"),
    # "E  1/500 | Loss:4.23", "E012 loss 0.5"
    ("E", r"^E\s{0,3}(\d{1,9}/\d{1,9}(?=\s{0,2}[|:,-])|\d{1,9}(?=:? (?i:train )?(?i:loss)))", r"epoch \1"),
    (" (epoch ", r"^([A-Za-z][\w ]{0,40}) \(epoch (\d{1,9})\)(?=[:=])", r"epoch \2, \1"),
    (" @ epoch:", r"^([a-z]{2,9}): (\d{1,12}) @ epoch:", r"\1 iteration \2 epoch "),  # VoxelNet
    # "loss 0.82/0.81": of the training and held out
    ("/", r"(?i)(?<!val )(?<!test )\b(loss|acc(?:uracy)?)([:= ]{1,3})(\d+\.\d+)\s?/\s?(\d+\.\d+)(?![\d/.])",
     r"train_\1\2\3 val_\1\2\4"),
    (" loss rc:", r"\bE (\d{1,9}) B (\d{1,12}) (?=loss rc:)", r"epoch \1 batch \2 "),  # pixelNeRF
    # "lr, 0.001", "Step, 100, Loss, 0.5" and "step;100;loss;0.5": names and numbers in turn
    ("", rf"^(?:(?:{_NAME_AND_NUMBER} ?{_FLOAT}(?:[,;] ?|$)){{2,99}}"
     rf"|(?i:(?:\w+[_ ])?(?:lr|loss|acc|epoch|step), {_FLOAT}))$",
     lambda match: re.sub(_NAME_AND_NUMBER, r"\1:", match[0])),
    ("... (", r"^(Step|Epoch)\.\.\. \((\d+(?:/\d+)?) \| ", r"\1 \2 | "),  # Flax's language models
    # Optuna, without the best trial so far
    (" and parameters: {", r"\bfinished with value: (\S+) and parameters: (\{[^}]*\}).*", r"value: \1, \2"),
    ("=0.", r"\b\d{1,15}/\d{1,15}=(?=0\.\d)", ""),  # NCRF++: a share and its value
    # Flower: a round, the loss of the server's evaluation, and other metrics of it; a round in its summary
    ("fit progress: (", rf"\bfit progress: \((\d+), ({_FLOAT}), \{{", r"round \1 loss = \2, {"),
    ("round ", rf"^\s{{0,8}}round (\d{{1,9}}): ({_FLOAT})$", rf"round \1, {IMPROVED}loss = \2"),
    ("[(0, ", r": \[\(0, '(?=[-+]?[\d.]{1,20}'\))", ": "),  # Sample Factory: the reward of its first policy
    # MXNet and CNTK: the first and the last batch that a line is a mean of
    ("atch", r"\b((?:Mini)?[Bb]atch) ?\[ {0,8}\d{1,12}- {0,8}(?=\d{1,12}[],])", r"\1 ["),
    # "epoch: 3, dataset: CVC-300, dice: 0.86" of PraNet: a metric of a test set
    (" [", r"(?<=loss) \[\d{1,12}-\d{1,12}\](?=: )", ""),  # NumPyro: the steps that it is the mean of
    ("dataset: ", r"\bdataset: ([A-Za-z][\w-]{0,40})[,|;]? +(?=[A-Za-z]\w{0,20}: [\d.])", r"\1/"),
    ("--> ", r"^(\w+) -{1,3}> (?=\w+ ?: ?[\d.])", r"\1/"),  # "sofa --> mAP : 0.7": one class
    ("FB1:", r"^\s*(\S+): +(precision:.*?)(recall:.*?)(?=FB1:)", r"\1/\2\1/\3\1/"),  # the same, of conlleval
    (" n", r"(?i)\b(epoch|step|iter(?:ation)?) n(?:um(?:ber)?|[or]\.)(?=[ :=]{1,3}\d)", r"\1"),
    # Tacotron 2
    ("Grad Norm ", rf"\bTrain loss (\d+) ({_FLOAT}) Grad Norm ", r"iteration \1 Train loss = \2 Grad Norm "),
    # "Train: [0/300][50/1251]" of Swin, "Epoch(train) [1][50/858]" of OpenMMLab: epochs, then batches
    ("][", r"\b(?!Epoch[:\s])([A-Z]\w+(?:\(\w+\))?):?\s*"
     r"\[\s*(\d{1,9})(?:/\d{1,9})?\]\[\s*(\d{1,12}(?:/\d{1,12})?)\]", r"\1, epoch \2 batch \3 "),
    # "[0/5][50/1583]" of PyTorch's DCGAN, "[1,  2000] loss" of its tutorial: epochs, then batches
    ("/", r"^\s{0,8}[\[(]\s{0,8}(\d{1,9})/\d{1,9}[\])]\s{0,2}[\[(]\s{0,8}(\d{1,12}/\d{1,12})[\])]",
     r"epoch \1 batch \2 "),
    ("[", r"^\s{0,8}\[\s{0,8}(\d{1,9})(?:,| :)\s{1,8}(\d{1,12})\](?=:?\s[A-Za-z])", r"epoch \1 batch \2 "),
    # "[1600/16000]\t[L1: 4.5][VGG: 2.1][Total: 6.6]\t5.2+1.3s" of EDSR and what was made of it: losses
    ("]\t[", r"^(\[\d{1,12}/\d{1,12}\]\t)((?:\[\w{1,20}: [\d.naif]{1,20}\])+)\t.*",
     lambda match: match[1] + re.sub(r"\[(\w+): ", r" \1 loss: ", match[2])),
    # "Train: 0 [ 50/1251 (4%)]" of timm
    ("Train", r"\b(Train|Training): (\d{1,9}) \[\s*(\d{1,12}/\d{1,12})(?= )", r"\1, epoch \2 batch \3 ["),
    # "Losses: [2.6, 2.4, 10.7, 15.3, 0.5], step: 400" of later so-vits-svc, with the names of VITS
    ("osses: [", r"\b[Ll]osses: (\[[^][]{5,300}\]),?(?= steps?: \d)", _with_names_of_vits),
    # "Progress on:train 1.20kit/10.0kit rate:... postfix:loss=2.5" of Levanter
    ("postfix:", r"^.*?Progress on:(?P<what>\w+) (?P<n>\d{1,11}\.?\d{0,11})(?P<unit>[kM]?)it/\S+ .*postfix:",
     _of_levanter),
)
# fmt: on

# Counts in brackets: "Epoch (3/10) Iter (20)", "Patience (3/5)" of early stopping.
_COUNT_IN_BRACKETS = re.compile(
    r"(?i)\b(improve(?:ment|d)|patience|counter|ep(?:och)?|episode|(?:global[ _])?step|iter(?:ation)?"
    r"|batch|it|update) ?\((?=\d{1,12}(?:/\d{1,12})?\))"
)
# A number without a blank before the next name: `tf=0.00lr=0.001`, `idx: 0loss: 0.693`.
_GLUED = re.compile(r"(?<=[:=])(\s?[-+]?\d[\d.]{0,20})(?=[A-Za-z_]{2,40}(?:=|: )\s?[-+\dtnT])")
# One of several numbered metrics of a line: `Stage 0 = 2.5, Stage 1 = 1.5`.
_NUMBERED = re.compile(
    r"(?<![\w.])(?!top \d+ )([A-Za-z]\w{0,30}) (\d{1,3})(?=(?: \w{1,30}){0,2} ?[:=] ?[-+]?[.\dni])"
)
# Names that slashes part, and as many numbers: `Loss (train/val): 0.5/0.6`, `mean/median reward 2.5/2.0`.
_VALUES = rf"({_FLOAT}%?(?: ?/ ?{_FLOAT}%?){{1,3}})(?![\w./%])"
_IN_SLASHES = re.compile(
    r"(?<![\w./])(?:([A-Za-z]\w{0,30}) ?[(\[](\w{1,20}(?:/[A-Za-z]\w{0,20}){1,3})[)\]]"
    rf"|([A-Za-z]\w{{2,20}}(?:/[A-Za-z]\w{{2,20}}){{1,3}}) ([A-Za-z]\w{{0,30}})"
    rf"|((?:[A-Za-z]\w{{0,20}} ){{1,3}}/(?: [A-Za-z]\w{{0,20}}){{1,3}}))[ :=]{{1,3}}{_VALUES}"
)
# A decimal comma: 0,523 and 12,5 and 3,1416, but not 1,000; without a sign before it only 0,523 and 3,1416.
_DECIMAL_COMMA = re.compile(
    r"(?:[:=]\s{0,8}[-+]?(?:0,\d+|\d{1,15},(?:\d\d?|\d{4,}))|[A-Za-z]\s{1,8}-?(?:0,\d{3,}|\d{1,15},\d{4,}))"
    r"(?![\d.]|,\d)"
)
# A phase in square brackets behind a name: `Loss [train]: 0.5`.
_PHASE_IN_BRACKETS = re.compile(rf"(?i)(?<=\w) ?\[({A_TRAINING}|{AN_EVALUATION})\](?=\s?[:=])")


def _each_named(match: re.Match[str]) -> str:
    """``Loss (train/val): 0.5/0.6`` as ``train Loss: 0.5, val Loss: 0.6``; counts (`12/100`) as they are."""
    name, parts, values = match[1] or match[4] or "", match[2] or match[3] or match[5], match[6]
    named = zip(parts.split("/"), values.split("/"), strict=False)
    is_meant = parts.count("/") == values.count("/") and "." in values
    pairs_of = (f"{part.strip()} {name}".strip() + f": {value.strip()}" for part, value in named)
    return ", ".join(pairs_of) if is_meant else match[0]


def reworded(text: str) -> str:
    """The line in pairs of a name and a number; most lines need no change. If a number has a decimal comma
    and none a point, all commas of the line are decimal ones.

    >>> reworded("Epoch 1 - loss: 2,982 - acc: 0,5025")
    'Epoch 1 - loss: 2.982 - acc: 0.5025'
    """
    if "," in text and _DECIMAL_COMMA.search(text) and not re.search(r"\d\.\d", text):
        text = re.sub(r"(?<=\d),(?=\d)", ".", text)
    text = _COUNT_IN_BRACKETS.sub(r"\1: (", text) if "(" in text else text
    text = units_as_names(_GLUED.sub(r"\1 ", text))
    text = _IN_SLASHES.sub(_each_named, text) if "/" in text else text
    text = _PHASE_IN_BRACKETS.sub(r" (\1)", text) if "]" in text else text
    numbered = [name for name, _ in dict.fromkeys(_NUMBERED.findall(text))]
    again = (name for name in dict.fromkeys(numbered) if numbered.count(name) > 1)
    for name in [name for name in again if not counts(Pair(name, 0.0))]:
        text = re.sub(rf"(?<![\w.]){name} (?=\d{{1,3}}[ :=])", f"{name}_", text)
    for literal, pattern, new in _WORDINGS:
        if literal in text:
            text = compiled(pattern).sub(new, text, count=1)
    return text


_NUMBER = (
    r"[+-]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?|nan\b|inf(?:inity)?\b)"
)
_UNIT = (
    r"%|ms|us|µs|s|sec|secs|min|h|s/it|[kMG]?(?:i?B|tok|tokens)|[a-z]{1,20}/s(?:ec(?:ond)?)?|x"
    r"|st|nd|rd|th|f0"  # the last is Julia's: 0.5f0
)
# A spread, a change or a mean, right behind a number: `0.5(±0.1)`, `0.5+-0.1`, `0.5+0.125` of
# XGBoost's folds, `0.5(avg 0.4)`.
_SPREAD = (
    r"(?:\((?:(?:avg|mean|best|min|max|ema|std)[:=\ ]{1,2})?[-+±/\d.,%\ ]{1,40}[,)]"
    r"|(?:\+/?-|±)\.?\d|\+\d+\.\d{3})"
)
_NOTE = r"\([\w/%. -]{1,30}\)"  # below: a name may begin with a number, as in `16_l2=0.2`
_LETTERS = r"(?:\d{1,4}_(?=\w+\s?[:=]))?[A-Za-z_](?:[\w./@-]|'s\b|\+(?=[A-Za-z])|\^(?=\d)){0,60}+(?<=\w)"
_WORD = rf"(?:top[ -]\d{{1,3}}(?=[ ][A-Za-z])|{_LETTERS}(?:{_NOTE})?|{_NOTE})"
_PAIR = re.compile(
    rf"""(?<![\w./\\])(?:
      (?P<name> (?!\() {_WORD} (?:[ ](?:/[ ])?{_WORD}){{0,4}}? )
      (?:["']?\s*(?:=>|[:=])\s* | [ ]{{0,2}}\[\s{{0,8}}(?=\d) | [ ]?(?=\d) | [ ]+\|[ ]+(?=[-+.\d])
        | (?:(?<=epoch)|(?<=ation)|(?<=step))[ ]\#(?=\d) | \s+(?=[-+.\d]|(?:nan|inf)\b) )
    )? (?:["'] | [(\[][ ]{{0,8}} )?
    (?P<value> {_NUMBER} ) (?:[-+]\d[\d.]*(?:e[-+]?\d+)?j\b)? (?-i:(?P<unit>[kKMB])(?=[\s,;|)]|$))?
    (?: (?:\s?/\s{{0,8}}|\ (?:out\ )?of\ )(?P<of>\d{{1,18}}) )?
    (?: [ ]?(?:(?P<duration>(?-i:ms|us|µs|s|secs?|min|h)(?![\w/]))|{_UNIT})
      (?!\||(?<=/s)\ \d|(?<=sec)\ \d|(?<=second)\ \d|(?<=tok)\ \d) )?
    (?= [\s,;|)\]}}"'>] | [=*-]{{3}} | == | :(?!\d) | $ | \.{{1,3}}(?:\s|$) | \({_NUMBER}\) | {_SPREAD} )
    (?! \s+days?\b | \s\d\d:\d\d)""",
    re.VERBOSE | re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"\[\s{0,8}(\d{1,15})(?:\]:?\s| \| )")  # of gradient boosting, gpt-2-simple
# A participant of federated learning: each has curves of its own.
_OF_MEMBER = r"(?i:client|party|site|peer|silo|agent)[ _#-]{0,2}\d{1,6}"
_MEMBER = re.compile(rf"\s{{0,8}}(\[)?(?P<name>{_OF_MEMBER})(?(1)\]|(?=\s?[:|-]\s))[\s:|-]*")
_BY_MEMBER = re.compile(rf"^{_OF_MEMBER}/")
_GROUP = re.compile(r"(?<![\w.])([A-Za-z_]\w{0,60})\[(?=[A-Za-z_]\w{0,60}=)([^\[\]]{0,400})\]")
# "Losses {'ner': 12.5, 'parser': 3.1}" of spaCy: parts of a loss, whose names do not say so.
_PARTS_OF_LOSS = re.compile(r"\b((?:[A-Za-z]+ )?[Ll]oss(?:es)?)\s?[:=]?\s?\{([^{}]{5,900})\}")
# "{'loss': [0.5, 0.4, ...], ...}": a history, of which each line above has a value.
_HISTORY = re.compile(r"""["']\w{1,60}["']: \[(?:[-+.\deEnaif]+, ){3}[^\]]*\]?""")
_PART_NAME = re.compile(
    r"""["']([A-Za-z_][\w ./-]{0,60})["']\s?:|(?:^|(?<=, ))([A-Za-z_]\w{0,60}) (?=[-\d])"""
)
_PHASE = re.compile(rf"(?i)(?<![\w/])({A_TRAINING}|{AN_EVALUATION})(?![\w/])")
_A_PHASE = re.compile(rf"(?i)(?<![a-z])(?:{'|'.join(sorted(OF_PHASES))})(?![a-z])")
_COPULA = {"is", "was", "are", "equals"}  # "loss is 2.5" names a loss, but `IS` alone the Inception Score
_JOINING = re.compile(r"(?i)^(?:(?:with|and|its|the) )+(?=[a-z])")
_HEADING = re.compile(r"(?i)\b(?:metrics|results|stats) (?=[A-Za-z])")  # of the names in a line
# A number behind one of these words belongs to no name.
_PREPOSITIONS = word_set("""
    a about after all and at best by every for from in of on only or over since than the to took until with
""")
# The time left, a version, a process, a device.
_NO_MEASURE = {"eta", "ert", "remaining", "v_num", "pid", "rank", "cuda"}
# A source file or, as in "HTTP/1.1 200 OK", a version: the number behind it measures nothing.
_NO_NAME = re.compile(r"\.(?:py|pyx|cpp|cc|c|cu|cuh|h|hpp|go|rs|java|scala)(?: line)?$|/\d+\.\d+$")
_BEST = re.compile(r"(?i)best(?=\s?[:=])")  # "Best = 6.0" is a name, "at best 6.0" is none
STATEMENT = re.compile(r"(?i)(?:\s\s|[#,;] )return (?:\w{0,20}\[|-?\d+(?!\.?\d)|-?[\d.]+ +(?:#|if ))")  # code


@lru_cache(maxsize=4096)
def of_anyone(name: str) -> str:
    """The name of a metric without that of the participant whose metric it is."""
    return _BY_MEMBER.sub("", name)


def pairs(text: str) -> list[Pair]:
    """All pairs of a line, in order."""
    if member := _MEMBER.match(text):
        own = pairs(as_read(text)[member.end() :])
        if own or member[1]:  # else `Client 3: 0.5`, which has no other name
            return [p if is_counter(p.name) else p._replace(name=f"{member['name']}/{p.name}") for p in own]
    text = _in_pairs(reworded(as_read(text)))
    list_number = _LIST_NUMBER.match(text)
    in_line = [Pair(PROGRESS, float(list_number[1]))] if list_number else []
    unit_start = -1  # of the word behind a number without a name, which is the unit of that number
    score_end = -1  # of a score: "acc: 98.5% (197/200)" says it again
    first_ends = dict[str, int]()  # of each name in the line
    for match in _PAIR.finditer(text):
        words, start = match["name"] or "", match.start()
        if words.rpartition(" ")[2].lower() in _NO_MEASURE:
            continue
        name = words if words and _BEST.match(text, match.start("name")) else _name(words)
        name = _of_measure(name, in_line[-1].name) if in_line else name
        if words and (not name or start == unit_start):
            sign = text[match.end("name") : match.start("value")]
            unit_start = -1 if ":" in sign or "=" in sign else match.end() + 1
            continue
        if (pair := _pair(name, match)) is None:
            continue
        is_again = not pair.name and text[start] == "(" and score_end >= 0
        if not is_again or text[score_end:start].strip():
            if pair.name in first_ends:
                since = text[first_ends[pair.name] : match.start("value")]
                pair = pair._replace(name=_of_phase(pair.name, since))
            first_ends.setdefault(pair.name, match.end())
            in_line.append(pair if pair.name else pair._replace(name=PROGRESS))
        score_end = match.end() if role_of(pair.name) in MEASURES else -1
    is_lone = len(in_line) == 1  # "[3] Training begins" is an item of a list
    return [] if is_lone and (list_number or STATEMENT.search(text)) else in_line


def _pair(name: str, match: re.Match[str]) -> Pair | None:
    """The number that was matched, under its name if it has one; None if it measures or counts nothing."""
    text, unit = match["value"].replace(",", ""), match["unit"]
    value = number(text)
    of_memory = unit and "mem" in name.lower()
    if value is None or of_memory or not (name or match["of"]):
        return None
    if match["duration"] and not match["of"] and _is_no_time(name, match.string[match.end("value")]):
        name = f"{name} time"  # `Step: 83ms`, which counts nothing; `total: 54.5ms`, which is no loss
    of = int(match["of"] or 0)
    if not unit:
        return Pair(name, value, of)
    power, n_decimals = POWERS_OF_TEN[unit], len(text.partition(".")[2])
    in_full = number(f"{text}e{power}")  # 67.1 * 10**6 is a little less than 67.1e6
    unit_of_last = 10 ** max(power - n_decimals, 0)
    return Pair(name, value * 10**power if in_full is None else in_full, of, unit_of_last)


def _in_pairs(text: str) -> str:
    """The line without what is around numbers (`tensor(2.5)`) and around pairs (`tot_loss[...]`, `Losses
    {...}`), and without histories, of which each line above has a value."""
    text = WRAPPED.sub(r"\1", text) if "(" in text else text
    text = _GROUP.sub(_ungrouped, text) if "[" in text and "=" in text else text
    return _PARTS_OF_LOSS.sub(_named_as_loss, _HISTORY.sub("", text)) if "{" in text else text


def _of_measure(name: str, before: str) -> str:
    """A bare phase right behind the measure of another phase, with the name of that measure: ``val Loss`` in
    `train Loss 0.5 val 0.6`."""
    if not _A_PHASE.fullmatch(name) or not is_judged(before) or _A_PHASE.fullmatch(before):
        return name
    return _A_PHASE.sub(name, before, count=1) if _A_PHASE.search(before) else name


def _of_phase(name: str, since: str) -> str:
    """A name that stood in the line before, with the phase that is named ``since``: both have a value, as in
    `Train: loss=0.5, acc=0.7; Val: loss=0.6, acc=0.6`."""
    phases = _PHASE.findall(since) if name and rank_of_name(name) is None and not names_epoch(name) else []
    return f"{phases[-1].lower()}/{name}" if phases else name


@lru_cache(maxsize=4096)
def _name(words: str) -> str:
    """The name without the verb that joins it to its number, and what joins it to the words before; "" where
    the words name nothing."""
    words = _JOINING.sub("", _HEADING.sub("", words))
    while (last := words.rpartition(" ")[2].lower()) in _COPULA and words != "IS":
        words = words[: -len(last)].strip()
    if last in _PREPOSITIONS or _NO_NAME.search(words):
        return ""
    return words


def _is_no_time(name: str, after: str) -> bool:
    """Whether what has a duration is named like a counter or, with the unit right ``after`` the number (which
    that of `loss 2.5 min 2.1` is not), like what trainings are judged by, as a bare total is."""
    if name.lower() == "cost":  # "cost: 229 sec"
        return True
    return rank_of_name(name) is not None or (after != " " and (name == "total" or is_judged(name)))


def _named_as_loss(match: re.Match[str]) -> str:
    """``Losses {'ner': 12.5}`` and ``Losses {ner 12.5}`` as ``Losses/ner: 12.5``."""
    return _PART_NAME.sub(lambda name: f"{match[1].replace(' ', '_')}/{name[1] or name[2]}:", match[2])


def _ungrouped(match: re.Match[str]) -> str:
    """``tot_loss[loss=0.7, over 9 frames]`` as ``tot_loss=0.7, over 9 frames``: pairs under a common name."""
    group, inner = match[1], match[2]
    name, _, value = inner.partition("=")
    return f"{group if group.endswith(name) else f'{group}/{name}'}={value} "
