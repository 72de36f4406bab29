"""Stage 2: what launchers, loggers and kernels write before the words of a line: rank, clock, host, logger.

    >>> split("[default3]:[2025-03-31 05:54:07] iteration 50/ 900 |")
    Prefix(text='iteration 50/ 900 |', who='default3', time=1743400447.0)

A clock without a time zone is taken for UTC, and in 10/11/2025 the month comes first. Syslog and glog write
no year: such a time lies in a placeholder year, and `chronicle.metrics.aliases` moves it next to a known
time.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from chronicle.metrics.aliases import CONSOLE_IN_EPOCH_NAMES, EPOCH_NAMES, STEP_NAMES, UNNAMED_YEAR, has_year

NAN = math.nan

_DATE_AND_TIME = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}/\d{1,2}/\d{4},?|\d\d[./]\d\d[./]\d\d)[ T_,|-]"
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d(?!\d)))?"
)
_COUNTERS = "|".join((*(name for name, _ in STEP_NAMES), *EPOCH_NAMES, *CONSOLE_IN_EPOCH_NAMES))
_LEVEL = r"(?:INFO|WARNING|WARN|DEBUG|ERROR|CRITICAL|NOTICE)"
# What may stand before the words, tried in this order until none fits. A group is who printed the line.
PREFIXES = (
    rf"\[?(?:\[[IWEF] )?{_DATE_AND_TIME}\]?(?: ?[-|:](?!\d))?",  # Optuna has the level in front of it
    r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?(?: [-|:])?(?=\s)",  # a time without its day
    r"\[((?:default|rank ?)\d+)\]:?",  # torchrun
    r"(\d{1,6}): (?! *[\d.]+, )",  # srun --label
    r"\[([A-Za-z][\w.-]*)\](?= \d{4}-)",  # ESPnet's host
    r"\[?([A-Za-z][\w.-]*:(?:rank)?\d+)\]?:(?=[\s\[])",  # host and rank
    r"\((\w+(?:\([^()]*\))? pid=\d+(?:, ip=[\d.]+)?)\)",  # Ray
    rf"\[?{_LEVEL}\b(?:\|([A-Z]+=\d+(?:\|[A-Z]+=\d+)*)(?:\|[\w.-]+)?)?\]?"
    r"(?::\w[\w.]*(?=:[^\s\d]))?[:,]?(?: *[-|:](?= ))?",  # INFO:root:, of Python
    rf"(?!(?i:{_COUNTERS}):)[\w.]+:(?:[\w<>]+:)?\d+ - ",  # loguru; but `step:12 - loss:2.5` is a record
    r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\]",  # glog, absl
    r"([\w.-]+(?::\d+)?)\s+[\w.]+:\d+\s+(?=(?:INFO|WARNING|ERROR|DEBUG)\b)",  # OLMo
    r"\([\w.]+:\d+\)(?= [A-Z]+: )",
    r"\[?[\w./<>-]+\.py:(?:[\w<>]+:)?\d+(?::[\w<>.]+)?(?:\](?: [-|:])?| \|)",  # the place in the source
    r"\[(Rank \d+)\](?: [-|:])?",  # DeepSpeed
    rf"(?:root|__main__|titan|\w+(?:\.\w+)+) [-|] |\w[\w.]*(?:\s+| [-|] )(?={_LEVEL}\b)",  # name of a logger
    rf"\[(?:titan|root|deepspeed|deepscale|[\w.]+(?=\]\[{_LEVEL}\]))\]",  # Hydra's stands before the level
    r"([A-Za-z][\w.-]*):(?= \[(?:\d{4}-|[A-Z]{4}|default|rank))",  # pdsh
)
_PREFIX = re.compile(rf"[\s|-]*(?:{'|'.join(PREFIXES)})\s*", re.ASCII)
_MOST_PREFIXES = 8


class Prefix(NamedTuple):
    """A line without its prefixes, who printed it ("" unknown), and Unix seconds (NaN unknown)."""

    text: str
    who: str = ""
    time: float = NAN


def split(line: str) -> Prefix:
    """The line taken apart; who printed it is the first rank or host in its prefixes."""
    who, start = words_start(line)
    return Prefix(line[start:].strip(), who, time_in(line[:start]))


def words_start(line: str) -> tuple[str, int]:
    """Who printed a line ("" unknown), and where its words begin."""
    who, at = "", 0
    for _ in range(_MOST_PREFIXES):
        match = _PREFIX.match(line, at)
        if match is None or match.end() == at:
            break
        who, at = who or (match[match.lastindex] if match.lastindex else ""), match.end()
    return who, at


# --- clocks ---

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_HEAD = 120  # characters at the start of a line that may hold its clock

_TIME = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
_ISO = re.compile(
    rf"(?<![\d-])(?P<Y>\d{{4}})[-/](?P<M>\d\d)[-/](?P<D>\d\d)[T, ]{_TIME} ?(?P<z>Z|UTC|[+-]\d\d:?\d\d\b)?"
)
_CLOCKS = (
    _ISO,
    re.compile(r"\[(?:[A-Z][a-z]{2} )?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _TIME + r" (?P<Y>\d{4})\]"),
    re.compile(r"^(?:<\d+>)?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _TIME + r"\s+(?P<host>\S+) "),  # syslog
    re.compile(r"(?<![\w.])[EWIF](?P<M>\d{1,2})(?P<D>\d\d) " + _TIME),  # glog
    re.compile(r"(?<![\d/])(?P<M>\d{1,2})/(?P<D>\d{1,2})/(?P<Y>\d{4}),? " + _TIME),
)
_SINCE_BOOT = re.compile(r"^(?:<\d+>)?\[\s*(?P<boot>\d{1,10}\.\d{3,9})\](?:\[\s*[TC]\d+\])? ")
SYSTEM_CLOCK = re.compile(r"\[\s*(\d{1,10}\.\d+)\].* setting system clock to .*\((\d{9,10})\)")
_HOSTS = (
    re.compile(r"^\S{15,40} (?P<host>[\w.-]+) [\w./-]+(?:\[\d+\])?: "),  # journalctl -o short-iso
    re.compile(r"^\[(?P<host>[A-Za-z][\w.-]*):\d+\]"),  # [host:rank]:
    re.compile(r"^(?P<host>[A-Za-z][\w.-]*):\d+:\d+ \[\d+\] NCCL "),
    re.compile(r"^(?P<host>[A-Za-z][\w.-]*\d[\w.-]*): (?=\[|NVRM|slurmstepd|kernel|E\d{3,4} )"),  # pdsh
)


class Stamp(NamedTuple):
    """Unix seconds (NaN without a clock) and host ("" if none is named) of a line. ``since_boot`` is the
    kernel's own clock in seconds, NaN where the line has none."""

    time: float = NAN
    host: str = ""
    since_boot: float = NAN


def stamp(line: str) -> Stamp:
    """The stamp of a line of a system log; a time without its year stays in the placeholder year."""
    start = line[:_HEAD]
    boot, clock = _SINCE_BOOT.match(start), _clock(start)
    host = clock.groupdict().get("host") if clock else ""
    host = host or next((match["host"] for form in _HOSTS if (match := form.match(start))), "")
    return Stamp(_seconds(clock), host, float(boot["boot"]) if boot else NAN)


def time_in(line: str) -> float:
    """Unix seconds of the clock at the start of a line; NaN without one, or if it has no year."""
    time = _seconds(_clock(line[:_HEAD])) if line else NAN
    return time if has_year(time) else NAN


def moment(text: str) -> float:
    """Unix seconds of an ISO 8601 time anywhere in a text, NaN without one."""
    return _seconds(_ISO.search(text))


def _clock(start: str) -> re.Match[str] | None:
    if _SINCE_BOOT.match(start):
        return None
    return next((match for form in _CLOCKS if (match := form.search(start))), None)


def _seconds(clock: re.Match[str] | None) -> float:
    if clock is None:
        return NAN
    groups = clock.groupdict()
    month = int(groups.get("M") or 0) or _MONTHS.find((groups.get("b") or "?").lower()) // 4 + 1
    day = int(groups["D"] or 0)
    if groups.get("z") is None and month > 12:  # the day comes first
        month, day = day, month
    year, seconds = int(groups.get("Y") or UNNAMED_YEAR), int(groups["s"] or 0)
    minute = _minute(year, month, day, int(groups["h"] or 0), int(groups["m"] or 0))
    if seconds > 59 or minute is None:
        return NAN
    return minute + seconds + float(f"0.{groups.get('f') or 0}") - _offset_s(groups.get("z") or "")


@lru_cache(maxsize=4096)
def _minute(*parts: int) -> float | None:
    """Unix seconds at which a minute begins; None where there is no such minute."""
    try:
        return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[misc, arg-type]
    except ValueError:
        return None


@lru_cache(maxsize=256)
def _offset_s(zone: str) -> float:
    match = re.fullmatch(r"([+-])(\d\d):?(\d\d)", zone)
    offset_s = 3600.0 * int(match[2]) + 60.0 * int(match[3]) if match else 0.0
    return -offset_s if match and match[1] == "-" else offset_s
