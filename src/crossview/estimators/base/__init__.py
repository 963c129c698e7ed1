"""The base classes of the learners, and what learners are composed of.

`ViewLearner` has the parameters, the columns and the learned state of every learner;
`ViewClassifier` and `ViewRegressor` predict; `OnlineClassifier` and `OnlineRegressor` learn from a
stream; `LinearClassifier` and `LinearOnlineClassifier` have a weight per column.  A learner is
composed of `Columns`, which read rows, and of the parts of its state: each `StatePart` initializes,
checks, saves, merges and grows arrays of its own, as `Calibrator` does those of probabilities.

A subclass names its parts, and says how it learns from a batch (`_learn`), or from all rows in a
batch solver (`_fit`).
"""

from crossview.estimators.base.calibration import Calibrator
from crossview.estimators.base.classifier import ViewClassifier
from crossview.estimators.base.columns import Columns
from crossview.estimators.base.learner import ColumnWeights, ImportancesModel, Takes, ViewLearner
from crossview.estimators.base.linear import LinearClassifier, LinearOnlineClassifier
from crossview.estimators.base.online import OnlineClassifier
from crossview.estimators.base.regressor import OnlineRegressor, ViewRegressor
from crossview.estimators.base.state import LearnedState, Models, Schema, State, StatePart

__all__ = [
    "Calibrator",
    "ColumnWeights",
    "Columns",
    "ImportancesModel",
    "LearnedState",
    "LinearClassifier",
    "LinearOnlineClassifier",
    "Models",
    "OnlineClassifier",
    "OnlineRegressor",
    "Schema",
    "State",
    "StatePart",
    "Takes",
    "ViewClassifier",
    "ViewLearner",
    "ViewRegressor",
]
