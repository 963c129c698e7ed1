"""Rows with views to text files of svmlight, libffm and Vowpal Wabbit."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from crossview.catalog.readers import READERS
from crossview.data.arrow import pyarrow
from crossview.errors import InputError
from crossview.saving.files import ROWS, check_writable, replacing
from crossview.views import MultiView, ViewLayout, canonical_csr

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
            raise InputError("a view is missing, which these formats cannot say; fill it", row=row)
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
