"""
What each view contributes
==========================

The score of a row is made of the scores of its views. A view whose scores hardly vary contributes
little, whatever its weights are.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import MultiViewPAClassifier, ViewContributionDisplay, ViewEncoder, datasets

table = datasets.load("digits")
X = ViewEncoder().fit_transform(table.drop_columns("digit"))
y = table["digit"].to_numpy() == 8
rows = np.random.default_rng(0).permutation(len(y))
model = MultiViewPAClassifier(C=0.1, random_state=0).fit(X[rows[:1200]], y[rows[:1200]])
ViewContributionDisplay.from_estimator(model, X[rows[1200:]])
plt.show()
