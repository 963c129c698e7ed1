"""γ of each view: given, or estimated from the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from crossview.algorithms.kernel.bandwidth import median_gamma, scale_gamma
from crossview.batch import flat_view, take_rows, views_of
from crossview.errors import InputError
from crossview.kernels import gram
from crossview.kernels.gram import ViewRows
from crossview.kernels.rows import Rows

__all__ = ["later_gammas", "value_of_view", "view_gammas"]

# number of rows for the median of the pairwise distances
ROWS_FOR_MEDIAN = 500


def view_gammas(gamma: Any, rows: Rows, names: Sequence[str]) -> np.ndarray:
    """Return γ of each view; "median" and "scale" estimate it from the rows that have the view."""
    found = []
    for v, view in enumerate(views_of(rows)):
        rule = value_of_view("gamma", gamma, names[v])
        first, end = int(rows.ptr[v]), int(rows.ptr[v + 1])
        if isinstance(rule, str):
            if len(rows.present):
                view = take_rows(view, np.flatnonzero(rows.present[:, v]))
            value = _gamma_of_rows(rule, view, first, end)
        else:
            value = float(rule)
        found.append(value)
    return np.asarray(found)


def later_gammas(gamma: Any, names: Sequence[str], widths: Sequence[int]) -> np.ndarray:
    """Return γ of views that are added later, for which a single row has no median distance."""
    rules = [gamma.get(name, "median") if isinstance(gamma, Mapping) else gamma for name in names]
    return np.asarray(
        [
            1.0 / width if isinstance(rule, str) else float(rule)
            for rule, width in zip(rules, widths, strict=True)
        ]
    )


def value_of_view(parameter: str, given: Any, name: str) -> Any:
    """Return the value of a parameter that is one for all views, or a mapping with one for each."""
    if not isinstance(given, Mapping):
        return given
    if name not in given:
        raise InputError(f"{parameter}= has no value for view {name!r}; give one for each view")
    return given[name]


def _gamma_of_rows(rule: str, view: ViewRows, first: int, end: int) -> float:
    """Return γ by the rule, or 1 / columns if the rows do not determine it."""
    n, width, found = len(view.begin), end - first, 0.0
    if rule == "scale" and n:
        entries, _, _ = flat_view(view)
        found = scale_gamma(entries, n, width)
    elif n:
        some = np.linspace(0, n - 1, min(n, ROWS_FOR_MEDIAN)).astype(int)
        view = take_rows(view, some)
        products = np.empty((len(view.begin), len(view.begin)))
        gram.gram(gram.DOT_PRODUCT, view, view, (first, end), products)
        found = median_gamma(gram.sqnorms_of(view, (first, end)), products)
    return found or 1.0 / width
