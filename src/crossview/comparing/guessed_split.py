"""The folds that a comparison makes where nobody has said which."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from crossview.comparing.folds.splits import Protocol, split_rows
from crossview.comparing.result.comparison import Comparison
from crossview.comparing.run import Run
from crossview.data.labeled import LabeledSource
from crossview.errors import InputError
from crossview.scoring.neighbors import find_split

# seconds of the budget after which no test begins
SHARE_OF_BUDGET = 0.1


class GuessedSplit(NamedTuple):
    """Folds, the rows for them, and what is said of them.

    source: the rows, without the column of groups.
    lines: why they are split so, a line for each reason.
    """

    source: LabeledSource
    protocol: Protocol
    groups: str | None = None
    lines: list[str] = []  # noqa: RUF012


def guess_split(
    run: Run, source: LabeledSource, protocol: Protocol, rope: float, extend: Comparison | None
) -> GuessedSplit:
    """Return folds in order or by groups, if random folds promise too much; otherwise random ones.

    run: what is predicted, the seed and the budget.
    protocol: random folds.
    rope: differences in the metric up to this are none.
    extend: an earlier comparison: the folds are made as there.
    """
    if extend is not None:
        found = _split(source, protocol, extend.groups, extend.in_order)
        return found._replace(lines=extend.split_lines)
    deadline = time.monotonic() + SHARE_OF_BUDGET * run.budget
    try:
        finding = find_split(source, run.problem, rope=rope, seed=run.seed, deadline=deadline)
    except InputError:  # the comparison reads the rows, too, and says where they are wrong
        return GuessedSplit(source, protocol)
    if finding.choice is None:
        return GuessedSplit(source, protocol, None, finding.lines())
    column = finding.choice.column
    try:
        found = _split(source, protocol, column, column is None)
        _check(run, found)
    except InputError as error:
        return GuessedSplit(source, protocol, None, finding.lines(error.message))
    return found._replace(lines=finding.lines())


def _split(
    source: LabeledSource, protocol: Protocol, groups: str | None, in_order: bool
) -> GuessedSplit:
    """The folds by a column of groups or in order, and the rows without that column."""
    if groups is None:
        return GuessedSplit(source, replace(protocol, in_order=in_order))
    return GuessedSplit(source.grouped_by(groups), protocol, groups)


def _check(run: Run, found: GuessedSplit) -> None:
    """Raise an error if there are no such folds of these rows."""
    rows, protocol = list(found.source.read()), found.protocol
    y = np.concatenate([batch.y for batch in rows])
    labeled, _ = run.by_label(y)
    if found.groups is not None:
        groups = np.concatenate([batch.groups for batch in rows if batch.groups is not None])
        protocol = protocol.by_groups(groups[labeled])
    split_rows(run, y[labeled], protocol)
