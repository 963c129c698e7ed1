"""Learners without weights of columns that know how much each column changes the prediction."""

from __future__ import annotations

import numpy as np

from crossview.estimators.base.learner import ColumnWeights, ViewLearner, rows_with_views
from crossview.kernels.rows import Rows


class ImportancesModel(ViewLearner):
    """Base class of learners whose state has ``importances``, one of each column."""

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in what the model says of the rows; the sum is 1."""
        return self._columns.spread(self._learned["importances"]).copy()

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        return self._scores_alone(rows, rows_with_views)

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(None, importance=self.feature_importances_[None])
