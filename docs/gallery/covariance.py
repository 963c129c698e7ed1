"""
What a covariance learns
========================

AROW keeps a normal distribution of the weights. Where many rows point, the weights become
certain, and the next step moves them less. The ellipses hold 95 % of the distribution after so
many rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import AROWClassifier

rng = np.random.default_rng(3)
X = rng.normal(size=(200, 2)) * [1.0, 0.25]  # the first column is seen far better
y = X @ [1.0, 2.0] > 0
circle = np.linspace(0, 2 * np.pi, 200)
circle = np.column_stack([np.cos(circle), np.sin(circle)]) * np.sqrt(5.99)

figure, ax = plt.subplots(figsize=(6.0, 4.6))
model = AROWClassifier(r=1.0, covariance="full", fit_intercept=False)
done = 0
for color, until in enumerate((2, 8, 40, 200)):
    model.partial_fit(X[done:until], y[done:until], classes=[False, True])
    done = until
    S = model.covariance_matrix()
    ellipse = model.coef_[0] + circle @ np.linalg.cholesky(S).T
    ax.plot(*ellipse.T, color=f"C{color}")
    ax.plot(*model.coef_[0], "o", color=f"C{color}")
    ax.annotate(
        f"{until} rows",
        ellipse[50],
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        color=f"C{color}",
        backgroundcolor="w",
    )
ax.set(
    xlabel="weight of the column with large values", ylabel="weight of the column with small values"
)
ax.set_title("Well-observed directions become certain first")
plt.show()
