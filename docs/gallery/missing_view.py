"""
What a missing view costs
=========================

The same model predicts rows with one view missing. A view whose loss costs little can fail
without harm; that is less than retraining without it would cost, or more, and `compare --ablate`
shows both.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import datasets, evaluate, train

table = datasets.load("digits").take(np.random.default_rng(0).permutation(1797))
trained = train(table[:1200], "digit", model="pa:squared", settings={"C": 0.1})
found = evaluate(trained.fitted, table[1200:], "digit", scoring="accuracy")

figure, ax = plt.subplots(figsize=(7.2, 2.8))
ax.axvline(found.value, color="0.4", linestyle="--")
ax.annotate(
    "all views",
    (found.value, 2.6),
    xytext=(-4, 0),
    textcoords="offset points",
    ha="right",
    color="0.4",
)
for i, view in enumerate(found.views):
    ax.plot([view.missing.low, view.missing.high], [i, i], color="C1")
    ax.plot(view.missing.value, i, "o", color="C1")
ax.set_yticks(range(len(found.views)), [f"without {view.view}" for view in found.views])
ax.set(xlabel="accuracy on 597 later digits, 95 % interval", ylim=(-0.5, 3))
ax.set_title("A view that fails costs this much")
plt.show()
