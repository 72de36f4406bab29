r"""Stage 1 of reading console text: from the bytes of a file to chunks of whole lines.

Memory grows neither with the file nor with its longest line. What terminals and operating systems leave in a
log is removed here, once: byte order marks, UTF-16, ``\r\n`` and colours (ANSI escapes). A progress bar that
is redrawn after ``\r`` becomes one line for each drawing; line numbers stay those that an editor shows.

`sample` is the part of a file by which its format is recognised. `may_be_log` tells logs from documents and
programs, which may quote one.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path

from chronicle.readers.read_on import Mark, Source, opened
from chronicle.readers.text import HEAD_BYTES, Head, encoding_of

CHUNK_BYTES = 1 << 21
MAX_LINE_BYTES = 1 << 20

_LINE_END = re.compile(rb"[\r\n]")
_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
# Moves the cursor to another line, as programs with several progress bars do.
_CURSOR_MOVE = re.compile(rb"\x1b\[\d*[ABEF](?=[^\r\n])")
# A progress bar after which another line begins without a line end, as both are written to one file.
_BAR_BEFORE_LINE = re.compile(rb"(\[\d[\d:]*<[^][\r\n]{1,400}\])(?=[^\s\],|)])")


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive lines of a log. ``data`` is UTF-8 with lines separated by ``\\n``, without one at the end.
    ``numbers`` are the line numbers in the file, from 1; ``next_number`` is that of the line after the chunk.
    ``unfinished``: the last line has no end yet. ``n_cut`` lines were too long and lost their end. ``mark``
    is the end of the chunk if a whole block of the file was read: the blocks after it stay the same however
    the file grows."""

    data: bytes
    numbers: Sequence[int]
    unfinished: bool = False
    n_cut: int = 0
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
            line_end = _LINE_END.search(block)
            if line_end is None:
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
    """Where the last whole line ends; a ``\\r`` at the very end may be the first half of ``\\r\\n``."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, len(data) - 1)) + 1


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
    """The text without colours, in which every line ends with ``\\n`` or a lone ``\\r``."""
    if b"\x1b" in data:
        data = _ESCAPE.sub(b"", _CURSOR_MOVE.sub(b"\r", data))
    if b"it/s" in data or b"s/it" in data:
        data = _BAR_BEFORE_LINE.sub(rb"\1\r", data)
    return data.replace(b"\r\n", b"\n") if b"\r" in data else data


def _chunk(data: bytes, first: int, n_cut: int, *, is_last: bool = False) -> Chunk:
    data = plain(data)
    unfinished = is_last and not data.endswith(b"\n")  # after a lone "\r" an empty line waits for its text
    data = data if unfinished else data[:-1]
    if b"\r" not in data:
        return Chunk(data, range(first, first + data.count(b"\n") + 1), unfinished, n_cut)
    ends = _LINE_END.findall(data)
    numbers = list(accumulate((end == b"\n" for end in ends), initial=first))
    return Chunk(data.replace(b"\r", b"\n"), numbers, unfinished, n_cut)


# --- what a format is recognised by ---

SAMPLE_BYTES, PIECE_BYTES, N_PIECES = 1 << 20, 1 << 16, 4
_DATA = re.compile(r"\.(jsonl?|ndjson|[ct]sv)", re.IGNORECASE)  # have readers of their own, even if damaged
_NAMED_NUMBER = re.compile(r"[A-Za-z)\]][:=] ?[-+\[(]?\d")  # "Reward: 2.5", as no table and no JSON has it

_NUMBERS = tuple(map(re.compile, (rb"nan\b(?<!\w...)", rb"inf\b(?<!\w...)", rb"\d[\d.,]*(?:[eE][-+]?\d+)?")))
_SIGNS_AND_BLANKS = b"-+ \t\r\v\f"
_FEWEST_ALIKE, _SHAPE_BYTES = 4, 1000  # lines that make a shape; bytes of a line that are its shape
_END_BYTES = 1 << 13  # of the beginning and of the end, by which a document or a program is recognised
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")


@lru_cache(maxsize=256)
def may_be_log(head: Head) -> bool:
    """Whether the lines are those of a log, where the name is that of a document, a program or a data file.
    Raises OSError."""
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
    every line ending with ``\\n``. Empty where the file is no text. All formats are asked about one file
    before the next is opened, so that one sample is kept. Raises OSError."""
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


_DIGIT = re.compile(rb"\d")
_NUMBER_AFTER_NAME = re.compile(rb"[a-z_)%\]|\x80-\xff][^\w\n]{0,24}[-+.]?\d|\d/\d")
_BEGINS_LIKE_RECORD = re.compile(
    rb"\W{0,24}\d|[-=#*_+|\s]{6,}$"
    rb"|[^\w\n]{0,40}(?:\w+ ){0,3}(?:start|begin|began|train|runn|launch|execut|resum(?:ed|ing)\b)"
    rb"|[^\w\n]{0,24}(?:ep(?:ochs?)?|steps?|iter(?:ation)?s?|e|class|loss +last)\b"
    rb"|\| [\w/]+ *\| *\|$|\s{0,8}[a-z]+\s+(?:iter|step|epoch)\b[^\n]{1,200}\|"
)
_WORDS_OF_RECORDS = re.compile(rb"(?:nan|inf)\b(?<!\w...)|best iteration|\|-{3,}\s{0,8}[a-z]")


class PossibleRecord:
    """Finds, as a pattern does, a line that may matter to an unknown format: with a number after a name, or a
    rule, header or heading that says how to read other lines. Most lines of most logs are ruled out here."""

    @staticmethod
    def search(line: bytes) -> bool:
        line = line.lower()  # a pattern that ignores case takes ten times as long
        numbered = _DIGIT.search(line) and _NUMBER_AFTER_NAME.search(line)
        return bool(numbered or _BEGINS_LIKE_RECORD.match(line) or _WORDS_OF_RECORDS.search(line))
