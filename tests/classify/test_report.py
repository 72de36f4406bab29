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

    return Rule.of_losses("toy", ("plateau",), search)


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


def test_a_finding_that_does_not_stand_explains_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spike would be renamed; what contradicts the new name leaves the old one."""

    def search(view: View, attempt: AttemptView, loss: Series) -> list[Finding]:
        near = Check("begins after the join", 90, "samples", "<= 8", False)
        return [renamed(f, "resume-spike", [near], why="") for f in typed_findings(view, loss)]

    toy = Rule.of_losses("toy", ("resume-spike",), search, replaces=frozenset((FAST,)))
    monkeypatch.setattr(verdict, "RULES", (*verdict.RULES, toy))
    assert FAST in diagnosis(Curve(1).spike(0.5, 20, rise=2, fall=8).run()).patterns
