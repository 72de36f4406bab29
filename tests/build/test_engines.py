import pytest

from chronicle.build.engines import ENGINES, Engine, build_site
from chronicle.errors import MissingExtra, SiteError


def test_an_engine_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(ENGINES, "zensical", Engine("no_such_module", "engines"))
    with pytest.raises(MissingExtra) as err:
        build_site("zensical", tmp_path / "mkdocs.yml", tmp_path / "out", strict=False, epoch=0)
    assert str(err.value) == (
        "--engine zensical needs the package 'no_such_module', which is not installed. "
        "Remedy: pip install 'training-chronicle[engines]'"
    )


def test_the_words_of_an_engine_that_fails(tmp_path):
    (tmp_path / "mkdocs.yml").write_text("site_name: x\ntheme: no-such-theme\n")
    (tmp_path / "docs").mkdir()
    with pytest.raises(SiteError, match=r"mkdocs failed \(exit 1\):\n(.|\n)*no-such-theme"):
        build_site("mkdocs", tmp_path / "mkdocs.yml", tmp_path / "out", strict=False, epoch=0)
