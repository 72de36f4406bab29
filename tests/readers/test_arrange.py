"""What event files of one run are to each other: writers of one process, and counters side by side."""

from __future__ import annotations

from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from tests.readers.writers import event, frame, simple, summary

from chronicle.model import Attempt, Role
from chronicle.readers import read
from chronicle.timeline import stitch

Point = tuple[float, int, str, float]  # Unix seconds, step, tag, value


def events(file: Path, points: list[Point]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    version = event(points[0][0], 0, b"\x1a\x0dbrain.Event:2")
    payloads = [event(time, step, summary([(tag, simple(value))])) for time, step, tag, value in points]
    file.write_bytes(b"".join(map(frame, [version, *payloads])))


def steps(attempt: Attempt) -> dict[str, list[int]]:
    return {tag: series_.steps.tolist() for tag, series_ in attempt.series.items()}


def test_epochs_beside_steps_stand_at_the_last_step_before_their_end(tmp_path: Path) -> None:
    """Ten steps an epoch, a second each; the accuracy is logged by epoch, half a second after its end."""
    loss = [(1e9 + k, k, "loss", 2.0) for k in range(60)]
    accuracy = [(1e9 + 10 * epoch + 9.5, epoch, "val/acc", 0.5) for epoch in range(6)]
    late = [(1e9 + k, k, "lr", 0.1) for k in range(0, 60, 20)]  # of the same counter, and fewer
    events(tmp_path / "events.out.tfevents.1", sorted(loss + accuracy + late))
    (attempt,) = read(tmp_path)
    assert steps(attempt) == {"loss": list(range(60)), "lr": [0, 20, 40], "val/acc": [9, 19, 29, 39, 49, 59]}
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


def test_batches_of_an_evaluation_stand_at_the_steps_of_the_training(tmp_path: Path) -> None:
    """Lightning: 20 steps an epoch, of which the tenth and the last are logged; a validation counts its 7
    batches over all epochs, and its mean and the epoch stand at the step of the trainer."""
    points = list[Point]()
    for epoch in range(12):
        begun, end = 1e9 + 100 * epoch, 20 * epoch + 19
        points += [(begun + 10, end - 10, "loss", 2.0), (begun + 20, end, "loss", 2.0)]
        points += [(begun + 30 + k, 7 * epoch + k, "val_loss_step", 3.0) for k in range(7)]
        points += [(begun + 70, end, "val_loss", 3.0), (begun + 70, end, "epoch", epoch)]
    events(tmp_path / "events.out.tfevents.1", points)
    (attempt,) = read(tmp_path)
    ends = [19, 39, 59, 79, 99, 119, 139, 159, 179, 199, 219, 239]
    assert steps(attempt) == {
        "loss": [step for end in ends for step in (end - 10, end)],
        "val_loss_step": [end for end in ends for _ in range(7)],
        "val_loss": ends,
        "epoch": ends,
    }
    assert attempt.facts["step_counter"] == "loss; 84 rows by val_loss_step"


def test_single_values_count_nothing(tmp_path: Path) -> None:
    events(tmp_path / "events.out.tfevents.1", [(1e9, 0, "loss", 2.0), (1e9 + 1, 5, "val/acc", 0.5)])
    (attempt,) = read(tmp_path)
    assert steps(attempt) == {"loss": [0], "val/acc": [5]}


def test_a_writer_belongs_to_its_process_though_it_writes_first(tmp_path: Path) -> None:
    """Of each launch of Keras the first evaluation is written before the first epoch is over."""
    for launch in range(2):
        begun = 1_000_000_000 + 100 * launch
        of_launch = f"host.{7 + launch}"
        train = [(begun + 9.5 + k, 5 * launch + k, "epoch_loss", 2.0) for k in range(5)]
        held_out = [(begun + 9.0 + k, 5 * launch + k, "epoch_loss", 3.0) for k in range(5)]
        events(tmp_path / f"train/events.out.tfevents.{begun}.{of_launch}.0.v2", train)
        events(tmp_path / f"validation/events.out.tfevents.{begun + 9}.{of_launch}.1.v2", held_out)
    assert [steps(attempt) for attempt in read(tmp_path)] == [
        {"train/epoch_loss": [0, 1, 2, 3, 4], "validation/epoch_loss": [0, 1, 2, 3, 4]},
        {"train/epoch_loss": [5, 6, 7, 8, 9], "validation/epoch_loss": [5, 6, 7, 8, 9]},
    ]


def monitor(file: Path, begun: float, rows: list[tuple[int, float]]) -> None:
    """What Gym's Monitor writes of each episode: reward, length, seconds since the environment was made."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [f'#{{"t_start": {begun}, "env_id": "CartPole-v1"}}', "r,l,t"]
    lines += [f"{length}.0,{length},{at}" for length, at in rows]
    file.write_text("\n".join(lines) + "\n")


def test_environments_are_one_series_of_episodes_in_the_order_in_which_they_end(tmp_path: Path) -> None:
    monitor(tmp_path / "0.monitor.csv", 1e9, [(20, 2.0), (30, 6.0)])
    monitor(tmp_path / "1.monitor.csv", 1e9 + 1, [(10, 0.5), (25, 3.0)])
    (attempt,) = read(tmp_path)
    reward = attempt.series["episode reward"]
    assert (reward.steps.tolist(), reward.values.tolist()) == ([10, 30, 55, 85], [10, 20, 25, 30])
    assert (reward.role, attempt.sources) == (
        Role.OBJECTIVE,
        (str(tmp_path / "0.monitor.csv"), str(tmp_path / "1.monitor.csv")),
    )


def test_environments_that_ran_at_other_times_are_of_other_trainings(tmp_path: Path) -> None:
    """A training of two environments writes over the files of the first two of four, weeks later."""
    for k, begun in enumerate((1.002e9, 1.002e9 + 1, 1e9, 1e9 + 2)):
        monitor(tmp_path / f"{k}.monitor.csv", begun, [(20 + k, 50.0 + k), (30 + k, 90.0 + k)])
    attempts = {attempt.name: attempt.series["episode reward"] for attempt in read(tmp_path)}
    assert {name: (reward.steps.tolist(), reward.values.tolist()) for name, reward in attempts.items()} == {
        "0.monitor.csv": ([20, 41, 71, 102], [20, 21, 30, 31]),
        "2.monitor.csv": ([22, 45, 77, 110], [22, 23, 32, 33]),
    }


def test_a_launch_that_appends_to_the_file_of_an_environment_goes_on_behind_it(tmp_path: Path) -> None:
    """Its seconds begin again, so that sorted by them its episodes would stand among the earlier ones."""
    monitor(tmp_path / "monitor.csv", 1e9, [(20 + n, 2.0 * n) for n in (*range(1, 7), *range(1, 11))])
    timeline = stitch(read(tmp_path))
    reward = timeline.series["episode reward"]
    lengths = [*range(21, 27), *range(21, 31)]
    assert reward.values.tolist() == lengths
    assert reward.steps.tolist() == [*accumulate(lengths)]
    assert [(join.kind.value, join.to_step) for join in timeline.joins] == [("resume", 162)]


def test_episodes_stand_at_the_steps_of_the_log_in_their_folder(tmp_path: Path) -> None:
    """A second launch counts on from step 4000, and its environments count from nothing."""
    reward = [(1e9 + 10 * k, 4000 + 128 * k, "rollout/ep_rew_mean", 20.0 + k) for k in range(1, 11)]
    events(tmp_path / "events.out.tfevents.1000000003.vm.7.0", reward)
    monitor(tmp_path / "0.monitor.csv", 1e9, [(20, 15.0), (30, 30.0), (40, 95.0)])
    timeline = stitch(read(tmp_path))
    assert {name: (track.steps.tolist()[-3:], track.role) for name, track in timeline.series.items()} == {
        "rollout/ep_rew_mean": ([5024, 5152, 5280], Role.OBJECTIVE),
        "episode reward": ([4192, 4384, 5216], Role.SCORE),
        "episode length": ([4192, 4384, 5216], Role.OTHER),
        "elapsed (s)": ([4192, 4384, 5216], Role.OTHER),
    }


def epochs_of_bars(first: int, end: int, total: int = 10) -> str:
    """What `tqdm` leaves of a bar for each of these epochs, in which batches are counted from 1."""
    line = "Epoch {}/9: {:3d}%|###| {}/{} [00:01<00:02, 5.00it/s, loss={:.4f}]\n"
    batches = ((epoch, batch) for epoch in range(first, end) for batch in range(1, total + 1))
    return "".join(
        line.format(epoch, 100 * batch // total, batch, total, 3 - epoch / 5 - batch / 70)
        for epoch, batch in batches
    )


def test_a_resumed_log_of_its_own_goes_on_where_its_epoch_is(tmp_path: Path) -> None:
    """Each log counts the batches of an epoch anew: only the number of the epoch tells where it goes on."""
    for n, (first, end) in enumerate([(1, 6), (4, 7), (7, 10)]):
        (tmp_path / f"train-{n}.log").write_text(epochs_of_bars(first, end))
    spans = [(int(a.series["loss"].steps[0]), int(a.series["loss"].steps[-1])) for a in read(tmp_path)]
    assert spans == [(1, 50), (31, 60), (61, 90)]


def test_epochs_of_another_length_are_not_placed(tmp_path: Path) -> None:
    for n, (first, end, total) in enumerate([(1, 6, 10), (4, 7, 12)]):
        (tmp_path / f"train-{n}.log").write_text(epochs_of_bars(first, end, total))
    assert [int(a.series["loss"].steps[0]) for a in read(tmp_path)] == [1, 1]


def batches_and_table(folder: Path, name: str, seed: int, *, from_zero: bool = False) -> None:
    """A console with the batches of five epochs and their validation, and a table of these epochs."""
    noise = np.random.default_rng(seed).normal(0, 0.05, (5, 4))
    losses = np.round(2 - 0.3 * np.arange(5)[:, None] + noise, 4)
    held_out = np.round(losses.mean(axis=1) + 0.1, 4)
    with (folder / f"{name}.log").open("w") as log:
        for epoch, own in enumerate(losses, 1):
            log.writelines(f"Epoch {epoch}/5 Batch {k}/4 loss: {v}\n" for k, v in enumerate(own, 1))
            log.write(f"Epoch {epoch}/5 val_loss: {held_out[epoch - 1]}\n")
    numbers = range(5) if from_zero else range(1, 6)
    rows = zip(numbers, losses.mean(axis=1), held_out, strict=True)
    table = "".join(f"{n},{mean:.5f},{value},0.001\n" for n, mean, value in rows)
    (folder / f"{name}.csv").write_text("epoch,train_loss,val_loss,lr\n" + table)


@pytest.mark.parametrize("from_zero", [False, True])
def test_a_table_of_epochs_belongs_to_the_log_of_the_same_training(from_zero: bool, tmp_path: Path) -> None:
    batches_and_table(tmp_path, "train", 1, from_zero=from_zero)
    (attempt,) = read(tmp_path)
    ends = [4, 8, 12, 16, 20]
    of_batches = {"Epoch": [*range(1, 21)], "loss": [*range(1, 21)], "val_loss": ends}
    assert steps(attempt) == {**of_batches, "train_loss": ends, "lr": ends}
    assert [Path(source).name for source in attempt.sources] == ["train.log", "train.csv"]


def test_a_table_of_epochs_belongs_to_no_log_of_another_seed(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        batches_and_table(tmp_path, name, seed)
    assert [[Path(source).name for source in log.sources] for log in read(tmp_path)] == [
        ["a.log", "a.csv"],
        ["b.log", "b.csv"],
    ]
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b.log").unlink()
    assert sorted(log.name for log in read(tmp_path)) == ["a.log", "b.csv"]


def test_a_table_that_says_nothing_else_belongs_to_the_log_as_well(tmp_path: Path) -> None:
    batches_and_table(tmp_path, "train", 1)
    rows = [line.split(",") for line in (tmp_path / "train.csv").read_text().splitlines()]
    (tmp_path / "train.csv").write_text("".join(f"{row[0]},{row[2]}\n" for row in rows))
    (attempt,) = read(tmp_path)
    assert steps(attempt).keys() == {"Epoch", "loss", "val_loss"}
