"""Stage 4 for words: what a line says beside its numbers, and which events it tells.

An evaluation ("val loss: ..."), a checkpoint that is saved or loaded, a launch ("Training started 2024-..."),
a resume ("Resuming training from step 500"), or one of several trainings ("Fold 3 of 5").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chronicle.readers.console.counters import PROGRESS, Pair, best_beside_loss, counts, is_judged, last_word
from chronicle.readers.console.line_shapes import Words
from chronicle.readers.console.prefixes import words_start

SAVED, LOADED, RESUMED = "saved", "loaded", "resumed"  # of a checkpoint
LAUNCH = "launch"  # a line that tells when a training began
REPEATED_HEADING = "repeated heading"  # a heading of the log's beginning that comes again
TRIAL = "trial"  # the heading of one of several trainings
BEGINNINGS = (LAUNCH, REPEATED_HEADING)

_EVALUATION = re.compile(
    r"(?<![\w/.\\-])(?:(val|valid|validation|eval|evaluation|test|dev)|(?P<ing>valid|evalu|test)(?:at)?ing)(?![\w/\\-]|\.\w)",
    re.IGNORECASE,
)
OF_TRAINING = re.compile(r"(?<![\w/.\\-])train(?:ing)?(?![\w/.\\-])", re.IGNORECASE)
_CHECKPOINT = re.compile(
    r"[^\w\n]{0,8}(?:(?:[a-z]+ ){0,3}(?:checkpoint|ckpt|snapshot|model|weights|state)(?: \w+){0,2}? )?"
    r"(?:(?P<saved>saved|saving|written|writing|stored|storing|dumped)"
    r"|(?P<loaded>loaded|loading|restored|restoring|resumed|resuming))\b"
    r"(?=.{0,80}(?:\b|_)(?:checkpoint|ckpt|snapshot|model|weights|state|step|epoch|iter))",
    re.IGNORECASE,
)
# `=> Resuming training from step 500`. What resumes without a place was only paused, as for an evaluation.
_RESUMED = re.compile(r"[^\w\n]{0,8}resum(?:ed|ing)\b(?: \w+){0,3}? (?:from|at)\b(?! \d\d?:)", re.IGNORECASE)
# `= Training Loss (Fri Jun  7 09:31:50 2019) =`: the date among its words is when the training began.
_LAUNCH = re.compile(
    r"[^\w\n]{0,40}(?:(?:start\w*|begin\w*|new|of|the) ){0,3}"
    r"(?:train|(?:fine)?-?tun|run|experiment|job)(?:ing)?\b"
    r"(?!.{0,60}\b(?:end|finish|complet|stop|done|took))[^\d\n]{0,60}"
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4}|\d{1,2})(?:[ ,T]{1,2}\d\d:\d\d:\d\d|[_-]\d\d-\d\d-\d\d)",
    re.IGNORECASE,
)
HEADING = re.compile(
    r"(?i)(?:\W{0,3}\d{1,3}\W{1,3})?(?:\w+ ){0,3}"
    r"(?:start|begin|began|train|runn|launch|execut)\w*\b(?! (?:epoch|step|phase))"
)
_TRIALS = frozenset(("fold", "run", "seed", "trial", "experiment", "repeat", "repetition", "replicate"))
# A heading, `==== FOLD 0 - val: c3`, `[Run 1/50] begins`, or what stands before the words of each of its
# lines.
_TRIAL = re.compile(
    r"[^\w\n]{0,40}(?:(?:start|begin|train|runn|process|cross|cv|k|outer|current|new|random|now|using|with|for)"
    rf"\w{{0,9}}[^\w\n]{{1,3}}){{0,3}}(?P<kind>{'|'.join(sorted(_TRIALS))})(?:[ _]?(?:no|number|id|index))?"
    r"[\W_]{0,4}?(?P<number>\d{1,10})(?![.,]?\d|\w)(?P<rest>.*)",
    re.IGNORECASE,
)
_IS_OVER = re.compile(r"(?i)\b(?:results?|best|scores?|finish|complet|done|end|took|mean|average|fail)")
_OF_ALL = re.compile(r"\s?(?:/|of)\s?\d")
_WITH_SETTINGS = re.compile(
    r"(?i)[^\w\n]{0,4}(?:with |the |its ){0,2}(?:hyper[ _-]?)?(?:param|config|setting|arg)"
)
_A_SETTING = re.compile(r"\W*(?:\w+[ _])?\w+\s*[:=]\s*\d+\W*")  # `seed: 42`
_VERBS = {"evalu": "eval"}


def words_of(named: Sequence[Pair], text: str) -> Words:
    """What a line with these pairs says beside them."""
    is_bar = any(pair.name == PROGRESS for pair in named)
    checkpoint = None if is_bar else _CHECKPOINT.match(text)
    event = (checkpoint.lastgroup or "") if checkpoint else ""
    if not checkpoint and not named and _LAUNCH.match(text):
        event = LAUNCH
    if "esum" in text and not is_bar and _RESUMED.match(text):
        event = RESUMED
    trial, is_heading = _trial(named, text)
    return Words(_evaluation_of(named, text), event or TRIAL * is_heading, trial)


def _evaluation_of(named: Sequence[Pair], text: str) -> str:
    """The word of the evaluation of which the first metric of a line is said; else ""."""
    metric = next((pair.name for pair in named if not counts(pair)), "")
    places = (text.find(name) for name in (metric, metric.rpartition("/")[2]) if name)
    before = next((at for at in places if at >= 0), -1)  # a word behind a metric is said of another one
    evaluation = _evaluation(text[:before] if before > 0 else text) if named else ""
    return evaluation or ("val" if best_beside_loss(tuple(pair.name for pair in named)) else "")


def _evaluation(text: str) -> str:
    """The word of an evaluation in a text that does not speak of a training; else ""."""
    match = _EVALUATION.search(text)
    if not match or OF_TRAINING.search(text):
        return ""
    verb = (match["ing"] or "").lower()
    return _VERBS.get(verb, verb) or match[0].lower()


def _trial(named: Sequence[Pair], text: str) -> tuple[str, bool]:
    """Which of several trainings a line names, ``fold 3``, or "", and whether it is their heading."""
    if not any(map(text.lower().__contains__, _TRIALS)):
        return "", False
    match = _TRIAL.match(text)
    if match is None:  # or a number among others: `Epoch: 5 Fold: 3 Loss: 0.33`
        own = next((pair for pair in named if pair.name.lower() in _TRIALS), None)
        return (f"{own.name.lower()} {own.value:.0f}" if own and any(map(counts, named)) else "", False)
    kind, number, rest = match["kind"].lower(), int(match["number"]), match["rest"]
    others = [pair for pair in named if last_word(pair.name) != kind]
    if _OF_ALL.match(rest):  # `Fold 1/5`, which is also read as a bar
        others = [pair for pair in others if not (pair.of and pair.value == number)]
    if _WITH_SETTINGS.match(rest):
        return f"{kind} {number}", True
    if any(counts(pair) or pair.name == PROGRESS for pair in others):  # it stands before each of its lines
        return f"{kind} {number}", False
    is_over = _IS_OVER.search(rest) or any(is_judged(pair.name) for pair in others)
    is_setting = kind != "fold" and _A_SETTING.fullmatch(text)
    return ("", False) if is_over or is_setting else (f"{kind} {number}", True)


def is_single_pair(named: Sequence[Pair], text: str) -> bool:
    """Whether a line is one pair and nothing else, which then is part of a block of such lines."""
    alone = len(named) == 1 and text.lstrip(_BULLETS).startswith(named[0].name)
    return alone and not (_CHECKPOINT.match(text) or _RESUMED.match(text) or _trial(named, text)[1])


_BULLETS = " \t|>*#•▶:-{'\""


def is_resumed(line: str) -> bool:
    """Whether a line says from where a training is resumed."""
    return "esum" in line and _RESUMED.match(line[words_start(line)[1] :].strip()) is not None
