"""
Rows without a label
====================

Two views that err on different rows label rows for each other. With few labels that helps;
with many there is nothing left to gain.
"""

import matplotlib.pyplot as plt
import numpy as np

from crossview import KeCoClassifier, PegasosClassifier


def moons(n, rng):
    """Two half moons, rotated by a random angle."""
    y = rng.integers(2, size=n)
    t = np.pi * rng.random(n)
    points = np.where(
        (y == 1)[:, None],
        np.column_stack([np.cos(t), np.sin(t)]),
        np.column_stack([1 - np.cos(t), 0.5 - np.sin(t)]),
    )
    return points + 0.12 * rng.normal(size=(n, 2)), y


def two_views(n, rng):
    """Two views of the same class, which are independent of each other given the class."""
    first, y = moons(n, rng)
    second = np.empty_like(first)
    for label in (0, 1):
        some, of = moons(8 * n, rng)
        second[y == label] = some[of == label][: (y == label).sum()]
    return np.hstack([first, second]), y


counts = (2, 4, 8, 16, 32)
errors = {"KeCo, with unlabeled rows": [], "Pegasos, without them": []}
for n_labels in counts:
    found = {name: [] for name in errors}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = two_views(400, rng)
        X_test, y_test = two_views(400, rng)
        known = np.full(len(y), np.nan)
        for label in (0, 1):
            known[np.flatnonzero(y == label)[:n_labels]] = label
        for name, kind in zip(errors, (KeCoClassifier, PegasosClassifier), strict=True):
            model = kind([2, 2], lam=0.01, random_state=seed).fit(X, known)
            found[name].append(1 - model.score(X_test, y_test))
    for name, values in found.items():
        errors[name].append(values)

figure, ax = plt.subplots()
for name, values in errors.items():
    means = np.mean(values, axis=1)
    (line,) = ax.plot(counts, means, "o-")
    ax.plot(counts, values, ".", color=line.get_color(), alpha=0.4)
    ax.annotate(
        name,
        (counts[1], means[1]),
        xytext=(6, 6) if "without" in name else (-60, -18),
        textcoords="offset points",
        color=line.get_color(),
    )
ax.set(xscale="log", xlabel="labels per class, of 400 rows", ylabel="error on new rows")
ax.set_xticks(counts, counts)
ax.minorticks_off()
ax.set_title("Unlabeled rows help where labels are few")
plt.show()
