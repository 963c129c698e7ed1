"""What learners share, in layers, one file each.

`RowReader` reads rows of any kind; `ViewLearner` adds `fit` and the state, `ViewClassifier` labels
and classes, `LinearClassifier` a weight for every column.  `OnlineLearner` makes passes over the
rows; `OnlineClassifier`, `OnlineRegressor` and `LinearOnlineClassifier` are the contract of a
stream.  A learner says what its state is, and how a batch is learned (`_learn`, or `_fit` for all
rows at once); the rest is here.
"""

from crossview.estimators.base.classifier import ViewClassifier
from crossview.estimators.base.learner import ViewLearner
from crossview.estimators.base.linear import LinearClassifier, LinearOnlineClassifier
from crossview.estimators.base.online import OnlineLearner
from crossview.estimators.base.online_classifier import OnlineClassifier
from crossview.estimators.base.online_regressor import OnlineRegressor
from crossview.estimators.base.rows import RowReader

__all__ = [
    "LinearClassifier",
    "LinearOnlineClassifier",
    "OnlineClassifier",
    "OnlineLearner",
    "OnlineRegressor",
    "RowReader",
    "ViewClassifier",
    "ViewLearner",
]
