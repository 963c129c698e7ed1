"""``python -m crossview`` is the command ``crossview``."""

import sys


def process() -> None:
    """Be the process of a command; Ctrl-C is one line, also while its modules load."""
    try:
        from crossview.cli import process

        process()
    except KeyboardInterrupt:
        print("crossview: interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    process()
