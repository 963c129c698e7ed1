"""What every learner promises, checked on every learner and every container."""

import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import crossview
from crossview import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    FactorizationMachineClassifier,
    FactorizationMachineRegressor,
    InputError,
    KeCoClassifier,
    MultiView,
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    MultiViewPAClassifier,
    MultiViewSVMPerf,
    PAMClassifier,
    PassiveAggressiveClassifier,
    PegasosClassifier,
    Perceptron,
    SecondOrderPerceptron,
    SoftConfidenceWeightedClassifier,
    SupportTensorMachineClassifier,
)

WIDTHS = [4, 3, 5]

LEARNERS = {
    "perceptron": Perceptron(),
    "perceptron-average": Perceptron(average=True),
    "PA": PassiveAggressiveClassifier(variant="PA"),
    "PA-I": PassiveAggressiveClassifier(C=0.1),
    "PA-II-average": PassiveAggressiveClassifier(variant="PA-II", C=0.1, average=True),
    "squared": MultiViewPAClassifier(WIDTHS, C=0.1),
    "squared-PA-II-average": MultiViewPAClassifier(WIDTHS, C=0.1, variant="PA-II", average=True),
    "absolute": MultiViewPAClassifier(WIDTHS, C=0.1, coupling="absolute"),
    "independent": MultiViewPAClassifier(WIDTHS, C=0.1, coupling="independent"),
    "concatenated": MultiViewPAClassifier(WIDTHS, C=0.1, coupling="concatenated"),
    "published": MultiViewPAClassifier(
        [7, 5], C=0.1, disagreement=0.5, coupling="absolute", update="published"
    ),
    "PAM-II": PAMClassifier(C=0.1),
    "PAM-I-diagonal-average": PAMClassifier(
        variant="PAM-I", C=0.1, covariance="diagonal", average=True
    ),
    "AROW-low-rank-average": AROWClassifier(covariance="low-rank", rank=7, average=True),
    "CW": ConfidenceWeightedClassifier(form="variance"),
    "SCW-II-diagonal": SoftConfidenceWeightedClassifier(
        variant="SCW-II", covariance="diagonal", diagonal="covariance"
    ),
    "SOP-average": SecondOrderPerceptron(average=True),
    "SOP-diagonal-average": SecondOrderPerceptron(covariance="diagonal", average=True),
    "squared-mahalanobis-average": MultiViewPAClassifier(
        WIDTHS, C=0.1, variant="PA-II", geometry="mahalanobis", average=True
    ),
    "absolute-low-rank": MultiViewPAClassifier(
        WIDTHS,
        C=0.1,
        coupling="absolute",
        geometry="mahalanobis",
        covariance="low-rank",
        rank=9,
    ),
    "independent-diagonal": MultiViewPAClassifier(
        WIDTHS, C=0.1, coupling="independent", geometry="mahalanobis", covariance="diagonal"
    ),
    "concatenated-mahalanobis": MultiViewPAClassifier(
        WIDTHS, C=0.1, coupling="concatenated", geometry="mahalanobis"
    ),
}

# one pass in the order of the rows, as on a stream
ONE_PASS = {"n_epochs": 1, "early_stopping": False, "init_scale": 0.3, "random_state": 0}
MACHINES = {
    "MVM": MultiViewMachineClassifier(WIDTHS, n_factors=3, **ONE_PASS),
    "MVM-groups-hinge-sgd-l1": MultiViewMachineClassifier(
        WIDTHS,
        groups=[["view0", "view1"], ["view2", "view0"]],
        loss="hinge",
        penalty="l1",
        optimizer="sgd",
        learning_rate=0.01,
        penalize_bias=True,
        n_factors=2,
        **ONE_PASS,
    ),
    "MVM-one-view": MultiViewMachineClassifier([12], **ONE_PASS),
    "FM": FactorizationMachineClassifier(WIDTHS, n_factors=3, **ONE_PASS),
    "FM-cross": FactorizationMachineClassifier(
        WIDTHS, cross_view_only=True, loss="squared", **ONE_PASS
    ),
    "STM": SupportTensorMachineClassifier(WIDTHS, optimizer="adagrad", **ONE_PASS),
}
# as streams, which learn each row once, in order
KERNELS = {
    "KeCo": KeCoClassifier(WIDTHS, gamma=0.3, lam=1e-2, schedule="stream"),
    "KeCo-linear": KeCoClassifier(WIDTHS, kernel="linear", lam=1e-2, schedule="stream"),
    "Pegasos-budget": PegasosClassifier(
        WIDTHS, gamma=0.3, schedule="stream", budget=20, maintenance="projection"
    ),
}
# of all rows at once, without partial_fit
BATCH = {
    "SVMPerf": MultiViewSVMPerf(WIDTHS, C1=0.3, C2=0.01, tol=1e-6),
    "SVMPerf-roc-area-alternating": MultiViewSVMPerf(
        [7, 5], measure="roc_auc", C1=0.1, tol=1e-6, solver="alternating", fit_intercept=False
    ),
}
NAMES = [f"c{j}" for j in range(12)]
CONTAINERS = {
    "array": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "list": lambda X: X.tolist(),
    "csr": sp.csr_array,
    "csr-int64": lambda X: _indices(sp.csr_matrix(X), np.int64),
    "csc": sp.csc_array,
    "coo": sp.coo_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
}


def _indices(X, kind):
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    return X


def data(classes=2, rows=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 12)).round(3) * (rng.random((rows, 12)) < 0.6)
    X[3] = 0.0
    X[8] = X[7]
    X[:, 2] = 1.0
    y = (X @ rng.normal(size=(12, classes)) + 0.4 * rng.normal(size=(rows, classes))).argmax(1)
    return X, np.array(["ant", "bee", "cat", "dog"])[y]


def scores_of(model, X):
    return np.asarray(model.decision_function(X))


def weights_of(model):
    """The weights in the order of the columns, (any, n_columns)."""
    if hasattr(model, "coef_"):
        return model.coef_
    if hasattr(model, "dual_coef_"):
        return np.hstack(list(model.dual_coef_.values()))
    n = max(A.shape[1] for A in model.factors_.values())
    return np.vstack([np.pad(A, ((0, 0), (0, n - A.shape[1]))) for A in model.factors_.values()]).T


@pytest.fixture(params=LEARNERS | MACHINES | KERNELS, ids=str)
def model(request):
    return clone((LEARNERS | MACHINES | KERNELS)[request.param])


@pytest.fixture(params=LEARNERS | MACHINES | KERNELS | BATCH, ids=str)
def learner(request):
    """Those that take no stream, too."""
    return clone((LEARNERS | MACHINES | KERNELS | BATCH)[request.param])


@pytest.fixture(params=LEARNERS, ids=str)
def linear(request):
    return clone(LEARNERS[request.param])


@pytest.fixture(params=LEARNERS | BATCH, ids=str)
def with_weights(request):
    return clone((LEARNERS | BATCH)[request.param])


@pytest.fixture(params=[2, 4], ids=["binary", "multiclass"])
def table(request):
    return data(request.param)


def fitted(model, X, y):
    if not hasattr(model, "partial_fit"):
        return clone(model).fit(X, y)
    return clone(model).partial_fit(X, y, classes=np.unique(y))


def exact(model):
    """What is the same sum in another order; a cut that is as good as another is another cut."""
    return 1e-12 if hasattr(model, "partial_fit") else 1e-3


def in_order(model):
    """One whose fit takes the rows in their order."""
    return clone(model) if hasattr(model, "kernel") else clone(model).set_params(shuffle=False)


def same_state(a, b):
    a, b = a._get_state(), b._get_state()
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_one_by_one_is_chunks_is_one_batch(model, table):
    X, y = table
    whole = fitted(model, X, y)
    for size in (1, 7):
        parts = clone(model)
        for start in range(0, len(y), size):
            parts.partial_fit(X[start : start + size], y[start : start + size], np.unique(y))
        same_state(whole, parts)
    ones = clone(model).partial_fit(X[:1], y[:1], np.unique(y))
    for x, label in zip(X[1:], y[1:], strict=True):
        ones.learn_one(x, label)
    same_state(whole, ones)
    if not hasattr(model, "early_stopping"):  # machines: fit knows how frequent the classes are
        same_state(whole, in_order(model).fit(X, y))


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same(learner, table, container):
    X, y = table
    dense = fitted(learner, X, y)
    rows = CONTAINERS[container](X)
    other = fitted(learner, rows, y)
    # what is projected on rows that are almost the same is large, and its errors are
    rough = 1e-2 if hasattr(learner, "budget") else 1e-5
    tolerance = max(exact(learner), rough if container == "float32" else 0.0)
    np.testing.assert_allclose(weights_of(other), weights_of(dense), atol=tolerance)
    np.testing.assert_allclose(scores_of(other, rows), scores_of(dense, X), atol=tolerance)
    np.testing.assert_allclose(other.view_scores(rows), dense.view_scores(X), atol=tolerance)


def test_int64_indices_change_nothing(learner, table):
    X, y = table
    short, long = sp.csr_array(X), _indices(sp.csr_array(X), np.int64)
    same_state(fitted(learner, short, y), fitted(learner, long, y))


def test_a_multiview_is_the_array_with_widths(learner, table):
    X, y = table
    widths = getattr(learner, "views", None) or WIDTHS
    cuts = np.cumsum([0, *widths])
    blocks = {f"view{v}": X[:, a:b] for v, (a, b) in enumerate(itertools.pairwise(cuts))}
    free = clone(learner)
    if hasattr(learner, "views"):
        free.set_params(views=None)
    dense = fitted(learner, X, y)
    for block in (np.asarray, sp.csr_array):
        views = MultiView({name: block(b) for name, b in blocks.items()})
        other = fitted(free, views, y)
        np.testing.assert_allclose(weights_of(other), weights_of(dense), atol=exact(learner))
        np.testing.assert_allclose(
            scores_of(other, views), scores_of(dense, X), atol=exact(learner)
        )
        assert other.view_scores(views).shape[:2] == (len(y), len(widths))


def test_the_joint_score_is_made_of_the_views_scores(with_weights, table):
    X, y = table
    trained = fitted(with_weights, X, y)
    own = trained.view_scores(X)
    coupling = getattr(with_weights, "coupling", "concatenated")
    summed = coupling in ("independent", "concatenated")
    joint = own.sum(axis=1) if summed else own.mean(axis=1)
    np.testing.assert_allclose(scores_of(trained, X), joint, atol=1e-12)


def test_read_only_input_is_accepted_and_unchanged(learner, table):
    X, y = table
    sparse = sp.csr_array(X)
    for array in (X, sparse.data, sparse.indices, sparse.indptr):
        array.flags.writeable = False
    before = X.copy()
    fitted(learner, X, y).predict(X)
    fitted(learner, sparse, y).predict(sparse)
    np.testing.assert_array_equal(X, before)


def test_unsorted_sparse_rows_with_duplicates(learner, table):
    X, y = table
    # every entry twice, as halves, and the columns of a row backwards
    columns = np.tile(np.repeat(np.arange(12)[::-1], 2), len(X))
    values = X[:, ::-1].repeat(2, axis=1).ravel() / 2
    messy = sp.csr_array((values, columns, np.arange(0, len(values) + 1, 24)), shape=X.shape)
    assert not messy.has_canonical_format
    np.testing.assert_allclose(
        weights_of(fitted(learner, messy, y)),
        weights_of(fitted(learner, X, y)),
        atol=exact(learner),
    )
    assert messy.nnz == len(values)


def test_permuting_columns_inside_a_view_permutes_the_weights(with_weights, table):
    X, y = table
    widths = getattr(with_weights, "views", None) or [12]
    cuts = np.cumsum([0, *widths])
    rng = np.random.default_rng(0)
    order = np.concatenate([a + rng.permutation(b - a) for a, b in itertools.pairwise(cuts)])
    permuted = fitted(with_weights, X[:, order], y).coef_
    np.testing.assert_allclose(
        permuted, fitted(with_weights, X, y).coef_[:, order], atol=exact(with_weights)
    )


def test_an_empty_row_changes_nothing(linear, table):
    X, y = table
    linear.set_params(fit_intercept=False)
    trained = fitted(linear, X, y)
    again = pickle.loads(pickle.dumps(trained))
    again.partial_fit(np.zeros((2, 12)), y[:2])
    same_state(trained, again)


def test_same_seed_same_result(model, table):
    X, y = table
    if hasattr(model, "kernel"):
        model.set_params(random_state=3, schedule="uniform", budget=None, lam=1e-4)
    else:
        model.set_params(random_state=3, n_epochs=2)
    same_state(clone(model).fit(X, y), clone(model).fit(X, y))
    if model.__class__ is not Perceptron:
        other = clone(model).set_params(random_state=4).fit(X, y)
        assert not np.array_equal(scores_of(other, X), scores_of(clone(model).fit(X, y), X))


def test_predicting_never_learns(learner, table):
    X, y = table
    trained = fitted(learner, X, y)
    before = pickle.loads(pickle.dumps(trained))
    trained.predict(X)
    trained.decision_function(X)
    trained.view_scores(X)
    trained.predict_one(X[0])
    same_state(trained, before)


def test_saved_loaded_and_gone_on_is_never_stopped(model, table, tmp_path):
    X, y = table
    never = fitted(model, X, y)
    stopped = fitted(model, X[:33], y[:33]) if set(y[:33]) == set(y) else None
    if stopped is None:
        stopped = clone(model).partial_fit(X[:33], y[:33], np.unique(y))
    crossview.save(stopped, tmp_path / "model.safetensors")
    resumed = crossview.load(tmp_path / "model.safetensors")
    assert resumed.get_params() == stopped.get_params()
    resumed.partial_fit(X[33:], y[33:])
    same_state(never, resumed)
    np.testing.assert_array_equal(never.predict(X), resumed.predict(X))
    pickled = pickle.loads(pickle.dumps(stopped)).partial_fit(X[33:], y[33:])
    same_state(never, pickled)


def test_scores_before_learning_are_those_of_the_model_so_far(model, table):
    X, y = table
    got = clone(model).score_then_learn(X, y, np.unique(y))
    walker = clone(model).partial_fit(X[:1], y[:1], np.unique(y))
    for i in range(1, len(y)):
        np.testing.assert_allclose(walker.decision_function(X[i : i + 1])[0], got[i], atol=1e-12)
        walker.partial_fit(X[i : i + 1], y[i : i + 1])


def test_weight_zero_is_a_row_that_is_not_there(model, table):
    X, y = table
    keep = np.arange(len(y)) % 3 > 0
    weighted = clone(model).partial_fit(X, y, np.unique(y), sample_weight=keep.astype(float))
    same_state(weighted, clone(model).partial_fit(X[keep], y[keep], np.unique(y)))


def test_one_row_has_its_weight(model, table):
    X, y = table
    batch = clone(model).partial_fit(X, y, np.unique(y), sample_weight=0.5)
    ones = clone(model).partial_fit(X[:1], y[:1], np.unique(y), sample_weight=[0.5])
    for x, label in zip(X[1:], y[1:], strict=True):
        ones.learn_one(x, label, sample_weight=0.5)
    same_state(batch, ones)
    with pytest.raises(InputError, match="give a number of 0 or more"):
        ones.learn_one(X[0], y[0], sample_weight=-1.0)


def test_class_weight_is_the_rows_weight(model, table):
    X, y = table
    by_class = clone(model).set_params(class_weight={"ant": 3.0}).partial_fit(X, y, np.unique(y))
    by_row = clone(model).partial_fit(
        X, y, np.unique(y), sample_weight=np.where(y == "ant", 3.0, 1.0)
    )
    same_state(by_class, by_row)


def test_mappings_and_plain_rows_agree(linear, table):
    X, y = table
    layout = fitted(linear, X, y).layout_

    def mapping(x):
        views = {
            name: {f"f{j}": v for j, v in enumerate(x[layout.block(name)].tolist()) if v}
            for name in layout.names
        }
        return views if layout.n_views > 1 else views["all"]

    plain = clone(linear)
    if hasattr(linear, "views"):
        named = clone(linear).set_params(views=dict.fromkeys(layout.names, "*"))
    else:
        named = clone(linear)
    assert plain.predict_one(X[0]) is None
    for x, label in zip(X, y, strict=True):
        plain.learn_one(x, label)
        named.learn_one(mapping(x), label)
    for x in X:
        assert plain.predict_one(x) == named.predict_one(mapping(x))
    same = sorted(np.abs(plain.coef_).ravel().round(9)) == sorted(
        np.abs(np.hstack([named.coef_, np.zeros((len(named.coef_), 12 - named.n_features_in_))]))
        .ravel()
        .round(9)
    )
    assert same


def test_rows_as_mappings_by_column_name(model):
    X, y = data()
    trained = fitted(model, pd.DataFrame(X, columns=NAMES), y)
    layout = trained.layout_
    for x, label in zip(X[:9], trained.predict(pd.DataFrame(X[:9], columns=NAMES)), strict=True):
        row = dict(zip(NAMES, x.tolist(), strict=True))
        if layout.n_views > 1:
            row = {name: {c: row[c] for c in NAMES[layout.block(name)]} for name in layout.names}
        assert trained.predict_one(row) == label
    view = layout.names[0]
    with pytest.raises(InputError, match="no feature 'c99'"):
        trained.predict_one({view: {"c99": 1.0}})


def test_a_bad_mapping_leaves_the_learner_as_it_was():
    model = MultiViewPAClassifier()
    model.learn_one({"a": {"x": 1.0}, "b": {"y": 2.0}}, "no")
    model.learn_one({"a": {"x": -1.0}, "b": {"y": -2.0}}, "yes")
    before = pickle.dumps(model._get_state())
    for bad in ({"a": {"new": 1.0, "x": float("nan")}}, {"c": {"z": "text"}}):
        with pytest.raises(InputError, match="not a finite number"):
            model.learn_one(bad, "yes")
        with pytest.raises(InputError, match="label is missing"):
            model.learn_one({"a": {"other": 1.0}}, None)
    assert pickle.dumps(model._get_state()) == before
    assert model.layout_.widths == (1, 1)


def test_new_features_views_and_classes_are_taken_in(tmp_path):
    rng = np.random.default_rng(0)
    model = MultiViewPAClassifier(C=0.5)
    words = [f"w{i}" for i in range(40)]
    right = 0
    for t in range(600):
        label = int(rng.integers(3)) if t > 100 else int(rng.integers(2))
        row = {"text": dict.fromkeys(rng.choice(words, 4), 1.0)}
        row["text"][f"only{label}"] = 1.0
        if t > 50 and t % 3:
            row["link"] = {f"to{label}": 1.0, f"page{int(rng.integers(30))}": 1.0}
        right += model.predict_one(row) == label
        model.learn_one(row, label)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.layout_.names == ("text", "link")
    assert right > 480
    crossview.save(model, tmp_path / "m.safetensors")
    again = crossview.load(tmp_path / "m.safetensors")
    row = {"text": {"only2": 1.0, "brand new": 1.0}, "link": {"to2": 1.0}}
    assert again.predict_one(row) == model.predict_one(row) == 2
    same_state(again.learn_one(row, 0), model.learn_one(row, 0))


def test_a_class_that_was_alone_may_be_the_first_or_the_second():
    for first, second in [("a", "b"), ("b", "a")]:
        model = PassiveAggressiveClassifier(C=0.3)
        X, _ = data()
        y = np.where(np.arange(len(X)) < 5, first, np.where(X[:, 0] > 0, first, second))
        for x, label in zip(X, y, strict=True):
            model.learn_one(x, label)
        whole = PassiveAggressiveClassifier(C=0.3).partial_fit(X, y, ["a", "b"])
        same_state(model, whole)


def test_grid_search_pipeline_and_splits_take_many_views():
    X, y = data(3, rows=150)
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


def test_view_columns_take_the_weights_apart():
    X, y = data(3)
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


def test_views_by_glob_pick_their_columns_and_leave_the_rest():
    X, y = data()
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


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "container", [np.asarray, sp.csr_array, lambda X: pd.DataFrame(X, columns=NAMES)]
)
def test_what_is_not_finite_is_named(learner, value, container):
    X, y = data()
    X[17, 6] = value
    with pytest.raises(InputError, match=r"row 17, column '(6|2|c6)'") as info:
        clone(learner).fit(container(X), y)
    assert ("NaN" if np.isnan(value) else "infinity") in str(info.value)
    assert "\n" not in str(info.value)


FAILING_FITS = {
    "NaN": lambda m, X, y: m.fit(np.where(np.arange(X.size).reshape(X.shape) == 30, np.nan, X), y),
    "one class": lambda m, X, y: m.fit(X, ["a"] * len(y)),
    "weights": lambda m, X, y: m.fit(X, y, sample_weight=-np.ones(len(y))),
}


@pytest.mark.parametrize("what", FAILING_FITS)
def test_a_failed_fit_leaves_nothing_learned(learner, what):
    X, y = data()
    learner.fit(X, y)
    with pytest.raises(ValueError, match=r"NaN|one class|[Nn]egative"):
        FAILING_FITS[what](learner, X, y)
    with pytest.raises(NotFittedError):
        learner.predict(X)
    assert learner.predict_one(X[0]) is None
    assert learner.fit(X, y).predict(X).shape == y.shape


def test_a_failed_first_partial_fit_leaves_nothing_and_a_later_one_what_there_was(model):
    X, y = data()
    learner = clone(model)
    with pytest.raises(InputError, match="not among the classes"):
        learner.partial_fit(X, y, classes=["ant", "fly"])
    learner.partial_fit(X, y, classes=["ant", "bee"])
    before = pickle.loads(pickle.dumps(learner))
    X[30, 3] = np.inf
    with pytest.raises(InputError, match="row 30"):
        learner.partial_fit(X, y)
    same_state(learner, before)


def test_rows_whose_squares_overflow_are_passed_over(model, table):
    X, y = table
    huge = X.copy()
    huge[5] = 1e200
    keep = np.arange(len(y)) != 5
    trained = in_order(model).fit(huge, y)
    assert np.isfinite(weights_of(trained)).all()
    if hasattr(model, "early_stopping"):
        trained = fitted(model, huge, y)
    same_state(trained, fitted(model, X[keep], y[keep]))
    same_state(trained, fitted(model, huge, y))


def test_a_view_that_is_all_nan_is_missing():
    X, y = data()
    X[::3, 4:7] = np.nan
    model = MultiViewPAClassifier(WIDTHS, random_state=0).fit(X, y)
    own = model.view_scores(X)
    assert np.isnan(own[::3, 1]).all()
    np.testing.assert_allclose(model.decision_function(X), np.nanmean(own, axis=1))


BAD = {
    "one class": (lambda m, X, y: m.fit(X, ["a"] * len(y)), "one class, 'a'"),
    "no classes": (lambda m, X, y: m.partial_fit(X, y), "classes= must be given"),
    "other classes": (
        lambda m, X, y: m.partial_fit(X, y, np.unique(y)).partial_fit(X, y, ["x", "y"]),
        "not the same as in the first call",
    ),
    "unknown label": (lambda m, X, y: m.partial_fit(X, y, ["ant", "fly"]), "'bee'.* not among"),
    "missing label": (
        lambda m, X, y: m.fit(X, [None if i == 4 else v for i, v in enumerate(y)]),
        "row 4: the label is missing",
    ),
    "balanced": (
        lambda m, X, y: m.set_params(class_weight="balanced").partial_fit(X, y, np.unique(y)),
        "needs all labels at once",
    ),
    "text column": (
        lambda m, X, y: m.fit(pd.DataFrame(X, columns=NAMES).assign(c3="text"), y),
        "column 'c3': holds string and not numbers",
    ),
    "too few columns": (lambda m, X, y: m.fit(X, y).predict(X[:, :5]), "5 features"),
    "negative weight": (lambda m, X, y: m.fit(X, y, sample_weight=-np.ones(len(y))), "[Nn]egative"),
    "epochs": (lambda m, X, y: m.set_params(n_epochs=0).fit(X, y), "n_epochs"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_clear_line(model, what):
    X, y = data()
    if hasattr(model, "kernel") and what in ("missing label", "epochs"):
        return  # a row without label is learned, and there are no epochs
    call, message = BAD[what]
    with pytest.raises(ValueError, match=message) as info:
        call(model, X, y)
    assert "\n" not in str(info.value) or what in ("too few columns",)


REASONS = {
    "check_sample_weight_equivalence_on_dense_data": "it repeats rows and changes their order, "
    "and what an online learner learns depends on the order; weight 0 is tested above, and "
    "weight 2 for PA-I and AROW in algorithms/test_rules.py",
    "check_class_weight_classifiers": "a weight multiplies the price of a row's loss and not its "
    "step, so one pass cannot push everything to one class; with n_epochs=200 it passes, see below "
    "(CW has no price, and knows weight 0 only)",
}
REASONS["check_sample_weight_equivalence_on_sparse_data"] = REASONS[
    "check_sample_weight_equivalence_on_dense_data"
]


def expected_failures(estimator):
    """The reasons; a weight in a whole covariance is strong enough for the second."""
    kernel = getattr(estimator, "kernel", "linear") != "linear"
    if hasattr(estimator, "early_stopping") or kernel:  # they see rows again, or close ones
        return {k: v for k, v in REASONS.items() if k != "check_class_weight_classifiers"}
    whole = getattr(estimator, "covariance", "diagonal") != "diagonal"
    weighted = not isinstance(
        estimator, ConfidenceWeightedClassifier | SoftConfidenceWeightedClassifier
    )
    euclidean = getattr(estimator, "geometry", "mahalanobis") == "euclidean"
    if whole and weighted and not euclidean:
        return {k: v for k, v in REASONS.items() if k != "check_class_weight_classifiers"}
    return REASONS


@parametrize_with_checks(
    [
        Perceptron(),
        Perceptron(average=True),
        PassiveAggressiveClassifier(),
        PassiveAggressiveClassifier(variant="PA-II", average=True),
        MultiViewPAClassifier(),
        MultiViewPAClassifier(coupling="absolute"),
        MultiViewPAClassifier(coupling="independent"),
        MultiViewPAClassifier(coupling="concatenated"),
        MultiViewPAClassifier(geometry="mahalanobis"),
        MultiViewPAClassifier(geometry="mahalanobis", covariance="low-rank", rank=8),
        PAMClassifier(),
        PAMClassifier(covariance="diagonal", average=True),
        AROWClassifier(),
        AROWClassifier(covariance="low-rank", rank=8),
        ConfidenceWeightedClassifier(),
        ConfidenceWeightedClassifier(form="variance", covariance="diagonal"),
        SoftConfidenceWeightedClassifier(),
        SoftConfidenceWeightedClassifier(variant="SCW-II", covariance="diagonal"),
        SecondOrderPerceptron(),
        MultiViewMachineClassifier(n_epochs=30),
        MultiViewMachineClassifier(optimizer="lbfgs", loss="hinge", n_epochs=20),
        MultiViewMachineRegressor(),
        MultiViewMachineRegressor(optimizer="als", n_epochs=10),
        FactorizationMachineClassifier(n_factors=4, n_epochs=30),
        FactorizationMachineRegressor(n_factors=4, loss="huber", n_epochs=30),
        SupportTensorMachineClassifier(n_epochs=5),
        SupportTensorMachineClassifier(optimizer="adagrad", n_epochs=20),
        KeCoClassifier(),
        KeCoClassifier(schedule="stream", budget=30, maintenance="merging"),
        KeCoClassifier(random_views=(2, 0.75), approximation="fourier"),
        PegasosClassifier(kernel="linear"),
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "learner", [Perceptron, PassiveAggressiveClassifier, MultiViewPAClassifier]
)
def test_the_class_weight_check_passes_with_enough_epochs(learner):
    from sklearn.utils.estimator_checks import check_class_weight_classifiers

    check_class_weight_classifiers(learner.__name__, learner(n_epochs=200))
