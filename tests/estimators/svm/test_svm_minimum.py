"""The minimum of problem (7): all solvers against a general one, and special cases."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import shared_data
from crossview import InputError, MultiViewSVMPerf
from crossview.algorithms.performance import inverse
from reference import performance as reference


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
            [2] * V,
            measure=measure,
            C1=C1,
            C2=0.3,
            scaling="published",
            tol=1e-8,
            fit_intercept=False,
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


PUBLISHED = {"scaling": "published", "solver": "published", "fit_intercept": False}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("measure", ["error_rate", "balanced_accuracy"])
def test_published_rounds_are_those_of_the_slow_reference(measure):
    """At w = 0 these have one most violated labeling."""
    negative = 0
    for seed in range(4):
        views, y, C1 = small(seed, 1 + seed % 3)
        views = [view + seed % 2 * 3.0 * y[:, None] for view in views]  # apart
        T = 4 + seed

        def delta(labels, y=y):
            return reference.loss(measure, y, labels)

        w = reference.published_rounds(views, y, delta, 3.0 * C1, 0.3, T)
        model = MultiViewSVMPerf(
            [2] * len(views), measure=measure, C1=3.0 * C1, C2=0.3, max_iter=T, tol=1e-12,
            **PUBLISHED,
        ).fit(np.hstack(views), y)  # fmt: skip
        np.testing.assert_allclose(model.coef_[0], np.concatenate(w), atol=1e-5)
        negative += model.objective_history_[-1, 1] < 0.0
    assert negative  # a problem where xi is


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_published_rounds_return_the_last_weights_and_not_the_best():
    views, y, _ = small(0, 2)
    learner = MultiViewSVMPerf([2, 2], C1=1.0, C2=0.3, **PUBLISHED)
    values = learner.set_params(max_iter=40).fit(np.hstack(views), y).objective_history_[:, 1]
    rounds = int(np.argmax(np.diff(values) > 0.0)) + 2  # the first that ends above the one before
    last = learner.set_params(max_iter=rounds).fit(np.hstack(views), y)
    assert last.objective_history_[-1, 1] == values[rounds - 1] > values[:rounds].min()
    w = np.split(last.coef_[0], 2)

    def delta(labels):
        return reference.loss("fbeta", y, labels)

    f = sum(view @ part for view, part in zip(views, w, strict=True))
    value = reference.objective(w, views, y, delta, 0.0, 0.3)
    value += reference.most_violated(y, f, delta, truth=False)
    assert value == pytest.approx(values[rounds - 1])


def test_published_rounds_stay_above_the_minimum_with_a_warning():
    views, y, _ = small(0, 2)
    model = MultiViewSVMPerf([2, 2], C1=1.0, C2=0.3, max_iter=40, **PUBLISHED)
    with pytest.warns(ConvergenceWarning, match="set solver='joint'"):
        model.fit(np.hstack(views), y)
    joint = MultiViewSVMPerf([2, 2], C1=1.0, C2=0.3, scaling="published", fit_intercept=False)
    joint.fit(np.hstack(views), y)
    assert model.objective_history_[-1, 1] > 1.01 * joint.objective_history_[-1, 1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_on_web_pages_published_rounds_end_in_a_cycle_of_two():
    X, y = shared_data.webkb_course()
    model = MultiViewSVMPerf(
        C1=0.01, C2=0.001, solver="published", fit_intercept=False, max_iter=50, calibration="none"
    )
    bound, value = model.fit(X, y).objective_history_.T
    np.testing.assert_allclose(value[-4:-2], value[-2:], rtol=1e-9)
    assert abs(value[-1] - value[-2]) > 0.2 * value[-1]
    assert value.min() > 1.3 * bound[-1]


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


def both_ways(monkeypatch, **ways):
    """Fit wide views with the products in one form."""
    for name, answer in ways.items():
        monkeypatch.setattr(inverse, name, lambda *_, answer=answer: answer)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("V", [2, 3])
def test_all_forms_of_the_products_come_to_the_same_minimum(monkeypatch, form, V):
    rng = np.random.default_rng(6)
    X = sp.random_array((60, 90), density=0.2, rng=rng, format="csr").toarray()
    y = X @ rng.normal(size=90) > 0
    X[rng.random(60) < 0.2, : 90 // V] = np.nan  # rows without their first view
    layout = {str(v): slice(90 // V * v, 90 // V * (v + 1)) for v in range(V)}
    found = []
    for columns, rows in ((True, False), (False, False), (False, True)):
        both_ways(monkeypatch, columns_pay=columns, rows_pay=rows)
        model = MultiViewSVMPerf(layout, C2=0.3, tol=1e-5).fit(form(X), y)
        found.append(model)
        assert model.objective_history_[-1, 1] == pytest.approx(
            found[0].objective_history_[-1, 1], rel=2e-5
        )
    np.testing.assert_allclose(found[1].coef_, found[2].coef_, atol=5e-3)


def test_empty_columns_change_nothing_and_have_weight_0():
    rng = np.random.default_rng(3)
    X = sp.random_array((50, 30), density=0.3, rng=rng, format="csr")
    y = X @ rng.normal(size=30) > 0
    at = np.sort(rng.choice(1000, 30, replace=False))
    wide = sp.csr_array((X.data, at[X.indices], X.indptr), shape=(50, 1000))
    cut = int(at[15])
    narrow = MultiViewSVMPerf([15, 15], C2=0.1).fit(X, y)
    padded = MultiViewSVMPerf([cut, 1000 - cut], C2=0.1).fit(wide, y)
    np.testing.assert_array_equal(padded.coef_[0, at], narrow.coef_[0])
    assert np.count_nonzero(padded.coef_) == np.count_nonzero(narrow.coef_)
    np.testing.assert_array_equal(padded.intercept_, narrow.intercept_)


def test_a_path_comes_to_the_objectives_of_single_fits():
    X, y = shared_data.ionosphere()
    learner = MultiViewSVMPerf([17, 17], tol=1e-4)
    settings = [{"C1": C1, "C2": C2} for C1 in (1.0, 0.1) for C2 in (0.1, 0.0)]
    path = learner.fit_path(X, y, settings)
    for setting, model in zip(settings, path, strict=True):
        single = MultiViewSVMPerf([17, 17], tol=1e-4, **setting).fit(X, y)
        assert {name: getattr(model, name) for name in setting} == setting
        assert model.dual_gap_ <= 1e-4
        assert model.objective_history_[-1, 1] == pytest.approx(
            single.objective_history_[-1, 1], rel=1e-4
        )
    assert path[0].n_iter_ < MultiViewSVMPerf([17, 17], tol=1e-4).fit(X, y).n_iter_
    with pytest.raises(InputError, match="a setting names 'tol'"):
        learner.fit_path(X, y, [{"tol": 0.1}])
