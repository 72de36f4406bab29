"""Console text: what trainers print. Each format is one module: data and little code.

To add a format:

1. A row in `marks.MARKS`: its NAME and a pattern of bytes that finds one record, numbers included. The first
   row that fits a file decides, so put what may stand in other formats' logs further down.
2. A module with

       NAME = "my trainer"
       SUFFIXES: tuple[str, ...] = ()

       def identify(path: Path) -> bool:
           return owner(path) == NAME

       def read(path: Path) -> list[Attempt]:
           log = Log(path)
           for line in log.lines(RECORD):
               if found := SHAPE.search(line.text):
                   log.add(line, int(found["step"]), {"loss": float(found["loss"])})
           return [log.attempt()]

   `log.Log` gives lines with their numbers (of any length, with ``\\r``, colours, UTF-16 taken out), keeps
   rows as columns, counts what could not be used (`Log.fault`), notes events and facts, marks a last line
   without an end, and shows every line that is no record to `machine.Faults`. `Line.prefix` takes rank, clock
   and logger off a line. Steps go back as logged: what that means is decided when attempts are stitched.
3. Its row in FORMATS below, its module and its NAME; an example with its gold file in
   tests/readers/examples/<name>/, and a page docs/formats/<NAME>.md.
"""

from __future__ import annotations

from chronicle.readers.on_demand import OnDemand

FORMATS = (
    *(
        OnDemand(f"console.{module}", name)
        for module, name in (
            ("megatron", "megatron"),
            ("nanotron", "nanotron"),
            ("deepspeed", "deepspeed"),
            ("mlperf", "mlperf"),
            ("llmc", "llm.c"),
            ("modded_nanogpt", "modded-nanogpt"),
            ("dllogger", "dllogger"),
            ("fairseq", "fairseq"),
            ("torchtitan", "torchtitan"),
            ("nanogpt", "nanogpt"),
            ("mlx", "mlx"),
            ("hf_dict", "hf-console"),
            ("keras_bar", "keras-console"),
        )
    ),
    OnDemand("console.generic", "key-value", FALLBACK=1),
)
