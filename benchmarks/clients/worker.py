"""One launch of one client, in the client's environment: `worker CLIENT NUMBER FOLDER`.

The log goes to `FOLDER/log`, which is also the working directory; what was logged to `FOLDER/launch-N.json`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np

from benchmarks.clients import boosters, libraries, loops, others, searches, styles, trainers
from benchmarks.clients.catalogue import CLIENTS
from benchmarks.clients.training import CONFIG
from benchmarks.clients.truth import Record, versions


def main() -> None:
    """The command."""
    name, number, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).resolve()
    client, record = CLIENTS[name], Record()
    log = folder / "log"
    log.mkdir(parents=True, exist_ok=True)
    os.chdir(log)
    np.random.seed(CONFIG["seed"])
    modules = (boosters, libraries, loops, others, searches, styles, trainers)
    module = next(one for one in modules if one.__name__.endswith(f".{client.module}"))
    getattr(module, client.function)(log, number, record)
    launch = {"series": record.series, "versions": versions(client.packages)}
    (folder / f"launch-{number}.json").write_text(json.dumps(launch))
    if client.ends_hard:
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
