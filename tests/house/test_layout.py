"""The house style that a machine can hold: sizes, imports, and what must not be in the repository."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from collections import Counter
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


@cache
def parsed() -> list[tuple[str, ast.Module]]:
    """Name and syntax tree of every source file."""
    return [(file.name, ast.parse(file.read_text("utf-8"))) for file in SOURCES]


def functions() -> list[tuple[str, int]]:
    """Every function with its length in lines, without the docstring."""
    lengths = []
    for file, tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                n_docstring = len((ast.get_docstring(node) or "").splitlines())
                lengths.append((f"{file}:{node.name}", node.end_lineno - node.lineno + 1 - n_docstring))
    return lengths


@pytest.mark.slow
def test_functions_are_short():
    lengths = functions()
    assert [f for f in lengths if f[1] > 40] == []
    assert statistics.median(length for _, length in lengths) < 10


def test_files_are_short():
    sizes = {f.name: len(f.read_text("utf-8").splitlines()) for f in SOURCES}
    assert {name: size for name, size in sizes.items() if size > 500} == {}


def test_base_names_are_unique():
    names = Counter(f.stem for f in SOURCES)
    assert [name for name, n in names.items() if n > 1 and not name.startswith("__")] == []


def test_no_circle_of_files():
    """A circle that an import within a function hides counts as one; one for types alone does not."""
    graph = grimp.build_graph("chronicle", exclude_type_checking_imports=True)
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    while leaves := {name for name, uses in imports.items() if not uses & imports.keys()}:
        imports = {name: uses for name, uses in imports.items() if name not in leaves}
    above = dict(imports)
    while tops := above.keys() - {used for uses in above.values() for used in uses}:
        above = {name: uses for name, uses in above.items() if name not in tops}
    assert sorted(above) == []


def test_every_module_and_every_public_thing_has_a_docstring():
    family = {"find", "pages"}  # what every rule and every page kind has: its package says what it is
    kinds = (ast.FunctionDef, ast.ClassDef)
    silent = []
    for file, tree in parsed():
        public = [n for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]
        silent += [(file, n.name) for n in public if n.name not in family and not ast.get_docstring(n)]
        silent += [] if ast.get_docstring(tree) else [(file, "the module itself")]
    assert silent == []


def test_no_host_of_a_registry_and_no_path_of_a_machine():
    forbidden = re.compile(
        rb"pypi\.(org|python)|pythonhosted|registry\.npmjs|deb\.debian|(?<![\w.-])/(work|root|home)/[a-z]"
    )
    here = Path(__file__).resolve()
    bad = [f.name for f in tracked() if f.resolve() != here and forbidden.search(f.read_bytes())]
    assert bad == []


def test_no_minified_or_vendored_assets():
    assert [f.name for f in tracked() if re.search(r"\.min\.(js|css)$|/(vendor|node_modules)/", str(f))] == []


def test_constraints_are_names_and_versions():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert (
        lines and [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.]+", line)] == []
    )


def test_every_test_is_collected(pytestconfig):
    """pytest enters no folder called build, unless it is told otherwise."""
    files = [file.relative_to(ROOT) for file in (ROOT / "tests").rglob("test_*.py")]
    folders = {folder for file in files for folder in file.parts[:-1]}
    passed_over = pytestconfig.getini("norecursedirs")
    assert "build" in folders and pytestconfig.getini("testpaths") == ["tests"]
    assert [f for f in folders for pattern in passed_over if fnmatch(f, pattern)] == []


def test_no_test_is_skipped():
    mark = re.compile(r"mark\.(skip|xfail)|importorskip|pytest\.(skip|xfail)")
    here = Path(__file__).resolve()
    files = [f for f in tracked() if f.suffix == ".py" and "tests" in f.parts and f.resolve() != here]
    assert [f.name for f in files if mark.search(f.read_text("utf-8"))] == []
