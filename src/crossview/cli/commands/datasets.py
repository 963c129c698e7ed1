"""``crossview datasets``."""

from __future__ import annotations

import sys

from crossview import datasets as bundled
from crossview.cli.opening import STANDARD, standard_output

__all__ = ["run"]


def run(name: str, output: str) -> None:
    """``crossview datasets``."""
    with standard_output(output, ".csv") as file:
        bundled.write(name, file)
    if output != STANDARD:
        print(f"wrote {output}", file=sys.stderr)
