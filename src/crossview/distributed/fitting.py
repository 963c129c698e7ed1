"""A learner on rows that are on a cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from crossview.distributed.cluster import check_client, n_threads
from crossview.distributed.mixing import Learned, Mixer, split_evenly
from crossview.distributed.sources import check_partitions
from crossview.errors import InputError, type_of


@dataclass
class Mixed:
    """Result of `fit`.

    model: the merged model: the best one by the held-out rows, without any the last.
    n_rounds: after how many rounds that is.
    n_partitions: how many models were merged.
    rows: number of rows of a round.
    losses: mean loss of the held-out rows after each round (log loss; of a classifier without
      probabilities the error rate, of a regressor the squared error); empty without any.
    """

    model: Any
    n_rounds: int
    n_partitions: int
    rows: int
    losses: list[float]


def fit(
    model: Any,
    blocks: Sequence[Any],
    *,
    client: Any,
    classes: Any = None,
    n_partitions: int | None = None,
    n_rounds: int | None = None,
    held_out: Sequence[Any] = (),
    observer: Callable[[int, int, float | None], None] = lambda *_: None,
) -> Mixed:
    """Fit an online learner to rows on the workers of a Dask cluster.

    Iterative parameter mixing: in each round every partition is learned in order by a copy of the
    common model, and the copies are merged, weighted by rows (`crossview.merge`).  The result
    depends on the number of partitions and not on that of the workers, to the last bit.

    Parameters
    ----------
    model : online classifier or regressor
        It stays as it is.  A fitted one goes on; one that was not fitted starts.  An integer
        ``random_state`` makes the result repeatable, and machines need one.
    blocks : sequence of (X, y) or (X, y, sample_weight)
        The rows, in any form that ``partial_fit`` takes: `dask.delayed.Delayed` or futures of such
        tuples, which stay where they are, or the tuples.  A worker has one block in memory at a
        time.
    client : distributed.Client
        Connection to the cluster.
    classes : array-like, default=None
        All labels that may occur; needed for a classifier that was not fitted.
    n_partitions : int, default=None
        How many copies learn at the same time, 1 or more; each learns consecutive blocks.  More
        use more workers, and each round then moves the model less.  None: as many as the cluster
        has threads.
    n_rounds : int, default=None
        Passes over all rows, 1 or more.  None: until the held-out loss gets no better (less than
        0.1 % lower than the best one), or 20; 1 without held-out rows.
    held_out : sequence of (X, y) or (X, y, sample_weight)
        Blocks that no copy learns, by which the best round is chosen.
    observer : callable
        Is called after each round with its number, the rows and the held-out loss or None.

    Returns
    -------
    Mixed
        The merged model, and how the rounds went.

    Raises
    ------
    InputError
        The learner does not stream, or has no merge; or there are fewer blocks than partitions.

    References
    ----------
    R. McDonald, K. Hall, G. Mann, "Distributed Training Strategies for the Structured Perceptron",
    NAACL 2010, figure 3.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import AROWClassifier
    >>> from crossview.distributed import fit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> blocks = [(scale(X)[i::4], y[i::4]) for i in range(4)]
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     mixed = fit(AROWClassifier(random_state=0), blocks[:3], client=client, classes=[0, 1],
    ...                 n_partitions=2, held_out=blocks[3:])
    >>> round(mixed.model.score(*blocks[3]), 2), mixed.rows
    (0.96, 427)
    """
    check_client(client)
    is_fitted = hasattr(model, "layout_")
    if not hasattr(model, "partial_fit"):
        raise InputError(
            f"{type(model).__name__} learns all rows at once, and cannot be mixed; "
            "see crossview.distributed.fit_svm"
        )
    model.check_params()
    model.check_streams()
    if is_classifier(model) and classes is None and not is_fitted:
        raise InputError("classes= is required; give all labels that may occur")
    if n_rounds is not None and n_rounds < 1:
        raise InputError(f"n_rounds={n_rounds}; give 1 or more")
    if not len(blocks):
        raise InputError("there are no blocks of rows; give at least one")
    check_partitions(n_partitions)
    n = min(n_threads(client), len(blocks)) if n_partitions is None else n_partitions
    parts = split_evenly(blocks, n)
    mixer = Mixer(client, ArrayWork(classes), parts, held_out, observer)
    if n_rounds is None and not len(held_out):
        n_rounds = 1
    found = mixer.run(copy.deepcopy(model), n_rounds, is_fitted=is_fitted)
    return Mixed(found.model, found.n_rounds, n, found.rows, found.losses)


@dataclass(frozen=True)
class ArrayWork:
    """Work on blocks of (X, y)."""

    classes: Any = None

    def learn(self, before: Learned, block: Any, at: tuple[int, int, int]) -> Learned:
        """Learn the rows of a block."""
        X, y, weight = parts_of_block(block)
        model = copy.deepcopy(before.model)
        with_classes = {} if self.classes is None else {"classes": self.classes}
        with without_calibration(model, at[0] > 0):
            model.partial_fit(X, y, sample_weight=weight, **with_classes)
        return Learned(model, before.rows + len(y))

    def score(self, model: Any, block: Any) -> tuple[float, float]:
        """Return the sum of the losses, and that of the weights."""
        return sum_of_losses(model, [parts_of_block(block)])


@contextmanager
def without_calibration(model: Any, again: bool) -> Iterator[None]:
    """While rows are learned again, their scores say nothing of new rows."""
    calibration = getattr(model, "calibration", None) if again else None
    if calibration is None:
        yield
        return
    model.calibration = "none"
    try:
        yield
    finally:
        model.calibration = calibration


def sum_of_losses(model: Any, parts: Iterable[tuple[Any, Any, Any]]) -> tuple[float, float]:
    """Return the sum of the losses of rows, their labels and weights, and that of the weights."""
    total = weights = 0.0
    for X, y, weight in parts:
        each = losses(model, X, np.asarray(y))
        weight = np.ones(len(each)) if weight is None else np.asarray(weight, dtype=np.float64)
        total, weights = total + float(weight @ each), weights + float(weight.sum())
    return total, weights


def losses(model: Any, X: Any, y: np.ndarray) -> np.ndarray:
    """Return the loss of each row: log loss, error or squared error."""
    if not is_classifier(model):
        return np.asarray((model.predict(X) - y) ** 2)
    if not hasattr(model, "predict_proba"):
        return (model.predict(X) != y).astype(np.float64)
    p = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return -np.log(np.maximum(p, np.finfo(float).tiny))


def parts_of_block(block: Any) -> tuple[Any, Any, Any]:
    """Return X, y and the weights of a block, or None."""
    if not (isinstance(block, tuple | list) and len(block) in (2, 3)):
        raise InputError(f"a block is {type_of(block)}; give (X, y) or (X, y, weight)")
    X, y, *weight = block
    return X, y, weight[0] if weight else None
