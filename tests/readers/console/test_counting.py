"""Which points a metric of a text log has, and at which steps, where lines count in more than one way."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.logs import attempts_of as attempts
from tests.logs import points_of as points

from chronicle.metrics.roles import assign, judged_loss
from chronicle.model import Role


def test_the_last_line_that_a_carriage_return_parts_counts_though_it_has_no_end(tmp_path: Path) -> None:
    text = "\r".join(f"Episode {n}\tScore: {n / 4:.2f}" for n in range(1, 13))
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Score") == [(n, n / 4) for n in range(1, 13)]


def test_infinite_numbers_in_front_count_no_lines(tmp_path: Path) -> None:
    text = "".join(f"seen {'inf' if n == 5 else n} loss {2 - n / 32}\n" for n in range(1, 13))
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss")[-1][1] == 2 - 12 / 32


def test_the_counter_of_an_evaluation_places_no_training(tmp_path: Path) -> None:
    box = "| epoch | {n} |\n| test/episode | {test} |\n| test/success_rate | 0.{n} |\n| loss | 2.{n} |\n"
    rows = (box.format(n=n, test=20 * n) for n in range(1, 10))
    (attempt,) = attempts(tmp_path, "--------\n" + "--------\n".join(rows) + "--------\n")
    assert (attempt.axis, attempt.series["loss"].steps.tolist()) == ("epoch", list(range(1, 10)))
    assert points(attempt, "test/episode")[-1] == (9, 180.0)


def test_the_batches_of_a_cross_validation_are_no_training(tmp_path: Path) -> None:
    """WeNet prints `TRAIN Batch 4/100` of epoch 4, and `CV Batch 4/100` of what is held out there."""
    text, head = "", "2022-07-01 10:00:00,123 DEBUG"
    for epoch in (4, 5, 6):
        for batch in range(0, 2000, 100):
            loss = 100 - 20 * (epoch - 4) - batch / 100
            text += f"{head} TRAIN Batch {epoch}/{batch} loss {loss:.6f} lr 0.00010000 rank 0\n"
        for batch in (0, 100):
            text += f"{head} CV Batch {epoch}/{batch} loss {88 - 8 * epoch + batch / 100:.6f} rank 0\n"
        text += f"2022-07-01 10:00:59,123 INFO Epoch {epoch} CV info cv_loss {88.5 - 8 * epoch}\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt) == [(100 * n, 100.0 - n) for n in range(60)]
    held_out = {(step, value) for step, value in points(attempt, "cv/loss")}
    assert held_out == {(1900, 56.0), (1900, 57.0), (3900, 48.0), (3900, 49.0), (5900, 40.0), (5900, 41.0)}
    assert points(attempt, "CV info cv_loss") == [(1900, 56.5), (3900, 48.5), (5900, 40.5)]


@pytest.mark.parametrize(("every", "steps"), [(1, [*range(0, 500, 50)] * 2), (50, [*range(40, 490, 50)])])
def test_an_evaluation_tells_the_step_under_another_name(
    every: int, steps: list[int], tmp_path: Path
) -> None:
    """Before the loss of that step, in each of two trainings; a line that counts evaluations does not."""
    evaluation, training = (
        "Step {step:4} | Train Loss: 1.{n:03} | Val Loss: 2.{n:03}\n",
        "iter {n}: loss 3.{n:03}\n",
    )
    text = ""
    for n in (*range(0, 500, 10), *range(0, 500, 10)):
        text += evaluation.format(step=n // every, n=n) if n % 50 == 0 else ""
        text += training.format(n=n)
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["Val Loss"].steps[: len(steps)].tolist() == steps


def test_the_mean_of_an_epoch_under_the_name_of_its_batches_is_another_metric(tmp_path: Path) -> None:
    text = ""
    for epoch in range(4):
        text += "".join(f"Epoch: {epoch}, Step: {n}, Loss: {3 - n / 64}\n" for n in (20, 40, 60, 80))
        text += f"EPOCH: {epoch}, Loss: {4 - epoch / 8}\n"
    (attempt,) = attempts(tmp_path, text)
    own = [(80 * epoch + n, 3 - n / 64) for epoch in range(4) for n in (20, 40, 60, 80)]
    assert points(attempt, "Loss") == own
    assert points(attempt, "EPOCH/Loss") == [(80, 4.0), (160, 3.875), (240, 3.75), (320, 3.625)]


def test_what_sums_up_without_a_count_is_another_metric(tmp_path: Path) -> None:
    text = ""
    for n in range(1, 25):
        text += f"Iter {n}: SR {n + 0.5}%, loss {n / 32:.5f}\n"
        text += f"*** harder now (loss: {n / 8}) ***\n" if n % 6 == 0 else ""
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss") == [(n, n / 32) for n in range(1, 25)]
    assert points(attempt, "summary/loss") == [(n, n / 8) for n in (6, 12, 18, 24)]


def test_a_number_told_of_a_step_in_two_lines_is_one_point(tmp_path: Path) -> None:
    rows = [
        f"epoch: 0, batch: {n}, loss: {1 / (n + 3):.6f}\n"
        f"epoch0; batch{n}; loss: {1 / (n + 3):.10f}; part_loss: 0.{n + 10}\n"
        for n in range(10)
    ]
    (attempt,) = attempts(tmp_path, "".join(rows))
    assert points(attempt, "loss") == [(n, float(f"{1 / (n + 3):.6f}")) for n in range(10)]
    assert points(attempt, "part_loss") == [(n, float(f"0.{n + 10}")) for n in range(10)]


def test_a_name_that_nobody_knows_counts_where_its_numbers_only_grow(tmp_path: Path) -> None:
    text = "".join(f"Snapshot {2000 * n} saved, average loss: {9 / n:.3f}\n" for n in range(1, 13))
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "average loss") == [(2000 * n, float(f"{9 / n:.3f}")) for n in range(1, 13)]


def test_a_name_whose_numbers_fall_counts_nothing(tmp_path: Path) -> None:
    text = "".join(f"Window {n % 5} done, average loss: {9 / (n + 1):.3f}\n" for n in range(12))
    (attempt,) = attempts(tmp_path, text)
    assert (attempt.axis, attempt.series["average loss"].steps.tolist()) == ("row", list(range(12)))


def test_of_two_tables_that_alternate_a_header_may_be_lost(tmp_path: Path) -> None:
    """A bar that a terminal draws over it takes the header away; by its first cell a row is known again."""
    header, other = "Epoch  GPU_mem  box_loss  Size\n", "Class  Images  mAP50  m\n"
    text = ""
    for n in range(1, 13):
        text += header * (n < 3) + f"{n}/12  9.1G  {3 - n / 8}  640\n" + other * (n < 3 or n % 2)
        text += f"all  107  {n / 16}  0.5\n"
    text += "9s  107  0.7  0.5\n8d  107  0.7  0.5\n"  # a class each: cards
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "box_loss") == [(n, 3 - n / 8) for n in range(1, 13)]
    assert points(attempt, "mAP50") == [(n, n / 16) for n in range(1, 13)]


@pytest.mark.parametrize(
    ("names", "cells", "wanted"),
    [
        ("Box(P  R  mAP50  mAP50-95)", "0.5  0.25  0.75  0.5", ["P", "R", "mAP50", "mAP50-95"]),
        (
            "Box(P  mAP50)  Mask(P  mAP50)",
            "0.5  0.75  0.5  0.25",
            ["Box P", "Box mAP50", "Mask P", "Mask mAP50"],
        ),
    ],
)
def test_names_in_the_brackets_of_a_group(names: str, cells: str, wanted: list[str], tmp_path: Path) -> None:
    text = "".join(
        f"Epoch  GPU_mem  box_loss  Size\n{n}/9  9.1G  {3 - n / 8}  640: 100%|##| 8/8\n"
        f"Class  Images  {names}: 100%|##| 8/8\nall  107  {cells}\n"
        for n in range(1, 10)
    )
    (attempt,) = attempts(tmp_path, text)
    shown = dict(zip(wanted, map(float, cells.split()), strict=True))
    assert {name: points(attempt, name) for name in wanted} == {
        name: [(n, value) for n in range(1, 10)] for name, value in shown.items()
    }


def test_the_best_epoch_is_no_epoch_of_what_follows(tmp_path: Path) -> None:
    text = "".join(f"epoch {n} loss {2 - n / 16}\n" for n in range(1, 13))
    text += "Best results observed at epoch 4, saved as best.pt\nval_loss: 1.5\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "val_loss") == [(12, 1.5)]


def launch(first: int, of: int, n_epochs: int = 3, heading: str = "Epoch {}/3 started\n") -> str:
    text = ""
    for epoch in range(1, n_epochs + 1):
        text += heading.format(epoch)
        text += "".join(f"step={n}/{of} loss={first - n / 512}\n" for n in range(20, of, 20))
    return text


def test_epochs_of_another_length_are_those_of_another_training(tmp_path: Path) -> None:
    whole = launch(4, 100) + launch(5, 150)
    (attempt,) = attempts(tmp_path, whole)
    steps = attempt.series["loss"].steps.tolist()
    own = [100 * epoch + n for epoch in range(3) for n in range(20, 100, 20)]
    assert steps == own + [150 * epoch + n for epoch in range(3) for n in range(20, 150, 20)]


def test_a_count_towards_another_end_behind_the_last_epoch_begins_anew(tmp_path: Path) -> None:
    """Also where the heading of its first epoch is lost."""
    text = launch(4, 100) + launch(5, 150).removeprefix("Epoch 1/3 started\n")
    (attempt,) = attempts(tmp_path, text)
    steps = attempt.series["loss"].steps.tolist()
    assert steps[12:] == [150 * epoch + n for epoch in range(3) for n in range(20, 150, 20)]


@pytest.mark.parametrize("n_epochs", [4, 9])
def test_epochs_that_begin_anew_beside_another_bar_are_of_what_is_trained_next(
    n_epochs: int, tmp_path: Path
) -> None:
    """A probe far behind a pre-training of epochs 0 to 3, whose lines have other names, if these were all."""
    line = "Epoch: [{epoch}]  [{batch:3}/{end}]  loss: {loss:.3f} ({loss:.3f})  {more}: 0.5\n"
    trained = [(f"{e}/{n_epochs}", b, 600, "wd") for e in range(4) for b in range(600)]
    probed = [(str(e), b, 30, "memory") for e in range(4) for b in range(0, 30, 5)]
    text = "".join(
        line.format(epoch=epoch, batch=batch, end=end, loss=3 / (1 + batch), more=more)
        for epoch, batch, end, more in trained + probed
    )
    (attempt,) = attempts(tmp_path, text)
    probe = attempt.series["memory"].steps.tolist()
    assert (probe == list(range(0, 120, 5))) is (n_epochs == 4)


def test_epochs_without_an_end_that_begin_anew_beside_another_bar_are_of_what_follows(tmp_path: Path) -> None:
    """Six epochs of 500 batches, and six of 46 when the model is fine-tuned."""
    text = "".join(
        "".join(
            f"Ep {epoch}: {100 * n // end:3}%|##| {n}/{end} [00:01<00:09, 3.5batch/s]\n"
            for n in range(end + 1)
        )
        + f"Ep {epoch}: Loss:{level + 1 / epoch:.2f} | F1:0.5\n"
        for end, level in ((500, 1), (46, 2))
        for epoch in range(1, 7)
    )
    (attempt,) = attempts(tmp_path, text)
    steps = attempt.series["Loss"].steps.tolist()
    assert steps == [500, 1000, 1500, 2000, 2500, 3000, 46, 92, 138, 184, 230, 276]


def test_an_epoch_named_behind_the_head_of_a_launch_is_the_first_of_it(tmp_path: Path) -> None:
    part = "train : True\nEpoch [1/50]\n" + "".join(
        f"Iter: {n} | Loss: {3 - n / 1024}\n" for n in range(0, 700, 100)
    )
    spans = [
        (attempt.series["Loss"].steps[0], attempt.series["Loss"].steps[-1])
        for attempt in attempts(tmp_path, 3 * part)
    ]
    assert spans == [(0, 600)] * 3


def test_a_bar_with_another_end_counts_in_the_next_launch(tmp_path: Path) -> None:
    arguments = "Namespace(lr=0.1, epochs=3)\n"
    text = arguments + "".join(f"0-epoch ({n}/178643): total loss {9 + n / 64}\n" for n in range(4, 44, 5))
    both = attempts(tmp_path, text + arguments + "0-epoch (99/44660): total loss 11.25\n")
    assert [points(attempt, "total loss")[-1] for attempt in both] == [(39, 9 + 39 / 64), (99, 11.25)]


def test_workers_that_evaluate_ahead_of_the_training_do_not_hide_its_steps(tmp_path: Path) -> None:
    text = ""
    for n in range(12):
        text += f"Iteration {n + 1}: starting evaluation\n"
        text += f"Iteration {n}: Evaluation Metrics={{'loss': {3 - n / 16}}}\n"
        text += f"Iteration {n}: Received, metrics={{'loss': {3 - n / 16}}}\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss") == [(n, 3 - n / 16) for n in range(12)]


def test_the_best_of_a_generation_is_its_fitness(tmp_path: Path) -> None:
    text = "".join(f"Gen {n}: Best = {n + 0.25:.2f}, Avg = {n / 8:.3f}\nplot: start\n" for n in range(1, 13))
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Best") == [(n, n + 0.25) for n in range(1, 13)]
    assert {metric.role for metric in attempt.series.values()} == {Role.OBJECTIVE}


def test_a_generation_whose_best_lies_below_its_mean_is_made_small(tmp_path: Path) -> None:
    text = "".join(
        f"Gen {n}: Best = {9 - n / 2:.2f}, Avg = {9 - n / 8:.3f}\nplot: start\n" for n in range(1, 13)
    )
    (attempt,) = attempts(tmp_path, text)
    roles = {name: series.role for name, series in assign(attempt.series).items()}
    assert roles == {"Best": Role.OTHER, "Avg": Role.LOSS}


def test_the_best_score_of_a_generation_is_its_fitness_in_other_languages_too(tmp_path: Path) -> None:
    text = "".join(
        f"\n--- Generazione {n}/50 ---\nMiglior Punteggio: {n + 0.5} (Media: 0.5)\nfatto in 0.5s\n"
        for n in range(1, 13)
    )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "best score") == [(n, n + 0.5) for n in range(1, 13)]
    assert attempt.series["best score"].role is Role.OBJECTIVE


def test_final_losses_are_results_of_trainings(tmp_path: Path) -> None:
    text = "".join(f"Config: c{n}.py\nFinal loss: {n / 8}\nLayers: 6\n------\n" for n in range(1, 13))
    (attempt,) = attempts(tmp_path, text)
    assert (attempt.axis, attempt.series["Final loss"].role) == ("item", Role.OTHER)
    (attempt,) = attempts(tmp_path, text.replace("Final loss", "Train loss"))
    assert (attempt.axis, attempt.series["Train loss"].role) == ("row", Role.LOSS)


RESULTS = {
    "Optuna": "[I 2025-01-02 10:00:{n:02d},500] Trial {n} finished with value: {value} and parameters: "
    "{{'lr': 0.0{n}, 'depth': {n}}}. Best is trial 0 with value: 0.25.\n",
    "a script": "INFO:root:Trial - value: {value}, Params: {{'lr': 0.0{n}, 'depth': {n}}}\n",
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_results_of_a_search_are_no_course(name: str, tmp_path: Path) -> None:
    """Each trial is a training of its own: the order of their results tells nothing."""
    text = "".join(RESULTS[name].format(n=n, value=n / 4) for n in range(12))
    (attempt,) = attempts(tmp_path, text)
    assert (attempt.axis, attempt.facts["rows"]) == ("item", "results of trials or trainings, no steps")
    assert attempt.series["value"].values.tolist() == [n / 4 for n in range(12)]
    assert {metric.role for metric in attempt.series.values()} == {Role.OTHER}


@pytest.mark.parametrize(("wider", "axis"), [(790, "item"), (0, "step")])
def test_models_of_several_sizes_are_no_course(wider: int, axis: str, tmp_path: Path) -> None:
    """A line for each model with its number of parameters, which one that is trained keeps."""
    lines = (
        f"Units : {n} ; Parameters : {900 + wider * n} ; Test Loss : {1 / n:.4f}\n" for n in range(4, 16)
    )
    (attempt,) = attempts(tmp_path, "".join(lines))
    assert attempt.axis == axis
    assert (attempt.series["Test Loss"].role is Role.OTHER) is (axis == "item")


def test_a_step_that_comes_several_times_may_be_the_last_of_an_epoch_and_the_first_of_the_next(
    tmp_path: Path,
) -> None:
    """Where gradients are accumulated, an epoch may end within a step."""
    text = "".join(
        f"Epoch {1 + n // 61} | iter {n} step {n // 4} | loss train: {3 - n / 64}\n" for n in range(1, 121)
    )
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["loss train"].steps.tolist() == [n // 4 for n in range(1, 121)]


def test_the_part_of_a_line_that_is_read_says_of_which_phase_it_is(tmp_path: Path) -> None:
    """ESPnet's results of an epoch are those of the training, then those of the validation."""
    text = ""
    for epoch in (1, 2, 3):
        for end in (50, 100, 150, 200):
            loss = 4 - (200 * epoch + end) / 512
            text += f"(trainer:762) INFO: {epoch}epoch:train:{end - 49}-{end}batch: acc=0.5, loss={loss}\n"
        text += (
            f"(trainer:361) INFO: {epoch}epoch results: [train] loss={epoch}, [valid] loss={epoch + 0.25}\n"
        )
    (attempt,) = attempts(tmp_path, text)
    assert len(attempt.series["loss"]) == 12
    assert points(attempt, "valid/loss") == [(200, 1.25), (400, 2.25), (600, 3.25)]


def test_a_line_of_the_script_beside_those_of_deepspeed_names_its_step(tmp_path: Path) -> None:
    text = ""
    for n in range(10, 130, 10):
        text += f"[Rank 0] step={n}, skipped=0, lr=[0.0001], mom=[(0.9, 0.999)]\n"
        text += f"step {n} loss {3 - n / 64}\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss") == [(n, 3 - n / 64) for n in range(10, 130, 10)]
    assert "step" not in attempt.series


def test_the_steps_of_the_environment_count_beside_its_episodes(tmp_path: Path) -> None:
    text = "".join(
        f"[INFO 10:0{n}:00] my_main Recent Stats | t_env: {2000 * n} | Episode: {120 * n}\n"
        f"epsilon:   0.{9 - n}000\tloss:      0.0{n}00\treturn_mean:   {n / 4:.4f}\n"
        for n in range(1, 10)
    )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "return_mean") == [(2000 * n, n / 4) for n in range(1, 10)]


def test_how_many_were_right_is_no_progress(tmp_path: Path) -> None:
    text = ""
    for epoch in range(7, 19):
        right = 500 - 300 // epoch
        text += f"Epoch: {epoch}\nTraining Loss: {9 / epoch:.3f} | Acc: {right / 5:.3f}% ({right}/500)\n"
        text += f"Testing Loss: {8 / epoch:.3f} | Acc: {right / 6:.3f}% ({right // 6}/100)\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Training Loss") == [(n, float(f"{9 / n:.3f}")) for n in range(7, 19)]
    assert (attempt.axis, len(attempt.series["test/Testing Loss"].steps)) == ("epoch", 12)


def test_the_mean_of_epoch_0_is_told_behind_its_batches(tmp_path: Path) -> None:
    text = ""
    for epoch in range(4):
        text += "".join(f"TRAIN Batch {n:04}/90, Loss {3 - epoch / 4 - n / 900:.4f}\n" for n in (30, 60, 90))
        text += f"TRAIN Epoch {epoch:02}/4, Mean Loss: {3 - epoch / 4:.4f}\n"
        text += f"VALID Batch 0010/10, Loss 2.5000\nVALID Epoch {epoch:02}/4, Mean Loss: 2.5000\n"
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["Loss"].steps.tolist() == list(range(30, 361, 30))
    assert points(attempt, "Mean Loss") == [(90, 3.0), (180, 2.75), (270, 2.5), (360, 2.25)]


def test_an_evaluation_longer_than_an_epoch_is_no_stage_of_the_training(tmp_path: Path) -> None:
    text = ""
    for epoch in range(3, 6):
        text += "".join(f"Epoch: [{epoch}]  [{n:4}/80]  loss: {9 / (n + 9):.4f}\n" for n in range(0, 80, 4))
        text += "".join(f"Test:  [{n:4}/81]  loss: {8 / (n + 9):.4f}\n" for n in range(0, 81, 10))
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["loss"].steps.tolist() == list(range(0, 240, 4))
    assert {*attempt.series["test/loss"].steps.tolist()} == {76, 156, 236}


def test_the_patience_that_is_left_is_no_progress(tmp_path: Path) -> None:
    text = ""
    for epoch in range(12):
        text += f"Epoch {epoch} train {3 - epoch / 16:.4f} test {2 - epoch / 32:.4f} metric ['0.5']\n"
        text += f"best loss: 1.2500, current loss 1.2813.Counter {epoch % 5}/10.\n" if epoch > 3 else ""
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "train") == [(n, 3 - n / 16) for n in range(12)]


def test_headings_of_the_stages_of_a_program_count_nothing_beside_steps(tmp_path: Path) -> None:
    """And epochs that had no steps, and begin anew with steps, are those of another training."""
    first = "".join(f"Epoch {n:02}/80 | Loss: {2 - n / 64} | Time: 5.5s\n" for n in range(10, 81, 10))
    last = "".join(f"Epoch {n:02}/9 | Loss: {9 - n / 4} | Time: 3.5s | Step: {7 * n}\n" for n in range(1, 10))
    text = f"Step 1: Loading data\nStep 2: Contrastive training (Stage 0)\n{first}Step 3: Diffusion\n{last}"
    before, after = attempts(tmp_path, text + "Step 4: Sampling\n")
    assert points(before, "Loss") == [(n, 2 - n / 64) for n in range(10, 81, 10)]
    assert points(after, "Loss") == [(7 * n, 9 - n / 4) for n in range(1, 10)]


def test_how_many_epochs_there_will_be_is_no_stage_before_the_first(tmp_path: Path) -> None:
    last = "".join(f"Epoch {n}, step {10 * n + 10}, loss {9 - n / 4}\n" for n in range(12))
    (attempt,) = attempts(tmp_path, f"Beginning of epoch 50, batch size 8\n{last}")
    assert points(attempt, "loss") == [(10 * n + 10, 9 - n / 4) for n in range(12)]


def test_headings_that_alone_count_are_steps(tmp_path: Path) -> None:
    text = "".join(f"Iteration {n}: Collecting games\n  mean reward = {n / 4}\n" for n in range(1, 12))
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "mean reward") == [(n, n / 4) for n in range(1, 12)]


EVALUATION = "***** Running evaluation *****\n  Num examples = 400\n"


def test_the_bars_of_evaluations_do_not_count_their_losses(tmp_path: Path) -> None:
    """Their heading, which comes again, begins no launch."""
    bars = "".join(f"{n}%|##| {4 * n}/400 [00:0{n // 50}<00:02, 90.00it/s]\r" for n in range(0, 100, 20))
    text = "".join(f"{EVALUATION}{bars}\n  eval_loss = {3 - n / 16}\n  eval_map = 0.5\n" for n in range(10))
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "eval_loss") == [(n, 3 - n / 16) for n in range(10)]
    assert attempt.axis == "row"


def test_a_loss_that_is_told_only_when_it_is_the_best_so_far_is_its_own_course(tmp_path: Path) -> None:
    text, again = "", ""
    for n in range(12):
        told = f"{n}/40 [00:0{n // 2}<00:09, 1.75it/s]val loss decrease from {3 - n // 3} to {2.75 - n // 3}"
        text += f"{5 * n // 2}%|##| {told}, save model to best.pth\nhead.weight gradient norm: {n / 4}\n"
        again += (
            f"epoch {n} loss: 2.5 valid loss: {2.9375 - n / 16}\nValidation loss decreased (9 --> 2.5).\n"
        )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "val loss") == [(n, 2.75 - n // 3) for n in range(12)]  # rounded, they are equal
    (attempt,) = attempts(tmp_path, again)
    assert [*attempt.series] == ["loss", "valid loss"]


def test_a_pupil_is_judged_by_how_far_it_is_from_its_teacher(tmp_path: Path) -> None:
    text = "teacher loaded (494M params)\n"
    text += "".join(f"step {50 * n} KL={9 / n:.3f} agree@1(teacher)=0.125 t=48s\n" for n in range(1, 11))
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "KL")[:2] == [(50, 9.0), (100, 4.5)]
    assert attempt.series["KL"].role is Role.LOSS


@pytest.mark.parametrize("name", ["iteration index", "step number", "train/iter_idx"])
def test_the_number_of_a_step_counts(name: str, tmp_path: Path) -> None:
    text = ""
    for epoch in range(3):
        text += f"epoch {epoch}, lr=[0.01]\n"
        text += "".join(f"{name}: {5 * n}, batch loss: {9 / n:.3f}\n" for n in range(1, 9))
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["batch loss"].steps.tolist() == list(range(5, 121, 5))


SETTINGS = {
    "a dictionary": "{'batch': 64, 'epoch': 50, 'lr': 0.01, 'net': 'mlp', 'cuda': True}\n",
    "a namespace": "Namespace(batch=64, epoch=50, lr=0.01, net='mlp', cuda=True)\n",
}


@pytest.mark.parametrize("settings", SETTINGS)
def test_how_many_epochs_are_wanted_is_no_epoch(settings: str, tmp_path: Path) -> None:
    rows = "".join(f"Epoch: {n}/50 loss: {2 - n / 16} acc: 0.5\n" for n in range(1, 13))
    (attempt,) = attempts(tmp_path, SETTINGS[settings] + rows)
    assert points(attempt, "loss") == [(n, 2 - n / 16) for n in range(1, 13)]
    assert attempt.facts["config/lr"] == 0.01
    assert "lr" not in attempt.series


def test_epochs_go_on_over_the_rounds_of_federated_learning(tmp_path: Path) -> None:
    def launch(n_rounds: int) -> str:
        rows = ((r, e, 2 - r / 8 - e / 64) for r in range(1, n_rounds + 1) for e in range(1, 5))
        return "".join(f"Round {r}, Epoch {e}, Train Loss: {loss:.6f}\n" for r, e, loss in rows)

    (attempt,) = attempts(tmp_path, launch(1) + launch(4))
    assert attempt.series["Train Loss"].steps.tolist() == [1, 2, 3, 4, *range(1, 17)]


def test_a_bar_of_another_end_says_nothing_of_how_a_bar_is_redrawn(tmp_path: Path) -> None:
    """Before the training, which is drawn twice a batch, a check of two batches shows the same each time."""
    text = "".join(f"Checking DataLoader 0: {n}/2 [00:00<00:01, 4.19it/s]\n" for n in range(3))
    shown = ""
    for n in range(1, 41):
        head = f"Epoch 0: 2%|# | {n}/43 [00:00<00:18, "
        loss = f", loss={3 - n / 16:.4f}"
        text += f"{head}2.27it/s{shown}]\n{head}2.26it/s{loss}]\n"
        shown = loss
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss") == [(n, 3 - n / 16) for n in range(1, 41)]


def test_what_a_bar_shows_until_it_is_given_new_numbers_is_one_point_each(tmp_path: Path) -> None:
    bars = (
        f"Epoch 1:  9%|9 | {n}/99 [00:01<00:09, 9.99it/s, loss={3 - n // 8 / 8:.4f}, lr=1.00e-0{2 + n // 32}]"
        for n in range(8, 80)
    )
    (attempt,) = attempts(tmp_path, "\r".join(bars) + "\n")
    assert points(attempt, "loss") == [(n, 3 - n / 64) for n in range(8, 80, 8)]


def test_what_a_bar_shows_twice_as_long_was_measured_twice(tmp_path: Path) -> None:
    """A loss that is printed with few decimals is often the same again, as at counts 40, 70 and 80."""
    losses = {10: 6.05, 20: 0.49, 30: 0.31, 40: 0.31, 50: 0.04, 60: 0.01, 70: 0.01, 80: 0.01, 90: 0.02}
    shown, text = "", ""
    for count in range(96):
        text += f"\rSFT: {count:3}%|###| {count}/96 [00:{count % 60:02}<01:00,  1.05it/s{shown}]"
        if count in losses:
            shown = f", loss {losses[count]:.4f}"
            text += f"\rSFT: {count:3}%|###| {count}/96 [00:{count % 60:02}<01:00,  1.05it/s{shown}]"
    (attempt,) = attempts(tmp_path, text)
    assert dict(points(attempt, "loss")) == losses


def test_a_bar_that_moved_is_no_redraw_if_none_was_seen_so_far(tmp_path: Path) -> None:
    """Its numbers are equal to those before only where rounding makes them so."""
    losses = [1.5 if n in (499, 500) else 1 + n % 2 for n in range(600)]
    bar = "train: {:2}%|###   | {}/600 [00:{:02}<01:10, 9.87it/s, loss={:.2f}]\n"
    text = "".join(bar.format(n // 6, n, n // 10, loss) for n, loss in enumerate(losses))
    (attempt,) = attempts(tmp_path, text)
    loss = attempt.series["loss"]
    assert (loss.steps.tolist(), loss.values.tolist()) == (list(range(600)), losses)


def test_what_bars_show_is_one_point_each_however_often_they_are_redrawn(tmp_path: Path) -> None:
    """Every seventh count of three bars, which are given new numbers at every hundredth."""
    shown = ((bar, n) for bar in range(3) for n in (*range(0, 250, 7), 250))
    bars = (
        f"{n // 2.5:3.0f}%|#  | {n}/250 [00:01<00:02, 60.00it/s, loss={3 - (100 * bar + n // 100) / 128:.4f}]"
        for bar, n in shown
    )
    (attempt,) = attempts(tmp_path, "\r".join(bars) + "\n")
    assert [value for _, value in points(attempt, "loss")] == [
        3.0,
        2.9922,
        2.9844,
        2.2188,
        2.2109,
        2.2031,
        1.4375,
        1.4297,
        1.4219,
    ]


def test_a_bar_that_is_given_numbers_that_stay_is_a_course_of_them(tmp_path: Path) -> None:
    bars = (f"{n}/99 [00:01<00:09, 9.99it/s, loss={max(3 - n / 8, 2):.4f}]" for n in range(1, 60))
    (attempt,) = attempts(tmp_path, "\r".join(f"Epoch 1:  9%|9 | {bar}" for bar in bars) + "\n")
    assert len(attempt.series["loss"].steps) > 50


def test_the_energy_of_an_ansatz_is_what_is_made_small(tmp_path: Path) -> None:
    text = "Number of qubits needed: 4\nStep\tEnergy\t\tParameter\n" + 30 * "-" + "\n"
    text += "".join(f"{10 * n}\t{-1 - n / 64:.6f}\t{n / 8 + 0.0625:.6f}\n" for n in range(12))
    (attempt,) = attempts(tmp_path, text + "Ground state energy: -1.171875 Hartree\n")
    assert points(attempt, "Energy") == [(10 * n, -1 - n / 64) for n in range(12)]
    assert judged_loss(assign(attempt.series).values()).metric == "Energy"


def test_the_bar_that_stands_at_its_end_in_each_epoch_counts_nothing(tmp_path: Path) -> None:
    text = ""
    for model in range(2):
        for epoch in range(1, 11):
            text += f"  Finished data set 0. Progress: 1/1\nEpoch {epoch}/10. Avg loss: {9 / epoch:.4f}\n"
        text += f"Finished model {model} Progress: {model + 1}/9\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Avg loss")[:3] == [(1, 9.0), (2, 4.5), (3, 3.0)]
    assert attempt.axis == "epoch"


def test_epochs_of_jobs_that_are_counted_above_them_count_steps(tmp_path: Path) -> None:
    text = ""
    for job in range(1, 11):
        text += f"job {job}/45 | neurons=20 | part={job}/10 | seed=5300{job}\n"
        text += "".join(f"N=20 epoch={e}/60 loss={9 / (e + 1):.3e} elapsed=1s\n" for e in range(0, 61, 10))
    assert {*attempts(tmp_path, text)[0].series["loss"].steps.tolist()} == set(range(0, 61, 10))


def test_a_count_may_be_padded_to_the_width_of_its_end(tmp_path: Path) -> None:
    text = ""
    for epoch in range(4):
        for step in range(100, 700, 100):
            text += f"  epoch  {epoch}  step  {step:5}/   639  loss={9 / (epoch + step):.5f}  2.0s\n"
        text += f"Epoch  {epoch}  loss={9 / (epoch + 300):.5f}  (12.9 s)\n"
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["loss"].steps.tolist()[:8] == [100, 200, 300, 400, 500, 600, 739, 839]
    assert len(attempt.series["Epoch/loss"]) == 4


def test_the_mean_of_an_epoch_between_steps_like_those_of_nanogpt_is_read(tmp_path: Path) -> None:
    text = ""
    for step in range(50, 1000, 50):
        text += f"  step {step:5} | loss {9 / step:.4f} | lr 3.00e-04\n"
        if step % 150 == 0:
            text += f"Epoch {step // 150:3} | train_loss {9 / step:.4f} | val_loss {8 / step:.4f} *\n"
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["val_loss"].steps.tolist() == list(range(150, 1000, 150))
    assert len(attempt.series["loss"]) == 19


def test_a_bar_that_lags_behind_the_line_it_repeats_tells_nothing_new(tmp_path: Path) -> None:
    text = ""
    for step in range(1, 20):
        text += f"[rank0] epoch=1/3 iter={step}/90 global_step={step} loss={9 / step:.6f} data_wait_s=0.001\n"
        text += f"\r  8%|8   | {step - 1}/90 [06:22<52:06,  6.01s/it, loss={9 / step:.4f}]\n"
    (attempt,) = attempts(tmp_path, text)
    assert [step for step, _ in points(attempt, "loss")] == list(range(1, 20))


@pytest.mark.parametrize("beside", ["", ", Train Loss: 0.{n:02}"])
def test_a_loss_told_only_where_it_is_the_best_is_no_course_beside_scores(
    tmp_path: Path, beside: str
) -> None:
    text = ""
    for n in range(1, 31):
        text += f"Epoch {n}, Train Acc: 0.{n + 40}, Test Acc: 0.{70 - n}{beside.format(n=n)}\n"
        text += f"val loss decrease from {9 / n} to {8 / n}, save model to best.pth\n" if n % 3 == 1 else ""
    (attempt,) = attempts(tmp_path, text)
    names = {name for name, series in assign(attempt.series).items() if len(series) == 10}
    assert names == {"val loss" if beside else "best val loss"}


def test_epochs_without_improvement_are_no_progress(tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 15):
        mark = "*best*" if epoch % 3 else f"(no improve {epoch // 3}/4)"
        text += f"[stage B] epoch {epoch}/40 | loss {9 / epoch:.4f} | grip_acc 0.6 {mark} | 52s\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss") == [(e, round(9 / e, 4)) for e in range(1, 15)]


def test_shares_of_an_epoch_count_nothing(tmp_path: Path) -> None:
    text = ""
    for fold in range(2):
        text += f"===== Running fold {fold}/1 =====\n"
        for epoch in range(1, 9):
            for n in range(1, 5):
                text += f"epoch {epoch} (progress={epoch - 1 + n / 4}) | loss: {9 / (4 * epoch + n):.3f}\n"
            text += f"[val] epoch {epoch} | loss: {8 / epoch:.4f} | acc: 0.8128\n"
    first, second = attempts(tmp_path, text)
    assert [len(attempt.series["loss"]) for attempt in (first, second)] == [32, 32]
    assert first.series["val/loss"].steps.tolist() == list(range(1, 9))


def test_a_total_beside_its_parts_is_of_a_training(tmp_path: Path) -> None:
    lines = (
        f"[Adam] ep= {20 * n}  total={9 / n:.3e}  PDE={4 / n:.3e} (w=3.0)  BC={5 / n:.3e}\n"
        for n in range(1, 40)
    )
    (attempt,) = attempts(tmp_path, "".join(lines))
    assert {name: attempt.series[name].role for name in ("total", "PDE")} == {
        "total": "loss",
        "PDE": "part-loss",
    }


def test_the_number_in_front_of_each_line_counts_where_it_only_grows(tmp_path: Path) -> None:
    (attempt,) = attempts(tmp_path, "".join(f"{10 * n}: loss={9 / n:.4f} acc=0.5\n" for n in range(1, 20)))
    assert (attempt.series["loss"].steps.tolist(), attempt.axis) == (list(range(10, 200, 10)), "step")
    ranks = "".join(f"{rank}: step {n} loss {9 / n:.4f}\n" for n in range(1, 20) for rank in (0, 1))
    (attempt,) = attempts(tmp_path, ranks)
    assert attempt.series["loss"].steps.tolist() == list(range(1, 20))


def test_what_stands_below_the_heading_of_an_evaluation_is_of_it(tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 6):
        text += f"Epoch {epoch}\n-----------------\n"
        text += "".join(f"loss: {9 / (epoch + n):.6f}  [{6400 * n + 64:5}/60000]\n" for n in range(4))
        text += f"Test Error: \n Accuracy: {50 + epoch}.5%, Avg loss: {8 / epoch:.6f} \n\n"
    (attempt,) = attempts(tmp_path, text)
    assert len(attempt.series["loss"]) == 20
    assert [attempt.series[f"test/{name}"].role for name in ("Accuracy", "Avg loss")] == [
        "validation-score",
        "validation-loss",
    ]


@pytest.mark.parametrize("heading", ["valid:", "Validation:", "Val results:"])
@pytest.mark.parametrize("joint", ["\n", ", "], ids=["blocks", "lines"])
def test_names_that_recur_below_headings_are_told_apart(heading: str, joint: str, tmp_path: Path) -> None:
    text = ""
    for n in range(12):
        train, held_out = (f"loss: {level - n / 8}{joint}acc: {n / 16}\n" for level in (4, 5))
        text += f"epoch {n}\ntrain:\n{train}{heading}\n{held_out}"
    (attempt,) = attempts(tmp_path, text)
    word = heading.split()[0].lower().rstrip(":")
    assert points(attempt, "loss") == [(n, 4 - n / 8) for n in range(12)]
    assert points(attempt, f"{word}/loss") == [(n, 5 - n / 8) for n in range(12)]
    assert not attempt.truncated


def test_a_total_that_an_evaluation_repeats_is_its_own(tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 9):
        for batch in (20, 40):
            text += f"[INFO] Epoch {epoch} [{batch}/40] total={9 / epoch:.4f} pose={8 / epoch:.4f}\n"
        text += f"[INFO] [Val]   Epoch {epoch}: total={12 / epoch:.4f} pose={11 / epoch:.4f}\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "val/total") == [(40 * epoch, round(12 / epoch, 4)) for epoch in range(1, 9)]
    assert assign(attempt.series)["val/total"].role is Role.VALIDATION_LOSS


def test_an_epoch_that_is_named_below_the_bar_of_its_steps_is_over(tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 9):
        text += "100%|##########| 40/40 [00:20<00:00,  2.0it/s]\n\n"
        text += f"Epoch {epoch}/99\n----------\nRecon Loss: {9 / epoch:.4f} | KL Loss: 0.0125\n\n"
    (attempt,) = attempts(tmp_path, text + " 20%|##        | 8/40 [00:04<00:16,  2.0it/s]\n")
    assert points(attempt, "Epoch") == [(40 * epoch, float(epoch)) for epoch in range(1, 9)]
    assert attempt.series["Recon Loss"].steps.tolist() == [40 * epoch for epoch in range(1, 9)]


def test_a_loss_that_first_occurs_below_a_heading_that_recurs_is_no_setting(tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 13):
        adversarial = f"Generator Loss: 0.{epoch}\n" if epoch > 8 else ""
        text += f"Epoch {epoch}/99\nTRAINING:\nRecon Loss: {9 / epoch:.4f} | KL Loss: 0.0125\n{adversarial}"
        text += f"VALIDATION:\nRecon Loss: {10 / epoch:.4f} | KL Loss: 0.0250\nGenerator Loss: 0.5{epoch}\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Generator Loss") == [(9, 0.9), (10, 0.1), (11, 0.11), (12, 0.12)]
    assert len(attempt.series["validation/Generator Loss"]) == 12


def test_a_bare_score_beside_what_is_explored_with_is_of_a_training(tmp_path: Path) -> None:
    rows = (
        f"Ep {n:4}/40 | Score: {4 * n:6.2f} | Avg100: {3 * n:6.2f} | ε: {1 - n / 50:.3f}\n"
        for n in range(1, 41)
    )
    (attempt,) = attempts(tmp_path, "".join(rows))
    assert (attempt.series["Score"].role, attempt.axis) == ("objective", "epoch")


def test_a_bar_that_is_drawn_empty_before_its_epoch_is_named_begins_the_next_one(tmp_path: Path) -> None:
    """What was drawn last is the last batch but one, twice, as numbers are set after the count has moved."""
    lines = list[str]()
    for epoch in range(5):
        lines += ["  0%|    | 0/40 [00:00<?, ?it/s]", f"Epoch {epoch}:   0%|    | 0/40 [00:00<?, ?it/s]"]
        for n in range(40):
            told = f"[00:{n:02d}<00:10, 4.4s/it, loss:{3 - epoch / 8 - n / 512:.4f}]"
            lines += [f"Epoch {epoch}:  5%|#   | {n + later}/40 {told}" for later in (0, n < 39)]
        lines += [f"validating:  50%|##  | {n}/4 [00:01<00:01, 1.1s/it, loss:{2 + n / 8}]" for n in range(4)]
    (attempt,) = attempts(tmp_path, "\r".join(lines) + "\n")
    assert attempt.series["loss"].steps.tolist() == list(range(200))


def test_an_evaluation_below_another_one_keeps_its_own_name(tmp_path: Path) -> None:
    text = ""
    for step in range(0, 1200, 100):
        text += f"Train Ep: {step} Loss: {3 - step / 1024}\n"
        text += f"Test set: Average loss: {4 - step / 1024}, Accuracy: 278/2000 (13%)\n"
        text += f"Val set: Average loss: {5 - step / 1024}, Accuracy: 36/300 (12%)\n"
    (attempt,) = attempts(tmp_path, text)
    own = [(step, 4 - step / 1024) for step in range(0, 1200, 100)]
    assert points(attempt, "test/Average loss") == own
    assert points(attempt, "val/Average loss") == [(step, loss + 1) for step, loss in own]


@pytest.mark.parametrize(
    "best", ["best record: [epoch {e}], [val loss {loss}]", "Best model: val loss {loss} at epoch {e}"]
)
def test_a_line_that_tells_the_best_so_far_again_is_no_point(best: str, tmp_path: Path) -> None:
    losses = [3 - epoch / 8 for epoch in range(1, 13)]
    text = "".join(
        f"[epoch {e}], [train loss {loss - 1}]\n[epoch {e}], [val loss {loss}]\n"
        + f"{best.format(e=e, loss=loss)}\n"
        for e, loss in enumerate(losses, 1)
    )
    (attempt,) = attempts(tmp_path, text + best.format(e=4, loss=losses[3]) + "\n")
    assert points(attempt, "val loss") == list(enumerate(losses, 1))


@pytest.mark.parametrize("n_epochs", [1, 2, 3])
def test_a_training_that_has_only_begun_is_read(n_epochs: int, tmp_path: Path) -> None:
    rows = [
        f"[Epoch {n} / 3] train_loss={2 - n / 4}, valid_loss={3 - n / 4}\n" for n in range(1, n_epochs + 1)
    ]
    (attempt,) = attempts(tmp_path, "Using device cuda\n" + "".join(rows))
    assert points(attempt, "train_loss") == [(n, 2 - n / 4) for n in range(1, n_epochs + 1)]


def test_three_epochs_that_are_told_at_their_last_step_are_read(tmp_path: Path) -> None:
    """By each of two processes, as MindSpore does; the step stands still, so that epochs count."""
    rows = [f"epoch: {n} step: 40, loss is {2 - n / 4 + who / 8}\n" for n in (1, 2, 3) for who in (0, 1)]
    (attempt,) = attempts(tmp_path, "".join(rows))
    assert [step for step, _ in points(attempt, "loss")] == [1, 1, 2, 2, 3, 3]


def test_three_epochs_that_are_named_above_their_losses_are_read(tmp_path: Path) -> None:
    rows = [
        f"Epoch: {n} | Time: 0m 17s\n\tTrain Loss: {2 - n / 4}\n\t Val. Loss: {3 - n / 4}\n" for n in range(3)
    ]
    (attempt,) = attempts(tmp_path, "Using device cuda\n" + "".join(rows))
    assert points(attempt, "Train Loss") == [(n, 2 - n / 4) for n in range(3)]
    assert points(attempt, "val/Loss") == [(n, 3 - n / 4) for n in range(3)]


def test_a_bar_that_counts_the_epochs_is_no_step(tmp_path: Path) -> None:
    rows = [f"\r{n}/5 [00:0{n}<00:0{5 - n}]\nEpoch {n + 1}: loss {2 - n / 8}\n" for n in range(5)]
    (attempt,) = attempts(tmp_path, "".join(rows))
    assert (attempt.axis, points(attempt, "loss")) == ("epoch", [(n + 1, 2 - n / 8) for n in range(5)])


def test_a_loss_of_an_epoch_is_no_epoch(tmp_path: Path) -> None:
    losses = [2 - n / 16 for n in range(10)]
    text = "Training epoch: 1\n" + "".join(f"Training loss: {loss}\n" for loss in losses)
    (attempt,) = attempts(tmp_path, text + "Training loss epoch: 1.5\nTraining accuracy epoch: 0.75\n")
    assert points(attempt, "Training loss") == list(enumerate(losses))


def test_a_bar_that_is_drawn_before_its_next_epoch_is_named_ends_the_epoch(tmp_path: Path) -> None:
    """As pytorch-ignite draws it: first without its name, then with the loss before and the one after."""
    text = ""
    for epoch in range(1, 5):
        losses = [f"{4 - epoch / 2 - n / 50:.3f}" for n in range(1, 11)]
        text += f"\r[1/10]  10%|#  [00:00<?]\rEpoch [{epoch}/4]: [1/10]  10%|#  [00:00<?]"
        for n, loss in enumerate(losses, 1):
            for shown in [loss, losses[n]] if n < 10 else [loss]:
                text += f"\rEpoch [{epoch}/4]: [{n}/10] {10 * n:3d}%|#  , batch loss={shown} [00:01<00:02]"
        text += f"\nValidation - Epoch: {epoch} Avg loss: {3 - epoch / 3:.3f}\n"
    (attempt,) = attempts(tmp_path, text)
    loss = attempt.series["batch loss"]
    assert [loss.values[loss.steps // 10 == n].min() for n in range(4)] == [3.3, 2.8, 2.3, 1.8]
    assert attempt.series["validation/Avg loss"].steps.tolist() == [9, 19, 29, 39]


def test_a_count_that_is_told_before_its_epoch_is_named_is_of_that_epoch(tmp_path: Path) -> None:
    """As nanochat does: the evaluation before the first step names no epoch."""
    text = "Step 00000 | Validation bpb: 3.250000\n"
    for step in range(20):
        text += (
            f"step {step:05d}/00020 ({5 * step:.2f}%) | loss: {3 - step / 10:.6f} | epoch: 1 pq: 3 rg: 1\n"
        )
    (attempt,) = attempts(tmp_path, text + "Step 00020 | Validation bpb: 1.500000\n")
    assert attempt.series["loss"].steps.tolist() == [*range(20)]
    assert attempt.series["Validation bpb"].steps.tolist() == [0, 20]


def test_an_epoch_before_all_that_were_begins_at_the_start(tmp_path: Path) -> None:
    """A training that is resumed at a late epoch, and then one that begins with the first."""
    text = ""
    for epoch in (40, 41, 0, 1, 2):
        for batch in (10, 20, 30, 40):
            text += f"Epoch[{epoch}] Batch [{batch}] Train-SmoothL1={9 / (40 + batch)}\n"
    (attempt,) = attempts(tmp_path, text)
    loss = attempt.series["Train-SmoothL1"]
    assert loss.role is Role.LOSS
    assert loss.steps.tolist() == [*range(10, 90, 10), *range(10, 130, 10)]


def test_epochs_of_a_launch_from_the_start_may_be_longer_than_those_before(tmp_path: Path) -> None:
    """MindSpore's callback: two launches, whose batches have different sizes."""
    text = ""
    for length in (12, 20):
        for n in range(3 * length):
            text += f"epoch: {n // length + 1} step: {n % length + 1}, loss is {3 - n / 64}\n"
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["loss"].steps.tolist() == [*range(1, 37), *range(1, 61)]


def test_what_an_evaluation_goes_through_after_many_epochs_counts_nothing(tmp_path: Path) -> None:
    """Two trainings, each of which is tested at three horizons `T`."""
    text = ""
    for length in (12, 30):
        text += "".join(
            f"epoch:{n}, training loss:{3 - n / 64} validation loss:{3.5 - n / 64}\n" for n in range(length)
        )
        text += "".join(f"T:{n}\tMAE\t{n / 4 + 0.125}\tRMSE\t{n / 2 + 0.125}\n" for n in (3, 6, 12))
    (attempt,) = attempts(tmp_path, text)
    losses = [(n, 3 - n / 64) for length in (12, 30) for n in range(length)]
    assert points(attempt, "training loss") == losses


def test_a_size_behind_others_in_a_line_counts_nothing(tmp_path: Path) -> None:
    text = "Images: 5000, Batch: 8, Save every: 300\nEpoch 1/50 starting...\n"
    for n in range(10, 130, 10):
        text += f"Batch {n}/3000 | Loss: {3 - n / 64}\n"
        text += f"Epoch {n // 60 + 1}/50 starting...\n" if n == 60 else ""
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Loss") == [(n, 3 - n / 64) for n in range(10, 130, 10)]


def test_a_count_between_dashes_is_the_heading_of_what_follows(tmp_path: Path) -> None:
    text = "".join(
        f"-----------iteration {n}-----------{1200 - n} left------\nAverage data load time: 0.03\n"
        f"loss:{3 - n / 1024}\nm3 cls:{0.5 - n / 4096}\n"
        for n in range(100, 1300, 100)
    )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss") == [(n, 3 - n / 1024) for n in range(100, 1300, 100)]


@pytest.mark.parametrize(
    ("learn", "roles"),
    [
        ((0.5, 0.75, 0.875, 0.9375), {"learn": Role.SCORE, "test": Role.VALIDATION_SCORE}),
        ((0.75, 0.5, 0.375, 0.3125), {"learn": Role.LOSS, "test": Role.VALIDATION_LOSS}),
    ],
    ids=["accuracy", "loss"],
)
def test_what_catboost_makes_greater_is_a_score(
    learn: tuple[float, ...], roles: dict[str, Role], tmp_path: Path
) -> None:
    text = "".join(
        f"{n}:\tlearn: {value}\ttest: {value - 0.125}\tbest: 0.5 (0)\ttotal: 9.1s\tremaining: 1m 2s\n"
        for n, value in enumerate(learn)
    )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "learn") == [*enumerate(learn)]
    assert {name: attempt.series[name].role for name in roles} == roles


def test_the_last_mean_of_an_evaluation_is_its_result(tmp_path: Path) -> None:
    text = ""
    for epoch in range(4):
        text += "".join(f"Epoch: [{epoch}]  [{n:2}/40]  loss: 0.{n:02}5 (0.5000)\n" for n in range(0, 40, 10))
        for n in (0, 8, 9):  # the median of the last batches, and the mean of all
            text += (
                f"Test:  [ {n}/10]  loss: {2.5 - n / 9:.4f} ({2.5 - epoch / 4 - n / 18:.4f})  time: 0.0711\n"
            )
        text += f"Averaged stats: loss: 1.5000 ({2 - epoch / 4:.4f})\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "test/loss") == [(30, 2.0), (70, 1.75), (110, 1.5), (150, 1.25)]
    assert points(attempt, "loss")[:4] == [(0, 0.005), (10, 0.105), (20, 0.205), (30, 0.305)]


def test_a_global_step_that_begins_anew_is_of_another_training(tmp_path: Path) -> None:
    text = ""
    for trial, last in enumerate((600, 1200, 600)):
        for step in range(50, last + 50, 50):
            text += f" * (global step {step}: loss: {2 - step / 800 - trial / 100:.4f}, lr: 0.001\n"
            is_end = step % (last // 3) == 0
            text += f"[epoch {3 * step // last - 1}/5] average loss: {2 - step / 900:.4f}\n" * is_end
    (attempt,) = attempts(tmp_path, text)
    assert attempt.series["loss"].steps.tolist() == [
        *range(50, 650, 50),
        *range(50, 1250, 50),
        *range(50, 650, 50),
    ]


def test_the_variables_of_a_traceback_are_no_rows(tmp_path: Path) -> None:
    given = "{'batch_size': 16, 'init_lr': 0.002, 'layers': 4, 'task': 'tox', 'amp': False}\n"
    text = f"Traceback (most recent call last):\n    train(config)\n    |     └ {given[:40]}...\n"
    text += "    |     └ {'batch_size': 16, 'init_lr': 0.002, 'lay...\nFileNotFoundError: tox.csv\n"
    for trial in range(3):
        text += given + "".join(f"Validation loss: {2 - trial / 9 - n / 30:.4f}\n" for n in range(30))
    assert [len(part.series["Validation loss"]) for part in attempts(tmp_path, text)] == [30, 30, 30]


def test_a_seed_of_each_epoch_begins_no_launch(tmp_path: Path) -> None:
    text = "Shuffling the pairs with seed 0.\n"
    for epoch in range(4):
        text += f"Shuffling the pairs with seed {epoch}.\n" * 2 * (epoch > 0)
        for n in range(0, 500, 100):
            loss = 2 - epoch / 4 - n / 2500
            text += f"[E {epoch} | it {n}] loss {{total {loss:.3E}, pos {loss / 4:.3E}, row_norm 8.5E-01}}\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss/total")[3:7] == [(300, 1.88), (400, 1.84), (500, 1.75), (600, 1.71)]
    assert points(attempt, "epoch")[-1] == (1900, 3.0)


@pytest.mark.parametrize("words", ["-> No improvement", "没有提升", "Keine Verbesserung"])
def test_the_patience_in_brackets_is_no_progress(words: str, tmp_path: Path) -> None:
    text = ""
    for epoch in range(1, 13):
        text += f"[Epoch {epoch}/50]\nTrain Loss: {3 - epoch / 16:.4f}, Train Acc: 0.5{epoch:02}\n"
        text += f"Val   Loss: {2 - epoch / 32:.4f}, Val   Acc: 0.4{epoch:02}\n"
        text += "  -> Best model saved.\n" if epoch % 4 == 0 else f"  {words} ({epoch % 4}/10)\n"
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Train Loss") == [(n, 3 - n / 16) for n in range(1, 13)]
    assert attempt.axis == "epoch"


@pytest.mark.parametrize(
    ("heading", "row"), [("Epoch {}/6", "step {} loss {}"), ("-- Epoch {}", "T: {}, loss: {}")]
)
def test_an_epoch_above_its_steps_is_a_value_of_the_first_of_them(
    heading: str, row: str, tmp_path: Path
) -> None:
    text = "".join(
        heading.format(n)
        + "\n"
        + "".join(f"{row.format(100 * k, 3 - k / 32)}\n" for k in range(4 * n - 3, 4 * n + 1))
        for n in range(1, 7)
    )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Epoch") == [(400 * n - 300, n) for n in range(1, 7)]
    assert points(attempt, "loss") == [(100 * k, 3 - k / 32) for k in range(1, 25)]


def test_an_epoch_may_stand_above_blocks_of_lines(tmp_path: Path) -> None:
    text = "".join(
        f"epoch: {n}\n"
        + "".join(f"[batch={k}]:\n  loss: {3 - k / 32}\n  lr: 0.1\n" for k in range(4 * n - 3, 4 * n + 1))
        for n in range(1, 7)
    )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "loss") == [(k, 3 - k / 32) for k in range(1, 25)]
    assert points(attempt, "epoch") == [(4 * n - 3, n) for n in range(1, 7)]


def test_an_epoch_below_its_steps_is_a_value_of_the_last_of_them(tmp_path: Path) -> None:
    text = "".join(
        "".join(f"step {100 * k} loss {3 - k / 32}\n" for k in range(4 * n - 3, 4 * n + 1))
        + f"Epoch {n} done\n"
        for n in range(1, 7)
    )
    (attempt,) = attempts(tmp_path, text)
    assert points(attempt, "Epoch") == [(400 * n, n) for n in range(1, 7)]


def test_the_epoch_at_whose_end_a_loss_is_computed_is_no_loss(tmp_path: Path) -> None:
    text = "".join(
        f"Calculating validation loss at end of epoch {n}...\nEpoch {n} validation loss: {3 - n / 8}\n"
        for n in range(1, 13)
    )
    (attempt,) = attempts(tmp_path, text)
    assert [*attempt.series] == ["validation loss"]
    assert points(attempt, "validation loss") == [(n, 3 - n / 8) for n in range(1, 13)]


def test_how_full_a_buffer_is_counts_no_steps(tmp_path: Path) -> None:
    line = "INFO - Epoch {n}/40: Time=3.{n}s, Reward=0.{n}, BufferSize={full}/1000 ({share}%)\n"
    rows = [(n, min(90 * n, 1000)) for n in range(1, 41)]
    (attempt,) = attempts(tmp_path, "".join(line.format(n=n, full=full, share=full / 10) for n, full in rows))
    assert (attempt.axis, attempt.series["Reward"].steps.tolist()) == ("epoch", [*range(1, 41)])


def test_a_bar_whose_count_is_named_an_epoch_counts_epochs(tmp_path: Path) -> None:
    text = ""
    for n in range(12):
        bar = f"{n * 100 // 12:3}%|{'#' * n}{' ' * (12 - n)}| {n}/12 [{n * 7:02}:00<1:00:00, 420.00s/it]"
        text += f"{bar}\nbatches : 500, epoch : {n}\nloss_u : {1 / (n + 1):.6f}\nloss_k : {2 / (n + 1):.6f}\n"
    (attempt,) = attempts(tmp_path, text)
    assert attempt.axis == "epoch"
    assert attempt.series["loss_u"].steps.tolist() == [*range(12)]


def test_a_count_of_another_name_from_zero_is_no_next_pass_of_the_one_before(tmp_path: Path) -> None:
    """Phases of several trainings, each with a counter of its own."""

    def phase(name: str, of: int, distance: int) -> str:
        return "".join(f"{name} Step {n}/{of} | Loss: {4 - 3 * n / of:.4f}\n" for n in range(0, of, distance))

    text = phase("Coarse", 200, 10) + phase("Fine", 200, 20) + phase("Fine", 60, 20) + phase("Coarse", 60, 10)
    ((steps, _),) = [zip(*points(attempt, "Loss"), strict=True) for attempt in attempts(tmp_path, text)]
    assert list(steps) == [*range(0, 200, 10), *range(0, 200, 20), 0, 20, 40, *range(0, 60, 10)]
