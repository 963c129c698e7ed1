"""Learners with a covariance against the slow reference, the papers' problems and their bounds."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import crossview
from crossview import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    InputError,
    MultiViewPAClassifier,
    PAMClassifier,
    SecondOrderPerceptron,
    SoftConfidenceWeightedClassifier,
)
from crossview.algorithms import first_order, second_order
from reference import second_order as reference
from test_first_order import stream

LEARNERS = {
    "PAM": lambda **k: PAMClassifier(variant="PAM", **k),
    "PAM-I": lambda **k: PAMClassifier(variant="PAM-I", C=0.3, **k),
    "PAM-II": lambda **k: PAMClassifier(variant="PAM-II", C=0.3, **k),
    "AROW": lambda **k: AROWClassifier(r=0.5, **k),
    "CW-stdev": lambda **k: ConfidenceWeightedClassifier(form="stdev", confidence=0.8, **k),
    "CW-variance": lambda **k: ConfidenceWeightedClassifier(form="variance", confidence=0.8, **k),
    "SCW-I": lambda **k: SoftConfidenceWeightedClassifier(confidence=0.8, C=0.3, **k),
    "SCW-II": lambda **k: SoftConfidenceWeightedClassifier(
        variant="SCW-II", confidence=0.8, C=0.3, **k
    ),
    "SOP": lambda **k: SecondOrderPerceptron(**k),
}
FORMS = {
    "full": {"covariance": "full"},
    "precision": {"covariance": "diagonal"},
    "covariance": {"covariance": "diagonal", "diagonal": "covariance"},
    "low-rank": {"covariance": "low-rank", "rank": 9},
}


def one_pass(model, X, y, **options):
    scores = model.score_then_learn(X, y, np.unique(y), **options)
    return model, scores


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array], ids=lambda c: c.__name__)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rule", LEARNERS)
def test_equals_the_slow_reference(rule, form, average, intercept, classes, container):
    X, y = stream(classes)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 2.0], size=len(y))
    model = LEARNERS[rule](
        average=average, fit_intercept=intercept, initial_variance=0.7, **FORMS[form]
    )
    model, scores = one_pass(model, container(X), y, sample_weight=weights)
    W, b, expected, S = reference.learn(
        X, y, rule, form, C=0.3, r=0.5, confidence=0.8, rank=9, scale=0.7,
        intercept=intercept, weights=weights, average=average,
    )  # fmt: skip
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.coef_, W, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, b, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.covariance_matrix(), S, rtol=0, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rule", LEARNERS)
def test_low_rank_with_room_for_all_updates_is_full(rule, classes):
    X, y = stream(classes, columns=30)
    full, scores = one_pass(LEARNERS[rule](covariance="full"), X, y)
    low, others = one_pass(LEARNERS[rule](covariance="low-rank", rank=len(y)), X, y)
    assert low.covariance_form_ == "low-rank"
    np.testing.assert_allclose(others, scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(low.coef_, full.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(low.covariance_matrix(), full.covariance_matrix(), atol=1e-10)


@pytest.mark.parametrize("diagonal", ["precision", "covariance"])
@pytest.mark.parametrize("rule", LEARNERS)
def test_the_diagonal_is_full_where_rows_lie_on_the_axes(rule, diagonal):
    rng = np.random.default_rng(0)
    column = rng.integers(0, 6, 200)
    X = np.zeros((200, 6))
    X[np.arange(200), column] = rng.normal(size=200) + 0.5
    y = (X.sum(axis=1) * np.where(column % 2, 1, -1) > 0.3 * rng.normal(size=200)).astype(int)
    options = {"fit_intercept": False}
    full, scores = one_pass(LEARNERS[rule](covariance="full", **options), X, y)
    diag, others = one_pass(
        LEARNERS[rule](covariance="diagonal", diagonal=diagonal, **options), X, y
    )
    np.testing.assert_allclose(others, scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(diag.covariance_matrix(), full.covariance_matrix(), atol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_auto_is_exact_and_changes_its_form_as_rows_come(sparse):
    X, y = stream(3, rows=400, columns=90)
    X[:, 20:] *= np.random.default_rng(0).random((400, 70)) < 0.1
    rows = sp.csr_array(X) if sparse else X
    auto = PAMClassifier()
    assert auto.partial_fit(rows[:90], y[:90], [0, 1, 2]).covariance_form_ == "low-rank"
    auto.partial_fit(rows[90:], y[90:])
    assert auto.covariance_form_ == "full"
    full, _ = one_pass(PAMClassifier(covariance="full"), rows, y)
    np.testing.assert_allclose(auto.coef_, full.coef_, atol=1e-10)
    np.testing.assert_allclose(auto.covariance_matrix(), full.covariance_matrix(), atol=1e-10)
    small = PAMClassifier().partial_fit(X[:9, :40], y[:9], [0, 1, 2])
    assert small.covariance_form_ == "full"


def test_auto_ends_in_the_diagonal_where_a_triangle_is_too_large():
    rng = np.random.default_rng(0)
    wide = sp.random_array((1500, 100_000), density=2e-4, rng=rng, format="csr")
    y = (np.asarray(wide.sum(axis=1)).ravel() > 10).astype(int)
    model = AROWClassifier(covariance="auto").partial_fit(wide[:900], y[:900], [0, 1])
    assert model.covariance_form_ == "low-rank"
    assert model.partial_fit(wide[900:], y[900:]).covariance_form_ == "diagonal"
    assert model.covariance_form_ == "diagonal"
    # and it is the diagonal of S^-1 that the rows left behind
    exact = AROWClassifier(covariance="low-rank", rank=1500).partial_fit(wide, y, [0, 1])
    assert np.mean(exact.predict(wide) == model.predict(wide)) > 0.97


def test_a_full_covariance_that_does_not_fit_says_so():
    X = sp.csr_array(np.eye(2, 3_000_000))
    with pytest.raises(InputError, match=r"3,000,000 columns needs 33,527\.\d GiB.*'diagonal'"):
        PAMClassifier(covariance="full").fit(X, [0, 1])
    with pytest.raises(InputError, match=r"2,000,000 \+ 1,000,000 columns"):
        MultiViewPAClassifier(
            [2_000_000, 1_000_000], geometry="mahalanobis", covariance="full"
        ).fit(X, [0, 1])


SPD_FORMS = {
    "full": {"covariance": "full"},
    "precision": {"covariance": "diagonal"},
    "covariance": {"covariance": "diagonal", "diagonal": "covariance"},
    "low-rank": {"covariance": "low-rank", "rank": 12},
}


@pytest.mark.parametrize("form", SPD_FORMS)
@pytest.mark.parametrize("rule", ["PAM-II", "AROW", "CW-stdev", "SCW-I", "SOP"])
def test_the_covariance_stays_positive_definite_on_badly_scaled_rows(rule, form):
    """A million updates, values from 1e-6 to 1e6, and labels that contradict each other.

    (Forty thousand in the low-rank form, which looks after its rows every few of them.)
    """
    rng = np.random.default_rng(0)
    X = 10.0 ** rng.uniform(-6, 6, (50_000, 6)) * rng.choice([-1, 1], (50_000, 6))
    X[::2] *= rng.random((25_000, 6)) < 0.5
    model = LEARNERS[rule](**SPD_FORMS[form])
    if form == "low-rank":
        X = X[:2000]
    for _ in range(20):  # labels against the model, so that it has to learn
        y = (model.decision_function(X) <= 0).astype(int) if hasattr(model, "classes_") else (
            rng.integers(0, 2, len(X))
        )  # fmt: skip
        scores = model.score_then_learn(X, y, [0, 1])
        assert np.isfinite(scores).all()
    S = model.covariance_matrix()
    assert np.isfinite(S).all()
    np.testing.assert_allclose(S, S.T, rtol=1e-12)
    scale = np.sqrt(np.diag(S))
    assert (scale > 0).all()
    # the signs of the eigenvalues are those of the correlations', which are well scaled
    assert np.linalg.eigvalsh(S / np.outer(scale, scale)).min() > -1e-12
    state = model._get_state()
    assert (state["S.D"] > 0).all()
    assert (state["S.d"] > 0).all()
    assert np.isfinite(model.coef_).all()
    assert set(model.predict(X)) <= {0, 1}


# --- what the rules promise ---------------------------------------------------


def rows_with_margins(seed, count=40, columns=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, columns)), rng.integers(0, 2, count)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("form", ["stdev", "variance"])
def test_cw_meets_its_constraint_with_equality(form, classes):
    X, y = stream(classes, rows=60)
    model = ConfidenceWeightedClassifier(
        form=form, confidence=0.9, fit_intercept=False, covariance="full"
    )
    phi = norm.ppf(0.9)
    model.partial_fit(X[:1], y[:1], np.unique(y))
    reached = 0
    for x, label in zip(X[1:], y[1:], strict=True):
        if not x.any():
            continue
        before = model.decision_function([x])[0]
        W, S = model.coef_.copy(), model.covariance_matrix()
        model.learn_one(x, label)
        moved = np.abs(model.coef_ - W).max() > 0
        if classes == 2:
            sign, times = (1.0 if label == 1 else -1.0), 1
            was, now = sign * before, sign * model.decision_function([x])[0]
        else:
            wrong = max((k for k in range(classes) if k != label), key=lambda k: before[k])
            after = model.decision_function([x])[0]
            was, now, times = before[label] - before[wrong], after[label] - after[wrong], 2
        root = np.sqrt if form == "stdev" else float
        n, new = times * (x @ S @ x), times * (x @ model.covariance_matrix() @ x)
        if moved:
            reached += 1
            assert now == pytest.approx(phi * root(new), rel=1e-9)
            # which is the probability of being right, where the root is taken
            if form == "stdev":
                assert norm.cdf(now / np.sqrt(new)) == pytest.approx(0.9, abs=1e-9)
        else:
            assert was >= phi * root(n) * (1 - 1e-9)
    assert reached > 20


@pytest.mark.parametrize("classes", [2, 3])
def test_the_inverse_of_arows_covariance_grows_by_the_row_over_r(classes):
    X, y = stream(classes, rows=40)
    model = AROWClassifier(r=0.7, fit_intercept=False, covariance="full")
    model.partial_fit(X[:1], y[:1], np.unique(y))
    grown = 0
    for x, label in zip(X[1:], y[1:], strict=True):
        before, W = np.linalg.inv(model.covariance_matrix()), model.coef_.copy()
        model.learn_one(x, label)
        if np.array_equal(W, model.coef_):
            continue
        grown += 1
        after = np.linalg.inv(model.covariance_matrix())
        np.testing.assert_allclose(after, before + np.outer(x, x) / 0.7, atol=1e-9)
    assert grown > 10


@settings(deadline=None, max_examples=60)
@given(
    m=st.floats(-20, 20),
    n=st.floats(1e-2, 1e2),
    C=st.floats(1e-2, 1e2),
    confidence=st.floats(0.55, 0.99),
)
def test_scw_minimizes_its_objective(m, n, C, confidence):
    """KL + C l or C l², in P and rho: KL = ½ (log(1 + rho n) - rho n / (1 + rho n) + P² n)."""
    phi = norm.ppf(confidence)

    def value(q, power):
        P, rho = q[0], np.exp(q[1])
        left = n / (1 + rho * n)
        divergence = 0.5 * (np.log1p(rho * n) - rho * n / (1 + rho * n) + P * P * n)
        return divergence + C * max(0.0, phi * np.sqrt(left) - m - P * n) ** power

    for rule, power in [(second_order.SCW_I, 1), (second_order.SCW_II, 2)]:
        P, rho = second_order.step(rule, m, n, C, phi, 1.0)
        at = np.array([P, np.log(max(rho, 1e-12))])
        best = min(
            scipy.optimize.minimize(value, start, (power,), method="Nelder-Mead",
                                    options={"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000}).fun
            for start in (at, at + 0.3, at - [0.3 * abs(P), 1.0])
        )  # fmt: skip
        assert value(at, power) <= best + 1e-6 * max(1.0, abs(best))


@given(m=st.floats(-1e3, 1e3), n=st.floats(1e-6, 1e6), confidence=st.floats(0.51, 0.999))
def test_steps_that_are_written_without_cancellation_are_those_of_the_papers(m, n, confidence):
    phi = norm.ppf(confidence)
    for rule, name in [
        (second_order.CW_STDEV, "CW-stdev"),
        (second_order.CW_VARIANCE, "CW-variance"),
        (second_order.SCW_I, "SCW-I"),
        (second_order.SCW_II, "SCW-II"),
    ]:
        P, rho = second_order.step(rule, m, n, 0.7, phi, 1.0)
        expected, beta = reference.step(name, m, n, C=0.7, phi=phi)
        lost = 1e-9 * (abs(m) + 1) * max(1.0, 1 / n)  # what cancels in the papers' form
        assert pytest.approx(expected, rel=1e-6, abs=lost) == P
        assert rho / (1 + rho * n) == pytest.approx(beta, rel=1e-5, abs=lost * phi)


def test_a_row_of_weight_two_is_the_row_twice_for_arow_and_sop():
    X, y = stream(2)
    X, y = X[X.any(axis=1)], y[X.any(axis=1)]
    model = AROWClassifier(r=0.8, fit_intercept=False, covariance="full")
    once = model.partial_fit(X, y, [0, 1], sample_weight=np.full(len(y), 2.0))
    twice = AROWClassifier(r=0.8, fit_intercept=False, covariance="full")
    twice.partial_fit(X.repeat(2, axis=0), y.repeat(2), [0, 1])
    np.testing.assert_allclose(once.coef_, twice.coef_, atol=1e-10)
    np.testing.assert_allclose(once.covariance_matrix(), twice.covariance_matrix(), atol=1e-10)


def test_the_second_order_perceptron_predicts_as_in_its_paper():
    """The sign of v'(S^-1 + x x')^-1 x, with v and S^-1 summed over the mistakes."""
    X, y = stream(2, rows=200)
    sign = np.where(y == 1, 1.0, -1.0)
    model, scores = one_pass(SecondOrderPerceptron(fit_intercept=False), X, y)
    v, inverse = np.zeros(X.shape[1]), np.eye(X.shape[1])
    for x, s, score in zip(X, sign, scores, strict=True):
        paper = v @ np.linalg.solve(inverse + np.outer(x, x), x)
        assert (paper > 1e-12) == (score > 1e-12)
        assert (paper < -1e-12) == (score < -1e-12)
        if s * paper <= 1e-12 and x.any():
            v, inverse = v + s * x, inverse + np.outer(x, x)
    np.testing.assert_allclose(model.coef_[0], np.linalg.solve(inverse, v), atol=1e-10)


# --- the loss bounds of PAM ---------------------------------------------------


def bound_parts(variant, C, X, sign):
    """Losses and mistakes of PAM, and V = max x'Sx and the updates' rows, on one stream."""
    model = PAMClassifier(variant=variant, C=C, fit_intercept=False, covariance="full")
    losses, mistakes, V, updates = [], 0, 0.0, []
    S = np.eye(X.shape[1])
    for x, s in zip(X, sign, strict=True):
        m = s * model.score_then_learn([x], [s], [-1, 1])[0]
        losses.append(max(0.0, 1 - m))
        mistakes += m <= 0
        if losses[-1] > 1e-12:
            V = max(V, x @ S @ x)
            updates.append(x)
            S = model.covariance_matrix()
    return np.array(losses), mistakes, V, np.array(updates)


def noisy(seed, columns, noise, rows=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * rng.uniform(0.2, 3, columns)
    truth = rng.normal(size=columns)
    sign = np.where(X @ truth > noise * rng.normal(size=rows), 1.0, -1.0)
    return X, sign, truth, rng


STREAMS = {
    "seed": st.integers(0, 100_000),
    "columns": st.integers(1, 8),
    "noise": st.sampled_from([0.0, 0.3, 1.0, 3.0]),
    "C": st.sampled_from([0.01, 0.1, 1.0, 10.0]),
}


def comparators(truth, rng):
    yield np.zeros_like(truth)
    for size in (0.1, 0.3, 1.0, 3.0):
        yield size * truth
        yield size * rng.normal(size=len(truth))


@settings(deadline=None, max_examples=25)
@given(seed=STREAMS["seed"], columns=STREAMS["columns"])
def test_theorem_1_bounds_the_losses_of_pam_on_separable_rows(seed, columns):
    X, sign, truth, _ = noisy(seed, columns, 0.0)
    margin = np.abs(X @ truth)
    X, sign = X[margin > 0.05], sign[margin > 0.05]
    if len(X) == 0:
        return
    u = truth / (sign * (X @ truth)).min()  # every row has a margin of 1 or more
    losses, _, V, updates = bound_parts("PAM", 1.0, X, sign)
    q = np.sum((updates @ u) ** 2)
    assert np.sum(losses**2) <= (u @ u + q) * V * (1 + 1e-9)


@settings(deadline=None, max_examples=25)
@given(**STREAMS)
def test_theorem_2_bounds_the_mistakes_of_pam_one(seed, columns, noise, C):
    X, sign, truth, rng = noisy(seed, columns, noise)
    _, mistakes, V, updates = bound_parts("PAM-I", C, X, sign)
    for u in comparators(truth, rng):
        q = np.sum((updates @ u) ** 2)
        best = np.maximum(0, 1 - sign * (X @ u)).sum()
        assert mistakes <= max(V, 1 / C) * (u @ u + q + C * best) + 1e-9


@settings(deadline=None, max_examples=25)
@given(**STREAMS)
def test_theorem_3_corrected_bounds_the_losses_of_pam_two(seed, columns, noise, C):
    X, sign, truth, rng = noisy(seed, columns, noise)
    losses, _, V, updates = bound_parts("PAM-II", C, X, sign)
    for u in comparators(truth, rng):
        q = np.sum((updates @ u) ** 2)
        best = np.sum(np.maximum(0, 1 - sign * (X @ u)) ** 2)
        assert np.sum(losses**2) <= (V + 0.5 / C) * (u @ u + q + 2 * C * best) * (1 + 1e-9)


def test_theorem_3_as_printed_does_not_hold():
    """(V + 1/(2C)) |u|² + 2 / (1 + 2C) q + C sum l*², broken by noise."""
    X, sign, truth, rng = noisy(0, 2, 3.0, rows=200)
    C = 0.1
    losses, _, V, updates = bound_parts("PAM-II", C, X, sign)
    worst = 0.0
    for u in comparators(truth, rng):
        q = np.sum((updates @ u) ** 2)
        best = np.sum(np.maximum(0, 1 - sign * (X @ u)) ** 2)
        printed = (V + 0.5 / C) * (u @ u) + 2 / (1 + 2 * C) * q + C * best
        worst = max(worst, np.sum(losses**2) / printed)
    assert worst > 1.5


# --- views --------------------------------------------------------------------


def test_views_pasted_together_are_pam():
    X, y = stream(3)
    options = {"C": 0.4, "covariance": "full"}
    model, scores = one_pass(
        MultiViewPAClassifier(
            [4, 5], variant="PA-II", coupling="concatenated", geometry="mahalanobis", **options
        ),
        X, y,
    )  # fmt: skip
    plain, others = one_pass(PAMClassifier(**options), X, y)
    np.testing.assert_array_equal(scores, others)
    np.testing.assert_array_equal(model.coef_, plain.coef_)


def test_one_view_is_pam_whatever_the_coupling():
    X, y = stream(2)
    plain, _ = one_pass(PAMClassifier(variant="PAM-I", C=0.2), X, y)
    for coupling in ("squared", "absolute", "independent"):
        model = MultiViewPAClassifier(C=0.2, coupling=coupling, geometry="mahalanobis")
        np.testing.assert_allclose(one_pass(model, X, y)[0].coef_, plain.coef_, atol=1e-12)


def test_each_view_has_a_covariance_of_its_own():
    X, y = stream(2)
    model = MultiViewPAClassifier({"a": slice(0, 4), "b": slice(4, 9)}, geometry="mahalanobis")
    model.fit(X, y)
    assert model.covariance_matrix("a").shape == (5, 5)
    assert model.covariance_matrix("b").shape == (6, 6)
    with pytest.raises(InputError, match="name one of a, b"):
        model.covariance_matrix()
    with pytest.raises(InputError, match="no view 'c'"):
        model.covariance_matrix("c")
    with pytest.raises(InputError, match="Euclidean"):
        model.set_params(geometry="euclidean").fit(X, y).covariance_matrix("a")
    assert not hasattr(model, "covariance_form_")
    with pytest.raises(InputError, match="no view 'a'; there are all"):
        PAMClassifier().fit(X, y).covariance_matrix("a")


@pytest.mark.parametrize("covariance", ["auto", "full", "diagonal", "low-rank"])
@pytest.mark.parametrize("coupling", ["squared", "concatenated"])
def test_a_covariance_grows_with_the_features(covariance, coupling, tmp_path):
    """Features that come one after the other give what they give all at once."""
    X, y = stream(2, rows=150, columns=9)
    X[:40, 5:7] = 0.0  # these columns come later, and the second view's last ones too
    X[:90, 7:] = 0.0
    X[:60, 2:4] = 0.0
    options = {
        "coupling": coupling, "geometry": "mahalanobis", "covariance": covariance, "rank": 20,
        "variant": "PA-II",
    }  # fmt: skip
    whole, _ = one_pass(
        MultiViewPAClassifier({"a": slice(0, 4), "b": slice(4, 9)}, **options), X, y
    )
    grown = MultiViewPAClassifier(**options)
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        row = {
            "a": {f"c{j}": x[j] for j in range(4) if x[j]},
            "b": {f"c{j}": x[j] for j in range(4, 9) if x[j]},
        }
        grown.learn_one(row, label)
        if i == 75:
            crossview.save(grown, tmp_path / "model.safetensors")
            grown = crossview.load(tmp_path / "model.safetensors")
    np.testing.assert_allclose(np.sort(grown.coef_[0]), np.sort(whole.coef_[0]), rtol=0, atol=1e-10)
    name = "a" if coupling == "squared" else None
    np.testing.assert_allclose(
        np.sort(np.linalg.eigvalsh(grown.covariance_matrix(name))),
        np.sort(np.linalg.eigvalsh(whole.covariance_matrix(name))),
        atol=1e-10,
    )


def test_all_three_of_reference_python_and_machine_code_agree():
    """The loop as plain Python gives what the compiled one gives."""
    from crossview.batch import make_rows, read_only
    from crossview.kernels import covariance
    from crossview.views import ViewLayout

    X, y = stream(2, rows=40)
    layout = ViewLayout(["all"], [X.shape[1]])
    rows = make_rows(sp.csr_array(X), layout)
    for form in (covariance.FULL, covariance.DIAGONAL, covariance.LOW_RANK):
        results = []
        for loop in (second_order.learn, second_order.learn.py_func):
            S = covariance.start(form, layout.ptr, 1.0, 50)
            S = covariance.with_room(S, entries=X.size)
            model = first_order.Weights(
                np.zeros((9, 1)), np.zeros((1, 1)), np.zeros((0, 1)), np.zeros((0, 1)),
                np.zeros(1, np.int64),
            )  # fmt: skip
            scores = np.zeros((len(y), 1))
            loop(
                rows, read_only(np.arange(len(y))), 0, read_only(np.where(y == 1, 1.0, -1.0)),
                read_only(np.ones(len(y))), model, S, 1.0, 0, second_order.AROW, 0.0, 1.0, 0.0,
                scores, np.full(1, -1),
            )  # fmt: skip
            results.append((model.W, scores))
        np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-13)
        np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-13)
