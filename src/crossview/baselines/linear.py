"""Logistic and ridge regression on all columns, and late fusion of one per view.

scikit-learn fits the pipelines.  Fitted, each of them is linear: a model file has a weight per
column, and a row scores ``sum_v (W'x_v + b_v)`` over the views it has, plus ``absent_v`` for each
view it lacks.  Scaled columns, indicators of missing views and the weights of late fusion are
all multiplied out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline

from crossview.baselines.adapter import (
    Learned,
    PipelineClassifier,
    PipelineLearner,
    PipelineRegressor,
    Shape,
    WeightedPipeline,
    views_of_rows,
)
from crossview.baselines.matrix import ViewMatrix
from crossview.baselines.pool import LogarithmicPool
from crossview.batch import entries_of, read_only
from crossview.errors import InputError
from crossview.estimators.base import ColumnWeights, Schema, State, StatePart, Takes
from crossview.estimators.base.held_out import folds_to_fit
from crossview.estimators.base.stand_ins import stand_ins_of
from crossview.estimators.documentation import document_parameters, with_parameters
from crossview.estimators.parameters import ATTRIBUTES, PARAMETERS
from crossview.estimators.validation import Interval
from crossview.jobs.threads import threadpool_limits
from crossview.kernels.rows import Rows, score_views
from crossview.portable.scoring import ViewSum, split_by_view
from crossview.saving.schema import Array
from crossview.views import ViewLayout

MOST_ITERATIONS = 1000
# of ridge regression on sparse columns, relative: that on an array is exact
TOLERANCE = 1e-10
# folds that give the rows on which late fusion weighs the views
FOLDS = 3
# iterations of the models of its views for more than ten classes: with the usual number 100 classes
# would take twice as long, and the scores are the same
ITERATIONS_OF_MANY_CLASSES = 100


class LinearState(StatePart):
    """The weights of the columns, an intercept of each view, and its score where it is missing."""

    def schema(self) -> Schema:
        """Return what the arrays look like."""
        views = (self.slots.n_views, self.n_scores)
        return {
            "W": Array("f8", (self.slots.n_columns, self.n_scores)),
            "b": Array("f8", views),
            "absent": Array("f8", views),
        }


@with_parameters
class LinearPipeline(PipelineLearner):
    """Base class of what is linear once it is fitted."""

    _takes: ClassVar[Takes] = "blocks"
    # L-BFGS has short sums only, for which threads wait longer than they work; None: as many as
    # there are
    _threads: ClassVar[int | None] = None
    views: Any = field(default=None, kw_only=False)

    # --- learning ----------------------------------------------------------------

    def _fit_pipeline(self, model: Pipeline, rows: Rows, given: Learned) -> None:
        try:
            with threadpool_limits(self._threads):
                super()._fit_pipeline(model, rows, given)
        except ValueError as error:  # sums of large numbers are infinite
            raise InputError(f"scikit-learn cannot fit these numbers ({error})") from error
        self._store(self._state_of(self.pipeline_))
        del self.pipeline_

    def _state_of(self, model: Pipeline) -> State:
        """Return a fitted pipeline as the arrays of a `LinearState`."""
        (_, matrix), (_, fitted) = model.steps
        return linear_state(matrix, fitted, self._slots)

    def _store(self, state: State) -> None:
        if not all(np.isfinite(array).all() for array in state.values()):
            raise InputError(
                "the weights are not finite, because numbers of X or y are too large; scale them"
            )
        self._state |= state

    def _parts(self, state: State) -> list[StatePart]:
        return [*super()._parts(state), LinearState(state, self)]

    # --- predicting ----------------------------------------------------------------

    def _scores(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """Return the score of each view, (n_samples, n_views, n_scores), and which are there."""
        n, V = len(rows.indptr) - 1, len(rows.ptr) - 1
        scores = np.zeros((n, V, self._n_scores()))
        score_views(rows, read_only(self._state["W"]), scores, np.empty((n, V)))
        there = rows.present if len(rows.present) else np.ones((n, V), dtype=bool)
        return scores + self._state["b"], there

    def _portable_scorer(self) -> ViewSum:
        return ViewSum.linear(
            split_by_view(self._state["W"], self._slots.ptr),
            self._state["b"],
            view_scores="own" if hasattr(self, "classes_") else "alone",
            missing=np.pad(self._state["absent"], [(0, 1), (0, 0)]),
        )

    def _joint_scores(self, rows: Rows) -> np.ndarray:
        scores, there = self._scores(rows)
        return np.where(there[:, :, None], scores, self._state["absent"]).sum(axis=1)

    def _scores_of_views(self, rows: Rows) -> np.ndarray:
        """Return what each view adds; of a regressor the prediction from the view alone."""
        scores, _ = self._scores(rows)
        if not hasattr(self, "classes_"):
            absent, stand_ins = self._state["absent"], stand_ins_of(self)
            if stand_ins is not None:
                absent = absent + stand_ins.values[:-1]
            scores += absent.sum(axis=0) - absent
        return scores

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the columns as they are given, (1, n_features) or (n_classes, n_features)."""
        return self._columns.spread(self._learned["W"].T).copy()

    @property
    def intercept_(self) -> np.ndarray:
        """Intercept of each score, (1,) or (n_classes,)."""
        return np.asarray(self._learned["b"].sum(axis=0))

    def _column_weights(self) -> ColumnWeights:
        return ColumnWeights(self.coef_)

    def _entry_contributions(self, rows: Rows) -> np.ndarray:
        return rows.data[:, None] * self._state["W"][entries_of(rows)[1]]


def linear_state(matrix: ViewMatrix, model: Any, layout: ViewLayout) -> State:
    """Return a fitted pipeline of a matrix and a linear model as a `LinearState`."""
    coef, n, V = np.atleast_2d(model.coef_), len(matrix.columns_), layout.n_views
    weights = (coef[:, :n] / matrix.scale_).T
    W = np.zeros((layout.n_columns, len(coef)))
    W[matrix.columns_] = weights
    b = np.tile(np.atleast_1d(model.intercept_) / V, (V, 1))
    absent = b.copy()
    absent[matrix.missing_views_] += coef[:, n:].T
    np.subtract.at(b, matrix.view_of_column_, weights * matrix.mean_[:, None])
    return {"W": W, "b": b, "absent": absent}


class LateFusion(LinearPipeline):
    """Base class of the fusions: a linear model per view, and one on their scores."""

    def _fit_pipeline(self, model: Pipeline, rows: Rows, given: Learned) -> None:
        y, weight, groups = given
        if self._has_folds(y):
            codes = y if hasattr(self, "classes_") else None
            model[-1].cv = folds_to_fit(FOLDS, len(y), codes, groups, 0)
            super()._fit_pipeline(model, rows, given)
            return
        X, V = views_of_rows(rows, self.layout_), self._slots.n_views
        views = [clone(one).fit(X, y, sample_weight=weight) for _, one in model[-1].estimators]
        self._store(self._fused(views, np.full(V, 1.0 / V), np.zeros(self._n_scores())))

    def _state_of(self, model: Pipeline) -> State:
        views, final = model[-1].estimators_, model[-1].final_estimator_
        weights = final.coef_ if hasattr(final, "coef_") else final.weights_
        return self._fused(views, weights, np.atleast_1d(final.intercept_))

    def _fused(self, views: Sequence[Pipeline], a: np.ndarray, c: np.ndarray) -> State:
        """Return the models of the views with their weights, and the intercepts."""
        parts = []
        for v, view in enumerate(views):
            (_, matrix), (_, fitted) = view.steps
            alone = ViewLayout([self._slots.names[v]], [self._slots.widths[v]])
            state = linear_state(matrix, fitted, alone)
            shares = {"W": 0.0, "b": c / len(views), "absent": c / len(views)}
            parts.append({name: a[v] * array + shares[name] for name, array in state.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _has_folds(self, y: np.ndarray) -> bool:
        """Return whether the rows are enough for the folds that weigh the views."""
        raise NotImplementedError


def _of_views(views: Sequence[str], model: Any) -> list[tuple[str, WeightedPipeline]]:
    """Return a pipeline for each view, with a copy of the model."""
    parts = [make_pipeline(ViewMatrix(view, scale=True), clone(model)) for view in views]
    return [(f"view{v}", WeightedPipeline(part.steps)) for v, part in enumerate(parts)]


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewLogisticRegression(LinearPipeline, PipelineClassifier):
    """Logistic regression on the columns of all views, with a score per view.

    Minimizes ``C sum_i h_i log(1 + exp(-y_i f(x_i))) + |w|²/2`` over all rows, with the scaled
    columns z of all views and ``f(x) = w'z + b``; with more than two classes the log loss of the
    softmax of one score per class.  h is the weight of a row.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the squared penalty, in (0, inf).  A lower value is more robust where
        columns are many and rows are few.  Typical values: 0.01 to 100.
    tol : float, default=1e-4
        The fit ends where no partial derivative of the mean loss is larger, in (0, inf).  A higher
        value takes less time, and leaves weights nearer to 0.

    Attributes
    ----------
    classes_, coef_, intercept_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    LateFusionClassifier : A logistic regression per view.
    MultiViewTreesClassifier : Curves, and interactions of columns.

    Notes
    -----
    scikit-learn's `LogisticRegression` fits it by L-BFGS.  A column that is nonzero in at least
    half of the rows gets mean 0 and variance 1; others stay sparse, and are divided by the
    median of the root mean squares of their nonzero values (by their own, if it differs by a
    factor of ten), so that words and views keep their proportions.  A row of weight 2 is two rows,
    in this, too.
    ``coef_`` and `view_scores` are of the columns as they are given.

    A view that is missing in some rows of `fit` has one more column, which is 1 there.  One that
    is missing in new rows alone counts as the mean of its columns, or as 0 where they stay sparse.

    Scores are log odds, so `predict_proba` needs no calibration.

    References
    ----------
    D. R. Cox, "The regression analysis of binary sequences", Journal of the Royal Statistical
    Society B, 1958.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from crossview import MultiViewLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = MultiViewLogisticRegression(views).fit(X, y)
    >>> model.view_scores(X).shape, bool(model.score(X, y) > 0.97)
    ((569, 3), True)
    """

    C: float = 1.0
    tol: float = 1e-4
    class_weight: Any = None
    calibration: str = "none"

    _threads: ClassVar[int | None] = 1
    _parameter_constraints: ClassVar[dict] = {"tol": [Interval(Real, 0, None, closed="neither")]}

    def _pipeline(self, data: Shape) -> Pipeline:
        model = LogisticRegression(C=self.C, tol=self.tol, max_iter=MOST_ITERATIONS)
        return make_pipeline(ViewMatrix(scale=True), model)


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class LateFusionClassifier(LateFusion, PipelineClassifier):
    """Late fusion: a logistic regression per view, and one that weighs their scores.

    The score is ``f(x) = c + sum_v a_v f_v(x_v)``, where f_v is the logistic regression of view v
    alone.  The weights ``a_v >= 0`` and the intercept c, with more than two classes one of each
    class, minimize the log loss plus |a|²/2 on the scores of rows that f_v has not learned, of
    three inner folds.

    Parameters
    ----------
    C : float, default=1.0
        Inverse strength of the squared penalty of the models of the views, in (0, inf).  Typical
        values: 0.1 to 10.
    tol : float, default=1e-4
        As for `MultiViewLogisticRegression`, of the models of the views.

    Attributes
    ----------
    classes_, coef_, intercept_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    MultiViewLogisticRegression : One logistic regression on the columns of all views.
    OnlineStackingClassifier : Several learners, weighted as they learn.

    Notes
    -----
    f_v are log odds, so the probability of a class is proportional to a product of powers of what
    the views say, a logarithmic opinion pool; to find the powers from scores out of fold is
    stacked generalization.  scikit-learn's `StackingClassifier` makes the folds.  A view that says
    nothing gets a weight near 0, however many columns it has.  One weight per view, and none
    below 0, is better than a matrix per view for several classes: on movies, of 17 genres, 42
    instead of 32 % of the rows are right.  Columns and missing views are as for
    `MultiViewLogisticRegression`.  Where a class has a single row, there are no folds, and the
    score is the mean of the scores of the views.

    References
    ----------
    C. Genest, J. V. Zidek, "Combining probability distributions: a critique and an annotated
    bibliography", Statistical Science, 1986.
    D. H. Wolpert, "Stacked generalization", Neural Networks, 1992.
    K. M. Ting, I. H. Witten, "Issues in stacked generalization", Journal of Artificial
    Intelligence Research, 1999.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from crossview import LateFusionClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> views = {"mean": slice(0, 10), "error": slice(10, 20), "worst": slice(20, 30)}
    >>> model = LateFusionClassifier(views).fit(X, y)
    >>> model.view_scores(X).shape, bool(model.score(X, y) > 0.97)
    ((569, 3), True)
    """

    C: float = 1.0
    tol: float = 1e-4
    class_weight: Any = None
    calibration: str = "none"

    _threads: ClassVar[int | None] = 1
    _parameter_constraints: ClassVar[dict] = {"tol": [Interval(Real, 0, None, closed="neither")]}

    def _pipeline(self, data: Shape) -> Pipeline:
        max_iter = MOST_ITERATIONS if data.n_classes <= 10 else ITERATIONS_OF_MANY_CLASSES
        model = LogisticRegression(C=self.C, tol=self.tol, max_iter=max_iter)
        models = _of_views(data.views, model)
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        return make_pipeline(
            StackingClassifier(
                models, LogarithmicPool(), cv=folds, stack_method="decision_function"
            )
        )

    def _has_folds(self, y: np.ndarray) -> bool:
        return bool(np.bincount(y).min() > 1)  # each class in every training part


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class MultiViewRidge(LinearPipeline, PipelineRegressor):
    """Ridge regression on the columns of all views.

    Minimizes ``sum_i h_i (y_i - f(x_i))² + alpha |w|²`` over all rows, with the scaled columns z
    of all views and ``f(x) = w'z + b``.  h is the weight of a row.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the squared penalty, in [0, inf).  A higher value is more robust where columns
        are many and rows are few.  Typical values: 0.1 to 1000.

    Attributes
    ----------
    coef_, intercept_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    LateFusionRegressor : A ridge regression per view.
    MultiViewTreesRegressor : Curves, and interactions of columns.

    Notes
    -----
    scikit-learn's `Ridge` fits it.  Columns and missing views are as for
    `MultiViewLogisticRegression`.

    References
    ----------
    A. E. Hoerl, R. W. Kennard, "Ridge regression: biased estimation for nonorthogonal problems",
    Technometrics, 1970.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from crossview import MultiViewRidge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = MultiViewRidge([4, 6], alpha=10.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    alpha: float = 1.0

    _parameter_constraints: ClassVar[dict] = {"alpha": [Interval(Real, 0, None, closed="left")]}

    def _pipeline(self, data: Shape) -> Pipeline:
        return make_pipeline(ViewMatrix(scale=True), Ridge(alpha=self.alpha, tol=TOLERANCE))


@document_parameters(PARAMETERS, attributes=ATTRIBUTES)
@with_parameters
class LateFusionRegressor(LateFusion, PipelineRegressor):
    """Late fusion: a ridge regression per view, and one that weighs their predictions.

    The prediction is ``f(x) = c + sum_v a_v f_v(x_v)``, where f_v is the ridge regression of view
    v alone.  The weights ``a_v >= 0`` and c minimize the squared error on the predictions for rows
    that f_v has not learned, of three inner folds.

    Parameters
    ----------
    alpha : float, default=1.0
        Strength of the squared penalty of the models of the views, in [0, inf).  Typical values:
        0.1 to 1000.

    Attributes
    ----------
    coef_, intercept_, layout_, n_features_in_, feature_names_in_

    See Also
    --------
    MultiViewRidge : One ridge regression on the columns of all views.

    Notes
    -----
    scikit-learn's `StackingRegressor` fits it.  Columns and missing views are as for
    `MultiViewLogisticRegression`.  Of fewer than three rows there are no folds, and the prediction
    is the mean of those of the views.

    References
    ----------
    L. Breiman, "Stacked regressions", Machine Learning, 1996.
    D. H. Wolpert, "Stacked generalization", Neural Networks, 1992.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from crossview import LateFusionRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = LateFusionRegressor([4, 6], alpha=10.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.4)
    True
    """

    alpha: float = 1.0

    _parameter_constraints: ClassVar[dict] = MultiViewRidge._parameter_constraints

    def _pipeline(self, data: Shape) -> Pipeline:
        models = _of_views(data.views, Ridge(alpha=self.alpha, tol=TOLERANCE))
        folds = KFold(FOLDS, shuffle=True, random_state=0)
        return make_pipeline(StackingRegressor(models, LinearRegression(positive=True), cv=folds))

    def _has_folds(self, y: np.ndarray) -> bool:
        return len(y) >= FOLDS
