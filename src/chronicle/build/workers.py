"""Processes that work for a build: those that make entries, and the site engine. All end with their parent,
but for a cluster of the user's own.

However a build ends (SIGKILL and SIGTERM too), each sees the end of a pipe that only its parent holds open.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib import import_module
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar

from chronicle.errors import MissingExtra, UsageError
from chronicle.workspace.locks import leave_nothing, sweep

_CONNECT_TIMEOUT = "10s"  # of a scheduler, which answers in milliseconds or never

T = TypeVar("T")
R = TypeVar("R")

# A module as a process of its own, whose standard input is a pipe that ends with its parent.
_WATCHED = (
    "import os, runpy, sys, threading\n"
    "threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()\n"
    "sys.argv[:] = sys.argv[1:]\n"
    "is_file = sys.argv[0].endswith('.py')\n"
    "runpy.run_path(sys.argv[0], run_name='__main__') if is_file else "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)


def run_module(
    module: str, arguments: Sequence[str], environment: Mapping[str, str], folder: Path
) -> tuple[int, str]:
    """Runs ``python -m module``, or a file, in ``folder``; its exit code, and all it printed. Raises OSError.
    Nothing is imported from ``folder``, which may be that of a stranger."""
    command = [sys.executable, "-P", "-c", _WATCHED, module, *arguments]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, env=dict(environment), cwd=folder, text=True, **pipes) as process:
        try:
            assert process.stdout  # a pipe
            printed = process.stdout.read()
            return process.wait(), printed
        except BaseException:
            process.kill()
            raise


def in_processes(
    work: Callable[[T], R], items: Sequence[T], workers: int, lost: Callable[[T], R]
) -> Generator[R, None, None]:
    """``work`` of each item, in the order in which they are done; each is looked at in one of ``workers``.
    Where a worker was killed, whatever had not been done is done again, one by one, each in a worker of its
    own: ``lost`` stands for an item whose worker is killed then too."""
    done: set[int] = set()
    try:
        for number, result in _pooled(work, items, range(len(items)), workers):
            done.add(number)
            yield result
    except BrokenProcessPool:
        for number in sorted({*range(len(items))} - done):
            try:
                ((_, result),) = _pooled(work, items, [number], 1)
            except BrokenProcessPool:
                result = lost(items[number])
            yield result


def on_cluster(
    work: Callable[[T], R], items: Sequence[T], address: str, lost: Callable[[T], R]
) -> Generator[R, None, None]:
    """``work`` of each item on the dask cluster of the scheduler at ``address``, in the order of their ends.

    Its workers have this package, and the files at the same paths. What a worker that was killed had begun is
    begun again on another one; ``lost`` stands for an item that has killed several.

    Raises:
        MissingExtra: the package distributed is not installed.
        UsageError: no scheduler answers.
    """
    try:
        distributed: Any = import_module("distributed")  # what it says of its types is not whole
    except ImportError as err:
        raise MissingExtra("--dask", "dask", "distributed") from err
    try:
        client = distributed.Client(address, timeout=_CONNECT_TIMEOUT)
    except (OSError, ValueError) as err:
        problem = f"--dask {address}: no scheduler answers"
        raise UsageError(problem, remedy="name the address that `dask scheduler` prints") from err
    with client:
        futures = {client.submit(work, item, pure=False): item for item in items}
        for future in distributed.as_completed(futures):
            killed = isinstance(future.exception(), distributed.KilledWorker)
            yield lost(futures[future]) if killed else future.result()


def _pooled(
    work: Callable[[T], R], items: Sequence[T], numbers: Sequence[int], workers: int
) -> Iterator[tuple[int, R]]:
    before = {child.pid for child in active_children()}
    # spawn: a forked child would inherit the locks of threads that numba or BLAS may have started
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=end_with_parent)
    try:
        with held():
            futures: dict[Future[R], int] = {pool.submit(work, items[n]): n for n in numbers}
        yield from ((futures[future], future.result()) for future in as_completed(futures))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in active_children():
            if child.pid not in before:
                child.kill()
                child.join()
        sweep()  # of what they had unpacked
        raise
    pool.shutdown()


def end_with_parent() -> None:
    """Lets this worker end as soon as its parent has ended, and leave nothing."""
    parent = parent_process()
    assert parent  # it is a worker

    def watch() -> None:
        wait([parent.sentinel])
        leave_nothing()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def held() -> Iterator[None]:
    """Nothing ends this process while it starts others, which would wait for the rest of what it tells them
    and print a traceback; what came is done afterwards. A terminal does not interrupt those that are started.
    A mask alone does not hold a signal back: another thread (of linear algebra, say) may take it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual = {number: signal.signal(number, lambda number, _: came.append(number)) for number in _ENDING}
    masks = sys.platform != "win32"
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if masks else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
