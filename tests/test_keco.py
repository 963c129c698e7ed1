"""KeCo and Pegasos: the loops against the paper's algorithm, and what the estimators promise."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import crossview
from crossview import InputError, KeCoClassifier, KernelSearchCV, MultiView, PegasosClassifier
from crossview.algorithms import keco
from crossview.batch import make_rows, read_only
from crossview.views import ViewLayout
from reference import keco as reference

KERNELS = {
    "linear": lambda a, b: float(a @ b),
    "rbf": lambda a, b: float(np.exp(-0.5 * np.sum((a - b) ** 2))),
    "poly": lambda a, b: float((0.5 * (a @ b) + 1.0) ** 3),
}
WIDTHS = [3, 2, 4]


def problem(n=60, widths=WIDTHS, labeled=0.4, seed=0, missing=False):
    """Views of rows of two classes, labels of some, and which views there are."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], size=n)
    X = [np.round(rng.normal(size=(n, d)) + 0.7 * y[:, None], 3) for d in widths]
    X = [x * (rng.random(x.shape) < 0.8) for x in X]
    known = np.where(rng.random(n) < labeled, y, 0)
    known[:2] = y[:2] = [-1, 1]
    present = np.ones((n, len(widths)), dtype=bool)
    if missing:
        present = rng.random(present.shape) < 0.7
        present[:, 0] |= ~present.any(axis=1)
    return X, known, y, present


def as_table(X, present):
    return np.hstack([np.where(present[:, [n]], x, np.nan) for n, x in enumerate(X)])


def rows_of(X, present):
    layout = ViewLayout([f"v{n}" for n in range(len(X))], [x.shape[1] for x in X])
    return make_rows(np.hstack(X), layout, present)


def run(X, y, draws, lam, name, present, include_self=False, supervised=False):
    """The Gram form, from kernel values by the reference's kernels."""
    n = len(y)
    kernel = KERNELS[name]
    gram = np.array([[[kernel(a, b) for b in x] for a in x] for x in X])
    memory = keco.nothing_learned(len(X), 1, n)
    draws, labels = read_only(draws), read_only(y[:, None].astype(float))
    t = keco.learn_from_gram(
        gram,
        draws,
        draws,
        labels,
        read_only(np.ones(n)),
        read_only(present),
        memory,
        0,
        lam,
        include_self,
        supervised,
    )  # fmt: offset
    assert t == len(draws)
    return memory


def assert_same(memory, alpha, z, n):
    for v, (counts, signs) in enumerate(zip(alpha, z, strict=True)):
        expected = np.array([counts.get(j, 0) for j in range(n)])
        assert_array_equal(memory.alpha[v, 0], expected)
        assert expected.any()
        assert_array_equal(
            memory.beta[v, 0], [counts.get(j, 0) * signs.get(j, 0) for j in range(n)]
        )


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize("schedule", ["half-labeled", "released", "uniform"])
@pytest.mark.parametrize(("widths", "missing"), [(WIDTHS, False), (WIDTHS, True), ([3, 4], False)])
def test_counts_equal_the_slow_reference(name, include_self, supervised, schedule, widths, missing):
    X, y, _, present = problem(n=40, widths=widths, missing=missing)
    rng = np.random.RandomState(3)
    draws = keco.schedule(schedule, np.flatnonzero(y), np.flatnonzero(y == 0), 200, rng)
    rows = [[x[i] for x in X] for i in range(len(y))]
    lam = 0.05
    memory = run(X, y, draws, lam, name, present, include_self, supervised)
    alpha, z = reference.learn(
        rows,
        y,
        draws,
        lam,
        KERNELS[name],
        include_self=include_self,
        supervised=supervised,
        present=present,
    )  # fmt: offset
    assert_same(memory, alpha, z, len(y))


@pytest.mark.parametrize("include_self", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_the_linear_kernel_equals_the_explicit_form(include_self, container):
    X, y, _, present = problem(missing=True)
    rng = np.random.RandomState(0)
    draws = keco.schedule("half-labeled", np.flatnonzero(y), np.flatnonzero(y == 0), 400, rng)
    expected = run(X, y, draws, 0.05, "linear", present, include_self)
    layout = ViewLayout(["a", "b", "c"], WIDTHS)
    rows = make_rows(container(np.hstack(X)), layout, present)
    memory = keco.nothing_learned(3, 1, len(y))
    W = np.zeros((sum(WIDTHS), 1))
    keco.learn_explicit(
        rows,
        read_only(draws),
        read_only(draws),
        read_only(y[:, None].astype(float)),
        read_only(np.ones(len(y))),
        memory,
        W,
        0,
        0.05,
        include_self,
        False,
        np.zeros((len(draws), 1)),
        np.zeros(2),
        np.inf,
    )  # fmt: offset
    assert_array_equal(memory.alpha, expected.alpha)
    blank = np.hstack([x * present[:, [v]] for v, x in enumerate(X)])
    for v, (lo, hi) in enumerate(itertools.pairwise(layout.ptr)):
        assert_allclose(W[lo:hi, 0], expected.beta[v, 0] @ blank[:, lo:hi], atol=1e-10)


def test_an_unlabeled_row_keeps_its_label_until_it_is_drawn_again():
    # one labeled row at 1; view 1 of the unlabeled row changes sides between its draws
    X = [np.array([[1.0], [1.0], [1.0]]), np.array([[1.0], [1.0], [-3.0]])]
    y = np.array([1, 0, -1])
    first = run(X, y, np.array([0, 1]), 0.1, "linear", np.empty((0, 2), bool))
    assert_array_equal(first.beta[:, 0, 1] >= 0.0, [True, True])
    later = run(X, y, np.array([0, 1, 2, 2, 2, 1]), 0.1, "linear", np.empty((0, 2), bool))
    assert later.beta[1, 0, 1] <= 0.0 <= first.beta[1, 0, 1]


def test_a_row_on_which_nobody_says_anything_is_counted_and_says_nothing():
    X, y, _, present = problem(n=10)
    y[:] = 0
    memory = run(X, y, np.array([4, 4, 5]), 0.1, "rbf", present)
    assert_array_equal(memory.alpha[:, 0, 4], 2.0)
    assert not memory.beta.any()


# --- estimators -------------------------------------------------------------------------


def labels_of(y):
    return np.where(y == 0, np.nan, y).astype(float)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("model", [KeCoClassifier, PegasosClassifier])
def test_scores_are_those_of_the_reference(kernel, model):
    X, y, _, present = problem(missing=True)
    learner = model(
        WIDTHS, kernel=kernel, gamma=0.5, lam=0.05, n_iterations=200, random_state=5
    ).fit(as_table(X, present), labels_of(y))
    rng = np.random.RandomState(5)
    draws = keco.schedule("half-labeled", np.flatnonzero(y), np.flatnonzero(y == 0), 200, rng)
    rows = [[x[i] for x in X] for i in range(len(y))]
    alpha, z = reference.learn(
        rows,
        y,
        draws,
        0.05,
        KERNELS[kernel],
        supervised=model is PegasosClassifier,
        present=present,
    )  # fmt: offset
    new, _, _, there = problem(n=20, seed=7, missing=True)
    expected = [
        reference.score([x[i] for x in new], rows, alpha, z, 0.05, 200, KERNELS[kernel], there[i])
        for i in range(20)
    ]
    assert_allclose(learner.decision_function(as_table(new, there)), expected, atol=1e-9)
    own = learner.view_scores(as_table(new, there))
    assert_array_equal(np.isnan(own), ~there)
    assert_allclose(np.nanmean(own, axis=1), expected, atol=1e-9)
    if kernel != "linear":
        assert learner.n_support_ == {
            f"view{v}": sum(1 for j in alpha[v] if z[v][j]) for v in range(3)
        }


def test_without_unlabeled_rows_it_is_pegasos():
    X, _, y, present = problem()
    table = as_table(X, present)
    for views in (WIDTHS, None):
        for kernel in ("rbf", "linear"):
            given = {"kernel": kernel, "random_state": 0, "lam": 1e-2}
            one = KeCoClassifier(views, **given).fit(table, y)
            other = PegasosClassifier(views, **given).fit(table, y)
            assert_array_equal(one.decision_function(table), other.decision_function(table))


def test_one_view_is_pegasos_and_says_so():
    X, y, _, present = problem()
    table = as_table(X, present)
    with pytest.warns(UserWarning, match="random_views"):
        one = KeCoClassifier(random_state=0).fit(table, labels_of(y))
    other = PegasosClassifier(random_state=0).fit(table, labels_of(y))
    assert_array_equal(one.decision_function(table), other.decision_function(table))


def test_pegasos_is_that_of_its_paper():
    """Figure 1 of Shalev-Shwartz et al.: w <- (1 - 1/t) w + [y w·x < 1] y x / (λ t)."""
    X, _, y, present = problem()
    table = as_table(X, present)
    lam, T = 0.05, 300
    model = PegasosClassifier(
        kernel="linear", lam=lam, n_iterations=T, include_self=True, random_state=1
    ).fit(table, y)
    rng = np.random.RandomState(1)
    w = np.zeros(table.shape[1])
    for t, i in enumerate(keco.schedule("uniform", np.arange(60), np.arange(0), T, rng), start=1):
        # the score has the factor of this step, as in Algorithm 1 of KeCo and figure 3
        miss = y[i] * (w @ table[i]) * (t - 1) / t < 1.0
        w = (1.0 - 1.0 / t) * w + miss * y[i] * table[i] / (lam * t)
    assert_allclose(model.coef_[0], w, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"budget": 1000, "maintenance": "merging"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_in_pieces_is_one_stream(options, classes):
    X, y, truth, present = problem(n=90, missing=True)
    table = as_table(X, present)
    y = labels_of(y) if classes == 2 else np.where(y == 0, np.nan, truth + (X[0][:, 0] > 1))
    known = np.unique(y[~np.isnan(y)])
    assert len(known) >= classes
    make = lambda: KeCoClassifier(WIDTHS, gamma=0.5, lam=1e-2, **options)  # noqa: E731
    whole = make().partial_fit(table, y, classes=known)
    pieces, single = make(), make()
    scores = []
    for lo in range(0, 90, 7):
        scores.append(pieces.score_then_learn(table[lo : lo + 7], y[lo : lo + 7], classes=known))
    for row, label in zip(table, y, strict=True):
        single.partial_fit(row[None], [label], classes=known)
    stream = make().set_params(schedule="stream").fit(table, y)
    for other in (pieces, single, stream):
        for name, value in whole._get_state().items():
            assert_array_equal(value, other._get_state()[name], err_msg=name)
    # what a row's score was before it was learned is what the model would have said
    before = make().partial_fit(table[:50], y[:50], classes=known)
    assert_array_equal(np.concatenate(scores)[50], before.decision_function(table[50:51])[0])


@pytest.mark.parametrize("maintenance", ["removal", "projection", "merging"])
def test_a_large_budget_changes_nothing_and_a_small_one_is_kept(maintenance):
    X, y, _, present = problem(n=200, missing=True)
    table, labels = as_table(X, present), labels_of(y)
    make = lambda **more: KeCoClassifier(  # noqa: E731
        WIDTHS,
        gamma=0.5,
        lam=1e-2,
        schedule="stream",
        maintenance=maintenance,
        unlabeled_ratio=np.inf,
        **more,
    )
    free = make().fit(table, labels)
    large = make(budget=200).fit(table, labels)
    assert_array_equal(free.decision_function(table), large.decision_function(table))
    small = make(budget=10).fit(table, labels)
    assert all(n <= 10 for n in small.n_support_.values())
    assert max(free.n_support_.values()) > 40
    pieces = make(budget=10)
    for lo in range(0, 200, 9):
        pieces.partial_fit(table[lo : lo + 9], labels[lo : lo + 9], classes=[-1, 1])
    assert_array_equal(small.decision_function(table), pieces.decision_function(table))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_of_a_stream_a_share_of_the_unlabeled_rows_is_learned(kernel):
    X, y, _, present = problem(n=120, labeled=0.2)
    table = as_table(X, present)
    given = {"kernel": kernel, "gamma": 0.5, "lam": 1e-2, "schedule": "stream"}
    few = KeCoClassifier(WIDTHS, unlabeled_ratio=0.5, **given).fit(table, labels_of(y))
    taken, turns = [], [0, 0]
    for i, label in enumerate(y):
        if label == 0 and turns[1] + 1 > 0.5 * turns[0]:
            continue
        turns[int(label == 0)] += 1
        taken.append(i)
    assert few.n_steps_ == len(taken) < 120
    whole = KeCoClassifier(WIDTHS, unlabeled_ratio=np.inf, **given)
    whole.fit(table[taken], labels_of(y)[taken])
    assert_array_equal(whole.decision_function(table), few.decision_function(table))
    none = KeCoClassifier(WIDTHS, unlabeled_ratio=0.0, **given).fit(table, labels_of(y))
    pegasos = PegasosClassifier(WIDTHS, **given).fit(table[y != 0], y[y != 0])
    assert_array_equal(none.decision_function(table), pegasos.decision_function(table))


def test_a_stream_equals_the_slow_reference():
    X, y, _, present = problem(n=80, missing=True)
    model = KeCoClassifier(
        WIDTHS, gamma=0.5, lam=1e-2, schedule="stream", unlabeled_ratio=np.inf
    ).fit(as_table(X, present), labels_of(y))
    rows = [[x[i] for x in X] for i in range(80)]
    alpha, z = reference.learn(rows, y, range(80), 1e-2, KERNELS["rbf"], present=present)
    for v, beta in enumerate(model.dual_coef_.values()):
        assert beta[0].tolist() == [z[v][j] for j in alpha[v] if z[v][j]]


def pool(n=12, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    return points, rbf_kernel(points, gamma=0.5), rng.choice([-1.0, 1.0], size=(2, n))


def squared_distance(beta, gram, other_beta, other_gram, between):
    return float(
        sum(
            b @ gram @ b + o @ other_gram @ o - 2.0 * b @ between @ o
            for b, o in zip(beta, other_beta, strict=True)
        )
    )


def test_projection_is_the_closest_that_the_others_can_come():
    _, gram, beta = pool()
    before = beta.copy()
    r = keco.smallest(beta, gram, 12)
    keco.project(beta, gram, 12)
    assert not beta[:, r].any()
    lost = squared_distance(before, gram, beta, gram, gram)
    others = [k for k in range(12) if k != r]
    residual = 1.0 - gram[r, others] @ np.linalg.solve(
        gram[np.ix_(others, others)], gram[others, r]
    )
    assert_allclose(lost, (before[:, r] ** 2).sum() * residual, rtol=1e-4)


def test_merging_loses_least_of_all_points_between_two():
    points, gram, beta = pool()
    before, exact = beta.copy(), gram.copy()
    vectors, merged = points.copy(), np.zeros(12, dtype=bool)
    a = keco.smallest(beta, gram, 12)
    keco.merge(beta, gram, 12, vectors, 0.5, merged)
    assert_allclose(gram[merged], rbf_kernel(vectors, gamma=0.5)[merged], rtol=1e-12)
    between = rbf_kernel(points, vectors, gamma=0.5)
    lost = squared_distance(before, exact, beta, gram, between)
    # no point between this support and any other does better
    for b in range(12):
        if b == a:
            continue
        for h in np.linspace(0.0, 1.0, 21):
            z = h * points[[a]] + (1.0 - h) * points[[b]]
            ka, kb = rbf_kernel(z, points[[a, b]], gamma=0.5)[0]
            pair = before[:, [a, b]]
            left = (pair @ [ka, kb]) ** 2
            whole = pair[:, 0] ** 2 + pair[:, 1] ** 2 + 2 * pair[:, 0] * pair[:, 1] * exact[a, b]
            assert lost <= (whole - left).sum() + 1e-3


def test_kernels_of_others_give_the_same():
    X, y, _, present = problem()
    table, labels = as_table(X, present), labels_of(y)
    given = {"lam": 1e-2, "n_iterations": 200, "random_state": 0}
    new = as_table(*problem(n=15, seed=9)[::3])
    for name, gamma in (("rbf", 0.3), ("poly", 0.3)):
        model = KeCoClassifier(WIDTHS, kernel=name, gamma=gamma, **given).fit(table, labels)
        function = rbf_kernel if name == "rbf" else polynomial_kernel
        own = KeCoClassifier(
            WIDTHS, kernel=lambda a, b, f=function, g=gamma: f(a, b, gamma=g), **given
        ).fit(table, labels)
        assert_allclose(own.decision_function(new), model.decision_function(new), atol=1e-9)
        cuts = np.cumsum([0, *WIDTHS])
        blocks = [slice(lo, hi) for lo, hi in itertools.pairwise(cuts)]
        known = np.hstack([function(table[:, b], table[:, b], gamma=gamma) for b in blocks])
        asked = np.hstack([function(new[:, b], table[:, b], gamma=gamma) for b in blocks])
        pre = KeCoClassifier([60] * 3, kernel="precomputed", **given).fit(known, labels)
        assert_allclose(pre.decision_function(asked), model.decision_function(new), atol=1e-9)


def test_a_small_cache_changes_nothing():
    X, y, _, present = problem(n=200, missing=True)
    table, labels = as_table(X, present), labels_of(y)
    model = KeCoClassifier(WIDTHS, lam=1e-2, random_state=0)
    a = model.fit(table, labels).decision_function(table)
    b = clone(model).set_params(cache_size=0.02).fit(table, labels).decision_function(table)
    assert_array_equal(a, b)


@pytest.mark.parametrize("approximation", ["fourier", "nystroem"])
def test_an_approximation_comes_close_to_its_kernel(approximation):
    X, y, _, present = problem(n=150, missing=True)
    table, labels = as_table(X, present), labels_of(y)
    given = {"gamma": 0.2, "lam": 0.05, "schedule": "stream", "random_state": 0}
    exact = KeCoClassifier(WIDTHS, **given).fit(table, labels)
    many = 3000 if approximation == "fourier" else 150
    near = KeCoClassifier(WIDTHS, approximation=approximation, n_components=many, **given)
    near.fit(table, labels)
    expected = exact.decision_function(table)
    found = near.decision_function(table)
    assert np.corrcoef(expected, found)[0, 1] > 0.98
    pieces = clone(near)
    for lo in range(0, 150, 50):
        pieces.partial_fit(table[lo : lo + 50], labels[lo : lo + 50], classes=[-1, 1])
    if approximation == "fourier":  # nystroem has the points of its first batch
        assert_allclose(pieces.decision_function(table), found, atol=1e-8)


def test_unlabeled_rows_in_every_form_are_the_same():
    X, y, _, present = problem()
    table = as_table(X, present)
    model = KeCoClassifier(WIDTHS, random_state=0, n_iterations=100)
    expected = model.fit(table, labels_of(y)).decision_function(table)
    words = np.where(y == 0, None, np.where(y > 0, "yes", "no")).astype(object)
    for labels in (
        [None if label == 0 else float(label) for label in y],
        words,
        pd.Series(words),
        pd.array([pd.NA if label == 0 else label for label in y], dtype="Int64"),
    ):
        again = clone(model).fit(table, labels)
        assert_array_equal(again.decision_function(table), expected)
        assert len(again.classes_) == 2
    minus = clone(model).set_params(unlabeled=-1).fit(table, np.where(y == 0, -1, (y > 0) + 0))
    assert_array_equal(minus.decision_function(table), expected)
    assert minus.classes_.tolist() == [0, 1]


def test_unlabeled_rows_help_where_views_are_enough_by_themselves():
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(10):
        y = rng.integers(2, size=400)
        X = np.hstack([rng.normal(size=(400, 5)) + 1.2 * y[:, None] - 0.6 for _ in range(2)])
        few = np.full(400, np.nan)
        for label in (0, 1):
            few[rng.choice(np.flatnonzero(y == label), 4, replace=False)] = label
        scores = [
            model([5, 5], kernel="linear", lam=0.3, random_state=seed).fit(X, few).score(X, y)
            for model in (KeCoClassifier, PegasosClassifier)
        ]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 2.0 * np.std(gains) / np.sqrt(10)


def test_probabilities_are_calibrated_on_rows_held_out():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    X = rng.normal(size=(900, 6)) + y[:, None]
    model = KeCoClassifier([3, 3], probability=True, lam=1e-2, random_state=0).fit(X[:600], y[:600])
    p = model.predict_proba(X[600:])
    assert_allclose(p.sum(axis=1), 1.0)
    assert -np.log(p[np.arange(300), y[600:]]).mean() < 0.75
    two = clone(model).fit(X[:600], y[:600] > 0)
    p = two.predict_proba(X[600:])
    for lo, hi in ((0.0, 0.3), (0.7, 1.0)):
        here = (p[:, 1] >= lo) & (p[:, 1] <= hi)
        assert abs((y[600:] > 0)[here].mean() - p[here, 1].mean()) < 0.12
    assert not hasattr(KeCoClassifier(), "predict_proba")
    with pytest.raises(InputError, match="too few to hold out"):
        clone(model).fit(X[:3], [0, 1, 2])


def test_random_views_are_of_the_share_and_all_columns_are_read():
    X, y, _, present = problem()
    table = as_table(X, present)
    model = KeCoClassifier(random_views=[2, 0.75], random_state=0).fit(table, labels_of(y))
    columns = model.view_columns()
    assert [len(c) for c in columns.values()] == [7, 7]
    assert not np.array_equal(*columns.values())
    by_hand = MultiView({name: table[:, c] for name, c in columns.items()})
    gamma = model.gamma_
    other = KeCoClassifier(gamma=gamma, random_state=0).fit(by_hand, labels_of(y))
    assert_array_equal(model.decision_function(table), other.decision_function(by_hand))
    sparse = clone(model).fit(sp.csr_array(table), labels_of(y))
    assert_allclose(sparse.decision_function(table), model.decision_function(table), rtol=1e-9)
    linear = clone(model).set_params(kernel="linear").fit(table, labels_of(y))
    assert_allclose(linear.decision_function(table), table @ linear.coef_[0], atol=1e-9)


def test_the_median_gamma_is_of_the_distances():
    X, y, _, present = problem(missing=True)
    model = KeCoClassifier(WIDTHS, n_iterations=5, random_state=0)
    model.fit(as_table(X, present), labels_of(y))
    for v, x in enumerate(X):
        own = x[present[:, v]]
        d = ((own[:, None] - own[None]) ** 2).sum(axis=2)[np.triu_indices(len(own), 1)]
        assert_allclose(model.gamma_[f"view{v}"], 1.0 / np.median(d[d > 1e-12]), rtol=1e-9)


def test_weights_count_as_often_and_0_is_not_there():
    X, y, _, present = problem()
    table, labels = as_table(X, present), labels_of(y)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, size=60).astype(float)
    make = lambda: KeCoClassifier(WIDTHS, gamma=0.5, lam=1e-2, schedule="stream")  # noqa: E731
    with_zeros = make().fit(table, labels, sample_weight=weight)
    without = make().fit(table[weight > 0], labels[weight > 0], sample_weight=weight[weight > 0])
    assert_array_equal(with_zeros.decision_function(table), without.decision_function(table))
    assert set(np.abs(np.hstack(list(with_zeros.dual_coef_.values())).ravel())) == {1.0, 2.0}


def test_mappings_with_new_columns_views_and_classes_are_taken_in():
    model = KeCoClassifier({"a": [], "b": []}, gamma=1.0, lam=1e-2)
    rng = np.random.default_rng(0)
    for i in range(60):
        label = ["x", "y", "z"][i % (2 if i < 20 else 3)]
        shift = {"x": -2.0, "y": 2.0, "z": 6.0}[label]
        row = {
            "a": {"u": rng.normal() + shift, **({"v": 1.0} if i > 30 else {})},
            "b": {"w": rng.normal() + shift},
        }
        model.learn_one(row, label if i % 4 else None)
    assert model.classes_.tolist() == ["x", "y", "z"]
    for label, shift in (("x", -2.0), ("y", 2.0), ("z", 6.0)):
        assert model.predict_one({"a": {"u": shift, "v": 1.0}, "b": {"w": shift}}) == label


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "linear"},
        {"approximation": "fourier"},
        {"approximation": "nystroem"},
        {"random_views": (2, 0.5), "views": None},
        {"probability": True},
        {"schedule": "stream", "budget": 8, "maintenance": "projection"},
    ],
    ids=str,
)
def test_a_saved_model_goes_on(options, tmp_path):
    X, y, _, present = problem(n=120, missing=False)
    table, labels = as_table(X, present), labels_of(y)
    model = KeCoClassifier(**({"views": WIDTHS, "random_state": 0} | options))
    model.fit(table[:80], labels[:80])
    crossview.save(model, tmp_path / "model.safetensors")
    again = crossview.load(tmp_path / "model.safetensors")
    for learner in (model, again):
        learner.partial_fit(table[80:], labels[80:])
    assert_array_equal(model.decision_function(table), again.decision_function(table))
    if "probability" in options:
        assert_array_equal(model.predict_proba(table), again.predict_proba(table))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 5}, "schedule='stream'"),
        ({"budget": 5, "kernel": "linear"}, "budget= is for kernels"),
        ({"budget": 5, "kernel": "poly", "maintenance": "merging"}, "merging"),
        ({"approximation": "fourier", "kernel": "poly"}, "'fourier' is for 'rbf'"),
        ({"random_views": (2, 0.5)}, "leave views= at None"),
        ({"random_views": (2, 1.5), "views": None}, "which part"),
        ({"gamma": {"view0": 1.0}}, "nothing for view 'view1'"),
        ({"kernel": "precomputed"}, "square matrix"),
        pytest.param({"kernel": lambda a, b: np.zeros((1, 1))}, "has the shape", id="shape"),
        ({"lam": 0.0}, "lam"),
    ],
    ids=str,
)
def test_what_excludes_each_other_is_said_in_one_line(options, message):
    X, y, _, present = problem()
    model = KeCoClassifier(**({"views": WIDTHS} | options))
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(as_table(X, present), labels_of(y))
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "_state")


def test_labels_that_are_not_enough_are_told():
    X, y, _, present = problem()
    table = as_table(X, present)
    with pytest.raises(InputError, match="no label"):
        KeCoClassifier(WIDTHS).fit(table, np.full(60, np.nan))
    with pytest.raises(InputError, match="one class, 1"):
        KeCoClassifier(WIDTHS).fit(table, np.where(y > 0, 1.0, np.nan))
    with pytest.raises(InputError, match="infinite"):
        KeCoClassifier(WIDTHS).fit(table, np.where(y > 0, np.inf, 0.0))


def test_a_label_that_is_no_class_is_named_with_its_row():
    model = KeCoClassifier([1, 1])
    with pytest.raises(InputError, match=r"row 2: label 'c'.* not among the classes \['a', 'b'\]"):
        model.partial_fit(np.ones((3, 2)), [None, "a", "c"], classes=["a", "b"])


def test_the_search_finds_what_a_grid_search_by_hand_finds():
    X, y, truth, present = problem(n=120, labeled=0.9)
    table = as_table(X, present)
    lams, gammas = [1e-3, 1e-1], [0.05, 0.5, "median"]
    for model, labels in (
        (PegasosClassifier(WIDTHS, n_iterations=150, random_state=0), truth),
        (KeCoClassifier(WIDTHS, n_iterations=150, random_state=0), labels_of(y)),
    ):
        search = KernelSearchCV(model, lams, gammas, cv=4).fit(table, labels)
        results = search.cv_results_
        assert results["split_test_score"].shape == (6, 4)
        assert search.best_score_ == results["mean_test_score"].max() > 0.7
        assert search.best_params_["lam"] in lams
        best = clone(model).set_params(**search.best_params_).fit(table, labels)
        assert_array_equal(best.decision_function(table), search.decision_function(table))
        # one setting and fold by hand: learn the other rows, with the rows drawn there
        learner = clone(model).set_params(lam=lams[1], gamma=gammas[1])
        seed = np.random.RandomState(0).randint(2**31 - 1)

        kinds = np.nan_to_num(labels.astype(float))
        folds = StratifiedKFold(4, shuffle=True, random_state=seed)
        train, test = list(folds.split(table, kinds))[2]
        known = test[kinds[test] != 0]
        learner.set_params(random_state=np.random.RandomState(seed + 2)).fit(
            table[train], labels[train]
        )
        expected = roc_auc_score(labels[known] > 0, learner.decision_function(table[known]))
        here = (results["param_lam"] == lams[1]) & (results["param_gamma"] == gammas[1])
        assert_allclose(results["split_test_score"][here, 2], expected, atol=1e-12)


def test_the_search_refuses_what_it_does_not_do():
    X, y, _, present = problem()
    table = as_table(X, present)
    for model in (
        crossview.Perceptron(),
        KeCoClassifier(kernel="precomputed"),
        KeCoClassifier(schedule="stream"),
        KeCoClassifier(approximation="fourier"),
    ):
        with pytest.raises(InputError):
            KernelSearchCV(model).fit(table, labels_of(y))
    with pytest.raises(InputError, match="scoring"):
        KernelSearchCV(KeCoClassifier(WIDTHS), scoring="f1").fit(table, labels_of(y))


def test_grid_search_takes_it_too():
    X, _, y, present = problem()
    search = GridSearchCV(
        PegasosClassifier(random_state=0, n_iterations=100), {"lam": [1e-3, 1e-1]}, cv=3
    ).fit(as_table(X, present), y)
    assert search.best_score_ > 0.7
    kernel = rbf_kernel(as_table(X, present))
    pre = GridSearchCV(
        PegasosClassifier(kernel="precomputed", random_state=0), {"lam": [1e-3, 1e-1]}, cv=3
    ).fit(kernel, y)
    assert pre.best_score_ > 0.7


def test_a_bar_is_shown_on_request(capsys):
    X, y, _, present = problem()
    KeCoClassifier(WIDTHS, verbose=True).fit(as_table(X, present), labels_of(y))
    assert "KeCoClassifier" in capsys.readouterr().err


def test_the_scale_gamma_is_that_of_support_vector_machines():
    X, y, _, present = problem()
    model = KeCoClassifier(WIDTHS, gamma="scale", n_iterations=5, random_state=0)
    for container in (np.asarray, sp.csr_array):
        model.fit(container(as_table(X, present)), labels_of(y))
        for v, x in enumerate(X):
            assert_allclose(model.gamma_[f"view{v}"], 1.0 / (x.shape[1] * x.var()), rtol=1e-9)
