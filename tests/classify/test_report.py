"""What a rule says against itself is not published."""

from __future__ import annotations

import pytest
from tests.classify.asking import diagnosis
from tests.curves import Curve

from chronicle.classify import verdict
from chronicle.classify.report import At, Check, Rule, at_least, finding, renamed, side
from chronicle.classify.rules.loss_shapes import FAST, typed_findings
from chronicle.classify.thresholds import DEFAULTS
from chronicle.classify.view import AttemptView, View, look
from chronicle.model import Finding, Series
from chronicle.timeline import stitch


def view() -> View:
    return look(stitch(Curve(1).spike(0.5, 20, rise=2, fall=8).run().attempts), DEFAULTS)


def told_by(check: Check) -> Rule:
    def search(view: View, attempt: AttemptView, loss: Series) -> list[Finding]:
        return [finding("plateau", At(attempt, loss, 7), [check], severity=0.5, confidence=0.9)]

    return Rule("toy", ("plateau",), Rule.by_loss(search))


@pytest.mark.parametrize(
    ("check", "published"),
    [
        (at_least("height", 2.0, "log units", 1.0), True),
        (at_least("height", 1.0, "log units", 2.0), False),
        (at_least("height", float("nan"), "log units", 2.0), False),
        (Check("validation", None, "", "stays", None), True),
        (side("gained in one jump", 0.2, "of the height", False, (">= 0.6", "< 0.6")), True),
    ],
)
def test_a_finding_needs_each_of_its_criteria(check: Check, published: bool) -> None:
    assert [f.pattern for f in told_by(check).find(view())] == ["plateau"] * published


def test_a_side_says_which_one_it_is() -> None:
    for holds, limit in ((True, "yes"), (False, "no")):
        check = side("ends in NaN", float(holds), "", holds, ("yes", "no"))
        assert (check.limit, check.met) == (limit, True)


def test_a_finding_is_held_against_those_of_its_metric_and_attempt_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = Rule("toy", (), lambda _: (), replaces=frozenset({"plateau"}), covers=frozenset({FAST}))
    places = [(metric, attempt) for metric in ("loss", "val", None) for attempt in ("a", "b", None)]
    known = [made(p, *place, at) for p in ("plateau", FAST) for place in places for at in (5, 8, 11)]
    new = [made("level-shift", "loss", "a", 5, 9), made("level-shift", None, "b", 8)]
    named = [[(n, f) for n in new if (n.metric, n.attempt) == (f.metric, f.attempt)] for f in known]
    kept = [f for f, pairs in zip(known, named, strict=True) if not any(explains(*pair) for pair in pairs)]
    asked, ask = [], Rule.explains

    def counted(rule: Rule, new: Finding, known: Finding) -> bool:
        asked.append(known)
        return ask(rule, new, known)

    monkeypatch.setattr(Rule, "explains", counted)
    assert list(rule.unexplained(known, new)) == kept and len(known) - len(kept) == 6
    assert len(asked) == sum(map(len, named)) == 12


def made(
    pattern: str, metric: str | None, attempt: str | None, start: int, end: int | None = None
) -> Finding:
    return Finding(pattern, metric, attempt, start, None, end, severity=0.5, confidence=0.9)


def explains(new: Finding, known: Finding) -> bool:
    """A plateau at the same step, and a spike that begins before the end."""
    end = 99 if new.end_step is None else new.end_step
    at = known.start_step
    return at == new.start_step if known.pattern == "plateau" else new.start_step <= at <= end


def test_a_finding_that_does_not_stand_explains_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spike would be renamed; what contradicts the new name leaves the old one."""

    def search(view: View, attempt: AttemptView, loss: Series) -> list[Finding]:
        near = Check("begins after the join", 90, "samples", "<= 8", False)
        return [renamed(f, "resume-spike", [near], why="") for f in typed_findings(view, loss)]

    toy = Rule("toy", ("resume-spike",), Rule.by_loss(search), replaces=frozenset((FAST,)))
    monkeypatch.setattr(verdict, "RULES", (*verdict.RULES, toy))
    assert FAST in diagnosis(Curve(1).spike(0.5, 20, rise=2, fall=8).run()).patterns
