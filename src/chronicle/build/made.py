"""What a site was made of, and what it holds: by this a build makes only what has changed since.

A file is known by its size and time, as a build left it. Whatever does not fit together (another mkdocs.yml
or engine, a page that somebody edited in the site, a build that was killed) makes the whole site anew.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from chronicle.build.engines import (
    ENGINES,
    LISTED,
    NotInParts,
    Stamps,
    build_site,
    files_below,
    remove_file,
    share,
    stamps,
    write_bytes,
)
from chronicle.build.site import clear, lacking, put_in_place
from chronicle.build.store import code_sha256
from chronicle.workspace.locks import remove

MEMORY = "build/made.json"
_RENDERERS = (
    "mkdocs",
    "properdocs",
    "mkdocs-material",
    "markdown",
    "pymdown-extensions",
    "jinja2",
    "pygments",
)


class SiteRecord(NamedTuple):
    """The last site: engine, title, a ``key`` of all it is rendered with, the time it speaks of, and files.

    ``in_parts`` says whether the engine can be asked for single pages of it (None: nobody has tried), and
    ``parts`` what each page of build/docs was rendered from, where that is known.
    """

    engine: str = ""
    title: str = ""
    strict: bool = False
    epoch: int = 0
    key: str = ""
    in_parts: bool | None = None
    docs: Stamps = {}
    site: Stamps = {}
    parts: Mapping[str, str] = {}


def last_record(root: Path) -> SiteRecord:
    """What is known of the last site; nothing where there is none, or nothing that can be used."""
    try:
        record = SiteRecord(*json.loads((root / MEMORY).read_bytes()))
        rows = [*record.docs.items(), *record.site.items()]
        right = all(
            isinstance(row, list) and path[0] != "/" and ".." not in path.split("/") for path, row in rows
        )
        return record if right and isinstance(record.parts, dict) else SiteRecord()
    except (OSError, ValueError, TypeError, AttributeError, IndexError):
        return SiteRecord()


def make_site(root: Path, out: Path, before: SiteRecord, now: SiteRecord) -> str:
    """Makes the site of build/docs, as far as that is not as ``before``; returns what the engine printed.

    ``now`` says by which engine, of what time and of which files. The site appears at ``out`` in one step.
    Errors are those of `chronicle.build.build`.
    """
    names = "build/next", "build/docs", MEMORY, "mkdocs.yml"
    new_site, docs, memory, config = (root / name for name in names)
    clear(new_site, out)
    new_site.with_name(LISTED).unlink(missing_ok=True)  # of a build that was killed
    # All that every page is rendered with: mkdocs.yml, the engine, its packages, our own source.
    versions = {d.name: d.version for name in _RENDERERS for d in metadata.distributions(name=name)}
    ours = now.engine, now.title, now.strict, code_sha256(), config.read_bytes()
    now = now._replace(key=hashlib.sha256(repr((ours, sys.version, versions)).encode()).hexdigest())
    changed = _changed(before.docs, now.docs, docs)
    same = before.key == now.key and before.site == stamps(out)
    if same and before.in_parts and not changed and before.epoch == now.epoch:
        return ""
    site = partial(
        build_site, now.engine, config, new_site, title=now.title, strict=now.strict, epoch=now.epoch
    )
    in_parts, printed = before.in_parts if before.key == now.key else None, None
    if not ENGINES[now.engine].in_parts:
        in_parts = False
    if same and in_parts is not False:
        _carry_over(before, changed, out, new_site)
        try:
            printed, in_parts = site(changed=changed, docs=now.docs), True
            for path in changed & now.docs.keys():
                if not path.endswith(".md"):  # no page, and therefore the same in a site
                    (new_site / path).parent.mkdir(parents=True, exist_ok=True)
                    share(docs / path, new_site / path)
        except NotInParts as err:
            in_parts = False if err.args[0] else None
    if printed is None:
        remove(new_site)
        printed = site()
    now = now._replace(site=stamps(new_site), in_parts=in_parts)
    memory.unlink(missing_ok=True)  # until the new one is in its place nothing is known
    put_in_place(new_site, out, lacking(now.site, now.docs))
    write_bytes(memory, json.dumps(now, separators=(",", ":")).encode("utf-8", "surrogateescape"))
    return printed


def _changed(before: Stamps, now: Stamps, docs: Path) -> set[str]:
    """Files of ``docs`` that are not as they were, gone ones too, and pages that name what came or went."""
    came_or_went = {path for path in now.keys() ^ before.keys() if path.endswith(".md")}
    changed = {path for path in now.keys() | before.keys() if now.get(path) != before.get(path)}
    others = now.keys() - changed if came_or_went else ()
    for path in (path for path in others if path.endswith(".md") and not path.startswith("runs/")):
        text = (docs / path).read_text("utf-8")
        changed |= {path for page in came_or_went if page in text}
    return changed


def _carry_over(before: SiteRecord, changed: Iterable[str], out: Path, new_site: Path) -> None:
    """Makes ``new_site`` hold what did not change of the site ``out``, and nothing else.

    Pages and figures become one file with those of ``out``: nobody writes them. What an engine writes anew
    with every build (its index, its map of the site) is copied. What ``new_site`` was before is the site
    before ``out``, which has nearly all of its files: those are left, so that a site of any size takes few
    changes.
    """
    again = {*map(_page_of, changed)}
    standing = {*map(_page_of, before.docs)} - again
    files = (files_below(str(folder)) for folder in (new_site, out))
    there, here = ({path: file.inode() for path, file in below} for below in files)
    for path in there.keys() - (standing & here.keys()):
        remove_file(new_site, path)
    for path in before.site.keys() - again:
        source, target = out / path, new_site / path
        if path not in standing or there.get(path) != here.get(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            (share if path in standing else shutil.copy2)(source, target)


def _page_of(path: str) -> str:
    """What an engine makes of a file of build/docs: a page of one of Markdown, the same of any other."""
    return f"{path[:-3]}.html" if path.endswith(".md") else path
