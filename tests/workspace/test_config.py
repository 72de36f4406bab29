import math
import os
import tomllib

import pytest

from chronicle.errors import ConfigError
from chronicle.workspace.config import RunConfig, WorkspaceConfig, from_table, load


def test_a_missing_file_gives_the_defaults(tmp_path):
    assert load(WorkspaceConfig, tmp_path / "chronicle.toml") == WorkspaceConfig()


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"titel": "x"}, "chronicle.toml: titel: unknown key. Did you mean 'title'?"),
        (
            {"zzz": 1},
            "chronicle.toml: zzz: unknown key. Remedy: use one of allow, edit_url, engine, fail_on, "
            "false_alarms, gallery, jobs, out, redact, roles, runs, site_url, strict, templates, "
            "thresholds, title, units, x",
        ),
        ({"jobs": "two"}, "chronicle.toml: jobs: must be a whole number, not 'two'"),
        ({"jobs": True}, "chronicle.toml: jobs: must be a whole number, not True"),
        ({"engine": "hugo"}, "chronicle.toml: engine: 'hugo' is none of 'mkdocs', 'properdocs', 'zensical'"),
        (
            {"fail_on": "awful"},
            "chronicle.toml: fail_on: 'awful' is none of '', 'good', 'unexpected', 'worrying', 'bad'",
        ),
        ({"units": {"loss": 3}}, "chronicle.toml: units.loss: must be a string, not 3"),
        ({"thresholds": {"h": "high"}}, "chronicle.toml: thresholds.h: must be a number, not 'high'"),
        ({"thresholds": {"rise": math.nan}}, "chronicle.toml: thresholds.rise: must be a number, not nan"),
        ({"roles": []}, "chronicle.toml: roles: must be a table, not []"),
        (
            {"roles": {"(": "loss"}},
            "chronicle.toml: roles: '(' is not a regular expression: "
            "missing ), unterminated subpattern at position 0",
        ),
        (
            {"roles": {"a{99999999999}": "loss"}},
            "chronicle.toml: roles: 'a{99999999999}' is not a regular expression: "
            "the repetition number is too large",
        ),
        ({"out": "a\0b"}, r"chronicle.toml: out: 'a\x00b' is no path: a zero byte is in it"),
        ({"allow": ["a\0b"]}, r"chronicle.toml: allow[0]: 'a\x00b' is no path: a zero byte is in it"),
    ],
)
def test_what_is_wrong_is_named(table, message):
    with pytest.raises(ConfigError) as err:
        from_table(WorkspaceConfig, table, "chronicle.toml")
    assert str(err.value) == message


def test_a_role_that_does_not_exist():
    with pytest.raises(
        ConfigError,
        match=r"run.toml: roles.x: 'los' is none of 'loss', 'part-loss', .*'other'. Did you mean 'loss'\?$",
    ):
        from_table(RunConfig, {"roles": {"x": "los"}}, "run.toml")


def test_a_date_may_stand_without_quotes() -> None:
    for written in ("2026-11-18", "2026-11-18T09:30:00"):
        assert from_table(RunConfig, tomllib.loads(f"date = {written}"), "run.toml").date == written


def test_a_day_that_is_none():
    with pytest.raises(ConfigError) as err:
        from_table(RunConfig, {"date": "last week"}, "run.toml")
    assert str(err.value) == "run.toml: date: must be a day as 2026-11-18, not 'last week'"


def test_a_list_holds_strings():
    with pytest.raises(ConfigError) as err:
        from_table(RunConfig, {"tags": ["a", 1]}, "run.toml")
    assert str(err.value) == "run.toml: tags[1]: must be a string, not 1"


def test_a_whole_number_is_good_enough_for_a_number():
    assert from_table(RunConfig, {"tokens_per_step": 4096}, "run.toml").tokens_per_step == 4096


def test_no_toml(tmp_path):
    (tmp_path / "run.toml").write_text("title = \n")
    with pytest.raises(
        ConfigError, match=r"^run.toml: is not valid TOML: Invalid value \(at line 1, column 9\)"
    ):
        load(RunConfig, tmp_path / "run.toml")


def test_a_byte_order_mark_is_no_matter(tmp_path):
    (tmp_path / "run.toml").write_bytes(b'\xef\xbb\xbftitle = "x"\n')
    assert load(RunConfig, tmp_path / "run.toml").title == "x"


@pytest.mark.parametrize("url", ["https://log.example.org", "javascript:alert(1)/", 'https://x/"/', "/log/"])
def test_an_address_of_the_site_is_one(url):
    for name in ("site_url", "edit_url"):
        with pytest.raises(ConfigError) as caught:
            from_table(WorkspaceConfig, {name: url}, "chronicle.toml")
        what = f"chronicle.toml: {name}: must be `https://…/` with a slash at its end, not {url!r}"
        assert str(caught.value) == what


@pytest.mark.parametrize(
    "content",
    [
        "title = " + "[" * 5000 + "]" * 5000,
        "gpus = " + "9" * 5000,
        "gpus = " + "9" * 400,
        "[facts]\nx = [[9" + "9" * 18 + "]]",
    ],
    ids=["nested", "digits", "number", "fact"],
)
def test_a_file_that_no_parser_takes_is_no_defect(tmp_path, content):
    (tmp_path / "run.toml").write_text(content)
    with pytest.raises(ConfigError, match=r"^run\.toml: is not valid TOML: "):
        load(RunConfig, tmp_path / "run.toml")


def test_a_pipe_is_no_configuration_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "run.toml")
    keeps_it_open = os.open(tmp_path / "run.toml", os.O_RDWR)
    os.write(keeps_it_open, b"title = 'x'")
    with pytest.raises(ConfigError, match="is not a regular file"):
        load(RunConfig, tmp_path / "run.toml")
    os.close(keeps_it_open)
