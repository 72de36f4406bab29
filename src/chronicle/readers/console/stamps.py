"""When and where a line was written: the clock and host that kernel, job and framework logs begin with.

A time without a zone is taken as UTC. Syslog and glog write no year: such a time is given as seconds of an
unnamed year, and `chronicle.metrics.counters` moves it next to a time that is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from chronicle.metrics.counters import UNNAMED_YEAR

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_HEAD = 120  # characters at the start of a line that may hold its clock

_CLOCK = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
_ISO = re.compile(
    r"(?<![\d-])(?P<Y>\d{4})[-/](?P<M>\d\d)[-/](?P<D>\d\d)[T, ]"
    + _CLOCK
    + r" ?(?P<z>Z|UTC|[+-]\d\d:?\d\d\b)?"
)
_KERNEL = re.compile(
    r"\[(?:[A-Z][a-z]{2} )?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _CLOCK + r" (?P<Y>\d{4})\]"
)
_SYSLOG = re.compile(r"^(?:<\d+>)?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _CLOCK + r"\s+(?P<host>\S+) ")
_GLOG = re.compile(r"(?<![\w.])[EWIF](?P<M>\d{1,2})(?P<D>\d\d) " + _CLOCK)
_AMERICAN = re.compile(r"(?<![\d/])(?P<M>\d{1,2})/(?P<D>\d{1,2})/(?P<Y>\d{4}),? " + _CLOCK)
_SINCE_BOOT = re.compile(r"^(?:<\d+>)?\[\s*(?P<boot>\d{1,10}\.\d{3,9})\](?:\[\s*[TC]\d+\])? ")
_FORMS = (_ISO, _KERNEL, _SYSLOG, _GLOG, _AMERICAN)

_SYSTEM_CLOCK = re.compile(r"\[\s*(\d{1,10}\.\d+)\].* setting system clock to .*\((\d{9,10})\)")
_HOSTS = (
    re.compile(r"^\S{15,40} (?P<host>[\w.-]+) [\w./-]+(?:\[\d+\])?: "),  # journalctl -o short-iso
    re.compile(r"^\[(?P<host>[A-Za-z][\w.-]*):\d+\]"),  # [host:rank]:
    re.compile(r"^(?P<host>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL "),
    re.compile(
        r"^(?P<host>[A-Za-z][\w.-]*\d[\w.-]*): (?=\[|NVRM|slurmstepd|kernel|E\d{3,4} )"
    ),  # pdsh, clush
)


@dataclass(frozen=True)
class Stamp:
    """Unix seconds (NaN without a clock) and host ("" if none is named) of a line.

    ``since_boot`` is the kernel's own clock in seconds, NaN where the line has none.
    """

    time: float = math.nan
    host: str = ""
    since_boot: float = math.nan


def stamp(line: str) -> Stamp:
    """The stamp of a line; only its first 120 characters are looked at."""
    start = line[:_HEAD]
    boot = _SINCE_BOOT.match(start)
    found = None if boot else next((m for form in _FORMS if (m := form.search(start))), None)
    groups = found.groupdict() if found else {}
    host = groups.get("host") or next((m["host"] for form in _HOSTS if (m := form.match(start))), "")
    return Stamp(_seconds(groups), host, float(boot["boot"]) if boot else math.nan)


def moment(text: str) -> float:
    """Unix seconds of an ISO 8601 time somewhere in a text, NaN without one."""
    found = _ISO.search(text)
    return _seconds(found.groupdict()) if found else math.nan


def boot_time(line: str) -> float:
    """When the kernel booted, from its line about setting the system clock; NaN for every other line."""
    found = _SYSTEM_CLOCK.search(line[:300])
    return float(found[2]) - float(found[1]) if found else math.nan


def _seconds(groups: Mapping[str, str | None]) -> float:
    if not groups:
        return math.nan
    month = int(groups.get("M") or 0) or _MONTHS.find((groups.get("b") or "?").lower()) // 4 + 1
    day = int(groups["D"] or 0)
    if groups.get("z") is None and month > 12:  # day before month
        month, day = day, month
    year = int(groups.get("Y") or UNNAMED_YEAR)
    try:
        hours, minutes, seconds = (int(groups[part] or 0) for part in "hms")
        at = datetime(year, month, day, hours, minutes, seconds, tzinfo=UTC)
    except ValueError:
        return math.nan
    fraction = float(f"0.{groups.get('f') or 0}")
    return at.timestamp() + fraction - _offset(groups.get("z") or "").total_seconds()


def _offset(zone: str) -> timedelta:
    digits = zone.lstrip("+-").replace(":", "")
    if not digits.isdecimal():
        return timedelta(0)
    east = timedelta(hours=int(digits[:2]), minutes=int(digits[2:] or 0))
    return -east if zone.startswith("-") else east
