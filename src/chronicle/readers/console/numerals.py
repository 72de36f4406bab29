"""Fields of a console line: names and numbers in the many ways trainers write them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from chronicle.readers.columns import number

NUMBER = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf|NaN|Infinity)"


def numbers(pairs: Iterable[tuple[str, str]]) -> dict[str, float]:
    """The pairs whose text is a number; thousands may be apart by commas. The last of equal names stays."""
    read = ((name.strip(), number(text.replace(",", ""))) for name, text in pairs)
    return {name: value for name, value in read if value is not None}


def pattern(separator: str) -> re.Pattern[str]:
    """Finds (name, number) where ``separator`` (an expression) stands between them."""
    return re.compile(rf"([A-Za-z_][\w./ -]*?){separator}({NUMBER})(?![\w.])")
