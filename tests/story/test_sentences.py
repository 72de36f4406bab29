"""The sentence of every pattern, in full, over the specimens; and what none of them may say."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.figures.runs import attempt, diagnosis, finding, rolled_back, run, series
from tests.story.told_specimens import NAMES, sentence_of, specimen

from chronicle.classify import classify
from chronicle.classify.patterns import PATTERNS
from chronicle.metrics.values import Axis, percent, plainly, rounded, stated, times
from chronicle.model import Attempt, EventKind, Finding, Role, Series
from chronicle.story import tell
from chronicle.story.measured import RunView
from chronicle.story.sentences import Sentences, finding_words
from chronicle.timeline import stitch
from chronicle.workspace.config import RunConfig

# fmt: off
GOLDEN = [
    (
        "lab-healthy",
        "1",
        "The loss fell from 5.58 to 1.31 over steps 0 to 999, and nothing disturbed it for "
        "long.",
    ),
    (
        "algoperf-vit-noisy",
        "1",
        "The loss fell from 6.91 to about 1.91 over steps 0 to 186\u202f500, scattering by about "
        "46 % from value to value, and nothing disturbed it for long.",
    ),
    (
        "bloom-176B-success",
        "2",
        "The loss jumped from 2.19 to 5.04 at step 31\u202f199 and was back after at most 180"
        " steps.",
    ),
    (
        "lab-decay-drop",
        "2",
        "The loss fell 5 % below its course when the learning rate began to decay at step 800.",
    ),
    (
        "lab-batch-ramp",
        "2",
        "The batch grew to 8 times its size in 3 stages over steps 250 to 750, and the loss "
        "scattered 34 % less.",
    ),
    (
        "algoperf-conformer-level-shift",
        "1",
        "The loss jumped from 5.67 to 114.5 at step 800 and was back after about 4\u202f000 "
        "steps.",
    ),
    (
        "idefics-losses-2023-06-04",
        "2",
        "The losses of cm4 and pmd rose together: the loss of pmd rose from 1.27 to at least 3.00 "
        "over steps 14\u202f026 to 14\u202f060 and was back after about 78 steps; that of cm4 rose "
        "from 1.76 to 1.92. It does not count against the run (the loss that decides the verdict did "
        "not rise with it).",
    ),
    (
        "lab-optimizer-lost",
        "1",
        "After the restart at step 480 the loss was 30 % higher, and half of that was gone after 2 "
        "steps.",
    ),
    (
        "lab-ratio-skew",
        "1",
        "The share of a source in the batch (ratio/sums) moved by 66 %, and the loss rose from 1.20 "
        "to about 1.40 over steps 450 to 458 after the restart and was back after 19 steps.",
    ),
    (
        "lab-schedule-lost",
        "1",
        "From step 600 on the learning rate was 8 % of what was expected, and it warmed up again.",
    ),
    (
        "algoperf-conformer-level-shift",
        "3",
        "The loss rose from 0.931 to about 1.11 over steps 60\u202f100 to 61\u202f100 and stayed 13 % "
        "above its earlier course.",
    ),
    (
        "lab-head-grows-batch-64",
        "2",
        "The gradient norm began to rise at step 606, 8 steps before the loss, and reached 4.5 times "
        "its level at step 641. The loss rose from 1.29 to about 1.77 over steps 614 to 645 and was back "
        "after 139 steps.",
    ),
    (
        "lab-shard-rots-lm",
        "2",
        "Spikes came more and more often: 10 spikes over steps 420 to 1\u202f260, 4 times "
        "as far apart in the first third as in the last.",
    ),
    (
        "lab-attention-logits",
        "1",
        "The largest attention logit grew from step 75 on, doubling about every 107 steps, and stood "
        "at 1\u202f318 at the end, 3.4 times its level halfway through the log; its highest was 1\u202f626.",
    ),
    (
        "lab-entropy-collapse",
        "1",
        "The entropy of the policy fell below 5 % of that at the start near step 24 and to 0.07 % at "
        "the end, and the objective settled at 0.600, where 1.00 would be the best.",
    ),
    (
        "lab-length-explosion",
        "1",
        "The answers grew from a mean length of 25.35 to 54.06 from step 376 on, and the objective gained "
        "nothing by it: it stood at 0.448.",
    ),
    (
        "lab-kl-blow-up",
        "1",
        "The objective was at its best level, 0.628, near step 1 035 and fell to 0.0329 at the end, "
        "while the divergence from the reference grew from 1.99 to 26.49.",
    ),
    (
        "lab-clip-saturation",
        "2",
        "The gradient was clipped at 100 % of the steps from step 0 on; its norm was 0.189 in the "
        "median.",
    ),
    (
        "lab-reward-hacked",
        "1",
        "The validation score fell from 0.581 to 0.0329 after step 225, while the objective rose from 0.899 "
        "to 2.00.",
    ),
    (
        "lab-router-collapse",
        "1",
        "The router sent 6 times the mean load to its busiest expert from step 5 on, and 75 % of the "
        "experts got almost nothing.",
    ),
    (
        "lab-z-loss-of-the-wrong-sign",
        "1",
        "The mean log Z of the output left its level at step 795 and moved from 7.67 to "
        "1\u202f300.",
    ),
    (
        "lab-schedule-too-short",
        "1",
        "The loss stopped falling at step 450, when the learning rate was nearly zero.",
    ),
    (
        "lab-overfitting",
        "1",
        "The validation loss was lowest at step 350 and rose by 67 % from there, while the "
        "training loss fell by 62 %.",
    ),
    (
        "lab-slow-node",
        "1",
        "The training became 43 % slower at step 500 and stayed so for 399 steps, which cost "
        "the time of about 170 steps.",
    ),
    (
        "lab-lr-kick",
        "1",
        "The loss jumped from 1.44 to 7.37 at step 501 and came back only in part: when the "
        "log ended it stood 38 % above its earlier course.",
    ),
    (
        "104B-glitch-1",
        "1",
        "The loss jumped from 6.31 to at least 8.19 at step 7\u202f005 and came back only "
        "in part: by step 8\u202f959 it stood 13 % above its earlier course.",
    ),
    (
        "104B-glitch-7-10-run-7",
        "1",
        "The loss turned upwards at step 8\u202f878, without a spike, rose from 4.84 to 6.41 by step "
        "9\u202f440 and did not come down again.",
    ),
    (
        "104B-en-fail",
        "1",
        "All 8 attempts failed.",
    ),
    (
        "lab-nan",
        "1",
        "The loss was NaN from step 420 to the end (180 logged values).",
    ),
    (
        "lab-stale-log",
        "1",
        "The loss was logged as 1.52, the same to the last bit, over steps 499 to 639 (141 "
        "values).",
    ),
    (
        "lab-grokking",
        "1",
        "The validation score went from 0.252 to 0.903 over steps 710 to 1\u202f140, long "
        "after the training data had been learned at step 40.",
    ),
    (
        "lab-repeat-data",
        "1",
        "After the restart at step 400 the run was fed 160 steps of data that it had seen "
        "before: the loss was 15 % too low, and jumped by 21 % at step 560, where new data "
        "began. This branch was discarded later.",
    ),
    (
        "lab-weights-lost",
        "1",
        "The loss jumped from 1.44 to 5.56 at the restart at step 500, back at the value of the very "
        "first steps: what had been learned was lost.",
    ),
    (
        "lab-rounded-log",
        "2",
        "The loss was logged in multiples of 0.1: 46 different values in all.",
    ),
    (
        "idefics-losses-2023-06-04",
        "3",
        "The loss of pmd rose from 1.25 to 1.31 over steps 14\u202f501 to 14\u202f506 and was back "
        "after about 110 steps; that of the other data set did not move. It does not count against "
        "the run (the loss that decides the verdict did not rise with it).",
    ),
    (
        "algoperf-vit-failed",
        "1",
        "The loss began at 6.91 and ended at 6.95: the run did not learn.",
    ),
    (
        "13B-glitch-1-2",
        "3",
        "The loss jumped from 2.51 to at least 4.39 at step 72\u202f325 and was back after at"
        " most 950 steps.",
    ),
    (
        "lab-loss-scale",
        "1",
        "The loss rose from 1.80 to 483.7 over steps 654 to 755, falling back to 7.98 at step 674 in "
        "between, and did not come down again. The loss scale was halved 11 times over steps 654 to "
        "754, from 65\u202f536 to 32.",
    ),
    (
        "lab-repeat-data",
        "B",
        "The run went back from step 659 to step 560, and 100 steps were discarded. The run did not "
        "go back far enough: the data repetition had begun at step 400, and it came again at step 560.",
    ),
    (
        "104B-en-fail",
        "A",
        "The run went back from 6.59 to 3.48 billion tokens, and 3.21 billion tokens were discarded. "
        "It restarted 2.23 billion tokens before the divergence began.",
    ),
    (
        "lab-lost-nodes",
        "A",
        "The run went back from step 400 to step 361 after a pause of 52.8 min, and 40 steps were "
        "discarded. The job changed from 4711 to 4712 and the nodes changed from nid[001-004] to "
        "nid[001-002,004-005].",
    ),
    (
        "llama-7b-grokking",
        "1",
        "At step 3\u202f387, the loss fell by 18 % within 11 steps.",
    ),
    (
        "algoperf-criteo-nan",
        "2",
        "The gradient norm began to rise at step 39, 31 steps before the loss, and reached 3.7 times "
        "its level there. The loss turned upwards at step 70, without a spike, rose from 0.158 to at "
        "least 4.52 million by step 72 and did not come down again.",
    ),
    (
        "algoperf-criteo-nan",
        "3",
        "The loss was NaN or infinite from step 73 to the end (27 logged values).",
    ),
]
# fmt: on


def test_every_pattern_has_a_sentence() -> None:
    methods = {name.replace("_", "-") for name in vars(Sentences)}
    assert [p.id for p in PATTERNS if bool(p.says and p.short) is (p.id in methods)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mark", "sentence"), GOLDEN, ids=lambda value: str(value)[:30])
def test_the_sentences_of_specimens_in_full(name: str, mark: str, sentence: str) -> None:
    assert sentence_of(name, mark) == sentence


@pytest.mark.slow
def test_what_came_first_is_told_first() -> None:
    faults, attempts = (" ".join(specimen(n).story.paragraphs) for n in ("lab-lost-nodes", "104B-en-fail"))
    for fault, place in (
        ("Xid 79: GPU has fallen off the bus", 400),
        ("a fault was logged on nid005: “mlx5_core 0000:0c:00.0 ib0: Link down”.", 620),
    ):
        assert 0 < faults.index(fault) < faults.index(f"The run went back from step {place}")
    assert (
        "At step 400 a fault was logged on nid003: “Xid 79: GPU has fallen off the bus: the host cannot reach"
        " it any more (0000:41:00)”. The run went back"
    ) in faults
    assert (
        "a stop was logged on nid001: “Slurm job 4713 cancelled: preemption”. The run went on at step 801"
    ) in faults
    assert attempts.startswith(
        "There were 2 resume spikes over 3.48 to 5.18 billion tokens. "
        "After the restart at 15.69 billion tokens the loss was 13 % higher"
    )


@pytest.mark.slow
def test_the_golden_sentences_are_of_all_patterns() -> None:
    told_of = {
        pattern
        for name, mark, _ in GOLDEN
        for event in specimen(name).story.events
        if event.mark == mark
        for pattern in event.patterns
    }
    assert told_of | {"hang"} == {pattern.id for pattern in PATTERNS}


def test_the_sentence_of_a_hang_which_no_specimen_shows() -> None:
    steps, times = np.arange(400), np.arange(400.0) + 900.0 * (np.arange(400) >= 200)
    logged = Series("loss", Role.LOSS, steps, 2 + 2 * np.exp(-steps / 90), 1.7e9 + times)
    timeline = stitch([Attempt("a.csv", ("a.csv",), {"loss": logged})])
    diagnosis = classify(timeline)
    assert [
        event.sentence
        for event in tell(timeline, diagnosis, RunConfig(), ()).events
        if "hang" in event.patterns
    ] == ["Nothing was logged for 15 min after step 199."]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_telegrams(name: str) -> None:
    for event in specimen(name).story.events:
        if event.kind in (EventKind.NOTE, EventKind.DECISION, EventKind.FAULT):
            continue  # other people's words
        assert re.fullmatch(r"[A-Z].*[.]", event.sentence), event.sentence
        assert not re.search(
            r"log units|_(log|steps|share|samples)\b|not declared| 1 steps\b", event.sentence
        )
        if event.patterns:
            assert not re.search(r"\bnan\b|\de[+-]\d\d|at least at least", event.sentence)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_short_form_has_the_numbers_of_the_sentence(name: str) -> None:
    for event in specimen(name).story.events:
        if event.patterns:
            assert numbers(event.short) <= numbers(event.sentence), (event.short, event.sentence)


def numbers(text: str) -> set[str]:
    """Every number in a text, as it is written."""
    return set(re.findall(r"\d[\d\u202f.]*\d|\d", text))


def spiked(values: list[float], step: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Twenty values of 2, those given, and twenty values of 2 again."""
    loss = np.array([2.0] * 20 + values + [2.0] * 20)
    return step * np.arange(len(loss)), loss


PLAIN = RunConfig()


def sentence(steps: np.ndarray, loss: np.ndarray, of: Finding, config: RunConfig = PLAIN) -> str:
    timeline = run(steps, loss)
    return finding_words(RunView(timeline, diagnosis(of), config), of)[0].sentence


@pytest.mark.parametrize(
    ("step", "last", "config", "said"),
    [
        (1, 23, {}, "and was back after 3 steps."),
        (1, 21, {}, "and was back after 1 step."),
        (100, 2100, {}, "and was back within one logged sample (100 steps)."),
        (100, 2300, {}, "and was back after at most 400 steps."),
        (100, 2900, {}, "and was back after about 900 steps."),
        (100, 2100, {"resolution": 700.0}, "and was back after at most 800 steps."),
    ],
)
def test_a_duration_is_never_finer_than_the_log(
    step: int, last: int, config: dict[str, float], said: str
) -> None:
    steps, loss = spiked([9.0, 5.0, 3.0], step)
    spike = finding("spike-fast-recovery", 20 * step, last)
    whole = sentence(steps, loss, spike, RunConfig(**config))
    assert whole == f"The loss jumped from 2.00 to 9.00 at step {Axis().place(20 * step)[5:]} {said}"


def test_a_peak_that_nobody_saw_is_a_lower_bound() -> None:
    steps, loss = spiked([9.0, np.nan, np.nan])
    assert "to at least 9.00 at" in sentence(steps, loss, finding("divergence-after-spike", 20, None))
    steps, loss = spiked([9.0, 5.0, 9.0])
    spike = finding("spike-fast-recovery", 20, 23)
    assert "to 9.00 at" in sentence(steps, loss, spike)
    picture = RunConfig(data="digitised picture")
    assert "to at least 9.00 at" in sentence(steps, loss, spike, picture)


@pytest.mark.parametrize(
    ("noise", "peak", "said"),
    [
        (0.05, 2.1, "to 4.50"),  # a peak of its own
        (0.05, 0.12, "to about 2."),  # the highest of noise
        (0.0001, 0.12, "to 2.52"),  # there is no noise
    ],
)
def test_the_highest_of_noise_is_told_by_the_level_around_it(noise: float, peak: float, said: str) -> None:
    rng = np.random.default_rng(0)
    loss = np.repeat([2.0, 2.4], 60) + noise * np.tile([1.0, -1.0], 60) + 0.001 * rng.random(120)
    loss[90] = 2.4 + peak
    told = sentence(np.arange(120), loss, finding("level-shift", 60, None))
    assert said in told and ("about" in told) == ("about" in said), told


def test_a_peak_is_told_with_its_own_step() -> None:
    steps, loss = spiked([3.0, 4.0, 5.0, 6.0, 9.0, 3.0])
    spike = finding("spike-fast-recovery", 20, 26)
    assert sentence(steps, loss, spike) == (
        "The loss rose from 2.00 to 9.00 over steps 20 to 24 and was back after 6 steps."
    )
    assert finding_words(RunView(run(steps, loss), diagnosis(spike)), spike)[0].short == (
        "2.00 → 9.00 over steps 20 to 24"
    )


def test_a_rise_that_was_nearly_gone_before_its_peak_says_so() -> None:
    steps, loss = spiked([8.0, 2.5, 9.0, 7.0])
    assert sentence(steps, loss, finding("spike-fast-recovery", 20, 24)) == (
        "The loss jumped from 2.00 to 9.00 over steps 20 to 22, falling back to 2.50 at step 21 in between, "
        "and was back after 4 steps."
    )
    steps, loss = spiked([8.0, 6.5, 9.0, 7.0])
    assert "in between" not in sentence(steps, loss, finding("spike-fast-recovery", 20, 24))


def test_a_rise_came_back_only_if_samples_after_its_peak_show_it() -> None:
    """It was told that it had come back to a thousand times its course, at the peak of 4.52 million."""
    height = {"height_log": 17.0, "residual_log": 6.9}
    diverges = replace(finding("divergence-no-spike", 20, None), evidence=height)
    loss = np.array([2.0] * 20 + [200.0, 3e6] + [np.nan] * 9)
    assert sentence(np.arange(31), loss, diverges) == (
        "The loss turned upwards at step 20, without a spike, rose from 2.00 to at least 3 million by step "
        "21 and did not come down again."
    )
    loss[22:] = 2_000.0
    assert sentence(np.arange(31), loss, diverges) == (
        "The loss turned upwards at step 20, without a spike, rose from 2.00 to 3 million by step 21 and "
        "came back only in part: when the log ended it stood at 990 times its earlier course."
    )
    spike = replace(finding("spike-no-full-recovery", 20, None), evidence={"residual_log": 1.0})
    assert sentence(np.arange(22), loss[:22], spike).endswith(" and did not come down again.")


def test_a_level_that_came_down_in_between_did_not_stay_up() -> None:
    """A curve that came down below where it had started was told to have stayed 25 % above its course."""
    shift = replace(finding("level-shift", 40, None), evidence={"residual_log": math.log(1.25)})
    loss = np.concatenate([np.full(40, 2.0), np.full(40, 4.0), np.full(40, 2.1), np.full(40, 2.5)])
    assert sentence(np.arange(160), loss, shift) == (
        "The loss rose from 2.00 to 4.00 at step 40, came down to 2.10 near step 81, and stood 25 % above "
        "its earlier course when the log ended."
    )
    dipped = np.concatenate([loss[:42], [2.5, 4.5], loss[44:]])
    assert "falling back to 2.50 at step 42 in between, came down to 2.10" in sentence(
        np.arange(160), dipped, shift
    )
    stays = np.concatenate([loss[:80], np.full(80, 3.5)])
    assert sentence(np.arange(160), stays, shift) == (
        "The loss rose from 2.00 to 4.00 at step 40 and stayed 25 % above its earlier course."
    )


def test_a_calm_course_names_the_spikes_that_it_came_back_from() -> None:
    """A hump over a seventh of the run stood under a sentence by which nothing had disturbed it."""
    steps, loss = spiked([9.0, 5.0, 3.0])
    calm = finding("near-perfect", 0, 42)
    spikes = finding("spike-fast-recovery", 20, 23), finding("spike-fast-recovery", 30, 31)

    def told(*known: Finding) -> tuple[str, str]:
        words = finding_words(RunView(run(steps, loss), diagnosis(calm, *known)), calm)[0]
        return words.sentence, words.short

    assert told() == (
        "The loss stayed near 2.00 over steps 0 to 42, and nothing disturbed it for long.",
        "stayed near 2.00 without a lasting disturbance",
    )
    assert told(spikes[0]) == (
        "The loss stayed near 2.00 over steps 0 to 42, and came back from 1 spike, which was over after 3 "
        "steps.",
        "stayed near 2.00 but for 1 spike",
    )
    assert told(*spikes)[0].endswith(
        "and came back from 2 spikes, of which the longest was over after 3 steps."
    )


def test_a_warning_is_told_where_it_began_and_where_it_was_highest() -> None:
    """The factor that the gradient norm had at its peak was told of its onset."""
    measured = {"rise_factor": 4.5, "lead_steps": 8}
    early = replace(finding("grad-norm-precursor", 12, 20), peak_step=27, evidence=measured)
    assert sentence(*spiked([9.0]), early) == (
        "The gradient norm began to rise at step 12, 8 steps before the loss, and reached 4.5 times its "
        "level at step 27."
    )
    at_once = replace(early, peak_step=12)
    assert sentence(*spiked([9.0]), at_once).endswith(" and reached 4.5 times its level there.")


def test_a_rise_at_the_foot_of_a_fall_is_told_from_its_foot() -> None:
    loss = np.concatenate([np.linspace(4.0, 2.0, 40), np.linspace(2.0, 3.0, 40)])
    found = finding("divergence-no-spike", 38, None)
    assert sentence(np.arange(80), loss, found) == (
        "The loss turned upwards at step 38, without a spike, rose from 2.00 to 3.00 by step 79 and did not "
        "come down again."
    )


def test_a_rise_that_begins_with_the_log_is_told_from_its_first_value() -> None:
    """It was told without any number, and its card said no more than "from step 0"."""
    reward = np.concatenate([np.linspace(9.0, -30.0, 40), np.full(40, -30.0)])
    found = finding("divergence-no-spike", 0, None, "reward")
    view = RunView(run(np.arange(80), reward, "reward", role=Role.OBJECTIVE), diagnosis(found))
    assert finding_words(view, found)[0][:2] == (
        "The objective turned downwards at step 0, without a spike, fell from 9.00 to −30.00 by step 39 and "
        "did not come back again.",
        "9.00 → −30.00 over steps 0 to 39",
    )


def test_an_objective_that_fell_far_and_came_back_in_part_is_told_with_its_end() -> None:
    """It was told that it "did not come back again" from a value that it had left at once."""
    reward = np.concatenate([np.full(40, -5.0), [-2800.0], np.full(39, -11.0)])
    view = RunView(run(np.arange(80), reward, "reward", role=Role.OBJECTIVE), diagnosis())
    found = replace(finding("divergence-no-spike", 38, None, "reward"), evidence={"last_level": -11.0})
    assert finding_words(view, found)[0].sentence == (
        "The objective turned downwards at step 38, without a spike, fell from −5.00 to −2\u202f800 by step "
        "40 and came back only in part: when the log ended it stood at −11.00."
    )


def test_what_did_not_rise_is_not_told_as_a_rise() -> None:
    loss = np.linspace(4.0, 2.0, 80)
    spike = replace(finding("spike-fast-recovery", 40, 42), evidence={"height_log": 0.15})
    assert sentence(np.arange(80), loss, spike) == (
        "The loss stood 16 % above its course at step 40 and was back after 2 steps."
    )


def test_a_step_down_where_an_epoch_begins_is_told_as_a_fall() -> None:
    loss = np.repeat([2.0, 1.0], 40)
    step = replace(finding("level-shift", 40, 43), evidence={"epoch": 1.0, "drop_log": np.log(2.0)})
    assert sentence(np.arange(80), loss, step) == (
        "The loss fell by 50 % at step 40, where an epoch began and the samples were read again."
    )


def test_a_pattern_of_a_rule_of_ones_own_is_told_by_its_name() -> None:
    steps, loss = spiked([9.0])
    assert sentence(steps, loss, finding("our-own", 20, 21)) == "Our-own at step 20."


@pytest.mark.parametrize("pattern", [pattern.id for pattern in PATTERNS])
def test_a_finding_without_evidence_is_told_too(pattern: str) -> None:
    steps, loss = spiked([9.0, 5.0])
    for start, end in ((20, 22), (20, None), (0, None), (999, None)):
        whole = sentence(steps, loss, finding(pattern, start, end))
        assert whole.endswith(".") and "_" not in whole


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        (1.0, "The loss rose from 2.00 to 3.00 at step 500 and was back after 1 step, in all 3 data sets."),
        (0.0, "The losses of a, b and c rose together: the loss of c rose from 2.00 to 3.00 at step 500"),
    ],
)
def test_a_spike_of_all_data_sets_is_told_of_the_loss(moves: float, words: str) -> None:
    """It was told with the numbers of the tallest data set, after the names of all."""
    steps, rise = np.arange(900), np.where(np.arange(900) == 500, 1.0, 0.0)
    sets = [series(f"loss/{n}", steps, 2 + rise, Role.DATASET_LOSS, dataset=n) for n in "abc"]
    timeline = stitch([attempt("a.csv", series("loss", steps, 2 + moves * rise), *sets)])
    names = {"data_sets": [f"loss/{n}" for n in "abc"], "of": 3}
    spike = replace(finding("multi-dataset-spike", 500, 501, None), evidence=names)
    (event,) = (e for e in tell(timeline, diagnosis(spike)).events if e.patterns)
    assert event.sentence.startswith(words)


def test_what_a_log_counts_is_told_in_its_own_unit() -> None:
    assert (Axis().place(7005), Axis().span(1), Axis().span(2.0)) == ("step 7\u202f005", "1 step", "2 steps")
    assert Axis("epoch").place(3, 5) == "epochs 3 to 5"
    tokens = Axis("million tokens")
    assert (tokens.place(15_689), tokens.span(1)) == ("15.69 billion tokens", "1 million tokens")
    assert tokens.place(997, 15_689) == "1.00 to 15.69 billion tokens"
    assert (tokens.place(1, 2), tokens.way(2, 1)) == ("1 to 2 million tokens", "2 to 1 million tokens")


def test_numbers_in_words() -> None:
    assert [plainly(x) for x in (2.264, 2.34e8, -4.5e9, 1e20, 0.49)] == [
        "2.26",
        "234 million",
        "−4.5 billion",
        "1.00 × 10²⁰",
        "0.490",
    ]
    assert [percent(x) for x in (0.0205, 0.0938, 0.15, -0.15, 2.0)] == [
        "2 %",
        "10 %",
        "16 %",
        "14 %",
        "a factor of 7.4",
    ]
    assert [stated(x) for x in (2e-5, 0.001, 0.25, 1e20, 32.0)] == [
        "2 × 10⁻⁵",
        "0.001",
        "0.25",
        "1 × 10²⁰",
        "32",
    ]
    assert [times(x) for x in (4.548, 9.96, 1300.2)] == ["4.5 times", "10 times", "1\u202f300 times"]
    assert [rounded(x) for x in (0, 7, 630.1, 630.0, 12_345)] == [0, 7, 640, 630, 13_000]


def test_what_ought_to_rise_is_told_to_fall() -> None:
    reward = np.array([20.0] * 30 + [5.0] + [20.0] * 30)
    timeline = run(np.arange(61), reward, "reward", role=Role.OBJECTIVE)
    spike = finding("spike-fast-recovery", 30, 31, "reward")
    words = finding_words(RunView(timeline, diagnosis(spike)), spike)[0]
    assert words[:2] == (
        "The objective dropped from 20.00 to 5.00 at step 30 and was back after 1 step.",
        "20.00 → 5.00 at step 30",
    )
    flat = replace(finding("plateau", 30, None, "reward"), evidence={})
    assert finding_words(RunView(timeline, diagnosis(flat)), flat)[0].sentence == (
        "The objective stopped rising at step 30."
    )
    never = replace(flat, start_step=0)
    assert finding_words(RunView(timeline, diagnosis(never)), never)[0].sentence == (
        "The objective did not rise from step 0 on."
    )


def test_a_held_out_score_that_was_lost_is_told_by_its_highest_value() -> None:
    t = np.arange(200) / 200
    score = 0.8 - 0.5 * np.exp(-t / 0.06) - 0.5 * np.maximum(t - 0.3, 0)
    columns = (("train_loss", Role.LOSS, 2 * np.exp(-2 * t)), ("val_accuracy", Role.VALIDATION_SCORE, score))
    log = attempt("log.csv", *(series(name, np.arange(200), y, role=role) for name, role, y in columns))
    timeline = stitch([log])
    judged = classify(timeline)
    (lost,) = (f for f in judged.findings if f.pattern == "overfitting")
    assert finding_words(RunView(timeline, judged), lost)[0][:2] == (
        "The validation score was highest at step 60 and fell by 43 % from there, while the training loss "
        "fell by a factor of 4.1.",
        "validation score: 43 % below its best at step 60",
    )


def calm(values: list[float], metric: str = "loss", role: Role = Role.LOSS) -> str:
    timeline = run(np.arange(len(values)), values, metric, role=role)
    calm_finding = finding("near-perfect", 0, 2, metric)
    return finding_words(RunView(timeline, diagnosis(calm_finding)), calm_finding)[0].sentence


def test_a_calm_course_falls_rises_or_stays_as_its_metric_ought_to() -> None:
    end = "over steps 0 to 2, and nothing disturbed it for long."
    assert calm([3.0, 2.0, 1.0]) == f"The loss fell from 3.00 to 1.00 {end}"
    assert calm([1.0, 2.0, 3.0]) == f"The loss went from 1.00 to 3.00 {end}"
    assert calm([1.0, 1.1, 1.001]) == f"The loss stayed near 1.00 {end}"
    assert calm([1.0, 2.0, 3.0], "reward", Role.OBJECTIVE) == f"The objective rose from 1.00 to 3.00 {end}"


def test_zeros_before_the_first_loss_are_no_part_of_its_course() -> None:
    """While an agent only collects, its loss is logged as zero: "The loss went from 0 to 1.00"."""
    end = "over steps {} to 4, and nothing disturbed it for long."
    assert calm([0.0, 0.0, 3.0, 2.0, 1.0]) == f"The loss fell from 3.00 to 1.00 {end.format(2)}"
    assert calm([0.0, 0.0, 3.0, 0.0, 1.0]) == f"The loss went from 0 to 1.00 {end.format(0)}"
    assert calm([0.0, 0.0, 1.0, 2.0, 3.0], "reward", Role.OBJECTIVE) == (
        f"The objective rose from 0 to 3.00 {end.format(0)}"
    )


def test_a_course_that_went_the_wrong_way_first_names_where_it_turned() -> None:
    """A reward that fell from 9 to -27 and rose to 0.7; a running mean that began at its lowest value."""
    fell = [*np.linspace(9, -27, 40), *np.linspace(-27, 0.7, 40)]
    assert calm(fell, "reward", Role.OBJECTIVE) == (
        "The objective went from 9.00 to 0.700 over steps 0 to 79, with its lowest level, −24.51, near step "
        "40, and nothing disturbed it for long."
    )
    mean = [1.3, *np.linspace(2.5, 1.4, 79)]
    assert "with its highest level, 2.45, near step 0, and" in calm(mean)


def test_a_noisy_course_ends_at_a_level_and_scatters_by_an_amount_around_zero() -> None:
    """A loss of both signs was said to scatter by 162 %, and to have fallen to -9, its last value."""
    loss = np.where(np.arange(81) % 2, 4.0, -2.0) - np.linspace(0, 1, 81)
    loss[-1] = -9.0
    noisy = replace(finding("noisy-healthy", 0, 80), evidence={"noise_log": 1.6})
    assert finding_words(RunView(run(np.arange(81), loss), diagnosis(noisy)), noisy)[0].sentence == (
        "The loss went from −2.00 to about 0.0438 over steps 0 to 80, scattering by about 6.00 from value to "
        "value, and nothing disturbed it for long."
    )


def test_a_calm_course_of_several_trainings_is_that_of_the_farthest() -> None:
    logs = [attempt(f"{k}.csv", series("loss", np.arange(n), np.linspace(4, last, n))) for k, n, last in TWO]
    calm_finding = replace(finding("near-perfect", 0, 59), attempt=None)
    run = RunView(stitch(logs, relation="seeds"), diagnosis(calm_finding))
    assert finding_words(run, calm_finding)[0].sentence == (
        "In the first of 2 trainings the loss fell from 4.00 to 1.00 over steps 0 to 59, and nothing "
        "disturbed it for long."
    )


TWO = (("a", 60, 1.0), ("b", 20, 3.0))


def test_what_was_not_over_is_told_by_when_it_was_last_seen() -> None:
    steps, loss = spiked([9.0, 5.0])
    first, next_ = (finding("spike-no-full-recovery", at, None) for at in (20, 30))
    early, late = (replace(f, evidence={"residual_log": 0.1}) for f in (first, next_))
    timeline = run(steps, loss)
    view = RunView(timeline, diagnosis(early, late))
    stood = "it stood 11 % above its earlier course."
    assert finding_words(view, early)[0].sentence.endswith(f"by step 29 {stood}")
    assert finding_words(view, late)[0].sentence.endswith(f"when the log ended {stood}")
    parted = rolled_back()
    gone = finding("spike-slow-recovery", 350, None)
    assert finding_words(RunView(parted, diagnosis(gone)), gone)[0].sentence.endswith(
        "had not come all the way back when the attempt ended."
    )


def test_repeated_data_without_a_level_has_no_number_for_it() -> None:
    steps, loss = spiked([1.0])
    evidence = {"low_start_step": 20.0, "replayed_steps": 3.0, "jump_log": 0.0953, "low_log": np.nan}
    repeat = replace(finding("repeat-data", 23, 24), evidence=evidence)
    assert sentence(steps, loss, repeat) == (
        "After the restart at step 20 the run was fed 3 steps of data that it had seen before: the loss "
        "jumped by 10 % at step 23, where new data began."
    )


def test_a_calm_course_that_ends_far_above_its_lowest_level_names_it() -> None:
    """A loss that fell to 0.5 and rose to 1.5 again was told by its ends alone."""
    loss = [*np.linspace(4, 0.5, 40), *np.linspace(0.5, 1.5, 40)]
    assert calm(loss) == (
        "The loss fell from 4.00 to 1.50 over steps 0 to 79, with its lowest level, 0.590, near step 40, and "
        "nothing disturbed it for long."
    )


def test_a_calm_course_that_ends_at_its_best_has_no_better_level_before() -> None:
    """The last values of spaCy's loss fill no block of those whose levels were compared."""
    loss = [0.25, *(2.5 * 0.8**n for n in range(20))]
    assert (
        calm(loss)
        == "The loss fell from 0.250 to 0.0360 over steps 0 to 20, and nothing disturbed it for long."
    )


def test_no_share_is_told_of_a_level_at_or_below_zero() -> None:
    """A loss of -1.5 that ended at 4.1 was said to stand 4 % above its earlier course."""
    loss = [*np.linspace(-1.4, -1.5, 20), *np.linspace(160, 4.1, 20)]
    spike = replace(finding("spike-no-full-recovery", 20, None), evidence={"residual_log": 0.04})
    view = RunView(run(np.arange(40), loss), diagnosis(spike))
    assert finding_words(view, spike)[0].sentence == (
        "The loss jumped from −1.48 to 160 at step 20 and came back only in part: when the log ended it "
        "stood at 8.20."
    )


@pytest.mark.parametrize("fall_log", [0.0, -0.3])
def test_a_score_below_zero_is_told_by_its_values(fall_log: float) -> None:
    """It was said to have fallen by 137 %, while the training loss fell by 0 %, or by what it had risen."""
    reward = [*np.linspace(0, 740, 20), *np.linspace(740, -591, 20)]
    lost = replace(finding("overfitting", 19, None, "return/test"), evidence={"training_fall_log": fall_log})
    timeline = run(np.arange(40), reward, "return/test", role=Role.VALIDATION_SCORE)
    words, _ = finding_words(RunView(timeline, diagnosis(lost)), lost)
    assert words[:2] == (
        "The validation score was highest at step 19 and fell from 740 to −591 from there, while the "
        "training loss did not fall.",
        "740 → −591 from step 19",
    )


def test_a_short_form_names_a_metric_that_is_not_the_judged_one() -> None:
    """A card said "NaN at step 5" of a validation loss beside the curve of a training loss that was fine."""
    nan = np.where(np.arange(40) == 5, np.nan, 2.0)
    validation = series("val_loss", np.arange(40), nan, role=Role.VALIDATION_LOSS)
    timeline = stitch([attempt("a.csv", series("loss", np.arange(40), np.full(40, 2.0)), validation)])
    found = replace(finding("nan-inf", 5, 5, "val_loss"), evidence={"nan_samples": 1})
    view = RunView(timeline, diagnosis(found))
    assert finding_words(view, found)[0][:2] == (
        "The validation loss was NaN for one logged value at step 5.",
        "validation loss: NaN at step 5",
    )
