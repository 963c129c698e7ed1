"""The passes against slow references, a peer, and themselves as plain Python."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from crossview import MultiView, MultiViewPAClassifier, PassiveAggressiveClassifier
from crossview.algorithms import online, rules
from crossview.algorithms.couplings import INDEPENDENT, SQUARED, Coupling
from crossview.algorithms.geometries import covariance as forms
from crossview.algorithms.rules import Rule
from crossview.batch import make_rows, read_only
from crossview.views import ViewLayout
from online_learners import FIRST_ORDER, FORMS, SECOND_ORDER, one_pass, stream, views
from reference import coupling as coupling_reference
from reference import first_order, second_order
from reference.second_order import Geometry

# every pair of values of any two columns comes once
PAIRWISE = [
    (2, False, 0.0, sp.csr_array),
    (2, True, 0.6, np.asarray),
    (4, False, 1.5, np.asarray),
    (4, True, 0.0, sp.csr_array),
]


def intercept(scaling):
    """The parameters of an intercept; 0: none."""
    return {"intercept_scaling": scaling} if scaling else {"fit_intercept": False}


@pytest.mark.parametrize(("classes", "average", "scaling", "container"), PAIRWISE)
@pytest.mark.parametrize("rule", FIRST_ORDER)
def test_a_learner_without_covariance_equals_its_slow_reference(
    rule, average, scaling, classes, container
):
    X, y = stream(classes)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    model = FIRST_ORDER[rule](average=average, **intercept(scaling))
    scores = model.score_then_learn(container(X), y, np.arange(classes), sample_weight=weights)
    W, b, expected = first_order.learn(X, y, rule, 0.3, scaling, weights, average)
    np.testing.assert_allclose(model.coef_, W, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, b, rtol=0, atol=1e-12)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("classes", "average", "scaling", "container"), PAIRWISE)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", SECOND_ORDER)
def test_a_learner_with_a_covariance_equals_its_slow_reference(
    rule, form, average, scaling, classes, container
):
    X, y = stream(classes)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    model = SECOND_ORDER[rule](
        average=average, initial_variance=0.7, **intercept(scaling), **FORMS[form]
    )
    model, scores = one_pass(model, container(X), y, sample_weight=weights)
    W, b, expected, S = second_order.learn(
        X, y, rule, form, C=0.3, r=0.5, confidence=0.8, rank=9, scale=0.7,
        scaling=scaling, weights=weights, average=average,
    )  # fmt: skip
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.coef_, W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, b, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.covariance_matrix(), S, rtol=0, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", ["full", "precision", "covariance"])
@pytest.mark.parametrize("rule", ["PAM-II", "AROW", "SCW-I"])
def test_a_covariance_that_forgets_equals_its_slow_reference(rule, form, classes):
    X, y = stream(classes)
    options = {"initial_variance": 0.7, "forgetting": 0.9, "intercept_scaling": 0.6}
    model, scores = one_pass(SECOND_ORDER[rule](**options, **FORMS[form]), sp.csr_array(X), y)
    W, _, expected, S = second_order.learn(
        X, y, rule, form, C=0.3, r=0.5, confidence=0.8, scale=0.7, scaling=0.6, forgetting=0.9
    )
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.coef_, W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.covariance_matrix(), S, rtol=0, atol=1e-10)
    # a long pass interleaves weights and variances, a short one does not
    again = SECOND_ORDER[rule](**options, **FORMS[form])
    for i in range(len(y)):
        again.partial_fit(sp.csr_array(X[i : i + 1]), y[i : i + 1], classes=np.arange(classes))
    np.testing.assert_array_equal(again.coef_, model.coef_)


# the reference's name for the diagonal that is kept
DIAGONAL = {"diagonal": "precision"}
CASES = [
    ("squared", "PA-I", 2),
    ("squared", "PA-I", 4),
    ("squared", "PA-II", 3),
    ("squared", "PA", 3),
    ("absolute", "PA-I", 2),
    ("absolute", "PA-II", 2),
    ("absolute", "PA-I", 3),
    ("absolute", "PA", 2),
    ("independent", "PA-I", 3),
    ("published", "PA-I", 2),
]


ROWS_AND_INTERCEPTS = [
    *((2, 0.0, False, False), (2, 0.6, True, True)),
    *((3, 0.0, True, True), (3, 1.5, False, False)),
]
FORMS_OF_ROWS = {
    "dense": (np.asarray, None),
    "sparse": (sp.csr_array, None),
    "sparse-full": (sp.csr_array, "full"),
    "dense-diagonal": (np.asarray, "diagonal"),
    "dense-low-rank": (np.asarray, "low-rank"),
}


def half_of_the_grid():
    """Each case with each form of the rows, and half of the rest; `make test-all` has all."""
    for (i, case), (j, form) in itertools.product(enumerate(CASES), enumerate(FORMS_OF_ROWS)):
        for k, rest in enumerate(ROWS_AND_INTERCEPTS):
            marks = [pytest.mark.exhaustive] if (i + j + k // 2 + k) % 2 else []
            name = "-".join(map(str, (form, *case, *rest)))
            yield pytest.param(*case, *rest, *FORMS_OF_ROWS[form], id=name, marks=marks)


@pytest.mark.parametrize(
    (
        *("coupling", "variant", "V", "classes", "scaling", "missing", "learned"),
        *("container", "covariance"),
    ),
    list(half_of_the_grid()),
)
def test_a_learner_on_views_equals_its_slow_reference(
    coupling, variant, V, classes, scaling, missing, learned, container, covariance
):
    blocks, y = views(V, classes)
    gamma, C = 0.3, 0.4
    learned &= coupling != "published"
    present = np.random.default_rng(2).random((len(y), V)) < 0.75 if missing else None

    def solve(m, n, C, beta=None):
        if coupling == "independent":
            return [coupling_reference.pa(a, b, C, variant) for a, b in zip(m, n, strict=True)]
        if coupling == "published" and len(m) == 2:
            return coupling_reference.published(m, n, C, gamma)
        exactly = getattr(coupling_reference, "squared" if len(m) == 1 else coupling)
        return exactly(m, n, C, gamma, variant, 1.0 if beta is None else beta)

    W, scores = coupling_reference.learn(
        blocks, y, solve, present, C, scaling, independent=coupling == "independent",
        geometry=covariance and partial(Geometry, DIAGONAL.get(covariance, covariance), rank=10),
        learned=learned,
    )  # fmt: skip
    exact = coupling != "published"
    model = MultiViewPAClassifier(
        coupling=coupling if exact else "absolute",
        update="exact" if exact else "published",
        variant=variant,
        C=C,
        disagreement=gamma,
        view_weights="learned" if learned else "equal",
        **intercept(scaling),
        geometry="mahalanobis" if covariance else "euclidean",
        covariance=covariance or "auto",
        rank=10,
    )
    tolerance = 1e-10 if covariance else 1e-12
    X = MultiView({f"v{v}": container(b) for v, b in enumerate(blocks)}, present=present)
    got = model.score_then_learn(X, y, np.arange(classes))
    expected = np.hstack([w[:, :-1] if scaling else w for w in W])
    np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got, scores, rtol=0, atol=tolerance)
    if scaling:
        biases = np.stack([w[:, -1] for w in W], axis=1)
        np.testing.assert_allclose(
            model.intercept_, biases[0] if classes == 2 else biases, rtol=0, atol=tolerance
        )


def test_pa_equals_the_peer_on_its_own_rule():
    """scikit-learn's pa1 and pa2 without intercept are the same learners."""
    X, y = stream(2, rows=400)
    X = X[X.any(axis=1)]
    y = y[: len(X)]
    for variant, rate in [("PA-I", "pa1"), ("PA-II", "pa2")]:
        peer = SGDClassifier(
            loss="hinge",
            penalty=None,
            learning_rate=rate,
            eta0=0.5,
            fit_intercept=False,
            shuffle=False,
            max_iter=1,
            tol=None,
        ).fit(X, y)
        ours = PassiveAggressiveClassifier(
            variant=variant, C=0.5, fit_intercept=False, shuffle=False
        ).fit(X, y)
        np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
def test_two_identical_views_learn_what_pa_learns(variant):
    """With half of the C: there is one slack, but two changes of the weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = X @ rng.normal(size=6) + 0.5 * rng.normal(size=200) > 0
    given = {"variant": variant, "shuffle": False}
    one = PassiveAggressiveClassifier(C=0.05, **given).fit(X, y)
    for kind in ("squared", "absolute"):
        two = MultiViewPAClassifier([6, 6], C=0.1, coupling=kind, **given)
        two.fit(np.hstack([X, X]), y)
        np.testing.assert_allclose(two.coef_, np.hstack([one.coef_, one.coef_]), atol=1e-11)
        np.testing.assert_allclose(
            two.decision_function(np.hstack([X, X])), one.decision_function(X), atol=1e-11
        )


@pytest.mark.exhaustive  # the functions in it are compiled for the types of plain Python
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", [None, forms.FULL, forms.DIAGONAL, forms.LOW_RANK])
def test_a_pass_as_plain_python_gives_what_the_compiled_one_gives(form, classes, monkeypatch):
    X, target = stream(classes, rows=40)
    layout = ViewLayout(["a", "b"], [4, 5])
    y = np.where(target == 1, 1.0, -1.0) if classes == 2 else target
    examples = online.Examples(
        make_rows(sp.csr_array(X), layout),
        read_only(np.arange(len(y))),
        read_only(y if form is None else y.astype(float)),
        read_only(np.ones(len(y))),
        None,
    )
    results = []
    for compiled in (True, False):
        if not compiled:
            for name in ("euclidean_pass", "covariance_pass"):
                monkeypatch.setattr(online, name, getattr(online, name).py_func)
        axis = (classes,) if classes > 2 else (1,) if form is not None else ()
        model = online.Weights(
            np.zeros((9, *axis)), np.zeros((2, *axis)), np.zeros((0, *axis)), np.zeros((0, *axis)),
            np.zeros(1, np.int64), np.zeros((2, 2)),
        )  # fmt: skip
        scores = np.zeros((len(y), *axis))
        pass_examples = examples._replace(scores=scores)
        if form is None:
            rule = Rule(rules.PA, rules.LINEAR, 0.3, 0.0)
            online.learn(pass_examples, model, 1.0, rule, Coupling(SQUARED, 0.1))
        else:
            S = forms.init_covariance(form, layout.ptr, 1.0, 50)
            S = forms.with_room(S, entries=X.size)
            rule = Rule(rules.AROW, rules.HARD, 1.0, 0.0)
            coupling = Coupling(INDEPENDENT, 0.0)
            online.learn_with_covariance(pass_examples, model, S, 1.0, rule, coupling)
        results.append((model.W, scores))
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-13)
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-13)
