"""A workspace's own templates and assets."""

from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path

import pytest
from tests.pages.samples import healthy, rollback, small

from chronicle.errors import ConfigError
from chronicle.pages import assets, pages, words
from chronicle.pages.gallery import SiteData
from chronicle.workspace.folders import shipped_file


def with_templates(folder: Path) -> SiteData:
    return small(rollback(), healthy(), templates=(folder, shipped_file("templates")))


@pytest.mark.slow
def test_a_template_of_the_workspace_wins(tmp_path: Path) -> None:
    (tmp_path / "unreadable.md.j2").write_text("unused", "utf-8")
    (tmp_path / "patterns.md.j2").write_text("# Ours: {{ columns|length }} & <{{ base }}>\n", "utf-8")
    made = {page.path: page.text for page in pages(with_templates(tmp_path))}
    assert made["patterns/index.md"] == "# Ours: 4 & <../>\n"
    assert made["index.md"] == {p.path: p.text for p in pages(small(rollback(), healthy()))}["index.md"]


def test_an_own_macro_serves_the_shipped_pages(tmp_path: Path) -> None:
    shipped_text = (shipped_file("templates") / "macros.md.j2").read_text("utf-8")
    (tmp_path / "macros.md.j2").write_text(shipped_text.replace("ch-verdict", "our-verdict"), "utf-8")
    assert all("ch-verdict big" not in page.text for page in pages(with_templates(tmp_path)))


def test_compiled_templates_are_kept_and_none_of_another_text_or_damaged_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.pycache_prefix", str(tmp_path / "kept"))
    Path(cache_from_source(words.__file__)).parent.mkdir(parents=True)

    def rendered(text: str) -> str:
        (tmp_path / "page.md.j2").write_text(text, "utf-8")
        return words.renderer([tmp_path])("page.md.j2", {"name": "<b>"})

    assert rendered("one {{ name }}") == "one &#60;b&#62;"
    (kept,) = (tmp_path / "kept").rglob("jinja2-*.cache")
    assert rendered("two {{ name }}") == "two &#60;b&#62;"
    of_two = kept.read_bytes()
    assert rendered("two {{ name }}") == "two &#60;b&#62;" and kept.read_bytes() == of_two
    for spoilt in (b"", b"junk", of_two[:-9]):
        kept.write_bytes(spoilt)
        assert rendered("two {{ name }}") == "two &#60;b&#62;"
        assert kept.read_bytes() == of_two
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    kept.unlink()
    assert rendered("two {{ name }}") == "two &#60;b&#62;" and not kept.exists()


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("line\n{% if %}", "home.md.j2: line 2: template error: "),
        ("{{ nothing_of_the_name }}", "home.md.j2: template error: 'nothing_of_the_name' is undefined"),
        ("{% include 'gone.md.j2' %}", "home.md.j2: template error: "),
        ("{{ 1 + site.title }}", "home.md.j2: template error: unsupported operand"),
    ],
)
def test_a_broken_template_is_named(tmp_path: Path, template: str, problem: str) -> None:
    (tmp_path / "home.md.j2").write_text(template, "utf-8")
    with pytest.raises(ConfigError) as caught:
        list(pages(with_templates(tmp_path)))
    assert str(caught.value).startswith(problem)


def test_values_are_escaped_in_own_templates_too(tmp_path: Path) -> None:
    (tmp_path / "home.md.j2").write_text("{{ site.title }}", "utf-8")
    data = small(rollback(), title="<b>*x*</b>", templates=(tmp_path, shipped_file("templates")))
    assert next(iter(pages(data))).text == "&#60;b&#62;&#42;x&#42;&#60;/b&#62;"


def test_assets_come_from_both_and_the_workspace_wins(tmp_path: Path) -> None:
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "favicon.svg").write_text("<svg/>", "utf-8")
    (folder / "logo.png").write_bytes(b"png")
    files = dict(assets(with_templates(tmp_path)))
    assert files["assets/favicon.svg"] == folder / "favicon.svg"
    assert files["assets/logo.png"] == folder / "logo.png"
    assert files["assets/chronicle.css"] == shipped_file("templates") / "assets" / "chronicle.css"
    assert sorted(files) == [
        "assets/browse.js",
        "assets/chronicle.css",
        "assets/chronicle.js",
        "assets/entries.js",
        "assets/events.js",
        "assets/favicon.svg",
        "assets/home.js",
        "assets/logo.png",
        "assets/run.js",
        "assets/search-guide.js",
        "assets/search-runs.js",
        "assets/search.js",
        "assets/tokens.css",
        "assets/view.css",
        "assets/view.html",
        "assets/view.js",
        "feed.json",
        "feed.xml",
        "theme/main.html",
    ]
