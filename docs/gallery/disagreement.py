"""
The price of disagreement
=========================

A small price couples the views without harm. A large one makes every view say the same, and the
joint score loses what only one of them knows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from crossview import MultiViewPAClassifier, ViewEncoder, datasets

table = datasets.load("breast-cancer")
X = ViewEncoder().fit_transform(table.drop_columns("diagnosis"))
y = table["diagnosis"].to_numpy()
prices = np.logspace(-3, 2, 11)
folds = StratifiedKFold(10, shuffle=True, random_state=0)

figure, ax = plt.subplots()
for coupling, at in (("squared", 6), ("absolute", 5)):
    means, errors = [], []
    for price in prices:
        model = MultiViewPAClassifier(coupling=coupling, disagreement=price, C=0.1, random_state=0)
        scores = cross_val_score(model, X, y, cv=folds)
        means.append(scores.mean())
        errors.append(scores.std() / np.sqrt(len(scores)))
    (line,) = ax.plot(prices, means, "o-", markersize=4)
    low, high = np.array(means) - errors, np.array(means) + errors
    ax.fill_between(prices, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    ax.annotate(
        coupling,
        (prices[at], means[at]),
        xytext=(8, 4) if coupling == "squared" else (-58, -10),
        textcoords="offset points",
        color=line.get_color(),
    )
ax.set(xscale="log", xlabel="disagreement", ylabel="accuracy, mean and standard error")
ax.set_title("What disagreement of the views may cost")
plt.show()
