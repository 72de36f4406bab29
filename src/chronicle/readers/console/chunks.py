"""A text log as chunks of whole lines, in memory that does not grow with the file or with its lines.

What terminals and operating systems leave in a log is taken out here, once: byte order marks, UTF-16,
``\r\n``, colours (ANSI escapes). A progress bar that redraws itself with ``\r`` becomes lines; line
numbers stay those that an editor shows. `sample` is what a format is known by, and `split` takes off what
launchers and loggers put before the words of a line:

    >>> split("[default3]:[2025-03-31 05:54:07] iteration 50/ 900 |")
    Prefix(text='iteration 50/ 900 |', who='default3', time=1743400447.0)

A clock without a zone is taken for UTC, and 10/11/2025 has its month first. Syslog and glog write no year:
such a time is one of an unnamed year, which `chronicle.metrics.aliases` moves next to a time that is known.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from chronicle.metrics.aliases import UNNAMED_YEAR, has_year
from chronicle.readers.read_on import Mark, Source, opened
from chronicle.readers.text import HEAD_BYTES, Head, encoding_of

CHUNK_BYTES = 1 << 21
MAX_LINE_BYTES = 1 << 20

_LINE_END = re.compile(rb"[\r\n]")
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_MOVE = re.compile(rb"\x1b\[\d*[ABEF](?=[^\r\n])")  # of the cursor to another line, by bars of several lines


@dataclass(frozen=True, eq=False)
class Chunk:
    """Lines of a log that follow each other. ``data`` is UTF-8, parted by ``\\n`` without one at the end;
    ``numbers`` count the lines of the file from 1, up to before ``following``. ``unfinished``: the last line
    has no end yet; ``cut``: lines that were too long and lost their end. ``mark`` is its end, if a whole
    block was read: however the file grows, the blocks from there on are the same."""

    data: bytes
    numbers: Sequence[int]
    unfinished: bool = False
    cut: int = 0
    following: int = 0
    mark: Mark = Mark()

    @property
    def lines(self) -> list[bytes]:
        return self.data.split(b"\n")


def chunks(path: Path, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The file from its start to its end as it is now. Raises OSError."""
    with opened(path, "") as source:
        yield from chunks_from(source, 1, size)


def chunks_from(source: Source, first: int, size: int) -> Iterator[Chunk]:
    """The file from the line ``first`` on, at which it was left. Raises OSError."""
    rest, cut, dropping = b"", 0, False
    for block in _utf8(source, size):
        if dropping:
            line_end = _LINE_END.search(block)
            if line_end is None:
                continue
            block, dropping = block[line_end.start() :], False
        data = rest + block
        end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
        if end:
            chunk = _chunk(data[:end], first, cut)
            left, at = len(data) - end, source.tell()
            is_mark = at % size == 0 and source.mark.offset == at - left and left <= MAX_LINE_BYTES
            first, cut = chunk.numbers[-1] + (data[end - 1 : end] == b"\n"), 0
            yield replace(chunk, following=first, mark=source.mark if is_mark else Mark())
        rest = data[end:]
        if len(rest) > MAX_LINE_BYTES:  # so long a line keeps its start; what follows of it is dropped
            rest, cut, dropping = rest[:MAX_LINE_BYTES], 1, True
    if rest:
        yield _chunk(rest, first, cut, last=True)


def _utf8(source: Source, size: int) -> Iterator[bytes]:
    """The file in blocks that end at multiples of ``size``, the first after that of the line left at."""
    begun = source.tell()
    first = source.file.read((-(-begun // size) + 1) * size - begun)
    blocks = chain([first], iter(lambda: source.file.read(size), b""))
    if not begun and (encoding := encoding_of(first[:HEAD_BYTES])) != "utf-8-sig":  # and is read anew
        decode = codecs.getincrementaldecoder(encoding)("replace").decode
        yield from (decode(block).encode("utf-8", "replace") for block in blocks)
        return
    mark = b"" if begun else codecs.BOM_UTF8
    for block in blocks:
        source.passed(block, max(block.rfind(b"\n"), block.rfind(b"\r", 0, len(block) - 1)) + 1)
        yield block.removeprefix(mark)
        mark = b""


def plain(data: bytes) -> bytes:
    """The text without colours, every line end as ``\\n`` or a lone ``\\r``."""
    if b"\x1b" in data:
        data = _ESCAPE.sub(b"", _MOVE.sub(b"\r", data))
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _chunk(data: bytes, first: int, cut: int, *, last: bool = False) -> Chunk:
    data = plain(data)
    unfinished = last and not data.endswith(b"\n")  # after a lone "\r" an empty line waits for its text
    data = data if unfinished else data[:-1]
    if b"\r" not in data:
        return Chunk(data, range(first, first + data.count(b"\n") + 1), unfinished, cut)
    ends = re.findall(rb"[\r\n]", data)
    numbers = list(accumulate((end == b"\n" for end in ends), initial=first))
    return Chunk(data.replace(b"\r", b"\n"), numbers, unfinished, cut)


SAMPLE_BYTES, PIECE_BYTES, N_PIECES = 1 << 20, 1 << 16, 4
_DATA = re.compile(r"\.(jsonl?|ndjson|[ct]sv)", re.IGNORECASE)  # has readers of its own, also where it is cut

_NUMBERS = tuple(map(re.compile, (rb"nan\b(?<!\w...)", rb"inf\b(?<!\w...)", rb"\d[\d.,]*(?:[eE][-+]?\d+)?")))
_SIGNS_AND_BLANKS = b"-+ \t\r\v\f"
_FEWEST, _LONGEST = 4, 1000  # lines of one shape; characters of a line that tell its shape
_ENDS_BYTES = 1 << 13  # at each end of a document or a program, by which it is known
_AS_ZEROS = bytes.maketrans(b"123456789", b"000000000")


@lru_cache(maxsize=256)
def may_be_log(head: Head) -> bool:
    """Whether its name is no document's and no program's, or its lines say otherwise. Raises OSError."""
    return _is_all_records(sample(head)) if head.is_of_words else not _DATA.fullmatch(head.path.suffix)


def _is_all_records(text: bytes) -> bool:
    """Whether more lines come again and again with other numbers than stand alone."""
    if len(text) > 2 * _ENDS_BYTES:
        text = text[:_ENDS_BYTES] + text[-_ENDS_BYTES:]
    # Of a program most lines have no number, and stand alone: no more need be known of it.
    words = text.count(b"nan") + text.count(b"inf")  # each of which may be a number
    lines = Counter(filter(None, text.translate(_AS_ZEROS, _SIGNS_AND_BLANKS).split(b"\n")))
    numbered = alone = 0
    for line, n in lines.items():
        if b"0" in line:
            numbered += n
        elif n < _FEWEST:
            alone += n
    if numbered + 2 * words <= alone:
        return False
    begins = b"\n".join([line[:_LONGEST] for line in text.split(b"\n")])
    for number in _NUMBERS:
        begins = number.sub(b"0", begins)
    shapes = Counter(filter(None, begins.translate(None, _SIGNS_AND_BLANKS).split(b"\n")))
    records = sum(n for shape, n in shapes.items() if n >= _FEWEST and b"0" in shape)
    return records > sum(n for n in shapes.values() if n < _FEWEST)


@lru_cache(maxsize=1)
def sample(head: Head) -> bytes:
    """What a format is known by, without what `plain` takes out; empty where the file is no text. It is the
    first MB of a text and pieces of the rest, for a record may come late. All formats are asked of one file
    in turn: its sample is kept till the next. Raises OSError."""
    start, encoding = head.start, encoding_of(head.start)
    if not head.is_clean:
        return b""
    parts = [start]
    if head.size >= HEAD_BYTES:
        with head.path.open("rb") as file:
            parts = [file.read(SAMPLE_BYTES)]
            beyond = max(head.size - SAMPLE_BYTES - PIECE_BYTES, 0)
            for piece in range(1, N_PIECES + 1) if head.size > SAMPLE_BYTES else ():
                file.seek(SAMPLE_BYTES + beyond * piece // N_PIECES // 2 * 2)  # UTF-16: two bytes a character
                parts.append(file.read(PIECE_BYTES))
    if encoding == "utf-16":
        encoding = "utf-16-be" if start.startswith(b"\xfe\xff") else "utf-16-le"
    if encoding != "utf-8-sig":
        parts = [part.decode(encoding, "replace").encode() for part in parts]
    return plain(b"\n".join(parts)).replace(b"\r", b"\n")


# What a line of interest holds: a number after a name, or a rule or header that says how to read others.
_DIGIT, _AFTER_NAME = re.compile(rb"\d"), re.compile(rb"[a-z_)%\]|\x80-\xff][^\w\n]{0,24}[-+.]?\d|\d/\d")
_BEGIN = re.compile(
    rb"\W{0,24}\d|[-=#*_+|\s]{6,}$"
    rb"|[^\w\n]{0,40}(?:\w+ ){0,3}(?:start|begin|began|train|runn|launch|execut|resum(?:ed|ing)\b)"
    rb"|[^\w\n]{0,24}(?:epochs?|steps?|iter(?:ation)?s?|e|class|loss +last)\b"
    rb"|\| [\w/]+ *\| *\|$|\s{0,8}[a-z]+\s+(?:iter|step|epoch)\b[^\n]{1,200}\|"
)
_WORDS = re.compile(rb"(?:nan|inf)\b(?<!\w...)|best iteration|\|-{3,}\s{0,8}[a-z]")


def _is_of_interest(line: bytes) -> bool:
    line = line.lower()  # ignoring case takes ten times as long
    number = _DIGIT.search(line) and _AFTER_NAME.search(line)
    return bool(number or _BEGIN.match(line) or _WORDS.search(line))


MAYBE: Any = SimpleNamespace(search=_is_of_interest)

NAN = math.nan

_STAMP = (
    r"(?:\d{4}[-/]\d\d[-/]\d\d|\d{1,2}/\d{1,2}/\d{4},?|\d\d[./]\d\d[./]\d\d)[ T_,|-]"
    r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
    r"(?: ?(?:Z\b|UTC\b|[+-]\d\d:?\d\d(?!\d)))?"
)

_LEVEL = r"(?:INFO|WARNING|WARN|DEBUG|ERROR|CRITICAL|NOTICE)"
# What may stand before the words, tried in turn until none fits. A group is who printed the line.
PREFIXES = (
    rf"\[?(?:\[[IWEF] )?{_STAMP}\]?(?: ?[-|:](?!\d))?",  # Optuna has the level in front of it
    r"\[?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?\]?(?: [-|:])?(?=\s)",  # a clock without its day
    r"\[((?:default|rank ?)\d+)\]:?",  # torchrun
    r"(\d{1,6}): (?! *[\d.]+, )",  # srun --label
    r"\[([A-Za-z][\w.-]*)\](?= \d{4}-)",  # ESPnet's host
    r"\[?([A-Za-z][\w.-]*:(?:rank)?\d+)\]?:(?=[\s\[])",  # host and rank
    r"\((\w+(?:\([^()]*\))? pid=\d+(?:, ip=[\d.]+)?)\)",  # Ray
    rf"\[?{_LEVEL}\b(?:\|([A-Z]+=\d+(?:\|[A-Z]+=\d+)*)(?:\|[\w.-]+)?)?\]?"
    r"(?::\w[\w.]*(?=:[^\s\d]))?[:,]?(?: *[-|:](?= ))?",  # INFO:root:, of Python
    r"[\w.]+:(?:[\w<>]+:)?\d+ - ",  # loguru
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
    """Where the seconds of the clock that `time_in` reads stand, and their fraction. () where there is no
    clock, None for one of another zone than UTC, or without its year."""
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
    match = re.fullmatch(r"([+-])(\d\d):?(\d\d)", zone)
    offset_s = 3600.0 * int(match[2]) + 60.0 * int(match[3]) if match else 0.0
    return -offset_s if match and match[1] == "-" else offset_s
