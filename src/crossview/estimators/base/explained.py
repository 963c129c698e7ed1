"""Weights of the columns, and what each column contributes to a score."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from crossview.batch import entries_of, rows_at
from crossview.estimators.base.merged import MergeableLearner
from crossview.kernels.rows import Rows

__all__ = ["ColumnWeights", "ExplainedLearner"]

# entries times scores that are explained at a time, which bounds the memory
ENTRIES_AT_ONCE = 1 << 17


class ColumnWeights(NamedTuple):
    """The weights of a learner, in the order of the columns of X; see `column_weights`."""

    weight: np.ndarray | None
    variance: np.ndarray | None = None
    factor_norm: np.ndarray | None = None
    importance: np.ndarray | None = None


class ExplainedLearner(MergeableLearner):
    """Base class of all learners: weights of columns, and their contributions to the score."""

    # --- to be implemented by subclasses ------------------------------------------------

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        """Return what each entry of the rows contributes to each score, (n_entries, n_scores)."""
        raise NotImplementedError

    def _column_weights(self) -> ColumnWeights:
        """Return the weights of the columns."""
        raise NotImplementedError

    def check_weights(self) -> None:
        """Raise `InputError` if the learner has no weights of columns."""

    def _score_scale(self) -> float:
        """Return the unit of a score: what a prediction grows by where a score grows by 1."""
        return 1.0

    # --- weights and contributions ------------------------------------------------------

    def column_weights(self) -> ColumnWeights:
        """Return the weight of each column, and what is known of it.

        Returns
        -------
        weights : ColumnWeights
            ``weight``: coefficients of the columns in the score, ndarray of shape (n_scores,
            n_features); those of a regressor are in standard deviations of the target.  None if
            the score has products of columns only.  ``variance``: variances of the weights,
            (n_features,), where there is a covariance.  ``factor_norm``: Euclidean norms of the
            factors that interact, (n_scores, n_features), where columns interact.
            ``importance``: of trees, the share of each column in what the splits gained,
            (1, n_features).

        Raises
        ------
        InputError
            The learner has no weights of columns: its kernel is not linear, or it is a stack,
            whose experts have them.
        """
        check_is_fitted(self, "_state")
        self.check_weights()
        return self._column_weights()

    def contributions(self, X: Any) -> sp.csr_array:
        """Return what each column contributes to the score of each row.

        The contribution of a column is what the score loses without the column, while all others
        and the number of views stay.  Where the score is a sum over columns, this is the weight
        times the value, and the contributions and the intercepts add up to the score.  Where
        columns interact, a product of two columns counts for both.  A stack combines the scores
        of its experts without the column.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or MultiView of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        contributions : CSR array of shape (n_samples, n_features)
            To the score of `decision_function`, with more than two classes to that of the class
            with the highest score; of a regressor to the prediction.

        Raises
        ------
        InputError
            The learner has no weights of columns: its kernel is not linear.
        """
        check_is_fitted(self, "_state")
        self.check_weights()
        rows = self._read(X, reset=False)
        row, column = entries_of(rows)
        values, at = np.empty(len(row)), 0
        for positions in _blocks(rows, ENTRIES_AT_ONCE // self._n_scores()):
            part = rows_at(rows, positions)
            found = self._entry_contributions(part)
            end = at + len(found)
            chosen = np.zeros(len(found), dtype=np.intp)
            if found.shape[1] > 1:
                chosen = self._joint_scores(part).argmax(axis=1)[row[at:end] - positions[0]]
            values[at:end] = found[np.arange(len(found)), chosen]
            at = end
        values *= self._score_scale()
        column = self._columns_of_slots()[column]
        shape = (len(rows.indptr) - 1, self.n_features_in_)
        found = sp.csr_array((values, (row, column)), shape=shape)
        found.eliminate_zeros()
        return found

    def _columns_of_slots(self) -> np.ndarray:
        """Return the column of X that each column of the state is."""
        if self._column_map is None:
            return np.concatenate(list(self.view_columns().values()))
        used = np.flatnonzero(self._column_map >= 0)
        columns = np.zeros(self._slots.n_columns, dtype=np.int64)  # spare ones have no entries
        columns[self._column_map[used]] = used
        return columns

    def _n_scores(self) -> int:
        """Return the number of scores per row."""
        raise NotImplementedError

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        """Return the scores of the rows, (n_samples, n_scores)."""
        raise NotImplementedError


def _blocks(rows: Rows, most: int) -> Iterator[np.ndarray]:
    """Yield the positions of consecutive rows that have this number of entries, or a single one."""
    ends = rows.indptr[1:].astype(np.int64)
    cuts, n = [0], len(ends)
    while cuts[-1] < n:
        entries = int(rows.indptr[cuts[-1]]) + max(most, 1)
        cuts.append(max(int(np.searchsorted(ends, entries, side="right")), cuts[-1] + 1))
    for lo, hi in pairwise(cuts):
        yield np.arange(lo, hi)
