"""
Which model, and is it worth it?
================================

`compare` ranks models by the same folds. Those within the rope of the best one are practically
equal to it; of these the cheapest is recommended. Here it is a single view.
"""

import matplotlib.pyplot as plt

from crossview import compare, datasets

answer = compare(
    datasets.load("breast-cancer"),
    "diagnosis",
    models=["pa:squared", "pa:concatenated", "view:worst", "view:mean", "view:error"],
    baselines=["logistic-regression"],
    budget=None,
    curve=False,
    n_jobs=1,
)
answer.plot()
plt.show()
