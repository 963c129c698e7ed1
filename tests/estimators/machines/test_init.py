"""The weights with which a machine begins, and what can be learned from them."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import scale

from crossview import MultiViewMachineClassifier, MultiViewMachineRegressor
from machine_models import WIDTHS, numbers


def product_of_five(seed=0):
    """Five views of two columns of -1 and 1; the target is the product of the first of each."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(2000, 10))
    return X, np.prod(X[:, ::2], axis=1) + 0.1 * rng.normal(size=len(X))


def score_of_five(seed, optimizer, **options):
    X, y = product_of_five()
    rate = 0.02 if optimizer == "sgd" else 0.1
    model = MultiViewMachineRegressor(
        [2] * 5, n_factors=8, optimizer=optimizer, learning_rate=rate, n_iter_no_change=30
    )
    model.set_params(random_state=seed, **options)
    return model.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:])


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("optimizer", ["adagrad", "sgd", "lbfgs", "als"])
def test_an_interaction_of_order_five_is_learned_from_the_default_init(optimizer, seed):
    assert score_of_five(seed, optimizer) > 0.9


@pytest.mark.parametrize("optimizer", ["sgd", "lbfgs", "als"])
def test_it_is_not_learned_from_the_published_init(optimizer):
    """AdaGrad's steps do not depend on the size of a gradient, and sometimes escape."""
    assert score_of_five(0, optimizer, init="published", init_scale=0.01) < 0.1


def test_bias_rows_begin_with_random_signs_and_one_size():
    X, _ = numbers(rows=1)
    model = MultiViewMachineRegressor(WIDTHS, n_factors=64, learning_rate=1e-12, random_state=0)
    model.set_params(n_epochs=1, early_stopping=False).fit(X, [1.0])
    rows = np.array(list(model.bias_rows_.values()))
    np.testing.assert_allclose(np.abs(rows), (1 / 64) ** (1 / 3), rtol=1e-6)
    assert 0.25 < (rows > 0).mean() < 0.75
    features = np.concatenate(list(model.factors_.values()))
    assert 0.8 < features.std() / model.init_scale < 1.2
    assert len(np.unique(features.round(9))) == features.size


@pytest.mark.parametrize("optimizer", ["adagrad", "sgd", "lbfgs", "als"])
def test_without_an_intercept_the_bias_rows_learn_how_frequent_the_classes_are(optimizer):
    X, _ = numbers(rows=200)
    model = MultiViewMachineClassifier(
        WIDTHS, loss="squared", optimizer=optimizer, fit_intercept=False, random_state=0
    )
    model.fit(X, np.arange(200) % 5 == 0)
    assert model.intercept_ == 0.0
    assert model.decision_function(X).mean() < -0.3


def test_one_view_is_the_linear_model():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    plain = SGDClassifier(
        "log_loss",
        alpha=0.0,
        learning_rate="constant",
        eta0=0.01,
        shuffle=False,
        max_iter=3,
        tol=None,
    ).fit(X, y)
    for model in (
        MultiViewMachineClassifier(alpha=0.0, optimizer="sgd", learning_rate=0.01),
        MultiViewMachineClassifier(
            [30], alpha=0.0, optimizer="sgd", learning_rate=0.01, n_factors=1
        ),
    ):
        for _ in range(3):
            model.partial_fit(X, y, [0, 1])
        np.testing.assert_allclose(
            model.decision_function(X), plain.decision_function(X), rtol=1e-9, atol=1e-9
        )
