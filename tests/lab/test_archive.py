"""The archive of a made-up team: thirty runs, three months, two people, and all of it said to be made up."""

from datetime import date
from itertools import pairwise

import pytest
from lab.archive import SAYS, make

from chronicle.workspace.folders import Workspace


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    ids = make(folder)
    assert "site_name: Atlas\n" in (folder / "mkdocs.yml").read_text()
    runs = Workspace.find(folder).runs()
    assert [run.run_id for run in runs] == sorted(ids)
    return runs


def test_thirty_runs_over_three_months_of_two_people(runs):
    assert len(runs) == 30
    days = sorted(date.fromisoformat(note.at_time[:10]) for run in runs for note in run.notes)
    assert 75 <= (days[-1] - days[0]).days <= 100
    assert {note.author for run in runs for note in run.notes} == {"ada", "jonas"}
    kinds = {note.kind for run in runs for note in run.notes}
    assert kinds >= {"hypothesis", "tried", "decision", "outcome", "lesson", "review good", "confirmed"}


def test_every_run_says_that_team_and_dates_are_made_up(runs):
    assert {run.config.description for run in runs} == {SAYS}
    training = {run.run_id for run in runs if run.config.data != "tiny training"}
    assert training == {"atlas-7b-long"}  # which Home shows to be in training
    assert all(run.problem is None for run in runs)


def test_every_note_is_a_line_with_its_date(runs):
    assert [note for run in runs for note in run.notes if not note.at_time] == []


def test_an_attempt_begins_after_the_one_before(runs):
    run = next(run for run in runs if run.run_id == "atlas-1b-nodes")
    import chronicle

    attempts = chronicle.runs(run.folder)[0].timeline().attempts
    spans = [(s.times.min(), s.times.max()) for a in attempts for m, s in a.series.items() if m == "lm loss"]
    assert len(spans) == 4
    assert all(later[0] - earlier[1] == 2700 for earlier, later in pairwise(spans))


def test_a_curve_is_judged_as_the_specimen_it_was_taken_from(runs):
    """NaN was written as an empty cell, and the run that ended in NaN was a good one."""
    import chronicle

    folder = next(run.folder for run in runs if run.run_id == "nan-once")
    (run,) = chronicle.runs(folder)
    assert run.diagnose()[1].patterns == ("nan-inf",)


def test_an_archive_is_made_once(tmp_path, runs):
    with pytest.raises(FileExistsError):
        make(runs[0].folder.parent.parent)
