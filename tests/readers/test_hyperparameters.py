"""YAML as trainers write it, against PyYAML where both know it."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import examples

from chronicle.readers.facts import from_yaml

LIGHTNING = """
# written by save_hyperparameters
batch_size: 32
betas:
- 0.9
- 0.95
model: !!python/object:models.Net
  width: 16
  act: null
optimizer: {"name": "adam", "lr": 0.1}
layers: [1, 2, 3]
lr: 5.0e-02
name: 'it''s: here'
note: |
  two
  lines
debug: false
stages:
- name: first
  steps: 10
- name: second
  steps: 20
path: /data/set  # where
"""


def test_what_trainers_write() -> None:
    assert from_yaml(LIGHTNING) == {
        "batch_size": 32,
        "betas": [0.9, 0.95],
        "model": {"width": 16, "act": None},
        "optimizer": {"name": "adam", "lr": 0.1},
        "layers": [1, 2, 3],
        "lr": 0.05,
        "name": "it's: here",
        "note": "two\nlines",
        "debug": False,
        "stages": [{"name": "first", "steps": 10}, {"name": "second", "steps": 20}],
        "path": "/data/set",
    }


WORDS = st.text("abcdefgXYZ", min_size=1, max_size=8)
PLAIN = st.one_of(
    st.integers(-(10**15), 10**15), st.booleans(), st.none(), st.text("XYZ ", min_size=1, max_size=8)
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(WORDS, inner, min_size=1),
    max_leaves=10,
)


@settings(max_examples=examples(60))
@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=5))
def test_it_reads_what_pyyaml_writes(written: dict[str, Any]) -> None:
    text = yaml.safe_dump(written, default_flow_style=False)
    assert from_yaml(text) == yaml.safe_load(text)


NO_MAPPING = {text: {} for text in ("", "a", ":", "\t", "%&*")}
ODD = {"- ": [None], "a: b: c: [": {"a": "b"}, "- - - -": [[[[None]]]], "a: |": {"a": ""}}


@pytest.mark.parametrize(
    ("text", "value"), (NO_MAPPING | ODD | {"a:\n    b\n  c: 1": {"a": "b c"}}).items(), ids=repr
)
def test_nothing_is_refused(text: str, value: object) -> None:
    assert from_yaml(text) == value


KEPT = {"a:\n": ["aa", "a"]}


@pytest.mark.parametrize("part", [" ", "a ", ": ", '"', "' ", "- ", "a:\n", "[", "\n", "a\\"])
def test_a_large_hostile_text_ends(part: str) -> None:
    assert list(from_yaml("a" + part * 50_000 + "b")) == KEPT.get(part, [])


def test_deep_nesting_ends() -> None:
    assert from_yaml("\n".join(" " * i + "a:" for i in range(5000)))
    assert from_yaml("- " * 5000 + "a")


def test_what_stands_before_a_mistake_is_kept_and_aliases_are_not_followed() -> None:
    assert from_yaml("lr: 1e-4\nadam: &a\n  beta: 0.9\nother: *a\nbad: ]\nmore: 1\n") == {
        "lr": 1e-4,
        "adam": {"beta": 0.9},
        "other": "*a",
    }
