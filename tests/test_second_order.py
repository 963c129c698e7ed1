"""Learners with a covariance against the slow reference, the papers' problems and their bounds."""

import numpy as np
import pytest
import scipy.sparse as sp

from crossview import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    PAMClassifier,
    SecondOrderPerceptron,
    SoftConfidenceWeightedClassifier,
)
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
