"""One sentence for each pattern, with the numbers of this run: past tense, plain units, ratios.

`Sentences` has a method of the name of each pattern. A number is put into words once, by `Teller.number`, and
both the sentence and its short form use these words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from chronicle.classify.patterns import BY_ID, PATTERNS
from chronicle.metrics.values import clipped, count, plural
from chronicle.model import Finding, Quantity
from chronicle.story.measured import (
    RISES,
    RunView,
    Teller,
    fallen,
    is_cut,
    percent,
    plainly,
    share,
    stated,
    times,
)
from chronicle.story.restarts import duration

_DOWNWARDS = {
    "jumped": "dropped",
    "rose": "fell",
    "fell": "rose",
    "falling": "rising",
    "upwards": "downwards",
    "come down": "come back",
    "above": "below",
    "higher": "lower",
    "at least": "at most",
    "≥": "≤",
}
_UPWARDS = re.compile("|".join(_DOWNWARDS))
_NAMED = 4  # data sets that a sentence names


class Words(NamedTuple):
    """A sentence, its short form for a card, and how it ended (empty where that goes without saying)."""

    sentence: str
    short: str
    ending: str = ""


class Sentences(Teller):
    """Of each pattern the method of its name, which says what was found."""

    def spike_fast_recovery(self, *, verb: str = "jumped", back: str = "all the way back") -> Words:
        risen, short = self.risen(verb)
        ended, ending = self.ended(back)
        return Words(f"{self.what} {risen} and {ended}", short, ending)

    spike_slow_recovery = spike_fast_recovery

    def spike_no_full_recovery(self) -> Words:
        risen, short = self.risen("jumped")
        left = self.value("residual_log")
        stayed = "came back only in part"
        if left > 0:
            over = self.say("left", "residual_log", percent)
            stayed += f": {self.close} it stood {over} above its earlier course"
        return Words(f"{self.what} {risen} and {stayed}", short, "not fully recovered")

    def divergence_after_spike(self) -> Words:
        if self.value("residual_log") < self.value("height_log") / 2:  # most of the way, in log units
            return self.spike_no_full_recovery()._replace(ending="never over")
        risen, short = self.risen("jumped")
        return Words(f"{self.what} {risen} and did not come down again", short, "never over")

    def divergence_no_spike(self) -> Words:
        turned = f"{self.what} turned upwards at {self.start}, without a spike"
        if self.rise is None:
            return Words(turned, f"from {self.start}")
        short = f"{self.rise.short} from {self.start}"
        return Words(f"{turned}, and rose {self.from_to(self.rise)}", short, "never over")

    def level_shift(self) -> Words:
        risen, short = self.risen("rose")
        left = self.value("residual_log", self.value("step_log"))
        stayed = "stayed up"
        if left > 0:
            stayed = f"stayed {self.number('left', left, percent)} above its earlier course"
        if self.finding.end_step is not None:
            stayed += f" until {self.place(self.finding.end_step)}"
        return Words(f"{self.what} {risen} and {stayed}", short, "stayed up")

    def multi_dataset_spike(self) -> Words:
        moved = [str(name) for name in self.finding.evidence.get("data_sets", ())]
        of = int(self.value("of", len(moved)))
        tellers = [Sentences(self.run, self.finding, self.numbers, metric) for metric in moved]
        tallest = max(tellers, key=lambda t: t.rise.peak - t.rise.before if t.rise else 0.0, default=self)
        names = [self.run.name(metric) for metric in moved]
        risen, short = tallest.risen("rose")
        ended, ending = self.ended()
        rest = of - len(moved)
        if len(moved) == 1:
            others = "that of the other data set" if rest == 1 else f"those of the other {rest} data sets"
            aside = f"; {others} did not move" if rest > 0 else ""
            return Words(f"{names[0]} {risen} and {ended}{aside}", short, ending)
        few = [name.removeprefix("the loss of ") for name in names[:_NAMED]]
        listed = f"{', '.join(few[:-1])} and {few[-1]}" if few else "several data sets"
        who = f"the losses of {listed}" + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
        together = f"{who} rose together: {self.run.name(tallest.metric)} {risen} and {ended}"
        return Words(together, short, ending)

    def resume_spike(self) -> Words:
        over = self.say("height", "join_height_log", percent) if self.has("join_height_log") else ""
        restart, moved = f"after the restart at {self.start}", f"was {over} higher" if over else "rose"
        ended, ending = self.ended()
        short = f"{over} higher {restart}".strip()
        return Words(f"{restart} {self.what} {moved}, and it {ended}", short, ending)

    def resume_ratio_skew(self) -> Words:
        words, ratio = self.spike_fast_recovery(verb="rose", back="back"), self.finding.evidence.get("ratio")
        if not self.has("ratio_change_share") or not ratio:
            return words
        moved = self.say("ratio", "ratio_change_share", lambda part: f"{count(100 * abs(part))} %")
        source = f"the share of a source in the batch ({ratio}) moved by {moved}"
        return words._replace(sentence=f"{source}, and {words.sentence}")

    def lr_not_restored(self) -> Words:
        size = self.say("factor", "lr_factor", lambda f: times(f) if f > 1 else f"{count(100 * f)} % of")
        how = ", and it warmed up again" if self.finding.evidence.get("how") == "warms up again" else ""
        sentence = f"from {self.start} on the learning rate was {size} what was expected{how}"
        return Words(sentence, f"learning rate {size} what was expected from {self.start}")

    def grad_norm_precursor(self) -> Words:
        rose = self.say("rise", "rise_factor", times)
        ahead = self.say("lead", "lead_steps", self.run.axis.span)
        sentence = f"the gradient norm rose to {rose} its level at {self.start}, {ahead} before the loss rose"
        return Words(sentence, f"gradient norm {ahead} ahead of the loss at {self.start}")

    def rising_spike_rate(self) -> Words:
        number = self.say("spikes", "spikes", partial(plural, noun="spike"))
        factor = self.say("factor", "factor", times)
        trend = {
            "gap in the first third": f"{factor} as far apart in the first third as in the last",
            "height in the last third": f"{factor} as high in the last third as in the first",
            "spikes in the second half": f"{factor} as many in the second half as in the first",
        }.get(str(self.finding.evidence.get("of")), "faster and faster")
        grew = "grew higher and higher" if "as high" in trend else "came more and more often"
        return Words(f"spikes {grew}: {number} over {self.span}, {trend}", f"{number} from {self.start}")

    def attention_logit_growth(self) -> Words:
        rose, top = self.say("growth", "growth_factor", times), self.say("last", "last_logit", plainly)
        sentence = f"the largest attention logit grew to {rose} its size from {self.start} on"
        sentence += f" and reached {top}"
        if self.has("doubling_steps"):
            sentence += f", doubling about every {self.run.axis.span(self.value('doubling_steps'))}"
        return Words(sentence, f"attention logit up to {top} from {self.start}")

    def output_logit_drift(self) -> Words:
        before, now = self.say("before", "level_before", plainly), self.say("now", "level_now", plainly)
        left = f"the mean log Z of the output left its level at {self.start}"
        return Words(f"{left} and moved from {before} to {now}", f"log Z {before} → {now} from {self.start}")

    def entropy_collapse(self) -> Words:
        left = self.say("left", "entropy_left_share", share)
        level, best = self.say("level", "objective_level", plainly), self.say("best", "best_level", plainly)
        gone = f"the entropy of the policy was gone at {self.start} ({left} of that at the start was left)"
        sentence = f"{gone}, and the objective settled at {level}, where {best} would be the best"
        return Words(sentence, f"{left} of the entropy left from {self.start}, objective at {level}")

    def length_explosion(self) -> Words:
        before, now = self.say("before", "length_before", plainly), self.say("now", "length_now", plainly)
        level = self.say("level", "objective_level", plainly)
        grew = f"the answers grew from a mean length of {before} to {now} from {self.start} on"
        sentence = f"{grew}, and the objective gained nothing by it: it stood at {level}"
        return Words(sentence, f"length {before} → {now} from {self.start}")

    def kl_blow_up(self) -> Words:
        best, last = self.say("best", "best_level", plainly), self.say("last", "last_level", plainly)
        before, now = (self.say(when, f"divergence_{when}", plainly) for when in ("before", "now"))
        fell = f"{self.what} fell from {best} to {last} from {self.start} on"
        sentence = f"{fell}, while the divergence from the reference grew from {before} to {now}"
        return Words(sentence, f"{best} → {last} from {self.start}, divergence up")

    def clip_saturation(self) -> Words:
        often = self.say("clipped", "clipped_share", share)
        sentence = f"the gradient was clipped at {often} of the steps from {self.start} on"
        if self.has("usual_norm"):
            sentence += f"; its norm was {self.say('norm', 'usual_norm', plainly)} in the median"
        return Words(sentence, f"{often} of the steps clipped")

    def reward_hacking(self) -> Words:
        best, now = self.say("best", "best_score", plainly), self.say("now", "last_score", plainly)
        then, rose = self.say("then", "objective_then", plainly), self.say("rose", "objective_now", plainly)
        fell = f"{self.what} fell from {best} to {now} after {self.start}"
        sentence = f"{fell}, while the objective rose from {then} to {rose}"
        return Words(sentence, f"{best} → {now} from {self.start}, objective up")

    def router_collapse(self) -> Words:
        busy = self.say("busiest", "busiest_times", times)
        sentence = f"the router sent {busy} the mean load to its busiest expert from {self.start} on"
        if self.has("idle_share"):
            sentence += f", and {self.say('idle', 'idle_share', share)} of the experts got almost nothing"
        return Words(sentence, f"busiest expert at {busy} the mean from {self.start}")

    def plateau(self) -> Words:
        steps, _ = self.samples
        fell = (steps < self.finding.start_step).any()
        sentence = f"{self.what} {'stopped falling at' if fell else 'had stopped falling by'} {self.start}"
        before, after = (self.value(f"slope_{side}_log_per_log_step") for side in ("before", "after"))
        if before and after and before / after > 1:
            slower = self.number("slower", before / after, times)
            sentence += f": it fell {slower} more slowly from there"
        if self.value("learning_rate_share", 1.0) < 0.01:
            sentence += ", with the learning rate as good as zero"
        return Words(sentence, f"flat from {self.start}")

    def overfitting(self) -> Words:
        up = self.say("rise", "rise_log", percent)
        sentence = f"{self.what} was lowest at {self.start} and rose by {up} from there"
        if self.has("training_fall_log"):
            sentence += f", while the training loss fell by {self.say('fall', 'training_fall_log', fallen)}"
        return Words(sentence, f"{up} above its lowest, at {self.start}")

    def throughput_drop(self) -> Words:
        slow = self.say("slower", "slower_share", lambda part: f"{count(100 * part)} %")
        lasted = self.say("lasted", "slow_steps", self.run.axis.span)
        sentence = f"the training became {slow} slower at {self.start} and stayed so for {lasted}"
        if self.has("lost_steps"):
            sentence += f", which cost the time of about {self.run.axis.span(self.value('lost_steps'))}"
        return Words(sentence, f"{slow} slower from {self.start}")

    def hang(self) -> Words:
        usual, at = "the usual time of a step", self.start
        if self.has("gap_s"):
            long = self.say("gap", "gap_s", duration)
        else:
            long = self.say("gap", "gap_times_median", lambda factor: f"{times(factor)} {usual}")
        return Words(f"nothing was logged for {long} after {at}", f"{long} without a step after {at}")

    def failed_run(self) -> Words:
        if self.has("attempts"):
            of = self.say("attempts", "attempts", partial(plural, noun="attempt"))
            died, none = self.value("died", 0), self.value("died", 0) == self.value("attempts")
            held = f"none of {of} held" if none else f"{count(died)} of {of} were lost"
            return Words(held, held)
        _, values = self.samples
        known = values[np.isfinite(values)]
        if len(known) < 2:
            return Words("the run did not learn", "did not learn")
        ends = ("first", np.median(known[:8])), ("last", np.median(known[-8:]))
        first, last = (self.number(name, float(value), plainly) for name, value in ends)
        course = f"stayed near {last}" if first == last else f"began at {first} and ended at {last}"
        return Words(f"{self.what} {course}: the run did not learn", f"{first} → {last}, did not learn")

    def nan_inf(self) -> Words:
        nan, inf, zero = (self.value(f"{name}_samples", 0.0) for name in ("nan", "inf", "zero"))
        what = "NaN or infinite" if nan and inf else "infinite" if inf else "exactly zero" if zero else "NaN"
        number = nan + inf + zero
        values = self.number("values", number, partial(plural, noun="logged value"))
        was, start = f"{self.what} was {what}", self.start
        if self.finding.end_step is None:
            return Words(f"{was} from {start} to the end ({values})", f"{what} from {start}", "to the end")
        over = f"for {values} over {self.span}" if zero else f"over {self.span}"  # zeros may stand apart
        when = f"for one logged value at {start}" if number == 1 else over
        return Words(f"{was} {when}", f"{what} at {start}", "over")

    def loss_scale_collapse(self) -> Words:
        halved = self.say("halvings", "halvings", times)
        sentence = f"the loss scale was halved {halved} from {self.start} on"
        if self.has("lowest_scale"):
            sentence += f", down to {self.say('lowest', 'lowest_scale', stated)}"
        return Words(sentence, f"loss scale halved {halved} from {self.start}")

    def frozen_metric(self) -> Words:
        number = self.say("values", "equal_samples", partial(plural, noun="value"))
        same = self.say("value", "value_loss", stated)
        span = f"from {self.start} on" if self.finding.end_step is None else f"over {self.span}"
        sentence = f"{self.what} was logged as {same}, the same to the last bit, {span} ({number})"
        return Words(sentence, f"the same value from {self.start}")

    def grokking(self) -> Words:
        if self.has("train_saturated_step"):
            learned = self.place(self.value("train_saturated_step"))
            steps = self.finding.start_step, self.finding.end_step or 0
            ends = np.interp(steps, *self.samples).tolist()
            low, high = self.number("from", ends[0], plainly), self.number("to", ends[1], plainly)
            sentence = f"{self.what} went from {low} to {high} over {self.span}, long after the training data"
            return Words(f"{sentence} had been learned at {learned}", f"{low} → {high} from {self.start}")
        fall = self.say("fall", "drop_log", fallen)
        lasted = self.lasted().removeprefix("after ")
        took = f" {lasted}" if lasted.startswith("within") else f" within {lasted}" if lasted else ""
        return Words(f"{self.what} fell by {fall}{took} at {self.start}", f"{fall} lower at {self.start}")

    def repeat_data(self) -> Words:
        low, up = self.value("low_start_step"), self.say("jump", "jump_log", percent)
        fed = under = ""
        if math.isfinite(low):
            again = self.say("replayed", "replayed_steps", self.run.axis.span)
            fed = f"after the restart at {self.place(low)} the run was fed {again} of data that it had seen"
            fed += " before: "
            under = f"was {self.say('low', 'low_log', fallen)} too low, and " if self.has("low_log") else ""
        sentence = f"{fed}{self.what} {under}jumped by {up} at {self.start}, where new data began"
        return Words(sentence, f"{up} up where new data began, at {self.start}")

    def reinitialised(self) -> Words:
        risen, short = self.risen("jumped")
        lost = "back at the value of the very first steps: what had been learned was lost"
        return Words(f"{self.what} {risen}, {lost}", short)

    def quantised_loss(self) -> Words:
        grid = self.say("grid", "grid_loss", stated)
        kinds = self.say("values", "distinct_values", count)
        in_grid = f"logged in multiples of {grid}"
        return Words(f"{self.what} was {in_grid}: {kinds} different values in all", in_grid)

    def lr_decay_drop(self) -> Words:
        fell = self.say("fall", "drop_log", fallen)
        when = f"when the learning rate began to decay at {self.start}"
        return Words(f"{self.what} fell {fell} below its course {when}", f"{fell} lower from {self.start}")

    def batch_ramp(self) -> Words:
        factor = self.say("factor", "batch_factor", times)
        stages = int(self.value("ramps", 1))
        where = f"at {self.start}" if stages == 1 else f"in {stages} stages over {self.span}"
        sentence = f"the batch grew to {factor} its size {where}"
        if self.value("noise_factor", 1.0) < 1:
            calmer = self.say("noise", "noise_factor", lambda left: f"{count(100 * (1 - left))} %")
            sentence += f", and {self.what} scattered {calmer} less"
        return Words(sentence, f"batch {factor} as large")

    def near_perfect(self) -> Words:
        steps, values = self.samples
        known = np.flatnonzero(np.isfinite(values))
        if not len(known):
            return Words("nothing stood out", "nothing stood out")
        # The last rows of trainings beside each other.
        ends_of = known[np.diff(steps[known], append=-np.inf) < 0]
        rows = np.array([known[np.argmin(steps[known])], max(ends_of, key=lambda row: steps[row])])
        first, last = values[rows].tolist()
        cut, unit = is_cut(values, int(rows[0]), self.run.edge), self.unit
        start = self.number("first", first, lambda value: f"{'at least ' * cut}{plainly(value)}")
        end = self.number("last", last, plainly)
        better = first < last if self.falls else last < first
        verb = ("rose" if last > first else "fell") if better else "went"
        course = f"stayed near {end}" if start == end else f"{verb} from {start} to {end}"
        sentence = f"{self.what} {course}{unit} over {self.run.axis.places(*steps[rows].tolist())}"
        if self.finding.pattern == "noisy-healthy":
            sentence += f", with noise of about {self.say('noise', 'noise_log', percent)} from value to value"
        short = f"{'≥ ' * cut}{plainly(first)} → {end}{unit}, calm"
        return Words(f"{sentence}, and nothing disturbed it for long", short)

    noisy_healthy = near_perfect


SENTENCES: Mapping[str, Callable[[Sentences], Words]] = {
    p.id: getattr(Sentences, name) for p in PATTERNS if hasattr(Sentences, name := p.id.replace("-", "_"))
}
"""The sentence of each pattern; a test holds that none is missing."""


def finding_words(run: RunView, finding: Finding) -> tuple[Words, tuple[Quantity, ...]]:
    """The words of a finding, and the numbers in them."""
    teller = Sentences(run, finding)
    tell = SENTENCES.get(finding.pattern)
    if tell is None:  # a pattern of a rule of one's own
        title = BY_ID[finding.pattern].title if finding.pattern in BY_ID else clipped(finding.pattern, 80)
        return Words(f"{title} at {teller.start}.", f"at {teller.start}"), ()
    words = tell(teller)
    if finding.pattern in RISES | {"plateau"} and teller.falls:  # what ought to rise, falls
        words = Words(*(_UPWARDS.sub(lambda match: _DOWNWARDS[match[0]], part) for part in words))
    sentence = f"{words.sentence[:1].upper()}{words.sentence[1:]}."
    return words._replace(sentence=sentence), tuple(teller.numbers)
