"""Progressive validation: predict, score, then learn, in the order of the stream."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from crossview.errors import InputError
from crossview.evaluation.metrics import Tally, check_metric

__all__ = ["Record", "encode_labels", "positive_code", "progressive"]


@dataclass(frozen=True)
class Record:
    """How a model has done on a stream so far.

    Attributes
    ----------
    rows : int
        Rows predicted and then learned.
    loss : float
        Mean hinge loss of all of them, each before it was learned.
    loss_since_last : float
        Mean hinge loss of the rows since the record before.
    metric : float
        The chosen measure, of all of them.
    accuracy : float
        Share predicted right, of all of them.
    seconds : float
        Time since the start, reading included.
    """

    rows: int
    loss: float
    loss_since_last: float
    metric: float
    accuracy: float
    seconds: float


def progressive(
    model: Any,
    batches: Iterable[tuple[Any, Any]],
    classes: Any,
    *,
    metric: str = "accuracy",
    positive: Any = None,
) -> Iterator[Record]:
    """Let a model predict every row of a stream, score it, then learn the row.

    Every row is predicted by a model that has learned all rows before it and
    none after, so the score is honest without a held-out set, and the model is
    trained when the generator ends.

    Parameters
    ----------
    model : online classifier
        With the `score_then_learn` of this package.
    batches : iterable of (X, y)
        The stream, in its order.
    classes : array-like of shape (n_classes,)
        All labels that can come.
    metric : str, default="accuracy"
        What to measure besides the loss: f1, accuracy, balanced_accuracy,
        precision, recall, roc_auc or average_precision.
    positive : label, default=None
        With two classes: the one that the measure is about.  None: the second
        of the sorted classes.

    Yields
    ------
    Record
        After 1, 2, 4, 8, ... rows, and at the end.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import PassiveAggressiveClassifier, progressive
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PassiveAggressiveClassifier(C=0.01)
    >>> records = list(progressive(model, [(scale(X), y)], classes=[0, 1]))
    >>> [record.rows for record in records]
    [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 569]
    >>> round(records[-1].accuracy, 2)
    0.96
    """
    check_metric(metric)
    classes = np.unique(np.asarray(classes))
    if len(classes) < 2:
        raise InputError(f"classes= has {len(classes)} class(es); a classifier needs two or more")
    tally = Tally(len(classes), positive=positive_code(classes, positive))
    start = time.perf_counter()
    rows_then, loss_then = 0, 0.0

    def record() -> Record:
        return Record(
            rows=tally.n_rows,
            loss=tally.loss / tally.n_rows,
            loss_since_last=(tally.loss - loss_then) / (tally.n_rows - rows_then),
            metric=tally.value(metric),
            accuracy=tally.value("accuracy"),
            seconds=time.perf_counter() - start,
        )

    for X, y in batches:
        y = np.asarray(y)
        done = 0
        while done < len(y):
            # learn up to the next doubling, so that its record has its own time
            next_record = 1 << tally.n_rows.bit_length()
            piece = slice(done, min(len(y), done + next_record - tally.n_rows))
            part = X if piece == slice(0, len(y)) else _safe_indexing(X, piece)
            scores = model.score_then_learn(part, y[piece], classes)
            tally.update(encode_labels(classes, y[piece]), scores)
            done = piece.stop
            if tally.n_rows == next_record:
                yield record()
                rows_then, loss_then = tally.n_rows, tally.loss
    if tally.n_rows > rows_then:
        yield record()


def encode_labels(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Codes of labels that are known to be among the sorted classes."""
    return np.searchsorted(classes, y)


def positive_code(classes: np.ndarray, positive: Any) -> int:
    """The code of the class that f1 and the like are about; the second if none is named.

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
