"""A class that first comes after many rows of others."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from crossview import (
    AROWClassifier,
    FactorizationMachineClassifier,
    MultiViewMachineClassifier,
    MultiViewPAClassifier,
    OnlineNewtonClassifier,
    OnlineStackingClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SoftConfidenceWeightedClassifier,
)

# steps small enough that a row does not decide for those that are alike
LEARNERS = [
    OnlineStackingClassifier(random_state=0),
    Perceptron(average=True),
    PassiveAggressiveClassifier(C=0.01),
    MultiViewPAClassifier(C=0.01),
    AROWClassifier(),
    SoftConfidenceWeightedClassifier(),
    OnlineNewtonClassifier(),
    FactorizationMachineClassifier(random_state=0),
    MultiViewMachineClassifier(random_state=0),
]


def rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.0, "click", "skip")


@pytest.mark.parametrize("old", [2, 3])
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_one_label_of_a_new_class_is_one_row_of_many(learner, old):
    n = 2000
    X, y = rows(n, 0)
    if old == 3:
        y[X[:, 2] > 1.0] = "view"
    later, _ = rows(300, 1)
    model = clone(learner).partial_fit(X, y, classes=np.unique(y))
    before = model.predict_proba(later), model.predict(later)
    model.learn_one(np.zeros(4) + 0.5, "buy")
    p = model.predict_proba(later)
    assert model.classes_[0] == "buy"
    assert 0.1 / n < p[:, 0].mean() < 10.0 / n
    assert np.mean(model.predict(later) == before[1]) > 0.9
    assert np.mean(model.predict(later) == "buy") < 0.01
    assert np.mean(np.abs(p[:, 1:] - before[0])) < 0.05
    # with more labels it is learned
    first = p[:, 0].mean()
    for x, label in zip(later[:200], np.where(np.arange(200) % 2, "buy", "skip"), strict=True):
        model.learn_one(x, label)
    assert model.predict_proba(later)[:, 0].mean() > max(0.2, 10 * first)


def test_a_new_class_leaves_the_interactions_of_a_factorization_machine():
    rng = np.random.default_rng(0)
    X = np.eye(4)[rng.integers(0, 4, (3000, 2))].reshape(3000, 8)
    y = np.where(X[:, 0] + X[:, 1] == X[:, 4] + X[:, 5], "same", "other")
    model = FactorizationMachineClassifier(random_state=0).partial_fit(X, y, np.unique(y))
    before = model.predict_proba(X[:50])
    p = model.learn_one(X[0], "new", sample_weight=0.0).predict_proba(X[:50])
    odds = p[:, [list(model.classes_).index(label) for label in ("other", "same")]]
    np.testing.assert_allclose(odds, before, atol=0.05)


def test_thresholds_are_of_the_classes_so_far():
    X, y = rows(200, 0)
    y[:50] = "view"
    model = AROWClassifier().partial_fit(X, y, classes=np.unique(y))
    model.set_threshold([0.2, 0.3, 0.4])
    assert model.learn_one(X[0], "buy").threshold_ is None
    assert len(model.predict(X)) == 200
