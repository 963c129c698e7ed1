"""Values and indices of any type are learned as float64 and int32 are, without a copy of all."""

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier

from contract.instances import (
    WIDTHS,
    assert_same_state,
    has_kernel,
    learn,
    make_rows,
    scores_of,
    targets,
)
from crossview import (
    AROWClassifier,
    InputError,
    KeCoClassifier,
    MultiView,
    MultiViewPAClassifier,
    OnlineNewtonRegressor,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    batch,
)
from crossview.algorithms.stacking import stream_memory
from crossview.errors import DivergedError
from crossview.estimators.stacking import base as stacking
from crossview.views import ViewLayout

TYPES = {"float32": np.float32, "int8": np.int8, "bool": np.bool_, "uint64": np.uint64}
# converting is the same for all learners, so most types of most tests are for `make test-all`
ALL_TYPES, FEW_TYPES = (
    [pytest.param(name, marks=[pytest.mark.exhaustive] * (name not in first)) for name in some]
    for some, first in ((TYPES, ("float32", "int8")), (("float32", "int8"), ("float32",)))
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of two rows or three."""
    monkeypatch.setattr(batch, "ENTRIES_OF_BLOCK", 31)


def as_int64(X):
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def rows_of(kind, seed=0, n_classes=2):
    """Rows of a type, dense and sparse with indices of both types, and the same as float64."""
    X, y = make_rows(n_classes, seed=seed)
    X = X if kind == "float32" else np.abs(3 * X)
    given = X.astype(TYPES[kind])
    return [given, sp.csr_array(given), as_int64(given)], given.astype(np.float64), y


def two_passes(learner, X, y, weight=None):
    """Fit twice over the rows, shuffled, where the learner can."""
    given = {"n_epochs": 2, "shuffle": True, "random_state": 1}
    if not has_kernel(learner):
        own = {name: value for name, value in given.items() if name in learner.get_params()}
        learner = clone(learner).set_params(**own)
    return clone(learner).fit(X, targets(learner, y), sample_weight=weight)


def assert_same_predictions(a, b, X, other):
    np.testing.assert_array_equal(scores_of(a, X), scores_of(b, other))
    np.testing.assert_array_equal(a.view_scores(X), b.view_scores(other))
    if hasattr(a, "predict_proba"):
        np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(other))


@pytest.mark.parametrize("kind", ALL_TYPES)
def test_a_stream_of_any_type_gives_the_same_bits(stream_learner_of_loop, kind):
    given, whole, y = rows_of(kind)
    sparse = sp.csr_array(whole)
    weight = np.linspace(0.2, 1.0, len(y))
    for rows, same in zip(given, (whole, sparse, sparse), strict=True):
        a, b = clone(stream_learner_of_loop), clone(stream_learner_of_loop)
        for part in (slice(0, 50), slice(50, None)):
            for learner, X in ((a, rows), (b, same)):
                learn(learner, X[part], y[part], classes=y, sample_weight=weight[part])
        assert_same_state(a, b)
        assert_same_predictions(a, b, rows, same)


@pytest.mark.parametrize("kind", FEW_TYPES)
def test_passes_over_rows_of_any_type_give_the_same_bits(stream_learner_of_loop, kind):
    given, whole, y = rows_of(kind, n_classes=3)
    sparse = sp.csr_array(whole)
    weight = np.linspace(0.2, 1.0, len(y))
    for rows, same in zip(given, (whole, sparse, sparse), strict=True):
        a, b = (two_passes(stream_learner_of_loop, X, y, weight) for X in (rows, same))
        assert_same_state(a, b)
        assert_same_predictions(a, b, rows, same)


@pytest.mark.parametrize("kind", FEW_TYPES)
def test_views_that_are_missing_give_the_same_bits(stream_learner_of_loop, kind):
    given, whole, y = rows_of(kind)
    widths = getattr(stream_learner_of_loop, "views", None) or WIDTHS
    layout = ViewLayout([f"view{v}" for v in range(len(widths))], widths)
    present = np.random.default_rng(1).random((len(y), len(widths))) < 0.7
    if hasattr(stream_learner_of_loop, "views"):
        stream_learner_of_loop.set_params(views=None)
    for rows, same in zip(given[:2], (whole, sp.csr_array(whole)), strict=True):
        mine, theirs = (MultiView.from_matrix(X, layout, present=present) for X in (rows, same))
        a, b = (learn(clone(stream_learner_of_loop), X, y) for X in (mine, theirs))
        assert_same_state(a, b)
        assert_same_predictions(a, b, mine, theirs)


def test_a_view_that_is_nan_is_missing_in_every_type(stream_learner_of_loop):
    (rows, *_), _, y = rows_of("float32")
    rows[10:20, : (getattr(stream_learner_of_loop, "views", None) or WIDTHS)[0]] = np.nan
    if not hasattr(stream_learner_of_loop, "views"):
        rows[10:20] = np.nan
    for how in (learn, two_passes):
        a, b = (how(clone(stream_learner_of_loop), X, y) for X in (rows, rows.astype(np.float64)))
        assert_same_state(a, b)


def test_scores_before_learning_are_the_same_bits(stream_learner_of_loop):
    (rows, *_), whole, y = rows_of("float32")
    classes = [np.unique(y)] if is_classifier(stream_learner_of_loop) else []
    y = targets(stream_learner_of_loop, y)
    a, b = (clone(stream_learner_of_loop).score_then_learn(X, y, *classes) for X in (rows, whole))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("kind", FEW_TYPES)
def test_rows_of_any_type_are_scored_the_same(learner_of_loop, kind):
    given, whole, y = rows_of(kind)
    sparse = sp.csr_array(whole)
    model = learner_of_loop.fit(whole, targets(learner_of_loop, y))
    for rows, same in zip(given, (whole, sparse, sparse), strict=True):
        assert_same_predictions(model, model, rows, same)


def test_new_classes_and_what_experts_said_are_the_same_bits(stream_classifier):
    (rows, *_), whole, y = rows_of("float32", n_classes=3)
    a, b = (clone(stream_classifier).partial_fit(X, y, new_classes=True) for X in (rows, whole))
    assert_same_state(a, b)
    a.predict(rows), b.predict(whole)
    if hasattr(a, "expert_predictions"):
        np.testing.assert_array_equal(a.expert_predictions(), b.expert_predictions())


def test_the_scale_of_a_kernel_is_that_of_all_rows_of_the_first_batch():
    (X, *_), whole, y = rows_of("float32")
    a, b = (KeCoClassifier(WIDTHS).partial_fit(rows, y, np.unique(y)) for rows in (X, whole))
    assert a.gamma_ == b.gamma_
    assert_same_state(a, b)


def test_a_stack_learns_and_scores_blocks_of_float64(monkeypatch):
    (X, *_), _, y = rows_of("float32")
    model, types = OnlineStackingClassifier(WIDTHS, memory=True), set()
    combine = stream_memory.combine

    def spy(rows, *given):
        types.add(rows.data.dtype)
        return combine(rows, *given)

    monkeypatch.setattr(stream_memory, "combine", spy)
    model.partial_fit(X, y, np.unique(y)).follow_stream().predict(X)
    assert types == {np.dtype(np.float64)}


def test_entries_of_one_column_are_added_as_float64():
    data, columns = np.full(4, 100, dtype=np.int8), np.array([0, 0, 1, 1])
    X = sp.csr_array((data, columns, np.array([0, 2, 4])), shape=(2, 2))
    for form in (X, X.tocoo(), X.tocsc()):
        for views in (None, {"a": [1], "b": [0]}, {"a": [1]}):
            model = MultiViewPAClassifier(views)
            other = clone(model).partial_fit(np.diag([200.0, 200.0]), [0, 1], [0, 1])
            model.partial_fit(form, [0, 1], [0, 1])
            np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-12)
    assert X.nnz == 4
    views = MultiView({"a": X.tocoo(), "b": X})
    np.testing.assert_array_equal(views.matrix.toarray(), np.tile([[200, 0], [0, 200]], 2))
    # features that came as mappings, with room for more
    x = {"x": 1.0, "y": 2.0, "z": 3.0}
    model, other = (PassiveAggressiveClassifier().learn_one(x, 0) for _ in range(2))
    assert model._slots.n_columns > 3
    X.resize(2, 3)
    model.partial_fit(X, [0, 1], new_classes=True)
    other.partial_fit(200.0 * np.eye(2, 3), [0, 1], new_classes=True)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-12)


@pytest.mark.parametrize("learn_rows", ["fit", "partial_fit"])
def test_a_value_that_is_not_finite_is_named(learn_rows):
    (X, *_), _, y = rows_of("float32")
    X[70, 5] = np.inf
    classes = [np.unique(y)] if learn_rows == "partial_fit" else []
    with pytest.raises(InputError, match="infinity") as error:
        getattr(PassiveAggressiveClassifier(), learn_rows)(X, y, *classes)
    assert (error.value.row, error.value.column) == (70, "5")


def test_a_row_that_cannot_be_learned_is_named_and_all_others_are_learned():
    (*_, X), _, y = rows_of("float32")
    X = X.astype(np.float64)
    X.data[X.indptr[70] : X.indptr[71]] = 1e200
    X.data[X.indptr[30] : X.indptr[31]] = 1e200
    short = sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    models = PassiveAggressiveClassifier(), PassiveAggressiveClassifier()
    for model, rows in zip(models, (X, short), strict=True):
        with pytest.raises(DivergedError) as error:
            model.partial_fit(rows, y, np.unique(y))
        assert error.value.row == 70
    assert_same_state(*models)


# --- memory ---------------------------------------------------------------------------------

LEARNERS = {
    "PA": PassiveAggressiveClassifier(),
    "AROW": AROWClassifier(covariance="diagonal", average=True, n_epochs=2, calibration="none"),
    "newton": OnlineNewtonRegressor(full_columns=4),
    "stacking": OnlineStackingClassifier(
        experts=[
            ("pa", PassiveAggressiveClassifier()),
            ("arow", AROWClassifier(covariance="diagonal")),
        ]
    ),
}


def peak_of(call):
    """The most memory that a call has at a time."""
    call()  # compiled
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def on_disk(X, folder):
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


FORMS = {"array": lambda X: X, "csr": sp.csr_array, "int64": as_int64, "memory-mapped": None}


@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(name, form, marks=[pytest.mark.exhaustive] * (i % 4 not in (j, (j + 1) % 4)))
        for i, name in enumerate(LEARNERS)
        for j, form in enumerate(FORMS)
    ],
)
def test_memory_does_not_grow_with_the_entries(name, form, monkeypatch, tmp_path):
    monkeypatch.setattr(batch, "ENTRIES_OF_BLOCK", 1 << 12)
    monkeypatch.setattr(stacking, "ROWS_AT_ONCE", 256)
    rng, peaks = np.random.default_rng(0), []
    for n_rows in (500, 2_500):
        X = rng.normal(size=(n_rows, 100)).astype(np.float32)
        y = (X[:, 0] > 0).astype(int)
        X = FORMS[form](X) if FORMS[form] else on_disk(X, tmp_path)
        model = clone(LEARNERS[name])
        classes = [[0, 1]] if is_classifier(model) else []
        calls = (
            partial(model.fit, X, y),
            partial(model.partial_fit, X, y, *classes),
            partial(scores_of, model, X),
            partial(model.view_scores, X),
        )
        peaks.append([peak_of(call) for call in calls])
    few, many = np.array(peaks)
    # a copy has 4 or 8 bytes per entry
    assert (many - few < 2_000 * 100 * 2).all()


def test_views_are_put_side_by_side_without_another_copy():
    X = np.ones((2_000, 100))
    for views in (
        {"a": X[:, :50], "b": X[:, 50:]},
        {"a": np.asfortranarray(X, np.float32), "b": X},
    ):
        n_entries = 2_000 * sum(X.shape[1] for X in views.values())
        assert peak_of(partial(MultiView, views)) < 1.2 * 8 * n_entries


def test_scores_of_views_of_a_stack_do_not_copy_all_rows(monkeypatch):
    monkeypatch.setattr(batch, "ENTRIES_OF_BLOCK", 1 << 12)
    rng, peaks = np.random.default_rng(0), []
    for n_rows in (1_000, 5_000):
        X = rng.normal(size=(n_rows, 100))
        model = OnlineStackingClassifier([50, 50], experts=LEARNERS["stacking"].experts)
        model.fit(X, X[:, 0] > 0)
        peaks.append(peak_of(partial(model.view_scores, X)))
    assert peaks[1] - peaks[0] < 4_000 * 100 * 2
