"""The baselines: what somebody would do with scikit-learn alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_selection import f_regression
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from crossview.baselines.adapter import PipelineClassifier, PipelineRegressor, Shape
from crossview.baselines.matrix import ViewMatrix
from crossview.catalog.names import load_object
from crossview.estimators.documentation import document_parameters, with_parameters

# columns for gradient boosting: of 500 the time doubles, and the scores are the same
MAX_COLUMNS = 250
# bins of each column: of 255, the default, a fit takes twice as long, and the scores are the same
BINS = 63
# beyond this many rows gradient boosting stops early
ROWS_TO_STOP_EARLY = 10_000
# parameters of a model that the user names
GIVEN = {
    "arguments": ("mapping of str to value", "Arguments of the class."),
    "random_state": ("int", "For a class that takes one, unless it is among the arguments."),
}


def _boosting(max_leaf_nodes: int, data: Shape) -> dict[str, Any]:
    """Return the parameters of gradient boosting for this many rows and classes."""
    parameters: dict[str, Any] = {"max_leaf_nodes": max_leaf_nodes, "max_bins": BINS}
    parameters["random_state"] = 0
    if data.n_rows > ROWS_TO_STOP_EARLY:
        return parameters | {"max_iter": 300, "early_stopping": True}
    parameters["early_stopping"] = False
    # each iteration fits a tree per class: fewer and larger steps for many classes
    n_steps, n_classes = min(100, 300 // max(data.n_classes, 1)), max(data.n_classes, 2)
    if n_steps >= 30:
        parameters |= {"max_iter": n_steps, "learning_rate": round(10 / n_steps, 2)}
    else:  # large steps of many trees diverge
        parameters |= {"max_iter": max(10, n_steps), "learning_rate": 0.1}
    # 20, the default, allows no split of few rows
    parameters["min_samples_leaf"] = max(1, min(20, data.n_rows // (10 * n_classes)))
    return parameters


@with_parameters
class BoostingClassifier(PipelineClassifier):
    """Gradient boosting on the columns of all views; of more than 250 on the most informative.

    They are those with the highest F statistic of an analysis of variance.

    max_leaf_nodes: leaves of each tree; more of them fit interactions of more columns.
    calibration {"none", "sigmoid"}: as for `MultiViewLogisticRegression`.
    """

    max_leaf_nodes: int = 31
    calibration: str = "none"

    def _pipeline(self, data: Shape) -> Pipeline:
        parameters = _boosting(self.max_leaf_nodes, data)
        return make_pipeline(
            ViewMatrix(dense=True, max_columns=MAX_COLUMNS),
            HistGradientBoostingClassifier(**parameters),
        )

    def _least_rows_of_a_class(self) -> int:
        return 2  # one of them may be held out for early stopping


@with_parameters
class MajorityClassifier(PipelineClassifier):
    """The most frequent class, with the ratio of the classes as probabilities.

    calibration {"none", "sigmoid"}: as for `MultiViewLogisticRegression`.
    """

    calibration: str = "none"

    def _pipeline(self, data: Shape) -> Pipeline:
        return make_pipeline(DummyClassifier(strategy="prior"))


@with_parameters
class BoostingRegressor(PipelineRegressor):
    """Gradient boosting on the columns of all views; of more than 250 on the most informative.

    max_leaf_nodes: leaves of each tree; more of them fit interactions of more columns.
    """

    max_leaf_nodes: int = 31

    def _pipeline(self, data: Shape) -> Pipeline:
        parameters = _boosting(self.max_leaf_nodes, data)
        return make_pipeline(
            ViewMatrix(dense=True, max_columns=MAX_COLUMNS, score_func=f_regression),
            HistGradientBoostingRegressor(**parameters),
        )


class MeanRegressor(PipelineRegressor):
    """The mean of the training targets."""

    def _pipeline(self, data: Shape) -> Pipeline:
        return make_pipeline(DummyRegressor())


class MedianRegressor(PipelineRegressor):
    """The median of the training targets."""

    def _pipeline(self, data: Shape) -> Pipeline:
        return make_pipeline(DummyRegressor(strategy="median"))


@with_parameters
class _Given:
    """A model that the user names, behind the columns in a form that it takes."""

    model: str
    arguments: Mapping[str, Any] | None = None
    random_state: int | None = None

    def _pipeline(self, data: Shape) -> Pipeline:
        given = self.arguments or {}
        model = load_object(self.model)(**given)
        if "random_state" in model.get_params() and "random_state" not in given:
            model.set_params(random_state=self.random_state)
        tags = get_tags(model).input_tags
        if tags.sparse:
            return make_pipeline(ViewMatrix(), model)
        missing = [] if tags.allow_nan else [SimpleImputer()]
        return make_pipeline(ViewMatrix(dense=True, max_columns=MAX_COLUMNS), *missing, model)


@document_parameters(GIVEN)
@with_parameters
class GivenClassifier(_Given, PipelineClassifier):
    """A classifier that the user names, on the columns of all views as they are.

    Parameters
    ----------
    model : str
        ``"package.module:Class"``.
    calibration : {"none", "sigmoid"}, default="none"
        As for `MultiViewLogisticRegression`.
    """

    calibration: str = "none"

    @property
    def scores_are_log_odds(self) -> bool:
        """True if the scores come from probabilities."""
        model = getattr(self, "pipeline_", None)
        return not hasattr(model, "decision_function") and hasattr(model, "predict_proba")


@document_parameters(GIVEN)
class GivenRegressor(_Given, PipelineRegressor):
    """A regressor that the user names, on the columns of all views as they are.

    Parameters
    ----------
    model : str
        ``"package.module:Class"``.
    """
