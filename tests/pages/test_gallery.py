"""The pages of the gallery: one for every pattern, complete, honest about evidence, nothing said twice."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from functools import cache
from typing import Any

import pytest
import yaml
from tests.pages.gallery_thresholds import GALLERY, SAID, WRITTEN, criteria_of, path_of, pattern, restated

from chronicle.classify.patterns import BY_ID, PATTERNS
from chronicle.pages.words import cited

IDS = [p.id for p in PATTERNS]
ROOT = GALLERY.parent
KEYS = [
    "id", "title", "also_called", "typed", "lead", "criteria", "lookalikes", "causes", "now",
    "now_for_reward", "prevent", "sources", "specimens",
]  # fmt: skip
OPTIONAL = ("typed", "now_for_reward")  # some are found as they are, and few are seen in rewards


@cache
def page(pattern_id: str) -> tuple[dict[str, Any], str]:
    """Front matter and body of a page."""
    _, head, body = path_of(pattern_id).read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def prose(pattern_id: str) -> list[str]:
    """Everything a page says in sentences of its own."""
    head, body = page(pattern_id)
    return [
        head["lead"],
        *re.split(r"\n\s*\n", body),
        *(alike["how"] for alike in head["lookalikes"]),
        *(cause["tell"] for cause in head["causes"]),
        *head["now"],
        *head.get("now_for_reward", ()),
        *head["prevent"],
    ]


def sentences(pattern_id: str) -> list[str]:
    flat = (" ".join(text.split()) for text in prose(pattern_id))
    return [s.strip(" .:;").lower() for text in flat for s in re.split(r"(?<=[.:;!?])\s+", text) if s.strip()]


def test_there_is_one_page_a_pattern_in_the_folder_of_its_verdict() -> None:
    written = sorted(str(p.relative_to(GALLERY)) for p in GALLERY.rglob("*.md") if p.parent.name != "cases")
    assert written == sorted(f"{p.verdict.value}/{p.id}.md" for p in PATTERNS)


@pytest.mark.parametrize("pattern_id", IDS)
def test_front_matter_is_complete(pattern_id: str) -> None:
    head, body = page(pattern_id)
    assert list(head) == [key for key in KEYS if key in head or key not in OPTIONAL]
    assert head["id"] == pattern_id and head["title"] == BY_ID[pattern_id].title
    assert 120 <= len(head["lead"]) <= 420
    assert len(head["criteria"]) >= 2 and 3 <= len(head["lookalikes"]) <= 4
    assert len(head["causes"]) >= 2 and head["now"] and head["prevent"] and head["sources"]
    assert len(body.split()) >= 60


@pytest.mark.parametrize("pattern_id", IDS)
def test_every_row_has_its_columns_filled(pattern_id: str) -> None:
    head, _ = page(pattern_id)
    columns = {
        "criteria": ["criterion", "threshold", "needs"],
        "causes": ["cause", "evidence", "tell"],
        "sources": ["title", "by", "where", "note"],
        "lookalikes": ["pattern", "title", "verdict", "how"],
    }
    for name, keys in columns.items():
        for row in head[name]:
            assert [key for key in row if key not in ("when", "unless")] == keys, (name, row)
            texts = [row[key] for key in keys if key != "pattern"]
            assert all(isinstance(text, str) and text.strip() for text in texts), (name, row)
    for name in ("also_called", "now", "now_for_reward", "prevent"):
        assert all(isinstance(text, str) and text.strip() for text in head.get(name, ())), name


@pytest.mark.parametrize("pattern_id", IDS)
def test_strength_of_evidence_is_one_of_three_words(pattern_id: str) -> None:
    assert {cause["evidence"] for cause in page(pattern_id)[0]["causes"]} <= {"proved", "reported", "guess"}


@pytest.mark.parametrize("pattern_id", IDS)
def test_look_alikes_are_other_patterns_under_their_own_title_and_verdict(pattern_id: str) -> None:
    others = [alike for alike in page(pattern_id)[0]["lookalikes"] if alike["pattern"]]
    assert others
    for alike in others:
        other = BY_ID[alike["pattern"]]
        assert other.id != pattern_id
        assert (alike["title"], alike["verdict"]) == (other.title, other.verdict.value)
    for alike in page(pattern_id)[0]["lookalikes"]:
        assert alike["verdict"] in {"good", "worrying", "bad", "unexpected"}


@pytest.mark.parametrize("pattern_id", IDS)
def test_sources_can_be_found_and_name_a_licence_where_a_picture_is_read_off(pattern_id: str) -> None:
    for source in page(pattern_id)[0]["sources"]:
        where = source["where"]
        assert re.search(r'<a href="https://[^"]+"', cited(where)), where
        assert re.search(r"\b(19|20)\d\d\b", source["by"]), (source["title"], "of which year?")
        if re.search(r"[Pp]icture", source["note"]):
            assert re.search(r"\((CC-BY-SA-4\.0|Apache-2\.0|MIT)\)", where), where


@pytest.mark.parametrize("pattern_id", IDS)
def test_links_of_the_body_lead_to_other_pages_of_the_gallery(pattern_id: str) -> None:
    folder = GALLERY / BY_ID[pattern_id].verdict.value
    for target in re.findall(r"\]\(([^)#]+)", page(pattern_id)[1]):
        assert target.startswith("https://") or (folder / target).is_file(), target


def test_no_sentence_stands_on_two_pages() -> None:
    said = Counter(s for i in IDS for s in set(sentences(i)) if len(s.split()) >= 5)
    assert [s for s, pages in said.items() if pages > 1] == []


@pytest.mark.parametrize("pattern_id", IDS)
def test_specimens_are_runs_whose_label_names_the_pattern(pattern_id: str) -> None:
    for run_id in page(pattern_id)[0]["specimens"]:
        label = tomllib.loads((GALLERY.parent / "runs" / run_id / "label.toml").read_text("utf-8"))
        seen = {name for names in label["required"] for name in names.split("|")}
        seen |= {event["pattern"] for event in label.get("events", [])} | set(label.get("allowed", []))
        assert pattern_id in seen, run_id


def test_pages_state_the_thresholds_that_the_rules_use() -> None:
    for pattern_id, threshold, words in SAID:
        text = path_of(pattern_id).read_text("utf-8")
        where = f"{threshold} on the page of {pattern_id}"
        assert len(re.findall(pattern(words), criteria_of(text))) == 1, f"{where} must be said once"
        right = restated(text, threshold, words)
        assert right == text, f"{where}: run python -m tests.pages.gallery_thresholds"


@pytest.mark.parametrize(("pattern_id", "file", "code", "words"), WRITTEN)
def test_limits_that_stand_in_a_rule_are_those_of_its_page(
    pattern_id: str, file: str, code: str, words: str
) -> None:
    assert words in criteria_of(path_of(pattern_id).read_text("utf-8"))
    assert code in (ROOT / "src" / "chronicle" / "classify" / f"{file}.py").read_text("utf-8")


@pytest.mark.parametrize("pattern_id", IDS)
def test_no_number_of_a_criterion_is_without_its_limit_in_the_code(pattern_id: str) -> None:
    left = criteria_of(path_of(pattern_id).read_text("utf-8"))
    held = [pattern(words) for of, _, words in SAID if of == pattern_id]
    held += [re.escape(words) for of, *_, words in WRITTEN if of == pattern_id]
    spans = sorted((m.start(), m.end()) for expression in held for m in re.finditer(expression, left))
    inside = {place for start, end in spans for place in range(start, end)}
    inside |= {place for m in re.finditer(r"needs: .*", left) for place in range(*m.span())}  # of the log
    numbers = re.finditer(r"(?<![\w.])\d[\d.]*", left)
    assert [left[m.start() - 30 : m.end() + 20] for m in numbers if m.start() not in inside] == []


def test_pages_hold_no_markup_that_a_browser_would_run() -> None:
    for i in IDS:
        head, body = page(i)
        assert not re.search(r"<[a-zA-Z/!?]", yaml.safe_dump(head, allow_unicode=True) + body), i
