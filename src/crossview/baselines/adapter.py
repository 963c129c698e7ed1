"""scikit-learn models as learners of a comparison."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from sklearn import config_context
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from crossview.baselines.matrix import ViewMatrix
from crossview.batch import rows_at, whole_matrix
from crossview.errors import InputError
from crossview.estimators.base import ViewClassifier, ViewLearner, ViewRegressor
from crossview.estimators.base.held_out import FEWEST_OF_PROCESS, groups_to_fit
from crossview.estimators.targets import weighted_classes
from crossview.views import MultiView, ViewLayout

# rows that are scored at a time, so that a dense matrix of them stays small
ROWS_AT_ONCE = 10_000
# a probability of 0 has finite log odds
LEAST_PROBABILITY = float(np.finfo(float).eps)


class Shape(NamedTuple):
    """Properties of the data that a pipeline depends on.

    n_rows: number of rows to learn from.
    n_classes: number of classes; 0 for a regression.
    """

    views: tuple[str, ...]
    n_rows: int
    n_classes: int = 0


class Learned(NamedTuple):
    """Codes of classes or numbers to learn, their weights, and which rows are held out together."""

    y: np.ndarray
    weight: np.ndarray | None
    groups: np.ndarray | None


def weight_names(model: Pipeline) -> list[str]:
    """Return by which parameters of `fit` a pipeline takes weights: to scale by, and to learn."""
    *_, (last, _) = model.steps
    scaled = [name for name, step in model.steps if isinstance(step, ViewMatrix) and step.scale]
    return [f"{name}__sample_weight" for name in [*scaled, last]]


class WeightedPipeline(Pipeline):
    """A pipeline whose `fit` takes weights, as a stack gives them, and hands them to its steps.

    steps: as for scikit-learn's ``Pipeline``.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **params: Any) -> Any:
        """Fit all steps, those that scale by weights, and the last one, with the weights.

        X, y: the rows and their labels.
        sample_weight (n_samples,): how much each row counts.
        **params: as for scikit-learn's ``Pipeline``.
        """
        if sample_weight is not None:
            params |= dict.fromkeys(weight_names(self), sample_weight)
        return super().fit(X, y, **params)


class PipelineLearner(ViewLearner):
    """Base class of both adapters: rows to views, views to the pipeline."""

    def pipeline(self, data: Shape) -> Pipeline:
        """Return the scikit-learn pipeline that `fit` fits.

        data: what is known of the rows that it will learn from.
        Returns pipeline: not fitted; its input is a `MultiView`.
        """
        return self._pipeline(data)

    def _pipeline(self, data: Shape) -> Pipeline:
        raise NotImplementedError

    def _fit_pipeline(self, model: Pipeline, rows: Any, given: Learned) -> None:
        y, weight, _ = given
        _, last = model.steps[-1]
        if weight is not None and not takes_weights(last.fit):
            raise InputError(f"{type(last).__name__} takes no weights")
        weights = {} if weight is None else dict.fromkeys(weight_names(model), weight)
        few = len(y) < FEWEST_OF_PROCESS  # processes would take longer to start
        with (
            parallel_config("sequential") if few else nullcontext(),
            warnings.catch_warnings(),  # a setting that takes too long is judged as it is
        ):
            warnings.simplefilter("ignore")
            self.pipeline_ = model.fit(views_of_rows(rows, self.layout_), y, **weights)

    def _joint_scores(self, rows: Any) -> np.ndarray:
        n, parts = len(rows.indptr) - 1, []
        for start in range(0, n, ROWS_AT_ONCE):
            part = rows_at(rows, np.arange(start, min(n, start + ROWS_AT_ONCE)))
            with configured():
                parts.append(self._output(self.pipeline_, views_of_rows(part, self.layout_)))
        return np.concatenate(parts).reshape(n, -1)

    def _output(self, model: Any, X: Any) -> np.ndarray:
        """Return the outputs of a model, or of its last step, for some rows."""
        raise NotImplementedError


class PipelineClassifier(ViewClassifier, PipelineLearner):
    """Base class of the adapters for classifiers.

    The classes are numbers from 0 for the model inside.  Its scores are those of its
    ``decision_function``.  Without one they are log odds of ``predict_proba`` (log probabilities
    for more than two classes), and for a model with `predict` alone -1 and 1 (0 and 1).
    """

    calibration = "none"
    class_weight: Any = None

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, labels, given = self._rows_to_fit(X, y, sample_weight)
        found = weighted_classes(labels, given, self.class_weight)
        classes, codes, weighted, of_classes = found
        self._set_classes(classes)
        weight = _different(given)
        if of_classes is not None:
            weight = of_classes[codes] if weight is None else weighted
        model = self.pipeline(Shape(self.layout_.names, len(codes), len(classes)))
        if np.bincount(codes).min() < self._least_rows_of_a_class():
            model = make_pipeline(ViewMatrix(), DummyClassifier(strategy="prior"))
        own = Learned(codes, weight, groups_to_fit(X, sample_weight))
        with configured():
            self._fit_pipeline(model, rows, own)
        self._take_out_weights(of_classes)
        self._calibrate_by_folds(X, y, sample_weight)

    def _least_rows_of_a_class(self) -> int:
        """Return how many rows of a class the model needs; with fewer it is the class ratio."""
        return 1

    @property
    def scores_are_log_odds(self) -> bool:
        """True: the scores are log odds."""
        return True

    def _output(self, model: Any, X: Any) -> np.ndarray:
        n_classes = len(self.classes_)
        if hasattr(model, "decision_function"):
            scores = np.asarray(model.decision_function(X), dtype=np.float64)
            if scores.size == len(scores) * self._n_scores():  # otherwise one per pair of classes
                return scores
        if hasattr(model, "predict_proba"):
            p = np.log(np.maximum(model.predict_proba(X), LEAST_PROBABILITY))
            return p[:, 1] - p[:, 0] if n_classes == 2 else p
        codes = np.asarray(model.predict(X)).astype(np.intp)
        return 2.0 * codes - 1.0 if n_classes == 2 else np.eye(n_classes)[codes]


class PipelineRegressor(ViewRegressor, PipelineLearner):
    """Base class of the adapters for regressors."""

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        rows, y, weight = self._rows_to_fit(X, y, sample_weight)
        self._start_state()
        self._see_targets(y)
        model = self.pipeline(Shape(self.layout_.names, len(y)))
        own = Learned(y, _different(weight), groups_to_fit(X, sample_weight))
        with configured():
            self._fit_pipeline(model, rows, own)

    def _output(self, model: Any, X: Any) -> np.ndarray:
        return np.asarray(model.predict(X), dtype=np.float64)


def configured() -> AbstractContextManager[None]:
    """Configure scikit-learn for the pipelines here, whatever the user has set for others."""
    return config_context(enable_metadata_routing=False, transform_output="default")


def _different(weight: np.ndarray) -> np.ndarray | None:
    """Return weights, or None if they are all the same."""
    return weight if len(np.unique(weight)) > 1 else None


def takes_weights(learn: Callable[..., Any]) -> bool:
    """Return whether a method takes sample weights, by name or among any arguments."""
    kinds = inspect.signature(learn).parameters
    return "sample_weight" in kinds or any(one.kind == one.VAR_KEYWORD for one in kinds.values())


def views_of_rows(rows: Any, layout: ViewLayout) -> MultiView:
    """Return the rows as views; shares their memory."""
    present = rows.present if len(rows.present) else None
    return MultiView.from_matrix(whole_matrix(rows), layout, present=present)
