"""What people say of runs: review and triage as a person calls them, and what follows from it everywhere."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from tests.logs import healthy, plain_engine

from chronicle.cli.triage import HEIGHT, WIDTH, sketch
from chronicle.workspace.folders import Workspace
from chronicle.workspace.notes import read_notes

RUNS = Path(__file__).resolve().parents[2] / "runs"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A workspace of a healthy run and one of NaN, built once without theme and search; tests copy it."""
    from chronicle.build import build, places

    root = tmp_path_factory.mktemp("people") / "team"
    (root / "runs" / "calm").mkdir(parents=True)
    (root / "runs" / "lost").mkdir()
    (root / "chronicle.toml").write_text("jobs = 1\n")
    healthy(root / "runs" / "calm" / "log.csv")
    healthy(root / "runs" / "lost" / "log.csv", nan_from=300)
    plain_engine(root)
    workspace = Workspace.find(root)
    build(workspace, workspace.runs(), places(workspace, None))
    return root


@pytest.fixture
def team(built, tmp_path, chronicle, monkeypatch):
    import shutil

    root = tmp_path / "team"
    shutil.copytree(built, root)
    monkeypatch.chdir(root)
    return root


def entry(root, run_id):
    return json.loads((root / "build" / "entries" / run_id / "entry.json").read_text())


@pytest.mark.slow
def test_a_person_s_verdict_wins_and_the_classifier_s_stays_visible(team, chronicle):
    ran = chronicle(
        "review", "lost", "good", "A planned test of NaN.", "--author", "ada", "--at", "2026-11-20"
    )
    assert (ran.code, ran.out) == (0, f"noted in {team}/runs/lost/notes.md\n")
    assert (
        team / "runs/lost/notes.md"
    ).read_text() == "- 2026-11-20 · ada · review good: A planned test of NaN.\n"
    assert chronicle("build", "--quiet", "--fail-on", "bad").code == 0
    known = entry(team, "lost")
    assert (known["verdict"], known["badge"], known["diagnosis"]["verdict"]) == ("good", "good", "bad")
    assert known["story"][0] == (
        "ada judged this run good on 2026-11-20, where the classifier says bad: “A planned test of NaN.”"
    )
    assert known["story"][1].startswith("The classifier's verdict is bad because of the NaN stretch")
    page = (team / "build/docs/reviews.md").read_text()
    assert "1 run judged by people; in 1 of them the classifier disagrees." in page
    run_page = (team / "build/docs/runs/lost/index.md").read_text()
    assert "judged by ada; the classifier: bad" in run_page
    home = (team / "build/docs/index.md").read_text()
    assert "Nothing: every run that is bad or worrying has a decision or a review." in home
    assert "reviews.html" in home


def test_without_a_review_there_is_no_page_of_reviews(team):
    assert not (team / "build/docs/reviews.md").exists()
    assert "reviews.html" not in (team / "build/docs/index.md").read_text()


def test_the_last_review_counts(team, chronicle):
    chronicle("review", "lost", "worrying", "--author", "ada", "--at", "2026-11-21")
    chronicle("review", "lost", "bad", "--author", "jo", "--at", "2026-11-20")
    ran = chronicle("classify", "runs/lost", "--fail-on", "bad")
    assert ran.code == 0
    assert "▲ worrying" in ran.out
    chronicle("review", "lost", "bad", "--author", "jo", "--at", "2026-11-21")
    assert chronicle("classify", "runs/lost", "--fail-on", "bad").code == 1


@pytest.mark.parametrize(
    "arguments, message",
    [
        (
            ("lost", "disputed", "no"),
            "disputed applies to one finding. "
            "Remedy: name it with --event ID (`chronicle explain lost` has the ids)",
        ),
        (
            ("lost", "bad", "--event", "nan-inf-a1-300"),
            "--event goes with confirmed or disputed; bad is the verdict of a whole run",
        ),
        (("gone", "bad"), "no run 'gone' in "),
        (
            ("lost", "disputed", "--event", "nan-inf-a1-900"),
            "lost has no event 'nan-inf-a1-900'. Did you mean ",
        ),
    ],
)
def test_a_review_of_what_is_not_there_is_refused(team, chronicle, arguments, message):
    ran = chronicle("review", *arguments)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {message}")
    assert not (team / "runs/lost/notes.md").exists()


def keys(monkeypatch, *lines):
    """Standard input that is no terminal: one answer a line."""
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def test_triage_writes_each_answer_at_once_and_asks_for_the_verdict(team, chronicle, monkeypatch):
    keys(monkeypatch, "n", "The data of that day?", "c", "Seen it.", "w")
    ran = chronicle("triage", "--author", "jo")
    assert ran.code == 0
    assert ran.out.endswith("1 finding judged, 0 left. Next: chronicle build\n")
    assert "nan-inf: The loss was NaN from step 301 to the end (100 logged values)." in ran.out
    notes = read_notes(team / "runs/lost/notes.md")
    assert [(n.author, n.kind, n.event != "", n.text) for n in notes] == [
        ("jo", "", True, "The data of that day?"),
        ("jo", "confirmed", True, "Seen it."),
        ("jo", "review worrying", False, ""),
    ]
    again = chronicle("triage")
    assert again.out == "No finding is left to review.\n"


def test_triage_ends_with_its_input_and_leaves_what_was_skipped(team, chronicle, monkeypatch):
    keys(monkeypatch, "x", "s")
    ran = chronicle("triage", "lost")
    assert ran.out.endswith("0 findings judged, 1 left.\n")
    keys(monkeypatch)
    assert chronicle("triage").out.endswith("0 findings judged, 1 left.\n")
    assert not (team / "runs/lost/notes.md").exists()


@pytest.mark.slow
def test_a_disputed_finding_is_listed_with_its_dispute(team, chronicle):
    for says, who, day in (("confirmed", "ada", "2026-11-19"), ("disputed", "jo", "2026-11-20")):
        chronicle(
            "review", "lost", says, "A test.", "--event", "nan-inf-a1-300", "--author", who, "--at", day
        )
    assert chronicle("build", "--quiet").code == 0
    assert entry(team, "lost")["verdict"] == "bad"
    page = (team / "build/docs/reviews.md").read_text()
    assert "1 finding judged by people: 0 confirmed, 1 disputed." in page
    assert "runs/lost/index.html&#35;nan-inf-a1-300" in page


def test_triage_lists_the_runs_of_the_workspace_once(team, chronicle, monkeypatch):
    """Not again for each run and finding, because every run.toml is read for it."""
    listed: list[Workspace] = []
    runs = Workspace.runs
    monkeypatch.setattr(Workspace, "runs", lambda workspace: listed.append(workspace) or runs(workspace))
    keys(monkeypatch, "q")
    assert chronicle("triage").code == 0
    assert len(listed) == 1


def test_triage_before_a_build(tmp_path, chronicle):
    chronicle("init", ".")
    ran = chronicle("triage")
    assert (ran.code, ran.err) == (3, "error: no run has been built yet. Remedy: chronicle build\n")


def test_notes_beside_a_log_are_read_and_are_no_log(tmp_path, chronicle):
    (tmp_path / "run").mkdir()
    healthy(tmp_path / "run" / "log.csv")
    (tmp_path / "run" / "NOTES.log").write_text("- 2026-11-20 · ada · review bad: Wrong data.\n")
    ran = chronicle("classify", "run")
    assert (ran.code, ran.err) == (0, "")
    assert "■ bad" in ran.out
    assert "review: bad: ada: Wrong data." in ran.out
    alone = chronicle("classify", "run/log.csv")
    assert "■ bad" in alone.out


def test_notes_of_two_people_merge(tmp_path, chronicle):
    """Each adds a line at the end of the same file: git unites them, since `init` says how."""
    import subprocess

    def git(*arguments):
        names = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *names, *arguments], cwd=tmp_path, check=True, capture_output=True)

    chronicle("init", ".")
    git("init")
    (tmp_path / "runs/calm").mkdir()
    healthy(tmp_path / "runs/calm/log.csv", 20)
    chronicle("note", "calm", "Started.", "--author", "ada", "--at", "2026-11-18")
    git("add", "."), git("commit", "-m", "one"), git("checkout", "-b", "jo")
    chronicle("note", "calm", "From Jo.", "--author", "jo", "--at", "2026-11-19")
    git("commit", "-am", "two"), git("checkout", "main")
    chronicle("note", "calm", "From Ada.", "--author", "ada", "--at", "2026-11-19")
    git("commit", "-am", "three"), git("merge", "jo")
    assert [note.text for note in Workspace(tmp_path).run("calm").notes] == [
        "Started.",
        "From Ada.",
        "From Jo.",
    ]


def test_a_sketch_shows_a_spike_of_one_sample_and_its_onset():
    steps = np.arange(1000)
    values = np.full(1000, 2.0)
    values[500] = 3.0
    drawn = sketch(steps, values, 500)
    assert len(drawn) == HEIGHT + 2
    assert drawn[0].startswith("3.00 ")
    blank = chr(0x2800)
    top = drawn[0].removeprefix("3.00 ")
    spike = [k for k, c in enumerate(top) if c != blank]
    assert spike == [500 * (2 * WIDTH - 1) // 999 // 2]
    assert drawn[-2].index("▲") == len("3.00 ") + spike[0]
    assert drawn[-1] == f"     0{'999':>{WIDTH - 1}}"


@pytest.mark.parametrize(
    "steps, values", [([], []), ([1], [2.0]), ([1, 2], [np.nan, np.inf]), ([3, 3], [1.0, 2.0])]
)
def test_a_sketch_of_nothing_is_empty(steps, values):
    assert sketch(np.array(steps, np.int64), np.array(values, float), 1) == []


def test_a_sketch_marks_what_is_not_finite():
    values = np.array([1.0, 2.0, np.nan, np.inf])
    drawn = sketch(np.arange(4), values, 2)
    assert drawn[-2].count("×") + drawn[-2].count("▲") == 2


def test_a_comparison(team, chronicle):
    ran = chronicle("compare", "calm", "lost")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "A  calm  ● good"
    assert "B  lost  ■ bad" in lines
    assert "loss, median near the same steps" in lines
    row = next(line for line in lines if line.startswith("  step 115 "))
    assert len(set(row.split()[2:])) == 1  # the same numbers in both, up to the NaN
    assert any(line.startswith("  B   1 ■ nan-inf: The loss was NaN from step 301") for line in lines)


def test_runs_that_count_epochs_are_compared_by_epochs(chronicle, tmp_path):
    for name in ("a.csv", "b.csv"):
        rows = "".join(f"{epoch},{2 + 1 / (1 + epoch)}\n" for epoch in range(99))
        (tmp_path / name).write_text(f"epoch,loss\n{rows}")
    lines = chronicle("compare", "a.csv", "b.csv").out.splitlines()
    rows = lines[lines.index("loss, median near the same epochs") + 2 :]
    assert rows[0].split()[:2] == ["epoch", "0"]


def test_what_a_run_does_not_state_is_a_dash_in_a_comparison(chronicle, tmp_path):
    timed = "".join(f"{step},{1e9 + step},{2 + 1 / (1 + step)}\n" for step in range(99))
    (tmp_path / "timed.csv").write_text(f"step,time,loss\n{timed}")
    healthy(tmp_path / "plain.csv")
    rows = chronicle("compare", "timed.csv", "plain.csv").out.splitlines()
    (clock,) = (row for row in rows if row.startswith("  Wall clock "))
    assert clock.split() == ["Wall", "clock", "1.63", "min", "–"]


def test_a_rollback_stands_where_it_happened_in_a_comparison(chronicle):
    """At the step that the run left, behind the faults that made it; not at the one that it went back to."""
    ran = chronicle("compare", str(RUNS / "lab-lost-nodes"), str(RUNS / "lab-clean-resumes"))
    events = ran.out.partition("Events, in the order of steps")[2]
    heads = re.findall(
        r"^  ([AB])   ([A-C ]) (\w+): .*?(?:step|from step|at step) (\d+)", events, re.MULTILINE
    )
    assert [(run, mark.strip() or "fault", int(step)) for run, mark, _, step in heads] == [
        ("A", "fault", 280),
        ("B", "A", 399),
        ("A", "fault", 400),
        ("A", "fault", 400),
        ("A", "A", 400),
        ("A", "fault", 619),
        ("A", "fault", 620),
        ("A", "fault", 620),
        ("A", "B", 620),
        ("B", "B", 699),
        ("A", "fault", 800),
        ("A", "C", 801),
    ]


def test_a_comparison_needs_two(team, chronicle):
    ran = chronicle("compare", "calm")
    assert (ran.code, ran.err) == (
        2,
        "error: a comparison takes 2 to 8 runs, not 1. Remedy: name another run\n",
    )


def test_a_comparison_of_very_many_is_refused(team, chronicle):
    ran = chronicle("compare", *["calm"] * 9)
    problem = "a comparison takes 2 to 8 runs, not 9. Remedy: leave some of them out"
    assert (ran.code, ran.err) == (2, f"error: {problem}\n")


@pytest.mark.slow
def test_a_reviewed_run_has_no_finding_left_that_was_skipped(team, chronicle, monkeypatch):
    losses = [3 - i / 400 for i in range(200)] + [9] * 4 + [5] * 96 + [math.nan] * 100
    rows = "".join(f"{i},{loss}\n" for i, loss in enumerate(losses))
    (team / "runs/lost/log.csv").write_text(f"step,loss\n{rows}")
    chronicle("build", "--quiet")
    keys(monkeypatch, "c", "", "s", "s", "b")
    ran = chronicle("triage", "lost")
    assert "c confirm, d dispute, n note, s skip, q quit: s\n" in ran.out
    assert ran.out.endswith("1 finding judged, 0 left. Next: chronicle build\n")


@pytest.mark.slow
def test_triage_draws_a_metric_that_is_called_na(team, chronicle, monkeypatch):
    log = team / "runs/lost/log.csv"
    log.write_text(log.read_text().replace("step,loss", "step,NA"))
    (team / "runs/lost/run.toml").write_text('roles = {"^NA$" = "loss"}\n')
    chronicle("build", "--quiet")
    keys(monkeypatch, "q")
    assert "▲" in chronicle("triage", "lost").out


@pytest.fixture
def sweep(tmp_path, chronicle, monkeypatch):
    """A workspace with a table of two runs, and the entries of both."""
    from chronicle.build.produce import Product, produce
    from chronicle.build.sources import spread

    root = tmp_path / "team"
    (root / "runs/sweep").mkdir(parents=True)
    (root / "chronicle.toml").touch()
    rows = (f"{run},{step},{3 / step + 1:.4f}\n" for run in ("low", "high") for step in range(1, 40))
    (root / "runs/sweep/log.csv").write_text("run,step,loss\n" + "".join(rows))
    for run in spread(Workspace.find(root).runs()):
        produce(Product(run, Workspace.find(root).config, root / "build/entries" / run.run_id))
    monkeypatch.chdir(root)
    return root


LOW, HIGH = "sweep-log-low-90aca6ad", "sweep-log-high-70460e2a"


def test_each_run_of_a_table_is_listed_with_its_verdict(sweep, chronicle):
    listed = [json.loads(line) for line in chronicle("list", "--json").out.splitlines()]
    assert [(row["run"], row["state"], row["verdict"]) for row in listed] == [
        (LOW, "built", "good"),
        (HIGH, "built", "good"),
    ]
    assert chronicle("explain", HIGH).out.splitlines()[0] == HIGH
    compared = chronicle("compare", LOW, HIGH).out.splitlines()
    assert [line for line in compared if line[0:3] in ("A  ", "B  ")] == [
        f"A  {LOW}  ● good",
        f"B  {HIGH}  ● good",
    ]
    assert chronicle("triage", LOW).out == "No finding is left to review.\n"


def test_a_review_of_one_run_of_a_table_concerns_that_run_alone(sweep, chronicle):
    assert chronicle("review", LOW, "bad", "Too slow.", "--author", "ada", "--at", "2026-11-20").code == 0
    text = f"- 2026-11-20 · ada · review bad · run {LOW}: Too slow.\n"
    assert (sweep / "runs/sweep/notes.md").read_text() == text
    chronicle("note", "sweep", "Both of them.", "--author", "ada", "--at", "2026-11-21")
    low, high = chronicle("classify", "runs").out.split("\nsweep-log-high")
    assert (low.splitlines()[0], high.splitlines()[0]) == (f"{LOW}  ■ bad", "-70460e2a  ● good")
    assert ["Too slow." in low, "Too slow." in high] == [True, False]
    assert ["Both of them." in low, "Both of them." in high] == [True, True]


def test_what_is_said_of_a_table_is_said_of_all_its_runs_and_no_event(sweep, chronicle):
    ran = chronicle("review", "sweep", "bad")
    assert (ran.code, ran.out) == (0, f"noted in {sweep}/runs/sweep/notes.md\n")
    expected = f"warning: this concerns all 2 runs of sweep; for one alone name it: {LOW}, {HIGH}\n"
    assert ran.err == expected
    ran = chronicle("review", "sweep", "confirmed", "--event", "end")
    problem = "sweep holds 2 runs, and an event is that of one of them"
    assert (ran.code, ran.err) == (2, f"error: {problem}. Remedy: name one of {LOW}, {HIGH}\n")


def test_the_ends_of_runs_that_count_different_things_are_in_one_row(chronicle, tmp_path):
    (tmp_path / "rows.csv").write_text("loss\n" + "".join(f"{3 / n + 1:.4f}\n" for n in range(1, 51)))
    (tmp_path / "epochs.csv").write_text(
        "epoch,loss\n" + "".join(f"{n},{3 / n + 1:.4f}\n" for n in range(1, 101))
    )
    out = chronicle("compare", str(tmp_path / "rows.csv"), str(tmp_path / "epochs.csv")).out
    (row,) = [line.split() for line in out.splitlines() if "First and last" in line]
    assert row == ["First", "and", "last", "0", "–", "49", "rows", "1", "–", "100", "epochs"]
