"""Online Newton steps: a slow reference, recursive least squares, and what forgetting does."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

from crossview import OnlineNewtonClassifier, OnlineNewtonRegressor, merge
from crossview.algorithms.newton import MAX_INPUTS
from reference.newton import Newton


def mixed_rows(n=120, seed=0):
    """Three numbers, two categories of which one begins late, and two columns of rare values.

    Of the numbers one begins far above, and one far below its root mean square.
    """
    rng = np.random.default_rng(seed)
    X = np.zeros((n, 10))
    X[:, :3] = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1]
    X[0, :2] = 8.0, 1e-3
    X[np.arange(n), 3 + rng.integers(3, size=n)] = 1.0
    X[n // 2 :, 6] = 2.0
    X[:, 7:9] = rng.exponential(size=(n, 2)) * (rng.random((n, 2)) < 0.1)
    X[5] = 0.0
    return X, rng


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("2", {}),
        ("2", {"full_columns": 4, "forgetting": 0.95, "initial_variance": 0.5}),
        ("3", {"fourier_features": 6, "forgetting": 0.98}),
        ("3", {"fourier_features": 5, "columns": "numbers", "full_columns": 7}),
        ("2", {"columns": "numbers", "fit_intercept": False, "forgetting": 0.9}),
        ("numbers", {"forgetting": 0.97, "full_columns": 0}),
        ("numbers", {"fourier_features": 4, "forgetting": 1.0}),
    ],
)
def test_it_equals_its_slow_reference(kind, options, container):
    X, rng = mixed_rows()
    signal = X[:, 0] + 0.3 * X[:, 1] * X[:, 0] + X[:, 3] + 0.3 * rng.normal(size=len(X))
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=len(X))
    weights[0] = 1.0
    options = {"forgetting": 0.999, "initial_variance": 1.0, "random_state": 0, **options}
    if kind == "numbers":
        model = OnlineNewtonRegressor(**options)
        y = signal
        seen = np.cumsum(weights)
        mean = np.cumsum(weights * y) / seen
        deviation = np.sqrt(np.maximum(np.cumsum(weights * y * y) / seen - mean**2, 0.0))
        found = model.score_then_learn(container(X), y, sample_weight=weights)
        deviation[deviation < 1e-9] = 1.0
        targets = (y - mean) / deviation
        before = np.append(0.0, mean[:-1]), np.append(1.0, deviation[:-1])
    else:
        model = OnlineNewtonClassifier(calibration="none", **options)
        y = np.digitize(signal, [0.0, 0.8][: int(kind) - 1])
        found = model.score_then_learn(container(X), y, np.unique(y), sample_weight=weights)
        targets, before = y, (0.0, 1.0)
    state = model.get_state()
    slow = Newton(
        X.shape[1],
        state["W"].shape[1],
        kind,
        forgetting=options["forgetting"],
        variance=options["initial_variance"],
        places=model.full_columns,
        fourier=(state["omega"], state["phase"]),
        numbers=model.columns == "numbers",
        bias=model.fit_intercept,
    )
    expected = np.array([slow.learn(*row) for row in zip(X, targets, weights, strict=True)])
    expected = expected[:, 0] if expected.shape[1] == 1 else expected
    np.testing.assert_allclose(found, before[0] + before[1] * expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.coef_, slow.W[1 + slow.F :].T, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.intercept_, slow.W[0], rtol=1e-7, atol=1e-9)
    assert model.fourier_columns_.tolist() == sorted(slow.inputs or [] if slow.F else [])


def test_without_forgetting_it_is_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(200, 6))  # whose root mean squares are 1 at once
    y = X @ rng.normal(size=6) + rng.normal(size=200)
    y = (y - y.mean()) / y.std()
    model = OnlineNewtonRegressor(forgetting=1.0, initial_variance=0.2, shuffle=False)
    model.fit(X, y)
    Z = np.column_stack([np.ones(200), X])
    expected = Ridge(alpha=5.0, fit_intercept=False).fit(Z, y).coef_
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), expected, rtol=1e-9)
    P = model.get_state()["P"]
    np.testing.assert_allclose(P, np.linalg.inv(Z.T @ Z + 5.0 * np.eye(7)), rtol=1e-9)


def test_it_is_ridge_regression_too_where_the_units_of_columns_have_grown():
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(200, 4)) * np.geomspace(1e-3, 10.0, 200)[:, None]
    y = X @ rng.normal(size=4) + rng.normal(size=200)
    y = (y - y.mean()) / y.std()
    model = OnlineNewtonRegressor(forgetting=1.0, initial_variance=0.2, shuffle=False)
    model.fit(X, y)
    state = model.get_state()
    unit = state["scale"]
    now = np.sqrt((X**2).mean(axis=0))
    assert (unit[1:] <= now).all()
    assert (now**2 < 1.5 * unit[1:] ** 2).all()
    Z = np.column_stack([np.ones(200), X]) / unit
    expected = Ridge(alpha=5.0, fit_intercept=False).fit(Z, y).coef_
    found = np.append(model.intercept_, model.coef_) * unit
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    np.testing.assert_allclose(
        state["P"], np.linalg.inv(Z.T @ Z + 5.0 * np.eye(5)), rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("full_columns", [0, 100])
@pytest.mark.parametrize("first", [1e-1, 1e-4, 1e-100])
@pytest.mark.parametrize("forgetting", [0.95, 1.0])
def test_a_first_value_near_0_does_no_harm(first, full_columns, forgetting):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.1 * rng.normal(size=300)
    X[:2, 1] = first
    y[:2] = 3.0, -3.0
    options = {"shuffle": False, "full_columns": full_columns, "forgetting": forgetting}
    assert OnlineNewtonRegressor(**options).fit(X, y).score(X[2:], y[2:]) > 0.9
    for labels in (y > 0, np.digitize(y, [-0.7, 0.7])):
        model = OnlineNewtonClassifier(**options).fit(X, labels)
        assert model.score(X[2:], labels[2:]) > 0.85


@pytest.mark.parametrize("full_columns", [0, 100])
def test_models_merge_where_one_has_values_near_0_alone(full_columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[200:, 1] *= 1e-5
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.1 * rng.normal(size=300)
    options = {"shuffle": False, "full_columns": full_columns}
    models = [
        OnlineNewtonRegressor(**options).fit(X[part], y[part])
        for part in (slice(0, 100), slice(100, 200), slice(200, 300))
    ]
    merged = merge(models)
    assert merged.score(X[:200], y[:200]) > 0.8
    assert merged.partial_fit(X[:200], y[:200]).score(X[:200], y[:200]) > 0.9


@pytest.mark.parametrize("copied", [False, True])
def test_it_follows_a_change_also_where_columns_come_together(copied):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    sign = np.where(np.arange(3000) < 1500, 1.0, -1.0)
    y = sign * X[:, 0] + 0.3 * rng.normal(size=3000)
    X = np.column_stack([X, X[:, 0]]) if copied else X

    def last_error(forgetting):
        predicted = OnlineNewtonRegressor(forgetting=forgetting).score_then_learn(X, y)
        return np.sqrt(((predicted - y)[2000:] ** 2).mean())

    assert last_error(0.99) < 0.35
    assert last_error(1.0) > 0.8


def test_the_covariance_stays_symmetric_and_positive_over_many_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    X = np.column_stack([X, X[:, :3] @ rng.normal(size=(3, 3))])  # rank 5 of 8
    y = (X[:, 0] > 0).astype(int)
    model = OnlineNewtonClassifier(forgetting=0.9).partial_fit(X, y, classes=[0, 1])
    P = model.get_state()["P"]
    np.testing.assert_array_equal(P, P.T)
    assert np.linalg.eigvalsh(P).min() > 0.0
    assert P.diagonal().max() < 1.2
    assert model.score(X, y) > 0.98


def test_fourier_features_learn_what_no_line_does():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    y = (np.linalg.norm(X, axis=1) > 1.2).astype(int)
    correct = {}
    for n in (0, 100):
        model = OnlineNewtonClassifier(fourier_features=n, forgetting=1.0, random_state=0)
        scores = model.score_then_learn(X, y, classes=[0, 1])
        correct[n] = ((scores > 0) == y)[1000:].mean()
    assert correct[0] < 0.65 < 0.95 < correct[100]


def test_the_unit_of_a_column_changes_nothing():
    X, rng = mixed_rows()
    y = (X[:, 0] > 0).astype(int)
    unit = 2.0 ** rng.integers(-20, 20, size=X.shape[1])
    options = {"fourier_features": 5, "random_state": 0}
    one, other = (
        OnlineNewtonClassifier(**options).score_then_learn(rows, y, classes=[0, 1])
        for rows in (X, X * unit)
    )
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_numbers_alone_are_learned_where_they_are_not_too_many():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=100)

    def learned(X, **options):
        model = OnlineNewtonClassifier(columns="numbers", **options)
        return np.flatnonzero(model.partial_fit(X, y, classes=[0, 1]).coef_)

    numbers = rng.normal(size=(100, 3))
    categories = np.eye(4)[rng.integers(4, size=100)]
    assert learned(np.hstack([categories, numbers])).tolist() == [4, 5, 6]
    assert not len(learned(np.hstack([categories, 1.0 + abs(numbers)])))  # no column has both signs
    assert len(learned(rng.normal(size=(100, MAX_INPUTS + 1)))) == MAX_INPUTS + 1
