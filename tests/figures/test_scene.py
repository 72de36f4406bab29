"""Which panels a figure has, and how much of a run a zoom shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.figures.runs import attempt, diagnosis, falling, finding, rolled_back, run, series

from chronicle.figures.layout import Scene
from chronicle.figures.scales import Segment, all_panels, run_panels
from chronicle.model import JoinKind, Role
from chronicle.story.measured import RunView
from chronicle.timeline import stitch


def test_the_zoom_of_a_finding_that_led_to_a_rollback_reaches_the_step_resumed_from():
    timeline = rolled_back()
    (join,) = timeline.joins
    assert (join.kind, join.from_step, join.to_step) == (JoinKind.ROLLBACK, 399, 300)
    divergence = finding("divergence-after-spike", 380, None)
    drawn = Scene(timeline, diagnosis(divergence, joins=timeline.joins))
    first, last = drawn.window(drawn.findings[0])
    assert first < join.to_step and last > join.from_step


def test_a_segment_that_meets_no_finding_holds_none_of_its_points():
    rng = np.random.default_rng(0)
    for n in (0, 1, 5):
        segment = Segment(np.sort(rng.integers(0, 40, n)).astype(float), np.ones(n), live=True)
        windows = [(a, b) for a in range(-2, 44, 3) for b in (a, a + 4, np.inf)]
        empty = [window for window in windows if not segment.meets(*window)]
        assert empty and not any(len(segment.inside(*window).steps) for window in empty)


def test_a_zoom_shows_at_least_22_samples():
    spike = finding("spike-fast-recovery", 3000, 3000)
    long = Scene(run(np.arange(0, 6000, 10), falling(600)), diagnosis(spike))
    first, last = long.window(long.findings[0])
    assert last - first >= 22 * 10


def test_data_sets_share_a_panel_with_their_loss_and_other_metrics_get_their_own(tmp_path):
    steps = np.arange(200)
    logged = [
        series("loss/all", steps, falling(200)),
        series("loss/code", steps, falling(200) * 0.7, Role.DATASET_LOSS, dataset="code"),
        series("loss/web", steps, falling(200) * 1.1, Role.DATASET_LOSS, dataset="web"),
        series("loss/other-scale", steps, falling(200) * 1e4, Role.DATASET_LOSS, dataset="other"),
        series("ratio", steps, falling(200), Role.RATIO),
        series("lr", steps, falling(200), Role.LEARNING_RATE),
    ]
    timeline = stitch([attempt("a.csv", *logged)])
    panels = run_panels(timeline, diagnosis(finding("resume-ratio-skew", 50, 60, "loss/all")))
    assert [[line.name for line in panel.lines] for panel in panels] == [["all", "code", "web"], ["ratio"]]
    assert len({line.token for line in panels[0].lines} | {line.dash for line in panels[0].lines}) == 6


@pytest.mark.parametrize(
    ("logged", "shown"),
    [
        ({"G_loss": 1.0, "D_loss": 0.3}, [["G_loss", "D_loss"]]),
        ({"G_loss": 1.0, "D_loss": -1.0}, [["G_loss"], ["D_loss"]]),
        ({"G_L1": 20.0, "G_GAN": 1.0, "D_real": 0.4}, [["G_L1"], ["D_real", "G_GAN"]]),
    ],
)
def test_all_losses_of_an_adversarial_training_are_drawn(logged, shown):
    """In one panel, or in two if they do not fit on one axis."""
    steps, (first, *_) = np.arange(200), logged
    roles = {name: Role.LOSS if name == first else Role.PART_LOSS for name in logged}
    named = [series(name, steps, size * falling(200), roles[name]) for name, size in logged.items()]
    panels = run_panels(stitch([attempt("a.csv", *named)]), diagnosis())
    assert [[line.metric for line in panel.lines] for panel in panels] == shown


def test_a_validation_loss_that_is_logged_by_two_names_is_drawn_and_named_once():
    """As Keras does: by epochs, and by iterations, which are read as the same steps."""
    steps = np.arange(200)
    names = "validation/evaluation_loss_vs_iterations", "validation/epoch_loss"
    twice = [series(name, steps, falling(200) * 1.1, Role.VALIDATION_LOSS) for name in names]
    timeline = stitch([attempt("a.csv", series("train/epoch_loss", steps, falling(200)), *twice)])
    overfitting = diagnosis(finding("overfitting", 50, None, names[1]))
    (panel,) = run_panels(timeline, overfitting)
    assert [line.name for line in panel.lines] == ["train/epoch_loss", "validation/epoch_loss"]
    assert RunView(timeline, overfitting).name(names[1]) == "the validation loss"


def test_what_the_first_panel_does_not_show_comes_before_more_of_its_kind():
    """A run with five data sets showed two more of them, and no gradient norm, which a finding was about."""
    steps, names = np.arange(200), "abcde"
    sets = [series(f"loss/{n}", steps, falling(200), Role.DATASET_LOSS, dataset=n) for n in names]
    norm = series("grad_norm", steps, falling(200), Role.GRAD_NORM)
    timeline = stitch([attempt("a.csv", series("loss/all", steps, falling(200)), *sets, norm)])
    found = [finding("spike-slow-recovery", 50, 60, f"loss/{n}") for n in names]
    panels = run_panels(timeline, diagnosis(*found, finding("grad-norm-precursor", 50, 60, "grad_norm")))
    assert [panel.name for panel in panels[1:]] == ["grad_norm", "loss/d"]
    slow = series("step_time", steps, falling(200), Role.STEP_TIME)
    timeline = stitch([attempt("a.csv", series("loss/all", steps, falling(200)), norm, slow)])
    harmless = replace(
        finding("throughput-drop", 20, 60, "step_time"), evidence={"explained_by": "it learned"}
    )
    panels = run_panels(timeline, diagnosis(harmless, finding("grad-norm-precursor", 50, 60, "grad_norm")))
    assert [panel.name for panel in panels[1:]] == ["grad_norm", "step_time"]


def test_a_score_of_held_out_data_is_drawn_where_there_is_room():
    steps = np.arange(500)
    few = series("coco/bbox_mAP", steps[::50], np.linspace(0.1, 0.48, 10), Role.SCORE)
    dense = series("train_acc", steps, np.linspace(0, 1, 500), Role.SCORE)
    timeline = stitch([attempt("a.csv", series("loss", steps, falling(500)), dense, few)])
    assert [panel.name for panel in run_panels(timeline, diagnosis())] == ["loss", "coco/bbox_mAP"]


def test_a_metric_that_is_only_nan_leaves_no_empty_picture():
    """A loss logged for a hundred steps, beside evaluations that were NaN for ten thousand more."""
    after = series("eval", [1, *range(200, 10_000, 200)], [2.0, *[np.nan] * 49], Role.VALIDATION_LOSS)
    loss = falling(100)
    loss[80:] = np.nan
    timeline = stitch([attempt("a.csv", series("loss", np.arange(100), loss), after)])
    nan = finding("nan-inf", 80, None)
    assert (Scene(timeline, diagnosis(nan)).first, Scene(timeline, diagnosis(nan)).last) == (0, 99)
    later = finding("nan-inf", 200, None, "eval")
    assert Scene(timeline, diagnosis(nan, later)).last == 200


def test_what_is_not_over_ends_with_its_series_and_not_with_the_log():
    steps = np.arange(100)
    late = series("eval", [0, 10_000], [1.0, 1.0], Role.VALIDATION_LOSS)
    timeline = stitch([attempt("a.csv", series("loss", steps, falling(100)), late)])
    drawn = Scene(timeline, diagnosis(finding("divergence-no-spike", 60, None)))
    (item,) = drawn.findings
    first, last = drawn.window(item)
    assert item.end == 99 and 0 <= first < 60 and 99 < last < 110


def test_a_zoom_at_the_start_of_a_long_run_shows_no_steps_before_it():
    drawn = Scene(
        run(np.arange(100_000), falling(100_000)), diagnosis(finding("spike-slow-recovery", 10, 60))
    )
    first, _ = drawn.window(drawn.findings[0])
    assert -5 < first <= 0


@pytest.mark.parametrize(("last", "n_bars"), [(200, 0), (150, 3)])
def test_trainings_side_by_side_over_the_same_steps_have_no_bars(last, n_bars):
    """The strip of 25 seeds was taller than their curves, and said what the headline says in a word."""
    ends = (200, 200, last)
    logs = [
        attempt(f"{n}.csv", series("loss", np.arange(e), falling(200, n)[:e])) for n, e in enumerate(ends)
    ]
    assert len(Scene(stitch(logs, relation="seeds"), diagnosis()).bars) == n_bars


def test_a_speed_below_zero_was_not_measured_and_takes_no_room():
    """nanoGPT logs an MFU of -100 % until it has one, below which the true values were a line at the top."""
    speed = np.where(np.arange(100) < 6, -100.0, 40.0 + np.arange(100) % 7)
    mfu = series("mfu", np.arange(100), speed, Role.THROUGHPUT)
    log = attempt("a.csv", series("loss", np.arange(100), falling(100)), mfu)
    run = Scene(stitch([log]), diagnosis(finding("throughput-drop", 20, None, "mfu")))
    (panel,) = (panel for panel in run.panels if panel.name == "mfu")
    assert run.body(panel).low > 30
    assert all(np.isfinite(segment.values).all() for segment in panel.segments())  # no cross says NaN


def test_a_metric_of_one_value_has_no_panel_in_the_interactive_view():
    """Beside a loss of a thousand points stood the empty frames of what a trainer prints once at its end."""
    steps = np.arange(100)
    once, twice = (
        series("time_per_iter", [99], [5.2], Role.OTHER),
        series("eval", [9, 99], [3, 2], Role.OTHER),
    )
    timeline = stitch([attempt("a.csv", series("loss", steps, falling(100)), once, twice)])
    assert [panel.name for panel in all_panels(timeline, diagnosis())] == ["loss", "eval"]


def test_a_zoom_covers_all_that_its_sentences_tell_of_and_shows_each_series():
    """It ended before the peak of the loss, and had no panel for the loss scale that collapsed."""
    steps = np.arange(900)
    logged = [series("loss", steps, falling(900))]
    roles = (Role.GRAD_NORM, Role.LEARNING_RATE, Role.RATIO, Role.THROUGHPUT, Role.LOSS_SCALE)
    logged += [series(role.value, steps, 1 + 0.5 * (steps % 2), role) for role in roles]
    early = replace(finding("grad-norm-precursor", 606, 614, "grad-norm"), severity=0.8)
    spike = replace(finding("spike-fast-recovery", 610, 753), peak_step=645)
    scale = finding("loss-scale-collapse", 607, 700, "loss-scale")
    drawn = Scene(stitch([attempt("a.csv", *logged)]), diagnosis(early, spike, scale))
    (item,) = drawn.findings
    first, last = drawn.window(item)
    assert first < 606 and last > 753
    assert (item.finding.start_step, item.end) == (607, 753)  # the gravest names the band
    shown = [panel.name for panel in drawn.zoom_panels(item)]
    assert shown[:3] == ["loss", "loss-scale", "grad-norm"]


def test_a_hang_without_logged_times_of_steps_is_drawn_over_the_clock():
    """The figures of a loader that stalled for 40 minutes showed 25 ordinary steps."""
    times = 1.7e9 + 2.0 * np.arange(400) + 2_400.0 * (np.arange(400) >= 200)
    loss = replace(series("loss", np.arange(400), falling(400)), times=times)
    drawn = Scene(stitch([attempt("a.csv", loss)]), diagnosis(finding("hang", 199, 200)))
    pace = drawn.zoom_panels(drawn.findings[0])[1]
    assert (pace.name, pace.unit, pace.role) == ("time of a step", "s", Role.STEP_TIME)
    (segment,) = pace.segments()
    assert segment.values[[0, 198, 199, 200]].tolist() == [2.0, 2.0, 2402.0, 2.0]
    assert segment.steps[199] == 200
    assert [panel.name for panel in drawn.panels] == ["loss", "time of a step"]


def test_only_a_calm_course_which_is_told_from_its_start_has_an_axis_for_it():
    loss = np.r_[np.geomspace(9.0, 0.3, 20), np.full(780, 0.3)] * np.tile([1.0, 1.05], 400)
    timeline = run(np.arange(800), loss)
    scales = []
    for pattern in ("near-perfect", "level-shift"):
        drawn = Scene(timeline, diagnosis(finding(pattern, 0 if pattern == "near-perfect" else 400, None)))
        scales.append(drawn.body(drawn.panels[0]))
    assert [scale.log for scale in scales] == [True, False]
    assert scales[0].high > 9.0 > 1.0 > scales[1].high
