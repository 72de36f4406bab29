"""The data of the interactive view: what is kept of a long curve, and that a script is only data."""

import base64
import json
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.figures.runs import attempt, diagnosis, falling, finding, run, series
from tests.figures.runs import view as view_of

from chronicle.figures import kept_rows
from chronicle.model import Event, EventKind, Role
from chronicle.timeline import stitch

numbers = st.floats(width=32, allow_nan=True, allow_infinity=True)


def data_of(script: str) -> dict:
    assert script.startswith("chronicleView({") and script.endswith("});\n")
    return json.loads(script[len("chronicleView(") : -len(");\n")])


def column(view: dict, at: list) -> np.ndarray:
    kind, place, length = at
    block = zlib.decompress(base64.b64decode(view["block"]))
    return np.frombuffer(block, f"<{kind}", length, place)


def slowly_kept(values: np.ndarray, most: int) -> list[int]:
    """The slow obvious twin of `kept_rows`."""
    n = len(values)
    if n <= most:
        return list(range(n))
    size, rows = -(-3 * n // most), {0, n - 1}
    for first in range(0, n, size):
        bucket = range(first, min(first + size, n))
        finite = [i for i in bucket if np.isfinite(values[i])]
        rows |= (
            {min(finite, key=lambda i: values[i]), max(finite, key=lambda i: values[i])} if finite else set()
        )
        rows |= {i for i in bucket if not np.isfinite(values[i])} and {
            next(i for i in bucket if not np.isfinite(values[i]))
        }
    return sorted(rows)


@given(arrays(np.float64, st.integers(0, 200), elements=numbers), st.integers(3, 60))
def test_kept_rows_are_those_of_the_slow_twin(values, most):
    rows = kept_rows(values, most)
    assert set(slowly_kept(values, most)) <= set(rows.tolist()) | {len(values) - 1}
    assert (np.diff(rows) > 0).all() and len(rows) <= max(most, 3) + 3 + 3
    finite = values[np.isfinite(values)]
    if len(finite):
        known = values[rows][np.isfinite(values[rows])]
        assert (known.min(), known.max()) == (finite.min(), finite.max())


def test_no_spike_of_one_sample_is_lost():
    values = falling(1_000_000)
    values[654_321] = 9.0
    values[123_456] = np.nan
    view = data_of(view_of(run(np.arange(1_000_000), values), diagnosis(), (), title="long"))
    [part] = view["panels"][0]["lines"][0]["parts"]
    steps, kept = column(view, part["x"]["step"]), column(view, part["y"])
    assert part["points"] == 1_000_000 and len(kept) <= 200_006
    assert steps[np.nanargmax(kept)] == 654_321
    assert steps[np.isnan(kept)].tolist() == [123_456]
    assert kept.dtype == np.float32 and steps.dtype == np.float64


def test_a_short_run_is_held_whole_with_its_axes_and_attempts():
    steps = np.arange(100)
    tokens = series("tokens", steps, steps * 512.0, Role.TOKENS)
    logged = [
        attempt(name, series("loss", steps + k * 60, falling(100)), tokens) for k, name in enumerate("ab")
    ]
    timeline = stitch(
        [logged[0], attempt("b", series("loss", steps + 60, falling(100)))], relation="attempts"
    )
    view = data_of(view_of(timeline, diagnosis(), (), title="two", tokens_per_step=512.0))
    assert [axis["name"] for axis in view["axes"]] == ["step", "tokens"]
    parts = view["panels"][0]["lines"][0]["parts"]
    assert {(part["attempt"], part["live"]) for part in parts} == {(0, True), (0, False), (1, True)}
    live = [part for part in parts if part["live"]]
    assert np.concatenate([column(view, part["x"]["step"]) for part in live]).tolist() == [*range(160)]


def test_events_carry_their_places_on_every_axis():
    event = Event(
        "jump-a-40", EventKind.FINDING, "A <b>jump</b>", "It jumped.", mark="1", step=40, end_step=None
    )
    note = Event("note-1", EventKind.NOTE, "Note", "Why.", step=None)
    view = data_of(view_of(run(np.arange(99), falling(99)), diagnosis(), (event, note), title="x"))
    assert view["events"] == [
        {
            "id": "jump-a-40",
            "kind": "finding",
            "mark": "1",
            "title": "A <b>jump</b>",
            "sentence": "It jumped.",
            "verdict": "",
            "live": True,
            "x": {"step": [40.0, None]},
        }
    ]


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "\u2028&<!--", "]]>", "\ud800"])
def test_no_text_of_a_log_leaves_the_data(text):
    script = view_of(run(np.arange(9), falling(9), metric=f"loss {text}"), diagnosis(), (), title=text)
    assert not {"<", ">", "&", "\u2028"} & set(script)
    assert data_of(script)["title"] == text


def test_the_same_run_gives_the_same_bytes_and_odd_values_do_not_raise():
    values = np.array([1e300, -1e300, np.inf, -np.inf, np.nan, 0.0, 1e-310])
    timeline = run(np.arange(7), values)
    judged = diagnosis(finding("nan-inf", 2, 4))
    scripts = {view_of(timeline, judged, (), title="odd") for _ in range(2)}
    assert len(scripts) == 1
    assert data_of(view_of(stitch([attempt("a")]), diagnosis(), (), title="none"))["panels"] == []
