"""What a workspace may read: its own folder, and what chronicle.toml allows beside it.

A run.toml, a link and an address may come from a stranger, by a pull request say, and what they lead to is
read, copied and published. So each is followed only within the workspace, to a folder that `allow` names, or
to a store that asks for credentials of its own (`s3://`, `gs://`, `hf://`). What a person names on the
command line is not confined.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from chronicle.errors import ConfigError, UsageError

STORES = ("s3", "s3a", "gs", "gcs", "hf")
_LOCAL = ("file", "local")


@dataclass(frozen=True)
class Confines:
    """Where the logs of a workspace may lie: below ``root``, and where ``allow`` says.

    ``addresses`` and ``links`` are false where nothing of a workspace is trusted: then no address is fetched,
    and no link is followed even within it.
    """

    root: Path
    allow: tuple[str, ...] = ()
    addresses: bool = True
    links: bool = True

    def require_path(self, path: Path, source: str) -> Path:
        """The path with its links resolved. ``source`` is the file that names it, for the message.

        Raises ConfigError: it lies outside.
        """
        resolved = path.resolve()
        allowed = ((self.root / place).expanduser() for place in self.allow if "://" not in place)
        if any(resolved.is_relative_to(folder.resolve()) for folder in (self.root, *allowed)):
            return resolved
        remedy = "add its folder to `allow` of chronicle.toml, or `chronicle add` the log"
        raise ConfigError(source, "", f"leads out of the workspace, to {path.name}. Remedy: {remedy}")

    def require_address(self, address: str, source: str) -> str:
        """The address, if it may be fetched (errors as in `require_path`)."""
        scheme = address.partition("://")[0]
        if scheme in _LOCAL:
            raise ConfigError(source, "paths", f"{address}: write the path itself, without {scheme}://")
        if self.addresses and (scheme in STORES or self.allows(address)):
            return address
        remedy = "add it, or what it begins with, to `allow` of chronicle.toml"
        raise ConfigError(source, "paths", f"{address} may not be fetched. Remedy: {remedy}")

    def allows(self, address: str) -> bool:
        """Whether `allow` names the address, or a folder or host above it.

        A scheme alone (`https://`) names every host that is not one of a private network.
        """
        for place in self.allow:
            within = _parts(address)[: len(_parts(place))] == _parts(place)
            if within and (urlsplit(place).netloc or not is_private(urlsplit(address).hostname or "")):
                return True
        return False

    def require_links(self, folder: Path) -> None:
        """Raises ConfigError for the first link below ``folder`` that may not be followed."""
        for link in links_below(folder):
            name = f"{folder.name}/{link.relative_to(folder)}" if link != folder else folder.name
            if not self.links:
                raise ConfigError(name, "", "is a link, and none is followed in what is not trusted")
            if link.exists():  # what leads nowhere is a log that cannot be read
                self.require_path(link, name)


def links_below(folder: Path) -> Iterator[Path]:
    """Every symbolic link at or below ``folder``, without following any."""
    if folder.is_symlink():
        yield folder
        return
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:  # not to be listed: the readers say so
        return
    for entry in entries:
        if entry.is_symlink():
            yield Path(entry.path)
        elif entry.is_dir():
            yield from links_below(Path(entry.path))


def is_private(host: str) -> bool:
    """Whether a host is, or may be reached as, an address that the public network does not have."""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False  # no such host: nothing is reached
    return any(not ipaddress.ip_address(str(number).partition("%")[0]).is_global for number in addresses)


def may_redirect(origin: str, target: str, confines: Confines | None) -> bool:
    """Whether a server that was asked for ``origin`` may send the fetch on to ``target``.

    Within the same host, or to what the workspace allows; without a workspace, to any public host.
    """
    if urlsplit(target).scheme not in ("http", "https"):
        return False
    if urlsplit(origin).netloc == urlsplit(target).netloc:
        return True
    return confines.allows(target) if confines else not is_private(urlsplit(target).hostname or "")


def require_no_link(root: Path, *folders: Path) -> None:
    """Raises UsageError where one of the folders, or what lies between it and ``root``, is a link.

    A build removes what it does not know from its folders, and must not do so elsewhere.
    """
    for place in (place for folder in folders for place in (folder, *folder.parents)):
        if place != root and place.is_relative_to(root) and place.is_symlink():
            raise UsageError(
                f"{place} is a link, and chronicle removes what it does not know from that folder. "
                "Remedy: put a folder in its place, or name another --out"
            )


def _parts(address: str) -> list[str]:
    """Scheme, host and folders of an address, to compare them one by one."""
    scheme, _, rest = address.partition("://")
    host, *folders = rest.rstrip("/").split("/")
    return [scheme.lower(), *([host.lower(), *folders] if host else [])]
