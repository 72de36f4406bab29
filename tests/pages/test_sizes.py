"""A site of 1,000 runs: no page over 100 KB, and a search index that a phone can load."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest
from tests.pages.samples import many, site

from chronicle.build.site import write_tree
from chronicle.pages import A_RUN, PAGE_KINDS, assets
from chronicle.pages.lists import runs
from chronicle.pages.words import renderer
from chronicle.workspace.folders import shipped_file

RUNS = 1000
BUILT = 20  # pages of runs that the engine builds: each is as large as it is in a site of any size
PAGE_BYTES = 100_000


@pytest.mark.slow
def test_a_site_of_a_thousand_runs_stays_light(tmp_path: Path) -> None:
    data = site(many(RUNS))
    render = renderer(data.templates)
    made = [
        page for kind in PAGE_KINDS for page in islice(kind(data, render), BUILT if kind is runs else None)
    ]
    write_tree(tmp_path / "build" / "docs", [*((page.path, page.text) for page in made), *assets(data)])
    shutil.copyfile(shipped_file("mkdocs.yml"), tmp_path / "mkdocs.yml")
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)

    built = tmp_path / "build" / "site"
    sizes = {page.relative_to(built): page.stat().st_size for page in built.rglob("*.html")}
    assert len(sizes) >= len(made) > BUILT
    assert {page: size for page, size in sizes.items() if size > PAGE_BYTES} == {}

    index = (built / "assets" / "search-runs.js").read_text("utf-8").split('"runs":[\n')[1].splitlines()[:-1]
    assert len(index) == RUNS
    assert max(len(line.rstrip(",").encode()) for line in index) <= A_RUN
