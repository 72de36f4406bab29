"""What launchers and loggers put before the words of a line: who printed it, and when.

    >>> split("[default3]:[2025-03-31 05:54:07] iteration 50/ 900 |")
    Prefix(text='iteration 50/ 900 |', who='default3', time=1743400447.0)

Clocks are read by `stamps`: without a zone they are taken for UTC, and 10/11/2025 has its month first.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from chronicle.metrics.counters import has_year
from chronicle.readers.console.stamps import stamp

NAN = float("nan")

_STAMP = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}/\d{1,2}/\d{4},?)[ T_,-]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d(?!\d)))?"
)

# What may stand before the words, tried in turn until none fits. The names of groups say what they tell.
_FORMS = (
    rf"\[?{_STAMP}\]?(?: ?[-|:](?!\d))?",
    r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?(?: [-|:])?(?=\s)",  # a clock without its day
    r"\[(?P<who>(?:default|rank ?)\d+)\]:?",  # torchrun
    r"(?P<who>\d{1,6}): (?! *[\d.]+, )",  # srun --label
    r"\[(?P<who>[A-Za-z][\w.-]*)\](?= \d{4}-)",  # ESPnet's host
    r"\[?(?P<who>[A-Za-z][\w.-]*:(?:rank)?\d+)\]?:(?=[\s\[])",  # host and rank
    r"\((?P<who>\w+(?:\([^()]*\))? pid=\d+(?:, ip=[\d.]+)?)\)",  # Ray
    r"\[?(?:INFO|WARNING|WARN|DEBUG|ERROR|CRITICAL|NOTICE)\b"
    r"(?:\|(?P<who>[A-Z]+=\d+(?:\|[A-Z]+=\d+)*)(?:\|[\w.-]+)?)?\]?[:,]?(?: *[-|:](?= ))?",
    r"[\w.]+:[\w<>]+:\d+ - ",  # loguru
    r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\]",  # glog, absl
    r"(?P<who>[\w.-]+(?::\d+)?)\s+[\w.]+:\d+\s+(?=(?:INFO|WARNING|ERROR|DEBUG)\b)",  # OLMo
    r"\([\w.]+:\d+\)(?= [A-Z]+: )",
    r"\[[\w./<>-]+\.py:\d+(?::[\w<>.]+)?\](?: [-|:])?",  # the place in the source
    r"\[(?P<who>Rank \d+)\](?: [-|:])?",  # DeepSpeed
    r"\[(?:deepspeed|deepscale)\]",
    r"root:|(?:root|__main__|titan|\w+(?:\.\w+)+) [-|] ",  # name of a logger
    r"\[(?:titan|root)\]",
    r"(?P<who>[A-Za-z][\w.-]*):(?= \[(?:\d{4}-|[A-Z]{4}|default|rank))",  # pdsh
)
_PREFIX = tuple(re.compile(rf"[\s|-]*(?:{form})\s*", re.ASCII) for form in _FORMS)
_MOST = 8


class Prefix(NamedTuple):
    """A line without its prefixes; who printed it ("" unknown), and Unix seconds (NaN unknown)."""

    text: str
    who: str = ""
    time: float = NAN


def split(line: str) -> Prefix:
    """The line taken apart. A rank and a clock are those that stand first."""
    who, at = "", 0
    for _ in range(_MOST):
        found = next((match for form in _PREFIX if (match := form.match(line, at))), None)
        if found is None or found.end() == at:
            break
        who, at = who or found.groupdict().get("who") or "", found.end()
    return Prefix(line[at:].strip(), who, time_in(line[:at]))


def time_in(line: str) -> float:
    """Unix seconds of the clock that a line begins with; NaN without one, or without its year."""
    time = stamp(line).time
    return time if has_year(time) else NAN
