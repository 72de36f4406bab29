"""Generated tables for the laws of the table readers: sound rows among every kind of odd one."""

from __future__ import annotations

import random

NAMES = ["step", "loss", "lr", "val_loss", "x"]
ODD_CELLS = [
    *["1", "2.5", "", "nan", "-nan", "NA", "null", "inf", "-Infinity", "1e5", "1e-400", "1e400", "-0", "+3"],
    *["0.1234567890123456789", "12345678901234567890", "007", "1.", ".5", " 4", "5 ", "x", "1_000", "2 3"],
    *["nan(ind)", '"1.5"', '""', '"a,b"', '"a""b"', 'a"b', '"x', "é", "\0", "- ", "1,5", "step", "0x10", "٣"],
    *["9223372036854775807", "-9223372036854775808", "9007199254740993", "\t", "2023-11-14T22:13:20Z"],
]


def csv_bytes(seed: int) -> bytes:
    """A table of a few columns and up to 30 rows; more or less of it is odd, cut or flipped."""
    random_ = random.Random(seed)
    odd = random_.choice([0.0, 0.02, 0.3, 1.0])
    delimiter, end = random_.choice(",,\t;"), random_.choice(["\n", "\n", "\r\n", "\r"])
    names = NAMES[: random_.randint(2, 5)]
    text = delimiter.join(names) + end
    for row in range(random_.randint(0, 30)):
        cells = [str(row), *(repr(random_.gauss(0, 1)) for _ in names[1:])]
        cells = [random_.choice(ODD_CELLS) if random_.random() < odd else cell for cell in cells]
        kind = random_.random() / (odd or 1e-9)
        if kind < 0.1:
            cells = cells[: random_.randint(0, len(names))]
        elif kind < 0.2:
            cells += [""] * random_.randint(1, 2)
        elif kind < 0.3:
            cells = random_.choice([names, ["  "], [*names, "more"]])
        rare = random_.random() < 0.05 * odd
        text += delimiter.join(cells) + (random_.choice(["\r", "\n", "\r\n", "\n\n"]) if rare else end)
    return damaged(text.encode(), random_)


def plain_csv_bytes(seed: int) -> bytes:
    """A table of up to 40 rows whose columns hold one kind of cell each, with a line that is odd at most."""
    random_ = random.Random(seed)
    kinds = [
        lambda row: str(row),
        lambda row: repr(random_.gauss(0, 1)),
        lambda row: random_.choice(["0", "-0", "1", "2"]),
        lambda row: random_.choice(["train", "val", "", "a"]),
        lambda row: random_.choice(["nan", "1.5", "NaN", "inf", "2"]),
        lambda row: random_.choice(["", "1.5", "NA", "2e5", "-0", "-0.0", " 3", "4 "]),
        lambda row: "true" if row % 2 else random_.choice(["True", "false", "1"]),
        lambda row: str(random_.randint(2**52, 2**64)),
    ]
    names = random_.sample(
        ["step", "loss", "lr", "epoch", "x", "time", "run", "mode", "iter"], random_.randint(2, 5)
    )
    columns = [random_.choice([*kinds[:2] * 3, *kinds]) for _ in names]
    delimiter, end = random_.choice(",,,\t;"), random_.choice(["\n", "\n", "\r\n"])
    rows = [delimiter.join(cell(row) for cell in columns) for row in range(random_.randint(1, 40))]
    if random_.random() < 0.3:
        header, blanks = delimiter.join(names), delimiter * (len(names) - 1)
        odd = [
            header,
            header + delimiter,
            blanks,
            blanks + delimiter,
            "",
            " ",
            '"1"' + blanks,
            "1\0" + blanks,
        ]
        rows.insert(random_.randrange(len(rows)), random_.choice(odd))
    if random_.random() < 0.3:  # as many delimiters as there should be, in the wrong lines
        longer, shorter = random_.randrange(len(rows)), random_.randrange(len(rows))
        rows[longer] += delimiter
        rows[shorter] = rows[shorter].rpartition(delimiter)[0]
    return (delimiter.join(names) + end + end.join(rows) + random_.choice(["", end, end])).encode()


VALUES = [
    *[
        "1",
        "2.5",
        "null",
        "true",
        "false",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e5",
        "1e-400",
        "1e400",
        "-0",
        "0",
    ],
    *[
        "0.1234567890123456789",
        "12345678901234567890",
        '""',
        '"x"',
        '"0.5"',
        '"nan"',
        '"a\\"b"',
        '"é"',
        '"NA"',
    ],
    *[
        "[1]",
        "[1, 2]",
        "[]",
        "{}",
        '{"a": 1}',
        '{"loss": 2, "b": {"c": 3}}',
        "9223372036854775807",
        "nan",
        "+1",
    ],
    *["01", ".5", "1.", "{", "}", '"\t"', "'x'", "9007199254740993", '"2023-11-14T22:13:20Z"', '"\\ud800"'],
]
KEYS = ["step", "loss", "lr", "val_loss", "x", "host", "a", "a/b", "", "time", "val/loss", "\\u0061", "é"]


def json_bytes(seed: int) -> bytes:
    """Up to 40 JSON lines of a few shapes; more or less of them is odd, cut or flipped."""
    random_ = random.Random(seed)
    odd = random_.choice([0.0, 0.02, 0.3, 1.0])
    space, end = random_.choice([" ", " ", ""]), random_.choice(["\n", "\n", "\r\n", "\r"])

    def line(keys: list[str], row: int, depth: int = 0) -> str:
        pairs = []
        for key in keys:
            value = str(row) if key == "step" else repr(random_.gauss(0, 1))
            if random_.random() < odd:
                value = random_.choice(VALUES)
            if depth < 2 and random_.random() < 0.1:
                value = line(random_.sample(KEYS, 2), row, depth + 1)
            pairs.append(f'"{key}":{space}{value}')
        return "{" + f",{space}".join(pairs) + "}"

    shapes = [random_.sample(KEYS, random_.randint(1, 5)) for _ in range(3)]
    text = ""
    for row in range(random_.randint(0, 40)):
        keys = random_.choice([shapes[0], *shapes])
        if random_.random() < odd:
            keys = random_.choices(KEYS, k=random_.randint(0, 5))
        made = random_.choice(["", " ", "x", "[1]", "3"]) if random_.random() < odd / 5 else line(keys, row)
        text += made + (random_.choice(["\r", "\n\n", " \n"]) if random_.random() < 0.05 * odd else end)
    return damaged(text.encode(), random_)


def damaged(content: bytes, random_: random.Random) -> bytes:
    """The bytes with a mark before them, cut, or some of them flipped; or as they are."""
    if random_.random() < 0.2:
        content = b"\xef\xbb\xbf" + content
    if random_.random() < 0.3:
        content = content[: random_.randint(0, len(content))]
    flipped = bytearray(content)
    if content and random_.random() < 0.3:
        for _ in range(random_.randint(1, 4)):
            flipped[random_.randrange(len(flipped))] = random_.choice([0, 255, 34, 44, 10, 13, 58, 125])
    return bytes(flipped)
