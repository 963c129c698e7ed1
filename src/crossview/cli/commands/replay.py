"""``crossview replay``."""

from __future__ import annotations

import sys
import warnings

from crossview.cli.loading import load_heavy
from crossview.cli.output import compiling_as_line
from crossview.errors import UnusedColumnsWarning

OPTIONS = """
data DIR: The folder of `serve`.
--output, -o FILE: Write the model at the end of the log.
"""


def run(
    data: str,
    output: str | None = None,
) -> int:
    """Learn the log of a server again, and compare the model with its snapshots.

    All records are checked. The status is 1 if a snapshot has other bytes than
    the model that is learned again.
    """
    load_heavy()
    from crossview.serving.folder import replay

    with warnings.catch_warnings(), compiling_as_line():
        warnings.simplefilter("ignore", UnusedColumnsWarning)  # the server has told of them
        found = replay(data, output=output)
    per_second = found.labels / max(found.seconds, 1e-9)
    print(f"{found.labels:,} labels, {found.seconds:.1f} s, {per_second:,.0f} labels/s")
    for words, labels in (("same bits", found.same), ("OTHER BITS", found.different)):
        for one in labels:
            print(f"snapshot after {one:,} labels: {words}")
    if not (found.same or found.different):
        print("no snapshot to compare with")
    if output is not None:
        print(f"wrote {output}", file=sys.stderr)
    return 1 if found.different else 0
