"""Rows may come in any container and type of number, and are never changed."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from contract.instances import (
    COLUMN_NAMES,
    WIDTHS,
    assert_same_state,
    learn,
    make_rows,
    new,
    params,
    scores_of,
    streams,
    tolerance,
    weights_of,
)
from crossview import MultiView, MultiViewPAClassifier


def with_indices(X, dtype):
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    return X


CONTAINERS = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "list": lambda X: X.tolist(),
    "csr": sp.csr_array,
    "csr-int64": lambda X: with_indices(sp.csr_matrix(X), np.int64),
    "csc": sp.csc_array,
    "coo": sp.coo_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMN_NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMN_NAMES),
    "arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(COLUMN_NAMES)}),
}


def few_containers():
    """Each learner with a third of the containers, which one function reads for all of them.

    `make test-all` has all.
    """
    for i, name in enumerate(params(each_loop=True)):
        for j, container in enumerate(CONTAINERS):
            for n_classes in (2, 4):
                is_one = (i + j) % 3 == 0 and n_classes == (2, 4)[(i + j) % 2]
                marks = [*name.marks, *[pytest.mark.exhaustive] * (not is_one)]
                yield pytest.param(*name.values, container, n_classes, marks=marks)


@pytest.mark.parametrize(("name", "container", "n_classes"), list(few_containers()))
def test_every_container_gives_the_same_model(name, container, n_classes):
    X, y = make_rows(n_classes)
    dense = learn(new(name), X, y)
    rows = CONTAINERS[container](X)
    other = learn(new(name), rows, y)
    near = {"atol": tolerance(dense)}
    if container == "float32":
        # a projection on rows that are almost the same is large, and so are its errors
        near = {
            "atol": max(tolerance(dense), 1e-2 if hasattr(dense, "budget") else 1e-5),
            "rtol": 1e-5,
        }
    np.testing.assert_allclose(weights_of(other), weights_of(dense), **near)
    np.testing.assert_allclose(scores_of(other, rows), scores_of(dense, X), **near)
    np.testing.assert_allclose(other.view_scores(rows), dense.view_scores(X), **near)


def test_the_type_of_indices_changes_nothing(learner_of_loop, table):
    X, y = table
    short, long = sp.csr_array(X), with_indices(sp.csr_array(X), np.int64)
    assert_same_state(
        learn(clone(learner_of_loop), short, y), learn(clone(learner_of_loop), long, y)
    )


def test_a_multiview_is_the_array_with_widths(learner_of_loop, table):
    X, y = table
    learner = learner_of_loop
    widths = getattr(learner, "views", None) or WIDTHS
    cuts = np.cumsum([0, *widths])
    blocks = {f"view{v}": X[:, a:b] for v, (a, b) in enumerate(itertools.pairwise(cuts))}
    dense = learn(clone(learner), X, y)
    if hasattr(learner, "views"):
        learner.set_params(views=None)
    for block in (np.asarray, sp.csr_array):
        views = MultiView({name: block(b) for name, b in blocks.items()})
        other = learn(clone(learner), views, y)
        atol = tolerance(learner)
        np.testing.assert_allclose(weights_of(other), weights_of(dense), atol=atol)
        np.testing.assert_allclose(scores_of(other, views), scores_of(dense, X), atol=atol)
        assert other.view_scores(views).shape[:2] == (len(y), len(widths))


def test_read_only_input_is_accepted_and_unchanged(learner_of_loop, table):
    X, y = table
    sparse = sp.csr_array(X)
    for array in (X, sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = False
    before = X.copy()
    learn(clone(learner_of_loop), X, y).predict(X)
    learn(clone(learner_of_loop), sparse, y).predict(sparse)
    np.testing.assert_array_equal(X, before)


def test_unsorted_sparse_rows_with_duplicates(learner_of_loop, table):
    X, y = table
    n_columns = X.shape[1]
    # every entry twice, as halves, and the columns of a row backwards
    columns = np.tile(np.repeat(np.arange(n_columns)[::-1], 2), len(X))
    values = X[:, ::-1].repeat(2, axis=1).ravel() / 2
    indptr = np.arange(0, len(values) + 1, 2 * n_columns)
    messy = sp.csr_array((values, columns, indptr), shape=X.shape)
    assert not messy.has_canonical_format
    np.testing.assert_allclose(
        weights_of(learn(clone(learner_of_loop), messy, y)),
        weights_of(learn(clone(learner_of_loop), X, y)),
        atol=tolerance(learner_of_loop),
    )
    assert messy.nnz == len(values)


def test_the_joint_score_is_the_sum_or_the_mean_of_the_views(linear_learner, table):
    X, y = table
    trained = learn(linear_learner, X, y)
    own = trained.view_scores(X)
    is_sum = getattr(trained, "coupling", "concatenated") in ("independent", "concatenated")
    if streams(trained):  # an empty view takes no part, unless all are empty
        blocks = np.split(X, np.cumsum(trained.layout_.widths)[:-1], axis=1)
        used = np.stack([block.any(axis=1) for block in blocks], axis=1)
        own[~used & used.any(axis=1, keepdims=True)] = np.nan
    joint = np.nansum(own, axis=1) if is_sum else np.nanmean(own, axis=1)
    np.testing.assert_allclose(scores_of(trained, X), joint, atol=1e-12)


def test_permuting_columns_inside_a_view_permutes_the_weights(linear_learner, table):
    X, y = table
    widths = getattr(linear_learner, "views", None) or [X.shape[1]]
    cuts = np.cumsum([0, *widths])
    rng = np.random.default_rng(0)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in itertools.pairwise(cuts)])
    np.testing.assert_allclose(
        learn(clone(linear_learner), X[:, order], y).coef_,
        learn(clone(linear_learner), X, y).coef_[:, order],
        atol=tolerance(linear_learner),
    )


def test_a_view_that_is_all_nan_is_missing():
    X, y = make_rows()
    X[::3, 4:7] = np.nan
    model = MultiViewPAClassifier(WIDTHS, random_state=0).fit(X, y)
    own = model.view_scores(X)
    assert np.isnan(own[::3, 1]).all()
    used = np.stack([X[:, a:b].any(axis=1) for a, b in [(0, 4), (4, 7), (7, 12)]], axis=1)
    own[~used & used.any(axis=1, keepdims=True)] = np.nan  # an empty view takes no part
    np.testing.assert_allclose(model.decision_function(X), np.nanmean(own, axis=1))


def test_grid_search_pipelines_and_splits_accept_several_views():
    X, y = make_rows(3, rows=150)
    views = MultiView({"a": X[:, :4], "b": sp.csr_array(X[:, 4:])})
    search = GridSearchCV(
        MultiViewPAClassifier(random_state=0), {"C": [0.01, 0.1], "disagreement": [0.0, 1.0]}, cv=3
    ).fit(views, y)
    assert search.best_score_ > 0.5
    assert cross_val_score(MultiViewPAClassifier(random_state=0), views, y, cv=4).shape == (4,)
    train, test, y_train, y_test = train_test_split(views, y, random_state=0, stratify=y)
    assert isinstance(train, MultiView)
    assert MultiViewPAClassifier(random_state=0).fit(train, y_train).score(test, y_test) > 0.5
    pipe = make_pipeline(StandardScaler(), MultiViewPAClassifier([4, 8], random_state=0))
    assert pipe.fit(X, y).score(X, y) > 0.5
    frame = pd.DataFrame(X, columns=[f"{'a' if j < 4 else 'b'}_{j}" for j in range(12)])
    named = MultiViewPAClassifier({"one": "a_*", "two": "b_*"}, random_state=0)
    assert cross_val_score(named, frame, y, cv=3).mean() > 0.5


def test_view_columns_name_the_columns_of_each_view():
    X, y = make_rows(3)
    order = np.random.default_rng(1).permutation(12)
    model = MultiViewPAClassifier({"a": order[:4], "b": order[6:]}, random_state=0).fit(X, y)
    columns = model.view_columns()
    assert columns["a"].tolist() == order[:4].tolist()
    assert columns["b"].tolist() == order[6:].tolist()
    for v, (name, group) in enumerate(columns.items()):
        own = X[:, group] @ model.coef_[:, group].T + model.intercept_[:, v]
        np.testing.assert_allclose(model.view_scores(X)[:, v], own, atol=1e-12, err_msg=name)
    plain = MultiViewPAClassifier(WIDTHS, random_state=0).fit(X, y).view_columns()
    assert [c.tolist() for c in plain.values()] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10, 11]]
    grown = MultiViewPAClassifier()
    for name in ("x", "y", "z"):
        grown.learn_one({"a": {name: 1.0}, "b": {name + name: 2.0}}, name == "x")
    assert [c.tolist() for c in grown.view_columns().values()] == [[0, 1, 2], [3, 4, 5]]


def test_columns_that_no_view_names_have_weight_zero():
    X, y = make_rows()
    order = np.random.default_rng(1).permutation(12)
    names = np.array([f"{'u' if j < 5 else 'v' if j < 9 else 'w'}_{j}" for j in range(12)])
    frame = pd.DataFrame(X[:, order], columns=names[order])
    model = MultiViewPAClassifier({"u": "u_*", "v": "v_*"}, shuffle=False).fit(frame, y)
    plain = MultiViewPAClassifier([5, 4], shuffle=False).fit(X[:, :9], y)
    coef = pd.Series(model.coef_[0], index=model.feature_names_in_)
    np.testing.assert_allclose(
        np.sort(np.abs(coef[[*names[:9]]])), np.sort(np.abs(plain.coef_[0])), atol=1e-12
    )
    assert (coef[[*names[9:]]] == 0).all()
    np.testing.assert_allclose(
        model.decision_function(frame), plain.decision_function(X[:, :9]), atol=1e-12
    )
