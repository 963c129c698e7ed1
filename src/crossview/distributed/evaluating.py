"""Evaluation of a model on rows that the workers of a cluster read."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np

from crossview.data.row_columns import with_row_location
from crossview.distributed.cluster import (
    check_client,
    compute,
    compute_sum,
    pass_on,
    results,
    share,
)
from crossview.distributed.sources import (
    check_blocks,
    check_partitions,
    cut_evenly,
    find_partitions,
    frames_as_table,
    is_dask_frame,
    open_frame,
)
from crossview.errors import InputError, argument
from crossview.evaluating.counting import ROWS_FOR_SCALE, Counts, RowCounter, Start, start_of
from crossview.evaluating.evaluate import evaluate as evaluate_here
from crossview.evaluating.evaluate import make_evaluation, nothing_to_evaluate
from crossview.evaluating.evaluation import Evaluation
from crossview.evaluating.spec import (
    EvaluationSpec,
    labeled_batches,
    open_rows_to_evaluate,
    resolve,
    window_of_rows,
)
from crossview.evaluating.survey import (
    LABELED,
    ROWS,
    Position,
    Survey,
    count_parts,
    positions,
    sample_numbers,
)
from crossview.evaluating.unknown import UnknownLabels, count_unknown, take_as_errors
from crossview.evaluating.windows import ByRows
from crossview.scoring.models.fitted_model import ModelRows, UnknownLabelsError
from crossview.views import MultiView


def evaluate(
    model: Any,
    X: Any,
    y: str | None = None,
    *,
    client: Any,
    n_partitions: int | None = None,
    by: str | Sequence[str] = (),
    time: str | None = None,
    window: str | int | timedelta | None = None,
    groups: str | None = None,
    missing_columns: str = "error",
    **options: Any,
) -> Evaluation:
    """Evaluate a fitted model on labeled rows that the workers of a Dask cluster read.

    Every worker counts its partitions, and the counts are added up in the order of the partitions.
    The answer is that of `crossview.evaluate`: the same rows in each cell, bin, block, slice and
    window, and sums that differ by rounding.  It depends on the number of partitions and not on the
    workers, to the last bit.

    Parameters
    ----------
    model : path-like, Trained, Pipeline or learner
        A model file, which this process reads, what `train` returned, or a fitted model.
    X : path, glob, list of paths, Source or dask.dataframe.DataFrame
        Files that all workers and this process can open by the same names, as on a file system that
        they share; or a Dask data frame, whose partitions are computed anew in each pass unless it
        was persisted.
    y : str, default=None
        The label column.  None: the one that a model file was trained for, or the format has
        labels.
    client : distributed.Client
        Connection to the cluster.
    n_partitions : int, default=None
        How many parts are counted at the same time, each of consecutive files, row groups or
        partitions of the data frame.  Only the rounding of sums depends on it.  None: as many as
        the cluster has threads.
    by, time, window, groups, missing_columns
        As for `crossview.evaluate`; groups are a column.
    **options
        The others of `crossview.evaluate`: ``scoring`` and ``views``.

    Returns
    -------
    Evaluation
        As from `crossview.evaluate`.

    Raises
    ------
    InputError
        The source is no files, or has fewer files or row groups than partitions; labels are not
        among the classes of the model, as for `crossview.evaluate`; an argument is invalid.

    Notes
    -----
    A first pass over the labels counts the rows of each partition, so that the blocks of the
    jackknife are those of one machine wherever partitions end.  ``by`` and ``time`` need one more
    pass over their columns, and numbers that are more than 65,536 another one.  Of a Dask data
    frame, the bins of the scores, in which intervals of metrics of their order are computed, are
    placed by its first partition with a label.

    Examples
    --------
    >>> import os, tempfile
    >>> import pyarrow.parquet as pq
    >>> from distributed import Client
    >>> from crossview import datasets, train
    >>> from crossview.distributed import evaluate
    >>> table = datasets.load("breast-cancer")
    >>> trained = train(table[:400], "diagnosis")
    >>> path = os.path.join(tempfile.mkdtemp(), "rows.parquet")
    >>> pq.write_table(table[400:], path, row_group_size=50)
    >>> with Client(processes=False, n_workers=2, dashboard_address=":0") as client:
    ...     found = evaluate(trained.fitted, path, "diagnosis", client=client)
    >>> found.n_rows, found.value > 0.8
    (169, True)
    """
    check_client(client)
    _check(y, groups, options)
    check_partitions(n_partitions)
    spec = resolve(model, **options)
    by = [by] if isinstance(by, str) else list(by)
    if isinstance(X, MultiView):
        check_blocks(0, 1, None)
    stream, frames = open_frame(X) if is_dask_frame(X) else (X, [])
    rows = open_rows_to_evaluate(
        spec, stream, y, by=by, time=time, groups=groups, missing_columns=missing_columns
    )
    spec.windows = window_of_rows(window, time)
    n_blocks = getattr(rows.source, "n_blocks", 0)
    n = find_partitions(client, n_blocks, n_partitions, rows.file)
    return _Evaluators(client, spec, rows, _parts(rows, frames, n)).evaluate(by, time, window)


def _check(y: Any, groups: Any, options: dict[str, Any]) -> None:
    """Refuse what `crossview.evaluate` has not, or has for one machine only."""
    if y is not None and not isinstance(y, str):
        raise InputError(f"{argument('y')} is the name of a column where workers read the rows")
    if groups is not None and not isinstance(groups, str):
        raise InputError(f"{argument('groups')} is a column where workers read the rows")
    known = inspect.signature(evaluate_here).parameters
    for name in options:
        if name not in known:
            raise InputError(f"evaluate has no option {name!r}")


class _Part(NamedTuple):
    """Rows that one task reads: a source, or the partitions of a Dask data frame."""

    source: Any
    frames: Sequence[Any]
    first_block: int

    def of(self, rows: Any) -> Any:
        """Return these rows as the model reads them."""
        source = self.source
        if self.frames and source.has_columns:
            source = frames_as_table(source, self.frames)
        return rows.of_source(source)


def _parts(rows: Any, frames: list[Any], n: int) -> list[list[_Part]]:
    """Return the source of each partition; the partitions of a data frame in order."""

    def part(a: int, b: int) -> _Part:
        return _Part(rows.source.of_blocks(slice(a, b)), frames[a:b], a)

    cuts = cut_evenly(rows.source.n_blocks, n)
    return [[part(i, i + 1) for i in range(a, b)] if frames else [part(a, b)] for a, b in cuts]


class _Evaluators:
    """The workers, each of which reads, scores and counts some rows.

    spec: what is asked of which model.
    rows: all rows; they stay on the workers.
    partitions: the rows of each partition.
    """

    def __init__(
        self,
        client: Any,
        spec: EvaluationSpec,
        rows: ModelRows,
        partitions: list[list[_Part]],
    ) -> None:
        self._client, self._spec, self._rows = client, spec, rows
        self._partitions = partitions
        self._parts = [part for parts in partitions for part in parts]
        self._share()

    def _share(self) -> None:
        """Let the workers have what is asked of which model, and which rows there are."""
        self._model = share(self._client, (replace(self._spec, windows=None), self._rows))
        pass_on(self._client, self._model)

    def evaluate(self, by: list[str], time: str | None, window: Any) -> Evaluation:
        """Return the answer."""
        spec, rows = self._spec, self._rows
        columns = by, None if spec.windows is not None else time
        calls: list[tuple] = [columns] * len(self._parts)
        try:
            survey = self._sum(_survey, calls)
        except UnknownLabelsError:
            own: list[tuple] = [()] * len(self._parts)
            if not take_as_errors(spec, lambda: self._sum(_count_unknown, own)):
                raise
            self._share()
            survey = self._sum(_survey, calls)
        total = positions(survey.counts)[0].total
        if not total[LABELED]:
            raise nothing_to_evaluate(total[ROWS], rows.file)
        self._complete(survey)
        spec.slices = [survey.values[column].slices() for column in by]
        if isinstance(spec.windows, ByRows):
            spec.windows.check_number(total[ROWS])
        elif survey.times is not None:
            spec.windows = survey.times.windows(window)
        divided = share(self._client, {"slices": spec.slices, "windows": spec.windows})
        counts = self._with_parts(survey.counts, divided)
        start = self._start(counts)
        calls = [(divided, start, position) for position in positions(counts)]
        return make_evaluation(spec, self._sum(_count, calls), rows)

    def _sum(self, function: Any, calls: Sequence[tuple]) -> Any:
        """Return the sum over all parts; each call goes on with its own arguments."""
        own = iter(calls)
        return compute_sum(
            self._client,
            function,
            [[(self._model, part, *next(own)) for part in parts] for parts in self._partitions],
        )

    def _gather(self, function: Any, calls: Sequence[tuple]) -> list[Any]:
        """Return what is found in each part, which is little."""
        pairs = zip(self._parts, calls, strict=True)
        futures = compute(
            self._client, function, [(self._model, part, *own) for part, own in pairs]
        )
        return results(self._client, futures)

    def _complete(self, survey: Survey) -> None:
        """Sample the numbers of columns that have more than a sample."""
        names = [
            name
            for name, values in survey.values.items()
            if values.in_ranges and not values.sample.complete
        ]
        if names:
            calls = [(names, position) for position in positions(survey.counts)]
            found = self._gather(_sample, calls)
            for name, samples in zip(names, zip(*found, strict=True), strict=True):
                survey.values[name].sample.values = np.concatenate(samples)

    def _with_parts(self, counts: list[Counter[Any]], divided: Any) -> list[Counter[Any]]:
        """Return the counts of each part, with those of its slices and windows."""
        if not self._spec.slices and self._spec.windows is None:
            return counts
        calls = [(divided, position) for position in positions(counts)]
        return [one + more for one, more in zip(counts, self._gather(_divide, calls), strict=True)]

    def _start(self, counts: list[Counter[Any]]) -> Any:
        """Return what the first batch says, read as one machine reads it."""
        i = next(i for i, one in enumerate(counts) if one[LABELED])
        part = self._parts[i]
        if not part.frames:
            source: Any = self._rows.source
            part = part._replace(source=source.of_blocks(slice(part.first_block, None)))
        (start,) = compute(self._client, _first, [(self._model, part)])
        return start


def _survey(model: tuple, part: _Part, by: list[str], time: str | None) -> Survey:
    spec, rows = model
    rows = part.of(rows)
    return Survey(spec, rows, by, time).count(spec, rows)


def _count_unknown(model: tuple, part: _Part) -> UnknownLabels:
    spec, rows = model
    return count_unknown(spec, part.of(rows))


def _sample(model: tuple, part: _Part, columns: list[str], position: Position) -> list[Any]:
    _, rows = model
    return sample_numbers(part.of(rows), columns, position)


def _divide(model: tuple, part: _Part, divided: dict, position: Position) -> Counter[Any]:
    spec, rows = model
    return count_parts(replace(spec, **divided), part.of(rows), position)


def _first(model: tuple, part: _Part) -> Start:
    spec, rows = model
    labels = spec.labels()
    for located, X, _, given in labeled_batches(part.of(rows), None, spec.label):
        with with_row_location(located):
            known, _ = labels.read(given)
        if len(known):
            X = X[known]
            return start_of(spec.fitted, X, spec.score(X[:ROWS_FOR_SCALE]))
    raise nothing_to_evaluate(1, rows.file)  # the rows have changed since they were counted


def _count(model: tuple, part: _Part, divided: dict, start: Start, position: Position) -> Counts:
    spec, rows = model
    counter = RowCounter(replace(spec, **divided), position, start)
    counter.count_all(part.of(rows))
    assert counter.counts is not None
    return counter.counts
