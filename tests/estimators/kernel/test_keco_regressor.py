"""KeCo for numbers: the steps, the minimum, streams, missing labels."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import crossview
from crossview import InputError, KeCoRegressor
from crossview.algorithms.kernel.explicit import Features, learn_explicit
from crossview.algorithms.kernel.gram import Draws, learn_from_gram
from crossview.algorithms.kernel.quota import unlimited
from crossview.algorithms.kernel.step import Examples, Settings, init_memory
from crossview.batch import read_only
from kernel_data import KERNELS, WIDTHS, as_rows, as_table, problem, row_lists
from reference import keco as reference

LAM = [0.05, 0.2, 0.01]  # of each view


def numbers(n=60, labeled=0.5, seed=0, missing=True):
    """Views, numbers of some rows (NaN: none), weights, and which views a row has."""
    X, _, truth, present = problem(n=n, seed=seed, missing=missing)
    rng = np.random.default_rng(seed)
    y = X[0][:, 0] + truth * X[1][:, 1] + rng.normal(size=n)
    y[rng.random(n) > labeled] = np.nan
    return X, y, rng.integers(1, 4, n).astype(float), present


@pytest.mark.parametrize("mu", [0.0, 0.7])
@pytest.mark.parametrize("name", ["linear", "rbf"])
def test_steps_equal_the_slow_reference(name, mu):
    X, y, weight, present = numbers(40)
    kernel, draws = KERNELS[name], np.random.default_rng(1).integers(40, size=300)
    beta = reference.learn_squared(
        row_lists(X), y, draws, LAM, mu, kernel, weight=weight, present=present
    )
    expected = np.array([[own.get(i, 0.0) for i in range(40)] for own in beta])
    settings = Settings(read_only(np.array(LAM)), 0.0, True, False, True, mu)
    examples = Examples(read_only(y[:, None]), read_only(weight), read_only(present))
    gram = np.array([[[kernel(a, b) for b in x] for a in x] for x in X])
    memory, steps = init_memory(3, 1, 40), read_only(draws)
    learn_from_gram(gram, Draws(steps, steps), examples, memory, settings, 0)
    assert_allclose(memory.beta[:, 0], expected, atol=1e-9)
    assert np.abs(expected[:, np.isnan(y)]).max() > 0.01 or mu == 0.0
    if name == "linear":
        rows, W = as_rows(X, present), np.zeros((sum(WIDTHS), 1))
        features = Features(rows, W, np.zeros((3, 1)), (W[:0], np.zeros((0, 1))))
        stream = unlimited(len(draws), 1)
        learn_explicit(features, steps, examples, init_memory(3, 1, 40), settings, stream, 0)
        blank = np.hstack([x * present[:, [v]] for v, x in enumerate(X)])
        for v, (lo, hi) in enumerate(itertools.pairwise(rows.ptr.astype(int))):
            assert_allclose(W[lo:hi, 0], expected[v] @ blank[:, lo:hi], atol=1e-9)


@pytest.mark.parametrize("mu", [0.0, 2.0])
def test_the_steps_converge_to_the_minimum(mu):
    """Co-regularized least squares, by one linear system."""
    X, y, _, present = numbers(80, missing=False)
    table, lam = as_table(X, present), [0.1, 0.05, 0.2]
    each = {f"view{v}": value for v, value in enumerate(lam)}
    model = KeCoRegressor(WIDTHS, kernel="linear", lam=each, disagreement=mu, random_state=0)
    model.set_params(n_iterations=50_000).fit(table, y)
    known = y[~np.isnan(y)]
    target = (y - known.mean()) / known.std()
    grams = [x @ x.T + 1.0 for x in X]  # the constant is the intercept
    least = reference.squared_minimum(grams, target, lam, mu)
    value = reference.squared_objective(least, grams, target, lam, mu)
    scores = (model.view_scores(table) - known.mean()) / known.std()
    own = [np.linalg.pinv(K, hermitian=True) @ s for K, s in zip(grams, scores.T, strict=True)]
    reached = reference.squared_objective(own, grams, target, lam, mu)
    assert value <= reached < 1.002 * value
    # and it is a minimum
    rng = np.random.default_rng(0)
    for _ in range(20):
        other = least + 0.01 * rng.normal(size=least.shape)
        assert reference.squared_objective(other, grams, target, lam, mu) > value


def test_unlabeled_rows_help_where_views_share_what_predicts_and_not_without_disagreement():
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(400, 2))
        own = [rng.normal(size=(400, 5)) @ rng.normal(size=(5, 20)) for _ in range(2)]
        X = np.hstack([z @ rng.normal(size=(2, 20)) + noise for noise in own])
        some = np.where(np.arange(400) < 20, z[:, 0], np.nan)
        model = KeCoRegressor(
            [20, 20], kernel="linear", lam=1e-2, disagreement=1.0, random_state=seed
        )
        alone = clone(model).set_params(disagreement=0.0)
        rmse = [
            np.sqrt(np.mean((one.fit(X, some).predict(X) - z[:, 0]) ** 2)) for one in (model, alone)
        ]
        gains.append(rmse[1] - rmse[0])
        labeled = clone(alone).fit(X[:20], some[:20])
        assert_array_equal(labeled.predict(X), alone.predict(X))
    assert np.mean(gains) > 3.0 * np.std(gains) / np.sqrt(5)


@pytest.mark.parametrize("options", [{}, {"kernel": "linear"}, {"budget": 15}], ids=str)
def test_a_stream_in_pieces_is_one_stream_and_goes_on_from_a_file(options, tmp_path):
    X, y, weight, present = numbers(90)
    table = as_table(X, present)
    make = lambda: KeCoRegressor(WIDTHS, gamma=0.5, lam=0.01, **options)  # noqa: E731
    whole = make().partial_fit(table, y, weight)
    pieces, before = make(), []
    for lo in range(0, 90, 7):
        part = slice(lo, lo + 7)
        before.append(pieces.score_then_learn(table[part], y[part], weight[part]))
    single = make()
    for row, label, w in zip(table, y, weight, strict=True):
        single.learn_one(row, None if np.isnan(label) else label, w)
    for other in (pieces, single):
        for name, value in whole.get_state().items():
            assert_array_equal(value, other.get_state()[name], err_msg=name)
    first = make().partial_fit(table[:50], y[:50], weight[:50])
    assert_allclose(np.concatenate(before)[50], first.predict(table[50:51])[0])
    crossview.save(first, tmp_path / "m.safetensors")
    again = crossview.load(tmp_path / "m.safetensors").partial_fit(table[50:], y[50:], weight[50:])
    assert_array_equal(again.predict(table), whole.predict(table))
    assert_allclose(np.nanmean(whole.view_scores(table), axis=1), whole.predict(table))


def test_a_stream_learns_as_many_unlabeled_rows_as_it_may():
    X, y, _, present = numbers(200, labeled=0.2)
    table = as_table(X, present)
    steps = [
        KeCoRegressor(WIDTHS, unlabeled_ratio=ratio).partial_fit(table, y).n_steps_
        for ratio in (0.0, 1.0, np.inf)
    ]
    n = int((~np.isnan(y)).sum())
    assert steps[0] == n
    assert 1.5 * n < steps[1] <= 2 * n
    assert steps[2] == 200


def test_every_form_of_a_missing_number_is_the_same():
    X, y, _, present = numbers()
    table = as_table(X, present)
    model = KeCoRegressor(WIDTHS, n_iterations=50, random_state=0)
    expected = model.fit(table, y).predict(table)
    missing = np.isnan(y)
    for given in (
        [None if m else float(v) for m, v in zip(missing, y, strict=True)],
        pd.array(np.where(missing, pd.NA, y), dtype="Float64"),
        np.where(missing, None, y),
    ):
        assert_array_equal(model.fit(table, given).predict(table), expected)
    with pytest.raises(InputError, match="no target"):
        model.fit(table, np.full(60, np.nan))
    with pytest.raises(InputError, match=r"row 3: the target is missing \(NaN or infinity\)"):
        model.fit(table, np.r_[y[:3], np.inf, y[4:]])
    with pytest.raises(ValueError, match="disagreement"):
        clone(model).set_params(disagreement=-1.0).fit(table, y)
    with pytest.raises(InputError, match="schedule='stream'"):
        clone(model).set_params(budget=9).fit(table, y)
    with pytest.warns(UserWarning, match="two views"):
        KeCoRegressor(n_iterations=9).fit(X[0], y)
