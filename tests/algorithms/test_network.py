"""Networks against their equations: scores, slopes, Adam, and networks side by side."""

import numpy as np
import pytest

from crossview.algorithms import network as ours
from crossview.batch import read_only
from reference import network as reference

F, H = 4, 3


def as_double(net):
    return ours.Network(*(one.astype(np.float64) for one in net))


def make(K, seed=0):
    rng = np.random.RandomState(seed)
    net = as_double(ours.start(F, H, K, rng))
    return net._replace(W3=rng.normal(size=(H, K)), b1=rng.normal(size=H), b3=rng.normal(size=K))


def side_by_side(nets):
    return ours.Units(*map(read_only, ours.Units.of(nets)))


def make_data(n_classes, n=6):
    rng = np.random.RandomState(1)
    y = rng.normal(size=n) if n_classes == 0 else np.arange(n) % n_classes
    return ours.Data(rng.normal(size=(n, F)), y, rng.uniform(0.5, 2.0, n), n_classes)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_scores_and_losses_are_those_of_the_equations(n_classes):
    data = make_data(n_classes)
    net = make(data.n_scores)
    s = ours.scores(data.X, net)
    expected = [reference.scores(x, net) for x in data.X]
    np.testing.assert_allclose(s, expected, atol=1e-12)
    losses = [reference.loss(a, y, n_classes) for a, y in zip(expected, data.y, strict=True)]
    np.testing.assert_allclose(ours.losses(s, data.y, n_classes), losses, atol=1e-12)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_slopes_are_those_of_small_differences(n_classes):
    data, rng = make_data(n_classes), np.random.RandomState(2)
    net = make(data.n_scores)
    masks = [np.where(rng.random_sample((6, H)) < 0.7, 1.0 / 0.7, 0.0) for _ in range(2)]

    def mean_loss():
        found = 0.0
        for i, x in enumerate(data.X):
            s = reference.scores(x, net, [mask[i] for mask in masks])
            found += data.h[i] * reference.loss(s, data.y[i], n_classes) / len(data.y)
        return found

    slopes = ours.gradients(data, net, masks)
    for theta, slope in zip(net, slopes, strict=True):
        for at in np.ndindex(theta.shape):
            kept, size = theta[at], 1e-6
            theta[at] = kept + size
            above = mean_loss()
            theta[at] = kept - size
            below = mean_loss()
            theta[at] = kept
            assert slope[at] == pytest.approx((above - below) / (2.0 * size), abs=1e-8)


def test_adam_is_that_of_its_equations():
    rng = np.random.RandomState(0)
    slopes, rates = rng.normal(size=5), rng.uniform(0.01, 0.1, 5)
    net = ours.Network(*(one.astype(np.float32) for one in make(1)))
    adam, first = ours.Adam(net), float(net.b3[0])
    for expected, g, rate in zip(reference.adam(first, slopes, rates), slopes, rates, strict=True):
        adam.step(net, ours.Network(*(np.full_like(one, g) for one in net)), rate)
        assert net.b3[0] == pytest.approx(expected, abs=1e-6)


def test_ramps_are_linear_between_quantiles_and_constant_beyond():
    x = np.array([1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0, 64.0])
    k, z = ours.quantile_knots(x, 4)
    assert k.tolist() == [1.0, 2.0, 8.0, 32.0, 64.0]
    assert (np.diff(z) > 0.0).all()
    for value in (-5.0, 1.5, 2.0, 20.0, 64.0, 1e9):
        found = ours.ramps(np.array([[value]]), k[None, :-1], 1.0 / np.diff(k)[None])[0, 0]
        np.testing.assert_allclose(found, reference.ramps(value, k.tolist()))
        inside = float(np.interp(value, k, z))
        assert z[0] + found @ np.diff(z) == pytest.approx(inside)


@pytest.mark.parametrize("K", [1, 3])
def test_networks_side_by_side_are_their_mean(K):
    nets = [make(K, seed) for seed in range(3)]
    units = side_by_side(nets)
    X = make_data(2).X
    X[0] = 0.0
    found = np.zeros((len(X), K))
    ours.score_rows(read_only(X), units, np.empty(3 * H), np.empty((2, H)), found)
    np.testing.assert_allclose(found, np.mean([ours.scores(X, net) for net in nets], axis=0))


def test_scores_of_changed_features():
    units = side_by_side([make(2, seed) for seed in range(2)])
    X = make_data(2, n=3).X
    changes = ours.Changes(
        ptr=read_only(np.array([0, 1, 1, 3], dtype=np.uint64)),
        ends=read_only(np.array([0, 2, 3, 3], dtype=np.uint64)),
        feature=read_only(np.array([0, 3, 1], dtype=np.uint64)),
        more=read_only(np.array([0.5, -1.0, 2.0])),
    )
    found = np.zeros((3, 2))
    ours.score_changed(read_only(X), units, changes, np.empty((4, 2 * H)), found)
    changed = X[[0, 2, 2]]
    changed[0, [0, 3]] += [0.5, -1.0]
    changed[1, 1] += 2.0
    expected = np.zeros((3, 2))
    ours.score_rows(read_only(changed), units, np.empty(2 * H), np.empty((2, H)), expected)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_learning_ends_where_rows_held_out_have_no_lower_loss():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, F)).astype(np.float32)
    y = (X[:, 0] + 0.5 * rng.normal(size=300) > 0.0).astype(int)
    data = ours.Data(X, y, np.ones(300), 2)
    how = ours.Learning(16, 0.0, 0.02, 32, 200)
    some, others = np.arange(200), np.arange(200, 300)

    def loss(net):
        return ours.losses(ours.scores(X[others], net), y[others], 2).mean()

    kept = ours.learn(data, some, others, how, np.random.RandomState(0))
    whole = ours.learn(data, some, others[:0], how, np.random.RandomState(0))
    assert loss(kept) < 0.6 < loss(whole)  # 200 passes know the rows by heart
