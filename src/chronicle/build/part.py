"""Runs a site engine over the changed pages only, as a process: ``python part.py ENGINE LIST build …``.

mkdocs and its forks have the option ``--dirty``, which judges changes by file times, loses titles and search
index of pages that it did not read, and examines every figure. A plug-in that exists only in this process
corrects this, so that the site is the same as after a full build.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import cache_from_source, find_spec
from itertools import groupby
from pathlib import Path
from typing import Any

NEVER, NOT_NOW = 75, 76  # exit codes: this site cannot be made in parts, or not with these changes
_PLUGINS = {"search", "offline", "material/search", "material/offline"}
_STEPS = ("get_navigation", "_populate_page", "_build_page")  # functions that `_one_by_one` replaces
_READ_OTHER_FILES = ("pymdownx.snippets", "pymdownx.b64")


def main(engine: str, listed: str, *arguments: str) -> None:
    """Runs the command of an engine. ``listed`` is a JSON file with the changed files below docs, and all
    files of docs; if it is empty, all pages are rendered."""
    command, plugins = import_module(f"{engine}.__main__"), import_module(f"{engine}.plugins")
    commands: Any = import_module(f"{engine}.commands.build")
    build_pages = commands.build
    if all(hasattr(commands, name) for name in _STEPS):
        build_pages = commands.build = partial(_one_by_one, commands, commands.build)
    if not listed:
        command.cli(arguments, prog_name=engine)
        return
    changed, docs = map(frozenset, json.loads(Path(listed).read_text("utf-8", "surrogateescape")))
    last = plugins.event_priority(-50)  # after the index is written, before it is copied as a script
    own = {"changed": changed, "on_post_build": last(ChangedPages.on_post_build)}

    def build(config: Any, **options: Any) -> None:
        config.plugins["chronicle"] = type("ChangedPages", (ChangedPages, plugins.BasePlugin), own)()
        build_pages(config, **options)

    commands.build = build
    commands.get_files = partial(_pages_of, import_module(f"{engine}.structure.files"), docs)
    # The engine warns of what is corrected here, and a warning would fail a strict build.
    logging.getLogger(commands.__name__).addFilter(lambda record: "dirty" not in record.getMessage())
    command.cli([*arguments, "--dirty"], prog_name=engine)


def _one_by_one(commands: Any, build: Callable[..., None], config: Any, **options: Any) -> None:
    """A build that holds one page in memory at a time, where an engine would hold all of them. The pages of
    the navigation, whose titles are on every page, are rendered first, as always."""
    navigation, populate, write = commands.get_navigation, commands._populate_page, commands._build_page
    listed, left = set[str](), dict[str, Callable[[], None]]()

    def get_navigation(files: Any, config: Any) -> Any:
        nav = navigation(files, config)
        listed.update(page.file.src_uri for page in nav.pages)
        return nav

    def populate_listed(page: Any, *rest: Any) -> None:
        left[page.file.src_uri] = partial(populate, page, *rest)
        if page.file.src_uri in listed:
            left.pop(page.file.src_uri)()

    def populate_and_write(page: Any, *rest: Any, **excluded: bool) -> None:
        if populate_now := left.pop(page.file.src_uri, None):
            populate_now()
        write(page, *rest, **excluded)
        if populate_now:
            page.markdown, page.content, page.toc = None, None, []

    if _pages_are_apart(config):
        commands.get_navigation = get_navigation
        commands._populate_page, commands._build_page = populate_listed, populate_and_write
    build(config, **options)


class ChangedPages:
    """Renders changed pages, the home page (it may show the date), and pages with a title in their text."""

    changed: frozenset[str]

    def on_pre_build(self, *, config: Any) -> None:
        if not _pages_are_apart(config):
            sys.exit(NEVER)
        folder, docs = config.theme.custom_dir, Path(config.docs_dir)
        if folder and any((docs / path).is_relative_to(folder) for path in self.changed):
            sys.exit(NOT_NOW)  # it overrides a part of the theme, which concerns every page
        self.index = Path(config.site_dir) / "search" / "search_index.json"
        self.before = _documents(self.index)

    def on_files(self, files: Any, *, config: Any) -> Any:
        self.files = files
        for file in files:
            file.is_modified = partial(bool, file.src_uri in self.changed and file.is_documentation_page())
        return files

    def on_nav(self, nav: Any, *, config: Any, files: Any) -> None:
        untitled = [page.file for page in nav.pages if page.title is None]
        if any(file.src_uri in self.changed for file in untitled):  # every page shows these titles
            sys.exit(NOT_NOW)
        home = (page.file for page in nav.pages if page.is_homepage)
        missing = (file for file in files.documentation_pages() if file.url == "404.html")
        for file in (*untitled, *home, *missing):  # a theme writes its own 404.html with every build
            file.is_modified = partial(bool, True)
        for file in (file for file in files.documentation_pages() if file.is_modified()):
            Path(file.abs_dest_path).unlink(missing_ok=True)  # it may be hard-linked to the last site

    def on_env(self, env: Any, *, config: Any, files: Any) -> Any:
        """Lets jinja keep the compiled templates of the theme, whose compilation takes a quarter of the time
        of this process. They are kept beside the bytecode of this package, so nobody can write there who
        could not also change the package."""
        import jinja2

        class ByName(jinja2.FileSystemBytecodeCache):  # not by path: all workspaces have the same theme
            def get_cache_key(self, name: str, filename: str | None = None) -> str:
                return super().get_cache_key(name)

        folder = Path(cache_from_source(__file__)).parent
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK) and not sys.dont_write_bytecode:
            env.bytecode_cache = ByName(str(folder), f"jinja2-{jinja2.__version__}-%s.cache")
        return env

    def on_post_build(self, *, config: Any) -> None:
        if self.index.is_file():
            pages = [(file.url, file.is_modified()) for file in self.files.documentation_pages()]
            after, index = _documents(self.index), json.loads(self.index.read_text("utf-8"))
            known = [(after if rendered else self.before).get(url, []) for url, rendered in pages]
            index["docs"] = [document for documents in known for document in documents]
            self.index.write_text(json.dumps(index, separators=(",", ":")), "utf-8")


def _pages_of(files: Any, docs: Collection[str], config: Any) -> Any:
    """The files that the engine knows of build/docs: the pages, in its order, and other files if a link leads
    to them. The rest of the site is already in its place, so the engine has nothing to copy."""

    def known(path: str) -> Any:
        file = files.File(path, config.docs_dir, config.site_dir, config.use_directory_urls)
        files.set_exclusions([file], config)
        return file

    class Pages(files.Files):  # type: ignore[misc]
        def add_files_from_theme(self, env: Any, config: Any) -> None:
            pass

        def get_file_from_path(self, path: str) -> Any:
            page = super().get_file_from_path(path)
            of_theme = (Path(folder, path).is_file() for folder in config.theme.dirs)
            return known(path) if page is None and (path in docs or any(of_theme)) else page

    pages = [known(path) for path in docs if path.endswith(".md")]
    return Pages(sorted(pages, key=files.file_sort_key))


def _documents(index: Path) -> dict[str, list[Any]]:
    documents = json.loads(index.read_text("utf-8"))["docs"] if index.is_file() else []
    return {url: list(same) for url, same in groupby(documents, lambda d: d["location"].partition("#")[0])}


def _pages_are_apart(config: Any) -> bool:
    """Whether a page depends only on its own text, mkdocs.yml, the theme and the installed packages."""
    named = config.theme.name != "material" or config.hooks or config.extra_templates
    names = {name.removeprefix("markdown.extensions.") for name in config.markdown_extensions}
    others = {name for name in names if not name.startswith("pymdownx.")}
    return (
        not (named or config.use_directory_urls)
        and Path(config.theme.custom_dir or config.docs_dir).is_relative_to(config.docs_dir)
        and config.plugins.keys() - {"chronicle"} <= _PLUGINS
        and names.isdisjoint(_READ_OTHER_FILES)
        # One with a dot is of another package; its parent would be looked for in vain.
        and all("." not in name and find_spec(f"markdown.extensions.{name}") for name in others)
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
