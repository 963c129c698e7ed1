"""What is predicted, a class or a number: where scoring the two differs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import (
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from crossview.catalog.metrics import metric_of
from crossview.catalog.names import TASKS
from crossview.errors import InputError
from crossview.evaluation.metrics import ErrorTally, Tally, decide, hinge_losses, measure

__all__ = ["Classification", "Regression", "Task"]


class Classification:
    """One of several classes is predicted.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        All labels that may occur, sorted.
    positive : label, default=None
        With two classes: the one that f1 and similar metrics are about.  None: the second.
    """

    name = "classification"
    shown = TASKS[name][1:]  # in a table, besides what decides
    test = "exact McNemar test on the rows predicted right"

    def __init__(self, classes: np.ndarray, positive: Any = None) -> None:
        self.classes = classes
        self.positive = _positive_code(classes, positive)
        self.positive_label = classes.tolist()[self.positive] if len(classes) == 2 else None

    def scores(self, model: Any, X: Any) -> np.ndarray:
        """Return the scores of the rows, as the metrics take them."""
        return np.asarray(model.decision_function(X))

    def score_then_learn(self, model: Any, X: Any, y: np.ndarray) -> np.ndarray:
        """Return the score of each row just before the model learns it."""
        return np.asarray(model.score_then_learn(X, y, self.classes))

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the labels as the metrics take them: as codes."""
        return np.searchsorted(self.classes, y)

    def measure(self, name: str, y: np.ndarray, scores: np.ndarray) -> float:
        """Return one metric of some rows."""
        return measure(name, self.encode(y), scores, positive=self.positive)

    def losses(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the loss of each row."""
        return hinge_losses(self.encode(y), scores)

    def mistakes(self, metric: str, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return 1 for each row that is predicted wrong, and 0 for the others."""
        return (decide(scores) != self.encode(y)).astype(np.float64)

    def tally(self) -> Tally:
        """Return a tally that has counted nothing."""
        return Tally(len(self.classes), positive=self.positive)

    def check_folds(self, y: np.ndarray, cv: int, unlabeled: int = 0) -> None:
        """Refuse folds of the labeled rows that would lack a class."""
        labels, counts = np.unique(y, return_counts=True)
        rare, count = labels.tolist()[counts.argmin()], int(counts.min())
        # each class in every fold, and twice in every training part
        if count < cv or count - -(-count // cv) < 2:
            more = f", or label more of the {unlabeled:,} unlabeled rows" * bool(unlabeled)
            raise InputError(
                f"class {rare!r} has {count} row(s), too few for {cv} folds; "
                f"take fewer folds, or leave the class out{more}"
            )

    def check_first(self, y: np.ndarray, unlabeled: int = 0) -> None:
        """Refuse first rows of a stream by which parameters cannot be chosen."""
        if unlabeled and len(np.unique(y)) < 2:
            seen = f"only {y.tolist()[0]!r} as a label" if len(y) else "no label"
            raise InputError(
                f"the first {len(y) + unlabeled} rows have {seen}, so they cannot choose "
                "parameters; shuffle the rows, or compare by folds"
            )
        if len(np.unique(y)) < 2:
            raise InputError(
                f"the first {len(y)} rows are all of class {y.tolist()[0]!r}, so "
                "they cannot choose parameters; shuffle the rows, which seem to be sorted "
                "by label, or compare by folds"
            )

    def folds(self, k: int, seed: int) -> Any:
        """Return shuffled folds with each class in proportion."""
        return StratifiedKFold(k, shuffle=True, random_state=seed)

    def inner_folds(self, y: np.ndarray, seed: int) -> Any:
        """Return three folds, or as many as the rarest class has rows."""
        return self.folds(min(3, int(np.unique(y, return_counts=True)[1].min())), seed)

    def one_split(self, seed: int) -> Any:
        """Return one split of 80 to 20."""
        return StratifiedShuffleSplit(1, test_size=0.2, random_state=seed)


class Regression:
    """A number is predicted; each method does what that of `Classification` does."""

    name = "regression"
    shown = TASKS[name][1:]
    test = "normal test of the paired differences in error, row by row"
    classes = np.empty(0)
    positive_label = None

    def scores(self, model: Any, X: Any) -> np.ndarray:
        """Return the predictions."""
        return np.asarray(model.predict(X))

    def score_then_learn(self, model: Any, X: Any, y: np.ndarray) -> np.ndarray:
        """Return the prediction of each row just before the model learns it."""
        return np.asarray(model.score_then_learn(X, y))

    def encode(self, y: np.ndarray) -> np.ndarray:
        """Return the numbers as they are."""
        return y

    def measure(self, name: str, y: np.ndarray, scores: np.ndarray) -> float:
        """Return one metric of some rows."""
        return measure(name, y, scores)

    def losses(self, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the squared error of each row."""
        return (scores - y) ** 2

    def mistakes(self, metric: str, y: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Return the error of each row, or its square, of which the metric is the mean."""
        errors = np.asarray(metric_of(metric).function()(y, scores))
        return errors**2 if metric_of(metric).root_mean_square else errors

    def tally(self) -> ErrorTally:
        """Return a tally that has counted nothing."""
        return ErrorTally()

    def check_folds(self, y: np.ndarray, cv: int, unlabeled: int = 0) -> None:
        """Refuse folds that would be empty."""
        if len(y) < 2 * cv:
            raise InputError(f"{len(y)} rows are too few for {cv} folds; take fewer folds")

    def check_first(self, y: np.ndarray, unlabeled: int = 0) -> None:
        """Any numbers can choose parameters."""

    def folds(self, k: int, seed: int) -> Any:
        """Return shuffled folds."""
        return KFold(k, shuffle=True, random_state=seed)

    def inner_folds(self, y: np.ndarray, seed: int) -> Any:
        """Return three folds, or as many as there are rows."""
        return self.folds(min(3, len(y)), seed)

    def one_split(self, seed: int) -> Any:
        """Return one split of 80 to 20."""
        return ShuffleSplit(1, test_size=0.2, random_state=seed)


Task = Classification | Regression


def _positive_code(classes: np.ndarray, positive: Any) -> int:
    """The code of the class that f1 and similar metrics are about; the second if none is named.

    A label from a command line is text, so the classes are compared as text too.
    """
    if positive is None:
        return 1
    if len(classes) > 2:
        raise InputError(
            f"a positive class is for two classes, and there are {len(classes)}; "
            "leave it out, and each class counts the same"
        )
    for code, label in enumerate(classes.tolist()):
        if label == positive or str(label) == str(positive):
            return code
    raise InputError(f"no class {positive!r} (there are: {', '.join(map(str, classes.tolist()))})")
