"""Base classes of the learners, one per file.

`RowReader` converts the input to rows; `ViewLearner` adds `fit` and the learned state,
`ViewClassifier` labels and classes, `ViewRegressor` predictions, `LinearClassifier` a weight per
column.  `OnlineLearner` makes
passes over the rows; `OnlineClassifier`, `OnlineRegressor` and `LinearOnlineClassifier` add
`partial_fit`, `learn_one` and `score_then_learn`.  A subclass defines its state and how it learns
from a batch (`_learn`), or from all rows in a batch solver (`_fit`).
"""

from crossview.estimators.base.classifier import ViewClassifier
from crossview.estimators.base.explained import ColumnWeights
from crossview.estimators.base.learner import ViewLearner
from crossview.estimators.base.linear import LinearClassifier, LinearOnlineClassifier
from crossview.estimators.base.merged import Parts
from crossview.estimators.base.online import OnlineLearner
from crossview.estimators.base.online_classifier import OnlineClassifier
from crossview.estimators.base.online_regressor import OnlineRegressor
from crossview.estimators.base.regressor import ViewRegressor
from crossview.estimators.base.rows import RowReader

__all__ = [
    "ColumnWeights",
    "LinearClassifier",
    "LinearOnlineClassifier",
    "OnlineClassifier",
    "OnlineLearner",
    "OnlineRegressor",
    "Parts",
    "RowReader",
    "ViewClassifier",
    "ViewLearner",
    "ViewRegressor",
]
