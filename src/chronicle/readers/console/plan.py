"""Decides whether a log of unknown format is that of a training, and what counts its steps.

It is the log of a training if records of one shape, with a metric that is known by its name, stand at steps
that grow. What counts is the best step name (see `aliases.STEP_NAMES`), else a batch of an epoch, else
``12/100`` without a name. If nothing counts but a loss recurs, rows are counted.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice, pairwise
from operator import itemgetter

import numpy as np

from chronicle.metrics.aliases import in_english
from chronicle.metrics.arithmetic import any_numbers
from chronicle.metrics.names import LOSSES, are_sizes, is_bound, is_whole_reward, name_words, role_of
from chronicle.metrics.roles import SCORES
from chronicle.metrics.values import gathered
from chronicle.model import Role
from chronicle.readers.console import pairs
from chronicle.readers.console.chunks import (
    Line,
    PossibleRecord,
    as_read,
    may_be_log,
    sample,
    text_of,
    with_zeros,
    words_start,
)
from chronicle.readers.console.counting import LABEL, Counting, rank_of
from chronicle.readers.console.line_records import BOX, Gatherer, Record, beside_counts
from chronicle.readers.console.line_shapes import Plan, Shapes, is_round
from chronicle.readers.console.pairs import PROGRESS, Pair, is_judged, is_known, key_of
from chronicle.readers.console.text_tables import header, pairs_in
from chronicle.readers.items import FEWEST_ITEMS, names_an_evaluation
from chronicle.readers.step_axis import Column, axis_of_rank, goes_up_and_down, is_whole, last_word
from chronicle.readers.text import Head

MOST_LINES = 6000  # that are read from either end
_FEW_LINES = 2000  # that are read first, and show enough of most logs
_FEWEST_LINES = 8  # of one shape
_FEWEST_NAMED = 4  # the same, if each has a loss, or its step and its epoch
_FEWEST_EPOCHS = 3  # the same, if each has a loss, and a counter that has a name is beside it; of epochs
_KINDS_IN_AN_EPOCH = 2  # at most, of a training that has only begun: its own line, and that of an evaluation
_FEWEST_POINTS = 3  # of a counter
_FEWEST_STEPS = 4  # different ones, by which it is known what counts
_FEWEST_RESTARTS = 2  # of a counter, by which an outer one is recognised
_RECORDS_A_RESTART = 20  # at least, on average, if samples or tokens restart
_RECORDS_A_STAGE = 8  # on average, at least
_MOST_SHAPES = 500  # of lines that are looked at, the most frequent first
# The result of a trial of a search: "Trial 5 finished with value: 0.2 and parameters: {"
_RESULT = re.compile(r"(?i)[^\w\n]{0,8}trial\b.{0,200}\bparam(?:eter)?s\b.{0,8}\{")
# "Starting training for 45000 steps"
_STEPS_OF_ALL = re.compile(r"(?i)\btrain(?:ing)?\b[^\n]{0,40}?\bfor (\d{1,18}) (?:step|iteration|update)s\b")
_OF_SOLVERS = {"objective", "cost", "error", "gap"}  # losses that other programs print, too
# What a training mentions, and hardly any log of another program that counts and measures.
_OF_TRAININGS = re.compile(  # the last alternative is a round of gradient boosting: `[0] eval-auc:0.78`
    r"(?i)(?<![a-z])(?:(?:pre)?train|epoch|episod|generation|gen\b|population|fitness|reward|agent|optimi[sz]er"
    r"|adam|sgd|neural|network|layer|distil|teacher|likelihood|logprob|learning.rate|qubit|ansatz|cost.after"
    r")|\[\d{1,9}\]\s{1,8}\w{1,40}(?:-|'s )(?:auc\w{0,8}|ndcg|map|pre|acc(?:uracy)?|f1)(?:@\d{1,4}-?)?: ?\d"
)


@lru_cache(maxsize=256)
@any_numbers
def plan_of(head: Head) -> Plan:
    """How a log is to be read. If its first lines (an environment, a configuration, a list of layers) do not
    show it, those at the end of the sample are read. Raises OSError."""
    if not may_be_log(head):
        return Plan()
    whole, _, _ = sample(head).rpartition(b"\n")  # the last line may be cut
    lines = whole.split(b"\n")
    if not _may_train(lines):
        return Plan()
    texts = (head.path.name, whole.decode("utf-8", "replace"))
    mentions_training = any(map(_OF_TRAININGS.search, chain(texts, map(in_english, texts))))
    plans = list[tuple[bool, int, Plan]]()
    for window in _windows(lines):
        plan = _plan_of(window, mentions_training, shapes_of(head))
        if plan.is_log and not plan.by_row:
            return replace(plan, ends=frozenset(int(end) for end in _STEPS_OF_ALL.findall(texts[1])))
        plans.append((plan.is_log, len(window), plan))
    # A configuration that is printed again may look like rows of losses: more lines say more.
    return max(plans, key=itemgetter(0, 1))[2]


@lru_cache(maxsize=1)
def shapes_of(head: Head) -> Shapes:
    """The shapes of lines that were learned when a plan was made, so that reading can use them."""
    return Gatherer().shapes


def _windows(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The lines that may be records: a few, then more of them, then those at the end."""
    possible = filter(PossibleRecord.search, lines)
    few = list(islice(possible, min(_FEW_LINES, MOST_LINES)))
    yield few
    if more := list(islice(possible, MOST_LINES - len(few))):
        yield few + more
    if len(few) + len(more) == MOST_LINES:
        yield list(islice(filter(PossibleRecord.search, lines[::-1]), MOST_LINES))[::-1]


def _may_train(lines: Sequence[bytes]) -> bool:
    shapes = with_zeros(b"\n".join(lines)).split(b"\n")
    first = dict(zip(reversed(shapes), reversed(lines), strict=True))
    frequent = (shape for shape, _ in Counter(shapes).most_common(_MOST_SHAPES))
    texts = (text_of(first[shape]) for shape in frequent if PossibleRecord.search(shape))
    return any(_may_be_of_training(as_read(text[words_start(text)[1] :].strip())) for text in texts)


@lru_cache(maxsize=1024)  # files of one folder have many lines in common
def _may_be_of_training(text: str) -> bool:
    """Whether a line has a known name, a counter or a part of a table."""
    text = in_english(text)
    is_named = "loss" in text.lower() or header(text) or BOX.fullmatch(text)
    return bool(is_named) or any(is_judged(p.name) or pairs.counts(p) for p in pairs_in(text))


def _plan_of(raw_lines: Sequence[bytes], mentions_training: bool, shapes: Shapes) -> Plan:
    """How the log that these lines are of is to be read; a plan without `is_log` if it is of no training."""
    lines = (Line(number, text_of(line)) for number, line in enumerate(raw_lines, 1))
    records = [record for record in Gatherer(shapes).records(lines) if not record.form.event]
    training = [record for record in records if record.is_training]
    phases = any(not record.evaluation for record in training)
    counters, stages = _counters(records)
    outer = _outer_counter(records, [*counters])
    in_rounds = {key_of(record.epoch) for record in training if record.epoch and outer}
    keys = frozenset(in_rounds or {*counters} - {outer.lower()})
    plan = Plan(
        is_log=True,
        counters=keys,
        phases=phases,
        outer=outer,
        twofold=frozenset(key for key, occurrences in counters.items() if _is_twofold(occurrences)),
        stages=frozenset(stages),
        beside_metrics=_counters_beside_metrics(training),
        moving=_moving_shapes(records),
        beside=beside_counts(records),
        alike=_alike(records, [*counters]),
    )
    without_bars = replace(plan, counters=frozenset(key for key in keys if f"{PROGRESS}/" not in key))
    for tried in (plan, without_bars) if without_bars.counters != keys else (plan,):
        if _have_growing_steps(records, Counting(tried), mentions_training):
            return tried
    named = [key for key in counters if f"{PROGRESS}/" not in key]  # bars may be those of evaluations
    if named or len({record.epoch.value for record in records if record.epoch}) >= _FEWEST_POINTS:
        return Plan()
    return _plan_by_rows(records, mentions_training, phases=phases)


def _counters_beside_metrics(training: Iterable[Record]) -> frozenset[str]:
    """The keys of what counts in lines that also have a metric by which a training is judged."""
    measured = (record for record in training if any(map(is_judged, record.shape)))
    return frozenset(key_of(pair) for record in measured for pair in record.counters)


def _moving_shapes(records: Iterable[Record]) -> frozenset[tuple[str, ...]]:
    """The names of lines that come again with several different counts."""
    counted = gathered((tuple(record.shape), pair.value) for record in records for pair in record.counters)
    return frozenset(shape for shape, values in counted.items() if len({*values}) >= _FEWEST_STEPS)


def _plan_by_rows(records: Sequence[Record], mentions_training: bool, *, phases: bool) -> Plan:
    """How a log is to be read in which no name counts: by rows, or as results of trials or trainings."""
    training = [record for record in records if record.is_training]
    n_results = sum(bool(_RESULT.match(record.words)) for record in records)
    if n_results >= _FEWEST_LINES and 2 * n_results > len(records):
        return Plan(True, by_row=True, of_items=True)
    row_counter = _row_counter(training) if len(training) >= _FEWEST_LINES else ""
    is_log = _loss_recurs(training, mentions_training, bool(row_counter))
    judged = {name for record in training for name in record.shape if is_judged(name)}
    of_items = is_log and all("final" in name_words(name) for name in judged)  # a result each of trainings
    of_items |= is_log and _are_of_models(training)
    return Plan(is_log, by_row=True, row_counter=row_counter, phases=phases, of_items=of_items)


def _are_of_models(records: Sequence[Record]) -> bool:
    """Whether each record has another number of parameters: it is the result of a model of that size."""
    by_name = gathered(pair for record in records for pair in zip(record.shape, record.values, strict=True))
    enough = max(len(records), FEWEST_ITEMS)
    return any(len(values) == enough and are_sizes(name, values) for name, values in by_name.items())


def _row_counter(training: Sequence[Record]) -> str:
    """What only grows where no name counts: the whole numbers under the first or last name of most records,
    or those in front of all lines, as of a process (`100: loss=2.5`); else ""."""
    shape, n_records = Counter(record.shape for record in training).most_common(1)[0]
    for place in (0, -1) if n_records >= _FEWEST_LINES and len(shape) > 1 else ():
        values = np.array([record.values[place] for record in training if record.shape == shape])
        if is_whole(values).all() and (np.diff(values) > 0).all() and not is_known(shape[place]):
            return shape[place]
    labels = [record.line.who for record in training]
    in_front = all(map(str.isdecimal, labels)) and (np.diff(np.array(labels, float)) > 0).all()
    return LABEL if in_front else ""


@dataclass
class _Occurrences:
    """All values of a name that may count, with the epoch of each."""

    rank: int
    pairs: list[Pair] = field(default_factory=list)
    epochs: list[float] = field(default_factory=list)
    n_training: int = 0  # of them in records of the training

    @property
    def n_values(self) -> int:
        """How many different values there are: the answers of a batch, 0 to 3 each time, are few."""
        return len({pair.value for pair in self.pairs})


def _counters(records: Sequence[Record]) -> tuple[dict[str, list[Pair]], list[str]]:
    """What counts in a log, the best first, with all its values, and which of these count another stage. A
    better name is passed over if it occurs, in training records, half as often as another or epochs."""
    by_key, n_named = dict[str, _Occurrences](), Counter[str]()
    for record in records:
        epoch = record.epoch.value // 1 if record.epoch else 0.0
        ranked = ((name, record.ends.get(at, 0)) for _, at, name in record.form.ranked)
        n_named.update(key_of(Pair(name, 0.0, end)) for name, end in ranked)
        for pair in dict.fromkeys(record.counters):
            own = by_key.setdefault(key_of(pair), _Occurrences(rank_of(pair)))
            own.pairs.append(pair)
            own.epochs.append(epoch)
            own.n_training += record.is_training
    known = _known_counters(records, by_key, n_named)
    in_training = any(by_key[key].n_training for key in known)
    most = max((by_key[k].n_training if in_training else len(by_key[k].pairs) for k in known), default=0)
    best = next((i for i, key in enumerate(known) if 2 * len(by_key[key].pairs) >= most), 0)
    passed_over = ((key, by_key[key]) for key in known[:best])
    may_be = (key for key, own in passed_over if own.n_training and own.n_values >= _RECORDS_A_STAGE)
    stages = [key for key in may_be if _is_stage(key, {*known[best:]}, records)]
    return {key: by_key[key].pairs for key in (*stages, *known[best:])}, stages


def _known_counters(
    records: Sequence[Record], by_key: Mapping[str, _Occurrences], n_named: Mapping[str, int]
) -> list[str]:
    """The keys that count, by their rank; those of evaluations only if nothing else counts. ``n_named`` says
    how often each name occurs, also with a value that is the share of an epoch (`progress=0.13`)."""
    bars = _bars_of_training(records)
    only_epochs = [r.epoch for r in records if r.epoch and r.is_training and not r.counters]
    n_epoch_changes = _n_changes(only_epochs)

    def may_count(key: str, own: _Occurrences) -> bool:
        if 2 * len(own.pairs) < n_named[key] or not _counts(own.rank, own.pairs, own.epochs):
            return False
        if f"{PROGRESS}/" in key and (bars or only_epochs) and not bars.get(key):
            return False
        varies = own.n_training > 0 and own.n_values >= _FEWEST_STEPS
        return varies or 2 * _n_changes(own.pairs) >= n_epoch_changes

    by_rank = sorted(by_key.items(), key=lambda item: item[1].rank)
    known = [key for key, own in by_rank if may_count(key, own)]
    of_training = [key for key in known if not names_an_evaluation(key)]
    return of_training if of_training or any(record.epoch for record in records) else known


def _counts(rank: int, occurrences: Sequence[Pair], epochs: Sequence[float]) -> bool:
    """Whether this counts: several different values that rise more often than they fall, except where an
    epoch or episode begins. Samples and tokens that restart say of how many something is the mean."""
    values = np.array([pair.value for pair in occurrences])
    if len(values) < _FEWEST_POINTS or (np.ptp(values) == 0 and not _is_twofold(occurrences)):
        return False
    n_falls = np.count_nonzero(np.diff(values) < 0)
    n_rises = np.count_nonzero((np.diff(values) > 0) & (np.diff(epochs) == 0))
    if occurrences[0].name.lower().endswith("s"):  # may be an amount: the steps of an episode
        rows = np.arange(len(values))
        if goes_up_and_down(Column(values, rows), Column(np.array(epochs), rows)):
            return False
    if axis_of_rank(rank) != "step":
        return bool(_RECORDS_A_RESTART * n_falls <= len(values))
    return bool(n_falls <= 2 * n_rises + 1) or _is_twofold(occurrences)


def _n_changes(occurrences: Iterable[Pair]) -> int:
    """How often a counter moves on: the `Progress: 1/1` of each epoch does not."""
    return sum(before.value != later.value for before, later in pairwise(occurrences))


def _alike(records: Sequence[Record], counters: Sequence[str]) -> dict[str, str]:
    """Counters of other lines that repeat the count of the best one, with its name: what they say lies
    between two of its counts, or begins again with the next one (`Step 250 | …` above `iter 250: …`)."""
    best, before = "", -math.inf
    between, waiting = dict[str, list[bool]](), list[Pair]()
    for record in records:
        own = {key_of(pair): pair for pair in record.counters if pair.name != PROGRESS}
        if (counted := own.get(next(iter(counters), ""))) is None:
            waiting += (pair for key, pair in own.items() if key not in counters)
            continue
        best, count = counted.name, counted.value
        for pair in waiting:
            between.setdefault(key_of(pair), []).append(pair.value == count or before <= pair.value <= count)
        before, waiting = count, []
    enough = (key for key, fits in between.items() if len(fits) >= _FEWEST_STEPS and all(fits))
    return dict.fromkeys(enough, best)


def _outer_counter(records: Sequence[Record], counters: Sequence[str]) -> str:
    """The name whose whole numbers rise exactly where the best counter restarts, in lines that name no epoch:
    a cycle, a round or a stage, whatever it is called. Where epochs alone count, a round that changes where
    they restart, as they do in each of federated learning. "" if there is none."""
    has_epochs = any(record.epoch for record in records)
    may_have_outer = all(map(is_round, counters)) if has_epochs else bool(counters)
    if not may_have_outer:
        return ""
    inner, others = list[float](), dict[str, list[float]]()
    for record in records:
        count = next((pair.value for pair in record.counters if key_of(pair) in counters[:1]), None)
        if has_epochs:
            count = record.epoch.value if record.epoch else None
        if count is not None:
            inner.append(count)
            for name, value in zip(record.shape, record.values, strict=True):
                others.setdefault(name, []).append(value)
    moves = np.diff(inner)
    # Where epochs are counted, each line must name another one than the line before.
    if np.count_nonzero(moves < 0) < _FEWEST_RESTARTS or (has_epochs and (moves == 0).any()):
        return ""
    complete = (name for name, values in others.items() if len(values) == len(inner) and not is_known(name))
    may_be = (name for name in complete if is_round(name) or not has_epochs)
    return next((n for n in may_be if _counts_restarts(others[n], inner, all_of_them=not has_epochs)), "")


def _counts_restarts(values: Sequence[float], inner: Sequence[float], *, all_of_them: bool) -> bool:
    """Whether whole numbers change where inner counts restart and nowhere else, and rise there: at all
    restarts, or at most of them, as they restart themselves in another launch."""
    restarts, steps = np.diff(inner) < 0, np.diff(values)
    n_rises, n_restarts = np.count_nonzero(steps[restarts] > 0), np.count_nonzero(restarts)
    are_enough = n_rises == n_restarts if all_of_them else 2 * n_rises > n_restarts
    return bool(is_whole(np.array(values)).all() and are_enough and (steps[~restarts] == 0).all())


def _is_twofold(occurrences: Sequence[Pair]) -> bool:
    """Whether a counter gives an epoch, and the batch in it is what it counts up to (WeNet): that grows."""
    n_ends = len({pair.of for pair in occurrences})
    is_bar = occurrences[0].name == PROGRESS
    return not is_bar and n_ends > max(_FEWEST_STEPS, len({pair.value for pair in occurrences}))


@dataclass
class _Bar:
    """What a look at a log shows of a progress bar."""

    places: set[float] = field(default_factory=set)  # all its counts
    of_training: bool = False  # whether lines beside it or after it say how a training goes
    of_search: bool = False  # (`Best trial: 3`), which counts trainings
    names_epoch: bool = False
    n_moved: int = 0  # lines of the training since the last of which it moved
    n_still: int = 0  # lines of the training since the last of which it stood still, or was full


def _bars_of_training(records: Iterable[Record]) -> dict[str, bool]:
    """The bars with lines of a training beside or behind them, and whether each counts its steps: some stand
    still while the training goes on, or count its epochs."""
    bars, latest = dict[str, _Bar](), _Bar()
    has_moved = is_full = False  # whether the latest bar moved since the last line, and was drawn to its end
    epochs = set[float]()  # of all lines of the training; NaN where none is named outside of a bar
    for record in records:
        drawn = [pair for pair in record.pairs if pair.name == PROGRESS]
        own = [bars.setdefault(key_of(pair), _Bar()) for pair in drawn]
        for bar in own:
            bar.of_search |= "best trial" in map(str.lower, record.shape)
            bar.names_epoch |= record.epoch is not None
        if own:
            latest, has_moved, is_full = own[-1], True, any(pair.value == pair.of for pair in drawn)
            latest.places.update(pair.value for pair in drawn)
        if not bars or not record.is_training:
            continue
        epochs.add(record.epoch.value if record.epoch and not own else math.nan)
        judged = any(is_judged(name) and not names_an_evaluation(name) for name in record.shape)
        if own or (judged and not record.evaluation):
            for bar in own or [latest]:
                bar.of_training = True
            # Below a full bar, it is the line that counts the epochs.
            is_moving = has_moved and (bool(own) or record.epoch is None or not is_full)
            latest.n_moved += is_moving
            latest.n_still += not is_moving
            has_moved = False
    judged_bars = {key: bar for key, bar in bars.items() if bar.of_training and not bar.of_search}
    return {key: not _stands_still(bar, epochs) for key, bar in judged_bars.items()}


def _stands_still(bar: _Bar, epochs: Collection[float]) -> bool:
    """Whether a bar hardly moves between lines of the training, or only shows that an epoch of it is over."""
    if bar.n_moved <= 1 and bar.n_still >= _FEWEST_NAMED:
        return True
    named = [epoch for epoch in epochs if not math.isnan(epoch)]
    counts_epochs = len(named) == len(epochs) and len(bar.places) <= len(named) + 1
    is_empty_or_full = len(bar.places) <= 2 and not bar.names_epoch
    return len(named) >= _FEWEST_EPOCHS and (counts_epochs or is_empty_or_full)


def _is_stage(key: str, others: Collection[str], records: Iterable[Record]) -> bool:
    """Whether a counter is that of another stage: never beside the others, and in few stretches, as `step
    25/405` of the fine-tuning that follows a pre-training with `iter 25`. An evaluation is no stage."""
    of_stages = (record for record in records if record.is_training and not record.evaluation)
    keys = ({key_of(pair) for pair in record.counters} for record in of_stages)
    counted = [(key in own, not own.isdisjoint(others)) for own in keys]
    own_turns = [ours for ours, theirs in counted if ours or theirs]
    n_stretches = sum(later and not before for before, later in pairwise([False, *own_turns]))
    return not any(map(all, counted)) and sum(own_turns) >= _RECORDS_A_STAGE * max(1, n_stretches)


def _have_growing_steps(records: Iterable[Record], counting: Counting, mentions_training: bool) -> bool:
    """Whether records of one kind stand at steps that grow: `_kind_and_fewest` says how many. A training
    that has only begun (`epoch 1/3`) needs one loss, if its steps only grow and its kinds are few."""
    steps_by_kind = dict[tuple[object, ...], list[int]]()
    has_begun, in_epoch = False, False
    for record in records:
        step, _ = counting.step(record)
        in_epoch |= record.epoch is not None  # perhaps in a line above
        if step is None:
            continue
        kind, fewest = _kind_and_fewest(record, mentions_training, in_epoch=in_epoch)
        if not fewest:
            continue
        is_of_epochs = record.is_training and record.epoch is not None and record.epoch.of > 0
        has_begun |= is_of_epochs and _tells_loss(record)
        steps = steps_by_kind.setdefault(kind, [])
        steps.append(step)
        if len(steps) >= fewest:
            forward = np.diff(steps)
            n_rises, n_falls = np.count_nonzero(forward > 0), np.count_nonzero(forward < 0)
            if n_rises >= min(fewest, _FEWEST_STEPS) - 1 and n_rises > 4 * n_falls:
                return True
    is_short = has_begun and len(steps_by_kind) <= _KINDS_IN_AN_EPOCH
    return is_short and all((np.diff(steps) > 0).all() for steps in steps_by_kind.values())


def _kind_and_fewest(
    record: Record, mentions_training: bool, *, in_epoch: bool
) -> tuple[tuple[object, ...], int]:
    """What a record has in common with others of its kind, and at how many steps these stand in a training;
    ((), 0) if it says nothing of one. Solvers and servers print such records, too: those without a known name
    only count if the log mentions a training."""
    is_named = bool(record.counters) and record.counters[0].name != PROGRESS
    fewest = _FEWEST_NAMED if is_named and record.epoch else _FEWEST_LINES
    has_loss = _tells_loss(record)
    if record.is_training and (mentions_training or has_loss or record.epoch):
        if has_loss or (mentions_training and _has_score(record.shape)):
            fewest = _FEWEST_EPOCHS if is_named or in_epoch else _FEWEST_NAMED
        return (*map(pairs.of_anyone, record.shape), record.evaluation), fewest
    if mentions_training and record.counters and any(value % 1 != 0 for value in record.values):
        return (record.shape,), fewest
    return (), 0


def _tells_loss(record: Record) -> bool:
    return _has_loss(record.shape) or (record.epoch is not None and record.form.is_judged_together)


def _has_loss(names: Iterable[str]) -> bool:
    """Whether these are names of a loss, too, as other programs print none."""
    losses = (name for name in names if "loss" in name.lower() or role_of(name) in LOSSES or is_bound(name))
    return any(last_word(name) not in _OF_SOLVERS for name in losses)


def _has_score(names: Iterable[str]) -> bool:
    """Whether these are names of a score, or of a reward of a whole task, too."""
    roles = ((name, role_of(name)) for name in names)
    return any(role in SCORES or (role is Role.OBJECTIVE and is_whole_reward(name)) for name, role in roles)


def _loss_recurs(training: Sequence[Record], mentions_training: bool, is_counted: bool) -> bool:
    """Whether a loss recurs, or a score beside a clock, or a reward in a log that mentions a training, which
    is that of a whole task. It must change, unless a counter shows that something goes on: settings that are
    printed again and again (`LOSS_WEIGHT: 1.0`) do not."""
    losses = list[Pair]()
    for record in training:
        judged = (Role.OBJECTIVE,) * mentions_training + SCORES * math.isfinite(record.time)
        losses += [p for p in record.pairs if "loss" in p.name.lower() or role_of(p.name) in judged]
    may_count = (p for p in losses if role_of(p.name) is not Role.OBJECTIVE or is_whole_reward(p.name))
    values = gathered((pairs.of_anyone(pair.name), pair.value) for pair in may_count).values()
    enough = (numbers for numbers in values if len(numbers) >= _FEWEST_LINES)
    return any(is_counted or len({*numbers}) >= _FEWEST_STEPS for numbers in enough)
