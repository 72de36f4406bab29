"""Logs that lie behind an address (`s3://bucket/run`), and the folder of this machine that mirrors it.

Names go both ways: all that is read is read from the mirror, and told under its address. What is fetched, and
when, is the matter of `chronicle.readers.remote`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

CACHE = "CHRONICLE_CACHE"  # environment variable: where mirrors are kept
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://(.*)", re.DOTALL)
_UNSAFE = re.compile(r"[%\\\x00-\x1f\x7f]|^\.{1,2}$|^$")


def is_address(text: str) -> bool:
    """Whether a text is an address and not a path."""
    return bool(_ADDRESS.fullmatch(text))


def cache() -> Path:
    """The folder that mirrors are kept in."""
    standard = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "chronicle"
    return Path(os.environ.get(CACHE) or standard).resolve()


def mirror_of(address: str) -> Path:
    """Where what lies behind an address is kept: below `cache`, whatever the address says."""
    found = _ADDRESS.fullmatch(address)
    if not found:
        raise ValueError(f"{address!r} is no address")
    return cache() / "mirror" / found[1] / spelled(found[2].rstrip("/"))


def spelled(name: str) -> Path:
    """The name of an object as a relative path that leads nowhere else: `..` and the like are spelled out."""
    return Path(*(_UNSAFE.sub(_quoted, part) for part in name.split("/")))


def _quoted(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode()) or "%"


def address_of(path: Path) -> str:
    """The address that a path mirrors; "" for any other path."""
    root = cache() / "mirror"
    if not path.is_relative_to(root):
        return ""
    scheme, *parts = path.relative_to(root).parts or ("",)
    return f"{scheme}://" + "/".join("" if part == "%" else unquote(part) for part in parts)


def shown(path: Path) -> str:
    """How a path is told to people: by its address where it has one."""
    return address_of(path) or str(path)


_PACKAGE = Path(__file__).resolve().parent.parent


def shipped(name: str) -> Path:
    """The shipped file or folder ``name``: inside the wheel, or at the top level of a checkout."""
    packed = _PACKAGE / "shipped" / name
    return packed if packed.exists() else _PACKAGE.parent.parent / name
