"""KeCo and Pegasos: what the estimators promise."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC, LinearSVC

import crossview
from crossview import InputError, KeCoClassifier, MultiView, PegasosClassifier
from crossview.algorithms.kernel.schedule import draw_rows
from kernel_data import KERNELS, PAPER, WIDTHS, as_labels, as_table, problem, row_lists
from reference import keco as reference


@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("model", [KeCoClassifier, PegasosClassifier])
def test_scores_are_those_of_the_reference(kernel, model):
    X, y, _, present = problem(missing=True)
    given = PAPER | {"n_iterations": 200, "random_state": 5}
    lam = [0.05, 0.2, 0.01]
    each = {f"view{v}": value for v, value in enumerate(lam)}
    learner = model(WIDTHS, kernel=kernel, gamma=0.5, lam=each, **given)
    learner.fit(as_table(X, present), as_labels(y))
    rng = np.random.RandomState(5)
    draws = draw_rows("half-labeled", np.flatnonzero(y), np.flatnonzero(y == 0), 200, rng)
    rows = row_lists(X)
    alpha, z = reference.learn(
        rows,
        y,
        draws,
        lam,
        KERNELS[kernel],
        supervised=model is PegasosClassifier,
        present=present,
    )
    new, _, _, there = problem(n=20, seed=7, missing=True)
    expected = [
        reference.score([x[i] for x in new], rows, alpha, z, lam, 200, KERNELS[kernel], there[i])
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


def test_one_view_is_pegasos_with_a_warning():
    X, y, _, present = problem()
    table = as_table(X, present)
    with pytest.warns(UserWarning, match="random_views"):
        one = KeCoClassifier(random_state=0).fit(table, as_labels(y))
    other = PegasosClassifier(random_state=0).fit(table, as_labels(y))
    assert_array_equal(one.decision_function(table), other.decision_function(table))


@pytest.mark.parametrize("kernel", ["linear", lambda a, b: a @ b.T], ids=["linear", "callable"])
@pytest.mark.parametrize(("average", "fit_intercept"), [(False, False), (True, True)])
def test_pegasos_is_that_of_its_paper(kernel, average, fit_intercept):
    """Figure 1 of Shalev-Shwartz et al.: w <- (1 - 1/t) w + [y w·x < 1] y x / (λ t)."""
    X, _, y, present = problem()
    table = as_table(X, present)
    lam, T = 0.05, 300
    given = PAPER | {"n_iterations": T, "include_self": True, "random_state": 1}
    given |= {"average": average, "fit_intercept": fit_intercept}
    model = PegasosClassifier(kernel=kernel, lam=lam, **given).fit(table, y)
    draws = np.random.RandomState(1).randint(60, size=T)
    last, mean = reference.averaged(table, y, draws, lam, float(fit_intercept))
    w = mean if average else last
    assert_allclose(model.decision_function(table), table @ w[1:] + w[0] * fit_intercept)
    assert_allclose(model.intercept_, [w[0] * fit_intercept], atol=1e-12)
    if kernel == "linear":
        assert_allclose(model.coef_[0], w[1:], rtol=1e-9)


def test_pegasos_converges_to_the_support_vector_machine():
    X, _, y, present = problem(n=120)
    table = as_table(X, present)
    lam = 0.02
    C = 1.0 / (lam * len(y))
    # the intercept of LinearSVC is the weight of a constant feature, too
    peer = LinearSVC(C=C, loss="hinge", max_iter=100_000, tol=1e-8).fit(table, y)
    model = PegasosClassifier(kernel="linear", lam=lam, random_state=0)

    def objective(linear):
        w, b = linear.coef_[0], linear.intercept_[0]
        loss = np.maximum(0.0, 1.0 - y * (table @ w + b)).mean()
        return lam / 2.0 * (w @ w + b * b) + loss

    least = objective(peer)
    many = clone(model).set_params(n_iterations=20_000).fit(table, y)
    assert least <= objective(many) < 1.01 * least
    assert objective(model.fit(table, y)) < 1.05 * least
    assert objective(clone(model).set_params(**PAPER).fit(table, y)) > 1.1 * least
    rbf = PegasosClassifier(gamma=0.2, lam=lam, random_state=0).fit(table, y)
    svc = SVC(C=C, kernel="precomputed").fit(rbf_kernel(table, gamma=0.2) + 1.0, y)
    expected = svc.decision_function(rbf_kernel(table, gamma=0.2) + 1.0)
    assert np.corrcoef(rbf.decision_function(table), expected)[0, 1] > 0.995


def test_steps_are_chosen_where_they_are_not_given():
    X, y, truth, present = problem(n=90)
    table = as_table(X, present)
    model = PegasosClassifier(WIDTHS, lam=1e-2, random_state=0).fit(table, truth)
    assert model.n_steps_ in (1000, 2000, 4000, 8000)
    # without a row to hold out: the most
    assert clone(model).fit(table[:2], truth[:2]).n_steps_ == 10_000
    given = clone(model).set_params(n_iterations=70)
    assert given.fit(table, truth).n_steps_ == 70
    assert KeCoClassifier(WIDTHS, n_iterations=70).fit(table, as_labels(y)).n_steps_ == 70


@pytest.mark.parametrize("options", [{}, {"budget": 1000, "maintenance": "merging"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_stream_in_pieces_is_one_stream(options, classes):
    X, y, truth, present = problem(n=90, missing=True)
    table = as_table(X, present)
    y = as_labels(y) if classes == 2 else np.where(y == 0, np.nan, truth + (X[0][:, 0] > 1))
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
        for name, value in whole.get_state().items():
            assert_array_equal(value, other.get_state()[name], err_msg=name)
    # what a row's score was before it was learned is what the model would have said
    before = make().partial_fit(table[:50], y[:50], classes=known)
    assert_array_equal(np.concatenate(scores)[50], before.decision_function(table[50:51])[0])


@pytest.mark.parametrize("maintenance", ["removal", "projection", "merging"])
def test_a_large_budget_changes_nothing_and_a_small_one_is_kept(maintenance):
    X, y, _, present = problem(n=200, missing=True)
    table, labels = as_table(X, present), as_labels(y)
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
def test_a_stream_learns_unlabeled_rows_within_their_quota(kernel):
    X, y, _, present = problem(n=120, labeled=0.5)
    table = as_table(X, present)
    given = {"kernel": kernel, "gamma": 0.5, "lam": 1e-2, "schedule": "stream"}
    few = KeCoClassifier(WIDTHS, unlabeled_ratio=0.5, **given).fit(table, as_labels(y))
    # the ratio times the accuracy above chance, beside two rows that are right by chance
    one_by_one = KeCoClassifier(WIDTHS, unlabeled_ratio=0.5, **given)
    taken, turns, right = [], [0, 0], 0
    for i, label in enumerate(y):
        known = hasattr(one_by_one, "classes_")
        score = one_by_one.decision_function(table[[i]])[0] if known else 0.0
        right += label * score > 0
        one_by_one.partial_fit(table[[i]], as_labels(y)[[i]], classes=[-1, 1])
        trust = max(0.0, 2.0 * (right + 1.0) / (turns[0] + 2.0) - 1.0)
        if label == 0 and turns[1] + 1 > 0.5 * trust * turns[0]:
            continue
        turns[int(label == 0)] += 1
        taken.append(i)
    assert turns[1] > 0
    assert few.n_steps_ == len(taken) < 120
    whole = KeCoClassifier(WIDTHS, unlabeled_ratio=np.inf, **given)
    whole.fit(table[taken], as_labels(y)[taken])
    assert_array_equal(whole.decision_function(table), few.decision_function(table))
    none = KeCoClassifier(WIDTHS, unlabeled_ratio=0.0, **given).fit(table, as_labels(y))
    pegasos = PegasosClassifier(WIDTHS, **given).fit(table[y != 0], y[y != 0])
    assert_array_equal(none.decision_function(table), pegasos.decision_function(table))


def test_a_stream_equals_the_slow_reference():
    X, y, _, present = problem(n=80, missing=True)
    given = PAPER | {"schedule": "stream", "unlabeled_ratio": np.inf}
    model = KeCoClassifier(WIDTHS, gamma=0.5, lam=1e-2, **given)
    model.fit(as_table(X, present), as_labels(y))
    rows = row_lists(X)
    alpha, z = reference.learn(rows, y, range(80), 1e-2, KERNELS["rbf"], present=present)
    for v, beta in enumerate(model.dual_coef_.values()):
        assert beta[0].tolist() == [z[v][j] for j in alpha[v] if z[v][j]]


def test_callable_and_precomputed_kernels_give_the_same():
    X, y, _, present = problem()
    table, labels = as_table(X, present), as_labels(y)
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
    X, y, _, present = problem(n=90, missing=True)
    table, labels = as_table(X, present), as_labels(y)
    model = KeCoClassifier(WIDTHS, lam=1e-2, n_iterations=300, random_state=0)
    a = model.fit(table, labels).decision_function(table)
    b = clone(model).set_params(cache_size=0.02).fit(table, labels).decision_function(table)
    assert_array_equal(a, b)


@pytest.mark.parametrize("approximation", ["fourier", "nystroem"])
def test_an_approximation_comes_close_to_its_kernel(approximation):
    X, y, _, present = problem(n=150, missing=True)
    table, labels = as_table(X, present), as_labels(y)
    given = {"gamma": 0.2, "lam": 0.05, "schedule": "stream", "random_state": 0}
    exact = KeCoClassifier(WIDTHS, **given).fit(table, labels)
    many = 3000 if approximation == "fourier" else 150
    near = KeCoClassifier(WIDTHS, approximation=approximation, n_components=many, **given)
    near.fit(table, labels)
    expected = exact.decision_function(table)
    found = near.decision_function(table)
    assert np.corrcoef(expected, found)[0, 1] > 0.95
    pieces = clone(near)
    for lo in range(0, 150, 50):
        pieces.partial_fit(table[lo : lo + 50], labels[lo : lo + 50], classes=[-1, 1])
    if approximation == "fourier":  # nystroem has the points of its first batch
        assert_allclose(pieces.decision_function(table), found, atol=1e-8)


def test_every_form_of_a_missing_label_is_the_same():
    X, y, _, present = problem()
    table = as_table(X, present)
    model = KeCoClassifier(WIDTHS, random_state=0, n_iterations=100)
    expected = model.fit(table, as_labels(y)).decision_function(table)
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


@pytest.mark.parametrize("classes", [2, 4])
def test_unlabeled_rows_help_if_each_view_suffices(classes):
    rng = np.random.default_rng(0)
    gains = []
    for seed in range(6):
        y = rng.integers(classes, size=300)
        centers = rng.normal(size=(classes, 10))
        X = rng.normal(size=(300, 10)) + 1.2 * centers[y]
        few = np.full(300, np.nan)
        for label in range(classes):
            few[rng.choice(np.flatnonzero(y == label), 5, replace=False)] = label
        scores = [
            model([5, 5], lam=1e-2, calibration="none", random_state=seed).fit(X, few).score(X, y)
            for model in (KeCoClassifier, PegasosClassifier)
        ]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 2.0 * np.std(gains) / np.sqrt(6)


def test_rows_of_one_view_are_not_labeled():
    X, y, _, present = problem(n=100)
    table = as_table(X, present)
    one_view = np.where(np.arange(9) < WIDTHS[0], table, np.nan)
    mixed = np.where((y == 0)[:, None], one_view, table)
    given = {"lam": 1e-2, "n_iterations": 200, "random_state": 0}
    keco = KeCoClassifier(WIDTHS, gamma=0.3, **given).fit(mixed, as_labels(y))
    pegasos = PegasosClassifier(WIDTHS, gamma=0.3, **given).fit(mixed, as_labels(y))
    assert_array_equal(keco.decision_function(table), pegasos.decision_function(table))


def test_probabilities_are_calibrated_on_inner_folds():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    X = rng.normal(size=(900, 6)) + y[:, None]
    model = KeCoClassifier([3, 3], lam=1e-2, random_state=0).fit(X[:600], y[:600])
    p = model.predict_proba(X[600:])
    assert_allclose(p.sum(axis=1), 1.0)
    assert -np.log(p[np.arange(300), y[600:]]).mean() < 0.75
    two = clone(model).fit(X[:600], y[:600] > 0)
    p = two.predict_proba(X[600:])
    for lo, hi in ((0.0, 0.3), (0.7, 1.0)):
        here = (p[:, 1] >= lo) & (p[:, 1] <= hi)
        assert abs((y[600:] > 0)[here].mean() - p[here, 1].mean()) < 0.12
    assert not hasattr(KeCoClassifier(calibration="none"), "predict_proba")
    # one row of each class: no folds
    p = clone(model).fit(X[:3], [0, 1, 2]).predict_proba(X)
    assert_allclose(p.sum(axis=1), 1.0)


def test_random_views_have_their_part_of_the_columns():
    X, y, _, present = problem()
    table = as_table(X, present)
    model = KeCoClassifier(random_views=[2, 0.75], random_state=0).fit(table, as_labels(y))
    columns = model.view_columns()
    assert [len(c) for c in columns.values()] == [7, 7]
    assert not np.array_equal(*columns.values())
    by_hand = MultiView({name: table[:, c] for name, c in columns.items()})
    gamma = model.gamma_
    other = KeCoClassifier(gamma=gamma, random_state=0).fit(by_hand, as_labels(y))
    assert_array_equal(model.decision_function(table), other.decision_function(by_hand))
    sparse = clone(model).fit(sp.csr_array(table), as_labels(y))
    assert_allclose(sparse.decision_function(table), model.decision_function(table), rtol=1e-9)
    linear = clone(model).set_params(kernel="linear").fit(table, as_labels(y))
    by_weights = table @ linear.coef_[0] + linear.intercept_[0]
    assert_allclose(linear.decision_function(table), by_weights, atol=1e-9)


def test_the_median_gamma_is_one_over_the_median_squared_distance():
    X, y, _, present = problem(missing=True)
    model = KeCoClassifier(WIDTHS, n_iterations=5, random_state=0)
    model.fit(as_table(X, present), as_labels(y))
    for v, x in enumerate(X):
        own = x[present[:, v]]
        d = ((own[:, None] - own[None]) ** 2).sum(axis=2)[np.triu_indices(len(own), 1)]
        assert_allclose(model.gamma_[f"view{v}"], 1.0 / np.median(d[d > 1e-12]), rtol=1e-9)


def test_a_weight_counts_as_often_and_weight_0_leaves_a_row_out():
    X, y, _, present = problem()
    table, labels = as_table(X, present), as_labels(y)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 3, size=60).astype(float)
    make = lambda: KeCoClassifier(WIDTHS, gamma=0.5, lam=1e-2, schedule="stream")  # noqa: E731
    with_zeros = make().fit(table, labels, sample_weight=weight)
    without = make().fit(table[weight > 0], labels[weight > 0], sample_weight=weight[weight > 0])
    assert_array_equal(with_zeros.decision_function(table), without.decision_function(table))
    assert set(np.abs(np.hstack(list(with_zeros.dual_coef_.values())).ravel())) == {1.0, 2.0}


def test_mappings_may_bring_new_columns_and_classes():
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
        {"schedule": "stream", "budget": 8, "maintenance": "projection"},
    ],
    ids=str,
)
def test_a_saved_model_goes_on(options, tmp_path):
    X, y, _, present = problem(n=120, missing=False)
    table, labels = as_table(X, present), as_labels(y)
    model = KeCoClassifier(**({"views": WIDTHS, "random_state": 0} | options))
    model.fit(table[:80], labels[:80])
    crossview.save(model, tmp_path / "model.safetensors")
    again = crossview.load(tmp_path / "model.safetensors")
    for learner in (model, again):
        learner.partial_fit(table[80:], labels[80:])
    assert_array_equal(model.decision_function(table), again.decision_function(table))
    assert_array_equal(model.predict_proba(table), again.predict_proba(table))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 5}, "schedule='stream'"),
        ({"budget": 5, "kernel": "linear"}, "budget= bounds the support vectors"),
        ({"budget": 5, "kernel": "poly", "maintenance": "merging"}, "merging"),
        ({"approximation": "fourier", "kernel": "poly"}, "'fourier' is for 'rbf'"),
        ({"random_views": (2, 0.5)}, "leave views= at None"),
        ({"random_views": (2, 1.5), "views": None}, "the fraction of the columns"),
        ({"gamma": {"view0": 1.0}}, "no value for view 'view1'"),
        ({"kernel": "precomputed"}, "square matrix"),
        pytest.param({"kernel": lambda a, b: np.zeros((1, 1))}, "returned the shape", id="shape"),
        ({"lam": 0.0}, "lam"),
        ({"lam": {"view0": 1.0}}, "lam= has no value for view 'view1'"),
        ({"lam": {"view0": 1.0, "view1": 0.0, "view2": 1.0}}, "lam= has 0.0 for view 'view1'"),
    ],
    ids=str,
)
def test_parameters_that_exclude_each_other_are_an_error_of_one_line(options, message):
    X, y, _, present = problem()
    model = KeCoClassifier(**({"views": WIDTHS} | options))
    with pytest.raises(ValueError, match=message) as caught:
        model.fit(as_table(X, present), as_labels(y))
    assert "\n" not in str(caught.value)
    assert not hasattr(model, "_state")


def test_too_few_labels_are_an_error():
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


def test_a_bar_is_shown_on_request(capsys):
    X, y, _, present = problem()
    KeCoClassifier(WIDTHS, verbose=True).fit(as_table(X, present), as_labels(y))
    assert "KeCoClassifier" in capsys.readouterr().err


def test_the_scale_gamma_is_that_of_support_vector_machines():
    X, y, _, present = problem()
    model = KeCoClassifier(WIDTHS, gamma="scale", n_iterations=5, random_state=0)
    for container in (np.asarray, sp.csr_array):
        model.fit(container(as_table(X, present)), as_labels(y))
        for v, x in enumerate(X):
            assert_allclose(model.gamma_[f"view{v}"], 1.0 / (x.shape[1] * x.var()), rtol=1e-9)
