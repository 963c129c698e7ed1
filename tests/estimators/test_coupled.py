"""`MultiViewPAClassifier`: what its parameters mean, by learners that it must equal."""

import numpy as np
import pytest

from crossview import (
    InputError,
    MultiView,
    MultiViewPAClassifier,
    PAMClassifier,
    PassiveAggressiveClassifier,
)
from online_learners import one_pass, stream, views


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
def test_the_published_update_says_what_it_needs(wrong):
    X, y = np.eye(7), np.array([0, 1, 0, 1, 0, 1, 0])
    model = MultiViewPAClassifier(**{"views": [3, 4], **wrong}, update="published")
    with pytest.raises(ValueError, match="two views"):
        model.fit(X, y)


def test_views_concatenated_are_pam():
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
