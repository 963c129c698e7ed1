"""
Mistakes along a stream
=======================

Each row is predicted, then learned. In logarithmic axes, as in the paper on distribution-aware
classifiers (Nguyen, Chang and Hui 2011), a learner that stops making mistakes has a slope below
1. A covariance pays where columns have very different scales.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import (
    AROWClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    SoftConfidenceWeightedClassifier,
)

rng = np.random.default_rng(0)
n, d = 20_000, 30
scales = np.logspace(0, -1.5, d)
X = rng.normal(size=(n, d)) * scales
truth = rng.normal(size=d) / scales
y = X @ truth + rng.normal(size=n) > 0

models = {
    "perceptron": Perceptron(random_state=0),
    "PA-I": PassiveAggressiveClassifier(C=0.1, random_state=0),
    "SCW-I": SoftConfidenceWeightedClassifier(C=0.1, random_state=0),
    "AROW": AROWClassifier(r=1.0, random_state=0),
}
figure, ax = plt.subplots()
at = np.arange(1, n + 1)
for name, model in models.items():
    scores = np.ravel(model.score_then_learn(X, y, np.array([False, True])))
    mistakes = np.cumsum((scores > 0) != y)
    ax.plot(at, mistakes, label=name)
ax.set(xscale="log", yscale="log", xlabel="rows", ylabel="mistakes so far", xlim=(10, n))
ax.legend()
ax.set_title("A covariance makes fewer mistakes where scales differ")
plt.show()
