"""The command ``crossview``: thin, library calls only."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from crossview.cli.words import as_options, never_fail_to_print
from crossview.errors import InputError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; errors in the input are printed as one line on stderr.

    Parameters
    ----------
    argv : sequence of str, default=None
        The arguments; None: those of the process.

    Returns
    -------
    int
        The exit status: 0, 2 for bad input, 130 where interrupted.

    Examples
    --------
    >>> from crossview.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    crossview 0...
    0
    """
    try:
        import typer

        from crossview.cli.app import app
    except ImportError as error:
        return _refuse(f"the command line needs {error.name}: pip install 'crossview[cli]'")
    command = typer.main.get_command(app)
    never_fail_to_print()
    try:
        status = command.main(
            args=None if argv is None else list(argv),
            prog_name="crossview",
            standalone_mode=False,
        )
    except KeyboardInterrupt:
        status = 130
    except InputError as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except Exception as error:
        if hasattr(error, "format_message"):  # typer's own, whichever click it carries
            path = getattr(getattr(error, "ctx", None), "command_path", "crossview")
            return _refuse(f"{error.format_message().rstrip('.')} (see {path} --help)")
        if type(error).__name__ == "InvalidParameterError":  # scikit-learn's, without importing it
            return _refuse(str(error))
        raise  # a bug
    if status == 130:
        print("crossview: interrupted", file=sys.stderr)
    return status if isinstance(status, int) else 0


def _refuse(message: str) -> int:
    words = as_options(" ".join(message.split()))
    print(f"crossview: error: {words}", file=sys.stderr)
    return 2
