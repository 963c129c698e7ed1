"""``crossview replay``."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from crossview.cli.loading import load_heavy
from crossview.cli.output import compiling_as_line
from crossview.errors import GuessWarning, UnusedColumnsWarning

OPTIONS = """
data DIR: The folder of `serve`.
--output, -o FILE: Write the model at the end of the log.
--challenger FILE: Another model: would it have been better? It learns the same labels, each after
    it was scored. One that has learned rows of this log before seems better than it is: a
    warning says so. Once for each.
--frozen-challenger FILE: The same, of a model that learns nothing more.
"""


def run(
    data: str,
    output: str | None = None,
    challenger: list[str] | None = None,
    frozen_challenger: list[str] | None = None,
) -> int:
    """Learn the log of a server again, and compare the model with its snapshots.

    All records are checked. The status is 1 if a snapshot has other bytes than
    the model that is learned again, or is damaged. With --challenger another model is compared
    with what was served, by an interval of 95 % that holds whenever one looks.
    """
    load_heavy()
    from crossview.serving.storage.folder import replay

    with warnings.catch_warnings(), compiling_as_line():
        for told in (GuessWarning, UnusedColumnsWarning):  # by the server
            warnings.simplefilter("ignore", told)
        found = replay(
            data,
            output=output,
            challengers=challenger or [],
            frozen_challengers=frozen_challenger or [],
        )
    per_second = found.labels / max(found.seconds, 1e-9)
    print(f"{found.labels:,} labels, {found.seconds:.1f} s, {per_second:,.0f} labels/s")
    for words, labels in (("same bits", found.same), ("OTHER BITS", found.different)):
        for one in labels:
            print(f"snapshot after {one:,} labels: {words}")
    for one, why in found.damaged.items():
        print(f"snapshot after {one:,} labels: DAMAGED, so that no server goes on from it: {why}")
    if not (found.same or found.different or found.damaged):
        print("no snapshot to compare with")
    for summary in found.challengers:
        print(_compared(summary))
        if summary["learned"]:
            print(
                f"crossview: warning: {summary['name']}: {summary['learned']:.0%} of the rows of "
                "the log are equal to rows that it has learned before, so it seems better than it "
                "is",
                file=sys.stderr,
            )
        elif summary["learned"] is None and summary["labels_served"]:
            print(
                f"crossview: warning: {summary['name']}: it has learned "
                f"{summary['labels_served']:,} labels from a server; if they are those of this "
                "log, as replay -o writes, it seems better than it is",
                file=sys.stderr,
            )
    if output is not None:
        print(f"wrote {output}", file=sys.stderr)
    return 1 if found.different or found.damaged else 0


def _compared(one: dict[str, Any]) -> str:
    """Return what is known of a challenger, in a line."""
    name = f"{one['name']}, frozen" if one["frozen"] else one["name"]
    if one["low"] is None:
        return f"{name}: too few labels to compare it ({one['labels']:,})"
    return (
        f"{name}: {one['is']}; loss {one['loss']:.4g}, of what was served "
        f"{one['loss_of_served']:.4g}, lower by {one['difference']:.4g} "
        f"({one['low']:.4g} to {one['high']:.4g}) over {one['labels']:,} labels"
    )
