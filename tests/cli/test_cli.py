"""Every command as a person calls it: what it prints, in full, and how it ends."""

import errno
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from PIL import Image
from tests.fresh import printed_by
from tests.logs import healthy

from chronicle.build.entry import make_entry, to_json
from chronicle.build.produce import Run
from chronicle.cli import cli
from chronicle.errors import message_of
from chronicle.story import tell
from chronicle.workspace.config import RunConfig
from chronicle.workspace.folders import Workspace


@pytest.mark.parametrize("command", cli.commands)
def test_every_command_has_help(chronicle, command):
    ran = chronicle(command, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"Usage: chronicle {command} ")


def test_help_imports_nothing_heavy():
    subprocess.run([sys.executable, "-m", "chronicle", "--help"], check=True, capture_output=True)
    code = (
        "import sys; import chronicle.cli; print(sorted({'numpy','pandas','matplotlib'} & set(sys.modules)))"
    )
    assert printed_by(code) == "[]\n"


BASE = """
import sys
sys.modules.update(dict.fromkeys(["matplotlib", "jinja2", "yaml", "PIL", "tensorboard"]))
from chronicle.__main__ import main
for command in (["classify", "a.csv"], ["explain", "a.csv"], ["doctor", "a.csv"], ["schema"]):
    sys.argv, code = ["chronicle", *command], 0
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    print(f"--- {command[0]} {code}")
"""


@pytest.mark.slow
def test_a_base_installation_can_do_all_but_build(tmp_path):
    healthy(tmp_path / "a.csv")
    ran = subprocess.run([sys.executable, "-c", BASE], cwd=tmp_path, capture_output=True, text=True)
    printed = re.split(r"(?m)^--- (.*)\n", ran.stdout)
    assert (printed[1::2], ran.stderr) == (["classify 0", "explain 0", "doctor 0", "schema 0"], "")
    assert all(printed[:-1:2])


INTERRUPTED = """
def fail(err):
    raise err

def interrupted(do, *arguments):
    try:
        do(*arguments)
    except BaseException as err:
        raise RuntimeError("Error calling __set_name__ on 'cached_property' instance") from err
"""  # what Python 3.11 makes of a signal that arrives while a class is made
ENDED = """
import chronicle.__main__ as entry
entry.cli = lambda **_: interrupted({})
entry.main()
"""


def test_an_interrupt_while_a_class_is_made_is_an_interrupt(tmp_path):
    (tmp_path / "click.py").write_text(INTERRUPTED + "interrupted(fail, KeyboardInterrupt())\n")
    paths = os.pathsep.join([str(tmp_path), *sys.path])
    while_importing = [sys.executable, "-c", "import chronicle.__main__"]
    ran = subprocess.run(while_importing, capture_output=True, env={**os.environ, "PYTHONPATH": paths})
    assert (ran.returncode, ran.stderr) == (130, b"")
    for call, code in (("fail, KeyboardInterrupt()", 130), ("entry._end, 15, None", -15)):
        while_running = [sys.executable, "-c", INTERRUPTED + ENDED.format(call)]
        ran = subprocess.run(while_running, capture_output=True)
        assert (ran.returncode, ran.stderr) == (code, b"")
    of_another = [sys.executable, "-c", INTERRUPTED + ENDED.format("fail, ValueError()")]
    assert (
        b"RuntimeError: Error calling __set_name__" in subprocess.run(of_another, capture_output=True).stderr
    )


def test_a_mistyped_command(chronicle):
    ran = chronicle("clasify", "x")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: no such command 'clasify'. Did you mean 'classify'? Remedy: see `chronicle --help`\n"
    )


@pytest.mark.parametrize(
    "arguments, problem",
    [
        (["classify"], "missing argument 'PATHS...'."),
        (["classify", "--jsn", "x"], "no such option '--jsn'. Did you mean '--json'?"),
        (["build", "--jobs", "x"], "invalid value for '--jobs': 'x' is not a whole number."),
    ],
)
def test_a_command_that_is_called_wrongly_says_so_in_a_line(chronicle, arguments, problem):
    ran = chronicle(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {problem} Remedy: see `chronicle {arguments[0]} --help`\n"


def test_the_command_alone_shows_what_there_is(chronicle):
    ran, asked = chronicle(), chronicle("--help")
    assert (ran.code, ran.err) == (0, "") and ran.out == asked.out


def test_days_that_run_backwards(chronicle):
    ran = chronicle("export", "--from", "2026-02-01", "--to", "2026-01-01")
    assert (ran.code, ran.err) == (
        2,
        "error: the day of --from is after that of --to. Remedy: exchange the two\n",
    )


def test_a_folder_or_notes_that_may_not_be_read_cost_their_run_alone(chronicle, tmp_path, monkeypatch):
    for name in ("ok", "noted", "secret"):
        (tmp_path / "logs" / name).mkdir(parents=True)
        healthy(tmp_path / "logs" / name / "a.csv")
    (tmp_path / "logs" / "noted" / "notes.md").write_text("Seen.\n")
    stat, read_text = os.stat, Path.read_text

    def refuse(path: object, *arguments: object, **options: object) -> os.stat_result:
        if "secret/" in str(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, *arguments, **options)

    def refuse_notes(path: Path, *arguments: str, **options: str) -> str:
        if path.name == "notes.md":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return read_text(path, *arguments, **options)

    monkeypatch.setattr(os, "stat", refuse)
    monkeypatch.setattr(Path, "read_text", refuse_notes)
    ran = chronicle("classify", "logs")
    assert ran.code == 1 and ran.out.startswith("ok  ● good\n")
    assert ran.err.splitlines() == [
        f"error: {tmp_path}/logs/noted/notes.md: cannot be read (Permission denied). "
        "Remedy: check its permissions",
        f"error: {tmp_path}/logs/secret/a.csv: cannot be read (Permission denied). "
        "Remedy: check its permissions",
    ]


def test_a_place_where_nothing_can_be_made_is_told_with_what_to_do():
    refused = FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/.x-cache")
    assert message_of(refused) == (
        "/proc/.x-cache: No such file or directory. Remedy: check the path, or name another place"
    )


def test_no_workspace(chronicle):
    ran = chronicle("build")
    assert (ran.code, ran.out) == (2, "")
    remedy = "name logs to build, or chronicle init FOLDER"
    assert ran.err == f"error: no chronicle.toml in this folder or above it. Remedy: {remedy}\n"
    assert (
        chronicle("list").err == "error: no chronicle.toml in this folder or above it. Remedy: "
        "go to a workspace, or make one: chronicle init FOLDER\n"
    )


def test_nothing_to_read(chronicle, tmp_path):
    (tmp_path / "empty").mkdir()
    ran = chronicle("classify", "empty")
    assert ran.code == 3
    assert ran.err.startswith("error: ") and "empty" in ran.err


EMPTY = "a path is empty. Remedy: name a file or folder; the current one is `.`"
ADDRESS = "s3://bucket/run is an address. Remedy: name a folder of this machine"
OWN = "is where the workspace or a build keeps its own files. Remedy: name another --out"
AROUND = "contains the runs of the workspace. Remedy: name a log or folder beside them"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("classify", ""), 2, EMPTY),
        (("init", ""), 2, EMPTY),
        (("score", ""), 2, EMPTY),
        (("build", "a.csv", "--out", ""), 2, EMPTY),
        (("init", "s3://bucket/run"), 2, ADDRESS),
        (("build", "a.csv", "--out", "s3://bucket/run"), 2, ADDRESS),
        (("classify", "loop"), 2, "loop is a link that leads back to itself. Remedy: remove it"),
        (
            ("init", "loop"),
            1,
            "loop/runs: Too many levels of symbolic links. Remedy: name another place",
        ),
        (("note", "b", " "), 2, "the note is empty. Remedy: give it a TEXT"),
        (("add", "."), 2, f". {AROUND}"),
        (("add", "a.csv", ".."), 2, f".. {AROUND}"),
        *(
            (("build", "--out", place), 2, f"HERE/{place} {OWN}")
            for place in ("build", "build/next", "runs/a", "gallery")
        ),
    ],
)
def test_what_names_no_place_is_refused_in_one_line(chronicle, tmp_path, arguments, code, message):
    chronicle("init", ".")
    healthy(tmp_path / "a.csv")
    chronicle("add", "a.csv", "--name", "b")
    (tmp_path / "loop").symlink_to("loop")
    ran = chronicle(*arguments)
    assert (ran.code, ran.err) == (code, f"error: {message}\n".replace("HERE", str(tmp_path)))
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["b"]


def test_classify_prints_json_that_fits_its_schema(chronicle, tmp_path):
    log = healthy(tmp_path / "a.csv")
    ran = chronicle("classify", log, "--json")
    assert (ran.code, ran.err) == (0, "")
    diagnosis = json.loads(ran.out)
    jsonschema.validate(diagnosis, json.loads(chronicle("schema", "diagnosis").out))
    assert (diagnosis["schema"], diagnosis["run"]) == ("chronicle/diagnosis/1", "a.csv")
    assert (diagnosis["verdict"], diagnosis["patterns"]) == ("good", ["near-perfect"])
    assert {"pattern": "grad-norm-precursor", "missing": ["grad-norm"]} in diagnosis["not_assessed"]


def test_a_copy_of_another_log_is_named_and_judged_once(chronicle, tmp_path):
    (tmp_path / "run").mkdir()
    rows = healthy(tmp_path / "run" / "a.csv").read_text().splitlines()
    names = rows[0].split(",")
    values = (zip(names, map(float, row.split(",")), strict=True) for row in rows[1:])
    (tmp_path / "run" / "b.jsonl").write_text("".join(f"{json.dumps(dict(row))}\n" for row in values))
    ran = chronicle("classify", "run")
    assert ran.out.count("near-perfect") == 1
    assert ran.out.endswith("  Left out, because another log of the same run is judged: b.jsonl.\n")
    document = json.loads(chronicle("classify", "--json", "run").out)
    assert document["copies"] == ["b.jsonl"]
    jsonschema.validate(document, json.loads(chronicle("schema", "diagnosis").out))


def test_one_bad_log_does_not_stop_the_others(chronicle, tmp_path):
    healthy(tmp_path / "a.csv")
    (tmp_path / "b.jsonl").write_text("")
    ran = chronicle("classify", "a.csv", "b.jsonl", "--json")
    assert ran.code == 1
    assert json.loads(ran.out)["run"] == "a.csv"
    assert ran.err.startswith("error: ") and "b.jsonl" in ran.err and "empty" in ran.err


def test_fail_on(chronicle, tmp_path):
    log = healthy(tmp_path / "a.csv")
    assert chronicle("classify", log, "--fail-on", "unexpected").code == 0
    assert chronicle("classify", log, "--fail-on", "good").code == 1


def test_no_colour_in_a_pipe(chronicle, tmp_path):
    assert "\x1b" not in chronicle("classify", healthy(tmp_path / "a.csv")).out


def test_each_thing_is_said_once_and_what_a_log_lacks_in_one_sentence(chronicle, tmp_path):
    ran = chronicle("classify", healthy(tmp_path / "a.csv"))
    head, headline, *events = ran.out.splitlines()
    assert head.endswith("● good") and "The loss fell from" in headline
    assert " ".join(" ".join(events).split()).endswith(
        "1 ● near-perfect The log lacks what 20 patterns would need: objective (4), a second attempt (3), "
        "learning rate (1) and 12 more. `chronicle explain` names them."
    )


def test_an_event_that_the_headline_tells_is_listed_by_its_place(chronicle, tmp_path):
    values = [2.0 + 0.01 * (i % 5) + (3.0 if i == 60 else 0.0) for i in range(100)] + [math.nan] * 20
    log = tmp_path / "a.csv"
    log.write_text("step,loss\n" + "".join(f"{10 * i},{value}\n" for i, value in enumerate(values)))
    out = chronicle("classify", log).out.replace("\u202f", " ")
    assert out.count("The loss was NaN from step 1 000") == out.count("■ nan-inf, from step 1 000 on") == 1


def test_hostile_names_are_printed_harmlessly(chronicle, tmp_path):
    log = tmp_path / "a.csv"
    log.write_text("step,loss\x1b[2J\u202e\n" + "".join(f"{i},{2 + i % 3}\n" for i in range(60)))
    ran = chronicle("classify", log)
    assert "\x1b" not in ran.out and "\u202e" not in ran.out


def test_a_threshold_that_does_not_exist(chronicle, tmp_path):
    (tmp_path / "chronicle.toml").write_text("[thresholds]\nnot_one = 3\n")
    ran = chronicle("classify", healthy(tmp_path / "a.csv"))
    assert ran.code == 2
    assert ran.err.startswith("error: chronicle.toml: thresholds.not_one: unknown key.")


def test_the_life_of_a_workspace(chronicle, tmp_path, monkeypatch):
    log = healthy(tmp_path / "a.csv")
    ran = chronicle("init", "team")
    assert ran.code == 0
    assert ran.out == (
        "made team/chronicle.toml\nmade team/mkdocs.yml\nmade team/.gitignore\nmade team/.gitattributes\n"
        "Next: cd team && chronicle add LOG\n"
    )
    assert chronicle("init", "our team").out.endswith("Next: cd 'our team' && chronicle add LOG\n")
    monkeypatch.chdir(tmp_path / "team")
    assert chronicle("build").code == 3
    added = chronicle("add", log, "--name", "run-7", "--fact", "project=Atlas")
    assert added.code == 0
    assert chronicle("init", ".").out == "Next: chronicle add LOG\n"
    assert chronicle("list").out == "run-7  not built  run `chronicle build`\n"
    noted = chronicle(
        *("note", "run-7", "it was *fine*", "--kind", "lesson", "--step", "30", "--at", "2026-11-20T09:30Z"),
        *("--author", "ada"),
    )
    assert noted.code == 0
    text = (tmp_path / "team" / "runs" / "run-7" / "notes.md").read_text("utf-8")
    assert text == "- 2026-11-20T09:30+00:00 · ada · lesson · step 30: it was *fine*\n"
    assert chronicle("note", "run-8", "x").err.endswith("Did you mean 'run-7'?\n")


@pytest.fixture
def team(chronicle, tmp_path, monkeypatch):
    """A workspace with one run that was built, without its figures and site."""
    chronicle("init", "team")
    monkeypatch.chdir(tmp_path / "team")
    chronicle("add", healthy(tmp_path / "a.csv"), "--name", "run-7")
    run = Workspace.find(tmp_path / "team").run("run-7")
    timeline, judged, _ = Run(run).diagnose()
    config = RunConfig(date="2026-11-20")
    story = tell(timeline, judged, config)
    entry = make_entry("run-7", timeline, judged, config, story=story)
    folder = tmp_path / "team" / "build" / "entries" / "run-7"
    folder.mkdir(parents=True)
    (folder / "entry.json").write_text(json.dumps(to_json(entry)), "utf-8")
    return tmp_path / "team"


def test_a_note_on_an_event_that_is_not_there_names_the_nearest(chronicle, team):
    ran = chronicle("note", "run-7", "x", "--event", "lanch", "--author", "ada")
    assert (ran.code, ran.err) == (2, "error: run-7 has no event 'lanch'. Did you mean 'launch'?\n")
    assert not (team / "runs" / "run-7" / "notes.md").exists()
    options = ("--event", "end", "--kind", "outcome", "--author", "ada", "--at", "2026-11-20T09:30Z")
    assert chronicle("note", "run-7", "went well", *options).code == 0
    text = (team / "runs" / "run-7" / "notes.md").read_text("utf-8")
    assert text == "- 2026-11-20T09:30+00:00 · ada · outcome · event end: went well\n"


def test_a_note_on_a_step_outside_of_the_run_is_kept_with_a_warning(chronicle, team):
    ran = chronicle("note", "run-7", "x", "--step", "99999", "--author", "ada")
    assert ran.code == 0
    assert ran.err.startswith("warning: step 99\u202f999 is outside of the run, whose steps are 1 to ")
    assert ran.err.endswith("Remedy: the note was added; if the step is wrong, correct its line\n")


def test_the_author_of_a_note_is_that_of_git(chronicle, team):
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "config", "user.name", "Ada L."], check=True)
    chronicle("note", "run-7", "x", "--at", "2026-11-20T09:30Z")
    text = (team / "runs" / "run-7" / "notes.md").read_text("utf-8")
    assert text == "- 2026-11-20T09:30+00:00 · Ada L.: x\n"


def test_export_writes_the_events_of_some_days(chronicle, team):
    ran = chronicle("export", "--from", "2026-11-01", "--to", "2026-11-30")
    assert ran.code == 0
    assert ran.out.splitlines()[:6] == ["# Chronicle", "", "## November 2026", "", "### 20 November", ""]
    assert "- day only **End** (run-7): The log ends at step 400." in ran.out
    assert chronicle("export", "--from", "2026-12-01").out == "# Chronicle\n\nNo dated event.\n"
    assert chronicle("export", "--from", "soon").code == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(chronicle, shell):
    ran = chronicle("completion", shell)
    assert ran.code == 0
    assert "_CHRONICLE_COMPLETE" in ran.out


def test_a_figure_is_written_as_pixels_for_a_chat(tmp_path, chronicle, monkeypatch):
    monkeypatch.chdir(tmp_path)
    healthy(tmp_path / "calm.csv")
    ran = chronicle("export", "--png", "calm.csv", "--dark")
    assert (ran.code, ran.out) == (0, "wrote calm.csv-dark.png\n")
    with Image.open(tmp_path / "calm.csv-dark.png") as image:
        assert image.format == "PNG" and image.width == 1440
    assert chronicle("export", "--png", "calm.csv", "--finding", "1").out == "wrote calm.csv-finding-1.png\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--png", "calm.csv", "--finding", "7"), "no finding '7'. Remedy: name one of this run: 1"),
        (("--png", "none.csv"), "no such file or folder: none.csv. Remedy: check the path"),
        (("--dark",), "--finding and --dark need --png RUN. Remedy: name a run with --png"),
        (
            ("--png", "log.csv", "--from", "2026-01-01"),
            "--from and --to cannot be used with --png. Remedy: leave out --png",
        ),
    ],
)
def test_a_figure_that_there_is_not_is_refused(tmp_path, chronicle, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    healthy(tmp_path / "calm.csv")
    ran = chronicle("export", *arguments)
    assert (ran.code, ran.err) == (2, f"error: {message}\n")
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("command", [("explain",), ("compare", "lost"), ("export", "--png")])
def test_a_run_that_is_misspelled_is_named(tmp_path, chronicle, monkeypatch, command):
    chronicle("init", str(tmp_path / "team"))
    monkeypatch.chdir(tmp_path / "team")
    (tmp_path / "team/runs/lost").mkdir()
    healthy(tmp_path / "team/runs/lost/log.csv")
    ran = chronicle(*command, "losd")
    assert (ran.code, ran.err) == (2, f"error: no run 'losd' in {tmp_path}/team/runs. Did you mean 'lost'?\n")


def test_what_cannot_be_read_is_told_when_it_is_added_and_by_a_build(chronicle, tmp_path, monkeypatch):
    from chronicle.build.produce import Product, produce

    chronicle("init", str(tmp_path / "team"))
    monkeypatch.chdir(tmp_path / "team")
    (tmp_path / "none.log").touch()
    (tmp_path / "some.bin").write_bytes(bytes(range(256)) * 9)
    (tmp_path / "text.log").write_text("The first words.\n" * 9)
    for name, what in (
        ("none.log", "is empty. Remedy: remove it, or wait until it is written to"),
        ("some.bin", "no reader knows this format. Remedy: "),
        ("text.log", "no reader knows this format. Remedy: "),
    ):
        ran = chronicle("add", str(tmp_path / name))
        assert ran.code == 0
        assert (name in ran.err, what.split(". ")[0].removeprefix("no ") in ran.err) == (True, True), ran.err
        workspace = Workspace.find(tmp_path / "team")
        run = workspace.run(name.partition(".")[0])
        (problem,) = produce(Product(run, workspace.config, tmp_path / "entries" / run.run_id)).problems
        assert problem.startswith(f"{name}: {what}")


def test_a_name_that_is_no_id_is_told_with_the_id(chronicle, tmp_path, monkeypatch):
    chronicle("init", str(tmp_path / "team"))
    monkeypatch.chdir(tmp_path / "team")
    ran = chronicle("add", str(healthy(tmp_path / "calm.csv")), "--name", "../../evil")
    folder = tmp_path / "team/runs/evil-0fbfd372"
    expected = f"added {folder}, which commands know as evil-0fbfd372\nNext: chronicle build\n"
    assert (ran.code, ran.out) == (0, expected)


def test_a_workspace_where_no_folder_can_be_made(chronicle, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "/proc/no-such-place")

    monkeypatch.setattr(Path, "mkdir", refuse)
    ran = chronicle("init", "/proc/no-such-place")
    problem = "no folder can be made at /proc/no-such-place. Remedy: name another place"
    assert (ran.code, ran.err) == (2, f"error: {problem}\n")
