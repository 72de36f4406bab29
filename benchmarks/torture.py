"""Does chronicle keep its promises (docs/trust.md) if it is killed, refused, or disturbed?

    python -m benchmarks.torture [--kills 200] [--seed 1] [--only WORDS] [--write]

The real commands work on a workspace of a few runs, one of which is packed, and on a typical one of which one
run changes. They are killed (the whole process group, or only the command) at random moments and at each of
their file operations. Operations are refused as by a full disk, by disks that are full or read-only, by
limits of file sizes, and by missing permissions. Builds run at the same time, and while a log grows. After
each disturbance the site must be complete, either the old or the new one; no process and no temporary file
may be left; and the next build must give the same bytes as one without disturbance. benchmarks/hostile.py
covers what strangers put into logs. Disks are mounted if this user may do so. Each row is stored in
build/torture.json as soon as it is complete: `--only` repeats some rows, and `--write` puts all of them into
docs/trust-measured.md.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import hostile
from benchmarks.hostile import Tally
from benchmarks.page import arguments, count, markdown, show

ROOT = Path(__file__).parent.parent
TRUST = ROOT / "docs" / "trust-measured.md"
DONE = ROOT / "build" / "torture.json"
KILLS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
DEADLY = KILLS[:2]
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


class Torture:
    """A workspace of ``n_runs`` runs below ``folder``, and the commands that work on it. If it is
    ``as_users_have_it``, it has the theme of `chronicle init` and one run that changes; otherwise its theme
    is one line and all runs change."""

    def __init__(self, folder: Path, n_runs: int = 5, *, as_users_have_it: bool = False) -> None:
        self.work, self.temporary, self.logs = folder / "work", folder / "temporary", folder / "logs"
        for place in (self.temporary, self.logs):
            place.mkdir(parents=True)
        self.environment = {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
        }
        (self.logs / "more").mkdir()
        for number in range(20):
            self.logs.joinpath("more", f"part-{number}.csv").write_text(log(99))
        subprocess.run(
            [*self._python(), "init", str(self.work)],
            env=self.environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        if not as_users_have_it:
            (self.work / "theme").mkdir()
            (self.work / "theme" / "main.html").write_text("{{ page.content }}")
            (self.work / "mkdocs.yml").write_text(PLAIN)
        self.known: dict[int, dict[str, str]] = {}
        self.state, self.n_of_a_build = 0, 0
        for number in range(n_runs):
            run = self.work / "runs" / f"run-{number}"
            run.mkdir()
            packed = gzip.compress(log(number).encode())
            put(run / "log.csv.gz", packed) if not number else put(run / "log.csv", log(number).encode())
        runs = sorted((self.work / "runs").iterdir())
        self.changing = runs[:1] if as_users_have_it else runs[:-1]

    def _python(self) -> list[str]:
        return [sys.executable, "-m", "chronicle"]

    def start(self, *arguments: str, dying: tuple[int, int] | None = None) -> subprocess.Popen[str]:
        """Starts a command in a process group of its own. ``dying`` is the operation at which it dies, and
        how."""
        command = [*self._python(), *arguments]
        if dying:
            command = [sys.executable, "-c", DYING, *map(str, dying), *arguments]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return subprocess.Popen(command, cwd=self.work, env=self.environment, start_new_session=True, **pipes)

    def run(self, *arguments: str, dying: tuple[int, int] | None = None) -> tuple[int, str]:
        """Runs a command until no process holds its output open any more. Returns code and output."""
        with self.start(*arguments, dying=dying) as process:
            assert process.stdout
            said = process.stdout.read()
        return process.returncode, said

    def operations(self, *arguments: str) -> int:
        """The number of file operations of a command that is not disturbed."""
        _, said = self.run(*arguments, dying=(0, 0))
        return int(said.split("operations ")[1])

    def operations_of_a_build(self) -> int:
        """The same for a build with changed runs; counted once."""
        if not self.n_of_a_build:
            self.run("build", "-q", "--jobs", "1")
            self.turn()
            self.n_of_a_build = self.operations("build", "-q", "--jobs", "1")
        return self.n_of_a_build

    def site(self) -> dict[str, str]:
        """The files of the site, with their hashes."""
        return tree(self.work / "build" / "site")

    def rebuilt(self) -> dict[str, str]:
        """The site that a build from nothing gives for the same logs, in a folder of its own."""
        build, aside = self.work / "build", self.work.with_name("aside")
        if build.exists():
            build.rename(aside)
        code, said = self.run("build", "-q", "--jobs", "1")
        assert code == 0, said
        site = self.site()
        shutil.rmtree(build)
        if aside.exists():
            aside.rename(build)
        return site

    def settled(self, tally: Tally, before: dict[str, str], after: dict[str, str], what: str) -> None:
        """Checks everything that must be true after a disturbed build, and builds again."""
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

    def turn(self) -> tuple[dict[str, str], dict[str, str]]:
        """Changes runs to another state, or back, so that a build has work; the site now and then."""
        before, self.state = self.site(), 1 - self.state
        for run in self.changing:
            put(run / "notes.md", f"# Notes\n\nstate {self.state}\n".encode())
        if self.state not in self.known:
            self.known[self.state] = self.rebuilt()
        return before, self.known[self.state]


def put(file: Path, content: bytes) -> None:
    """Writes a file of `DAY`."""
    file.write_bytes(content)
    os.utime(file, (DAY, DAY))


def log(seed: int, points: int = 300) -> str:
    """A healthy run as CSV."""
    loss = 2 + 3 * np.arange(1.0, points + 1) ** -0.4 + np.random.default_rng(seed).normal(0, 0.01, points)
    return "step,loss\n" + "".join(f"{step},{value:.5f}\n" for step, value in enumerate(loss, 1))


def tree(folder: Path) -> dict[str, str]:
    """The files below a folder, with their hashes."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def written(folder: Path) -> dict[str, str]:
    """The same without empty files, because a note that was killed too early leaves an empty notes.md."""
    nothing = hashlib.sha256().hexdigest()
    return {path: content for path, content in tree(folder).items() if content != nothing}


def spread_over(n: int, most: int) -> list[int]:
    """At most ``most`` of the numbers 1 … n, evenly spaced."""
    return sorted({1 + round(i * (n - 1) / max(1, most - 1)) for i in range(most)} if n else [])


def kills_by_operation(torture: Torture, most: int) -> Tally:
    """A build that is killed at a file operation, for up to ``most`` of these."""
    tally = Tally()
    n = torture.operations_of_a_build()
    for number, at in enumerate(spread_over(n, most)):
        before, after = torture.turn()
        kill = DEADLY[number % 2]
        torture.run("build", "-q", "--jobs", "1", dying=(at, -kill))
        tally.done += 1
        torture.settled(tally, before, after, f"build, {kill.name} at operation {at} of {n}")
    return tally


def killed(torture: Torture, *arguments: str, after_s: float, kill: int, group: bool = True) -> str:
    """The output of a command that is killed so many seconds after its start, when all processes that hold
    its output have ended."""
    with torture.start(*arguments) as process:
        time.sleep(after_s)
        (os.killpg if group else os.kill)(process.pid, kill)
        assert process.stdout
        return process.stdout.read()


def lasting_s(command: Callable[[], object]) -> float:
    """The duration of a command in seconds."""
    begun = time.perf_counter()
    command()
    return time.perf_counter() - begun


def kills_by_time(torture: Torture, kills: int, rng: random.Random) -> Tally:
    """Builds that are killed at random moments by each signal, with their process group or alone."""
    tally = Tally()
    torture.run("build", "-q")
    torture.turn()
    lasts_s = lasting_s(lambda: torture.run("build", "-q"))
    before, after = torture.turn()
    for number in range(kills):
        kill, group = KILLS[number % 3], bool(number // 3 % 2)
        after_s = rng.uniform(0, 1.1) * lasts_s
        said = killed(torture, "build", "-q", "--jobs", "2", after_s=after_s, kill=kill, group=group)
        what = f"build {number}, {kill.name} to {'its group' if group else 'it alone'}"
        tally.done += 1
        # Nothing in chronicle can prevent a traceback of Python that had not started it yet.
        is_ours = "Traceback" in said and f"{os.sep}chronicle{os.sep}" in said
        tally.holds(not is_ours, f"{what}: a traceback: {said[-500:]}")
        now = torture.site()
        tally.holds(now in (before, after), f"{what}: the site is neither yesterday's nor today's")
        if number % 5 == 4:  # till then each finds what the one before it left
            torture.settled(tally, before, after, what)
        if number % 5 == 4 or now == after:
            before, after = torture.turn()
    torture.settled(tally, before, after, "the last build that was killed")
    return tally


Death = Callable[..., object]  # runs a command that does not end well


def deaths(torture: Torture, command: Sequence[str], most: int, rng: random.Random | None) -> Iterator[Death]:
    """Ways to kill a command: at random moments, or without ``rng`` at an operation; by two signals."""
    if rng:
        lasts_s = lasting_s(lambda: torture.run(*command))
        for number in range(most):
            yield partial(killed, torture, after_s=rng.uniform(0.3, 1.05) * lasts_s, kill=DEADLY[number % 2])
        return
    for number, at in enumerate(spread_over(torture.operations(*command), most)):
        yield partial(torture.run, dying=(at, -DEADLY[number % 2]))


def killed_adds(torture: Torture, most: int, rng: random.Random | None = None) -> Tally:
    """`add` is killed: the run exists completely or not at all, and a second attempt succeeds."""
    tally, runs = Tally(), torture.work / "runs"
    add = ("add", str(torture.logs / "more"), "--name", "more", "--fact", "project=x")
    there = runs / "more"
    torture.run(*add)
    expected = tree(there)
    shutil.rmtree(there)
    ways = deaths(torture, add, most, rng)
    for number, die in enumerate(ways):
        shutil.rmtree(there, ignore_errors=True)  # of the one that showed how long it takes
        die(*add)
        what = f"add killed, number {number}"
        tally.done += 1
        if there.exists():  # it was killed while it put away what it had worked in; the next one does
            tally.holds(tree(there) == expected, f"{what}: half a run")
            there.rename(runs / "first")
        code, said = torture.run(*add)
        tally.holds(code == 0 and tree(there) == expected, f"{what}: the retry failed: {said}")
        for made in {there, runs / "first"} & set(runs.iterdir()):
            shutil.rmtree(made)
        left = [name for name in os.listdir(runs) if name.startswith(".")]
        tally.holds(not left, f"{what}: {left} is left")
    return tally


def killed_notes(torture: Torture, most: int, rng: random.Random | None = None) -> Tally:
    """`note` is killed: the line exists completely or not at all."""
    tally, notes = Tally(), sorted((torture.work / "runs").iterdir())[-1] / "notes.md"
    torture.run("note", notes.parent.name, "first")
    for die in deaths(torture, ("note", notes.parent.name, "first"), most, rng):
        before = notes.read_bytes()
        die("note", notes.parent.name, "second")
        added = notes.read_bytes().removeprefix(before)
        tally.done += 1
        tally.holds(not added or (added.count(b"\n") == 1 and added.endswith(b": second\n")), "half a note")
    notes.unlink()
    return tally


def refusals(torture: Torture, most: int, kinds: Iterable[str] = REFUSALS) -> Tally:
    """Operations that the system refuses: there is one line with a remedy, the site is complete, and the next
    build is as usual."""
    tally = Tally()
    n = torture.operations_of_a_build()
    for kind, at in ((kind, at) for at in spread_over(n, most) for kind in kinds):
        before, after = torture.turn()
        code, said = torture.run("build", "-q", "--jobs", "1", dying=(at, REFUSALS[kind]))
        tally.done += 1
        what = f"{kind} at operation {at} of {n}"
        errors = [line for line in said.splitlines() if not line.startswith("the build in ")]
        is_told = len(errors) == 1 and errors[0].startswith("error: ") and "Remedy: " in errors[0]
        tally.holds(code in (0, 1) and (code == 0 or is_told), f"{what}: exit {code}, said {said[-400:]}")
        torture.settled(tally, before, after, what)
    return tally


@contextmanager
def disk(place: Path, size_kb: int) -> Iterator[bool]:
    """Mounts a disk at ``place``; false if this user may not mount one."""
    place.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "tmpfs", place]
    mounted = not subprocess.run(mount, stderr=subprocess.DEVNULL).returncode
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", place], check=True)


def refused(tally: Tally, torture: Torture, work: Path, what: str, **how: object) -> bool:
    """Runs three commands in the folder ``work``: each succeeds, or prints one line with the reason and
    changes nothing. Returns whether one was refused."""
    runs = work / "runs"
    more, last = str(torture.logs / "more"), sorted(runs.iterdir())[-1].name
    # A limit would cut what Python keeps of its modules, too, and no command could start any more.
    environment, codes = {**torture.environment, "PYTHONDONTWRITEBYTECODE": "1"}, []
    for command in (["build", "-q", "--jobs", "1"], ["add", more, "--name", "m"], ["note", last, "n" * 9000]):
        before = written(runs), tree(work / "build" / "site")
        started = [*how.get("prefix", ()), *torture._python(), *command]  # type: ignore[misc]
        limit = how.get("limit")
        ran = subprocess.run(
            started, cwd=work, env=environment, capture_output=True, text=True, preexec_fn=limit
        )  # type: ignore[call-overload]
        tally.done += 1
        told = ran.stderr.count("\n") == 1 and ran.stderr.startswith("error: ") and "Remedy: " in ran.stderr
        tally.holds(ran.returncode == 0 or told, f"{what}, {command[0]}: {ran.stderr[-400:]}")
        same = (written(runs), tree(work / "build" / "site")) == before
        tally.holds(
            ran.returncode == 0 or same, f"{what}, {command[0]}: it was refused, and something changed"
        )
        codes.append(ran.returncode)
    return any(codes)


def small_disks(torture: Torture) -> Tally:
    """Disks of growing size, until there is room for everything; then one that cannot be written."""
    tally, place = Tally(), torture.work.with_name("disk")
    without_build = shutil.ignore_patterns("build")
    last = True
    for size_kb in (400, 600, 800, 1200, 1600, 2400, 3200, 4800, 64000):
        with disk(place, size_kb) as mounted:
            if not mounted:
                return tally
            shutil.copytree(torture.work, place / "work", ignore=without_build)
            last = refused(tally, torture, place / "work", f"a disk of {size_kb} kB")
            if not last:
                shutil.rmtree(place / "work" / "runs" / "m")
                subprocess.run(["mount", "-o", "remount,ro", place], check=True)
                put_off = refused(tally, torture, place / "work", "a disk that is read-only")
                tally.holds(put_off, "a disk that is read-only was written")
    tally.holds(not last, "the largest disk is too small")
    return tally


def limits(
    torture: Torture, sizes: Iterable[int] = (0, 1_000, 4_000, 16_000, 64_000, 256_000, 10**8)
) -> Tally:
    """No file may become larger than a limit; then the permissions of the folder allow no writing."""
    tally, place = Tally(), torture.work.with_name("limited")
    shutil.copytree(torture.work, place, ignore=shutil.ignore_patterns("build"))
    for size in sizes:
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
        last = refused(tally, torture, place, f"files of {size} bytes at most", limit=limit)
        shutil.rmtree(place / "runs" / "m", ignore_errors=True)
    tally.holds(not last, "the largest limit is too small")
    for folder in (place / "runs" / "run-0" / "new", place / "build" / "entries"):
        folder.mkdir(parents=True, exist_ok=True)
    put(place / "runs" / "run-0" / "new" / "log.csv", log(7).encode())  # so that a build has work
    for path in (place, *place.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    rights = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] if not os.getuid() else []
    put_off = refused(tally, torture, place, "no permission", prefix=rights)
    tally.holds(put_off, "what may not be written was written")
    for path in (place, *place.rglob("*")):
        path.chmod(path.stat().st_mode | 0o200)
    command = [sys.executable, "-m", "chronicle", "build", "-q"]
    built = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    tally.holds(built.returncode == 0, f"what may be written again: {(built.stdout + built.stderr)[-300:]}")
    shutil.rmtree(place)
    return tally


def at_once(torture: Torture, rounds: int, builds: int = 4) -> Tally:
    """Builds of one workspace at the same time: all succeed, and the site is that of a single build."""
    tally = Tally()
    for _ in range(rounds):
        _, after = torture.turn()
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
    """Builds while rows are added to a log. After that, the next build shows all of them."""
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


def rows(folder: Path, kills: int, seed: int) -> dict[str, Callable[[], Tally]]:
    """The disturbances, one for each row of the table."""
    few, rng = max(2, kills // 10), random.Random(seed)
    place, users = Torture(folder / "plain"), Torture(folder / "users", 12, as_users_have_it=True)
    by_users = "builds of one run of twelve, as users have them, killed at random moments"
    refused_at = "operations of a build refused (disk full, read-only, no permission)"
    return {
        "builds of all runs killed at random moments": lambda: kills_by_time(place, kills, rng),
        by_users: lambda: kills_by_time(users, kills, rng),
        "builds killed at an operation on files": lambda: kills_by_operation(place, kills // 2),
        "`add` killed at random moments": lambda: killed_adds(place, kills, rng),
        "`add` killed at an operation on files": lambda: killed_adds(place, kills),
        "`note` killed at random moments": lambda: killed_notes(place, kills, rng),
        "`note` killed at an operation on files": lambda: killed_notes(place, kills),
        refused_at: lambda: refusals(place, few),
        "commands on disks that are too small, or read-only": lambda: small_disks(place),
        "commands with a limit on the size of files, or without permission": lambda: limits(place),
        "builds, four at once": lambda: at_once(place, few),
        "builds while a log grows": lambda: growing(place, few),
        **hostile.rows(folder / "hostile", max(1, kills // 20), seed),
    }


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument(
        "--kills", type=count, default=200, help="number of kills of each kind at random moments"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="only rows whose name contains these words")
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it
    done = json.loads(DONE.read_text()) if DONE.exists() else {}
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        every = rows(Path(folder), options.kills, options.seed)
        if not any(options.only in what for what in every):
            parser.error(f"--only: no row contains {options.only!r}. Rows: {'; '.join(every)}")
        for what, do in every.items():
            if options.only not in what:
                continue
            tally = do()
            print(f"{what}: {tally.done} done, {len(tally.broken)} broken", flush=True)
            print(*(f"  {broken}" for broken in tally.broken), sep="\n", end="\n" if tally.broken else "")
            done[what] = [tally.done, len(tally.broken), time.strftime("%Y-%m-%d")]
            DONE.parent.mkdir(exist_ok=True)
            DONE.write_text(json.dumps(done, indent=1))
    table = [(what, *done[what]) for what in every if what in done]
    head = ("what was done", "times", "promises broken", "on")
    given = f"--kills {options.kills} --seed {options.seed}"
    show("torture", markdown(head, table), options.write, TRUST, given)
    sys.exit(any(row[2] for row in table))


if __name__ == "__main__":
    main()
