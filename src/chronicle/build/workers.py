"""The processes of a build: workers that make entries, and the site engine.

They end with their parent, however that ends (even by SIGKILL), because each of them waits for the end of a
pipe that only the parent holds open. The workers of a dask cluster belong to the user and keep running.
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

_CONNECT_TIMEOUT = "10s"  # a scheduler that is there answers in milliseconds

T = TypeVar("T")
R = TypeVar("R")

# Runs a module or a file in a process that ends when its standard input, a pipe of the parent, ends.
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
    """The results of ``work`` for all items, in the order in which they finish, from a pool of ``workers``
    processes. If a worker is killed, the unfinished items are repeated one by one, each in a new process; an
    item whose process is killed again gives ``lost(item)``."""
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
    """The results of ``work`` for all items from the dask cluster at ``address``, as they finish.

    The workers must have this package installed, and the files at the same paths. The items of a killed
    worker are repeated on another one; an item that has killed several workers gives ``lost(item)``.

    Raises:
        MissingExtra: the package distributed is not installed.
        UsageError: no scheduler answers.
    """
    try:
        distributed: Any = import_module("distributed")  # its type annotations are incomplete
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
        sweep()  # remove the files that the workers had unpacked
        raise
    pool.shutdown()


def end_with_parent() -> None:
    """Lets this worker end, and remove its temporary files, as soon as its parent has ended."""
    parent = parent_process()
    assert parent  # only workers call this

    def watch() -> None:
        wait([parent.sentinel])
        leave_nothing()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


@contextmanager
def held() -> Iterator[None]:
    """Holds back signals that end this process while it starts workers, and delivers them afterwards: workers
    that are only half started would print a traceback. Workers inherit a mask for SIGINT, so that a terminal
    does not interrupt them. The mask alone would not suffice, because another thread (of a linear algebra
    library, for example) may receive the signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    usual = {number: signal.signal(number, lambda number, _: came.append(number)) for number in _ENDING}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if sys.platform != "win32" else None
    try:
        yield
    finally:
        if mask is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)
