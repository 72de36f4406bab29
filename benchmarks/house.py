"""The size and shape of the source, and the path of one log through it: `python -m benchmarks.house [LOG]`.

It counts the package that Python would import (set PYTHONPATH to the src/ of another checkout to measure that
one). Then it builds a site of one log in this process: which files of the package are used, how often one
calls another, and how often the log is opened. These are counts and not times, so they are the same on every
machine.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import grimp

ROWS = 2000
READ = "import chronicle; chronicle.read({!r}); {}"
IMPORTED = "import sys; print(sum(m.startswith('chronicle.readers') for m in sys.modules))"


def shape(package: Path) -> dict[str, int]:
    """Files, lines, top-level names, modules with one importer, and modules in circles."""
    files = sorted(package.rglob("*.py"))
    texts = [file.read_text("utf-8") for file in files]
    graph = grimp.build_graph("chronicle", exclude_type_checking_imports=True)
    importers = [len(graph.find_modules_that_directly_import(module)) for module in graph.modules]
    functions = [
        node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)
    ]
    lengths = sorted((node.end_lineno or 0) - node.lineno + 1 for node in functions)
    tops = {
        file.relative_to(package).parts[0]
        for file in files
        if file.name != "__init__.py" or file.parent != package
    }
    return {
        "files": len(files),
        "lines": sum(len(text.splitlines()) for text in texts),
        "top-level names": len(tops),
        "base names used twice": sum(
            n > 1 for name, n in Counter(f.stem for f in files).items() if name[:2] != "__"
        ),
        "modules with one importer": importers.count(1),
        "modules in circles": len(in_circles(graph)),
        "functions": len(functions),
        "median lines of a function": lengths[len(lengths) // 2],
    }


def in_circles(graph: grimp.ImportGraph) -> set[str]:
    """The modules that import themselves through others."""
    imports = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    while leaves := {name for name, uses in imports.items() if not uses & imports.keys()}:
        imports = {name: uses for name, uses in imports.items() if name not in leaves}
    while tops := imports.keys() - {used for uses in imports.values() for used in uses}:
        imports = {name: uses for name, uses in imports.items() if name not in tops}
    return set(imports)


def walk(package: Path, log: Path, out: Path) -> dict[str, int]:
    """What a build of one log uses, calls and opens."""
    entered, calls, opened = set[str](), Counter[tuple[str, str]](), 0
    root = str(package)

    def on_call(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(root):
            return
        entered.add(name)
        caller = frame.f_back.f_code.co_filename if frame.f_back else ""
        if caller.startswith(root) and caller != name:
            calls[caller, name] += 1

    def on_audit(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal opened
        opened += event == "open" and str(arguments[0]) == str(log)

    from chronicle.cli import cli  # as the measured checkout has it

    sys.addaudithook(on_audit)
    sys.setprofile(on_call)
    try:
        cli(["build", str(log), "--out", str(out), "--quiet"], standalone_mode=False)
    except SystemExit as end:
        assert not end.code, end
    finally:
        sys.setprofile(None)
    return {
        "files entered by a build": len(entered),
        "calls from file to file": sum(calls.values()),
        "edges between files": len(calls),
        "times the log is opened": opened,
    }


def sample(folder: Path) -> Path:
    """A CSV of one run with a spike."""
    log = folder / "train.csv"
    rows = (f"{i},{3 / (1 + i / 100) + (2 if 900 < i < 910 else 0):.6f},{1e-3:.4f}" for i in range(ROWS))
    log.write_text("step,loss,lr\n" + "\n".join(rows) + "\n")
    return log


def main() -> None:
    package = Path(importlib.import_module("chronicle").__file__ or "").parent
    with tempfile.TemporaryDirectory() as folder:
        log = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else sample(Path(folder))
        if not log.is_file():
            raise SystemExit(f"{log}: no such file. Remedy: name one log, or none for a sample")
        table = {**shape(package), **walk(package, log, Path(folder) / "site")}
        printed = subprocess.run(
            [sys.executable, "-c", READ.format(str(log), IMPORTED)],
            capture_output=True,
            text=True,
            check=True,
        )
        table["modules of readers imported to read it"] = int(printed.stdout)
    for name, number in table.items():
        print(f"{name:<42}{number:>8}")


if __name__ == "__main__":
    main()
