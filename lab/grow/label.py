"""Labels a grown training by its injected cause and by what it measurably did, never by the classifier.

Each judge below knows one family of causes. It adds an event only where the loss (or another series) departs
from the twin beyond doubt; a departure that is debatable becomes an optional event; where nothing happened
the label says that nothing did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chronicle.classify.patterns import BY_ID
from chronicle.model import Verdict
from chronicle.score.labels import Event as Judged
from chronicle.score.labels import Label
from lab.faults import Kind
from lab.grow import context, others, resumes, shapes
from lab.grow.facts import AttemptLog, Case

# Right, or no harm, beside any other answer: properties of the log and what another series explains.
HARMLESS = (
    "batch-ramp", "grad-norm-precursor", "lr-decay-drop", "near-perfect", "noisy-healthy", "quantised-loss",
)  # fmt: skip
# Nobody may say these where they did not happen.
STRONG = (
    "failed-run", "frozen-metric", "grokking", "hang", "loss-scale-collapse", "lr-not-restored", "nan-inf",
    "overfitting", "reinitialised", "repeat-data", "resume-ratio-skew", "throughput-drop",
)  # fmt: skip
SPIKES = ("spike-fast-recovery", "spike-slow-recovery", "spike-no-full-recovery")
TROUBLE = (
    *SPIKES, "divergence-after-spike", "divergence-no-spike", "level-shift", "multi-dataset-spike",
    "resume-spike", "plateau", "rising-spike-rate",
)  # fmt: skip
ORDER = (Verdict.BAD, Verdict.UNEXPECTED, Verdict.WORRYING, Verdict.GOOD)

Judge = Callable[[Case], None]

JUDGES: dict[Kind, tuple[Judge, ...]] = {
    **dict.fromkeys(shapes.SHAPED, (shapes.shapes,)),
    Kind.LABELS: (shapes.shapes, shapes.levels),
    Kind.LR_KICK: (shapes.shapes, others.stopped),
    Kind.HARDER: (shapes.levels,),
    Kind.MIX: (shapes.levels,),
    Kind.STALE_LOG: (others.frozen,),
    Kind.NAN: (others.nonfinite,),
    Kind.INF: (others.nonfinite,),
    Kind.OPTIMIZER_LOST: (resumes.restored,),
    Kind.SCHEDULE_LOST: (resumes.restored,),
    Kind.WEIGHTS_LOST: (resumes.restored,),
    Kind.REPEAT: (resumes.replays,),
    Kind.RATIO_SKEW: (resumes.skews,),
    Kind.SLOW: (others.clocks,),
    Kind.HANG: (others.clocks,),
}


def judges(case: Case) -> list[Judge]:
    """Who looks at a case, by the kinds of its faults; the contexts look at every case."""
    kinds = {span.kind for span in case.spans}
    chosen = [judge for kind, mine in JUDGES.items() if kind in kinds for judge in mine]
    if case.recipe.has_twin and not case.spans:
        chosen.append(shapes.configuration)
    return [*dict.fromkeys(chosen), *context.JUDGES]


def label(case: Case) -> dict[str, Any]:
    """The table of label.toml."""
    for judge in judges(case):
        judge(case)
    asked = [e for e in case.events if not e.get("optional")]
    named = {p for entry in case.required for p in entry.split("|")}
    named |= {p for e in case.events for p in (e["pattern"], *e.get("also_ok", ()))}
    if not case.required:
        case.required.append("near-perfect|noisy-healthy")
    verdict, *also = verdicts(case, asked)
    healthy = not asked and verdict == "good"
    allowed = (set(HARMLESS) | named | case.allowed) - {r for r in case.required if "|" not in r}
    forbidden = (set(STRONG) | (set(TROUBLE) if healthy else set())) - allowed - named
    table = {
        "verdict": verdict,
        "verdict_also_ok": also,
        "required": case.required,
        "allowed": sorted(allowed),
        "forbidden": sorted(forbidden),
        "main_series": [case.spelled("loss")],
        "steps_healthy": healthy_points(case),
        "why": " ".join(case.said) or "Nothing was done to this training, and nothing happened.",
        "cause": case.recipe.cause,
        "aim": case.recipe.aim,
        "half": case.recipe.half,
        "measured": {k: float(f"{v:.4g}") for k, v in case.measured.items()},
        "events": sorted(case.events, key=lambda e: (e.get("attempt", ""), e["start_step"])),
    }
    return table


def verdicts(case: Case, asked: Sequence[dict[str, Any]]) -> list[str]:
    """The verdict of the gravest thing that must be found, then those of other right names."""
    main = [entry.split("|")[0] for entry in case.required] + [e["pattern"] for e in asked]
    made = [BY_ID[p].verdict for p in main if p != "quantised-loss"]
    first = next((v for v in ORDER if v in made), Verdict.GOOD)
    others = {p for entry in case.required for p in entry.split("|")[1:]}
    others |= {p for e in asked for p in e.get("also_ok", ())}
    also = {BY_ID[p].verdict for p in others - {"near-perfect", "noisy-healthy"}}
    if sum(e["pattern"] == "spike-fast-recovery" for e in asked) > 1:
        also.add(Verdict.WORRYING)
    if {*main} & {"spike-no-full-recovery", "level-shift"}:
        also |= {Verdict.BAD, Verdict.WORRYING}
    if {*main} & {"quantised-loss", "throughput-drop"}:
        also |= {Verdict.UNEXPECTED} | ({Verdict.GOOD} if "throughput-drop" in main else set())
    debated = {p for e in case.events if e.get("optional") for p in (e["pattern"], *e.get("also_ok", ()))}
    also |= {BY_ID[p].verdict for p in (debated | case.allowed if first is Verdict.GOOD else ())}
    return [str(first), *sorted(str(v) for v in also - {first})]


def healthy_points(case: Case) -> int:
    """Finite logged points of the loss outside every event that hides it."""
    events = tuple(
        Judged(e["pattern"], e["start_step"], e["tolerance_steps"], e.get("peak_step"), e.get("end_step"),
               series=e.get("series"), attempt=e.get("attempt"))
        for e in case.events
    )  # fmt: skip
    masking = Label("", "good", main_series=(case.spelled("loss"),), events=events).masking
    return sum(int(_free(log, masking).sum()) for log in case.logs)


def _free(log: AttemptLog, masking: Sequence[Judged]) -> Any:
    free = np.isfinite(log.series("loss"))
    for event in masking:
        if event.attempt in (None, log.name):
            first, last = event.window
            free &= (log.steps < first) | (log.steps > last)
    return free
