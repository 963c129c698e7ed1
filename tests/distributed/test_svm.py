"""The SVM for a measure on rows in parts: objective, gap and weights of one machine."""

import numpy as np
import pytest
import scipy.sparse as sp
from dask.delayed import delayed

from crossview import InputError, MultiView, MultiViewSVMPerf, Perceptron
from crossview.distributed import fit_svm


def make_rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    X[:, 5] = 0.0  # empty everywhere
    y = np.where(X[:, :3].sum(axis=1) + X[:, 3] + rng.normal(size=n) > 0.7, "b", "a")
    y[(X[:, 4] > 1.0)] = "c"
    return X, y


def divided(X, y):
    """Three parts of different lengths; the last one is 0 in a column that others have."""
    return [(X[rows], y[rows]) for rows in (slice(0, 40), slice(40, 110), slice(110, None))]


@pytest.mark.parametrize("measure", ["f1", pytest.param("roc_auc", marks=pytest.mark.exhaustive)])
def test_the_solution_is_that_of_one_machine(client, measure):
    X, y = make_rows(150)
    y = np.where(y == "b", "b", "a")
    X[110:, 6] = 0.0
    views = {"first": slice(0, 3), "second": slice(3, 7)}
    for options in ({"C2": 0.01}, {"C2": 0.0, "fit_intercept": False}):
        svm = MultiViewSVMPerf(views, measure=measure, tol=1e-6, calibration="none", **options)
        here = svm.fit(X, y)
        there = fit_svm(svm, divided(X, y), client=client)
        ours, theirs = there.objective_history_[-1], here.objective_history_[-1]
        assert there.dual_gap_ <= 1e-6
        np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-6)
        np.testing.assert_allclose(there.coef_, here.coef_, rtol=0.01, atol=0.01)
        assert there.layout_ == here.layout_


def test_each_iteration_is_that_of_one_machine(client):
    X, y = make_rows()
    y = np.where(y == "b", "b", "a")
    svm = MultiViewSVMPerf([3, 4], C2=0.01, calibration="none")
    here, there = svm.fit(X, y), fit_svm(svm, divided(X, y), client=client)
    np.testing.assert_allclose(there.objective_history_, here.objective_history_, rtol=1e-9)
    np.testing.assert_allclose(there.dual_gap_, here.dual_gap_, atol=1e-9)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-8)


def test_sparse_views_several_classes_weights_and_probabilities(client):
    X, y = make_rows()
    views = MultiView({"a": sp.csr_array(X[:, :3]), "b": sp.csr_array(X[:, 3:])})
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    parts = [slice(0, 100), slice(100, None)]
    svm = MultiViewSVMPerf(measure="error_rate", C2=0.01)
    here = svm.fit(views, y, weight)
    blocks = [delayed((views[rows], y[rows], weight[rows])) for rows in parts]
    there = fit_svm(svm, blocks, client=client, held_out=[(views, y)])
    for ours, theirs in zip(there.objective_history_, here.objective_history_, strict=True):
        np.testing.assert_allclose(ours[-1], theirs[-1], rtol=1e-6)
    assert there.predict_proba(views).shape == (240, 3)


def test_other_models_and_solvers_are_refused(client):
    X, y = make_rows()
    for model, blocks, match in (
        (Perceptron(), [(X, y)], "model= is a Perceptron"),
        (MultiViewSVMPerf(solver="published"), [(X, y)], "set solver='joint'"),
        (MultiViewSVMPerf(), [], "no blocks"),
        (MultiViewSVMPerf(), [(X[:4], y[:4]), (X[4:5], y[4:5])], "one machine"),
        (MultiViewSVMPerf(), [(X[:9], ["a"] * 9)], "one class, 'a'"),
    ):
        with pytest.raises(InputError, match=match):
            fit_svm(model, blocks, client=client)
