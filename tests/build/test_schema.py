import json
import math

import jsonschema
import numpy as np
import pytest

from chronicle import model
from chronicle.build.entry import ENTRY, diagnosis_json, entry_from_json, json_schema, to_json
from chronicle.score.presets import Comparison

FINDING = model.Finding(
    "nan-inf", "loss", "run.csv", 10, 12, None, 0.5, 0.9,
    {"height_nats": float("nan"), "samples": np.int64(3)},
    (model.Criterion("not finite", 3.0, "samples", "≥ 1", True),),
    "frozen-metric", "if the values were equal",
)  # fmt: skip
DIAGNOSIS = model.Diagnosis(
    model.Verdict.BAD,
    ("nan-inf",),
    (FINDING,),
    (
        model.Join(
            model.JoinKind.ROLLBACK, 0, 1, 10, 5, 5, math.inf, changes=(model.Change("seed", 1, None),)
        ),
    ),
    (model.NotAssessed("hang", ("step-time",)),),
    "The loss is not finite.",
)

FAULT = model.MachineFault("xid", "Xid 79: …", "nid003", 59, "2023-11-14T22:14:20Z", 2, "dmesg:7")
PRESET = Comparison("lightning-spike", "loss", "run.csv", 400, (200, 203), (203,), ("a@1",), ())
EVENT = model.Event(
    "nan-inf-a1-10", model.EventKind.FINDING, "NaN or Inf", "The loss was NaN from step 10 to the end.",
    "NaN from step 10", "1", step=10, time="2023-11-14T22:14:20Z", attempt="run.csv",
    verdict=model.Verdict.BAD, numbers=(model.Quantity("values", math.inf, "3 logged values"),),
    patterns=("nan-inf",), parts=("a@1",), also=("nan-inf-a1-9",),
)  # fmt: skip


def entry() -> model.Entry:
    return model.Entry(
        ENTRY, "r", "Title", model.Verdict.BAD, "bad", "Headline.", ("Story.",), (EVENT,), DIAGNOSIS,
        (model.Fact("Points logged", 3, "points", "counted"),), (), (model.Note("x", step=4, event="rise"),),
        (model.Figure("whole", {"wide": ("whole.svg", 900, 300)}, "alt"),), ("w",),
        {"project": "p"}, ({"name": "run.csv"},), ({"metric": "loss"},), "0" * 64, "1", (FAULT,),
    )  # fmt: skip


def test_a_diagnosis_in_full():
    assert diagnosis_json("r", DIAGNOSIS) == {
        "schema": "chronicle/diagnosis/1",
        "run": "r",
        "verdict": "bad",
        "patterns": ["nan-inf"],
        "findings": [
            {
                "pattern": "nan-inf",
                "series": "loss",
                "attempt": "run.csv",
                "start_step": 10,
                "peak_step": 12,
                "end_step": None,
                "severity": 0.5,
                "confidence": 0.9,
                "evidence": {"height_nats": None, "samples": 3},
                "criteria": [
                    {"name": "not finite", "value": 3.0, "unit": "samples", "threshold": "≥ 1", "met": True}
                ],
                "runner_up": "frozen-metric",
                "runner_up_if": "if the values were equal",
                "id": "",
            }
        ],
        "joins": [
            {
                "kind": "rollback",
                "before": 0,
                "after": 1,
                "from_step": 10,
                "to_step": 5,
                "discarded_steps": 5,
                "gap_s": None,
                "at_time": None,
                "evidence": {},
                "changes": [{"quantity": "seed", "before": 1, "after": None, "unit": None, "at_step": None}],
            }
        ],
        "not_assessed": [{"pattern": "hang", "missing": ["step-time"]}],
        "because": "The loss is not finite.",
        "faults": [],
        "presets": [],
        "events": [],
        "copies": [],
    }


def test_faults_and_presets_of_a_diagnosis():
    document = diagnosis_json("r", DIAGNOSIS, [FAULT], [PRESET])
    assert document["faults"] == [
        {
            "kind": "xid",
            "what": "Xid 79: …",
            "host": "nid003",
            "step": 59,
            "time": "2023-11-14T22:14:20Z",
            "count": 2,
            "where": "dmesg:7",
        }
    ]
    assert document["presets"] == [
        {
            "preset": "lightning-spike",
            "series": "loss",
            "attempt": "run.csv",
            "samples": 400,
            "flagged_steps": [200, 203],
            "outside_steps": [203],
            "seen": ["a@1"],
            "missed": [],
        }
    ]


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("diagnosis", diagnosis_json("r", DIAGNOSIS, [FAULT], [PRESET], [EVENT])),
        ("diagnosis", diagnosis_json("r", DIAGNOSIS)),
        ("entry", to_json(entry())),
    ],
)
def test_what_is_printed_is_what_the_schema_says(what, data):
    schema = json_schema(what)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(json.dumps(data, allow_nan=False)), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**data, "verdict": "awful"}, schema)


def test_an_entry_comes_back():
    again = entry_from_json(json.loads(json.dumps(to_json(entry()))))
    assert to_json(again) == to_json(entry())
    assert again.verdict is model.Verdict.BAD
    assert (again.events[0].kind, again.events[0].verdict) == (model.EventKind.FINDING, model.Verdict.BAD)
    assert again.figures[0].files["wide"] == ("whole.svg", 900, 300)


@pytest.mark.parametrize(
    "data", [{}, {"schema": "chronicle-entry/0"}, {"schema": ENTRY}, {"schema": ENTRY, "diagnosis": 3}]
)
def test_what_is_no_entry_is_refused(data):
    with pytest.raises(ValueError, match=r"schema is|not an entry"):
        entry_from_json(data)


def test_plain_values():
    assert to_json({"a": np.float32(0.5), "b": np.arange(2), "c": float("inf"), 3: (1, None)}) == {
        "a": 0.5, "b": [0, 1], "c": None, "3": [1, None],
    }  # fmt: skip
