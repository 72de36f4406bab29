"""What launchers and loggers put before the words of a line: who printed it, on which host, and when.

    >>> split("[default3]:[2025-03-31 05:54:07] iteration 50/ 900 |")
    Prefix(text='iteration 50/ 900 |', who='default3', time=1743400447.0)

A clock without a zone is taken for UTC, and 10/11/2025 has its month first. Syslog and glog write no year:
such a time is given as seconds of an unnamed year, which `chronicle.metrics.counters` moves next to a
time that is known.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from chronicle.metrics.counters import UNNAMED_YEAR, has_year

NAN = math.nan

_STAMP = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}/\d{1,2}/\d{4},?)[ T_,-]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d(?!\d)))?"
)

_LEVEL = r"(?:INFO|WARNING|WARN|DEBUG|ERROR|CRITICAL|NOTICE)"
# What may stand before the words, tried in turn until none fits. A group is who printed the line.
_FORMS = (
    rf"\[?{_STAMP}\]?(?: ?[-|:](?!\d))?",
    r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?(?: [-|:])?(?=\s)",  # a clock without its day
    r"\[((?:default|rank ?)\d+)\]:?",  # torchrun
    r"(\d{1,6}): (?! *[\d.]+, )",  # srun --label
    r"\[([A-Za-z][\w.-]*)\](?= \d{4}-)",  # ESPnet's host
    r"\[?([A-Za-z][\w.-]*:(?:rank)?\d+)\]?:(?=[\s\[])",  # host and rank
    r"\((\w+(?:\([^()]*\))? pid=\d+(?:, ip=[\d.]+)?)\)",  # Ray
    rf"\[?{_LEVEL}\b(?:\|([A-Z]+=\d+(?:\|[A-Z]+=\d+)*)(?:\|[\w.-]+)?)?\]?"
    r"(?::\w[\w.]*(?=:[^\s\d]))?[:,]?(?: *[-|:](?= ))?",  # INFO:root:, of Python
    r"[\w.]+:[\w<>]+:\d+ - ",  # loguru
    r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\]",  # glog, absl
    r"([\w.-]+(?::\d+)?)\s+[\w.]+:\d+\s+(?=(?:INFO|WARNING|ERROR|DEBUG)\b)",  # OLMo
    r"\([\w.]+:\d+\)(?= [A-Z]+: )",
    r"\[?[\w./<>-]+\.py:(?:[\w<>]+:)?\d+(?::[\w<>.]+)?(?:\](?: [-|:])?| \|)",  # the place in the source
    r"\[(Rank \d+)\](?: [-|:])?",  # DeepSpeed
    rf"(?:root|__main__|titan|\w+(?:\.\w+)+) [-|] |\w[\w.]*(?:\s+| [-|] )(?={_LEVEL}\b)",  # name of a logger
    r"\[(?:titan|root|deepspeed|deepscale)\]",
    r"([A-Za-z][\w.-]*):(?= \[(?:\d{4}-|[A-Z]{4}|default|rank))",  # pdsh
)
_PREFIX = re.compile(rf"[\s|-]*(?:{'|'.join(_FORMS)})\s*", re.ASCII)
_MOST = 8


class Prefix(NamedTuple):
    """A line without its prefixes; who printed it ("" unknown), and Unix seconds (NaN unknown)."""

    text: str
    who: str = ""
    time: float = NAN


def split(line: str) -> Prefix:
    """The line taken apart. A rank and a clock are those that stand first."""
    who, at = begin(line)
    return Prefix(line[at:].strip(), who, time_in(line[:at]))


def begin(line: str) -> tuple[str, int]:
    """Who printed a line ("" unknown), and where its words begin."""
    who, at = "", 0
    for _ in range(_MOST):
        match = _PREFIX.match(line, at)
        if match is None or match.end() == at:
            break
        who, at = who or (match[match.lastindex] if match.lastindex else ""), match.end()
    return who, at


def time_in(line: str) -> float:
    """Unix seconds of the clock that a line begins with; NaN without one, or without its year."""
    time = _seconds(_clock(line[:_HEAD])) if line else NAN
    return time if has_year(time) else NAN


def _clock(start: str) -> re.Match[str] | None:
    if _SINCE_BOOT.match(start):
        return None
    return next((match for form in _CLOCKS if (match := form.search(start))), None)


def seconds_in(line: str) -> tuple[int, ...] | None:
    """Where the seconds of the clock that `time_in` reads stand, and their fraction.

    () where there is no clock, None for one of another zone than UTC, or without its year.
    """
    match = _clock(line[:_HEAD])
    if match is None:
        return ()
    if not math.isfinite(time_in(line)) or (match.groupdict().get("z") or "Z") not in ("Z", "UTC"):
        return None
    last = match.end("s")
    return (*match.span("s"), *(match.span("f") if match["f"] else (last, last)))


_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_HEAD = 120  # characters at the start of a line that may hold its clock

_CLOCK = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
_ISO = re.compile(
    rf"(?<![\d-])(?P<Y>\d{{4}})[-/](?P<M>\d\d)[-/](?P<D>\d\d)[T, ]{_CLOCK} ?(?P<z>Z|UTC|[+-]\d\d:?\d\d\b)?"
)
_KERNEL = re.compile(
    r"\[(?:[A-Z][a-z]{2} )?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _CLOCK + r" (?P<Y>\d{4})\]"
)
_SYSLOG = re.compile(r"^(?:<\d+>)?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _CLOCK + r"\s+(?P<host>\S+) ")
_GLOG = re.compile(r"(?<![\w.])[EWIF](?P<M>\d{1,2})(?P<D>\d\d) " + _CLOCK)
_AMERICAN = re.compile(r"(?<![\d/])(?P<M>\d{1,2})/(?P<D>\d{1,2})/(?P<Y>\d{4}),? " + _CLOCK)
_SINCE_BOOT = re.compile(r"^(?:<\d+>)?\[\s*(?P<boot>\d{1,10}\.\d{3,9})\](?:\[\s*[TC]\d+\])? ")
_CLOCKS = (_ISO, _KERNEL, _SYSLOG, _GLOG, _AMERICAN)

_SYSTEM_CLOCK = re.compile(r"\[\s*(\d{1,10}\.\d+)\].* setting system clock to .*\((\d{9,10})\)")
_HOSTS = (
    re.compile(r"^\S{15,40} (?P<host>[\w.-]+) [\w./-]+(?:\[\d+\])?: "),  # journalctl -o short-iso
    re.compile(r"^\[(?P<host>[A-Za-z][\w.-]*):\d+\]"),  # [host:rank]:
    re.compile(r"^(?P<host>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL "),
    re.compile(r"^(?P<host>[A-Za-z][\w.-]*\d[\w.-]*): (?=\[|NVRM|slurmstepd|kernel|E\d{3,4} )"),  # pdsh
)


class Stamp(NamedTuple):
    """Unix seconds (NaN without a clock) and host ("" if none is named) of a line.

    ``since_boot`` is the kernel's own clock in seconds, NaN where the line has none.
    """

    time: float = math.nan
    host: str = ""
    since_boot: float = math.nan


def stamp(line: str) -> Stamp:
    """The stamp of a line; only its first 120 characters are looked at."""
    start = line[:_HEAD]
    boot, match = _SINCE_BOOT.match(start), _clock(start)
    host = match.groupdict().get("host") if match else ""
    host = host or next((m["host"] for form in _HOSTS if (m := form.match(start))), "")
    return Stamp(_seconds(match), host, float(boot["boot"]) if boot else math.nan)


def moment(text: str) -> float:
    """Unix seconds of an ISO 8601 time somewhere in a text, NaN without one."""
    return _seconds(_ISO.search(text))


def boot_time(line: str) -> float:
    """When the kernel booted, from its line about setting the system clock; NaN for every other line."""
    match = _SYSTEM_CLOCK.search(line[:300])
    return float(match[2]) - float(match[1]) if match else math.nan


def _seconds(match: re.Match[str] | None) -> float:
    if match is None:
        return math.nan
    groups = match.groupdict()
    month = int(groups.get("M") or 0) or _MONTHS.find((groups.get("b") or "?").lower()) // 4 + 1
    day = int(groups["D"] or 0)
    if groups.get("z") is None and month > 12:  # day before month
        month, day = day, month
    year, seconds = int(groups.get("Y") or UNNAMED_YEAR), int(groups["s"] or 0)
    minute = _minute(year, month, day, int(groups["h"] or 0), int(groups["m"] or 0))
    if seconds > 59 or minute is None:
        return math.nan
    return minute + seconds + float(f"0.{groups.get('f') or 0}") - _offset(groups.get("z") or "")


@lru_cache(maxsize=4096)
def _minute(*parts: int) -> float | None:
    """Unix seconds at which a minute begins; None where there is no such minute."""
    try:
        return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _offset(zone: str) -> float:
    """By how many seconds a zone is ahead of UTC, as +05:30 or +0530."""
    match = re.fullmatch(r"([+-])(\d\d):?(\d\d)", zone)
    offset_s = 3600.0 * int(match[2]) + 60.0 * int(match[3]) if match else 0.0
    return -offset_s if match and match[1] == "-" else offset_s
