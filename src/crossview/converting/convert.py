"""Rows of any source to text files with views: svmlight, libffm and Vowpal Wabbit."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from crossview.catalog.names import check_task
from crossview.catalog.readers import READERS
from crossview.data.joining.views_as_table import open_views
from crossview.data.labeled_source import encoder_with_views, open_labeled
from crossview.data.row_columns import check_weights
from crossview.encoding.encode import ViewEncoder
from crossview.errors import InputError, argument, check_kind
from crossview.labels import has_label
from crossview.readers.source import input_files, open_source
from crossview.saving.files import ROWS, check_writable, replacing
from crossview.scoring.problems import make_problem
from crossview.scoring.specification import Scoring
from crossview.tables.arrow import pyarrow
from crossview.views import MultiView, ViewLayout, canonical_csr, check_rows


class Converted(NamedTuple):
    """Result of `convert`.

    Attributes
    ----------
    n_rows : int
        Number of rows.
    labels : dict
        The number that stands for each label, where others are written.
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
    positive: Any = None,
    weight: Any = None,
) -> Converted:
    """Write rows to a file of svmlight, libffm or Vowpal Wabbit, with their views.

    Of two classes, the positive one is written as 1 and the other as -1, and more as 1, 2, ..., as
    programs that read such files want them.  Classes that are numbers are kept, of ``.vw`` if they
    are these numbers.

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
        take more than 100 values, or more than 10 that begin above 1 or have a gap, and otherwise
        a class; a guess between the two is a warning.
    positive : label, default=None
        Of two classes, the one that is written as 1.  None: as for `Scoring`.
    weight : array-like of shape (n_samples,) or str, default=None
        Of a MultiView or a table, for ``.vw``: how much each row counts, written as its importance;
        the name of a column: its values; the column is in no view.

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
    (569, {'benign': -1, 'malignant': 1}, ['1:20'])
    >>> load_svmlight(path, views=answer.views)[0]
    MultiView(569 rows, mean: 20, error: 20, worst: 20)
    """
    check_kind("a name or one value per row or None", y=y)
    check_kind("a path", output=output)
    check_kind("a name or None", task=task)
    if task is not None:
        Scoring(positive=positive).check_task(check_task(task))
    encoder = encoder_with_views(encoder, views)
    X, y, views = open_views(X, y, on, views=encoder.views, per_row={"weight": weight})
    encoder.set_params(views=views, scale_views=False)
    path = os.fspath(output)
    format = format_to_write(path, input_files(X))
    numbers = _Numbers(format, task, positive)
    labels: dict[Any, int] = {}
    source = open_source(X, views=views, hash_bits=encoder.hash_bits)
    if isinstance(X, MultiView):
        y = np.asarray(y)
        if y.shape != (len(X),):
            raise InputError(f"{y.shape} labels for {len(X)} rows")
        layout: ViewLayout = X.layout
        check_rows(X, weight=weight)
        weights = None if weight is None else check_weights(weight)
        if weights is not None and len(weights) != len(X):
            raise InputError(f"{len(weights)} weights for {len(X)} rows")
        batches: _Batches = [(X, y, weights)]
        classes, counts = np.unique(y[has_label(y)], return_counts=True)
        labels = numbers.of(classes, counts)
    elif not source.has_columns:
        if y is not None:
            raise InputError("the file has the labels; leave the label out")
        if weight is not None:
            raise InputError(f"{argument('weight')} is for tables, and the file holds views")
        layout = source.layout
        if numbers.of_numbers:
            found, _ = source.label_counts()
            labels = numbers.of(np.array(list(found)), list(found.values()))
        batches = ((batch.X, batch.y, batch.weight) for batch in source)
    else:
        given = {"task": task, "unlabeled": True, "weight": weight}
        rows = open_labeled(source, y, encoder=encoder, **given)
        rows.settle_bins(streamed=False)
        encoder = clone(rows.encoder)
        for _ in rows.encoded(encoder, learn=True):
            pass
        layout, batches = encoder.layout_, rows.encoded(encoder, learn=False)
        if rows.task == "classification":
            labels = _Numbers(format, rows.task, positive).of(rows.classes, rows.class_rows)
    n_rows = 0
    with writing_rows(path, format, layout) as writer:
        for part, known, weight in batches:
            if labels:
                known = np.array([labels.get(one, np.nan) for one in known.tolist()])
            writer.write(part, known, weight)
            n_rows += len(part)
    return Converted(n_rows, labels, views_as_read(format, layout))


@dataclass(frozen=True)
class _Numbers:
    """Numbers that stand for classes.

    task: None: two whole numbers are classes, and more are a number to predict.
    """

    format: str
    task: str | None
    positive: Any

    @property
    def of_numbers(self) -> bool:
        """Whether others may be written for classes that are numbers."""
        is_asked_for = self.format == "vw" or self.positive is not None
        return self.task != "regression" and is_asked_for

    def of(self, classes: np.ndarray, class_rows: Any) -> dict[Any, int]:
        """Return the number of each of the sorted classes; none if they are kept."""
        labels = classes.tolist()
        are_numbers = all(isinstance(one, int | float) for one in labels)
        if are_numbers and not (self.of_numbers and self._are_classes(labels)):
            return {}
        numbers = list(range(1, len(labels) + 1))
        if len(labels) == 2 or self.positive is not None:
            scoring = Scoring(positive=self.positive)
            problem = make_problem("classification", classes, scoring, class_rows=class_rows)
            numbers = [1 if label == problem.positive_label else -1 for label in labels]
        if are_numbers and self.positive is None and set(labels) <= set(numbers):
            return {}
        return dict(zip(labels, numbers, strict=True))

    def _are_classes(self, labels: list[float]) -> bool:
        if len(labels) != 2 and self.task is None and self.positive is None:
            return False
        return all(float(one).is_integer() for one in labels)


_NAME = re.compile(r"[^\s|:]+")


def format_to_write(path: str, inputs: list[str]) -> str:
    """Return the format of a file to write by the end of its name; it must not be an input."""
    suffix = Path(path.lower().removesuffix(".gz").removesuffix(".zst")).suffix
    known = {end: one.name for one in READERS if one.takes_views for end in one.suffixes}
    if suffix not in known:
        raise InputError(
            f"write to a name that ends in {', '.join(known)} (also with .gz or .zst)", file=path
        )
    check_writable(path, ROWS, inputs)
    return known[suffix]


def views_as_read(format: str, layout: ViewLayout) -> dict[str, list[str]]:
    """Return the ``views`` with which `open_rows` finds these views in a written file."""
    views = {}
    for v, (name, width) in enumerate(zip(layout.names, layout.widths, strict=True)):
        first = int(layout.ptr[v])
        texts = {
            "svmlight": f"{first + 1}:{first + width}",
            "libffm": f"{v}:0:{width - 1}",
            "vw": name,
        }
        views[name] = [texts[format]]
    return views


class RowWriter:
    """Writer of the lines of rows to an open file.

    Columns of svmlight are numbered from 1, view after view; views of libffm are fields, and of
    Vowpal Wabbit namespaces, whose features are numbers from 0.
    """

    def __init__(self, file: IO[bytes], format: str, layout: ViewLayout) -> None:
        self._file, self._format, self._layout = file, format, layout
        if format == "vw":
            for name in layout.names:
                if _NAME.fullmatch(name) is None:
                    raise InputError(
                        f"view {name!r}: the name of a namespace has no blank, bar or colon; "
                        "rename the view"
                    )

    def write(self, X: MultiView, y: np.ndarray, weight: np.ndarray | None = None) -> None:
        """Write rows, none of whose views is missing; y has NaN or None where there is no label.

        Only Vowpal Wabbit has weights.
        """
        if X.present is not None and not X.present.all():
            row = int((~X.present.all(axis=1)).argmax())
            view = self._layout.names[int(X.present[row].argmin())]
            raise InputError(
                f"view {view!r} is missing, and a {self._format} file cannot tell that from zeros: "
                "leave such rows out in a query (WHERE ... IS NOT NULL), or fill its columns",
                row=row,
            )
        if weight is not None and self._format != "vw" and (weight != 1.0).any():
            raise InputError("rows have weights, which only .vw files have")
        matrix = canonical_csr(X.matrix if sp.issparse(X.matrix) else sp.csr_array(X.matrix))
        if not np.isfinite(matrix.data).all():
            raise InputError("a value is NaN or infinite, which these formats cannot say; fill it")
        heads = _heads(y, weight, self._format)
        entries = self._entries(matrix)
        bounds = matrix.indptr.tolist()
        empty = ["|"] if self._format == "vw" else []
        lines = (
            " ".join([head, *(entries[low:high] or empty)])
            for head, low, high in zip(heads, bounds, bounds[1:], strict=False)
        )
        self._file.write("".join(f"{line}\n" for line in lines).encode())

    def _entries(self, matrix: sp.csr_array) -> list[str]:
        """The text of each entry."""
        values = [_number(value) for value in matrix.data.tolist()]
        if self._format == "svmlight":
            columns = (matrix.indices.astype(np.int64) + 1).tolist()
            return [f"{c}:{value}" for c, value in zip(columns, values, strict=True)]
        ptr = self._layout.ptr
        view = np.searchsorted(ptr, matrix.indices, side="right") - 1
        columns = (matrix.indices - ptr[view]).tolist()
        if self._format == "libffm":
            fields = view.tolist()
            return [f"{v}:{c}:{x}" for v, c, x in zip(fields, columns, values, strict=True)]
        begins = np.ones(len(view), dtype=bool)  # an entry that is the first of its view in a row
        begins[1:] = view[1:] != view[:-1]
        starts = matrix.indptr[:-1]
        begins[starts[starts < len(view)]] = True
        spaces = [f"|{name} " for name in self._layout.names]
        return [
            f"{spaces[v] if begin else ''}{c}{'' if x == '1' else f':{x}'}"
            for v, begin, c, x in zip(view.tolist(), begins.tolist(), columns, values, strict=True)
        ]


def _number(value: float) -> str:
    """The shortest text that is read as the same number."""
    return repr(value).removesuffix(".0")


def _heads(y: np.ndarray, weight: np.ndarray | None, format: str) -> list[str]:
    """Return the label and weight of each row, which come before its entries."""
    known = [one is not None and one == one for one in y.tolist()]
    labels = [
        _number(float(one)) if there else "" if format == "vw" else "nan"
        for one, there in zip(y.tolist(), known, strict=True)
    ]
    if format != "vw":
        return labels
    if weight is None:
        weight = np.ones(len(y))
    heads = []
    for row, (label, one) in enumerate(zip(labels, weight.tolist(), strict=True)):
        if not label and one != 1.0:
            raise InputError("a row without a label has a weight; leave it out", row=row)
        heads.append(label if one == 1.0 else f"{label} {_number(one)}")
    return heads


@contextmanager
def writing_rows(path: str, format: str, layout: ViewLayout) -> Iterator[RowWriter]:
    """Yield a writer of rows to a file, perhaps ``.gz`` or ``.zst``, atomically."""
    with (
        replacing(path, ROWS) as unfinished,
        unfinished.open("wb") as raw,
        _compressed(raw, path) as file,
    ):
        yield RowWriter(file, format, layout)


@contextmanager
def _compressed(raw: IO[bytes], path: str) -> Iterator[Any]:
    """A file that compresses what it takes, if the end of its name says so."""
    if path.lower().endswith(".gz"):
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            yield file
    elif path.lower().endswith(".zst"):
        with pyarrow().CompressedOutputStream(raw, "zstd") as file:
            yield file
    else:
        yield raw
