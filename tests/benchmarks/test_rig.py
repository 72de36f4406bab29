"""The measuring of the classifier: counting, fitting, degraded copies; and the law of degraded copies."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import islice

import numpy as np
import pytest
from benchmarks.classifier import confidences, degraded, rates, sensitivity, tables
from benchmarks.classifier.calibrate import MODULE, with_rate, with_shares
from benchmarks.classifier.confidences import Said
from benchmarks.classifier.judging import judged
from benchmarks.classifier.rates import Count
from benchmarks.curves.cases import confounded, contexts, shaped
from benchmarks.curves.kinds import SHAPES
from tests.classify.conftest import compiled_kernel  # noqa: F401 (a run is judged ten times faster)
from tests.curves import Curve
from tests.depth import few

from chronicle.classify import DEFAULTS, Thresholds, classify
from chronicle.model import Diagnosis, Role, Series, Verdict
from chronicle.score.labels import Event, Label
from chronicle.timeline import stitch

LABEL = Label(
    "x",
    "bad",
    required=("divergence-no-spike",),
    allowed=("quantised-loss",),
    main_series=("loss",),
    events=(Event("divergence-no-spike", 100, 10, end_step=None),),
)


def series(values: list[float], role: Role = Role.LOSS) -> Series:
    n = len(values)
    return Series("loss", role, np.arange(n), np.array(values), np.full(n, np.nan))


# ---- rates of false alarms


def test_the_fit_finds_the_power_law_that_the_alarms_follow() -> None:
    counts = {c: Count(round(20 * 2.0 * c**-3.0), 2_000_000) for c in rates.CAUTION}
    law = rates.fit(counts)
    assert law.rate == pytest.approx(2.0, rel=0.1) and law.power == pytest.approx(3.0, abs=0.15)
    assert law.at(2.0) == pytest.approx(law.rate / 8, rel=0.2)


def test_no_alarm_at_all_still_gives_a_fit() -> None:
    law = rates.fit({c: Count(int(c < 0.5), 1_000_000) for c in rates.CAUTION})
    assert 0 < law.rate < 0.2 and law.power > 0


def test_sources_to_verify_by_are_others_than_those_to_set_by() -> None:
    setting, verifying = rates.halves()
    assert setting and verifying and not {r.source for r in setting} & {r.source for r in verifying}


# ---- confidences


def finding(pattern: str, start: int, confidence: float = 0.8) -> dict[str, object]:
    return {
        "pattern": pattern,
        "start_step": start,
        "series": "loss",
        "attempt": "a",
        "confidence": confidence,
    }


@pytest.mark.parametrize(
    ("event_found", "right"),
    [
        (finding("divergence-no-spike", 103), [True]),
        (finding("divergence-after-spike", 103), [False]),  # there, but not its name
        (finding("level-shift", 50), [False]),  # nothing is there
        (finding("level-shift", 300), []),  # inside the event: nobody said
        (finding("quantised-loss", 0), []),  # a property that is allowed
        (finding("near-perfect", 0), []),  # a matter of how many runs are healthy
    ],
)
def test_a_finding_is_right_if_it_names_a_labelled_event(
    event_found: dict[str, object], right: list[bool]
) -> None:
    judgements = confidences.judged("s", LABEL, {"findings": [event_found]})
    assert [s.right for s in judgements] == right


def test_knots_rise_and_are_never_sure() -> None:
    rng = np.random.default_rng(0)
    evidence = rng.uniform(0.5, 1, 2000)
    judgements = [Said("s", "p", float(e), bool(rng.random() < e**2)) for e in evidence]
    given, right = zip(*confidences.knots(judgements), strict=True)
    assert (np.diff(given) > 0).all() and (np.diff(right) > 0).all() and right[0] > 0 and right[-1] < 1
    assert np.abs(np.array(right) - np.array(given) ** 2).max() < 0.08
    always = [replace(s, right=True) for s in judgements]
    assert confidences.knots(always) == ((pytest.approx(0.5, abs=0.01), pytest.approx(1.0, abs=1e-3)),)


def test_a_source_is_judged_by_shares_that_were_counted_without_it() -> None:
    judgements = [Said("a", "p", 0.7, True)] * 100 + [Said("b", "p", 0.7, False)] * 100
    out = confidences.cross_validated(judgements)
    assert out[:100] == pytest.approx(0.0098, abs=1e-3) and out[100:] == pytest.approx(0.99, abs=1e-3)
    assert (
        confidences.brier(out, np.array([s.right for s in judgements])) > 0.9
    )  # sources that say the opposite


def test_rare_patterns_are_not_counted() -> None:
    assert confidences.table([Said("a", "p", 0.7, True)] * (confidences.FEWEST - 1)) == {}


def test_numbers_are_written_as_the_formatter_lays_them_out() -> None:
    text = MODULE.read_text("utf-8")
    table = {"b": ((0.5, 0.25), (0.75, 1.0)), "a": ((0.5, 0.5),)}
    made = with_shares(with_rate(text, rates.Fit(1.234, 5.678)), table)
    begin, end = made.index("ALARM_RATE ="), made.index("}\n", made.index("CONFIDENCE:")) + 2
    assert made[begin:end] == (
        "ALARM_RATE = 1.23\nALARM_POWER = 5.68\n\n"
        "# By pattern: (confidence that the rule gave, share of such findings that were right), rising in"
        " both.\n"
        "CONFIDENCE: dict[str, tuple[tuple[float, float], ...]] = {\n"
        '    "a": ((0.500, 0.500),),\n'
        '    "b": ((0.500, 0.250), (0.750, 1.000)),\n'
        "}\n"
    )
    assert made[end:] == text[text.index("\n}\n", text.index("CONFIDENCE:")) + 3 :]


# ---- thresholds, 30 % lower and higher


def test_a_probability_is_moved_in_its_exponent() -> None:
    assert sensitivity.changed("tail", 1.3).tail == pytest.approx(DEFAULTS.tail**1.3, rel=1e-9, abs=0.0)
    assert sensitivity.changed("cusum", 0.7).cusum == pytest.approx(0.7 * DEFAULTS.cusum)


def test_what_moves() -> None:
    base = sensitivity.Numbers(0.8, 0.7, 0.9, 1.0, 51)
    assert not replace(base, recall=0.805, alarms=1.2).moved(base)
    assert replace(base, specimens=50).moved(base) and replace(base, strict=0.68).moved(base)


def test_a_trial_is_made_again_only_with_what_it_asked_for() -> None:
    made: list[Thresholds] = []

    def trial(limits: Thresholds) -> bool:
        made.append(limits)
        return limits.rise > 0.03

    known = {"specimens": [sensitivity.watched(trial)]}
    assert known == {"specimens": [(False, {"rise"})]}
    assert sensitivity.again({"specimens": [trial]}, known, "cusum", 1.3) == {"specimens": [False]}
    assert len(made) == 1
    assert sensitivity.again({"specimens": [trial]}, known, "rise", 1.3) == {"specimens": [True]}


def test_watched_thresholds_are_the_defaults() -> None:
    run = stitch(Curve(1).spike(0.5, 20, fall=4).run().attempts)
    diagnosis, asked = sensitivity.watched(lambda limits: classify(run, limits))
    assert diagnosis == classify(run) and {"cusum", "rise", "fast_steps"} <= asked
    assert not {"halvings", "ratio_off", "overfit_late"} & asked


# ---- degraded copies


def test_the_copies_do_what_they_say() -> None:
    loss = series([1.0 + k / 1000 for k in range(200)])
    assert len(degraded.every_tenth(loss)) == 20 and list(degraded.every_tenth(loss).steps[:3]) == [0, 10, 20]
    assert len(degraded.every_tenth(series([1.0] * 100))) == 100  # too short to be thinned
    assert set(degraded.bfloat16(series([1.001, 3.14159, -0.1001, 0.0])).values) == {
        1.0,
        3.140625,
        -0.10009765625,
        0,
    }
    assert list(degraded.running_mean(np.array([1.0, 2.0, np.nan, 2.0]))[[0, 1, 3]]) == pytest.approx(
        [1, 1.1, 1.19]
    )
    assert np.isnan(degraded.running_mean(np.array([1.0, np.nan]))[1])
    assert degraded.loss_only(series([1.0], Role.GRAD_NORM)) is None


def said_of(verdict: Verdict, *patterns: str) -> Diagnosis:
    return Diagnosis(verdict, patterns, (), (), ())


def test_another_grave_word_is_one_that_neither_the_whole_log_nor_the_label_knows() -> None:
    whole = said_of(Verdict.WORRYING, "spike-slow-recovery", "overfitting")
    part = said_of(Verdict.BAD, "spike-fast-recovery", "divergence-no-spike", "quantised-loss", "level-shift")
    answer = degraded.compare("r", "c", whole, part, None)
    assert answer.other == {"divergence-no-spike"} and answer.unsaid == {"overfitting", "spike-slow-recovery"}
    assert not degraded.compare("r", "c", whole, part, LABEL).other  # the label asks for it


@cache
def generated_answers() -> tuple[degraded.Answer, ...]:
    cases = [shaped(kind, "every 10th", min(20.0, kind.most), 5) for kind in SHAPES] + [*contexts([5])]
    collected: list[degraded.Answer] = []
    for case in few([case for case in cases if case is not None], 20):
        collected += degraded.answers(case.kind, stitch(case.attempts), case.label)
    return tuple(collected)


# Shares that were measured, and a run or two more: a rule that makes it worse has to say so here.
BARS = {"loss only": 0.06, "every 10th point": 0.1, "rounded to bfloat16": 0.06, "smoothed": 0.15}


@pytest.mark.slow
@pytest.mark.parametrize("copy", few(degraded.COPIES, 2))
def test_a_run_that_is_logged_worse_does_not_get_another_grave_word(copy: str) -> None:
    """Of real runs the share stands in docs/classifier-confidence.md; it is not zero, and must not grow."""
    mine = [a for a in generated_answers() if a.copy == copy]
    wrong = [f"{a.run}: {sorted(a.other)}" for a in mine if a.other]
    assert len(mine) >= 20 and len(wrong) <= BARS[copy] * len(mine), wrong


def test_every_table_of_generated_cases_can_be_made() -> None:
    """A few cases each: a broken script shows here, and not when somebody makes the guide's numbers."""
    events, calm = (list(judged(islice(cases([0]), 6))) for cases in (contexts, confounded))
    heads = [make(events).split("\n")[0] for make in (tables.contexts, tables.confusion, tables.placing)]
    assert [*heads, tables.healthy_kinds(calm).split("\n")[0]] == [
        "| kind | passed | found | named | runs | missing, or wrongly named |",
        "| event | right name | called instead |",
        "| event | median, samples | median size | 90 % within | late, noise scales | found |",
        "| healthy | called good | false alarms /100k | points | called |",
    ]
