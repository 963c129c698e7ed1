"""
Where to put the threshold
==========================

F1 and the mean cost of a row depend on the probability above which a class is predicted. The best
threshold for F1 is half of the best F1 if the probabilities are calibrated (Lipton, Elkan and
Narayanaswamy 2014); with costs it is fp / (fp + fn) (Elkan 2001).
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import AROWClassifier, ViewEncoder, datasets

table = datasets.load("breast-cancer")
X = ViewEncoder().fit_transform(table.drop_columns("diagnosis"))
y = table["diagnosis"].to_numpy() == "malignant"
rows = np.random.default_rng(0).permutation(len(y))
learn, test = rows[:300], rows[300:]
model = AROWClassifier(r=10, random_state=0).fit(X[learn], y[learn])
p = model.predict_proba(X[test])[:, 1]

thresholds = np.linspace(0.01, 0.99, 99)
predicted = p > thresholds[:, None]
hits = (predicted & y[test]).sum(axis=1)
f1 = 2 * hits / (predicted.sum(axis=1) + y[test].sum())
cost = ((predicted & ~y[test]).sum(axis=1) + 20 * (~predicted & y[test]).sum(axis=1)) / len(test)

figure, axes = plt.subplots(1, 2, sharex=True)
for ax, values, name, best in zip(
    axes, (f1, cost), ("F1", "cost of a row"), (f1.max() / 2, 1 / 21), strict=True
):
    ax.plot(thresholds, values)
    ax.axvline(best, color="C1", linestyle="--")
    ax.annotate(
        "in theory", (best, values.mean()), color="C1", xytext=(4, 0), textcoords="offset points"
    )
    ax.set(xlabel="threshold on the probability", ylabel=name)
axes[0].set_title("F1 is flat at its best")
axes[1].set_title("A miss costs 20 alarms")
plt.show()
