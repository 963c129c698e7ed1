"""Views by name, position and glob, and the container that scikit-learn slices."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.utils import _safe_indexing

from crossview import InputError, MultiView, ViewLayout
from crossview.views import resolve_views

NAMES = ["user_age", "user_sex", "ad_id", "ad_size", "query"]


@pytest.mark.parametrize(
    ("views", "widths", "columns"),
    [
        (None, (5,), None),
        ([2, 3], (2, 3), None),
        ({"u": "user_*", "a": ["ad_size", "ad_id"]}, (2, 2), [0, 1, 3, 2]),
        ({"q": "query", "u": slice(0, 2)}, (1, 2), [4, 0, 1]),
        ({"a": [2, -1], "b": np.array([0])}, (2, 1), [2, 4, 0]),
        ({"a": np.array([True, False, True, False, False])}, (2,), [0, 2]),
        ({"a": ["user_*", "user_age"]}, (2,), [0, 1]),
    ],
)
def test_views_by_width_name_position_and_glob(views, widths, columns):
    layout, found = resolve_views(views, 5, NAMES)
    assert layout.widths == widths
    assert found is columns is None or found.tolist() == columns


@pytest.mark.parametrize(
    ("views", "names", "message"),
    [
        ([2, 2], NAMES, r"names 4 columns \(2 \+ 2\) and X has 5"),
        ({"a": "usr_*"}, NAMES, r"no column is called 'usr_\*'; did you mean 'user_"),
        ({"a": "user_*", "b": "user_age"}, NAMES, "'user_age' is in view 'a' and again in 'b'"),
        ({"a": "user_*"}, None, "X has no column names"),
        ({"a": [7]}, NAMES, "column 7 of 5"),
        ({"a": []}, NAMES, "'a' has no columns"),
        ({}, NAMES, "no views"),
        ("user_*", NAMES, "views= takes None, a mapping"),
        ({"a": [0.5]}, NAMES, "a slice, positions or names"),
        ({"a": [True, False]}, NAMES, "a mask of 2 for 5 columns"),
    ],
)
def test_impossible_views_are_refused(views, names, message):
    with pytest.raises(InputError, match=message) as info:
        resolve_views(views, 5, names)
    assert "\n" not in str(info.value)


def test_a_layout_names_its_views_and_their_columns():
    layout = ViewLayout(["a", "b"], [2, 3])
    assert (layout.n_views, layout.n_columns, layout.ptr.tolist()) == (2, 5, [0, 2, 5])
    assert layout == ViewLayout(("a", "b"), (2, 3)) != ViewLayout(["a", "b"], [3, 2])
    assert hash(layout) == hash(ViewLayout(["a", "b"], [2, 3]))
    assert layout != "a"
    for names, widths in [(["a", "a"], [1, 1]), (["a"], [1, 2]), (["a"], [0]), ([], [])]:
        with pytest.raises(InputError):
            ViewLayout(names, widths)
    with pytest.raises(InputError, match="no view 'bb'; did you mean 'b'"):
        layout.block("bb")


P, L = np.arange(12.0).reshape(4, 3), np.arange(8.0).reshape(4, 2)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    "key",
    [
        [0, 2],
        np.array([3, 1]),
        np.array([True, False, True, False]),
        slice(1, 3),
        2,
        -1,
        ([0, 3], Ellipsis),
    ],
    ids=str,
)
def test_rows_are_selected_with_their_present_mask(key, sparse):
    present = np.array([[1, 1], [1, 0], [0, 1], [1, 1]], dtype=bool)
    X = MultiView({"page": sp.csr_array(P) if sparse else P, "link": L}, present=present)
    part = X[key]
    rows = key[0] if isinstance(key, tuple) else [key] if isinstance(key, int) else key
    assert isinstance(part, MultiView)
    dense = part.matrix.toarray() if sparse else part.matrix
    np.testing.assert_array_equal(dense, np.hstack([P, L])[rows])
    np.testing.assert_array_equal(part.present, present[rows])
    assert part.layout == X.layout


def test_scikit_learn_indexes_a_multiview():
    X = MultiView({"page": P, "link": L})
    np.testing.assert_array_equal(_safe_indexing(X, [1, 3]).matrix, np.hstack([P, L])[[1, 3]])


def test_views_are_read_and_selected_by_name():
    frame = pd.DataFrame(P, columns=["x", "y", "z"])
    X = MultiView({"page": frame, "link": pl.DataFrame(L, schema=["u", "v"])})
    assert X.feature_names == {"page": ("x", "y", "z"), "link": ("u", "v")}
    np.testing.assert_array_equal(X["link"], L)
    back = X.select(["link", "page"])
    assert back.keys() == ("link", "page")
    np.testing.assert_array_equal(back.matrix, np.hstack([L, P]))
    assert (X.shape, len(X), X.ndim, X.dtype) == ((4, 5), 4, 2, np.float64)
    arrow = MultiView({"link": pa.table({"u": L[:, 0], "v": L[:, 1]})})
    np.testing.assert_array_equal(arrow.matrix, L)
    assert repr(back) == "MultiView(4 rows, link: 2, page: 3)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiView([P, L]), "a mapping of view name to columns"),
        (lambda: MultiView({"a": P, "b": L[:2]}), r"different numbers of rows \(a: 4, b: 2\)"),
        (lambda: MultiView({"a": P[0]}), "1 dimensions"),
        (lambda: MultiView({"a": [["x"]]}), "not a number"),
        (lambda: MultiView({"a": P}, present=[1, 1, 1, 1]), "booleans of shape"),
        (lambda: MultiView({"a": P}, feature_names={"a": ["x"]}), "1 feature names for the 3"),
        (lambda: MultiView({"a": P})[0, 1], "indexed by rows"),
        (lambda: MultiView({"a": P})["b"], "no view 'b'"),
        (lambda: MultiView.from_matrix(P, ViewLayout(["a"], [2])), "3 columns for"),
    ],
)
def test_impossible_containers_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
