"""The formats of trainers that need little code, a row each in BY_NAME.

Most trainers print a step and pairs of a name and a number in one line, which `LineFormat` describes and
reads; four formats have a short reader of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from chronicle.metrics.names import LOSSES, role_of
from chronicle.model import Attempt, Role
from chronicle.readers.columns import comma_number, number, numbers
from chronicle.readers.console import generic
from chronicle.readers.console.chunks import NAN, NUMBER, Line, units_as_names
from chronicle.readers.console.counting import Epochs, rank_of
from chronicle.readers.console.line_records import Gatherer, is_resumed
from chronicle.readers.console.log import SETTING, Log
from chronicle.readers.console.pairs import POWERS_OF_TEN, PROGRESS, is_judged, pairs
from chronicle.readers.console.plan import plan_of
from chronicle.readers.step_axis import axis_of_rank, counts_steps
from chronicle.readers.text import Head

_NEVER = re.compile(r"(?!)")
_OF_ANY_TRAINER = rb"\b[rR]esum(?:ed|ing)\b|\b(?i:steps?|iter(?:ation)?s?)\b[^\w\n]{0,4}\d"


def short_number(cell: str) -> float | None:
    """The number in a cell like 85.8G; None where it holds none."""
    cell = cell.strip()
    power = POWERS_OF_TEN.get(cell[-1:])
    return number(f"{cell[:-1].rstrip()}e{power}" if power else cell)


@dataclass(frozen=True)
class LineFormat:
    """How the lines of one trainer are written, and their reader. ``record`` has the groups ``step`` and
    ``rest``, in which ``pair`` finds names, numbers and units, and perhaps ``total`` and ``evaluation``."""

    NAME: str
    MARKS: tuple[bytes, ...]
    record: re.Pattern[str]
    pair: re.Pattern[str]
    single: re.Pattern[str] = _NEVER  # ``step`` and ``value`` alone in a line, of ``name`` or of the loss
    early: re.Pattern[str] = _NEVER  # ``name`` and ``value`` that belong to the step of the next record
    checkpoint: re.Pattern[str] = _NEVER  # ``what`` (sav, load) happened at a ``place``
    fresh: re.Pattern[str] = _NEVER  # a field; its group is what it holds in the first records of a process
    ranks: bool = False  # several ranks print each step; the first of them is read
    repeated: tuple[str, ...] = ()  # metrics whose equality shows that an unnamed rank printed it again
    as_number: Callable[[str], float | None] = comma_number
    units: Mapping[str, str] = field(default_factory=dict)  # of metrics whose lines have none
    durations: tuple[str, ...] = ()  # in ms or s from line to line; "nan" until there is a mean
    roles: Mapping[str, Role] = field(default_factory=dict)  # of metrics whose names say none

    def read(self, path: Path) -> list[Attempt]:
        log = Log(path, self.NAME, early={}, before=[], is_fresh=True)
        log.rows.units |= self.units
        log.rows.roles |= self.roles
        patterns = (self.record, self.single, self.early, self.checkpoint)
        in_bytes = (re.sub(r"\?P<\w+>", "?:", pattern.pattern).encode() for pattern in patterns)
        for line in log.lines(re.compile(b"|".join([*in_bytes, _OF_ANY_TRAINER]))):
            own = line.apart if self.ranks else line
            if is_resumed(line.text):
                log.launch({})
            elif match := self.single.match(line.text):
                values = numbers([(match.groupdict().get("name", "loss"), match["value"])], self.as_number)
                log.add(line._replace(time=NAN), int(match["step"]), values)
            elif match := self.record.search(own.words):
                self._take(log, own, match)
            elif match := self.early.search(own.words):
                log.state["early"] |= numbers([(match["name"], match["value"])], self.as_number)
            elif match := self.checkpoint.search(line.text):
                log.event(line, f"checkpoint-{match['what'].lower()}ing", place=match["place"][:200])
            else:
                _read_pairs(log, line)
        return log.attempts()

    def _take(self, log: Log, line: Line, match: re.Match[str]) -> None:
        """Adds a record, unless a rank that does not say its number prints again what another one printed."""
        self._begin(log, match["rest"])
        if total := match.groupdict().get("total"):
            log.fact("total_steps", int(total))
        step, values = int(match["step"].replace(",", "")), self._values(match, log.rows.units)
        content = [step, *map(values.get, self.repeated)]
        is_again = self.repeated and not line.who and content == log.state["before"]
        log.state["before"] = content
        if values and not is_again and log.add(line, step, values | log.state["early"]):
            log.state["early"] = {}

    def _begin(self, log: Log, fields: str) -> None:
        """Begins another launch if a record is like the first ones of a process, after others."""
        if fresh := self.fresh.search(fields):
            if fresh[1] and not log.state["is_fresh"]:
                log.launch({})
            log.state["is_fresh"] = bool(fresh[1])

    def _values(self, match: re.Match[str], units: dict[str, str]) -> dict[str, float]:
        """The numbers of a record. The first unit that a log tells for a metric is kept in ``units``."""
        of = "validation/" if match.groupdict().get("evaluation") else ""
        cells = self.pair.findall(units_as_names(match["rest"]))
        named = [(of + name.strip(), text, unit) for name, text, unit in cells]
        units |= {name: unit for name, _, unit in named if unit and name not in units}
        known = [cell for cell in named if not (cell[0] in self.durations and "n" in cell[1])]  # nan
        values = numbers(((name, text) for name, text, _ in known), self.as_number)
        for name, _, unit in known:
            if name in self.durations and unit == "s" and units[name] == "ms":
                values[name] *= 1000
        return values


def _read_pairs(log: Log, line: Line) -> None:
    """Reads a line that the trainer itself did not print: a step with a metric that is judged, or a fault."""
    record = next(Gatherer().records([line]), None)
    counter = record.counters[0] if record and record.counters else None
    if record and counter and counter.name != PROGRESS and axis_of_rank(rank_of(counter)) == "step":
        values = record.numbers(counter.name, phases=True)
        if any(map(is_judged, values)) and log.add(line, int(counter.value), values):
            return
    log.look_for_fault(line)


_DLL_LINE = re.compile(rb"\bDLLL? (?:\d{4}-|\{)")
_DLL_TEXT = re.compile(r"\bDLL \S+ \S+ - (?P<rest>.*)")
_DLL_JSON = re.compile(r"\bDLLL (\{.*\})\s*$")
_DLL_STEP = re.compile(r"(?:\w+ )?Epoch: (?P<epoch>\d{1,18})(?: (?:\w+ )?Iteration: (?P<step>\d{1,18}))?")
_DLL_PARAMETER = re.compile(r"(?<![\w.-])(\w[\w.-]{0,80}) *: (\S+)")
_DLL_PAIR = re.compile(rf"([\w./-][\w./ -]{{0,80}}?) : ({NUMBER})(?=\s|$)")


def _read_dllogger(path: Path) -> list[Attempt]:
    """NVIDIA DLLogger: ``DLL 2020-06-03 16:09:11 - Training Epoch: 0 Training Iteration: 17  loss : 1.63``,
    and JSON lines ``DLLL {"type": "LOG", "step": [0, 1785], "data": {"step_loss": 1.63}}``. Iterations that
    restart in each epoch are continued. Parameters, and totals without a step, are facts."""
    counter = Epochs()
    log = Log(path, "dllogger", counter=counter)
    for line in log.lines(_DLL_LINE):
        if match := _DLL_JSON.search(line.text):
            places, values = _dll_record(log, line, match[1])
        elif not (match := _DLL_TEXT.search(line.text)):
            continue
        elif match[1].startswith("PARAMETER "):
            log.add_settings(dict(_DLL_PARAMETER.findall(match[1])))
            continue
        else:
            at = _DLL_STEP.search(match[1])
            values = numbers(_DLL_PAIR.findall(match[1], at.end() if at else 0))
            places = [int(place) for place in at.groups() if place] if at else []
        if not places:
            for name, value in values.items():
                log.fact(f"summary/{name}", value)
        elif len(places) > 1 and values:
            epoch = float(places[0])
            log.add(line, counter.step(epoch, places[1]), {"epoch": epoch, **values})
        elif values:  # of an epoch as a whole: it stands at the last iteration
            log.add(line, places[0] if log.step is None else log.step, values)
    return [log.attempt()]


def _dll_record(log: Log, line: Line, text: str) -> tuple[list[int], dict[str, float]]:
    """The place of a JSON record ([epoch, iteration], [iteration] or []), and its numbers; keeps settings."""
    record = log.json(line, text)
    data, step = record.get("data"), record.get("step")
    if not isinstance(data, dict):
        return [], {}
    if "PARAMETER" in (step, record.get("type")):
        log.add_settings(data)
        return [], {}
    places = [place for place in (step if isinstance(step, list) else [step]) if type(place) is int]
    return places, numbers(((name, str(value)) for name, value in data.items()), number)


_FAIRSEQ_TAG = r"(?:\| |\[)(?P<tag>train_inner|train|(?:valid|test)\w{0,40})(?: \||\]\[INFO\] -) "
_FAIRSEQ_LINE = re.compile(
    _FAIRSEQ_TAG.encode() + rb'(?:\{"|epoch )|\bnum_updates=|gradient overflow detected'
)
_FAIRSEQ_JSON = re.compile(_FAIRSEQ_TAG + r'(?P<json>\{".*\})\s*$')
_FAIRSEQ_BARS = re.compile(_FAIRSEQ_TAG + r"(?P<rest>epoch \d+ \|.*)")
_FAIRSEQ_EQUALS = re.compile(rf"\b(\w{{1,80}})=({NUMBER})(?=,|\s|$)")
_FAIRSEQ_FIELD = re.compile(rf"\| (\w{{1,80}}) ({NUMBER})(?= \||\s*$)")
_FAIRSEQ_SCALE = re.compile(rf"setting loss scale to: ({NUMBER})")
_FAIRSEQ_STEP = "num_updates"
_FAIRSEQ_LOSS = re.compile(r"(?:^|_)(?:nll_)?loss$")


def _read_fairseq(path: Path) -> list[Attempt]:
    """fairseq and metaseq: ``… | train_inner | {"epoch": 1, "loss": "16.475", "num_updates": "100", ...}``.
    Losses are in bits; ``train`` is the mean of an epoch, ``valid`` an evaluation. An overflow of the
    gradients is an event, and the lower loss scale a point."""
    log = Log(path, "fairseq")
    for line in log.lines(_FAIRSEQ_LINE):
        if match := _FAIRSEQ_SCALE.search(line.text):
            log.event(line, "overflow")
            log.add(line, log.step or 0, numbers([("loss_scale", match[1])]))
        elif values := _fairseq_values(log, line):
            # the counter may have a prefix, as the metrics beside it
            counters = [name for name in values if f"_{name}".endswith("_" + _FAIRSEQ_STEP)]
            updates = [value for value in map(values.pop, counters) if value == value // 1]
            if updates and values:
                log.add(line, int(updates[0]), values)
    log.rows.units |= dict.fromkeys(filter(_FAIRSEQ_LOSS.search, log.rows.columns), "bits")
    return [log.attempt()]


def _fairseq_values(log: Log, line: Line) -> dict[str, float]:
    if match := _FAIRSEQ_JSON.search(line.text):
        cells = log.json(line, match["json"]).items()
        return numbers((name, str(cell)) for name, cell in cells if not isinstance(cell, dict | list))
    if match := _FAIRSEQ_BARS.search(line.text):
        values, tag = numbers(_FAIRSEQ_FIELD.findall(match["rest"])), match["tag"]
        return {n if n == _FAIRSEQ_STEP else f"{tag}_{n}": value for n, value in values.items()}
    return numbers(_FAIRSEQ_EQUALS.findall(line.text))


_KERAS_LINE = re.compile(
    rb"\bEpoch \d+/\d+\s*$|\d/\d{1,18} (?:\[=|\xe2\x94\x81|- \d)|^ ?(?:- )?\d+m?s |^Total params: "
)
_KERAS_EPOCH = re.compile(r"\bEpoch (\d{1,9})/(\d+)\s*$")
_KERAS_BAR = re.compile(
    r"(?:(?P<n>\d+)/(?P<total>\d+) (?:\[=+\]|━+|(?=- \d))|^ ?(?=(?:- )?\d+m?s )) ?(?P<rest>.*)"
)
_KERAS_PAIR = re.compile(rf"- ([A-Za-z_][\w./ -]{{0,80}}?): ({NUMBER})(?= -|\s*$)")


def _read_keras(path: Path) -> list[Attempt]:
    """Keras: ``Epoch 1/10``, then a bar that ends ``1875/1875 [====] - 5s 2ms/step - loss: 0.4``, or the
    single line ``1875/1875 - 5s - loss: 0.4`` of ``verbose=2``. The last full bar of an epoch shows its
    values, unless it has an ETA, another number of batches or fewer metrics (an evaluation). ``Epoch 1/1``
    that comes again is the next epoch of a loop that fits one at a time, until a model is made again.
    Where no such line stands, the bar is another trainer's, which names its epochs in lines of its own."""
    log = Log(path, "keras-console", epoch=None, last=None)  # the last full bar: line, values, total
    log.axis, state = "epoch", log.state

    def add_epoch() -> None:
        if state["last"]:
            line, values, _ = state["last"]
            log.add(line, state["epoch"] or 0, values)

    for line in log.lines(_KERAS_LINE):
        heading = _KERAS_EPOCH.search(line.text)
        if heading or line.text.startswith("Total"):
            add_epoch()
            next_epoch = (state["epoch"] or 0) + 1
            number, of = heading.groups() if heading else ("0", "")
            state["epoch"], state["last"] = next_epoch if of == "1" else int(number), None
        elif (bar := _KERAS_BAR.search(line.text)) and bar["n"] == bar["total"] and not line.unfinished:
            values, last = numbers(_KERAS_PAIR.findall(bar["rest"])), state["last"]
            of_epoch = last is None or (last[2] == bar["total"] and last[1].keys() <= values.keys())
            if values and of_epoch and not bar["rest"].startswith("- ETA"):
                state["last"] = line, values, bar["total"]
                log.step = state["epoch"] or 0  # of what goes wrong before the next epoch begins
    if state["epoch"] is None and plan_of(Head.of(path)).is_log:
        return generic.read(path)
    add_epoch()
    return [log.attempt()]


_DS_LINE = re.compile(
    rb"step=\d|/\d+, \w{0,20}SamplesPerSec=|tep: \d|steps: \d|Attempted loss scale: |reward score: "
    rb"|\|E2E latency=|ppl: |loss *[:=] *[-\dni]|exits successfully|return code = -?\d|" + SETTING,
    re.IGNORECASE,
)
_DS_NUMBER = r"(?:[-+]?\d[\d.]*(?:e[-+]?\d+)?|nan|-?inf)"
# The forms of a record: its step, if it names one, and its fields.
_DS_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"\bstep=(?P<step>\d{1,19}), skipped=(?P<skipped>\d+), lr=\[(?P<lr>[^\]]{0,2000})\]",
        r"(?:global_step=|\b\d+/)(?P<step>\d{1,19}), (?P<fields>(?:Running)?\w*SamplesPerSec=.*)",
        r"epoch: *(?P<epoch>\d{1,9}) *[|,] *step: *(?P<step>\d{1,18}) *[|,]"
        r"(?: *rank: *(?P<who>\d+),)?(?P<fields>.*)",
        r"\bsteps: (?P<step>\d{1,19}) (?P<fields>loss: .*)",
        r"overflow.{0,300}(?P<fields>Attempted loss scale: [\d.e+]*\d)",
    )
)
_DS_PAIR = re.compile(rf"(\w[\w /-]{{0,60}}(?:\(\w{{1,20}}\))?) ?[=:] ?({_DS_NUMBER})")
_DS_SECONDS = ("E2E latency", "Gather latency", "Generate time", "Training time", "Others", "iter time (s)")
_DS_UNITS = dict.fromkeys(_DS_SECONDS, "s") | {"MemAllocated": "GB", "MaxMemAllocated": "GB"}
_DS_EXIT = re.compile(r"exits with return code = (?P<code>-?\d{1,9})")


def _read_deepspeed(path: Path) -> list[Attempt]:
    """DeepSpeed: the lines of its engine, ``step=10, skipped=0, lr=[...]``, and of DeepSpeed-Chat. The loss
    comes from the script: ``epoch: 0|step: 5|act_loss: ...``, or a pair ``loss: ...`` of the last step. If
    several engines print the same line, the metrics of the second are ``lr (2)``."""
    log = Log(path, "deepspeed", epochs=Epochs(), engine=(-1, "", 0))
    log.rows.units |= _DS_UNITS
    for line in log.lines(re.compile(b"|".join([_DS_LINE.pattern, _OF_ANY_TRAINER]), _DS_LINE.flags)):
        if log.take_setting(line):
            continue
        if "exits successfully" in line.text:
            log.fact("ended", "finished")
        elif not (_deepspeed_record(log, line) or _deepspeed_without_step(log, line)):
            if match := _DS_EXIT.search(line.text):
                log.facts |= {"ended": "crashed", "exit_code": int(match["code"])}
            _read_pairs(log, line)
    has_loss = any(role_of(name) in LOSSES or name.endswith("loss") for name in log.rows.columns)
    if not has_loss and plan_of(Head.of(path)).is_log:  # the script prints it in lines of its own
        return generic.read(path)
    return [log.attempt()]


def _deepspeed_record(log: Log, line: Line) -> bool:
    match = next((match for form in _DS_FORMS if (match := form.search(line.text))), None)
    if match is None:
        return False
    line, groups = line.apart, match.groupdict()
    step = int(groups["step"]) if "step" in groups else log.step or 0
    of_engine, fields = "lr" in groups, _DS_PAIR.findall(groups.get("fields", ""))
    values = _of_engine(log, step, line.who, groups) if of_engine else numbers(fields, number)
    if epoch := groups.get("epoch"):
        step, values = log.state["epochs"].step(int(epoch), step), {"epoch": float(epoch)} | values
    log.add(line._replace(who=groups.get("who") or line.who), step, values)
    return True


def _of_engine(log: Log, step: int, who: str, groups: Mapping[str, str]) -> dict[str, float]:
    before, spoke, engine = log.state["engine"]  # step, rank and number of the one that spoke last
    if spoke == who or before < 0:
        engine = engine + 1 if step == before else 1
        log.state["engine"] = step, who, engine
    suffix = f" ({engine})" if engine > 1 else ""
    rates = [rate for cell in groups["lr"].split(",") if (rate := number(cell)) is not None]
    names = ["lr"] if len(set(rates)) == 1 else [f"lr/{group}" for group in range(len(rates))]
    values = {"skipped": float(groups["skipped"]), **dict(zip(names, rates, strict=False))}
    return {name + suffix: value for name, value in values.items()}


def _deepspeed_without_step(log: Log, line: Line) -> bool:
    line = line.apart
    text = line.words
    in_bars = text.startswith("|")
    values = numbers(_DS_PAIR.findall(text), number) if in_bars else {p.name: p.value for p in pairs(text)}
    known = text.startswith("|E2E") or any("loss" in name.lower() or name == "ppl" for name in values)
    if any(map(counts_steps, values)) or not (known or "reward score" in text):
        return False
    if values and log.step is not None:
        log.add(line, log.step, values)
    return True


# fmt: off
BY_NAME: dict[str, LineFormat | SimpleNamespace] = {
    form.NAME: form
    for form in (
        # iteration: 10 / 900 | consumed_tokens: 85.8G | lm_loss: 2.38 | lr: 3e-05 | ...
        # Values have the three digits that are printed.
        LineFormat("nanotron",
            MARKS=(rb"iteration: \d+ / \d+ \| ",),
            record=re.compile(r"iteration: (?P<step>\d{1,20}) / \d+ \|(?P<rest>.*)"),
            pair=re.compile(r"(?:^|(?<=\|))([^|:]*):([^|]*)()"),
            checkpoint=re.compile(r"(?P<what>Sav|Load)ing checkpoint (?:at|from) (?P<place>\S+)"),
            ranks=True, as_number=short_number,
            units={"cuda_memory_allocated": "bytes", "cuda_max_memory_reserved": "bytes"}),
        # s:250 tel:6.17    and    s:250 trl:6.18 lr:0.0002 norm:0.90
        # s:250 eval:0.26                           the accuracy on HellaSwag
        LineFormat("llm.c",
            MARKS=(rb"(?m)s:(?<=^s:)\d+ t[er]l:-?[\dni]",),
            record=re.compile(r"^s:(?P<step>\d{1,18}) (?P<rest>.*)"),
            pair=re.compile(rf"\b(?!s:)(\w{{1,80}}):({NUMBER})(?=\s|$)()"),
            roles={"eval": Role.VALIDATION_SCORE}),
        # step:125/4150 val_loss:4.85 train_time:30ms step_avg:nanms
        # This file begins with the whole source. Seeds one after the other go back to step 0.
        LineFormat("modded-nanogpt",
            MARKS=(rb"step:(?<=\bstep:)\d+/\d+ (?:train|val)_loss:[\dni]\S{0,30} train_time:\d",),
            record=re.compile(r"\bstep:(?P<step>\d{1,18})/(?P<total>\d{1,18}) (?P<rest>.*)"),
            pair=re.compile(rf"\b(\w{{1,80}}):({NUMBER})(ms|s)?(?=\s|$)"),
            durations=("train_time", "step_avg")),
        # step: 10  loss: 8.0491  grad_norm: 2.31  memory: 27.57GiB(29.01%)  tps: 6,722  mfu: 12.50%
        # 1 8.049097                                of its files of expected losses, which begin as a model
        #                                           that knows nothing does: at ln(vocabulary)
        LineFormat("torchtitan",
            MARKS=(
                rb"step:(?<=\bstep:) *\d+ +loss: +[-\dni]\S{0,30} [^\n]{0,200}(?:memory|tps|wps|grad_norm): ",
                rb"\A1 +(?:[5-9]|1[0-5])\.\d+\n2 +(?:\d|1[0-5])\.\d+\n3 +(?:\d|1[0-5])\.\d+\n",
            ),
            record=re.compile(r"(?P<evaluation>\bvalidat\w+ )?\bstep: *(?P<step>\d{1,18})(?P<rest> +.*)"),
            pair=re.compile(rf"\b(\w{{1,80}}): *({NUMBER})(GiB|%)?(?=[\s(]|$)"),
            single=re.compile(rf"^(?P<step>\d{{1,18}}) +(?P<value>{NUMBER})\s*$"), ranks=True,
            repeated=("loss", "grad_norm")),
        # iter 0: loss 10.9, time 12.00ms, mfu 1.0%
        # step 0: train loss 4.2, val loss 4.3    and    validation loss: 4.3
        # 10 | loss 8.9012 | lr 1.000000e-05 | 300.12ms | mfu 1.23%             of llama2.c
        # step   911 | loss: 4.988997 | lr 5.9697e-04 | norm: 0.5693 | dt: 405.63ms | tok/sec: 1292520.48
        # 250 val 6.1234                            of the log.txt of build-nanogpt
        LineFormat("nanogpt",
            MARKS=(
                rb"iter (?<=\biter )\d+ ?: loss [-\dni]\S{0,30} ?, time ",
                rb"step (?<=\bstep )(?:\d+ ?: train loss [-\dni]"
                rb"| *\d+(?:/\d+)? \| (?:train )?loss:? +[-\dni][^\n]{1,200}(?:\bms\b|\dms\b|\btok|norm))",
                rb"(?m)^\d+ (?:val|train) -?\d+\.\d+$|^\d+ \| loss [-\dni]\S{0,30} \| lr \d",
            ),
            record=re.compile(
                r"(?:\b(?:iter|step) +|^(?=\d+ \| loss ))(?P<step>\d[\d,]{0,17})(?:/[\d,]+)?"
                r"(?: ?:| \|)(?P<rest>.*)"
            ),
            fresh=re.compile(r"\bmfu (-100\.00%)?"),
            pair=re.compile(rf"(?<![\w.])([A-Za-z][\w/ .-]{{0,60}}?):? *({NUMBER}) ?(ms|%|s)?(?=\s|,|\||$)"),
            single=re.compile(rf"^(?P<step>\d{{1,18}}) (?P<name>[a-z]\w{{0,40}}) (?P<value>{NUMBER})\s*$"),
            early=re.compile(
                rf"\b(?P<name>validation loss|HellaSwag accuracy): (?:\d+/\d+=)?(?P<value>{NUMBER})\s*$"
            ), ranks=True),
        # Iter 25: Train loss 1.593, Learning Rate 7.000e-05, It/sec 0.999, Tokens/sec 387.7
        # Iter 200: Val loss 2.9, Val took 20.1s
        LineFormat("mlx",
            MARKS=(rb"Iter (?<=\bIter )\d+: (?:Train|Val) loss [-\dni]",),
            record=re.compile(r"\bIter (?P<step>\d{1,18}): (?P<rest>.*)"),
            pair=re.compile(rf"\b([A-Za-z][\w/ ]{{0,60}}?) ({NUMBER}) ?(GB|s)?(?=,|\s|$)")),
        SimpleNamespace(NAME="dllogger",
            MARKS=(rb'DLL(?<=\bDLL)(?:L \{"| \d{4}-\d\d-\d\d [^\n]{0,300} : -?[\dni])',),
            read=_read_dllogger),
        SimpleNamespace(NAME="fairseq",
            MARKS=(
                rb'\| (?:train_inner|train|valid\w{0,40}) \| (?:\{"|epoch \d)',
                rb"num_updates=(?<=\bnum_updates=)\d+, ",
                rb'\[(?:train_inner|train|valid\w{0,40})\]\[INFO\] - (?:\{"|epoch \d)',
            ), read=_read_fairseq),
        SimpleNamespace(NAME="deepspeed",
            MARKS=(rb"step=\d+, (?:skipped=\d+, lr=\[|RunningAvgSamplesPerSec)", rb"\|ppo_ep: \d+\|"),
            read=_read_deepspeed),
        SimpleNamespace(NAME="keras-console",
            MARKS=(
                rb"\b(\d+)/\1 (?:\[=+\] |(?:\xe2\x94\x81)+ |- \d+m?s)[^\n]{0,300} - \w{0,40}loss: [-\dni]",
                rb"Epoch \d+/\d+\r?\n(?:Epoch [^\n]{1,300}\n){0,3}"  # `44s - loss: 2.5` of version 1
                rb" ?(?:- )?\d+m?s[^\n]{0,60} - \w{0,40}loss: [-\dni]",
            ), read=_read_keras),
    )
}
# fmt: on
