"""The command ``crossview``: thin, library calls only."""

from __future__ import annotations

import functools
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from crossview.cli.loading import as_process
from crossview.cli.words import never_fail_to_print
from crossview.errors import NO_ROWS, InputError, NoRowsError, cannot_import, spell_arguments
from crossview.lazily import load_without_rarely_used
from crossview.saving.files import naming

__all__ = ["main", "process"]

STANDARD_OUTPUT = "standard output"


class _Output(io.FileIO):
    """A descriptor whose errors say what could not be written."""

    def write(self, data: Any, /) -> int:
        """Write bytes; an error of the system names the stream."""
        with naming(STANDARD_OUTPUT):
            return super().write(data)


def check_streams() -> None:
    """Prepare the standard streams of a process.

    Errors of stdout name it.  A closed stream keeps its number, so that no file that is opened
    later gets it: writing to stdout is then an error, and stderr goes nowhere.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDONLY)  # the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - until the end
    before = sys.stdout
    if before is not None:
        before.flush()
    encoding, errors = (getattr(before, name, None) for name in ("encoding", "errors"))
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Output(1, "w", closefd=False)),
        encoding=encoding,
        errors=errors,
        line_buffering=getattr(before, "line_buffering", False),
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; errors in the input are printed as one line on stderr.

    argv: the arguments; None: those of the process.
    Returns: the exit status: 0, 2 for bad input or an output that cannot be written, 130 where
      interrupted, 143 where terminated.

    >>> from crossview.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    crossview 0...
    0
    """
    try:
        load_without_rarely_used()
        from crossview.cli.app import app

        command = _made(app)
    except KeyboardInterrupt as error:
        return _ended(error)
    except ImportError as error:
        return _refuse(str(cannot_import("the command line", str(error.name), error)))
    never_fail_to_print()
    with _ending_cleanly():
        try:
            return _run(command, argv)
        finally:
            spell_arguments(None)


@functools.cache
def _made(app: Any) -> Any:
    """Return the commands of click that Typer makes of the functions, which takes it 30 ms."""
    import typer

    return typer.main.get_command(app)


def process() -> NoReturn:
    """Be the process of a command: begin and end in less time than `main` in a longer program."""
    check_streams()
    as_process(main)


def _run(command: Any, argv: Sequence[str] | None) -> int:
    """Run a command of click, and say what went wrong in one line."""
    try:
        status = command.main(
            args=None if argv is None else list(argv),
            prog_name="crossview",
            standalone_mode=False,
            obj=["crossview", *(sys.argv[1:] if argv is None else argv)],
        )
        if callable(status):  # the options are read; see `as_callback`
            status = status()
        sys.stdout.flush()
    except (KeyboardInterrupt, _Terminated) as error:
        return _ended(error)
    except InputError as error:
        return _refuse(str(error), NO_ROWS if isinstance(error, NoRowsError) else 2)
    except ModuleNotFoundError as error:
        if str(error.name).startswith("crossview"):
            raise
        return _refuse(str(cannot_import("this command", str(error.name), error)))
    except BrokenPipeError:  # whoever reads has enough
        _drop_stdout()
        return 1
    except OSError as error:
        _drop_stdout()
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        if (signaled := _signal_behind(error)) is not None:
            return _ended(signaled)
        if hasattr(error, "format_message"):  # typer's own, whichever click it carries
            path = getattr(getattr(error, "ctx", None), "command_path", "crossview")
            return _refuse(f"{error.format_message().rstrip('.')} (see {path} --help)")
        # scikit-learn's, without importing it
        if type(error).__name__ == "InvalidParameterError":
            return _refuse(str(error))
        # of Python, NumPy and Arrow, and DuckDB's, without importing it
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryException":
            reason = f" ({error})" if str(error) else ""
            return _refuse(f"out of memory{reason}; let the process have more, or give fewer rows")
        raise  # a bug
    if status == 130:
        return _ended(KeyboardInterrupt())
    return status if isinstance(status, int) else 0


class _Terminated(BaseException):
    """A signal that ends the process: what is under way is ended as by Ctrl-C, with nothing left.

    Its argument is the number of the signal.
    """


_lost: list[BaseException] = []  # raised in a function that C called, and not passed on
_AGAIN_SECONDS = 0.05


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    """Raise `_Terminated` at SIGTERM and at SIGHUP, of a terminal that is closed.

    They otherwise end the process where it stands.  One that is ignored, as by nohup, stays so.
    What is raised where C called Python, as the compiler does, Python only prints, and goes on: it
    is raised again, as is Ctrl-C.
    """
    if threading.current_thread() is not threading.main_thread():  # the only one with signals
        yield
        return

    numbers = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    before = {
        number: signal.getsignal(number)
        for number in numbers
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN
    }

    def terminate(number: int, frame: Any) -> None:
        for one in before:  # another one must not stop the cleaning
            signal.signal(one, signal.SIG_IGN)
        raise _Terminated(number)

    def heed() -> None:
        for number in before:
            signal.signal(number, terminate)

    say = sys.unraisablehook
    again: list[threading.Timer] = []

    def lost(unraisable: Any) -> None:
        error = unraisable.exc_value
        if not isinstance(error, (KeyboardInterrupt, _Terminated)):
            say(unraisable)
            return
        _lost.append(error)
        heed()
        number = signal.SIGINT if isinstance(error, KeyboardInterrupt) else error.args[0]
        again.append(threading.Timer(_AGAIN_SECONDS, signal.raise_signal, [number]))
        again[-1].start()

    heed()
    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = say
        for timer in again:
            timer.cancel()
        _lost.clear()
        for number, handler in before.items():
            signal.signal(number, handler)


def _signal_behind(error: BaseException) -> BaseException | None:
    """Return the Ctrl-C or the signal without which this error would not be; None without one.

    What was under way may fail as it is left, and what C called may fail without what Python lost.
    """
    behind: BaseException | None = error
    while behind is not None and not isinstance(behind, (KeyboardInterrupt, _Terminated)):
        behind = behind.__context__
    return behind or next(iter(_lost), None)


def _drop_stdout() -> None:
    """Send what stdout cannot take nowhere, so that it does not fail again when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _ended(error: BaseException) -> int:
    """Say that Ctrl-C or a signal ended the command; return its status."""
    interrupted = isinstance(error, KeyboardInterrupt)
    with suppress(OSError):  # of a terminal that is closed
        print(f"crossview: {'interrupted' if interrupted else 'terminated'}", file=sys.stderr)
    return 130 if interrupted else 128 + error.args[0]


def _refuse(message: str, status: int = 2) -> int:
    print(f"crossview: error: {' '.join(message.split())}", file=sys.stderr)
    return status
