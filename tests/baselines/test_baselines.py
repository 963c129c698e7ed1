"""Baselines: scikit-learn models as learners of a comparison, and the code that trains them."""

import json
import pickle
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from scipy.special import expit, log_softmax, softmax
from sklearn.base import clone, is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from comparisons import compare, make_numbers, make_views, thorough
from crossview import (
    InputError,
    LateFusionRegressor,
    MultiView,
    MultiViewLogisticRegression,
    MultiViewRidge,
    ViewEncoder,
    datasets,
    load,
    predict,
    save,
    train,
    weights,
)
from crossview.baselines import (
    LogarithmicPool,
    Shape,
    ViewMatrix,
    baselines,
    find_baseline,
    training_code,
)
from crossview.catalog.learners import LEARNERS
from crossview.cli import main
from crossview.comparing.result.comparison import Comparison
from crossview.reporting.tables import comparison_notes
from crossview.saving.model_header import read_header

CLASSES, NUMBERS = baselines("classification"), baselines("regression")
GIVEN = [
    "sklearn.naive_bayes:GaussianNB",  # probabilities alone, and no sparse rows
    "sklearn.ensemble:RandomForestClassifier(n_estimators=5)",
    "sklearn.svm:LinearSVC",  # a decision function alone
    "sklearn.neighbors:NearestCentroid",
    "comparisons:Odd",  # of no library, with labels alone
]


def named(name, task="classification"):
    return find_baseline(name, task)


def make_classes(n=120):
    """Three classes, three views."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, n)
    X = {v: rng.normal(size=(n, 4)) + np.eye(3, 4)[y] * 2 for v in ("a", "b", "c")}
    return MultiView(X), np.array(["x", "y", "z"])[y]


def make_sparse(n=120):
    """Many empty columns, and few with entries that tell."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = sp.lil_array((n, 3000))
    for i in range(n):
        X[i, 100 + rng.integers(0, 10) + 10 * (y[i] ^ (rng.random() < 0.1))] = 1.0
        X[i, 2000 + rng.integers(0, 5)] = rng.random()
    X = sp.csr_array(X)
    return MultiView({"page": X[:, :1500], "link": X[:, 1500:]}), np.where(y, "yes", "no")


def without_view(X, view, share=0.3):
    """The same rows, some of which lack a view."""
    there = np.ones((len(X), X.layout.n_views), bool)
    gone = np.random.default_rng(1).random(len(X)) < share
    there[gone, X.layout.index(view)] = False
    return MultiView.from_matrix(X.matrix, X.layout, present=there), gone


# --- the matrix --------------------------------------------------------------------


def test_columns_are_scaled_alike_in_arrays_and_sparse_matrices():
    X, _ = make_sparse()
    step = ViewMatrix(scale=True).fit(X)
    Z = step.transform(X)
    assert sp.issparse(Z)
    assert Z.shape[1] == len(np.unique(X.matrix.indices)) == 25
    rare = X.matrix[:, step.columns_].toarray()
    rms = [np.sqrt(np.mean(column[column != 0.0] ** 2)) for column in rare.T]
    np.testing.assert_allclose(Z.toarray(), rare / np.median(rms))
    # numbers that are mostly there are centered, in any place of a sparse matrix, too
    common = np.random.default_rng(0).normal(50.0, 9.0, size=(120, 2))
    mixed = np.hstack([common[:, :1], rare, common[:, 1:]])
    missing = np.arange(120) % 5 == 0
    mixed[missing, 20:] = 0.0
    present = np.column_stack([np.ones(120, dtype=bool), ~missing])
    found = []
    for kind in (np.asarray, sp.csr_array):
        views = MultiView({"a": kind(mixed[:, :20]), "b": kind(mixed[:, 20:])}, present=present)
        found.append(ViewMatrix(scale=True).fit_transform(views))
    assert sp.issparse(found[1])
    np.testing.assert_allclose(found[1].toarray(), found[0], atol=1e-12)
    np.testing.assert_allclose(found[0][:, [0]], StandardScaler().fit_transform(common[:, :1]))
    there = found[0][~missing, 26]
    np.testing.assert_allclose((there.mean(), there.std()), (0.0, 1.0), atol=1e-12)
    assert not found[0][missing, 20:27].any()


def test_a_column_with_entries_everywhere_has_its_own_scale_whatever_its_mean():
    X = np.array([[-1.0, -5.0], [1.0, 5.0], [-1.0, 5.0], [1.0, -5.0]])
    for kind in (np.asarray, sp.csr_array):
        Z = ViewMatrix(scale=True).fit_transform(MultiView({"a": kind(X)}))
        Z = Z.toarray() if sp.issparse(Z) else Z
        np.testing.assert_allclose(Z, np.sign(X), rtol=1e-12)


def test_a_sparse_column_in_other_units_keeps_its_own_scale():
    X = sp.random_array((200, 30), density=0.1, rng=np.random.default_rng(0)).tocsc()
    X.data[X.indptr[7] : X.indptr[8]] *= 1e4
    Z = ViewMatrix(scale=True).fit_transform(MultiView({"a": sp.csr_array(X)})).tocsc()
    rms = np.array([np.sqrt(np.mean(Z[:, [c]].data ** 2)) for c in range(30)])
    assert rms[7] == pytest.approx(1.0)
    assert np.median(rms) == pytest.approx(1.0, abs=0.01)
    assert np.ptp(np.delete(rms, 7)) > 0.01  # which keep their proportions


@pytest.mark.parametrize("kind", [MultiViewRidge, LateFusionRegressor])
def test_numbers_are_learned_alike_from_arrays_and_sparse_matrices(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 40))
    y = 2.0 * X[:, 0] + X[:, 30] + 0.1 * rng.normal(size=300) + 5.0
    predicted = [kind([20, 20]).fit(A, y).predict(A) for A in (X, sp.csr_array(X))]
    np.testing.assert_allclose(predicted[0], predicted[1], atol=1e-8)


def test_what_rounding_makes_of_a_constant_is_no_scale():
    x = np.full((100_000, 1), 0.1)
    x[0] += 1e-17
    for kind in (np.asarray, sp.csr_array):
        X = MultiView({"a": kind(x)})
        assert np.abs(ViewMatrix(scale=True).fit_transform(X)).max() < 1e-9


def test_a_missing_view_is_0_with_an_indicator_or_nan():
    X, gone = without_view(make_views()[0], "weak")
    Z = ViewMatrix(scale=True).fit_transform(X)
    assert Z.shape == (len(X), 13)
    np.testing.assert_array_equal(Z[:, 12], gone)
    assert (Z[gone, 4:8] == 0.0).all()
    # mean and deviation are those of the rows that have the view
    np.testing.assert_allclose(Z[~gone, 4:8].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z[~gone, 4:8].std(axis=0), 1.0)
    D = ViewMatrix(dense=True).fit_transform(X)
    np.testing.assert_array_equal(np.isnan(D), gone[:, None] & (np.arange(12) // 4 == 1))
    # the same where NaN says so, and where the rows are sparse
    by_nan = X.matrix.copy()
    by_nan[gone, 4:8] = np.nan
    np.testing.assert_array_equal(
        Z, ViewMatrix(scale=True).fit_transform(MultiView.from_matrix(by_nan, X.layout))
    )
    S = MultiView.from_matrix(sp.csr_array(X.matrix), X.layout, present=X.present)
    np.testing.assert_array_equal(D, ViewMatrix(dense=True).fit_transform(S))
    np.testing.assert_array_equal(ViewMatrix().fit_transform(S).toarray()[:, 12], gone)


def test_a_view_that_is_missing_only_when_predicting_is_0():
    X, y = make_views()
    later, gone = without_view(X, "weak")
    step = ViewMatrix(scale=True).fit(X)
    assert (step.transform(later)[gone, 4:8] == 0.0).all()
    for entry in CLASSES:
        model = entry.make().fit(X, y)
        assert np.isfinite(model.decision_function(later)).all()


def test_the_most_informative_columns_stay():
    X, y = make_sparse()
    step = ViewMatrix(dense=True, max_columns=7).fit(X, y)
    occupied = np.unique(X.matrix.indices)
    best = SelectKBest(f_classif, k=7).fit(X.matrix[:, occupied], y).get_support(indices=True)
    np.testing.assert_array_equal(step.columns_, occupied[best])


def test_a_view_without_any_entry_is_one_column_of_zeros():
    X = MultiView({"empty": sp.csr_array((4, 9)), "full": np.arange(4.0).reshape(4, 1)})
    assert ViewMatrix("empty", scale=True).fit_transform(X).toarray().tolist() == [[0.0]] * 4
    model = named("late-fusion").make().fit(X[[0, 1, 2, 3] * 3], [0, 0, 1, 1] * 3)
    assert model.predict(X).tolist() == [0, 0, 1, 1]


# --- against plain scikit-learn --------------------------------------------------------


def test_scores_are_those_of_plain_scikit_learn():
    X, y = make_views()
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    trees = HistGradientBoostingClassifier(
        max_leaf_nodes=8, max_bins=63, min_samples_leaf=7, early_stopping=False, random_state=0
    )
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores, later = [], []
    for view in X.keys():  # noqa: SIM118
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
        how = {"cv": folds, "method": "decision_function"}
        scores.append(cross_val_predict(model, X[view], y, **how))
        later.append(model.fit(X[view], y).decision_function(X[view]))
    scores, later, exact = np.transpose(scores), np.transpose(later), {"tol": 1e-10}
    weighs = LogisticRegression(**exact).fit(scores, y).coef_[0] > 0.0  # others get none
    fused = LogisticRegression(**exact).fit(scores[:, weighs], y)
    fused = fused.decision_function(later[:, weighs])
    for name, setting, expected in (
        ("logistic-regression", {"C": 0.1}, linear.fit(X.matrix, y).decision_function(X.matrix)),
        ("late-fusion", {"C": 0.1}, fused),
        (
            *("gradient-boosting", {"max_leaf_nodes": 8}),
            trees.fit(X.matrix, y).decision_function(X.matrix),
        ),
        ("majority", {}, np.full(len(y), np.log((y == "yes").sum() / (y == "no").sum()))),
    ):
        model = named(name).make(**setting).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-6)
        # the scores are log odds
        p = model.predict_proba(X)
        np.testing.assert_allclose(p[:, 1], expit(model.decision_function(X)))
        assert set(model.predict(X)) <= {"no", "yes"}


def test_numbers_are_those_of_plain_scikit_learn():
    X, y = make_numbers()
    Z = StandardScaler().fit_transform(X.matrix)
    trees = HistGradientBoostingRegressor(
        max_leaf_nodes=8, max_bins=63, min_samples_leaf=15, early_stopping=False, random_state=0
    )
    for name, setting, expected in (
        ("ridge", {"alpha": 10.0}, Ridge(alpha=10.0).fit(Z, y).predict(Z)),
        ("gradient-boosting", {"max_leaf_nodes": 8}, trees.fit(X.matrix, y).predict(X.matrix)),
        ("mean", {}, np.full(len(y), y.mean())),
    ):
        model = named(name, "regression").make(**setting).fit(X, y)
        np.testing.assert_allclose(model.predict(X), expected)
    folds, scores, later = KFold(3, shuffle=True, random_state=0), [], []
    for view in X.keys():  # noqa: SIM118
        one = make_pipeline(StandardScaler(), Ridge(alpha=10.0))
        scores.append(cross_val_predict(one, X[view], y, cv=folds))
        later.append(one.fit(X[view], y).predict(X[view]))
    fused = LinearRegression(positive=True).fit(np.transpose(scores), y)
    model = named("late-fusion", "regression").make(alpha=10.0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), fused.predict(np.transpose(later)))


def test_a_pool_has_the_lowest_loss_and_no_weight_below_0():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    right, noise = 2.0 * np.eye(3)[y] + rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    S, weight = np.stack([right, noise, -right], axis=1), rng.random(200)

    def loss(a, b):
        of_class = log_softmax(b + np.einsum("nvk,v->nk", S, a), axis=1)[np.arange(200), y]
        return -weight @ of_class + a @ a / 2

    pool = LogarithmicPool().fit(S.reshape(200, 9), y, sample_weight=weight)
    assert pool.weights_[0] > 0.5
    assert pool.weights_[2] == 0.0
    least = loss(pool.weights_, pool.intercept_)
    for size in (0.01, 0.1):
        for step in size * rng.normal(size=(20, 6)):
            other = np.maximum(pool.weights_ + step[:3], 0.0), pool.intercept_ + step[3:]
            assert loss(*other) > least
    joint = np.einsum("nvk,v->nk", S, pool.weights_) + pool.intercept_
    np.testing.assert_allclose(pool.predict_proba(S.reshape(200, 9)), softmax(joint, axis=1))


@pytest.mark.parametrize("name", ["logistic-regression", "late-fusion"])
def test_class_weights_multiply_the_weights_of_rows(name):
    X, y = make_views()
    balanced = named(name).make(class_weight={"yes": 3.0}).fit(X, y).decision_function(X)
    weighted = named(name).make().fit(X, y, sample_weight=np.where(y == "yes", 3.0, 1.0))
    np.testing.assert_array_equal(balanced, weighted.decision_function(X))


# --- as learners of a comparison -------------------------------------------------------


def check_learner(entry, X, y):
    """Do with a classifier what a comparison does."""
    setting = entry.candidates()[-1]
    assert entry.passes(3) == {}
    assert entry.for_metric("f1", "yes") is entry
    assert not entry.is_streamed(setting)
    train, test = np.arange(0, len(X), 2), np.arange(1, len(X), 2)
    parameters = {**setting, **entry.passes(None), "calibration": "none"}
    model = entry.make(random_state=0, **parameters).fit(entry.select_view(X[train]), y[train])
    scores = model.decision_function(X[test])
    classes = np.unique(y)
    assert model.classes_.tolist() == classes.tolist()
    assert scores.shape == ((len(test),) if len(classes) == 2 else (len(test), len(classes)))
    p = model.calibrate(scores, y[test]).probabilities(scores)
    assert p.shape == (len(test), len(classes))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    if len(classes) == 2:
        model.set_threshold(0.7)
        above = p[:, 1] > 0.7
        np.testing.assert_array_equal(model.decide(scores), classes[above.astype(int)])
    return model


@pytest.mark.parametrize("entry", [*CLASSES, *map(named, GIVEN)], ids=lambda entry: entry.name)
def test_it_does_what_a_comparison_asks_for(entry):
    assert entry.baseline
    assert named(entry.name).path == entry.path
    X, y = make_views(100)
    model = check_learner(entry, X, y)
    scores = model.decision_function(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), scores)
    assert again.threshold_ == model.threshold_ == 0.7
    fresh = clone(model).fit(X[::2], y[::2])
    np.testing.assert_array_equal(fresh.decision_function(X), scores)
    calibrated = clone(model).set_params(calibration="sigmoid").fit(X, y)
    assert calibrated.predict_proba(X).shape == (100, 2)
    check_learner(entry, *make_sparse(60))
    if "Odd" not in entry.name:
        X, y = make_classes(60)
        model = check_learner(entry, X, y)
        assert model.score(X, y) > (0.2 if "majority" in entry.name else 0.7)


@pytest.mark.parametrize("entry", NUMBERS, ids=lambda entry: entry.name)
def test_one_for_numbers_does_too(entry):
    X, y = make_numbers()
    X, _ = without_view(X, "item")
    model = entry.make(random_state=0, **entry.candidates()[0]).fit(X, y)
    predicted = pickle.loads(pickle.dumps(model)).predict(X)
    np.testing.assert_array_equal(predicted, clone(model).fit(X, y).predict(X))
    sparse = MultiView.from_matrix(sp.csr_array(X.matrix), X.layout, present=X.present)
    assert entry.make().fit(sparse, y).predict(sparse).shape == y.shape
    assert named("sklearn.linear_model:Lasso", "regression").make().fit(X, y).predict(X).std() > 0


@pytest.mark.parametrize("entry", CLASSES, ids=lambda entry: entry.name)
def test_a_class_with_one_row_is_no_error(entry):
    X, y = make_classes(30)
    rare = np.append(np.flatnonzero(y != "z"), np.flatnonzero(y == "z")[:1])
    assert entry.make().fit(X[rare], y[rare]).decision_function(X).shape == (30, 3)
    with pytest.raises(InputError, match="one class"):
        entry.make().fit(X[y == "x"], y[y == "x"])


def test_rows_of_weight_0_are_not_there_and_others_are_weighted():
    X, y = make_views()
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    entry = named("logistic-regression")
    kept = np.flatnonzero(weight)
    np.testing.assert_array_equal(
        entry.make().fit(X, y, sample_weight=weight).decision_function(X),
        entry.make().fit(X[kept], y[kept]).decision_function(X),
    )
    weight = np.where(y == y[0], 3.0, 1.0)
    for one in CLASSES:
        model = one.make(random_state=0) if one.random else one.make()
        weighted = model.fit(X, y, sample_weight=weight).decision_function(X)
        assert (weighted != clone(model).fit(X, y).decision_function(X)).any()
        # `fit` of the pipeline inside, by the names of its steps
        inside = clone(model.pipeline(Shape(X.layout.names, len(X), 2)))
        steps = [name for name, step in inside.steps if getattr(step, "scale", True)]
        given = {f"{name}__sample_weight": weight for name in steps}
        inside.fit(X, (y == np.unique(y)[1]).astype(int), **given)
        if hasattr(inside, "decision_function"):
            np.testing.assert_allclose(inside.decision_function(X), weighted, atol=1e-12)
    with pytest.raises(InputError, match="KNeighborsClassifier takes no weights"):
        named("sklearn.neighbors:KNeighborsClassifier").make().fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("as_given", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "model",
    [
        MultiViewRidge(alpha=3.0),
        MultiViewLogisticRegression(tol=1e-8),
        MultiViewLogisticRegression(tol=1e-8, C=0.1),
    ],
)
def test_a_row_of_weight_2_is_two_rows(model, as_given):
    """Also in what scales columns, of which one is mostly 0, and a view is missing in some rows."""
    rng = np.random.default_rng(0)
    X, weight = rng.exponential(size=(60, 5)) ** 2, rng.integers(1, 4, 60)
    X[rng.random(60) < 0.7, 4] = 0.0
    y = X[:, 0] + X[:, 3] + rng.normal(size=60)
    y = y > np.median(y) if is_classifier(model) else y
    present = np.ones((60, 2), dtype=bool)
    present[::7, 1] = False

    def predicted(rows, weight):
        views = {"a": as_given(X[rows, :3]), "b": as_given(X[rows, 3:])}
        fitted = clone(model).fit(MultiView(views, present=present[rows]), y[rows], weight)
        scored = MultiView({"a": X[:, :3], "b": X[:, 3:]})
        return (fitted.decision_function if is_classifier(model) else fitted.predict)(scored)

    once, often = np.arange(60), np.repeat(np.arange(60), weight)
    found, expected = predicted(once, weight.astype(float)), predicted(often, None)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_a_model_is_compared_once_whoever_names_it():
    """Those that model files hold are in the catalog, with names of their own."""
    in_catalog = {entry.name for entry in LEARNERS if entry.baseline}
    assert in_catalog == {"logistic-regression", "ridge", "late-fusion"}
    for entry in [*CLASSES, *NUMBERS]:
        assert entry.name.startswith("baseline:") == (entry.name not in in_catalog)
    X, y = make_views(60)
    given = {"models": ["logistic-regression"], "baselines": ["logistic-regression", "majority"]}
    names = [row.model for row in thorough(X, y, cv=2, **given).rows]
    assert names == ["logistic-regression", "baseline:majority"]


# --- the linear ones in model files ----------------------------------------------------


@pytest.mark.parametrize(
    ("name", "make", "task"),
    [
        ("logistic-regression", make_views, "classification"),
        ("logistic-regression", make_classes, "classification"),
        ("logistic-regression", make_sparse, "classification"),
        ("ridge", make_numbers, "regression"),
        ("late-fusion", make_views, "classification"),
        ("late-fusion", make_classes, "classification"),
        ("late-fusion", make_sparse, "classification"),
        ("late-fusion", make_numbers, "regression"),
    ],
)
def test_a_linear_one_is_a_weight_per_column_in_a_model_file(name, make, task, tmp_path):
    X, y = make()
    X, gone = without_view(X, X.layout.names[1])
    entry = named(name, task)
    model = entry.make().fit(X, y)
    # 1. the scores are those of the pipeline, where a view is missing, too
    classes = np.unique(y) if task == "classification" else ()
    data = Shape(X.layout.names, len(X), len(classes))
    codes = np.searchsorted(classes, y) if len(classes) else y
    plain = model.pipeline(data).fit(X, codes)
    score = "decision_function" if len(classes) else "predict"
    scores = getattr(model, score)(X)
    np.testing.assert_allclose(scores, getattr(plain, score)(X), rtol=1e-12, atol=1e-12)
    # 2. they are the sum of the views, and of the columns
    of_views = model.view_scores(X)
    assert np.isnan(of_views[gone, 1]).all()
    if len(classes):
        np.testing.assert_allclose(of_views[~gone].sum(axis=1), scores[~gone], atol=1e-9)
    else:  # of a number, what is predicted from the view alone
        present = np.zeros((len(X), X.layout.n_views), dtype=bool)
        present[:, 0] = True
        first = MultiView.from_matrix(X.matrix, X.layout, present=present)
        np.testing.assert_allclose(of_views[:, 0], model.predict(first), atol=1e-9)
    if scores.ndim == 1:
        by_column = np.asarray(model.contributions(X).sum(axis=1)).reshape(-1)
        for rows in (gone, ~gone):
            rest = (scores - by_column)[rows]
            np.testing.assert_allclose(rest, rest[0], atol=1e-9)
        of_rows = X.matrix @ model.coef_[0]
        np.testing.assert_allclose(of_rows[~gone], by_column[~gone], atol=1e-9)
    # 3. a file has all of it
    save(model, tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert type(again) is type(model)
    np.testing.assert_array_equal(getattr(again, score)(X), scores)


def test_train_gives_what_was_compared_and_says_what_it_cannot_keep(tmp_path):
    X, y = make_views(100)
    given = {"settings": {"C": 0.1}, "output": tmp_path / "m.safetensors"}
    trained = train(X, y, model="logistic-regression", **given)
    alone = named("logistic-regression").make(C=0.1).fit(trained.encoder.transform(X), y)
    np.testing.assert_array_equal(
        trained.learner.decision_function(trained.encoder.transform(X)),
        alone.decision_function(trained.encoder.transform(X)),
    )
    table = predict(tmp_path / "m.safetensors", X)
    assert np.mean(np.asarray(table["prediction"]) == y) > 0.9
    assert weights(tmp_path / "m.safetensors").num_rows == X.layout.n_columns
    assert trained.diagnostics.columns
    for model, message in (
        ("baseline:gradient-boosting", "no model file holds; crossview compare prints the Python"),
        ("baseline:logistic", "no baseline 'logistic'.*there are: logistic-regression"),
        ("baseline:comparisons:Odd", "no model file holds"),
    ):
        with pytest.raises(InputError, match=message):
            train(X, y, model=model)
    with pytest.raises(InputError, match="epochs=3: logistic-regression has no passes"):
        train(X, y, model="logistic-regression", epochs=3)


def test_the_command_of_a_linear_one_is_printed_and_works(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = make_views(100)
    columns = {f"{v}__{j}": X[v][:, j] for v in X.layout.names for j in range(4)}
    pq.write_table(pa.table(columns | {"y": y}), "t.parquet")
    words = ["compare", "t.parquet", "--label", "y", "--cv", "2"]
    assert main([*words, "--model", "late-fusion"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("crossview train t.parquet --label y --model late-fusion --set C=")
    assert main([*shlex.split(last)[1:-1], "m.st"]) == 0
    assert "LateFusionClassifier" in json.dumps(read_header("m.st"))


# --- one that fails ------------------------------------------------------------------

FIT, PREDICT = "baseline:comparisons:Failing", "baseline:comparisons:Failing(at='predict')"
LEFT = [(FIT, "ValueError: no luck", True), (PREDICT, "KeyError: 'lost'", True)]


@pytest.mark.parametrize("budget", [None, 600.0])
def test_one_that_fails_is_left_out_and_named(budget):
    X, y = make_views()
    kept = {"models": ["baseline:majority"], "cv": 2, "budget": budget}
    answer = thorough(X, y, baselines=[FIT, PREDICT], **kept)
    assert sorted((one.model, one.what, one.failed) for one in answer.left_out) == LEFT
    assert answer.rows[0].scores == thorough(X, y, **kept).rows[0].scores
    assert Comparison.from_dict(answer.to_dict()).left_out == answer.left_out
    notes = comparison_notes(answer)
    assert f"{FIT} failed: ValueError: no luck" in notes
    assert not any("budget" in note for note in notes)


def test_if_no_other_model_is_left_the_error_is_shown():
    with pytest.raises(
        InputError, match=r"no model is left to compare: .*Failing failed: ValueError"
    ):
        thorough(*make_views(), models=[FIT], cv=2)


def test_a_score_that_is_nan_is_a_failure():
    X, y = make_views()
    for view in X.layout.names:
        assert X[view][:, 0].max() > 1.0
    with pytest.raises(InputError, match="a score is NaN"):
        named("comparisons:NaNOnline").make(calibration="none").fit(X, y).predict(X)


def test_an_error_of_a_learner_of_this_package_is_not_hidden(monkeypatch):
    def fail(*args):
        raise ZeroDivisionError

    monkeypatch.setattr("crossview.PassiveAggressiveClassifier.fit", fail)
    with pytest.raises(ZeroDivisionError):
        thorough(*make_views(), models=["view:weak", "baseline:majority"], cv=2)


# --- named by the user ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("logistic-regresion", "did you mean 'logistic-regression'"),
        ("sklearn.svm.SVC", "package.module:Class"),
        ("no_such_package.models:Best", "cannot import 'no_such_package.models'"),
        ("sklearn.svm:Best", "'sklearn.svm' has no 'Best'"),
        ("sklearn.svm:SVR", "is a regressor; for classification name a classifier"),
        ("sklearn.cluster:KMeans", "is a clusterer; for"),
        ("sklearn.preprocessing:StandardScaler", "has no predict; it is no model"),
        ("math:pi", "cannot be made"),
        ("unittest.mock:MagicMock", r"is no sklearn\.base\.BaseEstimator"),
        ("sklearn.svm:SVC(1.0)", "arguments are keywords"),
        ("sklearn.svm:SVC(C=some)", "arguments are keywords"),
        ("sklearn.svm:SVC(C=)", "arguments are keywords"),
        ("sklearn.svm:SVC(price=1)", "unexpected keyword argument 'price'"),
    ],
)
def test_a_wrong_name_is_explained(name, message):
    with pytest.raises(InputError, match=message):
        named(name)


def test_a_classifier_is_no_baseline_of_a_regression():
    with pytest.raises(InputError, match="is a classifier; for regression name a regressor"):
        named("sklearn.svm:SVC", "regression")


def test_arguments_reach_the_model():
    X, y = make_views()
    model = named("sklearn.ensemble:RandomForestClassifier(n_estimators=3, max_depth=2)")
    forest = model.make(random_state=7).fit(X, y).pipeline_[-1]
    assert (forest.n_estimators, forest.max_depth, forest.random_state) == (3, 2, 7)


# --- the code that trains one ------------------------------------------------------------


def run(code):
    names = {}
    exec(compile(code, "code", "exec"), names)
    return names


def test_a_class_whose_rows_are_called_xs_gets_a_list_of_views():
    X, y = make_views(100)
    X, gone = without_view(X, X.layout.names[1])
    model = named("comparisons:ByView").make().fit(X, y)
    sign = np.where(y == "yes", 1.0, -1.0)
    parts = [X[view].copy() for view in X.layout.names]
    parts[1][gone] = 0.0
    sums = sum(part @ np.linalg.lstsq(part, sign)[0] for part in parts)
    np.testing.assert_array_equal(model.predict(X), np.where(sums > 0.0, "yes", "no"))


@pytest.mark.parametrize("batches", [1, 3])
def test_a_class_with_partial_fit_predicts_and_learns_row_by_row(batches):
    X, y = make_views(60)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    model = find_baseline("comparisons:Perceptron", stream=True).make()
    found, p = [], []
    for at in np.array_split(np.arange(60), batches):
        given = (X[at], y[at], ["no", "yes"], weight[at])
        scores, chances = model.score_then_learn(*given, return_proba=True)
        found += scores.tolist()
        p += chances[:, 1].tolist()
    w, expected = np.zeros(X.matrix.shape[1]), []
    for x, sign, c in zip(X.matrix, np.where(y == "yes", 1.0, -1.0), weight, strict=True):
        expected.append(float(w @ x))
        if sign * (w @ x) <= 0.0:
            w = w + c * sign * x
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert p[0] == 0.5  # before the first row
    assert np.mean((np.array(p[30:]) > 0.5) == (y[30:] == "yes")) > 0.7


def test_own_classes_are_compared_in_the_order_of_a_stream():
    X, y = make_views(200)
    names = ["comparisons:Perceptron", "sklearn.linear_model:SGDClassifier"]
    answer = compare(X, y, models=["perceptron"], baselines=names, progressive=True)
    rows = {row.model: row for row in answer.rows}
    assert set(rows) == {"perceptron", *(f"baseline:{name}" for name in names)}
    own = rows["baseline:comparisons:Perceptron"]
    assert own.baseline
    assert answer.entry(own) is None
    # the same rule, but for its intercept and the size of a step
    assert abs(own.value - rows["perceptron"].value) < 0.1
    with pytest.raises(InputError, match="'comparisons:Odd' has no partial_fit, so that it cannot"):
        compare(X, y, models=[], baselines=["comparisons:Odd"], progressive=True)
    for failing, why in (("FailingOnline", "ValueError: no luck"), ("NaNOnline", "a score is NaN")):
        with pytest.raises(InputError, match=f"{failing}' failed: {why}"):
            compare(X, y, models=[], baselines=[f"comparisons:{failing}"], progressive=True)
    with pytest.raises(InputError, match="is for a comparison by folds; leave it out, or leave"):
        compare(X, y, baselines=names, encoder=ViewEncoder(per="user"))


@pytest.mark.parametrize("entry", [*CLASSES, *map(named, GIVEN[:2])], ids=lambda entry: entry.name)
def test_the_code_gives_the_same_predictions(entry, tmp_path):
    path = str(tmp_path / "tumors.csv")
    datasets.write("breast-cancer", path)
    encoding = {"views": {"mean": "mean__*", "worst": "worst__*"}}
    setting = entry.candidates()[-1]
    data = Shape(("mean", "worst"), 569, 2)
    where = {"source": path, "label": "diagnosis", "encoding": encoding}
    names = run(training_code(entry, setting, data, **where))
    X = ViewEncoder(**encoding).fit_transform(names["X"])
    model = entry.make(random_state=0, **setting).fit(X, names["y"])
    np.testing.assert_array_equal(names["model"].predict(names["X"]), model.predict(X))


@pytest.mark.parametrize("name", ["logistic-regression", "late-fusion", "majority"])
def test_the_code_fits_with_weights(name, tmp_path):
    path = str(tmp_path / "tumors.parquet")
    datasets.write("breast-cancer", path)
    table = pq.read_table(path)
    weight = np.random.default_rng(0).integers(1, 4, 569) / 2
    pq.write_table(table.append_column("mean__w", pa.array(weight)), path)
    encoding = {"views": {"mean": [c for c in table.column_names if c.startswith("mean__")]}}
    encoding["views"]["worst"] = "worst__*"
    entry, data = named(name), Shape(("mean", "worst"), 569, 2)
    where = {"source": path, "label": "diagnosis", "weight": "mean__w", "encoding": encoding}
    setting = entry.candidates()[-1]
    cut = {"positive": "malignant", "threshold": 0.9}
    names = run(training_code(entry, setting, data, **where, **cut))
    assert "mean__w" not in names["X"].column_names
    X = ViewEncoder(**encoding).fit_transform(names["X"])
    model = entry.make(random_state=0, **setting).fit(X, names["y"], weight)
    expected = model.predict(X)
    if name != "majority":
        above = model.predict_proba(X)[:, list(model.classes_).index("malignant")] >= 0.9
        expected = np.where(above, "malignant", "benign")
    np.testing.assert_array_equal(names["model"].predict(names["X"]), expected)
    with pytest.raises(InputError, match="tunes no threshold with weights"):
        training_code(entry, setting, data, **where, threshold="tuned")


def test_the_code_places_the_threshold():
    X, y = make_views()
    entry, data = named("logistic-regression"), Shape(X.layout.names, len(X), 2)
    code = training_code(entry, {"C": 1.0}, data, threshold=0.9, positive="yes")
    names = run(code.replace("model.fit(X, y)", ""))
    model = names["model"].fit(X, y)
    above = entry.make(C=1.0).fit(X, y).predict_proba(X)[:, 1] >= 0.9
    np.testing.assert_array_equal(model.predict(X), np.where(above, "yes", "no"))
    for metric, words in {
        "f1": "make_scorer(f1_score, pos_label='yes')",
        "f0.5": "make_scorer(fbeta_score, beta=0.5, pos_label='yes')",
        "precision": "make_scorer(f1_score, pos_label='yes')",
        "balanced_accuracy": "make_scorer(balanced_accuracy_score)",
        "g_mean": "# compare tuned its threshold for g_mean: this has none",
    }.items():
        tuned = {"metric": metric, "positive": "yes", "threshold": "tuned"}
        code = training_code(entry, {"C": 1.0}, data, **tuned)
        assert words in code
        if metric == "f1":
            fitted = run(code.replace("model.fit(X, y)", ""))["model"].fit(X, y)
            assert fitted.score(X, y) > 0.8


def test_the_code_breaks_long_lines():
    entry = named("logistic-regression")
    views = {"many": [f"column_{i}, with a long name" for i in range(20)], "one": ["x"]}
    code = training_code(entry, {}, Shape(("many", "one"), 20, 2), encoding={"views": views})
    assert max(map(len, code.splitlines())) <= 100
    assert run(code.replace("model.fit(X, y)", ""))["model"][0].views == views


def test_the_code_of_a_regression_runs():
    X, y = make_numbers()
    for entry in NUMBERS:
        data = Shape(X.layout.names, len(X))
        setting = entry.candidates()[0]
        code = training_code(entry, setting, data)
        fitted = run(code.replace("model.fit(X, y)", ""))["model"].fit(X, y)
        predicted = entry.make(**setting).fit(X, y).predict(X)
        np.testing.assert_allclose(fitted.predict(X), predicted, rtol=1e-12)
