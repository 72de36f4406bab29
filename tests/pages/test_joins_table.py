"""The table of joins stays small and harmless, whatever a configuration holds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.pages.samples import rollback, site

from chronicle.model import Change, Join, JoinKind
from chronicle.pages import pages


@pytest.mark.slow
def test_a_thousand_joins_with_a_hundred_changes_each_fit_a_page():
    hostile = "<script>alert(1)</script>" + "x" * 200
    changes = tuple(Change(f"config/{hostile}"[:200], hostile, k, None, k) for k in range(100))
    joins = tuple(Join(JoinKind.ROLLBACK, 0, 1, k, 5, 5, 9.0, changes=changes) for k in range(1000))
    entry = rollback()
    entry = replace(entry, diagnosis=replace(entry.diagnosis, joins=joins))
    (page,) = [p for p in pages(site([entry])) if p.path == "runs/demo-rollback/index.md"]
    assert len(page.text.encode()) < 100_000
    assert "<script>alert" not in page.text
    assert "94 more in entry.json" in page.text
    assert "976 more are in" in page.text
