import sys, tempfile
from pathlib import Path
from benchmarks import tables as t
t.REPEATS = 2
with tempfile.TemporaryDirectory() as folder:
    for suffix, mb, sparse in (("csv", 1, False), ("csv", 22, False), ("csv", 22, True), ("jsonl", 22, False)):
        f = Path(folder)/f"log.{suffix}"; t.write(f, mb*1_000_000//t.ROW_BYTES[sparse], sparse=sparse)
        r = {n: t.measured(n, f) for n in ("chronicle", "pyarrow", "polars")}
        c = r["chronicle"]; best = [min(r[n][i] for n in ("pyarrow","polars")) for i in range(4)]
        print(suffix, mb, sparse, "process CPU %.2f s, ratio %.2f; reading CPU %.2f s, ratio %.2f; peak %d MiB" % (c[1], c[1]/best[1], c[3], c[3]/best[3], c[4]), flush=True)
