"""What event files of one run are to each other: writers of one process, and counters side by side."""

from __future__ import annotations

from pathlib import Path

from tests.readers.writers import event, frame, simple, summary

from chronicle.model import Attempt
from chronicle.readers import read

Point = tuple[float, int, str, float]  # Unix seconds, step, tag, value


def events(file: Path, points: list[Point]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    version = event(points[0][0], 0, b"\x1a\x0dbrain.Event:2")
    payloads = [event(time, step, summary([(tag, simple(value))])) for time, step, tag, value in points]
    file.write_bytes(b"".join(map(frame, [version, *payloads])))


def steps(attempt: Attempt) -> dict[str, list[int]]:
    return {tag: one.steps.tolist() for tag, one in attempt.series.items()}


def test_epochs_beside_steps_stand_at_the_last_step_before_their_end(tmp_path: Path) -> None:
    """Ten steps an epoch, a second each; the accuracy is logged by epoch, half a second after its end."""
    loss = [(1e9 + k, k, "loss", 2.0) for k in range(60)]
    accuracy = [(1e9 + 10 * epoch + 9.5, epoch, "val/acc", 0.5) for epoch in range(6)]
    late = [(1e9 + k, k, "lr", 0.1) for k in range(0, 60, 20)]  # of the same counter, and fewer
    events(tmp_path / "events.out.tfevents.1", sorted(loss + accuracy + late))
    (attempt,) = read(tmp_path)
    assert steps(attempt) == {
        "loss": list(range(60)),
        "lr": [0, 20, 40],
        "val/acc": [9, 19, 29, 39, 49, 59],
    }
    assert attempt.facts["step_counter"] == "loss; 6 rows by val/acc"


def test_batches_beside_epochs_stand_at_the_epoch_that_they_are_part_of(tmp_path: Path) -> None:
    """Keras: evaluations count batches, and are written before the end of their epoch."""
    epochs = [(1e9 + 10 * e + 9.5, e, tag, 2.0) for e in range(6) for tag in ("epoch_loss", "epoch_mae")]
    batches = [(1e9 + 10 * e + 9.0, 8 * (e + 1), "evaluation_loss_vs_iterations", 2.0) for e in range(6)]
    events(tmp_path / "events.out.tfevents.1", sorted(epochs + batches))
    (attempt,) = read(tmp_path)
    assert list(steps(attempt).values()) == [[0, 1, 2, 3, 4, 5]] * 3


def test_one_counter_is_left_alone_however_late_its_values_come(tmp_path: Path) -> None:
    """An evaluation that another process does lags behind, by no factor, and falls where the loss does."""
    trained = [*range(60), *range(30, 60)]
    loss = [(1e9 + k, step, "loss", 2.0) for k, step in enumerate(trained)]
    judged = [(1e9 + k + 25, step, "eval/loss", 2.0) for k, step in enumerate(trained) if step % 10 == 0]
    events(tmp_path / "events.out.tfevents.1", sorted(loss + judged))
    (attempt,) = read(tmp_path)
    assert steps(attempt)["eval/loss"] == [0, 10, 20, 30, 40, 50, 30, 40, 50]
    assert "step_counter" not in attempt.facts


def test_a_writer_belongs_to_its_process_though_it_writes_first(tmp_path: Path) -> None:
    """Of each launch of Keras the first evaluation is written before the first epoch is over."""
    for launch in range(2):
        begun = 1_000_000_000 + 100 * launch
        of_launch = f"host.{7 + launch}"
        train = [(begun + 9.5 + k, 5 * launch + k, "epoch_loss", 2.0) for k in range(5)]
        held_out = [(begun + 9.0 + k, 5 * launch + k, "epoch_loss", 3.0) for k in range(5)]
        events(tmp_path / f"train/events.out.tfevents.{begun}.{of_launch}.0.v2", train)
        events(tmp_path / f"validation/events.out.tfevents.{begun + 9}.{of_launch}.1.v2", held_out)
    assert [steps(one) for one in read(tmp_path)] == [
        {"train/epoch_loss": [0, 1, 2, 3, 4], "validation/epoch_loss": [0, 1, 2, 3, 4]},
        {"train/epoch_loss": [5, 6, 7, 8, 9], "validation/epoch_loss": [5, 6, 7, 8, 9]},
    ]
