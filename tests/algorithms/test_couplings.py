"""Coupled steps against exact references, a general-purpose optimizer, and the published ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossview.algorithms import couplings
from crossview.algorithms.couplings import Coupling, ViewSteps, absolute, coupled_step, published
from crossview.algorithms.rules import HARD, LINEAR, QUADRATIC
from reference import coupling as reference

SLACKS = {"PA": HARD, "PA-I": LINEAR, "PA-II": QUADRATIC}
KINDS = {"squared": couplings.SQUARED, "absolute": couplings.ABSOLUTE}


def step(kind, variant, gamma, C, m, n, beta=1.0, *, forward=False, relative=False):
    m, n = (np.array(values, dtype=float) for values in (m, n))
    V = len(m)
    steps = ViewSteps(m, n, beta * np.ones(V), np.zeros(V), *scratch(V))
    before = n.copy()
    coupled_step(Coupling(KINDS[kind], gamma, forward, relative), SLACKS[variant], C, V, steps)
    np.testing.assert_array_equal(n, before)
    return steps.P


def scratch(V):
    return np.zeros(V, int), np.zeros(V, bool), np.zeros(V, bool)


def problem(rng, V):
    """Margins whose mean is below 1, norms over four decades, C and gamma over three."""
    m = rng.normal(size=V) * rng.choice([0.3, 1.0, 3.0])
    m -= max(0.0, m.mean() - 1) + 0.01
    n = 10.0 ** rng.uniform(-2, 2, size=V)
    return m, n, 10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-2, 1)


def view_weights(rng, m):
    """Equal weights, or others with which the joint margin is below 1."""
    if rng.random() < 0.5:
        return np.ones(len(m))
    beta = rng.uniform(0.1, 2.0, size=len(m))
    return beta / max(1.0, np.mean(beta * m) + 0.01)


@pytest.mark.parametrize("V", [2, 3, 4, 5])
@pytest.mark.parametrize("variant", SLACKS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_step_reaches_the_optimum_of_its_problem(kind, variant, V):
    rng = np.random.default_rng([V, len(kind), len(variant)])
    for _ in range(40):
        m, n, C, gamma = problem(rng, V)
        beta = view_weights(rng, m)
        P = step(kind, variant, gamma, C, m, n, beta)
        got = reference.objective(P, m, n, C, gamma, kind, variant, beta)
        other = reference.best_step(m, n, C, gamma, kind, variant, beta)
        best = reference.objective(other, m, n, C, gamma, kind, variant, beta)
        assert got <= best + 1e-9 * max(1.0, abs(best)), (m, n, C, gamma)


@pytest.mark.parametrize("variant", SLACKS)
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
@pytest.mark.parametrize("variant", SLACKS)
def test_the_absolute_step_equals_the_enumeration_of_active_sets(variant, V):
    rng = np.random.default_rng([V, len(variant)])
    for _ in range(100):
        m, n, C, gamma = problem(rng, V)
        beta = view_weights(rng, m)
        expected = reference.absolute(m, n, C, gamma, variant, beta)
        got = step("absolute", variant, gamma, C, m, n, beta)
        np.testing.assert_allclose(got * n, expected * n, rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", SLACKS)
def test_the_squared_step_equals_its_linear_system(variant):
    rng = np.random.default_rng(len(variant))
    for _ in range(200):
        m, n, C, gamma = problem(rng, rng.integers(2, 8))
        beta = view_weights(rng, m)
        expected = reference.squared(m, n, C, gamma, variant, beta)
        got = step("squared", variant, gamma, C, m, n, beta)
        np.testing.assert_allclose(got * n, expected * n, rtol=0, atol=1e-11)


@pytest.mark.parametrize("variant", SLACKS)
def test_the_general_form_equals_the_closed_form_for_two_views(variant):
    rng = np.random.default_rng(3)
    for _ in range(300):
        m, n, C, gamma = problem(rng, 2)
        beta, closed, general = view_weights(rng, m), np.zeros(2), np.zeros(2)
        steps = ViewSteps(m, n, beta, closed, *scratch(2))
        absolute.two_view_step(SLACKS[variant], gamma, C, steps)
        absolute.step(SLACKS[variant], gamma, C, 2, steps._replace(P=general))
        np.testing.assert_allclose(general * n, closed * n, atol=1e-11)


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize("variant", SLACKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_relative_penalty_is_a_multiple_of_the_step_of_pa(kind, variant, forward):
    """So longer rows, with the C of the same step, give the same step."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        m, n, C, g = problem(rng, rng.integers(2, 5))
        gamma = g * reference.pa(0.0, n.mean(), C, variant)
        expected = step(kind, variant, gamma, C, m, n, forward=forward)
        given = {"forward": forward, "relative": True}
        found = step(kind, variant, g, C, m, n, **given)
        np.testing.assert_allclose(found * n, expected * n, rtol=1e-9, atol=1e-9)
        longer = step(kind, variant, g, C / 64.0, m, 64.0 * n, **given)
        np.testing.assert_allclose(64.0 * longer * n, found * n, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("V", [2, 3, 4])
@pytest.mark.parametrize("variant", SLACKS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_forward_step_is_the_optimum_of_the_dual_without_steps_back(kind, variant, V):
    rng = np.random.default_rng([V, len(kind), len(variant)])
    n_back = 0
    for _ in range(30):
        m, n, C, gamma = problem(rng, V)
        exact = step(kind, variant, gamma, C, m, n)
        P = step(kind, variant, gamma, C, m, n, forward=True)
        assert (P >= 0).all()
        if (exact >= 0).all():
            np.testing.assert_array_equal(P, exact)
            continue
        n_back += 1
        expected, best = reference.forward(m, n, C, gamma, kind, variant)
        got = reference.dual_of_steps(P, m, n, C, gamma, kind, variant)
        assert got == pytest.approx(best, rel=1e-5, abs=1e-9), (m, n, C, gamma)
        np.testing.assert_allclose(P * np.sqrt(n), expected * np.sqrt(n), rtol=1e-3, atol=1e-4)
    assert n_back


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("variant", SLACKS)
@pytest.mark.parametrize("V", [2, 3, 5])
def test_identical_views_reduce_to_one(V, variant, kind):
    """V equal views share the step: w·x summed over views moves as PA's on one view would.

    With P the same for all, ½ V n P² + slack is PA on a row of norm n with C / V.
    """
    for m, n, C in [(0.2, 1.5, 10.0), (-1.0, 0.4, 0.1)]:
        P = step(kind, variant, 0.3, C, [m] * V, [n] * V)
        np.testing.assert_allclose(P, reference.pa(m, n, C / V, variant), atol=1e-12)


def test_the_published_update_is_as_published_and_is_not_the_optimum():
    rng = np.random.default_rng(0)
    worse = 0
    for _ in range(200):
        m, n, C, gamma = problem(rng, 2)
        P = np.zeros(2)
        published.step(gamma, C, m, n, P)
        np.testing.assert_allclose(P, reference.published(m, n, C, gamma), rtol=1e-13)
        exact = step("absolute", "PA-I", gamma, C, m, n)
        got = reference.objective(P, m, n, C, gamma, "absolute", "PA-I")
        best = reference.objective(exact, m, n, C, gamma, "absolute", "PA-I")
        assert best <= got + 1e-12 * max(1, got)
        worse += got > 1.1 * best + 0.01
    assert worse > 50


def test_the_published_update_halves_the_step_of_identical_views():
    """Fault 1 of the paper: tau lacks the factor 2, so the margin stops half way."""
    P = np.zeros(2)
    published.step(0.5, 100.0, np.zeros(2), np.ones(2), P)
    np.testing.assert_allclose(P, [0.5, 0.5])
    np.testing.assert_allclose(step("absolute", "PA-I", 0.5, 100.0, [0, 0], [1, 1]), [1.0, 1.0])


def test_the_multiplier_of_the_joint_loss_is_not_negative():
    """(11) has no max(0, ...): here the printed tau, the sum of the steps, is below 0."""
    m, n, gamma, C = np.array([2.9, -1.0]), np.array([0.1, 1.0]), 20.0, 1.0
    as_printed = reference.published(m, n, C, gamma)
    assert 1 - m.mean() > 0
    assert sum(as_printed) < -0.3
    P = step("absolute", "PA-I", gamma, C, m, n)
    assert P.sum() == pytest.approx(0.0, abs=1e-12)
    best = reference.objective(P, m, n, C, gamma, "absolute", "PA-I")
    assert reference.objective(as_printed, m, n, C, gamma, "absolute", "PA-I") > best + 0.001


def test_the_published_dual_needs_the_square_of_a():
    """(9) with the τ of (11) is (12) with a² in its first two terms; printed is a."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        (mA, mB), (nA, nB), delta = rng.normal(size=2), rng.uniform(0.1, 5, 2), rng.normal()
        a, loss = 2 / (nA + nB), 1 - (mA + mB) / 2
        tau = a * (delta * (nA - nB) + 2 * loss)
        A, B = delta - tau / 2, -delta - tau / 2
        nine = -(A**2 * nA + B**2 * nB) / 2 + A * mA + B * mB + tau
        A, B = delta * nB - loss, -delta * nA - loss
        linear = a * (A * mA + B * mB + delta * (nA - nB) + 2 * loss)
        twelve = {power: -(a**power) / 2 * (A**2 * nA + B**2 * nB) + linear for power in (1, 2)}
        assert twelve[2] == pytest.approx(nine, rel=1e-9, abs=1e-9)
        assert abs(twelve[1] - nine) > 1e-6


def unclipped(rng):
    """α - β of a step that no bound clips, l_B / n_B - l_A / n_A, the margins and the norms."""
    m, n = rng.uniform(-2, 0.9, 2), 10.0 ** rng.uniform(-1, 1, 2)
    PA, PB = step("absolute", "PA-I", 1e6, 1e6, m, n)
    return (PB - PA) / 2, (1 - m[1]) / n[1] - (1 - m[0]) / n[0], m, n


def test_the_difference_of_the_multipliers_is_half_of_what_is_printed_in_13():
    """(13) has another division by n_A + n_B: α - β is not in the units of a step then."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        delta, bracket, m, n = unclipped(rng)
        assert delta == pytest.approx(bracket / 2, rel=1e-9)
        assert abs(delta - bracket / n.sum()) > 1e-6 * abs(delta) or n.sum() == pytest.approx(2)
        # rows ten times as long ask for a hundredth of the steps: the printed one is 1e-4
        PA, PB = step("absolute", "PA-I", 1e6, 1e6, m, 100 * n)
        assert pytest.approx(delta / 100, rel=1e-9) == (PB - PA) / 2


def test_the_derivative_before_13_has_other_signs():
    """Of (12), with a as printed or a² as meant, by differences; (13) follows from it, not from
    the derivative in print, which has + l twice."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        delta, _, (mA, mB), (nA, nB) = unclipped(rng)
        a, b, loss = 2 / (nA + nB), nA * nB, 1 - (mA + mB) / 2

        def twelve(d, power, a=a, loss=loss, nA=nA, nB=nB, mA=mA, mB=mB):
            A, B = d * nB - loss, -d * nA - loss
            squares = -(a**power) / 2 * (A**2 * nA + B**2 * nB)
            return squares + a * (A * mA + B * mB + d * (nA - nB) + 2 * loss)

        linear = a * (nA * (1 - mB) - nB * (1 - mA))
        printed = a * b * (delta * nB + loss) + a * b * (-delta * nA + loss) + linear
        for power in (1, 2):
            slope = (twelve(delta + 1, power) - twelve(delta - 1, power)) / 2  # exact: quadratic
            size = 1 + abs(a * b * loss) + abs(linear)
            right = linear - a**power * b * delta * (nA + nB)
            assert slope == pytest.approx(right, rel=1e-9, abs=1e-9 * size)
            assert abs(slope - printed) > 1e-6 * size
        assert abs(right) <= 1e-9 * size  # 0 at the step that is right, with a²


def test_no_price_of_disagreement_is_the_same_for_both_kinds():
    rng = np.random.default_rng(0)
    for _ in range(50):
        m, n, C, _ = problem(rng, 3)
        np.testing.assert_allclose(
            step("squared", "PA-I", 0.0, C, m, n),
            step("absolute", "PA-I", 0.0, C, m, n),
            atol=1e-12,
        )


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
