"""The strongest interactions of what was learned."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from crossview import (
    MultiViewMachineClassifier,
    MultiViewMachineRegressor,
    SupportTensorMachineClassifier,
)
from crossview.algorithms.machines.interactions import strongest
from machine_models import REGRESSORS, WIDTHS, numbers


def test_interactions_are_the_terms_of_the_score():
    """All of them, put together again, give the score."""
    X, y = numbers(80)
    for model in (*REGRESSORS.values(), MultiViewMachineRegressor([3, 6])):
        model = clone(model).fit(X, y)
        found = model.interactions(top=10_000)
        assert [len(one.views) for one in found] == sorted(len(one.views) for one in found)
        columns = model.view_columns()
        score = np.zeros(len(X)) + model.intercept_[0]
        seen = set()
        for one in found:
            chosen = [columns[v][i] for v, i in zip(one.views, one.columns, strict=True)]
            assert (one.views, one.columns) not in seen
            seen.add((one.views, one.columns))
            score += one.weight * np.prod(X[:, chosen], axis=1)
        # the product of the bias rows is in no interaction
        nothing = X * 0.0
        constant = model.predict(nothing)[0] - y.mean() - y.std() * model.intercept_[0]
        np.testing.assert_allclose(
            y.mean() + y.std() * score + constant, model.predict(X), rtol=1e-9
        )


def test_the_strongest_interactions_of_each_order_come_first():
    X, y = numbers(600)
    model = MultiViewMachineRegressor(WIDTHS, n_factors=4, random_state=0).fit(X, y)
    found = model.interactions(top=2)
    assert [len(one.views) for one in found] == [1, 1, 2, 2, 3, 3]
    # the planted ones; three columns of view1 come after those of view0
    assert (found[0].views, found[0].columns) == (("view2",), (1,))
    assert (found[2].views, found[2].columns) == (("view0", "view1"), (0, 1))
    assert found[2].weight * y.std() == pytest.approx(300, rel=0.1)
    assert abs(found[2].weight) > abs(found[3].weight)


def test_the_search_among_many_columns_finds_the_strongest():
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 3)) for n in (7, 5, 6)]
    constant = rng.normal(size=3)
    weights = {
        places: sum(constant * np.prod([A[i] for A, i in zip(parts, places, strict=True)], axis=0))
        for places in itertools.product(*(range(len(A)) for A in parts))
    }
    expected = sorted(weights.items(), key=lambda one: -abs(one[1]))[:20]
    for (places, weight), (right, value) in zip(
        strongest(parts, constant, 20, [False] * 3), expected, strict=True
    ):
        assert (places, weight) == (right, pytest.approx(value))
    wide = [np.vstack([A, 0.1 * rng.normal(size=(3000, 3))]) for A in parts]
    found = strongest(wide, constant, 5, [False] * 3)
    assert [places for places, _ in found] == [places for places, _ in expected[:5]]


def test_interactions_of_classes_are_labeled():
    X, y = numbers()
    model = MultiViewMachineClassifier(WIDTHS, random_state=0).fit(X, np.digitize(y, [4900, 5100]))
    found = model.interactions(top=1000)
    assert {one.label for one in found} == {0, 1, 2}
    assert len(found) == 3 * (4 * 3 * 5 - 1)
    two = SupportTensorMachineClassifier(WIDTHS, random_state=0).fit(X, y > 5000)
    assert {(len(one.views), one.label) for one in two.interactions()} == {(3, None)}


def test_columns_that_never_came_are_in_no_interaction():
    X, y = numbers()
    X[:, 1] = 0.0
    for optimizer in ("adagrad", "sgd", "lbfgs"):
        model = MultiViewMachineRegressor(
            WIDTHS, optimizer=optimizer, learning_rate=0.01, random_state=0
        ).fit(X, y)
        own = [one.columns[0] for one in model.interactions(100) if one.views[0] == "view0"]
        assert set(own) == {0, 2}
        assert model.view_norms()["view0"][0] == 2
