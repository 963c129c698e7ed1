"""Encoder and learner as one estimator, for tables and for single rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from typing import Any, Self

from sklearn import pipeline
from sklearn.utils.metaestimators import available_if

from crossview.catalog.names import load_object
from crossview.errors import InputError


def _learner_has(name: str) -> Any:
    """Return a check that the last step has a method."""

    def check(self: Pipeline) -> bool:
        getattr(self.steps[-1][1], name)  # its error says why it has none
        return True

    return check


class _OfLearner:
    """A method of the last step that takes no rows; one that returns the step returns the pipeline.

    The pipeline has it where the step does.  That of the class says what that of a stack does.
    """

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            described = getattr(load_object("crossview:OnlineStackingClassifier"), self._name)

            @wraps(described)
            def of_class(owner: Any, *args: Any, **options: Any) -> Any:
                return getattr(owner, self._name)(*args, **options)

            return of_class
        learner = owner.steps[-1][1]
        method = getattr(learner, self._name)

        @wraps(method)
        def call(*args: Any, **options: Any) -> Any:
            found = method(*args, **options)
            return owner if found is learner else found

        return call


class Pipeline(pipeline.Pipeline):
    """Encoder and learner as one estimator, which also learns and predicts single rows.

    It is scikit-learn's Pipeline, with `partial_fit` and methods for single rows that are mappings,
    as they come from JSON.  A row gives the same as a table of this row, bit for bit.

    Parameters
    ----------
    steps : list of (str, estimator)
        Names and estimators: encoders and scalers of this package, and a learner.
    transform_input : list of str, default=None
        As in scikit-learn.
    memory : str or object with the interface of joblib.Memory, default=None
        As in scikit-learn.
    verbose : bool, default=False
        As in scikit-learn.

    See Also
    --------
    make_pipeline : Without names.

    Notes
    -----
    A row maps columns to values, ``{"user__age": 31}``, or views to mappings of their columns,
    ``{"user": {"age": 31}, "text": None}``.  A column or a view that is absent or None is missing;
    so is a NaN.  Columns that the encoder does not have are ignored, as those of a table, and a
    warning says so once.

    In a stream the first row, or the first table, determines the columns and their kinds.

    Examples
    --------
    >>> from crossview import AROWClassifier, Pipeline, ViewEncoder
    >>> encoder = ViewEncoder(categorical=["user__city"])
    >>> model = Pipeline([("encoder", encoder), ("model", AROWClassifier())])
    >>> rows = [
    ...     ({"user": {"city": "Oslo", "age": 31}, "page": {"length": 7.5}}, "click"),
    ...     ({"user": {"city": None, "age": 40}}, "skip"),
    ... ]
    >>> for x, y in rows:
    ...     guess = model.predict_one(x)  # None before anything was learned
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"user__city": "Oslo", "user__age": 31})
    'click'
    """

    # --- streams ---------------------------------------------------------------------------

    @available_if(_learner_has("partial_fit"))
    def partial_fit(self, X: Any, y: Any, **options: Any) -> Self:
        """Learn more rows, in their order.

        Parameters
        ----------
        X : pandas, polars or Arrow table, or what else the first step takes
            The rows; the first ones determine the columns and their kinds.
        y : array-like of shape (n_samples,)
            Their labels or targets.
        **options : any
            For ``partial_fit`` of the learner: ``classes`` and ``new_classes`` of a classifier, and
            ``sample_weight``.

        Returns
        -------
        self : object
            The pipeline.
        """
        learner = self.steps[-1][1]
        if hasattr(learner, "check_targets"):  # before an encoder has learned the rows
            learner.check_targets(y, **options)
        for name, step in self._encoders():
            if not hasattr(step, "partial_fit_transform"):
                raise InputError(
                    f"step {name!r} has no partial_fit_transform, so it cannot learn a stream; "
                    "encode with ViewEncoder, or use fit"
                )
            X = step.partial_fit_transform(X)
        learner.partial_fit(X, y, **options)
        return self

    # --- single rows -----------------------------------------------------------------------

    @available_if(_learner_has("learn_one"))
    def learn_one(self, x: Any, y: Any, sample_weight: float = 1.0) -> Self:
        """Learn from one row.

        Parameters
        ----------
        x : mapping
            The row; see the notes of the class.
        y : label or float
            Its class, which may be new, or its target.
        sample_weight : float, default=1.0
            Weight of the row.

        Returns
        -------
        self : object
            The pipeline.
        """
        learner = self.steps[-1][1]
        # all checks come before a change: a row that cannot be learned leaves no trace
        learner.check_one(y, sample_weight)
        for name, step in self._encoders():
            _check_single(name, step)
            x = step.partial_fit_transform_one(x)
        learner.learn_one(x, y, sample_weight)
        return self

    @available_if(_learner_has("predict_one"))
    def predict_one(self, x: Any) -> Any:
        """Return the prediction for one row; None before the first row was learned.

        Parameters
        ----------
        x : mapping
            The row; see the notes of the class.

        Returns
        -------
        y : label, float or None
            As from `predict`.
        """
        return self.steps[-1][1].predict_one(self._encode_one(x))

    @available_if(_learner_has("predict_proba_one"))
    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Return the probability of each class for one row; empty before the first row.

        Parameters
        ----------
        x : mapping
            The row; see the notes of the class.

        Returns
        -------
        p : dict of label to float
            The sum is 1.
        """
        found: dict[Any, float] = self.steps[-1][1].predict_proba_one(self._encode_one(x))
        return found

    @available_if(_learner_has("score_one"))
    def score_one(self, x: Any) -> float | dict[Any, float] | None:
        """Return the joint score of all views for one row; None before the first row.

        Parameters
        ----------
        x : mapping
            The row; see the notes of the class.

        Returns
        -------
        score : float, dict of label to float, or None
            As from `decision_function`: one number for two classes, and one per class for more.
        """
        found: float | dict[Any, float] | None = self.steps[-1][1].score_one(self._encode_one(x))
        return found

    # --- labels that come late -------------------------------------------------------------

    follow_stream = _OfLearner("See `OnlineStackingClassifier.follow_stream`.")
    set_delay = _OfLearner("See `OnlineStackingClassifier.set_delay`.")
    expert_predictions = _OfLearner("See `OnlineStackingClassifier.expert_predictions`.")

    # --- other programs --------------------------------------------------------------------

    def predict_expr(
        self, columns: Sequence[str], output: str | Sequence[str] = "prediction", **options: Any
    ) -> Any:
        """Return the predictions as an expression of polars, also for lazy frames.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns that the frame has.
        output : str or sequence of str, default="prediction"
            A column of `crossview.predict`, such as ``"probability_click"``; several are a struct.
        **options : any
            As for `crossview.compat.polars.predict_expr`, which describes all.

        Returns
        -------
        expr : polars.Expr
            It gives the numbers of `crossview.predict`.
        """
        # by its name, as it imports what imports pipelines
        return load_object("crossview.compat.polars:predict_expr")(self, columns, output, **options)

    def _encoders(self) -> list[tuple[str, Any]]:
        """Return all steps but the learner that do anything."""
        return [(name, step) for name, step in self.steps[:-1] if step not in (None, "passthrough")]

    def _encode_one(self, x: Any) -> Any:
        """Return one row as the learner takes it."""
        for name, step in self._encoders():
            _check_single(name, step)
            if not hasattr(step, "layout_"):
                return {}  # nothing was learned
            x = step.transform_one(x)
        return x


def _check_single(name: str, step: Any) -> None:
    """Raise an error if a step takes tables only."""
    if not hasattr(step, "transform_one"):
        raise InputError(
            f"step {name!r} takes no single rows; encode with ViewEncoder, or use partial_fit and "
            "predict"
        )


def make_pipeline(*steps: Any, memory: Any = None, verbose: bool = False) -> Pipeline:
    """Return encoder and learner as one estimator; the names of the steps are their classes.

    Parameters
    ----------
    *steps : estimators
        Encoders and scalers of this package, and a learner.
    memory : str or object with the interface of joblib.Memory, default=None
        As in scikit-learn.
    verbose : bool, default=False
        As in scikit-learn.

    Returns
    -------
    Pipeline
        With `partial_fit` and methods for single rows.

    Examples
    --------
    >>> from crossview import PassiveAggressiveClassifier, ViewEncoder, make_pipeline
    >>> model = make_pipeline(ViewEncoder(), PassiveAggressiveClassifier())
    >>> rows = [{"user__age": 20.0}, {"user__age": 60.0}, {"user__age": 25.0}]
    >>> for x, y in zip(rows, ["young", "old", "young"]):
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"user": {"age": 22}})
    'young'
    """
    named = pipeline.make_pipeline(*steps).steps
    return Pipeline(named, memory=memory, verbose=verbose)
