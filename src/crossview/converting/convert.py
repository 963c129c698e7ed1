"""Rows of any source to text files with views."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from crossview.data.encoding.encode import ViewEncoder
from crossview.data.joining.views_as_table import open_views
from crossview.data.labeled_source import encoder_with_views, open_labeled
from crossview.data.source import input_files, open_source
from crossview.data.writers.rows_with_views import format_to_write, views_as_read, writing_rows
from crossview.errors import InputError
from crossview.labels import has_label
from crossview.views import MultiView, ViewLayout


class Converted(NamedTuple):
    """Result of `convert`.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    labels : dict
        The number that stands for each label, where labels are not numbers.
    views : dict of str to list of str
        The ``views`` with which `open_rows` finds the same views in the file.
    """

    n_rows: int
    labels: dict[Any, int]
    views: dict[str, list[str]]


_Batches = Iterable[tuple[MultiView, np.ndarray, np.ndarray | None]]


def convert(
    X: Any,
    y: Any,
    output: str | os.PathLike[str],
    *,
    on: str | Sequence[str] | None = None,
    views: Mapping[str, Any] | None = None,
    encoder: ViewEncoder | None = None,
    task: str | None = None,
) -> Converted:
    """Write rows to a file of svmlight, libffm or Vowpal Wabbit, with their views.

    Numbers are written with the fewest digits that are read as the same number, so reading the file
    with ``views`` of the answer gives the same rows, to the last bit (of ``.vw`` with as many
    ``hash_bits`` as the widest view needs).  Rows stream through.

    Parameters
    ----------
    X : MultiView, data frame, path, glob, query, or mapping of str to these
        The rows; a mapping as for `train`.  Tables are encoded by a `ViewEncoder` that has learned
        all rows, without dividing views by their norm.
    y : array-like of shape (n_samples,), str or None
        The labels, or the name of their column; None if the file format has labels.
    output : path-like
        The file to write: ``.svm``, ``.ffm`` or ``.vw``, also with ``.gz`` or ``.zst``.  In
        ``.svm`` columns are numbered from 1, view after view; in ``.ffm`` a view is a field, and in
        ``.vw`` a namespace, whose columns are numbered from 0.
    on : str or sequence of str, default=None
        Where ``X`` is a mapping of views to sources: the column, such as an id, by which their rows
        belong together.  None: frames have the same rows, in one order or by their pandas index.
    views : mapping of str to columns, default=None
        As for `train`.
    encoder : ViewEncoder, default=None
        As for `train`; its ``scale_views`` does not apply.
    task : {"classification", "regression"}, default=None
        Whether to predict a class or a number.  None: a number if the first labels have decimals or
        take more than 100 values, or more than 10 from above 1 on, and otherwise a class; a guess
        between the two is a warning.

    Returns
    -------
    Converted
        Number of rows, numbers of the labels, and how the views are read.

    Raises
    ------
    InputError
        A view is missing in a row, or rows have weights and the format has none.

    Examples
    --------
    >>> import os, tempfile
    >>> from crossview import convert, datasets, load_svmlight
    >>> path = os.path.join(tempfile.mkdtemp(), "cancer.svm")
    >>> answer = convert(datasets.load("breast-cancer"), "diagnosis", path)
    >>> answer.n_rows, answer.labels, answer.views["mean"]
    (569, {'benign': 0, 'malignant': 1}, ['1:20'])
    >>> load_svmlight(path, views=answer.views)[0]
    MultiView(569 rows, mean: 20, error: 20, worst: 20)
    """
    encoder = encoder_with_views(encoder, views)
    X, y, views = open_views(X, y, on, views=encoder.views)
    encoder.set_params(views=views, scale_views=False)
    path = os.fspath(output)
    format = format_to_write(path, input_files(X))
    labels: dict[Any, int] = {}
    source = open_source(X, views=views, hash_bits=encoder.hash_bits)
    if isinstance(X, MultiView):
        y = np.asarray(y)
        if y.shape != (len(X),):
            raise InputError(f"{y.shape} labels for {len(X)} rows")
        layout: ViewLayout = X.layout
        batches: _Batches = [(X, y, None)]
        if not _are_numbers(y):
            labels = {one: i for i, one in enumerate(np.unique(y[has_label(y)]).tolist())}
    elif not source.has_columns:
        if y is not None:
            raise InputError("the file has the labels; leave the label out")
        layout = source.layout
        batches = ((batch.X, batch.y, batch.weight) for batch in source)
    else:
        rows = open_labeled(source, y, encoder=encoder, task=task, unlabeled=True)
        rows.settle_bins(streamed=False)
        encoder = clone(rows.encoder)
        for _ in rows.encoded(encoder, learn=True):
            pass
        layout, batches = encoder.layout_, rows.encoded(encoder, learn=False)
        if not _are_numbers(rows.classes):
            labels = {one: i for i, one in enumerate(rows.classes.tolist())}
    n_rows = 0
    with writing_rows(path, format, layout) as writer:
        for part, known, weight in batches:
            writer.write(part, _as_numbers(known, labels), weight)
            n_rows += len(part)
    return Converted(n_rows, labels, views_as_read(format, layout))


def _are_numbers(y: np.ndarray) -> bool:
    return all(isinstance(one, int | float) for one in y[has_label(y)].tolist())


def _as_numbers(y: np.ndarray, labels: Mapping[Any, int]) -> np.ndarray:
    """The numbers to write."""
    if not labels:
        return y
    return np.array([labels.get(one, np.nan) for one in y.tolist()])
