"""Every classifier gives probabilities."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

import crossview
from contract.instances import learn
from crossview import (
    AROWClassifier,
    KeCoClassifier,
    LateFusionClassifier,
    MultiViewKernelRidgeClassifier,
    MultiViewLogisticRegression,
    MultiViewNetworkClassifier,
    MultiViewSVMPerf,
    MultiViewTreesClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
)


def test_probabilities_of_rows_and_of_one_row(any_learner, table):
    X, y = table
    if not is_classifier(any_learner):
        assert not hasattr(any_learner, "predict_proba")
        return
    trained = learn(any_learner, X, y)
    p = trained.predict_proba(X)
    assert p.shape == (len(y), len(np.unique(y)))
    assert (p >= 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p, trained.probabilities(trained.decision_function(X)))
    one = trained.predict_proba_one(X[3])
    assert list(one) == trained.classes_.tolist()
    np.testing.assert_allclose(list(one.values()), p[3], rtol=1e-12)


def test_the_probability_of_a_row_does_not_know_its_label():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, "b", "a")
    other = y.copy()
    other[200] = "a" if y[200] == "b" else "b"
    found = [
        PassiveAggressiveClassifier(C=0.01).score_then_learn(
            X, labels, ["a", "b"], return_proba=True
        )[1]
        for labels in (y, other)
    ]
    np.testing.assert_array_equal(found[0][:201], found[1][:201])
    assert (found[0][201] != found[1][201]).all()


@pytest.mark.parametrize(
    "learner",
    [
        Perceptron(n_epochs=3, random_state=0),
        KeCoClassifier([40, 20], random_state=0),
        MultiViewSVMPerf(measure="error_rate", views=[40, 20], C1=10.0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_a_batch_learner_is_calibrated_on_rows_it_has_not_learned(learner):
    # labels that no column knows: in the training rows each learner seems better than it is
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 60)), rng.integers(2, size=120)
    model = clone(learner).fit(X, y)
    new = model.predict_proba(rng.normal(size=(500, 60)))[:, 1]
    assert np.abs(new - 0.5).mean() < 0.12
    # its own scores of the training rows would make it sure
    known = clone(learner).set_params(calibration="none").fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        known.predict_proba(X)
    known.calibrate(known.decision_function(X), y)
    assert np.abs(known.predict_proba(X)[:, 1] - 0.5).mean() > np.abs(new - 0.5).mean()


@pytest.mark.parametrize("n_classes", [2, 4])
def test_equal_thresholds_predict_the_most_probable_class(n_classes):
    rng = np.random.default_rng(0)
    share = np.arange(1, n_classes + 1) ** 2.0
    y = rng.choice(n_classes, p=share / share.sum(), size=600)
    X = rng.normal(size=(600, 5))
    X[np.arange(600), y] += 1.0
    model = AROWClassifier(random_state=0).fit(X[:300], y[:300])
    k = len(model.classes_)
    most_probable = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert (model.predict(X) != most_probable).any()
    model.set_threshold(0.5 if k == 2 else [1 / k] * k)
    np.testing.assert_array_equal(model.predict(X), most_probable)


def test_calibrate_says_what_is_wrong():
    X, y = np.eye(4), [0, 1, 0, 1]
    model = Perceptron().fit(X, y)
    with pytest.raises(ValueError, match="a score is NaN or infinite"):
        model.calibrate([0.0, np.nan, 1.0, 2.0], y)
    with pytest.raises(ValueError, match="not among the classes"):
        model.calibrate([0.0, 1.0, 1.0, 2.0], [0, 1, 2, 1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "learner",
    [
        AROWClassifier(random_state=0),
        LateFusionClassifier([5, 5]),
        MultiViewKernelRidgeClassifier(random_state=0),  # one width is found soon
        MultiViewLogisticRegression([5, 5]),
        MultiViewNetworkClassifier([5, 5], n_members=1, max_epochs=20, random_state=0),
        MultiViewTreesClassifier([5, 5], n_bags=1, random_state=0),
        OnlineStackingClassifier([5, 5], calibration="sigmoid", random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_probabilities_are_those_of_the_rows_without_class_weights(learner, n_classes, tmp_path):
    rng = np.random.default_rng(0)
    rare = [0.1] * (n_classes - 1)
    y = rng.choice(n_classes, p=[1 - sum(rare), *rare], size=1600)
    X = rng.normal(size=(1600, 10))
    X[np.arange(1600), y] += 1.5
    model = clone(learner).set_params(class_weight="balanced").fit(X[:1000], y[:1000])
    p = model.predict_proba(X[1000:])
    shares = np.bincount(y[1000:], minlength=n_classes) / 600
    # trees that stop early are nearer to the prior, of which too much is taken out
    atol = 0.08 if isinstance(model, MultiViewTreesClassifier) else 0.04
    np.testing.assert_allclose(p.mean(axis=0), shares, atol=atol)
    # and the rare classes are predicted more often
    plain = clone(learner).fit(X[:1000], y[:1000])
    assert np.mean(model.predict(X[1000:]) > 0) > np.mean(plain.predict(X[1000:]) > 0)
    crossview.save(model, tmp_path / "m.st")
    np.testing.assert_array_equal(crossview.load(tmp_path / "m.st").predict_proba(X[1000:]), p)
