"""Learners on one view."""

import numpy as np

from crossview import PassiveAggressiveClassifier


def test_a_tie_is_the_first_class():
    X = np.eye(3)
    model = PassiveAggressiveClassifier(fit_intercept=False, shuffle=False).fit(X[:2], ["a", "b"])
    assert model.decision_function(X[2:])[0] == 0.0
    assert model.predict(X[2:])[0] == "a"
