r"""Stages 1 and 2 of reading console text: cut the bytes of a file into whole lines, and find their words.

Memory grows neither with the file nor with its longest line. What terminals and operating systems leave in a
log is removed here, once: byte order marks, UTF-16, ``\r\n`` and colours (ANSI escapes). A progress bar that
is redrawn after ``\r`` becomes one line for each drawing; line numbers stay those that an editor shows.

`Line.apart` finds what launchers, loggers and kernels write before the words of a line:

    >>> line = Line(1, "[default3]:[2025-03-31 05:54:07] iteration 50/ 900 |").apart
    >>> line.words, line.who, line.time
    ('iteration 50/ 900 |', 'default3', 1743400447.0)

A clock without a time zone is taken for UTC, and in 10/11/2025 the month comes first. Syslog and glog write
no year: such a time lies in a placeholder year, until `aliases.in_year_of` moves it next to a known one.
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
from itertools import accumulate, chain, zip_longest
from pathlib import Path
from typing import NamedTuple

from chronicle.metrics.aliases import CONSOLE_IN_EPOCH_NAMES, EPOCH_NAMES, STEP_NAMES, UNNAMED_YEAR, has_year
from chronicle.readers.read_on import Mark, Source, opened
from chronicle.readers.text import HEAD_BYTES, Head, encoding_of

CHUNK_BYTES = 1 << 21
MAX_LINE_BYTES = 1 << 20
_LONG_LINE_BYTES = 1000  # if they hold no line end, the program may never write one

_LONGEST = 1000  # characters of a line that are read
_LONGEST_DENSE, _DENSE = 3500, 20  # of one that begins with at least so many pairs, or cells of a table
_A_PAIR = re.compile(r"[\w\])][:=]\s?(?:\w+\.\w+\()?[-+.\d]|\s-?\d\.\d+e[-+]\d\d(?=\s)")

_LINE_END = re.compile(rb"[\r\n]")
_LINE = re.compile(rb"[^\r\n]+")
# What a terminal shows otherwise: a byte that such a log holds, which is found ten times as fast as several,
# and words of which it holds one; a pattern, and what stands for it.
# fmt: off
_OF_TERMINALS = tuple((byte, words, re.compile(pattern), new) for byte, words, pattern, new in (
    (b"\x1b", [b"\x1b"], rb"\x1b\[\d*[ABEF](?=[^\r\n])", b"\r"),  # the way to another line
    (b"\x1b", [b"\x1b"], rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])", b""),
    (b"\xe2", [b"\xe2\x94", b"\xe2\x95"], rb"\xe2(?:\x94[\x82\x83]|\x95\x91|\x94\x94(?=   ))", b"|"),  # sides
    (b"^", [b"^[["], rb"(?:\^\[\[[A-D])+", b""),  # keys that were pressed while a terminal showed the log
    # A progress bar after which another line begins without a line end, as both are written to one file.
    # Blanks that wipe out a longer bar may stand between them if that line begins with a clock or a level.
    (b"<", [b"/s", b"s/"], rb"(\[\d[\d:]*<[^][\r\n]{1,400}\])(?=[^\s\],|)]"
     rb"| +(?:\[?\d{2,4}[-/:]\d\d[-/:]\d\d|[\[(]?(?:INFO|WARN|DEBUG|ERROR)|[IWEF]\d{4} \d))", rb"\1\r"),
    (b"=", [b"=nan.", b"inf."], rb"(=-?(?:nan|inf))\.0*(?=[,\]])", rb"\1"),  # of Lightning, in five signs
    (b":", [b"nanx", b"infx"], rb"(: -?(?:nan|inf))x{2,3}\b", rb"\1"),  # of PaddleOCR, in eight signs
    (b"=", [b" [="], rb"(?<=\d)(?=(\d+)/\1 \[=)", b"\r"),  # of Keras, whose way back to the line is lost
))
# fmt: on
# How rich begins a line that it may fold: with a bar, or with a clock, a level and blanks up to a column.
_LEVEL_NAMES = rb"(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)"
_OF_RICH = re.compile(rb"[^\r\n]*\xe2\x94\x81|(?:\[[^]\r\n]{5,24}\]| {10,}) %b +\S" % _LEVEL_NAMES)
_FOLD = b"\n" + 16 * b" "
_SOURCE = re.compile(rb" +[\w.<>-]+:\d+ *$")  # the place in the source, at the end of a line
_RICH_WORDS = (b"\xe2\x94\x81", b"DEBUG    ", b"INFO     ", b"WARNING  ", b"ERROR    ", b"CRITICAL ")
_MAY_BE_FOLDED = re.compile(  # such a line at the end of a chunk, whose next one may go on with it
    rb"(?<![^\r\n])[^\r\n]*(?:\xe2\x94\x81|%b)[^\r\n]*(?:\r?\n[ \x1b][^\r\n]*)*[\r\n]+\Z" % _LEVEL_NAMES
)
_END_OF_CHUNK_BYTES = 1 << 12  # in which such a line lies
_FIRST_WORD = re.compile(rb"[A-Za-z]\w*\W{1,3}(?=\d)")  # with which each record begins, before what it counts


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive lines of a log. ``data`` is UTF-8 with lines separated by ``\\n``, without one at the end.
    ``numbers`` are the line numbers in the file, from 1; ``next_number`` is that of the line after the chunk.
    ``unfinished``: the last line has no end yet. ``n_cut`` lines were too long and lost their end, ``n_torn``
    had zeros inside and are empty. ``mark`` is the end of the chunk if a whole block was read: those after it
    stay the same however the file grows."""

    data: bytes
    numbers: Sequence[int]
    unfinished: bool = False
    n_cut: int = 0
    n_torn: int = 0
    next_number: int = 0
    mark: Mark = Mark()

    @property
    def lines(self) -> list[bytes]:
        return self.data.split(b"\n")


def chunks(path: Path, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """The whole file as it is now. Raises OSError."""
    with opened(path, "") as source:
        yield from chunks_from(source, 1, size)


def chunks_from(source: Source, first: int, size: int) -> Iterator[Chunk]:
    """The rest of a file that was read before; ``first`` is the number of its next line. Raises OSError."""
    rest, n_cut, skips_line = b"", 0, False
    for block in _utf8_blocks(source, size):
        if skips_line:
            if (line_end := _LINE_END.search(block)) is None:
                continue
            block, skips_line = block[line_end.start() :], False
        data = rest + block
        end = _end_of_lines(data)
        if end:
            chunk = _chunk(data[:end], first, n_cut)
            left, at = len(data) - end, source.tell()
            is_mark = at % size == 0 and source.mark.offset == at - left and left <= MAX_LINE_BYTES
            first, n_cut = chunk.numbers[-1] + (data[end - 1 : end] == b"\n"), 0
            yield replace(chunk, next_number=first, mark=source.mark if is_mark else Mark())
        rest = data[end:]
        if len(rest) > MAX_LINE_BYTES:  # keep the start of the long line and skip the rest of it
            rest, n_cut, skips_line = rest[:MAX_LINE_BYTES], 1, True
    if rest:
        yield _chunk(rest, first, n_cut, is_last=True)


def _end_of_lines(data: bytes) -> int:
    """Where the last whole line ends; a ``\\r`` at the very end may be the first half of ``\\r\\n``. A line
    with which the next one may go on is left for the next chunk."""
    end = max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1
    folded = _MAY_BE_FOLDED.search(data, max(0, end - _END_OF_CHUNK_BYTES), end)
    return folded.start() if folded else end


def _utf8_blocks(source: Source, size: int) -> Iterator[bytes]:
    """The file as UTF-8, in blocks that end at multiples of ``size`` (the first may span two)."""
    begun = source.tell()
    first = source.file.read((-(-begun // size) + 1) * size - begun)
    blocks = chain([first], iter(lambda: source.file.read(size), b""))
    if not begun and (encoding := encoding_of(first[:HEAD_BYTES])) != "utf-8-sig":  # is never read on
        decode = codecs.getincrementaldecoder(encoding)("replace").decode
        yield from (decode(block).encode("utf-8", "replace") for block in blocks)
        return
    byte_order_mark = b"" if begun else codecs.BOM_UTF8
    for block in blocks:
        source.passed(block, _end_of_lines(block))
        yield block.removeprefix(byte_order_mark)
        byte_order_mark = b""


def plain(data: bytes) -> bytes:
    """The text without what is meant for terminals. Every line ends with ``\\n`` or a lone ``\\r``, as does
    a record of a program that writes no line ends. A line that was torn by zeros is empty."""
    if b"\0\0" in data:
        data = _LINE.sub(lambda line: b"" if is_torn(line[0]) else line[0].strip(b"\0"), data)
    for byte, words, pattern, new in _OF_TERMINALS:
        if byte in data and any(word in data for word in words):
            data = pattern.sub(new, data)
    if len(data) > _LONG_LINE_BYTES and not _LINE_END.search(data) and (word := _FIRST_WORD.match(data)):
        data = re.sub(rb"(?<=\W|\d)" + re.escape(word[0]) + rb"(?=\d)", rb"\r\g<0>", data)
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    return _unfolded(data) if _FOLD in data and any(map(data.__contains__, _RICH_WORDS)) else data


def _unfolded(data: bytes) -> bytes:
    """The text with each cell of rich that a narrow console folded on the last of its lines, and the others
    empty. All but the first begin at a column at which a word of the first one begins."""
    lines, ends, first = _LINE_END.split(data), _LINE_END.findall(data), b""
    for k, line in enumerate(lines):
        if not line.startswith(_FOLD[1:]) or not line.strip() or ends[k - 1] != b"\n" or _OF_RICH.match(line):
            first = line
            continue
        column = len(line) - len(line.lstrip(b" "))
        above = first.decode("utf-8", "replace")[column - 1 : column + 1] if _OF_RICH.match(first) else ""
        if above[:1] == " " and above[1:].strip():
            lines[k], lines[k - 1] = _SOURCE.sub(b"", lines[k - 1]) + b" " + line.strip(), b""
    return b"".join(map(b"".join, zip_longest(lines, ends, fillvalue=b"")))


def is_torn(line: bytes) -> bool:
    """Whether zeros stand within a line, where the file was never written: what surrounds them is no line."""
    return b"\0\0" in line.strip(b"\0")


def _chunk(data: bytes, first: int, n_cut: int, *, is_last: bool = False) -> Chunk:
    n_torn = sum(map(is_torn, _LINE.findall(data))) if b"\0\0" in data else 0
    data = plain(data)
    unfinished = is_last and not data.endswith(b"\n")  # after a lone "\r" an empty line waits for its text
    data = data if unfinished else data[:-1]
    if b"\r" not in data:
        return Chunk(data, range(first, first + data.count(b"\n") + 1), unfinished, n_cut, n_torn)
    numbers = list(accumulate((end == b"\n" for end in _LINE_END.findall(data)), initial=first))
    return Chunk(data.replace(b"\r", b"\n"), numbers, unfinished, n_cut, n_torn)


SAMPLE_BYTES, PIECE_BYTES, N_PIECES = 1 << 20, 1 << 16, 4
_DATA = re.compile(r"\.(jsonl?|ndjson|[ct]sv)", re.IGNORECASE)  # have readers of their own, even if damaged
# "Reward: 2.5", "'loss': 2.5", "Step, 1, Loss, 2.5", as no table and no JSON has it
_NAMED_NUMBER = re.compile(
    r"[A-Za-z)\]'][:=] ?[-+\[(]?\d|^[A-Za-z][^,\t]*[,\t] ?[-.\d]+[,\t] ?[A-Za-z][^,\t]*[,\t] ?[-.\d]"
)

_NUMBERS = tuple(map(re.compile, (rb"nan\b(?<!\w...)", rb"inf\b(?<!\w...)", rb"\d[\d.,]*(?:[eE][-+]?\d+)?")))
_SIGNS_AND_BLANKS = b"-+ \t\r\v\f"
_FEWEST_ALIKE, _SHAPE_BYTES = 4, 1000  # lines that make a shape; bytes of a line that are its shape
_END_BYTES = 1 << 13  # of the beginning and of the end, by which a document or a program is recognised
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")


def with_zeros(data: bytes) -> bytes:
    """The text with a single 0 in the place of each run of digits."""
    data = data.translate(_DIGITS_TO_ZERO)
    while b"00" in data:
        data = data.replace(b"00", b"0")
    return data


@lru_cache(maxsize=256)
def may_be_log(head: Head) -> bool:
    """Whether a file named as a document, a program or data has the lines of a log. Raises OSError."""
    if head.is_of_words:
        return _is_mostly_records(sample(head))
    if _DATA.fullmatch(head.path.suffix):
        n_named = sum(_NAMED_NUMBER.search(line) is not None for line in head.lines)
        return n_named >= _FEWEST_ALIKE and 2 * n_named > len(head.lines)
    return True


def _is_mostly_records(text: bytes) -> bool:
    """Whether more lines recur with other numbers than occur alone."""
    if len(text) > 2 * _END_BYTES:
        text = text[:_END_BYTES] + text[-_END_BYTES:]
    # Most lines of a program hold no number and occur once. This cheap test settles most files.
    n_words = text.count(b"nan") + text.count(b"inf")  # each of which may be a number
    lines = Counter(filter(None, text.translate(_DIGITS_TO_ZERO, _SIGNS_AND_BLANKS).split(b"\n")))
    n_numbered = sum(n for line, n in lines.items() if b"0" in line)
    n_alone = sum(n for line, n in lines.items() if b"0" not in line and n < _FEWEST_ALIKE)
    if n_numbered + 2 * n_words <= n_alone:
        return False
    starts = b"\n".join([line[:_SHAPE_BYTES] for line in text.split(b"\n")])
    for number in _NUMBERS:
        starts = number.sub(b"0", starts)
    shapes = Counter(filter(None, starts.translate(None, _SIGNS_AND_BLANKS).split(b"\n")))
    n_records = sum(n for shape, n in shapes.items() if n >= _FEWEST_ALIKE and b"0" in shape)
    return n_records > sum(n for n in shapes.values() if n < _FEWEST_ALIKE)


@lru_cache(maxsize=1)
def sample(head: Head) -> bytes:
    """The first MB of a text and pieces of the rest, since a first record may come late; as `plain` gives it,
    every line ending with ``\\n``. Empty where the file is no text. Raises OSError."""
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
    return b"\n".join(map(plain, parts)).replace(b"\r", b"\n")


_DIGIT = re.compile(rb"\d")
_NUMBER_AFTER_NAME = re.compile(rb"[a-z_)%\]|\x80-\xff][^\w\n]{0,24}[-+.]?\d|\d/\d")
_BEGINS_LIKE_RECORD = re.compile(
    rb"\W{0,24}\d|[-=#*_+|\s]{6,}$|(?:\xe2[\x94\x95].){6,}$"
    rb"|[^\w\n]{0,40}(?:\w+ ){0,3}(?:start|begin|began|train|runn|launch|execut"
    rb"|(?:resum|continu|restart|load|restor)(?:e|ed|ing)\b)"
    rb"|[^\w\n]{0,24}(?:ep(?:ochs?|isodes?)?|steps?|iter(?:ation)?s?|(?:n_)?gen(?:eration)?|e|class"
    rb"|loss +last)\b"
    rb"|\W{0,84}(?:test|val|eval|dev)[a-z]{0,7}(?: [a-z]{1,11})?\s?(?::|\.{2,3}|[\])>=*#-]{1,84}:?)\s*$"
    rb"|\| {1,60}\|(?:[a-z(): .-]{0,60}\|){1,62}\s*$"  # the second line of a header
    rb"|\| [\w/]+ *\| *\|$"
)
_WORDS_OF_RECORDS = re.compile(rb"(?:nan|inf)\b(?<!\w...)|best iteration")


class PossibleRecord:
    """Finds, as a pattern does, a line that may matter to an unknown format: with a number after a name, or a
    rule, header or heading that says how to read other lines. Most lines of most logs are ruled out here."""

    @staticmethod
    def search(line: bytes) -> bool:
        line = line.lower()  # a pattern that ignores case takes ten times as long
        numbered = _DIGIT.search(line) and _NUMBER_AFTER_NAME.search(line)
        return bool(numbered or _BEGINS_LIKE_RECORD.match(line) or _WORDS_OF_RECORDS.search(line))


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
    rf"\d{{1,2}} [A-Z][a-z]{{2}} \d\d:\d\d(?= +{_LEVEL}\b)",  # the console of RecBole, and its file:
    r"\[?(?:[A-Z][a-z]{2},? )?(?:\d{1,2} [A-Z][a-z]{2} \d{4},? \d\d:\d\d:\d\d"  # also C's asctime
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\]?(?: ?[-|:])?(?=\s)",
    # syslog, and journald with host and process
    r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: [\w.-]+ [\w./-]+\[\d+\]:)?(?=\s)",
    r"std(?:out|err) [FP](?= )",  # containers of Kubernetes, behind their clock
    r"([a-z][a-z\d_-]{1,60}-\d{1,3}) {2,}\|(?= )",  # docker compose
    r"\[\d+,(\d+)\]<std(?:out|err)>:",  # mpirun --tag-output
    r"\[((?:default|rank ?)\d+)\]:?",  # torchrun
    r"(\d{1,6}): (?! *(?:[\d.]+, |learn: ))",  # srun --label
    r"\[([A-Za-z][\w.-]*)\](?= \d{4}-)",  # ESPnet's host
    r"\[?([A-Za-z][\w.-]*:(?:rank)?\d+)\]?:(?=[\s\[])",  # host and rank
    r"\(((?:\w+(?:\([^()]*\))? |[\w-]+, (?:rank=\d+, )?)?pid=\d+(?:, ip=[\d.]+)?)\)",  # Ray, SkyPilot
    rf"\[?{_LEVEL}\b(?:\|([A-Z]+=\d+(?:\|[A-Z]+=\d+)*)(?:\|[\w.-]+)?)?\]?"
    r"(?::\w[\w.]*(?=:[^\s\d]))?[:,]?(?: *[-|:](?= ))?",  # INFO:root:, of Python
    rf"(?!(?i:{_COUNTERS}):)[\w.]+:(?:[\w<>]+:)?\d+ (?:- |(?=\[{_LEVEL}\]))",  # but `step:12 - loss:2.5`
    r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [\w./-]+:\d+\]",  # glog, absl
    r"([\w.-]+(?::\d+)?)\s+[\w.]+:\d+\s+(?=(?:INFO|WARNING|ERROR|DEBUG)\b)",  # OLMo
    r"\([\w.]+:\d+\)(?= [A-Z]+: )",
    r"\[?[\w./<>-]+\.py:(?:[\w<>]+:)?\d+(?::[\w<>.]+)?(?:\](?: [-|:])?| \|)",  # the place in the source
    r"\[(Rank \d+)\](?: [-|:])?",  # DeepSpeed
    rf"(?:root|__main__|titan|\w+(?:\.\w+)+) [-|] |\w[\w.]*(?:\s+| [-|] )(?={_LEVEL}\b)",  # name of a logger
    rf"\[(?:titan|root|deepspeed|deepscale|[\w.]+(?=\]\[{_LEVEL}\]))\]",  # Hydra's stands before the level
    r"([A-Za-z][\w.-]*):(?= \[(?:\d{4}-|[A-Z]{4}|default|rank))",  # pdsh
    r"(?:> )+(?=\S)",  # of a log that is quoted, as in mails
)
_PREFIX = re.compile(rf"[\s|-]*(?:{'|'.join(PREFIXES)})\s*", re.ASCII)
_MOST_PREFIXES = 8


class Line(NamedTuple):
    """A line: its number in the file from 1, its text, and whether its end is missing. Taken ``apart``, also
    who printed it ("" unknown), Unix seconds (NaN unknown), and where its words begin."""

    number: int
    text: str
    unfinished: bool = False
    who: str = ""
    time: float | None = None  # nobody has looked for it
    start: int = 0

    @property
    def words(self) -> str:
        return self.text[self.start :].strip()

    @property
    def apart(self) -> Line:
        who, start = words_start(self.text)
        return self._replace(who=who, time=time_in(self.text[:start]), start=start)


def text_of(raw: bytes) -> str:
    """The text of a line; bytes that are not UTF-8 become replacement characters."""
    return raw.decode("utf-8", "replace")


def words_start(line: str) -> tuple[str, int]:
    """Who printed a line ("" unknown), the first rank or host before its words, and where these begin."""
    who, at = "", 0
    for _ in range(_MOST_PREFIXES):
        if (match := _PREFIX.match(line, at)) is None:
            break
        who, at = who or (match[match.lastindex] if match.lastindex else ""), match.end()
    return who, at


_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_HEAD = 120  # characters at the start of a line that may hold its clock

_TIME = r"(?P<h>\d\d):(?P<m>\d\d):(?P<s>\d\d)(?:[.,](?P<f>\d{1,9}))?"
_CLOCKS = (
    re.compile(
        rf"(?<![\d-])(?P<Y>\d{{4}})[-/](?P<M>\d\d)[-/](?P<D>\d\d)[T, ]{_TIME} ?(?P<z>Z|UTC|[+-]\d\d:?\d\d\b)?"
    ),
    re.compile(
        r"(?:^|\[)(?:[A-Z][a-z]{2} )?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _TIME + r" (?P<Y>\d{4})\b"
    ),
    re.compile(r"(?<![\w.])(?P<D>\d{1,2}) (?P<b>[A-Z][a-z]{2}) (?P<Y>\d{4}),? " + _TIME),
    re.compile(r"^(?:<\d+>)?(?P<b>[A-Z][a-z]{2})\s+(?P<D>\d{1,2}) " + _TIME + r"\s+(?P<host>\S+) "),  # syslog
    re.compile(r"(?<![\w.])[EWIF](?P<M>\d{1,2})(?P<D>\d\d) " + _TIME),  # glog
    re.compile(r"(?<![\d/])(?P<M>\d{1,2})/(?P<D>\d{1,2})/(?P<Y>\d{4}),? " + _TIME),
)
_SINCE_BOOT = re.compile(r"^(?:<\d+>)?\[\s*(?P<boot>\d{1,10}\.\d{3,9})\](?:\[\s*[TC]\d+\])? ")
SYSTEM_CLOCK = re.compile(r"\[\s*(\d{1,10}\.\d+)\].* setting system clock to .*\((\d{9,10})\)")
_HOSTS = (
    re.compile(r"^\d{4}-\S{10,35} (?P<host>[\w.-]+) [\w./-]+(?:\[\d+\])?: "),  # journalctl -o short-iso
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


def _clock(start: str) -> re.Match[str] | None:
    if _SINCE_BOOT.match(start):
        return None
    return next((match for form in _CLOCKS if (match := form.search(start))), None)


def _seconds(clock: re.Match[str] | None) -> float:
    if clock is None:
        return NAN
    groups = clock.groupdict()
    month = int(groups.get("M") or 0) or _MONTHS.find((groups.get("b") or "?").lower()) // 4 + 1
    day = int(groups["D"])
    if groups.get("z") is None and month > 12:  # the day comes first
        month, day = day, month
    year, seconds = int(groups.get("Y") or UNNAMED_YEAR), int(groups["s"])
    minute = _minute(year, month, day, int(groups["h"]), int(groups["m"]))
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
    return int(f"{match[1]}1") * (3600.0 * int(match[2]) + 60.0 * int(match[3])) if match else 0.0


def as_read(text: str) -> str:
    """The beginning of a line, as far as it is read: farther in a dense row of pairs (verl) or cells."""
    is_dense = len(text) > _LONGEST and len(_A_PAIR.findall(text, 0, _LONGEST)) >= _DENSE
    return text[: _LONGEST_DENSE if is_dense else _LONGEST]


NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity)"
# A number that has its cell to itself and a unit for a name: "| 12 ms | 5000 tok/s".
_RATE = r"(\d{1,12}(?:\.\d{1,12})?)\s?([A-Za-z]{1,20}/s(?:ec(?:ond)?)?)\b"
# Several rates in a row: "Speed: 71.2 samples/sec 1971 tokens/sec 1.27 updates/sec".
_RATES = re.compile(rf"(?<=[:=|,\s]){_RATE}(?:[\s,]{{1,3}}{_RATE}){{1,4}}(?!\s?[-+.\d])")
_UNIT_ALONE = re.compile(
    rf"(?:(?<=[|;])|(?<=,)(?=\s))(\s{{0,8}})({NUMBER})\s?(ms|(?:tok|tokens|samples|img|images)/s(?:ec)?)(?=\s{{0,8}}(?:[|,;]|$))"
)


def units_as_names(text: str) -> str:
    """The line, in which a number that has only a unit is named by it: `| 12.5 ms |` as `| ms: 12.5 |`."""
    if "/s" in text:
        text = _RATES.sub(lambda rates: re.sub(_RATE, r"\2: \1,", rates[0]), text)
    return _UNIT_ALONE.sub(r"\1\3: \2", text) if "ms" in text or "/s" in text else text
