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


def column_factors(rows):
    """From the root of the mean square of each column, over the geometric mean of all entries."""
    there = rows != 0
    own = np.sqrt((rows**2).sum(axis=0) / np.maximum(there.sum(axis=0), 1))
    of_view = np.exp(np.log(np.abs(rows[there])).mean()) if there.any() else 1.0
    ratio = np.where(own > 0, own, of_view) / of_view
    return np.clip(ratio, 2 / 3, 2) / ratio


@pytest.mark.parametrize("dense", [True, False])
def test_columns_are_brought_near_the_size_of_their_view(dense):
    X = views(50, dense=dense)
    sizes = np.array([1e-3, 1.0, 1.0, 40.0, 1.0, 1.0, 2.0, 1e6])
    X = MultiView.from_matrix(X.matrix * sizes, X.layout, present=X.present)
    scaler = ViewScaler(scale_columns=True)
    running = blocks(scaler.partial_fit_transform(X))
    whole, factors = blocks(scaler.transform(X)), scaler.column_factors()
    assert set(factors[1]) >= {0, 2}  # small beside a million
    for v, rows in enumerate(blocks(X)):
        own = np.array([rows[i] * column_factors(rows[: i + 1]) for i in range(len(rows))])
        norms = np.linalg.norm(own, axis=1)
        means = [norms[:i][norms[:i] > 0].mean() if norms[:i].any() else 1 for i in range(1, 51)]
        np.testing.assert_allclose(running[v], own / np.array(means)[:, None], rtol=1e-9)
        final = column_factors(rows)
        np.testing.assert_allclose(whole[v], rows * final / means[-1], rtol=1e-9)
        assert factors[v] == pytest.approx({j: f for j, f in enumerate(final) if f != 1})


@pytest.mark.parametrize("size", [1e-160, 1e-100, 1e-99, 1e99, 1e100, 1e153, 1e160])
def test_no_column_is_lost_by_its_size(size):
    X = MultiView({"a": np.random.default_rng(0).normal(size=(50, 3)) * [1.0, 1.0, size]})
    scaled = ViewScaler(scale_columns=True).fit_transform(X).matrix
    assert ((scaled != 0).sum(axis=0) == 50)[2]


def test_columns_of_0_and_1_and_weights_of_words_stay_as_they_are():
    rng = np.random.default_rng(0)
    ids = sp.csr_array((np.ones(200), rng.integers(0, 40, 200), np.arange(0, 201, 2)), (100, 40))
    words = sp.csr_array(rng.uniform(0.1, 0.2, (100, 6)) * (rng.random((100, 6)) < 0.5))
    X = MultiView({"ids": ids, "words": words})
    plain, scaled = (ViewScaler(scale_columns=one).fit_transform(X) for one in (False, True))
    np.testing.assert_array_equal(plain.matrix.toarray(), scaled.matrix.toarray())


def test_an_income_leaves_something_of_an_age(tmp_path):
    """Rows of text files and views in memory have columns of any size."""
    rng = np.random.default_rng(0)
    age, income = rng.uniform(18, 80, 2000), rng.lognormal(10, 1, 2000)
    y = np.where(age + rng.normal(0, 10, 2000) > 50, 1, -1)
    lines = [f"{label} 1:{a:.2f} 2:{b:.2f}\n" for label, a, b in zip(y, age, income, strict=True)]
    (tmp_path / "rows.svm").write_text("".join(lines))
    views = MultiView({"all": np.c_[age, income].round(2)})
    given = {"model": "linear", "in_order": True, "scoring": "roc_auc"}
    of_file = crossview.train(tmp_path / "rows.svm", **given, output=tmp_path / "m.st")
    in_memory = crossview.train(views, y, **given)
    unscaled = crossview.train(views, y, **given, encoder=ViewEncoder(scale_views=False))
    assert of_file.metric == in_memory.metric
    assert of_file.metric["value"] > 0.8 > 0.6 > unscaled.metric["value"]
    program = crossview.export(tmp_path / "m.st", tmp_path / "m.py")
    assert program.difference.largest < 1e-9
    assert crossview.load(tmp_path / "m.st")[0].column_factors()[0].keys() == {0, 1}


@given(
    cuts=st.lists(st.integers(1, 39), max_size=4), dense=st.booleans(), scale_columns=st.booleans()
)
def test_batches_and_resuming_from_a_file_change_nothing(cuts, dense, scale_columns):
    X = views(40, seed=1, dense=dense)
    X = MultiView.from_matrix(X.matrix * 10.0 ** np.arange(8), X.layout, present=X.present)
    whole, cut = ViewScaler(scale_columns=scale_columns), ViewScaler(scale_columns=scale_columns)
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
