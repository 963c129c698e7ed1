"""The multi-view SVM for multivariate measures: its searches, its solver, its estimator."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import shared_data
from crossview import InputError, Measure, MultiView, MultiViewSVMPerf, load, save
from crossview.algorithms import performance
from reference import performance as reference

TABLES = ("fbeta", "error_rate", "balanced_accuracy", "g_mean", "prbep")
AT_K = ("precision_at_k", "recall_at_k", "precision_at_k:exact", "recall_at_k:exact")


def signs(rng, n):
    """Labels of both kinds, in any order."""
    y = np.where(np.arange(n) < rng.integers(1, n), 1, -1)
    rng.shuffle(y)
    return y


def scores(rng, n):
    """Scores, half of the time with ties."""
    return rng.normal(size=n) / 3 if rng.random() < 0.5 else rng.integers(-2, 3, n) / 4


def value(problem, f):
    """Of the labeling that was found, in the units of the print: a wrong row weighs 2."""
    delta, s = problem.search(f * 2.0 * problem.unit)
    return delta - s @ f * 2.0 * problem.unit


# --- the most violated labeling -------------------------------------------------------------


@pytest.mark.parametrize("measure", [*TABLES, *AT_K])
def test_most_violated_labeling_is_that_of_all_labelings(measure):
    rng = np.random.default_rng(0)
    for _ in range(25):
        n = int(rng.integers(2, 9))
        y, f, k = signs(rng, n), scores(rng, n), int(rng.integers(1, n + 1))
        beta = float(rng.choice([0.5, 1.0, 2.0]))
        problem = performance.make_problem(measure, y, np.ones(n), beta=beta, k=k)
        best = reference.most_violated(
            y, f, lambda labels, y=y, k=k, b=beta: reference.loss(measure, y, labels, beta=b, k=k)
        )
        assert value(problem, f) == pytest.approx(best, abs=1e-12)


def test_most_violated_pairs_are_those_of_all_labels_of_pairs():
    rng = np.random.default_rng(1)
    for _ in range(25):
        n = int(rng.integers(2, 8))
        y, f = signs(rng, n), scores(rng, n)
        problem = performance.make_problem("roc_auc", y, np.ones(n))
        assert value(problem, f) == pytest.approx(reference.most_violated_pairs(y, f), abs=1e-12)


def test_most_violated_order_is_that_of_all_orders():
    rng = np.random.default_rng(2)
    for _ in range(20):
        n = int(rng.integers(2, 7))
        y, f = signs(rng, n), scores(rng, n)
        problem = performance.make_problem("average_precision", y, np.ones(n))
        assert value(problem, f) == pytest.approx(reference.most_violated_ranking(y, f), abs=1e-12)


@pytest.mark.parametrize("n", [50, 300])
@pytest.mark.parametrize("measure", ["fbeta", "g_mean", "prbep", "precision_at_k", "recall_at_k"])
def test_fast_search_is_the_full_scan(measure, n):
    rng = np.random.default_rng(n)
    for _ in range(3):
        y, f, k = signs(rng, n), scores(rng, n), int(rng.integers(1, n + 1))
        problem = performance.make_problem(measure, y, np.ones(n), beta=0.5, k=k)
        a, b = np.meshgrid(np.arange((y > 0).sum() + 1), np.arange((y < 0).sum() + 1))
        best = -np.inf
        p, q = (np.concatenate([[0.0], np.cumsum(-np.sort(-f[y == sign]))]) for sign in (1, -1))
        for i, j in zip(a.ravel(), b.ravel(), strict=True):
            delta = reference.loss_of_table(measure, i, j, len(p) - 1, len(q) - 1, beta=0.5, k=k)
            if delta is not None:
                best = max(best, delta - 2.0 * (p[-1] - p[i]) + 2.0 * q[j])
        assert value(problem, f) == pytest.approx(best, abs=1e-10)


def test_any_function_of_the_table_is_searched_and_a_concave_one_faster_with_the_same_answer():
    rng = np.random.default_rng(3)
    jaccard = Measure(lambda tp, fp, fn, tn: tp / (tp + fp + fn))
    for _ in range(10):
        n = int(rng.integers(2, 60))
        y, f = signs(rng, n), scores(rng, n)
        full, fast = (
            performance.make_problem("", y, np.ones(n), delta=jaccard.loss, concave=concave)
            for concave in (False, True)
        )
        assert value(full, f) == pytest.approx(value(fast, f), abs=1e-12)


# --- the minimum -----------------------------------------------------------------------------


def small(seed, V):
    """A small problem of V views, for enumeration."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(7) < 3, 1, -1)
    views = [rng.normal(size=(7, 2)) + y[:, None] * rng.normal(size=2) / 2 for _ in range(V)]
    return views, y, 10 ** rng.uniform(-1.5, 0.5)


@pytest.mark.parametrize("V", [1, 2, 3])
@pytest.mark.parametrize("measure", ["f1", "error_rate", "prbep"])
def test_joint_minimum_is_that_of_a_general_solver(measure, V):
    name = "fbeta" if measure == "f1" else measure
    for seed in range(3):
        views, y, C1 = small(seed, V)

        def delta(labels, y=y):
            return reference.loss(name, y, labels)

        best, _ = reference.minimum(views, y, delta, C1, 0.3)
        model = MultiViewSVMPerf(
            [2] * V, measure=measure, C1=C1, C2=0.3, scaling="paper", tol=1e-8, fit_intercept=False
        ).fit(np.hstack(views), y)
        w = np.split(model.coef_[0], V)
        assert reference.objective(w, views, y, delta, C1, 0.3) == pytest.approx(best, rel=1e-6)
        lower, upper = model.objective_history_.T
        assert upper[-1] == pytest.approx(best, rel=1e-6)
        assert (lower <= best * (1 + 1e-7)).all()
        assert (upper >= best * (1 - 1e-7)).all()
        assert (np.diff(lower) >= 0).all()
        assert (np.diff(upper) <= 0).all()
        assert model.dual_gap_ <= 1e-8


def test_alternating_comes_to_the_joint_minimum_from_above():
    for seed in range(4):
        views, y, C1 = small(seed, 3)
        common = {"C1": C1, "C2": 0.3, "scaling": "paper", "fit_intercept": False}
        joint, alternating = (
            MultiViewSVMPerf([2, 2, 2], solver=solver, tol=1e-7, **common).fit(np.hstack(views), y)
            for solver in ("joint", "alternating")
        )
        best = joint.objective_history_[-1, 1]
        assert (alternating.objective_history_[:, 1] >= best * (1 - 2e-7)).all()
        assert alternating.objective_history_[-1, 1] == pytest.approx(best, rel=3e-7)


def test_printed_rounds_stay_above_the_minimum_and_say_so():
    views, y, _ = small(0, 2)
    model = MultiViewSVMPerf(
        [2, 2], C1=1.0, C2=0.3, scaling="paper", solver="published", max_iter=40
    )
    with pytest.warns(ConvergenceWarning, match="take solver='joint'"):
        model.fit(np.hstack(views), y)
    joint = MultiViewSVMPerf([2, 2], C1=1.0, C2=0.3, scaling="paper").fit(np.hstack(views), y)
    assert model.objective_history_[-1, 1] > 1.01 * joint.objective_history_[-1, 1]


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_error_rate_with_one_view_is_the_linear_svm(C):
    X, good = shared_data.ionosphere()
    y = np.where(good, 1, -1)
    ours = MultiViewSVMPerf(measure="error_rate", C1=C, tol=1e-5).fit(X, y)
    svm = LinearSVC(C=C, loss="hinge", max_iter=10**6, tol=1e-6, random_state=0).fit(X, y)

    def objective(w, b):
        return (w @ w + b * b) / 2 + C * np.maximum(0, 1 - y * (X @ w + b)).sum()

    theirs = objective(svm.coef_[0], svm.intercept_[0])
    assert objective(ours.coef_[0], ours.intercept_[0]) == pytest.approx(theirs, rel=1e-3)
    assert ours.objective_history_[-1, 1] == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_without_disagreement_views_are_the_concatenation(form):
    X, y = shared_data.ionosphere()
    apart = MultiViewSVMPerf([17, 17], C2=0.0, tol=1e-6).fit(form(X), y)
    whole = MultiViewSVMPerf(tol=1e-6).fit(X, y)
    np.testing.assert_allclose(apart.decision_function(X), whole.decision_function(X), atol=1e-2)
    assert apart.objective_history_[-1, 1] == pytest.approx(
        whole.objective_history_[-1, 1], rel=2e-6
    )


def test_each_way_of_solving_for_h_gives_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    M, gamma = rng.normal(size=(30, 20)), rng.normal(size=20)
    expected = np.linalg.solve(np.eye(20) + 0.7 * M.T @ M, gamma)
    wide, wider = M[:9], rng.normal(size=20)
    np.testing.assert_allclose(performance.Inverse(M, 0.7)(gamma), expected)
    H = np.eye(20) + 0.7 * wide.T @ wide
    np.testing.assert_allclose(performance.Inverse(wide, 0.7)(wider), np.linalg.solve(H, wider))
    monkeypatch.setattr(performance, "LARGEST_FACTOR", 5)
    monkeypatch.setattr(performance, "CG_TOLERANCE", 1e-12)
    iterative = performance.Inverse(sp.csr_array(M), 0.7)
    assert iterative.iterative
    np.testing.assert_allclose(iterative(gamma), expected)
    iterative = performance.Inverse(sp.csr_array(wide), 0.7)
    assert iterative.iterative
    np.testing.assert_allclose(iterative(wider), np.linalg.solve(H, wider))


def test_conjugate_gradients_come_to_the_minimum_too(monkeypatch):
    rng = np.random.default_rng(6)
    X = sp.random_array((60, 80), density=0.2, rng=rng, format="csr")
    y = X @ rng.normal(size=80) > 0
    exact = MultiViewSVMPerf([40, 40], C2=0.3, tol=1e-4).fit(X, y)
    monkeypatch.setattr(performance, "LARGEST_FACTOR", 10)
    near = MultiViewSVMPerf([40, 40], C2=0.3, tol=1e-4).fit(X, y)
    assert near.objective_history_[-1, 1] == pytest.approx(
        exact.objective_history_[-1, 1], rel=2e-4
    )


def test_disagreement_is_that_of_all_pairs_of_views_present():
    rng = np.random.default_rng(7)
    ptr = np.array([0, 2, 5, 6, 9])
    present = rng.random((12, 4)) < 0.7
    columns = np.searchsorted(ptr, np.arange(9), side="right") - 1
    X, w = rng.normal(size=(12, 9)) * present[:, columns], rng.normal(size=9)
    weight = rng.random(12)
    f = np.array([X[:, a:b] @ w[a:b] for a, b in pairwise(ptr)])
    expected = sum(
        weight[i] * (f[u, i] - f[v, i]) ** 2
        for i in range(12)
        for v in range(4)
        for u in range(v)
        if present[i, u] and present[i, v]
    )
    for form in (np.asarray, sp.csr_array):
        M = performance.disagreement(form(X), ptr, present, weight)
        assert np.sum((M @ w) ** 2) == pytest.approx(expected)


# --- the estimator ---------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["error_rate", "balanced_accuracy", "roc_auc"])
def test_a_row_of_weight_two_is_the_row_twice(measure):
    X, y = shared_data.ionosphere()
    weight = np.random.default_rng(8).integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), weight)
    model = MultiViewSVMPerf([17, 17], measure=measure, tol=1e-6)
    weighted = model.fit(X, y, weight).objective_history_[-1, 1]
    assert model.fit(X[twice], y[twice]).objective_history_[-1, 1] == pytest.approx(
        weighted, rel=3e-6
    )


def test_weights_without_a_meaning_are_refused_and_zeros_are_rows_left_out():
    X, y = shared_data.ionosphere()
    weight = np.ones(len(y))
    weight[:50] = 0.0
    some = MultiViewSVMPerf().fit(X, y, weight)
    np.testing.assert_array_equal(some.coef_, MultiViewSVMPerf().fit(X[50:], y[50:]).coef_)
    weight[60] = 2.0
    with pytest.raises(InputError, match=r"no meaning for measure='f1'.*error_rate"):
        MultiViewSVMPerf().fit(X, y, weight)


def test_both_scalings_are_the_same_problem():
    X, y = shared_data.ionosphere()
    unit = 2 * y.sum()
    rows = MultiViewSVMPerf([17, 17], C1=0.5, tol=1e-7).fit(X, y)
    paper = MultiViewSVMPerf([17, 17], C1=0.5 / (4 * unit), tol=1e-7, scaling="paper").fit(X, y)
    assert paper.objective_history_[-1, 1] * (2 * unit) ** 2 == pytest.approx(
        rows.objective_history_[-1, 1], rel=1e-6
    )
    np.testing.assert_allclose(paper.coef_ * 2 * unit, rows.coef_, atol=2e-3)


@pytest.mark.parametrize(
    ("measure", "k", "predicted"),
    [
        ("prbep", 0.1, 225),
        ("roc_auc", 0.1, 225),
        ("precision_at_k", 0.2, 70),
        ("recall_at_k", 9, 9),
    ],
)
def test_measures_of_the_highest_scores_predict_as_many_rows(measure, k, predicted):
    X, y = shared_data.ionosphere()
    model = MultiViewSVMPerf(measure=measure, k=k).fit(X, y)
    assert abs(int(model.predict(X).sum()) - predicted) <= 3  # rows with equal scores


def test_the_measure_is_about_pos_label():
    X, y = shared_data.ionosphere()
    bad = MultiViewSVMPerf(pos_label=False).fit(X, y)
    mirrored = MultiViewSVMPerf().fit(X, ~y)
    np.testing.assert_array_equal(bad.coef_, -mirrored.coef_)
    assert (bad.predict(X) == ~mirrored.predict(X)).all()
    with pytest.raises(InputError, match="pos_label='ham' is none of"):
        MultiViewSVMPerf(pos_label="ham").fit(X, y)


def test_a_path_of_c1_needs_fewer_labellings_from_the_last_ones():
    X, y = shared_data.ionosphere()
    warm = MultiViewSVMPerf([17, 17], warm_start=True, C1=0.3).fit(X, y)
    warm.set_params(C1=1.0).fit(X, y)
    cold = MultiViewSVMPerf([17, 17], C1=1.0).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    assert warm.objective_history_[-1, 1] == pytest.approx(cold.objective_history_[-1, 1], rel=2e-3)


def test_a_missing_view_takes_no_part():
    X, y = shared_data.ionosphere()
    present = np.random.default_rng(9).random((len(y), 2)) < 0.8
    holes = X.copy()
    holes[np.repeat(~present, 17, axis=1)] = np.nan
    views = {"a": X[:, :17], "b": X[:, 17:]}
    by_nan = MultiViewSVMPerf([17, 17], tol=1e-5).fit(holes, y)
    by_mask = MultiViewSVMPerf(tol=1e-5).fit(MultiView(views, present=present), y)
    np.testing.assert_array_equal(by_nan.coef_, by_mask.coef_)
    own = by_nan.view_scores(holes)
    assert np.isnan(own[~present]).all()
    np.testing.assert_allclose(np.nansum(own, axis=1), by_nan.decision_function(holes))


def test_several_classes_are_each_held_against_the_rest(tmp_path):
    views, digits = shared_data.mfeat()
    some = np.flatnonzero(digits < 3)[::4]
    digits = digits[some]
    X = MultiView({name: views[name][some] / views[name].std() for name in ("mor", "zer", "fou")})
    model = MultiViewSVMPerf(C2=0.001).fit(X, digits)
    assert model.coef_.shape == (3, X.layout.n_columns)
    assert model.n_iter_.shape == model.dual_gap_.shape == model.working_set_size_.shape == (3,)
    assert [len(part) for part in model.objective_history_] == model.n_iter_.tolist()
    assert model.score(X, digits) > 0.97
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert again.dual_gap_.tolist() == model.dual_gap_.tolist()


def test_it_says_what_to_do_when_it_stops_early():
    X, y = shared_data.ionosphere()
    with pytest.warns(ConvergenceWarning, match=r"after 3 rounds with a gap of .*raise max_iter"):
        MultiViewSVMPerf(max_iter=3).fit(X, y)


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (lambda tp, fp, fn, tn: tp / (tp + fp), "is not finite"),
        (lambda tp, fp, fn, tn: fp + 0.0 * tp, "is better than no mistakes"),
        (lambda tp, fp, fn, tn: 0.5, "one value a table"),
        (lambda tp, fp, fn, tn: float(tp), "failed on arrays"),
        (Measure(lambda tp, fp, fn, tn: -np.sqrt(fn) - fp**2.0, concave=True), "not concave"),
    ],
)
def test_a_measure_that_is_none_is_refused(measure, message):
    X, y = shared_data.ionosphere()
    with pytest.raises(InputError, match=message):
        MultiViewSVMPerf(measure=measure).fit(X, y)


def test_k_beyond_the_rows_is_refused():
    with pytest.raises(InputError, match="k=9 is more than the 4 rows"):
        MultiViewSVMPerf(measure="recall_at_k", k=9).fit(np.eye(4), [0, 1, 0, 1])
