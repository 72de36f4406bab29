"""The entry point: the one place where errors become messages and exit codes."""

from __future__ import annotations

import sys


class _Ended(BaseException):
    """A signal has asked this process to end; its number is the argument."""


def _unwrapped(err: BaseException) -> BaseException:
    """What a signal raised; while a class is made, Python 3.11 puts it into a RuntimeError."""
    cause = err.__cause__
    return cause if isinstance(err, RuntimeError) and isinstance(cause, KeyboardInterrupt | _Ended) else err


try:
    import gc
    import os
    import signal
    import threading

    # No large matrices are multiplied here, and threads that wait for them cost as much as importing numpy.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

    import click

    from chronicle.cli import cli
    from chronicle.errors import ChronicleError, NotALog, SiteError, message_of
except (KeyboardInterrupt, RuntimeError) as err:
    if not isinstance(_unwrapped(err), KeyboardInterrupt):
        raise
    sys.exit(130)

# New objects until Python searches for reference cycles. There are few of these, but a log creates
# millions of objects that stay, and searching them again and again takes a fifth of the time.
GC_THRESHOLD = 100_000


def main() -> None:
    """Runs the command line. `chronicle.cli` lists the exit codes.

    SIGTERM and SIGHUP end the process only after it has removed its temporary files.
    """
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    is_main = threading.current_thread() is threading.main_thread()  # only this thread may set handlers
    names = [name for name in ("SIGTERM", "SIGHUP") if is_main and hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    handled = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]  # not under nohup
    for number in handled:
        signal.signal(number, _end)
    try:
        _run()
    except (_Ended, RuntimeError) as err:
        signalled = _unwrapped(err)
        if isinstance(signalled, KeyboardInterrupt):
            sys.exit(130)
        if not isinstance(signalled, _Ended):
            raise
        os.kill(os.getpid(), signalled.args[0])  # with the default action, which `_end` has restored
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    raise _Ended(number)


def _run() -> None:
    try:
        cli(prog_name="chronicle", standalone_mode=False)
    except click.exceptions.Exit as err:
        sys.exit(err.exit_code)
    except click.ClickException as err:
        from chronicle.cli.terminal import complain, usage_message

        complain(usage_message(err))
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(130)
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ChronicleError, OSError) as err:
        from chronicle.cli.terminal import complain, say

        if isinstance(err, NotALog):
            say(message_of(err))
        else:  # only the output of a site engine keeps its line ends
            complain(message_of(err), kept="\n" if isinstance(err, SiteError) else "")
        sys.exit(getattr(err, "exit_code", 1))


if __name__ == "__main__":
    main()
