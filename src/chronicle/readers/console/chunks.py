"""A text log as chunks of whole lines, in memory that does not grow with the file or with its lines.

What terminals and operating systems leave in a log is taken out here, once: byte order marks, UTF-16,
``\r\n``, colours (ANSI escapes). A progress bar that redraws itself with ``\r`` becomes lines; line
numbers stay those that an editor shows. `sample` is what a format is known by.
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


@dataclass(frozen=True, eq=False)
class Chunk:
    """Lines of a log that follow each other.

    ``data`` is UTF-8, its lines parted by ``\\n`` without one at the end. ``numbers`` are their numbers in
    the file, from 1. ``unfinished``: the last line has no end yet. ``cut``: lines that were too long and lost
    their end. ``following`` is the number of the line behind it. ``mark`` is its end, where a whole block was
    read: however the file grows, the blocks from there on are the same.
    """

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
    if not begun and encoding_of(first) == "utf-16":  # which has other ends of lines, and is read anew
        decode = codecs.getincrementaldecoder("utf-16")("replace").decode
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
        data = _ESCAPE.sub(b"", data)
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
_CONTROLS = bytes([*range(1, 8), *range(14, 27), *range(28, 32)])
_MOST_CONTROLS = 0.01  # of a text
# Documents and programs may quote the lines of a log; then these are not most of the lines.
_NO_LOGS = re.compile(
    r"\.(md|rst|py[ix]?|ipynb|sh|bash|sbatch|slurm|ya?ml|toml|html?|xml|svg|[jt]sx?|css|cc?|hh?|[ch](pp|xx)|cuh?|go|rs"
    r"|java|kt|scala|swift|rb|php|lua|pl|sql|proto|cmake|tex|bib|patch|diff|lock|ini|cfg|conf)",
    re.IGNORECASE,
)
_DATA = re.compile(r"\.(jsonl?|ndjson|[ct]sv)", re.IGNORECASE)  # has readers of its own, also where it is cut

_NO_NUMBER, _NUMBER = re.compile(rb"\b(?:nan|inf)\b"), re.compile(rb"\d[\d.,]*(?:[eE][-+]?\d+)?")
_WITHOUT_SIGNS = bytes.maketrans(b"-+", b"  ")
_FEWEST, _LONGEST = 4, 1000  # lines of one shape; characters of a line that tell its shape


@lru_cache(maxsize=256)
def may_be_log(head: Head) -> bool:
    """Whether the name does not say that it is a document or a program, or the lines say otherwise.

    Raises OSError.
    """
    suffix = head.path.suffix
    return _is_all_records(sample(head)) if _NO_LOGS.fullmatch(suffix) else not _DATA.fullmatch(suffix)


def _is_all_records(text: bytes) -> bool:
    """Whether more lines come again and again with other numbers than stand alone."""
    begins = b"\n".join(line[:_LONGEST] for line in text.split(b"\n") if line.strip())
    numbers = _NUMBER.sub(b"0", _NO_NUMBER.sub(b"0", begins)).translate(_WITHOUT_SIGNS)
    shapes = Counter(b" ".join(line.split()) for line in numbers.split(b"\n"))
    records = sum(n for shape, n in shapes.items() if n >= _FEWEST and b"0" in shape)
    return records > sum(n for n in shapes.values() if n < _FEWEST)


@lru_cache(maxsize=1)
def sample(head: Head) -> bytes:
    """What a format is known by, without what `plain` takes out; empty where the file is no text.

    It is the first MB of a text and pieces of the rest, for a record may come late. All formats are asked of
    one file in turn: its sample is kept till the next. Raises OSError.
    """
    start, encoding = head.start, encoding_of(head.start)
    written = start.replace(b"\0", b"")  # a file system fills with zeros what was never written of a text
    n_controls = len(written) - len(written.translate(None, _CONTROLS))
    damaged = b"\0" in start and (not written or n_controls > _MOST_CONTROLS * len(written))
    if encoding != "utf-16" and damaged:
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
        big = start.startswith(b"\xfe\xff")
        parts = [part.decode("utf-16-be" if big else "utf-16-le", "replace").encode() for part in parts]
    return plain(b"\n".join(parts)).replace(b"\r", b"\n")
