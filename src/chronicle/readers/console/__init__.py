r"""Console text: what trainers print. A format is recognised by a record of its own in the file.

The stages: `chunks` (bytes to lines, and what stands before their words), `pairs` (names and numbers of a
line), `line_records` (pairs that belong together, with `text_tables` and `line_shapes`), `counting` (the step
of a record), `log` (what becomes an attempt). `generic` puts them together for any text; `plan` decides
whether it can. Formats that are known use the stages that they need.

A format is a line in FORMATS below (the first of which a record is found reads the file) and a module with

    MARKS = (rb"my step \\d+ loss=[-\\dni]",)

    def read(path: Path) -> list[Attempt]:
        log = Log(path)
        for line in log.lines(RECORD):
            if match := SHAPE.search(line.text):
                log.add(line, int(match["step"]), {"loss": float(match["loss"])})
        return [log.attempt()]

A mark is a pattern of bytes that finds one record with its numbers, so that a program that prints such lines
does not match. Begin it with a literal text if you can, which makes the search fast; a look-behind can check
where the word begins, as in ``step:(?<=\bstep:)``. CONTRIBUTING.md says what else belongs to a format.
"""

from __future__ import annotations

import re
from functools import lru_cache

from chronicle.readers.console.chunks import may_be_log, sample
from chronicle.readers.text import Head, OnDemand


class Format(OnDemand):
    """A format of console text: a module, or a row in `line_formats`."""

    def identify(self, head: Head) -> bool:
        return head.is_text and format_of(head) == self.NAME

    def marks(self) -> list[re.Pattern[bytes]]:
        return [*map(re.compile, self._module.MARKS)]


FORMATS = (
    Format("console.megatron", "megatron"),
    Format("console.line_formats", "nanotron"),
    Format("console.dictionaries", "mlperf"),
    Format("console.line_formats", "llm.c"),
    Format("console.line_formats", "modded-nanogpt"),
    Format("console.line_formats", "dllogger"),
    Format("console.line_formats", "fairseq"),
    Format("console.line_formats", "torchtitan", FALLBACK=-1),  # whose expected losses are a table of numbers
    Format("console.line_formats", "nanogpt"),
    Format("console.line_formats", "mlx"),
    Format("console.dictionaries", "hf-console"),
    Format("console.line_formats", "keras-console"),
    Format("console.line_formats", "deepspeed"),  # the engine of many trainers whose own records say more
    OnDemand("console.generic", "key-value", FALLBACK=1),
)


@lru_cache(maxsize=1)
def _marks() -> list[tuple[re.Pattern[bytes], str]]:
    """The marks of all formats in their order, each with the NAME of its format."""
    named = (form for form in FORMATS if isinstance(form, Format))
    return [(mark, form.NAME) for form in named for mark in form.marks()]


@lru_cache(maxsize=256)
def format_of(head: Head) -> str:
    """The NAME of the first format of which a text holds a record, "" if there is none. Raises OSError."""
    if not head.n_numbers or not may_be_log(head) or not (text := sample(head)):
        return ""
    return next((name for mark, name in _marks() if mark.search(text)), "")
