"""Single rows of a stream: methods that online classifiers and regressors have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from crossview.errors import DivergedError
from crossview.estimators.targets import row_weights
from crossview.views import MultiView, OneRow, check_rows

Learner = TypeVar("Learner")


def check_learned(nonfinite_row: int, *, alone: bool = False) -> None:
    """Raise an error if a pass has left out rows, of which this is one."""
    if nonfinite_row >= 0:
        rest = " All rows that can be learned were." * (not alone)
        which = "the row" if alone else "such rows"
        raise DivergedError(
            "is too large or too small to be learned: its squared norm, or the step that it "
            f"takes, is not finite.{rest} Scale the columns, or leave {which} out",
            row=None if alone else int(nonfinite_row),
        )


@contextmanager
def forgetting_if(learner: Any, first: bool) -> Iterator[None]:
    """Delete what was learned if the ``first`` rows are refused."""
    try:
        yield
    except ValueError:
        if first:
            learner._forget()
        raise


def learn_between_restarts(
    learner: Any, X: Any, y: Any, sample_weight: Any, learn: Callable[..., Any]
) -> list[Any] | None:
    """Learn rows between which weights begin anew; None if there are none such.

    learn: takes rows, labels and weights.
    Returns what it returns, of each part.
    """
    if not isinstance(X, MultiView) or not any(len(found) for _, found in X.restarts or ()):
        return None
    assert X.restarts is not None
    check_rows(X, y=y, sample_weight=sample_weight)
    # of a stack: how late the labels come, and what its experts said when rows were predicted
    delays, said = (learner.__dict__.get(name) for name in ("_delays", "_said_then"))
    if delays is not None or said is not None:
        learner._check_batch(len(X))
    wrong, found = None, list[Any]()
    without: list[Any] = []  # the scores of a stack without its memory
    cuts = [0, *(row for row, _ in X.restarts), len(X)]
    columns = [np.empty(0, dtype=np.int64), *(some for _, some in X.restarts)]
    for (begin, end), restarted in zip(pairwise(cuts), columns, strict=True):
        learner._restart(restarted)
        if begin == end:
            continue
        own = slice(begin, end)
        part = X[own]
        part.restarts = []
        if delays is not None or said is not None:
            delay = learner._delay[0] if delays is None else delays[own]
            learner.set_delay(delay, None if said is None else said[own])
        weight = sample_weight if np.ndim(sample_weight) == 0 else sample_weight[own]
        try:
            found.append(learn(part, y[own], weight))
        except DivergedError as error:  # all other rows are learned
            wrong = DivergedError(error.message, row=begin + (error.row or 0))
        without.append(learner.__dict__.get("_scores_without_memory"))
    if without[-1] is not None:
        learner.__dict__.update(_scores_without_memory=np.concatenate(without))
    if wrong is not None:
        raise wrong
    return found


def check_streams(self: Any) -> None:
    """Raise an error if these parameters do not allow `partial_fit`.

    Raises
    ------
    InputError
        The message names the parameter that needs all rows in memory.
    """


def learn_one(self: Learner, x: Any, y: Any, sample_weight: float = 1.0) -> Learner:
    """Learn from one row.

    Parameters
    ----------
    x : mapping, array-like of shape (n_features,), or sparse matrix or MultiView of one row
        A mapping of views to mappings of features to numbers, a mapping of features to numbers
        (one view), or an array.  An absent view is missing; an absent feature is 0.  If the
        first row is a mapping, later rows may have new features and new views.
    y : label or float
        Its class, which may be new; for a regressor its target.
    sample_weight : float, default=1.0
        Weight of the row.

    Returns
    -------
    self : object
        The learner.
    """
    learner: Any = self
    if type(x) is OneRow and x.restarts is not None:
        learner._restart(x.restarts)
    road = learner._road_kind.find(learner, x)
    if road is not None:
        with road.lock:
            wrong = road.learn_row(x, y, sample_weight)
        if wrong is not None:
            check_learned(wrong, alone=True)
            return self
    labeled = learner.check_one(y, sample_weight)
    with forgetting_if(learner, not hasattr(learner, "_state")):
        learner._learn_row(x, y if labeled else None, sample_weight)
    return self


def check_one(self: Any, y: Any, sample_weight: float = 1.0) -> bool:
    """Raise an error if `learn_one` cannot learn this label or target.

    Parameters
    ----------
    y : label or float
        As for `learn_one`.
    sample_weight : float, default=1.0
        Weight of the row.

    Returns
    -------
    labeled : bool
        False for a missing label, from which a learner of unlabeled rows learns.

    Raises
    ------
    InputError
        The message says what is wrong with it.
    """
    # all checks come before a change: a row that cannot be learned leaves no trace
    road = self.__dict__.get("_road")
    if isinstance(road, self._road_kind) and road.knows(y, sample_weight):
        return True
    if not hasattr(self, "_state"):
        self.check_params()
    self.check_streams()
    labeled = self._check_target(y)
    row_weights(sample_weight, 1)
    return labeled
