"""
Rows on which the views disagree
================================

The difference between the scores of two views, row by row, and its running mean. The rows with the
largest difference are worth a look: one of their views may be wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import MultiViewPAClassifier, ViewDifferenceDisplay, ViewEncoder, datasets

table = datasets.load("breast-cancer")
X = ViewEncoder().fit_transform(table.drop_columns("diagnosis"))
y = table["diagnosis"].to_numpy()
rows = np.random.default_rng(0).permutation(len(y))
model = MultiViewPAClassifier(C=0.1, random_state=0).fit(X[rows[:300]], y[rows[:300]])
ViewDifferenceDisplay.from_estimator(model, X[rows[300:]])
plt.show()
