"""Learners and pipelines as estimators of River: ``pip install 'crossview[river]'``.

River's pipelines and evaluations then take them beside its own:

    from river import evaluate, metrics, preprocessing
    from crossview import AROWClassifier
    from crossview.compat.river import to_river

    model = preprocessing.StandardScaler() | to_river(AROWClassifier())
    evaluate.progressive_val_score(stream, model, metrics.Accuracy())
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from sklearn.base import is_regressor
from sklearn.exceptions import NotFittedError

from crossview.errors import InputError, type_of

try:
    from river import base
except ImportError:
    raise ImportError(
        "crossview.compat.river needs River: pip install 'crossview[river]'"
    ) from None

# rows without a label: later ones than that are so late that the last labels do not count
MOST_WAITING = 1024


class _Waiting:
    """Rows that were predicted and have no label yet, and what was known by then.

    That is how many labels had come, and what the experts of a stack said.

    A row is found again by its values, since River copies rows that wait.  One that is not found,
    as a scaler before the model changed it, is the one that has waited longest.
    """

    def __init__(self) -> None:
        self._n_labels = 0
        self._rows: dict[Any, deque[tuple[int, Any]]] = {}
        self._last: Any = None

    def add(self, x: Mapping[Any, Any], stack: Any) -> None:
        """Take a row that was predicted by a stack, once or more in a row."""
        if x is self._last:
            return
        said = stack.expert_predictions() or [None]
        self._last = x
        known = self._n_labels, said[0]
        self._rows.setdefault(_values(x), deque(maxlen=MOST_WAITING)).append(known)
        if len(self._rows) > MOST_WAITING:  # its label comes too late to count, if at all
            del self._rows[next(iter(self._rows))]

    def take(self, x: Mapping[Any, Any]) -> tuple[int, Any]:
        """Return how many labels came since a row was predicted, and what was said of it.

        0 and None if no row waits.
        """
        n, self._n_labels, self._last = self._n_labels, self._n_labels + 1, None
        if not self._rows:
            return 0, None
        key = _values(x)
        key = key if key in self._rows else next(iter(self._rows))
        when = self._rows[key]
        known, said = when.popleft()
        if not when:
            del self._rows[key]
        return n - known, said


def _values(x: Mapping[Any, Any]) -> Any:
    """Return what tells a row from others."""
    try:
        hash(values := frozenset(x.items()))
    except TypeError:  # a mapping of views, or cells that are lists
        return repr(x)
    return values


class _RiverEstimator:
    """What a classifier and a regressor have in common.

    A stack weighs its experts by what they said when a row was predicted, if its label comes late.
    With ``memory=True`` it follows the stream: its last labels count where they have come, and of a
    row whose label comes late they are those that were known when it was predicted.

    Parameters
    ----------
    estimator : learner or Pipeline
        As it was given: clones begin with it.
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.model = copy.deepcopy(estimator)
        self._waiting = _Waiting()
        self._find_stack()

    def _find_stack(self) -> None:
        """Find a learner to which it matters when labels come; one with a memory follows them."""
        learner = self.model.steps[-1][1] if hasattr(self.model, "steps") else self.model
        self._stack = learner if hasattr(learner, "set_delay") else None
        if getattr(learner, "memory", False):
            learner.follow_stream()

    def learn_one(self, x: Mapping[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one row.

        Parameters
        ----------
        x : mapping
            The row, as the model takes it: a mapping of features to numbers for a learner; of
            columns to values of any kind for a `Pipeline` with a `ViewEncoder`.
        y : label or float
            Its class, which may be new, or its target.
        w : float, default=1.0
            Weight of the row.
        """
        if self._stack is not None:
            delay, said = self._waiting.take(x)
            self._stack.set_delay(delay, [said])
        self.model.learn_one(x, y, w)

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> Any:
        """Return the prediction for one row; None before the first row was learned.

        Parameters
        ----------
        x : mapping
            As for `learn_one`.
        **kwargs : any
            Ignored.

        Returns
        -------
        y : label, float or None
            As from `predict`.
        """
        found = self.model.predict_one(x)
        self._wait(x)
        return found

    def _wait(self, x: Mapping[Any, Any]) -> None:
        """Note that a row was predicted, if that matters."""
        if self._stack is not None:
            self._waiting.add(x, self._stack)

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of what was learned; River would count the compiler's objects, too."""
        steps = [step for _, step in getattr(self.model, "steps", [("", self.model)])]
        arrays = (one for step in steps for one in self._learned(step))
        return sum(array.nbytes for array in arrays)

    @staticmethod
    def _learned(step: Any) -> list[Any]:
        """Return the arrays of a step; none before its first row."""
        try:
            return list(step.get_state().values())
        except NotFittedError:
            return []

    @property
    def _mutable_attributes(self) -> set[str]:
        return set(self.estimator.get_params())

    def __getattr__(self, name: str) -> Any:
        # River reads parameters that may change as attributes
        if name.startswith("_") or "estimator" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        params = self.model.get_params()
        if name in params:
            return params[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def mutate(self, new_attrs: Mapping[str, Any]) -> None:
        """Set parameters of the model, which goes on with what it has learned.

        Parameters
        ----------
        new_attrs : mapping of str to any
            By name, as for ``set_params``.

        Raises
        ------
        ValueError
            There is no such parameter.
        """
        for name, value in new_attrs.items():
            self.estimator.set_params(**{name: value})
            self.model.set_params(**{name: value})
        self._find_stack()

    def _unit_test_skips(self) -> set[str]:
        # the first values of factors depend on the order in which features come
        return {"check_shuffle_features_no_impact"}


class RiverClassifier(_RiverEstimator, base.Classifier):
    """A classifier of this package as one of River.

    Parameters
    ----------
    estimator : learner or Pipeline
        A classifier that learns single rows.

    Attributes
    ----------
    model : learner or Pipeline
        A copy of the estimator, which learns.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> from crossview import AROWClassifier
    >>> from crossview.compat.river import RiverClassifier
    >>> model = preprocessing.StandardScaler() | RiverClassifier(AROWClassifier())
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.95%
    """

    def predict_proba_one(self, x: Mapping[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each class for one row; empty before the first row.

        Parameters
        ----------
        x : mapping
            As for `learn_one`.
        **kwargs : any
            Ignored.

        Returns
        -------
        p : dict of label to float
            The sum is 1.
        """
        if not hasattr(self.model, "predict_proba_one"):
            raise NotImplementedError("the model has no probabilities; set calibration='sigmoid'")
        found: dict[Any, float] = self.model.predict_proba_one(x)
        self._wait(x)
        return found

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from crossview import AROWClassifier

        yield {"estimator": AROWClassifier()}


class RiverRegressor(_RiverEstimator, base.Regressor):
    """A regressor of this package as one of River.

    Parameters
    ----------
    estimator : learner or Pipeline
        A regressor that learns single rows.

    Attributes
    ----------
    model : learner or Pipeline
        A copy of the estimator, which learns.
    """

    def predict_one(self, x: Mapping[Any, Any], **kwargs: Any) -> float:
        """Return the prediction for one row; 0 before the first row was learned, as River's do.

        Parameters
        ----------
        x : mapping
            As for `learn_one`.
        **kwargs : any
            Ignored.

        Returns
        -------
        y : float
            As from `predict`.
        """
        found = super().predict_one(x, **kwargs)
        return 0.0 if found is None else found

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from crossview import OnlineStackingRegressor, ViewEncoder, make_pipeline

        # numbers that are not scaled need an encoder
        learner = OnlineStackingRegressor(random_state=0)
        yield {"estimator": make_pipeline(ViewEncoder(), learner)}


def to_river(model: Any) -> RiverClassifier | RiverRegressor:
    """Return a learner, or a pipeline of encoder and learner, as an estimator of River.

    Parameters
    ----------
    model : learner or Pipeline
        It has ``learn_one``; fitted or not.  It is copied.

    Returns
    -------
    estimator : RiverClassifier or RiverRegressor
        With the methods and properties of River's estimators.

    Raises
    ------
    InputError
        The model does not learn single rows.

    Examples
    --------
    >>> from crossview import PassiveAggressiveClassifier, ViewEncoder, make_pipeline
    >>> from crossview.compat.river import to_river
    >>> model = to_river(make_pipeline(ViewEncoder(), PassiveAggressiveClassifier()))
    >>> model.learn_one({"city": "Oslo", "age": 31}, "click")
    >>> model.predict_proba_one({"city": "Oslo", "age": 31})
    {'click': 1.0}
    """
    if not hasattr(model, "learn_one"):
        raise InputError(f"{type_of(model)} does not learn single rows; give one with learn_one")
    return RiverRegressor(model) if is_regressor(model) else RiverClassifier(model)
