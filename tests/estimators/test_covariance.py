"""The form of a covariance: "auto", its memory, and columns that come one after the other."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import crossview
from crossview import AROWClassifier, InputError, MultiViewPAClassifier, PAMClassifier
from online_learners import one_pass, stream


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


@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("covariance", ["auto", "diagonal"])
def test_a_covariance_that_forgets_follows_a_change(covariance, copied):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    sign = np.where(np.arange(3000) < 1500, 1.0, -1.0)
    y = (sign * X[:, 0] + 0.3 * rng.normal(size=3000) > 0).astype(int)
    X = np.column_stack([X, X[:, 0]]) if copied else X
    correct = {}
    for forgetting in (1.0, 0.99):
        model = AROWClassifier(covariance=covariance, forgetting=forgetting, r=10.0)
        scores = model.score_then_learn(X, y, classes=[0, 1])
        correct[forgetting] = ((scores > 0) == y)[1500:1800].mean()
    assert correct[1.0] < 0.6 < 0.8 < correct[0.99]


def test_forgetting_is_honored_or_refused():
    X, y = np.random.default_rng(0).normal(size=(50, 100)), np.arange(50) % 2
    with pytest.raises(InputError, match=r"forgetting=0.9 with covariance='low-rank'"):
        AROWClassifier(forgetting=0.9, covariance="low-rank").fit(X, y)
    with pytest.raises(InputError, match=r"forgetting=0.9 with geometry='euclidean'"):
        MultiViewPAClassifier(forgetting=0.9).fit(X, y)
    wide, narrow = (AROWClassifier(forgetting=0.9).fit(rows, y) for rows in (X, X[:, :9]))
    assert (wide.covariance_form_, narrow.covariance_form_) == ("diagonal", "full")
    # a learner that has begun without it goes on with it
    goes_on = AROWClassifier().partial_fit(X, y, classes=[0, 1])
    assert goes_on.covariance_form_ == "low-rank"
    goes_on.set_params(forgetting=0.9).partial_fit(X, y)
    assert goes_on.covariance_form_ == "diagonal"


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_models_that_forget_merge_to_one_with_a_covariance(covariance):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    make = AROWClassifier(forgetting=0.9, covariance=covariance)
    start = clone(make).partial_fit(X[:200], y[:200], classes=[0, 1])
    parts = [copy.deepcopy(start).partial_fit(X[k::2] / 9, y[k::2]) for k in (200, 201)]
    for product in (False, True):
        merged = crossview.merge(parts, start=start, product=product)
        assert np.linalg.eigvalsh(merged.covariance_matrix()).min() > 0.0
        assert merged.score(X, y) > 0.6
    same = crossview.merge([start, start, start], start=start).covariance_matrix()
    np.testing.assert_allclose(same, start.covariance_matrix(), rtol=1e-9)
