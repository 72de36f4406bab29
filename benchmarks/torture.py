"""What chronicle promises when it is killed, refused or hurried: does it hold? docs/trust.md says what.

    python -m benchmarks.torture [--kills 200] [--seed 1] [--write]

The real commands work on a workspace of a few runs, one of them packed. They are killed (the whole process
group, or the command alone) at random moments and at each of their file operations in turn; operations are
refused as by a full disk; builds run at once and while a log grows. After each, the site must be yesterday's
or today's, whole; nothing may be left running or in the temporary folder; and the next build must give the
bytes of one that nothing disturbed. A small disk is mounted where this user may do that. `--write` puts the
table into docs/trust.md.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.page import arguments, markdown, show

ROOT = Path(__file__).parent.parent
TRUST = ROOT / "docs" / "trust.md"
KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
REFUSALS = {"disk full": 28, "read-only": 30, "no permission": 13}
DAY = 1_700_000_000  # Unix seconds: the age of every log, which the engine dates its files by
# A theme of a line, so that most of the time of a build is chronicle's own.
PLAIN = (
    "site_name: x\ntheme: {name: null, custom_dir: theme}\nplugins: []\nuse_directory_urls: false\n"
    "docs_dir: build/docs\nsite_dir: build/site\nexclude_docs: |\n  *.md\n  !index.md\n  !runs/**\n"
)
# A command whose Nth operation that changes a file kills it, or is refused: `python -c DYING N HOW …`.
DYING = """
import os, signal, sys
at, how = int(sys.argv[1]), sys.argv[2]
sys.argv[:] = ["chronicle", *sys.argv[3:]]
from chronicle.__main__ import main
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "shutil.copyfile",
           "subprocess.Popen", "ctypes.dlsym"}
place, done = os.path.realpath("."), 0
def on_event(event, args):
    global done
    if event not in CHANGES and not (event == "open" and isinstance(args[2], int) and args[2] & 3):
        return
    path = args[0] if args and isinstance(args[0], str) else place
    if not os.path.abspath(path).startswith(place):
        return
    done += 1
    if done == at:
        if how.startswith("-"):
            os.kill(os.getpid(), int(how[1:]))
        elif event != "ctypes.dlsym":
            raise OSError(int(how), os.strerror(int(how)), path)
sys.addaudithook(on_event)
try:
    main()
finally:
    if how == "0":
        print("operations", done)
"""


@dataclass
class Tally:
    """How often something was done, and what did not hold."""

    done: int = 0
    broken: list[str] = field(default_factory=list)

    def holds(self, truth: object, what: str) -> None:
        """Notes ``what`` unless it is so."""
        if not truth:
            self.broken.append(what)


class Torture:
    """A workspace of ``n_runs`` runs below ``folder``, and the commands that work on it."""

    def __init__(self, folder: Path, n_runs: int = 5) -> None:
        self.work, self.temporary, self.logs = folder / "work", folder / "temporary", folder / "logs"
        for place in (self.temporary, self.logs):
            place.mkdir(parents=True)
        self.environment = {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        }
        self.logs.joinpath("more.csv").write_text(log(99))
        subprocess.run(
            [*self._python(), "init", str(self.work)],
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        (self.work / "theme").mkdir()
        (self.work / "theme" / "main.html").write_text("{{ page.content }}")
        (self.work / "mkdocs.yml").write_text(PLAIN)
        self.known: dict[int, dict[str, str]] = {}
        self.n_of_a_build = 0
        for number in range(n_runs):
            run = self.work / "runs" / f"run-{number}"
            run.mkdir()
            packed = gzip.compress(log(number).encode())
            put(run / "log.csv.gz", packed) if not number else put(run / "log.csv", log(number).encode())

    def _python(self) -> list[str]:
        return [sys.executable, "-m", "chronicle"]

    def start(self, *arguments: str, dying: tuple[int, int] | None = None) -> subprocess.Popen[str]:
        """A command in a process group of its own; ``dying``: at which operation it dies, and how."""
        command = [*self._python(), *arguments]
        if dying:
            command = [sys.executable, "-c", DYING, *map(str, dying), *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=self.work, env=self.environment, start_new_session=True, **pipes)

    def run(self, *arguments: str, dying: tuple[int, int] | None = None) -> tuple[int, str]:
        """A command to its end, which is when nobody holds its output open any more; code and output."""
        with self.start(*arguments, dying=dying) as process:
            assert process.stdout
            said = process.stdout.read()
        return process.returncode, said

    def operations(self, *arguments: str) -> int:
        """How many operations change files when a command runs undisturbed."""
        _, said = self.run(*arguments, dying=(0, 0))
        return int(said.split("operations ")[1])

    def operations_of_a_build(self) -> int:
        """The same of a build that has work; counted once."""
        if not self.n_of_a_build:
            self.run("build", "-q", "--jobs", "1")
            self.turn(1)
            self.n_of_a_build = self.operations("build", "-q", "--jobs", "1")
        return self.n_of_a_build

    def site(self) -> dict[str, str]:
        """The files of the site and their hashes."""
        return tree(self.work / "build" / "site")

    def rebuilt(self) -> dict[str, str]:
        """The site that a build from nothing gives, of the same logs, in a place of its own."""
        build, aside = self.work / "build", self.work.with_name("aside")
        if build.exists():
            build.rename(aside)
        code, said = self.run("build", "-q")
        assert code == 0, said
        site = self.site()
        shutil.rmtree(build)
        if aside.exists():
            aside.rename(build)
        return site

    def settled(self, tally: Tally, before: dict[str, str], after: dict[str, str], what: str) -> None:
        """Looks at all that must hold once a build was disturbed, and builds."""
        now = self.site()
        tally.holds(now in (before, after), f"{what}: the site is neither yesterday's nor today's")
        code, said = self.run("build", "-q")
        tally.holds(code == 0, f"{what}: the next build failed: {said[-300:]}")
        tally.holds("Traceback" not in said, f"{what}: a traceback")
        tally.holds(self.site() == after, f"{what}: the next build gives other bytes")
        tally.holds(not os.listdir(self.temporary), f"{what}: {os.listdir(self.temporary)} is left")
        there = set(os.listdir(self.work / "build")) - {"next"}  # the site before, for the next build
        left = {"docs", "entries", "lock", "made.json", "site"} ^ there
        tally.holds(not left, f"{what}: {sorted(left)} is left or missing in build")

    def turn(self, number: int) -> tuple[dict[str, str], dict[str, str]]:
        """Changes all runs but one, to a state and back, so that a build has work; the site now and then."""
        before, state = self.site(), number % 2
        for run in sorted((self.work / "runs").iterdir())[:-1]:
            put(run / "notes.md", f"# Notes\n\nstate {state}\n".encode())
        if state not in self.known:
            self.known[state] = self.rebuilt()
        return before, self.known[state]


def put(file: Path, content: bytes) -> None:
    """Writes a file of `DAY`."""
    file.write_bytes(content)
    os.utime(file, (DAY, DAY))


def log(seed: int, points: int = 300) -> str:
    """A healthy run as CSV."""
    loss = 2 + 3 * np.arange(1.0, points + 1) ** -0.4 + np.random.default_rng(seed).normal(0, 0.01, points)
    return "step,loss\n" + "".join(f"{step},{value:.5f}\n" for step, value in enumerate(loss, 1))


def tree(folder: Path) -> dict[str, str]:
    """The files below a folder, and their hashes."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def spread_over(n: int, most: int) -> list[int]:
    """At most ``most`` of the numbers 1 … n, evenly."""
    return sorted({1 + round(i * (n - 1) / max(1, most - 1)) for i in range(most)} if n else [])


def kills_by_operation(torture: Torture, most: int) -> Tally:
    """A build that dies at an operation on files, for up to ``most`` of these."""
    tally = Tally()
    n = torture.operations_of_a_build()
    for number, at in enumerate(spread_over(n, most)):
        before, after = torture.turn(number)
        torture.run("build", "-q", "--jobs", "1", dying=(at, -signal.SIGKILL))
        tally.done += 1
        torture.settled(tally, before, after, f"build killed at operation {at} of {n}")
    return tally


def kills_by_time(torture: Torture, kills: int, rng: random.Random) -> Tally:
    """Builds that are killed at random moments, with their process group or alone, by each signal."""
    tally = Tally()
    torture.run("build", "-q")
    torture.turn(1)
    begun = time.perf_counter()
    torture.run("build", "-q")
    lasts_s = time.perf_counter() - begun
    before, after = torture.turn(0)
    for number in range(kills):
        kill, group = KILLS[number % 3], bool(number // 3 % 2)
        with torture.start("build", "-q", "--jobs", "2") as process:
            time.sleep(rng.uniform(0, 1.1) * lasts_s)
            (os.killpg if group else os.kill)(process.pid, kill)
            assert process.stdout
            said = process.stdout.read()  # ends with the last process that holds it
        what = f"build {number}, {kill.name} to {'its group' if group else 'it alone'}"
        tally.done += 1
        tally.holds("Traceback" not in said, f"{what}: a traceback: {said[-500:]}")
        tally.holds(torture.site() in (before, after), f"{what}: the site is neither yesterday's nor today's")
        if number % 5 == 4:  # till then each finds what the one before it left
            torture.settled(tally, before, after, what)
            before, after = torture.turn(number // 5 + 1)
    return tally


def killed_adds_and_notes(torture: Torture, most: int) -> Tally:
    """`add` and `note` that die at an operation on files: all of it is there, or nothing; the retry works."""
    tally, runs = Tally(), torture.work / "runs"
    whole = torture.logs / "more.csv"
    add = ("add", str(whole), "--name", "more", "--fact", "project=x")
    n_add = torture.operations(*add)
    expected = tree(runs / "more")
    shutil.rmtree(runs / "more")
    for at in spread_over(n_add, most):
        torture.run(*add, dying=(at, -signal.SIGKILL))
        there = runs / "more"
        tally.done += 1
        if there.exists():  # it was killed while it put away what it had worked in; the next one does
            tally.holds(tree(there) == expected, f"add killed at {at}: half a run")
            there.rename(runs / "first")
        code, said = torture.run(*add)
        tally.holds(code == 0 and tree(there) == expected, f"add killed at {at}: the retry failed: {said}")
        for made in {there, runs / "first"} & set(runs.iterdir()):
            shutil.rmtree(made)
        left = [name for name in os.listdir(runs) if name.startswith(".")]
        tally.holds(not left, f"add killed at {at}: {left} is left")
    notes = sorted(runs.iterdir())[-1] / "notes.md"
    n_note = torture.operations("note", notes.parent.name, "first")
    for at in spread_over(n_note, most):
        before = notes.read_bytes()
        torture.run("note", notes.parent.name, "second", dying=(at, -signal.SIGKILL))
        added = notes.read_bytes().removeprefix(before)
        tally.done += 1
        tally.holds(not added or (added.count(b"\n") == 1 and added.endswith(b": second\n")), "half a note")
    notes.unlink()
    return tally


def refusals(torture: Torture, most: int, kinds: Iterable[str] = REFUSALS) -> Tally:
    """Operations that the system refuses: one line with a remedy, the site whole, the next build as ever."""
    tally = Tally()
    n = torture.operations_of_a_build()
    for number, (kind, at) in enumerate((kind, at) for at in spread_over(n, most) for kind in kinds):
        before, after = torture.turn(number)
        code, said = torture.run("build", "-q", "--jobs", "1", dying=(at, REFUSALS[kind]))
        tally.done += 1
        what = f"{kind} at operation {at} of {n}"
        errors = [line for line in said.splitlines() if not line.startswith("the build in ")]
        is_told = len(errors) == 1 and errors[0].startswith("error: ") and "Remedy: " in errors[0]
        tally.holds(code in (0, 1) and (code == 0 or is_told), f"{what}: exit {code}, said {said[-400:]}")
        torture.settled(tally, before, after, what)
    return tally


def small_disk(torture: Torture) -> Tally:
    """A workspace on disks of growing size, until a build has room: on each too small one, one line."""
    tally = Tally()
    place = torture.work.with_name("disk")
    place.mkdir()
    for size_kb in (400, 600, 800, 1200, 1600, 2400, 3200, 4800, 64000):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", place]).returncode:
            return tally  # not for this user
        try:
            shutil.copytree(torture.work, place / "work", ignore=shutil.ignore_patterns("build"))
            command = [*torture._python(), "build", "-q", "--jobs", "1"]
            ran = subprocess.run(command, cwd=place / "work", capture_output=True, text=True)
            tally.done += 1
            told = ran.stderr.count("\n") == 1 and "No space left on device. Remedy: " in ran.stderr
            tally.holds(ran.returncode == 0 or told, f"a disk of {size_kb} kB: {ran.stderr[-400:]}")
            if ran.returncode:
                halves = (place / "work" / "build" / "site").exists()
                tally.holds(not halves, f"a disk of {size_kb} kB: half a site")
        finally:
            subprocess.run(["umount", place], check=True)
    tally.holds(ran.returncode == 0, "the largest disk is too small")
    return tally


def at_once(torture: Torture, rounds: int, builds: int = 4) -> Tally:
    """Builds of one workspace at once: all end well, and the site is that of one."""
    tally = Tally()
    for number in range(rounds):
        _, after = torture.turn(number)
        running = [torture.start("build", "-q", "--jobs", "1") for _ in range(builds)]
        for process in running:
            with process:
                assert process.stdout
                said = process.stdout.read()
            tally.done += 1
            tally.holds(process.returncode == 0, f"build at once: exit {process.returncode}: {said[-400:]}")
        torture.settled(tally, after, after, "builds at once")
    return tally


def growing(torture: Torture, builds: int) -> Tally:
    """Builds while rows are added to a log: once that ends, the next one shows all of it."""
    tally, file = Tally(), torture.work / "runs" / "run-1" / "log.csv"
    before = file.read_bytes()
    writer = "import sys\nfor n in range(10**9):\n  open(sys.argv[1], 'a').write(f'{301 + n},2.0\\n')\n"
    with subprocess.Popen([sys.executable, "-c", writer, str(file)]) as writing:
        for _ in range(builds):
            code, said = torture.run("build", "-q")
            tally.done += 1
            tally.holds(code == 0, f"a growing log: {said[-400:]}")
        writing.kill()
    with file.open("a") as out:
        out.write("\n" + "".join(f"{10**9 + n},nan\n" for n in range(2000)))
    code, said = torture.run("build", "-q")
    tally.holds(
        torture.site() == torture.rebuilt(), "a log that grew: the site is not that of a build from nothing"
    )
    put(file, before)
    torture.run("build", "-q")
    return tally


def rows(torture: Torture, kills: int, seed: int) -> Iterator[tuple[str, Tally]]:
    """What is done to chronicle, one row of the table each."""
    few = max(2, kills // 10)
    yield "builds killed at random moments", kills_by_time(torture, kills, random.Random(seed))
    yield "builds killed at an operation on files", kills_by_operation(torture, kills // 2)
    yield "`add` and `note` killed at an operation on files", killed_adds_and_notes(torture, kills)
    yield "operations refused (disk full, read-only, no permission)", refusals(torture, few)
    yield "disks too small, and one that is not", small_disk(torture)
    yield "builds, four at once", at_once(torture, few)
    yield "builds while a log grows", growing(torture, few)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of builds, at random moments")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = []
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        for what, tally in rows(Torture(Path(folder)), options.kills, options.seed):
            print(f"{what}: {tally.done} done, {len(tally.broken)} broken", flush=True)
            print(*(f"  {broken}" for broken in tally.broken), sep="\n", end="\n" if tally.broken else "")
            table.append((what, tally.done, len(tally.broken)))
    given = f"--kills {options.kills} --seed {options.seed}"
    show(
        "torture", markdown(("what was done", "times", "promises broken"), table), options.write, TRUST, given
    )
    sys.exit(any(row[2] for row in table))


if __name__ == "__main__":
    main()
