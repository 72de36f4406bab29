"""A JSON document as a whole, and what stands after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chronicle.errors import BadLog
from chronicle.model import Fault, Place
from chronicle.readers.text import encoding_of, head

_BLANK = " \t\r\n\0"


def parsed(path: Path) -> tuple[Any, bool]:
    """The first JSON value of a file, and whether more than blanks stands after it.

    Raises:
        ValueError: there is none.
        RecursionError: it is nested too deep.
    """
    text = path.read_text(encoding_of(head(path)), errors="replace")
    value, end = json.JSONDecoder().raw_decode(text, len(text) - len(text.lstrip(_BLANK)))
    return value, bool(text[end:].strip(_BLANK))


def whole_document(path: Path) -> tuple[Any, tuple[Fault, ...]]:
    """The document in a file, and a fault where something else follows it.

    Raises:
        BadLog: it is cut, or damaged.
    """
    try:
        value, more = parsed(path)
    except (ValueError, RecursionError) as err:
        raise BadLog(str(path), f"is no whole JSON document ({err}). Remedy: fetch it again") from err
    return value, (Fault(Place(str(path)), "something follows the document; left out"),) if more else ()
