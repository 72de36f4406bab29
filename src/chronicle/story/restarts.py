"""Puts joins into words, as plain text: letters and events, what changed, what it cost, and the evidence."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from chronicle.classify.patterns import BY_ID
from chronicle.metrics.values import Axis, count, duration, level, listed, plural, stated, value_words
from chronicle.model import Change, Diagnosis, Event, EventKind, Join, JoinKind, StepBack
from chronicle.story.measured import RunView
from chronicle.story.sentences import noun
from chronicle.timeline.joins import Ending
from chronicle.timeline.trainings import APART_REASONS

_SHOWN_CHANGES = 4
_OUTCOMES = {
    "in NaN": "ended in NaN",
    "rolled back": "back to",
    "empty": "logged no point",
    "apart": "a training of its own",
    "evaluation": "an evaluation",
}


def lettered(diagnosis: Diagnosis) -> list[tuple[str, Join]]:
    """Joins with their letters, in the order of the attempts: A … Z, AA, AB …"""
    return [(_letters(i), join) for i, join in enumerate(diagnosis.joins)]


def _letters(index: int) -> str:
    return (_letters(index // 26 - 1) if index >= 26 else "") + chr(ord("A") + index % 26)


def event_id(join: Join) -> str:
    """The id of a join's event: ``rollback-a3``."""
    return f"{join.kind.value}-a{join.after + 1}"


def join_event(run: RunView, letter: str, join: Join) -> Event:
    """The event of a join: what happened, whether it went back far enough, and what changed."""
    axis, lost, name = run.axis, join.discarded_steps, run.timeline.attempts[join.after].name
    paused = f"a pause of {duration(join.gap_s)}" if join.gap_s is not None and join.gap_s >= 1 else ""
    later = f" after {paused}" if paused else ""
    if join.to_step < join.from_step:
        sentence = f"The run went back from {axis.way(join.from_step, join.to_step)}{later}"
        if join.kind is JoinKind.RELAUNCH:
            after = f"{axis.place(join.from_step)}{paused and f' and {paused}'}"
            sentence = f"The run was started again from {axis.place(join.to_step)} after {after}"
        sentence += f", and {axis.lost(lost)}" if lost else ""
        short = f"from {axis.way(join.from_step, join.to_step)}"
    else:
        sentence = f"The run went on at {axis.place(join.to_step)}{later}"
        sentence += f", and a branch of {axis.span(lost)} was given up" if lost else ""
        short = f"at {axis.place(join.to_step)}"
    changed = [_change_words(axis, join, change) for change in join.changes[:_SHOWN_CHANGES]]
    if rest := len(join.changes[_SHOWN_CHANGES:]):
        changed.append(f"{plural(rest, 'more value')} changed")
    moved = f" {changed[0][:1].upper()}{listed(changed)[1:]}." if changed else ""
    texts = f"{run.in_training(name, sentence)}.{_reach_words(axis, join)}{moved}", short, letter
    return Event(
        event_id(join),
        EventKind(join.kind.value),
        join.kind.value.capitalize(),
        *texts,
        step=join.to_step,
        duration_s=join.gap_s,
        attempt=name,
        severity=min(1.0, lost / max(1, join.from_step)),
    )


def _change_words(axis: Axis, join: Join, change: Change) -> str:
    """``the learning rate rose from 0.0003 to 0.001``; ``the seed changed from 1 to 2``."""
    before, after = change.before, change.after
    unit = f" {change.unit}" if change.unit else ""
    name = re.sub("^config/", "setting ", change.quantity)
    if before is None or after is None:
        verb = "were" if change.quantity.endswith("s") else "was"
        word = "stated as" if before is None else "no longer stated; it had been"
        return f"the {name} {verb} {word} {stated(after if before is None else before)}{unit}"
    if change.quantity.endswith(" read"):
        what = change.unit or change.quantity.removesuffix(" read")
        off = "left out" if after > before else "read again"
        return f"{stated(abs(after - before))} {what} were {off}"
    if change.at_step is not None and str not in (type(before), type(after)):
        place = "" if change.at_step == join.to_step else f" at {axis.place(change.at_step)}"
        ends = f"from {stated(before)} to {stated(after)}{unit}{place}"
        return f"the {change.quantity} {'rose' if after > before else 'fell'} {ends}"
    return f"the {name} changed from {stated(before)} to {stated(after)}{unit}"


def undone_pattern(join: Join) -> str:
    """The pattern of the disturbance that a rollback left behind, or into which it went back; else empty."""
    return str(join.evidence.get("left_pattern") or join.evidence.get("inside_pattern") or "")


def _reach_words(axis: Axis, join: Join) -> str:
    """Whether a rollback went back far enough, and whether the behaviour that it undid came again."""
    evidence = join.evidence
    pattern = undone_pattern(join)
    undone = f"the {noun(pattern)}" if pattern else "what had begun"
    again = f" came again at {axis.place(evidence['again_step'])}" if "again_step" in evidence else ""
    if "inside_start_step" in evidence:
        begun = axis.place(evidence["inside_start_step"])
        reach = f" The run did not go back far enough: {undone} had begun at {begun}"
        return f"{reach}, and it{again}." if again else f"{reach}."
    if "left_start_step" in evidence:
        reach = f" It restarted {axis.span(evidence['margin_steps'])} before {undone} began"
        return f"{reach}, which{again}." if again else f"{reach}."
    return f" {undone[:1].upper()}{undone[1:]}{again}." if again else ""


class Restart(NamedTuple):
    """Phrases about one join: what changed, what it cost, and the evidence for it."""

    changes: tuple[str, ...]
    costs: tuple[str, ...]
    why: tuple[str, ...]


def restart(join: Join, axis: Axis, gpus: float = 0, tokens_per_step: float = 0.0) -> Restart:
    """The phrases about a join; ``gpus`` and ``tokens_per_step`` are from run.toml (0: not stated)."""
    changes = tuple(_change_words(axis, join, change) for change in join.changes)
    costs = tuple(_cost_words(join, axis, gpus, tokens_per_step))
    return Restart(changes, costs, tuple(_cause_words(join, axis)))


def outcome(ending: Ending, axis: Axis) -> str:
    """What became of an attempt: ``crashed, back to step 800, 199 steps discarded, after 42 min``."""
    join, then = ending.join, _OUTCOMES.get(ending.then, ending.then)
    words = [_OUTCOMES.get(ending.how, ending.how), then]
    if join is not None:
        undone = undone_pattern(join)
        words[0] = words[0] or (BY_ID[undone].title if undone in BY_ID else undone or "")
        words[0] = words[0][:1].lower() + words[0][1:] if words[0][1:2].islower() else words[0]
        words[1] += f" {axis.place(join.to_step)}" if then == "back to" else ""
        # Steps that a resume leaves behind are a branch of their own, and not lost by this attempt.
        lost = 0 if join.kind is JoinKind.RESUME else join.discarded_steps
        words += [f"{axis.span(lost)} discarded" if lost else ""]
        words += [gap(join.gap_s)]
    return ", ".join(word for word in words if word)


def step_back_words(back: StepBack) -> str:
    """What a step that goes back or stays means, and the evidence for it."""
    evidence, where = back.evidence, " beside ".join(reversed(back.attempts))
    if back.cause == "disorder":
        far = evidence.get("farthest_rows")
        how = "put in order by wall clock" if "mended_by_wall_clock" in evidence else "sorted by step"
        place = f", at most {plural(far, 'row')} from their place" if far else ""
        return f"{where}: {count(back.count)} of {count(evidence['rows'])} rows out of order{place}; {how}"
    if back.cause == "repeats":
        same = f", {count(evidence['equal_values'])} of them with an equal value"
        return f"{where}: {plural(back.count, 'row')} at the step of the row before{same}; kept"
    what = "overtakes nothing" if evidence["because"] == "evaluation" else "a training of its own"
    return f"{where}: {', '.join(_separate_words(evidence))}; {what}"


def _separate_words(evidence: Mapping[str, Any]) -> Iterator[str]:
    if fact := APART_REASONS[evidence["because"]].fact:
        yield fact
    if evidence.get("together_s"):
        yield f"both ran for {duration(evidence['together_s'])}"
    yield f"ends {plural(evidence['ends_apart_steps'], 'step')} apart"
    if "values_apart_share" in evidence:
        equal = plural(evidence["common_samples"], "equal step")
        yield f"values {100 * evidence['values_apart_share']:.2g} % apart at {equal}"
    if "same_process" in evidence:
        yield "the same process" if evidence["same_process"] else "another process"


def gap(seconds: float | None) -> str:
    """A wall-clock gap: ``after 42 s``, ``after 7.5 h``; empty if the log has no times."""
    if seconds is None or not math.isfinite(seconds) or abs(seconds) < 1:
        return ""
    return f"after {duration(seconds)}" if seconds > 0 else f"{duration(-seconds)} before that one ended"


def _cost_words(join: Join, axis: Axis, gpus: float, tokens_per_step: float) -> Iterator[str]:
    lost, seconds = join.discarded_steps, join.evidence.get("discarded_s") or 0.0
    if lost:
        yield axis.span(lost)
    if tokens := join.evidence.get("discarded_tokens", lost * tokens_per_step):
        yield f"{value_words(float(tokens))} tokens"
    if seconds >= 1:
        yield duration(seconds)
        if gpus:
            yield f"{level(seconds / 3600 * gpus)} GPU hours"


def _cause_words(join: Join, axis: Axis) -> Iterator[str]:
    evidence = join.evidence
    if reach := _reach_words(axis, join).strip(" ."):
        yield f"{reach[:1].lower()}{reach[1:]}"
    if "metric" in evidence:
        equal = evidence.get("common_samples", 0)
        where = f"at {plural(equal, 'equal step')}" if equal else "at the seam"
        levels = f"{level(evidence['loss_before'])} → {level(evidence['loss_after'])}"
        yield f"{evidence['metric']} {levels} {where}"
    if "lr_ratio" in evidence and abs(evidence["lr_ratio"] - 1) < 0.01:
        yield "learning rate as before"
    if "same_process" in evidence:
        host = "the same host" if evidence.get("same_host") else "another host"
        yield "the same process" if evidence["same_process"] else f"another process on {host}"
    yield from (f"the same {name}" for name in ("run", "seed") if evidence.get(f"same_{name}"))
