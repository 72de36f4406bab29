"""A client of tensorboard-data-server: loads a folder of event files and fetches every point of every scalar.

    python -m benchmarks.data_server FOLDER [--checksum]

Prints the number of points, and the peak memory of server and client in MiB. Values logged as tensors come
back as scalars where their metadata say so.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import grpc
import tensorboard_data_server
from tensorboard.data.proto import data_provider_pb2 as messages
from tensorboard.data.proto import data_provider_pb2_grpc as service

UNBOUNDED = [("grpc.max_receive_message_length", -1)]
ALL = 1 << 30  # points a series


def start(folder: Path, checksum: bool) -> tuple[subprocess.Popen[bytes], int]:
    """Starts the server. Returns it with its port after it has loaded everything."""
    command = [tensorboard_data_server.server_binary(), "--logdir", str(folder), "--port", "0"]
    command += ["--die-after-stdin", "--reload", "once", "--verbose"]
    command += ["--samples-per-plugin", "scalars=all", "--checksum" if checksum else "--no-checksum"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert server.stderr
    port = 0
    for line in server.stderr:
        if found := re.search(rb"listening on \S+:(\d+)", line):
            port = int(found[1])
        if b"load cycle" in line and (b"complete" in line or b"inished" in line):
            break
    threading.Thread(target=server.stderr.read, daemon=True).start()
    return server, port


def n_points(port: int) -> int:
    """Fetches all points. Returns their number."""
    provider = service.TensorBoardDataProviderStub(grpc.insecure_channel(f"localhost:{port}", UNBOUNDED))
    plugin = messages.PluginFilter(plugin_name="scalars")
    listed = provider.ListScalars(messages.ListScalarsRequest(experiment_id="", plugin_filter=plugin))
    total = 0
    for run in listed.runs:
        names = messages.RunTagFilter(runs=messages.RunFilter(names=[run.run_name]))
        request = messages.ReadScalarsRequest(
            experiment_id="",
            plugin_filter=plugin,
            run_tag_filter=names,
            downsample=messages.Downsample(num_points=ALL),
        )
        total += sum(len(tag.data.step) for got in provider.ReadScalars(request).runs for tag in got.tags)
    return total


def peak_mib(pid: int) -> float:
    """The most memory that a running process has had resident, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def main() -> None:
    """The command."""
    server, port = start(Path(sys.argv[1]), "--checksum" in sys.argv)
    points = n_points(port)
    print(points, round(peak_mib(server.pid)), round(peak_mib(os.getpid())))
    server.kill()
    server.wait()


if __name__ == "__main__":
    main()
