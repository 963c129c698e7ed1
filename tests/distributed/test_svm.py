"""The SVM for a measure on rows in parts: objective, gap and weights of one machine."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from dask.delayed import delayed
from sklearn.exceptions import ConvergenceWarning

from crossview import InputError, MultiView, MultiViewSVMPerf, Perceptron
from crossview.distributed import fit_svm
from crossview.distributed.svm import PartActor, assign_workers


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


@pytest.mark.parametrize("measure", ["f1", "precision_at_k", "roc_auc"])
def test_each_iteration_is_that_of_one_machine(client, measure):
    X, y = make_rows()
    X = np.round(X, 1)  # some rows are equal, so their scores are
    y = np.where(y == "b", "b", "a")
    svm = MultiViewSVMPerf([3, 4], measure=measure, C2=0.01, calibration="none")
    here, there = svm.fit(X, y), fit_svm(svm, divided(X, y), client=client)
    np.testing.assert_allclose(there.objective_history_, here.objective_history_, rtol=1e-9)
    np.testing.assert_allclose(there.dual_gap_, here.dual_gap_, atol=1e-9)
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=1e-8)


def test_workers_change_no_bit_and_neither_do_lost_scores(client, one_worker, monkeypatch):
    X, y = make_rows()
    svm = MultiViewSVMPerf([3, 4], C2=0.01, calibration="none")
    calm = fit_svm(svm, divided(X, y), client=one_worker)
    call, asked, lost = PartActor.call, [], []

    def die_now_and_then(self, method, values):
        asked.append(method)
        if len(asked) % 7 == 5:
            lost.append(method)
            raise OSError("no such worker")
        return call(self, method, values)

    monkeypatch.setattr(PartActor, "call", die_now_and_then)
    there = fit_svm(svm, divided(X, y), client=client)
    assert {"count_scores", "scores_in", "sum_of_wrong"} <= set(lost)
    np.testing.assert_array_equal(there.coef_, calm.coef_)
    for ours, theirs in zip(there.objective_history_, calm.objective_history_, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_travels_does_not_grow_with_the_rows(client, monkeypatch):
    """Counts in bins, and scores of the few bins that decide."""
    call, sent = PartActor.call, []

    def weigh(self, method, values):
        found = call(self, method, values)
        sent.append(len(pickle.dumps(found)) + len(pickle.dumps(values)))
        return found

    monkeypatch.setattr(PartActor, "call", weigh)
    X, y = make_rows(60_000)
    svm = MultiViewSVMPerf([3, 4], C2=0.01, calibration="none", max_iter=5)
    with pytest.warns(ConvergenceWarning):
        fit_svm(svm, divided(X, np.where(y == "b", "b", "a")), client=client)
    assert max(sent) < 8 * 60_000 / 8


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


class _Cluster:
    """Two workers, one with twice the threads, and where blocks are."""

    def __init__(self, threads, places):
        self._threads, self._places = threads, places

    def ncores(self):
        return self._threads

    def who_has(self, blocks):
        return {block.key: self._places[block.key] for block in blocks}


@pytest.mark.parametrize(
    ("threads", "places", "sizes", "expected"),
    [
        ({"a": 1, "b": 1}, ["a", "a", "a", "b"], [9, 9, 9, 9], "aabb"),
        ({"a": 1, "b": 1}, ["a", "a", "a", "a"], [9, 9, 9, 9], "aabb"),
        ({"a": 1, "b": 1}, ["b", "a", "b", "a"], [9, 9, 9, 9], "baba"),  # nothing travels
        ({"a": 2, "b": 1}, ["b", "b", "b"], [5, 5, 5], "baa"),
        ({"a": 1, "b": 1}, ["a", "a"], [100, 1], "ab"),
        ({"a": 1, "b": 1}, ["gone", "a"], [5, 5], "ab"),
    ],
)
def test_workers_have_rows_by_their_threads_and_few_travel(threads, places, sizes, expected):
    blocks = [SimpleNamespace(key=str(i)) for i in range(len(places))]
    cluster = _Cluster(threads, {str(i): (place,) for i, place in enumerate(places)})
    assert "".join(assign_workers(cluster, blocks, sizes)) == expected
