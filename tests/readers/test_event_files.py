"""Event files: against TensorBoard, against our own slow parser, and with every kind of damage."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples, few
from tests.readers.damage import damaged
from tests.readers.gold import text
from tests.readers.writers import event, event_log, field, frame, masked_crc, simple, summary, varint

from chronicle.errors import BadLog, NothingToRead
from chronicle.model import Attempt
from chronicle.readers import events, read
from chronicle.readers.events import scalars
from chronicle.readers.events.tfrecord import masked_crcs

VERSION = event(1.7e9, 0, b"\x1a\x0dbrain.Event:2")


SCALARS = field(0x4A, field(0x0A, field(0x0A, b"scalars")))


def tensor(dtype: int, rest: bytes, shape: bytes = b"\x12\x00") -> bytes:
    return field(0x42, b"\x08" + varint(dtype) + shape + rest) + SCALARS


ENCODINGS = {
    "simple_value": simple,
    "tensor_content": lambda v: tensor(1, field(0x22, struct.pack("<f", v))),
    "float_val": lambda v: tensor(1, field(0x2A, struct.pack("<f", v))),
    "float_val unpacked": lambda v: tensor(1, b"\x2d" + struct.pack("<f", v)),
    "float without shape": lambda v: tensor(1, field(0x22, struct.pack("<f", v)), shape=b""),
    "float of shape [1]": lambda v: tensor(1, field(0x22, struct.pack("<f", v)), b"\x12\x04\x12\x02\x08\x01"),
    "double content": lambda v: tensor(2, field(0x22, struct.pack("<d", v))),
    "double_val": lambda v: tensor(2, field(0x32, struct.pack("<d", v))),
    "double_val unpacked": lambda v: tensor(2, b"\x31" + struct.pack("<d", v)),
    "int32 content": lambda v: tensor(3, field(0x22, struct.pack("<i", int(v)))),
    "int_val": lambda v: tensor(3, field(0x3A, varint(int(v)))),
    "int64 content": lambda v: tensor(9, field(0x22, struct.pack("<q", int(v)))),
    "int64_val": lambda v: tensor(9, b"\x50" + varint(int(v))),
    "half": lambda v: tensor(19, field(0x22, struct.pack("<e", v))),
    "half_val": lambda v: tensor(19, field(0x6A, varint(struct.unpack("<H", struct.pack("<e", v))[0]))),
    "bfloat16": lambda v: tensor(14, field(0x22, struct.pack("<f", v)[2:])),
    "bool_val": lambda v: tensor(10, field(0x5A, varint(int(v != 0)))),
}


def write(file: Path, payloads: Sequence[bytes]) -> Path:
    file.write_bytes(b"".join(frame(payload) for payload in (VERSION, *payloads)))
    return file


def accumulated(file: Path) -> dict[str, list[tuple[float, int, float]]]:
    """What TensorBoard makes of a file: tag -> (wall time, step, value)."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    log = EventAccumulator(str(file), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    points = {t: [(e.wall_time, e.step, e.value) for e in log.Scalars(t)] for t in log.Tags()["scalars"]}
    for tag in log.Tags()["tensors"]:
        arrays = [(e.wall_time, e.step, make_ndarray(e.tensor_proto)) for e in log.Tensors(tag)]
        points[tag] = [(w, s, float(a.item())) for w, s, a in arrays]
    return points


def columns(attempt: Attempt) -> dict[str, list[tuple[float, int, float]]]:
    return {
        t: list(zip(s.times.tolist(), s.steps.tolist(), s.values.tolist(), strict=True))
        for t, s in attempt.series.items()
    }


def bits(points: dict[str, list[tuple[float, int, float]]]) -> dict[str, bytes]:
    return {tag: np.array(p, dtype=np.float64).tobytes() for tag, p in points.items()}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_a_scalar(encoding: str, tmp_path: Path) -> None:
    records = [
        event(1.7e9 + s, s, summary([("loss", ENCODINGS[encoding](v))])) for s, v in enumerate((3, 0, 2, 1))
    ]
    attempt = read(write(tmp_path / "x.tfevents", records))[0]
    expected = [1.0, 0.0, 1.0, 1.0] if encoding == "bool_val" else [3.0, 0.0, 2.0, 1.0]
    assert attempt.series["loss"].values.tolist() == expected
    assert attempt.series["loss"].steps.tolist() == [0, 1, 2, 3]
    assert attempt.faults == ()


@pytest.mark.parametrize("encoding", [e for e in ENCODINGS if e not in ("half", "bfloat16", "bool_val")])
def test_values_are_those_of_tensorboard_bit_for_bit(encoding: str, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    special = [0.0, -0.0, 1e-45, 3.4e38, float("nan"), float("inf"), -7.0]
    values = random.normal(0, 100, 200).tolist() + (
        special if "int" not in encoding and encoding != "half_val" else []
    )
    records = [
        event(1.7e9 + i * 0.1, i * 1000, summary([(f"tag/{i % 3}", ENCODINGS[encoding](v))]))
        for i, v in enumerate(values)
    ]
    file = write(tmp_path / "events.out.tfevents.1.host", records)
    assert bits(columns(read(file)[0])) == bits(accumulated(file))


def test_files_of_tensorboard_s_own_writer(tmp_path: Path) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(tmp_path))
    for step in range(50):
        values = [
            Summary.Value(tag=tag, simple_value=step / (n + 3)) for n, tag in enumerate(("a", "b/c", "ü"))
        ]
        writer.add_event(Event(wall_time=step + 0.25, step=step, summary=Summary(value=values)))
    writer.close()
    (file,) = tmp_path.iterdir()
    assert bits(columns(read(file)[0])) == bits(accumulated(file))


names = st.text(min_size=1, max_size=200)
floats = st.floats(width=32)
steps = st.integers(-(2**63), 2**63 - 1)
encodings = st.sampled_from(
    ["simple_value", "tensor_content", "float_val", "float of shape [1]", "double content"]
)
value = st.tuples(names, encodings, floats)
odd = st.sampled_from(
    [
        b"",
        b"\x22\x03abc",  # a graph
        b"\x7a\x02xy\x81\x01" + bytes(8),  # unknown fields
        field(0x2A, field(0x0A, field(0x0A, b"image") + field(0x22, b"png"))),
        field(0x2A, field(0x0A, field(0x3A, b"node") + field(0x0A, b"late") + simple(1.5))),
        field(0x2A, field(0x0A, simple(2.5) + field(0x0A, b"tag last"))),
        field(0x2A, field(0x0A, field(0x0A, b"text") + tensor(7, field(0x42, b"hello")))),
        field(
            0x2A,
            field(
                0x0A, field(0x0A, b"vector") + tensor(1, field(0x22, bytes(8)), b"\x12\x04\x12\x02\x08\x02")
            ),
        ),
        field(0x2A, field(0x0A, field(0x0A, b"x" * 300) + simple(4.0))),
        field(0x2A, b""),
    ]
)
record = st.one_of(
    st.builds(
        lambda w, s, vs: event(w, s, summary([(n, ENCODINGS[e](v)) for n, e, v in vs])),
        st.floats(0, 1e10),
        steps,
        st.lists(value, min_size=1, max_size=4),
    ),
    st.builds(event, st.floats(0, 1e10), steps, odd),
    odd,  # no wall time
)


LAST = event(1.7e9, 9, summary([("last", simple(9))]))


def slowly(payloads: Sequence[bytes]) -> tuple[dict[str, list[tuple[float, int, float]]], int]:
    """What the slow parser makes of payloads, and the number of those that are no message."""
    points: dict[str, list[tuple[float, int, float]]] = {}
    n_broken = 0
    for payload in payloads:
        try:
            wall_time, step, values, _ = scalars.event(payload)
        except ValueError:
            n_broken += 1
            continue
        for tag, number in values:
            points.setdefault(tag, []).append((wall_time, step, number))
    return points, n_broken


def typed(points: dict[str, list[tuple[float, int, float]]]) -> dict[str, bytes]:
    return {tag: np.array(p, dtype="f8,i8,f8").tobytes() for tag, p in points.items()}


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(st.lists(record, max_size=12))
def test_the_kernel_is_the_slow_parser(
    tmp_path_factory: pytest.TempPathFactory, payloads: list[bytes]
) -> None:
    """The last record has a step: where none has, points are counted."""
    file = write(tmp_path_factory.mktemp("law") / "x.tfevents", [*payloads, LAST])
    slow, _ = slowly([*payloads, LAST])
    (attempt,) = events.read(file)
    fast = columns(attempt)
    assert list(fast) == list(slow)
    assert typed(fast) == typed(slow)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(st.lists(record, min_size=1, max_size=6), st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=3))))
def test_what_is_no_event_is_read_as_by_the_slow_parser(
    tmp_path_factory: pytest.TempPathFactory, payloads: list[bytes], changes: list[tuple[float, bytes]]
) -> None:
    """Checksums are right, contents are not."""
    for where, new in changes:
        which = int(where * 997) % len(payloads)
        at = int(where * len(payloads[which]))
        payloads[which] = payloads[which][:at] + new + payloads[which][at + len(new) :]
    file = write(tmp_path_factory.mktemp("law") / "x.tfevents", [*payloads, LAST])
    slow, n_broken = slowly([*payloads, LAST])
    (attempt,) = events.read(file)
    assert typed(columns(attempt)) == typed(slow)
    assert [fault.what for fault in attempt.faults] == ["record is not an event; skipped"] * n_broken


def healthy(number: int = 30) -> list[bytes]:
    return [event(1.7e9 + i, i, summary([("loss", simple(i))])) for i in range(number)]


@pytest.mark.slow
def test_a_flipped_bit_costs_its_record_or_nothing_and_is_counted(tmp_path: Path) -> None:
    """Nothing where it is one of the checksum of the length: the record is whole."""
    content = write(tmp_path / "whole.tfevents", healthy(6)).read_bytes()
    flipped, first = tmp_path / "x.tfevents", len(frame(VERSION))
    records = [(n, at) for n, payload in enumerate(healthy(6)) for at in range(len(frame(payload)))]
    for place, (number, at) in enumerate(records, first):
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        flipped.write_bytes(damaged)
        attempt = read(flipped)[0]
        values = attempt.series["loss"].values.tolist()
        assert values == [n for n in range(6) if n != number or 8 <= at < 12], place
        assert (sum(fault.count for fault in attempt.faults), attempt.truncated) == (1, False), place


def test_the_first_record_may_be_the_damaged_one(tmp_path: Path) -> None:
    content = write(tmp_path / "whole.tfevents", healthy(6)).read_bytes()
    for place in range(len(frame(VERSION))):
        damaged = bytearray(content)
        damaged[place] ^= 0x40
        flipped = tmp_path / "x.tfevents"
        flipped.write_bytes(damaged)
        assert len(read(flipped)[0].series["loss"]) == 6, place


def test_a_fault_names_file_and_byte(tmp_path: Path) -> None:
    file = write(tmp_path / "x.tfevents", healthy(4))
    damaged = bytearray(file.read_bytes())
    second = len(frame(VERSION)) + len(frame(healthy()[0]))
    damaged[second + 20] ^= 1
    file.write_bytes(damaged)
    (fault,) = read(file)[0].faults
    assert fault.where == f"{file}@{second}"
    assert fault.what == "checksum of a record is wrong; skipped"


@pytest.mark.parametrize(
    "junk", [b"\x00" * 512, b"\x09" * 512, bytes(range(256)) * 2], ids=["zeros", "nines", "bytes"]
)
def test_bytes_between_records_are_passed_over(junk: bytes, tmp_path: Path) -> None:
    records = [frame(payload) for payload in (VERSION, *healthy(4))]
    file = tmp_path / "x.tfevents"
    file.write_bytes(b"".join(records[:3]) + junk + b"".join(records[3:]))
    attempt = read(file)[0]
    assert attempt.series["loss"].values.tolist() == [0.0, 1.0, 2.0, 3.0]
    assert len(attempt.faults) == 1
    assert not attempt.truncated


@pytest.mark.parametrize(("cut", "zeros", "points"), [(0, 512, 4), (7, 0, 3)])
def test_a_cut_end_and_zeros_that_are_unwritten_space_are_a_state(
    cut: int, zeros: int, points: int, tmp_path: Path
) -> None:
    content = write(tmp_path / "x.tfevents", healthy(4)).read_bytes()
    (tmp_path / "x.tfevents").write_bytes(content[: len(content) - cut] + bytes(zeros))
    (attempt,) = read(tmp_path / "x.tfevents")
    assert (len(attempt.series["loss"]), attempt.faults, attempt.truncated) == (points, (), True)


def test_an_event_file_inside_a_record_is_not_read(tmp_path: Path) -> None:
    inner = b"".join(frame(payload) for payload in healthy(3))
    picture = event(1.7e9, 0, field(0x2A, field(0x0A, field(0x0A, b"file") + field(0x22, inner))))
    file = write(tmp_path / "x.tfevents", [picture, event(1.7e9, 9, summary([("loss", simple(9))]))])
    assert read(file)[0].series["loss"].steps.tolist() == [9]


def test_steps_that_go_back_keep_both_branches_and_equal_steps_all_values(tmp_path: Path) -> None:
    walk = [(0, 5.0), (1, 4.0), (2, 3.0), (1, 3.5), (1, 3.25), (2, 2.0), (-4, 9.0), (2**62, 1.0)]
    records = [event(1.7e9 + i, s, summary([("loss", simple(v))])) for i, (s, v) in enumerate(walk)]
    series = read(write(tmp_path / "x.tfevents", records))[0].series["loss"]
    assert list(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == walk


def test_points_that_were_given_no_step_are_counted(tmp_path: Path) -> None:
    """`add_scalar` without a step writes step 0; what is told less often stands where its clock says."""
    losses = [event(1.7e9 + i, 0, summary([("loss", simple(9 - i))])) for i in range(6)]
    scores = [event(1.7e9 + i + 0.5, 0, summary([("score", simple(i))])) for i in (-1, 2, 5)]
    (attempt,) = read(write(tmp_path / "x.tfevents", [*losses, *scores]))
    steps = {tag: series.steps.tolist() for tag, series in attempt.series.items()}
    assert (attempt.axis, steps) == ("row", {"loss": [0, 1, 2, 3, 4, 5], "score": [0, 2, 5]})
    (once,) = read(write(tmp_path / "y.tfevents", [losses[0], scores[0]]))
    assert (once.axis, once.series["loss"].steps.tolist()) == ("step", [0])


def test_a_damaged_file_without_a_scalar_left_is_an_error(tmp_path: Path) -> None:
    file = write(tmp_path / "x.tfevents", healthy(1))
    damaged = bytearray(file.read_bytes())
    damaged[-6] ^= 1
    file.write_bytes(damaged)
    with pytest.raises(BadLog, match=rf"x\.tfevents@{len(frame(VERSION))}: checksum of a record is wrong"):
        read(file)


def test_many_faults_are_summed_up(tmp_path: Path) -> None:
    file = write(tmp_path / "x.tfevents", healthy(300))
    damaged = bytearray(file.read_bytes())
    at = len(frame(VERSION))
    for payload in healthy(300)[:-1]:
        damaged[at + 13] ^= 1
        at += len(frame(payload))
    file.write_bytes(damaged)
    faults = read(file)[0].faults
    assert len(faults) == 101
    assert sum(fault.count for fault in faults) == 299


def test_many_tags_and_long_ones(tmp_path: Path) -> None:
    points = {f"layer/{i}/" + "x" * (i % 140): [(1, float(i)), (2, float(-i))] for i in range(1000)}
    event_log(tmp_path / "x.tfevents", points)
    series = read(tmp_path / "x.tfevents")[0].series
    assert list(series) == list(points)
    assert all(series[tag].values.tolist() == [v for _, v in points[tag]] for tag in points)


@pytest.mark.slow
def test_as_many_values_as_a_record_can_hold(tmp_path: Path) -> None:
    """The smallest there are, an empty tag and a number."""
    records = [event(1.7e9, 5, summary([("", simple(i)) for i in range(3000)]))] * 5
    (attempt,) = read(write(tmp_path / "x.tfevents", records))
    assert attempt.series[""].values.tolist() == list(range(3000)) * 5


def test_rows_longer_than_what_is_summed_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.readers.events.tfrecord.ROWS_BYTES", 1000)
    buffer = np.random.default_rng(0).integers(0, 256, 9000, dtype=np.uint8)
    end = np.arange(2500, 9000, 500)
    expected = [masked_crc(buffer[stop - 1500 : stop].tobytes()) for stop in end]
    assert masked_crcs(buffer, end - 1500, end).tolist() == expected


def test_a_nan_that_signals_is_a_nan(tmp_path: Path) -> None:
    records = [event(1.7e9, 1, summary([("loss", b"\x15\x01\x00\x80\x7f")]))]
    (attempt,) = read(write(tmp_path / "x.tfevents", records))
    assert np.isnan(attempt.series["loss"].values).all()


def test_two_tags_of_one_hash_stay_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "chronicle.readers.events.scalars.tag_hashes", lambda size, words: np.zeros(len(size), np.uint64)
    )
    records = [event(1.7e9, i, summary([(tag, simple(i))])) for i, tag in enumerate("abab")]
    series = events.read(write(tmp_path / "x.tfevents", records))[0].series
    assert {tag: s.steps.tolist() for tag, s in series.items()} == {"a": [0, 2], "b": [1, 3]}


def lengths() -> Iterator[int]:
    yield from range(70)
    yield from (100, 255, 256, 257, 300, 511, 512, 513, 1000, 5000, 65536, 70001)


def test_checksums_of_many_are_those_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    check = 0xE3069283  # the check value of CRC-32C
    assert masked_crc(b"123456789") == (((check >> 15) | (check << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    size = np.array(list(lengths()))
    buffer = np.random.default_rng(0).integers(0, 256, 200_000, dtype=np.uint8)
    begin = np.concatenate([np.zeros(7, np.int64), 12 + 7 * np.arange(len(size) - 7)])
    expected = [masked_crc(buffer[b : b + n].tobytes()) for b, n in zip(begin, size, strict=True)]
    assert masked_crcs(buffer, begin, begin + size).tolist() == expected


@pytest.mark.parametrize("payload", [b"\xff" * 30, b"\x0a\x7f", b"\x2a\x03\x0a\x7f\x00", b"\x0b\x00"])
def test_a_record_that_is_no_message_is_counted(payload: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"varint|longer|wire type"):
        scalars.event(payload)
    attempt = read(write(tmp_path / "x.tfevents", [*healthy(2), payload]))[0]
    assert [fault.what for fault in attempt.faults] == ["record is not an event; skipped"]


def test_a_dead_job_left_nothing_to_read(tmp_path: Path) -> None:
    write(tmp_path / "events.out.tfevents.1", [])
    write(tmp_path / "events.out.tfevents.2", healthy(3))
    (tmp_path / "events.out.tfevents.3").touch()
    assert [attempt.name for attempt in read(tmp_path)] == ["events.out.tfevents.2"]
    with pytest.raises(NothingToRead, match="no log with a number in it"):
        read(tmp_path / "events.out.tfevents.1")


def plugin(name: str, content: bytes = b"") -> bytes:
    """The metadata of a value."""
    return field(0x4A, field(0x0A, field(0x0A, name.encode()) + (field(0x12, content) if content else b"")))


def strings(*texts: str) -> bytes:
    """A tensor of strings."""
    return field(0x42, b"\x08\x07\x12\x04\x12\x02\x08\x01" + b"".join(field(0x42, t.encode()) for t in texts))


def test_hyperparameters_and_texts_are_facts(tmp_path: Path) -> None:
    def value(kind: bytes) -> bytes:
        return kind

    entries = {
        "lr": value(b"\x11" + struct.pack("<d", 3e-4)),
        "optimizer/name": value(field(0x1A, b"adamw")),
        "amp": value(b"\x20\x01"),
    }
    start = b"".join(field(0x0A, field(0x0A, k.encode()) + field(0x12, v)) for k, v in entries.items())
    sessions = [
        field(0x1A, start + b"\x29" + struct.pack("<d", 1.7e9)),
        field(0x22, b"\x08\x01" + b"\x11" + struct.pack("<d", 1.8e9)),
    ]
    records = [
        event(1.7e9, 0, summary([(f"_hparams_/session_{i}", plugin("hparams", session))]))
        for i, session in enumerate(sessions)
    ]
    texts = [
        ("num-layers", "24"),
        ("args/text_summary", '{"seed": 7}'),
        ("notes", "first"),
        ("notes", "<b>last"),
    ]
    records += [event(1.7e9, 0, summary([(tag, strings(text) + plugin("text"))])) for tag, text in texts]
    (attempt,) = events.read(write(tmp_path / "x.tfevents", [*records, *healthy()]))
    assert attempt.facts == {
        "config/lr": 3e-4,
        "config/optimizer/name": "adamw",
        "config/amp": True,
        "config/num-layers": 24,
        "config/args/seed": 7,
        "config/notes": "<b>last",
        "started_at": 1.7e9,
        "ended": "finished",
    }
    assert list(attempt.series) == ["loss"]


def test_a_configuration_logged_as_text_has_one_prefix(tmp_path: Path) -> None:
    config = summary(
        [("config/text_summary", strings('{"lr": 0.1, "model": {"width": 2}}') + plugin("text"))]
    )
    (attempt,) = events.read(write(tmp_path / "x.tfevents", [event(1.7e9, 0, config), *healthy()]))
    assert attempt.facts == {"config/lr": 0.1, "config/model/width": 2}


def test_an_end_without_a_time_tells_nothing_of_the_end(tmp_path: Path) -> None:
    """`add_hparams` writes start and end together, when the training begins."""
    whole = field(0x1A, field(0x0A, field(0x0A, b"n") + field(0x12, b"\x11" + struct.pack("<d", 32.0))))
    records = [
        event(1.7e9, 0, summary([(f"_hparams_/session_{i}", plugin("hparams", session))]))
        for i, session in enumerate((whole, field(0x22, b"\x08\x01")))
    ]
    (attempt,) = events.read(write(tmp_path / "x.tfevents", [*records, *healthy()]))
    assert attempt.facts == {"config/n": 32}
    assert isinstance(attempt.facts["config/n"], int)


def test_hyperparameters_of_tensorboard_s_own_writer(tmp_path: Path) -> None:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    session = SessionStartInfo(start_time_secs=1.5e9)
    session.hparams["lr"].number_value = 0.1
    session.hparams["model"].string_value = "gpt"
    session.hparams["tied"].bool_value = False
    content = HParamsPluginData(session_start_info=session).SerializeToString()
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="hparams", content=content))
    value = Summary.Value(tag="_hparams_/session_start_info", metadata=metadata)
    writer = EventFileWriter(str(tmp_path))
    writer.add_event(Event(wall_time=1.0, summary=Summary(value=[value])))
    for payload in healthy():
        writer.add_event(Event.FromString(payload))
    writer.close()
    (attempt,) = read(tmp_path)
    assert {name: value for name, value in attempt.facts.items() if name.startswith("config/")} == {
        "config/lr": 0.1,
        "config/model": "gpt",
        "config/tied": False,
    }


BULK = {
    "histogram": field(0x2A, bytes(range(256))),
    "image": field(0x22, b"\x89PNG" * 200),
    "sound": field(0x32, b"RIFF" * 200),
    "histogram as a tensor": field(
        0x42, b"\x08\x02\x12\x08\x12\x02\x08\x1e\x12\x02\x08\x03" + field(0x22, bytes(720))
    ),
    "text": strings("x" * 300) + plugin("text"),
}


def test_what_is_no_scalar_is_passed_over_without_a_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = [
        event(1.7e9, i, summary([("bulk", BULK[kind] + plugin(kind)), ("loss", simple(i))]))
        for i, kind in enumerate([kind for kind in BULK if kind != "text"] * 10)
    ]
    records += [event(1.7e9, 0, field(key, bytes(1000))) for key in (0x22, 0x4A, 0x3A)]  # graphs, sessions
    looked = []
    real = scalars.event
    monkeypatch.setattr(scalars, "event", lambda payload: (looked.append(payload), real(payload))[1])
    (attempt,) = read(write(tmp_path / "x.tfevents", records))
    assert attempt.series["loss"].values.tolist() == list(range(40))
    assert (list(attempt.series), attempt.faults) == (["loss"], ())
    assert len(looked) <= 1  # that of the version


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 50, 333])
def test_parts_of_a_file_are_read_as_the_whole(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Damaged files too: the same points, faults and end, wherever the parts begin."""
    inside = write(tmp_path / "inner.tfevents", healthy(3)).read_bytes()
    nested = event(1.7e9, 1, summary([("loss", simple(1)), ("bulk", field(0x22, inside))]))
    content = write(tmp_path / "whole.tfevents", [*healthy(20), nested, *healthy(5)]).read_bytes()
    file = tmp_path / "x.tfevents"
    for copy in few(damaged(content, each=6), 9):
        file.write_bytes(copy.content)
        readings = []
        for batch_bytes in (1 << 23, size):
            monkeypatch.setattr("chronicle.readers.events.BATCH_BYTES", batch_bytes)
            try:
                readings.append(text(events.read(file)))
            except BadLog as err:
                readings.append(str(err))
        assert readings[0] == readings[1], copy.name


@pytest.mark.slow
def test_a_record_that_ends_with_the_file_is_found_in_any_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what stands before it is damaged and ends where a part begins."""
    *before, last = (frame(payload) for payload in (VERSION, *healthy(6)))
    content = bytearray(b"".join(before))
    content[-len(before[-1]) : -len(before[-1]) + 8] = b"\xff" * 8
    file = tmp_path / "x.tfevents"
    file.write_bytes(bytes(content) + last)
    whole = text(events.read(file))
    for size in few(range(17, len(content)), 60):
        monkeypatch.setattr("chronicle.readers.events.BATCH_BYTES", size)
        assert text(events.read(file)) == whole, size


NOISE = np.random.default_rng(3).integers(0, 256, 200_000, np.uint8).tobytes()
HUGE = struct.pack("<Q", 1 << 30)
NOTHING = {
    "zeros at the end": (bytes(200_000), b""),
    "zeros within": (bytes(200_000), frame(healthy(1)[0])),
    "zeros and then others": (bytes(200_000) + b"\x01", b""),
    "noise at the end": (NOISE, b""),
    "noise within": (NOISE, frame(healthy(1)[0])),
    "a record that no file holds": (HUGE + struct.pack("<I", masked_crc(HUGE)) + bytes(200_000), b""),
}


@pytest.mark.parametrize("nothing", NOTHING)
def test_what_is_no_record_is_read_in_parts_and_not_kept(
    nothing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system fills with zeros what a machine that fell had not written yet: gigabytes of it."""
    between, after = NOTHING[nothing]
    file = write(tmp_path / "x.tfevents", healthy(40))
    file.write_bytes(file.read_bytes() + between + after)
    whole = text(events.read(file))
    sizes, real = [], events.frames

    def counting(buffer: events.tfrecord.U8, *args: object, **options: object) -> object:
        sizes.append(len(buffer))
        return real(buffer, *args, **options)

    monkeypatch.setattr(events, "frames", counting)
    monkeypatch.setattr(events, "BATCH_BYTES", 2000)
    assert text(events.read(file)) == whole
    assert len(sizes) == (1 if "no file holds" in nothing else 1 + -(-file.stat().st_size // 2000))
    assert max(sizes) < 4500


def test_tags_of_a_large_file_share_their_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chronicle.readers.events.BATCH_BYTES", 300)
    records = [event(1.7e9, i, summary([("a", simple(i)), ("b", simple(-i))])) for i in range(500)]
    records += [event(1.7e9, i, summary([("c", simple(i))])) for i in range(0, 500, 2)]
    series = read(write(tmp_path / "x.tfevents", records))[0].series
    assert series["a"].steps is series["b"].steps
    assert series["a"].steps.tolist() == series["a"].values.tolist() == list(range(500))
    assert series["b"].values.tolist() == [-i for i in range(500)]
    assert series["c"].steps.tolist() == list(range(0, 500, 2))


def test_tags_that_are_logged_together_share_steps_and_times(tmp_path: Path) -> None:
    """Those that follow each other and are equal bit for bit: ten tags of a step need them once."""
    points = [(1.7e9 + i, i, tag, sign * i) for i in range(4) for tag, sign in (("a", 1), ("b", -1))]
    points += [(1.8e9 + i, i, "c", 2 * i) for i in range(4)] + [(1.8e9 + i, i, "d", 3 * i) for i in range(3)]
    points += [(0.0, 5, "e", 0), (-0.0, 5, "f", 0)]
    records = [event(time, step, summary([(tag, simple(value))])) for time, step, tag, value in points]
    a, b, c, d, e, f = events.read(write(tmp_path / "x.tfevents", records))[0].series.values()
    assert a.steps is b.steps is c.steps and a.times is b.times
    assert [s.steps.tolist() for s in (a, d, e, f)] == [[0, 1, 2, 3], [0, 1, 2], [5], [5]]
    assert [s.values.tolist() for s in (a, b, c)] == [[0, 1, 2, 3], [0, -1, -2, -3], [0, 2, 4, 6]]
    assert [s.values.tolist() for s in (d, e, f)] == [[0, 3, 6], [0], [0]]
    assert [(s.times - 1.7e9).tolist() for s in (a, c, d)] == [
        [0, 1, 2, 3],
        [1e8 + i for i in range(4)],
        [1e8, 1e8 + 1, 1e8 + 2],
    ]
    assert [str(s.times.tolist()) for s in (e, f)] == ["[0.0]", "[-0.0]"]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_many_files_are_read_as_each_alone(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronicle.readers.events.BATCH_BYTES", 2000)
    monkeypatch.setattr("chronicle.readers.events.n_workers", lambda: workers)
    files = []
    for i in range(20):
        tags = [f"tag {(i * 7 + k) % 5}" for k in range(3)]
        records = [event(1.7e9 + k, k, summary([(t, simple(k + i))])) for k in range(i * 2) for t in tags]
        files.append(write(tmp_path / f"{i}.tfevents", records))
    content = bytearray(files[7].read_bytes())
    content[len(content) // 2] ^= 0xFF
    files[7].write_bytes(content[:-3])
    files[9].write_bytes(frame(VERSION)[:20] + b"\xff" * 40)
    files[11].unlink()
    together = list(events.read_many(files))
    for file, as_one_of_many in zip(files, together, strict=True):
        try:
            alone = events.read(file)
        except (BadLog, FileNotFoundError) as err:
            assert str(as_one_of_many) == str(err)
        else:
            assert isinstance(as_one_of_many, list) and text(as_one_of_many) == text(alone)
    assert isinstance(together[11], FileNotFoundError)


def test_batches_share_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is decoded while the next is read, also where files between them cannot be read or are large."""
    monkeypatch.setattr("chronicle.readers.events.BATCH_BYTES", 2000)
    files = [write(tmp_path / f"{i}.tfevents", healthy(40 if i % 9 == 5 else i % 4 * 5)) for i in range(30)]
    paths = [path for file in files for path in (file, tmp_path / "missing")]
    buffers, real = list[events.tfrecord.U8](), events.frames

    def noting(buffer: events.tfrecord.U8, *args: object, **options: object) -> object:
        buffers.append(buffer)
        return real(buffer, *args, **options)

    monkeypatch.setattr(events, "frames", noting)
    missing = [isinstance(read, FileNotFoundError) for read in events.read_many(paths)]
    assert missing == [False, True] * 30 and len(buffers) > 5
    assert not any(np.shares_memory(*two) for two in combinations(buffers, 2))


def test_a_file_that_shrinks_while_it_is_read_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "x.tfevents", healthy(2000))
    monkeypatch.setattr("chronicle.readers.events.BATCH_BYTES", 4096)
    real = events.is_event_log

    def shrinking(start: events.tfrecord.U8) -> bool:
        os.truncate(file, 10_000)
        return real(start)

    monkeypatch.setattr(events, "is_event_log", shrinking)
    (attempt,) = events.read(file)
    assert attempt.truncated
    values = attempt.series["loss"].values.tolist()
    assert values == list(range(len(values))) and 100 < len(values) < 2000


CASES = sorted(Path(__file__).parent.parent.parent.glob("runs/*/**/*tfevents*"))


@pytest.mark.parametrize("file", few(CASES, 6), ids=lambda f: f.parent.name)
def test_real_files_are_read_as_tensorboard_reads_them(file: Path) -> None:
    assert bits(columns(read(file)[0])) == bits(accumulated(file))
