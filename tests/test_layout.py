"""The house style that a machine can hold: sizes, imports, and what must not be in the repository."""

from __future__ import annotations

import ast
import re
import statistics
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def functions() -> list[tuple[str, int]]:
    """Every function with its length in lines, without the docstring."""
    found = []
    for file in SOURCES:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                said = len((ast.get_docstring(node) or "").splitlines())
                found.append((f"{file.name}:{node.name}", node.end_lineno - node.lineno + 1 - said))
    return found


def test_functions_are_short():
    long = [f for f in functions() if f[1] > 40]
    assert long == []
    assert statistics.median(length for _, length in functions()) < 10


def test_files_are_short():
    sizes = {f.name: len(f.read_text("utf-8").splitlines()) for f in SOURCES}
    assert {name: size for name, size in sizes.items() if size > 310} == {}


@pytest.mark.parametrize("file", SOURCES, ids=lambda f: f.relative_to(ROOT).as_posix())
def test_every_public_thing_has_a_docstring(file):
    tree = ast.parse(file.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    public = [n for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]
    assert ast.get_docstring(tree), "the module says nothing of itself"
    family = {"find", "pages"}  # what every rule and every page kind has: its package says what it is
    assert [n.name for n in public if n.name not in family and not ast.get_docstring(n)] == []


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


def test_no_test_is_skipped():
    mark = re.compile(r"mark\.(skip|xfail)|importorskip|pytest\.(skip|xfail)")
    here = Path(__file__).resolve()
    files = [f for f in tracked() if f.suffix == ".py" and "tests" in f.parts and f.resolve() != here]
    assert [f.name for f in files if mark.search(f.read_text("utf-8"))] == []
