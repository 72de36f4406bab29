import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from chronicle.build import part
from chronicle.build.site import ENGINES, Engine, SiteRecord, build_site
from chronicle.errors import MissingExtra, SiteError


def test_an_engine_that_is_not_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(ENGINES, "zensical", Engine("no_such_module", "engines"))
    with pytest.raises(MissingExtra) as err:
        build_site(SiteRecord("zensical"), tmp_path / "mkdocs.yml", tmp_path / "out")
    assert str(err.value) == (
        "--engine zensical needs the package 'no_such_module', which is not installed. "
        "Remedy: pip install properdocs zensical"
    )


def test_the_words_of_an_engine_that_fails(tmp_path):
    (tmp_path / "mkdocs.yml").write_text("site_name: x\ntheme: no-such-theme\n")
    (tmp_path / "docs").mkdir()
    with pytest.raises(SiteError, match=r"mkdocs failed \(exit 1\):\n(.|\n)*no-such-theme"):
        build_site(SiteRecord("mkdocs"), tmp_path / "mkdocs.yml", tmp_path / "out")


@pytest.mark.slow
def test_a_site_is_called_by_the_title_of_the_workspace(tmp_path):
    config, out = tmp_path / "mkdocs.yml", tmp_path / "out"
    config.write_text("site_name: >-\n  another\n  name\nplugins: []\nsite_dir: nowhere\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Home\n")
    build_site(SiteRecord("mkdocs", "Our runs: 2026"), config, out)
    assert "<title>Our runs: 2026</title>" in (out / "index.html").read_text()
    build_site(SiteRecord("mkdocs", "<script>alert(1)</script>"), config, out)
    assert "<script>alert" not in (out / "index.html").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs", "mkdocs.yml", "out"]


@pytest.mark.slow
def test_of_a_theme_neither_source_maps_are_published_nor_a_search_that_nobody_asked_for(tmp_path):
    """Its search is nearly a megabyte that no page of ours loads: dictionaries of languages, and a worker."""
    config, out = tmp_path / "mkdocs.yml", tmp_path / "out"
    (tmp_path / "docs" / "runs").mkdir(parents=True)
    (tmp_path / "docs" / "index.md").write_text("# Home\n")
    (tmp_path / "docs" / "runs" / "log.map").write_text("{}")

    def found(plugins: str) -> set[str]:
        config.write_text(f"site_name: elsewhere\ntheme: material\nplugins: [{plugins}]\n")
        build_site(SiteRecord("mkdocs"), config, out)
        return {path.parent.name for path in out.glob("assets/javascripts/*/*.js")}

    assert found("") == set()
    assert (out / "assets" / "javascripts").is_dir()
    assert "<title>elsewhere</title>" in (out / "index.html").read_text()
    assert [path.relative_to(out).as_posix() for path in out.rglob("*.map")] == ["runs/log.map"]
    assert found("search") == {"lunr", "workers"}


@pytest.mark.slow
def test_pages_have_no_empty_lines_and_no_indentation_but_where_these_count(tmp_path):
    config, out = tmp_path / "mkdocs.yml", tmp_path / "out"
    config.write_text("site_name: elsewhere\ntheme: material\nplugins: []\n")
    (tmp_path / "docs").mkdir()
    text = "# Home\n\n    def two():\n\n        return 2\n\n<textarea>\n\n  as typed\n</textarea>\n"
    (tmp_path / "docs" / "index.md").write_text(text)
    build_site(SiteRecord("mkdocs"), config, out)
    page = (out / "index.html").read_text()
    code, typed = (
        "<pre><code>def two():\n\n    return 2\n</code></pre>",
        "<textarea>\n\n  as typed\n</textarea>",
    )
    assert code in page and typed in page
    rest = re.sub(r"(?s)<(pre|textarea|script|style)\b.*?</\1>", "kept", page)
    assert [line for line in rest.splitlines() if line != line.lstrip() or not line] == []


@pytest.mark.parametrize(
    ("extension", "apart"),
    [
        ("toc", True),
        ("markdown.extensions.tables", True),
        ("pymdownx.superfences", True),
        ("pymdownx.snippets", False),
        ("mdx_math", False),
        ("markdown_include.include", False),
    ],
)
def test_pages_are_apart_unless_an_extension_may_read_other_files(extension, apart, tmp_path):
    config = SimpleNamespace(
        theme=SimpleNamespace(name="material", custom_dir=str(tmp_path / "theme")),
        hooks={},
        extra_templates=[],
        use_directory_urls=False,
        docs_dir=str(tmp_path),
        plugins={"material/search": None},
        markdown_extensions=["admonition", extension],
    )
    assert part._pages_are_apart(config) is apart


class FakeEngine:
    """As much of mkdocs as orders its work: all pages are populated before the first is written."""

    def __init__(self) -> None:
        self.pages = [SimpleNamespace(file=SimpleNamespace(src_uri=f"{i}.md"), content="") for i in range(9)]
        self.most_held = 0
        self.written: list[str] = []

    def install(self, patch: pytest.MonkeyPatch) -> None:
        modules = {
            "__main__": {"cli": self.cli},
            "plugins": {"event_priority": lambda _: lambda hook: hook, "BasePlugin": object},
            "commands.build": {
                "build": self.build,
                "get_navigation": lambda files, config: SimpleNamespace(pages=self.pages[:2]),
                "_populate_page": self.populate,
                "_build_page": self.write,
            },
            "structure.files": {},
        }
        for name, members in modules.items():
            module = ModuleType(name)
            vars(module).update(members, __name__=f"fake.{name}")
            patch.setitem(sys.modules, f"fake.{name}", module)
        self.commands = sys.modules["fake.commands.build"]
        patch.setattr(part, "_pages_are_apart", lambda config: True)

    def cli(self, arguments: object, prog_name: str) -> None:
        self.commands.build(SimpleNamespace(plugins={}))

    def build(self, config: object) -> None:
        self.commands.get_navigation(self.pages, config)
        for page in self.pages:
            self.commands._populate_page(page, config)
        for page in self.pages:
            self.commands._build_page(page, config)

    def populate(self, page: SimpleNamespace, config: object) -> None:
        page.content = "rendered"
        self.most_held = max(self.most_held, sum(bool(page.content) for page in self.pages[2:]))

    def write(self, page: SimpleNamespace, config: object) -> None:
        assert page.content == "rendered"
        self.written.append(page.file.src_uri)


@pytest.mark.parametrize("listed", ["", "changed.json"])
def test_an_engine_holds_one_page_beside_those_of_the_navigation(
    listed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is asked for changed pages alone, which may be ten thousand."""
    (tmp_path / "changed.json").write_text("[[], []]")
    engine = FakeEngine()
    engine.install(monkeypatch)
    part.main("fake", listed and str(tmp_path / listed), "build")
    assert engine.written == [f"{i}.md" for i in range(9)]
    assert engine.most_held == 1
