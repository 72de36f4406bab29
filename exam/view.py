"""Shows a log without chronicle's readers, so that labels do not depend on what these readers see.

    python -m exam.view LOG [--line REGEX] [--draw PICTURE SERIES …]

It knows just enough of each format to list the series of a log with their points, first and last step and
range, and to draw some of them. The truths in pointers.json were written with it.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Points = list[tuple[float, float]]

# fmt: off
STEPS = (
    "step", "_step", "global_step", "Step", "steps", "current_steps", "iteration", "iter",
    "time/total_timesteps", "total_timesteps", "total/steps", "timesteps", "Timestep", "misc/total_timesteps",
    "total/epochs", "Samples", "total_steps", "time_steps", "Episode", "episode", "episodes", "time/episodes",
    "Epoch", "epoch", "EPOCH", "epochs",
)
# fmt: on
BOX = re.compile(r"^\s*\|\s*(.*?)\s*\|\s*([-+\d.e]+|nan)\s*\|\s*$")
PAIR = re.compile(r"([A-Za-z][\w/@. -]{0,28}?)\s*[:=\]]+\s*\[?([-+]?\d+\.?\d*(?:[eE][-+]?\d+)?|nan)")
MEASURE = re.compile(r"loss|reward|score|acc|err", re.I)


def number(value: Any) -> float | None:
    """A value as a number; None for what is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value.strip().rstrip("%") if isinstance(value, str) else value)
    except ValueError:
        return None


def as_series(rows: list[Row], step: str | None = None) -> tuple[dict[str, Points], str | None]:
    """Rows as series over the first known step column, or over the row number where there is none."""
    if step is None:
        step = next((s for s in STEPS if any(number(row.get(s)) is not None for row in rows)), None)
    series: dict[str, Points] = {}
    for i, row in enumerate(rows):
        at = number(row.get(step)) if step else float(i)
        for name, value in row.items():
            x = number(value)
            if x is not None and name != step:
                series.setdefault(name, []).append((float(i) if at is None else at, x))
    return series, step


# ---- tables and JSON


def table(text: str) -> list[Row]:
    """A table with a head, separated by tabs, commas or blanks."""
    lines = [line for line in text.splitlines() if line.strip()]
    head = lines[0].lstrip("#").strip()
    mark = "\t" if "\t" in head else "," if "," in head else None

    def cells(line: str) -> list[str]:
        return [c.strip() for c in (next(csv.reader([line], delimiter=mark)) if mark else line.split())]

    names = cells(head)
    rows = [cells(line) for line in lines[1:] if not line.startswith("#")]
    return [dict(zip(names, row, strict=False)) for row in rows if len(row) > 1 or len(names) < 2]


def losses_of_deepxde(text: str) -> list[Row]:
    """loss.dat has one name for several columns: they are c0, c1, … here."""
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [{"step": row[0], **{f"c{i}": x for i, x in enumerate(row[1:])}} for row in rows]


def flat(document: Row, above: str = "") -> Row:
    """Nested names joined by slashes; a summary {"num", "mean", "std"} is its mean."""
    row: Row = {}
    for name, value in document.items():
        if isinstance(value, dict) and not {"mean", "num"} <= value.keys():
            row.update(flat(value, f"{above}{name}/"))
        else:
            row[above + name] = value["mean"] if isinstance(value, dict) else value
    return row


def json_rows(text: str) -> list[Row]:
    """JSON lines, a list of records, a trainer state, or lists by name."""
    try:
        document = json.loads(text)
    except ValueError:
        lines = (line.strip().rstrip(",") for line in text.splitlines())
        return [flat(row) for row in map(_parsed, lines) if row]
    if isinstance(document, dict) and "log_history" in document:
        document = document["log_history"]
    if isinstance(document, list):
        return [flat(row) for row in document if isinstance(row, dict)]
    lists = {
        k: v for k, v in flat(document).items() if isinstance(v, list) and v and number(v[0]) is not None
    }
    longest = max(map(len, lists.values()), default=0)
    return [{k: v[i] for k, v in lists.items() if i < len(v)} for i in range(longest)]


def _parsed(line: str) -> Row | None:
    try:
        row = json.loads(line) if line.startswith("{") else None
    except ValueError:
        return None
    return row


# ---- what trainers print


def console(text: str, line: str | None) -> list[Row]:
    """Lines that ``line`` finds, its named groups as columns; else boxes "| name | value |"; else pairs."""
    lines = re.split(r"[\r\n]", text)
    if line:
        found = (re.search(line, one) for one in lines)
        groups = ({k.rstrip("_"): v for k, v in m.groupdict().items() if v is not None} for m in found if m)
        return [{k: v.rstrip(",") for k, v in row.items()} for row in groups]
    boxes = list(_boxes(lines))
    if len(boxes) > 4:
        return boxes
    pairs = ((one, PAIR.findall(one)) for one in lines)
    return [
        {k.strip(): v for k, v in found}
        for one, found in pairs
        if len(found) >= 4 or (len(found) >= 2 and MEASURE.search(one))
    ]


def _boxes(lines: list[str]) -> Iterator[Row]:
    row: Row = {}
    for line in [*lines, "---"]:
        found = BOX.match(line)
        if found:
            row[found[1]] = found[2]
        elif row and line.startswith("---"):
            yield row
            row = {}


def nnunet(text: str) -> list[Row]:
    """One row an epoch of nnU-Net's log, which takes several lines."""
    rows: list[Row] = []
    for line in text.splitlines():
        epoch = re.search(r"\bepoch:\s+(\d+)", line)
        if epoch:
            rows.append({"epoch": epoch[1]})
            continue
        for name in ("train loss", "validation loss", "lr"):
            value = re.search(rf"{name}\s*:\s*(\S+)", line)
            if value and rows:
                rows[-1].setdefault(name, value[1])
    return rows


# ---- records


def varint(data: bytes, i: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[i]
        i += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, i


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol-buffer message: number and value, bytes for all but varints."""
    i = 0
    while i < len(data):
        tag, i = varint(data, i)
        if tag & 7 == 0:
            value, i = varint(data, i)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(tag & 7)
        if size is None:
            size, i = varint(data, i)
        yield tag >> 3, data[i : i + size]
        i += size


def events(data: bytes) -> dict[str, Points]:
    """The scalars of an event file: simple values and tensors of one 32-bit float."""
    series: dict[str, Points] = {}
    i = 0
    while i + 12 <= len(data):
        (size,) = struct.unpack_from("<Q", data, i)
        event = data[i + 12 : i + 12 + size]
        i += 16 + size
        if len(event) < size:
            break
        message = dict(fields(event))
        for value in [v for n, v in fields(message.get(5, b"")) if n == 1]:
            name, x = _scalar(value)
            if x is not None:
                series.setdefault(name, []).append((float(message.get(2, 0)), x))
    return series


def _scalar(value: bytes) -> tuple[str, float | None]:
    parts = dict(fields(value))
    name = parts.get(1, b"").decode("utf-8", "replace")
    data = parts.get(2)
    if data is None and isinstance(parts.get(8), bytes):
        tensor = dict(fields(parts[8]))
        data = (tensor.get(4) or tensor.get(5)) if tensor.get(1) == 1 else None
    if isinstance(data, bytes) and len(data) == 4:
        return name, struct.unpack("<f", data)[0]
    return name, None


def wandb(data: bytes) -> list[Row]:
    """The history of an offline run: a LevelDB log of protocol-buffer messages, in blocks of 32 KiB."""
    rows, record, i = [], b"", 7
    while i + 7 <= len(data):
        if 32768 - i % 32768 < 7:
            i += 32768 - i % 32768
            continue
        size, kind = struct.unpack_from("<HB", data, i + 4)
        record = (record if kind in (3, 4) else b"") + data[i + 7 : i + 7 + size]
        i += 7 + size
        if kind in (1, 4):
            rows += [_history(v) for n, v in fields(record) if n == 2 and isinstance(v, bytes)]
    return rows


def _history(message: bytes) -> Row:
    row: Row = {}
    for field, value in fields(message):
        if field == 2:
            row["_step"] = dict(fields(value)).get(1, 0)
        elif field == 1:
            item = list(fields(value))
            name = "/".join(v.decode() for n, v in item if n == 2) or dict(item)[1].decode()
            row[name] = json.loads(dict(item)[16])
    return flat(row)


# ---- a whole log


def load(log: Path, line: str | None = None) -> tuple[dict[str, Points], str | None, int]:
    """The series of a log, its step column (None: the row number), and how many rows it has."""
    data, name = log.read_bytes(), log.name
    if "tfevents" in name:
        series = events(data)
        return series, "step", max(map(len, series.values()), default=0)
    if name.endswith(".wandb"):
        rows, step = wandb(data), "_step"
    else:
        rows, step = _rows(data.decode("utf-8", "replace").lstrip("\ufeff"), name, line), None
    return *as_series(rows, step), len(rows)


def _rows(text: str, name: str, line: str | None) -> list[Row]:
    if name == "loss.dat":
        return losses_of_deepxde(text)
    if name.startswith("training_log_20"):
        return nnunet(text)
    if line:
        return console(text, line)
    if name.endswith((".json", ".jsonl")) or re.match(r'\s*[{[]\s*[{"]', text):
        return json_rows(text)
    if name.endswith("monitor.csv") and text.startswith("#"):
        return table(text.partition("\n")[2])
    if name.endswith((".csv", ".tsv", ".dat")) or name == "lcurve.out":
        return table(text)
    rows = console(text, None)
    head = text.strip().partition("\n")[0]
    return rows if len(rows) > 4 or len(re.split(r"\s{2,}|\t|,", head)) < 3 else table(text)


def summary(name: str, points: Points) -> str:
    """One line about a series: its points, first and last step, values and range."""
    values = [y for _, y in points if math.isfinite(y)]
    low, high = (min(values), max(values)) if values else (math.nan, math.nan)
    steps = f"{points[0][0]:g}..{points[-1][0]:g}"
    ends = f"{points[0][1]:.4g} -> {points[-1][1]:.4g}, range {low:.4g}..{high:.4g}"
    return f"{name:40} {len(points):7} points, steps {steps}, {ends}, not finite {len(points) - len(values)}"


def draw(series: dict[str, Points], names: list[str], picture: Path) -> None:
    """The named series in one picture, points against steps."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 3 * len(names)), layout="tight")
    for place, name in enumerate(names, 1):
        axes = figure.add_subplot(len(names), 1, place)
        axes.plot(*zip(*series[name], strict=True), marker=".", markersize=2, linewidth=0.7)
        axes.set_title(name)
    figure.savefig(picture)


def expression(text: str) -> str:
    """A regular expression, as an option of a command."""
    try:
        re.compile(text)
    except re.error as err:
        raise argparse.ArgumentTypeError(f"{text} is not a regular expression: {err}") from err
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("log", type=Path, metavar="LOG")
    parser.add_argument(
        "--line",
        type=expression,
        metavar="REGEX",
        help="finds a line of a console; its named groups are columns",
    )
    parser.add_argument("--draw", type=Path, metavar="PICTURE", help="draw SERIES into this file")
    parser.add_argument("series", nargs="*", metavar="SERIES")
    given = parser.parse_intermixed_args()
    if not given.log.is_file():
        parser.error(f"{given.log} is no file. Remedy: name one log")
    series, step, rows = load(given.log, given.line)
    if given.draw and not series.keys() >= {*given.series}:
        parser.error(f"no series {', '.join({*given.series} - series.keys())}. It has: {', '.join(series)}")
    print(f"{rows} rows over {step or 'the row number'}")
    print("\n".join(summary(name, points) for name, points in series.items()))
    if given.draw:
        draw(series, given.series or list(series)[:4], given.draw)
    return 0


if __name__ == "__main__":
    sys.exit(main())
