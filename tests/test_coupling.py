"""Coupled steps against exact references, a general-purpose optimizer, and the paper as printed."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from crossview import MultiView, MultiViewPAClassifier, PassiveAggressiveClassifier
from crossview.algorithms import coupling as ours
from crossview.algorithms.first_order import PA, PA_I, PA_II
from reference import coupling as reference
from reference.second_order import Geometry

RULES = {"PA": PA, "PA-I": PA_I, "PA-II": PA_II}
KINDS = {"squared": ours.SQUARED, "absolute": ours.ABSOLUTE}


def step(kind, variant, gamma, C, m, n):
    m, n = np.asarray(m, float), np.asarray(n, float)
    P, places, cut = np.zeros(len(m)), np.zeros(len(m), int), np.zeros(len(m), bool)
    rule, C = (PA_I, np.inf) if variant == "PA" and kind == "absolute" else (RULES[variant], C)
    ours.coupled_step(KINDS[kind], rule, gamma, C, len(m), m, n, P, places, cut)
    return P


def problem(rng, V):
    """Margins whose mean is below 1, norms over four decades, C and gamma over three."""
    m = rng.normal(size=V) * rng.choice([0.3, 1.0, 3.0])
    m -= max(0.0, m.mean() - 1) + 0.01
    n = 10.0 ** rng.uniform(-2, 2, size=V)
    return m, n, 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-2, 1)


@pytest.mark.parametrize("V", [2, 3, 4, 5])
@pytest.mark.parametrize("variant", RULES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_step_reaches_the_optimum_of_its_problem(kind, variant, V):
    rng = np.random.default_rng([V, len(kind), len(variant)])
    for _ in range(40):
        m, n, C, gamma = problem(rng, V)
        P = step(kind, variant, gamma, C, m, n)
        got = reference.objective(P, m, n, C, gamma, kind, variant)
        other = reference.best_step(m, n, C, gamma, kind, variant)
        best = reference.objective(other, m, n, C, gamma, kind, variant)
        assert got <= best + 1e-9 * max(1.0, abs(best)), (m, n, C, gamma)


@pytest.mark.parametrize("variant", RULES)
def test_the_absolute_step_is_exact_on_badly_scaled_problems(variant):
    """Up to eight views, norms and prices over six decades, ties among the margins.

    Coordinate ascent on the dual needs more than 20,000 sweeps on some of these.
    """
    rng = np.random.default_rng(5)
    for _ in range(400):
        V = rng.integers(3, 9)
        m = rng.normal(size=V) * rng.choice([0.3, 1.0, 3.0])
        m[rng.integers(V)] = m[0]
        m -= max(0.0, m.mean() - 1) + 0.01
        n = 10.0 ** rng.uniform(-3, 3, size=V)
        n = np.full(V, n[0]) if rng.random() < 0.3 else n
        C, gamma = 10.0 ** rng.uniform(-3, 3, size=2)
        P = step("absolute", variant, gamma, C, m, n)
        got = reference.objective(P, m, n, C, gamma, "absolute", variant)
        other = reference.best_step(m, n, C, gamma, "absolute", variant)
        best = reference.objective(other, m, n, C, gamma, "absolute", variant)
        if variant == "PA":  # the constraint must hold, then the rest is compared
            assert np.mean(m + n * P) >= 1 - 1e-9
            got = reference.objective(P, m, n, 0.0, gamma, "absolute", "PA-I")
            best = reference.objective(other, m, n, 0.0, gamma, "absolute", "PA-I")
        assert got <= best + 1e-8 * max(1.0, abs(best)), (m, n, C, gamma)


@pytest.mark.parametrize("V", [2, 3])
@pytest.mark.parametrize("variant", RULES)
def test_the_absolute_step_equals_the_enumeration_of_active_sets(variant, V):
    rng = np.random.default_rng([V, len(variant)])
    for _ in range(100):
        m, n, C, gamma = problem(rng, V)
        expected = reference.absolute(m, n, C, gamma, variant)
        got = step("absolute", variant, gamma, C, m, n)
        np.testing.assert_allclose(got * n, expected * n, rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", RULES)
def test_the_squared_step_equals_its_linear_system(variant):
    rng = np.random.default_rng(len(variant))
    for _ in range(200):
        m, n, C, gamma = problem(rng, rng.integers(2, 8))
        expected = reference.squared(m, n, C, gamma, variant)
        got = step("squared", variant, gamma, C, m, n)
        np.testing.assert_allclose(got * n, expected * n, rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", RULES)
def test_the_general_form_equals_the_closed_form_for_two_views(variant):
    rng = np.random.default_rng(3)
    rule = PA_I if variant == "PA" else RULES[variant]
    for _ in range(300):
        m, n, C, gamma = problem(rng, 2)
        C = np.inf if variant == "PA" else C
        closed, general = np.zeros(2), np.zeros(2)
        ours.absolute_two_step(rule, gamma, C, m, n, closed)
        ours.absolute_step(rule, gamma, C, 2, m, n, general, np.zeros(2, int), np.zeros(2, bool))
        np.testing.assert_allclose(general * n, closed * n, atol=1e-11)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", RULES)
@pytest.mark.parametrize("V", [2, 3, 5])
def test_identical_views_reduce_to_one(V, variant, kind):
    """V equal views share the step: w·x summed over views moves as PA's on one view would.

    With P the same for all, ½ V n P² + slack is PA on a row of norm n with C / V.
    """
    for m, n, C in [(0.2, 1.5, 10.0), (-1.0, 0.4, 0.1)]:
        P = step(kind, variant, 0.3, C, [m] * V, [n] * V)
        np.testing.assert_allclose(P, reference.pa(m, n, C / V, variant), atol=1e-12)


def test_two_identical_views_learn_what_pa_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = X @ rng.normal(size=6) + 0.5 * rng.normal(size=200) > 0
    one = PassiveAggressiveClassifier(variant="PA", shuffle=False).fit(X, y)
    for kind in KINDS:
        two = MultiViewPAClassifier([6, 6], variant="PA", coupling=kind, shuffle=False)
        two.fit(np.hstack([X, X]), y)
        np.testing.assert_allclose(two.coef_, np.hstack([one.coef_, one.coef_]), atol=1e-11)
        np.testing.assert_allclose(
            two.decision_function(np.hstack([X, X])), one.decision_function(X), atol=1e-11
        )


def test_the_printed_update_is_as_printed_and_is_not_the_optimum():
    rng = np.random.default_rng(0)
    worse = 0
    for _ in range(200):
        m, n, C, gamma = problem(rng, 2)
        P = np.zeros(2)
        ours.published_step(gamma, C, m, n, P)
        np.testing.assert_allclose(P, reference.published(m, n, C, gamma), rtol=1e-13)
        exact = step("absolute", "PA-I", gamma, C, m, n)
        got = reference.objective(P, m, n, C, gamma, "absolute", "PA-I")
        best = reference.objective(exact, m, n, C, gamma, "absolute", "PA-I")
        assert best <= got + 1e-12 * max(1, got)
        worse += got > 1.1 * best + 0.01
    assert worse > 50


def test_the_printed_update_halves_the_step_of_identical_views():
    """Fault 1 of the print: tau lacks the factor 2, so the margin stops half way."""
    P = np.zeros(2)
    ours.published_step(0.5, 100.0, np.zeros(2), np.ones(2), P)
    np.testing.assert_allclose(P, [0.5, 0.5])
    np.testing.assert_allclose(step("absolute", "PA-I", 0.5, 100.0, [0, 0], [1, 1]), [1.0, 1.0])


def test_no_price_of_disagreement_is_the_same_for_both_kinds():
    rng = np.random.default_rng(0)
    for _ in range(50):
        m, n, C, _ = problem(rng, 3)
        np.testing.assert_allclose(
            step("squared", "PA-I", 0.0, C, m, n),
            step("absolute", "PA-I", 0.0, C, m, n),
            atol=1e-12,
        )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_permuting_the_views_permutes_the_steps(data):
    V = data.draw(st.integers(2, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    m, n, C, gamma = problem(rng, V)
    order = rng.permutation(V)
    for kind in KINDS:
        P = step(kind, "PA-I", gamma, C, m, n)
        Q = step(kind, "PA-I", gamma, C, m[order], n[order])
        np.testing.assert_allclose(Q * n[order], (P * n)[order], atol=1e-10)


def test_a_very_high_price_makes_the_views_one():
    m, n = np.array([0.5, -2.0, 0.1]), np.array([1.0, 3.0, 0.2])
    for kind in KINDS:
        s = m + n * step(kind, "PA-I", 1e9, 0.5, m, n)
        np.testing.assert_allclose(s, s.mean(), atol=1e-6)


# --- the whole learner ------------------------------------------------------------


def views(V, classes, seed=0, rows=50):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(rows, 4))
    blocks = [
        (truth @ rng.normal(size=(4, 3 + v)) + 0.5 * rng.normal(size=(rows, 3 + v)))
        * (rng.random((rows, 3 + v)) < 0.7)
        for v in range(V)
    ]
    blocks[0][4] = 0.0  # an empty view
    for block in blocks:
        block[9] = 0.0  # an empty row
    y = (truth @ rng.normal(size=(4, classes)) + 0.3 * rng.normal(size=(rows, classes))).argmax(1)
    return blocks, y


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


@pytest.mark.parametrize("missing", [False, True], ids=["complete", "missing"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("coupling", "variant", "V"), CASES)
@pytest.mark.parametrize(
    ("container", "covariance"),
    [
        (np.asarray, None),
        (sp.csr_array, None),
        (sp.csr_array, "full"),
        (np.asarray, "diagonal"),
        (np.asarray, "low-rank"),
    ],
    ids=["dense", "sparse", "sparse-full", "dense-diagonal", "dense-low-rank"],
)
def test_the_learner_equals_its_slow_reference(
    coupling, variant, V, classes, intercept, missing, container, covariance
):
    blocks, y = views(V, classes)
    gamma, C = 0.3, 0.4
    present = np.random.default_rng(2).random((len(y), V)) < 0.75 if missing else None

    def solve(m, n, C):
        if coupling == "independent" or len(m) == 1:
            return [reference.pa(a, b, C, variant) for a, b in zip(m, n, strict=True)]
        if coupling == "published":
            return reference.published(m, n, C, gamma)
        return getattr(reference, coupling)(m, n, C, gamma, variant)

    W, scores = reference.learn(
        blocks, y, solve, present, C, intercept, independent=coupling == "independent",
        geometry=covariance and partial(Geometry, DIAGONAL.get(covariance, covariance), rank=10),
    )  # fmt: skip
    exact = coupling != "published"
    model = MultiViewPAClassifier(
        coupling=coupling if exact else "absolute",
        update="exact" if exact else "published",
        variant=variant,
        C=C,
        disagreement=gamma,
        fit_intercept=intercept,
        geometry="mahalanobis" if covariance else "euclidean",
        covariance=covariance or "auto",
        rank=10,
    )
    tolerance = 1e-10 if covariance else 1e-12
    X = MultiView({f"v{v}": container(b) for v, b in enumerate(blocks)}, present=present)
    got = model.score_then_learn(X, y, np.arange(classes))
    expected = np.hstack([w[:, :-1] if intercept else w for w in W])
    np.testing.assert_allclose(model.coef_, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(got, scores, rtol=0, atol=tolerance)
    if intercept:
        biases = np.stack([w[:, -1] for w in W], axis=1)
        np.testing.assert_allclose(
            model.intercept_, biases[0] if classes == 2 else biases, rtol=0, atol=tolerance
        )


def test_a_missing_view_takes_no_part():
    blocks, y = views(3, 2)
    X = MultiView(dict(zip("abc", blocks, strict=True)))
    without = X.select(["a", "c"])
    holes = MultiView(
        dict(zip("abc", blocks, strict=True)), present=np.tile([True, False, True], (len(y), 1))
    )
    for coupling in ("squared", "absolute", "independent", "concatenated"):
        model = MultiViewPAClassifier(coupling=coupling, random_state=0).fit(holes, y)
        other = MultiViewPAClassifier(coupling=coupling, random_state=0).fit(without, y)
        np.testing.assert_allclose(
            model.decision_function(holes), other.decision_function(without), atol=1e-12
        )
        assert np.isnan(model.view_scores(holes)[:, 1]).all()


def test_concatenated_is_the_single_view_learner():
    blocks, y = views(3, 3)
    X = MultiView(dict(zip("abc", blocks, strict=True)))
    model = MultiViewPAClassifier(coupling="concatenated", random_state=0).fit(X, y)
    plain = PassiveAggressiveClassifier(random_state=0).fit(np.hstack(blocks), y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.intercept_, plain.intercept_)


@pytest.mark.parametrize(
    "wrong",
    [
        {"coupling": "squared"},
        {"coupling": "absolute", "variant": "PA-II"},
        {"coupling": "absolute", "views": [2, 2, 3]},
    ],
)
def test_the_printed_update_says_what_it_needs(wrong):
    X, y = np.eye(7), np.array([0, 1, 0, 1, 0, 1, 0])
    model = MultiViewPAClassifier(**{"views": [3, 4], **wrong}, update="published")
    with pytest.raises(ValueError, match=r"two views \(there are"):
        model.fit(X, y)
