"""Online stacking of several learners that learn in the same pass."""

from crossview.estimators.stacking.classifier import OnlineStackingClassifier
from crossview.estimators.stacking.regressor import OnlineStackingRegressor

__all__ = ["OnlineStackingClassifier", "OnlineStackingRegressor"]
