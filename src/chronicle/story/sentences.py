"""Makes a sentence for each finding, with the numbers of this run: in past tense, plain units and ratios.

The sentence of a pattern is in its row (`chronicle.classify.patterns`), or made by the method of `Sentences`
with its name. A number is put into words once, for the sentence and its short form.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from chronicle.classify.course import LEVEL_SAMPLES
from chronicle.classify.patterns import BY_ID
from chronicle.metrics import values
from chronicle.metrics.arithmetic import finite_of
from chronicle.metrics.values import FACTOR_LOG, clipped, count, ordinal, percent, plainly, plural, times
from chronicle.model import Finding, Floats, Quantity, Steps
from chronicle.story.measured import AT_ONSET, RISES, FindingView, Rise, RunView, final_level, is_cut_off

_OF_VALUES = "times percent fallen share plainly stated count duration"
_COUNTED = "value", "logged value", "spike", "attempt", "training"
_FORMATS: Mapping[str, Callable[[float], str]] = {
    **{name: getattr(values, name) for name in _OF_VALUES.split()},
    "hundredths": lambda part: f"{count(100 * abs(part))} %",
    "calmer": lambda left: f"{count(100 * (1 - left))} %",
    "fold": lambda factor: times(factor) if factor > 1 else f"{count(100 * factor)} % of",
    **{f"{noun.replace(' ', '_')}s": partial(plural, noun=noun) for noun in _COUNTED},
}
_CHOICE, _FIELD = re.compile(r"\[(.*?)\]"), re.compile(r"{(\w+)(?::(\w+))?}")
_KEY = re.compile(r"{(\w+):")
_DOWNWARDS = {
    "jumped": "dropped",
    "rose": "fell",
    "fell": "rose",
    "falling": "rising",
    "not fall": "not rise",
    "upwards": "downwards",
    "come down": "come back",
    "came down": "came up",
    "above": "below",
    "higher": "lower",
    "at least": "at most",
    "≥": "≤",
}
_UPWARDS = re.compile("|".join(_DOWNWARDS))
# Patterns whose short form does not say which metric it is about.
_ALSO_BARE = "nan-inf frozen-metric quantised-loss grokking plateau overfitting reward-hacking"
_BARE_SHORTS = RISES - {"multi-dataset-spike"} | {*_ALSO_BARE.split()}
_NO_CHANGE_LOG = 0.005  # a smaller change would be written as 0 %
_BLOCK_SAMPLES = 8  # of a calm course, whose median is a level of it
# If a calm course ends so far, and so many noise scales, from its best level, the sentence names that level.
_LOST_LOG, _NOISY_SCALES = math.log(1.25), 3.0
_DIP_SHARE = 0.5  # of a rise: if more is gone, before its peak or after it, the sentence says so
_MOST_DATASETS = 4  # data sets that a sentence names one by one


def noun(pattern: str) -> str:
    """A pattern inside a sentence; an added s makes it plural: ``level shift``, ``KL blow-up``."""
    row = BY_ID.get(pattern)
    title = row.title if row else clipped(pattern, 80)
    lower = title[:1].lower() + title[1:] if title[1:2].islower() else title
    return row.noun or lower if row else lower


class Phrases(NamedTuple):
    """A sentence, its short form for a card, and how the event ended (empty for what has no end)."""

    sentence: str
    short: str
    ending: str = ""


class Sentences(FindingView):
    """The methods make the sentences of the patterns after which they are named."""

    def formatted(self, form: str) -> str:
        """A form in which ``{start}`` is an attribute of this finding, ``{factor:times}`` a number of its
        evidence in words, and ``[one|other]`` the first alternative whose numbers were all measured. Names
        from the log are inserted and never read as a form."""

        def chosen(match: re.Match[str]) -> str:
            ways = match[1].split("|")
            return next((way for way in ways if all(map(self.is_measured, _KEY.findall(way)))), "")

        def filled(match: re.Match[str]) -> str:
            key, words = match.groups()
            if words is None:
                return str(getattr(self, key))
            form = _FORMATS.get(words) or getattr(self.run.axis, words)
            return self.number_words(key, self.value(key), form)

        return _FIELD.sub(filled, _CHOICE.sub(chosen, form))

    def words(self, sentence: str, short: str, ending: str = "") -> Phrases:
        return Phrases(self.formatted(sentence), self.formatted(short), ending)

    def risen(self, verb: str) -> tuple[str, str]:
        """``rose from 2.22 to 4.1 over steps 31 200 to 31 204``, up to that of the peak; its short form."""
        rise, at = self.rise, self.start
        if rise is not None:
            steps = self.samples[0]
            climb = np.count_nonzero((steps > self.finding.start_step) & (steps <= rise.at_step))
            where = self.climb if climb else f"at {self.onset}"
            after = " after the restart" if climb and self.onset != at else ""
            verb = "rose" if verb == "jumped" and climb > AT_ONSET else verb
            risen = f"{verb} {self.from_to(rise)} {where}{after}{self._dip(rise)}"
            return risen, f"{rise.short} {self.climb}"
        if self.is_measured("height_log"):
            over = self.number_words("height", self.value("height_log"), percent)
            return f"stood {over} above its course at {self.onset}", f"{over} above its course at {at}"
        return f"{verb} at {self.onset}", f"from {at}"

    def _dip(self, rise: Rise) -> str:
        """Where more than half of the rise was gone before its peak; empty if it was not, or by noise."""
        steps, values = self.samples
        rows = np.isfinite(values) & (steps >= self.finding.start_step) & (steps <= rise.at_step)
        gone = self.gone(values[rows])
        fallen = gone - np.minimum.accumulate(gone)
        low = int(np.argmax(fallen))
        if fallen[low] <= _DIP_SHARE or rise.about:
            return ""
        level = self.number_words("between", float(values[rows][low]), plainly)
        return f", falling back to {level} at {self.run.axis.place(int(steps[rows][low]))} in between,"

    def spike_fast_recovery(self, *, verb: str = "jumped", back: str = "all the way back") -> Phrases:
        risen, short = self.risen(verb)
        ended, ending = self.ended(back)
        return Phrases(f"{self.what} {risen} and {ended}", short, ending)

    spike_slow_recovery = spike_fast_recovery

    def spike_no_full_recovery(self) -> Phrases:
        risen, short = self.risen("jumped")
        stayed = self.stayed(self.came_down())
        return Phrases(f"{self.what} {risen} and {stayed}", short, "not fully recovered")

    def stayed(self, partly: bool) -> str:
        """How a rise that is not over ended: it stayed up, or it came back in part."""
        if not partly:
            return "did not come down again"
        words, left = "came back only in part", self.value("residual_log")
        if self.is_measured("last_level"):
            return self.formatted(f"{words}: {self.last_seen} it stood at {{last_level:plainly}}")
        return f"{words}: {self.last_seen} it stood {self.above(left)}" if left > 0 else words

    def above(self, left: float) -> str:
        """``16 % above its earlier course``; if a level is not positive, ``at 4.1``."""
        level = final_level(self.later[1])
        if self.rise is not None and min(self.rise.before, level) <= 0:
            return f"at {self.number_words('left', level, plainly)}"
        if left > FACTOR_LOG:
            over = self.number_words("left", left, lambda log: times(math.exp(log)))
            return f"at {over} its earlier course"
        return f"{self.number_words('left', left, percent)} above its earlier course"

    @property
    def came_back(self) -> bool:
        """Whether more than half of a rise was gone in the end, by the samples and by the trend."""
        is_objective = self.is_measured("last_level")  # which has no height above a trend
        by_trend = is_objective or self.value("residual_log") < self.value("height_log") / 2
        return by_trend and self.came_down(_DIP_SHARE)

    def divergence_after_spike(self) -> Phrases:
        risen, short = self.risen("jumped")
        return Phrases(f"{self.what} {risen} and {self.stayed(self.came_back)}", short, "never over")

    def divergence_no_spike(self) -> Phrases:
        turned = f"{self.what} turned upwards at {self.start}, without a spike"
        if self.rise is None:
            return Phrases(turned, f"from {self.start}")
        stayed = f" and {self.stayed(self.came_back)}" if self.finding.end_step is None else ""
        by = f"by {self.run.axis.place(self.rise.at_step)}"
        rose = f"rose {self.from_to(self.rise)} {by}"
        return Phrases(f"{turned}, {rose}{stayed}", f"{self.rise.short} {self.climb}", "never over")

    def level_shift(self) -> Phrases:
        if self.is_measured("epoch"):
            words = self.words("{what} fell by {drop_log:fallen}", "{drop_log:fallen} lower at {start}")
            again = "where an epoch began and the samples were read again"
            return words._replace(sentence=f"{words.sentence} at {self.start}, {again}")
        risen, short = self.risen("rose")
        left, end = self.value("residual_log", self.value("step_log")), self.finding.end_step
        above = self.above(left) if left > 0 else "up"
        if low := self._low_between() if end is None and left > 0 else "":
            stood = f"came down to {low}, and stood {above} {self.last_seen}"
            return Phrases(f"{self.what} {risen.removesuffix(',')}, {stood}", short, "stayed up")
        until = f" until {self.run.axis.place(end)}" if end not in (None, self.finding.start_step) else ""
        return Phrases(f"{self.what} {risen} and stayed {above}{until}", short, "stayed up")

    def _low_between(self) -> str:
        """The lowest level after the peak of a rise, if more than half of the rise was gone there:
        ``0.935 near step 58 900``."""
        levels = _levels(self.later[1])
        if not len(levels):
            return ""
        low = int(levels.argmax() if self.falls else levels.argmin())
        if self.gone(levels)[low] <= _DIP_SHARE:
            return ""
        words = self.number_words("low", float(levels[low]), plainly)
        return f"{words} near {self.run.axis.place(int(self.later[0][low * _BLOCK_SAMPLES]))}"

    def multi_dataset_spike(self) -> Phrases:
        moved = [str(name) for name in self.finding.evidence.get("data_sets", ())]
        views = [Sentences(self.run, self.finding, self.numbers, metric) for metric in moved]
        heights = sorted(views, key=lambda t: t.rise.peak - t.rise.before if t.rise else 0.0)
        tallest = heights[-1] if heights else self
        names = [self.run.name(metric) for metric in moved]
        if 2 < len(moved) == self.value("of") and self._rose_like(tallest):
            risen, short = self.risen("rose")
            ended, ending = self.ended()
            return Phrases(f"{self.what} {risen} and {ended}, in all {len(moved)} data sets", short, ending)
        risen, short = tallest.risen("rose")
        short = tallest.named(short)
        ended, ending = self.ended()
        if len(moved) == 1:
            rest = int(self.value("of", 1)) - 1
            others = "that of the other data set" if rest == 1 else f"those of the other {rest} data sets"
            aside = f"; {others} did not move" if rest > 0 else ""
            return Phrases(f"{names[0]} {risen} and {ended}{aside}", short, ending)
        few = [name.removeprefix("the loss of ") for name in names[:_MOST_DATASETS]]
        few += [f"{len(names) - _MOST_DATASETS} more"] if len(names) > _MOST_DATASETS else []
        who = f"the losses of {values.listed(few) or 'several data sets'}"
        together = f"{who} rose together: {self.run.name(tallest.metric)} {risen} and {ended}"
        if len(moved) == 2 and (rise := heights[0].rise) is not None:
            name = self.run.name(heights[0].metric).removeprefix("the loss of ")
            together += f"; that of {name} rose {heights[0].from_to(rise)}"
        return Phrases(together, short, ending)

    def _rose_like(self, other: Sentences) -> bool:
        """Whether the judged loss itself rose, by at least half as much as that of a data set."""
        is_total = self.track is self.run.loss is not None and other.track is not self.track
        if not (is_total and self.rise and other.rise):
            return False
        return self.rise.peak - self.rise.before >= (other.rise.peak - other.rise.before) / 2

    def resume_spike(self) -> Phrases:
        ended, ending = self.ended()
        if self.is_measured("join_height_log") and (lasted := self.lasted()):
            ended, ending = f"half of that was gone {lasted}", f"half gone {lasted}"
        else:
            ended = f"it {ended}"
        moved = "after the restart at {start} {what} [was {join_height_log:percent} higher|rose]"
        words = self.words(moved, "[{join_height_log:percent} higher ]after the restart at {start}", ending)
        return words._replace(sentence=f"{words.sentence}, and {ended}")

    def resume_ratio_skew(self) -> Phrases:
        words, ratio = self.spike_fast_recovery(verb="rose", back="back"), self.finding.evidence.get("ratio")
        if not self.is_measured("ratio_change_share") or not ratio:
            return words
        source = f"the share of a source in the batch ({ratio}) moved by"
        moved = self.formatted("{ratio_change_share:hundredths}")
        return words._replace(sentence=f"{source} {moved}, and {words.sentence}")

    def lr_not_restored(self) -> Phrases:
        how = ", and it warmed up again" if self.finding.evidence.get("how") == "warms up again" else ""
        size = "learning rate {}{{lr_factor:fold}} what was expected"
        sentence = f"from {{start}} on the {size.format('was ')}{how}"
        return self.words(sentence, f"{size.format('')} from {{start}}")

    def rising_spike_rate(self) -> Phrases:
        trend = {
            "gap in the first third": "{factor:times} as far apart in the first third as in the last",
            "height in the last third": "{factor:times} as high in the last third as in the first",
            "spikes in the second half": "{factor:times} as many in the second half as in the first",
        }.get(str(self.finding.evidence.get("of")), "faster and faster")
        grew = "grew higher and higher" if "as high" in trend else "came more and more often"
        sentence = f"spikes {grew}: {{spikes:spikes}} over {{span}}, {trend}"
        return self.words(sentence, "{spikes:spikes} from {start}")

    def plateau(self) -> Phrases:
        if self.is_measured("still_errors"):
            level = self.number_words("level", float(np.nanmedian(self.samples[1])), plainly)
            near = f"{self.what} stayed near {level} throughout, and moved by no more than its own noise"
            return Phrases(near, f"near {level} throughout")
        fell = (self.samples[0] < self.finding.start_step).any()
        sentence = f"{self.what} {'stopped falling at' if fell else 'did not fall from'} {self.start}"
        if self.value("learning_rate_share", 1.0) < 0.01:
            sentence += ", when the learning rate was nearly zero"
        sentence += "" if fell else " on"
        return Phrases(sentence, f"flat from {self.start}")

    def overfitting(self) -> Phrases:
        """Tells logged values, which a reader can check, and not the smoothed ones of the evidence."""
        known = np.isfinite(self.samples[1])
        steps, values = self.samples[0][known], self.samples[1][known]
        extreme, turned = ("highest", "fell") if self.falls else ("lowest", "rose")
        row = values.argmax() if self.falls else values.argmin()
        best, last, at = float(values[row]), float(values[-1]), self.run.axis.place(int(steps[row]))
        if min(best, last) > 0:
            moved = self.number_words("moved", math.log(last / best), percent)
            by = f"by {moved}"
            short = f"{moved} {'below its best' if self.falls else 'above its lowest'} at {at}"
        else:  # there is no share of a value at or below zero
            ends = [self.number_words(*end, plainly) for end in (("best", best), ("last", last))]
            by, short = "from {} to {}".format(*ends), "{} → {}".format(*ends) + f" from {at}"
        fall = self.value("training_fall_log")
        meanwhile = "did not fall" if fall < _NO_CHANGE_LOG else "fell by {training_fall_log:fallen}"
        training = f", while the training loss {meanwhile}" if math.isfinite(fall) else ""
        return self.words(f"{{what}} was {extreme} at {at} and {turned} {by} from there{training}", short)

    def failed_run(self) -> Phrases:
        if self.is_measured("attempts"):
            failed = "all" if self.value("died", 0) == self.value("attempts") else "{died:count} of"
            of_one = self.run.n_trainings < 2 or self.run.timeline.joins
            sentence = f"{failed} {{attempts:{'attempts' if of_one else 'trainings'}}} failed"
            return self.words(sentence, sentence)
        known = finite_of(self.samples[1])
        first = self.number_words("first", float(np.median(known[:LEVEL_SAMPLES])), plainly)
        last = self.number_words("last", float(np.median(known[-LEVEL_SAMPLES:])), plainly)
        course = f"stayed near {last}" if first == last else f"began at {first} and ended at {last}"
        return Phrases(f"{self.what} {course}: the run did not learn", f"{first} → {last}, did not learn")

    def nan_inf(self) -> Phrases:
        nan, inf, zero = (self.value(f"{name}_samples", 0.0) for name in ("nan", "inf", "zero"))
        what = "exactly zero" if zero else "NaN"
        if inf:
            what = "NaN or infinite" if nan else "infinite"
        number = nan + inf + zero
        values = self.number_words("values", number, _FORMATS["logged_values"])
        was, start = f"{self.what} was {what}", self.start
        if self.finding.end_step is None:
            return Phrases(f"{was} from {start} to the end ({values})", f"{what} from {start}", "to the end")
        over = f"for {values} over {self.span}" if zero else f"over {self.span}"  # zeros may stand apart
        when = f"for one logged value at {start}" if number == 1 else over
        return Phrases(f"{was} {when}", f"{what} at {start}", "over")

    def grokking(self) -> Phrases:
        if self.is_measured("train_saturated_step"):
            ends = np.interp((self.finding.start_step, self.finding.end_step or 0), *self.samples).tolist()
            low, high = (self.number_words(*end, plainly) for end in zip(("from", "to"), ends, strict=True))
            learned = self.formatted("the training data had been learned at {train_saturated_step:place}")
            sentence = f"{self.what} went from {low} to {high} over {self.span}, long after {learned}"
            return Phrases(sentence, f"{low} → {high} from {self.start}")
        lasted = self.lasted().removeprefix("after ")
        within = "" if lasted.startswith("within") else "within "
        took = f" {within}{lasted}" if lasted else ""
        fell = f"at {{start}}, {{what}} fell by {{drop_log:fallen}}{took}"
        return self.words(fell, "{drop_log:fallen} lower at {start}")

    def reinitialised(self) -> Phrases:
        risen, short = self.risen("jumped")
        lost = "back at the value of the very first steps: what had been learned was lost"
        return Phrases(f"{self.what} {risen}, {lost}", short)

    def batch_ramp(self) -> Phrases:
        stages = int(self.value("ramps", 1))
        where = "at {start}" if stages == 1 else f"in {stages} stages over {{span}}"
        calmer = ", and {what} scattered {noise_factor:calmer} less" * (self.value("noise_factor", 1.0) < 1)
        sentence = f"the batch grew to {{batch_factor:times}} its size {where}{calmer}"
        return self.words(sentence, "batch {batch_factor:times} as large")

    def near_perfect(self) -> Phrases:
        where, (steps, values) = self._longest_training()
        known = np.flatnonzero(np.isfinite(values))
        noisy, (first, last) = self.finding.pattern == "noisy-healthy", values[known[[0, -1]]].tolist()
        if noisy:  # single values say little; a loss falls too fast at first to have a level there
            first, last = _end_levels(values[known]) if self.falls else (first, final_level(values[known]))
        cut, unit = is_cut_off(values, int(known[0]), self.run.edge), self.unit
        start = self.number_words("first", first, lambda value: f"{'at least ' * cut}{plainly(value)}")
        end = self.number_words("last", last, plainly)
        better = first < last if self.falls else last < first
        rose = "rose" if last > first else "fell"
        verb = rose if better else "went"
        course = f"stayed near {end}" if start == end else f"{verb} from {start} to {'about ' * noisy}{end}"
        span = self.run.axis.place(*steps[known[[0, -1]]].tolist())
        sentence = f"{where}{self.what} {course}{unit} over {span}"
        sentence += self._turn(steps[known], values[known], better or start == end)
        if noisy:
            sentence += f", scattering by about {self._scatter(values[known])} from value to value"
        closing, short = self._disturbances()
        return Phrases(f"{sentence}, and {closing}", f"{course}{unit} {short}")

    noisy_healthy = near_perfect

    def _disturbances(self) -> tuple[str, str]:
        """What disturbed a calm course, and the same for a card: the spikes that it came back from."""
        spikes = [
            f
            for f in self.run.diagnosis.findings
            if f.metric == self.finding.metric and f.pattern in RISES and f.end_step is not None
            if self.run.is_live(f.attempt, f.start_step)
        ]
        if not spikes:
            return "nothing disturbed it for long", "without a lasting disturbance"
        longest = max(spikes, key=lambda f: (f.end_step or 0) - f.start_step)
        number, which = plural(len(spikes), "spike"), "of which the longest" if len(spikes) > 1 else "which"
        took = Sentences(self.run, longest).lasted()
        return f"came back from {number}, {which} was over {took}", f"but for {number}"

    def _longest_training(self) -> tuple[str, tuple[Steps, Floats]]:
        """Of several trainings, the one that reached the last step: words for it, and its live samples."""
        track, n_trainings = self.track, self.run.n_trainings
        if self.at is not None or track is None or n_trainings < 2:
            return "", self.samples
        trainings = np.array(self.run.training_of)[track.attempt]
        number = int(trainings[np.where(track.live, track.steps, -1).argmax()])
        rows = track.live & (trainings == number)
        where = f"in the {ordinal(number)} of {count(n_trainings)} trainings "
        return where, (track.steps[rows], track.values[rows])

    def _scatter(self, values: Floats) -> str:
        """By how much a noisy course scatters: a share, or an amount if there are values at or below zero."""
        if values.min() > 0:
            return self.number_words("noise", self.value("noise_log"), percent)
        return self.number_words("noise", float(np.median(np.abs(np.diff(values)))), plainly)

    def _turn(self, steps: Steps, values: Floats, better: bool) -> str:
        """The level at which a calm course turned: its best, if it did not end at it (``, with its lowest
        level, 0.0066, near step 20``), or its worst, if it ended worse than its first value."""
        levels = _levels(values)
        if len(levels) < 2:
            return ""
        highest, last = self.falls == better, final_level(values)
        place = int(levels.argmax() if highest else levels.argmin())
        level = float(levels[place])
        least_log = max(_LOST_LOG, _NOISY_SCALES * self.value("noise_log", 0.0))
        apart = abs(last - level)
        apart_log = 0.0 if better or not apart else apart / max(float(np.ptp(levels)), apart)
        if min(level, last) > 0:
            apart_log = math.log(last / level) * (-1 if highest else 1)
        if apart_log < least_log:  # the last values, which fill no block, may be the best
            return ""
        extreme = "highest" if highest else "lowest"
        words = self.number_words(extreme, level, plainly)
        near = self.run.axis.place(int(steps[place * _BLOCK_SAMPLES]))
        return f", with its {extreme} level, {words}, near {near}"


def _end_levels(values: Floats) -> tuple[float, float]:
    """The medians of the first and of the last eighth of the values, one at least."""
    width = max(len(values) // 8, 1)
    return float(np.median(values[:width])), float(np.median(values[-width:]))


def _levels(values: Floats) -> Floats:
    """The medians of blocks of eight values."""
    n_used = len(values) - len(values) % _BLOCK_SAMPLES
    return np.asarray(np.median(values[:n_used].reshape(-1, _BLOCK_SAMPLES), axis=1))


def finding_words(run: RunView, finding: Finding) -> tuple[Phrases, tuple[Quantity, ...]]:
    """The sentence about a finding, and the numbers in it."""
    view, pattern, row = Sentences(run, finding), finding.pattern, BY_ID.get(finding.pattern)
    if row and row.says:
        words = view.words(row.says, row.short)
    elif tell := getattr(view, pattern.replace("-", "_"), None) if row else None:
        words = tell()
    else:  # a pattern that a user's own rule found
        words = Phrases(f"{noun(pattern)} at {view.start}", f"at {view.start}")
    if pattern in RISES | {"plateau"} and view.falls:  # the metric should rise: the sentence is turned over
        words = Phrases(*(_UPWARDS.sub(lambda match: _DOWNWARDS[match[0]], part) for part in words))
    if pattern in _BARE_SHORTS:
        words = words._replace(short=view.named(words.short))
    sentence = run.in_training(finding.attempt, f"{words.sentence[:1].upper()}{words.sentence[1:]}.")
    return words._replace(sentence=sentence), tuple(dict.fromkeys(view.numbers))
