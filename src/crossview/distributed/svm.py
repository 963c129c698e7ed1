"""A support vector machine for a measure, exactly, for rows that stay on their workers.

Actors hold the parts of the rows, and keep their scores between calls.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.data.labeled import LabeledBatch
from crossview.data.row_sketch import RowSketch, hash_rows
from crossview.distributed.cluster import (
    RETRIES,
    check_client,
    compute,
    dask_distributed,
    result,
    results,
    share,
)
from crossview.distributed.fitting import parts_of_block
from crossview.distributed.mixing import Rounds
from crossview.distributed.worker_rows import Part, RowWork
from crossview.errors import InputError, type_of
from crossview.estimators.svm.classifier import MultiViewSVMPerf
from crossview.estimators.svm.divided import Parts, fit_divided
from crossview.estimators.svm.part import Labels, PartOfRows, ScoredPart, labels_of, part_of
from crossview.saving.pipelines import pipeline, steps
from crossview.views import MultiView


def assign_workers(client: Any, blocks: list[Any], sizes: list[int]) -> list[str]:
    """Return a worker for each block: the one that has it, unless that has its share already."""
    threads, places, homes = client.ncores(), client.who_has(blocks), []
    of_thread = sum(sizes) / max(1, sum(threads.values()))
    load = dict.fromkeys(sorted(threads), 0)
    for block, size in zip(blocks, sizes, strict=True):
        owners = [one for one in places[block.key] if one in load]
        free = [one for one in owners if load[one] + size / 2 <= threads[one] * of_thread]
        home = min(free or load, key=lambda one: (load[one] + size) / threads[one])
        load[home] += size
        homes.append(home)
    return homes


class RemoteParts:
    """The parts, on workers: an actor on each has those that are in its memory.

    A call of an actor is much faster than a task.  Its state is a copy of scores, so where
    a worker dies, Dask makes the parts again on another one, and a new actor repeats the call.
    """

    def __init__(self, client: Any, parts: list[Any]) -> None:
        self._client, self._parts = client, parts
        dask_distributed().wait(parts)
        places = client.who_has(parts)
        homes = [min(places[part.key], default="") for part in parts]  # a part that failed has none
        self._homes = sorted(set(homes))
        self._members = [[i for i, one in enumerate(homes) if one == home] for home in self._homes]
        self._futures: dict[int, Any] = {}
        self._actors = [self._hold(g) for g in range(len(self._homes))]

    def _hold(self, g: int) -> Any:
        parts, home = [self._parts[i] for i in self._members[g]], self._homes[g]
        threads = self._client.ncores().get(home, 1)
        # an actor lives as long as this future; it takes the client that is current
        self._futures[g] = self._client.submit(
            PartActor, parts, threads, actor=True, workers=[home], allow_other_workers=True,
            pure=False, retries=RETRIES,
        )  # fmt: skip
        with self._client.as_current():
            return self._futures[g].result()

    def each(self, method: str, values: list[tuple]) -> list[Any]:
        """Return what a method of each `ScoredPart` returns for its arguments."""
        own = [[values[i] for i in members] for members in self._members]
        calls = [self._begin(g, method, own[g]) for g in range(len(own))]
        found: dict[int, Any] = {}
        for g, (call, members) in enumerate(zip(calls, self._members, strict=True)):
            found |= zip(members, self._finish(g, call, method, own[g]), strict=True)
        return [found[i] for i in range(len(values))]

    def _begin(self, g: int, method: str, values: list[tuple]) -> Any:
        with contextlib.suppress(RuntimeError):  # its worker is known to be dead
            return self._actors[g].call(method, values)

    def _finish(self, g: int, call: Any, method: str, values: list[tuple]) -> list[Any]:
        for _ in range(RETRIES):
            with contextlib.suppress(OSError):  # its worker died
                if call is not None:
                    return list(call.result())
            self._actors[g] = self._hold(g)
            call = self._begin(g, method, values)
        return list(self._actors[g].call(method, values).result())

    def total(self, method: str, *values: Any) -> np.ndarray:
        """Return the sum of what a method of each `PartOfRows` returns, in their order."""
        call = getattr(PartOfRows, method)
        tasks = [
            self._client.submit(call, part, *values, pure=False, retries=RETRIES)
            for part in self._parts
        ]
        found = self._client.submit(_sum, tasks, pure=False, retries=RETRIES)
        return np.asarray(result(self._client, found))


class PartActor:
    """The parts in the memory of one worker."""

    def __init__(self, parts: list[PartOfRows], n_threads: int) -> None:
        self._parts, self._n_threads = [ScoredPart(part) for part in parts], n_threads

    def call(self, method: str, values: list[tuple]) -> list[Any]:
        """Return what a method of each part returns for its arguments."""
        call = getattr(ScoredPart, method)
        with ThreadPoolExecutor(self._n_threads) as pool:
            return list(pool.map(lambda part, own: call(part, *own), self._parts, values))


def _sum(values: list[np.ndarray]) -> np.ndarray:
    return np.asarray(np.add.reduce(values))


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
    rows = [client.submit(parts_of_block, client.compute(b) if _is_lazy(b) else b, pure=False)
            for b in blocks]  # fmt: skip
    labels: list[Labels] = results(
        client,
        [client.submit(_labels, model, block, pure=False, retries=RETRIES) for block in rows],
    )
    head = result(client, client.submit(_head, rows[0], pure=False))

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
        scores, y, weight = zip(*results(client, calibration), strict=True)
        fitted.calibrate(*(np.concatenate(each) for each in (scores, y, weight)))
    return fitted


def _is_lazy(block: Any) -> bool:
    return hasattr(block, "dask")


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


def fit_in_memory(
    client: Any, work: RowWork, partitions: Sequence[Sequence[Part]], start: Any
) -> Rounds:
    """Learn all rows that are not held out, each in the memory of the worker that read it."""
    parts = [part for partition in partitions for part in partition]
    encoder, learner = steps(start)
    found = results(client, compute(client, _statistics, [(work, part, encoder) for part in parts]))
    seen, sketches = zip(*found, strict=True)
    if encoder is not None:
        encoder = seen[0].merge_with(seen[1:]) if len(seen) > 1 else seen[0]
    known = share(client, encoder)
    rows = compute(client, _rows, [(work, part, known) for part in parts])
    counts = results(client, compute(client, _count, [(one,) for one in rows]))
    if not sum(counts):
        raise InputError("the files have no row to learn from")
    kept = [one for one, n in zip(rows, counts, strict=True) if n]
    # held-out rows calibrate it
    fitted = fit_svm(clone(learner).set_params(calibration="none"), kept, client=client)
    fitted.calibration = learner.calibration
    model = pipeline(encoder, fitted)
    future, sketch = share(client, model), sum(sketches, RowSketch())
    return Rounds(model=model, future=future, n_rounds=1, rows=sum(counts), sketch=sketch)


def _statistics(work: RowWork, part: Part, encoder: Any) -> tuple[Any, RowSketch]:
    """Return what an encoder learns from the rows of a part, and their sketch."""
    seen, source, sketch = copy.deepcopy(encoder), part.rows(), RowSketch()
    for batch in work.learned(part):
        source.encode(batch, seen, True)
        sketch = sketch.with_rows(hash_rows(batch.X, seen))
    return seen, sketch


def _rows(work: RowWork, part: Part, encoder: Any) -> tuple[MultiView, np.ndarray, Any] | None:
    """The rows of a part, their labels and weights; None if there is no row."""
    source = part.rows()
    batches = [
        replace(batch, X=source.encode(batch, encoder, False)) for batch in work.learned(part)
    ]
    if not batches:
        return None
    rows = LabeledBatch.join(batches)
    return rows.X, rows.y, rows.weight


def _count(rows: tuple | None) -> int:
    return 0 if rows is None else len(rows[1])
