"""
How much two views differ
=========================

A coupled learner keeps a score per view. With a price on disagreement the scores of a row come
closer together, row by row, as in figures 1 to 3 of the two-view paper (Nguyen, Chang and Hui
2012).
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import MultiViewPAClassifier, ViewEncoder, datasets

table = datasets.load("digits")
X = ViewEncoder().fit_transform(table.drop_columns("digit")).select(["pixels", "fourier"])
y = table["digit"].to_numpy() == 8
rows = np.random.default_rng(0).permutation(len(y))[:1000]

figure, ax = plt.subplots()
for price, name in ((0.0, "no price on disagreement"), (1.0, "disagreement = 1")):
    model = MultiViewPAClassifier(coupling="squared", disagreement=price, C=0.1)
    model.partial_fit(X[rows[:2]], y[rows[:2]], classes=[False, True])
    differences = []
    for row in rows[2:]:
        pixels, fourier = np.ravel(model.view_scores(X[[row]]))
        differences.append(abs(pixels - fourier))
        model.partial_fit(X[[row]], y[[row]])
    mean = np.cumsum(differences) / np.arange(1, len(differences) + 1)
    (line,) = ax.plot(mean)
    ax.scatter(
        np.arange(len(differences))[::8],
        differences[::8],
        s=6,
        alpha=0.35,
        color=line.get_color(),
    )
    ax.annotate(
        name,
        (len(mean), mean[-1]),
        xytext=(4, 0),
        textcoords="offset points",
        color=line.get_color(),
        va="center",
    )
ax.set(
    xlabel="rows",
    ylabel="|score of pixels - score of fourier|",
    xlim=(0, 1400),
    ylim=(0, np.quantile(differences, 0.99) * 2.2),
)
ax.set_title("A price on disagreement brings the scores of the views together")
plt.show()
