"""Ensembles: their equation, contributions, views, bins, files, and what they refuse."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import log_softmax, logit
from sklearn.base import clone

from crossview import (
    AROWClassifier,
    EnsembleClassifier,
    EnsembleRegressor,
    InputError,
    MultiView,
    MultiViewKernelRidgeClassifier,
    MultiViewMachineRegressor,
    MultiViewPAClassifier,
    MultiViewRidge,
    MultiViewSVMPerf,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    load,
    save,
    train,
)
from crossview.algorithms.stacking.blend import blend_classes, blend_numbers, log_odds

LEAST = 1e-4


def views(n=300, K=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, n)
    centers = rng.normal(size=(K, 6))
    X = centers[y] + rng.normal(size=(n, 6)) * [1, 1, 1, 3, 3, 3]
    return MultiView({"a": X[:, :3], "b": X[:, 3:]}), np.array(["no", "yes", "maybe"])[y]


MEMBERS = [
    ("arow", AROWClassifier()),
    ("only b", PassiveAggressiveClassifier(), "b"),
    ("svm", MultiViewSVMPerf(C1=0.1)),
]
THREE = [*MEMBERS[:2], ("stack", OnlineStackingClassifier())]


@pytest.mark.parametrize(("K", "members"), [(2, MEMBERS), (3, THREE)])
def test_it_is_the_softmax_of_weighted_log_probabilities(K, members):
    X, y = views(K=K)
    w = [0.7, 0.2, 1.1]
    model = EnsembleClassifier(members=members, weights=w, random_state=0)
    model.fit(X[:200], y[:200])
    total = np.zeros((100, K))
    for weight, (_, learner, view) in zip(w, model.members_, strict=True):
        own = X[200:] if view is None else X[200:].select([view])
        total += weight * np.log(np.maximum(learner.predict_proba(own), LEAST))
    expected = np.exp(log_softmax(total, axis=1))
    np.testing.assert_allclose(model.predict_proba(X[200:]), expected, atol=1e-12)
    assert (model.predict(X[200:]) == model.classes_[expected.argmax(axis=1)]).all()
    if K == 2:
        np.testing.assert_allclose(model.decision_function(X[200:]), logit(expected[:, 1]))
        model.set_threshold(0.8)
        above = expected[:, 1] > 0.8
        assert (model.predict(X[200:]) == model.classes_[above.astype(int)]).all()


def test_of_numbers_it_is_their_weighted_sum():
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(300, 3)), "b": rng.normal(size=(300, 3))})
    y = 100 + 7 * X["a"][:, 0] + 3 * X["a"][:, 1] * X["b"][:, 1] + rng.normal(size=300)
    members = [("m", MultiViewMachineRegressor()), ("a", MultiViewMachineRegressor(), "a")]
    model = EnsembleRegressor(members=members, weights=[0.6, 0.3], random_state=0)
    model.fit(X[:200], y[:200])
    (_, m, _), (_, a, _) = model.members_
    c = y[:200].mean()
    expected = c + 0.6 * (m.predict(X) - c) + 0.3 * (a.predict(X.select(["a"])) - c)
    np.testing.assert_allclose(model.predict(X), expected)
    fitted = EnsembleRegressor(members=members, random_state=0).fit(X[:200], y[:200])
    assert fitted.score(X[200:], y[200:]) > 0.8
    assert min(fitted.weights_.values()) >= 0.0


def test_weights_of_numbers_make_the_error_least_that_the_metric_asks_for():
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(600, 2)), "b": rng.normal(size=(600, 2))})
    y = np.exp(1.5 * X["a"][:, 0] + X["b"][:, 0] + rng.normal(size=600))
    members = [("a", MultiViewRidge(target_scale="log"), "a"), ("ridge", MultiViewRidge())]
    error = {}
    for loss in ("squared_error", "absolute_error"):
        model = EnsembleRegressor(members=members, loss=loss).fit(X[:400], y[:400])
        error[loss] = np.abs(model.predict(X[400:]) - y[400:]).mean()
        (weight, center) = (np.arange(400) + 1.0, y[:400])
        alone = EnsembleRegressor(members=members[:1], weights=[1e-300], loss=loss)
        (said,) = np.unique(alone.fit(X[:400], center, weight).predict(X[400:]))
        if loss == "squared_error":
            assert said == pytest.approx(np.average(center, weights=weight))
        else:
            assert weight[center < said].sum() <= weight.sum() / 2 <= weight[center <= said].sum()
    assert error["absolute_error"] < 0.95 * error["squared_error"]
    for metric, loss in (("mae", "absolute_error"), ("rmse", "squared_error")):
        given = {"model": "ensemble", "settings": {"members": ["ridge", "view:a"]}}
        trained = train(X[:200], y[:200], task="regression", scoring=metric, **given)
        assert trained.learner.loss == loss


def test_rows_that_are_held_out_for_weights_calibrate_the_members_too(monkeypatch):
    """About as each member would by itself, and with no further fits."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 240)
    X = MultiView({view: rng.normal(size=(240, 2)) + y[:, None] for view in "ab"})
    learner = MultiViewKernelRidgeClassifier(random_state=0)
    alone, fits, fit = clone(learner).fit(X, y), [], MultiViewKernelRidgeClassifier.fit

    def counted(self, *given, **more):
        fits.append(self)
        return fit(self, *given, **more)

    monkeypatch.setattr(MultiViewKernelRidgeClassifier, "fit", counted)
    model = EnsembleClassifier(members=[("all", learner), ("a", learner, "a")], cv=3).fit(X, y)
    assert len(fits) == 3 * 2 + len(model.members_)
    found = {name: one for name, one, _ in model.members_}["all"]
    # its own folds keep the rows that are held out, with a weight of 0
    np.testing.assert_allclose(found.predict_proba(X), alone.predict_proba(X), atol=0.01)
    assert found.calibration == "sigmoid"


def test_members_are_kept_near_the_learned_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X = MultiView({"a": rng.normal(size=(200, 2)), "b": rng.normal(size=(200, 2))})
    y = X["a"][:, 0] + X["b"][:, 1]
    members = [("ridge", MultiViewRidge(alpha=1e-6)), ("only a", MultiViewRidge(), "a")]
    model = EnsembleRegressor(members=members, weights=[0.7, 0.2]).fit(X, y)
    low, high = y.min() - 0.1 * np.ptp(y), y.max() + 0.1 * np.ptp(y)
    far = MultiView({"a": np.array([[100.0, 0.0], [0.0, 0.0]]), "b": np.array([[0, 0], [0, -100]])})
    ridge, only_a = (
        np.clip(one.predict(own), low, high)
        for own, one in ((far, model.members_[0][1]), (far.select(["a"]), model.members_[1][1]))
    )
    expected = 0.7 * ridge + 0.2 * only_a + 0.1 * y.mean()
    assert (ridge[0], only_a[0], ridge[1]) == (high, high, low)
    np.testing.assert_allclose(model.predict(far), expected)
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(far), model.predict(far))


def test_weights_that_are_not_given_are_best_for_rows_that_folds_hold_out():
    """A member that says nothing has no weight, and is left out."""
    X, y = views(600)
    noise = MultiView(
        {**{v: X[v] for v in "ab"}, "noise": np.random.default_rng(1).random((600, 2))}
    )
    members = [*MEMBERS[:2], ("noise", AROWClassifier(), "noise")]
    model = EnsembleClassifier(members=members, random_state=0).fit(noise[:400], y[:400])
    assert model.weights_["arow"] > 0.5
    assert model.weights_.get("noise", 0.0) < 0.3
    arow = AROWClassifier(random_state=0).fit(noise[:400], y[:400])
    assert model.score(noise[400:], y[400:]) >= arow.score(noise[400:], y[400:]) - 0.03


def test_the_blend_is_the_minimum_of_its_loss():
    """No step in any direction that keeps weights at 0 or more lowers the loss."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 500)
    p = [np.exp(rng.normal(size=(500, 3)) + s * np.eye(3)[y]) for s in (2.0, 1.0, 0.0, 0.5)]
    L = np.stack([np.log(one / one.sum(axis=1, keepdims=True)) for one in p])
    odds = np.stack([log_odds(np.exp(one)) for one in L])
    blend = blend_classes(odds, y, members=4)

    def loss(w):
        z = np.tensordot(w, L[blend.members], 1)
        return -log_softmax(z, axis=1)[np.arange(500), y].mean() + 1e-3 * w @ w

    best = loss(blend.weights)
    for _ in range(200):
        w = np.maximum(blend.weights + rng.normal(size=len(blend.weights)) * 0.05, 0.0)
        assert loss(w) >= best - 1e-9
    # the three with the largest weights, fitted again
    three = blend_classes(odds, y)
    assert len(three.members) == 3
    assert three.members.tolist() == sorted(blend.members[np.argsort(-blend.weights)[:3]])
    F = rng.normal(size=(3, 200, 1))
    numbers = blend_numbers(F, 5.0 + 2.0 * F[0, :, 0] - F[1, :, 0])
    flat = numbers.combine(np.full_like(F[numbers.members], numbers.center))
    np.testing.assert_allclose(flat, numbers.center)
    assert numbers.center == pytest.approx(5.0, abs=0.5)
    assert (numbers.weights >= 0.0).all()


@pytest.mark.parametrize("members", [MEMBERS, None])
def test_contributions_and_intercepts_add_up_to_the_score(members):
    X, y = views()
    linear = [] if members is None else [(*one, None)[:3] for one in members]
    model = EnsembleClassifier(members=members, random_state=0).fit(X, y)
    found = model.contributions(X)
    assert found.shape == X.shape
    if linear:  # what is left is the same in all rows, where no probability is cut off
        rest = model.decision_function(X) - found.sum(axis=1)
        p = [one.predict_proba(X if v is None else X.select([v])) for _, one, v in model.members_]
        kept = np.min([one.min(axis=1) for one in p], axis=0) > LEAST
        # what the members lose without one column is not cut off either
        assert kept.sum() > 100
        assert np.median(np.abs(rest[kept] - np.median(rest[kept]))) < 1e-8
    scores = model.view_scores(X[:5])
    assert scores.shape == (5, 2)
    present = np.ones((len(X), 2), dtype=bool)
    present[0, 1] = False
    missing = MultiView.from_matrix(X.matrix, X.layout, present=present)
    assert np.isnan(model.view_scores(missing)[0, 1])
    assert np.isfinite(model.decision_function(missing)).all()


def test_a_file_holds_members_and_weights(tmp_path):
    for K, members in ((2, MEMBERS), (3, THREE), (2, None)):
        X, y = views(K=K)
        model = EnsembleClassifier(members=members, cv=2, random_state=0).fit(X, y)
        save(model, tmp_path / "m.safetensors")
        again = load(tmp_path / "m.safetensors")
        assert (again.decision_function(X) == model.decision_function(X)).all()
        assert again.weights_ == model.weights_
        assert (again.contributions(X) != model.contributions(X)).nnz == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"members": []}, "members= is empty"),
        ({"members": [("a", AROWClassifier()), ("a", AROWClassifier())]}, "the name 'a'"),
        ({"members": [("a", 3)]}, "member 'a' is an int"),
        ({"members": [("a", MultiViewMachineRegressor())]}, "predict the same"),
        ({"members": [("a", MultiViewPAClassifier([3, 3]))]}, "has views of its own"),
        ({"members": [("a", AROWClassifier(calibration="none"))]}, "has no probabilities"),
        ({"members": [("a", AROWClassifier(), "c")]}, "is for the view 'c'"),
        ({"members": MEMBERS, "weights": [1.0, 2.0]}, "give 3 numbers, 0 or more"),
        ({"members": MEMBERS, "weights": [1.0, 2.0, -1.0]}, "give 3 numbers, 0 or more"),
        ({"members": MEMBERS, "weights": [0, 0, 0]}, "one of them above 0"),
        ({"members": MEMBERS, "weights": ["a", "b", "c"]}, "give 3 numbers, 0 or more"),
        ({"weights": [1.0]}, "weights= are of members="),
    ],
)
def test_what_cannot_be_blended_is_refused(given, words):
    X, y = views()
    with pytest.raises(InputError, match=words):
        EnsembleClassifier(**given).fit(X, y)


def test_a_row_of_weight_0_changes_nothing():
    X, y = views()
    weight = np.ones(300)
    weight[200:] = 0.0
    given = {"members": MEMBERS, "cv": 2, "random_state": 0}
    model = EnsembleClassifier(**given).fit(X, y, weight)
    alone = EnsembleClassifier(**given).fit(X[:200], y[:200])
    np.testing.assert_allclose(model.decision_function(X), alone.decision_function(X))


def test_a_row_without_entries_has_no_contributions():
    X, y = views()
    model = EnsembleClassifier(members=MEMBERS[:2], weights=[1.0, 1.0]).fit(X, y)
    empty = MultiView({"a": np.zeros((2, 3)), "b": np.zeros((2, 3))})
    assert model.contributions(empty).toarray().tolist() == [[0.0] * 6] * 2


@pytest.mark.parametrize("weights", [[0.5, 0.5], None])
def test_what_a_member_warns_of_is_seen(weights):
    class Noisy(AROWClassifier):
        def fit(self, X, y, sample_weight=None):
            warnings.warn("of all rows", UserWarning, stacklevel=1)
            return super().fit(X, y, sample_weight)

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    members = [("noisy", Noisy(), None), ("pa", PassiveAggressiveClassifier(), None)]
    ensemble = EnsembleClassifier(members=members, weights=weights, random_state=0)
    with pytest.warns(UserWarning, match="of all rows"):
        ensemble.fit(X, X[:, 0] > 0)


def test_training_names_the_members_without_a_weight():
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    table = pa.table({"a__x": x, "b__x": rng.normal(size=200), "y": 3 * x + rng.normal(size=200)})
    settings = {"members": ["linear", "view:b"]}
    trained = train(table, "y", model="ensemble", task="regression", settings=settings)
    assert list(trained.learner.weights_) == ["linear"]
    assert "one fit of each of 1 members (view:b without a weight, and left out)" in str(trained)
