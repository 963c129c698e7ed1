"""Rows of data frames by their index: those of pandas have one, polars and Arrow have none."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import scipy.sparse as sp

from crossview.errors import InputError

MOST_EXAMPLES = 3


def is_mapping(X: Any) -> bool:
    """Return whether X is a mapping of views; a sparse matrix may be a mapping of its entries."""
    return isinstance(X, Mapping) and not sp.issparse(X)


def row_index(data: Any) -> Any:
    """Return the pandas index of the rows of a frame, a series, a MultiView or a mapping of views.

    None without one.  Where pandas is not loaded, there is no such index.
    """
    kind = getattr(sys.modules.get("pandas"), "Index", None)
    if kind is not None and is_mapping(data):
        return next((one for one in map(row_index, data.values()) if one is not None), None)
    index = None if kind is None else getattr(data, "index", None)
    return index if kind is not None and isinstance(index, kind) else None


def align_rows(views: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return the views with their rows in the order of the first one that has an index.

    Returns views: the same rows in one order; index: their index.
    Raises InputError: two views have the same number of rows and other labels, or not all in
      another order; or the columns of one are the rows of another one.
    """
    first, index = "", None
    aligned = dict(views)
    for name, block in views.items():
        for other, rows in views.items():
            _check_not_transposed(repr(str(name)), block, repr(str(other)), row_index(rows))
    for name, block in views.items():
        own = row_index(block)
        if index is None:
            first, index = str(name), own
        elif own is not None and len(own) == len(index) and not own.equals(index):
            if not _same_labels(index, own):
                raise InputError(
                    f"views {first!r} and {str(name)!r} have rows of other names: "
                    f"{_differences(index, first, own, str(name))}; give both the same index, or "
                    ".to_numpy() if their rows are in one order"
                )
            aligned[name] = block.iloc[own.get_indexer(index)]
    return aligned, index


def check_rows(X: Any, **others: Any) -> None:
    """Raise an error if labels or weights of pandas have another index than the rows.

    **others: what has one value per row, by the name of the argument; without an index nothing is
      checked.
    """
    index = row_index(X)
    if index is None:
        return
    blocks = (
        [(repr(str(view)), block) for view, block in X.items()] if is_mapping(X) else [("X", X)]
    )
    for name, values in others.items():
        own = row_index(values)
        for view, block in blocks:
            _check_not_transposed(view, block, name, own)
        if own is None or len(own) != len(index) or own.equals(index):
            continue
        if _same_labels(index, own):
            raise InputError(
                f"{name} has the index of X in another order ({_some(own)}; X: {_some(index)}); "
                f"give {name}.loc[X.index]"
            )
        raise InputError(
            f"{name} has another index than X: {_differences(index, 'X', own, name)}; give {name} "
            f"the index of X, or {name}.to_numpy() if its order is that of X"
        )


def _check_not_transposed(name: str, block: Any, other: str, rows: Any) -> None:
    """Raise an error for a frame whose columns, and not its rows, are the rows of another one.

    rows: the index of the other one, if it has any.
    """
    index, columns = row_index(block), getattr(block, "columns", None)
    if index is None or columns is None or rows is None or not 2 <= len(rows) <= len(columns):
        return
    if rows.inferred_type != "string" or rows.isin(index).any() or not rows.isin(columns).all():
        return
    raise InputError(
        f"{name} is transposed: its columns are the rows of {other} ({_some(rows)}); give its .T"
    )


def split_by_view(frame: Any) -> dict[str, Any] | None:
    """Return the views of a pandas frame with several levels of columns; None of any other one.

    frame: anything.  The first level of its columns names the views, as that of
      ``pd.concat({"mrna": a, "meth": b}, axis=1)``.
    Returns views: the columns of each view.
    """
    if not _has_levels(frame):
        return None
    level = frame.columns.get_level_values(0)
    views = {}
    for name in dict.fromkeys(level):
        view = frame.loc[:, level == name]
        views[str(name)] = view.set_axis([_joined(rest) for _, *rest in view.columns], axis=1)
    return views


def flat_columns(frame: Any) -> Any:
    """Return a frame whose columns are called by text.

    Those of several levels are called ``view__column``, without levels that are empty; numbers x0,
    x1, ..., as in arrays.
    """
    if row_index(frame) is None or not hasattr(frame, "columns"):
        return frame
    if _has_levels(frame):
        names = [_flat_name(levels) for levels in frame.columns]
    else:
        names = [name if isinstance(name, str) else f"x{name}" for name in frame.columns]
    return frame if names == frame.columns.tolist() else frame.set_axis(names, axis=1)


def column_called(frame: Any, name: Any) -> Any:
    """Return the name that `flat_columns` gives a column of several levels; others stay."""
    is_one = isinstance(name, tuple) and _has_levels(frame) and name in frame.columns.tolist()
    return _flat_name(name) if is_one else name


def index_as_columns(frame: Any) -> Any:
    """Return a pandas frame with its index as its first columns."""
    concat = sys.modules["pandas"].concat  # `reset_index` warns of frames with many columns
    return concat([frame.index.to_frame(index=False), frame.reset_index(drop=True)], axis=1)


def _has_levels(frame: Any) -> bool:
    columns = None if row_index(frame) is None else getattr(frame, "columns", None)
    return getattr(columns, "nlevels", 1) > 1


def _flat_name(levels: tuple[Any, ...]) -> str:
    view, *rest = levels
    return "__".join(filter(None, (str(view), _joined(rest))))


def _joined(levels: list[Any]) -> str:
    return "_".join(str(level) for level in levels if str(level))


def _same_labels(index: Any, other: Any) -> bool:
    """Return whether two indexes of the same length have the same labels, each once."""
    unique = index.is_unique and other.is_unique
    return unique and bool((other.get_indexer(index) >= 0).all())


def _differences(index: Any, name: str, other: Any, its_name: str) -> str:
    """Examples of labels that only one of two indexes has."""
    if not (index.is_unique and other.is_unique):
        return f"some are there twice, in another order ({_some(index)}; {_some(other)})"
    flat, its = index.to_flat_index(), other.to_flat_index()  # one may have more levels
    only = [
        f"{_some(mine[~mine.isin(theirs)])} only in {where}"
        for mine, theirs, where in ((flat, its, name), (its, flat, its_name))
    ]
    return ", ".join(only)


def _some(index: Any) -> str:
    """The first labels of an index."""
    shown = ", ".join(repr(label) for label in index[:MOST_EXAMPLES].tolist())
    return f"{shown}, ..." if len(index) > MOST_EXAMPLES else shown
