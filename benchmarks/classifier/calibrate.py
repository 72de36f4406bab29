"""Measures the numbers that the classifier contains: its rate of false alarms and its confidences.

    python -m benchmarks.classifier.calibrate [--quick] [--parts rates,confidences] [--write]

`--write` puts the numbers into chronicle/classify/thresholds.py and the tables into the guide. Run it after
every change of a rule or a threshold.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from unittest.mock import patch

from benchmarks.classifier import confidences, folders, page, rates
from benchmarks.page import arguments
from chronicle.classify import kernel, thresholds

MODULE = Path(__file__).parent.parent.parent / "src" / "chronicle" / "classify" / "thresholds.py"


def with_rate(text: str, fit: rates.Fit) -> str:
    """The source of thresholds.py with another rate of false alarms."""
    text = re.sub(r"ALARM_RATE = .*", f"ALARM_RATE = {fit.rate:.3g}", text)
    return re.sub(r"ALARM_POWER = .*", f"ALARM_POWER = {fit.power:.3g}", text)


def with_shares(text: str, table: Mapping[str, Iterable[confidences.Knot]]) -> str:
    """The source of thresholds.py with other confidences."""
    rows = "".join(f'    "{pattern}": {_knots(knots)},\n' for pattern, knots in sorted(table.items()))
    return re.sub(r"(CONFIDENCE: [^\n]*= )\{\n.*?\n\}", lambda m: f"{m[1]}{{\n{rows}}}", text, flags=re.S)


def _knots(knots: Iterable[confidences.Knot]) -> str:
    """Knots as source, laid out as the formatter does."""
    parts = [f"({x:.3f}, {p:.3f})" for x, p in knots]
    if len(parts) > 4:
        return "(\n" + "".join(f"        {part},\n" for part in parts) + "    )"
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer points and events")
    parser.add_argument("--parts", default="rates,confidences", help="what to measure: rates, confidences")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=DIR", help="runs to verify on")
    options = parser.parse_args()
    kernel.compiled()
    text, parts = MODULE.read_text("utf-8"), {}
    if "rates" in options.parts:
        fit = rates.setting(options.quick)
        text = with_rate(text, fit)
        parts["rates"] = rates.verified(fit, options.quick, folders.elsewhere(options.also))
    if "confidences" in options.parts:
        with patch.dict(thresholds.CONFIDENCE, clear=True):  # what the rules say themselves
            said = confidences.collect(options.quick)
        text = with_shares(text, confidences.table(said))
        parts |= confidences.tables_of(said)
        if options.write:
            from benchmarks.classifier import figures  # and matplotlib, for this alone

            figures.reliability(said)
    for name, table in parts.items():
        print(f"## {name}\n\n{table}\n")
    if options.write:
        MODULE.write_text(text, "utf-8")
        page.put(parts)


if __name__ == "__main__":
    main()
