"""ViewScaler: each view divided by the mean norm of its rows, however the stream is cut."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import crossview
from crossview import InputError, MultiView, MultiViewPAClassifier, ViewEncoder, ViewScaler
from crossview.batch import make_rows


def views(n, seed=0, dense=True):
    """Views of other scales, in which rows are empty or missing."""
    rng = np.random.default_rng(seed)
    words = rng.random((n, 5)) * (rng.random((n, 5)) < 0.4)
    numbers = 30 * rng.normal(size=(n, 3))
    present = rng.random((n, 2)) < 0.8
    make = np.asarray if dense else sp.csr_array
    return MultiView({"words": make(words), "numbers": make(numbers)}, present=present)


def blocks(X):
    """The views as dense blocks, 0 where they are missing."""
    matrix = X.matrix.toarray() if sp.issparse(X.matrix) else X.matrix
    present = np.ones((len(X), X.layout.n_views), bool) if X.present is None else X.present
    return [
        np.where(present[:, [v]], matrix[:, X.layout.block(name)], 0)
        for v, name in enumerate(X.layout.names)
    ]


def pieces(X, cuts):
    ends = sorted({0, *(c for c in cuts if c < len(X)), len(X)})
    return [X[a:b] for a, b in itertools.pairwise(ends)]


@pytest.mark.parametrize("dense", [True, False])
def test_rows_are_scaled_in_their_own_memory_if_asked(dense):
    X, mine = views(50, dense=dense), views(50, dense=dense)
    scaler = ViewScaler().fit(X)
    copied, scaled = scaler.transform(X), scaler.transform(mine, copy=False)
    for expected, found in zip(blocks(copied), blocks(scaled), strict=True):
        assert np.array_equal(found, expected)
    assert dense or np.shares_memory(scaled.matrix.data, mine.matrix.data)
    assert not dense or not np.shares_memory(copied.matrix, X.matrix)


@pytest.mark.parametrize("dense", [True, False])
def test_a_view_is_divided_by_the_mean_norm_of_its_rows(dense):
    X = views(50, dense=dense)
    scaler = ViewScaler()
    rows = scaler.partial_fit_transform(X)
    whole = scaler.transform(X)
    for v, (before, running, after) in enumerate(
        zip(blocks(X), blocks(rows), blocks(whole), strict=True)
    ):
        norms = np.linalg.norm(before, axis=1)
        filled = norms > 0
        means = [norms[: i + 1][filled[: i + 1]].mean() if filled[: i + 1].any() else 1
                 for i in range(len(X))]  # fmt: skip
        np.testing.assert_allclose(running, before / np.array(means)[:, None], rtol=1e-12)
        np.testing.assert_allclose(after, before / means[-1], rtol=1e-12)
        assert scaler.mean_norm_[v] == pytest.approx(means[-1])
        assert scaler.count_[v] == filled.sum()
        assert np.linalg.norm(after, axis=1)[filled].mean() == pytest.approx(1)
    assert sp.issparse(whole.matrix) is not dense
    np.testing.assert_array_equal(whole.present, X.present)
    # fitted on all rows at once, all rows have the final means
    for a, b in zip(blocks(ViewScaler().fit_transform(X)), blocks(whole), strict=True):
        np.testing.assert_array_equal(a, b)


@given(cuts=st.lists(st.integers(1, 39), max_size=4), dense=st.booleans())
def test_batches_and_resuming_from_a_file_change_nothing(cuts, dense):
    X = views(40, seed=1, dense=dense)
    whole, cut = ViewScaler(), ViewScaler()
    expected = blocks(whole.partial_fit_transform(X))
    found = []
    for piece in pieces(X, cuts):
        found.append(blocks(cut.partial_fit_transform(piece)))
        header, state = cut.get_header(), cut.get_state()
        cut = clone(cut)
        cut.set_header(header)
        cut.set_state(state)
    for v, block in enumerate(expected):
        np.testing.assert_array_equal(np.vstack([part[v] for part in found]), block)
    for key, array in whole.get_state().items():
        np.testing.assert_array_equal(cut.get_state()[key], array)


def test_dense_and_sparse_rows_and_unsorted_entries_are_the_same():
    dense, sparse = views(30), views(30, dense=False)
    shuffled = MultiView.from_matrix(sparse.matrix.copy(), sparse.layout, present=sparse.present)
    matrix = shuffled.matrix
    for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        matrix.indices[a:b], matrix.data[a:b] = matrix.indices[a:b][::-1], matrix.data[a:b][::-1]
    matrix.has_canonical_format = matrix.has_sorted_indices = False
    expected = blocks(ViewScaler().fit_transform(dense))
    for X in (sparse, shuffled):
        for a, b in zip(blocks(ViewScaler().fit_transform(X)), expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_that_no_learner_takes_are_not_learned_and_stay_for_it_to_name():
    good = MultiView({"a": [[3.0, 4.0], [6.0, 8.0]], "b": [[1.0], [1.0]]})
    bad = MultiView({"a": [[np.inf, 1.0], [np.nan, np.nan]], "b": [[1.0], [1.0]]})
    scaler = ViewScaler().fit(good)
    X = scaler.partial_fit_transform(bad)
    assert scaler.mean_norm_.tolist() == [7.5, 1.0]
    # a view of NaN is missing, and stays so
    assert np.isinf(X["a"][0, 0])
    assert np.isnan(X["a"][1]).all()
    with pytest.raises(InputError, match=r"row 0, .*infinity of view 'a'"):
        make_rows(X.matrix, X.layout)


def test_before_any_row_a_view_stays_as_it_is():
    scaler = ViewScaler().fit(MultiView({"a": np.zeros((2, 2)), "b": np.ones((2, 1))}))
    X = MultiView({"a": [[5.0, 0.0]], "b": [[2.0]]})
    assert scaler.transform(X).matrix.tolist() == [[5, 0, 2]]
    assert scaler.mean_norm_.tolist() == [1, 1]


def test_what_is_no_row_of_the_same_views_is_refused():
    scaler = ViewScaler().fit(views(5))
    with pytest.raises(InputError, match="takes a MultiView"):
        scaler.transform(np.ones((2, 8)))
    with pytest.raises(InputError, match="the model has"):
        scaler.transform(views(5).select(["words"]))
    with pytest.raises(NotFittedError):
        ViewScaler().transform(views(5))


def test_one_c_suits_views_of_any_scale(tmp_path):
    """Two views of equal worth, one of them in a unit a hundred times smaller."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    a, b = (rng.normal(size=(400, 10)) + 0.35 * y[:, None] for _ in range(2))
    X = MultiView({"a": a, "b": b / 100})
    learner = MultiViewPAClassifier(coupling="concatenated", C=0.02, n_epochs=3, random_state=0)
    plain = cross_val_score(learner, X, y).mean()
    scaled = cross_val_score(make_pipeline(ViewScaler(), learner), X, y).mean()
    assert scaled > plain + 0.03
    # train does so, and keeps the scaler in the model file
    trained = crossview.train(X, y, model="pa:squared", output=tmp_path / "m.safetensors")
    loaded = crossview.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(loaded.predict(X), trained.fitted.predict(X))
    assert crossview.predict(tmp_path / "m.safetensors", X)["prediction"].to_pylist() == (
        trained.fitted.predict(X).tolist()
    )
    unscaled = crossview.train(X, y, model="pa:squared", encoder=ViewEncoder(scale_views=False))
    assert isinstance(unscaled.fitted, MultiViewPAClassifier)
    with pytest.raises(InputError, match="encoded already; leave bins= out"):
        crossview.train(X, y, encoder=ViewEncoder(bins=5))
