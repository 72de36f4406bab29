"""Entries and sites for tests of pages: small, complete and without any log behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from chronicle.classify.patterns import PATTERNS
from chronicle.model import (
    Change,
    Criterion,
    Diagnosis,
    Entry,
    Event,
    EventKind,
    Fact,
    Figure,
    Finding,
    Join,
    JoinKind,
    NotAssessed,
    Note,
    Verdict,
)
from chronicle.pages.gallery import Cause, Condition, Lookalike, PatternPage, SiteData, Source, load_gallery
from chronicle.workspace.folders import shipped_file


def picture(name: str, alt: str, caption: str = "") -> Figure:
    """A figure of four files, as draw makes them."""
    sizes = {"wide": (900, 300), "narrow": (344, 260)}
    return Figure(name, {k: (f"{name}-{k}.svg", *size) for k, size in sizes.items()}, alt, caption)


THUMB = Figure("thumb", {"any": ("thumb.svg", 480, 240)}, "")

SPIKE = Finding(
    pattern="spike-no-full-recovery",
    metric="train/loss",
    attempt="attempt-1.jsonl",
    start_step=58_897,
    peak_step=58_901,
    end_step=None,
    severity=0.8,
    confidence=0.7,
    id="train/loss:rise@58897",
    evidence={"height_log": 0.612, "before_loss": 2.26, "peak_loss": 4.17, "recovery_steps": None},
    criteria=(
        Criterion("rise above the extrapolated trend", 1.91, "nats", ">= 6 scales", True),
        Criterion("Back at the trend for 100 steps", None, "steps", "≤ 2 000 steps", False),
        Criterion("Validation loss agrees", None, "nats", "≤ 2 scales", None),
    ),
    runner_up="divergence-after-spike",
    runner_up_if="the loss went on rising for 400 steps more",
)
DIP = Finding(
    "spike-fast-recovery", "train/loss", "attempt-1.jsonl", 22_308, 22_310, 22_402, 0.1, 0.9, id="rise@22308"
)


NOTE = Note("Back to 56 000.\nNot 58 500.", "2026-11-18T22:41+01:00", "decision", 58_900, "ada")
EVENTS = (
    Event("launch", EventKind.LAUNCH, "Launch", "The log begins at step 0.", step=0),
    Event(
        "rise-a1-22000",
        EventKind.FINDING,
        "Fast-recovering spike",
        "The loss jumped from 2.52 to 3.88 nats/token at step 22\u202f308 and was back after 94 steps.",
        "2.52 → 3.88 nats/token at step 22\u202f308",
        "1",
        step=22_308,
        end_step=22_402,
        verdict=Verdict.GOOD,
        severity=0.1,
        ending="back after 94 steps",
        patterns=("spike-fast-recovery",),
        parts=(DIP.id,),
    ),
    Event(
        "rise-a1-59000",
        EventKind.FINDING,
        "Spike, not fully recovered",
        "The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897 and came back only in part.",
        "2.26 → 4.17 nats/token at step 58\u202f897",
        "2",
        step=58_897,
        time="2026-11-18T19:02:00Z",
        elapsed_s=36_000.0,
        verdict=Verdict.BAD,
        severity=0.8,
        ending="not fully recovered",
        causes=("94 steps after the fast-recovering spike",),
        patterns=("spike-no-full-recovery",),
        parts=(SPIKE.id,),
        also=("rise-a1-58000",),
    ),
    Event(
        "rollback-a2",
        EventKind.ROLLBACK,
        "Rollback",
        "The run went back from step 61\u202f400 to step 56\u202f000 and 5\u202f400 steps were discarded.",
        "from step 61\u202f400 to step 56\u202f000",
        "A",
        step=56_000,
    ),
    Event(
        "note-202611182241",
        EventKind.DECISION,
        "Decision",
        NOTE.text,
        "Back to 56 000.",
        step=58_900,
        time=NOTE.at_time,
        of="rise-a1-59000",
        who="ada",
    ),
    Event(
        "end",
        EventKind.END,
        "End",
        "The log ends at step 100\u202f000.",
        "ends at step 100\u202f000",
        step=100_000,
    ),
)
CALM = Event(
    "near-perfect-a1-0",
    EventKind.FINDING,
    "Near-perfect run",
    "The loss fell from 4.00 to 2.00 nats/token over steps 0 to 5\u202f000.",
    "4.00 → 2.00 nats/token, calm",
    "1",
    step=0,
    end_step=5_000,
    verdict=Verdict.GOOD,
    patterns=("near-perfect",),
)


def rollback() -> Entry:
    """A run of two attempts with one rollback, two findings, notes, and most of what a page can show."""
    left = {"left_pattern": "spike-no-full-recovery", "left_start_step": 58_897, "margin_steps": 2_897}
    changes = (Change("learning rate", 1e-4, 7.5e-5, None, 56_000), Change("seed", 1, 2))
    joins = (Join(JoinKind.ROLLBACK, 0, 1, 61_400, 56_000, 5_400, 27_000.0, evidence=left, changes=changes),)
    return Entry(
        schema="chronicle-entry/2",
        run_id="demo-rollback",
        title="A rollback with a lower learning rate",
        verdict=Verdict.BAD,
        badge="bad",
        headline="The loss jumped from 2.26 to 4.17 nats/token at step 58\u202f897.",
        story=("The verdict is bad because of “Spike, not fully recovered” at step 58\u202f897.",),
        events=EVENTS,
        diagnosis=Diagnosis(
            verdict=Verdict.BAD,
            patterns=("spike-fast-recovery", "spike-no-full-recovery"),
            findings=(SPIKE, DIP),
            joins=joins,
            not_assessed=(NotAssessed("grad-norm-precursor", ("grad-norm",)),),
            because="One spike was not recovered.",
        ),
        facts=(
            Fact("Points logged", 106_080, "points", "counted"),
            Fact("Lowest train/loss", 2.14, None, "at step 99\u202f000"),
            Fact("Tokens", None, "tokens", ""),
        ),
        costs=(Fact("Steps discarded", 5_400, "steps", "of 106\u202f080 trained, sum over joins"),),
        notes=(NOTE,),
        figures=(
            picture("whole", "Loss over 100 thousand steps", "train/loss, whole run."),
            picture("finding-2", "The spike at step 58\u202f897", "Same steps on every panel."),
            THUMB,
        ),
        warnings=("attempt-2.jsonl: the last record is cut",),
        about={"project": "Atlas", "licence": "CC0-1.0", "source": "https://example.org/log", "data": "log"},
        attempts=(_attempt("attempt-1.jsonl", 0, 61_400), _attempt("attempt-2.jsonl", 56_000, 100_000)),
        metrics=(
            {
                "metric": "train/loss",
                "role": "loss",
                "unit": "nats/token",
                "points": 106_080,
                "first_step": 0,
                "last_step": 100_000,
            },
        ),
        inputs_sha256="0" * 64,
        classifier_version="1",
    )


def healthy(run_id: str = "calm", **changes: Any) -> Entry:
    """A run of one attempt in which nothing happened."""
    quiet = Diagnosis(Verdict.GOOD, ("near-perfect",), (), (), (), "Nothing disturbed the loss.")
    entry = replace(
        rollback(),
        run_id=run_id,
        title=f"Calm run {run_id}",
        verdict=Verdict.GOOD,
        badge="good",
        headline="The loss fell from 4.00 to 2.00 nats/token.",
        story=("Nothing disturbed the loss.",),
        events=(CALM,),
        diagnosis=quiet,
        costs=(Fact("Steps discarded", 0, "steps", ""),),
        notes=(),
        figures=(picture("whole", "Loss falls"), THUMB),
        warnings=(),
        attempts=(_attempt("log.csv", 0, 5_000),),
    )
    return replace(entry, **changes)


def many(number: int) -> list[Entry]:
    """Runs with findings, projects, joins and long words, no two alike."""
    shown = [p for p in PATTERNS if p.id != "near-perfect"]
    return [_varied(i, shown[i % len(shown)].id) for i in range(number)]


def site(entries: Sequence[Entry], **changes: Any) -> SiteData:
    """A site with the shipped templates and gallery."""
    whole = SiteData(entries, gallery(), (), "chronicle", (shipped_file("templates"),))
    return replace(whole, **changes)


LOST = PatternPage(
    id="spike-no-full-recovery",
    title="Spike, not fully recovered",
    verdict=Verdict.BAD,
    lead="It came down, but not to where it was. Look at the trend, not at the level.",
    also_called=("lasting spike",),
    typed="unstable instability",
    criteria=(Condition("Left at the end", "≥ 6 scales", "training loss"),),
    lookalikes=(
        Lookalike("spike-fast-recovery", "Fast-recovering spike", Verdict.GOOD, "It is back at the trend."),
        Lookalike(None, "Change of data", Verdict.GOOD, "It has no peak."),
    ),
    causes=(Cause("A bad batch", "guess", "Look at the batches before it."),),
    now=("Roll back to before it.",),
    prevent=("Clip updates.",),
    sources=(Source("A book", "https://example.org/book", "Chapter 2."),),
    specimens=("demo-rollback",),
    body="See [that one](../good/spike-fast-recovery.md) and [the guide](../../docs/classifier.md).",
)
FAST = PatternPage("spike-fast-recovery", "Fast-recovering spike", Verdict.GOOD, "A peak. It frightens.")


def small(*entries: Entry, **changes: Any) -> SiteData:
    """A site with two pattern pages: small enough to be written out in a test."""
    return site(entries, patterns=(FAST, LOST), **changes)


@cache
def gallery() -> tuple[PatternPage, ...]:
    """The shipped pattern pages."""
    return tuple(load_gallery([shipped_file("gallery")]))


def _varied(i: int, pattern: str) -> Entry:
    from chronicle.classify.patterns import BY_ID

    base, verdict = rollback(), BY_ID[pattern].verdict
    findings = tuple(
        replace(
            SPIKE, pattern=pattern, start_step=1000 * k + i, end_step=1000 * k + i + 90 if k % 2 else None
        )
        for k in range(1, 2 + i % 7)
    )
    diagnosis = replace(base.diagnosis, verdict=verdict, patterns=(pattern,), findings=findings)
    lead = EVENTS[2]
    events = tuple(
        replace(
            lead,
            id=f"rise-a1-{f.start_step}",
            mark=str(k),
            step=f.start_step,
            patterns=(pattern,),
            verdict=verdict,
        )
        for k, f in enumerate(findings, 1)
    )
    return replace(
        base,
        run_id=f"run-{i:04d}-with-a-rather-long-name",
        title=f"Run {i}: {BY_ID[pattern].title.lower()} under the {i}th configuration",
        verdict=verdict,
        badge=verdict.value,
        events=events,
        diagnosis=diagnosis,
        about={**base.about, "project": f"Project {i % 12}"},
        figures=(picture("whole", "Loss"), picture("finding-1", "Finding"), THUMB),
    )


def _attempt(name: str, first: int, last: int) -> dict[str, Any]:
    return {
        "name": name,
        "first_step": first,
        "last_step": last,
        "points": last - first,
        "started": "",
        "ended": "",
        "truncated": False,
        "axis": "step",
        "faults": [],
    }
