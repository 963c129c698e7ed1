"""
Probabilities that were calibrated in the pass
==============================================

The score of each row, before it is learned, calibrates the learner: no rows are held out and no
second model is trained. A point on the diagonal is a group of rows for which the probability is
right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve

from crossview import PassiveAggressiveClassifier

rng = np.random.default_rng(0)
n = 30_000
X = rng.normal(size=(n, 20))
p = 1 / (1 + np.exp(-X @ rng.normal(size=20) * 0.4 + 1))
y = rng.random(n) < p
learn, test = slice(0, 20_000), slice(20_000, n)
model = PassiveAggressiveClassifier(C=0.001, average=True, random_state=0).fit(X[learn], y[learn])

figure, ax = plt.subplots(figsize=(4.8, 4.6))
ax.plot([0, 1], [0, 1], color="0.6", linestyle="--")
raw = 1 / (1 + np.exp(-model.decision_function(X[test])))
for values, name, where in (
    (model.predict_proba(X[test])[:, 1], "predict_proba", (0.5, 0.4)),
    (raw, "logistic function of the score", (0.02, 0.9)),
):
    true, predicted = calibration_curve(y[test], values, n_bins=12, strategy="quantile")
    (line,) = ax.plot(predicted, true, "o-", markersize=4)
    ax.annotate(name, where, color=line.get_color())
ax.set(xlabel="predicted probability", ylabel="share of positive rows", xlim=(0, 1), ylim=(0, 1))
ax.set_title("Calibrated on the way")
plt.show()
