"""Factorization and support tensor machines, and all rows at once: against enumeration."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import LinearSVC

import crossview
from crossview.algorithms import losses, machines, machines_batch, optimizers
from crossview.batch import make_rows, read_only
from crossview.views import ViewLayout
from reference import machines as reference

WIDTHS = [3, 2, 4]
MODELS = {
    "multi-view": machines.MULTI_VIEW,
    "cross": machines.CROSS_PAIRS,
    "all": machines.ALL_PAIRS,
    "tensor": machines.TENSOR,
}
LOSSES = {
    "squared": losses.SQUARED,
    "huber": losses.HUBER,
    "logistic": losses.LOGISTIC,
    "hinge": losses.HINGE,
    "softmax": losses.SOFTMAX,
}
PENALTIES = {"l2": optimizers.L2, "l1": optimizers.L1}


def problem(kind, classes, rows=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, sum(WIDTHS))) * (rng.random((rows, sum(WIDTHS))) < 0.7)
    if classes > 1:
        return X, rng.integers(classes, size=rows).astype(float)
    if kind in ("squared", "huber"):
        return X, 2.0 * rng.normal(size=rows)
    return X, rng.choice([-1.0, 1.0], size=rows)


def rows_of(X):
    return make_rows(X, ViewLayout(["a", "b", "c"], WIDTHS))


def machine_of(model, classes, k, seed=1):
    rng = np.random.default_rng(seed)
    k = 1 if model == machines.TENSOR else k
    A = rng.normal(size=(sum(WIDTHS), 1, classes * k))
    B = rng.normal(size=(3, 1, classes * k)) * (model == machines.MULTI_VIEW)
    return machines.Machine(
        A,
        B,
        rng.normal(size=(1, classes)),
        read_only(np.arange(3, dtype=np.uint64)),
        read_only(np.zeros(3, dtype=np.uint64)),
        read_only(np.array([3], dtype=np.uint64)),
        model,
        np.ones(sum(WIDTHS), dtype=bool),
        read_only(np.zeros(3, dtype=np.uint64)),
        read_only(np.zeros(3)),
        read_only(np.arange(classes, dtype=np.uint64)),
    )


def expected_scores(X, machine):
    """By enumeration, from the parameters of the machine."""
    K = machine.c.shape[1]
    cuts = np.cumsum(WIDTHS)[:-1]
    A = np.split(machine.A[:, 0].reshape(len(machine.A), K, -1), cuts)
    B = machine.B[:, 0].reshape(3, 1, K, -1)
    result = []
    for row in X:
        x = np.split(row, cuts)
        if machine.model == machines.MULTI_VIEW:
            group = {v: np.concatenate([A[v], B[v]]) for v in range(3)}
            result.append(reference.score(x, [group], machine.c[0]))
        elif machine.model == machines.TENSOR:
            result.append(reference.tensor_score(x, A, machine.c[0]))
        else:
            cross = machine.model == machines.CROSS_PAIRS
            result.append(reference.pairs_score(x, A, machine.c[0], cross))
    return np.array(result)


def loss_of(kind, s, y):
    if kind == "huber":
        d = abs(s - y)
        return float(np.sum(np.where(d > 1, d - 0.5, 0.5 * d**2)))
    if kind in ("hinge", "logistic", "squared") and len(s) > 1:
        y = np.where(np.arange(len(s)) == y, 1.0, -1.0)
    return reference.loss(kind, s, y)


def frozen(machine):
    return machine._replace(
        **{name: read_only(getattr(machine, name)) for name in ("A", "B", "c", "seen")}
    )


def scores_of(X, machine):
    scores = np.empty((len(X), machine.c.shape[1]))
    machines.score(rows_of(X), read_only(np.arange(len(X))), frozen(machine), scores)
    return scores


def objective(X, y, weight, machine, kind, penal, alpha):
    """From the scores of the loop and the losses, which are tested for themselves."""
    value = losses.losses(LOSSES[kind], scores_of(X, machine), y) @ weight
    touched = (X != 0).sum(axis=0)[:, None]
    value += alpha * (touched * reference.penalty(penal, machine.A[:, 0])).sum()
    if machine.model == machines.MULTI_VIEW:
        value += alpha * len(X) * reference.penalty(penal, machine.B[:, 0]).sum()
    return float(value)


def differences(value, arrays):
    found = []
    for array in arrays:
        g = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            old = array[place]
            array[place] = old + 1e-5
            up = value()
            array[place] = old - 1e-5
            g[place] = (up - value()) / 2e-5
            array[place] = old
        found.append(g)
    return found


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_every_score_is_the_full_enumeration(model, classes, container):
    X, _ = problem("softmax", 3)
    machine = machine_of(MODELS[model], classes, 4)
    scores = np.empty((len(X), classes))
    machines.score(rows_of(container(X)), read_only(np.arange(len(X))), frozen(machine), scores)
    np.testing.assert_allclose(scores_of(X, machine), scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scores, expected_scores(X, machine), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("penal", PENALTIES)
@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("model", MODELS)
def test_a_step_of_one_row_is_its_gradient(model, kind, penal):
    classes = 3 if kind == "softmax" else 1
    X, y = problem(kind, classes, rows=4)
    for i in range(len(X)):
        machine = machine_of(MODELS[model], classes, 3, seed=i)
        one = X[i : i + 1], y[i : i + 1]
        before = [machine.A.copy(), machine.B.copy(), machine.c.copy()]
        expected = differences(
            lambda: objective(*one, np.ones(1), machine, kind, penal, 0.3),  # noqa: B023
            machine[:3],
        )
        if model != "multi-view":
            expected[1][:] = 0.0
        machines.learn(
            rows_of(one[0]),
            read_only(np.zeros(1, dtype=np.int64)),
            read_only(one[1]),
            read_only(np.ones(1)),
            machine,
            LOSSES[kind],
            optimizers.SGD,
            PENALTIES[penal],
            0.3,
            0.3,
            1.0,
            np.empty((1, classes)),
        )
        for was, now, slope in zip(before, machine[:3], expected, strict=True):
            np.testing.assert_allclose(was - now, slope, atol=1e-5)


@pytest.mark.parametrize("kind", LOSSES)
@pytest.mark.parametrize("model", MODELS)
def test_the_gradient_of_all_rows(model, kind):
    classes = 3 if kind == "softmax" else 1
    X, y = problem(kind, classes)
    machine = machine_of(MODELS[model], classes, 2)
    weight = np.random.default_rng(5).choice([0.0, 0.5, 2.0], size=len(y))
    expected = differences(lambda: objective(X, y, weight, machine, kind, "l2", 0.0), machine[:3])
    dA, dB, dc = (
        np.zeros(machine.A[:, 0].shape),
        np.zeros((3, machine.B.shape[2])),
        np.zeros(classes),
    )
    machines_batch.gradient(
        rows_of(X),
        read_only(np.arange(len(X))),
        read_only(y),
        read_only(weight),
        machine,
        LOSSES[kind],
        dA,
        dB,
        dc,
        np.zeros((len(X), classes)),
    )
    np.testing.assert_allclose(dA, expected[0][:, 0], atol=1e-6)
    np.testing.assert_allclose(dc, expected[2][0], atol=1e-6)
    if model == "multi-view":
        np.testing.assert_allclose(dB, expected[1][:, 0], atol=1e-6)
    else:
        assert not dB.any()


@pytest.mark.parametrize(
    ("kind", "classes"),
    [(kind, 1) for kind in LOSSES if kind != "softmax"]
    + [(kind, 3) for kind in LOSSES if kind != "huber"],
)
def test_losses_of_rows_are_the_formulas(kind, classes):
    rng = np.random.default_rng(0)
    scores = 3.0 * rng.normal(size=(20, classes))
    _, y = problem(kind, classes, rows=20)
    expected = [loss_of(kind, s, t) for s, t in zip(scores, y, strict=True)]
    np.testing.assert_allclose(losses.losses(LOSSES[kind], scores, y), expected, rtol=1e-12)


@pytest.mark.parametrize("penal", PENALTIES)
@pytest.mark.parametrize("model", MODELS)
def test_lbfgs_ends_where_the_gradient_is_zero(model, penal):
    X, y = problem("logistic", 1, rows=60)
    machine = machine_of(MODELS[model], 1, 3)
    one = np.ones(len(y))
    values = []

    def after_each():
        values.append(objective(X, y, one, machine, "logistic", penal, 0.05))
        return False

    machines_batch.lbfgs(
        rows_of(X),
        read_only(np.arange(len(y))),
        read_only(y),
        read_only(one),
        machine,
        losses.LOGISTIC,
        PENALTIES[penal],
        0.05,
        0.05,
        2000,
        after_each,
    )
    assert (np.diff(values) <= 1e-9).all()
    slopes = differences(
        lambda: objective(X, y, one, machine, "logistic", penal, 0.05), machine[:3]
    )
    if model != "multi-view":
        slopes[1][:] = 0.0
    # the bend of the smooth L1 is steep: a thousandth of the first slope is close there
    assert max(np.abs(g).max() for g in slopes) < (1e-3 if penal == "l2" else 0.5)


@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("model", ["multi-view", "cross"])
def test_every_sweep_of_alternating_least_squares_lowers_the_objective(model, classes):
    X, y = problem("squared", classes, rows=60)
    machine = machine_of(MODELS[model], classes, 2)
    weight = np.random.default_rng(5).choice([0.0, 0.5, 2.0], size=len(y))
    values = [objective(X, y, weight, machine, "squared", "l2", 0.1)]

    def after_each():
        values.append(objective(X, y, weight, machine, "squared", "l2", 0.1))
        return False

    machines_batch.alternating_least_squares(
        rows_of(X),
        read_only(np.arange(len(y))),
        read_only(y),
        read_only(weight),
        machine,
        0.1,
        0.1,
        400,
        after_each,
    )
    assert (np.diff(values) <= 1e-6 * values[0]).all()
    assert values[-1] < 0.5 * values[0]
    slopes = differences(
        lambda: objective(X, y, weight, machine, "squared", "l2", 0.1), machine[:3]
    )
    if model != "multi-view":
        slopes[1][:] = 0.0
    assert max(np.abs(g).max() for g in slopes) < 0.01 * values[-1]


def test_a_support_tensor_machine_of_one_view_is_the_support_vector_machine():
    X, y = problem("hinge", 1, rows=80)
    alpha = 0.01
    model = crossview.SupportTensorMachineClassifier(alpha=alpha, early_stopping=False, n_epochs=1)
    model.fit(X, y)
    plain = LinearSVC(C=1 / (alpha * len(y)), loss="hinge", random_state=0, max_iter=10_000)
    np.testing.assert_allclose(
        model.decision_function(X), plain.fit(X, y).decision_function(X), atol=1e-9
    )


def test_turns_of_a_support_tensor_machine_lower_its_objective():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, sum(WIDTHS)))
    y = np.sign(X[:, 0] * X[:, 3] * X[:, 5])
    alpha, values = 0.01, []
    for turns in (1, 2, 4, 8):
        model = crossview.SupportTensorMachineClassifier(
            WIDTHS,
            alpha=alpha,
            loss="logistic",
            early_stopping=False,
            n_epochs=turns,
            random_state=0,
        ).fit(X, y > 0)
        norms = [np.linalg.norm(w) for w in model.factors_.values()]
        price = 0.5 * alpha * len(y) * np.prod(norms) ** 2
        values.append(price + np.logaddexp(0, -y * model.decision_function(X)).sum())
    assert (np.diff(values) <= 1e-6).all()
    assert model.score(X, y > 0) > 0.85
