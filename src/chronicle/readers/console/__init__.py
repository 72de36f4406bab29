r"""Console text: what trainers print. A format is known by a record of its own in the file.

To add a format:

1. A module with

       MARKS = (rb"my step \\d+ loss=[-\\dni]",)

       def read(path: Path) -> list[Attempt]:
           log = Log(path)
           for line in log.lines(RECORD):
               if match := SHAPE.search(line.text):
                   log.add(line, int(match["step"]), {"loss": float(match["loss"])})
           return [log.attempt()]

   A mark is a pattern of bytes that finds one record, numbers included: a source file that prints such lines
   must not match. Begin it with a literal text where you can, which makes it cheap to search for: where a
   word begins is asked behind it, as in ``step:(?<=\bstep:)``.

   `log.Log` gives lines with their numbers, keeps rows as columns, counts what could not be used
   (`Log.fault`), notes events and facts, and marks a last line without an end. `Line.prefix` takes rank,
   clock and logger off a line. Steps go back as logged.
2. Its line in FORMATS below. The first in the list of which a record is found reads the file.

CONTRIBUTING.md says what else belongs to a format, and which needs no code.
"""

from __future__ import annotations

import re
from functools import lru_cache

from chronicle.readers.console.chunks import may_be_log, sample
from chronicle.readers.text import Head, OnDemand


class Format(OnDemand):
    """A format of console text: a module, or a row of the module `line_formats`."""

    def identify(self, head: Head) -> bool:
        return head.is_text and format_of(head) == self.NAME

    @property
    def marks(self) -> tuple[bytes, ...]:
        return tuple(self._module.MARKS)


FORMATS = (
    Format("console.megatron", "megatron"),
    Format("console.line_formats", "nanotron"),
    Format("console.mlperf", "mlperf"),
    Format("console.line_formats", "llm.c"),
    Format("console.line_formats", "modded-nanogpt"),
    Format("console.line_formats", "dllogger"),
    Format("console.line_formats", "fairseq"),
    Format("console.line_formats", "torchtitan"),
    Format("console.line_formats", "nanogpt"),
    Format("console.line_formats", "mlx"),
    Format("console.hf_dict", "hf-console"),
    Format("console.line_formats", "keras-console"),
    Format("console.line_formats", "deepspeed"),  # an engine below many a trainer, which says more
    OnDemand("console.generic", "key-value", FALLBACK=1),
)


@lru_cache(maxsize=256)
def format_of(head: Head) -> str:
    """The NAME of the first format of which a text holds a record, "" where it holds none. Raises OSError."""
    if not may_be_log(head) or not (text := sample(head)):
        return ""
    return next((name for name, marks in _all_marks() if any(mark.search(text) for mark in marks)), "")


@lru_cache(maxsize=1)
def _all_marks() -> tuple[tuple[str, tuple[re.Pattern[bytes], ...]], ...]:
    formats = (form for form in FORMATS if isinstance(form, Format))
    return tuple((form.NAME, tuple(map(re.compile, form.marks))) for form in formats)
