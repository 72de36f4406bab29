"""One sentence for each pattern, with the numbers of this run: past tense, plain units, ratios.

`SENTENCES` maps each pattern to a function from what is known of a finding to `Words`. A number is put into
words once, by `Teller.number`, and both the sentence and its short form use these words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np

from chronicle.classify.patterns import BY_ID
from chronicle.classify.restarts import duration
from chronicle.metrics.values import clipped, count, plural
from chronicle.model import Finding, Quantity
from chronicle.story.measured import (
    RISES,
    Rise,
    RunView,
    Teller,
    Words,
    is_cut,
    percent,
    plainly,
    share,
    stated,
    times,
)

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


def _spike(t: Teller) -> Words:
    risen, short = t.risen("jumped")
    ended, ending = t.ended("all the way back")
    return Words(f"{t.what} {risen} and {ended}", short, ending)


def _lasting_spike(t: Teller) -> Words:
    risen, short = t.risen("jumped")
    left = t.value("residual_log")
    stayed = "came back only in part"
    if left > 0:
        over = t.say("left", "residual_log", percent)
        stayed += f": {t.close} it stood {over} above its earlier course"
    return Words(f"{t.what} {risen} and {stayed}", short, "not fully recovered")


def _divergence_after(t: Teller) -> Words:
    if t.value("residual_log") < t.value("height_log") / 2:  # most of the way, in log units
        return _lasting_spike(t)._replace(ending="never over")
    risen, short = t.risen("jumped")
    return Words(f"{t.what} {risen} and did not come down again", short, "never over")


def _divergence(t: Teller) -> Words:
    rise = t.rise()
    if rise is None:
        return Words(f"{t.what} turned upwards at {t.start}, without a spike", f"from {t.start}")
    unit = t.run.unit(t.finding.metric)
    sentence = f"{t.what} turned upwards at {t.start}, without a spike, and rose from {rise.before_words} to"
    return Words(f"{sentence} {rise.peak_words}{unit}", f"{rise.short}{unit} from {t.start}", "never over")


def _shift(t: Teller) -> Words:
    risen, short = t.risen("rose")
    left = t.value("residual_log", t.value("step_log"))
    stayed = "stayed up"
    if left > 0:
        stayed = f"stayed {t.number('left', left, percent(left))} above its earlier course"
    if t.finding.end_step is not None:
        stayed += f" until {t.place(t.finding.end_step)}"
    return Words(f"{t.what} {risen} and {stayed}", short, "stayed up")


def _datasets(t: Teller) -> Words:
    moved = [str(name) for name in t.finding.evidence.get("data_sets", ())]
    of = int(t.value("of", len(moved)))
    metric = max(moved, key=lambda m: _height(t.run.rise(t.finding, m)), default="")
    names = [t.run.name(m) for m in moved]
    risen, short = t.risen("rose", metric)
    ended, ending = t.ended()
    rest = of - len(moved)
    if len(moved) == 1:
        others = "that of the other data set" if rest == 1 else f"those of the other {rest} data sets"
        aside = f"; {others} did not move" if rest > 0 else ""
        return Words(f"{names[0]} {risen} and {ended}{aside}", short, ending)
    few = [name.removeprefix("the loss of ") for name in names[:_NAMED]]
    listed = f"{', '.join(few[:-1])} and {few[-1]}" if few else "several data sets"
    who = f"the losses of {listed}" + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    together = f"{who} rose together: {t.run.name(metric)} {risen} and {ended}"
    return Words(together, short, ending)


def _height(rise: Rise | None) -> float:
    return 0.0 if rise is None else rise.peak - rise.before


def _resume_spike(t: Teller) -> Words:
    over = t.say("height", "join_height_log", percent) if t.has("join_height_log") else ""
    restart, moved = f"after the restart at {t.start}", f"was {over} higher" if over else "rose"
    ended, ending = t.ended()
    return Words(f"{restart} {t.what} {moved}, and it {ended}", f"{over} higher {restart}".strip(), ending)


def _ratio_skew(t: Teller) -> Words:
    risen, short = t.risen("rose")
    ended, ending = t.ended()
    share, ratio = t.value("ratio_change_share"), t.finding.evidence.get("ratio")
    cause = ""
    if math.isfinite(share) and ratio:
        moved = t.number("ratio", share, f"{count(100 * abs(share))} %")
        cause = f"the share of a source in the batch ({ratio}) moved by {moved}, and "
    return Words(f"{cause}{t.what} {risen} and {ended}", short, ending)


def _rate_not_restored(t: Teller) -> Words:
    factor = t.value("lr_factor")
    off = times(factor) if factor > 1 else f"{count(100 * factor)} % of"
    size = t.number("factor", factor, off)
    how = ", and it warmed up again" if t.finding.evidence.get("how") == "warms up again" else ""
    sentence = f"from {t.start} on the learning rate was {size} what was expected{how}"
    return Words(sentence, f"learning rate {size} what was expected from {t.start}")


def _precursor(t: Teller) -> Words:
    rose, ahead = t.say("rise", "rise_factor", times), t.say("lead", "lead_steps", t.run.axis.span)
    sentence = f"the gradient norm rose to {rose} its level at {t.start}, {ahead} before the loss rose"
    return Words(sentence, f"gradient norm {ahead} ahead of the loss at {t.start}")


def _rising_rate(t: Teller) -> Words:
    number = t.number("spikes", t.value("spikes"), plural(int(t.value("spikes", 0)), "spike"))
    factor = t.say("factor", "factor", times)
    trend = {
        "gap in the first third": f"{factor} as far apart in the first third as in the last",
        "height in the last third": f"{factor} as high in the last third as in the first",
        "spikes in the second half": f"{factor} as many in the second half as in the first",
    }.get(str(t.finding.evidence.get("of")), "faster and faster")
    grew = "grew higher and higher" if "as high" in trend else "came more and more often"
    span = t.run.axis.places(t.finding.start_step, t.finding.end_step or t.finding.start_step)
    return Words(f"spikes {grew}: {number} over {span}, {trend}", f"{number} from {t.start}")


def _logits(t: Teller) -> Words:
    rose, top = t.say("growth", "growth_factor", times), t.say("last", "last_logit", plainly)
    sentence = f"the largest attention logit grew to {rose} its size from {t.start} on and reached {top}"
    if t.has("doubling_steps"):
        sentence += f", doubling about every {t.run.axis.span(t.value('doubling_steps'))}"
    return Words(sentence, f"attention logit up to {top} from {t.start}")


def _drift(t: Teller) -> Words:
    before, now = t.say("before", "level_before", plainly), t.say("now", "level_now", plainly)
    sentence = f"the mean log Z of the output left its level at {t.start} and moved from {before} to {now}"
    return Words(sentence, f"log Z {before} → {now} from {t.start}")


def _settled(t: Teller) -> Words:
    left, level = t.say("left", "entropy_left_share", share), t.say("level", "objective_level", plainly)
    best = t.say("best", "best_level", plainly)
    sentence = f"the entropy of the policy was gone at {t.start} ({left} of that at the start was left), and"
    sentence += f" the objective settled at {level}, where {best} would be the best"
    return Words(sentence, f"{left} of the entropy left from {t.start}, objective at {level}")


def _longer(t: Teller) -> Words:
    before, now = t.say("before", "length_before", plainly), t.say("now", "length_now", plainly)
    sentence = f"the answers grew from a mean length of {before} to {now} from {t.start} on, and the"
    sentence += f" objective gained nothing by it: it stood at {t.say('level', 'objective_level', plainly)}"
    return Words(sentence, f"length {before} → {now} from {t.start}")


def _ran_away(t: Teller) -> Words:
    best, last = t.say("best", "best_level", plainly), t.say("last", "last_level", plainly)
    before, now = t.say("before", "divergence_before", plainly), t.say("now", "divergence_now", plainly)
    sentence = (
        f"{t.what} fell from {best} to {last} from {t.start} on, while the divergence from the reference"
    )
    return Words(f"{sentence} grew from {before} to {now}", f"{best} → {last} from {t.start}, divergence up")


def _clipped(t: Teller) -> Words:
    often = t.say("clipped", "clipped_share", share)
    sentence = f"the gradient was clipped at {often} of the steps from {t.start} on"
    if t.has("usual_norm"):
        sentence += f"; its norm was {t.say('norm', 'usual_norm', plainly)} in the median"
    return Words(sentence, f"{often} of the steps clipped")


def _judges_differ(t: Teller) -> Words:
    best, now = t.say("best", "best_score", plainly), t.say("now", "last_score", plainly)
    then, rose = t.say("then", "objective_then", plainly), t.say("rose", "objective_now", plainly)
    sentence = f"{t.what} fell from {best} to {now} after {t.start}, while the objective rose from {then}"
    sentence += f" to {rose}"
    return Words(sentence, f"{best} → {now} from {t.start}, objective up")


def _few_experts(t: Teller) -> Words:
    busy = t.say("busiest", "busiest_times", times)
    sentence = f"the router sent {busy} the mean load to its busiest expert from {t.start} on"
    if t.has("idle_share"):
        sentence += f", and {t.say('idle', 'idle_share', share)} of the experts got almost nothing"
    return Words(sentence, f"busiest expert at {busy} the mean from {t.start}")


def _plateau(t: Teller) -> Words:
    steps, _ = t.run.samples(t.finding)
    fell = bool((steps < t.finding.start_step).any())
    sentence = f"{t.what} {'stopped falling at' if fell else 'had stopped falling by'} {t.start}"
    before, after = t.value("slope_before_log_per_log_step"), t.value("slope_after_log_per_log_step")
    if before and after and before / after > 1:
        slower = t.number("slower", before / after, times(before / after))
        sentence += f": it fell {slower} more slowly from there"
    if t.value("learning_rate_share", 1.0) < 0.01:
        sentence += ", with the learning rate as good as zero"
    return Words(sentence, f"flat from {t.start}")


def _overfitting(t: Teller) -> Words:
    up = t.say("rise", "rise_log", percent)
    sentence = f"{t.what} was lowest at {t.start} and rose by {up} from there"
    if t.has("training_fall_log"):
        fall = t.say("fall", "training_fall_log", lambda log_units: percent(-log_units))
        sentence += f", while the training loss fell by {fall}"
    return Words(sentence, f"{up} above its lowest, at {t.start}")


def _slower(t: Teller) -> Words:
    share = t.value("slower_share")
    slow = t.number("slower", share, f"{count(100 * share)} %")
    lasted = t.number("lasted", t.value("slow_steps"), t.run.axis.span(t.value("slow_steps", 0)))
    sentence = f"the training became {slow} slower at {t.start} and stayed so for {lasted}"
    if t.has("lost_steps"):
        sentence += f", which cost the time of about {t.run.axis.span(t.value('lost_steps'))}"
    return Words(sentence, f"{slow} slower from {t.start}")


def _hang(t: Teller) -> Words:
    first = t.start
    if t.has("gap_s"):
        long = t.number("gap", t.value("gap_s"), duration(t.value("gap_s")))
    else:
        factor = t.value("gap_times_median")
        long = t.number("gap", factor, f"{times(factor)} the usual time of a step")
    return Words(f"nothing was logged for {long} after {first}", f"{long} without a step after {first}")


def _failed(t: Teller) -> Words:
    if t.has("attempts"):
        of = t.number("attempts", t.value("attempts"), plural(int(t.value("attempts")), "attempt"))
        died = int(t.value("died", 0))
        sentence = f"none of {of} held" if died == t.value("attempts") else f"{count(died)} of {of} were lost"
        return Words(sentence, sentence)
    _, values = t.run.samples(t.finding)
    known = values[np.isfinite(values)]
    if len(known) < 2:
        return Words("the run did not learn", "did not learn")
    first, last = (float(np.median(part)) for part in (known[:8], known[-8:]))
    ends = t.number("first", first, plainly(first)), t.number("last", last, plainly(last))
    sentence = f"{t.what} began at {ends[0]} and ended at {ends[1]}: the run did not learn"
    if ends[0] == ends[1]:
        sentence = f"{t.what} stayed near {ends[1]}: the run did not learn"
    return Words(sentence, f"{ends[0]} → {ends[1]}, did not learn")


def _nan(t: Teller) -> Words:
    nan, inf, zero = (t.value(f"{name}_samples", 0.0) for name in ("nan", "inf", "zero"))
    what = "NaN or infinite" if nan and inf else "infinite" if inf else "exactly zero" if zero else "NaN"
    number = nan + inf + zero
    values = t.number("values", number, plural(int(number), "logged value"))
    end, start = t.finding.end_step, t.start
    if end is None:
        return Words(
            f"{t.what} was {what} from {start} to the end ({values})", f"{what} from {start}", "to the end"
        )
    back = "for one logged value" if number == 1 else f"over {t.run.axis.places(t.finding.start_step, end)}"
    at = f" at {start}" if number == 1 else ""
    return Words(f"{t.what} was {what} {back}{at}", f"{what} at {start}", "over")


def _loss_scale(t: Teller) -> Words:
    halved = t.say("halvings", "halvings", times)
    sentence = f"the loss scale was halved {halved} from {t.start} on"
    if t.has("lowest_scale"):
        sentence += f", down to {t.say('lowest', 'lowest_scale', stated)}"
    return Words(sentence, f"loss scale halved {halved} from {t.start}")


def _frozen(t: Teller) -> Words:
    number = t.number("values", t.value("equal_samples"), plural(int(t.value("equal_samples", 0)), "value"))
    same = t.say("value", "value_loss", stated)
    end = t.finding.end_step
    span = f"from {t.start} on" if end is None else f"over {t.run.axis.places(t.finding.start_step, end)}"
    sentence = f"{t.what} was logged as {same}, the same to the last bit, {span} ({number})"
    return Words(sentence, f"the same value from {t.start}")


def _grokking(t: Teller) -> Words:
    if t.has("train_saturated_step"):
        learned = t.place(t.value("train_saturated_step"))
        steps, values = t.run.samples(t.finding)
        low, high = (
            float(np.interp(s, steps, values)) for s in (t.finding.start_step, t.finding.end_step or 0)
        )
        ends = t.number("from", low, plainly(low)), t.number("to", high, plainly(high))
        span = t.run.axis.places(t.finding.start_step, t.finding.end_step or t.finding.start_step)
        sentence = f"{t.what} went from {ends[0]} to {ends[1]} over {span}, long after the training data"
        return Words(f"{sentence} had been learned at {learned}", f"{ends[0]} → {ends[1]} from {t.start}")
    fall = t.number("fall", t.value("drop_log"), percent(-t.value("drop_log")))
    lasted = t.run.lasted(t.finding).removeprefix("after ")
    took = f" {lasted}" if lasted.startswith("within") else f" within {lasted}" if lasted else ""
    return Words(f"{t.what} fell by {fall}{took} at {t.start}", f"{fall} lower at {t.start}")


def _repeated(t: Teller) -> Words:
    low, up = t.value("low_start_step"), t.say("jump", "jump_log", percent)
    sentence = f"{t.what} jumped by {up} at {t.start}, where new data began"
    if math.isfinite(low):
        fed = t.number("replayed", t.value("replayed_steps"), t.run.axis.span(t.value("replayed_steps", 0)))
        if t.has("low_log"):
            under = t.number("low", t.value("low_log"), percent(-t.value("low_log")))
            sentence = f"{t.what} was {under} too low, and jumped by {up} at {t.start}, where new data began"
        restart = f"after the restart at {t.place(low)}"
        sentence = f"{restart} the run was fed {fed} of data that it had seen before: {sentence}"
    return Words(sentence, f"{up} up where new data began, at {t.start}")


def _reinitialised(t: Teller) -> Words:
    risen, short = t.risen("jumped")
    sentence = f"{t.what} {risen}, back at the value of the very first steps: what had been learned was lost"
    return Words(sentence, short)


def _quantised(t: Teller) -> Words:
    grid = t.say("grid", "grid_loss", stated)
    kinds = t.number("values", t.value("distinct_values"), count(t.value("distinct_values", 0)))
    return Words(
        f"{t.what} was logged in multiples of {grid}: {kinds} different values in all",
        f"logged in multiples of {grid}",
    )


def _decay(t: Teller) -> Words:
    fell = t.number("fall", t.value("drop_log"), percent(-t.value("drop_log")))
    sentence = f"{t.what} fell {fell} below its course when the learning rate began to decay at {t.start}"
    return Words(sentence, f"{fell} lower from {t.start}")


def _ramp(t: Teller) -> Words:
    factor = t.say("factor", "batch_factor", times)
    stages = int(t.value("ramps", 1))
    end = t.finding.end_step or t.finding.start_step
    where = (
        f"at {t.start}"
        if stages == 1
        else f"in {stages} stages over {t.run.axis.places(t.finding.start_step, end)}"
    )
    sentence = f"the batch grew to {factor} its size {where}"
    if t.value("noise_factor", 1.0) < 1:
        calmer = t.number("noise", t.value("noise_factor"), f"{count(100 * (1 - t.value('noise_factor')))} %")
        sentence += f", and {t.what} scattered {calmer} less"
    return Words(sentence, f"batch {factor} as large")


def _calm(t: Teller) -> Words:
    steps, values = t.run.samples(t.finding)
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return Words("nothing stood out", "nothing stood out")
    ends_of = known[np.diff(steps[known], append=-np.inf) < 0]  # the last rows of trainings beside each other
    rows = np.array([known[np.argmin(steps[known])], max(ends_of, key=lambda row: steps[row])])
    first, last = values[rows].tolist()
    least = "at least " if is_cut(values, int(rows[0]), t.run.edge) else ""
    ends = t.number("first", first, f"{least}{plainly(first)}"), t.number("last", last, plainly(last))
    span = t.run.axis.places(*steps[rows].tolist())
    unit = t.run.unit(t.finding.metric)
    better = first < last if t.run.falls(t.finding) else last < first
    verb = ("rose" if last > first else "fell") if better else "went"
    sentence = f"{t.what} {verb} from {ends[0]} to {ends[1]}{unit} over {span}"
    if ends[0] == ends[1]:
        sentence = f"{t.what} stayed near {ends[1]}{unit} over {span}"
    if t.finding.pattern == "noisy-healthy":
        noise = t.say("noise", "noise_log", percent)
        sentence += f", with noise of about {noise} from value to value"
    return Words(
        f"{sentence}, and nothing disturbed it for long",
        f"{'≥ ' if least else ''}{plainly(first)} → {ends[1]}{unit}, calm",
    )


SENTENCES: Mapping[str, Callable[[Teller], Words]] = {
    "near-perfect": _calm,
    "noisy-healthy": _calm,
    "spike-fast-recovery": _spike,
    "lr-decay-drop": _decay,
    "batch-ramp": _ramp,
    "spike-slow-recovery": _spike,
    "multi-dataset-spike": _datasets,
    "resume-spike": _resume_spike,
    "resume-ratio-skew": _ratio_skew,
    "lr-not-restored": _rate_not_restored,
    "level-shift": _shift,
    "grad-norm-precursor": _precursor,
    "rising-spike-rate": _rising_rate,
    "attention-logit-growth": _logits,
    "output-logit-drift": _drift,
    "entropy-collapse": _settled,
    "length-explosion": _longer,
    "reward-hacking": _judges_differ,
    "router-collapse": _few_experts,
    "plateau": _plateau,
    "overfitting": _overfitting,
    "throughput-drop": _slower,
    "hang": _hang,
    "spike-no-full-recovery": _lasting_spike,
    "divergence-after-spike": _divergence_after,
    "divergence-no-spike": _divergence,
    "kl-blow-up": _ran_away,
    "failed-run": _failed,
    "nan-inf": _nan,
    "loss-scale-collapse": _loss_scale,
    "frozen-metric": _frozen,
    "grokking": _grokking,
    "repeat-data": _repeated,
    "reinitialised": _reinitialised,
    "clip-saturation": _clipped,
    "quantised-loss": _quantised,
}
"""The sentence of each pattern; a test holds that none is missing."""


def finding_words(run: RunView, finding: Finding) -> tuple[Words, tuple[Quantity, ...]]:
    """The words of a finding, and the numbers in them."""
    teller = Teller(run, finding)
    tell = SENTENCES.get(finding.pattern)
    if tell is None:  # a pattern of a rule of one's own
        title = BY_ID[finding.pattern].title if finding.pattern in BY_ID else clipped(finding.pattern, 80)
        return Words(f"{title} at {teller.start}.", f"at {teller.start}"), ()
    words = tell(teller)
    if finding.pattern in RISES | {"plateau"} and run.falls(
        finding
    ):  # what ought to rise, as an objective does, falls
        words = Words(*(_UPWARDS.sub(lambda match: _DOWNWARDS[match[0]], part) for part in words))
    sentence = f"{words.sentence[:1].upper()}{words.sentence[1:]}."
    return words._replace(sentence=sentence), tuple(teller.numbers)
