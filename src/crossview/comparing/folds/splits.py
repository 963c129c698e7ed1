"""Splits of the rows: into training and test parts, and these for tuning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from crossview.comparing.run import Run
from crossview.errors import InputError, argument
from crossview.scoring.problems import Classification, fill_folds
from crossview.scoring.results import in_percent

# an inner validation with three folds up to this many rows, one split beyond
MOST_ROWS_FOR_INNER_FOLDS = 50_000
# of rows in the order of time, the last ones choose the parameters
SHARE_AT_THE_END = 0.2
# classes that are left out, by name
MOST_SHOWN = 5

Split = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Protocol:
    """Protocol of the folds.

    repeats: how often, each time shuffled anew.
    groups (n_samples,): rows of the same group are never on both sides of a split.
    in_order: whether the rows are in the order of time: those of a test fold come after all of its
      training rows.
    """

    cv: int = 5
    repeats: int = 1
    groups: np.ndarray | None = None
    in_order: bool = False

    def check(self) -> None:
        """Raise an error for numbers that make no folds."""
        if self.cv < 2:
            raise InputError(f"{argument(cv=self.cv)}; give 2 folds or more")
        if self.repeats < 1:
            raise InputError(f"{argument(repeats=self.repeats)}; give 1 or more")
        if self.in_order and self.repeats > 1:
            raise InputError(
                f"{argument(repeats=self.repeats)}: folds in the order of time are the same each "
                "time; leave repeats out"
            )
        if self.in_order and self.groups is not None:
            raise InputError("folds are by groups or in the order of time; leave one of them out")

    def by_groups(self, groups: np.ndarray) -> Protocol:
        """Return the protocol with the groups of the rows, of which each fold has one at least."""
        n = len(np.unique(groups))
        if n < 2:
            raise InputError(
                f"all rows are of one group, and folds by groups take two; leave "
                f"{argument('groups')} out"
            )
        return replace(self, cv=min(self.cv, n), groups=groups)


@dataclass(frozen=True)
class FoldRows:
    """The rows of one fold: positions among the labeled rows; ``inner`` within ``train``."""

    train: np.ndarray
    test: np.ndarray
    inner: list[Split]

    @property
    def test_share(self) -> float:
        """Rows of the test fold, by all that the fold uses."""
        return len(self.test) / (len(self.test) + len(self.train))


def rare_line(rows: Mapping[Any, int], cv: int, others: int) -> str:
    """Say which classes are left out, by their rows, and with how many folds some are not.

    others: number of rows of the other classes.
    """
    n_rows = sum(rows.values())
    shown = [f"{label!r} ({n})" for label, n in rows.items()]
    if len(shown) > MOST_SHOWN:
        shown[MOST_SHOWN:] = [f"{len(shown) - MOST_SHOWN} more"]
    possible = [n for n in rows.values() if fill_folds(n, n)]
    more = (
        f"; {argument(cv=min(possible))} keeps those of {min(possible)} rows and more"
        if possible
        else ""
    )
    return (
        f"classes with too few rows for {cv} folds are left out of the comparison, and with them "
        f"{in_percent(n_rows / (n_rows + others))} of the rows, of which it says nothing (rows of "
        f"each): {', '.join(shown)}; train learns them{more}"
    )


def split_rows(run: Run, y: np.ndarray, protocol: Protocol, unlabeled: int = 0) -> list[FoldRows]:
    """Return the folds of all repetitions, the same for every learner.

    y (n_samples,): the labels of the labeled rows.
    unlabeled: number of rows without label, for messages.
    """
    protocol.check()
    run.problem.check_folds(y, protocol.cv, unlabeled)
    folds = []
    for repeat in range(protocol.repeats):
        for train, test in _outer(run, y, protocol, run.seed + repeat):
            _check_classes(run, y, train, test, protocol)
            groups = None if protocol.groups is None else protocol.groups[train]
            folds.append(FoldRows(train, test, _inner(run, y[train], groups, protocol.in_order)))
    smallest = min(len(part) for fold in folds for part in (fold.test, *(b for _, b in fold.inner)))
    run.check_rows(smallest, "a test fold, or a part of the training rows that chooses parameters,")
    return folds


def _outer(run: Run, y: np.ndarray, protocol: Protocol, seed: int) -> list[Split]:
    if protocol.in_order:
        return list(TimeSeriesSplit(protocol.cv).split(y))
    splitter = run.problem.folds(protocol.cv, seed, grouped=protocol.groups is not None)
    return list(splitter.split(np.zeros(len(y)), y, protocol.groups))


def _inner(run: Run, y: np.ndarray, groups: np.ndarray | None, in_order: bool) -> list[Split]:
    """The splits of a training part that choose parameters; of one group those of any rows."""
    n = len(y)
    n_groups = 0 if groups is None else len(np.unique(groups))
    groups = groups if n_groups > 1 else None
    if in_order:
        first = n - max(1, round(n * SHARE_AT_THE_END))
        return [(np.arange(first), np.arange(first, n))]
    if n > MOST_ROWS_FOR_INNER_FOLDS and groups is None:
        splitter = run.problem.one_split(run.seed)
    else:
        splitter = run.problem.inner_folds(y, run.seed, n_groups)
    splits = list(splitter.split(np.zeros(n), y, groups))
    if isinstance(run.problem, Classification) and groups is not None:
        splits = [one for one in splits if _is_learned_and_scored(run, y, *one)]
        if not splits:
            return _inner(run, y, None, in_order)
        # a model of all classes says more
        splits = [one for one in splits if not len(np.setdiff1d(y, y[one[0]]))] or splits
    return splits[:1] if n > MOST_ROWS_FOR_INNER_FOLDS else splits


def _is_learned_and_scored(run: Run, y: np.ndarray, rest: np.ndarray, held_out: np.ndarray) -> bool:
    """Return whether both parts have two classes, where they need them."""
    parts = (rest, held_out) if run.problem.ranks else (rest,)
    return all(len(np.unique(y[part])) > 1 for part in parts)


def _check_classes(
    run: Run, y: np.ndarray, train: np.ndarray, test: np.ndarray, protocol: Protocol
) -> None:
    """Refuse parts that lack classes, as parts by time or groups may."""
    if not isinstance(run.problem, Classification):
        return
    lacking = np.setdiff1d(y, y[train])
    if len(lacking):
        how = (
            f"; compare models that meet it when it comes: {argument(progressive=True)}, or"
            if protocol.in_order
            else ", as the groups that are held out have all of its rows;"
        )
        raise InputError(
            f"class {lacking.tolist()[0]!r} is missing in the training rows of a fold{how} leave "
            "the class out"
        )
    if run.problem.ranks and (y[test] == y[test[0]]).all():
        fewer = "take fewer folds, or " * (protocol.cv > 2)
        raise InputError(
            f"a test fold has class {y[test].tolist()[0]!r} only, for which {run.metric} is not "
            f"defined; {fewer}give another metric, such as {argument(scoring='log_loss')}"
        )


def draw_rows(problem: Any, y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return the sorted positions of about n rows that are drawn.

    Each class is drawn in proportion, but at least three of it, if it has them; of numbers to
    predict any n rows are.

    >>> import numpy as np
    >>> from crossview.comparing.folds.splits import draw_rows
    >>> from crossview.scoring.problems import Classification
    >>> y = np.array(["a"] * 20 + ["b"] * 80 + ["c"] * 2)
    >>> drawn = draw_rows(Classification(np.unique(y)), y, 20, seed=0)
    >>> [str(label) for label in y[drawn]].count("b"), len(drawn)
    (16, 22)
    """
    if n >= len(y):
        return np.arange(len(y))
    rng = np.random.default_rng(seed)
    if not isinstance(problem, Classification):
        return np.sort(rng.choice(len(y), n, replace=False))
    parts = []
    for label in np.unique(y):
        here = np.flatnonzero(y == label)
        size = min(len(here), max(3, round(n * len(here) / len(y))))
        parts.append(rng.choice(here, size, replace=False))
    return np.sort(np.concatenate(parts))
