"""Rows with labels from any source, through one interface."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from crossview.data.arrow import integers, release_unused
from crossview.data.encoding.encode import ViewEncoder
from crossview.data.encoding.view_reader import ViewReader
from crossview.data.labeled import LabeledSource
from crossview.data.source import Source, open_source
from crossview.data.table_columns import check_label, match_ignored, without_ignored
from crossview.errors import InputError
from crossview.views import MultiView, check_rows

__all__ = [
    "encode_parts",
    "hide_views",
    "open_labeled",
    "open_more",
    "take_rows",
]


def open_labeled(
    source: Any,
    y: Any,
    *,
    views: Any = None,
    ngrams: int = 1,
    ignore: Sequence[str] = (),
    groups: str | None = None,
    of_model: Any = None,
    **options: Any,
) -> LabeledSource:
    """Open rows with their labels: columns that an encoder makes views of, or views.

    Parameters
    ----------
    source : MultiView, data frame, path, glob or query
        The rows.
    y : array-like, str or None
        The labels, or the name of their column; None where a sparse file has them.
    views : mapping of str to columns, default=None
        As for `ViewEncoder`; only for columns.
    ngrams : int, default=1
        Longest sequence of words to count; only for columns.
    ignore : sequence of str, default=()
        Columns that are in no view; only for columns.
    groups : str, default=None
        A column of groups, which is in no view.
    of_model : ViewReader or ViewScaler, default=None
        Of a model that has learned the views already, so that these rows need not have all.
    **options
        As for `LabeledSource`.

    Returns
    -------
    LabeledSource
        The rows.
    """
    check_rows(source, y=y, weight=options.get("weight"))
    rows = open_source(source, views=views, hash_bits=options.get("hash_bits", 18))
    if not rows.has_columns:
        what = "X is a MultiView and" if rows.in_memory else "the file"
        if views is not None and isinstance(source, MultiView | Source):
            raise InputError(f"{what} names its views; leave views= at None")
        encoded = {"bins": None, "tf_idf": False, "ngrams": 1}
        for name, default in encoded.items():
            if (options | {"ngrams": ngrams}).get(name, default) != default:
                raise InputError(
                    f"{what} has columns that are encoded already; leave {name}= at {default}"
                )
        if len(ignore):
            raise InputError(f"{what} has no columns; ignore= is for tables")
        if options.get("time") is not None:
            raise InputError(f"{what} has no column {options['time']!r}; time= is for tables")
        for_rows = ("task", "unlabeled", "classes", "scale_views", "weight")
        if of_model is None:
            rows.check_views()
        return LabeledSource(rows, y, **{key: options[key] for key in for_rows if key in options})
    if y is None:
        raise InputError("which column is the label? Name it: --label COLUMN, or y='COLUMN'")
    if not (isinstance(ngrams, int) and ngrams >= 1):
        raise InputError(f"ngrams={ngrams!r}; give a whole number, 1 or more")
    left_out = match_ignored(ignore, rows.column_names)
    views = without_ignored(views, left_out, rows.column_names)
    ignored = [*left_out, *([] if groups is None else [groups])]
    return LabeledSource(rows, y, views=views, ignored=ignored, ngram_range=(1, ngrams), **options)


def open_more(source: Any, y: Any, encoder: Any, **options: Any) -> LabeledSource:
    """Open rows for a model that has learned others, with its columns, read as it reads them.

    The encoder of the rows has learned nothing; the options are those of `LabeledSource`.
    """
    check_rows(source, y=y, weight=options.get("weight"))
    reads_columns = isinstance(encoder, ViewEncoder)
    rows = open_source(source, dialect=encoder.dialect if reads_columns else None)
    if not reads_columns:
        if rows.has_columns:
            raise InputError("the model has no encoder, so it cannot read tables; give it views")
        if isinstance(encoder, ViewReader) and not rows.in_memory:
            rows = rows.read_as(encoder.reading)
        scaled = getattr(encoder, "scale_views", encoder is not None)
        return open_labeled(rows, y, scale_views=scaled, of_model=encoder, **options)
    if not rows.has_columns:
        raise InputError("the model reads the columns of a table, and X holds views")
    if y is None:  # the first rows had an array
        raise InputError("the model has no name of a label column; give the labels, or name it: y=")
    columns = encoder.view_columns()
    if isinstance(y, str):
        check_label(rows, y, columns)
    known = set(rows.column_names)
    words, numbers = ([name for name in names if name in known] for names in encoder.read_as())
    same: dict[str, Any] = encoder.declared_columns()
    names = ("hash_bits", "ngram_range", "tf_idf", "scale_views", "bins", "dialect")
    same |= {name: getattr(encoder, name) for name in names}
    rows = rows.as_kinds(words, numbers)
    return LabeledSource(rows, y, views=columns, recognize=False, **same, **options)


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Return some rows of a MultiView or an Arrow table."""
    return X[rows] if isinstance(X, MultiView) else X.take(integers(rows))


def hide_views(X: MultiView, views: Iterable[str]) -> MultiView:
    """Return the same rows with some views missing."""
    present = np.ones((len(X), X.layout.n_views), dtype=bool)
    if X.present is not None:
        present = X.present.copy()
    present[:, [X.layout.index(view) for view in views]] = False
    return MultiView.from_matrix(X.matrix, X.layout, present=present)


def encode_parts(X: Any, encoder: Any, parts: list[np.ndarray]) -> tuple[Any, list[MultiView]]:
    """Return an encoder fitted on the first part of the rows, and the parts as views.

    Without an encoder the rows stay as they are.
    """
    taken = [take_rows(X, part) for part in parts]
    if encoder is None:
        return None, taken
    fitted = clone(encoder)
    first = fitted.fit_transform(taken[0])
    encoded = [first, *(fitted.transform(part) for part in taken[1:])]
    del taken
    if not isinstance(X, MultiView):
        release_unused()
    return fitted, encoded
