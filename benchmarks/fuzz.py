"""Coverage-guided fuzzing of the readers of binary formats: does an input make one crash, hang or swell?

    python -m benchmarks.fuzz [--seconds 60] [--only FORMAT] [--write]

Needs atheris (`pip install atheris`, Linux). Each reader runs in a process of its own, beginning with the
examples of tests/readers/examples. An input is a failure if reading raises anything but an error of the log,
takes more than 10 s or 2 GB, or gives series whose columns differ in length. Such inputs are kept in
build/fuzz/FORMAT. `--write` puts the table into docs/speed-measured.md.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.page import arguments, count, markdown, show
from chronicle.errors import DEBUG

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "tests" / "readers" / "examples"
FOUND = ROOT / "build" / "fuzz"
BINARY = (
    "event_files",
    "wandb",
    "mlflow",
    "trackio",
    "swanlab",
    "neptune-scale",
    "comet",
    "parquet",
    "numpy",
    "pickle",
)
_DONE = re.compile(r"#(\d+)\s+DONE\s+cov: (\d+)")


def fuzz(folder: str, seconds: int) -> None:
    """The process of one reader. It never returns, because libFuzzer ends it."""
    import atheris

    os.environ[DEBUG] = "1"  # a defect is to be raised, not contained
    example = next(f for f in sorted((EXAMPLES / folder).iterdir()) if not f.name.endswith(".gold.json"))
    with atheris.instrument_imports(include=["chronicle.readers"]):
        from chronicle.readers import read_all

        read_all(example)  # readers are imported when they are asked
    file = Path(tempfile.mkdtemp()) / example.name

    def once(content: bytes) -> None:
        file.write_bytes(content)
        for attempt in read_all(file).attempts:
            for series in attempt.series.values():
                assert len(series.steps) == len(series.values) == len(series.times)

    corpus, crashes = Path(tempfile.mkdtemp()), FOUND / folder
    crashes.mkdir(parents=True, exist_ok=True)
    for seed in (
        f for f in (EXAMPLES / folder).iterdir() if f.is_file() and not f.name.endswith(".gold.json")
    ):
        (corpus / seed.name).write_bytes(seed.read_bytes())
    limits = [f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-max_len=65536"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={crashes}/", str(corpus)], once)
    atheris.Fuzz()


def row(folder: str, seconds: int) -> tuple[str, ...]:
    """Fuzzes one reader in a process of its own. Returns its row of the table."""
    command = [sys.executable, "-m", "benchmarks.fuzz", "--seconds", str(seconds), "--inside", folder]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    done = _DONE.search(ran.stderr)
    inputs, covered = (int(done[1]), int(done[2])) if done else (0, 0)
    said = "none" if ran.returncode == 0 and done else f"see {FOUND.relative_to(ROOT) / folder}"
    if said != "none":
        print(ran.stderr[-3000:], file=sys.stderr)
    return folder, f"{inputs:,}", f"{covered:,}", said


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--seconds", type=count, default=60, help="seconds for each reader")
    parser.add_argument("--only", choices=BINARY)
    parser.add_argument("--inside", choices=BINARY, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        fuzz(given.inside, given.seconds)
    rows = [row(folder, given.seconds) for folder in BINARY if given.only in (None, folder)]
    table = markdown(["reader", "inputs", "places covered", "failures"], rows)
    show("fuzz", table, given.write, given=f"--seconds {given.seconds}")


if __name__ == "__main__":
    main()
