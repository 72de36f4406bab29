"""The entry point: the one place where errors become messages and exit codes."""

from __future__ import annotations

import sys

try:
    import gc
    import os
    import signal
    import threading

    import click

    from chronicle.cli import cli
    from chronicle.errors import ChronicleError, NotALog, SiteError, message_of
except KeyboardInterrupt:
    sys.exit(130)

# New objects until Python looks for circles of garbage, of which there are few: a log makes millions of
# objects that stay, and to look at them again and again takes a fifth of the time.
GARBAGE = 100_000


def main() -> None:
    """Runs the command line. Exit codes are those that `chronicle.cli` lists.

    A signal that ends it (SIGTERM, SIGHUP) first lets it put away what it has begun.
    """
    gc.set_threshold(GARBAGE, 20, 50)
    is_main = threading.current_thread() is threading.main_thread()  # no other may set what a signal does
    names = [name for name in ("SIGTERM", "SIGHUP") if is_main and hasattr(signal, name)]
    numbers = [getattr(signal, name) for name in names]
    ours = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]  # not under nohup
    for number in ours:
        signal.signal(number, _end)
    try:
        _run()
    except _Ended as end:
        os.kill(os.getpid(), end.args[0])  # its action is the usual one again
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


class _Ended(BaseException):
    pass


def _end(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second one ends it at once
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
    except BrokenPipeError:  # the reader of our output, such as `head`, has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ChronicleError, OSError) as err:
        from chronicle.cli.terminal import complain, say

        if isinstance(err, NotALog):
            say(message_of(err))
        else:  # the words of a site engine alone have several lines
            complain(message_of(err), kept="\n" * isinstance(err, SiteError))
        sys.exit(getattr(err, "exit_code", 1))


if __name__ == "__main__":
    main()
