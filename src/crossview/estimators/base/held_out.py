"""Rows that `fit` holds out: whole groups, where rows belong together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from crossview.estimators.targets import row_weights

Split = tuple[np.ndarray, np.ndarray]

# of more groups chance has each class in proportion, and sharing them out by class takes seconds
MOST_BY_CLASS = 2000
# rows of a fit that takes longer than a process to start
FEWEST_OF_PROCESS = 2000


class Part(NamedTuple):
    """Rows to fit a learner to: some of X, or all of them."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None
    rows: np.ndarray | None = None

    @property
    def n_rows(self) -> int:
        """How many rows these are."""
        return len(self.y if self.rows is None else self.rows)


def fit_parts(learner: Any, parts: Sequence[Part]) -> Iterator[Any]:
    """Yield a copy of a learner, fitted to each part.

    Those that keep one core busy are fitted side by side by processes, as
    `joblib.parallel_config` says.  A fit warns of nothing: that of all rows has done so.
    """
    learners = [clone(learner) for _ in parts]
    n_workers = 1
    if learner.fits_on_one_core and min(part.n_rows for part in parts) >= FEWEST_OF_PROCESS:
        # they take long to load
        from joblib import cpu_count, effective_n_jobs
        from joblib.parallel import get_active_backend

        # threads would take turns, and restore each other's limits
        if not getattr(get_active_backend()[0], "supports_sharedmem", False):
            n_workers = min(int(effective_n_jobs(None)), len(parts))
    if n_workers == 1:
        yield from map(_fit, learners, parts)
        return
    from crossview.jobs.jobs import Call, Jobs

    jobs = Jobs(n_workers, max(1, cpu_count() // n_workers))
    calls = [Call(i, _fit, one) for i, one in enumerate(zip(learners, parts, strict=True))]
    yield from (fitted for _, fitted in sorted(jobs.run(calls), key=itemgetter(0)))


def _fit(learner: Any, part: Part) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if part.rows is None:
            return learner.fit(part.X, part.y, part.weight)
        weight = None if part.weight is None else part.weight[part.rows]
        return learner.fit(part.X[part.rows], part.y[part.rows], weight)


def groups_to_fit(X: Any, sample_weight: Any) -> np.ndarray | None:
    """Return the group of each row of X that has a weight other than 0, as `groups_of` does."""
    if getattr(X, "groups", None) is None:
        return None
    return groups_of(X, np.flatnonzero(row_weights(sample_weight, len(X))))


def groups_of(X: Any, at: np.ndarray | slice) -> np.ndarray | None:
    """Return the group of each row at these positions of X, from 0; None: rows stand alone."""
    groups = getattr(X, "groups", None)
    if groups is None:
        return None
    codes = np.unique(groups[at], return_inverse=True)[1]
    return codes if codes.max(initial=0) else None


def notes_of_alone(groups: np.ndarray) -> list[str]:
    """Return a line that says how many rows have no group."""
    n = int((groups < 0).sum())
    rows = "1 row without a group stands" if n == 1 else f"{n:,} rows without a group stand"
    return [f"{rows} alone"] if n else []


def folds_to_fit(
    n_folds: int, n: int, codes: np.ndarray | None, groups: np.ndarray | None, seed: Any
) -> list[Split]:
    """Return the rest and the held-out rows of each fold.

    codes (n,): the class of each row, of which each fold has its share; None: numbers are learned.
    groups (n,): rows of one group are in one fold, and there are no more folds than groups; rows
      stand alone if otherwise a class would not be learned in a fold.
    """
    if groups is not None:
        folds = folds_of_groups(n_folds, codes, groups, seed)
        if not any(len(rows_of_new_classes(codes, *fold)) for fold in folds):
            return folds
    # it takes long to load
    from sklearn import model_selection

    kind = model_selection.KFold if codes is None else model_selection.StratifiedKFold
    y = np.zeros(n) if codes is None else codes
    return _split(kind(n_folds, shuffle=True, random_state=seed), y, None)


def folds_of_groups(
    n_folds: int, codes: np.ndarray | None, groups: np.ndarray, seed: Any
) -> list[Split]:
    """Return the rest and the held-out rows of folds of whole groups; no more than groups."""
    # it takes long to load
    from sklearn import model_selection

    n_folds = min(n_folds, int(groups.max()) + 1)
    kind = model_selection.GroupKFold
    if codes is not None and groups.max() < MOST_BY_CLASS:
        kind, n_folds = model_selection.StratifiedGroupKFold, min(n_folds, np.bincount(codes).max())
    return _split(kind(n_folds, shuffle=True, random_state=seed), codes, groups)


def _split(splitter: Any, codes: np.ndarray | None, groups: np.ndarray | None) -> list[Split]:
    with warnings.catch_warnings():  # of a class that is not in each fold
        warnings.simplefilter("ignore")
        folds = splitter.split(codes if groups is None else groups, codes, groups)
        return [(rest, held_out) for rest, held_out in folds if len(held_out)]


def rows_of_new_classes(
    codes: np.ndarray | None, rest: np.ndarray, held_out: np.ndarray
) -> np.ndarray:
    """Return the held-out rows of classes that no other row has."""
    if codes is None:
        return held_out[:0]
    return held_out[~np.isin(codes[held_out], codes[rest])]
