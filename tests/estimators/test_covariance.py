"""The form of a covariance: "auto", its memory, and columns that come one after the other."""

import numpy as np
import pytest
import scipy.sparse as sp

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
