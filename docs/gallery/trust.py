"""
Which expert is trusted when
============================

Stacking weighs several learners by how well they predict. Here only the first view tells the
class, and after half of the rows only the second one does: the weights follow within a few
hundred rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import AROWClassifier, ExpertWeightsDisplay, MultiView, OnlineStackingClassifier

rng = np.random.default_rng(0)
n = 8000
first, second = rng.normal(size=(2, n, 5))
telling = np.where(np.arange(n)[:, None] < n // 2, first, second)
y = telling @ np.array([1.0, -1.0, 0.5, 0.5, 0.0]) + 0.3 * rng.normal(size=n) > 0
experts = [
    ("first view", AROWClassifier(covariance="diagonal"), "first"),
    ("second view", AROWClassifier(covariance="diagonal"), "second"),
]
X = MultiView({"first": first, "second": second})
model = OnlineStackingClassifier(experts=experts).partial_fit(X, y, classes=[False, True])
ExpertWeightsDisplay.from_estimator(model)
plt.axvline(n // 2, color="0.6", linestyle=":")
plt.show()
