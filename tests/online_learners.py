"""Rows and learners that the tests of the online learners share."""

import numpy as np

from crossview import (
    AROWClassifier,
    ConfidenceWeightedClassifier,
    PAMClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SecondOrderPerceptron,
    SoftConfidenceWeightedClassifier,
)

FIRST_ORDER = {
    "perceptron": lambda **k: Perceptron(**k),
    "PA": lambda **k: PassiveAggressiveClassifier(variant="PA", **k),
    "PA-I": lambda **k: PassiveAggressiveClassifier(variant="PA-I", C=0.3, **k),
    "PA-II": lambda **k: PassiveAggressiveClassifier(variant="PA-II", C=0.3, **k),
}
SECOND_ORDER = {
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


def stream(classes, seed=0, rows=120, columns=9):
    """Noisy rows with a zero row, a duplicate and a constant column among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.5)
    X[:, 3] = 1.0
    X[5] = 0.0
    X[7] = X[6]
    scores = X @ rng.normal(size=(columns, classes)) + 0.5 * rng.normal(size=(rows, classes))
    return X, scores.argmax(axis=1)


def one_pass(model, X, y, **options):
    scores = model.score_then_learn(X, y, np.unique(y), **options)
    return model, scores


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
