"""A support vector machine for a measure, exactly, for rows that stay on their workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crossview.distributed.actors import RemoteParts, assign_workers
from crossview.distributed.cluster import check_client
from crossview.distributed.fitting import parts_of_block
from crossview.distributed.tasks import RETRIES
from crossview.errors import InputError, type_of
from crossview.estimators.svm.classifier import MultiViewSVMPerf
from crossview.estimators.svm.divided import Parts, fit_divided
from crossview.estimators.svm.part import Labels, PartOfRows, labels_of, part_of


def fit_svm(
    model: MultiViewSVMPerf, blocks: Sequence[Any], *, client: Any, held_out: Sequence[Any] = ()
) -> MultiViewSVMPerf:
    """Fit a `MultiViewSVMPerf` to rows on the workers of a Dask cluster, exactly.

    The rows stay where they are.  In each iteration every worker scores its rows, the client
    searches the most violated labeling, and the cut is the sum of the workers' sums.  For F, the
    measures at k and a `Measure` with ``concave=True`` the workers tell counts of scores in bins,
    and the scores in a few of them; for other measures one number per row.  So objective and gap
    are those of ``fit`` on one machine, but for rounding.

    Parameters
    ----------
    model : MultiViewSVMPerf
        The parameters, with ``solver="joint"``; it stays as it is.
    blocks : sequence of (X, y) or (X, y, sample_weight)
        The rows, as for `fit`.  All of them are in the memory of the cluster at the same time.
    client : distributed.Client
        Connection to the cluster.
    held_out : sequence of (X, y) or (X, y, sample_weight)
        Rows whose scores calibrate the probabilities.  None: there are no probabilities.

    Returns
    -------
    MultiViewSVMPerf
        Fitted.

    Raises
    ------
    InputError
        It is another model, or there are more columns than rows.

    Examples
    --------
    >>> from distributed import Client
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from crossview import MultiViewSVMPerf
    >>> from crossview.distributed import fit_svm
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> blocks = [(scale(X)[i::4], y[i::4]) for i in range(4)]
    >>> svm = MultiViewSVMPerf([10, 10, 10], C2=0.001)
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     fitted = fit_svm(svm, blocks[:3], client=client, held_out=blocks[3:])
    >>> fitted.dual_gap_ < 1e-3, fitted.predict_proba(blocks[3][0]).shape
    (True, (142, 2))
    """
    check_client(client)
    if not isinstance(model, MultiViewSVMPerf):
        raise InputError(f"model= is {type_of(model)}; give a MultiViewSVMPerf, or use fit")
    if not len(blocks):
        raise InputError("there are no blocks of rows; give at least one")
    rows = [client.submit(_as_block, client.compute(b) if _is_lazy(b) else b, pure=False)
            for b in blocks]  # fmt: skip
    labels: list[Labels] = client.gather(
        [client.submit(_labels, model, block, pure=False, retries=RETRIES) for block in rows]
    )
    head = client.submit(_head, rows[0], pure=False).result()

    def make_parts(columns: np.ndarray) -> Parts:
        homes = assign_workers(client, rows, [len(one.y) for one in labels])
        parts = [
            client.submit(
                _part, model, block, columns, workers=[home], allow_other_workers=True,
                pure=False, retries=RETRIES,
            )
            for block, home in zip(rows, homes, strict=True)
        ]  # fmt: skip
        return RemoteParts(client, parts)

    fitted = fit_divided(model, head, labels, make_parts)
    calibration: list[Any] = []
    for block in held_out:
        lazy = client.compute(block) if _is_lazy(block) else block
        calibration.append(client.submit(_scores, fitted, lazy, pure=False, retries=RETRIES))
    if calibration:
        scores, y, weight = zip(*client.gather(calibration), strict=True)
        fitted.calibrate(*(np.concatenate(each) for each in (scores, y, weight)))
    return fitted


def _is_lazy(block: Any) -> bool:
    return hasattr(block, "dask")


def _as_block(block: Any) -> tuple[Any, Any, Any]:
    return parts_of_block(block)


def _labels(model: Any, block: tuple) -> Labels:
    return labels_of(model, *block)


def _part(model: Any, block: tuple, columns: np.ndarray) -> PartOfRows:
    X, y, weight = block
    return part_of(model, X, y, weight, columns)


def _head(block: tuple) -> Any:
    X = block[0]
    return X.iloc[:1] if hasattr(X, "iloc") else X[:1]


def _scores(model: Any, block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    X, y, weight = parts_of_block(block)
    y = np.asarray(y)
    return model.decision_function(X), y, np.ones(len(y)) if weight is None else np.asarray(weight)
