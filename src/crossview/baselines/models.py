"""The baselines: what somebody would do with scikit-learn alone."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_selection import f_regression
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import get_tags

from crossview.baselines.adapter import (
    PipelineClassifier,
    PipelineLearner,
    PipelineRegressor,
    Shape,
    configured,
    takes_weights,
    views_of_rows,
)
from crossview.baselines.matrix import MAX_ENTRIES, ViewMatrix
from crossview.catalog.names import load_object
from crossview.errors import InputError
from crossview.estimators.base.calibration import Calibrator
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.targets import class_codes, row_weights

# columns for gradient boosting: of 500 the time doubles, and the scores are the same
MAX_COLUMNS = 250
# bins of each column: of 255, the default, a fit takes twice as long, and the scores are the same
BINS = 63
# beyond this many rows gradient boosting stops early
ROWS_TO_STOP_EARLY = 10_000
# why a model that the user names has failed
NOT_FINITE = "a score is NaN or infinite"
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
class _Given(PipelineLearner):
    """A model that the user names, behind the columns in a form that it takes."""

    model: str
    arguments: Mapping[str, Any] | None = None
    random_state: int | None = None

    def _make(self) -> tuple[Any, dict[str, Any]]:
        """Return the model, and how it takes rows of which it needs all columns."""
        given = self.arguments or {}
        model = load_object(self.model)(**given)
        if "random_state" in model.get_params() and "random_state" not in given:
            model.set_params(random_state=self.random_state)
        tags = get_tags(model).input_tags
        if takes_views(model):
            return model, {"apart": True, "missing": np.nan if tags.allow_nan else 0.0}
        return model, {} if tags.sparse else {"dense": True, "missing": 0.0}

    def _pipeline(self, data: Shape) -> Pipeline:
        model, form = self._make()
        if "dense" not in form:
            return make_pipeline(ViewMatrix(**form), model)
        missing = [] if get_tags(model).input_tags.allow_nan else [SimpleImputer()]
        return make_pipeline(ViewMatrix(dense=True, max_columns=MAX_COLUMNS), *missing, model)

    def _joint_scores(self, rows: Any) -> np.ndarray:
        scores = super()._joint_scores(rows)
        if not np.isfinite(scores).all():
            raise InputError(NOT_FINITE)
        return scores

    def score_then_learn(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Return the score of each row before the model learns it, by its own ``partial_fit``.

        The model gets one row after the other, with all columns; a missing view is 0.  Its score
        before the first row is 0.

        X, y, classes, sample_weight: as for the online learners of this package.
        """
        first = not hasattr(self, "pipeline_")
        rows = self._read(X, reset=first)
        n = len(rows.indptr) - 1
        targets = self._targets_of_stream(self._read_targets(y, n), classes, first)
        views = views_of_rows(rows, self.layout_)
        if first:
            model, form = self._make()
            self.pipeline_ = make_pipeline(ViewMatrix(whole=True, **form).fit(views), model)
        (_, matrix), (_, model) = self.pipeline_.steps
        given: list[dict[str, Any]] = [{}] * n
        if sample_weight is not None:
            weights = np.asarray(sample_weight, np.float64).reshape(n, 1)
            given = [{"sample_weight": w} for w in weights]
        if given[:1] != [{}] and not takes_weights(model.partial_fit):
            raise InputError(f"{type(model).__name__}.partial_fit takes no weights")
        known = self._classes_of_stream(model)
        scores = np.zeros((n, self._n_scores()))
        at_once = max(1, MAX_ENTRIES // self.layout_.n_columns)
        with configured(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for start in range(0, n, at_once):
                part = matrix.transform(views[start : start + at_once])
                for i in range(start, min(n, start + at_once)):
                    at = slice(i - start, i - start + 1)
                    x = [view[at] for view in part] if isinstance(part, list) else part[at]
                    try:
                        if not first or i:
                            scores[i] = self._output(model, x)
                        model.partial_fit(x, targets[i : i + 1], **known, **given[i])
                    except Exception as error:  # of code that is not ours
                        line = " ".join(str(error).split())
                        kind = f"{type(error).__name__}: " if line else type(error).__name__
                        raise InputError(f"baseline {self.model!r} failed: {kind}{line}") from error
        if not np.isfinite(scores).all():
            raise InputError(f"baseline {self.model!r} failed: {NOT_FINITE}")
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def check_weights(self) -> None:
        """Raise `InputError`: nothing is known of its weights."""
        raise InputError(f"{self.model} says no weights of columns")

    def _targets_of_stream(self, y: np.ndarray, classes: Any, first: bool) -> np.ndarray:
        raise NotImplementedError

    def _classes_of_stream(self, model: Any) -> dict[str, Any]:
        """Return the arguments of ``partial_fit`` that say which classes there are."""
        return {}


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

    def score_then_learn(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        return_proba: bool = False,
    ) -> Any:
        """Return the score of each row before the model learns it, and the probabilities.

        They are calibrated by the scores of the rows before it, as those of our own learners.

        X, y, classes, sample_weight: as for the online learners of this package.
        return_proba: whether to return the probabilities, too.
        """
        scores = super().score_then_learn(X, y, classes, sample_weight)
        codes = class_codes(np.asarray(y), self.classes_)
        given = scores.reshape(len(y), -1), codes, row_weights(sample_weight, len(y))
        p = Calibrator(self._state, self).update(*given, return_proba)
        return (scores, p) if return_proba else scores

    def _targets_of_stream(self, y: np.ndarray, classes: Any, first: bool) -> np.ndarray:
        if first:
            self._set_classes(np.unique(np.asarray(classes)))
        return class_codes(y, self.classes_)

    def _classes_of_stream(self, model: Any) -> dict[str, Any]:
        takes = "classes" in inspect.signature(model.partial_fit).parameters
        return {"classes": np.arange(len(self.classes_))} if takes else {}

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

    def _targets_of_stream(self, y: np.ndarray, classes: Any, first: bool) -> np.ndarray:
        if first:
            self._start_state()
            self._see_targets(y)
        return y


def takes_views(model: Any) -> bool:
    """Return whether a model takes a list of arrays, one per view: its rows are called ``Xs``."""
    return next(iter(inspect.signature(model.fit).parameters), "") == "Xs"
